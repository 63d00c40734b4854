// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The batch: what leaves together, under which name, and what becomes of packets whose
 * send fails. tx.c alone is linked; ngtcp2 and libqoff are played here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "priv.h"

__thread struct qng_conn *qng_current;

/* One call of qoff_send() as it came. */
struct sent {
	uint16_t nseg;
	uint16_t flags;
	uint32_t ctx;
	uint64_t pn[QOFF_MAX_SEGS];
	uint8_t first[QOFF_MAX_SEGS];
	int tos;
};

static struct sent sent[16];
static unsigned int nsent;
static int answer[16];
static unsigned int given_up;
static unsigned int updates;

ssize_t qoff_send(struct qoff_sock *s, const struct qoff_tx_msg *m, int flags)
{
	struct sent *r = &sent[nsent];
	const uint8_t *p = m->iov[0].iov_base;
	ssize_t len = 0;

	r->nseg = m->nseg;
	r->flags = m->flags;
	r->ctx = m->ctx.id;
	r->tos = m->tos;
	for (unsigned int i = 0; i < m->nseg; i++) {
		r->first[i] = p[len];
		r->pn[i] = m->pn + (m->flags & QOFF_TX_PN_OFFSETS ? m->segs[i].pn_off : i);
		len += m->segs[i].len;
	}
	assert_int_equal(len, m->iov[0].iov_len);
	return answer[nsent++] ?: len;
}

void qng_refresh(struct qng_conn *c)
{
}

void qng_give_up(struct qng_conn *c)
{
	given_up++;
	c->tx.installed = false;
}

int ngtcp2_conn_initiate_key_update(ngtcp2_conn *conn, ngtcp2_tstamp ts)
{
	updates++;
	return 0;
}

size_t ngtcp2_conn_get_max_tx_udp_payload_size(ngtcp2_conn *conn)
{
	return 1200;
}

size_t ngtcp2_conn_get_path_max_tx_udp_payload_size(ngtcp2_conn *conn)
{
	return 1200;
}

void ngtcp2_path_storage_zero(ngtcp2_path_storage *ps)
{
	memset(ps, 0, sizeof(*ps));
}

/* What ngtcp2 would write next. */
static struct {
	bool deferred;
	uint64_t pn;
	uint8_t phase;
	uint8_t ecn;
	uint16_t port;
	size_t len;
	uint8_t first;
} next;

static ngtcp2_ssize play(ngtcp2_path *path, ngtcp2_pkt_info *pi, uint8_t *dest)
{
	static ngtcp2_sockaddr_union local, remote;

	local.in.sin_family = AF_INET;
	remote.in.sin_family = AF_INET;
	remote.in.sin_port = htons(next.port);
	path->local.addr = &local.sa;
	path->local.addrlen = sizeof(local.in);
	path->remote.addr = &remote.sa;
	path->remote.addrlen = sizeof(remote.in);
	pi->ecn = next.ecn;
	memset(dest, 0, next.len);
	dest[0] = next.first;
	assert_non_null(qng_current);
	assert_true(qng_current->writing);
	qng_current->deferred = next.deferred;
	qng_current->deferred_pn = next.pn;
	qng_current->deferred_phase = next.phase;
	return next.len;
}

ngtcp2_ssize ngtcp2_conn_writev_stream_versioned(ngtcp2_conn *conn, ngtcp2_path *path, int v,
						 ngtcp2_pkt_info *pi, uint8_t *dest,
						 size_t destlen, ngtcp2_ssize *pdatalen,
						 uint32_t flags, int64_t id,
						 const ngtcp2_vec *datav, size_t datavcnt,
						 ngtcp2_tstamp ts)
{
	return play(path, pi, dest);
}

ngtcp2_ssize ngtcp2_conn_write_connection_close_versioned(ngtcp2_conn *conn, ngtcp2_path *path,
							  int v, ngtcp2_pkt_info *pi,
							  uint8_t *dest, size_t destlen,
							  const ngtcp2_ccerr *ccerr,
							  ngtcp2_tstamp ts)
{
	return play(path, pi, dest);
}

static struct qng_sock *sock;
static struct qng_conn conn[2];

static int setup(void **state)
{
	sock = calloc(1, sizeof(*sock));
	memset(conn, 0, sizeof(conn));
	memset(sent, 0, sizeof(sent));
	memset(answer, 0, sizeof(answer));
	nsent = 0;
	given_up = 0;
	updates = 0;
	for (unsigned int i = 0; i < 2; i++) {
		conn[i].sock = sock;
		conn[i].tx.installed = true;
		conn[i].tx.key[0].below = true;
		conn[i].ctx.id = 7 + i;
	}
	return !sock;
}

static int teardown(void **state)
{
	free(sock);
	sock = NULL;
	return 0;
}

static void put(struct qng_conn *c, bool deferred, uint64_t pn)
{
	next.deferred = deferred;
	next.pn = pn;
	next.len = 100 + pn % 7;
	next.first = deferred ? 0x40 : 0xc0;
	assert_int_equal(qng_writev_stream(c, NULL, 0, -1, NULL, 0, 0), next.len);
	assert_null(qng_current);
}

static void names(void **state)
{
	put(&conn[0], false, 0);
	put(&conn[0], true, 5);
	put(&conn[0], true, 6);
	put(&conn[1], true, 7);
	put(&conn[1], false, 0);
	assert_int_equal(qng_flush(sock), 0);
	assert_int_equal(nsent, 4);
	/* What is not sealed has a context's name on it, and only that. */
	for (unsigned int i = 0; i < nsent; i++) {
		for (unsigned int k = 0; k < sent[i].nseg; k++)
			assert_int_equal(!(sent[i].flags & QOFF_TX_RAW), sent[i].first[k] == 0x40);
	}
	assert_int_equal(sent[1].ctx, 7);
	assert_int_equal(sent[1].nseg, 2);
	assert_int_equal(sent[2].ctx, 8);
	assert_int_equal(qng_batch_len(sock), 0);
}

static void gaps(void **state)
{
	put(&conn[0], true, 5);
	put(&conn[0], true, 6);
	put(&conn[0], true, 90);
	assert_int_equal(qng_flush(sock), 0);
	assert_int_equal(nsent, 1);
	assert_int_equal(sent[0].flags, QOFF_TX_PN_OFFSETS);
	assert_int_equal(sent[0].pn[0], 5);
	assert_int_equal(sent[0].pn[1], 6);
	assert_int_equal(sent[0].pn[2], 90);
}

static void kinds(void **state)
{
	put(&conn[0], true, 1);
	next.phase = 1;
	put(&conn[0], true, 2);
	next.ecn = 2;
	put(&conn[0], true, 3);
	next.port = 9;
	put(&conn[0], true, 4);
	next.phase = 0;
	next.ecn = 0;
	next.port = 0;
	assert_int_equal(qng_flush(sock), 0);
	assert_int_equal(nsent, 4);
	assert_int_equal(sent[1].tos, -1);
	assert_int_equal(sent[2].tos, 2);
}

static void no_room(void **state)
{
	put(&conn[0], true, 1);
	put(&conn[0], true, 2);
	next.ecn = 2;
	put(&conn[0], true, 3);
	next.ecn = 0;
	answer[1] = -EAGAIN;
	answer[2] = -ENOBUFS;
	assert_int_equal(qng_flush(sock), -EAGAIN);
	assert_int_equal(qng_flush(sock), -EAGAIN);
	assert_int_equal(qng_flush(sock), 0);
	assert_int_equal(nsent, 4);
	/* The same number three times, because it left once; what had left did not again. */
	assert_int_equal(sent[0].nseg, 2);
	for (unsigned int i = 1; i < 4; i++) {
		assert_int_equal(sent[i].nseg, 1);
		assert_int_equal(sent[i].pn[0], 3);
	}
	assert_int_equal(sock->st.tx_lost, 0);
	assert_int_equal(sock->st.tx_dgrams, 3);
}

static void key_limit(void **state)
{
	put(&conn[0], true, 1);
	answer[0] = -EKEYEXPIRED;
	assert_int_equal(qng_flush(sock), 0);
	assert_int_equal(updates, 1);
	assert_false(conn[0].tx.key[0].below);
	assert_int_equal(sock->st.tx_lost, 1);
	assert_int_equal(given_up, 0);
}

/* Never again under their numbers, and never plain. */
static void context_lost(void **state)
{
	static const int errors[] = { -ESTALE, -ENOENT, -ENOKEY, -EPROTO, -EOPNOTSUPP };

	for (unsigned int i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		free(sock);
		assert_int_equal(setup(state), 0);
		put(&conn[0], true, 1);
		next.ecn = 2;
		put(&conn[0], true, 2);
		next.ecn = 0;
		put(&conn[0], false, 3);
		answer[0] = errors[i];
		assert_int_equal(qng_flush(sock), 0);
		assert_int_equal(given_up, 1);
		assert_int_equal(nsent, 2);
		assert_int_equal(sent[1].flags, QOFF_TX_RAW);
		assert_int_equal(sent[1].first[0], 0xc0);
		assert_int_equal(sock->st.tx_lost, 2);
	}
}

static void connection_gone(void **state)
{
	put(&conn[0], true, 1);
	put(&conn[1], true, 2);
	sock->rec[0].conn = NULL;
	assert_int_equal(qng_flush(sock), 0);
	assert_int_equal(nsent, 1);
	assert_int_equal(sent[0].ctx, 8);
	assert_int_equal(sock->st.tx_lost, 1);
}

/* A route that is gone loses packets, not contexts. */
static void unreachable(void **state)
{
	put(&conn[0], true, 1);
	answer[0] = -ENETUNREACH;
	assert_int_equal(qng_flush(sock), 0);
	assert_int_equal(given_up, 0);
	put(&conn[0], true, 2);
	assert_int_equal(qng_flush(sock), 0);
	assert_int_equal(sent[1].pn[0], 2);
}

static void full(void **state)
{
	unsigned int n = 0;

	next.deferred = true;
	next.first = 0x40;
	next.len = 1200;
	for (; n < 1000; n++) {
		next.pn = n;
		if (qng_writev_stream(&conn[0], NULL, 0, -1, NULL, 0, 0) == QNG_ERR_FULL)
			break;
	}
	assert_int_equal(n, 54);
	assert_int_equal(qng_flush(sock), 0);
	assert_int_equal(sent[0].nseg, 54);
	for (n = 0; n < 1000; n++) {
		next.len = 20;
		next.pn = 1000 + n;
		if (qng_writev_stream(&conn[0], NULL, 0, -1, NULL, 0, 0) == QNG_ERR_FULL)
			break;
	}
	assert_int_equal(n, QOFF_MAX_SEGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names, setup, teardown),
		cmocka_unit_test_setup_teardown(gaps, setup, teardown),
		cmocka_unit_test_setup_teardown(kinds, setup, teardown),
		cmocka_unit_test_setup_teardown(no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(key_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(context_lost, NULL, teardown),
		cmocka_unit_test_setup_teardown(connection_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(unreachable, setup, teardown),
		cmocka_unit_test_setup_teardown(full, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
