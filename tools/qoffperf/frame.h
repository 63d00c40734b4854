/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The frames of RFC 9000 section 19 that qoffperf speaks. */
#ifndef QOFFPERF_FRAME_H
#define QOFFPERF_FRAME_H

#include "ranges.h"

#define VARINT_MAX		((1ULL << 62) - 1)

enum {
	FRAME_PADDING		= 0x00,
	FRAME_PING		= 0x01,
	FRAME_ACK		= 0x02,
	FRAME_ACK_ECN		= 0x03,
	FRAME_STREAM		= 0x08,	/* to 0x0f */
	FRAME_STREAM_FIN	= 0x01,
	FRAME_STREAM_LEN	= 0x02,
	FRAME_STREAM_OFF	= 0x04,
	FRAME_CLOSE		= 0x1c,
	FRAME_CLOSE_APP		= 0x1d,
};

/**
 * struct ack_iter - the ranges of an ACK frame, highest first
 * @p: rest of the range list
 * @end: end of it
 * @left: ranges still to come
 * @lo: lowest packet number of the range just returned
 * @first: nothing was returned yet
 * @largest: the frame's largest acknowledged
 */
struct ack_iter {
	const u8 *p;
	const u8 *end;
	u64 left;
	u64 lo;
	bool first;
	u64 largest;
};

struct frame_ack {
	u64 largest;
	u64 delay;		/* microseconds >> ack_delay_exponent */
	u64 ect0, ect1, ce;	/* FRAME_ACK_ECN only */
	struct ack_iter ranges;
};

struct frame_stream {
	u64 id;
	u64 off;
	u64 len;
	const u8 *data;
	bool fin;
};

struct frame_close {
	u64 code;
	u64 reason_len;
	const u8 *reason;
};

struct frame {
	u8 type;		/* FRAME_STREAM for all of its kinds */
	bool ack_eliciting;
	union {
		struct frame_ack ack;
		struct frame_stream stream;
		struct frame_close close;
	};
};

struct ecn_counts {
	u64 ect0, ect1, ce;
};

int varint_get(const u8 *p, const u8 *end, u64 *v);
int varint_size(u64 v);
u8 *varint_put(u8 *p, u64 v);

int frame_parse(const u8 *p, size_t len, struct frame *f);
bool ack_iter_next(struct ack_iter *it, u64 *lo, u64 *hi);

size_t frame_put_ack(u8 *p, size_t room, const struct ranges *pns, u64 delay,
		     const struct ecn_counts *ecn, unsigned int max_ranges);
size_t frame_put_close(u8 *p, size_t room, u64 code);
size_t frame_stream_hdr_size(bool wide_off);
u8 *frame_put_stream_hdr(u8 *p, u64 off, bool wide_off, bool fin);

/* Packet numbers, RFC 9000 section 17.1 and appendix A. */
int pn_length(u64 pn, u64 largest_acked, bool any_acked);
u64 pn_expand(u64 largest, bool any, u64 truncated, int pn_len);

#endif /* QOFFPERF_FRAME_H */
