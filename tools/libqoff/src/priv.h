/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * libqoff, private: what its files give to one another.
 *
 * Locks, outermost first: qoff.lock, user_sock.rx_lock, user_group.lock, one
 * user_ctx.lock or user_rxkeys.lock, qoff.key_lock, qoff_nl.lock.
 */
#ifndef QOFF_PRIV_H
#define QOFF_PRIV_H

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <net/quic_offload/wire.h>

#include "qoff.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif

#define SOCK_SOL_UDP	17	/* SOL_UDP, which not every libc header has */

#define QOFF_MAX_PAYLOAD_V4	65507
#define QOFF_MAX_PAYLOAD_V6	65527
#define QOFF_MAX_TRUESIZE	65536	/* room for any datagram */

/* error.c */

/* Sets this thread's text and returns -@err. */
int qoff_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* nl.c: generic netlink */

/**
 * struct qoff_nl - connection to the family
 * @lock: one request at a time; protects all below
 * @sock: NULL until the first request
 * @family: its id, 0: the kernel does not have it
 * @mgmt: id of the multicast group for device events
 * @keys: id of the multicast group for key events
 * @seq: of the last request
 */
struct qoff_nl {
	pthread_mutex_t lock;
	struct mnl_socket *sock;
	uint16_t family;
	uint32_t mgmt;
	uint32_t keys;
	uint32_t seq;
};

#define QOFF_NL_BUF	1024	/* every request fits */

int qoff_nl_open(struct qoff_nl *nl);
void qoff_nl_close(struct qoff_nl *nl);
struct nlmsghdr *qoff_nl_start(struct qoff_nl *nl, void *buf, uint8_t cmd, uint16_t flags);
/* Sends @nlh and feeds every answer to @cb. The request is overwritten: it may hold keys. */
int qoff_nl_talk(struct qoff_nl *nl, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg);
/* Validated attributes of an answer, by type; @max is the highest of interest. */
int qoff_nl_parse(const struct nlmsghdr *nlh, const struct nlattr **tb, unsigned int max);
int qoff_nl_parse_nest(const struct nlattr *nest, const struct nlattr **tb, unsigned int max);
uint64_t qoff_nl_uint(const struct nlattr *a);
void qoff_nl_stats(const struct nlattr *nest, struct qoff_stats *st);

/* main.c: what both backends do */

struct qoff_ops {
	int (*attach)(struct qoff_sock *s, struct qoff_sock *join, int join_fd,
		      unsigned int dcid_len);
	void (*detach)(struct qoff_sock *s);
	int (*sock_get)(struct qoff_sock *s, struct qoff_sock_info *info);
	int (*ctx_add)(struct qoff_sock *s, const struct qoff_ctx_param *p, struct qoff_ctx_id *id);
	int (*ctx_update)(struct qoff_sock *s, struct qoff_ctx_id id, unsigned int phase,
			  const struct qoff_keys *keys);
	int (*ctx_del)(struct qoff_sock *s, struct qoff_ctx_id id);
	int (*ctx_get)(struct qoff_sock *s, uint32_t id, struct qoff_ctx_info *info);
	int (*flow_add)(struct qoff_sock *s, const struct qoff_flow_param *p, uint32_t *id);
	int (*flow_update)(struct qoff_sock *s, uint32_t id, const struct qoff_keys *keys,
			   unsigned int phase, uint32_t key_gen, uint64_t largest_pn);
	int (*flow_retire)(struct qoff_sock *s, uint32_t id, unsigned int phase);
	int (*flow_del)(struct qoff_sock *s, uint32_t id);
	int (*flow_get)(struct qoff_sock *s, uint32_t id, struct qoff_flow_info *info);
	ssize_t (*sendmsg)(struct qoff_sock *s, const struct msghdr *msg, int flags);
	ssize_t (*recvmsg)(struct qoff_sock *s, struct msghdr *msg, int flags);
};

extern const struct qoff_ops qoff_kernel_ops;
extern const struct qoff_ops qoff_user_ops;

struct user_key;
struct user_event;

#define QOFF_KEY_BUCKETS 1024

/**
 * struct qoff - see qoff.h
 * @backend: QOFF_KERNEL or QOFF_USER
 * @ops: its functions
 * @nl: requests; opened when first needed
 * @lock: protects @socks, @ev and @next_group
 * @socks: attached through this handle
 * @next_group: id of the next group in user space
 * @ev: event socket, NULL until qoff_events_fd()
 * @ev_fd: with QOFF_USER: epoll instance over @ev and @user_ev_fd; -1: none
 * @ev_buf: received events
 * @ev_pos: next unread message of @ev_buf
 * @ev_left: bytes from there
 * @key_lock: protects the two below, and @user_ev
 * @keys: sending keys in user space, each installed once
 * @user_ev: events made in user space
 * @user_ev_fd: eventfd that is readable while there are some; -1: none
 */
struct qoff {
	enum qoff_backend backend;
	const struct qoff_ops *ops;
	struct qoff_nl nl;
	pthread_mutex_t lock;
	struct qoff_sock *socks;
	uint32_t next_group;
	struct mnl_socket *ev;
	int ev_fd;
	char *ev_buf;
	struct nlmsghdr *ev_pos;
	int ev_left;
	pthread_mutex_t key_lock;
	struct user_key *keys[QOFF_KEY_BUCKETS];
	struct user_event *user_ev;
	int user_ev_fd;
};

struct user_sock;

/**
 * struct qoff_sock - see qoff.h
 * @q: its handle
 * @next: in qoff.socks
 * @fd: our duplicate of the caller's descriptor
 * @cookie: SO_COOKIE: the socket's identity, whatever its number
 * @family: AF_INET or AF_INET6
 * @user: with QOFF_USER
 */
struct qoff_sock {
	struct qoff *q;
	struct qoff_sock *next;
	int fd;
	uint64_t cookie;
	int family;
	struct user_sock *user;
};

/* A handle's netlink connection, opened on demand. */
int qoff_need_nl(struct qoff *q);
void qoff_events_free(struct qoff *q);
/* Puts an event of user space where qoff_event_next() finds it. */
void qoff_user_key_event(struct qoff *q, uint32_t group, uint32_t direction, uint32_t id,
			 uint64_t used, uint64_t limit);

/* seal.c: one packet, see qoff.h */

const struct qoff_keys *qoff_cipher_keys(const struct qoff_cipher *c);
/* The AEAD key of @keys with the HP key of @hp: a key update. */
struct qoff_cipher *qoff_cipher_update(const struct qoff_cipher *hp, const struct qoff_keys *keys);
int qoff_cipher_mask(struct qoff_cipher *c, const uint8_t *sample, uint8_t *mask);
/* Seals @len - QOFF_TAG_SIZE - @hdr_len bytes behind the header in place. */
int qoff_cipher_seal(struct qoff_cipher *c, uint8_t *pkt, size_t len, size_t hdr_len, uint64_t pn);
/* Opens @src into @dst, both of @len bytes with tag; -EBADMSG leaves rubbish in @dst. */
int qoff_cipher_open(struct qoff_cipher *c, const uint8_t *hdr, size_t hdr_len, const uint8_t *src,
		     uint8_t *dst, size_t len, uint64_t pn);

/* keys.c */

/* 0 if lengths are the cipher's; -EINVAL with text */
int qoff_keys_check(const struct qoff_keys *keys, bool with_hp);

/* addr.c */

/**
 * struct qoff_addr - an address as the flow table has it
 * @len: 4 or 16; v4-mapped addresses have 4
 * @a: network byte order
 * @port: network byte order
 */
struct qoff_addr {
	uint8_t len;
	uint8_t a[16];
	uint16_t port;
};

int qoff_addr_from(const struct sockaddr *sa, struct qoff_addr *a);
bool qoff_addr_multicast(const struct qoff_addr *a);
void qoff_addr_to(const struct qoff_addr *a, struct sockaddr_storage *ss);

/* dev.c */

/* MTU of the device that the route to @dst leads to; 0: not known. */
unsigned int qoff_route_mtu(const struct qoff_addr *dst);

#endif /* QOFF_PRIV_H */
