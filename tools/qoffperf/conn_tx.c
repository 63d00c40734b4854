// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Packets: what goes into the next batch, and whether one may leave now. */
#include <errno.h>
#include <string.h>

#include "conn.h"

#define MIX_LO		200	/* smallest datagram of the mix */
#define PN_LEN_MAX	4
#define HP_SAMPLE_END	4	/* RFC 9001 section 5.4.2: from the pn's start */
#define FIXED_BIT	0x40

/* Well below what any cipher may seal with one key, RFC 9001 section 6.6. */
#define KEY_PACKETS_MAX	(1U << 21)

static u32 next_len(struct conn *c)
{
	if (!c->next_len) {
		c->next_len = c->max_dgram;
		if (c->p->mix == MIX_MIXED)
			c->next_len = MIX_LO + rng_next(&c->mix_state) %
				      (c->max_dgram - MIX_LO + 1);
	}
	return c->next_len;
}

/* Short header, RFC 9000 section 17.3.1; returns its length. */
static size_t put_header(struct conn *c, u8 *p, u64 pn, int pn_len)
{
	size_t dcid_len = c->p->dcid_len;
	int i;

	*p++ = FIXED_BIT | (c->tx_keys.gen & 1) << 2 | (pn_len - 1);
	memcpy(p, c->peer_dcid, dcid_len);
	p += dcid_len;
	for (i = 0; i < pn_len; i++)
		p[i] = pn >> (8 * (pn_len - 1 - i));
	return 1 + dcid_len + pn_len;
}

static void batch_reset(struct conn *c)
{
	c->out.n = 0;
	c->out.bytes = 0;
	c->out.done = 0;
	c->out.done_bytes = 0;
	c->out.sealed = false;
}

/* Numbers follow one another in a batch: nothing else may take one meanwhile. */
static void batch_add(struct conn *c, u16 len, u64 pn)
{
	if (!c->out.n)
		c->out.pn = pn;
	c->out.seg[c->out.n++] = (struct qoff_tx_seg) { .len = len };
	c->out.bytes += len;
	c->phase_sent++;
}

/* One packet with a piece of the stream; padded when the piece is short. */
static bool add_data(struct conn *c, u64 now)
{
	u64 pn = c->rec.next_pn;
	int pn_len = pn_length(pn, c->rec.largest_acked, c->rec.any_acked);
	u8 *start = c->out.buf + c->out.bytes, *p = start;
	u32 len = next_len(c);
	size_t fixed, room, pad;
	struct sent_data d;

	fixed = 1 + c->p->dcid_len + pn_len + QOFF_TAG_SIZE +
		frame_stream_hdr_size(c->wide_off);
	room = len - fixed;
	if (!stream_tx_take(&c->tx, room, &d))
		return false;
	p += put_header(c, p, pn, pn_len);
	pad = room - d.len;
	memset(p, FRAME_PADDING, pad);
	p = frame_put_stream_hdr(p + pad, d.off, c->wide_off, d.fin);
	source_copy(c->tx.src, c->tx.base + d.off, p, d.len);
	memset(p + d.len, 0, QOFF_TAG_SIZE);
	recovery_sent(&c->rec, now, len, &d);
	batch_add(c, len, pn);
	c->next_len = 0;
	c->stats.packets_sent++;
	return true;
}

/* Sends @out. False: it has to wait, or the connection is broken. */
static bool batch_send(struct conn *c)
{
	int err = io_send(&c->io, &c->out);

	if (!err) {
		batch_reset(c);
		return true;
	}
	if (err == -EAGAIN)
		c->want_write = true;
	else
		conn_fail(c, err);
	return false;
}

/* An ACK-only packet, or one with CONNECTION_CLOSE: not ack-eliciting. */
static int send_control(struct conn *c, u64 now, bool closing)
{
	u64 pn = c->rec.next_pn, delay;
	int pn_len = pn_length(pn, c->rec.largest_acked, c->rec.any_acked);
	u8 *start = c->out.buf, *p = start, *end = start + c->max_dgram;

	if (!recovery_ring_room(&c->rec))
		return -ENOBUFS;
	p += put_header(c, p, pn, pn_len);
	end -= QOFF_TAG_SIZE;
	if (c->rx_pns.n) {
		delay = (now - c->rx_largest_time) / 1000 >> ACK_DELAY_EXPONENT;
		p += frame_put_ack(p, end - p, &c->rx_pns, delay, &c->ecn,
				   ACK_RANGES);
	}
	if (closing)
		p += frame_put_close(p, end - p, 0);
	while (p < start + c->io.tx_pn_off + HP_SAMPLE_END)
		*p++ = FRAME_PADDING;
	memset(p, 0, QOFF_TAG_SIZE);
	p += QOFF_TAG_SIZE;
	recovery_sent(&c->rec, now, p - start, NULL);
	batch_add(c, p - start, pn);
	return batch_send(c) ? 0 : c->error ? c->error : -EAGAIN;
}

int conn_send_close(struct conn *c, u64 now)
{
	if (c->out.n && !batch_send(c))
		return c->error ? c->error : -EAGAIN;
	return send_control(c, now, true);
}

static bool push_ack(struct conn *c, u64 now)
{
	if (!c->ack_now && (!c->ack_deadline || now < c->ack_deadline))
		return true;
	c->ack_now = false;
	c->ack_deadline = 0;
	c->ack_pending = 0;
	c->stats.acks_sent++;
	return !send_control(c, now, false);
}

/*
 * No batch is built and unsent now. -EBUSY: the kernel wants to finish with the
 * older key first, so later.
 */
static int conn_tx_update(struct conn *c)
{
	struct key_dir next = c->tx_keys;
	int err;

	err = key_dir_update(&next);
	if (!err)
		err = io_tx_update(&c->io, &next);
	if (!err) {
		c->tx_keys = next;
		c->phase_pn = c->rec.next_pn;
		c->phase_sent = 0;
		c->phase_acked = false;
		c->stats.key_updates++;
	}
	qoff_wipe(&next, sizeof(next));
	return err;
}

/*
 * Follow an update of the peer before the next packet leaves (RFC 9001 section
 * 6.2); initiate one only after a packet of this phase was acknowledged (6.1).
 */
static bool maybe_update(struct conn *c)
{
	bool follow = c->rx_keys.gen > c->tx_keys.gen;
	u64 every = c->p->key_update_every ? c->p->key_update_every :
					     KEY_PACKETS_MAX;
	bool initiate = c->sender && c->phase_acked &&
			c->phase_sent >= min_t(u64, every, KEY_PACKETS_MAX);
	int err;

	if (!follow && !initiate)
		return true;
	err = conn_tx_update(c);
	if (err && err != -EBUSY)
		conn_fail(c, err);
	return !c->error;
}

/*
 * Half a super-packet costs as much as a whole one: with packets in flight, wait
 * until the window has room for a whole one, or for half of the window.
 */
static bool defer(const struct conn *c, u64 allowance)
{
	u64 full = min_t(u64, params_batch(c->p) * c->max_dgram, IO_BATCH_BYTES);

	if (!c->rec.in_flight || stream_tx_pending(&c->tx) < allowance)
		return false;
	return allowance < min(full, c->rec.cwnd / 2);
}

static void fill_batch(struct conn *c, u64 now, u64 allowance)
{
	unsigned int max_n = params_batch(c->p);

	while (c->out.n < max_n && recovery_ring_room(&c->rec) > 1 &&
	       c->out.bytes + next_len(c) <= IO_BATCH_BYTES &&
	       c->out.bytes + next_len(c) <= allowance &&
	       add_data(c, now))
		;
}

/* After a timeout repeat the oldest data, RFC 9002 section 6.2.4. */
static void fill_probe(struct conn *c, u64 now)
{
	const struct sent_data *d;

	c->probe = false;
	if (!stream_tx_pending(&c->tx)) {
		d = recovery_probe(&c->rec);
		if (d)
			stream_tx_lost(&c->tx, d);
	}
	if (recovery_ring_room(&c->rec) > 1 && add_data(c, now))
		c->stats.probes++;
}

static bool push_data(struct conn *c, u64 now)
{
	u64 allowance = recovery_allowance(&c->rec);

	if (!maybe_update(c))
		return false;
	if (c->probe)
		fill_probe(c, now);
	else if (!defer(c, allowance))
		fill_batch(c, now, allowance);
	return c->out.n && batch_send(c);
}

/**
 * conn_push - send all that may leave now
 * @c: connection
 * @now: time
 */
void conn_push(struct conn *c, u64 now)
{
	c->want_write = false;
	if (c->error || c->closed)
		return;
	if (c->out.n && !batch_send(c))
		return;
	if (!maybe_update(c) || !push_ack(c, now))
		return;
	while (c->sender && !c->error && push_data(c, now))
		;
}
