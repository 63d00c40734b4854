// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Frames. Everything here reads bytes of the network: each length is checked
 * against what is left before it is used.
 */
#include <errno.h>
#include <string.h>

#include "frame.h"

/* RFC 9000 section 16. Returns the bytes read, -EBADMSG when they are missing. */
int varint_get(const u8 *p, const u8 *end, u64 *v)
{
	int len, i;

	if (p >= end)
		return -EBADMSG;
	len = 1 << (*p >> 6);
	if (end - p < len)
		return -EBADMSG;
	*v = *p & 0x3f;
	for (i = 1; i < len; i++)
		*v = *v << 8 | p[i];
	return len;
}

int varint_size(u64 v)
{
	return v < 1 << 6 ? 1 : v < 1 << 14 ? 2 : v < 1 << 30 ? 4 : 8;
}

static u8 *varint_put_len(u8 *p, u64 v, int len)
{
	int i;

	for (i = len - 1; i >= 0; i--) {
		p[i] = v;
		v >>= 8;
	}
	p[0] |= (len == 8 ? 3 : len == 4 ? 2 : len == 2 ? 1 : 0) << 6;
	return p + len;
}

u8 *varint_put(u8 *p, u64 v)
{
	return varint_put_len(p, v, varint_size(v));
}

/* Reads @n varints in a row; returns what is behind them or NULL. */
static const u8 *varints_get(const u8 *p, const u8 *end, u64 *v, int n)
{
	int i, len;

	for (i = 0; i < n; i++) {
		len = varint_get(p, end, v + i);
		if (len < 0)
			return NULL;
		p += len;
	}
	return p;
}

/* One step down the range list: (gap, length) pairs, section 19.3.1. */
static int ack_step(struct ack_iter *it, u64 *lo, u64 *hi)
{
	u64 v[2];

	if (it->first) {
		it->p = varints_get(it->p, it->end, v, 1);
		if (!it->p || v[0] > it->largest)
			return -EBADMSG;
		it->first = false;
		*hi = it->largest;
		*lo = it->largest - v[0];
	} else {
		it->p = varints_get(it->p, it->end, v, 2);
		if (!it->p || it->lo < v[0] + 2)
			return -EBADMSG;
		*hi = it->lo - v[0] - 2;
		if (v[1] > *hi)
			return -EBADMSG;
		*lo = *hi - v[1];
	}
	it->lo = *lo;
	it->left--;
	return 0;
}

/**
 * ack_iter_next - next range of a parsed ACK frame
 * @it: the iterator in &struct frame_ack
 * @lo: smallest packet number of the range
 * @hi: largest packet number of the range, inclusive
 *
 * frame_parse() walked the whole list, so a step cannot fail here.
 */
bool ack_iter_next(struct ack_iter *it, u64 *lo, u64 *hi)
{
	return it->left && !ack_step(it, lo, hi);
}

static const u8 *parse_ack(const u8 *p, const u8 *end, struct frame *f)
{
	struct frame_ack *ack = &f->ack;
	struct ack_iter it;
	u64 v[3], lo, hi;

	p = varints_get(p, end, v, 3);
	/* Each range takes two bytes at least: a bound for the loop below. */
	if (!p || v[2] > (u64)(end - p))
		return NULL;
	ack->largest = v[0];
	ack->delay = v[1];
	it = (struct ack_iter) {
		.p = p, .end = end, .left = v[2] + 1, .first = true,
		.largest = v[0],
	};
	ack->ranges = it;
	while (it.left)
		if (ack_step(&it, &lo, &hi))
			return NULL;
	p = it.p;
	ack->ranges.end = p;

	ack->ect0 = 0;
	ack->ect1 = 0;
	ack->ce = 0;
	if (f->type == FRAME_ACK_ECN) {
		p = varints_get(p, end, v, 3);
		if (!p)
			return NULL;
		ack->ect0 = v[0];
		ack->ect1 = v[1];
		ack->ce = v[2];
	}
	return p;
}

static const u8 *parse_stream(const u8 *p, const u8 *end, u8 type,
			      struct frame *f)
{
	struct frame_stream *s = &f->stream;

	f->type = FRAME_STREAM;
	s->fin = type & FRAME_STREAM_FIN;
	s->off = 0;
	p = varints_get(p, end, &s->id, 1);
	if (p && type & FRAME_STREAM_OFF)
		p = varints_get(p, end, &s->off, 1);
	if (!p)
		return NULL;
	s->len = end - p;
	if (type & FRAME_STREAM_LEN)
		p = varints_get(p, end, &s->len, 1);
	/* Section 19.8: the final offset cannot exceed 2^62 - 1. */
	if (!p || s->len > (u64)(end - p) || s->off + s->len > VARINT_MAX)
		return NULL;
	s->data = p;
	return p + s->len;
}

static const u8 *parse_close(const u8 *p, const u8 *end, struct frame *f)
{
	struct frame_close *c = &f->close;
	u64 v[3] = {};
	int n = f->type == FRAME_CLOSE ? 3 : 2;

	p = varints_get(p, end, v, n);
	if (!p || v[n - 1] > (u64)(end - p))
		return NULL;
	c->code = v[0];
	c->reason_len = v[n - 1];
	c->reason = p;
	return p + c->reason_len;
}

/**
 * frame_parse - read the frame at the start of a payload
 * @p: payload, any bytes
 * @len: its length, at least 1
 * @f: the result; points into @p
 *
 * A run of PADDING is one frame.
 *
 * Return: bytes of the frame (at least 1), or -EBADMSG for one that is cut,
 * malformed or of a type that qoffperf never sends (FRAME_ENCODING_ERROR).
 */
int frame_parse(const u8 *p, size_t len, struct frame *f)
{
	const u8 *start = p, *end = p + len;

	if (!len)
		return -EBADMSG;
	f->type = *p++;
	f->ack_eliciting = false;
	switch (f->type) {
	case FRAME_PADDING:
		while (p < end && !*p)
			p++;
		break;
	case FRAME_PING:
		f->ack_eliciting = true;
		break;
	case FRAME_ACK:
	case FRAME_ACK_ECN:
		p = parse_ack(p, end, f);
		break;
	case FRAME_STREAM ... FRAME_STREAM + 7:
		f->ack_eliciting = true;
		p = parse_stream(p, end, f->type, f);
		break;
	case FRAME_CLOSE:
	case FRAME_CLOSE_APP:
		p = parse_close(p, end, f);
		break;
	default:
		return -EBADMSG;
	}
	return p ? p - start : -EBADMSG;
}

/* Largest encoding of one (gap, length) pair. */
#define ACK_PAIR_MAX	16

/**
 * frame_put_ack - write an ACK frame for the newest ranges of a set
 * @p: where
 * @room: bytes there
 * @pns: received packet numbers, not empty
 * @delay: encoded ACK delay
 * @ecn: if any count is set, the frame carries them (type 0x03)
 * @max_ranges: at most so many ranges; older ones were reported before
 *
 * Return: bytes written, 0 when @room is too small for one range.
 */
size_t frame_put_ack(u8 *p, size_t room, const struct ranges *pns, u64 delay,
		     const struct ecn_counts *ecn, unsigned int max_ranges)
{
	bool with_ecn = ecn->ect0 || ecn->ect1 || ecn->ce;
	size_t fixed = 1 + 8 + 8 + 4 + 8 + (with_ecn ? 24 : 0);
	const struct range *r;
	unsigned int extra, i;
	u8 *start = p;

	if (!pns->n || room < fixed || !max_ranges)
		return 0;
	r = pns->r + pns->n - 1;
	extra = min_t(unsigned int, min(pns->n, max_ranges) - 1,
		      (room - fixed) / ACK_PAIR_MAX);
	*p++ = with_ecn ? FRAME_ACK_ECN : FRAME_ACK;
	p = varint_put(p, r->hi - 1);
	p = varint_put(p, min(delay, VARINT_MAX));
	p = varint_put(p, extra);
	p = varint_put(p, r->hi - 1 - r->lo);
	for (i = 0; i < extra; i++, r--) {
		p = varint_put(p, r->lo - r[-1].hi - 1);
		p = varint_put(p, r[-1].hi - 1 - r[-1].lo);
	}
	if (with_ecn) {
		p = varint_put(p, ecn->ect0);
		p = varint_put(p, ecn->ect1);
		p = varint_put(p, ecn->ce);
	}
	return p - start;
}

size_t frame_put_close(u8 *p, size_t room, u64 code)
{
	u8 *start = p;

	if (room < 2 + 8)
		return 0;
	*p++ = FRAME_CLOSE_APP;
	p = varint_put(p, code);
	*p++ = 0;
	return p - start;
}

/*
 * STREAM frames of one connection all have the same header size, so that a
 * lost range fits again into a datagram of the same length: id 0, an offset of
 * 4 or 8 bytes, no length field (the frame is the last of its packet).
 */
size_t frame_stream_hdr_size(bool wide_off)
{
	return 1 + 1 + (wide_off ? 8 : 4);
}

u8 *frame_put_stream_hdr(u8 *p, u64 off, bool wide_off, bool fin)
{
	*p++ = FRAME_STREAM | FRAME_STREAM_OFF | (fin ? FRAME_STREAM_FIN : 0);
	*p++ = 0;
	return varint_put_len(p, off, wide_off ? 8 : 4);
}

/* Appendix A.2: twice the span of unacknowledged numbers must fit; 2 or more. */
int pn_length(u64 pn, u64 largest_acked, bool any_acked)
{
	u64 span = any_acked ? pn - largest_acked : pn + 1;

	return span < 1 << 15 ? 2 : span < 1 << 23 ? 3 : 4;
}

/* Appendix A.3: the number nearest to the one expected next. */
u64 pn_expand(u64 largest, bool any, u64 truncated, int pn_len)
{
	u64 expected = any ? largest + 1 : 0;
	u64 win = 1ULL << (8 * pn_len);
	u64 pn = (expected & ~(win - 1)) | truncated;

	if (pn + win / 2 <= expected && pn < (1ULL << 62) - win)
		return pn + win;
	if (pn > expected + win / 2 && pn >= win)
		return pn - win;
	return pn;
}
