// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Flow steering: commands. */
#include <stdlib.h>

#include "quic.h"
#include "steer.h"

#define FT_MAX_LEVEL	64
#define FT_MAX_LOG	20
#define FTE_MAX_TOTAL	(1u << 20)

/* Criteria: outer headers, and the QUIC group where it is served. */
#define CRITERIA_OUTER	BIT(0)
#define CRITERIA_QUIC	BIT(QOFF_MLX5_CRITERIA_MISC6)

enum {
	DEST_VPORT = 0, DEST_TABLE = 1, DEST_TIR = 2,
	ACT_ALLOW = 0x1, ACT_DROP = 0x2, ACT_FWD = 0x4, ACT_COUNT = 0x8,
	ACT_KNOWN = 0xf, ACT_DECRYPT = 0x1000,
	MODIFY_ACTION = BIT(0), MODIFY_TAG = BIT(1), MODIFY_DEST = BIT(2),
	MODIFY_COUNTERS = BIT(3),
};

static bool ft_vport_ok(struct nm_cmd *c, u32 type)
{
	/* Transmit tables are not served: their ft_support is 0. */
	if (NM_GET(create_flow_table_in, c->in, other_vport) ||
	    NM_GET(create_flow_table_in, c->in, vport_number) ||
	    type != NM_FT_NIC_RX) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FT_TYPE);
		return false;
	}
	return true;
}

static void ft_set_miss(struct nm_ft *ft, struct nm_ft *miss)
{
	if (ft->miss)
		nm_obj_unref(&ft->obj, &ft->miss->obj);
	ft->miss = miss;
}

/* Miss: 0 default (drop), 1 to a table of a higher level. */
static bool ft_miss(struct nm_cmd *c, struct nm_ft *ft, void *ctx)
{
	u32 action = NM_GET(flow_table_context, ctx, table_miss_action);
	u32 id = NM_GET(flow_table_context, ctx, table_miss_id);
	struct nm_ft *miss = NULL;

	if (action > 1) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return false;
	}
	if (action == 1) {
		miss = nm_obj_find(c, NM_OBJ_FT, id);
		if (!miss)
			return false;
		if (miss->level <= ft->level || miss->type != ft->type) {
			nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FT_LEVEL);
			return false;
		}
	}
	ft_set_miss(ft, NULL);
	if (miss)
		ft_set_miss(ft, nm_obj_use(c, &ft->obj, NM_OBJ_FT, id));
	return true;
}

void nm_cmd_create_flow_table(struct nm_cmd *c)
{
	void *ctx = NM_PTR(create_flow_table_in, c->in, flow_table_context);
	u32 type = NM_GET(create_flow_table_in, c->in, table_type);
	u32 level = NM_GET(flow_table_context, ctx, level);
	struct nm_ft *ft;

	if (!ft_vport_ok(c, type))
		return;
	if (level > FT_MAX_LEVEL + 8 ||
	    NM_GET(flow_table_context, ctx, sw_owner) ||
	    NM_GET(flow_table_context, ctx, reformat_en) ||
	    NM_GET(flow_table_context, ctx, decap_en)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FT_LEVEL);
		return;
	}
	if (NM_GET(flow_table_context, ctx, log_size) > FT_MAX_LOG) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FT_SIZE);
		return;
	}
	ft = nm_obj_new(c, NM_OBJ_FT, sizeof(*ft));
	if (!ft)
		return;
	ft->type = type;
	ft->level = level;
	ft->log_size = NM_GET(flow_table_context, ctx, log_size);
	if (!ft_miss(c, ft, ctx)) {
		nm_obj_del(&ft->obj);
		return;
	}
	NM_SET(create_flow_table_out, c->out, table_id, ft->obj.id);
}

void nm_cmd_modify_flow_table(struct nm_cmd *c)
{
	struct nm_ft *ft = nm_obj_find(c, NM_OBJ_FT,
				       NM_GET(modify_flow_table_in, c->in, table_id));

	if (!ft)
		return;
	if (NM_GET(modify_flow_table_in, c->in, modify_field_select) != 1) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	ft_miss(c, ft, NM_PTR(modify_flow_table_in, c->in, flow_table_context));
}

void nm_cmd_query_flow_table(struct nm_cmd *c)
{
	struct nm_ft *ft = nm_obj_find(c, NM_OBJ_FT,
				       NM_GET(query_flow_table_in, c->in, table_id));
	void *ctx = NM_PTR(query_flow_table_out, c->out, flow_table_context);

	if (!ft)
		return;
	NM_SET(flow_table_context, ctx, level, ft->level);
	NM_SET(flow_table_context, ctx, log_size, ft->log_size);
	NM_SET(flow_table_context, ctx, table_miss_action, ft->miss ? 1 : 0);
	NM_SET(flow_table_context, ctx, table_miss_id,
	       ft->miss ? ft->miss->obj.id : 0);
}

void nm_cmd_set_flow_table_root(struct nm_cmd *c)
{
	u32 type = NM_GET(set_flow_table_root_in, c->in, table_type);
	u32 id = NM_GET(set_flow_table_root_in, c->in, table_id);

	if (!ft_vport_ok(c, type))
		return;
	if (c->op_mod == 1) {	/* back to the default: nothing is received */
		c->fn->ft_root_rx = 0;
		return;
	}
	if (nm_obj_find(c, NM_OBJ_FT, id))
		c->fn->ft_root_rx = id;
}

struct nm_fte *nm_fte_find(struct nm_ft *ft, u32 index)
{
	struct nm_fg *fg;
	struct nm_fte *f;
	u32 i;

	for (fg = ft->groups; fg; fg = fg->next) {
		if (index < fg->start || index > fg->end)
			continue;
		for (i = 0; i < fg->nr_buckets; i++)
			for (f = fg->bucket[i]; f; f = f->hash_next)
				if (f->index == index)
					return f;
	}
	return NULL;
}

void nm_fg_index(struct nm_fg *fg, struct nm_fte *f)
{
	struct nm_fte **b = &fg->bucket[f->hash & (fg->nr_buckets - 1)];

	f->hash_next = *b;
	*b = f;
	fg->nr_fte++;
	fg->ft->nr_fte++;
	nm_obj_hold(&fg->obj);
}

void nm_fg_unindex(struct nm_fg *fg, struct nm_fte *f)
{
	struct nm_fte **p = &fg->bucket[f->hash & (fg->nr_buckets - 1)];

	while (*p != f)
		p = &(*p)->hash_next;
	*p = f->hash_next;
	fg->nr_fte--;
	fg->ft->nr_fte--;
	nm_obj_put(&fg->obj);
}

static void fte_put_dests(struct nm_fte *f)
{
	while (f->nr_dest)
		nm_obj_put(f->dest[--f->nr_dest]);
}

static void fte_put_counters(struct nm_fte *f)
{
	while (f->nr_fc)
		nm_obj_put(f->fc[--f->nr_fc]);
}

static void fte_free(struct nm_fte *f)
{
	if (f->quic)
		nm_obj_put(f->quic);
	fte_put_dests(f);
	fte_put_counters(f);
	free(f);
}

/* A flush takes the entries with their group. */
static void fg_sever(struct nm_obj *obj)
{
	struct nm_fg *fg = container_of(obj, struct nm_fg, obj);
	struct nm_fte *f;
	u32 i;

	for (i = 0; i < fg->nr_buckets && fg->nr_fte; i++)
		while ((f = fg->bucket[i])) {
			nm_fg_unindex(fg, f);
			fte_free(f);
		}
}

static void fg_destroy(struct nm_obj *obj)
{
	struct nm_fg *fg = container_of(obj, struct nm_fg, obj), **p;

	if (fg->ft) {
		for (p = &fg->ft->groups; *p && *p != fg; p = &(*p)->next)
			;
		if (*p)
			*p = fg->next;
	}
	free(fg->dw);
	free(fg->bucket);
}

/* Whether a group matches on word @i of the layout */
static bool fg_word_known(const struct nm_fg *fg, u32 i)
{
	u32 quic = QOFF_MLX5_MATCH_OFF / 4;

	if (i < NM_BYTES(fte_match_set_lyr_2_4) / 4)
		return true;
	return fg->criteria & CRITERIA_QUIC && i >= quic &&
	       i < quic + NM_BYTES(fte_match_set_misc6) / 4;
}

static bool fg_set_mask(struct nm_cmd *c, struct nm_fg *fg, const u8 *mask)
{
	u32 i, n = 0, outer = NM_BYTES(fte_match_set_lyr_2_4) / 4;
	u32 w;

	for (i = outer; i < NM_MATCH_DW; i++) {
		memcpy(&w, mask + i * 4, 4);
		if (w && !fg_word_known(fg, i)) {
			nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FG_CRITERIA);
			return false;
		}
	}
	fg->dw = calloc(NM_MATCH_DW, sizeof(*fg->dw));
	if (!fg->dw) {
		nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_MEMORY);
		return false;
	}
	for (i = fg->criteria & CRITERIA_OUTER ? 0 : outer; i < NM_MATCH_DW; i++) {
		memcpy(&w, mask + i * 4, 4);
		if (w)
			fg->dw[n++] = (struct nm_match_dw){ .dw = i, .mask = w };
	}
	fg->nr_dw = n;
	return true;
}

static u32 criteria_known(const struct nm_fn *fn)
{
	return CRITERIA_OUTER |
	       (nm_quic_on(fn) && NM_QUIC_CAP(fn, dcid_match) ? CRITERIA_QUIC : 0);
}

void nm_cmd_create_flow_group(struct nm_cmd *c)
{
	u32 start = NM_GET(create_flow_group_in, c->in, start_flow_index);
	u32 end = NM_GET(create_flow_group_in, c->in, end_flow_index);
	u32 criteria = NM_GET(create_flow_group_in, c->in, match_criteria_enable);
	struct nm_ft *ft = nm_obj_find(c, NM_OBJ_FT,
				       NM_GET(create_flow_group_in, c->in, table_id));
	struct nm_fg *fg, **p;

	if (!ft)
		return;
	if (criteria & ~criteria_known(c->fn) ||
	    NM_GET(create_flow_group_in, c->in, group_type)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FG_CRITERIA);
		return;
	}
	for (p = &ft->groups; *p && (*p)->end < start; p = &(*p)->next)
		;
	if (start > end || end >> ft->log_size || (*p && (*p)->start <= end)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FG_RANGE);
		return;
	}
	fg = nm_obj_new(c, NM_OBJ_FG, sizeof(*fg));
	if (!fg)
		return;
	fg->obj.destroy = fg_destroy;
	fg->obj.sever = fg_sever;
	fg->start = start;
	fg->end = end;
	fg->criteria = criteria;
	fg->nr_buckets = 16;
	while (fg->nr_buckets < 4096 && fg->nr_buckets < end - start + 1)
		fg->nr_buckets *= 2;
	fg->bucket = calloc(fg->nr_buckets, sizeof(*fg->bucket));
	if (!fg->bucket)
		nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_MEMORY);
	if (!fg->bucket ||
	    !fg_set_mask(c, fg, NM_PTR(create_flow_group_in, c->in, match_criteria)) ||
	    !nm_obj_use(c, &fg->obj, NM_OBJ_FT, ft->obj.id)) {
		nm_obj_del(&fg->obj);
		return;
	}
	fg->ft = ft;
	fg->next = *p;
	*p = fg;
	NM_SET(create_flow_group_out, c->out, group_id, fg->obj.id);
}

static bool fte_dest(struct nm_cmd *c, struct nm_ft *ft, struct nm_fte *f,
		     const u8 *d)
{
	u32 id = NM_GET(dest_format_struct, d, destination_id);
	struct nm_obj *obj = NULL;

	switch (NM_GET(dest_format_struct, d, destination_type)) {
	case DEST_TABLE:
		obj = nm_obj_find(c, NM_OBJ_FT, id);
		if (obj && container_of(obj, struct nm_ft, obj)->level <= ft->level) {
			nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FT_LEVEL);
			obj = NULL;
		}
		break;
	case DEST_TIR:
		obj = nm_obj_find(c, NM_OBJ_TIR, id);
		break;
	default:
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FTE_DEST);
	}
	if (!obj)
		return false;
	f->dest[f->nr_dest++] = obj;
	nm_obj_hold(obj);
	return true;
}

/* Destinations and counters of a context into an entry that has none. */
static bool fte_lists(struct nm_cmd *c, struct nm_ft *ft, struct nm_fte *f,
		      void *ctx)
{
	u32 nd = NM_GET(flow_context, ctx, destination_list_size);
	u32 nc = NM_GET(flow_context, ctx, flow_counter_list_size);
	u32 tail = c->in_len - NM_BYTES(set_fte_in), i;
	const u8 *list = NM_PTR(flow_context, ctx, destination);

	if (nd > NM_FTE_MAX_DEST || nc > ARRAY_SIZE(f->fc)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FTE_DEST);
		return false;
	}
	if (nd + nc > tail / 8) {
		nm_cmd_fail(c, NM_ST_BAD_INP_LEN, NM_SYN_FTE_DEST);
		return false;
	}
	for (i = 0; i < nd; i++)
		if (!fte_dest(c, ft, f, list + i * 8))
			return false;
	for (i = 0; i < nc; i++) {
		f->fc[i] = nm_obj_find(c, NM_OBJ_FC, nm_rd32(list + (nd + i) * 8));
		if (!f->fc[i])
			return false;
		nm_obj_hold(f->fc[i]);
		f->nr_fc++;
	}
	return true;
}

static bool fte_action_ok(struct nm_cmd *c, void *ctx)
{
	u32 action = NM_GET(flow_context, ctx, action);
	u32 known = ACT_KNOWN | (nm_quic_on(c->fn) ? ACT_DECRYPT : 0);

	if (!action || action & ~known ||
	    (action & ACT_DECRYPT && !(action & ACT_FWD)) ||
	    NM_GET(flow_context, ctx, extended_destination) ||
	    (action & ACT_FWD && !NM_GET(flow_context, ctx, destination_list_size)) ||
	    (action & ACT_FWD && action & ACT_DROP)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FTE_ACTION);
		return false;
	}
	return true;
}

/* The context of a decrypt action, held by the entry */
static bool fte_quic(struct nm_cmd *c, struct nm_fte *f, void *ctx)
{
	u32 id = NM_GET(flow_context, ctx, encrypt_decrypt_obj_id);
	struct nm_obj *obj;

	if (!(NM_GET(flow_context, ctx, action) & ACT_DECRYPT))
		return true;
	if (NM_GET(flow_context, ctx, encrypt_decrypt_type) != QOFF_MLX5_CRYPTO_TYPE) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FTE_ACTION);
		return false;
	}
	if (id == QOFF_MLX5_OBJ_LOOKUP && NM_QUIC_CAP(c->fn, ctx_lookup)) {
		f->quic_lookup = true;
		return true;
	}
	obj = nm_obj_find(c, NM_OBJ_GEN, id);
	if (!obj)
		return false;
	if (container_of(obj, struct nm_gen, obj)->ops != &nm_quic_gen_ops ||
	    nm_quic_ctx_of(obj)->dir != QOFF_MLX5_RX) {
		nm_cmd_fail(c, NM_ST_BAD_RES, NM_SYN_FTE_ACTION);
		return false;
	}
	f->quic = obj;
	nm_obj_hold(obj);
	return true;
}

static struct nm_fg *fte_group(struct nm_cmd *c, struct nm_ft *ft, void *ctx,
			       u32 index)
{
	struct nm_fg *fg = nm_obj_find(c, NM_OBJ_FG,
				       NM_GET(flow_context, ctx, group_id));

	if (!fg)
		return NULL;
	if (fg->ft != ft || index < fg->start || index > fg->end) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FTE_INDEX);
		return NULL;
	}
	return fg;
}

static void fte_create(struct nm_cmd *c, struct nm_ft *ft, void *ctx, u32 index)
{
	const u8 *val = NM_PTR(flow_context, ctx, match_value);
	struct nm_fg *fg = fte_group(c, ft, ctx, index);
	struct nm_fte *f;
	u32 i, w;

	if (!fg || !fte_action_ok(c, ctx))
		return;
	if (ft->nr_fte >= FTE_MAX_TOTAL) {
		nm_cmd_fail(c, NM_ST_LIM, NM_SYN_NO_MEMORY);
		return;
	}
	f = calloc(1, sizeof(*f) + fg->nr_dw * sizeof(u32));
	if (!f) {
		nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_MEMORY);
		return;
	}
	f->fg = fg;
	f->index = index;
	f->action = NM_GET(flow_context, ctx, action);
	f->flow_tag = NM_GET(flow_context, ctx, flow_tag);
	for (i = 0; i < fg->nr_dw; i++) {
		memcpy(&w, val + fg->dw[i].dw * 4, 4);
		f->key[i] = w & fg->dw[i].mask;
	}
	f->hash = nm_key_hash(f->key, fg->nr_dw);
	if (!fte_lists(c, ft, f, ctx) || !fte_quic(c, f, ctx)) {
		fte_free(f);
		return;
	}
	nm_fg_index(fg, f);
}

/* The new lists are complete before the old ones go. */
static void fte_modify(struct nm_cmd *c, struct nm_ft *ft, struct nm_fte *f,
		       void *ctx, u32 sel)
{
	struct nm_fte new = { };

	if (sel & MODIFY_ACTION && !fte_action_ok(c, ctx))
		return;
	if (!fte_lists(c, ft, &new, ctx) ||
	    (sel & MODIFY_ACTION && !fte_quic(c, &new, ctx))) {
		fte_put_dests(&new);
		fte_put_counters(&new);
		return;
	}
	if (sel & MODIFY_ACTION) {
		f->action = NM_GET(flow_context, ctx, action);
		if (f->quic)
			nm_obj_put(f->quic);
		f->quic = new.quic;
		f->quic_lookup = new.quic_lookup;
	}
	if (sel & MODIFY_TAG)
		f->flow_tag = NM_GET(flow_context, ctx, flow_tag);
	if (sel & MODIFY_DEST) {
		fte_put_dests(f);
		memcpy(f->dest, new.dest, sizeof(f->dest));
		f->nr_dest = new.nr_dest;
		new.nr_dest = 0;
	}
	if (sel & MODIFY_COUNTERS) {
		fte_put_counters(f);
		memcpy(f->fc, new.fc, sizeof(f->fc));
		f->nr_fc = new.nr_fc;
		new.nr_fc = 0;
	}
	fte_put_dests(&new);
	fte_put_counters(&new);
}

void nm_cmd_set_fte(struct nm_cmd *c)
{
	struct nm_ft *ft = nm_obj_find(c, NM_OBJ_FT,
				       NM_GET(set_fte_in, c->in, table_id));
	u32 index = NM_GET(set_fte_in, c->in, flow_index);
	void *ctx = NM_PTR(set_fte_in, c->in, flow_context);
	struct nm_fte *f;

	if (!ft)
		return;
	f = nm_fte_find(ft, index);
	if (c->op_mod == 0 && !f) {
		fte_create(c, ft, ctx, index);
	} else if (c->op_mod == 1 && f) {
		fte_modify(c, ft, f, ctx,
			   NM_GET(set_fte_in, c->in, modify_enable_mask));
	} else {
		nm_cmd_fail(c, NM_ST_BAD_RES_STATE, NM_SYN_FTE_INDEX);
	}
}

void nm_cmd_delete_fte(struct nm_cmd *c)
{
	struct nm_ft *ft = nm_obj_find(c, NM_OBJ_FT,
				       NM_GET(delete_fte_in, c->in, table_id));
	struct nm_fte *f;

	if (!ft)
		return;
	f = nm_fte_find(ft, NM_GET(delete_fte_in, c->in, flow_index));
	if (!f) {
		nm_cmd_fail(c, NM_ST_BAD_RES, NM_SYN_FTE_INDEX);
		return;
	}
	nm_fg_unindex(f->fg, f);
	fte_free(f);
}

void nm_cmd_alloc_flow_counter(struct nm_cmd *c)
{
	struct nm_fc *fc;

	if (NM_GET(alloc_flow_counter_in, c->in, flow_counter_bulk)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	fc = nm_obj_new(c, NM_OBJ_FC, sizeof(*fc));
	if (fc)
		NM_SET(alloc_flow_counter_out, c->out, flow_counter_id, fc->obj.id);
}

/* num_of_counters 0 asks for the one that flow_counter_id names. */
void nm_cmd_query_flow_counter(struct nm_cmd *c)
{
	u32 id = NM_GET(query_flow_counter_in, c->in, flow_counter_id);
	u32 n = NM_GET(query_flow_counter_in, c->in, num_of_counters), i;
	u8 *out = NM_PTR(query_flow_counter_out, c->out, flow_statistics);
	u32 room = (c->out_len - NM_BYTES(query_flow_counter_out)) /
		   NM_BYTES(traffic_counter);

	if (!n)
		n = 1;
	if (n > room) {
		nm_cmd_fail(c, NM_ST_BAD_OUTP_LEN, NM_SYN_OUT_LEN);
		return;
	}
	for (i = 0; i < n; i++) {
		struct nm_obj *obj = nm_obj_lookup(c->fn, NM_OBJ_FC, id + i);
		struct nm_fc *fc;

		if (!obj && n > 1)
			continue;	/* a bulk may have holes */
		fc = nm_obj_find(c, NM_OBJ_FC, id + i);
		if (!fc)
			return;
		nm_wr64(out + i * 16, fc->packets);
		nm_wr64(out + i * 16 + 8, fc->octets);
		if (NM_GET(query_flow_counter_in, c->in, clear)) {
			fc->packets = 0;
			fc->octets = 0;
		}
	}
}
