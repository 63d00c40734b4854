// SPDX-License-Identifier: GPL-2.0
/*
 * Holds an attached socket with a context and a flow until its standard input ends,
 * for tests that look at it from outside. Prints: descriptor, context, flow.
 */
#include "qoff_test.h"

int main(int argc, char **argv)
{
	struct sockaddr_storage local = parse_addr("127.0.0.1"), remote = parse_addr("127.0.0.2");
	struct qoff *q = qoff_open(QOFF_KERNEL);
	uint64_t seed = 3;
	struct qoff_keys tx = rnd_keys(&seed, QUIC_OFFLOAD_CIPHER_AES_128_GCM);
	struct qoff_keys rx = rnd_keys(&seed, QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305);
	struct qoff_ctx_param ctx = { .keys = &tx, .dcid_len = 8, .first_pn = 17 };
	struct qoff_flow_param flow = {
		.local = (void *)&local, .remote = (void *)&remote, .dcid = "\1\2\3\4", .dcid_len = 4,
		.keys = &rx, .cookie = 4711, .key_gen = 5, .largest_pn = 99,
	};
	struct qoff_ctx_id id;
	struct qoff_sock *s;
	uint32_t flow_id;
	char c;
	int fd;

	MUST(q);
	fd = udp_socket(&local);
	((struct sockaddr_in *)&remote)->sin_port = htons(4433);
	MUST(!qoff_attach(q, fd, -1, 4, 0, &s));
	MUST(!qoff_ctx_add(s, &ctx, &id));
	MUST(!qoff_flow_add(s, &flow, &flow_id));
	printf("%d %u %u\n", fd, id.id, flow_id);
	fflush(stdout);
	while (read(0, &c, 1) == 1)
		;
	qoff_close(q);
	return 0;
}
