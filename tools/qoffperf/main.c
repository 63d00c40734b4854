// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "session.h"

#define DEFAULT_PORT	4433

/* Options with a letter, or for one end only; params.c has the others. */
enum {
	OPT_JSON = 256,
	OPT_SECRET,
	OPT_KEYLOG,
	OPT_CPU,
	OPT_PARAM,		/* + index in param_table */
};

static const struct option own_options[] = {
	{ "server", no_argument, NULL, 's' },
	{ "client", required_argument, NULL, 'c' },
	{ "one-off", no_argument, NULL, '1' },
	{ "bind", required_argument, NULL, 'B' },
	{ "port", required_argument, NULL, 'p' },
	{ "file", required_argument, NULL, 'F' },
	{ "output", required_argument, NULL, 'O' },
	{ "interval", required_argument, NULL, 'i' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "secret", required_argument, NULL, OPT_SECRET },
	{ "keylog", required_argument, NULL, OPT_KEYLOG },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "help", no_argument, NULL, 'h' },
};

static const char usage_head[] =
"usage: qoffperf -s [-B ADDR] [-p PORT] [-1] [-F FILE] [-O FILE] [OPTIONS]\n"
"       qoffperf -c HOST [-p PORT] [-n BYTES] [-R] [-P N] [OPTIONS]\n"
"       qoffperf bench [OPTIONS]           (qoffperf bench --help)\n"
"\n"
"Moves bytes between two hosts in real QUIC 1-RTT packets, and counts. There is no\n"
"TLS: a TCP control connection carries the traffic secrets in the clear, so this is\n"
"for tests, not for secrets. UDP uses the server's ports PORT, PORT+1, ... (-P).\n"
"\n"
"  -s, --server            serve tests, one after the other\n"
"  -c, --client HOST       run a test; without -R the client sends\n"
"  -1, --one-off           server: end after one test\n"
"  -B, --bind ADDR         own address\n"
"  -p, --port PORT         control port and first UDP port (4433)\n"
"  -F, --file FILE         sender: payload (else generated from the seed)\n"
"  -O, --output FILE       receiver: store here\n"
"  -i, --interval SECONDS  progress lines (1; 0: none)\n"
"      --json              report as JSON on standard output\n"
"      --secret HEX        client: make all keys and connection IDs from this\n"
"      --keylog FILE       write the traffic secrets (mode 0600)\n"
"      --cpu N             run on this CPU only\n"
"  -h, --help\n"
"\n"
"The client chooses the test for both ends (letters: -n bytes, -R reverse,\n"
"-P parallel):\n";

static const char usage_tail[] =
"\nSizes take K, M, G, T (binary). Exit code: 0 done and equal, 1 failed, 2 usage,\n"
"3 the bytes received are wrong, 4 this kernel lacks what was asked for.\n";

static void print_param(const struct param *d, const struct params *def)
{
	unsigned int i;

	printf("      --%s", d->name);
	if (d->kind == PARAM_NUMBER)
		printf(" N (%" PRIu64 ")", param_get(def, d));
	for (i = 0; d->kind == PARAM_NAME && i <= d->hi; i++)
		if (*d->names[i])
			printf("%s%s", i && *d->names[i - 1] ? "|" : " ",
			       d->names[i]);
	if (d->kind == PARAM_NAME)
		printf(" (%s)", param_name(d, param_get(def, d)));
	printf("\n          %s\n", d->help);
}

static void usage(void)
{
	struct params def;
	unsigned int i;

	params_default(&def);
	fputs(usage_head, stdout);
	for (i = 0; i < param_count; i++)
		print_param(&param_table[i], &def);
	fputs(usage_tail, stdout);
}

struct args {
	bool server;
	bool one_off;
	const char *host;
	const char *bind_addr;
	u16 port;
	u8 secret[QOFF_MAX_SECRET];
	struct params p;
	struct local local;
};

static void set_param(struct params *p, const char *name, const char *value)
{
	const struct param *d = param_find(name);
	int err = param_set(p, d, value);

	if (err == -ERANGE)
		die(EXIT_USAGE, "--%s %s: out of range, %" PRIu64 " to %" PRIu64,
		    name, value, d->lo, d->hi);
	if (err)
		die(EXIT_USAGE, "--%s %s: not understood, see --help", name,
		    value);
}

static void set_cpu(const char *arg)
{
	cpu_set_t set;
	u64 cpu;

	if (parse_size(arg, &cpu) || cpu >= CPU_SETSIZE)
		die(EXIT_USAGE, "--cpu %s: not a CPU", arg);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die(EXIT_USAGE, "--cpu %s: %s", arg, strerror(errno));
}

static void set_port(struct args *a, const char *arg)
{
	u64 port;

	if (parse_size(arg, &port) || !port || port > UINT16_MAX - MAX_PARALLEL)
		die(EXIT_USAGE, "-p %s: not a port", arg);
	a->port = port;
}

static void set_interval(struct args *a, const char *arg)
{
	char *end;

	a->local.interval = strtod(arg, &end);
	if (end == arg || *end || !(a->local.interval >= 0) ||
	    a->local.interval > 3600)
		die(EXIT_USAGE, "-i %s: not a number of seconds", arg);
}

static void set_secret(struct args *a, const char *arg)
{
	if (hex_decode(arg, a->secret, sizeof(a->secret), &a->local.secret_len) ||
	    !a->local.secret_len)
		die(EXIT_USAGE, "--secret: 1 to %d bytes in hex",
		    QOFF_MAX_SECRET);
	a->local.secret = a->secret;
}

static void set_own(struct args *a, int opt, const char *arg)
{
	switch (opt) {
	case 's':
		a->server = true;
		break;
	case 'c':
		a->host = arg;
		break;
	case '1':
		a->one_off = true;
		break;
	case 'B':
		a->bind_addr = arg;
		break;
	case 'p':
		set_port(a, arg);
		break;
	case 'F':
		a->local.source = arg;
		break;
	case 'O':
		a->local.output = arg;
		break;
	case 'i':
		set_interval(a, arg);
		break;
	case OPT_JSON:
		a->local.json = true;
		break;
	case OPT_SECRET:
		set_secret(a, arg);
		break;
	case OPT_KEYLOG:
		a->local.keylog = arg;
		break;
	case OPT_CPU:
		set_cpu(arg);
		break;
	case 'n':
		set_param(&a->p, "bytes", arg);
		break;
	case 'R':
		set_param(&a->p, "reverse", NULL);
		break;
	case 'P':
		set_param(&a->p, "parallel", arg);
		break;
	case 'h':
		usage();
		exit(EXIT_OK);
	default:
		die(EXIT_USAGE, "see qoffperf --help");
	}
}

static void parse_args(struct args *a, int argc, char **argv)
{
	unsigned int own = ARRAY_SIZE(own_options), i;
	struct option *all;
	int opt;

	all = xcalloc(own + param_count + 1, sizeof(*all));
	memcpy(all, own_options, sizeof(own_options));
	for (i = 0; i < param_count; i++) {
		all[own + i].name = param_table[i].name;
		all[own + i].has_arg = param_table[i].kind == PARAM_FLAG ?
				       no_argument : required_argument;
		all[own + i].val = OPT_PARAM + i;
	}
	while ((opt = getopt_long(argc, argv, "sc:1B:p:F:O:i:n:RP:h", all,
				  NULL)) != -1) {
		if (opt >= OPT_PARAM)
			set_param(&a->p, param_table[opt - OPT_PARAM].name,
				  optarg);
		else
			set_own(a, opt, optarg);
	}
	free(all);
	if (optind < argc)
		die(EXIT_USAGE, "%s: not understood, see --help", argv[optind]);
}

int main(int argc, char **argv)
{
	struct args a = {
		.port = DEFAULT_PORT,
		.local = { .interval = 1 },
	};
	const char *why;
	int ret;

	signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && !strcmp(argv[1], "bench"))
		return bench_main(argc - 1, argv + 1);
	params_default(&a.p);
	parse_args(&a, argc, argv);
	if (a.server == !!a.host)
		die(EXIT_USAGE, "either -s or -c HOST, see --help");
	if (a.local.json)
		a.local.interval = 0;
	if (a.server)
		return server_main(a.bind_addr, a.port, &a.local, a.one_off);
	if (params_check(&a.p, &why))
		die(EXIT_USAGE, "%s", why);
	ret = client_main(a.host, a.bind_addr, a.port, &a.p, &a.local);
	qoff_wipe(a.secret, sizeof(a.secret));
	return ret;
}
