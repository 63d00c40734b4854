// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: sealing and opening in software, and the packet arithmetic under it.
 *
 * Fixed vectors come from RFC 9001 appendix A.5 and, for the other ciphers,
 * from OpenSSL; the grid checks that opening undoes sealing at every boundary.
 * The large differential runs against OpenSSL are selftests.
 */

#include <kunit/test.h>
#include <linux/hex.h>
#include <linux/slab.h>

#include "qoff.h"

struct qoff_vec {
	const char *name;
	u8 cipher;
	u8 dcid_len;
	u8 pn_len;
	u8 phase;
	u64 pn;
	unsigned int payload;
	const char *packet;
};

/* Key byte i is 7i+1, IV 7i+0x51, HP key 7i+0x91, DCID 7i+0xc1, payload 7i+3 */
static const struct qoff_vec qoff_vecs[] = {
	{
		"aes-128-gcm", QUIC_OFFLOAD_CIPHER_AES_128_GCM,
		8, 2, 0, 0x123456789aULL, 20,
		"43c1c8cfd6dde4ebf26306db8e36d459d30a7d05a1b970f8be1bfcf97f3e9884be24d933388cf611d07c9995b7fe62"
	}, {
		"aes-256-gcm", QUIC_OFFLOAD_CIPHER_AES_256_GCM,
		20, 4, 1, QOFF_PN_MAX, 17,
		"4cc1c8cfd6dde4ebf2f900070e151c232a31383f469b5de88fb16c4da88a6c612f0ec595efd72078c84f4a3dcfbffaf85946c05b4156e700712a"
	}, {
		"chacha20-poly1305", QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305,
		5, 1, 1, 300, 31,
		"53c1c8cfd6ddfe03083ca52be599cccafc341816147844712d7c87dd5ce43dab5767113afab4643a9be60e40bcb7ff7c4e4ef758bd39"
	}, {
		"aes-128-ccm", QUIC_OFFLOAD_CIPHER_AES_128_CCM,
		0, 3, 0, 77, 9,
		"51ecd143840b31bafe06e7142fce0d395de7602df20efa471e0dd1f3f1"
	},
};

static void qoff_fill(u8 *p, unsigned int n, u8 start)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		p[i] = i * 7 + start;
}

/* A plain packet with room for the tag. Return: its length */
static unsigned int qoff_plain(u8 *p, const struct qoff_vec *v)
{
	unsigned int hdr_len = 1 + v->dcid_len + v->pn_len, i;

	p[0] = QOFF_B0_FIXED | (v->phase ? QOFF_B0_PHASE : 0) | (v->pn_len - 1);
	qoff_fill(p + 1, v->dcid_len, 0xc1);
	for (i = 0; i < v->pn_len; i++)
		p[hdr_len - 1 - i] = v->pn >> (8 * i);
	qoff_fill(p + hdr_len, v->payload, 3);
	memset(p + hdr_len + v->payload, 0, QOFF_TAG_SIZE);
	return hdr_len + v->payload + QOFF_TAG_SIZE;
}

struct qoff_test_keys {
	struct qoff_hp *hp;
	struct qoff_key *key;
	struct qoff_rxkeys rx;
	struct qoff_crypt *process;
	struct qoff_crypt *atomic;
};

static void qoff_keys_setup(struct kunit *test, struct qoff_test_keys *k,
			    u8 cipher, u8 phase)
{
	const struct qoff_cipher_info *info = qoff_cipher_info(cipher);
	u8 raw[QOFF_MAX_KEY], hp[QOFF_MAX_KEY], iv[QOFF_IV_SIZE];

	memset(k, 0, sizeof(*k));
	qoff_fill(raw, info->key_len, 1);
	qoff_fill(iv, sizeof(iv), 0x51);
	qoff_fill(hp, info->hp_len, 0x91);
	k->hp = qoff_hp_alloc(cipher, hp);
	KUNIT_ASSERT_FALSE(test, IS_ERR(k->hp));
	k->key = qoff_key_alloc(cipher, k->hp, raw, iv, phase, 42);
	KUNIT_ASSERT_FALSE(test, IS_ERR(k->key));
	k->process = qoff_crypt_alloc(k->hp, 4, false, GFP_KERNEL);
	k->atomic = qoff_crypt_alloc(k->hp, 4, true, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, k->process);
	KUNIT_ASSERT_NOT_NULL(test, k->atomic);
	spin_lock_init(&k->rx.lock);
	k->rx.cipher = cipher;
	k->rx.hp = k->hp;
	RCU_INIT_POINTER(k->rx.slot[phase], k->key);
}

static void qoff_keys_free(struct qoff_test_keys *k)
{
	qoff_crypt_free(k->atomic);
	qoff_crypt_free(k->process);
	qoff_key_put(k->key);
	qoff_hp_put(k->hp);
}

static void qoff_test_vectors(struct kunit *test)
{
	u8 want[96], buf[96], plain[96];
	struct qoff_test_keys k;
	struct qoff_pkt p = {};
	unsigned int i, pass;

	for (i = 0; i < ARRAY_SIZE(qoff_vecs); i++) {
		const struct qoff_vec *v = &qoff_vecs[i];

		qoff_keys_setup(test, &k, v->cipher, v->phase);
		KUNIT_ASSERT_EQ(test, hex2bin(want, v->packet,
					      strlen(v->packet) / 2), 0);
		for (pass = 0; pass < 2; pass++) {
			p.len = qoff_plain(plain, v);
			memcpy(buf, plain, p.len);
			p.data = buf;
			p.pn = v->pn;
			KUNIT_ASSERT_EQ(test, p.len, strlen(v->packet) / 2);
			KUNIT_EXPECT_EQ(test, qoff_seal_check(buf, p.len, v->dcid_len,
							      v->pn, false), 0);
			KUNIT_ASSERT_EQ(test, qoff_seal(k.key, v->dcid_len, &p, 1,
							pass ? k.atomic : k.process), 0);
			KUNIT_EXPECT_MEMEQ_MSG(test, buf, want, p.len, "%s", v->name);
		}
		k.rx.next_pn = v->pn;
		qoff_open(&k.rx, v->dcid_len, &p, 1, k.process);
		KUNIT_EXPECT_EQ(test, p.status, QOFF_RX_OPENED);
		KUNIT_EXPECT_EQ(test, p.pn, v->pn);
		KUNIT_EXPECT_EQ(test, p.key_gen, 42);
		KUNIT_EXPECT_EQ(test, k.rx.next_pn, v->pn + 1);
		KUNIT_EXPECT_MEMEQ_MSG(test, buf, plain, p.len, "%s", v->name);
		qoff_keys_free(&k);
	}
}

/* RFC 9001 appendix A.5, the only published 1-RTT packet */
static void qoff_test_rfc9001_a5(struct kunit *test)
{
	static const char *const hex[] = {
		"c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8",
		"e0459b3474bdd0e44a41c144",
		"25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4",
		"4cfe4189655e5cd55c41f69080575d7999c25a5bfb",
	};
	u8 raw[32], iv[12], hpk[32], want[21];
	u8 buf[21] = { 0x42, 0x00, 0xbf, 0xf4, 0x01 };
	struct qoff_pkt p = { .data = buf, .len = 21, .pn = 654360564 };
	struct qoff_crypt *c;
	struct qoff_key *key;
	struct qoff_hp *hp;

	KUNIT_ASSERT_EQ(test, hex2bin(raw, hex[0], 32), 0);
	KUNIT_ASSERT_EQ(test, hex2bin(iv, hex[1], 12), 0);
	KUNIT_ASSERT_EQ(test, hex2bin(hpk, hex[2], 32), 0);
	KUNIT_ASSERT_EQ(test, hex2bin(want, hex[3], 21), 0);
	hp = qoff_hp_alloc(QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305, hpk);
	KUNIT_ASSERT_FALSE(test, IS_ERR(hp));
	key = qoff_key_alloc(QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305, hp, raw, iv, 0, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(key));
	c = qoff_crypt_alloc(hp, 1, false, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);

	KUNIT_EXPECT_EQ(test, qoff_seal_check(buf, 21, 0, p.pn, false), 0);
	KUNIT_EXPECT_EQ(test, qoff_seal(key, 0, &p, 1, c), 0);
	KUNIT_EXPECT_MEMEQ(test, buf, want, 21);

	qoff_crypt_free(c);
	qoff_key_put(key);
	qoff_hp_put(hp);
}

static void qoff_grid_one(struct kunit *test, struct qoff_test_keys *k,
			  const struct qoff_vec *v, u8 *buf, u8 *plain)
{
	struct qoff_pkt p = { .data = buf, .pn = v->pn };

	p.len = qoff_plain(plain, v);
	memcpy(buf, plain, p.len);
	if (p.len < qoff_min_len(v->dcid_len)) {
		KUNIT_EXPECT_EQ(test, qoff_seal_check(buf, p.len, v->dcid_len,
						      v->pn, false), -EINVAL);
		return;
	}
	KUNIT_EXPECT_EQ(test, qoff_seal(k->key, v->dcid_len, &p, 1, k->process), 0);

	/* A flipped bit anywhere, here in the last byte, is a failure. Inside the
	 * HP sample it may also turn the phase bit, to a slot without a key.
	 */
	buf[p.len - 1] ^= 1;
	k->rx.next_pn = v->pn;
	qoff_open(&k->rx, v->dcid_len, &p, 1, k->process);
	if (p.len > qoff_min_len(v->dcid_len))
		KUNIT_EXPECT_EQ(test, p.status, QOFF_RX_FAILED);
	else
		KUNIT_EXPECT_NE(test, p.status, QOFF_RX_OPENED);
	KUNIT_EXPECT_EQ(test, k->rx.next_pn, v->pn);

	memcpy(buf, plain, p.len);
	p.pn = v->pn;
	KUNIT_EXPECT_EQ(test, qoff_seal(k->key, v->dcid_len, &p, 1, k->atomic), 0);
	qoff_open(&k->rx, v->dcid_len, &p, 1, k->process);
	KUNIT_EXPECT_EQ(test, p.status, QOFF_RX_OPENED);
	KUNIT_EXPECT_EQ(test, p.pn, v->pn);
	KUNIT_EXPECT_EQ(test, p.hdr_len, 1 + v->dcid_len + v->pn_len);
	KUNIT_EXPECT_MEMEQ_MSG(test, buf, plain, p.len,
			       "cipher %u dcid %u pn_len %u payload %u phase %u",
			       v->cipher, v->dcid_len, v->pn_len, v->payload, v->phase);
}

static void qoff_test_grid(struct kunit *test)
{
	static const unsigned int payloads[] = {
		0, 1, 2, 3, 4, 15, 16, 17, 63, 64, 65, 1171, 1435, 8936
	};
	static const u8 dcids[] = { 0, 1, 7, 8, 9, 19, 20 };
	struct qoff_test_keys k;
	struct qoff_vec v = {};
	unsigned int d, n, l;
	u8 *buf, *plain;

	buf = kunit_kmalloc(test, 9216, GFP_KERNEL);
	plain = kunit_kmalloc(test, 9216, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_ASSERT_NOT_NULL(test, plain);

	for (v.cipher = 1; v.cipher <= QUIC_OFFLOAD_CIPHER_AES_128_CCM; v.cipher++)
		for (v.phase = 0; v.phase < 2; v.phase++) {
			qoff_keys_setup(test, &k, v.cipher, v.phase);
			for (d = 0; d < ARRAY_SIZE(dcids); d++)
				for (n = 1; n <= 4; n++)
					for (l = 0; l < ARRAY_SIZE(payloads); l++) {
						v.dcid_len = dcids[d];
						v.pn_len = n;
						v.payload = payloads[l];
						v.pn = 0x8000 + l;
						qoff_grid_one(test, &k, &v, buf, plain);
					}
			qoff_keys_free(&k);
		}
}

/* What must not be opened, and what it is then called */
static void qoff_test_not_opened(struct kunit *test)
{
	const struct qoff_vec v = {
		.cipher = QUIC_OFFLOAD_CIPHER_AES_128_GCM, .dcid_len = 8,
		.pn_len = 2, .phase = 1, .pn = 5, .payload = 40,
	};
	u8 buf[4][96] = {};
	struct qoff_pkt p[4];
	struct qoff_test_keys k;
	unsigned int i;

	qoff_keys_setup(test, &k, v.cipher, 0);
	for (i = 0; i < 4; i++) {
		p[i] = (struct qoff_pkt){ .data = buf[i], .pn = v.pn };
		p[i].len = qoff_plain(buf[i], &v);
	}
	KUNIT_ASSERT_EQ(test, qoff_seal(k.key, v.dcid_len, p, 4, k.process), 0);
	buf[1][0] = 0xc0;
	p[2].len = qoff_min_len(v.dcid_len) - 1;
	p[3].len = 0;
	qoff_open(&k.rx, v.dcid_len, p, 4, k.process);
	KUNIT_EXPECT_EQ(test, p[0].status, QOFF_RX_NO_PHASE);
	KUNIT_EXPECT_EQ(test, p[1].status, QOFF_RX_LONG_HEADER);
	KUNIT_EXPECT_EQ(test, p[2].status, QOFF_RX_FAILED);
	KUNIT_EXPECT_EQ(test, p[3].status, QOFF_RX_LONG_HEADER);
	KUNIT_EXPECT_EQ(test, k.rx.next_pn, 0);
	qoff_keys_free(&k);
}

static void qoff_test_pn(struct kunit *test)
{
	static const struct {
		u64 next;
		u32 pn;
		u8 n;
		u64 want;
	} t[] = {
		{ 0xa82f30ebULL, 0x9b32, 2, 0xa82f9b32ULL }, /* RFC 9000 A.3 */
		{ 0, 0, 1, 0 },
		{ 0, 0xff, 1, 0xff },
		{ 1, 0x00, 4, 0 },
		{ 0x100, 0xff, 1, 0xff },
		{ 0xff, 0x00, 1, 0x100 },
		{ 0x80, 0x00, 1, 0x100 },	/* exactly half a window: up */
		{ 0x17f, 0xff, 1, 0x1ff },	/* exactly half a window: same */
		{ 0x17e, 0xff, 1, 0xff },
		{ QOFF_PN_MAX, 0xff, 1, QOFF_PN_MAX },
		{ QOFF_PN_MAX + 1, 0xff, 1, QOFF_PN_MAX },
		{ QOFF_PN_MAX + 1, 0x00, 1, QOFF_PN_MAX - 0xff },
		{ QOFF_PN_MAX, 0xffffffff, 4, QOFF_PN_MAX },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		KUNIT_EXPECT_EQ_MSG(test, qoff_pn_expand(t[i].next, t[i].pn, t[i].n),
				    t[i].want, "row %u", i);
}

static void qoff_test_seal_check(struct kunit *test)
{
	static const struct {
		u8 b0;
		unsigned int len;
		u64 pn;
		bool grease;
		int want;
	} t[] = {
		{ 0x41, 100, 0x0102, false, 0 },
		{ 0x41, 100, 0x990102, false, 0 },
		{ 0x41, 100, 0x0103, false, -EBADMSG },
		{ 0x41, 28, 0x0102, false, -EINVAL },
		{ 0x41, 29, 0x0102, false, 0 },
		{ 0xc1, 100, 0x0102, false, -EPROTO },
		{ 0x49, 100, 0x0102, false, -EPROTO },
		{ 0x51, 100, 0x0102, false, -EPROTO },
		{ 0x01, 100, 0x0102, false, -EPROTO },
		{ 0x01, 100, 0x0102, true, 0 },
		{ 0x41, 100, QOFF_PN_MAX + 0x103, false, -ERANGE },
	};
	u8 hdr[13] = { [9] = 0x01, [10] = 0x02 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		hdr[0] = t[i].b0;
		KUNIT_EXPECT_EQ_MSG(test, qoff_seal_check(hdr, t[i].len, 8, t[i].pn,
							  t[i].grease),
				    t[i].want, "row %u", i);
	}
}

static struct kunit_case qoff_crypto_cases[] = {
	KUNIT_CASE(qoff_test_pn),
	KUNIT_CASE(qoff_test_seal_check),
	KUNIT_CASE(qoff_test_rfc9001_a5),
	KUNIT_CASE(qoff_test_vectors),
	KUNIT_CASE_SLOW(qoff_test_grid),
	KUNIT_CASE(qoff_test_not_opened),
	{}
};

static struct kunit_suite qoff_crypto_suite = {
	.name = "quic_offload_crypto",
	.test_cases = qoff_crypto_cases,
};

kunit_test_suite(qoff_crypto_suite);
