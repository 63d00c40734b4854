/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the receive tests share: TAP, two namespaces joined by a veth pair whose
 * receiving end merges, attached sockets at both ends, packets with known bytes,
 * and a receiver that compares with what was sent.
 */
#ifndef RX_ENV_H
#define RX_ENV_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <qoff.h>

#include "netns.h"

#define DCID_LEN	8
#define PORT		4433
#define MAX_SENT	4096
#define WAIT_MS		5000	/* for what must come */
#define QUIET_MS	100	/* for what must not */

/* TAP */

static int tap_n, tap_failed, tap_case_failed;

static inline void note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

#define CHECK(cond) do {						\
	if (!(cond)) {							\
		note("%s:%d: %s (errno %d, %s)", __func__, __LINE__,	\
		     #cond, errno, qoff_error());			\
		tap_case_failed++;					\
	}								\
} while (0)

#define CHECK_EQ(a, b) do {						\
	long long a_ = (a), b_ = (b);					\
	if (a_ != b_) {							\
		note("%s:%d: %s is %lld, not %s = %lld", __func__,	\
		     __LINE__, #a, a_, #b, b_);				\
		tap_case_failed++;					\
	}								\
} while (0)

static inline void die(const char *what)
{
	printf("Bail out! %s: %s (%s)\n", what, strerror(errno), qoff_error());
	exit(1);
}

static inline void tap_result(const char *name)
{
	printf("%sok %d %s\n", tap_case_failed ? "not " : "", ++tap_n, name);
	fflush(stdout);
	tap_failed += !!tap_case_failed;
	tap_case_failed = 0;
}

static inline int tap_end(void)
{
	printf("1..%d\n", tap_n);
	return tap_failed ? 1 : 0;
}

/* The network */

static inline void sh(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	if (system(cmd)) {
		note("failed: %s", cmd);
		die("network setup");
	}
}

static inline void in_ns(const char *name)
{
	if (netns_enter(name))
		die(name);
}

static inline void net_down(void)
{
	if (system("ip netns del qrxa 2>/dev/null; ip netns del qrxb 2>/dev/null"))
		return;
}

static inline void net_begin(void)
{
	net_down();
	atexit(net_down);
	sh("ip netns add qrxa && ip netns add qrxb");
}

static inline void net_end(void)
{
	sh("ip -n qrxa addr add 10.9.0.1/24 dev va && ip -n qrxb addr add 10.9.0.2/24 dev vb");
	sh("ip -n qrxa addr add fd09::1/64 dev va nodad && ip -n qrxb addr add fd09::2/64 dev vb nodad");
	sh("for n in a b; do ip -n qrx$n link set lo up; ip -n qrx$n link set v$n up; done");
	/* The queue of an unresolved neighbour is short */
	sh("ip -n qrxa link set va address 02:00:00:00:09:01 && ip -n qrxb link set vb address 02:00:00:00:09:02");
	sh("for a in 10.9.0.2 fd09::2; do ip -n qrxa neigh replace $a lladdr 02:00:00:00:09:02 dev va nud permanent; done");
	sh("for a in 10.9.0.1 fd09::1; do ip -n qrxb neigh replace $a lladdr 02:00:00:00:09:01 dev vb nud permanent; done");
}

static inline void net_up(void)
{
	net_begin();
	sh("ip link add va netns qrxa type veth peer name vb netns qrxb");
	/* Without TSO at the sender and with GRO at the receiver veth merges */
	sh("ip netns exec qrxa ethtool -K va tso off && ip netns exec qrxb ethtool -K vb gro on");
	/* Without a queue veth drops what its ring of 256 cannot take */
	sh("tc -n qrxa qdisc add dev va root pfifo limit 10000");
	net_end();
}

/* Two ports of the simulated NIC; the receiving one opens */
static inline void net_up_dev(void)
{
	net_begin();
	sh("ip link add va type quicsim");
	sh("ip link set va netns qrxa && ip link set va-peer name vb netns qrxb");
	/* A kernel without the switches in ethtool has them in netlink */
	sh("ip netns exec qrxa ethtool -K va quic-gso on 2>/dev/null || "
	   "ip netns exec qrxa qoffctl dev set va quic-gso on");
	sh("ip netns exec qrxb ethtool -K vb quic-gro on quic-rx-crypto on 2>/dev/null || "
	   "ip netns exec qrxb qoffctl dev set vb quic-gro on quic-rx-crypto on");
	net_end();
}

/* Both ends */

enum family { V4, V6, MAPPED };

static const char *const family_name[] = { "IPv4", "IPv6", "v4-mapped" };

/**
 * struct end - one end
 * @q: library handle in its namespace
 * @fd: UDP socket, attached
 * @s: the attached socket
 * @addr: its address
 * @addrlen: size of @addr
 */
struct end {
	struct qoff *q;
	int fd;
	struct qoff_sock *s;
	struct sockaddr_storage addr;
	socklen_t addrlen;
};

/**
 * struct env - a sender, a receiver, and what is on its way
 * @a: sender
 * @b: receiver
 * @nsent: packets expected, in order
 * @ngot: those received so far
 * @largest_pn: for flows to come
 * @sent: each packet as it was sent
 * @plain: each packet as it must come when it is opened
 * @len: lengths
 * @buf: receive buffer
 * @bat: the last batch
 */
struct env {
	enum family family;
	struct end a, b;
	unsigned int nsent, ngot;
	uint64_t largest_pn;
	uint8_t *sent[MAX_SENT];
	uint8_t *plain[MAX_SENT];
	uint16_t len[MAX_SENT];
	uint8_t buf[1 << 18];
	struct qoff_batch bat;
};

static const uint8_t dcid_a[DCID_LEN] = { 1, 2, 3, 4, 5, 6, 7, 8 };
static const uint8_t dcid_b[DCID_LEN] = { 8, 7, 6, 5, 4, 3, 2, 1 };

static inline void addr_of(enum family f, bool receiver, struct end *e)
{
	struct sockaddr_in6 *s6 = (struct sockaddr_in6 *)&e->addr;
	struct sockaddr_in *s4 = (struct sockaddr_in *)&e->addr;
	static const char *const a[3][2] = {
		{ "10.9.0.1", "10.9.0.2" },
		{ "fd09::1", "fd09::2" },
		{ "::ffff:10.9.0.1", "::ffff:10.9.0.2" },
	};

	memset(&e->addr, 0, sizeof(e->addr));
	if (f == V4) {
		s4->sin_family = AF_INET;
		s4->sin_port = htons(PORT);
		inet_pton(AF_INET, a[f][receiver], &s4->sin_addr);
		e->addrlen = sizeof(*s4);
	} else {
		s6->sin6_family = AF_INET6;
		s6->sin6_port = htons(PORT);
		inet_pton(AF_INET6, a[f][receiver], &s6->sin6_addr);
		e->addrlen = sizeof(*s6);
	}
}

static inline void end_open(struct end *e, enum family f, bool receiver)
{
	int size = 4 << 20, on = 1;

	in_ns(receiver ? "qrxb" : "qrxa");
	addr_of(f, receiver, e);
	e->q = qoff_open(QOFF_KERNEL);
	if (!e->q)
		die("qoff_open");
	e->fd = socket(e->addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (e->fd < 0 || setsockopt(e->fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) ||
	    bind(e->fd, (struct sockaddr *)&e->addr, e->addrlen))
		die("bind");
	if (setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(e->fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		die("buffers");
	if (qoff_attach(e->q, e->fd, -1, DCID_LEN, 0, &e->s))
		die("attach");
}

static inline struct env *env_open(enum family f)
{
	struct env *v = calloc(1, sizeof(*v));

	if (!v)
		die("memory");
	v->family = f;
	v->largest_pn = QOFF_PN_NONE;
	end_open(&v->a, f, false);
	end_open(&v->b, f, true);
	return v;
}

static inline void env_forget(struct env *v)
{
	while (v->nsent) {
		v->nsent--;
		free(v->sent[v->nsent]);
		free(v->plain[v->nsent]);
	}
	v->ngot = 0;
}

static inline void env_close(struct env *v)
{
	struct end *e[] = { &v->a, &v->b };
	int i;

	env_forget(v);
	for (i = 0; i < 2; i++) {
		if (e[i]->s)
			qoff_detach(e[i]->s);
		if (e[i]->fd >= 0)
			close(e[i]->fd);
		qoff_close(e[i]->q);
	}
	free(v);
}

static inline uint32_t flow_add(struct env *v, const uint8_t *dcid,
				const struct qoff_keys *keys, uint64_t cookie)
{
	struct qoff_flow_param p = {
		.local = (struct sockaddr *)&v->b.addr,
		.remote = (struct sockaddr *)&v->a.addr,
		.dcid = dcid, .dcid_len = DCID_LEN,
		.keys = keys, .cookie = cookie, .largest_pn = v->largest_pn,
		.key_gen = 1,
	};
	uint32_t id = 0;

	if (qoff_flow_add(v->b.s, &p, &id))
		die("flow-add");
	return id;
}

static inline uint64_t stat_of(const struct env *v, unsigned int id)
{
	struct qoff_sock_info info;

	if (qoff_sock_get(v->b.s, &info))
		die("sock-get");
	return info.stats.v[id];
}

/* Packets */

static inline uint32_t rnd(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* A packet to expect, @len bytes, @b0 first and then @dcid as far as it fits */
static inline unsigned int pkt_add(struct env *v, unsigned int len, uint8_t b0,
				   const uint8_t *dcid)
{
	unsigned int i, n = v->nsent;
	uint32_t seed = 7 + n;

	if (n == MAX_SENT)
		die("too many packets");
	v->sent[n] = malloc(len + 1);
	v->len[n] = len;
	v->plain[n] = NULL;
	for (i = 0; i < len; i++)
		v->sent[n][i] = rnd(&seed);
	if (len)
		v->sent[n][0] = b0;
	for (i = 0; i < DCID_LEN && i + 1 < len; i++)
		v->sent[n][1 + i] = dcid[i];
	v->nsent++;
	return n;
}

/* Seal it: pn_len bytes of @pn behind the DCID */
static inline void pkt_seal(struct env *v, unsigned int n, struct qoff_cipher *c,
			    uint64_t pn, unsigned int pn_len, unsigned int phase)
{
	uint8_t *p = v->sent[n];
	unsigned int i;

	p[0] = 0x40 | phase << 2 | (pn_len - 1);
	for (i = 0; i < pn_len; i++)
		p[1 + DCID_LEN + i] = pn >> 8 * (pn_len - 1 - i);
	v->plain[n] = malloc(v->len[n]);
	memcpy(v->plain[n], p, v->len[n]);
	memset(v->plain[n] + v->len[n] - QOFF_TAG_SIZE, 0, QOFF_TAG_SIZE);
	if (qoff_seal(c, p, v->len[n], 1 + DCID_LEN, pn))
		die("seal");
}

/* Send packets @first.. as one super-packet, as they are */
static inline void send_super(struct env *v, unsigned int first, unsigned int n, int tos)
{
	struct qoff_tx_seg segs[QOFF_MAX_SEGS] = {};
	struct iovec iov[QOFF_MAX_SEGS];
	struct qoff_tx_msg m = {
		.segs = segs, .nseg = n, .flags = QOFF_TX_RAW,
		.iov = iov, .iovlen = n,
		.addr = (struct sockaddr *)&v->b.addr, .addrlen = v->b.addrlen,
		.tos = tos,
	};
	unsigned int i;
	ssize_t ret;

	for (i = 0; i < n; i++) {
		segs[i].len = v->len[first + i];
		iov[i].iov_base = v->sent[first + i];
		iov[i].iov_len = v->len[first + i];
	}
	ret = qoff_send(v->a.s, &m, 0);
	if (ret < 0) {
		note("super-packet: %s", qoff_error());
		die("send");
	}
}

/* Send @n packets, 60 a call */
static inline void send_all(struct env *v, unsigned int first, unsigned int n)
{
	unsigned int k, sum;

	while (n) {
		for (k = 0, sum = 0; k < n && k < 60; k++) {
			sum += v->len[first + k];
			if (k && sum > 65000)
				break;
		}
		send_super(v, first, k, -1);
		first += k;
		n -= k;
	}
}

/* Receiving */

static inline bool wait_readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 && (p.revents & POLLIN);
}

/* Every packet of the batch is the next expected one, opened or as sent */
static inline void check_batch(struct env *v)
{
	struct qoff_batch *b = &v->bat;
	struct qoff_iter it = {};
	struct qoff_packet p;

	while (qoff_next(b, &it, &p)) {
		unsigned int n = v->ngot++;
		const uint8_t *want;

		if (n >= v->nsent) {
			note("packet %u was not sent", n);
			tap_case_failed++;
			return;
		}
		want = p.seg->status == QOFF_RX_OPENED ? v->plain[n] : v->sent[n];
		if (p.len != v->len[n] || p.seg->len != v->len[n] || !want ||
		    memcmp(p.data, want, p.len)) {
			note("packet %u: %zu bytes, status %u, wanted %u bytes", n, p.len,
			     p.seg->status, v->len[n]);
			for (n = 0; n < v->nsent; n++)
				if (v->len[n] == p.len && !memcmp(p.data, v->sent[n], p.len))
					note("it is packet %u", n);
			tap_case_failed++;
			return;
		}
	}
}

/* One receive into v->bat, checked. Return: packets, or a negative errno */
static inline int recv_one(struct env *v, size_t size, int flags)
{
	unsigned int before = v->ngot;
	int n;

	v->bat.data = v->buf;
	v->bat.size = size ? size : sizeof(v->buf);
	n = qoff_recv(v->b.s, &v->bat, flags);
	if (n <= 0)
		return n;
	if (!(v->bat.msg_flags & MSG_TRUNC))
		check_batch(v);
	if (flags & MSG_PEEK)
		v->ngot = before;
	return n;
}

/* Receive all that was sent, checked. Return: receives */
static inline unsigned int recv_all(struct env *v)
{
	unsigned int calls = 0;
	int n;

	while (v->ngot < v->nsent && !tap_case_failed) {
		if (!wait_readable(v->b.fd, WAIT_MS)) {
			note("%u of %u packets came", v->ngot, v->nsent);
			tap_case_failed++;
			break;
		}
		n = recv_one(v, 0, MSG_DONTWAIT);
		if (n <= 0) {
			note("receive: %d (%s)", n, qoff_error());
			tap_case_failed++;
			break;
		}
		calls++;
	}
	return calls;
}

#endif /* RX_ENV_H */
