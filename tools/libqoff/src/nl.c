// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Generic netlink, as much as the family "quic-offload" needs: resolve it, send
 * one request at a time, turn an extended ack into this thread's error text.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "priv.h"

int qoff_nl_parse(const struct nlmsghdr *nlh, const struct nlattr **tb, unsigned int max)
{
	const struct nlattr *a;

	memset(tb, 0, (max + 1) * sizeof(*tb));
	if (nlh->nlmsg_len < MNL_ALIGN(sizeof(*nlh)) + sizeof(struct genlmsghdr))
		return qoff_fail(EBADMSG, "short netlink message");
	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(a) <= max)
			tb[mnl_attr_get_type(a)] = a;
	}
	return 0;
}

int qoff_nl_parse_nest(const struct nlattr *nest, const struct nlattr **tb, unsigned int max)
{
	const struct nlattr *a;

	memset(tb, 0, (max + 1) * sizeof(*tb));
	mnl_attr_for_each_nested(a, nest) {
		if (mnl_attr_get_type(a) <= max)
			tb[mnl_attr_get_type(a)] = a;
	}
	return 0;
}

/* An attribute of type "uint" has 4 or 8 bytes; fixed types are read alike. */
uint64_t qoff_nl_uint(const struct nlattr *a)
{
	const void *p;
	uint64_t v = 0;

	if (!a)
		return 0;
	p = mnl_attr_get_payload(a);
	switch (mnl_attr_get_payload_len(a)) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return mnl_attr_get_u16(a);
	case 4:
		return mnl_attr_get_u32(a);
	case 8:
		memcpy(&v, p, 8);
	}
	return v;
}

void qoff_nl_stats(const struct nlattr *nest, struct qoff_stats *st)
{
	const struct nlattr *tb[QUIC_OFFLOAD_A_STATS_MAX + 1];

	memset(st, 0, sizeof(*st));
	if (!nest)
		return;
	qoff_nl_parse_nest(nest, tb, QUIC_OFFLOAD_A_STATS_MAX);
	for (unsigned int i = 1; i <= QUIC_OFFLOAD_A_STATS_MAX; i++) {
		if (!tb[i])
			continue;
		st->present |= 1ULL << i;
		st->v[i] = qoff_nl_uint(tb[i]);
	}
}

/* Names of attributes, for errors that name one. Each family command uses one set. */
static const char *const dev_names[] = {
	[QUIC_OFFLOAD_A_DEV_ID] = "id",
	[QUIC_OFFLOAD_A_DEV_IFINDEX] = "ifindex",
	[QUIC_OFFLOAD_A_DEV_FEATURES] = "features",
	[QUIC_OFFLOAD_A_DEV_TAP_POLICY] = "tap-policy",
};

static const char *const sock_names[] = {
	[QUIC_OFFLOAD_A_SOCK_FD] = "fd",
	[QUIC_OFFLOAD_A_SOCK_JOIN_FD] = "join-fd",
	[QUIC_OFFLOAD_A_SOCK_DCID_LEN] = "dcid-len",
	[QUIC_OFFLOAD_A_SOCK_RX_HDR_SIZE] = "rx-hdr-size",
	[QUIC_OFFLOAD_A_SOCK_RX_SEG_SIZE] = "rx-seg-size",
};

static const char *const ctx_names[] = {
	[QUIC_OFFLOAD_A_CTX_FD] = "fd",
	[QUIC_OFFLOAD_A_CTX_ID] = "id",
	[QUIC_OFFLOAD_A_CTX_GEN] = "gen",
	[QUIC_OFFLOAD_A_CTX_CIPHER] = "cipher",
	[QUIC_OFFLOAD_A_CTX_DCID_LEN] = "dcid-len",
	[QUIC_OFFLOAD_A_CTX_PHASE] = "phase",
	[QUIC_OFFLOAD_A_CTX_KEY] = "key",
	[QUIC_OFFLOAD_A_CTX_IV] = "iv",
	[QUIC_OFFLOAD_A_CTX_HP_KEY] = "hp-key",
	[QUIC_OFFLOAD_A_CTX_FIRST_PN] = "first-pn",
	[QUIC_OFFLOAD_A_CTX_PATH_ID] = "path-id",
	[QUIC_OFFLOAD_A_CTX_FLAGS] = "flags",
};

static const char *const flow_names[] = {
	[QUIC_OFFLOAD_A_FLOW_FD] = "fd",
	[QUIC_OFFLOAD_A_FLOW_ID] = "id",
	[QUIC_OFFLOAD_A_FLOW_LOCAL_ADDR] = "local-addr",
	[QUIC_OFFLOAD_A_FLOW_REMOTE_ADDR] = "remote-addr",
	[QUIC_OFFLOAD_A_FLOW_REMOTE_PORT] = "remote-port",
	[QUIC_OFFLOAD_A_FLOW_DCID] = "dcid",
	[QUIC_OFFLOAD_A_FLOW_COOKIE] = "cookie",
	[QUIC_OFFLOAD_A_FLOW_CIPHER] = "cipher",
	[QUIC_OFFLOAD_A_FLOW_PHASE] = "phase",
	[QUIC_OFFLOAD_A_FLOW_KEY] = "key",
	[QUIC_OFFLOAD_A_FLOW_IV] = "iv",
	[QUIC_OFFLOAD_A_FLOW_HP_KEY] = "hp-key",
	[QUIC_OFFLOAD_A_FLOW_KEY_GEN] = "key-gen",
	[QUIC_OFFLOAD_A_FLOW_LARGEST_PN] = "largest-pn",
	[QUIC_OFFLOAD_A_FLOW_KEYS_OF] = "keys-of",
	[QUIC_OFFLOAD_A_FLOW_RETIRE] = "retire",
	[QUIC_OFFLOAD_A_FLOW_SCOPE_ID] = "scope-id",
};

static const char *attr_name(uint8_t cmd, unsigned int type)
{
	const char *const *names;
	size_t n;

	switch (cmd) {
	case QUIC_OFFLOAD_CMD_SOCK_ATTACH:
	case QUIC_OFFLOAD_CMD_SOCK_GET:
		names = sock_names;
		n = ARRAY_SIZE(sock_names);
		break;
	case QUIC_OFFLOAD_CMD_CTX_ADD ... QUIC_OFFLOAD_CMD_CTX_GET:
		names = ctx_names;
		n = ARRAY_SIZE(ctx_names);
		break;
	case QUIC_OFFLOAD_CMD_FLOW_ADD ... QUIC_OFFLOAD_CMD_FLOW_GET:
		names = flow_names;
		n = ARRAY_SIZE(flow_names);
		break;
	default:
		names = dev_names;
		n = ARRAY_SIZE(dev_names);
	}
	return type < n && names[type] ? names[type] : "?";
}

/* The attribute of our request that starts @offs bytes into it. */
static unsigned int attr_at(const struct nlmsghdr *req, uint32_t offs)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, req, sizeof(struct genlmsghdr)) {
		if ((const char *)a - (const char *)req == offs)
			return mnl_attr_get_type(a);
	}
	return 0;
}

/* struct nlmsgerr, the request or its header, then TLVs. */
static int ext_ack(const struct nlmsghdr *nlh, const struct nlmsghdr *req)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(req);
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	unsigned int off = sizeof(*e), bad = 0, miss = 0;
	const char *msg = NULL;
	const struct nlattr *a;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*e))
		return qoff_fail(EBADMSG, "short netlink answer");
	if (!e->error)
		return 0;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		off += MNL_ALIGN(e->msg.nlmsg_len - sizeof(e->msg));
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS && nlh->nlmsg_len >= MNL_NLMSG_HDRLEN + off) {
		mnl_attr_for_each(a, nlh, off) {
			switch (mnl_attr_get_type(a)) {
			case NLMSGERR_ATTR_MSG:
				if (mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
					msg = mnl_attr_get_str(a);
				break;
			case NLMSGERR_ATTR_OFFS:
				bad = attr_at(req, qoff_nl_uint(a));
				break;
			case NLMSGERR_ATTR_MISS_TYPE:
				miss = qoff_nl_uint(a);
				break;
			}
		}
	}
	if (miss && !msg)
		return qoff_fail(-e->error, "attribute %s is missing", attr_name(genl->cmd, miss));
	if (bad)
		return qoff_fail(-e->error, "attribute %s: %s", attr_name(genl->cmd, bad),
				 msg ? msg : strerror(-e->error));
	return qoff_fail(-e->error, "%s", msg ? msg : strerror(-e->error));
}

/* Answers to one request: messages to @cb, until its ack or the end of the dump. */
static int answers(struct qoff_nl *nl, const struct nlmsghdr *req, mnl_cb_t cb, void *arg)
{
	char buf[8192] __attribute__((aligned(8)));
	unsigned int portid = mnl_socket_get_portid(nl->sock);
	struct nlmsghdr *nlh;
	ssize_t got;
	int left;

	for (;;) {
		got = mnl_socket_recvfrom(nl->sock, buf, sizeof(buf));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return qoff_fail(errno, "netlink: %s", strerror(errno));
		left = got;
		for (nlh = (void *)buf; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			if (nlh->nlmsg_seq != nl->seq || nlh->nlmsg_pid != portid)
				continue;
			if (nlh->nlmsg_type == NLMSG_ERROR)
				return ext_ack(nlh, req);
			if (nlh->nlmsg_type == NLMSG_DONE)
				return 0;
			if (cb && nlh->nlmsg_type >= NLMSG_MIN_TYPE && cb(nlh, arg) < 0)
				return -EBADMSG;
		}
	}
}

struct nlmsghdr *qoff_nl_start(struct qoff_nl *nl, void *buf, uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *nlh;
	struct genlmsghdr *g;

	memset(buf, 0, QOFF_NL_BUF);
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = nl->family;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags | (flags & NLM_F_DUMP ? 0 : NLM_F_ACK);
	g = mnl_nlmsg_put_extra_header(nlh, sizeof(*g));
	g->cmd = cmd;
	g->version = QUIC_OFFLOAD_FAMILY_VERSION;
	return nlh;
}

/* Under nl->lock, or before anybody else knows @nl. */
static int talk(struct qoff_nl *nl, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	nlh->nlmsg_seq = ++nl->seq;
	if (mnl_socket_sendto(nl->sock, nlh, nlh->nlmsg_len) < 0)
		return qoff_fail(errno, "netlink: %s", strerror(errno));
	return answers(nl, nlh, cb, arg);
}

int qoff_nl_talk(struct qoff_nl *nl, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	int err;

	pthread_mutex_lock(&nl->lock);
	err = talk(nl, nlh, cb, arg);
	pthread_mutex_unlock(&nl->lock);
	qoff_wipe(nlh, QOFF_NL_BUF);
	return err;
}

static void groups(const struct nlattr *nest, struct qoff_nl *nl)
{
	const struct nlattr *tb[CTRL_ATTR_MCAST_GRP_MAX + 1], *g;
	const char *name;

	mnl_attr_for_each_nested(g, nest) {
		qoff_nl_parse_nest(g, tb, CTRL_ATTR_MCAST_GRP_MAX);
		if (!tb[CTRL_ATTR_MCAST_GRP_NAME] || !tb[CTRL_ATTR_MCAST_GRP_ID])
			continue;
		name = mnl_attr_get_str(tb[CTRL_ATTR_MCAST_GRP_NAME]);
		if (!strcmp(name, QUIC_OFFLOAD_MCGRP_MGMT))
			nl->mgmt = mnl_attr_get_u32(tb[CTRL_ATTR_MCAST_GRP_ID]);
		else if (!strcmp(name, QUIC_OFFLOAD_MCGRP_KEYS))
			nl->keys = mnl_attr_get_u32(tb[CTRL_ATTR_MCAST_GRP_ID]);
	}
}

static int ctrl_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[CTRL_ATTR_MAX + 1];
	struct qoff_nl *nl = arg;

	if (qoff_nl_parse(nlh, tb, CTRL_ATTR_MAX))
		return MNL_CB_ERROR;
	if (tb[CTRL_ATTR_FAMILY_ID])
		nl->family = mnl_attr_get_u16(tb[CTRL_ATTR_FAMILY_ID]);
	if (tb[CTRL_ATTR_MCAST_GROUPS])
		groups(tb[CTRL_ATTR_MCAST_GROUPS], nl);
	return MNL_CB_OK;
}

int qoff_nl_open(struct qoff_nl *nl)
{
	char buf[QOFF_NL_BUF] __attribute__((aligned(8)));
	struct nlmsghdr *nlh;
	int err, one = 1;

	nl->sock = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!nl->sock)
		return qoff_fail(errno, "netlink: %s", strerror(errno));
	/* CAP_ACK: an error does not send the request, and so a key, back. */
	mnl_socket_setsockopt(nl->sock, NETLINK_CAP_ACK, &one, sizeof(one));
	mnl_socket_setsockopt(nl->sock, NETLINK_EXT_ACK, &one, sizeof(one));
	if (mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) < 0) {
		err = qoff_fail(errno, "netlink: %s", strerror(errno));
		goto err_close;
	}

	nl->family = GENL_ID_CTRL;
	nlh = qoff_nl_start(nl, buf, CTRL_CMD_GETFAMILY, 0);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, QUIC_OFFLOAD_FAMILY_NAME);
	nl->family = 0;
	err = talk(nl, nlh, ctrl_cb, nl);
	if (!err && nl->family)
		return 0;
	if (!err || err == -ENOENT)
		err = qoff_fail(EOPNOTSUPP, "this kernel has no \"%s\": load module quic_offload",
				QUIC_OFFLOAD_FAMILY_NAME);
err_close:
	qoff_nl_close(nl);
	return err;
}

void qoff_nl_close(struct qoff_nl *nl)
{
	if (nl->sock)
		mnl_socket_close(nl->sock);
	nl->sock = NULL;
	nl->family = 0;
}
