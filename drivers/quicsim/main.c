// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: a simulated NIC with QUIC offload.
 *
 * "ip link add eth0 type quicsim" makes a pair of ports and the monitor of the
 * wire between them; deleting either port deletes all three.  Each may live in
 * a namespace of its own.
 *
 * DOC: lifetimes
 *
 * The pair is what threads and NAPI of both ends share; each net device of it
 * holds a reference from ndo_init until it is freed.  Pointers from the pair to
 * net devices are written under RTNL.
 */
#include <linux/module.h>
#include <net/rtnetlink.h>

#include "quicsim.h"
#include "uapi.h"

static unsigned int queues = 1;
module_param(queues, uint, 0644);
MODULE_PARM_DESC(queues, "queues of a new port when numtxqueues is not given");

static char *mode = "full";
module_param(mode, charp, 0644);
MODULE_PARM_DESC(mode,
		 "what new ports are: full, fso, dumb or dumb-fso");

static const char * const qsim_modes[] = {
	[QSIM_MODE_FULL]	= "full",
	[QSIM_MODE_FSO]		= "fso",
	[QSIM_MODE_DUMB]	= "dumb",
	[QSIM_MODE_DUMB_FSO]	= "dumb-fso",
};

static struct rtnl_link_ops qsim_link_ops;

void qsim_pair_put(struct qsim_pair *pair)
{
	int i;

	if (!refcount_dec_and_test(&pair->ref))
		return;
	for (i = 0; i < 2; i++)
		WARN_ON(!skb_queue_empty(&pair->wire[i].q) ||
			pair->wire[i].held);
	kfree(pair);
}

static struct qsim_pair *qsim_pair_alloc(void)
{
	struct qsim_pair *pair;
	int i;

	pair = kzalloc(sizeof(*pair), GFP_KERNEL);
	if (!pair)
		return NULL;
	refcount_set(&pair->ref, 1);
	for (i = 0; i < 2; i++)
		qsim_wire_init(&pair->wire[i]);
	return pair;
}

static int qsim_validate(struct nlattr *tb[], struct nlattr *data[],
			 struct netlink_ext_ack *extack)
{
	unsigned int nq = 1;

	if (tb[IFLA_ADDRESS]) {
		if (nla_len(tb[IFLA_ADDRESS]) != ETH_ALEN)
			return -EINVAL;
		if (!is_valid_ether_addr(nla_data(tb[IFLA_ADDRESS])))
			return -EADDRNOTAVAIL;
	}
	if (tb[IFLA_MTU] && (nla_get_u32(tb[IFLA_MTU]) < ETH_MIN_MTU ||
			     nla_get_u32(tb[IFLA_MTU]) > QSIM_MAX_MTU)) {
		NL_SET_ERR_MSG(extack, "MTU must be 68 to 9000");
		return -EINVAL;
	}
	if (tb[IFLA_NUM_TX_QUEUES])
		nq = max(nq, nla_get_u32(tb[IFLA_NUM_TX_QUEUES]));
	if (tb[IFLA_NUM_RX_QUEUES])
		nq = max(nq, nla_get_u32(tb[IFLA_NUM_RX_QUEUES]));
	if (nq > QSIM_MAX_QUEUES) {
		NL_SET_ERR_MSG(extack, "at most 16 queues");
		return -EINVAL;
	}
	return 0;
}

static int qsim_parse_mode(struct nlattr *data[], struct netlink_ext_ack *extack)
{
	int m;

	if (data && data[IFLA_QUICSIM_MODE]) {
		for (m = 0; m < ARRAY_SIZE(qsim_modes); m++)
			if (!nla_strcmp(data[IFLA_QUICSIM_MODE], qsim_modes[m]))
				return m;
		NL_SET_ERR_MSG_ATTR(extack, data[IFLA_QUICSIM_MODE],
				    "mode must be full, fso, dumb or dumb-fso");
		return -EINVAL;
	}
	kernel_param_lock(THIS_MODULE);
	m = sysfs_match_string(qsim_modes, mode);
	kernel_param_unlock(THIS_MODULE);
	if (m < 0)
		NL_SET_ERR_MSG(extack, "module parameter mode is wrong");
	return m;
}

/* eth0: eth1; others: name and suffix. Return: -EINVAL when it gets too long */
static int qsim_peer_name(char *to, const char *name)
{
	size_t len = strlen(name), digits = len;
	unsigned int n;

	while (digits && isdigit(name[digits - 1]))
		digits--;
	if (digits == len || kstrtouint(name + digits, 10, &n))
		len = snprintf(to, IFNAMSIZ, "%s-peer", name);
	else
		len = snprintf(to, IFNAMSIZ, "%.*s%u", (int)digits, name, n + 1);
	return len < IFNAMSIZ ? 0 : -EINVAL;
}

/* A port that is not registered yet becomes port @no of the pair */
static void qsim_port_tie(struct net_device *dev, struct qsim_pair *pair,
			  u8 no, enum qsim_mode m)
{
	struct qsim_port *port = netdev_priv(dev);

	port->pair = pair;
	port->no = no;
	port->mode = m;
}

static int qsim_port_ready(struct net_device *dev)
{
	struct qsim_port *port = netdev_priv(dev);
	int err;

	netif_carrier_off(dev);
	err = netif_set_real_num_queues(dev, port->nq, port->nq);
	if (err)
		return err;
	qsim_debugfs_add(port);
	return 0;
}

static int qsim_create_peer(struct net *src_net, struct net_device *dev,
			    struct nlattr *tb[], struct nlattr *data[],
			    struct qsim_pair *pair, enum qsim_mode m,
			    struct netlink_ext_ack *extack)
{
	struct nlattr *peer_tb[IFLA_MAX + 1], **tbp = tb;
	struct ifinfomsg *ifmp = NULL;
	char name[IFNAMSIZ];
	struct net_device *peer;
	struct net *net;
	int err;

	if (data && data[IFLA_QUICSIM_PEER]) {
		ifmp = nla_data(data[IFLA_QUICSIM_PEER]);
		err = rtnl_nla_parse_ifinfomsg(peer_tb, data[IFLA_QUICSIM_PEER],
					       extack);
		if (err < 0)
			return err;
		err = qsim_validate(peer_tb, NULL, extack);
		if (err < 0)
			return err;
		tbp = peer_tb;
	}
	if (ifmp && tbp[IFLA_IFNAME]) {
		nla_strscpy(name, tbp[IFLA_IFNAME], IFNAMSIZ);
	} else if (qsim_peer_name(name, dev->name)) {
		NL_SET_ERR_MSG(extack, "name too long, give the peer one");
		return -EINVAL;
	}

	net = rtnl_link_get_net(src_net, tbp);
	if (IS_ERR(net))
		return PTR_ERR(net);
	/* as many queues as this end unless said otherwise */
	if (!tbp[IFLA_NUM_TX_QUEUES])
		tbp[IFLA_NUM_TX_QUEUES] = tb[IFLA_NUM_TX_QUEUES];
	if (!tbp[IFLA_NUM_RX_QUEUES])
		tbp[IFLA_NUM_RX_QUEUES] = tb[IFLA_NUM_RX_QUEUES];
	peer = rtnl_create_link(net, name, NET_NAME_USER, &qsim_link_ops, tbp,
				extack);
	if (IS_ERR(peer)) {
		put_net(net);
		return PTR_ERR(peer);
	}
	if (!ifmp || !tbp[IFLA_ADDRESS])
		eth_hw_addr_random(peer);
	if (ifmp && dev->ifindex)
		peer->ifindex = ifmp->ifi_index;
	qsim_port_tie(peer, pair, 1, m);
	err = register_netdevice(peer);
	put_net(net);
	if (err) {
		free_netdev(peer);
		return err;
	}
	err = qsim_port_ready(peer);
	if (!err)
		err = rtnl_configure_link(peer, ifmp, 0, NULL);
	if (err)
		unregister_netdevice(peer);
	return err;
}

static int qsim_newlink(struct net *src_net, struct net_device *dev,
			struct nlattr *tb[], struct nlattr *data[],
			struct netlink_ext_ack *extack)
{
	char name[IFNAMSIZ];
	struct qsim_pair *pair;
	LIST_HEAD(undo);
	int m, err;

	m = qsim_parse_mode(data, extack);
	if (m < 0)
		return m;
	if (dev->num_tx_queues != dev->num_rx_queues) {
		NL_SET_ERR_MSG(extack, "as many transmit as receive queues");
		return -EINVAL;
	}
	err = dev_alloc_name(dev, dev->name);
	if (err < 0)
		return err;
	if (data && data[IFLA_QUICSIM_MONITOR]) {
		nla_strscpy(name, data[IFLA_QUICSIM_MONITOR], IFNAMSIZ);
	} else if (snprintf(name, IFNAMSIZ, "%s-mon", dev->name) >= IFNAMSIZ) {
		NL_SET_ERR_MSG(extack, "name too long, give the monitor one");
		return -EINVAL;
	}

	pair = qsim_pair_alloc();
	if (!pair)
		return -ENOMEM;
	if (!tb[IFLA_ADDRESS])
		eth_hw_addr_random(dev);
	qsim_port_tie(dev, pair, 0, m);
	err = qsim_create_peer(src_net, dev, tb, data, pair, m, extack);
	if (err)
		goto err_pair;
	err = qsim_monitor_create(dev_net(dev), pair, name, extack);
	if (err)
		goto err_peer;
	err = register_netdevice(dev);
	if (err)
		goto err_peer;
	err = qsim_port_ready(dev);
	if (err)
		goto err_dev;
	qsim_pair_put(pair);
	return 0;

err_dev:
	unregister_netdevice_queue(dev, &undo);
err_peer:
	qsim_monitor_delink(pair, &undo);
	unregister_netdevice_queue(pair->port[1], &undo);
	unregister_netdevice_many(&undo);
err_pair:
	qsim_pair_put(pair);
	return err;
}

static void qsim_dellink(struct net_device *dev, struct list_head *head)
{
	struct qsim_port *port = netdev_priv(dev);
	int i;

	for (i = 0; i < 2; i++)
		if (port->pair->port[i])
			unregister_netdevice_queue(port->pair->port[i], head);
	qsim_monitor_delink(port->pair, head);
}

static unsigned int qsim_num_queues(void)
{
	return clamp(queues, 1U, QSIM_MAX_QUEUES);
}

static struct net *qsim_get_link_net(const struct net_device *dev)
{
	struct qsim_port *port = netdev_priv(dev);
	struct net_device *peer = port->pair->port[!port->no];

	return peer ? dev_net(peer) : dev_net(dev);
}

static size_t qsim_get_size(const struct net_device *dev)
{
	return nla_total_size(IFNAMSIZ);
}

static int qsim_fill_info(struct sk_buff *skb, const struct net_device *dev)
{
	struct qsim_port *port = netdev_priv(dev);

	return nla_put_string(skb, IFLA_QUICSIM_MODE, qsim_modes[port->mode]);
}

static const struct nla_policy qsim_policy[IFLA_QUICSIM_MAX + 1] = {
	[IFLA_QUICSIM_PEER]	= { .len = sizeof(struct ifinfomsg) },
	[IFLA_QUICSIM_MODE]	= { .type = NLA_NUL_STRING, .len = IFNAMSIZ - 1 },
	[IFLA_QUICSIM_MONITOR]	= { .type = NLA_NUL_STRING, .len = IFNAMSIZ - 1 },
};

static struct rtnl_link_ops qsim_link_ops __read_mostly = {
	.kind			= QSIM_NAME,
	.priv_size		= sizeof(struct qsim_port),
	.setup			= qsim_netdev_setup,
	.validate		= qsim_validate,
	.newlink		= qsim_newlink,
	.dellink		= qsim_dellink,
	.policy			= qsim_policy,
	.maxtype		= IFLA_QUICSIM_MAX,
	.get_num_tx_queues	= qsim_num_queues,
	.get_num_rx_queues	= qsim_num_queues,
	.get_link_net		= qsim_get_link_net,
	.get_size		= qsim_get_size,
	.fill_info		= qsim_fill_info,
};

static int __init qsim_module_init(void)
{
	int err;

	qsim_debugfs_init();
	err = qsim_monitor_init();
	if (err)
		goto err_debugfs;
	err = rtnl_link_register(&qsim_link_ops);
	if (err)
		goto err_monitor;
	return 0;

err_monitor:
	qsim_monitor_exit();
err_debugfs:
	qsim_debugfs_exit();
	return err;
}

static void __exit qsim_module_exit(void)
{
	rtnl_link_unregister(&qsim_link_ops);
	qsim_monitor_exit();
	qsim_debugfs_exit();
}

module_init(qsim_module_init);
module_exit(qsim_module_exit);

MODULE_DESCRIPTION("Simulated NIC with QUIC offload");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RTNL_LINK(QSIM_NAME);
