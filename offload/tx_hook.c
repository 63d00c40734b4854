// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload, transmit: what happens to an attached socket's skbs at each
 * device, before the stack segments (sk->sk_validate_xmit_skb).
 *
 *  a. A super-packet at the device it was built for: passes, see tx_desc.c.
 *  b. A super-packet anywhere else, or where the stack would refuse it: is
 *     finished here, as a list of sealed datagrams.
 *  c. A frag list: is cut here. At the first device and not later, since
 *     whoever linearizes it would cut it wrongly, checks of the MTU look at its
 *     first datagram only, and no segmenter finishes its checksums.
 *  d. Anything else passes, unless it carries plaintext without a table.
 *
 * A returned list is taken as already segmented: head->prev is its tail. The
 * stack finishes the checksum of the head only.
 */
#include <linux/netdevice.h>
#include <net/gso.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/udp.h>

#include "tx.h"

/* Within the device's MTU? Segments were within the path's when they were sent */
static bool qoff_seg_fits(const struct sk_buff *skb,
			  const struct net_device *dev)
{
	return skb->len - skb_network_offset(skb) <= READ_ONCE(dev->mtu);
}

/* Make @skb what the stack takes as a finished segment, or free it */
static struct sk_buff *qoff_finish_seg(struct sock *sk, struct net_device *dev,
				       struct sk_buff *skb)
{
	netdev_features_t features;

	if (!qoff_seg_fits(skb, dev)) {
		qoff_drop_count(&qoff_sk(sk)->stats, NULL, QOFF_DROP_TX_MTU, 1);
		qoff_drop_skb(skb, QOFF_DROP_TX_MTU);
		return NULL;
	}
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		return skb;
	features = netif_skb_features(skb);
	if (!skb_csum_hwoffload_help(skb, features))
		return skb;
	qoff_drop_count(&qoff_sk(sk)->stats, NULL, QOFF_DROP_TX_LOST, 1);
	qoff_drop_skb(skb, QOFF_DROP_TX_LOST);
	return NULL;
}

/* A list of segments, checked one by one. Return: head with head->prev set. */
static struct sk_buff *qoff_finish_list(struct sock *sk, struct net_device *dev,
					struct sk_buff *segs)
{
	struct sk_buff *seg, *next, *head = NULL, **tail = &head, *last = NULL;

	skb_list_walk_safe(segs, seg, next) {
		skb_mark_not_on_list(seg);
		seg = qoff_finish_seg(sk, dev, seg);
		if (!seg)
			continue;
		*tail = seg;
		tail = &seg->next;
		last = seg;
	}
	if (head)
		head->prev = last;
	return head;
}

/* The head was charged for the whole list. After the cut each datagram is
 * charged for itself, which is the same sum unless something was linearized.
 */
static void qoff_split_charge(struct sock *sk, struct sk_buff *segs,
			      unsigned int charged)
{
	unsigned int sum = 0;
	struct sk_buff *seg;

	for (seg = segs->next; seg; seg = seg->next) {
		seg->sk = sk;
		seg->destructor = sock_wfree;
		sum += seg->truesize;
	}
	if (sum < charged) {
		segs->truesize = charged - sum;
	} else {
		segs->truesize = SKB_TRUESIZE(skb_end_offset(segs));
		refcount_add(sum + segs->truesize - charged,
			     &sk->sk_wmem_alloc);
	}
}

/* Case c */
static struct sk_buff *qoff_cut_list(struct sock *sk, struct net_device *dev,
				     struct sk_buff *skb)
{
	unsigned int n = skb_shinfo(skb)->gso_segs, charged = skb->truesize;
	struct qoff_stats *stats = &qoff_sk(sk)->stats;
	struct sk_buff *segs;

	segs = __skb_gso_segment(skb, netif_skb_features(skb) &
				 ~NETIF_F_GSO_MASK, true);
	if (IS_ERR_OR_NULL(segs)) {
		qoff_drop_count(stats, NULL, QOFF_DROP_TX_LOST, n);
		qoff_drop_skb(skb, QOFF_DROP_TX_LOST);
		return NULL;
	}
	qoff_count(stats, QOFF_CNT_TX_SW_SEGS, n);
	if (skb->destructor == sock_wfree)
		qoff_split_charge(sk, segs, charged);
	consume_skb(skb);
	return qoff_finish_list(sk, dev, segs);
}

static struct sk_buff *qoff_hook_drop(struct sock *sk, struct sk_buff *skb,
				      const struct qoff_super *t,
				      enum qoff_drop why)
{
	qoff_drop_count(&qoff_sk(sk)->stats, t ? qoff_dev_stats(t->qd) : NULL,
			why, t ? t->nseg : 1);
	qoff_drop_skb(skb, why);
	return NULL;
}

/* One segment of a super-packet in an skb of its own, not yet sealed. The
 * original is never written to: a clone of it may be on its way elsewhere.
 */
static struct sk_buff *qoff_copy_seg(struct sock *sk, struct sk_buff *skb,
				     unsigned int hdr_len, unsigned int off,
				     unsigned int len)
{
	struct sk_buff *seg;

	seg = alloc_skb(skb_headroom(skb) + hdr_len + len, GFP_ATOMIC);
	if (!seg)
		return NULL;
	skb_reserve(seg, skb_headroom(skb));
	skb_put(seg, hdr_len + len);
	if (skb_copy_bits(skb, 0, seg->data, hdr_len) ||
	    skb_copy_bits(skb, hdr_len + off, seg->data + hdr_len, len)) {
		kfree_skb(seg);
		return NULL;
	}
	/* Also the route, without which loopback takes it for a martian */
	skb_copy_header(seg, skb);
	skb_gso_reset(seg);
#ifdef CONFIG_SKB_DECRYPTED
	seg->decrypted = 0;
#endif
	seg->pkt_type = PACKET_HOST;
	skb_set_owner_w(seg, sk);
	return seg;
}

/* Headers of segment @i, from the current ones */
static void qoff_seg_headers(struct sk_buff *seg, unsigned int th,
			     unsigned int i)
{
	struct iphdr *iph = ip_hdr(seg);
	unsigned int ulen = seg->len - th;
	struct udphdr *uh;

	skb_set_transport_header(seg, th);
	uh = udp_hdr(seg);
	uh->len = htons(ulen);
	if (iph->version == 4) {
		iph->tot_len = htons(seg->len - skb_network_offset(seg));
		iph->id = htons(ntohs(iph->id) + i);
		ip_send_check(iph);
		uh->check = ~udp_v4_check(ulen, iph->saddr, iph->daddr, 0);
	} else {
		struct ipv6hdr *ip6 = ipv6_hdr(seg);

		ip6->payload_len = htons(ulen);
		uh->check = ~udp_v6_check(ulen, &ip6->saddr, &ip6->daddr, 0);
	}
	seg->ip_summed = CHECKSUM_PARTIAL;
	seg->csum_start = skb_transport_header(seg) - seg->head;
	seg->csum_offset = offsetof(struct udphdr, check);
}

static int qoff_copy_segs(struct sock *sk, struct sk_buff *skb,
			  const struct qoff_super *t, unsigned int th,
			  struct sk_buff **list, struct qoff_pkt *pkts)
{
	unsigned int i, off = 0, hdr_len = th + sizeof(struct udphdr);
	struct sk_buff *seg;

	for (i = 0; i < t->nseg; i++) {
		seg = qoff_copy_seg(sk, skb, hdr_len, off, t->segs[i].len);
		if (!seg)
			return -ENOMEM;
		*list = seg;
		list = &seg->next;
		qoff_seg_headers(seg, th, i);
		if (i == 0) {
			skb_shinfo(seg)->tx_flags = skb_shinfo(skb)->tx_flags;
			skb_shinfo(seg)->tskey = skb_shinfo(skb)->tskey;
		}
		pkts[i].data = seg->data + hdr_len;
		pkts[i].len = t->segs[i].len;
		pkts[i].pn = t->pn + t->segs[i].pn_off;
		off += t->segs[i].len;
	}
	return 0;
}

/* Case b: copy, seal, cut. @skb is freed. */
static struct sk_buff *qoff_super_finish(struct sock *sk,
					 struct net_device *dev,
					 struct sk_buff *skb,
					 const struct qoff_super *t,
					 unsigned int th)
{
	struct qoff_stats *stats = &qoff_sk(sk)->stats;
	struct qoff_stats *dstats = qoff_dev_stats(t->qd);
	enum qoff_drop why = QOFF_DROP_TX_LOST;
	struct qoff_crypt *crypt = NULL;
	struct sk_buff *segs = NULL;
	struct qoff_pkt *pkts;

	pkts = kmalloc_array(t->nseg, sizeof(*pkts), GFP_ATOMIC);
	if (t->key)
		crypt = qoff_crypt_alloc(t->key->hp, t->nseg, true, GFP_ATOMIC);
	if (!pkts || (t->key && !crypt) ||
	    qoff_copy_segs(sk, skb, t, th, &segs, pkts))
		goto drop;
	if (t->key) {
		why = QOFF_DROP_TX_CRYPTO;
		if (qoff_seal(t->key, t->dcid_len, pkts, t->nseg, crypt))
			goto drop;
		qoff_count(stats, QOFF_CNT_TX_SW_SEAL, t->nseg);
		qoff_count(dstats, QOFF_CNT_TX_SW_SEAL, t->nseg);
	}
	qoff_count(stats, QOFF_CNT_TX_RESEALED, 1);
	qoff_count(dstats, QOFF_CNT_TX_RESEALED, 1);
	qoff_count(stats, QOFF_CNT_TX_SW_SEGS, t->nseg);
	qoff_count(dstats, QOFF_CNT_TX_SW_SEGS, t->nseg);
	qoff_crypt_free(crypt);
	kfree(pkts);
	consume_skb(skb);
	return qoff_finish_list(sk, dev, segs);

drop:
	kfree_skb_list(segs);
	qoff_crypt_free(crypt);
	kfree(pkts);
	return qoff_hook_drop(sk, skb, t, why);
}

/* Would the device take it as it is, and would the stack let it? */
static bool qoff_super_fits(struct net_device *dev, struct sk_buff *skb,
			    const struct qoff_super *t, unsigned int th)
{
	netdev_features_t need = NETIF_F_SG | NETIF_F_HW_CSUM;
	u32 features = READ_ONCE(t->qd->features);
	unsigned int max = t->total;

	if (t->nseg > 1) {
		need |= NETIF_F_GSO_UDP_L4;
		if (skb_shinfo(skb)->gso_type & SKB_GSO_PARTIAL)
			need |= NETIF_F_GSO_PARTIAL;
		max = skb_shinfo(skb)->gso_size;
	}
	if (!(features & QUIC_OFFLOAD_FEATURE_GSO) ||
	    (netif_skb_features(skb) & need) != need ||
	    th + sizeof(struct udphdr) - skb_network_offset(skb) + max >
	    READ_ONCE(dev->mtu))
		return false;
	if (!t->place)
		return true;
	if (!(features & QUIC_OFFLOAD_FEATURE_TX_CRYPTO) ||
	    !qoff_place_holds(t->place, t->key))
		return false;
	if (!qoff_tx_tapped(t->qd, dev))
		return true;
	qoff_count(&qoff_sk(skb->sk)->stats, QOFF_CNT_TX_TAP, 1);
	qoff_count(qoff_dev_stats(t->qd), QOFF_CNT_TX_TAP, 1);
	return false;
}

/* Cases a and b */
static struct sk_buff *qoff_super_xmit(struct sock *sk, struct net_device *dev,
				       struct sk_buff *skb,
				       const struct qoff_super *t)
{
	int th = qoff_super_check(skb, t);

	if (th < 0 || (t->nseg > 1 &&
		       !(skb_shinfo(skb)->gso_type & SKB_GSO_FCOE)))
		return qoff_hook_drop(sk, skb, t, QOFF_DROP_TX_GUARD);
	if (t->key && READ_ONCE(t->key->revoked))
		return qoff_hook_drop(sk, skb, t, QOFF_DROP_TX_KEY);
	if (rcu_access_pointer(t->qd->netdev) != dev ||
	    !qoff_super_fits(dev, skb, t, th))
		return qoff_super_finish(sk, dev, skb, t, th);

	/* gso_type is shared with clones, and a clone keeps its guards */
	if (skb_unclone(skb, GFP_ATOMIC))
		return qoff_hook_drop(sk, skb, t, QOFF_DROP_TX_LOST);
	skb_shinfo(skb)->gso_type &= ~SKB_GSO_FCOE;
	qoff_count(&qoff_sk(sk)->stats, QOFF_CNT_TX_DEV, 1);
	qoff_count(qoff_dev_stats(t->qd), QOFF_CNT_TX_DEV, 1);
	return skb;
}

struct sk_buff *qoff_validate_xmit(struct sock *sk, struct net_device *dev,
				   struct sk_buff *skb)
{
	struct qoff_super *t = qoff_super_of(skb);

	if (!t) {
		if (unlikely(skb_is_decrypted(skb)))
			return qoff_hook_drop(sk, skb, NULL,
					      QOFF_DROP_TX_GUARD);
		if (skb_is_gso(skb) && !skb->encapsulation &&
		    skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST)
			return qoff_cut_list(sk, dev, skb);
		return skb;
	}
	return qoff_super_xmit(sk, dev, skb, t);
}
