#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""UDP with and without UDP_SEGMENT: every datagram must arrive once, whole and in order.

    udp_gso.py recv ADDR PORT COUNT SIZE    expect COUNT datagrams of SIZE (the last may be shorter)
    udp_gso.py send ADDR PORT COUNT SIZE GSO  GSO datagrams a call (1: plain sends)
"""

import hashlib
import socket
import struct
import sys

UDP_SEGMENT = 103
SOL_UDP = 17


def datagram(i, size):
    body = hashlib.sha256(struct.pack("!I", i)).digest() * (size // 32 + 1)
    return struct.pack("!I", i) + body[:size - 4]


def family(addr):
    return socket.AF_INET6 if ":" in addr else socket.AF_INET


def recv(addr, port, count, size):
    s = socket.socket(family(addr), socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
    s.settimeout(30)
    s.bind((addr, port))
    print("ready", flush=True)
    seen = set()
    while len(seen) < count:
        data = s.recv(65536)
        i = struct.unpack("!I", data[:4])[0]
        if data != datagram(i, size):
            sys.exit(f"datagram {i} is damaged: {len(data)} bytes")
        if i in seen:
            sys.exit(f"datagram {i} came twice")
        seen.add(i)


def send(addr, port, count, size, gso):
    s = socket.socket(family(addr), socket.SOCK_DGRAM)
    s.connect((addr, port))
    for i in range(0, count, gso):
        n = min(gso, count - i)
        data = b"".join(datagram(k, size) for k in range(i, i + n))
        control = [(SOL_UDP, UDP_SEGMENT, struct.pack("H", size))] if n > 1 else []
        s.sendmsg([data], control)


if __name__ == "__main__":
    words = sys.argv[4:]
    if sys.argv[1] == "recv":
        recv(sys.argv[2], int(sys.argv[3]), *map(int, words))
    else:
        send(sys.argv[2], int(sys.argv[3]), *map(int, words))
