// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: opening and coalescing of QUIC datagrams.
 *
 * A datagram of a known flow is copied behind the payload that its flow has
 * collected so far, where it is opened in place; the frame still has the bytes
 * that came in, for the case that authentication fails.  Consecutive datagrams
 * that agree in everything but their length share one packet for the host.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/dsfield.h>

#include "quicsim.h"

/* What the framework puts before the payload, in a fragment of its own: a record
 * for each segment, and a fixed part that has room in this. The whole is still
 * an IP packet.
 */
#define QSIM_LEADER(nseg)	((nseg) * sizeof(struct qoff_rx_seg) + 1344)
#define QSIM_AGG_MAX		65535
#define QSIM_AGG_FRAGS		(MAX_SKB_FRAGS - 1)

static u8 qsim_tos(const struct sk_buff *skb, const struct qsim_hdrs *h)
{
	if (h->v6)
		return ipv6_get_dsfield((struct ipv6hdr *)(skb->data + h->nh));
	return ((struct iphdr *)(skb->data + h->nh))->tos;
}

/* Bytes of the headers that datagrams of one packet have in common */
static bool qsim_same_headers(const struct qsim_agg *agg,
			      const struct sk_buff *skb,
			      const struct qsim_hdrs *h)
{
	const struct ipv6hdr *ip6h, *ip6h2;
	const struct iphdr *iph, *iph2;

	/* MAC addresses and the tags inside the frame */
	if (agg->v6 != h->v6 || agg->nh != h->nh ||
	    memcmp(agg->hdr, skb->data, h->nh))
		return false;
	if (h->v6) {
		ip6h = (const struct ipv6hdr *)(agg->hdr + agg->nh);
		ip6h2 = (const struct ipv6hdr *)(skb->data + h->nh);
		return !memcmp(ip6h, ip6h2, 4) &&
		       ip6h->hop_limit == ip6h2->hop_limit;
	}
	iph = (const struct iphdr *)(agg->hdr + agg->nh);
	iph2 = (const struct iphdr *)(skb->data + h->nh);
	return iph->tos == iph2->tos && iph->ttl == iph2->ttl &&
	       iph->frag_off == iph2->frag_off;
}

static bool qsim_agg_adjacent(const struct qsim_agg *agg,
			      const struct page_frag *pf)
{
	const skb_frag_t *last = &agg->frag[agg->nfrag - 1];

	return agg->nfrag && skb_frag_page(last) == pf->page &&
	       skb_frag_off(last) + skb_frag_size(last) == pf->offset;
}

static bool qsim_agg_fits(const struct qsim_agg *agg,
			  const struct page_frag *pf, unsigned int len)
{
	return agg->nseg < QOFF_MAX_SEGS &&
	       agg->hdr_len + agg->bytes + len + QSIM_LEADER(agg->nseg + 1) <=
	       QSIM_AGG_MAX &&
	       (agg->nfrag < QSIM_AGG_FRAGS || qsim_agg_adjacent(agg, pf));
}

/* The finished packet goes towards the host */
static void qsim_agg_close(struct qsim_port *port, struct qsim_agg *agg)
{
	struct qsim_rx_cb *cb;
	struct sk_buff *skb;
	unsigned int i;

	skb = qsim_frame_alloc(&port->rx_pfc, agg->hdr_len);
	if (!skb)
		goto err;
	cb = QSIM_RX_CB(skb);
	memset(skb->cb, 0, sizeof(skb->cb));
	cb->segs = kmemdup(agg->segs, agg->nseg * sizeof(*agg->segs),
			   GFP_KERNEL);
	if (!cb->segs)
		goto err_skb;
	cb->nseg = agg->nseg;
	cb->flow_id = agg->flow_id;
	skb_put_data(skb, agg->hdr, agg->hdr_len);
	for (i = 0; i < agg->nfrag; i++)
		skb_add_rx_frag(skb, i, skb_frag_page(&agg->frag[i]),
				skb_frag_off(&agg->frag[i]),
				skb_frag_size(&agg->frag[i]),
				skb_frag_size(&agg->frag[i]));
	if (agg->vlan_proto)
		__vlan_hwaccel_put_tag(skb, agg->vlan_proto, agg->vlan);
	if (agg->csum_ok)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	if (agg->hash)
		skb_set_hash(skb, agg->hash, PKT_HASH_TYPE_L4);
	if (agg->nseg > 1) {
		qsim_count(port, QSIM_RX_COALESCED, 1);
		qsim_count(port, QSIM_RX_COALESCED_SEGS, agg->nseg);
	}
	skb->protocol = eth_type_trans(skb, port->netdev);
	qsim_rx_out(port, skb, agg->q);
	agg->flow_id = 0;
	return;

err_skb:
	kfree_skb(skb);
err:
	for (i = 0; i < agg->nfrag; i++)
		put_page(skb_frag_page(&agg->frag[i]));
	qsim_count(port, QSIM_RX_DROP_NOMEM, agg->nseg);
	agg->flow_id = 0;
}

/**
 * qsim_agg_flush_old() - hand up what has been kept back too long
 * @port: the port
 * @before: begun at that time or earlier
 *
 * Context: flow_lock.
 * Return: when the oldest of the others was begun, 0 if there are none.
 */
ktime_t qsim_agg_flush_old(struct qsim_port *port, ktime_t before)
{
	struct qsim_agg *agg;
	ktime_t oldest = 0;

	lockdep_assert_held(&port->flow_lock);
	for (agg = port->agg; agg < port->agg + QSIM_AGGS; agg++) {
		if (!agg->flow_id)
			continue;
		if (ktime_compare(agg->born, before) <= 0)
			qsim_agg_close(port, agg);
		else if (!oldest || ktime_before(agg->born, oldest))
			oldest = agg->born;
	}
	return oldest;
}

void qsim_agg_flush(struct qsim_port *port)
{
	qsim_agg_flush_old(port, KTIME_MAX);
}

/* Something else of queue @q is about to go up */
void qsim_agg_flush_queue(struct qsim_port *port, unsigned int q)
{
	struct qsim_agg *agg;

	for (agg = port->agg; agg < port->agg + QSIM_AGGS; agg++)
		if (agg->flow_id && agg->q == q)
			qsim_agg_close(port, agg);
}

/* The flow's packet in the making; a free place, or that of the oldest */
static struct qsim_agg *qsim_agg_find(struct qsim_port *port, u32 flow_id)
{
	struct qsim_agg *agg, *best = NULL;

	for (agg = port->agg; agg < port->agg + QSIM_AGGS; agg++) {
		if (agg->flow_id == flow_id)
			return agg;
		if (!best || (best->flow_id &&
			      (!agg->flow_id ||
			       ktime_before(agg->born, best->born))))
			best = agg;
	}
	if (best->flow_id)
		qsim_agg_close(port, best);
	return best;
}

static void qsim_agg_begin(struct qsim_agg *agg, const struct qsim_flow *flow,
			   const struct sk_buff *skb, const struct qsim_hdrs *h,
			   unsigned int q, bool opened, u32 key_gen)
{
	agg->flow_id = flow->id;
	agg->q = q;
	agg->vlan = skb_vlan_tag_get(skb);
	agg->vlan_proto = skb_vlan_tag_present(skb) ? skb->vlan_proto : 0;
	agg->opened = opened;
	agg->csum_ok = h->csum_ok;
	agg->v6 = h->v6;
	agg->key_gen = key_gen;
	agg->nh = h->nh;
	agg->hdr_len = h->th + sizeof(struct udphdr);
	agg->hash = skb->hash;
	memcpy(agg->hdr, skb->data, agg->hdr_len);
	agg->nfrag = 0;
	agg->nseg = 0;
	agg->bytes = 0;
	agg->born = ktime_get();
}

/* Behind what is there already; the caller has written the bytes at the page's
 * offset.
 */
static void qsim_agg_append(struct qsim_agg *agg, struct page_frag *pf,
			    const struct qoff_rx_seg *rec)
{
	agg->segs[agg->nseg++] = *rec;
	agg->bytes += rec->len;
	if (qsim_agg_adjacent(agg, pf)) {
		skb_frag_size_add(&agg->frag[agg->nfrag - 1], rec->len);
	} else {
		get_page(pf->page);
		skb_frag_fill_page_desc(&agg->frag[agg->nfrag++], pf->page,
					pf->offset, rec->len);
	}
	pf->offset += rec->len;
}

static void qsim_tuple(struct qoff_flow_key *k, const struct sk_buff *skb,
		       const struct qsim_hdrs *h)
{
	const struct udphdr *uh = (const struct udphdr *)(skb->data + h->th);
	const struct ipv6hdr *ip6h;
	const struct iphdr *iph;

	memset(k, 0, offsetof(struct qoff_flow_key, dcid));
	k->local_port = uh->dest;
	k->remote_port = uh->source;
	if (h->v6) {
		ip6h = (const struct ipv6hdr *)(skb->data + h->nh);
		k->family = AF_INET6;
		k->local = ip6h->daddr;
		k->remote = ip6h->saddr;
	} else {
		iph = (const struct iphdr *)(skb->data + h->nh);
		k->family = AF_INET;
		k->local.s6_addr32[0] = iph->daddr;
		k->remote.s6_addr32[0] = iph->saddr;
	}
}

/* A record that is a lie, for the framework to find out */
static u32 qsim_forge(struct qsim_port *port, struct qoff_rx_seg *rec,
		      u32 flow_id)
{
	if (likely(!qsim_every(&port->flt.rx_forge)))
		return flow_id;
	qsim_count(port, QSIM_FLT_RX_FORGE, 1);
	switch ((enum qsim_forge)READ_ONCE(port->flt.forge)) {
	case QSIM_FORGE_NONE:
		break;
	case QSIM_FORGE_STATUS:
		rec->status = 200;
		break;
	case QSIM_FORGE_OPENED:
		rec->status = QOFF_RX_OPENED;
		break;
	case QSIM_FORGE_HDR_LEN:
		rec->hdr_len = 255;
		break;
	case QSIM_FORGE_PN:
		rec->pn = QOFF_PN_MAX + 1;
		break;
	case QSIM_FORGE_GEN:
		rec->key_gen ^= 0x80000000;
		break;
	case QSIM_FORGE_FLOW:
		return flow_id ^ 0x40000000;
	case QSIM_FORGE_LEN:
		rec->len ^= 1;
		break;
	}
	return flow_id;
}

/* Try to open the packet at @data, a copy of @orig. What cannot be opened is
 * what came in, byte for byte.
 */
static void qsim_agg_open(struct qsim_port *port, struct qsim_flow *flow,
			  u8 *data, const u8 *orig, struct qoff_rx_seg *rec)
{
	struct qsim_pkt *pkt = &port->rx_scratch->pkt[0];
	unsigned int dcid_len = flow->key.dcid_len;
	struct qsim_key *key = NULL;

	rec->status = QOFF_RX_NO_KEY;
	if (!flow->hp || (!flow->slot[0] && !flow->slot[1]) ||
	    rec->len < qoff_min_len(dcid_len))
		return;
	pkt->data = data;
	pkt->len = rec->len;
	if (qsim_unprotect(flow->hp, dcid_len, port->rx_scratch, flow->next_pn))
		goto restore;
	key = flow->slot[qsim_broken(port, QSIM_BROKEN_RX_PHASE) ? 0 :
			 qoff_phase(data[0])];
	if (!key) {
		rec->status = QOFF_RX_NO_PHASE;
		goto restore;
	}
	rec->status = QOFF_RX_FAILED;
	if (qsim_open(key, pkt))
		goto restore;
	if (unlikely(qsim_every(&port->flt.rx_fail))) {
		qsim_count(port, QSIM_FLT_RX_FAIL, 1);
		goto restore;
	}

	memset(data + rec->len - QOFF_TAG_SIZE, 0, QOFF_TAG_SIZE);
	rec->status = QOFF_RX_OPENED;
	rec->hdr_len = pkt->hdr_len;
	rec->pn_len = pkt->pn_len;
	rec->key_gen = key->gen;
	rec->pn = pkt->pn + qsim_broken(port, QSIM_BROKEN_RX_NUMBER);
	if (qsim_broken(port, QSIM_BROKEN_BYTE))
		data[pkt->hdr_len] ^= 1;
	flow->next_pn = max(flow->next_pn, pkt->pn + 1);
	qsim_count(port, QSIM_RX_OPENED, 1);
	return;

restore:
	if (rec->status == QOFF_RX_FAILED)
		qsim_count(port, QSIM_RX_FAILED, 1);
	if (qsim_broken(port, QSIM_BROKEN_OPENED)) {
		rec->status = QOFF_RX_OPENED;
		rec->hdr_len = pkt->hdr_len;
		rec->pn_len = pkt->pn_len;
		rec->key_gen = key ? key->gen : 0;
		rec->pn = pkt->pn;
		return;
	}
	if (!qsim_broken(port, QSIM_BROKEN_RAW))
		memcpy(data, orig, rec->len);
}

static struct qsim_flow *qsim_agg_flow(struct qsim_port *port,
				       const struct sk_buff *skb,
				       const struct qsim_hdrs *h)
{
	unsigned int ip_len = h->v6 ? sizeof(struct ipv6hdr) :
				      sizeof(struct iphdr);
	const struct udphdr *uh = (const struct udphdr *)(skb->data + h->th);
	const u8 *data = (const u8 *)(uh + 1);
	struct qoff_flow_key tuple;

	/* IP options, padding, a wrong sum: nothing that this engine does */
	if (!port->nflow || h->proto != IPPROTO_UDP ||
	    (!h->csum_ok && !qsim_broken(port, QSIM_BROKEN_RX_CSUM)) ||
	    h->th - h->nh != ip_len ||
	    ntohs(uh->len) != h->end - h->th || ntohs(uh->len) <= sizeof(*uh) ||
	    !qoff_is_short(data[0]))
		return NULL;
	qsim_tuple(&tuple, skb, h);
	return qsim_flow_match(port, &tuple, data,
			       ntohs(uh->len) - sizeof(*uh));
}

/**
 * qsim_agg_frame() - open and coalesce a datagram
 * @port: the receiver
 * @skb: the frame; consumed on success
 * @h: its headers
 * @q: its receive queue
 *
 * Context: the receiving device's thread, flow_lock.
 * Return: false when it is none of this engine's business.
 */
bool qsim_agg_frame(struct qsim_port *port, struct sk_buff *skb,
		    const struct qsim_hdrs *h, unsigned int q)
{
	bool gro = READ_ONCE(port->features) & QUIC_OFFLOAD_FEATURE_GRO;
	bool crypto = READ_ONCE(port->features) & QUIC_OFFLOAD_FEATURE_RX_CRYPTO;
	struct page_frag *pf = &port->rx_page;
	struct qoff_rx_seg rec = {};
	struct qsim_flow *flow;
	struct qsim_agg *agg;
	const u8 *orig;
	u32 flow_id;
	bool opened;
	u8 *data;

	if (!gro && !crypto)
		return false;
	flow = qsim_agg_flow(port, skb, h);
	if (!flow)
		return false;
	rec.len = h->end - h->th - sizeof(struct udphdr);
	if (!skb_page_frag_refill(rec.len, pf, GFP_KERNEL))
		return false;
	qsim_count(port, QSIM_RX_MATCHED, 1);
	orig = skb->data + h->th + sizeof(struct udphdr);
	data = page_address(pf->page) + pf->offset;
	memcpy(data, orig, rec.len);
	rec.tos = qsim_broken(port, QSIM_BROKEN_RX_TOS) ? 0 : qsim_tos(skb, h);
	rec.status = QOFF_RX_NO_KEY;
	if (crypto)
		qsim_agg_open(port, flow, data, orig, &rec);
	opened = rec.status == QOFF_RX_OPENED;

	agg = qsim_agg_find(port, flow->id);
	if (agg->flow_id &&
	    (agg->q != q || agg->opened != opened ||
	     agg->key_gen != rec.key_gen || agg->csum_ok != h->csum_ok ||
	     agg->vlan != skb_vlan_tag_get(skb) ||
	     agg->vlan_proto != (skb_vlan_tag_present(skb) ? skb->vlan_proto : 0) ||
	     !qsim_same_headers(agg, skb, h) || !qsim_agg_fits(agg, pf, rec.len)))
		qsim_agg_close(port, agg);
	if (!agg->flow_id)
		qsim_agg_begin(agg, flow, skb, h, q, opened, rec.key_gen);
	qsim_agg_append(agg, pf, &rec);
	flow_id = qsim_forge(port, &agg->segs[agg->nseg - 1], flow->id);
	if (flow_id != flow->id || !gro || qsim_broken(port, QSIM_BROKEN_ALONE)) {
		agg->flow_id = flow_id;
		qsim_agg_close(port, agg);
	}
	consume_skb(skb);
	return true;
}
