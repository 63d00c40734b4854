/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A server's connections: who a datagram is for, and who may come in.
 */
#ifndef H3_SERVER_H
#define H3_SERVER_H

#include "quic.h"

/**
 * struct server_totals - what came that is no packet of a connection
 * @accepted: connections
 * @retries: Retry packets sent
 * @versions: Version Negotiation packets sent
 * @resets: stateless resets sent
 * @refused: connections refused for the limit
 * @bad_tokens: Retry tokens that were not ours, or too old
 * @garbage: datagrams that were nothing
 */
struct server_totals {
	uint64_t accepted;
	uint64_t retries;
	uint64_t versions;
	uint64_t resets;
	uint64_t refused;
	uint64_t bad_tokens;
	uint64_t garbage;
};

/**
 * struct server - a server
 * @conf: settings of connections
 * @tls: TLS of connections
 * @ep: its socket
 * @max_conns: connections at a time
 * @max_half: half-open ones, beyond which a Retry is asked of everybody
 * @retry: ask it always
 * @conns: connections now
 * @half: half-open ones now
 * @key: of tokens and of the connection ID table
 * @reset_tokens: stateless resets that may be sent now
 * @reset_time: when that was counted
 * @table: connection IDs
 * @all: connections
 * @st: counters
 */
struct server {
	struct quic_conf conf;
	struct tls_ctx *tls;
	struct endpoint ep;
	unsigned int max_conns;
	unsigned int max_half;
	bool retry;
	unsigned int conns;
	unsigned int half;
	uint8_t key[32];
	unsigned int reset_tokens;
	uint64_t reset_time;
	struct cid_entry *table[4096];
	struct conn *all;
	struct server_totals st;
};

/* @ep.net and the settings are there. */
void server_init(struct server *s);
/* Says goodbye to all. */
void server_fini(struct server *s);

#endif /* H3_SERVER_H */
