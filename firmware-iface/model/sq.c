// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Send queues: commands, doorbells, the list of queues with work. */
#include "queue.h"
#include "trace.h"
#include "tx.h"

#define SQ_MAX_LOG	15
#define SQ_BATCH	64

static const struct nm_wq_geom sq_max = { .log_size = SQ_MAX_LOG, .log_stride = 6 };

void nm_sq_detach(struct nm_fn *fn, struct nm_sq *sq)
{
	struct nm_sq **p;

	if (!sq->active)
		return;
	for (p = &fn->sq_active; *p != sq; p = &(*p)->next)
		;
	*p = sq->next;
	sq->active = false;
}

/* A fault: queues that are there now hang, until reset; later ones do not. */
void nm_sq_stall(struct nm_fn *fn, bool on)
{
	struct nm_obj *obj = NULL;

	while ((obj = nm_obj_next(fn, NM_OBJ_SQ, obj))) {
		struct nm_sq *sq = &container_of(obj, struct nm_sq_obj, obj)->sq;

		if (sq->stalled == on)
			continue;
		sq->stalled = on;
		if (on) {
			nm_sq_detach(fn, sq);
			fn->faults.tx_stall++;
			fn->faults.hits++;
		} else {
			fn->faults.tx_stall--;
			nm_sq_kick(fn, sq);
		}
	}
}

static void sq_unstall(struct nm_fn *fn, struct nm_sq *sq)
{
	if (!sq->stalled)
		return;
	sq->stalled = false;
	fn->faults.tx_stall--;
}

static void sq_destroy(struct nm_obj *obj)
{
	struct nm_sq_obj *so = container_of(obj, struct nm_sq_obj, obj);

	sq_unstall(obj->fn, &so->sq);
	nm_sq_detach(obj->fn, &so->sq);
	nm_buf_free(&so->sq.buf);
}

void nm_cmd_create_sq(struct nm_cmd *c)
{
	void *sqc = NM_PTR(create_sq_in, c->in, ctx);
	void *wq = NM_PTR(sqc, sqc, wq);
	struct nm_wq_geom g;
	struct nm_sq_obj *so;
	struct nm_sq *sq;

	if (NM_GET(sqc, sqc, state) != NM_WQ_RST ||
	    NM_GET(sqc, sqc, hairpin) || NM_GET(sqc, sqc, non_wire) ||
	    NM_GET(wq, wq, wq_type) != NM_WQ_CYCLIC ||
	    NM_GET(wq, wq, wq_signature)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_TYPE);
		return;
	}
	if (NM_GET(wq, wq, log_wq_stride) != 6) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_STRIDE);
		return;
	}
	so = nm_obj_new(c, NM_OBJ_SQ, sizeof(*so));
	if (!so)
		return;
	so->obj.destroy = sq_destroy;
	sq = &so->sq;
	sq->obj = &so->obj;
	sq->eth = true;
	sq->pd = NM_GET(wq, wq, pd);
	sq->user_index = NM_GET(sqc, sqc, user_index);
	sq->flush_in_error = NM_GET(sqc, sqc, flush_in_error_en);
	sq->reg_umr = NM_GET(sqc, sqc, reg_umr);
	sq->cq = nm_obj_use(c, &so->obj, NM_OBJ_CQ, NM_GET(sqc, sqc, cqn));
	if (!sq->cq ||
	    (NM_GET(sqc, sqc, tis_lst_sz) &&
	     !nm_obj_use(c, &so->obj, NM_OBJ_TIS, NM_GET(sqc, sqc, tis_num_0))) ||
	    !nm_wq_init(c, &so->obj, wq, c->in_len - NM_BYTES(create_sq_in),
			&sq->buf, &sq->dbr, &sq->uar, &sq_max, &g)) {
		nm_obj_del(&so->obj);
		return;
	}
	sq->log_size = g.log_size;
	NM_SET(create_sq_out, c->out, sqn, so->obj.id);
}

static struct nm_sq *sq_find(struct nm_cmd *c, u32 sqn)
{
	struct nm_sq_obj *so = nm_obj_find(c, NM_OBJ_SQ, sqn);

	return so ? &so->sq : NULL;
}

/* RST -> RDY, RDY -> ERR, any -> RST; the command names the state it expects. */
void nm_cmd_modify_sq(struct nm_cmd *c)
{
	struct nm_sq *sq = sq_find(c, NM_GET(modify_sq_in, c->in, sqn));
	void *sqc = NM_PTR(modify_sq_in, c->in, ctx);
	u32 from = NM_GET(modify_sq_in, c->in, sq_state);
	u32 to = NM_GET(sqc, sqc, state);

	if (!sq)
		return;
	if (from != sq->state || (to != NM_WQ_RST && to != NM_WQ_RDY &&
				  to != NM_WQ_ERR) ||
	    (from == NM_WQ_ERR && to == NM_WQ_RDY)) {
		nm_cmd_fail(c, NM_ST_BAD_RES_STATE, NM_SYN_QUEUE_STATE);
		return;
	}
	if (to == from)
		return;
	switch (to) {
	case NM_WQ_RST:
		sq_unstall(c->fn, sq);
		nm_sq_detach(c->fn, sq);
		sq->pc = 0;
		sq->pi = 0;
		sq->rung = false;
		sq->state = NM_WQ_RST;
		break;
	case NM_WQ_RDY:
		sq->state = NM_WQ_RDY;
		break;
	case NM_WQ_ERR:
		nm_sq_error(sq);
		break;
	}
}

void nm_cmd_query_sq(struct nm_cmd *c)
{
	struct nm_sq *sq = sq_find(c, NM_GET(query_sq_in, c->in, sqn));
	void *sqc = NM_PTR(query_sq_out, c->out, sq_context);
	void *wq = NM_PTR(sqc, sqc, wq);

	if (!sq)
		return;
	NM_SET(sqc, sqc, state, sq->state);
	NM_SET(sqc, sqc, flush_in_error_en, sq->flush_in_error);
	NM_SET(sqc, sqc, user_index, sq->user_index);
	NM_SET(sqc, sqc, cqn, sq->cq->obj.id);
	NM_SET(wq, wq, wq_type, NM_WQ_CYCLIC);
	NM_SET(wq, wq, pd, sq->pd);
	NM_SET(wq, wq, uar_page, sq->uar);
	NM_SET(wq, wq, log_wq_stride, 6);
	NM_SET(wq, wq, log_wq_sz, sq->log_size);
	NM_SET(wq, wq, hw_counter, sq->pc);
	NM_SET(wq, wq, sw_counter, sq->pi);
}

/* In error a queue still has work: what is posted is flushed. */
void nm_sq_error(struct nm_sq *sq)
{
	sq->state = NM_WQ_ERR;
	nm_sq_kick(sq->obj->fn, sq);
}

/*
 * After a reset the record still has its old value until the first doorbell:
 * to believe it would be to send old WQEs again.
 */
void nm_sq_kick(struct nm_fn *fn, struct nm_sq *sq)
{
	u32 v;

	if (sq->state == NM_WQ_RST || !sq->rung || sq->stalled ||
	    !nm_dbr_read(fn, &sq->dbr, 1, &v))
		return;
	sq->pi = v;
	/* More than the ring holds: the record is nonsense. */
	if ((u16)(sq->pi - sq->pc) > 1u << sq->log_size) {
		nm_trace(fn, NM_TR_ERR, "sqn %#x: doorbell record %#x at %#x",
			 sq->obj->id, sq->pi, sq->pc);
		sq->pc = sq->pi;
		nm_sq_fail(fn, sq, NM_EV_WQ_CATAS);
	}
	if (sq->pi == sq->pc || sq->active)
		return;
	sq->active = true;
	sq->next = fn->sq_active;
	fn->sq_active = sq;
}

static struct nm_sq *sq_lookup(struct nm_fn *fn, u32 sqn)
{
	struct nm_obj *obj = nm_obj_lookup(fn, NM_OBJ_SQ, sqn);

	if (obj)
		return &container_of(obj, struct nm_sq_obj, obj)->sq;
	return nm_qp_sq(fn, sqn);
}

void nm_sq_doorbell(struct nm_fn *fn, u32 page, u32 sqn)
{
	struct nm_sq *sq = sq_lookup(fn, sqn);

	nm_trace(fn, NM_TR_DB, "sq sqn %#x uar %#x", sqn, page);
	nm_count(fn, NM_CNT_db_sq);
	if (!sq || sq->uar != page) {
		nm_count(fn, NM_CNT_db_bad);
		return;
	}
	sq->rung = true;
	nm_sq_kick(fn, sq);
}

/*
 * What is posted before that WQE goes first; an index that is not posted makes
 * it an ordinary doorbell. All of it runs now: the slot is the doorbell's.
 */
void nm_sq_blueflame(struct nm_fn *fn, u32 page, u32 sqn, const u8 *wqe)
{
	struct nm_sq *sq = sq_lookup(fn, sqn);
	u16 idx = nm_rd32(wqe) >> 8;
	unsigned int n = 0;

	nm_count(fn, NM_CNT_db_bf);
	nm_sq_doorbell(fn, page, sqn);
	if (!sq || sq->uar != page || !sq->active || fn->faults.slow_us ||
	    (u16)(idx - sq->pc) >= (u16)(sq->pi - sq->pc))
		return;
	nm_sq_detach(fn, sq);
	sq->bf = wqe;
	sq->bf_idx = idx;
	while ((u16)(idx - sq->pc) < (u16)(sq->pi - sq->pc) && n++ < SQ_BATCH)
		if (!nm_tx_wqe(fn, sq))
			break;
	sq->bf = NULL;
	nm_sq_kick(fn, sq);
}

void nm_queue_scan(struct nm_fn *fn)
{
	struct nm_obj *obj = NULL;

	while ((obj = nm_obj_next(fn, NM_OBJ_SQ, obj)))
		nm_sq_kick(fn, &container_of(obj, struct nm_sq_obj, obj)->sq);
	obj = NULL;
	while ((obj = nm_obj_next(fn, NM_OBJ_QP, obj)))
		nm_sq_kick(fn, nm_qp_sq(fn, obj->id));
	obj = NULL;
	while ((obj = nm_obj_next(fn, NM_OBJ_CQ, obj)))
		nm_cq_rescan(container_of(obj, struct nm_cq, obj));
	obj = NULL;
	while ((obj = nm_obj_next(fn, NM_OBJ_EQ, obj)))
		nm_fn_raise(fn, container_of(obj, struct nm_eq, obj)->vec);
}

/*
 * Every queue with work gets a turn of a bounded number of WQEs; one that has
 * more goes on in the next round, after the others.
 */
bool nm_sq_run(struct nm_fn *fn)
{
	struct nm_sq *sq, *list = fn->sq_active;
	unsigned int batch = SQ_BATCH;
	bool busy = list;

	if (fn->faults.slow_us) {
		if (fn->model->now_ns < fn->sq_due)
			return false;
		fn->sq_due = fn->model->now_ns + fn->faults.slow_us * 1000ull;
		batch = 1;
	}
	fn->sq_active = NULL;
	while ((sq = list)) {
		unsigned int n = 0;

		list = sq->next;
		sq->active = false;
		while (sq->pc != sq->pi && n++ < batch)
			if (!nm_tx_wqe(fn, sq))
				break;
		nm_sq_kick(fn, sq);
	}
	return busy;
}
