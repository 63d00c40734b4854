// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ranges.h"

void ranges_init(struct ranges *s, unsigned int max_ranges, bool drop_low)
{
	memset(s, 0, sizeof(*s));
	s->cap = min(max_ranges, 16U);
	s->max = max_ranges;
	s->drop_low = drop_low;
	s->r = xcalloc(s->cap, sizeof(*s->r));
}

void ranges_free(struct ranges *s)
{
	free(s->r);
	memset(s, 0, sizeof(*s));
}

/* Index of the first range that ends at or behind @v: candidates to touch @v. */
static unsigned int ranges_find(const struct ranges *s, u64 v)
{
	unsigned int lo = 0, hi = s->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (s->r[mid].hi < v)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool ranges_has(const struct ranges *s, u64 v)
{
	unsigned int i;

	if (v < s->floor)
		return true;
	i = ranges_find(s, v + 1);
	return i < s->n && s->r[i].lo <= v;
}

static void ranges_drop_lowest(struct ranges *s)
{
	s->floor = s->r[0].hi;
	s->n--;
	memmove(s->r, s->r + 1, s->n * sizeof(*s->r));
}

/* Makes room for one more range at @i; @i may shift when the lowest goes. */
static int ranges_open(struct ranges *s, unsigned int *i)
{
	struct range *r;

	if (s->n == s->max) {
		if (!s->drop_low)
			return -ENOSPC;
		if (!*i)	/* the newcomer itself is the lowest */
			return -EAGAIN;
		ranges_drop_lowest(s);
		(*i)--;
	}
	if (s->n == s->cap) {
		r = realloc(s->r, 2 * s->cap * sizeof(*r));
		if (!r)
			return -ENOMEM;
		s->r = r;
		s->cap *= 2;
	}
	memmove(s->r + *i + 1, s->r + *i, (s->n - *i) * sizeof(*s->r));
	s->n++;
	return 0;
}

/**
 * ranges_add - add [@lo, @hi)
 * @s: the set
 * @lo: first number
 * @hi: one behind the last
 * @added: if not NULL, how many numbers were new
 *
 * Return: 0, -ENOSPC at the bound of a set that must not forget, -ENOMEM.
 */
int ranges_add(struct ranges *s, u64 lo, u64 hi, u64 *added)
{
	unsigned int i, j;
	u64 had = 0;
	int err;

	if (added)
		*added = 0;
	lo = max(lo, s->floor);
	if (lo >= hi)
		return 0;

	/* In order, the usual case: the last range gets longer. */
	if (s->n && s->r[s->n - 1].hi == lo) {
		s->r[s->n - 1].hi = hi;
		if (added)
			*added = hi - lo;
		return 0;
	}

	i = ranges_find(s, lo);
	for (j = i; j < s->n && s->r[j].lo <= hi; j++) {
		u64 from = max(lo, s->r[j].lo);
		u64 to = min(hi, s->r[j].hi);

		had += to > from ? to - from : 0;
	}
	if (i == j) {
		err = ranges_open(s, &i);
		if (err == -EAGAIN) {
			s->floor = hi;
			return 0;
		}
		if (err)
			return err;
		s->r[i].lo = lo;
		s->r[i].hi = hi;
	} else {
		s->r[i].lo = min(lo, s->r[i].lo);
		s->r[i].hi = max(hi, s->r[j - 1].hi);
		memmove(s->r + i + 1, s->r + j, (s->n - j) * sizeof(*s->r));
		s->n -= j - i - 1;
	}
	if (added)
		*added = hi - lo - had;
	return 0;
}

/**
 * ranges_del - remove [@lo, @hi)
 * @s: the set
 * @lo: first number
 * @hi: one behind the last
 *
 * Return: 0, or -ENOSPC/-ENOMEM when a range would have to be split.
 */
int ranges_del(struct ranges *s, u64 lo, u64 hi)
{
	unsigned int i, j;
	int err;

	if (!s->n || lo >= hi)
		return 0;
	i = ranges_find(s, lo + 1);
	if (i < s->n && s->r[i].lo < lo && s->r[i].hi > hi) {
		unsigned int at = i + 1;

		err = ranges_open(s, &at);
		if (err)
			return err;
		s->r[at].lo = hi;
		s->r[at].hi = s->r[at - 1].hi;
		s->r[at - 1].hi = lo;
		return 0;
	}
	if (i < s->n && s->r[i].lo < lo) {
		s->r[i].hi = lo;
		i++;
	}
	for (j = i; j < s->n && s->r[j].hi <= hi; j++)
		;
	if (j < s->n && s->r[j].lo < hi)
		s->r[j].lo = hi;
	if (j > i) {
		memmove(s->r + i, s->r + j, (s->n - j) * sizeof(*s->r));
		s->n -= j - i;
	}
	return 0;
}

/* First part of [@lo, @hi) that is not in the set. */
bool ranges_gap(const struct ranges *s, u64 lo, u64 hi, struct range *gap)
{
	unsigned int i;

	lo = max(lo, s->floor);
	if (lo >= hi)
		return false;
	i = ranges_find(s, lo + 1);
	if (i < s->n && s->r[i].lo <= lo) {
		lo = s->r[i].hi;
		i++;
	}
	if (lo >= hi)
		return false;
	gap->lo = lo;
	gap->hi = i < s->n ? min(hi, s->r[i].lo) : hi;
	return true;
}

/* Length of the part of the set that begins at 0 and has no gap. */
u64 ranges_prefix(const struct ranges *s)
{
	if (!s->n || s->r[0].lo > s->floor)
		return s->floor;
	return s->r[0].hi;
}
