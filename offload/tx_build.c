// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload, transmit: the copy of the payload, and the skbs around it.
 *
 * Three forms, all made of the same pages:
 *
 *  - a run of equal lengths (and a shorter last) is ordinary UDP GSO, which
 *    today's NICs cut in hardware;
 *  - other neighbours are one SKB_GSO_FRAGLIST skb, a member of the list for
 *    each datagram, which every segmenter in the stack cuts at the right places;
 *  - for a device that takes super-packets, one flat skb with a table (see
 *    tx_desc.c), which nothing but that device may cut.
 *
 * Everything is allocated and charged to the socket here, before admission.
 */
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/uio.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/udp.h>

#include "tx.h"

/* Memory for segments from @i on, back to back: as many as are left and fit, at
 * least one. A segment must be contiguous for the cipher. Up to a page it comes
 * from the task's fragment, as other UDP payload does; longer ones (jumbo
 * frames, loopback) have pages of their own, and not at any price.
 * Return: how many segments the new chunk is for; 0 without memory.
 */
static unsigned int qoff_tx_room(struct qoff_tx_req *req, unsigned int i)
{
	struct qoff_chunk *c = &req->chunks[req->nchunk];
	struct page_frag *pf = &current->task_frag;
	const struct qoff_seg *s = &req->segs[i];
	gfp_t gfp = req->sk->sk_allocation;
	unsigned int len = s->len, n = 1, room;
	struct page *page;

	if (len > PAGE_SIZE) {
		page = alloc_pages(gfp | __GFP_COMP | __GFP_NORETRY |
				   __GFP_NOWARN, get_order(len));
		if (!page)
			return 0;
		c->data = page_address(page);
	} else {
		if (!skb_page_frag_refill(len, pf, gfp))
			return 0;
		room = pf->size - pf->offset;
		if (req->run) {
			/* All but the last have the first one's length */
			n = min_t(unsigned int, room / len, req->nseg - i);
			len = n == req->nseg - i ?
			      req->len - i * req->segs[0].len : n * len;
		}
		while (i + n < req->nseg && len + s[n].len <= room)
			len += s[n++].len;
		get_page(pf->page);
		c->data = page_address(pf->page) + pf->offset;
		/* Moved before the copy: a page fault may send, too */
		pf->offset += len;
	}
	c->len = len;
	req->nchunk++;
	return n;
}

static void qoff_tx_fill_pkts(struct qoff_tx_req *req)
{
	const struct qoff_seg *s = req->segs;
	struct qoff_pkt *p = req->pkts;
	unsigned int i, off;

	for (i = 0; i < req->nchunk; i++) {
		const struct qoff_chunk *c = &req->chunks[i];

		for (off = 0; off < c->len; off += s->len, s++, p++) {
			p->data = c->data + off;
			p->len = s->len;
			p->pn = req->pn + s->pn_off;
		}
	}
}

/**
 * qoff_tx_copy() - read the payload, once
 * @req: parsed; chunks are filled in, and pkts unless it is RAW
 *
 * Whatever the caller's memory does afterwards, this copy is what is checked,
 * sealed and sent.
 *
 * Context: process, may sleep.
 * Return: 0, -ENOBUFS, -EFAULT.
 */
int qoff_tx_copy(struct qoff_tx_req *req)
{
	struct iov_iter *from = &req->msg->msg_iter;
	const struct qoff_chunk *c = req->chunks;
	unsigned int i, n;

	for (i = 0; i < req->nseg; i += n, c++) {
		n = qoff_tx_room(req, i);
		if (!n)
			return -ENOBUFS;
		if (!copy_from_iter_full(c->data, c->len, from))
			return -EFAULT;
	}
	if (!(req->flags & QOFF_TX_RAW))
		qoff_tx_fill_pkts(req);
	return 0;
}

void qoff_tx_fill_hdr(const struct qoff_tx_req *req, u8 *ip, unsigned int len)
{
	struct udphdr *uh = (struct udphdr *)(ip + req->net_len);
	unsigned int ulen = len + sizeof(*uh);

	uh->len = htons(ulen);
	if (req->v6) {
		struct ipv6hdr *ip6 = (struct ipv6hdr *)ip;

		ip6->payload_len = htons(ulen);
		uh->check = ~udp_v6_check(ulen, &ip6->saddr, &ip6->daddr, 0);
	} else {
		struct iphdr *iph = (struct iphdr *)ip;

		iph->tot_len = htons(ulen + req->net_len);
		ip_send_check(iph);
		uh->check = ~udp_v4_check(ulen, iph->saddr, iph->daddr, 0);
	}
}

/* A datagram's skb with its headers, the payload still missing */
static struct sk_buff *qoff_skb_alloc(struct qoff_tx_req *req)
{
	struct sk_buff *skb = req->first;

	if (skb)
		req->first = NULL;
	else
		skb = alloc_skb(req->hh_len + req->hdr_len,
				req->sk->sk_allocation);
	if (!skb)
		return NULL;
	skb_reserve(skb, req->hh_len);
	skb_put_data(skb, &req->hdr, req->hdr_len);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, req->net_len);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	return skb;
}

/* One that goes through the stack on its own, or at the head of others */
static struct sk_buff *qoff_skb_head(struct qoff_tx_req *req)
{
	struct sk_buff *skb = qoff_skb_alloc(req);

	if (!skb)
		return NULL;
	if (!skb->sk)
		skb_set_owner_w(skb, req->sk);
	skb->priority = req->priority;
	skb->mark = req->mark;
	skb_set_delivery_type_by_clockid(skb, req->txtime, req->sk->sk_clockid);
	skb_dst_set(skb, dst_clone(req->dst));
	if (req->msg->msg_flags & MSG_CONFIRM)
		skb_set_dst_pending_confirm(skb, 1);
	return skb;
}

static void qoff_charge(struct qoff_tx_req *req, struct sk_buff *skb,
			unsigned int size)
{
	skb->truesize += size;
	refcount_add(size, &req->sk->sk_wmem_alloc);
}

/* Bytes of one page go into the skb. Does not charge. */
static void qoff_add_frag(struct sk_buff *skb, const u8 *data, unsigned int len)
{
	struct page *page = virt_to_head_page(data);

	get_page(page);
	skb_fill_page_desc(skb, skb_shinfo(skb)->nr_frags, page,
			   data - (u8 *)page_address(page), len);
	skb->len += len;
	skb->data_len += len;
}

/* Payload of @n packets, neighbours in memory as one fragment.
 * Return: how many packets the skb took.
 */
static unsigned int qoff_add_payload(struct sk_buff *skb,
				     const struct qoff_pkt *p, unsigned int n)
{
	const u8 *start, *end, *limit;
	struct page *page;
	unsigned int i = 0;

	while (i < n && skb_shinfo(skb)->nr_frags < MAX_SKB_FRAGS) {
		start = p[i].data;
		page = virt_to_head_page(start);
		/* The page behind this one has a count of its own */
		limit = page_address(page) + page_size(page);
		end = start;
		do {
			end += p[i++].len;
		} while (i < n && p[i].data == end && end < limit);
		qoff_add_frag(skb, start, end - start);
	}
	return i;
}

static void qoff_set_ident(struct qoff_tx_req *req, struct sk_buff *skb,
			   unsigned int n)
{
	if (!req->v6)
		ip_select_ident_segs(sock_net(req->sk), skb, req->sk, n);
}

/* The payload of @n segments is in: @size is the longest's */
static void qoff_flat_finish(struct qoff_tx_req *req, struct sk_buff *skb,
			     unsigned int n, unsigned int size)
{
	qoff_charge(req, skb, skb->data_len);
	qoff_set_ident(req, skb, n);
	qoff_tx_fill_hdr(req, skb->data, skb->data_len);
	if (n > 1) {
		skb_shinfo(skb)->gso_size = size;
		skb_shinfo(skb)->gso_segs = n;
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	}
	__skb_queue_tail(&req->skbs, skb);
}

/* Segments from..from+@n in one skb, or as many of them as its fragments take.
 * Return: how many, or -ENOBUFS.
 */
static int qoff_build_flat(struct qoff_tx_req *req, unsigned int from,
			   unsigned int n)
{
	const struct qoff_pkt *p = &req->pkts[from];
	struct sk_buff *skb = qoff_skb_head(req);
	unsigned int i, size = 0;

	if (!skb)
		return -ENOBUFS;
	n = qoff_add_payload(skb, p, n);
	for (i = 0; i < n; i++)
		size = max(size, p[i].len);
	qoff_flat_finish(req, skb, n, size);
	return n;
}

/* All of a run that is not to be sealed: no segment needs to be looked at */
static int qoff_build_run(struct qoff_tx_req *req)
{
	struct sk_buff *skb = qoff_skb_head(req);
	unsigned int i;

	if (!skb)
		return -ENOBUFS;
	for (i = 0; i < req->nchunk; i++)
		qoff_add_frag(skb, req->chunks[i].data, req->chunks[i].len);
	qoff_flat_finish(req, skb, req->nseg, req->segs[0].len);
	return 0;
}

/* A member of a frag list: complete headers in front of skb->data */
static struct sk_buff *qoff_build_member(struct qoff_tx_req *req,
					 const struct qoff_pkt *p)
{
	struct sk_buff *skb = qoff_skb_alloc(req);

	if (!skb)
		return NULL;
	qoff_add_payload(skb, p, 1);
	skb->truesize += p->len;
	qoff_tx_fill_hdr(req, skb->data, p->len);
	__skb_pull(skb, req->hdr_len);
	return skb;
}

/* Segments from..from+@n, at least 2, as a frag list. The head's checksum is
 * that of the first datagram, its lengths are those of all.
 */
static int qoff_build_list(struct qoff_tx_req *req, unsigned int from,
			   unsigned int n)
{
	const struct qoff_pkt *p = &req->pkts[from];
	struct sk_buff *skb, *member, **tail;
	unsigned int i, truesize = p->len;

	skb = qoff_skb_head(req);
	if (!skb)
		return -ENOBUFS;
	qoff_add_payload(skb, p, 1);
	qoff_set_ident(req, skb, n);
	qoff_tx_fill_hdr(req, skb->data, p->len);
	__skb_queue_tail(&req->skbs, skb);

	tail = &skb_shinfo(skb)->frag_list;
	for (i = 1; i < n; i++) {
		member = qoff_build_member(req, &p[i]);
		if (!member)
			break;
		*tail = member;
		tail = &member->next;
		skb->len += member->len;
		skb->data_len += member->len;
		truesize += member->truesize;
	}
	qoff_charge(req, skb, truesize);
	if (i < n)
		return -ENOBUFS;
	udp_hdr(skb)->len = htons(skb->len - req->net_len);
	skb_shinfo(skb)->gso_size = p->len;
	skb_shinfo(skb)->gso_segs = n;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST;
	return n;
}

/* Segments from @from on that have the length of the first; @all: and one
 * shorter
 */
static unsigned int qoff_run(const struct qoff_tx_req *req, unsigned int from,
			     unsigned int end, unsigned int *all)
{
	const struct qoff_seg *s = req->segs;
	unsigned int i = from + 1;

	while (i < end && s[i].len == s[from].len)
		i++;
	*all = i - from + (i < end && s[i].len < s[from].len);
	return i - from;
}

/* The form that any segmenter cuts right */
static int qoff_build_soft(struct qoff_tx_req *req, unsigned int from,
			   unsigned int end)
{
	unsigned int i = from, n, all;

	n = qoff_run(req, i, end, &all);
	if (all >= QOFF_MIN_RUN)
		return qoff_build_flat(req, from, all);
	do {
		i += n;
		if (i == end)
			break;
		n = qoff_run(req, i, end, &all);
	} while (all < QOFF_MIN_RUN);
	if (i - from == 1)
		return qoff_build_flat(req, from, 1);
	return qoff_build_list(req, from, i - from);
}

/* The form for the device that was picked */
static int qoff_build_dev(struct qoff_tx_req *req, unsigned int from,
			  unsigned int end)
{
	struct qoff_super *t;
	int n;

	n = qoff_build_flat(req, from, end - from);
	if (n < 0)
		return n;
	t = qoff_super_alloc(req, from, n);
	if (!t)
		return -ENOBUFS;
	qoff_super_guard(skb_peek_tail(&req->skbs), t);
	qoff_super_put(t);
	return n;
}

/* How much may leave at once: with a finite pacing rate about a millisecond's
 * worth, as tcp_tso_autosize() bounds it; the device's limits.
 */
static unsigned int qoff_burst(const struct qoff_tx_req *req,
			       unsigned int *max_segs)
{
	unsigned long rate = min(READ_ONCE(req->sk->sk_pacing_rate),
				 READ_ONCE(req->sk->sk_max_pacing_rate));
	unsigned int bytes = QOFF_MAX_BYTES6;
	struct net_device *dev;

	if (rate != ~0UL)
		bytes = min_t(unsigned long, bytes,
			      rate >> READ_ONCE(req->sk->sk_pacing_shift));
	*max_segs = QOFF_MAX_SEGS;
	if (req->qd) {
		dev = req->dst->dev;
		*max_segs = min3(*max_segs, req->qd->caps->max_segs,
				 READ_ONCE(dev->gso_max_segs));
		bytes = min(bytes, req->qd->caps->max_bytes);
		/* The stack wants the frame to be shorter than the limit */
		bytes = min(bytes, READ_ONCE(dev->gso_max_size) - 1 -
			    req->hdr_len - req->hh_len);
	}
	return bytes;
}

/**
 * qoff_tx_build() - make the skbs of a send
 * @req: copied, its device picked or not
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOBUFS; what was built is in req->skbs in either case.
 */
int qoff_tx_build(struct qoff_tx_req *req)
{
	unsigned int from = 0, end, bytes, max_bytes, max_segs;
	int n;

	max_bytes = qoff_burst(req, &max_segs);
	if (req->flags & QOFF_TX_RAW) {
		if (req->run && !req->qd && req->nseg >= QOFF_MIN_RUN &&
		    req->len <= max_bytes && req->nchunk <= MAX_SKB_FRAGS)
			return qoff_build_run(req);
		qoff_tx_fill_pkts(req);
	}
	while (from < req->nseg) {
		/* One segment always goes */
		bytes = req->segs[from].len;
		end = from + 1;
		while (end < req->nseg && end - from < max_segs &&
		       bytes + req->segs[end].len <= max_bytes)
			bytes += req->segs[end++].len;
		while (from < end) {
			n = req->qd ? qoff_build_dev(req, from, end) :
				      qoff_build_soft(req, from, end);
			if (n < 0)
				return n;
			from += n;
		}
	}
	return 0;
}

static void qoff_checksum(const struct qoff_tx_req *req, struct sk_buff *skb,
			  const struct qoff_pkt *p)
{
	unsigned int ulen = sizeof(struct udphdr) + p->len;
	struct udphdr *uh = udp_hdr(skb);
	__be16 len = uh->len;
	__sum16 check;
	__wsum csum;

	/* The head of a list says another length until it is cut */
	uh->len = htons(ulen);
	uh->check = 0;
	csum = csum_partial(p->data, p->len, csum_partial(uh, sizeof(*uh), 0));
	if (req->v6)
		check = udp_v6_check(ulen, &ipv6_hdr(skb)->saddr,
				     &ipv6_hdr(skb)->daddr, csum);
	else
		check = udp_v4_check(ulen, ip_hdr(skb)->saddr,
				     ip_hdr(skb)->daddr, csum);
	uh->check = check ?: CSUM_MANGLED_0;
	uh->len = len;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

/**
 * qoff_tx_checksum_list() - finish the checksums of a frag list here
 * @req: sealed
 * @skb: a frag list from qoff_tx_build()
 * @pkts: its packets
 *
 * For a path on which the list may lose its socket before a device sees it: the
 * stack's segmenter does not finish the checksums of a list that it cuts for a
 * device without checksum offload.
 */
void qoff_tx_checksum_list(const struct qoff_tx_req *req, struct sk_buff *skb,
			   const struct qoff_pkt *pkts)
{
	struct sk_buff *member;

	qoff_checksum(req, skb, pkts++);
	skb_walk_frags(skb, member)
		qoff_checksum(req, member, pkts++);
}
