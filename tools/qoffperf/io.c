// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io.h"

#define TOS_ECT0	2
#define MMSG_CONTROL	CMSG_SPACE(sizeof(int))

/* getsockopt() answers with twice what was set: the kernel's own overhead. */
static int set_buffer(int fd, int opt, int force_opt, const char *name,
		      const char *sysctl, int bytes)
{
	socklen_t len = sizeof(int);
	int got = 0;

	if (setsockopt(fd, SOL_SOCKET, force_opt, &bytes, sizeof(bytes)) &&
	    setsockopt(fd, SOL_SOCKET, opt, &bytes, sizeof(bytes)))
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, opt, &got, &len))
		return -errno;
	if (got / 2 < bytes) {
		warnx("%s: asked for %d bytes, the kernel gives %d", name,
		      bytes, got / 2);
		warnx("run as root, or: sysctl -w %s=%d", sysctl, bytes);
		warnx("or choose a smaller --socket-buffer or --window");
		return -ENOBUFS;
	}
	return 0;
}

static int set_buffers(struct io *io, const struct params *p)
{
	int bytes = p->sockbuf ? p->sockbuf : 4 * p->window;
	int err;

	err = set_buffer(io->fd, SO_SNDBUF, SO_SNDBUFFORCE, "SO_SNDBUF",
			 "net.core.wmem_max", bytes);
	if (err)
		return err;
	return set_buffer(io->fd, SO_RCVBUF, SO_RCVBUFFORCE, "SO_RCVBUF",
			  "net.core.rmem_max", bytes);
}

static int set_int(int fd, int level, int opt, int val)
{
	return setsockopt(fd, level, opt, &val, sizeof(val)) ? -errno : 0;
}

static int set_options(struct io *io, const struct params *p)
{
	int level = io->ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;
	u64 rate = p->pacing_rate;
	int err;

	/* QUIC datagrams are never fragmented: RFC 9000 section 14. */
	err = set_int(io->fd, level,
		      io->ipv6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
		      IP_PMTUDISC_DO);
	if (!err && io->ecn)
		err = set_int(io->fd, level, io->ipv6 ? IPV6_TCLASS : IP_TOS,
			      TOS_ECT0);
	if (!err && io->ecn)
		err = set_int(io->fd, level,
			      io->ipv6 ? IPV6_RECVTCLASS : IP_RECVTOS, 1);
	if (!err && rate &&
	    setsockopt(io->fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate,
		       sizeof(rate)))
		err = -errno;
	if (!err && p->rx == RX_GRO)
		err = set_int(io->fd, IPPROTO_UDP, UDP_GRO, 1);
	return err;
}

/**
 * io_socket - make a UDP socket with its options and buffers
 * @io: zeroed
 * @p: parameters
 * @local: address to bind
 * @len: its size
 *
 * Return: 0 or a negative errno; io_stop() is safe after either.
 */
int io_socket(struct io *io, const struct params *p,
	      const struct sockaddr *local, socklen_t len)
{
	int err;

	io->ipv6 = local->sa_family == AF_INET6;
	io->ecn = p->ecn;
	io->raw = p->raw;
	io->fd = socket(local->sa_family,
			SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (io->fd < 0)
		return -errno;
	err = set_buffers(io, p);
	if (!err)
		err = set_options(io, p);
	if (!err && bind(io->fd, local, len))
		err = -errno;
	return err;
}

int io_connect(struct io *io, const struct sockaddr *remote, socklen_t len)
{
	return connect(io->fd, remote, len) ? -errno : 0;
}

static const struct io_ops *const tx_ops[] = {
	[TX_SUPER] = &io_super, [TX_SEGMENT] = &io_segment,
	[TX_MMSG] = &io_mmsg, [TX_SINGLE] = &io_single,
};

static const struct io_ops *const rx_ops[] = {
	[RX_SUPER] = &io_super, [RX_GRO] = &io_segment,
	[RX_MMSG] = &io_mmsg, [RX_SINGLE] = &io_single,
};

static void alloc_mmsg(struct io *io)
{
	struct msghdr *h;
	unsigned int i;

	io->mmsg = xcalloc(QOFF_MAX_SEGS, sizeof(*io->mmsg));
	io->mmsg_iov = xcalloc(QOFF_MAX_SEGS, sizeof(*io->mmsg_iov));
	io->mmsg_control = xcalloc(QOFF_MAX_SEGS, MMSG_CONTROL);
	for (i = 0; i < QOFF_MAX_SEGS; i++) {
		h = &io->mmsg[i].msg_hdr;
		h->msg_iov = &io->mmsg_iov[i];
		h->msg_iovlen = 1;
	}
}

static int attach(struct io *io, const struct io_config *c)
{
	struct sockaddr_storage local = {}, remote = {};
	socklen_t len = sizeof(local), rlen = sizeof(remote);
	struct qoff_flow_param flow = {
		.local = (struct sockaddr *)&local,
		.remote = (struct sockaddr *)&remote,
		.dcid = c->dcid,
		.dcid_len = c->p->dcid_len,
		.keys = c->p->raw || c->no_rx_key ? NULL : &c->rx->keys,
		.cookie = c->cookie,
		.largest_pn = QOFF_PN_NONE,
	};
	struct qoff_ctx_param ctx = {
		.keys = &c->tx->keys,
		.dcid_len = c->p->dcid_len,
	};
	int err;

	if (getsockname(io->fd, (struct sockaddr *)&local, &len) ||
	    getpeername(io->fd, (struct sockaddr *)&remote, &rlen))
		return -errno;
	io->q = qoff_open(c->p->offload);
	if (!io->q) {
		err = -errno;
		warnx("libqoff: %s", qoff_error());
		return err;
	}
	err = qoff_attach(io->q, io->fd, -1, c->p->dcid_len, 0, &io->s);
	if (!err)
		err = qoff_flow_add(io->s, &flow, &io->flow);
	if (!err && !io->raw && !c->no_tx_key) {
		err = qoff_ctx_add(io->s, &ctx, &io->ctx);
		io->has_ctx = !err;
	}
	if (err)
		warnx("libqoff: %s (%s)", qoff_error(), strerror(-err));
	return err;
}

/**
 * io_start - keys, buffers and, in super mode, the attach
 * @io: connected
 * @c: what the connection has; not kept
 *
 * Return: 0 or a negative errno, -EOPNOTSUPP when the kernel lacks the module.
 */
int io_start(struct io *io, const struct io_config *c)
{
	int err;

	io->tx = tx_ops[c->p->mode];
	io->rx = rx_ops[c->p->rx];
	io->max_dgram = params_max_dgram(c->p, io->ipv6);
	io->tx_pn_off = 1 + c->p->dcid_len;
	io->rx_pn_off = 1 + c->p->dcid_len;
	io->rx_buf = xcalloc(QOFF_MAX_SEGS, max_t(u32, io->max_dgram, 2048));
	if (io->tx == &io_mmsg || io->rx == &io_mmsg)
		alloc_mmsg(io);
	if (io->tx == &io_super) {
		io->qb = xcalloc(1, sizeof(*io->qb));
		err = attach(io, c);
		if (err)
			return err;
	}
	if (io->has_ctx || c->no_tx_key)
		return 0;
	io->seal = qoff_cipher_new(&c->tx->keys);
	return io->seal ? 0 : -errno;
}

/* The last super-packet sent stays good: libqoff and kernel see to that. */
void io_stop(struct io *io)
{
	qoff_detach(io->s);
	qoff_close(io->q);
	qoff_cipher_free(io->seal);
	if (io->fd > 0)
		close(io->fd);
	free(io->rx_buf);
	free(io->qb);
	free(io->mmsg);
	free(io->mmsg_iov);
	free(io->mmsg_control);
	memset(io, 0, sizeof(*io));
}

/* The same packet number must never be sealed twice: remember it in the batch. */
static int seal_batch(struct io *io, struct tx_batch *b)
{
	u8 *p = b->buf;
	unsigned int i;
	int err;

	for (i = 0; i < b->n; i++) {
		err = qoff_seal(io->seal, p, b->seg[i].len, io->tx_pn_off,
				b->pn + i);
		if (err)
			return err;
		p += b->seg[i].len;
	}
	b->sealed = true;
	return 0;
}

/**
 * io_send - send what is left of a batch
 * @io: socket
 * @b: batch
 *
 * Return: 0 when all left, -EAGAIN when the rest has to wait for room (call again
 * with the same batch), another negative errno otherwise.
 */
int io_send(struct io *io, struct tx_batch *b)
{
	int err;

	if (io->seal && !b->sealed) {
		err = seal_batch(io, b);
		if (err)
			return err;
	}
	return io->tx->send(io, b);
}

/**
 * io_recv - receive packets
 * @io: socket
 * @b: result; its packets stay valid until the next call
 *
 * Return: number of packets, -EAGAIN when there are none, another negative errno.
 */
int io_recv(struct io *io, struct rx_batch *b)
{
	int ret;

	io_rx_reset(b);
	io->stats.recv_calls++;
	ret = io->rx->recv(io, b);
	if (ret == -EAGAIN)
		io->stats.recv_again++;
	else if (ret > 0)
		io->stats.batches++;
	return ret;
}

int io_tx_update(struct io *io, const struct key_dir *d)
{
	struct qoff_cipher *seal;

	if (io->has_ctx)
		return qoff_ctx_update(io->s, io->ctx, d->gen & 1, &d->keys);
	seal = qoff_cipher_new(&d->keys);
	if (!seal)
		return -errno;
	qoff_cipher_free(io->seal);
	io->seal = seal;
	return 0;
}

/* Without a flow that has keys, the opener of this process is all there is. */
int io_rx_update(struct io *io, const struct key_dir *d, u64 largest)
{
	if (!io->s || io->raw)
		return 0;
	/* The slot may hold the key before the last still. */
	qoff_flow_retire(io->s, io->flow, d->gen & 1);
	return qoff_flow_update(io->s, io->flow, &d->keys, d->gen & 1, d->gen,
				largest);
}

void io_rx_retire(struct io *io, unsigned int phase)
{
	if (io->s && !io->raw)
		qoff_flow_retire(io->s, io->flow, phase);
}

/* ENOBUFS is a full queue below: for a sender the same as a full socket. */
int io_errno(int err)
{
	return err == EAGAIN || err == ENOBUFS || err == EINTR ? -EAGAIN : -err;
}

void io_rx_reset(struct rx_batch *b)
{
	memset(b, 0, offsetof(struct rx_batch, pkt));
}

/* Adds a datagram that nobody opened yet. */
void io_rx_add(struct io *io, struct rx_batch *b, u8 *data, size_t len, u8 tos)
{
	struct rx_pkt *pkt = &b->pkt[b->n++];

	*pkt = (struct rx_pkt) {
		.data = data,
		.len = len,
		.tos = tos,
		.status = len && data[0] & 0x80 ? QOFF_RX_LONG_HEADER :
						  QOFF_RX_NO_KEY,
	};
	io->stats.dgrams_in++;
	io->stats.bytes_in += len;
}

int io_cmsg_int(const struct msghdr *msg, int level, int type, int *val)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR((struct msghdr *)msg, c)) {
		if (c->cmsg_level != level || c->cmsg_type != type)
			continue;
		*val = 0;
		memcpy(val, CMSG_DATA(c), min(c->cmsg_len - CMSG_LEN(0),
					      sizeof(*val)));
		return 0;
	}
	return -ENOENT;
}

u8 io_cmsg_tos(struct io *io, const struct msghdr *msg)
{
	int tos = 0;

	if (!io->ecn)
		return 0;
	/* IP_TOS is one byte, IPV6_TCLASS an int. */
	if (io->ipv6)
		io_cmsg_int(msg, IPPROTO_IPV6, IPV6_TCLASS, &tos);
	else
		io_cmsg_int(msg, IPPROTO_IP, IP_TOS, &tos);
	return tos;
}

/* After packets of the batch were opened here: what a record would have said. */
void io_rx_aggregate(struct rx_batch *b)
{
	bool ordered = true;
	unsigned int i;
	u64 last = 0;

	b->nopened = 0;
	b->ect0 = 0;
	b->ect1 = 0;
	b->ce = 0;
	for (i = 0; i < b->n; i++) {
		const struct rx_pkt *pkt = &b->pkt[i];

		if (pkt->status != QOFF_RX_OPENED)
			continue;
		if (!b->nopened++) {
			b->pn_min = pkt->pn;
			b->pn_largest = pkt->pn;
		} else {
			ordered &= pkt->pn == last + 1;
			b->pn_min = min(b->pn_min, pkt->pn);
			b->pn_largest = max(b->pn_largest, pkt->pn);
		}
		last = pkt->pn;
		b->ect1 += (pkt->tos & 3) == 1;
		b->ect0 += (pkt->tos & 3) == 2;
		b->ce += (pkt->tos & 3) == 3;
	}
	/* Weaker than the kernel's flag, which also sees a permutation. */
	b->flags &= ~QOFF_RX_CONTIGUOUS;
	if (b->nopened && ordered)
		b->flags |= QOFF_RX_CONTIGUOUS;
}
