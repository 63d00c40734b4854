// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <nghttp3/nghttp3.h>
#include <stdio.h>
#include <stdlib.h>

#include "net.h"
#include "options.h"
#include "quic.h"
#include "tls.h"
#include "util.h"

static void print_version(void)
{
	printf("%s: ngtcp2 %s, nghttp3 %s, %s\n", prog, ngtcp2_version(0)->version_str,
	       nghttp3_version(0)->version_str, tls_library());
}

void common_option(const struct common_options *o, int opt, const char *arg)
{
	switch (opt) {
	case 'v':
		verbose = true;
		break;
	case 'h':
		fputs(o->usage, stdout);
		exit(0);
	case OPT_VERSION:
		print_version();
		exit(0);
	case OPT_OFFLOAD:
		net_parse_offload(o->net, arg);
		break;
	case OPT_CIPHERS:
		o->tls->suites = arg;
		break;
	case OPT_MAX_UDP:
		o->conf->max_udp = parse_size("--max-udp", arg, 65527);
		break;
	case OPT_NO_PMTUD:
		o->conf->no_pmtud = true;
		break;
	case OPT_WINDOW:
		o->conf->window = parse_size("--window", arg, 1ULL << 32);
		o->conf->stream_window = o->conf->window;
		break;
	case OPT_SOCKBUF:
		o->net->sockbuf = parse_size("--socket-buffer", arg, 1 << 30);
		break;
	case OPT_CC:
		o->conf->cc = quic_parse_cc(arg);
		break;
	case OPT_QLOG:
		o->conf->qlog_dir = arg;
		break;
	case OPT_JSON:
		*o->json = true;
		break;
	default:
		fprintf(stderr, "%s --help tells the options\n", prog);
		exit(2);
	}
}
