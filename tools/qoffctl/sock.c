// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qoffctl sock, ctx, flow: a look at sockets of other processes, through a copy of
 * their descriptor (pidfd_getfd, which needs the right to trace them).
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctl.h"
#include "out.h"

#define MAX_CTX 4096	/* of one group */

/* Return: a copy of descriptor @fd of process @pid, or a negative errno. */
static int copy_fd(int pid, int fd)
{
	int pidfd, copy;

	pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	copy = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (copy < 0)
		copy = -errno;
	close(pidfd);
	return copy;
}

static int copy_failed(uint64_t pid, uint64_t fd, int err)
{
	const char *hint = "";

	if (err == -EPERM)
		hint = ": the right to trace the process is needed (root, or ptrace_scope)";
	else if (err == -EBADF)
		hint = ": the process has no such descriptor (ls /proc/PID/fd)";
	else if (err == -ESRCH)
		hint = ": there is no such process";
	fprintf(stderr, "qoffctl: pid %llu fd %llu: %s%s\n", (unsigned long long)pid,
		(unsigned long long)fd, strerror(-err), hint);
	return EXIT_FAILED;
}

/* Takes --pid P --fd N and --id I out of the words. */
static int parse_where(const char *cmd, int argc, char **argv, uint64_t *pid, uint64_t *fd,
		       uint64_t *id)
{
	bool have_pid = false, have_fd = false;

	*pid = getpid();
	for (; argc >= 2; argc -= 2, argv += 2) {
		if (!strcmp(argv[0], "--pid"))
			have_pid = parse_u64(argv[1], INT32_MAX, pid);
		else if (!strcmp(argv[0], "--fd"))
			have_fd = parse_u64(argv[1], INT32_MAX, fd);
		else if (id && !strcmp(argv[0], "--id") && parse_u64(argv[1], UINT32_MAX, id))
			continue;
		else
			return usage_error("%s: %s %s", cmd, argv[0], argv[1]);
	}
	if (argc)
		return usage_error("%s: %s needs a value", cmd, argv[0]);
	if (!have_pid || !have_fd)
		return usage_error("%s needs --pid P --fd N", cmd);
	return EXIT_OK;
}

static int open_sock(uint64_t pid, uint64_t fd, struct qoff_sock **s)
{
	int copy, err;
	char name[64];

	copy = copy_fd(pid, fd);
	if (copy < 0)
		return copy_failed(pid, fd, copy);
	err = qoff_adopt(ctl(), copy, s);
	close(copy);
	snprintf(name, sizeof(name), "pid %llu fd %llu", (unsigned long long)pid,
		 (unsigned long long)fd);
	return err ? failed(name, err) : EXIT_OK;
}

static void address(const char *key, const struct sockaddr_storage *ss, bool port)
{
	const struct sockaddr_in6 *s6 = (const void *)ss;
	const struct sockaddr_in *s4 = (const void *)ss;
	char a[INET6_ADDRSTRLEN] = "?", buf[80];

	if (ss->ss_family == AF_INET)
		inet_ntop(AF_INET, &s4->sin_addr, a, sizeof(a));
	else if (ss->ss_family == AF_INET6)
		inet_ntop(AF_INET6, &s6->sin6_addr, a, sizeof(a));
	if (!port)
		snprintf(buf, sizeof(buf), "%s", a);
	else if (ss->ss_family == AF_INET6)
		snprintf(buf, sizeof(buf), "[%s]:%u", a, ntohs(s6->sin6_port));
	else
		snprintf(buf, sizeof(buf), "%s:%u", a, ntohs(s4->sin_port));
	out_str(key, buf);
}

static void begin_stats(void)
{
	if (out_is_json())
		out_obj("stats", NULL);
}

static void end_stats(void)
{
	if (out_is_json())
		out_obj_end();
}

static int show_sock(struct qoff_sock *s, uint64_t pid, uint64_t fd)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	struct qoff_sock_info info;
	char title[64];
	int err;

	err = qoff_sock_get(s, &info);
	if (err)
		return failed("sock", err);
	snprintf(title, sizeof(title), "pid %llu fd %llu:", (unsigned long long)pid,
		 (unsigned long long)fd);
	out_obj(NULL, title);
	if (out_is_json()) {
		out_u64("pid", pid);
		out_u64("fd", fd);
	}
	if (!getsockname(qoff_sock_fd(s), (void *)&ss, &len))
		address("local", &ss, true);
	len = sizeof(ss);
	if (!getpeername(qoff_sock_fd(s), (void *)&ss, &len))
		address("remote", &ss, true);
	out_u64("group", info.group);
	out_u64("dcid-len", info.dcid_len);
	out_u64("rx-hdr-size", info.rx_hdr_size);
	out_u64("rx-seg-size", info.rx_seg_size);
	begin_stats();
	show_stats(&info.stats);
	end_stats();
	out_obj_end();
	return EXIT_OK;
}

/* All descriptors of a process. */
static void list_process(int pid, unsigned int *n)
{
	char path[64], link[sizeof(path) + 256], target[64];
	struct qoff_sock *s;
	struct dirent *e;
	ssize_t len;
	int copy;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		snprintf(link, sizeof(link), "%s/%s", path, e->d_name);
		len = readlink(link, target, sizeof(target) - 1);
		if (len < 7 || memcmp(target, "socket:", 7))
			continue;
		copy = copy_fd(pid, atoi(e->d_name));
		if (copy < 0)
			continue;
		if (!qoff_adopt(ctl(), copy, &s)) {
			if (show_sock(s, pid, atoi(e->d_name)) == EXIT_OK)
				(*n)++;
			qoff_detach(s);
		}
		close(copy);
	}
	if (dir)
		closedir(dir);
}

static int list_all(void)
{
	unsigned int n = 0;
	struct dirent *e;
	DIR *proc;

	ctl();
	proc = opendir("/proc");
	if (!proc)
		return failed("/proc", -errno);
	out_arr(NULL);
	while ((e = readdir(proc))) {
		if (atoi(e->d_name) > 0)
			list_process(atoi(e->d_name), &n);
	}
	out_arr_end();
	out_done();
	closedir(proc);
	if (!n && !out_is_json())
		fprintf(stderr, "no attached socket of this network namespace is visible%s\n",
			geteuid() ? " (root sees more)" : "");
	return EXIT_OK;
}

int cmd_sock(int argc, char **argv)
{
	const char *verb = argc ? argv[0] : "list";
	struct qoff_sock *s;
	uint64_t pid, fd;
	int err;

	if (!strcmp(verb, "list"))
		return argc > 1 ? usage_error("sock list takes no argument") : list_all();
	if (strcmp(verb, "show"))
		return usage_error("unknown command: sock %s", verb);
	err = parse_where("sock show", argc - 1, argv + 1, &pid, &fd, NULL);
	if (!err)
		err = open_sock(pid, fd, &s);
	if (err)
		return err;
	out_arr(NULL);
	err = show_sock(s, pid, fd);
	out_arr_end();
	out_done();
	qoff_detach(s);
	return err;
}

static void show_ctx(const struct qoff_ctx_info *c)
{
	char title[48];

	snprintf(title, sizeof(title), "context %u generation %u:", c->id.id, c->id.gen);
	out_obj(NULL, title);
	if (out_is_json()) {
		out_u64("id", c->id.id);
		out_u64("gen", c->id.gen);
	}
	out_str("cipher", qoff_cipher_name(c->cipher) ? qoff_cipher_name(c->cipher) : "?");
	out_u64("dcid-len", c->dcid_len);
	out_u64("phase", c->phase);
	out_u64("next-pn", c->next_pn);
	out_u64("key-used", c->key_used);
	out_u64("key-limit", c->key_limit);
	out_u64("dev-id", c->dev_id);
	out_switch("grease-fixed-bit", c->flags & QUIC_OFFLOAD_CTX_FLAG_GREASE_FIXED_BIT, NULL);
	begin_stats();
	show_stats(&c->stats);
	end_stats();
	out_obj_end();
}

static int list_ctx(struct qoff_sock *s, uint64_t id)
{
	struct qoff_ctx_info c;
	int err = 0;

	out_arr(NULL);
	if (id) {
		err = qoff_ctx_get(s, id, &c);
		if (!err)
			show_ctx(&c);
	} else {
		for (uint32_t i = 1; i <= MAX_CTX; i++) {
			if (!qoff_ctx_get(s, i, &c))
				show_ctx(&c);
		}
	}
	out_arr_end();
	out_done();
	return err ? failed("ctx", err) : EXIT_OK;
}

int cmd_ctx(int argc, char **argv)
{
	uint64_t pid, fd, id = 0;
	struct qoff_sock *s;
	int err;

	if (!argc || (strcmp(argv[0], "show") && strcmp(argv[0], "list")))
		return usage_error("ctx list|show --pid P --fd N [--id I]");
	err = parse_where("ctx", argc - 1, argv + 1, &pid, &fd, &id);
	if (!err && !strcmp(argv[0], "show") && !id)
		err = usage_error("ctx show needs --id I");
	if (!err)
		err = open_sock(pid, fd, &s);
	if (err)
		return err;
	err = list_ctx(s, id);
	qoff_detach(s);
	return err;
}

static void show_flow(const struct qoff_flow_info *f)
{
	char title[32], dcid[2 * QOFF_MAX_DCID + 1] = "";

	snprintf(title, sizeof(title), "flow %u:", f->id);
	out_obj(NULL, title);
	if (out_is_json())
		out_u64("id", f->id);
	for (unsigned int i = 0; i < f->dcid_len; i++)
		sprintf(dcid + 2 * i, "%02x", f->dcid[i]);
	address("local-addr", &f->local, false);
	address("remote", &f->remote, true);
	out_str("dcid", dcid);
	out_u64("cookie", f->cookie);
	if (f->cipher) {
		out_str("cipher", qoff_cipher_name(f->cipher) ? qoff_cipher_name(f->cipher) : "?");
		out_u64("phase", f->phase);
		out_u64("key-gen", f->key_gen);
		if (f->largest_pn != QOFF_PN_NONE)
			out_u64("largest-pn", f->largest_pn);
		out_u64("failed", f->failed);
		out_u64("failed-limit", f->failed_limit);
	}
	out_u64("dev-id", f->dev_id);
	begin_stats();
	show_stats(&f->stats);
	end_stats();
	out_obj_end();
}

int cmd_flow(int argc, char **argv)
{
	uint64_t pid, fd, id = 0;
	struct qoff_flow_info f;
	struct qoff_sock *s;
	int err;

	if (!argc || strcmp(argv[0], "show"))
		return usage_error("flow show --pid P --fd N --id I");
	err = parse_where("flow show", argc - 1, argv + 1, &pid, &fd, &id);
	if (!err && !id)
		err = usage_error("flow show needs --id I");
	if (!err)
		err = open_sock(pid, fd, &s);
	if (err)
		return err;
	err = qoff_flow_get(s, id, &f);
	if (err) {
		err = failed("flow", err);
	} else {
		out_arr(NULL);
		show_flow(&f);
		out_arr_end();
		out_done();
	}
	qoff_detach(s);
	return err;
}
