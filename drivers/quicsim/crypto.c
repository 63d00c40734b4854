// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: the device's own sealing and opening, over the kernel's crypto API.
 *
 * It shares with the framework's fallback only the packet arithmetic of wire.h,
 * so that byte equality of the two says something.  Everything runs in a device
 * thread, which may sleep, so any implementation of a cipher will do.
 */
#include <linux/scatterlist.h>

#include "quicsim.h"

static const char *qsim_aead_name(u8 cipher)
{
	switch (cipher) {
	case QUIC_OFFLOAD_CIPHER_AES_128_GCM:
	case QUIC_OFFLOAD_CIPHER_AES_256_GCM:
		return "gcm(aes)";
	case QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305:
		return "rfc7539(chacha20,poly1305)";
	case QUIC_OFFLOAD_CIPHER_AES_128_CCM:
		return "ccm(aes)";
	}
	return NULL;
}

/* RFC 9001 section 5.4.3 and 5.4.4 */
static const char *qsim_hp_name(u8 cipher)
{
	return cipher == QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305 ? "chacha20" :
								 "ecb(aes)";
}

/**
 * qsim_hp_alloc() - load a header-protection key
 * @cipher: enum quic_offload_cipher
 * @raw: key bytes
 *
 * Return: a reference, or ERR_PTR.
 */
struct qsim_hp *qsim_hp_alloc(u8 cipher, const u8 *raw)
{
	const struct qoff_cipher_info *info = qoff_cipher_info(cipher);
	struct qsim_hp *hp;
	int err;

	if (!info)
		return ERR_PTR(-EOPNOTSUPP);
	hp = kzalloc(sizeof(*hp), GFP_KERNEL);
	if (!hp)
		return ERR_PTR(-ENOMEM);
	refcount_set(&hp->ref, 1);
	hp->cipher = cipher;
	hp->tfm = crypto_alloc_skcipher(qsim_hp_name(cipher), 0, 0);
	if (IS_ERR(hp->tfm)) {
		err = PTR_ERR(hp->tfm);
		goto err_free;
	}
	err = crypto_skcipher_setkey(hp->tfm, raw, info->hp_len);
	if (err)
		goto err_tfm;
	hp->req = skcipher_request_alloc(hp->tfm, GFP_KERNEL);
	if (!hp->req) {
		err = -ENOMEM;
		goto err_tfm;
	}
	return hp;

err_tfm:
	crypto_free_skcipher(hp->tfm);
err_free:
	kfree(hp);
	return ERR_PTR(err);
}

void qsim_hp_put(struct qsim_hp *hp)
{
	if (!hp || !refcount_dec_and_test(&hp->ref))
		return;
	skcipher_request_free(hp->req);
	crypto_free_skcipher(hp->tfm);
	kfree(hp);
}

/**
 * qsim_key_alloc() - load an AEAD key
 * @hp: header protection of its context or flow
 * @k: the key
 *
 * Return: a reference, or ERR_PTR.
 */
struct qsim_key *qsim_key_alloc(struct qsim_hp *hp,
				const struct qoff_key_params *k)
{
	const struct qoff_cipher_info *info = qoff_cipher_info(hp->cipher);
	struct qsim_key *key;
	int err;

	key = kzalloc(sizeof(*key), GFP_KERNEL);
	if (!key)
		return ERR_PTR(-ENOMEM);
	refcount_set(&key->ref, 1);
	key->cipher = hp->cipher;
	key->gen = k->gen;
	memcpy(key->iv, k->iv, sizeof(key->iv));
	key->tfm = crypto_alloc_aead(qsim_aead_name(hp->cipher), 0, 0);
	if (IS_ERR(key->tfm)) {
		err = PTR_ERR(key->tfm);
		goto err_free;
	}
	err = crypto_aead_setkey(key->tfm, k->key, info->key_len);
	if (!err)
		err = crypto_aead_setauthsize(key->tfm, QOFF_TAG_SIZE);
	if (err)
		goto err_tfm;
	key->req = aead_request_alloc(key->tfm, GFP_KERNEL);
	if (!key->req) {
		err = -ENOMEM;
		goto err_tfm;
	}
	refcount_inc(&hp->ref);
	key->hp = hp;
	return key;

err_tfm:
	crypto_free_aead(key->tfm);
err_free:
	kfree_sensitive(key);
	return ERR_PTR(err);
}

/* The last reference is gone */
void qsim_key_free(struct qsim_key *key)
{
	aead_request_free(key->req);
	crypto_free_aead(key->tfm);
	qsim_hp_put(key->hp);
	kfree_sensitive(key);
}

/* One call over all samples for AES, whose mask is the sample encrypted. For
 * ChaCha20 each sample is counter and nonce, and the mask is key stream.
 */
static int qsim_hp_masks(struct qsim_hp *hp, u8 (*mask)[QOFF_HP_SAMPLE],
			 unsigned int n)
{
	struct skcipher_request *req = hp->req;
	u8 sample[QOFF_HP_SAMPLE];
	DECLARE_CRYPTO_WAIT(wait);
	struct scatterlist sg;
	unsigned int i;
	int err;

	skcipher_request_set_callback(req, CRYPTO_TFM_REQ_MAY_SLEEP |
				      CRYPTO_TFM_REQ_MAY_BACKLOG,
				      crypto_req_done, &wait);
	if (hp->cipher != QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305) {
		sg_init_one(&sg, mask, n * sizeof(*mask));
		skcipher_request_set_crypt(req, &sg, &sg, n * sizeof(*mask),
					   NULL);
		return crypto_wait_req(crypto_skcipher_encrypt(req), &wait);
	}
	for (i = 0; i < n; i++) {
		memcpy(sample, mask[i], sizeof(sample));
		memset(mask[i], 0, sizeof(*mask));
		sg_init_one(&sg, mask[i], QOFF_HP_MASK);
		skcipher_request_set_crypt(req, &sg, &sg, QOFF_HP_MASK, sample);
		err = crypto_wait_req(crypto_skcipher_encrypt(req), &wait);
		if (err)
			return err;
	}
	return 0;
}

/* @len: header, payload and (to open) tag, contiguous at @data */
static int qsim_aead(struct qsim_key *key, u8 *data, unsigned int len,
		     unsigned int hdr_len, u64 pn, bool seal)
{
	unsigned int crypt_len = len - hdr_len;
	struct aead_request *req = key->req;
	DECLARE_CRYPTO_WAIT(wait);
	struct scatterlist sg;
	u8 iv[16] = {};
	u8 *nonce = iv;
	int err;

	/* RFC 3610: a 12-byte nonce leaves 3 bytes for the length, L - 1 = 2 */
	if (key->cipher == QUIC_OFFLOAD_CIPHER_AES_128_CCM) {
		iv[0] = 2;
		nonce = iv + 1;
	}
	qoff_nonce(nonce, key->iv, pn);
	if (seal)
		crypt_len -= QOFF_TAG_SIZE;
	sg_init_one(&sg, data, len);
	aead_request_set_callback(req, CRYPTO_TFM_REQ_MAY_SLEEP |
				  CRYPTO_TFM_REQ_MAY_BACKLOG,
				  crypto_req_done, &wait);
	aead_request_set_ad(req, hdr_len);
	aead_request_set_crypt(req, &sg, &sg, crypt_len, iv);
	err = seal ? crypto_aead_encrypt(req) : crypto_aead_decrypt(req);
	err = crypto_wait_req(err, &wait);
	memzero_explicit(iv, sizeof(iv));
	return err;
}

/**
 * qsim_seal() - seal packets and protect their headers, in place
 * @key: loaded key
 * @dcid_len: connection ID bytes of each
 * @s: @n packets in @s->pkt that passed qoff_seal_check()
 * @n: packets
 *
 * Context: the sending device's thread.
 * Return: 0, or an error: then the buffers must not go out.
 */
int qsim_seal(struct qsim_key *key, unsigned int dcid_len,
	      struct qsim_scratch *s, unsigned int n)
{
	struct qsim_pkt *p;
	unsigned int i;
	int err;

	for (i = 0; i < n; i++) {
		p = &s->pkt[i];
		err = qsim_aead(key, p->data, p->len,
				1 + dcid_len + qoff_pn_len(p->data[0]), p->pn,
				true);
		if (err)
			return err;
		memcpy(s->mask[i], p->data + qoff_sample_off(dcid_len),
		       QOFF_HP_SAMPLE);
	}
	err = qsim_hp_masks(key->hp, s->mask, n);
	if (err)
		return err;
	for (i = 0; i < n; i++)
		qoff_hp_apply(s->pkt[i].data, dcid_len, s->mask[i]);
	return 0;
}

/**
 * qsim_unprotect() - take header protection off
 * @hp: the flow's
 * @dcid_len: connection ID bytes
 * @s: the packet is @s->pkt[0], at least qoff_min_len() long, a short header;
 *	altered
 * @next_pn: for the packet number's upper bits
 *
 * Context: the receiving device's thread.
 * Return: 0, or an error of the cipher.
 */
int qsim_unprotect(struct qsim_hp *hp, unsigned int dcid_len,
		   struct qsim_scratch *s, u64 next_pn)
{
	struct qsim_pkt *p = &s->pkt[0];
	int err;

	memcpy(s->mask[0], p->data + qoff_sample_off(dcid_len), QOFF_HP_SAMPLE);
	err = qsim_hp_masks(hp, s->mask, 1);
	if (err)
		return err;
	p->pn_len = qoff_hp_remove(p->data, dcid_len, s->mask[0]);
	p->hdr_len = 1 + dcid_len + p->pn_len;
	p->pn = qoff_pn_expand(next_pn,
			       qoff_pn_get(p->data + 1 + dcid_len, p->pn_len),
			       p->pn_len);
	return 0;
}

/**
 * qsim_open() - authenticate and decrypt a packet in place
 * @key: of its phase
 * @pkt: as qsim_unprotect() left it
 *
 * Context: the receiving device's thread.
 * Return: 0; -EBADMSG: the contents are undefined now.
 */
int qsim_open(struct qsim_key *key, struct qsim_pkt *pkt)
{
	if (pkt->len < pkt->hdr_len + QOFF_TAG_SIZE)
		return -EBADMSG;
	return qsim_aead(key, pkt->data, pkt->len, pkt->hdr_len, pkt->pn,
			 false);
}

/**
 * qsim_ciphers() - what this kernel's crypto API can do
 *
 * Return: bit (1 << cipher) for each.
 */
u32 qsim_ciphers(void)
{
	u32 mask = 0;
	u8 c;

	for (c = 1; qoff_cipher_info(c); c++)
		if (crypto_has_aead(qsim_aead_name(c), 0, 0) &&
		    crypto_has_skcipher(qsim_hp_name(c), 0, 0))
			mask |= BIT(c);
	return mask;
}
