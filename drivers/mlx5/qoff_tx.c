// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mlx5e QUIC offload: a super-packet becomes one WQE.
 *
 * Layout: firmware-iface/README.md, section 6. mlx5e's own code maps the
 * payload, keeps the queue's books and rings the bell. Context of all here:
 * ndo_start_xmit.
 */
#include <net/tls.h>

#include "en/txrx.h"
#include "en_accel/qoff_priv.h"

/**
 * mlx5e_qoff_tx_wanted() - is this skb for us?
 * @skb: in ndo_start_xmit
 *
 * Plaintext that no table vouches for is ours as well, to be dropped; what
 * kTLS marked is kTLS's.
 */
bool mlx5e_qoff_tx_wanted(struct sk_buff *skb)
{
	if (unlikely(qoff_tx_is_super(skb)))
		return true;
	return unlikely(skb_is_decrypted(skb)) &&
	       !tls_is_skb_tx_device_offloaded(skb);
}

/* Are all packets as long as the first, but the last, which may be shorter? */
static bool mlx5e_qoff_equal(const struct qoff_tx_desc *d)
{
	u16 i;

	for (i = 1; i < d->nseg - 1; i++)
		if (d->segs[i].len != d->segs[0].len)
			return false;
	return d->segs[d->nseg - 1].len <= d->segs[0].len;
}

/* Numbers left out before packet i: at most 65535 go into a table */
static int mlx5e_qoff_gaps(const struct qoff_tx_desc *d, bool *gaps)
{
	u16 i;

	*gaps = false;
	for (i = 1; i < d->nseg; i++) {
		u32 step = d->segs[i].pn_off - d->segs[i - 1].pn_off;

		if (step != 1)
			*gaps = true;
		if (step - 1 > U16_MAX)
			return -ERANGE;
	}
	return 0;
}

static int mlx5e_qoff_tx_key(struct mlx5e_qoff_tx *q, const struct qoff_tx_desc *d)
{
	struct mlx5e_qoff_ctx *ctx = d->drv;
	struct mlx5e_qoff_key *key;

	key = rcu_dereference(ctx->key[d->phase & 1]);
	if (!key || !refcount_inc_not_zero(&key->ref))
		return -ESTALE;
	q->key = key;
	q->pn = d->pn + d->segs[0].pn_off;
	q->flags_ctx = ctx->id & 0xffffff;
	q->flags_ctx |= (QOFF_MLX5_TXF_SEAL | QOFF_MLX5_TXF_PN |
			 QOFF_MLX5_TXF_TAG_ROOM) << 24;
	if (d->phase)
		q->flags_ctx |= QOFF_MLX5_TXF_PHASE << 24;
	return 0;
}

static int mlx5e_qoff_tx_layout(const struct mlx5e_qoff *qoff,
				const struct sk_buff *skb,
				const struct qoff_tx_desc *d,
				struct mlx5e_qoff_tx *q)
{
	u16 ihs = d->th_off + sizeof(struct udphdr);
	u16 inl = ihs, i;
	bool gaps = false;

	if (d->nseg > qoff->caps.max_segs || ihs > skb_headlen(skb))
		return -EMSGSIZE;
	if (skb_vlan_tag_present(skb))
		inl += VLAN_HLEN;
	if (d->seal && mlx5e_qoff_gaps(d, &gaps))
		return -ERANGE;
	if (gaps && !qoff->caps.pn_skip)
		return -ERANGE;

	q->segs = d->segs;
	q->nseg = d->nseg;
	q->ihs = ihs;
	q->headlen = skb_headlen(skb) - ihs;
	q->opcode = QOFF_MLX5_OPMOD_DATA << 24 |
		    (d->nseg > 1 ? MLX5_OPCODE_LSO : MLX5_OPCODE_SEND);
	if (gaps || (d->nseg > 1 &&
		     !(qoff->caps.lso_fixed && mlx5e_qoff_equal(d)))) {
		q->flags_ctx |= QOFF_MLX5_TXF_TABLE << 24;
		if (gaps)
			q->flags_ctx |= QOFF_MLX5_TXF_PN_SKIP << 24;
		q->table_ds = qoff_mlx5_table_ds(d->nseg, gaps);
	} else if (d->nseg > 1) {
		q->mss = d->segs[0].len;
	}
	for (i = 0; i < d->nseg; i++)
		q->num_bytes += inl + d->segs[i].len;

	q->ds_inl = DIV_ROUND_UP(inl - INL_HDR_START_SZ, MLX5_SEND_WQE_DS);
	q->ds_cnt = MLX5E_TX_WQE_EMPTY_DS_COUNT + q->ds_inl + 1 + q->table_ds +
		    !!q->headlen + skb_shinfo(skb)->nr_frags;
	/* DS is six bits of the control segment */
	return q->ds_cnt > 63 ? -EMSGSIZE : 0;
}

/**
 * mlx5e_qoff_tx_prepare() - check a super-packet and measure its WQE
 * @priv: the netdev
 * @skb: for which mlx5e_qoff_tx_wanted()
 * @q: filled in; with @q->key a reference
 *
 * Return: 0, or an error: the caller drops the skb, nothing of it goes out, it
 * has been counted.
 */
int mlx5e_qoff_tx_prepare(struct mlx5e_priv *priv, struct sk_buff *skb,
			  struct mlx5e_qoff_tx *q)
{
	enum mlx5e_qoff_cnt why = MLX5E_QOFF_TX_DROP_GUARD;
	struct mlx5e_qoff *qoff;
	struct qoff_tx_desc d;
	int err = -ENODEV;

	memset(q, 0, sizeof(*q));
	rcu_read_lock();
	qoff = rcu_dereference(priv->qoff);
	if (!qoff)
		goto unlock;
	err = qoff_tx_desc(qoff->qd, skb, &d);
	if (!err && d.seal)
		err = mlx5e_qoff_tx_key(q, &d);
	if (err == -ESTALE)
		why = MLX5E_QOFF_TX_DROP_STALE;
	if (err)
		goto count;
	err = mlx5e_qoff_tx_layout(qoff, skb, &d, q);
	if (err) {
		why = MLX5E_QOFF_TX_DROP_FORM;
		if (q->key)
			mlx5e_qoff_tx_done(q->key, NULL);
		goto count;
	}
	mlx5e_qoff_count(qoff, MLX5E_QOFF_TX_SUPER, 1);
	mlx5e_qoff_count(qoff, MLX5E_QOFF_TX_SEGS, d.nseg);
	mlx5e_qoff_count(qoff, MLX5E_QOFF_TX_BYTES, q->num_bytes);
	goto unlock;
count:
	mlx5e_qoff_count(qoff, why, 1);
unlock:
	rcu_read_unlock();
	return err;
}

static void mlx5e_qoff_tx_table(const struct mlx5e_qoff_tx *q, void *table)
{
	struct qoff_mlx5_seg_pn *sp = table;
	struct qoff_mlx5_seg *s = table;
	u16 i;

	memset(table, 0, q->table_ds * MLX5_SEND_WQE_DS);
	if (!(q->flags_ctx & QOFF_MLX5_TXF_PN_SKIP << 24)) {
		for (i = 0; i < q->nseg; i++)
			s[i].len = cpu_to_be16(q->segs[i].len);
		return;
	}
	for (i = 0; i < q->nseg; i++) {
		sp[i].len = cpu_to_be16(q->segs[i].len);
		if (i)
			sp[i].skip = cpu_to_be16(q->segs[i].pn_off -
						 q->segs[i - 1].pn_off - 1);
	}
}

static void mlx5e_qoff_tx_inline(const struct sk_buff *skb, u8 *start, u16 ihs)
{
	struct vlan_ethhdr *vhdr = (struct vlan_ethhdr *)start;
	u8 addrs = 2 * ETH_ALEN;

	if (!skb_vlan_tag_present(skb)) {
		unsafe_memcpy(start, skb->data, ihs, MLX5_UNSAFE_MEMCPY_DISCLAIMER);
		return;
	}
	memcpy(&vhdr->addrs, skb->data, addrs);
	vhdr->h_vlan_proto = skb->vlan_proto;
	vhdr->h_vlan_TCI = cpu_to_be16(skb_vlan_tag_get(skb));
	unsafe_memcpy(&vhdr->h_vlan_encapsulated_proto, skb->data + addrs,
		      ihs - addrs, MLX5_UNSAFE_MEMCPY_DISCLAIMER);
}

/**
 * mlx5e_qoff_tx_build() - all of the WQE before its data segments
 * @skb: the super-packet
 * @q: from mlx5e_qoff_tx_prepare()
 * @wqe: its first bytes are zero
 *
 * Return: where the data segments go.
 */
void *mlx5e_qoff_tx_build(const struct sk_buff *skb,
			  const struct mlx5e_qoff_tx *q,
			  struct mlx5e_tx_wqe *wqe)
{
	void *at = (void *)wqe->data + q->ds_inl * MLX5_SEND_WQE_DS;
	struct mlx5_wqe_eth_seg *eseg = &wqe->eth;
	struct qoff_mlx5_wqe_quic *quic = at;
	u16 inl = q->ihs;

	if (skb_vlan_tag_present(skb))
		inl += VLAN_HLEN;
	/* Checksums are always computed over what goes out */
	eseg->cs_flags = MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM;
	eseg->mss = cpu_to_be16(q->mss);
	eseg->inline_hdr.sz = cpu_to_be16(inl);
	mlx5e_qoff_tx_inline(skb, eseg->inline_hdr.start, q->ihs);

	*quic = (struct qoff_mlx5_wqe_quic) {
		.flags_ctx = cpu_to_be32(q->flags_ctx),
		.num_segs = q->nseg,
		.table_ds = q->table_ds,
		.pn = cpu_to_be64(q->pn),
	};
	at += sizeof(*quic);
	if (q->table_ds)
		mlx5e_qoff_tx_table(q, at);
	return at + q->table_ds * MLX5_SEND_WQE_DS;
}
