// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * General objects. One row a type; a new type (a QUIC context) is a new row.
 * Keys are erased when the object goes, and never traced.
 */
#include <stdlib.h>
#include <string.h>

#include "genobj.h"
#include "quic.h"

#define DEK_KEY_BYTES	(8 * 16)

static bool dek_set(struct nm_cmd *c, struct nm_gen *g, const void *in)
{
	u32 purpose = NM_GET(encryption_key_obj, in, key_purpose);
	u32 size = NM_GET(encryption_key_obj, in, key_size);

	/* sw_wrapped keys need a login, which is not served */
	if (size > 1 || !purpose || purpose > 7 ||
	    NM_GET(encryption_key_obj, in, sw_wrapped)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_OBJ_VALUE);
		return false;
	}
	if (!nm_obj_find(c, NM_OBJ_PD, NM_GET(encryption_key_obj, in, pd)) ||
	    !nm_quic_dek_new(c, purpose))
		return false;
	memcpy(g->data, in, NM_BYTES(encryption_key_obj));
	return true;
}

static bool dek_modify(struct nm_cmd *c, struct nm_gen *g, const void *in)
{
	/* bit 0: the key; whatever else is selected is unknown */
	if (NM_GET64(encryption_key_obj, in, modify_field_select) != 1 ||
	    NM_GET(encryption_key_obj, in, key_size) > 1) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_OBJ_VALUE);
		return false;
	}
	/* A context took the key over when it was filled. */
	if (g->obj.users) {
		nm_cmd_fail(c, NM_ST_RES_BUSY, NM_SYN_IN_USE);
		return false;
	}
	memcpy(NM_PTR(encryption_key_obj, g->data, key),
	       NM_PTR(encryption_key_obj, in, key), DEK_KEY_BYTES);
	return true;
}

/* A query tells everything but the key. */
static void dek_query(const struct nm_gen *g, void *out)
{
	memcpy(out, g->data, NM_BYTES(encryption_key_obj));
	memset(NM_PTR(encryption_key_obj, out, key), 0, DEK_KEY_BYTES);
}

static void dek_destroy(struct nm_gen *g)
{
	u32 purpose = NM_GET(encryption_key_obj, g->data, key_purpose);

	if (purpose)
		nm_quic_dek_gone(g->obj.fn, purpose);
}

static const struct nm_gen_ops dek_ops = {
	.type = MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY,
	.name = "encryption_key",
	.size = NM_BYTES(encryption_key_obj),
	.set = dek_set,
	.modify = dek_modify,
	.query = dek_query,
	.destroy = dek_destroy,
};

static const struct nm_gen_ops *const gen_types[] = {
	&dek_ops,
	&nm_quic_gen_ops,
};

static u32 gen_data_size(const struct nm_gen_ops *ops)
{
	return ops->priv_size ? ops->priv_size : ops->size;
}

static const struct nm_gen_ops *gen_ops(struct nm_cmd *c)
{
	u32 type = NM_GET(general_obj_in_cmd_hdr, c->in, obj_type);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(gen_types); i++)
		if (gen_types[i]->type == type &&
		    (gen_types[i] != &nm_quic_gen_ops || nm_quic_on(c->fn)))
			return gen_types[i];
	nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_OBJ_TYPE);
	return NULL;
}

static void gen_destroy(struct nm_obj *obj)
{
	struct nm_gen *g = container_of(obj, struct nm_gen, obj);

	if (g->ops->destroy)
		g->ops->destroy(g);
	explicit_bzero(g->data, gen_data_size(g->ops));
}

static struct nm_gen *gen_find(struct nm_cmd *c)
{
	const struct nm_gen_ops *ops = gen_ops(c);
	struct nm_gen *g;

	if (!ops)
		return NULL;
	g = nm_obj_find(c, NM_OBJ_GEN,
			NM_GET(general_obj_in_cmd_hdr, c->in, obj_id));
	if (g && g->ops != ops) {
		nm_cmd_fail(c, NM_ST_BAD_RES, NM_SYN_OBJ_TYPE);
		return NULL;
	}
	return g;
}

static bool gen_in_len(struct nm_cmd *c, const struct nm_gen_ops *ops)
{
	if (c->in_len >= NM_BYTES(general_obj_in_cmd_hdr) + ops->size)
		return true;
	nm_cmd_fail(c, NM_ST_BAD_INP_LEN, NM_SYN_IN_LEN);
	return false;
}

/* The objects of a bulk, numbers in a row as the driver counts on */
void nm_cmd_create_general_obj(struct nm_cmd *c)
{
	const struct nm_gen_ops *ops = gen_ops(c);
	const u8 *in = c->in + NM_BYTES(general_obj_in_cmd_hdr);
	u32 log_range = NM_GET(general_obj_in_cmd_hdr, c->in,
			       op_param.create.log_obj_range);
	u32 n, first = 0, i;
	struct nm_gen *g;

	if (!ops || !gen_in_len(c, ops))
		return;
	if (log_range > NM_GEN_MAX_LOG_RANGE) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_OBJ_VALUE);
		return;
	}
	n = 1u << log_range;
	for (i = 0; i < n; i++) {
		g = nm_obj_new(c, NM_OBJ_GEN, sizeof(*g) + gen_data_size(ops));
		if (!g)
			break;
		g->ops = ops;
		g->obj.destroy = gen_destroy;
		if (!i)
			first = g->obj.id;
		if (g->obj.id != first + i)
			nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_NUMBER);
		if (c->status || !ops->set(c, g, in)) {
			nm_obj_del(&g->obj);
			break;
		}
	}
	if (i == n) {
		NM_SET(general_obj_out_cmd_hdr, c->out, obj_id, first);
		return;
	}
	while (i--)
		nm_obj_del(nm_obj_lookup(c->fn, NM_OBJ_GEN, first + i));
}

void nm_cmd_modify_general_obj(struct nm_cmd *c)
{
	struct nm_gen *g = gen_find(c);

	if (g && gen_in_len(c, g->ops))
		g->ops->modify(c, g, c->in + NM_BYTES(general_obj_in_cmd_hdr));
}

void nm_cmd_query_general_obj(struct nm_cmd *c)
{
	struct nm_gen *g = gen_find(c);
	u32 head = NM_BYTES(general_obj_out_cmd_hdr);

	if (!g)
		return;
	if (c->out_len < head + g->ops->size) {
		nm_cmd_fail(c, NM_ST_BAD_OUTP_LEN, NM_SYN_OUT_LEN);
		return;
	}
	NM_SET(general_obj_out_cmd_hdr, c->out, obj_id, g->obj.id);
	g->ops->query(g, c->out + head);
}

void nm_cmd_destroy_general_obj(struct nm_cmd *c)
{
	struct nm_gen *g = gen_find(c);

	if (!g)
		return;
	if (g->obj.users) {
		nm_cmd_fail(c, NM_ST_RES_BUSY, NM_SYN_IN_USE);
		return;
	}
	nm_obj_del(&g->obj);
}

/* Nothing here caches keys beyond the object: a barrier without work. */
void nm_cmd_sync_crypto(struct nm_cmd *c)
{
	if (NM_GET(sync_crypto_in, c->in, crypto_type) == 0)
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
}
