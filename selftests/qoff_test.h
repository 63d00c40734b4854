/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the C tests share: kselftest's TAP, a deterministic stream of numbers,
 * sockets in network namespaces, and QUIC packets.
 */
#ifndef QOFF_TEST_H
#define QOFF_TEST_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <qoff.h>

#include "netns.h"

#define TEST_WAIT_MS 5000

static unsigned int ksft_pass, ksft_fail, ksft_skip;

static inline void ksft_result(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void ksft_result(bool ok, const char *fmt, ...)
{
	va_list ap;

	if (ok)
		ksft_pass++;
	else
		ksft_fail++;
	printf("%sok %u ", ok ? "" : "not ", ksft_pass + ksft_fail + ksft_skip);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static inline void ksft_skipped(const char *name, const char *why)
{
	ksft_skip++;
	printf("ok %u %s # SKIP %s\n", ksft_pass + ksft_fail + ksft_skip, name, why);
}

static inline int ksft_end(void)
{
	printf("1..%u\n", ksft_pass + ksft_fail + ksft_skip);
	printf("# Totals: pass:%u fail:%u xfail:0 xpass:0 skip:%u error:0\n", ksft_pass, ksft_fail,
	       ksft_skip);
	return ksft_fail || !ksft_pass;
}

/* A broken set-up is no result of a test. */
#define MUST(x) do {								\
	if (!(x)) {								\
		printf("Bail out! %s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #x,	\
		       strerror(errno), qoff_error());				\
		exit(1);							\
	}									\
} while (0)

/* splitmix64 */
static inline uint64_t rnd(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static inline void rnd_fill(uint64_t *state, void *p, size_t len)
{
	uint8_t *b = p;
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++, v >>= 8) {
		if (i % 8 == 0)
			v = rnd(state);
		b[i] = v;
	}
}

static inline struct qoff_keys rnd_keys(uint64_t *state, uint32_t cipher)
{
	uint8_t secret[QOFF_MAX_SECRET];
	struct qoff_keys k;

	rnd_fill(state, secret, sizeof(secret));
	MUST(!qoff_derive_keys(QOFF_QUIC_V1, cipher, secret, qoff_secret_len(cipher), &k));
	return k;
}

/* A short-header packet of @len bytes, plain, with room for the tag. */
static inline void make_packet(uint64_t *state, uint8_t *p, size_t len, const uint8_t *dcid,
			       size_t dcid_len, uint64_t pn, unsigned int pn_len,
			       unsigned int phase)
{
	rnd_fill(state, p, len);
	p[0] = 0x40 | (p[0] & 0x20) | phase << 2 | (pn_len - 1);
	memcpy(p + 1, dcid, dcid_len);
	for (unsigned int i = 0; i < pn_len; i++)
		p[1 + dcid_len + i] = pn >> 8 * (pn_len - 1 - i);
	memset(p + len - QOFF_TAG_SIZE, 0, QOFF_TAG_SIZE);
}

/* Moves this process to a named namespace; NULL: stay. */
static inline void enter_ns(const char *name)
{
	MUST(!name || !netns_enter(name));
}

static inline socklen_t addr_len(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static inline struct sockaddr_storage parse_addr(const char *text)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in6 *s6 = (void *)&ss;
	struct sockaddr_in *s4 = (void *)&ss;

	if (inet_pton(AF_INET, text, &s4->sin_addr) == 1) {
		ss.ss_family = AF_INET;
	} else {
		MUST(inet_pton(AF_INET6, text, &s6->sin6_addr) == 1);
		ss.ss_family = AF_INET6;
	}
	return ss;
}

/* A UDP socket bound to the address of @ss, whose port it fills in. */
static inline int udp_socket(struct sockaddr_storage *ss)
{
	socklen_t len = addr_len(ss);
	int fd = socket(ss->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int size = 8 << 20;

	MUST(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	MUST(!bind(fd, (void *)ss, len));
	MUST(!getsockname(fd, (void *)ss, &len));
	return fd;
}

/* Waits for something to receive: a condition with a limit. */
static inline bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, TEST_WAIT_MS) == 1;
}

/* qoff_recv(), waiting; -ETIMEDOUT */
static inline int recv_wait(struct qoff_sock *s, struct qoff_batch *b)
{
	int n = qoff_recv(s, b, MSG_DONTWAIT);

	if (n != -EAGAIN)
		return n;
	if (!readable(qoff_sock_fd(s)))
		return -ETIMEDOUT;
	return qoff_recv(s, b, MSG_DONTWAIT);
}

static inline const char *backend_name(enum qoff_backend b)
{
	return b == QOFF_KERNEL ? "kernel" : "user";
}

#endif /* QOFF_TEST_H */
