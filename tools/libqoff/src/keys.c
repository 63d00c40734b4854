// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Key derivation: RFC 9001 section 5, RFC 9369 section 3.3. A label is expanded
 * as TLS 1.3 does (RFC 8446 section 7.1) with an empty context.
 */
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "priv.h"

/* RFC 9001 section 5.2, RFC 9369 section 3.3.1 */
static const uint8_t salt_v1[20] = {
	0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
	0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a,
};

static const uint8_t salt_v2[20] = {
	0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93,
	0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9,
};

/*
 * struct version - what differs between QUIC versions here
 * @wire: version field
 * @salt: of the Initial secret
 * @key: label
 * @iv: label
 * @hp: label
 * @ku: label
 */
static const struct version {
	uint32_t wire;
	const uint8_t *salt;
	const char *key;
	const char *iv;
	const char *hp;
	const char *ku;
} versions[] = {
	{ QOFF_QUIC_V1, salt_v1, "quic key", "quic iv", "quic hp", "quic ku" },
	{ QOFF_QUIC_V2, salt_v2, "quicv2 key", "quicv2 iv", "quicv2 hp", "quicv2 ku" },
};

static const char *const cipher_names[] = {
	[QUIC_OFFLOAD_CIPHER_AES_128_GCM] = "aes-128-gcm",
	[QUIC_OFFLOAD_CIPHER_AES_256_GCM] = "aes-256-gcm",
	[QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305] = "chacha20-poly1305",
	[QUIC_OFFLOAD_CIPHER_AES_128_CCM] = "aes-128-ccm",
};

const char *qoff_cipher_name(uint32_t cipher)
{
	return cipher < ARRAY_SIZE(cipher_names) ? cipher_names[cipher] : NULL;
}

uint32_t qoff_cipher_by_name(const char *name)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(cipher_names); i++) {
		if (cipher_names[i] && !strcmp(cipher_names[i], name))
			return i;
	}
	return 0;
}

size_t qoff_secret_len(uint32_t cipher)
{
	if (!qoff_cipher_info(cipher))
		return 0;
	return cipher == QUIC_OFFLOAD_CIPHER_AES_256_GCM ? 48 : 32;
}

void qoff_wipe(void *p, size_t len)
{
	OPENSSL_cleanse(p, len);
}

static const struct version *version_of(uint32_t wire)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		if (versions[i].wire == wire)
			return &versions[i];
	}
	qoff_fail(EINVAL, "QUIC version %#x is not known", wire);
	return NULL;
}

static int hkdf(const char *digest, int mode, const uint8_t *salt, size_t salt_len,
		const void *key, size_t key_len, const void *info, size_t info_len,
		uint8_t *out, size_t out_len)
{
	OSSL_PARAM params[6], *p = params;
	EVP_KDF_CTX *ctx;
	EVP_KDF *kdf;
	int err = 0;

	kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	EVP_KDF_free(kdf);
	if (!ctx)
		return qoff_fail(ENOMEM, "OpenSSL gave no HKDF");

	*p++ = OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode);
	*p++ = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)digest, 0);
	*p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, key_len);
	if (salt)
		*p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt,
							 salt_len);
	if (info)
		*p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info,
							 info_len);
	*p = OSSL_PARAM_construct_end();

	if (EVP_KDF_derive(ctx, out, out_len, params) <= 0)
		err = qoff_fail(ENOMEM, "OpenSSL's HKDF failed");
	EVP_KDF_CTX_free(ctx);
	return err;
}

/* HKDF-Expand-Label(secret, label, "", out_len) */
static int expand(const char *digest, const void *secret, size_t secret_len, const char *label,
		  uint8_t *out, size_t out_len)
{
	size_t n = strlen(label);
	uint8_t info[64];

	info[0] = out_len >> 8;
	info[1] = out_len;
	info[2] = 6 + n;
	memcpy(info + 3, "tls13 ", 6);
	memcpy(info + 9, label, n);
	info[9 + n] = 0;
	return hkdf(digest, EVP_KDF_HKDF_MODE_EXPAND_ONLY, NULL, 0, secret, secret_len,
		    info, 10 + n, out, out_len);
}

/* The hash is the one of the TLS 1.3 cipher suite. */
static const char *digest_of(uint32_t cipher)
{
	return cipher == QUIC_OFFLOAD_CIPHER_AES_256_GCM ? "SHA384" : "SHA256";
}

static const struct version *check(uint32_t version, uint32_t cipher, size_t secret_len)
{
	if (!qoff_cipher_info(cipher)) {
		qoff_fail(EINVAL, "cipher %u is not known", cipher);
		return NULL;
	}
	if (secret_len != qoff_secret_len(cipher)) {
		qoff_fail(EINVAL, "a traffic secret of %s has %zu bytes, not %zu",
			  qoff_cipher_name(cipher), qoff_secret_len(cipher), secret_len);
		return NULL;
	}
	return version_of(version);
}

int qoff_derive_keys(uint32_t version, uint32_t cipher, const void *secret, size_t secret_len,
		     struct qoff_keys *keys)
{
	const struct version *v = check(version, cipher, secret_len);
	const char *md = digest_of(cipher);
	int err;

	memset(keys, 0, sizeof(*keys));
	if (!v)
		return -EINVAL;
	keys->cipher = cipher;
	keys->key_len = qoff_cipher_info(cipher)->key_len;
	keys->hp_len = qoff_cipher_info(cipher)->hp_len;
	err = expand(md, secret, secret_len, v->key, keys->key, keys->key_len);
	if (!err)
		err = expand(md, secret, secret_len, v->iv, keys->iv, sizeof(keys->iv));
	if (!err)
		err = expand(md, secret, secret_len, v->hp, keys->hp, keys->hp_len);
	if (err)
		qoff_wipe(keys, sizeof(*keys));
	return err;
}

int qoff_derive_next_secret(uint32_t version, uint32_t cipher, const void *secret,
			    size_t secret_len, void *next)
{
	const struct version *v = check(version, cipher, secret_len);
	uint8_t out[QOFF_MAX_SECRET];
	int err;

	if (!v)
		return -EINVAL;
	err = expand(digest_of(cipher), secret, secret_len, v->ku, out, secret_len);
	if (!err)
		memcpy(next, out, secret_len);
	qoff_wipe(out, sizeof(out));
	return err;
}

int qoff_derive_initial_secrets(uint32_t version, const void *dcid, size_t dcid_len,
				uint8_t client[32], uint8_t server[32])
{
	const struct version *v = version_of(version);
	uint8_t initial[32];
	int err;

	if (!v)
		return -EINVAL;
	if (dcid_len > QOFF_MAX_DCID)
		return qoff_fail(EINVAL, "a connection ID has at most %u bytes, not %zu",
				 QOFF_MAX_DCID, dcid_len);
	err = hkdf("SHA256", EVP_KDF_HKDF_MODE_EXTRACT_ONLY, v->salt, 20, dcid, dcid_len,
		   NULL, 0, initial, sizeof(initial));
	if (!err)
		err = expand("SHA256", initial, sizeof(initial), "client in", client, 32);
	if (!err)
		err = expand("SHA256", initial, sizeof(initial), "server in", server, 32);
	qoff_wipe(initial, sizeof(initial));
	return err;
}

int qoff_keys_check(const struct qoff_keys *keys, bool with_hp)
{
	const struct qoff_cipher_info *info = qoff_cipher_info(keys->cipher);

	if (!info)
		return qoff_fail(EINVAL, "cipher %u is not known", keys->cipher);
	if (keys->key_len != info->key_len)
		return qoff_fail(EINVAL, "the key of %s has %u bytes, not %u",
				 qoff_cipher_name(keys->cipher), info->key_len, keys->key_len);
	if (with_hp && keys->hp_len != info->hp_len)
		return qoff_fail(EINVAL, "the header-protection key of %s has %u bytes, not %u",
				 qoff_cipher_name(keys->cipher), info->hp_len, keys->hp_len);
	return 0;
}
