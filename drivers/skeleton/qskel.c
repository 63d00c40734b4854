// SPDX-License-Identifier: GPL-2.0
/*
 * How to add QUIC offload to a NIC driver: the smallest one that is complete.
 *
 * Copy the parts marked "Step" into your driver and replace what stands for the
 * hardware here: a table of contexts in memory, and a wire that leads nowhere.
 * A driver that also receives is drivers/quicsim; the duties of a driver are in
 * Documentation/networking/quic_offload.rst, the calls in
 * include/net/quic_offload/functions.h.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <net/quic_offload/functions.h>
#include <net/quic_offload/wire.h>

#define QSKEL_CTX	64	/* what the hardware's table holds */

/**
 * struct qskel_key - a key slot of the hardware
 * @valid: loaded
 * @inflight: descriptors posted and not completed that use it
 */
struct qskel_key {
	bool valid;
	atomic_t inflight;
};

/**
 * struct qskel_ctx - a context of the hardware
 * @used: taken
 * @key: by phase
 */
struct qskel_ctx {
	bool used;
	struct qskel_key key[2];
};

/**
 * struct qskel - the driver's private data
 * @netdev: its net device
 * @qd: from qoff_dev_create()
 * @ctx: the hardware's table, under qoff_dev.lock
 * @super: super-packets sent
 * @segs: segments of those
 * @bytes: payload of those
 * @errs: super-packets that the hardware refused
 */
struct qskel {
	struct net_device *netdev;
	struct qoff_dev *qd;
	struct qskel_ctx ctx[QSKEL_CTX];
	atomic64_t super;
	atomic64_t segs;
	atomic64_t bytes;
	atomic64_t errs;
};

/* Step 1: your bytes inside each of the core's contexts. The core zeroes them
 * before ctx_add and keeps them until the last skb that refers to the context
 * is freed. Put a handle here, not a pointer to something that a reset frees.
 */
struct qskel_handle {
	u32 idx;
};

static struct qskel *qskel_of(struct qoff_dev *qd)
{
	return qd->drv_priv;
}

/* Step 2: the callbacks. They may sleep, so firmware commands are fine, and run
 * one at a time per device. An errno sends the context to software, nothing
 * is lost: say -ENOSPC when the table is full, -EOPNOTSUPP for what the hardware
 * cannot do.
 */
static int qskel_ctx_add(struct qoff_dev *qd, const struct qoff_ctx_params *p,
			 void *drv)
{
	struct qskel *qs = qskel_of(qd);
	struct qskel_handle *h = drv;
	u32 i;

	for (i = 0; i < QSKEL_CTX; i++) {
		if (qs->ctx[i].used)
			continue;
		/* Hardware: p->cipher, p->dcid_len, p->hp_key. Do not keep @p. */
		qs->ctx[i].used = true;
		h->idx = i;
		return 0;
	}
	return -ENOSPC;
}

static void qskel_ctx_del(struct qoff_dev *qd, void *drv)
{
	struct qskel_handle *h = drv;

	qskel_of(qd)->ctx[h->idx].used = false;
}

static int qskel_ctx_key_add(struct qoff_dev *qd, void *drv,
			     const struct qoff_key_params *k)
{
	struct qskel_handle *h = drv;
	struct qskel_key *key = &qskel_of(qd)->ctx[h->idx].key[k->phase];

	/* Hardware: k->key, k->iv into slot k->phase. If your command buffer holds
	 * them, memzero_explicit() it before this returns.
	 */
	WRITE_ONCE(key->valid, true);
	return 0;
}

/* Step 3: the flush. When it returns no descriptor, posted or about to be,
 * uses the slot. First shut the door, then pass through each queue's lock, so
 * that whoever was inside ndo_start_xmit has counted itself in, then wait for
 * completions; a device that does not answer must be reset, not waited for.
 */
static void qskel_ctx_key_flush(struct qoff_dev *qd, void *drv, u8 phase)
{
	struct qskel *qs = qskel_of(qd);
	struct qskel_handle *h = drv;
	struct qskel_key *key = &qs->ctx[h->idx].key[phase];
	unsigned int i;

	WRITE_ONCE(key->valid, false);
	for (i = 0; i < qs->netdev->num_tx_queues; i++) {
		struct netdev_queue *nq = netdev_get_tx_queue(qs->netdev, i);

		__netif_tx_lock_bh(nq);
		__netif_tx_unlock_bh(nq);
	}
	wait_var_event(&key->inflight, !atomic_read(&key->inflight));
}

static int qskel_set_features(struct qoff_dev *qd, u32 features,
			      struct netlink_ext_ack *extack)
{
	/* Hardware: nothing to switch, an unsealed descriptor is another opcode */
	return 0;
}

static void qskel_get_stats(struct qoff_dev *qd, struct qoff_dev_stats *stats)
{
	struct qskel *qs = qskel_of(qd);

	stats->tx_super = atomic64_read(&qs->super);
	stats->tx_segs = atomic64_read(&qs->segs);
	stats->tx_bytes = atomic64_read(&qs->bytes);
	stats->tx_err = atomic64_read(&qs->errs);
}

static const struct qoff_dev_ops qskel_ops = {
	.ctx_add	= qskel_ctx_add,
	.ctx_del	= qskel_ctx_del,
	.ctx_key_add	= qskel_ctx_key_add,
	.ctx_key_flush	= qskel_ctx_key_flush,
	.set_features	= qskel_set_features,
	.get_stats	= qskel_get_stats,
};

/* Step 4: what the hardware can do. Announce less rather than more: what is
 * not announced is done in software, visibly. A device that receives adds
 * FEATURE_GRO (flow_add, flow_del) and FEATURE_RX_CRYPTO (flow_key_*), and hands
 * up what it made with qoff_rx_segs().
 */
static const struct qoff_dev_caps qskel_caps = {
	.features	= QUIC_OFFLOAD_FEATURE_GSO |
			  QUIC_OFFLOAD_FEATURE_TX_CRYPTO,
	.tx_ciphers	= BIT(QUIC_OFFLOAD_CIPHER_AES_128_GCM),
	.dcid_lens	= GENMASK(QOFF_MAX_DCID, 0),
	.max_segs	= 64,
	.max_bytes	= 65507,
	.max_ctx	= QSKEL_CTX,
	.ctx_drv_size	= sizeof(struct qskel_handle),
};

/* Step 5: the transmit path. This stands for posting a descriptor and for its
 * completion; between the two the key is counted as used.
 */
static int qskel_post(struct qskel *qs, const struct sk_buff *skb,
		      const struct qoff_tx_desc *desc)
{
	const struct qskel_handle *h = desc->drv;
	struct qskel_key *key = NULL;
	unsigned int i;

	if (desc->seal) {
		key = &qs->ctx[h->idx].key[desc->phase];
		atomic_inc(&key->inflight);
		if (!READ_ONCE(key->valid)) {
			/* an error completion: never a send */
			if (atomic_dec_and_test(&key->inflight))
				wake_up_var(&key->inflight);
			return -ESTALE;
		}
	}
	/* Hardware: DMA the headers up to desc->th_off + 8 and the payload behind
	 * them (read it by offset, the linear part may end anywhere), and per
	 * segment its length and packet number. All checksums are the device's.
	 */
	for (i = 0; i < desc->nseg; i++)
		atomic64_add(desc->segs[i].len, &qs->bytes);
	atomic64_add(desc->nseg, &qs->segs);
	atomic64_inc(&qs->super);

	/* in the completion interrupt */
	if (key && atomic_dec_and_test(&key->inflight))
		wake_up_var(&key->inflight);
	return 0;
}

static netdev_tx_t qskel_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct qskel *qs = netdev_priv(dev);
	struct qoff_tx_desc desc;

	if (qoff_tx_is_super(skb)) {
		/* refused or lost: dropped, and nothing of it goes out */
		if (qoff_tx_desc(qs->qd, skb, &desc))
			goto drop;
		if (qskel_post(qs, skb, &desc)) {
			atomic64_inc(&qs->errs);
			goto drop;
		}
	} else if (skb_is_decrypted(skb)) {
		/* plaintext without its table, see Documentation/design.md */
		goto drop;
	}
	dev_sw_netstats_tx_add(dev, 1, skb->len);
	dev_consume_skb_any(skb);
	return NETDEV_TX_OK;

drop:
	dev_core_stats_tx_dropped_inc(dev);
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

/* Step 6: the ethtool switches, on a kernel that has them */
static netdev_features_t qskel_fix_features(struct net_device *dev,
					    netdev_features_t features)
{
	return qoff_fix_features(features);
}

static int qskel_ndo_set_features(struct net_device *dev,
				  netdev_features_t features)
{
	struct qskel *qs = netdev_priv(dev);

	if (qs->qd && QOFF_NETIF_F)
		qoff_dev_set_features(qs->qd,
				      qoff_features_from_netdev(features));
	return 0;
}

/* Step 7: register before the device can carry traffic, unregister when it
 * cannot any more.
 */
static int qskel_init(struct net_device *dev)
{
	struct qskel *qs = netdev_priv(dev);
	struct qoff_dev *qd;

	qs->netdev = dev;
	qd = qoff_dev_create(dev, &qskel_ops, &qskel_caps, qs);
	if (IS_ERR(qd))
		return PTR_ERR(qd);
	qs->qd = qd;
	return 0;
}

static void qskel_uninit(struct net_device *dev)
{
	struct qskel *qs = netdev_priv(dev);

	qoff_dev_unregister(qs->qd);
}

static const struct net_device_ops qskel_netdev_ops = {
	.ndo_init		= qskel_init,
	.ndo_uninit		= qskel_uninit,
	.ndo_start_xmit		= qskel_start_xmit,
	.ndo_fix_features	= qskel_fix_features,
	.ndo_set_features	= qskel_ndo_set_features,
	.ndo_validate_addr	= eth_validate_addr,
	.ndo_set_mac_address	= eth_mac_addr,
};

static struct net_device *qskel_netdev;

static void qskel_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &qskel_netdev_ops;
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
	/* Super-packets need these three */
	dev->features |= NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_GSO_UDP_L4;
	dev->hw_features |= dev->features;
#ifdef NETIF_F_QUIC_GSO
	dev->hw_features |= NETIF_F_QUIC_GSO | NETIF_F_QUIC_TX_CRYPTO;
#endif
	eth_hw_addr_random(dev);
}

static int __init qskel_module_init(void)
{
	int err;

	qskel_netdev = alloc_netdev(sizeof(struct qskel), "qskel%d",
				    NET_NAME_ENUM, qskel_setup);
	if (!qskel_netdev)
		return -ENOMEM;
	err = register_netdev(qskel_netdev);
	if (err)
		free_netdev(qskel_netdev);
	return err;
}

static void __exit qskel_module_exit(void)
{
	unregister_netdev(qskel_netdev);
	free_netdev(qskel_netdev);
}

module_init(qskel_module_init);
module_exit(qskel_module_exit);

MODULE_DESCRIPTION("Skeleton of a NIC driver with QUIC offload");
MODULE_LICENSE("GPL");
