// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: the net device of a port.
 */
#include <linux/moduleparam.h>

#include "quicsim.h"

static bool threaded = true;
module_param(threaded, bool, 0644);
MODULE_PARM_DESC(threaded,
		 "new ports run NAPI in threads, apart from the device's work");

#define QSIM_VLAN_FEATURES						\
	(NETIF_F_HW_VLAN_CTAG_TX | NETIF_F_HW_VLAN_CTAG_RX |		\
	 NETIF_F_HW_VLAN_STAG_TX | NETIF_F_HW_VLAN_STAG_RX)

#define QSIM_FEATURES							\
	(NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM |		\
	 NETIF_F_TSO | NETIF_F_TSO6 | NETIF_F_TSO_ECN |			\
	 NETIF_F_TSO_MANGLEID | NETIF_F_GSO_UDP_L4 |			\
	 NETIF_F_GSO_FRAGLIST | NETIF_F_RXCSUM | NETIF_F_RXHASH |	\
	 NETIF_F_HIGHDMA | QSIM_VLAN_FEATURES)

#define QSIM_FSO_SEGS	8

/* Carrier is on when both ends are up. Context: RTNL */
void qsim_pair_carrier(struct qsim_pair *pair)
{
	struct net_device *dev;
	bool up = true;
	int i;

	ASSERT_RTNL();
	for (i = 0; i < 2; i++)
		up = up && pair->port[i] && pair->wire[!i].up;
	for (i = 0; i < 2; i++) {
		dev = pair->port[i];
		if (!dev)
			continue;
		if (up)
			netif_carrier_on(dev);
		else
			netif_carrier_off(dev);
	}
}

static int qsim_poll(struct napi_struct *napi, int budget)
{
	struct qsim_rxq *rxq = container_of(napi, struct qsim_rxq, napi);
	int done;

	qsim_txq_clean(&rxq->port->txq[rxq->idx], budget);
	done = qsim_rx_poll(rxq, budget);
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}

static void qsim_rxq_purge(struct sk_buff_head *list)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(list))) {
		kfree(QSIM_RX_CB(skb)->segs);
		kfree_skb(skb);
	}
}

static int qsim_open_dev(struct net_device *dev)
{
	struct qsim_port *port = netdev_priv(dev);
	unsigned int q;
	int err;

	for (q = 0; q < port->nq; q++) {
		err = qsim_txq_alloc(&port->txq[q], port->tx_ring);
		if (err)
			goto err_rings;
	}
	for (q = 0; q < port->nq; q++)
		napi_enable(&port->rxq[q].napi);
	err = qsim_dev_start(port);
	if (err)
		goto err_napi;
	netif_tx_start_all_queues(dev);
	qsim_pair_carrier(port->pair);
	return 0;

err_napi:
	for (q = 0; q < port->nq; q++)
		napi_disable(&port->rxq[q].napi);
	q = port->nq;
err_rings:
	while (q--)
		qsim_txq_free(&port->txq[q]);
	return err;
}

static int qsim_stop(struct net_device *dev)
{
	struct qsim_port *port = netdev_priv(dev);
	unsigned int q;

	netif_tx_disable(dev);
	qsim_dev_stop(port);
	qsim_pair_carrier(port->pair);
	for (q = 0; q < port->nq; q++) {
		napi_disable(&port->rxq[q].napi);
		qsim_txq_free(&port->txq[q]);
		netdev_tx_reset_queue(netdev_get_tx_queue(dev, q));
		qsim_rxq_purge(&port->rxq[q].done);
		qsim_rxq_purge(&port->rxq[q].batch);
	}
	/* a key flush waits for descriptors that are gone now */
	wake_up(&port->key_wait);
	return 0;
}

static netdev_features_t qsim_features_check(struct sk_buff *skb,
					     struct net_device *dev,
					     netdev_features_t features)
{
	/* the header template is bounded; one TCP header more, to be safe */
	if (skb_is_gso(skb) &&
	    skb_transport_offset(skb) > QSIM_MAX_HDR - VLAN_HLEN - 60)
		features &= ~NETIF_F_GSO_MASK;
	return vlan_features_check(skb, features);
}

static netdev_features_t qsim_fix_features(struct net_device *dev,
					   netdev_features_t features)
{
	if (qsim_broken(netdev_priv(dev), QSIM_BROKEN_FEATURES))
		return features;
	return qoff_fix_features(features);
}

static int qsim_set_features(struct net_device *dev, netdev_features_t features)
{
	struct qsim_port *port = netdev_priv(dev);
	struct qoff_dev *qd = rtnl_dereference(port->qd);
	u32 quic = qoff_features_from_netdev(features);

	/* without the feature bits netlink has the switches */
	if (!qd || !QOFF_NETIF_F)
		return 0;
	WRITE_ONCE(port->features, quic);
	qoff_dev_set_features(qd, quic);
	return 0;
}

/* The peer's ifindex, for "eth0@eth1" */
static int qsim_get_iflink(const struct net_device *dev)
{
	struct qsim_port *port = netdev_priv(dev);
	struct net_device *peer;
	int ifindex;

	/* a net device lives for a grace period after qsim_uninit() */
	rcu_read_lock();
	peer = READ_ONCE(port->pair->port[!port->no]);
	ifindex = peer ? READ_ONCE(peer->ifindex) : 0;
	rcu_read_unlock();
	return ifindex;
}

static int qsim_alloc_queues(struct qsim_port *port)
{
	unsigned int q;

	port->txq = kvcalloc(port->nq, sizeof(*port->txq), GFP_KERNEL);
	port->rxq = kvcalloc(port->nq, sizeof(*port->rxq), GFP_KERNEL);
	if (!port->txq || !port->rxq)
		return -ENOMEM;
	for (q = 0; q < port->nq; q++) {
		port->txq[q].port = port;
		port->txq[q].idx = q;
		port->rxq[q].port = port;
		port->rxq[q].idx = q;
		skb_queue_head_init(&port->rxq[q].done);
		__skb_queue_head_init(&port->rxq[q].batch);
		netif_napi_add(port->netdev, &port->rxq[q].napi, qsim_poll);
	}
	return 0;
}

static void qsim_free_memory(struct qsim_port *port)
{
	unsigned int q;

	for (q = 0; port->rxq && q < port->nq; q++)
		netif_napi_del(&port->rxq[q].napi);
	kvfree(port->rxq);
	kvfree(port->txq);
	kfree(port->rx_scratch);
	kfree(port->tx_scratch);
	qsim_tables_free(port);
}

static int qsim_init(struct net_device *dev)
{
	struct qsim_port *port = netdev_priv(dev);
	int err;

	port->netdev = dev;
	port->nq = dev->num_tx_queues;
	port->pause = true;
	port->tx_ring = QSIM_TX_RING;
	port->rx_ring = QSIM_RX_RING;
	port->rx_usecs = QSIM_RX_USECS;
	init_waitqueue_head(&port->tx_wait);
	init_waitqueue_head(&port->rx_wait);
	init_waitqueue_head(&port->key_wait);
	mutex_init(&port->reg_lock);
	mutex_init(&port->tab_lock);
	mutex_init(&port->flow_lock);
	netdev_lockdep_set_classes(dev);

	if (qsim_mode_has_fso(port->mode)) {
		dev->features |= NETIF_F_FSO;
		dev->hw_features |= NETIF_F_FSO;
		dev->vlan_features |= NETIF_F_FSO;
		netif_set_tso_max_segs(dev, QSIM_FSO_SEGS);
	}
	if (!qsim_mode_is_dumb(port->mode))
		dev->hw_features |= QOFF_NETIF_F;

	err = qsim_tables_init(port);
	if (err)
		goto err_free;
	err = -ENOMEM;
	port->tx_scratch = kzalloc(sizeof(*port->tx_scratch), GFP_KERNEL);
	port->rx_scratch = kzalloc(sizeof(*port->rx_scratch), GFP_KERNEL);
	if (!port->tx_scratch || !port->rx_scratch)
		goto err_free;
	err = qsim_alloc_queues(port);
	if (err)
		goto err_free;
	if (threaded) {
		err = dev_set_threaded(dev, true);
		if (err)
			goto err_free;
	}
	if (!qsim_mode_is_dumb(port->mode)) {
		err = qsim_qoff_register(port);
		if (err)
			goto err_free;
	}
	refcount_inc(&port->pair->ref);
	port->pair->port[port->no] = dev;
	return 0;

err_free:
	qsim_free_memory(port);
	return err;
}

static void qsim_uninit(struct net_device *dev)
{
	struct qsim_port *port = netdev_priv(dev);

	qsim_debugfs_del(port);
	qsim_qoff_unregister(port);
	WRITE_ONCE(port->pair->port[port->no], NULL);
}

static void qsim_free(struct net_device *dev)
{
	struct qsim_port *port = netdev_priv(dev);

	qsim_free_memory(port);
	qsim_pair_put(port->pair);
}

static const struct net_device_ops qsim_netdev_ops = {
	.ndo_init		= qsim_init,
	.ndo_uninit		= qsim_uninit,
	.ndo_open		= qsim_open_dev,
	.ndo_stop		= qsim_stop,
	.ndo_start_xmit		= qsim_start_xmit,
	.ndo_features_check	= qsim_features_check,
	.ndo_fix_features	= qsim_fix_features,
	.ndo_set_features	= qsim_set_features,
	.ndo_get_iflink		= qsim_get_iflink,
	.ndo_validate_addr	= eth_validate_addr,
	.ndo_set_mac_address	= eth_mac_addr,
};

bool qsim_is_port(const struct net_device *dev)
{
	return dev->netdev_ops == &qsim_netdev_ops;
}

void qsim_netdev_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &qsim_netdev_ops;
	dev->ethtool_ops = &qsim_ethtool_ops;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->features |= QSIM_FEATURES;
	dev->hw_features |= QSIM_FEATURES & ~NETIF_F_HIGHDMA;
	dev->vlan_features |= QSIM_FEATURES & ~QSIM_VLAN_FEATURES;
	dev->hw_enc_features |= NETIF_F_SG | NETIF_F_HW_CSUM;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = QSIM_MAX_MTU;
	dev->needs_free_netdev = true;
	dev->priv_destructor = qsim_free;
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
}
