// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One packet: AEAD and header protection on OpenSSL, RFC 9001 sections 5.3 and
 * 5.4. The EVP contexts are made once a key; a packet only sets the nonce.
 */
#include <stdlib.h>

#include <openssl/evp.h>

#include "priv.h"

/**
 * struct qoff_cipher - a key made ready
 * @keys: the key, for comparing and for key updates
 * @ccm: lengths are announced before the data
 * @seal: AEAD, encrypting
 * @open: AEAD, decrypting
 * @hp: AES-ECB or ChaCha20
 */
struct qoff_cipher {
	struct qoff_keys keys;
	bool ccm;
	EVP_CIPHER_CTX *seal;
	EVP_CIPHER_CTX *open;
	EVP_CIPHER_CTX *hp;
};

static const struct {
	const char *aead;
	const char *hp;
} names[] = {
	[QUIC_OFFLOAD_CIPHER_AES_128_GCM] = { "AES-128-GCM", "AES-128-ECB" },
	[QUIC_OFFLOAD_CIPHER_AES_256_GCM] = { "AES-256-GCM", "AES-256-ECB" },
	[QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305] = { "ChaCha20-Poly1305", "ChaCha20" },
	[QUIC_OFFLOAD_CIPHER_AES_128_CCM] = { "AES-128-CCM", "AES-128-ECB" },
};

static EVP_CIPHER_CTX *aead_ctx(const struct qoff_keys *k, bool ccm, int enc)
{
	EVP_CIPHER *alg = EVP_CIPHER_fetch(NULL, names[k->cipher].aead, NULL);
	EVP_CIPHER_CTX *ctx = alg ? EVP_CIPHER_CTX_new() : NULL;
	bool ok;

	if (!ctx) {
		EVP_CIPHER_free(alg);
		return NULL;
	}
	ok = EVP_CipherInit_ex(ctx, alg, NULL, NULL, NULL, enc) > 0 &&
	     EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, QOFF_IV_SIZE, NULL) > 0;
	if (ok && ccm)
		ok = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, QOFF_TAG_SIZE, NULL) > 0;
	ok = ok && EVP_CipherInit_ex(ctx, NULL, NULL, k->key, NULL, enc) > 0;
	EVP_CIPHER_free(alg);
	if (ok)
		return ctx;
	EVP_CIPHER_CTX_free(ctx);
	return NULL;
}

static EVP_CIPHER_CTX *hp_ctx(const struct qoff_keys *k)
{
	EVP_CIPHER *alg = EVP_CIPHER_fetch(NULL, names[k->cipher].hp, NULL);
	EVP_CIPHER_CTX *ctx = alg ? EVP_CIPHER_CTX_new() : NULL;

	if (ctx && (EVP_EncryptInit_ex(ctx, alg, NULL, k->hp, NULL) <= 0 ||
		    EVP_CIPHER_CTX_set_padding(ctx, 0) <= 0)) {
		EVP_CIPHER_CTX_free(ctx);
		ctx = NULL;
	}
	EVP_CIPHER_free(alg);
	return ctx;
}

struct qoff_cipher *qoff_cipher_new(const struct qoff_keys *keys)
{
	struct qoff_cipher *c;

	if (qoff_keys_check(keys, true)) {
		errno = EINVAL;
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->keys = *keys;
	c->ccm = keys->cipher == QUIC_OFFLOAD_CIPHER_AES_128_CCM;
	c->seal = aead_ctx(keys, c->ccm, 1);
	c->open = aead_ctx(keys, c->ccm, 0);
	c->hp = hp_ctx(keys);
	if (c->seal && c->open && c->hp)
		return c;
	qoff_cipher_free(c);
	qoff_fail(ENOMEM, "OpenSSL has no %s or no memory", qoff_cipher_name(keys->cipher));
	errno = ENOMEM;
	return NULL;
}

struct qoff_cipher *qoff_cipher_update(const struct qoff_cipher *hp, const struct qoff_keys *keys)
{
	struct qoff_keys next = hp->keys;
	struct qoff_cipher *c;

	memcpy(next.key, keys->key, sizeof(next.key));
	memcpy(next.iv, keys->iv, sizeof(next.iv));
	c = qoff_cipher_new(&next);
	qoff_wipe(&next, sizeof(next));
	return c;
}

void qoff_cipher_free(struct qoff_cipher *c)
{
	if (!c)
		return;
	/* OpenSSL overwrites the key schedules. */
	EVP_CIPHER_CTX_free(c->seal);
	EVP_CIPHER_CTX_free(c->open);
	EVP_CIPHER_CTX_free(c->hp);
	qoff_wipe(c, sizeof(*c));
	free(c);
}

const struct qoff_keys *qoff_cipher_keys(const struct qoff_cipher *c)
{
	return &c->keys;
}

/* RFC 9001 sections 5.4.3 (AES) and 5.4.4: OpenSSL's ChaCha20 takes the block
 * counter, little endian, and the nonce as one IV, which is the sample as it is.
 */
int qoff_cipher_mask(struct qoff_cipher *c, const uint8_t *sample, uint8_t *mask)
{
	static const uint8_t zero[QOFF_HP_MASK];
	uint8_t block[QOFF_HP_SAMPLE];
	int n, ok;

	if (c->keys.cipher == QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305)
		return EVP_EncryptInit_ex(c->hp, NULL, NULL, NULL, sample) > 0 &&
		       EVP_EncryptUpdate(c->hp, mask, &n, zero, sizeof(zero)) > 0 ? 0 : -ENOMEM;
	ok = EVP_EncryptUpdate(c->hp, block, &n, sample, sizeof(block)) > 0;
	memcpy(mask, block, QOFF_HP_MASK);
	return ok ? 0 : -ENOMEM;
}

int qoff_cipher_seal(struct qoff_cipher *c, uint8_t *pkt, size_t len, size_t hdr_len, uint64_t pn)
{
	int n, plain = len - hdr_len - QOFF_TAG_SIZE;
	uint8_t nonce[QOFF_IV_SIZE];
	uint8_t *p = pkt + hdr_len;
	bool ok;

	qoff_nonce(nonce, c->keys.iv, pn);
	ok = EVP_EncryptInit_ex(c->seal, NULL, NULL, NULL, nonce) > 0;
	if (ok && c->ccm)
		ok = EVP_EncryptUpdate(c->seal, NULL, &n, NULL, plain) > 0;
	ok = ok && EVP_EncryptUpdate(c->seal, NULL, &n, pkt, hdr_len) > 0;
	/* CCM makes the tag of an empty payload only when it is asked to encrypt it. */
	if (ok && (plain || c->ccm))
		ok = EVP_EncryptUpdate(c->seal, p, &n, p, plain) > 0;
	ok = ok && EVP_EncryptFinal_ex(c->seal, p + plain, &n) > 0 &&
	     EVP_CIPHER_CTX_ctrl(c->seal, EVP_CTRL_AEAD_GET_TAG, QOFF_TAG_SIZE, p + plain) > 0;
	return ok ? 0 : -ENOMEM;
}

int qoff_cipher_open(struct qoff_cipher *c, const uint8_t *hdr, size_t hdr_len, const uint8_t *src,
		     uint8_t *dst, size_t len, uint64_t pn)
{
	uint8_t nonce[QOFF_IV_SIZE], none;
	int n, plain = len - QOFF_TAG_SIZE;
	bool ok;

	qoff_nonce(nonce, c->keys.iv, pn);
	ok = EVP_DecryptInit_ex(c->open, NULL, NULL, NULL, nonce) > 0 &&
	     EVP_CIPHER_CTX_ctrl(c->open, EVP_CTRL_AEAD_SET_TAG, QOFF_TAG_SIZE,
				 (void *)(src + plain)) > 0;
	if (ok && c->ccm)
		ok = EVP_DecryptUpdate(c->open, NULL, &n, NULL, plain) > 0;
	ok = ok && EVP_DecryptUpdate(c->open, NULL, &n, hdr, hdr_len) > 0;
	if (ok && (plain || c->ccm))
		ok = EVP_DecryptUpdate(c->open, dst, &n, src, plain) > 0;
	/* CCM has checked the tag by now, and has no final step. */
	if (ok && !c->ccm)
		ok = EVP_DecryptFinal_ex(c->open, &none, &n) > 0;
	if (!ok)
		return -EBADMSG;
	memset(dst + plain, 0, QOFF_TAG_SIZE);
	return 0;
}

/* What header protection covers of the first byte, RFC 9001 section 5.4.1 */
static uint8_t b0_cover(uint8_t b0)
{
	return qoff_is_short(b0) ? QOFF_B0_HP_SHORT : 0x0f;
}

static void protect(uint8_t *pkt, size_t pn_offset, unsigned int pn_len, const uint8_t *mask)
{
	pkt[0] ^= mask[0] & b0_cover(pkt[0]);
	for (unsigned int i = 0; i < pn_len; i++)
		pkt[pn_offset + i] ^= mask[1 + i];
}

int qoff_seal(struct qoff_cipher *c, void *data, size_t len, size_t pn_offset, uint64_t pn)
{
	uint8_t mask[QOFF_HP_MASK], *pkt = data;
	unsigned int n;
	int err;

	if (len < 1 || pn_offset < 1 || len > INT32_MAX || pn_offset > len ||
	    len - pn_offset < 4 + QOFF_HP_SAMPLE)
		return qoff_fail(EINVAL, "too short for its header-protection sample");
	n = qoff_pn_len(pkt[0]);
	if (qoff_pn_get(pkt + pn_offset, n) != qoff_pn_truncate(pn, n))
		return qoff_fail(EINVAL, "the header has another packet number");
	err = qoff_cipher_seal(c, pkt, len, pn_offset + n, pn);
	if (!err)
		err = qoff_cipher_mask(c, pkt + pn_offset + 4, mask);
	if (err)
		return qoff_fail(-err, "OpenSSL failed to seal");
	protect(pkt, pn_offset, n, mask);
	return 0;
}

int qoff_open_packet(struct qoff_cipher *c, void *data, size_t len, size_t pn_offset,
		     uint64_t largest_pn, uint64_t *pn, unsigned int *pn_len)
{
	uint8_t mask[QOFF_HP_MASK], *pkt = data;
	unsigned int n;
	uint8_t *tmp;
	size_t hdr;
	int err;

	if (len < 1 || pn_offset < 1 || len > INT32_MAX || pn_offset > len ||
	    len - pn_offset < 4 + QOFF_HP_SAMPLE)
		return qoff_fail(EINVAL, "too short for its header-protection sample");
	err = qoff_cipher_mask(c, pkt + pn_offset + 4, mask);
	if (err)
		return qoff_fail(-err, "OpenSSL failed");
	tmp = malloc(len);
	if (!tmp)
		return qoff_fail(ENOMEM, "no memory");

	n = qoff_pn_len(pkt[0] ^ (mask[0] & b0_cover(pkt[0])));
	hdr = pn_offset + n;
	memcpy(tmp, pkt, hdr);
	protect(tmp, pn_offset, n, mask);
	*pn = qoff_pn_expand(largest_pn + 1, qoff_pn_get(tmp + pn_offset, n), n);
	*pn_len = n;
	err = qoff_cipher_open(c, tmp, hdr, pkt + hdr, tmp + hdr, len - hdr, *pn);
	if (err)
		qoff_fail(-err, "authentication failed");
	else
		memcpy(pkt, tmp, len);
	free(tmp);
	return err;
}
