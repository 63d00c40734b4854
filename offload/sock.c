// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: attaching a UDP socket, and what an attached socket does
 * differently from a stock one.
 *
 * The socket keeps its stock behaviour but for what its copy of the stock proto
 * replaces. Attach is one way: an skb in flight may hold the socket, and runs
 * its hooks, at any time until it is destroyed.
 */

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/icmp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "ctl.h"
#include "rx.h"
#include "trace.h"

/* No other encapsulation uses it; getsockopt(UDP_ENCAP) shows it */
#define QOFF_ENCAP_TYPE	0x51

enum { QOFF_PROT_V4, QOFF_PROT_V6, QOFF_PROT_N };

static struct proto qoff_prots[QOFF_PROT_N];
static struct proto *qoff_prot_orig[QOFF_PROT_N];
static DEFINE_MUTEX(qoff_prot_lock); /* protects making the copies */

/**
 * qoff_attached() - is this socket attached?
 * @sk: any socket
 *
 * Only then qoff_sk() means anything.
 */
bool qoff_attached(const struct sock *sk)
{
	const struct proto *p = READ_ONCE(sk->sk_prot);

	return p == &qoff_prots[QOFF_PROT_V4] || p == &qoff_prots[QOFF_PROT_V6];
}

static bool qoff_opt_refused(int level, int optname)
{
	switch (level) {
	case SOL_UDP:
	case SOL_UDPLITE: /* UDP sockets accept UDP's options at this level */
		switch (optname) {
		case UDP_CORK:
		case UDP_ENCAP:
		case UDP_GRO:
		case UDP_NO_CHECK6_TX:
			return true;
		}
		return false;
	case SOL_IPV6:
		/* It would put the stock IPv4 proto in place of ours */
		return optname == IPV6_ADDRFORM;
	}
	return false;
}

static int qoff_setsockopt(struct sock *sk, int level, int optname,
			   sockptr_t optval, unsigned int optlen)
{
	if (qoff_opt_refused(level, optname))
		return -EOPNOTSUPP;
	return qoff_sk(sk)->orig->setsockopt(sk, level, optname, optval, optlen);
}

static void qoff_close(struct sock *sk, long timeout)
{
	struct qoff_sock *qs = qoff_sk(sk);

	qoff_group_leave(qs);
	qoff_rx_purge(qs);
	qs->orig->close(sk, timeout);
}

/* A port that was not bound explicitly is given up. The group's lock is held
 * over it all, or a flow could be added for the port in between.
 */
static int qoff_disconnect(struct sock *sk, int flags)
{
	struct qoff_sock *qs = qoff_sk(sk);
	struct qoff_group *g = qs->group;
	u16 port;
	int err;

	mutex_lock(&g->lock);
	port = READ_ONCE(inet_sk(sk)->inet_num);
	if (port && !(sk->sk_userlocks & SOCK_BINDPORT_LOCK) &&
	    !qoff_group_has_port(g, port, sk))
		qoff_flow_del_port(g, port);
	err = qs->orig->disconnect(sk, flags);
	mutex_unlock(&g->lock);
	return err;
}

static bool qoff_icmp4_is_hard(const struct icmphdr *icmp)
{
	switch (icmp->type) {
	case ICMP_PARAMETERPROB:
		return true;
	case ICMP_DEST_UNREACH:
		if (icmp->code == ICMP_FRAG_NEEDED)
			return true;
		return icmp->code <= NR_ICMP_UNREACH &&
		       icmp_err_convert[icmp->code].fatal;
	}
	return false;
}

/* The stack has handled path MTU and redirects before it calls us. For a socket
 * with encap_type it leaves the rest of what stock UDP does to this hook.
 */
static void qoff_icmp4_err(struct sock *sk, struct sk_buff *skb, int err,
			   __be16 port, u32 info, u8 *payload)
{
	if (inet_test_bit(RECVERR, sk))
		ip_icmp_error(sk, skb, err, port, info, payload);
	else if (!qoff_icmp4_is_hard(icmp_hdr(skb)) ||
		 sk->sk_state != TCP_ESTABLISHED)
		return;
	sk->sk_err = err;
	sk_error_report(sk);
}

#if IS_ENABLED(CONFIG_IPV6)
static bool qoff_icmp6_is_hard(const struct sock *sk,
			       const struct icmp6hdr *icmp)
{
	int err;

	if (icmp->icmp6_type == ICMPV6_PKT_TOOBIG &&
	    READ_ONCE(inet6_sk(sk)->pmtudisc) != IPV6_PMTUDISC_DONT)
		return true;
	return icmpv6_err_convert(icmp->icmp6_type, icmp->icmp6_code, &err);
}

static void qoff_icmp6_err(struct sock *sk, struct sk_buff *skb, int err,
			   __be16 port, u32 info, u8 *payload)
{
	if (inet6_test_bit(RECVERR6, sk))
		ipv6_icmp_error(sk, skb, err, port, info, payload);
	else if (!qoff_icmp6_is_hard(sk, icmp6_hdr(skb)) ||
		 sk->sk_state != TCP_ESTABLISHED)
		return;
	sk->sk_err = err;
	sk_error_report(sk);
}
#else
static void qoff_icmp6_err(struct sock *sk, struct sk_buff *skb, int err,
			   __be16 port, u32 info, u8 *payload)
{
}
#endif

/**
 * qoff_encap_err_rcv() - an ICMP error for an attached socket
 * @sk: the socket
 * @skb: the error; its data is the quoted packet
 * @err: errno
 * @port: destination of the quoted packet
 * @info: MTU or the like
 * @payload: behind the quoted UDP header
 *
 * A v4-mapped socket gets IPv4 errors, so the packet's family decides.
 */
void qoff_encap_err_rcv(struct sock *sk, struct sk_buff *skb, int err,
			__be16 port, u32 info, u8 *payload)
{
	if (skb->protocol == htons(ETH_P_IPV6))
		qoff_icmp6_err(sk, skb, err, port, info, payload);
	else
		qoff_icmp4_err(sk, skb, err, port, info, payload);
}

/* The last reference to the socket is gone. The group and the module reference
 * are dropped in process context; &qs is not the socket's any more then.
 */
static void qoff_sock_put_work(struct work_struct *work)
{
	struct qoff_sock *qs = container_of(work, struct qoff_sock, put_work);

	qoff_group_put(qs->group);
	qoff_rx_work_free(qs->rx_work);
	mutex_destroy(&qs->rx_mutex);
	kfree(qs);
	module_put(THIS_MODULE);
}

/* RCU callback context, because attach set SOCK_RCU_FREE */
static void qoff_destruct(struct sock *sk)
{
	struct qoff_sock *qs = qoff_sk(sk);

	qoff_rx_purge(qs);
	rcu_assign_sk_user_data(sk, NULL);
	qs->destruct(sk);
	queue_work(qoff_wq, &qs->put_work);
}

/* Is it the proto that every socket of its family has when it is made? IPv4's
 * has a symbol. A v6 socket must have the one it was allocated with: nothing can
 * register another for UDP, and whoever changes a socket's later leaves
 * sk_prot_creator.
 */
static int qoff_prot_family(const struct sock *sk, const struct proto *p)
{
	if (p == &udp_prot && sk->sk_family == AF_INET)
		return QOFF_PROT_V4;
	if (p == sk->sk_prot_creator && sk->sk_family == AF_INET6)
		return QOFF_PROT_V6;
	return -EOPNOTSUPP;
}

static void qoff_prot_build(struct proto *p, const struct proto *orig)
{
	*p = *orig;
	p->close = qoff_close;
	p->disconnect = qoff_disconnect;
	p->ioctl = qoff_ioctl;
	p->setsockopt = qoff_setsockopt;
	p->sendmsg = qoff_sendmsg;
	p->recvmsg = qoff_recvmsg;
	p->sock_is_readable = qoff_sock_is_readable;
	/* It gives the port up under lock_sock(), or from BPF where nothing
	 * may sleep, so the flows could not be removed before.
	 */
	p->diag_destroy = NULL;
#ifdef CONFIG_BPF_SYSCALL
	/* A sockmap would copy our functions to every socket of the family */
	p->psock_update_sk_prot = NULL;
#endif
}

/* The copy of @orig for attached sockets, made when the first one attaches */
static struct proto *qoff_prot_get(int i, struct proto *orig)
{
	struct proto *p = &qoff_prots[i];

	mutex_lock(&qoff_prot_lock);
	if (!qoff_prot_orig[i]) {
		qoff_prot_build(p, orig);
		qoff_prot_orig[i] = orig;
	} else if (qoff_prot_orig[i] != orig) {
		p = NULL;
	}
	mutex_unlock(&qoff_prot_lock);
	return p;
}

/* Whatever already steers the socket would be overwritten, or overwrite us */
static int qoff_attach_check(const struct sock *sk,
			     struct netlink_ext_ack *extack)
{
	const struct udp_sock *up = udp_sk(sk);

	sock_owned_by_me(sk);
	if (sock_flag(sk, SOCK_DEAD)) {
		NL_SET_ERR_MSG(extack, "the socket is closed");
		return -EINVAL;
	}
	if (rcu_access_pointer(__sk_user_data(sk))) {
		NL_SET_ERR_MSG(extack, "the socket is in a sockmap, reuseport array or tunnel");
		return -EBUSY;
	}
	if (READ_ONCE(up->encap_type) || up->encap_rcv || up->gro_receive) {
		NL_SET_ERR_MSG(extack, "the socket does UDP encapsulation");
		return -EBUSY;
	}
	if (sk->sk_validate_xmit_skb) {
		NL_SET_ERR_MSG(extack, "the socket's packets are validated by something else");
		return -EBUSY;
	}
	if (up->pending || udp_test_bit(CORK, sk)) {
		NL_SET_ERR_MSG(extack, "the socket is corked");
		return -EBUSY;
	}
	if (udp_get_no_check6_tx(sk)) {
		NL_SET_ERR_MSG(extack, "the socket sends zero checksums (UDP_NO_CHECK6_TX)");
		return -EINVAL;
	}
	return 0;
}

/* Packets arrive and other threads send meanwhile: what a hook reads is there
 * before the hook.
 */
static void qoff_attach_install(struct sock *sk, struct qoff_sock *qs,
				struct proto *prot)
{
	struct udp_sock *up = udp_sk(sk);

	sock_owned_by_me(sk);
	sock_set_flag(sk, SOCK_RCU_FREE);
	qs->destruct = sk->sk_destruct;
	sk->sk_destruct = qoff_destruct;
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, qs);
	write_unlock_bh(&sk->sk_callback_lock);

	/* Pairs with the load in sk_validate_xmit_skb() */
	smp_store_release(&sk->sk_validate_xmit_skb, qoff_validate_xmit);

	udp_allow_gso(sk);
	WRITE_ONCE(up->encap_err_rcv, qoff_encap_err_rcv);
	WRITE_ONCE(up->gro_complete, qoff_gro_complete);
	/* Pairs with udp_gro_receive(): gro_complete follows gro_receive */
	smp_store_release(&up->gro_receive, qoff_gro_receive);
	WRITE_ONCE(up->encap_rcv, qoff_encap_rcv);
	/* Pairs with udp_queue_rcv_one_skb(): encap_rcv follows encap_type */
	smp_store_release(&up->encap_type, QOFF_ENCAP_TYPE);
	udp_tunnel_encap_enable(sk);

	/* Pairs with the loads of sk_prot: our functions use sk_user_data */
	smp_store_release(&sk->sk_prot, prot);
}

static struct qoff_sock *qoff_sock_alloc(struct sock *sk, struct qoff_group *g,
					 u16 rx_hdr_size, u16 rx_seg_size)
{
	struct qoff_sock *qs;

	qs = kzalloc(sizeof(*qs), QOFF_GFP);
	if (!qs)
		return NULL;
	qs->sk = sk;
	qs->group = g;
	qs->rx_hdr_size = rx_hdr_size;
	qs->rx_seg_size = rx_seg_size;
	INIT_LIST_HEAD(&qs->node);
	skb_queue_head_init(&qs->rxq);
	mutex_init(&qs->rx_mutex);
	INIT_WORK(&qs->put_work, qoff_sock_put_work);
	return qs;
}

static struct qoff_group *qoff_attach_group(struct sock *sk, struct sock *join,
					    int dcid_len,
					    struct netlink_ext_ack *extack)
{
	struct qoff_group *g;

	if (!join)
		return qoff_group_create(sock_net(sk), sk->sk_uid, dcid_len);
	if (!qoff_attached(join)) {
		NL_SET_ERR_MSG(extack, "join-fd is not attached");
		return ERR_PTR(-EINVAL);
	}
	g = qoff_sk(join)->group;
	if (g->net != sock_net(sk)) {
		NL_SET_ERR_MSG(extack, "join-fd is in another network namespace");
		return ERR_PTR(-EINVAL);
	}
	if (dcid_len >= 0 && dcid_len != g->dcid_len) {
		NL_SET_ERR_MSG(extack, "dcid-len is not that of the group");
		return ERR_PTR(-EINVAL);
	}
	/* @join is open, so the group is alive */
	refcount_inc(&g->ref);
	return g;
}

static int qoff_attach_locked(struct sock *sk, struct qoff_sock *qs, int i,
			      struct netlink_ext_ack *extack)
{
	struct proto *prot;
	int err;

	lockdep_assert_held(&qs->group->lock);
	lock_sock(sk);
	/* It may have changed since the first look (IPV6_ADDRFORM, sockmap) */
	qs->orig = sk->sk_prot;
	prot = NULL;
	if (qoff_prot_family(sk, qs->orig) == i)
		prot = qoff_prot_get(i, qs->orig);
	if (!prot) {
		NL_SET_ERR_MSG(extack, "the socket's protocol functions are not the stock ones");
		err = -EOPNOTSUPP;
	} else {
		err = qoff_attach_check(sk, extack);
	}
	if (!err)
		qoff_attach_install(sk, qs, prot);
	release_sock(sk);
	return err;
}

/**
 * qoff_sock_attach() - attach a socket
 * @sk: a socket of the caller
 * @join: attached socket whose group to join, or NULL for a new group
 * @dcid_len: of the DCIDs the group receives with, -1: not given, only to join
 * @rx_hdr_size: size of struct qoff_rx that the program knows
 * @rx_seg_size: size of struct qoff_rx_seg that the program knows
 * @extack: for the refusal
 *
 * Context: process; a reference on the files of both sockets is held.
 * Return: 0 or an errno; then nothing changed.
 */
int qoff_sock_attach(struct sock *sk, struct sock *join, int dcid_len,
		     u16 rx_hdr_size, u16 rx_seg_size,
		     struct netlink_ext_ack *extack)
{
	struct qoff_group *g;
	struct qoff_sock *qs;
	int i, err;

	if (!sk_is_udp(sk)) {
		NL_SET_ERR_MSG(extack, "not a UDP socket");
		return -EPROTONOSUPPORT;
	}
	if (qoff_attached(sk)) {
		NL_SET_ERR_MSG(extack, "the socket is attached already");
		return -EBUSY;
	}
	i = qoff_prot_family(sk, READ_ONCE(sk->sk_prot));
	if (i < 0) {
		NL_SET_ERR_MSG(extack, "the socket's protocol functions are not the stock ones");
		return i;
	}
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	g = qoff_attach_group(sk, join, dcid_len, extack);
	if (IS_ERR(g)) {
		err = PTR_ERR(g);
		goto err_module;
	}
	qs = qoff_sock_alloc(sk, g, rx_hdr_size, rx_seg_size);
	if (!qs) {
		err = -ENOMEM;
		goto err_group;
	}
	mutex_lock(&g->lock);
	err = qoff_attach_locked(sk, qs, i, extack);
	if (!err)
		list_add_tail(&qs->node, &g->socks);
	mutex_unlock(&g->lock);
	if (err)
		goto err_free;
	trace_qoff_attach(sk, g);
	return 0;

err_free:
	mutex_destroy(&qs->rx_mutex);
	kfree(qs);
err_group:
	qoff_group_put(g);
err_module:
	module_put(THIS_MODULE);
	return err;
}
