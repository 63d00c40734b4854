// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send WQEs: fetch, check, dispatch, complete. Each field is the guest's and
 * is read once, from the copy.
 */
#include "mkey.h"
#include "quic.h"
#include "trace.h"
#include "tx.h"

#define VENDOR_SYND	0x4e

static bool wqe_fetch(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w)
{
	u32 mask = (1u << sq->log_size) - 1, i;
	const struct nm_wqe_ctrl *ctrl = (void *)w->raw;
	u32 ds;

	if (sq->bf && sq->bf_idx == sq->pc)
		memcpy(w->raw, sq->bf, NM_WQE_BB);
	else if (!nm_buf_read(fn, &sq->buf, sq->buf_off +
			      (u64)(sq->pc & mask) * NM_WQE_BB, w->raw,
			      NM_WQE_BB))
		return false;
	ds = be32toh(ctrl->qpn_ds) & 0x3f;
	w->opcode = be32toh(ctrl->opmod_idx_opcode);
	w->opmod = be32toh(ctrl->opmod_idx_opcode) >> 24;
	w->idx = sq->pc;
	w->ce = ctrl->fm_ce_se >> 2 & 3;
	w->len = ds * NM_WQE_DS;
	w->bbs = DIV_ROUND_UP(ds, NM_WQE_BB / NM_WQE_DS);
	w->eth = NULL;
	w->hdr = NULL;
	w->hdr_len = 0;
	w->nr_iov = 0;
	w->bytes = 0;
	w->vendor = VENDOR_SYND;
	w->quic_status = QOFF_MLX5_TXS_OK;
	w->quic_syn = 0;
	w->quic = NULL;
	w->table = NULL;
	if (!w->bbs)
		w->bbs = 1;
	for (i = 1; i < w->bbs && i < NM_WQE_MAX_BB; i++)
		if (!nm_buf_read(fn, &sq->buf, sq->buf_off +
				 (u64)((sq->pc + i) & mask) * NM_WQE_BB,
				 w->raw + i * NM_WQE_BB, NM_WQE_BB))
			return false;
	return true;
}

/* A data segment that carries its bytes with it, padded to 16 */
static u8 wqe_inline_seg(struct nm_wqe *w, u32 *off)
{
	u32 len = nm_rd32(w->raw + *off) & ~NM_SEG_INLINE;

	if (len > w->len - *off - 4 || w->nr_iov == NM_TX_MAX_IOV)
		return NM_SYND_LOCAL_LENGTH;
	w->iov[w->nr_iov++] = (struct nm_iov){ w->raw + *off + 4, len };
	w->bytes += len;
	*off += (len + 4 + NM_WQE_DS - 1) & ~(NM_WQE_DS - 1u);
	return 0;
}

static u8 wqe_data_segs(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w,
			u32 off)
{
	while (off + NM_WQE_DS <= w->len) {
		const struct nm_wqe_data *d = (void *)(w->raw + off);
		u32 len = be32toh(d->byte_count);
		int n;

		if (len & NM_SEG_INLINE) {
			u8 synd = wqe_inline_seg(w, &off);

			if (synd)
				return synd;
			continue;
		}
		off += NM_WQE_DS;
		if (!len || len > NM_TX_MAX_BYTES - w->bytes)
			return NM_SYND_LOCAL_LENGTH;
		n = nm_mkey_iov(fn, be32toh(d->lkey), sq->pd, be64toh(d->addr),
				len, NM_DMA_R, w->iov + w->nr_iov,
				NM_TX_MAX_IOV - w->nr_iov);
		if (n < 0)
			return NM_SYND_LOCAL_PROT;
		w->nr_iov += n;
		w->bytes += len;
	}
	return 0;
}

/*
 * Enhanced multi-packet send: behind one Ethernet segment, which holds for all,
 * each data segment is a packet.
 */
static u8 wqe_multi(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w)
{
	u32 off = sizeof(struct nm_wqe_ctrl) + sizeof(struct nm_wqe_eth);
	u32 end = w->len;
	u8 synd;

	if (w->len <= off)
		return NM_SYND_LOCAL_QP_OP;
	w->eth = (void *)(w->raw + off - sizeof(*w->eth));
	if (be16toh(w->eth->inline_sz))
		return NM_SYND_LOCAL_QP_OP;
	nm_count(fn, NM_CNT_tx_multi_wqes);
	while (off < end) {
		u32 seg = NM_WQE_DS, len = nm_rd32(w->raw + off);

		if (len & NM_SEG_INLINE)
			seg = ((len & ~NM_SEG_INLINE) + 4 + NM_WQE_DS - 1) &
			      ~(NM_WQE_DS - 1u);
		if (seg > end - off)
			return NM_SYND_LOCAL_LENGTH;
		w->nr_iov = 0;
		w->bytes = 0;
		w->len = off + seg;
		synd = wqe_data_segs(fn, sq, w, off);
		if (!synd)
			synd = nm_tx_send(fn, sq, w);
		if (synd)
			return synd;
		off += seg;
	}
	return 0;
}

/* Ethernet segment: 14 bytes, then inline headers of inline_sz bytes */
static u8 wqe_eth(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w)
{
	u32 off = sizeof(struct nm_wqe_ctrl), inl;

	if (w->len < off + sizeof(struct nm_wqe_eth))
		return NM_SYND_LOCAL_QP_OP;
	w->eth = (void *)(w->raw + off);
	off += sizeof(struct nm_wqe_eth);
	inl = be16toh(w->eth->inline_sz);
	if (!(inl & NM_ETH_INSERT_VLAN)) {
		inl &= NM_ETH_INLINE_MASK;
		if (inl > w->len - off + sizeof(w->eth->inline_start))
			return NM_SYND_LOCAL_QP_OP;
		w->hdr = w->eth->inline_start;
		w->hdr_len = inl;
		if (inl > sizeof(w->eth->inline_start))
			off += (inl - sizeof(w->eth->inline_start) +
				NM_WQE_DS - 1) & ~(NM_WQE_DS - 1u);
	}
	if (w->opmod) {
		u8 synd = nm_quic_tx_seg(fn, w, &off);

		if (synd)
			return synd;
	}
	return wqe_data_segs(fn, sq, w, off);
}

/* The opmod of SEND and LSO names an extension of them. */
static bool wqe_opmod_known(struct nm_fn *fn, const struct nm_wqe *w)
{
	return !w->opmod || (w->opmod == QOFF_MLX5_OPMOD_DATA && nm_quic_on(fn));
}

static u8 wqe_exec(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w)
{
	u8 synd;

	if (w->bbs > NM_WQE_MAX_BB || w->len < sizeof(struct nm_wqe_ctrl))
		return NM_SYND_LOCAL_QP_OP;
	switch (w->opcode) {
	case NM_OP_NOP:
		nm_count(fn, NM_CNT_tx_nops);
		return 0;
	case NM_OP_UMR:
		if (w->opmod == QOFF_MLX5_OPMOD_CTX)
			return nm_quic_ctx_wqe(fn, sq, w);
		return sq->reg_umr ? nm_tx_umr(fn, sq, w) : NM_SYND_LOCAL_QP_OP;
	case NM_OP_SEND:
	case NM_OP_LSO:
		if (!sq->eth || !wqe_opmod_known(fn, w))
			return NM_SYND_LOCAL_QP_OP;
		synd = wqe_eth(fn, sq, w);
		if (synd)
			return synd;
		if (w->quic)
			return nm_quic_tx(fn, sq, w);
		return w->opcode == NM_OP_LSO ? nm_tx_lso(fn, sq, w) :
						nm_tx_send(fn, sq, w);
	case NM_OP_ENHANCED_MPSW:
		return sq->eth && !w->opmod ? wqe_multi(fn, sq, w) :
					      NM_SYND_LOCAL_QP_OP;
	default:
		return NM_SYND_LOCAL_QP_OP;
	}
}

static bool wqe_complete(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w)
{
	u64 ts = fn->model->now_ns - fn->model->epoch_ns;
	struct nm_cqe cqe = {
		.srqn = htobe32(sq->user_index),
		.timestamp_h = htobe32(ts >> 32),
		.timestamp_l = htobe32(ts),
		.sop_drop_qpn = htobe32((u32)w->opcode << 24 | sq->obj->id),
		.wqe_counter = htobe16(w->idx),
		.op_own = NM_CQE_REQ << 4,
	};
	struct qoff_mlx5_cqe *q = (void *)&cqe;

	q->quic_flags = w->quic_status;
	q->pn_lo = htobe32(w->quic_syn);
	if (w->quic && nm_fault_take(sq->obj->fn, quic.never))
		return true;
	if (w->quic && nm_fault_take(sq->obj->fn, quic.twice))
		nm_cq_post(sq->cq, &cqe, w->ce == 3);
	return nm_cq_post(sq->cq, &cqe, w->ce == 3);
}

static bool wqe_complete_err(struct nm_fn *fn, struct nm_sq *sq,
			     struct nm_wqe *w, u8 synd)
{
	struct nm_err_cqe cqe = {
		.srqn = htobe32(sq->user_index),
		.vendor_err_synd = w->vendor,
		.syndrome = synd,
		.s_wqe_opcode_qpn = htobe32((u32)w->opcode << 24 | sq->obj->id),
		.wqe_counter = htobe16(w->idx),
		.op_own = NM_CQE_REQ_ERR << 4,
	};

	nm_count(fn, NM_CNT_cqe_errors);
	return nm_cq_post(sq->cq, (struct nm_cqe *)&cqe, true);
}

/* What is still posted is flushed, one completion a WQE. */
void nm_sq_fail(struct nm_fn *fn, struct nm_sq *sq, u8 event)
{
	sq->state = NM_WQ_ERR;
	nm_event_queue(fn, event, sq->eth ? 2 : 0, sq->obj->id);
}

static bool tx_flush(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w)
{
	sq->pc += w->bbs;
	if (!sq->flush_in_error)
		return true;
	return wqe_complete_err(fn, sq, w, NM_SYND_FLUSHED);
}

bool nm_tx_wqe(struct nm_fn *fn, struct nm_sq *sq)
{
	static __thread struct nm_wqe wqe;
	struct nm_wqe *w = &wqe;
	u32 left;
	u8 synd;

	if (!wqe_fetch(fn, sq, w)) {
		if (sq->state == NM_WQ_RDY)
			nm_sq_fail(fn, sq, NM_EV_WQ_CATAS);
		sq->pc = sq->pi;
		return false;
	}
	/* A WQE that claims to reach beyond what is posted must not: pc would
	 * pass pi and run round the ring for ever.
	 */
	left = (u16)(sq->pi - sq->pc);
	if (w->bbs > left) {
		w->bbs = left;
		w->len = 0;
	}
	if (sq->state == NM_WQ_ERR)
		return tx_flush(fn, sq, w);
	nm_count(fn, NM_CNT_tx_wqes);
	synd = nm_fault_take(fn, tx_err_cqe) ? NM_SYND_LOCAL_QP_OP :
						       wqe_exec(fn, sq, w);
	sq->pc += w->bbs;
	if (!synd) {
		if ((w->ce >= 2 || w->quic_status) && !wqe_complete(fn, sq, w))
			nm_sq_fail(fn, sq, NM_EV_WQ_CATAS);
		return true;
	}
	nm_trace(fn, NM_TR_ERR, "sqn %#x wqe %#x opcode %#x: syndrome %#x",
		 sq->obj->id, w->idx, w->opcode, synd);
	wqe_complete_err(fn, sq, w, synd);
	nm_sq_fail(fn, sq, synd == NM_SYND_LOCAL_PROT ? NM_EV_WQ_ACCESS :
							 NM_EV_WQ_INVAL_REQ);
	return true;
}
