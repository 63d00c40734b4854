// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: what arrives at an attached socket.  encap_rcv takes every
 * datagram, so that the socket has one queue and its order; the queue is our
 * own, because the stock one may pull a frag_list together (skb_condense()) and
 * lose the cuts.
 *
 * The memory of the queue is charged as UDP charges its own, to
 * sk_rmem_alloc and sk_forward_alloc under sk_receive_queue.lock, so that stock
 * code that reads or reclaims either stays right.
 */
#include <asm/ioctls.h>
#include <kunit/visibility.h>
#include <linux/inetdevice.h>
#include <linux/sockios.h>
#include <linux/unaligned.h>
#include <net/busy_poll.h>
#include <net/route.h>
#include <net/udp.h>
#include "drop.h"
#include "rx.h"

/* Give back @size bytes of queued memory */
void qoff_rx_uncharge(struct sock *sk, unsigned int size)
{
	if (!size)
		return;
	spin_lock_bh(&sk->sk_receive_queue.lock);
	sk_forward_alloc_add(sk, size);
	sk_mem_reclaim(sk);
	atomic_sub(size, &sk->sk_rmem_alloc);
	spin_unlock_bh(&sk->sk_receive_queue.lock);
}

/* The same rules as __udp_enqueue_schedule_skb() */
static int qoff_rx_charge(struct sock *sk, unsigned int size)
{
	unsigned int rmem = atomic_read(&sk->sk_rmem_alloc);
	unsigned int rcvbuf = READ_ONCE(sk->sk_rcvbuf);
	int delta, err = 0;

	/* One packet always fits, unless the buffer is unlimited and that
	 * would overflow
	 */
	if (rmem + size > rcvbuf && (rcvbuf > INT_MAX >> 1 || rmem > rcvbuf))
		return -ENOMEM;

	atomic_add(size, &sk->sk_rmem_alloc);
	spin_lock(&sk->sk_receive_queue.lock);
	delta = size - sk->sk_forward_alloc;
	if (delta > 0 && !__sk_mem_schedule(sk, delta, SK_MEM_RECV))
		err = -ENOBUFS;
	else
		sk_forward_alloc_add(sk, -(int)size);
	spin_unlock(&sk->sk_receive_queue.lock);
	if (err)
		atomic_sub(size, &sk->sk_rmem_alloc);
	return err;
}

static void qoff_rx_release(struct sk_buff *skb)
{
	struct qoff_rx_cb *cb = QOFF_RX_CB(skb);

	if (cb->flow)
		qoff_flow_put(cb->flow);
	kfree(cb->segs);
}

/* Free a skb that was queued; its memory is not charged any more */
void qoff_rx_free(struct sk_buff *skb)
{
	qoff_rx_release(skb);
	consume_skb(skb);
}

static void qoff_rx_mib(struct sock *sk, const struct sk_buff *skb, int field)
{
	struct net *net = sock_net(sk);

	if (skb->protocol == htons(ETH_P_IPV6))
		__UDP6_INC_STATS(net, field, 0);
	else
		__UDP_INC_STATS(net, field, 0);
}

/* Drop a skb that was never charged. @n datagrams are lost with it. */
static void qoff_rx_drop(struct sock *sk, struct sk_buff *skb,
			 enum qoff_drop why, unsigned int n)
{
	struct qoff_flow *flow = QOFF_RX_CB(skb)->flow;

	qoff_rx_mib(sk, skb, UDP_MIB_INERRORS);
	atomic_add(n, &sk->sk_drops);
	qoff_drop_count(&qoff_sk(sk)->stats, flow ? &flow->stats : NULL, why,
			n);
	qoff_rx_release(skb);
	qoff_drop_skb(skb, why);
}

/* A merged packet is believed only if nobody touched it since gro_complete: a
 * linearised or trimmed one has lost its cuts. skb->data is at the UDP header.
 */
VISIBLE_IF_KUNIT bool qoff_rx_geometry(const struct sk_buff *skb)
{
	const struct skb_shared_info *sh = skb_shinfo(skb);
	unsigned int pagelen = skb_pagelen(skb);
	unsigned int n = 1, sum = pagelen;
	const struct sk_buff *seg;

	if (sh->gso_type != (SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST |
			     SKB_GSO_UDP_TUNNEL_CSUM))
		return false;
	if (pagelen != sh->gso_size + sizeof(struct udphdr))
		return false;
	skb_walk_frags(skb, seg) {
		/* Its own header still says how long it was */
		if (!seg->len || skb_has_frag_list(seg) ||
		    ntohs(udp_hdr(seg)->len) != seg->len + sizeof(struct udphdr))
			return false;
		sum += seg->len;
		n++;
	}
	return n == sh->gso_segs && n > 1 && n <= QOFF_MAX_SEGS &&
	       sum == skb->len;
}
EXPORT_SYMBOL_IF_KUNIT(qoff_rx_geometry);

/* A run of equal lengths that came whole, see qoff_gro_train(). Its cuts follow
 * from gso_size whatever was done to its buffers, as long as their number is
 * still the sender's.
 */
static bool qoff_rx_is_train(const struct sk_buff *skb)
{
	const struct skb_shared_info *sh = skb_shinfo(skb);
	unsigned int len = skb->len - sizeof(struct udphdr);

	return sh->gso_type == (SKB_GSO_UDP_L4 | SKB_GSO_UDP_TUNNEL_CSUM) &&
	       !skb_has_frag_list(skb) && sh->gso_segs > 1 &&
	       sh->gso_segs <= QOFF_MAX_SEGS &&
	       DIV_ROUND_UP(len, sh->gso_size) == sh->gso_segs;
}

static u64 qoff_word(const u8 *p)
{
	return get_unaligned((const u64 *)p);
}

/* Is each of the packets in @p[@len], @size apart, a short header with the DCID of
 * @first? A packet counts when its header is all there. Return: how many, or -1.
 */
static int qoff_rx_same_heads(const u8 *p, unsigned int len, unsigned int size,
			      const u8 *first, unsigned int dcid_len)
{
	unsigned int n = (len - 1 - dcid_len) / size + 1, i, last;
	u64 head, tail;

	/* Two words, which may overlap, hold the usual connection ID */
	if (dcid_len < sizeof(u64) || dcid_len > 2 * sizeof(u64)) {
		for (i = 0; i < n; i++, p += size)
			if (!qoff_is_short(p[0]) ||
			    memcmp(p + 1, first + 1, dcid_len))
				return -1;
		return n;
	}
	last = 1 + dcid_len - sizeof(u64);
	head = qoff_word(first + 1);
	tail = qoff_word(first + last);
	for (i = 0; i < n; i++, p += size)
		if (!qoff_is_short(p[0]) ||
		    (qoff_word(p + 1) ^ head) | (qoff_word(p + last) ^ tail))
			return -1;
	return n;
}

/* Has a run of equal lengths one flow: is every segment a short header with the
 * first one's DCID? skb->data is at the UDP header.
 */
static bool qoff_rx_train_same(struct sk_buff *skb, unsigned int dcid_len)
{
	unsigned int size = skb_shinfo(skb)->gso_size, need = 1 + dcid_len;
	u8 first[1 + QOFF_MAX_DCID], buf[1 + QOFF_MAX_DCID];
	unsigned int pos = sizeof(struct udphdr), len;
	struct skb_seq_state st;
	const u8 *p;
	int n;

	if (skb_copy_bits(skb, pos, first, need) || !qoff_is_short(first[0]))
		return false;
	skb_prepare_seq_read(skb, 0, skb->len, &st);
	for (pos += size; pos < skb->len; pos += n * size) {
		len = skb_seq_read(pos, &p, &st);
		/* A header that reaches over the end of its fragment */
		if (len < need) {
			if (skb_copy_bits(skb, pos, buf, need))
				goto other;
			len = need;
			p = buf;
		}
		n = qoff_rx_same_heads(p, len, size, first, dcid_len);
		if (n < 0)
			goto other;
	}
	skb_abort_seq_read(&st);
	return true;

other:
	skb_abort_seq_read(&st);
	return false;
}

/* The flow of the packet, if our group has it. skb->data is at the UDP header;
 * all segments of a merged packet have the DCID of the first.
 */
static struct qoff_flow *qoff_rx_flow(struct qoff_sock *qs,
				      const struct sk_buff *skb)
{
	unsigned int dcid_len = qs->group->dcid_len;
	struct qoff_flow_key key;
	struct qoff_flow *flow;
	u8 buf[1 + QOFF_MAX_DCID];
	const u8 *hdr;

	hdr = skb_header_pointer(skb, sizeof(struct udphdr), 1 + dcid_len, buf);
	if (!hdr || !qoff_is_short(hdr[0]))
		return NULL;
	qoff_rx_flow_key(&key, skb_network_header(skb), udp_hdr(skb),
			 IP6CB(skb)->iif, hdr + 1, dcid_len);
	flow = qoff_flow_lookup(sock_net(qs->sk), &key);
	if (!flow || flow->group != qs->group || !qoff_flow_hold(flow))
		return NULL;
	return flow;
}

/* What IP_PKTINFO reports, into the place where ip_cmsg_recv_offset() looks
 * for it. ipv4_pktinfo_prepare() and fib_compute_spec_dst() are not exported:
 * for broadcast and multicast the local address is that of the device.
 */
static void qoff_rx_pktinfo(const struct sock *sk, struct sk_buff *skb)
{
	struct in_pktinfo *info = PKTINFO_SKB_CB(skb);
	struct rtable *rt = skb_rtable(skb);
	int flags = IPCB(skb)->flags;

	if (!rt || !(inet_test_bit(PKTINFO, sk) || ipv6_sk_rxinfo(sk))) {
		info->ipi_ifindex = 0;
		info->ipi_spec_dst.s_addr = 0;
		return;
	}
	if (info->ipi_ifindex == LOOPBACK_IFINDEX)
		info->ipi_ifindex = inet_iif(skb);
	else if (ipv4_l3mdev_skb(flags) && rt->rt_iif)
		info->ipi_ifindex = rt->rt_iif;

	if ((rt->rt_flags & (RTCF_BROADCAST | RTCF_MULTICAST | RTCF_LOCAL)) ==
	    RTCF_LOCAL)
		info->ipi_spec_dst.s_addr = ip_hdr(skb)->daddr;
	else
		info->ipi_spec_dst.s_addr =
			inet_select_addr(skb->dev, ip_hdr(skb)->saddr,
					 RT_SCOPE_UNIVERSE);
}

static void qoff_rx_mark_sock(struct sock *sk, const struct sk_buff *skb)
{
	if (inet_sk(sk)->inet_daddr || !ipv6_addr_any(&sk->sk_v6_daddr)) {
		sock_rps_save_rxhash(sk, skb);
		sk_mark_napi_id(sk, skb);
		sk_incoming_cpu_update(sk);
	} else {
		sk_mark_napi_id_once(sk, skb);
	}
}

static void qoff_rx_queue(struct qoff_sock *qs, struct sk_buff *skb)
{
	struct qoff_rx_cb *cb = QOFF_RX_CB(skb);
	struct sock *sk = qs->sk;
	unsigned int nseg = cb->nseg;
	int err;

	qoff_rx_mark_sock(sk, skb);
	err = qoff_rx_charge(sk, skb->truesize);
	if (err) {
		qoff_rx_mib(sk, skb, err == -ENOMEM ? UDP_MIB_RCVBUFERRORS :
						      UDP_MIB_MEMERRORS);
		qoff_rx_drop(sk, skb, QOFF_DROP_RX_FULL, nseg);
		return;
	}

	qoff_count(&qs->stats, QOFF_CNT_RX_SEGS, nseg);
	qoff_count(&qs->stats, QOFF_CNT_RX_BYTES, skb->len);
	if (nseg > 1)
		qoff_count(&qs->stats, QOFF_CNT_RX_BATCHES, 1);
	if (cb->flow) {
		qoff_count(&cb->flow->stats, QOFF_CNT_RX_SEGS, nseg);
		qoff_count(&cb->flow->stats, QOFF_CNT_RX_BYTES, skb->len);
		if (nseg > 1)
			qoff_count(&cb->flow->stats, QOFF_CNT_RX_BATCHES, 1);
	}

	skb->dev = NULL;
	/* The record has an arrival time, be time stamps on or not */
	if (!skb->tstamp)
		__net_timestamp(skb);
	sock_skb_set_dropcount(sk, skb);
	spin_lock(&qs->rxq.lock);
	__skb_queue_tail(&qs->rxq, skb);
	spin_unlock(&qs->rxq.lock);

	if (!sock_flag(sk, SOCK_DEAD)) {
		void (*ready)(struct sock *sk) = READ_ONCE(sk->sk_data_ready);

		ready(sk);
	}
}

/* Validate @skb and find its segments and its flow. Return: 0 or why to drop
 * it, negated.
 */
static int qoff_rx_parse(struct qoff_sock *qs, struct sk_buff *skb)
{
	struct qoff_rx_cb *cb = QOFF_RX_CB(skb);

	cb->flow = NULL;
	cb->segs = NULL;
	cb->next = 0;
	cb->nseg = 1;

	if (skb->decrypted)
		return qoff_leader_strip(qs, skb);
	if (skb_is_gso(skb)) {
		if (!qoff_rx_is_train(skb) && !qoff_rx_geometry(skb))
			return QOFF_DROP_RX_GEOMETRY;
		cb->nseg = skb_shinfo(skb)->gso_segs;
	}
	cb->flow = qoff_rx_flow(qs, skb);
	return 0;
}

/* What came whole and has more than one flow, or long headers: as stock UDP cuts
 * what its socket does not take whole
 */
static void qoff_rx_cut(struct sock *sk, struct sk_buff *skb)
{
	struct sk_buff *segs, *next;

	__skb_push(skb, -skb_mac_offset(skb));
	segs = udp_rcv_segment(sk, skb, skb->protocol == htons(ETH_P_IP));
	skb_list_walk_safe(segs, skb, next) {
		__skb_pull(skb, skb_transport_offset(skb));
		udp_post_segment_fix_csum(skb);
		qoff_encap_rcv(sk, skb);
	}
}

/**
 * qoff_encap_rcv() - udp_sock.encap_rcv of an attached socket
 * @sk: the socket
 * @skb: one datagram or a merged packet, its checksum verified, skb->data at
 *	the UDP header
 *
 * Does what udp_queue_rcv_one_skb() does behind this hook.
 *
 * Context: softirq, RCU.
 * Return: 0, the skb is taken.
 */
int qoff_encap_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct qoff_sock *qs = qoff_sk(sk);
	unsigned int len, nseg;
	int why;

	BUILD_BUG_ON(offsetofend(struct qoff_rx_cb, nseg) >
		     SOCK_SKB_CB_OFFSET);

	if (skb_is_gso(skb) && !skb->decrypted && qoff_rx_is_train(skb) &&
	    !qoff_rx_train_same(skb, qs->group->dcid_len)) {
		qoff_rx_cut(sk, skb);
		return 0;
	}

	nseg = max_t(unsigned int, skb_shinfo(skb)->gso_segs, 1);
	why = qoff_rx_parse(qs, skb);
	if (why) {
		qoff_rx_drop(sk, skb, why, nseg);
		return 0;
	}

	/* A filter that shortens a merged packet cuts through a segment */
	len = skb->len;
	if (sk_filter_trim_cap(sk, skb, sizeof(struct udphdr))) {
		qoff_rx_mib(sk, skb, UDP_MIB_INERRORS);
		atomic_add(nseg, &sk->sk_drops);
		qoff_rx_release(skb);
		kfree_skb_reason(skb, SKB_DROP_REASON_SOCKET_FILTER);
		return 0;
	}
	if (skb->len != len && nseg > 1) {
		qoff_rx_drop(sk, skb, QOFF_DROP_RX_GEOMETRY, nseg);
		return 0;
	}
	skb_pull_rcsum(skb, sizeof(struct udphdr));

	if (skb->protocol == htons(ETH_P_IP))
		qoff_rx_pktinfo(sk, skb);
	skb_dst_drop(skb);
	qoff_rx_queue(qs, skb);
	return 0;
}

/**
 * qoff_sock_is_readable() - proto.sock_is_readable
 * @sk: an attached socket
 *
 * Return: whether a receive would find something.
 */
bool qoff_sock_is_readable(struct sock *sk)
{
	struct qoff_sock *qs = qoff_sk(sk);

	return qs && !skb_queue_empty_lockless(&qs->rxq);
}

/* Bytes that a receive with room enough would return: one batch */
static unsigned int qoff_rx_next_len(struct qoff_sock *qs)
{
	unsigned int n = 0, sum = 0;
	struct qoff_rx_pos pos;
	struct sk_buff *skb;

	lockdep_assert_held(&qs->rxq.lock);
	skb_queue_walk(&qs->rxq, skb) {
		if (n && !qoff_rx_same_batch(skb_peek(&qs->rxq), skb))
			break;
		qoff_rx_pos_first(&pos, skb);
		while (pos.idx < QOFF_RX_CB(skb)->nseg) {
			if (n == QOFF_MAX_SEGS)
				return sum;
			sum += qoff_rx_pos_len(&pos);
			n++;
			qoff_rx_pos_next(&pos);
		}
	}
	return sum;
}

/**
 * qoff_ioctl() - proto.ioctl
 * @sk: an attached socket
 * @cmd: SIOCINQ (FIONREAD) reports the bytes of the next batch, as much as one
 *	receive can return; others are UDP's
 * @karg: result
 *
 * Context: process.
 * Return: 0 or an errno.
 */
int qoff_ioctl(struct sock *sk, int cmd, int *karg)
{
	struct qoff_sock *qs = qoff_sk(sk);

	if (cmd != SIOCINQ)
		return qs->orig->ioctl(sk, cmd, karg);
	spin_lock_bh(&qs->rxq.lock);
	*karg = qoff_rx_next_len(qs);
	spin_unlock_bh(&qs->rxq.lock);
	return 0;
}

/**
 * qoff_rx_purge() - drop what is queued
 * @qs: an attached socket that is closed (nobody receives any more) or destroyed
 *
 * Context: any; not concurrently with qoff_recvmsg().
 */
void qoff_rx_purge(struct qoff_sock *qs)
{
	struct sk_buff_head list;
	unsigned int size = 0;
	struct sk_buff *skb;

	__skb_queue_head_init(&list);
	spin_lock_bh(&qs->rxq.lock);
	skb_queue_splice_init(&qs->rxq, &list);
	spin_unlock_bh(&qs->rxq.lock);

	while ((skb = __skb_dequeue(&list))) {
		size += skb->truesize;
		qoff_rx_free(skb);
	}
	qoff_rx_uncharge(qs->sk, size);
	qoff_rx_work_free(qs->rx_work);
	qs->rx_work = NULL;
}
