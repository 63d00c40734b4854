/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef QOFFPERF_CONN_H
#define QOFFPERF_CONN_H

#include "io.h"
#include "recovery.h"
#include "stream.h"

#define ACK_DELAY_EXPONENT	3			/* RFC 9000 section 18.2 */
#define MAX_ACK_DELAY		(25 * NSEC_PER_MSEC)	/* likewise */
#define ACK_RANGES		32	/* reported per ACK frame */

struct conn_stats {
	u64 packets_sent;	/* QUIC packets with data */
	u64 acks_sent;
	u64 acks_received;
	u64 probes;
	u64 key_updates;	/* by us */
	u64 key_updates_seen;	/* by the peer */
	u64 raw_opened;		/* came raw, opened here */
	u64 open_failed;
	u64 duplicates;
	u64 bad_packets;	/* authentic, but not what we speak */
	u64 close_received;
};

/**
 * struct conn - one QUIC connection after its handshake
 * @sender: it sends the stream; the other end only acknowledges
 * @rx_pns: packet numbers received
 * @rx_largest: largest of them, QOFF_PN_NONE before the first
 * @rx_largest_time: when it came
 * @ack_pending: ack-eliciting packets since the last ACK left
 * @ack_now: an ACK is due at the end of this batch
 * @ack_deadline: and at this time in any case, 0 if none is owed
 * @phase_pn: first packet number of the present sending key
 * @phase_sent: packets sent with it
 * @phase_acked: one of them was acknowledged, so a further update is allowed
 * @retire_time: when the receiving key before the present one goes, 0: never
 * @out: packets that wait for room in the socket, or the next batch
 * @probe: a PTO asks for a packet beyond the window
 * @want_write: poll for room
 * @progress: time of the last sign of life
 * @error: negative errno that ended it
 */
struct conn {
	const struct params *p;
	struct io io;
	struct key_dir tx_keys;
	struct key_dir rx_keys;
	struct opener opener;
	u8 dcid[QOFF_MAX_DCID];		/* ours */
	u8 peer_dcid[QOFF_MAX_DCID];

	bool sender;
	struct stream_tx tx;
	struct stream_rx rx;
	struct recovery rec;
	bool wide_off;
	u64 mix_state;
	u32 max_dgram;
	u32 next_len;

	struct ranges rx_pns;
	u64 rx_largest;
	u64 rx_largest_time;
	struct ecn_counts ecn;
	unsigned int ack_pending;
	bool ack_now;
	u64 ack_deadline;

	u64 phase_pn;
	u64 phase_sent;
	bool phase_acked;
	u64 retire_time;

	struct tx_batch out;
	struct rx_batch in;
	bool probe;
	bool want_write;
	bool closed;
	u64 progress;
	int error;
	struct conn_stats stats;
};

struct conn_config {
	const struct params *p;
	bool sender;
	const u8 *tx_secret;
	const u8 *rx_secret;
	const u8 *dcid;
	const u8 *peer_dcid;
	const struct source *src;	/* sender */
	int fd;				/* receiver: file or -1 */
	u64 base;
	u64 size;
	u64 id;
};

/* conn.c: the socket in c->io is connected. */
int conn_start(struct conn *c, const struct conn_config *cfg);
void conn_free(struct conn *c);
void conn_readable(struct conn *c);
void conn_writable(struct conn *c);
void conn_timer(struct conn *c, u64 now);
u64 conn_deadline(const struct conn *c);
bool conn_done(const struct conn *c);
void conn_fail(struct conn *c, int err);
void conn_close(struct conn *c);

/* conn_tx.c */
void conn_push(struct conn *c, u64 now);
int conn_send_close(struct conn *c, u64 now);

/* conn_rx.c */
void conn_input(struct conn *c, u64 now);

#endif /* QOFFPERF_CONN_H */
