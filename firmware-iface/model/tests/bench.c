// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the data path does outside a VM: WQEs posted on function 0, completions
 * reaped on both, one thread, no capture; rates by its processor time. Gather, checksums made and verified.
 * Prints one JSON object.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "harness.h"

#define LOG_Q	10
#define BATCH	256
#define CSUM	(NM_ETH_L3_CSUM | NM_ETH_L4_CSUM)

/* This thread's processor time: others may share the machine. */
static u64 cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static u64 reap(struct h *h)
{
	struct nm_cqe *c;
	u64 n = 0;

	while (h_poll_tx(&h->f[0]))
		;
	while ((c = h_poll_rx(&h->f[1]))) {
		if (c->op_own >> 4 != NM_CQE_RESP_SEND || c->hds_ip_ext != 7) {
			fprintf(stderr, "bench: a bad completion\n");
			exit(1);
		}
		h_repost(&h->f[1]);
		n++;
	}
	return n;
}

/* Packets a second of frames of @frame bytes in all */
static double packets(struct h *h, u64 buf, u32 frame, double seconds)
{
	u32 len = h_frame(h_ptr(&h->f[0], buf), 4, 17, frame - 42, 1, 2), i;
	u64 begin = cpu_ns(), now, got = 0, sent = 0;

	do {
		for (i = 0; i < BATCH; i++)
			h_post(&h->f[0], buf, len, CSUM, 0, 0, i == BATCH - 1);
		sent += BATCH;
		h_doorbell(&h->f[0]);
		h_run(h);
		got += reap(h);
		now = cpu_ns();
	} while (now - begin < seconds * 1e9);
	if (got != sent) {
		fprintf(stderr, "bench: %llu sent, %llu came\n",
			(unsigned long long)sent, (unsigned long long)got);
		exit(1);
	}
	return got * 1e9 / (now - begin);
}

/* Payload bits a second of large sends */
static double lso(struct h *h, u64 buf, u32 mss, double seconds)
{
	u32 payload = mss * 44, i;
	u32 len = h_frame(h_ptr(&h->f[0], buf), 4, 6, payload, 1, 2);
	u64 begin = cpu_ns(), now, sent = 0;

	nm_wr16((u8 *)h_ptr(&h->f[0], buf) + 16, len - 14);
	do {
		for (i = 0; i < 16; i++)
			h_post(&h->f[0], buf, len, CSUM, 54, mss, i == 15);
		sent += 16;
		h_doorbell(&h->f[0]);
		h_run(h);
		reap(h);
		now = cpu_ns();
	} while (now - begin < seconds * 1e9);
	return sent * payload * 8e9 / (now - begin);
}

static double memcpy_rate(double seconds)
{
	u32 size = 64 << 20;
	u8 *a = malloc(size), *b = malloc(size);
	u64 begin, now, n = 0;

	memset(a, 1, size);
	memset(b, 2, size);
	begin = cpu_ns();
	do {
		memcpy(a, b, size);
		__asm__ volatile("" : : "r"(a) : "memory");
		n += size;
		now = cpu_ns();
	} while (now - begin < seconds * 1e9);
	free(a);
	free(b);
	return n * 8e9 / (now - begin);
}

int main(int argc, char **argv)
{
	double t = argc > 1 ? atof(argv[1]) : 1.0;
	struct rusage ru;
	struct h h;
	u64 buf;

	h_open(&h, NULL);
	h_init(&h.f[0]);
	h_init(&h.f[1]);
	h_queues(&h.f[0], LOG_Q, 2048);
	h_queues(&h.f[1], LOG_Q, 2048);
	buf = h_alloc(&h.f[0], 128 << 10, 4096);
	printf("{\"pps_64\":%.0f,\"pps_1472\":%.0f,\"lso_bits\":%.0f,\"memcpy_bits\":%.0f",
	       packets(&h, buf, 64, t), packets(&h, buf, 1472, t),
	       lso(&h, buf, 1448, t), memcpy_rate(t));
	getrusage(RUSAGE_SELF, &ru);
	printf(",\"max_rss_kib\":%ld}\n", ru.ru_maxrss);
	h_close(&h);
	return 0;
}
