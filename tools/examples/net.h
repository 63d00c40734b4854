/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Sockets, with or without libqoff.
 */
#ifndef H3_NET_H
#define H3_NET_H

#include <qoff_ngtcp2.h>

/**
 * struct net_conf - how sockets are made
 * @mode: who seals and opens
 * @backend: of libqoff
 * @cid_len: of our connection IDs
 * @sockbuf: bytes of each socket buffer
 */
struct net_conf {
	enum qng_mode mode;
	enum qoff_backend backend;
	unsigned int cid_len;
	int sockbuf;
};

/* An --offload option: auto, off, software or baseline. Dies otherwise. */
void net_parse_offload(struct net_conf *conf, const char *word);

/* Address of a name and port, dies when there is none. */
socklen_t net_resolve(const char *host, const char *port, bool passive,
		      struct sockaddr_storage *ss);

/**
 * struct net_sock - a socket in all its layers
 * @fd: the socket
 * @s: libqoff's, or NULL
 * @qs: the binding's
 */
struct net_sock {
	int fd;
	struct qoff_sock *s;
	struct qng_sock *qs;
};

/* What qoff_open() gave; NULL without libqoff. Dies when the wish cannot be met. */
struct qoff *net_open(const struct net_conf *conf);

/**
 * net_sock_open() - make a socket
 * @conf: how
 * @q: from net_open()
 * @local: address to bind, port 0: any
 * @len: its size
 * @join: NULL, or a socket whose keys it shares
 * @ns: result
 *
 * Return: 0 or a negative errno, with a message.
 */
int net_sock_open(const struct net_conf *conf, struct qoff *q, const struct sockaddr *local,
		  socklen_t len, const struct net_sock *join, struct net_sock *ns);
void net_sock_close(struct net_sock *ns);

/* The source address that the route to @remote gives. */
int net_local_for(const struct sockaddr_storage *remote, socklen_t len,
		  struct sockaddr_storage *local);

#endif /* H3_NET_H */
