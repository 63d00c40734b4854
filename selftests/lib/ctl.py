# SPDX-License-Identifier: GPL-2.0
"""Requests to the family quic-offload through the kernel's own ynl client, which
is in $YNL, and what tests of them need."""

import ctypes
import errno
import os
import platform
import signal
import socket
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# ynl is a package of the name lib
sys.path.insert(0, os.environ.get("YNL", ""))

import ksft  # noqa: E402
from lib import NlError, YnlFamily  # noqa: E402

TIMEOUT = 300
SPEC = os.path.join(HERE, "../../Documentation/netlink/specs/quic-offload.yaml")
NETIF = os.environ.get("NETIF")
QOFF_CMSG = 0x51554943
SOL_UDP = 17
UDP_CORK, UDP_ENCAP, UDP_NO_CHECK6_TX, UDP_GRO = 1, 100, 101, 104
IPV6_ADDRFORM = 1
PN_MAX = (1 << 62) - 1
KEY_LENS = {"aes-128-gcm": 16, "aes-256-gcm": 32, "chacha20-poly1305": 32,
            "aes-128-ccm": 16}


class Nl:
    """The family, as this process sees it."""

    def __init__(self):
        self.family = YnlFamily(SPEC, schema="")

    def __call__(self, name, **attrs):
        return self.family.do(name, {k.replace("_", "-"): v
                                     for k, v in attrs.items()})

    def dump(self, name):
        """Every answer to a dump."""
        return self.family.dump(name, {})


_serial = 0
_nl = None


def NL(name, **attrs):  # pylint: disable=invalid-name
    """A request in the namespace where the test started."""
    return _nl(name, **attrs)


def dump(name):
    """A dump in that namespace."""
    return _nl.dump(name)


def secret(size):
    """Bytes that no other key has."""
    global _serial
    _serial += 1
    return struct.pack("<IQ", 0x51, _serial).ljust(size, b"k")[:size]


def udp(family=socket.AF_INET, bind=True, port=0):
    """A UDP socket on the loopback address."""
    s = socket.socket(family, socket.SOCK_DGRAM)
    if bind:
        s.bind(("127.0.0.1" if family == socket.AF_INET else "::1", port))
    return s


def attached(dcid_len=8, **kw):
    """An attached socket."""
    s = udp(**kw)
    NL("sock-attach", fd=s.fileno(), dcid_len=dcid_len)
    return s


def ctx_attrs(s, cipher="aes-128-gcm", **kw):
    """What ctx-add needs; a value of None leaves the attribute out."""
    size = KEY_LENS.get(cipher, 16)
    a = {"fd": s.fileno(), "cipher": cipher, "dcid_len": 8, "phase": 0,
         "key": secret(size), "iv": secret(12), "hp_key": secret(size)}
    a.update(kw)
    return {k: v for k, v in a.items() if v is not None}


def flow_attrs(s, **kw):
    """What flow-add needs, without keys."""
    a = {"fd": s.fileno(), "local_addr": socket.inet_aton("127.0.0.1"),
         "remote_addr": socket.inet_aton("127.0.0.1"), "remote_port": 4433,
         "dcid": secret(8)}
    a.update(kw)
    return {k: v for k, v in a.items() if v is not None}


def keys(cipher="aes-128-gcm", **kw):
    """What a flow's first key needs."""
    size = KEY_LENS.get(cipher, 16)
    a = {"cipher": cipher, "phase": 0, "key": secret(size), "iv": secret(12),
         "hp_key": secret(size), "key_gen": 1}
    a.update(kw)
    return {k: v for k, v in a.items() if v is not None}


def disconnect(s):
    """connect() with AF_UNSPEC."""
    libc = ctypes.CDLL(None, use_errno=True)
    addr = struct.pack("H14x", socket.AF_UNSPEC)
    if libc.connect(s.fileno(), addr, len(addr)):
        raise OSError(ctypes.get_errno(), "connect AF_UNSPEC")


def send(s, ctx, pn, n=2, size=200, phase=0, flags=0, to=(), dcid=b"d" * 8):
    """A super-packet of equal segments."""
    seg = bytes([0x43 | phase << 2]) + dcid
    data = b"".join(seg + struct.pack(">I", pn + i) + b"p" * (size - 29) + bytes(16)
                    for i in range(n))
    head = struct.pack("HHHHIIQQ", 32, 8, n, 0, ctx["id"], ctx["gen"], pn, 0)
    head += struct.pack("HHI", size, 0, 0) * n
    return s.sendmsg([data], [(SOL_UDP, QOFF_CMSG, head)], flags, *to)


def bpf(cmd, attr):
    """bpf(2)."""
    nr = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    buf = ctypes.create_string_buffer(attr, len(attr))
    libc = ctypes.CDLL(None, use_errno=True)
    got = libc.syscall(nr, cmd, buf, len(attr))
    if got < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return got


def receive(s, seconds=60):
    """What the next receive of an attached socket brings: bytes, cookie, how many of
    its segments were opened and failed."""
    s.settimeout(seconds)
    data, anc, _, _ = s.recvmsg(1 << 16, 8192)
    for level, kind, rec in anc:
        if (level, kind) == (SOL_UDP, QOFF_CMSG):
            return data, struct.unpack_from("Q", rec, 8)[0], *struct.unpack_from("HH", rec, 40)
    raise OSError("no receive record")


class Deadline:
    """A bound for waiting."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def over(self):
        """Has it passed?"""
        return time.monotonic() > self.end


def until(what, seconds=20):
    """Wait until what() is true or the time is over; its last answer."""
    d = Deadline(seconds)
    while True:
        got = what()
        if got or d.over():
            return got
        time.sleep(0.02)


_tests = []


def case(fn):
    """A function with results; its docstring is a heading."""
    _tests.append(fn)
    return fn


def refused(name, code, text, op, nl=None, **attrs):
    """The request fails with this errno, and extack has this text or names the
    attribute (text "-attr" is the missing one, ".attr" the bad one)."""
    try:
        got = (nl or NL)(op, **attrs)
    except NlError as e:
        ext = e.nl_msg.extack or {}
        msg = ext.get("msg", "")
        if text.startswith("-"):
            has = "miss-type" in ext or "miss-nest" in ext
        elif text.startswith("."):
            has = "bad-attr" in ext or "bad-attr-offs" in ext or msg
        else:
            has = text in msg
        ksft.check(name, e.error == code and has,
                   f"{errno.errorcode.get(e.error, e.error)} {ext}, wanted "
                   f"{errno.errorcode[code]} '{text}'")
    else:
        ksft.fail(name, f"accepted: {got}")


def oserror(name, code, fn, *args):
    """The call fails with this errno."""
    try:
        fn(*args)
    except OSError as e:
        ksft.check(name, e.errno == code, f"{e}, wanted {errno.errorcode[code]}")
    else:
        ksft.fail(name, "no error")


def main():
    """Run the cases that the command line names, or all."""
    global _nl
    if os.geteuid():
        raise ksft.SkipAll("needs root")
    try:
        _nl = Nl()
    except Exception as e:  # pylint: disable=broad-except
        raise ksft.SkipAll(f"family quic-offload: {e}") from e
    wanted = sys.argv[1:]
    print("TAP version 13", flush=True)
    for fn in _tests:
        if wanted and fn.__name__ not in wanted:
            continue
        ksft.diag(fn.__doc__)
        signal.alarm(TIMEOUT)
        fn()
        signal.alarm(0)
    print(f"1..{ksft.done()}", flush=True)
