/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Coalescing of QUIC packets on receive. Engine thread, nm_model.lock. */
#ifndef NM_QUIC_GRO_H
#define NM_QUIC_GRO_H

#include "rx.h"

struct nm_quic_ctx;
struct nm_quic_sessions;

struct nm_quic_sessions *nm_quic_gro_create(void);
void nm_quic_gro_destroy(struct nm_quic_sessions *s);

/* Where the payload of the next packet would lie, to be opened there; NULL: no
 * session has room for it.
 */
u8 *nm_quic_gro_tail(struct nm_fn *fn, struct nm_rq *rq, const struct nm_quic_ctx *x,
		     u32 len);
/* True: the frame has joined a session or begun one. False: deliver it; what
 * was before it of the same context has been. What lies in a session's tail is
 * moved to @spare then.
 */
bool nm_quic_gro_add(struct nm_fn *fn, struct nm_rq *rq, struct nm_rx_frame *f,
		     u8 *spare);

/* Complete the sessions of a context; of all; those that have waited enough. */
void nm_quic_gro_flush_ctx(struct nm_fn *fn, const struct nm_quic_ctx *x);
void nm_quic_gro_flush(struct nm_fn *fn);
void nm_quic_gro_poll(struct nm_fn *fn, bool busy);

/* Forget them: the context, the function is gone. */
void nm_quic_gro_drop_ctx(struct nm_fn *fn, const struct nm_quic_ctx *x);
void nm_quic_gro_drop(struct nm_fn *fn);

#endif /* NM_QUIC_GRO_H */
