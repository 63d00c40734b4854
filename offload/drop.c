// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: one place that maps a cause to its counter and to the drop
 * reason that drop monitors see.
 */
#include "drop.h"
#include "qoff.h"
#include "trace.h"

static const struct {
	enum qoff_cnt cnt;
	enum skb_drop_reason reason;
} qoff_drop_map[] = {
	[QOFF_DROP_TX_GUARD] = {
		QOFF_CNT_TX_DROP_GUARD, SKB_DROP_REASON_SECURITY_HOOK },
	[QOFF_DROP_TX_KEY] = {
		QOFF_CNT_TX_DROP_KEY, SKB_DROP_REASON_SECURITY_HOOK },
	[QOFF_DROP_TX_MTU] = {
		QOFF_CNT_TX_DROP_MTU, SKB_DROP_REASON_PKT_TOO_BIG },
	[QOFF_DROP_TX_CRYPTO] = {
		QOFF_CNT_TX_DROP_CRYPTO, SKB_DROP_REASON_SECURITY_HOOK },
	[QOFF_DROP_TX_LOST] = {
		QOFF_CNT_TX_LOST, SKB_DROP_REASON_NOMEM },
	[QOFF_DROP_RX_GUARD] = {
		QOFF_CNT_RX_DROP_GUARD, SKB_DROP_REASON_SECURITY_HOOK },
	[QOFF_DROP_RX_GEOMETRY] = {
		QOFF_CNT_RX_DROP_GEOMETRY, SKB_DROP_REASON_PKT_TOO_SMALL },
	[QOFF_DROP_RX_FULL] = {
		QOFF_CNT_RX_DROP_FULL, SKB_DROP_REASON_SOCKET_RCVBUFF },
};

void qoff_drop_count(struct qoff_stats *a, struct qoff_stats *b,
		     enum qoff_drop why, unsigned int n)
{
	if (a)
		qoff_count(a, qoff_drop_map[why].cnt, n);
	if (b)
		qoff_count(b, qoff_drop_map[why].cnt, n);
}

void qoff_drop_skb(struct sk_buff *skb, enum qoff_drop why)
{
	trace_qoff_drop(skb, why);
	kfree_skb_reason(skb, qoff_drop_map[why].reason);
}
