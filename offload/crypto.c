// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload: keys, and sealing and opening in software (RFC 9001 section 5).
 *
 * A super-packet's packets are sealed one by one with the AEAD, and then header
 * protection takes one pass over all of them: their samples are gathered, and
 * one request yields all masks. Called by the send and receive paths; knows
 * nothing of skbs, sockets or devices.
 */

#include <crypto/sha2.h>
#include <kunit/visibility.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "qoff.h"

/* A CCM nonce of 12 bytes leaves 3 bytes of length (RFC 3610 section 2) */
#define QOFF_CCM_L	3

static const struct {
	const char *aead;
	const char *hp;
} qoff_alg[] = {
	[QUIC_OFFLOAD_CIPHER_AES_128_GCM] = { "gcm(aes)", "ecb(aes)" },
	[QUIC_OFFLOAD_CIPHER_AES_256_GCM] = { "gcm(aes)", "ecb(aes)" },
	[QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305] = {
		"rfc7539(chacha20,poly1305)", "chacha20"
	},
	[QUIC_OFFLOAD_CIPHER_AES_128_CCM] = { "ccm(aes)", "ecb(aes)" },
};

static const struct rhashtable_params qoff_txkey_params = {
	.key_len = sizeof_field(struct qoff_key, digest),
	.key_offset = offsetof(struct qoff_key, digest),
	.head_offset = offsetof(struct qoff_key, node),
	.automatic_shrinking = true,
};

static struct rhashtable qoff_txkeys;

/**
 * struct qoff_crypt - scratch of one qoff_seal() or qoff_open()
 * @n: packets it has room for
 * @reqsize: room in @aead behind the request itself
 * @atomic: never sleep
 * @masks: sample, then mask, of each packet; 16 bytes each
 * @sk: for header protection
 * @aead: for packet protection
 * @wait: for implementations that answer later, process context
 * @nonce: of the current packet; a CCM one has 16 bytes
 */
struct qoff_crypt {
	unsigned int n;
	unsigned int reqsize;
	bool atomic;
	u8 *masks;
	struct skcipher_request *sk;
	struct aead_request *aead;
	struct crypto_wait wait;
	u8 nonce[16];
};

/* Allocate an algorithm twice: the best one there is, and one that never
 * answers later. They are the same when the best one already never does.
 */
static int qoff_alloc_skciphers(struct qoff_hp *hp, const char *name)
{
	hp->tfm = crypto_alloc_skcipher(name, 0, 0);
	if (IS_ERR(hp->tfm))
		return PTR_ERR(hp->tfm);
	if (!(crypto_skcipher_alg(hp->tfm)->base.cra_flags & CRYPTO_ALG_ASYNC)) {
		hp->tfm_sync = hp->tfm;
		return 0;
	}
	hp->tfm_sync = crypto_alloc_skcipher(name, 0, CRYPTO_ALG_ASYNC);
	if (IS_ERR(hp->tfm_sync)) {
		crypto_free_skcipher(hp->tfm);
		return PTR_ERR(hp->tfm_sync);
	}
	return 0;
}

static void qoff_free_skciphers(struct qoff_hp *hp)
{
	if (hp->tfm_sync != hp->tfm)
		crypto_free_skcipher(hp->tfm_sync);
	crypto_free_skcipher(hp->tfm);
}

/**
 * qoff_hp_alloc() - make a header-protection key
 * @cipher: enum quic_offload_cipher, valid
 * @raw: key bytes, as many as the cipher has
 *
 * Context: process, may sleep.
 * Return: the key with one reference, or ERR_PTR.
 */
struct qoff_hp *qoff_hp_alloc(u8 cipher, const u8 *raw)
{
	unsigned int len = qoff_cipher_info(cipher)->hp_len;
	struct qoff_hp *hp;
	int err;

	hp = kzalloc(sizeof(*hp), QOFF_GFP);
	if (!hp)
		return ERR_PTR(-ENOMEM);
	refcount_set(&hp->ref, 1);
	hp->cipher = cipher;
	memcpy(hp->raw, raw, len);

	err = qoff_alloc_skciphers(hp, qoff_alg[cipher].hp);
	if (err)
		goto err_free;
	err = crypto_skcipher_setkey(hp->tfm, raw, len);
	if (!err && hp->tfm_sync != hp->tfm)
		err = crypto_skcipher_setkey(hp->tfm_sync, raw, len);
	if (err)
		goto err_tfm;
	return hp;

err_tfm:
	qoff_free_skciphers(hp);
err_free:
	kfree_sensitive(hp);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_IF_KUNIT(qoff_hp_alloc);

/* Context: process, may sleep */
void qoff_hp_put(struct qoff_hp *hp)
{
	if (!refcount_dec_and_test(&hp->ref))
		return;
	qoff_free_skciphers(hp);
	kfree_sensitive(hp);
}
EXPORT_SYMBOL_IF_KUNIT(qoff_hp_put);

static int qoff_aead_setup(struct crypto_aead *tfm, const u8 *raw,
			   unsigned int len)
{
	int err = crypto_aead_setauthsize(tfm, QOFF_TAG_SIZE);

	return err ?: crypto_aead_setkey(tfm, raw, len);
}

static int qoff_alloc_aeads(struct qoff_key *key, const char *name)
{
	unsigned int len = qoff_cipher_info(key->cipher)->key_len;
	int err;

	key->aead = crypto_alloc_aead(name, 0, 0);
	if (IS_ERR(key->aead))
		return PTR_ERR(key->aead);
	key->aead_sync = key->aead;
	if (crypto_aead_alg(key->aead)->base.cra_flags & CRYPTO_ALG_ASYNC) {
		key->aead_sync = crypto_alloc_aead(name, 0, CRYPTO_ALG_ASYNC);
		if (IS_ERR(key->aead_sync)) {
			err = PTR_ERR(key->aead_sync);
			goto err_aead;
		}
	}
	err = qoff_aead_setup(key->aead, key->raw, len);
	if (!err && key->aead_sync != key->aead)
		err = qoff_aead_setup(key->aead_sync, key->raw, len);
	if (err)
		goto err_sync;
	return 0;

err_sync:
	if (key->aead_sync != key->aead)
		crypto_free_aead(key->aead_sync);
err_aead:
	crypto_free_aead(key->aead);
	return err;
}

static void qoff_key_free_work(struct work_struct *work)
{
	struct qoff_key *key = container_of(work, struct qoff_key, free_work);

	if (key->aead_sync != key->aead)
		crypto_free_aead(key->aead_sync);
	crypto_free_aead(key->aead);
	qoff_hp_put(key->hp);
	kfree_sensitive(key);
}

/* Transforms are freed where sleeping is allowed */
static void qoff_key_free_rcu(struct rcu_head *rcu)
{
	struct qoff_key *key = container_of(rcu, struct qoff_key, rcu);

	queue_work(qoff_wq, &key->free_work);
}

/**
 * qoff_key_alloc() - make an AEAD key
 * @cipher: enum quic_offload_cipher, valid
 * @hp: its header protection; a reference is taken
 * @raw: key bytes, as many as the cipher has
 * @iv: QOFF_IV_SIZE bytes
 * @phase: key phase bit of its packets
 * @gen: generation
 *
 * Context: process, may sleep.
 * Return: the key with one reference, or ERR_PTR.
 */
struct qoff_key *qoff_key_alloc(u8 cipher, struct qoff_hp *hp, const u8 *raw,
				const u8 *iv, u8 phase, u32 gen)
{
	struct qoff_key *key;
	unsigned int size;
	int err;

	key = kzalloc(sizeof(*key), QOFF_GFP);
	if (!key)
		return ERR_PTR(-ENOMEM);
	refcount_set(&key->ref, 1);
	INIT_WORK(&key->free_work, qoff_key_free_work);
	key->cipher = cipher;
	key->phase = phase;
	key->gen = gen;
	memcpy(key->raw, raw, qoff_cipher_info(cipher)->key_len);
	memcpy(key->iv, iv, sizeof(key->iv));

	err = qoff_alloc_aeads(key, qoff_alg[cipher].aead);
	if (err) {
		kfree_sensitive(key);
		return ERR_PTR(err);
	}
	refcount_inc(&hp->ref);
	key->hp = hp;
	size = max(crypto_aead_reqsize(key->aead),
		   crypto_aead_reqsize(key->aead_sync));
	if (size > READ_ONCE(hp->reqsize))
		WRITE_ONCE(hp->reqsize, size);
	return key;
}
EXPORT_SYMBOL_IF_KUNIT(qoff_key_alloc);

/* Context: any */
void qoff_key_put(struct qoff_key *key)
{
	if (!refcount_dec_and_test(&key->ref))
		return;
	if (key->retired_at)
		qoff_key_forget(key);
	if (key->published)
		rhashtable_remove_fast(&qoff_txkeys, &key->node,
				       qoff_txkey_params);
	call_rcu(&key->rcu, qoff_key_free_rcu);
}
EXPORT_SYMBOL_IF_KUNIT(qoff_key_put);

/**
 * qoff_key_publish() - refuse the same send key twice
 * @key: the key, not yet in use
 * @net: namespace within which it must be the only one
 *
 * Two contexts with one key would give one packet number two contents, and an
 * AEAD does not survive that (RFC 9001 section 9.5, RFC 5116 section 3.1).
 *
 * Context: process.
 * Return: 0, -EEXIST, -ENOMEM.
 */
int qoff_key_publish(struct qoff_key *key, const struct net *net)
{
	struct sha256_state sha;
	int err;

	sha256_init(&sha);
	sha256_update(&sha, (const u8 *)&net->net_cookie,
		      sizeof(net->net_cookie));
	sha256_update(&sha, &key->cipher, sizeof(key->cipher));
	sha256_update(&sha, key->raw, sizeof(key->raw));
	sha256_final(&sha, key->digest);
	memzero_explicit(&sha, sizeof(sha));

	err = rhashtable_lookup_insert_fast(&qoff_txkeys, &key->node,
					    qoff_txkey_params);
	if (!err)
		key->published = true;
	return err;
}

/**
 * qoff_crypt_alloc() - get all that sealing or opening will need
 * @hp: header protection of the direction
 * @n: packets at most
 * @atomic: it will be used where sleeping is not allowed
 * @gfp: for the allocation
 *
 * Return: the scratch, or NULL.
 */
struct qoff_crypt *qoff_crypt_alloc(const struct qoff_hp *hp, unsigned int n,
				    bool atomic, gfp_t gfp)
{
	struct crypto_skcipher *tfm = atomic ? hp->tfm_sync : hp->tfm;
	unsigned int reqsize = READ_ONCE(hp->reqsize);
	struct qoff_crypt *c;
	size_t sk, aead;

	sk = ALIGN(sizeof(*c), CRYPTO_MINALIGN);
	aead = ALIGN(sk + sizeof(*c->sk) + crypto_skcipher_reqsize(tfm),
		     CRYPTO_MINALIGN);
	c = kmalloc(aead + ALIGN(sizeof(*c->aead) + reqsize, CRYPTO_MINALIGN) +
		    n * QOFF_HP_SAMPLE, gfp);
	if (!c)
		return NULL;
	c->n = n;
	c->reqsize = reqsize;
	c->atomic = atomic;
	c->sk = (void *)c + sk;
	c->aead = (void *)c + aead;
	c->masks = (void *)c->aead +
		   ALIGN(sizeof(*c->aead) + reqsize, CRYPTO_MINALIGN);
	skcipher_request_set_tfm(c->sk, tfm);
	return c;
}
EXPORT_SYMBOL_IF_KUNIT(qoff_crypt_alloc);

/* The request has seen key material through its transform's context */
void qoff_crypt_free(struct qoff_crypt *c)
{
	kfree_sensitive(c);
}
EXPORT_SYMBOL_IF_KUNIT(qoff_crypt_free);

static int qoff_aead_begin(struct qoff_crypt *c, const struct qoff_key *key)
{
	struct crypto_aead *tfm = c->atomic ? key->aead_sync : key->aead;

	/* A transform with larger requests appeared since qoff_crypt_alloc() */
	if (WARN_ON_ONCE(crypto_aead_reqsize(tfm) > c->reqsize))
		return -ENOMEM;
	aead_request_set_tfm(c->aead, tfm);
	if (c->atomic) {
		aead_request_set_callback(c->aead, 0, NULL, NULL);
	} else {
		crypto_init_wait(&c->wait);
		aead_request_set_callback(c->aead, CRYPTO_TFM_REQ_MAY_SLEEP |
						   CRYPTO_TFM_REQ_MAY_BACKLOG,
					  crypto_req_done, &c->wait);
	}
	return 0;
}

/* One packet in place. @sg holds exactly the packet; @len is what the AEAD
 * counts: the payload, and on opening the tag.
 */
static int qoff_aead_run(struct qoff_crypt *c, const struct qoff_key *key,
			 struct scatterlist *sg, unsigned int hdr_len,
			 unsigned int len, u64 pn, bool seal)
{
	u8 *nonce = c->nonce;
	int err;

	if (key->cipher == QUIC_OFFLOAD_CIPHER_AES_128_CCM) {
		c->nonce[0] = QOFF_CCM_L - 1;
		memset(c->nonce + sizeof(c->nonce) - QOFF_CCM_L, 0, QOFF_CCM_L);
		nonce++;
	}
	qoff_nonce(nonce, key->iv, pn);

	aead_request_set_crypt(c->aead, sg, sg, len, c->nonce);
	aead_request_set_ad(c->aead, hdr_len);
	err = seal ? crypto_aead_encrypt(c->aead) : crypto_aead_decrypt(c->aead);
	return c->atomic ? err : crypto_wait_req(err, &c->wait);
}

static int qoff_sk_run(struct qoff_crypt *c, u8 *buf, unsigned int len, u8 *iv)
{
	struct scatterlist sg;
	int err;

	sg_init_one(&sg, buf, len);
	if (c->atomic) {
		skcipher_request_set_callback(c->sk, 0, NULL, NULL);
	} else {
		crypto_init_wait(&c->wait);
		skcipher_request_set_callback(c->sk, CRYPTO_TFM_REQ_MAY_SLEEP |
						     CRYPTO_TFM_REQ_MAY_BACKLOG,
					      crypto_req_done, &c->wait);
	}
	skcipher_request_set_crypt(c->sk, &sg, &sg, len, iv);
	err = crypto_skcipher_encrypt(c->sk);
	return c->atomic ? err : crypto_wait_req(err, &c->wait);
}

/* Turn the first @n samples in c->masks into masks. AES encrypts all of them
 * with one request; for ChaCha20 a sample is counter and nonce, and the mask is
 * key stream (RFC 9001 sections 5.4.3 and 5.4.4).
 */
static int qoff_masks(struct qoff_crypt *c, u8 cipher, unsigned int n)
{
	u8 iv[QOFF_HP_SAMPLE];
	unsigned int i;
	int err = 0;

	if (cipher != QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305)
		return qoff_sk_run(c, c->masks, n * QOFF_HP_SAMPLE, NULL);

	for (i = 0; i < n && !err; i++) {
		u8 *mask = c->masks + i * QOFF_HP_SAMPLE;

		memcpy(iv, mask, sizeof(iv));
		memset(mask, 0, QOFF_HP_SAMPLE);
		err = qoff_sk_run(c, mask, QOFF_HP_SAMPLE, iv);
	}
	return err;
}

/**
 * qoff_seal() - seal packets in place
 * @key: the key; it is not revoked
 * @dcid_len: connection ID bytes
 * @pkts: packets that passed qoff_seal_check(), their last QOFF_TAG_SIZE bytes
 *	free for the tag
 * @n: packets, at most those of qoff_crypt_alloc()
 * @c: scratch; says whether sleeping is allowed
 *
 * Return: 0, or an errno; then some packets are half done and none may go out.
 */
int qoff_seal(struct qoff_key *key, unsigned int dcid_len,
	      struct qoff_pkt *pkts, unsigned int n, struct qoff_crypt *c)
{
	unsigned int i, hdr_len;
	struct scatterlist sg;
	int err;

	if (WARN_ON_ONCE(n > c->n))
		return -EINVAL;
	err = qoff_aead_begin(c, key);
	if (err)
		return err;

	for (i = 0; i < n; i++) {
		struct qoff_pkt *p = &pkts[i];

		hdr_len = 1 + dcid_len + qoff_pn_len(p->data[0]);
		sg_init_one(&sg, p->data, p->len);
		err = qoff_aead_run(c, key, &sg, hdr_len,
				    p->len - hdr_len - QOFF_TAG_SIZE, p->pn,
				    true);
		if (err)
			return err;
		memcpy(c->masks + i * QOFF_HP_SAMPLE,
		       p->data + qoff_sample_off(dcid_len), QOFF_HP_SAMPLE);
	}

	err = qoff_masks(c, key->cipher, n);
	if (err)
		return err;
	for (i = 0; i < n; i++)
		qoff_hp_apply(pkts[i].data, dcid_len,
			      c->masks + i * QOFF_HP_SAMPLE);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(qoff_seal);

/* Both slots' keys, held, so that a batch takes each reference once */
static void qoff_slots_hold(struct qoff_rxkeys *keys, struct qoff_key **slot)
{
	int i;

	rcu_read_lock();
	for (i = 0; i < 2; i++) {
		slot[i] = rcu_dereference(keys->slot[i]);
		if (slot[i] && !qoff_key_hold(slot[i]))
			slot[i] = NULL;
	}
	rcu_read_unlock();
}

static void qoff_slots_put(struct qoff_key **slot)
{
	int i;

	for (i = 0; i < 2; i++)
		if (slot[i])
			qoff_key_put(slot[i]);
}

/* Open one packet whose header is unprotected. The packet number is expanded
 * against the largest one opened so far, of whatever phase.
 */
static void qoff_open_one(struct qoff_rxkeys *keys, struct qoff_key *key,
			  unsigned int dcid_len, struct qoff_pkt *p,
			  struct qoff_crypt *c)
{
	unsigned int n = qoff_pn_len(p->data[0]);
	unsigned int hdr_len = 1 + dcid_len + n;
	struct scatterlist sg;
	u64 next;

	p->status = QOFF_RX_FAILED;
	if (p->len < hdr_len + QOFF_TAG_SIZE || qoff_aead_begin(c, key))
		return;

	spin_lock_bh(&keys->lock);
	next = keys->next_pn;
	spin_unlock_bh(&keys->lock);
	p->pn = qoff_pn_expand(next, qoff_pn_get(p->data + 1 + dcid_len, n), n);

	sg_init_one(&sg, p->data, p->len);
	if (qoff_aead_run(c, key, &sg, hdr_len, p->len - hdr_len, p->pn, false))
		return;

	p->status = QOFF_RX_OPENED;
	p->hdr_len = hdr_len;
	p->pn_len = n;
	p->key_gen = key->gen;
	memset(p->data + p->len - QOFF_TAG_SIZE, 0, QOFF_TAG_SIZE);

	spin_lock_bh(&keys->lock);
	if (p->pn >= keys->next_pn)
		keys->next_pn = p->pn + 1;
	spin_unlock_bh(&keys->lock);
}

/* Gather the samples of the packets that have one. A packet without gets its
 * status here and an idle place in the list of masks.
 */
static void qoff_open_samples(unsigned int dcid_len, struct qoff_pkt *pkts,
			      unsigned int n, struct qoff_crypt *c)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		u8 *mask = c->masks + i * QOFF_HP_SAMPLE;

		if (!pkts[i].len || !qoff_is_short(pkts[i].data[0]))
			pkts[i].status = QOFF_RX_LONG_HEADER;
		else if (pkts[i].len < qoff_min_len(dcid_len))
			pkts[i].status = QOFF_RX_FAILED;
		else
			pkts[i].status = QOFF_RX_OPENED;

		if (pkts[i].status == QOFF_RX_OPENED)
			memcpy(mask, pkts[i].data + qoff_sample_off(dcid_len),
			       QOFF_HP_SAMPLE);
		else
			memset(mask, 0, QOFF_HP_SAMPLE);
	}
}

/**
 * qoff_open() - open packets in place
 * @keys: receive keys
 * @dcid_len: connection ID bytes
 * @pkts: packets; each gets its status, opened ones all fields and their tag
 *	bytes zeroed; of others the caller still has the original bytes
 * @n: packets, at most those of qoff_crypt_alloc()
 * @c: scratch, not atomic
 *
 * Context: process, may sleep.
 */
void qoff_open(struct qoff_rxkeys *keys, unsigned int dcid_len,
	       struct qoff_pkt *pkts, unsigned int n, struct qoff_crypt *c)
{
	struct qoff_key *slot[2];
	unsigned int i;
	int err;

	if (WARN_ON_ONCE(n > c->n))
		n = 0;
	qoff_open_samples(dcid_len, pkts, n, c);
	err = qoff_masks(c, keys->cipher, n);
	qoff_slots_hold(keys, slot);

	for (i = 0; i < n; i++) {
		struct qoff_pkt *p = &pkts[i];
		struct qoff_key *key;

		if (p->status != QOFF_RX_OPENED)
			continue;
		if (err) {
			p->status = QOFF_RX_FAILED;
			continue;
		}
		qoff_hp_remove(p->data, dcid_len,
			       c->masks + i * QOFF_HP_SAMPLE);
		key = slot[qoff_phase(p->data[0])];
		if (key)
			qoff_open_one(keys, key, dcid_len, p, c);
		else
			p->status = QOFF_RX_NO_PHASE;
	}
	qoff_slots_put(slot);
}
EXPORT_SYMBOL_IF_KUNIT(qoff_open);

int qoff_crypto_init(void)
{
	return rhashtable_init(&qoff_txkeys, &qoff_txkey_params);
}

/* Every key is gone: the last ones were freed by the workqueue's drain */
void qoff_crypto_exit(void)
{
	rhashtable_destroy(&qoff_txkeys);
}
