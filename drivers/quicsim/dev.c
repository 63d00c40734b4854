// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: the two threads that are a port's device.
 *
 * They do what silicon does and nothing else, so that their run time can be
 * taken out of a measurement of the host.  Frames enter and leave the host only
 * through the rings; the host's part runs in NAPI, which is threaded by default:
 * softirqs that are raised here would otherwise run on this thread's time.
 */
#include <linux/kthread.h>
#include <linux/sched.h>

#include "quicsim.h"

/* The reorder fault keeps the last frame of a burst no longer than this */
#define QSIM_HELD_TIMEOUT	(HZ / 50 + 1)

/**
 * qsim_frame_alloc() - memory for a frame
 * @pfc: the calling thread's
 * @len: bytes
 *
 * Return: an empty skb with a page-fragment head, so that GRO can take it over,
 * or NULL.
 */
struct sk_buff *qsim_frame_alloc(struct page_frag_cache *pfc, unsigned int len)
{
	unsigned int pad = NET_SKB_PAD + NET_IP_ALIGN;
	unsigned int size = SKB_HEAD_ALIGN(pad + len);
	struct sk_buff *skb;
	void *data;

	data = page_frag_alloc(pfc, size, GFP_KERNEL);
	if (!data)
		return NULL;
	skb = build_skb(data, size);
	if (!skb) {
		page_frag_free(data);
		return NULL;
	}
	skb_reserve(skb, pad);
	return skb;
}

/* The interrupt of a queue */
void qsim_napi_kick(struct qsim_port *port, unsigned int q)
{
	local_bh_disable();
	napi_schedule(&port->rxq[q].napi);
	local_bh_enable();
}

static bool qsim_tx_ready(struct qsim_port *port)
{
	return !READ_ONCE(port->flt.hold_tx) && qsim_tx_pending(port);
}

static int qsim_tx_thread(void *data)
{
	struct qsim_port *port = data;
	long left;

	while (!kthread_should_stop()) {
		if (!READ_ONCE(port->flt.hold_tx) && qsim_tx_run(port)) {
			cond_resched();
			continue;
		}
		left = qsim_wire_out(port)->held ? QSIM_HELD_TIMEOUT :
						   MAX_SCHEDULE_TIMEOUT;
		left = wait_event_idle_timeout(port->tx_wait,
					       kthread_should_stop() ||
					       qsim_tx_ready(port), left);
		if (!left)
			qsim_wire_release(port);
	}
	return 0;
}

static bool qsim_ring_full(struct qsim_port *port, struct qsim_rxq *rxq)
{
	return skb_queue_len_lockless(&rxq->done) >= READ_ONCE(port->rx_ring);
}

static void qsim_purge_out(struct sk_buff_head *list)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(list))) {
		kfree(QSIM_RX_CB(skb)->segs);
		kfree_skb(skb);
	}
}

/* What the device has finished goes into the receive ring of its queue */
static void qsim_rx_push(struct qsim_port *port, unsigned int q)
{
	struct qsim_rxq *rxq = &port->rxq[q];
	struct sk_buff_head *out = &port->out[q];

	if (skb_queue_empty(out))
		return;
	if (qsim_ring_full(port, rxq) && READ_ONCE(port->pause)) {
		qsim_count(port, QSIM_RX_PAUSED, 1);
		wait_event_idle(port->rx_wait, !qsim_ring_full(port, rxq) ||
				kthread_should_stop());
	}
	if (qsim_ring_full(port, rxq)) {
		qsim_count(port, QSIM_RX_DROP_RING, skb_queue_len(out));
		qsim_purge_out(out);
		return;
	}
	spin_lock_bh(&rxq->done.lock);
	skb_queue_splice_tail_init(out, &rxq->done);
	spin_unlock_bh(&rxq->done.lock);
	qsim_napi_kick(port, q);
}

static void qsim_rx_push_all(struct qsim_port *port)
{
	unsigned int q;

	for (q = 0; q < port->nq; q++)
		qsim_rx_push(port, q);
}

static ktime_t qsim_hold_limit(struct qsim_port *port)
{
	return ktime_sub_us(ktime_get(), READ_ONCE(port->rx_usecs));
}

static void qsim_rx_run(struct qsim_port *port, struct sk_buff_head *frames)
{
	struct sk_buff *skb;
	unsigned int n;

	while (!skb_queue_empty(frames)) {
		mutex_lock(&port->flow_lock);
		for (n = 0; n < QSIM_RX_BURST; n++) {
			skb = __skb_dequeue(frames);
			if (!skb)
				break;
			qsim_rx_frame(port, skb);
		}
		qsim_agg_flush_old(port, qsim_hold_limit(port));
		mutex_unlock(&port->flow_lock);
		qsim_rx_push_all(port);
		cond_resched();
	}
}

/* Nothing has arrived. Coalesced packets are kept for at most rx_usecs; a frame
 * on a slow wire may be due earlier.
 */
static void qsim_rx_idle(struct qsim_port *port, ktime_t due)
{
	struct qsim_wire *w = qsim_wire_in(port);
	ktime_t now, born, wake = due;

	mutex_lock(&port->flow_lock);
	born = qsim_agg_flush_old(port, qsim_hold_limit(port));
	mutex_unlock(&port->flow_lock);
	qsim_rx_push_all(port);

	if (born) {
		born = ktime_add_us(born, READ_ONCE(port->rx_usecs));
		if (!wake || ktime_before(born, wake))
			wake = born;
	}
	if (!wake) {
		wait_event_idle(w->work, kthread_should_stop() ||
				!skb_queue_empty_lockless(&w->q));
		return;
	}
	now = ktime_get();
	if (ktime_before(wake, now))
		return;
	/* While a delayed frame is in the queue only the time matters */
	wait_event_interruptible_hrtimeout(w->work, kthread_should_stop() ||
					   (!due && !skb_queue_empty_lockless(&w->q)),
					   ktime_sub(wake, now));
}

static int qsim_rx_thread(void *data)
{
	struct qsim_port *port = data;
	struct sk_buff_head frames;
	ktime_t due;

	__skb_queue_head_init(&frames);
	current->timer_slack_ns = NSEC_PER_USEC;
	while (!kthread_should_stop()) {
		if (qsim_wire_recv(qsim_wire_in(port), &frames, &due))
			qsim_rx_run(port, &frames);
		else
			qsim_rx_idle(port, due);
	}
	return 0;
}

/**
 * qsim_dev_start() - power the device of a port up
 * @port: rings and NAPI exist
 *
 * Context: process, RTNL.
 */
int qsim_dev_start(struct qsim_port *port)
{
	struct task_struct *task;
	unsigned int q;

	for (q = 0; q < port->nq; q++)
		__skb_queue_head_init(&port->out[q]);

	task = kthread_create(qsim_rx_thread, port, QSIM_NAME "/%s-rx",
			      port->netdev->name);
	if (IS_ERR(task))
		return PTR_ERR(task);
	port->rx_task = task;
	task = kthread_create(qsim_tx_thread, port, QSIM_NAME "/%s-tx",
			      port->netdev->name);
	if (IS_ERR(task)) {
		kthread_stop(port->rx_task);
		port->rx_task = NULL;
		return PTR_ERR(task);
	}
	port->tx_task = task;
	qsim_wire_up(qsim_wire_in(port), true);
	wake_up_process(port->rx_task);
	wake_up_process(port->tx_task);
	return 0;
}

/**
 * qsim_dev_stop() - power it down; what it holds is lost
 * @port: its queues are stopped, NAPI still runs
 *
 * Context: process, RTNL.
 */
void qsim_dev_stop(struct qsim_port *port)
{
	unsigned int q;

	kthread_stop(port->tx_task);
	port->tx_task = NULL;
	kfree_skb(qsim_wire_out(port)->held);
	qsim_wire_out(port)->held = NULL;

	qsim_wire_up(qsim_wire_in(port), false);
	kthread_stop(port->rx_task);
	port->rx_task = NULL;

	mutex_lock(&port->flow_lock);
	qsim_agg_flush(port);
	mutex_unlock(&port->flow_lock);
	for (q = 0; q < port->nq; q++)
		qsim_purge_out(&port->out[q]);

	page_frag_cache_drain(&port->tx_pfc);
	page_frag_cache_drain(&port->rx_pfc);
	if (port->rx_page.page)
		put_page(port->rx_page.page);
	memset(&port->rx_page, 0, sizeof(port->rx_page));
}
