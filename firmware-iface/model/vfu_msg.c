// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* vfio-user messages: checks, replies, and their effect on the device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <poll.h>
#include <unistd.h>

#include "json.h"
#include "pci.h"
#include "trace.h"
#include "vfu.h"

#define VFU_MAJOR	0
#define VFU_MINOR	1

static const char *const vfu_names[VFU_CMD_MAX] = {
	[VFU_VERSION] = "VERSION", [VFU_DMA_MAP] = "DMA_MAP",
	[VFU_DMA_UNMAP] = "DMA_UNMAP", [VFU_GET_INFO] = "DEVICE_GET_INFO",
	[VFU_GET_REGION_INFO] = "GET_REGION_INFO",
	[VFU_GET_REGION_IO_FDS] = "GET_REGION_IO_FDS",
	[VFU_GET_IRQ_INFO] = "GET_IRQ_INFO", [VFU_SET_IRQS] = "SET_IRQS",
	[VFU_REGION_READ] = "REGION_READ", [VFU_REGION_WRITE] = "REGION_WRITE",
	[VFU_DMA_READ] = "DMA_READ", [VFU_DMA_WRITE] = "DMA_WRITE",
	[VFU_DEVICE_RESET] = "DEVICE_RESET",
	[VFU_REGION_WRITE_MULTI] = "REGION_WRITE_MULTI",
};

/*
 * A reply is written whole. The socket buffer holds many of them, as the
 * client has few requests in flight; one that does not read for a second is
 * taken for dead rather than waited for.
 */
static bool vfu_send(struct nm_vfu *v, const void *buf, size_t len)
{
	const u8 *p = buf;

	while (len) {
		struct pollfd pf = { .fd = v->fd, .events = POLLOUT };
		ssize_t n = send(v->fd, p, len, MSG_NOSIGNAL);

		if (n > 0) {
			p += n;
			len -= n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && poll(&pf, 1, 1000) > 0)
			continue;
		return false;
	}
	return true;
}

static bool vfu_reply(struct nm_vfu *v, const void *body, u32 len)
{
	struct vfu_hdr h = {
		.id = v->hdr.id, .cmd = v->hdr.cmd, .size = sizeof(h) + len,
		.flags = VFU_TYPE_REPLY,
	};
	u8 small[256];
	bool ok;
	u8 *buf;

	if (v->hdr.flags & VFU_NO_REPLY)
		return true;
	buf = sizeof(h) + len <= sizeof(small) ? small : malloc(sizeof(h) + len);
	if (!buf)
		return false;
	memcpy(buf, &h, sizeof(h));
	if (len)
		memcpy(buf + sizeof(h), body, len);
	ok = vfu_send(v, buf, h.size);
	if (buf != small)
		free(buf);
	return ok;
}

static bool vfu_error(struct nm_vfu *v, int err)
{
	struct vfu_hdr h = {
		.id = v->hdr.id, .cmd = v->hdr.cmd, .size = sizeof(h),
		.flags = VFU_TYPE_REPLY | VFU_ERROR, .error = err,
	};

	nm_count(v->fn, NM_CNT_vfu_errors);
	nm_trace(v->fn, NM_TR_VFU, "%s refused: errno %d",
		 v->hdr.cmd < VFU_CMD_MAX && vfu_names[v->hdr.cmd] ?
		 vfu_names[v->hdr.cmd] : "unknown message", err);
	if (v->hdr.flags & VFU_NO_REPLY)
		return true;
	return vfu_send(v, &h, sizeof(h));
}

static bool vfu_version(struct nm_vfu *v)
{
	static const char caps[] =
		"{\"capabilities\":{\"max_msg_fds\":8,\"max_data_xfer_size\":1048576,"
		"\"max_dma_maps\":1024,\"pgsizes\":4096,\"write_multiple\":true}}";
	struct vfu_version *req = (void *)v->body;
	struct {
		u16 major;
		u16 minor;
		char json[sizeof(caps)];
	} rep = { .major = VFU_MAJOR };
	struct nm_json *j;

	if (v->body_len < sizeof(*req) || v->negotiated ||
	    req->major != VFU_MAJOR) {
		vfu_error(v, EINVAL);
		return false;
	}
	/* The text is optional, but what is there must be JSON. */
	if (v->body_len > sizeof(*req)) {
		j = nm_json_parse(req->json, strnlen(req->json, v->body_len -
						     sizeof(*req)));
		if (!j) {
			vfu_error(v, EINVAL);
			return false;
		}
		nm_json_free(j);
	}
	rep.minor = req->minor < VFU_MINOR ? req->minor : VFU_MINOR;
	memcpy(rep.json, caps, sizeof(caps));
	v->negotiated = true;
	return vfu_reply(v, &rep, sizeof(rep));
}

static bool vfu_dma_map(struct nm_vfu *v)
{
	struct vfu_dma_map *req = (void *)v->body;
	int err;

	if (v->body_len != sizeof(*req) || req->argsz < sizeof(*req) ||
	    req->flags & ~3u || v->nr_fds > 1)
		return vfu_error(v, EINVAL);
	nm_lock(v->fn->model);
	err = nm_dma_map(&v->fn->dma, req->addr, req->size,
			 v->nr_fds ? v->fds[0] : -1, req->offset, req->flags);
	nm_unlock(v->fn->model);
	nm_trace(v->fn, NM_TR_VFU,
		 "DMA_MAP addr %#llx size %#llx offset %#llx prot %u fds %u: %d",
		 (unsigned long long)req->addr, (unsigned long long)req->size,
		 (unsigned long long)req->offset, req->flags, v->nr_fds, err);
	return err ? vfu_error(v, -err) : vfu_reply(v, NULL, 0);
}

static bool vfu_dma_unmap(struct nm_vfu *v)
{
	struct vfu_dma_unmap *req = (void *)v->body;
	int err = 0;

	if (v->body_len < sizeof(*req) || req->argsz < sizeof(*req) ||
	    v->nr_fds)
		return vfu_error(v, EINVAL);
	if (req->flags & ~VFU_UNMAP_ALL)	/* no dirty tracking */
		return vfu_error(v, ENOTSUP);
	nm_lock(v->fn->model);
	if (req->flags & VFU_UNMAP_ALL)
		nm_dma_unmap_all(&v->fn->dma);
	else
		err = nm_dma_unmap(&v->fn->dma, req->addr, req->size);
	nm_unlock(v->fn->model);
	nm_trace(v->fn, NM_TR_VFU, "DMA_UNMAP addr %#llx size %#llx: %d",
		 (unsigned long long)req->addr, (unsigned long long)req->size, err);
	if (err)
		return vfu_error(v, -err);
	req->argsz = sizeof(*req);
	return vfu_reply(v, req, sizeof(*req));
}

static bool vfu_get_info(struct nm_vfu *v)
{
	struct vfu_device_info info = {
		.argsz = sizeof(info), .flags = 3,
		.num_regions = VFU_NUM_REGIONS, .num_irqs = VFU_NUM_IRQS,
	};

	if (v->body_len < sizeof(u32) * 2)
		return vfu_error(v, EINVAL);
	return vfu_reply(v, &info, sizeof(info));
}

static bool vfu_get_region_info(struct nm_vfu *v)
{
	struct vfu_region_info *req = (void *)v->body;
	struct vfu_region_info info = { .argsz = sizeof(info) };

	if (v->body_len < sizeof(*req) || req->argsz < sizeof(*req) ||
	    req->index >= VFU_NUM_REGIONS)
		return vfu_error(v, EINVAL);
	info.index = req->index;
	if (req->index == VFU_BAR0)
		info.size = NM_BAR0_SIZE;
	else if (req->index == VFU_CONFIG)
		info.size = sizeof(v->fn->cfg);
	if (info.size)
		info.flags = 3;
	return vfu_reply(v, &info, sizeof(info));
}

static bool vfu_get_irq_info(struct nm_vfu *v)
{
	struct vfu_irq_info *req = (void *)v->body;
	struct vfu_irq_info info = { .argsz = sizeof(info) };

	if (v->body_len < sizeof(*req) || req->argsz < sizeof(*req) ||
	    req->index >= VFU_NUM_IRQS)
		return vfu_error(v, EINVAL);
	info.index = req->index;
	if (req->index == VFU_IRQ_MSIX) {
		info.count = NM_MSIX_VECTORS;
		info.flags = 1;
	}
	return vfu_reply(v, &info, sizeof(info));
}

static void vfu_irq_set(struct nm_vfu *v, u32 vec, int fd)
{
	if (v->irq[vec] >= 0)
		close(v->irq[vec]);
	v->irq[vec] = fd;
}

/*
 * Eventfds may come in parts; none for a range takes the range away, and
 * DATA_NONE with count 0 takes all. The client asks for a trigger in tests.
 */
static bool vfu_set_irqs(struct nm_vfu *v)
{
	struct vfu_irq_set *req = (void *)v->body;
	u32 i, data, action;

	if (v->body_len < sizeof(*req) || req->argsz < sizeof(*req) ||
	    req->index != VFU_IRQ_MSIX || req->start > NM_MSIX_VECTORS ||
	    req->count > NM_MSIX_VECTORS - req->start)
		return vfu_error(v, EINVAL);
	data = req->flags & VFU_IRQ_DATA_MASK;
	action = req->flags & ~VFU_IRQ_DATA_MASK;
	if (action != VFU_IRQ_ACTION_TRIGGER)
		return vfu_error(v, EINVAL);
	if (data == VFU_IRQ_DATA_EVENTFD ?
	    v->nr_fds && v->nr_fds != req->count : v->nr_fds)
		return vfu_error(v, EINVAL);
	if (data == VFU_IRQ_DATA_BOOL && v->body_len != sizeof(*req) + req->count)
		return vfu_error(v, EINVAL);
	nm_lock(v->fn->model);
	switch (data) {
	case VFU_IRQ_DATA_EVENTFD:
		for (i = 0; i < req->count; i++) {
			vfu_irq_set(v, req->start + i, v->nr_fds ? v->fds[i] : -1);
			if (v->nr_fds)
				v->fds[i] = -1;	/* kept */
		}
		break;
	case VFU_IRQ_DATA_NONE:
		if (!req->count)
			for (i = 0; i < NM_MSIX_VECTORS; i++)
				vfu_irq_set(v, i, -1);
		for (i = 0; i < req->count; i++)
			nm_fn_raise(v->fn, req->start + i);
		break;
	case VFU_IRQ_DATA_BOOL:
		for (i = 0; i < req->count; i++)
			if (v->body[sizeof(*req) + i])
				nm_fn_raise(v->fn, req->start + i);
		break;
	default:
		nm_unlock(v->fn->model);
		return vfu_error(v, EINVAL);
	}
	nm_unlock(v->fn->model);
	return vfu_reply(v, NULL, 0);
}

static int vfu_access(struct nm_vfu *v, u32 region, u64 off, void *buf, u32 len,
		      bool write)
{
	switch (region) {
	case VFU_BAR0:
		return write ? nm_bar_write(v->fn, off, buf, len) :
			       nm_bar_read(v->fn, off, buf, len);
	case VFU_CONFIG:
		return write ? nm_pci_write(v->fn, off, buf, len) :
			       nm_pci_read(v->fn, off, buf, len);
	default:
		return -EINVAL;
	}
}

static bool vfu_region_read(struct nm_vfu *v)
{
	struct vfu_region_rw *req = (void *)v->body;
	struct {
		struct vfu_region_rw h;
		u8 data[4096];
	} rep = { };
	int err;

	/* The configuration space is the most that is read at once. */
	if (v->body_len != sizeof(*req) || !req->count ||
	    req->count > sizeof(rep.data))
		return vfu_error(v, EINVAL);
	rep.h = *req;
	err = vfu_access(v, req->region, req->offset, rep.data, req->count, false);
	if (err)
		return vfu_error(v, -err);
	return vfu_reply(v, &rep, sizeof(rep.h) + req->count);
}

static bool vfu_region_write(struct nm_vfu *v)
{
	struct vfu_region_rw *req = (void *)v->body;
	int err;

	if (v->body_len < sizeof(*req) || !req->count ||
	    v->body_len - sizeof(*req) != req->count)
		return vfu_error(v, EINVAL);
	err = vfu_access(v, req->region, req->offset, req->data, req->count, true);
	if (err)
		return vfu_error(v, -err);
	return vfu_reply(v, req, sizeof(*req));
}

static bool vfu_write_multi(struct nm_vfu *v)
{
	struct vfu_write_multi_ent *e;
	u64 nr, i;
	int err;

	if (v->body_len < sizeof(u64))
		return vfu_error(v, EINVAL);
	memcpy(&nr, v->body, sizeof(nr));
	if (!nr || nr > VFU_MAX_XFER / sizeof(*e) ||
	    v->body_len != sizeof(u64) + nr * sizeof(*e))
		return vfu_error(v, EINVAL);
	e = (void *)(v->body + sizeof(u64));
	for (i = 0; i < nr; i++) {
		if (!e[i].count || e[i].count > sizeof(e[i].data))
			return vfu_error(v, EINVAL);
		err = vfu_access(v, e[i].region, e[i].offset, e[i].data,
				 e[i].count, true);
		if (err)
			return vfu_error(v, -err);
	}
	return vfu_reply(v, &nr, sizeof(nr));
}

static bool vfu_reset(struct nm_vfu *v)
{
	nm_pci_reset(v->fn);
	nm_fn_reset(v->fn);
	return vfu_reply(v, NULL, 0);
}

bool nm_vfu_message(struct nm_vfu *v)
{
	if ((v->hdr.flags & VFU_TYPE_MASK) != VFU_TYPE_CMD)
		return vfu_error(v, EINVAL);
	if (v->too_many_fds)
		return vfu_error(v, EINVAL);
	if (!v->negotiated && v->hdr.cmd != VFU_VERSION) {
		vfu_error(v, EINVAL);
		return false;
	}
	switch (v->hdr.cmd) {
	case VFU_VERSION:
		return vfu_version(v);
	case VFU_DMA_MAP:
		return vfu_dma_map(v);
	case VFU_DMA_UNMAP:
		return vfu_dma_unmap(v);
	case VFU_GET_INFO:
		return vfu_get_info(v);
	case VFU_GET_REGION_INFO:
		return vfu_get_region_info(v);
	case VFU_GET_IRQ_INFO:
		return vfu_get_irq_info(v);
	case VFU_SET_IRQS:
		return vfu_set_irqs(v);
	case VFU_REGION_READ:
		return vfu_region_read(v);
	case VFU_REGION_WRITE:
		return vfu_region_write(v);
	case VFU_REGION_WRITE_MULTI:
		return vfu_write_multi(v);
	case VFU_DEVICE_RESET:
		return vfu_reset(v);
	default:
		return vfu_error(v, ENOTSUP);
	}
}
