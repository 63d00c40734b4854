// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Internet checksum, alone and while copying. Sums of 32-bit words in 64-bit
 * lanes: no carry to wait for, and lanes cannot overflow below 2^32 words.
 */
#include "pkt.h"

/* One build of each loop for processors with 256-bit integers, one for all. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
	!defined(__SANITIZE_ADDRESS__)
#define CSUM_CLONES	__attribute__((target_clones("avx2", "default")))
#else
#define CSUM_CLONES
#endif

/* An odd last byte is the first one of its word in memory. */
#if __BYTE_ORDER == __LITTLE_ENDIAN
#define CSUM_LAST_BYTE(b)	(b)
#else
#define CSUM_LAST_BYTE(b)	((u32)(b) << 8)
#endif

typedef u64 v4 __attribute__((vector_size(32), __aligned__(1), may_alias));

u16 nm_csum_add(u16 a, u16 b)
{
	u32 s = (u32)a + b;

	return (s & 0xffff) + (s >> 16);
}

/* A few bytes, as if zeros followed */
static __always_inline u64 csum_tail(u8 *dst, const u8 *p, u32 len)
{
	u64 s = 0, v;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&v, p, 8);
		if (dst) {
			memcpy(dst, &v, 8);
			dst += 8;
		}
		s += (v & 0xffffffff) + (v >> 32);
	}
	if (len & 4) {
		u32 w;

		memcpy(&w, p, 4);
		if (dst) {
			memcpy(dst, &w, 4);
			dst += 4;
		}
		s += w;
		p += 4;
	}
	if (len & 2) {
		u16 h;

		memcpy(&h, p, 2);
		if (dst) {
			memcpy(dst, &h, 2);
			dst += 2;
		}
		s += h;
		p += 2;
	}
	if (len & 1) {
		if (dst)
			*dst = *p;
		s += CSUM_LAST_BYTE(*p);
	}
	return s;
}

static __always_inline u64 csum_loop(u8 *dst, const u8 *p, u32 len)
{
	v4 lo = { }, hi = { };

	for (; len >= 64; len -= 64, p += 64) {
		v4 a = *(const v4 *)p, b = *(const v4 *)(p + 32);

		if (dst) {
			*(v4 *)dst = a;
			*(v4 *)(dst + 32) = b;
			dst += 64;
		}
		lo += (a & 0xffffffff) + (b & 0xffffffff);
		hi += (a >> 32) + (b >> 32);
	}
	if (len >= 32) {
		v4 a = *(const v4 *)p;

		if (dst) {
			*(v4 *)dst = a;
			dst += 32;
		}
		lo += a & 0xffffffff;
		hi += a >> 32;
		len -= 32;
		p += 32;
	}
	lo += hi;
	return lo[0] + lo[1] + lo[2] + lo[3] + csum_tail(dst, p, len);
}

CSUM_CLONES static u64 csum_read(const u8 *p, u32 len)
{
	return csum_loop(NULL, p, len);
}

CSUM_CLONES static u64 csum_copy(u8 *dst, const u8 *p, u32 len)
{
	return csum_loop(dst, p, len);
}

static u16 csum_fold(u64 v)
{
	v = (v & 0xffffffff) + (v >> 32);
	v = (v & 0xffffffff) + (v >> 32);
	v = (v & 0xffff) + (v >> 16);
	v = (v & 0xffff) + (v >> 16);
	return be16toh((v & 0xffff) + (v >> 16));
}

u16 nm_csum(const void *data, u32 len)
{
	/* Headers: not worth the way to the vectors and back */
	if (len < 64)
		return csum_fold(csum_tail(NULL, data, len));
	return csum_fold(csum_read(data, len));
}

u16 nm_csum_copy(void *dst, const void *src, u32 len)
{
	return csum_fold(csum_copy(dst, src, len));
}
