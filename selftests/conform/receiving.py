# SPDX-License-Identifier: GPL-2.0
"""Checks of the receive side: opening and coalescing, judged by the records and
bytes that the socket gets for packets that OpenSSL sealed."""

import socket
import struct

from checks import CIPHERS, Skip, check, takes
from env import (CONTIGUOUS, DEVICE_OPENED, DUP, FAILED, NO_FLOW, NO_PHASE, OPENED, Failed,
                 Receiver, lengths, need)
from quicsim import csum

OPEN = ("b:quic-rx-crypto",)
GRO = ("b:quic-gro", "b:quic-rx-crypto")
FRAMES = GRO + ("wire",)


def _open(env, lens, **kw):
    if "cipher" in kw and not env.b_caps["rx_ciphers"] >> CIPHERS.index(kw["cipher"]) + 1 & 1:
        raise Skip(kw["cipher"])
    Receiver(env, **kw).run(lens)


for _c, _f in zip(CIPHERS, ("byte", "rx-number", "byte", "rx-number")):
    check(f"open-{_c}", f"{_c}: what OpenSSL sealed is opened by the device", takes(_f), OPEN,
          cipher=_c, lens=lengths(40))(_open)
for _n in range(1, 5):
    check(f"open-pn{_n}", f"Packet numbers of {_n} bytes are recovered", takes("rx-number"),
          OPEN, pn_len=_n, lens=lengths(30, 60, 400))(_open)
check("open-alone", "Opened without coalescing", takes("byte"), OPEN, gro=False,
      lens=lengths(30))(_open)
check("open-v6", "Opened over IPv6", takes("byte"), OPEN, v6=True, lens=lengths(40))(_open)
check("open-shortest", "The shortest packets are opened", takes("byte"), OPEN,
      lens=[29, 30, 31, 32] * 5)(_open)
check("open-status", "No status that does not exist is delivered", ("b", "forge-1", "status"),
      OPEN, lens=lengths(20))(_open)
check("open-record", "Header lengths of the records are true", ("b", "forge-3", "header length"),
      OPEN, lens=lengths(20))(_open)
check("open-generation", "The key generation of the records is true",
      ("b", "forge-5", "key generation"), OPEN, lens=lengths(20))(_open)
check("open-flow", "The flow that a packet is said to belong to is true",
      ("b", "forge-6", "flow"), OPEN, lens=lengths(20))(_open)
check("open-lengths", "The lengths of the records are those of the packets",
      ("b", "forge-7", "length"), OPEN, lens=lengths(20))(_open)


@check("open-dcid", "Connection IDs of every announced length are matched", takes("byte"), OPEN)
def _dcid(env):
    for n in range(1, 21):
        if env.b_caps["dcid_lens"] >> n & 1:
            Receiver(env, dcid_len=n).run(lengths(5, 70, 400))


@check("open-number-window", "Numbers that jump ahead and come late are recovered",
       takes("rx-number"), OPEN)
def _window(env):
    r = Receiver(env, pn_len=2)
    pkts = [r.sealed(200, pn) for pn in (5, 6, 9000, 9001, 8000, 30000, 29990)]
    r.put(pkts)
    r.check(pkts, r.take())


def _mixed(env, forged, raw=(FAILED,), **kw):
    """Good packets and forged ones: the good ones are opened, the forged are raw."""
    r = Receiver(env, **kw)
    pkts = [r.sealed(n) for n in lengths(24)]
    bad = {i: forged(pkts[i]) for i in range(3, 24, 5)}
    r.put([bad.get(i, p) for i, p in enumerate(pkts)])
    segs = r.take()["segs"]
    need(len(segs) == 24, f"{len(segs)} packets of 24")
    for i, seg in enumerate(segs):
        if i not in bad:
            r.opened(seg, pkts[i])
            continue
        need(seg["status"] in raw, f"a forged packet has status {seg['status']}")
        need(seg["data"] == bad[i].hex(), "a forged packet is not the bytes that came in")


@check("open-forged-tag", "A packet with a wrong tag is never delivered as opened",
       takes("opened"), OPEN, where=-1)
@check("open-forged-body", "A packet with an altered byte is never delivered as opened",
       takes("opened"), OPEN, where=40)
@check("open-forged-raw", "A packet that does not open is delivered as it came in",
       takes("raw"), OPEN, where=-5)
def _forged(env, where):
    def alter(p):
        b = bytearray(p)
        b[where] ^= 0x10
        return bytes(b)
    _mixed(env, alter)


@check("open-other-key", "A packet of another key is never delivered as opened", takes("opened"),
       OPEN)
def _other_key(env):
    # What is under the header protection of another key is any key phase
    _mixed(env, lambda p: p[:9] + bytes(x ^ 0x5a for x in p[9:]), raw=(FAILED, NO_PHASE))


@check("open-phase-empty", "A packet of a key phase without key is raw, not a failure",
       takes("rx-phase"), OPEN)
def _phase(env):
    r = Receiver(env)
    pkts = [r.sealed(300, phase=i & 1) for i in range(12)]
    r.put(pkts)
    segs = r.take()["segs"]
    need(len(segs) == 12, f"{len(segs)} packets of 12")
    for i, seg in enumerate(segs):
        if i & 1:
            need(seg["status"] == NO_PHASE, f"status {seg['status']}, not no-phase")
            need(seg["data"] == pkts[i].hex(), "not the bytes that came in")
        else:
            r.opened(seg, pkts[i])


@check("open-update", "A key update of the peer: both phases are opened, each with its key",
       takes("rx-phase"), OPEN)
def _update(env):
    import agent as oracle  # pylint: disable=import-outside-toplevel
    r = Receiver(env)
    first = [r.sealed(n) for n in lengths(10)]
    secret = env.fresh()
    env.b.flow_update(r.sock, r.flow, r.cipher, secret, 1, 2)
    hp, r.keys = r.keys.hp, oracle.keys(r.cipher, secret)
    r.keys.hp = hp
    later = [r.sealed(n, phase=1) for n in lengths(10)]
    r.put(first + later)
    got = r.take()["segs"]
    need(len(got) == 20, f"{len(got)} packets of 20")
    for i, seg in enumerate(got):
        r.opened(seg, (first + later)[i], 1 + i // 10)


@check("open-retire", "A retired key opens nothing more", takes("rx-phase"), OPEN)
def _retire(env):
    import agent as oracle  # pylint: disable=import-outside-toplevel
    r = Receiver(env)
    secret = env.fresh()
    env.b.flow_update(r.sock, r.flow, r.cipher, secret, 1, 2)
    hp, r.keys = r.keys.hp, oracle.keys(r.cipher, secret)
    r.keys.hp = hp
    env.b.flow_retire(r.sock, r.flow, 1)
    pkts = [r.sealed(n, phase=1) for n in lengths(10)]
    r.put(pkts)
    for seg, p in zip(r.take()["segs"], pkts, strict=True):
        need(seg["status"] == NO_PHASE and seg["data"] == p.hex(),
             f"status {seg['status']} after the key was retired")


@check("open-other-dcid", "A packet of another connection ID is left alone", takes("dcid"), OPEN)
def _other_dcid(env):
    r = Receiver(env)
    pkts = [r.sealed(300, dcid=0x11 if i % 2 else 0x22) for i in range(10)]
    r.put(pkts)
    for i, (seg, p) in enumerate(zip(r.take()["segs"], pkts, strict=True)):
        if i % 2:
            r.opened(seg, p)
        else:
            need(seg["status"] == NO_FLOW and seg["data"] == p.hex(),
                 f"status {seg['status']} for a connection ID without flow")


@check("open-replay", "A packet that comes twice is delivered twice, for the stack to judge",
       takes("byte"), OPEN)
def _replay(env):
    r = Receiver(env)
    pkts = [r.sealed(n) for n in lengths(6)]
    pkts += pkts[2:4]
    r.put(pkts)
    got = r.take()
    r.check(pkts, got)
    if len(got["batches"]) == 1:
        need(got["batches"][0]["flags"] & DUP, "the record does not say that two are the same")


@check("open-ecn", "Traffic class and ECN of every packet are reported", takes("rx-tos"), OPEN)
def _ecn(env):
    got = Receiver(env).run(lengths(10), tos=0x2a)
    need(all(s["tos"] == 0x2a for s in got["segs"]), f"traffic class {got['segs'][0]['tos']}")


# --- frames that a socket would not send ------------------------------------------

def ip_frame(env, r, body, frag=0, ident=7):
    """An Ethernet frame with an IPv4 packet from A to B."""
    src, dst = socket.inet_aton(env.a.v4), socket.inet_aton(env.b.v4)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), ident, frag, 64, 17, 0) + src + dst
    ip = ip[:10] + struct.pack("!H", csum(ip)) + ip[12:]
    return (bytes.fromhex(env.b.mac()) + bytes.fromhex(env.a.mac()) + b"\x08\x00" + ip +
            body)


def udp_body(env, r, payload, good=True):
    """A UDP datagram with a checksum: right, or wrong."""
    head = struct.pack("!HHHH", r.sport, r.port, 8 + len(payload), 0)
    pseudo = socket.inet_aton(env.a.v4) + socket.inet_aton(env.b.v4) + \
        struct.pack("!HH", 17, 8 + len(payload))
    c = csum(pseudo + head + payload) or 0xffff
    return head[:6] + struct.pack("!H", c if good else c ^ 0x0101 or 1) + payload


@check("open-checksum-zero", "A datagram without checksum arrives", ("a", "drop/nth", 1), FRAMES)
@check("open-fragments", "A packet in two IP fragments arrives", ("a", "drop/nth", 1), FRAMES,
       kind="fragments")
@check("open-padding", "A short frame with padding arrives without it", ("a", "drop/nth", 1),
       FRAMES, kind="padding")
def _frames(env, kind="zero"):
    r = Receiver(env)
    p = r.sealed(400 if kind == "fragments" else 31)
    body = udp_body(env, r, p)
    if kind == "zero":
        frames = [ip_frame(env, r, body[:6] + bytes(2) + body[8:])]
    elif kind == "fragments":
        frames = [ip_frame(env, r, body[:200], 0x2000), ip_frame(env, r, body[200:], 25)]
    else:
        frames = [ip_frame(env, r, body) + bytes(11)]
    env.a.frames([f.hex() for f in frames])
    segs = r.take()["segs"]
    need(len(segs) == 1, f"{len(segs)} packets of 1")
    r.opened(segs[0], p)


@check("open-checksum-bad", "A datagram with a wrong checksum is not delivered",
       takes("rx-csum"), FRAMES)
def _bad_csum(env):
    r = Receiver(env)
    env.a.frames([ip_frame(env, r, udp_body(env, r, r.sealed(300), good=False)).hex()])
    need(not r.take()["segs"], "it was delivered")


# --- coalescing -------------------------------------------------------------------

@check("coalesce-unequal", "Packets of different lengths arrive joined", takes("alone"), GRO)
def _joined(env):
    r = Receiver(env)
    before = env.b.dev_stats()["rx-batches"]
    for _ in range(10):
        r.run(lengths(60, 60, 500))
        # how many wait for one another is the wire's chance, that none do is not
        if env.b.dev_stats()["rx-batches"] > before:
            return
    raise Failed("the device joined nothing")


@check("coalesce-order", "Order is kept", ("a", "reorder/nth", 5), GRO)
def _order(env):
    Receiver(env).run(lengths(100, 60, 300))


@check("coalesce-bytes", "No byte is lost where packets are joined", takes("byte"), GRO)
def _bytes(env):
    Receiver(env).run([60, 1400, 61, 1399] * 20)


@check("coalesce-many", "More packets than fit in one batch arrive", takes("rx-number"), GRO)
def _many(env):
    Receiver(env).run([80] * 300)


@check("coalesce-ecn", "Packets with other ECN bits keep theirs", takes("rx-tos"), GRO)
def _coalesce_ecn(env):
    r = Receiver(env)
    pkts = [r.sealed(n) for n in lengths(24)]
    for i in range(0, 24, 4):
        r.put(pkts[i:i + 4], tos=1 + i // 4 % 3)
    got = r.take()
    r.check(pkts, got)
    for i, s in enumerate(got["segs"]):
        need(s["tos"] == 1 + i // 4 % 3, f"packet {i}: ECN {s['tos']}")


@check("coalesce-gaps", "A gap in the packet numbers is seen in the record", takes("rx-number"),
       GRO)
def _gaps(env):
    r = Receiver(env)
    pkts = [r.sealed(200, pn) for pn in (10, 11, 13, 14, 15, 20)]
    r.put(pkts)
    got = r.take()
    r.check(pkts, got)
    for b in got["batches"]:
        if b["opened"] == 6:
            need(not b["flags"] & CONTIGUOUS and (b["min"], b["largest"]) == (10, 20),
                 "the record says that there is no gap")


@check("coalesce-mixed", "Opened and raw packets in turns keep their order", takes("opened"), GRO)
def _mixed_order(env):
    _mixed(env, lambda p: p[:-1] + bytes([p[-1] ^ 1]))


@check("coalesce-two", "Two connections in turns are kept apart", takes("dcid"), GRO)
def _two(env):
    r = Receiver(env)
    other = env.b.flow_add(r.sock, env.b.v4, env.a.v4, r.sport, "22" * 8, "aes-128-gcm",
                           env.fresh(), 0, 1)
    env.wait("a second flow", lambda: env.b.flow_get(r.sock, other)["dev"])
    keep = r.keys
    import agent as oracle  # pylint: disable=import-outside-toplevel
    theirs = oracle.keys("aes-128-gcm", env.secret)
    pkts = []
    for i in range(20):
        r.keys = theirs if i % 2 else keep
        pkts.append(r.sealed(200 + i, i, dcid=0x22 if i % 2 else 0x11))
    r.put(pkts)
    got = r.take()["segs"]
    need(len(got) == 20, f"{len(got)} packets of 20")
    # each flow is in order; between flows there is none
    for half in (0, 1):
        mine = [s for s in got if bytes.fromhex(s["data"])[1] == (0x22 if half else 0x11)]
        for s, p in zip(mine, pkts[half::2], strict=True):
            r.opened(s, p)


@check("duty-opened-flag", "Only what the device opened is said to be its work",
       ("b", "forge-6", "flow"), GRO)
def _flag(env):
    r = Receiver(env)
    got = r.run(lengths(20))
    need(all(b["flags"] & DEVICE_OPENED for b in got["batches"] if b["opened"]), "not flagged")
    need(all(s["status"] == OPENED for s in got["segs"]), "not opened")
