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

struct nm_quic_rx;

/**
 * struct nm_rx_frame - a frame on its way to one or more queues
 * @p: as it came
 * @sum: of everything behind the Ethernet header
 * @local: sent by this function
 * @l4_summed, @l4_sum: while copying
 * @q: what a QUIC context made of it; NULL without
 * @data: what is delivered: @len bytes, with a list behind them @total
 * @changed: @data is not, or not only, what came
 * @segs: packets in it
 */
struct nm_rx_frame {
	struct nm_pkt p;
	u32 hash;
	u8 hash_type;
	u32 tag;
	bool ip_ok;
	bool l4_ok;
	bool checked;
	bool local;
	bool l4_summed;
	u16 sum;
	u16 l4_sum;
	struct nm_quic_rx *q;
	const u8 *data;
	u32 len;
	u32 total;
	bool changed;
	u32 segs;
};

/* Into a queue. False: dropped, and counted. */
bool nm_rx_deliver(struct nm_fn *fn, struct nm_rq *rq, struct nm_rx_frame *f);
/* Bytes that the next buffer of a queue takes; 0: it has none */
u32 nm_rx_room(struct nm_fn *fn, struct nm_rq *rq);
u32 nm_rx_mp_room(const struct nm_rq *rq);
/* A WQE is posted that has not been used up. */
bool nm_rx_has_wqe(struct nm_fn *fn, struct nm_rq *rq);
/* rx_mp.c: multi-packet WQEs. 0 or a completion syndrome */
u8 nm_rx_mp_place(struct nm_fn *fn, struct nm_rq *rq, u32 len,
		  struct nm_rx_place *pl);
/* The frame has been written and its completion posted. */
void nm_rx_mp_done(struct nm_fn *fn, struct nm_rq *rq, u32 strides);

#endif /* NM_RX_H */
