// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A TAP device as the far end of a cable. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "wire.h"

/* In the namespace of this process; the device is made when it is not there. */
int nm_tap_open(const char *name, u32 name_len)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd;

	if (!name_len || name_len >= sizeof(ifr.ifr_name))
		return -EINVAL;
	memcpy(ifr.ifr_name, name, name_len);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, TUNSETIFF, &ifr)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}
