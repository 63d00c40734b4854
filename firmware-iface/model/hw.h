/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Layouts that the data path shares with the driver: command queue entry and
 * mailbox, event and completion entries, work queue segments, and the register
 * map of BAR 0. Offsets are those the driver of Linux 6.12 uses.
 */
#ifndef NM_HW_H
#define NM_HW_H

#include "ifc.h"

/* BAR 0: initialization segment */
enum nm_reg {
	NM_REG_FW_REV		= 0x000,
	NM_REG_CMDIF_REV	= 0x004,
	NM_REG_CMDQ_HI		= 0x010,
	NM_REG_CMDQ_LO		= 0x014,
	NM_REG_CMD_DOORBELL	= 0x018,
	NM_REG_INITIALIZING	= 0x1fc,
	NM_REG_HEALTH		= 0x200,
	NM_REG_HEALTH_END	= 0x240,
	NM_REG_CMD_EXEC_TO	= 0xff8,
	NM_REG_CMD_Q_INIT_TO	= 0xffc,
	NM_REG_TIMER_HI		= 0x1000,
	NM_REG_TIMER_LO		= 0x1004,
	NM_REG_HEALTH_COUNTER	= 0x1010,
	NM_REG_REAL_TIME_HI	= 0x1040,
	NM_REG_REAL_TIME_LO	= 0x1044,
	NM_REG_END		= 0x2000,
};

/* BAR 0: one UAR page */
enum nm_uar_off {
	NM_UAR_CQ_ARM	= 0x20,
	NM_UAR_EQ_ARM	= 0x40,
	NM_UAR_EQ_CI	= 0x48,
	NM_UAR_BF	= 0x800,
	NM_UAR_BF_END	= 0x1000,
};

#define NM_FW_MAJOR		28
#define NM_FW_MINOR		39
#define NM_FW_SUB		1002

#define NM_PAGE_SHIFT		12
#define NM_PAGE_SIZE		4096
#define NM_CMD_SLOTS		32
#define NM_CMD_STRIDE_LOG	6
#define NM_CMD_SIZE_LOG		5
#define NM_CMD_TYPE_PCI		7
#define NM_BAR0_SIZE		(32u << 20)
#define NM_MSIX_TABLE		0x2000
#define NM_MSIX_PBA		0x3000
#define NM_MSIX_VECTORS		64
#define NM_UAR_FIRST		16
#define NM_UAR_LAST		(NM_BAR0_SIZE / NM_PAGE_SIZE - 1)

struct nm_cmd_entry {
	u8 type;
	u8 rsvd0[3];
	be32 in_len;
	be64 in_ptr;
	u8 in[16];
	u8 out[16];
	be64 out_ptr;
	be32 out_len;
	u8 token;
	u8 sig;
	u8 rsvd1;
	u8 status_own;
};

_Static_assert(sizeof(struct nm_cmd_entry) == 64, "command entry");
_Static_assert(offsetof(struct nm_cmd_entry, out_ptr) == 0x30, "command entry");

/* Delivery status, bits 7:1 of nm_cmd_entry.status_own; bit 0 is the owner. */
enum nm_deliv {
	NM_DELIV_OK		= 0x0,
	NM_DELIV_SIGNATURE	= 0x1,
	NM_DELIV_TOKEN		= 0x2,
	NM_DELIV_BLOCK_NUM	= 0x3,
	NM_DELIV_OUT_PTR_ALIGN	= 0x4,
	NM_DELIV_IN_PTR_ALIGN	= 0x5,
	NM_DELIV_FW		= 0x6,
	NM_DELIV_IN_LENGTH	= 0x7,
	NM_DELIV_OUT_LENGTH	= 0x8,
	NM_DELIV_RES_FLD_NZ	= 0x9,
	NM_DELIV_CMD_TYPE	= 0x10,
};

#define NM_MBOX_DATA	512
#define NM_MBOX_ALIGN	512

struct nm_mbox {
	u8 data[NM_MBOX_DATA];
	u8 rsvd0[48];
	be64 next;
	be32 block_num;
	u8 rsvd1;
	u8 token;
	u8 ctrl_sig;
	u8 sig;
};

_Static_assert(sizeof(struct nm_mbox) == 576, "mailbox");

/* Command status, byte 0 of every output */
enum nm_status {
	NM_ST_OK		= 0x00,
	NM_ST_INT_ERR		= 0x01,
	NM_ST_BAD_OP		= 0x02,
	NM_ST_BAD_PARAM		= 0x03,
	NM_ST_BAD_SYS_STATE	= 0x04,
	NM_ST_BAD_RES		= 0x05,
	NM_ST_RES_BUSY		= 0x06,
	NM_ST_LIM		= 0x08,
	NM_ST_BAD_RES_STATE	= 0x09,
	NM_ST_IX		= 0x0a,
	NM_ST_NO_RES		= 0x0f,
	NM_ST_BAD_QP_STATE	= 0x10,
	NM_ST_BAD_SIZE		= 0x40,
	NM_ST_BAD_INP_LEN	= 0x50,
	NM_ST_BAD_OUTP_LEN	= 0x51,
};

struct nm_eqe {
	u8 rsvd0;
	u8 type;
	u8 rsvd1;
	u8 sub_type;
	u8 rsvd2[28];
	u8 data[28];
	u8 rsvd3[2];
	u8 signature;
	u8 owner;
};

_Static_assert(sizeof(struct nm_eqe) == 64, "event queue entry");

enum nm_event {
	NM_EV_COMP		= 0x00,
	NM_EV_SQ_DRAINED	= 0x03,
	NM_EV_CQ_ERROR		= 0x04,
	NM_EV_WQ_CATAS		= 0x05,
	NM_EV_INTERNAL_ERROR	= 0x08,
	NM_EV_PORT_CHANGE	= 0x09,
	NM_EV_CMD		= 0x0a,
	NM_EV_PAGE_REQUEST	= 0x0b,
	NM_EV_WQ_INVAL_REQ	= 0x10,
	NM_EV_WQ_ACCESS		= 0x11,
	NM_EV_MAX		= 0x40,
};

enum nm_port_event {
	NM_PORT_EV_DOWN		= 1,
	NM_PORT_EV_ACTIVE	= 4,
};

struct nm_cqe {
	u8 tunneled;
	u8 rsvd0;
	be16 wqe_id;
	u8 lro[8];
	be32 rss_hash;
	u8 rss_hash_type;
	u8 ml_path;
	u8 rsvd20[2];
	be16 check_sum;
	be16 slid;
	be32 flags_rqpn;
	u8 hds_ip_ext;
	u8 l4_l3_hdr_type;
	be16 vlan_info;
	be32 srqn;
	be32 ft_metadata;
	u8 rsvd40[4];
	be32 byte_cnt;
	be32 timestamp_h;
	be32 timestamp_l;
	be32 sop_drop_qpn;
	be16 wqe_counter;
	u8 signature;
	u8 op_own;
};

_Static_assert(sizeof(struct nm_cqe) == 64, "completion");
_Static_assert(offsetof(struct nm_cqe, rss_hash) == 12, "completion");
_Static_assert(offsetof(struct nm_cqe, byte_cnt) == 44, "completion");

struct nm_err_cqe {
	u8 rsvd0[32];
	be32 srqn;
	u8 rsvd1[18];
	u8 vendor_err_synd;
	u8 syndrome;
	be32 s_wqe_opcode_qpn;
	be16 wqe_counter;
	u8 signature;
	u8 op_own;
};

_Static_assert(sizeof(struct nm_err_cqe) == 64, "error completion");

enum nm_cqe_opcode {
	NM_CQE_REQ		= 0x0,
	NM_CQE_RESP_SEND	= 0x2,
	NM_CQE_RESIZE		= 0x5,
	NM_CQE_REQ_ERR		= 0xd,
	NM_CQE_RESP_ERR		= 0xe,
	NM_CQE_INVALID		= 0xf,
};

enum nm_cqe_synd {
	NM_SYND_LOCAL_LENGTH	= 0x01,
	NM_SYND_LOCAL_QP_OP	= 0x02,
	NM_SYND_LOCAL_PROT	= 0x04,
	NM_SYND_FLUSHED		= 0x05,
};

enum nm_cqe_bits {
	NM_CQE_L2_OK		= BIT(0),
	NM_CQE_L3_OK		= BIT(1),
	NM_CQE_L4_OK		= BIT(2),
	NM_CQE_HAS_VLAN		= BIT(0),
	NM_CQE_L3_IPV6		= 1 << 2,
	NM_CQE_L3_IPV4		= 2 << 2,
	NM_CQE_L4_TCP_NO_ACK	= 1 << 4,
	NM_CQE_L4_UDP		= 2 << 4,
	NM_CQE_L4_TCP_ACK_ONLY	= 3 << 4,
	NM_CQE_L4_TCP_ACK_DATA	= 4 << 4,
	NM_CQE_RSS_IPV4		= 1 << 2,
	NM_CQE_RSS_IPV6		= 2 << 2,
	NM_CQE_RSS_TCP		= 1 << 6,
	NM_CQE_RSS_UDP		= 2 << 6,
	NM_CQE_RSS_IPSEC	= 3 << 6,
};

#define NM_WQE_BB	64
#define NM_WQE_DS	16
#define NM_WQE_MAX_BB	16

enum nm_wqe_opcode {
	NM_OP_NOP		= 0x00,
	NM_OP_SEND		= 0x0a,
	NM_OP_LSO		= 0x0e,
	NM_OP_UMR		= 0x25,
	NM_OP_ENHANCED_MPSW	= 0x29,
};

struct nm_wqe_ctrl {
	be32 opmod_idx_opcode;
	be32 qpn_ds;
	u8 signature;
	u8 rsvd[2];
	u8 fm_ce_se;
	be32 imm;
};

_Static_assert(sizeof(struct nm_wqe_ctrl) == NM_WQE_DS, "control segment");

struct nm_wqe_eth {
	u8 swp[4];
	u8 cs_flags;
	u8 swp_flags;
	be16 mss;
	be32 metadata;
	be16 inline_sz;		/* or the VLAN type with NM_ETH_INSERT_VLAN */
	u8 inline_start[2];	/* or the VLAN TCI */
};

_Static_assert(sizeof(struct nm_wqe_eth) == NM_WQE_DS, "ethernet segment");

enum nm_eth_bits {
	NM_ETH_L3_CSUM		= BIT(6),
	NM_ETH_L4_CSUM		= BIT(7),
	NM_ETH_CSUM_KNOWN	= NM_ETH_L3_CSUM | NM_ETH_L4_CSUM,
	NM_ETH_INSERT_VLAN	= BIT(15),
	NM_ETH_SVLAN		= BIT(0),
	NM_ETH_INLINE_MASK	= 0x3ff,
};

struct nm_wqe_data {
	be32 byte_count;
	be32 lkey;
	be64 addr;
};

_Static_assert(sizeof(struct nm_wqe_data) == NM_WQE_DS, "data segment");

#define NM_SEG_INLINE		0x80000000u	/* send */
#define NM_SEG_START_PAD	0x80000000u	/* receive */
#define NM_LKEY_TERMINATE	0x100u

struct nm_wqe_umr_ctrl {
	u8 flags;
	u8 rsvd0[3];
	be16 xlt_octowords;
	be16 xlt_offset;
	be64 mkey_mask;
	be32 xlt_offset_47_16;
	u8 rsvd1[28];
};

_Static_assert(sizeof(struct nm_wqe_umr_ctrl) == 48, "UMR control segment");

#endif /* NM_HW_H */
