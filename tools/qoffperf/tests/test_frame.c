// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "unit.h"

#include "frame.h"

static void put_and_get(u64 v, const u8 *bytes, size_t len)
{
	u8 buf[8];
	u64 got;

	assert_int_equal(varint_put(buf, v) - buf, len);
	assert_memory_equal(buf, bytes, len);
	assert_int_equal(varint_get(buf, buf + len, &got), len);
	assert_int_equal(got, v);
	assert_int_equal(varint_get(buf, buf + len - 1, &got), -EBADMSG);
}

/* RFC 9000 appendix A.1. */
static void test_varint(void **state)
{
	const u8 two_bytes_37[] = { 0x40, 0x25 };
	u64 v;

	put_and_get(151288809941952652ULL,
		    (u8[]){ 0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c }, 8);
	put_and_get(494878333, (u8[]){ 0x9d, 0x7f, 0x3e, 0x7d }, 4);
	put_and_get(15293, (u8[]){ 0x7b, 0xbd }, 2);
	put_and_get(37, (u8[]){ 0x25 }, 1);
	assert_int_equal(varint_get(two_bytes_37, two_bytes_37 + 2, &v), 2);
	assert_int_equal(v, 37);
}

/* RFC 9000 appendix A.2 and A.3, and the ends of the window. */
static void test_pn(void **state)
{
	assert_int_equal(pn_expand(0xa82f30ea, true, 0x9b32, 2), 0xa82f9b32);
	assert_int_equal(pn_expand(0, false, 0, 1), 0);
	assert_int_equal(pn_expand(0xff, true, 0x00, 1), 0x100);
	assert_int_equal(pn_expand(0x100, true, 0xff, 1), 0xff);
	assert_int_equal(pn_expand(0x17f, true, 0x00, 1), 0x200);
	assert_int_equal(pn_expand(0x17e, true, 0x00, 1), 0x100);
	assert_int_equal(pn_length(0xac5c02, 0xabe8b3, true), 2);
	assert_int_equal(pn_length(0xace8fe, 0xabe8b3, true), 3);
	assert_int_equal(pn_length(32766, 0, false), 2);
	assert_int_equal(pn_length(32767, 0, false), 3);
	assert_int_equal(pn_length(1 << 23, 0, false), 4);
}

static void make_ranges(struct ranges *s, const struct range *r, unsigned int n)
{
	ranges_init(s, 256, true);
	while (n--)
		assert_int_equal(ranges_add(s, r[n].lo, r[n].hi, NULL), 0);
}

static void test_ack(void **state)
{
	const struct range in[] = {
		{ 0, 1 }, { 3, 7 }, { 100, 70000 }, { 1 << 20, (1 << 20) + 1 },
		{ 1ULL << 40, (1ULL << 40) + 12345 },
	};
	struct ecn_counts none = {}, some = { 1, 70000, 3 };
	unsigned int n = ARRAY_SIZE(in), i;
	struct ranges s;
	struct frame f;
	size_t len;
	u8 buf[512];
	u64 lo, hi;

	make_ranges(&s, in, n);
	len = frame_put_ack(buf, sizeof(buf), &s, 77, &none, 32);
	assert_int_equal(frame_parse(buf, len, &f), len);
	assert_int_equal(f.type, FRAME_ACK);
	assert_false(f.ack_eliciting);
	assert_int_equal(f.ack.delay, 77);
	assert_int_equal(f.ack.largest, in[n - 1].hi - 1);
	for (i = n; i--; ) {
		assert_true(ack_iter_next(&f.ack.ranges, &lo, &hi));
		assert_int_equal(lo, in[i].lo);
		assert_int_equal(hi, in[i].hi - 1);
	}
	assert_false(ack_iter_next(&f.ack.ranges, &lo, &hi));
	for (i = 0; i < len; i++)	/* cut anywhere: refused */
		assert_int_equal(frame_parse(buf, i, &f), -EBADMSG);

	/* Fewer ranges, the newest, when told or when room is scarce. */
	len = frame_put_ack(buf, sizeof(buf), &s, 0, &some, 2);
	assert_int_equal(frame_parse(buf, len, &f), len);
	assert_int_equal(f.type, FRAME_ACK_ECN);
	assert_int_equal(f.ack.ranges.left, 2);
	assert_int_equal(f.ack.ect1, 70000);
	assert_int_equal(frame_put_ack(buf, 28, &s, 0, &none, 32), 0);
	len = frame_put_ack(buf, 29, &s, 0, &none, 32);
	assert_in_range(len, 1, 29);
	assert_int_equal(frame_parse(buf, len, &f), len);
	assert_int_equal(f.ack.ranges.left, 1);
	ranges_free(&s);
}

/* Ranges that reach below zero, or more of them than bytes. */
static void test_ack_malformed(void **state)
{
	static const u8 bad[][8] = {
		{ 0x02, 5, 0, 0, 6 },		/* first range longer than largest */
		{ 0x02, 5, 0, 1, 2, 2, 0 },	/* gap below 0 */
		{ 0x02, 5, 0, 1, 2, 0, 2 },	/* second range below 0 */
		{ 0x02, 5, 0, 0x3f, 0, 0, 0 },	/* 63 more ranges */
	};
	static const u8 good[] = { 0x02, 5, 0, 1, 2, 0, 1 };
	unsigned int i;
	struct frame f;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(frame_parse(bad[i], 8, &f), -EBADMSG);
	assert_int_equal(frame_parse(good, sizeof(good), &f), sizeof(good));
}

static void test_stream(void **state)
{
	const u8 with_len[] = { 0x0e, 4, 0x40, 9, 2, 'a', 'b', 0 };
	const u8 too_far[] = { 0x0c, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			       0xff, 0xff, 'x' };
	struct frame f;
	u8 buf[64], *p;
	int wide;

	assert_int_equal(frame_parse(with_len, sizeof(with_len), &f), 7);
	assert_int_equal(f.stream.id, 4);
	assert_int_equal(f.stream.off, 9);
	assert_int_equal(f.stream.len, 2);
	assert_memory_equal(f.stream.data, "ab", 2);
	assert_false(f.stream.fin);
	assert_int_equal(frame_parse(with_len, 6, &f), -EBADMSG);
	assert_int_equal(frame_parse(too_far, sizeof(too_far), &f), -EBADMSG);

	for (wide = 0; wide < 2; wide++) {
		p = frame_put_stream_hdr(buf, 1 << 20, wide, true);
		assert_int_equal(p - buf, frame_stream_hdr_size(wide));
		memcpy(p, "hello", 5);
		assert_int_equal(frame_parse(buf, p + 5 - buf, &f), p + 5 - buf);
		assert_int_equal(f.stream.off, 1 << 20);
		assert_int_equal(f.stream.len, 5);
		assert_true(f.stream.fin && f.ack_eliciting);
	}
}

static void test_others(void **state)
{
	const u8 padding[] = { 0, 0, 0, 1 };
	const u8 unknown[] = { 0x1e, 0 };
	const u8 lying_close[] = { 0x1d, 0, 5, 'a' };
	struct frame f;
	u8 buf[16];
	size_t len;

	assert_int_equal(frame_parse(padding, 4, &f), 3);
	assert_int_equal(f.type, FRAME_PADDING);
	assert_int_equal(frame_parse(padding + 3, 1, &f), 1);
	assert_true(f.type == FRAME_PING && f.ack_eliciting);
	assert_int_equal(frame_parse(unknown, 2, &f), -EBADMSG);
	assert_int_equal(frame_parse(padding, 0, &f), -EBADMSG);
	assert_int_equal(frame_parse(lying_close, 4, &f), -EBADMSG);
	len = frame_put_close(buf, sizeof(buf), 7);
	assert_int_equal(frame_parse(buf, len, &f), len);
	assert_int_equal(f.close.code, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_varint),
		cmocka_unit_test(test_pn),
		cmocka_unit_test(test_ack),
		cmocka_unit_test(test_ack_malformed),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
