// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Every ability that a device announces, and the duties that need no
 * announcement. Lengths are random with a fixed seed, so that a failure comes
 * again.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fw.h"

#define OBJ		QOFF_MLX5_BYTES(quic_ctx_obj)
#define ROUNDS		3
#define MAX_WIRE	1400
#define SEALED		(QOFF_MLX5_TXF_SEAL | QOFF_MLX5_TXF_PN)

static unsigned int tests, bad;
static bool stop_at_first;
static u32 rng = 1;

static const char *const ciphers[] = { "", "AES-128-GCM", "AES-256-GCM", "ChaCha20", "AES-128-CCM" };

static void __attribute__((format(printf, 2, 3))) result(bool ok, const char *fmt, ...)
{
	va_list ap;

	bad += !ok;
	printf("%s %u - ", ok ? "ok" : "not ok", ++tests);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	puts("");
	fflush(stdout);
	if (!ok && stop_at_first) {
		printf("1..%u\n", tests);
		exit(1);
	}
}

static u32 rnd(u32 n)
{
	rng = rng * 1664525 + 1013904223;
	return (rng >> 8) % n;
}

static struct fw_ctx ctx_new(u8 dir, u32 cipher, u32 dcid_len)
{
	struct fw_ctx x = { .dir = dir, .dcid_len = dcid_len, .valid = 1, .handle = dir };
	u32 i, n;

	for (n = 0; n < 2; n++) {
		x.keys[n].cipher = cipher;
		for (i = 0; i < 32; i++) {
			x.keys[n].key[i] = rnd(256);
			x.keys[n].hp[i] = rnd(256);
		}
		for (i = 0; i < 12; i++)
			x.keys[n].iv[i] = rnd(256);
	}
	memcpy(x.keys[1].hp, x.keys[0].hp, 32);
	for (i = 0; i < dcid_len; i++)
		x.dcid[i] = rnd(256);
	return x;
}

/* What an earlier failure has left */
static void drain(struct fw_dev *rx)
{
	const u8 *data;

	while (fw_recv(rx, 0, &data))
		fw_recv_done(rx);
}

/* What the wire must carry */
struct expect {
	u8 wire[64][2048];
	u8 plain[64][2048];
	u16 len[64];
};

static struct expect want;

/* Plain packets into the send buffer, and what they must become */
static void fill(struct fw_dev *d, struct fw_super *s, const struct fw_ctx *x, u8 flags, u32 n,
		 u64 pn)
{
	u32 min = 1 + x->dcid_len + 4 + 16, off = 0, i;
	bool room = flags & QOFF_MLX5_TXF_TAG_ROOM;

	memset(s, 0, sizeof(*s));
	s->n = n;
	s->flags = flags;
	s->ctx = x->id;
	s->pn = flags & QOFF_MLX5_TXF_PN ? pn : 0;
	for (i = 0; i < n; i++) {
		u32 len = flags & QOFF_MLX5_TXF_TABLE || i + 1 == n ?
			  min + rnd(MAX_WIRE - min) : MAX_WIRE;

		ref_plain(want.plain[i], len, x->dcid, x->dcid_len, pn + i, 4, 0, rng);
		memcpy(want.wire[i], want.plain[i], len);
		ref_seal(&x->keys[0], pn + i, x->dcid_len, want.wire[i], len);
		want.len[i] = len;
		s->len[i] = room ? len : len - 16;
		memcpy(fw_tx_buf(d) + off, want.plain[i], s->len[i]);
		off += s->len[i];
	}
	s->bytes = off;
	s->mss = flags & QOFF_MLX5_TXF_TABLE || n == 1 ? 0 : s->len[0];
}

static bool arrived(struct fw_dev *rx, u32 n)
{
	const struct qoff_mlx5_cqe *c;
	const u8 *data;
	u32 i;

	for (i = 0; i < n; i++) {
		c = fw_recv(rx, FW_WAIT_S, &data);
		if (!c || be32toh(c->byte_cnt) < FW_HDR + want.len[i] ||
		    nm_rd16(data + FW_HDR - 4) != 8 + want.len[i] ||
		    memcmp(data + FW_HDR, want.wire[i], want.len[i])) {
			printf("# packet %u of %u: %s\n", i, n, c ? "other bytes" : "nothing");
			return false;
		}
		fw_recv_done(rx);
	}
	return true;
}

static void seal(struct fw_dev *tx, struct fw_dev *rx, u32 cipher, u32 dcid_len, u8 flags,
		 const char *how)
{
	struct fw_ctx x = ctx_new(QOFF_MLX5_TX, cipher, dcid_len);
	struct fw_answer a = { };
	struct fw_super s;
	bool ok;
	u32 r;

	drain(rx);
	ok = fw_ctx_create(tx, &x, &a);
	if (!ok)
		printf("# create: status %#x syndrome %#x\n", a.status, a.syndrome);
	for (r = 0; ok && r < ROUNDS; r++) {
		u32 n = r + 1 < ROUNDS ? 2 + rnd(18) : 1;
		int st;

		if (n > FW_CAP(tx, max_lso_segs))
			n = FW_CAP(tx, max_lso_segs);
		fill(tx, &s, &x, flags, n, r * 100 + (flags & QOFF_MLX5_TXF_PN ? 1ull << 40 : 0));
		st = fw_send(tx, &s);
		if (st)
			printf("# send: %d\n", st);
		ok = !st && arrived(rx, n);
	}
	result(ok, "seal %s, DCID of %u bytes, %s", ciphers[cipher], dcid_len, how);
	fw_ctx_destroy(&x);
}

static void seal_all(struct fw_dev *tx, struct fw_dev *rx)
{
	static const u8 lens[] = { 0, 1, 8, 20 };
	u8 room = FW_CAP(tx, tag_room) ? QOFF_MLX5_TXF_TAG_ROOM : 0;
	u8 table = FW_CAP(tx, lso_var) ? QOFF_MLX5_TXF_TABLE : 0;
	struct fw_flow *f = fw_flow_add(rx, NULL);
	u32 cipher, i;

	if (!f) {
		result(false, "packets can be steered to the receive queue");
		return;
	}
	for (cipher = 1; cipher <= 4; cipher++) {
		if (!(FW_CAP(tx, tx_ciphers) & BIT(cipher)))
			continue;
		for (i = 0; i < ARRAY_SIZE(lens); i++)
			if (FW_CAP(tx, dcid_len_supported) & BIT(lens[i]))
				seal(tx, rx, cipher, lens[i], SEALED | room | table,
				     table ? "any lengths" : "one length");
		if (table && FW_CAP(tx, lso_fixed))
			seal(tx, rx, cipher, 8, SEALED | room, "one length");
		if (room && FW_CAP(tx, tag_insert))
			seal(tx, rx, cipher, 8, SEALED | table, "the tag inserted");
		if (FW_CAP(tx, tx_tracked_pn))
			seal(tx, rx, cipher, 8, QOFF_MLX5_TXF_SEAL | room | table,
			     "numbers tracked");
	}
	fw_flow_del(f);
}

/* A refused super-packet, then a good one: only the good one arrives. */
static void refused(struct fw_dev *tx, struct fw_dev *rx, struct fw_ctx *x, const char *what,
		    int status, void (*spoil)(struct fw_dev *d, struct fw_super *s))
{
	u8 flags = SEALED | QOFF_MLX5_TXF_TAG_ROOM | QOFF_MLX5_TXF_TABLE;
	struct fw_super s;
	int st;

	fill(tx, &s, x, flags, 5, 1000);
	spoil(tx, &s);
	st = fw_send(tx, &s);
	fill(tx, &s, x, flags, 5, 2000);
	result(st == status && !fw_send(tx, &s) && arrived(rx, 5),
	       "%s: refused (status %d), nothing sent, the queue goes on", what, st);
}

static void no_context(struct fw_dev *d, struct fw_super *s)
{
	s->ctx = 0xfffff0;
}

static void no_key(struct fw_dev *d, struct fw_super *s)
{
	s->flags |= QOFF_MLX5_TXF_PHASE;
}

static void long_header(struct fw_dev *d, struct fw_super *s)
{
	fw_tx_buf(d)[s->bytes - s->len[4]] |= 0x80;
}

static void other_number(struct fw_dev *d, struct fw_super *s)
{
	s->pn++;
}

static void too_short(struct fw_dev *d, struct fw_super *s)
{
	s->bytes -= s->len[4] - 20;
	s->len[4] = 20;
}

static void duties(struct fw_dev *tx, struct fw_dev *rx)
{
	struct fw_ctx x = ctx_new(QOFF_MLX5_TX, QOFF_MLX5_AES_128_GCM, 8);
	struct fw_flow *f = fw_flow_add(rx, NULL);
	struct fw_answer a;

	if (!f || !fw_ctx_create(tx, &x, &a)) {
		result(false, "a context for the duties");
		return;
	}
	refused(tx, rx, &x, "no such context", QOFF_MLX5_TXS_NO_CTX, no_context);
	refused(tx, rx, &x, "an empty slot", QOFF_MLX5_TXS_NO_KEY, no_key);
	refused(tx, rx, &x, "a long header in the last packet", QOFF_MLX5_TXS_HEADER, long_header);
	refused(tx, rx, &x, "a number that the headers do not have", QOFF_MLX5_TXS_PN, other_number);
	refused(tx, rx, &x, "a packet shorter than its sample", QOFF_MLX5_TXS_LENGTH, too_short);
	fw_ctx_destroy(&x);
	fw_flow_del(f);
}

/* --- receive --- */

static bool send_plain(struct fw_dev *tx, u32 i)
{
	struct fw_super s = { .plain = true, .n = 1, .bytes = want.len[i] };

	memcpy(fw_tx_buf(tx), want.wire[i], want.len[i]);
	return !fw_send(tx, &s);
}

static bool opened_one(struct fw_dev *rx, u32 i, u64 pn, bool good)
{
	const struct qoff_mlx5_cqe *c;
	const u8 *data;
	u8 flags = good ? QOFF_MLX5_RXF_OPENED | QOFF_MLX5_RXF_HDR : QOFF_MLX5_RXF_AUTH_FAIL;
	bool ok;

	c = fw_recv(rx, FW_WAIT_S, &data);
	if (!c)
		return false;
	ok = c->quic_flags == flags && (be32toh(c->tag_handle) & 0xffffff) == QOFF_MLX5_RX &&
	     (!good || qoff_mlx5_cqe_pn(c) == pn) &&
	     !memcmp(data + FW_HDR, good ? want.plain[i] : want.wire[i],
		     want.len[i] - (good ? 16 : 0));
	if (!ok)
		printf("# flags %#x handle %#x number %llu\n", c->quic_flags,
		       be32toh(c->tag_handle), (unsigned long long)qoff_mlx5_cqe_pn(c));
	fw_recv_done(rx);
	return ok;
}

static void open_one(struct fw_dev *tx, struct fw_dev *rx, u32 cipher, u32 dcid_len)
{
	struct fw_ctx x = ctx_new(QOFF_MLX5_RX, cipher, dcid_len);
	struct fw_flow *f = NULL;
	struct fw_answer a = { };
	struct fw_super s;
	bool ok;
	u32 i;

	drain(rx);
	ok = fw_ctx_create(rx, &x, &a);
	if (!ok)
		printf("# create: status %#x syndrome %#x\n", a.status, a.syndrome);
	f = ok ? fw_flow_add(rx, &x) : NULL;
	fill(tx, &s, &x, SEALED | QOFF_MLX5_TXF_TAG_ROOM | QOFF_MLX5_TXF_TABLE, 8, 0);
	for (i = 0; f && ok && i < 8; i++) {
		if (i == 5)
			want.wire[i][want.len[i] - 1] ^= 1;
		ok = send_plain(tx, i) && opened_one(rx, i, i, i != 5);
	}
	result(f && ok, "open %s, DCID of %u bytes; what was altered comes as it was", ciphers[cipher],
	       dcid_len);
	fw_flow_del(f);
	fw_ctx_destroy(&x);
}

/* However many completions they make: the packets, in order, each with its length */
static void coalesce(struct fw_dev *tx, struct fw_dev *rx)
{
	struct fw_ctx x = ctx_new(QOFF_MLX5_RX, QOFF_MLX5_AES_128_GCM, 8), y = x;
	struct fw_flow *f = NULL;
	struct fw_answer a;
	struct fw_super s;
	u32 at = 0, most = 0, i;
	bool ok;

	x.gro = true;
	y.dir = QOFF_MLX5_TX;
	y.handle = 0;
	ok = fw_ctx_create(rx, &x, &a) && fw_ctx_create(tx, &y, &a);
	f = ok ? fw_flow_add(rx, &x) : NULL;
	if (f) {
		fill(tx, &s, &y, SEALED | QOFF_MLX5_TXF_TAG_ROOM | QOFF_MLX5_TXF_TABLE, 20, 0);
		ok = !fw_send(tx, &s);
	}
	while (f && ok && at < 20) {
		const u8 *data, *p;
		const struct qoff_mlx5_cqe *c = fw_recv(rx, FW_WAIT_S, &data);
		const struct qoff_mlx5_rx_seg *l;
		u32 n;

		if (!c) {
			ok = false;
			break;
		}
		n = QOFF_MLX5_CQE_SEGS(be16toh(c->quic_info));
		l = (void *)(data + qoff_mlx5_list_off(be32toh(c->byte_cnt)));
		for (i = 0, p = data + FW_HDR; i < n && ok; i++, at++) {
			u32 len = n > 1 ? be16toh(l[i].len) : be32toh(c->byte_cnt) - FW_HDR;

			ok = at < 20 && len == want.len[at] && (n == 1 || be64toh(l[i].pn) == at) &&
			     !memcmp(p, want.plain[at], len - 16);
			p += len;
		}
		most = n > most ? n : most;
		fw_recv_done(rx);
	}
	result(f && ok && most > 1, "coalesce packets of any lengths: up to %u in a completion", most);
	fw_flow_del(f);
	fw_ctx_destroy(&x);
	fw_ctx_destroy(&y);
}

static void receive(struct fw_dev *tx, struct fw_dev *rx)
{
	static const u8 lens[] = { 1, 8, 20 };
	u32 cipher, i;

	for (cipher = 1; cipher <= 4; cipher++)
		for (i = 0; i < ARRAY_SIZE(lens); i++)
			if (FW_CAP(rx, rx_ciphers) & BIT(cipher) && FW_CAP(rx, dcid_match) &&
			    FW_CAP(rx, dcid_len_supported) & BIT(lens[i]))
				open_one(tx, rx, cipher, lens[i]);
	if (FW_CAP(rx, gro_var) && FW_CAP(tx, lso_var))
		coalesce(tx, rx);
}

/* --- control --- */

static void in_band(struct fw_dev *tx, struct fw_dev *rx)
{
	struct fw_ctx x = ctx_new(QOFF_MLX5_TX, QOFF_MLX5_AES_256_GCM, 8);
	u8 flags = SEALED | QOFF_MLX5_TXF_TAG_ROOM | QOFF_MLX5_TXF_TABLE;
	struct fw_flow *f = fw_flow_add(rx, NULL);
	struct fw_answer a;
	struct fw_super s;
	bool ok;

	x.in_band = true;
	ok = f && fw_ctx_create(tx, &x, &a) && !fw_ctx_wqe(tx, QOFF_MLX5_CTX_WRITE, &x);
	fill(tx, &s, &x, flags, 10, 5);
	result(ok && !fw_send(tx, &s) && arrived(rx, 10), "a context written by the queue seals");
	result(fw_ctx_wqe(tx, QOFF_MLX5_CTX_WRITE, &x) == QOFF_MLX5_TXS_CTX_OP,
	       "writing it twice is refused");
	ok = !fw_ctx_wqe(tx, QOFF_MLX5_CTX_CLEAR, &x);
	fill(tx, &s, &x, flags, 10, 50);
	result(ok && fw_send(tx, &s) == QOFF_MLX5_TXS_NO_KEY, "cleared by the queue, it seals no more");
	fw_ctx_destroy(&x);
	fw_flow_del(f);
}

static void bad_object(struct fw_dev *d, const char *what, u32 off, u32 width, u32 val, u8 status,
		       u32 syndrome)
{
	struct fw_ctx x = ctx_new(QOFF_MLX5_TX, QOFF_MLX5_AES_128_GCM, 8);
	struct mlx5dv_devx_obj *o;
	struct fw_answer a;
	u8 obj[OBJ];

	if (!fw_ctx_create(d, &x, &a)) {
		result(false, "%s: no good context first", what);
		return;
	}
	fw_ctx_layout(&x, obj);
	nm_field_set(obj, off, width, val);
	o = fw_ctx_object(d, obj, &a);
	result(!o && a.status == status && a.syndrome == syndrome,
	       "a context with %s: status %#x syndrome %#x", what, a.status, a.syndrome);
	if (o)
		mlx5dv_devx_obj_destroy(o);
	fw_ctx_destroy(&x);
}

#define FIELD(f)	NM_OFF(quic_ctx_obj, f), NM_WIDTH(quic_ctx_obj, f)

static void bad_objects(struct fw_dev *d)
{
	bad_object(d, "no cipher", FIELD(cipher), 0, 3, QOFF_MLX5_SYN_CIPHER);
	bad_object(d, "an unknown cipher", FIELD(cipher), 9, 3, QOFF_MLX5_SYN_CIPHER);
	bad_object(d, "keys of another size", FIELD(cipher), 2, 5, QOFF_MLX5_SYN_DEK);
	bad_object(d, "a DCID of 21 bytes", FIELD(dcid_len), 21, 3, QOFF_MLX5_SYN_DCID_LEN);
	bad_object(d, "a DEK that is none", FIELD(dekn_0), 0xfffff, 5, QOFF_MLX5_SYN_DEK);
	bad_object(d, "reserved bits", FIELD(reserved_at_5c), 1, 3, QOFF_MLX5_SYN_FIELD);
	bad_object(d, "the other phase current", FIELD(key_phase), 1, 3, QOFF_MLX5_SYN_SLOT);
	bad_object(d, "coalescing on transmit", FIELD(gro_en), 1, 3, QOFF_MLX5_SYN_DIRECTION);
}

/* Another process's context is no context. */
static void foreign(struct fw_dev *tx)
{
	struct fw_ctx x = ctx_new(QOFF_MLX5_TX, QOFF_MLX5_AES_128_GCM, 8);
	struct fw_answer a;
	struct fw_super s;
	struct fw_dev other;
	int st = -1;

	if (fw_open(&other, tx->name) && fw_queues(&other) && fw_ctx_create(&other, &x, &a)) {
		fill(tx, &s, &x, SEALED | QOFF_MLX5_TXF_TAG_ROOM | QOFF_MLX5_TXF_TABLE, 3, 0);
		st = fw_send(tx, &s);
	}
	result(st == QOFF_MLX5_TXS_NO_CTX, "the context of another owner cannot be used (status %d)", st);
	fw_ctx_destroy(&x);
	fw_close(&other);
}

int fw_selftest(struct fw_dev *tx, struct fw_dev *rx, bool stop)
{
	bool gcm = FW_CAP(tx, tx_ciphers) & BIT(QOFF_MLX5_AES_128_GCM);

	stop_at_first = stop;
	result(FW_CAP(tx, version) == QOFF_MLX5_VERSION, "the group's version is %u",
	       QOFF_MLX5_VERSION);
	seal_all(tx, rx);
	if (gcm && FW_CAP(tx, lso_var) && FW_CAP(tx, tag_room)) {
		duties(tx, rx);
		foreign(tx);
	}
	if (rx->have_cap)
		receive(tx, rx);
	if (FW_CAP(tx, ctx_wqe))
		in_band(tx, rx);
	if (gcm)
		bad_objects(tx);
	printf("1..%u\n", tests);
	return bad ? 1 : 0;
}
