// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"

#define RX_PN_RANGES	256

static void on_acked(void *priv, u64 off, u64 len, bool fin)
{
	stream_tx_acked(priv, off, len, fin);
}

static void on_lost(void *priv, const struct sent_data *d)
{
	stream_tx_lost(priv, d);
}

static const struct recovery_ops recovery_ops = {
	.acked = on_acked,
	.lost = on_lost,
};

static int start_keys(struct conn *c, const struct conn_config *cfg)
{
	size_t len = qoff_secret_len(cfg->p->cipher);
	int err;

	err = key_dir_init(&c->tx_keys, cfg->p->cipher, cfg->tx_secret, len);
	if (!err)
		err = key_dir_init(&c->rx_keys, cfg->p->cipher, cfg->rx_secret,
				   len);
	if (!err)
		err = opener_init(&c->opener, cfg->p->cipher, cfg->rx_secret,
				  len);
	return err;
}

static int start_stream(struct conn *c, const struct conn_config *cfg)
{
	struct recovery_params rec = {
		.ops = &recovery_ops,
		.priv = &c->tx,
		.cc = cfg->p->cc,
		.max_dgram = c->max_dgram,
		.cwnd_max = cfg->p->window,
		.max_ack_delay = MAX_ACK_DELAY,
	};

	recovery_init(&c->rec, &rec);
	ranges_init(&c->rx_pns, RX_PN_RANGES, true);
	/* The end itself is an offset too: that of a FIN without data. */
	c->wide_off = cfg->size >= 1 << 30;
	if (!c->sender)
		return stream_rx_init(&c->rx, cfg->size, cfg->p->window,
				      cfg->p->hash, cfg->fd, cfg->base);
	stream_tx_init(&c->tx, cfg->src, cfg->base, cfg->size, cfg->p->window);
	return 0;
}

/**
 * conn_start - begin after both ends know each other
 * @c: zeroed but for @c->io, which is connected
 * @cfg: what it shall do; not kept
 *
 * Return: 0 or a negative errno; conn_free() is safe after either.
 */
int conn_start(struct conn *c, const struct conn_config *cfg)
{
	struct io_config io = {
		.p = cfg->p,
		.tx = &c->tx_keys,
		.rx = &c->rx_keys,
		.dcid = c->dcid,
		.cookie = cfg->id,
	};
	int err;

	c->p = cfg->p;
	c->sender = cfg->sender;
	c->rx_largest = QOFF_PN_NONE;
	c->max_dgram = params_max_dgram(cfg->p, c->io.ipv6);
	c->mix_state = cfg->p->seed + cfg->id;
	memcpy(c->dcid, cfg->dcid, cfg->p->dcid_len);
	memcpy(c->peer_dcid, cfg->peer_dcid, cfg->p->dcid_len);
	c->out.buf = xcalloc(1, IO_BUF_SIZE);
	err = start_keys(c, cfg);
	if (!err)
		err = start_stream(c, cfg);
	if (!err)
		err = io_start(&c->io, &io);
	c->progress = now_ns();
	return err;
}

void conn_free(struct conn *c)
{
	io_stop(&c->io);
	opener_free(&c->opener);
	qoff_wipe(&c->tx_keys, sizeof(c->tx_keys));
	qoff_wipe(&c->rx_keys, sizeof(c->rx_keys));
	stream_tx_free(&c->tx);
	stream_rx_free(&c->rx);
	ranges_free(&c->rx_pns);
	recovery_free(&c->rec);
	free(c->out.buf);
	c->out.buf = NULL;
}

void conn_fail(struct conn *c, int err)
{
	if (!c->error)
		c->error = err;
}

void conn_readable(struct conn *c)
{
	conn_input(c, now_ns());
}

void conn_writable(struct conn *c)
{
	conn_push(c, now_ns());
}

/* When conn_timer() wants to be called, 0 for never. */
u64 conn_deadline(const struct conn *c)
{
	u64 t = recovery_deadline(&c->rec), next = UINT64_MAX;

	if (t)
		next = t;
	if (c->ack_deadline)
		next = min(next, c->ack_deadline);
	if (c->retire_time)
		next = min(next, c->retire_time);
	return next == UINT64_MAX ? 0 : next;
}

static void retire_keys(struct conn *c, u64 now)
{
	if (!c->retire_time || now < c->retire_time)
		return;
	c->retire_time = 0;
	opener_retire(&c->opener);
	io_rx_retire(&c->io, !(c->rx_keys.gen & 1));
}

void conn_timer(struct conn *c, u64 now)
{
	u64 t = recovery_deadline(&c->rec);

	retire_keys(c, now);
	if (t && now >= t)
		c->probe |= recovery_timeout(&c->rec, now);
	if (!c->want_write)	/* otherwise the socket is full: poll will tell */
		conn_push(c, now);
	if (now - c->progress > c->p->timeout * NSEC_PER_SEC)
		conn_fail(c, -ETIMEDOUT);
}

/* All that this end can know: sent and acknowledged, or received. */
bool conn_done(const struct conn *c)
{
	return c->sender ? stream_tx_done(&c->tx) : stream_rx_done(&c->rx);
}

/* Best effort: the peer learns of the end over the control connection too. */
void conn_close(struct conn *c)
{
	if (!c->error && !c->closed)
		conn_send_close(c, now_ns());
	c->closed = true;
}
