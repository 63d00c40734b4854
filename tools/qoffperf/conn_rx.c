// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What arrives: opening what came raw, packet numbers, frames, the ACK decision. */
#include <errno.h>
#include <string.h>

#include "conn.h"

#define RECV_BUDGET	64	/* receives before timers and sends get a turn */

/* The peer updated its key. conn_push() answers with our own (section 6.2). */
static int follow_update(struct conn *c, u64 now)
{
	int err;

	err = key_dir_update(&c->rx_keys);
	if (!err)
		err = opener_advance(&c->opener);
	if (!err)
		err = io_rx_update(&c->io, &c->rx_keys, c->rx_largest);
	if (err)
		return err;
	c->stats.key_updates_seen++;
	/* Section 6.5: the old keys stay for packets that come late. */
	c->retire_time = now + 3 * (c->rec.srtt + 4 * c->rec.rttvar);
	return 0;
}

static int open_raw(struct conn *c, struct rx_pkt *pkt, u64 now)
{
	unsigned int pn_off = c->io.rx_pn_off, pn_len;
	u32 gen;
	int err;

	if (pkt->status == QOFF_RX_LONG_HEADER || pkt->len < pn_off ||
	    memcmp(pkt->data + 1, c->dcid, c->p->dcid_len))
		return -EBADMSG;
	err = opener_open(&c->opener, pkt->data, pkt->len, pn_off,
			  c->rx_largest, &pkt->pn, &pn_len, &gen);
	if (err)
		return err;
	pkt->status = QOFF_RX_OPENED;
	pkt->pn_len = pn_len;
	pkt->hdr_len = pn_off + pn_len;
	pkt->key_gen = gen;
	c->stats.raw_opened++;
	if (c->rx_largest == QOFF_PN_NONE || pkt->pn > c->rx_largest)
		c->rx_largest = pkt->pn;
	return gen > c->opener.gen ? follow_update(c, now) : 0;
}

static int open_batch(struct conn *c, u64 now)
{
	struct rx_batch *b = &c->in;
	unsigned int i;
	int err;

	if (b->nopened == b->n)
		return 0;
	for (i = 0; i < b->n; i++) {
		if (b->pkt[i].status == QOFF_RX_OPENED)
			continue;
		err = open_raw(c, &b->pkt[i], now);
		if (b->pkt[i].status != QOFF_RX_OPENED)
			c->stats.open_failed++;
		else if (err)
			return err;
	}
	io_rx_aggregate(b);
	return 0;
}

static int handle_ack(struct conn *c, struct frame_ack *ack, u64 now)
{
	u64 delay = min(ack->delay, MAX_ACK_DELAY) << ACK_DELAY_EXPONENT;
	u64 largest = ack->largest;
	int err;

	c->stats.acks_received++;
	err = recovery_ack(&c->rec, ack, now, delay * 1000);
	if (!err && largest >= c->phase_pn)
		c->phase_acked = true;
	return err;
}

static int handle_frame(struct conn *c, struct frame *f, u64 now)
{
	switch (f->type) {
	case FRAME_ACK:
	case FRAME_ACK_ECN:
		return handle_ack(c, &f->ack, now);
	case FRAME_STREAM:
		return c->sender ? -EPROTO : stream_rx_data(&c->rx, &f->stream);
	case FRAME_CLOSE:
	case FRAME_CLOSE_APP:
		c->stats.close_received++;
		return 0;
	}
	return 0;
}

/* Returns whether the packet asks for an ACK, or a negative errno. */
static int handle_payload(struct conn *c, const u8 *p, size_t len, u64 now)
{
	int eliciting = 0, ret;
	struct frame f;

	if (!len)	/* RFC 9000 section 12.4 */
		return -EPROTO;
	while (len) {
		ret = frame_parse(p, len, &f);
		if (ret < 0)
			return ret;
		p += ret;
		len -= ret;
		eliciting |= f.ack_eliciting;
		ret = handle_frame(c, &f, now);
		if (ret < 0)
			return ret;
	}
	return eliciting;
}

static int handle_packet(struct conn *c, const struct rx_pkt *pkt, u64 now)
{
	if (pkt->len < pkt->hdr_len + QOFF_TAG_SIZE)
		return -EPROTO;
	return handle_payload(c, pkt->data + pkt->hdr_len,
			      pkt->len - pkt->hdr_len - QOFF_TAG_SIZE, now);
}

/*
 * The record says that all packets are new and follow what is there already: one
 * step for the whole batch, no search per packet. Returns false when it is not so.
 */
static bool note_contiguous(struct conn *c, const struct rx_batch *b)
{
	struct ranges *s = &c->rx_pns;

	if (!(b->flags & QOFF_RX_CONTIGUOUS) || b->flags & QOFF_RX_DUP ||
	    b->nopened != b->n ||
	    b->pn_largest - b->pn_min + 1 != b->nopened)
		return false;
	if (!s->n)
		return !b->pn_min && !ranges_add(s, 0, b->nopened, NULL);
	if (s->r[s->n - 1].hi != b->pn_min)
		return false;
	s->r[s->n - 1].hi = b->pn_largest + 1;
	return true;
}

static void note_batch(struct conn *c, const struct rx_batch *b, u64 now)
{
	if (c->rx_largest == QOFF_PN_NONE || b->pn_largest >= c->rx_largest) {
		c->rx_largest = b->pn_largest;
		c->rx_largest_time = now;
	}
	c->ecn.ect0 += b->ect0;
	c->ecn.ect1 += b->ect1;
	c->ecn.ce += b->ce;
}

/* One decision a batch: RFC 9000 sections 13.2.1 and 13.2.2. */
static void decide_ack(struct conn *c, unsigned int eliciting, bool gap, u64 now)
{
	if (!eliciting)
		return;
	c->ack_pending += eliciting;
	if (c->ack_pending >= c->p->ack_every || gap || stream_rx_done(&c->rx))
		c->ack_now = true;
	else if (!c->ack_deadline)
		c->ack_deadline = now + MAX_ACK_DELAY;
}

static int input_batch(struct conn *c, u64 now)
{
	struct rx_batch *b = &c->in;
	unsigned int eliciting = 0, i;
	bool contiguous;
	u64 added;
	int ret;

	ret = open_batch(c, now);
	if (ret)
		return ret;
	if (!b->nopened)
		return 0;
	contiguous = note_contiguous(c, b);
	note_batch(c, b, now);
	for (i = 0; i < b->n; i++) {
		const struct rx_pkt *pkt = &b->pkt[i];

		if (pkt->status != QOFF_RX_OPENED)
			continue;
		if (!contiguous) {
			ret = ranges_add(&c->rx_pns, pkt->pn, pkt->pn + 1,
					 &added);
			if (ret)
				return ret;
			if (!added) {
				c->stats.duplicates++;
				continue;
			}
		}
		ret = handle_packet(c, pkt, now);
		if (ret < 0) {
			c->stats.bad_packets++;
			return ret;
		}
		eliciting += ret;
	}
	c->progress = now;
	decide_ack(c, eliciting, !contiguous, now);
	return c->sender ? 0 : stream_rx_batch_end(&c->rx);
}

/**
 * conn_input - read the socket until it is empty or the budget is used up
 * @c: connection
 * @now: time
 */
void conn_input(struct conn *c, u64 now)
{
	unsigned int i;
	int ret;

	for (i = 0; i < RECV_BUDGET && !c->error; i++) {
		ret = io_recv(&c->io, &c->in);
		if (ret == -EAGAIN)
			break;
		if (ret >= 0)
			ret = input_batch(c, now);
		if (ret < 0)
			conn_fail(c, ret);
		else
			conn_push(c, now);
	}
}
