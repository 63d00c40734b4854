// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: the monitor, a net device on which captures see the wire of a pair:
 * every frame of both directions, each byte as the sending device put it there.
 * Nothing can be sent through it, and the stack takes nothing from it.
 */
#include <net/rtnetlink.h>

#include "quicsim.h"

struct qsim_monitor {
	struct qsim_pair *pair;
};

static netdev_tx_t qsim_monitor_xmit(struct sk_buff *skb,
				     struct net_device *dev)
{
	dev_core_stats_tx_dropped_inc(dev);
	kfree_skb(skb);
	return NETDEV_TX_OK;
}

static int qsim_monitor_ndo_init(struct net_device *dev)
{
	struct qsim_monitor *mon = netdev_priv(dev);

	/* a device of this kind that was not made with a pair has none */
	if (!mon->pair)
		return -EOPNOTSUPP;
	refcount_inc(&mon->pair->ref);
	netdev_lockdep_set_classes(dev);
	return 0;
}

static void qsim_monitor_uninit(struct net_device *dev)
{
	struct qsim_monitor *mon = netdev_priv(dev);

	RCU_INIT_POINTER(mon->pair->mon, NULL);
}

static void qsim_monitor_free(struct net_device *dev)
{
	struct qsim_monitor *mon = netdev_priv(dev);

	qsim_pair_put(mon->pair);
}

static const struct net_device_ops qsim_monitor_ops = {
	.ndo_init	= qsim_monitor_ndo_init,
	.ndo_uninit	= qsim_monitor_uninit,
	.ndo_start_xmit	= qsim_monitor_xmit,
};

static void qsim_monitor_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &qsim_monitor_ops;
	dev->flags |= IFF_NOARP;
	dev->flags &= ~IFF_MULTICAST;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->lltx = true;
	dev->max_mtu = QSIM_MAX_MTU;
	dev->mtu = QSIM_MAX_MTU;
	dev->needs_free_netdev = true;
	dev->priv_destructor = qsim_monitor_free;
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
}

static struct rtnl_link_ops qsim_monitor_link_ops __read_mostly = {
	.kind		= QSIM_NAME "-mon",
	.priv_size	= sizeof(struct qsim_monitor),
	.setup		= qsim_monitor_setup,
};

/**
 * qsim_monitor_create() - add the monitor of a pair
 * @net: where
 * @pair: the pair
 * @name: its name
 * @extack: for errors
 *
 * Context: RTNL.
 */
int qsim_monitor_create(struct net *net, struct qsim_pair *pair,
			const char *name, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[IFLA_MAX + 1] = {};
	struct qsim_monitor *mon;
	struct net_device *dev;
	int err;

	dev = rtnl_create_link(net, name, NET_NAME_USER, &qsim_monitor_link_ops,
			       tb, extack);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	eth_hw_addr_random(dev);
	mon = netdev_priv(dev);
	mon->pair = pair;
	err = register_netdevice(dev);
	if (err) {
		NL_SET_ERR_MSG_FMT(extack, "cannot add monitor %s", name);
		free_netdev(dev);
		return err;
	}
	rcu_assign_pointer(pair->mon, dev);
	return rtnl_configure_link(dev, NULL, 0, NULL);
}

void qsim_monitor_delink(struct qsim_pair *pair, struct list_head *head)
{
	struct net_device *dev = rtnl_dereference(pair->mon);

	if (dev)
		unregister_netdevice_queue(dev, head);
}

/**
 * qsim_monitor_show() - let captures see a frame
 * @pair: the pair
 * @frame: as it goes over the wire
 *
 * Costs nothing while nobody captures.
 * Context: the sending device's thread.
 */
void qsim_monitor_show(struct qsim_pair *pair, const struct sk_buff *frame)
{
	struct net_device *dev;
	struct sk_buff *skb;

	rcu_read_lock();
	dev = rcu_dereference(pair->mon);
	if (!dev || !netif_running(dev) || !dev_nit_active(dev))
		goto out;
	skb = skb_copy(frame, GFP_ATOMIC);
	if (!skb) {
		dev_core_stats_rx_dropped_inc(dev);
		goto out;
	}
	skb->protocol = eth_type_trans(skb, dev);
	/* for taps only: no protocol takes a packet for another host */
	skb->pkt_type = PACKET_OTHERHOST;
	local_bh_disable();
	dev_sw_netstats_rx_add(dev, frame->len);
	/* not netif_rx(): the backlog is bounded, a capture shall miss nothing */
	netif_receive_skb(skb);
	local_bh_enable();
out:
	rcu_read_unlock();
}

int qsim_monitor_init(void)
{
	return rtnl_link_register(&qsim_monitor_link_ops);
}

void qsim_monitor_exit(void)
{
	rtnl_link_unregister(&qsim_monitor_link_ops);
}
