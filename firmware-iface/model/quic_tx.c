// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send WQEs with a QUIC segment. Everything is checked before the first packet
 * is made: a WQE goes out as a whole or not at all. Headers are copied when they
 * are checked, as guest memory may change after that.
 */
#include <errno.h>
#include <net/quic_offload/wire.h>

#include "port.h"
#include "quic.h"
#include "trace.h"

#define FRAME_PAD	(NM_FRAME_MIN + 16)
#define BATCH		8	/* packets whose masks are made in one go; they stay in the cache */

/* One packet of a super-packet */
struct seg {
	u64 pn;
	u32 off;	/* in the WQE's payload */
	u16 in;		/* bytes there, tag room included */
	u16 wire;	/* bytes of UDP payload on the wire */
	u8 hdr_len;
	u8 hdr[NM_QUIC_MAX_HDR];
};

/* A super-packet while it is worked on */
struct super {
	struct nm_fn *fn;
	struct nm_wqe *w;
	struct nm_quic_ctx *x;
	struct nm_lso lso;
	u8 flags;
	u8 slot;
	u32 n;
	u64 last;
	struct seg seg[QOFF_MLX5_MAX_SEGS];
	u8 sample[BATCH * NM_QUIC_SAMPLE];
	u8 mask[BATCH * NM_QUIC_SAMPLE];
	u8 bounce[65536];
	u8 frame[BATCH][NM_FRAME_MAX + NM_LSO_MAX_HDR + FRAME_PAD];
};

static u8 malformed(struct nm_wqe *w, enum qoff_mlx5_vendor_synd v)
{
	w->vendor = v;
	return NM_SYND_LOCAL_QP_OP;
}

static u8 refuse(struct nm_fn *fn, struct nm_wqe *w, enum qoff_mlx5_tx_status st)
{
	nm_count(fn, NM_CNT_quic_tx_refused);
	nm_trace(fn, NM_TR_ERR, "quic wqe %#x refused, status %u", w->idx, st);
	w->quic_status = st;
	return 0;
}

static bool flags_ok(struct nm_fn *fn, const struct nm_wqe *w, u32 fc)
{
	u8 f = fc >> 24;

	if (f & ~QOFF_MLX5_TXF_KNOWN || w->quic->rsvd ||
	    (f & QOFF_MLX5_TXF_PN_SKIP && !(f & QOFF_MLX5_TXF_TABLE)))
		return false;
	if (!(f & QOFF_MLX5_TXF_SEAL))
		return !(fc & 0xffffff) && !(f & ~QOFF_MLX5_TXF_TABLE) && !w->quic->pn;
	if (!(f & QOFF_MLX5_TXF_PN) && (w->quic->pn || f & QOFF_MLX5_TXF_PN_SKIP))
		return false;
	return (f & QOFF_MLX5_TXF_PN ? NM_QUIC_CAP(fn, tx_explicit_pn) :
				       NM_QUIC_CAP(fn, tx_tracked_pn)) &&
	       (f & QOFF_MLX5_TXF_TAG_ROOM ? NM_QUIC_CAP(fn, tag_room) :
					     NM_QUIC_CAP(fn, tag_insert)) &&
	       (!(f & QOFF_MLX5_TXF_PN_SKIP) || NM_QUIC_CAP(fn, lso_pn_skip));
}

/* The segment and its table, right behind the headers; moves @off behind them */
u8 nm_quic_tx_seg(struct nm_fn *fn, struct nm_wqe *w, u32 *off)
{
	const struct qoff_mlx5_wqe_quic *q = (void *)(w->raw + *off);
	u32 table, fc, n;
	bool lso = w->opcode == NM_OP_LSO, has_table, skip;

	if (*off + sizeof(*q) > w->len)
		return malformed(w, QOFF_MLX5_VES_SHORT);
	w->quic = q;
	*off += sizeof(*q);
	fc = be32toh(q->flags_ctx);
	if (!flags_ok(fn, w, fc))
		return malformed(w, QOFF_MLX5_VES_FLAGS);
	has_table = fc >> 24 & QOFF_MLX5_TXF_TABLE;
	skip = fc >> 24 & QOFF_MLX5_TXF_PN_SKIP;
	if (lso && !(has_table ? NM_QUIC_CAP(fn, lso_var) : NM_QUIC_CAP(fn, lso_fixed)))
		return malformed(w, QOFF_MLX5_VES_FLAGS);
	n = q->num_segs;
	if (!n || n > NM_QUIC_CAP(fn, max_lso_segs) || n > QOFF_MLX5_MAX_SEGS ||
	    (!lso && n != 1))
		return malformed(w, QOFF_MLX5_VES_SEGS);
	table = has_table ? qoff_mlx5_table_ds(n, skip) : 0;
	if (q->table_ds != table || *off + table * NM_WQE_DS > w->len)
		return malformed(w, QOFF_MLX5_VES_SHORT);
	w->table = w->raw + *off;
	*off += table * NM_WQE_DS;
	return 0;
}

/* Lengths of the packets and, when given, their numbers */
static u8 cut(struct super *s)
{
	const struct nm_wqe *w = s->w;
	u32 mss = be16toh(w->eth->mss) & 0x3fff, off = 0, i, len;
	u64 pn = be64toh(w->quic->pn);

	for (i = 0; i < s->n; i++) {
		struct seg *g = &s->seg[i];

		if (s->flags & QOFF_MLX5_TXF_PN_SKIP) {
			len = nm_rd16(w->table + i * 4);
			pn += nm_rd16(w->table + i * 4 + 2);
			if (!i && pn != be64toh(w->quic->pn))
				return malformed(s->w, QOFF_MLX5_VES_FLAGS);
		} else if (s->flags & QOFF_MLX5_TXF_TABLE) {
			len = nm_rd16(w->table + i * 2);
		} else if (w->opcode == NM_OP_LSO) {
			len = w->bytes - off < mss ? w->bytes - off : mss;
		} else {
			len = w->bytes;
		}
		if (!len || len > w->bytes - off || len > 65535)
			return malformed(s->w, QOFF_MLX5_VES_SUM);
		g->off = off;
		g->in = len;
		g->pn = pn++;
		off += len;
	}
	if (off != w->bytes || (s->flags & QOFF_MLX5_TXF_TABLE && mss))
		return malformed(s->w, QOFF_MLX5_VES_SUM);
	return 0;
}

/* Where in the payload @off is: host memory, when @len bytes are there in a row */
struct cursor {
	const struct nm_iov *iov;
	u32 base;	/* of @iov in the payload */
};

static const u8 *payload_at(struct super *s, struct cursor *c, u32 off, u32 len, u8 *copy)
{
	const struct nm_iov *v;
	u32 base, done = 0;

	while (off >= c->base + c->iov->len) {
		c->base += c->iov->len;
		c->iov++;
	}
	if (off + len <= c->base + c->iov->len)
		return c->iov->p + (off - c->base);
	for (v = c->iov, base = c->base; done < len; base += v->len, v++) {
		u32 at = off + done - base;
		u32 part = v->len - at < len - done ? v->len - at : len - done;

		memcpy(copy + done, v->p + at, part);
		done += part;
	}
	return copy;
}

static enum qoff_mlx5_tx_status status_of(int err)
{
	switch (err) {
	case 0:
		return QOFF_MLX5_TXS_OK;
	case -EINVAL:
		return QOFF_MLX5_TXS_LENGTH;
	case -EPROTO:
		return QOFF_MLX5_TXS_HEADER;
	default:
		return QOFF_MLX5_TXS_PN;
	}
}

/* One packet's header against what it is to be sealed as; keeps a copy of it */
static enum qoff_mlx5_tx_status check_seg(struct super *s, struct seg *g, struct cursor *c,
					  u64 *next)
{
	u32 dcid = s->x->dcid_len, want = g->in < NM_QUIC_MAX_HDR ? g->in : NM_QUIC_MAX_HDR;
	u8 copy[NM_QUIC_MAX_HDR];
	u32 n;

	memcpy(g->hdr, payload_at(s, c, g->off, want, copy), want);
	n = qoff_pn_len(g->hdr[0]);
	if (g->wire < qoff_min_len(dcid) || g->in < 1 + dcid + n)
		return QOFF_MLX5_TXS_LENGTH;
	if (!(s->flags & QOFF_MLX5_TXF_PN)) {
		g->pn = qoff_pn_expand(*next, qoff_pn_get(g->hdr + 1 + dcid, n), n);
		*next = g->pn + 1 > *next ? g->pn + 1 : *next;
	}
	if (s->x->pn_check && g->pn < s->x->next_pn)
		return QOFF_MLX5_TXS_PN_REUSE;
	g->hdr_len = 1 + dcid + n;
	if (qoff_is_short(g->hdr[0]) && qoff_phase(g->hdr[0]) != s->slot)
		return QOFF_MLX5_TXS_HEADER;
	return status_of(qoff_seal_check(g->hdr, g->wire, dcid, g->pn, true));
}

static enum qoff_mlx5_tx_status check_ctx(struct super *s, struct nm_sq *sq, u32 id)
{
	struct nm_quic_slot *k;

	s->x = nm_quic_ctx_get(s->fn, id, sq->obj->uid);
	if (!s->x || s->x->dir != QOFF_MLX5_TX || nm_fault_take(s->fn, quic.refuse))
		return QOFF_MLX5_TXS_NO_CTX;
	if (!s->x->revoked && nm_fault_take(s->fn, quic.key_lost))
		nm_quic_revoke(s->x);
	if (s->x->revoked)
		return QOFF_MLX5_TXS_KEY_LOST;
	k = &s->x->slot[s->slot];
	if (!k->evp)
		return QOFF_MLX5_TXS_NO_KEY;
	if (s->x->limit && k->packets + s->n > s->x->limit) {
		nm_quic_count(s->x, s->slot, 0);
		if (!k->limited)
			nm_quic_event(s->x, QOFF_MLX5_EV_LIMIT);
		k->limited = true;
		return QOFF_MLX5_TXS_LIMIT;
	}
	return QOFF_MLX5_TXS_OK;
}

static enum qoff_mlx5_tx_status check_all(struct super *s)
{
	bool room = s->flags & QOFF_MLX5_TXF_TAG_ROOM, seal = s->x;
	struct cursor c = { .iov = s->w->iov };
	u64 next = seal ? s->x->next_pn : 0, prev = 0;
	enum qoff_mlx5_tx_status st;
	u32 i;

	for (i = 0; i < s->n; i++) {
		struct seg *g = &s->seg[i];
		u32 wire = g->in + (seal && !room ? QOFF_MLX5_TAG : 0);

		if (s->lso.hdr_len + wire > nm_port_frame_max(s->fn))
			return QOFF_MLX5_TXS_LENGTH;
		g->wire = wire;
		if (!seal)
			continue;
		st = check_seg(s, g, &c, &next);
		if (st)
			return st;
		/* Tracked numbers come out of headers: twice is once too often. */
		if (i && g->pn <= prev)
			return QOFF_MLX5_TXS_PN;
		prev = g->pn;
	}
	s->last = prev;
	return QOFF_MLX5_TXS_OK;
}

/* The frame of packet @i but for its header protection */
static bool build(struct super *s, u32 i, struct cursor *c, u8 *frame)
{
	struct seg *g = &s->seg[i];
	u8 *q = frame + s->lso.hdr_len;
	const u8 *in = payload_at(s, c, g->off, g->in, s->bounce);
	u32 body = g->wire - g->hdr_len - QOFF_MLX5_TAG;

	memcpy(frame, s->lso.hdr, s->lso.hdr_len);
	nm_lso_patch(&s->lso, frame, i, g->off, g->wire, false);
	if (!s->x) {
		memcpy(q, in, g->in);
		return true;
	}
	if (s->flags & QOFF_MLX5_TXF_SET_FIXED)
		g->hdr[0] |= QOFF_B0_FIXED;
	memcpy(q, g->hdr, g->hdr_len);
	if (!nm_quic_seal(s->x, s->slot, g->pn, q, g->hdr_len, in + g->hdr_len, body,
			  q + g->hdr_len, q + g->wire - QOFF_MLX5_TAG))
		return false;
	memcpy(s->sample + i % BATCH * NM_QUIC_SAMPLE, q + qoff_sample_off(s->x->dcid_len),
	       NM_QUIC_SAMPLE);
	return true;
}

/* Packets @from to @to - 1: sealed, their headers protected, and out */
static bool send_batch(struct super *s, struct cursor *c, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++)
		if (!build(s, i, c, s->frame[i % BATCH]))
			return false;
	if (s->x && !nm_quic_masks(s->x, s->sample, to - from, s->mask))
		return false;
	if (s->x && !from && nm_fault_take(s->fn, quic.tag))
		s->frame[0][s->lso.hdr_len + s->seg[0].wire - 1] ^= 1;
	for (i = from; i < to; i++) {
		u8 *frame = s->frame[i % BATCH];

		if (i == s->n / 2 && nm_fault_take(s->fn, quic.die))
			nm_fn_fatal(s->fn, 1, true);
		if (s->fn->state != NM_FN_READY)
			return true;
		if (s->x)
			qoff_hp_apply(frame + s->lso.hdr_len, s->x->dcid_len,
				      s->mask + i % BATCH * NM_QUIC_SAMPLE);
		nm_lso_out(&s->lso, s->fn, frame, s->seg[i].wire, s->w->eth->cs_flags);
	}
	return true;
}

/* All checks have been made: the numbers are used, whatever happens now. */
static u8 send(struct super *s)
{
	struct cursor c = { .iov = s->w->iov };
	u32 i;

	if (s->x) {
		if (s->last >= s->x->next_pn)
			s->x->next_pn = s->last + 1;
		nm_quic_count(s->x, s->slot, s->n);
		nm_count_add(s->fn, NM_CNT_quic_tx_sealed, s->n);
	}
	nm_count(s->fn, NM_CNT_quic_tx_super);
	for (i = 0; i < s->n; i += BATCH)
		if (!send_batch(s, &c, i, s->n - i < BATCH ? s->n : i + BATCH))
			return refuse(s->fn, s->w, QOFF_MLX5_TXS_INTERNAL);
	if (nm_fault_take(s->fn, quic.status))
		s->w->quic_status = QOFF_MLX5_TXS_INTERNAL;
	return 0;
}

u8 nm_quic_tx(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w)
{
	static __thread struct super super;
	struct super *s = &super;
	u32 fc = be32toh(w->quic->flags_ctx);
	enum qoff_mlx5_tx_status st;
	u8 synd;

	s->fn = fn;
	s->w = w;
	s->x = NULL;
	s->flags = fc >> 24;
	s->slot = !!(s->flags & QOFF_MLX5_TXF_PHASE);
	s->n = w->quic->num_segs;
	if (!w->bytes || w->bytes > 65535 ||
	    w->bytes > 1ull << NM_QUIC_CAP(fn, log_max_lso_bytes))
		return malformed(w, QOFF_MLX5_VES_SUM);
	if (!w->hdr || !nm_lso_init(&s->lso, w) || s->lso.p.l4_proto != NM_IP_UDP)
		return malformed(w, QOFF_MLX5_VES_HEADERS);
	synd = cut(s);
	if (synd)
		return synd;
	if (s->flags & QOFF_MLX5_TXF_SEAL) {
		st = check_ctx(s, sq, fc & 0xffffff);
		if (st)
			return refuse(fn, w, st);
	}
	st = check_all(s);
	if (st)
		return refuse(fn, w, st);
	nm_trace(fn, NM_TR_PKT, "quic sqn %#x ctx %#x packets %u payload %u",
		 sq->obj->id, fc & 0xffffff, s->n, w->bytes);
	return send(s);
}
