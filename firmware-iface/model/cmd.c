// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The command queue: slots, mailboxes, delivery status, completion events. */
#include <stdlib.h>

#include "cmd.h"
#include "quic_gro.h"
#include "queue.h"
#include "trace.h"

void nm_cmd_fail(struct nm_cmd *c, enum nm_status st, enum nm_syndrome syn)
{
	c->status = st;
	c->syndrome = syn;
}

static u64 cmd_slot_addr(struct nm_fn *fn, unsigned int slot)
{
	u64 base = (u64)fn->regs.cmdq_hi << 32 | (fn->regs.cmdq_lo & ~0xfffu);

	return base + ((u64)slot << NM_CMD_STRIDE_LOG);
}

/*
 * Reads mailbox @num of a chain from @at; @misaligned is the status for an
 * address that cannot be one.
 */
static enum nm_deliv cmd_mbox(struct nm_fn *fn, const struct nm_cmd_entry *e,
			      u64 at, u32 num, enum nm_deliv misaligned,
			      struct nm_mbox *mb)
{
	if (!at || at & (NM_MBOX_ALIGN - 1))
		return misaligned;
	if (!nm_dma_read(fn, at, mb, sizeof(*mb)))
		return NM_DELIV_FW;
	if (mb->token != e->token)
		return NM_DELIV_TOKEN;
	if (be32toh(mb->block_num) != num)
		return NM_DELIV_BLOCK_NUM;
	return NM_DELIV_OK;
}

/*
 * Input beyond the first 16 bytes, one mailbox after another. The chain is the
 * guest's: its length is bounded by the command's, never by its own links.
 */
static enum nm_deliv cmd_gather(struct nm_fn *fn, const struct nm_cmd_entry *e,
				u8 *buf, u32 len)
{
	u64 at = be64toh(e->in_ptr);
	enum nm_deliv st;
	struct nm_mbox mb;
	u32 done, num = 0;

	memcpy(buf, e->in, len < sizeof(e->in) ? len : sizeof(e->in));
	for (done = sizeof(e->in); done < len; done += NM_MBOX_DATA, num++) {
		u32 part = len - done < NM_MBOX_DATA ? len - done : NM_MBOX_DATA;

		st = cmd_mbox(fn, e, at, num, NM_DELIV_IN_PTR_ALIGN, &mb);
		if (st != NM_DELIV_OK)
			return st;
		memcpy(buf + done, mb.data, part);
		at = be64toh(mb.next);
	}
	return NM_DELIV_OK;
}

/* Walks the output chain; writes it when @buf is given, else only checks it. */
static enum nm_deliv cmd_scatter(struct nm_fn *fn, const struct nm_cmd_entry *e,
				 const u8 *buf, u32 len)
{
	u64 at = be64toh(e->out_ptr);
	enum nm_deliv st;
	struct nm_mbox mb;
	u32 done, num = 0;

	for (done = sizeof(e->out); done < len; done += NM_MBOX_DATA, num++) {
		u32 part = len - done < NM_MBOX_DATA ? len - done : NM_MBOX_DATA;

		st = cmd_mbox(fn, e, at, num, NM_DELIV_OUT_PTR_ALIGN, &mb);
		if (st != NM_DELIV_OK)
			return st;
		if (buf && !nm_dma_write(fn, at, buf + done, part))
			return NM_DELIV_FW;
		at = be64toh(mb.next);
	}
	return NM_DELIV_OK;
}

static bool cmd_state_ok(struct nm_fn *fn, const struct nm_cmd_desc *d)
{
	return d->flags & NM_CMD_ANY_STATE || fn->state == NM_FN_READY;
}

void nm_cmd_exec(struct nm_cmd *c)
{
	const struct nm_cmd_desc *d;
	u32 given = c->out_len;
	u8 *given_out = c->out;
	u8 *layout = NULL;

	c->opcode = nm_rd16(c->in);
	c->uid = nm_rd16(c->in + 2);
	/* The kernel's mark for its objects that every context may use */
	if (c->uid == NM_UID_SHARED)
		c->uid = 0;
	c->op_mod = nm_rd16(c->in + 6);
	c->status = NM_ST_OK;
	c->syndrome = 0;
	nm_count(c->fn, NM_CNT_cmds);
	/* It may end what a coalescing session needs: those are completed first. */
	nm_quic_gro_flush(c->fn);
	d = nm_cmd_desc(c->opcode);
	if (!d) {
		nm_cmd_fail(c, NM_ST_BAD_OP, NM_SYN_UNKNOWN_OP);
	} else if (c->in_len < d->in_min) {
		nm_cmd_fail(c, NM_ST_BAD_INP_LEN, NM_SYN_IN_LEN);
	} else if (!cmd_state_ok(c->fn, d)) {
		nm_cmd_fail(c, NM_ST_BAD_SYS_STATE, NM_SYN_NOT_ENABLED);
	} else if (c->uid && c->opcode != MLX5_CMD_OP_DESTROY_UCTX &&
		   !nm_obj_lookup(c->fn, NM_OBJ_UCTX, c->uid)) {
		nm_cmd_fail(c, NM_ST_BAD_RES, NM_SYN_NO_OBJECT);
	} else if (given >= d->out_max) {
		d->fn(c);
	} else {
		/* The driver wants less than the layout has: clip. */
		layout = calloc(1, d->out_max);
		if (!layout) {
			nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_MEMORY);
		} else {
			c->out = layout;
			c->out_len = d->out_max;
			d->fn(c);
			memcpy(given_out, layout, given);
			c->out = given_out;
			c->out_len = given;
		}
	}
	free(layout);
	if (c->status != NM_ST_OK) {
		nm_count(c->fn, NM_CNT_cmd_errors);
		memset(c->out, 0, c->out_len);
	}
	c->out[0] = c->status;
	nm_wr32(c->out + 4, c->syndrome);
	nm_trace(c->fn, NM_TR_CMD,
		 "slot %u %s op_mod %#x uid %u in %u out %u status %#x %s",
		 c->slot, d ? d->name : "UNKNOWN", c->op_mod, c->uid, c->in_len,
		 c->out_len, c->status, c->syndrome ? nm_syn_name(c->syndrome) : "");
	if (!d)
		nm_trace(c->fn, NM_TR_ERR, "unknown opcode %#x", c->opcode);
}

/* Answers a slot: output first, the owner byte last, then the event. */
static void cmd_answer(struct nm_fn *fn, unsigned int slot, const u8 *out,
		       enum nm_deliv deliv, const struct nm_cmd *c)
{
	struct nm_cmd_entry *e = nm_dma_ptr(&fn->dma, cmd_slot_addr(fn, slot),
					    sizeof(*e), NM_DMA_R | NM_DMA_W);
	u8 data[28] = { };

	if (!e)
		return;
	if (deliv)
		nm_count(fn, NM_CNT_cmd_delivery_errors);
	if (out)
		memcpy(e->out, out, sizeof(e->out));
	__atomic_store_n(&e->status_own, deliv << 1, __ATOMIC_RELEASE);
	if ((c && c->no_event) || !fn->eq_cmd)
		return;
	nm_wr32(data, 1u << slot);
	if (c && c->no_irq)
		nm_eq_post_quiet(fn, fn->eq_cmd, NM_EV_CMD, 0, data, sizeof(data));
	else
		nm_eq_post(fn, fn->eq_cmd, NM_EV_CMD, 0, data, sizeof(data));
}

static enum nm_deliv cmd_check(struct nm_fn *fn, const struct nm_cmd_entry *e)
{
	u32 in_len = be32toh(e->in_len), out_len = be32toh(e->out_len);

	if (e->type != NM_CMD_TYPE_PCI)
		return NM_DELIV_CMD_TYPE;
	if (in_len < 8 || in_len > NM_CMD_MAX_IN)
		return NM_DELIV_IN_LENGTH;
	if (out_len < 8 || out_len > NM_CMD_MAX_OUT)
		return NM_DELIV_OUT_LENGTH;
	return cmd_scatter(fn, e, NULL, out_len);
}

/* What is left to do of a command that a fault has hit */
enum cmd_fate {
	CMD_RUN,
	CMD_ANSWER,	/* *@deliv or the output says why */
	CMD_DROP,
};

static enum cmd_fate cmd_fault(struct nm_cmd *c, const struct nm_cmd_fault *f,
			       enum nm_deliv *deliv)
{
	struct nm_fn *fn = c->fn;
	const char *name = nm_cmd_name(nm_rd16(c->in));

	switch (f->kind) {
	case NM_CMD_FAULT_SILENT:
		nm_trace(fn, NM_TR_ERR, "fault: %s is not answered", name);
		fn->cmd_mute |= 1u << c->slot;
		return CMD_DROP;
	case NM_CMD_FAULT_DELAY:
		nm_trace(fn, NM_TR_ERR, "fault: %s waits %u ms", name,
			 f->delay_ms);
		fn->cmd_delayed |= 1u << c->slot;
		fn->cmd_due[c->slot] = fn->model->now_ns +
				       f->delay_ms * 1000000ull;
		return CMD_DROP;
	case NM_CMD_FAULT_DELIVERY:
		*deliv = f->status;
		return CMD_ANSWER;
	case NM_CMD_FAULT_STATUS:
		c->out[0] = f->status;
		nm_wr32(c->out + 4, NM_SYN_FAULT);
		nm_trace(fn, NM_TR_ERR, "fault: %s fails with status %#x", name,
			 f->status);
		return CMD_ANSWER;
	case NM_CMD_FAULT_NO_EVENT:
		fn->cmd_owed |= 1u << c->slot;
		c->no_event = true;
		return CMD_RUN;
	case NM_CMD_FAULT_NO_IRQ:
		c->no_irq = true;
		return CMD_RUN;
	default:
		return CMD_RUN;
	}
}

/* @again: a delay is over, and its fault does not strike twice. */
static void cmd_run(struct nm_fn *fn, unsigned int slot,
		    const struct nm_cmd_entry *e, bool again)
{
	struct nm_cmd_fault *f = NULL;
	enum cmd_fate fate = CMD_RUN;
	struct nm_cmd c = {
		.fn = fn, .slot = slot,
		.in_len = be32toh(e->in_len), .out_len = be32toh(e->out_len),
	};
	enum nm_deliv deliv = NM_DELIV_FW;
	u32 i;

	/* Room for a whole inline part on both sides. */
	c.in = calloc(1, c.in_len + sizeof(e->in));
	c.out = calloc(1, c.out_len + sizeof(e->out));
	if (!c.in || !c.out)
		goto answer;
	deliv = cmd_gather(fn, e, c.in, c.in_len);
	if (deliv)
		goto answer;
	if (!again)
		f = nm_fault_cmd(fn, nm_rd16(c.in));
	if (f)
		fate = cmd_fault(&c, f, &deliv);
	if (fate == CMD_DROP)
		goto out;
	if (deliv)
		goto answer;
	if (fate == CMD_RUN)
		nm_cmd_exec(&c);
	if (f && f->kind == NM_CMD_FAULT_CORRUPT)
		for (i = 8; i < c.out_len; i++)
			c.out[i] ^= 0xff;
	deliv = cmd_scatter(fn, e, c.out, c.out_len);
answer:
	cmd_answer(fn, slot, deliv ? NULL : c.out, deliv, &c);
out:
	/* Keys pass through here. */
	if (c.in)
		explicit_bzero(c.in, c.in_len);
	if (c.out)
		explicit_bzero(c.out, c.out_len);
	free(c.in);
	free(c.out);
}

static void cmd_run_slots(struct nm_fn *fn, u32 slots, bool again)
{
	struct nm_cmd_entry e;

	while (slots && fn->state != NM_FN_DEAD) {
		unsigned int slot = __builtin_ctz(slots);
		enum nm_deliv deliv;

		slots &= slots - 1;
		if (!nm_dma_read(fn, cmd_slot_addr(fn, slot), &e, sizeof(e)) ||
		    !(e.status_own & 1))
			continue;	/* a doorbell without a command */
		deliv = cmd_check(fn, &e);
		if (deliv)
			cmd_answer(fn, slot, NULL, deliv, NULL);
		else
			cmd_run(fn, slot, &e, again);
	}
}

void nm_cmd_run_slots(struct nm_fn *fn, u32 slots)
{
	/* A doorbell for a slot that waits means nothing. */
	cmd_run_slots(fn, slots & ~fn->cmd_delayed, false);
}

/*
 * What a fault has kept back, long after the driver's time is up: a command
 * that was never run fails without its mailboxes, which may be others' by now.
 */
void nm_cmd_late(struct nm_fn *fn)
{
	u32 mute = fn->cmd_mute, owed = fn->cmd_owed;
	u8 data[28] = { };

	fn->cmd_mute = 0;
	fn->cmd_owed = 0;
	for (; mute; mute &= mute - 1)
		cmd_answer(fn, __builtin_ctz(mute), NULL, NM_DELIV_FW, NULL);
	nm_wr32(data, owed);
	if (owed && fn->eq_cmd)
		nm_eq_post(fn, fn->eq_cmd, NM_EV_CMD, 0, data, sizeof(data));
}

bool nm_cmd_run_delayed(struct nm_fn *fn)
{
	u32 left = fn->cmd_delayed, due = 0;

	while (left) {
		unsigned int slot = __builtin_ctz(left);

		left &= left - 1;
		if (fn->cmd_due[slot] <= fn->model->now_ns)
			due |= 1u << slot;
	}
	fn->cmd_delayed &= ~due;
	cmd_run_slots(fn, due, true);
	return due;
}

u64 nm_cmd_next(struct nm_fn *fn)
{
	u32 left = fn->cmd_delayed;
	u64 next = ~0ull;

	while (left) {
		unsigned int slot = __builtin_ctz(left);

		left &= left - 1;
		if (fn->cmd_due[slot] < next)
			next = fn->cmd_due[slot];
	}
	return next;
}
