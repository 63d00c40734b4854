// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * vfio-user at the level of messages: a client that does what QEMU does, and
 * one that does what nobody should. No VM, no engine thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "pass_fds.h"
#include "../pci.h"
#include "../vfu.h"

struct client {
	struct nm_model *m;
	struct nm_vfu v;
	char path[64];
	int fd;
	u16 id;
	bool gone;
};

static void client_connect(struct client *c)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	strcpy(sa.sun_path, c->path);
	c->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(c->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
	nm_vfu_accept(&c->v);
	assert_true(c->v.fd >= 0);
	c->gone = false;
}

static int setup(void **state)
{
	struct nm_opts o = { .nr_fn = 1, .loopback = true };
	struct client *c = calloc(1, sizeof(*c));

	snprintf(c->path, sizeof(c->path), "/tmp/nm-vfu.%d", getpid());
	c->m = nm_model_create(&o);
	assert_int_equal(nm_vfu_open(&c->v, c->m->fn[0], c->path), 0);
	client_connect(c);
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	struct client *c = *state;

	nm_vfu_close(&c->v);
	close(c->fd);
	nm_model_destroy(c->m);
	free(c);
	return 0;
}

static void send_msg(struct client *c, const void *msg, u32 len, const int *fds,
		     u32 nr)
{
	char cbuf[CMSG_SPACE(sizeof(int) * 32)] = { };
	struct iovec iov = { .iov_base = (void *)msg, .iov_len = len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nr)
		pass_fds(&mh, cbuf, fds, nr);
	assert_int_equal(sendmsg(c->fd, &mh, 0), len);
}

static void pump(struct client *c)
{
	if (!c->gone && !nm_vfu_input(&c->v)) {
		c->gone = true;
		nm_vfu_drop(&c->v);
	}
}

/* One request; returns the errno of the reply, -1 when there is none. */
static int request(struct client *c, u16 cmd, const void *body, u32 len,
		   const int *fds, u32 nr, void *out, u32 out_len)
{
	u8 buf[8192];
	struct vfu_hdr *h = (void *)buf;
	ssize_t n;

	*h = (struct vfu_hdr){ .id = ++c->id, .cmd = cmd, .size = sizeof(*h) + len };
	if (len)
		memcpy(h + 1, body, len);
	send_msg(c, buf, h->size, fds, nr);
	pump(c);
	n = recv(c->fd, buf, sizeof(buf), 0);
	if (n < (ssize_t)sizeof(*h))
		return -1;
	assert_int_equal(h->id, c->id);
	assert_int_equal(h->cmd, cmd);
	assert_int_equal(h->size, n);
	assert_int_equal(h->flags & VFU_TYPE_MASK, VFU_TYPE_REPLY);
	if (h->flags & VFU_ERROR) {
		assert_int_equal(n, sizeof(*h));
		return h->error;
	}
	assert_true(n - sizeof(*h) >= out_len);
	if (out_len)
		memcpy(out, h + 1, out_len);
	return 0;
}

static int version(struct client *c, u16 major, const char *json)
{
	u8 body[512];

	memcpy(body, (u16[]){ major, 0 }, 4);
	strcpy((char *)body + 4, json);
	return request(c, VFU_VERSION, body, 4 + strlen(json) + 1, NULL, 0, NULL, 0);
}

static void hello(struct client *c)
{
	assert_int_equal(version(c, 0, "{\"capabilities\":{\"max_msg_fds\":8}}"), 0);
}

static int memory(u32 size)
{
	int fd = memfd_create("guest", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, size), 0);
	return fd;
}

static int map(struct client *c, u64 addr, u64 size, u64 off, u32 flags, int fd)
{
	struct vfu_dma_map m = { sizeof(m), flags, off, addr, size };

	return request(c, VFU_DMA_MAP, &m, sizeof(m), &fd, fd >= 0, NULL, 0);
}

static int unmap(struct client *c, u64 addr, u64 size, u32 flags)
{
	struct vfu_dma_unmap u = { sizeof(u), flags, addr, size };

	return request(c, VFU_DMA_UNMAP, &u, sizeof(u), NULL, 0, NULL, 0);
}

static int rd(struct client *c, u32 region, u64 off, void *p, u32 len)
{
	struct vfu_region_rw rw = { off, region, len };
	u8 out[16 + 4096];
	int err = request(c, VFU_REGION_READ, &rw, sizeof(rw), NULL, 0, out,
			  len <= 4096 ? 16 + len : 0);

	if (!err)
		memcpy(p, out + 16, len);
	return err;
}

static int wr(struct client *c, u32 region, u64 off, const void *p, u32 len)
{
	u8 b[4096];

	memcpy(b, &(struct vfu_region_rw){ off, region, len }, 16);
	memcpy(b + 16, p, len);
	return request(c, VFU_REGION_WRITE, b, 16 + len, NULL, 0, NULL, 0);
}

static void test_version(void **state)
{
	struct client *c = *state;

	assert_int_equal(version(c, 7, "{}"), EINVAL);
	assert_true(c->gone);
	client_connect(c);
	assert_int_equal(version(c, 0, "no json"), EINVAL);
	assert_true(c->gone);
	client_connect(c);
	/* nothing before the version */
	assert_int_equal(map(c, 0, 4096, 0, 3, -1), EINVAL);
	assert_true(c->gone);
	client_connect(c);
	hello(c);
	assert_int_equal(version(c, 0, "{}"), EINVAL);	/* once is enough */
}

static void test_info(void **state)
{
	struct client *c = *state;
	struct vfu_device_info di = { .argsz = sizeof(di) };
	struct vfu_region_info ri = { .argsz = sizeof(ri) };
	struct vfu_irq_info ii = { .argsz = sizeof(ii), .index = VFU_IRQ_MSIX };

	hello(c);
	assert_int_equal(request(c, VFU_GET_INFO, &di, sizeof(di), NULL, 0, &di,
				 sizeof(di)), 0);
	assert_int_equal(di.num_regions, 9);
	assert_int_equal(request(c, VFU_GET_REGION_INFO, &ri, sizeof(ri), NULL, 0,
				 &ri, sizeof(ri)), 0);
	assert_int_equal(ri.size, NM_BAR0_SIZE);
	ri.index = 9;
	assert_int_equal(request(c, VFU_GET_REGION_INFO, &ri, sizeof(ri), NULL, 0,
				 NULL, 0), EINVAL);
	assert_int_equal(request(c, VFU_GET_IRQ_INFO, &ii, sizeof(ii), NULL, 0,
				 &ii, sizeof(ii)), 0);
	assert_int_equal(ii.count, NM_MSIX_VECTORS);
	ii.index = 5;
	assert_int_equal(request(c, VFU_GET_IRQ_INFO, &ii, sizeof(ii), NULL, 0,
				 NULL, 0), EINVAL);
	assert_int_equal(request(c, VFU_GET_REGION_IO_FDS, &ri, sizeof(ri), NULL,
				 0, NULL, 0), ENOTSUP);
	assert_int_equal(request(c, 99, &ri, sizeof(ri), NULL, 0, NULL, 0), ENOTSUP);
	assert_int_equal(request(c, VFU_GET_INFO, &di, 2, NULL, 0, NULL, 0), EINVAL);
}

static void test_dma(void **state)
{
	struct client *c = *state;
	int fd = memory(16384);
	u64 hi = 0x200000000ull;
	char *p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char q[4];

	hello(c);
	assert_int_equal(map(c, hi, 8192, 0, 3, fd), 0);
	assert_int_equal(map(c, hi + 4096, 4096, 0, 3, fd), EEXIST);
	assert_int_equal(map(c, hi + 8192, 100, 0, 3, fd), EINVAL);
	assert_int_equal(map(c, hi + 8191, 4096, 0, 3, fd), EINVAL);
	assert_int_equal(map(c, hi + 8192, 0, 0, 3, fd), EINVAL);
	assert_int_equal(map(c, -4096ull, 8192, 0, 3, fd), EINVAL);
	assert_int_equal(map(c, hi + 8192, 4096, 0, 0, fd), EINVAL);
	assert_int_equal(map(c, hi + 8192, 4096, 0, 12, fd), EINVAL);
	/* beyond the end of the file: a later access would kill the model */
	assert_int_equal(map(c, hi + 8192, 32768, 0, 3, fd), EINVAL);
	assert_int_equal(map(c, hi + 8192, 4096, 8192, 3, fd), 0);
	strcpy(p + 8190, "abc");	/* across two mappings */
	assert_true(nm_dma_read(c->v.fn, hi + 8190, q, 4));
	assert_string_equal(q, "abc");
	assert_false(nm_dma_read(c->v.fn, hi + 12286, q, 4));
	assert_int_equal(map(c, 0, 4096, 0, 1, -1), 0);	/* ROM: no access */
	assert_false(nm_dma_read(c->v.fn, 0, q, 4));
	assert_int_equal(unmap(c, hi, 4096, 0), EINVAL);
	assert_int_equal(unmap(c, hi, 4096, 1), ENOTSUP);
	assert_int_equal(unmap(c, hi, 8192, 0), 0);
	assert_int_equal(unmap(c, hi, 8192, 0), ENOENT);
	assert_int_equal(unmap(c, 0, 0, VFU_UNMAP_ALL), 0);
	assert_int_equal(c->v.fn->dma.nr, 0);
	munmap(p, 16384);
	close(fd);
}

static int irqs(struct client *c, u32 start, u32 count, u32 flags, const int *fds,
		u32 nr)
{
	struct vfu_irq_set s = { sizeof(s), flags, VFU_IRQ_MSIX, start, count };

	return request(c, VFU_SET_IRQS, &s, sizeof(s), fds, nr, NULL, 0);
}

static void test_irqs(void **state)
{
	const u32 trig = VFU_IRQ_ACTION_TRIGGER;
	struct client *c = *state;
	int ev[9], i;
	eventfd_t v;

	hello(c);
	for (i = 0; i < 9; i++)
		ev[i] = eventfd(0, EFD_NONBLOCK);
	assert_int_equal(irqs(c, 0, 1, trig | 4, NULL, 0), 0);
	assert_int_equal(irqs(c, 3, 2, trig | 4, ev, 2), 0);
	nm_fn_raise(c->v.fn, 4);
	assert_int_equal(eventfd_read(ev[1], &v), 0);
	nm_fn_raise(c->v.fn, 5);	/* none there: lost, no crash */
	nm_fn_raise(c->v.fn, 1000);
	assert_int_equal(irqs(c, 3, 1, trig | 1, NULL, 0), 0);
	assert_int_equal(eventfd_read(ev[0], &v), 0);
	assert_int_equal(irqs(c, 3, 2, trig | 4, ev, 1), EINVAL);
	assert_int_equal(irqs(c, 63, 2, trig | 4, ev, 2), EINVAL);
	assert_int_equal(irqs(c, -1, 2, trig | 4, ev, 2), EINVAL);
	assert_int_equal(irqs(c, 0, 1, trig | 2, NULL, 0), EINVAL);
	assert_int_equal(irqs(c, 0, 1, VFU_IRQ_ACTION_MASK | 1, NULL, 0), EINVAL);
	assert_int_equal(irqs(c, 0, 9, trig | 4, ev, 9), EINVAL);	/* too many */
	assert_false(c->gone);
	assert_int_equal(irqs(c, 0, 0, trig | 1, NULL, 0), 0);
	nm_fn_raise(c->v.fn, 4);
	assert_int_equal(eventfd_read(ev[1], &v), -1);
	for (i = 0; i < 9; i++)
		close(ev[i]);
}

static void test_regions(void **state)
{
	struct client *c = *state;
	u8 b[64] = { };
	u32 v;

	hello(c);
	assert_int_equal(rd(c, VFU_CONFIG, 0, &v, 4), 0);
	assert_int_equal(v, 0x102115b3);
	assert_int_equal(rd(c, VFU_CONFIG, 4094, &v, 4), EINVAL);
	assert_int_equal(rd(c, VFU_BAR0, NM_REG_CMDQ_LO, &v, 4), 0);
	assert_int_equal(be32toh(v), 0x56);
	assert_int_equal(rd(c, VFU_BAR0, 1, b, 4), EINVAL);
	assert_int_equal(rd(c, VFU_BAR0, 0, b, 3), EINVAL);
	assert_int_equal(rd(c, VFU_BAR0, NM_BAR0_SIZE, b, 4), EINVAL);
	assert_int_equal(rd(c, VFU_BAR0, -8ull, b, 8), EINVAL);
	assert_int_equal(rd(c, 3, 0, b, 4), EINVAL);
	assert_int_equal(wr(c, VFU_BAR0, NM_REG_CMD_DOORBELL, b, 2), EINVAL);
	assert_int_equal(wr(c, VFU_BAR0, NM_REG_CMD_DOORBELL, b, 16), EINVAL);
	assert_int_equal(wr(c, VFU_BAR0, 20 << 12 | 0x800, b, 8), 0);
	assert_int_equal(wr(c, VFU_CONFIG, 0x10, (u32[]){ ~0u }, 4), 0);
	assert_int_equal(rd(c, VFU_CONFIG, 0x10, &v, 4), 0);
	assert_int_equal(v, 0xfe00000c);	/* 32 MiB, 64 bit, prefetchable */
	/* function level reset by Device Control */
	assert_int_equal(wr(c, VFU_CONFIG, 0x68, (u16[]){ 0x8000 }, 2), 0);
	assert_int_equal(rd(c, VFU_CONFIG, 0x10, &v, 4), 0);
	assert_int_equal(v, 0xc);
	assert_int_equal(request(c, VFU_DEVICE_RESET, NULL, 0, NULL, 0, NULL, 0), 0);
}

static void test_write_multi(void **state)
{
	struct client *c = *state;
	struct {
		u64 n;
		struct vfu_write_multi_ent e[2];
	} m = { 2, { { 0x10, VFU_CONFIG, 4, { 0xff, 0xff, 0xff, 0xff } },
		     { 0x3c, VFU_CONFIG, 1, { 0x55 } } } };
	u8 v;

	hello(c);
	assert_int_equal(request(c, VFU_REGION_WRITE_MULTI, &m, sizeof(m), NULL, 0,
				 NULL, 0), 0);
	assert_int_equal(rd(c, VFU_CONFIG, 0x3c, &v, 1), 0);
	assert_int_equal(v, 0x55);
	m.n = ~0ull;
	assert_int_equal(request(c, VFU_REGION_WRITE_MULTI, &m, sizeof(m), NULL, 0,
				 NULL, 0), EINVAL);
	m.n = 2;
	m.e[1].count = 9;
	assert_int_equal(request(c, VFU_REGION_WRITE_MULTI, &m, sizeof(m), NULL, 0,
				 NULL, 0), EINVAL);
}

/* Bytes arrive as they like; descriptors stay with their message. */
static void test_framing(void **state)
{
	struct client *c = *state;
	struct {
		struct vfu_hdr h;
		struct vfu_dma_map m;
	} msg[2] = { };
	int fd = memory(8192), i;
	u8 buf[256];

	hello(c);
	for (i = 0; i < 2; i++) {
		msg[i].h = (struct vfu_hdr){ .id = 100 + i, .cmd = VFU_DMA_MAP,
					     .size = sizeof(msg[0]) };
		msg[i].m = (struct vfu_dma_map){ sizeof(msg[0].m), 3, 0,
						 0x10000 * (i + 1), 4096 };
	}
	/* two messages in a row before the server looks; one has a descriptor */
	send_msg(c, &msg[0], sizeof(msg[0]), NULL, 0);
	send_msg(c, &msg[1], sizeof(msg[1]), &fd, 1);
	pump(c);
	assert_null(nm_dma_ptr(&c->v.fn->dma, 0x10000, 1, 1));
	assert_non_null(nm_dma_ptr(&c->v.fn->dma, 0x20000, 1, 1));
	assert_int_equal(recv(c->fd, buf, sizeof(buf), 0), 32);
	/* byte by byte */
	msg[0].m.addr = 0x50000;
	for (i = 0; i < (int)sizeof(msg[0]); i++) {
		send_msg(c, (u8 *)&msg[0] + i, 1, NULL, 0);
		pump(c);
	}
	assert_int_equal(recv(c->fd, buf, sizeof(buf), 0), 16);
	assert_int_equal(c->v.fn->dma.nr, 3);
	close(fd);
}

static void test_oversize(void **state)
{
	struct client *c = *state;
	struct vfu_hdr h = { .cmd = VFU_REGION_WRITE, .size = 0x7fffffff };

	hello(c);
	send_msg(c, &h, sizeof(h), NULL, 0);
	pump(c);
	assert_true(c->gone);
	client_connect(c);
	h.size = 8;
	send_msg(c, &h, sizeof(h), NULL, 0);
	pump(c);
	assert_true(c->gone);
}

static void test_no_reply(void **state)
{
	struct client *c = *state;
	struct {
		struct vfu_hdr h;
		struct vfu_region_rw rw;
		u8 data[4];
	} m = {
		.h = { 1, VFU_REGION_WRITE, sizeof(m), VFU_NO_REPLY, 0 },
		.rw = { 0x3c, VFU_CONFIG, 1 }, .data = { 9 },
	};
	u8 b[64];

	hello(c);
	m.h.size = sizeof(m.h) + sizeof(m.rw) + 1;
	send_msg(c, &m, m.h.size, NULL, 0);
	pump(c);
	assert_int_equal(recv(c->fd, b, sizeof(b), 0), -1);
	m.h.flags = VFU_TYPE_REPLY;	/* an answer to nothing */
	send_msg(c, &m, m.h.size, NULL, 0);
	pump(c);
	assert_true(recv(c->fd, b, sizeof(b), 0) > 0);
	assert_false(c->gone);
}

/* Gone and back: as after power on. */
static void test_reconnect(void **state)
{
	struct client *c = *state;
	int fd = memory(4096);
	u8 v;

	hello(c);
	assert_int_equal(map(c, 0x1000, 4096, 0, 3, fd), 0);
	assert_int_equal(wr(c, VFU_CONFIG, 0x3c, (u8[]){ 7 }, 1), 0);
	nm_vfu_drop(&c->v);
	close(c->fd);
	assert_int_equal(c->v.fn->dma.nr, 0);
	client_connect(c);
	hello(c);
	assert_int_equal(rd(c, VFU_CONFIG, 0x3c, &v, 1), 0);
	assert_int_equal(v, 0);
	close(fd);
}

/* One client a function: a second is turned away, the first does not notice. */
static void test_second_client(void **state)
{
	struct client *c = *state;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), first = c->v.fd;
	char b;

	strcpy(sa.sun_path, c->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	nm_vfu_accept(&c->v);
	assert_int_equal(c->v.fd, first);
	assert_int_equal(recv(fd, &b, 1, 0), 0);
	hello(c);
	close(fd);
}

#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_version), T(test_info), T(test_dma), T(test_irqs),
		T(test_regions), T(test_write_multi), T(test_framing),
		T(test_oversize), T(test_no_reply), T(test_reconnect),
		T(test_second_client),
	};

	return cmocka_run_group_tests_name("vfio-user", tests, NULL, NULL);
}
