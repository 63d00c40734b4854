// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The vfio-user socket: accept, frame messages, pair descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "vfu.h"
#include "trace.h"

static void vfu_raise(struct nm_fn *fn, unsigned int vec)
{
	struct nm_vfu *v = fn->xport_priv;

	/* The eventfd is not blocking: a counter at its limit is still set. */
	if (v->irq[vec] >= 0)
		(void)!eventfd_write(v->irq[vec], 1);
}

static const struct nm_xport_ops vfu_ops = {
	.raise = vfu_raise,
};

int nm_vfu_open(struct nm_vfu *v, struct nm_fn *fn, const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	unsigned int i;

	v->fn = fn;
	v->path = path;
	v->fd = -1;
	for (i = 0; i < NM_MSIX_VECTORS; i++)
		v->irq[i] = -1;
	if (strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, path);
	v->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (v->listen_fd < 0)
		return -errno;
	unlink(path);
	if (bind(v->listen_fd, (struct sockaddr *)&sa, sizeof(sa)) ||
	    listen(v->listen_fd, 1)) {
		int err = -errno;

		close(v->listen_fd);
		return err;
	}
	return 0;
}

static void vfu_close_fds(struct nm_vfu *v)
{
	while (v->nr_fds) {
		v->nr_fds--;
		if (v->fds[v->nr_fds] >= 0)
			close(v->fds[v->nr_fds]);
	}
}

static void vfu_next(struct nm_vfu *v)
{
	vfu_close_fds(v);
	v->too_many_fds = false;
	free(v->body);
	v->body = NULL;
	v->hdr_len = 0;
	v->body_len = 0;
	v->body_want = 0;
}

/* The client is gone: the device is as after power on, the socket stays. */
void nm_vfu_drop(struct nm_vfu *v)
{
	unsigned int i;

	if (v->fd < 0)
		return;
	vfu_next(v);
	nm_fn_detach(v->fn);
	for (i = 0; i < NM_MSIX_VECTORS; i++) {
		if (v->irq[i] >= 0)
			close(v->irq[i]);
		v->irq[i] = -1;
	}
	close(v->fd);
	v->fd = -1;
	v->negotiated = false;
}

void nm_vfu_close(struct nm_vfu *v)
{
	nm_vfu_drop(v);
	close(v->listen_fd);
	unlink(v->path);
}

void nm_vfu_accept(struct nm_vfu *v)
{
	int fd = accept4(v->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (v->fd >= 0) {
		close(fd);
		return;
	}
	v->fd = fd;
	nm_fn_attach(v->fn, &vfu_ops, v);
}

/*
 * Only the header is read with a control buffer, and no byte beyond it:
 * descriptors belong to the message whose first byte they came with.
 */
static ssize_t vfu_read_hdr(struct nm_vfu *v)
{
	char cbuf[CMSG_SPACE(sizeof(int) * 64)];
	struct iovec iov = {
		.iov_base = (u8 *)&v->hdr + v->hdr_len,
		.iov_len = sizeof(v->hdr) - v->hdr_len,
	};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = cbuf, .msg_controllen = sizeof(cbuf),
	};
	struct cmsghdr *cm;
	ssize_t n;

	n = recvmsg(v->fd, &msg, MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return n;
	for (cm = CMSG_FIRSTHDR(&msg); cm; cm = CMSG_NXTHDR(&msg, cm)) {
		unsigned int i, nr;
		int fd;

		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < nr; i++) {
			memcpy(&fd, CMSG_DATA(cm) + i * sizeof(int), sizeof(fd));
			if (v->nr_fds < VFU_MAX_FDS) {
				v->fds[v->nr_fds++] = fd;
			} else {
				close(fd);
				v->too_many_fds = true;
			}
		}
	}
	if (msg.msg_flags & MSG_CTRUNC)
		v->too_many_fds = true;
	v->hdr_len += n;
	return n;
}

static bool vfu_start_body(struct nm_vfu *v)
{
	if (v->hdr.size < sizeof(v->hdr) || v->hdr.size > VFU_MAX_MSG) {
		nm_count(v->fn, NM_CNT_vfu_errors);
		nm_trace(v->fn, NM_TR_VFU, "message of %u bytes: disconnect",
			 v->hdr.size);
		return false;
	}
	v->body_want = v->hdr.size - sizeof(v->hdr);
	/* One spare byte ends the VERSION text. */
	v->body = calloc(1, v->body_want + 1);
	return v->body;
}

/*
 * Messages are taken until the socket is empty, but not for ever: the other
 * function's socket waits in the same loop.
 */
bool nm_vfu_input(struct nm_vfu *v)
{
	unsigned int budget = 256;
	ssize_t n;

	while (budget) {
		if (v->hdr_len < sizeof(v->hdr)) {
			n = vfu_read_hdr(v);
			if (n > 0 && v->hdr_len == sizeof(v->hdr) &&
			    !vfu_start_body(v))
				return false;
		} else if (v->body_len < v->body_want) {
			n = recv(v->fd, v->body + v->body_len,
				 v->body_want - v->body_len, 0);
			if (n > 0)
				v->body_len += n;
		} else {
			if (!nm_vfu_message(v))
				return false;
			vfu_next(v);
			budget--;
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
	}
	return true;
}
