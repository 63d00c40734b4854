// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Packets that a device opened reach the flow's socket, and nobody else: not a
 * socket that they are redirected to, a stock socket on the same port, another
 * host, the sender in an ICMP error, or a generic XDP program's victim. Uses two
 * simulated ports; a third namespace is what could be forwarded to.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/syscall.h>
#include "rx_env.h"

#define NPKT	60
#define OTHER	5555

static const char marker[] = "THIS IS PLAINTEXT";
static struct qoff_keys keys;
static struct qoff_cipher *cipher;
static uint64_t next_pn;

/* A payload that is easily recognised, sealed */
static void add_marked(struct env *v, unsigned int n)
{
	unsigned int i, k;

	while (n--) {
		i = pkt_add(v, 100 + 13 * (v->nsent % 64), 0x40, dcid_a);
		for (k = 1 + DCID_LEN + 2; k + sizeof(marker) + QOFF_TAG_SIZE <= v->len[i];
		     k += sizeof(marker))
			memcpy(v->sent[i] + k, marker, sizeof(marker));
		pkt_seal(v, i, cipher, next_pn++, 2, 0);
	}
}

static uint64_t dev_count(struct env *v, unsigned int id)
{
	struct qoff_stats st = {};
	struct qoff_dev_info info;
	unsigned int ifindex;

	in_ns("qrxb");
	if (qoff_dev_for(v->b.q, (struct sockaddr *)&v->a.addr, &ifindex, &info) ||
	    qoff_dev_stats(v->b.q, ifindex, &st))
		die("device");
	return st.v[id];
}

/* The flow, and that the device holds it */
static uint32_t dev_flow(struct env *v)
{
	struct qoff_flow_info info = {};
	uint32_t id = flow_add(v, dcid_a, &keys, 9);
	int i;

	for (i = 0; i < 100; i++) {
		if (!qoff_flow_get(v->b.s, id, &info) && info.dev_id)
			return id;
		usleep(20000);
	}
	die("the device did not take the flow");
	return 0;
}

/* Everything that should not have plaintext is read through these */
enum { MAX_SPY = 8 };
static int spies[MAX_SPY], nspies;

static void spy_packet(const char *ns)
{
	struct sockaddr_ll ll = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int size = 8 << 20, fd;

	in_ns(ns);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    bind(fd, (struct sockaddr *)&ll, sizeof(ll)))
		die("capture");
	spies[nspies++] = fd;
}

/* On any address, or on that of @at */
static void spy_socket(const char *ns, enum family f, unsigned int port, bool gro,
		       const struct end *at)
{
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	const void *addr = f == V4 ? (void *)&any4 : (void *)&any6;
	socklen_t len = f == V4 ? sizeof(any4) : sizeof(any6);
	int on = 1, size = 8 << 20, gro_on = gro, fd;

	in_ns(ns);
	fd = socket(f == V4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_UDP, UDP_GRO, &gro_on, sizeof(gro_on)) ||
	    bind(fd, at ? (void *)&at->addr : addr, at ? at->addrlen : len))
		die("listener");
	spies[nspies++] = fd;
}

/* Whatever the spies have seen: none of it is plaintext. Return: packets. */
static unsigned int spies_read(void)
{
	static char buf[70000];
	unsigned int n = 0;
	ssize_t len;
	int i;

	for (i = 0; i < nspies; i++) {
		while ((len = recv(spies[i], buf, sizeof(buf), MSG_DONTWAIT)) >= 0) {
			n++;
			if (memmem(buf, len, marker, sizeof(marker) - 1)) {
				note("spy %d saw plaintext in %zd bytes", i, len);
				tap_case_failed++;
			}
		}
		close(spies[i]);
	}
	nspies = 0;
	return n;
}

/* Send, and wait until the device has opened all */
static void send_opened(struct env *v, unsigned int n)
{
	uint64_t before = dev_count(v, QUIC_OFFLOAD_A_STATS_RX_DEV_OPENED);
	unsigned int first = v->nsent;
	int i;

	add_marked(v, n);
	send_super(v, first, n, -1);
	for (i = 0; i < WAIT_MS / 10; i++) {
		if (dev_count(v, QUIC_OFFLOAD_A_STATS_RX_DEV_OPENED) >= before + n)
			break;
		usleep(10000);
	}
	CHECK(dev_count(v, QUIC_OFFLOAD_A_STATS_RX_DEV_OPENED) >= before + n);
}

static void test_delivered(struct env *v)
{
	unsigned int opened = 0;

	dev_flow(v);
	send_opened(v, NPKT);
	while (v->ngot < v->nsent && wait_readable(v->b.fd, WAIT_MS) && !tap_case_failed) {
		if (recv_one(v, 0, 0) <= 0)
			break;
		CHECK(v->bat.rx.flags & QOFF_RX_DEVICE_OPENED);
		CHECK(v->bat.rx.flags & QOFF_RX_CONTIGUOUS);
		CHECK_EQ(v->bat.rx.cookie, 9);
		opened += v->bat.rx.nopened;
	}
	CHECK_EQ(opened, NPKT);
	CHECK_EQ(stat_of(v, QUIC_OFFLOAD_A_STATS_RX_DEV_OPENED), NPKT);

	/* Small buffers and a peek, too */
	env_forget(v);
	send_opened(v, NPKT);
	CHECK(wait_readable(v->b.fd, WAIT_MS));
	CHECK(recv_one(v, 3000, MSG_PEEK) > 0);
	while (v->ngot < v->nsent && wait_readable(v->b.fd, WAIT_MS) && !tap_case_failed)
		if (recv_one(v, 3000, 0) <= 0)
			break;
	CHECK_EQ(v->ngot, NPKT);
}

/* Forged, replayed and raw packets between opened ones */
static void test_mixed(struct env *v)
{
	unsigned int i, raw = 0;

	dev_flow(v);
	add_marked(v, NPKT);
	for (i = 0; i < NPKT; i += 5)
		v->sent[i][v->len[i] - 1] ^= 1;
	pkt_add(v, 300, 0xc0, dcid_a);
	pkt_add(v, 20, 0x40, dcid_b);
	pkt_add(v, 300, 0x40, dcid_a);
	add_marked(v, 10);
	send_all(v, 0, v->nsent);
	while (v->ngot < v->nsent && wait_readable(v->b.fd, WAIT_MS) && !tap_case_failed) {
		if (recv_one(v, 0, 0) <= 0)
			break;
		raw += v->bat.rx.nseg - v->bat.rx.nopened;
	}
	CHECK_EQ(v->ngot, v->nsent);
	CHECK_EQ(raw, NPKT / 5 + 3);
}

/* Nothing of what the device opened came anywhere */
static void expect_nothing(struct env *v)
{
	CHECK(!wait_readable(v->b.fd, QUIET_MS));
	spies_read();
}

static void test_nat(struct env *v)
{
	const char *fam = v->family == V6 ? "ip6" : "ip";
	bool gro;

	dev_flow(v);
	for (gro = false;; gro = true) {
		spy_packet("qrxa");
		spy_socket("qrxb", v->family, OTHER, gro, NULL);
		sh("ip netns exec qrxb nft 'add table %s t; add chain %s t c { type nat hook prerouting priority -100; }; "
		   "add rule %s t c udp dport %d redirect to :%d'", fam, fam, fam, PORT, OTHER);
		send_opened(v, NPKT);
		expect_nothing(v);
		sh("ip netns exec qrxb nft delete table %s t; ip netns exec qrxb conntrack -F 2>/dev/null || true", fam);
		if (gro)
			break;
	}

	/* To a closed port: the ICMP error quotes no plaintext */
	spy_packet("qrxa");
	sh("ip netns exec qrxb nft 'add table %s t; add chain %s t c { type nat hook prerouting priority -100; }; "
	   "add rule %s t c udp dport %d redirect to :%d'", fam, fam, fam, PORT, OTHER + 1);
	send_opened(v, NPKT);
	expect_nothing(v);
	sh("ip netns exec qrxb nft delete table %s t", fam);
}

/* Rejected by a rule: the error quotes no plaintext */
static void test_reject(struct env *v)
{
	const char *fam = v->family == V6 ? "ip6" : "ip";

	dev_flow(v);
	spy_packet("qrxa");
	sh("ip netns exec qrxb nft 'add table %s t; add chain %s t c { type filter hook input priority 0; }; "
	   "add rule %s t c udp dport %d reject'", fam, fam, fam, PORT);
	send_opened(v, NPKT);
	CHECK(!wait_readable(v->b.fd, QUIET_MS));
	CHECK(spies_read() > 1);
	sh("ip netns exec qrxb nft delete table %s t", fam);
}

static void third_up(void)
{
	sh("ip netns add qrxc && ip link add vc netns qrxb type veth peer name vd netns qrxc");
	sh("ip -n qrxb link set vc up && ip -n qrxc link set vd up && ip -n qrxc link set lo up");
	sh("ip -n qrxb addr add 10.9.1.2/24 dev vc && ip -n qrxc addr add 10.9.1.3/24 dev vd");
	sh("ip -n qrxb addr add fd09:1::2/64 dev vc nodad && ip -n qrxc addr add fd09:1::3/64 dev vd nodad");
	sh("ip netns exec qrxb sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
}

static void third_down(void)
{
	sh("ip netns del qrxc");
}

static void test_forward(struct env *v)
{
	const char *fam = v->family == V6 ? "ip6" : "ip";
	const char *to = v->family == V6 ? "[fd09:1::3]" : "10.9.1.3";

	dev_flow(v);
	third_up();
	spy_packet("qrxa");
	spy_packet("qrxc");
	spy_socket("qrxc", v->family, PORT, true, NULL);
	sh("ip netns exec qrxb nft 'add table %s t; add chain %s t c { type nat hook prerouting priority -100; }; "
	   "add rule %s t c udp dport %d dnat to %s:%d'", fam, fam, fam, PORT, to, PORT);
	send_opened(v, NPKT);
	expect_nothing(v);
	sh("ip netns exec qrxb nft delete table %s t", fam);
	third_down();
}

static void test_redirect(struct env *v)
{
	static const char *const how[] = { "egress redirect", "egress mirror" };
	int i;

	dev_flow(v);
	third_up();
	for (i = 0; i < 2; i++) {
		env_forget(v);
		spy_packet("qrxc");
		sh("tc -n qrxb qdisc add dev vb clsact && tc -n qrxb filter add dev vb ingress matchall action mirred %s dev vc",
		   how[i]);
		send_opened(v, NPKT);
		if (i) {
			/* The original is untouched by the copy */
			recv_all(v);
			spies_read();
		} else {
			expect_nothing(v);
		}
		sh("tc -n qrxb qdisc del dev vb clsact");
	}
	third_down();
}

/* Stock sockets in the same port group, chosen by a program that does not know
 * better
 */
static void test_reuseport(struct env *v)
{
	struct sock_filter pick = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog prog = { .len = 1, .filter = &pick };

	dev_flow(v);
	spy_socket("qrxb", v->family, PORT, false, &v->b);
	spy_socket("qrxb", v->family, PORT, true, &v->b);
	for (pick.k = 0; pick.k < 3; pick.k++) {
		CHECK_EQ(setsockopt(v->b.fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog,
				    sizeof(prog)), 0);
		env_forget(v);
		send_opened(v, NPKT);
		if (!pick.k)
			recv_all(v);
		else
			CHECK(!wait_readable(v->b.fd, QUIET_MS));
	}
	CHECK_EQ(spies_read(), 0);
}

static int xdp_pass(const char *dev, bool on)
{
	struct bpf_insn prog[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	static int link = -1;
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insns = (uintptr_t)prog, .insn_cnt = 2,
		.license = (uintptr_t)"GPL",
	};
	int fd;

	if (!on)
		return close(link);
	fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = fd;
	attr.link_create.target_ifindex = if_nametoindex(dev);
	attr.link_create.attach_type = BPF_XDP;
	attr.link_create.flags = XDP_FLAGS_SKB_MODE;
	link = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	close(fd);
	return link < 0 ? -1 : 0;
}

/* Generic XDP linearises: an opened packet is refused before, and a merged one
 * has lost its cuts and is dropped. What is delivered is right.
 */
static void test_xdp(struct env *v)
{
	uint64_t drops = dev_count(v, QUIC_OFFLOAD_A_STATS_RX_DROP_GUARD);

	dev_flow(v);
	in_ns("qrxb");
	if (xdp_pass("vb", true))
		die("XDP");
	add_marked(v, NPKT);
	send_super(v, 0, NPKT, -1);
	CHECK(!wait_readable(v->b.fd, QUIET_MS));
	CHECK_EQ(dev_count(v, QUIC_OFFLOAD_A_STATS_RX_DROP_GUARD) - drops, NPKT);
	in_ns("qrxb");
	xdp_pass("vb", false);
	env_forget(v);
	send_opened(v, NPKT);
	recv_all(v);
}

/* After close() the port belongs to somebody else */
static void test_rebind(struct env *v)
{
	dev_flow(v);
	send_opened(v, NPKT);
	recv_all(v);
	qoff_detach(v->b.s);
	close(v->b.fd);
	spy_socket("qrxb", v->family, PORT, true, &v->b);
	env_forget(v);
	add_marked(v, NPKT);
	send_super(v, 0, NPKT, -1);
	CHECK(wait_readable(spies[0], WAIT_MS));
	CHECK(spies_read() > 0);
	v->b.s = NULL;
	v->b.fd = -1;
}

static const struct {
	const char *name;
	void (*fn)(struct env *v);
} tests[] = {
	{ "delivered to the flow's socket", test_delivered },
	{ "forged, long and unknown packets between", test_mixed },
	{ "redirected to other sockets", test_nat },
	{ "rejected", test_reject },
	{ "forwarded to another host", test_forward },
	{ "redirected and mirrored to another device", test_redirect },
	{ "stock sockets on the same port", test_reuseport },
	{ "generic XDP", test_xdp },
	{ "closed, and the port bound again", test_rebind },
};

/* argv[1]: only this family, 0: IPv4, 1: IPv6 */
int main(int argc, char **argv)
{
	uint8_t secret[QOFF_MAX_SECRET] = { 1, 2, 3 };
	char name[128];
	unsigned int i;
	int f;

	if (qoff_derive_keys(QOFF_QUIC_V1, QUIC_OFFLOAD_CIPHER_AES_128_GCM, secret, 32, &keys))
		die("keys");
	cipher = qoff_cipher_new(&keys);
	net_up_dev();
	for (f = V4; f <= V6; f++) {
		if (argc > 1 && atoi(argv[1]) != f)
			continue;
		for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
			struct env *v = env_open(f);

			next_pn = 0;
			tests[i].fn(v);
			env_close(v);
			snprintf(name, sizeof(name), "%s: %s", family_name[f], tests[i].name);
			tap_result(name);
		}
	}
	return tap_end();
}
