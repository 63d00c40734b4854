// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Faults that hit commands. */
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
