// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A received packet and its context: remove header protection, choose the slot,
 * expand the number, open (RFC 9001 sections 5.3 and 5.4). And the table of
 * contexts that are found by what is in a packet.
 */
#include <net/quic_offload/wire.h>

#include "quic.h"
#include "steer.h"

/* What is delivered of a packet that was not opened. @buf has the header without
 * protection; the payload in it is what came out, or nothing did.
 */
static void not_opened(struct nm_quic_ctx *x, const u8 *payload, u32 len, u8 *buf,
		       u32 hdr_len, bool came_out, struct nm_quic_rx *r)
{
	u32 done = came_out ? len - QOFF_MLX5_TAG : hdr_len;

	switch (x->fail_action) {
	case QOFF_MLX5_FAIL_DROP:
		r->drop = true;
		break;
	case QOFF_MLX5_FAIL_MODIFIED:
		memcpy(buf + done, payload + done, len - done);
		r->flags |= QOFF_MLX5_RXF_HDR;
		r->data = buf;
		break;
	default:
		break;
	}
}

static void opened(struct nm_fn *fn, struct nm_quic_ctx *x, struct nm_quic_rx *r)
{
	u32 log = NM_QUIC_CAP(fn, pn_window_log);
	u64 next = x->next_pn;

	r->flags |= QOFF_MLX5_RXF_OPENED | QOFF_MLX5_RXF_HDR;
	if (log && log < 62 && r->pn + (1ull << log) < next)
		r->flags |= QOFF_MLX5_RXF_PN_BELOW;
	if (log && log < 62 && r->pn > next + (1ull << log))
		r->flags |= QOFF_MLX5_RXF_PN_ABOVE;
	nm_count(fn, NM_CNT_quic_rx_opened);
	nm_quic_count(x, r->phase, 1);
	if (r->pn < next)
		return;
	x->next_pn = r->pn + 1;
	/* A late packet of the old phase does not turn it back. */
	if (r->phase != x->phase) {
		x->phase = r->phase;
		nm_quic_event(x, QOFF_MLX5_EV_PHASE);
	}
}

static void failed(struct nm_fn *fn, struct nm_quic_ctx *x)
{
	nm_count(fn, NM_CNT_quic_rx_failed);
	x->auth_failures++;
	if (x->limit && x->auth_failures == x->limit)
		nm_quic_event(x, QOFF_MLX5_EV_LIMIT);
}

static void not_tried(struct nm_fn *fn, struct nm_quic_ctx *x, u8 flag,
		      struct nm_quic_rx *r)
{
	nm_count(fn, NM_CNT_quic_rx_no_key);
	r->flags = flag;
	r->drop = x->fail_action == QOFF_MLX5_FAIL_DROP;
}

void nm_quic_rx_packet(struct nm_quic_ctx *x, const u8 *payload, u32 len, u8 *buf,
		       struct nm_quic_rx *r)
{
	struct nm_fn *fn = x->gen->obj.fn;
	u8 hdr[NM_QUIC_MAX_HDR], mask[QOFF_MLX5_TAG];
	struct nm_quic_slot *s;
	u32 hdr_len, body;

	if (!len || payload[0] & QOFF_B0_LONG || !x->hp)
		return;
	if (!x->revoked && nm_fault_take(fn, quic.key_lost))
		nm_quic_revoke(x);
	if (x->revoked) {
		not_tried(fn, x, QOFF_MLX5_RXF_CTX_ERROR, r);
		return;
	}
	if (!x->slot[0].evp && !x->slot[1].evp)
		return;
	if (len < qoff_min_len(x->dcid_len)) {
		not_tried(fn, x, QOFF_MLX5_RXF_RUNT, r);
		return;
	}
	memcpy(hdr, payload, qoff_sample_off(x->dcid_len));
	if (!nm_quic_masks(x, payload + qoff_sample_off(x->dcid_len), 1, mask))
		return;
	r->pn_len = qoff_hp_remove(hdr, x->dcid_len, mask);
	r->phase = qoff_phase(hdr[0]);
	r->pn = qoff_pn_expand(x->next_pn, qoff_pn_get(hdr + 1 + x->dcid_len, r->pn_len),
			       r->pn_len);
	s = &x->slot[r->phase];
	hdr_len = 1 + x->dcid_len + r->pn_len;
	body = len - hdr_len - QOFF_MLX5_TAG;
	memcpy(buf, hdr, hdr_len);
	if (!s->evp) {
		nm_count(fn, NM_CNT_quic_rx_no_key);
		r->flags = QOFF_MLX5_RXF_NO_KEY;
		not_opened(x, payload, len, buf, hdr_len, false, r);
		return;
	}
	r->tag = s->tag;
	if (nm_fault_take(fn, quic.claim)) {
		r->flags = QOFF_MLX5_RXF_OPENED | QOFF_MLX5_RXF_HDR;
		return;
	}
	if (nm_quic_open(x, r->phase, r->pn, hdr, hdr_len, payload + hdr_len, body,
			 buf + hdr_len, payload + len - QOFF_MLX5_TAG)) {
		memcpy(buf + len - QOFF_MLX5_TAG, payload + len - QOFF_MLX5_TAG,
		       QOFF_MLX5_TAG);
		r->data = buf;
		opened(fn, x, r);
		if (nm_fault_take(fn, quic.rx_status))
			r->flags = QOFF_MLX5_RXF_AUTH_FAIL;
		return;
	}
	failed(fn, x);
	r->flags = QOFF_MLX5_RXF_AUTH_FAIL;
	/* OpenSSL gives nothing out of CCM before its verdict. */
	not_opened(x, payload, len, buf, hdr_len, x->cipher != QOFF_MLX5_AES_128_CCM, r);
}

/* --- contexts with a match of their own --- */

static u32 match_hash(const struct nm_quic_match *m)
{
	return nm_key_hash((const u32 *)m, sizeof(*m) / 4) % NM_QUIC_LOOKUP_BUCKETS;
}

struct nm_quic_ctx *nm_quic_lookup_same(struct nm_quic *q, const struct nm_quic_match *m)
{
	struct nm_quic_ctx *x;

	for (x = q->lookup[match_hash(m)]; x; x = x->lookup_next)
		if (!memcmp(&x->match, m, sizeof(*m)))
			return x;
	return NULL;
}

void nm_quic_lookup_add(struct nm_quic *q, struct nm_quic_ctx *x)
{
	struct nm_quic_ctx **b = &q->lookup[match_hash(&x->match)];

	q->nr_lookup[x->match.dcid_len]++;
	x->lookup_next = *b;
	*b = x;
}

void nm_quic_lookup_del(struct nm_quic *q, struct nm_quic_ctx *x)
{
	struct nm_quic_ctx **p = &q->lookup[match_hash(&x->match)];

	while (*p != x)
		p = &(*p)->lookup_next;
	*p = x->lookup_next;
	q->nr_lookup[x->match.dcid_len]--;
}

/* A short header does not say how long its DCID is: the longest that is known
 * comes first, and with its remote address before without.
 */
struct nm_quic_ctx *nm_quic_lookup(struct nm_fn *fn, const struct nm_pkt *p)
{
	const u8 *ip = p->data + p->l3_off, *l4 = p->data + p->l4_off;
	struct nm_quic_match m = { .ip_ver = p->ip_ver };
	u32 alen = p->ip_ver == 4 ? 4 : 16, len;
	struct nm_quic_ctx *x;
	int n;

	if (!p->l4_off || p->l4_proto != NM_IP_UDP || p->frag || p->l4_off + 8u >= p->ip_end ||
	    l4[8] & QOFF_B0_LONG)
		return NULL;
	len = p->ip_end - p->l4_off - 9;
	for (n = QOFF_MLX5_MAX_DCID; n >= 0; n--) {
		if (!fn->quic->nr_lookup[n] || (u32)n > len)
			continue;
		memset(m.dcid, 0, sizeof(m.dcid));
		memcpy(m.dcid, l4 + 9, n);
		m.dcid_len = n;
		m.dst_port = nm_rd16(l4 + 2);
		m.src_port = nm_rd16(l4);
		memcpy(m.dst, ip + (p->ip_ver == 4 ? 16 : 24), alen);
		memcpy(m.src, ip + (p->ip_ver == 4 ? 12 : 8), alen);
		x = nm_quic_lookup_same(fn->quic, &m);
		if (x)
			return x;
		m.src_port = 0;
		memset(m.src, 0, sizeof(m.src));
		x = nm_quic_lookup_same(fn->quic, &m);
		if (x)
			return x;
	}
	return NULL;
}
