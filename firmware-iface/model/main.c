// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* nicmodel: options and start. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl.h"
#include "quic.h"
#include "server.h"

static const char usage[] =
"usage: nicmodel --socket PATH [--socket PATH] [options]\n"
"       nicmodel ctl SOCKET CMD [KEY=VALUE]... | {JSON}\n"
"  --socket PATH        vfio-user socket of a function; one or two\n"
"  --wire back-to-back  two functions, one cable (the default for two)\n"
"  --wire loop          each port's cable comes back to itself\n"
"  --wire tap:A[,B]     each port's cable leads to a TAP device\n"
"  --ctl PATH           control socket\n"
"  --pcap FILE          capture both ends of the wire (pcapng)\n"
"  --trace FILE[:KINDS] vfu,cmd,db,cqe,eqe,pkt,err or all; \"-\" is stderr\n"
"  --caps full|minimal  capabilities; minimal is what the drivers cannot do without\n"
"  --cmd-timeout MS     how long the driver is told to wait for a command\n"
"  --quic SPEC          the QUIC extension: off (the default), on, or on with fields of its\n"
"                       capability group cleared or set: on,-lso_var,max_lso_segs=16\n"
"  --seed N             of the wire's losses\n"
"  --once               end when every function's client has gone\n";

static int parse(int argc, char **argv, struct nm_opts *o)
{
	static const struct option opts[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "wire", required_argument, NULL, 'w' },
		{ "ctl", required_argument, NULL, 'c' },
		{ "pcap", required_argument, NULL, 'p' },
		{ "trace", required_argument, NULL, 't' },
		{ "caps", required_argument, NULL, 'm' },
		{ "cmd-timeout", required_argument, NULL, 'd' },
		{ "quic", required_argument, NULL, 'q' },
		{ "seed", required_argument, NULL, 'r' },
		{ "once", no_argument, NULL, 'o' },
		{ }
	};
	u8 cap[QOFF_MLX5_BYTES(quic_cap)] = { };
	int c;

	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (c) {
		case 's':
			if (o->nr_fn == NM_MAX_FN)
				return -1;
			o->socket[o->nr_fn++] = optarg;
			break;
		case 'w':
			if (!strcmp(optarg, "loop"))
				o->loopback = true;
			else if (!strncmp(optarg, "tap:", 4))
				o->tap = optarg + 4;
			else if (strcmp(optarg, "back-to-back"))
				return -1;
			break;
		case 'c':
			o->ctl = optarg;
			break;
		case 'p':
			o->pcap = optarg;
			break;
		case 't':
			o->trace = optarg;
			break;
		case 'm':
			if (!strcmp(optarg, "minimal"))
				o->minimal_caps = true;
			else if (strcmp(optarg, "full"))
				return -1;
			break;
		case 'd':
			o->cmd_timeout_ms = strtoul(optarg, NULL, 0);
			if (!o->cmd_timeout_ms || o->cmd_timeout_ms >= 1 << 20)
				return -1;
			break;
		case 'q':
			if (!nm_quic_caps_parse(optarg, cap))
				return -1;
			o->quic = optarg;
			break;
		case 'r':
			o->seed = strtoul(optarg, NULL, 0);
			break;
		case 'o':
			o->once = true;
			break;
		default:
			return -1;
		}
	}
	return o->nr_fn && optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct nm_opts opts = { .seed = 1 };
	struct nm_model *m;
	int err;

	if (argc > 1 && !strcmp(argv[1], "ctl"))
		return nm_ctl_main(argc - 2, argv + 2);
	if (parse(argc, argv, &opts)) {
		fputs(usage, stderr);
		return 2;
	}
	m = nm_model_create(&opts);
	if (!m) {
		fprintf(stderr, "nicmodel: cannot set up the model\n");
		return 1;
	}
	err = nm_server_run(m);
	nm_model_destroy(m);
	return err ? 1 : 0;
}
