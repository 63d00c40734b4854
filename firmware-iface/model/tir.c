// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Commands of RQT, TIR and TIS. */
#include <stdlib.h>

#include "quic.h"
#include "rss.h"

#define TIR_DISP_DIRECT		0
#define TIR_DISP_INDIRECT	1

static void rqt_clear(struct nm_rqt *t)
{
	u32 i;

	for (i = 0; i < t->size; i++)
		nm_obj_put(&t->rq[i]->obj);
	t->size = 0;
}

static void rqt_destroy(struct nm_obj *obj)
{
	rqt_clear(container_of(obj, struct nm_rqt, obj));
}

/* All or nothing: the list is checked before the table changes. */
static void rqt_fill(struct nm_cmd *c, struct nm_rqt *t, void *ctx, u32 tail)
{
	u32 n = NM_GET(rqtc, ctx, rqt_actual_size), i;
	u8 *list = NM_PTR(rqtc, ctx, rq_num);

	if (!n || n > t->max) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_RSS_SIZE);
		return;
	}
	if (n > tail / 4) {
		nm_cmd_fail(c, NM_ST_BAD_INP_LEN, NM_SYN_RSS_SIZE);
		return;
	}
	for (i = 0; i < n; i++)
		if (!nm_obj_find(c, NM_OBJ_RQ, nm_rd32(list + i * 4) & 0xffffff))
			return;
	rqt_clear(t);
	for (i = 0; i < n; i++) {
		t->rq[i] = nm_obj_find(c, NM_OBJ_RQ,
				       nm_rd32(list + i * 4) & 0xffffff);
		nm_obj_hold(&t->rq[i]->obj);
	}
	t->size = n;
}

void nm_cmd_create_rqt(struct nm_cmd *c)
{
	void *ctx = NM_PTR(create_rqt_in, c->in, rqt_context);
	u32 max = NM_GET(rqtc, ctx, rqt_max_size);
	struct nm_rqt *t;

	if (!max || max > NM_RQT_MAX) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_RSS_SIZE);
		return;
	}
	t = nm_obj_new(c, NM_OBJ_RQT, sizeof(*t));
	if (!t)
		return;
	t->max = max;
	t->obj.destroy = rqt_destroy;
	rqt_fill(c, t, ctx, c->in_len - NM_BYTES(create_rqt_in));
	if (c->status)
		nm_obj_del(&t->obj);
	else
		NM_SET(create_rqt_out, c->out, rqtn, t->obj.id);
}

void nm_cmd_modify_rqt(struct nm_cmd *c)
{
	struct nm_rqt *t = nm_obj_find(c, NM_OBJ_RQT,
				       NM_GET(modify_rqt_in, c->in, rqtn));
	void *mask = NM_PTR(modify_rqt_in, c->in, bitmask);

	if (t && NM_GET(rqt_bitmask, mask, rqn_list))
		rqt_fill(c, t, NM_PTR(modify_rqt_in, c->in, ctx),
			 c->in_len - NM_BYTES(modify_rqt_in));
}

void nm_cmd_query_rqt(struct nm_cmd *c)
{
	struct nm_rqt *t = nm_obj_find(c, NM_OBJ_RQT,
				       NM_GET(query_rqt_in, c->in, rqtn));
	void *ctx = NM_PTR(query_rqt_out, c->out, rqt_context);
	u32 head = NM_BYTES(query_rqt_out), i;

	if (!t)
		return;
	NM_SET(rqtc, ctx, rqt_max_size, t->max);
	NM_SET(rqtc, ctx, rqt_actual_size, t->size);
	for (i = 0; i < t->size && head + i * 4 + 4 <= c->out_len; i++)
		nm_wr32(c->out + head + i * 4, t->rq[i]->obj.id);
}

static void tir_destroy(struct nm_obj *obj)
{
	free(container_of(obj, struct nm_tir, obj)->table);
}

/* The DCID's bit and its length only where they are announced */
static bool tir_fields_ok(const struct nm_fn *fn, u32 fields)
{
	u32 len = fields >> QOFF_MLX5_RSS_DCID_LEN_SHIFT;

	if (!(fields & ~0x1fu))
		return true;
	return nm_quic_on(fn) && NM_QUIC_CAP(fn, dcid_rss) &&
	       fields & BIT(QOFF_MLX5_RSS_DCID) && len <= QOFF_MLX5_MAX_DCID;
}

/* The hash part of a context; checked, then taken over. */
static bool tir_set_hash(struct nm_cmd *c, struct nm_tir *tir, void *ctx)
{
	void *sel = NM_PTR(tirc, ctx, rx_hash_field_selector_outer);
	u32 fn = NM_GET(tirc, ctx, rx_hash_fn);

	if (fn > NM_RSS_TOEPLITZ ||
	    !tir_fields_ok(c->fn, NM_GET(rx_hash_field_select, sel, selected_fields))) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_RSS_HASH);
		return false;
	}
	if (fn == NM_RSS_TOEPLITZ && !tir->table) {
		tir->table = malloc(NM_RSS_INPUT * sizeof(*tir->table));
		if (!tir->table) {
			nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_MEMORY);
			return false;
		}
	}
	tir->fn = fn;
	tir->symmetric = NM_GET(tirc, ctx, rx_hash_symmetric);
	tir->fields = NM_GET(rx_hash_field_select, sel, selected_fields);
	tir->l3_v6 = NM_GET(rx_hash_field_select, sel, l3_prot_type);
	tir->l4_udp = NM_GET(rx_hash_field_select, sel, l4_prot_type);
	memcpy(tir->key, NM_PTR(tirc, ctx, rx_hash_toeplitz_key), NM_RSS_KEY);
	if (fn == NM_RSS_TOEPLITZ)
		nm_toeplitz_init(tir);
	return true;
}

static bool tir_set_disp(struct nm_cmd *c, struct nm_tir *tir, void *ctx)
{
	switch (NM_GET(tirc, ctx, disp_type)) {
	case TIR_DISP_DIRECT:
		tir->rq = nm_obj_use(c, &tir->obj, NM_OBJ_RQ,
				     NM_GET(tirc, ctx, inline_rqn));
		return tir->rq;
	case TIR_DISP_INDIRECT:
		tir->rqt = nm_obj_use(c, &tir->obj, NM_OBJ_RQT,
				      NM_GET(tirc, ctx, indirect_table));
		return tir->rqt;
	default:
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return false;
	}
}

void nm_cmd_create_tir(struct nm_cmd *c)
{
	void *ctx = NM_PTR(create_tir_in, c->in, ctx);
	struct nm_tir *tir;

	/* Packet merging and TLS are not served: their capabilities are 0. */
	if (NM_GET(tirc, ctx, packet_merge_mask) || NM_GET(tirc, ctx, tls_en)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	tir = nm_obj_new(c, NM_OBJ_TIR, sizeof(*tir));
	if (!tir)
		return;
	tir->obj.destroy = tir_destroy;
	tir->self_lb = NM_GET(tirc, ctx, self_lb_block);
	if (!tir_set_disp(c, tir, ctx) || !tir_set_hash(c, tir, ctx) ||
	    !nm_obj_use(c, &tir->obj, NM_OBJ_TD,
			NM_GET(tirc, ctx, transport_domain))) {
		nm_obj_del(&tir->obj);
		return;
	}
	/* Not a pointer as software steering would want: only the number. */
	nm_wr32(c->out + 8, tir->obj.id);
}

void nm_cmd_modify_tir(struct nm_cmd *c)
{
	struct nm_tir *tir = nm_obj_find(c, NM_OBJ_TIR,
					 NM_GET(modify_tir_in, c->in, tirn));
	void *mask = NM_PTR(modify_tir_in, c->in, bitmask);
	void *ctx = NM_PTR(modify_tir_in, c->in, ctx);

	if (!tir)
		return;
	if (NM_GET(modify_tir_bitmask, mask, packet_merge) &&
	    NM_GET(tirc, ctx, packet_merge_mask)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	if (NM_GET(modify_tir_bitmask, mask, hash) && !tir_set_hash(c, tir, ctx))
		return;
	if (NM_GET(modify_tir_bitmask, mask, self_lb_en))
		tir->self_lb = NM_GET(tirc, ctx, self_lb_block);
}

void nm_cmd_query_tir(struct nm_cmd *c)
{
	struct nm_tir *tir = nm_obj_find(c, NM_OBJ_TIR,
					 NM_GET(query_tir_in, c->in, tirn));
	void *ctx = NM_PTR(query_tir_out, c->out, tir_context);
	void *sel = NM_PTR(tirc, ctx, rx_hash_field_selector_outer);

	if (!tir)
		return;
	NM_SET(tirc, ctx, disp_type, tir->rqt ? 1 : 0);
	NM_SET(tirc, ctx, inline_rqn, tir->rq ? tir->rq->obj.id : 0);
	NM_SET(tirc, ctx, indirect_table, tir->rqt ? tir->rqt->obj.id : 0);
	NM_SET(tirc, ctx, rx_hash_fn, tir->fn);
	NM_SET(tirc, ctx, rx_hash_symmetric, tir->symmetric);
	NM_SET(rx_hash_field_select, sel, selected_fields, tir->fields);
	memcpy(NM_PTR(tirc, ctx, rx_hash_toeplitz_key), tir->key, NM_RSS_KEY);
}

void nm_cmd_create_tis(struct nm_cmd *c)
{
	void *ctx = NM_PTR(create_tis_in, c->in, ctx);
	struct nm_obj *tis;

	if (NM_GET(tisc, ctx, tls_en)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	tis = nm_obj_new(c, NM_OBJ_TIS, sizeof(*tis));
	if (!tis)
		return;
	if (!nm_obj_use(c, tis, NM_OBJ_TD, NM_GET(tisc, ctx, transport_domain))) {
		nm_obj_del(tis);
		return;
	}
	NM_SET(create_tis_out, c->out, tisn, tis->id);
}

/* Priority and LAG affinity have no effect on a single port. */
void nm_cmd_modify_tis(struct nm_cmd *c)
{
	nm_obj_find(c, NM_OBJ_TIS, NM_GET(modify_tis_in, c->in, tisn));
}

void nm_cmd_query_tis(struct nm_cmd *c)
{
	struct nm_obj *tis = nm_obj_find(c, NM_OBJ_TIS,
					 NM_GET(query_tis_in, c->in, tisn));
	void *ctx = NM_PTR(query_tis_out, c->out, tis_context);

	if (tis)
		NM_SET(tisc, ctx, transport_domain, tis->ref[0]->id);
}
