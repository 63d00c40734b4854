// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TLS by GnuTLS.
 */
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tls.h"
#include "util.h"

struct tls_ctx {
	gnutls_certificate_credentials_t cred;
	gnutls_priority_t priority;
	bool server;
	bool verify;
};

struct tls {
	gnutls_session_t session;
};

const char *tls_library(void)
{
	static char text[32];

	snprintf(text, sizeof(text), "GnuTLS %s", gnutls_check_version(NULL));
	return text;
}

/* Suites by OpenSSL's names, and GnuTLS's words for them. */
static const struct {
	const char *suite;
	const char *cipher;
	gnutls_cipher_algorithm_t id;
	uint16_t wire;
} suites[] = {
	{ "TLS_AES_128_GCM_SHA256", "+AES-128-GCM", GNUTLS_CIPHER_AES_128_GCM, 0x1301 },
	{ "TLS_AES_256_GCM_SHA384", "+AES-256-GCM", GNUTLS_CIPHER_AES_256_GCM, 0x1302 },
	{ "TLS_CHACHA20_POLY1305_SHA256", "+CHACHA20-POLY1305", GNUTLS_CIPHER_CHACHA20_POLY1305,
	  0x1303 },
	{ "TLS_AES_128_CCM_SHA256", "+AES-128-CCM", GNUTLS_CIPHER_AES_128_CCM, 0x1304 },
};

static const char *cipher_word(const char *suite, size_t len)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(suites); i++) {
		if (strlen(suites[i].suite) == len && !memcmp(suites[i].suite, suite, len))
			return suites[i].cipher;
	}
	die("--ciphers: %.*s is not known", (int)len, suite);
}

static gnutls_priority_t make_priority(const struct tls_conf *conf)
{
	char text[512] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL";
	gnutls_priority_t priority;
	const char *s, *word;
	size_t n;

	for (s = conf->suites; *s; s += n + (s[n] == ':')) {
		n = strcspn(s, ":");
		word = cipher_word(s, n);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ":%s", word);
	}
	snprintf(text + strlen(text), sizeof(text) - strlen(text),
		 ":-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1"
		 ":%%DISABLE_TLS13_COMPAT_MODE%s", conf->server ? ":%SERVER_PRECEDENCE" : "");
	if (gnutls_priority_init(&priority, text, NULL))
		die("GnuTLS does not take the priorities %s", text);
	return priority;
}

struct tls_ctx *tls_ctx_new(const struct tls_conf *conf)
{
	struct tls_ctx *ctx = xcalloc(1, sizeof(*ctx));
	int err;

	ctx->server = conf->server;
	ctx->verify = conf->ca;
	ctx->priority = make_priority(conf);
	if (gnutls_certificate_allocate_credentials(&ctx->cred))
		die("no memory");
	if (conf->server) {
		err = gnutls_certificate_set_x509_key_file(ctx->cred, conf->cert, conf->key,
							   GNUTLS_X509_FMT_PEM);
		if (err)
			die("%s, %s: %s", conf->cert, conf->key, gnutls_strerror(err));
	} else if (conf->ca) {
		err = gnutls_certificate_set_x509_trust_file(ctx->cred, conf->ca,
							     GNUTLS_X509_FMT_PEM);
		if (err <= 0)
			die("%s: %s", conf->ca, err ? gnutls_strerror(err) : "no certificate");
	}
	return ctx;
}

void tls_ctx_free(struct tls_ctx *ctx)
{
	gnutls_certificate_free_credentials(ctx->cred);
	gnutls_priority_deinit(ctx->priority);
	free(ctx);
}

/* In the form of the key log file, as other TLS libraries call back with it. */
static int on_keylog(gnutls_session_t session, const char *label, const gnutls_datum_t *secret)
{
	ngtcp2_crypto_conn_ref *ref = gnutls_session_get_ptr(session);
	gnutls_datum_t random, other;
	uint16_t suite = 0;
	char line[256];
	int n;

	if (!ref || secret->size > 64)
		return 0;
	gnutls_session_get_random(session, &random, &other);
	for (unsigned int i = 0; i < ARRAY_SIZE(suites); i++) {
		if (gnutls_cipher_get(session) == suites[i].id)
			suite = suites[i].wire;
	}
	n = snprintf(line, 64, "%.40s ", label);
	for (unsigned int i = 0; i < random.size && i < 32; i++)
		n += sprintf(line + n, "%02x", random.data[i]);
	line[n++] = ' ';
	for (unsigned int i = 0; i < secret->size && n + 3 < (int)sizeof(line); i++)
		n += sprintf(line + n, "%02x", secret->data[i]);
	quic_keylog(ref, line, suite);
	gnutls_memset(line, 0, sizeof(line));
	return 0;
}

static int client_setup(struct tls_ctx *ctx, struct tls *t, const char *host)
{
	if (gnutls_init(&t->session, GNUTLS_CLIENT | GNUTLS_NO_END_OF_EARLY_DATA))
		return -1;
	/* RFC 6066 section 3: the field is for names. */
	if (!is_address(host) &&
	    gnutls_server_name_set(t->session, GNUTLS_NAME_DNS, host, strlen(host)))
		return -1;
	if (ctx->verify)
		gnutls_session_set_verify_cert(t->session, host, 0);
	return ngtcp2_crypto_gnutls_configure_client_session(t->session);
}

static int server_setup(struct tls *t)
{
	if (gnutls_init(&t->session, GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET |
				     GNUTLS_NO_END_OF_EARLY_DATA))
		return -1;
	return ngtcp2_crypto_gnutls_configure_server_session(t->session);
}

struct tls *tls_new(struct tls_ctx *ctx, ngtcp2_crypto_conn_ref *ref, const char *host)
{
	static const gnutls_datum_t alpn = { (unsigned char *)"h3", 2 };
	struct tls *t = xcalloc(1, sizeof(*t));
	int err;

	err = ctx->server ? server_setup(t) : client_setup(ctx, t, host);
	if (!err)
		err = gnutls_priority_set(t->session, ctx->priority) ||
		      gnutls_credentials_set(t->session, GNUTLS_CRD_CERTIFICATE, ctx->cred) ||
		      gnutls_alpn_set_protocols(t->session, &alpn, 1, GNUTLS_ALPN_MANDATORY);
	if (err) {
		tls_free(t);
		return NULL;
	}
	gnutls_session_set_ptr(t->session, ref);
	gnutls_session_set_keylog_function(t->session, on_keylog);
	return t;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	if (t->session)
		gnutls_deinit(t->session);
	free(t);
}

void *tls_handle(struct tls *t)
{
	return t->session;
}
