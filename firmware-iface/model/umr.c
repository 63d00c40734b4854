// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* User-mode memory registration: a WQE that changes a memory key. */
#include "mkey.h"
#include "trace.h"
#include "tx.h"

enum {
	UMR_INLINE = BIT(7),
	UMR_CHECK_MASK = 3 << 5,
	UMR_CHECK_NOT_FREE = 1 << 5,
	UMR_CHECK_FREE = 2 << 5,
	UMR_OFFSET = BIT(4),
};

enum {
	MASK_LEN = BIT_ULL(0), MASK_PAGE_SIZE = BIT_ULL(1),
	MASK_START = BIT_ULL(6), MASK_PD = BIT_ULL(7), MASK_KEY = BIT_ULL(13),
	MASK_LW = BIT_ULL(18), MASK_FREE = BIT_ULL(29),
	MASK_PAGE_SIZE_5 = BIT_ULL(42),
};

#define UMR_MAX_OCTWORDS	(1u << 16)

/* Where the translations come from: behind the key's context, or in memory */
static bool umr_xlt(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w,
		    u32 off, u32 bytes, bool inl)
{
	const struct nm_wqe_data *d = (void *)(w->raw + off);

	if (inl) {
		if (off + bytes > w->len)
			return false;
		w->iov[0] = (struct nm_iov){ w->raw + off, bytes };
		w->nr_iov = 1;
		return true;
	}
	if (off + sizeof(*d) > w->len || be32toh(d->byte_count) < bytes)
		return false;
	w->nr_iov = nm_mkey_iov(fn, be32toh(d->lkey), sq->pd, be64toh(d->addr),
				bytes, NM_DMA_R, w->iov, NM_TX_MAX_IOV);
	return w->nr_iov >= 0;
}

/* One octword, which may lie across two pieces */
static bool umr_next(struct nm_wqe *w, int *i, u32 *off, u8 *octword)
{
	u32 n = 0;

	while (n < 16) {
		u32 left, part;

		if (*i == w->nr_iov)
			return false;
		left = w->iov[*i].len - *off;
		part = left < 16 - n ? left : 16 - n;
		memcpy(octword + n, w->iov[*i].p + *off, part);
		n += part;
		*off += part;
		if (*off == w->iov[*i].len) {
			(*i)++;
			*off = 0;
		}
	}
	return true;
}

static bool umr_write_xlt(struct nm_mkey *mk, struct nm_wqe *w, u64 first, u32 n)
{
	u32 per = mk->mode == NM_MKEY_MTT ? 2 : 1, k, off = 0;
	int i = 0;

	if (first + n > mk->octwords || !nm_mkey_reserve(mk, (first + n) * per))
		return false;
	for (k = 0; k < n; k++) {
		u8 o[16];

		if (!umr_next(w, &i, &off, o))
			return false;
		if (mk->mode == NM_MKEY_MTT) {
			u64 *m = &mk->mtt[(first + k) * 2];

			m[0] = nm_rd64(o) & ~(NM_PAGE_SIZE - 1ull);
			m[1] = nm_rd64(o + 8) & ~(NM_PAGE_SIZE - 1ull);
		} else {
			mk->klm[first + k] = (struct nm_klm){
				.len = nm_rd32(o), .key = nm_rd32(o + 4),
				.va = nm_rd64(o + 8),
			};
		}
	}
	return true;
}

static void umr_context(struct nm_mkey *mk, const void *mkc, u64 mask)
{
	if (mask & MASK_LEN)
		mk->len = NM_GET64(mkc, mkc, len);
	if (mask & MASK_START)
		mk->start = NM_GET64(mkc, mkc, start_addr);
	if (mask & (MASK_PAGE_SIZE | MASK_PAGE_SIZE_5))
		mk->log_page = NM_GET(mkc, mkc, log_page_size);
	if (mask & MASK_PD)
		mk->pd = NM_GET(mkc, mkc, pd);
	if (mask & MASK_KEY)
		mk->key = NM_GET(mkc, mkc, mkey_7_0);
	if (mask & MASK_LW)
		mk->local_write = NM_GET(mkc, mkc, lw);
	if (mask & MASK_FREE)
		mk->free = NM_GET(mkc, mkc, free);
}

u8 nm_tx_umr(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w)
{
	const struct nm_wqe_ctrl *ctrl = (void *)w->raw;
	const struct nm_wqe_umr_ctrl *u = (void *)(ctrl + 1);
	u32 off = sizeof(*ctrl) + sizeof(*u), n;
	u64 first = 0, mask;
	struct nm_mkey *mk;
	struct nm_obj *obj;
	const u8 *mkc;

	if (w->opmod || w->len < off)
		return NM_SYND_LOCAL_QP_OP;
	mkc = w->raw + off;
	obj = nm_obj_lookup(fn, NM_OBJ_MKEY, be32toh(ctrl->imm) >> 8);
	if (!obj)
		return NM_SYND_LOCAL_QP_OP;
	mk = container_of(obj, struct nm_mkey, obj);
	n = be16toh(u->xlt_octowords);
	mask = be64toh(u->mkey_mask);
	if (!mk->umr_en || n > UMR_MAX_OCTWORDS ||
	    ((u->flags & UMR_CHECK_MASK) == UMR_CHECK_FREE && !mk->free) ||
	    ((u->flags & UMR_CHECK_MASK) == UMR_CHECK_NOT_FREE && mk->free))
		return NM_SYND_LOCAL_QP_OP;
	if ((mask || n) && w->len < off + NM_BYTES(mkc))
		return NM_SYND_LOCAL_QP_OP;
	if (mask & (MASK_PAGE_SIZE | MASK_PAGE_SIZE_5) &&
	    (NM_GET(mkc, mkc, log_page_size) < NM_PAGE_SHIFT ||
	     NM_GET(mkc, mkc, log_page_size) > 31))
		return NM_SYND_LOCAL_QP_OP;
	if (u->flags & UMR_OFFSET)
		first = (u64)be32toh(u->xlt_offset_47_16) << 16 |
			be16toh(u->xlt_offset);
	if (n && (mk->mode == NM_MKEY_PA ||
		  !umr_xlt(fn, sq, w, off + NM_BYTES(mkc), n * 16,
			   u->flags & UMR_INLINE) ||
		  !umr_write_xlt(mk, w, first, n)))
		return NM_SYND_LOCAL_PROT;
	umr_context(mk, mkc, mask);
	nm_trace(fn, NM_TR_PKT, "umr mkey %#x octowords %u at %llu mask %#llx",
		 mk->obj.id, n, (unsigned long long)first,
		 (unsigned long long)mask);
	return 0;
}
