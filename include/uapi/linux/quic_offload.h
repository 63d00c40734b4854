/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * QUIC offload: the data path between a QUIC stack and the kernel.
 *
 * The control path (attaching a socket, contexts, flows, devices) is the
 * generic netlink family "quic-offload"; its numbers are generated from
 * Documentation/netlink/specs/quic-offload.yaml into quic_offload_netlink.h.
 *
 * Every structure has a fixed width, no holes, and the same layout on 32 and
 * 64 bits.  Numbers are in host byte order.  Both control messages grow by
 * size: a reader skips what it does not know, the kernel accepts what it does
 * not know only when it is zero.
 */
#ifndef _UAPI_LINUX_QUIC_OFFLOAD_H
#define _UAPI_LINUX_QUIC_OFFLOAD_H

#include <linux/types.h>
#include <linux/quic_offload_netlink.h>

/* Level SOL_UDP, both directions ("QUIC"). A kernel that does not know it, or
 * a socket that is not attached, answers EINVAL.
 */
#define QOFF_CMSG		0x51554943

#define QOFF_MAX_SEGS		128	/* segments of one super-packet */
#define QOFF_MAX_DCID		20	/* RFC 9000 section 17.2 */
#define QOFF_TAG_SIZE		16	/* of every cipher, RFC 9001 section 5.3 */
#define QOFF_IV_SIZE		12
#define QOFF_MAX_KEY		32
#define QOFF_PN_MAX		((1ULL << 62) - 1)	/* RFC 9000 section 12.3 */

/* struct qoff_tx, flags */
#define QOFF_TX_RAW		(1 << 0) /* send as given: no context, no sealing */
#define QOFF_TX_PN_OFFSETS	(1 << 1) /* qoff_tx_seg.pn_off is used */
#define QOFF_TX_FLAGS		(QOFF_TX_RAW | QOFF_TX_PN_OFFSETS)

/**
 * struct qoff_tx - head of the control message of a send
 * @hdr_size: bytes of this head, at least QOFF_TX_HDR_MIN
 * @seg_size: bytes of each following &struct qoff_tx_seg, at least
 *	QOFF_TX_SEG_MIN, a multiple of 8
 * @nseg: segments, 1 to QOFF_MAX_SEGS
 * @flags: QOFF_TX_*
 * @ctx: index of the context in the attach group; 0 only with QOFF_TX_RAW
 * @ctx_gen: generation of that index, as context-add returned it
 * @pn: packet number of segment 0. Segment i has @pn + i, or with
 *	QOFF_TX_PN_OFFSETS @pn + pn_off
 * @resv: must be 0
 *
 * Followed by @nseg segment entries. cmsg_len is exactly
 * CMSG_LEN(hdr_size + nseg * seg_size).
 */
struct qoff_tx {
	__u16 hdr_size;
	__u16 seg_size;
	__u16 nseg;
	__u16 flags;
	__u32 ctx;
	__u32 ctx_gen;
	__aligned_u64 pn;
	__aligned_u64 resv;
};

/**
 * struct qoff_tx_seg - one segment of a send
 * @len: UDP payload bytes on the wire, tag included
 * @flags: must be 0
 * @pn_off: distance from qoff_tx.pn, strictly increasing; must be 0 without
 *	QOFF_TX_PN_OFFSETS
 */
struct qoff_tx_seg {
	__u16 len;
	__u16 flags;
	__u32 pn_off;
};

#define QOFF_TX_HDR_MIN		32
#define QOFF_TX_SEG_MIN		8

/* struct qoff_rx, flags */
#define QOFF_RX_MORE		(1 << 0) /* segments of this batch stay queued */
#define QOFF_RX_CONTIGUOUS	(1 << 1) /* opened are pn_min..pn_largest, each once */
#define QOFF_RX_DUP		(1 << 2) /* two opened segments share a packet number */
#define QOFF_RX_HAS_TSTAMP	(1 << 3) /* tstamp_ns is valid */
#define QOFF_RX_DEVICE_OPENED	(1 << 4) /* at least one segment was opened by a device */

/**
 * enum qoff_rx_status - what happened to a received segment
 * @QOFF_RX_OPENED: authenticated; header and payload are plain, the tag bytes
 *	are zero
 * @QOFF_RX_LONG_HEADER: raw: not a 1-RTT packet
 * @QOFF_RX_NO_FLOW: raw: no flow has this 4-tuple and DCID
 * @QOFF_RX_NO_KEY: raw: the flow has no keys
 * @QOFF_RX_NO_PHASE: raw: the slot of its key phase is empty or retired
 * @QOFF_RX_FAILED: raw: authentication failed (or a stateless reset)
 *
 * Raw segments are the bytes that came in. A value not listed here means raw.
 */
enum qoff_rx_status {
	QOFF_RX_OPENED = 0,
	QOFF_RX_LONG_HEADER = 1,
	QOFF_RX_NO_FLOW = 2,
	QOFF_RX_NO_KEY = 3,
	QOFF_RX_NO_PHASE = 4,
	QOFF_RX_FAILED = 5,
};

/**
 * struct qoff_rx - head of the control message of a receive
 * @hdr_size: bytes of this head, never more than the attach asked for
 * @seg_size: bytes of each following &struct qoff_rx_seg, likewise
 * @nseg: segments in this receive
 * @flags: QOFF_RX_*
 * @cookie: the user's, from flow-add; 0 without a flow
 * @pn_min: smallest packet number over opened segments, valid if @nopened
 * @pn_largest: largest packet number over opened segments, valid if @nopened
 * @tstamp_ns: arrival of the segment that has @pn_largest (of the last segment
 *	if none is opened), CLOCK_REALTIME
 * @nopened: segments with status QOFF_RX_OPENED
 * @nfailed: segments with status QOFF_RX_FAILED
 * @ect0: opened segments that came with ECT(0)
 * @ect1: opened segments that came with ECT(1)
 * @ce: opened segments that came with CE
 * @resv0: 0
 * @resv1: 0
 */
struct qoff_rx {
	__u16 hdr_size;
	__u16 seg_size;
	__u16 nseg;
	__u16 flags;
	__aligned_u64 cookie;
	__aligned_u64 pn_min;
	__aligned_u64 pn_largest;
	__aligned_u64 tstamp_ns;
	__u16 nopened;
	__u16 nfailed;
	__u16 ect0;
	__u16 ect1;
	__u16 ce;
	__u16 resv0;
	__u32 resv1;
};

/**
 * struct qoff_rx_seg - one received segment
 * @len: UDP payload bytes on the wire
 * @status: enum qoff_rx_status
 * @tos: IPv4 TOS or IPv6 traffic class
 * @hdr_len: bytes before the packet's payload, packet number included; opened
 *	segments only
 * @pn_len: bytes of the packet number, 1 to 4; opened segments only
 * @resv: 0
 * @key_gen: generation of the key that opened it, as flow-add or flow-update
 *	gave it
 * @resv2: 0
 * @pn: packet number in full; opened segments only
 */
struct qoff_rx_seg {
	__u16 len;
	__u8 status;
	__u8 tos;
	__u8 hdr_len;
	__u8 pn_len;
	__u16 resv;
	__u32 key_gen;
	__u32 resv2;
	__aligned_u64 pn;
};

#define QOFF_RX_HDR_MIN		56
#define QOFF_RX_SEG_MIN		24

#endif /* _UAPI_LINUX_QUIC_OFFLOAD_H */
