// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload, transmit: may this send go to the device in one piece?
 *
 * Safety never rests on these conditions: the guards of tx_desc.c hold on any
 * path, and everything here can change a moment later. They avoid loss. A path
 * on which the stack is known to clone, delay, re-segment or redirect gets
 * packets that are already sealed and cut.
 */
#include <linux/netdevice.h>
#include <net/ip6_route.h>

#include <net/route.h>
#include <net/sch_generic.h>

#include "tx.h"

/* Devices that a plaintext frame may be handed to */
#define QOFF_DEV_NEED	(NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_GSO_UDP_L4)

static bool qoff_qdisc_filtered(struct Qdisc *q)
{
	const struct Qdisc_class_ops *cops = q->ops->cl_ops;
	struct tcf_block *block;

	if (!cops || !cops->tcf_block)
		return false;
	block = cops->tcf_block(q, 0, NULL);
	return block && !list_empty(&block->chain_list);
}

/* Qdiscs that pass an skb on as it is */
static bool qoff_qdisc_known(struct Qdisc *q)
{
	static const char * const known[] = {
		"noqueue", "pfifo_fast", "fq", "fq_codel", "pfifo", "bfifo",
	};

	return match_string(known, ARRAY_SIZE(known), q->ops->id) >= 0 &&
	       !qoff_qdisc_filtered(q);
}

/* Under rcu_read_lock(). A classless root serves every queue; below mq each
 * queue has its own.
 */
static bool qoff_qdiscs_known(struct net_device *dev)
{
	struct Qdisc *q = rcu_dereference(dev->qdisc);
	unsigned int i;

	if (q->ops->id[0] != 'm' || strcmp(q->ops->id, "mq"))
		return qoff_qdisc_known(q);
	for (i = 0; i < READ_ONCE(dev->real_num_tx_queues); i++) {
		q = rcu_dereference(netdev_get_tx_queue(dev, i)->qdisc);
		if (!qoff_qdisc_known(q))
			return false;
	}
	return true;
}

static bool qoff_dev_hooked(const struct net_device *dev)
{
#ifdef CONFIG_NET_XGRESS
	if (rcu_access_pointer(dev->tcx_egress))
		return true;
#endif
#ifdef CONFIG_NETFILTER_EGRESS
	if (rcu_access_pointer(dev->nf_hooks_egress))
		return true;
#endif
	return false;
}

static bool qoff_dev_path_ok(struct net_device *dev)
{
	return (dev->features & QOFF_DEV_NEED) == QOFF_DEV_NEED &&
	       !(dev->features & NETIF_F_LOOPBACK) &&
	       (dev->flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP &&
	       !netif_is_l3_slave(dev) && !qoff_dev_hooked(dev) &&
	       qoff_qdiscs_known(dev);
}

/* Unicast to another host, no encapsulation on the way */
static bool qoff_dst_ok(const struct qoff_tx_req *req)
{
	const struct dst_entry *dst = req->dst;

	if (dst->lwtstate)
		return false;
	if (!req->v6)
		return dst_rtable(dst)->rt_type == RTN_UNICAST &&
		       !(dst_rtable(dst)->rt_flags & RTCF_LOCAL);
#if IS_ENABLED(CONFIG_IPV6)
	return !(dst_rt6_info(dst)->rt6i_flags & (RTF_LOCAL | RTF_ANYCAST));
#else
	return false;
#endif
}

/**
 * qoff_tx_may_orphan() - can an skb lose its socket on the way through @dev?
 * @dev: device of the route
 *
 * A filter may redirect a clone, and netem lets go of the socket. Then the hook
 * does not run.
 */
bool qoff_tx_may_orphan(struct net_device *dev)
{
	bool may;

	rcu_read_lock();
	may = qoff_dev_hooked(dev) || !qoff_qdiscs_known(dev);
	rcu_read_unlock();
	return may;
}

/**
 * qoff_tx_tapped() - would a packet tap see plaintext, and does that matter?
 * @qd: device that would seal
 * @dev: its net device
 */
bool qoff_tx_tapped(const struct qoff_dev *qd, struct net_device *dev)
{
	return READ_ONCE(qd->tap_policy) == QUIC_OFFLOAD_TAP_POLICY_SEAL &&
	       dev_nit_active(dev);
}

/* The context in @qd, if the device is to seal this send. Under RCU. */
static struct qoff_place *qoff_pick_place(struct qoff_tx_req *req,
					  struct qoff_dev *qd,
					  struct net_device *dev)
{
	struct qoff_ctx *ctx;

	if (!(READ_ONCE(qd->features) & QUIC_OFFLOAD_FEATURE_TX_CRYPTO))
		return NULL;
	if (qoff_tx_tapped(qd, dev)) {
		qoff_count(&req->qs->stats, QOFF_CNT_TX_TAP, 1);
		qoff_count(qoff_dev_stats(qd), QOFF_CNT_TX_TAP, 1);
		return NULL;
	}
	ctx = qoff_ctx_lookup(req->qs->group, req->ctx_id, req->ctx_gen);
	if (IS_ERR(ctx))
		return NULL;
	return qoff_ctx_place_get(ctx, qd, req->key);
}

/**
 * qoff_tx_pick_device() - choose between device and software form
 * @req: routed, its key looked up
 *
 * Sets req->qd when the route's device takes super-packets, and req->place when
 * it also seals this one.
 */
void qoff_tx_pick_device(struct qoff_tx_req *req)
{
#if defined(CONFIG_SOCK_VALIDATE_XMIT) && defined(CONFIG_SKB_DECRYPTED)
	struct net_device *dev = req->dst->dev;
	struct qoff_dev *qd;

	rcu_read_lock();
	qd = qoff_dev_of(dev);
	if (!qd || !(READ_ONCE(qd->features) & QUIC_OFFLOAD_FEATURE_GSO) ||
	    req->max_len > qd->caps->max_bytes ||
	    !qoff_dst_ok(req) || !qoff_dev_path_ok(dev) || !qoff_dev_hold(qd))
		goto out;
	req->qd = qd;
	if (req->key)
		req->place = qoff_pick_place(req, qd, dev);
out:
	rcu_read_unlock();
#endif
}
