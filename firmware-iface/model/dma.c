// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Guest memory by mapped ranges. Context: nm_model.lock held throughout. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model.h"

/* Index of the first range that ends after @addr. */
static u32 dma_lower(struct nm_dma *d, u64 addr)
{
	u32 lo = 0, hi = d->nr;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (d->r[mid].addr + (d->r[mid].size - 1) < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int dma_insert(struct nm_dma *d, const struct nm_dma_range *n)
{
	u32 i = dma_lower(d, n->addr);

	if (i < d->nr && d->r[i].addr <= n->addr + (n->size - 1))
		return -EEXIST;
	if (d->nr == NM_DMA_MAX_RANGES)
		return -ENOSPC;
	if (d->nr == d->cap) {
		u32 cap = d->cap ? d->cap * 2 : 16;
		void *r = realloc(d->r, cap * sizeof(*d->r));

		if (!r)
			return -ENOMEM;
		d->r = r;
		d->cap = cap;
	}
	memmove(&d->r[i + 1], &d->r[i], (d->nr - i) * sizeof(*d->r));
	d->r[i] = *n;
	d->nr++;
	d->gen++;
	return 0;
}

static bool dma_range_ok(u64 addr, u64 size)
{
	return size && !(addr & (NM_PAGE_SIZE - 1)) &&
	       !(size & (NM_PAGE_SIZE - 1)) && addr + (size - 1) >= addr;
}

/*
 * A file shorter than its mapping would turn a guest's access into SIGBUS in
 * the model: refuse it at the door.
 */
static bool dma_file_covers(int fd, u64 off, u64 size)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	return off + size >= off && (u64)st.st_size >= off + size;
}

int nm_dma_map(struct nm_dma *d, u64 addr, u64 size, int fd, u64 off, u8 prot)
{
	struct nm_dma_range n = { .addr = addr, .size = size, .prot = prot };
	int flags = 0, err;

	if (!dma_range_ok(addr, size) || !prot || off & (NM_PAGE_SIZE - 1))
		return -EINVAL;
	if (fd >= 0) {
		if (!dma_file_covers(fd, off, size))
			return -EINVAL;
		flags = (prot & NM_DMA_R ? PROT_READ : 0) |
			(prot & NM_DMA_W ? PROT_WRITE | PROT_READ : 0);
		n.map = mmap(NULL, size, flags, MAP_SHARED, fd, off);
		if (n.map == MAP_FAILED)
			return -errno;
		n.host = n.map;
		n.map_len = size;
	}
	err = dma_insert(d, &n);
	if (err && n.map)
		munmap(n.map, n.map_len);
	return err;
}

int nm_dma_map_host(struct nm_dma *d, u64 addr, u64 size, void *host, u8 prot)
{
	struct nm_dma_range n = {
		.addr = addr, .size = size, .host = host, .prot = prot,
	};

	if (!dma_range_ok(addr, size) || !prot)
		return -EINVAL;
	return dma_insert(d, &n);
}

/* As VFIO: every range inside is removed, a range cut in two is refused. */
int nm_dma_unmap(struct nm_dma *d, u64 addr, u64 size)
{
	u32 i, j, k;

	if (!dma_range_ok(addr, size))
		return -EINVAL;
	i = dma_lower(d, addr);
	for (j = i; j < d->nr && d->r[j].addr <= addr + (size - 1); j++)
		if (d->r[j].addr < addr ||
		    d->r[j].addr + (d->r[j].size - 1) > addr + (size - 1))
			return -EINVAL;
	if (i == j)
		return -ENOENT;
	for (k = i; k < j; k++)
		if (d->r[k].map)
			munmap(d->r[k].map, d->r[k].map_len);
	memmove(&d->r[i], &d->r[j], (d->nr - j) * sizeof(*d->r));
	d->nr -= j - i;
	d->gen++;
	return 0;
}

void nm_dma_unmap_all(struct nm_dma *d)
{
	u32 i;

	for (i = 0; i < d->nr; i++)
		if (d->r[i].map)
			munmap(d->r[i].map, d->r[i].map_len);
	free(d->r);
	*d = (struct nm_dma){ .gen = d->gen + 1 };
}

/* The range that holds @addr, and how far it goes from there. */
static u8 *dma_at(struct nm_dma *d, u64 addr, u8 prot, u64 *left)
{
	struct nm_dma_range *r;
	u32 i = d->last;

	if (i >= d->nr || addr < d->r[i].addr ||
	    addr - d->r[i].addr >= d->r[i].size) {
		i = dma_lower(d, addr);
		if (i == d->nr || addr < d->r[i].addr)
			return NULL;
		d->last = i;
	}
	r = &d->r[i];
	if (!r->host || (r->prot & prot) != prot)
		return NULL;
	*left = r->size - (addr - r->addr);
	return r->host + (addr - r->addr);
}

void *nm_dma_ptr(struct nm_dma *d, u64 addr, u64 len, u8 prot)
{
	u64 left;
	u8 *p = dma_at(d, addr, prot, &left);

	return p && left >= len ? p : NULL;
}

static bool dma_copy(struct nm_fn *fn, u64 addr, void *buf, u32 len, bool write)
{
	u8 *b = buf;

	while (len) {
		u64 left;
		u8 *p = dma_at(&fn->dma, addr, write ? NM_DMA_W : NM_DMA_R, &left);

		if (!p) {
			nm_count(fn, NM_CNT_dma_faults);
			return false;
		}
		if (left > len)
			left = len;
		if (write)
			memcpy(p, b, left);
		else
			memcpy(b, p, left);
		b += left;
		addr += left;
		len -= left;
	}
	return true;
}

bool nm_dma_read(struct nm_fn *fn, u64 addr, void *buf, u32 len)
{
	return dma_copy(fn, addr, buf, len, false);
}

bool nm_dma_write(struct nm_fn *fn, u64 addr, const void *buf, u32 len)
{
	return dma_copy(fn, addr, (void *)buf, len, true);
}

int nm_dma_iov(struct nm_fn *fn, u64 addr, u32 len, u8 prot,
	       struct nm_iov *iov, int max)
{
	int n = 0;

	while (len) {
		u64 left;
		u8 *p = dma_at(&fn->dma, addr, prot, &left);

		if (!p || n == max) {
			nm_count(fn, NM_CNT_dma_faults);
			return -1;
		}
		if (left > len)
			left = len;
		iov[n++] = (struct nm_iov){ .p = p, .len = left };
		addr += left;
		len -= left;
	}
	return n;
}
