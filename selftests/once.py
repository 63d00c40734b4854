#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One (key, packet number), one content, whatever happens on the way.

build/selftests/once sends, rewrites what it sends from, and updates keys. Here
the path is changed underneath, one way after the other, each while sends are
seen to go on. The wire of the device and the far end of the software path are
captured; then once_check opens every frame. First the checker is shown forged
captures. QOFF_FULL=1: ten times.
"""

import json
import mmap
import os
import struct
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

# pylint: disable=wrong-import-position
import ksft
import txnet
from capture import Capture
from txbed import MAC, V4, V6, Bed, knob, sinks
from txnet import BUILD, FULL, batch, running, until

ONCE = os.path.join(BUILD, "once")
CHECK = os.path.join(BUILD, "once_check")
PROGRESS = "/run/once.progress"
ROUNDS = 10 if FULL else 1
STEP = 12        # super-packets between one change and the next


def check(*files):
    """once_check: did it pass, and what it counted."""
    done = subprocess.run([CHECK, *files], capture_output=True, text=True, check=False)
    try:
        return done.returncode == 0, json.loads(done.stdout), done.stderr
    except ValueError:
        return False, {}, done.stderr


def forged(top):
    """The checker fails where it must, and only there."""
    for kind, field in (("good", None), ("key", None), ("twice", "twice"),
                        ("broken", "unopened"), ("plain", "leaks")):
        name = f"{top}/forged.pcap"
        subprocess.run([CHECK, "--forge", kind, name], check=True)
        passed, seen, _ = check(name)
        os.unlink(name)
        good = passed == (field is None) and (field is None or seen[field] == 1)
        ksft.check(f"the checker on a forged capture: {kind}", good, f"{passed}, {seen}")


class Torture:
    """The sending program, while changes go on."""

    def __init__(self, dst):
        # pylint: disable-next=consider-using-with
        self.proc = subprocess.Popen([ONCE, "a", dst, PROGRESS], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.proc.stdout.readline() != "ready\n":
            raise RuntimeError(f"once: {self.proc.communicate()}")
        with open(PROGRESS, "rb") as f:
            self.map = mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ)

    def sends(self):
        """Super-packets so far."""
        return struct.unpack_from("Q", self.map)[0]

    def go_on(self):
        """Wait until more was sent."""
        until_sent = self.sends() + STEP
        until(lambda: self.sends() >= until_sent or self.proc.poll() is not None, "sends")
        if self.proc.poll() is not None:
            raise RuntimeError(f"once: {self.proc.communicate()}")

    def stop(self):
        """Its counters."""
        out, err = self.proc.communicate()
        if self.proc.returncode:
            raise RuntimeError(f"once: {err}")
        return json.loads(out), err


MIRROR = ("tc qdisc add dev qs0 clsact", "tc filter add dev qs0 egress protocol all matchall "
          "action mirred egress mirror dev va")


def changes(net, dst):
    """Where packets wait ("ring", "door": for the neighbour, or nowhere), a change, and its end;
    sends go on in between and after."""
    ip = "ip -6" if ":" in dst else "ip"
    length = 128 if ":" in dst else 32

    def busy(n):
        knob("qs0", "busy_n", n)
        knob("qs0", "busy_m", 3 * bool(n))

    yield None, lambda: knob("qs0", "reset", 1), None
    yield None, lambda: busy(2), lambda: busy(0)
    # What fills the ring and the qdisc goes out after the context is gone
    yield "ring", lambda: knob("qs0", "reset", 1), None
    yield "ring", lambda: knob("qs0", "lose", 1), None
    yield (None, lambda: net.run("a", f"{ip} route replace {dst}/{length} dev va"),
           lambda: net.run("a", f"{ip} route del {dst}/{length} dev va"))
    yield ("ring", lambda: net.run("a", f"{ip} route replace {dst}/{length} dev va"),
           lambda: net.run("a", f"{ip} route del {dst}/{length} dev va"))
    yield (None, lambda: net.run("a", "ethtool -K qs0 quic-tx-crypto off"),
           lambda: net.run("a", "ethtool -K qs0 quic-tx-crypto on"))
    # Built for the device, they find that it does not seal any more
    yield ("door", lambda: net.run("a", "ethtool -K qs0 quic-tx-crypto off"),
           lambda: net.run("a", "ethtool -K qs0 quic-tx-crypto on"))
    yield (None, lambda: net.run("a", "ethtool -K qs0 tx-udp-segmentation off"),
           lambda: net.run("a", "ethtool -K qs0 tx-udp-segmentation on quic-gso on "
                           "quic-tx-crypto on"))
    yield (None, lambda: net.run("a", *MIRROR),
           lambda: net.run("a", "tc qdisc del dev qs0 clsact"))
    yield (None, lambda: net.run("a", "tc qdisc replace dev qs0 root netem delay 1ms "
                                    "duplicate 50%"),
           lambda: net.run("a", "tc qdisc del dev qs0 root"))
    yield (None, lambda: knob("qs0", "registered", 0),
           lambda: (knob("qs0", "registered", 1),
                    net.run("a", "ethtool -K qs0 quic-gso on quic-tx-crypto on")))
    if ":" not in dst:      # down would take the IPv6 address away
        yield (None, lambda: net.run("a", "ip link set qs0 down; ip link set qs0 up"),
               lambda: (until(lambda: running("a", "qs0"), "carrier"), net.known()))


def torture(net, dst, top):
    """All changes; the results of program and checker."""
    batch("a", f"neigh replace {dst} lladdr {MAC} dev va")
    # So that c gets datagrams, not what they are cut from
    net.run("a", "ethtool -K va tx-udp-segmentation off tx-gso-list off")
    files = [Capture("qs0-mon", f"{top}/wire.pcap"), Capture("vc", f"{top}/veth.pcap", "c")]
    run = Torture(dst)
    try:
        for held, begin, end in changes(net, dst):
            run.go_on()
            if held:
                if held == "door":
                    net.mute()
                else:
                    knob("qs0", "hold_tx", 1)
                run.go_on()
            begin()
            if held == "door":
                net.known()
            elif held:
                net.release()
            run.go_on()
            if end:
                end()
        run.go_on()
    except Exception:
        run.proc.kill()
        raise
    finally:
        net.release()
    told, err = run.stop()
    for f in files:
        f.stop()
    return told, err, check(*(f.name for f in files))


def judge(told, err, seen):
    """What is missing or wrong, or nothing."""
    passed, counts, why = seen
    if not passed or told["odd"] or told["not_copied"]:
        return f"{why} {err}"
    for key in ("zerocopy", "uring", "plain", "spliced", "updates", "stale", "copied", "tx-dev",
                "tx-sw-seal", "tx-resealed"):
        if not told.get(key):
            return f"{key} is 0"
    if counts["gens"] < 2 or counts["numbers"] < 1000:
        return "the captures have too little"
    return None


def main():
    """Self-test, then one torture over each IP version."""
    top = tempfile.mkdtemp()
    ksft.plan(5 + 2 * ROUNDS)
    forged(top)
    txnet.warm()
    # Each run begins with the first key again, so that its captures are judged alone
    for dst in (V4, V6) * ROUNDS:
        with Bed(fresh=True) as net, sinks("b", "c"):
            told, err, seen = torture(net, dst, top)
        ksft.check(f"one content to one number, {dst}", not judge(told, err, seen),
                   judge(told, err, seen))
        ksft.diag(f"sender {told}")
        ksft.diag(f"captures {seen[1]}")
    shutil.rmtree(top)


ksft.run(main)
