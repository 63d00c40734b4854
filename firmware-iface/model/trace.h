/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Trace of commands, doorbells, completions, events and frames. */
#ifndef NM_TRACE_H
#define NM_TRACE_H

#include "model.h"

enum nm_trace_kind {
	NM_TR_VFU	= BIT(0),
	NM_TR_CMD	= BIT(1),
	NM_TR_DB	= BIT(2),
	NM_TR_CQE	= BIT(3),
	NM_TR_EQE	= BIT(4),
	NM_TR_PKT	= BIT(5),
	NM_TR_ERR	= BIT(6),
	NM_TR_ALL	= 0x7f,
};

/* @spec: FILE or FILE:kind,kind; "-" is standard error. NULL on a bad one. */
struct nm_trace *nm_trace_open(const char *spec);
void nm_trace_close(struct nm_trace *t);
/* Kinds by name, comma separated; -1 on an unknown one. */
int nm_trace_kinds(const char *names);
void nm_trace_set(struct nm_trace *t, unsigned int kinds);
bool nm_trace_on(struct nm_model *m, enum nm_trace_kind kind);
void nm_trace_write(struct nm_fn *fn, enum nm_trace_kind kind,
		    const char *fmt, ...) __printf(3, 4);

#define nm_trace(fn, kind, ...) do {					\
	struct nm_fn *__fn = (fn);					\
	if (__builtin_expect(nm_trace_on(__fn->model, kind), 0))	\
		nm_trace_write(__fn, kind, __VA_ARGS__);		\
} while (0)

#endif /* NM_TRACE_H */
