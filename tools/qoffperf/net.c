// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net.h"

#define RETRY_MS	50

static int resolve(const char *host, u16 port, int flags, struct addrinfo **ai)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags | AI_NUMERICSERV,
	};
	char service[8];
	int err;

	snprintf(service, sizeof(service), "%u", port);
	err = getaddrinfo(host, service, &hints, ai);
	if (err) {
		warnx("%s: %s", host ? host : "any address", gai_strerror(err));
		return -EADDRNOTAVAIL;
	}
	return 0;
}

static int listen_on(const struct addrinfo *ai)
{
	int one = 1, zero = 0, fd, err;

	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (!bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, 8))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/**
 * net_listen - TCP socket of a server
 * @bind_addr: address, or NULL for all of both families
 * @port: port
 *
 * Return: a descriptor or a negative errno.
 */
int net_listen(const char *bind_addr, u16 port)
{
	struct addrinfo *ai, *i;
	int fd;

	fd = resolve(bind_addr ? bind_addr : "::", port, AI_PASSIVE, &ai);
	if (fd)
		return fd;
	fd = -EADDRNOTAVAIL;
	for (i = ai; i && fd < 0; i = i->ai_next)
		fd = listen_on(i);
	freeaddrinfo(ai);
	if (fd == -EAFNOSUPPORT && !bind_addr)	/* a kernel without IPv6 */
		return net_listen("0.0.0.0", port);
	return fd;
}

static int bind_local(int fd, const char *bind_addr)
{
	struct addrinfo *ai;
	int err;

	if (!bind_addr)
		return 0;
	err = resolve(bind_addr, 0, AI_PASSIVE, &ai);
	if (err)
		return err;
	if (bind(fd, ai->ai_addr, ai->ai_addrlen))
		err = -errno;
	freeaddrinfo(ai);
	return err;
}

static int dial(const struct addrinfo *ai, const char *bind_addr)
{
	int fd, err;

	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	err = bind_local(fd, bind_addr);
	if (!err && !connect(fd, ai->ai_addr, ai->ai_addrlen))
		return fd;
	err = err ? err : -errno;
	close(fd);
	return err;
}

/**
 * net_dial - connect to a server
 * @host: name or address
 * @bind_addr: own address or NULL
 * @port: port
 * @timeout_s: a server that is just being started is waited for so long
 *
 * Return: a descriptor or a negative errno.
 */
int net_dial(const char *host, const char *bind_addr, u16 port, u64 timeout_s)
{
	u64 end = now_ns() + timeout_s * NSEC_PER_SEC;
	struct addrinfo *ai, *i;
	int fd;

	fd = resolve(host, port, 0, &ai);
	if (fd)
		return fd;
	for (;;) {
		fd = -EADDRNOTAVAIL;
		for (i = ai; i && fd < 0; i = i->ai_next)
			fd = dial(i, bind_addr);
		if (fd != -ECONNREFUSED || now_ns() >= end)
			break;
		poll(NULL, 0, RETRY_MS);
	}
	freeaddrinfo(ai);
	return fd;
}

/* An IPv4 peer of a dual-stack listener: its datagrams are plain IPv4. */
static void unmap(struct sockaddr_storage *addr, socklen_t *len)
{
	struct sockaddr_in6 v6 = *(struct sockaddr_in6 *)addr;
	struct sockaddr_in v4 = { .sin_family = AF_INET };

	if (addr->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
		return;
	v4.sin_port = v6.sin6_port;
	memcpy(&v4.sin_addr, v6.sin6_addr.s6_addr + 12, 4);
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &v4, sizeof(v4));
	*len = sizeof(v4);
}

int net_local(int fd, struct sockaddr_storage *addr, socklen_t *len)
{
	*len = sizeof(*addr);
	if (getsockname(fd, (struct sockaddr *)addr, len))
		return -errno;
	unmap(addr, len);
	return 0;
}

int net_remote(int fd, struct sockaddr_storage *addr, socklen_t *len)
{
	*len = sizeof(*addr);
	if (getpeername(fd, (struct sockaddr *)addr, len))
		return -errno;
	unmap(addr, len);
	return 0;
}

void net_set_port(struct sockaddr_storage *addr, u16 port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

u16 net_port(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)addr)->sin6_port);
	return ntohs(((struct sockaddr_in *)addr)->sin_port);
}
