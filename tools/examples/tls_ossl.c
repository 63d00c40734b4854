// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TLS by OpenSSL 3.5 or later.
 */
#include <ngtcp2/ngtcp2_crypto_ossl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

#include "tls.h"
#include "util.h"

struct tls_ctx {
	SSL_CTX *ssl;
	bool server;
	bool verify;
};

struct tls {
	SSL *ssl;
	ngtcp2_crypto_ossl_ctx *native;
};

const char *tls_library(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}

static const char *ssl_error(void)
{
	static char text[256];

	ERR_error_string_n(ERR_get_error(), text, sizeof(text));
	return text;
}

static void on_keylog(const SSL *ssl, const char *line)
{
	const SSL_CIPHER *c = SSL_get_current_cipher(ssl);

	if (!c)
		c = SSL_get_pending_cipher(ssl);
	if (SSL_get_app_data(ssl))
		quic_keylog(SSL_get_app_data(ssl), line,
			    c ? SSL_CIPHER_get_protocol_id(c) : 0);
}

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
		   const unsigned char *in, unsigned int inlen, void *arg)
{
	for (unsigned int i = 0; i < inlen; i += in[i] + 1) {
		if (i + 3 <= inlen && !memcmp(in + i, "\x2h3", 3)) {
			*out = in + i + 1;
			*outlen = 2;
			return SSL_TLSEXT_ERR_OK;
		}
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void server_ctx(struct tls_ctx *ctx, const struct tls_conf *conf)
{
	if (SSL_CTX_use_certificate_chain_file(ctx->ssl, conf->cert) != 1)
		die("%s: %s", conf->cert, ssl_error());
	if (SSL_CTX_use_PrivateKey_file(ctx->ssl, conf->key, SSL_FILETYPE_PEM) != 1)
		die("%s: %s", conf->key, ssl_error());
	if (SSL_CTX_check_private_key(ctx->ssl) != 1)
		die("%s and %s do not belong together", conf->cert, conf->key);
	SSL_CTX_set_alpn_select_cb(ctx->ssl, on_alpn, NULL);
	SSL_CTX_set_max_early_data(ctx->ssl, UINT32_MAX);
	SSL_CTX_set_session_id_context(ctx->ssl, (const void *)"h3", 2);
}

static void client_ctx(struct tls_ctx *ctx, const struct tls_conf *conf)
{
	SSL_CTX_set_verify(ctx->ssl, conf->ca ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
	if (conf->ca && SSL_CTX_load_verify_file(ctx->ssl, conf->ca) != 1)
		die("%s: %s", conf->ca, ssl_error());
}

struct tls_ctx *tls_ctx_new(const struct tls_conf *conf)
{
	struct tls_ctx *ctx = xcalloc(1, sizeof(*ctx));

	ngtcp2_crypto_ossl_init();
	ctx->server = conf->server;
	ctx->verify = conf->ca;
	ctx->ssl = SSL_CTX_new(conf->server ? TLS_server_method() : TLS_client_method());
	if (!ctx->ssl)
		die("OpenSSL: %s", ssl_error());
	SSL_CTX_set_min_proto_version(ctx->ssl, TLS1_3_VERSION);
	if (SSL_CTX_set_ciphersuites(ctx->ssl, conf->suites) != 1)
		die("--ciphers %s: %s", conf->suites, ssl_error());
	/* The order is the server's: the offloadable ones first. */
	SSL_CTX_set_options(ctx->ssl, SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_keylog_callback(ctx->ssl, on_keylog);
	if (conf->server)
		server_ctx(ctx, conf);
	else
		client_ctx(ctx, conf);
	return ctx;
}

void tls_ctx_free(struct tls_ctx *ctx)
{
	SSL_CTX_free(ctx->ssl);
	free(ctx);
}

static bool client_setup(struct tls_ctx *ctx, struct tls *t, const char *host)
{
	if (ngtcp2_crypto_ossl_configure_client_session(t->ssl))
		return false;
	SSL_set_connect_state(t->ssl);
	SSL_set_alpn_protos(t->ssl, (const void *)"\x2h3", 3);
	/* RFC 6066 section 3: the field is for names. */
	if (!is_address(host))
		SSL_set_tlsext_host_name(t->ssl, host);
	if (ctx->verify)
		SSL_set1_host(t->ssl, host);
	return true;
}

static bool server_setup(struct tls *t)
{
	if (ngtcp2_crypto_ossl_configure_server_session(t->ssl))
		return false;
	SSL_set_accept_state(t->ssl);
	SSL_set_quic_tls_early_data_enabled(t->ssl, 1);
	return true;
}

struct tls *tls_new(struct tls_ctx *ctx, ngtcp2_crypto_conn_ref *ref, const char *host)
{
	struct tls *t = xcalloc(1, sizeof(*t));
	bool ok;

	t->ssl = SSL_new(ctx->ssl);
	ok = t->ssl && !ngtcp2_crypto_ossl_ctx_new(&t->native, t->ssl);
	if (ok) {
		SSL_set_app_data(t->ssl, ref);
		ok = ctx->server ? server_setup(t) : client_setup(ctx, t, host);
	}
	if (!ok) {
		tls_free(t);
		return NULL;
	}
	return t;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	ngtcp2_crypto_ossl_ctx_del(t->native);
	if (t->ssl)
		SSL_set_app_data(t->ssl, NULL);
	SSL_free(t->ssl);
	free(t);
}

void *tls_handle(struct tls *t)
{
	return t->native;
}
