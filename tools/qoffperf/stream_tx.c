// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <string.h>

#include "stream.h"

/* Bounded by the packets of a window; a set that needs more is a bug. */
#define TX_RANGES_MAX	1048576

void stream_tx_init(struct stream_tx *s, const struct source *src, u64 base,
		    u64 size, u64 window)
{
	memset(s, 0, sizeof(*s));
	s->src = src;
	s->base = base;
	s->size = size;
	s->window = window;
	ranges_init(&s->acked, TX_RANGES_MAX, false);
	ranges_init(&s->lost, TX_RANGES_MAX, false);
}

void stream_tx_free(struct stream_tx *s)
{
	ranges_free(&s->acked);
	ranges_free(&s->lost);
}

static u64 stream_tx_limit(const struct stream_tx *s)
{
	return min(s->size, ranges_prefix(&s->acked) + s->window);
}

/* Bytes that could be sent now; counts a lone FIN as one. */
u64 stream_tx_pending(const struct stream_tx *s)
{
	u64 limit = stream_tx_limit(s), n = 0;
	unsigned int i;

	for (i = 0; i < s->lost.n; i++)
		n += s->lost.r[i].hi - s->lost.r[i].lo;
	if (limit > s->next)
		n += limit - s->next;
	return n + (s->fin_lost && !s->fin_acked && !n);
}

/**
 * stream_tx_take - what the next packet carries
 * @s: stream
 * @room: payload bytes of the packet
 * @d: result; lost pieces come before new ones
 *
 * Return: false when there is nothing to send.
 */
bool stream_tx_take(struct stream_tx *s, size_t room, struct sent_data *d)
{
	u64 limit;

	if (s->lost.n) {
		d->off = s->lost.r[0].lo;
		d->len = min_t(u64, room, s->lost.r[0].hi - d->off);
		ranges_del(&s->lost, d->off, d->off + d->len);
		s->retransmits++;
		s->retransmitted += d->len;
	} else {
		limit = stream_tx_limit(s);
		d->off = s->next;
		d->len = limit > s->next ? min_t(u64, room, limit - s->next) : 0;
		s->next += d->len;
		if (!d->len) {
			if (!s->fin_lost || s->fin_acked)
				return false;
			s->retransmits++;
		}
	}
	d->fin = d->off + d->len == s->size;
	if (d->fin)
		s->fin_lost = false;
	return true;
}

bool stream_tx_done(const struct stream_tx *s)
{
	return s->fin_acked && ranges_prefix(&s->acked) == s->size;
}

static void stream_tx_check(int err)
{
	if (err)
		die(EXIT_FAILED, "range set: %s", strerror(-err));
}

void stream_tx_acked(struct stream_tx *s, u64 off, u64 len, bool fin)
{
	stream_tx_check(ranges_add(&s->acked, off, off + len, NULL));
	stream_tx_check(ranges_del(&s->lost, off, off + len));
	s->fin_acked |= fin;
}

/* Only what no other packet brought there is lost. */
void stream_tx_lost(struct stream_tx *s, const struct sent_data *d)
{
	u64 lo = d->off, hi = d->off + d->len;
	struct range gap;

	while (ranges_gap(&s->acked, lo, hi, &gap)) {
		stream_tx_check(ranges_add(&s->lost, gap.lo, gap.hi, NULL));
		lo = gap.hi;
	}
	s->fin_lost |= d->fin && !s->fin_acked;
}
