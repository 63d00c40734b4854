// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Devices: asked and set over netlink, whatever the handle's backend.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/rtnetlink.h>

#include "dev.h"
#include "priv.h"

#define NL_BUF(name) char name[QOFF_NL_BUF] __attribute__((aligned(8)))

static void get_str(const struct nlattr *a, char *dst, size_t size)
{
	size_t n;

	if (!a)
		return;
	n = strnlen(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a));
	if (n >= size)
		n = size - 1;
	memcpy(dst, mnl_attr_get_payload(a), n);
	dst[n] = 0;
}

int qoff_dev_from_nl(const struct nlmsghdr *nlh, struct qoff_dev_info *d)
{
	const struct nlattr *tb[QUIC_OFFLOAD_A_DEV_MAX + 1];
	int err;

	memset(d, 0, sizeof(*d));
	err = qoff_nl_parse(nlh, tb, QUIC_OFFLOAD_A_DEV_MAX);
	if (err)
		return err;
	d->id = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_ID]);
	d->ifindex = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_IFINDEX]);
	get_str(tb[QUIC_OFFLOAD_A_DEV_IFNAME], d->ifname, sizeof(d->ifname));
	get_str(tb[QUIC_OFFLOAD_A_DEV_DRIVER], d->driver, sizeof(d->driver));
	d->features_cap = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_FEATURES_CAP]);
	d->features = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_FEATURES]);
	d->tx_ciphers = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_TX_CIPHERS]);
	d->rx_ciphers = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_RX_CIPHERS]);
	d->max_segs = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_MAX_SEGS]);
	d->max_bytes = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_MAX_BYTES]);
	d->max_ctx = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_MAX_CTX]);
	d->max_flow = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_MAX_FLOW]);
	d->dcid_lens = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_DCID_LENS]);
	d->tap_policy = qoff_nl_uint(tb[QUIC_OFFLOAD_A_DEV_TAP_POLICY]);
	d->ethtool = tb[QUIC_OFFLOAD_A_DEV_ETHTOOL];
	return 0;
}

static int dev_cb(const struct nlmsghdr *nlh, void *arg)
{
	return qoff_dev_from_nl(nlh, arg) ? MNL_CB_ERROR : MNL_CB_OK;
}

static int dev_talk(struct qoff *q, struct nlmsghdr *nlh, unsigned int ifindex, mnl_cb_t cb,
		    void *arg)
{
	mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_DEV_IFINDEX, ifindex);
	return qoff_nl_talk(&q->nl, nlh, cb, arg);
}

int qoff_dev_get(struct qoff *q, unsigned int ifindex, struct qoff_dev_info *info)
{
	struct nlmsghdr *nlh;
	NL_BUF(buf);
	int err;

	err = qoff_need_nl(q);
	if (err)
		return err;
	nlh = qoff_nl_start(&q->nl, buf, QUIC_OFFLOAD_CMD_DEV_GET, 0);
	return dev_talk(q, nlh, ifindex, dev_cb, info);
}

struct list_arg {
	int (*fn)(const struct qoff_dev_info *info, void *arg);
	void *arg;
	int ret;
};

static int list_cb(const struct nlmsghdr *nlh, void *arg)
{
	struct qoff_dev_info info;
	struct list_arg *l = arg;

	/* The rest of the dump is read and dropped, so that the socket is clean. */
	if (l->ret)
		return MNL_CB_OK;
	l->ret = qoff_dev_from_nl(nlh, &info);
	if (!l->ret)
		l->ret = l->fn(&info, l->arg);
	return MNL_CB_OK;
}

int qoff_dev_list(struct qoff *q, int (*fn)(const struct qoff_dev_info *info, void *arg), void *arg)
{
	struct list_arg l = { .fn = fn, .arg = arg };
	struct nlmsghdr *nlh;
	NL_BUF(buf);
	int err;

	err = qoff_need_nl(q);
	if (err)
		return err;
	nlh = qoff_nl_start(&q->nl, buf, QUIC_OFFLOAD_CMD_DEV_GET, NLM_F_DUMP);
	err = qoff_nl_talk(&q->nl, nlh, list_cb, &l);
	return err ? err : l.ret;
}

static int stats_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[QUIC_OFFLOAD_A_DEV_MAX + 1];

	if (qoff_nl_parse(nlh, tb, QUIC_OFFLOAD_A_DEV_MAX))
		return MNL_CB_ERROR;
	qoff_nl_stats(tb[QUIC_OFFLOAD_A_DEV_STATS], arg);
	return MNL_CB_OK;
}

int qoff_dev_stats(struct qoff *q, unsigned int ifindex, struct qoff_stats *stats)
{
	struct nlmsghdr *nlh;
	NL_BUF(buf);
	int err;

	memset(stats, 0, sizeof(*stats));
	err = qoff_need_nl(q);
	if (err)
		return err;
	nlh = qoff_nl_start(&q->nl, buf, QUIC_OFFLOAD_CMD_DEV_STATS_GET, 0);
	return dev_talk(q, nlh, ifindex, stats_cb, stats);
}

int qoff_dev_set(struct qoff *q, unsigned int ifindex, const uint32_t *features,
		 const uint32_t *tap_policy)
{
	struct nlmsghdr *nlh;
	NL_BUF(buf);
	int err;

	err = qoff_need_nl(q);
	if (err)
		return err;
	nlh = qoff_nl_start(&q->nl, buf, QUIC_OFFLOAD_CMD_DEV_SET, 0);
	if (features)
		mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_DEV_FEATURES, *features);
	if (tap_policy)
		mnl_attr_put_u32(nlh, QUIC_OFFLOAD_A_DEV_TAP_POLICY, *tap_policy);
	return dev_talk(q, nlh, ifindex, NULL, NULL);
}

/* RTA_OIF of the answer to RTM_GETROUTE */
static int route_answer(const struct nlmsghdr *nlh, unsigned int *ifindex)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;

	if (nlh->nlmsg_type == NLMSG_ERROR)
		return qoff_fail(-e->error, "no route: %s", strerror(-e->error));
	mnl_attr_for_each(a, nlh, sizeof(struct rtmsg)) {
		if (mnl_attr_get_type(a) == RTA_OIF) {
			*ifindex = mnl_attr_get_u32(a);
			return 0;
		}
	}
	return qoff_fail(ENODEV, "the route leads to no device");
}

static int route(const struct qoff_addr *dst, unsigned int *ifindex)
{
	char buf[8192] __attribute__((aligned(8)));
	struct mnl_socket *nl;
	struct nlmsghdr *nlh;
	struct rtmsg *rtm;
	ssize_t n = -1;
	int err;

	nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!nl)
		return qoff_fail(errno, "netlink: %s", strerror(errno));
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = 1;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = dst->len == 4 ? AF_INET : AF_INET6;
	rtm->rtm_dst_len = dst->len * 8;
	mnl_attr_put(nlh, RTA_DST, dst->len, dst->a);
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) >= 0 &&
	    mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) >= 0)
		n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
	if (n < 0)
		err = qoff_fail(errno, "netlink: %s", strerror(errno));
	else if (!mnl_nlmsg_ok(nlh, n))
		err = qoff_fail(EBADMSG, "short netlink answer");
	else
		err = route_answer(nlh, ifindex);
	mnl_socket_close(nl);
	return err;
}

unsigned int qoff_route_mtu(const struct qoff_addr *dst)
{
	unsigned int ifindex;
	struct ifreq ifr;
	int fd, mtu = 0;

	memset(&ifr, 0, sizeof(ifr));
	if (route(dst, &ifindex) || !if_indextoname(ifindex, ifr.ifr_name))
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (!ioctl(fd, SIOCGIFMTU, &ifr))
		mtu = ifr.ifr_mtu;
	close(fd);
	return mtu > 0 ? mtu : 0;
}

int qoff_dev_for(struct qoff *q, const struct sockaddr *dst, unsigned int *ifindex,
		 struct qoff_dev_info *info)
{
	struct qoff_addr a;
	int err;

	*ifindex = 0;
	err = qoff_addr_from(dst, &a);
	if (!err)
		err = route(&a, ifindex);
	return err ? err : qoff_dev_get(q, *ifindex, info);
}
