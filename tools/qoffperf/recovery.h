/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Loss detection and congestion control of one packet number space, RFC 9002. */
#ifndef QOFFPERF_RECOVERY_H
#define QOFFPERF_RECOVERY_H

#include "frame.h"

/* What a packet carried: a piece of the stream. */
struct sent_data {
	u64 off;
	u32 len;
	bool fin;
};

enum sent_state {
	SENT_NONE,		/* not tracked: carried no ack-eliciting frame */
	SENT_IN_FLIGHT,
	SENT_LOST,		/* declared lost; a late ACK still counts */
	SENT_ACKED,
};

struct sent {
	u64 time;
	struct sent_data data;
	u16 size;
	u8 state;
};

struct recovery;

/**
 * struct recovery_ops - who owns the data
 * @acked: a piece arrived. Pieces that follow one another come as one call
 * @lost: a piece has to be sent again in a new packet
 */
struct recovery_ops {
	void (*acked)(void *priv, u64 off, u64 len, bool fin);
	void (*lost)(void *priv, const struct sent_data *data);
};

enum cc_algo {
	CC_NEWRENO,
	CC_FIXED,
};

/**
 * struct recovery - sent packets and what their ACKs tell
 * @ring: sent packets, indexed by packet number
 * @mask: size of @ring less 1
 * @next_pn: next packet number to use
 * @oldest: below it no packet is tracked any more
 * @largest_acked: valid if @any_acked
 * @in_flight: bytes
 * @cwnd: congestion window, at most @cwnd_max
 * @recovery_start: losses of packets sent before it do not halve again
 * @last_sent: time of the newest ack-eliciting packet, for the PTO
 * @loss_time: when the time threshold declares the next loss, 0 for never
 * @pto_count: consecutive timeouts
 */
struct recovery {
	const struct recovery_ops *ops;
	void *priv;

	struct sent *ring;
	u64 mask;
	u64 next_pn;
	u64 oldest;
	u64 largest_acked;
	bool any_acked;

	u64 in_flight;
	u64 cwnd;
	u64 cwnd_max;
	u64 ssthresh;
	u64 recovery_start;
	enum cc_algo cc;
	u32 max_dgram;

	u64 last_sent;
	u64 loss_time;
	unsigned int pto_count;
	u64 srtt, rttvar, latest_rtt, min_rtt;
	u64 max_ack_delay;

	/* counters */
	u64 packets_lost;
	u64 spurious;
	u64 ptos;
};

struct recovery_params {
	const struct recovery_ops *ops;
	void *priv;
	enum cc_algo cc;
	u32 max_dgram;
	u64 cwnd_max;
	u64 max_ack_delay;
};

void recovery_init(struct recovery *r, const struct recovery_params *p);
void recovery_free(struct recovery *r);

u64 recovery_allowance(const struct recovery *r);
unsigned int recovery_ring_room(const struct recovery *r);
u64 recovery_sent(struct recovery *r, u64 now, u16 size,
		  const struct sent_data *data);
int recovery_ack(struct recovery *r, struct frame_ack *ack, u64 now,
		 u64 ack_delay);
u64 recovery_deadline(const struct recovery *r);
bool recovery_timeout(struct recovery *r, u64 now);
const struct sent_data *recovery_probe(const struct recovery *r);

#endif /* QOFFPERF_RECOVERY_H */
