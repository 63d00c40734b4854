/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* PCI configuration space of a function. Server thread. */
#ifndef NM_PCI_H
#define NM_PCI_H

#include "model.h"

#define NM_PCI_VSC	0xc0	/* vendor-specific capability: vsc.c */
#define NM_PCI_VSC_LEN	0x18

void nm_pci_init(struct nm_fn *fn);
void nm_pci_reset(struct nm_fn *fn);
int nm_pci_read(struct nm_fn *fn, u64 off, void *buf, u32 len);
int nm_pci_write(struct nm_fn *fn, u64 off, const void *buf, u32 len);

#endif /* NM_PCI_H */
