/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef QNG_PRIV_H
#define QNG_PRIV_H

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "qoff_ngtcp2.h"

#define BATCH_BYTES	65507	/* what IPv4 takes in one call */
#define MAX_CIDS	16

/**
 * struct qng_key - a 1-RTT key of one direction and phase
 * @valid: it is ngtcp2's present key of this phase
 * @below: it is installed below
 * @gen: how many keys there were before it
 * @iv: its IV
 * @handle: ngtcp2's AEAD context that has it; NULL: not seen yet
 */
struct qng_key {
	bool valid;
	bool below;
	uint32_t gen;
	uint8_t iv[QOFF_IV_SIZE];
	void *handle;
};

/**
 * struct qng_dir - one direction of a connection
 * @keys: the first keys; wiped once installed
 * @known: @keys are there
 * @installed: a context, or at least one flow
 * @key: by phase
 * @gen: of the newest key
 * @pn: after the largest packet number that was seen
 * @next: the next phase's keys, that could not be installed yet
 * @pending: @next waits
 */
struct qng_dir {
	struct qoff_keys keys;
	bool known;
	bool installed;
	struct qng_key key[2];
	uint32_t gen;
	uint64_t pn;
	struct qoff_keys next;
	bool pending;
};

/* A connection ID of ours, with its flow (0: none). */
struct qng_cid {
	ngtcp2_cid cid;
	uint32_t flow;
};

/**
 * struct qng_conn - a connection
 * @sock: its socket
 * @conn: ngtcp2's half
 * @server: which side
 * @tx_tried: installing the sending keys was tried
 * @rx_tried: installing the receiving keys was tried
 * @given_up: the system refused: all is done by ngtcp2
 * @tx: sending
 * @rx: receiving
 * @ctx: context, if tx.installed
 * @dcid_len: of the peer's connection ID in it
 * @grease: the context takes packets without the fixed bit
 * @cid: ours
 * @ncid: how many
 * @remote: remote address that the flows are of
 * @local: local address likewise
 * @ts: time of the last write
 * @writing: a packet is being written at the end of the batch
 * @deferred: and its sealing was put off
 * @deferred_pn: its number
 * @deferred_phase: its phase
 * @zero_mask: the next mask of the packet being written is empty
 * @rx_pkt: the datagram that is being read
 */
struct qng_conn {
	struct qng_sock *sock;
	ngtcp2_conn *conn;
	bool server;
	bool tx_tried;
	bool rx_tried;
	bool given_up;
	struct qng_dir tx;
	struct qng_dir rx;
	struct qoff_ctx_id ctx;
	uint8_t dcid_len;
	bool grease;
	struct qng_cid cid[MAX_CIDS];
	unsigned int ncid;
	ngtcp2_sockaddr_union remote;
	ngtcp2_sockaddr_union local;
	ngtcp2_tstamp ts;
	bool writing;
	bool deferred;
	uint64_t deferred_pn;
	uint8_t deferred_phase;
	bool zero_mask;
	const struct qng_pkt *rx_pkt;
};

/**
 * struct qng_rec - a datagram of the batch
 * @conn: NULL: of no connection, or it is gone
 * @len: bytes
 * @deferred: to be sealed below
 * @probe: may be too long for the path
 * @phase: of a deferred packet
 * @ecn: for its IP header
 * @pn: of a deferred packet
 * @local: source
 * @remote: destination
 */
struct qng_rec {
	struct qng_conn *conn;
	uint16_t len;
	bool deferred;
	bool probe;
	uint8_t phase;
	uint8_t ecn;
	uint64_t pn;
	ngtcp2_sockaddr_union local;
	ngtcp2_sockaddr_union remote;
};

/**
 * struct qng_sock - a socket
 * @mode: how it is used
 * @s: libqoff's half, or NULL
 * @fd: the socket
 * @pktinfo: bound to no one address
 * @local: its address
 * @st: counters
 * @buf: the batch's bytes
 * @len: how many
 * @rec: the batch's datagrams
 * @n: how many
 * @sent: how many of them have left
 * @sent_len: their bytes
 * @rx: receive batch
 * @rx_control: its other control messages
 */
struct qng_sock {
	enum qng_mode mode;
	struct qoff_sock *s;
	int fd;
	bool pktinfo;
	ngtcp2_sockaddr_union local;
	struct qng_stats st;
	uint8_t buf[BATCH_BYTES];
	size_t len;
	struct qng_rec rec[QOFF_MAX_SEGS];
	unsigned int n;
	unsigned int sent;
	size_t sent_len;
	struct qoff_batch rx;
	uint8_t rx_buf[65536];
	char rx_control[256] __attribute__((aligned(8)));
};

/* The connection that ngtcp2 works on in this thread; its callbacks are not told. */
extern __thread struct qng_conn *qng_current;

/* Installs what can be installed now, and follows the path. */
void qng_refresh(struct qng_conn *c);
/* The system refused: from now on ngtcp2 seals and opens. */
void qng_give_up(struct qng_conn *c);

static inline bool qng_same_addr(const ngtcp2_sockaddr_union *a, const ngtcp2_sockaddr_union *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_port == b->in.sin_port &&
		       a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return a->in6.sin6_port == b->in6.sin6_port &&
	       !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr));
}

static inline socklen_t qng_addr_len(const ngtcp2_sockaddr_union *a)
{
	return a->sa.sa_family == AF_INET ? sizeof(a->in) : sizeof(a->in6);
}

static inline void qng_addr_copy(ngtcp2_sockaddr_union *dst, const ngtcp2_addr *src)
{
	memset(dst, 0, sizeof(*dst));
	memcpy(dst, src->addr, src->addrlen < sizeof(*dst) ? src->addrlen : sizeof(*dst));
}

/* The packet number that a nonce was made of (RFC 9001 section 5.3). */
static inline uint64_t qng_pn(const uint8_t *nonce, const uint8_t *iv)
{
	uint64_t pn = 0;

	for (unsigned int i = 4; i < QOFF_IV_SIZE; i++)
		pn = pn << 8 | (nonce[i] ^ iv[i]);
	return pn;
}

#endif /* QNG_PRIV_H */
