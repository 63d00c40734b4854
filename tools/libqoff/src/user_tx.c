// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sending in user space: the checks of the kernel's sendmsg, sealing on OpenSSL,
 * then runs of equal length with UDP_SEGMENT in one sendmmsg.
 */
#include <limits.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "user.h"

#define RUN_MAX		64	/* UDP_MAX_SEGMENTS of kernels before 6.9 */
#define ROOM_WAIT_MS	100	/* for the rest of a super-packet that has begun to leave */

/**
 * struct super - a send on its way
 * @s: socket
 * @msg: the caller's
 * @flags: the caller's, for sendmsg
 * @tx: head of the control message
 * @seg: its entries
 * @len: payload bytes
 * @max: longest packet
 * @ctx: context, a reference; NULL: RAW
 * @key: that seals it
 * @buf: sealed packets; NULL: RAW
 * @control: the caller's other control messages
 * @control_len: their bytes
 */
struct super {
	struct qoff_sock *s;
	const struct msghdr *msg;
	int flags;
	struct qoff_tx tx;
	struct qoff_tx_seg seg[QOFF_MAX_SEGS];
	size_t len;
	unsigned int max;
	struct user_ctx *ctx;
	struct user_key *key;
	uint8_t *buf;
	char control[1024] __attribute__((aligned(8)));
	size_t control_len;
};

static int bad(int err, const char *why)
{
	return qoff_fail(err, "%s", why);
}

static bool all_zero(const uint8_t *p, size_t len)
{
	while (len--) {
		if (*p++)
			return false;
	}
	return true;
}

/* The control message, offload/tx.c has the same rules in the same order. */
static int parse_head(struct super *sp, const uint8_t *p, size_t len)
{
	struct qoff_tx *tx = &sp->tx;

	if (len < QOFF_TX_HDR_MIN)
		return bad(EINVAL, "the control message is shorter than its head");
	memcpy(tx, p, sizeof(*tx));
	if (tx->hdr_size < QOFF_TX_HDR_MIN || tx->seg_size < QOFF_TX_SEG_MIN || tx->seg_size % 8)
		return bad(EINVAL, "sizes in the control message");
	if (!tx->nseg || tx->nseg > QOFF_MAX_SEGS)
		return bad(EINVAL, "1 to 128 packets are sent in one call");
	if (len != tx->hdr_size + (size_t)tx->nseg * tx->seg_size)
		return bad(EINVAL, "the control message's length is not that of its entries");
	if (!all_zero(p + sizeof(*tx), tx->hdr_size - sizeof(*tx)))
		return bad(E2BIG, "fields that are not known must be 0");
	if (tx->flags & ~QOFF_TX_FLAGS || tx->resv)
		return bad(EINVAL, "unknown flags or reserved fields");
	if (tx->flags & QOFF_TX_RAW && (tx->flags & QOFF_TX_PN_OFFSETS || tx->ctx || tx->ctx_gen))
		return bad(EINVAL, "QOFF_TX_RAW with a context or packet number offsets");
	if (!(tx->flags & QOFF_TX_RAW) && !tx->ctx)
		return bad(EINVAL, "context 0 is none");
	if (!(tx->flags & QOFF_TX_RAW) && tx->pn > QOFF_PN_MAX)
		return bad(ERANGE, "packet numbers end at 2^62-1");
	return 0;
}

static int parse_segs(struct super *sp, const uint8_t *p)
{
	const struct qoff_tx *tx = &sp->tx;
	bool offsets = tx->flags & QOFF_TX_PN_OFFSETS;
	size_t sum = 0;

	p += tx->hdr_size;
	for (unsigned int i = 0; i < tx->nseg; i++, p += tx->seg_size) {
		struct qoff_tx_seg *g = &sp->seg[i];

		memcpy(g, p, sizeof(*g));
		if (!all_zero(p + sizeof(*g), tx->seg_size - sizeof(*g)))
			return bad(E2BIG, "fields that are not known must be 0");
		if (!g->len || g->flags)
			return bad(EINVAL, "a packet without bytes or with flags");
		if (!offsets && g->pn_off)
			return bad(EINVAL, "a packet number offset without QOFF_TX_PN_OFFSETS");
		if (offsets && (i ? g->pn_off <= g[-1].pn_off : g->pn_off))
			return bad(EINVAL, "packet number offsets begin at 0 and grow");
		sum += g->len;
		if (g->len > sp->max)
			sp->max = g->len;
	}
	if (sum != sp->len)
		return bad(EINVAL, "lengths do not add up to the payload");
	if (sp->len > QOFF_MAX_PAYLOAD_V6)
		return bad(EMSGSIZE, "a super-packet is at most as long as a datagram");
	return 0;
}

static int append_control(struct super *sp, const struct cmsghdr *c)
{
	size_t space = CMSG_ALIGN(c->cmsg_len);

	if (space > sizeof(sp->control) - sp->control_len)
		return bad(ENOBUFS, "too many control messages");
	memset(sp->control + sp->control_len, 0, space);
	memcpy(sp->control + sp->control_len, c, c->cmsg_len);
	sp->control_len += space;
	return 0;
}

/* Finds our control message and gathers the others: of our level there may be none
 * beside it. A list without ours is the kernel's to judge.
 */
static int read_control(struct super *sp, const struct cmsghdr **ours)
{
	struct msghdr *m = (struct msghdr *)sp->msg;
	bool malformed = false, other = false;
	struct cmsghdr *c;
	int err = 0;

	*ours = NULL;
	for (c = CMSG_FIRSTHDR(m); c && !err; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_len < CMSG_LEN(0) ||
		    c->cmsg_len > (char *)m->msg_control + m->msg_controllen - (char *)c) {
			malformed = true;
			break;
		}
		if (c->cmsg_level != SOCK_SOL_UDP)
			err = append_control(sp, c);
		else if ((uint32_t)c->cmsg_type != QOFF_CMSG || *ours)
			other = true;
		else
			*ours = c;
	}
	if (*ours && (malformed || other))
		return bad(EINVAL, "QOFF_CMSG stands alone of its level");
	return *ours ? err : 0;
}

/* Where the packets go, for limits that depend on it. */
static int destination(const struct super *sp, struct sockaddr_storage *ss)
{
	bool v4 = sp->s->family == AF_INET;
	socklen_t len = sizeof(*ss);

	memset(ss, 0, sizeof(*ss));
	if (!sp->msg->msg_name) {
		if (getpeername(sp->s->fd, (void *)ss, &len))
			return bad(EDESTADDRREQ, "no destination");
		return 0;
	}
	if (sp->msg->msg_namelen < (v4 ? sizeof(struct sockaddr_in) : sizeof(sa_family_t)))
		return bad(EINVAL, "short address");
	if (len > sp->msg->msg_namelen)
		len = sp->msg->msg_namelen;
	memcpy(ss, sp->msg->msg_name, len);
	if (v4 && ss->ss_family != AF_INET)
		return bad(EAFNOSUPPORT, "not an IPv4 address");
	return 0;
}

/* DPLPMTUD (RFC 8899) sends what the device takes, whatever was learned of the path. */
static bool probes(const struct qoff_sock *s)
{
	bool v4 = s->family == AF_INET;
	socklen_t len = sizeof(int);
	int val = 0;

	if (getsockopt(s->fd, v4 ? IPPROTO_IP : IPPROTO_IPV6,
		       v4 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER, &val, &len))
		return false;
	return val >= IP_PMTUDISC_PROBE;
}

/* By a socket of its own that asks the route: the caller's may be unconnected. */
static unsigned int ask_mtu(const struct super *sp, const struct sockaddr_storage *dst)
{
	bool v4 = dst->ss_family == AF_INET;
	socklen_t len = sizeof(int);
	int fd, mtu = 0, dev = 0;
	struct qoff_addr a;

	if (probes(sp->s)) {
		if (!qoff_addr_from((const void *)dst, &a))
			mtu = qoff_route_mtu(&a);
		return mtu > 48 ? mtu - (v4 ? 28 : 48) : 0;
	}

	fd = socket(dst->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (!getsockopt(sp->s->fd, SOL_SOCKET, SO_BINDTOIFINDEX, &dev, &len) && dev)
		setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &dev, sizeof(dev));
	len = sizeof(mtu);
	if (connect(fd, (const void *)dst, v4 ? sizeof(struct sockaddr_in) :
					       sizeof(struct sockaddr_in6)) ||
	    getsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &mtu, &len))
		mtu = 0;
	close(fd);
	return mtu > 48 ? mtu - (v4 ? 28 : 48) : 0;
}

/* The longest packet that the path takes; UINT_MAX when nobody knows. Asked once a
 * destination, and again before a refusal and after the kernel's.
 */
static unsigned int path_limit(const struct super *sp, const struct sockaddr_storage *dst)
{
	struct user_sock *u = sp->s->user;
	unsigned int mtu;

	pthread_mutex_lock(&u->mtu_lock);
	if (!u->mtu || memcmp(&u->mtu_addr, dst, sizeof(*dst))) {
		u->mtu = ask_mtu(sp, dst);
		u->mtu_addr = *dst;
	}
	mtu = u->mtu;
	pthread_mutex_unlock(&u->mtu_lock);
	return mtu ? mtu : UINT_MAX;
}

static void forget_mtu(struct qoff_sock *s)
{
	pthread_mutex_lock(&s->user->mtu_lock);
	s->user->mtu = 0;
	pthread_mutex_unlock(&s->user->mtu_lock);
}

static int check_path(const struct super *sp)
{
	struct sockaddr_storage dst;
	struct qoff_addr a;
	int err;

	err = destination(sp, &dst);
	if (!err)
		err = qoff_addr_from((void *)&dst, &a);
	if (err)
		return err;
	if (sp->len > (a.len == 4 ? QOFF_MAX_PAYLOAD_V4 : QOFF_MAX_PAYLOAD_V6))
		return bad(EMSGSIZE, "a super-packet is at most as long as a datagram");
	if (qoff_addr_multicast(&a))
		return bad(EOPNOTSUPP, "super-packets are not sent to multicast and broadcast");
	qoff_addr_to(&a, &dst);
	if (sp->max > path_limit(sp, &dst)) {
		forget_mtu(sp->s);
		if (sp->max > path_limit(sp, &dst))
			return bad(EMSGSIZE, "a packet is longer than the path MTU");
	}
	return 0;
}

static uint64_t pn_of(const struct super *sp, unsigned int i)
{
	return sp->tx.pn + (sp->tx.flags & QOFF_TX_PN_OFFSETS ? sp->seg[i].pn_off : i);
}

/* Copies the caller's bytes: they are sealed here, and may change there. */
static int copy_payload(struct super *sp)
{
	const struct msghdr *m = sp->msg;
	size_t off = 0;

	sp->buf = malloc(sp->len);
	if (!sp->buf)
		return bad(ENOMEM, "no memory");
	for (size_t i = 0; i < m->msg_iovlen; i++) {
		memcpy(sp->buf + off, m->msg_iov[i].iov_base, m->msg_iov[i].iov_len);
		off += m->msg_iov[i].iov_len;
	}
	return 0;
}

static const char *seal_error(int err)
{
	switch (err) {
	case -EINVAL:
		return "a packet is too short for its header-protection sample";
	case -EPROTO:
		return "not a short header with fixed bit set and reserved bits clear";
	case -ERANGE:
		return "packet numbers end at 2^62-1";
	case -EBADMSG:
		return "the header's packet number is not the given one";
	}
	return "not a packet to seal";
}

/* Under ctx->lock: every packet is one that may be sealed, all with one key. */
static int check_packets(struct super *sp)
{
	bool grease = sp->ctx->flags & QUIC_OFFLOAD_CTX_FLAG_GREASE_FIXED_BIT;
	unsigned int phase = qoff_phase(sp->buf[0]);
	const uint8_t *p = sp->buf;
	int err;

	for (unsigned int i = 0; i < sp->tx.nseg; p += sp->seg[i++].len) {
		err = qoff_seal_check(p, sp->seg[i].len, sp->ctx->dcid_len, pn_of(sp, i), grease);
		if (err)
			return bad(-err, seal_error(err));
		if (qoff_phase(p[0]) != phase)
			return bad(EINVAL, "packets of two key phases in one call");
	}
	sp->key = sp->ctx->slot[phase];
	if (!sp->key)
		return bad(ENOKEY, "no key of this phase");
	return 0;
}

/* Under ctx->lock. */
static int admit(struct super *sp)
{
	struct user_ctx *ctx = sp->ctx;
	uint64_t limit = qoff_cipher_info(ctx->cipher)->seal_limit;

	if (ctx->dead)
		return bad(ESTALE, "the context was deleted");
	if (pn_of(sp, 0) < ctx->next_pn)
		return bad(ESTALE, "the packet number is not above the last one");
	if (sp->key->seq < ctx->cur)
		return bad(EINVAL, "the key phase is older than the last one");
	if (sp->tx.nseg > limit - sp->key->used)
		return bad(EKEYEXPIRED, "the key has reached its limit: update it");
	return 0;
}

/* Under ctx->lock. */
static int seal(struct super *sp)
{
	size_t dcid = sp->ctx->dcid_len;
	uint8_t *p = sp->buf, mask[QOFF_HP_MASK];
	struct qoff_cipher *c = sp->key->c;

	for (unsigned int i = 0; i < sp->tx.nseg; p += sp->seg[i++].len) {
		if (qoff_cipher_seal(c, p, sp->seg[i].len, 1 + dcid + qoff_pn_len(p[0]),
				     pn_of(sp, i)) ||
		    qoff_cipher_mask(c, p + qoff_sample_off(dcid), mask))
			return bad(ENOMEM, "OpenSSL failed to seal");
		qoff_hp_apply(p, dcid, mask);
	}
	return 0;
}

/* Under ctx->lock, when something has left. */
static void commit(struct super *sp)
{
	uint64_t limit = qoff_cipher_info(sp->ctx->cipher)->seal_limit;
	struct user_ctx *ctx = sp->ctx;
	struct user_key *key = sp->key;

	ctx->next_pn = pn_of(sp, sp->tx.nseg - 1) + 1;
	ctx->cur = key->seq;
	key->used += sp->tx.nseg;
	if (key->warned || key->used < limit - limit / 8)
		return;
	key->warned = true;
	qoff_user_key_event(sp->s->q, sp->s->user->group->id, QUIC_OFFLOAD_DIRECTION_TX,
			    ctx->id.id, key->used, limit);
}

/**
 * struct run - packets that leave as one message: equal lengths, the last may be shorter
 * @iov: its bytes
 * @first: first packet
 * @n: packets
 * @control: the caller's and UDP_SEGMENT
 */
struct run {
	struct iovec iov[8];
	unsigned int first;
	unsigned int n;
	char control[1024 + CMSG_SPACE(sizeof(uint16_t))] __attribute__((aligned(8)));
};

static unsigned int run_length(const struct super *sp, unsigned int first)
{
	size_t total = sp->seg[first].len;
	unsigned int i;

	if (!sp->s->user->gso)
		return 1;
	for (i = first + 1; i < sp->tx.nseg && i - first < RUN_MAX; i++) {
		if (sp->seg[i].len > sp->seg[first].len ||
		    total + sp->seg[i].len > QOFF_MAX_PAYLOAD_V4)
			break;
		total += sp->seg[i].len;
		if (sp->seg[i].len < sp->seg[first].len)
			return i + 1 - first;
	}
	return i - first;
}

/* The part of the payload that starts at @off; 0 if it is in too many pieces. */
static size_t slice(const struct super *sp, size_t off, size_t len, struct iovec *iov, size_t max)
{
	size_t i = 0, n = 0, take;

	if (sp->buf) {
		iov[0].iov_base = sp->buf + off;
		iov[0].iov_len = len;
		return 1;
	}
	for (; off >= sp->msg->msg_iov[i].iov_len; i++)
		off -= sp->msg->msg_iov[i].iov_len;
	for (; len; i++, off = 0) {
		take = sp->msg->msg_iov[i].iov_len - off;
		if (take > len)
			take = len;
		if (!take)
			continue;
		if (n == max)
			return 0;
		iov[n].iov_base = (char *)sp->msg->msg_iov[i].iov_base + off;
		iov[n++].iov_len = take;
		len -= take;
	}
	return n;
}

static void put_segment(char *control, size_t *len, uint16_t size)
{
	struct cmsghdr *c = (void *)(control + *len);

	memset(c, 0, CMSG_SPACE(sizeof(size)));
	c->cmsg_level = SOCK_SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(c), &size, sizeof(size));
	*len += CMSG_SPACE(sizeof(size));
}

/* Cuts the packets from @first on into runs. Return: number of messages. */
static int build_runs(const struct super *sp, unsigned int first, size_t off,
		      struct run *run, struct mmsghdr *mm)
{
	unsigned int i = first, n = 0;
	size_t len;

	for (; i < sp->tx.nseg; i += run[n++].n) {
		struct msghdr *m = &mm[n].msg_hdr;

		run[n].first = i;
		run[n].n = run_length(sp, i);
		len = 0;
		for (unsigned int k = 0; k < run[n].n; k++)
			len += sp->seg[i + k].len;
		memset(&mm[n], 0, sizeof(mm[n]));
		m->msg_name = sp->msg->msg_name;
		m->msg_namelen = sp->msg->msg_namelen;
		m->msg_iov = run[n].iov;
		m->msg_iovlen = slice(sp, off, len, run[n].iov, ARRAY_SIZE(run[n].iov));
		if (!m->msg_iovlen)
			return -ENOMEM;
		m->msg_controllen = sp->control_len;
		memcpy(run[n].control, sp->control, sp->control_len);
		if (run[n].n > 1)
			put_segment(run[n].control, &m->msg_controllen, sp->seg[i].len);
		m->msg_control = m->msg_controllen ? run[n].control : NULL;
		off += len;
	}
	return n;
}

static bool wait_for_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, ROOM_WAIT_MS) == 1;
}

/* Some device or path cannot cut: EIO without checksum offload, EINVAL with IPsec
 * or old kernels.
 */
static bool gso_refused(struct super *sp, const struct mmsghdr *mm, int err)
{
	if ((err != EIO && err != EINVAL) || !sp->s->user->gso)
		return false;
	if (mm->msg_hdr.msg_controllen == sp->control_len)
		return false;
	sp->s->user->gso = false;
	return true;
}

static size_t bytes_before(const struct super *sp, unsigned int seg)
{
	size_t off = 0;

	while (seg--)
		off += sp->seg[seg].len;
	return off;
}

/* Return: packets that left, or an errno if none did. */
static int transmit(struct super *sp, struct run *run, struct mmsghdr *mm)
{
	unsigned int first = 0, done = 0;
	int n, sent, err;

	n = build_runs(sp, 0, 0, run, mm);
	if (n < 0)
		return bad(ENOMEM, "the payload is in too many pieces");
	while (done < n) {
		sent = sendmmsg(sp->s->fd, mm + done, n - done, sp->flags);
		if (sent > 0) {
			done += sent;
			first = done < n ? run[done].first : sp->tx.nseg;
			continue;
		}
		err = errno;
		if (gso_refused(sp, &mm[done], err)) {
			n = build_runs(sp, first, bytes_before(sp, first), run, mm);
			done = 0;
			continue;
		}
		if (!first)
			return qoff_fail(err, "sendmmsg: %s", strerror(err));
		/* The super-packet has begun: what cannot follow is lost, as on the way. */
		if ((err == EAGAIN || err == ENOBUFS) && wait_for_room(sp->s->fd))
			continue;
		if (err == EMSGSIZE)
			forget_mtu(sp->s);
		break;
	}
	return first;
}

static int transmit_all(struct super *sp)
{
	struct mmsghdr *mm;
	struct run *run;
	int n;

	run = malloc(sp->tx.nseg * (sizeof(*run) + sizeof(*mm)));
	if (!run)
		return bad(ENOMEM, "no memory");
	mm = (void *)(run + sp->tx.nseg);
	n = transmit(sp, run, mm);
	free(run);
	return n;
}

static void count(struct super *sp, struct user_stats *st, unsigned int sent)
{
	COUNT(st, TX_SUPER, 1);
	COUNT(st, TX_SEGS, sp->tx.nseg);
	COUNT(st, TX_BYTES, sp->len);
	COUNT(st, TX_SW_SEGS, sp->tx.nseg);
	if (sp->ctx)
		COUNT(st, TX_SW_SEAL, sp->tx.nseg);
	if (sent < sp->tx.nseg)
		COUNT(st, TX_LOST, sp->tx.nseg - sent);
}

static int send_sealed(struct super *sp)
{
	int err, n = 0;

	err = copy_payload(sp);
	if (err)
		return err;
	pthread_mutex_lock(&sp->ctx->lock);
	err = check_packets(sp);
	if (!err)
		err = admit(sp);
	if (!err)
		err = seal(sp);
	if (!err)
		n = transmit_all(sp);
	if (n > 0)
		commit(sp);
	pthread_mutex_unlock(&sp->ctx->lock);
	free(sp->buf);
	if (err || n < 0)
		return err ? err : n;
	count(sp, &sp->ctx->stats, n);
	count(sp, &sp->s->user->stats, n);
	return 0;
}

static int send_raw(struct super *sp)
{
	int n = transmit_all(sp);

	if (n < 0)
		return n;
	count(sp, &sp->s->user->stats, n);
	return 0;
}

static int send_super(struct super *sp, const struct cmsghdr *c)
{
	const uint8_t *p = CMSG_DATA((struct cmsghdr *)c);
	struct qoff_ctx_id id;
	int err;

	err = parse_head(sp, p, c->cmsg_len - CMSG_LEN(0));
	if (!err && sp->flags & (MSG_MORE | MSG_OOB))
		err = bad(EOPNOTSUPP, "a super-packet is sent in one call");
	if (!err)
		err = parse_segs(sp, p);
	if (!err)
		err = check_path(sp);
	if (err)
		return err;
	if (sp->tx.flags & QOFF_TX_RAW)
		return send_raw(sp);
	/* Sealed bytes are a copy anyway. */
	sp->flags &= ~MSG_ZEROCOPY;
	id.id = sp->tx.ctx;
	id.gen = sp->tx.ctx_gen;
	sp->ctx = user_ctx_find(sp->s->user->group, id, &err);
	if (!sp->ctx)
		return err;
	err = send_sealed(sp);
	user_ctx_put(sp->s->q, sp->ctx);
	return err;
}

ssize_t user_sendmsg(struct qoff_sock *s, const struct msghdr *msg, int flags)
{
	struct super sp = { .s = s, .msg = msg, .flags = flags };
	const struct cmsghdr *ours;
	ssize_t n;
	int err;

	for (size_t i = 0; i < msg->msg_iovlen; i++)
		sp.len += msg->msg_iov[i].iov_len;
	err = read_control(&sp, &ours);
	if (err)
		return err;
	if (!ours) {
		n = sendmsg(s->fd, msg, flags);
		return n < 0 ? qoff_fail(errno, "sendmsg: %s", strerror(errno)) : n;
	}
	err = send_super(&sp, ours);
	return err ? err : (ssize_t)sp.len;
}
