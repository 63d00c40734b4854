// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ngtcp2's crypto callbacks. They get neither connection nor user data: a key is
 * known by the handle of its AEAD context, which is learned at the key's first use
 * inside a call for the connection, and checked by its IV.
 */
#include "priv.h"

#define PHASE(first)	((first) >> 2 & 1)
#define PN_LEN(first)	(((first) & 3) + 1)

__thread struct qng_conn *qng_current;

static bool inside(const uint8_t *p, const uint8_t *start, size_t len)
{
	return p >= start && p < start + len;
}

/* Is this the key: has it the IV of this nonce, and the header this number? */
static bool key_fits(struct qng_key *k, void *handle, const uint8_t *nonce, size_t noncelen,
		     const uint8_t *aad, size_t aadlen)
{
	unsigned int n = PN_LEN(aad[0]);
	uint64_t pn, hdr = 0;

	if (!k->valid || noncelen != QOFF_IV_SIZE || aadlen < 1 + n)
		return false;
	if (k->handle)
		return k->handle == handle;
	if (memcmp(nonce, k->iv, 4))
		return false;
	pn = qng_pn(nonce, k->iv);
	for (unsigned int i = n; i; i--)
		hdr = hdr << 8 | aad[aadlen - i];
	if (pn > QOFF_PN_MAX || (pn & ((1ULL << 8 * n) - 1)) != hdr)
		return false;
	k->handle = handle;
	return true;
}

/* May the sealing of this 1-RTT packet be put off? */
static bool may_defer(struct qng_conn *c, const struct qng_key *k, uint64_t pn, size_t len,
		      const uint8_t *aad, size_t aadlen)
{
	const struct qng_sock *s = c->sock;

	if (!c->writing || c->deferred || !c->tx.installed || !k->below)
		return false;
	/* Alone in its datagram, and with a header that the context takes. */
	if (aad != s->buf + s->len || aad[0] & 0x98 || (!(aad[0] & 0x40) && !c->grease))
		return false;
	if (aadlen != (size_t)1 + c->dcid_len + PN_LEN(aad[0]) || pn < c->tx.pn)
		return false;
	/* A probe of the path MTU may be longer than the system takes. */
	return aadlen + len + QOFF_TAG_SIZE <=
	       ngtcp2_conn_get_path_max_tx_udp_payload_size(c->conn);
}

static int encrypt_cb(uint8_t *dest, const ngtcp2_crypto_aead *aead,
		      const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *text, size_t len,
		      const uint8_t *nonce, size_t noncelen, const uint8_t *aad, size_t aadlen)
{
	struct qng_conn *c = qng_current;
	struct qng_key *k;
	uint64_t pn;

	if (c && aadlen && !(aad[0] & 0x80)) {
		k = &c->tx.key[PHASE(aad[0])];
		if (key_fits(k, ctx->native_handle, nonce, noncelen, aad, aadlen)) {
			pn = qng_pn(nonce, k->iv);
			c->deferred = may_defer(c, k, pn, len, aad, aadlen);
			if (pn >= c->tx.pn)
				c->tx.pn = pn + 1;
			if (c->deferred) {
				c->deferred_pn = pn;
				c->deferred_phase = PHASE(aad[0]);
				c->zero_mask = true;
				if (dest != text)
					memmove(dest, text, len);
				memset(dest + len, 0, QOFF_TAG_SIZE);
				return 0;
			}
		} else if (!k->valid) {
			/* Packets left that nobody here knows the numbers of. */
			c->given_up = true;
		}
		c->sock->st.tx_sealed_here++;
	}
	return ngtcp2_crypto_encrypt_cb(dest, aead, ctx, text, len, nonce, noncelen, aad, aadlen);
}

static bool opened(const struct qng_conn *c, const uint8_t *p)
{
	const struct qng_pkt *pkt = c ? c->rx_pkt : NULL;

	/* By place, not by "the present packet": ngtcp2 replays older ones in between. */
	return pkt && pkt->seg && pkt->seg->status == QOFF_RX_OPENED &&
	       inside(p, pkt->data, pkt->len);
}

static int hp_mask_cb(uint8_t *dest, const ngtcp2_crypto_cipher *hp,
		      const ngtcp2_crypto_cipher_ctx *ctx, const uint8_t *sample)
{
	struct qng_conn *c = qng_current;
	bool mine = c && c->zero_mask && inside(sample, c->sock->buf, sizeof(c->sock->buf));

	if (mine)
		c->zero_mask = false;
	if (!mine && !opened(c, sample))
		return ngtcp2_crypto_hp_mask_cb(dest, hp, ctx, sample);
	memset(dest, 0, NGTCP2_HP_MASKLEN);
	return 0;
}

/* Seen by the library's own crypto: remember the number for the flow that will follow. */
static void note_rx(struct qng_conn *c, const struct qng_key *k, const uint8_t *nonce)
{
	uint64_t pn = qng_pn(nonce, k->iv);

	if (pn >= c->rx.pn)
		c->rx.pn = pn + 1;
}

static int decrypt_cb(uint8_t *dest, const ngtcp2_crypto_aead *aead,
		      const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *text, size_t len,
		      const uint8_t *nonce, size_t noncelen, const uint8_t *aad, size_t aadlen)
{
	struct qng_conn *c = qng_current;
	struct qng_key *k = NULL;
	int err;

	if (c && aadlen && !(aad[0] & 0x80))
		k = &c->rx.key[PHASE(aad[0])];
	if (k && !key_fits(k, ctx->native_handle, nonce, noncelen, aad, aadlen))
		k = NULL;
	if (opened(c, text)) {
		const struct qoff_rx_seg *seg = c->rx_pkt->seg;

		if (!k || seg->key_gen != k->gen || seg->pn != qng_pn(nonce, k->iv) ||
		    len < QOFF_TAG_SIZE)
			return NGTCP2_ERR_DECRYPT;
		memcpy(dest, text, len - QOFF_TAG_SIZE);
		note_rx(c, k, nonce);
		return 0;
	}
	err = ngtcp2_crypto_decrypt_cb(dest, aead, ctx, text, len, nonce, noncelen, aad, aadlen);
	if (!err && k)
		note_rx(c, k, nonce);
	return err;
}

static void next_key(struct qng_dir *d, const uint8_t *key, const uint8_t *iv, void *handle)
{
	struct qng_key *k = &d->key[++d->gen & 1];

	*k = (struct qng_key){ .valid = true, .gen = d->gen, .handle = handle };
	memcpy(k->iv, iv, sizeof(k->iv));
	d->next = (struct qoff_keys){
		.cipher = d->keys.cipher, .key_len = d->keys.key_len, .hp_len = d->keys.hp_len,
	};
	memcpy(d->next.key, key, d->next.key_len);
	memcpy(d->next.iv, iv, sizeof(d->next.iv));
	d->pending = true;
}

/* ngtcp2 prepares the next phase well ahead of its use. */
static int update_key_cb(ngtcp2_conn *conn, uint8_t *rx_secret, uint8_t *tx_secret,
			 ngtcp2_crypto_aead_ctx *rx_ctx, uint8_t *rx_iv,
			 ngtcp2_crypto_aead_ctx *tx_ctx, uint8_t *tx_iv,
			 const uint8_t *cur_rx_secret, const uint8_t *cur_tx_secret,
			 size_t secretlen, void *user_data)
{
	struct qng_conn *c = *(struct qng_conn **)user_data;
	uint8_t rx_key[QOFF_MAX_KEY], tx_key[QOFF_MAX_KEY];
	int err;

	err = ngtcp2_crypto_update_key(conn, rx_secret, tx_secret, rx_ctx, rx_key, rx_iv,
				       tx_ctx, tx_key, tx_iv, cur_rx_secret, cur_tx_secret,
				       secretlen);
	if (!err && c->rx.known && c->tx.known) {
		/* The first keys go down before there are others. */
		qng_refresh(c);
		next_key(&c->rx, rx_key, rx_iv, rx_ctx->native_handle);
		next_key(&c->tx, tx_key, tx_iv, tx_ctx->native_handle);
		qng_refresh(c);
	}
	qoff_wipe(rx_key, sizeof(rx_key));
	qoff_wipe(tx_key, sizeof(tx_key));
	return err ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

static void forget(struct qng_dir *d, const void *handle)
{
	for (unsigned int i = 0; i < 2; i++) {
		if (handle && d->key[i].handle == handle)
			d->key[i].valid = false;
	}
}

/* The handle may be another key's soon. */
static void delete_aead_cb(ngtcp2_conn *conn, ngtcp2_crypto_aead_ctx *ctx, void *user_data)
{
	struct qng_conn *c = *(struct qng_conn **)user_data;

	if (c) {
		forget(&c->tx, ctx->native_handle);
		forget(&c->rx, ctx->native_handle);
	}
	ngtcp2_crypto_delete_crypto_aead_ctx_cb(conn, ctx, user_data);
}

void qng_callbacks(ngtcp2_callbacks *cb)
{
	cb->encrypt = encrypt_cb;
	cb->decrypt = decrypt_cb;
	cb->hp_mask = hp_mask_cb;
	cb->update_key = update_key_cb;
	cb->delete_crypto_aead_ctx = delete_aead_cb;
}
