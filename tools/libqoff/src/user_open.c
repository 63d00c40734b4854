// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Opening a received packet in user space: which status it gets and why.
 */
#include "user.h"

/* Under k->lock. RFC 9001 section 6.6: tell before the limit, once. */
static void count_failed(struct qoff_sock *s, struct user_flow *f, struct user_rxkeys *k)
{
	uint64_t limit = qoff_cipher_info(k->cipher)->open_limit;

	k->failed++;
	COUNT(&f->stats, RX_FAILED, 1);
	COUNT(&s->user->stats, RX_FAILED, 1);
	if (k->warned || k->failed < limit - limit / 8)
		return;
	k->warned = true;
	qoff_user_key_event(s->q, s->user->group->id, QUIC_OFFLOAD_DIRECTION_RX, f->id,
			    k->failed, limit);
}

/* Under k->lock. @hdr is unprotected. */
static bool open_with(struct user_rxkeys *k, const uint8_t *hdr, size_t dcid_len,
		      const uint8_t *src, uint8_t *dst, size_t len, struct qoff_rx_seg *seg)
{
	unsigned int n = qoff_pn_len(hdr[0]), phase = qoff_phase(hdr[0]);
	size_t hdr_len = 1 + dcid_len + n;
	uint64_t pn;

	if (len < hdr_len + QOFF_TAG_SIZE)
		return false;
	pn = qoff_pn_expand(k->next_pn, qoff_pn_get(hdr + 1 + dcid_len, n), n);
	if (qoff_cipher_open(k->slot[phase], hdr, hdr_len, src + hdr_len, dst + hdr_len,
			     len - hdr_len, pn))
		return false;
	memcpy(dst, hdr, hdr_len);
	if (pn >= k->next_pn)
		k->next_pn = pn + 1;
	seg->hdr_len = hdr_len;
	seg->pn_len = n;
	seg->key_gen = k->gen[phase];
	seg->pn = pn;
	return true;
}

/* Under k->lock. */
static uint8_t try_open(struct user_rxkeys *k, size_t dcid_len, const uint8_t *src, uint8_t *dst,
			size_t len, struct qoff_rx_seg *seg)
{
	uint8_t hdr[QOFF_MAX_HDR], mask[QOFF_HP_MASK];

	if (len < qoff_min_len(dcid_len) ||
	    qoff_cipher_mask(k->hp, src + qoff_sample_off(dcid_len), mask))
		return QOFF_RX_FAILED;
	memcpy(hdr, src, 1 + dcid_len + 4);
	qoff_hp_remove(hdr, dcid_len, mask);
	if (!k->slot[qoff_phase(hdr[0])])
		return QOFF_RX_NO_PHASE;
	return open_with(k, hdr, dcid_len, src, dst, len, seg) ? QOFF_RX_OPENED : QOFF_RX_FAILED;
}

void user_open(struct qoff_sock *s, struct user_flow *f, const uint8_t *src, uint8_t *dst,
	       size_t len, bool peek, struct qoff_rx_seg *seg)
{
	struct user_stats *st = &s->user->stats;
	struct user_rxkeys *k = f ? f->keys : NULL;

	memset(seg, 0, sizeof(*seg));
	seg->len = len;
	if (k) {
		pthread_mutex_lock(&k->lock);
		seg->status = try_open(k, s->user->group->dcid_len, src, dst, len, seg);
		if (seg->status == QOFF_RX_FAILED && !peek)
			count_failed(s, f, k);
		pthread_mutex_unlock(&k->lock);
	} else if (f) {
		seg->status = QOFF_RX_NO_KEY;
	} else {
		seg->status = len && !qoff_is_short(src[0]) ? QOFF_RX_LONG_HEADER : QOFF_RX_NO_FLOW;
	}
	/* A failed AEAD has left rubbish; a raw packet is the bytes that came in. */
	if (seg->status != QOFF_RX_OPENED)
		memcpy(dst, src, len);
	if (peek)
		return;

	COUNT(st, RX_SEGS, 1);
	COUNT(st, RX_BYTES, len);
	if (f) {
		COUNT(&f->stats, RX_SEGS, 1);
		COUNT(&f->stats, RX_BYTES, len);
	}
	switch (seg->status) {
	case QOFF_RX_OPENED:
		COUNT(st, RX_SW_OPENED, 1);
		COUNT(&f->stats, RX_SW_OPENED, 1);
		break;
	case QOFF_RX_NO_FLOW:
		COUNT(st, RX_NO_FLOW, 1);
		break;
	case QOFF_RX_NO_KEY:
		COUNT(st, RX_NO_KEY, 1);
		COUNT(&f->stats, RX_NO_KEY, 1);
		break;
	case QOFF_RX_NO_PHASE:
		COUNT(st, RX_NO_PHASE, 1);
		COUNT(&f->stats, RX_NO_PHASE, 1);
		break;
	}
}
