// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queue memory and doorbell records in guest memory. */
#include <stdlib.h>

#include "mkey.h"
#include "queue.h"

/* As many pages as the largest queue the capabilities allow needs. */
#define BUF_MAX_PAGES	(1u << 16)
#define PAGE_OFFSET_SHIFT	6	/* a queue's offset is in 64ths of its page */

static bool buf_alloc(struct nm_cmd *c, struct nm_buf *b, u8 log_page, u32 off,
		      u64 need)
{
	u64 page = 1ull << log_page;
	u64 nr;

	if (log_page < NM_PAGE_SHIFT || log_page > 31 || off >= page || off & 63) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_PAS);
		return false;
	}
	nr = DIV_ROUND_UP(off + need, page);
	if (!nr || nr > BUF_MAX_PAGES) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_SIZE);
		return false;
	}
	b->pas = calloc(nr, sizeof(*b->pas));
	b->host = calloc(nr, sizeof(*b->host));
	if (!b->pas || !b->host) {
		nm_buf_free(b);
		nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_MEMORY);
		return false;
	}
	b->nr = nr;
	b->log_page = log_page;
	b->off = off;
	b->gen = c->fn->dma.gen - 1;
	return true;
}

bool nm_buf_init(struct nm_cmd *c, struct nm_buf *b, const void *pas, u32 tail,
		 u8 log_page, u32 off, u64 need)
{
	u32 i;

	if (log_page < NM_PAGE_SHIFT || log_page > 31) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_PAS);
		return false;
	}
	if (!buf_alloc(c, b, log_page, off << (log_page - PAGE_OFFSET_SHIFT), need))
		return false;
	if (b->nr > tail / sizeof(u64)) {
		nm_buf_free(b);
		nm_cmd_fail(c, NM_ST_BAD_INP_LEN, NM_SYN_QUEUE_PAS);
		return false;
	}
	/* Low bits of an entry are flags of other address spaces. */
	for (i = 0; i < b->nr; i++)
		b->pas[i] = nm_rd64((const u8 *)pas + i * 8) &
			    ~(NM_PAGE_SIZE - 1ull);
	return true;
}

bool nm_buf_init_umem(struct nm_cmd *c, struct nm_buf *b, struct nm_obj *user,
		      u32 umem_id, u64 off, u64 need)
{
	struct nm_umem *um = nm_obj_use(c, user, NM_OBJ_UMEM, umem_id);
	u64 start;
	u32 i, first;

	if (!um)
		return false;
	if (off > um->size || need > um->size - off) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_PAS);
		return false;
	}
	start = um->off + off;
	first = start >> um->log_page;
	if (!buf_alloc(c, b, um->log_page,
		       start & ((1ull << um->log_page) - 1), need))
		return false;
	for (i = 0; i < b->nr; i++)
		b->pas[i] = um->pas[first + i];
	return true;
}

void nm_buf_free(struct nm_buf *b)
{
	free(b->pas);
	free(b->host);
	b->pas = NULL;
	b->host = NULL;
	b->nr = 0;
}

void *nm_buf_at(struct nm_fn *fn, struct nm_buf *b, u64 at)
{
	u32 page;

	at += b->off;
	page = at >> b->log_page;
	if (page >= b->nr)
		return NULL;
	if (b->gen != fn->dma.gen) {
		memset(b->host, 0, b->nr * sizeof(*b->host));
		b->gen = fn->dma.gen;
	}
	if (!b->host[page]) {
		b->host[page] = nm_dma_ptr(&fn->dma, b->pas[page],
					   1ull << b->log_page,
					   NM_DMA_R | NM_DMA_W);
		if (!b->host[page]) {
			nm_count(fn, NM_CNT_dma_faults);
			return NULL;
		}
	}
	return b->host[page] + (at & ((1ull << b->log_page) - 1));
}

bool nm_buf_read(struct nm_fn *fn, struct nm_buf *b, u64 at, void *dst, u32 len)
{
	u64 page = 1ull << b->log_page;
	u8 *d = dst;

	while (len) {
		u64 left = page - ((at + b->off) & (page - 1));
		u8 *p = nm_buf_at(fn, b, at);

		if (!p)
			return false;
		if (left > len)
			left = len;
		memcpy(d, p, left);
		d += left;
		at += left;
		len -= left;
	}
	return true;
}

bool nm_dbr_init(struct nm_cmd *c, struct nm_dbr *d, struct nm_obj *user,
		 u64 addr, bool umem, u32 umem_id)
{
	struct nm_umem *um;

	if (addr & 7) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_DBR);
		return false;
	}
	if (umem) {
		um = nm_obj_use(c, user, NM_OBJ_UMEM, umem_id);
		if (!um)
			return false;
		if (addr > um->size || um->size - addr < 8) {
			nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_DBR);
			return false;
		}
		addr += um->off;
		addr = um->pas[addr >> um->log_page] +
		       (addr & ((1ull << um->log_page) - 1));
	}
	d->addr = addr;
	d->p = NULL;
	d->gen = c->fn->dma.gen;
	return true;
}

bool nm_dbr_read(struct nm_fn *fn, struct nm_dbr *d, unsigned int word, u32 *v)
{
	if (!d->p || d->gen != fn->dma.gen) {
		d->gen = fn->dma.gen;
		d->p = nm_dma_ptr(&fn->dma, d->addr, 8, NM_DMA_R | NM_DMA_W);
		if (!d->p) {
			nm_count(fn, NM_CNT_dma_faults);
			return false;
		}
	}
	*v = be32toh(__atomic_load_n(&d->p[word], __ATOMIC_ACQUIRE));
	return true;
}

/*
 * The work queue context that SQ, RQ and RMP share. The object's references
 * (PD, memory, UAR) are taken; on failure the caller deletes the object.
 */
bool nm_wq_init(struct nm_cmd *c, struct nm_obj *obj, void *wq, u32 tail,
		struct nm_buf *buf, struct nm_dbr *dbr, u32 *uar,
		const struct nm_wq_geom *max, struct nm_wq_geom *g)
{
	u64 need;

	g->log_size = NM_GET(wq, wq, log_wq_sz);
	g->log_stride = NM_GET(wq, wq, log_wq_stride);
	if (g->log_size > max->log_size) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_SIZE);
		return false;
	}
	if (g->log_stride < 4 || g->log_stride > max->log_stride) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_STRIDE);
		return false;
	}
	/* mlx5e's drop queue has no protection domain: no key will match. */
	if (NM_GET(wq, wq, pd) &&
	    !nm_obj_use(c, obj, NM_OBJ_PD, NM_GET(wq, wq, pd)))
		return false;
	if (uar) {
		*uar = NM_GET(wq, wq, uar_page);
		if (!nm_obj_use(c, obj, NM_OBJ_UAR, *uar))
			return false;
	}
	if (!nm_dbr_init(c, dbr, obj, NM_GET64(wq, wq, dbr_addr),
			 NM_GET(wq, wq, dbr_umem_valid),
			 NM_GET(wq, wq, dbr_umem_id)))
		return false;
	need = 1ull << (g->log_size + g->log_stride);
	if (NM_GET(wq, wq, wq_umem_valid))
		return nm_buf_init_umem(c, buf, obj, NM_GET(wq, wq, wq_umem_id),
					NM_GET64(wq, wq, wq_umem_offset), need);
	return nm_buf_init(c, buf, NM_PTR(wq, wq, pas), tail,
			   NM_GET(wq, wq, log_wq_pg_sz) + NM_PAGE_SHIFT,
			   NM_GET(wq, wq, page_offset), need);
}
