// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "stream.h"

/* A piece of a window is one byte at least, but nobody honest sends those. */
#define RX_RANGES_MAX	262144
#define HASH_CHUNK	1048576

static EVP_MD_CTX *sha256_new(void)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (ctx && !EVP_DigestInit_ex(ctx, EVP_sha256(), NULL)) {
		EVP_MD_CTX_free(ctx);
		ctx = NULL;
	}
	return ctx;
}

/**
 * stream_rx_init - get ready to receive
 * @s: stream
 * @size: bytes that will come
 * @window: bytes beyond the first missing one that are accepted
 * @hash: HASH_AFTER needs @fd
 * @fd: file to store into, or -1
 * @base: offset of this connection's part in the file
 *
 * Return: 0 or -ENOMEM.
 */
int stream_rx_init(struct stream_rx *s, u64 size, u64 window,
		   enum hash_mode hash, int fd, u64 base)
{
	memset(s, 0, sizeof(*s));
	s->size = size;
	s->window = window;
	s->fd = fd;
	s->base = base;
	if (hash == HASH_INLINE) {
		s->ring = malloc(window);
		s->hash = sha256_new();
		if (!s->ring || !s->hash) {
			stream_rx_free(s);
			return -ENOMEM;
		}
	}
	ranges_init(&s->have, RX_RANGES_MAX, false);
	return 0;
}

void stream_rx_free(struct stream_rx *s)
{
	EVP_MD_CTX_free(s->hash);
	free(s->ring);
	ranges_free(&s->have);
	s->hash = NULL;
	s->ring = NULL;
}

static void hash_update(struct stream_rx *s, const u8 *data, u64 len)
{
	u64 start = now_ns();

	EVP_DigestUpdate(s->hash, data, len);
	s->hashed += len;
	s->hash_ns += now_ns() - start;
}

/* Copies between linear memory and the ring, where offset i is at i % window. */
static void ring_store(struct stream_rx *s, u64 off, const u8 *data, u64 len)
{
	u64 pos = off % s->window, n = min(len, s->window - pos);

	memcpy(s->ring + pos, data, n);
	memcpy(s->ring, data + n, len - n);
}

static void ring_hash(struct stream_rx *s, u64 until)
{
	u64 pos, n;

	while (s->hashed < until) {
		pos = s->hashed % s->window;
		n = min(until - s->hashed, s->window - pos);
		hash_update(s, s->ring + pos, n);
	}
}

/* In order: straight from the packet. Behind a gap: by way of the ring. */
static void hash_piece(struct stream_rx *s, u64 off, const u8 *data, u64 len)
{
	u64 prefix = ranges_prefix(&s->have), skip;

	if (off <= s->hashed && off + len > s->hashed) {
		skip = s->hashed - off;
		hash_update(s, data + skip, len - skip);
		ring_hash(s, prefix);
	} else if (off > s->hashed) {
		ring_store(s, off, data, len);
	}
}

static int write_all(int fd, struct iovec *iov, unsigned int n, u64 off)
{
	ssize_t ret;

	while (n) {
		ret = pwritev(fd, iov, n, off);
		if (ret < 0 && errno == EINTR)
			continue;
		if (ret < 0)
			return -errno;
		if (!ret)
			return -EIO;
		off += ret;
		while (n && (size_t)ret >= iov->iov_len) {
			ret -= iov->iov_len;
			iov++;
			n--;
		}
		if (n) {
			iov->iov_base = (u8 *)iov->iov_base + ret;
			iov->iov_len -= ret;
		}
	}
	return 0;
}

/* Pieces point into the receive buffer: before it is used again, store them. */
int stream_rx_batch_end(struct stream_rx *s)
{
	int err = 0;

	if (s->iov_n) {
		err = write_all(s->fd, s->iov, s->iov_n, s->base + s->iov_off);
		s->writes++;
	}
	s->iov_n = 0;
	s->iov_len = 0;
	return err;
}

static int store_piece(struct stream_rx *s, u64 off, const u8 *data, u64 len)
{
	int err;

	if (s->iov_n == RX_IOV_MAX || (s->iov_n && s->iov_off + s->iov_len != off)) {
		err = stream_rx_batch_end(s);
		if (err)
			return err;
	}
	if (!s->iov_n)
		s->iov_off = off;
	s->iov[s->iov_n].iov_base = (void *)data;
	s->iov[s->iov_n].iov_len = len;
	s->iov_n++;
	s->iov_len += len;
	return 0;
}

/**
 * stream_rx_data - take a STREAM frame
 * @s: stream
 * @f: frame; its data stays valid until stream_rx_batch_end()
 *
 * Return: 0; -EPROTO for bytes beyond the end or the window, or an end that is
 * not the end; -EIO and the like from the file.
 */
int stream_rx_data(struct stream_rx *s, const struct frame_stream *f)
{
	u64 off = f->off, end = f->off + f->len, added;
	int err;

	if (f->id || end > s->size || (f->fin && end != s->size) ||
	    end > ranges_prefix(&s->have) + s->window)
		return -EPROTO;
	s->fin |= f->fin;
	err = ranges_add(&s->have, off, end, &added);
	if (err)
		return err;
	s->duplicate_bytes += f->len - added;
	if (!added)
		return 0;
	if (s->hash)
		hash_piece(s, off, f->data, f->len);
	return s->fd >= 0 ? store_piece(s, off, f->data, f->len) : 0;
}

bool stream_rx_done(const struct stream_rx *s)
{
	return s->fin && ranges_prefix(&s->have) == s->size;
}

static int hash_file(const struct stream_rx *s, u8 hash[SHA256_LEN])
{
	EVP_MD_CTX *ctx = sha256_new();
	u8 *buf = malloc(HASH_CHUNK);
	u64 off = 0;
	ssize_t n;
	int err = -ENOMEM;

	if (!ctx || !buf)
		goto out;
	while (off < s->size) {
		n = pread(s->fd, buf, min_t(u64, HASH_CHUNK, s->size - off),
			  s->base + off);
		if (n <= 0) {
			err = n ? -errno : -EIO;
			goto out;
		}
		EVP_DigestUpdate(ctx, buf, n);
		off += n;
	}
	EVP_DigestFinal_ex(ctx, hash, NULL);
	err = 0;
out:
	free(buf);
	EVP_MD_CTX_free(ctx);
	return err;
}

/* SHA-256 of a complete stream: the running one, or of the stored bytes. */
int stream_rx_hash(struct stream_rx *s, u8 hash[SHA256_LEN])
{
	if (!s->hash)
		return s->fd >= 0 ? hash_file(s, hash) : -ENODATA;
	EVP_DigestFinal_ex(s->hash, hash, NULL);
	return 0;
}
