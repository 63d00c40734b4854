/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Small helpers that every file of qoffperf uses. */
#ifndef QOFFPERF_UTIL_H
#define QOFFPERF_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define __printf(a, b)	__attribute__((format(printf, a, b)))
#define __noreturn	__attribute__((noreturn))
#define NSEC_PER_SEC	1000000000ULL
#define NSEC_PER_MSEC	1000000ULL

/* Unique names: these nest. */
#define PASTE_(a, b)	a##b
#define PASTE(a, b)	PASTE_(a, b)
#define CHOOSE_(a, b, op, x, y) ({ __typeof__(a) x = (a); \
				   __typeof__(b) y = (b); x op y ? x : y; })
#define CHOOSE(a, b, op, n)	CHOOSE_(a, b, op, PASTE(_x, n), PASTE(_y, n))
#define min(a, b)	CHOOSE(a, b, <, __COUNTER__)
#define max(a, b)	CHOOSE(a, b, >, __COUNTER__)
#define min_t(t, a, b)	min((t)(a), (t)(b))
#define max_t(t, a, b)	max((t)(a), (t)(b))

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

/* Exit codes of the program. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,	/* the run failed: I/O, timeout, peer */
	EXIT_USAGE = 2,
	EXIT_WRONG_DATA = 3,	/* the run ended, but the bytes are wrong */
	EXIT_SKIP = 4,		/* this kernel lacks what was asked for */
};

static inline u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* One step of splitmix64: the seeded stream of lengths and bytes. */
static inline u64 rng_next(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline u64 roundup_pow2(u64 v)
{
	return v < 2 ? 1 : 1ULL << (64 - __builtin_clzll(v - 1));
}

void __printf(1, 2) warnx(const char *fmt, ...);
void __printf(2, 3) __noreturn die(int code, const char *fmt, ...);
void *xcalloc(size_t n, size_t size);
int parse_size(const char *s, u64 *val);
int hex_decode(const char *s, u8 *out, size_t max, size_t *len);
void hex_encode(const u8 *in, size_t len, char *out);

#endif /* QOFFPERF_UTIL_H */
