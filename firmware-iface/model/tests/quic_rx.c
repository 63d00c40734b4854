// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of the QUIC extension: receive. Packets are sealed by
 * tools/qoff-fw/ref.c and sent as plain frames; what arrives is compared with
 * what was sealed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "quic_h.h"
#include "../rss.h"

#define OBJ_BYTES	QOFF_MLX5_BYTES(quic_ctx_obj)
#define MAX_PKT		2048
#define UDP_PORT	4433

#define TX_BUFS		64

static u64 tx_buf;
static u32 rng = 5;

static u32 rnd(u32 n)
{
	rng = rng * 1664525 + 1013904223;
	return (rng >> 8) % n;
}

/* A packet on its way: plain, and as it is on the wire */
struct pkt {
	u8 plain[MAX_PKT];
	u8 wire[MAX_PKT];
	u32 len;
	u32 pn_len;
	u64 pn;
};

static void open_pair(struct h *h, const char *quic, bool striding)
{
	struct nm_opts o = { .seed = 1, .quic = quic };

	h_open(h, &o);
	h_init(&h->f[0]);
	h_init(&h->f[1]);
	h_queues(&h->f[0], 8, 2048);
	h->f[1].striding = striding;
	h_queues(&h->f[1], 6, 32768);
	tx_buf = h_alloc(&h->f[0], TX_BUFS * 4096, 4096);
}

static struct hq_ctx rx_ctx(u32 cipher, u32 dcid_len, u32 handle)
{
	struct hq_ctx x = {
		.dir = QOFF_MLX5_RX, .dcid_len = dcid_len, .valid = 1,
		.fail = QOFF_MLX5_FAIL_ORIGINAL, .handle = handle,
	};
	u32 i;

	hq_keys(&x.keys[0], cipher, 100 * cipher + dcid_len + handle);
	hq_keys(&x.keys[1], cipher, 1000 + cipher);
	memcpy(x.keys[1].hp, x.keys[0].hp, sizeof(x.keys[1].hp));
	for (i = 0; i < 20; i++)
		x.dcid[i] = handle + i;
	return x;
}

static void pkt_make(struct pkt *p, const struct hq_ctx *x, u64 pn, u32 pn_len, u32 phase,
		     u32 len)
{
	p->len = len;
	p->pn = pn;
	p->pn_len = pn_len;
	ref_plain(p->plain, len, x->dcid, x->dcid_len, pn, pn_len, phase, pn * 77 + len);
	memcpy(p->wire, p->plain, len);
	assert_true(ref_seal(&x->keys[phase], pn, x->dcid_len, p->wire, len));
}

/* @tos and @bad_sum of the frame */
static void pkt_send(struct h *h, const struct pkt *p, int ver, u8 tos, bool bad_sum)
{
	struct h_fn *f = &h->f[0];
	u64 at = tx_buf + (f->pi_tx % TX_BUFS) * 4096;
	u8 *d = h_ptr(f, at);
	u32 hdr, len;

	len = h_frame(d, ver, 17, p->len, 1234, UDP_PORT);
	hdr = len - p->len;
	if (ver == 4)
		d[15] = tos;
	memcpy(d + hdr, p->wire, p->len);
	h_post(f, at, len,
	       bad_sum ? NM_ETH_L3_CSUM : NM_ETH_L3_CSUM | NM_ETH_L4_CSUM, 0, 0, false);
	if (bad_sum)
		nm_wr16(d + hdr - 2, 0x1234);
}

static void run(struct h *h)
{
	h_doorbell(&h->f[0]);
	h_run(h);
}

static struct qoff_mlx5_cqe *next(struct h *h, u8 **data)
{
	struct h_fn *f = &h->f[1];
	struct nm_cqe *c;
	u32 at;

	do {
		c = h_poll_rx(f);
		if (!c)
			return NULL;
	} while (f->striding && be32toh(c->byte_cnt) >> 31);	/* a filler */
	assert_int_equal(c->op_own >> 4, NM_CQE_RESP_SEND);
	at = f->striding ? be16toh(c->wqe_id) * 32768 + be16toh(c->wqe_counter) * 4096 :
	     (be16toh(c->wqe_counter) & 63) * 32768;
	*data = h_ptr(f, f->rx_buf + at);
	if (!f->striding)
		h_repost(f);
	return (void *)c;
}

static u32 cqe_len(struct h *h, const struct qoff_mlx5_cqe *c)
{
	u32 n = be32toh(c->byte_cnt);

	return h->f[1].striding ? n & 0xffff : n;
}

static void test_match_open(void **state)
{
	u32 dcid, cipher, i;
	struct pkt *p = malloc(sizeof(*p));

	for (dcid = 0; dcid <= 20; dcid++) {
		struct hq_ctx x[4];
		struct h h;

		open_pair(&h, "on", dcid & 1);
		for (cipher = 1; cipher <= 4; cipher++) {
			x[cipher - 1] = rx_ctx(cipher, dcid, 50 * cipher);
			/* without a DCID the addresses decide, and they are one */
			if (dcid ? false : cipher > 1)
				continue;
			assert_int_equal(hq_ctx_create(&h.f[1], &x[cipher - 1]), NM_ST_OK);
			assert_int_equal(hq_rule(&h.f[1], cipher, &x[cipher - 1],
						 x[cipher - 1].id), NM_ST_OK);
		}
		for (i = 0; i < 40; i++) {
			u32 k = dcid ? rnd(4) : 0, ver = rnd(2) ? 4 : 6;
			struct qoff_mlx5_cqe *c;
			u32 hdr = ver == 4 ? 42 : 62;
			u8 *d;

			pkt_make(p, &x[k], i, 1 + rnd(4), 0, 1 + dcid + 20 + rnd(1200));
			pkt_send(&h, p, ver, 0, false);
			run(&h);
			c = next(&h, &d);
			assert_non_null(c);
			assert_int_equal(c->quic_flags, QOFF_MLX5_RXF_OPENED | QOFF_MLX5_RXF_HDR);
			assert_int_equal(be32toh(c->tag_handle), 0xa0000000 | 50 * (k + 1));
			assert_int_equal(qoff_mlx5_cqe_pn(c), i);
			assert_int_equal(QOFF_MLX5_CQE_PN_LEN(be16toh(c->quic_info)), p->pn_len);
			assert_int_equal(QOFF_MLX5_CQE_DCID_LEN(be16toh(c->quic_info)), dcid);
			assert_int_equal(QOFF_MLX5_CQE_SEGS(be16toh(c->quic_info)), 1);
			assert_memory_equal(d + hdr, p->plain, p->len - 16);
			assert_memory_equal(d + hdr + p->len - 16, p->wire + p->len - 16, 16);
		}
		h_close(&h);
	}
	free(p);
}

/* Sends one packet, and says with what flags it came; the payload in @d */
static u8 one(struct h *h, const struct pkt *p, u8 **d)
{
	struct qoff_mlx5_cqe *c;

	pkt_send(h, p, 4, 0, false);
	run(h);
	c = next(h, d);
	if (!c)
		return 0xff;
	*d += 42;
	return c->quic_flags;
}

static void test_failures(void **state)
{
	struct pkt *p = malloc(sizeof(*p));
	struct hq_ctx x = rx_ctx(1, 8, 9);
	u8 obj[OBJ_BYTES], *d;
	struct h h;
	u32 syn, fail;

	open_pair(&h, "on", false);
	assert_int_equal(hq_ctx_create(&h.f[1], &x), NM_ST_OK);
	assert_int_equal(hq_rule(&h.f[1], 0, &x, x.id), NM_ST_OK);
	/* a rule holds its context */
	assert_int_equal(hq_destroy(&h.f[1], x.id), NM_ST_RES_BUSY);
	for (fail = 0; fail < 3; fail++) {
		hq_obj(&x, obj);
		NM_SET64(quic_ctx_obj, obj, modify_field_select, QOFF_MLX5_SEL_FAIL_ACTION);
		NM_SET(quic_ctx_obj, obj, fail_action, fail);
		assert_int_equal(hq_modify(&h.f[1], x.id, obj, &syn), NM_ST_OK);
		pkt_make(p, &x, 10 + fail, 2, 0, 500);
		p->wire[499] ^= 1;
		if (fail == QOFF_MLX5_FAIL_DROP) {
			assert_int_equal(one(&h, p, &d), 0xff);
		} else if (fail == QOFF_MLX5_FAIL_MODIFIED) {
			assert_int_equal(one(&h, p, &d), QOFF_MLX5_RXF_AUTH_FAIL | QOFF_MLX5_RXF_HDR);
			assert_memory_equal(d, p->plain, 500 - 16);
			assert_memory_equal(d + 484, p->wire + 484, 16);
		} else {
			assert_int_equal(one(&h, p, &d), QOFF_MLX5_RXF_AUTH_FAIL);
			assert_memory_equal(d, p->wire, 500);
		}
		/* the slot of the other phase is empty */
		pkt_make(p, &x, 20 + fail, 2, 1, 500);
		if (fail == QOFF_MLX5_FAIL_DROP) {
			assert_int_equal(one(&h, p, &d), 0xff);
		} else if (fail == QOFF_MLX5_FAIL_MODIFIED) {
			assert_int_equal(one(&h, p, &d), QOFF_MLX5_RXF_NO_KEY | QOFF_MLX5_RXF_HDR);
			assert_memory_equal(d, p->plain, 11);
			assert_memory_equal(d + 11, p->wire + 11, 489);
		} else {
			assert_int_equal(one(&h, p, &d), QOFF_MLX5_RXF_NO_KEY);
			assert_memory_equal(d, p->wire, 500);
		}
	}
	/* too short for a sample; a long header; a bad checksum: as they came */
	pkt_make(p, &x, 30, 2, 0, 500);
	p->len = 28;
	assert_int_equal(one(&h, p, &d), QOFF_MLX5_RXF_RUNT);
	assert_memory_equal(d, p->wire, 28);
	pkt_make(p, &x, 31, 2, 0, 500);
	pkt_send(&h, p, 4, 0, true);
	run(&h);
	assert_int_equal(next(&h, &d)->quic_flags, 0);
	assert_memory_equal(d + 42, p->wire, 500);
	assert_int_equal(one(&h, p, &d), QOFF_MLX5_RXF_OPENED | QOFF_MLX5_RXF_HDR);
	p->wire[0] |= 0x80;
	assert_int_equal(one(&h, p, &d), 0);
	assert_memory_equal(d, p->wire, 500);
	/* the key is lost */
	nm_quic_revoke(nm_quic_ctx_get(h.f[1].fn, x.id, 0));
	pkt_make(p, &x, 32, 2, 0, 500);
	assert_int_equal(one(&h, p, &d), QOFF_MLX5_RXF_CTX_ERROR);
	assert_memory_equal(d, p->wire, 500);
	h_close(&h);
	free(p);
}

static void test_phases_window(void **state)
{
	const u8 ok = QOFF_MLX5_RXF_OPENED | QOFF_MLX5_RXF_HDR;
	struct pkt *p = malloc(sizeof(*p));
	struct hq_ctx x = rx_ctx(1, 8, 9);
	u8 obj[OBJ_BYTES], *d;
	struct h h;
	u32 syn;

	open_pair(&h, "on,pn_window_log=8", false);
	x.valid = 3;
	x.next_pn = 1000000;
	assert_int_equal(hq_ctx_create(&h.f[1], &x), NM_ST_OK);
	assert_int_equal(hq_rule(&h.f[1], 0, &x, x.id), NM_ST_OK);
	pkt_make(p, &x, 1000000, 3, 0, 300);
	assert_int_equal(one(&h, p, &d), ok);
	pkt_make(p, &x, 1000001, 3, 1, 300);
	assert_int_equal(one(&h, p, &d), ok);
	assert_int_equal(hq_query(&h.f[1], x.id, obj), NM_ST_OK);
	assert_int_equal(NM_GET(quic_ctx_obj, obj, key_phase), 1);
	/* late, of the old phase: opened, and turns nothing back */
	pkt_make(p, &x, 999990, 3, 0, 300);
	assert_int_equal(one(&h, p, &d), ok);
	assert_int_equal(hq_query(&h.f[1], x.id, obj), NM_ST_OK);
	assert_int_equal(NM_GET(quic_ctx_obj, obj, key_phase), 1);
	assert_int_equal(NM_GET64(quic_ctx_obj, obj, next_pn), 1000002);
	assert_int_equal(NM_GET64(quic_ctx_obj, obj, packets_0), 2);
	pkt_make(p, &x, 999000, 3, 1, 300);
	assert_int_equal(one(&h, p, &d), ok | QOFF_MLX5_RXF_PN_BELOW);
	pkt_make(p, &x, 1001000, 3, 1, 300);
	assert_int_equal(one(&h, p, &d), ok | QOFF_MLX5_RXF_PN_ABOVE);
	/* the old slot goes, and takes another key */
	hq_obj(&x, obj);
	NM_SET64(quic_ctx_obj, obj, modify_field_select, QOFF_MLX5_SEL_SLOT0);
	NM_SET(quic_ctx_obj, obj, phase_valid, 0);
	assert_int_equal(hq_modify(&h.f[1], x.id, obj, &syn), NM_ST_OK);
	pkt_make(p, &x, 1001001, 3, 0, 300);
	assert_int_equal(one(&h, p, &d), QOFF_MLX5_RXF_NO_KEY);
	hq_keys(&x.keys[0], 1, 4711);
	memcpy(x.keys[0].hp, x.keys[1].hp, 32);
	assert_int_equal(hq_dek(&h.f[1], x.keys[0].key, 16, QOFF_MLX5_DEK_PURPOSE, &x.dek[0]),
			 NM_ST_OK);
	x.valid = 1;
	hq_obj(&x, obj);
	NM_SET64(quic_ctx_obj, obj, modify_field_select, QOFF_MLX5_SEL_SLOT0);
	assert_int_equal(hq_modify(&h.f[1], x.id, obj, &syn), NM_ST_OK);
	pkt_make(p, &x, 1001002, 3, 0, 300);
	assert_int_equal(one(&h, p, &d), ok);
	assert_memory_equal(d, p->plain, 284);
	h_close(&h);
	free(p);
}

/* --- coalescing --- */

/* Sends @n packets behind one doorbell; then one completion must hold @n. */
static void coalesced(struct h *h, struct pkt *p, u32 n, int ver, u8 flags)
{
	u32 hdr = ver == 4 ? 42 : 62, i, off = hdr;
	const struct qoff_mlx5_rx_seg *s;
	struct qoff_mlx5_cqe *c;
	u8 *d;

	for (i = 0; i < n; i++)
		pkt_send(h, &p[i], ver, 0, false);
	run(h);
	c = next(h, &d);
	assert_non_null(c);
	assert_int_equal(QOFF_MLX5_CQE_SEGS(be16toh(c->quic_info)), n);
	assert_true(be16toh(c->quic_info) & QOFF_MLX5_CQE_LIST);
	assert_int_equal(c->quic_flags, flags);
	s = (void *)(d + qoff_mlx5_list_off(cqe_len(h, c)));
	for (i = 0; i < n; i++) {
		u32 same = flags & QOFF_MLX5_RXF_OPENED ? p[i].len - 16 : p[i].len;

		assert_int_equal(be16toh(s[i].len), p[i].len);
		assert_int_equal(be64toh(s[i].pn), flags ? p[i].pn : 0);
		assert_int_equal(s[i].pn_len, flags ? p[i].pn_len : 0);
		assert_memory_equal(d + off, flags & QOFF_MLX5_RXF_OPENED ? p[i].plain :
				    p[i].wire, same);
		off += p[i].len;
	}
	assert_int_equal(off, cqe_len(h, c));
	assert_null(next(h, &d));
}

static void test_coalesce(void **state)
{
	struct pkt *p = calloc(64, sizeof(*p));
	u32 striding, i, r;

	for (striding = 0; striding < 2; striding++) {
		struct hq_ctx x = rx_ctx(1, 8, 9), raw = rx_ctx(1, 12, 200);
		struct h h;

		open_pair(&h, "on", striding);
		x.gro = true;
		assert_int_equal(hq_ctx_create(&h.f[1], &x), NM_ST_OK);
		assert_int_equal(hq_rule(&h.f[1], 0, &x, x.id), NM_ST_OK);
		raw.gro = true;
		raw.valid = 0;
		raw.keys[0].cipher = 0;
		assert_int_equal(hq_ctx_create(&h.f[1], &raw), NM_ST_OK);
		assert_int_equal(hq_rule(&h.f[1], 1, &raw, raw.id), NM_ST_OK);
		raw.keys[0].cipher = 1;
		for (r = 0; r < 6; r++) {
			struct hq_ctx *y = r & 1 ? &raw : &x;

			for (i = 0; i < 20; i++)
				pkt_make(&p[i], y, 100 * r + (i ^ 1), 2, 0, 40 + rnd(1300));
			coalesced(&h, p, 20, r & 2 ? 4 : 6, r & 1 ? 0 :
				  QOFF_MLX5_RXF_OPENED | QOFF_MLX5_RXF_HDR);
		}
		h_close(&h);
	}
	free(p);
}

/* How many completions @n packets make, and how many packets each */
static u32 counts(struct h *h, u32 *segs)
{
	struct qoff_mlx5_cqe *c;
	u32 n = 0;
	u8 *d;

	run(h);
	while ((c = next(h, &d)))
		segs[n++] = QOFF_MLX5_CQE_SEGS(be16toh(c->quic_info));
	return n;
}

static void test_coalesce_rules(void **state)
{
	struct pkt *p = calloc(8, sizeof(*p));
	struct hq_ctx x = rx_ctx(1, 8, 9);
	u32 i, segs[16];
	struct h h;

	open_pair(&h, "on", false);
	x.gro = true;
	x.valid = 3;
	assert_int_equal(hq_ctx_create(&h.f[1], &x), NM_ST_OK);
	assert_int_equal(hq_rule(&h.f[1], 0, &x, x.id), NM_ST_OK);
	/* another TOS, a failure, another phase, a bad checksum between: order holds */
	for (i = 0; i < 8; i++)
		pkt_make(&p[i], &x, i, 2, i >= 6, 300);
	p[4].wire[200] ^= 1;
	for (i = 0; i < 8; i++)
		pkt_send(&h, &p[i], 4, i == 2 ? 3 : 0, false);
	assert_int_equal(counts(&h, segs), 6);
	assert_memory_equal(segs, ((u32[]){ 2, 1, 1, 1, 1, 2 }), 6 * 4);
	pkt_make(&p[0], &x, 20, 2, 1, 300);
	pkt_make(&p[1], &x, 21, 2, 1, 300);
	pkt_send(&h, &p[0], 4, 0, false);
	pkt_send(&h, &p[1], 4, 0, true);
	assert_int_equal(counts(&h, segs), 2);
	h_close(&h);
	/* equal lengths only: a shorter one is the last, a longer one begins anew */
	open_pair(&h, "on,-gro_var,max_gro_segs=4", true);
	x.dek[0] = 0;
	assert_int_equal(hq_ctx_create(&h.f[1], &x), NM_ST_OK);
	assert_int_equal(hq_rule(&h.f[1], 0, &x, x.id), NM_ST_OK);
	for (i = 0; i < 8; i++)
		pkt_make(&p[i], &x, i, 2, 0, i == 1 ? 200 : i == 3 ? 400 : 300);
	for (i = 0; i < 8; i++)
		pkt_send(&h, &p[i], 4, 0, false);
	/* 300 200 | 300 | 400 300 | 300 300 300 */
	assert_int_equal(counts(&h, segs), 4);
	assert_memory_equal(segs, ((u32[]){ 2, 1, 2, 3 }), 4 * 4);
	for (i = 0; i < 6; i++)
		pkt_make(&p[i], &x, 50 + i, 2, 0, 300);
	for (i = 0; i < 6; i++)
		pkt_send(&h, &p[i], 4, 0, false);
	assert_int_equal(counts(&h, segs), 2);
	assert_memory_equal(segs, ((u32[]){ 4, 2 }), 2 * 4);
	h_close(&h);
	free(p);
}

/* A session is complete before the command that ends its context answers. */
static void test_drain(void **state)
{
	struct pkt *p = calloc(4, sizeof(*p));
	struct hq_ctx x = rx_ctx(1, 8, 9);
	u8 obj[OBJ_BYTES], *d;
	struct qoff_mlx5_cqe *c;
	struct h h;
	u32 i, syn;

	open_pair(&h, "on", false);
	x.gro = true;
	assert_int_equal(hq_ctx_create(&h.f[1], &x), NM_ST_OK);
	assert_int_equal(hq_rule(&h.f[1], 0, &x, x.id), NM_ST_OK);
	for (i = 0; i < 4; i++)
		pkt_make(&p[i], &x, i, 2, 0, 300);
	for (i = 0; i < 4; i++)
		pkt_send(&h, &p[i], 4, 0, false);
	h_doorbell(&h.f[0]);
	nm_engine_poll(h.m);	/* one batch: the session may still be open */
	memset(obj, 0, sizeof(obj));
	NM_SET64(quic_ctx_obj, obj, modify_field_select, QOFF_MLX5_SEL_SLOT0);
	assert_int_equal(hq_modify(&h.f[1], x.id, obj, &syn), NM_ST_OK);
	c = next(&h, &d);
	assert_non_null(c);
	assert_int_equal(QOFF_MLX5_CQE_SEGS(be16toh(c->quic_info)), 4);
	assert_null(next(&h, &d));
	h_run(&h);
	assert_null(next(&h, &d));
	/* with a session open, the function is reset: nothing is written to it */
	for (i = 0; i < 4; i++)
		pkt_send(&h, &p[i], 4, 0, false);
	h_doorbell(&h.f[0]);
	nm_engine_poll(h.m);
	nm_fn_reset(h.f[1].fn);
	h_run(&h);
	assert_null(next(&h, &d));
	assert_int_equal(h.f[1].fn->quic->nr_ctx[1], 0);
	h_close(&h);
	free(p);
}

/* One rule for all: the packet's DCID and addresses find the context. */
static void test_lookup(void **state)
{
	const u8 ok = QOFF_MLX5_RXF_OPENED | QOFF_MLX5_RXF_HDR;
	struct hq_ctx x[3], any = { };
	struct pkt *p = malloc(sizeof(*p));
	u8 obj[OBJ_BYTES], *d;
	u32 i, id, syn;
	struct h h;

	open_pair(&h, "on", false);
	for (i = 0; i < 3; i++) {
		x[i] = rx_ctx(1 + i, i * 7, 40 + 40 * i);
		x[i].lookup = true;
		if (i == 2)
			x[i].in_band = true;
		assert_int_equal(hq_ctx_create(&h.f[1], &x[i]), NM_ST_OK);
	}
	hq_post_ctx(&h, &h.f[1], QOFF_MLX5_CTX_WRITE, &x[2], 0);
	assert_int_equal(h_poll_tx(&h.f[1])->rsvd0, QOFF_MLX5_TXS_OK);
	assert_int_equal(hq_rule(&h.f[1], 0, &any, QOFF_MLX5_OBJ_LOOKUP), NM_ST_OK);
	for (i = 0; i < 3; i++) {
		pkt_make(p, &x[i], 5, 2, 0, 400);
		assert_int_equal(one(&h, p, &d), ok);
		assert_memory_equal(d, p->plain, 384);
	}
	/* the same match twice */
	hq_obj(&x[1], obj);
	assert_int_equal(hq_create(&h.f[1], 0, 0, obj, &id, &syn), NM_ST_RES_BUSY);
	assert_int_equal(syn, QOFF_MLX5_SYN_MATCH);
	/* gone: the DCID of none is left to the one that matches addresses only */
	hq_post_ctx(&h, &h.f[1], QOFF_MLX5_CTX_CLEAR, &x[2], 0);
	assert_int_equal(h_poll_tx(&h.f[1])->rsvd0, QOFF_MLX5_TXS_OK);
	pkt_make(p, &x[2], 6, 2, 0, 400);
	assert_int_equal(one(&h, p, &d) & QOFF_MLX5_RXF_OPENED, 0);
	assert_int_equal(hq_destroy(&h.f[1], x[0].id), NM_ST_OK);
	pkt_make(p, &x[0], 6, 2, 0, 400);
	assert_int_equal(one(&h, p, &d), 0);
	h_close(&h);
	free(p);
}

/* By DCID alone: the address may change, the queue does not. */
static void test_rss(void **state)
{
	struct nm_tir tir = { .fn = NM_RSS_TOEPLITZ };
	u8 in[NM_BYTES(create_tir_in)] = { }, out[16], f[256] = { }, g[256] = { }, type;
	void *ctx = NM_PTR(create_tir_in, in, ctx), *sel;
	struct nm_pkt p, q;
	u32 i, len, same = 0;
	struct h h;

	tir.table = calloc(NM_RSS_INPUT, sizeof(*tir.table));
	for (i = 0; i < NM_RSS_KEY; i++)
		tir.key[i] = i * 73 + 5;
	tir.fields = BIT(QOFF_MLX5_RSS_DCID) | 8 << QOFF_MLX5_RSS_DCID_LEN_SHIFT;
	nm_toeplitz_init(&tir);
	for (i = 0; i < 64; i++) {
		len = h_frame(f, 4, 17, 100, 1000 + i, 4433);
		nm_wr32(f + 26, 0x0a000100 + i);	/* another address */
		f[42] = 0x40;
		memset(f + 43, 0x11, 8);
		h_frame(g, 6, 17, 100, 7, 4433);
		memcpy(g + 62, f + 42, 9);
		nm_pkt_parse(&p, f, len);
		nm_pkt_parse(&q, g, len + 20);
		assert_int_equal(nm_rss_hash(&tir, &p, &type), nm_rss_hash(&tir, &q, &type));
		g[63 + i % 8] ^= 1 + i;
		same += nm_rss_hash(&tir, &p, &type) == nm_rss_hash(&tir, &q, &type);
		/* what is behind the DCID does not count; a long header's own does */
		f[51] = i;
		assert_int_equal(nm_rss_hash(&tir, &p, &type), nm_toeplitz(&tir, f + 43, 8));
		f[42] = 0xc0;
		f[47] = 3;
		assert_int_equal(nm_rss_hash(&tir, &p, &type), nm_toeplitz(&tir, f + 48, 3));
	}
	assert_int_equal(same, 0);
	free(tir.table);
	/* announced or not, and how long */
	for (i = 0; i < 3; i++) {
		open_pair(&h, i ? "on" : "on,-dcid_rss", false);
		nm_wr16(in, MLX5_CMD_OP_CREATE_TIR);
		NM_SET(tirc, ctx, inline_rqn, h.f[1].rqn);
		NM_SET(tirc, ctx, transport_domain, h.f[1].td);
		NM_SET(tirc, ctx, rx_hash_fn, NM_RSS_TOEPLITZ);
		sel = NM_PTR(tirc, ctx, rx_hash_field_selector_outer);
		NM_SET(rx_hash_field_select, sel, selected_fields, BIT(QOFF_MLX5_RSS_DCID) |
		       (i == 2 ? 21 : 20) << QOFF_MLX5_RSS_DCID_LEN_SHIFT);
		assert_int_equal(H_CMD(&h.f[1], in, out), i == 1 ? NM_ST_OK : NM_ST_BAD_PARAM);
		h_close(&h);
	}
}

static void test_faults(void **state)
{
	const u8 ok = QOFF_MLX5_RXF_OPENED | QOFF_MLX5_RXF_HDR;
	struct pkt *p = calloc(4, sizeof(*p));
	struct hq_ctx x = rx_ctx(1, 8, 9);
	const struct qoff_mlx5_rx_seg *s;
	struct nm_quic_faults *faults;
	struct qoff_mlx5_cqe *c;
	struct h h;
	u8 *d;
	u32 i;

	open_pair(&h, "on", false);
	x.gro = true;
	assert_int_equal(hq_ctx_create(&h.f[1], &x), NM_ST_OK);
	assert_int_equal(hq_rule(&h.f[1], 0, &x, x.id), NM_ST_OK);
	faults = &h.f[1].fn->faults.quic;
	pkt_make(p, &x, 1, 2, 0, 300);
	faults->claim = 1;
	assert_int_equal(one(&h, p, &d), ok);
	assert_memory_equal(d, p->wire, 300);
	faults->rx_status = 1;
	assert_int_equal(one(&h, p, &d), QOFF_MLX5_RXF_AUTH_FAIL);
	faults->handle = 1;
	pkt_send(&h, p, 4, 0, false);
	run(&h);
	c = next(&h, &d);
	assert_int_not_equal(be32toh(c->tag_handle) & 0xffffff, 9);
	faults->list = 1;
	for (i = 0; i < 4; i++)
		pkt_make(&p[i], &x, 10 + i, 2, 0, 300);
	for (i = 0; i < 4; i++)
		pkt_send(&h, &p[i], 4, 0, false);
	run(&h);
	c = next(&h, &d);
	s = (void *)(d + qoff_mlx5_list_off(cqe_len(&h, c)));
	assert_int_equal(be16toh(s[0].len), 65535);
	faults->key_lost = 1;
	assert_int_equal(one(&h, p, &d), QOFF_MLX5_RXF_CTX_ERROR);
	assert_int_equal(nm_fault_armed(&h.f[1].fn->faults), 0);
	h_close(&h);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_match_open),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_phases_window),
		cmocka_unit_test(test_coalesce),
		cmocka_unit_test(test_coalesce_rules),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_rss),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests_name("quic receive", tests, NULL, NULL);
}
