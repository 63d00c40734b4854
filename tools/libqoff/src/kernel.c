// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The backend that is the kernel: netlink for control, sendmsg and recvmsg for
 * data. Nothing is kept here that the kernel knows.
 */
#include <netinet/in.h>

#include "priv.h"

#define NL_BUF(name) char name[QOFF_NL_BUF] __attribute__((aligned(8)))

static struct nlmsghdr *start(struct qoff_sock *s, void *buf, uint8_t cmd)
{
	struct nlmsghdr *nlh = qoff_nl_start(&s->q->nl, buf, cmd, 0);

	/* fd is attribute 1 of every set that names a socket. */
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_SOCK_FD, s->fd);
	return nlh;
}

static int talk(struct qoff_sock *s, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	return qoff_nl_talk(&s->q->nl, nlh, cb, arg);
}

static int kernel_attach(struct qoff_sock *s, struct qoff_sock *join, int join_fd,
			 unsigned int dcid_len)
{
	struct nlmsghdr *nlh;
	NL_BUF(buf);

	nlh = start(s, buf, QUIC_OFFLOAD_CMD_SOCK_ATTACH);
	if (join_fd >= 0)
		mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_SOCK_JOIN_FD, join_fd);
	mnl_attr_put_u8(nlh, QUIC_OFFLOAD_A_SOCK_DCID_LEN, dcid_len);
	mnl_attr_put_u16(nlh, QUIC_OFFLOAD_A_SOCK_RX_HDR_SIZE, sizeof(struct qoff_rx));
	mnl_attr_put_u16(nlh, QUIC_OFFLOAD_A_SOCK_RX_SEG_SIZE, sizeof(struct qoff_rx_seg));
	return talk(s, nlh, NULL, NULL);
}

static void kernel_detach(struct qoff_sock *s)
{
}

static int sock_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[QUIC_OFFLOAD_A_SOCK_MAX + 1];
	struct qoff_sock_info *info = arg;

	if (qoff_nl_parse(nlh, tb, QUIC_OFFLOAD_A_SOCK_MAX))
		return MNL_CB_ERROR;
	info->group = qoff_nl_uint(tb[QUIC_OFFLOAD_A_SOCK_GROUP]);
	info->dcid_len = qoff_nl_uint(tb[QUIC_OFFLOAD_A_SOCK_DCID_LEN]);
	info->rx_hdr_size = qoff_nl_uint(tb[QUIC_OFFLOAD_A_SOCK_RX_HDR_SIZE]);
	info->rx_seg_size = qoff_nl_uint(tb[QUIC_OFFLOAD_A_SOCK_RX_SEG_SIZE]);
	qoff_nl_stats(tb[QUIC_OFFLOAD_A_SOCK_STATS], &info->stats);
	return MNL_CB_OK;
}

static int kernel_sock_get(struct qoff_sock *s, struct qoff_sock_info *info)
{
	struct nlmsghdr *nlh;
	NL_BUF(buf);

	memset(info, 0, sizeof(*info));
	nlh = start(s, buf, QUIC_OFFLOAD_CMD_SOCK_GET);
	return talk(s, nlh, sock_cb, info);
}

static int ctx_id_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[QUIC_OFFLOAD_A_CTX_MAX + 1];
	struct qoff_ctx_id *id = arg;

	if (qoff_nl_parse(nlh, tb, QUIC_OFFLOAD_A_CTX_MAX))
		return MNL_CB_ERROR;
	id->id = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_ID]);
	id->gen = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_GEN]);
	return MNL_CB_OK;
}

/* key_len comes from the caller: a lie must not read beyond the array. */
static int key_fits(const struct qoff_keys *k)
{
	if (k->key_len > sizeof(k->key) || k->hp_len > sizeof(k->hp))
		return qoff_fail(EINVAL, "a key has at most %zu bytes", sizeof(k->key));
	return 0;
}

static int kernel_ctx_add(struct qoff_sock *s, const struct qoff_ctx_param *p,
			  struct qoff_ctx_id *id)
{
	const struct qoff_keys *k = p->keys;
	struct nlmsghdr *nlh;
	NL_BUF(buf);
	int err = key_fits(k);

	if (err)
		return err;
	nlh = start(s, buf, QUIC_OFFLOAD_CMD_CTX_ADD);
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_CTX_CIPHER, k->cipher);
	mnl_attr_put_u8(nlh, QUIC_OFFLOAD_A_CTX_DCID_LEN, p->dcid_len);
	mnl_attr_put_u8(nlh, QUIC_OFFLOAD_A_CTX_PHASE, p->phase);
	mnl_attr_put(nlh, QUIC_OFFLOAD_A_CTX_KEY, k->key_len, k->key);
	mnl_attr_put(nlh, QUIC_OFFLOAD_A_CTX_IV, sizeof(k->iv), k->iv);
	mnl_attr_put(nlh, QUIC_OFFLOAD_A_CTX_HP_KEY, k->hp_len, k->hp);
	mnl_attr_put_u64(nlh, QUIC_OFFLOAD_A_CTX_FIRST_PN, p->first_pn);
	if (p->path_id)
		mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_CTX_PATH_ID, p->path_id);
	if (p->flags)
		mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_CTX_FLAGS, p->flags);
	return talk(s, nlh, ctx_id_cb, id);
}

static int kernel_ctx_update(struct qoff_sock *s, struct qoff_ctx_id id, unsigned int phase,
			     const struct qoff_keys *keys)
{
	struct nlmsghdr *nlh;
	NL_BUF(buf);
	int err = key_fits(keys);

	if (err)
		return err;
	nlh = start(s, buf, QUIC_OFFLOAD_CMD_CTX_UPDATE);
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_CTX_ID, id.id);
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_CTX_GEN, id.gen);
	mnl_attr_put_u8(nlh, QUIC_OFFLOAD_A_CTX_PHASE, phase);
	mnl_attr_put(nlh, QUIC_OFFLOAD_A_CTX_KEY, keys->key_len, keys->key);
	mnl_attr_put(nlh, QUIC_OFFLOAD_A_CTX_IV, sizeof(keys->iv), keys->iv);
	return talk(s, nlh, NULL, NULL);
}

static int kernel_ctx_del(struct qoff_sock *s, struct qoff_ctx_id id)
{
	struct nlmsghdr *nlh;
	NL_BUF(buf);

	nlh = start(s, buf, QUIC_OFFLOAD_CMD_CTX_DEL);
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_CTX_ID, id.id);
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_CTX_GEN, id.gen);
	return talk(s, nlh, NULL, NULL);
}

static int ctx_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[QUIC_OFFLOAD_A_CTX_MAX + 1];
	struct qoff_ctx_info *info = arg;

	if (qoff_nl_parse(nlh, tb, QUIC_OFFLOAD_A_CTX_MAX))
		return MNL_CB_ERROR;
	info->id.id = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_ID]);
	info->id.gen = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_GEN]);
	info->cipher = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_CIPHER]);
	info->flags = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_FLAGS]);
	info->next_pn = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_NEXT_PN]);
	info->key_used = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_KEY_USED]);
	info->key_limit = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_KEY_LIMIT]);
	info->dev_id = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_DEV_ID]);
	info->dcid_len = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_DCID_LEN]);
	info->phase = qoff_nl_uint(tb[QUIC_OFFLOAD_A_CTX_PHASE]);
	qoff_nl_stats(tb[QUIC_OFFLOAD_A_CTX_STATS], &info->stats);
	return MNL_CB_OK;
}

static int kernel_ctx_get(struct qoff_sock *s, uint32_t id, struct qoff_ctx_info *info)
{
	struct nlmsghdr *nlh;
	NL_BUF(buf);

	memset(info, 0, sizeof(*info));
	nlh = start(s, buf, QUIC_OFFLOAD_CMD_CTX_GET);
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_CTX_ID, id);
	return talk(s, nlh, ctx_cb, info);
}

static int flow_id_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[QUIC_OFFLOAD_A_FLOW_MAX + 1];

	if (qoff_nl_parse(nlh, tb, QUIC_OFFLOAD_A_FLOW_MAX))
		return MNL_CB_ERROR;
	*(uint32_t *)arg = qoff_nl_uint(tb[QUIC_OFFLOAD_A_FLOW_ID]);
	return MNL_CB_OK;
}

static void put_flow_keys(struct nlmsghdr *nlh, const struct qoff_keys *k, unsigned int phase,
			  uint32_t key_gen, bool with_hp)
{
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_FLOW_CIPHER, k->cipher);
	mnl_attr_put_u8(nlh, QUIC_OFFLOAD_A_FLOW_PHASE, phase);
	mnl_attr_put(nlh, QUIC_OFFLOAD_A_FLOW_KEY, k->key_len, k->key);
	mnl_attr_put(nlh, QUIC_OFFLOAD_A_FLOW_IV, sizeof(k->iv), k->iv);
	if (with_hp)
		mnl_attr_put(nlh, QUIC_OFFLOAD_A_FLOW_HP_KEY, k->hp_len, k->hp);
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_FLOW_KEY_GEN, key_gen);
}

/* The interface of a link-local address, else 0 */
static uint32_t scope_of(const struct sockaddr *sa)
{
	const struct sockaddr_in6 *sin6 = (const void *)sa;

	if (sa->sa_family != AF_INET6 || !IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr))
		return 0;
	return sin6->sin6_scope_id;
}

static int kernel_flow_add(struct qoff_sock *s, const struct qoff_flow_param *p, uint32_t *id)
{
	struct qoff_addr local, remote;
	struct nlmsghdr *nlh;
	uint32_t scope;
	NL_BUF(buf);
	int err;

	err = qoff_addr_from(p->local, &local);
	if (!err)
		err = qoff_addr_from(p->remote, &remote);
	if (!err && p->keys)
		err = key_fits(p->keys);
	if (!err && p->dcid_len > QOFF_MAX_DCID)
		err = qoff_fail(EINVAL, "a connection ID has at most %u bytes", QOFF_MAX_DCID);
	if (err)
		return err;
	scope = scope_of(p->local) ? scope_of(p->local) : scope_of(p->remote);
	nlh = start(s, buf, QUIC_OFFLOAD_CMD_FLOW_ADD);
	mnl_attr_put(nlh, QUIC_OFFLOAD_A_FLOW_LOCAL_ADDR, local.len, local.a);
	mnl_attr_put(nlh, QUIC_OFFLOAD_A_FLOW_REMOTE_ADDR, remote.len, remote.a);
	if (scope)
		mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_FLOW_SCOPE_ID, scope);
	mnl_attr_put_u16(nlh, QUIC_OFFLOAD_A_FLOW_REMOTE_PORT, remote.port);
	mnl_attr_put(nlh, QUIC_OFFLOAD_A_FLOW_DCID, p->dcid_len, p->dcid);
	mnl_attr_put_u64(nlh, QUIC_OFFLOAD_A_FLOW_COOKIE, p->cookie);
	if (p->keys)
		put_flow_keys(nlh, p->keys, p->phase, p->key_gen, true);
	if (p->largest_pn != QOFF_PN_NONE)
		mnl_attr_put_u64(nlh, QUIC_OFFLOAD_A_FLOW_LARGEST_PN, p->largest_pn);
	if (p->keys_of)
		mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_FLOW_KEYS_OF, p->keys_of);
	return talk(s, nlh, flow_id_cb, id);
}

static int flow_cb(const struct nlmsghdr *nlh, void *arg);

static int kernel_flow_get(struct qoff_sock *s, uint32_t id, struct qoff_flow_info *info)
{
	struct nlmsghdr *nlh;
	NL_BUF(buf);

	memset(info, 0, sizeof(*info));
	nlh = start(s, buf, QUIC_OFFLOAD_CMD_FLOW_GET);
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_FLOW_ID, id);
	return talk(s, nlh, flow_cb, info);
}

static int kernel_flow_update(struct qoff_sock *s, uint32_t id, const struct qoff_keys *keys,
			      unsigned int phase, uint32_t key_gen, uint64_t largest_pn)
{
	struct qoff_flow_info info;
	struct nlmsghdr *nlh;
	NL_BUF(buf);
	int err;

	err = key_fits(keys);
	if (!err)
		err = kernel_flow_get(s, id, &info);
	if (err)
		return err;
	nlh = start(s, buf, QUIC_OFFLOAD_CMD_FLOW_UPDATE);
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_FLOW_ID, id);
	/* A key update keeps the header-protection key, so it must not name one. */
	put_flow_keys(nlh, keys, phase, key_gen, !info.cipher);
	if (largest_pn != QOFF_PN_NONE)
		mnl_attr_put_u64(nlh, QUIC_OFFLOAD_A_FLOW_LARGEST_PN, largest_pn);
	return talk(s, nlh, NULL, NULL);
}

static int kernel_flow_retire(struct qoff_sock *s, uint32_t id, unsigned int phase)
{
	struct nlmsghdr *nlh;
	NL_BUF(buf);

	nlh = start(s, buf, QUIC_OFFLOAD_CMD_FLOW_UPDATE);
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_FLOW_ID, id);
	mnl_attr_put_u8(nlh, QUIC_OFFLOAD_A_FLOW_PHASE, phase);
	mnl_attr_put(nlh, QUIC_OFFLOAD_A_FLOW_RETIRE, 0, NULL);
	return talk(s, nlh, NULL, NULL);
}

static int kernel_flow_del(struct qoff_sock *s, uint32_t id)
{
	struct nlmsghdr *nlh;
	NL_BUF(buf);

	nlh = start(s, buf, QUIC_OFFLOAD_CMD_FLOW_DEL);
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_FLOW_ID, id);
	return talk(s, nlh, NULL, NULL);
}

static void get_addr(const struct nlattr *a, uint16_t port, struct sockaddr_storage *ss)
{
	struct qoff_addr addr = { .port = port };

	if (!a || (mnl_attr_get_payload_len(a) != 4 && mnl_attr_get_payload_len(a) != 16))
		return;
	addr.len = mnl_attr_get_payload_len(a);
	memcpy(addr.a, mnl_attr_get_payload(a), addr.len);
	qoff_addr_to(&addr, ss);
}

static int flow_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[QUIC_OFFLOAD_A_FLOW_MAX + 1], *a;
	struct qoff_flow_info *info = arg;

	if (qoff_nl_parse(nlh, tb, QUIC_OFFLOAD_A_FLOW_MAX))
		return MNL_CB_ERROR;
	info->id = qoff_nl_uint(tb[QUIC_OFFLOAD_A_FLOW_ID]);
	info->cipher = qoff_nl_uint(tb[QUIC_OFFLOAD_A_FLOW_CIPHER]);
	get_addr(tb[QUIC_OFFLOAD_A_FLOW_LOCAL_ADDR], 0, &info->local);
	get_addr(tb[QUIC_OFFLOAD_A_FLOW_REMOTE_ADDR],
		 qoff_nl_uint(tb[QUIC_OFFLOAD_A_FLOW_REMOTE_PORT]), &info->remote);
	a = tb[QUIC_OFFLOAD_A_FLOW_DCID];
	if (a && mnl_attr_get_payload_len(a) <= sizeof(info->dcid)) {
		info->dcid_len = mnl_attr_get_payload_len(a);
		memcpy(info->dcid, mnl_attr_get_payload(a), info->dcid_len);
	}
	info->phase = qoff_nl_uint(tb[QUIC_OFFLOAD_A_FLOW_PHASE]);
	info->key_gen = qoff_nl_uint(tb[QUIC_OFFLOAD_A_FLOW_KEY_GEN]);
	info->cookie = qoff_nl_uint(tb[QUIC_OFFLOAD_A_FLOW_COOKIE]);
	a = tb[QUIC_OFFLOAD_A_FLOW_LARGEST_PN];
	info->largest_pn = a ? qoff_nl_uint(a) : QOFF_PN_NONE;
	info->failed = qoff_nl_uint(tb[QUIC_OFFLOAD_A_FLOW_FAILED]);
	info->failed_limit = qoff_nl_uint(tb[QUIC_OFFLOAD_A_FLOW_FAILED_LIMIT]);
	info->dev_id = qoff_nl_uint(tb[QUIC_OFFLOAD_A_FLOW_DEV_ID]);
	qoff_nl_stats(tb[QUIC_OFFLOAD_A_FLOW_STATS], &info->stats);
	return MNL_CB_OK;
}

static ssize_t kernel_sendmsg(struct qoff_sock *s, const struct msghdr *msg, int flags)
{
	ssize_t n = sendmsg(s->fd, msg, flags);

	return n < 0 ? qoff_fail(errno, "sendmsg: %s", strerror(errno)) : n;
}

static ssize_t kernel_recvmsg(struct qoff_sock *s, struct msghdr *msg, int flags)
{
	ssize_t n = recvmsg(s->fd, msg, flags);

	return n < 0 ? qoff_fail(errno, "recvmsg: %s", strerror(errno)) : n;
}

const struct qoff_ops qoff_kernel_ops = {
	.attach = kernel_attach,
	.detach = kernel_detach,
	.sock_get = kernel_sock_get,
	.ctx_add = kernel_ctx_add,
	.ctx_update = kernel_ctx_update,
	.ctx_del = kernel_ctx_del,
	.ctx_get = kernel_ctx_get,
	.flow_add = kernel_flow_add,
	.flow_update = kernel_flow_update,
	.flow_retire = kernel_flow_retire,
	.flow_del = kernel_flow_del,
	.flow_get = kernel_flow_get,
	.sendmsg = kernel_sendmsg,
	.recvmsg = kernel_recvmsg,
};
