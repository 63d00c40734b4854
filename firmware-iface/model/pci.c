// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * PCI configuration space: a PCIe endpoint with MSI-X, a vendor-specific and a
 * serial-number capability. The client emulates the MSI-X table and the BARs;
 * a function level reset arrives as a write to Device Control (PCIe 6.0,
 * 7.5.3.4).
 */
#include <errno.h>
#include <linux/pci_regs.h>

#include "pci.h"
#include "trace.h"
#include "vsc.h"

enum {
	CAP_PM = 0x40,
	CAP_VPD = 0x48,
	CAP_PCIE = 0x60,
	CAP_MSIX = 0x9c,
	CAP_VSC = NM_PCI_VSC,
	EXT_DSN = 0x100,
};

static void put16(u8 *p, u16 v)
{
	v = htole16(v);
	memcpy(p, &v, 2);
}

static void put32(u8 *p, u32 v)
{
	v = htole32(v);
	memcpy(p, &v, 4);
}

static void pci_cap_pcie(u8 *c)
{
	u8 *p = c + CAP_PCIE;

	p[0] = PCI_CAP_ID_EXP;
	p[1] = CAP_MSIX;
	put16(p + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	put32(p + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_FLR | PCI_EXP_DEVCAP_RBER | 2);
	put16(p + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_RELAX_EN |
	      PCI_EXP_DEVCTL_NOSNOOP_EN | 0x2000);
	/* 32 GT/s, x16: what the link would be; no lane exists. */
	put32(p + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS_32_0GB | 16 << 4);
	put16(p + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS_32_0GB | 16 << 4);
	put32(p + PCI_EXP_DEVCAP2, PCI_EXP_DEVCAP2_COMP_TMOUT_DIS);
	put32(p + PCI_EXP_LNKCAP2, 0x3e);
}

static void pci_cap_vsc(u8 *c)
{
	c[CAP_VSC] = PCI_CAP_ID_VNDR;
	c[CAP_VSC + 1] = 0;
	c[CAP_VSC + 2] = NM_PCI_VSC_LEN;
}

static void pci_cap_dsn(struct nm_fn *fn)
{
	const u8 *m = fn->port.mac;
	u8 *p = fn->cfg + EXT_DSN;

	put32(p, PCI_EXT_CAP_ID_DSN | 1 << 16);
	put32(p + 4, (u32)m[3] << 16 | m[4] << 8 | m[5] | 0xfe000000u);
	put32(p + 8, (u32)m[0] << 24 | (u32)m[1] << 16 | m[2] << 8 | 0xff);
}

void nm_pci_init(struct nm_fn *fn)
{
	u8 *c = fn->cfg;

	memset(c, 0, sizeof(fn->cfg));
	put16(c + PCI_VENDOR_ID, 0x15b3);
	put16(c + PCI_DEVICE_ID, 0x1021);
	put16(c + PCI_STATUS, PCI_STATUS_CAP_LIST);
	put16(c + PCI_CLASS_DEVICE, 0x0200);
	c[PCI_CACHE_LINE_SIZE] = 16;
	put32(c + PCI_BASE_ADDRESS_0, PCI_BASE_ADDRESS_MEM_TYPE_64 |
	      PCI_BASE_ADDRESS_MEM_PREFETCH);
	put16(c + PCI_SUBSYSTEM_VENDOR_ID, 0x15b3);
	put16(c + PCI_SUBSYSTEM_ID, 0x0041);
	c[PCI_CAPABILITY_LIST] = CAP_PM;
	c[PCI_INTERRUPT_PIN] = 0;

	c[CAP_PM] = PCI_CAP_ID_PM;
	c[CAP_PM + 1] = CAP_PCIE;
	put16(c + CAP_PM + PCI_PM_PMC, 3);
	put16(c + CAP_PM + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
	pci_cap_pcie(c);
	c[CAP_MSIX] = PCI_CAP_ID_MSIX;
	c[CAP_MSIX + 1] = CAP_VSC;
	put16(c + CAP_MSIX + PCI_MSIX_FLAGS, NM_MSIX_VECTORS - 1);
	put32(c + CAP_MSIX + PCI_MSIX_TABLE, NM_MSIX_TABLE);
	put32(c + CAP_MSIX + PCI_MSIX_PBA, NM_MSIX_PBA);
	pci_cap_vsc(c);
	pci_cap_dsn(fn);
	nm_vsc_init(fn);
}

void nm_pci_reset(struct nm_fn *fn)
{
	nm_pci_init(fn);
}

int nm_pci_read(struct nm_fn *fn, u64 off, void *buf, u32 len)
{
	if (off >= sizeof(fn->cfg) || len > sizeof(fn->cfg) - off) {
		nm_count(fn, NM_CNT_bar_bad);
		return -EINVAL;
	}
	memcpy(buf, fn->cfg + off, len);
	if (len == 4)
		nm_vsc_after_read(fn, off);
	return 0;
}

/* Bits that software may write, byte by byte; all others read as they are. */
static u8 pci_wmask(u32 off)
{
	switch (off) {
	case PCI_COMMAND:
		return PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
		       PCI_COMMAND_PARITY;
	case PCI_COMMAND + 1:
		return (PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE) >> 8;
	case PCI_CACHE_LINE_SIZE:
	case PCI_INTERRUPT_LINE:
		return 0xff;
	case PCI_BASE_ADDRESS_0 + 3:
		return 0xfe;	/* 32 MiB */
	case PCI_BASE_ADDRESS_1 ... PCI_BASE_ADDRESS_1 + 3:
		return 0xff;
	case CAP_PM + PCI_PM_CTRL:
		return PCI_PM_CTRL_STATE_MASK;
	case CAP_PCIE + PCI_EXP_DEVCTL:
		return 0xff;
	case CAP_PCIE + PCI_EXP_DEVCTL + 1:
		return 0x7f;	/* bit 15 starts a reset and reads 0 */
	case CAP_PCIE + PCI_EXP_DEVCTL2:
		return 0x1f;
	case CAP_MSIX + PCI_MSIX_FLAGS + 1:
		return (PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL) >> 8;
	default:
		return 0;
	}
}

int nm_pci_write(struct nm_fn *fn, u64 off, const void *buf, u32 len)
{
	const u8 *b = buf;
	bool flr = false;
	u32 i;

	if (off >= sizeof(fn->cfg) || len > sizeof(fn->cfg) - off) {
		nm_count(fn, NM_CNT_bar_bad);
		return -EINVAL;
	}
	if (nm_vsc_write(fn, off, buf, len))
		return 0;
	for (i = 0; i < len; i++) {
		u8 mask = pci_wmask(off + i);

		fn->cfg[off + i] = (fn->cfg[off + i] & ~mask) | (b[i] & mask);
		if (off + i == CAP_PCIE + PCI_EXP_DEVCTL + 1 &&
		    b[i] & (PCI_EXP_DEVCTL_BCR_FLR >> 8))
			flr = true;
	}
	if (flr) {
		nm_trace(fn, NM_TR_VFU, "function level reset");
		nm_pci_reset(fn);
		nm_fn_reset(fn);
	}
	return 0;
}
