// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The backend in user space over loopback: what is sent arrives, opened, whatever
 * the lengths; limits, key updates and partial receives are as qoff.h says.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "test.h"
#include "user.h"

#define DCID_LEN 8

static const uint8_t dcid[DCID_LEN] = { 1, 2, 3, 4, 5, 6, 7, 8 };

/* A sender a and a receiver b with one connection between them. */
struct pair {
	struct qoff *q;
	int fa, fb;
	struct qoff_sock *a, *b;
	struct sockaddr_storage sa, sb;
	socklen_t len;
	struct qoff_keys keys;
	struct qoff_ctx_id ctx;
	uint32_t flow;
	uint64_t seed;
	struct qoff_batch batch;
	uint8_t data[65536];
};

static int bound(int family, struct sockaddr_storage *ss, socklen_t *len)
{
	struct sockaddr_in6 s6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in s4 = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(family, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	*len = family == AF_INET ? sizeof(s4) : sizeof(s6);
	assert_int_equal(bind(fd, family == AF_INET ? (void *)&s4 : (void *)&s6, *len), 0);
	assert_int_equal(getsockname(fd, (void *)ss, len), 0);
	return fd;
}

static void add_ctx(struct pair *p, const struct qoff_keys *keys, struct qoff_ctx_id *id)
{
	struct qoff_ctx_param c = { .keys = keys, .dcid_len = DCID_LEN };

	assert_int_equal(qoff_ctx_add(p->a, &c, id), 0);
}

static void add_flow(struct pair *p, const struct qoff_keys *keys, uint32_t keys_of,
		     const uint8_t *id, uint32_t *flow)
{
	struct qoff_flow_param f = {
		.local = (void *)&p->sb, .remote = (void *)&p->sa, .dcid = id,
		.dcid_len = DCID_LEN, .keys = keys, .cookie = 99, .largest_pn = QOFF_PN_NONE,
		.key_gen = 5, .keys_of = keys_of,
	};

	assert_int_equal(qoff_flow_add(p->b, &f, flow), 0);
}

static struct pair *pair_new(uint32_t cipher, int family, bool with_keys)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->seed = cipher;
	p->q = qoff_open(QOFF_USER);
	assert_non_null(p->q);
	assert_int_equal(qoff_backend(p->q), QOFF_USER);
	p->fa = bound(family, &p->sa, &p->len);
	p->fb = bound(family, &p->sb, &p->len);
	assert_int_equal(qoff_attach(p->q, p->fa, -1, 0, 0, &p->a), 0);
	assert_int_equal(qoff_attach(p->q, p->fb, -1, DCID_LEN, 0, &p->b), 0);
	p->keys = random_keys(&p->seed, cipher);
	add_ctx(p, &p->keys, &p->ctx);
	add_flow(p, with_keys ? &p->keys : NULL, 0, dcid, &p->flow);
	p->batch.data = p->data;
	p->batch.size = sizeof(p->data);
	return p;
}

static void pair_free(struct pair *p)
{
	qoff_close(p->q);
	close(p->fa);
	close(p->fb);
	free(p);
}

/**
 * struct load - packets to send and to compare with
 * @n: packets
 * @len: bytes of each
 * @plain: all of them, back to back
 */
struct load {
	unsigned int n;
	struct qoff_tx_seg seg[QOFF_MAX_SEGS];
	uint8_t plain[65536];
	size_t len;
};

static void load_add(struct pair *p, struct load *l, size_t len, uint64_t pn, unsigned int pn_len,
		     unsigned int phase)
{
	make_packet(&p->seed, l->plain + l->len, len, dcid, DCID_LEN, pn, pn_len, phase);
	l->seg[l->n++] = (struct qoff_tx_seg){ .len = len };
	l->len += len;
}

static ssize_t load_send(struct pair *p, const struct load *l, uint64_t pn, int flags)
{
	struct iovec iov = { (void *)l->plain, l->len };
	struct qoff_tx_msg m = {
		.ctx = p->ctx, .pn = pn, .segs = l->seg, .nseg = l->n, .iov = &iov, .iovlen = 1,
		.addr = (void *)&p->sb, .addrlen = p->len, .tos = 2,
	};

	m.flags = flags;
	return qoff_send(p->a, &m, 0);
}

static int wait_recv(struct pair *p, int flags)
{
	struct pollfd pfd = { .fd = qoff_sock_fd(p->b), .events = POLLIN };
	int n;

	n = qoff_recv(p->b, &p->batch, flags | MSG_DONTWAIT);
	if (n != -EAGAIN)
		return n;
	if (poll(&pfd, 1, 5000) != 1)
		return -ETIMEDOUT;
	return qoff_recv(p->b, &p->batch, flags | MSG_DONTWAIT);
}

/* Everything of @l arrives in order with @status. */
static void load_recv(struct pair *p, const struct load *l, uint64_t pn, uint8_t status)
{
	unsigned int i = 0;
	size_t off = 0;

	while (i < l->n) {
		struct qoff_iter it = { 0 };
		struct qoff_packet pkt;
		int n = wait_recv(p, 0);

		assert_true(n > 0);
		assert_int_equal(p->batch.rx.cookie, status == QOFF_RX_NO_FLOW ? 0 : 99);
		while (qoff_next(&p->batch, &it, &pkt)) {
			assert_int_equal(pkt.seg->status, status);
			assert_int_equal(pkt.len, l->seg[i].len);
			assert_memory_equal(pkt.data, l->plain + off, pkt.len);
			if (status == QOFF_RX_OPENED) {
				assert_int_equal(pkt.seg->pn, pn + i);
				assert_int_equal(pkt.seg->tos & 3, 2);
			}
			off += pkt.len;
			i++;
		}
	}
	assert_int_equal(i, l->n);
}

static void exchange(uint32_t cipher, int family)
{
	struct pair *p = pair_new(cipher, family, true);
	static struct load l;
	uint64_t pn = 0;

	for (unsigned int round = 0; round < 60; round++) {
		unsigned int n = 1 + next_random(&p->seed) % 40;

		memset(&l, 0, sizeof(l));
		for (unsigned int i = 0; i < n; i++) {
			size_t len = round % 3 ? 30 + next_random(&p->seed) % 1400 : 1200;

			load_add(p, &l, len, pn + i, round % 4 == 3 ? 4 : 2, 0);
		}
		assert_int_equal(load_send(p, &l, pn, 0), l.len);
		load_recv(p, &l, pn, QOFF_RX_OPENED);
		pn += n;
	}
	pair_free(p);
}

static void exchange_v4(void **state)
{
	for (uint32_t c = 1; c <= 4; c++)
		exchange(c, AF_INET);
}

static void exchange_v6(void **state)
{
	exchange(QUIC_OFFLOAD_CIPHER_AES_128_GCM, AF_INET6);
}

static void records(void **state)
{
	struct pair *p = pair_new(1, AF_INET, true);
	static struct load l;

	memset(&l, 0, sizeof(l));
	for (unsigned int i = 0; i < 10; i++)
		load_add(p, &l, 100, 7 + i, 1, 0);
	assert_int_equal(load_send(p, &l, 7, 0), 1000);
	assert_int_equal(wait_recv(p, MSG_PEEK), 10);
	assert_int_equal(wait_recv(p, 0), 10);
	assert_int_equal(p->batch.rx.pn_min, 7);
	assert_int_equal(p->batch.rx.pn_largest, 16);
	assert_int_equal(p->batch.rx.nopened, 10);
	assert_int_equal(p->batch.rx.ect0, 10);
	assert_int_equal(p->batch.rx.flags & ~QOFF_RX_HAS_TSTAMP, QOFF_RX_CONTIGUOUS);
	assert_int_equal(p->batch.seg[3].hdr_len, 1 + DCID_LEN + 1);
	assert_int_equal(p->batch.seg[3].key_gen, 5);
	assert_int_equal(wait_recv(p, MSG_DONTWAIT), -ETIMEDOUT);
	pair_free(p);
}

/* Room for three packets at a time, then for less than one, then no control buffer. */
static void partial(void **state)
{
	struct pair *p = pair_new(1, AF_INET, true);
	char control[CMSG_SPACE(56 + 3 * 24)] __attribute__((aligned(8)));
	struct iovec iov[2];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	static struct load l;
	int got = 0;

	memset(&l, 0, sizeof(l));
	for (unsigned int i = 0; i < 8; i++)
		load_add(p, &l, 100, i, 1, 0);
	assert_int_equal(load_send(p, &l, 0, 0), 800);

	/* By data buffer, into pieces that no packet boundary meets. */
	iov[0] = (struct iovec){ p->data, 130 };
	iov[1] = (struct iovec){ p->data + 1000, 220 };
	msg.msg_control = control;
	msg.msg_controllen = sizeof(control);
	assert_int_equal(qoff_recvmsg(p->b, &msg, 0), 300);
	assert_memory_equal(p->data, l.plain, 130);
	assert_memory_equal(p->data + 1000, l.plain + 130, 170);

	/* By control buffer. */
	iov[1].iov_len = 20000;
	msg.msg_controllen = CMSG_LEN(56 + 2 * 24);
	assert_int_equal(qoff_recvmsg(p->b, &msg, 0), 200);
	msg.msg_controllen = CMSG_LEN(56 + 24) - 1;
	assert_int_equal(qoff_recvmsg(p->b, &msg, 0), -ENOSPC);
	msg.msg_controllen = 0;
	assert_int_equal(qoff_recvmsg(p->b, &msg, 0), -ENOSPC);

	/* Shorter than one: cut, and the next is whole. */
	p->batch.size = 40;
	assert_int_equal(wait_recv(p, 0), 1);
	assert_int_equal(p->batch.len, 40);
	assert_true(p->batch.msg_flags & MSG_TRUNC);
	assert_true(p->batch.rx.flags & QOFF_RX_MORE);
	assert_int_equal(p->batch.seg[0].len, 100);
	assert_memory_equal(p->data, l.plain + 500, 40);
	p->batch.size = sizeof(p->data);
	got = wait_recv(p, 0);
	assert_int_equal(got, 2);
	assert_memory_equal(p->data, l.plain + 600, 200);
	pair_free(p);
}

static void raw_and_unknown(void **state)
{
	uint8_t other[DCID_LEN] = { 9 }, *sealed;
	struct pair *p = pair_new(1, AF_INET, false);
	struct qoff_flow_info fi;
	static struct load l;
	uint32_t second;

	memset(&l, 0, sizeof(l));
	load_add(p, &l, 100, 1, 1, 0);
	/* RAW: as it is. The flow has no keys. */
	p->ctx = (struct qoff_ctx_id){ 0 };
	assert_int_equal(load_send(p, &l, 0, QOFF_TX_RAW), 100);
	load_recv(p, &l, 0, QOFF_RX_NO_KEY);

	/* Keys, but the packet is not sealed: failed, raw, counted. */
	assert_int_equal(qoff_flow_update(p->b, p->flow, &p->keys, 0, 6, QOFF_PN_NONE), 0);
	l.plain[30] ^= 1;
	assert_int_equal(load_send(p, &l, 0, QOFF_TX_RAW), 100);
	assert_int_equal(wait_recv(p, 0), 1);
	sealed = p->data;
	assert_true(p->batch.seg[0].status == QOFF_RX_FAILED ||
		    p->batch.seg[0].status == QOFF_RX_NO_PHASE);
	assert_memory_equal(sealed, l.plain, 100);

	/* A DCID without flow, a long header, an empty datagram. */
	memcpy(l.plain + 1, other, DCID_LEN);
	assert_int_equal(load_send(p, &l, 0, QOFF_TX_RAW), 100);
	load_recv(p, &l, 0, QOFF_RX_NO_FLOW);
	l.plain[0] = 0xc0;
	assert_int_equal(load_send(p, &l, 0, QOFF_TX_RAW), 100);
	assert_int_equal(wait_recv(p, 0), 1);
	assert_int_equal(p->batch.seg[0].status, QOFF_RX_LONG_HEADER);
	assert_int_equal(sendto(p->fa, "", 0, 0, (void *)&p->sb, p->len), 0);
	assert_int_equal(wait_recv(p, 0), 1);
	assert_int_equal(p->batch.seg[0].len, 0);
	assert_int_equal(p->batch.seg[0].status, QOFF_RX_NO_FLOW);

	/* The same connection under another DCID shares keys and counts. */
	add_flow(p, NULL, p->flow, other, &second);
	assert_int_equal(qoff_flow_get(p->b, second, &fi), 0);
	assert_int_equal(fi.cipher, p->keys.cipher);
	assert_int_equal(fi.key_gen, 6);
	assert_int_equal(qoff_flow_del(p->b, p->flow), 0);
	assert_int_equal(qoff_flow_del(p->b, p->flow), -ENOENT);
	assert_int_equal(qoff_flow_get(p->b, second, &fi), 0);
	pair_free(p);
}

static void key_update(void **state)
{
	struct pair *p = pair_new(1, AF_INET, true);
	struct qoff_keys next = random_keys(&p->seed, 1), third = random_keys(&p->seed, 1);
	struct qoff_ctx_info ci;
	struct qoff_flow_info fi;
	static struct load l;

	memset(&l, 0, sizeof(l));
	load_add(p, &l, 100, 0, 1, 0);
	assert_int_equal(load_send(p, &l, 0, 0), 100);
	load_recv(p, &l, 0, QOFF_RX_OPENED);

	assert_int_equal(qoff_ctx_update(p->a, p->ctx, 0, &next), -EINVAL);
	assert_int_equal(qoff_ctx_update(p->a, p->ctx, 2, &next), -ERANGE);
	assert_int_equal(qoff_ctx_update(p->a, p->ctx, 1, &p->keys), -EEXIST);
	assert_int_equal(qoff_ctx_update(p->a, p->ctx, 1, &next), 0);
	/* The newest key was not used yet. */
	assert_int_equal(qoff_ctx_update(p->a, p->ctx, 0, &third), -EBUSY);

	/* The receiver does not have it yet: raw, no failure. */
	memset(&l, 0, sizeof(l));
	load_add(p, &l, 100, 1, 1, 1);
	assert_int_equal(load_send(p, &l, 1, 0), 100);
	assert_int_equal(wait_recv(p, 0), 1);
	assert_int_equal(p->batch.seg[0].status, QOFF_RX_NO_PHASE);
	assert_int_equal(qoff_flow_get(p->b, p->flow, &fi), 0);
	assert_int_equal(fi.failed, 0);
	assert_int_equal(fi.largest_pn, 0);

	assert_int_equal(qoff_flow_update(p->b, p->flow, &next, 0, 6, QOFF_PN_NONE), -EBUSY);
	assert_int_equal(qoff_flow_update(p->b, p->flow, &next, 1, 6, QOFF_PN_NONE), 0);
	memset(&l, 0, sizeof(l));
	load_add(p, &l, 100, 2, 1, 1);
	assert_int_equal(load_send(p, &l, 2, 0), 100);
	load_recv(p, &l, 2, QOFF_RX_OPENED);
	assert_int_equal(p->batch.seg[0].key_gen, 6);

	/* No way back to the old phase. */
	memset(&l, 0, sizeof(l));
	load_add(p, &l, 100, 3, 1, 0);
	assert_int_equal(load_send(p, &l, 3, 0), -EINVAL);
	assert_int_equal(qoff_ctx_get(p->a, p->ctx.id, &ci), 0);
	assert_int_equal(ci.phase, 1);
	assert_int_equal(ci.next_pn, 3);
	assert_int_equal(ci.key_used, 2);
	assert_int_equal(qoff_flow_retire(p->b, p->flow, 0), 0);
	assert_int_equal(qoff_flow_retire(p->b, p->flow, 0), -ENOENT);
	assert_int_equal(qoff_flow_update(p->b, p->flow, &third, 0, 7, QOFF_PN_NONE), 0);
	assert_int_equal(qoff_ctx_update(p->a, p->ctx, 0, &third), 0);
	assert_int_equal(load_send(p, &l, 3, 0), 100);
	load_recv(p, &l, 3, QOFF_RX_OPENED);
	pair_free(p);
}

/* RFC 9001 section 6.6, with the count moved near the limit. */
static void key_limit(void **state)
{
	struct pair *p = pair_new(QUIC_OFFLOAD_CIPHER_AES_128_CCM, AF_INET, true);
	uint64_t limit = qoff_cipher_info(QUIC_OFFLOAD_CIPHER_AES_128_CCM)->seal_limit;
	struct user_key *key = p->a->user->group->ctx[p->ctx.id]->slot[0];
	int fd = qoff_events_fd(p->q);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct qoff_event ev;
	static struct load l;

	assert_true(fd >= 0);
	assert_int_equal(qoff_event_next(p->q, &ev), -EAGAIN);
	memset(&l, 0, sizeof(l));
	load_add(p, &l, 100, 0, 1, 0);
	load_add(p, &l, 100, 1, 1, 0);
	key->used = limit - limit / 8 - 2;
	assert_int_equal(load_send(p, &l, 0, 0), 200);
	load_recv(p, &l, 0, QOFF_RX_OPENED);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_int_equal(qoff_event_next(p->q, &ev), 0);
	assert_int_equal(ev.type, QOFF_EVENT_KEY_LIMIT);
	assert_int_equal(ev.direction, QUIC_OFFLOAD_DIRECTION_TX);
	assert_int_equal(ev.id, p->ctx.id);
	assert_int_equal(ev.limit, limit);
	assert_int_equal(poll(&pfd, 1, 0), 0);

	key->used = limit - 1;
	memset(&l, 0, sizeof(l));
	load_add(p, &l, 100, 2, 1, 0);
	load_add(p, &l, 100, 3, 1, 0);
	assert_int_equal(load_send(p, &l, 2, 0), -EKEYEXPIRED);
	memset(&l, 0, sizeof(l));
	load_add(p, &l, 100, 2, 1, 0);
	assert_int_equal(load_send(p, &l, 2, 0), 100);
	load_recv(p, &l, 2, QOFF_RX_OPENED);
	assert_int_equal(qoff_event_next(p->q, &ev), -EAGAIN);
	pair_free(p);
}

/* A failed send leaves the numbers unused; a number that was sent is gone. */
static void admission(void **state)
{
	struct pair *p = pair_new(1, AF_INET, true);
	struct sockaddr_storage good = p->sb;
	struct sockaddr_in *bad = (void *)&p->sb;
	static struct load l;

	memset(&l, 0, sizeof(l));
	load_add(p, &l, 100, 5, 1, 0);
	bad->sin_port = 0;
	assert_int_equal(load_send(p, &l, 5, 0), -EINVAL);
	p->sb = good;
	assert_int_equal(load_send(p, &l, 5, 0), 100);
	assert_int_equal(load_send(p, &l, 5, 0), -ESTALE);
	memset(&l, 0, sizeof(l));
	load_add(p, &l, 100, 4, 1, 0);
	assert_int_equal(load_send(p, &l, 4, 0), -ESTALE);
	pair_free(p);
}

/* The library's descriptor is a duplicate: a number that was closed and is another
 * file now is not what it sends through.
 */
static void reused_descriptor(void **state)
{
	struct pair *p = pair_new(1, AF_INET, true);
	struct qoff_sock *again;
	static struct load l;
	int pipefd[2], fd;

	assert_int_equal(qoff_attach(p->q, p->fa, -1, 0, 0, &again), -EBUSY);
	close(p->fa);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(fd, p->fa);
	memset(&l, 0, sizeof(l));
	load_add(p, &l, 100, 0, 1, 0);
	assert_int_equal(load_send(p, &l, 0, 0), 100);
	load_recv(p, &l, 0, QOFF_RX_OPENED);

	/* The new socket under the old number is nobody's to join. */
	assert_int_equal(qoff_attach(p->q, p->fb, fd, 0, 0, &again), -EBUSY);
	qoff_detach(p->b);
	assert_int_equal(qoff_attach(p->q, p->fb, fd, DCID_LEN, 0, &again), -EINVAL);

	assert_int_equal(pipe(pipefd), 0);
	assert_int_equal(qoff_attach(p->q, pipefd[0], -1, 0, 0, &again), -ENOTSOCK);
	close(pipefd[0]);
	close(pipefd[1]);
	assert_int_equal(qoff_attach(p->q, pipefd[0], -1, 0, 0, &again), -EBADF);
	assert_int_equal(qoff_attach(p->q, fd, -1, 21, 0, &again), -ERANGE);
	assert_int_equal(qoff_attach(p->q, fd, -1, 0, 1, &again), -EINVAL);
	pair_free(p);
}

static void group_shares(void **state)
{
	struct pair *p = pair_new(1, AF_INET, true);
	struct qoff_sock_info a, b;
	struct sockaddr_storage ss;
	struct qoff_ctx_info ci;
	struct qoff_sock *third;
	socklen_t len;
	int fd = bound(AF_INET, &ss, &len);

	assert_int_equal(qoff_attach(p->q, fd, p->fa, 1, 0, &third), -EINVAL);
	assert_int_equal(qoff_attach(p->q, fd, p->fa, 0, 0, &third), 0);
	assert_int_equal(qoff_sock_get(p->a, &a), 0);
	assert_int_equal(qoff_sock_get(third, &b), 0);
	assert_int_equal(a.group, b.group);
	assert_int_equal(qoff_ctx_get(third, p->ctx.id, &ci), 0);
	assert_int_equal(qoff_ctx_get(p->b, p->ctx.id, &ci), -ENOENT);
	qoff_detach(p->a);
	assert_int_equal(qoff_ctx_del(third, p->ctx), 0);
	assert_int_equal(qoff_ctx_del(third, p->ctx), -ENOENT);
	close(fd);
	pair_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exchange_v4),
		cmocka_unit_test(exchange_v6),
		cmocka_unit_test(records),
		cmocka_unit_test(partial),
		cmocka_unit_test(raw_and_unknown),
		cmocka_unit_test(key_update),
		cmocka_unit_test(key_limit),
		cmocka_unit_test(admission),
		cmocka_unit_test(reused_descriptor),
		cmocka_unit_test(group_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
