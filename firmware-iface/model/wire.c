// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The cable between two ports, or from a port back to itself. A frame arrives
 * within the call that sent it unless the cable delays it; what is delayed
 * waits in a queue of bounded length, in order of arrival time.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pkt.h"
#include "port.h"
#include "trace.h"
#include "wire.h"

#define WIRE_QUEUE_MAX	65536
#define WIRE_BATCH	64

struct wire_frame {
	u64 due;
	u64 seq;
	u32 len;
	u8 to;
	u8 data[];
};

/**
 * struct nm_wire - the cable
 * @heap: frames under way, a binary heap by (due, seq)
 * @tap: what each port's cable leads to instead of a port; -1: a port
 * @busy_until: when each direction's line is free, for the rate limit
 */
struct nm_wire {
	struct nm_model *m;
	struct nm_pcap *pcap;
	struct nm_impair impair[NM_MAX_FN];
	int tap[NM_MAX_FN];
	u64 busy_until[NM_MAX_FN];
	u64 rng;
	u64 seq;
	struct wire_frame **heap;
	u32 nr;
	u32 cap;
};

void nm_wire_set_tap(struct nm_wire *w, unsigned int port, int fd)
{
	if (w->tap[port] >= 0)
		close(w->tap[port]);
	w->tap[port] = fd;
}

/* "t0" or "t0,t1": as many as there are ports */
static bool wire_open_taps(struct nm_wire *w, const char *names)
{
	unsigned int i;

	for (i = 0; i < w->m->nr_fn; i++) {
		u32 len = strcspn(names, ",");
		int fd = nm_tap_open(names, len);

		if (fd < 0) {
			fprintf(stderr, "TAP \"%.*s\": %s\n", (int)len, names,
				strerror(-fd));
			return false;
		}
		nm_wire_set_tap(w, i, fd);
		names += len + (names[len] == ',');
	}
	return true;
}

struct nm_wire *nm_wire_create(struct nm_model *m)
{
	struct nm_wire *w = calloc(1, sizeof(*w));
	unsigned int i;

	if (!w)
		return NULL;
	w->m = m;
	for (i = 0; i < NM_MAX_FN; i++)
		w->tap[i] = -1;
	if (m->opts.tap && !wire_open_taps(w, m->opts.tap)) {
		nm_wire_destroy(w);
		return NULL;
	}
	w->rng = 0x9e3779b97f4a7c15ull ^ ((u64)m->opts.seed << 17 | 1);
	if (m->opts.pcap) {
		w->pcap = nm_pcap_open(m->opts.pcap, m->nr_fn);
		if (!w->pcap) {
			nm_wire_destroy(w);
			return NULL;
		}
	}
	return w;
}

void nm_wire_destroy(struct nm_wire *w)
{
	unsigned int i;

	if (!w)
		return;
	while (w->nr)
		free(w->heap[--w->nr]);
	free(w->heap);
	if (w->pcap)
		nm_pcap_close(w->pcap);
	for (i = 0; i < NM_MAX_FN; i++)
		nm_wire_set_tap(w, i, -1);
	free(w);
}

struct nm_fn *nm_wire_peer(struct nm_fn *fn)
{
	struct nm_model *m = fn->model;

	if (m->opts.loopback || m->opts.tap || m->nr_fn == 1)
		return fn;
	return m->fn[!fn->idx];
}

struct nm_impair *nm_wire_impair(struct nm_fn *fn)
{
	return &fn->model->wire->impair[fn->idx];
}

/* xorshift64*: the same seed gives the same losses */
static u64 wire_random(struct nm_wire *w)
{
	w->rng ^= w->rng >> 12;
	w->rng ^= w->rng << 25;
	w->rng ^= w->rng >> 27;
	return (w->rng * 0x2545f4914f6cdd1dull) >> 16;
}

static bool wire_chance(struct nm_wire *w, u32 per_million)
{
	return per_million && wire_random(w) % 1000000 < per_million;
}

static bool heap_before(const struct wire_frame *a, const struct wire_frame *b)
{
	return a->due != b->due ? a->due < b->due : a->seq < b->seq;
}

static bool wire_enqueue(struct nm_wire *w, u8 to, const u8 *frame, u32 len,
			 u64 due)
{
	struct wire_frame *f;
	u32 i;

	if (w->nr == WIRE_QUEUE_MAX)
		return false;
	if (w->nr == w->cap) {
		u32 cap = w->cap ? w->cap * 2 : 256;
		void *h = realloc(w->heap, cap * sizeof(*w->heap));

		if (!h)
			return false;
		w->heap = h;
		w->cap = cap;
	}
	f = malloc(sizeof(*f) + len);
	if (!f)
		return false;
	f->due = due;
	f->seq = w->seq++;
	f->to = to;
	f->len = len;
	memcpy(f->data, frame, len);
	for (i = w->nr++; i && heap_before(f, w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = f;
	return true;
}

static struct wire_frame *wire_dequeue(struct nm_wire *w)
{
	struct wire_frame *top = w->heap[0], *last = w->heap[--w->nr];
	u32 i = 0, c;

	while ((c = 2 * i + 1) < w->nr) {
		if (c + 1 < w->nr && heap_before(w->heap[c + 1], w->heap[c]))
			c++;
		if (!heap_before(w->heap[c], last))
			break;
		w->heap[i] = w->heap[c];
		i = c;
	}
	w->heap[i] = last;
	return top;
}

static void wire_capture(struct nm_fn *fn, enum nm_pcap_dir dir, const u8 *frame,
			 u32 len, const char *comment)
{
	struct nm_wire *w = fn->model->wire;

	if (w->pcap)
		nm_pcap_write(w->pcap, fn->idx, dir, frame, len, comment);
}

/* Where the cable of @to leads to a TAP, what it delivers left that port. */
static void wire_deliver(struct nm_fn *to, const u8 *frame, u32 len)
{
	int tap = to->model->wire->tap[to->idx];

	if (tap >= 0) {
		if (write(tap, frame, len) != (ssize_t)len)
			nm_count(to, NM_CNT_tap_drops);
		return;
	}
	if (!nm_port_up(to)) {
		wire_capture(to, NM_PCAP_IN, frame, len, "dropped: link down");
		return;
	}
	wire_capture(to, NM_PCAP_IN, frame, len, NULL);
	nm_rx_frame(to, frame, len);
}

/* When the frame's last bit arrives; 0: at once */
static u64 wire_due(struct nm_fn *fn, struct nm_impair *im, u32 len)
{
	struct nm_wire *w = fn->model->wire;
	u64 now = fn->model->now_ns, at = now;

	if (im->rate_bps) {
		if (w->busy_until[fn->idx] < now)
			w->busy_until[fn->idx] = now;
		/* preamble, FCS and gap take their time as well */
		w->busy_until[fn->idx] += (len + 24) * 8000000000ull / im->rate_bps;
		at = w->busy_until[fn->idx];
	}
	if (wire_chance(w, im->reorder))
		return at;
	at += im->delay_ns;
	if (im->jitter_ns)
		at += wire_random(w) % im->jitter_ns;
	return at == now ? 0 : at;
}

void nm_wire_tx(struct nm_fn *fn, const u8 *frame, u32 len)
{
	struct nm_wire *w = fn->model->wire;
	struct nm_impair *im = &w->impair[fn->idx];
	struct nm_fn *to = nm_wire_peer(fn);
	u8 bad[NM_FRAME_MAX];
	u64 due;

	if (!nm_port_up(fn)) {
		nm_count(fn, NM_CNT_tx_link_drops);
		wire_capture(fn, NM_PCAP_OUT, frame, len, "dropped: link down");
		return;
	}
	nm_count(fn, NM_CNT_tx_packets);
	nm_count_add(fn, NM_CNT_tx_bytes, len);
	nm_port_count(&fn->port.tx, frame, len);
	if (wire_chance(w, im->loss)) {
		wire_capture(fn, NM_PCAP_OUT, frame, len, "dropped: wire loss");
		return;
	}
	if (wire_chance(w, im->corrupt)) {
		memcpy(bad, frame, len);
		bad[wire_random(w) % len] ^= 1 << wire_random(w) % 8;
		wire_capture(fn, NM_PCAP_OUT, frame, len, "corrupted by the wire");
		frame = bad;
	} else {
		wire_capture(fn, NM_PCAP_OUT, frame, len, NULL);
	}
	due = wire_due(fn, im, len);
	/* A loop never recurses: its frames go through the queue. */
	if (!due && to == fn && w->tap[fn->idx] < 0)
		due = fn->model->now_ns;
	if (!due)
		wire_deliver(to, frame, len);
	else
		wire_enqueue(w, to->idx, frame, len, due);
	if (wire_chance(w, im->dup))
		wire_enqueue(w, to->idx, frame, len,
			     due ? due : fn->model->now_ns);
}

static unsigned int wire_poll_tap(struct nm_fn *fn, int tap)
{
	u8 frame[NM_FRAME_MAX];
	unsigned int n;
	ssize_t len;

	for (n = 0; n < WIRE_BATCH; n++) {
		len = read(tap, frame, sizeof(frame));
		if (len < 14)
			break;
		if (len < NM_FRAME_MIN) {
			memset(frame + len, 0, NM_FRAME_MIN - len);
			len = NM_FRAME_MIN;
		}
		wire_capture(fn, NM_PCAP_IN, frame, len,
			     nm_port_up(fn) ? NULL : "dropped: link down");
		if (nm_port_up(fn))
			nm_rx_frame(fn, frame, len);
	}
	return n;
}

unsigned int nm_wire_fds(struct nm_wire *w, struct pollfd *pf)
{
	unsigned int i, n = 0;

	for (i = 0; i < NM_MAX_FN; i++)
		if (w->tap[i] >= 0)
			pf[n++] = (struct pollfd){ .fd = w->tap[i],
						   .events = POLLIN };
	return n;
}

bool nm_wire_poll(struct nm_wire *w)
{
	unsigned int n = 0, got = 0, i;

	for (i = 0; i < w->m->nr_fn; i++)
		if (w->tap[i] >= 0)
			got += wire_poll_tap(w->m->fn[i], w->tap[i]);

	while (w->nr && w->heap[0]->due <= w->m->now_ns && n++ < WIRE_BATCH) {
		struct wire_frame *f = wire_dequeue(w);

		wire_deliver(w->m->fn[f->to], f->data, f->len);
		free(f);
	}
	return n || got;
}

u64 nm_wire_next(struct nm_wire *w)
{
	return w->nr ? w->heap[0]->due : ~0ull;
}
