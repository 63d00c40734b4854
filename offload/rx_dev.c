// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: packets that a device opened or coalesced.  Their cuts and, for
 * opened ones, their packet numbers travel in the skb, in a leader between UDP
 * header and payload. Such an skb holds plaintext, and on receive nothing in
 * the stack looks at skb->decrypted; so it has a shape that no one but the
 * encap_rcv of an attached socket takes:
 *
 *  - gso_type is FRAGLIST with a tunnel bit but without UDP_L4. At a socket that
 *    does not accept fraglists, a UDP_GRO one too, udp_unexpected_gso() has it
 *    segmented, and udp[46]_ufo_fragment() refuses that with -EINVAL. This
 *    needs gso_size, for a single segment as well.
 *  - skb->decrypted: no device transmits it (sk_validate_xmit_skb()), be it
 *    forwarded, redirected or tunnelled.
 *  - the leader begins with as many zeros as the longest ICMP error quotes, and
 *    only then has records: packet numbers are secret, too.
 *  - the linear part ends with the UDP header. Whoever linearises it (generic
 *    XDP) loses it.
 *  - csum_level is the largest, which no datagram that could be held in GRO has,
 *    so stock fraglist GRO does not chain it behind one.
 */
#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/skbuff_ref.h>
#include "drop.h"
#include "rx.h"

#define QOFF_LEADER_GSO		(SKB_GSO_FRAGLIST | SKB_GSO_UDP_TUNNEL_CSUM)

/* Are the driver's records possible? Return: their bytes, or 0 */
static unsigned int qoff_segs_sum(const struct qoff_rx_seg *segs, unsigned int n)
{
	unsigned int i, sum = 0;

	for (i = 0; i < n; i++) {
		const struct qoff_rx_seg *s = &segs[i];

		if (!s->len)
			return 0;
		if (s->status == QOFF_RX_OPENED &&
		    (s->pn_len < 1 || s->pn_len > 4 || s->pn > QOFF_PN_MAX ||
		     s->hdr_len <= s->pn_len ||
		     s->hdr_len + QOFF_TAG_SIZE > s->len))
			return 0;
		sum += s->len;
	}
	return sum;
}

/* Offset of the UDP header from skb->data, or an errno */
static int qoff_dev_udp_off(const struct sk_buff *skb)
{
	const struct iphdr *iph = (const struct iphdr *)skb->data;
	const struct ipv6hdr *ip6h = (const struct ipv6hdr *)skb->data;
	int off;

	if (skb->protocol == htons(ETH_P_IP)) {
		if (skb_headlen(skb) < sizeof(*iph) || iph->version != 4 ||
		    iph->ihl != 5 || iph->protocol != IPPROTO_UDP ||
		    ip_is_fragment(iph))
			return -EINVAL;
		off = sizeof(*iph);
	} else if (skb->protocol == htons(ETH_P_IPV6)) {
		if (skb_headlen(skb) < sizeof(*ip6h) || ip6h->version != 6 ||
		    ip6h->nexthdr != IPPROTO_UDP)
			return -EINVAL;
		off = sizeof(*ip6h);
	} else {
		return -EINVAL;
	}
	return skb_headlen(skb) == off + sizeof(struct udphdr) ? off : -EINVAL;
}

static void qoff_dev_fix_headers(struct sk_buff *skb, int off)
{
	struct udphdr *uh = (struct udphdr *)(skb->data + off);
	struct iphdr *iph = (struct iphdr *)skb->data;

	uh->len = htons(skb->len - off);
	/* Not zero; nobody computes it, see ip_summed */
	uh->check = CSUM_MANGLED_0;
	if (skb->protocol == htons(ETH_P_IP)) {
		iph->tot_len = htons(skb->len);
		ip_send_check(iph);
	} else {
		((struct ipv6hdr *)iph)->payload_len =
			htons(skb->len - sizeof(struct ipv6hdr));
	}
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->csum_level = SKB_MAX_CSUM_LEVEL;
}

/* Put a fragment in front of the others */
static void qoff_frag_prepend(struct sk_buff *skb, struct page *page,
			      unsigned int off, unsigned int size)
{
	struct skb_shared_info *sh = skb_shinfo(skb);

	memmove(&sh->frags[1], &sh->frags[0],
		sh->nr_frags * sizeof(sh->frags[0]));
	skb_frag_fill_page_desc(&sh->frags[0], page, off, size);
	sh->nr_frags++;
	skb->len += size;
	skb->data_len += size;
	skb->truesize += SKB_DATA_ALIGN(size);
}

/* Its counterpart; the skb is not cloned */
static void qoff_frag_behead(struct sk_buff *skb)
{
	struct skb_shared_info *sh = skb_shinfo(skb);
	unsigned int size = skb_frag_size(&sh->frags[0]);

	skb_frag_unref(skb, 0);
	sh->nr_frags--;
	memmove(&sh->frags[0], &sh->frags[1],
		sh->nr_frags * sizeof(sh->frags[0]));
	skb->len -= size;
	skb->data_len -= size;
	skb->truesize -= SKB_DATA_ALIGN(size);
}

static void qoff_dev_count(struct qoff_dev *qd, const struct qoff_rx_seg *segs,
			   unsigned int n, unsigned int total)
{
	struct qoff_stats *s = qoff_dev_stats(qd);
	unsigned int i, opened = 0, failed = 0;

	for (i = 0; i < n; i++) {
		opened += segs[i].status == QOFF_RX_OPENED;
		failed += segs[i].status == QOFF_RX_FAILED;
	}
	qoff_count(s, QOFF_CNT_RX_SEGS, n);
	qoff_count(s, QOFF_CNT_RX_BYTES, total);
	if (n > 1)
		qoff_count(s, QOFF_CNT_RX_BATCHES, 1);
	if (opened)
		qoff_count(s, QOFF_CNT_RX_DEV_OPENED, opened);
	if (failed)
		qoff_count(s, QOFF_CNT_RX_FAILED, failed);
}

int qoff_rx_segs(struct qoff_dev *qd, struct sk_buff *skb, u32 flow_id,
		 const struct qoff_rx_seg *segs, unsigned int n)
{
	struct skb_shared_info *sh = skb_shinfo(skb);
	unsigned int size, total;
	struct qoff_leader *ld;
	int off;

	if (!n || n > QOFF_MAX_SEGS)
		return -EINVAL;
	off = qoff_dev_udp_off(skb);
	total = qoff_segs_sum(segs, n);
	size = struct_size(ld, seg, n);
	if (off < 0 || !total || total != skb->data_len ||
	    skb_has_frag_list(skb) || skb_cloned(skb) ||
	    sh->nr_frags >= MAX_SKB_FRAGS || skb->len + size > U16_MAX)
		return -EINVAL;

	/* Generic XDP would linearise it, and may send it without a look at
	 * skb->decrypted
	 */
	if (rcu_access_pointer(skb->dev->xdp_prog)) {
		qoff_drop_count(qoff_dev_stats(qd), NULL, QOFF_DROP_RX_GUARD, n);
		return -EINVAL;
	}

	ld = netdev_alloc_frag(size);
	if (!ld)
		return -ENOMEM;
	memset(ld->pad, 0, sizeof(ld->pad));
	ld->net_cookie = dev_net(skb->dev)->net_cookie;
	ld->magic = QOFF_LEADER_MAGIC;
	ld->flow_id = flow_id;
	ld->total = total;
	ld->n = n;
	ld->resv = 0;
	memcpy(ld->seg, segs, n * sizeof(*segs));
	qoff_frag_prepend(skb, virt_to_head_page(ld),
			  (void *)ld - page_address(virt_to_head_page(ld)),
			  size);

	qoff_dev_fix_headers(skb, off);
	skb->decrypted = 1;
	sh->gso_type = QOFF_LEADER_GSO;
	sh->gso_size = segs[0].len;
	sh->gso_segs = n;
	qoff_dev_count(qd, segs, n, total);
	return 0;
}
EXPORT_SYMBOL_GPL(qoff_rx_segs);

/* The leader of a packet that has every mark of qoff_rx_segs(), or NULL.
 * skb->data is at the UDP header.
 */
VISIBLE_IF_KUNIT const struct qoff_leader *
qoff_leader_get(const struct sk_buff *skb)
{
	const struct skb_shared_info *sh = skb_shinfo(skb);
	const struct qoff_leader *ld;
	const skb_frag_t *frag = &sh->frags[0];

	if (!skb->decrypted || sh->gso_type != QOFF_LEADER_GSO ||
	    !sh->gso_segs || sh->gso_segs > QOFF_MAX_SEGS ||
	    skb_headlen(skb) != sizeof(struct udphdr) || sh->nr_frags < 2 ||
	    skb_has_frag_list(skb) ||
	    skb_frag_size(frag) != struct_size(ld, seg, sh->gso_segs) ||
	    PageHighMem(skb_frag_page(frag)))
		return NULL;
	ld = skb_frag_address(frag);
	if (ld->magic != QOFF_LEADER_MAGIC || ld->n != sh->gso_segs ||
	    ld->total != skb->len - sizeof(struct udphdr) - skb_frag_size(frag) ||
	    qoff_segs_sum(ld->seg, ld->n) != ld->total)
		return NULL;
	return ld;
}
EXPORT_SYMBOL_IF_KUNIT(qoff_leader_get);

/* A header is its first byte, the flow's DCID and the packet number */
static bool qoff_leader_hdrs_ok(const struct qoff_leader *ld,
				unsigned int dcid_len)
{
	unsigned int i;

	for (i = 0; i < ld->n; i++)
		if (ld->seg[i].status == QOFF_RX_OPENED &&
		    ld->seg[i].hdr_len != 1 + dcid_len + ld->seg[i].pn_len)
			return false;
	return true;
}

/* The flow that the device named, if it lives, is our group's, and has the
 * addresses that the packet still has (NAT)
 */
static struct qoff_flow *qoff_leader_flow(struct qoff_sock *qs,
					  const struct sk_buff *skb,
					  const struct qoff_leader *ld)
{
	struct net *net = sock_net(qs->sk);
	struct qoff_flow_key key;
	struct qoff_flow *flow;

	if (ld->net_cookie != net->net_cookie)
		return NULL;
	flow = qoff_flow_by_id(net, ld->flow_id);
	if (!flow || READ_ONCE(flow->dead) || flow->group != qs->group)
		return NULL;
	qoff_rx_flow_key(&key, skb_network_header(skb), udp_hdr(skb),
			 IP6CB(skb)->iif, flow->key.dcid, flow->key.dcid_len);
	if (memcmp(&key, &flow->key, sizeof(key)) ||
	    !qoff_leader_hdrs_ok(ld, flow->key.dcid_len) || !qoff_flow_hold(flow))
		return NULL;
	return flow;
}

/* Turn a packet of qoff_rx_segs() into an ordinary one with its records in
 * skb->cb. Any doubt drops. Return: 0, or an enum qoff_drop.
 */
int qoff_leader_strip(struct qoff_sock *qs, struct sk_buff *skb)
{
	struct qoff_rx_cb *cb = QOFF_RX_CB(skb);
	const struct qoff_leader *ld = qoff_leader_get(skb);
	struct qoff_flow *flow;

	if (!ld)
		return QOFF_DROP_RX_GUARD;
	flow = qoff_leader_flow(qs, skb, ld);
	if (!flow)
		return QOFF_DROP_RX_GUARD;
	cb->flow = flow;
	cb->nseg = ld->n;
	cb->segs = kmemdup(ld->seg, ld->n * sizeof(ld->seg[0]), GFP_ATOMIC);
	/* A tap's clone keeps the leader */
	if (!cb->segs || skb_unclone(skb, GFP_ATOMIC))
		return QOFF_DROP_RX_FULL;

	qoff_frag_behead(skb);
	skb_gso_reset(skb);
	skb->decrypted = 0;
	skb->truesize += cb->nseg * sizeof(cb->segs[0]);
	return 0;
}
