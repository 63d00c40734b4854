/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QUIC offload, the framework's private header: objects, their locks and
 * lifetimes, and what each file of this folder gives to the others.  Drivers
 * never include it.  The lock and lifetime rules are in main.c (DOC: locking).
 */
#ifndef _QOFF_H
#define _QOFF_H

#include <crypto/aead.h>
#include <crypto/skcipher.h>
#include <linux/bits.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/quic_offload/functions.h>
#include <net/quic_offload/types.h>
#include <net/quic_offload/wire.h>
#include <net/sock.h>

/* Limits that an unprivileged owner of sockets can reach. Contexts and flows
 * are also charged to the memory cgroup (GFP_KERNEL_ACCOUNT).
 */
#define QOFF_MAX_CTX_GROUP	4096	/* contexts of one attach group */
#define QOFF_MAX_FLOW_GROUP	8192	/* flows of one attach group */
#define QOFF_MAX_OBJS_USER	65536	/* contexts and flows of one user, by default */

/* What such an owner can allocate again and again fails when the cgroup is at its
 * limit; it does not make the OOM killer choose a victim there.
 */
#define QOFF_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL)

/* Counters, one for each attribute of the netlink set "stats", in its order */
enum qoff_cnt {
	QOFF_CNT_TX_SUPER,
	QOFF_CNT_TX_SEGS,
	QOFF_CNT_TX_BYTES,
	QOFF_CNT_TX_DEV,
	QOFF_CNT_TX_SW_SEAL,
	QOFF_CNT_TX_SW_SEGS,
	QOFF_CNT_TX_RESEALED,
	QOFF_CNT_TX_DROP_GUARD,
	QOFF_CNT_TX_DROP_KEY,
	QOFF_CNT_TX_DROP_MTU,
	QOFF_CNT_TX_DROP_CRYPTO,
	QOFF_CNT_TX_LOST,
	QOFF_CNT_TX_TAP,
	QOFF_CNT_RX_BATCHES,
	QOFF_CNT_RX_SEGS,
	QOFF_CNT_RX_BYTES,
	QOFF_CNT_RX_DEV_OPENED,
	QOFF_CNT_RX_SW_OPENED,
	QOFF_CNT_RX_FAILED,
	QOFF_CNT_RX_NO_FLOW,
	QOFF_CNT_RX_NO_KEY,
	QOFF_CNT_RX_NO_PHASE,
	QOFF_CNT_RX_DROP_GUARD,
	QOFF_CNT_RX_DROP_GEOMETRY,
	QOFF_CNT_RX_DROP_FULL,
	QOFF_CNT_CTX_ADD,
	QOFF_CNT_CTX_FAIL,
	QOFF_CNT_MAX
};

/**
 * struct qoff_stats - counters of one object
 * @v: by enum qoff_cnt; touched once or twice a super-packet, so plain atomics
 */
struct qoff_stats {
	atomic_long_t v[QOFF_CNT_MAX];
};

static inline void qoff_count(struct qoff_stats *s, enum qoff_cnt c, long n)
{
	atomic_long_add(n, &s->v[c]);
}

/* crypto.c: keys, sealing and opening in software */

/**
 * struct qoff_hp - header-protection key, shared by the phases of a direction
 * @ref: references
 * @cipher: enum quic_offload_cipher
 * @tfm: ecb(aes) or chacha20, any implementation, process context only
 * @tfm_sync: never asynchronous, for softirq; may be the same transform
 * @reqsize: largest AEAD request any key of this direction needs
 * @raw: the key, for devices; zeroed when freed
 */
struct qoff_hp {
	refcount_t ref;
	u8 cipher;
	struct crypto_skcipher *tfm;
	struct crypto_skcipher *tfm_sync;
	unsigned int reqsize;
	u8 raw[QOFF_MAX_KEY];
};

/**
 * struct qoff_key - one AEAD key of one direction: a key generation
 * @ref: references; a super-packet in flight holds one
 * @cipher: enum quic_offload_cipher
 * @phase: key phase bit of its packets
 * @revoked: must not seal any more (dead device, see DOC: locking)
 * @gen: user's generation (receive) or sequence number in the context (send)
 * @used: packets admitted with it, under qoff_ctx.lock
 * @hp: header protection, a reference
 * @aead: any implementation, process context only
 * @aead_sync: never asynchronous, for softirq; may be the same transform
 * @digest: SHA-256 of namespace, cipher and key, to refuse a key installed
 *	twice; only for send
 * @node: in the table of send keys, by @digest
 * @published: it is in that table
 * @retired: in the list of keys that lost their slot, see qoff_key_retire()
 * @retired_at: when it lost its slot, in jiffies; 0: it has one
 * @raw: key bytes, for devices; zeroed when freed
 * @iv: IV; zeroed when freed
 * @rcu: slots are read under RCU
 * @free_work: transforms are freed in process context
 */
struct qoff_key {
	refcount_t ref;
	u8 cipher;
	u8 phase;
	bool revoked;
	u32 gen;
	u64 used;
	struct qoff_hp *hp;
	struct crypto_aead *aead;
	struct crypto_aead *aead_sync;
	u8 digest[32];
	struct rhash_head node;
	bool published;
	struct list_head retired;
	unsigned long retired_at;
	u8 raw[QOFF_MAX_KEY];
	u8 iv[QOFF_IV_SIZE];
	struct rcu_head rcu;
	struct work_struct free_work;
};

struct qoff_hp *qoff_hp_alloc(u8 cipher, const u8 *raw);
void qoff_hp_put(struct qoff_hp *hp);
struct qoff_key *qoff_key_alloc(u8 cipher, struct qoff_hp *hp, const u8 *raw,
				const u8 *iv, u8 phase, u32 gen);
void qoff_key_put(struct qoff_key *key);
/* A send key enters the table that refuses the same key twice in a namespace;
 * it leaves by itself with its last reference. The table belongs to the module
 * and not to the namespace, which may be gone before the last packet. -EEXIST.
 */
int qoff_key_publish(struct qoff_key *key, const struct net *net);
int qoff_crypto_init(void);
void qoff_crypto_exit(void);

static inline bool qoff_key_hold(struct qoff_key *key)
{
	return refcount_inc_not_zero(&key->ref);
}

/**
 * struct qoff_pkt - one packet to seal or open, contiguous and writable
 * @data: first byte of the header, directly mapped memory
 * @len: bytes on the wire, tag included
 * @status: open: enum qoff_rx_status
 * @hdr_len: open: header bytes
 * @pn_len: open: packet-number bytes
 * @key_gen: open: generation of the key that opened it
 * @pn: packet number; seal: in, open: out
 */
struct qoff_pkt {
	u8 *data;
	u32 len;
	u8 status;
	u8 hdr_len;
	u8 pn_len;
	u32 key_gen;
	u64 pn;
};

struct qoff_crypt;

/* What one qoff_seal() or qoff_open() needs, allocated before anything is
 * decided. @n packets at most; @atomic: for softirq, never sleeps.
 */
struct qoff_crypt *qoff_crypt_alloc(const struct qoff_hp *hp, unsigned int n,
				    bool atomic, gfp_t gfp);
void qoff_crypt_free(struct qoff_crypt *c);

/* Seal @n packets in place. Return: 0, or the first packet's error; then none
 * of the buffers may go out.
 */
int qoff_seal(struct qoff_key *key, unsigned int dcid_len,
	      struct qoff_pkt *pkts, unsigned int n, struct qoff_crypt *c);

struct qoff_rxkeys;

/* Open @n packets in place; every packet gets its status. A packet whose status
 * is QOFF_RX_FAILED has undefined contents (the caller still has the original);
 * other raw ones may have their header altered, likewise. next_pn of @keys
 * advances over the opened ones. Process context.
 */
void qoff_open(struct qoff_rxkeys *keys, unsigned int dcid_len,
	       struct qoff_pkt *pkts, unsigned int n, struct qoff_crypt *c);

/* A key lost its slot; the slot's reference is taken over. What is in flight
 * with it may still be sealed, but not for ever: after QOFF_REVOKE_TIME it is
 * revoked. That is longer than the horizon of the fq qdisc, the longest that a
 * packet waits on purpose. qoff_key_forget() is for qoff_key_put().
 */
#define QOFF_REVOKE_TIME	(15 * HZ)

void qoff_key_retire(struct qoff_key *key);
void qoff_key_forget(struct qoff_key *key);

/* place.c: contexts and flows that a device holds */

/**
 * struct qoff_place - a context or flow inside a device
 * @node: in qoff_dev.ctxs, under qoff_dev.lock
 * @qd: the device, a reference
 * @ref: the owner's and one for each super-packet in flight
 * @dev_gen: qoff_dev.gen when it was added; differs after a reset
 * @dead: the device does not hold it any more; set under qoff_dev.lock, read
 *	locklessly
 * @is_flow: a flow, else a context
 * @cipher: enum quic_offload_cipher, 0: a flow that is only coalesced
 * @slot: key held by each slot, under qoff_dev.lock (a reference); compared
 *	locklessly
 * @rcu: for freeing
 * @work: for freeing outside softirq
 * @drv: the driver's bytes
 */
struct qoff_place {
	struct list_head node;
	struct qoff_dev *qd;
	refcount_t ref;
	u32 dev_gen;
	bool dead;
	bool is_flow;
	u8 cipher;
	struct qoff_key *slot[2];
	struct rcu_head rcu;
	struct work_struct work;
	u8 drv[] __aligned(8);
};

static inline bool qoff_place_ok(const struct qoff_place *p)
{
	return !READ_ONCE(p->dead) && p->dev_gen == READ_ONCE(p->qd->gen);
}

void qoff_place_put(struct qoff_place *p);

/* ctx.c: transmit contexts */

/**
 * struct qoff_ctx - transmit context: how to seal one connection's packets
 * @ref: references: the group's and one for @place_work
 * @group: owner, a reference
 * @id: index in qoff_group.ctxs
 * @gen: generation of the index
 * @cipher: enum quic_offload_cipher
 * @dcid_len: connection ID bytes in its packets
 * @flags: QUIC_OFFLOAD_CTX_FLAG_*
 * @hp: header protection, a reference
 * @lock: admission; protects @next_pn, @cur, @dead, qoff_key.used and writes
 *	of @slot (which group->lock covers too)
 * @next_pn: smallest packet number that is admitted
 * @cur: gen of the newest key that was admitted with
 * @dead: deleted, nothing is admitted
 * @warned: the key-limit event for the newest key was sent
 * @slot: key of each phase
 * @place: the device that holds it; written under group->lock
 * @want: device to move to, from the data path to @place_work; a reference
 * @retry_at: jiffies before which the data path asks for no other move
 * @place_work: moves the context into @want
 * @stats: counters
 * @rcu: looked up under RCU
 */
struct qoff_ctx {
	refcount_t ref;
	struct qoff_group *group;
	u32 id;
	u32 gen;
	u8 cipher;
	u8 dcid_len;
	u8 flags;
	struct qoff_hp *hp;
	spinlock_t lock; /* see above */
	u64 next_pn;
	u32 cur;
	bool dead;
	bool warned;
	struct qoff_key __rcu *slot[2];
	struct qoff_place __rcu *place;
	struct qoff_dev *want;
	unsigned long retry_at;
	struct work_struct place_work;
	struct qoff_stats stats;
	struct rcu_head rcu;
};

/* Under rcu_read_lock(). -ENOENT: no such index; -ESTALE: other generation */
struct qoff_ctx *qoff_ctx_lookup(struct qoff_group *g, u32 id, u32 gen);

/* The one atomic step of a send: packets first..last with @key, @n of them.
 * -ESTALE: @first is below the next number, or the context is dead; -EINVAL:
 * the key's phase is older than the last admitted; -EKEYEXPIRED: AEAD limit;
 * -EAGAIN: the slot got another key meanwhile. Any context with RCU held.
 */
int qoff_ctx_admit(struct qoff_ctx *ctx, struct qoff_key *key, u64 first,
		   u64 last, unsigned int n);

/* The context's place in @qd with @key loaded, a reference; or NULL, and then
 * the context is asked to move there. Under rcu_read_lock(), never sleeps.
 */
struct qoff_place *qoff_ctx_place_get(struct qoff_ctx *ctx, struct qoff_dev *qd,
				      const struct qoff_key *key);

/* flow.c: receive flows */

/**
 * struct qoff_rxkeys - receive keys of one connection, shared by its flows
 * @ref: references
 * @cipher: enum quic_offload_cipher
 * @hp: header protection, a reference
 * @lock: protects @next_pn and writes of @slot
 * @next_pn: the number after the largest opened one
 * @slot: key of each phase, NULL: empty or retired
 * @failed: authentication failures (integrity limit)
 * @warned: the key-limit event was sent
 * @net: for the event; whoever uses the keys holds a socket of it
 * @group_id: for the event
 * @flow_id: for the event: the flow that got the keys first
 * @free_work: for freeing
 */
struct qoff_rxkeys {
	refcount_t ref;
	u8 cipher;
	struct qoff_hp *hp;
	spinlock_t lock; /* see above */
	u64 next_pn;
	struct qoff_key __rcu *slot[2];
	atomic64_t failed;
	unsigned long warned;
	struct net *net;
	u32 group_id;
	u32 flow_id;
	struct rcu_work free_work;
};

/**
 * struct qoff_flow - receive flow
 * @key: what it matches; constant
 * @node: in qoff_net.flows
 * @net: namespace, constant while the flow is in the table
 * @group: owner; valid while @dead is not set
 * @id: unique in the namespace
 * @ref: references: the group's and one for each queued receive
 * @dead: deleted; what still arrives with its id is dropped
 * @cookie: the user's
 * @oif: device the socket that added it was bound to, for the route
 * @mark: that socket's mark, likewise
 * @keys: NULL: no keys yet; set once
 * @place: the device that holds it; written under group->lock
 * @stats: counters
 * @rcu: looked up under RCU
 */
struct qoff_flow {
	struct qoff_flow_key key;
	struct rhash_head node;
	struct net *net;
	struct qoff_group *group;
	u32 id;
	refcount_t ref;
	bool dead;
	u64 cookie;
	int oif;
	u32 mark;
	struct qoff_rxkeys __rcu *keys;
	struct qoff_place __rcu *place;
	struct qoff_stats stats;
	struct rcu_head rcu;
};

/* Does only the interface make its addresses unique? */
static inline bool qoff_flow_key_scoped(const struct qoff_flow_key *key)
{
	return key->family == AF_INET6 &&
	       (ipv6_addr_type(&key->local) | ipv6_addr_type(&key->remote)) &
	       IPV6_ADDR_LINKLOCAL;
}

/* Both under rcu_read_lock(); the result may be held with qoff_flow_hold() */
struct qoff_flow *qoff_flow_lookup(struct net *net,
				   const struct qoff_flow_key *key);
struct qoff_flow *qoff_flow_by_id(struct net *net, u32 id);
void qoff_flow_put(struct qoff_flow *flow);
/* An open failed @n times: count it, and tell user space near the limit */
void qoff_rxkeys_failed(struct qoff_rxkeys *keys, unsigned int n);

static inline bool qoff_flow_hold(struct qoff_flow *flow)
{
	return refcount_inc_not_zero(&flow->ref);
}

/* group.c: attach groups */

struct qoff_user;

/**
 * struct qoff_group - sockets that share contexts and flows
 * @net: namespace; open sockets keep it alive, so it is only used while
 *	@socks is not empty
 * @id: for netlink
 * @dcid_len: of the DCIDs it receives with
 * @ref: one for each attached socket, until that is destroyed, and for each
 *	context
 * @lock: control path: contexts, flows, @socks
 * @ctxs: contexts by index, read under RCU
 * @flows: flows by id
 * @socks: attached sockets that are open
 * @nctx: contexts
 * @nflow: flows
 * @next_gen: generation for the next context index
 * @user: whose limit its objects count against, a reference
 * @rcu: for freeing
 */
struct qoff_group {
	struct net *net;
	u32 id;
	u8 dcid_len;
	refcount_t ref;
	struct mutex lock; /* protects contexts, flows and socks */
	struct xarray ctxs;
	struct xarray flows;
	struct list_head socks;
	u32 nctx;
	u32 nflow;
	u32 next_gen;
	struct qoff_user *user;
	struct rcu_head rcu;
};

/* sock.c: attached sockets */

struct qoff_rx_work;

/**
 * struct qoff_sock - what an attached socket has, from attach to destruction
 * @sk: the socket
 * @group: its group, a reference
 * @node: in qoff_group.socks until the socket is closed
 * @orig: the stock proto it had
 * @destruct: sk_destruct it had
 * @rx_hdr_size: receive head size that the program knows
 * @rx_seg_size: receive segment entry size that the program knows
 * @rxq: received skbs in order; its lock protects the queue, and the partial
 *	consumption of its head
 * @rx_mutex: one recvmsg at a time opens and consumes
 * @rx_work: scratch of recvmsg, under @rx_mutex; NULL until it is needed
 * @stats: counters
 * @put_work: drops the group and the module reference in process context
 */
struct qoff_sock {
	struct sock *sk;
	struct qoff_group *group;
	struct list_head node;
	struct proto *orig;
	void (*destruct)(struct sock *sk);
	u16 rx_hdr_size;
	u16 rx_seg_size;
	struct sk_buff_head rxq;
	struct mutex rx_mutex; /* one recvmsg at a time */
	struct qoff_rx_work *rx_work;
	struct qoff_stats stats;
	struct work_struct put_work;
};

/* NULL when not attached. Set once under lock_sock() and freed by sk_destruct,
 * so it is valid for whoever holds the socket; no RCU section is needed.
 */
static inline struct qoff_sock *qoff_sk(const struct sock *sk)
{
	uintptr_t p = (uintptr_t)rcu_access_pointer(__sk_user_data(sk));

	return (struct qoff_sock *)(p & SK_USER_DATA_PTRMASK);
}

/* dev.c: devices */

/* Under rcu_read_lock(): the registered device of @netdev or NULL */
struct qoff_dev *qoff_dev_of(const struct net_device *netdev);
void qoff_dev_put(struct qoff_dev *qd);

static inline bool qoff_dev_hold(struct qoff_dev *qd)
{
	return refcount_inc_not_zero(&qd->refcnt);
}

static inline struct qoff_stats *qoff_dev_stats(const struct qoff_dev *qd)
{
	return qd->core;
}

/* tx.c, tx_build.c, tx_hook.c: sending */

/**
 * struct qoff_super - the table of a super-packet built for a device
 * @ubuf: carries it in the skb; its refcount is the table's
 * @qd: device it was built for, a reference
 * @place: context in that device, a reference; NULL when not to be sealed
 * @key: key to seal with, a reference; NULL when not to be sealed
 * @pn: packet number of segment 0
 * @total: payload bytes
 * @nseg: segments
 * @dcid_len: connection ID bytes
 * @segs: the segments
 */
struct qoff_super {
	struct ubuf_info ubuf;
	struct qoff_dev *qd;
	struct qoff_place *place;
	struct qoff_key *key;
	u64 pn;
	u32 total;
	u16 nseg;
	u8 dcid_len;
	struct qoff_seg segs[] __counted_by(nseg);
};

int qoff_sendmsg(struct sock *sk, struct msghdr *msg, size_t len);
struct sk_buff *qoff_validate_xmit(struct sock *sk, struct net_device *dev,
				   struct sk_buff *skb);

/* gro.c, rx.c, recv.c: receiving */

struct sk_buff *qoff_gro_receive(struct sock *sk, struct list_head *head,
				 struct sk_buff *skb);
int qoff_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff);
int qoff_encap_rcv(struct sock *sk, struct sk_buff *skb);
void qoff_encap_err_rcv(struct sock *sk, struct sk_buff *skb, int err,
			__be16 port, u32 info, u8 *payload);
int qoff_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags,
		 int *addr_len);
bool qoff_sock_is_readable(struct sock *sk);
int qoff_ioctl(struct sock *sk, int cmd, int *karg);
/* The socket is closed or destroyed: drop what is queued */
void qoff_rx_purge(struct qoff_sock *qs);

/* main.c */

/**
 * struct qoff_net - what the framework keeps per network namespace
 * @flows: struct qoff_flow by key
 * @flow_ids: flows by id
 * @flow_next: where the search for a free id starts, so that ids come back late
 * @net: the namespace
 * @fib_nb: called when routes change
 * @route_work: places flows anew after that
 */
struct qoff_net {
	struct rhashtable flows;
	struct xarray flow_ids;
	u32 flow_next;
	struct net *net;
	struct notifier_block fib_nb;
	struct delayed_work route_work;
};

extern unsigned int qoff_net_id;
/* For tests, in debugfs: the usage count that a new key starts with */
extern u64 qoff_key_used;
extern struct workqueue_struct *qoff_wq;

static inline struct qoff_net *qoff_net(struct net *net)
{
	return net_generic(net, qoff_net_id);
}

/* nl.c: events */
void qoff_nl_dev_notify(struct qoff_dev *qd, u32 cmd);
/* Any context; false when there was no memory: then try again */
bool qoff_nl_key_limit(struct net *net, u32 group, u32 direction, u32 id,
		       u64 used, u64 limit);

#endif /* _QOFF_H */
