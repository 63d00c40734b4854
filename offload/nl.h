/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QUIC offload: what the handlers of netlink requests share.
 */
#ifndef _QOFF_NL_H
#define _QOFF_NL_H

#include <linux/net.h>
#include <net/genetlink.h>

#include "ctl.h"

/**
 * struct qoff_key_attrs - which attributes of a set hold what a key needs
 * @cipher: cipher
 * @phase: key phase bit
 * @key: AEAD key
 * @iv: IV
 * @hp: header-protection key
 */
struct qoff_key_attrs {
	int cipher;
	int phase;
	int key;
	int iv;
	int hp;
};

/**
 * struct qoff_reply - the reply to a request, of one message
 * @skb: holds it
 * @hdr: its header
 */
struct qoff_reply {
	struct sk_buff *skb;
	void *hdr;
};

int qoff_reply_start(struct qoff_reply *r, struct genl_info *info);
int qoff_reply_end(struct qoff_reply *r, struct genl_info *info, int err);

int qoff_put_u64(struct sk_buff *skb, int attr, u64 v);
int qoff_put_stats(struct sk_buff *skb, int attr, const struct qoff_stats *s,
		   enum qoff_cnt from, enum qoff_cnt to);
int qoff_put_place(struct sk_buff *skb, int attr, const struct qoff_place *p);

struct socket *qoff_nl_sock(struct genl_info *info, int attr);

static inline struct qoff_group *qoff_nl_group(const struct socket *sock)
{
	return qoff_sk(sock->sk)->group;
}

/* Answer a request for one object of the socket's group: @fill finds it under
 * the group's lock and writes it, or sets extack and returns an errno.
 */
int qoff_nl_get_one(struct genl_info *info, int fd_attr, int id_attr,
		    int (*fill)(struct sk_buff *skb, struct qoff_group *g,
				u32 id, struct netlink_ext_ack *extack));

int qoff_nl_require(struct genl_info *info, const int *attrs, unsigned int n);
void qoff_nl_key(struct genl_info *info, const struct qoff_key_attrs *ka,
		 bool hp, struct qoff_key_conf *conf);
void qoff_wipe_keys(struct genl_info *info, const struct qoff_key_attrs *ka,
		    bool hp);

#endif /* _QOFF_NL_H */
