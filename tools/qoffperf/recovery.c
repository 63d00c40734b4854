// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Loss recovery, RFC 9002. A packet is never sent again: its data goes into a
 * new packet with a new number. Persistent congestion (section 7.6) is not
 * implemented: repeated timeouts only back off.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recovery.h"

#define PACKET_THRESHOLD	3			/* section 6.1.1 */
#define GRANULARITY		NSEC_PER_MSEC		/* section 6.1.2 */
#define INITIAL_RTT		(100 * NSEC_PER_MSEC)	/* section 6.2.2: 333 ms for the Internet */
#define INITIAL_PACKETS		10			/* section 7.2 */
#define PTO_BACKOFF_MAX		6
#define PTO_MIN			(10 * NSEC_PER_MSEC)
#define SMALL_DGRAM		128

void recovery_init(struct recovery *r, const struct recovery_params *p)
{
	u64 ring = roundup_pow2(p->cwnd_max / SMALL_DGRAM + 1024);

	memset(r, 0, sizeof(*r));
	r->ops = p->ops;
	r->priv = p->priv;
	r->cc = p->cc;
	r->max_dgram = p->max_dgram;
	r->max_ack_delay = p->max_ack_delay;
	r->cwnd_max = p->cwnd_max;
	r->cwnd = p->cc == CC_FIXED ? p->cwnd_max :
		  min_t(u64, p->cwnd_max, INITIAL_PACKETS * p->max_dgram);
	r->ssthresh = UINT64_MAX;
	r->srtt = INITIAL_RTT;
	r->rttvar = INITIAL_RTT / 2;
	r->ring = xcalloc(ring, sizeof(*r->ring));
	r->mask = ring - 1;
}

void recovery_free(struct recovery *r)
{
	free(r->ring);
	r->ring = NULL;
}

static struct sent *sent_at(const struct recovery *r, u64 pn)
{
	return &r->ring[pn & r->mask];
}

/* Bytes that may be sent now. */
u64 recovery_allowance(const struct recovery *r)
{
	return r->cwnd > r->in_flight ? r->cwnd - r->in_flight : 0;
}

/* Packets that may be sent before a slot of the ring is still in use. */
unsigned int recovery_ring_room(const struct recovery *r)
{
	return r->mask + 1 - (r->next_pn - r->oldest);
}

/**
 * recovery_sent - a packet with the next number is about to leave
 * @r: the state; the caller asked recovery_ring_room()
 * @now: time
 * @size: bytes of the datagram
 * @data: what it carries, NULL if it is not ack-eliciting
 *
 * Return: its packet number.
 */
u64 recovery_sent(struct recovery *r, u64 now, u16 size,
		  const struct sent_data *data)
{
	struct sent *s = sent_at(r, r->next_pn);

	s->state = SENT_NONE;
	if (data) {
		s->state = SENT_IN_FLIGHT;
		s->time = now;
		s->size = size;
		s->data = *data;
		r->in_flight += size;
		r->last_sent = now;
	} else if (r->oldest == r->next_pn) {
		r->oldest++;
	}
	return r->next_pn++;
}

/* Section 5.3. */
static void update_rtt(struct recovery *r, u64 sample, u64 ack_delay)
{
	bool first = !r->min_rtt;
	u64 diff;

	sample = max_t(u64, sample, 1);
	r->latest_rtt = sample;
	if (first) {
		r->min_rtt = sample;
		r->srtt = sample;
		r->rttvar = sample / 2;
		return;
	}
	r->min_rtt = min(r->min_rtt, sample);
	ack_delay = min(ack_delay, r->max_ack_delay);
	if (sample >= r->min_rtt + ack_delay)
		sample -= ack_delay;
	diff = sample > r->srtt ? sample - r->srtt : r->srtt - sample;
	r->rttvar = (3 * r->rttvar + diff) / 4;
	r->srtt = (7 * r->srtt + sample) / 8;
}

static void grow_cwnd(struct recovery *r, u64 acked, u64 flight_before,
		      u64 newest_time)
{
	/* Not limited by the window (section 7.8), or still in recovery. */
	if (r->cc == CC_FIXED || 2 * flight_before < r->cwnd ||
	    newest_time <= r->recovery_start)
		return;
	if (r->cwnd < r->ssthresh)
		r->cwnd += acked;
	else
		r->cwnd += r->max_dgram * acked / r->cwnd;
	r->cwnd = min(r->cwnd, r->cwnd_max);
}

static void congestion_event(struct recovery *r, u64 sent_time, u64 now)
{
	if (r->cc == CC_FIXED || sent_time <= r->recovery_start)
		return;
	r->recovery_start = now;
	r->cwnd = max_t(u64, r->cwnd / 2, 2 * r->max_dgram);
	r->ssthresh = r->cwnd;
}

static void advance_oldest(struct recovery *r)
{
	while (r->oldest < r->next_pn &&
	       sent_at(r, r->oldest)->state != SENT_IN_FLIGHT)
		r->oldest++;
}

/* Section 6.1: sent before an acknowledged one, and long enough ago. */
static void detect_losses(struct recovery *r, u64 now)
{
	u64 delay = max(max(r->latest_rtt, r->srtt) * 9 / 8, GRANULARITY);
	u64 pn, newest_lost = 0;
	struct sent *s;

	r->loss_time = 0;
	if (!r->any_acked)
		return;
	for (pn = r->oldest; pn < r->largest_acked; pn++) {
		s = sent_at(r, pn);
		if (s->state != SENT_IN_FLIGHT)
			continue;
		if (r->largest_acked - pn < PACKET_THRESHOLD &&
		    now < s->time + delay) {
			r->loss_time = s->time + delay;
			break;
		}
		s->state = SENT_LOST;
		r->in_flight -= s->size;
		r->packets_lost++;
		newest_lost = max(newest_lost, s->time);
		r->ops->lost(r->priv, &s->data);
	}
	if (newest_lost)
		congestion_event(r, newest_lost, now);
	advance_oldest(r);
}

/* Pieces that follow one another, told to the owner in one call. */
struct acked_run {
	u64 off;
	u64 len;
	bool fin;
};

static void run_flush(struct recovery *r, struct acked_run *run)
{
	if (run->len || run->fin)
		r->ops->acked(r->priv, run->off, run->len, run->fin);
	run->len = 0;
	run->fin = false;
}

static void run_add(struct recovery *r, struct acked_run *run,
		    const struct sent_data *d)
{
	if (run->off + run->len != d->off || run->fin)
		run_flush(r, run);
	if (!run->len)
		run->off = d->off;
	run->len += d->len;
	run->fin = d->fin;
}

static u64 ack_range(struct recovery *r, u64 lo, u64 hi, u64 *newest)
{
	struct acked_run run = {};
	u64 pn, bytes = 0;
	struct sent *s;

	for (pn = max(lo, r->oldest); pn <= hi; pn++) {
		s = sent_at(r, pn);
		if (s->state == SENT_IN_FLIGHT) {
			bytes += s->size;
			*newest = max(*newest, s->time);
		} else if (s->state == SENT_LOST) {
			r->spurious++;
		} else {
			continue;
		}
		s->state = SENT_ACKED;
		run_add(r, &run, &s->data);
	}
	run_flush(r, &run);
	return bytes;
}

/**
 * recovery_ack - take an ACK frame
 * @r: the state
 * @ack: frame; its iterator is used up
 * @now: time of arrival
 * @ack_delay: the peer's delay in ns
 *
 * Return: 0, or -EPROTO when it acknowledges what was never sent (RFC 9000
 * section 13.1); nothing changed then.
 */
int recovery_ack(struct recovery *r, struct frame_ack *ack, u64 now,
		 u64 ack_delay)
{
	u64 flight_before = r->in_flight, bytes = 0, newest = 0, lo, hi;
	struct sent *s;

	if (ack->largest >= r->next_pn)
		return -EPROTO;
	s = sent_at(r, ack->largest);
	if (ack->largest >= r->oldest && s->state == SENT_IN_FLIGHT &&
	    (!r->any_acked || ack->largest > r->largest_acked))
		update_rtt(r, now - s->time, ack_delay);

	while (ack_iter_next(&ack->ranges, &lo, &hi)) {
		/* Below, all were acknowledged or given up. */
		if (hi < r->oldest)
			break;
		bytes += ack_range(r, lo, hi, &newest);
	}
	if (!r->any_acked || ack->largest > r->largest_acked)
		r->largest_acked = ack->largest;
	r->any_acked = true;
	if (bytes) {
		r->in_flight -= bytes;
		r->pto_count = 0;
	}
	advance_oldest(r);
	detect_losses(r, now);
	if (bytes)
		grow_cwnd(r, bytes, flight_before, newest);
	return 0;
}

/* Section 6.2.1. The floor keeps a scheduler's pause from being a timeout. */
static u64 pto_interval(const struct recovery *r)
{
	u64 pto = r->srtt + max(4 * r->rttvar, GRANULARITY) + r->max_ack_delay;

	return max(pto, PTO_MIN) << min_t(unsigned int, r->pto_count, PTO_BACKOFF_MAX);
}

/* When recovery_timeout() wants to be called, 0 for never. */
u64 recovery_deadline(const struct recovery *r)
{
	if (r->loss_time)
		return r->loss_time;
	return r->in_flight ? r->last_sent + pto_interval(r) : 0;
}

/**
 * recovery_timeout - the deadline passed
 * @r: the state
 * @now: time
 *
 * Return: true when a probe has to be sent whatever the window says.
 */
bool recovery_timeout(struct recovery *r, u64 now)
{
	if (r->loss_time) {
		if (now >= r->loss_time)
			detect_losses(r, now);
		return false;
	}
	if (!r->in_flight || now < r->last_sent + pto_interval(r))
		return false;
	r->pto_count++;
	r->ptos++;
	/* The next interval starts here, whether or not the probe gets out. */
	r->last_sent = now;
	return true;
}

/* Data of the oldest packet in flight: what a probe repeats. */
const struct sent_data *recovery_probe(const struct recovery *r)
{
	u64 pn;

	for (pn = r->oldest; pn < r->next_pn; pn++)
		if (sent_at(r, pn)->state == SENT_IN_FLIGHT)
			return &sent_at(r, pn)->data;
	return NULL;
}
