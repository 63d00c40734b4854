// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: netlink requests about receive flows.
 */

#include <net/ipv6.h>

#include "ctl.h"
#include "nl.h"
#include "nl-gen.h"

static const struct qoff_key_attrs qoff_flow_key_attrs = {
	.cipher = QUIC_OFFLOAD_A_FLOW_CIPHER,
	.phase = QUIC_OFFLOAD_A_FLOW_PHASE,
	.key = QUIC_OFFLOAD_A_FLOW_KEY,
	.iv = QUIC_OFFLOAD_A_FLOW_IV,
	.hp = QUIC_OFFLOAD_A_FLOW_HP_KEY,
};

static int qoff_nl_addr(struct genl_info *info, int attr, u8 *family,
			struct in6_addr *addr)
{
	const struct nlattr *a = info->attrs[attr];

	switch (nla_len(a)) {
	case sizeof(struct in_addr):
		*family = AF_INET;
		addr->s6_addr32[0] = nla_get_in_addr(a);
		if (addr->s6_addr32[0] &&
		    !ipv4_is_multicast(addr->s6_addr32[0]) &&
		    !ipv4_is_lbcast(addr->s6_addr32[0]))
			return 0;
		break;
	case sizeof(struct in6_addr):
		*family = AF_INET6;
		*addr = nla_get_in6_addr(a);
		if (ipv6_addr_v4mapped(addr)) {
			*family = AF_INET;
			addr->s6_addr32[0] = addr->s6_addr32[3];
			memset(&addr->s6_addr32[1], 0, 12);
			if (addr->s6_addr32[0] &&
			    !ipv4_is_multicast(addr->s6_addr32[0]))
				return 0;
		} else if (!ipv6_addr_any(addr) && !ipv6_addr_is_multicast(addr)) {
			return 0;
		}
		break;
	default:
		NL_SET_ERR_MSG_ATTR(info->extack, a,
				    "an address has 4 or 16 bytes");
		return -EINVAL;
	}
	NL_SET_ERR_MSG_ATTR(info->extack, a,
			    "not the address of one host");
	return -EINVAL;
}

static int qoff_nl_flow_key(struct genl_info *info, u8 dcid_len,
			    struct qoff_flow_key *key)
{
	struct nlattr **a = info->attrs;
	u8 family = 0;
	int err;

	err = qoff_nl_addr(info, QUIC_OFFLOAD_A_FLOW_LOCAL_ADDR, &key->family,
			   &key->local);
	if (!err)
		err = qoff_nl_addr(info, QUIC_OFFLOAD_A_FLOW_REMOTE_ADDR,
				   &family, &key->remote);
	if (err)
		return err;
	if (family != key->family) {
		NL_SET_ERR_MSG(info->extack,
			       "local-addr and remote-addr are of different families");
		return -EINVAL;
	}
	key->remote_port = nla_get_be16(a[QUIC_OFFLOAD_A_FLOW_REMOTE_PORT]);
	if (!key->remote_port) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    a[QUIC_OFFLOAD_A_FLOW_REMOTE_PORT],
				    "port 0");
		return -EINVAL;
	}
	if (nla_len(a[QUIC_OFFLOAD_A_FLOW_DCID]) != dcid_len) {
		NL_SET_ERR_MSG_ATTR(info->extack, a[QUIC_OFFLOAD_A_FLOW_DCID],
				    "the DCID does not have the length of the group's");
		return -EINVAL;
	}
	if (a[QUIC_OFFLOAD_A_FLOW_SCOPE_ID])
		key->scope = nla_get_u32(a[QUIC_OFFLOAD_A_FLOW_SCOPE_ID]);
	key->dcid_len = dcid_len;
	memcpy(key->dcid, nla_data(a[QUIC_OFFLOAD_A_FLOW_DCID]), dcid_len);
	return 0;
}

static int qoff_nl_largest_pn(struct genl_info *info, u64 *next_pn)
{
	struct nlattr *attr = info->attrs[QUIC_OFFLOAD_A_FLOW_LARGEST_PN];

	if (!attr)
		return 0;
	if (nla_get_u64(attr) > QOFF_PN_MAX) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "packet numbers end at 2^62-1");
		return -ERANGE;
	}
	*next_pn = nla_get_u64(attr) + 1;
	return 0;
}

/* All that belongs to a first key, or nothing of it */
static int qoff_nl_flow_keys(struct genl_info *info, struct qoff_flow_conf *conf)
{
	static const int need[] = {
		QUIC_OFFLOAD_A_FLOW_CIPHER, QUIC_OFFLOAD_A_FLOW_PHASE,
		QUIC_OFFLOAD_A_FLOW_KEY, QUIC_OFFLOAD_A_FLOW_IV,
		QUIC_OFFLOAD_A_FLOW_HP_KEY,
	};
	struct nlattr **a = info->attrs;
	unsigned int i, given = 0;
	int err;

	for (i = 0; i < ARRAY_SIZE(need); i++)
		given += !!a[need[i]];
	if (a[QUIC_OFFLOAD_A_FLOW_KEYS_OF]) {
		if (given || a[QUIC_OFFLOAD_A_FLOW_LARGEST_PN]) {
			NL_SET_ERR_MSG(info->extack,
				       "keys-of excludes keys and largest-pn");
			return -EINVAL;
		}
		conf->keys_of = nla_get_u32(a[QUIC_OFFLOAD_A_FLOW_KEYS_OF]);
		return 0;
	}
	if (!given) {
		if (!a[QUIC_OFFLOAD_A_FLOW_LARGEST_PN] &&
		    !a[QUIC_OFFLOAD_A_FLOW_KEY_GEN])
			return 0;
		NL_SET_ERR_MSG(info->extack,
			       "largest-pn and key-gen need a key");
		return -EINVAL;
	}
	err = qoff_nl_require(info, need, ARRAY_SIZE(need));
	if (err)
		return err;
	if (a[QUIC_OFFLOAD_A_FLOW_KEY_GEN])
		conf->keys.gen = nla_get_u32(a[QUIC_OFFLOAD_A_FLOW_KEY_GEN]);
	qoff_nl_key(info, &qoff_flow_key_attrs, true, &conf->keys);
	err = qoff_nl_largest_pn(info, &conf->next_pn);
	return err ?: qoff_key_conf_check(&conf->keys, conf->keys.cipher,
					  info->extack);
}

static int qoff_nl_flow_conf(struct genl_info *info, u8 dcid_len,
			     struct qoff_flow_conf *conf)
{
	static const int need[] = {
		QUIC_OFFLOAD_A_FLOW_LOCAL_ADDR, QUIC_OFFLOAD_A_FLOW_REMOTE_ADDR,
		QUIC_OFFLOAD_A_FLOW_REMOTE_PORT, QUIC_OFFLOAD_A_FLOW_DCID,
	};
	struct nlattr **a = info->attrs;
	int err;

	err = qoff_nl_require(info, need, ARRAY_SIZE(need));
	if (!err)
		err = qoff_nl_flow_key(info, dcid_len, &conf->key);
	if (err)
		return err;
	if (a[QUIC_OFFLOAD_A_FLOW_COOKIE])
		conf->cookie = nla_get_u64(a[QUIC_OFFLOAD_A_FLOW_COOKIE]);
	return qoff_nl_flow_keys(info, conf);
}

int quic_offload_nl_flow_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct qoff_flow_conf conf = {};
	struct qoff_group *g;
	struct socket *sock;
	struct qoff_reply r;
	u32 id = 0;
	int err;

	sock = qoff_nl_sock(info, QUIC_OFFLOAD_A_FLOW_FD);
	if (IS_ERR(sock)) {
		err = PTR_ERR(sock);
		goto out;
	}
	g = qoff_nl_group(sock);
	err = qoff_nl_flow_conf(info, g->dcid_len, &conf);
	if (err)
		goto out_sock;
	err = qoff_reply_start(&r, info);
	if (err)
		goto out_sock;
	err = qoff_flow_add(g, sock->sk, &conf, info->extack, &id);
	if (!err)
		err = nla_put_u32(r.skb, QUIC_OFFLOAD_A_FLOW_ID, id);
	err = qoff_reply_end(&r, info, err);
out_sock:
	sockfd_put(sock);
out:
	qoff_wipe_keys(info, &qoff_flow_key_attrs, true);
	return err;
}

static int qoff_nl_flow_retire(struct genl_info *info, struct qoff_group *g,
			       u32 id)
{
	struct nlattr **a = info->attrs;

	if (GENL_REQ_ATTR_CHECK(info, QUIC_OFFLOAD_A_FLOW_PHASE))
		return -EINVAL;
	if (a[QUIC_OFFLOAD_A_FLOW_CIPHER] || a[QUIC_OFFLOAD_A_FLOW_KEY] ||
	    a[QUIC_OFFLOAD_A_FLOW_IV] || a[QUIC_OFFLOAD_A_FLOW_HP_KEY] ||
	    a[QUIC_OFFLOAD_A_FLOW_KEY_GEN] || a[QUIC_OFFLOAD_A_FLOW_LARGEST_PN]) {
		NL_SET_ERR_MSG(info->extack, "retire goes with the phase alone");
		return -EINVAL;
	}
	return qoff_flow_retire(g, id, nla_get_u8(a[QUIC_OFFLOAD_A_FLOW_PHASE]),
				info->extack);
}

static int qoff_nl_flow_update(struct genl_info *info, struct qoff_group *g,
			       u32 id)
{
	static const int need[] = {
		QUIC_OFFLOAD_A_FLOW_PHASE, QUIC_OFFLOAD_A_FLOW_KEY,
		QUIC_OFFLOAD_A_FLOW_IV,
	};
	struct qoff_flow_conf conf = {};
	struct nlattr **a = info->attrs;
	int err;

	err = qoff_nl_require(info, need, ARRAY_SIZE(need));
	if (!err)
		err = qoff_nl_largest_pn(info, &conf.next_pn);
	if (err)
		return err;
	if (a[QUIC_OFFLOAD_A_FLOW_KEY_GEN])
		conf.keys.gen = nla_get_u32(a[QUIC_OFFLOAD_A_FLOW_KEY_GEN]);
	qoff_nl_key(info, &qoff_flow_key_attrs, true, &conf.keys);
	return qoff_flow_update(g, id, &conf, info->extack);
}

int quic_offload_nl_flow_update_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **a = info->attrs;
	struct socket *sock;
	int err = -EINVAL;
	u32 id;

	sock = qoff_nl_sock(info, QUIC_OFFLOAD_A_FLOW_FD);
	if (IS_ERR(sock)) {
		err = PTR_ERR(sock);
		goto out;
	}
	if (GENL_REQ_ATTR_CHECK(info, QUIC_OFFLOAD_A_FLOW_ID))
		goto out_sock;
	id = nla_get_u32(a[QUIC_OFFLOAD_A_FLOW_ID]);
	if (a[QUIC_OFFLOAD_A_FLOW_RETIRE])
		err = qoff_nl_flow_retire(info, qoff_nl_group(sock), id);
	else
		err = qoff_nl_flow_update(info, qoff_nl_group(sock), id);
out_sock:
	sockfd_put(sock);
out:
	qoff_wipe_keys(info, &qoff_flow_key_attrs, true);
	return err;
}

int quic_offload_nl_flow_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct socket *sock;
	int err = -EINVAL;

	sock = qoff_nl_sock(info, QUIC_OFFLOAD_A_FLOW_FD);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	if (!GENL_REQ_ATTR_CHECK(info, QUIC_OFFLOAD_A_FLOW_ID))
		err = qoff_flow_del(qoff_nl_group(sock),
				    nla_get_u32(info->attrs[QUIC_OFFLOAD_A_FLOW_ID]),
				    info->extack);
	sockfd_put(sock);
	return err;
}

static int qoff_put_addr(struct sk_buff *skb, int attr, u8 family,
			 const struct in6_addr *addr)
{
	if (family == AF_INET)
		return nla_put_in_addr(skb, attr, addr->s6_addr32[0]);
	return nla_put_in6_addr(skb, attr, addr);
}

static int qoff_flow_fill_key(struct sk_buff *skb, const struct qoff_flow *flow)
{
	const struct qoff_flow_key *k = &flow->key;

	if (nla_put_u32(skb, QUIC_OFFLOAD_A_FLOW_ID, flow->id) ||
	    qoff_put_addr(skb, QUIC_OFFLOAD_A_FLOW_LOCAL_ADDR, k->family,
			  &k->local) ||
	    qoff_put_addr(skb, QUIC_OFFLOAD_A_FLOW_REMOTE_ADDR, k->family,
			  &k->remote) ||
	    (k->scope &&
	     nla_put_u32(skb, QUIC_OFFLOAD_A_FLOW_SCOPE_ID, k->scope)) ||
	    nla_put_be16(skb, QUIC_OFFLOAD_A_FLOW_REMOTE_PORT, k->remote_port) ||
	    nla_put(skb, QUIC_OFFLOAD_A_FLOW_DCID, k->dcid_len, k->dcid) ||
	    qoff_put_u64(skb, QUIC_OFFLOAD_A_FLOW_COOKIE, flow->cookie))
		return -EMSGSIZE;
	return 0;
}

/* The newest generation stands for the keys */
static int qoff_flow_fill_keys(struct sk_buff *skb, const struct qoff_group *g,
			       struct qoff_rxkeys *keys)
{
	const struct qoff_key *a, *b, *key;
	u64 next_pn;

	a = rcu_dereference_protected(keys->slot[0], lockdep_is_held(&g->lock));
	b = rcu_dereference_protected(keys->slot[1], lockdep_is_held(&g->lock));
	key = a && (!b || (s32)(a->gen - b->gen) > 0) ? a : b;
	spin_lock_bh(&keys->lock);
	next_pn = keys->next_pn;
	spin_unlock_bh(&keys->lock);
	if (nla_put_u32(skb, QUIC_OFFLOAD_A_FLOW_CIPHER, keys->cipher) ||
	    (key && nla_put_u8(skb, QUIC_OFFLOAD_A_FLOW_PHASE, key->phase)) ||
	    (key && nla_put_u32(skb, QUIC_OFFLOAD_A_FLOW_KEY_GEN, key->gen)) ||
	    (next_pn && qoff_put_u64(skb, QUIC_OFFLOAD_A_FLOW_LARGEST_PN,
				     next_pn - 1)) ||
	    qoff_put_u64(skb, QUIC_OFFLOAD_A_FLOW_FAILED,
			 atomic64_read(&keys->failed)) ||
	    qoff_put_u64(skb, QUIC_OFFLOAD_A_FLOW_FAILED_LIMIT,
			 qoff_cipher_info(keys->cipher)->open_limit))
		return -EMSGSIZE;
	return 0;
}

static int qoff_flow_fill(struct sk_buff *skb, const struct qoff_flow *flow)
{
	const struct qoff_group *g = flow->group;
	struct qoff_rxkeys *keys;

	lockdep_assert_held(&g->lock);
	keys = rcu_dereference_protected(flow->keys, lockdep_is_held(&g->lock));
	if (qoff_flow_fill_key(skb, flow) ||
	    (keys && qoff_flow_fill_keys(skb, g, keys)) ||
	    qoff_put_place(skb, QUIC_OFFLOAD_A_FLOW_DEV_ID,
			   rcu_dereference_protected(flow->place, 1)))
		return -EMSGSIZE;
	return qoff_put_stats(skb, QUIC_OFFLOAD_A_FLOW_STATS, &flow->stats,
			      QOFF_CNT_RX_BATCHES, QOFF_CNT_RX_DROP_FULL);
}

static int qoff_flow_fill_id(struct sk_buff *skb, struct qoff_group *g,
			     u32 id, struct netlink_ext_ack *extack)
{
	struct qoff_flow *flow = xa_load(&g->flows, id);

	if (!flow) {
		NL_SET_ERR_MSG(extack, "the group has no flow with this id");
		return -ENOENT;
	}
	return qoff_flow_fill(skb, flow);
}

int quic_offload_nl_flow_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return qoff_nl_get_one(info, QUIC_OFFLOAD_A_FLOW_FD,
			       QUIC_OFFLOAD_A_FLOW_ID, qoff_flow_fill_id);
}
