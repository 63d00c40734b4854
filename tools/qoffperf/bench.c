// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qoffperf bench: what a datagram costs, with nothing else around it. One thread
 * sends a round of datagrams on one socket and receives them on another, so that
 * a count of guest instructions (or a clock that runs by them) compares modes.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "frame.h"
#include "io.h"
#include "net.h"
#include "report.h"

#define ROUNDS_MADE	16	/* different rounds: lengths and bytes */
#define WARMUP		(2 * ROUNDS_MADE)
#define PN_LEN		4
#define MIX_LO		200
#define WAIT_MS		1000

enum crypto {
	CRYPTO_NONE,
	CRYPTO_KERNEL,
	CRYPTO_OPENSSL,
};

static const char *const crypto_names[] = {
	[CRYPTO_NONE] = "none", [CRYPTO_KERNEL] = "kernel",
	[CRYPTO_OPENSSL] = "openssl",
};

/* A round: the sends that carry @dgrams datagrams, as plain packets. */
struct round {
	struct tx_batch *b;
	unsigned int n;
};

struct end {
	const char *addr;
	const char *netns;
	struct params p;
	struct io io;
	struct key_dir keys;
};

/**
 * struct bench - state of the benchmark
 * @seal: who seals
 * @open: who opens
 * @count: datagrams to move
 * @dgrams: of one round
 * @out: the batch that is sent: a round's is copied when it is to be sealed
 * @pn: next packet number
 * @rx_pn: largest number opened
 * @moved: datagrams received
 * @bytes: their UDP payload
 */
struct bench {
	struct end tx, rx;
	enum crypto seal, open;
	u64 count;
	unsigned int dgrams;
	bool json;
	u8 dcid[QOFF_MAX_DCID];
	struct opener opener;
	struct round rounds[ROUNDS_MADE];
	struct tx_batch out;
	struct rx_batch in;
	u64 pn;
	u64 rx_pn;
	u64 moved;
	u64 bytes;
	u64 polls;
	u64 elapsed;
	u64 user_us, system_us;
};

static const struct option options[] = {
	{ "mode", required_argument, NULL, 'p' },
	{ "rx", required_argument, NULL, 'p' },
	{ "mix", required_argument, NULL, 'p' },
	{ "mtu", required_argument, NULL, 'p' },
	{ "seed", required_argument, NULL, 'p' },
	{ "cipher", required_argument, NULL, 'p' },
	{ "dcid-len", required_argument, NULL, 'p' },
	{ "offload", required_argument, NULL, 'p' },
	{ "socket-buffer", required_argument, NULL, 'p' },
	{ "seal", required_argument, NULL, 's' },
	{ "open", required_argument, NULL, 'o' },
	{ "count", required_argument, NULL, 'n' },
	{ "batch", required_argument, NULL, 'b' },
	{ "from", required_argument, NULL, 'f' },
	{ "to", required_argument, NULL, 't' },
	{ "from-netns", required_argument, NULL, 'F' },
	{ "to-netns", required_argument, NULL, 'T' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static const char usage[] =
"usage: qoffperf bench [OPTIONS]\n"
"\n"
"One thread sends a round of datagrams, receives it, and so on. Prints datagrams,\n"
"calls and time. The first rounds are checked byte by byte and not counted.\n"
"\n"
"  --mode super|segment|mmsg|single   how to send\n"
"  --rx super|gro|mmsg|single         how to receive (super goes with super)\n"
"  --mix paper|mixed                  datagrams of the MTU, or 200 bytes to it\n"
"  --seal none|kernel|openssl         who seals (none); kernel: --mode super\n"
"  --open none|kernel|openssl         who opens (as --seal)\n"
"  --count N                          datagrams to move (1M); 0: set up only\n"
"  --batch N                          datagrams of a round (64)\n"
"  --from ADDR, --to ADDR             addresses (127.0.0.1)\n"
"  --from-netns NAME, --to-netns NAME their network namespaces (ip netns)\n"
"  --mtu --seed --cipher --dcid-len --offload --socket-buffer   see qoffperf --help\n"
"  --json\n";

static enum crypto parse_crypto(const char *opt, const char *arg)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(crypto_names); i++)
		if (!strcmp(arg, crypto_names[i]))
			return i;
	die(EXIT_USAGE, "--%s %s: none, kernel or openssl", opt, arg);
}

static u64 parse_number(const char *opt, const char *arg, u64 lo, u64 hi)
{
	u64 v;

	if (parse_size(arg, &v) || v < lo || v > hi)
		die(EXIT_USAGE, "--%s %s: %" PRIu64 " to %" PRIu64, opt, arg,
		    lo, hi);
	return v;
}

static void parse_option(struct bench *b, int opt, const char *name,
			 const char *arg, int *open)
{
	switch (opt) {
	case 'p':
		if (param_set(&b->tx.p, param_find(name), arg))
			die(EXIT_USAGE, "--%s %s: not understood", name, arg);
		break;
	case 's':
		b->seal = parse_crypto(name, arg);
		break;
	case 'o':
		*open = parse_crypto(name, arg);
		break;
	case 'n':
		b->count = parse_number(name, arg, 0, 1ULL << 40);
		break;
	case 'b':
		b->dgrams = parse_number(name, arg, 1, 1024);
		break;
	case 'f':
		b->tx.addr = arg;
		break;
	case 't':
		b->rx.addr = arg;
		break;
	case 'F':
		b->tx.netns = arg;
		break;
	case 'T':
		b->rx.netns = arg;
		break;
	case 'j':
		b->json = true;
		break;
	case 'h':
		fputs(usage, stdout);
		exit(EXIT_OK);
	default:
		die(EXIT_USAGE, "see qoffperf bench --help");
	}
}

static void parse_args(struct bench *b, int argc, char **argv)
{
	int opt, index, open = -1;
	const char *why;

	while ((opt = getopt_long(argc, argv, "h", options, &index)) != -1)
		parse_option(b, opt, opt == 'h' ? "" : options[index].name,
			     optarg, &open);
	if (optind < argc)
		die(EXIT_USAGE, "%s: not understood", argv[optind]);
	b->open = open < 0 ? b->seal : (enum crypto)open;
	b->rx.p = b->tx.p;
	/* An attached socket that has no keys sends RAW and delivers raw. */
	b->tx.p.raw = b->tx.p.mode == TX_SUPER && b->seal != CRYPTO_KERNEL;
	b->rx.p.raw = b->rx.p.mode == TX_SUPER && b->open != CRYPTO_KERNEL;
	if (params_check(&b->tx.p, &why) || params_check(&b->rx.p, &why))
		die(EXIT_USAGE, "%s", why);
	if (b->tx.p.mode != TX_SUPER &&
	    (b->seal == CRYPTO_KERNEL || b->open == CRYPTO_KERNEL))
		die(EXIT_USAGE, "--seal and --open kernel go with --mode super");
	if (b->seal == CRYPTO_NONE && b->open != CRYPTO_NONE)
		die(EXIT_USAGE, "--open needs packets that were sealed");
}

/* Namespace of @name, or of the process; the caller goes back with @self. */
static void enter_netns(const char *name)
{
	char path[256];
	int fd;

	if (!name)
		return;
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(EXIT_FAILED, "network namespace %s: %s", name,
		    strerror(errno));
	close(fd);
}

static void leave_netns(int self)
{
	if (setns(self, CLONE_NEWNET))
		die(EXIT_FAILED, "own network namespace: %s", strerror(errno));
}

static void make_socket(struct end *e, int self)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = AI_NUMERICHOST,
	}, *ai;
	int err;

	err = getaddrinfo(e->addr, NULL, &hints, &ai);
	if (err)
		die(EXIT_USAGE, "%s: %s", e->addr, gai_strerror(err));
	if (e->netns)
		enter_netns(e->netns);
	err = io_socket(&e->io, &e->p, ai->ai_addr, ai->ai_addrlen);
	if (err)
		die(EXIT_FAILED, "%s: %s", e->addr, strerror(-err));
	if (e->netns)
		leave_netns(self);
	freeaddrinfo(ai);
}

static void connect_to(struct end *e, const struct end *peer)
{
	struct sockaddr_storage addr;
	socklen_t len;
	int err;

	err = net_local(peer->io.fd, &addr, &len);
	if (!err)
		err = io_connect(&e->io, (struct sockaddr *)&addr, len);
	if (err)
		die(EXIT_FAILED, "%s to %s: %s", e->addr, peer->addr,
		    strerror(-err));
}

/* Keys are installed by netlink in the socket's own namespace. */
static void start_end(struct bench *b, struct end *e, int self)
{
	bool sends = e == &b->tx;
	struct io_config c = {
		.p = &e->p,
		.tx = &e->keys,
		.rx = &e->keys,
		.dcid = b->dcid,
		.no_tx_key = !sends || b->seal == CRYPTO_NONE,
		.no_rx_key = sends || b->open != CRYPTO_KERNEL,
	};
	int err;

	if (e->netns)
		enter_netns(e->netns);
	err = io_start(&e->io, &c);
	if (err)
		die(err == -EOPNOTSUPP ? EXIT_SKIP : EXIT_FAILED,
		    "%s: cannot start: %s", e->addr, strerror(-err));
	if (e->netns)
		leave_netns(self);
}

static void make_ends(struct bench *b)
{
	size_t len = qoff_secret_len(b->tx.p.cipher), i;
	u8 secret[QOFF_MAX_SECRET];
	u64 state = b->tx.p.seed;
	int self, err;

	self = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	for (i = 0; i < sizeof(secret); i++)
		secret[i] = rng_next(&state);
	for (i = 0; i < sizeof(b->dcid); i++)
		b->dcid[i] = rng_next(&state);
	err = key_dir_init(&b->tx.keys, b->tx.p.cipher, secret, len);
	if (!err)
		err = key_dir_init(&b->rx.keys, b->tx.p.cipher, secret, len);
	if (!err)
		err = opener_init(&b->opener, b->tx.p.cipher, secret, len);
	if (err)
		die(EXIT_FAILED, "keys: %s", strerror(-err));
	make_socket(&b->tx, self);
	make_socket(&b->rx, self);
	connect_to(&b->tx, &b->rx);
	connect_to(&b->rx, &b->tx);
	start_end(b, &b->tx, self);
	start_end(b, &b->rx, self);
	if (self >= 0)
		close(self);
}

static u32 dgram_len(struct bench *b, u64 *state)
{
	u32 max_len = params_max_dgram(&b->tx.p, b->tx.io.ipv6);

	if (b->tx.p.mix == MIX_PAPER)
		return max_len;
	return MIX_LO + rng_next(state) % (max_len - MIX_LO + 1);
}

/* Short header, number 0, random payload, room for the tag. */
static void make_packet(struct bench *b, u8 *p, u32 len, u64 *state)
{
	size_t dcid_len = b->tx.p.dcid_len, i;

	for (i = 0; i < len; i++)
		p[i] = rng_next(state);
	p[0] = 0x40 | (PN_LEN - 1);
	memcpy(p + 1, b->dcid, dcid_len);
	memset(p + 1 + dcid_len, 0, PN_LEN);
	memset(p + len - QOFF_TAG_SIZE, 0, QOFF_TAG_SIZE);
}

static struct tx_batch *add_send(struct round *r)
{
	struct tx_batch *t;

	r->b = realloc(r->b, (r->n + 1) * sizeof(*r->b));
	if (!r->b)
		die(EXIT_FAILED, "out of memory");
	t = &r->b[r->n++];
	memset(t, 0, sizeof(*t));
	t->buf = xcalloc(1, IO_BUF_SIZE);
	return t;
}

static void make_round(struct bench *b, struct round *r, u64 *state)
{
	struct tx_batch *t = add_send(r);
	unsigned int i, limit = QOFF_MAX_SEGS;
	u32 len;

	for (i = 0; i < b->dgrams; i++) {
		len = dgram_len(b, state);
		if (t->n == limit || t->bytes + len > IO_BATCH_BYTES)
			t = add_send(r);
		make_packet(b, t->buf + t->bytes, len, state);
		t->seg[t->n++] = (struct qoff_tx_seg) { .len = len };
		t->bytes += len;
	}
}

/* What a stack does when it builds packets, the same for each kind of sealing. */
static void build(struct bench *b, const struct tx_batch *t)
{
	unsigned int off = b->tx.io.tx_pn_off, i, k;
	u8 *p = b->out.buf;

	memcpy(p, t->buf, t->bytes);
	memcpy(b->out.seg, t->seg, t->n * sizeof(*t->seg));
	b->out.n = t->n;
	b->out.bytes = t->bytes;
	b->out.pn = b->pn;
	b->out.sealed = false;
	for (i = 0; i < t->n; i++, b->pn++) {
		for (k = 0; k < PN_LEN; k++)
			p[off + k] = b->pn >> (8 * (PN_LEN - 1 - k));
		p += t->seg[i].len;
	}
}

static void wait_for(struct bench *b, int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	b->polls++;
	if (poll(&p, 1, WAIT_MS) <= 0)
		die(EXIT_FAILED, "datagrams were lost on the way: %" PRIu64
		    " of %" PRIu64 " arrived", b->moved, b->pn);
}

static void send_one(struct bench *b, struct tx_batch *t)
{
	int err;

	if (b->seal != CRYPTO_NONE) {
		build(b, t);
		t = &b->out;
	} else {
		b->pn += t->n;
	}
	t->done = 0;
	t->done_bytes = 0;
	while ((err = io_send(&b->tx.io, t)) == -EAGAIN)
		wait_for(b, b->tx.io.fd, POLLOUT);
	if (err)
		die(EXIT_FAILED, "send: %s", strerror(-err));
}

static void open_packets(struct bench *b)
{
	unsigned int i, pn_len;
	u64 pn;
	u32 gen;
	int err;

	for (i = 0; i < b->in.n; i++) {
		struct rx_pkt *pkt = &b->in.pkt[i];

		if (pkt->status == QOFF_RX_OPENED) {
			b->rx_pn = pkt->pn;
			continue;
		}
		err = -EBADMSG;
		if (b->open == CRYPTO_OPENSSL)
			err = opener_open(&b->opener, pkt->data, pkt->len,
					  b->rx.io.rx_pn_off, b->rx_pn, &pn,
					  &pn_len, &gen);
		if (err)
			die(EXIT_WRONG_DATA, "a datagram was not opened (status %u)",
			    pkt->status);
		b->rx_pn = pn;
	}
}

/* Compares with the round; packet numbers and, sealed, the tag differ. What was
 * sealed and not opened has only its length to compare.
 */
static void check_packets(struct bench *b, const struct round *r,
			  unsigned int first)
{
	bool plain = b->seal == CRYPTO_NONE || b->open != CRYPTO_NONE;
	size_t head = b->rx.io.rx_pn_off + PN_LEN, off = 0;
	unsigned int n = 0, s = 0, i = 0;
	const struct tx_batch *t;

	for (; s < r->n && n < first + b->in.n; n++) {
		t = &r->b[s];
		if (n >= first) {
			const struct rx_pkt *pkt = &b->in.pkt[n - first];

			if (pkt->len != t->seg[i].len ||
			    (plain &&
			     memcmp(pkt->data + head, t->buf + off + head,
				    pkt->len - head - QOFF_TAG_SIZE)))
				die(EXIT_WRONG_DATA, "datagram %u of a round is not the one sent",
				    n);
		}
		off += t->seg[i].len;
		if (++i == t->n) {
			i = 0;
			off = 0;
			s++;
		}
	}
}

static void run_round(struct bench *b, struct round *r, bool check)
{
	unsigned int got = 0, i;
	int n;

	for (i = 0; i < r->n; i++)
		send_one(b, &r->b[i]);
	while (got < b->dgrams) {
		n = io_recv(&b->rx.io, &b->in);
		if (n == -EAGAIN) {
			wait_for(b, b->rx.io.fd, POLLIN);
			continue;
		}
		if (n < 0)
			die(EXIT_FAILED, "receive: %s", strerror(-n));
		if (b->open != CRYPTO_NONE)
			open_packets(b);
		if (check)
			check_packets(b, r, got);
		for (i = 0; i < n; i++)
			b->bytes += b->in.pkt[i].len;
		got += n;
		b->moved += n;
	}
	if (got != b->dgrams)
		die(EXIT_WRONG_DATA, "%u datagrams of %u came back", got,
		    b->dgrams);
}

static u64 us(const struct timeval *tv)
{
	return tv->tv_sec * 1000000ULL + tv->tv_usec;
}

static void run(struct bench *b)
{
	u64 rounds = (b->count + b->dgrams - 1) / b->dgrams, i, start;
	struct rusage before, after;

	for (i = 0; i < WARMUP; i++)
		run_round(b, &b->rounds[i % ROUNDS_MADE], true);
	memset(&b->tx.io.stats, 0, sizeof(b->tx.io.stats));
	memset(&b->rx.io.stats, 0, sizeof(b->rx.io.stats));
	b->moved = 0;
	b->bytes = 0;
	b->polls = 0;
	getrusage(RUSAGE_SELF, &before);
	start = now_ns();
	for (i = 0; i < rounds; i++)
		run_round(b, &b->rounds[i % ROUNDS_MADE], false);
	b->elapsed = now_ns() - start;
	getrusage(RUSAGE_SELF, &after);
	b->user_us = us(&after.ru_utime) - us(&before.ru_utime);
	b->system_us = us(&after.ru_stime) - us(&before.ru_stime);
}

static void report(const struct bench *b)
{
	const struct {
		const char *name;
		const char *value;
	} words[] = {
		{ "mode", param_value_name(&b->tx.p, "mode") },
		{ "rx", param_value_name(&b->rx.p, "rx") },
		{ "mix", param_value_name(&b->tx.p, "mix") },
		{ "cipher", param_value_name(&b->tx.p, "cipher") },
		{ "seal", crypto_names[b->seal] },
		{ "open", crypto_names[b->open] },
		{ "backend", !b->tx.io.q ? "none" :
		  qoff_backend(b->tx.io.q) == QOFF_KERNEL ? "kernel" : "user" },
	};
	const struct {
		const char *name;
		u64 value;
	} numbers[] = {
		{ "datagrams", b->moved }, { "bytes", b->bytes },
		{ "batch", b->dgrams },
		{ "send_calls", b->tx.io.stats.send_calls },
		{ "recv_calls", b->rx.io.stats.recv_calls },
		{ "polls", b->polls }, { "cpu_user_us", b->user_us },
		{ "cpu_system_us", b->system_us }, { "elapsed_ns", b->elapsed },
	};
	const char *quote = b->json ? "\"" : "", *colon = b->json ? ": " : " ";
	unsigned int i;

	fputs(b->json ? "{" : "", stdout);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		printf("%s%s%s%s%s%s%s, ", quote, words[i].name, quote, colon,
		       quote, words[i].value, quote);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		printf("%s%s%s%s%" PRIu64 ", ", quote, numbers[i].name, quote,
		       colon, numbers[i].value);
	printf("%sns_per_datagram%s%s%.1f%s\n", quote, quote, colon,
	       b->moved ? (double)b->elapsed / b->moved : 0,
	       b->json ? "}" : "");
}

/**
 * bench_main - the sub-command
 * @argc: arguments, "bench" first
 * @argv: likewise
 *
 * Return: exit code.
 */
int bench_main(int argc, char **argv)
{
	struct bench *b = xcalloc(1, sizeof(*b));
	unsigned int i, k;
	u64 state;

	params_default(&b->tx.p);
	b->tx.addr = "127.0.0.1";
	b->rx.addr = "127.0.0.1";
	b->count = 1 << 20;
	b->dgrams = 64;
	b->rx_pn = QOFF_PN_NONE;
	parse_args(b, argc, argv);
	make_ends(b);
	b->out.buf = xcalloc(1, IO_BUF_SIZE);
	state = b->tx.p.seed;
	for (i = 0; i < ROUNDS_MADE; i++)
		make_round(b, &b->rounds[i], &state);
	run(b);
	report(b);

	for (i = 0; i < ROUNDS_MADE; i++) {
		for (k = 0; k < b->rounds[i].n; k++)
			free(b->rounds[i].b[k].buf);
		free(b->rounds[i].b);
	}
	opener_free(&b->opener);
	free(b->out.buf);
	io_stop(&b->tx.io);
	io_stop(&b->rx.io);
	qoff_wipe(b, sizeof(*b));
	free(b);
	return EXIT_OK;
}
