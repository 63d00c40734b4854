// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* RFC 9001 sections 5.3 and 5.4 with OpenSSL. */
#include <string.h>
#include <openssl/evp.h>

#include "ref.h"

#define TAG	16

static const EVP_CIPHER *aead_of(unsigned int cipher)
{
	switch (cipher) {
	case 1:
		return EVP_aes_128_gcm();
	case 2:
		return EVP_aes_256_gcm();
	case 3:
		return EVP_chacha20_poly1305();
	case 4:
		return EVP_aes_128_ccm();
	default:
		return NULL;
	}
}

static bool hp_mask(const struct ref_keys *k, const uint8_t *sample, uint8_t *mask)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	uint8_t in[TAG] = { 0 };
	bool ok;
	int n;

	if (k->cipher == 3) {
		ok = EVP_EncryptInit_ex(c, EVP_chacha20(), NULL, k->hp, sample) &&
		     EVP_EncryptUpdate(c, mask, &n, in, 5);
	} else {
		memcpy(in, sample, TAG);
		ok = EVP_EncryptInit_ex(c, k->cipher == 2 ? EVP_aes_256_ecb() :
							    EVP_aes_128_ecb(),
					NULL, k->hp, NULL) &&
		     EVP_EncryptUpdate(c, mask, &n, in, TAG);
	}
	EVP_CIPHER_CTX_free(c);
	return ok;
}

static void make_nonce(const struct ref_keys *k, uint64_t pn, uint8_t *nonce)
{
	unsigned int i;

	memcpy(nonce, k->iv, 12);
	for (i = 0; i < 4; i++)
		nonce[i] ^= k->path >> (24 - 8 * i);
	for (i = 0; i < 8; i++)
		nonce[4 + i] ^= pn >> (56 - 8 * i);
}

static EVP_CIPHER_CTX *begin(const struct ref_keys *k, uint64_t pn, bool seal,
			     uint8_t *tag, int body)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	uint8_t nonce[12];
	int n;

	make_nonce(k, pn, nonce);
	if (!EVP_CipherInit_ex(c, aead_of(k->cipher), NULL, NULL, NULL, seal) ||
	    !EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, 12, NULL) ||
	    ((!seal || k->cipher == 4) &&
	     !EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG, seal ? NULL : tag)) ||
	    !EVP_CipherInit_ex(c, NULL, NULL, k->key, nonce, seal) ||
	    (k->cipher == 4 && !EVP_CipherUpdate(c, NULL, &n, NULL, body))) {
		EVP_CIPHER_CTX_free(c);
		return NULL;
	}
	return c;
}

bool ref_seal(const struct ref_keys *k, uint64_t pn, unsigned int dcid_len,
	      uint8_t *p, unsigned int len)
{
	unsigned int pn_len = (p[0] & 3) + 1, hdr = 1 + dcid_len + pn_len, i;
	int body = len - hdr - TAG, n;
	EVP_CIPHER_CTX *c = begin(k, pn, true, NULL, body);
	uint8_t mask[TAG];
	bool ok;

	ok = c && EVP_EncryptUpdate(c, NULL, &n, p, hdr) &&
	     EVP_EncryptUpdate(c, p + hdr, &n, p + hdr, body) &&
	     EVP_EncryptFinal_ex(c, p + hdr + n, &n) &&
	     EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG, p + len - TAG);
	EVP_CIPHER_CTX_free(c);
	if (!ok || !hp_mask(k, p + 1 + dcid_len + 4, mask))
		return false;
	p[0] ^= mask[0] & 0x1f;
	for (i = 0; i < pn_len; i++)
		p[1 + dcid_len + i] ^= mask[1 + i];
	return true;
}

bool ref_open(const struct ref_keys *k, uint64_t pn, unsigned int dcid_len,
	      uint8_t *p, unsigned int len)
{
	unsigned int pn_len, hdr, i;
	EVP_CIPHER_CTX *c;
	uint8_t mask[TAG];
	int body, n;
	bool ok;

	if (!hp_mask(k, p + 1 + dcid_len + 4, mask))
		return false;
	p[0] ^= mask[0] & 0x1f;
	pn_len = (p[0] & 3) + 1;
	hdr = 1 + dcid_len + pn_len;
	body = len - hdr - TAG;
	for (i = 0; i < pn_len; i++)
		p[1 + dcid_len + i] ^= mask[1 + i];
	c = begin(k, pn, false, p + len - TAG, body);
	ok = c && EVP_DecryptUpdate(c, NULL, &n, p, hdr) &&
	     EVP_DecryptUpdate(c, p + hdr, &n, p + hdr, body) > 0 &&
	     (k->cipher == 4 || EVP_DecryptFinal_ex(c, p + hdr + n, &n) > 0);
	EVP_CIPHER_CTX_free(c);
	return ok;
}

void ref_plain(uint8_t *p, unsigned int len, const uint8_t *dcid,
	       unsigned int dcid_len, uint64_t pn, unsigned int pn_len,
	       unsigned int phase, uint32_t seed)
{
	unsigned int i, at = 0;

	p[at++] = 0x40 | phase << 2 | (pn_len - 1);
	memcpy(p + at, dcid, dcid_len);
	at += dcid_len;
	for (i = pn_len; i--;)
		p[at++] = pn >> (8 * i);
	for (; at < len; at++) {
		seed = seed * 1664525 + 1013904223;
		p[at] = at + TAG < len ? seed >> 24 : 0;
	}
}
