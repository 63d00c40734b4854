// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Fuzz target: the receive record. Input: 2 bytes of received length, 1 byte of
 * flags, the control buffer. Whatever comes in, a batch that is accepted can be
 * walked within its buffer.
 */
#include <netinet/in.h>

#include "fuzz.h"
#include "priv.h"

static void walk(const struct qoff_batch *b, int n)
{
	struct qoff_iter it = { 0 };
	struct qoff_packet p;
	size_t end = 0;
	int seen = 0;

	while (qoff_next(b, &it, &p)) {
		CHECK(p.data == b->data + end);
		end += p.len;
		CHECK(end <= b->len);
		if (p.payload)
			CHECK(p.payload >= p.data && p.payload + p.payload_len + QOFF_TAG_SIZE <=
			      p.data + p.len);
		seen++;
	}
	CHECK(seen == n);
	CHECK(end == b->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t payload[65536];
	struct qoff_batch *b;
	struct msghdr msg;
	size_t len;
	int n;

	if (size < 3)
		return 0;
	memset(&msg, 0, sizeof(msg));
	len = data[0] | data[1] << 8;
	msg.msg_flags = data[2] & 1 ? MSG_TRUNC : 0;
	msg.msg_controllen = size - 3;
	msg.msg_control = malloc(size);
	b = calloc(1, sizeof(*b));
	CHECK(b && msg.msg_control);
	memcpy(msg.msg_control, data + 3, size - 3);
	b->data = payload;
	b->size = sizeof(payload);
	n = qoff_rx_parse(&msg, len, b);
	if (n > 0)
		walk(b, n);
	else
		CHECK(n == -EBADMSG || n == -ENOMSG);
	free(msg.msg_control);
	free(b);
	return 0;
}

/* A right record, then a few wrong bytes in three of four. */
size_t fuzz_make(uint64_t *state, uint8_t *buf, size_t max)
{
	unsigned int n = fuzz_random(state) % (QOFF_MAX_SEGS + 2), hits;
	struct qoff_rx rx = { .hdr_size = 56, .seg_size = 24, .nseg = n };
	size_t len = 56 + n * 24, sum = 0, size = 3 + CMSG_SPACE(len);
	struct cmsghdr c = { .cmsg_len = CMSG_LEN(len), .cmsg_level = SOCK_SOL_UDP,
			     .cmsg_type = QOFF_CMSG };
	uint8_t *p = buf + 3;

	memset(buf, 0, size);
	memcpy(p, &c, sizeof(c));
	p += CMSG_LEN(0);
	memcpy(p, &rx, sizeof(rx));
	for (unsigned int i = 0; i < n; i++) {
		struct qoff_rx_seg s = { .len = fuzz_random(state) % 500, .pn = i };

		s.status = fuzz_random(state) % 7;
		if (s.status == QOFF_RX_OPENED) {
			s.len += 40;
			s.pn_len = 1 + fuzz_random(state) % 4;
			s.hdr_len = 1 + s.pn_len + fuzz_random(state) % 20;
		}
		sum += s.len;
		memcpy(p + 56 + i * 24, &s, sizeof(s));
	}
	buf[0] = sum;
	buf[1] = sum >> 8;
	for (hits = fuzz_random(state) % 4; hits; hits--)
		buf[fuzz_random(state) % size] = fuzz_random(state);
	if (!(fuzz_random(state) % 8))
		size = fuzz_random(state) % (size + 1);
	return size < max ? size : max;
}
