/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * libqoff-ngtcp2: an unpatched ngtcp2 on libqoff.
 *
 * ngtcp2 builds a packet, calls back to seal it, and calls back once more for the
 * mask of its header. This library answers both without doing anything when the
 * packet will be sealed below (by the kernel, a device, or libqoff in this process):
 * what ngtcp2 has written then is what qoff_send() takes. Receiving is the mirror of
 * it: an opened packet gets an empty mask and a "decryption" that copies.
 *
 * What keeps plaintext from leaving by accident: sealing is put off only for a packet
 * that is being written into the socket's batch by qng_writev_stream() or
 * qng_write_close(), and the batch is sent by qng_flush() alone, with the context's
 * name on it. Packets that the library writes in any other way are sealed at once.
 *
 * Use
 *
 *   1. qng_sock_new() for each socket, attached to libqoff or plain.
 *   2. Before ngtcp2_conn_*_new(): qng_conn_new(), and qng_callbacks() on the callbacks.
 *      The user data of the connection must begin with a struct qng_conn pointer.
 *   3. After it: qng_conn_bind().
 *   4. TLS key log lines to qng_keylog() as they come.
 *   5. qng_cid_add() and qng_cid_del() from get_new_connection_id and
 *      remove_connection_id, and for the first connection ID.
 *   6. qng_recv() gives packets, qng_read_pkt() feeds one, qng_writev_stream() and
 *      qng_flush() send.
 *   7. qng_conn_free() before ngtcp2_conn_del().
 *
 * Contexts and flows are installed when the handshake has completed; before that, on
 * a change of path, and when the system refuses one, ngtcp2's own crypto does the
 * work. Nothing here blocks, logs, or keeps a key longer than its connection. A socket
 * and its connections belong to one thread.
 */
#ifndef QOFF_NGTCP2_H
#define QOFF_NGTCP2_H

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <qoff.h>

struct qng_sock;
struct qng_conn;

/* A write that found no room in the batch: flush, then call again. */
#define QNG_ERR_FULL	(-9001)

/**
 * struct qng_stats - what a socket did
 * @tx_calls: system calls that sent
 * @tx_again: of them, those that found no room
 * @tx_super: super-packets of more than one packet
 * @tx_dgrams: datagrams
 * @tx_bytes: their bytes
 * @tx_deferred: 1-RTT packets that went out unsealed, to be sealed below
 * @tx_sealed_here: 1-RTT packets that ngtcp2 sealed
 * @tx_lost: datagrams that a failed send lost
 * @rx_calls: system calls that received
 * @rx_again: of them, those that found nothing
 * @rx_batches: receives of at least one packet
 * @rx_dgrams: datagrams
 * @rx_bytes: their bytes
 * @rx_opened: packets that were opened below
 * @rx_failed: packets that failed to open below
 * @contexts: sending contexts installed so far
 * @flows: receiving flows installed so far
 * @refused: contexts and flows that were refused, or were given up
 * @key_updates: sending keys installed after the first
 */
struct qng_stats {
	uint64_t tx_calls;
	uint64_t tx_again;
	uint64_t tx_super;
	uint64_t tx_dgrams;
	uint64_t tx_bytes;
	uint64_t tx_deferred;
	uint64_t tx_sealed_here;
	uint64_t tx_lost;
	uint64_t rx_calls;
	uint64_t rx_again;
	uint64_t rx_batches;
	uint64_t rx_dgrams;
	uint64_t rx_bytes;
	uint64_t rx_opened;
	uint64_t rx_failed;
	uint64_t contexts;
	uint64_t flows;
	uint64_t refused;
	uint64_t key_updates;
};

/**
 * enum qng_mode - how a socket is used
 * @QNG_OFFLOAD: super-packets, sealed and opened below
 * @QNG_RAW: super-packets, sealed and opened by ngtcp2
 * @QNG_PLAIN: no libqoff: one datagram a system call, sealed and opened by ngtcp2
 */
enum qng_mode {
	QNG_OFFLOAD,
	QNG_RAW,
	QNG_PLAIN,
};

/**
 * qng_sock_new() - a socket with its batch
 * @mode: how it is used
 * @s: attached socket, NULL with QNG_PLAIN; stays the caller's
 * @fd: the socket itself, non-blocking and bound
 *
 * On a socket that is bound to no one address IP_PKTINFO is switched on.
 *
 * Return: the socket; NULL and errno.
 */
struct qng_sock *qng_sock_new(enum qng_mode mode, struct qoff_sock *s, int fd);

/** qng_sock_free() - free it; its connections must be gone. @s may be NULL */
void qng_sock_free(struct qng_sock *s);

/** qng_sock_stats() - its counters, valid as long as it is */
const struct qng_stats *qng_sock_stats(const struct qng_sock *s);

/**
 * qng_conn_new() - the binding's half of a connection
 * @s: its socket
 * @server: which side this is
 *
 * Return: to be given to qng_conn_free(); NULL: no memory.
 */
struct qng_conn *qng_conn_new(struct qng_sock *s, bool server);

/**
 * qng_callbacks() - set the callbacks that are the binding's
 * @cb: encrypt, decrypt, hp_mask, update_key, delete_crypto_aead_ctx are set
 */
void qng_callbacks(ngtcp2_callbacks *cb);

/** qng_conn_bind() - tell the binding its connection */
void qng_conn_bind(struct qng_conn *c, ngtcp2_conn *conn);

/**
 * qng_conn_free() - remove contexts and flows, overwrite keys
 * @c: connection or NULL
 *
 * What waits in the batch for room is dropped.
 */
void qng_conn_free(struct qng_conn *c);

/**
 * qng_conn_move() - use another socket from now on (a client's new address)
 * @c: connection
 * @s: socket, attached with the old one as join_fd: they share keys
 */
void qng_conn_move(struct qng_conn *c, struct qng_sock *s);

/**
 * qng_keylog() - take what the binding needs of a line of the TLS key log
 * @c: connection
 * @line: as the TLS library gives it, without newline
 * @suite: the TLS 1.3 cipher suite, as in the hello messages (0x1301 ...)
 */
void qng_keylog(struct qng_conn *c, const char *line, uint16_t suite);

/** qng_cid_add() - a connection ID that the peer may send to. Return: 0, -EEXIST, -ENOMEM */
int qng_cid_add(struct qng_conn *c, const ngtcp2_cid *cid);

/** qng_cid_del() - one that it will not send to any more */
void qng_cid_del(struct qng_conn *c, const ngtcp2_cid *cid);

/**
 * qng_writev_stream() - ngtcp2_conn_writev_stream() into the batch
 *
 * Return: as that one; QNG_ERR_FULL when the batch has no room. A packet for another
 * path than the last is fine.
 */
ngtcp2_ssize qng_writev_stream(struct qng_conn *c, ngtcp2_ssize *pdatalen, uint32_t flags,
			       int64_t stream_id, const ngtcp2_vec *datav, size_t datavcnt,
			       ngtcp2_tstamp ts);

/** qng_write_close() - ngtcp2_conn_write_connection_close() into the batch */
ngtcp2_ssize qng_write_close(struct qng_conn *c, const ngtcp2_ccerr *ccerr, ngtcp2_tstamp ts);

/**
 * qng_write_raw() - a datagram that belongs to no connection (Retry, stateless reset)
 * @s: socket
 * @path: local and remote address
 * @data: bytes, a finished datagram
 * @len: how many
 *
 * Return: 0, QNG_ERR_FULL.
 */
int qng_write_raw(struct qng_sock *s, const ngtcp2_path *path, const void *data, size_t len);

/** qng_batch_len() - bytes in the batch */
size_t qng_batch_len(const struct qng_sock *s);

/**
 * qng_flush() - send the batch
 * @s: socket
 *
 * Packets that find no room stay, as they are and with their packet numbers. Packets
 * that fail are lost, as on the way; ngtcp2 will see to it.
 *
 * Return: 0 when the batch is empty; -EAGAIN: poll for POLLOUT and call again, write
 * nothing before that.
 */
int qng_flush(struct qng_sock *s);

/**
 * struct qng_pkt - a received datagram
 * @data: bytes; valid until the next qng_recv()
 * @len: how many
 * @ecn: of its IP header
 * @path: addresses
 * @seg: what happened to it below; NULL: nothing
 */
struct qng_pkt {
	const uint8_t *data;
	size_t len;
	uint8_t ecn;
	ngtcp2_path path;
	const struct qoff_rx_seg *seg;
};

/**
 * qng_recv() - receive a batch
 * @s: socket
 * @fn: called for each datagram
 * @arg: its argument
 *
 * Return: number of datagrams; a negative errno: -EAGAIN.
 */
int qng_recv(struct qng_sock *s, void (*fn)(const struct qng_pkt *p, void *arg), void *arg);

/** qng_read_pkt() - ngtcp2_conn_read_pkt() of a received datagram */
int qng_read_pkt(struct qng_conn *c, const struct qng_pkt *p, ngtcp2_tstamp ts);

#endif /* QOFF_NGTCP2_H */
