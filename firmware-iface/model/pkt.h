/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Frames: parsing and checksums. Pure functions. */
#ifndef NM_PKT_H
#define NM_PKT_H

#include "ifc.h"

#define NM_FRAME_MAX	10240	/* longest frame the model ever holds */
#define NM_FRAME_MIN	60	/* without FCS */

enum nm_proto {
	NM_ETH_IPV4 = 0x0800, NM_ETH_IPV6 = 0x86dd,
	NM_ETH_VLAN = 0x8100, NM_ETH_QINQ = 0x88a8,
	NM_IP_TCP = 6, NM_IP_UDP = 17, NM_IP_ESP = 50, NM_IP_AH = 51,
};

/**
 * struct nm_pkt - where the headers of a frame are
 * @ethertype: behind VLAN tags
 * @vlan: number of tags, of which the first is described
 * @ip_ver: 4, 6 or 0
 * @l4_off: 0 when there is no L4 header to look at (fragment, too short)
 * @l4_raw: where the IP payload begins, whatever it is; 0: nowhere
 * @l4_proto: IP protocol, also when @l4_off is 0
 * @ip_end: end of the IP packet by its own length, at most the frame's
 * @bad_len: the IP length reaches beyond the frame
 */
struct nm_pkt {
	const u8 *data;
	u32 len;
	u16 l3_off;
	u16 l4_off;
	u16 l4_raw;
	u32 ip_end;
	u16 ethertype;
	u16 vlan_type;
	u16 vlan_tci;
	u8 vlan;
	u8 ip_ver;
	u8 l4_proto;
	bool frag;
	bool bad_len;
};

void nm_pkt_parse(struct nm_pkt *p, const u8 *data, u32 len);

/* Ones' complement sum, not folded further than 16 bits, big endian order */
u16 nm_csum(const void *data, u32 len);
u16 nm_csum_add(u16 a, u16 b);
/* Copies @len bytes and returns their sum */
u16 nm_csum_copy(void *dst, const void *src, u32 len);
/* What @sum counts for behind an odd number of bytes */
static inline u16 nm_csum_at(u32 off, u16 sum)
{
	return off & 1 ? (u16)(sum << 8 | sum >> 8) : sum;
}

/* Sum of the pseudo header for L4 length @len */
u16 nm_csum_pseudo(const struct nm_pkt *p, u32 len);
bool nm_csum_ip_ok(const struct nm_pkt *p);
/* Whether the L4 checksum holds; true when there is none to check */
bool nm_csum_l4_ok(const struct nm_pkt *p);
/* The same with the sum from the L4 header to the packet's end at hand */
bool nm_csum_l4_verdict(const struct nm_pkt *p, u16 sum);
/* Write checksums of a frame that the caller owns */
void nm_csum_set_ip(const struct nm_pkt *p, u8 *frame);
void nm_csum_set_l4(const struct nm_pkt *p, u8 *frame);
/* The same with the sum from @at (even from the L4 header) to the end at hand */
void nm_csum_set_l4_from(const struct nm_pkt *p, u8 *frame, u32 at, u16 rest);

#endif /* NM_PKT_H */
