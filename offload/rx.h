/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QUIC offload: what the files of the receive data path share.
 *
 *	gro.c     merging in NAPI: wire datagrams of one flow become one skb
 *	rx_dev.c  skbs that a device opened or coalesced, and their leader
 *	rx.c      encap_rcv, the socket's own queue and its memory accounting
 *	recv.c    recvmsg: opening, copying, the record
 */
#ifndef _QOFF_RX_H
#define _QOFF_RX_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include "qoff.h"

/**
 * struct qoff_rx_cb - skb->cb of a queued skb
 * @h4: what the IPv4 control messages are made from (later: PKTINFO)
 * @h6: what the IPv6 ones are made from
 * @flow: flow of every segment, a reference; NULL when there is none
 * @segs: records of a device, @nseg of them, owned; NULL: the cuts are those
 *	of the frag_list, or every gso_size bytes
 * @next: segments already consumed, under qoff_sock.rxq.lock
 * @nseg: segments
 *
 * skb->data is at the payload of segment 0. Nothing of the skb is written to
 * after it was queued: a tap may hold a clone.
 */
struct qoff_rx_cb {
	union {
		struct inet_skb_parm h4;
		struct inet6_skb_parm h6;
	};
	struct qoff_flow *flow;
	struct qoff_rx_seg *segs;
	u16 next;
	u16 nseg;
};

#define QOFF_RX_CB(skb)	((struct qoff_rx_cb *)(skb)->cb)

/**
 * struct qoff_rx_pos - a segment inside a queued skb
 * @skb: the queued skb
 * @list: frag_list member that holds the segment, NULL: the head does
 * @idx: index of the segment
 * @off: its first byte, from skb->data
 */
struct qoff_rx_pos {
	struct sk_buff *skb;
	struct sk_buff *list;
	unsigned int idx;
	unsigned int off;
};

static inline unsigned int qoff_rx_pos_len(const struct qoff_rx_pos *pos)
{
	const struct qoff_rx_cb *cb = QOFF_RX_CB(pos->skb);

	if (cb->segs)
		return cb->segs[pos->idx].len;
	/* One reassembled datagram may have a frag_list, too */
	if (cb->nseg == 1)
		return pos->skb->len;
	if (!(skb_shinfo(pos->skb)->gso_type & SKB_GSO_FRAGLIST))
		return min_t(unsigned int, skb_shinfo(pos->skb)->gso_size,
			     pos->skb->len - pos->off);
	return pos->list ? pos->list->len : skb_pagelen(pos->skb);
}

/* To the next segment, when the length of this one is known already */
static inline void qoff_rx_pos_skip(struct qoff_rx_pos *pos, unsigned int len)
{
	pos->off += len;
	pos->idx++;
	if (!QOFF_RX_CB(pos->skb)->segs)
		pos->list = pos->list ? pos->list->next :
					skb_shinfo(pos->skb)->frag_list;
}

static inline void qoff_rx_pos_next(struct qoff_rx_pos *pos)
{
	qoff_rx_pos_skip(pos, qoff_rx_pos_len(pos));
}

/* The first segment of @skb that was not consumed */
static inline void qoff_rx_pos_first(struct qoff_rx_pos *pos,
				     struct sk_buff *skb)
{
	pos->skb = skb;
	pos->list = NULL;
	pos->idx = 0;
	pos->off = 0;
	while (pos->idx < QOFF_RX_CB(skb)->next)
		qoff_rx_pos_next(pos);
}

/* May one receive continue from @a, the first skb of the batch, into @b? The
 * flow fixes addresses and ports; the interface is compared because the other
 * control messages are those of @a.
 */
static inline bool qoff_rx_same_batch(const struct sk_buff *a,
				      const struct sk_buff *b)
{
	const struct qoff_rx_cb *ca = QOFF_RX_CB(a), *cb = QOFF_RX_CB(b);

	return ca->flow && ca->flow == cb->flow && ca->h4.iif == cb->h4.iif;
}

/* The flow key of a packet as the receiver sees it: its destination is local.
 * @iif: interface it came in by, which tells equal link-local addresses apart.
 */
static inline void qoff_rx_flow_key(struct qoff_flow_key *key, const void *nh,
				    const struct udphdr *uh, int iif,
				    const u8 *dcid, unsigned int dcid_len)
{
	const struct ipv6hdr *ip6h = nh;
	const struct iphdr *iph = nh;

	memset(key, 0, sizeof(*key));
	key->dcid_len = dcid_len;
	key->local_port = uh->dest;
	key->remote_port = uh->source;
	if (iph->version == 4) {
		key->family = AF_INET;
		key->local.s6_addr32[0] = iph->daddr;
		key->remote.s6_addr32[0] = iph->saddr;
	} else {
		key->family = AF_INET6;
		key->local = ip6h->daddr;
		key->remote = ip6h->saddr;
		if (qoff_flow_key_scoped(key))
			key->scope = iif;
	}
	memcpy(key->dcid, dcid, dcid_len);
}

/* IPv4 TOS or IPv6 traffic class */
static inline u8 qoff_rx_tos(const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IPV6))
		return ipv6_get_dsfield(ipv6_hdr(skb));
	return ip_hdr(skb)->tos;
}

/* rx.c */
void qoff_rx_free(struct sk_buff *skb);
void qoff_rx_uncharge(struct sock *sk, unsigned int size);

/* recv.c */
struct qoff_rx_work;
void qoff_rx_work_free(struct qoff_rx_work *w);

/* rx_dev.c */

#define QOFF_LEADER_PAD		1280	/* IPV6_MIN_MTU: longest ICMPv6 error */
#define QOFF_LEADER_MAGIC	0x71c0ffeeU

/**
 * struct qoff_leader - what is between UDP header and payload
 * @pad: zero
 * @net_cookie: namespace of the flow
 * @magic: QOFF_LEADER_MAGIC
 * @flow_id: flow of all segments
 * @total: payload bytes
 * @n: segments
 * @resv: 0
 * @seg: the segments
 */
struct qoff_leader {
	u8 pad[QOFF_LEADER_PAD];
	u64 net_cookie;
	u32 magic;
	u32 flow_id;
	u32 total;
	u16 n;
	u16 resv;
	struct qoff_rx_seg seg[] __counted_by(n);
};

int qoff_leader_strip(struct qoff_sock *qs, struct sk_buff *skb);

#if IS_ENABLED(CONFIG_KUNIT)
bool qoff_rx_geometry(const struct sk_buff *skb);
const struct qoff_leader *qoff_leader_get(const struct sk_buff *skb);
#endif

#endif /* _QOFF_RX_H */
