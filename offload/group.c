// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: attach groups, sockets that share contexts and flows, and the
 * limit of what one user may have in all groups together.
 */

#include <linux/hashtable.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/inet_sock.h>

#include "ctl.h"

/**
 * struct qoff_user - what one user has
 * @node: in qoff_users
 * @uid: the user
 * @ref: groups, under qoff_users_lock
 * @objs: contexts and flows
 */
struct qoff_user {
	struct hlist_node node;
	kuid_t uid;
	unsigned int ref;
	atomic_t objs;
};

static unsigned int max_objs_user = QOFF_MAX_OBJS_USER;
module_param(max_objs_user, uint, 0644);
MODULE_PARM_DESC(max_objs_user, "contexts and flows of one user");

static DEFINE_HASHTABLE(qoff_users, 6);
static DEFINE_SPINLOCK(qoff_users_lock); /* protects qoff_users and references */

/* Groups by id. Ids are not reused soon, because events carry them. */
static DEFINE_XARRAY_FLAGS(qoff_groups, XA_FLAGS_ALLOC1);
static u32 qoff_group_next;

static struct qoff_user *qoff_user_find(kuid_t uid)
{
	struct qoff_user *u;

	lockdep_assert_held(&qoff_users_lock);
	hash_for_each_possible(qoff_users, u, node, __kuid_val(uid))
		if (uid_eq(u->uid, uid))
			return u;
	return NULL;
}

static struct qoff_user *qoff_user_get(kuid_t uid)
{
	struct qoff_user *u, *new;

	new = kzalloc(sizeof(*new), QOFF_GFP);
	if (!new)
		return NULL;
	new->uid = uid;
	spin_lock(&qoff_users_lock);
	u = qoff_user_find(uid);
	if (!u) {
		u = new;
		new = NULL;
		hash_add(qoff_users, &u->node, __kuid_val(uid));
	}
	u->ref++;
	spin_unlock(&qoff_users_lock);
	kfree(new);
	return u;
}

static void qoff_user_put(struct qoff_user *u)
{
	spin_lock(&qoff_users_lock);
	if (--u->ref) {
		spin_unlock(&qoff_users_lock);
		return;
	}
	hash_del(&u->node);
	spin_unlock(&qoff_users_lock);
	WARN_ON_ONCE(atomic_read(&u->objs));
	kfree(u);
}

/**
 * qoff_group_charge() - count one more context or flow
 * @g: the group
 * @extack: for the refusal
 *
 * Context: group->lock held.
 * Return: 0, or -EDQUOT when the user has too many.
 */
int qoff_group_charge(struct qoff_group *g, struct netlink_ext_ack *extack)
{
	lockdep_assert_held(&g->lock);
	if ((unsigned int)atomic_inc_return(&g->user->objs) >
	    READ_ONCE(max_objs_user)) {
		atomic_dec(&g->user->objs);
		NL_SET_ERR_MSG(extack, "the user has too many contexts and flows");
		return -EDQUOT;
	}
	return 0;
}

void qoff_group_uncharge(struct qoff_group *g)
{
	atomic_dec(&g->user->objs);
}

/**
 * qoff_group_create() - make a group without sockets
 * @net: its namespace
 * @uid: whose limit it counts against
 * @dcid_len: of the DCIDs it receives with
 *
 * Return: the group with one reference, or ERR_PTR.
 */
struct qoff_group *qoff_group_create(struct net *net, kuid_t uid, u8 dcid_len)
{
	struct qoff_group *g;
	int err;

	g = kzalloc(sizeof(*g), QOFF_GFP);
	if (!g)
		return ERR_PTR(-ENOMEM);
	g->net = net;
	g->dcid_len = dcid_len;
	refcount_set(&g->ref, 1);
	mutex_init(&g->lock);
	xa_init_flags(&g->ctxs, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&g->flows, XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&g->socks);
	g->user = qoff_user_get(uid);
	if (!g->user) {
		err = -ENOMEM;
		goto err_free;
	}
	err = xa_alloc_cyclic(&qoff_groups, &g->id, g, xa_limit_31b,
			      &qoff_group_next, QOFF_GFP);
	if (err < 0)
		goto err_user;
	return g;

err_user:
	qoff_user_put(g->user);
err_free:
	mutex_destroy(&g->lock);
	kfree(g);
	return ERR_PTR(err);
}

/* Context: process. The namespace may be gone. */
void qoff_group_put(struct qoff_group *g)
{
	if (!refcount_dec_and_test(&g->ref))
		return;
	WARN_ON_ONCE(g->nctx || g->nflow || !list_empty(&g->socks));
	xa_erase(&qoff_groups, g->id);
	xa_destroy(&g->ctxs);
	xa_destroy(&g->flows);
	qoff_user_put(g->user);
	mutex_destroy(&g->lock);
	kfree_rcu(g, rcu);
}

/**
 * qoff_group_for_each() - call for every group
 * @net: of this namespace, NULL: of any
 * @fn: called with the group's lock held; not called for a group without open
 *	sockets, so the namespace is there
 */
void qoff_group_for_each(const struct net *net,
			 void (*fn)(struct qoff_group *g))
{
	struct qoff_group *g;
	unsigned long id = 0;

	for (;;) {
		rcu_read_lock();
		do {
			id++;
			g = xa_find(&qoff_groups, &id, ULONG_MAX, XA_PRESENT);
		} while (g && !qoff_group_hold(g));
		rcu_read_unlock();
		if (!g)
			return;
		mutex_lock(&g->lock);
		if (!list_empty(&g->socks) && (!net || g->net == net))
			fn(g);
		mutex_unlock(&g->lock);
		qoff_group_put(g);
		cond_resched();
	}
}

/* Has an open socket of the group, other than @except, this local port? */
bool qoff_group_has_port(struct qoff_group *g, u16 port,
			 const struct sock *except)
{
	struct qoff_sock *qs;

	lockdep_assert_held(&g->lock);
	list_for_each_entry(qs, &g->socks, node)
		if (qs->sk != except && READ_ONCE(inet_sk(qs->sk)->inet_num) == port)
			return true;
	return false;
}

/**
 * qoff_group_leave() - an attached socket is closed
 * @qs: the socket; it stays attached until it is destroyed
 *
 * Removes the flows of its port, from devices first, while the port is still
 * this socket's: nobody else's packets are opened. With the last socket the
 * contexts go; what they have in flight is still sent.
 */
void qoff_group_leave(struct qoff_sock *qs)
{
	struct qoff_group *g = qs->group;
	u16 port = READ_ONCE(inet_sk(qs->sk)->inet_num);

	mutex_lock(&g->lock);
	if (port && !qoff_group_has_port(g, port, qs->sk))
		qoff_flow_del_port(g, port);
	list_del_init(&qs->node);
	if (list_empty(&g->socks)) {
		WARN_ON_ONCE(g->nflow);
		qoff_ctx_del_all(g);
	}
	mutex_unlock(&g->lock);
}

void qoff_group_exit(void)
{
	WARN_ON(!xa_empty(&qoff_groups));
	WARN_ON(!hash_empty(qoff_users));
	xa_destroy(&qoff_groups);
}
