// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Context control in band. The engine runs one WQE after another, so that what
 * a queue posted before has been sent and what it posts after sees the change.
 */
#include "cmd.h"
#include "quic.h"
#include "trace.h"

static u8 malformed(struct nm_wqe *w, enum qoff_mlx5_vendor_synd v)
{
	w->vendor = v;
	return NM_SYND_LOCAL_QP_OP;
}

u8 nm_quic_ctx_wqe(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w)
{
	u32 off = sizeof(struct nm_wqe_ctrl), need = off + sizeof(struct qoff_mlx5_wqe_ctx);
	const struct qoff_mlx5_wqe_ctx *seg = (void *)(w->raw + off);
	const struct qoff_mlx5_wqe_ctx_data *d = (void *)(w->raw + need);
	struct nm_cmd c = { .fn = fn, .uid = sq->obj->uid };
	struct nm_quic_ctx *x;
	u8 op = seg->op;

	if (!nm_quic_on(fn) || !NM_QUIC_CAP(fn, ctx_wqe))
		return malformed(w, QOFF_MLX5_VES_FLAGS);
	if (w->len < need)
		return malformed(w, QOFF_MLX5_VES_SHORT);
	if (op < QOFF_MLX5_CTX_WRITE || op > QOFF_MLX5_CTX_CLEAR)
		return malformed(w, QOFF_MLX5_VES_FLAGS);
	if (op != QOFF_MLX5_CTX_CLEAR)
		need += sizeof(*d);
	if (w->len != need)
		return malformed(w, QOFF_MLX5_VES_SHORT);
	x = nm_quic_ctx_get(fn, be32toh(seg->ctx) & 0xffffff, c.uid);
	if (!x || !x->in_band) {
		c.status = NM_ST_BAD_RES;
		c.syndrome = QOFF_MLX5_SYN_STATE;
	} else if (op == QOFF_MLX5_CTX_WRITE) {
		nm_quic_write(&c, x, d);
	} else if (op == QOFF_MLX5_CTX_MODIFY) {
		nm_quic_modify(&c, x, d->obj, d);
	} else {
		nm_quic_clear(x);
	}
	/* Keys came with it: do not leave them in this copy. */
	explicit_bzero(w->raw, w->len);
	if (!c.status)
		return 0;
	nm_trace(fn, NM_TR_ERR, "quic ctx op %u: syndrome %#x", op, c.syndrome);
	w->quic_status = QOFF_MLX5_TXS_CTX_OP;
	w->quic_syn = c.syndrome;
	return 0;
}
