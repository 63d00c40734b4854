// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Every command that is served, with the sizes of its layouts. */
#include <stdlib.h>

#include "cmd.h"
#include "ifc.h"

#define C(op, lay, handler, flg)					\
	{								\
		.opcode = MLX5_CMD_OP_##op, .name = #op, .flags = (flg),	\
		.in_min = NM_BYTES(lay##_in), .out_max = NM_BYTES(lay##_out), \
		.fn = nm_cmd_##handler,					\
	}

/* General objects: what follows the header is the object type's own affair. */
#define G(op, handler)							\
	{								\
		.opcode = MLX5_CMD_OP_##op, .name = #op,		\
		.in_min = NM_BYTES(general_obj_in_cmd_hdr),		\
		.out_max = NM_BYTES(general_obj_out_cmd_hdr),		\
		.fn = nm_cmd_##handler,					\
	}

#define ANY NM_CMD_ANY_STATE

/* Sorted by opcode; checked by a unit test. */
static const struct nm_cmd_desc table[] = {
	C(QUERY_HCA_CAP, query_hca_cap, query_hca_cap, ANY),
	C(QUERY_ADAPTER, query_adapter, query_adapter, ANY),
	C(INIT_HCA, init_hca, init_hca, ANY),
	C(TEARDOWN_HCA, teardown_hca, teardown_hca, ANY),
	C(ENABLE_HCA, enable_hca, enable_hca, ANY),
	C(DISABLE_HCA, disable_hca, disable_hca, ANY),
	C(QUERY_PAGES, query_pages, query_pages, ANY),
	C(MANAGE_PAGES, manage_pages, manage_pages, ANY),
	C(SET_HCA_CAP, set_hca_cap, set_hca_cap, ANY),
	C(QUERY_ISSI, query_issi, query_issi, ANY),
	C(SET_ISSI, set_issi, set_issi, ANY),
	C(SET_DRIVER_VERSION, set_driver_version, set_driver_version, ANY),
	C(CREATE_MKEY, create_mkey, create_mkey, 0),
	C(QUERY_MKEY, query_mkey, query_mkey, 0),
	C(DESTROY_MKEY, destroy_mkey, destroy, 0),
	C(QUERY_SPECIAL_CONTEXTS, query_special_contexts,
	  query_special_contexts, 0),
	C(CREATE_EQ, create_eq, create_eq, 0),
	C(DESTROY_EQ, destroy_eq, destroy, 0),
	C(QUERY_EQ, query_eq, query_eq, 0),
	C(CREATE_CQ, create_cq, create_cq, 0),
	C(DESTROY_CQ, destroy_cq, destroy, 0),
	C(QUERY_CQ, query_cq, query_cq, 0),
	C(MODIFY_CQ, modify_cq, modify_cq, 0),
	C(CREATE_QP, create_qp, create_qp, 0),
	C(DESTROY_QP, destroy_qp, destroy, 0),
	C(RST2INIT_QP, rst2init_qp, modify_qp, 0),
	C(INIT2RTR_QP, init2rtr_qp, modify_qp, 0),
	C(RTR2RTS_QP, rtr2rts_qp, modify_qp, 0),
	C(RTS2RTS_QP, rts2rts_qp, modify_qp, 0),
	C(2ERR_QP, qp_2err, modify_qp, 0),
	C(2RST_QP, qp_2rst, modify_qp, 0),
	C(QUERY_QP, query_qp, query_qp, 0),
	C(CREATE_XRC_SRQ, create_xrc_srq, create_xrc_srq, 0),
	C(DESTROY_XRC_SRQ, destroy_xrc_srq, destroy, 0),
	C(QUERY_XRC_SRQ, query_xrc_srq, query_xrc_srq, 0),
	C(ARM_XRC_SRQ, arm_xrc_srq, arm_xrc_srq, 0),
	C(QUERY_VPORT_STATE, query_vport_state, query_vport_state, 0),
	C(MODIFY_VPORT_STATE, modify_vport_state, modify_vport_state, 0),
	C(QUERY_NIC_VPORT_CONTEXT, query_nic_vport_context,
	  query_nic_vport_context, 0),
	C(MODIFY_NIC_VPORT_CONTEXT, modify_nic_vport_context,
	  modify_nic_vport_context, 0),
	C(QUERY_HCA_VPORT_CONTEXT, query_hca_vport_context,
	  query_hca_vport_context, 0),
	C(QUERY_HCA_VPORT_GID, query_hca_vport_gid, query_hca_vport_gid, 0),
	C(QUERY_HCA_VPORT_PKEY, query_hca_vport_pkey, query_hca_vport_pkey, 0),
	C(QUERY_VNIC_ENV, query_vnic_env, query_vnic_env, 0),
	C(QUERY_VPORT_COUNTER, query_vport_counter, query_vport_counter, 0),
	C(ALLOC_Q_COUNTER, alloc_q_counter, alloc_q_counter, 0),
	C(DEALLOC_Q_COUNTER, dealloc_q_counter, destroy, 0),
	C(QUERY_Q_COUNTER, query_q_counter, query_q_counter, 0),
	C(ALLOC_PD, alloc_pd, alloc_pd, 0),
	C(DEALLOC_PD, dealloc_pd, destroy, 0),
	C(ALLOC_UAR, alloc_uar, alloc_uar, 0),
	C(DEALLOC_UAR, dealloc_uar, destroy, 0),
	C(ACCESS_REG, access_register, access_reg, ANY),
	C(ALLOC_XRCD, alloc_xrcd, alloc_xrcd, 0),
	C(DEALLOC_XRCD, dealloc_xrcd, destroy, 0),
	C(ALLOC_TRANSPORT_DOMAIN, alloc_transport_domain,
	  alloc_transport_domain, 0),
	C(DEALLOC_TRANSPORT_DOMAIN, dealloc_transport_domain, destroy, 0),
	C(CREATE_TIR, create_tir, create_tir, 0),
	C(MODIFY_TIR, modify_tir, modify_tir, 0),
	C(DESTROY_TIR, destroy_tir, destroy, 0),
	C(QUERY_TIR, query_tir, query_tir, 0),
	C(CREATE_SQ, create_sq, create_sq, 0),
	C(MODIFY_SQ, modify_sq, modify_sq, 0),
	C(DESTROY_SQ, destroy_sq, destroy, 0),
	C(QUERY_SQ, query_sq, query_sq, 0),
	C(CREATE_RQ, create_rq, create_rq, 0),
	C(MODIFY_RQ, modify_rq, modify_rq, 0),
	C(DESTROY_RQ, destroy_rq, destroy, 0),
	C(QUERY_RQ, query_rq, query_rq, 0),
	C(CREATE_RMP, create_rmp, create_rmp, 0),
	C(MODIFY_RMP, modify_rmp, modify_rmp, 0),
	C(DESTROY_RMP, destroy_rmp, destroy, 0),
	C(CREATE_TIS, create_tis, create_tis, 0),
	C(MODIFY_TIS, modify_tis, modify_tis, 0),
	C(DESTROY_TIS, destroy_tis, destroy, 0),
	C(QUERY_TIS, query_tis, query_tis, 0),
	C(CREATE_RQT, create_rqt, create_rqt, 0),
	C(MODIFY_RQT, modify_rqt, modify_rqt, 0),
	C(DESTROY_RQT, destroy_rqt, destroy, 0),
	C(QUERY_RQT, query_rqt, query_rqt, 0),
	C(SET_FLOW_TABLE_ROOT, set_flow_table_root, set_flow_table_root, 0),
	C(CREATE_FLOW_TABLE, create_flow_table, create_flow_table, 0),
	C(DESTROY_FLOW_TABLE, destroy_flow_table, destroy, 0),
	C(QUERY_FLOW_TABLE, query_flow_table, query_flow_table, 0),
	C(CREATE_FLOW_GROUP, create_flow_group, create_flow_group, 0),
	C(DESTROY_FLOW_GROUP, destroy_flow_group, destroy, 0),
	C(SET_FLOW_TABLE_ENTRY, set_fte, set_fte, 0),
	C(DELETE_FLOW_TABLE_ENTRY, delete_fte, delete_fte, 0),
	C(ALLOC_FLOW_COUNTER, alloc_flow_counter, alloc_flow_counter, 0),
	C(DEALLOC_FLOW_COUNTER, dealloc_flow_counter, destroy, 0),
	C(QUERY_FLOW_COUNTER, query_flow_counter, query_flow_counter, 0),
	C(MODIFY_FLOW_TABLE, modify_flow_table, modify_flow_table, 0),
	G(CREATE_GENERAL_OBJECT, create_general_obj),
	G(MODIFY_GENERAL_OBJECT, modify_general_obj),
	G(QUERY_GENERAL_OBJECT, query_general_obj),
	G(DESTROY_GENERAL_OBJECT, destroy_general_obj),
	C(CREATE_UCTX, create_uctx, create_uctx, 0),
	C(DESTROY_UCTX, destroy_uctx, destroy_uctx, 0),
	C(CREATE_UMEM, create_umem, create_umem, 0),
	C(DESTROY_UMEM, destroy_umem, destroy, 0),
	C(SYNC_CRYPTO, sync_crypto, sync_crypto, 0),
};

static int desc_cmp(const void *a, const void *b)
{
	const struct nm_cmd_desc *x = a, *y = b;

	return (int)x->opcode - y->opcode;
}

const struct nm_cmd_desc *nm_cmd_desc(u16 opcode)
{
	struct nm_cmd_desc key = { .opcode = opcode };

	return bsearch(&key, table, ARRAY_SIZE(table), sizeof(table[0]),
		       desc_cmp);
}

const char *nm_cmd_name(u16 opcode)
{
	const struct nm_cmd_desc *d = nm_cmd_desc(opcode);

	return d ? d->name : "UNKNOWN";
}

const char *nm_syn_name(u32 syndrome)
{
	static const char *const names[] = {
#define X(n) #n,
		NM_SYNDROMES(X)
#undef X
	};

	if (syndrome <= NM_SYN_BASE || syndrome >= NM_SYN_END)
		return "";
	return names[syndrome - NM_SYN_BASE - 1];
}
