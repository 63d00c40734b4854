/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two sockets and a connection between them, for the tests of bad input, which run
 * against one backend or both.
 */
#ifndef BAD_INPUT_H
#define BAD_INPUT_H

#include <getopt.h>
#include <netinet/udp.h>

#include "qoff_test.h"

#ifndef SOL_UDP
#define SOL_UDP 17
#endif

#define DCID_LEN 4
#define PN_LEN 2

static const uint8_t dcid[DCID_LEN] = { 0xd, 0xc, 0x1, 0xd };

/**
 * struct world - two sockets and a connection between them
 * @q: handle
 * @backend: its backend
 * @fa: descriptor of @a
 * @fb: descriptor of @b
 * @a: sends
 * @b: receives
 * @sa: address of @a
 * @sb: address of @b
 * @keys: of the connection
 * @grease_keys: of @grease
 * @ctx: @a's context
 * @grease: @a's context that allows a clear fixed bit
 * @flow: @b's
 * @seed: of everything random
 */
struct world {
	struct qoff *q;
	enum qoff_backend backend;
	int fa, fb;
	struct qoff_sock *a, *b;
	struct sockaddr_storage sa, sb;
	struct qoff_keys keys, grease_keys;
	struct qoff_ctx_id ctx, grease;
	uint32_t flow;
	uint64_t seed;
};

static inline void world_open(struct world *w, enum qoff_backend backend, const char *addr)
{
	struct qoff_ctx_param c = { .keys = &w->keys, .dcid_len = DCID_LEN, .first_pn = 1000 };
	struct qoff_flow_param f = { .dcid = dcid, .dcid_len = DCID_LEN, .keys = &w->keys,
				     .largest_pn = 999, .key_gen = 1 };

	memset(w, 0, sizeof(*w));
	w->seed = 42;
	w->backend = backend;
	w->q = qoff_open(backend);
	MUST(w->q);
	w->sa = parse_addr(addr);
	w->sb = w->sa;
	w->fa = udp_socket(&w->sa);
	w->fb = udp_socket(&w->sb);
	MUST(!qoff_attach(w->q, w->fa, -1, 0, 0, &w->a));
	MUST(!qoff_attach(w->q, w->fb, -1, DCID_LEN, 0, &w->b));
	w->keys = rnd_keys(&w->seed, QUIC_OFFLOAD_CIPHER_AES_128_GCM);
	w->grease_keys = rnd_keys(&w->seed, QUIC_OFFLOAD_CIPHER_AES_256_GCM);
	MUST(!qoff_ctx_add(w->a, &c, &w->ctx));
	c.keys = &w->grease_keys;
	c.first_pn = 0;
	c.flags = QUIC_OFFLOAD_CTX_FLAG_GREASE_FIXED_BIT;
	MUST(!qoff_ctx_add(w->a, &c, &w->grease));
	f.local = (void *)&w->sb;
	f.remote = (void *)&w->sa;
	MUST(!qoff_flow_add(w->b, &f, &w->flow));
}

static inline void world_close(struct world *w)
{
	qoff_close(w->q);
	close(w->fa);
	close(w->fb);
}

static inline int usage(FILE *f, const char *name)
{
	fprintf(f,
		"usage: %s [--backend kernel|user] [--addr ADDR]... [--mtu]\n"
		"Against one backend, or against both if the kernel has the module; over the\n"
		"device that ADDR is on (127.0.0.1). --mtu: its MTU is 1500, test that too.\n", name);
	return f == stderr ? 2 : 0;
}

/* Runs @fn against the backends and addresses of the command line. */
static inline int bad_input_main(int argc, char **argv,
				 void (*fn)(enum qoff_backend backend, const char *addr, bool mtu))
{
	static const struct option longs[] = {
		{ "backend", 1, NULL, 'b' }, { "addr", 1, NULL, 'a' }, { "mtu", 0, NULL, 'm' },
		{ "help", 0, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	const char *backend = NULL, *addr[4] = { "127.0.0.1" };
	bool mtu = false;
	struct qoff *q;
	int c, n = 0;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'b')
			backend = optarg;
		else if (c == 'a' && n < 4)
			addr[n++] = optarg;
		else if (c == 'm')
			mtu = true;
		else
			return usage(c == 'h' ? stdout : stderr, argv[0]);
	}
	printf("TAP version 13\n");
	for (int i = 0; i < (n ? n : 1); i++) {
		printf("# %s\n", addr[i]);
		if (!backend || !strcmp(backend, "user"))
			fn(QOFF_USER, addr[i], mtu);
		if (backend && strcmp(backend, "kernel"))
			continue;
		q = qoff_open(QOFF_KERNEL);
		if (!q && !backend) {
			ksft_skipped("kernel", "no module");
			continue;
		}
		qoff_close(q);
		fn(QOFF_KERNEL, addr[i], mtu);
	}
	return ksft_end();
}

#endif /* BAD_INPUT_H */
