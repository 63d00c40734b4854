// SPDX-License-Identifier: GPL-2.0
/*
 * QUIC offload, transmit: one sendmsg() with a struct qoff_tx.
 *
 * Everything that can fail is done before admission: address and route, room in
 * the send buffer, the copy, the skbs, the cipher request. Admission is the one
 * step that consumes packet numbers. After it nothing is reported as an error,
 * because an error would invite the caller to send the same numbers again with
 * other contents: what goes wrong then is a lost packet, counted.
 *
 * Errors of a send with our control message; nothing was sent and no packet
 * number is used up:
 *
 *  -EINVAL	the message is not as long as it says, a size below the minimum
 *		or seg_size not a multiple of 8, nseg not 1..128, unknown flags,
 *		reserved fields set, a length of 0, lengths that do not sum up to
 *		the payload, packet number offsets that do not increase (or
 *		without their flag), RAW with a context or none without RAW, two
 *		of the messages, UDP_SEGMENT beside it or set on the socket, a
 *		corked socket, checksums switched off; a packet too short for its
 *		sample, packets of two key phases, a phase older than the last
 *  -E2BIG	bytes of head or entry that this kernel does not know are set
 *  -EMSGSIZE	more than 65507 bytes (IPv6: 65527), a segment over the MTU
 *  -EOPNOTSUPP	MSG_OOB, MSG_MORE, multicast, broadcast, IP options, extension
 *		headers, an IPsec route
 *  -ENOENT	no such context in the attach group
 *  -ESTALE	the context is another generation or deleted; a packet number
 *		not above the last
 *  -ENOKEY	no key in the slot of the packets' phase
 *  -EPROTO	long header, fixed bit clear, reserved bits set
 *  -ERANGE	packet number over 2^62-1
 *  -EBADMSG	the header's packet number is not that of the message
 *  -EKEYEXPIRED the key's usage limit
 *  -EAGAIN, -EINTR, -ENOBUFS, -ENOMEM	send the same again
 *  and what sendmsg() on a UDP socket says about addresses, routes and policy.
 */
#include <linux/errqueue.h>
#include <linux/unaligned.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/udp.h>

#include "trace.h"
#include "tx.h"

/* An admission race with a key update is tried again this often */
#define QOFF_TX_TRIES	3

/* Our control message, NULL if there is none. -EINVAL also for two of them and
 * for a neighbour of our level (UDP_SEGMENT); a list without ours is left to
 * stock UDP to judge.
 */
static int qoff_tx_find(struct msghdr *msg, struct cmsghdr **ours,
			bool *need_ip)
{
	bool malformed = false, other = false;
	struct cmsghdr *cmsg;

	*ours = NULL;
	*need_ip = false;
	if (!msg->msg_controllen)
		return 0;
	for_each_cmsghdr(cmsg, msg) {
		if (!CMSG_OK(msg, cmsg)) {
			malformed = true;
			break;
		}
		if (cmsg->cmsg_level != SOL_UDP)
			*need_ip = true;
		else if (cmsg->cmsg_type != QOFF_CMSG || *ours)
			other = true;
		else
			*ours = cmsg;
	}
	return *ours && (malformed || other) ? -EINVAL : 0;
}

/* The head, and whether the message is as long as it says */
static int qoff_tx_parse_head(const struct cmsghdr *cmsg, struct qoff_tx *tx)
{
	const u8 *data = (const u8 *)cmsg + CMSG_LEN(0);
	size_t room = cmsg->cmsg_len - CMSG_LEN(0);

	BUILD_BUG_ON(sizeof(struct qoff_tx) != QOFF_TX_HDR_MIN);
	BUILD_BUG_ON(sizeof(struct qoff_tx_seg) != QOFF_TX_SEG_MIN);

	if (room < sizeof(*tx))
		return -EINVAL;
	memcpy(tx, data, sizeof(*tx));
	if (tx->hdr_size < QOFF_TX_HDR_MIN || tx->seg_size < QOFF_TX_SEG_MIN ||
	    tx->seg_size % 8)
		return -EINVAL;
	if (!tx->nseg || tx->nseg > QOFF_MAX_SEGS)
		return -EINVAL;
	if (room != tx->hdr_size + (size_t)tx->nseg * tx->seg_size)
		return -EINVAL;
	if (memchr_inv(data + sizeof(*tx), 0, tx->hdr_size - sizeof(*tx)))
		return -E2BIG;
	if (tx->flags & ~QOFF_TX_FLAGS || tx->resv)
		return -EINVAL;
	if (tx->flags & QOFF_TX_RAW)
		return tx->flags & QOFF_TX_PN_OFFSETS || tx->ctx ||
		       tx->ctx_gen ? -EINVAL : 0;
	if (!tx->ctx)
		return -EINVAL;
	return tx->pn > QOFF_PN_MAX ? -ERANGE : 0;
}

/* Entries from @i on that repeat the one before them, which was right.
 * Return: the first that does not.
 */
static unsigned int qoff_tx_parse_same(struct qoff_tx_req *req,
				       const u8 *entries, unsigned int i)
{
	const u64 *e = (const u64 *)entries;
	u16 len = req->segs[i - 1].len;
	struct qoff_seg *seg;
	u64 same;

	BUILD_BUG_ON(sizeof(struct qoff_tx_seg) != sizeof(u64));
	same = get_unaligned(&e[i - 1]);
	for (seg = &req->segs[i]; i < req->nseg; i++, seg++) {
		if (get_unaligned(&e[i]) != same)
			break;
		seg->len = len;
		seg->pn_off = i;
	}
	return i;
}

/* The segments. Lengths are nonzero and sum up to @len, offsets increase. */
static int qoff_tx_parse_segs(struct qoff_tx_req *req,
			      const struct cmsghdr *cmsg,
			      const struct qoff_tx *tx, size_t len)
{
	const u8 *entries = (const u8 *)cmsg + CMSG_LEN(0) + tx->hdr_size, *p;
	bool offsets = tx->flags & QOFF_TX_PN_OFFSETS;
	bool plain = tx->seg_size == sizeof(struct qoff_tx_seg) && !offsets;
	unsigned int i = 0, next;
	struct qoff_tx_seg seg;
	size_t sum = 0;
	u32 last = 0;

	req->run = true;
	while (i < tx->nseg) {
		p = entries + i * tx->seg_size;
		memcpy(&seg, p, sizeof(seg));
		if (tx->seg_size > sizeof(seg) &&
		    memchr_inv(p + sizeof(seg), 0, tx->seg_size - sizeof(seg)))
			return -E2BIG;
		if (!seg.len || seg.flags)
			return -EINVAL;
		if (!offsets ? seg.pn_off :
		    i ? seg.pn_off <= last : seg.pn_off)
			return -EINVAL;
		last = seg.pn_off;
		if (i)
			req->run &= i == tx->nseg - 1 &&
				    seg.len <= req->segs[0].len;
		req->max_len = max(req->max_len, seg.len);
		req->segs[i].len = seg.len;
		req->segs[i].pn_off = offsets ? seg.pn_off : i;
		next = i + 1;
		if (plain)
			next = qoff_tx_parse_same(req, entries, next);
		sum += (next - i) * (size_t)seg.len;
		i = next;
	}
	if (sum != len)
		return -EINVAL;
	if (len > QOFF_MAX_BYTES6)
		return -EMSGSIZE;
	req->len = len;
	return 0;
}

/* What of the socket's and the call's state excludes a super-packet */
static int qoff_tx_check_state(const struct sock *sk, const struct msghdr *msg)
{
	const struct udp_sock *up = udp_sk(sk);

	if (msg->msg_flags & (MSG_OOB | MSG_MORE))
		return -EOPNOTSUPP;
	if (READ_ONCE(up->pending) || udp_test_bit(CORK, sk) ||
	    READ_ONCE(up->gso_size))
		return -EINVAL;
	if (sk->sk_no_check_tx || udp_get_no_check6_tx((struct sock *)sk))
		return -EINVAL;
	return 0;
}

static struct qoff_tx_req *qoff_req_alloc(struct sock *sk, struct msghdr *msg,
					  const struct qoff_tx *tx)
{
	struct qoff_tx_req *req;
	size_t size;
	void *p;

	size = sizeof(*req) + tx->nseg * (sizeof(*req->chunks) +
					  sizeof(*req->segs) +
					  sizeof(*req->pkts));
	req = kmalloc(size, sk->sk_allocation);
	if (!req)
		return NULL;
	memset(req, 0, sizeof(*req));
	p = req + 1;
	req->pkts = p;
	p += tx->nseg * sizeof(*req->pkts);
	req->chunks = p;
	p += tx->nseg * sizeof(*req->chunks);
	req->segs = p;

	req->sk = sk;
	req->qs = qoff_sk(sk);
	req->msg = msg;
	req->nseg = tx->nseg;
	req->flags = tx->flags;
	req->ctx_id = tx->ctx;
	req->ctx_gen = tx->ctx_gen;
	req->pn = tx->pn;
	__skb_queue_head_init(&req->skbs);
	return req;
}

/* Undo qoff_tx_attempt() */
static void qoff_req_undo(struct qoff_tx_req *req)
{
	__skb_queue_purge(&req->skbs);
	if (req->crypt)
		qoff_crypt_free(req->crypt);
	if (req->place)
		qoff_place_put(req->place);
	if (req->qd)
		qoff_dev_put(req->qd);
	if (req->key)
		qoff_key_put(req->key);
	req->crypt = NULL;
	req->place = NULL;
	req->qd = NULL;
	req->key = NULL;
}

static void qoff_req_free(struct qoff_tx_req *req)
{
	unsigned int i;

	qoff_req_undo(req);
	kfree_skb(req->first);
	dst_release(req->dst);
	for (i = 0; i < req->nchunk; i++)
		put_page(virt_to_head_page(req->chunks[i].data));
	kfree(req);
}

/* MSG_ZEROCOPY is answered at once, and says that the data was copied. io_uring
 * brings its own notification, which it completes itself when it is not used.
 */
static int qoff_tx_zc_start(struct qoff_tx_req *req)
{
	struct msghdr *msg = req->msg;

	if (!(msg->msg_flags & MSG_ZEROCOPY) || msg->msg_ubuf ||
	    !sock_flag(req->sk, SOCK_ZEROCOPY))
		return 0;
	req->zc = msg_zerocopy_realloc(req->sk, req->len, NULL);
	if (!req->zc)
		return -ENOBUFS;
	uarg_to_msgzc(req->zc)->zerocopy = 0;
	return 0;
}

static void qoff_tx_zc_end(struct qoff_tx_req *req, int err)
{
	if (err)
		net_zcopy_put_abort(req->zc, true);
	else
		net_zcopy_put(req->zc);
}

/* All that depends on the caller alone and is done once */
static int qoff_tx_prepare(struct qoff_tx_req *req)
{
	int err;

	err = qoff_tx_route(req);
	if (err)
		return err;
	if (!req->v6 && req->len > QOFF_MAX_BYTES4)
		return -EMSGSIZE;
	err = qoff_tx_wait_room(req);
	if (err)
		return err;
	err = qoff_tx_copy(req);
	if (err)
		return err;
	return qoff_tx_zc_start(req);
}

/* The packets against the context, on our copy. Under rcu_read_lock(). */
static int qoff_tx_check_pkts(struct qoff_tx_req *req,
			      const struct qoff_ctx *ctx)
{
	bool grease = ctx->flags & QUIC_OFFLOAD_CTX_FLAG_GREASE_FIXED_BIT;
	unsigned int phase = qoff_phase(req->pkts[0].data[0]);
	struct qoff_pkt *p;
	unsigned int i;
	int err;

	for (i = 0; i < req->nseg; i++) {
		p = &req->pkts[i];
		err = qoff_seal_check(p->data, p->len, ctx->dcid_len, p->pn,
				      grease);
		if (err)
			return err;
		if (qoff_phase(p->data[0]) != phase)
			return -EINVAL;
	}
	return 0;
}

/* Find the key that this send is to be sealed with, and hold it */
static int qoff_tx_get_key(struct qoff_tx_req *req)
{
	struct qoff_ctx *ctx;
	struct qoff_key *key;
	int err;

	rcu_read_lock();
	ctx = qoff_ctx_lookup(req->qs->group, req->ctx_id, req->ctx_gen);
	err = PTR_ERR_OR_ZERO(ctx);
	if (err)
		goto out;
	err = qoff_tx_check_pkts(req, ctx);
	if (err)
		goto out;
	key = rcu_dereference(ctx->slot[qoff_phase(req->pkts[0].data[0])]);
	if (!key || !qoff_key_hold(key)) {
		err = -ENOKEY;
		goto out;
	}
	req->key = key;
	req->dcid_len = ctx->dcid_len;
out:
	rcu_read_unlock();
	return err;
}

static void qoff_tx_count(struct qoff_tx_req *req, struct qoff_stats *stats)
{
	qoff_count(stats, QOFF_CNT_TX_SUPER, 1);
	qoff_count(stats, QOFF_CNT_TX_SEGS, req->nseg);
	qoff_count(stats, QOFF_CNT_TX_BYTES, req->len);
	if (req->crypt)
		qoff_count(stats, QOFF_CNT_TX_SW_SEAL, req->nseg);
}

/* The one step that uses packet numbers up */
static int qoff_tx_admit(struct qoff_tx_req *req)
{
	struct qoff_ctx *ctx;
	int err;

	rcu_read_lock();
	ctx = qoff_ctx_lookup(req->qs->group, req->ctx_id, req->ctx_gen);
	err = PTR_ERR_OR_ZERO(ctx);
	if (!err)
		err = qoff_ctx_admit(ctx, req->key, req->pkts[0].pn,
				     req->pkts[req->nseg - 1].pn, req->nseg);
	if (!err)
		qoff_tx_count(req, &ctx->stats);
	rcu_read_unlock();
	return err;
}

/* From key to admission. -EAGAIN: the key was updated meanwhile */
static int qoff_tx_attempt(struct qoff_tx_req *req)
{
	bool raw = req->flags & QOFF_TX_RAW;
	int err;

	if (!raw) {
		err = qoff_tx_get_key(req);
		if (err)
			return err;
	}
	qoff_tx_pick_device(req);
	if (!raw && !req->place) {
		req->crypt = qoff_crypt_alloc(req->key->hp, req->nseg, false,
					      req->sk->sk_allocation);
		if (!req->crypt)
			return -ENOMEM;
	}
	err = qoff_tx_build(req);
	if (err)
		return err;
	return raw ? 0 : qoff_tx_admit(req);
}

static int qoff_tx_out(struct qoff_tx_req *req, struct sk_buff *skb)
{
	struct net *net = sock_net(req->sk);
	int err;

	if (req->v6) {
		rcu_read_lock();
		err = ip6_local_out(net, req->sk, skb);
		rcu_read_unlock();
	} else {
		err = ip_local_out(net, req->sk, skb);
	}
	return err > 0 ? net_xmit_errno(err) : err;
}

/* One loss is reported nowhere but here */
static void qoff_tx_lost(struct qoff_tx_req *req, enum qoff_drop why,
			 unsigned int n)
{
	struct qoff_ctx *ctx;

	qoff_drop_count(&req->qs->stats, NULL, why, n);
	if (req->flags & QOFF_TX_RAW)
		return;
	rcu_read_lock();
	ctx = qoff_ctx_lookup(req->qs->group, req->ctx_id, req->ctx_gen);
	if (!IS_ERR(ctx))
		qoff_drop_count(&ctx->stats, NULL, why, n);
	rcu_read_unlock();
}

/* Admitted: seal here or not, and hand over */
static void qoff_tx_push(struct qoff_tx_req *req)
{
	bool orphan = qoff_tx_may_orphan(req->dst->dev);
	struct sk_buff *skb = skb_peek(&req->skbs);
	const struct qoff_pkt *p = req->pkts;
	struct sock *sk = req->sk;
	unsigned int n;

	trace_qoff_tx(sk, req->ctx_id, req->pn, req->nseg, req->len, req->qd);
	qoff_tx_count(req, &req->qs->stats);
	if (req->qd)
		qoff_tx_count(req, qoff_dev_stats(req->qd));
	if (req->crypt && qoff_seal(req->key, req->dcid_len, req->pkts,
				    req->nseg, req->crypt)) {
		qoff_tx_lost(req, QOFF_DROP_TX_CRYPTO, req->nseg);
		return;
	}

	/* One time stamp a send, as one send is one datagram elsewhere */
	skb_shinfo(skb)->tx_flags |= req->tx_flags;
	if (req->tx_flags & SKBTX_ANY_TSTAMP &&
	    READ_ONCE(sk->sk_tsflags) & SOF_TIMESTAMPING_OPT_ID)
		skb_shinfo(skb)->tskey = atomic_inc_return(&sk->sk_tskey) - 1;

	while ((skb = __skb_dequeue(&req->skbs))) {
		n = skb_shinfo(skb)->gso_segs ?: 1;
		if (orphan && skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST)
			qoff_tx_checksum_list(req, skb, p);
		p += n;
		if (qoff_tx_out(req, skb))
			qoff_tx_lost(req, QOFF_DROP_TX_LOST, n);
		else if (req->v6)
			UDP6_INC_STATS(sock_net(sk), UDP_MIB_OUTDATAGRAMS, 0);
		else
			UDP_INC_STATS(sock_net(sk), UDP_MIB_OUTDATAGRAMS, 0);
	}
}

static int qoff_tx_run(struct qoff_tx_req *req)
{
	int err, tries = 0;

	err = qoff_tx_prepare(req);
	if (err)
		return err;
	while ((err = qoff_tx_attempt(req)) == -EAGAIN &&
	       ++tries < QOFF_TX_TRIES)
		qoff_req_undo(req);
	if (!err)
		qoff_tx_push(req);
	return err;
}

/**
 * qoff_sendmsg() - sendmsg of an attached socket
 * @sk: the socket
 * @msg: message; without our control message it is an ordinary datagram
 * @len: payload
 *
 * Context: process, may sleep.
 * Return: @len, or an error as listed above; all of it or nothing.
 */
int qoff_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)
{
	struct qoff_tx_req *req;
	struct cmsghdr *cmsg;
	struct qoff_tx tx;
	bool need_ip;
	int err;

	err = qoff_tx_find(msg, &cmsg, &need_ip);
	if (err)
		return err;
	if (!cmsg)
		return qoff_sk(sk)->orig->sendmsg(sk, msg, len);

	err = qoff_tx_parse_head(cmsg, &tx);
	if (!err)
		err = qoff_tx_check_state(sk, msg);
	if (err)
		return err;
	req = qoff_req_alloc(sk, msg, &tx);
	if (!req)
		return -ENOMEM;
	req->need_ip = need_ip;
	err = qoff_tx_parse_segs(req, cmsg, &tx, len);
	if (!err)
		err = qoff_tx_run(req);
	if (err == -ENOBUFS || err == -EAGAIN)
		UDP_INC_STATS(sock_net(sk), UDP_MIB_SNDBUFERRORS, 0);
	qoff_tx_zc_end(req, err);
	qoff_req_free(req);
	return err ?: len;
}
