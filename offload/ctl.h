/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QUIC offload: what the files of the control plane share.
 *
 *	main.c   module, namespaces, the rules for locks and lifetimes
 *	nl.c     netlink requests: parsing and checks that need no lock
 *	sock.c   attaching a socket, and what an attached socket does differently
 *	group.c  attach groups and the limit per user
 *	ctx.c    transmit contexts
 *	flow.c   receive flows and their keys
 *	place.c  contexts and flows inside devices
 *	dev.c    the device registry
 */
#ifndef _QOFF_CTL_H
#define _QOFF_CTL_H

#include "qoff.h"

struct genl_info;

/**
 * struct qoff_key_conf - a key as a netlink request gives it
 * @cipher: enum quic_offload_cipher, 0: not given
 * @phase: key phase bit
 * @gen: user's generation, receive
 * @key_len: bytes of @key
 * @hp_len: bytes of @hp
 * @key: AEAD key, NULL: not given
 * @iv: QOFF_IV_SIZE bytes, NULL: not given
 * @hp: header-protection key, NULL: not given
 *
 * The pointers lead into the request, which nl.c wipes.
 */
struct qoff_key_conf {
	u8 cipher;
	u8 phase;
	u32 gen;
	unsigned int key_len;
	unsigned int hp_len;
	const u8 *key;
	const u8 *iv;
	const u8 *hp;
};

/**
 * struct qoff_route - where a context's or flow's packets leave
 * @family: AF_INET or AF_INET6
 * @local: source address, IPv4 in the first word
 * @remote: destination, likewise
 * @oif: device the socket is bound to, or 0
 * @mark: the socket's
 */
struct qoff_route {
	u8 family;
	struct in6_addr local;
	struct in6_addr remote;
	int oif;
	u32 mark;
};

/* group.c */
void qoff_group_exit(void);
struct qoff_group *qoff_group_create(struct net *net, kuid_t uid, u8 dcid_len);
void qoff_group_put(struct qoff_group *g);
int qoff_group_charge(struct qoff_group *g, struct netlink_ext_ack *extack);
void qoff_group_uncharge(struct qoff_group *g);
void qoff_group_leave(struct qoff_sock *qs);
bool qoff_group_has_port(struct qoff_group *g, u16 port,
			 const struct sock *except);
void qoff_group_for_each(const struct net *net,
			 void (*fn)(struct qoff_group *g));

static inline bool qoff_group_hold(struct qoff_group *g)
{
	return refcount_inc_not_zero(&g->ref);
}

/* sock.c */
bool qoff_attached(const struct sock *sk);
int qoff_sock_attach(struct sock *sk, struct sock *join, int dcid_len,
		     u16 rx_hdr_size, u16 rx_seg_size,
		     struct netlink_ext_ack *extack);

/* ctx.c */
struct qoff_ctx_conf {
	struct qoff_key_conf key;
	u8 dcid_len;
	u8 flags;
	u64 first_pn;
};

int qoff_ctx_add(struct qoff_group *g, const struct sock *sk,
		 const struct qoff_ctx_conf *conf,
		 struct netlink_ext_ack *extack, u32 *id, u32 *gen);
int qoff_ctx_update(struct qoff_group *g, u32 id, u32 gen,
		    const struct qoff_key_conf *conf,
		    struct netlink_ext_ack *extack);
int qoff_ctx_del(struct qoff_group *g, u32 id, u32 gen,
		 struct netlink_ext_ack *extack);
void qoff_ctx_del_all(struct qoff_group *g);
void qoff_ctx_refresh_all(struct qoff_group *g);
struct qoff_key *qoff_ctx_newest(const struct qoff_ctx *ctx);
void qoff_ctx_exit(void);

/* flow.c */
struct qoff_flow_conf {
	struct qoff_flow_key key;
	struct qoff_key_conf keys;
	u64 cookie;
	u64 next_pn;
	u32 keys_of;
};

extern const struct rhashtable_params qoff_flow_params;

int qoff_flow_add(struct qoff_group *g, const struct sock *sk,
		  const struct qoff_flow_conf *conf,
		  struct netlink_ext_ack *extack, u32 *id);
int qoff_flow_update(struct qoff_group *g, u32 id,
		     const struct qoff_flow_conf *conf,
		     struct netlink_ext_ack *extack);
int qoff_flow_retire(struct qoff_group *g, u32 id, u8 phase,
		     struct netlink_ext_ack *extack);
int qoff_flow_del(struct qoff_group *g, u32 id, struct netlink_ext_ack *extack);
void qoff_flow_del_port(struct qoff_group *g, u16 port);
void qoff_flow_refresh_all(struct qoff_group *g);

/* route.c */
bool qoff_route_of_sock(struct qoff_route *r, const struct sock *sk);
struct qoff_dev *qoff_route_dev(struct net *net, const struct qoff_route *r);
int qoff_route_net_init(struct net *net);
void qoff_route_net_exit(struct net *net);

/* place.c */
struct qoff_place *qoff_place_ctx(struct qoff_dev *qd, struct net *net,
				  const struct qoff_ctx *ctx);
struct qoff_place *qoff_place_flow(struct qoff_dev *qd, struct net *net,
				   const struct qoff_flow_params *fp);
int qoff_place_key(struct qoff_place *p, u8 phase, struct qoff_key *key);
void qoff_place_kill(struct qoff_place *p);
void qoff_places_lost(struct qoff_dev *qd);
void qoff_places_kill_all(struct qoff_dev *qd);

/* dev.c */
int qoff_dev_init(void);
void qoff_dev_exit(void);
struct qoff_dev *qoff_dev_get_by_id(struct net *net, u32 id);
struct qoff_dev *qoff_dev_get_by_ifindex(struct net *net, u32 ifindex);
struct qoff_dev *qoff_dev_next(struct net *net, unsigned long *id);
int qoff_dev_config(struct qoff_dev *qd, const u32 *features,
		    const u32 *tap_policy, struct netlink_ext_ack *extack);
bool qoff_dev_get_stats(struct qoff_dev *qd, struct qoff_dev_stats *stats);
void qoff_refresh_kick(void);
void qoff_refresh_group(struct qoff_group *g);

/* nl.c */
int qoff_key_conf_check(const struct qoff_key_conf *conf, u8 cipher,
			struct netlink_ext_ack *extack);
int qoff_nl_init(void);
void qoff_nl_exit(void);

#endif /* _QOFF_CTL_H */
