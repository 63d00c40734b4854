/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * mlx5e QUIC offload: the driver's side of the QUIC extension of mlx5
 * (firmware-iface/README.md) and of the framework's driver API.
 *
 * qoff.c	registration, switches, contexts and flows of the framework
 * qoff_cmd.c	commands to the device, nothing else builds mailboxes
 * qoff_tx.c	super-packet to WQE
 * qoff_rx.c	completion to opened segments
 * qoff_fs.c	steering into the device's lookup
 *
 * These files live in mlx5's en_accel/; hooks.patch has the places in mlx5e
 * that call them.
 *
 * DOC: locks and lifetimes
 *
 * All control runs under qoff_dev.lock, one call at a time per device. A
 * transmit key is counted: ndo_start_xmit takes a reference under RCU for the
 * WQE it posts, the completion gives it back. A flush empties the slot, waits
 * until no ndo_start_xmit can still see the key, then for the references, and
 * only then takes the key from the device.
 */
#ifndef __MLX5E_QOFF_H__
#define __MLX5E_QOFF_H__

#include <linux/skbuff.h>
#include <linux/types.h>
#include <uapi/linux/quic_offload.h>

#include "en_accel/qoff_mlx5_ifc.h"

struct mlx5_cqe64;
struct mlx5e_priv;
struct mlx5e_qoff;
struct mlx5e_qoff_key;
struct mlx5e_rq;
struct mlx5e_tx_wqe;

/**
 * struct mlx5e_qoff_tx - a super-packet on its way into a WQE
 * @key: of the sealing, a reference; NULL when it is only cut
 * @opcode: with the opcode modifier in its upper byte
 * @num_bytes: on the wire
 * @nseg: packets that it makes
 * @ihs: bytes of inline headers, L2 to UDP, without a VLAN tag to insert
 * @headlen: payload bytes in the linear part
 * @ds_inl: 16-byte units of inline headers beyond the Ethernet segment
 * @table_ds: 16-byte units of the length table
 * @ds_cnt: of the whole WQE
 * @flags_ctx: of the QUIC segment, host order
 * @pn: packet number of the first packet
 * @mss: length of all packets, 0 with a table
 * @segs: valid until the skb is freed
 */
struct mlx5e_qoff_tx {
	struct mlx5e_qoff_key *key;
	u32 opcode;
	u32 num_bytes;
	u16 nseg;
	u16 ihs;
	u16 headlen;
	u16 ds_inl;
	u16 table_ds;
	u16 ds_cnt;
	u32 flags_ctx;
	u64 pn;
	u16 mss;
	const struct qoff_seg *segs;
};

/**
 * struct mlx5e_qoff_rx - a completion of packets that the device worked on
 * @qoff: valid within the NAPI poll
 * @flow_id: the core's
 * @key_gen: of the key that opened them
 * @pn: packet number of the first
 * @byte_cnt: bytes of the frame
 * @list_off: of the segment list, from the frame's first byte; 0: none
 * @hdr_len: L2 to UDP
 * @nseg: packets
 * @flags: enum qoff_mlx5_rx_flags
 * @dcid_len: bytes
 * @pn_len: of the first
 * @tos: of all
 */
struct mlx5e_qoff_rx {
	struct mlx5e_qoff *qoff;
	u32 flow_id;
	u32 key_gen;
	u64 pn;
	u32 byte_cnt;
	u32 list_off;
	u16 hdr_len;
	u16 nseg;
	u8 flags;
	u8 dcid_len;
	u8 pn_len;
	u8 tos;
};

#ifdef CONFIG_MLX5_EN_QUIC
void mlx5e_qoff_build_netdev(struct mlx5e_priv *priv);
void mlx5e_qoff_init(struct mlx5e_priv *priv);
void mlx5e_qoff_cleanup(struct mlx5e_priv *priv);
void mlx5e_qoff_set_features(struct mlx5e_priv *priv,
			     netdev_features_t features);
netdev_features_t mlx5e_qoff_fix_features(struct mlx5e_priv *priv,
					  netdev_features_t features);

bool mlx5e_qoff_tx_wanted(struct sk_buff *skb);
int mlx5e_qoff_tx_prepare(struct mlx5e_priv *priv, struct sk_buff *skb,
			  struct mlx5e_qoff_tx *q);
void *mlx5e_qoff_tx_build(const struct sk_buff *skb,
			  const struct mlx5e_qoff_tx *q,
			  struct mlx5e_tx_wqe *wqe);
void mlx5e_qoff_tx_done(struct mlx5e_qoff_key *key,
			const struct mlx5_cqe64 *cqe);

bool mlx5e_qoff_rx_wanted(const struct mlx5_cqe64 *cqe);
int mlx5e_qoff_rx_begin(struct mlx5e_rq *rq, const struct mlx5_cqe64 *cqe,
			const u8 *frame, struct mlx5e_qoff_rx *r);
void mlx5e_qoff_rx_seg(const struct mlx5e_qoff_rx *r,
		       const struct qoff_mlx5_rx_seg *e, struct qoff_rx_seg *seg);
bool mlx5e_qoff_rx_fits(unsigned int bytes, unsigned int n, unsigned int len);
bool mlx5e_qoff_rx_skb(const struct mlx5e_qoff_rx *r, struct sk_buff *skb,
		       const struct qoff_rx_seg *segs, unsigned int n);

int mlx5e_qoff_get_count(struct mlx5e_priv *priv);
void mlx5e_qoff_get_strings(struct mlx5e_priv *priv, u8 **data);
void mlx5e_qoff_get_stats(struct mlx5e_priv *priv, u64 **data);
#else
/* What mlx5e calls where the extension is not built */
static inline void mlx5e_qoff_build_netdev(struct mlx5e_priv *priv) { }
static inline void mlx5e_qoff_init(struct mlx5e_priv *priv) { }
static inline void mlx5e_qoff_cleanup(struct mlx5e_priv *priv) { }
static inline void mlx5e_qoff_set_features(struct mlx5e_priv *priv,
					   netdev_features_t features) { }
static inline netdev_features_t
mlx5e_qoff_fix_features(struct mlx5e_priv *priv, netdev_features_t features)
{
	return features;
}

static inline bool mlx5e_qoff_tx_wanted(struct sk_buff *skb) { return false; }
static inline bool mlx5e_qoff_rx_wanted(const struct mlx5_cqe64 *cqe)
{
	return false;
}

static inline int mlx5e_qoff_get_count(struct mlx5e_priv *priv) { return 0; }
static inline void mlx5e_qoff_get_strings(struct mlx5e_priv *priv, u8 **data) { }
static inline void mlx5e_qoff_get_stats(struct mlx5e_priv *priv, u64 **data) { }
#endif

#endif /* __MLX5E_QOFF_H__ */
