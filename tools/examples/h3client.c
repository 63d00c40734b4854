// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * h3client: fetches over HTTP/3, in super-packets where the system can.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fetch.h"
#include "options.h"
#include "prof.h"
#include "report.h"
#include "util.h"

static const char usage_text[] =
"usage: h3client [OPTION...] https://HOST[:PORT]/PATH...\n"
"\n"
"Fetches the URLs, all of one server, over HTTP/3 and prints statistics.\n"
"\n"
"  -o, --output FILE    write the body there (default: nowhere)\n"
"  -O, --out-dir DIR    write each URL's body to a file in DIR\n"
"      --hash           print the SHA-256 of the last body\n"
"  -n, --repeat N       fetch each URL N times\n"
"  -c, --connections N  over N connections (default 1)\n"
"  -m, --streams N      at most N requests at a time on each (default 100)\n"
"  -r, --range A-B      ask for a range of bytes\n"
"  -T, --upload FILE    POST this file\n"
"      --ca FILE        the server's certificate must follow from FILE, PEM (default: any)\n"
"      --sni NAME       name to ask the server for (default: the URL's host)\n"
"      --offload WHO    who seals and opens 1-RTT packets (default auto): auto, kernel,\n"
"                       software, off, baseline; see h3server --help\n"
"      --ciphers LIST   TLS 1.3 cipher suites, joined by ':'\n"
"      --key-update N[K|M]  update keys after each N bytes\n"
"      --rebind N[K|M]  use another port from then on, as a NAT does that forgot\n"
"      --migrate N[K|M] move to another port and validate the path\n"
"      --drop           leave without a word when all is there (a half-open peer's part)\n"
"      --quic-v2        speak QUIC version 2\n"
"      --timeout S      give up after S seconds (default 60)\n"
"      --cid-len N      bytes of connection IDs, 0 to 20 (default 8)\n"
"      --max-udp N      longest datagram to send (default 1472)\n"
"      --no-pmtud       all datagrams may be that long at once\n"
"      --window N[K|M]  flow control windows (default 16M)\n"
"      --ack-thresh N   packets that an ACK may wait for (default 2)\n"
"      --socket-buffer N[K|M]  each way (default 4M)\n"
"      --cc NAME        cubic, reno or bbr (default cubic)\n"
"      --qlog DIR       a qlog file of each connection\n"
"      --profile        measure where the time goes\n"
"      --json           statistics as one JSON object\n"
"  -q, --quiet          no statistics\n"
"  -v, --verbose        say what goes wrong with connections\n"
"  -h, --help           this text\n"
"      --version        versions of the libraries\n"
"\n"
"SSLKEYLOGFILE=FILE in the environment: TLS secrets are appended to FILE.\n"
"QOFF_BACKEND=kernel|user decides for --offload auto and off.\n"
"Exit status: 0 all was fetched; 1 something was not; 2 wrong use.\n";

enum {
	OPT_HASH = OPT_OWN, OPT_CA, OPT_SNI, OPT_KEY_UPDATE, OPT_REBIND, OPT_MIGRATE, OPT_DROP,
	OPT_V2, OPT_TIMEOUT, OPT_CID_LEN, OPT_ACK_THRESH, OPT_PROFILE,
};

static const struct option long_opts[] = {
	{ "output", 1, NULL, 'o' }, { "out-dir", 1, NULL, 'O' }, { "hash", 0, NULL, OPT_HASH },
	{ "repeat", 1, NULL, 'n' }, { "connections", 1, NULL, 'c' }, { "streams", 1, NULL, 'm' },
	{ "range", 1, NULL, 'r' }, { "upload", 1, NULL, 'T' }, { "ca", 1, NULL, OPT_CA },
	{ "sni", 1, NULL, OPT_SNI }, { "key-update", 1, NULL, OPT_KEY_UPDATE },
	{ "rebind", 1, NULL, OPT_REBIND }, { "migrate", 1, NULL, OPT_MIGRATE },
	{ "drop", 0, NULL, OPT_DROP }, { "quic-v2", 0, NULL, OPT_V2 },
	{ "timeout", 1, NULL, OPT_TIMEOUT }, { "cid-len", 1, NULL, OPT_CID_LEN },
	{ "ack-thresh", 1, NULL, OPT_ACK_THRESH }, { "profile", 0, NULL, OPT_PROFILE },
	{ "quiet", 0, NULL, 'q' }, COMMON_OPTIONS, {}
};

/**
 * struct client - one connection; its quic comes first
 * @q: the connection
 * @ep: its socket
 * @old: the socket before a move, still open: what is on its way arrives
 * @running: requests that are out
 * @got: bytes of bodies
 * @updated: of them at the last key update
 * @moved: the address has changed
 * @gone: the connection is over
 */
struct client {
	struct quic q;
	struct endpoint ep;
	struct endpoint old;
	unsigned int running;
	uint64_t got;
	uint64_t updated;
	bool moved;
	bool gone;
};

static struct {
	struct tls_conf tls;
	struct net_conf net;
	struct quic_conf conf;
	const char *upload;
	const char *sni;
	unsigned int conns;
	unsigned int streams;
	uint64_t key_update;
	uint64_t rebind;
	uint64_t migrate;
	uint64_t timeout;
	uint64_t deadline;
	bool drop;
	bool v2;
	bool profile;
	bool json;
	bool quiet;
	struct sockaddr_storage remote;
	socklen_t remote_len;
	struct sockaddr_storage local;
	struct qoff *q;
	struct tls_ctx *tls_ctx;
	struct loop loop;
	struct qng_stats stats;
	struct client *client;
} h3 = {
	.tls = {
		.suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
			  "TLS_CHACHA20_POLY1305_SHA256",
	},
	.net = { .mode = QNG_OFFLOAD, .backend = QOFF_AUTO, .sockbuf = 4 << 20 },
	.conns = 1,
	.streams = 100,
	.timeout = 60,
};

static void on_signal(int sig)
{
	loop_stop = 1;
}

/* Only to wake up: done() looks at the time. */
static void on_deadline(struct loop_entry *e)
{
}

static void set_option(int opt, const char *arg)
{
	static const struct common_options common = {
		.tls = &h3.tls, .net = &h3.net, .conf = &h3.conf, .json = &h3.json,
		.usage = usage_text,
	};

	switch (opt) {
	case 'o':
		fetch.out = arg;
		break;
	case 'O':
		fetch.out_dir = arg;
		break;
	case 'n':
		fetch.repeat = parse_size("--repeat", arg, 10000000);
		break;
	case 'c':
		h3.conns = parse_size("--connections", arg, LOOP_ENDPOINTS - 1);
		break;
	case 'm':
		h3.streams = parse_size("--streams", arg, 1 << 20);
		break;
	case 'r':
		fetch.range = arg;
		break;
	case 'T':
		h3.upload = arg;
		break;
	case 'q':
		h3.quiet = true;
		break;
	case OPT_HASH:
		fetch.hash = true;
		break;
	case OPT_CA:
		h3.tls.ca = arg;
		break;
	case OPT_SNI:
		h3.sni = arg;
		break;
	case OPT_KEY_UPDATE:
		h3.key_update = parse_size("--key-update", arg, 1ULL << 60);
		break;
	case OPT_REBIND:
		h3.rebind = parse_size("--rebind", arg, 1ULL << 60);
		break;
	case OPT_MIGRATE:
		h3.migrate = parse_size("--migrate", arg, 1ULL << 60);
		break;
	case OPT_DROP:
		h3.drop = true;
		break;
	case OPT_V2:
		h3.v2 = true;
		break;
	case OPT_TIMEOUT:
		h3.timeout = parse_size("--timeout", arg, 1000000);
		break;
	case OPT_CID_LEN:
		h3.conf.cid_len = parse_size("--cid-len", arg, 20);
		break;
	case OPT_ACK_THRESH:
		h3.conf.ack_thresh = parse_size("--ack-thresh", arg, 10000);
		break;
	case OPT_PROFILE:
		h3.profile = true;
		break;
	default:
		common_option(&common, opt, arg);
	}
}

static void map_upload(void)
{
	struct stat st;
	void *p;
	int fd;

	fd = open(h3.upload, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		die("%s: %s", h3.upload, fd < 0 ? strerror(errno) : "not a file");
	fetch.upload = (const uint8_t *)"";
	fetch.upload_len = st.st_size;
	if (st.st_size) {
		p = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			die("%s: %s", h3.upload, strerror(errno));
		fetch.upload = p;
	}
	close(fd);
}

static void parse(int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "o:O:n:c:m:r:T:qvh", long_opts, NULL)) != -1)
		set_option(opt, optarg);
	if (optind == argc)
		die("a URL is needed: h3client --help tells the use");
	fetch.nurls = argc - optind;
	fetch.urls = xcalloc(fetch.nurls, sizeof(*fetch.urls));
	for (unsigned int i = 0; i < fetch.nurls; i++) {
		fetch_parse_url(argv[optind + i], &fetch.urls[i]);
		if (strcmp(fetch.urls[i].authority, fetch.urls[0].authority))
			die("all URLs must have the same server");
	}
	if (!fetch.repeat || !h3.conns || !h3.streams)
		die("--repeat, --connections and --streams are at least 1");
	if (fetch.out && fetch_total() > 1)
		die("--output takes one body: use --out-dir");
	if (h3.conf.max_udp < 1200)
		die("--max-udp: 1200 to 65527, QUIC needs no less");
	if (h3.upload)
		map_upload();
	h3.net.cid_len = h3.conf.cid_len;
}

static int more(struct quic *q)
{
	struct client *c = (struct client *)q;

	return fetch_more(q, h3.streams, &c->running);
}

static void gone(struct quic *q)
{
	((struct client *)q)->gone = true;
}

static const struct quic_ops ops = {
	.h3_callbacks = fetch_callbacks,
	.can_open = more,
	.closed = gone,
};

static void on_packet(struct endpoint *ep, const struct qng_pkt *p)
{
	struct client *c = ep->arg;
	struct qng_pkt pkt = *p;

	if (c->gone)
		return;
	/* Behind a NAT there is one address, as far as the stack knows. */
	if (ep == &c->old && h3.rebind)
		pkt.path = *ngtcp2_conn_get_path(c->q.conn);
	quic_read(&c->q, &pkt);
}

static void path_of(const struct net_sock *ns, ngtcp2_path_storage *ps)
{
	struct sockaddr_storage local;
	socklen_t len = sizeof(local);

	getsockname(ns->fd, (struct sockaddr *)&local, &len);
	ngtcp2_path_storage_init(ps, (struct sockaddr *)&local, len,
				 (struct sockaddr *)&h3.remote, h3.remote_len, NULL);
}

/* Another port. @validate: the stack knows; otherwise only the network does. */
static void move(struct client *c, bool validate)
{
	struct net_sock ns;
	ngtcp2_path_storage ps;
	ngtcp2_addr addr;
	int err = 0;

	if (c->moved || net_sock_open(&h3.net, h3.q, (struct sockaddr *)&h3.local, h3.remote_len,
				      &c->ep.net, &ns))
		return;
	c->moved = true;
	c->old = c->ep;
	loop_del(&c->ep);
	c->ep.net = ns;
	c->ep.blocked = false;
	loop_add(&h3.loop, &c->ep);
	loop_add(&h3.loop, &c->old);
	qng_conn_move(c->q.qng, ns.qs);
	path_of(&ns, &ps);
	if (validate) {
		err = ngtcp2_conn_initiate_migration(c->q.conn, &ps.path, now());
	} else {
		addr = ps.path.local;
		ngtcp2_conn_set_local_addr(c->q.conn, &addr);
	}
	if (err)
		warn("migration: %s", ngtcp2_strerror(err));
}

void client_got(struct quic *q, uint64_t bytes)
{
	struct client *c = (struct client *)q;

	c->got += bytes;
	if (h3.key_update && c->got - c->updated >= h3.key_update &&
	    !ngtcp2_conn_initiate_key_update(q->conn, now()))
		c->updated = c->got;
}

void client_request_over(struct quic *q)
{
	struct client *c = (struct client *)q;

	c->running--;
	more(q);
}

static void start(struct client *c)
{
	uint32_t version = h3.v2 ? NGTCP2_PROTO_VER_V2 : NGTCP2_PROTO_VER_V1;
	ngtcp2_transport_params params;
	ngtcp2_settings settings;
	ngtcp2_callbacks cb;
	ngtcp2_path_storage ps;
	ngtcp2_cid dcid, scid;
	ngtcp2_conn *conn;
	struct tls *t;

	c->ep.on_packet = on_packet;
	c->ep.arg = c;
	if (net_sock_open(&h3.net, h3.q, (struct sockaddr *)&h3.local, h3.remote_len, NULL,
			  &c->ep.net))
		exit(1);
	if (loop_add(&h3.loop, &c->ep))
		die("too many connections");
	c->q.ops = &ops;
	c->q.conf = &h3.conf;
	c->q.ep = &c->ep;
	t = tls_new(h3.tls_ctx, &c->q.ref, h3.sni ? h3.sni : fetch.urls[0].host);
	if (!t || quic_init(&c->q, &cb, &settings, &params))
		die("no memory");
	dcid.datalen = 18;
	random_bytes(dcid.data, dcid.datalen);
	quic_new_cid(&h3.conf, &scid, NULL);
	path_of(&c->ep.net, &ps);
	if (qng_cid_add(c->q.qng, &scid) ||
	    ngtcp2_conn_client_new(&conn, &dcid, &scid, &ps.path, version, &cb, &settings,
				   &params, NULL, &c->q))
		die("ngtcp2: no connection");
	quic_start(&c->q, conn, t);
}

/* Runs between the loop's rounds, where no callback is on the way. */
static bool done(void *arg)
{
	unsigned int alive = 0;

	for (unsigned int i = 0; i < h3.conns; i++) {
		struct client *c = &h3.client[i];

		alive += !c->gone;
		if (!c->gone && h3.rebind && c->got >= h3.rebind)
			move(c, false);
		if (!c->gone && h3.migrate && c->got >= h3.migrate)
			move(c, true);
	}
	return fetch_done() || !alive || now() >= h3.deadline;
}

static void finish(struct client *c)
{
	if (!c->gone && !h3.drop)
		quic_close(&c->q, NGHTTP3_H3_NO_ERROR);
	report_add(&h3.stats, qng_sock_stats(c->ep.net.qs));
	if (c->moved)
		report_add(&h3.stats, qng_sock_stats(c->old.net.qs));
	quic_fini(&c->q);
	net_sock_close(&c->ep.net);
	if (c->moved)
		net_sock_close(&c->old.net);
}

static void report(bool ok)
{
	bool kernel = h3.q && qoff_backend(h3.q) == QOFF_KERNEL;
	double s = fetch.ended > fetch.began ? (fetch.ended - fetch.began) / 1e9 : 0;

	report_begin(h3.json);
	report_text("result", ok ? "ok" : "failed");
	report_text("backend", !h3.q ? "none" : kernel ? "kernel" : "user");
	report_num("requests", fetch_total());
	report_num("requests_ok", fetch.done);
	report_num("status", fetch.status);
	report_num("bytes", fetch.bytes);
	report_real("seconds", s);
	report_real("mbit_per_second", s > 0 ? fetch.bytes * 8 / s / 1e6 : 0);
	if (fetch.hash)
		report_text("sha256", fetch.digest);
	report_totals();
	report_num("polls", h3.loop.polls);
	report_sock(&h3.stats);
	if (h3.profile)
		report_prof();
	report_end();
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct loop_entry deadline = { .expiry = 0 };
	bool ok;

	prog = "h3client";
	quic_conf_init(&h3.conf);
	parse(argc, argv);
	quic_keylog_open();
	h3.tls_ctx = tls_ctx_new(&h3.tls);
	h3.remote_len = net_resolve(fetch.urls[0].host, fetch.urls[0].port, false, &h3.remote);
	if (net_local_for(&h3.remote, h3.remote_len, &h3.local))
		die("%s: no route", fetch.urls[0].host);
	h3.q = net_open(&h3.net);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	loop_init(&h3.loop);
	h3.client = xcalloc(h3.conns, sizeof(*h3.client));
	h3.deadline = now() + h3.timeout * NSEC;
	deadline.on_time = on_deadline;
	loop_time(&h3.loop, &deadline, h3.deadline);
	for (unsigned int i = 0; i < h3.conns; i++)
		start(&h3.client[i]);
	if (h3.profile)
		prof_start();
	loop_run(&h3.loop, done, NULL);
	if (h3.profile)
		prof_switch(PROF_OTHER);
	for (unsigned int i = 0; i < h3.conns; i++)
		finish(&h3.client[i]);
	ok = fetch_done() && !fetch.failed;
	if (!ok)
		warn("%u of %u requests were answered well", fetch.done, fetch_total());
	if (!h3.quiet)
		report(ok);
	loop_forget(&h3.loop, &deadline);
	loop_fini(&h3.loop);
	qoff_close(h3.q);
	tls_ctx_free(h3.tls_ctx);
	free(h3.client);
	free(fetch.urls);
	return !ok;
}
