// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: the registry of devices, their switches, and what happens to
 * them: up, down, reset, another namespace, removal.
 */

#include <linux/hashtable.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "ctl.h"
#include "trace.h"

/**
 * struct qoff_device - a device with what drivers do not see
 * @pub: what they see
 * @caps: what @pub.caps points at; a driver's own may go with its module
 * @stats: what @pub.core points at
 * @node: in qoff_dev_hash
 * @tracker: of the reference on the net device
 * @wanted: switches as last set over netlink, under RTNL
 * @announced: the world has been told of it; written by whoever registers,
 *	moves or takes the net device away, one at a time
 */
struct qoff_device {
	struct qoff_dev pub;
	struct qoff_dev_caps caps;
	struct qoff_stats stats;
	struct hlist_node node;
	netdevice_tracker tracker;
	u32 wanted;
	bool announced;
};

/* By net device. Read under RCU by the data path. */
static DEFINE_HASHTABLE(qoff_dev_hash, 6);
static DEFINE_SPINLOCK(qoff_dev_hash_lock); /* protects writes of the table */

/* By id. References are dropped in softirq too. */
static DEFINE_XARRAY_FLAGS(qoff_devs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
static u32 qoff_dev_id_next;

static void qoff_refresh_fn(struct work_struct *work);
static DECLARE_WORK(qoff_refresh_work, qoff_refresh_fn);

static struct qoff_device *qoff_device(struct qoff_dev *qd)
{
	return container_of(qd, struct qoff_device, pub);
}

/**
 * qoff_dev_of() - the registered device of a net device
 * @netdev: the net device
 *
 * Context: RCU read side.
 * Return: the device or NULL.
 */
struct qoff_dev *qoff_dev_of(const struct net_device *netdev)
{
	struct qoff_device *d;

	hash_for_each_possible_rcu(qoff_dev_hash, d, node, (unsigned long)netdev)
		if (rcu_access_pointer(d->pub.netdev) == netdev)
			return &d->pub;
	return NULL;
}

/* Context: any. The id is free again with the last reference. */
void qoff_dev_put(struct qoff_dev *qd)
{
	if (!refcount_dec_and_test(&qd->refcnt))
		return;
	WARN_ON_ONCE(qd->ops || !list_empty(&qd->ctxs));
	xa_erase_bh(&qoff_devs, qd->id);
	mutex_destroy(&qd->lock);
	kfree_rcu(qoff_device(qd), pub.rcu);
}

/* A device's state or a route changed: flows and contexts go where they should be */
void qoff_refresh_group(struct qoff_group *g)
{
	qoff_ctx_refresh_all(g);
	qoff_flow_refresh_all(g);
}

static void qoff_refresh_lost(void)
{
	struct qoff_dev *qd;
	unsigned long id;

	for (id = 1; ; id++) {
		rcu_read_lock();
		qd = xa_find(&qoff_devs, &id, ULONG_MAX, XA_PRESENT);
		if (qd && !qoff_dev_hold(qd)) {
			rcu_read_unlock();
			continue;
		}
		rcu_read_unlock();
		if (!qd)
			return;
		mutex_lock(&qd->lock);
		qoff_places_lost(qd);
		mutex_unlock(&qd->lock);
		qoff_dev_put(qd);
	}
}

static void qoff_refresh_fn(struct work_struct *work)
{
	qoff_refresh_lost();
	qoff_group_for_each(NULL, qoff_refresh_group);
}

/* Context: any */
void qoff_refresh_kick(void)
{
	queue_work(qoff_wq, &qoff_refresh_work);
}

/* What a driver must have for what it announces */
static int qoff_dev_check_ops(const struct qoff_dev_ops *ops, u32 features)
{
	if (features & QUIC_OFFLOAD_FEATURE_TX_CRYPTO &&
	    WARN_ON(!ops->ctx_add || !ops->ctx_del || !ops->ctx_key_add ||
		    !ops->ctx_key_flush))
		return -EINVAL;
	if (features & (QUIC_OFFLOAD_FEATURE_GRO |
			QUIC_OFFLOAD_FEATURE_RX_CRYPTO) &&
	    WARN_ON(!ops->flow_add || !ops->flow_del))
		return -EINVAL;
	if (features & QUIC_OFFLOAD_FEATURE_RX_CRYPTO &&
	    WARN_ON(!ops->flow_key_add || !ops->flow_key_flush))
		return -EINVAL;
	if (WARN_ON(!ops->set_features && !QOFF_NETIF_F))
		return -EINVAL;
	return 0;
}

static int qoff_dev_check_caps(const struct qoff_dev_caps *caps)
{
	u32 f = caps->features;

	if (WARN_ON(f & QUIC_OFFLOAD_FEATURE_TX_CRYPTO &&
		    !(f & QUIC_OFFLOAD_FEATURE_GSO)))
		return -EINVAL;
	if (f & QUIC_OFFLOAD_FEATURE_GSO &&
	    WARN_ON(caps->max_segs < 2 || caps->max_segs > QOFF_MAX_SEGS ||
		    !caps->max_bytes))
		return -EINVAL;
	if (WARN_ON(caps->dcid_lens >> (QOFF_MAX_DCID + 1)))
		return -EINVAL;
	if (WARN_ON(caps->ctx_drv_size > PAGE_SIZE))
		return -EINVAL;
	return 0;
}

static struct qoff_device *qoff_dev_alloc(struct net_device *netdev,
					  const struct qoff_dev_ops *ops,
					  const struct qoff_dev_caps *caps,
					  void *priv)
{
	struct qoff_device *d;
	struct qoff_dev *qd;
	int err;

	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return ERR_PTR(-ENOMEM);
	d->caps = *caps;
	qd = &d->pub;
	qd->ops = ops;
	qd->caps = &d->caps;
	qd->core = &d->stats;
	qd->drv_priv = priv;
	qd->features = qoff_features_from_netdev(netdev->features) &
		       caps->features;
	mutex_init(&qd->lock);
	refcount_set(&qd->refcnt, 1);
	INIT_LIST_HEAD(&qd->ctxs);
	RCU_INIT_POINTER(qd->netdev, netdev);
	/* Reserved: found by id when it is complete */
	err = xa_alloc_cyclic_bh(&qoff_devs, &qd->id, NULL, xa_limit_31b,
				 &qoff_dev_id_next, GFP_KERNEL);
	if (err < 0) {
		mutex_destroy(&qd->lock);
		kfree(d);
		return ERR_PTR(err);
	}
	return d;
}

/**
 * qoff_dev_create() - register a device
 * @netdev: registered or about to be; its driver
 * @ops: callbacks, constant
 * @caps: what the device can do, copied
 * @priv: for qoff_dev.drv_priv
 *
 * Context: process, may sleep.
 * Return: the device; ERR_PTR: -EINVAL when an op that @caps needs is missing or
 * a limit is out of range, -EEXIST when @netdev has one, -ENOMEM.
 */
struct qoff_dev *qoff_dev_create(struct net_device *netdev,
				 const struct qoff_dev_ops *ops,
				 const struct qoff_dev_caps *caps, void *priv)
{
	struct qoff_device *d;
	int err;

	err = qoff_dev_check_caps(caps) ?: qoff_dev_check_ops(ops, caps->features);
	if (err)
		return ERR_PTR(err);
	d = qoff_dev_alloc(netdev, ops, caps, priv);
	if (IS_ERR(d))
		return ERR_CAST(d);

	spin_lock(&qoff_dev_hash_lock);
	rcu_read_lock();
	if (qoff_dev_of(netdev))
		err = -EEXIST;
	else
		hash_add_rcu(qoff_dev_hash, &d->node, (unsigned long)netdev);
	rcu_read_unlock();
	spin_unlock(&qoff_dev_hash_lock);
	if (err) {
		d->pub.ops = NULL;
		qoff_dev_put(&d->pub);
		return ERR_PTR(err);
	}
	netdev_hold(netdev, &d->tracker, GFP_KERNEL);
	xa_store_bh(&qoff_devs, d->pub.id, &d->pub, GFP_KERNEL);
	if (netdev->reg_state == NETREG_REGISTERED) {
		d->announced = true;
		qoff_nl_dev_notify(&d->pub, QUIC_OFFLOAD_CMD_DEV_ADD_NTF);
	}
	/* It may be up already, with its switches on */
	qoff_refresh_kick();
	return &d->pub;
}
EXPORT_SYMBOL_GPL(qoff_dev_create);

static void qoff_dev_tell_gone(struct qoff_device *d)
{
	if (!d->announced)
		return;
	d->announced = false;
	qoff_nl_dev_notify(&d->pub, QUIC_OFFLOAD_CMD_DEV_DEL_NTF);
}

/* Take the device away from everybody who could find it, and the driver away
 * from the device. The second call finds nothing to do: the net device may go
 * before its driver says so.
 */
static void qoff_dev_detach(struct qoff_dev *qd)
{
	struct qoff_device *d = qoff_device(qd);
	struct net_device *netdev;

	spin_lock(&qoff_dev_hash_lock);
	netdev = rcu_dereference_protected(qd->netdev,
					   lockdep_is_held(&qoff_dev_hash_lock));
	if (!netdev || hlist_unhashed(&d->node)) {
		spin_unlock(&qoff_dev_hash_lock);
		return;
	}
	hash_del_rcu(&d->node);
	spin_unlock(&qoff_dev_hash_lock);

	qoff_dev_tell_gone(d);
	/* The id stays reserved until the last reference is gone */
	xa_store_bh(&qoff_devs, qd->id, NULL, GFP_KERNEL);
	mutex_lock(&qd->lock);
	WRITE_ONCE(qd->features, 0);
	qoff_places_kill_all(qd);
	qd->ops = NULL;
	mutex_unlock(&qd->lock);
	RCU_INIT_POINTER(qd->netdev, NULL);
	synchronize_net();
	netdev_put(netdev, &d->tracker);
	qoff_refresh_kick();
}

/**
 * qoff_dev_unregister() - take a device away
 * @qd: from qoff_dev_create()
 *
 * Context: process, may sleep; RTNL held by the caller or not.
 */
void qoff_dev_unregister(struct qoff_dev *qd)
{
	qoff_dev_detach(qd);
	qoff_dev_put(qd);
}
EXPORT_SYMBOL_GPL(qoff_dev_unregister);

/**
 * qoff_dev_reset() - the device lost all contexts and flows
 * @qd: the device
 *
 * Context: any.
 */
void qoff_dev_reset(struct qoff_dev *qd)
{
	WRITE_ONCE(qd->gen, READ_ONCE(qd->gen) + 1);
	qoff_refresh_kick();
}
EXPORT_SYMBOL_GPL(qoff_dev_reset);

/**
 * qoff_dev_set_features() - tell the core which switches are on
 * @qd: the device
 * @features: QUIC_OFFLOAD_FEATURE_* bits
 *
 * Context: process, RTNL; from ndo_set_features.
 */
void qoff_dev_set_features(struct qoff_dev *qd, u32 features)
{
	ASSERT_RTNL();
	features &= qd->caps->features;
	if (features == qd->features)
		return;
	WRITE_ONCE(qd->features, features);
	qoff_refresh_kick();
	qoff_nl_dev_notify(qd, QUIC_OFFLOAD_CMD_DEV_CHANGE_NTF);
}
EXPORT_SYMBOL_GPL(qoff_dev_set_features);

static bool qoff_can_gso(netdev_features_t f)
{
	if (!(f & NETIF_F_SG))
		return false;
	return f & NETIF_F_HW_CSUM ||
	       (f & NETIF_F_IP_CSUM && f & NETIF_F_IPV6_CSUM);
}

/* The part of @want that the net device's other switches allow */
static u32 qoff_dev_allowed(u32 want, netdev_features_t f)
{
	if (!qoff_can_gso(f))
		want &= ~QUIC_OFFLOAD_FEATURE_GSO;
	if (!(want & QUIC_OFFLOAD_FEATURE_GSO))
		want &= ~QUIC_OFFLOAD_FEATURE_TX_CRYPTO;
	if (!(f & NETIF_F_RXCSUM))
		want &= ~(QUIC_OFFLOAD_FEATURE_GRO |
			  QUIC_OFFLOAD_FEATURE_RX_CRYPTO);
	return want;
}

/**
 * qoff_fix_features() - dependencies between the switches
 * @features: wanted
 *
 * For ndo_fix_features.
 * Return: what may be on.
 */
netdev_features_t qoff_fix_features(netdev_features_t features)
{
#ifdef NETIF_F_QUIC_GSO
	u32 f = qoff_dev_allowed(qoff_features_from_netdev(features), features);

	if (!(f & QUIC_OFFLOAD_FEATURE_GSO))
		features &= ~NETIF_F_QUIC_GSO;
	if (!(f & QUIC_OFFLOAD_FEATURE_TX_CRYPTO))
		features &= ~NETIF_F_QUIC_TX_CRYPTO;
	if (!(f & QUIC_OFFLOAD_FEATURE_GRO))
		features &= ~NETIF_F_QUIC_GRO;
	if (!(f & QUIC_OFFLOAD_FEATURE_RX_CRYPTO))
		features &= ~NETIF_F_QUIC_RX_CRYPTO;
#endif
	return features;
}
EXPORT_SYMBOL_GPL(qoff_fix_features);

static int qoff_dev_apply(struct qoff_dev *qd, u32 features,
			  struct netlink_ext_ack *extack)
{
	int err = 0;

	ASSERT_RTNL();
	mutex_lock(&qd->lock);
	if (!qd->ops)
		err = -ENODEV;
	else if (features != qd->features)
		err = qd->ops->set_features(qd, features, extack);
	if (!err)
		WRITE_ONCE(qd->features, features);
	mutex_unlock(&qd->lock);
	if (!err)
		qoff_refresh_kick();
	return err;
}

static int qoff_dev_config_features(struct qoff_dev *qd, u32 want,
				    netdev_features_t f,
				    struct netlink_ext_ack *extack)
{
	u32 missing = want & ~qoff_dev_allowed(want, f);
	int err;

	if (QOFF_NETIF_F) {
		NL_SET_ERR_MSG(extack, "this kernel has these switches in ethtool -K");
		return -EOPNOTSUPP;
	}
	if (want & ~qd->caps->features) {
		NL_SET_ERR_MSG(extack, "the device cannot do that");
		return -EOPNOTSUPP;
	}
	if (missing & QUIC_OFFLOAD_FEATURE_GSO) {
		NL_SET_ERR_MSG(extack, "gso needs sg and transmit checksums (ethtool -K)");
		return -EINVAL;
	}
	if (missing & QUIC_OFFLOAD_FEATURE_TX_CRYPTO) {
		NL_SET_ERR_MSG(extack, "tx-crypto needs gso");
		return -EINVAL;
	}
	if (missing) {
		NL_SET_ERR_MSG(extack, "gro and rx-crypto need receive checksums (ethtool -K)");
		return -EINVAL;
	}
	err = qoff_dev_apply(qd, want, extack);
	if (!err)
		qoff_device(qd)->wanted = want;
	return err;
}

/**
 * qoff_dev_config() - change settings
 * @qd: the device
 * @features: switches, NULL: leave
 * @tap_policy: enum quic_offload_tap_policy, NULL: leave
 * @extack: for the refusal
 *
 * Context: process, RTNL.
 * Return: 0, or an errno; then nothing changed.
 */
int qoff_dev_config(struct qoff_dev *qd, const u32 *features,
		    const u32 *tap_policy, struct netlink_ext_ack *extack)
{
	struct net_device *netdev = rtnl_dereference(qd->netdev);
	int err;

	if (!netdev) {
		NL_SET_ERR_MSG(extack, "the device is gone");
		return -ENODEV;
	}
	if (features) {
		err = qoff_dev_config_features(qd, *features, netdev->features,
					       extack);
		if (err)
			return err;
	}
	if (tap_policy)
		WRITE_ONCE(qd->tap_policy, *tap_policy);
	qoff_nl_dev_notify(qd, QUIC_OFFLOAD_CMD_DEV_CHANGE_NTF);
	return 0;
}

/* Driver's counters; false when it has none */
bool qoff_dev_get_stats(struct qoff_dev *qd, struct qoff_dev_stats *stats)
{
	bool valid = false;

	memset(stats, 0, sizeof(*stats));
	mutex_lock(&qd->lock);
	if (qd->ops && qd->ops->get_stats) {
		qd->ops->get_stats(qd, stats);
		valid = true;
	}
	mutex_unlock(&qd->lock);
	return valid;
}

/* Is it in @net? RCU read side. */
static bool qoff_dev_in(struct qoff_dev *qd, const struct net *net)
{
	const struct net_device *netdev = rcu_dereference(qd->netdev);

	return netdev && net_eq(dev_net(netdev), net);
}

/* The device with this id, a reference, if it is in @net */
struct qoff_dev *qoff_dev_get_by_id(struct net *net, u32 id)
{
	struct qoff_dev *qd;

	rcu_read_lock();
	qd = xa_load(&qoff_devs, id);
	if (qd && (!qoff_dev_in(qd, net) || !qoff_dev_hold(qd)))
		qd = NULL;
	rcu_read_unlock();
	return qd;
}

struct qoff_dev *qoff_dev_get_by_ifindex(struct net *net, u32 ifindex)
{
	struct net_device *netdev;
	struct qoff_dev *qd = NULL;

	rcu_read_lock();
	netdev = dev_get_by_index_rcu(net, ifindex);
	if (netdev)
		qd = qoff_dev_of(netdev);
	if (qd && !qoff_dev_hold(qd))
		qd = NULL;
	rcu_read_unlock();
	return qd;
}

/* The next device of @net from @id on, a reference; @id is set to its id */
struct qoff_dev *qoff_dev_next(struct net *net, unsigned long *id)
{
	struct qoff_dev *qd;

	rcu_read_lock();
	for (;; (*id)++) {
		qd = xa_find(&qoff_devs, id, ULONG_MAX, XA_PRESENT);
		if (!qd || (qoff_dev_in(qd, net) && qoff_dev_hold(qd)))
			break;
	}
	rcu_read_unlock();
	return qd;
}

/* Net device events; RTNL is held */

static int qoff_dev_registering(struct net_device *netdev, struct qoff_dev *qd)
{
	if (qd) {
		qoff_device(qd)->announced = true;
		qoff_nl_dev_notify(qd, QUIC_OFFLOAD_CMD_DEV_ADD_NTF);
		return NOTIFY_DONE;
	}
	if (!((netdev->features | netdev->hw_features) & QOFF_NETIF_F))
		return NOTIFY_DONE;
	netdev_err(netdev, "driver announces QUIC offload without qoff_dev_create()\n");
	return notifier_from_errno(-EINVAL);
}

/* It may have other switches now that ours depend on */
static void qoff_dev_feat_change(struct net_device *netdev, struct qoff_dev *qd)
{
	u32 f;

	if (QOFF_NETIF_F)
		return;
	f = qoff_dev_allowed(qoff_device(qd)->wanted, netdev->features);
	if (f != qd->features && !qoff_dev_apply(qd, f, NULL))
		qoff_nl_dev_notify(qd, QUIC_OFFLOAD_CMD_DEV_CHANGE_NTF);
}

static void qoff_dev_down(struct qoff_dev *qd)
{
	mutex_lock(&qd->lock);
	qoff_places_kill_all(qd);
	mutex_unlock(&qd->lock);
	qoff_refresh_kick();
}

static int qoff_netdev_event(struct notifier_block *nb, unsigned long event,
			     void *ptr)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(ptr);
	struct qoff_dev *qd;

	ASSERT_RTNL();
	/* It cannot be unregistered meanwhile but by the driver of this very
	 * net device, which is in this event.
	 */
	rcu_read_lock();
	qd = qoff_dev_of(netdev);
	if (qd && !qoff_dev_hold(qd))
		qd = NULL;
	rcu_read_unlock();
	if (event == NETDEV_REGISTER && !qd)
		return qoff_dev_registering(netdev, NULL);
	if (!qd)
		return NOTIFY_DONE;

	switch (event) {
	case NETDEV_REGISTER: /* also after a move to another namespace */
		qoff_dev_registering(netdev, qd);
		break;
	case NETDEV_UP:
		qoff_refresh_kick();
		break;
	case NETDEV_FEAT_CHANGE:
		qoff_dev_feat_change(netdev, qd);
		break;
	case NETDEV_DOWN:
		qoff_dev_down(qd);
		break;
	case NETDEV_UNREGISTER:
		/* Going away, or leaving for another namespace? In the first
		 * case the core waits for our reference on the net device.
		 */
		if (netdev->reg_state == NETREG_UNREGISTERING) {
			qoff_dev_detach(qd);
		} else {
			qoff_dev_down(qd);
			qoff_dev_tell_gone(qoff_device(qd));
		}
		break;
	}
	qoff_dev_put(qd);
	return NOTIFY_DONE;
}

static struct notifier_block qoff_netdev_nb = {
	.notifier_call = qoff_netdev_event,
};

int __init qoff_dev_init(void)
{
	return register_netdevice_notifier(&qoff_netdev_nb);
}

void qoff_dev_exit(void)
{
	unregister_netdevice_notifier(&qoff_netdev_nb);
	cancel_work_sync(&qoff_refresh_work);
	WARN_ON(!hash_empty(qoff_dev_hash));
}
