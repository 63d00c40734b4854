// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "server.h"
#include "util.h"

#define RESETS_PER_SECOND	100
#define RETRY_LIFETIME		(10 * NSEC)

/* A connection ID in the server's table. */
struct cid_entry {
	struct cid_entry *next;
	ngtcp2_cid cid;
	struct conn *conn;
};

/**
 * struct conn - a connection of the server; its quic comes first
 * @q: the connection
 * @server: its server
 * @next: in the list of all
 * @prev: where it is linked
 * @confirmed: the handshake is done
 */
struct conn {
	struct quic q;
	struct server *server;
	struct conn *next;
	struct conn **prev;
	bool confirmed;
};

/* Clients choose the first ID: the key keeps them from choosing the bucket. */
static struct cid_entry **bucket(struct server *s, const uint8_t *data, size_t len)
{
	uint64_t h, mul;

	memcpy(&h, s->key, sizeof(h));
	memcpy(&mul, s->key + 8, sizeof(mul));
	for (size_t i = 0; i < len; i++) {
		h = (h ^ data[i]) * (mul | 1);
		h ^= h >> 29;
	}
	return &s->table[h % ARRAY_SIZE(s->table)];
}

static struct conn *find(struct server *s, const uint8_t *data, size_t len)
{
	struct cid_entry *e;

	for (e = *bucket(s, data, len); e; e = e->next) {
		if (e->cid.datalen == len && !memcmp(e->cid.data, data, len))
			return e->conn;
	}
	return NULL;
}

static int add_cid(struct quic *q, const ngtcp2_cid *cid)
{
	struct conn *c = (struct conn *)q;
	struct cid_entry **head = bucket(c->server, cid->data, cid->datalen);
	struct cid_entry *e;

	if (find(c->server, cid->data, cid->datalen))
		return -EEXIST;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->cid = *cid;
	e->conn = c;
	e->next = *head;
	*head = e;
	return 0;
}

static void del_cid(struct quic *q, const ngtcp2_cid *cid)
{
	struct conn *c = (struct conn *)q;
	struct cid_entry **p = bucket(c->server, cid->data, cid->datalen), *e;

	while ((e = *p)) {
		if (e->conn == c && ngtcp2_cid_eq(&e->cid, cid)) {
			*p = e->next;
			free(e);
			return;
		}
		p = &e->next;
	}
}

static void del_cids(struct conn *c)
{
	ngtcp2_cid scid[16];
	size_t n = ngtcp2_conn_get_scid(c->q.conn, NULL);

	if (n <= ARRAY_SIZE(scid)) {
		n = ngtcp2_conn_get_scid(c->q.conn, scid);
		for (size_t i = 0; i < n; i++)
			del_cid(&c->q, &scid[i]);
	}
	del_cid(&c->q, ngtcp2_conn_get_client_initial_dcid(c->q.conn));
}

static void confirmed(struct quic *q)
{
	struct conn *c = (struct conn *)q;

	if (!c->confirmed)
		c->server->half--;
	c->confirmed = true;
}

static int completed(struct quic *q)
{
	confirmed(q);
	return 0;
}

/* Requests first: their memory is nghttp3's to point at until it is gone. */
static void free_conn(struct conn *c)
{
	quic_fini(&c->q);
	free(c);
}

static void closed(struct quic *q)
{
	struct conn *c = (struct conn *)q;

	if (!c->confirmed)
		c->server->half--;
	c->server->conns--;
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	del_cids(c);
	free_conn(c);
}

static const struct quic_ops ops = {
	.h3_callbacks = files_callbacks,
	.can_open = completed,
	.cid_added = add_cid,
	.cid_removed = del_cid,
	.closed = closed,
};

static void send_raw(struct server *s, const ngtcp2_path *path, const void *data, size_t len)
{
	if (!s->ep.blocked && !qng_write_raw(s->ep.net.qs, path, data, len) &&
	    qng_flush(s->ep.net.qs))
		s->ep.blocked = true;
}

static void send_version(struct server *s, const struct qng_pkt *p, const ngtcp2_version_cid *v)
{
	static const uint32_t versions[] = { NGTCP2_PROTO_VER_V1, NGTCP2_PROTO_VER_V2 };
	uint8_t buf[256], rnd;
	ngtcp2_ssize n;

	/* RFC 9000 section 6.1: only for a datagram that could be a client's first. */
	if (p->len < NGTCP2_MAX_UDP_PAYLOAD_SIZE)
		return;
	random_bytes(&rnd, 1);
	n = ngtcp2_pkt_write_version_negotiation(buf, sizeof(buf), rnd, v->scid, v->scidlen,
						 v->dcid, v->dcidlen, versions,
						 ARRAY_SIZE(versions));
	if (n > 0) {
		s->st.versions++;
		send_raw(s, &p->path, buf, n);
	}
}

static void send_retry(struct server *s, const struct qng_pkt *p, const ngtcp2_pkt_hd *hd)
{
	uint8_t token[NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN], buf[NGTCP2_MAX_UDP_PAYLOAD_SIZE];
	ngtcp2_ssize tlen, n;
	ngtcp2_cid scid;

	quic_new_cid(&s->conf, &scid, NULL);
	tlen = ngtcp2_crypto_generate_retry_token(token, s->key, sizeof(s->key), hd->version,
						  p->path.remote.addr, p->path.remote.addrlen,
						  &scid, &hd->dcid, now());
	if (tlen < 0)
		return;
	n = ngtcp2_crypto_write_retry(buf, sizeof(buf), hd->version, &hd->scid, &scid, &hd->dcid,
				      token, tlen);
	if (n > 0) {
		s->st.retries++;
		send_raw(s, &p->path, buf, n);
	}
}

static void send_refusal(struct server *s, const struct qng_pkt *p, const ngtcp2_pkt_hd *hd,
			 uint64_t code)
{
	uint8_t buf[NGTCP2_MAX_UDP_PAYLOAD_SIZE];
	ngtcp2_ssize n;

	n = ngtcp2_crypto_write_connection_close(buf, sizeof(buf), hd->version, &hd->scid,
						 &hd->dcid, code, NULL, 0);
	if (n > 0)
		send_raw(s, &p->path, buf, n);
}

/* So few that nobody can use them against others, and never longer than what came. */
static void send_reset(struct server *s, const struct qng_pkt *p)
{
	uint8_t token[NGTCP2_STATELESS_RESET_TOKENLEN], rnd[21], buf[64];
	size_t rlen = NGTCP2_MIN_STATELESS_RESET_RANDLEN + 16;
	uint64_t t = now();
	ngtcp2_ssize n;
	ngtcp2_cid cid;

	if (t - s->reset_time >= NSEC) {
		s->reset_time = t;
		s->reset_tokens = RESETS_PER_SECOND;
	}
	/* RFC 9000 section 10.3: smaller than the packet that it answers. */
	if (!s->reset_tokens || p->len < 1 + s->conf.cid_len + sizeof(token) + 6)
		return;
	if (rlen + sizeof(token) >= p->len)
		rlen = p->len - 1 - sizeof(token);
	s->reset_tokens--;
	ngtcp2_cid_init(&cid, p->data + 1, s->conf.cid_len);
	ngtcp2_crypto_generate_stateless_reset_token(token, s->conf.reset_key,
						     sizeof(s->conf.reset_key), &cid);
	random_bytes(rnd, sizeof(rnd));
	n = ngtcp2_pkt_write_stateless_reset(buf, sizeof(buf), token, rnd, rlen);
	if (n > 0) {
		s->st.resets++;
		send_raw(s, &p->path, buf, n);
	}
}

/**
 * admit - decide on a first packet
 * @s: server
 * @p: datagram
 * @hd: its header
 * @odcid: set to the ID of the client's very first packet, if there was a Retry
 * @retried: set then
 *
 * Return: may a connection be made?
 */
static bool admit(struct server *s, const struct qng_pkt *p, const ngtcp2_pkt_hd *hd,
		  ngtcp2_cid *odcid, bool *retried)
{
	*retried = false;
	if (s->conns >= s->max_conns) {
		s->st.refused++;
		send_refusal(s, p, hd, NGTCP2_CONNECTION_REFUSED);
		return false;
	}
	if (hd->tokenlen && hd->token[0] == NGTCP2_CRYPTO_TOKEN_MAGIC_RETRY) {
		if (ngtcp2_crypto_verify_retry_token(odcid, hd->token, hd->tokenlen, s->key,
						     sizeof(s->key), hd->version,
						     p->path.remote.addr,
						     p->path.remote.addrlen, &hd->dcid,
						     RETRY_LIFETIME, now())) {
			s->st.bad_tokens++;
			send_refusal(s, p, hd, NGTCP2_INVALID_TOKEN);
			return false;
		}
		*retried = true;
		return true;
	}
	if (s->retry || s->half >= s->max_half) {
		send_retry(s, p, hd);
		return false;
	}
	return true;
}

static struct conn *make_conn(struct server *s, const struct qng_pkt *p, const ngtcp2_pkt_hd *hd,
			      const ngtcp2_cid *odcid, bool retried)
{
	ngtcp2_transport_params params;
	ngtcp2_settings settings;
	ngtcp2_callbacks cb;
	ngtcp2_conn *conn;
	ngtcp2_cid scid;
	struct conn *c;
	struct tls *t;

	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->server = s;
	c->q.ops = &ops;
	c->q.conf = &s->conf;
	c->q.ep = &s->ep;
	c->q.server = true;
	t = tls_new(s->tls, &c->q.ref, NULL);
	if (!t || quic_init(&c->q, &cb, &settings, &params))
		goto err;
	quic_new_cid(&s->conf, &scid, params.stateless_reset_token);
	params.stateless_reset_token_present = 1;
	params.original_dcid_present = 1;
	params.original_dcid = retried ? *odcid : hd->dcid;
	if (retried) {
		params.retry_scid = hd->dcid;
		params.retry_scid_present = 1;
		settings.token_type = NGTCP2_TOKEN_TYPE_RETRY;
	}
	settings.token = hd->token;
	settings.tokenlen = hd->tokenlen;
	if (qng_cid_add(c->q.qng, &scid) ||
	    ngtcp2_conn_server_new(&conn, &hd->scid, &scid, &p->path, hd->version, &cb, &settings,
				   &params, NULL, &c->q))
		goto err;
	quic_start(&c->q, conn, t);
	if (add_cid(&c->q, &scid) || add_cid(&c->q, &hd->dcid))
		note("a connection ID came twice");
	c->next = s->all;
	c->prev = &s->all;
	if (s->all)
		s->all->prev = &c->next;
	s->all = c;
	s->conns++;
	s->half++;
	s->st.accepted++;
	return c;
err:
	tls_free(t);
	quic_fini(&c->q);
	free(c);
	return NULL;
}

static void first_packet(struct server *s, const struct qng_pkt *p)
{
	bool retried;
	ngtcp2_pkt_hd hd;
	ngtcp2_cid odcid;
	struct conn *c;

	if (ngtcp2_accept(&hd, p->data, p->len)) {
		s->st.garbage++;
		return;
	}
	if (!admit(s, p, &hd, &odcid, &retried))
		return;
	c = make_conn(s, p, &hd, &odcid, retried);
	if (c)
		quic_read(&c->q, p);
}

static void on_packet(struct endpoint *ep, const struct qng_pkt *p)
{
	struct server *s = ep->arg;
	ngtcp2_version_cid v;
	struct conn *c;
	int err;

	err = ngtcp2_pkt_decode_version_cid(&v, p->data, p->len, s->conf.cid_len);
	if (err == NGTCP2_ERR_VERSION_NEGOTIATION) {
		send_version(s, p, &v);
		return;
	}
	if (err) {
		s->st.garbage++;
		return;
	}
	c = find(s, v.dcid, v.dcidlen);
	if (c)
		quic_read(&c->q, p);
	else if (p->data[0] & 0x80)
		first_packet(s, p);
	else
		send_reset(s, p);
}

void server_init(struct server *s)
{
	random_bytes(s->key, sizeof(s->key));
	s->ep.on_packet = on_packet;
	s->ep.arg = s;
}

void server_fini(struct server *s)
{
	while (s->all)
		quic_close(&s->all->q, NGHTTP3_H3_NO_ERROR);
}
