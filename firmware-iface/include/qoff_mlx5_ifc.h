/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * QUIC offload as an extension of the mlx5 programming interface: layouts.
 *
 * A proposal: no public firmware has it, and every code point is experimental,
 * chosen not to meet a published one. firmware-iface/README.md is the
 * specification; this file is its layouts, and driver, device model, tool and
 * tests all compile this one copy.
 *
 * Commands and match values are bit layouts as in <linux/mlx5/mlx5_ifc.h> (one
 * byte of a struct here is one bit there; MLX5_GET() and MLX5_SET() work). WQE
 * segments, completions and lists are plain structures, big endian.
 */
#ifndef QOFF_MLX5_IFC_H
#define QOFF_MLX5_IFC_H

#include <linux/types.h>
#include <asm/byteorder.h>
#ifndef __KERNEL__
#include <stddef.h>
#endif

#define QOFF_MLX5_VERSION		1

/* Code points */
#define QOFF_MLX5_CAP_TYPE		0x70	/* QUERY_HCA_CAP: op_mod 0xe0, 0xe1 */
#define QOFF_MLX5_OBJ_TYPE_CTX		0x70	/* general object QUIC_CTX */
#define QOFF_MLX5_DEK_PURPOSE		0x7	/* of payload and header keys */
#define QOFF_MLX5_OPMOD_DATA		0x70	/* SEND and LSO */
#define QOFF_MLX5_OPMOD_CTX		0x71	/* UMR: context control in band */
#define QOFF_MLX5_CRITERIA_MISC6	7	/* bit of match_criteria_enable */
#define QOFF_MLX5_CRYPTO_TYPE		0x3	/* encrypt_decrypt_type */
#define QOFF_MLX5_RSS_DCID		5	/* bit of selected_fields */
#define QOFF_MLX5_RSS_DCID_LEN_SHIFT	6	/* selected_fields[10:6]: bytes hashed */
#define QOFF_MLX5_OBJ_LOOKUP		0xffffffu /* decrypt action: find the context */

#define QOFF_MLX5_MAX_SEGS		128
#define QOFF_MLX5_MAX_DCID		20
#define QOFF_MLX5_TAG			16
#define QOFF_MLX5_KEY			32
#define QOFF_MLX5_IV			12

enum qoff_mlx5_cipher {
	QOFF_MLX5_CIPHER_NONE		= 0,	/* receive: matched, not opened */
	QOFF_MLX5_AES_128_GCM		= 1,
	QOFF_MLX5_AES_256_GCM		= 2,
	QOFF_MLX5_CHACHA20_POLY1305	= 3,
	QOFF_MLX5_AES_128_CCM		= 4,
};

/* Capability group. Absent: the query fails with BAD_PARAM, as on firmware
 * that knows nothing of this. tx_ciphers, rx_ciphers: bit (1 << cipher).
 * dcid_len_supported: bit n for a connection ID of n bytes.
 * concurrent_protocols: bit n, objects with a DEK of purpose n may exist beside
 * QUIC contexts.
 */
struct mlx5_ifc_quic_cap_bits {
	__u8 version[0x8];
	__u8 reserved_at_8[0x8];
	__u8 tx_ciphers[0x8];
	__u8 rx_ciphers[0x8];

	__u8 tx_explicit_pn[0x1];
	__u8 tx_tracked_pn[0x1];
	__u8 tx_pn_check[0x1];
	__u8 tag_room[0x1];
	__u8 tag_insert[0x1];
	__u8 lso_fixed[0x1];
	__u8 lso_var[0x1];
	__u8 lso_pn_skip[0x1];
	__u8 fail_drop[0x1];
	__u8 fail_modified[0x1];
	__u8 fail_original[0x1];
	__u8 gro_equal[0x1];
	__u8 gro_var[0x1];
	__u8 dcid_match[0x1];
	__u8 dcid_rss[0x1];
	__u8 ctx_wqe[0x1];
	__u8 ctx_lookup[0x1];
	__u8 multipath_nonce[0x1];
	__u8 object_change_event[0x1];
	__u8 reserved_at_33[0xd];

	__u8 reserved_at_40[0xb];
	__u8 dcid_len_supported[0x15];

	__u8 log_max_quic_ctx[0x8];
	__u8 log_max_lso_bytes[0x8];
	__u8 min_packet_len[0x8];
	__u8 pn_window_log[0x8];

	__u8 max_lso_segs[0x10];
	__u8 max_gro_segs[0x10];

	__u8 max_gro_bytes[0x20];

	__u8 concurrent_protocols[0x10];
	__u8 reserved_at_d0[0x8];
	__u8 gro_sessions[0x8];

	__u8 max_tx_ctx[0x20];
	__u8 max_rx_ctx[0x20];
	__u8 reserved_tx_ctx[0x20];
	__u8 reserved_rx_ctx[0x20];

	__u8 reserved_at_160[0x6a0];
};

enum qoff_mlx5_ctx_state {
	QOFF_MLX5_CTX_EMPTY		= 0,	/* no key slot is filled */
	QOFF_MLX5_CTX_READY		= 1,
	QOFF_MLX5_CTX_REVOKED		= 2,	/* the device lost a key */
};

enum qoff_mlx5_direction {
	QOFF_MLX5_TX			= 0,
	QOFF_MLX5_RX			= 1,
};

enum qoff_mlx5_fail_action {
	QOFF_MLX5_FAIL_DROP		= 0,
	QOFF_MLX5_FAIL_MODIFIED		= 1,	/* header open, payload as it came out */
	QOFF_MLX5_FAIL_ORIGINAL		= 2,	/* the bytes that came in */
};

/* quic_ctx_obj.modify_field_select */
enum qoff_mlx5_ctx_select {
	QOFF_MLX5_SEL_SLOT0		= 1 << 0, /* phase_valid[0], dekn, iv, key_tag */
	QOFF_MLX5_SEL_SLOT1		= 1 << 1,
	QOFF_MLX5_SEL_NEXT_PN		= 1 << 2,
	QOFF_MLX5_SEL_KEY_PHASE		= 1 << 3,
	QOFF_MLX5_SEL_FAIL_ACTION	= 1 << 4,
	QOFF_MLX5_SEL_GRO		= 1 << 5,
	QOFF_MLX5_SEL_HANDLE		= 1 << 6,
	QOFF_MLX5_SEL_LIMIT		= 1 << 7,
	QOFF_MLX5_SEL_ALL		= 0xff,
};

/* One direction of one connection. phase_valid: bit n for key slot n. state,
 * packets_* and auth_failures are the device's and ignored on input.
 */
struct mlx5_ifc_quic_ctx_obj_bits {
	__u8 modify_field_select[0x40];

	__u8 state[0x8];
	__u8 direction[0x1];
	__u8 cipher[0x4];
	__u8 dcid_len[0x5];
	__u8 fail_action[0x2];
	__u8 pn_check[0x1];
	__u8 hp_valid[0x1];
	__u8 phase_valid[0x2];
	__u8 key_phase[0x1];
	__u8 gro_en[0x1];
	__u8 in_band[0x1];
	__u8 lookup[0x1];
	__u8 reserved_at_5c[0x4];

	__u8 reserved_at_60[0x8];
	__u8 handle[0x18];

	__u8 key_tag_0[0x8];
	__u8 dekn_0[0x18];
	__u8 key_tag_1[0x8];
	__u8 dekn_1[0x18];
	__u8 reserved_at_c0[0x8];
	__u8 hp_dekn[0x18];

	__u8 path_id[0x20];

	__u8 next_pn[0x40];

	__u8 iv_0[0x60];
	__u8 iv_1[0x60];

	__u8 packet_limit[0x40];
	__u8 packets_0[0x40];
	__u8 packets_1[0x40];
	__u8 auth_failures[0x40];

	__u8 dcid[0xa0];

	/* match of its own, with lookup */
	__u8 reserved_at_3a0[0x18];
	__u8 ip_version[0x4];
	__u8 reserved_at_3bc[0x4];
	__u8 dst_port[0x10];
	__u8 src_port[0x10];
	__u8 reserved_at_3e0[0x20];
	__u8 dst_ip[0x80];
	__u8 src_ip[0x80];

	__u8 reserved_at_500[0x100];
};

/* Match group: reserved_at_e00 of fte_match_param. What is matched is not
 * under header protection. quic_syndrome is kept for matching after opening.
 */
struct mlx5_ifc_fte_match_set_misc6_bits {
	__u8 hdr_form[0x1];
	__u8 fixed_bit[0x1];
	__u8 long_type[0x2];
	__u8 reserved_at_4[0xc];
	__u8 quic_syndrome[0x8];
	__u8 reserved_at_18[0x8];

	__u8 quic_version[0x20];

	__u8 dcid[0xa0];

	__u8 reserved_at_e0[0x120];
};

#define QOFF_MLX5_MATCH_OFF	(0xe00 / 8)	/* in fte_match_param, bytes */

#define QOFF_MLX5_BYTES(t)	(sizeof(struct mlx5_ifc_##t##_bits) / 8)
#define QOFF_MLX5_BIT_OFF(t, f)	offsetof(struct mlx5_ifc_##t##_bits, f)

_Static_assert(QOFF_MLX5_BYTES(quic_cap) == 0x100, "quic_cap");
_Static_assert(QOFF_MLX5_BIT_OFF(quic_cap, log_max_quic_ctx) == 0x60, "quic_cap");
_Static_assert(QOFF_MLX5_BIT_OFF(quic_cap, max_tx_ctx) == 0xe0, "quic_cap");
_Static_assert(QOFF_MLX5_BYTES(quic_ctx_obj) == 192, "quic_ctx_obj");
_Static_assert(QOFF_MLX5_BIT_OFF(quic_ctx_obj, handle) == 0x68, "quic_ctx_obj");
_Static_assert(QOFF_MLX5_BIT_OFF(quic_ctx_obj, next_pn) == 0x100, "quic_ctx_obj");
_Static_assert(QOFF_MLX5_BIT_OFF(quic_ctx_obj, iv_0) == 0x140, "quic_ctx_obj");
_Static_assert(QOFF_MLX5_BIT_OFF(quic_ctx_obj, iv_1) == 0x1a0, "quic_ctx_obj");
_Static_assert(QOFF_MLX5_BIT_OFF(quic_ctx_obj, packet_limit) == 0x200, "quic_ctx_obj");
_Static_assert(QOFF_MLX5_BIT_OFF(quic_ctx_obj, dcid) == 0x300, "quic_ctx_obj");
_Static_assert(QOFF_MLX5_BIT_OFF(quic_ctx_obj, dst_ip) == 0x400, "quic_ctx_obj");
_Static_assert(QOFF_MLX5_BYTES(fte_match_set_misc6) == 64, "misc6");
_Static_assert(QOFF_MLX5_BIT_OFF(fte_match_set_misc6, dcid) == 0x40, "misc6");

/* Transmit: a SEND or LSO WQE with opmod QOFF_MLX5_OPMOD_DATA is
 *	control segment, Ethernet segment with inline headers up to and with the
 *	UDP header, qoff_mlx5_wqe_quic, length table of table_ds * 16 bytes,
 *	data segments.
 */
enum qoff_mlx5_tx_flags {
	QOFF_MLX5_TXF_SEAL		= 1 << 0, /* else cut only, ctx and pn unused */
	QOFF_MLX5_TXF_PN		= 1 << 1, /* pn is given; else tracked */
	QOFF_MLX5_TXF_TABLE		= 1 << 2, /* lengths in the table; else eth.mss */
	QOFF_MLX5_TXF_TAG_ROOM		= 1 << 3, /* lengths hold the tag's 16 bytes */
	QOFF_MLX5_TXF_PHASE		= 1 << 4, /* the key slot */
	QOFF_MLX5_TXF_SET_FIXED		= 1 << 5, /* set the fixed bit of each header */
	QOFF_MLX5_TXF_PN_SKIP		= 1 << 6, /* table entries are qoff_mlx5_seg_pn */
	QOFF_MLX5_TXF_KNOWN		= 0x7f,
};

/**
 * struct qoff_mlx5_wqe_quic - the QUIC segment of a send WQE
 * @flags_ctx: [31:24] enum qoff_mlx5_tx_flags, [23:0] object id of the context
 * @num_segs: packets that the payload makes, 1 to max_lso_segs; 1 in a SEND
 * @table_ds: 16-byte units of the length table, 0 without
 * @rsvd: 0
 * @pn: packet number of the first packet, up to 2^62 - 1
 */
struct qoff_mlx5_wqe_quic {
	__be32 flags_ctx;
	__u8 num_segs;
	__u8 table_ds;
	__be16 rsvd;
	__be64 pn;
};

_Static_assert(sizeof(struct qoff_mlx5_wqe_quic) == 16, "QUIC segment");
_Static_assert(offsetof(struct qoff_mlx5_wqe_quic, pn) == 8, "QUIC segment");

/**
 * struct qoff_mlx5_seg - length table entry
 * @len: UDP payload bytes; with TAG_ROOM as on the wire, else without the tag
 */
struct qoff_mlx5_seg {
	__be16 len;
};

/**
 * struct qoff_mlx5_seg_pn - length table entry with PN_SKIP
 * @len: as in struct qoff_mlx5_seg
 * @skip: numbers left out before this packet; of the first one 0
 */
struct qoff_mlx5_seg_pn {
	__be16 len;
	__be16 skip;
};

_Static_assert(sizeof(struct qoff_mlx5_seg) == 2, "length table");
_Static_assert(sizeof(struct qoff_mlx5_seg_pn) == 4, "length table");

static inline unsigned int qoff_mlx5_table_ds(unsigned int segs, int pn_skip)
{
	return (segs * (pn_skip ? 4 : 2) + 15) / 16;
}

/* In byte 1 of a transmit completion (opcode 0). Not 0: nothing of this WQE was
 * sent and no packet number was used; the queue goes on. Such a completion is
 * written whether the WQE asked for one or not.
 */
enum qoff_mlx5_tx_status {
	QOFF_MLX5_TXS_OK		= 0x00,
	QOFF_MLX5_TXS_NO_CTX		= 0x01,	/* no such context, or not the owner's */
	QOFF_MLX5_TXS_NO_KEY		= 0x02,	/* the slot is empty */
	QOFF_MLX5_TXS_KEY_LOST		= 0x03,	/* the context is revoked */
	QOFF_MLX5_TXS_HEADER		= 0x04,	/* long, reserved bits, other phase */
	QOFF_MLX5_TXS_LENGTH		= 0x05,	/* shorter than its sample or over the MTU */
	QOFF_MLX5_TXS_PN		= 0x06,	/* not the number in the header; over 2^62-1 */
	QOFF_MLX5_TXS_PN_REUSE		= 0x07,	/* with pn_check: below next_pn */
	QOFF_MLX5_TXS_LIMIT		= 0x08,	/* packet_limit reached */
	QOFF_MLX5_TXS_CTX_OP		= 0x09,	/* context control refused; syndrome in pn_lo */
	QOFF_MLX5_TXS_INTERNAL		= 0x0a,
};

/* vendor_err_synd of an error completion (local QP operation): the WQE is
 * malformed, and the queue is in error as after any malformed WQE.
 */
enum qoff_mlx5_vendor_synd {
	QOFF_MLX5_VES_SHORT		= 0x71,	/* no room for segment or table */
	QOFF_MLX5_VES_FLAGS		= 0x72,	/* unknown, or not announced */
	QOFF_MLX5_VES_SEGS		= 0x73,	/* number of packets */
	QOFF_MLX5_VES_SUM		= 0x74,	/* lengths do not add up to the payload */
	QOFF_MLX5_VES_HEADERS		= 0x75,	/* inline headers are not L2 to UDP */
};

/* Context control in band: UMR WQE with opmod QOFF_MLX5_OPMOD_CTX on a send
 * queue: control segment, qoff_mlx5_wqe_ctx, and for WRITE and MODIFY a
 * qoff_mlx5_wqe_ctx_data.
 */
enum qoff_mlx5_ctx_op {
	QOFF_MLX5_CTX_WRITE		= 1,	/* fill an empty in_band object */
	QOFF_MLX5_CTX_MODIFY		= 2,	/* as by modify_field_select */
	QOFF_MLX5_CTX_CLEAR		= 3,	/* empty it; keys are erased */
};

struct qoff_mlx5_wqe_ctx {
	__u8 op;
	__u8 rsvd0[3];
	__be32 ctx;		/* [23:0] */
	__u8 rsvd1[8];
};

/**
 * struct qoff_mlx5_wqe_ctx_data - contents of a context, keys in it
 * @obj: mlx5_ifc_quic_ctx_obj_bits; its DEK numbers are not used
 * @key: of slot 0 and 1; a 128-bit key is in the first 16 bytes
 * @hp_key: header-protection key
 */
struct qoff_mlx5_wqe_ctx_data {
	__u8 obj[QOFF_MLX5_BYTES(quic_ctx_obj)];
	__u8 key[2][QOFF_MLX5_KEY];
	__u8 hp_key[QOFF_MLX5_KEY];
};

_Static_assert(sizeof(struct qoff_mlx5_wqe_ctx) == 16, "context control");
_Static_assert(sizeof(struct qoff_mlx5_wqe_ctx_data) == 288, "context control");

/* Receive: byte 1 of a completion */
enum qoff_mlx5_rx_flags {
	QOFF_MLX5_RXF_OPENED		= 1 << 0, /* payload is plain and authentic */
	QOFF_MLX5_RXF_HDR		= 1 << 1, /* header protection is off */
	QOFF_MLX5_RXF_AUTH_FAIL		= 1 << 2,
	QOFF_MLX5_RXF_NO_KEY		= 1 << 3, /* the slot of its phase is empty */
	QOFF_MLX5_RXF_RUNT		= 1 << 4, /* no room for a sample */
	QOFF_MLX5_RXF_CTX_ERROR		= 1 << 5, /* the context is revoked */
	QOFF_MLX5_RXF_PN_BELOW		= 1 << 6, /* under the window at next_pn */
	QOFF_MLX5_RXF_PN_ABOVE		= 1 << 7, /* over it */
};

/* qoff_mlx5_cqe.quic_info */
#define QOFF_MLX5_CQE_PN_LEN(i)		(((i) >> 14) + 1)
#define QOFF_MLX5_CQE_LIST		0x2000	/* a segment list is in the buffer */
#define QOFF_MLX5_CQE_DCID_LEN(i)	((i) >> 8 & 0x1f)
#define QOFF_MLX5_CQE_SEGS(i)		((i) & 0xff)

#define QOFF_MLX5_CQE_PHASE		0x40000000u	/* of pn_hi */
#define QOFF_MLX5_CQE_PN_HI		0x3fffffffu

/**
 * struct qoff_mlx5_cqe - a completion, the fields of this extension named
 * @quic_flags: receive: enum qoff_mlx5_rx_flags, transmit: enum
 *	qoff_mlx5_tx_status
 * @pn_hi: [30] key phase, [29:0] packet number's bits 61 to 32
 * @pn_lo: its bits 31 to 0; of the first packet. Both valid when the header
 *	could be opened: OPENED, HDR, AUTH_FAIL or NO_KEY is set
 * @quic_info: QOFF_MLX5_CQE_PN_LEN(), _LIST, _DCID_LEN(), _SEGS()
 * @tag_handle: [31:24] key_tag of the slot used, [23:0] handle of the context
 *	that matched; 0: none did, and no field of this extension has a meaning
 *
 * All other bytes are as in any completion of the queue.
 */
struct qoff_mlx5_cqe {
	__u8 rsvd0;
	__u8 quic_flags;
	__be16 rsvd2;
	__be32 pn_hi;
	__be32 pn_lo;
	__u8 rsvd12[6];
	__be16 quic_info;
	__u8 rsvd20[20];
	__be32 tag_handle;
	__be32 byte_cnt;
	__u8 rsvd48[16];
};

_Static_assert(sizeof(struct qoff_mlx5_cqe) == 64, "completion");
_Static_assert(offsetof(struct qoff_mlx5_cqe, pn_hi) == 4, "completion");
_Static_assert(offsetof(struct qoff_mlx5_cqe, quic_info) == 18, "completion");
_Static_assert(offsetof(struct qoff_mlx5_cqe, tag_handle) == 40, "completion");
_Static_assert(offsetof(struct qoff_mlx5_cqe, byte_cnt) == 44, "completion");

static inline __u64 qoff_mlx5_cqe_pn(const struct qoff_mlx5_cqe *c)
{
	return (__u64)(__be32_to_cpu(c->pn_hi) & QOFF_MLX5_CQE_PN_HI) << 32 |
	       __be32_to_cpu(c->pn_lo);
}

/**
 * struct qoff_mlx5_rx_seg - segment list entry
 * @len: UDP payload bytes of the packet, as on the wire
 * @flags: enum qoff_mlx5_rx_flags
 * @pn_len: bytes of its packet number, 1 to 4; 0 when not known
 * @rsvd: 0
 * @pn: its packet number
 *
 * The list follows the frame's bytes in the receive buffer, from the next
 * multiple of QOFF_MLX5_LIST_ALIGN, counted from the frame's first byte.
 * byte_cnt does not count it; strides used do.
 */
struct qoff_mlx5_rx_seg {
	__be16 len;
	__u8 flags;
	__u8 pn_len;
	__be32 rsvd;
	__be64 pn;
};

#define QOFF_MLX5_LIST_ALIGN	16

_Static_assert(sizeof(struct qoff_mlx5_rx_seg) == 16, "segment list");

static inline __u32 qoff_mlx5_list_off(__u32 byte_cnt)
{
	return (byte_cnt + QOFF_MLX5_LIST_ALIGN - 1) & ~(QOFF_MLX5_LIST_ALIGN - 1u);
}

/* sub_type of an OBJECT_CHANGE event (0x27) for a QUIC_CTX */
enum qoff_mlx5_event {
	QOFF_MLX5_EV_PHASE		= 1,	/* first packet opened with the other phase */
	QOFF_MLX5_EV_LIMIT		= 2,	/* packet_limit reached */
	QOFF_MLX5_EV_REVOKED		= 3,	/* the device lost a key */
};

/* Command syndromes; the specification gives the status beside each. */
enum qoff_mlx5_syndrome {
	QOFF_MLX5_SYN_CAP		= 0x51554901,	/* not announced */
	QOFF_MLX5_SYN_CIPHER		= 0x51554902,
	QOFF_MLX5_SYN_DCID_LEN		= 0x51554903,
	QOFF_MLX5_SYN_DEK		= 0x51554904,	/* missing, other purpose or size */
	QOFF_MLX5_SYN_SLOT_BUSY		= 0x51554905,	/* filling a filled slot */
	QOFF_MLX5_SYN_SLOT		= 0x51554906,	/* current phase without its key */
	QOFF_MLX5_SYN_QUOTA		= 0x51554907,
	QOFF_MLX5_SYN_EXCLUSIVE		= 0x51554908,	/* another crypto offload is in use */
	QOFF_MLX5_SYN_FIELD		= 0x51554909,	/* reserved or unknown bits */
	QOFF_MLX5_SYN_HANDLE		= 0x5155490a,	/* 0 in a receive context */
	QOFF_MLX5_SYN_MATCH		= 0x5155490b,	/* another context has this match */
	QOFF_MLX5_SYN_STATE		= 0x5155490c,	/* contents of an in_band object */
	QOFF_MLX5_SYN_DIRECTION		= 0x5155490d,	/* not an ability of this direction */
	QOFF_MLX5_SYN_PN		= 0x5155490e,	/* over 2^62-1, or backwards */
	QOFF_MLX5_SYN_KEY_REUSE		= 0x5155490f,	/* the DEK is in the other slot */
};

#endif /* QOFF_MLX5_IFC_H */
