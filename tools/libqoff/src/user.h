/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The backend in user space: groups, contexts, flows and sockets as the kernel
 * has them, of this process only. Locks: see priv.h.
 */
#ifndef QOFF_USER_H
#define QOFF_USER_H

#include <stdatomic.h>

#include "priv.h"

/* The kernel's limits (offload/qoff.h). */
#define USER_MAX_CTX	4096
#define USER_MAX_FLOW	8192
#define FLOW_BUCKETS	1024

/* Counters, added to without a lock. */
struct user_stats {
	_Atomic uint64_t v[QUIC_OFFLOAD_A_STATS_MAX + 1];
};

#define COUNT(st, id, n) \
	atomic_fetch_add_explicit(&(st)->v[QUIC_OFFLOAD_A_STATS_##id], n, memory_order_relaxed)

void user_stats_get(const struct user_stats *st, struct qoff_stats *res);

/**
 * struct user_key - a sending key
 * @next: in qoff.keys, under qoff.key_lock
 * @c: made ready; used under user_ctx.lock
 * @seq: age within its context
 * @used: packets sealed
 * @warned: the event for it was made
 */
struct user_key {
	struct user_key *next;
	struct qoff_cipher *c;
	uint32_t seq;
	uint64_t used;
	bool warned;
};

/**
 * struct user_ctx - sending context
 * @ref: the group's and each user's
 * @id: its name
 * @cipher: enum quic_offload_cipher
 * @flags: QUIC_OFFLOAD_CTX_FLAG_*
 * @dcid_len: of the peer's connection ID
 * @lock: protects the rest; held over a send, so that a send which fails before
 *	anything left can give its packet numbers back
 * @dead: deleted
 * @next_pn: smallest packet number that is admitted
 * @cur: seq of the newest key that something was sent with
 * @newest: seq of the newest key
 * @slot: by phase
 * @stats: counters
 */
struct user_ctx {
	_Atomic unsigned int ref;
	struct qoff_ctx_id id;
	uint32_t cipher;
	uint32_t flags;
	uint8_t dcid_len;
	pthread_mutex_t lock; /* protects the rest */
	bool dead;
	uint64_t next_pn;
	uint32_t cur;
	uint32_t newest;
	struct user_key *slot[2];
	struct user_stats stats;
};

/**
 * struct user_rxkeys - receiving keys of a connection, shared by its flows
 * @ref: one for each flow
 * @lock: protects the rest
 * @cipher: enum quic_offload_cipher
 * @hp: any key that was ever installed: its header-protection half is everyone's
 * @slot: by phase, NULL: empty or retired
 * @gen: the caller's number of each slot's key
 * @phase: of the newest key
 * @next_pn: the number after the largest opened one
 * @failed: authentication failures
 * @warned: the event was made
 */
struct user_rxkeys {
	_Atomic unsigned int ref;
	pthread_mutex_t lock; /* protects the rest */
	uint32_t cipher;
	struct qoff_cipher *hp;
	struct qoff_cipher *slot[2];
	uint32_t gen[2];
	uint8_t phase;
	uint64_t next_pn;
	uint64_t failed;
	bool warned;
};

/**
 * struct user_flow - receiving flow
 * @next: in its bucket
 * @ref: the group's and each user's
 * @id: unique in this process
 * @local: address; its port is the socket's
 * @remote: address and port
 * @dcid: connection ID, as long as the group's
 * @cookie: the caller's
 * @keys: NULL: none yet; set once, under the group's lock
 * @stats: counters
 */
struct user_flow {
	struct user_flow *next;
	_Atomic unsigned int ref;
	uint32_t id;
	struct qoff_addr local;
	struct qoff_addr remote;
	uint8_t dcid[QOFF_MAX_DCID];
	uint64_t cookie;
	struct user_rxkeys *_Atomic keys;
	struct user_stats stats;
};

/**
 * struct user_group - attach group
 * @ref: sockets, under qoff.lock
 * @id: for statistics and events
 * @dcid_len: of our connection IDs
 * @lock: protects the rest
 * @next_gen: for the next context
 * @nctx: contexts
 * @size: of @ctx
 * @ctx: by index, [0] is unused
 * @nflow: flows
 * @flow: by hash of connection ID and remote port
 */
struct user_group {
	unsigned int ref;
	uint32_t id;
	uint8_t dcid_len;
	pthread_mutex_t lock; /* protects the rest */
	uint32_t next_gen;
	uint32_t nctx;
	uint32_t size;
	struct user_ctx **ctx;
	uint32_t nflow;
	struct user_flow *flow[FLOW_BUCKETS];
};

/**
 * struct rx_slot - one received message of the socket, up to a GRO batch
 * @buf: QOFF_MAX_TRUESIZE bytes
 * @len: bytes in it
 * @off: where the next packet starts
 * @gso: bytes of each packet but the last
 * @from: source
 * @fromlen: its size
 * @local: destination, without port; len 0 if not known
 * @tos: of all packets
 * @tstamp: of arrival, CLOCK_REALTIME; 0 if not known
 * @control: control messages as they came
 * @control_len: their bytes
 */
struct rx_slot {
	uint8_t *buf;
	size_t len;
	size_t off;
	size_t gso;
	struct sockaddr_storage from;
	socklen_t fromlen;
	struct qoff_addr local;
	uint8_t tos;
	uint64_t tstamp;
	char control[384] __attribute__((aligned(8)));
	size_t control_len;
};

#define RX_SLOTS 16

/**
 * struct user_sock - an attached socket
 * @group: its group
 * @gro: UDP_GRO is on
 * @gso: UDP_SEGMENT works, until it once did not
 * @mtu_lock: protects the two below
 * @mtu_addr: destination that @mtu is of
 * @mtu: bytes of UDP payload, 0: not known
 * @rx_lock: protects the rest
 * @slots: received, not yet delivered: [@rx_head, @rx_tail)
 * @rx_head: see @slots
 * @rx_tail: see @slots
 * @stats: counters
 */
struct user_sock {
	struct user_group *group;
	bool gro;
	_Atomic bool gso;
	pthread_mutex_t mtu_lock; /* protects the two below */
	struct sockaddr_storage mtu_addr;
	unsigned int mtu;
	pthread_mutex_t rx_lock; /* protects the slots */
	struct rx_slot *slots;
	unsigned int rx_head;
	unsigned int rx_tail;
	struct user_stats stats;
};

/* user_ctx.c */
int user_ctx_add(struct qoff_sock *s, const struct qoff_ctx_param *p, struct qoff_ctx_id *id);
int user_ctx_update(struct qoff_sock *s, struct qoff_ctx_id id, unsigned int phase,
		    const struct qoff_keys *keys);
int user_ctx_del(struct qoff_sock *s, struct qoff_ctx_id id);
int user_ctx_get(struct qoff_sock *s, uint32_t id, struct qoff_ctx_info *info);
/* A reference, or NULL and @err. */
struct user_ctx *user_ctx_find(struct user_group *g, struct qoff_ctx_id id, int *err);
void user_ctx_put(struct qoff *q, struct user_ctx *ctx);
void user_ctx_drop_all(struct qoff *q, struct user_group *g);

/* user_flow.c */
int user_flow_add(struct qoff_sock *s, const struct qoff_flow_param *p, uint32_t *id);
int user_flow_update(struct qoff_sock *s, uint32_t id, const struct qoff_keys *keys,
		     unsigned int phase, uint32_t key_gen, uint64_t largest_pn);
int user_flow_retire(struct qoff_sock *s, uint32_t id, unsigned int phase);
int user_flow_del(struct qoff_sock *s, uint32_t id);
int user_flow_get(struct qoff_sock *s, uint32_t id, struct qoff_flow_info *info);
/* A reference, or NULL. @local.len 0 matches any. */
struct user_flow *user_flow_find(struct user_group *g, const struct qoff_addr *local,
				 const struct qoff_addr *remote, const uint8_t *dcid);
bool user_flow_is(const struct user_group *g, const struct user_flow *f,
		  const struct qoff_addr *local, const struct qoff_addr *remote,
		  const uint8_t *dcid);
void user_flow_put(struct user_flow *f);
void user_flow_drop_all(struct user_group *g);

/* user_open.c */
/* Opens the packet @src of @len bytes into @dst, or copies it raw; fills @seg but tos. */
void user_open(struct qoff_sock *s, struct user_flow *f, const uint8_t *src, uint8_t *dst,
	       size_t len, bool peek, struct qoff_rx_seg *seg);

/* user_tx.c, user_rx.c */
ssize_t user_sendmsg(struct qoff_sock *s, const struct msghdr *msg, int flags);
ssize_t user_recvmsg(struct qoff_sock *s, struct msghdr *msg, int flags);

#endif /* QOFF_USER_H */
