// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The engine thread: doorbells, commands, work queues, wire, timers. */
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "bf.h"
#include "cmd.h"
#include "quic_gro.h"
#include "queue.h"
#include "trace.h"
#include "wire.h"

#define ENGINE_DB_BATCH		256
#define ENGINE_SPIN_NS		20000

/*
 * Server thread only. A full ring loses nothing that matters: the engine then
 * looks at every queue's doorbell record instead.
 */
void nm_db_push(struct nm_fn *fn, enum nm_db_type type, u32 page, u64 val)
{
	struct nm_db_ring *r = &fn->db;
	u32 head = atomic_load_explicit(&r->head, memory_order_relaxed);
	u32 tail = atomic_load_explicit(&r->tail, memory_order_acquire);

	if (head - tail == NM_DB_RING) {
		atomic_store(&r->overflow, true);
	} else {
		r->ent[head % NM_DB_RING] = (struct nm_db){
			.type = type, .page = page, .val = val,
		};
		atomic_store_explicit(&r->head, head + 1, memory_order_release);
	}
	nm_engine_kick(fn->model);
}

bool nm_db_full(struct nm_fn *fn)
{
	return atomic_load(&fn->db.head) - atomic_load(&fn->db.tail) == NM_DB_RING;
}

void nm_engine_kick(struct nm_model *m)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&m->sleeping))
		eventfd_write(m->kick_fd, 1);
}

static void engine_db(struct nm_fn *fn, const struct nm_db *db)
{
	switch (db->type) {
	case NM_DB_CMD:
		fn->cmd_pending |= db->val;
		break;
	case NM_DB_SQ:
		nm_sq_doorbell(fn, db->page, db->val);
		break;
	case NM_DB_BF:
		nm_bf_doorbell(fn, db->page, db->val);
		break;
	case NM_DB_CQ:
		nm_cq_doorbell(fn, db->page, db->val);
		break;
	case NM_DB_EQ:
	case NM_DB_EQ_ARM:
		nm_eq_doorbell(fn, db->page, db->val, db->type == NM_DB_EQ_ARM);
		break;
	}
}

static bool engine_drain(struct nm_fn *fn)
{
	struct nm_db_ring *r = &fn->db;
	u32 tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	u32 head = atomic_load_explicit(&r->head, memory_order_acquire);
	unsigned int n = 0;

	while (tail != head && n++ < ENGINE_DB_BATCH)
		engine_db(fn, &r->ent[tail++ % NM_DB_RING]);
	atomic_store_explicit(&r->tail, tail, memory_order_release);
	if (tail == head && atomic_exchange(&r->overflow, false)) {
		nm_count(fn, NM_CNT_db_lost);
		nm_queue_scan(fn);
		fn->cmd_pending = ~0u;
		n++;
	}
	return n;
}

static bool engine_fn(struct nm_fn *fn)
{
	bool busy = engine_drain(fn);
	u32 slots = fn->cmd_pending;

	if (slots) {
		fn->cmd_pending = 0;
		nm_cmd_run_slots(fn, slots);
		busy = true;
	}
	if (fn->cmd_delayed && nm_cmd_run_delayed(fn))
		busy = true;
	if (nm_sq_run(fn))
		busy = true;
	return busy;
}

/* One bounded batch, under the lock. False: nothing was to do. */
bool nm_engine_poll(struct nm_model *m)
{
	bool busy = false;
	unsigned int i;

	m->now_ns = nm_clock_ns();
	for (i = 0; i < m->nr_fn; i++)
		busy |= engine_fn(m->fn[i]);
	busy |= nm_wire_poll(m->wire);
	for (i = 0; i < m->nr_fn; i++)
		nm_quic_gro_poll(m->fn[i], busy);
	for (i = 0; i < m->nr_fn; i++)
		nm_cq_moderate(m->fn[i], m->now_ns);
	return busy;
}

static u64 earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Nanoseconds until a timer needs the engine; -1: none does. */
static s64 engine_next(struct nm_model *m)
{
	u64 next = nm_wire_next(m->wire);
	unsigned int i;

	for (i = 0; i < m->nr_fn; i++) {
		struct nm_fn *fn = m->fn[i];

		next = earlier(next, nm_cq_next(fn));
		next = earlier(next, nm_cmd_next(fn));
		if (fn->sq_active)
			next = earlier(next, fn->sq_due);
	}
	if (next == ~0ull)
		return -1;
	return next > m->now_ns ? (s64)(next - m->now_ns) : 0;
}

static bool engine_rings_empty(struct nm_model *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_fn; i++) {
		struct nm_db_ring *r = &m->fn[i]->db;

		if (atomic_load(&r->head) != atomic_load(&r->tail) ||
		    atomic_load(&r->overflow))
			return false;
	}
	return true;
}

/*
 * Sleep is announced before the rings are looked at a last time, and a
 * producer looks at the announcement after its entry is in: one of the two
 * sees the other.
 */
static void engine_sleep(struct nm_model *m, s64 ns)
{
	struct pollfd pf[1 + NM_MAX_FN] = {
		{ .fd = m->kick_fd, .events = POLLIN },
	};
	struct timespec ts = {
		.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000,
	};
	eventfd_t v;

	if (ns >= 0 && ns < ENGINE_SPIN_NS)
		return;
	atomic_store(&m->sleeping, true);
	atomic_thread_fence(memory_order_seq_cst);
	if (engine_rings_empty(m) && !atomic_load(&m->stop) &&
	    ppoll(pf, 1 + nm_wire_fds(m->wire, pf + 1), ns < 0 ? NULL : &ts,
		  NULL) > 0)
		eventfd_read(m->kick_fd, &v);
	atomic_store(&m->sleeping, false);
}

static void *engine_main(void *arg)
{
	struct nm_model *m = arg;

	while (!atomic_load(&m->stop)) {
		bool busy = false;
		s64 next = 0;

		/* Let a waiting server thread in before the next batch. */
		while (atomic_load(&m->want))
			sched_yield();
		pthread_mutex_lock(&m->lock);
		busy = nm_engine_poll(m);
		if (!busy)
			next = engine_next(m);
		pthread_mutex_unlock(&m->lock);
		if (!busy)
			engine_sleep(m, next);
	}
	return NULL;
}

int nm_engine_start(struct nm_model *m)
{
	return -pthread_create(&m->engine, NULL, engine_main, m);
}

void nm_engine_stop(struct nm_model *m)
{
	atomic_store(&m->stop, true);
	eventfd_write(m->kick_fd, 1);
	pthread_join(m->engine, NULL);
}
