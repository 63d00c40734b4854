// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "prof.h"

/* Receives of one endpoint in a row, before the others and the writers have their turn. */
#define RECV_ROUNDS	8

volatile sig_atomic_t loop_stop;

void loop_init(struct loop *l)
{
	memset(l, 0, sizeof(*l));
	l->tail = &l->head;
}

void loop_fini(struct loop *l)
{
	free(l->heap);
}

int loop_add(struct loop *l, struct endpoint *ep)
{
	if (l->nep == LOOP_ENDPOINTS)
		return -ENOSPC;
	ep->loop = l;
	l->ep[l->nep++] = ep;
	return 0;
}

void loop_del(struct endpoint *ep)
{
	struct loop *l = ep->loop;

	for (unsigned int i = 0; i < l->nep; i++) {
		if (l->ep[i] == ep) {
			l->ep[i] = l->ep[--l->nep];
			return;
		}
	}
}

static void put(struct loop *l, struct loop_entry *e, unsigned int pos)
{
	l->heap[pos] = e;
	e->pos = pos;
}

static void sift_up(struct loop *l, struct loop_entry *e)
{
	unsigned int pos = e->pos;

	for (; pos > 1 && l->heap[pos / 2]->expiry > e->expiry; pos /= 2)
		put(l, l->heap[pos / 2], pos);
	put(l, e, pos);
}

static void sift_down(struct loop *l, struct loop_entry *e)
{
	unsigned int pos = e->pos, child;

	while ((child = 2 * pos) <= l->nheap) {
		if (child < l->nheap && l->heap[child + 1]->expiry < l->heap[child]->expiry)
			child++;
		if (l->heap[child]->expiry >= e->expiry)
			break;
		put(l, l->heap[child], pos);
		pos = child;
	}
	put(l, e, pos);
}

static void heap_add(struct loop *l, struct loop_entry *e)
{
	if (l->nheap + 2 > l->size) {
		l->size = l->size ? 2 * l->size : 64;
		l->heap = realloc(l->heap, l->size * sizeof(*l->heap));
		if (!l->heap)
			die("no memory");
	}
	put(l, e, ++l->nheap);
	sift_up(l, e);
}

static void heap_del(struct loop *l, struct loop_entry *e)
{
	struct loop_entry *last = l->heap[l->nheap--];

	if (last != e) {
		put(l, last, e->pos);
		sift_up(l, last);
		sift_down(l, last);
	}
	e->pos = 0;
}

void loop_time(struct loop *l, struct loop_entry *e, uint64_t expiry)
{
	e->expiry = expiry;
	if (!e->pos) {
		heap_add(l, e);
		return;
	}
	sift_up(l, e);
	sift_down(l, e);
}

void loop_want_write(struct loop *l, struct loop_entry *e)
{
	if (e->queued)
		return;
	e->queued = true;
	e->next = NULL;
	*l->tail = e;
	l->tail = &e->next;
}

static void unqueue(struct loop *l, struct loop_entry *e)
{
	struct loop_entry **p;

	for (p = &l->head; *p != e; p = &(*p)->next)
		;
	*p = e->next;
	if (l->tail == &e->next)
		l->tail = p;
	e->queued = false;
}

void loop_forget(struct loop *l, struct loop_entry *e)
{
	if (e->pos)
		heap_del(l, e);
	if (e->queued)
		unqueue(l, e);
}

static void on_packet(const struct qng_pkt *p, void *arg)
{
	enum prof_phase back = prof_enter(PROF_PARSE);
	struct endpoint *ep = arg;

	ep->on_packet(ep, p);
	prof_leave(back);
}

static void receive(struct endpoint *ep)
{
	int n = 0;

	for (unsigned int i = 0; i < RECV_ROUNDS; i++) {
		enum prof_phase back = prof_enter(PROF_SOCKET);

		n = qng_recv(ep->net.qs, on_packet, ep);
		prof_leave(back);
		if (n < 0)
			break;
	}
	ep->more = n >= 0;
}

static void wait_for(struct loop *l, struct pollfd *fds)
{
	uint64_t t, due = l->nheap ? l->heap[1]->expiry : UINT64_MAX;
	struct timespec ts = {}, *timeout = &ts;
	bool idle = !l->head;

	for (unsigned int i = 0; i < l->nep; i++) {
		fds[i].fd = l->ep[i]->net.fd;
		fds[i].events = POLLIN | (l->ep[i]->blocked ? POLLOUT : 0);
		fds[i].revents = 0;
		if (l->ep[i]->more)
			idle = false;
		/* Writers that wait for this socket only. */
		else if (l->head && l->ep[i]->blocked)
			idle = true;
	}
	t = now();
	if (idle && due == UINT64_MAX) {
		timeout = NULL;
	} else if (idle && due > t) {
		ts.tv_sec = (due - t) / NSEC;
		ts.tv_nsec = (due - t) % NSEC;
	}
	l->polls++;
	if (ppoll(fds, l->nep, timeout, NULL) < 0 && errno != EINTR)
		die("poll: %s", strerror(errno));
}

static void expire(struct loop *l)
{
	uint64_t t = now();

	while (l->nheap && l->heap[1]->expiry <= t) {
		struct loop_entry *e = l->heap[1];

		loop_time(l, e, UINT64_MAX);
		e->on_time(e);
	}
}

/* Each writer once, those that stay come again in the next round. */
static void write_all(struct loop *l)
{
	struct loop_entry *e, *list = l->head;

	l->head = NULL;
	l->tail = &l->head;
	while ((e = list)) {
		list = e->next;
		e->queued = false;
		if (e->ep->blocked || !e->on_write(e))
			loop_want_write(l, e);
	}
}

void loop_run(struct loop *l, bool (*done)(void *arg), void *arg)
{
	struct pollfd fds[LOOP_ENDPOINTS];
	enum prof_phase back;

	while (!loop_stop && !(done && done(arg))) {
		back = prof_enter(PROF_WAIT);
		wait_for(l, fds);
		prof_leave(back);
		/* Backwards: an endpoint may go, and the last takes its place. */
		for (unsigned int i = l->nep; i--;) {
			struct endpoint *ep = l->ep[i];

			if (fds[i].revents & POLLOUT)
				ep->blocked = qng_flush(ep->net.qs) != 0;
			if (fds[i].revents & (POLLIN | POLLERR) || ep->more)
				receive(ep);
		}
		expire(l);
		back = prof_enter(PROF_ACK);
		write_all(l);
		prof_leave(back);
	}
}
