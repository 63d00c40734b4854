// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: receive flows and their keys.
 *
 * The table of flows belongs to the namespace and not to a socket, because GRO
 * finds another socket than delivery does when several share a port. Flows of
 * one connection (its DCIDs and paths) share one struct qoff_rxkeys, and with it
 * the packet-number state and the integrity count.
 */

#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>

#include "ctl.h"
#include "trace.h"

const struct rhashtable_params qoff_flow_params = {
	.key_len = sizeof_field(struct qoff_flow, key),
	.key_offset = offsetof(struct qoff_flow, key),
	.head_offset = offsetof(struct qoff_flow, node),
	.automatic_shrinking = true,
};

static_assert(sizeof(struct qoff_flow_key) ==
	      12 + 2 * sizeof(struct in6_addr) + QOFF_MAX_DCID,
	      "hashed as memory");

/**
 * qoff_flow_lookup() - find a flow
 * @net: namespace
 * @key: what to match, unused bytes zero
 *
 * Context: RCU read side. Return: the flow or NULL.
 */
struct qoff_flow *qoff_flow_lookup(struct net *net,
				   const struct qoff_flow_key *key)
{
	return rhashtable_lookup(&qoff_net(net)->flows, key, qoff_flow_params);
}

struct qoff_flow *qoff_flow_by_id(struct net *net, u32 id)
{
	return xa_load(&qoff_net(net)->flow_ids, id);
}

/* Keys */

static void qoff_rxkeys_free(struct work_struct *work)
{
	struct qoff_rxkeys *keys = container_of(to_rcu_work(work),
						struct qoff_rxkeys, free_work);
	struct qoff_key *key;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(keys->slot); i++) {
		key = rcu_dereference_protected(keys->slot[i], 1);
		if (key)
			qoff_key_put(key);
	}
	qoff_hp_put(keys->hp);
	kfree(keys);
}

/* Context: any. Freed in process context, where transforms may be. */
static void qoff_rxkeys_put(struct qoff_rxkeys *keys)
{
	if (refcount_dec_and_test(&keys->ref))
		queue_rcu_work(qoff_wq, &keys->free_work);
}

/**
 * qoff_rxkeys_failed() - count failed opens
 * @keys: the connection's keys
 * @n: packets
 *
 * User space is told once when they near the AEAD's integrity limit.
 * Context: any; a socket of the namespace is open.
 */
void qoff_rxkeys_failed(struct qoff_rxkeys *keys, unsigned int n)
{
	u64 limit = qoff_cipher_info(keys->cipher)->open_limit;
	u64 failed = atomic64_add_return(n, &keys->failed);

	if (failed < limit - limit / 8 || test_and_set_bit(0, &keys->warned))
		return;
	if (!qoff_nl_key_limit(keys->net, keys->group_id,
			       QUIC_OFFLOAD_DIRECTION_RX, keys->flow_id, failed,
			       limit))
		clear_bit(0, &keys->warned);
}

static struct qoff_key *qoff_rxkey_alloc(struct qoff_rxkeys *keys,
					 const struct qoff_key_conf *conf,
					 struct netlink_ext_ack *extack)
{
	struct qoff_key *key;

	key = qoff_key_alloc(keys->cipher, keys->hp, conf->key, conf->iv,
			     conf->phase, conf->gen);
	if (IS_ERR(key))
		NL_SET_ERR_MSG(extack, "the cipher is not available");
	return key;
}

static struct qoff_rxkeys *qoff_rxkeys_alloc(struct qoff_group *g,
					     const struct qoff_key_conf *conf,
					     u64 next_pn,
					     struct netlink_ext_ack *extack)
{
	struct qoff_rxkeys *keys;
	struct qoff_key *key;
	int err;

	keys = kzalloc(sizeof(*keys), QOFF_GFP);
	if (!keys)
		return ERR_PTR(-ENOMEM);
	refcount_set(&keys->ref, 1);
	spin_lock_init(&keys->lock);
	INIT_RCU_WORK(&keys->free_work, qoff_rxkeys_free);
	keys->cipher = conf->cipher;
	keys->next_pn = next_pn;
	atomic64_set(&keys->failed, min(READ_ONCE(qoff_key_used),
					qoff_cipher_info(conf->cipher)->open_limit));
	keys->net = g->net;
	keys->group_id = g->id;
	keys->hp = qoff_hp_alloc(conf->cipher, conf->hp);
	if (IS_ERR(keys->hp)) {
		err = PTR_ERR(keys->hp);
		NL_SET_ERR_MSG(extack, "the cipher is not available");
		goto err_free;
	}
	key = qoff_rxkey_alloc(keys, conf, extack);
	if (IS_ERR(key)) {
		err = PTR_ERR(key);
		goto err_hp;
	}
	RCU_INIT_POINTER(keys->slot[conf->phase], key);
	return keys;

err_hp:
	qoff_hp_put(keys->hp);
err_free:
	kfree(keys);
	return ERR_PTR(err);
}

static struct qoff_rxkeys *qoff_flow_keys(const struct qoff_flow *flow)
{
	return rcu_dereference_protected(flow->keys,
					 lockdep_is_held(&flow->group->lock));
}

static struct qoff_key *qoff_rxkeys_slot(const struct qoff_group *g,
					 const struct qoff_rxkeys *keys,
					 unsigned int phase)
{
	return rcu_dereference_protected(keys->slot[phase],
					 lockdep_is_held(&g->lock));
}

/* Flows in devices */

static void qoff_flow_unplace(struct qoff_flow *flow)
{
	struct qoff_place *p;

	p = rcu_replace_pointer(flow->place, NULL,
				lockdep_is_held(&flow->group->lock));
	if (p)
		qoff_place_kill(p);
}

static struct qoff_dev *qoff_flow_dev(const struct qoff_flow *flow)
{
	struct qoff_route r = {
		.family = flow->key.family,
		.local = flow->key.local,
		.remote = flow->key.remote,
		.oif = flow->key.scope ?: flow->oif,
		.mark = flow->mark,
	};

	return qoff_route_dev(flow->net, &r);
}

/* The cipher the flow would have in @qd, 0: only coalesced */
static u8 qoff_flow_dev_cipher(const struct qoff_dev *qd,
			       const struct qoff_rxkeys *keys)
{
	if (!keys || !(qd->caps->rx_ciphers & BIT(keys->cipher)) ||
	    !(READ_ONCE(qd->features) & QUIC_OFFLOAD_FEATURE_RX_CRYPTO))
		return 0;
	return keys->cipher;
}

static struct qoff_place *qoff_flow_place_new(struct qoff_flow *flow,
					      struct qoff_dev *qd, u8 cipher,
					      struct qoff_rxkeys *keys)
{
	struct qoff_flow_params fp = {};
	struct qoff_place *p;

	fp.id = flow->id;
	fp.key = flow->key;
	/* A device has one interface */
	fp.key.scope = 0;
	fp.cipher = cipher;
	if (cipher) {
		memcpy(fp.hp_key, keys->hp->raw, sizeof(fp.hp_key));
		fp.next_pn = READ_ONCE(keys->next_pn);
	}
	p = qoff_place_flow(qd, flow->net, &fp);
	memzero_explicit(&fp, sizeof(fp));
	return p;
}

static void qoff_flow_sync_keys(struct qoff_flow *flow, struct qoff_place *p)
{
	struct qoff_rxkeys *keys = qoff_flow_keys(flow);
	struct qoff_key *key;
	unsigned int i;

	if (!p->cipher)
		return;
	for (i = 0; i < ARRAY_SIZE(keys->slot); i++) {
		key = qoff_rxkeys_slot(flow->group, keys, i);
		if (READ_ONCE(p->slot[i]) != key)
			qoff_place_key(p, i, key);
	}
}

/* Bring the flow to where it should be, with the keys it should have. Whatever a
 * device does not take, software does.
 */
static void qoff_flow_refresh(struct qoff_flow *flow)
{
	struct qoff_rxkeys *keys = qoff_flow_keys(flow);
	struct qoff_dev *qd = qoff_flow_dev(flow);
	struct qoff_place *p;
	u8 cipher = 0;
	bool want;

	lockdep_assert_held(&flow->group->lock);
	want = qd && READ_ONCE(qd->features) & (QUIC_OFFLOAD_FEATURE_GRO |
						QUIC_OFFLOAD_FEATURE_RX_CRYPTO);
	if (want)
		cipher = qoff_flow_dev_cipher(qd, keys);
	p = rcu_dereference_protected(flow->place, 1);
	if (p && (!want || p->qd != qd || p->cipher != cipher ||
		  !qoff_place_ok(p))) {
		qoff_flow_unplace(flow);
		p = NULL;
	}
	if (want && !p) {
		p = qoff_flow_place_new(flow, qd, cipher, keys);
		rcu_assign_pointer(flow->place, p);
	}
	if (p)
		qoff_flow_sync_keys(flow, p);
	if (qd)
		qoff_dev_put(qd);
}

void qoff_flow_refresh_all(struct qoff_group *g)
{
	struct qoff_flow *flow;
	unsigned long id;

	lockdep_assert_held(&g->lock);
	xa_for_each(&g->flows, id, flow)
		qoff_flow_refresh(flow);
}

static void qoff_flow_refresh_keys(struct qoff_group *g,
				   const struct qoff_rxkeys *keys)
{
	struct qoff_flow *flow;
	unsigned long id;

	lockdep_assert_held(&g->lock);
	xa_for_each(&g->flows, id, flow)
		if (qoff_flow_keys(flow) == keys)
			qoff_flow_refresh(flow);
}

/* Adding */

/**
 * qoff_flow_put() - drop a reference
 * @flow: the flow
 *
 * Context: any.
 */
void qoff_flow_put(struct qoff_flow *flow)
{
	struct qoff_rxkeys *keys;

	if (!refcount_dec_and_test(&flow->ref))
		return;
	keys = rcu_dereference_protected(flow->keys, 1);
	if (keys)
		qoff_rxkeys_put(keys);
	kfree_rcu(flow, rcu);
}

/* Can packets of this flow be delivered to the socket? A flow that they cannot
 * would only be in the way of somebody else's.
 */
static int qoff_flow_check_sock(const struct sock *sk,
				const struct qoff_flow_key *key,
				struct netlink_ext_ack *extack)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (!READ_ONCE(inet->inet_num)) {
		NL_SET_ERR_MSG(extack, "the socket has no local port, bind it first");
		return -EINVAL;
	}
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		const struct in6_addr *rcv = &sk->sk_v6_rcv_saddr;

		if (key->family == AF_INET && ipv6_only_sock(sk)) {
			NL_SET_ERR_MSG(extack, "the socket does IPv6 only");
			return -EINVAL;
		}
		if (key->family == AF_INET && ipv6_addr_v4mapped(rcv))
			goto v4;
		if (!ipv6_addr_any(rcv) &&
		    (key->family != AF_INET6 || !ipv6_addr_equal(rcv, &key->local)))
			goto other;
		return 0;
	}
v4:
#endif
	if (key->family != AF_INET) {
		NL_SET_ERR_MSG(extack, "the socket does IPv4 only");
		return -EINVAL;
	}
	if (inet->inet_rcv_saddr &&
	    inet->inet_rcv_saddr != key->local.s6_addr32[0])
		goto other;
	return 0;

other:
	NL_SET_ERR_MSG(extack, "the socket is bound to another address");
	return -EADDRNOTAVAIL;
}

/* Link-local addresses mean something on one interface only */
static int qoff_flow_scope(const struct sock *sk, struct qoff_flow_key *key,
			   struct netlink_ext_ack *extack)
{
	int bound = READ_ONCE(sk->sk_bound_dev_if);

	if (!qoff_flow_key_scoped(key)) {
		if (!key->scope)
			return 0;
		NL_SET_ERR_MSG(extack, "scope-id goes with link-local addresses only");
		return -EINVAL;
	}
	if (!key->scope)
		key->scope = bound;
	if (!key->scope) {
		NL_SET_ERR_MSG(extack, "a link-local address needs scope-id or a bound socket");
		return -EINVAL;
	}
	if (bound && bound != key->scope &&
	    bound != l3mdev_master_ifindex_by_index(sock_net(sk), key->scope)) {
		NL_SET_ERR_MSG(extack, "the socket is bound to another interface");
		return -EINVAL;
	}
	return 0;
}

static struct qoff_flow *qoff_flow_find(struct qoff_group *g, u32 id,
					struct netlink_ext_ack *extack)
{
	struct qoff_flow *flow;

	lockdep_assert_held(&g->lock);
	flow = xa_load(&g->flows, id);
	if (!flow)
		NL_SET_ERR_MSG(extack, "the group has no flow with this id");
	return flow;
}

/* New keys, those of another flow, or none yet (NULL) */
static struct qoff_rxkeys *qoff_flow_get_keys(struct qoff_group *g,
					      const struct qoff_flow_conf *conf,
					      struct netlink_ext_ack *extack)
{
	struct qoff_rxkeys *keys;
	struct qoff_flow *other;

	lockdep_assert_held(&g->lock);
	if (conf->keys.cipher)
		return qoff_rxkeys_alloc(g, &conf->keys, conf->next_pn, extack);
	if (!conf->keys_of)
		return NULL;
	other = qoff_flow_find(g, conf->keys_of, extack);
	if (!other)
		return ERR_PTR(-ENOENT);
	keys = qoff_flow_keys(other);
	if (!keys) {
		NL_SET_ERR_MSG(extack, "the flow whose keys to share has none");
		return ERR_PTR(-EINVAL);
	}
	refcount_inc(&keys->ref);
	return keys;
}

static struct qoff_flow *qoff_flow_alloc(struct qoff_group *g,
					 const struct sock *sk,
					 const struct qoff_flow_conf *conf,
					 const struct qoff_flow_key *key)
{
	struct qoff_flow *flow;

	flow = kzalloc(sizeof(*flow), QOFF_GFP);
	if (!flow)
		return NULL;
	flow->key = *key;
	flow->key.local_port = htons(READ_ONCE(inet_sk(sk)->inet_num));
	flow->net = g->net;
	flow->group = g;
	refcount_set(&flow->ref, 1);
	flow->cookie = conf->cookie;
	flow->oif = READ_ONCE(sk->sk_bound_dev_if);
	flow->mark = READ_ONCE(sk->sk_mark);
	return flow;
}

/* Into the group, the table and the ids; complete before anyone finds it */
static int qoff_flow_insert(struct qoff_group *g, struct qoff_flow *flow,
			    struct netlink_ext_ack *extack)
{
	struct qoff_net *qn = qoff_net(g->net);
	struct qoff_rxkeys *keys = qoff_flow_keys(flow);
	int err;

	lockdep_assert_held(&g->lock);
	if (g->nflow >= QOFF_MAX_FLOW_GROUP) {
		NL_SET_ERR_MSG(extack, "the group has too many flows");
		return -ENOSPC;
	}
	err = qoff_group_charge(g, extack);
	if (err)
		return err;
	err = xa_alloc_cyclic(&qn->flow_ids, &flow->id, NULL, xa_limit_31b,
			      &qn->flow_next, GFP_KERNEL);
	if (err < 0)
		goto err_charge;
	if (keys && !keys->flow_id)
		keys->flow_id = flow->id;
	err = xa_insert(&g->flows, flow->id, flow, QOFF_GFP);
	if (err)
		goto err_id;
	err = rhashtable_lookup_insert_fast(&qn->flows, &flow->node,
					    qoff_flow_params);
	if (err) {
		if (err == -EEXIST)
			NL_SET_ERR_MSG(extack, "a flow with these addresses and DCID exists");
		goto err_group;
	}
	xa_store(&qn->flow_ids, flow->id, flow, GFP_KERNEL);
	g->nflow++;
	return 0;

err_group:
	xa_erase(&g->flows, flow->id);
err_id:
	xa_erase(&qn->flow_ids, flow->id);
err_charge:
	qoff_group_uncharge(g);
	return err;
}

/**
 * qoff_flow_add() - add a flow
 * @g: group of @sk
 * @sk: attached socket; its port is the flow's
 * @conf: the flow; addresses normalised, keys checked
 * @extack: for the refusal
 * @id: id, set
 *
 * Context: process, the socket is open.
 * Return: 0; -EEXIST; -EINVAL, -EADDRNOTAVAIL: the socket cannot receive it;
 * -ENOENT: no flow to share keys with; -ENOSPC, -EDQUOT: too many; -ENOMEM; an
 * errno of the crypto API.
 */
int qoff_flow_add(struct qoff_group *g, const struct sock *sk,
		  const struct qoff_flow_conf *conf,
		  struct netlink_ext_ack *extack, u32 *id)
{
	struct qoff_flow_key key = conf->key;
	struct qoff_rxkeys *keys;
	struct qoff_flow *flow;
	int err;

	mutex_lock(&g->lock);
	err = qoff_flow_check_sock(sk, &key, extack) ?:
	      qoff_flow_scope(sk, &key, extack);
	if (err)
		goto out;
	flow = qoff_flow_alloc(g, sk, conf, &key);
	if (!flow) {
		err = -ENOMEM;
		goto out;
	}
	keys = qoff_flow_get_keys(g, conf, extack);
	if (IS_ERR(keys)) {
		err = PTR_ERR(keys);
		goto err_put;
	}
	RCU_INIT_POINTER(flow->keys, keys);
	err = qoff_flow_insert(g, flow, extack);
	if (err)
		goto err_put;
	*id = flow->id;
	trace_qoff_flow_add(flow);
	qoff_flow_refresh(flow);
	goto out;

err_put:
	qoff_flow_put(flow);
out:
	mutex_unlock(&g->lock);
	return err;
}

/* Updating */

static int qoff_flow_first_keys(struct qoff_group *g, struct qoff_flow *flow,
				const struct qoff_flow_conf *conf,
				struct netlink_ext_ack *extack)
{
	struct qoff_rxkeys *keys;
	int err;

	lockdep_assert_held(&g->lock);
	if (!conf->keys.cipher || !conf->keys.hp) {
		NL_SET_ERR_MSG(extack, "the flow's first keys need cipher and hp-key");
		return -EINVAL;
	}
	err = qoff_key_conf_check(&conf->keys, conf->keys.cipher, extack);
	if (err)
		return err;
	keys = qoff_rxkeys_alloc(g, &conf->keys, conf->next_pn, extack);
	if (IS_ERR(keys))
		return PTR_ERR(keys);
	keys->flow_id = flow->id;
	rcu_assign_pointer(flow->keys, keys);
	qoff_flow_refresh(flow);
	return 0;
}

static void qoff_rxkeys_set(struct qoff_rxkeys *keys, u8 phase,
			    struct qoff_key *key)
{
	struct qoff_key *old;

	spin_lock_bh(&keys->lock);
	old = rcu_replace_pointer(keys->slot[phase], key,
				  lockdep_is_held(&keys->lock));
	spin_unlock_bh(&keys->lock);
	if (old)
		qoff_key_put(old);
}

static int qoff_flow_next_key(struct qoff_group *g, struct qoff_rxkeys *keys,
			      const struct qoff_flow_conf *conf,
			      struct netlink_ext_ack *extack)
{
	struct qoff_key *key;
	int err;

	lockdep_assert_held(&g->lock);
	if (conf->keys.hp ||
	    (conf->keys.cipher && conf->keys.cipher != keys->cipher)) {
		NL_SET_ERR_MSG(extack, "cipher and hp-key do not change with a key update");
		return -EINVAL;
	}
	err = qoff_key_conf_check(&conf->keys, keys->cipher, extack);
	if (err)
		return err;
	if (qoff_rxkeys_slot(g, keys, conf->keys.phase)) {
		NL_SET_ERR_MSG(extack, "the slot of this phase has a key, retire it first");
		return -EBUSY;
	}
	key = qoff_rxkey_alloc(keys, &conf->keys, extack);
	if (IS_ERR(key))
		return PTR_ERR(key);
	qoff_rxkeys_set(keys, conf->keys.phase, key);
	qoff_flow_refresh_keys(g, keys);
	return 0;
}

/**
 * qoff_flow_update() - give a flow its first keys or the next key
 * @g: the group
 * @id: the flow
 * @conf: the key, lengths not checked yet
 * @extack: for the refusal
 *
 * Context: process, a socket of the group is open.
 * Return: 0; -ENOENT: no such flow; -EINVAL: something is missing, too much or
 * of the wrong length; -EBUSY: the slot has a key; -ENOMEM.
 */
int qoff_flow_update(struct qoff_group *g, u32 id,
		     const struct qoff_flow_conf *conf,
		     struct netlink_ext_ack *extack)
{
	struct qoff_rxkeys *keys;
	struct qoff_flow *flow;
	int err = -ENOENT;

	mutex_lock(&g->lock);
	flow = qoff_flow_find(g, id, extack);
	if (!flow)
		goto out;
	keys = qoff_flow_keys(flow);
	if (keys)
		err = qoff_flow_next_key(g, keys, conf, extack);
	else
		err = qoff_flow_first_keys(g, flow, conf, extack);
	if (!err)
		trace_qoff_flow_update(flow);
out:
	mutex_unlock(&g->lock);
	return err;
}

/**
 * qoff_flow_retire() - empty the slot of a phase
 * @g: the group
 * @id: the flow
 * @phase: the slot
 * @extack: for the refusal
 *
 * Packets of this phase come up raw from then on, also those that a device
 * opens no more.
 * Context: process, a socket of the group is open.
 * Return: 0; -ENOENT: no such flow, or the slot is empty.
 */
int qoff_flow_retire(struct qoff_group *g, u32 id, u8 phase,
		     struct netlink_ext_ack *extack)
{
	struct qoff_rxkeys *keys;
	struct qoff_flow *flow;
	int err = -ENOENT;

	mutex_lock(&g->lock);
	flow = qoff_flow_find(g, id, extack);
	if (!flow)
		goto out;
	keys = qoff_flow_keys(flow);
	if (!keys || !qoff_rxkeys_slot(g, keys, phase)) {
		NL_SET_ERR_MSG(extack, "the slot of this phase is empty");
		goto out;
	}
	qoff_rxkeys_set(keys, phase, NULL);
	qoff_flow_refresh_keys(g, keys);
	trace_qoff_flow_update(flow);
	err = 0;
out:
	mutex_unlock(&g->lock);
	return err;
}

/* Deleting: the device first, then nothing new comes up with its id */
static void qoff_flow_remove(struct qoff_flow *flow)
{
	struct qoff_group *g = flow->group;
	struct qoff_net *qn = qoff_net(g->net);

	lockdep_assert_held(&g->lock);
	trace_qoff_flow_del(flow);
	qoff_flow_unplace(flow);
	WRITE_ONCE(flow->dead, true);
	rhashtable_remove_fast(&qn->flows, &flow->node, qoff_flow_params);
	xa_erase(&qn->flow_ids, flow->id);
	xa_erase(&g->flows, flow->id);
	g->nflow--;
	qoff_group_uncharge(g);
	qoff_flow_put(flow);
}

int qoff_flow_del(struct qoff_group *g, u32 id, struct netlink_ext_ack *extack)
{
	struct qoff_flow *flow;
	int err = 0;

	mutex_lock(&g->lock);
	flow = qoff_flow_find(g, id, extack);
	if (flow)
		qoff_flow_remove(flow);
	else
		err = -ENOENT;
	mutex_unlock(&g->lock);
	return err;
}

/* No socket of the group has this local port any more, or will in a moment */
void qoff_flow_del_port(struct qoff_group *g, u16 port)
{
	struct qoff_flow *flow;
	unsigned long id;

	lockdep_assert_held(&g->lock);
	xa_for_each(&g->flows, id, flow)
		if (flow->key.local_port == htons(port))
			qoff_flow_remove(flow);
}
