// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Handles and sockets: what does not depend on the backend, and the dispatch of
 * what does.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include "priv.h"

static void free_handle(struct qoff *q)
{
	qoff_nl_close(&q->nl);
	qoff_events_free(q);
	pthread_mutex_destroy(&q->nl.lock);
	pthread_mutex_destroy(&q->lock);
	pthread_mutex_destroy(&q->key_lock);
	free(q);
}

static enum qoff_backend wish(enum qoff_backend backend)
{
	const char *env = backend == QOFF_AUTO ? getenv("QOFF_BACKEND") : NULL;

	if (env && !strcmp(env, "kernel"))
		return QOFF_KERNEL;
	if (env && !strcmp(env, "user"))
		return QOFF_USER;
	return backend;
}

struct qoff *qoff_open(enum qoff_backend backend)
{
	struct qoff *q;
	int err = 0;

	backend = wish(backend);
	if (backend > QOFF_USER) {
		errno = -qoff_fail(EINVAL, "no such backend: %d", backend);
		return NULL;
	}
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->ev_fd = -1;
	q->user_ev_fd = -1;
	pthread_mutex_init(&q->nl.lock, NULL);
	pthread_mutex_init(&q->lock, NULL);
	pthread_mutex_init(&q->key_lock, NULL);

	q->backend = backend;
	if (backend != QOFF_USER) {
		err = qoff_nl_open(&q->nl);
		if (!err)
			q->backend = QOFF_KERNEL;
		else if (backend == QOFF_AUTO)
			q->backend = QOFF_USER;
	}
	if (err && backend == QOFF_KERNEL) {
		free_handle(q);
		errno = -err;
		return NULL;
	}
	q->ops = q->backend == QOFF_KERNEL ? &qoff_kernel_ops : &qoff_user_ops;
	return q;
}

void qoff_close(struct qoff *q)
{
	if (!q)
		return;
	while (q->socks)
		qoff_detach(q->socks);
	free_handle(q);
}

enum qoff_backend qoff_backend(const struct qoff *q)
{
	return q->backend;
}

int qoff_need_nl(struct qoff *q)
{
	int err = 0;

	pthread_mutex_lock(&q->nl.lock);
	if (!q->nl.sock)
		err = qoff_nl_open(&q->nl);
	pthread_mutex_unlock(&q->nl.lock);
	return err;
}

static int cookie_of(int fd, uint64_t *cookie)
{
	socklen_t len = sizeof(*cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, cookie, &len))
		return qoff_fail(errno, "descriptor %d: %s", fd, strerror(errno));
	return 0;
}

static int check_udp(int fd, int *family)
{
	int type, proto;
	socklen_t len;

	len = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len))
		return qoff_fail(errno, "descriptor %d: %s", fd, strerror(errno));
	len = sizeof(proto);
	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &proto, &len))
		return qoff_fail(errno, "descriptor %d: %s", fd, strerror(errno));
	len = sizeof(*family);
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, family, &len))
		return qoff_fail(errno, "descriptor %d: %s", fd, strerror(errno));
	if ((*family != AF_INET && *family != AF_INET6) || type != SOCK_DGRAM ||
	    proto != IPPROTO_UDP)
		return qoff_fail(EPROTONOSUPPORT, "descriptor %d is not a UDP socket", fd);
	return 0;
}

/* By identity, not by number: the number may belong to another socket by now. */
static struct qoff_sock *find(struct qoff *q, uint64_t cookie)
{
	struct qoff_sock *s;

	for (s = q->socks; s; s = s->next) {
		if (s->cookie == cookie)
			return s;
	}
	return NULL;
}

/* Under q->lock: what every way to a socket needs; s->fd is open then. */
static int take(struct qoff *q, struct qoff_sock *s, int fd)
{
	int err;

	err = check_udp(fd, &s->family);
	if (!err)
		err = cookie_of(fd, &s->cookie);
	if (err)
		return err;
	if (find(q, s->cookie))
		return qoff_fail(EBUSY, "descriptor %d is attached already", fd);
	s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (s->fd < 0)
		return qoff_fail(errno, "descriptor %d: %s", fd, strerror(errno));
	return 0;
}

/* Under q->lock. */
static int attach(struct qoff *q, struct qoff_sock *s, int join_fd, unsigned int dcid_len)
{
	struct qoff_sock *join = NULL;
	uint64_t cookie;
	int err = 0;

	if (join_fd >= 0) {
		err = cookie_of(join_fd, &cookie);
		join = err ? NULL : find(q, cookie);
	}
	return err ? err : q->ops->attach(s, join, join_fd, dcid_len);
}

static int adopt(struct qoff *q, struct qoff_sock *s)
{
	struct qoff_sock_info info;

	if (q->backend != QOFF_KERNEL)
		return qoff_fail(EOPNOTSUPP, "only the kernel knows sockets of others");
	return q->ops->sock_get(s, &info);
}

/* @dcid_len -1: adopt */
static int get_sock(struct qoff *q, int fd, int join_fd, int dcid_len, struct qoff_sock **res)
{
	struct qoff_sock *s;
	int err;

	s = calloc(1, sizeof(*s));
	if (!s)
		return qoff_fail(ENOMEM, "no memory");
	s->q = q;
	s->fd = -1;
	pthread_mutex_lock(&q->lock);
	err = take(q, s, fd);
	if (!err)
		err = dcid_len < 0 ? adopt(q, s) : attach(q, s, join_fd, dcid_len);
	if (!err) {
		s->next = q->socks;
		q->socks = s;
		*res = s;
	}
	pthread_mutex_unlock(&q->lock);
	if (!err)
		return 0;
	if (s->fd >= 0)
		close(s->fd);
	free(s);
	return err;
}

int qoff_attach(struct qoff *q, int fd, int join_fd, unsigned int dcid_len, unsigned int flags,
		struct qoff_sock **res)
{
	if (flags)
		return qoff_fail(EINVAL, "unknown flags %#x", flags);
	if (dcid_len > QOFF_MAX_DCID)
		return qoff_fail(ERANGE, "a connection ID has at most %u bytes, not %u",
				 QOFF_MAX_DCID, dcid_len);
	return get_sock(q, fd, join_fd, dcid_len, res);
}

int qoff_adopt(struct qoff *q, int fd, struct qoff_sock **res)
{
	return get_sock(q, fd, -1, -1, res);
}

void qoff_detach(struct qoff_sock *s)
{
	struct qoff_sock **p;
	struct qoff *q;

	if (!s)
		return;
	q = s->q;
	pthread_mutex_lock(&q->lock);
	for (p = &q->socks; *p != s; p = &(*p)->next)
		;
	*p = s->next;
	q->ops->detach(s);
	pthread_mutex_unlock(&q->lock);
	close(s->fd);
	free(s);
}

int qoff_sock_fd(const struct qoff_sock *s)
{
	return s->fd;
}

int qoff_sock_get(struct qoff_sock *s, struct qoff_sock_info *info)
{
	return s->q->ops->sock_get(s, info);
}

int qoff_ctx_add(struct qoff_sock *s, const struct qoff_ctx_param *p, struct qoff_ctx_id *id)
{
	return s->q->ops->ctx_add(s, p, id);
}

int qoff_ctx_update(struct qoff_sock *s, struct qoff_ctx_id id, unsigned int phase,
		    const struct qoff_keys *keys)
{
	return s->q->ops->ctx_update(s, id, phase, keys);
}

int qoff_ctx_del(struct qoff_sock *s, struct qoff_ctx_id id)
{
	return s->q->ops->ctx_del(s, id);
}

int qoff_ctx_get(struct qoff_sock *s, uint32_t id, struct qoff_ctx_info *info)
{
	return s->q->ops->ctx_get(s, id, info);
}

int qoff_flow_add(struct qoff_sock *s, const struct qoff_flow_param *p, uint32_t *id)
{
	return s->q->ops->flow_add(s, p, id);
}

int qoff_flow_update(struct qoff_sock *s, uint32_t id, const struct qoff_keys *keys,
		     unsigned int phase, uint32_t key_gen, uint64_t largest_pn)
{
	return s->q->ops->flow_update(s, id, keys, phase, key_gen, largest_pn);
}

int qoff_flow_retire(struct qoff_sock *s, uint32_t id, unsigned int phase)
{
	return s->q->ops->flow_retire(s, id, phase);
}

int qoff_flow_del(struct qoff_sock *s, uint32_t id)
{
	return s->q->ops->flow_del(s, id);
}

int qoff_flow_get(struct qoff_sock *s, uint32_t id, struct qoff_flow_info *info)
{
	return s->q->ops->flow_get(s, id, info);
}

ssize_t qoff_sendmsg(struct qoff_sock *s, const struct msghdr *msg, int flags)
{
	return s->q->ops->sendmsg(s, msg, flags);
}

ssize_t qoff_recvmsg(struct qoff_sock *s, struct msghdr *msg, int flags)
{
	return s->q->ops->recvmsg(s, msg, flags);
}
