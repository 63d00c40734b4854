// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net.h"
#include "session.h"

#define HELLO_TIMEOUT	60

static int refuse(struct session *s, const char *why)
{
	warnx("refused: %s", why);
	msg_init(&s->msg, "error");
	msg_add(&s->msg, "text", "%s", why);
	ctrl_send(&s->ctrl, &s->msg);
	return -ECANCELED;
}

static int parse_params(struct session *s)
{
	const char *value, *why;
	char text[64];
	unsigned int i;

	params_default(&s->p);
	for (i = 0; i < param_count; i++) {
		value = msg_get(&s->msg, param_table[i].name);
		if (value && !param_set(&s->p, &param_table[i], value))
			continue;
		snprintf(text, sizeof(text), "bad or missing parameter %s",
			 param_table[i].name);
		return refuse(s, text);
	}
	if (params_check(&s->p, &why))
		return refuse(s, why);
	if (!s->p.reverse && !s->p.bytes)
		return refuse(s, "an upload of unknown size");
	return 0;
}

static int get_hex(const struct msg *m, const char *what, unsigned int i,
		   u8 *out, size_t len)
{
	char key[32];

	snprintf(key, sizeof(key), "%s%u", what, i);
	return msg_get_hex(m, key, out, len);
}

static int parse_ids(struct session *s)
{
	size_t secret_len = qoff_secret_len(s->p.cipher);
	const struct msg *m = &s->msg;
	unsigned int i;
	char key[32];
	u64 port;

	for (i = 0; i < s->p.parallel; i++) {
		struct conn_ids *id = &s->ids[i];

		snprintf(key, sizeof(key), "port%u", i);
		if (msg_get_u64(m, key, &port) || !port || port > UINT16_MAX ||
		    get_hex(m, "up", i, id->up, secret_len) ||
		    get_hex(m, "down", i, id->down, secret_len) ||
		    get_hex(m, "client-dcid", i, id->client_dcid,
			    s->p.dcid_len) ||
		    get_hex(m, "server-dcid", i, id->server_dcid,
			    s->p.dcid_len))
			return refuse(s, "bad or missing keys of a connection");
		id->client_port = port;
	}
	return 0;
}

static int send_welcome(struct session *s)
{
	unsigned int i;
	char key[32];

	msg_init(&s->msg, "welcome");
	msg_add(&s->msg, "bytes", "%" PRIu64, s->p.bytes);
	for (i = 0; i < s->p.parallel; i++) {
		snprintf(key, sizeof(key), "port%u", i);
		msg_add(&s->msg, key, "%u", s->ids[i].server_port);
	}
	return ctrl_send(&s->ctrl, &s->msg);
}

static int server_setup(struct session *s, u16 port)
{
	int err;

	err = ctrl_recv(&s->ctrl, &s->msg, "hello", HELLO_TIMEOUT);
	if (!err)
		err = parse_params(s);
	if (!err)
		err = parse_ids(s);
	if (err)
		return err;
	session_init(s);
	err = session_files(s);
	if (!err)
		err = session_sockets(s, port);
	if (!err)
		err = session_connect(s);
	if (!err)
		err = send_welcome(s);
	return err ? err : ctrl_recv(&s->ctrl, &s->msg, "start", HELLO_TIMEOUT);
}

static int serve(struct session *s, u16 port)
{
	int err, hash_ok = -1;

	err = server_setup(s, port);
	if (!err)
		err = session_run(s);
	if (!err)
		err = session_finish(s, &hash_ok);
	if (err)
		return err;
	session_report(s, hash_ok);
	return hash_ok ? 0 : -EBADMSG;
}

/* One client after the other: two tests at once would disturb each other. */
static int serve_next(int listener, u16 port, const struct local *local)
{
	struct session *s;
	int err;

	s = xcalloc(1, sizeof(*s));
	s->server = true;
	s->local = local;
	s->out_fd = -1;
	s->ctrl.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	err = s->ctrl.fd < 0 ? -errno : serve(s, port);
	session_error(s, err);
	session_free(s);
	free(s);
	return err;
}

/**
 * server_main - serve tests
 * @bind_addr: address or NULL for any
 * @port: TCP port, and UDP port of the first connection of a test
 * @local: this end's own settings
 * @one_off: end after the first test, with its exit code
 *
 * Return: exit code.
 */
int server_main(const char *bind_addr, u16 port, const struct local *local,
		bool one_off)
{
	int fd, err;

	fd = net_listen(bind_addr, port);
	if (fd < 0) {
		warnx("port %u: %s", port, strerror(-fd));
		return EXIT_FAILED;
	}
	if (!local->json) {
		printf("qoffperf: listening on port %u\n", port);
		fflush(stdout);
	}
	do {
		err = serve_next(fd, port, local);
	} while (!one_off);
	close(fd);
	return session_exit_code(err);
}
