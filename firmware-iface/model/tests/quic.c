// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of the QUIC extension: capabilities, objects, transmit. Bytes on the
 * wire are compared with tools/qoff-fw/ref.c, which shares no code with the model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "quic_h.h"

#define OBJ_BYTES	QOFF_MLX5_BYTES(quic_ctx_obj)
#define SEALED		(QOFF_MLX5_TXF_SEAL | QOFF_MLX5_TXF_PN | QOFF_MLX5_TXF_TAG_ROOM)

static u32 rng = 1;

static u32 rnd(u32 n)
{
	rng = rng * 1664525 + 1013904223;
	return (rng >> 8) % n;
}

static void open_pair(struct h *h, const char *quic)
{
	struct nm_opts o = { .seed = 1, .quic = quic };

	h_open(h, &o);
	h_init(&h->f[0]);
	h_init(&h->f[1]);
	h_queues(&h->f[0], 7, 2048);
	h_queues(&h->f[1], 7, 2048);
}

static u8 query_cap(struct h_fn *f, u8 *out, u32 len)
{
	u8 in[16] = { };

	nm_wr16(in, MLX5_CMD_OP_QUERY_HCA_CAP);
	nm_wr16(in + 6, QOFF_MLX5_CAP_TYPE << 1 | 1);
	return h_cmd(f, in, sizeof(in), out, len);
}

static void test_caps(void **state)
{
	static const char *const bad[] = {
		"", "yes", "on,", "on,-nothing", "on,lso_var", "on,-lso_var=1", "on;x", "on,-",
	};
	u8 out[16 + 4096], cap[QOFF_MLX5_BYTES(quic_cap)] = { };
	struct h h;
	u32 i, id, syn;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(nm_quic_caps_parse(bad[i], cap));
	open_pair(&h, NULL);
	assert_int_equal(query_cap(&h.f[0], out, sizeof(out)), NM_ST_BAD_PARAM);
	memset(out, 0, sizeof(out));
	assert_int_equal(hq_create(&h.f[0], 0, 0, out, &id, &syn), NM_ST_BAD_PARAM);
	assert_int_equal(hq_dek(&h.f[0], out, 16, QOFF_MLX5_DEK_PURPOSE, &id),
			 NM_ST_BAD_PARAM);
	h_close(&h);
	open_pair(&h, "on,-lso_var,max_lso_segs=16");
	assert_int_equal(query_cap(&h.f[0], out, sizeof(out)), NM_ST_OK);
	assert_int_equal(NM_GET(quic_cap, out + 16, version), QOFF_MLX5_VERSION);
	assert_int_equal(NM_GET(quic_cap, out + 16, lso_var), 0);
	assert_int_equal(NM_GET(quic_cap, out + 16, lso_fixed), 1);
	assert_int_equal(NM_GET(quic_cap, out + 16, max_lso_segs), 16);
	assert_int_equal(NM_GET(quic_cap, out + 16, dcid_len_supported), 0x1fffff);
	h_close(&h);
}

static struct hq_ctx tx_ctx(u32 cipher, u32 dcid_len)
{
	struct hq_ctx x = { .dcid_len = dcid_len, .valid = 1 };
	u32 i;

	hq_keys(&x.keys[0], cipher, 7 * cipher + dcid_len);
	hq_keys(&x.keys[1], cipher, 1000 + cipher);
	memcpy(x.keys[1].hp, x.keys[0].hp, sizeof(x.keys[1].hp));
	for (i = 0; i < 20; i++)
		x.dcid[i] = 0xc0 + i;
	return x;
}

/* Random packets of one context into guest memory; what the wire must carry into @want */
struct batch {
	struct hq_super s;
	u8 want[QOFF_MLX5_MAX_SEGS][2048];
	u16 wire[QOFF_MLX5_MAX_SEGS];
	u8 hdr[64];
};

static void batch_make(struct h_fn *f, struct batch *b, const struct hq_ctx *x, u64 buf,
		       u32 n, u8 flags, u32 phase, u32 max)
{
	bool room = flags & QOFF_MLX5_TXF_TAG_ROOM;
	u64 pn = b->s.pn;
	u32 off = 0, i;

	b->s.n = n;
	b->s.flags = flags | (phase ? QOFF_MLX5_TXF_PHASE : 0);
	b->s.ctx = x->id;
	b->s.payload = buf;
	for (i = 0; i < n; i++) {
		u32 min = 1 + x->dcid_len + 4 + 16, wire = min + rnd(max - min);
		u32 pn_len = 4 - rnd(pn < 200 ? 4 : pn < 60000 ? 3 : 1);
		u8 *p = b->want[i];

		if (!(flags & QOFF_MLX5_TXF_TABLE) && n > 1)
			wire = i + 1 < n ? max : min + rnd(max - min);
		b->s.skip[i] = i && flags & QOFF_MLX5_TXF_PN_SKIP ? rnd(40) : 0;
		pn += b->s.skip[i];
		ref_plain(p, wire, x->dcid, x->dcid_len, pn, pn_len, phase, rng);
		b->wire[i] = wire;
		b->s.len[i] = room ? wire : wire - 16;
		memcpy(h_ptr(f, buf + off), p, b->s.len[i]);
		off += b->s.len[i];
		if (flags & QOFF_MLX5_TXF_SEAL)
			assert_true(ref_seal(&x->keys[phase], pn, x->dcid_len, p, wire));
		pn++;
	}
	b->s.bytes = off;
	b->s.mss = flags & QOFF_MLX5_TXF_TABLE || n == 1 ? 0 : b->s.len[0];
	b->s.hdr = b->hdr;
	b->s.pn = flags & QOFF_MLX5_TXF_PN ? b->s.pn : 0;
}

static u64 batch_next(const struct batch *b, u64 pn)
{
	u32 i;

	for (i = 0; i < b->s.n; i++)
		pn += 1 + b->s.skip[i];
	return pn;
}

/* The frames on function 1, byte for byte, with good checksums */
static void batch_check(struct h *h, const struct batch *b)
{
	struct nm_cqe *c;
	u32 i;

	for (i = 0; i < b->s.n; i++) {
		u8 *d;

		c = h_poll_rx(&h->f[1]);
		assert_non_null(c);
		assert_int_equal(c->hds_ip_ext, 7);
		assert_true(be32toh(c->byte_cnt) >= b->s.hdr_len + b->wire[i]);
		d = h_rx_data(&h->f[1], c);
		assert_int_equal(nm_rd16(d + b->s.hdr_len - 4), 8 + b->wire[i]);
		assert_memory_equal(d + b->s.hdr_len, b->want[i], b->wire[i]);
		h_repost(&h->f[1]);
	}
	assert_null(h_poll_rx(&h->f[1]));
}

static u8 tx_status(struct h *h)
{
	struct nm_cqe *c = h_poll_tx(&h->f[0]);

	assert_non_null(c);
	assert_int_equal(c->op_own >> 4, NM_CQE_REQ);
	assert_null(h_poll_tx(&h->f[0]));
	return c->rsvd0;
}

static void test_seal(void **state)
{
	static const u8 modes[] = {
		SEALED | QOFF_MLX5_TXF_TABLE, SEALED,
		QOFF_MLX5_TXF_SEAL | QOFF_MLX5_TXF_PN | QOFF_MLX5_TXF_TABLE,
		QOFF_MLX5_TXF_SEAL | QOFF_MLX5_TXF_PN,
		SEALED | QOFF_MLX5_TXF_TABLE | QOFF_MLX5_TXF_PN_SKIP,
		QOFF_MLX5_TXF_SEAL | QOFF_MLX5_TXF_TAG_ROOM | QOFF_MLX5_TXF_TABLE,
	};
	u32 cipher, dcid, m, runs = getenv("QOFF_FULL") ? 24 : 1, r;
	struct batch *b = calloc(1, sizeof(*b));
	struct h h;
	u64 buf;

	open_pair(&h, "on");
	buf = h_alloc(&h.f[0], 1 << 17, 4096);
	for (cipher = 1; cipher <= 4; cipher++)
		for (dcid = 0; dcid <= 20; dcid++)
			for (m = 0; m < ARRAY_SIZE(modes) * runs; m++) {
				struct hq_ctx x = tx_ctx(cipher, dcid);
				u64 pn = 0;

				x.keys[0].path = m & 1 ? 0x01020304 : 0;
				x.valid = 3;
				x.keys[1].path = x.keys[0].path;
				assert_int_equal(hq_ctx_create(&h.f[0], &x), NM_ST_OK);
				for (r = 0; r < 4; r++) {
					u32 n = r == 3 ? 1 : 1 + rnd(40);

					b->s.hdr_len = h_frame(b->hdr, r & 1 ? 6 : 4, 17, 0,
							       1234, 4433);
					b->s.pn = pn;
					batch_make(&h.f[0], b, &x, buf, n,
						   modes[m % ARRAY_SIZE(modes)], r & 1, 1200);
					hq_post(&h, &h.f[0], &b->s);
					assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_OK);
					batch_check(&h, b);
					pn = batch_next(b, pn);
				}
				assert_int_equal(hq_destroy(&h.f[0], x.id), NM_ST_OK);
			}
	h_close(&h);
	free(b);
}

static void test_numbers_large(void **state)
{
	struct batch *b = calloc(1, sizeof(*b));
	struct hq_ctx x = tx_ctx(1, 8);
	struct h h;
	u64 buf;

	open_pair(&h, "on");
	buf = h_alloc(&h.f[0], 1 << 16, 4096);
	assert_int_equal(hq_ctx_create(&h.f[0], &x), NM_ST_OK);
	b->s.hdr_len = h_frame(b->hdr, 4, 17, 0, 1, 2);
	b->s.pn = (1ull << 62) - 8;
	batch_make(&h.f[0], b, &x, buf, 8, SEALED | QOFF_MLX5_TXF_TABLE, 0, 900);
	hq_post(&h, &h.f[0], &b->s);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_OK);
	batch_check(&h, b);
	/* one more would be over 2^62 - 1: nothing goes out */
	b->s.pn = (1ull << 62) - 7;
	batch_make(&h.f[0], b, &x, buf, 8, SEALED | QOFF_MLX5_TXF_TABLE, 0, 900);
	hq_post(&h, &h.f[0], &b->s);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_PN);
	assert_null(h_poll_rx(&h.f[1]));
	h_close(&h);
	free(b);
}

/* Cut without sealing, each length its own */
static void test_cut_only(void **state)
{
	struct batch *b = calloc(1, sizeof(*b));
	struct hq_ctx x = tx_ctx(1, 8);
	struct h h;
	u64 buf;

	open_pair(&h, "on");
	buf = h_alloc(&h.f[0], 1 << 17, 4096);
	b->s.hdr_len = h_frame(b->hdr, 4, 17, 0, 1, 2);
	batch_make(&h.f[0], b, &x, buf, 50, QOFF_MLX5_TXF_TAG_ROOM | QOFF_MLX5_TXF_TABLE, 0, 1200);
	b->s.flags = QOFF_MLX5_TXF_TABLE;
	b->s.ctx = 0;
	b->s.pn = 0;
	hq_post(&h, &h.f[0], &b->s);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_OK);
	batch_check(&h, b);
	h_close(&h);
	free(b);
}

/* --- what is refused, and that nothing of it is sent --- */

static void refused(struct h *h, struct batch *b, u8 status)
{
	u32 sent = h->f[0].fn->cnt[NM_CNT_tx_packets];
	u8 w[NM_WQE_MAX_BB * NM_WQE_BB];
	u32 ds = hq_wqe(&h->f[0], &b->s, w, 0);	/* not asked for: told all the same */

	hq_post_raw(h, &h->f[0], w, ds);
	assert_int_equal(tx_status(h), status);
	assert_int_equal(h->f[0].fn->cnt[NM_CNT_tx_packets], sent);
	assert_null(h_poll_rx(&h->f[1]));
}

static void test_refused(void **state)
{
	struct batch *b = calloc(1, sizeof(*b));
	struct hq_ctx x = tx_ctx(1, 8), rx = tx_ctx(1, 8);
	u8 flags = SEALED | QOFF_MLX5_TXF_TABLE, obj[OBJ_BYTES], *p;
	struct h h;
	u32 syn, last;
	u64 buf;

	open_pair(&h, "on");
	buf = h_alloc(&h.f[0], 1 << 16, 4096);
	x.pn_check = true;
	x.limit = 40;
	assert_int_equal(hq_ctx_create(&h.f[0], &x), NM_ST_OK);
	rx.dir = QOFF_MLX5_RX;
	rx.handle = 1;
	assert_int_equal(hq_ctx_create(&h.f[0], &rx), NM_ST_OK);
	b->s.hdr_len = h_frame(b->hdr, 4, 17, 0, 1, 2);
#define AGAIN() (b->s.pn = 100, batch_make(&h.f[0], b, &x, buf, 10, flags, 0, 900))
	AGAIN();
	b->s.ctx = 0xfffff0;
	refused(&h, b, QOFF_MLX5_TXS_NO_CTX);
	b->s.ctx = x.dek[0];
	refused(&h, b, QOFF_MLX5_TXS_NO_CTX);
	b->s.ctx = rx.id;
	refused(&h, b, QOFF_MLX5_TXS_NO_CTX);
	AGAIN();
	b->s.flags |= QOFF_MLX5_TXF_PHASE;
	refused(&h, b, QOFF_MLX5_TXS_NO_KEY);
	/* the last packet's header is wrong: the first nine stay here as well */
	AGAIN();
	last = b->s.bytes - b->s.len[9];
	p = h_ptr(&h.f[0], buf + last);
	p[0] ^= 0x80;
	refused(&h, b, QOFF_MLX5_TXS_HEADER);
	p[0] ^= 0x80 ^ 0x08;
	refused(&h, b, QOFF_MLX5_TXS_HEADER);
	p[0] ^= 0x08 ^ 0x04;
	refused(&h, b, QOFF_MLX5_TXS_HEADER);
	p[0] ^= 0x04;
	p[9 + (p[0] & 3)] ^= 1;
	refused(&h, b, QOFF_MLX5_TXS_PN);
	/* shorter than its sample; longer than the MTU */
	AGAIN();
	b->s.bytes = last = b->s.bytes - b->s.len[9] + 28;
	b->s.len[9] = 28;
	refused(&h, b, QOFF_MLX5_TXS_LENGTH);
	AGAIN();
	b->s.n = 1;
	b->s.bytes = b->s.len[0] = 9000;
	refused(&h, b, QOFF_MLX5_TXS_LENGTH);
	/* the number's mark */
	AGAIN();
	hq_post(&h, &h.f[0], &b->s);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_OK);
	batch_check(&h, b);
	b->s.pn = 109;
	batch_make(&h.f[0], b, &x, buf, 10, flags, 0, 900);
	refused(&h, b, QOFF_MLX5_TXS_PN_REUSE);
	b->s.pn = 110;
	batch_make(&h.f[0], b, &x, buf, 31, flags, 0, 900);
	refused(&h, b, QOFF_MLX5_TXS_LIMIT);
	b->s.pn = 110;
	batch_make(&h.f[0], b, &x, buf, 30, flags, 0, 900);
	hq_post(&h, &h.f[0], &b->s);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_OK);
	batch_check(&h, b);
	/* the slot is emptied under what is posted next */
	memset(obj, 0, sizeof(obj));
	NM_SET64(quic_ctx_obj, obj, modify_field_select, QOFF_MLX5_SEL_SLOT0);
	assert_int_equal(hq_modify(&h.f[0], x.id, obj, &syn), NM_ST_OK);
	b->s.pn = 140;
	batch_make(&h.f[0], b, &x, buf, 5, flags, 0, 900);
	refused(&h, b, QOFF_MLX5_TXS_NO_KEY);
	nm_quic_revoke(nm_quic_ctx_get(h.f[0].fn, x.id, 0));
	refused(&h, b, QOFF_MLX5_TXS_KEY_LOST);
	assert_int_equal(hq_destroy(&h.f[0], x.id), NM_ST_OK);
	refused(&h, b, QOFF_MLX5_TXS_NO_CTX);
	h_close(&h);
	free(b);
}

/* A malformed WQE ends in an error completion with its reason. */
static void malformed(const char *caps, void (*spoil)(struct batch *b, u8 *w, u32 *ds),
		      u8 flags, u32 n, u8 vendor)
{
	struct batch *b = calloc(1, sizeof(*b));
	u8 w[NM_WQE_MAX_BB * NM_WQE_BB];
	struct hq_ctx x = tx_ctx(1, 8);
	struct nm_err_cqe *e;
	struct h h;
	u64 buf;
	u32 ds;

	open_pair(&h, caps);
	buf = h_alloc(&h.f[0], 1 << 16, 4096);
	assert_int_equal(hq_ctx_create(&h.f[0], &x), NM_ST_OK);
	b->s.hdr_len = h_frame(b->hdr, 4, 17, 0, 1, 2);
	batch_make(&h.f[0], b, &x, buf, n, flags, 0, 900);
	ds = hq_wqe(&h.f[0], &b->s, w, 8);
	if (spoil)
		spoil(b, w, &ds);
	hq_post_raw(&h, &h.f[0], w, ds);
	e = (void *)h_poll_tx(&h.f[0]);
	assert_non_null(e);
	assert_int_equal(e->op_own >> 4, NM_CQE_REQ_ERR);
	assert_int_equal(e->syndrome, NM_SYND_LOCAL_QP_OP);
	assert_int_equal(e->vendor_err_synd, vendor);
	assert_int_equal(h.f[0].fn->cnt[NM_CNT_tx_packets], 0);
	h_close(&h);
	free(b);
}

#define QSEG(w)	((struct qoff_mlx5_wqe_quic *)((w) + 80))

static void cut_short(struct batch *b, u8 *w, u32 *ds)
{
	*ds = 5;
}

static void no_table(struct batch *b, u8 *w, u32 *ds)
{
	QSEG(w)->table_ds++;
}

static void bad_flag(struct batch *b, u8 *w, u32 *ds)
{
	QSEG(w)->flags_ctx |= htobe32(0x80000000);
}

static void bad_rsvd(struct batch *b, u8 *w, u32 *ds)
{
	QSEG(w)->rsvd = 1;
}

static void no_segs(struct batch *b, u8 *w, u32 *ds)
{
	QSEG(w)->num_segs = 0;
	QSEG(w)->table_ds = 0;
}

static void many_segs(struct batch *b, u8 *w, u32 *ds)
{
	QSEG(w)->num_segs = 129;
}

static void bad_sum(struct batch *b, u8 *w, u32 *ds)
{
	w[96 + 1]++;
}

static void mss_too(struct batch *b, u8 *w, u32 *ds)
{
	((struct nm_wqe_eth *)(w + 16))->mss = htobe16(100);
}

static void skip_first(struct batch *b, u8 *w, u32 *ds)
{
	w[96 + 3] = 1;
}

static void tcp_headers(struct batch *b, u8 *w, u32 *ds)
{
	w[16 + 14 + 23] = 6;
}

static void test_malformed(void **state)
{
	u8 var = SEALED | QOFF_MLX5_TXF_TABLE, skip = var | QOFF_MLX5_TXF_PN_SKIP;

	malformed("on", cut_short, var, 8, QOFF_MLX5_VES_SHORT);
	malformed("on", no_table, var, 8, QOFF_MLX5_VES_SHORT);
	malformed("on", bad_flag, var, 8, QOFF_MLX5_VES_FLAGS);
	malformed("on", bad_rsvd, var, 8, QOFF_MLX5_VES_FLAGS);
	malformed("on", skip_first, skip, 8, QOFF_MLX5_VES_FLAGS);
	malformed("on", no_segs, var, 8, QOFF_MLX5_VES_SEGS);
	malformed("on", many_segs, var, 8, QOFF_MLX5_VES_SEGS);
	malformed("on", bad_sum, var, 8, QOFF_MLX5_VES_SUM);
	malformed("on", mss_too, var, 8, QOFF_MLX5_VES_SUM);
	malformed("on", tcp_headers, var, 8, QOFF_MLX5_VES_HEADERS);
	/* each ability alone is missing */
	malformed("on,-lso_var", NULL, var, 8, QOFF_MLX5_VES_FLAGS);
	malformed("on,-lso_fixed", NULL, SEALED, 8, QOFF_MLX5_VES_FLAGS);
	malformed("on,-lso_pn_skip", NULL, skip, 8, QOFF_MLX5_VES_FLAGS);
	malformed("on,-tag_room", NULL, var, 8, QOFF_MLX5_VES_FLAGS);
	malformed("on,-tag_insert", NULL, var & ~QOFF_MLX5_TXF_TAG_ROOM, 8, QOFF_MLX5_VES_FLAGS);
	malformed("on,-tx_explicit_pn", NULL, var, 8, QOFF_MLX5_VES_FLAGS);
	malformed("on,-tx_tracked_pn", NULL, var & ~QOFF_MLX5_TXF_PN, 8, QOFF_MLX5_VES_FLAGS);
	malformed("on,max_lso_segs=7", NULL, var, 8, QOFF_MLX5_VES_SEGS);
	malformed("on,log_max_lso_bytes=6", NULL, var, 8, QOFF_MLX5_VES_SUM);
}

/* --- objects --- */

static void create_fails(struct h *h, const char *caps, u32 off, u32 width, u64 val,
			 bool rx, u8 status, u32 syndrome)
{
	struct hq_ctx x = tx_ctx(1, 8);
	u8 obj[OBJ_BYTES];
	u32 id, syn, n, gen;

	if (caps)
		open_pair(h, caps);
	x.dir = rx;
	x.handle = rx;
	for (n = 0; n < 2; n++)
		assert_int_equal(hq_dek(&h->f[0], n ? x.keys[0].hp : x.keys[0].key, 16,
					QOFF_MLX5_DEK_PURPOSE, &x.dek[n * 2]), NM_ST_OK);
	hq_obj(&x, obj);
	if (width == 64)
		nm_wr64(obj + off / 8, val);
	else
		nm_field_set(obj, off, width, val);
	gen = nm_obj_count(h->f[0].fn, NM_OBJ_GEN);
	assert_int_equal(hq_create(&h->f[0], 0, 0, obj, &id, &syn), status);
	assert_int_equal(syn, syndrome);
	/* no state changed: object gone, DEKs free again */
	assert_int_equal(nm_obj_count(h->f[0].fn, NM_OBJ_GEN), gen);
	assert_int_equal(h->f[0].fn->quic->nr_ctx[0] + h->f[0].fn->quic->nr_ctx[1], 0);
	for (n = 0; n < 2; n++)
		assert_int_equal(nm_obj_lookup(h->f[0].fn, NM_OBJ_GEN, x.dek[n * 2])->users, 0);
	if (caps)
		h_close(h);
}

#define FIELD(f)	NM_OFF(quic_ctx_obj, f), NM_WIDTH(quic_ctx_obj, f)
#define BADP		NM_ST_BAD_PARAM

static void test_object_errors(void **state)
{
	struct h h;

	open_pair(&h, "on");
	create_fails(&h, NULL, FIELD(cipher), 0, false, BADP, QOFF_MLX5_SYN_CIPHER);
	create_fails(&h, NULL, FIELD(cipher), 5, false, BADP, QOFF_MLX5_SYN_CIPHER);
	create_fails(&h, NULL, FIELD(cipher), 2, false, NM_ST_BAD_RES, QOFF_MLX5_SYN_DEK);
	create_fails(&h, NULL, FIELD(dcid_len), 21, false, BADP, QOFF_MLX5_SYN_DCID_LEN);
	create_fails(&h, NULL, FIELD(fail_action), 1, false, BADP, QOFF_MLX5_SYN_DIRECTION);
	create_fails(&h, NULL, FIELD(fail_action), 3, true, BADP, QOFF_MLX5_SYN_CAP);
	create_fails(&h, NULL, FIELD(gro_en), 1, false, BADP, QOFF_MLX5_SYN_DIRECTION);
	create_fails(&h, NULL, FIELD(lookup), 1, false, BADP, QOFF_MLX5_SYN_DIRECTION);
	create_fails(&h, NULL, FIELD(lookup), 1, true, BADP, QOFF_MLX5_SYN_FIELD);
	create_fails(&h, NULL, FIELD(pn_check), 1, true, BADP, QOFF_MLX5_SYN_DIRECTION);
	create_fails(&h, NULL, FIELD(handle), 0, true, BADP, QOFF_MLX5_SYN_HANDLE);
	create_fails(&h, NULL, FIELD(hp_valid), 0, false, BADP, QOFF_MLX5_SYN_SLOT);
	create_fails(&h, NULL, FIELD(key_phase), 1, false, BADP, QOFF_MLX5_SYN_SLOT);
	create_fails(&h, NULL, FIELD(reserved_at_5c), 1, false, BADP, QOFF_MLX5_SYN_FIELD);
	create_fails(&h, NULL, FIELD(next_pn), (1ull << 62) + 1, false, BADP, QOFF_MLX5_SYN_PN);
	create_fails(&h, NULL, FIELD(dekn_0), 0xfffff, false, NM_ST_BAD_RES, QOFF_MLX5_SYN_DEK);
	create_fails(&h, NULL, FIELD(hp_dekn), 0, false, NM_ST_BAD_RES, QOFF_MLX5_SYN_DEK);
	create_fails(&h, NULL, FIELD(in_band), 1, false, NM_ST_BAD_RES_STATE,
		     QOFF_MLX5_SYN_STATE);
	h_close(&h);
	create_fails(&h, "on,tx_ciphers=4", FIELD(path_id), 0, false, BADP,
		     QOFF_MLX5_SYN_CIPHER);
	create_fails(&h, "on,dcid_len_supported=0x101", FIELD(dcid_len), 4, false, BADP,
		     QOFF_MLX5_SYN_DCID_LEN);
	create_fails(&h, "on,-multipath_nonce", FIELD(path_id), 1, false, BADP,
		     QOFF_MLX5_SYN_CAP);
	create_fails(&h, "on,-tx_pn_check", FIELD(pn_check), 1, false, BADP, QOFF_MLX5_SYN_CAP);
	create_fails(&h, "on,-fail_original", FIELD(fail_action), 2, true, BADP,
		     QOFF_MLX5_SYN_CAP);
	create_fails(&h, "on,-gro_equal,-gro_var", FIELD(gro_en), 1, true, BADP,
		     QOFF_MLX5_SYN_CAP);
	create_fails(&h, "on,-ctx_wqe", FIELD(in_band), 1, false, BADP, QOFF_MLX5_SYN_CAP);
	create_fails(&h, "on,max_tx_ctx=0", FIELD(path_id), 0, false, NM_ST_NO_RES,
		     QOFF_MLX5_SYN_QUOTA);
}

static void test_quota(void **state)
{
	struct hq_ctx x = { .in_band = true };
	u8 obj[OBJ_BYTES] = { };
	u32 id, syn, i;
	struct h h;

	open_pair(&h, "on,max_tx_ctx=5");
	for (i = 0; i < 5; i++)
		assert_int_equal(hq_ctx_create(&h.f[0], &x), NM_ST_OK);
	assert_int_equal(hq_ctx_create(&h.f[0], &x), NM_ST_NO_RES);
	assert_int_equal(x.syndrome, QOFF_MLX5_SYN_QUOTA);
	/* the other direction has its own; a bulk fails as a whole */
	NM_SET(quic_ctx_obj, obj, in_band, 1);
	assert_int_equal(hq_create(&h.f[0], 0, 1, obj, &id, &syn), NM_ST_NO_RES);
	x.dir = QOFF_MLX5_RX;
	assert_int_equal(hq_ctx_create(&h.f[0], &x), NM_ST_OK);
	assert_int_equal(hq_destroy(&h.f[0], x.id), NM_ST_OK);
	assert_int_equal(hq_destroy(&h.f[0], x.id), NM_ST_BAD_RES);
	h_close(&h);
	open_pair(&h, "on");
	assert_int_equal(hq_create(&h.f[0], 0, 6, obj, &id, &syn), NM_ST_OK);
	for (i = 0; i < 64; i++)
		assert_int_equal(hq_destroy(&h.f[0], id + i), NM_ST_OK);
	h_close(&h);
}

static void test_exclusion(void **state)
{
	struct hq_ctx x = tx_ctx(1, 8);
	struct h h;
	u32 tls, out;
	u8 key[32] = { };

	open_pair(&h, "on,concurrent_protocols=0xfffd");	/* without TLS */
	assert_int_equal(hq_dek(&h.f[0], key, 16, 1, &tls), NM_ST_OK);
	assert_int_equal(hq_ctx_create(&h.f[0], &x), NM_ST_RES_BUSY);
	assert_int_equal(x.syndrome, QOFF_MLX5_SYN_EXCLUSIVE);
	{
		u8 in[16] = { }, o[16];

		nm_wr16(in, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
		NM_SET(general_obj_in_cmd_hdr, in, obj_type,
		       MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY);
		NM_SET(general_obj_in_cmd_hdr, in, obj_id, tls);
		assert_int_equal(H_CMD(&h.f[0], in, o), NM_ST_OK);
	}
	assert_int_equal(hq_ctx_create(&h.f[0], &x), NM_ST_OK);
	assert_int_equal(hq_dek(&h.f[0], key, 16, 1, &out), NM_ST_RES_BUSY);
	assert_int_equal(hq_dek(&h.f[0], key, 16, 2, &out), NM_ST_OK);
	assert_int_equal(hq_destroy(&h.f[0], x.id), NM_ST_OK);
	assert_int_equal(hq_dek(&h.f[0], key, 16, 1, &out), NM_ST_OK);
	h_close(&h);
}

static void test_key_life(void **state)
{
	struct hq_ctx x = tx_ctx(2, 8);
	u8 obj[OBJ_BYTES], q[OBJ_BYTES], in[1024] = { }, out[16], zero[12] = { };
	struct h h;
	u32 syn;

	open_pair(&h, "on");
	assert_int_equal(hq_ctx_create(&h.f[0], &x), NM_ST_OK);
	/* a DEK in use neither goes nor changes */
	nm_wr16(in, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
	NM_SET(general_obj_in_cmd_hdr, in, obj_type,
	       MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY);
	NM_SET(general_obj_in_cmd_hdr, in, obj_id, x.dek[0]);
	assert_int_equal(H_CMD(&h.f[0], in, out), NM_ST_RES_BUSY);
	nm_wr16(in, MLX5_CMD_OP_MODIFY_GENERAL_OBJECT);
	NM_SET64(encryption_key_obj, in + 16, modify_field_select, 1);
	assert_int_equal(H_CMD(&h.f[0], in, out), NM_ST_RES_BUSY);
	/* filling a filled slot; the same key twice; no such phase */
	hq_obj(&x, obj);
	NM_SET64(quic_ctx_obj, obj, modify_field_select, QOFF_MLX5_SEL_SLOT0);
	assert_int_equal(hq_modify(&h.f[0], x.id, obj, &syn), NM_ST_BAD_RES_STATE);
	assert_int_equal(syn, QOFF_MLX5_SYN_SLOT_BUSY);
	NM_SET64(quic_ctx_obj, obj, modify_field_select, QOFF_MLX5_SEL_SLOT1);
	NM_SET(quic_ctx_obj, obj, phase_valid, 2);
	NM_SET(quic_ctx_obj, obj, dekn_1, x.dek[0]);
	assert_int_equal(hq_modify(&h.f[0], x.id, obj, &syn), NM_ST_RES_BUSY);
	assert_int_equal(syn, QOFF_MLX5_SYN_KEY_REUSE);
	NM_SET64(quic_ctx_obj, obj, modify_field_select, QOFF_MLX5_SEL_KEY_PHASE);
	NM_SET(quic_ctx_obj, obj, key_phase, 1);
	assert_int_equal(hq_modify(&h.f[0], x.id, obj, &syn), NM_ST_BAD_PARAM);
	assert_int_equal(syn, QOFF_MLX5_SYN_SLOT);
	NM_SET64(quic_ctx_obj, obj, modify_field_select, 1ull << 40);
	assert_int_equal(hq_modify(&h.f[0], x.id, obj, &syn), NM_ST_BAD_PARAM);
	assert_int_equal(syn, QOFF_MLX5_SYN_FIELD);
	/* a query tells neither keys nor IVs */
	assert_int_equal(hq_query(&h.f[0], x.id, q), NM_ST_OK);
	assert_int_equal(NM_GET(quic_ctx_obj, q, state), QOFF_MLX5_CTX_READY);
	assert_int_equal(NM_GET(quic_ctx_obj, q, phase_valid), 1);
	assert_memory_equal(NM_PTR(quic_ctx_obj, q, iv_0), zero, 12);
	/* emptied, and the DEK is free again */
	NM_SET64(quic_ctx_obj, obj, modify_field_select, QOFF_MLX5_SEL_SLOT0);
	NM_SET(quic_ctx_obj, obj, phase_valid, 0);
	assert_int_equal(hq_modify(&h.f[0], x.id, obj, &syn), NM_ST_OK);
	assert_int_equal(hq_query(&h.f[0], x.id, q), NM_ST_OK);
	assert_int_equal(NM_GET(quic_ctx_obj, q, state), QOFF_MLX5_CTX_EMPTY);
	nm_wr16(in, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
	assert_int_equal(H_CMD(&h.f[0], in, out), NM_ST_OK);
	h_close(&h);
}

/* An object and a queue of different owners do not meet; the owner's end is its too. */
static void test_owner(void **state)
{
	struct batch *b = calloc(1, sizeof(*b));
	struct hq_ctx x = { .in_band = true };
	u8 in[NM_BYTES(create_uctx_in)] = { }, out[16], obj[OBJ_BYTES] = { };
	struct h h;
	u32 uid, id, syn;
	u64 buf;

	open_pair(&h, "on");
	buf = h_alloc(&h.f[0], 1 << 16, 4096);
	nm_wr16(in, MLX5_CMD_OP_CREATE_UCTX);
	assert_int_equal(H_CMD(&h.f[0], in, out), NM_ST_OK);
	uid = NM_GET(create_uctx_out, out, uid);
	NM_SET(quic_ctx_obj, obj, in_band, 1);
	assert_int_equal(hq_create(&h.f[0], uid, 2, obj, &id, &syn), NM_ST_OK);
	x = tx_ctx(1, 8);
	x.id = id;
	b->s.hdr_len = h_frame(b->hdr, 4, 17, 0, 1, 2);
	batch_make(&h.f[0], b, &x, buf, 3, SEALED | QOFF_MLX5_TXF_TABLE, 0, 900);
	refused(&h, b, QOFF_MLX5_TXS_NO_CTX);
	hq_post_ctx(&h, &h.f[0], QOFF_MLX5_CTX_WRITE, &x, 0);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_CTX_OP);
	assert_int_equal(h.f[0].fn->quic->nr_ctx[0], 4);
	memset(in, 0, sizeof(in));
	nm_wr16(in, MLX5_CMD_OP_DESTROY_UCTX);
	NM_SET(destroy_uctx_in, in, uid, uid);
	assert_int_equal(h_cmd(&h.f[0], in, 16, out, 16), NM_ST_OK);
	assert_int_equal(h.f[0].fn->quic->nr_ctx[0], 0);
	h_close(&h);
	free(b);
}

/* --- in band --- */

static void test_in_band(void **state)
{
	struct batch *b = calloc(1, sizeof(*b));
	struct hq_ctx x = tx_ctx(3, 12);
	u8 obj[OBJ_BYTES] = { }, w[NM_WQE_MAX_BB * NM_WQE_BB];
	struct nm_cqe *c;
	struct h h;
	u32 syn, ds;
	u64 buf;

	open_pair(&h, "on");
	buf = h_alloc(&h.f[0], 1 << 16, 4096);
	x.in_band = true;
	assert_int_equal(hq_ctx_create(&h.f[0], &x), NM_ST_OK);
	b->s.hdr_len = h_frame(b->hdr, 4, 17, 0, 1, 2);
	b->s.pn = 7;
	batch_make(&h.f[0], b, &x, buf, 20, SEALED | QOFF_MLX5_TXF_TABLE, 0, 900);
	refused(&h, b, QOFF_MLX5_TXS_NO_KEY);
	/* written, used and cleared behind one doorbell: in that order */
	x.valid = 1;
	hq_post_ctx(NULL, &h.f[0], QOFF_MLX5_CTX_WRITE, &x, 0);
	ds = hq_wqe(&h.f[0], &b->s, w, 8);
	hq_post_raw(NULL, &h.f[0], w, ds);
	hq_post_ctx(NULL, &h.f[0], QOFF_MLX5_CTX_CLEAR, &x, 0);
	hq_post_raw(&h, &h.f[0], w, ds);
	c = h_poll_tx(&h.f[0]);
	assert_int_equal(c->rsvd0, QOFF_MLX5_TXS_OK);
	c = h_poll_tx(&h.f[0]);
	assert_int_equal(c->rsvd0, QOFF_MLX5_TXS_OK);
	c = h_poll_tx(&h.f[0]);
	assert_int_equal(c->rsvd0, QOFF_MLX5_TXS_OK);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_NO_KEY);
	batch_check(&h, b);
	/* twice; a bad one; a command on it; modify to the other phase */
	hq_post_ctx(&h, &h.f[0], QOFF_MLX5_CTX_WRITE, &x, 0);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_OK);
	hq_post_ctx(&h, &h.f[0], QOFF_MLX5_CTX_WRITE, &x, 0);
	c = h_poll_tx(&h.f[0]);
	assert_int_equal(c->rsvd0, QOFF_MLX5_TXS_CTX_OP);
	assert_int_equal(be32toh(((struct qoff_mlx5_cqe *)c)->pn_lo), QOFF_MLX5_SYN_STATE);
	assert_int_equal(hq_modify(&h.f[0], x.id, obj, &syn), NM_ST_BAD_RES_STATE);
	x.valid = 2;
	x.phase = 1;
	hq_post_ctx(&h, &h.f[0], QOFF_MLX5_CTX_MODIFY, &x,
		    QOFF_MLX5_SEL_SLOT1 | QOFF_MLX5_SEL_KEY_PHASE);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_OK);
	b->s.pn = 100;
	batch_make(&h.f[0], b, &x, buf, 20, SEALED | QOFF_MLX5_TXF_TABLE, 1, 900);
	hq_post(&h, &h.f[0], &b->s);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_OK);
	batch_check(&h, b);
	h_close(&h);
	free(b);
}

/* --- faults: each shows, once --- */

static void test_faults(void **state)
{
	struct batch *b = calloc(1, sizeof(*b));
	struct hq_ctx x = tx_ctx(1, 8), y;
	u8 flags = SEALED | QOFF_MLX5_TXF_TABLE;
	struct nm_cqe *c;
	struct h_fn *f;
	struct h h;
	u32 i, n;
	u64 buf;

	open_pair(&h, "on");
	f = &h.f[0];
	buf = h_alloc(f, 1 << 16, 4096);
	f->fn->faults.quic.full = 1;
	y = x;
	assert_int_equal(hq_ctx_create(f, &y), NM_ST_NO_RES);
	assert_int_equal(y.syndrome, QOFF_MLX5_SYN_QUOTA);
	assert_int_equal(hq_ctx_create(f, &x), NM_ST_OK);
	b->s.hdr_len = h_frame(b->hdr, 4, 17, 0, 1, 2);
#define NEXT(n) (b->s.pn += 100, batch_make(f, b, &x, buf, n, flags, 0, 900))
	NEXT(4);
	f->fn->faults.quic.refuse = 1;
	refused(&h, b, QOFF_MLX5_TXS_NO_CTX);
	f->fn->faults.quic.status = 1;
	hq_post(&h, f, &b->s);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_INTERNAL);
	batch_check(&h, b);
	NEXT(4);
	f->fn->faults.quic.tag = 1;
	hq_post(&h, f, &b->s);
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_OK);
	b->want[0][b->wire[0] - 1] ^= 1;
	batch_check(&h, b);
	NEXT(4);
	f->fn->faults.quic.twice = 1;
	hq_post(&h, f, &b->s);
	assert_non_null(h_poll_tx(f));
	assert_int_equal(tx_status(&h), QOFF_MLX5_TXS_OK);
	batch_check(&h, b);
	NEXT(4);
	f->fn->faults.quic.never = 1;
	hq_post(&h, f, &b->s);
	assert_null(h_poll_tx(f));
	batch_check(&h, b);
	NEXT(4);
	f->fn->faults.quic.key_lost = 1;
	refused(&h, b, QOFF_MLX5_TXS_KEY_LOST);
	refused(&h, b, QOFF_MLX5_TXS_KEY_LOST);
	assert_int_equal(hq_destroy(f, x.id), NM_ST_OK);
	assert_int_equal(hq_ctx_create(f, &x), NM_ST_OK);
	assert_int_equal(nm_fault_armed(&f->fn->faults), 0);
	/* dead after half of it; what went out was sealed */
	NEXT(8);
	f->fn->faults.quic.die = 1;
	hq_post(&h, f, &b->s);
	for (i = 0, n = 0; (c = h_poll_rx(&h.f[1])); i++, n++)
		assert_memory_equal(h_rx_data(&h.f[1], c) + b->s.hdr_len, b->want[i], b->wire[i]);
	assert_int_equal(n, 4);
	assert_int_equal(f->fn->state, NM_FN_DEAD);
	nm_fn_reset(f->fn);
	assert_int_equal(f->fn->quic->nr_ctx[0], 0);
	h_close(&h);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_seal),
		cmocka_unit_test(test_numbers_large),
		cmocka_unit_test(test_cut_only),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_object_errors),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_exclusion),
		cmocka_unit_test(test_key_life),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_in_band),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests_name("quic", tests, NULL, NULL);
}
