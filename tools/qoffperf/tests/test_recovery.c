// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Loss recovery, packet by packet and then over a link that loses and reorders. */
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "stream.h"

#define MS		NSEC_PER_MSEC
#define DGRAM		1200
#define WINDOW		1048576

struct seen {
	u64 acked;
	u64 lost;
	u64 lost_bytes;
};

static void on_acked(void *priv, u64 off, u64 len, bool fin)
{
	((struct seen *)priv)->acked += len;
}

static void on_lost(void *priv, const struct sent_data *d)
{
	struct seen *seen = priv;

	seen->lost++;
	seen->lost_bytes += d->len;
}

static const struct recovery_ops count_ops = { on_acked, on_lost };

static void start(struct recovery *r, const struct recovery_ops *ops,
		  void *priv, enum cc_algo cc)
{
	struct recovery_params p = {
		.ops = ops, .priv = priv, .cc = cc, .max_dgram = DGRAM,
		.cwnd_max = WINDOW, .max_ack_delay = 25 * MS,
	};

	recovery_init(r, &p);
}

static void send_n(struct recovery *r, unsigned int n, u64 now)
{
	while (n--) {
		struct sent_data d = { .off = r->next_pn * 1000, .len = 1000 };

		recovery_sent(r, now, DGRAM, &d);
	}
}

/* An ACK of [lo, hi], and of [lo2, hi2] below it if hi2 is not 0. */
static int ack2(struct recovery *r, u64 lo, u64 hi, u64 lo2, u64 hi2, u64 now)
{
	struct ecn_counts none = {};
	struct ranges s;
	struct frame f;
	size_t len;
	u8 buf[64];

	ranges_init(&s, 4, true);
	if (hi2)
		ranges_add(&s, lo2, hi2 + 1, NULL);
	ranges_add(&s, lo, hi + 1, NULL);
	len = frame_put_ack(buf, sizeof(buf), &s, 0, &none, 8);
	ranges_free(&s);
	assert_int_equal(frame_parse(buf, len, &f), len);
	return recovery_ack(r, &f.ack, now, 0);
}

static int ack(struct recovery *r, u64 lo, u64 hi, u64 now)
{
	return ack2(r, lo, hi, 0, 0, now);
}

static void test_all_arrive(void **state)
{
	struct seen seen = {};
	struct recovery r;

	start(&r, &count_ops, &seen, CC_NEWRENO);
	assert_int_equal(recovery_allowance(&r), 10 * DGRAM);
	send_n(&r, 10, 1 * MS);
	assert_int_equal(recovery_allowance(&r), 0);
	assert_int_equal(ack(&r, 0, 9, 11 * MS), 0);
	assert_int_equal(seen.acked, 10000);
	assert_int_equal(seen.lost, 0);
	assert_int_equal(r.in_flight, 0);
	assert_int_equal(r.srtt, 10 * MS);
	assert_int_equal(r.cwnd, 20 * DGRAM);	/* slow start */
	assert_int_equal(recovery_deadline(&r), 0);
	/* The same again changes nothing. */
	assert_int_equal(ack(&r, 0, 9, 12 * MS), 0);
	assert_int_equal(seen.acked, 10000);
	recovery_free(&r);
}

static void test_packet_threshold(void **state)
{
	struct seen seen = {};
	struct recovery r;

	start(&r, &count_ops, &seen, CC_NEWRENO);
	send_n(&r, 10, 1 * MS);
	assert_int_equal(ack(&r, 2, 2, 2 * MS), 0);
	assert_int_equal(seen.lost, 0);		/* 0 and 1 only overtaken by 2 */
	assert_int_equal(ack(&r, 3, 3, 2 * MS), 0);
	assert_int_equal(seen.lost, 1);
	assert_int_equal(r.cwnd, 11 * DGRAM / 2);	/* 10, and 1 of slow start */
	assert_int_equal(ack(&r, 4, 4, 2 * MS), 0);
	assert_int_equal(seen.lost, 2);
	assert_int_equal(r.cwnd, 11 * DGRAM / 2);	/* one event a round trip */
	assert_int_equal(r.in_flight, 5 * DGRAM);
	recovery_free(&r);
}

static void test_time_threshold(void **state)
{
	struct seen seen = {};
	struct recovery r;
	u64 t;

	start(&r, &count_ops, &seen, CC_NEWRENO);
	send_n(&r, 2, 1 * MS);
	assert_int_equal(ack(&r, 1, 1, 9 * MS), 0);
	t = recovery_deadline(&r);
	assert_int_equal(t, 1 * MS + 8 * MS * 9 / 8);
	assert_false(recovery_timeout(&r, t - 1));
	assert_int_equal(seen.lost, 0);
	assert_false(recovery_timeout(&r, t));
	assert_int_equal(seen.lost, 1);
	assert_int_equal(r.in_flight, 0);
	recovery_free(&r);
}

static void test_pto(void **state)
{
	struct seen seen = {};
	struct recovery r;
	u64 first, second;

	start(&r, &count_ops, &seen, CC_NEWRENO);
	send_n(&r, 1, 1 * MS);
	first = recovery_deadline(&r);
	assert_false(recovery_timeout(&r, first - 1));
	assert_true(recovery_timeout(&r, first));
	assert_int_equal(recovery_probe(&r)->len, 1000);
	second = recovery_deadline(&r);
	assert_int_equal(second - first, 2 * (first - 1 * MS));
	assert_int_equal(seen.lost, 0);		/* a timeout declares nothing lost */
	assert_int_equal(ack(&r, 0, 0, second), 0);
	assert_int_equal(r.pto_count, 0);
	recovery_free(&r);
}

static void test_late_ack(void **state)
{
	struct seen seen = {};
	struct recovery r;

	start(&r, &count_ops, &seen, CC_NEWRENO);
	send_n(&r, 10, 1 * MS);
	/* What is given up below the oldest in flight is not counted again. */
	assert_int_equal(ack2(&r, 5, 5, 0, 0, 2 * MS), 0);
	assert_int_equal(seen.lost, 3);
	assert_int_equal(r.oldest, 3);
	assert_int_equal(ack2(&r, 6, 6, 1, 1, 2 * MS), 0);
	assert_int_equal(r.in_flight, 5 * DGRAM - 1 * DGRAM);
	recovery_free(&r);
}

static void test_unsent(void **state)
{
	struct seen seen = {};
	struct recovery r;

	start(&r, &count_ops, &seen, CC_NEWRENO);
	send_n(&r, 3, 1 * MS);
	assert_int_equal(ack(&r, 0, 3, 2 * MS), -EPROTO);
	assert_int_equal(seen.acked, 0);
	assert_int_equal(r.in_flight, 3 * DGRAM);
	/* ACK-only packets take numbers, but no room. */
	recovery_sent(&r, 2 * MS, 50, NULL);
	assert_int_equal(ack(&r, 0, 3, 2 * MS), 0);
	assert_int_equal(seen.acked, 3000);
	assert_int_equal(r.oldest, 4);
	recovery_free(&r);
}

/* ---- a link with loss, reordering and duplication ---- */

struct packet {
	u64 pn;
	u64 at;		/* arrival */
	struct sent_data d;
};

struct link {
	struct packet q[8192];
	unsigned int n;
	u64 rng;
	unsigned int loss;	/* of 1000 */
	bool reorder;
};

static void link_add(struct link *l, u64 pn, const struct sent_data *d, u64 now)
{
	u64 delay = 5 * MS + (l->reorder ? rng_next(&l->rng) % (2 * MS) : 0);
	unsigned int copies = 1 + (rng_next(&l->rng) % 100 == 0);

	if (rng_next(&l->rng) % 1000 < l->loss)
		return;
	while (copies--) {
		assert_true(l->n < ARRAY_SIZE(l->q));
		l->q[l->n++] = (struct packet) { pn, now + delay, *d };
		delay += MS;
	}
}

static bool link_take(struct link *l, u64 now, struct packet *p)
{
	unsigned int i, best = l->n;

	for (i = 0; i < l->n; i++)
		if (l->q[i].at <= now && (best == l->n || l->q[i].at < l->q[best].at))
			best = i;
	if (best == l->n)
		return false;
	*p = l->q[best];
	memmove(l->q + best, l->q + best + 1, (--l->n - best) * sizeof(*p));
	return true;
}

static void tx_acked(void *priv, u64 off, u64 len, bool fin)
{
	stream_tx_acked(priv, off, len, fin);
}

static void tx_lost(void *priv, const struct sent_data *d)
{
	stream_tx_lost(priv, d);
}

static const struct recovery_ops tx_ops = { tx_acked, tx_lost };

static void deliver(struct source *src, struct stream_rx *rx,
		    struct ranges *pns, const struct packet *p)
{
	struct frame_stream f = {
		.off = p->d.off, .len = p->d.len, .fin = p->d.fin,
	};
	u64 added;
	u8 buf[DGRAM];

	assert_int_equal(ranges_add(pns, p->pn, p->pn + 1, &added), 0);
	if (!added)
		return;
	source_copy(src, p->d.off, buf, p->d.len);
	f.data = buf;
	assert_int_equal(stream_rx_data(rx, &f), 0);
	assert_int_equal(stream_rx_batch_end(rx), 0);
}

static void transfer(u64 seed, unsigned int loss, bool reorder, u64 size,
		     bool store)
{
	static struct link link;
	struct ecn_counts none = {};
	struct ranges pns;
	struct stream_tx tx;
	struct stream_rx rx;
	struct recovery r;
	struct source src;
	struct sent_data d;
	struct packet p;
	struct frame f;
	u8 want[SHA256_LEN], got[SHA256_LEN], buf[512];
	u64 now = MS, bytes = size;
	unsigned int steps = 0;
	bool probe = false;
	int fd = store ? memfd_create("test", 0) : -1;
	size_t len;

	link = (struct link) { .rng = seed, .loss = loss, .reorder = reorder };
	assert_int_equal(source_open(&src, NULL, &bytes, seed), 0);
	ranges_init(&pns, 64, true);
	stream_tx_init(&tx, &src, 0, size, WINDOW);
	assert_int_equal(stream_rx_init(&rx, size, WINDOW, store ? HASH_AFTER :
					HASH_INLINE, fd, 0), 0);
	start(&r, &tx_ops, &tx, CC_NEWRENO);

	while (!stream_tx_done(&tx)) {
		assert_true(++steps < 200000);
		now += MS / 4;
		while (link_take(&link, now, &p))
			deliver(&src, &rx, &pns, &p);
		/* ACKs are lost as often as data. */
		if (pns.n && rng_next(&link.rng) % 1000 >= loss) {
			len = frame_put_ack(buf, sizeof(buf), &pns, 0, &none, 32);
			assert_int_equal(frame_parse(buf, len, &f), len);
			assert_int_equal(recovery_ack(&r, &f.ack, now, 0), 0);
		}
		if (recovery_deadline(&r) && now >= recovery_deadline(&r))
			probe |= recovery_timeout(&r, now);
		if (probe && !stream_tx_pending(&tx) && recovery_probe(&r))
			stream_tx_lost(&tx, recovery_probe(&r));
		while ((probe || recovery_allowance(&r) >= DGRAM) &&
		       recovery_ring_room(&r) > 1 &&
		       stream_tx_take(&tx, DGRAM - 40, &d)) {
			link_add(&link, r.next_pn, &d, now);
			recovery_sent(&r, now, DGRAM, &d);
			probe = false;
		}
	}
	assert_true(stream_rx_done(&rx));
	source_hash(&src, 0, size, want);
	assert_int_equal(stream_rx_hash(&rx, got), 0);
	assert_memory_equal(got, want, SHA256_LEN);
	if (!loss && !reorder)
		assert_int_equal(tx.retransmitted, 0);
	if (loss)
		assert_true(r.packets_lost > 0);

	recovery_free(&r);
	stream_tx_free(&tx);
	stream_rx_free(&rx);
	ranges_free(&pns);
	source_close(&src);
	if (fd >= 0)
		close(fd);
}

static void test_transfer(void **state)
{
	unsigned int seed;

	transfer(1, 0, false, 3 << 20, false);
	transfer(2, 0, true, 3 << 20, false);
	for (seed = 3; seed < 8; seed++) {
		transfer(seed, 10, true, 2 << 20, seed & 1);
		transfer(seed, 100, true, 1 << 20, seed & 1);
	}
	transfer(9, 300, true, 100000, true);
	transfer(10, 0, false, 1, false);
	transfer(11, 300, true, 1, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_arrive),
		cmocka_unit_test(test_packet_threshold),
		cmocka_unit_test(test_time_threshold),
		cmocka_unit_test(test_pto),
		cmocka_unit_test(test_late_ack),
		cmocka_unit_test(test_unsent),
		cmocka_unit_test(test_transfer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
