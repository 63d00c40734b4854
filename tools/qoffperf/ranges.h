/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef QOFFPERF_RANGES_H
#define QOFFPERF_RANGES_H

#include "util.h"

/* Half open: [lo, hi). */
struct range {
	u64 lo;
	u64 hi;
};

/**
 * struct ranges - a set of numbers as sorted, disjoint, non-adjacent ranges
 * @r: the ranges, ascending
 * @n: how many
 * @cap: how many fit before @r grows
 * @max: bound of @n
 * @floor: numbers below it count as present. It rises when @drop_low discards
 * @drop_low: at the bound forget the lowest range instead of failing
 *
 * Used for packet numbers (@drop_low: RFC 9000 section 13.2.3 lets a receiver
 * bound its state by forgetting the oldest) and for bytes of the stream.
 */
struct ranges {
	struct range *r;
	unsigned int n;
	unsigned int cap;
	unsigned int max;
	u64 floor;
	bool drop_low;
};

void ranges_init(struct ranges *s, unsigned int max_ranges, bool drop_low);
void ranges_free(struct ranges *s);
bool ranges_has(const struct ranges *s, u64 v);
int ranges_add(struct ranges *s, u64 lo, u64 hi, u64 *added);
int ranges_del(struct ranges *s, u64 lo, u64 hi);
bool ranges_gap(const struct ranges *s, u64 lo, u64 hi, struct range *gap);
u64 ranges_prefix(const struct ranges *s);

#endif /* QOFFPERF_RANGES_H */
