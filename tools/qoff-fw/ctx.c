// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Contexts, their keys, and the rules that lead packets to them. */
#include <stdlib.h>
#include <string.h>

#include "fw.h"

#define GEN_HDR		NM_BYTES(general_obj_in_cmd_hdr)
#define OBJ		QOFF_MLX5_BYTES(quic_ctx_obj)
#define QUIC_LEVEL	64
#define ACTION_FWD	0x4
#define ACTION_DECRYPT	0x1000

static struct mlx5dv_devx_obj *dek(struct fw_dev *d, const u8 *key, u32 size, u32 *id)
{
	u8 in[GEN_HDR + NM_BYTES(encryption_key_obj)] = { };
	struct mlx5dv_devx_obj *o;
	void *obj = in + GEN_HDR;
	struct fw_answer a;

	nm_wr16(in, MLX5_CMD_OP_CREATE_GENERAL_OBJECT);
	NM_SET(general_obj_in_cmd_hdr, in, obj_type, MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY);
	NM_SET(encryption_key_obj, obj, key_size, size == 32);
	NM_SET(encryption_key_obj, obj, key_purpose, QOFF_MLX5_DEK_PURPOSE);
	NM_SET(encryption_key_obj, obj, pd, d->pdn);
	memcpy((u8 *)NM_PTR(encryption_key_obj, obj, key) + (size == 32 ? 0 : 16), key, size);
	o = fw_create(d, in, sizeof(in), &a);
	*id = a.id;
	return o;
}

void fw_ctx_layout(const struct fw_ctx *x, void *obj)
{
	memset(obj, 0, OBJ);
	NM_SET(quic_ctx_obj, obj, direction, x->dir);
	NM_SET(quic_ctx_obj, obj, cipher, x->keys[0].cipher);
	NM_SET(quic_ctx_obj, obj, dcid_len, x->dcid_len);
	NM_SET(quic_ctx_obj, obj, fail_action, x->dir ? QOFF_MLX5_FAIL_ORIGINAL : 0);
	NM_SET(quic_ctx_obj, obj, hp_valid, 1);
	NM_SET(quic_ctx_obj, obj, phase_valid, x->valid);
	NM_SET(quic_ctx_obj, obj, gro_en, x->gro);
	NM_SET(quic_ctx_obj, obj, handle, x->handle);
	NM_SET(quic_ctx_obj, obj, dekn_0, x->dekn[0]);
	NM_SET(quic_ctx_obj, obj, dekn_1, x->dekn[1]);
	NM_SET(quic_ctx_obj, obj, hp_dekn, x->dekn[2]);
	memcpy(NM_PTR(quic_ctx_obj, obj, iv_0), x->keys[0].iv, QOFF_MLX5_IV);
	memcpy(NM_PTR(quic_ctx_obj, obj, iv_1), x->keys[1].iv, QOFF_MLX5_IV);
	memcpy(NM_PTR(quic_ctx_obj, obj, dcid), x->dcid, x->dcid_len);
}

struct mlx5dv_devx_obj *fw_ctx_object(struct fw_dev *d, const void *obj, struct fw_answer *a)
{
	u8 in[GEN_HDR + OBJ] = { };

	nm_wr16(in, MLX5_CMD_OP_CREATE_GENERAL_OBJECT);
	NM_SET(general_obj_in_cmd_hdr, in, obj_type, QOFF_MLX5_OBJ_TYPE_CTX);
	memcpy(in + GEN_HDR, obj, OBJ);
	return fw_create(d, in, sizeof(in), a);
}

bool fw_ctx_create(struct fw_dev *d, struct fw_ctx *x, struct fw_answer *a)
{
	u32 cipher = x->keys[0].cipher, i;
	u32 size = cipher == QOFF_MLX5_AES_128_GCM || cipher == QOFF_MLX5_AES_128_CCM ? 16 : 32;
	u8 obj[OBJ] = { };

	if (x->in_band) {
		NM_SET(quic_ctx_obj, obj, in_band, 1);
		NM_SET(quic_ctx_obj, obj, direction, x->dir);
	} else {
		for (i = 0; i < 3; i++) {
			if (i < 2 && !(x->valid & BIT(i)))
				continue;
			x->dek[i] = dek(d, i == 2 ? x->keys[0].hp : x->keys[i].key, size,
					&x->dekn[i]);
			if (!x->dek[i])
				return false;
		}
		fw_ctx_layout(x, obj);
	}
	x->obj = fw_ctx_object(d, obj, a);
	x->id = a->id;
	return x->obj;
}

void fw_ctx_destroy(struct fw_ctx *x)
{
	unsigned int i;

	if (x->obj)
		mlx5dv_devx_obj_destroy(x->obj);
	for (i = 0; i < 3; i++)
		if (x->dek[i])
			mlx5dv_devx_obj_destroy(x->dek[i]);
}

/**
 * struct fw_flow - from the wire to the receive queue
 * @table, @group, @entry: the QUIC rule, when there is a context
 */
struct fw_flow {
	struct mlx5dv_devx_obj *table, *group, *entry;
	struct mlx5dv_flow_matcher *matcher;
	struct ibv_flow *rule;
};

static void group_layout(u8 *in, u32 table, const struct fw_ctx *x)
{
	u8 *mask = NM_PTR(create_flow_group_in, in, match_criteria);
	u8 *m6 = mask + QOFF_MLX5_MATCH_OFF;

	nm_wr16(in, MLX5_CMD_OP_CREATE_FLOW_GROUP);
	NM_SET(create_flow_group_in, in, table_id, table);
	NM_SET(create_flow_group_in, in, match_criteria_enable,
	       BIT(0) | BIT(QOFF_MLX5_CRITERIA_MISC6));
	nm_field_set(mask, NM_OFF(fte_match_set_lyr_2_4, udp_dport), 16, 0xffff);
	NM_SET(fte_match_set_misc6, m6, hdr_form, 1);
	memset(m6 + NM_BYTE_OFF(fte_match_set_misc6, dcid), 0xff, x->dcid_len);
}

static void entry_layout(u8 *in, struct fw_dev *d, u32 table, u32 group, const struct fw_ctx *x)
{
	void *ctx = NM_PTR(set_fte_in, in, flow_context), *dest;
	u8 *val = NM_PTR(flow_context, ctx, match_value);

	nm_wr16(in, MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	NM_SET(set_fte_in, in, table_id, table);
	NM_SET(flow_context, ctx, group_id, group);
	NM_SET(flow_context, ctx, action, ACTION_FWD | ACTION_DECRYPT);
	NM_SET(flow_context, ctx, encrypt_decrypt_type, QOFF_MLX5_CRYPTO_TYPE);
	NM_SET(flow_context, ctx, encrypt_decrypt_obj_id, x->id);
	NM_SET(flow_context, ctx, destination_list_size, 1);
	nm_field_set(val, NM_OFF(fte_match_set_lyr_2_4, udp_dport), 16, FW_UDP_PORT);
	memcpy(val + QOFF_MLX5_MATCH_OFF + NM_BYTE_OFF(fte_match_set_misc6, dcid), x->dcid,
	       x->dcid_len);
	dest = NM_PTR(flow_context, ctx, destination);
	NM_SET(dest_format_struct, dest, destination_type, 2);
	NM_SET(dest_format_struct, dest, destination_id, d->tirn);
}

/* A table of our own with the one rule; the kernel's matcher leads to it. */
static bool quic_table(struct fw_dev *d, struct fw_flow *f, const struct fw_ctx *x)
{
	u8 ft[NM_BYTES(create_flow_table_in)] = { }, fg[NM_BYTES(create_flow_group_in)] = { };
	u8 fte[NM_BYTES(set_fte_in) + 8] = { };
	struct fw_answer a, g;

	nm_wr16(ft, MLX5_CMD_OP_CREATE_FLOW_TABLE);
	NM_SET(flow_table_context, NM_PTR(create_flow_table_in, ft, flow_table_context), level,
	       QUIC_LEVEL);
	f->table = fw_create(d, ft, sizeof(ft), &a);
	if (!f->table)
		return false;
	group_layout(fg, a.id, x);
	f->group = fw_create(d, fg, sizeof(fg), &g);
	if (!f->group)
		return false;
	entry_layout(fte, d, a.id, g.id, x);
	f->entry = fw_create(d, fte, sizeof(fte), &g);
	return f->entry;
}

static bool steer(struct fw_dev *d, struct fw_flow *f)
{
	size_t size = NM_BYTES(fte_match_set_lyr_2_4);
	struct mlx5dv_flow_match_parameters *mask, *val;
	struct mlx5dv_flow_action_attr act = { .type = MLX5DV_FLOW_ACTION_DEST_DEVX };
	struct mlx5dv_flow_matcher_attr attr = {
		.type = IBV_FLOW_ATTR_NORMAL, .match_criteria_enable = 1,
	};

	mask = calloc(2, sizeof(*mask) + size);
	if (!mask)
		return false;
	val = (void *)((u8 *)mask + sizeof(*mask) + size);
	mask->match_sz = size;
	val->match_sz = size;
	NM_SET(fte_match_set_lyr_2_4, mask->match_buf, ethertype, 0xffff);
	NM_SET(fte_match_set_lyr_2_4, mask->match_buf, ip_protocol, 0xff);
	NM_SET(fte_match_set_lyr_2_4, mask->match_buf, udp_dport, 0xffff);
	NM_SET(fte_match_set_lyr_2_4, val->match_buf, ethertype, 0x0800);
	NM_SET(fte_match_set_lyr_2_4, val->match_buf, ip_protocol, 17);
	NM_SET(fte_match_set_lyr_2_4, val->match_buf, udp_dport, FW_UDP_PORT);
	attr.match_mask = mask;
	act.obj = f->table ? f->table : d->tir;
	f->matcher = mlx5dv_create_flow_matcher(d->ctx, &attr);
	if (f->matcher)
		f->rule = mlx5dv_create_flow(f->matcher, val, 1, &act);
	free(mask);
	return f->rule;
}

struct fw_flow *fw_flow_add(struct fw_dev *d, const struct fw_ctx *x)
{
	struct fw_flow *f = calloc(1, sizeof(*f));

	if (f && (!x || quic_table(d, f, x)) && steer(d, f))
		return f;
	fw_flow_del(f);
	return NULL;
}

void fw_flow_del(struct fw_flow *f)
{
	if (!f)
		return;
	if (f->rule)
		ibv_destroy_flow(f->rule);
	if (f->matcher)
		mlx5dv_destroy_flow_matcher(f->matcher);
	if (f->entry)
		mlx5dv_devx_obj_destroy(f->entry);
	if (f->group)
		mlx5dv_devx_obj_destroy(f->group);
	if (f->table)
		mlx5dv_devx_obj_destroy(f->table);
	free(f);
}
