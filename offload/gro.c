// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: merging in NAPI.  Packets of one flow, of any lengths, are
 * chained through the frag_list, each with its own headers, so that whoever
 * forwards or redirects the merged skb cuts it at the right places.
 *
 * GRO's socket lookup is not the delivery lookup (no SO_REUSEPORT program), so
 * nothing decided here is trusted later: encap_rcv looks again.
 */
#include <net/gro.h>
#include "drop.h"
#include "rx.h"

/* A held packet that may grow is marked in NAPI_GRO_CB()->csum, which is free
 * once its checksum was verified: the upper half says so and with which DCID
 * length, the lower half keeps the UDP checksum, because
 * udp[46]_gro_complete() overwrites that in the header and a later segmentation
 * needs it.
 */
#define QOFF_GRO_MARK	0x51550000U

static u32 qoff_gro_mark(const struct sock *sk)
{
	return QOFF_GRO_MARK + ((u32)qoff_sk(sk)->group->dcid_len << 16);
}

static bool qoff_gro_marked(const struct sk_buff *skb, u32 mark)
{
	return ((__force u32)NAPI_GRO_CB(skb)->csum & 0xffff0000U) == mark;
}

/* Everything that must be equal in a merge and that no layer below
 * compared: TOS, TTL, DF, flow label, checksum state
 */
static bool qoff_gro_same(const struct sk_buff *skb, const u8 *base,
			  const struct sk_buff *p)
{
	const u8 *nh = base + NAPI_GRO_CB(skb)->network_offset;
	const u8 *nh2 = p->data + NAPI_GRO_CB(p)->network_offset;
	const struct iphdr *iph = (const struct iphdr *)nh;
	const struct iphdr *iph2 = (const struct iphdr *)nh2;

	if (skb->ip_summed != p->ip_summed || skb->csum_level != p->csum_level)
		return false;
	if (iph->version == 6)
		return *(__be32 *)nh == *(__be32 *)nh2 &&
		       ((const struct ipv6hdr *)nh)->hop_limit ==
		       ((const struct ipv6hdr *)nh2)->hop_limit;
	return iph->tos == iph2->tos && iph->ttl == iph2->ttl &&
	       !((iph->frag_off ^ iph2->frag_off) & htons(IP_DF));
}

static bool qoff_gro_same_dcid(const u8 *payload, const struct sk_buff *p,
			       unsigned int off, unsigned int dcid_len)
{
	u8 buf[QOFF_MAX_DCID];
	const u8 *dcid;

	if (!dcid_len)
		return true;
	/* Of a held packet only the UDP header is surely linear */
	dcid = skb_header_pointer(p, off + 1, dcid_len, buf);
	return dcid && !memcmp(dcid, payload + 1, dcid_len);
}

/* Chain @skb to the end of @p. Cannot fail half-way. */
static int qoff_gro_chain(struct sk_buff *p, struct sk_buff *skb)
{
	unsigned int off = skb_gro_offset(skb);

	/* IP and UDP header must be in the linear part: a segmenter goes back
	 * to them
	 */
	if (!pskb_may_pull(skb, off))
		return -ENOMEM;
	skb_set_network_header(skb, NAPI_GRO_CB(skb)->network_offset);
	skb_set_transport_header(skb, off - sizeof(struct udphdr));
	skb_pull(skb, off);

	if (NAPI_GRO_CB(p)->last == p) {
		skb_shinfo(p)->frag_list = skb;
		/* Should the socket go away before gro_complete, stock UDP
		 * completes and adds UDP_L4: the cuts stay known
		 */
		skb_shinfo(p)->gso_type = SKB_GSO_FRAGLIST;
	} else {
		NAPI_GRO_CB(p)->last->next = skb;
	}
	NAPI_GRO_CB(p)->last = skb;
	NAPI_GRO_CB(p)->count++;
	p->data_len += skb->len;
	p->len += skb->len;
	p->truesize += skb->truesize;
	skb_shinfo(p)->flags |= skb_shinfo(skb)->flags & SKBFL_SHARED_FRAG;

	/* Its memory is now charged through the head: gro_list_prepare() has
	 * seen that both belong to the same socket
	 */
	skb->destructor = NULL;
	skb->sk = NULL;
	NAPI_GRO_CB(skb)->same_flow = 1;
	return 0;
}

/* May this packet be merged at all? */
static bool qoff_gro_fit(const struct sk_buff *skb, const u8 *base,
			 unsigned int off)
{
	const u8 *nh = base + NAPI_GRO_CB(skb)->network_offset;
	const struct udphdr *uh = (const struct udphdr *)(base + off) - 1;
	unsigned int nh_len;

	nh_len = off - sizeof(*uh) - NAPI_GRO_CB(skb)->network_offset;
	if (nh_len != (*nh >> 4 == 4 ? sizeof(struct iphdr) :
				       sizeof(struct ipv6hdr)))
		return false;
	/* No padding, no checksum-less IPv4 */
	if (ntohs(uh->len) != skb_gro_len(skb) + sizeof(*uh) || !uh->check)
		return false;
	return qoff_is_short(base[off]);
}

static bool qoff_gro_known(struct sock *sk, const struct sk_buff *skb,
			   const u8 *base, unsigned int off,
			   unsigned int dcid_len)
{
	struct qoff_flow_key key;

	qoff_rx_flow_key(&key, base + NAPI_GRO_CB(skb)->network_offset,
			 (const struct udphdr *)(base + off) - 1,
			 skb->dev->ifindex, base + off + 1, dcid_len);
	return qoff_flow_lookup(sock_net(sk), &key);
}

/* A run of equal lengths comes whole from a sender on this host. Unmarked, it
 * would be cut at our socket, which has encap_rcv; the bit says that it need
 * not be: whether it has one flow is seen there, once. Whoever else gets it
 * cuts it at gso_size, bit or not.
 */
static void qoff_gro_train(struct sk_buff *skb)
{
	if (skb_shinfo(skb)->gso_type == SKB_GSO_UDP_L4 &&
	    skb->ip_summed == CHECKSUM_PARTIAL && !skb->decrypted &&
	    !skb->encapsulation && !skb_has_frag_list(skb) &&
	    !skb_unclone(skb, GFP_ATOMIC))
		skb_shinfo(skb)->gso_type |= SKB_GSO_UDP_TUNNEL_CSUM;
}

/**
 * qoff_gro_receive() - udp_sock.gro_receive of an attached socket
 * @sk: the socket that GRO's lookup found
 * @head: packets held in this bucket
 * @skb: the new packet; its UDP checksum was verified, its UDP header pulled
 *
 * A packet that is not merged goes up at once and takes the held packets of its
 * 4-tuple with it, so that nothing is overtaken. Packets of another known DCID
 * on the same 4-tuple are held beside each other.
 *
 * Context: softirq, RCU.
 * Return: a held packet that is complete, or NULL.
 */
struct sk_buff *qoff_gro_receive(struct sock *sk, struct list_head *head,
				 struct sk_buff *skb)
{
	unsigned int dcid_len = qoff_sk(sk)->group->dcid_len;
	unsigned int off = skb_gro_offset(skb);
	unsigned int len = skb_gro_len(skb);
	u32 mark = qoff_gro_mark(sk);
	struct sk_buff *p, *pp = NULL;
	const struct udphdr *uh;
	bool known = false;
	const u8 *base;

	if (skb_is_gso(skb)) {
		qoff_gro_train(skb);
		goto flush;
	}
	if (NAPI_GRO_CB(skb)->flush || skb->decrypted || skb->encapsulation ||
	    len < qoff_min_len(dcid_len))
		goto flush;
	base = skb_gro_header(skb, off + 1 + dcid_len, 0);
	if (!base || !qoff_gro_fit(skb, base, off))
		goto flush;

	list_for_each_entry(p, head, list) {
		if (!NAPI_GRO_CB(p)->same_flow)
			continue;
		/* encap_mark: it came through a socket with gro_receive */
		if (!NAPI_GRO_CB(p)->encap_mark || !qoff_gro_marked(p, mark))
			goto flush;
		if (!qoff_gro_same_dcid(base + off, p, off, dcid_len))
			continue;
		known = true;
		if (p->len + len > U16_MAX ||
		    !qoff_gro_same(skb, base, p)) {
			pp = p;
			break;
		}
		if (qoff_gro_chain(p, skb))
			goto flush;
		return NAPI_GRO_CB(p)->count < QOFF_MAX_SEGS ? NULL : p;
	}

	if (!known && !qoff_gro_known(sk, skb, base, off, dcid_len))
		goto flush;
	uh = (const struct udphdr *)(base + off) - 1;
	NAPI_GRO_CB(skb)->csum = (__force __wsum)(mark | (__force u16)uh->check);
	return pp;

flush:
	NAPI_GRO_CB(skb)->flush = 1;
	list_for_each_entry(p, head, list)
		if (NAPI_GRO_CB(p)->same_flow)
			return p;
	return NULL;
}

/**
 * qoff_gro_complete() - udp_sock.gro_complete of an attached socket
 * @sk: the socket
 * @skb: a merged packet
 * @nhoff: offset of the payload of segment 0
 *
 * FRAGLIST without encapsulation: a forwarding path cuts it right. With a
 * tunnel bit, because udp_unexpected_gso() would have it cut at our socket
 * otherwise.
 *
 * Context: softirq.
 * Return: 0; -EINVAL for a packet that stock GRO began before the socket was
 * attached: it is dropped.
 */
int qoff_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff)
{
	struct udphdr *uh = (struct udphdr *)(skb->data + nhoff) - 1;

	skb->encapsulation = 0;
	if (!qoff_gro_marked(skb, qoff_gro_mark(sk)) || !skb_has_frag_list(skb)) {
		qoff_drop_count(&qoff_sk(sk)->stats, NULL,
				QOFF_DROP_RX_GEOMETRY, NAPI_GRO_CB(skb)->count);
		return -EINVAL;
	}
	uh->check = (__force __sum16)(__force u32)NAPI_GRO_CB(skb)->csum;
	skb_shinfo(skb)->gso_segs = NAPI_GRO_CB(skb)->count;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST |
				    SKB_GSO_UDP_TUNNEL_CSUM;
	if (skb->ip_summed != CHECKSUM_PARTIAL &&
	    skb->ip_summed != CHECKSUM_UNNECESSARY) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		skb->csum_level = 0;
	}
	return 0;
}
