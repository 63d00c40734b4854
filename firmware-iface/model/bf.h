/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* BlueFlame writes. Server thread unless said otherwise. */
#ifndef NM_BF_H
#define NM_BF_H

#include "model.h"

void nm_bf_write(struct nm_fn *fn, u32 page, u32 at, const u8 *b, u32 len);
/* When nm_bf_poll() has something to do; ~0: nothing is held */
u64 nm_bf_next(struct nm_fn *fn);
void nm_bf_poll(struct nm_fn *fn);
void nm_bf_reset(struct nm_fn *fn);
/* Engine, lock */
void nm_bf_doorbell(struct nm_fn *fn, u32 page, u32 sqn);

#endif /* NM_BF_H */
