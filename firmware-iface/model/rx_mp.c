// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Striding receive queues: a WQE is a buffer of strides that takes frame after
 * frame. What is left of it when a frame does not fit is given back by a filler
 * completion. WQEs form a linked list in the order in which software returned
 * them.
 */
#include "mkey.h"
#include "rx.h"

#define MP_FILLER	0x8000

struct mp_wqe {
	u8 rsvd0[2];
	be16 next;
	u8 rsvd1[12];
	struct nm_wqe_data data;
};

_Static_assert(sizeof(struct mp_wqe) == 32, "multi-packet WQE");

static bool mp_read(struct nm_fn *fn, struct nm_rq *rq, struct mp_wqe *w)
{
	return nm_buf_read(fn, &rq->buf, (u64)rq->ll_head << rq->log_wqe, w,
			   sizeof(*w));
}

static void mp_advance(struct nm_fn *fn, struct nm_rq *rq)
{
	struct mp_wqe w = { };

	if (mp_read(fn, rq, &w))
		rq->ll_head = be16toh(w.next) & ((1u << rq->log_size) - 1);
	rq->stride_at = 0;
	rq->pc++;
}

static bool mp_filler(struct nm_fn *fn, struct nm_rq *rq, u32 strides)
{
	struct nm_cqe cqe = {
		.wqe_id = htobe16(rq->ll_head),
		.flags_rqpn = htobe32(rq->obj.id),
		.srqn = htobe32(rq->user_index),
		.byte_cnt = htobe32((MP_FILLER | strides) << 16),
		.wqe_counter = htobe16(rq->stride_at),
		.op_own = NM_CQE_RESP_SEND << 4,
	};

	return nm_cq_post(rq->cq, &cqe, false);
}

/* Bytes, not only strides: a buffer may begin within its first stride and then
 * ends that much before its last one does.
 */
static bool mp_fits(const struct nm_rq *rq, const struct mp_wqe *w, u32 len)
{
	u32 size = 1u << rq->log_stride_sz;
	u32 need = DIV_ROUND_UP(len + rq->pad_align, size);

	return rq->stride_at + need <= 1u << rq->log_strides &&
	       (u64)rq->stride_at * size + rq->pad_align + len <=
	       (be32toh(w->data.byte_count) & ~NM_SEG_START_PAD);
}

u8 nm_rx_mp_place(struct nm_fn *fn, struct nm_rq *rq, u32 len,
		  struct nm_rx_place *pl)
{
	u32 total = 1u << rq->log_strides, size = 1u << rq->log_stride_sz;
	u32 need = DIV_ROUND_UP(len + rq->pad_align, size);
	struct mp_wqe w;

	if (need > total)
		return NM_SYND_LOCAL_LENGTH;
	if (!mp_read(fn, rq, &w))
		return NM_SYND_LOCAL_PROT;
	if (rq->stride_at && !mp_fits(rq, &w, len)) {
		if (!mp_filler(fn, rq, total - rq->stride_at))
			return NM_SYND_LOCAL_QP_OP;
		mp_advance(fn, rq);
		if (!nm_rx_has_wqe(fn, rq)) {
			pl->consumed = 0;
			return 0;
		}
		if (!mp_read(fn, rq, &w))
			return NM_SYND_LOCAL_PROT;
	}
	if (!mp_fits(rq, &w, len))
		return NM_SYND_LOCAL_LENGTH;
	if (nm_mkey_iov(fn, be32toh(w.data.lkey), rq->pd, be64toh(w.data.addr) +
			(u64)rq->stride_at * size + rq->pad_align, len, NM_DMA_W,
			pl->iov, NM_RX_MAX_IOV) < 0)
		return NM_SYND_LOCAL_PROT;
	pl->wqe_id = rq->ll_head;
	pl->wqe_counter = rq->stride_at;
	pl->consumed = need;
	return 0;
}

/* Of a whole WQE; the byte count of a completion has 16 bits. */
u32 nm_rx_mp_room(const struct nm_rq *rq)
{
	return (1u << (rq->log_strides + rq->log_stride_sz)) - rq->pad_align;
}

void nm_rx_mp_done(struct nm_fn *fn, struct nm_rq *rq, u32 strides)
{
	rq->stride_at += strides;
	if (rq->stride_at == 1u << rq->log_strides)
		mp_advance(fn, rq);
}
