// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <string.h>

#include "prof.h"

bool prof_on;
uint64_t prof_ns[PROF_PHASES];
const char *const prof_name[PROF_PHASES] = {
	[PROF_OTHER] = "other",
	[PROF_WAIT] = "wait",
	[PROF_SOCKET] = "socket",
	[PROF_CRYPTO] = "crypto",
	[PROF_PARSE] = "parse",
	[PROF_PAYLOAD] = "payload",
	[PROF_ACK] = "ack",
};

static enum prof_phase present;
static uint64_t since;

enum prof_phase prof_switch(enum prof_phase to)
{
	enum prof_phase old = present;
	uint64_t t = now();

	prof_ns[present] += t - since;
	since = t;
	present = to;
	return old;
}

void prof_start(void)
{
	memset(prof_ns, 0, sizeof(prof_ns));
	present = PROF_OTHER;
	since = now();
	prof_on = true;
}
