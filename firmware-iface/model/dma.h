/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Guest memory. The device reaches only ranges that the client has mapped,
 * with the permission it has given; a range that came without a descriptor
 * (ROM) is known, but cannot be reached.
 */
#ifndef NM_DMA_H
#define NM_DMA_H

#include "ifc.h"

struct nm_fn;

enum nm_dma_prot {
	NM_DMA_R = 1,
	NM_DMA_W = 2,
};

#define NM_DMA_MAX_RANGES	1024

struct nm_dma_range {
	u64 addr;
	u64 size;
	u8 *host;	/* NULL: not reachable */
	void *map;	/* what mmap returned; owned unless shared */
	u64 map_len;
	u8 prot;
};

/**
 * struct nm_dma - the mapped ranges of a function, sorted by address
 * @gen: changes with every map and unmap; cached pointers compare it
 */
struct nm_dma {
	struct nm_dma_range *r;
	u32 nr;
	u32 cap;
	u32 last;
	u32 gen;
};

struct nm_iov {
	u8 *p;
	u32 len;
};

/* -errno: EEXIST overlap, EINVAL bad range, ENOSPC table full, ENOENT */
int nm_dma_map(struct nm_dma *d, u64 addr, u64 size, int fd, u64 off, u8 prot);
int nm_dma_map_host(struct nm_dma *d, u64 addr, u64 size, void *host, u8 prot);
int nm_dma_unmap(struct nm_dma *d, u64 addr, u64 size);
void nm_dma_unmap_all(struct nm_dma *d);

/*
 * nm_dma_ptr() - host address of a guest range that lies in one mapping
 * Returns NULL, and counts nothing, when it does not.
 */
void *nm_dma_ptr(struct nm_dma *d, u64 addr, u64 len, u8 prot);

/* Copies that may cross mappings; false: counted as a DMA fault */
bool nm_dma_read(struct nm_fn *fn, u64 addr, void *buf, u32 len);
bool nm_dma_write(struct nm_fn *fn, u64 addr, const void *buf, u32 len);

/*
 * nm_dma_iov() - append the host pieces of a guest range to an iov
 * Returns the number of pieces, or -1 when the range is not all mapped or
 * needs more than @max pieces.
 */
int nm_dma_iov(struct nm_fn *fn, u64 addr, u32 len, u8 prot,
	       struct nm_iov *iov, int max);

#endif /* NM_DMA_H */
