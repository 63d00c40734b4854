/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef QOFFPERF_NET_H
#define QOFFPERF_NET_H

#include <sys/socket.h>

#include "util.h"

int net_listen(const char *bind_addr, u16 port);
int net_dial(const char *host, const char *bind_addr, u16 port, u64 timeout_s);
int net_local(int fd, struct sockaddr_storage *addr, socklen_t *len);
int net_remote(int fd, struct sockaddr_storage *addr, socklen_t *len);
void net_set_port(struct sockaddr_storage *addr, u16 port);
u16 net_port(const struct sockaddr_storage *addr);

#endif /* QOFFPERF_NET_H */
