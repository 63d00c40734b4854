/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Execution of send WQEs. Engine thread, nm_model.lock. */
#ifndef NM_TX_H
#define NM_TX_H

#include "queue.h"

#define NM_TX_MAX_IOV	256
#define NM_TX_MAX_BYTES	((1u << 18) + 4096)	/* max_lso_cap and headers */

/**
 * struct nm_wqe - a send WQE, copied out of guest memory before it is looked at
 * @len: bytes, a multiple of 16
 * @iov: payload; @bytes their sum
 * @hdr: inline headers
 */
struct nm_wqe {
	u8 raw[NM_WQE_MAX_BB * NM_WQE_BB] __aligned(16);
	u32 len;
	u32 bbs;
	u16 idx;
	u8 opcode;
	u8 opmod;
	u8 ce;
	const struct nm_wqe_eth *eth;
	const u8 *hdr;
	u32 hdr_len;
	struct nm_iov iov[NM_TX_MAX_IOV];
	int nr_iov;
	u32 bytes;
};

/* One WQE of a queue; false: the queue stops here (error, memory gone). */
bool nm_tx_wqe(struct nm_fn *fn, struct nm_sq *sq);

/* tx_frame.c: 0 or a completion syndrome */
u8 nm_tx_send(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w);
u8 nm_tx_lso(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w);
/* umr.c */
u8 nm_tx_umr(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w);

#endif /* NM_TX_H */
