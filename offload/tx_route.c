// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload, transmit: from the caller's address and control messages to a
 * route and a header template.
 *
 * This is what udp_sendmsg() and udpv6_sendmsg() do before they make an skb,
 * policy included: cgroup programs, flow classification, mark, priority, bound
 * device, packet info, TOS and traffic class, hop limit, SO_TXTIME. Left out is
 * what a super-packet refuses with -EOPNOTSUPP: IP options and extension
 * headers, multicast and broadcast, transformed (IPsec) routes.
 */
#include <linux/bpf-cgroup.h>
#include <linux/errqueue.h>
#include <linux/security.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/transp_v6.h>
#include <net/udp.h>

#include "tx.h"

static bool qoff_dst_transformed(const struct dst_entry *dst)
{
#ifdef CONFIG_XFRM
	return dst->xfrm;
#else
	return false;
#endif
}

/* What both families take from the socket and from SOL_SOCKET messages */
static void qoff_route_common(struct qoff_tx_req *req,
			      const struct sockcm_cookie *sockc, u32 priority)
{
	req->mark = sockc->mark;
	req->priority = priority;
	req->txtime = sockc->transmit_time;
	req->hh_len = LL_RESERVED_SPACE(req->dst->dev) + 15;
	sock_tx_timestamp(req->sk, sockc->tsflags, &req->tx_flags);
}

static int qoff_check_mtu(const struct qoff_tx_req *req)
{
	return req->max_len + req->hdr_len > req->mtu ? -EMSGSIZE : 0;
}

static int qoff_cmsg4_ip(struct cmsghdr *cmsg, struct ipcm_cookie *ipc)
{
	struct in_pktinfo info;
	int val;

	switch (cmsg->cmsg_type) {
	case IP_PKTINFO:
		if (cmsg->cmsg_len != CMSG_LEN(sizeof(info)))
			return -EINVAL;
		memcpy(&info, CMSG_DATA(cmsg), sizeof(info));
		if (info.ipi_ifindex)
			ipc->oif = info.ipi_ifindex;
		ipc->addr = info.ipi_spec_dst.s_addr;
		return 0;
	case IP_TTL:
		if (cmsg->cmsg_len != CMSG_LEN(sizeof(int)))
			return -EINVAL;
		memcpy(&val, CMSG_DATA(cmsg), sizeof(val));
		if (val < 1 || val > 255)
			return -EINVAL;
		ipc->ttl = val;
		return 0;
	case IP_TOS:
		if (cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(&val, CMSG_DATA(cmsg), sizeof(val));
		else if (cmsg->cmsg_len == CMSG_LEN(sizeof(u8)))
			val = *(u8 *)CMSG_DATA(cmsg);
		else
			return -EINVAL;
		if (val < 0 || val > 255)
			return -EINVAL;
		ipc->tos = val;
		ipc->priority = rt_tos2priority(ipc->tos);
		return 0;
	case IP_RETOPTS:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

/* ip_cmsg_send() is not exported. The list was checked by our own parser, so
 * every entry is whole.
 */
static int qoff_cmsg4(struct sock *sk, struct msghdr *msg,
		      struct ipcm_cookie *ipc)
{
	struct in6_pktinfo info6;
	struct cmsghdr *cmsg;
	int err;

	for_each_cmsghdr(cmsg, msg) {
		err = 0;
		if (cmsg->cmsg_level == SOL_SOCKET) {
			err = __sock_cmsg_send(sk, cmsg, &ipc->sockc);
		} else if (cmsg->cmsg_level == SOL_IP) {
			err = qoff_cmsg4_ip(cmsg, ipc);
		} else if (cmsg->cmsg_level == SOL_IPV6 &&
			   cmsg->cmsg_type == IPV6_PKTINFO &&
			   sk->sk_family == AF_INET6) {
			if (cmsg->cmsg_len < CMSG_LEN(sizeof(info6)))
				return -EINVAL;
			memcpy(&info6, CMSG_DATA(cmsg), sizeof(info6));
			if (!ipv6_addr_v4mapped(&info6.ipi6_addr))
				return -EINVAL;
			if (info6.ipi6_ifindex)
				ipc->oif = info6.ipi6_ifindex;
			ipc->addr = info6.ipi6_addr.s6_addr32[3];
		}
		if (err)
			return err;
	}
	return 0;
}

static u8 qoff_ttl4(const struct inet_sock *inet, const struct dst_entry *dst)
{
	int ttl = READ_ONCE(inet->uc_ttl);

	return ttl < 0 ? ip4_dst_hoplimit(dst) : ttl;
}

static void qoff_template4(struct qoff_tx_req *req,
			   const struct ipcm_cookie *ipc, __be32 saddr,
			   __be32 daddr, __be16 dport)
{
	struct inet_sock *inet = inet_sk(req->sk);
	u8 pmtudisc = READ_ONCE(inet->pmtudisc);
	struct iphdr *iph = &req->hdr.ip4;
	struct udphdr *uh = &req->hdr.uh4;

	iph->version = 4;
	iph->ihl = 5;
	iph->tos = ipc->tos != -1 ? ipc->tos : READ_ONCE(inet->tos);
	iph->tot_len = 0;
	iph->id = 0;
	/* Each datagram is within the MTU, whatever the sum is */
	iph->frag_off = 0;
	if (pmtudisc == IP_PMTUDISC_DO || pmtudisc == IP_PMTUDISC_PROBE ||
	    ip_dont_fragment(req->sk, req->dst))
		iph->frag_off = htons(IP_DF);
	iph->ttl = ipc->ttl ?: qoff_ttl4(inet, req->dst);
	iph->protocol = IPPROTO_UDP;
	iph->check = 0;
	iph->saddr = saddr;
	iph->daddr = daddr;
	uh->source = inet->inet_sport;
	uh->dest = dport;
	uh->len = 0;
	uh->check = 0;
	req->net_len = sizeof(*iph);
	req->hdr_len = sizeof(*iph) + sizeof(*uh);
}

static struct rtable *qoff_lookup4(struct sock *sk, struct flowi4 *fl4,
				   bool connected)
{
	struct net *net = sock_net(sk);
	struct rtable *rt;

	security_sk_classify_flow(sk, flowi4_to_flowi_common(fl4));
	rt = ip_route_output_flow(net, fl4, sk);
	if (IS_ERR(rt)) {
		if (PTR_ERR(rt) == -ENETUNREACH)
			IP_INC_STATS(net, IPSTATS_MIB_OUTNOROUTES);
		return rt;
	}
	if (connected)
		sk_dst_set(sk, dst_clone(&rt->dst));
	return rt;
}

static int qoff_mtu4(struct qoff_tx_req *req)
{
	struct rtable *rt = dst_rtable(req->dst);

	if (rt->rt_flags & (RTCF_BROADCAST | RTCF_MULTICAST) ||
	    qoff_dst_transformed(req->dst))
		return -EOPNOTSUPP;
	req->mtu = ip_sk_use_pmtu(req->sk) ? dst_mtu(req->dst) :
		   READ_ONCE(req->dst->dev->mtu);
	if (!inetdev_valid_mtu(req->mtu))
		return -ENETUNREACH;
	return qoff_check_mtu(req);
}

/* @usin: destination, NULL on a connected socket; may be rewritten by a cgroup
 * program.
 */
static int qoff_route4(struct qoff_tx_req *req, struct sockaddr_in *usin,
		       int *namelen)
{
	struct sock *sk = req->sk;
	struct inet_sock *inet = inet_sk(sk);
	bool connected = !usin && !req->need_ip;
	struct rtable *rt = NULL;
	struct ipcm_cookie ipc;
	__be32 daddr, saddr;
	struct flowi4 fl4;
	__be16 dport;
	u8 scope;
	int err;

	if (!usin && sk->sk_state != TCP_ESTABLISHED)
		return -EDESTADDRREQ;
	if (usin && !usin->sin_port)
		return -EINVAL;
	if (rcu_access_pointer(inet->inet_opt))
		return -EOPNOTSUPP;

	ipcm_init_sk(&ipc, inet);
	err = qoff_cmsg4(sk, req->msg, &ipc);
	if (err)
		return err;

	if (cgroup_bpf_enabled(CGROUP_UDP4_SENDMSG) && !connected) {
		err = BPF_CGROUP_RUN_PROG_UDP4_SENDMSG_LOCK(sk,
							    (struct sockaddr *)usin,
							    namelen, &ipc.addr);
		if (err)
			return err;
		if (usin && !usin->sin_port)
			return -EINVAL;
	}
	daddr = usin ? usin->sin_addr.s_addr : inet->inet_daddr;
	dport = usin ? usin->sin_port : inet->inet_dport;
	saddr = ipc.addr;
	if (ipv4_is_multicast(daddr) || ipv4_is_lbcast(daddr))
		return -EOPNOTSUPP;

	scope = ip_sendmsg_scope(inet, &ipc, req->msg);
	if (scope == RT_SCOPE_LINK)
		connected = false;
	if (!ipc.oif)
		ipc.oif = READ_ONCE(inet->uc_index);

	if (connected)
		rt = dst_rtable(sk_dst_check(sk, 0));
	if (rt) {
		/* The route was made for these addresses */
		saddr = inet->cork.fl.u.ip4.saddr;
		daddr = inet->cork.fl.u.ip4.daddr;
	} else {
		flowi4_init_output(&fl4, ipc.oif, ipc.sockc.mark,
				   get_rttos(&ipc, inet), scope, IPPROTO_UDP,
				   inet_sk_flowi_flags(sk), daddr, saddr, dport,
				   inet->inet_sport, sk->sk_uid);
		rt = qoff_lookup4(sk, &fl4, connected);
		if (IS_ERR(rt))
			return PTR_ERR(rt);
		saddr = fl4.saddr;
		daddr = fl4.daddr;
	}
	req->dst = &rt->dst;

	qoff_template4(req, &ipc, saddr, daddr, dport);
	err = qoff_mtu4(req);
	if (err)
		return err;
	if (req->msg->msg_flags & MSG_PROBE)
		dst_confirm_neigh(req->dst, &daddr);
	qoff_route_common(req, &ipc.sockc, ipc.tos != -1 ? ipc.priority :
			  READ_ONCE(sk->sk_priority));
	return 0;
}

#if IS_ENABLED(CONFIG_IPV6)
/* Address of the destination, scope and flow label; not the cmsgs */
static int qoff_dest6(struct sock *sk, struct sockaddr_in6 *sin6, int namelen,
		      struct flowi6 *fl6)
{
	struct ipv6_pinfo *np = inet6_sk(sk);
	struct inet_sock *inet = inet_sk(sk);

	if (!sin6) {
		fl6->fl6_dport = inet->inet_dport;
		fl6->daddr = sk->sk_v6_daddr;
		fl6->flowlabel = np->flow_label;
		return 0;
	}
	if (!sin6->sin6_port)
		return -EINVAL;
	fl6->fl6_dport = sin6->sin6_port;
	fl6->daddr = sin6->sin6_addr;
	if (inet6_test_bit(SNDFLOW, sk))
		fl6->flowlabel = sin6->sin6_flowinfo & IPV6_FLOWINFO_MASK;
	if (namelen >= sizeof(*sin6) && sin6->sin6_scope_id &&
	    __ipv6_addr_needs_scope_id(__ipv6_addr_type(&fl6->daddr)))
		fl6->flowi6_oif = sin6->sin6_scope_id;
	return 0;
}

/* A leased flow label may carry options, which are refused like others */
static int qoff_label6(struct sock *sk, const struct flowi6 *fl6)
{
	struct ip6_flowlabel *fl;
	int err = 0;

	if (!(fl6->flowlabel & IPV6_FLOWLABEL_MASK))
		return 0;
	fl = fl6_sock_lookup(sk, fl6->flowlabel);
	if (IS_ERR(fl))
		return -EINVAL;
	if (fl && fl->opt)
		err = -EOPNOTSUPP;
	fl6_sock_release(fl);
	return err;
}

static int qoff_cmsg6(struct qoff_tx_req *req, struct flowi6 *fl6,
		      struct ipcm6_cookie *ipc6)
{
	struct ipv6_txoptions opt = { .tot_len = sizeof(opt) };
	struct ipv6_txoptions *sticky;
	bool has_opt;
	int err;

	ipc6->opt = &opt;
	if (req->need_ip) {
		err = ip6_datagram_send_ctl(sock_net(req->sk), req->sk,
					    req->msg, fl6, ipc6);
		if (err)
			return err;
	}
	ipc6->opt = NULL;
	sticky = txopt_get(inet6_sk(req->sk));
	has_opt = opt.opt_nflen | opt.opt_flen ||
		  (sticky && sticky->opt_nflen | sticky->opt_flen);
	txopt_put(sticky);
	return has_opt ? -EOPNOTSUPP : qoff_label6(req->sk, fl6);
}

static int qoff_cgroup6(struct sock *sk, struct sockaddr_in6 *sin6,
			int *namelen, struct flowi6 *fl6)
{
	int err;

	err = BPF_CGROUP_RUN_PROG_UDP6_SENDMSG_LOCK(sk,
						    (struct sockaddr *)sin6,
						    namelen, &fl6->saddr);
	if (err || !sin6)
		return err;
	if (ipv6_addr_v4mapped(&sin6->sin6_addr))
		return -ENOTSUPP;
	if (!sin6->sin6_port)
		return -EINVAL;
	fl6->fl6_dport = sin6->sin6_port;
	fl6->daddr = sin6->sin6_addr;
	return 0;
}

static void qoff_template6(struct qoff_tx_req *req,
			   const struct ipcm6_cookie *ipc6,
			   const struct flowi6 *fl6)
{
	struct ipv6hdr *ip6 = &req->hdr.ip6;
	struct udphdr *uh = &req->hdr.uh6;

	/* The flow label follows in qoff_tx_wait_room(): its hash is an skb's */
	ip6_flow_hdr(ip6, ipc6->tclass, fl6->flowlabel & IPV6_FLOWLABEL_MASK);
	ip6->payload_len = 0;
	ip6->nexthdr = IPPROTO_UDP;
	ip6->hop_limit = ipc6->hlimit;
	ip6->saddr = fl6->saddr;
	ip6->daddr = fl6->daddr;
	uh->source = fl6->fl6_sport;
	uh->dest = fl6->fl6_dport;
	uh->len = 0;
	uh->check = 0;
	req->v6 = true;
	req->net_len = sizeof(*ip6);
	req->hdr_len = sizeof(*ip6) + sizeof(*uh);
}

static int qoff_mtu6(struct qoff_tx_req *req)
{
	struct ipv6_pinfo *np = inet6_sk(req->sk);
	u32 frag_size = READ_ONCE(np->frag_size);

	if (qoff_dst_transformed(req->dst))
		return -EOPNOTSUPP;
	req->mtu = READ_ONCE(np->pmtudisc) >= IPV6_PMTUDISC_PROBE ?
		   READ_ONCE(req->dst->dev->mtu) : dst_mtu(req->dst);
	if (frag_size && frag_size < req->mtu)
		req->mtu = frag_size;
	return qoff_check_mtu(req);
}

static int qoff_route6(struct qoff_tx_req *req, struct sockaddr_in6 *sin6,
		       int *namelen)
{
	bool connected = !sin6 && !req->need_ip;
	struct sock *sk = req->sk;
	struct ipv6_pinfo *np = inet6_sk(sk);
	struct ipcm6_cookie ipc6;
	struct dst_entry *dst;
	struct flowi6 fl6;
	int err;

	memset(&fl6, 0, sizeof(fl6));
	ipcm6_init_sk(&ipc6, sk);
	ipc6.sockc.tsflags = READ_ONCE(sk->sk_tsflags);
	ipc6.sockc.mark = READ_ONCE(sk->sk_mark);

	err = qoff_dest6(sk, sin6, *namelen, &fl6);
	if (err)
		return err;
	if (!fl6.flowi6_oif)
		fl6.flowi6_oif = READ_ONCE(sk->sk_bound_dev_if);
	if (!fl6.flowi6_oif)
		fl6.flowi6_oif = np->sticky_pktinfo.ipi6_ifindex;
	fl6.flowi6_uid = sk->sk_uid;

	err = qoff_cmsg6(req, &fl6, &ipc6);
	if (err)
		return err;

	fl6.flowi6_proto = IPPROTO_UDP;
	fl6.flowi6_mark = ipc6.sockc.mark;
	if (ipv6_addr_any(&fl6.saddr) && !ipv6_addr_any(&np->saddr))
		fl6.saddr = np->saddr;
	fl6.fl6_sport = inet_sk(sk)->inet_sport;

	if (cgroup_bpf_enabled(CGROUP_UDP6_SENDMSG) && !connected) {
		err = qoff_cgroup6(sk, sin6, namelen, &fl6);
		if (err)
			return err;
	}
	if (ipv6_addr_any(&fl6.daddr))
		fl6.daddr.s6_addr[15] = 0x1; /* :: means loopback */
	if (ipv6_addr_is_multicast(&fl6.daddr))
		return -EOPNOTSUPP;
	if (!fl6.flowi6_oif)
		fl6.flowi6_oif = READ_ONCE(np->ucast_oif);

	security_sk_classify_flow(sk, flowi6_to_flowi_common(&fl6));
	if (ipc6.tclass < 0)
		ipc6.tclass = np->tclass;
	fl6.flowlabel = ip6_make_flowinfo(ipc6.tclass, fl6.flowlabel);
	dst = ip6_sk_dst_lookup_flow(sk, &fl6, NULL, connected);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	req->dst = dst;
	if (ipc6.hlimit < 0)
		ipc6.hlimit = ip6_sk_dst_hoplimit(np, &fl6, dst);

	qoff_template6(req, &ipc6, &fl6);
	err = qoff_mtu6(req);
	if (err)
		return err;
	if (req->msg->msg_flags & MSG_PROBE)
		dst_confirm_neigh(dst, &fl6.daddr);
	qoff_route_common(req, &ipc6.sockc, READ_ONCE(sk->sk_priority));
	return 0;
}

/* What ip6_autoflowlabel() says, which is not exported */
static bool qoff_autolabel6(const struct sock *sk)
{
	if (!inet6_test_bit(AUTOFLOWLABEL_SET, sk))
		return ip6_default_np_autolabel(sock_net(sk));
	return inet6_test_bit(AUTOFLOWLABEL, sk);
}

static void qoff_flowlabel6(struct qoff_tx_req *req, struct sk_buff *skb)
{
	struct ipv6hdr *ip6 = &req->hdr.ip6;
	struct flowi6 fl6 = {
		.saddr = ip6->saddr,
		.daddr = ip6->daddr,
		.flowlabel = ip6_flowlabel(ip6),
		.flowi6_proto = IPPROTO_UDP,
		.fl6_sport = req->hdr.uh6.source,
		.fl6_dport = req->hdr.uh6.dest,
	};

	ip6_flow_hdr(ip6, ip6_tclass(ip6_flowinfo(ip6)),
		     ip6_make_flowlabel(sock_net(req->sk), skb, fl6.flowlabel,
					qoff_autolabel6(req->sk), &fl6));
}

/* An IPv6 socket sends IPv4 too: v4-mapped, or given a sockaddr_in */
static int qoff_route_sock6(struct qoff_tx_req *req)
{
	struct sockaddr_in6 *sin6 = req->msg->msg_name;
	int namelen = req->msg->msg_namelen;
	struct sock *sk = req->sk;
	struct in6_addr *daddr;
	struct sockaddr_in sin;

	if (sin6) {
		if (namelen < offsetof(struct sockaddr, sa_data))
			return -EINVAL;
		if (sin6->sin6_family == AF_UNSPEC)
			sin6 = NULL;
		else if (sin6->sin6_family == AF_INET)
			goto v4;
		else if (sin6->sin6_family != AF_INET6 ||
			 namelen < SIN6_LEN_RFC2133)
			return -EINVAL;
	}
	if (!sin6 && sk->sk_state != TCP_ESTABLISHED)
		return -EDESTADDRREQ;

	daddr = sin6 ? &sin6->sin6_addr : &sk->sk_v6_daddr;
	if (sin6 && ipv6_addr_any(daddr) &&
	    ipv6_addr_v4mapped(&inet6_sk(sk)->saddr))
		ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), daddr);
	if (!ipv6_addr_v4mapped(daddr))
		return qoff_route6(req, sin6, &namelen);

	if (ipv6_only_sock(sk))
		return -ENETUNREACH;
	sin.sin_family = AF_INET;
	sin.sin_port = sin6 ? sin6->sin6_port : inet_sk(sk)->inet_dport;
	sin.sin_addr.s_addr = daddr->s6_addr32[3];
	namelen = sizeof(sin);
	return qoff_route4(req, &sin, &namelen);

v4:
	if (ipv6_only_sock(sk))
		return -ENETUNREACH;
	if (namelen < sizeof(sin))
		return -EINVAL;
	return qoff_route4(req, (struct sockaddr_in *)sin6, &namelen);
}
#endif /* CONFIG_IPV6 */

/**
 * qoff_tx_route() - address, route, header template
 * @req: parsed; the route is filled in
 *
 * Context: process, may sleep.
 * Return: 0 or the errno for the caller; req->dst is set or NULL either way.
 */
int qoff_tx_route(struct qoff_tx_req *req)
{
	struct sockaddr_in *usin = req->msg->msg_name;
	int namelen = req->msg->msg_namelen;

#if IS_ENABLED(CONFIG_IPV6)
	if (req->sk->sk_family == AF_INET6)
		return qoff_route_sock6(req);
#endif
	if (usin) {
		if (namelen < sizeof(*usin))
			return -EINVAL;
		if (usin->sin_family != AF_INET &&
		    usin->sin_family != AF_UNSPEC)
			return -EAFNOSUPPORT;
	}
	return qoff_route4(req, usin, &namelen);
}

/**
 * qoff_tx_wait_room() - wait for send buffer space, and get the first skb
 * @req: routed
 *
 * As UDP does: a send may begin while the buffer is not full, and then takes
 * what it needs, so the buffer is overrun by one super-packet at most.
 *
 * Context: process, may sleep.
 * Return: 0, -EAGAIN, a socket error, -EPIPE, -ERESTARTSYS, -ENOBUFS.
 */
int qoff_tx_wait_room(struct qoff_tx_req *req)
{
	int err = 0;

	req->first = sock_alloc_send_skb(req->sk, req->hh_len + req->hdr_len,
					 req->msg->msg_flags & MSG_DONTWAIT,
					 &err);
	if (!req->first)
		return err;
#if IS_ENABLED(CONFIG_IPV6)
	if (req->v6)
		qoff_flowlabel6(req, req->first);
#endif
	return 0;
}
