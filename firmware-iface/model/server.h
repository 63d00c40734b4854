/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The server thread: one loop over all sockets. */
#ifndef NM_SERVER_H
#define NM_SERVER_H

#include "model.h"

/* Opens the sockets and serves until a signal; 0 or -errno. */
int nm_server_run(struct nm_model *m);

#endif /* NM_SERVER_H */
