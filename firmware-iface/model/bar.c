// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BAR 0: the initialization segment and the UAR pages. Server thread, without
 * the lock: reads come from plain values, writes become doorbells.
 */
#include <errno.h>

#include "bf.h"
#include "health.h"
#include "trace.h"

#define CMDIF_REV	5
#define FW_INIT_MS	2000
#define NIC_IFC_SHIFT	8

static u32 bar_reg_read(struct nm_fn *fn, u32 off)
{
	u64 t;

	switch (off) {
	case NM_REG_FW_REV:
		return NM_FW_MINOR << 16 | NM_FW_MAJOR;
	case NM_REG_CMDIF_REV:
		return CMDIF_REV << 16 | NM_FW_SUB;
	case NM_REG_CMDQ_HI:
		return fn->regs.cmdq_hi;
	case NM_REG_CMDQ_LO:
		return (fn->regs.cmdq_lo & ~0xfffu) |
		       nm_health_nic_ifc(fn) << NIC_IFC_SHIFT |
		       NM_CMD_SIZE_LOG << 4 | NM_CMD_STRIDE_LOG;
	case NM_REG_INITIALIZING:
		return nm_health_initializing(fn);
	case NM_REG_HEALTH ... NM_REG_HEALTH_END - 1:
		return nm_health_read(fn, off);
	case NM_REG_CMD_Q_INIT_TO:
		/* Both time-outs or none: milliseconds, multiplier 0 */
		return fn->model->opts.cmd_timeout_ms ? FW_INIT_MS : 0;
	case NM_REG_CMD_EXEC_TO:
		return fn->model->opts.cmd_timeout_ms;
	case NM_REG_TIMER_HI:
		return (nm_clock_ns() - fn->model->epoch_ns) >> 32;
	case NM_REG_TIMER_LO:
		return nm_clock_ns() - fn->model->epoch_ns;
	case NM_REG_HEALTH_COUNTER:
		return nm_health_counter(fn);
	case NM_REG_REAL_TIME_HI:
		t = nm_real_ns();
		return t / 1000000000;
	case NM_REG_REAL_TIME_LO:
		t = nm_real_ns();
		return t % 1000000000;
	default:
		return 0;
	}
}

int nm_bar_read(struct nm_fn *fn, u64 off, void *buf, u32 len)
{
	u8 *b = buf;
	u32 i;

	if ((len != 1 && len != 2 && len != 4 && len != 8) || off & (len - 1) ||
	    off >= NM_BAR0_SIZE) {
		nm_count(fn, NM_CNT_bar_bad);
		return -EINVAL;
	}
	if (off >= NM_REG_END) {	/* UAR pages are write only */
		memset(buf, 0, len);
		return 0;
	}
	for (i = 0; i < len; i++) {
		u32 at = off + i;
		u32 v = bar_reg_read(fn, at & ~3u);

		b[i] = v >> (24 - (at & 3) * 8);
	}
	return 0;
}

static int bar_reg_write(struct nm_fn *fn, u32 off, const void *buf, u32 len)
{
	u32 v;

	if (len != 4) {
		nm_count(fn, NM_CNT_bar_bad);
		return -EINVAL;
	}
	v = nm_rd32(buf);
	switch (off) {
	case NM_REG_CMDQ_HI:
		fn->regs.cmdq_hi = v;
		break;
	case NM_REG_CMDQ_LO:
		fn->regs.cmdq_lo = v;
		nm_health_set_nic_ifc(fn, v >> NIC_IFC_SHIFT & 7);
		break;
	case NM_REG_CMD_DOORBELL:
		nm_db_push(fn, NM_DB_CMD, 0, v);
		break;
	default:	/* as hardware: writes to read-only registers are lost */
		nm_count(fn, NM_CNT_bar_bad);
		break;
	}
	return 0;
}

static int bar_uar_write(struct nm_fn *fn, u64 off, const u8 *b, u32 len)
{
	u32 page = off >> NM_PAGE_SHIFT, at = off & (NM_PAGE_SIZE - 1);

	if (at >= NM_UAR_BF && at < NM_UAR_BF_END) {
		nm_bf_write(fn, page, at, b, len);
		return 0;
	}
	switch (at) {
	case NM_UAR_CQ_ARM:
		if (len == 8) {
			nm_db_push(fn, NM_DB_CQ, page, nm_rd64(b));
			return 0;
		}
		fn->cq_latch = nm_rd32(b);
		return 0;
	case NM_UAR_CQ_ARM + 4:
		if (len == 4)
			nm_db_push(fn, NM_DB_CQ, page,
				   fn->cq_latch << 32 | nm_rd32(b));
		return 0;
	case NM_UAR_EQ_ARM:
		if (len == 4)
			nm_db_push(fn, NM_DB_EQ_ARM, page, nm_rd32(b));
		return 0;
	case NM_UAR_EQ_CI:
		if (len == 4)
			nm_db_push(fn, NM_DB_EQ, page, nm_rd32(b));
		return 0;
	default:
		nm_count(fn, NM_CNT_db_bad);
		return 0;
	}
}

int nm_bar_write(struct nm_fn *fn, u64 off, const void *buf, u32 len)
{
	if ((len != 4 && len != 8) || off & (len - 1) || off >= NM_BAR0_SIZE) {
		nm_count(fn, NM_CNT_bar_bad);
		return -EINVAL;
	}
	if (off < NM_REG_END)
		return bar_reg_write(fn, off, buf, len);
	if (off < NM_UAR_FIRST * NM_PAGE_SIZE)
		return 0;	/* MSI-X table and PBA: the client's */
	return bar_uar_write(fn, off, buf, len);
}
