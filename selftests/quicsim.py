#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The simulated NIC itself: what it announces it does, right on its wire, and
whatever goes wrong in it costs packets, never bytes, and no memory.

Frames are judged as the pair's monitor shows them; the framework is driven by
qoffperf, which compares hashes. Arguments: names of the cases to run.
"""

import contextlib
import hashlib
import os
import select
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import ksft  # noqa: E402

A, B = "qsim-a", "qsim-b"
DEBUG = "/sys/kernel/debug/quicsim"
PARAM = "/sys/module/quicsim/parameters"
ADDR = {A: ("192.0.2.1", "2001:db8::1"), B: ("192.0.2.2", "2001:db8::2")}
QUIC = ("quic-gso", "quic-gro", "quic-tx-crypto", "quic-rx-crypto")
SOL_UDP, UDP_SEGMENT = 17, 103
ETH_P_ALL, ETH_P_IP, ETH_P_IPV6, ETH_P_8021Q = 3, 0x800, 0x86DD, 0x8100
KB = int(os.environ.get("QUICSIM_KBYTES", "256"))
SIZE, LONG = f"{KB}K", f"{4 * KB}K"
LIMIT = int(os.environ.get("QUICSIM_LIMIT", "60"))  # seconds that anything may take


class Failed(Exception):
    """The case has failed; the text says why."""


def need(cond, why):
    """Fail the case unless cond."""
    if not cond:
        raise Failed(why)


def sh(cmd, check=True):
    """Run a command line; return what it printed."""
    res = subprocess.run(cmd, shell=True, capture_output=True, text=True,
                         timeout=LIMIT, check=False)
    if check and res.returncode:
        raise Failed(f"{cmd}: exit {res.returncode}: {res.stderr.strip()}")
    return res.stdout


def batch(where, *lines):
    """Several commands of ip, in one process."""
    res = subprocess.run(f"ip {where} -batch -", shell=True, text=True, check=False,
                         input="\n".join(lines), capture_output=True, timeout=LIMIT)
    need(res.returncode == 0, f"ip {where}: {res.stderr.strip()}")


def refused(cmd, text=""):
    """Run a command line that must fail, saying text."""
    res = subprocess.run(cmd, shell=True, capture_output=True, text=True,
                         timeout=LIMIT, check=False)
    need(res.returncode, f"{cmd}: was not refused")
    need(text in res.stderr, f"{cmd}: said '{res.stderr.strip()}', not '{text}'")


def write(path, value):
    """Write a knob."""
    with open(path, "w", encoding="ascii") as f:
        f.write(str(value))


def wait_for(what, cond):
    """Poll until cond() holds."""
    end = time.monotonic() + LIMIT
    while not cond():
        need(time.monotonic() < end, f"timed out: {what}")
        time.sleep(0.02)


def in_ns(ns, func, *args):
    """Run func in a namespace, in a process of its own; return (pid, pipe)."""
    rfd, wfd = os.pipe()
    pid = os.fork()
    if pid:
        os.close(wfd)
        return pid, rfd
    status = 1
    try:
        with open(f"/run/netns/{ns}", "rb") as f:
            os.setns(f.fileno(), os.CLONE_NEWNET)
        os.write(wfd, str(func(*args)).encode())
        status = 0
    except Exception as why:  # pylint: disable=broad-except
        os.write(wfd, f"{type(why).__name__}: {why}".encode())
    finally:
        os._exit(status)


def join(proc):
    """What func of in_ns() returned, as text."""
    pid, rfd = proc
    out = b""
    end = time.monotonic() + LIMIT
    with os.fdopen(rfd, "rb") as f:
        while select.select([f], [], [], max(0, end - time.monotonic()))[0]:
            chunk = os.read(f.fileno(), 4096)
            if not chunk:
                break
            out += chunk
        else:
            os.kill(pid, 9)
    status = os.waitpid(pid, 0)[1]
    need(status == 0, f"child: {out.decode()} (status {status})")
    return out.decode()


# --- frames -------------------------------------------------------------------

def csum(data):
    """Internet checksum; 0 over data that has a right one."""
    if len(data) % 2:
        data += b"\0"
    s = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff


class Frame:
    """A frame of the wire, taken apart. Wrong checksums fail the case."""

    def __init__(self, data):
        self.data = data
        self.src = data[6:12]
        proto, off = struct.unpack_from("!H", data, 12)[0], 14
        self.vid = None
        if proto == ETH_P_8021Q:
            self.vid, proto = struct.unpack_from("!HH", data, 14)
            off = 18
        self.l4 = self.ipid = None
        if proto == ETH_P_IP:
            ihl = (data[off] & 15) * 4
            tot, self.ipid = struct.unpack_from("!HH", data, off + 2)
            need(csum(data[off:off + ihl]) == 0, "IPv4 header checksum")
            need(tot == len(data) - off, f"IPv4 length {tot} in {len(data)} bytes")
            self.l4, th, pseudo = data[off + 9], off + ihl, data[off + 12:off + 20]
        elif proto == ETH_P_IPV6:
            tot, self.l4 = struct.unpack_from("!HB", data, off + 4)
            need(tot == len(data) - off - 40, f"IPv6 length {tot} in {len(data)} bytes")
            th, pseudo = off + 40, data[off + 8:off + 40]
        if self.l4 in (socket.IPPROTO_TCP, socket.IPPROTO_UDP):
            self._transport(th, pseudo)

    def _transport(self, th, pseudo):
        seg = self.data[th:]
        self.sport, self.dport = struct.unpack_from("!HH", seg)
        need(csum(pseudo + struct.pack("!HH", self.l4, len(seg)) + seg) == 0,
             f"transport checksum, protocol {self.l4}, {len(seg)} bytes")
        if self.l4 == socket.IPPROTO_UDP:
            need(struct.unpack_from("!H", seg, 4)[0] == len(seg), "UDP length")
            self.payload = seg[8:]
        else:
            self.seq = struct.unpack_from("!I", seg, 4)[0]
            self.flags = seg[13]
            self.payload = seg[(seg[12] >> 4) * 4:]


class Capture:
    """All frames that pass the monitor meanwhile."""

    def __init__(self, dev):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                  socket.htons(ETH_P_ALL))
        # SO_RCVBUFFORCE: a capture that misses frames proves nothing
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)
        self.sock.setsockopt(263, 8, 1)     # SOL_PACKET, PACKET_AUXDATA: tags
        self.sock.bind((dev, 0))
        self.sock.setblocking(False)
        self.raw = []

    def poll(self):
        """Take what is there."""
        while True:
            try:
                data, anc, _, _ = self.sock.recvmsg(65536, 256)
            except BlockingIOError:
                return self.raw
            for _, _, aux in anc:
                status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", aux[:20])
                if status & 0x10:           # TP_STATUS_VLAN_VALID
                    data = data[:12] + struct.pack("!HH", tpid, tci) + data[12:]
            self.raw.append(data)

    def frames(self):
        """Taken apart."""
        return [Frame(d) for d in self.poll()]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.sock.close()


# --- a pair -------------------------------------------------------------------

class Pair:
    """qs0 in namespace A, qs1 in namespace B, qs0-mon here."""

    def __init__(self, mode="full", extra="", quic=True):
        self.mode = mode
        write(f"{PARAM}/mode", mode)
        batch("", f"link add qs0 {extra} type quicsim", "link set qs0-mon up",
              f"netns add {A}", f"netns add {B}",
              f"link set qs0 netns {A}", f"link set qs1 netns {B}")
        for ns, dev in ((A, "qs0"), (B, "qs1")):
            batch(f"-n {ns}", "link set lo up",
                  f"addr add {ADDR[ns][0]}/24 dev {dev}",
                  f"addr add {ADDR[ns][1]}/64 dev {dev} nodad",
                  f"link set {dev} up")
        wait_for("carrier", lambda: "LOWER_UP" in sh(f"ip -n {A} link show qs0"))
        if quic:
            self.quic("on")

    def ethtool(self, ns, args):
        """Run ethtool; DEV in args is the port."""
        dev = "qs0" if ns == A else "qs1"
        return sh(f"ip netns exec {ns} ethtool {args.replace('DEV', dev)}")

    def quic(self, state):
        """All four switches of both ends: ethtool, or qoffctl without its names."""
        for ns, dev in ((A, "qs0"), (B, "qs1")):
            if "quic-gso" in self.ethtool(ns, "-k DEV"):
                self.ethtool(ns, "-K DEV " + " ".join(f"{f} {state}" for f in QUIC))
            else:
                sh(f"ip netns exec {ns} qoffctl dev set {dev} " +
                   " ".join(f"{f} {state}" for f in QUIC))

    def stat(self, ns, name):
        """A counter of ethtool -S."""
        for line in self.ethtool(ns, "-S DEV").splitlines():
            key, _, val = line.strip().partition(": ")
            if key == name:
                return int(val)
        raise Failed(f"no counter {name}")

    def knob(self, ns, name, value):
        """Set a fault of a port."""
        write(f"{DEBUG}/{'qs0' if ns == A else 'qs1'}/{name}", value)

    def capture(self):
        """Frames of the wire."""
        return Capture("qs0-mon")

    def close(self):
        """Remove everything; what a case has removed already may be missing."""
        sh(f"ip netns del {A}; ip netns del {B}", check=False)
        wait_for("both ports are gone", lambda: not os.path.exists(f"{DEBUG}/qs0")
                 and not os.path.exists(f"{DEBUG}/qs1"))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def perf_start(args="", size=SIZE):
    """Start qoffperf's two ends; a run from A to B."""
    srv = subprocess.Popen(["ip", "netns", "exec", B, "qoffperf", "-s", "-1"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for("qoffperf listens",
             lambda: ":4433" in sh(f"ip netns exec {B} ss -ltnH"))
    cli = subprocess.Popen(["ip", "netns", "exec", A, "qoffperf", "-c", ADDR[B][0],
                            "-n", size, "-i", "0", *args.split()],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return srv, cli


def perf_end(run, ok=True):
    """Wait for a run. With ok it must have moved the right bytes."""
    srv, cli = run
    try:
        out = cli.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        cli.kill()
        out = cli.communicate()[0] + "timed out"
    srv.kill()
    err = srv.communicate()[1]
    need(cli.returncode != 3, f"wrong bytes: {out}")
    need(not ok or (cli.returncode == 0 and "hash equal" in out),
         f"qoffperf: exit {cli.returncode}: {out}{err}")
    return out


def perf(args="", size=SIZE):
    """A whole run."""
    return perf_end(perf_start(args, size))


def echo(dst, size, whole):
    """In a namespace: three ICMP echoes, one after the other, each sent again
    when no answer comes."""
    v6 = ":" in dst
    request, reply = (128, 129) if v6 else (8, 0)
    level, discover = (socket.IPPROTO_IPV6, 23) if v6 else (socket.IPPROTO_IP, 10)
    data = os.urandom(size)
    with socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_RAW,
                       socket.IPPROTO_ICMPV6 if v6 else socket.IPPROTO_ICMP) as s:
        s.setsockopt(level, discover, 2 if whole else 0)
        s.settimeout(10)
        s.connect((dst, 0))
        end = time.monotonic() + LIMIT
        for seq in range(3):
            rest = struct.pack("!HH", os.getpid() & 0xffff, seq) + data
            head = struct.pack("!BBH", request, 0, 0)
            head = struct.pack("!BBH", request, 0, csum(head + rest))
            s.send(head + rest)
            while True:
                try:
                    got = s.recv(65536)
                    got = got[0 if v6 else (got[0] & 15) * 4:]
                    if got[0] == reply and got[4:] == rest:
                        break
                    need(got[0] != reply or got[4:8] != rest[:4], "other bytes")
                except TimeoutError:
                    s.send(head + rest)
                need(time.monotonic() < end, f"no answer from {dst}, {size} bytes")
    return ""


def ping(ns, dst, size=56, whole=False):
    """Echoes. ping(8) would not do: after its first answer it waits for two round
    trips, which says nothing on a busy machine."""
    join(in_ns(ns, echo, dst, size, whole))


def tcp_send(dst, data):
    """In a namespace: send data, half-close, wait for the other's close."""
    with socket.create_connection((dst, 5000), timeout=LIMIT) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        return len(s.recv(1))


def tcp_recv(dst, ready):
    """In a namespace: the hash of what one connection brings."""
    family = socket.AF_INET6 if ":" in dst else socket.AF_INET
    with socket.socket(family) as s:
        s.settimeout(LIMIT)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((dst, 5000))
        s.listen(1)
        os.write(ready, b"x")
        conn = s.accept()[0]
        conn.settimeout(LIMIT)
        h = hashlib.sha256()
        while chunk := conn.recv(1 << 16):
            h.update(chunk)
        conn.close()
        return h.hexdigest()


def tcp(data, v6=False):
    """A TCP transfer from A to B that must bring all bytes."""
    dst = ADDR[B][v6]
    rfd, wfd = os.pipe()
    recv = in_ns(B, tcp_recv, dst, wfd)
    os.read(rfd, 1)
    send = in_ns(A, tcp_send, dst, data)
    join(send)
    need(join(recv) == hashlib.sha256(data).hexdigest(), "TCP: wrong bytes")
    os.close(rfd)
    os.close(wfd)


def udp_send(dst, port, payloads, gso=0):
    """In a namespace: datagrams, or payloads of several with UDP_SEGMENT."""
    family = socket.AF_INET6 if ":" in dst else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.connect((dst, port))
        for p in payloads:
            anc = [(SOL_UDP, UDP_SEGMENT, struct.pack("H", gso))] if gso else []
            s.sendmsg([p], anc)
    return ""


def udp_frames(cap, port):
    """Datagrams to port on the wire."""
    return [f for f in cap.frames() if f.l4 == socket.IPPROTO_UDP and f.dport == port]


# --- cases: links -------------------------------------------------------------

def case_defaults():
    """A pair has a peer, a monitor and every switch that it promises"""
    with Pair(quic=False) as p:
        k = p.ethtool(A, "-k DEV")
        for name in ("rx-checksumming", "tx-checksum-ip-generic", "tx-scatter-gather",
                     "tx-tcp-segmentation", "tx-tcp6-segmentation",
                     "tx-udp-segmentation", "tx-gso-list", "tx-vlan-offload",
                     "rx-vlan-offload", "generic-receive-offload"):
            need(f"{name}: on" in k, f"{name} is not on")
        for name in QUIC:
            need(name not in k or f"{name}: off\n" in k, f"{name} is not off")
        need("driver: quicsim" in p.ethtool(A, "-i DEV"), "driver name")
        need("link/ether" in sh("ip link show qs0-mon"), "the monitor is no Ethernet")
        sh(f"ip -n {B} link set qs1 down")
        wait_for("no carrier", lambda: "NO-CARRIER" in sh(f"ip -n {A} link show qs0"))


def case_refusals():
    """What makes no sense is refused, and nothing is left of it"""
    refused("ip link add qx0 type quicsim-mon")
    refused("ip link add qx0 mtu 67 type quicsim", "")
    refused("ip link add qx0 mtu 9001 type quicsim", "")
    refused("ip link add qx0 numtxqueues 17 numrxqueues 17 type quicsim", "16 queues")
    refused("ip link add qx0 numtxqueues 2 numrxqueues 1 type quicsim", "as many")
    refused("ip link add a23456789012345 type quicsim", "name too long")
    write(f"{PARAM}/mode", "grand")
    refused("ip link add qx0 type quicsim", "mode")
    write(f"{PARAM}/mode", "full")
    sh("ip link add qx1 type dummy")
    refused("ip link add qx0 type quicsim")         # the peer's name is taken
    sh("ip link del qx1; ip link add qx0-mon type dummy")
    refused("ip link add qx0 type quicsim")         # the monitor's
    sh("ip link del qx0-mon")
    need("qx" not in sh("ip link show"), "something was left")
    need(not os.listdir(DEBUG), "debugfs has something left")


def case_frames():
    """Echoes of both families: small, fragmented, jumbo, the smallest MTU"""
    with Pair(quic=False) as p, p.capture() as cap:
        for i in (0, 1):
            ping(A, ADDR[B][i])
            ping(B, ADDR[A][i], 4000)
        for ns, dev in ((A, "qs0"), (B, "qs1")):
            sh(f"ip -n {ns} link set {dev} mtu 9000")
        ping(A, ADDR[B][0], 8972, True)
        ping(A, ADDR[B][1], 8952, True)
        need(max(len(f.data) for f in cap.frames()) == 9014, "no jumbo frame")
        for ns, dev in ((A, "qs0"), (B, "qs1")):
            refused(f"ip -n {ns} link set {dev} mtu 67")
            refused(f"ip -n {ns} link set {dev} mtu 9001")
            sh(f"ip -n {ns} link set {dev} mtu 68")
        ping(A, ADDR[B][0], 30)


def case_vlan():
    """Tags on the wire, inserted and stripped by the device or by the stack"""
    with Pair(quic=False) as p:
        for ns, dev, addr in ((A, "qs0", "198.51.100.1"), (B, "qs1", "198.51.100.2")):
            sh(f"ip -n {ns} link add link {dev} name v5 type vlan id 5")
            sh(f"ip -n {ns} addr add {addr}/24 dev v5")
            sh(f"ip -n {ns} link set v5 up")
        for tx in ("on", "off"):
            for rx in ("on", "off"):
                p.ethtool(A, f"-K DEV tx-vlan-offload {tx} rx-vlan-offload {rx}")
                with p.capture() as cap:
                    ping(A, "198.51.100.2", 1400)
                    echoes = [f for f in cap.frames() if len(f.data) > 1400]
                    need(len(echoes) >= 6, f"{len(echoes)} frames of 3 echoes")
                    need(all(f.vid == 5 for f in echoes), "a frame without its tag")
        with p.capture() as cap:
            data = os.urandom(100000)
            join(in_ns(A, udp_send, "198.51.100.2", 7, [data[:50000]], 1000))
            wait_for("50 tagged datagrams", lambda: len(cap.poll()) >= 50)
            got = udp_frames(cap, 7)
            need(b"".join(f.payload for f in got) == data[:50000] and
                 all(f.vid == 5 for f in got), "tagged UDP GSO")


# --- cases: segmentation ------------------------------------------------------

def tso_check(cap, data, v6):
    """The stream is on the wire once, in frames of the MTU, rightly numbered."""
    size = 1500 - (60 if v6 else 40)
    segs = [f for f in cap.frames() if f.l4 == socket.IPPROTO_TCP and f.dport == 5000]
    first = next(f.seq for f in segs if f.flags & 2) + 1
    need(all(len(f.payload) <= size for f in segs), "a segment over the MTU")
    got = bytearray(len(data))
    for f in segs:
        off = (f.seq - first) & 0xffffffff
        if f.payload:
            got[off:off + len(f.payload)] = f.payload
    need(bytes(got) == data, "the stream on the wire is another")
    fins = [f for f in segs if f.flags & 1]
    need(fins and all((f.seq + len(f.payload) - first) == len(data) for f in fins),
         "FIN not with the last byte")


def case_tso():
    """TCP segmentation by the device, for both families, on and off"""
    data = os.urandom(400000)
    with Pair(quic=False) as p:
        for v6 in (False, True):
            with p.capture() as cap:
                before = p.stat(A, "tx_tso")
                tcp(data, v6)
                need(p.stat(A, "tx_tso") > before, "the device cut nothing")
                tso_check(cap, data, v6)
        p.ethtool(A, "-K DEV tso off")
        before = p.stat(A, "tx_tso")
        with p.capture() as cap:
            tcp(data)
            tso_check(cap, data, False)
        need(p.stat(A, "tx_tso") == before, "tso off is ignored")


def case_uso():
    """UDP segmentation by the device: lengths, content, identification"""
    with Pair(quic=False) as p:
        for v6 in (False, True):
            for total, size in ((60000, 1400), (5001, 1000), (3000, 1), (2000, 1000)):
                total = min(total, 64 * size)
                data = os.urandom(total)
                before = p.stat(A, "tx_uso")
                with p.capture() as cap:
                    join(in_ns(A, udp_send, ADDR[B][v6], 7, [data], size))
                    n = (total + size - 1) // size
                    wait_for(f"{n} datagrams", lambda: len(udp_frames(cap, 7)) >= n)
                    got = udp_frames(cap, 7)
                need(b"".join(f.payload for f in got) == data, "other bytes")
                need([len(f.payload) for f in got[:-1]] == [size] * (n - 1), "lengths")
                need(v6 or all((b.ipid - a.ipid) & 0xffff == 1
                               for a, b in zip(got, got[1:])), "IPv4 identification")
                need(p.stat(A, "tx_uso") == before + (n > 1), "the device cut nothing")


def udp_count(port, want, ready):
    """In a namespace: receive so many bytes; return the hash of all."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(LIMIT)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        s.bind(("0.0.0.0", port))
        os.write(ready, b"x")
        h, got = hashlib.sha256(), 0
        while got < want:
            d = s.recv(65536)
            got += len(d)
            h.update(d)
        return h.hexdigest()


def case_forward():
    """A router between two pairs: the device cuts lists of datagrams and segments"""
    data = os.urandom(200000)
    c = "qsim-c"
    with Pair(quic=False) as p:
        batch("", "link add qt0 type quicsim", f"netns add {c}",
              f"link set qt0 netns {B}", f"link set qt1 netns {c}", "link set qt0-mon up")
        try:
            batch(f"-n {B}", "addr add 203.0.113.1/24 dev qt0", "link set qt0 up")
            batch(f"-n {c}", "addr add 203.0.113.2/24 dev qt1", "link set qt1 up",
                  "route add default via 203.0.113.1")
            sh(f"ip -n {A} route add default via {ADDR[B][0]}")
            sh(f"ip netns exec {B} sysctl -qw net.ipv4.ip_forward=1")
            p.ethtool(B, "-K DEV rx-gro-list on")
            ping(A, "203.0.113.2")
            rfd, wfd = os.pipe()
            recv = in_ns(c, udp_count, 7, 60000, wfd)
            os.read(rfd, 1)
            with Capture("qt0-mon") as cap:
                join(in_ns(A, udp_send, "203.0.113.2", 7, [data[:60000]], 1200))
                need(join(recv) == hashlib.sha256(data[:60000]).hexdigest(), "UDP bytes")
                got = udp_frames(cap, 7)
                need([len(f.payload) for f in got] == [1200] * 50, "UDP lengths")
            lists = fraglists(B)
            need(lists, "no list of datagrams reached the device")
            recv = in_ns(c, tcp_recv, "203.0.113.2", wfd)
            os.read(rfd, 1)
            with Capture("qt0-mon") as cap:
                join(in_ns(A, tcp_send, "203.0.113.2", data))
                need(join(recv) == hashlib.sha256(data).hexdigest(), "TCP bytes")
                tso_check(cap, data, False)
            need(fraglists(B) > lists, "no list of TCP segments reached the device")
            os.close(rfd)
            os.close(wfd)
        finally:
            sh(f"ip -n {B} link del qt0; ip netns del {c}", check=False)


def fraglists(ns):
    """Lists that the router's second port has cut."""
    out = sh(f"ip netns exec {ns} ethtool -S qt0")
    return int(out.split("tx_fraglist: ")[1].split()[0])


def case_multiqueue():
    """Four queues carry eight connections"""
    with Pair(extra="numtxqueues 4 numrxqueues 4") as p:
        need("Combined:\t4" in p.ethtool(A, "-l DEV"), "no four queues")
        perf("-P 8", LONG)
        need(p.stat(A, "tx_quic_sealed"), "nothing was sealed")


def case_rings():
    """Ring sizes; a full receive ring stops the wire, or loses when told to"""
    with Pair(quic=False) as p:
        refused(f"ip netns exec {A} ethtool -G qs0 tx 100")
        refused(f"ip netns exec {A} ethtool -G qs0 rx 10")
        refused(f"ip netns exec {A} ethtool -G qs0 tx 256")     # it is up
        sh(f"ip -n {A} link set qs0 down")
        p.ethtool(A, "-G DEV tx 256")
        sh(f"ip -n {A} link set qs0 up")
        ping(A, ADDR[B][0])
        p.ethtool(B, "-G DEV rx 64")
        tcp(os.urandom(1 << 20))
        need(not p.stat(B, "rx_drop_ring"), "frames lost in spite of pause")
        p.ethtool(B, "-A DEV tx off")
        perf("--offload user --mode segment --rx gro")
        refused(f"ip netns exec {B} ethtool -C qs1 rx-usecs 10001", "10000")
        p.ethtool(B, "-C DEV rx-usecs 200")
        ping(A, ADDR[B][0])


def case_unthreaded():
    """NAPI in softirq instead of threads"""
    write(f"{PARAM}/threaded", "N")
    try:
        with Pair():
            tcp(os.urandom(200000))
            perf()
    finally:
        write(f"{PARAM}/threaded", "Y")


# --- cases: QUIC --------------------------------------------------------------

def case_quic():
    """Super-packets are sealed, opened and coalesced by the devices, both ways"""
    with Pair() as p, p.capture() as cap:
        perf()
        perf("-R --mix mixed")
        for ns in (A, B):
            need(p.stat(ns, "tx_quic_sealed") > KB // 2, "not sealed by the device")
            need(p.stat(ns, "rx_quic_opened") > KB // 2, "not opened by the device")
            need(p.stat(ns, "rx_quic_coalesced"), "nothing coalesced")
            for bad in ("tx_quic_err", "tx_drop_guard", "rx_quic_failed",
                        "rx_quic_refused", "rx_csum_bad", "tx_busy"):
                need(not p.stat(ns, bad), f"{bad} is {p.stat(ns, bad)}")
        need(p.stat(A, "tx_frames") + p.stat(B, "tx_frames") >= len(cap.frames()) > KB,
             "the monitor shows other frames")


def case_switches():
    """Each switch alone"""
    for on in QUIC:
        with Pair() as p:
            if "quic-gso" not in p.ethtool(A, "-k DEV"):
                continue
            p.quic("off")
            for ns in (A, B):
                p.ethtool(ns, f"-K DEV quic-gso {'on' if on == 'quic-tx-crypto' else 'off'}")
                p.ethtool(ns, f"-K DEV {on} on")
            perf("--mix mixed")
            sealed, opened = p.stat(A, "tx_quic_sealed"), p.stat(B, "rx_quic_opened")
            need(bool(sealed) == (on == "quic-tx-crypto"), f"{on}: {sealed} sealed")
            need(bool(opened) == (on == "quic-rx-crypto"), f"{on}: {opened} opened")
            coalesced = p.stat(B, "rx_quic_coalesced")
            need(bool(coalesced) == (on == "quic-gro"), f"{on}: {coalesced} coalesced")
            need(bool(p.stat(A, "tx_quic_super")) == (on in ("quic-gso", "quic-tx-crypto")),
                 f"{on}: super-packets")


def case_updates():
    """Key updates every 40 packets"""
    with Pair() as p:
        out = perf("--key-update-every 40")
        need("key updates 0" not in out, "no update happened")
        need(p.stat(B, "rx_quic_opened"), "nothing opened by the device")


def case_modes():
    """fso has FSO and 8 segments, dumb knows nothing of QUIC; both carry traffic"""
    with Pair("fso") as p:
        need("tx-fcoe-segmentation: on" in p.ethtool(A, "-k DEV"), "no FSO")
        need("gso_max_segs 8 " in sh(f"ip -n {A} -d link show qs0"), "gso_max_segs")
        perf("--mix mixed")
        need(p.stat(A, "tx_quic_sealed"), "nothing was sealed")
    for mode in ("dumb", "dumb-fso"):
        with Pair(mode, quic=False) as p:
            need("quic-gso: on" not in p.ethtool(A, "-k DEV"), "a dumb port has quic-gso")
            perf("--mix mixed")
            need(not p.stat(A, "tx_quic_super"), "a dumb port took a super-packet")


# --- cases: faults ------------------------------------------------------------

WIRE_FAULTS = {
    "drop": ({"drop/nth": 20}, "fault_drop"),
    "dup": ({"dup/percent": 20, "dup/seed": 7}, "fault_dup"),
    "reorder": ({"reorder/nth": 9, "reorder_gap": 5}, "fault_reorder"),
    "corrupt": ({"corrupt/nth": 25}, "fault_corrupt"),
    "corrupt behind the checksum": ({"corrupt/nth": 25, "corrupt_keep_csum": "Y"},
                                    "fault_corrupt"),
    "delay": ({"delay_us": 3000}, None),
    "busy": ({"busy_n": 2, "busy_m": 3}, "tx_busy"),
    "tx_fail": ({"tx_fail/nth": 3}, "fault_tx_fail"),
}


def case_wire_faults():
    """Lost, doubled, reordered, altered, late, busy, failed: the bytes are right"""
    for name, (knobs, counter) in WIRE_FAULTS.items():
        with Pair() as p:
            for knob, value in knobs.items():
                p.knob(A, knob, value)
            try:
                perf()
            except Failed as why:
                raise Failed(f"{name}: {why}") from why
            need(not counter or p.stat(A, counter), f"{name}: {counter} is 0")
            if "behind" in name:
                need(p.stat(B, "rx_quic_failed"), "no packet failed to open")


def case_seed():
    """The same seed loses the same frames"""
    runs = []
    with Pair(quic=False) as p:
        # no frames but the test's
        sh(f"ip netns exec {A} sysctl -qw net.ipv6.conf.qs0.disable_ipv6=1")
        sh(f"ip -n {A} neigh replace {ADDR[B][0]} dev qs0 lladdr " +
           sh(f"ip netns exec {B} cat /sys/class/net/qs1/address").strip())
        for seed in (11, 11, 12):
            p.knob(A, "drop/percent", 0)
            p.knob(A, "drop/seed", seed)
            recv = in_ns(B, seed_recv)
            wait_for("a receiver", lambda: ":9 " in sh(f"ip netns exec {B} ss -lunH"))
            p.knob(A, "drop/percent", 30)
            join(in_ns(A, udp_send, ADDR[B][0], 9, [b"%03d" % i for i in range(200)]))
            p.knob(A, "drop/percent", 0)
            join(in_ns(A, udp_send, ADDR[B][0], 9, [b"end"]))
            runs.append(join(recv))
    need(runs[0] == runs[1], "the same seed, other frames")
    need(runs[0] != runs[2], "another seed, the same frames")
    need(0 < len(runs[0].split()) < 200, f"{len(runs[0].split())} of 200 came")


def seed_recv():
    """In a namespace: which of the numbered datagrams arrive."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(LIMIT)
        s.bind(("0.0.0.0", 9))
        got = []
        while (d := s.recv(100)) != b"end":
            got.append(d.decode())
        return " ".join(got)


def case_hold():
    """A held device sends nothing, and everything in order when released"""
    with Pair(quic=False) as p, p.capture() as cap:
        ping(A, ADDR[B][0])
        p.knob(A, "hold_tx", 1)
        want = [b"%04d" % i for i in range(100)]
        join(in_ns(A, udp_send, ADDR[B][0], 9, want))
        need(not udp_frames(cap, 9), "a held device has sent")
        p.knob(A, "hold_tx", 0)
        wait_for("100 frames", lambda: len(udp_frames(cap, 9)) >= 100)
        need([f.payload for f in udp_frames(cap, 9)] == want, "other order")


def case_refused():
    """A device that refuses contexts, keys or flows: software does it"""
    for knob in ("refuse_ctx", "refuse_key", "refuse_flow"):
        with Pair() as p:
            for ns in (A, B):
                p.knob(ns, knob, 95)
            try:
                perf()
            except Failed as why:
                n = p.stat(A, "fault_refused"), p.stat(B, "fault_refused")
                raise Failed(f"{knob}, refused {n[0]} and {n[1]} times: {why}") from why
            need(p.stat(A, "fault_refused") + p.stat(B, "fault_refused"), knob)
            if knob != "refuse_flow":
                need(not p.stat(A, "tx_quic_sealed"), f"{knob}: sealed all the same")
            if knob != "refuse_ctx":
                need(not p.stat(B, "rx_quic_opened"), f"{knob}: opened all the same")


def case_table_full():
    """A table of one entry: one connection is the device's, the rest is software's"""
    with Pair() as p:
        for ns in (A, B):
            p.knob(ns, "table_limit", 1)
        perf("-P 4", LONG)
        sealed, frames = p.stat(A, "tx_quic_sealed"), p.stat(A, "tx_frames")
        need(0 < sealed < frames * 3 // 4, f"{sealed} of {frames} frames sealed")


def case_rx_fail():
    """Good packets reported as failed are opened or sent again, never lost to view"""
    with Pair() as p:
        p.knob(B, "rx_fail/nth", 7)
        perf()
        need(p.stat(B, "fault_rx_fail"), "no failure was reported")


def case_forge():
    """Records that lie: nothing wrong is delivered"""
    with Pair() as p:
        for forge in range(1, 8):
            before = p.stat(B, "fault_rx_forge")
            p.knob(B, "forge", forge)
            p.knob(B, "rx_forge/nth", 40)
            try:
                perf()
            except Failed as why:
                raise Failed(f"forge {forge}: {why}") from why
            p.knob(B, "rx_forge/nth", 0)
            need(p.stat(B, "fault_rx_forge") > before, f"forge {forge} did nothing")


# --- cases: lifetimes ---------------------------------------------------------

def disturb(p, run, rounds, act):
    """Call act(i) again and again while a transfer runs."""
    for i in range(rounds):
        seen = p.stat(A, "tx_frames")
        with contextlib.suppress(Failed):
            end = time.monotonic() + 2
            while p.stat(A, "tx_frames") < seen + 10 and run[1].poll() is None and \
                    time.monotonic() < end:
                time.sleep(0.01)
        act(i)


def case_reset():
    """Contexts lost, with and without a word, while they are used"""
    with Pair() as p:
        run = perf_start(size=LONG)
        disturb(p, run, 6, lambda i: (p.knob((A, B)[i % 2], "reset", 1)))
        perf_end(run)
        need(p.stat(A, "fault_reset") == 3, "no reset")
    with Pair() as p:
        # What is lost silently stays lost until the device says so
        run = perf_start(size=LONG)
        disturb(p, run, 4, lambda i: (p.knob((A, B)[i % 2], "lose", 1),
                                      p.knob((A, B)[i % 2], "reset", 1)))
        perf_end(run)


def case_reregister():
    """The device is unregistered and registered while it is busy"""
    with Pair() as p:
        run = perf_start(size=LONG)
        disturb(p, run, 6, lambda i: (p.knob((A, B)[i % 2], "registered", 0),
                                      p.knob((A, B)[i % 2], "registered", 1)))
        perf_end(run)


def case_down_up():
    """Ports go down and up under a transfer"""
    with Pair() as p:
        run = perf_start(size=LONG)
        disturb(p, run, 4, lambda i: sh(
            f"ip -n {(A, B)[i % 2]} link set qs{i % 2} down; "
            f"ip -n {(A, B)[i % 2]} link set qs{i % 2} up"))
        perf_end(run)


def case_feature_flips():
    """Switches flipped under a transfer"""
    names = ("rx", "sg", "tx", "tso", "quic-gso", "quic-gro", "quic-tx-crypto",
             "quic-rx-crypto", "tx-udp-segmentation", "tx-gso-list")
    with Pair() as p:
        k = p.ethtool(A, "-k DEV")
        run = perf_start(size=LONG)

        def flip(i):
            name = names[i % len(names)]
            if name.startswith("quic") and "quic-gso" not in k:
                return
            for ns in (A, B):
                for state in ("off", "on"):
                    p.ethtool(ns, f"-K DEV {name} {state}")
        disturb(p, run, len(names), flip)
        perf_end(run)


def case_delete_busy():
    """Deleted, or its namespace gone, with frames in every queue"""
    with Pair() as p:
        p.knob(A, "delay_us", 2000)
        run = perf_start(size=f"{16 * KB}K")
        disturb(p, run, 1, lambda i: (p.knob(A, "hold_tx", 1),
                                      sh(f"ip -n {A} link del qs0")))
        run[1].kill()
        perf_end(run, ok=False)
    with Pair() as p:
        p.knob(A, "delay_us", 2000)
        run = perf_start(size=f"{16 * KB}K")
        disturb(p, run, 1, lambda i: p.knob(A, "hold_tx", 1))
        run[1].kill()
        perf_end(run, ok=False)
        sh(f"ip netns del {A}")
        # descriptors hold their sockets, and those the namespace
        p.knob(A, "hold_tx", 0)


def case_monitor():
    """The monitor can be deleted, and can live elsewhere; the pair goes on"""
    with Pair(quic=False) as p:
        refused("ip link set qs0-mon mtu 9001")
        sh("ip link del qs0-mon")
        ping(A, ADDR[B][0])
    with Pair(quic=False):
        sh(f"ip link set qs0-mon netns {B}; ip -n {B} link set qs0-mon up")
        ping(A, ADDR[B][0])


def main():
    """Run the cases that were asked for."""
    if os.geteuid():
        raise ksft.SkipAll("must run as root")
    if not os.path.isdir(PARAM):
        raise ksft.SkipAll("no quicsim module")
    cases = {n[5:]: f for n, f in globals().items() if n.startswith("case_")}
    wanted = sys.argv[1:] or list(cases)
    ksft.plan(len(wanted))
    for name in wanted:
        start = time.monotonic()
        try:
            cases[name]()
            ksft.ok(cases[name].__doc__)
        except (Failed, subprocess.TimeoutExpired) as why:
            ksft.fail(cases[name].__doc__, f"{name}: {why}")
        ksft.diag(f"{name}: {time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    ksft.run(main)
