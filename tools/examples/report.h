/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Statistics at the end: text for people, or one JSON object on standard output.
 */
#ifndef H3_REPORT_H
#define H3_REPORT_H

#include "quic.h"

void report_begin(bool json);
void report_text(const char *name, const char *value);
void report_num(const char *name, uint64_t value);
void report_real(const char *name, double value);
/* Counters of a socket, and what follows from them. */
void report_sock(const struct qng_stats *st);
void report_totals(void);
void report_prof(void);
void report_end(void);

/* Adds the counters of one socket to those of another. */
void report_add(struct qng_stats *sum, const struct qng_stats *st);

#endif /* H3_REPORT_H */
