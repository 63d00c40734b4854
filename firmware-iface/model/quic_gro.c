// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Coalescing on receive: a session collects packets of one context for one
 * queue in the device and is written to the host as a whole, when it is full,
 * when a packet does not fit in, or when the wire falls silent.
 */
#include <stdlib.h>

#include "quic.h"
#include "quic_gro.h"

#define GRO_AGE_NS	50000
#define GRO_BUF		(65536 + QOFF_MLX5_MAX_SEGS * sizeof(struct qoff_mlx5_rx_seg) + 64)
#define GRO_MAX_HDR	(14 + 40 + 8)
#define WINDOW_FLAGS	(QOFF_MLX5_RXF_PN_BELOW | QOFF_MLX5_RXF_PN_ABOVE)

/**
 * struct session - packets that wait to be completed together
 * @f: the first frame, its data in @buf
 * @room: bytes that the queue's buffer takes
 * @len: bytes of the frame so far
 */
struct session {
	struct nm_quic_ctx *x;
	struct nm_rq *rq;
	struct nm_rx_frame f;
	struct nm_quic_rx q;
	u64 born;
	u32 room;
	u32 len;
	u32 n;
	struct qoff_mlx5_rx_seg seg[QOFF_MLX5_MAX_SEGS];
	u8 buf[GRO_BUF];
};

struct nm_quic_sessions {
	u32 nr;		/* in use, at the front */
	struct session *s[256];
};

struct nm_quic_sessions *nm_quic_gro_create(void)
{
	return calloc(1, sizeof(struct nm_quic_sessions));
}

void nm_quic_gro_destroy(struct nm_quic_sessions *t)
{
	unsigned int i;

	for (i = 0; t && i < ARRAY_SIZE(t->s); i++)
		free(t->s[i]);
	free(t);
}

static void session_end(struct nm_quic_sessions *t, u32 i)
{
	struct session *s = t->s[i];

	explicit_bzero(s->buf, s->len);
	t->s[i] = t->s[--t->nr];
	t->s[t->nr] = s;
}

static void session_flush(struct nm_fn *fn, u32 i)
{
	struct nm_quic_sessions *t = fn->quic->sessions;
	struct session *s = t->s[i];
	u32 list = qoff_mlx5_list_off(s->len);

	s->f.len = s->len;
	s->f.total = s->len;
	if (s->n > 1) {
		if (nm_fault_take(fn, quic.list))
			s->seg[0].len = htobe16(65535);
		memset(s->buf + s->len, 0, list - s->len);
		memcpy(s->buf + list, s->seg, s->n * sizeof(s->seg[0]));
		s->f.total = list + s->n * sizeof(s->seg[0]);
	}
	s->f.segs = s->n;
	if (!nm_rx_deliver(fn, s->rq, &s->f)) {
		nm_count_add(fn, NM_CNT_quic_rx_gro_lost, s->n);
	} else if (s->n > 1) {
		nm_count(fn, NM_CNT_quic_rx_coalesced);
		nm_count_add(fn, NM_CNT_quic_rx_coalesced_pkts, s->n);
	}
	session_end(t, i);
}

static struct session *session_find(struct nm_fn *fn, const struct nm_quic_ctx *x,
				    const struct nm_rq *rq, u32 *at)
{
	struct nm_quic_sessions *t = fn->quic->sessions;
	u32 i;

	for (i = 0; i < t->nr; i++)
		if (t->s[i]->x == x && t->s[i]->rq == rq) {
			*at = i;
			return t->s[i];
		}
	return NULL;
}

/* What a packet must be to share a completion with another */
static bool mergeable(const struct nm_rx_frame *f)
{
	const struct nm_pkt *p = &f->p;
	const u8 *ip = p->data + p->l3_off;

	return !p->vlan && p->l3_off == 14 && f->ip_ok && f->l4_ok &&
	       (p->ip_ver == 6 || (ip[0] & 0xf) == 5) &&
	       p->l4_off == 14 + (p->ip_ver == 4 ? 20 : 40) && f->q->len &&
	       !(f->q->data[0] & 0x80) &&
	       !(f->q->flags & (QOFF_MLX5_RXF_RUNT | QOFF_MLX5_RXF_CTX_ERROR));
}

static bool same_headers(const struct session *s, const struct nm_pkt *p)
{
	const u8 *a = s->buf, *b = p->data;

	if (s->f.p.ip_ver != p->ip_ver || memcmp(a, b, 14) ||
	    memcmp(a + p->l4_off, b + p->l4_off, 4))
		return false;
	a += 14;
	b += 14;
	if (p->ip_ver == 4)
		return !memcmp(a, b, 2) && !memcmp(a + 6, b + 6, 4) &&
		       !memcmp(a + 12, b + 12, 8);
	return !memcmp(a, b, 4) && !memcmp(a + 6, b + 6, 34);
}

static bool fits(struct nm_fn *fn, const struct session *s, const struct nm_rx_frame *f)
{
	const struct nm_quic_rx *q = f->q;
	u32 len = s->len + q->len;

	if (s->n >= NM_QUIC_CAP(fn, max_gro_segs) ||
	    s->n == QOFF_MLX5_MAX_SEGS ||
	    len > NM_QUIC_CAP(fn, max_gro_bytes) || len > 65535 ||
	    qoff_mlx5_list_off(len) + (s->n + 1) * sizeof(s->seg[0]) > s->room)
		return false;
	if (!NM_QUIC_CAP(fn, gro_var) && q->len > be16toh(s->seg[0].len))
		return false;
	return (s->q.flags ^ q->flags) & ~WINDOW_FLAGS ? false :
	       s->q.phase == q->phase && s->q.tag == q->tag &&
	       f->tag == s->f.tag && same_headers(s, &f->p);
}

static void append(struct session *s, const struct nm_quic_rx *q)
{
	s->seg[s->n++] = (struct qoff_mlx5_rx_seg){
		.len = htobe16(q->len), .flags = q->flags,
		.pn_len = q->pn_len, .pn = htobe64(q->pn),
	};
	if (q->data != s->buf + s->len)
		memcpy(s->buf + s->len, q->data, q->len);
	s->len += q->len;
}

static bool begin(struct nm_fn *fn, struct nm_rq *rq, const struct nm_rx_frame *f)
{
	struct nm_quic_sessions *t = fn->quic->sessions;
	u32 max = NM_QUIC_CAP(fn, gro_sessions), room = nm_rx_room(fn, rq);
	u32 hdr = f->p.l4_off + 8;
	struct session *s;

	if (!max || qoff_mlx5_list_off(hdr + 2 * f->q->len) + 32 > room)
		return false;
	if (max > ARRAY_SIZE(t->s))
		max = ARRAY_SIZE(t->s);
	if (t->nr == max)
		session_flush(fn, 0);
	if (!t->s[t->nr])
		t->s[t->nr] = malloc(sizeof(*s));
	s = t->s[t->nr];
	if (!s)
		return false;
	t->nr++;
	s->x = f->q->ctx;
	s->rq = rq;
	s->f = *f;
	s->q = *f->q;
	s->born = fn->model->now_ns;
	s->room = room;
	s->len = hdr;
	s->n = 0;
	memcpy(s->buf, f->p.data, hdr);
	append(s, f->q);
	s->f.p.data = s->buf;
	s->f.data = s->buf;
	s->f.q = &s->q;
	return true;
}

u8 *nm_quic_gro_tail(struct nm_fn *fn, struct nm_rq *rq, const struct nm_quic_ctx *x,
		     u32 len)
{
	struct session *s;
	u32 at;

	s = x->gro ? session_find(fn, x, rq, &at) : NULL;
	return s && s->len + len <= s->room && s->len + len <= 65535 ? s->buf + s->len : NULL;
}

bool nm_quic_gro_add(struct nm_fn *fn, struct nm_rq *rq, struct nm_rx_frame *f, u8 *spare)
{
	struct nm_quic_ctx *x = f->q->ctx;
	bool merge = mergeable(f);
	struct session *s;
	u32 at;

	s = session_find(fn, x, rq, &at);
	if (s && merge && fits(fn, s, f)) {
		append(s, f->q);
		/* Of equal lengths only the last may be shorter. */
		if (!NM_QUIC_CAP(fn, gro_var) && f->q->len < be16toh(s->seg[0].len))
			session_flush(fn, at);
		return true;
	}
	if (s && f->q->data == s->buf + s->len) {
		memcpy(spare, f->q->data, f->q->len);
		f->q->data = spare;
	}
	if (s)
		session_flush(fn, at);
	return merge && begin(fn, rq, f);
}

void nm_quic_gro_flush_ctx(struct nm_fn *fn, const struct nm_quic_ctx *x)
{
	struct nm_quic_sessions *t = fn->quic->sessions;
	u32 i;

	for (i = t->nr; i--;)
		if (t->s[i]->x == x)
			session_flush(fn, i);
}

void nm_quic_gro_flush(struct nm_fn *fn)
{
	while (fn->quic->sessions->nr)
		session_flush(fn, fn->quic->sessions->nr - 1);
}

void nm_quic_gro_poll(struct nm_fn *fn, bool busy)
{
	struct nm_quic_sessions *t = fn->quic->sessions;
	u32 i;

	for (i = t->nr; i--;)
		if (!busy || fn->model->now_ns - t->s[i]->born >= GRO_AGE_NS)
			session_flush(fn, i);
}

void nm_quic_gro_drop_ctx(struct nm_fn *fn, const struct nm_quic_ctx *x)
{
	struct nm_quic_sessions *t = fn->quic->sessions;
	u32 i;

	for (i = t->nr; i--;)
		if (t->s[i]->x == x)
			session_end(t, i);
}

void nm_quic_gro_drop(struct nm_fn *fn)
{
	while (fn->quic->sessions->nr)
		session_end(fn->quic->sessions, fn->quic->sessions->nr - 1);
}
