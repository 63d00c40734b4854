/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * QUIC packet arithmetic: what a 1-RTT packet looks like, nothing that holds
 * state.  Pure C without allocation or I/O, compiled by the framework, the
 * drivers, the device model, the library and the tests, so that there is one
 * copy of every rule.
 */
#ifndef _NET_QUIC_OFFLOAD_WIRE_H
#define _NET_QUIC_OFFLOAD_WIRE_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <linux/types.h>
#endif
#include <linux/quic_offload.h>

/* First byte of a packet, RFC 9000 sections 17.2 and 17.3.1 */
#define QOFF_B0_LONG		0x80
#define QOFF_B0_FIXED		0x40
#define QOFF_B0_RESERVED	0x18
#define QOFF_B0_PHASE		0x04
#define QOFF_B0_PN_LEN		0x03

/* What header protection covers of a short header's first byte */
#define QOFF_B0_HP_SHORT	0x1f

#define QOFF_HP_SAMPLE		16
#define QOFF_HP_MASK		5
#define QOFF_MAX_HDR		(1 + QOFF_MAX_DCID + 4)

/**
 * struct qoff_cipher_info - what a cipher needs and how long a key may live
 * @key_len: bytes of the AEAD key
 * @hp_len: bytes of the header-protection key
 * @seal_limit: packets one key may seal (RFC 9001 section 6.6)
 * @open_limit: packets that may fail to open under one connection's keys
 */
struct qoff_cipher_info {
	__u8 key_len;
	__u8 hp_len;
	__u64 seal_limit;
	__u64 open_limit;
};

/**
 * qoff_cipher_info() - look a cipher up
 * @cipher: enum quic_offload_cipher, untrusted
 *
 * The CCM limits are 2^21.5, rounded down.
 *
 * Return: its properties, %NULL for a number that names no cipher.
 */
static inline const struct qoff_cipher_info *qoff_cipher_info(unsigned int cipher)
{
	static const struct qoff_cipher_info info[] = {
		[QUIC_OFFLOAD_CIPHER_AES_128_GCM] = { 16, 16, 1ULL << 23, 1ULL << 52 },
		[QUIC_OFFLOAD_CIPHER_AES_256_GCM] = { 32, 32, 1ULL << 23, 1ULL << 52 },
		[QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305] = { 32, 32, QOFF_PN_MAX, 1ULL << 36 },
		[QUIC_OFFLOAD_CIPHER_AES_128_CCM] = { 16, 16, 2965820, 2965820 },
	};

	if (cipher > QUIC_OFFLOAD_CIPHER_AES_128_CCM || !info[cipher].key_len)
		return NULL;
	return &info[cipher];
}

static inline bool qoff_is_short(__u8 b0)
{
	return !(b0 & QOFF_B0_LONG);
}

/* Of an unprotected first byte */
static inline unsigned int qoff_pn_len(__u8 b0)
{
	return (b0 & QOFF_B0_PN_LEN) + 1;
}

static inline unsigned int qoff_phase(__u8 b0)
{
	return !!(b0 & QOFF_B0_PHASE);
}

/* Bytes from the start of a short-header packet to its HP sample. The sample
 * is taken as if the packet number had 4 bytes, RFC 9001 section 5.4.2.
 */
static inline unsigned int qoff_sample_off(unsigned int dcid_len)
{
	return 1 + dcid_len + 4;
}

/* The shortest packet, tag included, that has an HP sample */
static inline unsigned int qoff_min_len(unsigned int dcid_len)
{
	return qoff_sample_off(dcid_len) + QOFF_HP_SAMPLE;
}

/**
 * qoff_pn_get() - read a truncated packet number
 * @p: its first byte
 * @n: bytes, 1 to 4
 *
 * Return: the number, RFC 9000 section 17.1.
 */
static inline __u32 qoff_pn_get(const __u8 *p, unsigned int n)
{
	__u32 pn = 0;

	while (n--)
		pn = pn << 8 | *p++;
	return pn;
}

/* The bits of @pn that a packet number of @n bytes carries */
static inline __u32 qoff_pn_truncate(__u64 pn, unsigned int n)
{
	return n == 4 ? (__u32)pn : (__u32)(pn & ((1U << (8 * n)) - 1));
}

/**
 * qoff_pn_expand() - recover a packet number, RFC 9000 appendix A.3
 * @next: the number after the largest received one (0 if none was)
 * @pn: truncated number
 * @n: its bytes, 1 to 4
 *
 * Return: the number closest to @next that ends in @pn; always within
 * 0..QOFF_PN_MAX for @next up to QOFF_PN_MAX + 1.
 */
static inline __u64 qoff_pn_expand(__u64 next, __u32 pn, unsigned int n)
{
	__u64 win = 1ULL << (8 * n);
	__u64 half = win / 2;
	__u64 cand = (next & ~(win - 1)) | pn;

	if (next >= half && cand <= next - half && cand + win <= QOFF_PN_MAX)
		return cand + win;
	if (cand > next + half && cand >= win)
		return cand - win;
	if (cand > QOFF_PN_MAX)
		return cand - win;
	return cand;
}

/**
 * qoff_nonce() - the AEAD nonce of a packet, RFC 9001 section 5.3
 * @nonce: QOFF_IV_SIZE bytes, written
 * @iv: QOFF_IV_SIZE bytes of the key's IV
 * @pn: packet number in full
 */
static inline void qoff_nonce(__u8 *nonce, const __u8 *iv, __u64 pn)
{
	int i;

	memcpy(nonce, iv, QOFF_IV_SIZE);
	for (i = 0; i < 8; i++)
		nonce[QOFF_IV_SIZE - 1 - i] ^= (__u8)(pn >> (8 * i));
}

/**
 * qoff_hp_apply() - protect a short header in place
 * @hdr: the packet, its header linear
 * @dcid_len: bytes of its connection ID
 * @mask: QOFF_HP_MASK bytes, RFC 9001 section 5.4.1
 *
 * The packet-number length is read before it is covered.
 */
static inline void qoff_hp_apply(__u8 *hdr, unsigned int dcid_len,
				 const __u8 *mask)
{
	unsigned int n = qoff_pn_len(hdr[0]), i;

	hdr[0] ^= mask[0] & QOFF_B0_HP_SHORT;
	for (i = 0; i < n; i++)
		hdr[1 + dcid_len + i] ^= mask[1 + i];
}

/**
 * qoff_hp_remove() - unprotect a short header in place
 * @hdr: as for qoff_hp_apply()
 * @dcid_len: as for qoff_hp_apply()
 * @mask: as for qoff_hp_apply()
 *
 * Return: bytes of the packet number, 1 to 4.
 */
static inline unsigned int qoff_hp_remove(__u8 *hdr, unsigned int dcid_len,
					  const __u8 *mask)
{
	unsigned int n, i;

	hdr[0] ^= mask[0] & QOFF_B0_HP_SHORT;
	n = qoff_pn_len(hdr[0]);
	for (i = 0; i < n; i++)
		hdr[1 + dcid_len + i] ^= mask[1 + i];
	return n;
}

/**
 * qoff_seal_check() - may this packet be sealed?
 * @hdr: its first bytes, at least min(@len, 1 + @dcid_len + 4) of them
 * @len: length on the wire, tag included
 * @dcid_len: bytes of its connection ID, from the context
 * @pn: packet number in full, from the control message
 * @grease: the fixed bit may be clear (RFC 9287)
 *
 * Return: 0, or
 * * -EINVAL  too short for its HP sample
 * * -EPROTO  long header, fixed bit clear, or reserved bits set
 * * -ERANGE  the packet number exceeds 2^62-1
 * * -EBADMSG the header's truncated packet number is not that of @pn
 */
static inline int qoff_seal_check(const __u8 *hdr, unsigned int len,
				  unsigned int dcid_len, __u64 pn, bool grease)
{
	unsigned int n;

	if (len < qoff_min_len(dcid_len))
		return -EINVAL;
	if (!qoff_is_short(hdr[0]) || (hdr[0] & QOFF_B0_RESERVED))
		return -EPROTO;
	if (!(hdr[0] & QOFF_B0_FIXED) && !grease)
		return -EPROTO;
	if (pn > QOFF_PN_MAX)
		return -ERANGE;
	n = qoff_pn_len(hdr[0]);
	if (len < 1 + dcid_len + n + QOFF_TAG_SIZE)
		return -EINVAL;
	if (qoff_pn_get(hdr + 1 + dcid_len, n) != qoff_pn_truncate(pn, n))
		return -EBADMSG;
	return 0;
}

#endif /* _NET_QUIC_OFFLOAD_WIRE_H */
