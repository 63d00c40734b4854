// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * h3server: serves a directory over HTTP/3, in super-packets where the system can.
 */
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "options.h"
#include "report.h"
#include "server.h"
#include "util.h"

static const char usage_text[] =
"usage: h3server --cert FILE --key FILE [OPTION...] [DIRECTORY]\n"
"\n"
"Serves the files of DIRECTORY (default: here) over HTTP/3. POST and PUT are answered\n"
"with the SHA-256 of what was sent. SIGINT or SIGTERM ends it, with statistics.\n"
"\n"
"  -B, --bind ADDR      address to listen on (default: all)\n"
"  -p, --port N         UDP port (default 4433)\n"
"      --cert FILE      certificate chain, PEM\n"
"      --key FILE       its key, PEM\n"
"      --offload WHO    who seals and opens 1-RTT packets (default auto):\n"
"                         auto      the kernel with super-packets; where it has no\n"
"                                   such module, as software\n"
"                         kernel    the same, and nothing else\n"
"                         software  libqoff in this process\n"
"                         off       ngtcp2; super-packets only carry datagrams\n"
"                         baseline  ngtcp2; a system call for each datagram\n"
"      --ciphers LIST   TLS 1.3 cipher suites, best first, joined by ':'\n"
"      --retry          ask a Retry of every client\n"
"      --max-conns N    connections at a time (default 4096)\n"
"      --max-half N     half-open connections, beyond which Retry is asked (default 1024)\n"
"      --streams N      requests at a time on a connection (default 256)\n"
"      --idle S         seconds after which a silent connection ends (default 30)\n"
"      --cid-len N      bytes of connection IDs, 4 to 18 (default 8)\n"
"      --max-udp N      longest datagram (default 1472); the path MTU is probed up to it\n"
"      --no-pmtud       all datagrams may be that long at once\n"
"      --window N[K|M]  flow control windows (default 16M)\n"
"      --socket-buffer N[K|M]  each way (default 4M)\n"
"      --cc NAME        cubic, reno or bbr (default cubic)\n"
"      --no-hold        send also small parts of the congestion window at once\n"
"      --qlog DIR       a qlog file of each connection\n"
"      --json           statistics as one JSON object\n"
"  -v, --verbose        a line for each request and error\n"
"  -h, --help           this text\n"
"      --version        versions of the libraries\n"
"\n"
"SSLKEYLOGFILE=FILE in the environment: TLS secrets are appended to FILE.\n"
"QOFF_BACKEND=kernel|user decides for --offload auto and off.\n"
"Exit status: 0 ended by a signal; 2 wrong use, or it could not start.\n";

enum {
	OPT_CERT = OPT_OWN, OPT_KEY, OPT_RETRY, OPT_MAX_CONNS, OPT_MAX_HALF, OPT_STREAMS, OPT_IDLE,
	OPT_CID_LEN, OPT_NO_HOLD,
};

static const struct option long_opts[] = {
	{ "bind", 1, NULL, 'B' }, { "port", 1, NULL, 'p' }, { "cert", 1, NULL, OPT_CERT },
	{ "key", 1, NULL, OPT_KEY }, { "retry", 0, NULL, OPT_RETRY },
	{ "max-conns", 1, NULL, OPT_MAX_CONNS }, { "max-half", 1, NULL, OPT_MAX_HALF },
	{ "streams", 1, NULL, OPT_STREAMS }, { "idle", 1, NULL, OPT_IDLE },
	{ "cid-len", 1, NULL, OPT_CID_LEN }, { "no-hold", 0, NULL, OPT_NO_HOLD },
	COMMON_OPTIONS, {}
};

struct options {
	const char *bind;
	const char *port;
	const char *dir;
	struct tls_conf tls;
	struct net_conf net;
	bool json;
};

static struct server server;

static void on_signal(int sig)
{
	loop_stop = 1;
}

static void set_option(struct options *o, int opt, const char *arg)
{
	const struct common_options common = {
		.tls = &o->tls, .net = &o->net, .conf = &server.conf, .json = &o->json,
		.usage = usage_text,
	};
	struct quic_conf *conf = &server.conf;

	switch (opt) {
	case 'B':
		o->bind = arg;
		break;
	case 'p':
		o->port = arg;
		break;
	case OPT_CERT:
		o->tls.cert = arg;
		break;
	case OPT_KEY:
		o->tls.key = arg;
		break;
	case OPT_RETRY:
		server.retry = true;
		break;
	case OPT_MAX_CONNS:
		server.max_conns = parse_size("--max-conns", arg, 1 << 20);
		break;
	case OPT_MAX_HALF:
		server.max_half = parse_size("--max-half", arg, 1 << 20);
		break;
	case OPT_STREAMS:
		conf->streams = parse_size("--streams", arg, 1 << 20);
		break;
	case OPT_IDLE:
		conf->idle = parse_size("--idle", arg, 86400) * NSEC;
		break;
	case OPT_CID_LEN:
		conf->cid_len = parse_size("--cid-len", arg, 18);
		break;
	case OPT_NO_HOLD:
		conf->hold = false;
		break;
	default:
		common_option(&common, opt, arg);
	}
}

static void parse(struct options *o, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "B:p:vh", long_opts, NULL)) != -1)
		set_option(o, opt, optarg);
	if (optind < argc)
		o->dir = argv[optind++];
	if (optind < argc)
		die("one directory, not more: h3server --help tells the use");
	if (!o->tls.cert || !o->tls.key)
		die("--cert and --key are needed: a certificate and its key, PEM");
	if (server.conf.cid_len < 4)
		die("--cid-len: 4 to 18");
	if (server.conf.max_udp < 1200)
		die("--max-udp: 1200 to 65527, QUIC needs no less");
	o->net.cid_len = server.conf.cid_len;
}

static void report(const struct options *o, const struct qoff *q)
{
	report_begin(o->json);
	report_text("backend", !q ? "none" : qoff_backend(q) == QOFF_KERNEL ? "kernel" : "user");
	report_num("requests", files_totals.requests);
	report_num("request_errors", files_totals.errors);
	report_num("body_bytes", files_totals.bytes);
	report_num("uploaded_bytes", files_totals.uploaded);
	report_num("retries", server.st.retries);
	report_num("version_negotiations", server.st.versions);
	report_num("stateless_resets", server.st.resets);
	report_num("refused_connections", server.st.refused);
	report_num("bad_tokens", server.st.bad_tokens);
	report_num("garbage", server.st.garbage);
	report_totals();
	report_num("polls", server.ep.loop->polls);
	report_sock(qng_sock_stats(server.ep.net.qs));
	report_end();
}

int main(int argc, char **argv)
{
	struct options o = {
		.port = "4433", .dir = ".",
		.tls = {
			.server = true,
			.suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
				  "TLS_CHACHA20_POLY1305_SHA256",
		},
		.net = { .mode = QNG_OFFLOAD, .backend = QOFF_AUTO, .sockbuf = 4 << 20 },
	};
	struct sigaction sa = { .sa_handler = on_signal };
	struct sockaddr_storage local;
	struct loop loop;
	struct qoff *q;
	socklen_t len;

	prog = "h3server";
	server.max_conns = 4096;
	server.max_half = 1024;
	quic_conf_init(&server.conf);
	parse(&o, argc, argv);
	quic_keylog_open();
	server.tls = tls_ctx_new(&o.tls);
	files_open(o.dir);
	len = net_resolve(o.bind ? o.bind : "::", o.port, true, &local);
	q = net_open(&o.net);
	if (net_sock_open(&o.net, q, (struct sockaddr *)&local, len, NULL, &server.ep.net))
		die("cannot listen on %s port %s", o.bind ? o.bind : "::", o.port);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	loop_init(&loop);
	server_init(&server);
	loop_add(&loop, &server.ep);
	note("listens");
	loop_run(&loop, NULL, NULL);
	server_fini(&server);
	report(&o, q);
	loop_fini(&loop);
	net_sock_close(&server.ep.net);
	qoff_close(q);
	tls_ctx_free(server.tls);
	return 0;
}
