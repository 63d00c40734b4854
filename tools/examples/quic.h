/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A QUIC connection that speaks HTTP/3: what client and server share.
 */
#ifndef H3_QUIC_H
#define H3_QUIC_H

#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>

#include "loop.h"
#include "tls.h"

struct quic;

/**
 * struct quic_ops - what the two sides do differently
 * @h3_ready: HTTP/3 may begin
 * @h3_callbacks: fill in the side's own
 * @can_open: client: streams may be opened
 * @cid_added: a connection ID that leads to the connection; 0 or a negative errno
 * @cid_removed: one that no longer does
 * @confirmed: the handshake is confirmed
 * @closed: the connection is over; may free it
 */
struct quic_ops {
	void (*h3_callbacks)(nghttp3_callbacks *cb);
	int (*can_open)(struct quic *q);
	int (*cid_added)(struct quic *q, const ngtcp2_cid *cid);
	void (*cid_removed)(struct quic *q, const ngtcp2_cid *cid);
	void (*confirmed)(struct quic *q);
	void (*closed)(struct quic *q);
};

/**
 * struct quic_conf - settings of all connections
 * @cid_len: bytes of our connection IDs
 * @max_udp: longest datagram to send
 * @no_pmtud: it is that long from the start
 * @window: flow control window of a connection
 * @stream_window: of a stream
 * @streams: requests that the peer may have open
 * @idle: idle time-out, ns
 * @handshake: handshake time-out, ns
 * @ack_thresh: ack-eliciting packets that an ACK may wait for
 * @cc: congestion control
 * @hold: wait for a larger window rather than send a small batch
 * @qlog_dir: where a qlog file of each connection goes, or NULL
 * @reset_key: secret of our stateless reset tokens
 */
struct quic_conf {
	unsigned int cid_len;
	unsigned int max_udp;
	bool no_pmtud;
	uint64_t window;
	uint64_t stream_window;
	uint64_t streams;
	uint64_t idle;
	uint64_t handshake;
	unsigned int ack_thresh;
	ngtcp2_cc_algo cc;
	bool hold;
	const char *qlog_dir;
	uint8_t reset_key[32];
};

/**
 * struct quic - a connection
 * @qng: the binding's half; must come first
 * @conn: ngtcp2's half
 * @h3: nghttp3's half, NULL before its time
 * @tls: TLS
 * @ref: leads ngtcp2's TLS glue to @conn
 * @ops: the side
 * @conf: settings
 * @ep: its socket
 * @err: why it ends
 * @timer: its place in the loop
 * @server: which side
 * @over: it has ended
 * @qlog: file or NULL
 * @started: when it was made
 * @completed: when the handshake was done, or 0
 * @acked_batches: receives since the last write
 */
struct quic {
	struct qng_conn *qng;
	ngtcp2_conn *conn;
	nghttp3_conn *h3;
	struct tls *tls;
	ngtcp2_crypto_conn_ref ref;
	const struct quic_ops *ops;
	const struct quic_conf *conf;
	struct endpoint *ep;
	ngtcp2_ccerr err;
	struct loop_entry timer;
	bool server;
	bool over;
	void *qlog;
	uint64_t started;
	uint64_t completed;
};

void quic_conf_init(struct quic_conf *conf);

/* --cc: cubic, reno or bbr. Dies otherwise. */
ngtcp2_cc_algo quic_parse_cc(const char *word);

/* A fresh connection ID of ours with its stateless reset token. */
void quic_new_cid(const struct quic_conf *conf, ngtcp2_cid *cid, uint8_t *token);

/**
 * quic_init() - callbacks, settings and parameters before ngtcp2_conn_*_new()
 * @q: zeroed but for ops, conf, ep and server
 * @cb: result
 * @settings: result
 * @params: result
 *
 * Return: 0, -ENOMEM.
 */
int quic_init(struct quic *q, ngtcp2_callbacks *cb, ngtcp2_settings *settings,
	      ngtcp2_transport_params *params);
/* After it. Takes @tls. */
void quic_start(struct quic *q, ngtcp2_conn *conn, struct tls *tls);
/* Frees all but @q itself. */
void quic_fini(struct quic *q);

void quic_read(struct quic *q, const struct qng_pkt *p);
/* Ends it with an HTTP/3 error, as soon as there is room. */
void quic_close(struct quic *q, uint64_t app_error);

/* Where SSLKEYLOGFILE points, opened once. */
void quic_keylog_open(void);

/* Statistics of a connection when it ends are added here. */
struct quic_totals {
	uint64_t connections;
	uint64_t handshakes;
	uint64_t pkts_sent;
	uint64_t pkts_received;
	uint64_t pkts_lost;
	uint64_t pkts_discarded;
	uint64_t errors;
};

extern struct quic_totals quic_totals;

#endif /* H3_QUIC_H */
