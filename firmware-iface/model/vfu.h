/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The vfio-user transport: one connection of one function. Server thread. */
#ifndef NM_VFU_H
#define NM_VFU_H

#include "model.h"
#include "vfu_proto.h"

/**
 * struct nm_vfu - the socket of one function
 * @fd: the client, -1 when there is none; one client at a time
 * @hdr: header of the message that is being read
 * @fds: descriptors that came with its header
 * @irq: eventfd of each MSI-X vector, -1 when none; nm_model.lock
 */
struct nm_vfu {
	struct nm_fn *fn;
	const char *path;
	int listen_fd;
	int fd;
	bool negotiated;

	struct vfu_hdr hdr;
	u32 hdr_len;
	u8 *body;
	u32 body_len;
	u32 body_want;
	int fds[VFU_MAX_FDS];
	u32 nr_fds;
	bool too_many_fds;

	int irq[NM_MSIX_VECTORS];
};

int nm_vfu_open(struct nm_vfu *v, struct nm_fn *fn, const char *path);
void nm_vfu_close(struct nm_vfu *v);
/* A connection waits; a second client is turned away. */
void nm_vfu_accept(struct nm_vfu *v);
/* The client's socket is readable; false: it is gone. */
bool nm_vfu_input(struct nm_vfu *v);
void nm_vfu_drop(struct nm_vfu *v);

/* vfu_msg.c: handle the message in v->hdr and v->body; false: disconnect */
bool nm_vfu_message(struct nm_vfu *v);

#endif /* NM_VFU_H */
