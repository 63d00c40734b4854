// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Fuzz target: the payload of a packet, as a receiver walks it, against both ends
 * of a connection. Whatever comes, nothing is read beyond the end, every frame
 * moves on, and an accepted ACK names only what was sent.
 */
#include "fuzz.h"

#include "frame.h"
#include "recovery.h"
#include "stream.h"

#define SENT	100

static void ignore_acked(void *priv, u64 off, u64 len, bool fin)
{
}

static void ignore_lost(void *priv, const struct sent_data *d)
{
}

static const struct recovery_ops ops = { ignore_acked, ignore_lost };

static void sent_packets(struct recovery *r)
{
	struct recovery_params p = {
		.ops = &ops, .max_dgram = 1200, .cwnd_max = 65536,
	};
	struct sent_data d = { .len = 10 };
	unsigned int i;

	recovery_init(r, &p);
	for (i = 0; i < SENT; i++)
		recovery_sent(r, 1, 100, &d);
}

static void check_ack(struct recovery *r, struct frame_ack *ack)
{
	struct ack_iter it = ack->ranges;
	u64 lo, hi, below = UINT64_MAX;

	while (ack_iter_next(&it, &lo, &hi)) {
		CHECK(lo <= hi && hi < below && hi <= ack->largest);
		below = lo;
	}
	CHECK(!it.left);
	if (!recovery_ack(r, ack, 2, 0))
		CHECK(ack->largest < SENT);
	CHECK(r->in_flight <= SENT * 100 && r->oldest <= r->next_pn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stream_rx rx;
	struct recovery r;
	struct frame f;
	int n;

	sent_packets(&r);
	CHECK(!stream_rx_init(&rx, 1 << 20, 65536, HASH_INLINE, -1, 0));
	while (size) {
		n = frame_parse(data, size, &f);
		if (n < 0)
			break;
		CHECK(n > 0 && n <= size);
		if (f.type == FRAME_ACK || f.type == FRAME_ACK_ECN) {
			check_ack(&r, &f.ack);
		} else if (f.type == FRAME_STREAM) {
			CHECK(f.stream.data >= data &&
			      f.stream.data + f.stream.len <= data + n);
			if (stream_rx_data(&rx, &f.stream))
				break;
			CHECK(!stream_rx_batch_end(&rx));
		}
		data += n;
		size -= n;
	}
	stream_rx_free(&rx);
	recovery_free(&r);
	return 0;
}

/* A few frames, then perhaps damage. */
size_t fuzz_make(uint64_t *state, uint8_t *buf, size_t max)
{
	struct ecn_counts ecn = { .ect0 = fuzz_random(state) % 2 };
	u8 *p = buf, *end = buf + min_t(size_t, max, 1200);
	struct ranges s;
	unsigned int i;
	u64 at = 0;

	ranges_init(&s, 32, true);
	for (i = fuzz_random(state) % 20; i; i--) {
		at += 1 + fuzz_random(state) % 8;
		ranges_add(&s, at, at + 1 + fuzz_random(state) % 4, NULL);
	}
	if (s.n)
		p += frame_put_ack(p, end - p, &s, fuzz_random(state) % 100,
				   &ecn, 32);
	ranges_free(&s);
	if (fuzz_random(state) % 4 == 0)
		p += frame_put_close(p, end - p, fuzz_random(state) % 70000);
	p = frame_put_stream_hdr(p, fuzz_random(state) % 70000, false,
				 fuzz_random(state) % 8 == 0);
	memset(p, 0x5a, end - p);
	p += fuzz_random(state) % (end - p);
	for (i = fuzz_random(state) % 3; i; i--)
		buf[fuzz_random(state) % (p - buf)] = fuzz_random(state);
	return p - buf - fuzz_random(state) % 2;
}
