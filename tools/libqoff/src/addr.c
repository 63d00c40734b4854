// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Addresses. A flow of a v4-mapped address is a flow of the IPv4 address: that
 * is what is on the wire.
 */
#include <netinet/in.h>

#include "priv.h"

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

int qoff_addr_from(const struct sockaddr *sa, struct qoff_addr *a)
{
	const struct sockaddr_in6 *s6 = (const void *)sa;
	const struct sockaddr_in *s4 = (const void *)sa;

	memset(a, 0, sizeof(*a));
	if (sa->sa_family == AF_INET) {
		a->len = 4;
		memcpy(a->a, &s4->sin_addr, 4);
		a->port = s4->sin_port;
		return 0;
	}
	if (sa->sa_family != AF_INET6)
		return qoff_fail(EINVAL, "address family %u is neither IPv4 nor IPv6",
				 sa->sa_family);
	a->port = s6->sin6_port;
	if (!memcmp(&s6->sin6_addr, mapped, sizeof(mapped))) {
		a->len = 4;
		memcpy(a->a, (const uint8_t *)&s6->sin6_addr + sizeof(mapped), 4);
	} else {
		a->len = 16;
		memcpy(a->a, &s6->sin6_addr, 16);
	}
	return 0;
}

/* Multicast, or the broadcast address of every net */
bool qoff_addr_multicast(const struct qoff_addr *a)
{
	static const uint8_t ones[4] = { 0xff, 0xff, 0xff, 0xff };

	if (a->len == 16)
		return a->a[0] == 0xff;
	return (a->a[0] & 0xf0) == 0xe0 || !memcmp(a->a, ones, 4);
}

void qoff_addr_to(const struct qoff_addr *a, struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *s6 = (void *)ss;
	struct sockaddr_in *s4 = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (a->len == 4) {
		s4->sin_family = AF_INET;
		s4->sin_port = a->port;
		memcpy(&s4->sin_addr, a->a, 4);
	} else {
		s6->sin6_family = AF_INET6;
		s6->sin6_port = a->port;
		memcpy(&s6->sin6_addr, a->a, 16);
	}
}
