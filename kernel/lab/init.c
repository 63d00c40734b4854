// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of the guest, alone in its initramfs: loads the modules that the kernel
 * needs to see its root, lays a writable overlay over the lab root (9p, read-only),
 * runs one command there and writes how it ended to a virtio port. Whatever stops
 * it earlier leaves no token, and that is a failure to whoever started the guest.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define P9_OPTS "trans=virtio,version=9p2000.L,msize=262144"

/* Written to the status port; the host waits for exactly this. */
#define TOKEN "lab-guest-exit %d\n"

static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	reboot(RB_AUTOBOOT);
	_exit(1);
}

static void __attribute__((noreturn, format(printf, 1, 2))) give_up(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "lab-init: error: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, ": %s\n", strerror(err));
	va_end(ap);
	power_off();
	_exit(1);
}

static void mount_at(const char *what, const char *where, const char *type,
		     unsigned long flags, const char *opts)
{
	mkdir(where, 0755);
	if (mount(what, where, type, flags, opts))
		give_up("mount %s on %s", what, where);
}

/* Only where the kernel knows the file system: stock and lab kernels differ. */
static void try_mount(const char *type, const char *where)
{
	mkdir(where, 0755);
	mount(type, where, type, 0, NULL);
}

static void load_modules(void)
{
	char path[PATH_MAX];
	FILE *list;
	int fd;

	list = fopen("/modules.list", "r");
	if (!list)
		return;
	while (fgets(path, sizeof(path), list)) {
		path[strcspn(path, "\n")] = '\0';
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			give_up("%s", path);
		if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
			give_up("loading %s", path);
		close(fd);
	}
	fclose(list);
}

/*
 * Opens the virtio port of that name. The device is probed asynchronously when its
 * driver is a module, so wait for it, but not for ever.
 */
static int open_port(const char *name)
{
	const struct timespec tick = { .tv_nsec = 20 * 1000 * 1000 };
	char path[PATH_MAX], have[64];
	struct dirent *d;
	ssize_t n;
	DIR *dir;
	int fd;

	for (int tries = 0; tries < 500; tries++, nanosleep(&tick, NULL)) {
		dir = opendir("/sys/class/virtio-ports");
		while (dir && (d = readdir(dir))) {
			snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", d->d_name);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			n = fd < 0 ? -1 : read(fd, have, sizeof(have) - 1);
			if (fd >= 0)
				close(fd);
			if (n <= 0)
				continue;
			have[n] = '\0';
			have[strcspn(have, "\n")] = '\0';
			if (strcmp(have, name))
				continue;
			snprintf(path, sizeof(path), "/dev/%s", d->d_name);
			fd = open(path, O_RDWR | O_CLOEXEC);
			if (fd >= 0) {
				closedir(dir);
				return fd;
			}
		}
		if (dir)
			closedir(dir);
	}
	errno = ENODEV;
	give_up("no virtio port %s", name);
}

static void lay_root(void)
{
	mount_at("labroot", "/lower", "9p", MS_RDONLY, P9_OPTS ",cache=loose");
	mount_at("tmpfs", "/upper", "tmpfs", 0, "mode=755");
	mkdir("/upper/data", 0755);
	mkdir("/upper/work", 0755);
	mount_at("overlay", "/root", "overlay", 0,
		 "lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work");
	mount_at("src", "/root/src", "9p", MS_RDONLY, P9_OPTS ",cache=loose");
	mount_at("results", "/root/results", "9p", 0, P9_OPTS ",cache=none");
	mount_at("tmpfs", "/root/tmp", "tmpfs", 0, "mode=1777");
	mount_at("tmpfs", "/root/run", "tmpfs", 0, "mode=755");

	if (mount("/dev", "/root/dev", NULL, MS_MOVE, NULL) ||
	    mount("/sys", "/root/sys", NULL, MS_MOVE, NULL) ||
	    mount("/proc", "/root/proc", NULL, MS_MOVE, NULL))
		give_up("moving mounts");
	if (chdir("/root") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		give_up("changing root");

	mkdir("/dev/pts", 0755);
	mount_at("devpts", "/dev/pts", "devpts", 0, "mode=620,gid=5,ptmxmode=666");
	mount_at("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777");
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
	try_mount("debugfs", "/sys/kernel/debug");
	try_mount("tracefs", "/sys/kernel/tracing");
	try_mount("configfs", "/sys/kernel/config");
	try_mount("bpf", "/sys/fs/bpf");
	try_mount("cgroup2", "/sys/fs/cgroup");
}

static pid_t run(int out, int interactive)
{
	static char *const env[] = {
		"HOME=/root", "TERM=linux", "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL
	};
	static char *const argv[] = { "/bin/bash", "/src/kernel/lab/guest-run", NULL };
	pid_t pid;
	int null;

	pid = fork();
	if (pid)
		return pid;
	setsid();
	if (!interactive) {
		null = open("/dev/null", O_RDONLY);
		dup2(null, 0);
		dup2(out, 1);
		dup2(out, 2);
	}
	execve(argv[0], argv, env);
	_exit(127);
}

int main(int argc, char **argv)
{
	int port, out, status, interactive = 0;
	pid_t pid, child;

	for (int i = 1; i < argc; i++)
		interactive |= !strcmp(argv[i], "lab-interactive");

	mount_at("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mount_at("proc", "/proc", "proc", 0, NULL);
	mount_at("sysfs", "/sys", "sysfs", 0, NULL);
	load_modules();
	fprintf(stderr, "lab-init: modules loaded\n");
	port = open_port("lab.status");
	out = open_port("lab.out");
	fprintf(stderr, "lab-init: ports found\n");
	lay_root();
	fprintf(stderr, "lab-init: root laid\n");

	child = run(out, interactive);
	if (child < 0)
		give_up("fork");
	do {
		pid = wait(&status);
	} while (pid != child);

	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (dprintf(port, TOKEN, status) < 0)
		give_up("writing the token");
	power_off();
	return 0;
}
