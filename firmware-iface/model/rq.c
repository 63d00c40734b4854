// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Receive queues: commands and states. */
#include "queue.h"
#include "trace.h"

#define RQ_MAX_LOG	15
#define RQ_MAX_STRIDE	9	/* max_wqe_sz_rq is 512 bytes */

/*
 * Strides a WQE and bytes a stride are told as what they exceed these by, the
 * former with a sign ("ext_stride_num_range").
 */
#define MP_STRIDES_BASE		9
#define MP_STRIDES_MIN		3
#define MP_STRIDE_SZ_BASE	6
#define MP_LOG_WQE_MIN		5

static const struct nm_wq_geom rq_max = {
	.log_size = RQ_MAX_LOG, .log_stride = RQ_MAX_STRIDE,
};

static void rq_destroy(struct nm_obj *obj)
{
	struct nm_rq *rq = container_of(obj, struct nm_rq, obj);

	nm_buf_free(&rq->buf);
}

static int mp_log_strides(void *wq)
{
	int v = NM_GET(wq, wq, log_wqe_num_of_strides);

	return MP_STRIDES_BASE + (v & 8 ? v - 16 : v);
}

/* Multi-packet queues are linked lists; a WQE is a next and a data segment. */
static bool rq_type_ok(void *wq)
{
	switch (NM_GET(wq, wq, wq_type)) {
	case NM_WQ_CYCLIC:
		return true;
	case NM_WQ_LL_STRIDING:
		return NM_GET(wq, wq, log_wq_stride) >= MP_LOG_WQE_MIN &&
		       mp_log_strides(wq) >= MP_STRIDES_MIN;
	default:
		return false;
	}
}

void nm_cmd_create_rq(struct nm_cmd *c)
{
	void *rqc = NM_PTR(create_rq_in, c->in, ctx);
	void *wq = NM_PTR(rqc, rqc, wq);
	u32 qctr = NM_GET(rqc, rqc, counter_set_id);
	struct nm_wq_geom g;
	struct nm_rq *rq;

	if (NM_GET(rqc, rqc, state) != NM_WQ_RST || NM_GET(rqc, rqc, hairpin) ||
	    NM_GET(rqc, rqc, mem_rq_type) || NM_GET(rqc, rqc, scatter_fcs) ||
	    NM_GET(rqc, rqc, delay_drop_en) ||
	    !rq_type_ok(wq) ||
	    NM_GET(wq, wq, wq_signature) || NM_GET(wq, wq, shampo_enable)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_TYPE);
		return;
	}
	rq = nm_obj_new(c, NM_OBJ_RQ, sizeof(*rq));
	if (!rq)
		return;
	rq->obj.destroy = rq_destroy;
	rq->wq_type = NM_GET(wq, wq, wq_type);
	rq->pd = NM_GET(wq, wq, pd);
	rq->user_index = NM_GET(rqc, rqc, user_index);
	rq->vsd = NM_GET(rqc, rqc, vsd);
	rq->flush_in_error = NM_GET(rqc, rqc, flush_in_error_en);
	rq->cq = nm_obj_use(c, &rq->obj, NM_OBJ_CQ, NM_GET(rqc, rqc, cqn));
	if (!rq->cq)
		goto err;
	if (qctr) {
		rq->qctr = nm_obj_use(c, &rq->obj, NM_OBJ_QCTR, qctr);
		if (!rq->qctr)
			goto err;
	}
	if (!nm_wq_init(c, &rq->obj, wq, c->in_len - NM_BYTES(create_rq_in),
			&rq->buf, &rq->dbr, NULL, &rq_max, &g))
		goto err;
	rq->log_size = g.log_size;
	rq->log_wqe = g.log_stride;
	rq->log_strides = mp_log_strides(wq);
	rq->log_stride_sz = NM_GET(wq, wq, log_wqe_stride_size) + MP_STRIDE_SZ_BASE;
	rq->pad_align = NM_GET(wq, wq, two_byte_shift_en) ? 2 : 0;
	NM_SET(create_rq_out, c->out, rqn, rq->obj.id);
	return;
err:
	nm_obj_del(&rq->obj);
}

enum {
	MODIFY_VSD = BIT_ULL(1),
	MODIFY_SCATTER_FCS = BIT_ULL(2),
	MODIFY_COUNTER_SET = BIT_ULL(3),
};

void nm_cmd_modify_rq(struct nm_cmd *c)
{
	struct nm_rq *rq = nm_obj_find(c, NM_OBJ_RQ,
				       NM_GET(modify_rq_in, c->in, rqn));
	void *rqc = NM_PTR(modify_rq_in, c->in, ctx);
	u64 sel = NM_GET64(modify_rq_in, c->in, modify_bitmask);
	u32 from = NM_GET(modify_rq_in, c->in, rq_state);
	u32 to = NM_GET(rqc, rqc, state);

	if (!rq)
		return;
	if (from != rq->state || (to != NM_WQ_RST && to != NM_WQ_RDY &&
				  to != NM_WQ_ERR) ||
	    (from == NM_WQ_ERR && to == NM_WQ_RDY)) {
		nm_cmd_fail(c, NM_ST_BAD_RES_STATE, NM_SYN_QUEUE_STATE);
		return;
	}
	if (sel & MODIFY_SCATTER_FCS && NM_GET(rqc, rqc, scatter_fcs)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	if (sel & MODIFY_VSD)
		rq->vsd = NM_GET(rqc, rqc, vsd);
	if (to == from)
		return;
	switch (to) {
	case NM_WQ_RST:
		rq->pc = 0;
		rq->stride_at = 0;
		rq->ll_head = 0;
		rq->state = NM_WQ_RST;
		break;
	case NM_WQ_RDY:
		rq->state = NM_WQ_RDY;
		break;
	case NM_WQ_ERR:
		nm_rq_error(rq);
		break;
	}
}

void nm_cmd_query_rq(struct nm_cmd *c)
{
	struct nm_rq *rq = nm_obj_find(c, NM_OBJ_RQ,
				       NM_GET(query_rq_in, c->in, rqn));
	void *rqc = NM_PTR(query_rq_out, c->out, rq_context);
	void *wq = NM_PTR(rqc, rqc, wq);
	u32 pi;

	if (!rq)
		return;
	NM_SET(rqc, rqc, state, rq->state);
	NM_SET(rqc, rqc, vsd, rq->vsd);
	NM_SET(rqc, rqc, flush_in_error_en, rq->flush_in_error);
	NM_SET(rqc, rqc, user_index, rq->user_index);
	NM_SET(rqc, rqc, cqn, rq->cq->obj.id);
	NM_SET(wq, wq, wq_type, rq->wq_type);
	NM_SET(wq, wq, pd, rq->pd);
	NM_SET(wq, wq, log_wq_stride, rq->log_wqe);
	NM_SET(wq, wq, log_wq_sz, rq->log_size);
	NM_SET(wq, wq, hw_counter, rq->pc);
	if (nm_dbr_read(c->fn, &rq->dbr, 0, &pi))
		NM_SET(wq, wq, sw_counter, pi & 0xffff);
}

/* Posted WQEs come back flushed, one completion each. */
void nm_rq_error(struct nm_rq *rq)
{
	struct nm_fn *fn = rq->obj.fn;
	u32 pi, n = 0;

	rq->state = NM_WQ_ERR;
	if (!rq->flush_in_error || !nm_dbr_read(fn, &rq->dbr, 0, &pi))
		return;
	/* No more than the queue holds, whatever the record says. */
	for (; rq->pc != (u16)pi && n <= 1u << rq->log_size; rq->pc++, n++) {
		struct nm_err_cqe cqe = {
			.srqn = htobe32(rq->user_index),
			.syndrome = NM_SYND_FLUSHED,
			.s_wqe_opcode_qpn = htobe32(rq->obj.id),
			.wqe_counter = htobe16(rq->pc),
			.op_own = NM_CQE_RESP_ERR << 4,
		};

		nm_count(fn, NM_CNT_cqe_errors);
		if (!nm_cq_post(rq->cq, (struct nm_cqe *)&cqe, true))
			return;
	}
}
