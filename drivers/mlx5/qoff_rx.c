// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mlx5e QUIC offload: what a completion says becomes records of the framework.
 *
 * Layout: firmware-iface/README.md, section 7. en_rx.c takes the pages apart.
 * Context of all here: NAPI.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "en_accel/qoff_priv.h"

/* Records, leader and payload of one skb; core and stack count in 16 bits */
#define QOFF_RX_SKB_BYTES	(U16_MAX - 1536)

/**
 * mlx5e_qoff_rx_wanted() - did the device open or coalesce this?
 * @cqe: a good completion
 *
 * A packet that matched a context and was left as it came is an ordinary one.
 */
bool mlx5e_qoff_rx_wanted(const struct mlx5_cqe64 *cqe)
{
	const struct qoff_mlx5_cqe *c = (const void *)cqe;

	return (c->tag_handle & cpu_to_be32(0xffffff)) &&
	       (c->quic_flags & (QOFF_MLX5_RXF_OPENED | QOFF_MLX5_RXF_HDR) ||
		c->quic_info & cpu_to_be16(QOFF_MLX5_CQE_LIST));
}

static int mlx5e_qoff_rx_headers(const u8 *frame, struct mlx5e_qoff_rx *r)
{
	const struct ethhdr *eth = (const struct ethhdr *)frame;
	__be16 proto = eth->h_proto;
	unsigned int nh = ETH_HLEN;

	if (proto == htons(ETH_P_8021Q) || proto == htons(ETH_P_8021AD)) {
		proto = *(const __be16 *)(frame + ETH_HLEN + 2);
		nh += VLAN_HLEN;
	}
	if (proto == htons(ETH_P_IP)) {
		const struct iphdr *iph = (const struct iphdr *)(frame + nh);

		if (iph->version != 4 || iph->ihl != 5 || iph->protocol != IPPROTO_UDP)
			return -EPROTO;
		r->tos = iph->tos;
		nh += sizeof(*iph);
	} else if (proto == htons(ETH_P_IPV6)) {
		const struct ipv6hdr *ip6h = (const struct ipv6hdr *)(frame + nh);

		if (ip6h->version != 6 || ip6h->nexthdr != IPPROTO_UDP)
			return -EPROTO;
		r->tos = ipv6_get_dsfield(ip6h);
		nh += sizeof(*ip6h);
	} else {
		return -EPROTO;
	}
	r->hdr_len = nh + sizeof(struct udphdr);
	return 0;
}

/**
 * mlx5e_qoff_rx_begin() - read a completion
 * @rq: its queue
 * @cqe: for which mlx5e_qoff_rx_wanted()
 * @frame: the frame's first bytes
 * @r: filled in
 *
 * Return: 0, or an error: the packet is dropped and has been counted.
 */
int mlx5e_qoff_rx_begin(struct mlx5e_rq *rq, const struct mlx5_cqe64 *cqe,
			const u8 *frame, struct mlx5e_qoff_rx *r)
{
	const struct qoff_mlx5_cqe *c = (const void *)cqe;
	u16 info = be16_to_cpu(c->quic_info);
	u32 tag = be32_to_cpu(c->tag_handle);
	struct mlx5e_qoff_flow *flow;
	u8 opening;

	r->qoff = rcu_dereference(rq->priv->qoff);
	if (!r->qoff)
		return -ENODEV;
	flow = xa_load(&r->qoff->flows, tag & 0xffffff);
	opening = c->quic_flags & (QOFF_MLX5_RXF_OPENED | QOFF_MLX5_RXF_HDR);
	/* A device that says it opened what it has no keys for is not believed */
	if (!flow || (opening && (!flow->cipher ||
				  opening != (QOFF_MLX5_RXF_OPENED |
					      QOFF_MLX5_RXF_HDR))))
		goto drop;
	r->flow_id = flow->core_id;
	r->key_gen = READ_ONCE(flow->gen[tag >> 24 & 1]);
	r->dcid_len = flow->dcid_len;
	r->flags = c->quic_flags;
	r->pn_len = QOFF_MLX5_CQE_PN_LEN(info);
	r->pn = qoff_mlx5_cqe_pn(c);
	r->byte_cnt = be32_to_cpu(c->byte_cnt) & 0xffff;
	r->nseg = info & QOFF_MLX5_CQE_LIST ? QOFF_MLX5_CQE_SEGS(info) : 1;
	r->list_off = info & QOFF_MLX5_CQE_LIST ?
		      qoff_mlx5_list_off(r->byte_cnt) : 0;
	if (!r->nseg || r->nseg > QOFF_MAX_SEGS ||
	    mlx5e_qoff_rx_headers(frame, r) || r->byte_cnt <= r->hdr_len)
		goto drop;
	return 0;
drop:
	mlx5e_qoff_count(r->qoff, MLX5E_QOFF_RX_DROP, 1);
	return -EPROTO;
}

static u8 mlx5e_qoff_rx_status(u8 flags)
{
	if (flags & QOFF_MLX5_RXF_OPENED)
		return QOFF_RX_OPENED;
	if (flags & QOFF_MLX5_RXF_AUTH_FAIL)
		return QOFF_RX_FAILED;
	return QOFF_RX_NO_KEY;
}

/**
 * mlx5e_qoff_rx_seg() - the record of one packet
 * @r: its completion
 * @e: its list entry, NULL for a packet alone
 * @seg: filled in
 */
void mlx5e_qoff_rx_seg(const struct mlx5e_qoff_rx *r,
		       const struct qoff_mlx5_rx_seg *e, struct qoff_rx_seg *seg)
{
	u8 pn_len = e ? e->pn_len : r->pn_len;

	memset(seg, 0, sizeof(*seg));
	seg->len = e ? be16_to_cpu(e->len) : r->byte_cnt - r->hdr_len;
	seg->status = mlx5e_qoff_rx_status(r->flags);
	seg->tos = r->tos;
	if (seg->status != QOFF_RX_OPENED)
		return;
	seg->pn_len = pn_len;
	seg->hdr_len = 1 + r->dcid_len + pn_len;
	seg->pn = e ? be64_to_cpu(e->pn) : r->pn;
	seg->key_gen = r->key_gen;
}

/**
 * mlx5e_qoff_rx_fits() - may this packet join the skb in the making?
 * @bytes: payload it has
 * @n: packets it has
 * @len: of the packet
 */
bool mlx5e_qoff_rx_fits(unsigned int bytes, unsigned int n, unsigned int len)
{
	return bytes + len + (n + 1) * sizeof(struct qoff_rx_seg) <=
	       QOFF_RX_SKB_BYTES;
}

/**
 * mlx5e_qoff_rx_skb() - give an skb its records
 * @r: the completion it came of
 * @skb: headers linear, payload in fragments; eth_type_trans() has run
 * @segs: records
 * @n: of them
 *
 * Return: whether it may go up; if not it is freed and counted, and nothing of
 * it goes up.
 */
bool mlx5e_qoff_rx_skb(const struct mlx5e_qoff_rx *r, struct sk_buff *skb,
		       const struct qoff_rx_seg *segs, unsigned int n)
{
	if (qoff_rx_segs(r->qoff->qd, skb, r->flow_id, segs, n)) {
		mlx5e_qoff_count(r->qoff, MLX5E_QOFF_RX_DROP, n);
		dev_kfree_skb_any(skb);
		return false;
	}
	if (n > 1)
		mlx5e_qoff_count(r->qoff, MLX5E_QOFF_RX_COALESCED, 1);
	if (segs[0].status == QOFF_RX_OPENED)
		mlx5e_qoff_count(r->qoff, MLX5E_QOFF_RX_OPENED, n);
	else if (segs[0].status == QOFF_RX_FAILED)
		mlx5e_qoff_count(r->qoff, MLX5E_QOFF_RX_FAILED, n);
	return true;
}
