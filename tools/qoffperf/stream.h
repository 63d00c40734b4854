/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The one stream of a connection: where its bytes come from and go to. */
#ifndef QOFFPERF_STREAM_H
#define QOFFPERF_STREAM_H

#include <sys/uio.h>

#include "params.h"
#include "recovery.h"

#define SHA256_LEN	32

/**
 * struct source - the payload
 * @base: bytes; offset i of the test is @base[i % @period]
 * @period: bytes at @base
 * @map: mapped file, else generated memory
 */
struct source {
	u8 *base;
	u64 period;
	bool map;
};

int source_open(struct source *s, const char *file, u64 *bytes, u64 seed);
void source_close(struct source *s);
void source_copy(const struct source *s, u64 off, u8 *dst, size_t len);
void source_hash(const struct source *s, u64 off, u64 len,
		 u8 hash[SHA256_LEN]);

/**
 * struct stream_tx - the sending side
 * @src: payload
 * @base: offset of this connection's part in the payload
 * @size: bytes to send
 * @next: first byte never sent
 * @window: bytes that may lie between the first unacknowledged byte and the
 *	last one sent. The receiver keeps as much, so no MAX_DATA is needed
 * @acked: bytes that arrived
 * @lost: bytes to send again; disjoint from @acked
 * @fin_acked: the end arrived
 * @fin_lost: only the end has to be sent again
 * @retransmits: packets that repeat something
 * @retransmitted: bytes sent more than once
 */
struct stream_tx {
	const struct source *src;
	u64 base;
	u64 size;
	u64 next;
	u64 window;
	struct ranges acked;
	struct ranges lost;
	bool fin_sent;
	bool fin_acked;
	bool fin_lost;
	u64 retransmits;
	u64 retransmitted;
};

void stream_tx_init(struct stream_tx *s, const struct source *src, u64 base,
		    u64 size, u64 window);
void stream_tx_free(struct stream_tx *s);
u64 stream_tx_pending(const struct stream_tx *s);
bool stream_tx_take(struct stream_tx *s, size_t room, struct sent_data *d);
bool stream_tx_done(const struct stream_tx *s);
void stream_tx_acked(struct stream_tx *s, u64 off, u64 len, bool fin);
void stream_tx_lost(struct stream_tx *s, const struct sent_data *d);

#define RX_IOV_MAX	160	/* more than the packets of one batch */

/**
 * struct stream_rx - the receiving side
 * @size: bytes that will come
 * @window: bytes beyond the first missing one that are accepted
 * @have: bytes that arrived
 * @fd: file to store into at @base, -1 for none
 * @iov: pieces of the present batch, in order, not yet stored
 * @iov_off: offset of the first
 * @iov_len: bytes of all
 * @ring: without a file: bytes behind a gap wait here (@window bytes)
 * @hash: running SHA-256 of what is before the first gap (HASH_INLINE)
 * @hashed: how far it is
 * @hash_ns: time spent on it
 * @writes: calls of pwritev()
 */
struct stream_rx {
	u64 size;
	u64 base;
	u64 window;
	struct ranges have;
	bool fin;
	int fd;
	struct iovec iov[RX_IOV_MAX];
	unsigned int iov_n;
	u64 iov_off;
	u64 iov_len;
	u8 *ring;
	void *hash;
	u64 hashed;
	u64 hash_ns;
	u64 writes;
	u64 duplicate_bytes;
};

int stream_rx_init(struct stream_rx *s, u64 size, u64 window,
		   enum hash_mode hash, int fd, u64 base);
void stream_rx_free(struct stream_rx *s);
int stream_rx_data(struct stream_rx *s, const struct frame_stream *f);
int stream_rx_batch_end(struct stream_rx *s);
bool stream_rx_done(const struct stream_rx *s);
int stream_rx_hash(struct stream_rx *s, u8 hash[SHA256_LEN]);

#endif /* QOFFPERF_STREAM_H */
