// SPDX-License-Identifier: GPL-2.0
/*
 * Sender and receiver of the transmit tests.
 *
 *	tx_tool send  --dst ADDR [options]	super-packets from an attached socket
 *	tx_tool recv  [options]			plain UDP socket, and packet taps
 *
 * Both make the same stream of datagrams from the same options, so that the
 * receiver knows every byte. Raw datagrams are pseudo-random. Packets to be
 * sealed carry a marker all over: wherever it is seen, plaintext leaked. The
 * receiver opens packets with OpenSSL. One line of JSON says what happened.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/errqueue.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <openssl/evp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "netns.h"
#include "qoff.h"

#define DCID_LEN	8
#define HDR_LEN		(1 + DCID_LEN + 4)
#define MARKER		"qoff-plaintext-!"
#define MAX_TAPS	4
#define MAX_SECRET_LEN	32
#define DRAIN_MS	60000

#ifndef UDP_GRO
#define UDP_GRO		104
#endif

struct opts {
	const char *dst;
	const char *mix;
	const char *tap[MAX_TAPS];
	int wire;		/* tap opened before --netns */
	int ntap;
	int port;
	int sport;
	int count;		/* super-packets */
	int nseg;
	int max_len;		/* largest datagram */
	int timeout_ms;
	int gap_us;
	int loops;		/* send the stream of --count this often, 0: once */
	bool seal;
	bool connect;
	bool gro;
	bool v4only;
	bool hold;
	bool zerocopy;
	bool recverr;
	int txtime_ms;
	unsigned long rate;
	int tos;
	const char *bind;
};

static struct opts o = {
	.mix = "mixed", .port = 4433, .count = 10, .nseg = 60, .max_len = 1472,
	.timeout_ms = 3000, .tos = -1, .wire = -1,
};

static void die(const char *what)
{
	fprintf(stderr, "tx_tool: %s: %s (%s)\n", what, strerror(errno), qoff_error());
	exit(1);
}

/* ------------------------------------------------------------------------
 * The stream: lengths and contents by index
 */

static uint32_t rnd(uint32_t *s)
{
	*s = *s * 1664525u + 1013904223u;
	return *s >> 8;
}

static unsigned int seg_len(unsigned int i)
{
	static const unsigned short mixed[] = {
		1200, 37, 1472, 1, 900, 64, 1400, 15, 333, 1472, 9, 700,
	};
	unsigned int min = o.seal ? HDR_LEN + 16 : 1, len;
	uint32_t s = i * 2654435761u;

	s ^= s >> 15;
	if (!strcmp(o.mix, "equal"))
		len = 1200;
	else if (!strcmp(o.mix, "max"))
		len = o.max_len;
	else if (!strcmp(o.mix, "uniform"))
		len = 200 + rnd(&s) % (o.max_len - 199);
	else if (!strcmp(o.mix, "tiny"))
		len = 15 + rnd(&s) % 20;
	else
		len = mixed[i % 12];
	if (len < min)
		len = min;
	return len > (unsigned int)o.max_len ? (unsigned int)o.max_len : len;
}

/* Packet @i before sealing; with --seal the last 16 bytes are the tag's room */
static unsigned int make(unsigned int i, uint8_t *p)
{
	unsigned int len = seg_len(i), j, end = o.seal ? len - 16 : len;
	uint32_t s = i + 12345;

	if (!o.seal) {
		for (j = 0; j < len; j++)
			p[j] = rnd(&s);
		return len;
	}
	p[0] = 0x43;
	memset(p + 1, 0x11, DCID_LEN);
	p[9] = i >> 24;
	p[10] = i >> 16;
	p[11] = i >> 8;
	p[12] = i;
	for (j = HDR_LEN; j < end; j++)
		p[j] = MARKER[(j - HDR_LEN) % 16];
	memset(p + end, 0, len - end);
	return len;
}

static void keys_of_test(struct qoff_keys *k)
{
	uint8_t secret[MAX_SECRET_LEN];

	memset(secret, 0x42, sizeof(secret));
	if (qoff_derive_keys(QOFF_QUIC_V1, QUIC_OFFLOAD_CIPHER_AES_128_GCM, secret,
			     sizeof(secret), k))
		die("derive");
}

/* ------------------------------------------------------------------------
 * Sender
 */

static socklen_t parse_dst(struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *s6 = (void *)ss;
	struct sockaddr_in *s4 = (void *)ss;
	char buf[64], *scope;

	memset(ss, 0, sizeof(*ss));
	snprintf(buf, sizeof(buf), "%s", o.dst);
	scope = strchr(buf, '%');
	if (scope)
		*scope++ = 0;
	if (inet_pton(AF_INET, buf, &s4->sin_addr) == 1) {
		s4->sin_family = AF_INET;
		s4->sin_port = htons(o.port);
		return sizeof(*s4);
	}
	if (inet_pton(AF_INET6, buf, &s6->sin6_addr) != 1)
		die("address");
	s6->sin6_family = AF_INET6;
	s6->sin6_port = htons(o.port);
	if (scope)
		s6->sin6_scope_id = if_nametoindex(scope);
	return sizeof(*s6);
}

static int sender_socket(int family)
{
	int one = 1, buf = 1 << 21, fd;
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(o.sport) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(o.sport) };

	fd = socket(family, SOCK_DGRAM, 0);
	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buf, sizeof(buf));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (family == AF_INET ? bind(fd, (void *)&a4, sizeof(a4)) :
				bind(fd, (void *)&a6, sizeof(a6)))
		die("bind");
	if (o.bind && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, o.bind, strlen(o.bind)))
		die("SO_BINDTODEVICE");
	if (o.rate && setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &o.rate, sizeof(o.rate)))
		die("SO_MAX_PACING_RATE");
	if (o.zerocopy && setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		die("SO_ZEROCOPY");
	if (o.txtime_ms) {
		struct sock_txtime st = { .clockid = CLOCK_MONOTONIC };

		if (setsockopt(fd, SOL_SOCKET, SO_TXTIME, &st, sizeof(st)))
			die("SO_TXTIME");
	}
	if (o.tos >= 0 && family == AF_INET &&
	    setsockopt(fd, IPPROTO_IP, IP_TOS, &o.tos, sizeof(o.tos)))
		die("IP_TOS");
	return fd;
}

static int send_super(int fd, const struct sockaddr_storage *dst, socklen_t dlen,
		      const struct qoff_ctx_id *ctx, unsigned int base, unsigned int pn)
{
	static uint8_t payload[QOFF_MAX_SEGS * 1500 + 65536];
	union {
		char buf[CMSG_SPACE(sizeof(struct qoff_tx) +
				    QOFF_MAX_SEGS * sizeof(struct qoff_tx_seg)) +
			 CMSG_SPACE(sizeof(uint64_t))];
		struct cmsghdr align;
	} u;
	size_t body = sizeof(struct qoff_tx) + o.nseg * sizeof(struct qoff_tx_seg);
	struct qoff_tx tx = {
		.hdr_size = sizeof(struct qoff_tx), .seg_size = sizeof(struct qoff_tx_seg),
		.nseg = o.nseg, .flags = o.seal ? 0 : QOFF_TX_RAW, .pn = o.seal ? pn : 0,
	};
	struct iovec iov = { .iov_base = payload };
	struct msghdr msg = {
		.msg_name = o.connect ? NULL : (void *)dst,
		.msg_namelen = o.connect ? 0 : dlen,
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &u, .msg_controllen = CMSG_SPACE(body),
	};
	struct qoff_tx_seg seg = {};
	struct cmsghdr *cm = (void *)&u;
	int i;

	if (o.seal) {
		tx.ctx = ctx->id;
		tx.ctx_gen = ctx->gen;
	}
	memset(&u, 0, sizeof(u));
	cm->cmsg_level = IPPROTO_UDP;
	cm->cmsg_type = QOFF_CMSG;
	cm->cmsg_len = CMSG_LEN(body);
	memcpy(CMSG_DATA(cm), &tx, sizeof(tx));
	for (i = 0; i < o.nseg; i++) {
		seg.len = make(base + i, payload + iov.iov_len);
		if (o.seal) {
			uint8_t *p = payload + iov.iov_len;

			p[9] = (pn + i) >> 24;
			p[10] = (pn + i) >> 16;
			p[11] = (pn + i) >> 8;
			p[12] = pn + i;
		}
		memcpy(CMSG_DATA(cm) + sizeof(tx) + i * sizeof(seg), &seg, sizeof(seg));
		iov.iov_len += seg.len;
	}
	if (o.txtime_ms) {
		struct timespec ts;
		uint64_t at;

		clock_gettime(CLOCK_MONOTONIC, &ts);
		at = ts.tv_sec * 1000000000ull + ts.tv_nsec + o.txtime_ms * 1000000ull;
		msg.msg_controllen += CMSG_SPACE(sizeof(at));
		cm = CMSG_NXTHDR(&msg, cm);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_TXTIME;
		cm->cmsg_len = CMSG_LEN(sizeof(at));
		memcpy(CMSG_DATA(cm), &at, sizeof(at));
	}
	if (sendmsg(fd, &msg, o.zerocopy ? MSG_ZEROCOPY : 0) != (ssize_t)iov.iov_len)
		return errno ?: EIO;
	return 0;
}

static void print_result(struct qoff_sock *s, int sent, int err)
{
	struct qoff_sock_info info;
	unsigned int i;

	if (qoff_sock_get(s, &info))
		die("stats");
	printf("{\"sent\": %d, \"errno\": %d", sent, err);
	for (i = 0; i < 64; i++)
		if (info.stats.present >> i & 1 && info.stats.v[i] && qoff_stat_name(i))
			printf(", \"%s\": %llu", qoff_stat_name(i),
			       (unsigned long long)info.stats.v[i]);
	printf("}\n");
	fflush(stdout);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

/* Until the stack and the device have let go of everything that was sent */
static void drain(int fd)
{
	int64_t end = now_ms() + DRAIN_MS;
	int left = 1;

	while (left && now_ms() < end) {
		if (ioctl(fd, SIOCOUTQ, &left))
			die("SIOCOUTQ");
		if (left)
			usleep(2000);
	}
	printf("{\"left\": %d}\n", left);
	fflush(stdout);
}

static int do_send(void)
{
	struct qoff_ctx_param p = { .dcid_len = DCID_LEN };
	struct sockaddr_storage dst;
	struct qoff_ctx_id ctx = {};
	struct qoff_sock *s;
	struct qoff_keys k;
	struct qoff *q;
	int fd, i, l, err = 0, sent = 0;
	unsigned int pn = 0;
	socklen_t dlen;

	dlen = parse_dst(&dst);
	/* A v6 socket also for IPv4, when the address says so (v4-mapped) */
	fd = sender_socket(dst.ss_family);
	q = qoff_open(QOFF_KERNEL);
	if (!q || (errno = -qoff_attach(q, fd, -1, DCID_LEN, 0, &s)))
		die("attach");
	/* With --loops the path may be gone for the moment */
	for (i = 0; o.connect && connect(fd, (void *)&dst, dlen); i++) {
		if (!o.loops || i == 1000)
			die("connect");
		usleep(10000);
	}
	if (o.seal) {
		keys_of_test(&k);
		p.keys = &k;
		errno = -qoff_ctx_add(s, &p, &ctx);
		if (errno)
			die("context");
	}
	for (l = 0; l < (o.loops ?: 1); l++) {
		for (i = 0; i < o.count; i++, pn += o.nseg) {
			err = send_super(fd, &dst, dlen, &ctx, i * o.nseg, pn);
			if (err) {
				/* Nothing was consumed: a path that came back may go on */
				if (o.loops)
					err = 0;
			} else {
				sent++;
			}
			if (err)
				break;
			if (o.gap_us)
				usleep(o.gap_us);
		}
	}
	print_result(s, sent, err);
	if (o.hold) {
		char c;

		/* The socket stays open until somebody closes our stdin */
		while (read(0, &c, 1) > 0)
			if (c == 'd')
				drain(fd);
		print_result(s, sent, err);
	}
	qoff_detach(s);
	qoff_close(q);
	close(fd);
	return 0;
}

/* ------------------------------------------------------------------------
 * Receiver
 */

struct want {
	uint64_t hash;
	int left;
};

static struct want *wants;
static unsigned int nwant;

static uint64_t hash(const uint8_t *p, unsigned int len)
{
	uint64_t h = 1469598103934665603ull ^ len;

	while (len--)
		h = (h ^ *p++) * 1099511628211ull;
	return h;
}

static int cmp_want(const void *a, const void *b)
{
	const struct want *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static void make_wants(void)
{
	unsigned int n = o.count * o.nseg, i, j;
	uint8_t buf[65536];

	wants = calloc(n, sizeof(*wants));
	for (i = 0; i < n; i++) {
		unsigned int len = make(i, buf);

		wants[i].hash = hash(buf, o.seal ? len - 16 : len);
		wants[i].left = 1;
	}
	qsort(wants, n, sizeof(*wants), cmp_want);
	for (i = 0, j = 0; i < n; i++) {
		if (j && wants[j - 1].hash == wants[i].hash)
			wants[j - 1].left++;
		else
			wants[j++] = wants[i];
	}
	nwant = j;
}

static struct {
	unsigned int good, dup, bad, leak, bytes, order;
	unsigned int frames, badcsum, badlen, partial, tapleak, tos, maxframe, quoted;
} r;

/* Open a sealed packet in place. Return: length of the plain one, or -1 */
static int open_pkt(const struct qoff_keys *k, uint8_t *p, int len)
{
	static EVP_CIPHER_CTX *hp, *aead;
	uint8_t mask[32], nonce[12];
	int n, out, i, hdr;

	if (len < 1 + DCID_LEN + 4 + 16)
		return -1;
	if (!hp) {
		hp = EVP_CIPHER_CTX_new();
		aead = EVP_CIPHER_CTX_new();
	}
	EVP_EncryptInit_ex(hp, EVP_aes_128_ecb(), NULL, k->hp, NULL);
	EVP_EncryptUpdate(hp, mask, &out, p + 1 + DCID_LEN + 4, 16);
	p[0] ^= mask[0] & 0x1f;
	n = (p[0] & 3) + 1;
	hdr = 1 + DCID_LEN + n;
	memcpy(nonce, k->iv, 12);
	for (i = 0; i < n; i++) {
		p[1 + DCID_LEN + i] ^= mask[1 + i];
		nonce[12 - n + i] ^= p[1 + DCID_LEN + i];
	}
	EVP_DecryptInit_ex(aead, EVP_aes_128_gcm(), NULL, k->key, nonce);
	EVP_DecryptUpdate(aead, NULL, &out, p, hdr);
	EVP_DecryptUpdate(aead, p + hdr, &out, p + hdr, len - hdr - 16);
	EVP_CIPHER_CTX_ctrl(aead, EVP_CTRL_AEAD_SET_TAG, 16, p + len - 16);
	if (EVP_DecryptFinal_ex(aead, mask, &out) != 1)
		return -1;
	return len - 16;
}

static bool has_marker(const uint8_t *p, size_t len)
{
	return memmem(p, len, MARKER, 16);
}

/* --loops numbers packets on; the contents repeat with the number's remainder */
static void fold_pn(uint8_t *p, int len)
{
	uint32_t pn = (uint32_t)p[9] << 24 | p[10] << 16 | p[11] << 8 | p[12];

	if (!o.loops || len < HDR_LEN)
		return;
	pn %= o.count * o.nseg;
	p[9] = pn >> 24;
	p[10] = pn >> 16;
	p[11] = pn >> 8;
	p[12] = pn;
}

static void got(const struct qoff_keys *k, uint8_t *p, int len)
{
	struct want key, *w;

	r.bytes += len;
	if (o.seal) {
		if (has_marker(p, len))
			r.leak++;
		len = open_pkt(k, p, len);
		if (len < 0) {
			r.bad++;
			return;
		}
		fold_pn(p, len);
	}
	key.hash = hash(p, len);
	w = bsearch(&key, wants, nwant, sizeof(key), cmp_want);
	if (!w) {
		r.bad++;
	} else if (w->left > 0 || o.loops) {
		w->left--;
		r.good++;
	} else {
		r.dup++;
	}
}

static uint32_t sum16(const uint8_t *p, unsigned int len, uint32_t s)
{
	for (; len > 1; len -= 2, p += 2)
		s += p[0] << 8 | p[1];
	if (len)
		s += *p << 8;
	return s;
}

static bool sum_ok(uint32_t s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s == 0xffff;
}

/* One frame, from its IP header on */
static void tap_frame(const uint8_t *p, int len, bool partial)
{
	unsigned int ulen, iplen, ihl;
	uint32_t s;
	bool v4;

	if (o.seal && has_marker(p, len))
		r.tapleak++;
	if (len < 28)
		return;
	v4 = p[0] >> 4 == 4;
	if (v4) {
		ihl = (p[0] & 15) * 4;
		iplen = p[2] << 8 | p[3];
		if (p[9] != IPPROTO_UDP || p[6] & 0x3f || p[7])
			return;
		if (!sum_ok(sum16(p, ihl, 0)))
			r.badcsum++;
		s = sum16(p + 12, 8, IPPROTO_UDP);
	} else {
		if (len < 48 || p[0] >> 4 != 6 || p[6] != IPPROTO_UDP)
			return;
		ihl = 40;
		iplen = 40 + (p[4] << 8 | p[5]);
		s = sum16(p + 8, 32, IPPROTO_UDP);
	}
	if ((p[ihl + 2] << 8 | p[ihl + 3]) != o.port)
		return;
	r.frames++;
	if (iplen > r.maxframe)
		r.maxframe = iplen;
	if (o.tos >= 0 && v4 && p[1] == o.tos)
		r.tos++;
	ulen = p[ihl + 4] << 8 | p[ihl + 5];
	if (iplen > (unsigned int)len || ulen != iplen - ihl) {
		r.badlen++;
		return;
	}
	/* A merged or uncut frame has no checksum of its own */
	if (partial)
		r.partial++;
	else if (iplen <= (unsigned int)o.max_len + 48 && !sum_ok(sum16(p + ihl, ulen, s + ulen)))
		r.badcsum++;
}

static int tap_open(const char *dev)
{
	struct sockaddr_ll sll = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd, one = 1, buf = 1 << 24;

	fd = socket(AF_PACKET, SOCK_DGRAM, 0);
	if (fd < 0)
		die("AF_PACKET");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buf, sizeof(buf));
	if (setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)))
		die("PACKET_AUXDATA");
	sll.sll_ifindex = if_nametoindex(dev);
	if (!sll.sll_ifindex || bind(fd, (void *)&sll, sizeof(sll)))
		die(dev);
	return fd;
}

static void tap_read(int fd)
{
	static uint8_t buf[1 << 17];
	char ctl[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = ctl, .msg_controllen = sizeof(ctl) };
	struct tpacket_auxdata aux = {};
	struct cmsghdr *cm;
	ssize_t n;

	n = recvmsg(fd, &msg, MSG_DONTWAIT);
	if (n <= 0)
		return;
	for (cm = CMSG_FIRSTHDR(&msg); cm; cm = CMSG_NXTHDR(&msg, cm))
		if (cm->cmsg_level == SOL_PACKET && cm->cmsg_type == PACKET_AUXDATA)
			memcpy(&aux, CMSG_DATA(cm), sizeof(aux));
	tap_frame(buf, n, aux.tp_status & TP_STATUS_CSUMNOTREADY);
}

static int recv_socket(void)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(o.port) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(o.port) };
	int fd, one = 1, buf = 1 << 26;

	fd = socket(o.v4only ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buf, sizeof(buf));
	if (o.recverr) {
		setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof(one));
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &one, sizeof(one));
	}
	if (o.gro && setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)))
		die("UDP_GRO");
	if (o.v4only ? bind(fd, (void *)&a4, sizeof(a4)) : bind(fd, (void *)&a6, sizeof(a6)))
		die("bind");
	return fd;
}

static void udp_read(int fd, const struct qoff_keys *k)
{
	static uint8_t buf[1 << 17];
	char ctl[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = ctl, .msg_controllen = sizeof(ctl) };
	struct cmsghdr *cm;
	int size = 0, off;
	ssize_t n;

	if (o.recverr) {
		/* What an ICMP error quotes must be no plaintext either */
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_ERRQUEUE);
		if (n > 0) {
			r.quoted++;
			if (has_marker(buf, n))
				r.leak++;
		}
	}
	n = recvmsg(fd, &msg, MSG_DONTWAIT);
	if (n < 0)
		return;
	for (cm = CMSG_FIRSTHDR(&msg); cm; cm = CMSG_NXTHDR(&msg, cm))
		if (cm->cmsg_level == IPPROTO_UDP && cm->cmsg_type == UDP_GRO)
			memcpy(&size, CMSG_DATA(cm), sizeof(size));
	if (!n)
		r.bad++;
	for (off = 0; off < n; off += size ?: n)
		got(k, buf + off, size && size < n - off ? size : n - off);
}

static int do_recv(void)
{
	int total = o.count * o.nseg * (o.loops ?: 1), i, n;
	struct pollfd pfd[MAX_TAPS + 3];
	int nfd;
	struct qoff_keys k = {};
	unsigned int seen, before = 0;
	int64_t quiet = 0;
	bool quit = false;

	make_wants();
	if (o.seal)
		keys_of_test(&k);
	pfd[0] = (struct pollfd){ recv_socket(), POLLIN, 0 };
	pfd[1] = (struct pollfd){ 0, POLLIN, 0 };
	for (i = 0; i < o.ntap; i++)
		pfd[2 + i] = (struct pollfd){ tap_open(o.tap[i]), POLLIN, 0 };
	n = 2 + o.ntap;
	if (o.wire >= 0)
		pfd[n++] = (struct pollfd){ o.wire, POLLIN, 0 };
	nfd = n;
	printf("ready\n");
	fflush(stdout);
	/* Until all came, or stdin was closed and nothing of ours came for a while:
	 * a port that goes up and down has frames of its own on the wire.
	 */
	for (;;) {
		seen = r.good + r.dup + r.bad + r.frames + r.tapleak;
		if (seen != before)
			quiet = now_ms() + o.timeout_ms;
		before = seen;
		if (quit && now_ms() >= quiet)
			break;
		n = poll(pfd, nfd, quit ? quiet - now_ms() : -1);
		if (n < 0)
			break;
		if (pfd[0].revents)
			udp_read(pfd[0].fd, &k);
		if (pfd[1].revents) {
			char c;

			if (read(0, &c, 1) <= 0) {
				quit = true;
				quiet = now_ms() + o.timeout_ms;
				pfd[1].fd = -1;
			}
		}
		for (i = 2; i < nfd; i++)
			if (pfd[i].revents)
				tap_read(pfd[i].fd);
		/* Something beyond what was sent may still follow: duplicates */
		if (quit && r.good + r.bad >= (unsigned int)total &&
		    poll(pfd, nfd, 100) <= 0)
			break;
	}
	printf("{\"good\": %u, \"dup\": %u, \"bad\": %u, \"leak\": %u, \"bytes\": %u, "
	       "\"frames\": %u, \"badcsum\": %u, \"badlen\": %u, \"partial\": %u, "
	       "\"tapleak\": %u, \"tos\": %u, \"maxframe\": %u, "
	       "\"quoted\": %u, \"expected\": %d}\n",
	       r.good, r.dup, r.bad, r.leak, r.bytes, r.frames, r.badcsum, r.badlen,
	       r.partial, r.tapleak, r.tos, r.maxframe, r.quoted, total);
	return 0;
}

static void enter_netns(const char *name)
{
	if (netns_enter(name))
		die(name);
}

static void usage(void)
{
	fprintf(stderr, "usage: tx_tool send|recv [options], see the source\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "dst", 1, 0, 'd' }, { "port", 1, 0, 'p' }, { "count", 1, 0, 'c' },
		{ "nseg", 1, 0, 'n' }, { "mix", 1, 0, 'm' }, { "max-len", 1, 0, 'x' },
		{ "seal", 0, 0, 's' }, { "connect", 0, 0, 'C' }, { "gro", 0, 0, 'g' },
		{ "tap", 1, 0, 't' }, { "timeout", 1, 0, 'T' }, { "gap", 1, 0, 'G' },
		{ "v4", 0, 0, '4' }, { "sport", 1, 0, 'S' }, { "hold", 0, 0, 'h' },
		{ "rate", 1, 0, 'r' }, { "zerocopy", 0, 0, 'z' }, { "tos", 1, 0, 'o' },
		{ "loops", 1, 0, 'l' }, { "netns", 1, 0, 'N' },
		{ "wire", 1, 0, 'w' }, { "txtime", 1, 0, 'X' }, { "recverr", 0, 0, 'e' },
		{ "bind", 1, 0, 'B' }, {},
	};
	int c;

	if (argc < 2)
		usage();
	while ((c = getopt_long(argc - 1, argv + 1, "", opts, NULL)) != -1) {
		switch (c) {
		case 'd': o.dst = optarg; break;
		case 'p': o.port = atoi(optarg); break;
		case 'S': o.sport = atoi(optarg); break;
		case 'c': o.count = atoi(optarg); break;
		case 'n': o.nseg = atoi(optarg); break;
		case 'm': o.mix = optarg; break;
		case 'x': o.max_len = atoi(optarg); break;
		case 's': o.seal = true; break;
		case 'C': o.connect = true; break;
		case 'g': o.gro = true; break;
		case 'T': o.timeout_ms = atoi(optarg); break;
		case 'G': o.gap_us = atoi(optarg); break;
		case '4': o.v4only = true; break;
		case 'h': o.hold = true; break;
		case 'z': o.zerocopy = true; break;
		case 'r': o.rate = strtoul(optarg, NULL, 0); break;
		case 'o': o.tos = atoi(optarg); break;
		case 'l': o.loops = atoi(optarg); break;
		case 'N': enter_netns(optarg); break;
		case 'w': o.wire = tap_open(optarg); break;
		case 'X': o.txtime_ms = atoi(optarg); break;
		case 'e': o.recverr = true; break;
		case 'B': o.bind = optarg; break;
		case 't':
			if (o.ntap == MAX_TAPS)
				usage();
			o.tap[o.ntap++] = optarg;
			break;
		default: usage();
		}
	}
	if (!strcmp(argv[1], "send") && o.dst)
		return do_send();
	if (!strcmp(argv[1], "recv"))
		return do_recv();
	usage();
}
