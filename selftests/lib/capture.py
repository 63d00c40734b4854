# SPDX-License-Identifier: GPL-2.0
"""Captures: taken with tcpdump, and read."""

import contextlib
import os
import signal
import struct
import subprocess

from txnet import inside, until


class Capture:
    """tcpdump of QUIC on a device, in a namespace or at home, until stop()."""

    def __init__(self, dev, name, ns=None):
        self.name = name
        cmd = ["tcpdump", "-i", dev, "-w", name, "-s", "0", "-B", "32768", "--immediate-mode",
               "-U", "-Z", "root", "udp", "port", "4433"]
        with inside(ns) if ns else contextlib.nullcontext():
            # pylint: disable-next=consider-using-with
            self.proc = subprocess.Popen(cmd, stderr=subprocess.PIPE, text=True)
        if "listening on" not in self.proc.stderr.readline():
            raise RuntimeError(f"no capture of {dev}")

    def stop(self, want=0):
        """End it when there are @want frames, or when it has written all it has."""
        last = None

        def done():
            nonlocal last
            size, last = last, os.path.getsize(self.name)
            return sum(1 for _ in frames(self.name)) >= want if want else size == last

        until(done, f"{want} frames in {self.name}")
        self.proc.send_signal(signal.SIGINT)
        self.proc.communicate()


def frames(name):
    """The frames of a pcap file."""
    with open(name, "rb") as f:
        f.read(24)
        while len(head := f.read(16)) == 16:
            size = struct.unpack("4I", head)[2]
            if len(frame := f.read(size)) == size:
                yield frame
