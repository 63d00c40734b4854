/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef QOFFCTL_H
#define QOFFCTL_H

#include <qoff.h>

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE };

/* Commands get the words behind their name; they return an exit status. */
int cmd_dev(int argc, char **argv);
int cmd_monitor(int argc, char **argv);
int cmd_sock(int argc, char **argv);
int cmd_ctx(int argc, char **argv);
int cmd_flow(int argc, char **argv);

/* The handle, opened when the command line is known to be right. Exits when the kernel
 * has no module.
 */
struct qoff *ctl(void);

/* A mistake in the command line: says what and returns EXIT_USAGE. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A refusal: says @what, why (libqoff's text) and what to do. Returns EXIT_FAILED. */
int failed(const char *what, int err);

/* A decimal number of at most @max; false if @s is none. */
bool parse_u64(const char *s, uint64_t max, uint64_t *v);

void show_stats(const struct qoff_stats *st);
void show_dev(const struct qoff_dev_info *d);
/* "1-3 8" of the bits set */
void bits_to_ranges(uint32_t bits, char *buf, size_t size);

#endif /* QOFFCTL_H */
