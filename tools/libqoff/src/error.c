// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The text of a failure. One buffer a thread: a caller reads it right after
 * the call that failed, as errno.
 */
#include <stdarg.h>
#include <stdio.h>

#include "priv.h"

static __thread char text[256];

int qoff_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return -err;
}

const char *qoff_error(void)
{
	return text;
}
