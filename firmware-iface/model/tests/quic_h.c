// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A driver of the QUIC extension, small enough for tests. */
#include <stdio.h>
#include <stdlib.h>

#include "quic_h.h"

#define OBJ_BYTES	QOFF_MLX5_BYTES(quic_ctx_obj)

void hq_keys(struct ref_keys *k, u32 cipher, u32 seed)
{
	u8 *p = (u8 *)k->key;
	u32 i;

	memset(k, 0, sizeof(*k));
	k->cipher = cipher;
	for (i = 0; i < sizeof(k->key) + sizeof(k->hp) + sizeof(k->iv); i++) {
		seed = seed * 1103515245 + 12345;
		p[i] = seed >> 16;
	}
}

u8 hq_dek(struct h_fn *f, const u8 *key, u32 size, u32 purpose, u32 *id)
{
	u8 in[NM_BYTES(general_obj_in_cmd_hdr) + NM_BYTES(encryption_key_obj)] = { }, out[16];
	void *obj = in + NM_BYTES(general_obj_in_cmd_hdr);
	u8 st;

	nm_wr16(in, MLX5_CMD_OP_CREATE_GENERAL_OBJECT);
	NM_SET(general_obj_in_cmd_hdr, in, obj_type,
	       MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY);
	NM_SET(encryption_key_obj, obj, key_size, size == 32);
	NM_SET(encryption_key_obj, obj, key_purpose, purpose);
	NM_SET(encryption_key_obj, obj, pd, f->pd);
	memcpy((u8 *)NM_PTR(encryption_key_obj, obj, key) + (size == 32 ? 0 : 16), key,
	       size);
	st = H_CMD(f, in, out);
	*id = NM_GET(general_obj_out_cmd_hdr, out, obj_id);
	return st;
}

void hq_obj(const struct hq_ctx *x, void *obj)
{
	memset(obj, 0, OBJ_BYTES);
	NM_SET(quic_ctx_obj, obj, direction, x->dir);
	NM_SET(quic_ctx_obj, obj, cipher, x->keys[0].cipher);
	NM_SET(quic_ctx_obj, obj, dcid_len, x->dcid_len);
	NM_SET(quic_ctx_obj, obj, fail_action, x->fail);
	NM_SET(quic_ctx_obj, obj, pn_check, x->pn_check);
	NM_SET(quic_ctx_obj, obj, hp_valid, !!x->keys[0].cipher);
	NM_SET(quic_ctx_obj, obj, phase_valid, x->valid);
	NM_SET(quic_ctx_obj, obj, key_phase, x->phase);
	NM_SET(quic_ctx_obj, obj, gro_en, x->gro);
	NM_SET(quic_ctx_obj, obj, lookup, x->lookup);
	NM_SET(quic_ctx_obj, obj, handle, x->handle);
	NM_SET(quic_ctx_obj, obj, key_tag_0, 0xa0);
	NM_SET(quic_ctx_obj, obj, key_tag_1, 0xa1);
	NM_SET(quic_ctx_obj, obj, dekn_0, x->dek[0]);
	NM_SET(quic_ctx_obj, obj, dekn_1, x->dek[1]);
	NM_SET(quic_ctx_obj, obj, hp_dekn, x->dek[2]);
	NM_SET(quic_ctx_obj, obj, path_id, x->keys[0].path);
	NM_SET64(quic_ctx_obj, obj, next_pn, x->next_pn);
	NM_SET64(quic_ctx_obj, obj, packet_limit, x->limit);
	memcpy(NM_PTR(quic_ctx_obj, obj, iv_0), x->keys[0].iv, 12);
	memcpy(NM_PTR(quic_ctx_obj, obj, iv_1), x->keys[1].iv, 12);
	memcpy(NM_PTR(quic_ctx_obj, obj, dcid), x->dcid, x->dcid_len);
	if (x->lookup) {
		NM_SET(quic_ctx_obj, obj, ip_version, 4);
		NM_SET(quic_ctx_obj, obj, dst_port, 4433);
		nm_wr32(NM_PTR(quic_ctx_obj, obj, dst_ip), 0x0a000002);
	}
}

u8 hq_create(struct h_fn *f, u16 uid, u32 log_range, const void *obj, u32 *id, u32 *syn)
{
	u8 in[NM_BYTES(general_obj_in_cmd_hdr) + OBJ_BYTES] = { }, out[16];
	u8 st;

	nm_wr16(in, MLX5_CMD_OP_CREATE_GENERAL_OBJECT);
	nm_wr16(in + 2, uid);
	NM_SET(general_obj_in_cmd_hdr, in, obj_type, QOFF_MLX5_OBJ_TYPE_CTX);
	NM_SET(general_obj_in_cmd_hdr, in, op_param.create.log_obj_range, log_range);
	memcpy(in + NM_BYTES(general_obj_in_cmd_hdr), obj, OBJ_BYTES);
	st = H_CMD(f, in, out);
	*id = NM_GET(general_obj_out_cmd_hdr, out, obj_id);
	*syn = nm_rd32(out + 4);
	return st;
}

u8 hq_ctx_create(struct h_fn *f, struct hq_ctx *x)
{
	u32 size = nm_quic_key_len(x->keys[0].cipher), i;
	u8 obj[OBJ_BYTES] = { };

	if (x->in_band) {
		NM_SET(quic_ctx_obj, obj, in_band, 1);
		NM_SET(quic_ctx_obj, obj, direction, x->dir);
		return hq_create(f, 0, 0, obj, &x->id, &x->syndrome);
	}
	for (i = 0; size && i < 3; i++)
		if (i == 2 || x->valid & BIT(i))
			if (hq_dek(f, i == 2 ? x->keys[0].hp : x->keys[i].key, size,
				   QOFF_MLX5_DEK_PURPOSE, &x->dek[i]))
				abort();
	hq_obj(x, obj);
	return hq_create(f, 0, 0, obj, &x->id, &x->syndrome);
}

static u8 on_object(struct h_fn *f, u16 op, u32 id, const void *obj, void *out, u32 out_len)
{
	u8 in[NM_BYTES(general_obj_in_cmd_hdr) + OBJ_BYTES] = { };

	nm_wr16(in, op);
	NM_SET(general_obj_in_cmd_hdr, in, obj_type, QOFF_MLX5_OBJ_TYPE_CTX);
	NM_SET(general_obj_in_cmd_hdr, in, obj_id, id);
	if (obj)
		memcpy(in + NM_BYTES(general_obj_in_cmd_hdr), obj, OBJ_BYTES);
	return h_cmd(f, in, sizeof(in), out, out_len);
}

u8 hq_modify(struct h_fn *f, u32 id, const void *obj, u32 *syn)
{
	u8 out[16], st = on_object(f, MLX5_CMD_OP_MODIFY_GENERAL_OBJECT, id, obj, out, 16);

	*syn = nm_rd32(out + 4);
	return st;
}

u8 hq_query(struct h_fn *f, u32 id, void *obj)
{
	u8 out[16 + OBJ_BYTES];
	u8 st = on_object(f, MLX5_CMD_OP_QUERY_GENERAL_OBJECT, id, NULL, out, sizeof(out));

	memcpy(obj, out + 16, OBJ_BYTES);
	return st;
}

u8 hq_destroy(struct h_fn *f, u32 id)
{
	u8 out[16];

	return on_object(f, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT, id, NULL, out, 16);
}

u32 hq_wqe(struct h_fn *f, const struct hq_super *s, u8 *w, u8 ce)
{
	struct nm_wqe_ctrl *c = (void *)w;
	struct nm_wqe_eth *e = (void *)(c + 1);
	struct qoff_mlx5_wqe_quic *q;
	struct nm_wqe_data *d;
	u32 off, i, ds;
	bool skip = s->flags & QOFF_MLX5_TXF_PN_SKIP;

	memset(w, 0, NM_WQE_MAX_BB * NM_WQE_BB);
	e->cs_flags = NM_ETH_L3_CSUM | NM_ETH_L4_CSUM;
	e->mss = htobe16(s->mss);
	e->inline_sz = htobe16(s->hdr_len);
	memcpy(e->inline_start, s->hdr, s->hdr_len);
	off = 32 + ((s->hdr_len - 2 + 15) & ~15u);
	q = (void *)(w + off);
	q->flags_ctx = htobe32((u32)s->flags << 24 | s->ctx);
	q->num_segs = s->n;
	q->pn = htobe64(s->pn);
	off += sizeof(*q);
	if (s->flags & QOFF_MLX5_TXF_TABLE) {
		q->table_ds = qoff_mlx5_table_ds(s->n, skip);
		for (i = 0; i < s->n; i++) {
			nm_wr16(w + off + i * (skip ? 4 : 2), s->len[i]);
			if (skip)
				nm_wr16(w + off + i * 4 + 2, s->skip[i]);
		}
		off += q->table_ds * 16;
	}
	d = (void *)(w + off);
	d->byte_count = htobe32(s->bytes);
	d->lkey = htobe32(f->mkey);
	d->addr = htobe64(s->payload);
	ds = off / 16 + 1;
	c->opmod_idx_opcode = htobe32((u32)QOFF_MLX5_OPMOD_DATA << 24 |
				      (s->n > 1 || s->mss ? NM_OP_LSO : NM_OP_SEND));
	c->fm_ce_se = ce;
	return ds;
}

void hq_post_raw(struct h *h, struct h_fn *f, const u8 *w, u32 ds)
{
	u32 mask = (2u << f->log_q) - 1, bbs = DIV_ROUND_UP(ds, 4), i;
	struct nm_wqe_ctrl *c = h_ptr(f, f->sq + (f->pi_tx & mask) * 64ull);

	for (i = 0; i < bbs; i++)
		memcpy(h_ptr(f, f->sq + ((f->pi_tx + i) & mask) * 64ull), w + i * 64, 64);
	c->opmod_idx_opcode = htobe32((be32toh(c->opmod_idx_opcode) & 0xff0000ff) |
				      (u32)f->pi_tx << 8);
	c->qpn_ds = htobe32(f->sqn << 8 | ds);
	f->pi_tx += bbs;
	if (!h)
		return;
	h_doorbell(f);
	h_run(h);
}

void hq_post(struct h *h, struct h_fn *f, const struct hq_super *s)
{
	u8 w[NM_WQE_MAX_BB * NM_WQE_BB];
	u32 ds = hq_wqe(f, s, w, 8);

	hq_post_raw(h, f, w, ds);
}

void hq_post_ctx(struct h *h, struct h_fn *f, u8 op, const struct hq_ctx *x, u64 select)
{
	u8 w[NM_WQE_MAX_BB * NM_WQE_BB] = { };
	struct nm_wqe_ctrl *c = (void *)w;
	struct qoff_mlx5_wqe_ctx *seg = (void *)(c + 1);
	struct qoff_mlx5_wqe_ctx_data *d = (void *)(seg + 1);
	u32 ds = 2;

	c->opmod_idx_opcode = htobe32((u32)QOFF_MLX5_OPMOD_CTX << 24 | NM_OP_UMR);
	c->fm_ce_se = 8;
	seg->op = op;
	seg->ctx = htobe32(x->id);
	if (op != QOFF_MLX5_CTX_CLEAR) {
		hq_obj(x, d->obj);
		NM_SET64(quic_ctx_obj, d->obj, modify_field_select, select);
		memcpy(d->key[0], x->keys[0].key, 32);
		memcpy(d->key[1], x->keys[1].key, 32);
		memcpy(d->hp_key, x->keys[0].hp, 32);
		ds += sizeof(*d) / 16;
	}
	hq_post_raw(h, f, w, ds);
}

static u32 quic_group(struct h_fn *f, u32 index, const struct hq_ctx *x)
{
	u8 in[NM_BYTES(create_flow_group_in)] = { }, out[16];
	u8 *mask = NM_PTR(create_flow_group_in, in, match_criteria);
	u8 *m6 = mask + QOFF_MLX5_MATCH_OFF;

	nm_wr16(in, MLX5_CMD_OP_CREATE_FLOW_GROUP);
	NM_SET(create_flow_group_in, in, table_id, f->ft);
	NM_SET(create_flow_group_in, in, start_flow_index, index);
	NM_SET(create_flow_group_in, in, end_flow_index, index);
	NM_SET(create_flow_group_in, in, match_criteria_enable,
	       BIT(0) | BIT(QOFF_MLX5_CRITERIA_MISC6));
	nm_field_set(mask, NM_OFF(fte_match_set_lyr_2_4, udp_dport), 16, 0xffff);
	NM_SET(fte_match_set_misc6, m6, hdr_form, 1);
	memset(m6 + NM_BYTE_OFF(fte_match_set_misc6, dcid), 0xff, x->dcid_len);
	if (H_CMD(f, in, out))
		return 0;
	return NM_GET(create_flow_group_out, out, group_id);
}

u8 hq_rule(struct h_fn *f, u32 index, const struct hq_ctx *x, u32 obj_id)
{
	u8 fte[NM_BYTES(set_fte_in) + 8] = { }, out[16];
	u32 group = quic_group(f, index, x);
	void *ctx = NM_PTR(set_fte_in, fte, flow_context), *dest;
	u8 *val = NM_PTR(flow_context, ctx, match_value);

	if (!group)
		return NM_ST_INT_ERR;
	nm_wr16(fte, MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	NM_SET(set_fte_in, fte, table_id, f->ft);
	NM_SET(set_fte_in, fte, flow_index, index);
	NM_SET(flow_context, ctx, group_id, group);
	NM_SET(flow_context, ctx, action, 0x1004);
	NM_SET(flow_context, ctx, encrypt_decrypt_type, QOFF_MLX5_CRYPTO_TYPE);
	NM_SET(flow_context, ctx, encrypt_decrypt_obj_id, obj_id);
	NM_SET(flow_context, ctx, destination_list_size, 1);
	nm_field_set(val, NM_OFF(fte_match_set_lyr_2_4, udp_dport), 16, 4433);
	memcpy(val + QOFF_MLX5_MATCH_OFF + NM_BYTE_OFF(fte_match_set_misc6, dcid),
	       x->dcid, x->dcid_len);
	dest = NM_PTR(flow_context, ctx, destination);
	NM_SET(dest_format_struct, dest, destination_type, 2);
	NM_SET(dest_format_struct, dest, destination_id, f->tirn);
	return H_CMD(f, fte, out);
}
