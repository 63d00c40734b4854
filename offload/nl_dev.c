// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: netlink requests and events about devices. Settings need
 * CAP_NET_ADMIN; a device is seen only in its own namespace.
 */

#include <linux/device.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/rtnetlink.h>

#include "ctl.h"
#include "nl.h"
#include "nl-gen.h"

static const char *qoff_dev_driver(const struct net_device *netdev)
{
	if (netdev->dev.parent)
		return dev_driver_string(netdev->dev.parent);
	return netdev->rtnl_link_ops ? netdev->rtnl_link_ops->kind : "";
}

static int qoff_dev_fill_netdev(struct sk_buff *skb, const struct qoff_dev *qd)
{
	const struct net_device *netdev;
	int err = -ENODEV;

	rcu_read_lock();
	netdev = rcu_dereference(qd->netdev);
	if (!netdev)
		goto out;
	err = -EMSGSIZE;
	if (nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_ID, qd->id) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_IFINDEX, netdev->ifindex) ||
	    nla_put_string(skb, QUIC_OFFLOAD_A_DEV_IFNAME, netdev->name) ||
	    nla_put_string(skb, QUIC_OFFLOAD_A_DEV_DRIVER,
			   qoff_dev_driver(netdev)))
		goto out;
	err = 0;
out:
	rcu_read_unlock();
	return err;
}

static int qoff_dev_fill(struct sk_buff *skb, struct qoff_dev *qd)
{
	const struct qoff_dev_caps *caps = qd->caps;
	int err = qoff_dev_fill_netdev(skb, qd);

	if (err)
		return err;
	if (nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_FEATURES_CAP, caps->features) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_FEATURES,
			READ_ONCE(qd->features)) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_TX_CIPHERS, caps->tx_ciphers) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_RX_CIPHERS, caps->rx_ciphers) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_MAX_SEGS, caps->max_segs) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_MAX_BYTES, caps->max_bytes) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_MAX_CTX, caps->max_ctx) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_MAX_FLOW, caps->max_flow) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_DCID_LENS, caps->dcid_lens) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_DEV_TAP_POLICY,
			READ_ONCE(qd->tap_policy)) ||
	    (QOFF_NETIF_F && nla_put_flag(skb, QUIC_OFFLOAD_A_DEV_ETHTOOL)))
		return -EMSGSIZE;
	return 0;
}

/* The driver counts what went through it, the core what it decided */
static int qoff_dev_fill_stats(struct sk_buff *skb, struct qoff_dev *qd)
{
	struct qoff_dev_stats ds;
	struct qoff_stats *s;
	unsigned int i;
	int err;

	err = qoff_dev_fill_netdev(skb, qd);
	if (err)
		return err;
	s = kmalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	for (i = 0; i < QOFF_CNT_MAX; i++)
		atomic_long_set(&s->v[i],
				atomic_long_read(&qoff_dev_stats(qd)->v[i]));
	if (qoff_dev_get_stats(qd, &ds)) {
		atomic_long_set(&s->v[QOFF_CNT_TX_SUPER], ds.tx_super);
		atomic_long_set(&s->v[QOFF_CNT_TX_SEGS], ds.tx_segs);
		atomic_long_set(&s->v[QOFF_CNT_TX_BYTES], ds.tx_bytes);
		atomic_long_set(&s->v[QOFF_CNT_RX_BATCHES], ds.rx_coalesced);
		atomic_long_set(&s->v[QOFF_CNT_RX_DEV_OPENED], ds.rx_opened);
		atomic_long_set(&s->v[QOFF_CNT_RX_FAILED], ds.rx_failed);
		atomic_long_add(ds.tx_err, &s->v[QOFF_CNT_TX_LOST]);
	}
	err = qoff_put_stats(skb, QUIC_OFFLOAD_A_DEV_STATS, s, 0,
			     QOFF_CNT_MAX - 1);
	kfree(s);
	return err;
}

/* The device that the request names, a reference */
static struct qoff_dev *qoff_nl_dev(struct genl_info *info)
{
	struct nlattr *id = info->attrs[QUIC_OFFLOAD_A_DEV_ID];
	struct nlattr *ifindex = info->attrs[QUIC_OFFLOAD_A_DEV_IFINDEX];
	struct net *net = genl_info_net(info);
	struct qoff_dev *qd;

	if (!id && !ifindex) {
		NL_SET_ERR_MSG(info->extack, "id or ifindex is needed");
		return ERR_PTR(-EINVAL);
	}
	if (id && ifindex) {
		NL_SET_ERR_MSG(info->extack, "id and ifindex exclude each other");
		return ERR_PTR(-EINVAL);
	}
	if (id)
		qd = qoff_dev_get_by_id(net, nla_get_u32(id));
	else
		qd = qoff_dev_get_by_ifindex(net, nla_get_u32(ifindex));
	if (qd)
		return qd;
	NL_SET_ERR_MSG_ATTR(info->extack, id ?: ifindex,
			    "no such QUIC offload device in this namespace");
	return ERR_PTR(-ENODEV);
}

static int qoff_nl_dev_reply(struct genl_info *info,
			     int (*fill)(struct sk_buff *, struct qoff_dev *))
{
	struct qoff_reply r;
	struct qoff_dev *qd;
	int err;

	qd = qoff_nl_dev(info);
	if (IS_ERR(qd))
		return PTR_ERR(qd);
	err = qoff_reply_start(&r, info);
	if (!err)
		err = qoff_reply_end(&r, info, fill(r.skb, qd));
	qoff_dev_put(qd);
	return err;
}

/* A device that goes away meanwhile is left out */
static int qoff_nl_dev_dump(struct sk_buff *skb, struct netlink_callback *cb,
			    int (*fill)(struct sk_buff *, struct qoff_dev *))
{
	struct net *net = sock_net(skb->sk);
	struct qoff_dev *qd;
	unsigned long id;
	void *hdr;
	int err;

	for (id = cb->args[0]; (qd = qoff_dev_next(net, &id)); id++) {
		cb->args[0] = id;
		hdr = genlmsg_iput(skb, genl_info_dump(cb));
		err = hdr ? fill(skb, qd) : -EMSGSIZE;
		qoff_dev_put(qd);
		if (!err) {
			genlmsg_end(skb, hdr);
			continue;
		}
		if (hdr)
			genlmsg_cancel(skb, hdr);
		if (err != -ENODEV)
			return err == -EMSGSIZE && skb->len ? skb->len : err;
	}
	cb->args[0] = id;
	return skb->len;
}

int quic_offload_nl_dev_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return qoff_nl_dev_reply(info, qoff_dev_fill);
}

int quic_offload_nl_dev_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb)
{
	return qoff_nl_dev_dump(skb, cb, qoff_dev_fill);
}

int quic_offload_nl_dev_stats_get_doit(struct sk_buff *skb,
				       struct genl_info *info)
{
	return qoff_nl_dev_reply(info, qoff_dev_fill_stats);
}

int quic_offload_nl_dev_stats_get_dumpit(struct sk_buff *skb,
					 struct netlink_callback *cb)
{
	return qoff_nl_dev_dump(skb, cb, qoff_dev_fill_stats);
}

int quic_offload_nl_dev_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *features = info->attrs[QUIC_OFFLOAD_A_DEV_FEATURES];
	struct nlattr *tap = info->attrs[QUIC_OFFLOAD_A_DEV_TAP_POLICY];
	u32 features_val = 0, tap_val = 0;
	struct qoff_dev *qd;
	int err;

	if (!netlink_ns_capable(skb, genl_info_net(info)->user_ns,
				CAP_NET_ADMIN)) {
		NL_SET_ERR_MSG(info->extack, "needs CAP_NET_ADMIN");
		return -EPERM;
	}
	if (!features && !tap) {
		NL_SET_ERR_MSG(info->extack, "features or tap-policy is needed");
		return -EINVAL;
	}
	if (features)
		features_val = nla_get_u32(features);
	if (tap)
		tap_val = nla_get_u32(tap);
	/* Not to another namespace underway, and in order with ethtool */
	rtnl_lock();
	qd = qoff_nl_dev(info);
	if (IS_ERR(qd)) {
		err = PTR_ERR(qd);
	} else {
		err = qoff_dev_config(qd, features ? &features_val : NULL,
				      tap ? &tap_val : NULL, info->extack);
		qoff_dev_put(qd);
	}
	rtnl_unlock();
	return err;
}

/**
 * qoff_nl_dev_notify() - tell listeners of a device's namespace
 * @qd: the device, its net device still there
 * @cmd: QUIC_OFFLOAD_CMD_DEV_*_NTF
 *
 * Context: process, RTNL or the registration holds the net device.
 */
void qoff_nl_dev_notify(struct qoff_dev *qd, u32 cmd)
{
	struct net_device *netdev = rcu_dereference_protected(qd->netdev, 1);
	struct sk_buff *skb;
	void *hdr;

	if (!netdev || !genl_has_listeners(&quic_offload_nl_family,
					   dev_net(netdev),
					   QUIC_OFFLOAD_NLGRP_MGMT))
		return;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return;
	hdr = genlmsg_put(skb, 0, 0, &quic_offload_nl_family, 0, cmd);
	if (!hdr || qoff_dev_fill(skb, qd)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(&quic_offload_nl_family, dev_net(netdev), skb, 0,
				QUIC_OFFLOAD_NLGRP_MGMT, GFP_KERNEL);
}
