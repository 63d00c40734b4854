// SPDX-License-Identifier: GPL-2.0
/*
 * A stream of super-packets that is the same each time, and what OpenSSL makes of it:
 * once_wire.py compares both with what a device, and the kernel, put on the wire.
 *
 *	once_wire NETNS ADDRESS PORT CIPHER DCID-LEN PN-LEN EXPECT
 *
 * PORT is the source port and the seed. EXPECT: a file to append every sealed packet
 * to, its length (2 bytes) before it.
 */
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "once.h"
#include "qoff_test.h"

#define SENDS		8
#define MAX_SEGS	48
#define DRAIN_MS	60000

static const uint8_t cid[QOFF_MAX_DCID] = "twenty bytes of DCID";

/**
 * struct stream - what is sent
 * @s: attached socket
 * @seal: OpenSSL with the same keys
 * @ctx: context
 * @seed: of everything
 * @dcid_len: connection ID
 * @pn_len: bytes of packet number
 * @max: longest packet
 * @expect: file of sealed packets
 * @nseg: packets of each send
 */
struct stream {
	struct qoff_sock *s;
	struct qoff_cipher *seal;
	struct qoff_ctx_id ctx;
	uint64_t seed;
	unsigned int dcid_len, pn_len, max;
	FILE *expect;
	unsigned int nseg[SENDS];
};

/* Runs of equal lengths among unequal ones, shortest and longest included */
static unsigned int pick_len(struct stream *t, unsigned int before)
{
	unsigned int min = 1 + t->dcid_len + 4 + QOFF_TAG_SIZE;

	switch (rnd(&t->seed) % 8) {
	case 0: return min;
	case 1: return t->max;
	case 2: case 3: return before;
	default: return min + rnd(&t->seed) % (t->max - min);
	}
}

static void expect_one(struct stream *t, const uint8_t *p, unsigned int len, uint64_t pn)
{
	uint8_t copy[2048];
	uint16_t n = len;

	memcpy(copy, p, len);
	MUST(!qoff_seal(t->seal, copy, len, 1 + t->dcid_len, pn));
	MUST(fwrite(&n, sizeof(n), 1, t->expect) == 1 && fwrite(copy, len, 1, t->expect) == 1);
}

/* One super-packet from @pn on. Return: the number after its last. */
static uint64_t send_one(struct stream *t, uint64_t pn, int no)
{
	static uint8_t buf[MAX_SEGS * 1500];
	struct qoff_tx_seg segs[MAX_SEGS] = { 0 };
	struct iovec iov = { buf, 0 };
	struct qoff_tx_msg m = { .ctx = t->ctx, .pn = pn, .segs = segs, .iov = &iov, .iovlen = 1,
				 .tos = -1, .flags = no & 1 ? QOFF_TX_PN_OFFSETS : 0 };
	unsigned int len = 500, off = 0;
	bool offsets = no & 1;
	ssize_t n;

	m.nseg = 1 + rnd(&t->seed) % MAX_SEGS;
	for (int i = 0; i < m.nseg; i++) {
		len = pick_len(t, len);
		if (iov.iov_len + len > 60000) {
			m.nseg = i;
			break;
		}
		if (offsets && i)
			off += 1 + rnd(&t->seed) % 3;
		else
			off = i;
		segs[i] = (struct qoff_tx_seg){ .len = len, .pn_off = offsets ? off : 0 };
		make_packet(&t->seed, buf + iov.iov_len, len, cid, t->dcid_len, pn + off,
			    t->pn_len, 0);
		expect_one(t, buf + iov.iov_len, len, pn + off);
		iov.iov_len += len;
	}
	t->nseg[no] = m.nseg;
	n = qoff_send(t->s, &m, 0);
	MUST(n == (ssize_t)iov.iov_len);
	return pn + off + 1;
}

/* Until the stack and the device have let go of it */
static void drain(int fd)
{
	int left = 1;

	for (int i = 0; left && i < DRAIN_MS; i++) {
		MUST(!ioctl(fd, SIOCOUTQ, &left));
		if (left)
			usleep(1000);
	}
	MUST(!left);
}

int main(int argc, char **argv)
{
	struct sockaddr_storage dst, src = { 0 };
	struct qoff_ctx_param p = { 0 };
	struct qoff_sock_info info;
	struct stream t = { 0 };
	struct qoff_keys keys;
	struct qoff *q;
	uint64_t pn;
	int fd;

	if (argc != 8) {
		fprintf(stderr, "usage: once_wire NETNS ADDRESS PORT CIPHER DCID-LEN PN-LEN EXPECT\n");
		return 2;
	}
	t.expect = fopen(argv[7], "a");
	MUST(t.expect);
	enter_ns(argv[1]);
	dst = parse_addr(argv[2]);
	src.ss_family = dst.ss_family;
	((struct sockaddr_in *)&dst)->sin_port = htons(ONCE_PORT);
	((struct sockaddr_in *)&src)->sin_port = htons(atoi(argv[3]));
	t.seed = atoi(argv[3]);
	t.dcid_len = atoi(argv[5]);
	t.pn_len = atoi(argv[6]);
	t.max = dst.ss_family == AF_INET ? 1472 : 1452;
	q = qoff_open(QOFF_KERNEL);
	fd = udp_socket(&src);
	MUST(q && !connect(fd, (void *)&dst, addr_len(&dst)));
	MUST(!qoff_attach(q, fd, -1, 0, 0, &t.s));
	keys = rnd_keys(&t.seed, qoff_cipher_by_name(argv[4]));
	t.seal = qoff_cipher_new(&keys);
	MUST(t.seal);
	/* The truncated number runs over in the middle of the stream */
	pn = (1ULL << 8 * t.pn_len) - 50;
	p = (struct qoff_ctx_param){ .keys = &keys, .dcid_len = t.dcid_len, .first_pn = pn };
	MUST(!qoff_ctx_add(t.s, &p, &t.ctx));
	for (int i = 0; i < SENDS; i++)
		pn = send_one(&t, pn, i);
	drain(fd);
	MUST(!qoff_sock_get(t.s, &info) && !fclose(t.expect));
	printf("{\"segs\": %llu, \"dev\": %llu, \"sw\": %llu, \"nseg\": [",
	       (unsigned long long)info.stats.v[QUIC_OFFLOAD_A_STATS_TX_SEGS],
	       (unsigned long long)info.stats.v[QUIC_OFFLOAD_A_STATS_TX_DEV],
	       (unsigned long long)info.stats.v[QUIC_OFFLOAD_A_STATS_TX_SW_SEAL]);
	for (int i = 0; i < SENDS; i++)
		printf("%s%u", i ? ", " : "", t.nseg[i]);
	printf("]}\n");
	qoff_cipher_free(t.seal);
	qoff_close(q);
	return 0;
}
