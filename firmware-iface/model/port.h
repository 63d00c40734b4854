/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Ports: link state, MTU and counters. Context: nm_model.lock. */
#ifndef NM_PORT_H
#define NM_PORT_H

#include "model.h"

#define NM_PORT_MAX_MTU	10000	/* with Ethernet header, VLAN tag and FCS */
#define NM_PORT_FCS	4

bool nm_port_up(struct nm_fn *fn);
/* Something that decides the link state has changed: tell both drivers. */
void nm_port_update(struct nm_model *m);
/* Longest frame, without FCS, that the port passes */
static inline u32 nm_port_frame_max(const struct nm_fn *fn)
{
	return fn->port.oper_mtu - NM_PORT_FCS;
}

void nm_port_count(struct nm_port_counters *c, const u8 *frame, u32 len);

#endif /* NM_PORT_H */
