#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""flood.py ADDRESS: small datagrams from every processor until killed.

Enough sockets that the bytes in flight of all of them are more than a send ring holds: a queue that
completes nothing is then full, and the stack stops it."""

import os
import socket
import sys
import time

SOCKETS = 32


def main():
    cpus = sorted(os.sched_getaffinity(0))
    for cpu in cpus[1:]:
        if not os.fork():
            os.sched_setaffinity(0, {cpu})
            break
    else:
        os.sched_setaffinity(0, {cpus[0]})
    socks = []
    for _ in range(SOCKETS):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setblocking(False)
        s.connect((sys.argv[1], 9))
        socks.append(s)
    while os.getppid() != 1:
        sent = 0
        for s in socks:
            try:
                s.send(b"x" * 64)
                sent += 1
            except OSError:     # full, or an ICMP error of an earlier one
                pass
        if not sent:
            time.sleep(0.01)


if __name__ == "__main__":
    main()
