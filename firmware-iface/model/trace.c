// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The trace: one line an event, "seconds.ns function kind text". Lines from
 * both threads are whole, as each is one fprintf() under stdio's own lock.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace.h"

struct nm_trace {
	FILE *f;
	_Atomic unsigned int kinds;
};

static const char *const kind_names[] = {
	"vfu", "cmd", "db", "cqe", "eqe", "pkt", "err",
};

int nm_trace_kinds(const char *names)
{
	unsigned int kinds = 0, i;

	while (*names) {
		size_t len = strcspn(names, ",");

		if (len == 3 && !strncmp(names, "all", 3)) {
			kinds = NM_TR_ALL;
		} else {
			for (i = 0; i < ARRAY_SIZE(kind_names); i++)
				if (len == strlen(kind_names[i]) &&
				    !strncmp(names, kind_names[i], len))
					break;
			if (i == ARRAY_SIZE(kind_names))
				return -1;
			kinds |= BIT(i);
		}
		names += len;
		if (*names == ',')
			names++;
	}
	return kinds;
}

struct nm_trace *nm_trace_open(const char *spec)
{
	const char *colon = strrchr(spec, ':');
	int kinds = colon ? nm_trace_kinds(colon + 1) : (int)NM_TR_ALL;
	struct nm_trace *t;
	char *path;

	if (kinds < 0)
		return NULL;
	t = calloc(1, sizeof(*t));
	path = strndup(spec, colon ? (size_t)(colon - spec) : strlen(spec));
	if (t && path) {
		t->f = strcmp(path, "-") ? fopen(path, "we") : stderr;
		if (t->f)
			setvbuf(t->f, NULL, _IOLBF, 0);
		t->kinds = kinds;
	}
	free(path);
	if (t && !t->f) {
		free(t);
		t = NULL;
	}
	return t;
}

void nm_trace_close(struct nm_trace *t)
{
	if (!t)
		return;
	if (t->f != stderr)
		fclose(t->f);
	free(t);
}

void nm_trace_set(struct nm_trace *t, unsigned int kinds)
{
	t->kinds = kinds;
}

bool nm_trace_on(struct nm_model *m, enum nm_trace_kind kind)
{
	return m->trace && m->trace->kinds & kind;
}

void nm_trace_write(struct nm_fn *fn, enum nm_trace_kind kind,
		    const char *fmt, ...)
{
	u64 t = nm_clock_ns() - fn->model->epoch_ns;
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(fn->model->trace->f, "%llu.%09llu fn%u %s %s\n",
		(unsigned long long)(t / 1000000000),
		(unsigned long long)(t % 1000000000), fn->idx,
		kind_names[__builtin_ctz(kind)], text);
}
