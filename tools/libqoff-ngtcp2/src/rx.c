// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sockets, and receiving.
 */
#include <unistd.h>

#include "priv.h"

static void set_int(int fd, int level, int opt, int val)
{
	setsockopt(fd, level, opt, &val, sizeof(val));
}

static bool is_any(const ngtcp2_sockaddr_union *a)
{
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
}

struct qng_sock *qng_sock_new(enum qng_mode mode, struct qoff_sock *s, int fd)
{
	struct qng_sock *n = calloc(1, sizeof(*n));
	socklen_t len = sizeof(n->local);
	bool v4;

	if (!n)
		return NULL;
	n->mode = mode;
	n->s = s;
	n->fd = fd;
	if (getsockname(fd, &n->local.sa, &len)) {
		free(n);
		return NULL;
	}
	v4 = n->local.sa.sa_family == AF_INET;
	n->pktinfo = is_any(&n->local);
	if (n->pktinfo)
		set_int(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6,
			v4 ? IP_PKTINFO : IPV6_RECVPKTINFO, 1);
	if (mode == QNG_PLAIN) {
		set_int(fd, IPPROTO_IP, IP_RECVTOS, 1);
		if (!v4)
			set_int(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	}
	n->rx.data = n->rx_buf;
	n->rx.size = sizeof(n->rx_buf);
	n->rx.control = n->rx_control;
	n->rx.control_size = sizeof(n->rx_control);
	return n;
}

void qng_sock_free(struct qng_sock *s)
{
	if (!s)
		return;
	qoff_wipe(s->buf, sizeof(s->buf));
	free(s);
}

const struct qng_stats *qng_sock_stats(const struct qng_sock *s)
{
	return &s->st;
}

/* What the other control messages say: destination address and ECN. */
static void read_control(void *control, size_t len, ngtcp2_sockaddr_union *local, uint8_t *ecn)
{
	struct msghdr m = { .msg_control = control, .msg_controllen = len };
	struct in6_pktinfo i6;
	struct in_pktinfo i4;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO &&
		    local->sa.sa_family == AF_INET) {
			memcpy(&i4, CMSG_DATA(c), sizeof(i4));
			local->in.sin_addr = i4.ipi_addr;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&i6, CMSG_DATA(c), sizeof(i6));
			local->in6.sin6_addr = i6.ipi6_addr;
		} else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) ||
			   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)) {
			*ecn = *CMSG_DATA(c) & NGTCP2_ECN_MASK;
		}
	}
}

static void set_path(ngtcp2_path *path, ngtcp2_sockaddr_union *local,
		     struct sockaddr_storage *remote, socklen_t remote_len)
{
	path->local.addr = &local->sa;
	path->local.addrlen = qng_addr_len(local);
	path->remote.addr = (struct sockaddr *)remote;
	path->remote.addrlen = remote_len;
}

static int recv_plain(struct qng_sock *s, void (*fn)(const struct qng_pkt *p, void *arg),
		      void *arg)
{
	ngtcp2_sockaddr_union local = s->local;
	struct iovec iov = { s->rx_buf, sizeof(s->rx_buf) };
	struct sockaddr_storage from;
	struct msghdr msg = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = s->rx_control, .msg_controllen = sizeof(s->rx_control),
	};
	struct qng_pkt p = { .data = s->rx_buf };
	ssize_t n;

	n = recvmsg(s->fd, &msg, MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	p.len = n;
	read_control(msg.msg_control, msg.msg_controllen, &local, &p.ecn);
	set_path(&p.path, &local, &from, msg.msg_namelen);
	s->st.rx_dgrams++;
	s->st.rx_bytes += n;
	fn(&p, arg);
	return 1;
}

static int recv_super(struct qng_sock *s, void (*fn)(const struct qng_pkt *p, void *arg),
		      void *arg)
{
	ngtcp2_sockaddr_union local = s->local;
	struct qng_pkt p = {};
	struct qoff_iter it = {};
	struct qoff_packet q;
	uint8_t ecn = 0;
	int n;

	n = qoff_recv(s->s, &s->rx, MSG_DONTWAIT);
	if (n < 0)
		return n;
	if (s->pktinfo)
		read_control(s->rx_control, s->rx.control_len, &local, &ecn);
	set_path(&p.path, &local, &s->rx.addr, s->rx.addrlen);
	s->st.rx_dgrams += n;
	s->st.rx_bytes += s->rx.len;
	s->st.rx_opened += s->rx.rx.nopened;
	s->st.rx_failed += s->rx.rx.nfailed;
	while (qoff_next(&s->rx, &it, &q)) {
		p.data = q.data;
		p.len = q.len;
		p.seg = q.seg;
		p.ecn = q.seg->tos & NGTCP2_ECN_MASK;
		fn(&p, arg);
	}
	return n;
}

int qng_recv(struct qng_sock *s, void (*fn)(const struct qng_pkt *p, void *arg), void *arg)
{
	int n;

	s->st.rx_calls++;
	n = s->mode == QNG_PLAIN ? recv_plain(s, fn, arg) : recv_super(s, fn, arg);
	if (n == -EAGAIN)
		s->st.rx_again++;
	else if (n > 0)
		s->st.rx_batches++;
	return n;
}

int qng_read_pkt(struct qng_conn *c, const struct qng_pkt *p, ngtcp2_tstamp ts)
{
	ngtcp2_pkt_info pi = { .ecn = p->ecn };
	int err;

	qng_current = c;
	c->rx_pkt = p;
	err = ngtcp2_conn_read_pkt(c->conn, &p->path, &pi, p->data, p->len, ts);
	c->rx_pkt = NULL;
	qng_current = NULL;
	return err;
}
