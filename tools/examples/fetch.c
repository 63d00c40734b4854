// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fetch.h"
#include "prof.h"
#include "quic.h"

#define OUT_BUFFER	(1 << 20)

struct fetch fetch = { .repeat = 1 };

/**
 * struct request - one request
 * @status: of its response, 0: none yet
 * @fd: where the body goes, or -1
 * @buf: bytes that are not written yet
 * @len: how many
 * @hash: or NULL
 * @off: bytes of the upload that were given
 * @whole: the response has ended
 * @bad: it could not be written
 */
struct request {
	int status;
	int fd;
	uint8_t *buf;
	size_t len;
	EVP_MD_CTX *hash;
	size_t off;
	bool whole;
	bool bad;
};

void fetch_parse_url(const char *text, struct url *u)
{
	const char *host, *end, *colon;
	size_t n;

	memset(u, 0, sizeof(*u));
	if (strncmp(text, "https://", 8))
		die("%s: a URL begins with https://", text);
	host = text + 8;
	end = host + strcspn(host, "/?#");
	n = end - host;
	if (!n || n >= sizeof(u->authority) || strlen(end) >= sizeof(u->path) - 1)
		die("%s: no host, or too long", text);
	memcpy(u->authority, host, n);
	snprintf(u->path, sizeof(u->path), "%s%s", *end == '/' ? "" : "/", end);
	u->path[strcspn(u->path, "#")] = '\0';
	snprintf(u->port, sizeof(u->port), "443");
	if (*host == '[') {
		colon = memchr(host, ']', n);
		if (!colon)
			die("%s: no ']' behind the address", text);
		host++;
		n = colon - host;
		colon = colon[1] == ':' ? colon + 1 : NULL;
	} else {
		colon = memchr(host, ':', n);
		n = colon ? (size_t)(colon - host) : n;
	}
	if (!n || n >= sizeof(u->host))
		die("%s: no host", text);
	memcpy(u->host, host, n);
	if (colon) {
		n = end - colon - 1;
		if (!n || n >= sizeof(u->port) || strspn(colon + 1, "0123456789") < n)
			die("%s: the port is no number", text);
		memcpy(u->port, colon + 1, n);
		u->port[n] = '\0';
	}
}

unsigned int fetch_total(void)
{
	return fetch.nurls * fetch.repeat;
}

bool fetch_done(void)
{
	return fetch.done + fetch.failed >= fetch_total();
}

static int open_out(const struct url *u)
{
	char path[2048];
	const char *name;
	int fd;

	if (fetch.out) {
		snprintf(path, sizeof(path), "%s", fetch.out);
	} else if (fetch.out_dir) {
		name = strrchr(u->path, '/') + 1;
		snprintf(path, sizeof(path), "%s/%s", fetch.out_dir, *name ? name : "index.html");
	} else {
		return -1;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

static struct request *make_request(const struct url *u)
{
	struct request *r = xcalloc(1, sizeof(*r));

	r->fd = open_out(u);
	if (r->fd >= 0)
		r->buf = xcalloc(1, OUT_BUFFER);
	if (fetch.hash) {
		r->hash = EVP_MD_CTX_new();
		if (!r->hash || EVP_DigestInit_ex(r->hash, EVP_sha256(), NULL) != 1)
			die("no SHA-256");
	}
	return r;
}

static void write_out(struct request *r)
{
	size_t off = 0;
	ssize_t n;

	while (off < r->len && !r->bad) {
		n = write(r->fd, r->buf + off, r->len - off);
		if (n <= 0) {
			warn("write: %s", strerror(errno));
			r->bad = true;
		}
		off += n;
	}
	r->len = 0;
}

static void take_digest(struct request *r)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int n = 0;

	EVP_DigestFinal_ex(r->hash, md, &n);
	for (unsigned int i = 0; i < n; i++)
		sprintf(fetch.digest + 2 * i, "%02x", md[i]);
}

static nghttp3_ssize on_read(nghttp3_conn *h3, int64_t id, nghttp3_vec *vec, size_t n,
			     uint32_t *flags, void *user, void *stream)
{
	struct request *r = stream;

	*flags |= NGHTTP3_DATA_FLAG_EOF;
	if (r->off == fetch.upload_len)
		return 0;
	vec[0].base = (uint8_t *)fetch.upload + r->off;
	vec[0].len = fetch.upload_len - r->off;
	r->off = fetch.upload_len;
	return 1;
}

static nghttp3_nv field(const char *name, const char *value)
{
	return (nghttp3_nv){
		.name = (const uint8_t *)name, .namelen = strlen(name),
		.value = (const uint8_t *)value, .valuelen = strlen(value),
	};
}

static int submit(struct quic *q, int64_t id, const struct url *u, struct request *r)
{
	static const nghttp3_data_reader reader = { .read_data = on_read };
	char range[64], length[24];
	nghttp3_nv nv[7];
	size_t n = 0;

	nv[n++] = field(":method", fetch.upload ? "POST" : "GET");
	nv[n++] = field(":scheme", "https");
	nv[n++] = field(":authority", u->authority);
	nv[n++] = field(":path", u->path);
	nv[n++] = field("user-agent", "quic-offload h3client");
	if (fetch.range) {
		snprintf(range, sizeof(range), "bytes=%s", fetch.range);
		nv[n++] = field("range", range);
	}
	if (fetch.upload) {
		snprintf(length, sizeof(length), "%zu", fetch.upload_len);
		nv[n++] = field("content-length", length);
	}
	return nghttp3_conn_submit_request(q->h3, id, nv, n, fetch.upload ? &reader : NULL, r);
}

int fetch_more(struct quic *q, unsigned int limit, unsigned int *running)
{
	const struct url *u;
	struct request *r;
	int64_t id;

	while (q->h3 && fetch.next < fetch_total() && *running < limit) {
		if (ngtcp2_conn_open_bidi_stream(q->conn, &id, NULL))
			break;
		if (!fetch.began)
			fetch.began = now();
		u = &fetch.urls[fetch.next++ % fetch.nurls];
		r = make_request(u);
		if (submit(q, id, u, r))
			return NGTCP2_ERR_CALLBACK_FAILURE;
		ngtcp2_conn_set_stream_user_data(q->conn, id, r);
		fetch.running++;
		++*running;
	}
	return 0;
}

static int on_header(nghttp3_conn *h3, int64_t id, int32_t token, nghttp3_rcbuf *name,
		     nghttp3_rcbuf *value, uint8_t flags, void *user, void *stream)
{
	nghttp3_vec v = nghttp3_rcbuf_get_buf(value);
	struct request *r = stream;

	if (token == NGHTTP3_QPACK_TOKEN__STATUS && r && v.len == 3)
		r->status = (v.base[0] - '0') * 100 + (v.base[1] - '0') * 10 + v.base[2] - '0';
	return 0;
}

static void take_body(struct request *r, const uint8_t *data, size_t len)
{
	if (r->hash)
		EVP_DigestUpdate(r->hash, data, len);
	if (r->fd < 0)
		return;
	while (len) {
		size_t n = OUT_BUFFER - r->len < len ? OUT_BUFFER - r->len : len;

		memcpy(r->buf + r->len, data, n);
		r->len += n;
		data += n;
		len -= n;
		if (r->len == OUT_BUFFER)
			write_out(r);
	}
}

static int on_data(nghttp3_conn *h3, int64_t id, const uint8_t *data, size_t len, void *user,
		   void *stream)
{
	enum prof_phase back = prof_enter(PROF_PAYLOAD);
	struct request *r = stream;
	struct quic *q = user;

	if (r)
		take_body(r, data, len);
	prof_leave(back);
	fetch.bytes += len;
	ngtcp2_conn_extend_max_stream_offset(q->conn, id, len);
	ngtcp2_conn_extend_max_offset(q->conn, len);
	client_got(q, len);
	return 0;
}

static int on_end(nghttp3_conn *h3, int64_t id, void *user, void *stream)
{
	struct request *r = stream;

	if (r)
		r->whole = true;
	fetch.ended = now();
	return 0;
}

static int on_close(nghttp3_conn *h3, int64_t id, uint64_t code, void *user, void *stream)
{
	struct request *r = stream;
	struct quic *q = user;

	if (!r)
		return 0;
	if (r->fd >= 0) {
		write_out(r);
		close(r->fd);
	}
	if (r->hash)
		take_digest(r);
	fetch.status = r->status;
	if (r->whole && !r->bad && r->status >= 200 && r->status < 400)
		fetch.done++;
	else
		fetch.failed++;
	EVP_MD_CTX_free(r->hash);
	free(r->buf);
	free(r);
	ngtcp2_conn_set_stream_user_data(q->conn, id, NULL);
	fetch.running--;
	client_request_over(q);
	return 0;
}

void fetch_callbacks(nghttp3_callbacks *cb)
{
	cb->recv_header = on_header;
	cb->recv_data = on_data;
	cb->end_stream = on_end;
	cb->stream_close = on_close;
}
