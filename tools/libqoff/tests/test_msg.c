// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Control messages: what is written for a send, and what is refused of a receive.
 */
#include <netinet/in.h>

#include "test.h"

/* A receive of one's own making. */
struct fake {
	char control[8192] __attribute__((aligned(8)));
	uint8_t data[65536];
	struct msghdr msg;
	struct qoff_batch b;
};

static void fake_init(struct fake *f)
{
	memset(&f->msg, 0, sizeof(f->msg));
	memset(f->control, 0, sizeof(f->control));
	f->msg.msg_control = f->control;
	f->b.data = f->data;
	f->b.size = sizeof(f->data);
}

static uint8_t *fake_add(struct fake *f, int level, int type, size_t len)
{
	struct cmsghdr *c = (void *)(f->control + f->msg.msg_controllen);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	f->msg.msg_controllen += CMSG_SPACE(len);
	return CMSG_DATA(c);
}

/* A right record of @n opened packets of 100, 101, 102 ... bytes. Return: their sum. */
static size_t fake_record(struct fake *f, unsigned int n, size_t hdr, size_t seg)
{
	struct qoff_rx rx = { .hdr_size = hdr, .seg_size = seg, .nseg = n, .cookie = 42,
			      .nopened = n, .pn_min = 7, .pn_largest = 6 + n };
	uint8_t *p;
	size_t sum = 0;

	fake_init(f);
	fake_add(f, IPPROTO_IP, IP_TOS, 1);
	p = fake_add(f, SOCK_SOL_UDP, QOFF_CMSG, hdr + n * seg);
	memcpy(p, &rx, sizeof(rx));
	for (unsigned int i = 0; i < n; i++) {
		struct qoff_rx_seg s = { .len = 100 + i, .hdr_len = 11, .pn_len = 2, .key_gen = 3,
					 .pn = 7 + i };

		memcpy(p + hdr + i * seg, &s, sizeof(s));
		sum += s.len;
	}
	return sum;
}

static void layout(void **state)
{
	char extra[CMSG_SPACE(4)] __attribute__((aligned(8))) = { 0 };
	char buf[QOFF_TX_CONTROL_SIZE + sizeof(extra)] __attribute__((aligned(8)));
	struct cmsghdr *c = (void *)extra;
	struct qoff_tx_seg segs[3] = { { .len = 10 }, { .len = 20, .pn_off = 2 },
				       { .len = 30, .pn_off = 9 } };
	struct qoff_tx_msg m = { .ctx = { 5, 6 }, .pn = 7, .segs = segs, .nseg = 3, .tos = 3,
				 .flags = QOFF_TX_PN_OFFSETS, .control = extra,
				 .controllen = sizeof(extra) };
	struct msghdr msg = { .msg_control = buf };
	unsigned int seen = 0;
	struct qoff_tx tx;
	ssize_t n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = 61;
	c->cmsg_len = CMSG_LEN(4);
	n = qoff_tx_control(&m, buf, sizeof(buf));
	assert_true(n > 0);
	msg.msg_controllen = n;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == 61)
			seen |= 1;
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS && *CMSG_DATA(c) == 3)
			seen |= 2;
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS &&
		    *CMSG_DATA(c) == 3)
			seen |= 4;
		if (c->cmsg_level != SOCK_SOL_UDP)
			continue;
		seen |= 8;
		assert_int_equal(c->cmsg_type, 0x51554943);
		assert_int_equal(c->cmsg_len, CMSG_LEN(32 + 3 * 8));
		memcpy(&tx, CMSG_DATA(c), sizeof(tx));
		assert_int_equal(tx.hdr_size, 32);
		assert_int_equal(tx.seg_size, 8);
		assert_int_equal(tx.nseg, 3);
		assert_int_equal(tx.flags, QOFF_TX_PN_OFFSETS);
		assert_int_equal(tx.ctx, 5);
		assert_int_equal(tx.ctx_gen, 6);
		assert_int_equal(tx.pn, 7);
		assert_int_equal(tx.resv, 0);
		assert_memory_equal(CMSG_DATA(c) + 32, segs, sizeof(segs));
	}
	assert_int_equal(seen, 15);

	for (size_t size = 0; size < n; size += 8)
		assert_int_equal(qoff_tx_control(&m, buf, size), -ENOSPC);
	m.nseg = QOFF_MAX_SEGS + 1;
	assert_int_equal(qoff_tx_control(&m, buf, sizeof(buf)), -EINVAL);
}

static void walk(void **state)
{
	static struct fake f;
	size_t sum = fake_record(&f, 5, QOFF_RX_HDR_MIN, QOFF_RX_SEG_MIN), off = 0;
	struct qoff_iter it = { 0 };
	struct qoff_packet p;
	unsigned int i = 0;

	assert_int_equal(qoff_rx_parse(&f.msg, sum, &f.b), 5);
	assert_int_equal(f.b.rx.cookie, 42);
	assert_int_equal(f.b.rx.nopened, 5);
	while (qoff_next(&f.b, &it, &p)) {
		assert_ptr_equal(p.data, f.data + off);
		assert_int_equal(p.len, 100 + i);
		assert_ptr_equal(p.payload, p.data + 11);
		assert_int_equal(p.payload_len, 100 + i - 11 - 16);
		assert_int_equal(p.seg->pn, 7 + i);
		off += p.len;
		i++;
	}
	assert_int_equal(i, 5);
	assert_int_equal(off, sum);
}

/* A kernel that knows more than we: what is unknown is skipped. */
static void larger(void **state)
{
	static struct fake f;
	size_t sum = fake_record(&f, 3, 64, 40);

	assert_int_equal(qoff_rx_parse(&f.msg, sum, &f.b), 3);
	assert_int_equal(f.b.seg[2].pn, 9);
}

static void truncated_packet(void **state)
{
	static struct fake f;
	struct qoff_iter it = { 0 };
	struct qoff_packet p;

	fake_record(&f, 1, 56, 24);
	f.msg.msg_flags = MSG_TRUNC;
	assert_int_equal(qoff_rx_parse(&f.msg, 20, &f.b), 1);
	assert_true(qoff_next(&f.b, &it, &p));
	assert_int_equal(p.len, 20);
	assert_null(p.payload);
	assert_false(qoff_next(&f.b, &it, &p));

	/* Nothing that was cut holds more than there was; and only one packet is cut. */
	assert_int_equal(qoff_rx_parse(&f.msg, 101, &f.b), -EBADMSG);
	fake_record(&f, 2, 56, 24);
	f.msg.msg_flags = MSG_TRUNC;
	assert_int_equal(qoff_rx_parse(&f.msg, 120, &f.b), -EBADMSG);
}

static void put16(struct fake *f, size_t off, uint16_t v)
{
	struct cmsghdr *c = CMSG_NXTHDR(&f->msg, CMSG_FIRSTHDR(&f->msg));

	memcpy(CMSG_DATA(c) + off, &v, 2);
}

/* @off of a 16-bit field that gets @v. */
static void broken(size_t off, uint16_t v)
{
	static struct fake f;
	size_t sum = fake_record(&f, 5, 56, 24);
	struct qoff_iter it = { 0 };
	struct qoff_packet p;

	put16(&f, off, v);
	assert_int_equal(qoff_rx_parse(&f.msg, sum, &f.b), -EBADMSG);
	assert_false(qoff_next(&f.b, &it, &p));
}

static void malformed(void **state)
{
	static struct fake f;
	struct cmsghdr *c;
	size_t sum;

	broken(0, 0);		/* hdr_size */
	broken(0, 55);
	broken(0, 57);
	broken(0, 65535);
	broken(2, 0);		/* seg_size */
	broken(2, 23);
	broken(2, 25);
	broken(2, 65535);
	broken(4, 0);		/* nseg */
	broken(4, 4);
	broken(4, 6);
	broken(4, 129);
	broken(4, 65535);
	broken(56, 99);		/* len of the first: the sum is wrong */
	broken(56, 65535);
	broken(60, 0);		/* hdr_len and pn_len */
	broken(60, 0x020b & 0xff00);
	broken(60, 0x050b);
	broken(60, 0x00ff);
	broken(78, 0xffff);	/* pn over the maximum */

	sum = fake_record(&f, 5, 56, 24);
	assert_int_equal(qoff_rx_parse(&f.msg, sum - 1, &f.b), -EBADMSG);
	assert_int_equal(qoff_rx_parse(&f.msg, sum + 1, &f.b), -EBADMSG);

	/* No record; two; a list that ends too early. */
	fake_init(&f);
	assert_int_equal(qoff_rx_parse(&f.msg, 100, &f.b), -ENOMSG);
	fake_add(&f, IPPROTO_IP, IP_TOS, 1);
	assert_int_equal(qoff_rx_parse(&f.msg, 100, &f.b), -ENOMSG);

	sum = fake_record(&f, 1, 56, 24);
	c = CMSG_NXTHDR(&f.msg, CMSG_FIRSTHDR(&f.msg));
	memcpy(fake_add(&f, SOCK_SOL_UDP, QOFF_CMSG, 80), CMSG_DATA(c), 80);
	assert_int_equal(qoff_rx_parse(&f.msg, sum, &f.b), -EBADMSG);

	sum = fake_record(&f, 5, 56, 24);
	f.msg.msg_controllen -= 24;
	assert_int_equal(qoff_rx_parse(&f.msg, sum, &f.b), -EBADMSG);
	f.msg.msg_controllen = CMSG_SPACE(1) + CMSG_LEN(0) + 4;
	assert_int_equal(qoff_rx_parse(&f.msg, sum, &f.b), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout),
		cmocka_unit_test(walk),
		cmocka_unit_test(larger),
		cmocka_unit_test(truncated_packet),
		cmocka_unit_test(malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
