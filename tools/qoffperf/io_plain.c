// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What UDP sockets have without us: a call per datagram, sendmmsg/recvmmsg, and
 * UDP_SEGMENT/UDP_GRO. Packets are sealed and opened in this process.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/uio.h>

#include "io.h"

#define SEGMENT_MAX	64	/* UDP_MAX_SEGMENTS of kernels before 6.9 */
#define STRIDE(io)	max_t(u32, (io)->max_dgram, 2048)

static void sent(struct io *io, struct tx_batch *b, unsigned int n,
		 size_t bytes)
{
	io->stats.sends++;
	io->stats.dgrams_out += n;
	io->stats.bytes_out += bytes;
	b->done += n;
	b->done_bytes += bytes;
}

static int send_failed(struct io *io)
{
	int err = io_errno(errno);

	io->stats.send_again += err == -EAGAIN;
	return err;
}

static int single_send(struct io *io, struct tx_batch *b)
{
	ssize_t ret;

	while (b->done < b->n) {
		io->stats.send_calls++;
		ret = send(io->fd, b->buf + b->done_bytes, b->seg[b->done].len,
			   0);
		if (ret < 0)
			return send_failed(io);
		sent(io, b, 1, ret);
	}
	return 0;
}

/* Reads one message; @seg is the length of its datagrams, @tos their TOS. */
static ssize_t recv_one(struct io *io, u8 *buf, size_t size, int *seg, u8 *tos)
{
	union {
		char buf[2 * CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	ssize_t ret;

	if (seg || io->ecn) {
		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
	}
	ret = recvmsg(io->fd, &msg, 0);
	if (ret < 0)
		return io_errno(errno);
	if (msg.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	if (seg && io_cmsg_int(&msg, IPPROTO_UDP, UDP_GRO, seg))
		*seg = ret;
	*tos = io_cmsg_tos(io, &msg);
	return ret;
}

static int single_recv(struct io *io, struct rx_batch *b)
{
	ssize_t ret;
	u8 tos;

	ret = recv_one(io, io->rx_buf, STRIDE(io), NULL, &tos);
	if (ret < 0)
		return ret;
	io_rx_add(io, b, io->rx_buf, ret, tos);
	return 1;
}

static int mmsg_send(struct io *io, struct tx_batch *b)
{
	size_t bytes;
	unsigned int i, n;
	int ret;

	while (b->done < b->n) {
		u8 *p = b->buf + b->done_bytes;

		n = b->n - b->done;
		for (i = 0; i < n; i++) {
			io->mmsg_iov[i].iov_base = p;
			io->mmsg_iov[i].iov_len = b->seg[b->done + i].len;
			io->mmsg[i].msg_hdr.msg_control = NULL;
			io->mmsg[i].msg_hdr.msg_controllen = 0;
			p += b->seg[b->done + i].len;
		}
		io->stats.send_calls++;
		ret = sendmmsg(io->fd, io->mmsg, n, 0);
		if (ret < 0)
			return send_failed(io);
		for (i = 0, bytes = 0; i < ret; i++)
			bytes += io->mmsg_iov[i].iov_len;
		sent(io, b, ret, bytes);
	}
	return 0;
}

static int mmsg_recv(struct io *io, struct rx_batch *b)
{
	size_t stride = STRIDE(io);
	unsigned int i;
	int ret;

	for (i = 0; i < SEGMENT_MAX; i++) {
		struct msghdr *h = &io->mmsg[i].msg_hdr;

		io->mmsg_iov[i].iov_base = io->rx_buf + i * stride;
		io->mmsg_iov[i].iov_len = stride;
		h->msg_control = NULL;
		h->msg_controllen = 0;
		if (io->ecn) {
			h->msg_controllen = CMSG_SPACE(sizeof(int));
			h->msg_control = io->mmsg_control +
					 i * h->msg_controllen;
		}
	}
	ret = recvmmsg(io->fd, io->mmsg, SEGMENT_MAX, MSG_DONTWAIT, NULL);
	if (ret < 0)
		return io_errno(errno);
	for (i = 0; i < ret; i++)
		io_rx_add(io, b, io->mmsg_iov[i].iov_base, io->mmsg[i].msg_len,
			  io_cmsg_tos(io, &io->mmsg[i].msg_hdr));
	return ret;
}

/* Datagrams from @b->done that one UDP_SEGMENT call takes: equal, last shorter. */
static unsigned int segment_run(const struct tx_batch *b, size_t *bytes)
{
	const struct qoff_tx_seg *seg = b->seg + b->done;
	unsigned int n = b->n - b->done, i;

	n = min_t(unsigned int, n, SEGMENT_MAX);
	*bytes = seg[0].len;
	for (i = 1; i < n; i++) {
		if (seg[i].len > seg[0].len ||
		    *bytes + seg[i].len > IO_BATCH_BYTES)
			break;
		*bytes += seg[i].len;
		if (seg[i].len < seg[0].len)
			return i + 1;
	}
	return i;
}

static int segment_send(struct io *io, struct tx_batch *b)
{
	union {
		char buf[CMSG_SPACE(sizeof(u16))];
		struct cmsghdr align;
	} control = {};
	struct cmsghdr *c = &control.align;
	struct iovec iov;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	unsigned int n;
	size_t bytes;

	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(u16));
	while (b->done < b->n) {
		n = segment_run(b, &bytes);
		iov.iov_base = b->buf + b->done_bytes;
		iov.iov_len = bytes;
		/* One datagram needs no segmentation, and no device for it. */
		msg.msg_control = n > 1 ? control.buf : NULL;
		msg.msg_controllen = n > 1 ? sizeof(control.buf) : 0;
		memcpy(CMSG_DATA(c), &b->seg[b->done].len, sizeof(u16));
		io->stats.send_calls++;
		if (sendmsg(io->fd, &msg, 0) < 0)
			return send_failed(io);
		sent(io, b, n, bytes);
	}
	return 0;
}

static int gro_recv(struct io *io, struct rx_batch *b)
{
	size_t off, len;
	ssize_t ret;
	int seg;
	u8 tos;

	ret = recv_one(io, io->rx_buf, IO_BUF_SIZE, &seg, &tos);
	if (ret < 0)
		return ret;
	if (!ret)
		io_rx_add(io, b, io->rx_buf, 0, tos);
	for (off = 0; off < ret && b->n < QOFF_MAX_SEGS; off += len) {
		len = min_t(size_t, ret - off, max(seg, 1));
		io_rx_add(io, b, io->rx_buf + off, len, tos);
	}
	return b->n;
}

const struct io_ops io_single = {
	.send = single_send,
	.recv = single_recv,
};

const struct io_ops io_mmsg = {
	.send = mmsg_send,
	.recv = mmsg_recv,
};

const struct io_ops io_segment = {
	.send = segment_send,
	.recv = gro_recv,
};
