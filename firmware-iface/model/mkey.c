// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory keys and user memory: creation and translation. */
#include <stdlib.h>

#include "cmd.h"
#include "mkey.h"

#define MKEY_MAX_OCTWORDS	(1u << 20)
#define MKEY_MAX_DEPTH		3
#define UMEM_MAX_PAGES		(1u << 18)

static void mkey_destroy(struct nm_obj *obj)
{
	struct nm_mkey *mk = container_of(obj, struct nm_mkey, obj);

	free(mk->mtt);
	free(mk->klm);
}

/* An octword holds two MTT entries or one KLM. */
bool nm_mkey_reserve(struct nm_mkey *mk, u32 nr)
{
	u64 room = (u64)mk->octwords * (mk->mode == NM_MKEY_MTT ? 2 : 1);
	void *p;

	if (nr > room)
		return false;
	if (nr <= mk->nr)
		return true;
	if (mk->mode == NM_MKEY_MTT) {
		p = realloc(mk->mtt, nr * sizeof(*mk->mtt));
		if (!p)
			return false;
		mk->mtt = p;
		memset(mk->mtt + mk->nr, 0, (nr - mk->nr) * sizeof(*mk->mtt));
	} else {
		p = realloc(mk->klm, nr * sizeof(*mk->klm));
		if (!p)
			return false;
		mk->klm = p;
		memset(mk->klm + mk->nr, 0, (nr - mk->nr) * sizeof(*mk->klm));
	}
	mk->nr = nr;
	return true;
}

static bool mkey_fill(struct nm_mkey *mk, const u8 *p, u32 octwords)
{
	u32 i, nr = mk->mode == NM_MKEY_MTT ? octwords * 2 : octwords;

	if (!nm_mkey_reserve(mk, nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (mk->mode == NM_MKEY_MTT) {
			mk->mtt[i] = nm_rd64(p + i * 8) & ~(NM_PAGE_SIZE - 1ull);
		} else {
			mk->klm[i].len = nm_rd32(p + i * 16);
			mk->klm[i].key = nm_rd32(p + i * 16 + 4);
			mk->klm[i].va = nm_rd64(p + i * 16 + 8);
		}
	}
	return true;
}

void nm_cmd_create_mkey(struct nm_cmd *c)
{
	void *mkc = NM_PTR(create_mkey_in, c->in, memory_key_mkey_entry);
	u32 mode = NM_GET(mkc, mkc, access_mode_1_0) |
		   NM_GET(mkc, mkc, access_mode_4_2) << 2;
	u32 actual = NM_GET(create_mkey_in, c->in,
			    translations_octword_actual_size);
	u32 octwords = NM_GET(mkc, mkc, translations_octword_size);
	u32 tail = c->in_len - NM_BYTES(create_mkey_in);
	struct nm_mkey *mk;

	if (mode > NM_MKEY_KSM || NM_GET(create_mkey_in, c->in, mkey_umem_valid) ||
	    NM_GET(mkc, mkc, bsf_en)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_MKEY_MODE);
		return;
	}
	if (octwords > MKEY_MAX_OCTWORDS || actual > octwords ||
	    actual > tail / 16 ||
	    ((mode == NM_MKEY_MTT || mode == NM_MKEY_KSM) && octwords &&
	     NM_GET(mkc, mkc, log_page_size) < NM_PAGE_SHIFT &&
	     !NM_GET(mkc, mkc, free))) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_MKEY_SIZE);
		return;
	}
	mk = nm_obj_new(c, NM_OBJ_MKEY, sizeof(*mk));
	if (!mk)
		return;
	mk->obj.destroy = mkey_destroy;
	mk->mode = mode;
	mk->key = NM_GET(mkc, mkc, mkey_7_0);
	mk->free = NM_GET(mkc, mkc, free);
	mk->umr_en = NM_GET(mkc, mkc, umr_en);
	mk->local_write = NM_GET(mkc, mkc, lw);
	mk->len64 = NM_GET(mkc, mkc, length64);
	mk->log_page = NM_GET(mkc, mkc, log_page_size);
	mk->pd = NM_GET(mkc, mkc, pd);
	mk->start = NM_GET64(mkc, mkc, start_addr);
	mk->len = NM_GET64(mkc, mkc, len);
	mk->octwords = octwords;
	/* A free key has no protection domain yet. */
	if (!(mk->pd || !mk->free) ||
	    nm_obj_find(c, NM_OBJ_PD, mk->pd)) {
		if (mkey_fill(mk, NM_PTR(create_mkey_in, c->in, klm_pas_mtt),
			      actual)) {
			NM_SET(create_mkey_out, c->out, mkey_index, mk->obj.id);
			return;
		}
		nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_MEMORY);
	}
	nm_obj_del(&mk->obj);
}

void nm_cmd_query_mkey(struct nm_cmd *c)
{
	void *mkc = NM_PTR(query_mkey_out, c->out, memory_key_mkey_entry);
	struct nm_mkey *mk = nm_obj_find(c, NM_OBJ_MKEY,
					 NM_GET(query_mkey_in, c->in, mkey_index));

	if (!mk)
		return;
	NM_SET(mkc, mkc, access_mode_1_0, mk->mode);
	NM_SET(mkc, mkc, mkey_7_0, mk->key);
	NM_SET(mkc, mkc, free, mk->free);
	NM_SET(mkc, mkc, umr_en, mk->umr_en);
	NM_SET(mkc, mkc, lw, mk->local_write);
	NM_SET(mkc, mkc, length64, mk->len64);
	NM_SET(mkc, mkc, log_page_size, mk->log_page);
	NM_SET(mkc, mkc, pd, mk->pd);
	NM_SET(mkc, mkc, translations_octword_size, mk->octwords);
	NM_SET64(mkc, mkc, start_addr, mk->start);
	NM_SET64(mkc, mkc, len, mk->len);
}

static int mkey_iov(struct nm_fn *fn, u32 lkey, u32 pd, u64 va, u32 len,
		    u8 prot, struct nm_iov *iov, int max, int depth);

/* MTT: pages of one size; the first may begin anywhere inside its page. */
static int mtt_iov(struct nm_fn *fn, struct nm_mkey *mk, u64 off, u32 len,
		   u8 prot, struct nm_iov *iov, int max)
{
	u64 page = 1ull << mk->log_page;
	int n = 0, got;

	off += mk->start & (page - 1);
	while (len) {
		u64 idx = off >> mk->log_page, in_page = off & (page - 1);
		u32 part = page - in_page < len ? page - in_page : len;

		if (idx >= mk->nr)
			return -1;
		got = nm_dma_iov(fn, mk->mtt[idx] + in_page, part, prot,
				 iov + n, max - n);
		if (got < 0)
			return -1;
		n += got;
		off += part;
		len -= part;
	}
	return n;
}

/* KLM: entries of their own length; KSM: all of 1 << log_page. */
static int klm_iov(struct nm_fn *fn, struct nm_mkey *mk, u64 off, u32 len,
		   u8 prot, struct nm_iov *iov, int max, int depth)
{
	bool fixed = mk->mode == NM_MKEY_KSM;
	int n = 0, got;
	u32 i = 0;

	if (fixed) {
		i = off >> mk->log_page > mk->nr ? mk->nr : off >> mk->log_page;
		off &= (1ull << mk->log_page) - 1;
	}
	for (; len && i < mk->nr; i++) {
		u64 size = fixed ? 1ull << mk->log_page : mk->klm[i].len;
		u32 part;

		if (off >= size) {
			off -= size;
			continue;
		}
		part = size - off < len ? size - off : len;
		got = mkey_iov(fn, mk->klm[i].key, mk->pd, mk->klm[i].va + off,
			       part, prot, iov + n, max - n, depth + 1);
		if (got < 0)
			return -1;
		n += got;
		len -= part;
		off = 0;
	}
	return len ? -1 : n;
}

static int mkey_iov(struct nm_fn *fn, u32 lkey, u32 pd, u64 va, u32 len,
		    u8 prot, struct nm_iov *iov, int max, int depth)
{
	struct nm_obj *obj = nm_obj_lookup(fn, NM_OBJ_MKEY, lkey >> 8);
	struct nm_mkey *mk;

	if (!obj || depth > MKEY_MAX_DEPTH)
		return -1;
	mk = container_of(obj, struct nm_mkey, obj);
	if (mk->key != (lkey & 0xff) || mk->free ||
	    (pd != NM_PD_ANY && mk->pd != pd))
		return -1;
	if (prot & NM_DMA_W && !mk->local_write)
		return -1;
	if (mk->mode == NM_MKEY_PA && mk->len64)
		return nm_dma_iov(fn, va, len, prot, iov, max);
	if (va < mk->start || (!mk->len64 && (va - mk->start > mk->len ||
					      len > mk->len - (va - mk->start))))
		return -1;
	if (mk->mode == NM_MKEY_PA)
		return nm_dma_iov(fn, va, len, prot, iov, max);
	if (mk->mode == NM_MKEY_MTT)
		return mtt_iov(fn, mk, va - mk->start, len, prot, iov, max);
	return klm_iov(fn, mk, va - mk->start, len, prot, iov, max, depth);
}

int nm_mkey_iov(struct nm_fn *fn, u32 lkey, u32 pd, u64 va, u32 len, u8 prot,
		struct nm_iov *iov, int max)
{
	return mkey_iov(fn, lkey, pd, va, len, prot, iov, max, 0);
}

static void umem_destroy(struct nm_obj *obj)
{
	free(container_of(obj, struct nm_umem, obj)->pas);
}

void nm_cmd_create_umem(struct nm_cmd *c)
{
	void *um_in = NM_PTR(create_umem_in, c->in, umem);
	u64 nr = NM_GET64(umem, um_in, num_of_mtt);
	u32 log_page = NM_GET(umem, um_in, log_page_size) + NM_PAGE_SHIFT;
	u32 off = NM_GET(umem, um_in, page_offset);
	struct nm_umem *um;
	u32 i;

	if (!nr || nr > UMEM_MAX_PAGES || log_page > 31 ||
	    off >= 1u << log_page || NM_GET(umem, um_in, ats)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_PAS);
		return;
	}
	if (nr > (c->in_len - NM_BYTES(create_umem_in)) / 8) {
		nm_cmd_fail(c, NM_ST_BAD_INP_LEN, NM_SYN_QUEUE_PAS);
		return;
	}
	um = nm_obj_new(c, NM_OBJ_UMEM, sizeof(*um));
	if (!um)
		return;
	um->obj.destroy = umem_destroy;
	um->pas = calloc(nr, sizeof(*um->pas));
	if (!um->pas) {
		nm_obj_del(&um->obj);
		nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_MEMORY);
		return;
	}
	um->nr = nr;
	um->log_page = log_page;
	um->off = off;
	um->size = (nr << log_page) - off;
	for (i = 0; i < nr; i++)
		um->pas[i] = nm_rd64(NM_PTR(umem, um_in, mtt) + i * 8ull) &
			     ~(NM_PAGE_SIZE - 1ull);
	NM_SET(create_umem_out, c->out, umem_id, um->obj.id);
}
