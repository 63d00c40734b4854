/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the unit tests share.
 */
#ifndef QOFF_TEST_H
#define QOFF_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

static inline size_t unhex(const char *s, uint8_t *out)
{
	size_t n = strlen(s) / 2;

	for (size_t i = 0; i < n; i++) {
		unsigned int v;

		assert_int_equal(sscanf(s + 2 * i, "%2x", &v), 1);
		out[i] = v;
	}
	return n;
}

#define assert_hex(p, s) do {						\
	uint8_t want_[2048];						\
	assert_memory_equal(p, want_, unhex(s, want_));			\
} while (0)

/* A deterministic stream: splitmix64. */
static inline uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static inline void fill_random(uint64_t *state, void *p, size_t len)
{
	uint8_t *b = p;

	while (len--)
		*b++ = next_random(state);
}

static inline struct qoff_keys random_keys(uint64_t *state, uint32_t cipher)
{
	struct qoff_keys k;
	uint8_t secret[QOFF_MAX_SECRET];

	fill_random(state, secret, sizeof(secret));
	assert_int_equal(qoff_derive_keys(QOFF_QUIC_V1, cipher, secret, qoff_secret_len(cipher),
					  &k), 0);
	return k;
}

/* A short-header packet of @len bytes: header, random payload, room for the tag. */
static inline void make_packet(uint64_t *state, uint8_t *p, size_t len, const uint8_t *dcid,
			       size_t dcid_len, uint64_t pn, unsigned int pn_len,
			       unsigned int phase)
{
	fill_random(state, p, len);
	p[0] = QOFF_B0_FIXED | (next_random(state) & 1 ? 0x20 : 0) | phase << 2 | (pn_len - 1);
	memcpy(p + 1, dcid, dcid_len);
	for (unsigned int i = 0; i < pn_len; i++)
		p[1 + dcid_len + i] = pn >> 8 * (pn_len - 1 - i);
	memset(p + len - QOFF_TAG_SIZE, 0, QOFF_TAG_SIZE);
}

#endif /* QOFF_TEST_H */
