// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "net.h"
#include "session.h"

#define DIAL_TIMEOUT	30
#define SETUP_TIMEOUT	60

/* @len bytes for one purpose: random, or made from the fixed secret. */
static void make_bytes(const struct local *l, const char *purpose,
		       unsigned int i, u8 *out, size_t len)
{
	char label[32];
	u8 mac[EVP_MAX_MD_SIZE];
	unsigned int mac_len;

	if (!l->secret) {
		if (len && getrandom(out, len, 0) != (ssize_t)len)
			die(EXIT_FAILED, "getrandom: %s", strerror(errno));
		return;
	}
	snprintf(label, sizeof(label), "qoffperf %s %u", purpose, i);
	if (!HMAC(EVP_sha384(), l->secret, l->secret_len, (u8 *)label,
		  strlen(label), mac, &mac_len) || mac_len < len)
		die(EXIT_FAILED, "no HMAC-SHA384 in this OpenSSL");
	memcpy(out, mac, len);
	qoff_wipe(mac, sizeof(mac));
}

static void make_ids(struct session *s)
{
	size_t secret_len = qoff_secret_len(s->p.cipher);
	unsigned int i;

	for (i = 0; i < s->p.parallel; i++) {
		struct conn_ids *id = &s->ids[i];

		make_bytes(s->local, "up", i, id->up, secret_len);
		make_bytes(s->local, "down", i, id->down, secret_len);
		make_bytes(s->local, "client", i, id->client_dcid,
			   s->p.dcid_len);
		make_bytes(s->local, "server", i, id->server_dcid,
			   s->p.dcid_len);
	}
}

static void put_hex(struct msg *m, const char *what, unsigned int i,
		    const u8 *p, size_t len)
{
	char key[32], hex[2 * QOFF_MAX_SECRET + 1];

	snprintf(key, sizeof(key), "%s%u", what, i);
	hex_encode(p, len, hex);
	msg_add(m, key, "%s", hex);
	qoff_wipe(hex, sizeof(hex));
}

static int send_hello(struct session *s)
{
	size_t secret_len = qoff_secret_len(s->p.cipher);
	struct msg *m = &s->msg;
	unsigned int i;
	char key[32];

	msg_init(m, "hello");
	for (i = 0; i < param_count; i++) {
		const struct param *d = &param_table[i];
		u64 v = param_get(&s->p, d);

		if (d->kind == PARAM_NAME)
			msg_add(m, d->name, "%s", param_name(d, v));
		else
			msg_add(m, d->name, "%" PRIu64, v);
	}
	for (i = 0; i < s->p.parallel; i++) {
		const struct conn_ids *id = &s->ids[i];

		snprintf(key, sizeof(key), "port%u", i);
		msg_add(m, key, "%u", id->client_port);
		put_hex(m, "up", i, id->up, secret_len);
		put_hex(m, "down", i, id->down, secret_len);
		put_hex(m, "client-dcid", i, id->client_dcid, s->p.dcid_len);
		put_hex(m, "server-dcid", i, id->server_dcid, s->p.dcid_len);
	}
	return ctrl_send(&s->ctrl, m);
}

static int recv_welcome(struct session *s)
{
	u64 v, bytes;
	unsigned int i;
	char key[32];
	int err;

	err = ctrl_recv(&s->ctrl, &s->msg, "welcome", SETUP_TIMEOUT);
	if (!err)
		err = msg_get_u64(&s->msg, "bytes", &bytes);
	if (err)
		return err;
	if (!bytes || bytes > 1ULL << 50 || (!s->p.reverse && bytes != s->p.bytes))
		return -EPROTO;
	s->p.bytes = bytes;
	for (i = 0; i < s->p.parallel; i++) {
		snprintf(key, sizeof(key), "port%u", i);
		err = msg_get_u64(&s->msg, key, &v);
		if (err || !v || v > UINT16_MAX)
			return -EPROTO;
		s->ids[i].server_port = v;
	}
	return 0;
}

/* A sender knows the size before hello, a receiver only after welcome. */
static int client_setup(struct session *s)
{
	int err = 0;

	make_ids(s);
	session_init(s);
	if (s->sender)
		err = session_files(s);
	if (!err)
		err = session_sockets(s, 0);
	if (!err)
		err = send_hello(s);
	if (!err)
		err = recv_welcome(s);
	if (!err && !s->sender)
		err = session_files(s);
	return err ? err : session_connect(s);
}

static int client_run(struct session *s)
{
	int err, hash_ok = -1;

	err = client_setup(s);
	if (err)
		return err;
	msg_init(&s->msg, "start");
	s->start = now_ns();
	err = ctrl_send(&s->ctrl, &s->msg);
	if (!err)
		err = session_run(s);
	if (!err)
		err = session_finish(s, &hash_ok);
	if (err)
		return err;
	session_report(s, hash_ok);
	return hash_ok ? 0 : -EBADMSG;
}

/**
 * client_main - run one test against a server
 * @host: the server
 * @bind_addr: own address or NULL
 * @port: its port
 * @p: the test
 * @local: this end's own settings
 *
 * Return: exit code.
 */
int client_main(const char *host, const char *bind_addr, u16 port,
		const struct params *p, const struct local *local)
{
	struct session *s = xcalloc(1, sizeof(*s));
	int err;

	s->p = *p;
	s->local = local;
	s->out_fd = -1;
	s->ctrl.fd = net_dial(host, bind_addr, port, DIAL_TIMEOUT);
	err = s->ctrl.fd;
	if (err < 0) {
		warnx("%s port %u: %s", host, port, strerror(-err));
	} else {
		fcntl(s->ctrl.fd, F_SETFL, O_NONBLOCK);
		err = client_run(s);
		session_error(s, err);
	}
	session_free(s);
	free(s);
	return session_exit_code(err);
}
