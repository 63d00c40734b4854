/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QUIC offload: why a packet was dropped.  A module cannot register a drop
 * reason subsystem of its own on 6.12 (the table is as long as the enum in
 * net/dropreason.h), so each cause here is reported as the nearest core reason,
 * and exactly by the counter and the tracepoint qoff_drop.
 */
#ifndef _QOFF_DROP_H
#define _QOFF_DROP_H

#include <linux/skbuff.h>

struct qoff_stats;

/**
 * enum qoff_drop - causes
 * @QOFF_DROP_TX_GUARD: a plaintext super-packet whose guards or table are
 *	damaged, or plaintext without a table
 * @QOFF_DROP_TX_KEY: the key was revoked, or the device lost it
 * @QOFF_DROP_TX_MTU: a segment does not fit the device's MTU any more
 * @QOFF_DROP_TX_CRYPTO: sealing failed
 * @QOFF_DROP_TX_LOST: no memory, or the stack refused it after admission
 * @QOFF_DROP_RX_GUARD: opened by a device, but not for this socket
 * @QOFF_DROP_RX_GEOMETRY: a merged packet was changed, its cuts are unknown
 * @QOFF_DROP_RX_FULL: the socket's receive buffer is full
 */
enum qoff_drop {
	QOFF_DROP_TX_GUARD,
	QOFF_DROP_TX_KEY,
	QOFF_DROP_TX_MTU,
	QOFF_DROP_TX_CRYPTO,
	QOFF_DROP_TX_LOST,
	QOFF_DROP_RX_GUARD,
	QOFF_DROP_RX_GEOMETRY,
	QOFF_DROP_RX_FULL,
};

/* Count @n segments as dropped because of @why; either object may be NULL */
void qoff_drop_count(struct qoff_stats *a, struct qoff_stats *b,
		     enum qoff_drop why, unsigned int n);

/* Free @skb, tell the tracepoints why. Counting is separate. */
void qoff_drop_skb(struct sk_buff *skb, enum qoff_drop why);

#endif /* _QOFF_DROP_H */
