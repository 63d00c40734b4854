// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/quic-offload.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "nl-gen.h"

#include <uapi/linux/quic_offload_netlink.h>

/* QUIC_OFFLOAD_CMD_DEV_GET - do */
static const struct nla_policy quic_offload_dev_get_nl_policy[QUIC_OFFLOAD_A_DEV_IFINDEX + 1] = {
	[QUIC_OFFLOAD_A_DEV_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[QUIC_OFFLOAD_A_DEV_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* QUIC_OFFLOAD_CMD_DEV_SET - do */
static const struct nla_policy quic_offload_dev_set_nl_policy[QUIC_OFFLOAD_A_DEV_TAP_POLICY + 1] = {
	[QUIC_OFFLOAD_A_DEV_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[QUIC_OFFLOAD_A_DEV_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[QUIC_OFFLOAD_A_DEV_FEATURES] = NLA_POLICY_MASK(NLA_U32, 0xf),
	[QUIC_OFFLOAD_A_DEV_TAP_POLICY] = NLA_POLICY_MAX(NLA_U32, 1),
};

/* QUIC_OFFLOAD_CMD_DEV_STATS_GET - do */
static const struct nla_policy quic_offload_dev_stats_get_nl_policy[QUIC_OFFLOAD_A_DEV_IFINDEX + 1] = {
	[QUIC_OFFLOAD_A_DEV_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[QUIC_OFFLOAD_A_DEV_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* QUIC_OFFLOAD_CMD_SOCK_ATTACH - do */
static const struct nla_policy quic_offload_sock_attach_nl_policy[QUIC_OFFLOAD_A_SOCK_RX_SEG_SIZE + 1] = {
	[QUIC_OFFLOAD_A_SOCK_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[QUIC_OFFLOAD_A_SOCK_JOIN_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[QUIC_OFFLOAD_A_SOCK_DCID_LEN] = NLA_POLICY_MAX(NLA_U8, 20),
	[QUIC_OFFLOAD_A_SOCK_RX_HDR_SIZE] = NLA_POLICY_MIN(NLA_U16, 56),
	[QUIC_OFFLOAD_A_SOCK_RX_SEG_SIZE] = NLA_POLICY_MIN(NLA_U16, 24),
};

/* QUIC_OFFLOAD_CMD_SOCK_GET - do */
static const struct nla_policy quic_offload_sock_get_nl_policy[QUIC_OFFLOAD_A_SOCK_FD + 1] = {
	[QUIC_OFFLOAD_A_SOCK_FD] = NLA_POLICY_MIN(NLA_S32, 0),
};

/* QUIC_OFFLOAD_CMD_CTX_ADD - do */
static const struct nla_policy quic_offload_ctx_add_nl_policy[QUIC_OFFLOAD_A_CTX_FLAGS + 1] = {
	[QUIC_OFFLOAD_A_CTX_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[QUIC_OFFLOAD_A_CTX_CIPHER] = NLA_POLICY_RANGE(NLA_U32, 1, 4),
	[QUIC_OFFLOAD_A_CTX_DCID_LEN] = NLA_POLICY_MAX(NLA_U8, 20),
	[QUIC_OFFLOAD_A_CTX_PHASE] = NLA_POLICY_MAX(NLA_U8, 1),
	[QUIC_OFFLOAD_A_CTX_KEY] = { .type = NLA_BINARY, },
	[QUIC_OFFLOAD_A_CTX_IV] = NLA_POLICY_EXACT_LEN(12),
	[QUIC_OFFLOAD_A_CTX_HP_KEY] = { .type = NLA_BINARY, },
	[QUIC_OFFLOAD_A_CTX_FIRST_PN] = { .type = NLA_U64, },
	[QUIC_OFFLOAD_A_CTX_PATH_ID] = { .type = NLA_U32, },
	[QUIC_OFFLOAD_A_CTX_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x1),
};

/* QUIC_OFFLOAD_CMD_CTX_UPDATE - do */
static const struct nla_policy quic_offload_ctx_update_nl_policy[QUIC_OFFLOAD_A_CTX_IV + 1] = {
	[QUIC_OFFLOAD_A_CTX_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[QUIC_OFFLOAD_A_CTX_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[QUIC_OFFLOAD_A_CTX_GEN] = { .type = NLA_U32, },
	[QUIC_OFFLOAD_A_CTX_PHASE] = NLA_POLICY_MAX(NLA_U8, 1),
	[QUIC_OFFLOAD_A_CTX_KEY] = { .type = NLA_BINARY, },
	[QUIC_OFFLOAD_A_CTX_IV] = NLA_POLICY_EXACT_LEN(12),
};

/* QUIC_OFFLOAD_CMD_CTX_DEL - do */
static const struct nla_policy quic_offload_ctx_del_nl_policy[QUIC_OFFLOAD_A_CTX_GEN + 1] = {
	[QUIC_OFFLOAD_A_CTX_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[QUIC_OFFLOAD_A_CTX_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[QUIC_OFFLOAD_A_CTX_GEN] = { .type = NLA_U32, },
};

/* QUIC_OFFLOAD_CMD_CTX_GET - do */
static const struct nla_policy quic_offload_ctx_get_nl_policy[QUIC_OFFLOAD_A_CTX_ID + 1] = {
	[QUIC_OFFLOAD_A_CTX_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[QUIC_OFFLOAD_A_CTX_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* QUIC_OFFLOAD_CMD_FLOW_ADD - do */
static const struct nla_policy quic_offload_flow_add_nl_policy[QUIC_OFFLOAD_A_FLOW_SCOPE_ID + 1] = {
	[QUIC_OFFLOAD_A_FLOW_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[QUIC_OFFLOAD_A_FLOW_LOCAL_ADDR] = { .type = NLA_BINARY, },
	[QUIC_OFFLOAD_A_FLOW_REMOTE_ADDR] = { .type = NLA_BINARY, },
	[QUIC_OFFLOAD_A_FLOW_REMOTE_PORT] = { .type = NLA_U16, },
	[QUIC_OFFLOAD_A_FLOW_DCID] = { .type = NLA_BINARY, },
	[QUIC_OFFLOAD_A_FLOW_COOKIE] = { .type = NLA_U64, },
	[QUIC_OFFLOAD_A_FLOW_CIPHER] = NLA_POLICY_RANGE(NLA_U32, 1, 4),
	[QUIC_OFFLOAD_A_FLOW_PHASE] = NLA_POLICY_MAX(NLA_U8, 1),
	[QUIC_OFFLOAD_A_FLOW_KEY] = { .type = NLA_BINARY, },
	[QUIC_OFFLOAD_A_FLOW_IV] = NLA_POLICY_EXACT_LEN(12),
	[QUIC_OFFLOAD_A_FLOW_HP_KEY] = { .type = NLA_BINARY, },
	[QUIC_OFFLOAD_A_FLOW_KEY_GEN] = { .type = NLA_U32, },
	[QUIC_OFFLOAD_A_FLOW_LARGEST_PN] = { .type = NLA_U64, },
	[QUIC_OFFLOAD_A_FLOW_KEYS_OF] = NLA_POLICY_MIN(NLA_U32, 1),
	[QUIC_OFFLOAD_A_FLOW_SCOPE_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* QUIC_OFFLOAD_CMD_FLOW_UPDATE - do */
static const struct nla_policy quic_offload_flow_update_nl_policy[QUIC_OFFLOAD_A_FLOW_RETIRE + 1] = {
	[QUIC_OFFLOAD_A_FLOW_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[QUIC_OFFLOAD_A_FLOW_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[QUIC_OFFLOAD_A_FLOW_CIPHER] = NLA_POLICY_RANGE(NLA_U32, 1, 4),
	[QUIC_OFFLOAD_A_FLOW_PHASE] = NLA_POLICY_MAX(NLA_U8, 1),
	[QUIC_OFFLOAD_A_FLOW_KEY] = { .type = NLA_BINARY, },
	[QUIC_OFFLOAD_A_FLOW_IV] = NLA_POLICY_EXACT_LEN(12),
	[QUIC_OFFLOAD_A_FLOW_HP_KEY] = { .type = NLA_BINARY, },
	[QUIC_OFFLOAD_A_FLOW_KEY_GEN] = { .type = NLA_U32, },
	[QUIC_OFFLOAD_A_FLOW_LARGEST_PN] = { .type = NLA_U64, },
	[QUIC_OFFLOAD_A_FLOW_RETIRE] = { .type = NLA_FLAG, },
};

/* QUIC_OFFLOAD_CMD_FLOW_DEL - do */
static const struct nla_policy quic_offload_flow_del_nl_policy[QUIC_OFFLOAD_A_FLOW_ID + 1] = {
	[QUIC_OFFLOAD_A_FLOW_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[QUIC_OFFLOAD_A_FLOW_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* QUIC_OFFLOAD_CMD_FLOW_GET - do */
static const struct nla_policy quic_offload_flow_get_nl_policy[QUIC_OFFLOAD_A_FLOW_ID + 1] = {
	[QUIC_OFFLOAD_A_FLOW_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[QUIC_OFFLOAD_A_FLOW_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* Ops table for quic_offload */
static const struct genl_split_ops quic_offload_nl_ops[] = {
	{
		.cmd		= QUIC_OFFLOAD_CMD_DEV_GET,
		.doit		= quic_offload_nl_dev_get_doit,
		.policy		= quic_offload_dev_get_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_DEV_IFINDEX,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= QUIC_OFFLOAD_CMD_DEV_GET,
		.dumpit	= quic_offload_nl_dev_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_DEV_SET,
		.doit		= quic_offload_nl_dev_set_doit,
		.policy		= quic_offload_dev_set_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_DEV_TAP_POLICY,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_DEV_STATS_GET,
		.doit		= quic_offload_nl_dev_stats_get_doit,
		.policy		= quic_offload_dev_stats_get_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_DEV_IFINDEX,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= QUIC_OFFLOAD_CMD_DEV_STATS_GET,
		.dumpit	= quic_offload_nl_dev_stats_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_SOCK_ATTACH,
		.doit		= quic_offload_nl_sock_attach_doit,
		.policy		= quic_offload_sock_attach_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_SOCK_RX_SEG_SIZE,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_SOCK_GET,
		.doit		= quic_offload_nl_sock_get_doit,
		.policy		= quic_offload_sock_get_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_SOCK_FD,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_CTX_ADD,
		.doit		= quic_offload_nl_ctx_add_doit,
		.policy		= quic_offload_ctx_add_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_CTX_FLAGS,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_CTX_UPDATE,
		.doit		= quic_offload_nl_ctx_update_doit,
		.policy		= quic_offload_ctx_update_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_CTX_IV,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_CTX_DEL,
		.doit		= quic_offload_nl_ctx_del_doit,
		.policy		= quic_offload_ctx_del_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_CTX_GEN,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_CTX_GET,
		.doit		= quic_offload_nl_ctx_get_doit,
		.policy		= quic_offload_ctx_get_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_CTX_ID,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_FLOW_ADD,
		.doit		= quic_offload_nl_flow_add_doit,
		.policy		= quic_offload_flow_add_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_FLOW_SCOPE_ID,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_FLOW_UPDATE,
		.doit		= quic_offload_nl_flow_update_doit,
		.policy		= quic_offload_flow_update_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_FLOW_RETIRE,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_FLOW_DEL,
		.doit		= quic_offload_nl_flow_del_doit,
		.policy		= quic_offload_flow_del_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_FLOW_ID,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= QUIC_OFFLOAD_CMD_FLOW_GET,
		.doit		= quic_offload_nl_flow_get_doit,
		.policy		= quic_offload_flow_get_nl_policy,
		.maxattr	= QUIC_OFFLOAD_A_FLOW_ID,
		.flags		= GENL_CMD_CAP_DO,
	},
};

static const struct genl_multicast_group quic_offload_nl_mcgrps[] = {
	[QUIC_OFFLOAD_NLGRP_MGMT] = { "mgmt", },
	[QUIC_OFFLOAD_NLGRP_KEYS] = { "keys", },
};

struct genl_family quic_offload_nl_family __ro_after_init = {
	.name		= QUIC_OFFLOAD_FAMILY_NAME,
	.version	= QUIC_OFFLOAD_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= quic_offload_nl_ops,
	.n_split_ops	= ARRAY_SIZE(quic_offload_nl_ops),
	.mcgrps		= quic_offload_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(quic_offload_nl_mcgrps),
};
