// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Super-packets by way of libqoff: one call a batch, in both directions. */
#include <errno.h>
#include <sys/uio.h>

#include "io.h"

static int super_send(struct io *io, struct tx_batch *b)
{
	struct iovec iov = { .iov_base = b->buf, .iov_len = b->bytes };
	struct qoff_tx_msg m = {
		.ctx = io->ctx,
		.pn = b->pn,
		.segs = b->seg,
		.nseg = b->n,
		.flags = io->has_ctx ? 0 : QOFF_TX_RAW,
		.iov = &iov,
		.iovlen = 1,
		.tos = -1,
	};
	ssize_t ret;

	io->stats.send_calls++;
	ret = qoff_send(io->s, &m, MSG_DONTWAIT);
	if (ret < 0) {
		ret = io_errno(-ret);
		io->stats.send_again += ret == -EAGAIN;
		return ret;
	}
	io->stats.sends++;
	io->stats.dgrams_out += b->n;
	io->stats.bytes_out += b->bytes;
	b->done = b->n;
	b->done_bytes = b->bytes;
	return 0;
}

static int super_recv(struct io *io, struct rx_batch *b)
{
	struct qoff_batch *qb = io->qb;
	struct qoff_iter it = {};
	struct qoff_packet p;
	int ret;

	qb->data = io->rx_buf;
	qb->size = IO_BUF_SIZE;
	ret = qoff_recv(io->s, qb, MSG_DONTWAIT);
	if (ret < 0)
		return io_errno(-ret);

	while (b->n < QOFF_MAX_SEGS && qoff_next(qb, &it, &p)) {
		b->pkt[b->n++] = (struct rx_pkt) {
			.data = p.data,
			.len = p.len,
			.status = p.seg->status,
			.tos = p.seg->tos,
			.hdr_len = p.seg->hdr_len,
			.pn_len = p.seg->pn_len,
			.key_gen = p.seg->key_gen,
			.pn = p.seg->pn,
		};
	}
	b->flags = qb->rx.flags;
	b->nopened = qb->rx.nopened;
	b->ect0 = qb->rx.ect0;
	b->ect1 = qb->rx.ect1;
	b->ce = qb->rx.ce;
	b->pn_min = qb->rx.pn_min;
	b->pn_largest = qb->rx.pn_largest;
	io->stats.dgrams_in += b->n;
	io->stats.bytes_in += qb->len;
	return b->n;
}

const struct io_ops io_super = {
	.send = super_send,
	.recv = super_recv,
};
