// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The grid: every cipher, packet number length, connection ID length and phase,
 * payloads at boundaries; sealed, opened, and refused with any bit changed. And
 * the packet-number arithmetic, RFC 9000 appendix A.
 */
#include "test.h"

static const size_t payloads[] = { 0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 1179, 1183, 1440, 9000 };
static const uint64_t pns[] = { 0, 1, 255, 256, 65535, 65536, 0xac5c02, 654360564, 0xffffffff,
				1ULL << 32, QOFF_PN_MAX };

static uint64_t seed = 1;

/* One packet there and back; -EINVAL exactly if it has no sample. */
static void one(struct qoff_cipher *c, size_t dcid_len, unsigned int pn_len, size_t payload,
		unsigned int phase, uint64_t pn)
{
	size_t len = 1 + dcid_len + pn_len + payload + QOFF_TAG_SIZE;
	static uint8_t plain[16384], pkt[16384], keep[16384];
	uint8_t dcid[QOFF_MAX_DCID];
	unsigned int n, bit;
	uint64_t got;

	fill_random(&seed, dcid, sizeof(dcid));
	make_packet(&seed, plain, len, dcid, dcid_len, pn, pn_len, phase);
	memcpy(pkt, plain, len);
	if (len < qoff_min_len(dcid_len)) {
		assert_int_equal(qoff_seal(c, pkt, len, 1 + dcid_len, pn), -EINVAL);
		assert_memory_equal(pkt, plain, len);
		return;
	}
	assert_int_equal(qoff_seal(c, pkt, len, 1 + dcid_len, pn), 0);
	assert_memory_equal(pkt + 1, plain + 1, dcid_len);
	if (payload >= 15)
		assert_memory_not_equal(pkt + 1 + dcid_len + pn_len, plain + 1 + dcid_len + pn_len,
					payload);

	/* Raw stays raw: a failed open changes nothing. */
	bit = next_random(&seed) % (len * 8);
	memcpy(keep, pkt, len);
	keep[bit / 8] ^= 1 << bit % 8;
	memcpy(pkt, keep, len);
	assert_int_equal(qoff_open_packet(c, pkt, len, 1 + dcid_len, pn - 1, &got, &n), -EBADMSG);
	assert_memory_equal(pkt, keep, len);
	pkt[bit / 8] ^= 1 << bit % 8;

	assert_int_equal(qoff_open_packet(c, pkt, len, 1 + dcid_len, pn - 1, &got, &n), 0);
	assert_int_equal(got, pn);
	assert_int_equal(n, pn_len);
	assert_memory_equal(pkt, plain, len);
}

static void grid(uint32_t cipher)
{
	struct qoff_keys k = random_keys(&seed, cipher);
	struct qoff_cipher *c = qoff_cipher_new(&k);
	unsigned int at = 0;

	assert_non_null(c);
	for (size_t dcid = 0; dcid <= QOFF_MAX_DCID; dcid++)
		for (unsigned int n = 1; n <= 4; n++)
			for (size_t p = 0; p < ARRAY_SIZE(payloads); p++)
				for (unsigned int phase = 0; phase < 2; phase++)
					one(c, dcid, n, payloads[p], phase,
					    pns[at++ % ARRAY_SIZE(pns)]);
	qoff_cipher_free(c);
}

static void aes_128_gcm(void **state)
{
	grid(QUIC_OFFLOAD_CIPHER_AES_128_GCM);
}

static void aes_256_gcm(void **state)
{
	grid(QUIC_OFFLOAD_CIPHER_AES_256_GCM);
}

static void chacha20(void **state)
{
	grid(QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305);
}

static void aes_128_ccm(void **state)
{
	grid(QUIC_OFFLOAD_CIPHER_AES_128_CCM);
}

/* A packet number in the header that is not the given one's, and absurd offsets. */
static void refused(void **state)
{
	struct qoff_keys k = random_keys(&seed, QUIC_OFFLOAD_CIPHER_AES_128_GCM);
	struct qoff_cipher *c = qoff_cipher_new(&k);
	unsigned int n;
	uint8_t pkt[100];
	uint64_t pn;

	make_packet(&seed, pkt, sizeof(pkt), (const uint8_t *)"", 0, 7, 2, 0);
	assert_int_equal(qoff_seal(c, pkt, sizeof(pkt), 1, 8), -EINVAL);
	assert_int_equal(qoff_seal(c, pkt, sizeof(pkt), 0, 7), -EINVAL);
	assert_int_equal(qoff_seal(c, pkt, sizeof(pkt), 81, 7), -EINVAL);
	assert_int_equal(qoff_seal(c, pkt, sizeof(pkt), 101, 7), -EINVAL);
	assert_int_equal(qoff_seal(c, pkt, 0, 1, 7), -EINVAL);
	assert_int_equal(qoff_open_packet(c, pkt, 20, 1, 0, &pn, &n), -EINVAL);
	assert_int_equal(qoff_open_packet(c, pkt, 100, 200, 0, &pn, &n), -EINVAL);
	qoff_cipher_free(c);
}

static void pn_arithmetic(void **state)
{
	/* A.3 */
	assert_int_equal(qoff_pn_expand(0xa82f30ea + 1, 0x9b32, 2), 0xa82f9b32);
	assert_int_equal(qoff_pn_expand(0, 0, 1), 0);
	assert_int_equal(qoff_pn_expand(0, 255, 1), 255);
	assert_int_equal(qoff_pn_expand(256, 255, 1), 255);
	assert_int_equal(qoff_pn_expand(255, 0, 1), 256);
	assert_int_equal(qoff_pn_expand(QOFF_PN_MAX + 1, 0xff, 1), QOFF_PN_MAX);
	assert_true(qoff_pn_expand(QOFF_PN_MAX + 1, 0, 1) <= QOFF_PN_MAX);

	/* Whatever is within half a window of the expected one comes back. */
	for (unsigned int i = 0; i < 100000; i++) {
		unsigned int n = 1 + next_random(&seed) % 4;
		uint64_t half = 1ULL << (8 * n - 1);
		uint64_t next = next_random(&seed) >> (2 + next_random(&seed) % 62);
		uint64_t pn = next + next_random(&seed) % half;

		if (next_random(&seed) & 1 && next >= half)
			pn = next - next_random(&seed) % half;
		if (pn > QOFF_PN_MAX)
			continue;
		assert_int_equal(qoff_pn_expand(next, qoff_pn_truncate(pn, n), n), pn);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aes_128_gcm),
		cmocka_unit_test(aes_256_gcm),
		cmocka_unit_test(chacha20),
		cmocka_unit_test(aes_128_ccm),
		cmocka_unit_test(refused),
		cmocka_unit_test(pn_arithmetic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
