// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sending: packets gather in the socket's batch and leave in runs of one kind.
 */
#include <sys/uio.h>
#include <unistd.h>

#include "priv.h"

static bool room(const struct qng_sock *s, size_t bytes)
{
	return s->n < QOFF_MAX_SEGS && s->len + bytes <= sizeof(s->buf);
}

size_t qng_batch_len(const struct qng_sock *s)
{
	return s->len - s->sent_len;
}

static struct qng_rec *append(struct qng_sock *s, const ngtcp2_path *path, size_t len, uint8_t ecn)
{
	struct qng_rec *r = &s->rec[s->n++];

	memset(r, 0, sizeof(*r));
	r->len = len;
	r->ecn = ecn;
	qng_addr_copy(&r->local, &path->local);
	qng_addr_copy(&r->remote, &path->remote);
	s->len += len;
	return r;
}

static void begin(struct qng_conn *c)
{
	qng_current = c;
	c->writing = true;
	c->deferred = false;
	c->zero_mask = false;
}

/* @n: what ngtcp2 wrote at the end of the batch. */
static void end(struct qng_conn *c, ngtcp2_ssize n, const ngtcp2_path *path, uint8_t ecn)
{
	struct qng_rec *r;

	if (n > 0) {
		r = append(c->sock, path, n, ecn);
		r->conn = c;
		r->deferred = c->deferred;
		r->pn = c->deferred_pn;
		r->phase = c->deferred_phase;
		r->probe = (size_t)n > ngtcp2_conn_get_path_max_tx_udp_payload_size(c->conn);
		c->sock->st.tx_deferred += r->deferred;
	}
	c->writing = false;
	c->deferred = false;
	c->zero_mask = false;
	qng_current = NULL;
}

ngtcp2_ssize qng_writev_stream(struct qng_conn *c, ngtcp2_ssize *pdatalen, uint32_t flags,
			       int64_t stream_id, const ngtcp2_vec *datav, size_t datavcnt,
			       ngtcp2_tstamp ts)
{
	size_t size = ngtcp2_conn_get_max_tx_udp_payload_size(c->conn);
	struct qng_sock *s = c->sock;
	ngtcp2_path_storage ps;
	ngtcp2_pkt_info pi = {};
	ngtcp2_ssize n;

	if (!room(s, size))
		return QNG_ERR_FULL;
	c->ts = ts;
	qng_refresh(c);
	ngtcp2_path_storage_zero(&ps);
	/* A packet that is filled over several calls stays at the same place. */
	begin(c);
	n = ngtcp2_conn_writev_stream(c->conn, &ps.path, &pi, s->buf + s->len, size, pdatalen,
				      flags, stream_id, datav, datavcnt, ts);
	end(c, n, &ps.path, pi.ecn);
	return n;
}

ngtcp2_ssize qng_write_close(struct qng_conn *c, const ngtcp2_ccerr *ccerr, ngtcp2_tstamp ts)
{
	size_t size = NGTCP2_MAX_UDP_PAYLOAD_SIZE;
	struct qng_sock *s = c->sock;
	ngtcp2_path_storage ps;
	ngtcp2_pkt_info pi = {};
	ngtcp2_ssize n;

	if (!room(s, size))
		return QNG_ERR_FULL;
	ngtcp2_path_storage_zero(&ps);
	begin(c);
	n = ngtcp2_conn_write_connection_close(c->conn, &ps.path, &pi, s->buf + s->len, size,
					       ccerr, ts);
	end(c, n, &ps.path, pi.ecn);
	return n;
}

int qng_write_raw(struct qng_sock *s, const ngtcp2_path *path, const void *data, size_t len)
{
	if (!room(s, len))
		return QNG_ERR_FULL;
	memcpy(s->buf + s->len, data, len);
	append(s, path, len, 0);
	return 0;
}

/* May two datagrams leave in one call? */
static bool alike(const struct qng_rec *a, const struct qng_rec *b)
{
	if (a->deferred != b->deferred || a->ecn != b->ecn || a->probe || b->probe)
		return false;
	if (a->deferred && (a->conn != b->conn || a->phase != b->phase || b->pn <= a->pn ||
			    b->pn - a->pn > UINT32_MAX / QOFF_MAX_SEGS))
		return false;
	return qng_same_addr(&a->remote, &b->remote) && qng_same_addr(&a->local, &b->local);
}

static unsigned int run_length(const struct qng_sock *s)
{
	unsigned int i = s->sent + 1;

	if (s->mode == QNG_PLAIN)
		return 1;
	while (i < s->n && alike(&s->rec[i - 1], &s->rec[i]))
		i++;
	return i - s->sent;
}

/* The source address, where the socket is bound to none. Return: bytes. */
static size_t put_pktinfo(const struct qng_rec *r, void *buf)
{
	struct cmsghdr *c = buf;

	if (r->local.sa.sa_family == AF_INET) {
		struct in_pktinfo i4 = { .ipi_spec_dst = r->local.in.sin_addr };

		c->cmsg_level = IPPROTO_IP;
		c->cmsg_type = IP_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(i4));
		memcpy(CMSG_DATA(c), &i4, sizeof(i4));
	} else {
		struct in6_pktinfo i6 = { .ipi6_addr = r->local.in6.sin6_addr };

		c->cmsg_level = IPPROTO_IPV6;
		c->cmsg_type = IPV6_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(i6));
		memcpy(CMSG_DATA(c), &i6, sizeof(i6));
	}
	return CMSG_ALIGN(c->cmsg_len);
}

static size_t put_tos(const struct qng_rec *r, void *buf)
{
	bool v4 = r->remote.sa.sa_family == AF_INET;
	struct cmsghdr *c = buf;
	int tos = r->ecn;

	c->cmsg_level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
	c->cmsg_type = v4 ? IP_TOS : IPV6_TCLASS;
	c->cmsg_len = CMSG_LEN(sizeof(tos));
	memcpy(CMSG_DATA(c), &tos, sizeof(tos));
	return CMSG_ALIGN(c->cmsg_len);
}

static int send_plain(struct qng_sock *s, struct qng_rec *r)
{
	char control[128] __attribute__((aligned(8))) = {};
	struct iovec iov = { s->buf + s->sent_len, r->len };
	struct msghdr msg = {
		.msg_name = &r->remote, .msg_namelen = qng_addr_len(&r->remote),
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
	};

	if (s->pktinfo)
		msg.msg_controllen += put_pktinfo(r, control);
	if (r->ecn)
		msg.msg_controllen += put_tos(r, control + msg.msg_controllen);
	return sendmsg(s->fd, &msg, MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int send_super(struct qng_sock *s, struct qng_rec *r, unsigned int n, size_t len)
{
	char control[64] __attribute__((aligned(8))) = {};
	struct iovec iov = { s->buf + s->sent_len, len };
	struct qoff_tx_seg seg[QOFF_MAX_SEGS] = {};
	struct qoff_tx_msg m = {
		.segs = seg, .nseg = n, .iov = &iov, .iovlen = 1,
		.addr = &r->remote.sa, .addrlen = qng_addr_len(&r->remote),
		.tos = r->ecn ? r->ecn : -1,
	};
	ssize_t ret;

	for (unsigned int i = 0; i < n; i++) {
		seg[i].len = r[i].len;
		if (r->deferred && r[i].pn != r->pn + i)
			m.flags = QOFF_TX_PN_OFFSETS;
	}
	for (unsigned int i = 0; m.flags && i < n; i++)
		seg[i].pn_off = r[i].pn - r->pn;
	if (r->deferred) {
		m.ctx = r->conn->ctx;
		m.pn = r->pn;
	} else {
		m.flags = QOFF_TX_RAW;
	}
	if (s->pktinfo) {
		m.control = control;
		m.controllen = put_pktinfo(r, control);
	}
	ret = qoff_send(s->s, &m, MSG_DONTWAIT);
	return ret < 0 ? ret : 0;
}

/* What a refused send means for the connection. */
static void refused(struct qng_rec *r, int err)
{
	struct qng_conn *c = r->conn;

	if (!r->deferred || !c)
		return;
	switch (err) {
	case -EKEYEXPIRED:
		c->tx.key[r->phase].below = false;
		ngtcp2_conn_initiate_key_update(c->conn, c->ts);
		break;
	case -ENOENT:
	case -ESTALE:
	case -ENOKEY:
	case -EINVAL:
	case -EPROTO:
	case -EBADMSG:
	case -EOPNOTSUPP:
	case -ENOTCONN:
		c->sock->st.refused++;
		qng_give_up(c);
		break;
	}
}

/* A packet whose connection is gone, or whose context is: nothing may seal it. */
static bool orphan(const struct qng_rec *r)
{
	return r->deferred && (!r->conn || !r->conn->tx.installed);
}

static int send_run(struct qng_sock *s, unsigned int n, size_t len)
{
	struct qng_rec *r = &s->rec[s->sent];
	int err;

	if (orphan(r)) {
		s->st.tx_lost += n;
		return 0;
	}
	s->st.tx_calls++;
	err = s->mode == QNG_PLAIN ? send_plain(s, r) : send_super(s, r, n, len);
	if (err == -EAGAIN || err == -ENOBUFS) {
		s->st.tx_again++;
		return -EAGAIN;
	}
	if (err) {
		s->st.tx_lost += n;
		refused(r, err);
		return 0;
	}
	s->st.tx_super += n > 1;
	s->st.tx_dgrams += n;
	s->st.tx_bytes += len;
	return 0;
}

int qng_flush(struct qng_sock *s)
{
	unsigned int n;
	size_t len;
	int err;

	while (s->sent < s->n) {
		n = run_length(s);
		len = 0;
		for (unsigned int i = 0; i < n; i++)
			len += s->rec[s->sent + i].len;
		err = send_run(s, n, len);
		if (err)
			return err;
		s->sent += n;
		s->sent_len += len;
	}
	/* The batch has held plain packets. */
	s->n = 0;
	s->len = 0;
	s->sent = 0;
	s->sent_len = 0;
	return 0;
}
