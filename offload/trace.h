/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QUIC offload: tracepoints. Never keys, never payload.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM quic_offload

#if !defined(_QOFF_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _QOFF_TRACE_H

#include <linux/tracepoint.h>
#include <net/inet_sock.h>

#include "qoff.h"

TRACE_EVENT(qoff_attach,
	TP_PROTO(const struct sock *sk, const struct qoff_group *g),
	TP_ARGS(sk, g),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u16, family)
		__field(u16, port)
		__field(u8, dcid_len)
	),
	TP_fast_assign(
		__entry->group = g->id;
		__entry->family = sk->sk_family;
		__entry->port = inet_sk(sk)->inet_num;
		__entry->dcid_len = g->dcid_len;
	),
	TP_printk("group=%u family=%u port=%u dcid_len=%u", __entry->group,
		  __entry->family, __entry->port, __entry->dcid_len)
);

DECLARE_EVENT_CLASS(qoff_ctx,
	TP_PROTO(const struct qoff_ctx *ctx),
	TP_ARGS(ctx),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, id)
		__field(u32, gen)
		__field(u8, cipher)
	),
	TP_fast_assign(
		__entry->group = ctx->group->id;
		__entry->id = ctx->id;
		__entry->gen = ctx->gen;
		__entry->cipher = ctx->cipher;
	),
	TP_printk("group=%u ctx=%u gen=%u cipher=%u", __entry->group,
		  __entry->id, __entry->gen, __entry->cipher)
);

DEFINE_EVENT(qoff_ctx, qoff_ctx_add,
	TP_PROTO(const struct qoff_ctx *ctx), TP_ARGS(ctx));
DEFINE_EVENT(qoff_ctx, qoff_ctx_update,
	TP_PROTO(const struct qoff_ctx *ctx), TP_ARGS(ctx));
DEFINE_EVENT(qoff_ctx, qoff_ctx_del,
	TP_PROTO(const struct qoff_ctx *ctx), TP_ARGS(ctx));

DECLARE_EVENT_CLASS(qoff_flow,
	TP_PROTO(const struct qoff_flow *flow),
	TP_ARGS(flow),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, id)
		__field(u64, cookie)
		__field(bool, keys)
	),
	TP_fast_assign(
		__entry->group = flow->group->id;
		__entry->id = flow->id;
		__entry->cookie = flow->cookie;
		__entry->keys = rcu_access_pointer(flow->keys);
	),
	TP_printk("group=%u flow=%u cookie=%llu keys=%d", __entry->group,
		  __entry->id, __entry->cookie, __entry->keys)
);

DEFINE_EVENT(qoff_flow, qoff_flow_add,
	TP_PROTO(const struct qoff_flow *flow), TP_ARGS(flow));
DEFINE_EVENT(qoff_flow, qoff_flow_update,
	TP_PROTO(const struct qoff_flow *flow), TP_ARGS(flow));
DEFINE_EVENT(qoff_flow, qoff_flow_del,
	TP_PROTO(const struct qoff_flow *flow), TP_ARGS(flow));

TRACE_EVENT(qoff_place,
	TP_PROTO(const struct qoff_dev *qd, bool is_flow, bool add, int err),
	TP_ARGS(qd, is_flow, add, err),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(bool, is_flow)
		__field(bool, add)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->dev = qd->id;
		__entry->is_flow = is_flow;
		__entry->add = add;
		__entry->err = err;
	),
	TP_printk("dev=%u %s %s err=%d", __entry->dev,
		  __entry->add ? "add" : "del",
		  __entry->is_flow ? "flow" : "ctx", __entry->err)
);

TRACE_EVENT(qoff_tx,
	TP_PROTO(const struct sock *sk, u32 ctx, u64 pn, unsigned int nseg,
		 unsigned int len, bool dev),
	TP_ARGS(sk, ctx, pn, nseg, len, dev),
	TP_STRUCT__entry(
		__field(u64, pn)
		__field(u32, ctx)
		__field(unsigned int, nseg)
		__field(unsigned int, len)
		__field(u16, port)
		__field(bool, dev)
	),
	TP_fast_assign(
		__entry->pn = pn;
		__entry->ctx = ctx;
		__entry->nseg = nseg;
		__entry->len = len;
		__entry->port = inet_sk(sk)->inet_num;
		__entry->dev = dev;
	),
	TP_printk("port=%u ctx=%u pn=%llu nseg=%u len=%u %s", __entry->port,
		  __entry->ctx, __entry->pn, __entry->nseg, __entry->len,
		  __entry->dev ? "device" : "software")
);

TRACE_EVENT(qoff_rx,
	TP_PROTO(const struct sock *sk, u64 cookie, unsigned int nseg,
		 unsigned int len),
	TP_ARGS(sk, cookie, nseg, len),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(unsigned int, nseg)
		__field(unsigned int, len)
		__field(u16, port)
	),
	TP_fast_assign(
		__entry->cookie = cookie;
		__entry->nseg = nseg;
		__entry->len = len;
		__entry->port = inet_sk(sk)->inet_num;
	),
	TP_printk("port=%u cookie=%llu nseg=%u len=%u", __entry->port,
		  __entry->cookie, __entry->nseg, __entry->len)
);

/* @why: enum qoff_drop */
TRACE_EVENT(qoff_drop,
	TP_PROTO(const struct sk_buff *skb, unsigned int why),
	TP_ARGS(skb, why),
	TP_STRUCT__entry(
		__field(const void *, skb)
		__field(unsigned int, len)
		__field(unsigned int, why)
	),
	TP_fast_assign(
		__entry->skb = skb;
		__entry->len = skb->len;
		__entry->why = why;
	),
	TP_printk("skb=%p len=%u why=%u", __entry->skb, __entry->len,
		  __entry->why)
);

#endif /* _QOFF_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
