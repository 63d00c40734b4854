// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: recvmsg.  One receive returns a batch: whole segments of one
 * flow, back to back, opened where there is a key, and one control message that
 * says what each of them is.
 *
 * qoff_sock.rx_mutex makes the reader the only consumer of the queue; softirq
 * only appends. So the reader looks at queued skbs without the queue's lock and
 * takes it to follow ->next, and to consume. Nothing is consumed before
 * everything was copied.
 */
#include <linux/bpf-cgroup.h>
#include <net/busy_poll.h>
#include <net/compat.h>
#include <net/inet_ecn.h>
#include <net/transp_v6.h>
#include "rx.h"

/* Packets and bytes opened at a time. One packet may be longer. */
#define QOFF_RX_CHUNK		32
#define QOFF_RX_CHUNK_BYTES	SZ_16K

/**
 * struct qoff_rx_work - scratch of a receiving socket, under rx_mutex
 * @hdr: head of the record
 * @seg: entries of the record, right behind it
 * @pkts: packets of a chunk that are to be opened
 * @map: their indices in @seg
 * @buf: bytes of a chunk, @size of them; NULL until something is opened
 * @size: of @buf
 */
struct qoff_rx_work {
	struct qoff_rx hdr;
	struct qoff_rx_seg seg[QOFF_MAX_SEGS];
	struct qoff_pkt pkts[QOFF_RX_CHUNK];
	u8 map[QOFF_RX_CHUNK];
	u8 *buf;
	unsigned int size;
};

/**
 * struct qoff_rx_batch - one receive in the making
 * @qs: the socket
 * @w: its scratch
 * @msg: where it goes
 * @flow: flow of the batch, held by the queued skbs; or NULL
 * @keys: the flow's keys, or NULL
 * @crypt: for opening, allocated when first needed
 * @room: bytes left in the user's buffer
 * @cap: entries that the control buffer holds
 * @n: segments so far
 * @bytes: their bytes; with @trunc only what was copied
 * @more: stopped for lack of room
 * @trunc: the only segment was cut
 * @status: how many segments have each status
 * @sw_opened: segments opened here
 * @dev_opened: segments that a device opened
 * @tstamp: of the segment that hdr.pn_largest names
 * @last_tstamp: of the last segment
 */
struct qoff_rx_batch {
	struct qoff_sock *qs;
	struct qoff_rx_work *w;
	struct msghdr *msg;
	struct qoff_flow *flow;
	struct qoff_rxkeys *keys;
	struct qoff_crypt *crypt;
	size_t room;
	unsigned int cap;
	unsigned int n;
	unsigned int bytes;
	bool more;
	bool trunc;
	unsigned int status[QOFF_RX_FAILED + 1];
	unsigned int sw_opened;
	unsigned int dev_opened;
	ktime_t tstamp;
	ktime_t last_tstamp;
};

void qoff_rx_work_free(struct qoff_rx_work *w)
{
	if (!w)
		return;
	kfree(w->buf);
	kfree(w);
}

static int qoff_rx_work_get(struct qoff_sock *qs)
{
	lockdep_assert_held(&qs->rx_mutex);
	/* The record is put as one piece, and its sizes are the first version's */
	BUILD_BUG_ON(offsetof(struct qoff_rx_work, seg) !=
		     sizeof(struct qoff_rx));
	BUILD_BUG_ON(sizeof(struct qoff_rx) != QOFF_RX_HDR_MIN);
	BUILD_BUG_ON(sizeof(struct qoff_rx_seg) != QOFF_RX_SEG_MIN);

	if (!qs->rx_work)
		qs->rx_work = kzalloc(sizeof(*qs->rx_work), GFP_KERNEL_ACCOUNT);
	return qs->rx_work ? 0 : -ENOMEM;
}

/* At least @size bytes of scratch that the crypto API can address */
static u8 *qoff_rx_buf(struct qoff_rx_work *w, unsigned int size)
{
	size = max_t(unsigned int, size, QOFF_RX_CHUNK_BYTES);
	if (w->size < size) {
		kfree(w->buf);
		w->size = 0;
		w->buf = kmalloc(size, GFP_KERNEL_ACCOUNT);
		if (w->buf)
			w->size = size;
	}
	return w->buf;
}

/* What a segment without a flow is */
static u8 qoff_rx_raw_status(const struct qoff_rx_pos *pos)
{
	u8 b0;

	if (!qoff_rx_pos_len(pos) ||
	    skb_copy_bits(pos->skb, pos->off, &b0, 1) || qoff_is_short(b0))
		return QOFF_RX_NO_FLOW;
	return QOFF_RX_LONG_HEADER;
}

/* Take segments of pos->skb into the record while there is room. Return: how
 * many; the bytes go to @bytes.
 */
static unsigned int qoff_rx_gather(struct qoff_rx_batch *b,
				   struct qoff_rx_pos *pos, unsigned int *bytes)
{
	const struct qoff_rx_cb *cb = QOFF_RX_CB(pos->skb);
	const struct qoff_rx_seg raw = {
		.status = QOFF_RX_NO_KEY,
		.tos = qoff_rx_tos(pos->skb),
	};
	unsigned int len, n = 0;

	*bytes = 0;
	for (; pos->idx < cb->nseg; qoff_rx_pos_skip(pos, len)) {
		struct qoff_rx_seg *seg = &b->w->seg[b->n + n];

		len = qoff_rx_pos_len(pos);
		if (b->n + n == b->cap || (len > b->room && b->n + n)) {
			b->more = true;
			break;
		}
		if (cb->segs) {
			*seg = cb->segs[pos->idx];
			if (seg->status == QOFF_RX_OPENED)
				b->dev_opened++;
			else
				seg->status = QOFF_RX_NO_KEY;
		} else {
			*seg = raw;
			seg->len = len;
			if (!b->flow)
				seg->status = qoff_rx_raw_status(pos);
		}
		n++;
		*bytes += len;
		if (len > b->room) {
			b->trunc = true;
			b->room = 0;
			qoff_rx_pos_skip(pos, len);
			break;
		}
		b->room -= len;
	}
	return n;
}

/* The same for a run of equal lengths, whose entries are alike. Return: 0 also
 * when the first segment is longer than all the room.
 */
static unsigned int qoff_rx_gather_run(struct qoff_rx_batch *b,
				       struct qoff_rx_pos *pos,
				       unsigned int *bytes)
{
	unsigned int size = skb_shinfo(pos->skb)->gso_size;
	unsigned int left = pos->skb->len - pos->off, n, i;
	struct qoff_rx_seg *seg = &b->w->seg[b->n];
	const struct qoff_rx_seg raw = {
		.len = size,
		.status = QOFF_RX_NO_KEY,
		.tos = qoff_rx_tos(pos->skb),
	};
	unsigned int all = QOFF_RX_CB(pos->skb)->nseg - pos->idx;

	n = min(all, b->cap - b->n);
	if (left > b->room)
		n = min_t(size_t, n, b->room / size);
	if (!n)
		return 0;
	for (i = 0; i < n; i++)
		seg[i] = raw;
	*bytes = n * size;
	if (n == all) {
		*bytes = left;
		seg[n - 1].len = left - (n - 1) * size;
	} else {
		b->more = true;
	}
	b->room -= *bytes;
	pos->idx += n;
	pos->off += *bytes;
	return n;
}

static bool qoff_rx_is_run(const struct sk_buff *skb)
{
	return QOFF_RX_CB(skb)->flow && !QOFF_RX_CB(skb)->segs &&
	       QOFF_RX_CB(skb)->nseg > 1 &&
	       !(skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST);
}

static int qoff_rx_put(struct qoff_rx_batch *b, const u8 *buf,
		       unsigned int bytes)
{
	return copy_to_iter(buf, bytes, &b->msg->msg_iter) == bytes ? 0 :
								     -EFAULT;
}

/* Open those of @n segments in @buf, described from @seg on, that are not open
 * yet. What could not be opened is read again from @skb: raw segments are the
 * bytes that came in.
 */
static int qoff_rx_open_chunk(struct qoff_rx_batch *b, struct sk_buff *skb,
			      unsigned int off, struct qoff_rx_seg *seg,
			      unsigned int n, u8 *buf)
{
	struct qoff_rx_work *w = b->w;
	unsigned int i, m = 0, pos = 0;

	for (i = 0; i < n; pos += seg[i++].len) {
		if (seg[i].status == QOFF_RX_OPENED) {
			memset(buf + pos + seg[i].len - QOFF_TAG_SIZE, 0,
			       QOFF_TAG_SIZE);
			continue;
		}
		if (!b->keys)
			continue;
		w->pkts[m].data = buf + pos;
		w->pkts[m].len = seg[i].len;
		w->map[m++] = i;
	}
	if (!m)
		return 0;

	if (!b->crypt)
		b->crypt = qoff_crypt_alloc(b->keys->hp, QOFF_RX_CHUNK, false,
					    GFP_KERNEL);
	if (!b->crypt)
		return -ENOMEM;
	qoff_open(b->keys, b->flow->key.dcid_len, w->pkts, m, b->crypt);

	for (i = 0; i < m; i++) {
		const struct qoff_pkt *p = &w->pkts[i];
		struct qoff_rx_seg *s = &seg[w->map[i]];

		s->status = p->status;
		if (p->status != QOFF_RX_OPENED) {
			if (skb_copy_bits(skb, off + (p->data - buf), p->data,
					  p->len))
				return -EFAULT;
			continue;
		}
		s->hdr_len = p->hdr_len;
		s->pn_len = p->pn_len;
		s->key_gen = p->key_gen;
		s->pn = p->pn;
		b->sw_opened++;
	}
	return 0;
}

/* Copy @n segments of @skb from @off on through the scratch buffer */
static int qoff_rx_open_run(struct qoff_rx_batch *b, struct sk_buff *skb,
			    unsigned int off, struct qoff_rx_seg *seg,
			    unsigned int n, size_t limit)
{
	unsigned int k, bytes;
	u8 *buf;
	int err;

	while (n) {
		for (k = 0, bytes = 0; k < n && k < QOFF_RX_CHUNK; k++) {
			if (k && bytes + seg[k].len > QOFF_RX_CHUNK_BYTES)
				break;
			bytes += seg[k].len;
		}
		buf = qoff_rx_buf(b->w, bytes);
		if (!buf)
			return -ENOMEM;
		if (skb_copy_bits(skb, off, buf, bytes))
			return -EFAULT;
		err = qoff_rx_open_chunk(b, skb, off, seg, k, buf);
		if (!err)
			err = qoff_rx_put(b, buf, min_t(size_t, bytes, limit));
		if (err)
			return err;
		off += bytes;
		seg += k;
		n -= k;
	}
	return 0;
}

/* A packet number joins the aggregates */
static void qoff_rx_add_pn(struct qoff_rx_batch *b, unsigned int idx,
			   ktime_t tstamp)
{
	const struct qoff_rx_seg *seg = b->w->seg;
	struct qoff_rx *hdr = &b->w->hdr;
	u64 pn = seg[idx].pn;
	unsigned int i;

	if (!hdr->nopened || pn > hdr->pn_largest) {
		hdr->pn_largest = pn;
		b->tstamp = tstamp;
	} else {
		/* In order, the usual case, never comes here */
		for (i = 0; i < idx; i++)
			if (seg[i].status == QOFF_RX_OPENED && seg[i].pn == pn)
				hdr->flags |= QOFF_RX_DUP;
	}
	if (!hdr->nopened || pn < hdr->pn_min)
		hdr->pn_min = pn;
	hdr->nopened++;
}

/* Segments @n0.. to @n0 + @n - 1 of the record are final */
static void qoff_rx_add_segs(struct qoff_rx_batch *b, const struct sk_buff *skb,
			     unsigned int n0, unsigned int n)
{
	struct qoff_rx *hdr = &b->w->hdr;
	unsigned int i;

	b->last_tstamp = skb->tstamp;
	/* Nobody opened anything */
	if (b->flow && !b->keys && !QOFF_RX_CB(skb)->segs) {
		b->status[QOFF_RX_NO_KEY] += n;
		return;
	}
	for (i = n0; i < n0 + n; i++) {
		const struct qoff_rx_seg *seg = &b->w->seg[i];

		b->status[seg->status]++;
		if (seg->status != QOFF_RX_OPENED)
			continue;
		qoff_rx_add_pn(b, i, skb->tstamp);
		switch (seg->tos & INET_ECN_MASK) {
		case INET_ECN_ECT_0:
			hdr->ect0++;
			break;
		case INET_ECN_ECT_1:
			hdr->ect1++;
			break;
		case INET_ECN_CE:
			hdr->ce++;
			break;
		}
	}
}

/* Bring the segments from pos->skb to the user. Return: 0, or an errno and the
 * receive has failed as a whole.
 */
static int qoff_rx_one_skb(struct qoff_rx_batch *b, struct qoff_rx_pos *pos)
{
	struct sk_buff *skb = pos->skb;
	unsigned int off = pos->off, n0 = b->n, bytes, n;
	size_t limit = b->room;
	int err;

	n = qoff_rx_is_run(skb) ? qoff_rx_gather_run(b, pos, &bytes) : 0;
	if (!n)
		n = qoff_rx_gather(b, pos, &bytes);
	if (!n)
		return 0;
	if (b->keys || QOFF_RX_CB(skb)->segs)
		err = qoff_rx_open_run(b, skb, off, &b->w->seg[n0], n, limit);
	else
		err = skb_copy_datagram_iter(skb, off, &b->msg->msg_iter,
					     min_t(size_t, bytes, limit));
	if (err)
		return err;
	qoff_rx_add_segs(b, skb, n0, n);
	b->n += n;
	b->bytes += min_t(size_t, bytes, limit);
	return 0;
}

static struct sk_buff *qoff_rx_peek_next(struct qoff_sock *qs,
					 struct sk_buff *skb)
{
	struct sk_buff *next;

	spin_lock_bh(&qs->rxq.lock);
	next = skb_peek_next(skb, &qs->rxq);
	spin_unlock_bh(&qs->rxq.lock);
	return next;
}

/* Fill the user's buffer from the head of the queue on. @pos ends behind the
 * last segment taken.
 */
static int qoff_rx_fill(struct qoff_rx_batch *b, struct qoff_rx_pos *pos)
{
	struct sk_buff *first = skb_peek(&b->qs->rxq), *next;
	int err;

	qoff_rx_pos_first(pos, first);
	for (;;) {
		err = qoff_rx_one_skb(b, pos);
		if (err)
			return err;
		if (pos->idx < QOFF_RX_CB(pos->skb)->nseg) {
			b->more = true;
			return 0;
		}
		next = qoff_rx_peek_next(b->qs, pos->skb);
		if (!next || !qoff_rx_same_batch(first, next))
			return 0;
		if (b->n == b->cap || b->trunc) {
			b->more = true;
			return 0;
		}
		qoff_rx_pos_first(pos, next);
	}
}

/* Everything before @pos was received. When nothing of pos->skb was taken, the
 * position is at its first segment and it just stays the head.
 */
static void qoff_rx_consume(struct qoff_sock *qs, const struct qoff_rx_pos *pos)
{
	struct sk_buff_head done;
	unsigned int size = 0;
	struct sk_buff *skb;
	bool last;

	__skb_queue_head_init(&done);
	spin_lock_bh(&qs->rxq.lock);
	do {
		skb = skb_peek(&qs->rxq);
		last = skb == pos->skb;
		if (last && pos->idx < QOFF_RX_CB(skb)->nseg) {
			QOFF_RX_CB(skb)->next = pos->idx;
			break;
		}
		__skb_unlink(skb, &qs->rxq);
		__skb_queue_tail(&done, skb);
	} while (!last);
	spin_unlock_bh(&qs->rxq.lock);

	while ((skb = __skb_dequeue(&done))) {
		size += skb->truesize;
		qoff_rx_free(skb);
	}
	qoff_rx_uncharge(qs->sk, size);
}

static void qoff_rx_name4(struct sock *sk, struct msghdr *msg,
			  const struct sk_buff *skb, int *addr_len)
{
	DECLARE_SOCKADDR(struct sockaddr_in *, sin, msg->msg_name);

	sin->sin_family = AF_INET;
	sin->sin_port = udp_hdr(skb)->source;
	sin->sin_addr.s_addr = ip_hdr(skb)->saddr;
	memset(sin->sin_zero, 0, sizeof(sin->sin_zero));
	*addr_len = sizeof(*sin);
	BPF_CGROUP_RUN_PROG_UDP4_RECVMSG_LOCK(sk, (struct sockaddr *)sin,
					      addr_len);
}

static void qoff_rx_name6(struct sock *sk, struct msghdr *msg,
			  const struct sk_buff *skb, int *addr_len)
{
	DECLARE_SOCKADDR(struct sockaddr_in6 *, sin6, msg->msg_name);

	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = udp_hdr(skb)->source;
	sin6->sin6_flowinfo = 0;
	if (skb->protocol == htons(ETH_P_IP)) {
		ipv6_addr_set_v4mapped(ip_hdr(skb)->saddr, &sin6->sin6_addr);
		sin6->sin6_scope_id = 0;
	} else {
		sin6->sin6_addr = ipv6_hdr(skb)->saddr;
		sin6->sin6_scope_id = ipv6_iface_scope_id(&sin6->sin6_addr,
							  inet6_iif(skb));
	}
	*addr_len = sizeof(*sin6);
	BPF_CGROUP_RUN_PROG_UDP6_RECVMSG_LOCK(sk, (struct sockaddr *)sin6,
					      addr_len);
}

/* IPV6_PKTINFO of an IPv4 datagram on an IPv6 socket */
static void qoff_rx_mapped_pktinfo(struct sock *sk, struct msghdr *msg,
				   struct sk_buff *skb)
{
	struct in6_pktinfo info;

	if (!inet6_sk(sk)->rxopt.bits.rxinfo)
		return;
	info.ipi6_ifindex = PKTINFO_SKB_CB(skb)->ipi_ifindex;
	ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, &info.ipi6_addr);
	put_cmsg(msg, SOL_IPV6, IPV6_PKTINFO, sizeof(info), &info);
}

/* Stock control messages, those of the batch's first datagram. They come before
 * ours, so that what they leave decides how many entries fit.
 */
static void qoff_rx_stock_cmsgs(struct sock *sk, struct msghdr *msg,
				struct sk_buff *skb)
{
	bool ip4 = skb->protocol == htons(ETH_P_IP);

	sock_recv_cmsgs(msg, sk, skb);
	if (IS_ENABLED(CONFIG_IPV6) && sk->sk_family == AF_INET6) {
		if (ip4)
			qoff_rx_mapped_pktinfo(sk, msg, skb);
		else if (inet6_sk(sk)->rxopt.all)
			ip6_datagram_recv_ctl(sk, msg, skb);
	}
	if (ip4 && inet_cmsg_flags(inet_sk(sk)))
		ip_cmsg_recv_offset(msg, sk, skb, sizeof(struct udphdr), 0);
}

/* How many entries our control message can have */
static unsigned int qoff_rx_capacity(const struct msghdr *msg)
{
	size_t head = CMSG_LEN(sizeof(struct qoff_rx));

#ifdef CONFIG_COMPAT
	if (msg->msg_flags & MSG_CMSG_COMPAT)
		head = sizeof(struct compat_cmsghdr) + sizeof(struct qoff_rx);
#endif
	if (!msg->msg_control || msg->msg_controllen < head)
		return 0;
	return min_t(size_t, (msg->msg_controllen - head) /
			     sizeof(struct qoff_rx_seg), QOFF_MAX_SEGS);
}

/* put_cmsg(), which copies a long message word by word. qoff_rx_capacity() has
 * seen that it fits.
 */
static int qoff_rx_put_cmsg(struct msghdr *msg, const void *data, size_t len)
{
	struct cmsghdr __user *cm = msg->msg_control_user;
	struct cmsghdr head = {
		.cmsg_len = CMSG_LEN(len),
		.cmsg_level = SOL_UDP,
		.cmsg_type = QOFF_CMSG,
	};
	size_t space;

	if (!msg->msg_control_is_user || msg->msg_flags & MSG_CMSG_COMPAT)
		return put_cmsg(msg, SOL_UDP, QOFF_CMSG, len, (void *)data);
	if (copy_to_user(cm, &head, sizeof(head)) ||
	    copy_to_user(CMSG_USER_DATA(cm), data, len))
		return -EFAULT;
	space = min_t(size_t, CMSG_SPACE(len), msg->msg_controllen);
	msg->msg_control_user += space;
	msg->msg_controllen -= space;
	return 0;
}

static int qoff_rx_record(struct qoff_rx_batch *b)
{
	struct qoff_rx *hdr = &b->w->hdr;
	ktime_t t = hdr->nopened ? b->tstamp : b->last_tstamp;

	hdr->hdr_size = sizeof(*hdr);
	hdr->seg_size = sizeof(struct qoff_rx_seg);
	hdr->nseg = b->n;
	hdr->nfailed = b->status[QOFF_RX_FAILED];
	hdr->cookie = b->flow ? b->flow->cookie : 0;
	if (b->more)
		hdr->flags |= QOFF_RX_MORE;
	if (b->dev_opened)
		hdr->flags |= QOFF_RX_DEVICE_OPENED;
	if (hdr->nopened && !(hdr->flags & QOFF_RX_DUP) &&
	    hdr->pn_largest - hdr->pn_min + 1 == hdr->nopened)
		hdr->flags |= QOFF_RX_CONTIGUOUS;
	if (t) {
		hdr->flags |= QOFF_RX_HAS_TSTAMP;
		hdr->tstamp_ns = ktime_to_ns(t);
	}
	return qoff_rx_put_cmsg(b->msg, hdr, sizeof(*hdr) +
				b->n * sizeof(struct qoff_rx_seg));
}

static void qoff_rx_count(const struct qoff_rx_batch *b, enum qoff_cnt c,
			  unsigned int n)
{
	if (!n)
		return;
	qoff_count(&b->qs->stats, c, n);
	if (b->flow)
		qoff_count(&b->flow->stats, c, n);
}

/* The batch was received: now it counts */
static void qoff_rx_account(const struct qoff_rx_batch *b)
{
	const struct qoff_rx *hdr = &b->w->hdr;
	const unsigned int *n = b->status;

	qoff_rx_count(b, QOFF_CNT_RX_DEV_OPENED, b->dev_opened);
	qoff_rx_count(b, QOFF_CNT_RX_SW_OPENED, b->sw_opened);
	qoff_rx_count(b, QOFF_CNT_RX_FAILED, n[QOFF_RX_FAILED]);
	qoff_rx_count(b, QOFF_CNT_RX_NO_FLOW, n[QOFF_RX_NO_FLOW]);
	qoff_rx_count(b, QOFF_CNT_RX_NO_KEY, n[QOFF_RX_NO_KEY]);
	qoff_rx_count(b, QOFF_CNT_RX_NO_PHASE, n[QOFF_RX_NO_PHASE]);

	if (!b->keys)
		return;
	if (hdr->nfailed)
		qoff_rxkeys_failed(b->keys, hdr->nfailed);
	if (b->dev_opened) {
		spin_lock_bh(&b->keys->lock);
		if (hdr->pn_largest >= b->keys->next_pn)
			b->keys->next_pn = hdr->pn_largest + 1;
		spin_unlock_bh(&b->keys->lock);
	}
}

/* Receive from a queue that is not empty. Return: bytes, or an errno and nothing
 * was consumed.
 */
static int qoff_rx_batch(struct qoff_sock *qs, struct msghdr *msg, size_t len,
			 int flags, int *addr_len)
{
	struct qoff_rx_batch b = { .qs = qs, .msg = msg, .room = len };
	struct sk_buff *skb = skb_peek(&qs->rxq);
	struct sock *sk = qs->sk;
	struct qoff_rx_pos pos;
	int err;

	err = qoff_rx_work_get(qs);
	if (err)
		return err;
	b.w = qs->rx_work;
	memset(&b.w->hdr, 0, sizeof(b.w->hdr));

	qoff_rx_stock_cmsgs(sk, msg, skb);
	b.cap = qoff_rx_capacity(msg);
	if (!b.cap)
		return -ENOSPC;

	b.flow = QOFF_RX_CB(skb)->flow;
	/* The flow, which the queued skb holds, keeps its keys */
	if (b.flow)
		b.keys = rcu_dereference_raw(b.flow->keys);
	err = qoff_rx_fill(&b, &pos);
	if (b.crypt)
		qoff_crypt_free(b.crypt);
	if (!err)
		err = qoff_rx_record(&b);
	if (err)
		return err;

	if (msg->msg_name && sk->sk_family == AF_INET6)
		qoff_rx_name6(sk, msg, skb, addr_len);
	else if (msg->msg_name)
		qoff_rx_name4(sk, msg, skb, addr_len);
	if (b.trunc)
		msg->msg_flags |= MSG_TRUNC;
	err = b.bytes;
	if (b.trunc && (flags & MSG_TRUNC))
		err = b.w->seg[0].len;

	if (!(flags & MSG_PEEK)) {
		qoff_rx_account(&b);
		qoff_rx_consume(qs, &pos);
	}
	return err;
}

#ifdef CONFIG_NET_RX_BUSY_POLL
static bool qoff_rx_busy_end(void *p, unsigned long start)
{
	struct qoff_sock *qs = p;

	return !skb_queue_empty_lockless(&qs->rxq) ||
	       sk_busy_loop_timeout(qs->sk, start);
}

static void qoff_rx_busy(struct qoff_sock *qs, bool nonblock)
{
	struct sock *sk = qs->sk;
	unsigned int napi_id = READ_ONCE(sk->sk_napi_id);

	if (napi_id >= MIN_NAPI_ID)
		napi_busy_loop(napi_id, nonblock ? NULL : qoff_rx_busy_end, qs,
			       READ_ONCE(sk->sk_prefer_busy_poll),
			       READ_ONCE(sk->sk_busy_poll_budget) ?:
			       BUSY_POLL_BUDGET);
}
#else
static void qoff_rx_busy(struct qoff_sock *qs, bool nonblock)
{
}
#endif

/* Return with the queue not empty and rx_mutex held; or with what recvmsg
 * returns, in @ret, and false.
 */
static bool qoff_rx_wait(struct qoff_sock *qs, int flags, int *ret)
{
	struct sock *sk = qs->sk;
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	bool busied = false;

	for (;;) {
		*ret = sock_error(sk);
		if (*ret)
			return false;
		if (!skb_queue_empty_lockless(&qs->rxq)) {
			if (mutex_lock_interruptible(&qs->rx_mutex)) {
				*ret = sock_intr_errno(timeo);
				return false;
			}
			if (!skb_queue_empty(&qs->rxq))
				return true;
			mutex_unlock(&qs->rx_mutex);
		}
		if (sk_can_busy_loop(sk) && !busied) {
			qoff_rx_busy(qs, flags & MSG_DONTWAIT);
			busied = true;
			continue;
		}
		busied = false;
		*ret = -EAGAIN;
		if (!timeo ||
		    __skb_wait_for_more_packets(sk, &qs->rxq, ret, &timeo,
						(struct sk_buff *)&qs->rxq))
			return false;
	}
}

/* Errors and path-MTU notes have queues of their own, which stock code reads */
static bool qoff_rx_is_stock(const struct sock *sk, int flags)
{
	if (flags & MSG_ERRQUEUE)
		return true;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return inet6_sk(sk)->rxopt.bits.rxpmtu &&
		       READ_ONCE(inet6_sk(sk)->rxpmtu);
#endif
	return false;
}

/**
 * qoff_recvmsg() - proto.recvmsg of an attached socket
 * @sk: the socket
 * @msg: must have room in msg_control for one segment's record
 * @len: bytes in msg->msg_iter
 * @flags: MSG_DONTWAIT, MSG_PEEK, MSG_TRUNC, MSG_ERRQUEUE
 * @addr_len: length of the address
 *
 * Context: process, may sleep.
 * Return: bytes received (with MSG_TRUNC those of a segment that was cut);
 * -ENOSPC: no room for the record, -EOPNOTSUPP: MSG_PEEK while SO_PEEK_OFF is
 * set, -EFAULT, -ENOMEM: in each case nothing was consumed; or as UDP.
 */
int qoff_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags,
		 int *addr_len)
{
	struct qoff_sock *qs = qoff_sk(sk);
	int ret;

	if (qoff_rx_is_stock(sk, flags)) {
		ret = qs->orig->recvmsg(sk, msg, len, flags | MSG_DONTWAIT,
					addr_len);
		if (ret != -EAGAIN || (flags & MSG_ERRQUEUE))
			return ret;
		/* Another thread was faster to the path-MTU note */
	}
	/* A byte offset into a batch means nothing */
	if ((flags & MSG_PEEK) && READ_ONCE(sk->sk_peek_off) >= 0)
		return -EOPNOTSUPP;

	if (!qoff_rx_wait(qs, flags, &ret))
		return ret;
	ret = qoff_rx_batch(qs, msg, len, flags, addr_len);
	mutex_unlock(&qs->rx_mutex);
	return ret;
}
