/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The control socket: one JSON object a line each way. Every request has "cmd"
 * and, where it concerns one function, "fn". Every answer has "ok", and "error"
 * when that is false.
 */
#ifndef NM_CTL_H
#define NM_CTL_H

#include "model.h"

#define NM_CTL_LINE	4096

/* Answers one request line into @out; server thread, without the lock. */
void nm_ctl_handle(struct nm_model *m, const char *line, size_t len, char *out,
		   size_t room);
/* "nicmodel ctl SOCKET {json} | cmd key=value..."; exit status */
int nm_ctl_main(int argc, char **argv);
/* server.c: close the transport of a function, as surprise removal does */
void nm_server_drop(struct nm_fn *fn);

#endif /* NM_CTL_H */
