// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections: keys from the TLS key log, contexts, flows, and their end.
 */
#include <stdio.h>

#include "priv.h"

struct qng_conn *qng_conn_new(struct qng_sock *s, bool server)
{
	struct qng_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->sock = s;
	c->server = server;
	return c;
}

void qng_conn_bind(struct qng_conn *c, ngtcp2_conn *conn)
{
	c->conn = conn;
}

static uint32_t cipher_of(uint16_t suite)
{
	switch (suite) {
	case 0x1301:
		return QUIC_OFFLOAD_CIPHER_AES_128_GCM;
	case 0x1302:
		return QUIC_OFFLOAD_CIPHER_AES_256_GCM;
	case 0x1303:
		return QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305;
	case 0x1304:
		return QUIC_OFFLOAD_CIPHER_AES_128_CCM;
	}
	return 0;
}

static size_t unhex(const char *s, uint8_t *out, size_t size)
{
	unsigned int byte;
	size_t n;

	for (n = 0; n < size && sscanf(s + 2 * n, "%2x", &byte) == 1; n++)
		out[n] = byte;
	return n;
}

void qng_keylog(struct qng_conn *c, const char *line, uint16_t suite)
{
	uint32_t version = ngtcp2_conn_get_negotiated_version(c->conn);
	bool of_client = !strncmp(line, "CLIENT_TRAFFIC_SECRET_0 ", 24);
	bool of_server = !strncmp(line, "SERVER_TRAFFIC_SECRET_0 ", 24);
	struct qng_dir *d = of_server == c->server ? &c->tx : &c->rx;
	uint32_t cipher = cipher_of(suite);
	uint8_t secret[QOFF_MAX_SECRET];
	const char *hex;

	if (!of_client && !of_server)
		return;
	hex = strchr(line + 24, ' ');
	if (!version)
		version = ngtcp2_conn_get_client_chosen_version(c->conn);
	if (!hex || !cipher || d->known)
		return;
	if (unhex(hex + 1, secret, qoff_secret_len(cipher)) == qoff_secret_len(cipher) &&
	    !qoff_derive_keys(version, cipher, secret, qoff_secret_len(cipher), &d->keys)) {
		memcpy(d->key[0].iv, d->keys.iv, sizeof(d->key[0].iv));
		d->key[0].valid = true;
		d->known = true;
	}
	qoff_wipe(secret, sizeof(secret));
}

/* What went below need not stay here. */
static void wipe_keys(struct qoff_keys *k)
{
	qoff_wipe(k->key, sizeof(k->key));
	qoff_wipe(k->hp, sizeof(k->hp));
}

void qng_give_up(struct qng_conn *c)
{
	struct qoff_sock *s = c->sock->s;

	if (c->tx.installed)
		qoff_ctx_del(s, c->ctx);
	for (unsigned int i = 0; i < c->ncid; i++) {
		if (c->cid[i].flow)
			qoff_flow_del(s, c->cid[i].flow);
		c->cid[i].flow = 0;
	}
	c->tx.installed = false;
	c->rx.installed = false;
	for (unsigned int i = 0; i < 2; i++) {
		c->tx.key[i].below = false;
		c->rx.key[i].below = false;
	}
	c->given_up = true;
}

static void install_tx(struct qng_conn *c)
{
	const ngtcp2_transport_params *peer = ngtcp2_conn_get_remote_transport_params(c->conn);
	struct qoff_ctx_param p = {
		.keys = &c->tx.keys,
		.first_pn = c->tx.pn,
		.dcid_len = ngtcp2_conn_get_dcid(c->conn)->datalen,
	};

	/* RFC 9287: ngtcp2 clears the fixed bit when the peer does not mind. */
	c->grease = peer && peer->grease_quic_bit;
	if (c->grease)
		p.flags = QUIC_OFFLOAD_CTX_FLAG_GREASE_FIXED_BIT;
	if (qoff_ctx_add(c->sock->s, &p, &c->ctx)) {
		c->sock->st.refused++;
		return;
	}
	c->dcid_len = p.dcid_len;
	c->tx.installed = true;
	c->tx.key[0].below = true;
	c->sock->st.contexts++;
}

/* @share: a flow whose keys it gets; 0: the first keys. */
static int add_flow(struct qng_conn *c, struct qng_cid *cid, uint32_t share)
{
	struct qoff_flow_param p = {
		.local = &c->local.sa,
		.remote = &c->remote.sa,
		.dcid = cid->cid.data,
		.dcid_len = cid->cid.datalen,
		.keys = share ? NULL : &c->rx.keys,
		.largest_pn = share || !c->rx.pn ? QOFF_PN_NONE : c->rx.pn - 1,
		.keys_of = share,
	};
	uint32_t flow;
	int err;

	err = qoff_flow_add(c->sock->s, &p, &flow);
	if (err) {
		c->sock->st.refused += err != -EEXIST;
		return err;
	}
	cid->flow = flow;
	c->sock->st.flows++;
	return 0;
}

static uint32_t any_flow(const struct qng_conn *c)
{
	for (unsigned int i = 0; i < c->ncid; i++) {
		if (c->cid[i].flow)
			return c->cid[i].flow;
	}
	return 0;
}

static void install_rx(struct qng_conn *c)
{
	uint32_t share = 0;

	for (unsigned int i = 0; i < c->ncid; i++) {
		if (!add_flow(c, &c->cid[i], share))
			share = c->cid[i].flow;
	}
	c->rx.installed = share;
	c->rx.key[0].below = share;
}

static void take_path(struct qng_conn *c)
{
	const ngtcp2_path *path = ngtcp2_conn_get_path(c->conn);

	qng_addr_copy(&c->local, &path->local);
	qng_addr_copy(&c->remote, &path->remote);
}

/* The peer's address changed: the keys go over to flows of the new one. */
static void follow_path(struct qng_conn *c)
{
	const ngtcp2_path *path = ngtcp2_conn_get_path(c->conn);
	ngtcp2_sockaddr_union local, remote;
	uint32_t old[MAX_CIDS], share;

	qng_addr_copy(&local, &path->local);
	qng_addr_copy(&remote, &path->remote);
	if (qng_same_addr(&remote, &c->remote) && qng_same_addr(&local, &c->local))
		return;
	share = any_flow(c);
	take_path(c);
	for (unsigned int i = 0; i < c->ncid; i++) {
		old[i] = c->cid[i].flow;
		/* EEXIST: where only our port changed, the old one may do. */
		if (!old[i] || add_flow(c, &c->cid[i], share) == -EEXIST)
			old[i] = 0;
	}
	for (unsigned int i = 0; i < c->ncid; i++) {
		if (!old[i])
			continue;
		qoff_flow_del(c->sock->s, old[i]);
		if (c->cid[i].flow == old[i])
			c->cid[i].flow = 0;
	}
	c->rx.installed = any_flow(c);
}

static void update_tx(struct qng_conn *c)
{
	struct qng_key *k = &c->tx.key[c->tx.gen & 1];
	int err;

	err = qoff_ctx_update(c->sock->s, c->ctx, c->tx.gen & 1, &c->tx.next);
	/* The old key is in use still: once more later, ngtcp2 seals until then. */
	if (err == -EBUSY)
		return;
	k->below = !err;
	c->tx.pending = false;
	qoff_wipe(&c->tx.next, sizeof(c->tx.next));
	if (err)
		c->sock->st.refused++;
	else
		c->sock->st.key_updates++;
}

/* Any flow stands for all of them: they share the keys. */
static void update_rx(struct qng_conn *c)
{
	struct qng_key *k = &c->rx.key[c->rx.gen & 1];
	uint32_t flow = any_flow(c);
	int err = -ENOENT;

	if (flow) {
		qoff_flow_retire(c->sock->s, flow, c->rx.gen & 1);
		err = qoff_flow_update(c->sock->s, flow, &c->rx.next, c->rx.gen & 1, c->rx.gen,
				       QOFF_PN_NONE);
	}
	k->below = !err;
	c->rx.pending = false;
	qoff_wipe(&c->rx.next, sizeof(c->rx.next));
	if (err)
		c->sock->st.refused++;
}

/* The first keys may be gone, after two updates that nobody here had a part in. */
static bool first_keys_live(const struct qng_dir *d)
{
	return d->gen < 2 && d->key[0].valid;
}

static void install(struct qng_conn *c)
{
	if (!c->tx_tried) {
		c->tx_tried = true;
		take_path(c);
		if (first_keys_live(&c->tx))
			install_tx(c);
		wipe_keys(&c->tx.keys);
	}
	/* Peers may begin with any packet number: it takes one to open the next below. */
	if (!c->rx_tried && c->rx.pn) {
		c->rx_tried = true;
		take_path(c);
		if (first_keys_live(&c->rx))
			install_rx(c);
		wipe_keys(&c->rx.keys);
	}
}

void qng_refresh(struct qng_conn *c)
{
	if (c->sock->mode != QNG_OFFLOAD || c->given_up || !c->tx.known || !c->rx.known ||
	    !ngtcp2_conn_get_handshake_completed(c->conn))
		return;
	install(c);
	if (c->rx.installed)
		follow_path(c);
	if (c->tx.pending && c->tx.installed)
		update_tx(c);
	if (c->rx.pending && c->rx.installed)
		update_rx(c);
}

int qng_cid_add(struct qng_conn *c, const ngtcp2_cid *cid)
{
	struct qng_cid *n;

	for (unsigned int i = 0; i < c->ncid; i++) {
		if (ngtcp2_cid_eq(&c->cid[i].cid, cid))
			return -EEXIST;
	}
	if (c->ncid == MAX_CIDS)
		return -ENOMEM;
	n = &c->cid[c->ncid++];
	n->cid = *cid;
	n->flow = 0;
	if (c->rx.installed)
		add_flow(c, n, any_flow(c));
	return 0;
}

void qng_cid_del(struct qng_conn *c, const ngtcp2_cid *cid)
{
	for (unsigned int i = 0; i < c->ncid; i++) {
		if (!ngtcp2_cid_eq(&c->cid[i].cid, cid))
			continue;
		if (c->cid[i].flow)
			qoff_flow_del(c->sock->s, c->cid[i].flow);
		c->cid[i] = c->cid[--c->ncid];
		c->rx.installed = any_flow(c);
		return;
	}
}

static void drop_waiting(struct qng_conn *c)
{
	struct qng_sock *s = c->sock;

	for (unsigned int i = s->sent; i < s->n; i++) {
		if (s->rec[i].conn == c)
			s->rec[i].conn = NULL;
	}
}

void qng_conn_move(struct qng_conn *c, struct qng_sock *s)
{
	drop_waiting(c);
	c->sock = s;
}

void qng_conn_free(struct qng_conn *c)
{
	if (!c)
		return;
	qng_give_up(c);
	drop_waiting(c);
	if (qng_current == c)
		qng_current = NULL;
	qoff_wipe(c, sizeof(*c));
	free(c);
}
