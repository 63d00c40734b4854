// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Faults: which command is hit, what is armed. */
#include "model.h"

struct nm_cmd_fault *nm_fault_cmd(struct nm_fn *fn, u16 opcode)
{
	unsigned int i;

	for (i = 0; i < NM_MAX_CMD_FAULTS; i++) {
		struct nm_cmd_fault *f = &fn->faults.cmd[i];

		if (f->kind == NM_CMD_FAULT_NONE ||
		    (f->opcode && f->opcode != opcode))
			continue;
		if (f->skip) {
			f->skip--;
			continue;
		}
		fn->faults.hits++;
		if (f->count && !--f->count) {
			/* The last hit: the slot is free after it. */
			static __thread struct nm_cmd_fault last;

			last = *f;
			f->kind = NM_CMD_FAULT_NONE;
			return &last;
		}
		return f;
	}
	return NULL;
}

unsigned int nm_fault_armed(const struct nm_faults *f)
{
	unsigned int n = !!f->drop_eqe + !!f->dup_eqe + !!f->drop_irq +
			 !!f->tx_err_cqe + !!f->rx_err_cqe + !!f->tx_stall +
			 !!f->cqe_bad_owner + !!f->zero_strides + !!f->slow_us;
	unsigned int i;

#define X(member, name) n += !!f->quic.member;
	NM_QUIC_FAULTS(X)
#undef X
	for (i = 0; i < NM_MAX_CMD_FAULTS; i++)
		n += f->cmd[i].kind != NM_CMD_FAULT_NONE;
	return n;
}

void nm_fault_clear(struct nm_faults *f)
{
	*f = (struct nm_faults){ .hits = f->hits };
}
