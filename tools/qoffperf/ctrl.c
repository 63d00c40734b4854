// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <qoff.h>

#include "ctrl.h"

void msg_init(struct msg *m, const char *type)
{
	m->len = 0;
	m->n = 0;
	msg_add(m, "type", "%s", type);
}

/* A message is bounded by MAX_PARALLEL connections: too long is our own bug. */
void msg_add(struct msg *m, const char *key, const char *fmt, ...)
{
	char value[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	n = snprintf(m->text + m->len, sizeof(m->text) - m->len, "%s %s\n", key,
		     value);
	if (n < 0 || m->len + n + 1 >= sizeof(m->text))
		die(EXIT_FAILED, "control message too long");
	m->len += n;
}

/**
 * msg_parse - split a message into keys and values
 * @m: result
 * @text: lines, without the empty one, any bytes
 * @len: of @text
 *
 * Return: 0 or -EBADMSG.
 */
int msg_parse(struct msg *m, const char *text, size_t len)
{
	char *p = m->text, *end, *space, *nl;

	m->n = 0;
	if (len >= sizeof(m->text))
		return -EBADMSG;
	memcpy(m->text, text, len);
	m->text[len] = '\0';
	m->len = len;
	for (end = p + len; p < end; p = nl + 1) {
		nl = memchr(p, '\n', end - p);
		if (!nl || m->n == CTRL_LINES_MAX)
			return -EBADMSG;
		*nl = '\0';
		space = strchr(p, ' ');
		if (!space || strlen(p) != (size_t)(nl - p))
			return -EBADMSG;
		*space = '\0';
		m->key[m->n] = p;
		m->value[m->n] = space + 1;
		m->n++;
	}
	return m->n ? 0 : -EBADMSG;
}

const char *msg_get(const struct msg *m, const char *key)
{
	unsigned int i;

	for (i = 0; i < m->n; i++)
		if (!strcmp(m->key[i], key))
			return m->value[i];
	return NULL;
}

bool msg_is(const struct msg *m, const char *type)
{
	const char *v = msg_get(m, "type");

	return v && !strcmp(v, type);
}

int msg_get_u64(const struct msg *m, const char *key, u64 *val)
{
	const char *v = msg_get(m, key);

	return v ? parse_size(v, val) : -ENOENT;
}

/* Exactly @len bytes. */
int msg_get_hex(const struct msg *m, const char *key, u8 *out, size_t len)
{
	const char *v = msg_get(m, key);
	size_t got;
	int err;

	if (!v)
		return -ENOENT;
	err = hex_decode(v, out, len, &got);
	return err ? err : got == len ? 0 : -EINVAL;
}

int ctrl_send(struct ctrl *c, struct msg *m)
{
	size_t done = 0;
	ssize_t ret;

	m->text[m->len++] = '\n';
	while (done < m->len) {
		struct pollfd p = { .fd = c->fd, .events = POLLOUT };

		ret = send(c->fd, m->text + done, m->len - done, MSG_NOSIGNAL);
		if (ret >= 0)
			done += ret;
		else if (errno == EAGAIN)
			poll(&p, 1, 1000);
		else if (errno != EINTR)
			return -errno;
	}
	qoff_wipe(m->text, m->len);	/* it may hold secrets */
	return 0;
}

/* A complete message in the buffer: parse and remove it. */
static int ctrl_take(struct ctrl *c, struct msg *m)
{
	char *end = memmem(c->buf, c->len, "\n\n", 2);
	size_t len;
	int err;

	if (!end)
		return c->len == sizeof(c->buf) ? -EBADMSG : 0;
	len = end + 1 - c->buf;
	err = msg_parse(m, c->buf, len);
	c->len -= len + 1;
	memmove(c->buf, end + 2, c->len);
	return err ? err : 1;
}

/**
 * ctrl_poll - a message, if one is there
 * @c: connection, non-blocking
 * @m: result
 *
 * Return: 1 with a message, 0 without, -ECONNRESET when the peer is gone, another
 * negative errno.
 */
int ctrl_poll(struct ctrl *c, struct msg *m)
{
	ssize_t ret;
	int err;

	err = ctrl_take(c, m);
	if (err)
		return err;
	ret = recv(c->fd, c->buf + c->len, sizeof(c->buf) - c->len, 0);
	if (ret < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!ret)
		return -ECONNRESET;
	c->len += ret;
	return ctrl_take(c, m);
}

/**
 * ctrl_recv - wait for a message of one type
 * @c: connection
 * @m: result
 * @type: the type; a message "error" is printed and is -ECANCELED
 * @timeout_s: seconds to wait
 *
 * Return: 0 or a negative errno.
 */
int ctrl_recv(struct ctrl *c, struct msg *m, const char *type, u64 timeout_s)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	u64 end = now_ns() + timeout_s * NSEC_PER_SEC, now;
	const char *text;
	int ret;

	while (!(ret = ctrl_poll(c, m))) {
		now = now_ns();
		if (now >= end)
			return -ETIMEDOUT;
		poll(&p, 1, min_t(u64, (end - now) / NSEC_PER_MSEC + 1, 60000));
	}
	if (ret < 0)
		return ret;
	if (msg_is(m, "error")) {
		text = msg_get(m, "text");
		warnx("peer: %.500s", text ? text : "unknown error");
		return -ECANCELED;
	}
	return msg_is(m, type) ? 0 : -EPROTO;
}

void ctrl_close(struct ctrl *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	qoff_wipe(c->buf, sizeof(c->buf));
	c->len = 0;
}
