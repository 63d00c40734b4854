/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * mlx5e QUIC offload: what the files of the extension share, and mlx5e does
 * not see.
 */
#ifndef __MLX5E_QOFF_PRIV_H__
#define __MLX5E_QOFF_PRIV_H__

#include <linux/idr.h>
#include <linux/refcount.h>
#include <linux/wait.h>
#include <net/quic_offload/functions.h>

#include "en.h"
#include "en_accel/qoff.h"

/**
 * struct mlx5e_qoff_caps - what the device announces, checked
 * @tx_ciphers: bit (1 << cipher)
 * @rx_ciphers: likewise
 * @dcid_lens: bit n for connection IDs of n bytes
 * @max_segs: packets of one WQE
 * @max_bytes: their payload bytes
 * @max_tx_ctx: contexts
 * @max_rx_ctx: contexts
 * @lso_fixed: packets of one length need no table
 * @pn_skip: gaps between packet numbers within a WQE
 * @gro: coalesces any lengths
 * @fail_original: can deliver what came in of a packet that does not open
 */
struct mlx5e_qoff_caps {
	u32 tx_ciphers;
	u32 rx_ciphers;
	u32 dcid_lens;
	u32 max_segs;
	u32 max_bytes;
	u32 max_tx_ctx;
	u32 max_rx_ctx;
	bool lso_fixed;
	bool pn_skip;
	bool gro;
	bool fail_original;
};

enum mlx5e_qoff_cnt {
	MLX5E_QOFF_TX_SUPER,
	MLX5E_QOFF_TX_SEGS,
	MLX5E_QOFF_TX_BYTES,
	MLX5E_QOFF_TX_REFUSED,
	MLX5E_QOFF_TX_DROP_GUARD,
	MLX5E_QOFF_TX_DROP_STALE,
	MLX5E_QOFF_TX_DROP_FORM,
	MLX5E_QOFF_TX_REVOKED,
	MLX5E_QOFF_RX_OPENED,
	MLX5E_QOFF_RX_FAILED,
	MLX5E_QOFF_RX_COALESCED,
	MLX5E_QOFF_RX_DROP,
	MLX5E_QOFF_CTX_ADD,
	MLX5E_QOFF_CTX_FAIL,
	MLX5E_QOFF_FLOW_ADD,
	MLX5E_QOFF_FLOW_FAIL,
	MLX5E_QOFF_NCNT,
};

/**
 * struct mlx5e_qoff - QUIC offload of one netdev, from enable to disable
 * @priv: the netdev's
 * @qd: the registration
 * @dev_caps: for @qd
 * @caps: of the device
 * @key_wait: flushes wait here for references
 * @flows: struct mlx5e_qoff_flow by handle; read under RCU by NAPI
 * @fs: steering of received packets into the lookup, NULL without
 * @cnt: enum mlx5e_qoff_cnt
 * @rcu: NAPI and ndo_start_xmit read priv->qoff
 */
struct mlx5e_qoff {
	struct mlx5e_priv *priv;
	struct qoff_dev *qd;
	struct qoff_dev_caps dev_caps;
	struct mlx5e_qoff_caps caps;
	wait_queue_head_t key_wait;
	struct xarray flows;
	struct mlx5e_qoff_fs *fs;
	atomic64_t cnt[MLX5E_QOFF_NCNT];
};

static inline void mlx5e_qoff_count(struct mlx5e_qoff *qoff,
				    enum mlx5e_qoff_cnt which, u64 n)
{
	atomic64_add(n, &qoff->cnt[which]);
}

/**
 * struct mlx5e_qoff_key - a key slot of a transmit context
 * @ref: the slot's own, and one a posted WQE
 * @qoff: whose
 * @dekn: the device's name of the key
 * @rcu: ndo_start_xmit may still see it
 */
struct mlx5e_qoff_key {
	refcount_t ref;
	struct mlx5e_qoff *qoff;
	u32 dekn;
	struct rcu_head rcu;
};

/**
 * struct mlx5e_qoff_ctx - driver bytes of a transmit context
 * @id: object
 * @hp_dekn: header-protection key
 * @cipher: enum quic_offload_cipher
 * @key: slots
 */
struct mlx5e_qoff_ctx {
	u32 id;
	u32 hp_dekn;
	u8 cipher;
	struct mlx5e_qoff_key __rcu *key[2];
};

/**
 * struct mlx5e_qoff_flow - a receive flow; the driver bytes hold its handle
 * @core_id: the core's, for qoff_rx_segs()
 * @handle: ours, in completions
 * @id: object
 * @hp_dekn: header-protection key
 * @dekn: keys of the slots
 * @gen: generations of them; NAPI reads
 * @filled: bit n for slot n
 * @dcid_len: bytes of its connection ID
 * @cipher: enum quic_offload_cipher, 0: coalesced only
 * @rcu: NAPI may still see it
 */
struct mlx5e_qoff_flow {
	u32 core_id;
	u32 handle;
	u32 id;
	u32 hp_dekn;
	u32 dekn[2];
	u32 gen[2];
	u8 filled;
	u8 dcid_len;
	u8 cipher;
	struct rcu_head rcu;
};

#define MLX5E_QOFF_KEY_TIMEOUT	(15 * HZ)	/* a key that does not come back */

/* qoff_cmd.c */
int mlx5e_qoff_cmd_caps(struct mlx5_core_dev *mdev, struct mlx5e_qoff_caps *caps);
int mlx5e_qoff_cmd_dek(struct mlx5_core_dev *mdev, u8 cipher, const u8 *key,
		       u32 *dekn);
int mlx5e_qoff_cmd_tx_create(struct mlx5_core_dev *mdev, u8 cipher, u8 dcid_len,
			     u32 hp_dekn, u32 *id);
int mlx5e_qoff_cmd_rx_create(struct mlx5_core_dev *mdev,
			     const struct qoff_flow_params *p, u32 hp_dekn,
			     u32 handle, bool gro, bool fail_original, u32 *id);
int mlx5e_qoff_cmd_slot(struct mlx5_core_dev *mdev, u32 id, u8 phase, bool fill,
			u8 filled, u32 dekn, const u8 *iv);
void mlx5e_qoff_cmd_destroy(struct mlx5_core_dev *mdev, u32 id);

/* qoff_fs.c */
struct mlx5e_qoff_fs *mlx5e_qoff_fs_create(struct mlx5e_priv *priv);
void mlx5e_qoff_fs_destroy(struct mlx5e_priv *priv, struct mlx5e_qoff_fs *fs);

#endif /* __MLX5E_QOFF_PRIV_H__ */
