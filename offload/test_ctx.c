// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: admission of packet numbers, the rule that one (key, packet number)
 * has one content.
 */

#include <kunit/test.h>

#include "qoff.h"

/* A context with two keys of consecutive generations, without their ciphers */
struct qoff_ctx_fixture {
	struct qoff_group group;
	struct qoff_ctx ctx;
	struct qoff_key key[2];
};

static struct qoff_ctx_fixture *qoff_fixture(struct kunit *test, u64 first_pn)
{
	struct qoff_ctx_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, f);
	spin_lock_init(&f->ctx.lock);
	f->ctx.group = &f->group;
	f->ctx.cipher = QUIC_OFFLOAD_CIPHER_AES_128_GCM;
	f->ctx.next_pn = first_pn;
	/* No event to a namespace that this group does not have */
	f->ctx.warned = true;
	for (i = 0; i < 2; i++) {
		f->key[i].phase = i;
		f->key[i].gen = i;
		RCU_INIT_POINTER(f->ctx.slot[i], &f->key[i]);
	}
	return f;
}

static void qoff_test_admit_order(struct kunit *test)
{
	static const struct {
		u64 first;
		u64 last;
		unsigned int n;
		int want;
		u64 next;
	} t[] = {
		{ 9, 9, 1, -ESTALE, 10 },	/* below first_pn */
		{ 10, 10, 1, 0, 11 },
		{ 10, 10, 1, -ESTALE, 11 },	/* the same again */
		{ 10, 20, 11, -ESTALE, 11 },	/* overlaps */
		{ 11, 14, 4, 0, 15 },
		{ 14, 30, 17, -ESTALE, 15 },
		{ 100, 140, 3, 0, 141 },	/* a gap before and between */
		{ 141, 141, 1, 0, 142 },
		{ QOFF_PN_MAX, QOFF_PN_MAX, 1, 0, QOFF_PN_MAX + 1 },
		{ QOFF_PN_MAX, QOFF_PN_MAX, 1, -ESTALE, QOFF_PN_MAX + 1 },
	};
	struct qoff_ctx_fixture *f = qoff_fixture(test, 10);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		KUNIT_EXPECT_EQ_MSG(test, qoff_ctx_admit(&f->ctx, &f->key[0],
							 t[i].first, t[i].last,
							 t[i].n),
				    t[i].want, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, f->ctx.next_pn, t[i].next, "row %u", i);
	}
	KUNIT_EXPECT_EQ(test, f->key[0].used, 1 + 4 + 3 + 1 + 1);
}

static void qoff_test_admit_phase(struct kunit *test)
{
	struct qoff_ctx_fixture *f = qoff_fixture(test, 0);
	struct qoff_key third = { .phase = 0, .gen = 2 };

	KUNIT_EXPECT_EQ(test, qoff_ctx_admit(&f->ctx, &f->key[0], 0, 0, 1), 0);
	KUNIT_EXPECT_EQ(test, qoff_ctx_admit(&f->ctx, &f->key[1], 1, 1, 1), 0);
	/* Back to the older key: refused, and nothing is used up */
	KUNIT_EXPECT_EQ(test, qoff_ctx_admit(&f->ctx, &f->key[0], 2, 2, 1),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, f->key[0].used, 1);
	KUNIT_EXPECT_EQ(test, f->ctx.next_pn, 2);
	/* A key that its slot does not hold (any more) */
	KUNIT_EXPECT_EQ(test, qoff_ctx_admit(&f->ctx, &third, 2, 2, 1), -EAGAIN);
	RCU_INIT_POINTER(f->ctx.slot[0], &third);
	KUNIT_EXPECT_EQ(test, qoff_ctx_admit(&f->ctx, &third, 2, 2, 1), 0);
	KUNIT_EXPECT_EQ(test, qoff_ctx_admit(&f->ctx, &f->key[1], 3, 3, 1),
			-EINVAL);
}

static void qoff_test_admit_limit(struct kunit *test)
{
	struct qoff_ctx_fixture *f = qoff_fixture(test, 0);
	u64 limit = qoff_cipher_info(f->ctx.cipher)->seal_limit;

	f->key[0].used = limit - 3;
	KUNIT_EXPECT_EQ(test, qoff_ctx_admit(&f->ctx, &f->key[0], 0, 3, 4),
			-EKEYEXPIRED);
	KUNIT_EXPECT_EQ(test, f->ctx.next_pn, 0);
	KUNIT_EXPECT_EQ(test, qoff_ctx_admit(&f->ctx, &f->key[0], 0, 2, 3), 0);
	KUNIT_EXPECT_EQ(test, qoff_ctx_admit(&f->ctx, &f->key[0], 3, 3, 1),
			-EKEYEXPIRED);
	/* The next key has a limit of its own */
	f->key[1].used = 0;
	KUNIT_EXPECT_EQ(test, qoff_ctx_admit(&f->ctx, &f->key[1], 3, 3, 1), 0);
	/* and its event has not been sent yet */
	KUNIT_EXPECT_FALSE(test, f->ctx.warned);
}

static void qoff_test_admit_dead(struct kunit *test)
{
	struct qoff_ctx_fixture *f = qoff_fixture(test, 0);

	f->ctx.dead = true;
	KUNIT_EXPECT_EQ(test, qoff_ctx_admit(&f->ctx, &f->key[0], 0, 0, 1),
			-ESTALE);
	KUNIT_EXPECT_EQ(test, f->key[0].used, 0);
}

static struct kunit_case qoff_ctx_cases[] = {
	KUNIT_CASE(qoff_test_admit_order),
	KUNIT_CASE(qoff_test_admit_phase),
	KUNIT_CASE(qoff_test_admit_limit),
	KUNIT_CASE(qoff_test_admit_dead),
	{}
};

static struct kunit_suite qoff_ctx_suite = {
	.name = "quic_offload_ctx",
	.test_cases = qoff_ctx_cases,
};

kunit_test_suite(qoff_ctx_suite);

MODULE_DESCRIPTION("KUnit tests for QUIC offload");
MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
MODULE_LICENSE("GPL");
