# SPDX-License-Identifier: GPL-2.0
"""Namespaces, and transfers with tx_tool, for the tests of the transmit path.

Under emulation most of a test's time is the starting of programs, so that what
Python can do itself is done here, and ip gets its commands by the batch.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "..", "build", "selftests")
TOOL = os.environ.get("TX_TOOL") or os.path.join(BUILD, "tx_tool")
HOOK = os.path.join(BUILD, "tx_hook")
FULL = bool(os.environ.get("QOFF_FULL"))
LIMIT = 60

_HOME = open("/proc/self/ns/net", "rb")     # pylint: disable=consider-using-with
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_IFF_UP, _IFF_RUNNING = 0x1, 0x40


def until(cond, what):
    """Poll until cond() holds."""
    end = time.monotonic() + LIMIT
    while not cond():
        if time.monotonic() > end:
            raise RuntimeError(f"timed out: {what}")
        time.sleep(0.02)


def sh(cmd, check=True, text=None):
    """Run a shell command, with text as its input; return its output."""
    done = subprocess.run(cmd, shell=True, text=True, input=text, capture_output=True,
                          check=False)
    if check and done.returncode:
        raise RuntimeError(f"{cmd}: {done.stderr.strip()}")
    return done.stdout


def warm():
    """In a lab guest: programs and libraries from memory instead of over 9p, where
    each start of a program takes dozens of slow calls. Touching copies them up.
    """
    global TOOL, HOOK
    if not os.path.exists("/src/kernel/lab/guest-run"):
        return
    TOOL, HOOK = (shutil.copy(os.path.realpath(x), "/run") for x in (TOOL, HOOK))
    names = [shutil.which(x) for x in ("sh", "ip", "tc", "nft", "ethtool", "sleep")]
    libs = re.findall(r"/\S+", sh(f"ldd {TOOL} {HOOK} {' '.join(names)}"))
    sh(f"touch -c {' '.join({os.path.realpath(x.rstrip(':')) for x in names + libs})} "
       "/etc/ld.so.cache")


@contextlib.contextmanager
def inside(ns):
    """The calling thread, and what it starts, in a namespace."""
    with open(f"/run/netns/{ns}", "rb") as there:
        os.setns(there.fileno(), os.CLONE_NEWNET)
    try:
        yield
    finally:
        os.setns(_HOME.fileno(), os.CLONE_NEWNET)


def batch(ns, *lines, tool="ip"):
    """Commands for one ip or tc, in a namespace or (None) at home."""
    where = f"-n {ns} " if ns else ""
    sh(f"{tool} {where}-batch -", text="\n".join(lines) + "\n")


def sysctl(ns, **values):
    """Settings below net/, with __ for / in their names."""
    with inside(ns):
        for name, value in values.items():
            path = "/proc/sys/net/" + name.replace("__", "/")
            with open(path, "w", encoding="ascii") as f:
                f.write(str(value))


def _flags(dev, request, flags=0):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        out = fcntl.ioctl(s, request, struct.pack("16sh22x", dev.encode(), flags))
    return struct.unpack("16sh22x", out)[1]


def up(ns, *devs):
    """Set devices up."""
    with inside(ns):
        for dev in devs:
            _flags(dev, _SIOCSIFFLAGS, _flags(dev, _SIOCGIFFLAGS) | _IFF_UP)


def running(ns, dev):
    """Is it up, with a carrier?"""
    with inside(ns):
        return bool(_flags(dev, _SIOCGIFFLAGS) & _IFF_RUNNING)


class Net:
    """Some namespaces that vanish at the end."""

    def __init__(self, *names):
        self.names = names

    def __enter__(self):
        batch(None, *(f"netns add {ns}" for ns in self.names))
        for ns in self.names:
            up(ns, "lo")
            for i in ("all", "default"):
                sysctl(ns, **{f"ipv6__conf__{i}__accept_dad": 0,
                              f"ipv4__conf__{i}__rp_filter": 0})
        return self

    def __exit__(self, *_):
        batch(None, *(f"netns del {ns}" for ns in self.names))

    @staticmethod
    def run(ns, *cmds):
        """Shell commands in a namespace."""
        with inside(ns):
            sh(" && ".join(cmds))

    @staticmethod
    def veth(ns1, dev1, ns2, dev2, mac=None):
        """A veth pair that is up; @mac of the second."""
        sh(f"ip link add {dev1} netns {ns1} type veth peer name {dev2} netns {ns2}" +
           f" address {mac}" * bool(mac))
        up(ns1, dev1)
        up(ns2, dev2)

    @staticmethod
    def addr(ns, dev, *addrs):
        """Addresses with prefix lengths."""
        batch(ns, *(f"addr add {a} dev {dev}" + " nodad" * (":" in a) for a in addrs))


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
        # pylint: disable-next=consider-using-with
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

    def kill(self):
        """Something else went wrong."""
        self.proc.kill()
        self.proc.wait()


class Sender:
    """tx_tool send --hold: it sends, and keeps its socket until end()."""

    def __init__(self, ns, dst, args=""):
        # pylint: disable-next=consider-using-with
        self.proc = subprocess.Popen(
            f"{TOOL} send --netns {ns} --dst {dst} --hold {args}".split(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def _line(self):
        line = self.proc.stdout.readline()
        if not line:
            raise RuntimeError(f"sender: {self.proc.stderr.read()}")
        return json.loads(line)

    def sent(self):
        """Wait until sendmsg was called for everything."""
        return self._line()

    def drain(self):
        """Wait until the stack and the device have let go of all of it."""
        if self.proc.stdin.closed:
            return
        self.proc.stdin.write("d")
        self.proc.stdin.flush()
        left = self._line()["left"]
        if left:
            raise RuntimeError(f"{left} bytes are stuck on the way")

    def end(self):
        """Close the socket; the final counters."""
        self.proc.stdin.close()
        out = self.proc.stdout.read().strip().splitlines()
        self.proc.wait()
        return json.loads(out[-1])

    def kill(self):
        """Something else went wrong."""
        self.proc.kill()
        self.proc.wait()


class Hook:
    """tx_hook: a program in the path, until stop()."""

    def __init__(self, args):
        # pylint: disable-next=consider-using-with
        self.proc = subprocess.Popen(f"{HOOK} {args}".split(), stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.proc.stdout.readline() != "ready\n":
            raise RuntimeError(f"tx_hook {args}: {self.proc.stderr.read()}")

    def stop(self):
        """Take it away; what it saw, if it looks."""
        self.proc.stdin.close()
        out = self.proc.stdout.read()
        self.proc.wait()
        return json.loads(out) if out else None


def send(ns, dst, common="", extra=""):
    """One tx_tool send; its result."""
    return json.loads(sh(f"{TOOL} send --netns {ns} --dst {dst} {common} {extra}"))


def transfer(src, dst_ns, dst, common="", extra="", **recv):
    """Receiver, sender, both results."""
    rx = Receiver(dst_ns, common, **recv)
    try:
        tx = send(src, dst, common, extra)
    except Exception:
        rx.kill()
        raise
    return tx, rx.stop()
