// SPDX-License-Identifier: GPL-2.0
/*
 * What a program can put into the path of a packet, for the guard matrix:
 *
 *	tx_hook nfqueue NETNS NUM [gso]		accept what the queue gets, look for plaintext
 *	tx_hook tcx NETNS DEV PROGRAM		attach to the egress of DEV
 *	tx_hook xdp NETNS DEV PROGRAM		attach to generic XDP of DEV
 *	tx_hook pin NETNS PATH TYPE PROGRAM	for tc (TYPE cls) and ip route (TYPE lwt)
 *
 * PROGRAM: pass, redirect:DEV, ingress:DEV, clone:DEV (DEV in NETNS). A hook stays
 * until stdin ends; "ready" says that it is there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns.h"

#define MARKER		"qoff-plaintext-!"
#define MAX_INSNS	8
#define MAX_PACKET	(1 << 17)

static void die(const char *what)
{
	fprintf(stderr, "tx_hook: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void usage(void)
{
	fprintf(stderr, "usage: tx_hook nfqueue|tcx|xdp|pin ..., see the source\n");
	exit(2);
}

static void enter_netns(const char *name)
{
	if (netns_enter(name))
		die(name);
}

static void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

/* ------------------------------------------------------------------------
 * BPF, without a compiler or a library: the programs are a handful of instructions
 */

static struct bpf_insn mov_imm(int dst, int imm)
{
	return (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = dst, .imm = imm };
}

static struct bpf_insn call(int helper)
{
	return (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = helper };
}

static int make_insns(struct bpf_insn *p, enum bpf_prog_type type, const char *program)
{
	const char *dev = strchr(program, ':');
	int ifindex, n = 0, flags = 0;

	if (!strcmp(program, "pass")) {
		p[n++] = mov_imm(BPF_REG_0, type == BPF_PROG_TYPE_XDP ? XDP_PASS : 0);
		goto out;
	}
	ifindex = dev ? if_nametoindex(dev + 1) : 0;
	if (!ifindex)
		die(program);
	if (!strncmp(program, "ingress:", 8))
		flags = BPF_F_INGRESS;
	if (!strncmp(program, "clone:", 6)) {
		p[n++] = mov_imm(BPF_REG_2, ifindex);
		p[n++] = mov_imm(BPF_REG_3, 0);
		p[n++] = call(BPF_FUNC_clone_redirect);
		p[n++] = mov_imm(BPF_REG_0, 0);
	} else {
		p[n++] = mov_imm(BPF_REG_1, ifindex);
		p[n++] = mov_imm(BPF_REG_2, flags);
		p[n++] = call(BPF_FUNC_redirect);
	}
out:
	p[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	return n;
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static int load(enum bpf_prog_type type, const char *program)
{
	struct bpf_insn insns[MAX_INSNS] = {};
	static char log[4096];
	union bpf_attr attr = {
		.prog_type = type,
		.insns = (uintptr_t)insns,
		.insn_cnt = make_insns(insns, type, program),
		.license = (uintptr_t)"GPL",
		.log_buf = (uintptr_t)log, .log_size = sizeof(log), .log_level = 1,
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		die(log);
	return fd;
}

static int do_link(bool xdp, const char *dev, const char *program)
{
	union bpf_attr attr = { .link_create = {
		.prog_fd = load(xdp ? BPF_PROG_TYPE_XDP : BPF_PROG_TYPE_SCHED_CLS, program),
		.target_ifindex = if_nametoindex(dev),
		.attach_type = xdp ? BPF_XDP : BPF_TCX_EGRESS,
		.flags = xdp ? XDP_FLAGS_SKB_MODE : 0,
	} };
	char c;
	int fd = bpf(BPF_LINK_CREATE, &attr);

	if (fd < 0)
		die(dev);
	ready();
	while (read(0, &c, 1) > 0)
		;
	close(fd);
	return 0;
}

static int do_pin(const char *path, const char *type, const char *program)
{
	bool lwt = !strcmp(type, "lwt");
	union bpf_attr attr = {
		.pathname = (uintptr_t)path,
		.bpf_fd = load(lwt ? BPF_PROG_TYPE_LWT_XMIT : BPF_PROG_TYPE_SCHED_CLS, program),
	};

	unlink(path);
	if (bpf(BPF_OBJ_PIN, &attr))
		die(path);
	return 0;
}

/* ------------------------------------------------------------------------
 * NFQUEUE
 */

static struct {
	unsigned int packets, plain, largest;
} seen;

static struct nlmsghdr *queue_msg(void *buf, int type, int num)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nfgenmsg *nfg;

	nlh->nlmsg_type = NFNL_SUBSYS_QUEUE << 8 | type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->version = NFNETLINK_V0;
	nfg->res_id = htons(num);
	return nlh;
}

static void queue_send(struct mnl_socket *nl, const struct nlmsghdr *nlh)
{
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		die("nfnetlink");
}

static void queue_config(struct mnl_socket *nl, int num, bool gso)
{
	struct nfqnl_msg_config_params params = {
		.copy_range = htonl(0xffff), .copy_mode = NFQNL_COPY_PACKET,
	};
	struct nfqnl_msg_config_cmd cmd = { .command = NFQNL_CFG_CMD_BIND };
	char buf[256];
	struct nlmsghdr *nlh;

	nlh = queue_msg(buf, NFQNL_MSG_CONFIG, num);
	mnl_attr_put(nlh, NFQA_CFG_CMD, sizeof(cmd), &cmd);
	queue_send(nl, nlh);
	nlh = queue_msg(buf, NFQNL_MSG_CONFIG, num);
	/* The last one is answered, so that the queue is there when we say so */
	nlh->nlmsg_flags |= NLM_F_ACK;
	mnl_attr_put(nlh, NFQA_CFG_PARAMS, sizeof(params), &params);
	mnl_attr_put_u32(nlh, NFQA_CFG_QUEUE_MAXLEN, htonl(4096));
	if (gso) {
		mnl_attr_put_u32(nlh, NFQA_CFG_FLAGS, htonl(NFQA_CFG_F_GSO));
		mnl_attr_put_u32(nlh, NFQA_CFG_MASK, htonl(NFQA_CFG_F_GSO));
	}
	queue_send(nl, nlh);
}

static int queue_attr(const struct nlattr *attr, void *data)
{
	const struct nlattr **tb = data;

	if (mnl_attr_get_type(attr) <= NFQA_MAX)
		tb[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

static void queue_verdict(struct mnl_socket *nl, int num, uint32_t id)
{
	struct nfqnl_msg_verdict_hdr v = { .verdict = htonl(NF_ACCEPT), .id = id };
	char buf[256];
	struct nlmsghdr *nlh = queue_msg(buf, NFQNL_MSG_VERDICT, num);

	mnl_attr_put(nlh, NFQA_VERDICT_HDR, sizeof(v), &v);
	queue_send(nl, nlh);
}

static void queue_packet(struct mnl_socket *nl, int num, const struct nlmsghdr *nlh)
{
	const struct nlattr *tb[NFQA_MAX + 1] = {};
	const struct nfqnl_msg_packet_hdr *ph;
	unsigned int len;

	if (nlh->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);

		errno = -err->error;
		if (errno)
			die("NFQUEUE");
		ready();
		return;
	}
	mnl_attr_parse(nlh, sizeof(struct nfgenmsg), queue_attr, tb);
	if (!tb[NFQA_PACKET_HDR])
		return;
	ph = mnl_attr_get_payload(tb[NFQA_PACKET_HDR]);
	if (tb[NFQA_PAYLOAD]) {
		len = mnl_attr_get_payload_len(tb[NFQA_PAYLOAD]);
		seen.packets++;
		if (len > seen.largest)
			seen.largest = len;
		if (memmem(mnl_attr_get_payload(tb[NFQA_PAYLOAD]), len, MARKER, 16))
			seen.plain++;
	}
	queue_verdict(nl, num, ph->packet_id);
}

static int do_nfqueue(int num, bool gso)
{
	static char buf[MAX_PACKET];
	struct mnl_socket *nl = mnl_socket_open(NETLINK_NETFILTER);
	struct pollfd pfd[2] = { { 0, POLLIN, 0 } };
	int size = 1 << 24;

	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
		die("netlink");
	pfd[1] = (struct pollfd){ mnl_socket_get_fd(nl), POLLIN, 0 };
	setsockopt(pfd[1].fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	queue_config(nl, num, gso);
	while (poll(pfd, 2, -1) > 0) {
		if (pfd[1].revents) {
			const struct nlmsghdr *nlh = (void *)buf;
			int n = mnl_socket_recvfrom(nl, buf, sizeof(buf));

			if (n < 0)
				die("receive");
			for (; mnl_nlmsg_ok(nlh, n); nlh = mnl_nlmsg_next(nlh, &n))
				queue_packet(nl, num, nlh);
		} else if (pfd[0].revents) {
			char c;

			if (read(0, &c, 1) <= 0)
				break;
		}
	}
	printf("{\"packets\": %u, \"plain\": %u, \"largest\": %u}\n", seen.packets, seen.plain,
	       seen.largest);
	mnl_socket_close(nl);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		usage();
	enter_netns(argv[2]);
	if (!strcmp(argv[1], "pin") && argc == 6)
		return do_pin(argv[3], argv[4], argv[5]);
	if (!strcmp(argv[1], "nfqueue"))
		return do_nfqueue(atoi(argv[3]), argc > 4);
	if (argc == 5 && (!strcmp(argv[1], "tcx") || !strcmp(argv[1], "xdp")))
		return do_link(argv[1][0] == 'x', argv[3], argv[4]);
	usage();
}
