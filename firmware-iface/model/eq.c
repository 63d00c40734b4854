// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Event queues. */
#include "queue.h"
#include "trace.h"

#define EQ_MAX_LOG	22

static void eq_destroy(struct nm_obj *obj)
{
	struct nm_eq *eq = container_of(obj, struct nm_eq, obj);

	if (obj->fn->eq_cmd == eq)
		obj->fn->eq_cmd = NULL;
	if (obj->fn->eq_pages == eq)
		obj->fn->eq_pages = NULL;
	nm_buf_free(&eq->buf);
}

void nm_cmd_create_eq(struct nm_cmd *c)
{
	void *in = c->in, *eqc = NM_PTR(create_eq_in, in, eq_context_entry);
	struct nm_fn *fn = c->fn;
	u32 log_size = NM_GET(eqc, eqc, log_eq_size);
	u32 vec = NM_GET(eqc, eqc, intr);
	struct nm_eq *eq;

	if (!log_size || log_size > EQ_MAX_LOG) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_SIZE);
		return;
	}
	if (vec >= NM_MSIX_VECTORS) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_EQ_VECTOR);
		return;
	}
	eq = nm_obj_new(c, NM_OBJ_EQ, sizeof(*eq));
	if (!eq)
		return;
	eq->log_size = log_size;
	eq->vec = vec;
	eq->uar = NM_GET(eqc, eqc, uar_page);
	/* event_bitmask[0] holds events 0 to 63 */
	eq->mask = NM_GET64(create_eq_in, in, event_bitmask);
	eq->obj.destroy = eq_destroy;
	if (!nm_obj_use(c, &eq->obj, NM_OBJ_UAR, eq->uar) ||
	    !nm_buf_init(c, &eq->buf, NM_PTR(create_eq_in, in, pas),
			 c->in_len - NM_BYTES(create_eq_in),
			 NM_GET(eqc, eqc, log_page_size) + NM_PAGE_SHIFT,
			 NM_GET(eqc, eqc, page_offset), 64ull << log_size)) {
		nm_obj_del(&eq->obj);
		return;
	}
	if (eq->mask & BIT_ULL(NM_EV_CMD)) {
		fn->eq_cmd = eq;
		c->no_event = true;
	}
	if (eq->mask & BIT_ULL(NM_EV_PAGE_REQUEST))
		fn->eq_pages = eq;
	NM_SET(create_eq_out, c->out, eq_number, eq->obj.id);
}

void nm_cmd_query_eq(struct nm_cmd *c)
{
	struct nm_eq *eq = nm_obj_find(c, NM_OBJ_EQ,
				       NM_GET(query_eq_in, c->in, eq_number));
	void *eqc = NM_PTR(query_eq_out, c->out, eq_context_entry);

	if (!eq)
		return;
	NM_SET(eqc, eqc, log_eq_size, eq->log_size);
	NM_SET(eqc, eqc, uar_page, eq->uar);
	NM_SET(eqc, eqc, intr, eq->vec);
	NM_SET(eqc, eqc, st, eq->armed ? 0x9 : 0xa);
	NM_SET(eqc, eqc, consumer_counter, eq->ci & 0xffffff);
	NM_SET(eqc, eqc, producer_counter, eq->pi & 0xffffff);
	NM_SET64(query_eq_out, c->out, event_bitmask, eq->mask);
}

void nm_eq_doorbell(struct nm_fn *fn, u32 page, u32 val, bool arm)
{
	struct nm_obj *obj = nm_obj_lookup(fn, NM_OBJ_EQ, val >> 24);
	struct nm_eq *eq;

	nm_trace(fn, NM_TR_DB, "eq eqn %u ci %#x arm %d", val >> 24,
		 val & 0xffffff, arm);
	if (!obj) {
		nm_count(fn, NM_CNT_db_bad);
		return;
	}
	eq = container_of(obj, struct nm_eq, obj);
	if (eq->uar != page) {
		nm_count(fn, NM_CNT_db_bad);
		return;
	}
	eq->ci = val & 0xffffff;
	if (!arm)
		return;
	if ((eq->pi & 0xffffff) != eq->ci) {
		eq->armed = false;
		nm_fn_raise(fn, eq->vec);
	} else {
		eq->armed = true;
	}
}

static void eq_write(struct nm_fn *fn, struct nm_eq *eq, u8 type, u8 sub,
		     const void *data, u32 len)
{
	u32 size = 1u << eq->log_size;
	struct nm_eqe e = { .type = type, .sub_type = sub };
	u8 owner = (eq->pi >> eq->log_size) & 1;
	struct nm_eqe *slot;

	if (((eq->pi - eq->ci) & 0xffffff) >= size) {
		nm_count(fn, NM_CNT_eq_overruns);
		return;
	}
	slot = nm_buf_at(fn, &eq->buf, (u64)(eq->pi & (size - 1)) * sizeof(e));
	if (!slot)
		return;
	memcpy(e.data, data, len);
	memcpy(slot, &e, offsetof(struct nm_eqe, owner));
	__atomic_store_n(&slot->owner, owner, __ATOMIC_RELEASE);
	eq->pi++;
	nm_count(fn, NM_CNT_eqes);
}

/* One interrupt an arming; @quiet loses it. */
static void eq_fire(struct nm_fn *fn, struct nm_eq *eq, bool quiet)
{
	if (!eq->armed)
		return;
	eq->armed = false;
	if (!quiet)
		nm_fn_raise(fn, eq->vec);
}

void nm_eq_post_quiet(struct nm_fn *fn, struct nm_eq *eq, u8 type, u8 sub,
		      const void *data, u32 len)
{
	eq_write(fn, eq, type, sub, data, len);
	eq_fire(fn, eq, true);
}

void nm_eq_post(struct nm_fn *fn, struct nm_eq *eq, u8 type, u8 sub,
		const void *data, u32 len)
{
	nm_trace(fn, NM_TR_EQE, "eqn %u type %#x sub %#x pi %#x data %08x",
		 eq->obj.id, type, sub, eq->pi, nm_rd32(data));
	if (type == NM_EV_COMP && nm_fault_take(fn, drop_eqe))
		return;
	eq_write(fn, eq, type, sub, data, len);
	if (type == NM_EV_COMP && nm_fault_take(fn, dup_eqe))
		eq_write(fn, eq, type, sub, data, len);
	eq_fire(fn, eq, eq->armed && type == NM_EV_COMP &&
			nm_fault_take(fn, drop_irq));
}

void nm_event(struct nm_fn *fn, u8 type, u8 sub, const void *data, u32 len)
{
	struct nm_obj *obj = NULL;

	while ((obj = nm_obj_next(fn, NM_OBJ_EQ, obj))) {
		struct nm_eq *eq = container_of(obj, struct nm_eq, obj);

		if (eq->mask & BIT_ULL(type)) {
			nm_eq_post(fn, eq, type, sub, data, len);
			return;
		}
	}
}

/* Affiliated event of a queue: type in byte 20, number in bytes 24 to 27 */
void nm_event_queue(struct nm_fn *fn, u8 type, u8 queue_type, u32 qn)
{
	u8 data[28] = { };

	data[20] = queue_type;
	nm_wr32(data + 24, qn);
	nm_event(fn, type, 0, data, sizeof(data));
}
