// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The timed part of a test: one thread, one poll set, all connections. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

static u64 us(const struct timeval *tv)
{
	return tv->tv_sec * 1000000ULL + tv->tv_usec;
}

static void stop_clock(struct session *s)
{
	struct rusage u;

	s->end = now_ns();
	getrusage(RUSAGE_SELF, &u);
	s->mine.ns = s->end - s->start;
	s->mine.cpu_user_us = us(&u.ru_utime) - us(&s->usage.ru_utime);
	s->mine.cpu_system_us = us(&u.ru_stime) - us(&s->usage.ru_stime);
}

static u64 stream_bytes(const struct conn *c)
{
	unsigned int i;
	u64 n = 0;

	const struct ranges *r = c->sender ? &c->tx.acked : &c->rx.have;

	for (i = 0; i < r->n; i++)
		n += r->r[i].hi - r->r[i].lo;
	return n;
}

static void add_conn(struct side *side, const struct conn *c)
{
	const struct io_stats *io = &c->io.stats;

	side->bytes += stream_bytes(c);
	side->packets += c->stats.packets_sent;
	side->dgrams_sent += io->dgrams_out;
	side->dgrams_received += io->dgrams_in;
	side->bytes_sent += io->bytes_out;
	side->bytes_received += io->bytes_in;
	side->sends += io->sends;
	side->batches += io->batches;
	side->send_calls += io->send_calls;
	side->send_again += io->send_again;
	side->recv_calls += io->recv_calls;
	side->recv_again += io->recv_again;
	side->file_writes += c->rx.writes;
	side->acks_sent += c->stats.acks_sent;
	side->acks_received += c->stats.acks_received;
	side->lost += c->rec.packets_lost;
	side->spurious += c->rec.spurious;
	side->timeouts += c->rec.ptos;
	side->retransmits += c->tx.retransmits;
	side->retransmitted_bytes += c->tx.retransmitted;
	side->duplicates += c->stats.duplicates;
	side->duplicate_bytes += c->rx.duplicate_bytes;
	side->key_updates += c->stats.key_updates;
	side->key_updates_seen += c->stats.key_updates_seen;
	side->raw_opened += c->stats.raw_opened;
	side->open_failed += c->stats.open_failed;
	side->bad_packets += c->stats.bad_packets;
	side->close_received += c->stats.close_received;
	side->hash_ns += c->rx.hash_ns;
}

/* Sums the connections into @side; its times and polls stay. */
void session_counters(struct session *s, struct side *side)
{
	struct side sum = {
		.ns = side->ns,
		.cpu_user_us = side->cpu_user_us,
		.cpu_system_us = side->cpu_system_us,
		.polls = side->polls,
		.srtt_us = s->conns[0].rec.srtt / 1000,
		.cwnd = s->conns[0].rec.cwnd,
		.kernel = s->conns[0].io.q &&
			  qoff_backend(s->conns[0].io.q) == QOFF_KERNEL,
	};
	unsigned int i;

	for (i = 0; i < s->p.parallel; i++)
		add_conn(&sum, &s->conns[i]);
	*side = sum;
}

static void progress(struct session *s, u64 now)
{
	struct side sum = {};
	u64 dgrams;

	session_counters(s, &sum);
	dgrams = s->sender ? sum.dgrams_sent : sum.dgrams_received;
	report_interval(stdout, (s->last_time - s->start) / 1e9,
			(now - s->start) / 1e9, sum.bytes - s->last_bytes,
			dgrams - s->last_dgrams);
	s->last_time = now;
	s->last_bytes = sum.bytes;
	s->last_dgrams = dgrams;
}

static bool all_done(const struct session *s)
{
	unsigned int i;

	for (i = 0; i < s->p.parallel; i++)
		if (!conn_done(&s->conns[i]))
			return false;
	return true;
}

/* Receiver: the last byte is there. It goes on answering until "results". */
static int receiver_done(struct session *s)
{
	stop_clock(s);
	msg_init(&s->msg, "done");
	return ctrl_send(&s->ctrl, &s->msg);
}

static int handle_ctrl(struct session *s)
{
	const char *text;
	int ret;

	ret = ctrl_poll(&s->ctrl, &s->msg);
	if (ret <= 0)
		return ret;
	if (msg_is(&s->msg, "error")) {
		text = msg_get(&s->msg, "text");
		warnx("peer: %.500s", text ? text : "unknown error");
		return -ECANCELED;
	}
	if (s->sender && msg_is(&s->msg, "done")) {
		stop_clock(s);
		s->finished = true;
		return 0;
	}
	if (!s->sender && s->end && msg_is(&s->msg, "results")) {
		s->finished = true;
		return 0;
	}
	return -EPROTO;
}

static int wait_ns(const struct session *s, u64 now)
{
	u64 next = now + 500 * NSEC_PER_MSEC, t;
	unsigned int i;

	for (i = 0; i < s->p.parallel; i++) {
		t = conn_deadline(&s->conns[i]);
		if (t)
			next = min(next, t);
	}
	if (s->local->interval && !s->end)
		next = min(next, s->last_time +
			   (u64)(s->local->interval * NSEC_PER_SEC));
	return next > now ? next - now : 0;
}

static int poll_once(struct session *s, struct pollfd *fds)
{
	unsigned int n = s->p.parallel, i;
	struct timespec ts = {};
	int ret;

	for (i = 0; i < n; i++)
		fds[i].events = POLLIN | (s->conns[i].want_write ? POLLOUT : 0);
	ts.tv_nsec = wait_ns(s, now_ns());
	s->mine.polls++;
	ret = ppoll(fds, n + 1, &ts, NULL);
	if (ret < 0)
		return errno == EINTR ? 0 : -errno;
	for (i = 0; ret && i < n; i++) {
		if (fds[i].revents & ~POLLOUT)
			conn_readable(&s->conns[i]);
		if (fds[i].revents & POLLOUT)
			conn_writable(&s->conns[i]);
	}
	return fds[n].revents ? handle_ctrl(s) : 0;
}

static int check_conns(struct session *s)
{
	u64 now = now_ns(), t;
	unsigned int i;

	for (i = 0; i < s->p.parallel; i++) {
		struct conn *c = &s->conns[i];

		t = conn_deadline(c);
		if ((t && now >= t) || now - c->progress > NSEC_PER_SEC)
			conn_timer(c, now);
		/* Once all is here, a broken socket breaks nothing. */
		if (c->error && !s->end) {
			warnx("connection %u: %s%s", i, strerror(-c->error),
			      c->error == -EMSGSIZE ?
			      ": choose the path's --mtu" : "");
			return c->error;
		}
	}
	if (s->local->interval && !s->end &&
	    now - s->last_time >= s->local->interval * NSEC_PER_SEC)
		progress(s, now);
	return 0;
}

/**
 * session_run - move the data
 * @s: connections are ready, the peer's too
 *
 * Return: 0 when the receiver has all bytes and both ends know it.
 */
int session_run(struct session *s)
{
	struct pollfd fds[MAX_PARALLEL + 1];
	unsigned int i;
	int err = 0;

	for (i = 0; i < s->p.parallel; i++) {
		fds[i] = (struct pollfd) { .fd = s->conns[i].io.fd };
		s->conns[i].progress = now_ns();
	}
	fds[i] = (struct pollfd) { .fd = s->ctrl.fd, .events = POLLIN };
	getrusage(RUSAGE_SELF, &s->usage);
	if (!s->start)
		s->start = now_ns();
	s->last_time = s->start;
	for (i = 0; s->sender && i < s->p.parallel; i++)
		conn_writable(&s->conns[i]);
	while (!err && !s->finished) {
		err = poll_once(s, fds);
		if (!err)
			err = check_conns(s);
		if (!err && !s->sender && !s->end && all_done(s))
			err = receiver_done(s);
	}
	return err;
}
