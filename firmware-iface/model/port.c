// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Ports: a link is up when both ends want it and the cable is in. */
#include "port.h"
#include "queue.h"
#include "trace.h"
#include "wire.h"

bool nm_port_up(struct nm_fn *fn)
{
	struct nm_fn *peer = nm_wire_peer(fn);

	return fn->port.admin_up && fn->port.link_up && peer &&
	       peer->port.admin_up && peer->port.link_up;
}

void nm_port_update(struct nm_model *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_fn; i++) {
		struct nm_fn *fn = m->fn[i];
		u8 data[28] = { };
		bool up = nm_port_up(fn);

		if (up == fn->port.was_up)
			continue;
		fn->port.was_up = up;
		nm_trace(fn, NM_TR_EQE, "port %s", up ? "up" : "down");
		data[8] = 1 << 4;	/* port 1 */
		nm_event(fn, NM_EV_PORT_CHANGE,
			 up ? NM_PORT_EV_ACTIVE : NM_PORT_EV_DOWN, data,
			 sizeof(data));
	}
}

void nm_port_count(struct nm_port_counters *c, const u8 *frame, u32 len)
{
	static const u8 bcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	if (!(frame[0] & 1)) {
		c->uc_pkts++;
		c->uc_bytes += len;
	} else if (memcmp(frame, bcast, 6)) {
		c->mc_pkts++;
		c->mc_bytes += len;
	} else {
		c->bc_pkts++;
		c->bc_bytes += len;
	}
}
