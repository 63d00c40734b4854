#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Lifetimes: contexts and flows follow their device up, down, through resets and
away; sockets, keys and the module outlive what is still in flight.

Needs what control.py needs, a quicsim port in NETIF, and debugfs.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import ctl  # noqa: E402
import ksft  # noqa: E402
from ctl import (NETIF, NL, NlError, attached, bpf, case, ctx_attrs,  # noqa: E402
                 flow_attrs, keys, receive, refused, secret, send, udp, until)

DEBUGFS = "/sys/kernel/debug/quicsim"
LOCAL, REMOTE = "198.51.100.1", "198.51.100.2"
SWITCHES = {"quic-gso": "gso", "quic-gro": "gro", "quic-tx-crypto": "tx-crypto",
            "quic-rx-crypto": "rx-crypto"}
SIOCOUTQ = 0x5411


def run(*words):
    """A command that must work."""
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def fault(name, value):
    """Set a fault of the port."""
    with open(f"{DEBUGFS}/{NETIF}/{name}", "w", encoding="ascii") as f:
        f.write(f"{value}\n")


def device():
    """The device's state, None when it is not registered."""
    try:
        return NL("dev-get", ifindex=socket.if_nametoindex(NETIF))
    except NlError:
        return None


def switch(*on):
    """Exactly these features are on."""
    d = device()
    if "ethtool" in d:
        run("ethtool", "-K", NETIF, *sum(([n, "on" if f in on else "off"]
                                          for n, f in SWITCHES.items()), []))
    else:
        NL("dev-set", id=d["id"], features=set(on))


def carrier():
    """Is the other port up too?"""
    with open(f"/sys/class/net/{NETIF}/carrier", encoding="ascii") as f:
        return f.read().strip() == "1"


def setup():
    """An address on the port, and a neighbour that need not answer."""
    run("ip", "addr", "replace", f"{LOCAL}/24", "dev", NETIF)
    run("ip", "link", "set", NETIF, "up")
    if not until(carrier):
        raise ksft.SkipAll(f"{NETIF} has no carrier: is the other port up?")
    run("ip", "neigh", "replace", REMOTE, "lladdr", "02:00:00:00:00:02", "dev",
        NETIF, "nud", "permanent")


def connected(port=0):
    """An attached socket that is connected through the port."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((LOCAL, port))
    s.connect((REMOTE, 4433))
    NL("sock-attach", fd=s.fileno(), dcid_len=8)
    return s


def via(s, **kw):
    """A flow through the port."""
    return flow_attrs(s, local_addr=socket.inet_aton(LOCAL),
                      remote_addr=socket.inet_aton(REMOTE), **kw)


def in_device(op, **kw):
    """Is the context or flow in the device?"""
    return "dev-id" in NL(op, **kw)


def unsent(s):
    """Bytes of the socket that are still queued."""
    return struct.unpack("i", fcntl.ioctl(s, SIOCOUTQ, bytes(4)))[0]


def placed(name, s, ctx, want):
    """The data path asks for the move, so packets are sent meanwhile."""
    def there():
        placed.pn += 10
        try:
            send(s, ctx, placed.pn)
        except OSError as e:
            if e.errno not in (errno.ENETUNREACH, errno.EAGAIN, errno.ENOBUFS):
                raise
        return in_device("ctx-get", fd=s.fileno(), id=ctx["id"]) == want
    ksft.check(name, until(there), str(device()))


placed.pn = 1000


@case
def follow():
    """contexts and flows follow the device"""
    setup()
    switch("gso", "gro", "tx-crypto", "rx-crypto")
    with connected() as s:
        fd = s.fileno()
        c = NL("ctx-add", **ctx_attrs(s))
        f = NL("flow-add", **via(s, **keys()))["id"]
        flow = {"fd": fd, "id": f}

        def flow_is(name, want):
            ksft.check(name, until(lambda: in_device("flow-get", **flow) == want))

        ksft.check("follow: ctx-add on a connected socket places at once",
                   in_device("ctx-get", fd=fd, id=c["id"]))
        ksft.check("follow: flow-add places at once", in_device("flow-get", **flow))
        placed("follow: still there after sending", s, c, True)
        fault("reset", 1)
        placed("follow: back after a reset", s, c, True)
        flow_is("follow: flow back after a reset", True)
        run("ip", "link", "set", NETIF, "down")
        ksft.check("follow: down takes the context out", until(
            lambda: not in_device("ctx-get", fd=fd, id=c["id"])))
        flow_is("follow: down takes the flow out", False)
        setup()
        placed("follow: back after up", s, c, True)
        flow_is("follow: flow back after up", True)
        switch("gso", "gro")
        placed("follow: out when tx-crypto goes off", s, c, False)
        flow_is("follow: a flow stays for coalescing", True)
        switch()
        flow_is("follow: and goes with gro", False)
        switch("gso", "gro", "tx-crypto", "rx-crypto")
        placed("follow: back when it is on", s, c, True)
        flow_is("follow: flow back when it is on", True)
        fault("registered", 0)
        ksft.check("follow: the device is gone", device() is None)
        placed("follow: in software without a device", s, c, False)
        flow_is("follow: flow in software without a device", False)
        fault("registered", 1)
        switch("gso", "gro", "tx-crypto", "rx-crypto")
        placed("follow: back in the new device", s, c, True)
        flow_is("follow: flow back in the new device", True)
        NL("ctx-update", fd=fd, id=c["id"], gen=c["gen"], phase=1,
           key=secret(16), iv=secret(12))
        placed.pn += 10
        send(s, c, placed.pn, phase=1)
        ksft.check("follow: still in the device after a key update",
                   in_device("ctx-get", fd=fd, id=c["id"]))
        fault("refuse_ctx", 28)
        with connected() as o:
            n = NL("ctx-add", **ctx_attrs(o))
            ksft.check("follow: a refused context works in software",
                       not in_device("ctx-get", fd=o.fileno(), id=n["id"]) and
                       send(o, n, 1))
        fault("refuse_ctx", 0)


@case
def namespace_move():
    """a device that moves to another namespace takes nothing with it"""
    setup()
    switch("gso", "tx-crypto")
    with connected() as s:
        c = NL("ctx-add", **ctx_attrs(s))
        dev = device()["id"]
        run("ip", "netns", "add", "qofflife")
        run("ip", "link", "set", NETIF, "netns", "qofflife")
        ksft.check("move: the context is out", not in_device(
            "ctx-get", fd=s.fileno(), id=c["id"]))
        refused("move: the device is not seen any more", errno.ENODEV, "no such",
                "dev-get", id=dev)
        run("ip", "-n", "qofflife", "link", "set", NETIF, "netns", str(os.getpid()))
        run("ip", "netns", "del", "qofflife")
        setup()
        ksft.check("move: the same device when it is back", device()["id"] == dev)
        switch("gso", "tx-crypto")
        placed("move: the context is back", s, c, True)


@case
def in_flight():
    """close, delete and key update with super-packets held by the device"""
    setup()
    switch("gso", "tx-crypto")
    s = connected()
    key = secret(16)
    c = NL("ctx-add", **ctx_attrs(s, key=key))
    placed("flight: in the device", s, c, True)
    until(lambda: unsent(s) == 0)
    fault("hold_tx", 1)
    placed.pn += 10
    send(s, c, placed.pn)
    up = {"fd": s.fileno(), "id": c["id"], "gen": c["gen"]}
    NL("ctx-update", **up, phase=1, key=secret(16), iv=secret(12))
    placed.pn += 10
    send(s, c, placed.pn, phase=1)
    ksft.check("flight: the packets are held", unsent(s) > 0)
    refused("flight: update of a slot in flight", errno.EBUSY, "in flight",
            "ctx-update", **up, phase=0, key=secret(16), iv=secret(12))
    NL("ctx-del", fd=s.fileno(), id=c["id"], gen=c["gen"])
    with attached() as o:
        refused("flight: a deleted context's key is in use", errno.EEXIST,
                "installed already", "ctx-add", **ctx_attrs(o, key=key))
    before = NL("dev-stats-get", id=device()["id"])["stats"]["tx-segs"]
    s.close()
    p = subprocess.run(["rmmod", "quic_offload"], capture_output=True, check=False)
    ksft.check("flight: rmmod while packets hold the socket", p.returncode != 0)
    fault("hold_tx", 0)
    ksft.check("flight: what was in flight is sent after close", until(
        lambda: NL("dev-stats-get", id=device()["id"])["stats"]["tx-segs"] >=
        before + 4), str(NL("dev-stats-get", id=device()["id"])))

    def again():
        with attached() as o:
            try:
                return NL("ctx-add", **ctx_attrs(o, key=key))
            except NlError as e:
                assert e.error == errno.EEXIST
                return None

    ksft.check("flight: then the key is free", until(again))


@case
def device_goes():
    """the device is unregistered while it holds super-packets"""
    setup()
    switch("gso", "tx-crypto")
    with connected() as s:
        c = NL("ctx-add", **ctx_attrs(s))
        placed("goes: in the device", s, c, True)
        fault("hold_tx", 1)
        for _ in range(4):
            placed.pn += 10
            send(s, c, placed.pn)
        fault("registered", 0)
        placed.pn += 10
        ksft.check("goes: the next is sealed in software", send(s, c, placed.pn))
        fault("hold_tx", 0)
        ksft.check("goes: everything leaves the socket", until(
            lambda: unsent(s) == 0), f"{unsent(s)} bytes left")
        fault("registered", 1)
        switch("gso", "tx-crypto")
        placed("goes: back in the new device", s, c, True)


def map_put(fd, index, sock):
    """Store a socket in a map."""
    key = ctypes.create_string_buffer(struct.pack("I", index))
    val = ctypes.create_string_buffer(struct.pack("I", sock.fileno()))
    bpf(2, struct.pack("IxxxxQQQ", fd, ctypes.addressof(key),
                       ctypes.addressof(val), 0))


@case
def bpf_maps():
    """sockmap and reuseport array: neither can take our functions, nor we theirs"""
    for name, kind in (("sockmap", 15), ("reuseport array", 20)):
        try:
            fd = bpf(0, struct.pack("IIIII", kind, 4, 4, 4, 0))
        except (OSError, KeyError) as e:
            ksft.skip(f"bpf: {name}", f"map: {e}")
            continue
        for family in (socket.AF_INET, socket.AF_INET6):
            with udp(family, bind=False) as s, udp(family, bind=False) as a:
                for x in (s, a):
                    x.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                    x.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
                NL("sock-attach", fd=a.fileno(), dcid_len=8)
                try:
                    map_put(fd, 0, a)
                    ksft.fail(f"bpf: {name} takes an attached socket")
                except OSError as e:
                    ksft.check(f"bpf: {name} refuses an attached socket",
                               e.errno in (errno.EBUSY, errno.EOPNOTSUPP,
                                           errno.EINVAL), str(e))
                map_put(fd, 1, s)
                try:
                    NL("sock-attach", fd=s.fileno(), dcid_len=8)
                    ksft.fail(f"bpf: attach of a socket in a {name}")
                except NlError as e:
                    ksft.check(f"bpf: attach of a socket in a {name}, family {family}",
                               e.error in (errno.EBUSY, errno.EOPNOTSUPP), str(e))
                NL("ctx-add", **ctx_attrs(a))
        os.close(fd)


@case
def route_change():
    """a flow leaves the device when the route does, and comes back with it"""
    setup()
    switch("gso", "gro", "tx-crypto", "rx-crypto")
    run("ip", "link", "add", "qdummy", "type", "dummy")
    try:
        run("ip", "link", "set", "qdummy", "up")
        with connected() as s:
            c = NL("ctx-add", **ctx_attrs(s))
            flow = {"fd": s.fileno(), "id": NL("flow-add", **via(s, **keys()))["id"]}
            ksft.check("route: the flow is in the device", in_device("flow-get", **flow))
            run("ip", "route", "add", f"{REMOTE}/32", "dev", "qdummy")
            ksft.check("route: it leaves with the route",
                       until(lambda: not in_device("flow-get", **flow)))
            ksft.check("route: a send takes the new route", send(s, c, 1))
            run("ip", "route", "del", f"{REMOTE}/32")
            ksft.check("route: it comes back with the route",
                       until(lambda: in_device("flow-get", **flow)))
            placed.pn += 10
            placed("route: and so does the context", s, c, True)
    finally:
        run("ip", "link", "del", "qdummy")


@case
def link_local():
    """flows of one link-local address on two interfaces are two flows"""
    peers = ("qoffl0", "qoffl1")
    for ns in peers:
        run("ip", "netns", "add", ns)
        run("ip", "link", "add", ns, "type", "veth", "peer", "name", "p", "netns", ns)
        for where, addr in ((["-n", ns], "fe80::b/64"), ([], "fe80::a/64")):
            dev = "p" if where else ns
            run("ip", *where, "addr", "add", addr, "dev", dev, "nodad")
            run("ip", *where, "link", "set", dev, "up")
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
            s.bind(("::", 0))
            NL("sock-attach", fd=s.fileno(), dcid_len=8)
            index = [socket.if_nametoindex(ns) for ns in peers]
            f = flow_attrs(s, local_addr=socket.inet_pton(socket.AF_INET6, "fe80::a"),
                           remote_addr=socket.inet_pton(socket.AF_INET6, "fe80::b"))
            refused("local: a link-local flow without its interface", errno.EINVAL,
                    "needs scope-id", "flow-add", **f)
            refused("local: an interface for other addresses", errno.EINVAL,
                    "link-local addresses only", "flow-add",
                    **flow_attrs(s, scope_id=index[0]))
            for i in (0, 1):
                fid = NL("flow-add", **f, scope_id=index[i], cookie=70 + i)["id"]
                ksft.check(f"local: flow {i} shows its interface", NL(
                    "flow-get", fd=s.fileno(), id=fid).get("scope-id") == index[i])
            refused("local: the same once more", errno.EEXIST, "exists", "flow-add", **f,
                    scope_id=index[1])
            port = s.getsockname()[1]
            code = ("import socket, sys; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); "
                    "s.bind(('fe80::b', 4433, 0, socket.if_nametoindex('p'))); "
                    "s.sendto(bytes.fromhex(sys.argv[1]), ('fe80::a', int(sys.argv[2]), 0, "
                    "socket.if_nametoindex('p')))")
            for i in (1, 0, 1):
                run("ip", "netns", "exec", peers[i], sys.executable, "-c", code,
                    (b"\x43" + f["dcid"] + bytes(40)).hex(), str(port))
                got = receive(s)
                ksft.check(f"local: a packet of interface {i} is of its flow",
                           got[1] == 70 + i, str(got))
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
            s.bind(("fe80::a", 0, 0, index[0]))
            NL("sock-attach", fd=s.fileno(), dcid_len=8)
            refused("local: not the interface of the socket", errno.EINVAL,
                    "another interface", "flow-add", **f | {"fd": s.fileno()},
                    scope_id=index[1])
            fid = NL("flow-add", **f | {"fd": s.fileno()})["id"]
            ksft.check("local: the socket's interface is the default", NL(
                "flow-get", fd=s.fileno(), id=fid).get("scope-id") == index[0])
    finally:
        for ns in peers:
            run("ip", "netns", "del", ns)


@contextlib.contextmanager
def peer():
    """The other port in a namespace of its own; yields an attached socket there, and
    its family."""
    other = f"{NETIF[:-1]}1"
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    run("ip", "netns", "add", "qoffpeer")
    run("ip", "link", "set", other, "netns", "qoffpeer")
    run("ip", "-n", "qoffpeer", "addr", "add", f"{REMOTE}/24", "dev", other)
    run("ip", "-n", "qoffpeer", "link", "set", other, "up")
    subprocess.run(["ip", "neigh", "del", REMOTE, "dev", NETIF], check=False,
                   stderr=subprocess.DEVNULL)
    ns = os.open("/run/netns/qoffpeer", os.O_RDONLY)
    os.setns(ns, os.CLONE_NEWNET)
    try:
        nl = ctl.Nl()
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((REMOTE, 4433))
        nl("sock-attach", fd=s.fileno(), dcid_len=8)
    finally:
        os.setns(here, os.CLONE_NEWNET)
    try:
        with s:
            yield s, nl
    finally:
        run("ip", "-n", "qoffpeer", "link", "set", other, "netns", str(os.getpid()))
        run("ip", "netns", "del", "qoffpeer")
        run("ip", "link", "set", other, "up")
        os.close(ns)
        os.close(here)


def peer_flow(s, p, nl, ctx, dcid, cookie):
    """The peer's flow for what @s sends with @ctx."""
    nl("flow-add", fd=p.fileno(), local_addr=socket.inet_aton(REMOTE),
       remote_addr=socket.inet_aton(LOCAL), remote_port=s.getsockname()[1], dcid=dcid,
       cookie=cookie, key_gen=1, cipher="aes-128-gcm", phase=0,
       **{k: ctx[k] for k in ("key", "iv", "hp_key")})


@case
def last_words():
    """what was sent just before close() arrives; a slot used again seals as it should"""
    for features in ((), ("gso", "gro", "tx-crypto", "rx-crypto")):
        with peer() as (p, nl):
            setup_peer()
            switch(*features)
            with connected() as s:
                port = s.getsockname()[1]
                a = ctx_attrs(s)
                c = NL("ctx-add", **a)
                peer_flow(s, p, nl, a, b"d" * 8, 1)
                send(s, c, 1)
                ksft.check("last: opened by the peer", opened(p, 2) == {1: 2})
                fault("hold_tx", 1)
                send(s, c, 5, n=3)
                NL("ctx-del", fd=s.fileno(), id=c["id"], gen=c["gen"])
                a = ctx_attrs(s)
                n = NL("ctx-add", **a)
                ksft.check("last: the slot is used again", n["id"] == c["id"] and
                           n["gen"] != c["gen"])
                peer_flow(s, p, nl, a, b"e" * 8, 2)
                send(s, n, 1, dcid=b"e" * 8)
            fault("hold_tx", 0)
            got = opened(p, 5)
            ksft.check("last: each with its own key, after close()", got == {1: 3, 2: 2},
                       f"{features} {got} port {port}")


def opened(p, count):
    """How many of the next @count segments each flow has opened."""
    got = {}
    while count > 0:
        data, cookie, good, bad = receive(p)
        got[cookie] = got.get(cookie, 0) + good - 1000 * bad
        count -= max(good + bad, len(data) // 200, 1)
    return got


def setup_peer():
    """The port is up, and the other one answers."""
    run("ip", "addr", "replace", f"{LOCAL}/24", "dev", NETIF)
    run("ip", "link", "set", NETIF, "up")
    assert until(carrier)


@case
def revoked():
    """a super-packet that waits too long for its dead key is dropped"""
    if not os.environ.get("QOFF_FULL"):
        ksft.skip("revoked: all of it", "only with QOFF_FULL=1: it takes 30 s")
        return
    with peer() as (p, nl):
        setup_peer()
        switch("gso", "gro", "tx-crypto", "rx-crypto")
        with connected() as s:
            a = ctx_attrs(s)
            c = NL("ctx-add", **a)
            peer_flow(s, p, nl, a, b"d" * 8, 1)
            send(s, c, 1)
            ksft.check("revoked: opened by the peer", opened(p, 2) == {1: 2})
            placed("revoked: in the device", s, c, True)
            while receive_some(p):
                pass
            fault("busy_n", 1)
            fault("busy_m", 1)
            before = NL("dev-stats-get", id=device()["id"])["stats"]["tx-drop-key"]
            placed.pn += 10
            send(s, c, placed.pn)
            NL("ctx-del", fd=s.fileno(), id=c["id"], gen=c["gen"])
            # The key's last 15 seconds, and as long again for a slow machine
            end = time.monotonic() + 30
            until(lambda: time.monotonic() > end, 60)
            fault("busy_n", 0)
            fault("busy_m", 0)
            ksft.check("revoked: it is dropped, and counted", until(
                lambda: NL("dev-stats-get", id=device()["id"])["stats"]["tx-drop-key"] >
                before), str(NL("dev-stats-get", id=device()["id"])))
            ksft.check("revoked: nothing of it arrives", not receive_some(p))


def receive_some(s):
    """What is there already, or None."""
    try:
        return receive(s, 0.5)
    except TimeoutError:
        return None


@case
def churn():
    """many groups at once come and go, with the device resetting under them"""
    setup()
    switch("gso", "gro", "tx-crypto", "rx-crypto")
    count = 200 if os.environ.get("QOFF_FULL") else 20
    for i in range(count):
        with connected() as s:
            c = NL("ctx-add", **ctx_attrs(s))
            NL("flow-add", **via(s, **keys()))
            if i % 3 == 0:
                fault("reset", 1)
            send(s, c, 1)
            if i % 5 == 0:
                switch("gso", "gro")
                switch("gso", "gro", "tx-crypto", "rx-crypto")
    # A table of one entry: had anything stayed, there would be no room
    fault("table_limit", 1)
    with connected() as s, connected() as o:
        c = NL("ctx-add", **ctx_attrs(s))
        placed("churn: nothing is left in the device", s, c, True)
        n = NL("ctx-add", **ctx_attrs(o))
        ksft.check("churn: table full means software",
                   not in_device("ctx-get", fd=o.fileno(), id=n["id"]) and
                   send(o, n, 1))
    fault("table_limit", 0)
    switch()


if __name__ == "__main__":
    ksft.run(ctl.main)
