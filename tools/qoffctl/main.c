// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qoffctl: devices, sockets, contexts and flows of the kernel's QUIC offload.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "out.h"

static const char help[] =
"NAME\n"
"    qoffctl - control the kernel's QUIC offload\n"
"\n"
"SYNOPSIS\n"
"    qoffctl [--json] COMMAND\n"
"\n"
"COMMANDS\n"
"    dev list                  devices of this network namespace that offload QUIC\n"
"    dev show DEV              one of them\n"
"    dev set DEV SETTING...    change settings, all of them or none; needs\n"
"                              CAP_NET_ADMIN. A SETTING is one of\n"
"        quic-gso on|off         segmentation of packets of different lengths\n"
"        quic-gro on|off         coalescing of them on receive\n"
"        quic-tx-crypto on|off   sealing, needs quic-gso\n"
"        quic-rx-crypto on|off   opening\n"
"        tap-policy seal|allow   while a packet tap watches a device that seals:\n"
"                                seal in software, or let it see plaintext\n"
"    dev stats DEV             its counters\n"
"    monitor [--count N]       events as they come: devices, keys near their limit\n"
"    sock list                 attached sockets of processes that may be traced\n"
"    sock show --pid P --fd N  one of them\n"
"    ctx list --pid P --fd N   sending contexts of that socket's group\n"
"    ctx show --pid P --fd N --id I\n"
"    flow show --pid P --fd N --id I\n"
"                              a receiving flow of that socket's group\n"
"    help                      this text\n"
"\n"
"    On a kernel with the patch the features are switches of 'ethtool -K DEV', and\n"
"    only there ('dev show' says which); the tap policy is always set here.\n"
"\n"
"OPTIONS\n"
"    --json      one JSON array; monitor: one object a line\n"
"    --help      this text\n"
"\n"
"EXIT STATUS\n"
"    0 done, 1 the kernel refused (why and what to do is on stderr), 2 usage\n"
"\n"
"EXAMPLES\n"
"    qoffctl dev set eth0 quic-gso on quic-tx-crypto on\n"
"    qoffctl --json dev stats eth0 | jq '.[0].stats[\"tx-dev\"]'\n";

int usage_error(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "qoffctl: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nTry 'qoffctl --help'.\n");
	return EXIT_USAGE;
}

int failed(const char *what, int err)
{
	const char *hint = NULL;

	switch (-err) {
	case EPERM:
		hint = "CAP_NET_ADMIN in the device's network namespace is needed";
		break;
	case ENODEV:
		hint = "its driver does not offload QUIC, or not yet: see 'qoffctl dev list'";
		break;
	case ENOTCONN:
		hint = "only attached sockets have contexts and flows: see 'qoffctl sock list'";
		break;
	}
	fprintf(stderr, "qoffctl: %s: %s\n", what, *qoff_error() ? qoff_error() : strerror(-err));
	if (hint)
		fprintf(stderr, "  %s\n", hint);
	return EXIT_FAILED;
}

bool parse_u64(const char *s, uint64_t max, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(s, &end, 10);
	return *s >= '0' && *s <= '9' && !*end && !errno && *v <= max;
}

static const struct {
	const char *name;
	int (*fn)(int argc, char **argv);
} commands[] = {
	{ "dev", cmd_dev },
	{ "monitor", cmd_monitor },
	{ "sock", cmd_sock },
	{ "ctx", cmd_ctx },
	{ "flow", cmd_flow },
};

struct qoff *ctl(void)
{
	static struct qoff *q;

	if (!q)
		q = qoff_open(QOFF_KERNEL);
	if (!q)
		exit(failed("kernel", -errno));
	return q;
}

static int run(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(argv[0], commands[i].name))
			return commands[i].fn(argc - 1, argv + 1);
	}
	return usage_error("unknown command: %s", argv[0]);
}

int main(int argc, char **argv)
{
	for (argc--, argv++; argc && argv[0][0] == '-'; argc--, argv++) {
		if (!strcmp(argv[0], "--json")) {
			out_json(true);
		} else if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
			fputs(help, stdout);
			return EXIT_OK;
		} else {
			return usage_error("unknown option: %s", argv[0]);
		}
	}
	if (!argc)
		return usage_error("no command");
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[0], "help")) {
			fputs(help, stdout);
			return EXIT_OK;
		}
	}
	return run(argc, argv);
}
