/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Execution of send WQEs. Engine thread, nm_model.lock. */
#ifndef NM_TX_H
#define NM_TX_H

#include <qoff_mlx5_ifc.h>

#include "pkt.h"
#include "queue.h"

#define NM_TX_MAX_IOV	256
#define NM_TX_MAX_BYTES	((1u << 18) + 4096)	/* max_lso_cap and headers */

/**
 * struct nm_wqe - a send WQE, copied out of guest memory before it is looked at
 * @len: bytes, a multiple of 16
 * @iov: payload; @bytes their sum
 * @hdr: inline headers
 * @vendor: vendor syndrome of an error completion
 * @quic, @table: with opmod QOFF_MLX5_OPMOD_DATA, the QUIC segment and its lengths
 * @quic_status: enum qoff_mlx5_tx_status; not 0: refused, nothing was sent
 * @quic_syn: why a context control was refused
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
	u8 vendor;
	u8 quic_status;
	u32 quic_syn;
	const struct qoff_mlx5_wqe_quic *quic;
	const u8 *table;
};

#define NM_LSO_MAX_HDR	256

/* What changes in the headers from packet to packet of a large send */
struct nm_lso {
	u8 hdr[NM_LSO_MAX_HDR];
	u32 hdr_len;
	struct nm_pkt p;
	u32 seq;
	u16 ip_id;
	u8 tcp_flags;
};

/* One WQE of a queue; false: the queue stops here (error, memory gone). */
bool nm_tx_wqe(struct nm_fn *fn, struct nm_sq *sq);

/* tx_frame.c: 0 or a completion syndrome */
u8 nm_tx_send(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w);
u8 nm_tx_lso(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w);
/* False: the inline headers are not those of TCP or UDP, or not only those. */
bool nm_lso_init(struct nm_lso *l, const struct nm_wqe *w);
/* Headers of packet @i, @part bytes from @off of the payload */
void nm_lso_patch(struct nm_lso *l, u8 *frame, u32 i, u32 off, u32 part, bool last);
/* A whole packet: checksums, padding and out; @frame has room for NM_FRAME_MIN. */
void nm_lso_out(struct nm_lso *l, struct nm_fn *fn, u8 *frame, u32 part, u8 cs_flags);
/* umr.c */
u8 nm_tx_umr(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w);

#endif /* NM_TX_H */
