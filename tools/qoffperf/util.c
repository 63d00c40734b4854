// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

static void vwarnx(const char *fmt, va_list ap)
{
	fflush(stdout);
	fputs("qoffperf: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void warnx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vwarnx(fmt, ap);
	va_end(ap);
}

void die(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vwarnx(fmt, ap);
	va_end(ap);
	exit(code);
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die(EXIT_FAILED, "out of memory (%zu x %zu bytes)", n, size);
	return p;
}

/**
 * parse_size - read a number with an optional binary suffix
 * @s: digits, then nothing or one of K, M, G, T
 * @val: the result
 *
 * Return: 0, -EINVAL for what is no number, -ERANGE for an overflow.
 */
int parse_size(const char *s, u64 *val)
{
	static const char suffix[] = "kmgt";
	unsigned long long v;
	const char *pos;
	int shift = 0;
	char *end;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 0);
	if (errno)
		return -ERANGE;
	if (*end) {
		pos = strchr(suffix, tolower((unsigned char)*end));
		if (!pos || !*pos || end[1])
			return -EINVAL;
		shift = 10 * (pos - suffix + 1);
		if (v >> (64 - shift))
			return -ERANGE;
	}
	*val = (u64)v << shift;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes at most @max bytes; a longer or an odd string is -EINVAL. */
int hex_decode(const char *s, u8 *out, size_t max, size_t *len)
{
	size_t n = strlen(s), i;
	int hi, lo;

	if (n % 2 || n / 2 > max)
		return -EINVAL;
	for (i = 0; i < n / 2; i++) {
		hi = hex_digit(s[2 * i]);
		lo = hex_digit(s[2 * i + 1]);
		if (hi < 0 || lo < 0)
			return -EINVAL;
		out[i] = hi << 4 | lo;
	}
	*len = n / 2;
	return 0;
}

/* @out has room for 2 * @len + 1 characters. */
void hex_encode(const u8 *in, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < len; i++) {
		out[2 * i] = digits[in[i] >> 4];
		out[2 * i + 1] = digits[in[i] & 15];
	}
	out[2 * len] = '\0';
}
