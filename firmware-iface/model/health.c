// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Health buffer and firmware reset.
 *
 * A driver that finds a syndrome with "request for reset" writes 7 to the NIC
 * interface field. The function is then as after power on, reads 7 while the
 * reset lasts and 1 ("disabled") after it; bit 31 of "initializing" stays set a
 * little longer. With a new command queue address the driver writes 0.
 */
#include "health.h"
#include "trace.h"

#define RESET_NS	20000000ull	/* field reads 7 */
#define INIT_NS		50000000ull	/* "initializing" reads 1 */
#define COUNTER_NS	10000000ull

#define INIT_BUSY		BIT(31)
#define INIT_RESET_SUPPORTED	BIT(30)

enum {
	HB_ASSERT_EXIT_PTR = 0x20, HB_TIME = 0x2c, HB_FW_VER = 0x30,
	HB_HW_ID = 0x34, HB_RFR = 0x38, HB_SYND = 0x3c,
};

#define HB_RFR_BIT	BIT(7)
#define HB_SEV_VALID	BIT(3)
#define HW_ID		0x218		/* ConnectX-7 */

u32 nm_health_read(struct nm_fn *fn, u32 off)
{
	const struct nm_regs *r = &fn->regs;

	switch (off - NM_REG_HEALTH) {
	case HB_TIME:
		return r->synd ? r->synd_time : 0;
	case HB_FW_VER:
		return NM_FW_MAJOR << 24 | NM_FW_MINOR << 16 | NM_FW_SUB;
	case HB_HW_ID:
		return HW_ID;
	case HB_RFR:
		return (u32)r->rfr_severity << 24;
	case HB_SYND:
		return r->synd << 16 | r->ext_synd;
	default:
		return 0;
	}
}

u32 nm_health_counter(struct nm_fn *fn)
{
	if (fn->regs.counter_frozen)
		return 0x5555;
	return (nm_clock_ns() - fn->model->epoch_ns) / COUNTER_NS;
}

u32 nm_health_initializing(struct nm_fn *fn)
{
	bool busy = nm_clock_ns() < fn->regs.init_until;

	return INIT_RESET_SUPPORTED | (busy ? INIT_BUSY : 0);
}

u32 nm_health_nic_ifc(struct nm_fn *fn)
{
	if (nm_clock_ns() < fn->regs.reset_until)
		return NM_NIC_SW_RESET;
	return fn->regs.nic_ifc;
}

void nm_health_set_nic_ifc(struct nm_fn *fn, u32 ifc)
{
	u64 now = nm_clock_ns();

	if (ifc != NM_NIC_SW_RESET) {
		fn->regs.nic_ifc = ifc;
		return;
	}
	nm_trace(fn, NM_TR_ERR, "the driver resets the firmware");
	nm_fn_reset(fn);
	fn->regs.reset_until = now + RESET_NS;
	fn->regs.init_until = now + INIT_NS;
	fn->regs.nic_ifc = NM_NIC_DISABLED;
}

void nm_health_reset(struct nm_fn *fn)
{
	fn->regs.synd = 0;
	fn->regs.ext_synd = 0;
	fn->regs.rfr_severity = 0;
	fn->regs.nic_ifc = NM_NIC_FULL_DRIVER;
	fn->regs.reset_until = 0;
	fn->regs.init_until = 0;
}

/* The syndrome comes last: the driver looks at it first. */
void nm_health_report(struct nm_fn *fn, u8 synd, u16 ext_synd, u8 severity,
		      bool rfr)
{
	fn->regs.synd_time = nm_real_ns() / 1000000000;
	fn->regs.ext_synd = ext_synd;
	fn->regs.rfr_severity = (rfr ? HB_RFR_BIT : 0) | HB_SEV_VALID |
				(severity & 7);
	atomic_store(&fn->regs.synd, synd);
	nm_trace(fn, NM_TR_ERR, "health syndrome %#x%s", synd,
		 rfr ? ", request for reset" : "");
}
