// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Frames out of WQEs: gather, VLAN insertion, checksums, large send. */
#include "pkt.h"
#include "port.h"
#include "trace.h"
#include "tx.h"
#include "wire.h"

#define FRAME_BUF	(NM_FRAME_MAX + 256)
#define FRAME_SPLIT	128	/* no headers behind it: summed while copied */
#define TCP_FIN_PSH	0x09
#define TCP_CWR		0x80

/* Reads an iov from front to back. */
struct iov_cursor {
	const struct nm_iov *iov;
	int nr;
	u32 off;
};

static void iov_take(struct iov_cursor *c, u8 *dst, u32 len)
{
	while (len && c->nr) {
		u32 left = c->iov->len - c->off;
		u32 part = left < len ? left : len;

		memcpy(dst, c->iov->p + c->off, part);
		dst += part;
		len -= part;
		c->off += part;
		if (c->off == c->iov->len) {
			c->iov++;
			c->nr--;
			c->off = 0;
		}
	}
}

/* As iov_take(), and the sum of what was copied */
static u16 iov_take_sum(struct iov_cursor *c, u8 *dst, u32 len)
{
	u32 off = 0;
	u16 sum = 0;

	while (off < len && c->nr) {
		u32 left = c->iov->len - c->off;
		u32 part = left < len - off ? left : len - off;
		u16 s = nm_csum_copy(dst + off, c->iov->p + c->off, part);

		sum = nm_csum_add(sum, nm_csum_at(off, s));
		off += part;
		c->off += part;
		if (c->off == c->iov->len) {
			c->iov++;
			c->nr--;
			c->off = 0;
		}
	}
	return sum;
}

/* Padding and out */
static void frame_out(struct nm_fn *fn, u8 *frame, u32 len)
{
	if (len < NM_FRAME_MIN) {
		memset(frame + len, 0, NM_FRAME_MIN - len);
		len = NM_FRAME_MIN;
	}
	if (!nm_rx_local(fn, frame, len))
		nm_wire_tx(fn, frame, len);
}

/* @frame has four bytes of room in front; returns the new start. */
static u8 *insert_vlan(u8 *frame, const struct nm_wqe_eth *eth)
{
	u16 type = be16toh(eth->inline_sz) & NM_ETH_SVLAN ? NM_ETH_QINQ :
							    NM_ETH_VLAN;

	memmove(frame - 4, frame, 12);
	frame -= 4;
	nm_wr16(frame + 12, type);
	memcpy(frame + 14, eth->inline_start, 2);
	return frame;
}

/*
 * Fills the frame behind its first @have bytes and makes the checksums. Where
 * the headers lie in front of a split, what follows it is summed while it is
 * copied.
 */
static void frame_fill(struct iov_cursor *c, u8 *frame, u32 have, u32 len,
		       u8 cs_flags)
{
	u32 split = len < FRAME_SPLIT ? len : FRAME_SPLIT;
	struct nm_pkt p;
	bool fused;

	if (!(cs_flags & NM_ETH_CSUM_KNOWN)) {
		iov_take(c, frame + have, len - have);
		return;
	}
	if (have < split) {
		iov_take(c, frame + have, split - have);
		have = split;
	}
	if (!(have & 1) && have < len) {
		/* The parser looks at the length, and at headers only. */
		memset(frame + have, 0, len - have < 64 ? len - have : 64);
		nm_pkt_parse(&p, frame, len);
		fused = p.l4_off && p.l4_off + 20u <= have && p.ip_end == len &&
			cs_flags & NM_ETH_L4_CSUM && !p.bad_len &&
			!(p.l4_off & 1);
		if (fused) {
			if (cs_flags & NM_ETH_L3_CSUM)
				nm_csum_set_ip(&p, frame);
			nm_csum_set_l4_from(&p, frame, have,
					    iov_take_sum(c, frame + have, len - have));
			return;
		}
	}
	iov_take(c, frame + have, len - have);
	nm_pkt_parse(&p, frame, len);
	if (cs_flags & NM_ETH_L3_CSUM)
		nm_csum_set_ip(&p, frame);
	if (cs_flags & NM_ETH_L4_CSUM && !p.bad_len)
		nm_csum_set_l4(&p, frame);
}

u8 nm_tx_send(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w)
{
	struct iov_cursor c = { .iov = w->iov, .nr = w->nr_iov };
	bool vlan = be16toh(w->eth->inline_sz) & NM_ETH_INSERT_VLAN;
	u32 len = w->hdr_len + w->bytes;
	u8 buf[4 + FRAME_BUF], *frame = buf + 4;

	(void)sq;
	if (len < 14)
		return NM_SYND_LOCAL_LENGTH;
	/* The port's MTU has room for one tag. */
	if (len + (vlan ? 4 : 0) > nm_port_frame_max(fn)) {
		nm_count(fn, NM_CNT_tx_mtu_drops);
		return 0;
	}
	if (w->hdr_len)
		memcpy(frame, w->hdr, w->hdr_len);
	frame_fill(&c, frame, w->hdr_len, len, w->eth->cs_flags);
	if (vlan) {
		frame = insert_vlan(frame, w->eth);
		len += 4;
	}
	frame_out(fn, frame, len);
	return 0;
}

/*
 * The headers of the WQE describe the whole; a packet that ends with them is
 * what is parsed, as the payload is elsewhere.
 */
bool nm_lso_init(struct nm_lso *l, const struct nm_wqe *w)
{
	u8 *l4;

	if (w->hdr_len > NM_LSO_MAX_HDR)
		return false;
	memcpy(l->hdr, w->hdr, w->hdr_len);
	l->hdr_len = w->hdr_len;
	nm_pkt_parse(&l->p, l->hdr, l->hdr_len);
	if (!l->p.ip_ver || !l->p.l4_off) {
		/* Total length 0 (BIG TCP): take the headers' own. */
		u8 *ip = l->hdr + l->p.l3_off;

		if (l->p.ethertype == NM_ETH_IPV4 && l->hdr_len >= l->p.l3_off + 20u)
			nm_wr16(ip + 2, l->hdr_len - l->p.l3_off);
		else if (l->p.ethertype == NM_ETH_IPV6 &&
			 l->hdr_len >= l->p.l3_off + 40u)
			nm_wr16(ip + 4, l->hdr_len - l->p.l3_off - 40);
		nm_pkt_parse(&l->p, l->hdr, l->hdr_len);
		if (!l->p.ip_ver || !l->p.l4_off)
			return false;
	}
	l4 = l->hdr + l->p.l4_off;
	if (l->p.l4_proto == NM_IP_TCP) {
		if (l->p.l4_off + (l4[12] >> 4) * 4u != l->hdr_len)
			return false;
		l->seq = nm_rd32(l4 + 4);
		l->tcp_flags = l4[13];
	} else if (l->p.l4_off + 8u != l->hdr_len) {
		return false;
	}
	if (l->p.ip_ver == 4)
		l->ip_id = nm_rd16(l->hdr + l->p.l3_off + 4);
	return true;
}

void nm_lso_patch(struct nm_lso *l, u8 *frame, u32 i, u32 off, u32 part, bool last)
{
	u8 *ip = frame + l->p.l3_off, *l4 = frame + l->p.l4_off;
	u32 ip_len = l->hdr_len - l->p.l3_off + part;

	if (l->p.ip_ver == 4) {
		nm_wr16(ip + 2, ip_len);
		nm_wr16(ip + 4, l->ip_id + i);
	} else {
		nm_wr16(ip + 4, ip_len - 40);
	}
	if (l->p.l4_proto == NM_IP_UDP) {
		nm_wr16(l4 + 4, 8 + part);
		return;
	}
	nm_wr32(l4 + 4, l->seq + off);
	l4[13] = l->tcp_flags;
	if (!last)
		l4[13] &= ~TCP_FIN_PSH;
	if (i)
		l4[13] &= ~TCP_CWR;
}

/* The parse of the headers holds for every segment, but for its lengths. */
static struct nm_pkt lso_headers(const struct nm_lso *l, u8 *frame, u32 part, u8 cs_flags)
{
	struct nm_pkt p = l->p;

	p.data = frame;
	p.len = l->hdr_len + part;
	p.ip_end = p.len;
	p.bad_len = false;
	if (cs_flags & NM_ETH_L3_CSUM)
		nm_csum_set_ip(&p, frame);
	return p;
}

static void lso_segment(struct nm_lso *l, struct iov_cursor *c, u8 *frame, u32 part,
			u8 cs_flags)
{
	struct nm_pkt p = lso_headers(l, frame, part, cs_flags);

	if (cs_flags & NM_ETH_L4_CSUM)
		nm_csum_set_l4_from(&p, frame, l->hdr_len,
				    iov_take_sum(c, frame + l->hdr_len, part));
	else
		iov_take(c, frame + l->hdr_len, part);
}

void nm_lso_out(struct nm_lso *l, struct nm_fn *fn, u8 *frame, u32 part, u8 cs_flags)
{
	struct nm_pkt p = lso_headers(l, frame, part, cs_flags);

	if (cs_flags & NM_ETH_L4_CSUM)
		nm_csum_set_l4(&p, frame);
	frame_out(fn, frame, p.len);
}

u8 nm_tx_lso(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w)
{
	struct iov_cursor c = { .iov = w->iov, .nr = w->nr_iov };
	u32 mss = be16toh(w->eth->mss) & 0x3fff, off, i;
	u8 frame[FRAME_BUF];
	struct nm_lso l;

	nm_count(fn, NM_CNT_tx_lso_wqes);
	if (!mss || !w->bytes || !w->hdr || !nm_lso_init(&l, w))
		return NM_SYND_LOCAL_QP_OP;
	if (l.hdr_len + mss > nm_port_frame_max(fn)) {
		nm_count(fn, NM_CNT_tx_mtu_drops);
		return 0;
	}
	nm_trace(fn, NM_TR_PKT, "lso sqn %#x ihs %u mss %u payload %u",
		 sq->obj->id, l.hdr_len, mss, w->bytes);
	for (off = 0, i = 0; off < w->bytes; off += mss, i++) {
		u32 part = w->bytes - off < mss ? w->bytes - off : mss;

		memcpy(frame, l.hdr, l.hdr_len);
		nm_lso_patch(&l, frame, i, off, part, off + part == w->bytes);
		lso_segment(&l, &c, frame, part, w->eth->cs_flags);
		frame_out(fn, frame, l.hdr_len + part);
	}
	return 0;
}
