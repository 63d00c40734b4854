#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Device and software put the same bytes on the wire, and OpenSSL agrees.

build/selftests/once_wire sends the same stream twice, with the switches of a
simulated port on and off, over ciphers, IP versions and lengths of connection
ID and packet number. Captures of the wire, kept in the directory of the first
argument if there is one, are compared packet by packet: Ethernet, IP and UDP
headers but for the IPv4 identification, and the sealed bytes, those also with
OpenSSL's. The stack gives identifications by the skb, and so unlike ones to unlike
forms of a send; those that a device counts up are checked by themselves.
QOFF_FULL=1: every combination.
"""

import itertools
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

# pylint: disable=wrong-import-position
import ksft
import txnet
from capture import Capture, frames
from txbed import V4, V6, Bed, sinks
from txnet import BUILD, FULL, sysctl

WIRE = os.path.join(BUILD, "once_wire")
CIPHERS = ("aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "aes-128-ccm")
DCIDS = (0, 1, 8, 20)
PNS = (1, 2, 3, 4)
PORT = 10000


def cases():
    """Cipher, destination, DCID length, packet number length."""
    if FULL:
        yield from itertools.product(CIPHERS, (V4, V6), DCIDS, PNS)
        return
    # Each pair of values of two columns, nearly
    for i, cipher in enumerate(CIPHERS):
        for j, pn in enumerate(PNS):
            yield cipher, (V4, V6)[(i + j) % 2], DCIDS[(i + 3 * j) % 4], pn


def send_all(top, what):
    """Every case once: the captured frames by source port, counters, OpenSSL's packets."""
    capture = Capture("qs0-mon", f"{top}/{what}.pcap")
    told, expect = [], []
    for i, (cipher, dst, dcid, pn) in enumerate(cases()):
        name = f"{top}/{what}.expect"
        out = subprocess.run([WIRE, "a", dst, str(PORT + i), cipher, str(dcid), str(pn), name],
                             check=False, capture_output=True, text=True)
        if out.returncode:
            raise RuntimeError(f"{cipher} {dst} {dcid} {pn}: {out.stdout}{out.stderr}")
        told.append(json.loads(out.stdout))
        with open(name, "rb") as f:
            data = f.read()
        os.unlink(name)
        expect.append(list(packets(data)))
    capture.stop(sum(len(x) for x in expect))
    seen = {}
    for frame in frames(capture.name):
        parts = dissect(frame)
        seen.setdefault(parts[0], []).append(parts[1:])
    return seen, told, expect


def packets(data):
    """Of once_wire's EXPECT file."""
    off = 0
    while off < len(data):
        size = struct.unpack_from("H", data, off)[0]
        yield data[off + 2:off + 2 + size]
        off += 2 + size


def dissect(frame):
    """Source port, IPv4 identification, all headers but that and its checksum, payload."""
    if frame[12:14] == b"\x08\x00":
        head = frame[:18] + frame[20:24] + frame[26:42]
        ident, udp = struct.unpack_from("!H", frame, 18)[0], 34
    else:
        head, ident, udp = frame[:62], 0, 54
    port, _, size = struct.unpack_from("!3H", frame, udp)
    return port, ident, head, frame[udp + 8:udp + size]


def differ(on, off, expect):
    """The first difference, or nothing."""
    if len(on) != len(expect) or len(off) != len(expect):
        return f"{len(on)} frames on, {len(off)} off, {len(expect)} wanted"
    for i, (a, b, want) in enumerate(zip(on, off, expect)):
        if a[1] != b[1]:
            return f"frame {i}: headers {a[1].hex()} and {b[1].hex()}"
        if a[2] != b[2]:
            return f"frame {i} of {len(a[2])} bytes: device and software differ"
        if a[2] != want:
            return f"frame {i} of {len(want)} bytes: OpenSSL differs"
    return None


def counted(on, nseg):
    """Does the device number the datagrams of each send by one? What is wrong, or
    nothing.
    """
    at = 0
    for n in nseg:
        ids = [frame[0] for frame in on[at:at + n]]
        if any(i != (ids[0] + k) % 65536 for k, i in enumerate(ids)):
            return f"identifications from frame {at} on: {ids}"
        at += n
    return None


def main():
    """Switches on, switches off, compare."""
    top = tempfile.mkdtemp()
    todo = list(cases())
    ksft.plan(len(todo) + 1)
    txnet.warm()
    with Bed(fresh=True) as net, sinks("b"):
        # A random one for each socket
        sysctl("a", ipv6__auto_flowlabels=0)
        on, told_on, expect = send_all(top, "on")
        net.run("a", "ethtool -K qs0 quic-tx-crypto off quic-gso off")
        off, told_off, again = send_all(top, "off")
    for name in ("on", "off"):
        if sys.argv[1:]:
            shutil.copy(f"{top}/{name}.pcap", sys.argv[1])
    for i, (cipher, dst, dcid, pn) in enumerate(todo):
        why = differ(on.get(PORT + i, []), off.get(PORT + i, []), expect[i])
        if dst == V4:
            why = why or counted(on[PORT + i], told_on[i]["nseg"])
        if not told_on[i]["dev"] or told_off[i]["dev"] or told_off[i]["sw"] != told_off[i]["segs"]:
            why = why or f"the switches were ignored: {told_on[i]}, {told_off[i]}"
        ksft.check(f"{cipher}, IPv{4 if dst == V4 else 6}, DCID of {dcid}, packet number of {pn}",
                   not why, why)
    # One byte of a capture altered must be found
    broken = [(a, b, c[:-1] + bytes([c[-1] ^ 1])) for a, b, c in off.get(PORT, [])]
    ksft.check("an altered byte is found", expect == again and
               differ(on.get(PORT, []), broken, expect[0]))


ksft.run(main)
