// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: netlink requests about transmit contexts.
 */

#include "ctl.h"
#include "nl.h"
#include "nl-gen.h"

static const struct qoff_key_attrs qoff_ctx_key_attrs = {
	.cipher = QUIC_OFFLOAD_A_CTX_CIPHER,
	.phase = QUIC_OFFLOAD_A_CTX_PHASE,
	.key = QUIC_OFFLOAD_A_CTX_KEY,
	.iv = QUIC_OFFLOAD_A_CTX_IV,
	.hp = QUIC_OFFLOAD_A_CTX_HP_KEY,
};

static int qoff_nl_ctx_conf(struct genl_info *info, struct qoff_ctx_conf *conf)
{
	static const int need[] = {
		QUIC_OFFLOAD_A_CTX_CIPHER, QUIC_OFFLOAD_A_CTX_DCID_LEN,
		QUIC_OFFLOAD_A_CTX_PHASE, QUIC_OFFLOAD_A_CTX_KEY,
		QUIC_OFFLOAD_A_CTX_IV, QUIC_OFFLOAD_A_CTX_HP_KEY,
	};
	struct nlattr **a = info->attrs;
	struct nlattr *attr;

	if (qoff_nl_require(info, need, ARRAY_SIZE(need)))
		return -EINVAL;
	attr = a[QUIC_OFFLOAD_A_CTX_PATH_ID];
	if (attr && nla_get_u32(attr)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "path-id is reserved and must be 0");
		return -EOPNOTSUPP;
	}
	attr = a[QUIC_OFFLOAD_A_CTX_FIRST_PN];
	if (attr)
		conf->first_pn = nla_get_u64(attr);
	if (conf->first_pn > QOFF_PN_MAX) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "packet numbers end at 2^62-1");
		return -ERANGE;
	}
	conf->dcid_len = nla_get_u8(a[QUIC_OFFLOAD_A_CTX_DCID_LEN]);
	if (a[QUIC_OFFLOAD_A_CTX_FLAGS])
		conf->flags = nla_get_u32(a[QUIC_OFFLOAD_A_CTX_FLAGS]);
	qoff_nl_key(info, &qoff_ctx_key_attrs, true, &conf->key);
	return qoff_key_conf_check(&conf->key, conf->key.cipher, info->extack);
}

int quic_offload_nl_ctx_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct qoff_ctx_conf conf = {};
	struct socket *sock;
	struct qoff_reply r;
	u32 id = 0, gen = 0;
	int err;

	sock = qoff_nl_sock(info, QUIC_OFFLOAD_A_CTX_FD);
	if (IS_ERR(sock)) {
		err = PTR_ERR(sock);
		goto out;
	}
	err = qoff_nl_ctx_conf(info, &conf);
	if (err)
		goto out_sock;
	err = qoff_reply_start(&r, info);
	if (err)
		goto out_sock;
	err = qoff_ctx_add(qoff_nl_group(sock), sock->sk, &conf, info->extack,
			   &id, &gen);
	if (!err && (nla_put_u32(r.skb, QUIC_OFFLOAD_A_CTX_ID, id) ||
		     nla_put_u32(r.skb, QUIC_OFFLOAD_A_CTX_GEN, gen)))
		err = -EMSGSIZE;
	err = qoff_reply_end(&r, info, err);
out_sock:
	sockfd_put(sock);
out:
	qoff_wipe_keys(info, &qoff_ctx_key_attrs, true);
	return err;
}

int quic_offload_nl_ctx_update_doit(struct sk_buff *skb, struct genl_info *info)
{
	static const int need[] = {
		QUIC_OFFLOAD_A_CTX_ID, QUIC_OFFLOAD_A_CTX_GEN,
		QUIC_OFFLOAD_A_CTX_PHASE, QUIC_OFFLOAD_A_CTX_KEY,
		QUIC_OFFLOAD_A_CTX_IV,
	};
	struct nlattr **a = info->attrs;
	struct qoff_key_conf conf = {};
	struct socket *sock;
	int err;

	sock = qoff_nl_sock(info, QUIC_OFFLOAD_A_CTX_FD);
	if (IS_ERR(sock)) {
		err = PTR_ERR(sock);
		goto out;
	}
	err = qoff_nl_require(info, need, ARRAY_SIZE(need));
	if (err)
		goto out_sock;
	qoff_nl_key(info, &qoff_ctx_key_attrs, false, &conf);
	err = qoff_ctx_update(qoff_nl_group(sock),
			      nla_get_u32(a[QUIC_OFFLOAD_A_CTX_ID]),
			      nla_get_u32(a[QUIC_OFFLOAD_A_CTX_GEN]), &conf,
			      info->extack);
out_sock:
	sockfd_put(sock);
out:
	qoff_wipe_keys(info, &qoff_ctx_key_attrs, false);
	return err;
}

int quic_offload_nl_ctx_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **a = info->attrs;
	struct socket *sock;
	int err = -EINVAL;

	sock = qoff_nl_sock(info, QUIC_OFFLOAD_A_CTX_FD);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	if (!GENL_REQ_ATTR_CHECK(info, QUIC_OFFLOAD_A_CTX_ID) &&
	    !GENL_REQ_ATTR_CHECK(info, QUIC_OFFLOAD_A_CTX_GEN))
		err = qoff_ctx_del(qoff_nl_group(sock),
				   nla_get_u32(a[QUIC_OFFLOAD_A_CTX_ID]),
				   nla_get_u32(a[QUIC_OFFLOAD_A_CTX_GEN]),
				   info->extack);
	sockfd_put(sock);
	return err;
}

static int qoff_ctx_fill(struct sk_buff *skb, struct qoff_ctx *ctx)
{
	const struct qoff_key *key = qoff_ctx_newest(ctx);
	u64 next_pn, used;

	lockdep_assert_held(&ctx->group->lock);
	spin_lock_bh(&ctx->lock);
	next_pn = ctx->next_pn;
	used = key->used;
	spin_unlock_bh(&ctx->lock);
	if (nla_put_u32(skb, QUIC_OFFLOAD_A_CTX_ID, ctx->id) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_CTX_GEN, ctx->gen) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_CTX_CIPHER, ctx->cipher) ||
	    nla_put_u8(skb, QUIC_OFFLOAD_A_CTX_DCID_LEN, ctx->dcid_len) ||
	    nla_put_u8(skb, QUIC_OFFLOAD_A_CTX_PHASE, key->phase) ||
	    nla_put_u32(skb, QUIC_OFFLOAD_A_CTX_FLAGS, ctx->flags) ||
	    qoff_put_u64(skb, QUIC_OFFLOAD_A_CTX_NEXT_PN, next_pn) ||
	    qoff_put_u64(skb, QUIC_OFFLOAD_A_CTX_KEY_USED, used) ||
	    qoff_put_u64(skb, QUIC_OFFLOAD_A_CTX_KEY_LIMIT,
			 qoff_cipher_info(ctx->cipher)->seal_limit) ||
	    qoff_put_place(skb, QUIC_OFFLOAD_A_CTX_DEV_ID,
			   rcu_dereference_protected(ctx->place, 1)))
		return -EMSGSIZE;
	return qoff_put_stats(skb, QUIC_OFFLOAD_A_CTX_STATS, &ctx->stats,
			      QOFF_CNT_TX_SUPER, QOFF_CNT_TX_TAP);
}

static int qoff_ctx_fill_id(struct sk_buff *skb, struct qoff_group *g,
			    u32 id, struct netlink_ext_ack *extack)
{
	struct qoff_ctx *ctx = xa_load(&g->ctxs, id);

	if (!ctx) {
		NL_SET_ERR_MSG(extack, "the group has no context with this id");
		return -ENOENT;
	}
	return qoff_ctx_fill(skb, ctx);
}

int quic_offload_nl_ctx_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return qoff_nl_get_one(info, QUIC_OFFLOAD_A_CTX_FD,
			       QUIC_OFFLOAD_A_CTX_ID, qoff_ctx_fill_id);
}
