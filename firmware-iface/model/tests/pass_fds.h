/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* File descriptors with a vfio-user message, as a client sends them. */
#ifndef NM_TEST_PASS_FDS_H
#define NM_TEST_PASS_FDS_H

#include <string.h>
#include <sys/socket.h>

/* @cbuf: CMSG_SPACE(@nr * sizeof(int)) bytes, until the message is sent */
static inline void pass_fds(struct msghdr *mh, char *cbuf, const int *fds, unsigned int nr)
{
	struct cmsghdr *cm;

	mh->msg_control = cbuf;
	mh->msg_controllen = CMSG_SPACE(nr * sizeof(int));
	cm = CMSG_FIRSTHDR(mh);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(nr * sizeof(int));
	memcpy(CMSG_DATA(cm), fds, nr * sizeof(int));
}

#endif
