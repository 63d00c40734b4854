// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "net.h"
#include "util.h"

void net_parse_offload(struct net_conf *conf, const char *word)
{
	static const struct {
		const char *word;
		enum qng_mode mode;
		enum qoff_backend backend;
	} words[] = {
		{ "auto", QNG_OFFLOAD, QOFF_AUTO },
		{ "kernel", QNG_OFFLOAD, QOFF_KERNEL },
		{ "off", QNG_RAW, QOFF_AUTO },
		{ "software", QNG_OFFLOAD, QOFF_USER },
		{ "baseline", QNG_PLAIN, QOFF_USER },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(words[i].word, word)) {
			conf->mode = words[i].mode;
			conf->backend = words[i].backend;
			return;
		}
	}
	die("--offload %s: there are auto, kernel, off, software and baseline", word);
}

socklen_t net_resolve(const char *host, const char *port, bool passive,
		      struct sockaddr_storage *ss)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_DGRAM, .ai_flags = passive ? AI_PASSIVE : 0,
	};
	struct addrinfo *res;
	socklen_t len;
	int err;

	err = getaddrinfo(host, port, &hints, &res);
	if (err)
		die("%s port %s: %s", host ? host : "any address", port, gai_strerror(err));
	len = res->ai_addrlen;
	memset(ss, 0, sizeof(*ss));
	memcpy(ss, res->ai_addr, len);
	freeaddrinfo(res);
	return len;
}

struct qoff *net_open(const struct net_conf *conf)
{
	struct qoff *q;

	if (conf->mode == QNG_PLAIN)
		return NULL;
	q = qoff_open(conf->backend);
	if (!q)
		die("libqoff: %s", qoff_error());
	return q;
}

static void set_int(int fd, int level, int opt, int val)
{
	setsockopt(fd, level, opt, &val, sizeof(val));
}

/* Less than wished is no reason to stop; QUIC recovers what overflows. */
static void set_buffers(int fd, int bytes)
{
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		set_int(fd, SOL_SOCKET, SO_SNDBUF, bytes);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		set_int(fd, SOL_SOCKET, SO_RCVBUF, bytes);
}

static int open_fd(const struct net_conf *conf, const struct sockaddr *local, socklen_t len)
{
	bool v4 = local->sa_family == AF_INET;
	int fd;

	fd = socket(local->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	set_buffers(fd, conf->sockbuf);
	/* ngtcp2 finds the path MTU by its own probes, RFC 8899. */
	set_int(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER,
		IP_PMTUDISC_PROBE);
	if (!v4)
		set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	if (bind(fd, local, len)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

int net_sock_open(const struct net_conf *conf, struct qoff *q, const struct sockaddr *local,
		  socklen_t len, const struct net_sock *join, struct net_sock *ns)
{
	int err;

	memset(ns, 0, sizeof(*ns));
	ns->fd = open_fd(conf, local, len);
	if (ns->fd < 0) {
		warn("socket: %s", strerror(-ns->fd));
		return ns->fd;
	}
	if (conf->mode != QNG_PLAIN) {
		err = qoff_attach(q, ns->fd, join ? join->fd : -1, conf->cid_len, 0, &ns->s);
		if (err) {
			warn("attach: %s", qoff_error());
			close(ns->fd);
			return err;
		}
	}
	ns->qs = qng_sock_new(conf->mode, ns->s, ns->fd);
	if (!ns->qs)
		die("no memory");
	return 0;
}

void net_sock_close(struct net_sock *ns)
{
	qng_sock_free(ns->qs);
	qoff_detach(ns->s);
	if (ns->fd > 0)
		close(ns->fd);
	memset(ns, 0, sizeof(*ns));
}

int net_local_for(const struct sockaddr_storage *remote, socklen_t len,
		  struct sockaddr_storage *local)
{
	socklen_t llen = sizeof(*local);
	int fd, err = 0;

	fd = socket(remote->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const void *)remote, len) || getsockname(fd, (void *)local, &llen))
		err = -errno;
	close(fd);
	if (local->ss_family == AF_INET)
		((struct sockaddr_in *)local)->sin_port = 0;
	else
		((struct sockaddr_in6 *)local)->sin6_port = 0;
	return err;
}
