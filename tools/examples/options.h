/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Options that client and server have both. */
#ifndef H3_OPTIONS_H
#define H3_OPTIONS_H

#include <stdbool.h>

struct net_conf;
struct quic_conf;
struct tls_conf;

enum {
	OPT_OFFLOAD = 256, OPT_CIPHERS, OPT_MAX_UDP, OPT_NO_PMTUD, OPT_WINDOW, OPT_SOCKBUF, OPT_CC,
	OPT_QLOG, OPT_JSON, OPT_VERSION,
	OPT_OWN,	/* a program's own begin here */
};

#define COMMON_OPTIONS									\
	{ "offload", 1, NULL, OPT_OFFLOAD }, { "ciphers", 1, NULL, OPT_CIPHERS },	\
	{ "max-udp", 1, NULL, OPT_MAX_UDP }, { "no-pmtud", 0, NULL, OPT_NO_PMTUD },	\
	{ "window", 1, NULL, OPT_WINDOW }, { "socket-buffer", 1, NULL, OPT_SOCKBUF },	\
	{ "cc", 1, NULL, OPT_CC }, { "qlog", 1, NULL, OPT_QLOG },			\
	{ "json", 0, NULL, OPT_JSON }, { "verbose", 0, NULL, 'v' },			\
	{ "help", 0, NULL, 'h' }, { "version", 0, NULL, OPT_VERSION }

/**
 * struct common_options - where their values go
 * @tls: of the program
 * @net: of the program
 * @conf: of the program
 * @json: statistics as JSON
 * @usage: what --help prints
 */
struct common_options {
	struct tls_conf *tls;
	struct net_conf *net;
	struct quic_conf *conf;
	bool *json;
	const char *usage;
};

/* Takes one of them; anything else is wrong use and ends the program, as do --help and
 * --version.
 */
void common_option(const struct common_options *o, int opt, const char *arg);

#endif
