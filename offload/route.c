// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: through which device do a context's or a flow's packets go?
 */

#include <linux/rtnetlink.h>
#include <net/fib_notifier.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/ipv6_stubs.h>
#include <net/route.h>

#include "ctl.h"

static void qoff_route_set4(struct qoff_route *r, __be32 local, __be32 remote)
{
	r->family = AF_INET;
	r->local.s6_addr32[0] = local;
	r->remote.s6_addr32[0] = remote;
}

/**
 * qoff_route_of_sock() - where a connected socket's packets leave
 * @r: set
 * @sk: the socket; not locked, a change underway only costs a move later
 *
 * Return: false when it is not connected.
 */
bool qoff_route_of_sock(struct qoff_route *r, const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (READ_ONCE(sk->sk_state) != TCP_ESTABLISHED)
		return false;
	r->oif = READ_ONCE(sk->sk_bound_dev_if);
	r->mark = READ_ONCE(sk->sk_mark);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 &&
	    !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		r->family = AF_INET6;
		r->local = inet6_sk(sk)->saddr;
		r->remote = sk->sk_v6_daddr;
		return true;
	}
#endif
	qoff_route_set4(r, inet->inet_saddr, inet->inet_daddr);
	return true;
}

static struct dst_entry *qoff_route4(struct net *net, const struct qoff_route *r)
{
	struct flowi4 fl = {
		.flowi4_oif = r->oif,
		.flowi4_mark = r->mark,
		.flowi4_proto = IPPROTO_UDP,
		.saddr = r->local.s6_addr32[0],
		.daddr = r->remote.s6_addr32[0],
	};
	struct rtable *rt = ip_route_output_key(net, &fl);

	return IS_ERR(rt) ? NULL : &rt->dst;
}

static struct dst_entry *qoff_route6(struct net *net, const struct qoff_route *r)
{
	struct flowi6 fl = {
		.flowi6_oif = r->oif,
		.flowi6_mark = r->mark,
		.flowi6_proto = IPPROTO_UDP,
		.saddr = r->local,
		.daddr = r->remote,
	};
	struct dst_entry *dst;

	dst = ipv6_stub->ipv6_dst_lookup_flow(net, NULL, &fl, NULL);
	return IS_ERR(dst) ? NULL : dst;
}

/**
 * qoff_route_dev() - the offload device that packets leave through
 * @net: namespace
 * @r: where to
 *
 * A peer's packets normally come in where ours leave, so this is also where a
 * flow is put. When that is wrong, software does the work.
 *
 * Return: the device, a reference; NULL when it does no QUIC offload.
 */
struct qoff_dev *qoff_route_dev(struct net *net, const struct qoff_route *r)
{
	struct dst_entry *dst;
	struct qoff_dev *qd;

	dst = r->family == AF_INET ? qoff_route4(net, r) : qoff_route6(net, r);
	if (!dst)
		return NULL;
	rcu_read_lock();
	qd = qoff_dev_of(dst->dev);
	if (qd && !qoff_dev_hold(qd))
		qd = NULL;
	rcu_read_unlock();
	dst_release(dst);
	return qd;
}

/* Routing daemons change many routes at once; one pass over the flows does for
 * all changes of this time.
 */
#define QOFF_ROUTE_DELAY	(HZ / 10)

static void qoff_route_work_fn(struct work_struct *work)
{
	struct qoff_net *qn = container_of(to_delayed_work(work),
					   struct qoff_net, route_work);

	/* The notifier comes before the change is complete, with RTNL held */
	rtnl_lock();
	rtnl_unlock();
	qoff_group_for_each(qn->net, qoff_refresh_group);
}

/* Atomic context. Contexts are moved by the data path; a flow has nothing that
 * would notice.
 */
static int qoff_route_event(struct notifier_block *nb, unsigned long event,
			    void *ptr)
{
	struct qoff_net *qn = container_of(nb, struct qoff_net, fib_nb);

	if (!xa_empty(&qn->flow_ids))
		queue_delayed_work(system_long_wq, &qn->route_work,
				   QOFF_ROUTE_DELAY);
	return NOTIFY_DONE;
}

int __net_init qoff_route_net_init(struct net *net)
{
	struct qoff_net *qn = qoff_net(net);

	qn->net = net;
	INIT_DELAYED_WORK(&qn->route_work, qoff_route_work_fn);
	qn->fib_nb.notifier_call = qoff_route_event;
	return register_fib_notifier(net, &qn->fib_nb, NULL, NULL);
}

void __net_exit qoff_route_net_exit(struct net *net)
{
	struct qoff_net *qn = qoff_net(net);

	unregister_fib_notifier(net, &qn->fib_nb);
	cancel_delayed_work_sync(&qn->route_work);
}
