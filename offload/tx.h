/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QUIC offload: what the files of the transmit path share.
 *
 *	tx.c        one send: control message, checks, admission, hand-over
 *	tx_route.c  address, route and header template, as udp_sendmsg() does it
 *	tx_path.c   may a super-packet go to the device in one piece?
 *	tx_build.c  the copy of the payload, and the skbs around it
 *	tx_hook.c   what happens to those skbs at each device
 *	tx_desc.c   the table of a super-packet: life, guards, driver's view
 */
#ifndef _QOFF_TX_H
#define _QOFF_TX_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "drop.h"
#include "qoff.h"

/* Largest sum of segments: what one UDP datagram could carry (the flat form
 * has to pass through the IP layer as one).
 */
#define QOFF_MAX_BYTES4		(65535 - sizeof(struct iphdr) - sizeof(struct udphdr))
#define QOFF_MAX_BYTES6		(65535 - sizeof(struct udphdr))

/* A shorter run of equal lengths is not worth an skb of its own */
#define QOFF_MIN_RUN		4

/**
 * struct qoff_tx_hdr - IP and UDP header as every datagram of a send has it
 * @ip4: IPv4, with @uh4; lengths, identification and checksums not filled in
 * @uh4: UDP after IPv4
 * @ip6: IPv6, with @uh6
 * @uh6: UDP after IPv6
 * @raw: the bytes
 */
union qoff_tx_hdr {
	struct {
		struct iphdr ip4;
		struct udphdr uh4;
	};
	struct {
		struct ipv6hdr ip6;
		struct udphdr uh6;
	};
	u8 raw[sizeof(struct ipv6hdr) + sizeof(struct udphdr)];
};

/**
 * struct qoff_chunk - payload in one piece of memory
 * @data: directly mapped; a reference on its page
 * @len: bytes
 */
struct qoff_chunk {
	u8 *data;
	u32 len;
};

/**
 * struct qoff_tx_req - one send, from the control message to the last skb
 * @sk: the socket
 * @qs: its attachment
 * @msg: what the caller gave
 * @nseg: segments
 * @flags: QOFF_TX_*
 * @max_len: longest segment
 * @len: sum of the segments
 * @ctx_id: context, 0 with QOFF_TX_RAW
 * @ctx_gen: its generation
 * @pn: packet number of segment 0
 * @need_ip: there are control messages besides ours
 * @dst: route, a reference
 * @v6: the packets are IPv6
 * @net_len: bytes of the IP header
 * @hdr_len: bytes of IP and UDP header
 * @mtu: largest IP packet
 * @hh_len: headroom of each skb
 * @mark: of each skb
 * @priority: of each skb
 * @txtime: SO_TXTIME, 0 if none
 * @tx_flags: SKBTX_* for the first skb
 * @hdr: header template
 * @first: charged to the socket while the send waited for room; the first skb
 *	is made of it
 * @skbs: what goes out, in order
 * @zc: notification for MSG_ZEROCOPY
 * @key: key to seal with, a reference; NULL when nothing is sealed
 * @qd: the route's device when it takes super-packets, a reference
 * @place: the context in @qd, a reference; NULL when sealing is done here
 * @dcid_len: from the context
 * @crypt: for qoff_seal(), when sealing is done here
 * @run: all segments have the length of the first, the last at most
 * @nchunk: entries of @chunks
 * @chunks: the copy of the payload, whole segments in each
 * @segs: the segments
 * @pkts: each segment in that copy; a RAW run has none
 */
struct qoff_tx_req {
	struct sock *sk;
	struct qoff_sock *qs;
	struct msghdr *msg;
	u16 nseg;
	u16 flags;
	u16 max_len;
	u32 len;
	u32 ctx_id;
	u32 ctx_gen;
	u64 pn;
	bool need_ip;

	struct dst_entry *dst;
	bool v6;
	u8 net_len;
	u8 hdr_len;
	u32 mtu;
	u32 hh_len;
	u32 mark;
	u32 priority;
	u64 txtime;
	u8 tx_flags;
	union qoff_tx_hdr hdr;

	struct sk_buff *first;
	struct sk_buff_head skbs;
	struct ubuf_info *zc;

	struct qoff_key *key;
	struct qoff_dev *qd;
	struct qoff_place *place;
	u8 dcid_len;
	struct qoff_crypt *crypt;

	bool run;
	u16 nchunk;
	struct qoff_chunk *chunks;
	struct qoff_seg *segs;
	struct qoff_pkt *pkts;
};

/* tx_route.c */
int qoff_tx_route(struct qoff_tx_req *req);
int qoff_tx_wait_room(struct qoff_tx_req *req);

/* tx_path.c */
void qoff_tx_pick_device(struct qoff_tx_req *req);
bool qoff_tx_may_orphan(struct net_device *dev);
bool qoff_tx_tapped(const struct qoff_dev *qd, struct net_device *dev);

/* tx_build.c */
int qoff_tx_copy(struct qoff_tx_req *req);
int qoff_tx_build(struct qoff_tx_req *req);
void qoff_tx_checksum_list(const struct qoff_tx_req *req, struct sk_buff *skb,
			   const struct qoff_pkt *pkts);

/* tx_desc.c */
extern const struct ubuf_info_ops qoff_super_ops;

struct qoff_super *qoff_super_alloc(const struct qoff_tx_req *req,
				    unsigned int from, unsigned int n);
void qoff_super_put(struct qoff_super *t);
void qoff_super_guard(struct sk_buff *skb, struct qoff_super *t);
int qoff_super_check(const struct sk_buff *skb, const struct qoff_super *t);

/* Can the device still seal with @key? */
static inline bool qoff_place_holds(const struct qoff_place *place,
				    const struct qoff_key *key)
{
	return qoff_place_ok(place) && !READ_ONCE(key->revoked) &&
	       READ_ONCE(place->slot[key->phase]) == key;
}

static inline struct qoff_super *qoff_super_of(const struct sk_buff *skb)
{
	struct ubuf_info *ubuf = skb_zcopy((struct sk_buff *)skb);

	if (!ubuf || ubuf->ops != &qoff_super_ops)
		return NULL;
	return container_of(ubuf, struct qoff_super, ubuf);
}

/* Fill in what differs from datagram to datagram; @ip points at a copy of the
 * template. uh->check becomes the pseudo header's sum.
 */
void qoff_tx_fill_hdr(const struct qoff_tx_req *req, u8 *ip, unsigned int len);

#endif /* _QOFF_TX_H */
