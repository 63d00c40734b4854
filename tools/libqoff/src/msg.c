// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Control messages: written for a send, understood after a receive. Both are the
 * same for kernel and user space, which speak through struct msghdr.
 */
#include <netinet/in.h>

#include "priv.h"

/* Appends a control message to @buf, which has @used of @size bytes. */
static void *append(void *buf, size_t size, size_t *used, int level, int type, size_t len)
{
	struct cmsghdr *c = (void *)((char *)buf + *used);

	if (CMSG_SPACE(len) > size - *used)
		return NULL;
	memset(c, 0, CMSG_SPACE(len));
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	*used += CMSG_SPACE(len);
	return CMSG_DATA(c);
}

ssize_t qoff_tx_control(const struct qoff_tx_msg *m, void *buf, size_t size)
{
	size_t used = 0, len = sizeof(struct qoff_tx) + m->nseg * sizeof(struct qoff_tx_seg);
	struct qoff_tx tx = {
		.hdr_size = sizeof(struct qoff_tx),
		.seg_size = sizeof(struct qoff_tx_seg),
		.nseg = m->nseg,
		.flags = m->flags,
		.ctx = m->flags & QOFF_TX_RAW ? 0 : m->ctx.id,
		.ctx_gen = m->flags & QOFF_TX_RAW ? 0 : m->ctx.gen,
		.pn = m->flags & QOFF_TX_RAW ? 0 : m->pn,
	};
	uint8_t *p;

	if (m->nseg > QOFF_MAX_SEGS)
		return qoff_fail(EINVAL, "%u packets are more than %u", m->nseg, QOFF_MAX_SEGS);
	if (m->controllen > size || m->controllen != CMSG_ALIGN(m->controllen))
		return qoff_fail(m->controllen > size ? ENOSPC : EINVAL,
				 "control messages of %zu bytes", m->controllen);
	if (m->controllen)
		memcpy(buf, m->control, m->controllen);
	used = m->controllen;

	/* Each family reads its own and skips the other's: a v6 socket can send to a
	 * v4-mapped address.
	 */
	if (m->tos >= 0) {
		int tos = m->tos;

		p = append(buf, size, &used, IPPROTO_IP, IP_TOS, sizeof(tos));
		if (p)
			memcpy(p, &tos, sizeof(tos));
		p = p ? append(buf, size, &used, IPPROTO_IPV6, IPV6_TCLASS, sizeof(tos)) : NULL;
		if (!p)
			return qoff_fail(ENOSPC, "no room for control messages");
		memcpy(p, &tos, sizeof(tos));
	}
	p = append(buf, size, &used, SOCK_SOL_UDP, QOFF_CMSG, len);
	if (!p)
		return qoff_fail(ENOSPC, "no room for control messages");
	memcpy(p, &tx, sizeof(tx));
	if (m->nseg)
		memcpy(p + sizeof(tx), m->segs, m->nseg * sizeof(*m->segs));
	return used;
}

ssize_t qoff_send(struct qoff_sock *s, const struct qoff_tx_msg *m, int flags)
{
	char buf[QOFF_TX_CONTROL_SIZE + 512] __attribute__((aligned(sizeof(struct cmsghdr))));
	struct msghdr msg = {
		.msg_name = (void *)m->addr,
		.msg_namelen = m->addr ? m->addrlen : 0,
		.msg_iov = (void *)m->iov,
		.msg_iovlen = m->iovlen,
		.msg_control = buf,
	};
	ssize_t n;

	n = qoff_tx_control(m, buf, sizeof(buf));
	if (n < 0)
		return n;
	msg.msg_controllen = n;
	return qoff_sendmsg(s, &msg, flags);
}

static int bad(const char *why)
{
	return qoff_fail(EBADMSG, "malformed receive record: %s", why);
}

/* The record proper: sizes, then the copy. Fields that an older kernel does not
 * have stay 0, those of a newer one are skipped.
 */
static int parse_record(const uint8_t *p, size_t len, struct qoff_batch *b)
{
	struct qoff_rx *rx = &b->rx;
	uint16_t hdr, seg;

	memset(rx, 0, sizeof(*rx));
	if (len < QOFF_RX_HDR_MIN)
		return bad("short head");
	memcpy(rx, p, QOFF_RX_HDR_MIN);
	hdr = rx->hdr_size;
	seg = rx->seg_size;
	if (hdr < QOFF_RX_HDR_MIN || seg < QOFF_RX_SEG_MIN || hdr > len)
		return bad("sizes");
	memcpy(rx, p, hdr < sizeof(*rx) ? hdr : sizeof(*rx));
	if (!rx->nseg || rx->nseg > QOFF_MAX_SEGS)
		return bad("number of packets");
	if (len != hdr + (size_t)rx->nseg * seg)
		return bad("length");
	p += hdr;
	if (seg == sizeof(b->seg[0])) {
		memcpy(b->seg, p, rx->nseg * sizeof(b->seg[0]));
		return 0;
	}
	for (unsigned int i = 0; i < rx->nseg; i++, p += seg) {
		memset(&b->seg[i], 0, sizeof(b->seg[i]));
		memcpy(&b->seg[i], p, seg < sizeof(b->seg[i]) ? seg : sizeof(b->seg[i]));
	}
	return 0;
}

/* What a program may take for granted of a record that qoff_next() walks. */
static int check_batch(struct qoff_batch *b)
{
	const struct qoff_rx_seg *s, *end = b->seg + b->rx.nseg;
	size_t sum = 0;

	for (s = b->seg; s < end; s++) {
		sum += s->len;
		if (s->status != QOFF_RX_OPENED)
			continue;
		if (s->pn > QOFF_PN_MAX || s->pn_len < 1 || s->pn_len > 4 ||
		    s->hdr_len < 1 + s->pn_len || s->hdr_len + QOFF_TAG_SIZE > s->len)
			return bad("header of an opened packet");
	}
	if (b->msg_flags & MSG_TRUNC) {
		if (b->rx.nseg != 1 || sum < b->len)
			return bad("cut");
	} else if (sum != b->len) {
		return bad("sum of lengths");
	}
	return 0;
}

int qoff_rx_parse(const struct msghdr *msg, size_t len, struct qoff_batch *b)
{
	struct msghdr *m = (struct msghdr *)msg;
	struct cmsghdr *c, *found = NULL;
	int err;

	b->len = len;
	b->msg_flags = msg->msg_flags;
	b->addrlen = msg->msg_namelen < sizeof(b->addr) ? msg->msg_namelen : sizeof(b->addr);
	if (msg->msg_name && msg->msg_name != &b->addr)
		memcpy(&b->addr, msg->msg_name, b->addrlen);
	b->rx.nseg = 0;
	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		/* CMSG_NXTHDR checks the one that follows, nobody this one. */
		if (c->cmsg_len < CMSG_LEN(0) ||
		    c->cmsg_len > (char *)m->msg_control + m->msg_controllen - (char *)c)
			return bad("control buffer");
		if (c->cmsg_level == SOCK_SOL_UDP && (uint32_t)c->cmsg_type == QOFF_CMSG) {
			if (found)
				return bad("two records");
			found = c;
		}
	}
	if (!found)
		return qoff_fail(ENOMSG, "no receive record: an ordinary datagram");
	err = parse_record(CMSG_DATA(found), found->cmsg_len - CMSG_LEN(0), b);
	if (!err)
		err = check_batch(b);
	if (err)
		b->rx.nseg = 0;
	return err ? err : b->rx.nseg;
}

#define RECORD_MAX (sizeof(struct qoff_rx) + QOFF_MAX_SEGS * sizeof(struct qoff_rx_seg))

/* Copies all but our control message into the caller's buffer. */
static void other_control(struct msghdr *msg, struct qoff_batch *b)
{
	struct cmsghdr *c;
	size_t space;

	b->control_len = 0;
	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == SOCK_SOL_UDP && (uint32_t)c->cmsg_type == QOFF_CMSG)
			continue;
		space = CMSG_ALIGN(c->cmsg_len);
		if (space > b->control_size - b->control_len) {
			if (b->control)
				b->msg_flags |= MSG_CTRUNC;
			return;
		}
		memset((char *)b->control + b->control_len, 0, space);
		memcpy((char *)b->control + b->control_len, c, c->cmsg_len);
		b->control_len += space;
	}
}

int qoff_recv(struct qoff_sock *s, struct qoff_batch *b, int flags)
{
	char buf[CMSG_SPACE(RECORD_MAX) + 512] __attribute__((aligned(sizeof(struct cmsghdr))));
	struct iovec iov = { .iov_base = b->data, .iov_len = b->size };
	struct msghdr msg = {
		.msg_name = &b->addr,
		.msg_namelen = sizeof(b->addr),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = buf,
		.msg_controllen = sizeof(buf),
	};
	ssize_t n;
	int nseg;

	if (!b->control)
		b->control_size = 0;
	/* What was cut off is not in the buffer, and must not be counted as if. */
	n = qoff_recvmsg(s, &msg, flags & ~MSG_TRUNC);
	if (n < 0)
		return n;
	nseg = qoff_rx_parse(&msg, n, b);
	if (nseg < 0)
		return nseg == -ENOMSG ? bad("none") : nseg;
	other_control(&msg, b);
	return nseg;
}

bool qoff_next(const struct qoff_batch *b, struct qoff_iter *it, struct qoff_packet *p)
{
	const struct qoff_rx_seg *s;

	if (it->index >= b->rx.nseg || it->offset > b->len)
		return false;
	s = &b->seg[it->index];
	p->seg = s;
	p->data = b->data + it->offset;
	p->len = s->len;
	if (p->len > b->len - it->offset)
		p->len = b->len - it->offset;
	p->payload = NULL;
	p->payload_len = 0;
	if (s->status == QOFF_RX_OPENED && p->len >= s->hdr_len + QOFF_TAG_SIZE) {
		p->payload = p->data + s->hdr_len;
		p->payload_len = p->len - s->hdr_len - QOFF_TAG_SIZE;
	}
	it->index++;
	it->offset += p->len;
	return true;
}
