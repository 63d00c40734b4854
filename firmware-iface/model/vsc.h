/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The vendor-specific capability's registers. Server thread. */
#ifndef NM_VSC_H
#define NM_VSC_H

#include "model.h"

void nm_vsc_init(struct nm_fn *fn);
/* True: the write was for the capability, and is done. */
bool nm_vsc_write(struct nm_fn *fn, u32 off, const void *buf, u32 len);
void nm_vsc_after_read(struct nm_fn *fn, u32 off);

#endif /* NM_VSC_H */
