/* SPDX-License-Identifier: GPL-2.0 */
/*
 * quicsim: two network ports joined by a wire, with a device behind each that
 * really does what it announces.  Private header: objects, locks, lifetimes.
 *
 * The device of a port is two kernel threads, and nothing else does device work:
 *
 *   quicsim/<if>-tx  takes descriptors from the transmit rings, cuts and seals,
 *                    puts frames on the wire
 *   quicsim/<if>-rx  takes frames from the wire, matches flows, opens and
 *                    coalesces, fills the receive rings
 *
 * The host's side is ndo_start_xmit and NAPI.  The wire of one direction is a
 * bounded queue: a full wire stops the sending device, a full receive ring stops
 * the receiving one, so that frames are lost only where a fault says so.
 */
#ifndef _QUICSIM_H
#define _QUICSIM_H

#include <crypto/aead.h>
#include <crypto/skcipher.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/wait.h>
#include <net/quic_offload/functions.h>
#include <net/quic_offload/types.h>
#include <net/quic_offload/wire.h>

#define QSIM_NAME		"quicsim"
#define QSIM_MAX_QUEUES		16
#define QSIM_MAX_MTU		9000
#define QSIM_MAX_HDR		256	/* Ethernet to transport header */
#define QSIM_MIN_RING		64
#define QSIM_MAX_RING		8192
#define QSIM_TX_RING		1024
#define QSIM_RX_RING		4096
#define QSIM_WIRE_LEN		2048	/* frames in flight in one direction */
#define QSIM_AGGS		8	/* flows coalesced at one time */
#define QSIM_RX_USECS		0
#define QSIM_MAX_USECS		10000
#define QSIM_RX_BURST		256	/* frames handled under one flow_lock hold */
#define QSIM_FLUSH_TIMEOUT	(10 * HZ)

/* What a port is, chosen at creation */
enum qsim_mode {
	QSIM_MODE_FULL,		/* QUIC offload and all a server NIC has */
	QSIM_MODE_FSO,		/* the same with NETIF_F_FSO, gso_max_segs 8 */
	QSIM_MODE_DUMB,		/* knows nothing of QUIC, segments UDP */
	QSIM_MODE_DUMB_FSO,	/* the same with NETIF_F_FSO */
};

static inline bool qsim_mode_is_dumb(enum qsim_mode mode)
{
	return mode == QSIM_MODE_DUMB || mode == QSIM_MODE_DUMB_FSO;
}

static inline bool qsim_mode_has_fso(enum qsim_mode mode)
{
	return mode == QSIM_MODE_FSO || mode == QSIM_MODE_DUMB_FSO;
}

/* Counters of ethtool -S, names in ethtool.c in the same order */
enum qsim_cnt {
	QSIM_TX_DESCS,		/* descriptors completed */
	QSIM_TX_FRAMES,		/* frames put on the wire */
	QSIM_TX_FRAME_BYTES,
	QSIM_TX_TSO,		/* descriptors by kind */
	QSIM_TX_USO,
	QSIM_TX_FRAGLIST,
	QSIM_TX_SUPER,
	QSIM_TX_SEALED,		/* segments sealed */
	QSIM_TX_RAW_SEGS,	/* segments of super-packets sent as they were */
	QSIM_TX_SUPER_BYTES,
	QSIM_TX_ERR,		/* super-packets completed as an error */
	QSIM_TX_DROP_GUARD,	/* dropped: plaintext that nothing vouches for */
	QSIM_TX_DROP_HDR,	/* dropped: headers this device cannot parse */
	QSIM_TX_DROP_NOMEM,
	QSIM_TX_DROP_DOWN,	/* dropped: the other end is down */
	QSIM_TX_BUSY,		/* NETDEV_TX_BUSY returned */
	QSIM_TX_STOPPED,	/* queue stopped, ring full */
	QSIM_RX_FRAMES,
	QSIM_RX_FRAME_BYTES,
	QSIM_RX_CSUM_OK,
	QSIM_RX_CSUM_BAD,
	QSIM_RX_LENGTH,		/* dropped: runt or giant */
	QSIM_RX_MATCHED,	/* datagrams that matched a flow */
	QSIM_RX_OPENED,
	QSIM_RX_FAILED,
	QSIM_RX_COALESCED,	/* coalesced packets handed up */
	QSIM_RX_COALESCED_SEGS,
	QSIM_RX_SEGS_ERR,	/* refused by the core */
	QSIM_RX_DROP_OPENED,	/* opened, but the device was unregistered */
	QSIM_RX_DROP_RING,
	QSIM_RX_DROP_NOMEM,
	QSIM_RX_PAUSED,		/* waits for a full receive ring */
	QSIM_FLT_DROP,		/* faults that came true */
	QSIM_FLT_DUP,
	QSIM_FLT_REORDER,
	QSIM_FLT_CORRUPT,
	QSIM_FLT_REFUSED,	/* contexts, keys and flows refused */
	QSIM_FLT_TX_FAIL,
	QSIM_FLT_RX_FAIL,
	QSIM_FLT_RX_FORGE,
	QSIM_FLT_LOST,		/* contexts and flows lost */
	QSIM_FLT_RESET,
	QSIM_CTX,		/* now in the tables */
	QSIM_FLOW,
	QSIM_CNT_MAX
};

/**
 * struct qsim_every - a fault that hits some frames
 * @nth: every nth one, 0: never
 * @pct: that many percent, drawn from @rnd
 * @seed: writing it restarts the sequence; the same seed, the same frames
 * @seen: frames asked about
 * @rnd: state of the generator
 */
struct qsim_every {
	u32 nth;
	u32 pct;
	u32 seed;
	u32 seen;
	u32 rnd;
};

/* What rx_forge makes a device claim */
enum qsim_forge {
	QSIM_FORGE_NONE,
	QSIM_FORGE_STATUS,	/* a status that does not exist */
	QSIM_FORGE_OPENED,	/* opened, for a segment that was not */
	QSIM_FORGE_HDR_LEN,	/* a header longer than the packet */
	QSIM_FORGE_PN,		/* a packet number over the maximum */
	QSIM_FORGE_GEN,		/* a key generation nobody gave */
	QSIM_FORGE_FLOW,	/* a flow that does not exist */
	QSIM_FORGE_LEN,		/* lengths that do not sum up */
};

/* The one duty that a device does not do; the numbers are what debugfs takes */
enum qsim_broken {
	QSIM_BROKEN_NOTHING	= 0,
	QSIM_BROKEN_PLAIN	= 1,	/* sends what it should seal as it is */
	QSIM_BROKEN_NUMBER	= 2,	/* nonces with 32 bits of the number */
	QSIM_BROKEN_REUSE	= 3,	/* one nonce for a whole super-packet */
	QSIM_BROKEN_PHASE	= 4,	/* the other key phase bit */
	QSIM_BROKEN_HP		= 5,	/* header protection of another mask */
	QSIM_BROKEN_TAG		= 6,	/* a bit of the tag */
	QSIM_BROKEN_KEY		= 7,	/* the other phase's key, if there is one */
	QSIM_BROKEN_CSUM	= 8,	/* UDP checksum */
	QSIM_BROKEN_IPID	= 9,	/* the same identification in all */
	QSIM_BROKEN_UDP_LEN	= 10,	/* UDP length */
	QSIM_BROKEN_ORDER	= 11,	/* the first datagram goes last */
	QSIM_BROKEN_SHORT	= 12,	/* the last datagram is missing */
	QSIM_BROKEN_TOS		= 13,	/* TOS, and so ECN, is lost */
	QSIM_BROKEN_SEGS	= 14,	/* announces 128 segments, does 16 */
	QSIM_BROKEN_BYTES	= 15,	/* announces 64 KB, does 32 */
	QSIM_BROKEN_MTU		= 16,	/* no datagram over 1250 bytes */
	QSIM_BROKEN_ONE		= 17,	/* no super-packet of one segment */
	QSIM_BROKEN_DRAIN	= 18,	/* a deleted key takes packets with it */
	QSIM_BROKEN_STATS	= 19,	/* counters that stay 0 */
	QSIM_BROKEN_FEATURES	= 20,	/* switches without dependencies */
	QSIM_BROKEN_OPENED	= 32,	/* says opened when it failed */
	QSIM_BROKEN_RAW		= 33,	/* failed, but not the bytes that came in */
	QSIM_BROKEN_DCID	= 34,	/* matches flows without the DCID */
	QSIM_BROKEN_RX_TOS	= 35,	/* records without TOS */
	QSIM_BROKEN_RX_CSUM	= 36,	/* takes wrong checksums */
	QSIM_BROKEN_RX_PHASE	= 37,	/* knows one key phase */
	QSIM_BROKEN_RX_NUMBER	= 38,	/* records one number too high */
	QSIM_BROKEN_ALONE	= 39,	/* coalesces nothing */
	QSIM_BROKEN_FLOW	= 40,	/* deleted flows go on; then write "lose" */
	QSIM_BROKEN_BYTE	= 41,	/* a byte of what it opened is another */
};

/**
 * struct qsim_faults - debugfs knobs of a port; written any time, read locklessly
 * @drop: frames this port sends are lost behind the monitor
 * @dup: come twice
 * @reorder: come after the next @reorder_gap frames
 * @corrupt: one byte altered
 * @corrupt_keep_csum: two words of a UDP frame swapped instead, which no checksum
 *	notices
 * @delay_us: all frames take that long
 * @reorder_gap: see @reorder
 * @hold_tx: the device takes no descriptors
 * @busy_n: ndo_start_xmit is busy @busy_n times of @busy_m
 * @busy_m: see @busy_n
 * @busy_seen: calls
 * @refuse_ctx: errno for every ctx_add
 * @refuse_key: errno for every ctx_key_add and flow_key_add
 * @refuse_flow: errno for every flow_add
 * @table_limit: contexts and flows that fit, 0: the module parameters
 * @tx_fail: super-packets completed as an error
 * @rx_fail: segments reported failed although they were not
 * @rx_forge: segments whose record is a lie
 * @forge: enum qsim_forge, the lie
 * @broken: enum qsim_broken, the duty that is not done
 */
struct qsim_faults {
	struct qsim_every drop;
	struct qsim_every dup;
	struct qsim_every reorder;
	struct qsim_every corrupt;
	bool corrupt_keep_csum;
	u32 delay_us;
	u32 reorder_gap;
	bool hold_tx;
	u32 busy_n;
	u32 busy_m;
	u32 busy_seen;
	u32 refuse_ctx;
	u32 refuse_key;
	u32 refuse_flow;
	u32 table_limit;
	struct qsim_every tx_fail;
	struct qsim_every rx_fail;
	struct qsim_every rx_forge;
	u32 forge;
	u32 broken;
};

/* crypto.c: the device's own sealing and opening */

/**
 * struct qsim_hp - header-protection key of a context or flow
 * @ref: references: its context or flow, and each key of it
 * @cipher: enum quic_offload_cipher
 * @tfm: ecb(aes), or chacha20
 * @req: only the device thread of the key's direction uses it
 */
struct qsim_hp {
	refcount_t ref;
	u8 cipher;
	struct crypto_skcipher *tfm;
	struct skcipher_request *req;
};

/**
 * struct qsim_key - a key slot's contents
 * @ref: references: the slot, and each descriptor in a transmit ring
 * @cipher: enum quic_offload_cipher
 * @dead: lost or revoked, descriptors that need it complete as an error
 * @gen: the core's generation
 * @hp: header protection, a reference
 * @tfm: AEAD
 * @req: only the device thread of the key's direction uses it
 * @iv: zeroed when freed
 */
struct qsim_key {
	refcount_t ref;
	u8 cipher;
	bool dead;
	u32 gen;
	struct qsim_hp *hp;
	struct crypto_aead *tfm;
	struct aead_request *req;
	u8 iv[QOFF_IV_SIZE];
};

/**
 * struct qsim_pkt - a packet to seal or open in place
 * @data: header; direct-mapped memory
 * @len: bytes, tag included
 * @hdr_len: out (open): header bytes
 * @pn_len: out (open): packet number bytes
 * @pn: packet number; in (seal), out (open)
 */
struct qsim_pkt {
	u8 *data;
	u16 len;
	u8 hdr_len;
	u8 pn_len;
	u64 pn;
};

/**
 * struct qsim_scratch - working memory of a device thread
 * @pkt: packets of a super-packet
 * @mask: HP samples, then masks
 */
struct qsim_scratch {
	struct qsim_pkt pkt[QOFF_MAX_SEGS];
	u8 mask[QOFF_MAX_SEGS][QOFF_HP_SAMPLE];
};

struct qsim_hp *qsim_hp_alloc(u8 cipher, const u8 *raw);
void qsim_hp_put(struct qsim_hp *hp);
struct qsim_key *qsim_key_alloc(struct qsim_hp *hp,
				const struct qoff_key_params *k);
void qsim_key_free(struct qsim_key *key);
int qsim_seal(struct qsim_key *key, unsigned int dcid_len,
	      struct qsim_scratch *s, unsigned int n);
int qsim_unprotect(struct qsim_hp *hp, unsigned int dcid_len,
		   struct qsim_scratch *s, u64 next_pn);
int qsim_open(struct qsim_key *key, struct qsim_pkt *pkt);
u32 qsim_ciphers(void);

/* qoff.c: tables of contexts and flows */

/**
 * struct qsim_ctx - transmit context in the device's table
 * @gen: tells a lost context from its successor at the same index
 * @dcid_len: connection ID bytes
 * @hp: header protection
 * @key: by phase; written under qsim_port.tab_lock
 * @rcu: for freeing; ndo_start_xmit looks contexts up
 */
struct qsim_ctx {
	u32 gen;
	u8 dcid_len;
	struct qsim_hp *hp;
	struct qsim_key __rcu *key[2];
	struct rcu_head rcu;
};

/**
 * struct qsim_flow - receive flow in the device's table, under
 *	qsim_port.flow_lock
 * @node: in qsim_port.flows
 * @gen: as in &struct qsim_ctx
 * @id: the core's
 * @key: what it matches
 * @hp: header protection, NULL: coalesced only
 * @slot: keys by phase
 * @next_pn: for packet number recovery
 */
struct qsim_flow {
	struct hlist_node node;
	u32 gen;
	u32 id;
	struct qoff_flow_key key;
	struct qsim_hp *hp;
	struct qsim_key *slot[2];
	u64 next_pn;
};

/**
 * struct qsim_handle - the driver's bytes in a core object
 * @idx: in the table
 * @gen: of the entry
 */
struct qsim_handle {
	u32 idx;
	u32 gen;
};

#define QSIM_FLOW_BUCKETS	1024

struct qsim_port;

int qsim_qoff_register(struct qsim_port *port);
void qsim_qoff_unregister(struct qsim_port *port);
int qsim_tables_init(struct qsim_port *port);
void qsim_tables_free(struct qsim_port *port);
void qsim_tables_lose(struct qsim_port *port);
void qsim_qoff_reset(struct qsim_port *port);
struct qsim_key *qsim_tx_key_get(struct qsim_port *port,
				 const struct qsim_handle *h, u8 phase);
void qsim_tx_key_put(struct qsim_port *port, struct qsim_key *key);
struct qsim_flow *qsim_flow_match(struct qsim_port *port,
				  const struct qoff_flow_key *tuple,
				  const u8 *pkt, unsigned int len);

/* tx.c: transmit rings */

/**
 * struct qsim_txd - descriptor of a transmit ring
 * @skb: to send
 * @super: @desc is valid
 * @desc: the super-packet
 * @key: to seal with, a reference until the device has read the descriptor
 * @frames: completion: frames made of it
 * @bytes: completion: bytes of those
 */
struct qsim_txd {
	struct sk_buff *skb;
	bool super;
	struct qoff_tx_desc desc;
	struct qsim_key *key;
	u32 frames;
	u32 bytes;
};

/**
 * struct qsim_txq - transmit ring. Indices run freely; each has one writer:
 * @port: owner
 * @idx: number
 * @size: descriptors, a power of two
 * @ring: @size descriptors
 * @prod: next to fill, written by ndo_start_xmit
 * @dev: next to process, written by the device thread
 * @cons: next to complete, written by NAPI
 */
struct qsim_txq {
	struct qsim_port *port;
	u16 idx;
	u32 size;
	struct qsim_txd *ring;
	u32 prod;
	u32 dev ____cacheline_aligned_in_smp;
	u32 cons ____cacheline_aligned_in_smp;
};

/**
 * struct qsim_rxq - receive ring and its NAPI, which completes the transmit
 *	ring of the same number as well
 * @port: owner
 * @idx: number
 * @napi: NAPI
 * @done: packets for the host, about qsim_port.rx_ring of them at most
 * @batch: taken from @done by NAPI
 */
struct qsim_rxq {
	struct qsim_port *port;
	u16 idx;
	struct napi_struct napi;
	struct sk_buff_head done;
	struct sk_buff_head batch;
};

netdev_tx_t qsim_start_xmit(struct sk_buff *skb, struct net_device *dev);
int qsim_txq_alloc(struct qsim_txq *txq, u32 size);
void qsim_txq_free(struct qsim_txq *txq);
void qsim_txq_clean(struct qsim_txq *txq, int budget);
bool qsim_tx_pending(struct qsim_port *port);
unsigned int qsim_tx_run(struct qsim_port *port);

/* seg.c: one descriptor to frames */

/**
 * struct qsim_seg - what is common to the frames of one descriptor
 * @hdr: headers, VLAN tag inserted
 * @len: bytes of @hdr
 * @nh: offset of the IP header
 * @th: offset of the transport header
 * @v6: IPv6
 * @id: IPv4 identification of the first frame
 * @fixed_id: all frames have it
 */
struct qsim_seg {
	u8 hdr[QSIM_MAX_HDR];
	u16 len;
	u16 nh;
	u16 th;
	bool v6;
	u16 id;
	bool fixed_id;
};

int qsim_seg_frame(struct qsim_port *port, const struct sk_buff *skb,
		   struct sk_buff_head *out);
int qsim_seg_tso(struct qsim_port *port, const struct sk_buff *skb,
		 struct sk_buff_head *out);
int qsim_seg_uso(struct qsim_port *port, const struct sk_buff *skb,
		 struct sk_buff_head *out);
int qsim_seg_super(struct qsim_port *port, const struct qsim_txd *d,
		   struct sk_buff_head *out);

/* wire.c: one direction of the cable */

/* In skb->cb of a frame on the wire */
struct qsim_frame_cb {
	ktime_t due;
};

/**
 * struct qsim_wire - frames from one port to the other
 * @lock: protects @q and @up
 * @q: frames in flight
 * @up: the receiving port takes frames
 * @space: the sending device waits here
 * @work: the receiving device waits here
 * @held: a frame that the reorder fault keeps back; the sending device's
 * @held_gap: frames that must still overtake it
 */
struct qsim_wire {
	spinlock_t lock; /* protects q and up */
	struct sk_buff_head q;
	bool up;
	wait_queue_head_t space;
	wait_queue_head_t work;
	struct sk_buff *held;
	u32 held_gap;
};

void qsim_wire_init(struct qsim_wire *w);
void qsim_wire_up(struct qsim_wire *w, bool up);
void qsim_wire_send(struct qsim_port *port, struct sk_buff_head *frames);
void qsim_wire_release(struct qsim_port *port);
bool qsim_wire_recv(struct qsim_wire *w, struct sk_buff_head *out,
		    ktime_t *due);
bool qsim_every(struct qsim_every *e);

/* dev.c: device threads and receive rings */
int qsim_dev_start(struct qsim_port *port);
void qsim_dev_stop(struct qsim_port *port);
void qsim_napi_kick(struct qsim_port *port, unsigned int q);
struct sk_buff *qsim_frame_alloc(struct page_frag_cache *pfc, unsigned int len);

/* rx.c, agg.c: frames to packets for the host */

/* In skb->cb of a packet in a receive ring */
struct qsim_rx_cb {
	struct qoff_rx_seg *segs;	/* for qoff_rx_segs(), kmalloc()ed */
	u32 flow_id;
	u16 nseg;
};

#define QSIM_RX_CB(skb)		((struct qsim_rx_cb *)(skb)->cb)
#define QSIM_FRAME_CB(skb)	((struct qsim_frame_cb *)(skb)->cb)

/**
 * struct qsim_hdrs - a received frame, parsed
 * @nh: IP header offset
 * @th: transport header offset
 * @end: end of the IP packet
 * @proto: transport protocol, 0 when not to be looked at
 * @v6: IPv6
 * @csum_ok: all checksums are right
 */
struct qsim_hdrs {
	u16 nh;
	u16 th;
	u16 end;
	u8 proto;
	bool v6;
	bool csum_ok;
};

/**
 * struct qsim_agg - a coalesced packet that grows
 * @flow_id: its flow; 0: unused
 * @q: receive queue
 * @vlan: VLAN tag, stripped
 * @vlan_proto: its protocol
 * @opened: segments are opened
 * @csum_ok: checksum state
 * @v6: IPv6
 * @key_gen: they were opened with
 * @hash: of the first frame
 * @hdr: headers of the first frame, MAC to UDP
 * @hdr_len: bytes of @hdr
 * @nh: offset of IP header
 * @nfrag: entries of @frag
 * @bytes: payload
 * @born: when it was begun
 * @nseg: entries of @segs
 * @frag: payload, a page reference each
 * @segs: records
 */
struct qsim_agg {
	u32 flow_id;
	u16 q;
	u16 vlan;
	__be16 vlan_proto;
	bool opened;
	bool csum_ok;
	bool v6;
	u32 key_gen;
	u32 hash;
	u16 hdr_len;
	u16 nh;
	u8 hdr[QSIM_MAX_HDR];
	u8 nfrag;
	u32 bytes;
	ktime_t born;
	u16 nseg;
	skb_frag_t frag[MAX_SKB_FRAGS - 1];
	struct qoff_rx_seg segs[QOFF_MAX_SEGS];
};

void qsim_rx_frame(struct qsim_port *port, struct sk_buff *skb);
void qsim_rx_out(struct qsim_port *port, struct sk_buff *skb, unsigned int q);
bool qsim_agg_frame(struct qsim_port *port, struct sk_buff *skb,
		    const struct qsim_hdrs *h, unsigned int q);
void qsim_agg_flush_queue(struct qsim_port *port, unsigned int q);
ktime_t qsim_agg_flush_old(struct qsim_port *port, ktime_t before);
void qsim_agg_flush(struct qsim_port *port);
int qsim_rx_poll(struct qsim_rxq *rxq, int budget);

/* main.c, monitor.c: pairs */

/**
 * struct qsim_pair - two ports, their wires, their monitor
 * @ref: each port's netdev and the monitor's, until they are freed
 * @port: by number, under RTNL; NULL once unregistered
 * @wire: frames sent by the port of that number
 * @mon: monitor netdev, NULL once unregistered; written under RTNL
 */
struct qsim_pair {
	refcount_t ref;
	struct net_device *port[2];
	struct qsim_wire wire[2];
	struct net_device __rcu *mon;
};

/**
 * struct qsim_port - one port: netdev_priv()
 * @netdev: the net device
 * @pair: its pair, a reference
 * @no: number in the pair
 * @mode: what it announces
 * @nq: queues
 * @pause: a full receive ring stops the wire instead of losing frames
 * @rx_usecs: longest time that a packet is kept back to coalesce more
 * @tx_ring: descriptors of a transmit ring
 * @rx_ring: packets of a receive ring
 * @txq: transmit rings
 * @rxq: receive rings
 * @tx_task: device thread
 * @rx_task: device thread
 * @tx_wait: @tx_task waits for descriptors
 * @rx_wait: @rx_task waits for room in a receive ring
 * @key_wait: key flushes wait for descriptors
 * @tx_pfc: frame memory, only @tx_task
 * @rx_pfc: memory for received headers, only @rx_task
 * @rx_page: memory for received payload, only @rx_task
 * @tx_scratch: only @tx_task
 * @rx_scratch: only @rx_task
 * @out: packets on their way to the receive rings, only @rx_task
 * @agg: coalesced packets, under @flow_lock
 * @qd: registered with the core; written under @reg_lock
 * @reg_lock: one registration or unregistration at a time
 * @caps: announced to the core
 * @tab_lock: writers of @ctx
 * @ctx: contexts by index
 * @max_ctx: size of @ctx
 * @nctx: contexts in it
 * @flow_lock: flow table, agg, and what the rx thread does with them
 * @flows: flows by 4-tuple
 * @max_flow: size of @flow
 * @flow: flows by index
 * @nflow: flows in it
 * @next_gen: for handles, atomically
 * @features: QUIC_OFFLOAD_FEATURE_* that are on
 * @flt: faults
 * @cnt: counters
 * @dir: debugfs folder
 */
struct qsim_port {
	struct net_device *netdev;
	struct qsim_pair *pair;
	u8 no;
	enum qsim_mode mode;
	u16 nq;
	bool pause;
	u32 rx_usecs;
	u32 tx_ring;
	u32 rx_ring;
	struct qsim_txq *txq;
	struct qsim_rxq *rxq;

	struct task_struct *tx_task;
	struct task_struct *rx_task;
	wait_queue_head_t tx_wait;
	wait_queue_head_t rx_wait;
	wait_queue_head_t key_wait;
	struct page_frag_cache tx_pfc;
	struct page_frag_cache rx_pfc;
	struct page_frag rx_page;
	struct qsim_scratch *tx_scratch;
	struct qsim_scratch *rx_scratch;
	struct sk_buff_head out[QSIM_MAX_QUEUES];
	struct qsim_agg agg[QSIM_AGGS];

	struct qoff_dev __rcu *qd;
	struct mutex reg_lock; /* registration */
	struct qoff_dev_caps caps;
	struct mutex tab_lock; /* writers of ctx */
	struct qsim_ctx __rcu **ctx;
	u32 max_ctx;
	u32 nctx;
	struct mutex flow_lock; /* flows, agg */
	struct hlist_head *flows;
	struct qsim_flow **flow;
	u32 max_flow;
	u32 nflow;
	atomic_t next_gen;
	u32 features;

	struct qsim_faults flt;
	atomic64_t cnt[QSIM_CNT_MAX];
	struct dentry *dir;
};

static inline void qsim_count(struct qsim_port *port, enum qsim_cnt c, s64 n)
{
	atomic64_add(n, &port->cnt[c]);
}

/* Frames that @port sends, and frames that it receives */
static inline struct qsim_wire *qsim_wire_out(struct qsim_port *port)
{
	return &port->pair->wire[port->no];
}

static inline struct qsim_wire *qsim_wire_in(struct qsim_port *port)
{
	return &port->pair->wire[!port->no];
}

void qsim_pair_put(struct qsim_pair *pair);
void qsim_pair_carrier(struct qsim_pair *pair);

int qsim_monitor_create(struct net *net, struct qsim_pair *pair,
			const char *name, struct netlink_ext_ack *extack);
void qsim_monitor_delink(struct qsim_pair *pair, struct list_head *head);
void qsim_monitor_show(struct qsim_pair *pair, const struct sk_buff *frame);
int qsim_monitor_init(void);
void qsim_monitor_exit(void);

/* broken.c: duties that are not done */
static inline bool qsim_broken(const struct qsim_port *port,
			       enum qsim_broken what)
{
	return unlikely(READ_ONCE(port->flt.broken) == what);
}

bool qsim_broken_refuses(const struct qsim_port *port,
			 const struct qoff_tx_desc *desc);
void qsim_broken_numbers(const struct qsim_port *port, struct qsim_pkt *pkt,
			 unsigned int n);
void qsim_broken_sealed(const struct qsim_port *port, struct qsim_pkt *pkt,
			unsigned int n);
void qsim_broken_frames(const struct qsim_port *port, const struct qsim_seg *s,
			struct sk_buff_head *out);

/* netdev.c, ethtool.c, debugfs.c */
void qsim_netdev_setup(struct net_device *dev);
int qsim_netdev_init_port(struct qsim_port *port);
bool qsim_is_port(const struct net_device *dev);
extern const struct ethtool_ops qsim_ethtool_ops;
void qsim_debugfs_init(void);
void qsim_debugfs_exit(void);
void qsim_debugfs_add(struct qsim_port *port);
void qsim_debugfs_del(struct qsim_port *port);

#endif /* _QUICSIM_H */
