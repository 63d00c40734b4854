// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mlx5e QUIC offload: commands to the device.
 *
 * Layouts and rules: firmware-iface/README.md, sections 2 to 5. Context:
 * process, may sleep, qoff_dev.lock held by the core.
 */
#include <linux/mlx5/driver.h>

#include "en_accel/qoff_priv.h"
#include "lib/crypto.h"

struct mlx5_ifc_quic_ctx_in_bits {
	struct mlx5_ifc_general_obj_in_cmd_hdr_bits hdr;
	struct mlx5_ifc_quic_ctx_obj_bits ctx;
};

struct mlx5_ifc_query_quic_cap_out_bits {
	u8 status[0x8];
	u8 reserved_at_8[0x18];
	u8 syndrome[0x20];
	u8 reserved_at_40[0x40];
	struct mlx5_ifc_quic_cap_bits cap;
	u8 reserved_at_880[0x7800];
};

#define QOFF_CMD_CAP_OP_MOD	(QOFF_MLX5_CAP_TYPE << 1 | 1)	/* current */

static bool mlx5e_qoff_caps_sane(const struct mlx5e_qoff_caps *caps)
{
	return caps->max_segs >= 2 && caps->max_bytes && caps->dcid_lens &&
	       (caps->max_tx_ctx || caps->max_rx_ctx);
}

/**
 * mlx5e_qoff_cmd_caps() - what does the device announce?
 * @mdev: the function
 * @caps: filled in
 *
 * What this version of the driver does not use is left out, and so are numbers
 * that cannot be.
 *
 * Return: 0, -EOPNOTSUPP when it has no such group, another version of it, or
 * announces nonsense.
 */
int mlx5e_qoff_cmd_caps(struct mlx5_core_dev *mdev, struct mlx5e_qoff_caps *caps)
{
	u32 in[MLX5_ST_SZ_DW(query_hca_cap_in)] = {};
	u32 log, bytes;
	void *out, *cap;
	int err;

	memset(caps, 0, sizeof(*caps));
	out = kvzalloc(MLX5_ST_SZ_BYTES(query_quic_cap_out), GFP_KERNEL);
	if (!out)
		return -ENOMEM;
	MLX5_SET(query_hca_cap_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
	MLX5_SET(query_hca_cap_in, in, op_mod, QOFF_CMD_CAP_OP_MOD);
	/* Today's firmware refuses; mlx5_cmd_do() does not complain of that */
	err = mlx5_cmd_do(mdev, in, sizeof(in), out,
			  MLX5_ST_SZ_BYTES(query_quic_cap_out));
	cap = MLX5_ADDR_OF(query_quic_cap_out, out, cap);
	if (err || MLX5_GET(quic_cap, cap, version) != QOFF_MLX5_VERSION) {
		err = -EOPNOTSUPP;
		goto out;
	}

	if (MLX5_GET(quic_cap, cap, tx_explicit_pn) &&
	    MLX5_GET(quic_cap, cap, tag_room))
		caps->tx_ciphers = MLX5_GET(quic_cap, cap, tx_ciphers);
	if (MLX5_GET(quic_cap, cap, ctx_lookup)) {
		caps->rx_ciphers = MLX5_GET(quic_cap, cap, rx_ciphers);
		caps->gro = MLX5_GET(quic_cap, cap, gro_var);
		caps->max_rx_ctx = MLX5_GET(quic_cap, cap, max_rx_ctx);
	}
	caps->dcid_lens = MLX5_GET(quic_cap, cap, dcid_len_supported);
	caps->lso_fixed = MLX5_GET(quic_cap, cap, lso_fixed);
	caps->pn_skip = MLX5_GET(quic_cap, cap, lso_pn_skip);
	caps->fail_original = MLX5_GET(quic_cap, cap, fail_original);
	caps->max_tx_ctx = MLX5_GET(quic_cap, cap, max_tx_ctx);
	log = min(MLX5_GET(quic_cap, cap, log_max_lso_bytes), 16U);
	bytes = 1U << log;
	caps->max_bytes = min(bytes, 65507U);
	if (MLX5_GET(quic_cap, cap, lso_var))
		caps->max_segs = min_t(u32, MLX5_GET(quic_cap, cap, max_lso_segs),
				       QOFF_MAX_SEGS);
	if (!mlx5e_qoff_caps_sane(caps))
		err = -EOPNOTSUPP;
out:
	kvfree(out);
	return err;
}

static unsigned int mlx5e_qoff_key_size(u8 cipher)
{
	switch (cipher) {
	case QUIC_OFFLOAD_CIPHER_AES_256_GCM:
	case QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305:
		return 32;
	default:
		return 16;
	}
}

/**
 * mlx5e_qoff_cmd_dek() - give the device a key
 * @mdev: the function
 * @cipher: enum quic_offload_cipher
 * @key: as many bytes as the cipher has
 * @dekn: filled in; mlx5_destroy_encryption_key() takes it back
 */
int mlx5e_qoff_cmd_dek(struct mlx5_core_dev *mdev, u8 cipher, const u8 *key,
		       u32 *dekn)
{
	return mlx5_create_encryption_key(mdev, key, mlx5e_qoff_key_size(cipher),
					  QOFF_MLX5_DEK_PURPOSE, dekn);
}

static void mlx5e_qoff_cmd_hdr(void *in, u16 opcode, u32 id)
{
	MLX5_SET(general_obj_in_cmd_hdr, in, opcode, opcode);
	MLX5_SET(general_obj_in_cmd_hdr, in, obj_type, QOFF_MLX5_OBJ_TYPE_CTX);
	MLX5_SET(general_obj_in_cmd_hdr, in, obj_id, id);
}

static int mlx5e_qoff_cmd_create(struct mlx5_core_dev *mdev, u32 *in, u32 *id)
{
	u32 out[MLX5_ST_SZ_DW(general_obj_out_cmd_hdr)] = {};
	int err;

	mlx5e_qoff_cmd_hdr(in, MLX5_CMD_OP_CREATE_GENERAL_OBJECT, 0);
	/* A full table is no news to the log: the core seals in software */
	err = mlx5_cmd_do(mdev, in, MLX5_ST_SZ_BYTES(quic_ctx_in), out, sizeof(out));
	if (err)
		return err == -EREMOTEIO ? -ENOSPC : err;
	*id = MLX5_GET(general_obj_out_cmd_hdr, out, obj_id);
	return 0;
}

/**
 * mlx5e_qoff_cmd_tx_create() - make a transmit context without payload keys
 * @mdev: the function
 * @cipher: enum quic_offload_cipher, which is enum qoff_mlx5_cipher
 * @dcid_len: connection ID bytes
 * @hp_dekn: header-protection key
 * @id: filled in
 */
int mlx5e_qoff_cmd_tx_create(struct mlx5_core_dev *mdev, u8 cipher, u8 dcid_len,
			     u32 hp_dekn, u32 *id)
{
	u32 in[MLX5_ST_SZ_DW(quic_ctx_in)] = {};
	void *ctx = MLX5_ADDR_OF(quic_ctx_in, in, ctx);

	MLX5_SET(quic_ctx_obj, ctx, direction, QOFF_MLX5_TX);
	MLX5_SET(quic_ctx_obj, ctx, cipher, cipher);
	MLX5_SET(quic_ctx_obj, ctx, dcid_len, dcid_len);
	MLX5_SET(quic_ctx_obj, ctx, hp_valid, 1);
	MLX5_SET(quic_ctx_obj, ctx, hp_dekn, hp_dekn);
	return mlx5e_qoff_cmd_create(mdev, in, id);
}

static void mlx5e_qoff_cmd_match(void *ctx, const struct qoff_flow_key *k)
{
	unsigned int n = k->family == AF_INET ? 4 : 16;

	MLX5_SET(quic_ctx_obj, ctx, lookup, 1);
	MLX5_SET(quic_ctx_obj, ctx, ip_version, k->family == AF_INET ? 4 : 6);
	MLX5_SET(quic_ctx_obj, ctx, dst_port, ntohs(k->local_port));
	MLX5_SET(quic_ctx_obj, ctx, src_port, ntohs(k->remote_port));
	memcpy(MLX5_ADDR_OF(quic_ctx_obj, ctx, dst_ip), &k->local, n);
	memcpy(MLX5_ADDR_OF(quic_ctx_obj, ctx, src_ip), &k->remote, n);
	memcpy(MLX5_ADDR_OF(quic_ctx_obj, ctx, dcid), k->dcid, k->dcid_len);
}

/**
 * mlx5e_qoff_cmd_rx_create() - make a receive context with its own match
 * @mdev: the function
 * @p: the flow
 * @hp_dekn: header-protection key, when @p has a cipher
 * @handle: not 0, comes back in completions
 * @gro: coalesce
 * @fail_original: deliver what came in of a packet that does not open
 * @id: filled in
 */
int mlx5e_qoff_cmd_rx_create(struct mlx5_core_dev *mdev,
			     const struct qoff_flow_params *p, u32 hp_dekn,
			     u32 handle, bool gro, bool fail_original, u32 *id)
{
	u32 in[MLX5_ST_SZ_DW(quic_ctx_in)] = {};
	void *ctx = MLX5_ADDR_OF(quic_ctx_in, in, ctx);

	MLX5_SET(quic_ctx_obj, ctx, direction, QOFF_MLX5_RX);
	MLX5_SET(quic_ctx_obj, ctx, cipher, p->cipher);
	MLX5_SET(quic_ctx_obj, ctx, dcid_len, p->key.dcid_len);
	MLX5_SET(quic_ctx_obj, ctx, handle, handle);
	MLX5_SET(quic_ctx_obj, ctx, gro_en, gro);
	MLX5_SET(quic_ctx_obj, ctx, fail_action, fail_original ?
		 QOFF_MLX5_FAIL_ORIGINAL : QOFF_MLX5_FAIL_DROP);
	MLX5_SET64(quic_ctx_obj, ctx, next_pn, p->next_pn);
	if (p->cipher) {
		MLX5_SET(quic_ctx_obj, ctx, hp_valid, 1);
		MLX5_SET(quic_ctx_obj, ctx, hp_dekn, hp_dekn);
	}
	mlx5e_qoff_cmd_match(ctx, &p->key);
	return mlx5e_qoff_cmd_create(mdev, in, id);
}

/**
 * mlx5e_qoff_cmd_slot() - fill or empty a key slot
 * @mdev: the function
 * @id: object
 * @phase: the slot
 * @fill: or empty
 * @filled: bit n for slot n, before
 * @dekn: key, to fill
 * @iv: IV, to fill
 *
 * The device answers when no packet uses the old contents any more.
 */
int mlx5e_qoff_cmd_slot(struct mlx5_core_dev *mdev, u32 id, u8 phase, bool fill,
			u8 filled, u32 dekn, const u8 *iv)
{
	u32 out[MLX5_ST_SZ_DW(general_obj_out_cmd_hdr)] = {};
	u32 in[MLX5_ST_SZ_DW(quic_ctx_in)] = {};
	u64 select = phase ? QOFF_MLX5_SEL_SLOT1 : QOFF_MLX5_SEL_SLOT0;
	void *ctx = MLX5_ADDR_OF(quic_ctx_in, in, ctx);
	int err;

	filled = fill ? filled | BIT(phase) : filled & ~BIT(phase);
	MLX5_SET(quic_ctx_obj, ctx, phase_valid, filled);
	/* The current phase may not name an empty slot */
	if (filled && !(filled & (filled - 1))) {
		select |= QOFF_MLX5_SEL_KEY_PHASE;
		MLX5_SET(quic_ctx_obj, ctx, key_phase, filled == BIT(1));
	}
	MLX5_SET64(quic_ctx_obj, ctx, modify_field_select, select);
	if (fill && phase) {
		MLX5_SET(quic_ctx_obj, ctx, dekn_1, dekn);
		MLX5_SET(quic_ctx_obj, ctx, key_tag_1, 1);
		memcpy(MLX5_ADDR_OF(quic_ctx_obj, ctx, iv_1), iv, QOFF_IV_SIZE);
	} else if (fill) {
		MLX5_SET(quic_ctx_obj, ctx, dekn_0, dekn);
		memcpy(MLX5_ADDR_OF(quic_ctx_obj, ctx, iv_0), iv, QOFF_IV_SIZE);
	}
	mlx5e_qoff_cmd_hdr(in, MLX5_CMD_OP_MODIFY_GENERAL_OBJECT, id);
	err = mlx5_cmd_exec(mdev, in, sizeof(in), out, sizeof(out));
	memzero_explicit(in, sizeof(in));
	return err;
}

/**
 * mlx5e_qoff_cmd_destroy() - forget a context
 * @mdev: the function
 * @id: object
 *
 * On return nothing more is opened with it and no completion has its handle.
 */
void mlx5e_qoff_cmd_destroy(struct mlx5_core_dev *mdev, u32 id)
{
	u32 out[MLX5_ST_SZ_DW(general_obj_out_cmd_hdr)] = {};
	u32 in[MLX5_ST_SZ_DW(general_obj_in_cmd_hdr)] = {};

	mlx5e_qoff_cmd_hdr(in, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT, id);
	mlx5_cmd_exec(mdev, in, sizeof(in), out, sizeof(out));
}
