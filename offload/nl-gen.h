/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/quic-offload.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_QUIC_OFFLOAD_GEN_H
#define _LINUX_QUIC_OFFLOAD_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/quic_offload_netlink.h>

int quic_offload_nl_dev_get_doit(struct sk_buff *skb, struct genl_info *info);
int quic_offload_nl_dev_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb);
int quic_offload_nl_dev_set_doit(struct sk_buff *skb, struct genl_info *info);
int quic_offload_nl_dev_stats_get_doit(struct sk_buff *skb,
				       struct genl_info *info);
int quic_offload_nl_dev_stats_get_dumpit(struct sk_buff *skb,
					 struct netlink_callback *cb);
int quic_offload_nl_sock_attach_doit(struct sk_buff *skb,
				     struct genl_info *info);
int quic_offload_nl_sock_get_doit(struct sk_buff *skb, struct genl_info *info);
int quic_offload_nl_ctx_add_doit(struct sk_buff *skb, struct genl_info *info);
int quic_offload_nl_ctx_update_doit(struct sk_buff *skb,
				    struct genl_info *info);
int quic_offload_nl_ctx_del_doit(struct sk_buff *skb, struct genl_info *info);
int quic_offload_nl_ctx_get_doit(struct sk_buff *skb, struct genl_info *info);
int quic_offload_nl_flow_add_doit(struct sk_buff *skb, struct genl_info *info);
int quic_offload_nl_flow_update_doit(struct sk_buff *skb,
				     struct genl_info *info);
int quic_offload_nl_flow_del_doit(struct sk_buff *skb, struct genl_info *info);
int quic_offload_nl_flow_get_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	QUIC_OFFLOAD_NLGRP_MGMT,
	QUIC_OFFLOAD_NLGRP_KEYS,
};

extern struct genl_family quic_offload_nl_family;

#endif /* _LINUX_QUIC_OFFLOAD_GEN_H */
