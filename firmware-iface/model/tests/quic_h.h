/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What tests of the QUIC extension share, on top of harness.h. */
#ifndef NM_QUIC_H_H
#define NM_QUIC_H_H

#include "harness.h"
#include "../quic.h"
#include "../../../tools/qoff-fw/ref.h"

/**
 * struct hq_ctx - a context as a test wants it; zero is a usable default
 * @keys: of both slots; the header's key is that of slot 0
 * @valid: slots to fill; the keys' DEKs are made by hq_ctx_create()
 * @dek: numbers of the DEKs made: slots, then header
 */
struct hq_ctx {
	struct ref_keys keys[2];
	u8 dir;
	u8 dcid_len;
	u8 valid;
	u8 phase;
	u8 fail;
	bool gro;
	bool pn_check;
	bool in_band;
	bool lookup;
	u32 handle;
	u64 next_pn;
	u64 limit;
	u8 dcid[20];
	u32 id;
	u32 dek[3];
	u32 syndrome;
};

struct hq_super {
	u32 n;
	u16 len[QOFF_MLX5_MAX_SEGS];	/* as the table has them */
	u16 skip[QOFF_MLX5_MAX_SEGS];
	u8 flags;
	u16 mss;
	u32 ctx;
	u64 pn;
	u64 payload;	/* guest address */
	u32 bytes;
	const u8 *hdr;
	u32 hdr_len;
};

void hq_keys(struct ref_keys *k, u32 cipher, u32 seed);
/* A DEK; returns the status. @size 16 or 32 */
u8 hq_dek(struct h_fn *f, const u8 *key, u32 size, u32 purpose, u32 *id);
/* Fills the layout as @x says. */
void hq_obj(const struct hq_ctx *x, void *obj);
u8 hq_create(struct h_fn *f, u16 uid, u32 log_range, const void *obj, u32 *id, u32 *syn);
/* DEKs and object; the status. With in_band an empty object */
u8 hq_ctx_create(struct h_fn *f, struct hq_ctx *x);
u8 hq_modify(struct h_fn *f, u32 id, const void *obj, u32 *syn);
u8 hq_query(struct h_fn *f, u32 id, void *obj);
u8 hq_destroy(struct h_fn *f, u32 id);
/* WQEs, posted and run */
u32 hq_wqe(struct h_fn *f, const struct hq_super *s, u8 *w, u8 ce);
void hq_post_raw(struct h *h, struct h_fn *f, const u8 *w, u32 ds);
void hq_post(struct h *h, struct h_fn *f, const struct hq_super *s);
void hq_post_ctx(struct h *h, struct h_fn *f, u8 op, const struct hq_ctx *x, u64 select);
/* A rule of function @f: @x's packets are opened, and go to the TIR */
u8 hq_rule(struct h_fn *f, u32 index, const struct hq_ctx *x, u32 obj_id);

#endif /* NM_QUIC_H_H */
