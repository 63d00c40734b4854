// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net.h"
#include "session.h"

#define DEFAULT_BYTES	(64ULL << 20)
#define HASH_TIMEOUT	3600	/* seconds for the peer to hash what it stored */

static int open_output(struct session *s)
{
	if (s->local->output)
		s->out_fd = open(s->local->output,
				 O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	else if (s->p.hash == HASH_AFTER)
		s->out_fd = memfd_create("qoffperf", MFD_CLOEXEC);
	else
		return 0;
	if (s->out_fd < 0 || ftruncate(s->out_fd, s->p.bytes)) {
		warnx("cannot store %" PRIu64 " bytes: %s", s->p.bytes,
		      strerror(errno));
		return -errno;
	}
	return 0;
}

static int open_source(struct session *s)
{
	u64 bytes = s->p.bytes;
	int err;

	err = source_open(&s->src, s->local->source, &bytes, s->p.seed);
	if (err) {
		warnx("%s: %s", s->local->source, strerror(-err));
		return err;
	}
	if (!s->p.bytes)
		s->p.bytes = s->local->source ? bytes : DEFAULT_BYTES;
	else if (s->local->source)
		s->p.bytes = min(s->p.bytes, bytes);
	return 0;
}

void session_init(struct session *s)
{
	s->sender = s->server == s->p.reverse;
	s->conns = xcalloc(s->p.parallel, sizeof(*s->conns));
}

/* Opens what is sent or stored. A sender learns p.bytes here, if it is 0. */
int session_files(struct session *s)
{
	return s->sender ? open_source(s) : open_output(s);
}

/* Sockets at the address of the control connection; a client's ports are any. */
int session_sockets(struct session *s, u16 first_port)
{
	struct sockaddr_storage addr;
	unsigned int i;
	socklen_t len;
	u16 *port;
	int err;

	for (i = 0; i < s->p.parallel; i++) {
		struct io *io = &s->conns[i].io;

		err = net_local(s->ctrl.fd, &addr, &len);
		if (err)
			return err;
		net_set_port(&addr, first_port ? first_port + i : 0);
		err = io_socket(io, &s->p, (struct sockaddr *)&addr, len);
		if (!err)
			err = net_local(io->fd, &addr, &len);
		if (err) {
			warnx("UDP port %u: %s", first_port ? first_port + i : 0,
			      strerror(-err));
			return err;
		}
		port = s->server ? &s->ids[i].server_port : &s->ids[i].client_port;
		*port = net_port(&addr);
	}
	return 0;
}

static int connect_one(struct session *s, unsigned int i)
{
	struct conn_ids *id = &s->ids[i];
	u64 part = s->p.bytes / s->p.parallel;
	bool last = i + 1 == s->p.parallel;
	struct conn_config cfg = {
		.p = &s->p,
		.sender = s->sender,
		.tx_secret = s->server ? id->down : id->up,
		.rx_secret = s->server ? id->up : id->down,
		.dcid = s->server ? id->server_dcid : id->client_dcid,
		.peer_dcid = s->server ? id->client_dcid : id->server_dcid,
		.src = &s->src,
		.fd = s->out_fd,
		.base = i * part,
		.size = last ? s->p.bytes - i * part : part,
		.id = i,
	};
	struct sockaddr_storage addr;
	socklen_t len;
	int err;

	err = net_remote(s->ctrl.fd, &addr, &len);
	if (err)
		return err;
	net_set_port(&addr, s->server ? id->client_port : id->server_port);
	err = io_connect(&s->conns[i].io, (struct sockaddr *)&addr, len);
	return err ? err : conn_start(&s->conns[i], &cfg);
}

static int write_keylog(const struct session *s)
{
	size_t n = qoff_secret_len(s->p.cipher);
	char secret[2 * QOFF_MAX_SECRET + 1];
	char dcid[2 * QOFF_MAX_DCID + 1];
	unsigned int i;
	FILE *f;
	int fd;

	if (!s->local->keylog)
		return 0;
	fd = open(s->local->keylog, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		  0600);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f) {
		warnx("%s: %s", s->local->keylog, strerror(errno));
		return -errno;
	}
	fputs("# connection direction dcid secret\n", f);
	for (i = 0; i < s->p.parallel; i++) {
		hex_encode(s->ids[i].server_dcid, s->p.dcid_len, dcid);
		hex_encode(s->ids[i].up, n, secret);
		fprintf(f, "%u up %s %s\n", i, dcid, secret);
		hex_encode(s->ids[i].client_dcid, s->p.dcid_len, dcid);
		hex_encode(s->ids[i].down, n, secret);
		fprintf(f, "%u down %s %s\n", i, dcid, secret);
	}
	qoff_wipe(secret, sizeof(secret));
	return fclose(f) ? -errno : 0;
}

/* Both ends know ports, connection IDs and secrets: make connections of them. */
int session_connect(struct session *s)
{
	unsigned int i;
	int err;

	err = write_keylog(s);
	for (i = 0; !err && i < s->p.parallel; i++)
		err = connect_one(s, i);
	return err;
}

static void put_hashes(struct session *s)
{
	char key[16];
	unsigned int i;

	for (i = 0; s->p.hash != HASH_NONE && i < s->p.parallel; i++) {
		snprintf(key, sizeof(key), "h%u", i);
		msg_add(&s->msg, key, "%s", s->hash_hex[i]);
	}
}

/* Compares the peer's hashes with ours; -1 when none were wanted. */
static int compare_hashes(struct session *s)
{
	const char *theirs;
	char key[16];
	unsigned int i;

	if (s->p.hash == HASH_NONE)
		return -1;
	for (i = 0; i < s->p.parallel; i++) {
		snprintf(key, sizeof(key), "h%u", i);
		theirs = msg_get(&s->msg, key);
		if (!theirs || strcmp(theirs, s->hash_hex[i]))
			return 0;
	}
	return 1;
}

static int make_hashes(struct session *s)
{
	unsigned int i;
	int err;

	for (i = 0; s->p.hash != HASH_NONE && i < s->p.parallel; i++) {
		struct conn *c = &s->conns[i];

		if (s->sender) {
			source_hash(&s->src, c->tx.base, c->tx.size, s->hash[i]);
		} else {
			err = stream_rx_hash(&c->rx, s->hash[i]);
			if (err)
				return err;
		}
		hex_encode(s->hash[i], SHA256_LEN, s->hash_hex[i]);
	}
	return 0;
}

/* The receiver's time is the test's; a CLOSE that came meanwhile counts. */
static void drain(struct session *s)
{
	unsigned int i;

	for (i = 0; i < s->p.parallel; i++)
		if (!s->conns[i].error)
			conn_readable(&s->conns[i]);
}

static int finish_sender(struct session *s, int *hash_ok)
{
	unsigned int i;
	int err;

	for (i = 0; i < s->p.parallel; i++)
		conn_close(&s->conns[i]);
	session_counters(s, &s->mine);
	err = make_hashes(s);
	if (err)
		return err;
	msg_init(&s->msg, "results");
	side_put(&s->mine, &s->msg);
	put_hashes(s);
	err = ctrl_send(&s->ctrl, &s->msg);
	if (!err)
		err = ctrl_recv(&s->ctrl, &s->msg, "final", HASH_TIMEOUT);
	if (!err)
		err = side_get(&s->theirs, &s->msg);
	if (!err)
		*hash_ok = compare_hashes(s);
	return err;
}

static int finish_receiver(struct session *s, int *hash_ok)
{
	int err;

	err = side_get(&s->theirs, &s->msg);
	if (err)
		return err;
	drain(s);
	session_counters(s, &s->mine);
	err = make_hashes(s);
	if (err)
		return err;
	*hash_ok = compare_hashes(s);
	msg_init(&s->msg, "final");
	side_put(&s->mine, &s->msg);
	put_hashes(s);
	return ctrl_send(&s->ctrl, &s->msg);
}

/**
 * session_finish - exchange counters and hashes
 * @s: session_run() returned 0
 * @hash_ok: see &struct result
 *
 * Return: 0 or a negative errno.
 */
int session_finish(struct session *s, int *hash_ok)
{
	return s->sender ? finish_sender(s, hash_ok) :
			   finish_receiver(s, hash_ok);
}

void session_report(struct session *s, int hash_ok)
{
	const char *hashes[MAX_PARALLEL];
	struct result r = {
		.p = &s->p,
		.sender = s->sender ? s->mine : s->theirs,
		.receiver = s->sender ? s->theirs : s->mine,
		.hash_ok = hash_ok,
		.hashes = hashes,
	};
	unsigned int i;

	for (i = 0; i < s->p.parallel; i++)
		hashes[i] = s->hash_hex[i];
	if (s->local->json)
		report_json(stdout, &r);
	else
		report_text(stdout, &r);
}

/* Tells user and peer, unless the peer said it first or is gone. */
void session_error(struct session *s, int err)
{
	if (!err || err == -ECANCELED || err == -EBADMSG)
		return;
	warnx("test failed: %s", strerror(-err));
	if (s->ctrl.fd < 0 || err == -ECONNRESET || err == -EPIPE)
		return;
	msg_init(&s->msg, "error");
	msg_add(&s->msg, "text", "%s", strerror(-err));
	ctrl_send(&s->ctrl, &s->msg);
}

int session_exit_code(int err)
{
	switch (err) {
	case 0:
		return EXIT_OK;
	case -EBADMSG:
		return EXIT_WRONG_DATA;
	case -EOPNOTSUPP:
		return EXIT_SKIP;
	default:
		return EXIT_FAILED;
	}
}

void session_free(struct session *s)
{
	unsigned int i;

	for (i = 0; s->conns && i < s->p.parallel; i++)
		conn_free(&s->conns[i]);
	free(s->conns);
	s->conns = NULL;
	if (s->src.base)
		source_close(&s->src);
	if (s->out_fd >= 0)
		close(s->out_fd);
	s->out_fd = -1;
	ctrl_close(&s->ctrl);
	qoff_wipe(s->ids, sizeof(s->ids));
	qoff_wipe(&s->msg, sizeof(s->msg));
}
