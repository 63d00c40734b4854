// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Everything that a guest controls, with bytes it should not hold: vfio-user
 * messages, commands, WQEs, steering entries and frames. Seeded: a failing run
 * is repeated by its seed. Meant for the build with sanitizers; what a case
 * must not do is crash, read outside its mappings, or run for long.
 *
 *   fuzz CASES [SEED]
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "pass_fds.h"
#include "../vfu.h"

#define MAX_NS	2000000000ull	/* for one case, sanitizers included */

static u64 rng;

static u32 rnd(void)
{
	rng ^= rng >> 12;
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return (rng * 0x2545f4914f6cdd1dull) >> 32;
}

static u32 below(u32 n)
{
	return n ? rnd() % n : 0;
}

/* Mostly zeros with islands of bytes: enough structure to get past checks */
static void scribble(u8 *p, u32 len)
{
	u32 n = below(12), i;

	for (i = 0; i < n && len >= 8; i++) {
		u32 at = below(len - 7);

		switch (below(4)) {
		case 0:
			p[at] = rnd();
			break;
		case 1:
			nm_wr32(p + (at & ~3u), below(100));
			break;
		case 2:
			nm_wr32(p + (at & ~3u), rnd());
			break;
		default:
			memset(p + at, 0xff, 1 + below(7));
		}
	}
}

static void slow_check(u64 begin, const char *what, u32 i)
{
	if (nm_clock_ns() - begin < MAX_NS)
		return;
	fprintf(stderr, "fuzz: %s case %u took too long\n", what, i);
	exit(1);
}

/* --- commands --- */

static u16 any_opcode(void)
{
	u32 op;

	if (!below(50))
		return rnd();
	do {
		op = 0x100 + below(0xb20 - 0x100);
	} while (!nm_cmd_desc(op));
	return op;
}

/* Commands that end the session are rare, or nothing else would be reached. */
static bool ends_it(u16 op)
{
	return op == MLX5_CMD_OP_TEARDOWN_HCA || op == MLX5_CMD_OP_DISABLE_HCA;
}

static void fuzz_cmds(u32 cases)
{
	struct h h;
	u32 i;

	h_open(&h, NULL);
	h_init(&h.f[0]);
	h_init(&h.f[1]);
	h_queues(&h.f[0], 5, 2048);
	h_queues(&h.f[1], 5, 2048);
	for (i = 0; i < cases; i++) {
		u16 op = any_opcode();
		const struct nm_cmd_desc *d = nm_cmd_desc(op);
		u32 in_len = (d ? d->in_min : 64) + below(3) * 8 * below(40);
		u32 out_len = 8 + (below(3) ? 8 : below(6000));
		u8 *in, *out;
		u64 begin = nm_clock_ns();

		if (ends_it(op) && below(200))
			continue;
		if (!below(20))
			in_len = 8 + below(in_len);
		in = calloc(1, in_len);
		out = calloc(1, out_len);
		scribble(in, in_len);
		nm_wr16(in, op);
		nm_wr16(in + 2, below(4) ? 0 : below(4));
		if (below(8))
			nm_wr16(in + 6, below(3));
		if (below(2) && in_len >= 12)
			nm_wr32(in + 8, below(200));
		h_cmd(&h.f[0], in, in_len, out, out_len);
		free(in);
		free(out);
		while (nm_engine_poll(h.m))
			;
		slow_check(begin, "command", i);
		if (h.f[0].fn->state != NM_FN_READY) {
			nm_fn_reset(h.f[0].fn);
			h.f[0].brk = H_MEM_BASE;
			h_init(&h.f[0]);
		}
	}
	h_close(&h);
}

/* --- WQEs, both ways, and frames --- */

static void sq_restart(struct h_fn *f)
{
	u8 mod[NM_BYTES(modify_sq_in)] = { }, out[16];
	void *sqc = NM_PTR(modify_sq_in, mod, ctx);

	nm_wr16(mod, MLX5_CMD_OP_MODIFY_SQ);
	NM_SET(modify_sq_in, mod, sqn, f->sqn);
	NM_SET(modify_sq_in, mod, sq_state, 3);
	H_CMD(f, mod, out);
	NM_SET(modify_sq_in, mod, sq_state, 0);
	NM_SET(sqc, sqc, state, 1);
	H_CMD(f, mod, out);
	f->pi_tx = 0;
}

static void rq_restart(struct h_fn *f)
{
	u8 mod[NM_BYTES(modify_rq_in)] = { }, out[16];
	void *rqc = NM_PTR(modify_rq_in, mod, ctx);

	nm_wr16(mod, MLX5_CMD_OP_MODIFY_RQ);
	NM_SET(modify_rq_in, mod, rqn, f->rqn);
	NM_SET(modify_rq_in, mod, rq_state, 3);
	H_CMD(f, mod, out);
	NM_SET(modify_rq_in, mod, rq_state, 0);
	NM_SET(rqc, rqc, state, 1);
	H_CMD(f, mod, out);
	f->pi_rx = 1u << f->log_q;
	nm_wr32(h_ptr(f, f->dbr_rq), f->pi_rx);
}

static void fuzz_wqes(u32 cases)
{
	struct h h;
	u64 buf;
	u32 i, k;

	h_open(&h, NULL);
	h_init(&h.f[0]);
	h_init(&h.f[1]);
	h_queues(&h.f[0], 5, 2048);
	h_queues(&h.f[1], 5, 2048);
	buf = h_alloc(&h.f[0], 128 << 10, 4096);
	for (i = 0; i < cases; i++) {
		static const u8 protos[] = { 6, 17, 1, 50 };
		u64 begin = nm_clock_ns();
		struct h_fn *a = &h.f[0], *b = &h.f[1];
		u32 len = h_frame(h_ptr(a, buf), below(2) ? 4 : 6,
				  protos[below(4)], below(3000), rnd(), rnd());
		u32 n = 1 + below(6), at;

		scribble(h_ptr(a, buf), below(80));
		for (k = 0; k < n; k++) {
			at = a->pi_tx;
			h_post(a, buf, len, rnd(), below(3) ? 54 : below(200),
			       below(2) ? 0 : below(3000), below(2));
			if (below(2))
				scribble(h_ptr(a, a->sq + (at & 0x3f) * 64ull), 64);
		}
		if (!below(8))
			scribble(h_ptr(b, b->rq), 16 << b->log_q);
		if (!below(40))
			a->pi_tx += below(0x10000);
		h_doorbell(a);
		h_run(&h);
		while (h_poll_tx(a))
			;
		while (h_poll_rx(b))
			h_repost(b);
		slow_check(begin, "WQE", i);
		if (!below(4)) {
			sq_restart(a);
			rq_restart(b);
			for (k = 0; k < 1u << b->log_q; k++) {
				struct nm_wqe_data *d = h_ptr(b, b->rq + k * 16ull);

				d->byte_count = htobe32(2048);
				d->lkey = htobe32(b->mkey);
				d->addr = htobe64(b->rx_buf + k * 2048ull);
			}
		}
	}
	h_close(&h);
}

static void fuzz_frames(u32 cases)
{
	static const u8 protos[] = { 6, 17, 1, 50, 51, 0, 44, 43 };
	u8 frame[4096];
	struct h h;
	u32 i;

	h_open(&h, NULL);
	h_init(&h.f[0]);
	h_init(&h.f[1]);
	h_queues(&h.f[1], 5, 2048);
	for (i = 0; i < cases; i++) {
		u32 len = h_frame(frame, below(2) ? 4 : 6, protos[below(8)],
				  below(1500), rnd(), rnd());
		u8 *exact;

		scribble(frame, below(120));
		len = 14 + below(len);
		/* its own allocation: a byte too far is seen */
		exact = malloc(len);
		memcpy(exact, frame, len);
		nm_rx_frame(h.f[1].fn, exact, len);
		free(exact);
		while (h_poll_rx(&h.f[1]))
			h_repost(&h.f[1]);
	}
	h_close(&h);
}

/* --- vfio-user --- */

static void fuzz_vfu(u32 cases)
{
	struct nm_opts o = { .nr_fn = 1, .loopback = true };
	struct nm_model *m = nm_model_create(&o);
	struct nm_vfu v = { .fn = m->fn[0], .fd = -1 };
	int fd = memfd_create("guest", MFD_CLOEXEC), sv[2] = { -1, -1 };
	u32 i;

	if (ftruncate(fd, 1 << 20))
		exit(1);
	for (i = 0; i < NM_MSIX_VECTORS; i++)
		v.irq[i] = -1;
	for (i = 0; i < cases; i++) {
		u8 msg[sizeof(struct vfu_hdr) + 256] = { }, sink[8192];
		struct vfu_hdr *hd = (void *)msg;
		char cbuf[CMSG_SPACE(sizeof(int))] = { };
		u32 body = below(3) ? 16 + below(5) * 8 : below(256);
		struct iovec iov = { msg, sizeof(*hd) + body };
		struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

		if (v.fd < 0) {
			close(sv[1]);
			if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sv))
				exit(1);
			v.fd = sv[0];
			v.negotiated = true;
		}
		scribble(msg + sizeof(*hd), body);
		if (below(4))	/* argsz, and an aligned address now and then */
			memcpy(msg + sizeof(*hd), &(u32){ 20 + below(3) * 12 }, 4);
		if (below(2))
			msg[sizeof(*hd) + 4] = below(64);
		if (below(2))
			memcpy(msg + sizeof(*hd) + 24, &(u64){ below(8) * 4096 }, 8);
		*hd = (struct vfu_hdr){
			.id = i, .cmd = below(30) ? 1 + below(16) : rnd(),
			.size = sizeof(*hd) + (below(60) ? body : rnd()),
			.flags = below(30) ? 0 : rnd(),
		};
		if (!below(3))
			pass_fds(&mh, cbuf, &fd, 1);
		if (sendmsg(sv[1], &mh, MSG_NOSIGNAL) < 0 || !nm_vfu_input(&v))
			nm_vfu_drop(&v);
		while (recv(sv[1], sink, sizeof(sink), 0) > 0)
			;
		while (nm_engine_poll(m))
			;
	}
	nm_vfu_drop(&v);
	close(sv[1]);
	close(fd);
	nm_model_destroy(m);
}

int main(int argc, char **argv)
{
	u32 cases = argc > 1 ? strtoul(argv[1], NULL, 0) : 20000;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	static const struct {
		const char *name;
		void (*fn)(u32 cases);
	} targets[] = {
		{ "commands", fuzz_cmds }, { "wqes", fuzz_wqes },
		{ "frames", fuzz_frames }, { "vfio-user", fuzz_vfu },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		rng = seed * 0x9e3779b97f4a7c15ull | 1;
		targets[i].fn(cases);
		printf("ok fuzz %s: %u cases, seed %llu\n", targets[i].name,
		       cases, (unsigned long long)seed);
		fflush(stdout);
	}
	return 0;
}
