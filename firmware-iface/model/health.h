/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Firmware as the driver sees it from outside: health buffer, NIC interface
 * field, initializing bit, time-outs. Plain values that both threads reach.
 */
#ifndef NM_HEALTH_H
#define NM_HEALTH_H

#include "model.h"

/* Field "nic_interface" of the command queue address register */
enum nm_nic_ifc {
	NM_NIC_FULL_DRIVER	= 0,
	NM_NIC_DISABLED		= 1,
	NM_NIC_SW_RESET		= 7,
};

/* Severity of the health buffer is a level of the kernel's log. */
#define NM_SEV_CRIT	2
#define NM_SEV_WARNING	4

/* Server thread; registers from NM_REG_HEALTH on, and the three below */
u32 nm_health_read(struct nm_fn *fn, u32 off);
u32 nm_health_counter(struct nm_fn *fn);
u32 nm_health_initializing(struct nm_fn *fn);
u32 nm_health_nic_ifc(struct nm_fn *fn);
/* The driver writes the field: 7 asks for a reset of the firmware. */
void nm_health_set_nic_ifc(struct nm_fn *fn, u32 ifc);

/* Under the lock */
void nm_health_reset(struct nm_fn *fn);
/* Tells a syndrome (0: all is well); @rfr: "request for reset" */
void nm_health_report(struct nm_fn *fn, u8 synd, u16 ext_synd, u8 severity,
		      bool rfr);

#endif /* NM_HEALTH_H */
