/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TLS of a QUIC connection, by the crypto library that the build chose.
 */
#ifndef H3_TLS_H
#define H3_TLS_H

#include <ngtcp2/ngtcp2_crypto.h>
#include <stdbool.h>
#include <stdint.h>

struct tls_ctx;
struct tls;

/**
 * struct tls_conf - what all connections share
 * @server: which side
 * @cert: server: PEM file of its certificate
 * @key: server: PEM file of its key
 * @ca: client: PEM file that the server's certificate must follow from; NULL: not checked
 * @suites: TLS 1.3 cipher suites in order, OpenSSL's names joined by ':'
 */
struct tls_conf {
	bool server;
	const char *cert;
	const char *key;
	const char *ca;
	const char *suites;
};

/* "ossl" or "gnutls", with version */
const char *tls_library(void);

/* Dies with a message when a file is not right. */
struct tls_ctx *tls_ctx_new(const struct tls_conf *conf);
void tls_ctx_free(struct tls_ctx *ctx);

/**
 * tls_new() - TLS of one connection
 * @ctx: what it shares
 * @ref: leads to the connection; stays the caller's
 * @host: client: name of the server
 *
 * Return: to be given to tls_free(), or NULL.
 */
struct tls *tls_new(struct tls_ctx *ctx, ngtcp2_crypto_conn_ref *ref, const char *host);
void tls_free(struct tls *t);

/* For ngtcp2_conn_set_tls_native_handle(). */
void *tls_handle(struct tls *t);

/* The program's: a line of the key log. */
void quic_keylog(ngtcp2_crypto_conn_ref *ref, const char *line, uint16_t suite);

#endif /* H3_TLS_H */
