/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a test is: the values both ends must agree on. The client reads them
 * from its command line and sends them to the server.
 */
#ifndef QOFFPERF_PARAMS_H
#define QOFFPERF_PARAMS_H

#include "util.h"

enum tx_mode {
	TX_SUPER,
	TX_SEGMENT,
	TX_MMSG,
	TX_SINGLE,
};

enum rx_mode {
	RX_SUPER,
	RX_GRO,
	RX_MMSG,
	RX_SINGLE,
};

enum mix {
	MIX_PAPER,
	MIX_MIXED,
};

enum hash_mode {
	HASH_NONE,
	HASH_INLINE,
	HASH_AFTER,
};

#define MAX_PARALLEL	32

/* All u64, so that one table (params.c) describes reading, sending, printing. */
struct params {
	u64 bytes;
	u64 reverse;
	u64 parallel;
	u64 mode;		/* enum tx_mode */
	u64 raw;
	u64 rx;			/* enum rx_mode */
	u64 offload;		/* enum qoff_backend */
	u64 mix;		/* enum mix */
	u64 mtu;
	u64 seed;
	u64 cipher;		/* enum quic_offload_cipher */
	u64 dcid_len;
	u64 key_update_every;
	u64 batch;		/* 0: as the mode suggests */
	u64 window;
	u64 cc;			/* enum cc_algo */
	u64 sockbuf;		/* 0: four times the window */
	u64 ack_every;
	u64 pacing_rate;	/* bytes a second, 0: none */
	u64 hash;		/* enum hash_mode */
	u64 ecn;
	u64 timeout;		/* seconds without progress */
};

enum param_kind {
	PARAM_NUMBER,
	PARAM_FLAG,
	PARAM_NAME,
};

/* Names of an enum, at their values; NULL ends the list, "" is a hole. */
struct param {
	const char *name;
	size_t offset;
	enum param_kind kind;
	u64 lo, hi;
	const char *const *names;
	const char *help;
};

extern const struct param param_table[];
extern const unsigned int param_count;

void params_default(struct params *p);
const struct param *param_find(const char *name);
int param_set(struct params *p, const struct param *d, const char *value);
u64 param_get(const struct params *p, const struct param *d);
const char *param_name(const struct param *d, u64 v);
const char *param_value_name(const struct params *p, const char *name);
int params_check(const struct params *p, const char **why);

u64 params_batch(const struct params *p);
u32 params_max_dgram(const struct params *p, bool ipv6);

#endif /* QOFFPERF_PARAMS_H */
