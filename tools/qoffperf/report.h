/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef QOFFPERF_REPORT_H
#define QOFFPERF_REPORT_H

#include <stdio.h>

#include "ctrl.h"
#include "params.h"

/* What one end counted. All u64, so that one table (report.c) describes it. */
struct side {
	u64 ns;			/* start to last byte received */
	u64 cpu_user_us;
	u64 cpu_system_us;
	u64 bytes;		/* of the stream */
	u64 packets;		/* QUIC packets with data that were sent */
	u64 dgrams_sent;
	u64 dgrams_received;
	u64 bytes_sent;		/* UDP payload */
	u64 bytes_received;
	u64 sends;
	u64 batches;
	u64 send_calls;
	u64 send_again;
	u64 recv_calls;
	u64 recv_again;
	u64 polls;
	u64 file_writes;
	u64 acks_sent;
	u64 acks_received;
	u64 lost;
	u64 spurious;
	u64 timeouts;
	u64 retransmits;	/* packets that repeat something */
	u64 retransmitted_bytes;
	u64 duplicates;
	u64 duplicate_bytes;
	u64 key_updates;
	u64 key_updates_seen;
	u64 raw_opened;
	u64 open_failed;
	u64 bad_packets;
	u64 close_received;
	u64 hash_ns;
	u64 srtt_us;
	u64 cwnd;
	u64 kernel;		/* backend: 1 kernel, 0 this process */
};

/**
 * struct result - a finished test
 * @p: what it was
 * @sender: counters of that end
 * @receiver: counters of that end
 * @hash_ok: 1 equal, 0 not, -1 not asked for
 * @hashes: the receiver's, in hex, one a connection
 */
struct result {
	const struct params *p;
	struct side sender;
	struct side receiver;
	int hash_ok;
	const char *const *hashes;
};

void side_put(const struct side *s, struct msg *m);
int side_get(struct side *s, const struct msg *m);

void json_string(FILE *f, const char *s);
void json_conditions(FILE *f, const struct params *p);
void report_json(FILE *f, const struct result *r);
void report_text(FILE *f, const struct result *r);
void report_interval(FILE *f, double from, double to, u64 bytes, u64 dgrams);

#endif /* QOFFPERF_REPORT_H */
