// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BlueFlame: a WQE that is written whole into its UAR page needs no fetch.
 *
 * A processor sends the 64 bytes as one burst; a vfio-user client sends eight
 * messages. The first one alone is a doorbell, and nothing says whether more
 * will come: a page waits for the rest only once a burst has been seen there,
 * and no longer than BF_HOLD_NS.
 */
#include "bf.h"
#include "queue.h"
#include "trace.h"

#define BF_HOLD_NS	1000000ull
#define BF_BUF_MASK	0xff	/* two buffers of 256 bytes, then the same again */

static bool bf_bursty(struct nm_bf *bf, u32 page)
{
	return bf->bursty[page / 32] & BIT(page % 32);
}

static void bf_doorbell(struct nm_fn *fn, u32 page, const u8 *ctrl)
{
	nm_db_push(fn, NM_DB_SQ, page, nm_rd32(ctrl + 4) >> 8);
}

/* What is held was a doorbell after all. */
static void bf_flush(struct nm_fn *fn)
{
	struct nm_bf *bf = &fn->bf;

	if (!bf->have)
		return;
	if (bf->have == 8)
		bf->bursty[bf->page / 32] &= ~BIT(bf->page % 32);
	bf->have = 0;
	bf_doorbell(fn, bf->page, bf->data);
}

static void bf_whole(struct nm_fn *fn)
{
	struct nm_bf *bf = &fn->bf;
	u32 head = atomic_load_explicit(&bf->head, memory_order_relaxed);
	u32 tail = atomic_load_explicit(&bf->tail, memory_order_acquire);
	u32 sqn = nm_rd32(bf->data + 4) >> 8;

	bf->have = 0;
	/* A slot without its doorbell would be taken for the next one's. */
	if (head - tail == NM_BF_SLOTS || nm_db_full(fn)) {
		bf_doorbell(fn, bf->page, bf->data);
		return;
	}
	memcpy(bf->slot[head % NM_BF_SLOTS], bf->data, NM_WQE_BB);
	atomic_store_explicit(&bf->head, head + 1, memory_order_release);
	nm_db_push(fn, NM_DB_BF, bf->page, sqn);
}

/* Eight bytes at @at of a page; true: they were one of a burst. */
static bool bf_chunk(struct nm_fn *fn, u32 page, u32 at, const u8 *b)
{
	struct nm_bf *bf = &fn->bf;
	u32 off = at & BF_BUF_MASK;

	if (bf->have && page == bf->page && at == bf->at + bf->have) {
		memcpy(bf->data + bf->have, b, 8);
		bf->have += 8;
		if (bf->have == NM_WQE_BB)
			bf_whole(fn);
		return true;
	}
	bf_flush(fn);
	if (!off && bf_bursty(bf, page)) {
		bf->page = page;
		bf->at = at;
		bf->have = 8;
		bf->since = nm_clock_ns();
		memcpy(bf->data, b, 8);
		return true;
	}
	/* The second chunk of the first burst; later ones have no meaning. */
	if (off == 8)
		bf->bursty[page / 32] |= BIT(page % 32);
	return off;
}

void nm_bf_write(struct nm_fn *fn, u32 page, u32 at, const u8 *b, u32 len)
{
	u32 off = at & BF_BUF_MASK;

	if (len == 8) {
		if (!bf_chunk(fn, page, at, b))
			bf_doorbell(fn, page, b);
		return;
	}
	/* A doorbell in two halves; halves of a burst count for nothing. */
	bf_flush(fn);
	if (off == 4)
		nm_db_push(fn, NM_DB_SQ, page, nm_rd32(b) >> 8);
}

u64 nm_bf_next(struct nm_fn *fn)
{
	return fn->bf.have ? fn->bf.since + BF_HOLD_NS : ~0ull;
}

void nm_bf_poll(struct nm_fn *fn)
{
	if (fn->bf.have && nm_clock_ns() >= nm_bf_next(fn))
		bf_flush(fn);
}

void nm_bf_reset(struct nm_fn *fn)
{
	fn->bf.have = 0;
	memset(fn->bf.bursty, 0, sizeof(fn->bf.bursty));
}

/* Engine: the oldest slot belongs to the oldest NM_DB_BF. */
void nm_bf_doorbell(struct nm_fn *fn, u32 page, u32 sqn)
{
	struct nm_bf *bf = &fn->bf;
	u32 tail = atomic_load_explicit(&bf->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&bf->head, memory_order_acquire))
		return;
	nm_sq_blueflame(fn, page, sqn, bf->slot[tail % NM_BF_SLOTS]);
	atomic_store_explicit(&bf->tail, tail + 1, memory_order_release);
}
