// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files.h"
#include "quic.h"
#include "util.h"

#define MAX_PATH	1024

struct files_totals files_totals;

static int root = -1;

/**
 * struct request - one request of a client
 * @method: as it came, cut
 * @path: likewise
 * @too_long: @path is cut
 * @range: value of the Range field
 * @map: file, or NULL
 * @map_len: its bytes
 * @off: next byte to give
 * @end: after the last
 * @hash: of an upload
 * @digest: its answer
 * @answered: the response is submitted
 */
struct request {
	char method[16];
	char path[MAX_PATH];
	bool too_long;
	char range[64];
	uint8_t *map;
	size_t map_len;
	uint64_t off;
	uint64_t end;
	EVP_MD_CTX *hash;
	char digest[65];
	bool answered;
};

void files_open(const char *dir)
{
	root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		die("%s: %s", dir, strerror(errno));
}

static struct request *request_of(struct quic *q, int64_t id)
{
	return ngtcp2_conn_get_stream_user_data(q->conn, id);
}

static void request_free(struct request *r)
{
	if (r->map)
		munmap(r->map, r->map_len);
	EVP_MD_CTX_free(r->hash);
	free(r);
}

static int on_begin(nghttp3_conn *h3, int64_t id, void *user, void *stream)
{
	struct request *r = calloc(1, sizeof(*r));
	struct quic *q = user;

	if (!r)
		return NGHTTP3_ERR_CALLBACK_FAILURE;
	ngtcp2_conn_set_stream_user_data(q->conn, id, r);
	return 0;
}

static bool take(char *dst, size_t size, nghttp3_vec v)
{
	size_t n = v.len < size - 1 ? v.len : size - 1;

	memcpy(dst, v.base, n);
	dst[n] = '\0';
	return n == v.len;
}

static int on_header(nghttp3_conn *h3, int64_t id, int32_t token, nghttp3_rcbuf *name,
		     nghttp3_rcbuf *value, uint8_t flags, void *user, void *stream)
{
	struct request *r = request_of(user, id);
	nghttp3_vec v = nghttp3_rcbuf_get_buf(value);

	if (!r)
		return 0;
	if (token == NGHTTP3_QPACK_TOKEN__METHOD)
		take(r->method, sizeof(r->method), v);
	else if (token == NGHTTP3_QPACK_TOKEN__PATH)
		r->too_long = !take(r->path, sizeof(r->path), v);
	else if (token == NGHTTP3_QPACK_TOKEN_RANGE)
		take(r->range, sizeof(r->range), v);
	return 0;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes in place, without the query. Return: false for what is no path. */
static bool decode_path(char *path)
{
	char *out = path, *in = path;

	if (*in != '/')
		return false;
	for (; *in && *in != '?' && *in != '#'; in++) {
		if (*in != '%') {
			*out++ = *in;
			continue;
		}
		if (hex(in[1]) < 0 || hex(in[2]) < 0 || (in[1] == '0' && in[2] == '0'))
			return false;
		*out++ = hex(in[1]) << 4 | hex(in[2]);
		in += 2;
	}
	*out = '\0';
	return true;
}

/* The kernel keeps the path below the directory, whatever dots and links say. */
static int open_below(const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};

	while (*path == '/')
		path++;
	return syscall(SYS_openat2, root, *path ? path : "index.html", &how, sizeof(how));
}

/* Return: an HTTP status. */
static int map_file(struct request *r)
{
	struct stat st;
	int fd, status = 200;

	if (r->too_long)
		return 414;
	if (!decode_path(r->path))
		return 400;
	fd = open_below(r->path);
	if (fd < 0)
		return errno == EACCES || errno == EXDEV || errno == ELOOP ? 403 : 404;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		status = 404;
	} else if (st.st_size) {
		r->map = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (r->map == MAP_FAILED) {
			r->map = NULL;
			status = 500;
		}
		r->map_len = st.st_size;
	}
	close(fd);
	r->end = r->map_len;
	return status;
}

/* One range; more of them, or none that can be understood, are ignored: RFC 9110 section 14.2. */
static int apply_range(struct request *r)
{
	unsigned long long from, to;
	char dash, rest;

	if (strncmp(r->range, "bytes=", 6))
		return 200;
	if (sscanf(r->range + 6, "-%llu%c", &to, &rest) == 1) {
		if (!to || !r->map_len)
			return 416;
		from = to < r->map_len ? r->map_len - to : 0;
		to = r->map_len - 1;
	} else if (sscanf(r->range + 6, "%llu-%llu%c", &from, &to, &rest) != 2) {
		if (sscanf(r->range + 6, "%llu%c%c", &from, &dash, &rest) != 2 || dash != '-')
			return 200;
		to = UINT64_MAX;
	}
	if (from >= r->map_len)
		return 416;
	if (to < from)
		return 200;
	r->off = from;
	r->end = to < r->map_len - 1 ? to + 1 : r->map_len;
	return 206;
}

static nghttp3_ssize on_read(nghttp3_conn *h3, int64_t id, nghttp3_vec *vec, size_t n,
			     uint32_t *flags, void *user, void *stream)
{
	struct request *r = request_of(user, id);

	*flags |= NGHTTP3_DATA_FLAG_EOF;
	if (!r || r->off == r->end)
		return 0;
	vec[0].base = r->digest[0] ? (uint8_t *)r->digest + r->off : r->map + r->off;
	vec[0].len = r->end - r->off;
	files_totals.bytes += vec[0].len;
	r->off = r->end;
	return 1;
}

static nghttp3_nv field(const char *name, const char *value)
{
	return (nghttp3_nv){
		.name = (const uint8_t *)name, .namelen = strlen(name),
		.value = (const uint8_t *)value, .valuelen = strlen(value),
	};
}

static int submit(nghttp3_conn *h3, int64_t id, struct request *r, int status, bool body)
{
	static const nghttp3_data_reader reader = { .read_data = on_read };
	char code[16], length[24], range[80];
	nghttp3_nv nv[5];
	size_t n = 0;

	if (status >= 400) {
		files_totals.errors++;
		r->off = 0;
		r->end = 0;
	}
	snprintf(code, sizeof(code), "%d", status);
	snprintf(length, sizeof(length), "%llu", (unsigned long long)(r->end - r->off));
	nv[n++] = field(":status", code);
	nv[n++] = field("server", "quic-offload h3server");
	nv[n++] = field("content-length", length);
	nv[n++] = field("accept-ranges", "bytes");
	if (status == 206)
		snprintf(range, sizeof(range), "bytes %llu-%llu/%zu", (unsigned long long)r->off,
			 (unsigned long long)r->end - 1, r->map_len);
	if (status == 416)
		snprintf(range, sizeof(range), "bytes */%zu", r->map_len);
	if (status == 206 || status == 416)
		nv[n++] = field("content-range", range);
	r->answered = true;
	note("%s %s %d %s", r->method, r->path, status, length);
	body = body && r->end > r->off;
	return nghttp3_conn_submit_response(h3, id, nv, n, body ? &reader : NULL);
}

static bool is_upload(const struct request *r)
{
	return !strcmp(r->method, "POST") || !strcmp(r->method, "PUT");
}

static int on_headers_end(nghttp3_conn *h3, int64_t id, int fin, void *user, void *stream)
{
	struct request *r = request_of(user, id);
	int status;

	if (!r || r->answered)
		return 0;
	files_totals.requests++;
	if (is_upload(r)) {
		r->hash = EVP_MD_CTX_new();
		if (!r->hash || EVP_DigestInit_ex(r->hash, EVP_sha256(), NULL) != 1)
			return submit(h3, id, r, 500, false);
		return 0;
	}
	if (strcmp(r->method, "GET") && strcmp(r->method, "HEAD"))
		return submit(h3, id, r, 405, false);
	status = map_file(r);
	if (status == 200 && r->range[0])
		status = apply_range(r);
	return submit(h3, id, r, status, !strcmp(r->method, "GET"));
}

static int on_data(nghttp3_conn *h3, int64_t id, const uint8_t *data, size_t len, void *user,
		   void *stream)
{
	struct request *r = request_of(user, id);
	struct quic *q = user;

	if (r && r->hash)
		EVP_DigestUpdate(r->hash, data, len);
	files_totals.uploaded += len;
	ngtcp2_conn_extend_max_stream_offset(q->conn, id, len);
	ngtcp2_conn_extend_max_offset(q->conn, len);
	return 0;
}

/* An upload is answered with its SHA-256. */
static int on_end(nghttp3_conn *h3, int64_t id, void *user, void *stream)
{
	struct request *r = request_of(user, id);
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int n = 0;

	if (!r || !r->hash || r->answered)
		return 0;
	EVP_DigestFinal_ex(r->hash, md, &n);
	for (unsigned int i = 0; i < n; i++)
		sprintf(r->digest + 2 * i, "%02x", md[i]);
	r->end = 2 * n;
	return submit(h3, id, r, 200, true);
}

static int on_close(nghttp3_conn *h3, int64_t id, uint64_t code, void *user, void *stream)
{
	struct request *r = request_of(user, id);
	struct quic *q = user;

	if (r)
		request_free(r);
	ngtcp2_conn_set_stream_user_data(q->conn, id, NULL);
	return 0;
}

void files_callbacks(nghttp3_callbacks *cb)
{
	cb->begin_headers = on_begin;
	cb->recv_header = on_header;
	cb->end_headers = on_headers_end;
	cb->recv_data = on_data;
	cb->end_stream = on_end;
	cb->stream_close = on_close;
}
