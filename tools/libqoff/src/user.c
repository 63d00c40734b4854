// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The backend in user space: groups and sockets.
 */
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>

#include "user.h"

void user_stats_get(const struct user_stats *st, struct qoff_stats *res)
{
	for (unsigned int i = 1; i <= QUIC_OFFLOAD_A_STATS_MAX; i++) {
		res->present |= 1ULL << i;
		res->v[i] = atomic_load_explicit(&st->v[i], memory_order_relaxed);
	}
}

/* Under q->lock. */
static struct user_group *get_group(struct qoff *q, struct qoff_sock *join, unsigned int dcid_len)
{
	struct user_group *g;

	if (join) {
		g = join->user->group;
		if (g->dcid_len != dcid_len) {
			qoff_fail(EINVAL, "dcid-len is not %u, the group's", g->dcid_len);
			errno = EINVAL;
			return NULL;
		}
		g->ref++;
		return g;
	}
	g = calloc(1, sizeof(*g));
	if (!g) {
		qoff_fail(ENOMEM, "no memory");
		return NULL;
	}
	g->ref = 1;
	g->id = ++q->next_group;
	g->dcid_len = dcid_len;
	pthread_mutex_init(&g->lock, NULL);
	return g;
}

static void put_group(struct qoff *q, struct user_group *g)
{
	if (--g->ref)
		return;
	user_ctx_drop_all(q, g);
	user_flow_drop_all(g);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

static int on(int fd, int level, int opt)
{
	int one = 1;

	return setsockopt(fd, level, opt, &one, sizeof(one));
}

static bool is_on(int fd, int opt)
{
	socklen_t len = sizeof(int);
	int val = 0;

	return !getsockopt(fd, SOCK_SOL_UDP, opt, &val, &len) && val;
}

/* What a receive needs to know of a packet. A kernel that lacks one of these makes
 * the record poorer, not wrong.
 */
static void set_options(struct qoff_sock *s)
{
	on(s->fd, SOL_SOCKET, SO_TIMESTAMPNS);
	on(s->fd, IPPROTO_IP, IP_RECVTOS);
	on(s->fd, IPPROTO_IP, IP_PKTINFO);
	if (s->family == AF_INET6) {
		on(s->fd, IPPROTO_IPV6, IPV6_RECVTCLASS);
		on(s->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO);
	}
	s->user->gro = !on(s->fd, SOCK_SOL_UDP, UDP_GRO);
}

/* Under q->lock. */
static int user_attach(struct qoff_sock *s, struct qoff_sock *join, int join_fd,
		       unsigned int dcid_len)
{
	struct user_sock *u;
	if (join_fd >= 0 && !join)
		return qoff_fail(EINVAL, "descriptor %d is not attached", join_fd);
	if (is_on(s->fd, UDP_CORK))
		return qoff_fail(EBUSY, "the socket is corked");
	if (is_on(s->fd, UDP_NO_CHECK6_TX))
		return qoff_fail(EINVAL, "the socket sends zero checksums (UDP_NO_CHECK6_TX)");
	u = calloc(1, sizeof(*u));
	if (!u)
		return qoff_fail(ENOMEM, "no memory");
	u->group = get_group(s->q, join, dcid_len);
	if (!u->group) {
		free(u);
		return -errno;
	}
	u->gso = true;
	pthread_mutex_init(&u->mtu_lock, NULL);
	pthread_mutex_init(&u->rx_lock, NULL);
	s->user = u;
	set_options(s);
	return 0;
}

/* Under q->lock. */
static void user_detach(struct qoff_sock *s)
{
	struct user_sock *u = s->user;

	if (u->slots) {
		for (unsigned int i = 0; i < RX_SLOTS; i++)
			free(u->slots[i].buf);
		free(u->slots);
	}
	put_group(s->q, u->group);
	pthread_mutex_destroy(&u->mtu_lock);
	pthread_mutex_destroy(&u->rx_lock);
	free(u);
}

static int user_sock_get(struct qoff_sock *s, struct qoff_sock_info *info)
{
	memset(info, 0, sizeof(*info));
	info->group = s->user->group->id;
	info->dcid_len = s->user->group->dcid_len;
	info->rx_hdr_size = sizeof(struct qoff_rx);
	info->rx_seg_size = sizeof(struct qoff_rx_seg);
	user_stats_get(&s->user->stats, &info->stats);
	return 0;
}

const struct qoff_ops qoff_user_ops = {
	.attach = user_attach,
	.detach = user_detach,
	.sock_get = user_sock_get,
	.ctx_add = user_ctx_add,
	.ctx_update = user_ctx_update,
	.ctx_del = user_ctx_del,
	.ctx_get = user_ctx_get,
	.flow_add = user_flow_add,
	.flow_update = user_flow_update,
	.flow_retire = user_flow_retire,
	.flow_del = user_flow_del,
	.flow_get = user_flow_get,
	.sendmsg = user_sendmsg,
	.recvmsg = user_recvmsg,
};
