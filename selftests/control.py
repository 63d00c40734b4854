#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The control plane over netlink, through the kernel's own ynl client: every
refusal by errno and text, and what a refusal must not change.

Needs the module, root, and the kernel's tools/net/ynl in $YNL. With NETIF set to a
device that does QUIC offload its settings are tested too.
"""

import errno
import os
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import ctl  # noqa: E402
import ksft  # noqa: E402
from ctl import (IPV6_ADDRFORM, KEY_LENS, NETIF, NL, PN_MAX, SOL_UDP,  # noqa: E402
                 UDP_CORK, UDP_ENCAP, UDP_GRO, UDP_NO_CHECK6_TX, NlError, attached,
                 case, ctx_attrs, disconnect, dump, flow_attrs, keys, oserror,
                 refused, secret, udp, until)


@case
def attach():
    """attach: what is refused, and that the socket is as it was"""
    r = lambda name, code, text, **kw: refused(f"attach: {name}", code, text,
                                               "sock-attach", **kw)
    r("no fd", errno.EINVAL, "-fd", dcid_len=8)
    s = udp()
    r("no dcid-len", errno.EINVAL, "-dcid-len", fd=s.fileno())
    r("dcid-len 21", errno.ERANGE, ".dcid-len", fd=s.fileno(), dcid_len=21)
    r("rx-hdr-size 55", errno.ERANGE, ".rx-hdr-size", fd=s.fileno(), dcid_len=8,
      rx_hdr_size=55)
    r("rx-seg-size 23", errno.ERANGE, ".rx-seg-size", fd=s.fileno(), dcid_len=8,
      rx_seg_size=23)
    r("negative fd", errno.ERANGE, ".fd", fd=-1, dcid_len=8)
    r("fd that is not open", errno.EBADF, "file descriptor", fd=9999, dcid_len=8)
    with open("/dev/null", encoding="ascii") as f:
        r("fd of a file", errno.ENOTSOCK, "file descriptor", fd=f.fileno(),
          dcid_len=8)
    kinds = [("TCP", socket.AF_INET, socket.SOCK_STREAM, 0),
             ("unix", socket.AF_UNIX, socket.SOCK_DGRAM, 0),
             ("raw UDP", socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP),
             ("packet", socket.AF_PACKET, socket.SOCK_DGRAM, 0),
             ("UDP-Lite", socket.AF_INET, socket.SOCK_DGRAM, 136)]
    for name, family, kind, proto in kinds:
        with socket.socket(family, kind, proto) as o:
            r(f"{name} socket", errno.EPROTONOSUPPORT, "not a UDP socket",
              fd=o.fileno(), dcid_len=8)
    s.setsockopt(SOL_UDP, UDP_CORK, 1)
    r("corked", errno.EBUSY, "corked", fd=s.fileno(), dcid_len=8)
    s.setsockopt(SOL_UDP, UDP_CORK, 0)
    s.sendto(b"x", socket.MSG_MORE, ("127.0.0.1", 9))
    r("MSG_MORE pending", errno.EBUSY, "corked", fd=s.fileno(), dcid_len=8)
    s.setsockopt(SOL_UDP, UDP_CORK, 0)
    with udp() as o:
        o.setsockopt(SOL_UDP, UDP_ENCAP, 3)
        r("UDP_ENCAP", errno.EBUSY, "encapsulation", fd=o.fileno(), dcid_len=8)
    with udp(socket.AF_INET6) as o:
        o.setsockopt(SOL_UDP, UDP_NO_CHECK6_TX, 1)
        r("UDP_NO_CHECK6_TX", errno.EINVAL, "zero checksums", fd=o.fileno(),
          dcid_len=8)
    r("join-fd not attached", errno.EINVAL, "not attached", fd=s.fileno(),
      join_fd=s.fileno())
    with attached(dcid_len=5) as j:
        r("dcid-len not the group's", errno.EINVAL, "of the group",
          fd=s.fileno(), join_fd=j.fileno(), dcid_len=6)
        refused("attach: the socket is still a stock one", errno.ENOTCONN,
                "not attached", "sock-get", fd=s.fileno())
        got = NL("sock-attach", fd=s.fileno(), join_fd=j.fileno())
        ksft.check("attach: joins without dcid-len",
                   got["group"] == NL("sock-get", fd=j.fileno())["group"])
        ksft.check("attach: state shows the sizes",
                   NL("sock-get", fd=s.fileno())["rx-hdr-size"] == 56 and
                   NL("sock-get", fd=s.fileno())["dcid-len"] == 5)
    r("twice", errno.EBUSY, "attached already", fd=s.fileno(), dcid_len=5)
    s.close()


@case
def attach_kinds():
    """attach: bound, unbound, connected, IPv4, IPv6, v4-mapped, ADDRFORM"""
    for name, family, bind, conn in (
            ("unbound IPv4", socket.AF_INET, False, None),
            ("unbound IPv6", socket.AF_INET6, False, None),
            ("connected IPv4", socket.AF_INET, True, ("127.0.0.1", 4433)),
            ("connected IPv6", socket.AF_INET6, True, ("::1", 4433)),
            ("v4-mapped", socket.AF_INET6, False, ("::ffff:127.0.0.1", 4433))):
        with udp(family, bind) as s:
            if conn:
                s.connect(conn)
            NL("sock-attach", fd=s.fileno(), dcid_len=0)
            ksft.check(f"attach: {name}", NL("sock-get", fd=s.fileno()))
    with udp(socket.AF_INET6, False) as s:
        s.connect(("::ffff:127.0.0.1", 4433))
        s.setsockopt(socket.IPPROTO_IPV6, IPV6_ADDRFORM,
                     struct.pack("i", socket.AF_INET))
        NL("sock-attach", fd=s.fileno(), dcid_len=0)
        ksft.check("attach: IPv6 socket turned IPv4 by ADDRFORM",
                   NL("sock-get", fd=s.fileno()))


@case
def sockopts():
    """setsockopt: what would undo the attachment is refused"""
    for family in (socket.AF_INET, socket.AF_INET6):
        with attached(family=family) as s:
            for opt, val in ((UDP_CORK, 1), (UDP_ENCAP, 3), (UDP_GRO, 1),
                             (UDP_NO_CHECK6_TX, 1)):
                for level in (SOL_UDP, 136):
                    oserror(f"setsockopt: family {family} level {level} {opt}",
                            errno.EOPNOTSUPP, s.setsockopt, level, opt, val)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    with udp(socket.AF_INET6, False) as s:
        s.connect(("::ffff:127.0.0.1", 4433))
        NL("sock-attach", fd=s.fileno(), dcid_len=8)
        oserror("setsockopt: IPV6_ADDRFORM", errno.EOPNOTSUPP, s.setsockopt,
                socket.IPPROTO_IPV6, IPV6_ADDRFORM,
                struct.pack("i", socket.AF_INET))


@case
def icmp():
    """ICMP errors reach an attached socket as they do a stock one"""
    for family, addr in ((socket.AF_INET, "127.0.0.1"),
                         (socket.AF_INET6, "::1"),
                         (socket.AF_INET6, "::ffff:127.0.0.1")):
        for attach_it in (False, True):
            with socket.socket(family, socket.SOCK_DGRAM) as s:
                s.settimeout(5)
                if attach_it:
                    NL("sock-attach", fd=s.fileno(), dcid_len=8)
                s.connect((addr, 1))
                s.send(b"nobody there")
                what = "attached" if attach_it else "stock"
                oserror(f"icmp: ECONNREFUSED, {addr} {what}",
                        errno.ECONNREFUSED, s.recv, 100)
    with attached() as s:
        s.settimeout(5)
        s.setsockopt(socket.IPPROTO_IP, 11, 1)  # IP_RECVERR
        s.sendto(b"quoted", ("127.0.0.1", 1))
        oserror("icmp: unconnected with IP_RECVERR", errno.ECONNREFUSED, s.recv,
                100)
        data, anc, flags, addr = s.recvmsg(100, 512, socket.MSG_ERRQUEUE)
        ksft.check("icmp: error queue", data == b"quoted" and addr[1] == 1 and
                   flags & socket.MSG_ERRQUEUE and
                   struct.unpack_from("IBBB", anc[0][2])[:2] ==
                   (errno.ECONNREFUSED, 2), f"{data} {anc} {addr}")


@case
def ctx_refusals():
    """contexts: missing, malformed, wrong lengths, duplicates"""
    r = lambda name, code, text, op="ctx-add", **kw: refused(
        f"ctx: {name}", code, text, op, **kw)
    with attached() as s, udp() as plain:
        for attr in ("fd", "cipher", "dcid_len", "phase", "key", "iv", "hp_key"):
            r(f"without {attr}", errno.EINVAL, "-", **ctx_attrs(s, **{attr: None}))
        r("not attached", errno.ENOTCONN, "not attached", **ctx_attrs(plain))
        for c in (0, 5, 1 << 31):
            r(f"cipher {c}", errno.ERANGE, ".cipher", **ctx_attrs(s, cipher=c))
        for c, size in KEY_LENS.items():
            for n in sorted({0, size - 1, size + 1, 48 - size}):
                r(f"{c} key of {n}", errno.EINVAL, "key has the wrong length",
                  **ctx_attrs(s, c, key=secret(n)))
                r(f"{c} hp-key of {n}", errno.EINVAL,
                  "hp-key has the wrong length", **ctx_attrs(s, c, hp_key=secret(n)))
        for n in (0, 11, 13):
            r(f"iv of {n}", errno.ERANGE, ".iv", **ctx_attrs(s, iv=b"i" * n))
        r("phase 2", errno.ERANGE, ".phase", **ctx_attrs(s, phase=2))
        r("dcid-len 21", errno.ERANGE, ".dcid-len", **ctx_attrs(s, dcid_len=21))
        r("unknown flag", errno.EINVAL, ".flags", **ctx_attrs(s, flags=2))
        r("path-id 1", errno.EOPNOTSUPP, "reserved", **ctx_attrs(s, path_id=1))
        r("first-pn 2^62", errno.ERANGE, "2^62-1",
          **ctx_attrs(s, first_pn=PN_MAX + 1))
        k = secret(16)
        NL("ctx-add", **ctx_attrs(s, key=k))
        r("key twice in a group", errno.EEXIST, "installed already",
          **ctx_attrs(s, key=k))
        with attached() as o:
            r("key twice in a namespace", errno.EEXIST, "installed already",
              **ctx_attrs(o, key=k))
            NL("ctx-add", **ctx_attrs(o, "aes-128-ccm", key=k))
            ksft.ok("ctx: the same bytes for another cipher are another key")


@case
def ctx_life():
    """contexts: indices, generations, key update, deletion"""
    r = lambda name, code, text, op, **kw: refused(f"ctx: {name}", code, text,
                                                   op, **kw)
    with attached() as s:
        fd = s.fileno()
        k = secret(16)
        c = NL("ctx-add", **ctx_attrs(s, key=k, first_pn=77, phase=1, flags=1))
        g = NL("ctx-get", fd=fd, id=c["id"])
        ksft.check("ctx: state", g["next-pn"] == 77 and g["phase"] == 1 and
                   g["key-used"] == 0 and g["key-limit"] == 1 << 23 and
                   g["cipher"] == "aes-128-gcm" and g["gen"] == c["gen"] and
                   "key" not in g and "hp-key" not in g and "iv" not in g, str(g))
        up = {"fd": fd, "id": c["id"], "gen": c["gen"], "phase": 0,
              "key": secret(16), "iv": secret(12)}
        r("update: unknown id", errno.ENOENT, "no context", "ctx-update",
          **dict(up, id=c["id"] + 1))
        r("update: other generation", errno.ESTALE, "another generation",
          "ctx-update", **dict(up, gen=c["gen"] + 1))
        r("update: phase of the newest key", errno.EINVAL, "has this phase",
          "ctx-update", **dict(up, phase=1))
        r("update: key length", errno.EINVAL, "wrong length", "ctx-update",
          **dict(up, key=secret(32)))
        r("update: a key that is installed", errno.EEXIST, "installed already",
          "ctx-update", **dict(up, key=k))
        for attr in ("id", "gen", "phase", "key", "iv"):
            r(f"update: without {attr}", errno.EINVAL, "-", "ctx-update",
              **{n: v for n, v in up.items() if n != attr})
        NL("ctx-update", **up)
        ksft.check("ctx: update shows", NL("ctx-get", fd=fd, id=c["id"])["phase"] == 0)
        r("update: before the newest was used", errno.EBUSY, "not used yet",
          "ctx-update", **dict(up, phase=1, key=secret(16)))
        r("del: unknown id", errno.ENOENT, "no context", "ctx-del", fd=fd,
          id=c["id"] + 1, gen=c["gen"])
        r("del: other generation", errno.ESTALE, "another generation", "ctx-del",
          fd=fd, id=c["id"], gen=c["gen"] + 1)
        r("del: without gen", errno.EINVAL, "-", "ctx-del", fd=fd, id=c["id"])
        NL("ctx-del", fd=fd, id=c["id"], gen=c["gen"])
        r("get: deleted", errno.ENOENT, "no context", "ctx-get", fd=fd,
          id=c["id"])
        n = NL("ctx-add", **ctx_attrs(s))
        ksft.check("ctx: a reused index has another generation",
                   n["id"] == c["id"] and n["gen"] != c["gen"], f"{c} {n}")
        with attached() as o:
            r("get: of another group", errno.ENOENT, "no context", "ctx-get",
              fd=o.fileno(), id=n["id"])


@case
def flow_refusals():
    """flows: missing, malformed, wrong lengths, duplicates, foreign sockets"""
    r = lambda name, code, text, op="flow-add", **kw: refused(
        f"flow: {name}", code, text, op, **kw)
    a4, a6 = socket.inet_aton("127.0.0.1"), socket.inet_pton(socket.AF_INET6, "::1")
    m4 = socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1")
    with attached() as s, udp() as plain:
        for attr in ("fd", "local_addr", "remote_addr", "remote_port", "dcid"):
            r(f"without {attr}", errno.EINVAL, "-", **flow_attrs(s, **{attr: None}))
        r("not attached", errno.ENOTCONN, "not attached", **flow_attrs(plain))
        for n in (0, 7, 9, 20):
            r(f"dcid of {n}", errno.EINVAL, "length of the group",
              **flow_attrs(s, dcid=b"d" * n))
        for n in (0, 3, 5, 15, 17):
            r(f"local-addr of {n}", errno.EINVAL, "4 or 16",
              **flow_attrs(s, local_addr=b"a" * n))
            r(f"remote-addr of {n}", errno.EINVAL, "4 or 16",
              **flow_attrs(s, remote_addr=b"a" * n))
        for bad in ("0.0.0.0", "224.0.0.1", "255.255.255.255"):
            r(f"local-addr {bad}", errno.EINVAL, "one host",
              **flow_attrs(s, local_addr=socket.inet_aton(bad)))
            r(f"remote-addr {bad}", errno.EINVAL, "one host",
              **flow_attrs(s, remote_addr=socket.inet_aton(bad)))
        for bad in ("::", "ff02::1", "::ffff:0.0.0.0", "::ffff:224.0.0.1"):
            r(f"remote-addr {bad}", errno.EINVAL, "one host",
              **flow_attrs(s, remote_addr=socket.inet_pton(socket.AF_INET6, bad)))
        r("families mixed", errno.EINVAL, "different families",
          **flow_attrs(s, remote_addr=a6))
        r("IPv6 on an IPv4 socket", errno.EINVAL, "IPv4 only",
          **flow_attrs(s, local_addr=a6, remote_addr=a6))
        r("port 0", errno.EINVAL, "port 0", **flow_attrs(s, remote_port=0))
        r("address of another", errno.EADDRNOTAVAIL, "another address",
          **flow_attrs(s, local_addr=socket.inet_aton("127.0.0.2")))
        for attr in ("cipher", "phase", "key", "iv", "hp_key"):
            r(f"key without {attr}", errno.EINVAL, "-",
              **flow_attrs(s, **keys(**{attr: None})))
        r("key-gen without key", errno.EINVAL, "need a key", **flow_attrs(s, key_gen=3))
        r("largest-pn without key", errno.EINVAL, "need a key",
          **flow_attrs(s, largest_pn=3))
        r("largest-pn 2^62", errno.ERANGE, "2^62-1",
          **flow_attrs(s, **keys(largest_pn=PN_MAX + 1)))
        r("key length", errno.EINVAL, "wrong length",
          **flow_attrs(s, **keys(key=secret(32))))
        r("hp-key length", errno.EINVAL, "hp-key has the wrong length",
          **flow_attrs(s, **keys(hp_key=secret(32))))
        r("unknown cipher", errno.ERANGE, ".cipher", **flow_attrs(s, **keys()) |
          {"cipher": 9})
        r("keys-of with a key", errno.EINVAL, "excludes",
          **flow_attrs(s, keys_of=1, **keys()))
        r("keys-of nothing", errno.ENOENT, "no flow", **flow_attrs(s, keys_of=99999))
        f = flow_attrs(s)
        fid = NL("flow-add", **f)["id"]
        r("keys-of a flow without", errno.EINVAL, "has none",
          **flow_attrs(s, keys_of=fid))
        r("twice", errno.EEXIST, "exists", **f)
        r("twice, v4-mapped", errno.EEXIST, "exists",
          **dict(f, local_addr=m4, remote_addr=m4))
        with attached() as o:
            r("get: of another group", errno.ENOENT, "no flow", "flow-get",
              fd=o.fileno(), id=fid)
            r("del: of another group", errno.ENOENT, "no flow", "flow-del",
              fd=o.fileno(), id=fid)
            NL("flow-add", **dict(f, fd=o.fileno()))
            ksft.ok("flow: the same on another local port is another flow")
    with attached(bind=False) as s:
        r("socket without a port", errno.EINVAL, "bind it first", **flow_attrs(s))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.bind(("::", 0))
        NL("sock-attach", fd=s.fileno(), dcid_len=8)
        NL("flow-add", **flow_attrs(s, local_addr=a6, remote_addr=a6))
        NL("flow-add", **flow_attrs(s))
        ksft.ok("flow: both families on a dual-stack socket")
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.bind(("::", 0))
        NL("sock-attach", fd=s.fileno(), dcid_len=8)
        r("IPv4 on an IPv6-only socket", errno.EINVAL, "IPv6 only", **flow_attrs(s))


@case
def flow_life():
    """flows: keys later, sharing, key update, retirement, deletion"""
    r = lambda name, code, text, op, **kw: refused(f"flow: {name}", code, text,
                                                   op, **kw)
    with attached() as s:
        fd = s.fileno()
        f = NL("flow-add", **flow_attrs(s, cookie=PN_MAX))["id"]
        g = NL("flow-get", fd=fd, id=f)
        ksft.check("flow: state without keys", g["cookie"] == PN_MAX and
                   "cipher" not in g and g["remote-port"] == 4433, str(g))
        up = {"fd": fd, "id": f}
        r("update: first key without cipher", errno.EINVAL, "need cipher",
          "flow-update", **up, **keys(cipher=None, hp_key=None))
        r("retire: no keys", errno.ENOENT, "is empty", "flow-update", **up,
          phase=0, retire=True)
        NL("flow-update", **up, **keys(largest_pn=41))
        g = NL("flow-get", fd=fd, id=f)
        ksft.check("flow: state with keys", g["cipher"] == "aes-128-gcm" and
                   g["key-gen"] == 1 and g["largest-pn"] == 41 and
                   g["failed"] == 0 and g["failed-limit"] == 1 << 52 and
                   "key" not in g and "hp-key" not in g, str(g))
        nxt = {**up, "phase": 1, "key": secret(16), "iv": secret(12), "key_gen": 2}
        for attr in ("phase", "key", "iv"):
            r(f"update: without {attr}", errno.EINVAL, "-", "flow-update",
              **{n: v for n, v in nxt.items() if n != attr})
        r("update: unknown id", errno.ENOENT, "no flow", "flow-update",
          **dict(nxt, id=99999))
        r("update: another cipher", errno.EINVAL, "do not change", "flow-update",
          **nxt, cipher="aes-128-ccm")
        r("update: another hp-key", errno.EINVAL, "do not change", "flow-update",
          **nxt, hp_key=secret(16))
        r("update: key length", errno.EINVAL, "wrong length", "flow-update",
          **dict(nxt, key=secret(15)))
        r("update: slot in use", errno.EBUSY, "retire it first", "flow-update",
          **dict(nxt, phase=0))
        r("retire: with a key", errno.EINVAL, "phase alone", "flow-update", **nxt,
          retire=True)
        r("retire: without phase", errno.EINVAL, "-", "flow-update", **up,
          retire=True)
        NL("flow-update", **nxt)
        ksft.check("flow: key update shows",
                   NL("flow-get", fd=fd, id=f)["key-gen"] == 2)
        shared = NL("flow-add", **flow_attrs(s, keys_of=f))["id"]
        NL("flow-update", **up, phase=0, retire=True)
        r("retire: twice", errno.ENOENT, "is empty", "flow-update", fd=fd,
          id=shared, phase=0, retire=True)
        NL("flow-del", fd=fd, id=f)
        ksft.check("flow: shared keys survive the first flow",
                   NL("flow-get", fd=fd, id=shared)["key-gen"] == 2)
        r("del: twice", errno.ENOENT, "no flow", "flow-del", fd=fd, id=f)


@case
def lifetime():
    """close, ports, and groups of several sockets"""
    a = attached()
    port = a.getsockname()[1]
    f = flow_attrs(a)
    NL("flow-add", **f)
    k = secret(16)
    NL("ctx-add", **ctx_attrs(a, key=k))
    a.close()
    # The key is free again, though not at once: it is freed after a grace period
    b = attached(port=port)
    NL("flow-add", **dict(f, fd=b.fileno()))
    ksft.ok("life: a closed socket's flows are gone")

    def again():
        try:
            return NL("ctx-add", **ctx_attrs(b, key=k))
        except NlError as e:
            assert e.error == errno.EEXIST
            return None

    ksft.check("life: a closed socket's key is free again", until(again))
    c = udp()
    NL("sock-attach", fd=c.fileno(), join_fd=b.fileno())
    ctx = NL("ctx-add", **ctx_attrs(b))
    fid = NL("flow-add", **flow_attrs(b))["id"]
    b.close()
    ksft.check("life: contexts live while a socket of the group is open",
               NL("ctx-get", fd=c.fileno(), id=ctx["id"]))
    refused("life: flows of a port go with its last socket", errno.ENOENT,
            "no flow", "flow-get", fd=c.fileno(), id=fid)
    c.close()

    d = attached(bind=False)
    d.connect(("127.0.0.1", 4433))
    fid = NL("flow-add", **flow_attrs(d))["id"]
    d.connect(("127.0.0.1", 4434))
    ksft.check("life: connecting again keeps the flows",
               NL("flow-get", fd=d.fileno(), id=fid))
    disconnect(d)
    refused("life: disconnecting gives up an implicit port and its flows",
            errno.ENOENT, "no flow", "flow-get", fd=d.fileno(), id=fid)
    d.close()
    with attached(port=port) as e:
        e.connect(("127.0.0.1", 4433))
        fid = NL("flow-add", **flow_attrs(e))["id"]
        disconnect(e)
        ksft.check("life: an explicit port and its flows stay",
                   NL("flow-get", fd=e.fileno(), id=fid))


@case
def module():
    """rmmod is refused while a socket is attached"""
    with attached():
        p = subprocess.run(["rmmod", "quic_offload"], capture_output=True,
                           text=True, check=False)
        ksft.check("module: rmmod with a socket attached", p.returncode and
                   "in use" in p.stderr, p.stderr)


@case
def namespaces():
    """a socket of another namespace is refused, and the end of one is clean"""
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    os.unshare(os.CLONE_NEWNET)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    other = ctl.Nl()
    s = udp()
    os.setns(here, os.CLONE_NEWNET)
    refused("netns: socket of another", errno.EINVAL, "another network namespace",
            "sock-attach", fd=s.fileno(), dcid_len=8)
    other("sock-attach", fd=s.fileno(), dcid_len=8)
    with attached() as h, udp() as j:
        refused("netns: joining across", errno.EINVAL, "another network namespace",
                "sock-attach", fd=j.fileno(), join_fd=s.fileno())
        k = secret(16)
        NL("ctx-add", **ctx_attrs(h, key=k))
        other("ctx-add", **ctx_attrs(s, key=k))
        ksft.ok("netns: the same key in two namespaces")
        refused("netns: its flow", errno.EINVAL, "another network namespace",
                "flow-add", **flow_attrs(s))
    other("flow-add", **flow_attrs(s, **keys()))
    ksft.check("netns: no device of another is seen", other.dump("dev-get") == [])
    if NETIF:
        refused("netns: device of another", errno.ENODEV, "no such", "dev-get",
                nl=other, id=NL("dev-get", ifindex=socket.if_nametoindex(NETIF))["id"])
    s.close()
    del other
    os.close(here)
    ksft.ok("netns: left with contexts and flows in it")


@case
def privilege():
    """an unprivileged owner of sockets needs nothing, a device setting does"""
    s = udp()
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            NL("sock-attach", fd=s.fileno(), dcid_len=8)
            NL("ctx-add", **ctx_attrs(s))
            try:
                NL("dev-set", id=1, tap_policy="allow")
            except NlError as e:
                if e.error == errno.EPERM and "CAP_NET_ADMIN" in str(e.nl_msg.extack):
                    code = 0
                else:
                    os.write(w, str(e).encode())
        except Exception as e:  # pylint: disable=broad-except
            os.write(w, repr(e).encode())
        os._exit(code)
    os.close(w)
    _, status = os.waitpid(pid, 0)
    ksft.check("privilege: attach and contexts without, dev-set with",
               status == 0, os.read(r, 4096).decode())
    s.close()


@case
def limits():
    """a group takes so many flows and no more, and gives them back"""
    most = 8192
    full = bool(os.environ.get("QOFF_FULL"))
    with attached() as s:
        ids = [NL("flow-add", **flow_attrs(s))["id"]
               for _ in range(most if full else 300)]
        ksft.check("limits: every flow has an id of its own",
                   len(set(ids)) == len(ids))
        if not full:
            ksft.skip("limits: flows of a group", "only with QOFF_FULL=1")
            return
        refused("limits: flows of a group", errno.ENOSPC, "too many flows",
                "flow-add", **flow_attrs(s))
        NL("flow-del", fd=s.fileno(), id=ids[0])
        ksft.check("limits: a deleted one makes room",
                   NL("flow-add", **flow_attrs(s)))


@case
def devices():
    """devices: settings, their dependencies and refusals"""
    r = lambda name, code, text, op, **kw: refused(f"dev: {name}", code, text,
                                                   op, **kw)
    r("get: neither id nor ifindex", errno.EINVAL, "is needed", "dev-get")
    r("get: both", errno.EINVAL, "exclude", "dev-get", id=1, ifindex=1)
    r("get: id 0", errno.ERANGE, ".id", "dev-get", id=0)
    r("get: unknown id", errno.ENODEV, "no such", "dev-get", id=99999)
    r("get: lo", errno.ENODEV, "no such", "dev-get", ifindex=1)
    r("stats: unknown id", errno.ENODEV, "no such", "dev-stats-get", id=99999)
    r("set: nothing", errno.EINVAL, "is needed", "dev-set", id=1)
    r("set: unknown id", errno.ENODEV, "no such", "dev-set", id=99999,
      tap_policy="allow")
    if not NETIF:
        ksft.skip("dev: settings", "NETIF is not set")
        return
    ifindex = socket.if_nametoindex(NETIF)
    d = NL("dev-get", ifindex=ifindex)
    ksft.check("dev: get by id and by ifindex",
               NL("dev-get", id=d["id"]) == d and d["ifname"] == NETIF)
    ksft.check("dev: dump", d in dump("dev-get"))
    ksft.check("dev: stats", "stats" in NL("dev-stats-get", id=d["id"]) and
               any(x["id"] == d["id"] for x in dump("dev-stats-get")))
    r("set: unknown feature", errno.EINVAL, ".features", "dev-set", id=d["id"],
      features=16)
    r("set: tap-policy 2", errno.ERANGE, ".tap-policy", "dev-set", id=d["id"],
      tap_policy=2)
    NL("dev-set", id=d["id"], tap_policy="allow")
    ksft.check("dev: tap-policy", NL("dev-get", id=d["id"])["tap-policy"] == "allow")
    NL("dev-set", id=d["id"], tap_policy="seal")
    if "ethtool" in d:
        r("set: switches that ethtool has", errno.EOPNOTSUPP, "ethtool -K",
          "dev-set", id=d["id"], features={"gso"})
        ethtool_switches(d["id"])
    else:
        netlink_switches(d["id"])


def features(dev_id):
    """The switches that are on."""
    return set(NL("dev-get", id=dev_id)["features"])


def ethtool(*words, ok=True):
    """ethtool -K on the device under test."""
    p = subprocess.run(["ethtool", "-K", NETIF, *words], capture_output=True,
                       text=True, check=False)
    if ok and p.returncode:
        raise RuntimeError(p.stderr)
    return p


def ethtool_switches(dev_id):
    """The switches of a kernel with the feature patch."""
    names = {"quic-gso": "gso", "quic-gro": "gro", "quic-tx-crypto": "tx-crypto",
             "quic-rx-crypto": "rx-crypto"}
    off = sum(([n, "off"] for n in names), [])
    ethtool(*off)
    ksft.check("dev: all off", features(dev_id) == set())
    for n, f in names.items():
        if f == "tx-crypto":
            continue
        ethtool(n, "on")
        ksft.check(f"dev: ethtool {n} on", features(dev_id) == {f},
                   str(features(dev_id)))
        ethtool(n, "off")
    ethtool("quic-tx-crypto", "on", ok=False)
    ksft.check("dev: tx-crypto without gso stays off", features(dev_id) == set())
    ethtool("quic-gso", "on", "quic-tx-crypto", "on")
    ksft.check("dev: gso and tx-crypto", features(dev_id) == {"gso", "tx-crypto"})
    ethtool("sg", "off")
    ksft.check("dev: both go with sg", features(dev_id) == set(),
               str(features(dev_id)))
    ethtool("sg", "on", "quic-gso", "on", "quic-tx-crypto", "on")
    ksft.check("dev: and come back", features(dev_id) == {"gso", "tx-crypto"})
    ethtool(*off)


def netlink_switches(dev_id):
    """The switches of a stock kernel."""
    def put(f):
        NL("dev-set", id=dev_id, features=f)

    put(set())
    ksft.check("dev: all off", features(dev_id) == set())
    refused("dev: tx-crypto without gso", errno.EINVAL, "needs gso", "dev-set",
            id=dev_id, features={"tx-crypto"})
    for f in ({"gso"}, {"gro"}, {"rx-crypto"}, {"gso", "tx-crypto"}):
        put(f)
        ksft.check(f"dev: {sorted(f)}", features(dev_id) == f)
    ethtool("sg", "off")
    ksft.check("dev: both go with sg", features(dev_id) == set())
    refused("dev: gso without sg", errno.EINVAL, "needs sg", "dev-set",
            id=dev_id, features={"gso"})
    ethtool("sg", "on")
    ksft.check("dev: and come back", features(dev_id) == {"gso", "tx-crypto"})
    put(set())


if __name__ == "__main__":
    ksft.run(ctl.main)
