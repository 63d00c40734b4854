/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The event loop: endpoints that receive, entries that have a time and want to write.
 */
#ifndef H3_LOOP_H
#define H3_LOOP_H

#include <signal.h>

#include "net.h"

struct loop;

/**
 * struct endpoint - a socket in the loop
 * @net: the socket
 * @loop: its loop
 * @on_packet: called for each datagram
 * @arg: its owner's
 * @blocked: its batch waits for room
 * @more: there may be packets that poll() does not tell of
 */
struct endpoint {
	struct net_sock net;
	struct loop *loop;
	void (*on_packet)(struct endpoint *ep, const struct qng_pkt *p);
	void *arg;
	bool blocked;
	bool more;
};

/**
 * struct loop_entry - something with a time
 * @ep: where it writes
 * @expiry: when @on_time is due, UINT64_MAX: never
 * @pos: in the heap, 0: not there
 * @next: in the list of those that want to write
 * @queued: it is there
 * @on_time: called when @expiry has come
 * @on_write: called when it wants to write and there is room. Return: false to stay
 *	in the list.
 */
struct loop_entry {
	struct endpoint *ep;
	uint64_t expiry;
	unsigned int pos;
	struct loop_entry *next;
	bool queued;
	void (*on_time)(struct loop_entry *e);
	bool (*on_write)(struct loop_entry *e);
};

#define LOOP_ENDPOINTS	256

struct loop {
	struct endpoint *ep[LOOP_ENDPOINTS];
	unsigned int nep;
	struct loop_entry **heap;
	unsigned int nheap;
	unsigned int size;
	struct loop_entry *head;
	struct loop_entry **tail;
	uint64_t polls;
};

extern volatile sig_atomic_t loop_stop;

void loop_init(struct loop *l);
void loop_fini(struct loop *l);
/* Return: 0, or -ENOSPC. */
int loop_add(struct loop *l, struct endpoint *ep);
void loop_del(struct endpoint *ep);
/* Changes @e->expiry. */
void loop_time(struct loop *l, struct loop_entry *e, uint64_t expiry);
void loop_want_write(struct loop *l, struct loop_entry *e);
/* It is nowhere any more. */
void loop_forget(struct loop *l, struct loop_entry *e);
/* Until loop_stop, or @done says so. */
void loop_run(struct loop *l, bool (*done)(void *arg), void *arg);

#endif /* H3_LOOP_H */
