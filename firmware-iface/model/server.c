// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The server thread: vfio-user sockets, control socket, signals. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bf.h"
#include "ctl.h"
#include "server.h"
#include "vfu.h"
#include "wire.h"

#define MAX_CTL		8

struct ctl_conn {
	int fd;
	size_t len;
	char buf[NM_CTL_LINE];
};

struct server {
	struct nm_model *m;
	struct nm_vfu vfu[NM_MAX_FN];
	unsigned int nr_vfu;
	int ctl_fd;
	int sig_fd;
	struct ctl_conn ctl[MAX_CTL];
};

/* The one server of the process; ctl's "remove" needs its sockets. */
static struct server srv;

void nm_server_drop(struct nm_fn *fn)
{
	nm_vfu_drop(&srv.vfu[fn->idx]);
}

static int ctl_open(struct server *s, const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, path);
	s->ctl_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->ctl_fd < 0)
		return -errno;
	unlink(path);
	if (bind(s->ctl_fd, (struct sockaddr *)&sa, sizeof(sa)) ||
	    listen(s->ctl_fd, 4))
		return -errno;
	return 0;
}

static void ctl_accept(struct server *s)
{
	int fd = accept4(s->ctl_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	unsigned int i;

	if (fd < 0)
		return;
	for (i = 0; i < MAX_CTL; i++)
		if (s->ctl[i].fd < 0) {
			s->ctl[i].fd = fd;
			s->ctl[i].len = 0;
			return;
		}
	close(fd);
}

static void ctl_close(struct ctl_conn *c)
{
	close(c->fd);
	c->fd = -1;
}

static bool ctl_line(struct server *s, struct ctl_conn *c, size_t len)
{
	char out[NM_CTL_LINE];
	size_t n;

	nm_ctl_handle(s->m, c->buf, len, out, sizeof(out) - 1);
	n = strlen(out);
	out[n++] = '\n';
	/* Short of a full socket buffer, an answer always fits at once. */
	return send(c->fd, out, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static void ctl_input(struct server *s, struct ctl_conn *c)
{
	ssize_t n = read(c->fd, c->buf + c->len, sizeof(c->buf) - c->len);
	char *nl;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		ctl_close(c);
		return;
	}
	c->len += n;
	while ((nl = memchr(c->buf, '\n', c->len))) {
		size_t line = nl - c->buf;

		if (!ctl_line(s, c, line)) {
			ctl_close(c);
			return;
		}
		c->len -= line + 1;
		memmove(c->buf, nl + 1, c->len);
	}
	if (c->len == sizeof(c->buf))
		ctl_close(c);
}

static int server_open(struct server *s)
{
	const struct nm_opts *o = &s->m->opts;
	sigset_t set;
	unsigned int i;
	int err;

	s->ctl_fd = -1;
	for (i = 0; i < MAX_CTL; i++)
		s->ctl[i].fd = -1;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->sig_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->sig_fd < 0)
		return -errno;
	if (o->ctl) {
		err = ctl_open(s, o->ctl);
		if (err) {
			fprintf(stderr, "%s: %s\n", o->ctl, strerror(-err));
			return err;
		}
	}
	for (i = 0; i < s->m->nr_fn; i++) {
		err = nm_vfu_open(&s->vfu[i], s->m->fn[i], o->socket[i]);
		if (err) {
			fprintf(stderr, "%s: %s\n", o->socket[i], strerror(-err));
			return err;
		}
		s->nr_vfu++;
	}
	return 0;
}

static void server_close(struct server *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_vfu; i++)
		nm_vfu_close(&s->vfu[i]);
	for (i = 0; i < MAX_CTL; i++)
		if (s->ctl[i].fd >= 0)
			close(s->ctl[i].fd);
	if (s->ctl_fd >= 0) {
		close(s->ctl_fd);
		unlink(s->m->opts.ctl);
	}
	if (s->sig_fd >= 0)
		close(s->sig_fd);
}

/* "once": every function has had a client and has none any more. */
static bool server_done(struct server *s)
{
	unsigned int i;

	if (!s->m->opts.once)
		return false;
	for (i = 0; i < s->nr_vfu; i++)
		if (s->vfu[i].fd >= 0 || !s->m->fn[i]->was_attached)
			return false;
	return true;
}

static unsigned int server_fds(struct server *s, struct pollfd *pf)
{
	unsigned int n = 0, i;

	pf[n++] = (struct pollfd){ .fd = s->sig_fd, .events = POLLIN };
	pf[n++] = (struct pollfd){ .fd = s->ctl_fd, .events = POLLIN };
	for (i = 0; i < s->nr_vfu; i++) {
		pf[n++] = (struct pollfd){ .fd = s->vfu[i].listen_fd,
					   .events = POLLIN };
		pf[n++] = (struct pollfd){ .fd = s->vfu[i].fd, .events = POLLIN };
	}
	for (i = 0; i < MAX_CTL; i++)
		pf[n++] = (struct pollfd){ .fd = s->ctl[i].fd, .events = POLLIN };
	return n;
}

static void server_events(struct server *s, const struct pollfd *pf)
{
	const struct pollfd *ctl = pf + 2 + 2 * s->nr_vfu;
	unsigned int i;

	if (pf[1].revents)
		ctl_accept(s);
	for (i = 0; i < s->nr_vfu; i++) {
		if (pf[3 + 2 * i].revents && s->vfu[i].fd >= 0 &&
		    !nm_vfu_input(&s->vfu[i]))
			nm_vfu_drop(&s->vfu[i]);
		if (pf[2 + 2 * i].revents)
			nm_vfu_accept(&s->vfu[i]);
	}
	for (i = 0; i < MAX_CTL; i++)
		if (ctl[i].revents && s->ctl[i].fd >= 0)
			ctl_input(s, &s->ctl[i]);
}

/* Milliseconds until a BlueFlame burst that does not go on is a doorbell */
static int server_timeout(struct server *s)
{
	u64 next = ~0ull, now;
	unsigned int i;

	for (i = 0; i < s->m->nr_fn; i++)
		if (nm_bf_next(s->m->fn[i]) < next)
			next = nm_bf_next(s->m->fn[i]);
	if (next == ~0ull)
		return -1;
	now = nm_clock_ns();
	return next > now ? DIV_ROUND_UP(next - now, 1000000) : 0;
}

int nm_server_run(struct nm_model *m)
{
	struct pollfd pf[2 + 2 * NM_MAX_FN + MAX_CTL];
	int err;

	srv.m = m;
	err = server_open(&srv);
	if (!err)
		err = nm_engine_start(m);
	if (err) {
		server_close(&srv);
		return err;
	}
	printf("ready\n");
	fflush(stdout);
	while (!server_done(&srv)) {
		unsigned int n = server_fds(&srv, pf);

		unsigned int i;

		if (poll(pf, n, server_timeout(&srv)) < 0 && errno != EINTR)
			break;
		if (pf[0].revents)
			break;
		server_events(&srv, pf);
		for (i = 0; i < m->nr_fn; i++)
			nm_bf_poll(m->fn[i]);
	}
	nm_engine_stop(m);
	server_close(&srv);
	return 0;
}
