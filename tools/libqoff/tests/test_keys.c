// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Key derivation and single packets against RFC 9001 appendix A and RFC 9369
 * appendix A.
 */
#include "test.h"

static const char dcid[] = "8394c8f03e515708";

static void check_keys(uint32_t version, uint32_t cipher, const char *secret, const char *key,
		       const char *iv, const char *hp)
{
	uint8_t s[QOFF_MAX_SECRET];
	struct qoff_keys k;

	assert_int_equal(qoff_derive_keys(version, cipher, s, unhex(secret, s), &k), 0);
	assert_int_equal(k.key_len, strlen(key) / 2);
	assert_int_equal(k.hp_len, strlen(hp) / 2);
	assert_hex(k.key, key);
	assert_hex(k.iv, iv);
	assert_hex(k.hp, hp);
}

static void initial_v1(void **state)
{
	uint8_t id[20], client[32], server[32];

	assert_int_equal(qoff_derive_initial_secrets(QOFF_QUIC_V1, id, unhex(dcid, id), client,
						     server), 0);
	assert_hex(client, "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea");
	assert_hex(server, "3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b");
	check_keys(QOFF_QUIC_V1, QUIC_OFFLOAD_CIPHER_AES_128_GCM,
		   "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea",
		   "1f369613dd76d5467730efcbe3b1a22d", "fa044b2f42a3fd3b46fb255c",
		   "9f50449e04a0e810283a1e9933adedd2");
	check_keys(QOFF_QUIC_V1, QUIC_OFFLOAD_CIPHER_AES_128_GCM,
		   "3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b",
		   "cf3a5331653c364c88f0f379b6067e37", "0ac1493ca1905853b0bba03e",
		   "c206b8d9b9f0f37644430b490eeaa314");
}

static void initial_v2(void **state)
{
	uint8_t id[20], client[32], server[32];

	assert_int_equal(qoff_derive_initial_secrets(QOFF_QUIC_V2, id, unhex(dcid, id), client,
						     server), 0);
	assert_hex(client, "14ec9d6eb9fd7af83bf5a668bc17a7e283766aade7ecd0891f70f9ff7f4bf47b");
	assert_hex(server, "0263db1782731bf4588e7e4d93b7463907cb8cd8200b5da55a8bd488eafc37c1");
	check_keys(QOFF_QUIC_V2, QUIC_OFFLOAD_CIPHER_AES_128_GCM,
		   "14ec9d6eb9fd7af83bf5a668bc17a7e283766aade7ecd0891f70f9ff7f4bf47b",
		   "8b1a0bc121284290a29e0971b5cd045d", "91f73e2351d8fa91660e909f",
		   "45b95e15235d6f45a6b19cbcb0294ba9");
	check_keys(QOFF_QUIC_V2, QUIC_OFFLOAD_CIPHER_AES_128_GCM,
		   "0263db1782731bf4588e7e4d93b7463907cb8cd8200b5da55a8bd488eafc37c1",
		   "82db637861d55e1d011f19ea71d5d2a7", "dd13c276499c0249d3310652",
		   "edf6d05c83121201b436e16877593c3a");
}

/* Appendix A.5 of both: the one short-header vector there is. */
static void chacha_secret(uint32_t version, const char *key, const char *iv, const char *hp,
			  const char *ku, const char *packet)
{
	static const char secret[] =
		"9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b";
	uint32_t cipher = QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305;
	uint8_t s[32], next[32], pkt[21] = { 0x42, 0x00, 0xbf, 0xf4, 0x01 };
	unsigned int pn_len;
	struct qoff_cipher *c;
	struct qoff_keys k;
	uint64_t pn;

	check_keys(version, cipher, secret, key, iv, hp);
	unhex(secret, s);
	assert_int_equal(qoff_derive_next_secret(version, cipher, s, 32, next), 0);
	assert_hex(next, ku);

	assert_int_equal(qoff_derive_keys(version, cipher, s, 32, &k), 0);
	c = qoff_cipher_new(&k);
	assert_non_null(c);
	assert_int_equal(qoff_seal(c, pkt, sizeof(pkt), 1, 654360564), 0);
	assert_hex(pkt, packet);
	assert_int_equal(qoff_open_packet(c, pkt, sizeof(pkt), 1, 654360563, &pn, &pn_len), 0);
	assert_int_equal(pn, 654360564);
	assert_int_equal(pn_len, 3);
	assert_hex(pkt, "4200bff40100000000000000000000000000000000");
	qoff_cipher_free(c);
}

static void chacha_v1(void **state)
{
	chacha_secret(QOFF_QUIC_V1,
		      "c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8",
		      "e0459b3474bdd0e44a41c144",
		      "25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4",
		      "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9",
		      "4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
}

static void chacha_v2(void **state)
{
	chacha_secret(QOFF_QUIC_V2,
		      "3bfcddd72bcf02541d7fa0dd1f5f9eeea817e09a6963a0e6c7df0f9a1bab90f2",
		      "a6b5bc6ab7dafce30ffff5dd",
		      "d659760d2ba434a226fd37b35c69e2da8211d10c4f12538787d65645d5d1b8e2",
		      "c69374c49e3d2a9466fa689e49d476db5d0dfbc87d32ceeaa6343fd0ae4c7d88",
		      "5558b1c60ae7b6b932bc27d786f4bc2bb20f2162ba");
}

static struct qoff_cipher *initial_cipher(bool server_side)
{
	uint8_t id[20], client[32], server[32];
	struct qoff_keys k;

	assert_int_equal(qoff_derive_initial_secrets(QOFF_QUIC_V1, id, unhex(dcid, id), client,
						     server), 0);
	assert_int_equal(qoff_derive_keys(QOFF_QUIC_V1, QUIC_OFFLOAD_CIPHER_AES_128_GCM,
					  server_side ? server : client, 32, &k), 0);
	return qoff_cipher_new(&k);
}

/* A.2: 1200 bytes. The tag depends on each of them. */
static void client_initial(void **state)
{
	static const char hdr[] = "c300000001088394c8f03e5157080000449e00000002";
	static const char crypto[] =
		"060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e868"
		"04fe3a47f06a2b69484c00000413011302010000c000000010000e00000b6578"
		"616d706c652e636f6dff01000100000a00080006001d00170018001000070005"
		"04616c706e000500050100000000003300260024001d00209370b2c9caa47fba"
		"baf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b000302030400"
		"0d0010000e0403050306030203080408050806002d00020101001c0002400100"
		"3900320408ffffffffffffffff05048000ffff07048000ffff08011001048000"
		"75300901100f088394c8f03e51570806048000ffff";
	struct qoff_cipher *c = initial_cipher(false);
	uint8_t pkt[1200] = { 0 };
	unsigned int pn_len;
	uint64_t pn;

	unhex(crypto, pkt + unhex(hdr, pkt));
	assert_non_null(c);
	assert_int_equal(qoff_seal(c, pkt, sizeof(pkt), 18, 2), 0);
	assert_hex(pkt, "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11"
		   "d242b123dc9bd8bab936b47d92ec356c0bab7df5976d27cd449f63300099f399");
	assert_hex(pkt + 1200 - 16, "e221af44860018ab0856972e194cd934");
	assert_int_equal(qoff_open_packet(c, pkt, sizeof(pkt), 18, QOFF_PN_NONE, &pn, &pn_len), 0);
	assert_int_equal(pn, 2);
	assert_int_equal(pn_len, 4);
	assert_hex(pkt, hdr);
	qoff_cipher_free(c);
}

/* A.3 */
static void server_initial(void **state)
{
	static const char plain[] =
		"c1000000010008f067a5502a4262b50040750001"
		"02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf739"
		"88cfc79825df566dc5430b9a045a1200130100002e00330024001d00209d3c94"
		"0d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00"
		"020304";
	struct qoff_cipher *c = initial_cipher(true);
	uint8_t pkt[256] = { 0 };
	size_t len = unhex(plain, pkt) + QOFF_TAG_SIZE;

	assert_non_null(c);
	assert_int_equal(qoff_seal(c, pkt, len, 18, 1), 0);
	assert_hex(pkt, "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a"
		   "5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3"
		   "dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84"
		   "022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc4"
		   "2158407dd074ee");
	qoff_cipher_free(c);
}

static void refused(void **state)
{
	uint8_t s[QOFF_MAX_SECRET] = { 0 }, a[32], b[32];
	uint32_t gcm = QUIC_OFFLOAD_CIPHER_AES_128_GCM;
	struct qoff_keys k;

	assert_int_equal(qoff_derive_keys(2, gcm, s, 32, &k), -EINVAL);
	assert_int_equal(qoff_derive_keys(QOFF_QUIC_V1, 0, s, 32, &k), -EINVAL);
	assert_int_equal(qoff_derive_keys(QOFF_QUIC_V1, 5, s, 32, &k), -EINVAL);
	assert_int_equal(qoff_derive_keys(QOFF_QUIC_V1, gcm, s, 48, &k), -EINVAL);
	assert_int_equal(qoff_derive_keys(QOFF_QUIC_V1, gcm, s, 31, &k), -EINVAL);
	assert_int_equal(qoff_derive_keys(QOFF_QUIC_V1, QUIC_OFFLOAD_CIPHER_AES_256_GCM, s, 32,
					  &k), -EINVAL);
	assert_int_equal(qoff_derive_next_secret(QOFF_QUIC_V1, gcm, s, 33, a), -EINVAL);
	assert_int_equal(qoff_derive_initial_secrets(3, s, 8, a, b), -EINVAL);
	assert_int_equal(qoff_derive_initial_secrets(QOFF_QUIC_V1, s, 21, a, b), -EINVAL);
	assert_true(strlen(qoff_error()) > 0);

	assert_int_equal(qoff_derive_keys(QOFF_QUIC_V1, gcm, s, 32, &k), 0);
	k.hp_len = 32;
	assert_null(qoff_cipher_new(&k));
	assert_int_equal(errno, EINVAL);
}

static void names(void **state)
{
	for (uint32_t i = 1; i <= 4; i++)
		assert_int_equal(qoff_cipher_by_name(qoff_cipher_name(i)), i);
	assert_null(qoff_cipher_name(0));
	assert_null(qoff_cipher_name(5));
	assert_int_equal(qoff_cipher_by_name("des"), 0);
	assert_string_equal(qoff_stat_name(QUIC_OFFLOAD_A_STATS_RX_NO_PHASE), "rx-no-phase");
	assert_null(qoff_stat_name(0));
	assert_string_equal(qoff_feature_name(QUIC_OFFLOAD_FEATURE_RX_CRYPTO), "quic-rx-crypto");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(initial_v1),
		cmocka_unit_test(initial_v2),
		cmocka_unit_test(chacha_v1),
		cmocka_unit_test(chacha_v2),
		cmocka_unit_test(client_initial),
		cmocka_unit_test(server_initial),
		cmocka_unit_test(refused),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
