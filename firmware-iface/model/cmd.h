/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The command interface: 32 slots of 64 bytes in guest memory, mailboxes of
 * 512 bytes, a table of opcodes with the layouts' sizes and a handler each.
 *
 * A handler reads c->in (at least the layout's size, checked), writes c->out
 * (zeroed, the layout's size, clipped to what the driver gave) and returns
 * nothing: nm_cmd_fail() says what went wrong. It must change no state once it
 * has failed.
 */
#ifndef NM_CMD_H
#define NM_CMD_H

#include "hw.h"
#include "obj.h"

#define NM_UID_SHARED	0xffff
#define NM_CMD_MAX_IN	(1u << 20)
#define NM_CMD_MAX_OUT	(1u << 17)

/* Syndromes of this model; the high half says so ("NM"). */
#define NM_SYNDROMES(X) \
	X(UNKNOWN_OP) \
	X(IN_LEN) \
	X(OUT_LEN) \
	X(NOT_ENABLED) \
	X(ALREADY_ENABLED) \
	X(OP_MOD) \
	X(NO_MEMORY) \
	X(NO_NUMBER) \
	X(NO_OBJECT) \
	X(FOREIGN) \
	X(IN_USE) \
	X(PAGES_SHORT) \
	X(PAGE_BAD) \
	X(CAP_TYPE) \
	X(CAP_OVER_MAX) \
	X(REG_UNKNOWN) \
	X(REG_VALUE) \
	X(QUEUE_SIZE) \
	X(QUEUE_STRIDE) \
	X(QUEUE_PAS) \
	X(QUEUE_DBR) \
	X(QUEUE_STATE) \
	X(QUEUE_TYPE) \
	X(EQ_VECTOR) \
	X(EQ_MASK) \
	X(MKEY_MODE) \
	X(MKEY_SIZE) \
	X(RSS_SIZE) \
	X(RSS_HASH) \
	X(FT_TYPE) \
	X(FT_LEVEL) \
	X(FT_SIZE) \
	X(FG_RANGE) \
	X(FG_CRITERIA) \
	X(FTE_INDEX) \
	X(FTE_ACTION) \
	X(FTE_DEST) \
	X(OBJ_TYPE) \
	X(OBJ_VALUE) \
	X(VPORT) \
	X(FIELD) \
	X(FAULT)

enum nm_syndrome {
	NM_SYN_BASE = 0x4e4d0000,
#define X(n) NM_SYN_##n,
	NM_SYNDROMES(X)
#undef X
	NM_SYN_END,
};

/**
 * struct nm_cmd - one command while it runs
 * @in: input, @in_len bytes, at least the table's minimum
 * @out: output, @out_len bytes as the driver gave, zeroed; writes through
 *	 nm_cmd_out() stay inside the layout even when the driver gave less
 */
struct nm_cmd {
	struct nm_fn *fn;
	u8 *in;
	u8 *out;
	u32 in_len;
	u32 out_len;
	u16 opcode;
	u16 op_mod;
	u16 uid;
	u8 slot;
	u8 status;
	u32 syndrome;
	bool no_event;	/* the command was polled for: no completion event */
	bool no_irq;	/* a fault: the event comes without its interrupt */
};

enum nm_cmd_flags {
	NM_CMD_ANY_STATE = BIT(0),	/* before INIT_HCA */
	NM_CMD_GENERIC_ID = BIT(1),
};

/**
 * struct nm_cmd_desc - one row of the opcode table
 * @in_min: bytes of the input layout without its variable tail
 * @out_max: bytes of the output layout
 */
struct nm_cmd_desc {
	u16 opcode;
	u16 flags;
	u32 in_min;
	u32 out_max;
	const char *name;
	void (*fn)(struct nm_cmd *c);
};

void nm_cmd_fail(struct nm_cmd *c, enum nm_status st, enum nm_syndrome syn);
void nm_cmd_run_slots(struct nm_fn *fn, u32 slots);
/* Answers and events that a fault has kept back for good, after all */
void nm_cmd_late(struct nm_fn *fn);
/* Commands that a fault holds back: run those that are due; when is the next? */
bool nm_cmd_run_delayed(struct nm_fn *fn);
u64 nm_cmd_next(struct nm_fn *fn);
/* Run one command whose input has been gathered; also the tests' entry. */
void nm_cmd_exec(struct nm_cmd *c);
const struct nm_cmd_desc *nm_cmd_desc(u16 opcode);
const char *nm_cmd_name(u16 opcode);
const char *nm_syn_name(u32 syndrome);

/* Handlers, by file */
#define NM_HANDLER(n) void nm_cmd_##n(struct nm_cmd *c)

/* cmd_hca.c */
NM_HANDLER(enable_hca);
NM_HANDLER(disable_hca);
NM_HANDLER(query_issi);
NM_HANDLER(set_issi);
NM_HANDLER(query_pages);
NM_HANDLER(manage_pages);
NM_HANDLER(init_hca);
NM_HANDLER(teardown_hca);
NM_HANDLER(query_adapter);
NM_HANDLER(set_driver_version);
NM_HANDLER(query_special_contexts);
NM_HANDLER(nop);
/* caps.c */
NM_HANDLER(query_hca_cap);
NM_HANDLER(set_hca_cap);
/* reg.c */
NM_HANDLER(access_reg);
/* vport.c */
NM_HANDLER(query_vport_state);
NM_HANDLER(modify_vport_state);
NM_HANDLER(query_nic_vport_context);
NM_HANDLER(modify_nic_vport_context);
NM_HANDLER(query_vport_counter);
NM_HANDLER(query_vnic_env);
NM_HANDLER(query_hca_vport_context);
NM_HANDLER(query_hca_vport_pkey);
NM_HANDLER(query_hca_vport_gid);
/* cmd_res.c */
NM_HANDLER(destroy);
NM_HANDLER(alloc_uar);
NM_HANDLER(alloc_pd);
NM_HANDLER(alloc_transport_domain);
NM_HANDLER(alloc_xrcd);
NM_HANDLER(alloc_q_counter);
NM_HANDLER(query_q_counter);
NM_HANDLER(create_uctx);
NM_HANDLER(destroy_uctx);
/* mkey.c */
NM_HANDLER(create_mkey);
NM_HANDLER(query_mkey);
NM_HANDLER(create_umem);
/* eq.c, cq.c */
NM_HANDLER(create_eq);
NM_HANDLER(query_eq);
NM_HANDLER(create_cq);
NM_HANDLER(modify_cq);
NM_HANDLER(query_cq);
/* sq.c, rq.c */
NM_HANDLER(create_sq);
NM_HANDLER(modify_sq);
NM_HANDLER(query_sq);
NM_HANDLER(create_rq);
NM_HANDLER(modify_rq);
NM_HANDLER(query_rq);
/* srq.c, qp.c */
NM_HANDLER(create_rmp);
NM_HANDLER(modify_rmp);
NM_HANDLER(create_xrc_srq);
NM_HANDLER(query_xrc_srq);
NM_HANDLER(arm_xrc_srq);
NM_HANDLER(create_qp);
NM_HANDLER(modify_qp);
NM_HANDLER(query_qp);
/* rss.c */
NM_HANDLER(create_rqt);
NM_HANDLER(modify_rqt);
NM_HANDLER(query_rqt);
NM_HANDLER(create_tir);
NM_HANDLER(modify_tir);
NM_HANDLER(query_tir);
NM_HANDLER(create_tis);
NM_HANDLER(modify_tis);
NM_HANDLER(query_tis);
/* steer_cmd.c */
NM_HANDLER(create_flow_table);
NM_HANDLER(modify_flow_table);
NM_HANDLER(query_flow_table);
NM_HANDLER(set_flow_table_root);
NM_HANDLER(create_flow_group);
NM_HANDLER(set_fte);
NM_HANDLER(delete_fte);
NM_HANDLER(alloc_flow_counter);
NM_HANDLER(query_flow_counter);
/* genobj.c */
NM_HANDLER(create_general_obj);
NM_HANDLER(modify_general_obj);
NM_HANDLER(query_general_obj);
NM_HANDLER(destroy_general_obj);
NM_HANDLER(sync_crypto);

#endif /* NM_CMD_H */
