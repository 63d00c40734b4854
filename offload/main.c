// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: module, namespaces, and the rules that the other files keep.
 */

#include <linux/debugfs.h>
#include <linux/module.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "ctl.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/**
 * DOC: locking
 *
 * Order, outermost first:
 *
 * RTNL
 *	Not needed by the framework itself. Device notifiers and drivers'
 *	ndo_set_features come with it held, so nothing below may take it.
 *
 * &qoff_group.lock (mutex)
 *	The control path of one attach group: its sockets, contexts, flows,
 *	all writes of key slots, and which device holds what. A netlink request
 *	holds it from the first check to the last change, so a refusal changes
 *	nothing.
 *
 * lock_sock()
 *	Only to attach a socket, with the group's lock held. disconnect() is
 *	the stock function called under the group's lock, and takes it too.
 *
 * &qoff_dev.lock (mutex)
 *	One driver callback at a time; the placements in a device, their slots,
 *	and @ops. Reset is the exception: it may come in any context, so it only
 *	changes &qoff_dev.gen, and whoever takes the lock next cleans up.
 *
 * &qoff_ctx.lock, &qoff_rxkeys.lock, the user table's and retired keys' locks
 *	Innermost spinlocks, never nested in each other. Taken with bottom
 *	halves off: the data path runs in softirq too.
 *
 * The data path takes none of the mutexes. It reads contexts, flows, keys and
 * placements under RCU and takes references; every one of these objects is
 * freed after a grace period.
 */

/**
 * DOC: lifetimes
 *
 * Socket
 *	Attached until it is destroyed. close() takes it out of its group;
 *	what it sent may still be queued, so struct qoff_sock and the hooks stay
 *	until sk_destruct. Attach sets SOCK_RCU_FREE, so sk_destruct always runs
 *	as an RCU callback, and the module reference of the socket is dropped
 *	by a work item: module exit waits for both, in that order.
 *
 * Group
 *	A reference for each attached socket and each context. Contexts and
 *	flows exist only while a socket of the group is open. The namespace is
 *	alive exactly as long, so nothing that runs later looks at it.
 *
 * Context
 *	Found by index and generation under RCU; a deleted one admits nothing.
 *
 * Key
 *	A slot, a device's slot and every super-packet in flight hold a
 *	reference. Delete, update and close() drop the slot's: what is in flight
 *	is still sealed and sent, so that a CONNECTION_CLOSE arrives. That is
 *	bounded: %QOFF_REVOKE_TIME after a key lost its slot it is revoked, and
 *	then super-packets that are still waiting for it are dropped.
 *	A key update is refused while the slot's old key is in flight.
 *
 * Placement (struct qoff_place)
 *	The owner (context or flow) and every super-packet in flight that was
 *	built for it hold a reference. A context leaves a healthy device when
 *	the last is gone, because its packets in the transmit queues still need
 *	it; a flow leaves at once. When the device goes, it is marked dead
 *	under the device's lock, and super-packets with it are refused.
 *
 * Device
 *	Unregistering forgets the driver; placements and super-packets keep the
 *	memory and the id.
 */

unsigned int qoff_net_id __read_mostly;
struct workqueue_struct *qoff_wq;
u64 qoff_key_used;
static struct dentry *qoff_debugfs;

static int __net_init qoff_net_init(struct net *net)
{
	struct qoff_net *qn = qoff_net(net);
	int err;

	xa_init_flags(&qn->flow_ids, XA_FLAGS_ALLOC1);
	err = rhashtable_init(&qn->flows, &qoff_flow_params);
	if (err)
		return err;
	err = qoff_route_net_init(net);
	if (err)
		rhashtable_destroy(&qn->flows);
	return err;
}

/* The sockets are gone, and with them the flows */
static void __net_exit qoff_net_exit(struct net *net)
{
	struct qoff_net *qn = qoff_net(net);

	qoff_route_net_exit(net);
	WARN_ON_ONCE(!xa_empty(&qn->flow_ids));
	WARN_ON_ONCE(atomic_read(&qn->flows.nelems));
	rhashtable_destroy(&qn->flows);
	xa_destroy(&qn->flow_ids);
}

static struct pernet_operations qoff_net_ops = {
	.init = qoff_net_init,
	.exit = qoff_net_exit,
	.id = &qoff_net_id,
	.size = sizeof(struct qoff_net),
};

static int __init qoff_init(void)
{
	int err;

	qoff_wq = alloc_workqueue("quic_offload", WQ_MEM_RECLAIM, 0);
	if (!qoff_wq)
		return -ENOMEM;
	err = qoff_crypto_init();
	if (err)
		goto err_wq;
	err = register_pernet_subsys(&qoff_net_ops);
	if (err)
		goto err_crypto;
	err = qoff_dev_init();
	if (err)
		goto err_pernet;
	err = qoff_nl_init();
	if (err)
		goto err_dev;
	qoff_debugfs = debugfs_create_dir("quic_offload", NULL);
	debugfs_create_u64("key_used", 0600, qoff_debugfs, &qoff_key_used);
	return 0;

err_dev:
	qoff_dev_exit();
err_pernet:
	unregister_pernet_subsys(&qoff_net_ops);
err_crypto:
	qoff_crypto_exit();
err_wq:
	destroy_workqueue(qoff_wq);
	return err;
}

/* No socket is attached and no device registered, but their last RCU callbacks
 * and work items may still be on their way, one starting the other.
 */
static void __exit qoff_exit(void)
{
	debugfs_remove(qoff_debugfs);
	qoff_nl_exit();
	qoff_dev_exit();
	qoff_ctx_exit();
	rcu_barrier();
	drain_workqueue(qoff_wq);
	rcu_barrier();
	destroy_workqueue(qoff_wq);
	rcu_barrier();
	unregister_pernet_subsys(&qoff_net_ops);
	qoff_group_exit();
	qoff_crypto_exit();
}

module_init(qoff_init);
module_exit(qoff_exit);

MODULE_DESCRIPTION("QUIC segmentation, coalescing and crypto offload");
MODULE_LICENSE("GPL");
