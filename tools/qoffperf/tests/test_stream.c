// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A stream's end against a peer that lies. */
#include "unit.h"

#include "stream.h"

#define SIZE	100000
#define WINDOW	65536

static int give(struct stream_rx *s, u64 id, u64 off, u64 len, bool fin)
{
	static u8 zeros[SIZE];
	struct frame_stream f = {
		.id = id, .off = off, .len = len, .fin = fin, .data = zeros,
	};
	int err = stream_rx_data(s, &f);

	return err ? err : stream_rx_batch_end(s);
}

static void test_refused(void **state)
{
	struct stream_rx s;

	assert_int_equal(stream_rx_init(&s, SIZE, WINDOW, HASH_INLINE, -1, 0), 0);
	assert_int_equal(give(&s, 4, 0, 10, false), -EPROTO);
	assert_int_equal(give(&s, 0, SIZE, 1, false), -EPROTO);
	assert_int_equal(give(&s, 0, 0, 10, true), -EPROTO);
	assert_int_equal(give(&s, 0, WINDOW - 9, 10, false), -EPROTO);
	assert_int_equal(give(&s, 0, VARINT_MAX - 1, 1, false), -EPROTO);
	assert_int_equal(s.have.n, 0);
	/* The last byte of the window is accepted, and moves nothing. */
	assert_int_equal(give(&s, 0, WINDOW - 10, 10, false), 0);
	assert_int_equal(ranges_prefix(&s.have), 0);
	assert_int_equal(give(&s, 0, 0, WINDOW, false), 0);
	assert_int_equal(s.duplicate_bytes, 10);
	assert_int_equal(s.hashed, WINDOW);
	assert_int_equal(give(&s, 0, WINDOW, SIZE - WINDOW, false), 0);
	assert_false(stream_rx_done(&s));	/* all bytes, but no end yet */
	assert_int_equal(give(&s, 0, SIZE, 0, true), 0);
	assert_true(stream_rx_done(&s));
	stream_rx_free(&s);
}

/* What was acknowledged meanwhile is not sent again. */
static void test_lost_then_acked(void **state)
{
	struct sent_data d[4], lost;
	struct stream_tx s;
	unsigned int i;

	stream_tx_init(&s, NULL, 0, 4000, WINDOW);
	for (i = 0; i < 4; i++)
		assert_true(stream_tx_take(&s, 1000, &d[i]));
	assert_true(d[3].fin);
	assert_false(stream_tx_take(&s, 1000, &lost));
	stream_tx_acked(&s, 1200, 300, false);
	stream_tx_lost(&s, &d[1]);
	assert_int_equal(stream_tx_pending(&s), 700);
	stream_tx_acked(&s, 1000, 100, false);
	assert_true(stream_tx_take(&s, 1000, &lost));
	assert_int_equal(lost.off, 1100);
	assert_int_equal(lost.len, 100);
	assert_true(stream_tx_take(&s, 300, &lost));
	assert_int_equal(lost.off, 1500);
	assert_int_equal(lost.len, 300);
	/* The end comes again although its bytes are there. */
	stream_tx_acked(&s, 0, 4000, false);
	assert_false(stream_tx_done(&s));
	stream_tx_lost(&s, &d[3]);
	assert_int_equal(stream_tx_pending(&s), 1);
	assert_true(stream_tx_take(&s, 1000, &lost));
	assert_true(lost.fin && !lost.len);
	stream_tx_acked(&s, 4000, 0, true);
	assert_true(stream_tx_done(&s));
	stream_tx_free(&s);
}

static void test_window(void **state)
{
	struct stream_tx s;
	struct sent_data d;
	u64 sent = 0;

	stream_tx_init(&s, NULL, 0, 10 * WINDOW, WINDOW);
	while (stream_tx_take(&s, 1000, &d))
		sent += d.len;
	assert_int_equal(sent, WINDOW);
	stream_tx_acked(&s, 1000, 5000, false);
	assert_int_equal(stream_tx_pending(&s), 0);
	stream_tx_acked(&s, 0, 1000, false);
	assert_int_equal(stream_tx_pending(&s), 6000);
	stream_tx_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_lost_then_acked),
		cmocka_unit_test(test_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
