// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel against OpenSSL, packet by packet: what one backend of libqoff seals the
 * other opens, in both directions; what the kernel puts on the wire is what OpenSSL
 * makes of the same packet; and of damaged packets both say the same.
 *
 * Grid: cipher, packet number length, connection ID length 0 to 20, key phase;
 * payloads at boundaries and at random. One result for each cipher and direction.
 */
#include <getopt.h>

#include "qoff_test.h"

#define MAX_PAYLOAD 1300

static const size_t edges[] = { 4, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1179, 1183, 1200 };

/**
 * struct side - one end of the path
 * @ns: its network namespace, NULL: this one
 * @addr: its address
 * @q: handles in it, by backend; NULL without the module
 */
struct side {
	const char *ns;
	struct sockaddr_storage addr;
	struct qoff *q[QOFF_USER + 1];
};

static struct {
	struct side a, b;
	unsigned long packets;
	unsigned int loads;
	uint32_t cipher;
	bool merge;
	bool kernel_only;
	bool quick;
	uint64_t seed;
} opt = { .packets = 2000, .loads = 1, .seed = 1 };

/**
 * struct load - a super-packet, plain
 * @n: packets
 * @seg: their lengths and distances
 * @data: all of them, back to back
 * @len: bytes of those
 * @pn: number of the first
 */
struct load {
	unsigned int n;
	struct qoff_tx_seg seg[QOFF_MAX_SEGS];
	uint8_t data[65536];
	size_t len;
	uint64_t pn;
};

/**
 * struct end - an attached socket
 * @fd: socket
 * @s: attached
 * @addr: bound to
 */
struct end {
	int fd;
	struct qoff_sock *s;
	struct sockaddr_storage addr;
};

static void end_open(struct end *e, const struct side *side, enum qoff_backend backend,
		     unsigned int dcid_len)
{
	enter_ns(side->ns);
	e->addr = side->addr;
	e->fd = udp_socket(&e->addr);
	e->s = NULL;
	if (backend != QOFF_AUTO)
		MUST(!qoff_attach(side->q[backend], e->fd, -1, dcid_len, 0, &e->s));
}

static void end_close(struct end *e)
{
	qoff_detach(e->s);
	close(e->fd);
}

static void make_load(struct load *l, const uint8_t *dcid, size_t dcid_len, unsigned int pn_len,
		      unsigned int phase, uint64_t *next_pn, bool offsets)
{
	unsigned int max = 1 + rnd(&opt.seed) % 40;
	size_t head = 1 + dcid_len + pn_len;
	uint64_t pn = *next_pn;

	l->n = 0;
	l->len = 0;
	l->pn = pn;
	while (l->n < max) {
		size_t payload = rnd(&opt.seed) & 1 ? edges[rnd(&opt.seed) %
							    (sizeof(edges) / sizeof(edges[0]))] :
						      4 + rnd(&opt.seed) % MAX_PAYLOAD;
		size_t len = head + payload + QOFF_TAG_SIZE;

		if (l->len + len > 65000)
			break;
		make_packet(&opt.seed, l->data + l->len, len, dcid, dcid_len, pn, pn_len, phase);
		l->seg[l->n] = (struct qoff_tx_seg){ .len = len };
		if (offsets)
			l->seg[l->n].pn_off = pn - l->pn;
		l->len += len;
		l->n++;
		pn += offsets ? 1 + rnd(&opt.seed) % 3 : 1;
	}
	*next_pn = pn;
}

static uint64_t pn_of(const struct load *l, unsigned int i, bool offsets)
{
	return l->pn + (offsets ? l->seg[i].pn_off : i);
}

static ssize_t load_send(struct end *from, const struct end *to, const struct load *l,
			 struct qoff_ctx_id ctx, unsigned int flags)
{
	struct iovec iov = { (void *)l->data, l->len };
	struct qoff_tx_msg m = {
		.ctx = ctx, .pn = flags & QOFF_TX_RAW ? 0 : l->pn, .segs = l->seg, .nseg = l->n,
		.flags = flags, .iov = &iov, .iovlen = 1, .addr = (void *)&to->addr,
		.addrlen = addr_len(&to->addr), .tos = 1,
	};

	return qoff_send(from->s, &m, 0);
}

static const char *wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *wrong(const char *fmt, ...)
{
	static char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return text;
}

static const char *check_packet(const struct load *l, unsigned int i, size_t off, bool offsets,
				const struct qoff_packet *p, size_t hdr_len)
{
	if (i >= l->n)
		return "more packets than were sent";
	if (p->seg->status != QOFF_RX_OPENED)
		return wrong("packet %u of %u, %u bytes: status %u", i, l->n, l->seg[i].len,
			     p->seg->status);
	if (p->len != l->seg[i].len || memcmp(p->data, l->data + off, p->len))
		return wrong("packet %u of %u: other bytes", i, l->n);
	if (p->seg->pn != pn_of(l, i, offsets))
		return wrong("packet %u: number %llu", i, (unsigned long long)p->seg->pn);
	if (p->seg->hdr_len != hdr_len || p->seg->key_gen != 77 || (p->seg->tos & 3) != 1)
		return wrong("packet %u: header %u, generation %u, tos %u", i, p->seg->hdr_len,
			     p->seg->key_gen, p->seg->tos);
	return NULL;
}

static const char *check_record(const struct qoff_batch *b)
{
	const struct qoff_rx *rx = &b->rx;
	uint64_t min = UINT64_MAX, max = 0;

	for (unsigned int i = 0; i < rx->nseg; i++) {
		if (b->seg[i].pn < min)
			min = b->seg[i].pn;
		if (b->seg[i].pn > max)
			max = b->seg[i].pn;
	}
	if (rx->cookie != 4711 || rx->nopened != rx->nseg || rx->nfailed || rx->ect1 != rx->nseg ||
	    rx->ect0 || rx->ce || rx->pn_min != min || rx->pn_largest != max)
		return "aggregates of the record";
	if (!!(rx->flags & QOFF_RX_CONTIGUOUS) != (max - min + 1 == rx->nseg))
		return "CONTIGUOUS";
	return rx->flags & QOFF_RX_DUP ? "DUP" : NULL;
}

/* All of @l arrives, in order, opened. @receives counts. */
static const char *load_recv(struct end *to, const struct load *l, bool offsets, size_t hdr_len,
			     unsigned long *receives)
{
	static struct qoff_batch b;
	static uint8_t data[65536];
	const char *bad = NULL;
	unsigned int i = 0;
	size_t off = 0;

	b.data = data;
	b.size = sizeof(data);
	while (i < l->n && !bad) {
		struct qoff_iter it = { 0 };
		struct qoff_packet p;
		int n = recv_wait(to->s, &b);

		if (n < 0)
			return wrong("receive after %u of %u: %s", i, l->n, strerror(-n));
		(*receives)++;
		while (!bad && qoff_next(&b, &it, &p)) {
			bad = check_packet(l, i, off, offsets, &p, hdr_len);
			off += p.len;
			i++;
		}
		if (!bad)
			bad = check_record(&b);
	}
	return bad;
}

/* The datagrams of @l as OpenSSL seals them arrive at a socket that knows nothing. */
static const char *load_wire(struct end *to, const struct load *l, bool offsets,
			     const struct qoff_keys *keys, size_t dcid_len)
{
	struct qoff_cipher *c = qoff_cipher_new(keys);
	static uint8_t want[2048], got[2048];
	const char *bad = NULL;
	size_t off = 0;

	MUST(c);
	for (unsigned int i = 0; i < l->n && !bad; off += l->seg[i++].len) {
		size_t len = l->seg[i].len;
		ssize_t n;

		memcpy(want, l->data + off, len);
		MUST(!qoff_seal(c, want, len, 1 + dcid_len, pn_of(l, i, offsets)));
		n = readable(to->fd) ? recv(to->fd, got, sizeof(got), MSG_DONTWAIT) : -1;
		if (n < 0)
			bad = wrong("datagram %u of %u did not arrive", i, l->n);
		else if (n != len || memcmp(got, want, len))
			bad = wrong("datagram %u of %u differs from OpenSSL's", i, l->n);
	}
	qoff_cipher_free(c);
	return bad;
}

/**
 * struct run - a direction under test
 * @tx: backend that seals
 * @rx: backend that opens; QOFF_AUTO: a plain socket, bytes are compared
 * @cipher: enum quic_offload_cipher
 * @packets: so far
 * @receives: so far
 * @merged: skbs with several packets that the kernel's receive queue got
 */
struct run {
	enum qoff_backend tx, rx;
	uint32_t cipher;
	unsigned long packets;
	unsigned long receives;
	unsigned long merged;
};

static const char *one(struct run *r, struct end *from, struct end *to, size_t dcid_len,
		       unsigned int pn_len, unsigned int phase)
{
	struct qoff_keys keys = rnd_keys(&opt.seed, r->cipher);
	/* Every width of the number carries, somewhere. */
	uint64_t first = rnd(&opt.seed) >> (2 + rnd(&opt.seed) % 62), next = first;
	struct qoff_ctx_param ctx = { .keys = &keys, .dcid_len = dcid_len, .phase = phase,
				      .first_pn = first };
	uint8_t dcid[QOFF_MAX_DCID];
	struct qoff_flow_param flow = {
		.local = (void *)&to->addr, .remote = (void *)&from->addr, .dcid = dcid,
		.dcid_len = dcid_len, .keys = &keys, .cookie = 4711, .key_gen = 77,
		.largest_pn = first ? first - 1 : QOFF_PN_NONE, .phase = phase,
	};
	bool offsets = rnd(&opt.seed) & 1;
	const char *bad = NULL;
	static struct load l;
	struct qoff_ctx_id id;
	uint32_t flow_id;

	rnd_fill(&opt.seed, dcid, sizeof(dcid));
	MUST(!qoff_ctx_add(from->s, &ctx, &id));
	if (to->s)
		MUST(!qoff_flow_add(to->s, &flow, &flow_id));
	for (unsigned int k = 0; k < opt.loads && !bad; k++) {
		make_load(&l, dcid, dcid_len, pn_len, phase, &next, offsets);
		if (load_send(from, to, &l, id, offsets ? QOFF_TX_PN_OFFSETS : 0) != l.len)
			return wrong("send: %s", qoff_error());
		bad = to->s ? load_recv(to, &l, offsets, 1 + dcid_len + pn_len, &r->receives) :
			      load_wire(to, &l, offsets, &keys, dcid_len);
		r->packets += l.n;
	}
	MUST(!qoff_ctx_del(from->s, id));
	if (to->s)
		MUST(!qoff_flow_del(to->s, flow_id));
	return bad;
}

static unsigned long merged(const struct end *e)
{
	struct qoff_sock_info info;

	MUST(!qoff_sock_get(e->s, &info));
	return info.stats.v[QUIC_OFFLOAD_A_STATS_RX_BATCHES];
}

/* The whole grid, again and again until enough packets went through. */
static void grid(struct run *r)
{
	const char *bad = NULL;
	struct end from, to;
	size_t dcid = 0;

	for (; !bad && (dcid <= QOFF_MAX_DCID || r->packets < opt.packets); dcid++) {
		size_t dcid_len = dcid % (QOFF_MAX_DCID + 1);

		end_open(&from, &opt.a, r->tx, 0);
		end_open(&to, &opt.b, r->rx, dcid_len);
		for (unsigned int k = 0; k < 8 && !bad; k++) {
			/* Each length of one meets each phase, and over the run the other. */
			if (opt.quick && k / 2 != dcid % 4)
				continue;
			bad = one(r, &from, &to, dcid_len, 1 + k / 2, k & 1);
			if (bad)
				printf("# dcid_len %zu pn_len %u phase %u: %s\n", dcid_len,
				       1 + k / 2, k & 1, bad);
		}
		if (r->rx == QOFF_KERNEL)
			r->merged += merged(&to);
		end_close(&from);
		end_close(&to);
	}
	ksft_result(!bad, "%s seals, %s: %s, %lu packets in %lu receives", backend_name(r->tx),
		    r->rx == QOFF_AUTO ? "bytes of OpenSSL" : r->rx == QOFF_KERNEL ?
		    "kernel opens" : "user opens", qoff_cipher_name(r->cipher), r->packets,
		    r->receives);
	if (opt.merge && r->rx == QOFF_KERNEL && r->tx == QOFF_KERNEL)
		ksft_result(!bad && r->merged * 2 >= r->receives,
			    "%s: GRO merged unequal packets, %lu times in %lu receives",
			    qoff_cipher_name(r->cipher), r->merged, r->receives);
}

/* Damages a sealed packet in one of the ways that the wire knows. */
static size_t damage(uint8_t *p, size_t len)
{
	unsigned int bit = rnd(&opt.seed) % (len * 8);

	switch (rnd(&opt.seed) % 8) {
	case 0:
		return len - 1 - rnd(&opt.seed) % (len - 1);	/* cut */
	case 1:
		rnd_fill(&opt.seed, p, len);			/* garbage */
		return len;
	case 2:
		p[0] ^= 0x80;					/* long header */
		return len;
	case 3:
		return len;					/* untouched */
	default:
		p[bit / 8] ^= 1 << bit % 8;
		return len;
	}
}

static int recv_one(struct end *e, struct qoff_batch *b, uint8_t *data)
{
	b->data = data;
	b->size = 2048;
	return recv_wait(e->s, b);
}

/* One damaged packet to both: the same status, the same bytes, the same record. */
static const char *damaged_one(struct end *from, struct end *kern, struct end *user,
			       struct qoff_cipher *c, const uint8_t *dcid, size_t dcid_len,
			       uint64_t pn)
{
	size_t len = 1 + dcid_len + 4 + 5 + rnd(&opt.seed) % 200 + QOFF_TAG_SIZE;
	static uint8_t pkt[2048], dk[2048], du[2048];
	static struct qoff_batch bk, bu;
	int k, u;

	make_packet(&opt.seed, pkt, len, dcid, dcid_len, pn, 1 + rnd(&opt.seed) % 4, 0);
	MUST(!qoff_seal(c, pkt, len, 1 + dcid_len, pn));
	len = damage(pkt, len);
	MUST(sendto(from->fd, pkt, len, 0, (void *)&kern->addr, addr_len(&kern->addr)) == len);
	MUST(sendto(from->fd, pkt, len, 0, (void *)&user->addr, addr_len(&user->addr)) == len);
	k = recv_one(kern, &bk, dk);
	u = recv_one(user, &bu, du);
	if (k != 1 || u != 1)
		return wrong("kernel received %d, user %d", k, u);
	bk.rx.tstamp_ns = 0;
	bu.rx.tstamp_ns = 0;
	bk.rx.flags &= ~(QOFF_RX_HAS_TSTAMP | QOFF_RX_MORE);
	bu.rx.flags &= ~(QOFF_RX_HAS_TSTAMP | QOFF_RX_MORE);
	if (memcmp(&bk.seg[0], &bu.seg[0], sizeof(bk.seg[0])))
		return wrong("%zu bytes: kernel has status %u number %llu, user %u %llu", len,
			     bk.seg[0].status, (unsigned long long)bk.seg[0].pn, bu.seg[0].status,
			     (unsigned long long)bu.seg[0].pn);
	if (memcmp(&bk.rx, &bu.rx, sizeof(bk.rx)))
		return wrong("status %u: another record: flags %#x and %#x", bk.seg[0].status,
			     bk.rx.flags, bu.rx.flags);
	if (memcmp(dk, du, len))
		return wrong("status %u: other bytes", bk.seg[0].status);
	if (bk.seg[0].status != QOFF_RX_OPENED && memcmp(dk, pkt, len))
		return "a raw packet is not what came in";
	return NULL;
}

static void damaged(uint32_t cipher)
{
	struct qoff_keys keys = rnd_keys(&opt.seed, cipher);
	struct qoff_cipher *c = qoff_cipher_new(&keys);
	size_t dcid_len = rnd(&opt.seed) % (QOFF_MAX_DCID + 1);
	uint8_t dcid[QOFF_MAX_DCID];
	struct qoff_flow_param flow = {
		.dcid = dcid, .dcid_len = dcid_len, .keys = &keys, .cookie = 4711, .key_gen = 77,
		.largest_pn = QOFF_PN_NONE,
	};
	struct qoff_flow_info ik, iu;
	struct end from, kern, user;
	const char *bad = NULL;
	uint32_t fk, fu;
	unsigned long i;

	MUST(c);
	rnd_fill(&opt.seed, dcid, sizeof(dcid));
	end_open(&from, &opt.a, QOFF_AUTO, 0);
	end_open(&kern, &opt.b, QOFF_KERNEL, dcid_len);
	end_open(&user, &opt.b, QOFF_USER, dcid_len);
	flow.remote = (void *)&from.addr;
	flow.local = (void *)&kern.addr;
	MUST(!qoff_flow_add(kern.s, &flow, &fk));
	flow.local = (void *)&user.addr;
	MUST(!qoff_flow_add(user.s, &flow, &fu));
	for (i = 0; i < opt.packets && !bad; i++)
		bad = damaged_one(&from, &kern, &user, c, dcid, dcid_len, i);
	MUST(!qoff_flow_get(kern.s, fk, &ik));
	MUST(!qoff_flow_get(user.s, fu, &iu));
	if (!bad && (ik.failed != iu.failed || ik.largest_pn != iu.largest_pn))
		bad = wrong("kernel counts %llu failures up to number %llu, user %llu and %llu",
			    (unsigned long long)ik.failed, (unsigned long long)ik.largest_pn,
			    (unsigned long long)iu.failed, (unsigned long long)iu.largest_pn);
	if (!bad && !ik.failed)
		bad = "no packet failed";
	if (bad)
		printf("# packet %lu, dcid_len %zu: %s\n", i, dcid_len, bad);
	ksft_result(!bad, "damaged packets, kernel and user agree: %s, %lu packets, %llu failed",
		    qoff_cipher_name(cipher), i, (unsigned long long)ik.failed);
	end_close(&from);
	end_close(&kern);
	end_close(&user);
	qoff_cipher_free(c);
}

static void direction(enum qoff_backend tx, enum qoff_backend rx)
{
	bool kernel = tx == QOFF_KERNEL || rx == QOFF_KERNEL;

	if (kernel && !opt.a.q[QOFF_KERNEL]) {
		ksft_skipped(tx == QOFF_KERNEL ? "kernel seals" : "kernel opens", "no module");
		return;
	}
	if (!kernel && opt.kernel_only)
		return;
	for (uint32_t cipher = 1; cipher <= 4; cipher++) {
		struct run r = { .tx = tx, .rx = rx, .cipher = cipher };

		if (!opt.cipher || cipher == opt.cipher)
			grid(&r);
	}
}

static void side_open(struct side *s)
{
	enter_ns(s->ns);
	s->q[QOFF_USER] = qoff_open(QOFF_USER);
	MUST(s->q[QOFF_USER]);
	s->q[QOFF_KERNEL] = qoff_open(QOFF_KERNEL);
}

static int usage(FILE *f)
{
	fprintf(f,
		"usage: qoff_diff [--a ADDR] [--b ADDR] [--ns-a NS] [--ns-b NS]\n"
		"                 [--packets N] [--seed S] [--cipher NAME] [--kernel-only]\n"
		"                 [--expect-merge] [--quick]\n"
		"Sends from address a (namespace NS) to b; default: 127.0.0.1 to itself. At least N\n"
		"packets for each cipher and direction. --kernel-only: no directions without the\n"
		"kernel, and it is an error if it has no module. --expect-merge: the path has GRO.\n"
		"--quick: a quarter of the grid, one packet number length for each DCID length.\n");
	return f == stderr ? 2 : 0;
}

static int parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "a", 1, NULL, 'a' }, { "b", 1, NULL, 'b' }, { "ns-a", 1, NULL, 'A' },
		{ "ns-b", 1, NULL, 'B' }, { "packets", 1, NULL, 'n' }, { "seed", 1, NULL, 's' },
		{ "expect-merge", 0, NULL, 'm' },
		{ "kernel-only", 0, NULL, 'k' }, { "cipher", 1, NULL, 'c' },
		{ "quick", 0, NULL, 'q' },
		{ "help", 0, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	int c;

	opt.a.addr = parse_addr("127.0.0.1");
	opt.b.addr = opt.a.addr;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'a':
			opt.a.addr = parse_addr(optarg);
			break;
		case 'b':
			opt.b.addr = parse_addr(optarg);
			break;
		case 'A':
			opt.a.ns = optarg;
			break;
		case 'B':
			opt.b.ns = optarg;
			break;
		case 'n':
			opt.packets = strtoul(optarg, NULL, 0);
			break;
		case 's':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			opt.merge = true;
			break;
		case 'k':
			opt.kernel_only = true;
			break;
		case 'q':
			opt.quick = true;
			break;
		case 'c':
			opt.cipher = qoff_cipher_by_name(optarg);
			if (!opt.cipher)
				return usage(stderr);
			break;
		case 'h':
			exit(usage(stdout));
		default:
			return usage(stderr);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		enum qoff_backend tx, rx;
	} ways[] = {
		{ QOFF_KERNEL, QOFF_AUTO }, { QOFF_KERNEL, QOFF_USER }, { QOFF_USER, QOFF_KERNEL },
		{ QOFF_KERNEL, QOFF_KERNEL }, { QOFF_USER, QOFF_AUTO }, { QOFF_USER, QOFF_USER },
	};
	int err = parse(argc, argv);
	uint32_t cipher;

	if (err)
		return err;
	printf("TAP version 13\n# seed %llu\n", (unsigned long long)opt.seed);
	side_open(&opt.a);
	side_open(&opt.b);
	MUST(!opt.kernel_only || (opt.a.q[QOFF_KERNEL] && opt.b.q[QOFF_KERNEL]));
	for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++)
		direction(ways[w].tx, ways[w].rx);
	if (!opt.b.q[QOFF_KERNEL]) {
		ksft_skipped("damaged packets", "no module");
		return ksft_end();
	}
	for (cipher = 1; cipher <= 4; cipher++) {
		if (!opt.cipher || cipher == opt.cipher)
			damaged(cipher);
	}
	return ksft_end();
}
