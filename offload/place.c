// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: contexts and flows inside devices.
 *
 * A placement belongs to one context or flow and one device. Everything in it
 * changes under the device's lock; the data path compares @dead, the device's
 * generation and the key slots locklessly.
 */

#include <linux/slab.h>

#include "ctl.h"
#include "trace.h"

static void qoff_place_key_params(struct qoff_key_params *kp,
				  const struct qoff_key *key)
{
	kp->phase = key->phase;
	kp->gen = key->gen;
	memcpy(kp->key, key->raw, sizeof(kp->key));
	memcpy(kp->iv, key->iv, sizeof(kp->iv));
}

/* Does the device hold anything of it that has to be taken back? */
static bool qoff_place_in_dev(const struct qoff_place *p)
{
	return p->qd->ops && p->dev_gen == READ_ONCE(p->qd->gen);
}

static void qoff_place_flush(struct qoff_place *p, unsigned int phase)
{
	struct qoff_key *key = p->slot[phase];
	struct qoff_dev *qd = p->qd;

	lockdep_assert_held(&qd->lock);
	if (!key)
		return;
	/* First no new packet may be built for the slot, then the driver waits
	 * for those that were.
	 */
	WRITE_ONCE(p->slot[phase], NULL);
	if (qoff_place_in_dev(p)) {
		if (p->is_flow)
			qd->ops->flow_key_flush(qd, p->drv, phase);
		else
			qd->ops->ctx_key_flush(qd, p->drv, phase);
	}
	qoff_key_put(key);
}

/* Take the placement out of the device; its memory stays for its references */
static void qoff_place_remove(struct qoff_place *p)
{
	struct qoff_dev *qd = p->qd;
	unsigned int i;

	lockdep_assert_held(&qd->lock);
	if (p->dead)
		return;
	WRITE_ONCE(p->dead, true);
	list_del(&p->node);
	for (i = 0; i < ARRAY_SIZE(p->slot); i++)
		qoff_place_flush(p, i);
	if (p->is_flow)
		qd->nflow--;
	else
		qd->nctx--;
	if (!qoff_place_in_dev(p)) {
		qoff_count(qoff_dev_stats(qd), QOFF_CNT_CTX_FAIL, 1);
		return;
	}
	if (p->is_flow)
		qd->ops->flow_del(qd, p->drv);
	else
		qd->ops->ctx_del(qd, p->drv);
	trace_qoff_place(qd, p->is_flow, false, 0);
}

static void qoff_place_free_work(struct work_struct *work)
{
	struct qoff_place *p = container_of(work, struct qoff_place, work);
	struct qoff_dev *qd = p->qd;

	mutex_lock(&qd->lock);
	qoff_place_remove(p);
	mutex_unlock(&qd->lock);
	memzero_explicit(p->drv, qd->caps->ctx_drv_size);
	kfree_rcu(p, rcu);
	qoff_dev_put(qd);
}

/* Context: any. The last one takes it out of the device. */
void qoff_place_put(struct qoff_place *p)
{
	if (refcount_dec_and_test(&p->ref))
		queue_work(qoff_wq, &p->work);
}

/**
 * qoff_place_kill() - take a placement out of its device now
 * @p: the placement; the owner's reference is dropped
 *
 * For flows. A context waits for its packets in flight: qoff_place_put().
 * Context: process.
 */
void qoff_place_kill(struct qoff_place *p)
{
	mutex_lock(&p->qd->lock);
	qoff_place_remove(p);
	mutex_unlock(&p->qd->lock);
	qoff_place_put(p);
}

/**
 * qoff_places_kill_all() - the device goes, or goes down
 * @qd: the device
 *
 * The owners find out by themselves and are placed again from
 * qoff_refresh_kick().
 * Context: qd->lock held.
 */
void qoff_places_kill_all(struct qoff_dev *qd)
{
	struct qoff_place *p, *tmp;

	lockdep_assert_held(&qd->lock);
	list_for_each_entry_safe(p, tmp, &qd->ctxs, node)
		qoff_place_remove(p);
}

/**
 * qoff_places_lost() - forget what the device lost in a reset
 * @qd: the device
 *
 * Context: qd->lock held.
 */
void qoff_places_lost(struct qoff_dev *qd)
{
	struct qoff_place *p, *tmp;

	lockdep_assert_held(&qd->lock);
	list_for_each_entry_safe(p, tmp, &qd->ctxs, node)
		if (p->dev_gen != READ_ONCE(qd->gen))
			qoff_place_remove(p);
}

static struct qoff_place *qoff_place_alloc(struct qoff_dev *qd)
{
	struct qoff_place *p;

	p = kzalloc(struct_size(p, drv, qd->caps->ctx_drv_size),
		    QOFF_GFP);
	if (!p)
		return NULL;
	if (!qoff_dev_hold(qd)) {
		kfree(p);
		return NULL;
	}
	p->qd = qd;
	refcount_set(&p->ref, 1);
	INIT_WORK(&p->work, qoff_place_free_work);
	return p;
}

/* Registered, up, and in this namespace? The last two cannot change to "no"
 * without a notifier that takes qd->lock afterwards.
 */
static bool qoff_place_possible(struct qoff_dev *qd, const struct net *net)
{
	struct net_device *netdev;
	bool ok;

	lockdep_assert_held(&qd->lock);
	if (!qd->ops)
		return false;
	rcu_read_lock();
	netdev = rcu_dereference(qd->netdev);
	ok = netdev && netif_running(netdev) && net_eq(dev_net(netdev), net);
	rcu_read_unlock();
	return ok;
}

static bool qoff_place_dcid_ok(const struct qoff_dev *qd, u8 dcid_len)
{
	return qd->caps->dcid_lens & BIT(dcid_len);
}

static int qoff_place_ctx_add(struct qoff_place *p, struct net *net,
			      const struct qoff_ctx *ctx)
{
	struct qoff_dev *qd = p->qd;
	struct qoff_ctx_params cp = {};
	int err;

	lockdep_assert_held(&qd->lock);
	if (!qoff_place_possible(qd, net) ||
	    !(qd->features & QUIC_OFFLOAD_FEATURE_TX_CRYPTO))
		return -ENODEV;
	qoff_places_lost(qd);
	if (!(qd->caps->tx_ciphers & BIT(ctx->cipher)) ||
	    !qoff_place_dcid_ok(qd, ctx->dcid_len))
		return -EOPNOTSUPP;
	if (qd->nctx >= qd->caps->max_ctx)
		return -ENOSPC;
	cp.cipher = ctx->cipher;
	cp.dcid_len = ctx->dcid_len;
	memcpy(cp.hp_key, ctx->hp->raw, sizeof(cp.hp_key));
	p->dev_gen = READ_ONCE(qd->gen);
	err = qd->ops->ctx_add(qd, &cp, p->drv);
	memzero_explicit(&cp, sizeof(cp));
	if (!err)
		qd->nctx++;
	return err;
}

static int qoff_place_flow_add(struct qoff_place *p, struct net *net,
			       const struct qoff_flow_params *fp)
{
	struct qoff_dev *qd = p->qd;
	int err;

	lockdep_assert_held(&qd->lock);
	if (!qoff_place_possible(qd, net) ||
	    !(qd->features & (QUIC_OFFLOAD_FEATURE_GRO |
			      QUIC_OFFLOAD_FEATURE_RX_CRYPTO)))
		return -ENODEV;
	qoff_places_lost(qd);
	if (!qoff_place_dcid_ok(qd, fp->key.dcid_len))
		return -EOPNOTSUPP;
	if (qd->nflow >= qd->caps->max_flow)
		return -ENOSPC;
	p->dev_gen = READ_ONCE(qd->gen);
	err = qd->ops->flow_add(qd, fp, p->drv);
	if (!err)
		qd->nflow++;
	return err;
}

/* What a device cannot or will not take is done in software, and counted */
static void qoff_place_result(struct qoff_place *p, int err)
{
	struct qoff_dev *qd = p->qd;

	lockdep_assert_held(&qd->lock);
	if (!err)
		list_add_tail(&p->node, &qd->ctxs);
	else
		p->dead = true;
	if (err != -ENODEV)
		qoff_count(qoff_dev_stats(qd),
			   err ? QOFF_CNT_CTX_FAIL : QOFF_CNT_CTX_ADD, 1);
	trace_qoff_place(qd, p->is_flow, true, err);
}

/**
 * qoff_place_ctx() - put a context into a device, without keys
 * @qd: the device
 * @net: namespace of the context
 * @ctx: the context
 *
 * Context: process, the group's lock held.
 * Return: the placement, the owner's reference; NULL when it cannot be there.
 */
struct qoff_place *qoff_place_ctx(struct qoff_dev *qd, struct net *net,
				  const struct qoff_ctx *ctx)
{
	struct qoff_place *p;
	int err;

	lockdep_assert_held(&ctx->group->lock);
	p = qoff_place_alloc(qd);
	if (!p)
		return NULL;
	p->cipher = ctx->cipher;
	mutex_lock(&qd->lock);
	err = qoff_place_ctx_add(p, net, ctx);
	qoff_place_result(p, err);
	mutex_unlock(&qd->lock);
	if (!err)
		return p;
	qoff_place_put(p);
	return NULL;
}

/**
 * qoff_place_flow() - put a flow into a device, without keys
 * @qd: the device
 * @net: namespace of the flow
 * @fp: the flow as the driver is given it
 *
 * Context: process, the group's lock held.
 * Return: the placement, the owner's reference; NULL when it cannot be there.
 */
struct qoff_place *qoff_place_flow(struct qoff_dev *qd, struct net *net,
				   const struct qoff_flow_params *fp)
{
	struct qoff_place *p;
	int err;

	p = qoff_place_alloc(qd);
	if (!p)
		return NULL;
	p->is_flow = true;
	p->cipher = fp->cipher;
	mutex_lock(&qd->lock);
	err = qoff_place_flow_add(p, net, fp);
	qoff_place_result(p, err);
	mutex_unlock(&qd->lock);
	if (!err)
		return p;
	qoff_place_put(p);
	return NULL;
}

/**
 * qoff_place_key() - change the key in a slot of a placement
 * @p: the placement
 * @phase: the slot
 * @key: key to load, NULL: empty the slot
 *
 * An old key is flushed first: the driver waits until no descriptor uses it.
 * Context: process, the owning group's lock held.
 * Return: 0, or an errno; then the slot is empty.
 */
int qoff_place_key(struct qoff_place *p, u8 phase, struct qoff_key *key)
{
	struct qoff_dev *qd = p->qd;
	struct qoff_key_params kp;
	int err = 0;

	mutex_lock(&qd->lock);
	qoff_place_flush(p, phase);
	if (!key)
		goto out;
	if (p->dead || !qoff_place_in_dev(p)) {
		err = -ENODEV;
		goto out;
	}
	qoff_place_key_params(&kp, key);
	if (p->is_flow)
		err = qd->ops->flow_key_add(qd, p->drv, &kp);
	else
		err = qd->ops->ctx_key_add(qd, p->drv, &kp);
	memzero_explicit(&kp, sizeof(kp));
	if (err) {
		qoff_count(qoff_dev_stats(qd), QOFF_CNT_CTX_FAIL, 1);
		goto out;
	}
	refcount_inc(&key->ref);
	WRITE_ONCE(p->slot[phase], key);
out:
	mutex_unlock(&qd->lock);
	return err;
}
