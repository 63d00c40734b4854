// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mlx5e QUIC offload: registration with the framework, the switches, contexts
 * and flows. Locks and lifetimes: qoff.h.
 */
#include <linux/ethtool.h>

#include "en_accel/qoff_priv.h"
#include "lib/crypto.h"

#define MLX5E_QOFF_RX	(QUIC_OFFLOAD_FEATURE_GRO | QUIC_OFFLOAD_FEATURE_RX_CRYPTO)

static struct mlx5e_qoff *mlx5e_qoff_of(struct qoff_dev *qd)
{
	return qd->drv_priv;
}

static struct mlx5_core_dev *mlx5e_qoff_mdev(struct mlx5e_qoff *qoff)
{
	return qoff->priv->mdev;
}

/* Transmit contexts */

static int mlx5e_qoff_ctx_add(struct qoff_dev *qd,
			      const struct qoff_ctx_params *p, void *drv)
{
	struct mlx5e_qoff *qoff = mlx5e_qoff_of(qd);
	struct mlx5_core_dev *mdev = mlx5e_qoff_mdev(qoff);
	struct mlx5e_qoff_ctx *ctx = drv;
	int err;

	ctx->cipher = p->cipher;
	err = mlx5e_qoff_cmd_dek(mdev, p->cipher, p->hp_key, &ctx->hp_dekn);
	if (err)
		goto err_count;
	err = mlx5e_qoff_cmd_tx_create(mdev, p->cipher, p->dcid_len,
				       ctx->hp_dekn, &ctx->id);
	if (err)
		goto err_dek;
	mlx5e_qoff_count(qoff, MLX5E_QOFF_CTX_ADD, 1);
	return 0;

err_dek:
	mlx5_destroy_encryption_key(mdev, ctx->hp_dekn);
err_count:
	mlx5e_qoff_count(qoff, MLX5E_QOFF_CTX_FAIL, 1);
	return err;
}

static u8 mlx5e_qoff_ctx_filled(const struct mlx5e_qoff_ctx *ctx)
{
	return (rcu_access_pointer(ctx->key[0]) ? BIT(0) : 0) |
	       (rcu_access_pointer(ctx->key[1]) ? BIT(1) : 0);
}

static int mlx5e_qoff_ctx_key_add(struct qoff_dev *qd, void *drv,
				  const struct qoff_key_params *k)
{
	struct mlx5e_qoff *qoff = mlx5e_qoff_of(qd);
	struct mlx5_core_dev *mdev = mlx5e_qoff_mdev(qoff);
	struct mlx5e_qoff_ctx *ctx = drv;
	struct mlx5e_qoff_key *key;
	u8 phase = k->phase & 1;
	int err;

	key = kzalloc(sizeof(*key), GFP_KERNEL);
	if (!key)
		return -ENOMEM;
	refcount_set(&key->ref, 1);
	key->qoff = qoff;
	err = mlx5e_qoff_cmd_dek(mdev, ctx->cipher, k->key, &key->dekn);
	if (err)
		goto err_free;
	err = mlx5e_qoff_cmd_slot(mdev, ctx->id, phase, true,
				  mlx5e_qoff_ctx_filled(ctx), key->dekn, k->iv);
	if (err)
		goto err_dek;
	rcu_assign_pointer(ctx->key[phase], key);
	return 0;

err_dek:
	mlx5_destroy_encryption_key(mdev, key->dekn);
err_free:
	kfree(key);
	mlx5e_qoff_count(qoff, MLX5E_QOFF_CTX_FAIL, 1);
	return err;
}

/* The last reference may be the late completion of a revoked key */
static void mlx5e_qoff_key_put(struct mlx5e_qoff_key *key)
{
	struct mlx5e_qoff *qoff = key->qoff;

	if (refcount_dec_and_test(&key->ref))
		kfree_rcu(key, rcu);
	else if (wq_has_sleeper(&qoff->key_wait))
		wake_up(&qoff->key_wait);
}

/**
 * mlx5e_qoff_tx_done() - a WQE that held a key is finished
 * @key: its reference is given back
 * @cqe: the WQE's own completion; NULL when it shares another's, or when the
 *	queue is torn down
 *
 * Context: NAPI, or process while the queue is down.
 */
void mlx5e_qoff_tx_done(struct mlx5e_qoff_key *key,
			const struct mlx5_cqe64 *cqe)
{
	const struct qoff_mlx5_cqe *c = (const void *)cqe;

	if (unlikely(c && c->quic_flags))
		mlx5e_qoff_count(key->qoff, MLX5E_QOFF_TX_REFUSED, 1);
	mlx5e_qoff_key_put(key);
}

static void mlx5e_qoff_ctx_key_flush(struct qoff_dev *qd, void *drv, u8 phase)
{
	struct mlx5e_qoff *qoff = mlx5e_qoff_of(qd);
	struct mlx5_core_dev *mdev = mlx5e_qoff_mdev(qoff);
	struct mlx5e_qoff_ctx *ctx = drv;
	struct mlx5e_qoff_key *key;

	phase &= 1;
	key = rcu_replace_pointer(ctx->key[phase], NULL,
				  lockdep_is_held(&qd->lock));
	if (!key)
		return;
	/* No ndo_start_xmit can find it after this */
	synchronize_net();
	/* A device that does not come back is revoked: what it may still hold is
	 * refused by it, since its slot is empty.
	 */
	if (!wait_event_idle_timeout(qoff->key_wait, refcount_read(&key->ref) == 1,
				     MLX5E_QOFF_KEY_TIMEOUT))
		mlx5e_qoff_count(qoff, MLX5E_QOFF_TX_REVOKED, 1);
	mlx5e_qoff_cmd_slot(mdev, ctx->id, phase, false,
			    mlx5e_qoff_ctx_filled(ctx), 0, NULL);
	mlx5_destroy_encryption_key(mdev, key->dekn);
	mlx5e_qoff_key_put(key);
}

static void mlx5e_qoff_ctx_del(struct qoff_dev *qd, void *drv)
{
	struct mlx5_core_dev *mdev = mlx5e_qoff_mdev(mlx5e_qoff_of(qd));
	struct mlx5e_qoff_ctx *ctx = drv;

	mlx5e_qoff_ctx_key_flush(qd, drv, 0);
	mlx5e_qoff_ctx_key_flush(qd, drv, 1);
	mlx5e_qoff_cmd_destroy(mdev, ctx->id);
	mlx5_destroy_encryption_key(mdev, ctx->hp_dekn);
}

/* Receive flows. The driver bytes of the core's flow are a pointer to ours,
 * which lives as long as NAPI may read it.
 */

static int mlx5e_qoff_flow_object(struct mlx5e_qoff *qoff,
				  const struct qoff_flow_params *p,
				  struct mlx5e_qoff_flow *flow)
{
	struct mlx5_core_dev *mdev = mlx5e_qoff_mdev(qoff);
	int err;

	if (p->cipher) {
		err = mlx5e_qoff_cmd_dek(mdev, p->cipher, p->hp_key,
					 &flow->hp_dekn);
		if (err)
			return err;
	}
	err = mlx5e_qoff_cmd_rx_create(mdev, p, flow->hp_dekn, flow->handle,
				       qoff->caps.gro, qoff->caps.fail_original,
				       &flow->id);
	if (err && p->cipher)
		mlx5_destroy_encryption_key(mdev, flow->hp_dekn);
	return err;
}

static int mlx5e_qoff_flow_add(struct qoff_dev *qd,
			       const struct qoff_flow_params *p, void *drv)
{
	struct mlx5e_qoff *qoff = mlx5e_qoff_of(qd);
	struct mlx5e_qoff_flow **slot = drv;
	struct mlx5e_qoff_flow *flow;
	int err;

	flow = kzalloc(sizeof(*flow), GFP_KERNEL);
	if (!flow)
		return -ENOMEM;
	flow->core_id = p->id;
	flow->cipher = p->cipher;
	flow->dcid_len = p->key.dcid_len;
	err = xa_alloc(&qoff->flows, &flow->handle, flow,
		       XA_LIMIT(1, 0xffffff), GFP_KERNEL);
	if (err)
		goto err_free;
	err = mlx5e_qoff_flow_object(qoff, p, flow);
	if (err)
		goto err_erase;
	*slot = flow;
	mlx5e_qoff_count(qoff, MLX5E_QOFF_FLOW_ADD, 1);
	return 0;

err_erase:
	xa_erase(&qoff->flows, flow->handle);
err_free:
	kfree_rcu(flow, rcu);
	mlx5e_qoff_count(qoff, MLX5E_QOFF_FLOW_FAIL, 1);
	return err;
}

static int mlx5e_qoff_flow_key_add(struct qoff_dev *qd, void *drv,
				   const struct qoff_key_params *k)
{
	struct mlx5e_qoff *qoff = mlx5e_qoff_of(qd);
	struct mlx5_core_dev *mdev = mlx5e_qoff_mdev(qoff);
	struct mlx5e_qoff_flow *flow = *(struct mlx5e_qoff_flow **)drv;
	u8 phase = k->phase & 1;
	int err;

	if (!flow->cipher)
		return -EOPNOTSUPP;
	err = mlx5e_qoff_cmd_dek(mdev, flow->cipher, k->key, &flow->dekn[phase]);
	if (err)
		goto err_count;
	WRITE_ONCE(flow->gen[phase], k->gen);
	err = mlx5e_qoff_cmd_slot(mdev, flow->id, phase, true, flow->filled,
				  flow->dekn[phase], k->iv);
	if (err)
		goto err_dek;
	flow->filled |= BIT(phase);
	return 0;

err_dek:
	mlx5_destroy_encryption_key(mdev, flow->dekn[phase]);
err_count:
	mlx5e_qoff_count(qoff, MLX5E_QOFF_FLOW_FAIL, 1);
	return err;
}

static void mlx5e_qoff_flow_key_flush(struct qoff_dev *qd, void *drv, u8 phase)
{
	struct mlx5_core_dev *mdev = mlx5e_qoff_mdev(mlx5e_qoff_of(qd));
	struct mlx5e_qoff_flow *flow = *(struct mlx5e_qoff_flow **)drv;

	phase &= 1;
	if (!(flow->filled & BIT(phase)))
		return;
	mlx5e_qoff_cmd_slot(mdev, flow->id, phase, false, flow->filled, 0, NULL);
	flow->filled &= ~BIT(phase);
	mlx5_destroy_encryption_key(mdev, flow->dekn[phase]);
}

static void mlx5e_qoff_flow_del(struct qoff_dev *qd, void *drv)
{
	struct mlx5e_qoff *qoff = mlx5e_qoff_of(qd);
	struct mlx5_core_dev *mdev = mlx5e_qoff_mdev(qoff);
	struct mlx5e_qoff_flow *flow = *(struct mlx5e_qoff_flow **)drv;

	mlx5e_qoff_cmd_destroy(mdev, flow->id);
	if (flow->filled & BIT(0))
		mlx5_destroy_encryption_key(mdev, flow->dekn[0]);
	if (flow->filled & BIT(1))
		mlx5_destroy_encryption_key(mdev, flow->dekn[1]);
	if (flow->cipher)
		mlx5_destroy_encryption_key(mdev, flow->hp_dekn);
	xa_erase(&qoff->flows, flow->handle);
	kfree_rcu(flow, rcu);
}

/* Device */

/* An XDP program would see opened packets, and only striding buffers can give
 * them fragments of their own.
 */
static bool mlx5e_qoff_rx_possible(struct mlx5e_priv *priv)
{
	struct mlx5e_params *params = &priv->channels.params;

	return !params->xdp_prog &&
	       MLX5E_GET_PFLAG(params, MLX5E_PFLAG_RX_STRIDING_RQ);
}

/* Steering brings received packets to the device's lookup only while somebody
 * wants that: without, nothing of the extension is in their way.
 */
static int mlx5e_qoff_switch(struct qoff_dev *qd, u32 features,
			     struct netlink_ext_ack *extack)
{
	struct mlx5e_qoff *qoff = mlx5e_qoff_of(qd);
	struct mlx5e_qoff_fs *fs;

	lockdep_assert_held(&qd->lock);
	if (!(features & MLX5E_QOFF_RX) == !qoff->fs)
		return 0;
	if (!(features & MLX5E_QOFF_RX)) {
		mlx5e_qoff_fs_destroy(qoff->priv, qoff->fs);
		qoff->fs = NULL;
		return 0;
	}
	if (!mlx5e_qoff_rx_possible(qoff->priv)) {
		NL_SET_ERR_MSG(extack, "mlx5: receive offload needs the striding RQ (ethtool --set-priv-flags rx_striding_rq on) and no XDP program");
		return -EOPNOTSUPP;
	}
	fs = mlx5e_qoff_fs_create(qoff->priv);
	if (IS_ERR(fs)) {
		NL_SET_ERR_MSG(extack, "mlx5: no steering rule for the receive lookup");
		return PTR_ERR(fs);
	}
	qoff->fs = fs;
	return 0;
}

static void mlx5e_qoff_dev_stats(struct qoff_dev *qd,
				 struct qoff_dev_stats *stats)
{
	struct mlx5e_qoff *qoff = mlx5e_qoff_of(qd);

	stats->tx_super = atomic64_read(&qoff->cnt[MLX5E_QOFF_TX_SUPER]);
	stats->tx_segs = atomic64_read(&qoff->cnt[MLX5E_QOFF_TX_SEGS]);
	stats->tx_bytes = atomic64_read(&qoff->cnt[MLX5E_QOFF_TX_BYTES]);
	stats->tx_err = atomic64_read(&qoff->cnt[MLX5E_QOFF_TX_REFUSED]);
	stats->rx_opened = atomic64_read(&qoff->cnt[MLX5E_QOFF_RX_OPENED]);
	stats->rx_failed = atomic64_read(&qoff->cnt[MLX5E_QOFF_RX_FAILED]);
	stats->rx_coalesced = atomic64_read(&qoff->cnt[MLX5E_QOFF_RX_COALESCED]);
}

static const struct qoff_dev_ops mlx5e_qoff_ops = {
	.ctx_add	= mlx5e_qoff_ctx_add,
	.ctx_del	= mlx5e_qoff_ctx_del,
	.ctx_key_add	= mlx5e_qoff_ctx_key_add,
	.ctx_key_flush	= mlx5e_qoff_ctx_key_flush,
	.flow_add	= mlx5e_qoff_flow_add,
	.flow_del	= mlx5e_qoff_flow_del,
	.flow_key_add	= mlx5e_qoff_flow_key_add,
	.flow_key_flush	= mlx5e_qoff_flow_key_flush,
	.set_features	= mlx5e_qoff_switch,
	.get_stats	= mlx5e_qoff_dev_stats,
};

static u32 mlx5e_qoff_features(const struct mlx5e_qoff_caps *caps)
{
	u32 features = QUIC_OFFLOAD_FEATURE_GSO;

	if (caps->tx_ciphers && caps->max_tx_ctx)
		features |= QUIC_OFFLOAD_FEATURE_TX_CRYPTO;
	if (caps->gro && caps->max_rx_ctx)
		features |= QUIC_OFFLOAD_FEATURE_GRO;
	if (caps->rx_ciphers && caps->max_rx_ctx)
		features |= QUIC_OFFLOAD_FEATURE_RX_CRYPTO;
	return features;
}

static netdev_features_t mlx5e_qoff_netdev_features(u32 features)
{
	netdev_features_t f = 0;

#ifdef NETIF_F_QUIC_GSO
	if (features & QUIC_OFFLOAD_FEATURE_GSO)
		f |= NETIF_F_QUIC_GSO;
	if (features & QUIC_OFFLOAD_FEATURE_TX_CRYPTO)
		f |= NETIF_F_QUIC_TX_CRYPTO;
	if (features & QUIC_OFFLOAD_FEATURE_GRO)
		f |= NETIF_F_QUIC_GRO;
	if (features & QUIC_OFFLOAD_FEATURE_RX_CRYPTO)
		f |= NETIF_F_QUIC_RX_CRYPTO;
#endif
	return f;
}

/**
 * mlx5e_qoff_build_netdev() - announce the switches, all off
 * @priv: its netdev is not registered yet
 */
void mlx5e_qoff_build_netdev(struct mlx5e_priv *priv)
{
	struct mlx5e_qoff_caps caps;

	if (mlx5e_qoff_cmd_caps(priv->mdev, &caps))
		return;
	priv->netdev->hw_features |=
		mlx5e_qoff_netdev_features(mlx5e_qoff_features(&caps));
}

/**
 * mlx5e_qoff_fix_features() - dependencies between the switches
 * @priv: the netdev
 * @features: wanted
 */
netdev_features_t mlx5e_qoff_fix_features(struct mlx5e_priv *priv,
					  netdev_features_t features)
{
#ifdef NETIF_F_QUIC_GSO
	if (!mlx5e_qoff_rx_possible(priv) || features & NETIF_F_GRO_HW)
		features &= ~(NETIF_F_QUIC_GRO | NETIF_F_QUIC_RX_CRYPTO);
#endif
	return qoff_fix_features(features);
}

/**
 * mlx5e_qoff_set_features() - the switches moved
 * @priv: the netdev
 * @features: as they are now
 *
 * Context: RTNL.
 */
void mlx5e_qoff_set_features(struct mlx5e_priv *priv, netdev_features_t features)
{
	struct mlx5e_qoff *qoff = rtnl_dereference(priv->qoff);
	u32 quic = qoff_features_from_netdev(features);
	int err;

	if (!qoff)
		return;
	/* Steering stands while the core may place flows */
	if (quic & MLX5E_QOFF_RX) {
		mutex_lock(&qoff->qd->lock);
		err = mlx5e_qoff_switch(qoff->qd, quic, NULL);
		mutex_unlock(&qoff->qd->lock);
		if (err)
			quic &= ~MLX5E_QOFF_RX;
	}
	qoff_dev_set_features(qoff->qd, quic);
	if (!(quic & MLX5E_QOFF_RX)) {
		mutex_lock(&qoff->qd->lock);
		mlx5e_qoff_switch(qoff->qd, quic, NULL);
		mutex_unlock(&qoff->qd->lock);
	}
}

static void mlx5e_qoff_fill_caps(struct mlx5e_qoff *qoff)
{
	const struct mlx5e_qoff_caps *caps = &qoff->caps;

	qoff->dev_caps = (struct qoff_dev_caps) {
		.features = mlx5e_qoff_features(caps),
		.tx_ciphers = caps->tx_ciphers,
		.rx_ciphers = caps->rx_ciphers,
		.dcid_lens = caps->dcid_lens,
		.max_segs = caps->max_segs,
		.max_bytes = caps->max_bytes,
		.max_ctx = caps->max_tx_ctx,
		.max_flow = caps->max_rx_ctx,
		.ctx_drv_size = max(sizeof(struct mlx5e_qoff_ctx),
				    sizeof(struct mlx5e_qoff_flow *)),
	};
}

/**
 * mlx5e_qoff_init() - register with the framework
 * @priv: the function works, its netdev carries no traffic
 *
 * Without the capability, or when registration fails, everything is done in
 * software over what the NIC has.
 *
 * Context: process.
 */
void mlx5e_qoff_init(struct mlx5e_priv *priv)
{
	struct mlx5e_qoff *qoff;
	struct qoff_dev *qd;

	qoff = kzalloc(sizeof(*qoff), GFP_KERNEL);
	if (!qoff)
		return;
	if (mlx5e_qoff_cmd_caps(priv->mdev, &qoff->caps))
		goto err_free;
	qoff->priv = priv;
	init_waitqueue_head(&qoff->key_wait);
	xa_init_flags(&qoff->flows, XA_FLAGS_ALLOC1);
	mlx5e_qoff_fill_caps(qoff);

	rtnl_lock();
	qd = qoff_dev_create(priv->netdev, &mlx5e_qoff_ops, &qoff->dev_caps, qoff);
	if (IS_ERR(qd)) {
		rtnl_unlock();
		mlx5_core_warn(priv->mdev, "QUIC offload not registered, %ld\n",
			       PTR_ERR(qd));
		goto err_free;
	}
	qoff->qd = qd;
	rcu_assign_pointer(priv->qoff, qoff);
	mlx5e_qoff_set_features(priv, priv->netdev->features);
	rtnl_unlock();
	return;

err_free:
	kfree(qoff);
}

/**
 * mlx5e_qoff_cleanup() - take everything back
 * @priv: its queues are closed
 *
 * Context: process.
 */
void mlx5e_qoff_cleanup(struct mlx5e_priv *priv)
{
	struct mlx5e_qoff *qoff;

	rtnl_lock();
	qoff = rcu_replace_pointer(priv->qoff, NULL, lockdep_rtnl_is_held());
	rtnl_unlock();
	if (!qoff)
		return;
	synchronize_net();
	qoff_dev_unregister(qoff->qd);
	if (qoff->fs)
		mlx5e_qoff_fs_destroy(priv, qoff->fs);
	WARN_ON(!xa_empty(&qoff->flows));
	xa_destroy(&qoff->flows);
	/* A completion that gave the last reference back may still look at @qoff */
	synchronize_net();
	kfree(qoff);
}

/* ethtool -S */

static const char mlx5e_qoff_cnt_names[MLX5E_QOFF_NCNT][ETH_GSTRING_LEN] = {
	[MLX5E_QOFF_TX_SUPER]		= "tx_quic_super_packets",
	[MLX5E_QOFF_TX_SEGS]		= "tx_quic_segments",
	[MLX5E_QOFF_TX_BYTES]		= "tx_quic_bytes",
	[MLX5E_QOFF_TX_REFUSED]		= "tx_quic_refused",
	[MLX5E_QOFF_TX_DROP_GUARD]	= "tx_quic_drop_guard",
	[MLX5E_QOFF_TX_DROP_STALE]	= "tx_quic_drop_stale",
	[MLX5E_QOFF_TX_DROP_FORM]	= "tx_quic_drop_form",
	[MLX5E_QOFF_TX_REVOKED]		= "tx_quic_revoked",
	[MLX5E_QOFF_RX_OPENED]		= "rx_quic_opened",
	[MLX5E_QOFF_RX_FAILED]		= "rx_quic_failed",
	[MLX5E_QOFF_RX_COALESCED]	= "rx_quic_coalesced",
	[MLX5E_QOFF_RX_DROP]		= "rx_quic_drop",
	[MLX5E_QOFF_CTX_ADD]		= "tx_quic_ctx_add",
	[MLX5E_QOFF_CTX_FAIL]		= "tx_quic_ctx_fail",
	[MLX5E_QOFF_FLOW_ADD]		= "rx_quic_flow_add",
	[MLX5E_QOFF_FLOW_FAIL]		= "rx_quic_flow_fail",
};

/* Context of all three: RTNL */

int mlx5e_qoff_get_count(struct mlx5e_priv *priv)
{
	return rcu_access_pointer(priv->qoff) ? MLX5E_QOFF_NCNT : 0;
}

void mlx5e_qoff_get_strings(struct mlx5e_priv *priv, u8 **data)
{
	int i;

	for (i = 0; i < mlx5e_qoff_get_count(priv); i++)
		ethtool_puts(data, mlx5e_qoff_cnt_names[i]);
}

void mlx5e_qoff_get_stats(struct mlx5e_priv *priv, u64 **data)
{
	struct mlx5e_qoff *qoff = rtnl_dereference(priv->qoff);
	int i;

	for (i = 0; i < mlx5e_qoff_get_count(priv); i++)
		mlx5e_ethtool_put_stat(data, atomic64_read(&qoff->cnt[i]));
}
