// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: transmit rings, from ndo_start_xmit through the device to NAPI.
 *
 * Three indices run over a ring, each written by one side only: the stack
 * (under the queue's lock) fills at prod, the device thread reads at dev, NAPI
 * frees at cons.  cons <= dev <= prod, and prod - cons <= size.
 */
#include <linux/kthread.h>
#include <net/netdev_queues.h>

#include "quicsim.h"

#define QSIM_TX_BURST	16	/* descriptors between two interrupts */

int qsim_txq_alloc(struct qsim_txq *txq, u32 size)
{
	txq->ring = kvcalloc(size, sizeof(*txq->ring), GFP_KERNEL);
	if (!txq->ring)
		return -ENOMEM;
	txq->size = size;
	txq->prod = 0;
	txq->dev = 0;
	txq->cons = 0;
	return 0;
}

/* The device thread and NAPI have stopped */
void qsim_txq_free(struct qsim_txq *txq)
{
	struct qsim_txd *d;

	for (; txq->cons != txq->prod; txq->cons++) {
		d = &txq->ring[txq->cons & (txq->size - 1)];
		if (d->key)
			qsim_tx_key_put(txq->port, d->key);
		dev_kfree_skb(d->skb);
	}
	kvfree(txq->ring);
	txq->ring = NULL;
}

static unsigned int qsim_txq_room(const struct qsim_txq *txq)
{
	return txq->size - (txq->prod - READ_ONCE(txq->cons));
}

static bool qsim_fault_busy(struct qsim_port *port)
{
	u32 n = READ_ONCE(port->flt.busy_n), m = READ_ONCE(port->flt.busy_m);

	if (likely(!m) || port->flt.busy_seen++ % m >= n)
		return false;
	qsim_count(port, QSIM_TX_BUSY, 1);
	return true;
}

/* May this skb be sent, and how? Plaintext that no table vouches for is never
 * sent; a NIC that knows nothing of QUIC cannot tell. Return: 0 or the counter
 * of the drop.
 */
static int qsim_tx_fill(struct qsim_port *port, struct sk_buff *skb,
			struct qsim_txd *d)
{
	struct qoff_dev *qd;
	int err = -ENODEV;

	d->skb = skb;
	d->super = false;
	d->key = NULL;
	d->frames = 0;
	d->bytes = 0;
	if (qsim_mode_is_dumb(port->mode))
		return 0;
	if (!qoff_tx_is_super(skb))
		return skb_is_decrypted(skb) ? QSIM_TX_DROP_GUARD : 0;

	rcu_read_lock();
	qd = rcu_dereference(port->qd);
	if (qd)
		err = qoff_tx_desc(qd, skb, &d->desc);
	if (!err && d->desc.seal) {
		d->key = qsim_tx_key_get(port, d->desc.drv, d->desc.phase);
		if (!d->key)
			err = -ESTALE;
	}
	rcu_read_unlock();

	if (!qd || (err && err != -ESTALE))
		return QSIM_TX_DROP_GUARD;
	if (err)
		return QSIM_TX_ERR;
	d->super = true;
	return 0;
}

netdev_tx_t qsim_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct qsim_port *port = netdev_priv(dev);
	struct netdev_queue *nq;
	struct qsim_txq *txq;
	struct qsim_txd *d;
	bool ring_bell;
	int drop;

	txq = &port->txq[skb_get_queue_mapping(skb)];
	nq = skb_get_tx_queue(dev, skb);
	if (unlikely(qsim_fault_busy(port)))
		return NETDEV_TX_BUSY;
	if (unlikely(!qsim_txq_room(txq))) {
		netif_tx_stop_queue(nq);
		qsim_count(port, QSIM_TX_BUSY, 1);
		return NETDEV_TX_BUSY;
	}

	d = &txq->ring[txq->prod & (txq->size - 1)];
	drop = qsim_tx_fill(port, skb, d);
	if (unlikely(drop)) {
		qsim_count(port, drop, 1);
		dev_kfree_skb_any(skb);
		/* earlier packets may still wait for the bell */
		if (!netdev_xmit_more())
			wake_up(&port->tx_wait);
		return NETDEV_TX_OK;
	}

	skb_tx_timestamp(skb);
	ring_bell = __netdev_tx_sent_queue(nq, skb->len, netdev_xmit_more());
	/* the device reads the descriptor after the index */
	smp_store_release(&txq->prod, txq->prod + 1);
	if (!netif_txq_maybe_stop(nq, qsim_txq_room(txq), 1, txq->size / 4)) {
		qsim_count(port, QSIM_TX_STOPPED, 1);
		ring_bell = true;
	}
	if (ring_bell && wq_has_sleeper(&port->tx_wait))
		wake_up(&port->tx_wait);
	return NETDEV_TX_OK;
}

/**
 * qsim_txq_clean() - complete what the device has read
 * @txq: the ring
 * @budget: of NAPI
 *
 * Context: NAPI.
 */
void qsim_txq_clean(struct qsim_txq *txq, int budget)
{
	struct net_device *dev = txq->port->netdev;
	struct netdev_queue *nq = netdev_get_tx_queue(dev, txq->idx);
	unsigned int pkts = 0, bytes = 0, frames = 0, wire_bytes = 0;
	u32 cons = txq->cons, end;
	struct qsim_txd *d;

	/* pairs with the release in qsim_txq_run() */
	end = smp_load_acquire(&txq->dev);
	for (; cons != end; cons++) {
		d = &txq->ring[cons & (txq->size - 1)];
		pkts++;
		bytes += d->skb->len;
		frames += d->frames;
		wire_bytes += d->bytes;
		napi_consume_skb(d->skb, budget);
		d->skb = NULL;
	}
	if (!pkts)
		return;
	qsim_count(txq->port, QSIM_TX_DESCS, pkts);
	dev_sw_netstats_tx_add(dev, frames, wire_bytes);
	/* ndo_start_xmit may fill the entries again once it sees this */
	smp_store_release(&txq->cons, cons);
	netif_txq_completed_wake(nq, pkts, bytes, qsim_txq_room(txq),
				 txq->size / 4);
}

bool qsim_tx_pending(struct qsim_port *port)
{
	unsigned int q;

	for (q = 0; q < port->nq; q++)
		if (READ_ONCE(port->txq[q].prod) != port->txq[q].dev)
			return true;
	return false;
}

/* One descriptor becomes frames */
static void qsim_tx_one(struct qsim_port *port, struct qsim_txd *d,
			struct sk_buff_head *frames)
{
	const struct sk_buff *skb = d->skb;
	unsigned int type = skb_shinfo(skb)->gso_type;
	struct sk_buff *frame;
	int err;

	if (d->super)
		err = qsim_seg_super(port, d, frames);
	else if (!skb_is_gso(skb))
		err = qsim_seg_frame(port, skb, frames);
	else if (type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6))
		err = qsim_seg_tso(port, skb, frames);
	else if (type & SKB_GSO_UDP_L4)
		err = qsim_seg_uso(port, skb, frames);
	else
		err = -EOPNOTSUPP;

	if (err) {
		/* nothing of a descriptor goes out, or all of it */
		__skb_queue_purge(frames);
		qsim_count(port, err == -ENOMEM ? QSIM_TX_DROP_NOMEM :
				 d->super ? QSIM_TX_ERR : QSIM_TX_DROP_HDR, 1);
		return;
	}
	d->frames = skb_queue_len(frames);
	skb_queue_walk(frames, frame)
		d->bytes += frame->len;
}

static unsigned int qsim_txq_run(struct qsim_port *port, struct qsim_txq *txq)
{
	struct sk_buff_head frames;
	struct qsim_txd *d;
	unsigned int n = 0;
	u32 prod;

	__skb_queue_head_init(&frames);
	/* pairs with the release in qsim_start_xmit() */
	prod = smp_load_acquire(&txq->prod);
	while (txq->dev != prod && n < QSIM_TX_BURST) {
		d = &txq->ring[txq->dev & (txq->size - 1)];
		qsim_tx_one(port, d, &frames);
		if (d->key) {
			qsim_tx_key_put(port, d->key);
			d->key = NULL;
		}
		qsim_wire_send(port, &frames);
		/* NAPI frees the skb after it sees this */
		smp_store_release(&txq->dev, txq->dev + 1);
		n++;
		if (kthread_should_stop() || READ_ONCE(port->flt.hold_tx))
			break;
	}
	if (n)
		qsim_napi_kick(port, txq->idx);
	return n;
}

/**
 * qsim_tx_run() - let the device send some
 * @port: the port
 *
 * Context: the sending device's thread.
 * Return: descriptors processed.
 */
unsigned int qsim_tx_run(struct qsim_port *port)
{
	unsigned int q, n = 0;

	for (q = 0; q < port->nq; q++)
		n += qsim_txq_run(port, &port->txq[q]);
	return n;
}
