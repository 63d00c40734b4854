// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Coverage-guided fuzzing with libFuzzer: one program a target, chosen by
 * FUZZ_cmd, FUZZ_wqe, FUZZ_steer or FUZZ_vfu. Inputs are short programs:
 *
 * cmd:   {opcode index, uid, op_mod, length / 4} and that many words of input
 * steer: the same with opcodes of flow steering; index 255: a frame
 * wqe:   doorbells' distance, then 16 WQEBBs of the send ring, then the receive
 *	  ring and the frame that it points to
 * vfu:   {command, flags, size / 8} and the message's body; flag bit 7: a file
 *
 * What must hold: nothing outside mapped memory (the sanitizers), no crash, no
 * input that takes long (libFuzzer's -timeout).
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "pass_fds.h"
#include "../vfu.h"
#include "../vfu_proto.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#if !defined(FUZZ_vfu)
static struct h rig;

/* The state of every input is the same: functions are reset, memory is zero. */
static void rig_start(u32 log_q)
{
	unsigned int i;

	if (!rig.m)
		h_open(&rig, NULL);
	for (i = 0; i < rig.m->nr_fn; i++) {
		struct h_fn *f = &rig.f[i];

		memset(f->mem, 0, f->brk - H_MEM_BASE);
		nm_fn_reset(f->fn);
		f->brk = H_MEM_BASE;
		f->cmdq = 0;
		f->pi_tx = 0;
		f->ci_tx = 0;
		f->ci_rx = 0;
		h_init(f);
		if (log_q)
			h_queues(f, log_q, 2048);
	}
}
#endif

#if defined(FUZZ_cmd) || defined(FUZZ_steer)
#if defined(FUZZ_steer)
static const u16 opcodes[] = {
	MLX5_CMD_OP_CREATE_FLOW_TABLE, MLX5_CMD_OP_DESTROY_FLOW_TABLE,
	MLX5_CMD_OP_QUERY_FLOW_TABLE, MLX5_CMD_OP_MODIFY_FLOW_TABLE,
	MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, MLX5_CMD_OP_CREATE_FLOW_GROUP,
	MLX5_CMD_OP_DESTROY_FLOW_GROUP, MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY,
	MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY, MLX5_CMD_OP_ALLOC_FLOW_COUNTER,
	MLX5_CMD_OP_QUERY_FLOW_COUNTER, MLX5_CMD_OP_DEALLOC_FLOW_COUNTER,
	MLX5_CMD_OP_CREATE_TIR, MLX5_CMD_OP_DESTROY_TIR,
};

static u16 opcode_of(u8 index)
{
	return opcodes[index % ARRAY_SIZE(opcodes)];
}
#else
/* Every opcode of the table, in its order */
static u16 opcode_of(u8 index)
{
	static u16 known[256];
	static bool done;
	static u32 nr;
	u32 op;

	for (op = 0; !done && op < 0x10000 && nr < ARRAY_SIZE(known); op++)
		if (nm_cmd_desc(op))
			known[nr++] = op;
	done = true;
	return known[index % nr];
}
#endif

static size_t one_command(const u8 *data, size_t size)
{
	const struct nm_cmd_desc *d = nm_cmd_desc(opcode_of(data[0]));
	size_t given = data[3] * 4u;
	u32 len = d->in_min > 16 ? d->in_min : 16;
	static u8 out[8192];
	u8 *in;

	if (given > size - 4)
		given = size - 4;
	if (given + 8 > len)
		len = given + 8;
	/* its own allocation: a byte too far is seen */
	in = calloc(1, len);
	memcpy(in + 8, data + 4, given);
	nm_wr16(in, d->opcode);
	nm_wr16(in + 2, data[1] & 3);
	nm_wr16(in + 6, data[2]);
	h_cmd(&rig.f[0], in, len, out, d->out_max + 16 < sizeof(out) ?
	      d->out_max + 16 : sizeof(out));
	free(in);
	return 4 + given;
}

static size_t one_frame(const u8 *data, size_t size)
{
	size_t len = data[3] * 4u;
	u8 *frame;

	if (len > size - 4)
		len = size - 4;
	if (len >= 14) {
		frame = malloc(len);
		memcpy(frame, data + 4, len);
		nm_rx_frame(rig.f[0].fn, frame, len);
		free(frame);
	}
	return 4 + len;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	unsigned int n = 0;

	rig_start(4);
	while (size >= 4 && n++ < 64) {
		size_t used = data[0] == 255 ? one_frame(data, size) :
					       one_command(data, size);

		data += used;
		size -= used;
		if (rig.f[0].fn->state != NM_FN_READY)
			break;
	}
	h_run(&rig);
	return 0;
}
#endif

#if defined(FUZZ_wqe)
#define SQ_BYTES	(16u * NM_WQE_BB)
#define RQ_BYTES	(16u * 16)

static size_t take(void *dst, size_t len, const u8 **data, size_t *size)
{
	size_t n = len < *size ? len : *size;

	memcpy(dst, *data, n);
	*data += n;
	*size -= n;
	return n;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct h_fn *a = &rig.f[0], *b = &rig.f[1];
	u16 dist;
	u64 buf;

	if (size < 2)
		return 0;
	rig_start(4);
	buf = h_alloc(a, 4096, 4096);
	dist = data[0] & 0x80 ? nm_rd16(data) : data[0];
	data += 2;
	size -= 2;
	take(h_ptr(a, a->sq), SQ_BYTES, &data, &size);
	h_frame(h_ptr(a, buf), 4, 17, 1000, 1, 2);
	take(h_ptr(a, buf), 128, &data, &size);
	if (size)
		take(h_ptr(b, b->rq), RQ_BYTES, &data, &size);
	a->pi_tx = dist;
	h_doorbell(a);
	h_run(&rig);
	while (h_poll_tx(a))
		;
	while (h_poll_rx(b))
		;
	return 0;
}
#endif

#if defined(FUZZ_vfu)
static struct nm_model *model;
static struct nm_vfu vfu;
static int guest_fd;

static void vfu_start(int *sv)
{
	u32 i;

	if (!model) {
		struct nm_opts o = { .nr_fn = 1, .loopback = true };

		model = nm_model_create(&o);
		guest_fd = memfd_create("guest", MFD_CLOEXEC);
		if (!model || ftruncate(guest_fd, 1 << 20))
			abort();
		vfu = (struct nm_vfu){ .fn = model->fn[0], .fd = -1 };
		for (i = 0; i < NM_MSIX_VECTORS; i++)
			vfu.irq[i] = -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sv))
		abort();
	vfu.fd = sv[0];
	vfu.negotiated = true;
}

static bool vfu_send(int fd, const u8 *data, size_t body, u16 id)
{
	u8 msg[sizeof(struct vfu_hdr) + 255 * 8] = { };
	char cbuf[CMSG_SPACE(sizeof(int))] = { };
	struct vfu_hdr h = {
		.id = id, .cmd = data[0], .flags = data[1] & 0x3f,
		.size = sizeof(h) + data[2] * 8u,
	};
	struct iovec iov = { msg, h.size };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	memcpy(msg, &h, sizeof(h));
	memcpy(msg + sizeof(h), data + 3, body);
	if (data[1] & 0x80)
		pass_fds(&mh, cbuf, &guest_fd, 1);
	return sendmsg(fd, &mh, MSG_NOSIGNAL) >= 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 sink[4096];
	int sv[2];
	u16 id = 0;

	vfu_start(sv);
	while (size >= 3) {
		size_t body = data[2] * 8u;

		if (body > size - 3)
			body = size - 3;
		if (!vfu_send(sv[1], data, body, id++) || !nm_vfu_input(&vfu))
			break;
		data += 3 + body;
		size -= 3 + body;
		while (recv(sv[1], sink, sizeof(sink), 0) > 0)
			;
		nm_engine_poll(model);
	}
	nm_vfu_drop(&vfu);
	close(sv[1]);
	return 0;
}
#endif
