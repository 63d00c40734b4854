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
	unsigned int i;
	u8 *p;
	int ret;

	qb->data = io->rx_buf;
	qb->size = IO_BUF_SIZE;
	ret = qoff_recv(io->s, qb, MSG_DONTWAIT);
	if (ret < 0)
		return io_errno(-ret);

	/* qoff_next() in short: the buffer holds a whole super-packet, so that no
	 * packet is cut, and payloads are found elsewhere.
	 */
	p = io->rx_buf;
	for (i = 0; i < qb->rx.nseg; i++) {
		const struct qoff_rx_seg *seg = &qb->seg[i];

		b->pkt[i] = (struct rx_pkt) {
			.data = p,
			.len = seg->len,
			.status = seg->status,
			.tos = seg->tos,
			.hdr_len = seg->hdr_len,
			.pn_len = seg->pn_len,
			.key_gen = seg->key_gen,
			.pn = seg->pn,
		};
		p += seg->len;
	}
	b->n = i;
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
