/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QUIC offload, the driver API: structures.  What a NIC driver fills in, what
 * it is given, and what its callbacks must do.  The calls are in functions.h.
 */
#ifndef _NET_QUIC_OFFLOAD_TYPES_H
#define _NET_QUIC_OFFLOAD_TYPES_H

#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <uapi/linux/quic_offload.h>

struct netlink_ext_ack;
struct qoff_dev;

/**
 * struct qoff_dev_caps - what a device announces, constant while registered
 * @features: QUIC_OFFLOAD_FEATURE_* bits it can do
 * @tx_ciphers: bit (1 << cipher) for each cipher it seals
 * @rx_ciphers: likewise, opens
 * @dcid_lens: bit (1 << length) for each DCID length it matches and skips
 * @max_segs: segments of one super-packet it takes, 2 to QOFF_MAX_SEGS
 * @max_bytes: UDP payload bytes of one super-packet it takes
 * @max_ctx: transmit contexts it holds
 * @max_flow: flows it holds
 * @ctx_drv_size: driver bytes inside each context and flow
 */
struct qoff_dev_caps {
	u32 features;
	u32 tx_ciphers;
	u32 rx_ciphers;
	u32 dcid_lens;
	u32 max_segs;
	u32 max_bytes;
	u32 max_ctx;
	u32 max_flow;
	u32 ctx_drv_size;
};

/**
 * struct qoff_key_params - one AEAD key as a driver is given it
 * @phase: key phase bit, the slot
 * @gen: generation of the key; reported back for opened segments
 * @key: key bytes, as many as the cipher has
 * @iv: IV
 *
 * Lives on the caller's stack and is zeroed after the callback.
 */
struct qoff_key_params {
	u8 phase;
	u32 gen;
	u8 key[QOFF_MAX_KEY];
	u8 iv[QOFF_IV_SIZE];
};

/**
 * struct qoff_ctx_params - a transmit context as a driver is given it
 * @cipher: enum quic_offload_cipher
 * @dcid_len: connection ID bytes in the packets to seal
 * @hp_key: header-protection key, for both phases
 */
struct qoff_ctx_params {
	u8 cipher;
	u8 dcid_len;
	u8 hp_key[QOFF_MAX_KEY];
};

/**
 * struct qoff_flow_key - what a received packet is matched by
 * @family: AF_INET or AF_INET6; a v4-mapped flow is AF_INET
 * @dcid_len: bytes of @dcid
 * @local_port: network byte order
 * @remote_port: network byte order
 * @scope: interface of link-local addresses, else 0; 0 in what a driver is given
 * @local: address, IPv4 in the first word
 * @remote: address, IPv4 in the first word
 * @dcid: connection ID, rest zero
 *
 * No holes, unused bytes zero: it is hashed and compared as memory.
 */
struct qoff_flow_key {
	u8 family;
	u8 dcid_len;
	__be16 local_port;
	__be16 remote_port;
	u16 zero;
	u32 scope;
	struct in6_addr local;
	struct in6_addr remote;
	u8 dcid[QOFF_MAX_DCID];
};

/**
 * struct qoff_flow_params - a flow as a driver is given it
 * @id: the core's flow id; handed back with opened packets
 * @key: what to match
 * @cipher: enum quic_offload_cipher, 0 for a flow that is only coalesced
 * @hp_key: header-protection key
 * @next_pn: the number after the largest one received so far
 */
struct qoff_flow_params {
	u32 id;
	struct qoff_flow_key key;
	u8 cipher;
	u8 hp_key[QOFF_MAX_KEY];
	u64 next_pn;
};

/**
 * struct qoff_dev_stats - counters of a driver, since registration
 * @tx_super: super-packets taken
 * @tx_segs: segments of those put on the wire
 * @tx_bytes: UDP payload bytes of those
 * @tx_err: super-packets completed as an error
 * @rx_opened: segments opened
 * @rx_failed: segments whose authentication failed
 * @rx_coalesced: coalesced packets handed up
 */
struct qoff_dev_stats {
	u64 tx_super;
	u64 tx_segs;
	u64 tx_bytes;
	u64 tx_err;
	u64 rx_opened;
	u64 rx_failed;
	u64 rx_coalesced;
};

/**
 * struct qoff_dev_ops - what a driver does
 * @ctx_add: take a transmit context without keys
 * @ctx_del: forget a context; no descriptor uses it any more
 * @ctx_key_add: put a key into the slot of its phase; the slot is empty
 * @ctx_key_flush: return when no descriptor uses the slot, and empty it
 * @flow_add: take a flow without keys. It must not open before a key came
 * @flow_del: forget a flow. On return nothing more is opened with it;
 *	packets already opened may still be on their way up
 * @flow_key_add: as @ctx_key_add
 * @flow_key_flush: as @ctx_key_flush
 * @set_features: switch to these QUIC_OFFLOAD_FEATURE_* bits
 * @get_stats: fill in counters
 *
 * All run in process context, may sleep, and are called one at a time per
 * device (qoff_dev.lock). @drv points at caps.ctx_drv_size bytes that belong
 * to the driver from add to del, zeroed before add. Every argument but @drv is
 * gone after the call. A driver refuses with an errno (-ENOSPC: table full)
 * and the core does the work in software. ctx_* are needed with TX_CRYPTO,
 * flow_add and flow_del with GRO, flow_key_* with RX_CRYPTO.
 */
struct qoff_dev_ops {
	int (*ctx_add)(struct qoff_dev *qd, const struct qoff_ctx_params *p,
		       void *drv);
	void (*ctx_del)(struct qoff_dev *qd, void *drv);
	int (*ctx_key_add)(struct qoff_dev *qd, void *drv,
			   const struct qoff_key_params *k);
	void (*ctx_key_flush)(struct qoff_dev *qd, void *drv, u8 phase);
	int (*flow_add)(struct qoff_dev *qd, const struct qoff_flow_params *p,
			void *drv);
	void (*flow_del)(struct qoff_dev *qd, void *drv);
	int (*flow_key_add)(struct qoff_dev *qd, void *drv,
			    const struct qoff_key_params *k);
	void (*flow_key_flush)(struct qoff_dev *qd, void *drv, u8 phase);
	int (*set_features)(struct qoff_dev *qd, u32 features,
			    struct netlink_ext_ack *extack);
	void (*get_stats)(struct qoff_dev *qd, struct qoff_dev_stats *stats);
};

/**
 * struct qoff_dev - a registered device
 * @netdev: the net device; NULL-able under RCU once unregistered, the
 *	registration holds a reference
 * @ops: callbacks; NULL after unregistration, read under @lock
 * @caps: what it announced
 * @drv_priv: the driver's
 * @lock: serialises callbacks, protects @ops and the contexts placed here
 * @refcnt: the memory of this structure
 * @features: QUIC_OFFLOAD_FEATURE_* bits that are on; read locklessly
 * @tap_policy: enum quic_offload_tap_policy; read locklessly
 * @id: for netlink; never reused while referenced
 * @nctx: transmit contexts placed here, under @lock
 * @nflow: flows placed here, under @lock
 * @ctxs: contexts and flows placed here (struct qoff_place), under @lock
 * @gen: bumped when the device lost its contexts (reset)
 * @rcu: for freeing
 * @core: the framework's own; drivers do not touch it
 */
struct qoff_dev {
	struct net_device __rcu *netdev;
	const struct qoff_dev_ops *ops;
	const struct qoff_dev_caps *caps;
	void *drv_priv;
	struct mutex lock; /* serialises callbacks */
	refcount_t refcnt;
	u32 features;
	u32 tap_policy;
	u32 id;
	u32 nctx;
	u32 nflow;
	struct list_head ctxs;
	u32 gen;
	struct rcu_head rcu;
	void *core;
};

/**
 * struct qoff_seg - one segment of a super-packet on transmit
 * @len: UDP payload bytes on the wire, tag included
 * @pn_off: its packet number is qoff_tx_desc.pn + this
 */
struct qoff_seg {
	u16 len;
	u16 resv;
	u32 pn_off;
};

/**
 * struct qoff_tx_desc - a super-packet as the driver must send it
 * @segs: @nseg segments, in order
 * @nseg: segments, at least 1
 * @seal: seal each segment; otherwise the bytes are already what goes out
 * @phase: key slot to seal with
 * @cipher: enum quic_offload_cipher, when @seal
 * @dcid_len: connection ID bytes, when @seal
 * @net_off: offset of the IP header from skb->data
 * @th_off: offset of the UDP header from skb->data; the payload of segment 0
 *	follows its 8 bytes
 * @pn: packet number of segment 0, when @seal
 * @drv: driver bytes of the context, when @seal; valid until the skb is freed
 *
 * For each segment the device makes: all bytes before @th_off with IP length,
 * IPv4 identification (+1 each) and header checksum corrected, a UDP header
 * with the segment's length, and the UDP checksum over what goes out, which is
 * always computed from the current addresses: the value in the skb is stale.
 */
struct qoff_tx_desc {
	const struct qoff_seg *segs;
	u16 nseg;
	bool seal;
	u8 phase;
	u8 cipher;
	u8 dcid_len;
	u16 net_off;
	u16 th_off;
	u64 pn;
	void *drv;
};

#endif /* _NET_QUIC_OFFLOAD_TYPES_H */
