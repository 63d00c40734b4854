/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Capabilities. What is not served is not in the table, so it reads as 0. */
#ifndef NM_CAPS_H
#define NM_CAPS_H

#include "model.h"

#define NM_CAP_BYTES	4096	/* the largest group's structure */

enum nm_cap_group {
	NM_CAP_GENERAL,
	NM_CAP_ETH,
	NM_CAP_FT,
	NM_CAP_CRYPTO,
	NM_CAP_QUIC,
	NM_CAP_GROUPS,
};

/* A field; @minimal: in the smallest set too */
struct nm_cap_row {
	u16 off;
	u8 width;
	bool minimal;
	u32 val;
};

/**
 * struct nm_caps - capabilities of a function
 * @max: what the device can do
 * @cur: what software has set, at most @max
 */
struct nm_caps {
	u8 max[NM_CAP_GROUPS][NM_CAP_BYTES];
	u8 cur[NM_CAP_GROUPS][NM_CAP_BYTES];
};

int nm_caps_init(struct nm_fn *fn);
void nm_caps_reset(struct nm_fn *fn);

#endif /* NM_CAPS_H */
