/* SPDX-License-Identifier: GPL-2.0 */
/* Named network namespaces, as ip netns makes them, for the C tests. */
#ifndef QOFF_NETNS_H
#define QOFF_NETNS_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

/* Moves this process to the namespace, as ip netns exec does, without its mounts.
 * Return: 0, or -1 with errno.
 */
static inline int netns_enter(const char *name)
{
	char path[256];
	int fd, err;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	err = setns(fd, CLONE_NEWNET);
	close(fd);
	return err;
}

#endif
