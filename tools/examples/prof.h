/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Where a program's time goes. One phase runs at any time; entering another stops the
 * clock of the one before, so that the phases add up to the whole.
 */
#ifndef H3_PROF_H
#define H3_PROF_H

#include "util.h"

enum prof_phase {
	PROF_OTHER,
	PROF_WAIT,	/* poll */
	PROF_SOCKET,	/* receiving system calls; opening, where that happens below */
	PROF_CRYPTO,	/* header protection and AEAD in this process, or its copy */
	PROF_PARSE,	/* packets, frames, HTTP/3 */
	PROF_PAYLOAD,	/* the bytes of the file: copy, hash, write */
	PROF_ACK,	/* making and sending packets: of a download, those are ACKs */
	PROF_PHASES,
};

extern bool prof_on;
extern uint64_t prof_ns[PROF_PHASES];
extern const char *const prof_name[PROF_PHASES];

/* Return: the phase before, to go back to. */
enum prof_phase prof_switch(enum prof_phase to);

static inline enum prof_phase prof_enter(enum prof_phase to)
{
	return prof_on ? prof_switch(to) : PROF_OTHER;
}

static inline void prof_leave(enum prof_phase back)
{
	if (prof_on)
		prof_switch(back);
}

/* From zero. */
void prof_start(void);

#endif /* H3_PROF_H */
