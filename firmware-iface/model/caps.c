// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Capability groups. One row a field; "minimal" is the smallest set with which
 * the drivers of 6.12 bring up netdev, RDMA device and DEVX.
 */
#include <stdlib.h>

#include "caps.h"
#include "cmd.h"
#include "quic.h"

#define CAP_TYPE_GENERAL	0x0
#define CAP_TYPE_ETH		0x1
#define CAP_TYPE_FT		0x7
#define CAP_TYPE_CRYPTO		0x1a

#define ROW(lay, fld, v, m) \
	{ NM_OFF(lay, fld), NM_WIDTH(lay, fld), (m), (v) }
#define GEN(fld, v)	ROW(cmd_hca_cap, fld, v, false)
#define GEN_MIN(fld, v)	ROW(cmd_hca_cap, fld, v, true)
#define ETH(fld, v)	ROW(per_protocol_networking_offload_caps, fld, v, false)
#define ETH_MIN(fld, v)	ROW(per_protocol_networking_offload_caps, fld, v, true)
#define FT_RX(fld, v) \
	ROW(flow_table_nic_cap, flow_table_properties_nic_receive.fld, v, false)
#define FT_RX_MIN(fld, v) \
	ROW(flow_table_nic_cap, flow_table_properties_nic_receive.fld, v, true)
#define FT_MATCH(fld) \
	FT_RX(ft_field_support.fld, 1), FT_RX(ft_field_bitmask_support.fld, 1)

static const struct nm_cap_row cap_general[] = {
	GEN_MIN(port_type, 1),
	GEN_MIN(num_ports, 1),
	GEN_MIN(eth_net_offloads, 1),
	GEN_MIN(nic_flow_table, 1),
	GEN_MIN(max_wqe_sz_sq, NM_WQE_MAX_BB * NM_WQE_BB),
	GEN_MIN(log_max_eq, 6),
	GEN_MIN(xrc, 1),
	GEN_MIN(log_max_uctx, 5),
	GEN_MIN(log_max_srq_sz, 15),
	GEN_MIN(log_max_qp_sz, 15),
	GEN_MIN(log_max_cq_sz, 22),
	GEN_MIN(max_wqe_sz_rq, 512),
	GEN_MIN(umr_modify_entity_size_disabled, 1),
	GEN_MIN(log_bf_reg_size, 9),
	GEN(bf, 1),
	GEN(max_num_eqs, 96),
	GEN(log_max_eq_sz, 22),
	GEN(log_max_qp, 16),
	GEN(log_max_cq, 15),
	GEN(log_max_srq, 11),
	GEN(log_max_mkey, 16),
	GEN(log_max_pd, 15),
	GEN(log_max_transport_domain, 11),
	GEN(log_max_xrcd, 7),
	GEN(log_max_sq, 16),
	GEN(log_max_rq, 16),
	GEN(log_max_rmp, 11),
	GEN(log_max_tir, 11),
	GEN(log_max_tis, 11),
	GEN(log_max_rqt, 11),
	GEN(log_max_rqt_size, 10),
	GEN(log_max_umem, 15),
	GEN(log_max_wq_sz, 15),
	GEN(log_max_mrw_sz, 40),
	GEN(log_max_klm_list_size, 16),
	GEN(max_indirection, 3),
	GEN(log_max_stride_sz_rq, 9),
	GEN(log_min_stride_sz_rq, 4),
	GEN(log_max_stride_sz_sq, 6),
	GEN(log_min_stride_sz_sq, 6),
	GEN(basic_cyclic_rcv_wqe, 1),
	GEN(log_max_msg, 30),
	GEN(log_pg_sz, 12),
	GEN(log_max_vlan_list, 12),
	GEN(log_max_current_uc_list, 7),
	GEN(log_max_current_mc_list, 7),
	GEN(max_tc, 8),
	GEN(cq_moderation, 1),
	GEN(cq_period_mode_modify, 1),
	GEN(cq_period_start_from_cqe, 1),
	GEN(cq_oi, 1),
	GEN(cq_resize, 1),
	GEN(cqe_version, 1),
	GEN(driver_version, 1),
	GEN(disable_local_lb_uc, 1),
	GEN(disable_local_lb_mc, 1),
	GEN(ib_virt, 1),
	GEN(vport_counters, 1),
	GEN(nic_receive_steering_discard, 1),
	GEN(enhanced_error_q_counters, 1),
	GEN(device_frequency_khz, 1000000),
	GEN(max_flow_counter_15_0, 1 << 15),
	GEN(log_max_dek, 12),
	GEN(crypto, 1),
	/* general_obj_types is a 64-bit field; 0xc is the DEK */
	{ NM_OFF(cmd_hca_cap, general_obj_types) + 32, 32, false,
	  BIT(MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY) },
	GEN(uctx_cap, 1),	/* raw packet transmit */
	GEN(force_teardown, 1),
	GEN(out_of_seq_cnt, 1),
	GEN(striding_rq, 1),
	GEN(ext_stride_num_range, 1),
	GEN(umr_ptr_rlky, 1),
};

static const struct nm_cap_row cap_eth[] = {
	ETH_MIN(csum_cap, 1),
	ETH_MIN(vlan_cap, 1),
	ETH_MIN(max_lso_cap, 18),
	ETH_MIN(rss_ind_tbl_cap, 8),
	ETH(wqe_vlan_insert, 1),
	ETH(self_lb_en_modifiable, 1),
	ETH_MIN(wqe_inline_mode, 2),	/* not required */
	ETH(cqe_checksum_full, 1),
	ETH(reg_umr_sq, 1),
	ETH(multi_pkt_send_wqe, 1),
	ETH(enhanced_multi_pkt_send_wqe, 1),
};

static const struct nm_cap_row cap_ft[] = {
	FT_RX_MIN(ft_support, 1),
	FT_RX_MIN(log_max_ft_size, 20),
	FT_RX_MIN(max_ft_level, 64),
	FT_RX_MIN(modify_root, 1),
	FT_RX(flow_counter, 1),
	FT_RX(flow_modify_en, 1),
	FT_RX(identified_miss_table_mode, 1),
	FT_RX(flow_table_modify, 1),
	FT_RX(log_max_ft_num, 11),
	FT_RX(log_max_flow_counter, 15),
	FT_RX(log_max_destination, 5),
	FT_RX(log_max_flow, 20),
	FT_MATCH(outer_dmac),
	FT_MATCH(outer_smac),
	FT_MATCH(outer_ether_type),
	FT_MATCH(outer_ip_version),
	FT_MATCH(outer_first_prio),
	FT_MATCH(outer_first_cfi),
	FT_MATCH(outer_first_vid),
	FT_MATCH(outer_ipv4_ttl),
	FT_MATCH(outer_sip),
	FT_MATCH(outer_dip),
	FT_MATCH(outer_frag),
	FT_MATCH(outer_ip_protocol),
	FT_MATCH(outer_ip_ecn),
	FT_MATCH(outer_ip_dscp),
	FT_MATCH(outer_udp_sport),
	FT_MATCH(outer_udp_dport),
	FT_MATCH(outer_tcp_sport),
	FT_MATCH(outer_tcp_dport),
	FT_MATCH(outer_tcp_flags),
};

static const struct nm_cap_row cap_crypto[] = {
	ROW(crypto_cap, log_max_num_deks, 12, false),
	ROW(crypto_cap, log_dek_max_alloc, 10, false),
	ROW(crypto_cap, synchronize_dek, 1, false),
};

static const struct {
	u16 type;
	u16 nr;
	const struct nm_cap_row *row;
} groups[NM_CAP_GROUPS] = {
	[NM_CAP_GENERAL] = { CAP_TYPE_GENERAL, ARRAY_SIZE(cap_general), cap_general },
	[NM_CAP_ETH]	= { CAP_TYPE_ETH, ARRAY_SIZE(cap_eth), cap_eth },
	[NM_CAP_FT]	= { CAP_TYPE_FT, ARRAY_SIZE(cap_ft), cap_ft },
	[NM_CAP_CRYPTO]	= { CAP_TYPE_CRYPTO, ARRAY_SIZE(cap_crypto), cap_crypto },
	[NM_CAP_QUIC]	= { QOFF_MLX5_CAP_TYPE, 0, nm_quic_cap_rows },
};

static u32 cap_rows(unsigned int g)
{
	return g == NM_CAP_QUIC ? nm_quic_cap_nr : groups[g].nr;
}

int nm_caps_init(struct nm_fn *fn)
{
	const char *quic = fn->model->opts.quic;
	unsigned int g, i;

	fn->caps = calloc(1, sizeof(*fn->caps));
	if (!fn->caps)
		return -1;
	for (g = 0; g < NM_CAP_GROUPS; g++)
		for (i = 0; i < cap_rows(g); i++) {
			const struct nm_cap_row *r = &groups[g].row[i];

			if (fn->model->opts.minimal_caps && !r->minimal &&
			    g != NM_CAP_QUIC)
				continue;
			nm_field_set(fn->caps->max[g], r->off, r->width, r->val);
		}
	if (quic && !nm_quic_caps_parse(quic, fn->caps->max[NM_CAP_QUIC])) {
		free(fn->caps);
		return -1;
	}
	nm_caps_reset(fn);
	return 0;
}

void nm_caps_reset(struct nm_fn *fn)
{
	memcpy(fn->caps->cur, fn->caps->max, sizeof(fn->caps->cur));
}

static int cap_group(const struct nm_fn *fn, u16 type)
{
	unsigned int g;

	for (g = 0; g < NM_CAP_GROUPS; g++)
		if (groups[g].type == type && (g != NM_CAP_QUIC || nm_quic_on(fn)))
			return g;
	return -1;
}

/* op_mod: type << 1, bit 0 set for the current values */
void nm_cmd_query_hca_cap(struct nm_cmd *c)
{
	u32 room = c->out_len - NM_BYTE_OFF(query_hca_cap_out, capability);
	int g = cap_group(c->fn, c->op_mod >> 1);
	const u8 *src;

	if (g < 0) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_CAP_TYPE);
		return;
	}
	if (NM_GET(query_hca_cap_in, c->in, other_function)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_VPORT);
		return;
	}
	src = c->op_mod & 1 ? c->fn->caps->cur[g] : c->fn->caps->max[g];
	memcpy(NM_PTR(query_hca_cap_out, c->out, capability), src,
	       room < NM_CAP_BYTES ? room : NM_CAP_BYTES);
}

/*
 * Software may lower what it was offered, not raise it. Fields that are not in
 * the table have no meaning here and stay as they are.
 */
void nm_cmd_set_hca_cap(struct nm_cmd *c)
{
	const u8 *new = NM_PTR(set_hca_cap_in, c->in, capability);
	int g = cap_group(c->fn, c->op_mod >> 1);
	unsigned int i;

	if (g < 0) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_CAP_TYPE);
		return;
	}
	if (c->fn->state == NM_FN_READY) {
		nm_cmd_fail(c, NM_ST_BAD_SYS_STATE, NM_SYN_ALREADY_ENABLED);
		return;
	}
	for (i = 0; i < cap_rows(g); i++) {
		const struct nm_cap_row *r = &groups[g].row[i];

		if (nm_field_get(new, r->off, r->width) >
		    nm_field_get(c->fn->caps->max[g], r->off, r->width)) {
			nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_CAP_OVER_MAX);
			return;
		}
	}
	for (i = 0; i < cap_rows(g); i++) {
		const struct nm_cap_row *r = &groups[g].row[i];

		nm_field_set(c->fn->caps->cur[g], r->off, r->width,
			     nm_field_get(new, r->off, r->width));
	}
}
