// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiving on an attached socket: merging, opening, the record, and everything
 * that a program does with a UDP socket. Runs as root with the module loaded;
 * makes its own namespaces.
 */
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <sys/epoll.h>
#include "rx_env.h"

#define COUNT(v, name) stat_of(v, QUIC_OFFLOAD_A_STATS_##name)

static const struct qoff_keys *test_keys(uint32_t cipher)
{
	static struct qoff_keys keys;
	uint8_t secret[QOFF_MAX_SECRET];

	memset(secret, cipher + 1, sizeof(secret));
	if (qoff_derive_keys(QOFF_QUIC_V1, cipher, secret, qoff_secret_len(cipher), &keys))
		die("keys");
	return &keys;
}

/* @n packets of unequal lengths, all of flow @dcid */
static void add_mixed(struct env *v, unsigned int n, const uint8_t *dcid)
{
	uint32_t seed = 42;

	while (n--)
		pkt_add(v, 30 + rnd(&seed) % 1400, 0x40, dcid);
}

static void add_sealed(struct env *v, unsigned int n, struct qoff_cipher *c, uint64_t pn)
{
	uint32_t seed = 43;

	while (n--) {
		unsigned int i = pkt_add(v, 40 + rnd(&seed) % 1400, 0x40, dcid_a);

		pkt_seal(v, i, c, pn++, 1 + i % 4, 0);
	}
}

static void test_merge(struct env *v)
{
	uint64_t batches = COUNT(v, RX_BATCHES), segs = COUNT(v, RX_SEGS);
	unsigned int calls;

	flow_add(v, dcid_a, NULL, 77);
	add_mixed(v, 600, dcid_a);
	send_all(v, 0, 600);
	calls = recv_all(v);
	CHECK_EQ(v->bat.rx.cookie, 77);
	CHECK_EQ(v->bat.seg[0].status, QOFF_RX_NO_KEY);
	CHECK_EQ(memcmp(&v->bat.addr, &v->a.addr, v->a.addrlen), 0);
	CHECK_EQ(COUNT(v, RX_SEGS) - segs, 600);
	/* 60 a send; NAPI's budget is 64, so two skbs each at most */
	CHECK(COUNT(v, RX_BATCHES) - batches >= 10);
	CHECK(COUNT(v, RX_BATCHES) - batches <= 25);
	CHECK(calls <= 25);
}

static void test_plain(struct env *v)
{
	/* No flow: one datagram a receive, cookie 0 */
	add_mixed(v, 20, dcid_a);
	pkt_add(v, 1200, 0xc3, dcid_a);
	pkt_add(v, 1, 0x40, dcid_a);
	send_all(v, 0, 22);
	CHECK_EQ(recv_all(v), 22);
	CHECK_EQ(v->bat.rx.cookie, 0);
	CHECK_EQ(v->bat.seg[0].status, QOFF_RX_NO_FLOW);
	CHECK_EQ(COUNT(v, RX_BATCHES), 0);
	CHECK_EQ(COUNT(v, RX_NO_FLOW), 21);

	/* An empty datagram */
	env_forget(v);
	CHECK_EQ(sendto(v->a.fd, "", 0, 0, (void *)&v->b.addr, v->b.addrlen), 0);
	CHECK(wait_readable(v->b.fd, WAIT_MS));
	pkt_add(v, 0, 0, dcid_a);
	CHECK_EQ(recv_one(v, 0, 0), 1);
	CHECK_EQ(v->bat.len, 0);
}

static void test_opened(struct env *v, uint32_t cipher)
{
	const struct qoff_keys *keys = test_keys(cipher);
	struct qoff_cipher *c = qoff_cipher_new(keys);
	uint64_t next = 1000;
	unsigned int i;

	v->largest_pn = 999;
	flow_add(v, dcid_a, keys, 5);
	add_sealed(v, 100, c, 1000);
	send_all(v, 0, 100);
	while (v->ngot < 100 && wait_readable(v->b.fd, WAIT_MS)) {
		struct qoff_rx *rx = &v->bat.rx;
		unsigned int from = v->ngot;

		if (recv_one(v, 0, 0) <= 0 || tap_case_failed)
			break;
		CHECK_EQ(rx->nopened, rx->nseg);
		CHECK_EQ(rx->pn_min, next);
		CHECK_EQ(rx->pn_largest, next + rx->nseg - 1);
		CHECK(rx->flags & QOFF_RX_CONTIGUOUS);
		CHECK(rx->flags & QOFF_RX_HAS_TSTAMP);
		CHECK(!(rx->flags & (QOFF_RX_DUP | QOFF_RX_DEVICE_OPENED)));
		for (i = 0; i < rx->nseg; i++) {
			CHECK_EQ(v->bat.seg[i].pn, next + i);
			CHECK_EQ(v->bat.seg[i].pn_len, 1 + (from + i) % 4);
			CHECK_EQ(v->bat.seg[i].hdr_len, 1 + DCID_LEN + v->bat.seg[i].pn_len);
			CHECK_EQ(v->bat.seg[i].key_gen, 1);
		}
		next += rx->nseg;
	}
	CHECK_EQ(v->ngot, 100);
	CHECK_EQ(COUNT(v, RX_SW_OPENED), 100);
	qoff_cipher_free(c);
}

static void test_forged(struct env *v)
{
	const struct qoff_keys *keys = test_keys(QUIC_OFFLOAD_CIPHER_AES_128_GCM);
	struct qoff_cipher *c = qoff_cipher_new(keys);
	struct qoff_flow_info info;
	unsigned int i, failed = 0, no_phase = 0;
	uint32_t id;

	id = flow_add(v, dcid_a, keys, 5);
	add_sealed(v, 60, c, 0);
	for (i = 0; i < 60; i += 3)
		v->sent[i][i % 2 ? 12 : v->len[i] - 1] ^= 1;
	/* Stateless resets look like this. Their key phase is anything. */
	for (i = 0; i < 10; i++)
		pkt_add(v, 41 + i, 0x40 | i, dcid_a);
	send_all(v, 0, 70);
	while (v->ngot < 70 && wait_readable(v->b.fd, WAIT_MS) && !tap_case_failed) {
		if (recv_one(v, 0, 0) <= 0)
			break;
		CHECK(!(v->bat.rx.flags & QOFF_RX_CONTIGUOUS));
		failed += v->bat.rx.nfailed;
		for (i = 0; i < v->bat.rx.nseg; i++)
			no_phase += v->bat.seg[i].status == QOFF_RX_NO_PHASE;
	}
	CHECK_EQ(v->ngot, 70);
	CHECK_EQ(failed + no_phase, 30);
	CHECK(failed >= 20);
	CHECK_EQ(COUNT(v, RX_SW_OPENED), 40);
	CHECK_EQ(COUNT(v, RX_FAILED), failed);
	CHECK_EQ(COUNT(v, RX_NO_PHASE), no_phase);
	CHECK_EQ(qoff_flow_get(v->b.s, id, &info), 0);
	CHECK_EQ(info.failed, failed);
	qoff_cipher_free(c);
}

static void test_replay(struct env *v)
{
	const struct qoff_keys *keys = test_keys(QUIC_OFFLOAD_CIPHER_AES_128_GCM);
	struct qoff_cipher *c = qoff_cipher_new(keys);
	static const uint8_t pns[] = { 10, 12, 11, 14, 12, 13 };
	unsigned int i;

	flow_add(v, dcid_a, keys, 5);
	for (i = 0; i < sizeof(pns); i++)
		pkt_seal(v, pkt_add(v, 100 + i, 0x40, dcid_a), c, pns[i], 2, 0);
	send_super(v, 0, sizeof(pns), -1);
	CHECK(wait_readable(v->b.fd, WAIT_MS));
	CHECK_EQ(recv_one(v, 0, 0), sizeof(pns));
	CHECK_EQ(v->bat.rx.nopened, sizeof(pns));
	CHECK_EQ(v->bat.rx.pn_min, 10);
	CHECK_EQ(v->bat.rx.pn_largest, 14);
	CHECK(v->bat.rx.flags & QOFF_RX_DUP);
	CHECK(!(v->bat.rx.flags & QOFF_RX_CONTIGUOUS));

	/* Out of order, but each once: contiguous */
	env_forget(v);
	for (i = 0; i < 3; i++)
		pkt_seal(v, pkt_add(v, 100 + i, 0x40, dcid_a), c, 22 - i, 2, 0);
	send_super(v, 0, 3, -1);
	CHECK(wait_readable(v->b.fd, WAIT_MS));
	CHECK_EQ(recv_one(v, 0, 0), 3);
	CHECK(v->bat.rx.flags & QOFF_RX_CONTIGUOUS);
	CHECK(!(v->bat.rx.flags & QOFF_RX_DUP));
	qoff_cipher_free(c);
}

static void test_phase(struct env *v)
{
	struct qoff_keys old = *test_keys(QUIC_OFFLOAD_CIPHER_AES_128_GCM), new = old;
	struct qoff_cipher *c0 = qoff_cipher_new(&old), *c1;
	unsigned int i, round;
	uint32_t id;

	/* Another AEAD key, the same header protection: RFC 9001 section 6 */
	new.key[0] ^= 1;
	new.iv[0] ^= 1;
	c1 = qoff_cipher_new(&new);
	id = flow_add(v, dcid_a, &old, 5);
	for (round = 0; round < 3; round++) {
		env_forget(v);
		for (i = 0; i < 8; i++)
			pkt_seal(v, pkt_add(v, 100 + i, 0x40, dcid_a), i % 2 ? c1 : c0,
				 8 * round + i, 2, i % 2);
		if (round == 1)
			CHECK_EQ(qoff_flow_update(v->b.s, id, &new, 1, 2, QOFF_PN_NONE), 0);
		if (round == 2)
			CHECK_EQ(qoff_flow_retire(v->b.s, id, 0), 0);
		send_super(v, 0, 8, -1);
		CHECK(wait_readable(v->b.fd, WAIT_MS));
		CHECK_EQ(recv_one(v, 0, 0), 8);
		for (i = 0; i < 8 && !tap_case_failed; i++) {
			const struct qoff_rx_seg *seg = &v->bat.seg[i];
			bool open = i % 2 ? round > 0 : round < 2;

			CHECK_EQ(seg->status, open ? QOFF_RX_OPENED : QOFF_RX_NO_PHASE);
			if (open)
				CHECK_EQ(seg->key_gen, 1 + i % 2);
		}
	}
	CHECK_EQ(COUNT(v, RX_NO_PHASE), 8);
	CHECK_EQ(COUNT(v, RX_FAILED), 0);
	qoff_cipher_free(c0);
	qoff_cipher_free(c1);
}

static void test_small_buffers(struct env *v)
{
	const struct qoff_keys *keys = test_keys(QUIC_OFFLOAD_CIPHER_AES_128_GCM);
	struct qoff_cipher *c = qoff_cipher_new(keys);
	unsigned int more = 0;
	size_t room;
	int n;

	flow_add(v, dcid_a, keys, 5);
	add_sealed(v, 60, c, 0);
	send_all(v, 0, 60);
	while (v->ngot < 60 && wait_readable(v->b.fd, WAIT_MS) && !tap_case_failed) {
		room = 3000;
		n = recv_one(v, room, 0);
		if (n <= 0)
			break;
		CHECK(v->bat.len <= room);
		/* As many whole segments as fit */
		if (v->bat.rx.flags & QOFF_RX_MORE) {
			CHECK(v->bat.len + v->len[v->ngot] > room);
			more++;
		}
	}
	CHECK_EQ(v->ngot, 60);
	CHECK(more > 10);

	/* One segment longer than the buffer is cut, and only it */
	env_forget(v);
	pkt_add(v, 1000, 0x40, dcid_b);
	pkt_add(v, 500, 0x40, dcid_b);
	send_super(v, 0, 2, -1);
	CHECK(wait_readable(v->b.fd, WAIT_MS));
	CHECK_EQ(recv_one(v, 10, 0), 1);
	CHECK(v->bat.msg_flags & MSG_TRUNC);
	CHECK_EQ(v->bat.len, 10);
	CHECK_EQ(v->bat.seg[0].len, 1000);
	CHECK_EQ(memcmp(v->buf, v->sent[0], 10), 0);
	v->ngot = 1;
	CHECK_EQ(recv_all(v), 1);
	qoff_cipher_free(c);
}

/* recvmsg() with @entries of room in the control buffer, -1: no buffer */
static ssize_t recv_control(struct env *v, int entries, struct msghdr *msg, int flags)
{
	static char control[CMSG_SPACE(sizeof(struct qoff_rx) +
				       QOFF_MAX_SEGS * sizeof(struct qoff_rx_seg))];
	static struct iovec iov;

	iov.iov_base = v->buf;
	iov.iov_len = sizeof(v->buf);
	memset(msg, 0, sizeof(*msg));
	msg->msg_iov = &iov;
	msg->msg_iovlen = 1;
	if (entries >= 0) {
		msg->msg_control = control;
		msg->msg_controllen = CMSG_LEN(sizeof(struct qoff_rx) +
					       entries * sizeof(struct qoff_rx_seg));
	}
	return recvmsg(v->b.fd, msg, flags);
}

static void test_small_control(struct env *v)
{
	struct msghdr msg;
	ssize_t n;

	flow_add(v, dcid_a, NULL, 5);
	add_mixed(v, 30, dcid_a);
	send_all(v, 0, 30);
	CHECK(wait_readable(v->b.fd, WAIT_MS));
	CHECK_EQ(recv_control(v, -1, &msg, 0), -1);
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(recv_control(v, 0, &msg, 0), -1);
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(recv(v->b.fd, v->buf, sizeof(v->buf), 0), -1);
	CHECK_EQ(errno, ENOSPC);

	while (v->ngot < 30 && wait_readable(v->b.fd, WAIT_MS) && !tap_case_failed) {
		n = recv_control(v, 2, &msg, 0);
		CHECK(n > 0);
		CHECK(!(msg.msg_flags & MSG_CTRUNC));
		v->bat.data = v->buf;
		CHECK(qoff_rx_parse(&msg, n, &v->bat) > 0);
		CHECK(v->bat.rx.nseg <= 2);
		CHECK_EQ(!!(v->bat.rx.flags & QOFF_RX_MORE), v->ngot + v->bat.rx.nseg < 30);
		check_batch(v);
	}
	CHECK_EQ(v->ngot, 30);
}

static void test_peek(struct env *v)
{
	const struct qoff_keys *keys = test_keys(QUIC_OFFLOAD_CIPHER_AES_128_GCM);
	struct qoff_cipher *c = qoff_cipher_new(keys);
	int on = 0, off = -1, n, len, next;

	flow_add(v, dcid_a, keys, 5);
	add_sealed(v, 30, c, 0);
	v->sent[3][v->len[3] - 1] ^= 1;
	send_all(v, 0, 30);
	CHECK(wait_readable(v->b.fd, WAIT_MS));
	n = recv_one(v, 0, MSG_PEEK);
	CHECK(n > 0);
	CHECK_EQ(COUNT(v, RX_SW_OPENED), 0);
	CHECK_EQ(COUNT(v, RX_FAILED), 0);
	CHECK_EQ(recv_one(v, 0, MSG_PEEK), n);
	CHECK_EQ(ioctl(v->b.fd, FIONREAD, &len), 0);
	CHECK_EQ(len, v->bat.len);

	if (!setsockopt(v->b.fd, SOL_SOCKET, SO_PEEK_OFF, &on, sizeof(on)))
		CHECK_EQ(recv_one(v, 0, MSG_PEEK), -EOPNOTSUPP);
	setsockopt(v->b.fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off));

	/* The rest of a batch, too */
	CHECK(recv_one(v, 2000, 0) > 0);
	CHECK_EQ(ioctl(v->b.fd, FIONREAD, &len), 0);
	next = v->ngot;
	CHECK(recv_one(v, 0, MSG_PEEK) > 0);
	CHECK_EQ(v->bat.len, len);
	CHECK_EQ(v->ngot, next);
	recv_all(v);
	CHECK_EQ(ioctl(v->b.fd, FIONREAD, &len), 0);
	CHECK_EQ(len, 0);
	CHECK_EQ(COUNT(v, RX_SW_OPENED), 29);
	qoff_cipher_free(c);
}

static void test_recvmmsg(struct env *v)
{
	enum { N = 8, ROOM = 4000 };
	static char control[N][CMSG_SPACE(sizeof(struct qoff_rx) +
					  QOFF_MAX_SEGS * sizeof(struct qoff_rx_seg))];
	struct mmsghdr mm[N] = {};
	struct iovec iov[N];
	int i, n;

	flow_add(v, dcid_a, NULL, 5);
	add_mixed(v, 60, dcid_a);
	send_all(v, 0, 60);
	while (v->ngot < 60 && wait_readable(v->b.fd, WAIT_MS) && !tap_case_failed) {
		for (i = 0; i < N; i++) {
			iov[i].iov_base = v->buf + i * ROOM;
			iov[i].iov_len = ROOM;
			mm[i].msg_hdr = (struct msghdr){
				.msg_iov = &iov[i], .msg_iovlen = 1,
				.msg_control = control[i],
				.msg_controllen = sizeof(control[i]),
			};
		}
		n = recvmmsg(v->b.fd, mm, N, MSG_DONTWAIT, NULL);
		CHECK(n > 0);
		for (i = 0; i < n; i++) {
			v->bat.data = v->buf + i * ROOM;
			CHECK(qoff_rx_parse(&mm[i].msg_hdr, mm[i].msg_len, &v->bat) > 0);
			check_batch(v);
		}
	}
	CHECK_EQ(v->ngot, 60);
}

static void test_epoll(struct env *v)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(EPOLL_CLOEXEC), i;

	flow_add(v, dcid_a, NULL, 5);
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, v->b.fd, &ev), 0);
	CHECK_EQ(epoll_wait(ep, &ev, 1, QUIET_MS), 0);
	for (i = 0; i < 3; i++) {
		env_forget(v);
		add_mixed(v, 10, dcid_a);
		send_all(v, 0, 10);
		CHECK_EQ(epoll_wait(ep, &ev, 1, WAIT_MS), 1);
		CHECK(ev.events & EPOLLIN);
		recv_all(v);
		CHECK(!wait_readable(v->b.fd, 0));
	}
	CHECK_EQ(epoll_wait(ep, &ev, 1, QUIET_MS), 0);
	close(ep);
}

/* Everything that must not be merged, in the middle of what is */
static void test_interleaved(struct env *v)
{
	static const uint8_t unknown[DCID_LEN] = { 9, 9, 9 };
	unsigned int i, seen[QOFF_RX_FAILED + 1] = {};
	uint32_t seed = 5;

	flow_add(v, dcid_a, NULL, 5);
	for (i = 0; i < 300; i++) {
		unsigned int len = 30 + rnd(&seed) % 1300;

		switch (rnd(&seed) % 12) {
		case 0:
			pkt_add(v, len, 0xc0 | i % 16, dcid_a);
			break;
		case 1:
			pkt_add(v, 1 + rnd(&seed) % 20, 0x40, dcid_a);
			break;
		case 2:
			pkt_add(v, len, 0x40, unknown);
			break;
		case 3:
			pkt_add(v, len, rnd(&seed), unknown);
			break;
		default:
			pkt_add(v, len, 0x40, dcid_a);
		}
	}
	send_all(v, 0, 300);
	while (v->ngot < 300 && wait_readable(v->b.fd, WAIT_MS) && !tap_case_failed) {
		if (recv_one(v, 0, 0) <= 0)
			break;
		for (i = 0; i < v->bat.rx.nseg; i++)
			seen[v->bat.seg[i].status]++;
		CHECK_EQ(v->bat.rx.cookie, v->bat.seg[0].status == QOFF_RX_NO_KEY ? 5 : 0);
	}
	CHECK_EQ(v->ngot, 300);
	CHECK(COUNT(v, RX_BATCHES) > 5);
	CHECK(seen[QOFF_RX_LONG_HEADER] > 5);
	CHECK(seen[QOFF_RX_NO_FLOW] > 5);
	CHECK_EQ(COUNT(v, RX_NO_FLOW), seen[QOFF_RX_NO_FLOW]);
	CHECK_EQ(COUNT(v, RX_NO_KEY), seen[QOFF_RX_NO_KEY]);
}

/* Two connections on one 4-tuple: each keeps its order, none is mixed up */
static void test_two_dcids(struct env *v)
{
	struct qoff_iter it;
	struct qoff_packet p;
	unsigned int next[2] = { 0, 1 }, batches = 0;

	flow_add(v, dcid_a, NULL, 10);
	flow_add(v, dcid_b, NULL, 11);
	for (unsigned int i = 0; i < 60; i++)
		pkt_add(v, 40 + i, 0x40, i % 2 ? dcid_b : dcid_a);
	send_super(v, 0, 60, -1);
	while (next[0] + next[1] < 121 && wait_readable(v->b.fd, WAIT_MS) && !tap_case_failed) {
		v->bat.data = v->buf;
		v->bat.size = sizeof(v->buf);
		if (qoff_recv(v->b.s, &v->bat, 0) <= 0)
			break;
		batches++;
		memset(&it, 0, sizeof(it));
		while (qoff_next(&v->bat, &it, &p)) {
			unsigned int *n = &next[v->bat.rx.cookie - 10];

			CHECK_EQ(p.len, v->len[*n]);
			CHECK_EQ(memcmp(p.data, v->sent[*n], p.len), 0);
			*n += 2;
		}
	}
	CHECK_EQ(next[0], 60);
	CHECK_EQ(next[1], 61);
	CHECK(batches <= 8);
}

static void test_ecn(struct env *v)
{
	const struct qoff_keys *keys = test_keys(QUIC_OFFLOAD_CIPHER_AES_128_GCM);
	struct qoff_cipher *c = qoff_cipher_new(keys);
	static const uint8_t tos[] = { 0x02, 0x01, 0x03, 0x00, 0xb8 | 2 };
	unsigned int i, ect0 = 0, ect1 = 0, ce = 0;

	flow_add(v, dcid_a, keys, 5);
	add_sealed(v, 50, c, 0);
	v->sent[1][v->len[1] - 1] ^= 1;		/* forged, so it does not count */
	for (i = 0; i < 5; i++)
		send_super(v, 10 * i, 10, tos[i]);
	while (v->ngot < 50 && wait_readable(v->b.fd, WAIT_MS) && !tap_case_failed) {
		unsigned int first = v->ngot;

		if (recv_one(v, 0, 0) <= 0)
			break;
		ect0 += v->bat.rx.ect0;
		ect1 += v->bat.rx.ect1;
		ce += v->bat.rx.ce;
		for (i = 0; i < v->bat.rx.nseg; i++)
			CHECK_EQ(v->bat.seg[i].tos, tos[(first + i) / 10]);
	}
	CHECK_EQ(v->ngot, 50);
	CHECK_EQ(ect0, 19);
	CHECK_EQ(ect1, 10);
	CHECK_EQ(ce, 10);
	qoff_cipher_free(c);
}

/* What other senders do: no checksum, fragments */
static void test_odd_datagrams(struct env *v)
{
	int on = 1, pmtu = IP_PMTUDISC_DONT, i;

	flow_add(v, dcid_a, NULL, 5);
	if (v->family == V4)
		CHECK_EQ(setsockopt(v->a.fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)), 0);
	for (i = 0; i < 10; i++) {
		pkt_add(v, 500 + i, 0x40, dcid_a);
		CHECK_EQ(sendto(v->a.fd, v->sent[i], v->len[i], 0, (void *)&v->b.addr,
				v->b.addrlen), v->len[i]);
	}
	on = 0;
	setsockopt(v->a.fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on));
	if (v->family == V6) {
		pmtu = IPV6_PMTUDISC_DONT;
		setsockopt(v->a.fd, SOL_IPV6, IPV6_MTU_DISCOVER, &pmtu, sizeof(pmtu));
	} else {
		setsockopt(v->a.fd, SOL_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu));
	}
	for (; i < 13; i++) {
		pkt_add(v, 4000 + i, 0x40, dcid_a);
		CHECK_EQ(sendto(v->a.fd, v->sent[i], v->len[i], 0, (void *)&v->b.addr,
				v->b.addrlen), v->len[i]);
	}
	recv_all(v);
	CHECK_EQ(COUNT(v, RX_BATCHES), 0);
}

/* Small segments, a full buffer, a slow reader: what comes is right and memory
 * comes back
 */
static void test_overflow(struct env *v)
{
	uint32_t mem[SK_MEMINFO_VARS];
	socklen_t len = sizeof(mem);
	int size = 60000, i, n;
	uint32_t seed = 3;

	flow_add(v, dcid_a, NULL, 5);
	CHECK_EQ(setsockopt(v->b.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	for (i = 0; i < 1000; i++)
		pkt_add(v, 30 + rnd(&seed) % 20, 0x40, dcid_a);
	send_all(v, 0, 1000);
	CHECK(wait_readable(v->b.fd, WAIT_MS));
	/* What is left is a subsequence of what was sent */
	v->bat.data = v->buf;
	v->bat.size = 300;
	while (wait_readable(v->b.fd, QUIET_MS)) {
		struct qoff_iter it = {};
		struct qoff_packet p;

		n = qoff_recv(v->b.s, &v->bat, MSG_DONTWAIT);
		CHECK(n > 0);
		while (qoff_next(&v->bat, &it, &p)) {
			while (v->ngot < v->nsent &&
			       (p.len != v->len[v->ngot] ||
				memcmp(p.data, v->sent[v->ngot], p.len)))
				v->ngot++;
			CHECK(v->ngot < v->nsent);
			v->ngot++;
		}
	}
	CHECK(COUNT(v, RX_DROP_FULL) > 0);
	CHECK_EQ(COUNT(v, RX_DROP_FULL) + COUNT(v, RX_SEGS), 1000);
	CHECK_EQ(getsockopt(v->b.fd, SOL_SOCKET, SO_MEMINFO, mem, &len), 0);
	CHECK_EQ(mem[SK_MEMINFO_RMEM_ALLOC], 0);
	CHECK(mem[SK_MEMINFO_FWD_ALLOC] <= 4096);
	CHECK_EQ(mem[SK_MEMINFO_DROPS], COUNT(v, RX_DROP_FULL));
}

static bool has_cmsg(struct msghdr *msg, int level, int type)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == level && c->cmsg_type == type)
			return true;
	return false;
}

static void test_other_cmsgs(struct env *v)
{
	int on = 1, type4 = IP_PKTINFO, type6 = IPV6_PKTINFO;
	struct msghdr msg;
	struct cmsghdr *c;
	ssize_t n;

	flow_add(v, dcid_a, NULL, 5);
	if (v->family == V4) {
		CHECK_EQ(setsockopt(v->b.fd, SOL_IP, IP_PKTINFO, &on, sizeof(on)), 0);
		CHECK_EQ(setsockopt(v->b.fd, SOL_IP, IP_RECVTTL, &on, sizeof(on)), 0);
	} else {
		CHECK_EQ(setsockopt(v->b.fd, SOL_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)), 0);
	}
	CHECK_EQ(setsockopt(v->b.fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)), 0);
	add_mixed(v, 5, dcid_a);
	send_all(v, 0, 5);
	CHECK(wait_readable(v->b.fd, WAIT_MS));
	n = recv_control(v, 60, &msg, 0);
	CHECK(n > 0);
	CHECK(has_cmsg(&msg, SOL_SOCKET, SO_TIMESTAMPNS));
	CHECK(has_cmsg(&msg, v->family == V4 ? SOL_IP : SOL_IPV6,
		       v->family == V4 ? type4 : type6));
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level == SOL_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo *pi = (struct in_pktinfo *)CMSG_DATA(c);
			struct sockaddr_in *sin = (struct sockaddr_in *)&v->b.addr;

			CHECK(pi->ipi_ifindex > 0);
			CHECK_EQ(pi->ipi_addr.s_addr, sin->sin_addr.s_addr);
			CHECK_EQ(pi->ipi_spec_dst.s_addr, sin->sin_addr.s_addr);
		}
		if (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo *pi = (struct in6_pktinfo *)CMSG_DATA(c);
			struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&v->b.addr;

			CHECK(pi->ipi6_ifindex > 0);
			CHECK_EQ(memcmp(&pi->ipi6_addr, &sin6->sin6_addr, 16), 0);
		}
	}
	v->bat.data = v->buf;
	CHECK_EQ(qoff_rx_parse(&msg, n, &v->bat), 5);
	check_batch(v);

	/* The others come first, ours is whole or the call fails */
	env_forget(v);
	add_mixed(v, 1, dcid_a);
	send_all(v, 0, 1);
	CHECK(wait_readable(v->b.fd, WAIT_MS));
	CHECK_EQ(recv_control(v, 1, &msg, 0), -1);
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(recv_all(v), 1);
}

static void test_waiting(struct env *v)
{
	struct timeval tv = { .tv_usec = 100000 };
	struct timespec t0, t1;
	struct msghdr msg;

	CHECK_EQ(recv_control(v, 1, &msg, MSG_DONTWAIT), -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK_EQ(recv_control(v, 1, &msg, MSG_ERRQUEUE), -1);
	CHECK_EQ(errno, EAGAIN);
	setsockopt(v->b.fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	clock_gettime(CLOCK_MONOTONIC, &t0);
	CHECK_EQ(recv_control(v, 1, &msg, 0), -1);
	CHECK_EQ(errno, EAGAIN);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	CHECK((t1.tv_sec - t0.tv_sec) * 1000000000LL + t1.tv_nsec - t0.tv_nsec >= 50000000);

	CHECK_EQ(connect(v->b.fd, (void *)&v->a.addr, v->a.addrlen), 0);
	CHECK_EQ(shutdown(v->b.fd, SHUT_RD), 0);
	CHECK_EQ(recv_control(v, 1, &msg, 0), 0);
}

/* A filter may shorten a datagram, but not a merged packet */
static void test_filter(struct env *v)
{
	struct sock_filter cut = BPF_STMT(BPF_RET | BPF_K, 108);
	struct sock_fprog prog = { .len = 1, .filter = &cut };

	flow_add(v, dcid_a, NULL, 5);
	CHECK_EQ(setsockopt(v->b.fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)), 0);
	pkt_add(v, 200, 0xc0, dcid_a);
	send_super(v, 0, 1, -1);
	CHECK(wait_readable(v->b.fd, WAIT_MS));
	v->len[0] = 100;
	CHECK_EQ(recv_all(v), 1);
	env_forget(v);
	add_mixed(v, 20, dcid_a);
	send_super(v, 0, 20, -1);
	CHECK(!wait_readable(v->b.fd, QUIET_MS));
	CHECK_EQ(COUNT(v, RX_DROP_GEOMETRY), 20);
}

/* An ICMP error is seen as on any UDP socket */
static void test_icmp(struct env *v)
{
	struct pollfd p = { .fd = v->b.fd };
	struct sockaddr_storage to = v->a.addr;
	struct msghdr msg;
	int on = 1;

	if (v->family == V6)
		setsockopt(v->b.fd, SOL_IPV6, IPV6_RECVERR, &on, sizeof(on));
	else
		setsockopt(v->b.fd, SOL_IP, IP_RECVERR, &on, sizeof(on));
	((struct sockaddr_in *)&to)->sin_port = htons(PORT + 1);
	CHECK_EQ(sendto(v->b.fd, "x", 1, 0, (void *)&to, v->a.addrlen), 1);
	CHECK_EQ(poll(&p, 1, WAIT_MS), 1);
	CHECK(p.revents & POLLERR);
	CHECK_EQ(recv_control(v, 1, &msg, MSG_DONTWAIT), -1);
	CHECK_EQ(errno, ECONNREFUSED);
	CHECK_EQ(recv_control(v, 1, &msg, MSG_ERRQUEUE), 1);
	CHECK(msg.msg_flags & MSG_ERRQUEUE);
}

static const struct {
	const char *name;
	void (*fn)(struct env *v);
} tests[] = {
	{ "unequal packets are merged", test_merge },
	{ "without a flow nothing is merged", test_plain },
	{ "forged packets come raw", test_forged },
	{ "replays are flagged", test_replay },
	{ "key phases", test_phase },
	{ "small buffers", test_small_buffers },
	{ "small control buffers", test_small_control },
	{ "MSG_PEEK and FIONREAD", test_peek },
	{ "recvmmsg", test_recvmmsg },
	{ "edge-triggered epoll", test_epoll },
	{ "packets that must not be merged keep the order", test_interleaved },
	{ "two DCIDs on one 4-tuple", test_two_dcids },
	{ "ECN per segment and over the batch", test_ecn },
	{ "no checksum, fragments", test_odd_datagrams },
	{ "a full buffer", test_overflow },
	{ "other control messages", test_other_cmsgs },
	{ "timeouts and shutdown", test_waiting },
	{ "socket filters", test_filter },
	{ "ICMP errors", test_icmp },
};

/* argv[1]: only this family, 0: IPv4, 1: IPv6, 2: v4-mapped */
int main(int argc, char **argv)
{
	char name[128];
	unsigned int i;
	uint32_t cipher;
	int f;

	net_up();
	for (f = V4; f <= MAPPED; f++) {
		if (argc > 1 && atoi(argv[1]) != f)
			continue;
		for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
			struct env *v = env_open(f);

			tests[i].fn(v);
			env_close(v);
			snprintf(name, sizeof(name), "%s: %s", family_name[f], tests[i].name);
			tap_result(name);
		}
		for (cipher = QUIC_OFFLOAD_CIPHER_AES_128_GCM;
		     cipher <= QUIC_OFFLOAD_CIPHER_AES_128_CCM; cipher++) {
			struct env *v = env_open(f);

			test_opened(v, cipher);
			env_close(v);
			snprintf(name, sizeof(name), "%s: opened, %s", family_name[f],
				 qoff_cipher_name(cipher));
			tap_result(name);
		}
	}
	return tap_end();
}
