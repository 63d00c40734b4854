// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* qoff-fw: what a device's firmware says and does, from user space. */
#include <stdio.h>
#include <string.h>

#include "fw.h"

static const char usage[] =
"usage: qoff-fw caps DEVICE\n"
"       qoff-fw selftest [--stop] DEVICE [DEVICE]\n"
"\n"
"  caps      prints the QUIC capability group; 3 when the device has none\n"
"  selftest  sends from the first device what the second receives (or the same, where its\n"
"            port is looped), and compares every byte with OpenSSL; TAP on standard output.\n"
"            --stop: end at the first failure\n"
"\n"
"DEVICE is an RDMA device (rdma link, ibv_devices). Only mlx5_ib is needed.\n";

#define CAPS(X)									\
	X(version) X(tx_ciphers) X(rx_ciphers) X(tx_explicit_pn) X(tx_tracked_pn)	\
	X(tx_pn_check) X(tag_room) X(tag_insert) X(lso_fixed) X(lso_var) X(lso_pn_skip)	\
	X(fail_drop) X(fail_modified) X(fail_original) X(gro_equal) X(gro_var)		\
	X(dcid_match) X(dcid_rss) X(ctx_wqe) X(ctx_lookup) X(multipath_nonce)		\
	X(object_change_event) X(dcid_len_supported) X(log_max_quic_ctx)		\
	X(log_max_lso_bytes) X(min_packet_len) X(pn_window_log) X(max_lso_segs)		\
	X(max_gro_segs) X(max_gro_bytes) X(concurrent_protocols) X(gro_sessions)	\
	X(max_tx_ctx) X(max_rx_ctx) X(reserved_tx_ctx) X(reserved_rx_ctx)

static int caps(struct fw_dev *d)
{
	if (!d->have_cap) {
		printf("%s: no QUIC capability group\n", d->name);
		return 3;
	}
#define X(f) printf("%-22s %#x\n", #f, FW_CAP(d, f));
	CAPS(X)
#undef X
	return 0;
}

int main(int argc, char **argv)
{
	struct fw_dev tx, rx;
	bool stop = argc > 2 && !strcmp(argv[2], "--stop");
	int ret;

	if (stop) {
		argv[2] = argv[1];
		argv++;
		argc--;
	}
	if (argc < 3 || argc > 4 || (strcmp(argv[1], "caps") && strcmp(argv[1], "selftest")) ||
	    (!strcmp(argv[1], "caps") && argc != 3)) {
		fputs(usage, stderr);
		return 2;
	}
	if (!fw_open(&tx, argv[2]))
		return 1;
	if (!strcmp(argv[1], "caps")) {
		ret = caps(&tx);
		fw_close(&tx);
		return ret;
	}
	if (!tx.have_cap) {
		printf("1..0 # SKIP %s has no QUIC capability group\n", tx.name);
		return 3;
	}
	if (!fw_queues(&tx) || !fw_open(&rx, argv[argc - 1]) || !fw_queues(&rx))
		return 1;
	ret = fw_selftest(&tx, &rx, stop);
	fw_close(&rx);
	fw_close(&tx);
	return ret;
}
