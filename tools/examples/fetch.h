/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The client's requests: what is asked for, and where it goes.
 */
#ifndef H3_FETCH_H
#define H3_FETCH_H

#include <nghttp3/nghttp3.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>

struct quic;

/**
 * struct url - a parsed URL
 * @host: name or address
 * @port: as text
 * @authority: host and port as sent
 * @path: with its slash
 */
struct url {
	char host[256];
	char port[8];
	char authority[272];
	char path[1024];
};

/**
 * struct fetch - all requests of a run
 * @urls: what to fetch
 * @nurls: how many
 * @repeat: how often each
 * @range: value of a Range field without "bytes=", or NULL
 * @upload: body to POST, or NULL
 * @upload_len: its bytes
 * @out: file, or NULL
 * @out_dir: directory for one file each, or NULL
 * @hash: compute a SHA-256 over bodies
 * @next: the next request
 * @running: requests that are out
 * @done: requests answered with a status below 400, whole
 * @failed: the others
 * @bytes: of bodies
 * @status: of the last one
 * @began: when the first was asked
 * @ended: when the last was there
 * @digest: SHA-256 of the last body, in hex
 */
struct fetch {
	struct url *urls;
	unsigned int nurls;
	unsigned int repeat;
	const char *range;
	const uint8_t *upload;
	size_t upload_len;
	const char *out;
	const char *out_dir;
	bool hash;
	unsigned int next;
	unsigned int running;
	unsigned int done;
	unsigned int failed;
	uint64_t bytes;
	int status;
	uint64_t began;
	uint64_t ended;
	char digest[65];
};

extern struct fetch fetch;

/* Dies with a message when it is none. */
void fetch_parse_url(const char *text, struct url *u);
unsigned int fetch_total(void);
/* Is all answered? */
bool fetch_done(void);
void fetch_callbacks(nghttp3_callbacks *cb);

/**
 * fetch_more() - ask for as much as the connection takes
 * @q: connection
 * @limit: requests at a time
 * @running: its requests that are out; changed
 *
 * Return: 0, or an error for ngtcp2.
 */
int fetch_more(struct quic *q, unsigned int limit, unsigned int *running);

/* The program's: a request of @q has ended, @bytes of body have come. */
void client_request_over(struct quic *q);
void client_got(struct quic *q, uint64_t bytes);

#endif /* H3_FETCH_H */
