// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: what the receiving device does with a frame, up to the choice between
 * coalescing (agg.c) and handing it up as it is; and NAPI's receive half.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>

#include "quicsim.h"

/* Take the tag out of the frame, when the host asked for that */
static void qsim_vlan_strip(struct qsim_port *port, struct sk_buff *skb)
{
	netdev_features_t features = READ_ONCE(port->netdev->features);
	struct vlan_ethhdr *veh = (struct vlan_ethhdr *)skb->data;
	netdev_features_t need;

	if (veh->h_vlan_proto == htons(ETH_P_8021Q))
		need = NETIF_F_HW_VLAN_CTAG_RX;
	else if (veh->h_vlan_proto == htons(ETH_P_8021AD))
		need = NETIF_F_HW_VLAN_STAG_RX;
	else
		return;
	if (!(features & need) || skb->len < VLAN_ETH_HLEN)
		return;
	__vlan_hwaccel_put_tag(skb, veh->h_vlan_proto, ntohs(veh->h_vlan_TCI));
	memmove(skb->data + VLAN_HLEN, skb->data, 2 * ETH_ALEN);
	__skb_pull(skb, VLAN_HLEN);
}

static bool qsim_parse_ipv4(const struct sk_buff *skb, struct qsim_hdrs *h)
{
	const struct iphdr *iph = (const struct iphdr *)(skb->data + h->nh);
	unsigned int ihl, tot;

	if (skb->len < h->nh + sizeof(*iph) || iph->version != 4)
		return false;
	ihl = iph->ihl * 4;
	tot = ntohs(iph->tot_len);
	if (ihl < sizeof(*iph) || tot < ihl || tot > skb->len - h->nh ||
	    ip_is_fragment(iph) || ip_fast_csum(iph, iph->ihl))
		return false;
	h->th = h->nh + ihl;
	h->end = h->nh + tot;
	h->proto = iph->protocol;
	return true;
}

static bool qsim_parse_ipv6(const struct sk_buff *skb, struct qsim_hdrs *h)
{
	const struct ipv6hdr *ip6h;
	unsigned int len;

	ip6h = (const struct ipv6hdr *)(skb->data + h->nh);
	if (skb->len < h->nh + sizeof(*ip6h) || ip6h->version != 6)
		return false;
	len = ntohs(ip6h->payload_len);
	h->v6 = true;
	h->th = h->nh + sizeof(*ip6h);
	if (len > skb->len - h->th)
		return false;
	h->end = h->th + len;
	h->proto = ip6h->nexthdr;
	return true;
}

/* Return: a TCP or UDP packet that can be looked into */
static bool qsim_parse(const struct sk_buff *skb, struct qsim_hdrs *h)
{
	const struct ethhdr *eth = (const struct ethhdr *)skb->data;
	const struct vlan_ethhdr *veh = (const struct vlan_ethhdr *)skb->data;
	__be16 proto = eth->h_proto;
	unsigned int min;
	bool ok = false;

	memset(h, 0, sizeof(*h));
	h->nh = ETH_HLEN;
	if (eth_type_vlan(proto)) {
		if (skb->len < VLAN_ETH_HLEN)
			return false;
		h->nh = VLAN_ETH_HLEN;
		proto = veh->h_vlan_encapsulated_proto;
	}
	if (proto == htons(ETH_P_IP))
		ok = qsim_parse_ipv4(skb, h);
	else if (proto == htons(ETH_P_IPV6))
		ok = qsim_parse_ipv6(skb, h);
	if (!ok)
		return false;
	if (h->proto == IPPROTO_UDP)
		min = sizeof(struct udphdr);
	else if (h->proto == IPPROTO_TCP)
		min = sizeof(struct tcphdr);
	else
		return false;
	return h->end - h->th >= min;
}

static bool qsim_csum_ok(const struct sk_buff *skb, const struct qsim_hdrs *h)
{
	unsigned int len = h->end - h->th;
	const struct ipv6hdr *ip6h;
	const struct iphdr *iph;
	const struct udphdr *uh;
	__wsum sum;

	uh = (const struct udphdr *)(skb->data + h->th);
	/* none was computed: nothing to vouch for */
	if (h->proto == IPPROTO_UDP && !uh->check)
		return false;
	sum = csum_partial(skb->data + h->th, len, 0);
	if (h->v6) {
		ip6h = (const struct ipv6hdr *)(skb->data + h->nh);
		return !csum_ipv6_magic(&ip6h->saddr, &ip6h->daddr, len,
					h->proto, sum);
	}
	iph = (const struct iphdr *)(skb->data + h->nh);
	return !csum_tcpudp_magic(iph->saddr, iph->daddr, len, h->proto, sum);
}

static u32 qsim_hash(const struct sk_buff *skb, const struct qsim_hdrs *h)
{
	const u8 *p = skb->data;
	u32 ports;

	memcpy(&ports, p + h->th, sizeof(ports));
	if (h->v6)
		return jhash(p + h->nh + offsetof(struct ipv6hdr, saddr),
			     2 * sizeof(struct in6_addr), ports);
	return jhash(p + h->nh + offsetof(struct iphdr, saddr), 8, ports);
}

/* Towards the receive ring of queue @q; eth_type_trans() has run */
void qsim_rx_out(struct qsim_port *port, struct sk_buff *skb, unsigned int q)
{
	skb_record_rx_queue(skb, q);
	__skb_queue_tail(&port->out[q], skb);
}

/**
 * qsim_rx_frame() - a frame has arrived
 * @port: the receiver
 * @skb: the frame, linear, consumed
 *
 * Context: the receiving device's thread, flow_lock.
 */
void qsim_rx_frame(struct qsim_port *port, struct sk_buff *skb)
{
	struct net_device *dev = port->netdev;
	netdev_features_t features = READ_ONCE(dev->features);
	struct qsim_hdrs h;
	unsigned int q = 0;
	bool known;
	u32 hash;

	qsim_count(port, QSIM_RX_FRAMES, 1);
	qsim_count(port, QSIM_RX_FRAME_BYTES, skb->len);
	if (skb->len < ETH_HLEN ||
	    skb->len > READ_ONCE(dev->mtu) + ETH_HLEN + 2 * VLAN_HLEN) {
		qsim_count(port, QSIM_RX_LENGTH, 1);
		kfree_skb(skb);
		return;
	}
	memset(skb->cb, 0, sizeof(skb->cb));
	qsim_vlan_strip(port, skb);
	known = qsim_parse(skb, &h);
	if (known) {
		hash = qsim_hash(skb, &h);
		if (features & NETIF_F_RXHASH)
			skb_set_hash(skb, hash, PKT_HASH_TYPE_L4);
		q = reciprocal_scale(hash, port->nq);
	}
	if (known && (features & NETIF_F_RXCSUM)) {
		h.csum_ok = qsim_csum_ok(skb, &h);
		qsim_count(port, h.csum_ok ? QSIM_RX_CSUM_OK : QSIM_RX_CSUM_BAD,
			   1);
		if (h.csum_ok)
			skb->ip_summed = CHECKSUM_UNNECESSARY;
	}
	if (known && qsim_agg_frame(port, skb, &h, q))
		return;

	/* order within a queue: what came earlier goes up first */
	qsim_agg_flush_queue(port, q);
	skb->protocol = eth_type_trans(skb, dev);
	qsim_rx_out(port, skb, q);
}

/* Segment records become part of the skb. Return: the skb may go up */
static bool qsim_rx_segs(struct qsim_port *port, struct sk_buff *skb)
{
	struct qsim_rx_cb cb = *QSIM_RX_CB(skb);
	struct qoff_dev *qd;
	int err = -ENODEV;

	memset(skb->cb, 0, sizeof(skb->cb));
	if (!cb.segs)
		return true;
	rcu_read_lock();
	qd = rcu_dereference(port->qd);
	if (qd)
		err = qoff_rx_segs(qd, skb, cb.flow_id, cb.segs, cb.nseg);
	rcu_read_unlock();
	kfree(cb.segs);
	if (!err)
		return true;
	/* nothing half-opened goes up, and cuts that nobody knows neither */
	qsim_count(port, qd ? QSIM_RX_SEGS_ERR : QSIM_RX_DROP_OPENED, 1);
	kfree_skb(skb);
	return false;
}

/* rx_packets are frames of the wire, as on any NIC */
static void qsim_rx_stats(struct net_device *dev, unsigned int frames,
			  unsigned int bytes)
{
	struct pcpu_sw_netstats *tstats = this_cpu_ptr(dev->tstats);

	u64_stats_update_begin(&tstats->syncp);
	u64_stats_add(&tstats->rx_packets, frames);
	u64_stats_add(&tstats->rx_bytes, bytes);
	u64_stats_update_end(&tstats->syncp);
}

/**
 * qsim_rx_poll() - hand packets to the stack
 * @rxq: the queue
 * @budget: at most so many
 *
 * Context: NAPI.
 * Return: how many.
 */
int qsim_rx_poll(struct qsim_rxq *rxq, int budget)
{
	struct qsim_port *port = rxq->port;
	unsigned int frames = 0, bytes = 0, n, hdr;
	struct sk_buff *skb;
	int done = 0;

	while (done < budget) {
		skb = __skb_dequeue(&rxq->batch);
		if (!skb) {
			if (skb_queue_empty_lockless(&rxq->done))
				break;
			spin_lock(&rxq->done.lock);
			skb_queue_splice_tail_init(&rxq->done, &rxq->batch);
			spin_unlock(&rxq->done.lock);
			if (wq_has_sleeper(&port->rx_wait))
				wake_up(&port->rx_wait);
			continue;
		}
		done++;
		n = QSIM_RX_CB(skb)->nseg ?: 1;
		hdr = ETH_HLEN + skb_headlen(skb);
		frames += n;
		bytes += ETH_HLEN + skb->len + (n - 1) * hdr;
		if (qsim_rx_segs(port, skb))
			napi_gro_receive(&rxq->napi, skb);
	}
	if (done)
		qsim_rx_stats(port->netdev, frames, bytes);
	return done;
}
