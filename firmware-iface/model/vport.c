// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The function's own virtual port; there is no other. */
#include "cmd.h"
#include "port.h"

/* vport_number and other_vport sit at one place in all of these. */
static bool vport_own(struct nm_cmd *c)
{
	if (!NM_GET(query_nic_vport_context_in, c->in, other_vport) &&
	    !NM_GET(query_nic_vport_context_in, c->in, vport_number))
		return true;
	nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_VPORT);
	return false;
}

void nm_cmd_query_vport_state(struct nm_cmd *c)
{
	if (!vport_own(c))
		return;
	NM_SET(query_vport_state_out, c->out, admin_state,
	       c->fn->port.admin_up ? 1 : 0);
	NM_SET(query_vport_state_out, c->out, state, nm_port_up(c->fn) ? 1 : 0);
}

void nm_cmd_modify_vport_state(struct nm_cmd *c)
{
	vport_own(c);
}

static void put_mac(void *ctx, const u8 *mac)
{
	u8 *p = NM_PTR(nic_vport_context, ctx, permanent_address);

	memcpy(p + 2, mac, 6);
}

void nm_cmd_query_nic_vport_context(struct nm_cmd *c)
{
	void *ctx = NM_PTR(query_nic_vport_context_out, c->out, nic_vport_context);
	struct nm_vport *v = &c->fn->vport;

	if (!vport_own(c))
		return;
	NM_SET(nic_vport_context, ctx, min_wqe_inline_mode, v->min_inline);
	NM_SET(nic_vport_context, ctx, disable_mc_local_lb, v->disable_mc_lb);
	NM_SET(nic_vport_context, ctx, disable_uc_local_lb, v->disable_uc_lb);
	NM_SET(nic_vport_context, ctx, mtu, v->mtu);
	NM_SET64(nic_vport_context, ctx, system_image_guid, v->node_guid);
	NM_SET64(nic_vport_context, ctx, port_guid, v->node_guid | 1);
	NM_SET64(nic_vport_context, ctx, node_guid, v->node_guid);
	put_mac(ctx, v->mac);
}

void nm_cmd_modify_nic_vport_context(struct nm_cmd *c)
{
	void *sel = NM_PTR(modify_nic_vport_context_in, c->in, field_select);
	void *ctx = NM_PTR(modify_nic_vport_context_in, c->in, nic_vport_context);
	struct nm_vport *v = &c->fn->vport;
	u32 tail = c->in_len - NM_BYTES(modify_nic_vport_context_in);

	if (!vport_own(c))
		return;
	if (NM_GET(modify_nic_vport_field_select, sel, roce_en) &&
	    NM_GET(nic_vport_context, ctx, roce_en)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	if (NM_GET(modify_nic_vport_field_select, sel, min_inline) &&
	    NM_GET(nic_vport_context, ctx, min_wqe_inline_mode) > 3) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	if (NM_GET(modify_nic_vport_field_select, sel, addresses_list) &&
	    NM_GET(nic_vport_context, ctx, allowed_list_size) > tail / 8) {
		nm_cmd_fail(c, NM_ST_BAD_INP_LEN, NM_SYN_IN_LEN);
		return;
	}
	/*
	 * Address lists and promiscuity tell an eswitch what to let through.
	 * There is none: the function's own flow tables decide alone.
	 */
	if (NM_GET(modify_nic_vport_field_select, sel, mtu))
		v->mtu = NM_GET(nic_vport_context, ctx, mtu);
	if (NM_GET(modify_nic_vport_field_select, sel, min_inline))
		v->min_inline = NM_GET(nic_vport_context, ctx, min_wqe_inline_mode);
	if (NM_GET(modify_nic_vport_field_select, sel, disable_uc_local_lb))
		v->disable_uc_lb = NM_GET(nic_vport_context, ctx, disable_uc_local_lb);
	if (NM_GET(modify_nic_vport_field_select, sel, disable_mc_local_lb))
		v->disable_mc_lb = NM_GET(nic_vport_context, ctx, disable_mc_local_lb);
	if (NM_GET(modify_nic_vport_field_select, sel, permanent_address))
		memcpy(v->mac, (u8 *)NM_PTR(nic_vport_context, ctx,
					    permanent_address) + 2, 6);
}

#define PUT(c, fld, p, o) do {						\
	void *__t = NM_PTR(query_vport_counter_out, (c)->out, fld);	\
	NM_SET64(traffic_counter, __t, packets, p);			\
	NM_SET64(traffic_counter, __t, octets, o);			\
} while (0)

void nm_cmd_query_vport_counter(struct nm_cmd *c)
{
	const struct nm_port *p = &c->fn->port;

	if (!vport_own(c))
		return;
	PUT(c, received_eth_broadcast, p->rx.bc_pkts, p->rx.bc_bytes);
	PUT(c, transmitted_eth_broadcast, p->tx.bc_pkts, p->tx.bc_bytes);
	PUT(c, received_eth_unicast, p->rx.uc_pkts, p->rx.uc_bytes);
	PUT(c, transmitted_eth_unicast, p->tx.uc_pkts, p->tx.uc_bytes);
	PUT(c, received_eth_multicast, p->rx.mc_pkts, p->rx.mc_bytes);
	PUT(c, transmitted_eth_multicast, p->tx.mc_pkts, p->tx.mc_bytes);
}

void nm_cmd_query_vnic_env(struct nm_cmd *c)
{
	void *env = NM_PTR(query_vnic_env_out, c->out, vport_env);
	struct nm_fn *fn = c->fn;

	if (!vport_own(c))
		return;
	NM_SET64(vnic_diagnostic_statistics, env, nic_receive_steering_discard,
		 fn->cnt[NM_CNT_rx_steer_drops]);
	NM_SET(vnic_diagnostic_statistics, env, comp_eq_overrun,
	       fn->cnt[NM_CNT_eq_overruns]);
	NM_SET(vnic_diagnostic_statistics, env, invalid_command,
	       fn->cnt[NM_CNT_cmd_errors]);
	NM_SET(vnic_diagnostic_statistics, env, cq_overrun,
	       fn->cnt[NM_CNT_cq_overruns]);
}

/* mlx5_ib asks for these even on Ethernet; there is one GID and one P_Key. */
void nm_cmd_query_hca_vport_context(struct nm_cmd *c)
{
	void *ctx = NM_PTR(query_hca_vport_context_out, c->out, hca_vport_context);
	struct nm_vport *v = &c->fn->vport;

	if (NM_GET(query_hca_vport_context_in, c->in, other_vport)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_VPORT);
		return;
	}
	NM_SET(hca_vport_context, ctx, port_state, nm_port_up(c->fn) ? 4 : 1);
	NM_SET(hca_vport_context, ctx, vport_state, nm_port_up(c->fn) ? 4 : 1);
	NM_SET(hca_vport_context, ctx, port_physical_state,
	       nm_port_up(c->fn) ? 5 : 3);
	NM_SET64(hca_vport_context, ctx, system_image_guid, v->node_guid);
	NM_SET64(hca_vport_context, ctx, port_guid, v->node_guid | 1);
	NM_SET64(hca_vport_context, ctx, node_guid, v->node_guid);
}

void nm_cmd_query_hca_vport_pkey(struct nm_cmd *c)
{
	u32 head = NM_BYTES(query_hca_vport_pkey_out);

	if (c->out_len >= head + 4)
		nm_wr32(c->out + head, 0xffff);
}

void nm_cmd_query_hca_vport_gid(struct nm_cmd *c)
{
	u32 head = NM_BYTES(query_hca_vport_gid_out);

	NM_SET(query_hca_vport_gid_out, c->out, gids_num, 1);
	if (c->out_len >= head + 16) {
		nm_wr64(c->out + head, 0xfe80ull << 48);
		nm_wr64(c->out + head + 8, c->fn->vport.node_guid | 1);
	}
}
