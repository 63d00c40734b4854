/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How packets enter and leave the process. A batch of plain packets goes in; the
 * mode decides who seals it and how many calls it takes. What comes out has a
 * record per packet in every mode, so that the protocol above is the same.
 */
#ifndef QOFFPERF_IO_H
#define QOFFPERF_IO_H

#include <sys/socket.h>

#include <qoff.h>

#include "keys.h"
#include "params.h"

/* One super-packet's payload at most. An IPv4 datagram holds 65507 bytes; a packet
 * that a device coalesced is one with the records of its segments inside, so this
 * much goes through to the receiver in one piece.
 */
#define IO_BATCH_BYTES	62000
#define IO_BUF_SIZE	65536

/**
 * struct tx_batch - packets on their way out
 * @buf: the packets back to back, IO_BUF_SIZE bytes
 * @bytes: of all packets
 * @n: packets
 * @pn: number of the first; the others follow one by one
 * @sealed: they are sealed already (once: a packet number has one content)
 * @done: packets that left
 * @done_bytes: their bytes
 * @seg: lengths
 */
struct tx_batch {
	u8 *buf;
	size_t bytes;
	unsigned int n;
	u64 pn;
	bool sealed;
	unsigned int done;
	size_t done_bytes;
	struct qoff_tx_seg seg[QOFF_MAX_SEGS];
};

/* See &struct qoff_rx_seg; @status is raw until somebody opened the packet. */
struct rx_pkt {
	u8 *data;
	u64 pn;
	u32 key_gen;
	u16 len;
	u8 status;
	u8 tos;
	u8 hdr_len;
	u8 pn_len;
};

/* See &struct qoff_rx: the aggregates are over opened packets. */
struct rx_batch {
	unsigned int n;
	unsigned int nopened;
	u16 flags;
	u16 ect0, ect1, ce;
	u64 pn_min;
	u64 pn_largest;
	struct rx_pkt pkt[QOFF_MAX_SEGS];
};

struct io_stats {
	u64 send_calls;
	u64 send_again;		/* calls that found no room */
	u64 sends;		/* calls that sent */
	u64 dgrams_out;
	u64 bytes_out;
	u64 recv_calls;
	u64 recv_again;		/* calls that found nothing */
	u64 batches;		/* calls that brought packets */
	u64 dgrams_in;
	u64 bytes_in;
	u64 polls;
};

struct io;

struct io_ops {
	int (*send)(struct io *io, struct tx_batch *b);
	int (*recv)(struct io *io, struct rx_batch *b);
};

/**
 * struct io - one UDP socket
 * @ops: of the mode
 * @fd: connected, non-blocking
 * @ipv6: its family
 * @ecn: read the TOS of what comes in
 * @raw: super-packets are sent sealed
 * @q: libqoff, super modes only
 * @s: the attached socket, super modes only
 * @ctx: sending keys there, unless @raw
 * @flow: receiving keys there
 * @seal: sending keys here, when this process seals
 * @tx_pn_off: where the packet number starts in packets sent
 * @rx_pn_off: where it starts in packets received
 * @max_dgram: datagrams received are no longer
 */
struct io {
	const struct io_ops *tx;
	const struct io_ops *rx;
	int fd;
	bool ipv6;
	bool ecn;
	bool raw;
	struct qoff *q;
	struct qoff_sock *s;
	struct qoff_ctx_id ctx;
	bool has_ctx;
	u32 flow;
	struct qoff_cipher *seal;
	unsigned int tx_pn_off;
	unsigned int rx_pn_off;
	u32 max_dgram;

	u8 *rx_buf;
	struct qoff_batch *qb;
	struct mmsghdr *mmsg;
	struct iovec *mmsg_iov;
	u8 *mmsg_control;
	struct io_stats stats;
};

/* What a connection gives io_start(). */
struct io_config {
	const struct params *p;
	struct key_dir *tx;
	const struct key_dir *rx;
	const u8 *dcid;		/* ours, params.dcid_len bytes */
	u64 cookie;
	bool no_tx_key;		/* bench: send RAW without sealing */
	bool no_rx_key;		/* bench: deliver raw */
};

extern const struct io_ops io_super;
extern const struct io_ops io_segment;
extern const struct io_ops io_mmsg;
extern const struct io_ops io_single;

int io_socket(struct io *io, const struct params *p,
	      const struct sockaddr *local, socklen_t len);
int io_connect(struct io *io, const struct sockaddr *remote, socklen_t len);
int io_start(struct io *io, const struct io_config *c);
void io_stop(struct io *io);

int io_send(struct io *io, struct tx_batch *b);
int io_recv(struct io *io, struct rx_batch *b);

int io_tx_update(struct io *io, const struct key_dir *d);
int io_rx_update(struct io *io, const struct key_dir *d, u64 largest);
void io_rx_retire(struct io *io, unsigned int phase);

/* Shared by the modes. */
int io_errno(int err);
void io_rx_reset(struct rx_batch *b);
void io_rx_add(struct io *io, struct rx_batch *b, u8 *data, size_t len, u8 tos);
int io_cmsg_int(const struct msghdr *msg, int level, int type, int *val);
u8 io_cmsg_tos(struct io *io, const struct msghdr *msg);
void io_rx_aggregate(struct rx_batch *b);

#endif /* QOFFPERF_IO_H */
