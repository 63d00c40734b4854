// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mlx5e QUIC offload: steering.
 *
 * Receive contexts bring their own match (ctx_lookup), so that one rule a
 * family does for all: UDP goes through the device's lookup, and on to where it
 * would have gone. The rules stand in tables of their own, which the TTC points
 * at while the switches are on. Context: process, qoff_dev.lock.
 */
#include "en/fs.h"
#include "en_accel/qoff_priv.h"
#include "fs_core.h"

static const enum mlx5_traffic_types mlx5e_qoff_tt[] = {
	MLX5_TT_IPV4_UDP, MLX5_TT_IPV6_UDP,
};

#define QOFF_NTT	ARRAY_SIZE(mlx5e_qoff_tt)

struct mlx5e_qoff_fs {
	struct mlx5_flow_table *ft[QOFF_NTT];
	struct mlx5_flow_handle *rule[QOFF_NTT];
};

static struct mlx5_flow_handle *
mlx5e_qoff_fs_rule(struct mlx5_ttc_table *ttc, struct mlx5_flow_table *ft,
		   enum mlx5_traffic_types tt)
{
	struct mlx5_flow_destination dest;
	MLX5_DECLARE_FLOW_ACT(act);

	dest = mlx5_ttc_get_default_dest(ttc, tt);
	act.action = MLX5_FLOW_CONTEXT_ACTION_CRYPTO_DECRYPT |
		     MLX5_FLOW_CONTEXT_ACTION_FWD_DEST;
	act.crypto.type = QOFF_MLX5_CRYPTO_TYPE;
	act.crypto.obj_id = QOFF_MLX5_OBJ_LOOKUP;
	return mlx5_add_flow_rules(ft, NULL, &act, &dest, 1);
}

static int mlx5e_qoff_fs_one(struct mlx5e_priv *priv, struct mlx5e_qoff_fs *fs,
			     unsigned int i)
{
	struct mlx5_flow_namespace *ns = mlx5e_fs_get_ns(priv->fs, false);
	struct mlx5_ttc_table *ttc = mlx5e_fs_get_ttc(priv->fs, false);
	struct mlx5_flow_destination dest = {
		.type = MLX5_FLOW_DESTINATION_TYPE_FLOW_TABLE,
	};
	struct mlx5_flow_table_attr attr = {
		.max_fte = 2,
		.prio = MLX5E_NIC_PRIO,
		.level = MLX5E_FS_TT_UDP_FT_LEVEL,
		.autogroup.max_num_groups = 1,
	};
	int err;

	fs->ft[i] = mlx5_create_auto_grouped_flow_table(ns, &attr);
	if (IS_ERR(fs->ft[i])) {
		err = PTR_ERR(fs->ft[i]);
		fs->ft[i] = NULL;
		return err;
	}
	fs->rule[i] = mlx5e_qoff_fs_rule(ttc, fs->ft[i], mlx5e_qoff_tt[i]);
	if (IS_ERR(fs->rule[i])) {
		err = PTR_ERR(fs->rule[i]);
		fs->rule[i] = NULL;
		return err;
	}
	dest.ft = fs->ft[i];
	return mlx5_ttc_fwd_dest(ttc, mlx5e_qoff_tt[i], &dest);
}

/**
 * mlx5e_qoff_fs_destroy() - received packets pass by the lookup again
 * @priv: the netdev
 * @fs: from mlx5e_qoff_fs_create(), or a part of one
 */
void mlx5e_qoff_fs_destroy(struct mlx5e_priv *priv, struct mlx5e_qoff_fs *fs)
{
	struct mlx5_ttc_table *ttc = mlx5e_fs_get_ttc(priv->fs, false);
	unsigned int i;

	for (i = 0; i < QOFF_NTT; i++) {
		if (ttc)
			mlx5_ttc_fwd_default_dest(ttc, mlx5e_qoff_tt[i]);
		if (fs->rule[i])
			mlx5_del_flow_rules(fs->rule[i]);
		if (fs->ft[i])
			mlx5_destroy_flow_table(fs->ft[i]);
	}
	kfree(fs);
}

/**
 * mlx5e_qoff_fs_create() - send received UDP through the device's lookup
 * @priv: the netdev
 *
 * Return: for mlx5e_qoff_fs_destroy(), or ERR_PTR.
 */
struct mlx5e_qoff_fs *mlx5e_qoff_fs_create(struct mlx5e_priv *priv)
{
	struct mlx5e_qoff_fs *fs;
	unsigned int i;
	int err;

	if (!priv->fs || !mlx5e_fs_get_ttc(priv->fs, false))
		return ERR_PTR(-ENODEV);
	fs = kzalloc(sizeof(*fs), GFP_KERNEL);
	if (!fs)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < QOFF_NTT; i++) {
		err = mlx5e_qoff_fs_one(priv, fs, i);
		if (err) {
			mlx5e_qoff_fs_destroy(priv, fs);
			return ERR_PTR(err);
		}
	}
	return fs;
}
