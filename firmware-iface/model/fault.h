/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Faults that the control socket arms. Context: nm_model.lock. */
#ifndef NM_FAULT_H
#define NM_FAULT_H

#include "ifc.h"

struct nm_fn;
struct nm_cmd;

enum nm_cmd_fault_kind {
	NM_CMD_FAULT_NONE,
	NM_CMD_FAULT_STATUS,	/* refuse with a status */
	NM_CMD_FAULT_SILENT,	/* run nothing, answer nothing */
	NM_CMD_FAULT_DELIVERY,	/* a delivery status */
	NM_CMD_FAULT_CORRUPT,	/* run it, then flip the output's bytes */
	NM_CMD_FAULT_NO_EVENT,	/* run it, lose the completion event */
	NM_CMD_FAULT_NO_IRQ,	/* run it, lose the event's interrupt */
	NM_CMD_FAULT_DELAY,	/* run it some milliseconds later */
};

struct nm_cmd_fault {
	u8 kind;
	u8 status;
	u16 opcode;	/* 0: any */
	u32 skip;	/* matching commands to let pass first */
	u32 count;	/* then hit this many; 0: all */
	u32 delay_ms;
};

#define NM_MAX_CMD_FAULTS	8

/* Faults of the QUIC extension: what "ctl fault kind=quic-..." arms */
#define NM_QUIC_FAULTS(X)						\
	X(tag, "quic-tag")		/* WQEs whose first packet has a wrong tag */ \
	X(status, "quic-status")	/* sent, but completed as refused */	\
	X(refuse, "quic-refuse")	/* refused as if the context were stale */ \
	X(twice, "quic-twice")		/* QUIC WQEs completed twice */		\
	X(never, "quic-never")		/* QUIC WQEs sent and never completed */ \
	X(die, "quic-die")		/* the function dies in the middle of a WQE */ \
	X(key_lost, "quic-key-lost")	/* uses that find their key lost */	\
	X(full, "quic-full")		/* creations that find the table full */ \
	X(claim, "quic-claim")		/* packets not opened, told as opened */ \
	X(rx_status, "quic-rx-status")	/* opened packets told as failed */	\
	X(handle, "quic-handle")	/* completions with another's handle */	\
	X(list, "quic-list")		/* segment lists with a length too large */

struct nm_quic_faults {
#define X(member, name) u32 member;
	NM_QUIC_FAULTS(X)
#undef X
};

/* Counts down, but for those that are a state of the device. */
struct nm_faults {
	struct nm_cmd_fault cmd[NM_MAX_CMD_FAULTS];
	u32 drop_eqe;		/* completion events to lose */
	u32 dup_eqe;		/* to write twice */
	u32 drop_irq;		/* to write without an interrupt */
	u32 tx_err_cqe;		/* send WQEs to complete in error */
	u32 rx_err_cqe;
	u32 tx_stall;		/* state: send queues that hang */
	u32 cqe_bad_owner;	/* completions with the wrong owner bit */
	u32 zero_strides;	/* multi-packet completions that consume nothing */
	u32 slow_us;		/* state: time between two send WQEs */
	struct nm_quic_faults quic;
	u64 hits;		/* faults that have struck; survives "none" */
};

/* The fault that hits this command, if any; counts down. */
struct nm_cmd_fault *nm_fault_cmd(struct nm_fn *fn, u16 opcode);
/* Faults that wait to strike, and states that last */
unsigned int nm_fault_armed(const struct nm_faults *f);
void nm_fault_clear(struct nm_faults *f);

static inline bool nm_fault_count(struct nm_faults *f, u32 *n)
{
	if (__builtin_expect(!*n, 1))
		return false;
	(*n)--;
	f->hits++;
	return true;
}

/* True as long as the fault is armed; counts down. */
#define nm_fault_take(fn, kind) \
	nm_fault_count(&(fn)->faults, &(fn)->faults.kind)

#endif /* NM_FAULT_H */
