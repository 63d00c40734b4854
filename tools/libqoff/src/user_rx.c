// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiving in user space: recvmmsg with UDP_GRO into slots, then packets out of
 * the slots into the caller's buffer, opened on the way.
 */
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <time.h>

#include "user.h"

/**
 * struct batch - one receive being made
 * @s: socket
 * @msg: the caller's
 * @peek: nothing is consumed
 * @room: bytes of the caller's buffer
 * @max: packets that the control buffer can describe
 * @used: bytes written
 * @bounce: for a packet that straddles two iovecs, on demand
 * @rx: record
 * @seg: its entries
 * @tstamp: arrival of each packet
 * @slot: the first packet's
 */
struct batch {
	struct qoff_sock *s;
	struct msghdr *msg;
	bool peek;
	size_t room;
	unsigned int max;
	size_t used;
	uint8_t *bounce;
	struct qoff_rx rx;
	struct qoff_rx_seg seg[QOFF_MAX_SEGS];
	uint64_t tstamp[QOFF_MAX_SEGS];
	const struct rx_slot *slot;
};

static int alloc_slots(struct user_sock *u)
{
	if (u->slots)
		return 0;
	u->slots = calloc(RX_SLOTS, sizeof(*u->slots));
	if (!u->slots)
		return qoff_fail(ENOMEM, "no memory");
	for (unsigned int i = 0; i < RX_SLOTS; i++) {
		u->slots[i].buf = malloc(QOFF_MAX_TRUESIZE);
		if (!u->slots[i].buf) {
			while (i--)
				free(u->slots[i].buf);
			free(u->slots);
			u->slots = NULL;
			return qoff_fail(ENOMEM, "no memory");
		}
	}
	return 0;
}

static int get_int(const struct cmsghdr *c)
{
	int v = 0;

	/* IP_TOS has one byte, the others an int. */
	if (c->cmsg_len >= CMSG_LEN(sizeof(v)))
		memcpy(&v, CMSG_DATA(c), sizeof(v));
	else if (c->cmsg_len > CMSG_LEN(0))
		v = *CMSG_DATA(c);
	return v;
}

static void get_local(struct rx_slot *slot, const struct cmsghdr *c)
{
	struct sockaddr_in6 s6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in s4 = { .sin_family = AF_INET };
	struct in6_pktinfo i6;
	struct in_pktinfo i4;

	if (c->cmsg_level == IPPROTO_IP && c->cmsg_len >= CMSG_LEN(sizeof(i4))) {
		memcpy(&i4, CMSG_DATA(c), sizeof(i4));
		s4.sin_addr = i4.ipi_addr;
		qoff_addr_from((void *)&s4, &slot->local);
	} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_len >= CMSG_LEN(sizeof(i6))) {
		memcpy(&i6, CMSG_DATA(c), sizeof(i6));
		s6.sin6_addr = i6.ipi6_addr;
		qoff_addr_from((void *)&s6, &slot->local);
	}
}

static void read_control(struct rx_slot *slot, struct msghdr *m)
{
	struct timespec ts;
	struct cmsghdr *c;
	int gso = 0;

	slot->tos = 0;
	slot->tstamp = 0;
	slot->local.len = 0;
	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) ||
		    (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)) {
			slot->tos = get_int(c);
		} else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) ||
			   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)) {
			get_local(slot, c);
		} else if (c->cmsg_level == SOCK_SOL_UDP && c->cmsg_type == UDP_GRO) {
			gso = get_int(c);
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS &&
			   c->cmsg_len >= CMSG_LEN(sizeof(ts))) {
			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			slot->tstamp = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
		}
	}
	slot->gso = gso > 0 ? gso : slot->len;
	slot->control_len = m->msg_controllen;
}

/* Fills the empty queue. @flags: MSG_DONTWAIT. */
static int fill(struct qoff_sock *s, int flags)
{
	struct user_sock *u = s->user;
	struct mmsghdr mm[RX_SLOTS];
	struct iovec iov[RX_SLOTS];
	int n;

	n = alloc_slots(u);
	if (n)
		return n;
	memset(mm, 0, sizeof(mm));
	for (unsigned int i = 0; i < RX_SLOTS; i++) {
		struct rx_slot *slot = &u->slots[i];

		iov[i].iov_base = slot->buf;
		iov[i].iov_len = QOFF_MAX_TRUESIZE;
		mm[i].msg_hdr.msg_iov = &iov[i];
		mm[i].msg_hdr.msg_iovlen = 1;
		mm[i].msg_hdr.msg_name = &slot->from;
		mm[i].msg_hdr.msg_namelen = sizeof(slot->from);
		mm[i].msg_hdr.msg_control = slot->control;
		mm[i].msg_hdr.msg_controllen = sizeof(slot->control);
	}
	n = recvmmsg(s->fd, mm, RX_SLOTS, flags | MSG_WAITFORONE, NULL);
	if (n < 0)
		return qoff_fail(errno, "recvmmsg: %s", strerror(errno));
	u->rx_head = 0;
	u->rx_tail = n;
	for (int i = 0; i < n; i++) {
		struct rx_slot *slot = &u->slots[i];

		slot->len = mm[i].msg_len;
		slot->off = 0;
		slot->fromlen = mm[i].msg_hdr.msg_namelen;
		read_control(slot, &mm[i].msg_hdr);
	}
	return 0;
}

static size_t packet_len(const struct rx_slot *slot, size_t off)
{
	size_t left = slot->len - off;

	return left < slot->gso ? left : slot->gso;
}

/* The flow of a packet, or NULL; @prev is the flow of the one before, the likely one. */
static struct user_flow *flow_of(struct batch *b, const struct rx_slot *slot, const uint8_t *p,
				 size_t len, struct user_flow *prev)
{
	struct user_group *g = b->s->user->group;
	struct qoff_addr remote;

	if (len < 1U + g->dcid_len || !qoff_is_short(p[0]) ||
	    qoff_addr_from((const void *)&slot->from, &remote))
		return NULL;
	if (prev && user_flow_is(g, prev, &slot->local, &remote, p + 1)) {
		atomic_fetch_add(&prev->ref, 1);
		return prev;
	}
	return user_flow_find(g, &slot->local, &remote, p + 1);
}

/* Where @len more bytes go: the caller's buffer, or the bounce buffer. */
static uint8_t *place(struct batch *b, size_t len)
{
	struct iovec *iov = b->msg->msg_iov;
	size_t off = b->used;

	for (size_t i = 0; i < b->msg->msg_iovlen; off -= iov[i++].iov_len) {
		if (off >= iov[i].iov_len)
			continue;
		if (len <= iov[i].iov_len - off)
			return (uint8_t *)iov[i].iov_base + off;
		break;
	}
	if (!b->bounce)
		b->bounce = malloc(QOFF_MAX_TRUESIZE);
	return b->bounce;
}

/* From the bounce buffer into the pieces. @len fits. */
static void scatter(struct batch *b, const uint8_t *src, size_t len)
{
	struct iovec *iov = b->msg->msg_iov;
	size_t off = b->used, take;

	for (size_t i = 0; len; i++) {
		if (off >= iov[i].iov_len) {
			off -= iov[i].iov_len;
			continue;
		}
		take = iov[i].iov_len - off;
		if (take > len)
			take = len;
		memcpy((char *)iov[i].iov_base + off, src, take);
		src += take;
		len -= take;
		off = 0;
	}
}

/* One packet into the batch. */
static int take_packet(struct batch *b, const struct rx_slot *slot, size_t off, size_t len,
		       struct user_flow *f)
{
	struct qoff_rx_seg *seg = &b->seg[b->rx.nseg];
	size_t put = len;
	uint8_t *dst;

	if (len > b->room - b->used) {
		put = b->room - b->used;
		b->msg->msg_flags |= MSG_TRUNC;
	}
	/* A packet that will be cut is opened whole first. */
	dst = place(b, len);
	if (!dst)
		return qoff_fail(ENOMEM, "no memory");
	user_open(b->s, f, slot->buf + off, dst, len, b->peek, seg);
	seg->tos = slot->tos;
	b->tstamp[b->rx.nseg] = slot->tstamp;
	if (dst == b->bounce)
		scatter(b, dst, put);
	b->used += put;
	b->rx.nseg++;
	return 0;
}

static bool same_source(const struct rx_slot *a, const struct rx_slot *b)
{
	return a->fromlen == b->fromlen && !memcmp(&a->from, &b->from, a->fromlen) &&
	       a->local.len == b->local.len && !memcmp(a->local.a, b->local.a, a->local.len);
}

/* Packets from the queue, as long as they belong together and fit. */
static int gather(struct batch *b)
{
	struct user_sock *u = b->s->user;
	struct user_flow *f = NULL, *next;
	unsigned int i = u->rx_head;
	size_t off = u->slots[i].off, len;
	int err = 0;

	b->slot = &u->slots[i];
	while (i < u->rx_tail && b->rx.nseg < b->max) {
		struct rx_slot *slot = &u->slots[i];

		len = packet_len(slot, off);
		if (b->rx.nseg && (len > b->room - b->used || !same_source(b->slot, slot)))
			break;
		next = flow_of(b, slot, slot->buf + off, len, f);
		/* As in the kernel, what has no flow comes alone. */
		if (b->rx.nseg && (next != f || !f)) {
			user_flow_put(next);
			break;
		}
		user_flow_put(f);
		f = next;
		err = take_packet(b, slot, off, len, f);
		if (err)
			break;
		off += len;
		if (off >= slot->len) {
			i++;
			off = 0;
		}
		if (!b->peek) {
			u->rx_head = i;
			if (i < u->rx_tail)
				u->slots[i].off = off;
		}
	}
	b->rx.cookie = f ? f->cookie : 0;
	if (b->rx.nseg > 1 && !b->peek)
		COUNT(&u->stats, RX_BATCHES, 1);
	if (i < u->rx_tail)
		b->rx.flags |= QOFF_RX_MORE;
	user_flow_put(f);
	return b->rx.nseg ? 0 : err;
}

static bool seen_before(const struct batch *b, unsigned int i)
{
	for (unsigned int k = 0; k < i; k++) {
		if (b->seg[k].status == QOFF_RX_OPENED && b->seg[k].pn == b->seg[i].pn)
			return true;
	}
	return false;
}

/* The aggregates, over opened packets. */
static void aggregate(struct batch *b)
{
	struct qoff_rx *rx = &b->rx;

	rx->tstamp_ns = b->tstamp[rx->nseg - 1];
	for (unsigned int i = 0; i < rx->nseg; i++) {
		const struct qoff_rx_seg *s = &b->seg[i];

		if (s->status == QOFF_RX_FAILED)
			rx->nfailed++;
		if (s->status != QOFF_RX_OPENED)
			continue;
		/* Only a number that does not grow can be a duplicate. */
		if (rx->nopened && s->pn <= rx->pn_largest && seen_before(b, i))
			rx->flags |= QOFF_RX_DUP;
		if (!rx->nopened || s->pn < rx->pn_min)
			rx->pn_min = s->pn;
		if (!rx->nopened || s->pn > rx->pn_largest) {
			rx->pn_largest = s->pn;
			rx->tstamp_ns = b->tstamp[i];
		}
		rx->nopened++;
		rx->ect1 += (s->tos & 3) == 1;
		rx->ect0 += (s->tos & 3) == 2;
		rx->ce += (s->tos & 3) == 3;
	}
	if (rx->nopened && !(rx->flags & QOFF_RX_DUP) &&
	    rx->pn_largest - rx->pn_min + 1 == rx->nopened)
		rx->flags |= QOFF_RX_CONTIGUOUS;
	if (rx->tstamp_ns)
		rx->flags |= QOFF_RX_HAS_TSTAMP;
}

/* Our record first, it is known to fit; then what the kernel gave. */
static void put_control(struct batch *b)
{
	size_t len = sizeof(b->rx) + b->rx.nseg * sizeof(b->seg[0]), used, space;
	const struct rx_slot *slot = b->slot;
	struct msghdr from = {
		.msg_control = (void *)slot->control,
		.msg_controllen = slot->control_len,
	};
	struct msghdr *m = b->msg;
	struct cmsghdr *c = m->msg_control;

	b->rx.hdr_size = sizeof(b->rx);
	b->rx.seg_size = sizeof(b->seg[0]);
	memset(c, 0, CMSG_LEN(0));
	c->cmsg_level = SOCK_SOL_UDP;
	c->cmsg_type = QOFF_CMSG;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), &b->rx, sizeof(b->rx));
	memcpy(CMSG_DATA(c) + sizeof(b->rx), b->seg, b->rx.nseg * sizeof(b->seg[0]));
	used = CMSG_SPACE(len);
	if (used > m->msg_controllen)
		used = m->msg_controllen;

	for (c = CMSG_FIRSTHDR(&from); c; c = CMSG_NXTHDR(&from, c)) {
		if (c->cmsg_level == SOCK_SOL_UDP && c->cmsg_type == UDP_GRO)
			continue;
		space = CMSG_ALIGN(c->cmsg_len);
		if (space > m->msg_controllen - used) {
			m->msg_flags |= MSG_CTRUNC;
			break;
		}
		memcpy((char *)m->msg_control + used, c, c->cmsg_len);
		used += space;
	}
	m->msg_controllen = used;
}

static void put_name(struct batch *b)
{
	struct msghdr *m = b->msg;
	socklen_t n = b->slot->fromlen;

	if (!m->msg_name)
		return;
	memcpy(m->msg_name, &b->slot->from, n < m->msg_namelen ? n : m->msg_namelen);
	m->msg_namelen = n;
}

/* How many packets @size bytes of control buffer describe. */
static unsigned int max_segs(const struct msghdr *m)
{
	size_t head = CMSG_LEN(sizeof(struct qoff_rx)), n;

	if (!m->msg_control || m->msg_controllen < head + sizeof(struct qoff_rx_seg))
		return 0;
	n = (m->msg_controllen - head) / sizeof(struct qoff_rx_seg);
	return n < QOFF_MAX_SEGS ? n : QOFF_MAX_SEGS;
}

/* Under rx_lock. */
static ssize_t receive(struct batch *b, int flags)
{
	struct user_sock *u = b->s->user;
	int err = 0;

	if (u->rx_head == u->rx_tail)
		err = fill(b->s, flags & MSG_DONTWAIT);
	if (!err && !b->max)
		err = qoff_fail(ENOSPC, "the control buffer is too small for a record");
	if (!err)
		err = gather(b);
	if (err)
		return err;
	aggregate(b);
	put_control(b);
	put_name(b);
	if (b->msg->msg_flags & MSG_TRUNC && flags & MSG_TRUNC)
		return b->seg[0].len;
	return b->used;
}

ssize_t user_recvmsg(struct qoff_sock *s, struct msghdr *msg, int flags)
{
	struct batch b = { .s = s, .msg = msg, .peek = flags & MSG_PEEK };
	ssize_t n;

	if (flags & MSG_ERRQUEUE) {
		n = recvmsg(s->fd, msg, flags);
		return n < 0 ? qoff_fail(errno, "recvmsg: %s", strerror(errno)) : n;
	}
	msg->msg_flags = 0;
	b.max = max_segs(msg);
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		b.room += msg->msg_iov[i].iov_len;
	pthread_mutex_lock(&s->user->rx_lock);
	n = receive(&b, flags);
	pthread_mutex_unlock(&s->user->rx_lock);
	free(b.bounce);
	return n;
}
