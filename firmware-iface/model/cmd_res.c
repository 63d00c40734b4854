// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Plain resources, and the end of every object. */
#include <stdlib.h>

#include "cmd.h"
#include "queue.h"

/* Which object a destroy command names; the number is at one place in all. */
static const struct {
	u16 opcode;
	u8 type;
} destroy_types[] = {
	{ MLX5_CMD_OP_DESTROY_MKEY, NM_OBJ_MKEY },
	{ MLX5_CMD_OP_DESTROY_EQ, NM_OBJ_EQ },
	{ MLX5_CMD_OP_DESTROY_CQ, NM_OBJ_CQ },
	{ MLX5_CMD_OP_DESTROY_QP, NM_OBJ_QP },
	{ MLX5_CMD_OP_DESTROY_XRC_SRQ, NM_OBJ_XRC_SRQ },
	{ MLX5_CMD_OP_DEALLOC_Q_COUNTER, NM_OBJ_QCTR },
	{ MLX5_CMD_OP_DEALLOC_PD, NM_OBJ_PD },
	{ MLX5_CMD_OP_DEALLOC_UAR, NM_OBJ_UAR },
	{ MLX5_CMD_OP_DEALLOC_XRCD, NM_OBJ_XRCD },
	{ MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN, NM_OBJ_TD },
	{ MLX5_CMD_OP_DESTROY_TIR, NM_OBJ_TIR },
	{ MLX5_CMD_OP_DESTROY_SQ, NM_OBJ_SQ },
	{ MLX5_CMD_OP_DESTROY_RQ, NM_OBJ_RQ },
	{ MLX5_CMD_OP_DESTROY_RMP, NM_OBJ_RMP },
	{ MLX5_CMD_OP_DESTROY_TIS, NM_OBJ_TIS },
	{ MLX5_CMD_OP_DESTROY_RQT, NM_OBJ_RQT },
	{ MLX5_CMD_OP_DESTROY_UMEM, NM_OBJ_UMEM },
};

/* Those whose command names a table first: the number is in the fourth dword. */
static const struct {
	u16 opcode;
	u8 type;
	u8 off;
} destroy_far[] = {
	{ MLX5_CMD_OP_DESTROY_FLOW_TABLE, NM_OBJ_FT,
	  NM_BYTE_OFF(destroy_flow_table_in, table_id) },
	{ MLX5_CMD_OP_DESTROY_FLOW_GROUP, NM_OBJ_FG,
	  NM_BYTE_OFF(destroy_flow_group_in, group_id) },
	{ MLX5_CMD_OP_DEALLOC_FLOW_COUNTER, NM_OBJ_FC,
	  NM_BYTE_OFF(dealloc_flow_counter_in, flow_counter_id) },
};

static bool destroy_target(struct nm_cmd *c, u8 *type, u32 *id)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(destroy_types); i++) {
		if (destroy_types[i].opcode != c->opcode)
			continue;
		*type = destroy_types[i].type;
		*id = nm_rd32(c->in + 8) & 0xffffff;
		return true;
	}
	for (i = 0; i < ARRAY_SIZE(destroy_far); i++) {
		if (destroy_far[i].opcode != c->opcode)
			continue;
		*type = destroy_far[i].type;
		*id = nm_rd32(c->in + (destroy_far[i].off & ~3u));
		if (*type == NM_OBJ_FT)
			*id &= 0xffffff;
		return true;
	}
	return false;
}

void nm_cmd_destroy(struct nm_cmd *c)
{
	struct nm_obj *obj;
	u8 type;
	u32 id;

	if (!destroy_target(c, &type, &id)) {
		nm_cmd_fail(c, NM_ST_INT_ERR, NM_SYN_UNKNOWN_OP);
		return;
	}
	obj = nm_obj_find(c, type, id);
	if (!obj)
		return;
	if (obj->users) {
		nm_cmd_fail(c, NM_ST_RES_BUSY, NM_SYN_IN_USE);
		return;
	}
	nm_obj_del(obj);
}

/* An object that is only a number; most create outputs have it in byte 8. */
static void res_alloc(struct nm_cmd *c, enum nm_obj_type type)
{
	struct nm_obj *obj = nm_obj_new(c, type, sizeof(*obj));

	if (obj)
		nm_wr32(c->out + 8, obj->id);
}

void nm_cmd_alloc_uar(struct nm_cmd *c)
{
	res_alloc(c, NM_OBJ_UAR);
}

void nm_cmd_alloc_pd(struct nm_cmd *c)
{
	res_alloc(c, NM_OBJ_PD);
}

void nm_cmd_alloc_transport_domain(struct nm_cmd *c)
{
	res_alloc(c, NM_OBJ_TD);
}

void nm_cmd_alloc_xrcd(struct nm_cmd *c)
{
	res_alloc(c, NM_OBJ_XRCD);
}

void nm_cmd_alloc_q_counter(struct nm_cmd *c)
{
	struct nm_qctr *q = nm_obj_new(c, NM_OBJ_QCTR, sizeof(*q));

	if (q)
		NM_SET(alloc_q_counter_out, c->out, counter_set_id, q->obj.id);
}

void nm_cmd_query_q_counter(struct nm_cmd *c)
{
	struct nm_qctr *q;

	if (NM_GET(query_q_counter_in, c->in, aggregate)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	q = nm_obj_find(c, NM_OBJ_QCTR,
			NM_GET(query_q_counter_in, c->in, counter_set_id));
	if (!q)
		return;
	NM_SET(query_q_counter_out, c->out, out_of_buffer, q->out_of_buffer);
	if (NM_GET(query_q_counter_in, c->in, clear))
		q->out_of_buffer = 0;
}

/* A DEVX context: its number is the uid that later commands carry. */
void nm_cmd_create_uctx(struct nm_cmd *c)
{
	struct nm_obj *obj;

	if (c->uid) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FOREIGN);
		return;
	}
	obj = nm_obj_new(c, NM_OBJ_UCTX, sizeof(*obj));
	if (obj)
		NM_SET(create_uctx_out, c->out, uid, obj->id);
}

void nm_cmd_destroy_uctx(struct nm_cmd *c)
{
	u16 uid = NM_GET(destroy_uctx_in, c->in, uid);
	struct nm_obj *obj;

	if (c->uid) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FOREIGN);
		return;
	}
	obj = nm_obj_find(c, NM_OBJ_UCTX, uid);
	if (!obj)
		return;
	nm_obj_flush_uid(c->fn, uid);
	nm_obj_del(obj);
}
