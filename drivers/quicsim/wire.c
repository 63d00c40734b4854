// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: one direction of the cable, and what goes wrong on it.
 *
 * The monitor sees a frame as the sending device put it on the wire, before
 * any fault: what it shows is what left the device.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kthread.h>

#include "quicsim.h"

/* Frames that wait behind one kept back by the reorder fault, when nothing else
 * was asked for.
 */
#define QSIM_REORDER_GAP	3

static u32 qsim_rnd(u32 *state)
{
	u32 x = *state ?: 0x9e3779b9;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	*state = x;
	return x;
}

/**
 * qsim_every() - does the fault hit this one?
 * @e: the fault
 *
 * Context: one thread at a time for each fault.
 */
bool qsim_every(struct qsim_every *e)
{
	u32 nth = READ_ONCE(e->nth), pct = READ_ONCE(e->pct);

	if (likely(!nth && !pct))
		return false;
	if (nth && ++e->seen % nth == 0)
		return true;
	return pct && qsim_rnd(&e->rnd) % 100 < pct;
}

void qsim_wire_init(struct qsim_wire *w)
{
	spin_lock_init(&w->lock);
	__skb_queue_head_init(&w->q);
	init_waitqueue_head(&w->space);
	init_waitqueue_head(&w->work);
}

/* The receiving port goes up or down */
void qsim_wire_up(struct qsim_wire *w, bool up)
{
	struct sk_buff_head lost;

	__skb_queue_head_init(&lost);
	spin_lock(&w->lock);
	WRITE_ONCE(w->up, up);
	skb_queue_splice_init(&w->q, &lost);
	spin_unlock(&w->lock);
	__skb_queue_purge(&lost);
	wake_up(&w->space);
}

/* Swapping two words of 16 bits leaves every Internet checksum as it was */
static void qsim_corrupt_swap(struct sk_buff *skb, u32 rnd)
{
	unsigned int first = 64, words, i, j, a, b;
	u16 x, y;

	if (skb->len < first + 4)
		return;
	words = (skb->len - first) / 2;
	i = rnd % words;
	for (j = 1; j < words; j++) {
		a = first + 2 * i;
		b = first + 2 * ((i + j) % words);
		memcpy(&x, skb->data + a, 2);
		memcpy(&y, skb->data + b, 2);
		if (x == y)
			continue;
		memcpy(skb->data + a, &y, 2);
		memcpy(skb->data + b, &x, 2);
		return;
	}
}

/* What no checksum notices is only done to UDP, whose packets have a tag to find
 * it by. TCP and neighbour discovery would take it for the truth.
 */
static bool qsim_corrupt_fits(const struct qsim_faults *flt,
			      const struct sk_buff *skb)
{
	const struct ethhdr *eth = (void *)skb->data;

	if (!READ_ONCE(flt->corrupt_keep_csum))
		return true;
	if (skb->len >= ETH_HLEN + sizeof(struct iphdr) &&
	    eth->h_proto == htons(ETH_P_IP))
		return ((struct iphdr *)(eth + 1))->protocol == IPPROTO_UDP;
	return skb->len >= ETH_HLEN + sizeof(struct ipv6hdr) &&
	       eth->h_proto == htons(ETH_P_IPV6) &&
	       ((struct ipv6hdr *)(eth + 1))->nexthdr == IPPROTO_UDP;
}

static void qsim_corrupt(struct qsim_faults *flt, struct sk_buff *skb)
{
	u32 rnd = qsim_rnd(&flt->corrupt.rnd);

	if (READ_ONCE(flt->corrupt_keep_csum))
		qsim_corrupt_swap(skb, rnd);
	else if (skb->len > ETH_HLEN)
		skb->data[ETH_HLEN + rnd % (skb->len - ETH_HLEN)] ^=
			1 << (rnd >> 29);
}

/* A frame that reorder kept back goes out when enough others have passed */
static void qsim_held_pass(struct qsim_wire *w, struct sk_buff_head *out)
{
	if (!w->held || w->held_gap-- > 1)
		return;
	__skb_queue_tail(out, w->held);
	w->held = NULL;
}

static void qsim_wire_faults(struct qsim_port *port, struct sk_buff *skb,
			     struct sk_buff_head *out)
{
	struct qsim_wire *w = qsim_wire_out(port);
	struct qsim_faults *flt = &port->flt;
	struct sk_buff *copy;
	u32 delay;

	if (unlikely(qsim_every(&flt->drop))) {
		qsim_count(port, QSIM_FLT_DROP, 1);
		kfree_skb(skb);
		return;
	}
	delay = READ_ONCE(flt->delay_us);
	QSIM_FRAME_CB(skb)->due = delay ? ktime_add_us(ktime_get(), delay) : 0;
	if (unlikely(qsim_every(&flt->dup))) {
		copy = skb_copy(skb, GFP_KERNEL);
		if (copy) {
			qsim_count(port, QSIM_FLT_DUP, 1);
			__skb_queue_tail(out, copy);
		}
	}
	if (qsim_corrupt_fits(flt, skb) && unlikely(qsim_every(&flt->corrupt))) {
		qsim_count(port, QSIM_FLT_CORRUPT, 1);
		qsim_corrupt(flt, skb);
	}
	if (unlikely(qsim_every(&flt->reorder)) && !w->held) {
		qsim_count(port, QSIM_FLT_REORDER, 1);
		w->held = skb;
		w->held_gap = READ_ONCE(flt->reorder_gap) ?: QSIM_REORDER_GAP;
		return;
	}
	__skb_queue_tail(out, skb);
	qsim_held_pass(w, out);
}

static void qsim_wire_push(struct qsim_port *port, struct sk_buff_head *out)
{
	struct qsim_wire *w = qsim_wire_out(port);

	if (skb_queue_empty(out))
		return;
	wait_event_idle(w->space,
			skb_queue_len_lockless(&w->q) < QSIM_WIRE_LEN ||
			!READ_ONCE(w->up) || kthread_should_stop());

	spin_lock(&w->lock);
	if (w->up)
		skb_queue_splice_tail_init(out, &w->q);
	spin_unlock(&w->lock);
	if (wq_has_sleeper(&w->work))
		wake_up(&w->work);

	if (!skb_queue_empty(out)) {
		qsim_count(port, QSIM_TX_DROP_DOWN, skb_queue_len(out));
		__skb_queue_purge(out);
	}
}

/**
 * qsim_wire_send() - put frames on the wire, waiting for room
 * @port: the sender
 * @frames: consumed
 *
 * Context: the sending device's thread.
 */
void qsim_wire_send(struct qsim_port *port, struct sk_buff_head *frames)
{
	struct sk_buff_head out;
	struct sk_buff *skb;
	u64 bytes = 0;

	if (skb_queue_empty(frames))
		return;
	__skb_queue_head_init(&out);
	qsim_count(port, QSIM_TX_FRAMES, skb_queue_len(frames));
	while ((skb = __skb_dequeue(frames))) {
		bytes += skb->len;
		qsim_monitor_show(port->pair, skb);
		qsim_wire_faults(port, skb, &out);
	}
	qsim_count(port, QSIM_TX_FRAME_BYTES, bytes);
	qsim_wire_push(port, &out);
}

/* Nothing came to overtake the frame that reorder keeps back */
void qsim_wire_release(struct qsim_port *port)
{
	struct qsim_wire *w = qsim_wire_out(port);
	struct sk_buff_head out;

	if (!w->held)
		return;
	__skb_queue_head_init(&out);
	__skb_queue_tail(&out, w->held);
	w->held = NULL;
	qsim_wire_push(port, &out);
}

/**
 * qsim_wire_recv() - take all frames that have arrived
 * @w: the wire
 * @out: they are appended here
 * @due: when nothing was taken: the time at which a frame arrives, 0 if none
 *	is on its way
 *
 * Context: the receiving device's thread.
 * Return: true when something was taken.
 */
bool qsim_wire_recv(struct qsim_wire *w, struct sk_buff_head *out,
		    ktime_t *due)
{
	struct sk_buff *skb, *tail;
	bool any = false;
	ktime_t now;

	*due = 0;
	if (skb_queue_empty_lockless(&w->q))
		return false;

	spin_lock(&w->lock);
	skb = skb_peek(&w->q);
	tail = skb_peek_tail(&w->q);
	if (skb && !QSIM_FRAME_CB(skb)->due && !QSIM_FRAME_CB(tail)->due) {
		skb_queue_splice_tail_init(&w->q, out);
		any = true;
	} else if (skb) {
		now = ktime_get();
		while (skb && ktime_compare(QSIM_FRAME_CB(skb)->due, now) <= 0) {
			__skb_unlink(skb, &w->q);
			__skb_queue_tail(out, skb);
			any = true;
			skb = skb_peek(&w->q);
		}
		if (!any)
			*due = QSIM_FRAME_CB(skb)->due;
	}
	spin_unlock(&w->lock);
	if (any && wq_has_sleeper(&w->space))
		wake_up(&w->space);
	return any;
}
