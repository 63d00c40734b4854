// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "unit.h"

#include "ranges.h"

#define N	200

/* The set and an array of flags must always say the same. */
static void compare(const struct ranges *s, const bool *model)
{
	unsigned int i, runs = 0;

	for (i = 0; i < N; i++) {
		assert_int_equal(ranges_has(s, i), model[i]);
		runs += model[i] && (!i || !model[i - 1]);
	}
	assert_int_equal(s->n, runs);
	for (i = 0; i < N && model[i]; i++)
		;
	assert_int_equal(ranges_prefix(s), i);
}

static void compare_gap(const struct ranges *s, const bool *model, u64 lo,
			u64 hi)
{
	struct range gap;

	for (; lo < hi && model[lo]; lo++)
		;
	assert_int_equal(ranges_gap(s, lo, hi, &gap), lo < hi);
	if (lo >= hi)
		return;
	assert_int_equal(gap.lo, lo);
	for (; lo < hi && !model[lo]; lo++)
		;
	assert_int_equal(gap.hi, lo);
}

static void test_model(void **state)
{
	unsigned int i, k;
	u64 seed, lo, hi, added, fresh;
	bool model[N];
	struct ranges s;

	for (seed = 1; seed <= 50; seed++) {
		u64 rng = seed;

		ranges_init(&s, N, false);
		memset(model, 0, sizeof(model));
		for (i = 0; i < 300; i++) {
			bool del = rng_next(&rng) % 3 == 0;

			lo = rng_next(&rng) % N;
			hi = min_t(u64, N, lo + rng_next(&rng) % 12);
			for (fresh = 0, k = lo; k < hi; k++) {
				fresh += !model[k];
				model[k] = !del;
			}
			if (del) {
				assert_int_equal(ranges_del(&s, lo, hi), 0);
			} else {
				assert_int_equal(ranges_add(&s, lo, hi, &added), 0);
				assert_int_equal(added, fresh);
			}
			compare(&s, model);
			compare_gap(&s, model, lo, N);
		}
		ranges_free(&s);
	}
}

/* A bounded set of packet numbers forgets the lowest and counts them as seen. */
static void test_drop_low(void **state)
{
	struct ranges s;
	u64 added, i;

	ranges_init(&s, 4, true);
	for (i = 0; i < 10; i++)
		assert_int_equal(ranges_add(&s, 10 * i, 10 * i + 2, &added), 0);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.floor, 52);
	assert_true(ranges_has(&s, 3));
	assert_false(ranges_has(&s, 55));
	assert_int_equal(ranges_add(&s, 5, 6, &added), 0);
	assert_int_equal(added, 0);
	/* Lower than all, at the bound: the newcomer itself is forgotten. */
	assert_int_equal(ranges_add(&s, 54, 55, &added), 0);
	assert_int_equal(added, 0);
	assert_int_equal(s.floor, 55);
	ranges_free(&s);
}

static void test_bound(void **state)
{
	struct ranges s;

	ranges_init(&s, 2, false);
	assert_int_equal(ranges_add(&s, 0, 10, NULL), 0);
	assert_int_equal(ranges_add(&s, 20, 30, NULL), 0);
	assert_int_equal(ranges_add(&s, 40, 50, NULL), -ENOSPC);
	assert_int_equal(ranges_del(&s, 22, 24), -ENOSPC);
	assert_true(ranges_has(&s, 23));
	assert_int_equal(ranges_add(&s, 10, 20, NULL), 0);
	assert_int_equal(s.n, 1);
	ranges_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_drop_low),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
