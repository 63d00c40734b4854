// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload, transmit: the table of a super-packet that was built for a
 * device, its guards, and what the driver reads from it.
 *
 * The table travels in the skb's ubuf_info and lives until the last clone of
 * the skb is gone; it holds the key, the context in the device, and the device.
 * Four guards keep an unsealed packet from anything that is not that device:
 *
 *  1. skb->decrypted: a clone or an orphan has no socket, so no hook seals it;
 *     the stack drops it on any device.
 *  2. csum_start is one off, and gso_type has SKB_GSO_FCOE: every software
 *     segmenter refuses it, and no device takes it as UDP GSO. A single
 *     datagram is no GSO packet; it has CHECKSUM_NONE instead, as the stack
 *     would otherwise try to finish its checksum.
 *  3. The UDP length says 8: local receive drops it, with or without UDP_GRO.
 *  4. PACKET_OTHERHOST: no ICMP error quotes it and no ingress accepts it.
 *
 * The hook takes back SKB_GSO_FCOE, towards this device only. The rest stays
 * until the device has the packet, so that whatever the stack does after the
 * hook ends in a drop.
 */
#include <kunit/visibility.h>
#include <linux/export.h>
#include <net/ip.h>

#include "tx.h"

static void qoff_super_complete(struct sk_buff *skb, struct ubuf_info *ubuf,
				bool success)
{
	qoff_super_put(container_of(ubuf, struct qoff_super, ubuf));
}

const struct ubuf_info_ops qoff_super_ops = {
	.complete = qoff_super_complete,
};
EXPORT_SYMBOL_IF_KUNIT(qoff_super_ops);

/**
 * qoff_super_alloc() - the table of segments @from to @from + @n
 * @req: the send; its key, place and device get another reference
 * @from: first segment
 * @n: segments
 *
 * Return: the table with one reference, or NULL.
 */
struct qoff_super *qoff_super_alloc(const struct qoff_tx_req *req,
				    unsigned int from, unsigned int n)
{
	u32 base = req->segs[from].pn_off;
	struct qoff_super *t;
	unsigned int i;

	t = kzalloc(struct_size(t, segs, n), req->sk->sk_allocation);
	if (!t)
		return NULL;
	t->ubuf.ops = &qoff_super_ops;
	t->ubuf.flags = SKBFL_ZEROCOPY_ENABLE | SKBFL_DONT_ORPHAN;
	refcount_set(&t->ubuf.refcnt, 1);
	t->nseg = n;
	t->pn = req->pn + base;
	t->dcid_len = req->dcid_len;
	for (i = 0; i < n; i++) {
		t->segs[i].len = req->segs[from + i].len;
		t->segs[i].pn_off = req->segs[from + i].pn_off - base;
		t->total += t->segs[i].len;
	}
	t->qd = req->qd;
	refcount_inc(&t->qd->refcnt);
	if (req->place) {
		t->place = req->place;
		refcount_inc(&t->place->ref);
		t->key = req->key;
		refcount_inc(&t->key->ref);
	}
	return t;
}

/* Any context */
void qoff_super_put(struct qoff_super *t)
{
	if (!refcount_dec_and_test(&t->ubuf.refcnt))
		return;
	if (t->place) {
		qoff_place_put(t->place);
		qoff_key_put(t->key);
	}
	qoff_dev_put(t->qd);
	kfree(t);
}

/* A device may segment UDP with the stack's help only (GSO partial, mlx5), and
 * the stack then hides the feature from any skb but one that asks for that help.
 * A super-packet needs none; it asks all the same, so that it is left whole.
 */
static bool qoff_super_partial(const struct qoff_super *t)
{
	const struct net_device *dev;
	bool partial;

	if (!t->qd)
		return false;
	rcu_read_lock();
	dev = rcu_dereference(t->qd->netdev);
	partial = dev && dev->gso_partial_features & NETIF_F_GSO_UDP_L4;
	rcu_read_unlock();
	return partial;
}

/**
 * qoff_super_guard() - attach the table, set the guards
 * @skb: flat, headers and payload complete
 * @t: its table; the skb takes a reference of its own
 */
void qoff_super_guard(struct sk_buff *skb, struct qoff_super *t)
{
	skb_zcopy_set(skb, &t->ubuf, NULL);
#ifdef CONFIG_SKB_DECRYPTED
	skb->decrypted = 1;
#endif
	skb->pkt_type = PACKET_OTHERHOST;
	udp_hdr(skb)->len = htons(sizeof(struct udphdr));
	if (t->nseg > 1) {
		skb->csum_start++;
		skb_shinfo(skb)->gso_type |= SKB_GSO_FCOE;
		if (qoff_super_partial(t))
			skb_shinfo(skb)->gso_type |= SKB_GSO_PARTIAL;
	} else {
		skb->ip_summed = CHECKSUM_NONE;
	}
}
EXPORT_SYMBOL_IF_KUNIT(qoff_super_guard);

/* Where the UDP header is, by the network header: the transport header was
 * moved by the stack to where csum_start points.
 */
static int qoff_true_th(const struct sk_buff *skb)
{
	int nh = skb_network_offset(skb);
	const struct iphdr *iph;
	struct ipv6hdr buf;

	if (nh < 0)
		return -EINVAL;
	iph = skb_header_pointer(skb, nh, sizeof(*iph), &buf);
	if (!iph)
		return -EINVAL;
	if (iph->version == 4) {
		if (iph->ihl < 5 || iph->protocol != IPPROTO_UDP ||
		    ip_is_fragment(iph))
			return -EINVAL;
		return nh + iph->ihl * 4;
	}
	if (iph->version == 6) {
		const struct ipv6hdr *ip6;

		ip6 = skb_header_pointer(skb, nh, sizeof(*ip6), &buf);
		if (!ip6 || ip6->nexthdr != IPPROTO_UDP)
			return -EINVAL;
		return nh + sizeof(*ip6);
	}
	return -EINVAL;
}

/**
 * qoff_super_check() - is this still what was built?
 * @skb: at a device
 * @t: its table
 *
 * Recomputed from the current headers, because NAT, an editing action or a VLAN
 * tag may have come since. Does not look at SKB_GSO_FCOE.
 *
 * Return: offset of the UDP header from skb->data, or -EINVAL.
 */
int qoff_super_check(const struct sk_buff *skb, const struct qoff_super *t)
{
	const struct udphdr *uh;
	struct udphdr buf;
	int th;

	if (skb->encapsulation || skb_sec_path(skb) || !skb_is_decrypted(skb))
		return -EINVAL;
	th = qoff_true_th(skb);
	if (th < 0)
		return th;
	if (skb->len != th + sizeof(*uh) + t->total)
		return -EINVAL;
	uh = skb_header_pointer(skb, th, sizeof(*uh), &buf);
	if (!uh || uh->len != htons(sizeof(*uh)))
		return -EINVAL;
	if (t->nseg == 1)
		return skb->ip_summed == CHECKSUM_NONE && !skb_is_gso(skb) ?
		       th : -EINVAL;
	if (!skb_is_gso(skb) || skb->ip_summed != CHECKSUM_PARTIAL ||
	    skb_checksum_start_offset(skb) != th + 1)
		return -EINVAL;
	return th;
}

bool qoff_tx_is_super(const struct sk_buff *skb)
{
	return qoff_super_of(skb);
}
EXPORT_SYMBOL_GPL(qoff_tx_is_super);

int qoff_tx_desc(struct qoff_dev *qd, struct sk_buff *skb,
		 struct qoff_tx_desc *desc)
{
	struct qoff_super *t = qoff_super_of(skb);
	struct qoff_stats *stats = qoff_dev_stats(qd);
	int th;

	if (!t) {
		/* Linearized on the way (scatter-gather was switched off): the
		 * table is gone, the plaintext is still there.
		 */
		if (skb_is_decrypted(skb))
			qoff_drop_count(stats, NULL, QOFF_DROP_TX_GUARD, 1);
		return -ENOENT;
	}
	th = t->qd == qd ? qoff_super_check(skb, t) : -EINVAL;
	if (th < 0 || skb_shinfo(skb)->gso_type & SKB_GSO_FCOE) {
		qoff_drop_count(stats, NULL, QOFF_DROP_TX_GUARD, t->nseg);
		return -EINVAL;
	}
	memset(desc, 0, sizeof(*desc));
	if (t->place) {
		if (!qoff_place_holds(t->place, t->key)) {
			qoff_drop_count(stats, NULL, QOFF_DROP_TX_KEY, t->nseg);
			return -ESTALE;
		}
		desc->seal = true;
		desc->phase = t->key->phase;
		desc->cipher = t->key->cipher;
		desc->dcid_len = t->dcid_len;
		desc->pn = t->pn;
		desc->drv = t->place->drv;
	}
	desc->segs = t->segs;
	desc->nseg = t->nseg;
	desc->net_off = skb_network_offset(skb);
	desc->th_off = th;
	return 0;
}
EXPORT_SYMBOL_GPL(qoff_tx_desc);
