/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * quicsim: what RTM_NEWLINK of kind "quicsim" takes in IFLA_INFO_DATA.  Without
 * any of it the peer's name is this port's with its number raised by one (eth0:
 * eth1), else "<name>-peer", and the monitor is "<name>-mon".
 */
#ifndef _QUICSIM_UAPI_H
#define _QUICSIM_UAPI_H

enum {
	IFLA_QUICSIM_UNSPEC,
	IFLA_QUICSIM_PEER,	/* struct ifinfomsg and attributes, as veth has */
	IFLA_QUICSIM_MODE,	/* string: full, fso, dumb, dumb-fso */
	IFLA_QUICSIM_MONITOR,	/* string: name of the monitor */
	__IFLA_QUICSIM_MAX,
};

#define IFLA_QUICSIM_MAX	(__IFLA_QUICSIM_MAX - 1)

#endif /* _QUICSIM_UAPI_H */
