// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prof.h"
#include "quic.h"

struct quic_totals quic_totals;

static int keylog_fd = -1;
static ngtcp2_decrypt decrypt_below;
static ngtcp2_hp_mask mask_below;

void quic_keylog_open(void)
{
	const char *path = getenv("SSLKEYLOGFILE");

	if (!path || !*path)
		return;
	keylog_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (keylog_fd < 0)
		warn("SSLKEYLOGFILE=%s: %s", path, strerror(errno));
}

/* The one place where secrets leave the program, because its user asked for it. */
void quic_keylog(ngtcp2_crypto_conn_ref *ref, const char *line, uint16_t suite)
{
	struct quic *q = ref->user_data;

	if (q->qng)
		qng_keylog(q->qng, line, suite);
	if (keylog_fd >= 0)
		dprintf(keylog_fd, "%s\n", line);
}

void quic_conf_init(struct quic_conf *conf)
{
	*conf = (struct quic_conf){
		.cid_len = 8,
		.max_udp = 1472,
		.window = 16 << 20,
		.stream_window = 16 << 20,
		.streams = 256,
		.idle = 30 * NSEC,
		.handshake = 30 * NSEC,
		.ack_thresh = 2,
		.cc = NGTCP2_CC_ALGO_CUBIC,
		.hold = true,
	};
	random_bytes(conf->reset_key, sizeof(conf->reset_key));
}

ngtcp2_cc_algo quic_parse_cc(const char *word)
{
	if (!strcmp(word, "cubic"))
		return NGTCP2_CC_ALGO_CUBIC;
	if (!strcmp(word, "reno"))
		return NGTCP2_CC_ALGO_RENO;
	if (!strcmp(word, "bbr"))
		return NGTCP2_CC_ALGO_BBR;
	die("--cc %s: there are cubic, reno and bbr", word);
}

void quic_new_cid(const struct quic_conf *conf, ngtcp2_cid *cid, uint8_t *token)
{
	cid->datalen = conf->cid_len;
	random_bytes(cid->data, cid->datalen);
	if (token)
		ngtcp2_crypto_generate_stateless_reset_token(token, conf->reset_key,
							     sizeof(conf->reset_key), cid);
}

static int fail_h3(struct quic *q, ssize_t err)
{
	ngtcp2_ccerr_set_application_error(&q->err, nghttp3_err_infer_quic_app_error_code(err),
					   NULL, 0);
	return NGTCP2_ERR_CALLBACK_FAILURE;
}

/* ------------------------------------------------------------------------
 * HTTP/3's streams below the requests
 */

static int h3_deferred_consume(nghttp3_conn *h3, int64_t id, size_t n, void *user, void *stream)
{
	struct quic *q = user;

	ngtcp2_conn_extend_max_stream_offset(q->conn, id, n);
	ngtcp2_conn_extend_max_offset(q->conn, n);
	return 0;
}

static int h3_stop_sending(nghttp3_conn *h3, int64_t id, uint64_t code, void *user, void *stream)
{
	struct quic *q = user;

	return ngtcp2_conn_shutdown_stream_read(q->conn, 0, id, code) ?
		       NGHTTP3_ERR_CALLBACK_FAILURE : 0;
}

static int h3_reset_stream(nghttp3_conn *h3, int64_t id, uint64_t code, void *user, void *stream)
{
	struct quic *q = user;

	return ngtcp2_conn_shutdown_stream_write(q->conn, 0, id, code) ?
		       NGHTTP3_ERR_CALLBACK_FAILURE : 0;
}

static int h3_start(struct quic *q)
{
	nghttp3_callbacks cb = {
		.deferred_consume = h3_deferred_consume,
		.stop_sending = h3_stop_sending,
		.reset_stream = h3_reset_stream,
	};
	int64_t control, enc, dec;
	nghttp3_settings settings;
	int err;

	if (q->h3)
		return 0;
	if (ngtcp2_conn_get_streams_uni_left(q->conn) < 3)
		return fail_h3(q, NGHTTP3_ERR_H3_STREAM_CREATION_ERROR);
	nghttp3_settings_default(&settings);
	/* No dynamic table for requests: curl 8.14 on OpenSSL's QUIC may keep back the stream
	 * that fills it, and its request then waits forever.
	 */
	if (!q->server) {
		settings.qpack_max_dtable_capacity = 4096;
		settings.qpack_blocked_streams = 100;
	}
	q->ops->h3_callbacks(&cb);
	err = q->server ?
		nghttp3_conn_server_new(&q->h3, &cb, &settings, nghttp3_mem_default(), q) :
		nghttp3_conn_client_new(&q->h3, &cb, &settings, nghttp3_mem_default(), q);
	if (err)
		return NGTCP2_ERR_CALLBACK_FAILURE;
	if (q->server)
		nghttp3_conn_set_max_client_streams_bidi(q->h3, q->conf->streams);
	if (ngtcp2_conn_open_uni_stream(q->conn, &control, NULL) ||
	    ngtcp2_conn_open_uni_stream(q->conn, &enc, NULL) ||
	    ngtcp2_conn_open_uni_stream(q->conn, &dec, NULL) ||
	    nghttp3_conn_bind_control_stream(q->h3, control) ||
	    nghttp3_conn_bind_qpack_streams(q->h3, enc, dec))
		return NGTCP2_ERR_CALLBACK_FAILURE;
	return 0;
}

/* ------------------------------------------------------------------------
 * ngtcp2's callbacks
 */

static void on_rand(uint8_t *dest, size_t len, const ngtcp2_rand_ctx *ctx)
{
	random_bytes(dest, len);
}

static int on_new_cid(ngtcp2_conn *conn, ngtcp2_cid *cid, uint8_t *token, size_t len, void *user)
{
	struct quic *q = user;
	int err;

	/* IDs of a byte meet soon. */
	do {
		quic_new_cid(q->conf, cid, token);
		err = qng_cid_add(q->qng, cid);
	} while (err == -EEXIST);
	if (err || len != cid->datalen)
		return NGTCP2_ERR_CALLBACK_FAILURE;
	if (q->ops->cid_added && q->ops->cid_added(q, cid))
		return NGTCP2_ERR_CALLBACK_FAILURE;
	return 0;
}

static int on_remove_cid(ngtcp2_conn *conn, const ngtcp2_cid *cid, void *user)
{
	struct quic *q = user;

	qng_cid_del(q->qng, cid);
	if (q->ops->cid_removed)
		q->ops->cid_removed(q, cid);
	return 0;
}

/* The first moment at which this side may send application data. */
static int on_key(ngtcp2_conn *conn, ngtcp2_encryption_level level, void *user)
{
	return level == NGTCP2_ENCRYPTION_LEVEL_1RTT ? h3_start(user) : 0;
}

static int on_completed(ngtcp2_conn *conn, void *user)
{
	struct quic *q = user;

	q->completed = now();
	quic_totals.handshakes++;
	return q->ops->can_open ? q->ops->can_open(q) : 0;
}

static int on_confirmed(ngtcp2_conn *conn, void *user)
{
	struct quic *q = user;

	if (q->ops->confirmed)
		q->ops->confirmed(q);
	return 0;
}

static int on_max_streams(ngtcp2_conn *conn, uint64_t max, void *user)
{
	struct quic *q = user;

	return q->completed && q->ops->can_open ? q->ops->can_open(q) : 0;
}

static int on_stream_data(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t offset,
			  const uint8_t *data, size_t len, void *user, void *stream)
{
	struct quic *q = user;
	nghttp3_ssize n;

	if (!q->h3)
		return NGTCP2_ERR_CALLBACK_FAILURE;
	n = nghttp3_conn_read_stream(q->h3, id, data, len, flags & NGTCP2_STREAM_DATA_FLAG_FIN);
	if (n < 0) {
		note("stream %lld: %s", (long long)id, nghttp3_strerror(n));
		return fail_h3(q, n);
	}
	ngtcp2_conn_extend_max_stream_offset(conn, id, n);
	ngtcp2_conn_extend_max_offset(conn, n);
	return 0;
}

static int on_acked(ngtcp2_conn *conn, int64_t id, uint64_t offset, uint64_t len, void *user,
		    void *stream)
{
	struct quic *q = user;
	int err;

	err = nghttp3_conn_add_ack_offset(q->h3, id, len);
	return err ? fail_h3(q, err) : 0;
}

static int on_stream_close(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t code,
			   void *user, void *stream)
{
	struct quic *q = user;
	int err;

	if (!q->h3)
		return 0;
	if (!(flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET))
		code = NGHTTP3_H3_NO_ERROR;
	err = nghttp3_conn_close_stream(q->h3, id, code);
	if (q->server && ngtcp2_is_bidi_stream(id))
		ngtcp2_conn_extend_max_streams_bidi(conn, 1);
	return err && err != NGHTTP3_ERR_STREAM_NOT_FOUND ? fail_h3(q, err) : 0;
}

static int on_stream_reset(ngtcp2_conn *conn, int64_t id, uint64_t size, uint64_t code,
			   void *user, void *stream)
{
	struct quic *q = user;
	int err = q->h3 ? nghttp3_conn_shutdown_stream_read(q->h3, id) : 0;

	return err ? fail_h3(q, err) : 0;
}

static int on_stop_sending(ngtcp2_conn *conn, int64_t id, uint64_t code, void *user, void *stream)
{
	return on_stream_reset(conn, id, 0, code, user, stream);
}

static int on_max_stream_data(ngtcp2_conn *conn, int64_t id, uint64_t max, void *user,
			      void *stream)
{
	struct quic *q = user;
	int err = q->h3 ? nghttp3_conn_unblock_stream(q->h3, id) : 0;

	return err ? fail_h3(q, err) : 0;
}

static int on_remote_streams(ngtcp2_conn *conn, uint64_t max, void *user)
{
	struct quic *q = user;

	if (q->h3)
		nghttp3_conn_set_max_client_streams_bidi(q->h3, max);
	return 0;
}

static int decrypt(uint8_t *dest, const ngtcp2_crypto_aead *aead,
		   const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *text, size_t len,
		   const uint8_t *nonce, size_t noncelen, const uint8_t *aad, size_t aadlen)
{
	enum prof_phase back = prof_enter(PROF_CRYPTO);
	int err;

	err = decrypt_below(dest, aead, ctx, text, len, nonce, noncelen, aad, aadlen);
	prof_leave(back);
	return err;
}

static int hp_mask(uint8_t *dest, const ngtcp2_crypto_cipher *hp,
		   const ngtcp2_crypto_cipher_ctx *ctx, const uint8_t *sample)
{
	enum prof_phase back = prof_enter(PROF_CRYPTO);
	int err = mask_below(dest, hp, ctx, sample);

	prof_leave(back);
	return err;
}

static void set_callbacks(struct quic *q, ngtcp2_callbacks *cb)
{
	*cb = (ngtcp2_callbacks){
		.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
		.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
		.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
		.version_negotiation = ngtcp2_crypto_version_negotiation_cb,
		.rand = on_rand,
		.get_new_connection_id = on_new_cid,
		.remove_connection_id = on_remove_cid,
		.handshake_completed = on_completed,
		.handshake_confirmed = on_confirmed,
		.recv_stream_data = on_stream_data,
		.acked_stream_data_offset = on_acked,
		.stream_close = on_stream_close,
		.stream_reset = on_stream_reset,
		.stream_stop_sending = on_stop_sending,
		.extend_max_stream_data = on_max_stream_data,
	};
	qng_callbacks(cb);
	decrypt_below = cb->decrypt;
	mask_below = cb->hp_mask;
	cb->decrypt = decrypt;
	cb->hp_mask = hp_mask;
	if (q->server) {
		cb->recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
		cb->recv_tx_key = on_key;
		cb->extend_max_remote_streams_bidi = on_remote_streams;
	} else {
		cb->client_initial = ngtcp2_crypto_client_initial_cb;
		cb->recv_retry = ngtcp2_crypto_recv_retry_cb;
		cb->recv_rx_key = on_key;
		cb->extend_max_local_streams_bidi = on_max_streams;
	}
}

static void on_qlog(void *user, uint32_t flags, const void *data, size_t len)
{
	struct quic *q = user;

	fwrite(data, 1, len, q->qlog);
}

static void open_qlog(struct quic *q, ngtcp2_settings *settings)
{
	static unsigned int count;
	char path[512];

	if (!q->conf->qlog_dir)
		return;
	snprintf(path, sizeof(path), "%s/%s-%d-%u.sqlog", q->conf->qlog_dir,
		 q->server ? "server" : "client", getpid(), ++count);
	q->qlog = fopen(path, "we");
	if (q->qlog)
		settings->qlog_write = on_qlog;
	else
		warn("%s: %s", path, strerror(errno));
}

static ngtcp2_conn *get_conn(ngtcp2_crypto_conn_ref *ref)
{
	return ((struct quic *)ref->user_data)->conn;
}

int quic_init(struct quic *q, ngtcp2_callbacks *cb, ngtcp2_settings *settings,
	      ngtcp2_transport_params *params)
{
	static const uint16_t probes[] = { 1360, 1452, 1472, 2048, 4096, 8952, 16384 };
	const struct quic_conf *conf = q->conf;

	q->qng = qng_conn_new(q->ep->net.qs, q->server);
	if (!q->qng)
		return -ENOMEM;
	q->started = now();
	q->ref.get_conn = get_conn;
	q->ref.user_data = q;
	ngtcp2_ccerr_default(&q->err);
	set_callbacks(q, cb);

	ngtcp2_settings_default(settings);
	settings->initial_ts = q->started;
	settings->cc_algo = conf->cc;
	settings->handshake_timeout = conf->handshake;
	settings->max_tx_udp_payload_size = conf->max_udp;
	settings->no_tx_udp_payload_size_shaping = conf->no_pmtud;
	settings->no_pmtud = conf->no_pmtud;
	settings->pmtud_probes = probes;
	settings->pmtud_probeslen = ARRAY_SIZE(probes);
	settings->ack_thresh = conf->ack_thresh;
	settings->max_window = conf->window;
	settings->max_stream_window = conf->stream_window;
	open_qlog(q, settings);

	ngtcp2_transport_params_default(params);
	params->initial_max_data = conf->window;
	params->initial_max_stream_data_bidi_local = conf->stream_window;
	params->initial_max_stream_data_bidi_remote = conf->stream_window;
	params->initial_max_stream_data_uni = 1 << 20;
	params->initial_max_streams_bidi = q->server ? conf->streams : 0;
	params->initial_max_streams_uni = 8;
	params->max_idle_timeout = conf->idle;
	params->active_connection_id_limit = 7;
	params->grease_quic_bit = 1;
	return 0;
}

/* ------------------------------------------------------------------------
 * Reading, writing, time
 */

static void over(struct quic *q)
{
	if (q->over)
		return;
	q->over = true;
	loop_forget(q->ep->loop, &q->timer);
	q->ops->closed(q);
}

/* Says so to the peer, if there is a word left to say. */
static void close_now(struct quic *q)
{
	ngtcp2_ssize n;

	if (!ngtcp2_conn_in_closing_period(q->conn) && !ngtcp2_conn_in_draining_period(q->conn)) {
		n = qng_write_close(q->qng, &q->err, now());
		if (n > 0 && qng_flush(q->ep->net.qs))
			q->ep->blocked = true;
	}
	over(q);
}

static void fail(struct quic *q, int err)
{
	note("connection: %s", ngtcp2_strerror(err));
	switch (err) {
	case NGTCP2_ERR_DRAINING:
	case NGTCP2_ERR_IDLE_CLOSE:
	case NGTCP2_ERR_DROP_CONN:
	case NGTCP2_ERR_RETRY:
		if (err == NGTCP2_ERR_IDLE_CLOSE)
			quic_totals.errors++;
		over(q);
		return;
	}
	quic_totals.errors++;
	if (q->err.error_code || q->err.type != NGTCP2_CCERR_TYPE_TRANSPORT)
		;	/* the cause is known */
	else if (err == NGTCP2_ERR_CRYPTO)
		ngtcp2_ccerr_set_tls_alert(&q->err, ngtcp2_conn_get_tls_alert(q->conn), NULL, 0);
	else
		ngtcp2_ccerr_set_liberr(&q->err, err, NULL, 0);
	close_now(q);
}

void quic_close(struct quic *q, uint64_t app_error)
{
	if (q->over)
		return;
	ngtcp2_ccerr_set_application_error(&q->err, app_error, NULL, 0);
	close_now(q);
}

void quic_read(struct quic *q, const struct qng_pkt *p)
{
	int err = qng_read_pkt(q->qng, p, now());

	if (err)
		fail(q, err);
	else
		loop_want_write(q->ep->loop, &q->timer);
}

static void set_timer(struct quic *q)
{
	loop_time(q->ep->loop, &q->timer, ngtcp2_conn_get_expiry(q->conn));
}

static void on_time(struct loop_entry *e)
{
	struct quic *q = (void *)((char *)e - offsetof(struct quic, timer));
	int err = ngtcp2_conn_handle_expiry(q->conn, now());

	if (err)
		fail(q, err);
	else
		loop_want_write(q->ep->loop, e);
}

/* As TCP's TSO does: a window that has just opened a little is left to open further, to a
 * whole super-packet or half of it. The other half is in flight, so an ACK will come.
 */
static bool hold(struct quic *q)
{
	ngtcp2_conn_info info;
	uint64_t wish = 60000;

	if (!q->conf->hold || !q->completed)
		return false;
	ngtcp2_conn_get_conn_info(q->conn, &info);
	if (wish > info.cwnd / 2)
		wish = info.cwnd / 2;
	return ngtcp2_conn_get_cwnd_left(q->conn) < wish;
}

struct writing {
	nghttp3_vec vec[16];
	nghttp3_ssize n;
	int64_t id;
	int fin;
	ngtcp2_ssize datalen;
};

static int next_data(struct quic *q, struct writing *w, bool data)
{
	w->id = -1;
	w->fin = 0;
	w->n = 0;
	if (!data || !q->h3 || !ngtcp2_conn_get_max_data_left(q->conn))
		return 0;
	w->n = nghttp3_conn_writev_stream(q->h3, &w->id, &w->fin, w->vec, ARRAY_SIZE(w->vec));
	if (w->n >= 0)
		return 0;
	fail_h3(q, w->n);
	return NGTCP2_ERR_CALLBACK_FAILURE;
}

/* Return: 1 go on, 0 nothing more now, or an error. */
static int written(struct quic *q, struct writing *w, ngtcp2_ssize ret)
{
	switch (ret) {
	case NGTCP2_ERR_STREAM_DATA_BLOCKED:
		nghttp3_conn_block_stream(q->h3, w->id);
		return 1;
	case NGTCP2_ERR_STREAM_SHUT_WR:
		nghttp3_conn_shutdown_stream_write(q->h3, w->id);
		return 1;
	}
	if (w->datalen >= 0 && w->id >= 0 && q->h3) {
		int err = nghttp3_conn_add_write_offset(q->h3, w->id, w->datalen);

		if (err) {
			fail_h3(q, err);
			return NGTCP2_ERR_CALLBACK_FAILURE;
		}
	}
	if (ret == NGTCP2_ERR_WRITE_MORE)
		return 1;
	return ret > 0 ? 1 : ret;
}

static bool on_write(struct loop_entry *e)
{
	struct quic *q = (void *)((char *)e - offsetof(struct quic, timer));
	size_t quantum = ngtcp2_conn_get_send_quantum(q->conn), wrote = 0;
	struct qng_sock *qs = q->ep->net.qs;
	bool data = !hold(q), again = false;
	uint64_t ts = now();
	ngtcp2_ssize ret;
	struct writing w;
	int err;

	for (;;) {
		err = next_data(q, &w, data);
		if (err)
			break;
		w.datalen = -1;
		ret = qng_writev_stream(q->qng, &w.datalen, NGTCP2_WRITE_STREAM_FLAG_MORE |
					(w.fin ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0), w.id,
					(const ngtcp2_vec *)w.vec, w.n, ts);
		if (ret == QNG_ERR_FULL) {
			again = true;
			break;
		}
		err = written(q, &w, ret);
		if (err <= 0)
			break;
		err = 0;
		if (ret > 0)
			wrote += ret;
		if (ret > 0 && wrote >= quantum)
			break;
	}
	if (err) {
		fail(q, err);
		return true;
	}
	ngtcp2_conn_update_pkt_tx_time(q->conn, ts);
	if (qng_batch_len(qs) && qng_flush(qs)) {
		q->ep->blocked = true;
		again = true;
	}
	set_timer(q);
	return !again;
}

void quic_start(struct quic *q, ngtcp2_conn *conn, struct tls *tls)
{
	q->conn = conn;
	q->tls = tls;
	qng_conn_bind(q->qng, conn);
	ngtcp2_conn_set_tls_native_handle(conn, tls_handle(tls));
	q->timer.ep = q->ep;
	q->timer.on_time = on_time;
	q->timer.on_write = on_write;
	quic_totals.connections++;
	set_timer(q);
	loop_want_write(q->ep->loop, &q->timer);
}

void quic_fini(struct quic *q)
{
	ngtcp2_conn_info info;

	if (q->conn) {
		ngtcp2_conn_get_conn_info(q->conn, &info);
		quic_totals.pkts_sent += info.pkt_sent;
		quic_totals.pkts_received += info.pkt_recv;
		quic_totals.pkts_lost += info.pkt_lost;
		quic_totals.pkts_discarded += info.pkt_discarded;
		loop_forget(q->ep->loop, &q->timer);
	}
	nghttp3_conn_del(q->h3);
	/* ngtcp2 calls back for its keys: the binding's half goes first, and is gone then. */
	qng_conn_free(q->qng);
	q->qng = NULL;
	tls_free(q->tls);
	ngtcp2_conn_del(q->conn);
	if (q->qlog)
		fclose(q->qlog);
}
