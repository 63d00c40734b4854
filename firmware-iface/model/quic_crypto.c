// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sealing and opening with OpenSSL. A key is expanded once, when its slot is
 * filled; a packet then costs an IV, and a super-packet one pass of AES-ECB for
 * all its header-protection masks.
 */
#include <pthread.h>

#include "quic.h"

static const struct {
	const char *aead;
	const char *hp;
	u8 key_len;
} ciphers[] = {
	[QOFF_MLX5_AES_128_GCM]		= { "AES-128-GCM", "AES-128-ECB", 16 },
	[QOFF_MLX5_AES_256_GCM]		= { "AES-256-GCM", "AES-256-ECB", 32 },
	[QOFF_MLX5_CHACHA20_POLY1305]	= { "ChaCha20-Poly1305", "ChaCha20", 32 },
	[QOFF_MLX5_AES_128_CCM]		= { "AES-128-CCM", "AES-128-ECB", 16 },
};

/* Fetching by name is most of the price of a new context: done once. */
static struct {
	EVP_CIPHER *aead;
	EVP_CIPHER *hp;
} fetched[ARRAY_SIZE(ciphers)];

static pthread_once_t fetch_once = PTHREAD_ONCE_INIT;

static void fetch(void)
{
	unsigned int i;

	for (i = QOFF_MLX5_AES_128_GCM; i < ARRAY_SIZE(ciphers); i++) {
		fetched[i].aead = EVP_CIPHER_fetch(NULL, ciphers[i].aead, NULL);
		fetched[i].hp = EVP_CIPHER_fetch(NULL, ciphers[i].hp, NULL);
	}
}

u32 nm_quic_key_len(u8 cipher)
{
	return cipher < ARRAY_SIZE(ciphers) ? ciphers[cipher].key_len : 0;
}

EVP_CIPHER_CTX *nm_quic_aead_new(u8 cipher, bool seal, const u8 *key)
{
	EVP_CIPHER_CTX *c;
	int ok;

	pthread_once(&fetch_once, fetch);
	c = EVP_CIPHER_CTX_new();
	if (!c)
		return NULL;
	ok = EVP_CipherInit_ex(c, fetched[cipher].aead, NULL, NULL, NULL, seal);
	if (ok && cipher == QOFF_MLX5_AES_128_CCM)
		ok = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, QOFF_MLX5_IV, NULL) &&
		     EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, QOFF_MLX5_TAG, NULL);
	if (ok && EVP_CipherInit_ex(c, NULL, NULL, key, NULL, seal))
		return c;
	EVP_CIPHER_CTX_free(c);
	return NULL;
}

EVP_CIPHER_CTX *nm_quic_hp_new(u8 cipher, const u8 *key)
{
	EVP_CIPHER_CTX *c;

	pthread_once(&fetch_once, fetch);
	c = EVP_CIPHER_CTX_new();
	if (c && EVP_EncryptInit_ex(c, fetched[cipher].hp, NULL, key, NULL) &&
	    EVP_CIPHER_CTX_set_padding(c, 0))
		return c;
	EVP_CIPHER_CTX_free(c);
	return NULL;
}

/* RFC 9001 section 5.3; with a path, as draft-ietf-quic-multipath has it */
void nm_quic_nonce(const struct nm_quic_ctx *x, unsigned int slot, u64 pn, u8 *nonce)
{
	const u8 *iv = x->slot[slot].iv;

	nm_wr32(nonce, nm_rd32(iv) ^ x->path_id);
	nm_wr64(nonce + 4, nm_rd64(iv + 4) ^ pn);
}

/* CCM wants lengths and tag before the data, and the data in one piece. */
static bool aead_begin(const struct nm_quic_ctx *x, EVP_CIPHER_CTX *c, bool seal,
		       const u8 *nonce, const u8 *tag, u32 len)
{
	int n;

	if (x->cipher != QOFF_MLX5_AES_128_CCM)
		return EVP_CipherInit_ex(c, NULL, NULL, NULL, nonce, seal);
	if (!seal && !EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, QOFF_MLX5_TAG,
					  (void *)tag))
		return false;
	return EVP_CipherInit_ex(c, NULL, NULL, NULL, nonce, seal) &&
	       EVP_CipherUpdate(c, NULL, &n, NULL, len);
}

bool nm_quic_seal(const struct nm_quic_ctx *x, unsigned int slot, u64 pn,
		  const u8 *aad, u32 aad_len, const u8 *in, u32 len, u8 *out,
		  u8 *tag)
{
	EVP_CIPHER_CTX *c = x->slot[slot].evp;
	u8 nonce[QOFF_MLX5_IV];
	int n;

	nm_quic_nonce(x, slot, pn, nonce);
	return aead_begin(x, c, true, nonce, NULL, len) &&
	       EVP_EncryptUpdate(c, NULL, &n, aad, aad_len) &&
	       EVP_EncryptUpdate(c, out, &n, in, len) &&
	       EVP_EncryptFinal_ex(c, out + n, &n) &&
	       EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, QOFF_MLX5_TAG, tag);
}

bool nm_quic_open(const struct nm_quic_ctx *x, unsigned int slot, u64 pn,
		  const u8 *aad, u32 aad_len, const u8 *in, u32 len, u8 *out,
		  const u8 *tag)
{
	EVP_CIPHER_CTX *c = x->slot[slot].evp;
	u8 nonce[QOFF_MLX5_IV];
	int n;

	nm_quic_nonce(x, slot, pn, nonce);
	if (!aead_begin(x, c, false, nonce, tag, len) ||
	    !EVP_DecryptUpdate(c, NULL, &n, aad, aad_len))
		return false;
	/* CCM's verdict comes with its data. */
	if (EVP_DecryptUpdate(c, out, &n, in, len) <= 0)
		return false;
	if (x->cipher == QOFF_MLX5_AES_128_CCM)
		return true;
	return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, QOFF_MLX5_TAG,
				   (void *)tag) &&
	       EVP_DecryptFinal_ex(c, out + n, &n) > 0;
}

bool nm_quic_masks(const struct nm_quic_ctx *x, const u8 *samples, u32 n, u8 *masks)
{
	static const u8 zero[QOFF_MLX5_TAG];
	u32 i;
	int got;

	if (x->cipher != QOFF_MLX5_CHACHA20_POLY1305)
		return EVP_EncryptUpdate(x->hp, masks, &got, samples,
					 n * NM_QUIC_SAMPLE);
	/* The sample is OpenSSL's IV as it is: counter, then nonce. */
	for (i = 0; i < n; i++)
		if (!EVP_EncryptInit_ex(x->hp, NULL, NULL, NULL,
					samples + i * NM_QUIC_SAMPLE) ||
		    !EVP_EncryptUpdate(x->hp, masks + i * NM_QUIC_SAMPLE, &got,
				       zero, 5))
			return false;
	return true;
}
