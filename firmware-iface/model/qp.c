// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The one kind of QP that mlx5_ib needs without RoCE: REG_UMR, whose send half
 * changes memory keys. And receive queues of SRQ kind, which mlx5_ib creates at
 * probe and which nothing here can be received into.
 */
#include "mkey.h"
#include "queue.h"

#define QP_ST_REG_UMR	0xc
#define QP_MAX_LOG_SQ	15
#define SRQ_MAX_LOG	15

enum {
	QP_RST = 0, QP_INIT = 1, QP_RTR = 2, QP_RTS = 3, QP_ERR = 6,
};

struct nm_qp {
	struct nm_obj obj;
	struct nm_sq sq;
	struct nm_cq *cq_rcv;
	u32 pd;
	u8 state;
	u8 st;
};

struct nm_srq {
	struct nm_obj obj;
	struct nm_buf buf;
	struct nm_dbr dbr;
	u16 lwm;
	u32 log_size;
};

struct nm_sq *nm_qp_sq(struct nm_fn *fn, u32 qpn)
{
	struct nm_obj *obj = nm_obj_lookup(fn, NM_OBJ_QP, qpn);

	return obj ? &container_of(obj, struct nm_qp, obj)->sq : NULL;
}

static void qp_destroy(struct nm_obj *obj)
{
	struct nm_qp *qp = container_of(obj, struct nm_qp, obj);

	nm_sq_detach(obj->fn, &qp->sq);
	nm_buf_free(&qp->sq.buf);
}

static bool qp_init_sq(struct nm_cmd *c, struct nm_qp *qp, void *qpc)
{
	struct nm_sq *sq = &qp->sq;
	u64 rq_bytes = 0, sq_bytes;

	if (NM_GET(qpc, qpc, rq_type) == 0)
		rq_bytes = 1ull << (NM_GET(qpc, qpc, log_rq_size) +
				    NM_GET(qpc, qpc, log_rq_stride) + 4);
	sq->log_size = NM_GET(qpc, qpc, log_sq_size);
	sq_bytes = 1ull << (sq->log_size + 6);
	sq->buf_off = rq_bytes;
	if (NM_GET(create_qp_in, c->in, wq_umem_valid))
		return nm_buf_init_umem(c, &sq->buf, &qp->obj,
					NM_GET(create_qp_in, c->in, wq_umem_id),
					NM_GET64(create_qp_in, c->in, wq_umem_offset),
					rq_bytes + sq_bytes);
	return nm_buf_init(c, &sq->buf, NM_PTR(create_qp_in, c->in, pas),
			   c->in_len - NM_BYTES(create_qp_in),
			   NM_GET(qpc, qpc, log_page_size) + NM_PAGE_SHIFT,
			   NM_GET(qpc, qpc, page_offset),
			   rq_bytes + sq_bytes);
}

void nm_cmd_create_qp(struct nm_cmd *c)
{
	void *qpc = NM_PTR(create_qp_in, c->in, qpc);
	u32 pd = NM_GET(qpc, qpc, pd);
	struct nm_qp *qp;
	struct nm_sq *sq;

	/* Other service types need RoCE, which is not served. */
	if (NM_GET(qpc, qpc, st) != QP_ST_REG_UMR || NM_GET(qpc, qpc, no_sq) ||
	    NM_GET(qpc, qpc, dbr_umem_valid)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_TYPE);
		return;
	}
	qp = nm_obj_new(c, NM_OBJ_QP, sizeof(*qp));
	if (!qp)
		return;
	qp->obj.destroy = qp_destroy;
	qp->st = QP_ST_REG_UMR;
	qp->pd = pd;
	sq = &qp->sq;
	sq->obj = &qp->obj;
	sq->reg_umr = true;
	sq->flush_in_error = true;
	sq->pd = NM_PD_ANY;
	sq->user_index = NM_GET(qpc, qpc, user_index);
	sq->uar = NM_GET(qpc, qpc, uar_page);
	sq->cq = nm_obj_use(c, &qp->obj, NM_OBJ_CQ, NM_GET(qpc, qpc, cqn_snd));
	if (!sq->cq ||
	    (pd && !nm_obj_use(c, &qp->obj, NM_OBJ_PD, pd)) ||
	    !nm_obj_use(c, &qp->obj, NM_OBJ_UAR, sq->uar) ||
	    !nm_dbr_init(c, &sq->dbr, &qp->obj, NM_GET64(qpc, qpc, dbr_addr),
			 false, 0) ||
	    !qp_init_sq(c, qp, qpc)) {
		nm_obj_del(&qp->obj);
		return;
	}
	NM_SET(create_qp_out, c->out, qpn, qp->obj.id);
}

/* Each transition command and the state it leads from; any for -1. */
static const struct {
	u16 opcode;
	s8 from;
	u8 to;
} qp_moves[] = {
	{ MLX5_CMD_OP_RST2INIT_QP, QP_RST, QP_INIT },
	{ MLX5_CMD_OP_INIT2RTR_QP, QP_INIT, QP_RTR },
	{ MLX5_CMD_OP_RTR2RTS_QP, QP_RTR, QP_RTS },
	{ MLX5_CMD_OP_RTS2RTS_QP, QP_RTS, QP_RTS },
	{ MLX5_CMD_OP_2ERR_QP, -1, QP_ERR },
	{ MLX5_CMD_OP_2RST_QP, -1, QP_RST },
};

void nm_cmd_modify_qp(struct nm_cmd *c)
{
	struct nm_qp *qp = nm_obj_find(c, NM_OBJ_QP,
				       NM_GET(init2rtr_qp_in, c->in, qpn));
	unsigned int i;

	if (!qp)
		return;
	for (i = 0; qp_moves[i].opcode != c->opcode; i++)
		;
	if (qp_moves[i].from >= 0 && qp_moves[i].from != qp->state) {
		nm_cmd_fail(c, NM_ST_BAD_QP_STATE, NM_SYN_QUEUE_STATE);
		return;
	}
	qp->state = qp_moves[i].to;
	switch (qp->state) {
	case QP_RTS:
		qp->sq.state = NM_WQ_RDY;
		break;
	case QP_ERR:
		nm_sq_error(&qp->sq);
		break;
	case QP_RST:
		nm_sq_detach(c->fn, &qp->sq);
		qp->sq.state = NM_WQ_RST;
		qp->sq.pc = 0;
		qp->sq.pi = 0;
		qp->sq.rung = false;
		break;
	default:
		break;
	}
}

void nm_cmd_query_qp(struct nm_cmd *c)
{
	struct nm_qp *qp = nm_obj_find(c, NM_OBJ_QP,
				       NM_GET(query_qp_in, c->in, qpn));
	void *qpc = NM_PTR(query_qp_out, c->out, qpc);

	if (!qp)
		return;
	/* The send half may have failed by itself. */
	NM_SET(qpc, qpc, state, qp->sq.state == NM_WQ_ERR ? QP_ERR : qp->state);
	NM_SET(qpc, qpc, st, qp->st);
	NM_SET(qpc, qpc, pd, qp->pd);
	NM_SET(qpc, qpc, uar_page, qp->sq.uar);
	NM_SET(qpc, qpc, log_sq_size, qp->sq.log_size);
	NM_SET(qpc, qpc, cqn_snd, qp->sq.cq->obj.id);
	NM_SET(qpc, qpc, hw_sq_wqebb_counter, qp->sq.pc);
	NM_SET(qpc, qpc, sw_sq_wqebb_counter, qp->sq.pi);
}

static void srq_destroy(struct nm_obj *obj)
{
	nm_buf_free(&container_of(obj, struct nm_srq, obj)->buf);
}

void nm_cmd_create_rmp(struct nm_cmd *c)
{
	static const struct nm_wq_geom max = {
		.log_size = SRQ_MAX_LOG, .log_stride = 9,
	};
	void *rmpc = NM_PTR(create_rmp_in, c->in, ctx);
	struct nm_wq_geom g;
	struct nm_srq *srq;

	srq = nm_obj_new(c, NM_OBJ_RMP, sizeof(*srq));
	if (!srq)
		return;
	srq->obj.destroy = srq_destroy;
	if (!nm_wq_init(c, &srq->obj, NM_PTR(rmpc, rmpc, wq),
			c->in_len - NM_BYTES(create_rmp_in), &srq->buf,
			&srq->dbr, NULL, &max, &g)) {
		nm_obj_del(&srq->obj);
		return;
	}
	srq->log_size = g.log_size;
	NM_SET(create_rmp_out, c->out, rmpn, srq->obj.id);
}

void nm_cmd_modify_rmp(struct nm_cmd *c)
{
	struct nm_srq *srq = nm_obj_find(c, NM_OBJ_RMP,
					 NM_GET(modify_rmp_in, c->in, rmpn));
	void *rmpc = NM_PTR(modify_rmp_in, c->in, ctx);

	if (srq)
		srq->lwm = NM_GET(wq, NM_PTR(rmpc, rmpc, wq), lwm);
}

void nm_cmd_create_xrc_srq(struct nm_cmd *c)
{
	void *x = NM_PTR(create_xrc_srq_in, c->in, xrc_srq_context_entry);
	u32 log_size = NM_GET(xrc_srqc, x, log_xrc_srq_size);
	u64 dbr = (u64)NM_GET(xrc_srqc, x, db_record_addr_h) << 32 |
		  NM_GET(xrc_srqc, x, db_record_addr_l) << 2;
	struct nm_srq *srq;

	/* Three-bit stride field: log2 of 16-byte units */
	srq = nm_obj_new(c, NM_OBJ_XRC_SRQ, sizeof(*srq));
	if (!srq)
		return;
	srq->obj.destroy = srq_destroy;
	srq->log_size = log_size;
	if (!nm_obj_use(c, &srq->obj, NM_OBJ_PD, NM_GET(xrc_srqc, x, pd)) ||
	    !nm_obj_use(c, &srq->obj, NM_OBJ_XRCD, NM_GET(xrc_srqc, x, xrcd)) ||
	    !nm_obj_use(c, &srq->obj, NM_OBJ_CQ, NM_GET(xrc_srqc, x, cqn)) ||
	    !nm_dbr_init(c, &srq->dbr, &srq->obj, dbr, false, 0) ||
	    !nm_buf_init(c, &srq->buf, NM_PTR(create_xrc_srq_in, c->in, pas),
			 c->in_len - NM_BYTES(create_xrc_srq_in),
			 NM_GET(xrc_srqc, x, log_page_size) + NM_PAGE_SHIFT,
			 NM_GET(xrc_srqc, x, page_offset),
			 1ull << (log_size + NM_GET(xrc_srqc, x, log_rq_stride) + 4))) {
		nm_obj_del(&srq->obj);
		return;
	}
	NM_SET(create_xrc_srq_out, c->out, xrc_srqn, srq->obj.id);
}

void nm_cmd_query_xrc_srq(struct nm_cmd *c)
{
	struct nm_srq *srq = nm_obj_find(c, NM_OBJ_XRC_SRQ,
					 NM_GET(query_xrc_srq_in, c->in, xrc_srqn));
	void *x = NM_PTR(query_xrc_srq_out, c->out, xrc_srq_context_entry);

	if (!srq)
		return;
	NM_SET(xrc_srqc, x, log_xrc_srq_size, srq->log_size);
	NM_SET(xrc_srqc, x, lwm, srq->lwm);
}

void nm_cmd_arm_xrc_srq(struct nm_cmd *c)
{
	struct nm_srq *srq = nm_obj_find(c, NM_OBJ_XRC_SRQ,
					 NM_GET(arm_xrc_srq_in, c->in, xrc_srqn));

	if (srq)
		srq->lwm = NM_GET(arm_xrc_srq_in, c->in, lwm);
}
