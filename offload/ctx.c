// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: transmit contexts, admission of packet numbers, key update.
 *
 * Admission is what keeps one packet number from getting two contents: under
 * &qoff_ctx.lock the numbers of a send must lie above all earlier ones, and its
 * key must not be older than the last one.
 */

#include <kunit/visibility.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "ctl.h"
#include "trace.h"

/* The data path asks for a move at most this often */
#define QOFF_CTX_RETRY	HZ

static void qoff_revoke_fn(struct work_struct *work);

static LIST_HEAD(qoff_retired);
static DEFINE_SPINLOCK(qoff_retired_lock); /* protects qoff_retired */
static DECLARE_DELAYED_WORK(qoff_revoke_work, qoff_revoke_fn);

/* Oldest first, so the first that is too young ends the pass */
static void qoff_revoke_fn(struct work_struct *work)
{
	struct qoff_key *key, *tmp;
	unsigned long due, now;

	spin_lock_bh(&qoff_retired_lock);
	list_for_each_entry_safe(key, tmp, &qoff_retired, retired) {
		now = jiffies;
		due = key->retired_at + QOFF_REVOKE_TIME;
		if (time_before(now, due)) {
			mod_delayed_work(qoff_wq, &qoff_revoke_work, due - now);
			break;
		}
		WRITE_ONCE(key->revoked, true);
		list_del_init(&key->retired);
	}
	spin_unlock_bh(&qoff_retired_lock);
}

/* Context: any. The slot's reference is dropped. */
void qoff_key_retire(struct qoff_key *key)
{
	spin_lock_bh(&qoff_retired_lock);
	key->retired_at = jiffies | 1;
	list_add_tail(&key->retired, &qoff_retired);
	spin_unlock_bh(&qoff_retired_lock);
	queue_delayed_work(qoff_wq, &qoff_revoke_work, QOFF_REVOKE_TIME);
	qoff_key_put(key);
}

/* The list has no reference: a key leaves it before it is freed */
void qoff_key_forget(struct qoff_key *key)
{
	spin_lock_bh(&qoff_retired_lock);
	list_del_init(&key->retired);
	spin_unlock_bh(&qoff_retired_lock);
}

void qoff_ctx_exit(void)
{
	cancel_delayed_work_sync(&qoff_revoke_work);
}

static struct qoff_key *qoff_ctx_slot(const struct qoff_ctx *ctx,
				      unsigned int phase)
{
	return rcu_dereference_protected(ctx->slot[phase],
					 lockdep_is_held(&ctx->group->lock));
}

/* The key that was installed last; a live context has one */
struct qoff_key *qoff_ctx_newest(const struct qoff_ctx *ctx)
{
	struct qoff_key *a = qoff_ctx_slot(ctx, 0);
	struct qoff_key *b = qoff_ctx_slot(ctx, 1);

	if (!a || !b)
		return a ?: b;
	return a->gen > b->gen ? a : b;
}

static void qoff_ctx_free_rcu(struct rcu_head *rcu)
{
	struct qoff_ctx *ctx = container_of(rcu, struct qoff_ctx, rcu);

	if (ctx->want)
		qoff_dev_put(ctx->want);
	kfree(ctx);
}

/* Process context */
static void qoff_ctx_put(struct qoff_ctx *ctx)
{
	if (!refcount_dec_and_test(&ctx->ref))
		return;
	qoff_hp_put(ctx->hp);
	qoff_group_put(ctx->group);
	call_rcu(&ctx->rcu, qoff_ctx_free_rcu);
}

/**
 * qoff_ctx_lookup() - find a context
 * @g: its group
 * @id: index
 * @gen: generation
 *
 * Context: RCU read side.
 * Return: the context; -ENOENT: no such index; -ESTALE: other generation.
 */
struct qoff_ctx *qoff_ctx_lookup(struct qoff_group *g, u32 id, u32 gen)
{
	struct qoff_ctx *ctx = xa_load(&g->ctxs, id);

	if (!ctx)
		return ERR_PTR(-ENOENT);
	if (ctx->gen != gen)
		return ERR_PTR(-ESTALE);
	return ctx;
}

/* What admission checks, in the order of the errors */
static int qoff_ctx_check(const struct qoff_ctx *ctx,
			  const struct qoff_key *key, u64 first, unsigned int n,
			  u64 limit)
{
	lockdep_assert_held(&ctx->lock);
	if (ctx->dead || first < ctx->next_pn)
		return -ESTALE;
	if (key->gen < ctx->cur)
		return -EINVAL;
	if (rcu_access_pointer(ctx->slot[key->phase]) != key)
		return -EAGAIN;
	if (n > limit - key->used)
		return -EKEYEXPIRED;
	return 0;
}

/**
 * qoff_ctx_admit() - the one atomic step of a send
 * @ctx: the context
 * @key: key that the packets will be sealed with
 * @first: first packet number
 * @last: last packet number
 * @n: packets
 *
 * After success these numbers are used up whatever happens to the packets.
 * The event near the AEAD limit leaves from here, once for each key.
 *
 * Context: any, RCU read side; the socket is open.
 * Return: 0; -ESTALE: @first is below the next number, or the context is dead;
 * -EINVAL: @key is older than the last admitted; -EKEYEXPIRED: AEAD limit;
 * -EAGAIN: the slot got another key meanwhile.
 */
int qoff_ctx_admit(struct qoff_ctx *ctx, struct qoff_key *key, u64 first,
		   u64 last, unsigned int n)
{
	u64 limit = qoff_cipher_info(ctx->cipher)->seal_limit;
	bool warn = false;
	u64 used = 0;
	int err;

	spin_lock_bh(&ctx->lock);
	err = qoff_ctx_check(ctx, key, first, n, limit);
	if (!err) {
		if (ctx->cur != key->gen)
			ctx->warned = false;
		ctx->cur = key->gen;
		ctx->next_pn = last + 1;
		key->used += n;
		used = key->used;
		if (!ctx->warned && used >= limit - limit / 8) {
			ctx->warned = true;
			warn = true;
		}
	}
	spin_unlock_bh(&ctx->lock);
	if (warn && !qoff_nl_key_limit(ctx->group->net, ctx->group->id,
				       QUIC_OFFLOAD_DIRECTION_TX, ctx->id,
				       used, limit))
		WRITE_ONCE(ctx->warned, false);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(qoff_ctx_admit);

/* Ask for the context to be moved into @qd. Whoever changes @want from NULL
 * queues the work, and only the work changes it back; the work has a reference.
 * A context that is being freed gives up @want in its RCU callback.
 */
static void qoff_ctx_want(struct qoff_ctx *ctx, struct qoff_dev *qd)
{
	if (time_before(jiffies, READ_ONCE(ctx->retry_at)) ||
	    READ_ONCE(ctx->want))
		return;
	WRITE_ONCE(ctx->retry_at, jiffies + QOFF_CTX_RETRY);
	if (!qoff_dev_hold(qd))
		return;
	if (cmpxchg(&ctx->want, NULL, qd)) {
		qoff_dev_put(qd);
		return;
	}
	if (refcount_inc_not_zero(&ctx->ref))
		queue_work(qoff_wq, &ctx->place_work);
}

/**
 * qoff_ctx_place_get() - may a device seal this send?
 * @ctx: the context
 * @qd: the device it would leave through
 * @key: key of the send
 *
 * Context: RCU read side, never sleeps.
 * Return: the context's place in @qd with @key loaded, a reference; or NULL,
 * and then the context is asked to move there.
 */
struct qoff_place *qoff_ctx_place_get(struct qoff_ctx *ctx, struct qoff_dev *qd,
				      const struct qoff_key *key)
{
	struct qoff_place *p = rcu_dereference(ctx->place);

	if (!(READ_ONCE(qd->features) & QUIC_OFFLOAD_FEATURE_TX_CRYPTO))
		return NULL;
	if (p && p->qd == qd && qoff_place_ok(p) &&
	    READ_ONCE(p->slot[key->phase]) == key &&
	    refcount_inc_not_zero(&p->ref))
		return p;
	qoff_ctx_want(ctx, qd);
	return NULL;
}

static void qoff_ctx_set_place(struct qoff_ctx *ctx, struct qoff_place *p)
{
	struct qoff_place *old;

	old = rcu_replace_pointer(ctx->place, p,
				  lockdep_is_held(&ctx->group->lock));
	if (old)
		qoff_place_put(old);
}

/* The key that @p holds in a slot. Only the group's control path puts other
 * keys in, so under its lock this changes at most to NULL.
 */
static bool qoff_place_has(const struct qoff_place *p, unsigned int phase,
			   const struct qoff_key *key)
{
	return p && key && READ_ONCE(p->slot[phase]) == key;
}

/* Move into @qd, or bring the keys there up to date. What fails is asked for
 * again by the data path, later.
 */
static void qoff_ctx_move(struct qoff_ctx *ctx, struct qoff_dev *qd)
{
	struct qoff_place *p;
	struct qoff_key *key;
	unsigned int i;

	lockdep_assert_held(&ctx->group->lock);
	p = rcu_dereference_protected(ctx->place, 1);
	if (!p || p->qd != qd || !qoff_place_ok(p)) {
		p = qoff_place_ctx(qd, ctx->group->net, ctx);
		if (!p)
			return;
		qoff_ctx_set_place(ctx, p);
	}
	for (i = 0; i < ARRAY_SIZE(ctx->slot); i++) {
		key = qoff_ctx_slot(ctx, i);
		if (key && !qoff_place_has(p, i, key))
			qoff_place_key(p, i, key);
	}
}

static void qoff_ctx_place_fn(struct work_struct *work)
{
	struct qoff_ctx *ctx = container_of(work, struct qoff_ctx, place_work);
	struct qoff_group *g = ctx->group;
	struct qoff_dev *qd;

	qd = xchg(&ctx->want, NULL);
	mutex_lock(&g->lock);
	if (!ctx->dead)
		qoff_ctx_move(ctx, qd);
	mutex_unlock(&g->lock);
	qoff_dev_put(qd);
	qoff_ctx_put(ctx);
}

/* Something changed at some device: leave those that do not serve any more, and
 * come back to those that lost everything but do.
 */
static void qoff_ctx_refresh(struct qoff_ctx *ctx)
{
	struct qoff_place *p;
	struct qoff_dev *qd;

	lockdep_assert_held(&ctx->group->lock);
	WRITE_ONCE(ctx->retry_at, jiffies);
	p = rcu_dereference_protected(ctx->place, 1);
	if (!p)
		return;
	qd = p->qd;
	if (qoff_place_ok(p) &&
	    READ_ONCE(qd->features) & QUIC_OFFLOAD_FEATURE_TX_CRYPTO)
		return;
	if (!qoff_dev_hold(qd))
		return;
	qoff_ctx_set_place(ctx, NULL);
	qoff_ctx_move(ctx, qd);
	qoff_dev_put(qd);
}

void qoff_ctx_refresh_all(struct qoff_group *g)
{
	struct qoff_ctx *ctx;
	unsigned long id;

	lockdep_assert_held(&g->lock);
	xa_for_each(&g->ctxs, id, ctx)
		qoff_ctx_refresh(ctx);
}

/* A connected socket says where the context's packets will leave */
static void qoff_ctx_place_now(struct qoff_ctx *ctx, const struct sock *sk)
{
	struct qoff_route r = {};
	struct qoff_dev *qd;

	lockdep_assert_held(&ctx->group->lock);
	if (!qoff_route_of_sock(&r, sk))
		return;
	qd = qoff_route_dev(ctx->group->net, &r);
	if (!qd)
		return;
	if (READ_ONCE(qd->features) & QUIC_OFFLOAD_FEATURE_TX_CRYPTO)
		qoff_ctx_move(ctx, qd);
	qoff_dev_put(qd);
}

static struct qoff_key *qoff_ctx_new_key(struct qoff_ctx *ctx,
					 const struct qoff_key_conf *conf,
					 u32 gen, struct netlink_ext_ack *extack)
{
	struct qoff_key *key;
	int err;

	key = qoff_key_alloc(ctx->cipher, ctx->hp, conf->key, conf->iv,
			     conf->phase, gen);
	if (IS_ERR(key)) {
		NL_SET_ERR_MSG(extack, "the cipher is not available");
		return key;
	}
	key->used = min(READ_ONCE(qoff_key_used),
			qoff_cipher_info(ctx->cipher)->seal_limit);
	err = qoff_key_publish(key, ctx->group->net);
	if (err) {
		if (err == -EEXIST)
			NL_SET_ERR_MSG(extack, "this key is installed already");
		qoff_key_put(key);
		return ERR_PTR(err);
	}
	return key;
}

static struct qoff_ctx *qoff_ctx_alloc(struct qoff_group *g,
				       const struct qoff_ctx_conf *conf,
				       struct netlink_ext_ack *extack)
{
	struct qoff_key *key;
	struct qoff_ctx *ctx;
	int err;

	ctx = kzalloc(sizeof(*ctx), QOFF_GFP);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	refcount_set(&ctx->ref, 1);
	spin_lock_init(&ctx->lock);
	INIT_WORK(&ctx->place_work, qoff_ctx_place_fn);
	ctx->group = g;
	ctx->cipher = conf->key.cipher;
	ctx->dcid_len = conf->dcid_len;
	ctx->flags = conf->flags;
	ctx->next_pn = conf->first_pn;
	ctx->retry_at = jiffies;
	ctx->hp = qoff_hp_alloc(ctx->cipher, conf->key.hp);
	if (IS_ERR(ctx->hp)) {
		err = PTR_ERR(ctx->hp);
		NL_SET_ERR_MSG(extack, "the cipher is not available");
		goto err_free;
	}
	key = qoff_ctx_new_key(ctx, &conf->key, 0, extack);
	if (IS_ERR(key)) {
		err = PTR_ERR(key);
		goto err_hp;
	}
	RCU_INIT_POINTER(ctx->slot[key->phase], key);
	/* The caller has one, so it is not zero */
	refcount_inc(&g->ref);
	return ctx;

err_hp:
	qoff_hp_put(ctx->hp);
err_free:
	kfree(ctx);
	return ERR_PTR(err);
}

/* Out of the table and the devices; what is in flight keeps its key and place */
static void qoff_ctx_kill(struct qoff_ctx *ctx)
{
	struct qoff_group *g = ctx->group;
	struct qoff_key *key;
	unsigned int i;

	lockdep_assert_held(&g->lock);
	spin_lock_bh(&ctx->lock);
	ctx->dead = true;
	spin_unlock_bh(&ctx->lock);
	qoff_ctx_set_place(ctx, NULL);
	for (i = 0; i < ARRAY_SIZE(ctx->slot); i++) {
		key = rcu_replace_pointer(ctx->slot[i], NULL,
					  lockdep_is_held(&g->lock));
		if (key)
			qoff_key_retire(key);
	}
	qoff_ctx_put(ctx);
}

static int qoff_ctx_insert(struct qoff_group *g, struct qoff_ctx *ctx,
			   struct netlink_ext_ack *extack)
{
	int err;

	lockdep_assert_held(&g->lock);
	if (g->nctx >= QOFF_MAX_CTX_GROUP) {
		NL_SET_ERR_MSG(extack, "the group has too many contexts");
		return -ENOSPC;
	}
	err = qoff_group_charge(g, extack);
	if (err)
		return err;
	ctx->gen = ++g->next_gen;
	/* Reserve first: a context is complete when the data path can find it */
	err = xa_alloc(&g->ctxs, &ctx->id, NULL,
		       XA_LIMIT(1, QOFF_MAX_CTX_GROUP), QOFF_GFP);
	if (err) {
		qoff_group_uncharge(g);
		return err;
	}
	g->nctx++;
	xa_store(&g->ctxs, ctx->id, ctx, GFP_KERNEL);
	return 0;
}

static void qoff_ctx_remove(struct qoff_ctx *ctx)
{
	struct qoff_group *g = ctx->group;

	lockdep_assert_held(&g->lock);
	xa_erase(&g->ctxs, ctx->id);
	g->nctx--;
	qoff_group_uncharge(g);
	trace_qoff_ctx_del(ctx);
	qoff_ctx_kill(ctx);
}

/**
 * qoff_ctx_add() - add a context with its first key
 * @g: group of @sk
 * @sk: attached socket; if connected, the context goes into its device now
 * @conf: the context, lengths checked
 * @extack: for the refusal
 * @id: index, set
 * @gen: generation, set
 *
 * Context: process, the socket is open.
 * Return: 0; -EEXIST: the key is in use in this namespace; -ENOSPC, -EDQUOT:
 * too many; -ENOMEM; an errno of the crypto API.
 */
int qoff_ctx_add(struct qoff_group *g, const struct sock *sk,
		 const struct qoff_ctx_conf *conf,
		 struct netlink_ext_ack *extack, u32 *id, u32 *gen)
{
	struct qoff_ctx *ctx;
	int err;

	mutex_lock(&g->lock);
	ctx = qoff_ctx_alloc(g, conf, extack);
	if (IS_ERR(ctx)) {
		err = PTR_ERR(ctx);
		goto out;
	}
	err = qoff_ctx_insert(g, ctx, extack);
	if (err) {
		qoff_ctx_kill(ctx);
		goto out;
	}
	*id = ctx->id;
	*gen = ctx->gen;
	trace_qoff_ctx_add(ctx);
	qoff_ctx_place_now(ctx, sk);
out:
	mutex_unlock(&g->lock);
	return err;
}

static struct qoff_ctx *qoff_ctx_find(struct qoff_group *g, u32 id, u32 gen,
				      struct netlink_ext_ack *extack)
{
	struct qoff_ctx *ctx;

	lockdep_assert_held(&g->lock);
	ctx = qoff_ctx_lookup(g, id, gen);
	if (ctx == ERR_PTR(-ENOENT))
		NL_SET_ERR_MSG(extack, "the group has no context with this id");
	else if (IS_ERR(ctx))
		NL_SET_ERR_MSG(extack, "the context with this id has another generation");
	return ctx;
}

/* Only the slot that is no longer sent with may get the next key */
static int qoff_ctx_update_check(struct qoff_ctx *ctx, u8 phase,
				 struct netlink_ext_ack *extack)
{
	const struct qoff_key *newest = qoff_ctx_newest(ctx);
	u32 cur;

	if (newest->phase == phase) {
		NL_SET_ERR_MSG(extack, "the newest key has this phase");
		return -EINVAL;
	}
	spin_lock_bh(&ctx->lock);
	cur = ctx->cur;
	spin_unlock_bh(&ctx->lock);
	if (qoff_ctx_slot(ctx, phase) && cur != newest->gen) {
		NL_SET_ERR_MSG(extack, "the newest key was not used yet, the older one still is");
		return -EBUSY;
	}
	return 0;
}

/* References of the slots aside, is there any? A sender that takes one after
 * this looked is not admitted: a newer key was.
 */
static bool qoff_ctx_key_busy(const struct qoff_ctx *ctx,
			      const struct qoff_key *key)
{
	const struct qoff_place *p;

	p = rcu_dereference_protected(ctx->place,
				      lockdep_is_held(&ctx->group->lock));
	return refcount_read(&key->ref) > 1 + qoff_place_has(p, key->phase, key);
}

static void qoff_ctx_switch_key(struct qoff_ctx *ctx, struct qoff_key *key)
{
	unsigned int phase = key->phase;
	struct qoff_place *p;
	struct qoff_key *old;

	lockdep_assert_held(&ctx->group->lock);
	p = rcu_dereference_protected(ctx->place, 1);
	if (p)
		qoff_place_key(p, phase, NULL);
	old = qoff_ctx_slot(ctx, phase);
	spin_lock_bh(&ctx->lock);
	rcu_assign_pointer(ctx->slot[phase], key);
	spin_unlock_bh(&ctx->lock);
	if (old)
		qoff_key_retire(old);
	if (p && qoff_place_ok(p))
		qoff_place_key(p, phase, key);
}

/**
 * qoff_ctx_update() - install the next key
 * @g: the group
 * @id: index
 * @gen: generation
 * @conf: phase, key and IV, lengths not checked yet
 * @extack: for the refusal
 *
 * Context: process, a socket of the group is open.
 * Return: 0; -ENOENT, -ESTALE: no such context; -EINVAL: the phase is that of
 * the newest key, or the key's length is wrong; -EBUSY: the older key is still
 * in use; -EEXIST: the key is in use in this namespace; -ENOMEM.
 */
int qoff_ctx_update(struct qoff_group *g, u32 id, u32 gen,
		    const struct qoff_key_conf *conf,
		    struct netlink_ext_ack *extack)
{
	struct qoff_key *key, *old;
	struct qoff_ctx *ctx;
	int err;

	mutex_lock(&g->lock);
	ctx = qoff_ctx_find(g, id, gen, extack);
	if (IS_ERR(ctx)) {
		err = PTR_ERR(ctx);
		goto out;
	}
	err = qoff_key_conf_check(conf, ctx->cipher, extack);
	if (!err)
		err = qoff_ctx_update_check(ctx, conf->phase, extack);
	if (err)
		goto out;
	key = qoff_ctx_new_key(ctx, conf, qoff_ctx_newest(ctx)->gen + 1, extack);
	if (IS_ERR(key)) {
		err = PTR_ERR(key);
		goto out;
	}
	old = qoff_ctx_slot(ctx, conf->phase);
	if (old && qoff_ctx_key_busy(ctx, old)) {
		NL_SET_ERR_MSG(extack, "packets with the slot's old key are in flight");
		err = -EBUSY;
		qoff_key_put(key);
		goto out;
	}
	qoff_ctx_switch_key(ctx, key);
	trace_qoff_ctx_update(ctx);
out:
	mutex_unlock(&g->lock);
	return err;
}

/**
 * qoff_ctx_del() - delete a context
 * @g: the group
 * @id: index
 * @gen: generation
 * @extack: for the refusal
 *
 * Context: process. Return: 0; -ENOENT, -ESTALE: no such context.
 */
int qoff_ctx_del(struct qoff_group *g, u32 id, u32 gen,
		 struct netlink_ext_ack *extack)
{
	struct qoff_ctx *ctx;
	int err = 0;

	mutex_lock(&g->lock);
	ctx = qoff_ctx_find(g, id, gen, extack);
	if (IS_ERR(ctx))
		err = PTR_ERR(ctx);
	else
		qoff_ctx_remove(ctx);
	mutex_unlock(&g->lock);
	return err;
}

void qoff_ctx_del_all(struct qoff_group *g)
{
	struct qoff_ctx *ctx;
	unsigned long id;

	lockdep_assert_held(&g->lock);
	xa_for_each(&g->ctxs, id, ctx)
		qoff_ctx_remove(ctx);
}
