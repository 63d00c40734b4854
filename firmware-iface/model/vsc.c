// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The vendor-specific capability: a gateway to spaces of the device. Two are
 * there: semaphores, by which functions agree on who resets the firmware, and
 * the registers that a crash dump reads. Server thread.
 */
#include "vsc.h"
#include "pci.h"

enum {
	VSC_CTRL = 0x4, VSC_COUNTER = 0x8, VSC_SEMAPHORE = 0xc,
	VSC_ADDR = 0x10, VSC_DATA = 0x14,
};

enum {
	SPACE_CRASH_DUMP = 0x7,
	SPACE_SEMAPHORE = 0xa,
};

#define CTRL_SUPPORTED	BIT(29)		/* status, bits 31:29 */
#define CTRL_SIZE_VALID	BIT(28)
#define ADDR_FLAG	BIT(31)
#define ADDR_MASK	0x3fffffffu
#define CRASH_DUMP_SIZE	0x240u		/* the initialization segment */

static void vsc_put(struct nm_fn *fn, u32 off, u32 v)
{
	v = htole32(v);
	memcpy(fn->cfg + NM_PCI_VSC + off, &v, sizeof(v));
}

static u32 vsc_get(struct nm_fn *fn, u32 off)
{
	u32 v;

	memcpy(&v, fn->cfg + NM_PCI_VSC + off, sizeof(v));
	return le32toh(v);
}

void nm_vsc_init(struct nm_fn *fn)
{
	memset(&fn->vsc, 0, sizeof(fn->vsc));
	vsc_put(fn, VSC_COUNTER, 1);
}

static void vsc_set_space(struct nm_fn *fn, u32 v)
{
	u16 space = v;

	fn->vsc.space = space;
	if (space == SPACE_CRASH_DUMP) {
		vsc_put(fn, VSC_CTRL, CTRL_SUPPORTED | CTRL_SIZE_VALID | space);
		vsc_put(fn, VSC_ADDR, CRASH_DUMP_SIZE);
	} else if (space == SPACE_SEMAPHORE) {
		vsc_put(fn, VSC_CTRL, CTRL_SUPPORTED | space);
	} else {
		vsc_put(fn, VSC_CTRL, space);
	}
}

/* One word of the chosen space at @addr; what is not there reads all ones. */
static u32 vsc_load(struct nm_fn *fn, u32 addr)
{
	u8 b[4];

	if (fn->vsc.space == SPACE_SEMAPHORE && addr < NM_VSC_SEMAPHORES)
		return fn->vsc.sem[addr];
	if (fn->vsc.space == SPACE_CRASH_DUMP && addr < CRASH_DUMP_SIZE &&
	    !nm_bar_read(fn, addr, b, sizeof(b)))
		return nm_rd32(b);
	return ~0u;
}

/* A semaphore that is held takes only the 0 that gives it back. */
static void vsc_store(struct nm_fn *fn, u32 addr, u32 v)
{
	if (fn->vsc.space != SPACE_SEMAPHORE || addr >= NM_VSC_SEMAPHORES)
		return;
	if (!fn->vsc.sem[addr] || !v)
		fn->vsc.sem[addr] = v;
}

/* The flag's value in a write is the direction, and turns when it is done. */
static void vsc_access(struct nm_fn *fn, u32 v)
{
	u32 addr = v & ADDR_MASK;

	if (v & ADDR_FLAG) {
		vsc_store(fn, addr, vsc_get(fn, VSC_DATA));
		vsc_put(fn, VSC_ADDR, addr);
		return;
	}
	vsc_put(fn, VSC_DATA, vsc_load(fn, addr));
	vsc_put(fn, VSC_ADDR, ADDR_FLAG | addr);
}

bool nm_vsc_write(struct nm_fn *fn, u32 off, const void *buf, u32 len)
{
	u32 v;

	if (off < NM_PCI_VSC + VSC_CTRL || off >= NM_PCI_VSC + NM_PCI_VSC_LEN)
		return false;
	if (len != 4 || off & 3) {
		nm_count(fn, NM_CNT_bar_bad);
		return true;
	}
	memcpy(&v, buf, sizeof(v));
	v = le32toh(v);
	switch (off - NM_PCI_VSC) {
	case VSC_CTRL:
		vsc_set_space(fn, v);
		break;
	case VSC_SEMAPHORE:
		if (!vsc_get(fn, VSC_SEMAPHORE) || !v)
			vsc_put(fn, VSC_SEMAPHORE, v);
		break;
	case VSC_ADDR:
		vsc_access(fn, v);
		break;
	case VSC_DATA:
		vsc_put(fn, VSC_DATA, v);
		break;
	}
	return true;
}

/* After a read: the counter never has one value twice, and a dump goes on. */
void nm_vsc_after_read(struct nm_fn *fn, u32 off)
{
	u32 addr;

	if (off == NM_PCI_VSC + VSC_COUNTER) {
		addr = vsc_get(fn, VSC_COUNTER) + 1;
		vsc_put(fn, VSC_COUNTER, addr ? addr : 1);
	} else if (off == NM_PCI_VSC + VSC_DATA &&
		   fn->vsc.space == SPACE_CRASH_DUMP) {
		addr = vsc_get(fn, VSC_ADDR);
		vsc_put(fn, VSC_ADDR, (addr & ADDR_FLAG) |
			((addr & ADDR_MASK) + 4));
	}
}
