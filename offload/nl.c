// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: netlink requests. Parsing, and the checks that need no lock;
 * the objects' files do the rest under theirs. Keys are wiped from the request
 * on every way out.
 */

#include <linux/net.h>
#include <linux/slab.h>

#include "ctl.h"
#include "nl.h"
#include "nl-gen.h"

int qoff_put_u64(struct sk_buff *skb, int attr, u64 v)
{
	return nla_put(skb, attr, sizeof(v), &v);
}

/* Counters from @from to @to, both included */
int qoff_put_stats(struct sk_buff *skb, int attr,
		   const struct qoff_stats *s, enum qoff_cnt from,
		   enum qoff_cnt to)
{
	struct nlattr *nest = nla_nest_start(skb, attr);
	unsigned int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = from; i <= to; i++)
		if (nla_put_uint(skb, QUIC_OFFLOAD_A_STATS_TX_SUPER + i,
				 (unsigned long)atomic_long_read(&s->v[i]))) {
			nla_nest_cancel(skb, nest);
			return -EMSGSIZE;
		}
	nla_nest_end(skb, nest);
	return 0;
}

static_assert(QUIC_OFFLOAD_A_STATS_TX_SUPER + QOFF_CNT_MAX ==
	      __QUIC_OFFLOAD_A_STATS_MAX, "a counter without an attribute");

/* The device that holds a context or flow, if one does */
int qoff_put_place(struct sk_buff *skb, int attr,
		   const struct qoff_place *p)
{
	if (!p || !qoff_place_ok(p))
		return 0;
	return nla_put_u32(skb, attr, p->qd->id);
}

int qoff_reply_start(struct qoff_reply *r, struct genl_info *info)
{
	r->skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!r->skb)
		return -ENOMEM;
	r->hdr = genlmsg_iput(r->skb, info);
	if (!r->hdr) {
		nlmsg_free(r->skb);
		return -EMSGSIZE;
	}
	return 0;
}

int qoff_reply_end(struct qoff_reply *r, struct genl_info *info, int err)
{
	if (err) {
		nlmsg_free(r->skb);
		return err;
	}
	genlmsg_end(r->skb, r->hdr);
	return genlmsg_reply(r->skb, info);
}

/* Sockets */

static struct socket *qoff_nl_fd(struct genl_info *info, int attr)
{
	struct socket *sock;
	int err;

	sock = sockfd_lookup(nla_get_s32(info->attrs[attr]), &err);
	if (!sock) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[attr],
				    "no socket has this file descriptor");
		return ERR_PTR(err);
	}
	if (!net_eq(sock_net(sock->sk), genl_info_net(info))) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[attr],
				    "the socket is in another network namespace");
		sockfd_put(sock);
		return ERR_PTR(-EINVAL);
	}
	return sock;
}

/* The attached socket that the request's fd names; sockfd_put() it */
struct socket *qoff_nl_sock(struct genl_info *info, int attr)
{
	struct socket *sock;

	if (GENL_REQ_ATTR_CHECK(info, attr))
		return ERR_PTR(-EINVAL);
	sock = qoff_nl_fd(info, attr);
	if (IS_ERR(sock))
		return sock;
	if (!qoff_attached(sock->sk)) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[attr],
				    "the socket is not attached");
		sockfd_put(sock);
		return ERR_PTR(-ENOTCONN);
	}
	return sock;
}

int qoff_nl_get_one(struct genl_info *info, int fd_attr, int id_attr,
		    int (*fill)(struct sk_buff *skb, struct qoff_group *g,
				u32 id, struct netlink_ext_ack *extack))
{
	struct qoff_group *g;
	struct socket *sock;
	struct qoff_reply r;
	int err = -EINVAL;

	sock = qoff_nl_sock(info, fd_attr);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	if (GENL_REQ_ATTR_CHECK(info, id_attr))
		goto out;
	err = qoff_reply_start(&r, info);
	if (err)
		goto out;
	g = qoff_nl_group(sock);
	mutex_lock(&g->lock);
	err = fill(r.skb, g, nla_get_u32(info->attrs[id_attr]), info->extack);
	mutex_unlock(&g->lock);
	err = qoff_reply_end(&r, info, err);
out:
	sockfd_put(sock);
	return err;
}

int quic_offload_nl_sock_attach_doit(struct sk_buff *skb, struct genl_info *info)
{
	u16 hdr_size = QOFF_RX_HDR_MIN, seg_size = QOFF_RX_SEG_MIN;
	struct socket *sock, *join = NULL;
	struct nlattr **a = info->attrs;
	struct qoff_reply r;
	int dcid_len = -1;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, QUIC_OFFLOAD_A_SOCK_FD))
		return -EINVAL;
	if (a[QUIC_OFFLOAD_A_SOCK_DCID_LEN])
		dcid_len = nla_get_u8(a[QUIC_OFFLOAD_A_SOCK_DCID_LEN]);
	else if (!a[QUIC_OFFLOAD_A_SOCK_JOIN_FD] &&
		 GENL_REQ_ATTR_CHECK(info, QUIC_OFFLOAD_A_SOCK_DCID_LEN))
		return -EINVAL;
	if (a[QUIC_OFFLOAD_A_SOCK_RX_HDR_SIZE])
		hdr_size = nla_get_u16(a[QUIC_OFFLOAD_A_SOCK_RX_HDR_SIZE]);
	if (a[QUIC_OFFLOAD_A_SOCK_RX_SEG_SIZE])
		seg_size = nla_get_u16(a[QUIC_OFFLOAD_A_SOCK_RX_SEG_SIZE]);

	sock = qoff_nl_fd(info, QUIC_OFFLOAD_A_SOCK_FD);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	if (a[QUIC_OFFLOAD_A_SOCK_JOIN_FD]) {
		join = qoff_nl_fd(info, QUIC_OFFLOAD_A_SOCK_JOIN_FD);
		if (IS_ERR(join)) {
			err = PTR_ERR(join);
			goto out_sock;
		}
	}
	/* Attach cannot be undone, so what may fail comes first */
	err = qoff_reply_start(&r, info);
	if (err)
		goto out_join;
	err = qoff_sock_attach(sock->sk, join ? join->sk : NULL, dcid_len,
			       hdr_size, seg_size, info->extack);
	if (!err)
		err = nla_put_u32(r.skb, QUIC_OFFLOAD_A_SOCK_GROUP,
				  qoff_nl_group(sock)->id);
	err = qoff_reply_end(&r, info, err);
out_join:
	if (join)
		sockfd_put(join);
out_sock:
	sockfd_put(sock);
	return err;
}

static int qoff_sock_fill(struct sk_buff *skb, const struct qoff_sock *qs)
{
	if (nla_put_u32(skb, QUIC_OFFLOAD_A_SOCK_GROUP, qs->group->id) ||
	    nla_put_u8(skb, QUIC_OFFLOAD_A_SOCK_DCID_LEN, qs->group->dcid_len) ||
	    nla_put_u16(skb, QUIC_OFFLOAD_A_SOCK_RX_HDR_SIZE, qs->rx_hdr_size) ||
	    nla_put_u16(skb, QUIC_OFFLOAD_A_SOCK_RX_SEG_SIZE, qs->rx_seg_size))
		return -EMSGSIZE;
	return qoff_put_stats(skb, QUIC_OFFLOAD_A_SOCK_STATS, &qs->stats,
			      QOFF_CNT_TX_SUPER, QOFF_CNT_RX_DROP_FULL);
}

int quic_offload_nl_sock_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct qoff_reply r;
	struct socket *sock;
	int err;

	sock = qoff_nl_sock(info, QUIC_OFFLOAD_A_SOCK_FD);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	err = qoff_reply_start(&r, info);
	if (!err)
		err = qoff_reply_end(&r, info,
				     qoff_sock_fill(r.skb, qoff_sk(sock->sk)));
	sockfd_put(sock);
	return err;
}

/* Keys */

static void qoff_wipe_attr(struct nlattr *attr)
{
	if (attr)
		memzero_explicit(nla_data(attr), nla_len(attr));
}

/* The request's skb is freed without being zeroed, and echoed in an error. Most
 * operations have no hp-key, then the attribute array may be shorter.
 */
void qoff_wipe_keys(struct genl_info *info,
		    const struct qoff_key_attrs *ka, bool hp)
{
	qoff_wipe_attr(info->attrs[ka->key]);
	qoff_wipe_attr(info->attrs[ka->iv]);
	if (hp)
		qoff_wipe_attr(info->attrs[ka->hp]);
}

static const u8 *qoff_nl_bytes(const struct nlattr *attr, unsigned int *len)
{
	if (!attr)
		return NULL;
	if (len)
		*len = nla_len(attr);
	return nla_data(attr);
}

void qoff_nl_key(struct genl_info *info, const struct qoff_key_attrs *ka,
		 bool hp, struct qoff_key_conf *conf)
{
	struct nlattr **a = info->attrs;

	if (a[ka->phase])
		conf->phase = nla_get_u8(a[ka->phase]);
	conf->key = qoff_nl_bytes(a[ka->key], &conf->key_len);
	conf->iv = qoff_nl_bytes(a[ka->iv], NULL);
	if (!hp)
		return;
	if (a[ka->cipher])
		conf->cipher = nla_get_u32(a[ka->cipher]);
	conf->hp = qoff_nl_bytes(a[ka->hp], &conf->hp_len);
}

/**
 * qoff_key_conf_check() - has the key the lengths that its cipher needs?
 * @conf: the key; @conf->key is there, @conf->hp may be NULL
 * @cipher: enum quic_offload_cipher, valid
 * @extack: for the refusal
 *
 * Return: 0 or -EINVAL.
 */
int qoff_key_conf_check(const struct qoff_key_conf *conf, u8 cipher,
			struct netlink_ext_ack *extack)
{
	const struct qoff_cipher_info *ci = qoff_cipher_info(cipher);

	if (conf->key_len != ci->key_len) {
		NL_SET_ERR_MSG(extack, "key has the wrong length for the cipher");
		return -EINVAL;
	}
	if (conf->hp && conf->hp_len != ci->hp_len) {
		NL_SET_ERR_MSG(extack, "hp-key has the wrong length for the cipher");
		return -EINVAL;
	}
	return 0;
}

int qoff_nl_require(struct genl_info *info, const int *attrs,
		    unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (GENL_REQ_ATTR_CHECK(info, attrs[i]))
			return -EINVAL;
	return 0;
}

/* Events */

/**
 * struct qoff_limit_event - an event on its way from the data path
 * @work: sends it
 * @net: where to, a reference
 * @group: attach group
 * @direction: enum quic_offload_direction
 * @id: context index or flow id
 * @used: packets
 * @limit: of them
 */
struct qoff_limit_event {
	struct work_struct work;
	struct net *net;
	u32 group;
	u32 direction;
	u32 id;
	u64 used;
	u64 limit;
};

static int qoff_limit_fill(struct sk_buff *skb, const struct qoff_limit_event *e)
{
	void *hdr;

	hdr = genlmsg_put(skb, 0, 0, &quic_offload_nl_family, 0,
			  QUIC_OFFLOAD_CMD_KEY_LIMIT_NTF);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_u32(skb, QUIC_OFFLOAD_A_EVENT_GROUP, e->group) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_EVENT_DIRECTION, e->direction) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_EVENT_ID, e->id) ||
	    qoff_put_u64(skb, QUIC_OFFLOAD_A_EVENT_USED, e->used) ||
	    qoff_put_u64(skb, QUIC_OFFLOAD_A_EVENT_LIMIT, e->limit))
		return -EMSGSIZE;
	genlmsg_end(skb, hdr);
	return 0;
}

static void qoff_limit_work(struct work_struct *work)
{
	struct qoff_limit_event *e =
		container_of(work, struct qoff_limit_event, work);
	struct sk_buff *skb;

	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (skb && !qoff_limit_fill(skb, e))
		genlmsg_multicast_netns(&quic_offload_nl_family, e->net, skb, 0,
					QUIC_OFFLOAD_NLGRP_KEYS, GFP_KERNEL);
	else
		nlmsg_free(skb);
	put_net(e->net);
	kfree(e);
}

/**
 * qoff_nl_key_limit() - tell user space that a key nears its limit
 * @net: namespace, alive
 * @group: attach group
 * @direction: enum quic_offload_direction
 * @id: context index or flow id
 * @used: packets
 * @limit: of them
 *
 * Context: any.
 * Return: false when there was no memory: then the caller tries again.
 */
bool qoff_nl_key_limit(struct net *net, u32 group, u32 direction, u32 id,
		       u64 used, u64 limit)
{
	struct qoff_limit_event *e = kmalloc(sizeof(*e), GFP_ATOMIC);

	if (!e)
		return false;
	INIT_WORK(&e->work, qoff_limit_work);
	e->net = get_net(net);
	e->group = group;
	e->direction = direction;
	e->id = id;
	e->used = used;
	e->limit = limit;
	queue_work(qoff_wq, &e->work);
	return true;
}

int __init qoff_nl_init(void)
{
	return genl_register_family(&quic_offload_nl_family);
}

void qoff_nl_exit(void)
{
	genl_unregister_family(&quic_offload_nl_family);
}
