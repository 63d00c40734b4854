// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Frames: parsing and checksums. Every offset is checked against the length. */
#include "pkt.h"

#define IPV6_MAX_EXT	8

static void parse_l4(struct nm_pkt *p, u32 off)
{
	u32 need = p->l4_proto == NM_IP_TCP ? 20 : 8;

	if (off < p->ip_end && !p->frag)
		p->l4_raw = off;
	if (p->l4_proto != NM_IP_TCP && p->l4_proto != NM_IP_UDP)
		return;
	if (p->frag || off + need > p->ip_end)
		return;
	p->l4_off = off;
}

static void parse_ipv4(struct nm_pkt *p)
{
	const u8 *ip = p->data + p->l3_off;
	u32 left = p->len - p->l3_off, ihl, total;

	if (left < 20 || ip[0] >> 4 != 4)
		return;
	ihl = (ip[0] & 0xf) * 4;
	total = nm_rd16(ip + 2);
	if (ihl < 20 || ihl > left || total < ihl)
		return;
	p->ip_ver = 4;
	p->bad_len = total > left;
	p->ip_end = p->l3_off + (p->bad_len ? left : total);
	p->l4_proto = ip[9];
	p->frag = nm_rd16(ip + 6) & 0x3fff;
	parse_l4(p, p->l3_off + ihl);
}

static bool ipv6_is_ext(u8 proto)
{
	return proto == 0 || proto == 43 || proto == 44 || proto == 60;
}

static void parse_ipv6(struct nm_pkt *p)
{
	const u8 *ip = p->data + p->l3_off;
	u32 left = p->len - p->l3_off, total, off = p->l3_off + 40;
	unsigned int n;
	u8 proto;

	if (left < 40 || ip[0] >> 4 != 6)
		return;
	total = 40 + nm_rd16(ip + 4);
	p->ip_ver = 6;
	p->bad_len = total > left;
	p->ip_end = p->l3_off + (p->bad_len ? left : total);
	proto = ip[6];
	for (n = 0; ipv6_is_ext(proto) && n < IPV6_MAX_EXT; n++) {
		const u8 *x = p->data + off;

		if (off + 8 > p->ip_end)
			break;
		if (proto == 44) {
			p->frag = true;
			off += 8;
		} else {
			off += (x[1] + 1) * 8;
		}
		proto = x[0];
		if (off > p->ip_end)
			break;
	}
	p->l4_proto = proto;
	if (!ipv6_is_ext(proto))
		parse_l4(p, off);
}

void nm_pkt_parse(struct nm_pkt *p, const u8 *data, u32 len)
{
	u32 off = 12;
	u16 type;

	*p = (struct nm_pkt){ .data = data, .len = len, .l3_off = 14,
			      .ip_end = len };
	if (len < 14)
		return;
	type = nm_rd16(data + off);
	while ((type == NM_ETH_VLAN || type == NM_ETH_QINQ) && off + 6 <= len &&
	       p->vlan < 2) {
		if (!p->vlan) {
			p->vlan_type = type;
			p->vlan_tci = nm_rd16(data + off + 2);
		}
		p->vlan++;
		off += 4;
		type = nm_rd16(data + off);
	}
	p->ethertype = type;
	p->l3_off = off + 2;
	if (type == NM_ETH_IPV4)
		parse_ipv4(p);
	else if (type == NM_ETH_IPV6)
		parse_ipv6(p);
}

u16 nm_csum_pseudo(const struct nm_pkt *p, u32 len)
{
	const u8 *ip = p->data + p->l3_off;
	u16 s = nm_csum_add(p->l4_proto, len & 0xffff);

	s = nm_csum_add(s, len >> 16);
	if (p->ip_ver == 4)
		return nm_csum_add(s, nm_csum(ip + 12, 8));
	return nm_csum_add(s, nm_csum(ip + 8, 32));
}

bool nm_csum_ip_ok(const struct nm_pkt *p)
{
	const u8 *ip = p->data + p->l3_off;

	if (p->bad_len)
		return false;
	if (p->ip_ver != 4)
		return true;
	return nm_csum(ip, (ip[0] & 0xf) * 4) == 0xffff;
}

static u32 csum_field(const struct nm_pkt *p)
{
	return p->l4_off + (p->l4_proto == NM_IP_TCP ? 16 : 6);
}

bool nm_csum_l4_verdict(const struct nm_pkt *p, u16 sum)
{
	if (!p->l4_off)
		return true;
	if (p->bad_len)
		return false;
	if (p->l4_proto == NM_IP_UDP && !nm_rd16(p->data + p->l4_off + 6))
		return p->ip_ver == 4;
	return nm_csum_add(sum, nm_csum_pseudo(p, p->ip_end - p->l4_off)) == 0xffff;
}

bool nm_csum_l4_ok(const struct nm_pkt *p)
{
	return nm_csum_l4_verdict(p, nm_csum(p->data + p->l4_off,
					     p->ip_end - p->l4_off));
}

void nm_csum_set_ip(const struct nm_pkt *p, u8 *frame)
{
	u8 *ip = frame + p->l3_off;

	if (p->ip_ver != 4)
		return;
	nm_wr16(ip + 10, 0);
	nm_wr16(ip + 10, ~nm_csum(ip, (ip[0] & 0xf) * 4));
}

void nm_csum_set_l4(const struct nm_pkt *p, u8 *frame)
{
	if (p->l4_off)
		nm_csum_set_l4_from(p, frame, p->ip_end, 0);
}

void nm_csum_set_l4_from(const struct nm_pkt *p, u8 *frame, u32 at, u16 rest)
{
	u32 len = p->ip_end - p->l4_off;
	u16 s;

	nm_wr16(frame + csum_field(p), 0);
	s = nm_csum_add(nm_csum(frame + p->l4_off, at - p->l4_off), rest);
	s = ~nm_csum_add(s, nm_csum_pseudo(p, len));
	if (p->l4_proto == NM_IP_UDP && !s)
		s = 0xffff;
	nm_wr16(frame + csum_field(p), s);
}
