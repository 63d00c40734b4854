# SPDX-License-Identifier: GPL-2.0
"""Namespaces, and transfers with tx_tool, for the tests of the transmit path."""

import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.environ.get("TX_TOOL") or os.path.join(
    HERE, "..", "..", "build", "selftests", "tx_tool")


def sh(cmd, check=True, text=None):
    """Run a shell command, with text as its input; return its output."""
    done = subprocess.run(cmd, shell=True, text=True, input=text, capture_output=True,
                          check=False)
    if check and done.returncode:
        raise RuntimeError(f"{cmd}: {done.stderr.strip()}")
    return done.stdout


class Net:
    """Some namespaces that vanish at the end."""

    def __init__(self, *names):
        self.names = names

    def __enter__(self):
        conf = " ".join(f"net.ipv6.conf.{i}.accept_dad=0 net.ipv4.conf.{i}.rp_filter=0"
                        for i in ("all", "default"))
        sh("".join(f"ip netns add {ns}; ip -n {ns} link set lo up; "
                   f"nsenter --net=/run/netns/{ns} sysctl -qw {conf};" for ns in self.names))
        return self

    def __exit__(self, *_):
        sh("".join(f"ip netns del {ns};" for ns in self.names), check=False)

    @staticmethod
    def run(ns, *cmds):
        """Shell commands in a namespace."""
        sh(f"nsenter --net=/run/netns/{ns} sh -c '{' && '.join(cmds)}'")

    @staticmethod
    def veth(ns1, dev1, ns2, dev2):
        """A veth pair that is up."""
        sh(f"ip link add {dev1} netns {ns1} type veth peer name {dev2} netns {ns2}")
        sh(f"ip -n {ns1} link set {dev1} up; ip -n {ns2} link set {dev2} up")

    @staticmethod
    def addr(ns, dev, *addrs):
        """Addresses with prefix lengths."""
        sh("; ".join(f"ip -n {ns} addr add {a} dev {dev}" + " nodad" * (":" in a)
                     for a in addrs))


class Receiver:
    """tx_tool recv; the result is there after stop()."""

    def __init__(self, ns, common="", taps=(), gro=False, idle=4000, v4=False,
                 wire=None):
        args = f"{TOOL} recv"
        # Before --netns: a tap out here
        args += f" --wire {wire}" if wire else ""
        args += f" --netns {ns} {common} --timeout {idle}"
        args += " --gro" if gro else ""
        args += " --v4" if v4 else ""
        for tap in taps:
            args += f" --tap {tap}"
        self.proc = subprocess.Popen(args.split(), stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        line = self.proc.stdout.readline()
        if line != "ready\n":
            raise RuntimeError(f"{args}: no receiver")

    def stop(self):
        """Nothing more was sent: wait until it is quiet."""
        self.proc.stdin.close()
        out = self.proc.stdout.read()
        self.proc.wait()
        return json.loads(out)


def send(ns, dst, common="", extra=""):
    """One tx_tool send; its result."""
    return json.loads(sh(f"{TOOL} send --netns {ns} --dst {dst} {common} {extra}"))


def transfer(src, dst_ns, dst, common="", extra="", **recv):
    """Receiver, sender, both results."""
    rx = Receiver(dst_ns, common, **recv)
    try:
        tx = send(src, dst, common, extra)
    except Exception:
        rx.stop()
        raise
    return tx, rx.stop()
