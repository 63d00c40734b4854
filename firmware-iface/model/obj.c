// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Firmware objects: number spaces, ownership, references. */
#include <stdlib.h>

#include "model.h"
#include "cmd.h"
#include "mkey.h"
#include "trace.h"

struct obj_type {
	const char *name;
	u8 space;
	bool shared;	/* the kernel's objects serve every uid */
};

static const struct obj_type types[NM_OBJ_MAX] = {
	[NM_OBJ_UAR]	= { "uar", NM_SPACE_UAR, true },
	[NM_OBJ_PD]	= { "pd", NM_SPACE_PD, false },
	[NM_OBJ_TD]	= { "transport_domain", NM_SPACE_TD, true },
	[NM_OBJ_XRCD]	= { "xrcd", NM_SPACE_XRCD, true },
	[NM_OBJ_UCTX]	= { "uctx", NM_SPACE_UCTX, false },
	[NM_OBJ_UMEM]	= { "umem", NM_SPACE_UMEM, false },
	[NM_OBJ_MKEY]	= { "mkey", NM_SPACE_MKEY, false },
	[NM_OBJ_EQ]	= { "eq", NM_SPACE_EQ, true },
	[NM_OBJ_CQ]	= { "cq", NM_SPACE_CQ, false },
	[NM_OBJ_SQ]	= { "sq", NM_SPACE_QUEUE, false },
	[NM_OBJ_RQ]	= { "rq", NM_SPACE_QUEUE, false },
	[NM_OBJ_QP]	= { "qp", NM_SPACE_QUEUE, false },
	[NM_OBJ_RMP]	= { "rmp", NM_SPACE_SRQ, true },
	[NM_OBJ_XRC_SRQ] = { "xrc_srq", NM_SPACE_SRQ, true },
	[NM_OBJ_RQT]	= { "rqt", NM_SPACE_RQT, false },
	[NM_OBJ_TIR]	= { "tir", NM_SPACE_TIR, false },
	[NM_OBJ_TIS]	= { "tis", NM_SPACE_TIS, false },
	[NM_OBJ_FT]	= { "flow_table", NM_SPACE_FT, true },
	[NM_OBJ_FG]	= { "flow_group", NM_SPACE_FG, true },
	[NM_OBJ_FC]	= { "flow_counter", NM_SPACE_FC, true },
	[NM_OBJ_QCTR]	= { "q_counter", NM_SPACE_QCTR, true },
	[NM_OBJ_GEN]	= { "general_object", NM_SPACE_GEN, false },
};

/* First number and limit of each space; what the capabilities promise fits. */
static const struct {
	u32 first, limit;
} spaces[NM_SPACE_MAX] = {
	[NM_SPACE_UAR]	= { NM_UAR_FIRST, NM_UAR_LAST + 1 },
	[NM_SPACE_PD]	= { 1, 1 << 16 },
	[NM_SPACE_TD]	= { 1, 1 << 12 },
	[NM_SPACE_XRCD]	= { 1, 1 << 8 },
	[NM_SPACE_UCTX]	= { 1, 1 << 8 },
	[NM_SPACE_UMEM]	= { 1, 1 << 16 },
	[NM_SPACE_MKEY]	= { NM_MKEY_FIRST, 1 << 17 },
	[NM_SPACE_EQ]	= { 1, 1 << 7 },
	[NM_SPACE_CQ]	= { 1, 1 << 16 },
	[NM_SPACE_QUEUE] = { 64, 1 << 17 },
	[NM_SPACE_SRQ]	= { 1, 1 << 12 },
	[NM_SPACE_RQT]	= { 1, 1 << 12 },
	[NM_SPACE_TIR]	= { 1, 1 << 12 },
	[NM_SPACE_TIS]	= { 1, 1 << 12 },
	[NM_SPACE_FT]	= { 1, 1 << 12 },
	[NM_SPACE_FG]	= { 1, 1 << 16 },
	[NM_SPACE_FC]	= { 1, 1 << 16 },
	[NM_SPACE_QCTR]	= { 1, 1 << 8 },
	[NM_SPACE_GEN]	= { 1, 1 << 17 },
};

const char *nm_obj_name(enum nm_obj_type type)
{
	return types[type].name;
}

void nm_objtab_init(struct nm_fn *fn)
{
	unsigned int i;

	for (i = 0; i < NM_SPACE_MAX; i++) {
		fn->objs.tab[i].first = spaces[i].first;
		fn->objs.tab[i].limit = spaces[i].limit;
		fn->objs.tab[i].hint = spaces[i].first;
	}
}

static bool idtab_grow(struct nm_idtab *t)
{
	u32 cap = t->cap ? t->cap * 2 : 64;
	struct nm_obj **s;

	if (cap > t->limit)
		cap = t->limit;
	if (cap <= t->cap)
		return false;
	s = realloc(t->slot, cap * sizeof(*s));
	if (!s)
		return false;
	memset(s + t->cap, 0, (cap - t->cap) * sizeof(*s));
	t->slot = s;
	t->cap = cap;
	return true;
}

/* Numbers rotate, so that a stale one is not soon somebody else's. */
static u32 idtab_alloc(struct nm_idtab *t, struct nm_obj *obj)
{
	u32 n, id;

	if (t->used >= t->limit - t->first)
		return 0;
	for (n = t->limit - t->first, id = t->hint; n; n--, id++) {
		if (id >= t->limit)
			id = t->first;
		while (id >= t->cap)
			if (!idtab_grow(t))
				return 0;
		if (!t->slot[id])
			break;
	}
	if (!n)
		return 0;
	t->slot[id] = obj;
	t->hint = id + 1 < t->limit ? id + 1 : t->first;
	t->used++;
	return id;
}

void *nm_obj_new(struct nm_cmd *c, enum nm_obj_type type, size_t size)
{
	struct nm_objtab *tab = &c->fn->objs;
	struct nm_obj *obj = calloc(1, size);

	if (!obj) {
		nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_MEMORY);
		return NULL;
	}
	obj->fn = c->fn;
	obj->type = type;
	obj->uid = c->uid;
	obj->id = idtab_alloc(&tab->tab[types[type].space], obj);
	if (!obj->id) {
		free(obj);
		nm_cmd_fail(c, NM_ST_LIM, NM_SYN_NO_NUMBER);
		return NULL;
	}
	obj->prev = tab->tail;
	if (tab->tail)
		tab->tail->next = obj;
	else
		tab->head = obj;
	tab->tail = obj;
	return obj;
}

void nm_obj_del(struct nm_obj *obj)
{
	struct nm_objtab *tab = &obj->fn->objs;
	struct nm_idtab *t = &tab->tab[types[obj->type].space];

	if (obj->destroy)
		obj->destroy(obj);
	while (obj->nr_ref)
		nm_obj_put(obj->ref[--obj->nr_ref]);
	t->slot[obj->id] = NULL;
	t->used--;
	if (obj->prev)
		obj->prev->next = obj->next;
	else
		tab->head = obj->next;
	if (obj->next)
		obj->next->prev = obj->prev;
	else
		tab->tail = obj->prev;
	free(obj);
}

struct nm_obj *nm_obj_lookup(struct nm_fn *fn, enum nm_obj_type type, u32 id)
{
	struct nm_idtab *t = &fn->objs.tab[types[type].space];

	if (id >= t->cap || !t->slot[id] || t->slot[id]->type != type)
		return NULL;
	return t->slot[id];
}

void *nm_obj_find(struct nm_cmd *c, enum nm_obj_type type, u32 id)
{
	struct nm_obj *obj = nm_obj_lookup(c->fn, type, id);

	if (!obj) {
		nm_trace(c->fn, NM_TR_ERR, "%s: no %s %#x", nm_cmd_name(c->opcode),
			 types[type].name, id);
		nm_cmd_fail(c, NM_ST_BAD_RES, NM_SYN_NO_OBJECT);
		return NULL;
	}
	if (c->uid && obj->uid != c->uid &&
	    !(types[type].shared && !obj->uid)) {
		nm_trace(c->fn, NM_TR_ERR, "%s: %s %#x is of uid %u, not %u",
			 nm_cmd_name(c->opcode), types[type].name, id, obj->uid,
			 c->uid);
		nm_cmd_fail(c, NM_ST_BAD_RES, NM_SYN_FOREIGN);
		return NULL;
	}
	return obj;
}

void nm_obj_hold(struct nm_obj *obj)
{
	obj->users++;
}

void nm_obj_put(struct nm_obj *obj)
{
	obj->users--;
}

void *nm_obj_use(struct nm_cmd *c, struct nm_obj *user, enum nm_obj_type type,
		 u32 id)
{
	struct nm_obj *obj = nm_obj_find(c, type, id);

	if (!obj)
		return NULL;
	if (user->nr_ref == NM_OBJ_REFS) {
		nm_cmd_fail(c, NM_ST_INT_ERR, NM_SYN_NO_MEMORY);
		return NULL;
	}
	user->ref[user->nr_ref++] = obj;
	nm_obj_hold(obj);
	return obj;
}

void nm_obj_unref(struct nm_obj *user, struct nm_obj *obj)
{
	unsigned int i;

	for (i = 0; i < user->nr_ref; i++) {
		if (user->ref[i] != obj)
			continue;
		user->ref[i] = user->ref[--user->nr_ref];
		nm_obj_put(obj);
		return;
	}
}

struct nm_obj *nm_obj_next(struct nm_fn *fn, enum nm_obj_type type,
			   struct nm_obj *obj)
{
	obj = obj ? obj->next : fn->objs.head;
	while (obj && obj->type != type)
		obj = obj->next;
	return obj;
}

u32 nm_obj_count(struct nm_fn *fn, enum nm_obj_type type)
{
	struct nm_obj *obj = NULL;
	u32 n = 0;

	while ((obj = nm_obj_next(fn, type, obj)))
		n++;
	return n;
}

/*
 * Newest first, users before what they use; references never form a ring (a
 * flow table's miss table has a higher level), so that every round makes
 * progress until only foreign users are left.
 */
static void obj_flush(struct nm_fn *fn, bool all, u16 uid)
{
	bool again = true;
	struct nm_obj *obj, *prev;

	while (again) {
		again = false;
		for (obj = fn->objs.tail; obj; obj = prev) {
			prev = obj->prev;
			if (!all && obj->uid != uid)
				continue;
			if (obj->sever)
				obj->sever(obj);
			if (obj->users)
				continue;
			nm_obj_del(obj);
			again = true;
		}
	}
}

void nm_obj_flush_uid(struct nm_fn *fn, u16 uid)
{
	obj_flush(fn, false, uid);
}

/* Reset: everything goes, whoever owns it. */
void nm_objtab_flush(struct nm_fn *fn)
{
	unsigned int i;

	obj_flush(fn, true, 0);
	for (i = 0; i < NM_SPACE_MAX; i++)
		fn->objs.tab[i].hint = spaces[i].first;
}
