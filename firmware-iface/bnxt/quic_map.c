// SPDX-License-Identifier: GPL-2.0
/*
 * Broadcom's QUIC interface on the framework's driver API: every field of the
 * ring command that installs a key, of the one that deletes it, and of the
 * metadata of a received packet, from or to the API's structures. It drives no
 * hardware. It is compiled as a test: what a second vendor's interface needs,
 * the API has, and what it lacks is written beside it.
 *
 * Layouts after Broadcom's published HSI (ce_bds_quic_add_data_msg,
 * ce_bds_delete_data_msg) and its driver's quic_metadata_msg.
 */
#include <linux/bitfield.h>
#include <linux/module.h>
#include <net/quic_offload/functions.h>
#include <net/quic_offload/wire.h>

/* Key install, 104 bytes on the TCE or RCE ring, little endian */
struct bnxt_quic_add {
	__le32 op_kid;
	__le32 phase_dcid_kind;
	__le32 unused0[2];
	u8 iv[12];
	__le32 unused1;
	u8 session_key[32];
	u8 hp_key[32];
	__le64 pkt_number;
};

static_assert(sizeof(struct bnxt_quic_add) == 104);

#define BNXT_ADD		1
#define BNXT_DELETE		2
#define BNXT_OPCODE		GENMASK(3, 0)
#define BNXT_KID		GENMASK(23, 4)
#define BNXT_ALGORITHM		GENMASK(27, 24)
#define BNXT_VERSION		GENMASK(31, 28)
#define BNXT_VERSION_QUIC	4
#define BNXT_PHASE		BIT(0)
#define BNXT_DCID_WIDTH		GENMASK(5, 1)
#define BNXT_CTX_KIND		GENMASK(10, 6)
#define BNXT_KIND_TX		0x14
#define BNXT_KIND_RX		0x15
#define BNXT_DEL_CTX_KIND	GENMASK(28, 24)

/* Metadata of a received packet, the words that have a meaning */
struct bnxt_quic_md {
	__le32 flags;
	__le32 kid_hi;
	__le64 packet_num;
};

#define BNXT_MD_PAYLOAD		BIT(9)
#define BNXT_MD_HDR		BIT(10)
#define BNXT_MD_PN_UNDER	BIT(11)
#define BNXT_MD_PN_OVER		BIT(12)
#define BNXT_MD_AUTH		GENMASK(14, 13)
#define BNXT_MD_AUTH_FAIL	2
#define BNXT_MD_PN_SIZE		GENMASK(16, 15)
#define BNXT_MD_CTX_ERR		BIT(17)
#define BNXT_MD_RUNT		BIT(18)
#define BNXT_MD_PHASE_MISMATCH	BIT(19)
#define BNXT_MD_LONG		BIT(20)

/**
 * struct bnxt_quic_drv - driver bytes of a context: one KID a phase
 * @kid: numbers of the two slots; the API has one context with two slots
 * @cipher: kept from ctx_add, as the key comes later
 * @dcid_len: likewise
 * @hp_key: likewise: Broadcom's command wants both keys in one
 */
struct bnxt_quic_drv {
	u32 kid[2];
	u8 cipher;
	u8 dcid_len;
	u8 hp_key[QOFF_MAX_KEY];
};

static int bnxt_algorithm(u8 cipher)
{
	switch (cipher) {
	case QUIC_OFFLOAD_CIPHER_AES_128_GCM:
	case QUIC_OFFLOAD_CIPHER_AES_256_GCM:
	case QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305:
		return cipher;	/* 1, 2, 3 in both */
	default:
		return -EOPNOTSUPP;	/* no CCM */
	}
}

/* From what ctx_add or flow_add kept, and the key that came. The DCID itself goes
 * into the receive filter (8 bytes), not into this command.
 */
static int bnxt_quic_add_fill(struct bnxt_quic_add *m, const struct bnxt_quic_drv *d,
			      const struct qoff_key_params *k, bool rx, u64 next_pn)
{
	int alg = bnxt_algorithm(d->cipher);

	if (alg < 0)
		return alg;
	if (d->dcid_len && d->dcid_len != 8)
		return -EOPNOTSUPP;	/* DST_ID_ERR; caps.dcid_lens says it before */
	memset(m, 0, sizeof(*m));
	m->op_kid = cpu_to_le32(FIELD_PREP(BNXT_OPCODE, BNXT_ADD) |
				FIELD_PREP(BNXT_KID, d->kid[k->phase]) |
				FIELD_PREP(BNXT_ALGORITHM, alg) |
				FIELD_PREP(BNXT_VERSION, BNXT_VERSION_QUIC));
	m->phase_dcid_kind =
		cpu_to_le32(FIELD_PREP(BNXT_PHASE, k->phase) |
			    FIELD_PREP(BNXT_DCID_WIDTH, d->dcid_len) |
			    FIELD_PREP(BNXT_CTX_KIND, rx ? BNXT_KIND_RX : BNXT_KIND_TX));
	memcpy(m->iv, k->iv, sizeof(m->iv));
	memcpy(m->session_key, k->key, sizeof(m->session_key));
	memcpy(m->hp_key, d->hp_key, sizeof(m->hp_key));
	m->pkt_number = cpu_to_le64(next_pn);
	return 0;
}

static __le32 bnxt_quic_delete(const struct bnxt_quic_drv *d, u8 phase, bool rx)
{
	return cpu_to_le32(FIELD_PREP(BNXT_OPCODE, BNXT_DELETE) |
			   FIELD_PREP(BNXT_KID, d->kid[phase]) |
			   FIELD_PREP(BNXT_DEL_CTX_KIND, rx ? BNXT_KIND_RX : BNXT_KIND_TX));
}

/* A descriptor: its KID, and whether this device can take it. It has one mss, and
 * expands numbers from the header, so a gap is no matter; lengths that differ are.
 */
static int bnxt_quic_tx(const struct qoff_tx_desc *desc, u32 *kid, u16 *mss)
{
	const struct bnxt_quic_drv *d = desc->drv;
	unsigned int i;

	for (i = 1; i < desc->nseg; i++)
		if (desc->segs[i].len > desc->segs[0].len ||
		    (i + 1 < desc->nseg && desc->segs[i].len != desc->segs[0].len))
			return -EOPNOTSUPP;	/* the API cannot say "one length" */
	*kid = desc->seal ? d->kid[desc->phase] : 0;
	*mss = desc->segs[0].len - (desc->seal ? QOFF_TAG_SIZE : 0);
	return 0;
}

/* A received packet's metadata as a record of qoff_rx_segs(). Broadcom delivers a
 * packet that failed "opened", its original bytes are lost: such a device must
 * drop it, as the API delivers raw what did not open.
 */
static int bnxt_quic_rx(const struct bnxt_quic_md *md, const struct bnxt_quic_drv *d, u16 len,
			u8 tos, u32 key_gen, struct qoff_rx_seg *seg)
{
	u32 f = le32_to_cpu(md->flags);

	*seg = (struct qoff_rx_seg){ .len = len, .tos = tos };
	if (FIELD_GET(BNXT_MD_AUTH, f) == BNXT_MD_AUTH_FAIL)
		return -EBADMSG;
	if (f & BNXT_MD_LONG) {
		seg->status = QOFF_RX_LONG_HEADER;
		return 0;
	}
	/* header opened, payload not: not the bytes that came in */
	if (f & BNXT_MD_HDR && !(f & BNXT_MD_PAYLOAD))
		return -EBADMSG;
	if (f & (BNXT_MD_CTX_ERR | BNXT_MD_RUNT | BNXT_MD_PHASE_MISMATCH) ||
	    !(f & BNXT_MD_PAYLOAD)) {
		seg->status = f & BNXT_MD_PHASE_MISMATCH ? QOFF_RX_NO_PHASE : QOFF_RX_NO_KEY;
		return 0;
	}
	/* PN_UNDER and PN_OVER: the number was expanded outside the window; it was
	 * authenticated with it all the same, and replay is the stack's.
	 */
	seg->status = QOFF_RX_OPENED;
	seg->pn_len = FIELD_GET(BNXT_MD_PN_SIZE, f) + 1;
	seg->hdr_len = 1 + d->dcid_len + seg->pn_len;
	seg->key_gen = key_gen;
	seg->pn = le64_to_cpu(md->packet_num) & QOFF_PN_MAX;
	return 0;
}

/* One key in, one packet out and one back, so that nothing above is unused */
static int __init bnxt_quic_map_init(void)
{
	struct bnxt_quic_drv d = { .kid = { 5, 6 }, .cipher = 1, .dcid_len = 8 };
	struct qoff_seg segs[2] = { { .len = 1200 }, { .len = 300 } };
	struct qoff_tx_desc desc = { .segs = segs, .nseg = 2, .seal = true, .phase = 1,
				     .drv = &d };
	struct bnxt_quic_md md = {
		.flags = cpu_to_le32(BNXT_MD_PAYLOAD | BNXT_MD_HDR | FIELD_PREP(BNXT_MD_AUTH, 1) |
				     FIELD_PREP(BNXT_MD_PN_SIZE, 1)),
		.packet_num = cpu_to_le64(77),
	};
	struct qoff_key_params k = { .phase = 1, .gen = 3 };
	struct bnxt_quic_add add;
	struct qoff_rx_seg seg;
	u32 kid;
	u16 mss;

	if (bnxt_quic_add_fill(&add, &d, &k, false, 0) ||
	    FIELD_GET(BNXT_KID, le32_to_cpu(add.op_kid)) != 6 ||
	    FIELD_GET(BNXT_KID, le32_to_cpu(bnxt_quic_delete(&d, 1, false))) != 6 ||
	    bnxt_quic_tx(&desc, &kid, &mss) || kid != 6 || mss != 1184 ||
	    bnxt_quic_rx(&md, &d, 1200, 0, k.gen, &seg) || seg.status != QOFF_RX_OPENED ||
	    seg.hdr_len != 11 || seg.pn != 77)
		return -EINVAL;
	return 0;
}

static void __exit bnxt_quic_map_exit(void)
{
}

module_init(bnxt_quic_map_init);
module_exit(bnxt_quic_map_exit);
MODULE_DESCRIPTION("Broadcom's QUIC interface on the QUIC offload driver API, a compile test");
MODULE_LICENSE("GPL");
