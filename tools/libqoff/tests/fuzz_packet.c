// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Fuzz target: packets. Input: cipher, connection ID length, 8 bytes of packet
 * number, the packet. What is sealed opens to the same bytes; what does not open
 * is left as it was.
 */
#include "fuzz.h"
#include "priv.h"

static struct qoff_cipher *cipher(unsigned int id)
{
	static struct qoff_cipher *made[5];
	uint8_t secret[QOFF_MAX_SECRET] = { 1 };
	struct qoff_keys k;

	if (!made[id]) {
		CHECK(!qoff_derive_keys(QOFF_QUIC_V1, id, secret, qoff_secret_len(id), &k));
		made[id] = qoff_cipher_new(&k);
		CHECK(made[id]);
	}
	return made[id];
}

static void try_open(struct qoff_cipher *c, const uint8_t *in, uint8_t *p, size_t len, size_t off,
		     uint64_t pn)
{
	unsigned int n;
	uint64_t got;

	if (!qoff_open_packet(c, p, len, off, pn, &got, &n)) {
		CHECK(n >= 1 && n <= 4 && got <= QOFF_PN_MAX);
		return;
	}
	CHECK(!memcmp(p, in, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len, dcid, off;
	struct qoff_cipher *c;
	unsigned int n;
	uint64_t pn, got;
	uint8_t *p;
	bool right;

	if (size < 10)
		return 0;
	c = cipher(1 + data[0] % 4);
	dcid = data[1];
	off = 1 + dcid;
	memcpy(&pn, data + 2, sizeof(pn));
	data += 10;
	len = size - 10;
	p = malloc(len ? len : 1);
	CHECK(p);
	memcpy(p, data, len);

	right = dcid <= QOFF_MAX_DCID && len &&
		!qoff_seal_check(data, len, dcid, pn, false);
	if (!qoff_seal(c, p, len, off, pn)) {
		if (pn <= QOFF_PN_MAX) {
			CHECK(!qoff_open_packet(c, p, len, off, pn - 1, &got, &n));
			CHECK(got == pn);
			CHECK(!memcmp(p, data, len - QOFF_TAG_SIZE));
		}
	} else {
		CHECK(!right);
		CHECK(!memcmp(p, data, len));
	}
	memcpy(p, data, len);
	try_open(c, data, p, len, off, pn);
	free(p);
	return 0;
}

size_t fuzz_make(uint64_t *state, uint8_t *buf, size_t max)
{
	size_t dcid = fuzz_random(state) % 24, len = fuzz_random(state) % 128;
	unsigned int n = 1 + fuzz_random(state) % 4;
	uint64_t pn = fuzz_random(state) >> fuzz_random(state) % 64;

	for (size_t i = 0; i < 10 + len; i++)
		buf[i] = fuzz_random(state);
	buf[1] = dcid;
	memcpy(buf + 2, &pn, sizeof(pn));
	if (len && fuzz_random(state) % 4) {
		buf[10] = 0x40 | (n - 1);
		for (unsigned int i = 0; i < n && 1 + dcid + i < len; i++)
			buf[10 + 1 + dcid + i] = pn >> 8 * (n - 1 - i);
	}
	return 10 + len;
}
