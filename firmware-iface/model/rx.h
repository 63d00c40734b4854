/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Reception, as its two kinds of queue share it. Engine thread, nm_model.lock. */
#ifndef NM_RX_H
#define NM_RX_H

#include "pkt.h"
#include "queue.h"

#define NM_RX_MAX_IOV	64

/**
 * struct nm_rx_place - where a frame goes in a queue
 * @iov: host pieces, as many bytes as the frame has after stripping
 * @wqe_id, @wqe_counter, @consumed: as the completion tells them
 */
struct nm_rx_place {
	struct nm_iov iov[NM_RX_MAX_IOV];
	u16 wqe_id;
	u16 wqe_counter;
	u16 consumed;
};

/* A WQE is posted that has not been used up. */
bool nm_rx_has_wqe(struct nm_fn *fn, struct nm_rq *rq);
/* rx_mp.c: multi-packet WQEs. 0 or a completion syndrome */
u8 nm_rx_mp_place(struct nm_fn *fn, struct nm_rq *rq, u32 len,
		  struct nm_rx_place *pl);
/* The frame has been written and its completion posted. */
void nm_rx_mp_done(struct nm_fn *fn, struct nm_rq *rq, u32 strides);

#endif /* NM_RX_H */
