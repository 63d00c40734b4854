/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * QUIC packet protection by the letter of RFC 9001, one packet at a time, every
 * key expanded anew: what a device's bytes are compared with. Shares no code
 * with the model or the kernel.
 */
#ifndef QOFF_FW_REF_H
#define QOFF_FW_REF_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct ref_keys - keys of one direction and phase
 * @cipher: 1 AES-128-GCM, 2 AES-256-GCM, 3 ChaCha20-Poly1305, 4 AES-128-CCM
 * @path: path number of a multipath nonce, else 0
 */
struct ref_keys {
	unsigned int cipher;
	uint8_t key[32];
	uint8_t hp[32];
	uint8_t iv[12];
	uint32_t path;
};

/* @p: a packet of @len bytes, the last 16 for the tag; sealed in place */
bool ref_seal(const struct ref_keys *k, uint64_t pn, unsigned int dcid_len,
	      uint8_t *p, unsigned int len);
/* In place. @pn: the number in full. False: not authentic */
bool ref_open(const struct ref_keys *k, uint64_t pn, unsigned int dcid_len,
	      uint8_t *p, unsigned int len);
/* A plain packet: header with @pn cut to @pn_len bytes, payload from @seed */
void ref_plain(uint8_t *p, unsigned int len, const uint8_t *dcid,
	       unsigned int dcid_len, uint64_t pn, unsigned int pn_len,
	       unsigned int phase, uint32_t seed);

#endif /* QOFF_FW_REF_H */
