// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: the segmentation engine. It reads a descriptor's skb, which it never
 * writes, and makes frames as they go over the wire.
 *
 * Headers are taken once, VLAN tag inserted, into a template; each frame gets a
 * copy with its own lengths, IPv4 identification, sequence number and checksums.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip6_checksum.h>

#include "quicsim.h"

/* Copy @len bytes of the skb's start, with the tag that the stack left beside
 * it. Return: bytes written.
 */
static int qsim_copy_tagged(const struct sk_buff *skb, u8 *to, unsigned int len)
{
	unsigned int macs = 2 * ETH_ALEN;
	struct {
		__be16 proto;
		__be16 tci;
	} __packed tag;

	if (!skb_vlan_tag_present(skb))
		return skb_copy_bits(skb, 0, to, len) ?: len;
	tag.proto = skb->vlan_proto;
	tag.tci = htons(skb_vlan_tag_get(skb));
	if (skb_copy_bits(skb, 0, to, macs) ||
	    skb_copy_bits(skb, macs, to + macs + VLAN_HLEN, len - macs))
		return -EINVAL;
	memcpy(to + macs, &tag, sizeof(tag));
	return len + VLAN_HLEN;
}

/* Headers of @skb: IP at @nh, transport at @th, @len bytes in all */
static int qsim_seg_init(struct qsim_seg *s, const struct sk_buff *skb,
			 unsigned int nh, unsigned int th, unsigned int len)
{
	unsigned int tag = skb_vlan_tag_present(skb) ? VLAN_HLEN : 0;
	const struct iphdr *iph;

	if (nh < ETH_HLEN || th < nh + sizeof(*iph) || len < th ||
	    len + tag > sizeof(s->hdr) || len > skb->len)
		return -EINVAL;
	if (qsim_copy_tagged(skb, s->hdr, len) < 0)
		return -EINVAL;
	s->len = len + tag;
	s->nh = nh + tag;
	s->th = th + tag;
	s->fixed_id = skb_shinfo(skb)->gso_type & SKB_GSO_TCP_FIXEDID;

	iph = (struct iphdr *)(s->hdr + s->nh);
	s->v6 = iph->version == 6;
	s->id = ntohs(iph->id);
	if (s->v6)
		return th < nh + sizeof(struct ipv6hdr) ? -EINVAL : 0;
	return iph->version != 4 || iph->ihl * 4 != th - nh ? -EINVAL : 0;
}

/* Frame number @i: headers in place, room for @pay bytes behind them */
static struct sk_buff *qsim_seg_next(struct qsim_port *port,
				     const struct qsim_seg *s, unsigned int i,
				     unsigned int pay)
{
	struct ipv6hdr *ip6h;
	struct sk_buff *skb;
	struct iphdr *iph;

	skb = qsim_frame_alloc(&port->tx_pfc, s->len + pay);
	if (!skb)
		return NULL;
	skb_put_data(skb, s->hdr, s->len);
	skb_put(skb, pay);
	if (s->v6) {
		ip6h = (struct ipv6hdr *)(skb->data + s->nh);
		ip6h->payload_len = htons(skb->len - s->nh - sizeof(*ip6h));
	} else {
		iph = (struct iphdr *)(skb->data + s->nh);
		iph->tot_len = htons(skb->len - s->nh);
		iph->id = htons(s->id + (s->fixed_id ? 0 : i));
		iph->check = 0;
		iph->check = ip_fast_csum(iph, iph->ihl);
	}
	return skb;
}

/* Transport checksum of a frame; @sum is that of the payload */
static __sum16 qsim_seg_csum(const struct qsim_seg *s, const struct sk_buff *skb,
			     u8 proto, __wsum sum)
{
	unsigned int len = skb->len - s->th;
	const struct ipv6hdr *ip6h;
	const struct iphdr *iph;

	sum = csum_partial(skb->data + s->th, s->len - s->th, sum);
	if (s->v6) {
		ip6h = (const struct ipv6hdr *)(skb->data + s->nh);
		return csum_ipv6_magic(&ip6h->saddr, &ip6h->daddr, len, proto,
				       sum);
	}
	iph = (const struct iphdr *)(skb->data + s->nh);
	return csum_tcpudp_magic(iph->saddr, iph->daddr, len, proto, sum);
}

static void qsim_seg_udp(const struct qsim_seg *s, struct sk_buff *skb,
			 __wsum sum, bool with_csum)
{
	struct udphdr *uh = (struct udphdr *)(skb->data + s->th);

	uh->len = htons(skb->len - s->th);
	uh->check = 0;
	if (with_csum)
		uh->check = qsim_seg_csum(s, skb, IPPROTO_UDP, sum) ?:
			    CSUM_MANGLED_0;
}

/**
 * qsim_seg_frame() - a packet that is one frame already
 * @port: the sender
 * @skb: the packet
 * @out: the frame is appended
 *
 * Return: 0, -ENOMEM, or -EINVAL for an skb that makes no sense.
 */
int qsim_seg_frame(struct qsim_port *port, const struct sk_buff *skb,
		   struct sk_buff_head *out)
{
	int start, off, len;
	struct sk_buff *frame;
	__wsum sum;

	if (skb->len < ETH_HLEN)
		return -EINVAL;
	frame = qsim_frame_alloc(&port->tx_pfc, skb->len + VLAN_HLEN);
	if (!frame)
		return -ENOMEM;
	len = qsim_copy_tagged(skb, frame->data, skb->len);
	if (len < 0)
		goto bad;
	skb_put(frame, len);

	if (skb->ip_summed == CHECKSUM_PARTIAL) {
		start = skb_checksum_start_offset(skb) + len - skb->len;
		off = start + skb->csum_offset;
		if (start < ETH_HLEN || off + 2 > len)
			goto bad;
		/* the field holds the sum of the pseudo header */
		sum = csum_partial(frame->data + start, len - start, 0);
		*(__sum16 *)(frame->data + off) = csum_fold(sum) ?:
						  CSUM_MANGLED_0;
	}
	__skb_queue_tail(out, frame);
	return 0;

bad:
	kfree_skb(frame);
	return -EINVAL;
}

/* TCP GRO lists (tx-gso-list): each skb of the list has its own TCP header */
static int qsim_seg_tcp_list(struct qsim_port *port, const struct sk_buff *skb,
			     struct qsim_seg *s, unsigned int hdr_len,
			     struct sk_buff_head *out)
{
	unsigned int thlen = s->len - s->th, i = 0, off = hdr_len, pay;
	const struct sk_buff *cur = skb;
	struct tcphdr *th, ports;
	struct sk_buff *frame;
	__wsum sum;

	memcpy(&ports, s->hdr + s->th, sizeof(ports));
	while (cur) {
		pay = (i ? cur->len : skb_pagelen(cur)) - off;
		if (i && tcp_hdrlen(cur) != thlen)
			return -EINVAL;
		frame = qsim_seg_next(port, s, i, pay);
		if (!frame)
			return -ENOMEM;
		__skb_queue_tail(out, frame);
		sum = skb_copy_and_csum_bits(cur, off, frame->data + s->len, pay);
		th = (struct tcphdr *)(frame->data + s->th);
		if (i)
			memcpy(th, skb_transport_header(cur), thlen);
		th->source = ports.source;
		th->dest = ports.dest;
		th->check = 0;
		th->check = qsim_seg_csum(s, frame, IPPROTO_TCP, sum);
		cur = i++ ? cur->next : skb_shinfo(skb)->frag_list;
		off = 0;
	}
	return 0;
}

/**
 * qsim_seg_tso() - TCP segmentation
 * @port: the sender
 * @skb: SKB_GSO_TCPV4 or SKB_GSO_TCPV6
 * @out: frames are appended
 *
 * FIN and PSH belong to the last segment, CWR (RFC 3168 section 6.1.2) to the
 * first.
 *
 * Return: 0, -ENOMEM, or -EINVAL for headers it does not understand.
 */
int qsim_seg_tso(struct qsim_port *port, const struct sk_buff *skb,
		 struct sk_buff_head *out)
{
	unsigned int mss = skb_shinfo(skb)->gso_size, th_off, hdr_len, off, pay, i;
	struct sk_buff *frame;
	struct qsim_seg s;
	struct tcphdr *th;
	__wsum sum;
	u32 seq;
	int err;

	th_off = skb_transport_offset(skb);
	hdr_len = th_off + tcp_hdrlen(skb);
	err = qsim_seg_init(&s, skb, skb_network_offset(skb), th_off, hdr_len);
	if (err || !mss)
		return -EINVAL;
	if (skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST) {
		qsim_count(port, QSIM_TX_FRAGLIST, 1);
		return qsim_seg_tcp_list(port, skb, &s, hdr_len, out);
	}
	qsim_count(port, QSIM_TX_TSO, 1);

	seq = ntohl(tcp_hdr(skb)->seq);
	for (i = 0, off = hdr_len; off < skb->len; i++, off += pay) {
		pay = min(mss, skb->len - off);
		frame = qsim_seg_next(port, &s, i, pay);
		if (!frame)
			return -ENOMEM;
		__skb_queue_tail(out, frame);
		sum = skb_copy_and_csum_bits(skb, off, frame->data + s.len, pay);
		th = (struct tcphdr *)(frame->data + s.th);
		th->seq = htonl(seq + off - hdr_len);
		if (i)
			th->cwr = 0;
		if (off + pay < skb->len) {
			th->fin = 0;
			th->psh = 0;
		}
		th->check = 0;
		th->check = qsim_seg_csum(&s, frame, IPPROTO_TCP, sum);
	}
	return 0;
}

/* UDP_L4|FRAGLIST: each skb of the list is one datagram, of any length; the head
 * skb has the headers of all.
 */
static int qsim_seg_uso_list(struct qsim_port *port, const struct sk_buff *skb,
			     const struct qsim_seg *s, unsigned int hdr_len,
			     bool with_csum, struct sk_buff_head *out)
{
	unsigned int off = hdr_len, pay, i = 0;
	const struct sk_buff *cur = skb;
	struct sk_buff *frame;
	__wsum sum;

	while (cur) {
		pay = (i ? cur->len : skb_pagelen(cur)) - off;
		frame = qsim_seg_next(port, s, i, pay);
		if (!frame)
			return -ENOMEM;
		__skb_queue_tail(out, frame);
		sum = skb_copy_and_csum_bits(cur, off, frame->data + s->len, pay);
		qsim_seg_udp(s, frame, sum, with_csum);
		cur = i++ ? cur->next : skb_shinfo(skb)->frag_list;
		off = 0;
	}
	return 0;
}

/**
 * qsim_seg_uso() - UDP segmentation
 * @port: the sender
 * @skb: SKB_GSO_UDP_L4, perhaps with SKB_GSO_FRAGLIST
 * @out: frames are appended
 *
 * Return: as qsim_seg_tso().
 */
int qsim_seg_uso(struct qsim_port *port, const struct sk_buff *skb,
		 struct sk_buff_head *out)
{
	unsigned int mss = skb_shinfo(skb)->gso_size, th_off, hdr_len, off, pay, i;
	struct sk_buff *frame;
	struct qsim_seg s;
	bool with_csum;
	__wsum sum;
	int err;

	th_off = skb_transport_offset(skb);
	hdr_len = th_off + sizeof(struct udphdr);
	err = qsim_seg_init(&s, skb, skb_network_offset(skb), th_off, hdr_len);
	if (err || !mss)
		return -EINVAL;
	with_csum = skb->ip_summed == CHECKSUM_PARTIAL ||
		    ((struct udphdr *)(s.hdr + s.th))->check;
	if (skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST) {
		qsim_count(port, QSIM_TX_FRAGLIST, 1);
		return qsim_seg_uso_list(port, skb, &s, hdr_len, with_csum, out);
	}
	qsim_count(port, QSIM_TX_USO, 1);

	for (i = 0, off = hdr_len; off < skb->len; i++, off += pay) {
		pay = min(mss, skb->len - off);
		frame = qsim_seg_next(port, &s, i, pay);
		if (!frame)
			return -ENOMEM;
		__skb_queue_tail(out, frame);
		sum = skb_copy_and_csum_bits(skb, off, frame->data + s.len, pay);
		qsim_seg_udp(&s, frame, sum, with_csum);
	}
	return 0;
}

/* Cut the payload as the table says. Packets to seal are noted in @pkt. */
static int qsim_super_cut(struct qsim_port *port, const struct qsim_txd *d,
			  const struct qsim_seg *s, struct qsim_pkt *pkt,
			  struct sk_buff_head *out)
{
	unsigned int off = d->desc.th_off + sizeof(struct udphdr), i;
	const struct qoff_seg *seg = d->desc.segs;
	struct sk_buff *frame;
	u8 *data;

	for (i = 0; i < d->desc.nseg; i++, seg++) {
		if (!seg->len || off + seg->len > d->skb->len)
			return -EINVAL;
		frame = qsim_seg_next(port, s, i, seg->len);
		if (!frame)
			return -ENOMEM;
		__skb_queue_tail(out, frame);
		data = frame->data + s->len;
		if (skb_copy_bits(d->skb, off, data, seg->len))
			return -EINVAL;
		off += seg->len;
		if (!d->desc.seal)
			continue;
		pkt[i].data = data;
		pkt[i].len = seg->len;
		pkt[i].pn = d->desc.pn + seg->pn_off;
		/* whether the fixed bit may be clear is the core's to know */
		if (qoff_seal_check(data, seg->len, d->desc.dcid_len,
				    pkt[i].pn, true))
			return -EINVAL;
	}
	return off == d->skb->len ? 0 : -EINVAL;
}

/**
 * qsim_seg_super() - variable-length segmentation and sealing
 * @port: the sender
 * @d: descriptor of a super-packet
 * @out: frames are appended
 *
 * Each segment is gathered into its frame, sealed in place, and then the UDP
 * checksum is computed over what goes out.
 *
 * Return: 0, or an error: then no byte of it may go out.
 */
int qsim_seg_super(struct qsim_port *port, const struct qsim_txd *d,
		   struct sk_buff_head *out)
{
	const struct qoff_tx_desc *desc = &d->desc;
	struct qsim_scratch *scratch = port->tx_scratch;
	struct sk_buff *frame;
	struct qsim_seg s;
	__wsum sum;
	int err;

	if (!desc->nseg || desc->nseg > QOFF_MAX_SEGS)
		return -EINVAL;
	if (unlikely(qsim_every(&port->flt.tx_fail))) {
		qsim_count(port, QSIM_FLT_TX_FAIL, 1);
		return -EIO;
	}
	if (unlikely(READ_ONCE(port->flt.broken)) &&
	    qsim_broken_refuses(port, desc))
		return -EINVAL;
	err = qsim_seg_init(&s, d->skb, desc->net_off, desc->th_off,
			    desc->th_off + sizeof(struct udphdr));
	if (err)
		return err;
	err = qsim_super_cut(port, d, &s, scratch->pkt, out);
	if (err)
		return err;
	if (desc->seal && !qsim_broken(port, QSIM_BROKEN_PLAIN)) {
		if (READ_ONCE(d->key->dead))
			return -ESTALE;
		qsim_broken_numbers(port, scratch->pkt, desc->nseg);
		err = qsim_seal(d->key, desc->dcid_len, scratch, desc->nseg);
		if (err)
			return err;
		qsim_broken_sealed(port, scratch->pkt, desc->nseg);
	}
	skb_queue_walk(out, frame) {
		sum = csum_partial(frame->data + s.len, frame->len - s.len, 0);
		qsim_seg_udp(&s, frame, sum, true);
	}
	if (unlikely(READ_ONCE(port->flt.broken)))
		qsim_broken_frames(port, &s, out);
	qsim_count(port, QSIM_TX_SUPER, 1);
	qsim_count(port, desc->seal ? QSIM_TX_SEALED : QSIM_TX_RAW_SEGS,
		   desc->nseg);
	qsim_count(port, QSIM_TX_SUPER_BYTES,
		   d->skb->len - desc->th_off - sizeof(struct udphdr));
	return 0;
}
