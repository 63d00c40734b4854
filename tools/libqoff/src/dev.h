/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef QOFF_DEV_H
#define QOFF_DEV_H

#include <libmnl/libmnl.h>

#include "qoff.h"

/* Attributes of a device, from an answer or a notification. */
int qoff_dev_from_nl(const struct nlmsghdr *nlh, struct qoff_dev_info *d);

#endif /* QOFF_DEV_H */
