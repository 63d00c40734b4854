// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to a send and a receive: a precise error, nothing sent, no state changed.
 * One table, run against the kernel and against libqoff's backend in user space: both
 * must refuse with the same errno. After each refused send the next good one must
 * arrive alone, with the packet number that was refused.
 *
 * What must be refused, and which case here (bad_request.c: there) does it:
 *
 *	control message
 *	  truncated			"control message without a whole head", "one byte short",
 *					"cmsg_len ..."
 *	  sizes, both rules		"hdr_size ...", "seg_size ..."
 *	  nseg 0, over 128		"nseg 0", "nseg 129"
 *	  lengths			"a length of 0", "lengths sum up ...", "no payload",
 *					"longer than a datagram in all"
 *	  flags, reserved fields	"unknown flag", "reserved field", "flag of a segment",
 *					"pn_off ...", "RAW with ..."
 *	  context			"context 0", "unknown context", "stale context",
 *					"generation 0", run_foreign()
 *	  two of them, UDP_SEGMENT	"two control messages", "together with UDP_SEGMENT",
 *					run_state() for the socket option
 *	  unattached, IPv4 and IPv6	run_unattached(), for each address it is run with
 *	  MSG_MORE, cork		"MSG_MORE", run_state() for what is pending,
 *					run_sockopts(), "attach: corked"
 *	packet
 *	  long header			"long header"
 *	  fixed bit			"fixed bit clear"; allowed: run_grease()
 *	  reserved bits			"first/second reserved bit set", "... greases"
 *	  phase				"phase without a key", "two phases", run_old_phase()
 *	  packet number			"packet number not above the last", "packet number 2^62",
 *					"packet numbers run over 2^62-1", "header has another ..."
 *	  length			"too short for the sample", "over the MTU"
 *	  destination			"multicast", "port 0", run_state() for broadcast
 *	netlink				bad_request.c; privilege, limits and attributes that
 *					libqoff cannot make: control.py
 *	receive				receive_cases() for the call; what comes from the wire:
 *					rx.c, rx_guard.c
 */
#include "bad_input.h"

/**
 * struct send - a send in all its parts, right until a case spoils it
 * @tx: head of the control message
 * @seg: its entries
 * @ctrl: control buffer
 * @ctrl_len: bytes used; @fixed: do not build it from the above
 * @cmsg_len: instead of the right one, if not 0
 * @second: a second control message: 1 ours again, 2 UDP_SEGMENT
 * @hdr_extra: head bytes beyond those of struct qoff_tx that are not 0
 * @seg_extra: likewise of an entry
 * @data: payload
 * @len: its bytes
 * @to: destination
 * @flags: of sendmsg
 */
struct send {
	struct qoff_tx tx;
	struct qoff_tx_seg seg[QOFF_MAX_SEGS + 1];
	char ctrl[8192] __attribute__((aligned(8)));
	size_t ctrl_len;
	size_t cmsg_len;
	int second;
	bool hdr_extra, seg_extra;
	uint8_t data[70000];
	size_t len;
	struct sockaddr_storage to;
	int flags;
};

static char *put_cmsg(struct send *s, int level, int type, size_t len)
{
	struct cmsghdr *c = (void *)(s->ctrl + s->ctrl_len);

	memset(c, 0, CMSG_SPACE(len));
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	s->ctrl_len += CMSG_SPACE(len);
	return (char *)CMSG_DATA(c);
}

static void put_ours(struct send *s)
{
	size_t hdr = s->tx.hdr_size, seg = s->tx.seg_size, n = s->tx.nseg;
	char buf[8192] = { 0 }, *p;
	struct cmsghdr *c;

	/* Laid out as the sizes say, if they say something sane. */
	if (hdr < sizeof(s->tx) || hdr > 256)
		hdr = sizeof(s->tx);
	if (seg < sizeof(s->seg[0]) || seg > 40)
		seg = sizeof(s->seg[0]);
	if (n > QOFF_MAX_SEGS + 1)
		n = 1;
	memcpy(buf, &s->tx, sizeof(s->tx));
	if (s->hdr_extra)
		buf[hdr - 1] = 1;
	for (size_t i = 0; i < n; i++)
		memcpy(buf + hdr + i * seg, &s->seg[i], sizeof(s->seg[0]));
	if (s->seg_extra)
		buf[hdr + seg - 1] = 1;
	/* The message is as long as the sizes say, even when they are wrong. */
	if (s->tx.hdr_size <= 256 && s->tx.seg_size <= 40)
		p = put_cmsg(s, SOL_UDP, QOFF_CMSG, s->tx.hdr_size + n * s->tx.seg_size);
	else
		p = put_cmsg(s, SOL_UDP, QOFF_CMSG, hdr + n * seg);
	c = (void *)(p - CMSG_LEN(0));
	memcpy(p, buf, c->cmsg_len - CMSG_LEN(0));
	if (s->cmsg_len)
		c->cmsg_len = s->cmsg_len;
}

static void build(struct send *s)
{
	uint16_t gso = 100;

	s->ctrl_len = 0;
	put_ours(s);
	if (s->second == 1)
		put_ours(s);
	else if (s->second == 2)
		memcpy(put_cmsg(s, SOL_UDP, UDP_SEGMENT, 2), &gso, 2);
}

static void add_packet(struct world *w, struct send *s, size_t len, uint64_t pn, unsigned int phase)
{
	make_packet(&w->seed, s->data + s->len, len, dcid, DCID_LEN, pn, PN_LEN, phase);
	s->seg[s->tx.nseg++] = (struct qoff_tx_seg){ .len = len };
	s->len += len;
}

/* Two good packets from @pn on. */
static void good(struct world *w, struct send *s, uint64_t pn)
{
	memset(s, 0, offsetof(struct send, data));
	s->tx = (struct qoff_tx){ .hdr_size = sizeof(s->tx), .seg_size = sizeof(s->seg[0]),
				  .ctx = w->ctx.id, .ctx_gen = w->ctx.gen, .pn = pn };
	s->len = 0;
	s->to = w->sb;
	s->flags = 0;
	add_packet(w, s, 200, pn, 0);
	add_packet(w, s, 300, pn + 1, 0);
}

static int do_send(struct qoff_sock *sock, struct send *s)
{
	struct iovec iov = { s->data, s->len };
	struct msghdr msg = { .msg_name = &s->to, .msg_namelen = addr_len(&s->to), .msg_iov = &iov,
			      .msg_iovlen = 1, .msg_control = s->ctrl };
	ssize_t n;

	build(s);
	msg.msg_controllen = s->ctrl_len;
	n = qoff_sendmsg(sock, &msg, s->flags);
	return n < 0 ? n : 0;
}

/* Spoilers. @pn is the number of the first packet. */
static void truncated(struct world *w, struct send *s, uint64_t pn) { s->cmsg_len = CMSG_LEN(31); }
static void short_by_one(struct world *w, struct send *s, uint64_t pn)
{
	s->cmsg_len = CMSG_LEN(sizeof(s->tx) + 2 * sizeof(s->seg[0]) - 1);
}
static void cmsg_short(struct world *w, struct send *s, uint64_t pn) { s->cmsg_len = 8; }
static void cmsg_long(struct world *w, struct send *s, uint64_t pn) { s->cmsg_len = 4096; }
static void hdr_31(struct world *w, struct send *s, uint64_t pn) { s->tx.hdr_size = 31; }
static void hdr_0(struct world *w, struct send *s, uint64_t pn) { s->tx.hdr_size = 0; }
static void hdr_huge(struct world *w, struct send *s, uint64_t pn) { s->tx.hdr_size = 65535; }
static void hdr_more_zero(struct world *w, struct send *s, uint64_t pn) { s->tx.hdr_size = 48; }
static void hdr_more(struct world *w, struct send *s, uint64_t pn)
{
	s->tx.hdr_size = 48;
	s->hdr_extra = true;
}
static void seg_0(struct world *w, struct send *s, uint64_t pn) { s->tx.seg_size = 0; }
static void seg_4(struct world *w, struct send *s, uint64_t pn) { s->tx.seg_size = 4; }
static void seg_12(struct world *w, struct send *s, uint64_t pn) { s->tx.seg_size = 12; }
static void seg_huge(struct world *w, struct send *s, uint64_t pn) { s->tx.seg_size = 65528; }
static void seg_more_zero(struct world *w, struct send *s, uint64_t pn) { s->tx.seg_size = 16; }
static void seg_more(struct world *w, struct send *s, uint64_t pn)
{
	s->tx.seg_size = 16;
	s->seg_extra = true;
}
static void nseg_0(struct world *w, struct send *s, uint64_t pn) { s->tx.nseg = 0; }
static void nseg_129(struct world *w, struct send *s, uint64_t pn)
{
	s->tx.nseg = 0;
	s->len = 0;
	for (int i = 0; i < 129; i++)
		add_packet(w, s, 60, pn + i, 0);
}
static void nseg_128(struct world *w, struct send *s, uint64_t pn)
{
	nseg_129(w, s, pn);
	s->tx.nseg--;
	s->len -= 60;
}
static void len_0(struct world *w, struct send *s, uint64_t pn)
{
	s->seg[0].len = 500;
	s->seg[1].len = 0;
}
static void sum_less(struct world *w, struct send *s, uint64_t pn) { s->seg[1].len--; }
static void sum_more(struct world *w, struct send *s, uint64_t pn) { s->seg[1].len++; }
static void no_payload(struct world *w, struct send *s, uint64_t pn) { s->len = 0; }
static void too_long(struct world *w, struct send *s, uint64_t pn)
{
	size_t max = w->sb.ss_family == AF_INET ? 65507 : 65527;

	s->tx.nseg = 0;
	s->len = 0;
	while (s->len + 600 < max)
		add_packet(w, s, 600, pn + s->tx.nseg, 0);
	add_packet(w, s, max + 1 - s->len, pn + s->tx.nseg, 0);
}
static void flags_unknown(struct world *w, struct send *s, uint64_t pn) { s->tx.flags = 4; }
static void resv(struct world *w, struct send *s, uint64_t pn) { s->tx.resv = 1; }
static void seg_flags(struct world *w, struct send *s, uint64_t pn) { s->seg[1].flags = 1; }
static void off_no_flag(struct world *w, struct send *s, uint64_t pn) { s->seg[1].pn_off = 1; }
static void off_first(struct world *w, struct send *s, uint64_t pn)
{
	s->tx.flags = QOFF_TX_PN_OFFSETS;
	s->seg[0].pn_off = 1;
	s->seg[1].pn_off = 2;
}
static void off_equal(struct world *w, struct send *s, uint64_t pn)
{
	s->tx.flags = QOFF_TX_PN_OFFSETS;
}
static void ctx_0(struct world *w, struct send *s, uint64_t pn) { s->tx.ctx = 0; }
static void ctx_unknown(struct world *w, struct send *s, uint64_t pn) { s->tx.ctx = 4000; }
static void ctx_huge(struct world *w, struct send *s, uint64_t pn) { s->tx.ctx = UINT32_MAX; }
static void ctx_stale(struct world *w, struct send *s, uint64_t pn) { s->tx.ctx_gen += 100; }
static void ctx_gen_0(struct world *w, struct send *s, uint64_t pn) { s->tx.ctx_gen = 0; }
static void raw_ctx(struct world *w, struct send *s, uint64_t pn) { s->tx.flags = QOFF_TX_RAW; }
static void raw_offsets(struct world *w, struct send *s, uint64_t pn)
{
	s->tx.flags = QOFF_TX_RAW | QOFF_TX_PN_OFFSETS;
	s->tx.ctx = 0;
	s->tx.ctx_gen = 0;
}
static void two_of_them(struct world *w, struct send *s, uint64_t pn) { s->second = 1; }
static void udp_segment(struct world *w, struct send *s, uint64_t pn) { s->second = 2; }
static void msg_more(struct world *w, struct send *s, uint64_t pn) { s->flags = MSG_MORE; }
static void msg_oob(struct world *w, struct send *s, uint64_t pn) { s->flags = MSG_OOB; }
static void long_header(struct world *w, struct send *s, uint64_t pn) { s->data[0] |= 0x80; }
static void fixed_clear(struct world *w, struct send *s, uint64_t pn) { s->data[200] &= ~0x40; }
static void reserved_bits(struct world *w, struct send *s, uint64_t pn) { s->data[200] |= 0x08; }
static void reserved_bits2(struct world *w, struct send *s, uint64_t pn) { s->data[0] |= 0x10; }
static void no_key(struct world *w, struct send *s, uint64_t pn)
{
	s->data[0] |= 4;
	s->data[200] |= 4;
}
static void two_phases(struct world *w, struct send *s, uint64_t pn) { s->data[200] |= 4; }
static void set_pn(struct send *s, unsigned int off, uint64_t pn)
{
	s->data[off + 1 + DCID_LEN] = pn >> 8;
	s->data[off + 2 + DCID_LEN] = pn;
}
static void pn_old(struct world *w, struct send *s, uint64_t pn)
{
	s->tx.pn = pn - 1;
	set_pn(s, 0, pn - 1);
	set_pn(s, 200, pn);
}
static void pn_huge(struct world *w, struct send *s, uint64_t pn)
{
	s->tx.pn = QOFF_PN_MAX + 1;
	set_pn(s, 0, s->tx.pn);
	set_pn(s, 200, s->tx.pn + 1);
}
static void pn_runs_over(struct world *w, struct send *s, uint64_t pn)
{
	s->tx.pn = QOFF_PN_MAX;
	set_pn(s, 0, s->tx.pn);
	set_pn(s, 200, s->tx.pn + 1);
}
static void pn_other(struct world *w, struct send *s, uint64_t pn) { set_pn(s, 200, pn + 2); }
static void no_sample(struct world *w, struct send *s, uint64_t pn)
{
	s->tx.nseg = 1;
	s->len = 200;
	add_packet(w, s, 1 + DCID_LEN + 4 + 16 - 1, pn + 1, 0);
}
static void just_sample(struct world *w, struct send *s, uint64_t pn)
{
	s->tx.nseg = 1;
	s->len = 200;
	add_packet(w, s, 1 + DCID_LEN + 4 + 16, pn + 1, 0);
}
static void over_mtu(struct world *w, struct send *s, uint64_t pn)
{
	add_packet(w, s, w->sb.ss_family == AF_INET ? 1473 : 1453, pn + 2, 0);
}
static void at_mtu(struct world *w, struct send *s, uint64_t pn)
{
	add_packet(w, s, w->sb.ss_family == AF_INET ? 1472 : 1452, pn + 2, 0);
}
static void multicast(struct world *w, struct send *s, uint64_t pn)
{
	in_port_t port = ((struct sockaddr_in *)&s->to)->sin_port;

	s->to = parse_addr(w->sb.ss_family == AF_INET ? "224.0.0.251" : "ff05::fb");
	((struct sockaddr_in *)&s->to)->sin_port = port;
}
static void port_0(struct world *w, struct send *s, uint64_t pn)
{
	((struct sockaddr_in *)&s->to)->sin_port = 0;
}
static void fixed_grease(struct world *w, struct send *s, uint64_t pn)
{
	fixed_clear(w, s, pn);
	s->tx.ctx = w->grease.id;
	s->tx.ctx_gen = w->grease.gen;
}
static void reserved_grease(struct world *w, struct send *s, uint64_t pn)
{
	fixed_grease(w, s, pn);
	s->data[0] |= 0x08;
}

static const struct send_case {
	const char *name;
	void (*spoil)(struct world *w, struct send *s, uint64_t pn);
	int err;
	bool needs_mtu;
} send_cases[] = {
	{ "control message without a whole head", truncated, -EINVAL },
	{ "control message one byte short", short_by_one, -EINVAL },
	{ "cmsg_len below its own header", cmsg_short, -EINVAL },
	{ "cmsg_len beyond the buffer", cmsg_long, -EINVAL },
	{ "hdr_size 31", hdr_31, -EINVAL },
	{ "hdr_size 0", hdr_0, -EINVAL },
	{ "hdr_size 65535", hdr_huge, -EINVAL },
	{ "hdr_size 48, zero", hdr_more_zero, 0 },
	{ "hdr_size 48, not zero", hdr_more, -E2BIG },
	{ "seg_size 0", seg_0, -EINVAL },
	{ "seg_size 4", seg_4, -EINVAL },
	{ "seg_size 12", seg_12, -EINVAL },
	{ "seg_size 65528", seg_huge, -EINVAL },
	{ "seg_size 16, zero", seg_more_zero, 0 },
	{ "seg_size 16, not zero", seg_more, -E2BIG },
	{ "nseg 0", nseg_0, -EINVAL },
	{ "nseg 129", nseg_129, -EINVAL },
	{ "nseg 128", nseg_128, 0 },
	{ "a length of 0", len_0, -EINVAL },
	{ "lengths sum up to less", sum_less, -EINVAL },
	{ "lengths sum up to more", sum_more, -EINVAL },
	{ "no payload", no_payload, -EINVAL },
	{ "longer than a datagram in all", too_long, -EMSGSIZE },
	{ "unknown flag", flags_unknown, -EINVAL },
	{ "reserved field", resv, -EINVAL },
	{ "flag of a segment", seg_flags, -EINVAL },
	{ "pn_off without its flag", off_no_flag, -EINVAL },
	{ "first pn_off not 0", off_first, -EINVAL },
	{ "pn_off does not grow", off_equal, -EINVAL },
	{ "context 0", ctx_0, -EINVAL },
	{ "unknown context", ctx_unknown, -ENOENT },
	{ "context 2^32-1", ctx_huge, -ENOENT },
	{ "stale context", ctx_stale, -ESTALE },
	{ "generation 0", ctx_gen_0, -ESTALE },
	{ "RAW with a context", raw_ctx, -EINVAL },
	{ "RAW with offsets", raw_offsets, -EINVAL },
	{ "two control messages", two_of_them, -EINVAL },
	{ "together with UDP_SEGMENT", udp_segment, -EINVAL },
	{ "MSG_MORE", msg_more, -EOPNOTSUPP },
	{ "MSG_OOB", msg_oob, -EOPNOTSUPP },
	{ "long header", long_header, -EPROTO },
	{ "fixed bit clear", fixed_clear, -EPROTO },
	{ "first reserved bit set", reserved_bits, -EPROTO },
	{ "second reserved bit set", reserved_bits2, -EPROTO },
	{ "phase without a key", no_key, -ENOKEY },
	{ "two phases", two_phases, -EINVAL },
	{ "packet number not above the last", pn_old, -ESTALE },
	{ "packet number 2^62", pn_huge, -ERANGE },
	{ "packet numbers run over 2^62-1", pn_runs_over, -ERANGE },
	{ "header has another packet number", pn_other, -EBADMSG },
	{ "too short for the sample", no_sample, -EINVAL },
	{ "just long enough for the sample", just_sample, 0 },
	{ "over the MTU", over_mtu, -EMSGSIZE, true },
	{ "at the MTU", at_mtu, 0, true },
	{ "multicast", multicast, -EOPNOTSUPP },
	{ "port 0", port_0, -EINVAL },
	{ "reserved bit with a context that greases", reserved_grease, -EPROTO },
};

/* Everything that waits at b: number of packets, all of them opened, the first and last
 * packet number.
 */
static int drain(struct world *w, unsigned int want, uint64_t *first, uint64_t *last)
{
	static struct qoff_batch b;
	static uint8_t data[65536];
	unsigned int got = 0;
	int n;

	b.data = data;
	b.size = sizeof(data);
	while (got < want) {
		n = recv_wait(w->b, &b);
		if (n < 0)
			return n;
		if (b.rx.nopened != n)
			return -EBADMSG;
		if (!got)
			*first = b.rx.pn_min;
		*last = b.rx.pn_largest;
		got += n;
	}
	n = qoff_recv(w->b, &b, MSG_DONTWAIT);
	return n == -EAGAIN ? got : -E2BIG;
}

static uint64_t next_pn(struct world *w)
{
	struct qoff_ctx_info info;

	MUST(!qoff_ctx_get(w->a, w->ctx.id, &info));
	return info.next_pn;
}

static void run_send(struct world *w, const struct send_case *c)
{
	uint64_t pn = next_pn(w), first = 0, last = 0;
	static struct send s;
	int err, n;

	good(w, &s, pn);
	c->spoil(w, &s, pn);
	err = do_send(w->a, &s);
	if (err != c->err) {
		ksft_result(false, "send, %s: %s: %s (wanted %s)", backend_name(w->backend),
			    c->name, strerror(-err), strerror(-c->err));
		return;
	}
	if (!c->err) {
		n = drain(w, s.tx.nseg, &first, &last);
		ksft_result(n == s.tx.nseg && first == pn && last == pn + n - 1,
			    "send, %s: %s: sent", backend_name(w->backend), c->name);
		return;
	}
	/* Nothing went out, no number is used: the good one arrives alone with them. */
	if (next_pn(w) != pn) {
		ksft_result(false, "send, %s: %s: packet numbers are used up",
			    backend_name(w->backend), c->name);
		return;
	}
	good(w, &s, pn);
	err = do_send(w->a, &s);
	n = err ? err : drain(w, 2, &first, &last);
	ksft_result(n == 2 && first == pn && last == pn + 1, "send, %s: %s: %s",
		    backend_name(w->backend), c->name, strerror(-c->err));
}

/* A greasing context sends what others may not. No flow has its keys, so that both
 * packets come up raw.
 */
static void run_grease(struct world *w)
{
	static struct qoff_batch b;
	static uint8_t data[65536];
	static struct send s;
	int err, n, got = 0;

	good(w, &s, 0);
	fixed_grease(w, &s, 0);
	err = do_send(w->a, &s);
	b.data = data;
	b.size = sizeof(data);
	while (!err && got < 2) {
		n = recv_wait(w->b, &b);
		if (n < 0 || b.rx.nopened)
			err = -EBADMSG;
		got += n;
	}
	ksft_result(!err, "send, %s: fixed bit clear with a context that greases: %s",
		    backend_name(w->backend), strerror(-err));
}

/* An old phase, after a key update. Last: it changes the connection. */
static void run_old_phase(struct world *w)
{
	struct qoff_keys next = rnd_keys(&w->seed, w->keys.cipher);
	uint64_t pn = next_pn(w), first, last;
	static struct send s;
	int err;

	MUST(!qoff_ctx_update(w->a, w->ctx, 1, &next));
	MUST(!qoff_flow_update(w->b, w->flow, &next, 1, 2, QOFF_PN_NONE));
	good(w, &s, pn);
	s.data[0] |= 4;
	s.data[200] |= 4;
	err = do_send(w->a, &s);
	if (!err)
		err = drain(w, 2, &first, &last) == 2 ? 0 : -EBADMSG;
	ksft_result(!err, "send, %s: the next phase: %s", backend_name(w->backend), strerror(-err));
	good(w, &s, pn + 2);
	err = do_send(w->a, &s);
	ksft_result(err == -EINVAL && next_pn(w) == pn + 2, "send, %s: an older phase: %s",
		    backend_name(w->backend), strerror(-err));
}

/* Our control message on sockets that are not attached: every kernel refuses it. */
static void run_unattached(struct world *w)
{
	static struct send s;
	struct iovec iov = { s.data, 0 };
	struct sockaddr_storage sa = w->sa;
	struct msghdr msg = { .msg_name = &s.to, .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = s.ctrl };
	int fd;

	((struct sockaddr_in *)&sa)->sin_port = 0;
	fd = udp_socket(&sa);
	good(w, &s, 0);
	build(&s);
	iov.iov_len = s.len;
	msg.msg_controllen = s.ctrl_len;
	msg.msg_namelen = addr_len(&s.to);
	errno = 0;
	ksft_result(sendmsg(fd, &msg, 0) == -1 && errno == EINVAL,
		    "send, socket that is not attached, %s: %s",
		    sa.ss_family == AF_INET ? "IPv4" : "IPv6", strerror(errno));
	close(fd);
}

/* The next good send arrives alone, from @pn on */
static bool undisturbed(struct world *w, uint64_t pn)
{
	uint64_t first = 0, last = 0;
	static struct send s;

	if (next_pn(w) != pn)
		return false;
	good(w, &s, pn);
	return !do_send(w->a, &s) && drain(w, 2, &first, &last) == 2 && first == pn &&
	       last == pn + 1;
}

/* A context of another group, at an index that this one does not use */
static void run_foreign(struct world *w)
{
	uint64_t pn = next_pn(w);
	static struct send s;
	int err;

	good(w, &s, pn);
	err = do_send(w->b, &s);
	ksft_result(err == -ENOENT && undisturbed(w, pn), "send, %s: another group's context: %s",
		    backend_name(w->backend), strerror(-err));
}

/* What an ordinary datagram or an option has left in the socket. The kernel's alone. */
static void run_state(struct world *w)
{
	struct qoff_batch b = { 0 };
	uint64_t pn = next_pn(w);
	static uint8_t data[2048];
	static struct send s;
	int err, gso = 100;

	if (w->backend != QOFF_KERNEL)
		return;
	b.data = data;
	b.size = sizeof(data);
	MUST(sendto(w->fa, "mo", 2, MSG_MORE, (void *)&w->sb, addr_len(&w->sb)) == 2);
	good(w, &s, pn);
	err = do_send(w->a, &s);
	MUST(sendto(w->fa, "re", 2, 0, (void *)&w->sb, addr_len(&w->sb)) == 2);
	ksft_result(err == -EINVAL && recv_wait(w->b, &b) == 1 && b.len == 4 && !b.rx.nopened &&
		    !memcmp(data, "more", 4) && undisturbed(w, pn),
		    "send, kernel: while a datagram is pending: %s", strerror(-err));

	pn = next_pn(w);
	MUST(!setsockopt(w->fa, SOL_UDP, UDP_SEGMENT, &gso, sizeof(gso)));
	good(w, &s, pn);
	err = do_send(w->a, &s);
	gso = 0;
	MUST(!setsockopt(w->fa, SOL_UDP, UDP_SEGMENT, &gso, sizeof(gso)));
	ksft_result(err == -EINVAL && undisturbed(w, pn),
		    "send, kernel: UDP_SEGMENT as the socket's option: %s", strerror(-err));

	if (w->sb.ss_family != AF_INET)
		return;
	pn = next_pn(w);
	good(w, &s, pn);
	((struct sockaddr_in *)&s.to)->sin_addr.s_addr = htonl(0x7fffffff);
	err = do_send(w->a, &s);
	ksft_result(err == -EOPNOTSUPP && undisturbed(w, pn), "send, kernel: broadcast: %s",
		    strerror(-err));
}

/* What an attached socket refuses to become. The kernel's alone. */
static void run_sockopts(struct world *w)
{
	int one = 1;

	if (w->backend != QOFF_KERNEL)
		return;
	ksft_result(setsockopt(w->fa, SOL_UDP, UDP_CORK, &one, sizeof(one)) == -1,
		    "attached socket refuses UDP_CORK: %s", strerror(errno));
	ksft_result(setsockopt(w->fa, SOL_UDP, UDP_ENCAP, &one, sizeof(one)) == -1,
		    "attached socket refuses UDP_ENCAP: %s", strerror(errno));
	if (w->sa.ss_family != AF_INET6)
		return;
	ksft_result(setsockopt(w->fa, SOL_UDP, UDP_NO_CHECK6_TX, &one, sizeof(one)) == -1,
		    "attached socket refuses UDP_NO_CHECK6_TX: %s", strerror(errno));
	one = AF_INET;
	ksft_result(setsockopt(w->fa, IPPROTO_IPV6, IPV6_ADDRFORM, &one, sizeof(one)) == -1,
		    "attached socket refuses IPV6_ADDRFORM: %s", strerror(errno));
}

/* Room for nothing: the batch stays. */
static void receive_cases(struct world *w)
{
	char ctrl[2048] __attribute__((aligned(8)));
	struct iovec iov;
	static uint8_t data[65536];
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctrl };
	uint64_t pn = next_pn(w), first, last;
	static struct send s;
	ssize_t n;

	iov = (struct iovec){ data, sizeof(data) };
	n = qoff_recvmsg(w->b, &msg, MSG_DONTWAIT);
	ksft_result(n == -EAGAIN, "receive, %s: nothing there: %s", backend_name(w->backend),
		    strerror(-n));
	good(w, &s, pn);
	MUST(!do_send(w->a, &s));
	MUST(readable(qoff_sock_fd(w->b)));
	msg.msg_controllen = 0;
	n = qoff_recvmsg(w->b, &msg, MSG_DONTWAIT);
	ksft_result(n == -ENOSPC, "receive, %s: no control buffer: %s", backend_name(w->backend),
		    strerror(-n));
	msg.msg_control = ctrl;
	msg.msg_controllen = CMSG_LEN(QOFF_RX_HDR_MIN);
	n = qoff_recvmsg(w->b, &msg, MSG_DONTWAIT);
	ksft_result(n == -ENOSPC, "receive, %s: control buffer for a head: %s",
		    backend_name(w->backend), strerror(-n));
	n = drain(w, 2, &first, &last);
	ksft_result(n == 2 && first == pn && last == pn + 1,
		    "receive, %s: nothing was consumed", backend_name(w->backend));
}

static void run(enum qoff_backend backend, const char *addr, bool mtu)
{
	struct world w;

	world_open(&w, backend, addr);
	for (size_t i = 0; i < sizeof(send_cases) / sizeof(send_cases[0]); i++) {
		if (!send_cases[i].needs_mtu || mtu)
			run_send(&w, &send_cases[i]);
	}
	run_unattached(&w);
	run_foreign(&w);
	run_state(&w);
	run_sockopts(&w);
	receive_cases(&w);
	run_grease(&w);
	run_old_phase(&w);
	world_close(&w);
}

int main(int argc, char **argv)
{
	return bad_input_main(argc, argv, run);
}
