// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: the device's tables of contexts and flows, and the callbacks by
 * which the framework fills them.
 *
 * DOC: tables
 *
 * A table entry is the device's own; the driver bytes inside a core object hold
 * an index and a generation, so that an entry which the device lost (a fault, a
 * reset) is told from its successor, and nothing here points into memory of the
 * core.
 *
 * Contexts: ndo_start_xmit looks an entry up under RCU and takes a reference on
 * the key that its descriptor needs, so the device thread never looks at the
 * table. A flush empties the slot, passes through each transmit queue's lock
 * (after which no ndo_start_xmit can still find the key), and waits until the
 * descriptors have given their references back.
 *
 * Flows: flow_lock covers the table and all that the receiving thread does with
 * an entry, so that nothing is opened with a flow or key once its deletion has
 * returned.
 *
 * Lock order: qoff_dev.lock (the core's, around callbacks), tab_lock or
 * flow_lock; reg_lock is outside all.
 */
#include <linux/jhash.h>
#include <linux/moduleparam.h>

#include "quicsim.h"

static unsigned int max_ctx = 1024;
module_param(max_ctx, uint, 0644);
MODULE_PARM_DESC(max_ctx, "transmit contexts that a new port holds");

static unsigned int max_flow = 1024;
module_param(max_flow, uint, 0644);
MODULE_PARM_DESC(max_flow, "receive flows that a new port holds");

#define QSIM_MAX_TABLE	65536

static struct qsim_port *qsim_qd_port(struct qoff_dev *qd)
{
	return qd->drv_priv;
}

static bool qsim_refused(struct qsim_port *port, u32 fault)
{
	if (likely(!fault))
		return false;
	qsim_count(port, QSIM_FLT_REFUSED, 1);
	return true;
}

static u32 qsim_table_limit(struct qsim_port *port, u32 max)
{
	return min(READ_ONCE(port->flt.table_limit) ?: max, max);
}

static int qsim_fault_errno(u32 fault)
{
	return -clamp_t(int, fault, 1, MAX_ERRNO);
}

/* Contexts */

static struct qsim_ctx *qsim_ctx_get(struct qsim_port *port,
				     const struct qsim_handle *h)
{
	struct qsim_ctx *ctx;

	lockdep_assert_held(&port->tab_lock);
	ctx = rcu_dereference_protected(port->ctx[h->idx],
					lockdep_is_held(&port->tab_lock));
	return ctx && ctx->gen == h->gen ? ctx : NULL;
}

static int qsim_ctx_add(struct qoff_dev *qd, const struct qoff_ctx_params *p,
			void *drv)
{
	struct qsim_port *port = qsim_qd_port(qd);
	struct qsim_handle *h = drv;
	struct qsim_ctx *ctx;
	int err = -ENOSPC;

	if (qsim_refused(port, READ_ONCE(port->flt.refuse_ctx)))
		return qsim_fault_errno(port->flt.refuse_ctx);
	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	if (!ctx)
		return -ENOMEM;
	ctx->dcid_len = p->dcid_len;
	ctx->hp = qsim_hp_alloc(p->cipher, p->hp_key);
	if (IS_ERR(ctx->hp)) {
		err = PTR_ERR(ctx->hp);
		goto err_free;
	}

	mutex_lock(&port->tab_lock);
	if (port->nctx >= qsim_table_limit(port, port->max_ctx))
		goto err_unlock;
	for (h->idx = 0; rcu_access_pointer(port->ctx[h->idx]); h->idx++)
		;
	h->gen = atomic_inc_return(&port->next_gen);
	ctx->gen = h->gen;
	port->nctx++;
	qsim_count(port, QSIM_CTX, 1);
	rcu_assign_pointer(port->ctx[h->idx], ctx);
	mutex_unlock(&port->tab_lock);
	return 0;

err_unlock:
	mutex_unlock(&port->tab_lock);
	qsim_hp_put(ctx->hp);
err_free:
	kfree(ctx);
	return err;
}

/**
 * qsim_tx_key_get() - the key that a descriptor needs
 * @port: the port
 * @h: driver bytes of its context
 * @phase: slot
 *
 * Context: ndo_start_xmit, RCU.
 * Return: a reference, NULL when the device has lost it.
 */
struct qsim_key *qsim_tx_key_get(struct qsim_port *port,
				 const struct qsim_handle *h, u8 phase)
{
	struct qsim_ctx *ctx;
	struct qsim_key *key;

	ctx = rcu_dereference(port->ctx[h->idx]);
	if (!ctx || ctx->gen != h->gen)
		return NULL;
	key = rcu_dereference(ctx->key[phase & 1]);
	if (qsim_broken(port, QSIM_BROKEN_KEY))
		key = rcu_dereference(ctx->key[!(phase & 1)]) ?: key;
	if (!key || !refcount_inc_not_zero(&key->ref))
		return NULL;
	return key;
}

/* Context: process */
void qsim_tx_key_put(struct qsim_port *port, struct qsim_key *key)
{
	if (refcount_dec_and_test(&key->ref)) {
		qsim_key_free(key);
		return;
	}
	if (wq_has_sleeper(&port->key_wait))
		wake_up(&port->key_wait);
}

/* Whoever runs ndo_start_xmit now has left it when this returns */
static void qsim_sync_queues(struct qsim_port *port)
{
	struct netdev_queue *nq;
	unsigned int q;

	for (q = 0; q < port->nq; q++) {
		nq = netdev_get_tx_queue(port->netdev, q);
		__netif_tx_lock_bh(nq);
		__netif_tx_unlock_bh(nq);
	}
}

/* @key is out of its slot. A device that does not come back in bounded time
 * is revoked: descriptors that it may still hold complete as errors. The key's
 * memory outlives them.
 */
static void qsim_key_drain(struct qsim_port *port, struct qsim_key *key)
{
	qsim_sync_queues(port);
	if (qsim_broken(port, QSIM_BROKEN_DRAIN))
		WRITE_ONCE(key->dead, true);
	else if (!wait_event_idle_timeout(port->key_wait,
					  refcount_read(&key->ref) == 1,
					  QSIM_FLUSH_TIMEOUT))
		WRITE_ONCE(key->dead, true);
	qsim_tx_key_put(port, key);
}

static int qsim_ctx_key_add(struct qoff_dev *qd, void *drv,
			    const struct qoff_key_params *k)
{
	struct qsim_port *port = qsim_qd_port(qd);
	struct qsim_key *key;
	struct qsim_ctx *ctx;
	int err = 0;

	if (qsim_refused(port, READ_ONCE(port->flt.refuse_key)))
		return qsim_fault_errno(port->flt.refuse_key);
	mutex_lock(&port->tab_lock);
	ctx = qsim_ctx_get(port, drv);
	if (!ctx) {
		err = -ENOENT;
	} else if (rcu_access_pointer(ctx->key[k->phase & 1])) {
		err = -EBUSY;
	} else {
		key = qsim_key_alloc(ctx->hp, k);
		if (IS_ERR(key))
			err = PTR_ERR(key);
		else
			rcu_assign_pointer(ctx->key[k->phase & 1], key);
	}
	mutex_unlock(&port->tab_lock);
	return err;
}

static void qsim_ctx_key_flush(struct qoff_dev *qd, void *drv, u8 phase)
{
	struct qsim_port *port = qsim_qd_port(qd);
	struct qsim_key *key = NULL;
	struct qsim_ctx *ctx;

	mutex_lock(&port->tab_lock);
	ctx = qsim_ctx_get(port, drv);
	if (ctx)
		key = rcu_replace_pointer(ctx->key[phase & 1], NULL,
					  lockdep_is_held(&port->tab_lock));
	mutex_unlock(&port->tab_lock);
	if (key)
		qsim_key_drain(port, key);
}

static struct qsim_ctx *qsim_ctx_unlink(struct qsim_port *port, u32 idx)
{
	struct qsim_ctx *ctx;

	ctx = rcu_replace_pointer(port->ctx[idx], NULL,
				  lockdep_is_held(&port->tab_lock));
	if (ctx) {
		port->nctx--;
		qsim_count(port, QSIM_CTX, -1);
	}
	return ctx;
}

static void qsim_ctx_del(struct qoff_dev *qd, void *drv)
{
	struct qsim_port *port = qsim_qd_port(qd);
	struct qsim_handle *h = drv;
	struct qsim_ctx *ctx;

	qsim_ctx_key_flush(qd, drv, 0);
	qsim_ctx_key_flush(qd, drv, 1);
	mutex_lock(&port->tab_lock);
	ctx = qsim_ctx_get(port, h) ? qsim_ctx_unlink(port, h->idx) : NULL;
	mutex_unlock(&port->tab_lock);
	if (!ctx)
		return;
	qsim_hp_put(ctx->hp);
	kfree_rcu(ctx, rcu);
}

/* Flows */

static struct hlist_head *qsim_bucket(struct qsim_port *port,
				      const struct qoff_flow_key *k)
{
	u32 hash;

	/* by 4-tuple only: the DCID's length is known once a flow is found */
	hash = jhash(&k->local, 2 * sizeof(k->local),
		     (__force u32)k->local_port << 16 |
		     (__force u32)k->remote_port);
	return &port->flows[hash % QSIM_FLOW_BUCKETS];
}

/**
 * qsim_flow_match() - find the flow of a short-header packet
 * @port: the port
 * @tuple: addresses and ports
 * @pkt: UDP payload
 * @len: its bytes
 *
 * Context: flow_lock.
 */
struct qsim_flow *qsim_flow_match(struct qsim_port *port,
				  const struct qoff_flow_key *tuple,
				  const u8 *pkt, unsigned int len)
{
	const struct qoff_flow_key *k;
	struct qsim_flow *flow;

	lockdep_assert_held(&port->flow_lock);
	hlist_for_each_entry(flow, qsim_bucket(port, tuple), node) {
		k = &flow->key;
		if (k->family != tuple->family ||
		    k->local_port != tuple->local_port ||
		    k->remote_port != tuple->remote_port ||
		    memcmp(&k->local, &tuple->local, 2 * sizeof(k->local)))
			continue;
		if (len > k->dcid_len &&
		    (!memcmp(pkt + 1, k->dcid, k->dcid_len) ||
		     qsim_broken(port, QSIM_BROKEN_DCID)))
			return flow;
	}
	return NULL;
}

static struct qsim_flow *qsim_flow_get(struct qsim_port *port,
				       const struct qsim_handle *h)
{
	struct qsim_flow *flow;

	lockdep_assert_held(&port->flow_lock);
	flow = port->flow[h->idx];
	return flow && flow->gen == h->gen ? flow : NULL;
}

static int qsim_flow_add(struct qoff_dev *qd, const struct qoff_flow_params *p,
			 void *drv)
{
	struct qsim_port *port = qsim_qd_port(qd);
	struct qsim_handle *h = drv;
	struct qsim_flow *flow;
	int err = -ENOSPC;

	if (qsim_refused(port, READ_ONCE(port->flt.refuse_flow)))
		return qsim_fault_errno(port->flt.refuse_flow);
	flow = kzalloc(sizeof(*flow), GFP_KERNEL);
	if (!flow)
		return -ENOMEM;
	flow->id = p->id;
	flow->key = p->key;
	flow->next_pn = p->next_pn;
	if (p->cipher) {
		flow->hp = qsim_hp_alloc(p->cipher, p->hp_key);
		if (IS_ERR(flow->hp)) {
			err = PTR_ERR(flow->hp);
			goto err_free;
		}
	}

	mutex_lock(&port->flow_lock);
	if (port->nflow >= qsim_table_limit(port, port->max_flow))
		goto err_unlock;
	for (h->idx = 0; port->flow[h->idx]; h->idx++)
		;
	h->gen = atomic_inc_return(&port->next_gen);
	flow->gen = h->gen;
	port->flow[h->idx] = flow;
	WRITE_ONCE(port->nflow, port->nflow + 1);
	qsim_count(port, QSIM_FLOW, 1);
	hlist_add_head(&flow->node, qsim_bucket(port, &flow->key));
	mutex_unlock(&port->flow_lock);
	return 0;

err_unlock:
	mutex_unlock(&port->flow_lock);
	qsim_hp_put(flow->hp);
err_free:
	kfree(flow);
	return err;
}

static int qsim_flow_key_add(struct qoff_dev *qd, void *drv,
			     const struct qoff_key_params *k)
{
	struct qsim_port *port = qsim_qd_port(qd);
	struct qsim_flow *flow;
	struct qsim_key *key;
	int err = 0;

	if (qsim_refused(port, READ_ONCE(port->flt.refuse_key)))
		return qsim_fault_errno(port->flt.refuse_key);
	mutex_lock(&port->flow_lock);
	flow = qsim_flow_get(port, drv);
	if (!flow) {
		err = -ENOENT;
	} else if (!flow->hp) {
		err = -EOPNOTSUPP;
	} else if (flow->slot[k->phase & 1]) {
		err = -EBUSY;
	} else {
		key = qsim_key_alloc(flow->hp, k);
		if (IS_ERR(key))
			err = PTR_ERR(key);
		else
			flow->slot[k->phase & 1] = key;
	}
	mutex_unlock(&port->flow_lock);
	return err;
}

static void qsim_flow_slot_empty(struct qsim_flow *flow, u8 phase)
{
	struct qsim_key *key = flow->slot[phase & 1];

	flow->slot[phase & 1] = NULL;
	if (key && refcount_dec_and_test(&key->ref))
		qsim_key_free(key);
}

static void qsim_flow_key_flush(struct qoff_dev *qd, void *drv, u8 phase)
{
	struct qsim_port *port = qsim_qd_port(qd);
	struct qsim_flow *flow;

	mutex_lock(&port->flow_lock);
	flow = qsim_flow_get(port, drv);
	if (flow)
		qsim_flow_slot_empty(flow, phase);
	mutex_unlock(&port->flow_lock);
}

static void qsim_flow_free(struct qsim_port *port, u32 idx)
{
	struct qsim_flow *flow = port->flow[idx];

	if (!flow)
		return;
	port->flow[idx] = NULL;
	WRITE_ONCE(port->nflow, port->nflow - 1);
	qsim_count(port, QSIM_FLOW, -1);
	hlist_del(&flow->node);
	qsim_flow_slot_empty(flow, 0);
	qsim_flow_slot_empty(flow, 1);
	qsim_hp_put(flow->hp);
	kfree(flow);
}

static void qsim_flow_del(struct qoff_dev *qd, void *drv)
{
	struct qsim_port *port = qsim_qd_port(qd);
	struct qsim_handle *h = drv;

	if (qsim_broken(port, QSIM_BROKEN_FLOW))
		return;
	mutex_lock(&port->flow_lock);
	if (qsim_flow_get(port, h))
		qsim_flow_free(port, h->idx);
	mutex_unlock(&port->flow_lock);
}

/* Device */

static int qsim_set_features(struct qoff_dev *qd, u32 features,
			     struct netlink_ext_ack *extack)
{
	WRITE_ONCE(qsim_qd_port(qd)->features, features);
	return 0;
}

static void qsim_get_stats(struct qoff_dev *qd, struct qoff_dev_stats *stats)
{
	struct qsim_port *port = qsim_qd_port(qd);

	if (qsim_broken(port, QSIM_BROKEN_STATS))
		return;
	stats->tx_super = atomic64_read(&port->cnt[QSIM_TX_SUPER]);
	stats->tx_segs = atomic64_read(&port->cnt[QSIM_TX_SEALED]) +
			 atomic64_read(&port->cnt[QSIM_TX_RAW_SEGS]);
	stats->tx_bytes = atomic64_read(&port->cnt[QSIM_TX_SUPER_BYTES]);
	stats->tx_err = atomic64_read(&port->cnt[QSIM_TX_ERR]);
	stats->rx_opened = atomic64_read(&port->cnt[QSIM_RX_OPENED]);
	stats->rx_failed = atomic64_read(&port->cnt[QSIM_RX_FAILED]);
	stats->rx_coalesced = atomic64_read(&port->cnt[QSIM_RX_COALESCED]);
}

static const struct qoff_dev_ops qsim_qoff_ops = {
	.ctx_add	= qsim_ctx_add,
	.ctx_del	= qsim_ctx_del,
	.ctx_key_add	= qsim_ctx_key_add,
	.ctx_key_flush	= qsim_ctx_key_flush,
	.flow_add	= qsim_flow_add,
	.flow_del	= qsim_flow_del,
	.flow_key_add	= qsim_flow_key_add,
	.flow_key_flush	= qsim_flow_key_flush,
	.set_features	= qsim_set_features,
	.get_stats	= qsim_get_stats,
};

/**
 * qsim_qoff_register() - give the device to the core
 * @port: the port; the ethtool switches keep their positions
 *
 * Context: process, RTNL.
 */
int qsim_qoff_register(struct qsim_port *port)
{
	struct qoff_dev *qd;
	int err = 0;
	u32 quic;

	mutex_lock(&port->reg_lock);
	if (!rcu_access_pointer(port->qd)) {
		qd = qoff_dev_create(port->netdev, &qsim_qoff_ops, &port->caps,
				     port);
		if (IS_ERR(qd)) {
			err = PTR_ERR(qd);
			goto unlock;
		}
		rcu_assign_pointer(port->qd, qd);
		quic = qoff_features_from_netdev(port->netdev->features);
		WRITE_ONCE(port->features, quic);
		qoff_dev_set_features(qd, quic);
	}
unlock:
	mutex_unlock(&port->reg_lock);
	return err;
}

/* Contexts and flows go back to the core. What is still on its way to the
 * device is dropped: the pointer goes first.
 */
void qsim_qoff_unregister(struct qsim_port *port)
{
	struct qoff_dev *qd;

	mutex_lock(&port->reg_lock);
	qd = rcu_replace_pointer(port->qd, NULL,
				 lockdep_is_held(&port->reg_lock));
	if (qd) {
		synchronize_net();
		qoff_dev_unregister(qd);
	}
	mutex_unlock(&port->reg_lock);
}

/**
 * qsim_tables_lose() - the device forgets all contexts and flows
 * @port: the port
 *
 * Without a word to the core, which is the fault; descriptors that need one
 * complete as errors.
 */
void qsim_tables_lose(struct qsim_port *port)
{
	struct qsim_ctx *ctx;
	struct qsim_key *key;
	u32 i, lost = 0;
	int phase;

	mutex_lock(&port->tab_lock);
	for (i = 0; i < port->max_ctx; i++) {
		ctx = qsim_ctx_unlink(port, i);
		if (!ctx)
			continue;
		lost++;
		for (phase = 0; phase < 2; phase++) {
			key = rcu_replace_pointer(ctx->key[phase], NULL,
						  lockdep_is_held(&port->tab_lock));
			if (!key)
				continue;
			WRITE_ONCE(key->dead, true);
			qsim_tx_key_put(port, key);
		}
		qsim_hp_put(ctx->hp);
		kfree_rcu(ctx, rcu);
	}
	mutex_unlock(&port->tab_lock);

	mutex_lock(&port->flow_lock);
	lost += port->nflow;
	for (i = 0; i < port->max_flow; i++)
		qsim_flow_free(port, i);
	mutex_unlock(&port->flow_lock);
	qsim_count(port, QSIM_FLT_LOST, lost);
}

void qsim_qoff_reset(struct qsim_port *port)
{
	struct qoff_dev *qd;

	qsim_count(port, QSIM_FLT_RESET, 1);
	qsim_tables_lose(port);
	mutex_lock(&port->reg_lock);
	qd = rcu_dereference_protected(port->qd,
				       lockdep_is_held(&port->reg_lock));
	if (qd)
		qoff_dev_reset(qd);
	mutex_unlock(&port->reg_lock);
}

int qsim_tables_init(struct qsim_port *port)
{
	port->max_ctx = clamp(max_ctx, 1U, QSIM_MAX_TABLE);
	port->max_flow = clamp(max_flow, 1U, QSIM_MAX_TABLE);
	port->ctx = kvcalloc(port->max_ctx, sizeof(*port->ctx), GFP_KERNEL);
	port->flow = kvcalloc(port->max_flow, sizeof(*port->flow), GFP_KERNEL);
	port->flows = kvcalloc(QSIM_FLOW_BUCKETS, sizeof(*port->flows),
			       GFP_KERNEL);
	if (!port->ctx || !port->flow || !port->flows)
		return -ENOMEM;

	port->caps = (struct qoff_dev_caps) {
		.features = QUIC_OFFLOAD_FEATURE_GSO |
			    QUIC_OFFLOAD_FEATURE_GRO |
			    QUIC_OFFLOAD_FEATURE_TX_CRYPTO |
			    QUIC_OFFLOAD_FEATURE_RX_CRYPTO,
		.tx_ciphers = qsim_ciphers(),
		.rx_ciphers = qsim_ciphers(),
		.dcid_lens = GENMASK(QOFF_MAX_DCID, 0),
		.max_segs = QOFF_MAX_SEGS,
		.max_bytes = 65507,
		.max_ctx = port->max_ctx,
		.max_flow = port->max_flow,
		.ctx_drv_size = sizeof(struct qsim_handle),
	};
	return 0;
}

/* The core has taken everything back, and what a reset lost is gone as well */
void qsim_tables_free(struct qsim_port *port)
{
	if (port->ctx && port->flow && port->flows)
		WARN_ON(port->nctx || port->nflow);
	kvfree(port->flows);
	kvfree(port->flow);
	kvfree(port->ctx);
}
