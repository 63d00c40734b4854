/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Small things of both programs.
 */
#ifndef H3_UTIL_H
#define H3_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define NSEC		1000000000ULL

extern const char *prog;
extern bool verbose;

void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void *xcalloc(size_t n, size_t size);
void random_bytes(void *p, size_t len);
/* A number with K, M or G; dies with @what when it is none or over @max. */
uint64_t parse_size(const char *what, const char *s, uint64_t max);

/* An IPv4 or IPv6 address, not a name? */
bool is_address(const char *host);

static inline uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

#endif /* H3_UTIL_H */
