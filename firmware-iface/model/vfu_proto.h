/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* vfio-user messages, version 0.0 to 0.1, little endian as the host is. */
#ifndef NM_VFU_PROTO_H
#define NM_VFU_PROTO_H

#include "ifc.h"

enum vfu_cmd {
	VFU_VERSION		= 1,
	VFU_DMA_MAP		= 2,
	VFU_DMA_UNMAP		= 3,
	VFU_GET_INFO		= 4,
	VFU_GET_REGION_INFO	= 5,
	VFU_GET_REGION_IO_FDS	= 6,
	VFU_GET_IRQ_INFO	= 7,
	VFU_SET_IRQS		= 8,
	VFU_REGION_READ		= 9,
	VFU_REGION_WRITE	= 10,
	VFU_DMA_READ		= 11,
	VFU_DMA_WRITE		= 12,
	VFU_DEVICE_RESET	= 13,
	VFU_REGION_WRITE_MULTI	= 15,
	VFU_CMD_MAX,
};

enum vfu_flags {
	VFU_TYPE_MASK	= 0xf,
	VFU_TYPE_CMD	= 0x0,
	VFU_TYPE_REPLY	= 0x1,
	VFU_NO_REPLY	= 0x10,
	VFU_ERROR	= 0x20,
};

struct vfu_hdr {
	u16 id;
	u16 cmd;
	u32 size;
	u32 flags;
	u32 error;
};

_Static_assert(sizeof(struct vfu_hdr) == 16, "vfio-user header");

struct vfu_version {
	u16 major;
	u16 minor;
	char json[];
};

struct vfu_dma_map {
	u32 argsz;
	u32 flags;	/* 1 read, 2 write */
	u64 offset;
	u64 addr;
	u64 size;
};

struct vfu_dma_unmap {
	u32 argsz;
	u32 flags;	/* 1 dirty bitmap, 2 all */
	u64 addr;
	u64 size;
};

#define VFU_UNMAP_DIRTY	1
#define VFU_UNMAP_ALL	2

struct vfu_device_info {
	u32 argsz;
	u32 flags;	/* 1 reset, 2 PCI */
	u32 num_regions;
	u32 num_irqs;
};

struct vfu_region_info {
	u32 argsz;
	u32 flags;	/* 1 read, 2 write, 4 mmap */
	u32 index;
	u32 cap_offset;
	u64 size;
	u64 offset;
};

struct vfu_irq_info {
	u32 argsz;
	u32 flags;	/* 1 eventfd */
	u32 index;
	u32 count;
};

struct vfu_irq_set {
	u32 argsz;
	u32 flags;
	u32 index;
	u32 start;
	u32 count;
};

enum vfu_irq_flags {
	VFU_IRQ_DATA_NONE	= 0x1,
	VFU_IRQ_DATA_BOOL	= 0x2,
	VFU_IRQ_DATA_EVENTFD	= 0x4,
	VFU_IRQ_DATA_MASK	= 0x7,
	VFU_IRQ_ACTION_MASK	= 0x8,
	VFU_IRQ_ACTION_UNMASK	= 0x10,
	VFU_IRQ_ACTION_TRIGGER	= 0x20,
};

struct vfu_region_rw {
	u64 offset;
	u32 region;
	u32 count;
	u8 data[];
};

_Static_assert(sizeof(struct vfu_region_rw) == 16, "vfio-user region access");

struct vfu_write_multi_ent {
	u64 offset;
	u32 region;
	u32 count;
	u8 data[8];
};

enum vfu_region {
	VFU_BAR0	= 0,
	VFU_CONFIG	= 7,
	VFU_NUM_REGIONS	= 9,
};

enum vfu_irq {
	VFU_IRQ_MSIX	= 2,
	VFU_NUM_IRQS	= 5,
};

#define VFU_MAX_FDS	8
#define VFU_MAX_XFER	(1u << 20)
#define VFU_MAX_MSG	(VFU_MAX_XFER + 4096)

#endif /* NM_VFU_PROTO_H */
