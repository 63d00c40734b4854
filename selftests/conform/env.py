# SPDX-License-Identifier: GPL-2.0
"""The two ends of a conformance run, and what all checks do with them: send
super-packets and compare the wire with OpenSSL, send datagrams and compare what
the receiving driver hands up."""

import json
import os
import select
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "lib")]
import agent as oracle  # noqa: E402
from quicsim import Failed, Frame, need  # noqa: E402

QUIC = ("quic-gso", "quic-gro", "quic-tx-crypto", "quic-rx-crypto")
MARKER = b"qoff-plaintext-!"
END = b"qoff-conform-end"
LATE = (b"\xc0" + END).hex()
OPENED, LONG_HEADER, NO_FLOW, NO_KEY, NO_PHASE, FAILED = range(6)
DEVICE_OPENED, CONTIGUOUS, DUP = 16, 2, 4


class Proxy:
    """An agent somewhere else; its methods are requests."""

    def __init__(self, end, addr4, addr6, limit):
        tree = os.environ.get("REMOTE_TREE", TREE) if end.prefix[:1] == ["ssh"] else TREE
        self.end, self.dev, self.v4, self.v6, self.limit = end, end.netif, addr4, addr6, limit
        self.on = None
        self.proc = end.popen(["python3", "-B", f"{tree}/selftests/conform/agent.py", end.netif],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def addr(self, v6):
        """Its address."""
        return self.v6 if v6 else self.v4

    def __getattr__(self, op):
        def call(*args, **kw):
            self.proc.stdin.write(json.dumps({"op": op, "args": args, "kw": kw}) + "\n")
            self.proc.stdin.flush()
            need(select.select([self.proc.stdout], [], [], self.limit * 4)[0],
                 f"{op} on {self.dev}: no answer")
            line = self.proc.stdout.readline()
            need(line, f"{op} on {self.dev}: the agent is gone")
            ans = json.loads(line)
            if "err" in ans:
                raise OSError(ans["errno"], f"{op} on {self.dev}: {ans['err']}")
            return ans["ret"]
        return call

    def switches(self, *on):
        """Exactly these switches are on; offline of what the device has not."""
        if self.on == on:
            return
        have = self.end.run(f"ethtool -k {self.dev}")
        if "quic-gso" in have:
            words = " ".join(f"{n} {'on' if n in on else 'off'}" for n in QUIC
                             if f"{n}: off [fixed]" not in have)
            self.end.run(f"ethtool -K {self.dev} {words} gro {'on' if on else 'off'}")
        else:
            self.end.run(f"ethtool -K {self.dev} gro {'on' if on else 'off'}")
            if self.probe():
                self.dev_set(sum(1 << QUIC.index(n) for n in on))
        self.on = on

    def stop(self):
        """End the agent."""
        self.proc.stdin.close()
        try:
            self.proc.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()


def packet(pn, length, dcid_len=8, pn_len=4, phase=0, fill=MARKER, dcid=0x11):
    """A plain short-header packet with room for the tag."""
    head = bytes([0x40 | phase << 2 | (pn_len - 1)]) + bytes([dcid]) * dcid_len + \
        (pn & (1 << 8 * pn_len) - 1).to_bytes(pn_len, "big")
    body = length - len(head) - 16
    return head + (fill * (body // len(fill) + 1))[:body] + bytes(16)


def unpadded(frame):
    """Without the bytes that make a short IPv4 frame 60 bytes long."""
    if len(frame) == 60 and frame[12:14] == b"\x08\x00":
        return frame[:14 + int.from_bytes(frame[16:18], "big")]
    return frame


def lengths(n, low=60, high=1400):
    """n lengths that differ, the same in every run."""
    return [low + (i * 7919 + 13) % (high - low + 1) for i in range(n)]


class Env:
    """Everything that a check needs."""

    def __init__(self, pair, addrs6, limit):
        self.pair, self.limit = pair, limit
        self.a = Proxy(pair.tx, pair.tx.addr, addrs6[0], limit)
        self.b = Proxy(pair.rx, pair.rx.addr, addrs6[1], limit)
        self.caps = self.b_caps = None
        self.secret = int.from_bytes(os.urandom(6), "big") << 8
        self.ends = 0

    def probe(self):
        """Ask both ends."""
        self.caps, self.b_caps = self.a.probe(), self.b.probe()

    def fresh(self):
        """A secret that no context has had."""
        self.secret += 1
        return self.secret

    def end_mark(self):
        """What no datagram before it ends with; longer than Ethernet's padding."""
        self.ends += 1
        return END + b"%020d" % self.ends

    def reset_sockets(self):
        """No sockets, contexts or flows."""
        self.a.close_all()
        self.b.close_all()

    def wait(self, what, cond, limit=None):
        """Poll."""
        end = time.monotonic() + (limit or self.limit)
        while not cond():
            need(time.monotonic() < end, f"timed out: {what}")
            time.sleep(0.02)

    def stop(self):
        """End the agents."""
        self.a.stop()
        self.b.stop()


class Sender:
    """A socket with a context at A, and a capture at B, for one check."""

    def __init__(self, env, cipher="aes-128-gcm", dcid_len=8, pn_len=4, phase=0, v6=False,
                 first_pn=0, raw=False, tos=-1, place=True, shared=None):
        self.env, self.v6, self.raw, self.tos = env, v6, raw, tos
        self.cipher, self.dcid_len, self.pn_len, self.phase = cipher, dcid_len, pn_len, phase
        self.pn, self.want, self.dst = first_pn, [], env.b.addr(v6)
        if shared:
            self.sock, self.port, self.want = shared.sock, shared.port, shared.want
        else:
            env.b.switches()
            env.a.switches(*(["quic-gso"] if raw else ["quic-gso", "quic-tx-crypto"]))
            self.sock = env.a.open(env.a.addr(v6), dcid_len)[0]
            self.port = env.b.open(self.dst)[1]
            env.b.capture()
        self.ctx = None
        if not raw:
            secret = env.fresh()
            self.keys = oracle.keys(cipher, secret)
            self.ctx = env.a.ctx_add(self.sock, cipher, secret, dcid_len, phase, first_pn)
            if place:
                self.place()

    def place(self):
        """Send single packets until the context is in the device."""
        def placed():
            self.send([self.shortest() + 40])
            return self.env.a.ctx_get(self.sock, self.ctx)["dev"]
        self.env.wait("the device takes a context", placed)

    def shortest(self):
        """Bytes of the shortest packet that has its sample."""
        return 1 + self.dcid_len + 4 + 16

    def send(self, lens, offs=None):
        """One super-packet; what OpenSSL makes of it is expected on the wire."""
        pns = [self.pn + (offs[i] if offs else i) for i in range(len(lens))]
        if self.raw:
            pkts = [(b"%08x" % (self.pn + i) * (n // 8 + 1))[:n] for i, n in enumerate(lens)]
            self.want += pkts
        else:
            pkts = [packet(pns[i], n, self.dcid_len, self.pn_len, self.phase)
                    for i, n in enumerate(lens)]
            self.want += [oracle.seal(self.keys, p, self.dcid_len, pn)
                          for p, pn in zip(pkts, pns)]
        self.env.a.send(self.sock, self.dst, self.port, self.ctx, self.pn,
                        [p.hex() for p in pkts], self.tos, offs)
        self.pn = pns[-1] + 1

    def update(self):
        """The next key phase."""
        secret = self.env.fresh()
        nxt = oracle.keys(self.cipher, secret)
        nxt.hp = self.keys.hp
        self.phase ^= 1
        self.env.wait("room for the next key", lambda: self._update(secret))
        self.keys = nxt

    def _update(self, secret):
        try:
            self.env.a.ctx_update(self.sock, self.ctx, self.cipher, secret, self.phase)
            return True
        except OSError as e:
            if e.errno != 16:
                raise
            return False

    def frames(self):
        """The datagrams on the wire, judged: headers, checksums, no plaintext."""
        raw = []
        for _ in range(8):
            mark = self.env.end_mark().hex()
            self.env.a.udp(self.sock, self.dst, self.port, [mark])
            ended, got = self.env.b.captured(mark, self.env.limit / 8)
            raw += got
            if ended:
                break
        else:
            raise Failed("nothing arrives any more")
        raw = [unpadded(bytes.fromhex(f)) for f in raw]
        need(self.raw or not any(MARKER in f for f in raw), "plaintext on the wire")
        out = [Frame(f) for f in raw]
        return [f for f in out if f.l4 == 17 and f.dport == self.port and
                not f.payload.startswith(END)]

    def check(self):
        """All that was sent, and only that, is on the wire; the frames."""
        got = self.frames()
        for i, (f, w) in enumerate(zip(got, self.want)):
            need(len(f.payload) == len(w), f"datagram {i} has {len(f.payload)} bytes, not {len(w)}")
            need(f.payload == w, f"datagram {i} of {len(self.want)}, {len(w)} bytes, differs " +
                 ("from what was given" if self.raw else "from what OpenSSL makes of it"))
        need(len(got) == len(self.want), f"{len(got)} datagrams of {len(self.want)}")
        return got

    def lossy(self):
        """Some may be missing; what is there is right, and no number has two
        contents."""
        want = set(self.want)
        got = self.frames()
        for f in got:
            need(f.payload in want, "a datagram that OpenSSL would not have made")
        return got


class Receiver:
    """A socket with a flow at B, and a plain socket at A, for one check."""

    def __init__(self, env, cipher="aes-128-gcm", dcid_len=8, pn_len=4, phase=0, v6=False,
                 first_pn=0, gro=True, place=True, sealed=True):
        self.env, self.v6, self.cipher, self.dcid_len = env, v6, cipher, dcid_len
        self.pn_len, self.phase, self.pn = pn_len, phase, first_pn
        env.a.switches()
        env.b.switches(*(["quic-gro"] if gro else []) + (["quic-rx-crypto"] if sealed else []))
        self.sock, self.port = env.b.open(env.b.addr(v6), dcid_len)
        self.src, self.sport = env.a.open(env.a.addr(v6))
        secret = env.fresh()
        self.keys = oracle.keys(cipher, secret)
        self.dcid = "11" * dcid_len
        self.flow = env.b.flow_add(self.sock, env.b.addr(v6), env.a.addr(v6), self.sport,
                                   self.dcid, cipher if sealed else None, secret, phase, 1)
        self.plain = {}
        if place:
            env.wait("the device takes a flow",
                     lambda: self.env.b.flow_get(self.sock, self.flow)["dev"])
            # what was on its way before does not count
            self.take()

    def sealed(self, length, pn=None, **kw):
        """A packet as OpenSSL seals it."""
        pn = self.pn if pn is None else pn
        p = packet(pn, length, self.dcid_len, self.pn_len, kw.pop("phase", self.phase), **kw)
        s = oracle.seal(self.keys, p, self.dcid_len, pn)
        self.plain[s] = (p, pn)
        self.pn = pn + 1
        return s

    def put(self, datagrams, tos=0):
        """Send them, one by one."""
        self.env.a.udp(self.src, self.env.b.addr(self.v6), self.port,
                       [d.hex() for d in datagrams], tos)

    def take(self):
        """Everything up to here."""
        out = {"segs": [], "batches": []}
        for _ in range(8):
            mark = self.env.end_mark()
            self.put([b"\xc0" + mark])
            got = self.env.b.recv(self.sock, mark.hex(), self.env.limit / 8)
            out["segs"] += [s for s in got["segs"] if not s["data"].startswith(LATE)]
            out["batches"] += got["batches"]
            if got["ended"]:
                return out
        raise Failed("nothing arrives any more")

    def opened(self, seg, sealed, gen=1):
        """This record is of this packet, opened."""
        plain, pn = self.plain[sealed]
        need(seg["status"] == OPENED, f"packet {pn} has status {seg['status']}, is not opened")
        need(seg["data"] == plain.hex(), f"packet {pn}: other bytes than were sealed")
        need(seg["pn"] == pn, f"packet {pn}: the record says {seg['pn']}")
        need(seg["gen"] == gen, f"packet {pn}: key generation {seg['gen']}, not {gen}")
        need(seg["hdr"] == 1 + self.dcid_len + self.pn_len and seg["pn_len"] == self.pn_len,
             f"packet {pn}: header of {seg['hdr']} bytes")

    def check(self, datagrams, got, gen=1):
        """All of them came, in order, opened, by the device."""
        segs = got["segs"]
        need(len(segs) == len(datagrams), f"{len(segs)} packets of {len(datagrams)}")
        for seg, d in zip(segs, datagrams):
            self.opened(seg, d, gen)
        need(any(b["flags"] & DEVICE_OPENED for b in got["batches"]),
             "software opened them, not the device")

    def run(self, lens, **kw):
        """Seal, send, receive, compare."""
        pkts = [self.sealed(n) for n in lens]
        self.put(pkts, **kw)
        got = self.take()
        self.check(pkts, got)
        return got


def raised(func, *errnos):
    """The call fails with one of these."""
    try:
        func()
    except OSError as e:
        need(e.errno in errnos, f"{e}, not errno {errnos}")
        return
    raise Failed("was accepted")
