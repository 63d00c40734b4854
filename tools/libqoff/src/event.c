// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events: multicast messages of the kernel, and with QOFF_USER the key events
 * that this process makes itself. One descriptor wakes for both.
 */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <linux/genetlink.h>

#include "dev.h"
#include "priv.h"

#define EV_BUF 8192

struct user_event {
	struct user_event *next;
	struct qoff_event ev;
};

void qoff_events_free(struct qoff *q)
{
	struct user_event *e;

	while ((e = q->user_ev)) {
		q->user_ev = e->next;
		free(e);
	}
	if (q->ev)
		mnl_socket_close(q->ev);
	if (q->ev_fd >= 0)
		close(q->ev_fd);
	if (q->user_ev_fd >= 0)
		close(q->user_ev_fd);
	free(q->ev_buf);
}

static int listen_kernel(struct qoff *q)
{
	struct mnl_socket *ev;
	int err = 0;

	ev = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!ev)
		return qoff_fail(errno, "netlink: %s", strerror(errno));
	q->ev_buf = malloc(EV_BUF);
	if (!q->ev_buf)
		err = qoff_fail(ENOMEM, "no memory");
	else if (mnl_socket_bind(ev, 0, MNL_SOCKET_AUTOPID) < 0 ||
		 mnl_socket_setsockopt(ev, NETLINK_ADD_MEMBERSHIP, &q->nl.mgmt,
				       sizeof(q->nl.mgmt)) < 0 ||
		 mnl_socket_setsockopt(ev, NETLINK_ADD_MEMBERSHIP, &q->nl.keys,
				       sizeof(q->nl.keys)) < 0)
		err = qoff_fail(errno, "netlink: %s", strerror(errno));
	if (err)
		mnl_socket_close(ev);
	else
		q->ev = ev;
	return err;
}

/* Under q->lock. */
static int start(struct qoff *q)
{
	struct epoll_event e = { .events = EPOLLIN };
	int err;

	if (q->ev_fd >= 0)
		return 0;
	err = qoff_need_nl(q);
	if (!err && !q->ev)
		err = listen_kernel(q);
	if (err && q->backend == QOFF_KERNEL)
		return err;

	q->ev_fd = epoll_create1(EPOLL_CLOEXEC);
	if (q->user_ev_fd < 0)
		q->user_ev_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->ev_fd < 0 || q->user_ev_fd < 0 ||
	    epoll_ctl(q->ev_fd, EPOLL_CTL_ADD, q->user_ev_fd, &e) ||
	    (q->ev && epoll_ctl(q->ev_fd, EPOLL_CTL_ADD, mnl_socket_get_fd(q->ev), &e))) {
		err = qoff_fail(errno, "events: %s", strerror(errno));
		if (q->ev_fd >= 0)
			close(q->ev_fd);
		q->ev_fd = -1;
		return err;
	}
	return 0;
}

int qoff_events_fd(struct qoff *q)
{
	int err;

	pthread_mutex_lock(&q->lock);
	err = start(q);
	pthread_mutex_unlock(&q->lock);
	return err ? err : q->ev_fd;
}

void qoff_user_key_event(struct qoff *q, uint32_t group, uint32_t direction, uint32_t id,
			 uint64_t used, uint64_t limit)
{
	struct user_event *e, **p;
	uint64_t one = 1;

	/* Nobody listens: as a multicast without members. */
	if (q->user_ev_fd < 0)
		return;
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	e->ev.type = QOFF_EVENT_KEY_LIMIT;
	e->ev.group = group;
	e->ev.direction = direction;
	e->ev.id = id;
	e->ev.used = used;
	e->ev.limit = limit;
	pthread_mutex_lock(&q->key_lock);
	for (p = &q->user_ev; *p; p = &(*p)->next)
		;
	*p = e;
	pthread_mutex_unlock(&q->key_lock);
	if (write(q->user_ev_fd, &one, sizeof(one)) < 0)
		return;	/* cannot be: the counter does not overflow */
}

static bool take_user(struct qoff *q, struct qoff_event *ev)
{
	struct user_event *e;
	uint64_t n;

	pthread_mutex_lock(&q->key_lock);
	e = q->user_ev;
	if (e)
		q->user_ev = e->next;
	if (!q->user_ev && q->user_ev_fd >= 0 && read(q->user_ev_fd, &n, sizeof(n)) < 0)
		errno = 0;	/* was clear already */
	pthread_mutex_unlock(&q->key_lock);
	if (!e)
		return false;
	*ev = e->ev;
	free(e);
	return true;
}

static bool decode(const struct nlmsghdr *nlh, struct qoff_event *ev)
{
	const struct nlattr *tb[QUIC_OFFLOAD_A_EVENT_MAX + 1];
	const struct genlmsghdr *g = mnl_nlmsg_get_payload(nlh);

	memset(ev, 0, sizeof(*ev));
	if (nlh->nlmsg_len < MNL_NLMSG_HDRLEN + sizeof(*g))
		return false;
	switch (g->cmd) {
	case QUIC_OFFLOAD_CMD_DEV_ADD_NTF:
		ev->type = QOFF_EVENT_DEV_ADD;
		return !qoff_dev_from_nl(nlh, &ev->dev);
	case QUIC_OFFLOAD_CMD_DEV_DEL_NTF:
		ev->type = QOFF_EVENT_DEV_DEL;
		return !qoff_dev_from_nl(nlh, &ev->dev);
	case QUIC_OFFLOAD_CMD_DEV_CHANGE_NTF:
		ev->type = QOFF_EVENT_DEV_CHANGE;
		return !qoff_dev_from_nl(nlh, &ev->dev);
	case QUIC_OFFLOAD_CMD_KEY_LIMIT_NTF:
		ev->type = QOFF_EVENT_KEY_LIMIT;
		if (qoff_nl_parse(nlh, tb, QUIC_OFFLOAD_A_EVENT_MAX))
			return false;
		ev->group = qoff_nl_uint(tb[QUIC_OFFLOAD_A_EVENT_GROUP]);
		ev->direction = qoff_nl_uint(tb[QUIC_OFFLOAD_A_EVENT_DIRECTION]);
		ev->id = qoff_nl_uint(tb[QUIC_OFFLOAD_A_EVENT_ID]);
		ev->used = qoff_nl_uint(tb[QUIC_OFFLOAD_A_EVENT_USED]);
		ev->limit = qoff_nl_uint(tb[QUIC_OFFLOAD_A_EVENT_LIMIT]);
		return true;
	}
	return false;
}

/* Under q->lock. */
static int take_kernel(struct qoff *q, struct qoff_event *ev)
{
	struct nlmsghdr *nlh;
	ssize_t n;

	for (;;) {
		while (q->ev_pos && mnl_nlmsg_ok(q->ev_pos, q->ev_left)) {
			nlh = q->ev_pos;
			q->ev_pos = mnl_nlmsg_next(nlh, &q->ev_left);
			if (decode(nlh, ev))
				return 0;
		}
		q->ev_pos = NULL;
		n = mnl_socket_recvfrom(q->ev, q->ev_buf, EV_BUF);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return qoff_fail(errno, "events: %s", strerror(errno));
		q->ev_pos = (void *)q->ev_buf;
		q->ev_left = n;
	}
}

int qoff_event_next(struct qoff *q, struct qoff_event *ev)
{
	int err = -EAGAIN;

	if (take_user(q, ev))
		return 0;
	pthread_mutex_lock(&q->lock);
	if (q->ev)
		err = take_kernel(q, ev);
	pthread_mutex_unlock(&q->lock);
	return err;
}
