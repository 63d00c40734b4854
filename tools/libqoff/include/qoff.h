/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * libqoff: QUIC packets in super-packets, on every kernel.
 *
 * Concepts
 *
 *   handle    struct qoff: the choice between kernel and user space, a netlink
 *             socket, and everything attached through it.
 *   socket    struct qoff_sock: a UDP socket of the program, attached.
 *   group     sockets that were attached with one another's fd as join_fd. They
 *             share contexts and flows (SO_REUSEPORT workers).
 *   context   the keys of one sending direction; named by id and generation.
 *   flow      4-tuple and destination connection ID of one receiving direction,
 *             with its keys; named by id.
 *   batch     what one receive returned: whole packets, back to back, with a
 *             record for each.
 *
 * Backends
 *
 *   QOFF_KERNEL  the module quic_offload, with or without a device.
 *   QOFF_USER    OpenSSL in this process and plain UDP sockets, with UDP_SEGMENT
 *                and UDP_GRO where they apply. Any kernel since 4.18.
 *   QOFF_AUTO    the first where the kernel has it, else the second.
 *
 *   Both take the same input, refuse the same input with the same errno, and
 *   produce the same bytes on the wire.
 *
 * Errors
 *
 *   A function that returns int or ssize_t returns a negative errno on failure
 *   and then has changed nothing, unless its description says more. A function
 *   that returns a pointer returns NULL and sets errno. After a failure
 *   qoff_error() has a sentence for a human.
 *
 * Threads
 *
 *   Every function may be called from any thread at any time, with two
 *   exceptions: qoff_close() and qoff_detach() must be the last call with their
 *   object. Receives on one socket are serialized; two sends with one context
 *   race for their packet numbers as they do in the kernel: the loser gets
 *   -ESTALE. No function may be called from a signal handler. After fork() only
 *   one of the two processes may go on using a handle.
 *
 * Keys
 *
 *   The library overwrites its copies of keys before it frees them. It never
 *   prints one. The caller's copies are the caller's: see qoff_wipe().
 */
#ifndef QOFF_H
#define QOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <linux/quic_offload.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QOFF_API __attribute__((visibility("default")))

/* Wire values of the QUIC version field that key derivation knows. */
#define QOFF_QUIC_V1		0x00000001U	/* RFC 9001 */
#define QOFF_QUIC_V2		0x6b3343cfU	/* RFC 9369 */

#define QOFF_MAX_SECRET		48		/* SHA-384 */
#define QOFF_PN_NONE		UINT64_MAX	/* no packet number yet */

struct qoff;
struct qoff_sock;

/* ------------------------------------------------------------------------
 * Handle
 */

/**
 * enum qoff_backend - who seals and opens
 * @QOFF_AUTO: the kernel if its module is loaded (or loads on demand), else this process
 * @QOFF_KERNEL: the kernel
 * @QOFF_USER: this process
 */
enum qoff_backend {
	QOFF_AUTO,
	QOFF_KERNEL,
	QOFF_USER,
};

/**
 * qoff_open() - make a handle
 * @backend: the wish; the environment variable QOFF_BACKEND=kernel|user decides
 *	when it is QOFF_AUTO
 *
 * Return: the handle, to be given to qoff_close(); or NULL and errno:
 * EOPNOTSUPP (QOFF_KERNEL, but the kernel has no family "quic-offload"), EINVAL
 * (no such backend), ENOMEM, or what socket(2) says.
 */
QOFF_API struct qoff *qoff_open(enum qoff_backend backend);

/**
 * qoff_close() - free a handle
 * @q: handle or NULL
 *
 * Sockets that are still attached through @q are detached first.
 */
QOFF_API void qoff_close(struct qoff *q);

/**
 * qoff_backend() - which backend a handle has
 * @q: handle
 *
 * Return: QOFF_KERNEL or QOFF_USER.
 */
QOFF_API enum qoff_backend qoff_backend(const struct qoff *q);

/**
 * qoff_error() - the text of the last failure in this thread
 *
 * The kernel's extended ack where there is one, else a sentence of the library.
 * Return: a string, never NULL, that is valid until the next libqoff call in
 * this thread.
 */
QOFF_API const char *qoff_error(void);

/* ------------------------------------------------------------------------
 * Keys: RFC 9001 section 5, RFC 9369 section 3.3
 */

/**
 * struct qoff_keys - packet protection keys of one direction and phase
 * @cipher: enum quic_offload_cipher
 * @key_len: bytes of @key, as the cipher wants
 * @hp_len: bytes of @hp, as the cipher wants
 * @resv: ignored
 * @key: AEAD key
 * @iv: AEAD IV
 * @hp: header-protection key
 */
struct qoff_keys {
	uint32_t cipher;
	uint8_t key_len;
	uint8_t hp_len;
	uint8_t resv[2];
	uint8_t key[QOFF_MAX_KEY];
	uint8_t iv[QOFF_IV_SIZE];
	uint8_t hp[QOFF_MAX_KEY];
};

/**
 * qoff_derive_keys() - keys from a traffic secret
 * @version: QOFF_QUIC_V1 or QOFF_QUIC_V2
 * @cipher: enum quic_offload_cipher
 * @secret: the secret as TLS gives it
 * @secret_len: 32, or 48 with AES-256-GCM
 * @keys: result; zeroed on failure
 *
 * Return: 0; -EINVAL (unknown version or cipher, wrong length); -ENOMEM.
 */
QOFF_API int qoff_derive_keys(uint32_t version, uint32_t cipher, const void *secret,
			      size_t secret_len, struct qoff_keys *keys);

/**
 * qoff_derive_next_secret() - the secret of the next key phase ("quic ku")
 * @version: QOFF_QUIC_V1 or QOFF_QUIC_V2
 * @cipher: enum quic_offload_cipher
 * @secret: the present secret
 * @secret_len: its length, and the length of the result
 * @next: result, may be @secret
 *
 * A key update keeps the header-protection key: use only key and iv of what
 * qoff_derive_keys() makes of @next. qoff_ctx_update() and qoff_flow_update() do.
 *
 * Return: 0; -EINVAL; -ENOMEM.
 */
QOFF_API int qoff_derive_next_secret(uint32_t version, uint32_t cipher, const void *secret,
				     size_t secret_len, void *next);

/**
 * qoff_derive_initial_secrets() - Initial secrets of a connection
 * @version: QOFF_QUIC_V1 or QOFF_QUIC_V2
 * @dcid: destination connection ID of the client's first Initial packet
 * @dcid_len: its length, at most QOFF_MAX_DCID
 * @client: 32 bytes, client's sending secret
 * @server: 32 bytes, server's sending secret
 *
 * Initial packets are AES-128-GCM in every version.
 *
 * Return: 0; -EINVAL; -ENOMEM.
 */
QOFF_API int qoff_derive_initial_secrets(uint32_t version, const void *dcid, size_t dcid_len,
					 uint8_t client[32], uint8_t server[32]);

/**
 * qoff_secret_len() - length of the traffic secrets of a cipher
 * @cipher: enum quic_offload_cipher
 *
 * Return: 32 or 48; 0 for an unknown cipher.
 */
QOFF_API size_t qoff_secret_len(uint32_t cipher);

/**
 * qoff_cipher_name() - name of a cipher, as in the netlink specification
 * @cipher: enum quic_offload_cipher
 *
 * Return: for instance "aes-128-gcm"; NULL if unknown.
 */
QOFF_API const char *qoff_cipher_name(uint32_t cipher);

/**
 * qoff_cipher_by_name() - the inverse of qoff_cipher_name()
 * @name: name
 *
 * Return: enum quic_offload_cipher; 0 if unknown.
 */
QOFF_API uint32_t qoff_cipher_by_name(const char *name);

/**
 * qoff_wipe() - overwrite memory, in a way that no compiler removes
 * @p: start
 * @len: bytes
 */
QOFF_API void qoff_wipe(void *p, size_t len);

/* ------------------------------------------------------------------------
 * Counters
 */

/**
 * struct qoff_stats - counters of a device, a socket, a context or a flow
 * @present: bit (1 << i) for each valid @v[i]
 * @v: by QUIC_OFFLOAD_A_STATS_*
 */
struct qoff_stats {
	uint64_t present;
	uint64_t v[64];
};

/**
 * qoff_stat_name() - name of a counter, as in the netlink specification
 * @id: QUIC_OFFLOAD_A_STATS_*
 *
 * Return: for instance "tx-super"; NULL if unknown.
 */
QOFF_API const char *qoff_stat_name(unsigned int id);

/* ------------------------------------------------------------------------
 * Sockets
 */

/**
 * qoff_attach() - attach a UDP socket
 * @q: handle
 * @fd: UDP socket, IPv4 or IPv6, of the caller; stays the caller's
 * @join_fd: a socket whose group to join, or -1 for a new group. With QOFF_USER it
 *	must have been attached through @q.
 * @dcid_len: length of the connection IDs that this group receives with, 0 to 20;
 *	in a joined group it must be the group's
 * @flags: must be 0
 * @s: result
 *
 * The kernel cannot take an attach back: such a socket stays attached until it is
 * closed, whatever becomes of @s. QOFF_USER switches UDP_GRO, IP_RECVTOS,
 * IP_PKTINFO and SO_TIMESTAMPNS on; send and receive on the socket only through
 * the library from then on.
 *
 * @s holds a duplicate of @fd. So a number that the program closes and gets again
 * for another file can never receive a plain packet; and the socket lives until
 * both are closed: call qoff_detach(), then close().
 *
 * Return: 0, or a negative errno:
 *
 * * -EBADF: @fd or @join_fd is not open
 * * -ENOTSOCK: it is not a socket
 * * -EPROTONOSUPPORT: it is not a UDP socket (IPv4, IPv6; UDP-Lite is refused)
 * * -EOPNOTSUPP: its protocol functions are not the stock ones
 * * -EBUSY: the socket is attached already, corked, a tunnel's, or in a sockmap
 * * -EINVAL: @join_fd is not attached, lengths differ, zero checksums, or unknown @flags
 * * -ERANGE: @dcid_len is over 20
 * * -ENOMEM, -ENOBUFS: memory or a limit of the user
 */
QOFF_API int qoff_attach(struct qoff *q, int fd, int join_fd, unsigned int dcid_len,
			 unsigned int flags, struct qoff_sock **s);

/**
 * qoff_adopt() - use a socket that is attached already
 * @q: handle with QOFF_KERNEL
 * @fd: the socket, attached by another process or through another handle
 * @s: result; as from qoff_attach()
 *
 * Return: 0; -ENOTCONN (it is not attached); -EOPNOTSUPP (QOFF_USER knows only its
 * own); otherwise as qoff_attach().
 */
QOFF_API int qoff_adopt(struct qoff *q, int fd, struct qoff_sock **s);

/**
 * qoff_detach() - forget a socket
 * @s: socket or NULL
 *
 * Contexts and flows of the group go with its last socket: in the kernel when that
 * is closed, with QOFF_USER now.
 */
QOFF_API void qoff_detach(struct qoff_sock *s);

/**
 * qoff_sock_fd() - the library's duplicate of the socket's descriptor
 * @s: socket
 *
 * For poll(2), setsockopt(2) and the like. Not to be closed.
 *
 * Return: the descriptor.
 */
QOFF_API int qoff_sock_fd(const struct qoff_sock *s);

/**
 * struct qoff_sock_info - state of an attached socket
 * @group: id of its attach group
 * @dcid_len: of the group
 * @resv: 0
 * @rx_hdr_size: size of struct qoff_rx that it receives
 * @rx_seg_size: size of struct qoff_rx_seg that it receives
 * @resv2: 0
 * @stats: counters
 */
struct qoff_sock_info {
	uint32_t group;
	uint8_t dcid_len;
	uint8_t resv;
	uint16_t rx_hdr_size;
	uint16_t rx_seg_size;
	uint16_t resv2;
	struct qoff_stats stats;
};

/**
 * qoff_sock_get() - state and counters of a socket
 * @s: socket
 * @info: result
 *
 * Return: 0 or a negative errno.
 */
QOFF_API int qoff_sock_get(struct qoff_sock *s, struct qoff_sock_info *info);

/* ------------------------------------------------------------------------
 * Contexts: sending keys
 */

/**
 * struct qoff_ctx_param - a new context
 * @keys: first keys
 * @first_pn: the smallest packet number that may be sealed
 * @flags: QUIC_OFFLOAD_CTX_FLAG_*
 * @path_id: must be 0 (reserved for multipath nonces)
 * @dcid_len: length of the peer's connection ID in the packets, 0 to 20
 * @phase: key phase bit of @keys
 */
struct qoff_ctx_param {
	const struct qoff_keys *keys;
	uint64_t first_pn;
	uint32_t flags;
	uint32_t path_id;
	uint8_t dcid_len;
	uint8_t phase;
};

/**
 * struct qoff_ctx_id - name of a context within its group
 * @id: index, never 0
 * @gen: generation of the index
 */
struct qoff_ctx_id {
	uint32_t id;
	uint32_t gen;
};

/**
 * struct qoff_ctx_info - state of a context
 * @id: its name
 * @cipher: enum quic_offload_cipher
 * @flags: QUIC_OFFLOAD_CTX_FLAG_*
 * @next_pn: the smallest packet number that would be admitted
 * @key_used: packets sealed with the newest key
 * @key_limit: packets that may be sealed with one key (RFC 9001 section 6.6)
 * @dev_id: device that holds it, 0 if none
 * @dcid_len: see &struct qoff_ctx_param
 * @phase: of the newest key
 * @stats: counters
 */
struct qoff_ctx_info {
	struct qoff_ctx_id id;
	uint32_t cipher;
	uint32_t flags;
	uint64_t next_pn;
	uint64_t key_used;
	uint64_t key_limit;
	uint32_t dev_id;
	uint8_t dcid_len;
	uint8_t phase;
	struct qoff_stats stats;
};

/**
 * qoff_ctx_add() - install sending keys
 * @s: a socket of the group
 * @p: what; not kept
 * @id: result
 *
 * Return: 0; -EINVAL (a length, a value); -EEXIST (this key is installed already:
 * one key under two contexts would use packet numbers twice); -ENOSPC or -EDQUOT
 * (a limit); -ENOMEM.
 */
QOFF_API int qoff_ctx_add(struct qoff_sock *s, const struct qoff_ctx_param *p,
			  struct qoff_ctx_id *id);

/**
 * qoff_ctx_update() - install the key of the next phase
 * @s: a socket of the group
 * @id: context
 * @phase: key phase bit of the new key, the other one than the newest key's
 * @keys: key and iv are used, of the context's cipher
 *
 * The first packet that is sent with the new phase makes it impossible to send with
 * the old one.
 *
 * Return: 0; -ENOENT, -ESTALE (no such context, another generation); -EINVAL;
 * -EEXIST (this key is installed already); -EBUSY (the newest key was not used yet, or
 * packets sealed with the key that would be replaced are in flight); -ENOMEM.
 */
QOFF_API int qoff_ctx_update(struct qoff_sock *s, struct qoff_ctx_id id, unsigned int phase,
			     const struct qoff_keys *keys);

/**
 * qoff_ctx_del() - remove a context
 * @s: a socket of the group
 * @id: context
 *
 * Packets that were sent before are sealed with it still.
 *
 * Return: 0; -ENOENT; -ESTALE.
 */
QOFF_API int qoff_ctx_del(struct qoff_sock *s, struct qoff_ctx_id id);

/**
 * qoff_ctx_get() - state and counters of a context
 * @s: a socket of the group
 * @id: index
 * @info: result
 *
 * Return: 0; -ENOENT.
 */
QOFF_API int qoff_ctx_get(struct qoff_sock *s, uint32_t id, struct qoff_ctx_info *info);

/* ------------------------------------------------------------------------
 * Flows: receiving keys
 */

/**
 * struct qoff_flow_param - a new flow
 * @local: local address (its port is ignored: it is the socket's); AF_INET, or
 *	AF_INET6, v4-mapped ones count as IPv4
 * @remote: remote address and port
 * @dcid: our connection ID, @dcid_len bytes
 * @dcid_len: must be the group's
 * @keys: first keys, or NULL: packets are delivered raw until qoff_flow_update()
 * @cookie: given back with every batch of this flow
 * @largest_pn: largest packet number received so far, or QOFF_PN_NONE
 * @key_gen: the caller's number for @keys, given back with every packet they open
 * @keys_of: share the keys and packet numbers of this flow (another DCID or path of
 *	one connection); 0: none. With it @keys is NULL.
 * @phase: key phase bit of @keys
 */
struct qoff_flow_param {
	const struct sockaddr *local;
	const struct sockaddr *remote;
	const void *dcid;
	size_t dcid_len;
	const struct qoff_keys *keys;
	uint64_t cookie;
	uint64_t largest_pn;
	uint32_t key_gen;
	uint32_t keys_of;
	uint8_t phase;
};

/**
 * struct qoff_flow_info - state of a flow
 * @id: its id
 * @cipher: enum quic_offload_cipher, 0 without keys
 * @local: local address, without port
 * @remote: remote address and port
 * @dcid: connection ID
 * @dcid_len: its length
 * @phase: of the newest key
 * @key_gen: of the newest key
 * @cookie: as given
 * @largest_pn: largest packet number opened, or QOFF_PN_NONE
 * @failed: packets that failed authentication, over all flows sharing the keys
 * @failed_limit: the AEAD's integrity limit (RFC 9001 section 6.6)
 * @dev_id: device that holds it, 0 if none
 * @stats: counters
 */
struct qoff_flow_info {
	uint32_t id;
	uint32_t cipher;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	uint8_t dcid[QOFF_MAX_DCID];
	uint8_t dcid_len;
	uint8_t phase;
	uint32_t key_gen;
	uint64_t cookie;
	uint64_t largest_pn;
	uint64_t failed;
	uint64_t failed_limit;
	uint32_t dev_id;
	struct qoff_stats stats;
};

/**
 * qoff_flow_add() - receive packets of a connection in batches
 * @s: a socket of the group; it must be bound
 * @p: what; not kept
 * @id: result
 *
 * Return: 0; -EINVAL (a length, a value, an unbound socket); -EADDRNOTAVAIL (the
 * socket is bound to another address than @local); -EEXIST (this 4-tuple and DCID has a
 * flow); -ENOENT (no flow @keys_of); -ENOSPC or -EDQUOT (a limit);
 * -ENOMEM.
 */
QOFF_API int qoff_flow_add(struct qoff_sock *s, const struct qoff_flow_param *p, uint32_t *id);

/**
 * qoff_flow_update() - first keys, or the keys of the next phase, of a flow
 * @s: a socket of the group
 * @id: flow
 * @keys: a flow without keys takes all of it; otherwise key and iv
 * @phase: key phase bit of @keys; its slot must be empty: see qoff_flow_retire()
 * @key_gen: the caller's number for @keys
 * @largest_pn: largest packet number received so far, or QOFF_PN_NONE: unchanged
 *
 * Return: 0; -ENOENT; -EINVAL; -EBUSY (the slot has a key); -ENOMEM.
 */
QOFF_API int qoff_flow_update(struct qoff_sock *s, uint32_t id, const struct qoff_keys *keys,
			      unsigned int phase, uint32_t key_gen, uint64_t largest_pn);

/**
 * qoff_flow_retire() - empty a key slot
 * @s: a socket of the group
 * @id: flow
 * @phase: slot
 *
 * Packets of that phase are raw (QOFF_RX_NO_PHASE) from then on.
 *
 * Return: 0; -ENOENT (no such flow, or the slot is empty); -ERANGE.
 */
QOFF_API int qoff_flow_retire(struct qoff_sock *s, uint32_t id, unsigned int phase);

/**
 * qoff_flow_del() - remove a flow
 * @s: a socket of the group
 * @id: flow
 *
 * Return: 0; -ENOENT.
 */
QOFF_API int qoff_flow_del(struct qoff_sock *s, uint32_t id);

/**
 * qoff_flow_get() - state and counters of a flow
 * @s: a socket of the group
 * @id: flow
 * @info: result
 *
 * Return: 0; -ENOENT.
 */
QOFF_API int qoff_flow_get(struct qoff_sock *s, uint32_t id, struct qoff_flow_info *info);

/* ------------------------------------------------------------------------
 * Sending
 */

/**
 * struct qoff_tx_msg - one super-packet
 * @ctx: context; ignored with QOFF_TX_RAW
 * @pn: packet number of the first packet
 * @segs: @nseg entries: len of each packet, tag included; flags 0; pn_off its
 *	distance from @pn with QOFF_TX_PN_OFFSETS, else 0
 * @nseg: packets, 1 to QOFF_MAX_SEGS
 * @flags: QOFF_TX_*
 * @iov: all packets back to back: plain header, plain packet number, plain payload,
 *	16 bytes of room for the tag; they may be cut anywhere
 * @iovlen: entries of @iov
 * @addr: destination, or NULL on a connected socket
 * @addrlen: its size
 * @tos: IPv4 TOS or IPv6 traffic class (so also ECN), or -1: the socket's
 * @control: more control messages (IP_PKTINFO, SCM_TXTIME ...), or NULL
 * @controllen: their bytes
 */
struct qoff_tx_msg {
	struct qoff_ctx_id ctx;
	uint64_t pn;
	const struct qoff_tx_seg *segs;
	uint16_t nseg;
	uint16_t flags;
	const struct iovec *iov;
	size_t iovlen;
	const struct sockaddr *addr;
	socklen_t addrlen;
	int tos;
	const void *control;
	size_t controllen;
};

/* Control bytes that qoff_tx_control() needs beside the caller's own. */
#define QOFF_TX_CONTROL_SIZE \
	(CMSG_SPACE(sizeof(struct qoff_tx) + QOFF_MAX_SEGS * sizeof(struct qoff_tx_seg)) + \
	 2 * CMSG_SPACE(sizeof(int)))

/**
 * qoff_send() - send one super-packet
 * @s: socket
 * @m: what
 * @flags: MSG_DONTWAIT, MSG_ZEROCOPY ...
 *
 * All or nothing. Packet numbers of a context only grow: also after a failure on
 * the way that the call does not see, a packet number is never used again. -EAGAIN
 * and -ENOBUFS consume none, so the very same packets can be sent again.
 *
 * Return: payload bytes, or a negative errno; nothing is sent then:
 *
 * * -EINVAL: malformed: counts, lengths, flags, reserved fields; a packet too short
 *   for its header-protection sample; two phases, or one older than the last;
 *   UDP_SEGMENT or a second QOFF_CMSG beside
 * * -ENOKEY: no key of the packets' phase
 * * -EPROTO: a long header, the fixed bit clear, reserved bits set
 * * -ERANGE: a packet number over QOFF_PN_MAX
 * * -EBADMSG: the header's truncated packet number is not that of the given one
 * * -E2BIG: fields that this kernel does not know are not zero
 * * -ENOENT, -ESTALE: no such context; another generation, or a packet number that
 *   is not above the last
 * * -EMSGSIZE: a packet over the path MTU, or more than a datagram holds in all
 * * -EKEYEXPIRED: the key has reached its limit; a key update is due
 * * -EOPNOTSUPP: multicast or broadcast destination, MSG_MORE, MSG_OOB
 * * -EAGAIN, -ENOBUFS: no room in the socket buffer or queue now
 * * what sendmsg(2) says about destination and route
 */
QOFF_API ssize_t qoff_send(struct qoff_sock *s, const struct qoff_tx_msg *m, int flags);

/**
 * qoff_tx_control() - write the control messages of a super-packet
 * @m: super-packet
 * @buf: result, aligned as struct cmsghdr
 * @size: bytes of @buf; QOFF_TX_CONTROL_SIZE + @m->controllen always do
 *
 * For programs with their own way to send (sendmmsg, io_uring). They must use
 * qoff_sock_fd() of an attached socket of a QOFF_KERNEL handle; any other socket may
 * take the packets as they are, which are not encrypted.
 *
 * Return: bytes used, or -ENOSPC, -EINVAL.
 */
QOFF_API ssize_t qoff_tx_control(const struct qoff_tx_msg *m, void *buf, size_t size);

/**
 * qoff_sendmsg() - sendmsg(2) on an attached socket
 * @s: socket
 * @msg: as for sendmsg(2), with a control message QOFF_CMSG or without (an ordinary
 *	datagram)
 * @flags: likewise
 *
 * Return: as qoff_send().
 */
QOFF_API ssize_t qoff_sendmsg(struct qoff_sock *s, const struct msghdr *msg, int flags);

/* ------------------------------------------------------------------------
 * Receiving
 */

/**
 * struct qoff_batch - one receive
 * @data: in: buffer for the packets
 * @size: in: its bytes; 65536 takes every batch
 * @control: in: buffer for other control messages (IP_PKTINFO ...), or NULL
 * @control_size: in: its bytes
 * @len: bytes in @data
 * @addr: source of all packets of the batch
 * @addrlen: its size
 * @msg_flags: MSG_TRUNC: the one packet was longer than @size; MSG_CTRUNC: other
 *	control messages were cut
 * @control_len: bytes in @control
 * @rx: the batch's record; rx.nseg packets follow in @seg. rx.flags has QOFF_RX_MORE
 *	while more of the batch waits: receive again before poll(2).
 * @seg: each packet's record
 */
struct qoff_batch {
	uint8_t *data;
	size_t size;
	void *control;
	size_t control_size;
	size_t len;
	struct sockaddr_storage addr;
	socklen_t addrlen;
	int msg_flags;
	size_t control_len;
	struct qoff_rx rx;
	struct qoff_rx_seg seg[QOFF_MAX_SEGS];
};

/**
 * struct qoff_packet - one packet of a batch
 * @data: its bytes, in the batch's buffer
 * @len: bytes at @data
 * @payload: first byte after the packet number; NULL if raw
 * @payload_len: without the tag; 0 if raw
 * @seg: its record
 */
struct qoff_packet {
	uint8_t *data;
	size_t len;
	uint8_t *payload;
	size_t payload_len;
	const struct qoff_rx_seg *seg;
};

/**
 * struct qoff_iter - position in a batch; zero it before the first qoff_next()
 * @index: next packet
 * @offset: its start
 */
struct qoff_iter {
	uint16_t index;
	size_t offset;
};

/**
 * qoff_recv() - receive a batch
 * @s: socket
 * @b: batch: the in fields are read, all others written
 * @flags: MSG_DONTWAIT, MSG_PEEK
 *
 * All packets of a batch have the same source, and the same flow or none.
 *
 * Return: number of packets, at least 1; or a negative errno: -EAGAIN; -EBADMSG (the
 * record is malformed, the receive is lost); or what recvmsg(2) says.
 */
QOFF_API int qoff_recv(struct qoff_sock *s, struct qoff_batch *b, int flags);

/**
 * qoff_rx_parse() - understand a receive of one's own
 * @msg: as recvmsg(2) left it
 * @len: what it returned, without MSG_TRUNC in its flags
 * @b: batch; @data is set by the caller, all out fields but @control* are written
 *
 * Trusts nothing in @msg.
 *
 * Return: number of packets; -ENOMSG (no record: an ordinary datagram); -EBADMSG.
 */
QOFF_API int qoff_rx_parse(const struct msghdr *msg, size_t len, struct qoff_batch *b);

/**
 * qoff_next() - next packet of a batch
 * @b: batch
 * @it: position
 * @p: result
 *
 * Return: false after the last.
 */
QOFF_API bool qoff_next(const struct qoff_batch *b, struct qoff_iter *it, struct qoff_packet *p);

/**
 * qoff_recvmsg() - recvmsg(2) on an attached socket
 * @s: socket
 * @msg: as for recvmsg(2); its control buffer takes the record
 * @flags: likewise
 *
 * Return: bytes or a negative errno; -ENOSPC when the control buffer is too small for
 * a record of one packet: nothing is consumed then.
 */
QOFF_API ssize_t qoff_recvmsg(struct qoff_sock *s, struct msghdr *msg, int flags);

/* ------------------------------------------------------------------------
 * Devices. These ask the kernel, whatever the handle's backend: -EOPNOTSUPP when it
 * has no module.
 */

/**
 * struct qoff_dev_info - a device
 * @id: unique in the running kernel
 * @ifindex: of its net device
 * @ifname: name of its net device
 * @driver: name of its driver
 * @features_cap: QUIC_OFFLOAD_FEATURE_* it can do
 * @features: QUIC_OFFLOAD_FEATURE_* that are on
 * @tx_ciphers: bit (1 << cipher) for each it can seal
 * @rx_ciphers: bit (1 << cipher) for each it can open
 * @max_segs: packets of one super-packet
 * @max_bytes: payload bytes of one super-packet
 * @max_ctx: contexts it can hold
 * @max_flow: flows it can hold
 * @dcid_lens: bit (1 << length) for each DCID length it can match
 * @tap_policy: enum quic_offload_tap_policy
 * @ethtool: the switches are those of ethtool -K
 */
struct qoff_dev_info {
	uint32_t id;
	uint32_t ifindex;
	char ifname[16];
	char driver[32];
	uint32_t features_cap;
	uint32_t features;
	uint32_t tx_ciphers;
	uint32_t rx_ciphers;
	uint32_t max_segs;
	uint32_t max_bytes;
	uint32_t max_ctx;
	uint32_t max_flow;
	uint32_t dcid_lens;
	uint32_t tap_policy;
	bool ethtool;
};

/**
 * qoff_dev_get() - the device of a net device
 * @q: handle
 * @ifindex: net device
 * @info: result
 *
 * Return: 0; -ENODEV (no such device, or not one that offloads).
 */
QOFF_API int qoff_dev_get(struct qoff *q, unsigned int ifindex, struct qoff_dev_info *info);

/**
 * qoff_dev_for() - the device that serves a destination
 * @q: handle
 * @dst: destination
 * @ifindex: result: where the route leads now, also when that does not offload
 * @info: result
 *
 * Return: 0; -ENODEV (the route leads to no device that offloads); what the route
 * look-up says, as -ENETUNREACH.
 */
QOFF_API int qoff_dev_for(struct qoff *q, const struct sockaddr *dst, unsigned int *ifindex,
			  struct qoff_dev_info *info);

/**
 * qoff_dev_list() - all devices of the network namespace
 * @q: handle
 * @fn: called for each; stops the list when it returns not 0. It must not call the
 *	library with @q.
 * @arg: its argument
 *
 * Return: 0; what @fn returned; a negative errno.
 */
QOFF_API int qoff_dev_list(struct qoff *q, int (*fn)(const struct qoff_dev_info *info, void *arg),
			   void *arg);

/**
 * qoff_dev_stats() - counters of a device
 * @q: handle
 * @ifindex: net device
 * @stats: result
 *
 * Return: 0; -ENODEV.
 */
QOFF_API int qoff_dev_stats(struct qoff *q, unsigned int ifindex, struct qoff_stats *stats);

/**
 * qoff_dev_set() - change settings, all of them or none
 * @q: handle
 * @ifindex: net device
 * @features: QUIC_OFFLOAD_FEATURE_*: all that shall be on; or NULL
 * @tap_policy: enum quic_offload_tap_policy; or NULL
 *
 * Return: 0; -EPERM (CAP_NET_ADMIN is needed); -ENODEV; -EOPNOTSUPP (the device cannot,
 * or the switches are those of ethtool -K); -EINVAL (unknown, or one needs another).
 */
QOFF_API int qoff_dev_set(struct qoff *q, unsigned int ifindex, const uint32_t *features,
			  const uint32_t *tap_policy);

/**
 * qoff_feature_name() - name of a feature, as ethtool -K has it
 * @feature: one of QUIC_OFFLOAD_FEATURE_*
 *
 * Return: for instance "quic-gso"; NULL if unknown.
 */
QOFF_API const char *qoff_feature_name(uint32_t feature);

/* ------------------------------------------------------------------------
 * Events
 */

/**
 * enum qoff_event_type - what happened
 * @QOFF_EVENT_DEV_ADD: a device appeared
 * @QOFF_EVENT_DEV_DEL: a device is going
 * @QOFF_EVENT_DEV_CHANGE: a setting of a device changed
 * @QOFF_EVENT_KEY_LIMIT: a key nears its AEAD limit
 */
enum qoff_event_type {
	QOFF_EVENT_DEV_ADD,
	QOFF_EVENT_DEV_DEL,
	QOFF_EVENT_DEV_CHANGE,
	QOFF_EVENT_KEY_LIMIT,
};

/**
 * struct qoff_event - an event
 * @type: enum qoff_event_type
 * @dev: QOFF_EVENT_DEV_*: the device
 * @group: QOFF_EVENT_KEY_LIMIT: attach group
 * @direction: enum quic_offload_direction
 * @id: context index or flow id
 * @used: packets so far
 * @limit: the limit
 */
struct qoff_event {
	enum qoff_event_type type;
	struct qoff_dev_info dev;
	uint32_t group;
	uint32_t direction;
	uint32_t id;
	uint64_t used;
	uint64_t limit;
};

/**
 * qoff_events_fd() - start to listen
 * @q: handle
 *
 * Return: a descriptor for poll(2), the library's; or a negative errno.
 */
QOFF_API int qoff_events_fd(struct qoff *q);

/**
 * qoff_event_next() - take an event
 * @q: handle, after qoff_events_fd()
 * @ev: result
 *
 * Never waits. Return: 0; -EAGAIN; -ENOBUFS (some were lost).
 */
QOFF_API int qoff_event_next(struct qoff *q, struct qoff_event *ev);

/* ------------------------------------------------------------------------
 * Single packets, in memory: what QOFF_USER is made of. For tests and for stacks
 * that seal packets which never go through a super-packet.
 */

struct qoff_cipher;

/**
 * qoff_cipher_new() - a key made ready
 * @keys: what; not kept
 *
 * An object is to be used by one thread at a time.
 *
 * Return: to be given to qoff_cipher_free(); or NULL and errno EINVAL, ENOMEM.
 */
QOFF_API struct qoff_cipher *qoff_cipher_new(const struct qoff_keys *keys);

/**
 * qoff_cipher_free() - overwrite and free it
 * @c: object or NULL
 */
QOFF_API void qoff_cipher_free(struct qoff_cipher *c);

/**
 * qoff_seal() - protect one packet
 * @c: key
 * @pkt: plain header and packet number, plain payload, 16 bytes of room; result in place
 * @len: bytes of all that
 * @pn_offset: where the packet number starts
 * @pn: packet number in full
 *
 * Long headers are protected as long headers. Return: 0; -EINVAL (too short for the
 * header-protection sample, or @pn is not the truncated one).
 */
QOFF_API int qoff_seal(struct qoff_cipher *c, void *pkt, size_t len, size_t pn_offset,
		       uint64_t pn);

/**
 * qoff_open_packet() - remove the protection of one packet
 * @c: key
 * @pkt: packet; on success plain in place with a zeroed tag; otherwise as it was
 * @len: its bytes
 * @pn_offset: where the packet number starts
 * @largest_pn: largest packet number received so far, or QOFF_PN_NONE
 * @pn: result
 * @pn_len: result, 1 to 4
 *
 * Return: 0; -EINVAL (too short); -EBADMSG (authentication failed).
 */
QOFF_API int qoff_open_packet(struct qoff_cipher *c, void *pkt, size_t len, size_t pn_offset,
			      uint64_t largest_pn, uint64_t *pn, unsigned int *pn_len);

#ifdef __cplusplus
}
#endif

#endif /* QOFF_H */
