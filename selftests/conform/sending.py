# SPDX-License-Identifier: GPL-2.0
"""Checks of the transmit side: segmentation and sealing, judged on the wire."""

from checks import CIPHERS, Skip, check, sends
from env import Sender, lengths, need

GSO = ("a:quic-gso",)
SEAL = ("a:quic-gso", "a:quic-tx-crypto")


def device_did(env, func):
    """func must have made the device send segments."""
    before = env.a.dev_stats()
    func()
    return before


def header(v6):
    """IP and UDP header bytes."""
    return 48 if v6 else 28


def mtu(env):
    """Of the sending port."""
    return int(env.a.end.run(f"cat /sys/class/net/{env.a.dev}/mtu"))


# --- segmentation ---------------------------------------------------------------

@check("segment-equal", "Datagrams of equal length come out as given", sends("short"), GSO,
       lens=[1200] * 40)
@check("segment-unequal", "Datagrams of different lengths come out as given", sends("order"),
       GSO, lens=lengths(60, 1, 1472))
@check("segment-unequal-v6", "The same over IPv6", sends("short"), GSO,
       lens=lengths(60, 1, 1452), v6=True)
@check("segment-tiny", "Datagrams of one and two bytes come out", sends("order"), GSO,
       lens=[1, 2] * 30)
@check("segment-alternating", "Long and short datagrams in turns come out in order",
       sends("order"), GSO, lens=[1400, 7] * 40)
@check("segment-128", "128 datagrams in one super-packet come out", sends("segs"), GSO,
       lens=lengths(128, 20, 500))
@check("segment-bytes", "A super-packet of nearly 64 KB comes out", sends("bytes"), GSO,
       lens=[1400, 1333] * 23)
@check("segment-mtu", "Datagrams that fill the MTU come out", sends("mtu"), GSO,
       lens=None)
@check("segment-checksum", "Every datagram has a right UDP checksum", sends("csum"), GSO,
       lens=lengths(30, 33, 1333))
@check("segment-checksum-v6", "Every IPv6 datagram has a right UDP checksum", sends("csum"),
       GSO, lens=lengths(30, 33, 1333), v6=True)
@check("segment-lengths", "The lengths in the headers are those of the datagrams",
       sends("udp-len"), GSO, lens=lengths(31, 1, 1300))
def _segment(env, lens, v6=False):
    if lens is None:
        lens = [mtu(env) - header(v6) - i % 2 for i in range(20)]
    s = Sender(env, raw=True, v6=v6)
    limit = env.caps["max_segs"]
    while lens:
        s.send(lens[:limit])
        lens = lens[limit:]
    s.check()


@check("segment-ipid", "IPv4 datagrams of a super-packet have rising identifications",
       sends("ipid"), GSO)
def _ipid(env):
    s = Sender(env, raw=True)
    s.send(lengths(20))
    got = s.check()
    need(len({f.ipid for f in got}) == 20, "identifications repeat")


@check("segment-ecn", "Traffic class and ECN bits are on every datagram", sends("tos"), GSO)
@check("segment-ecn-v6", "The same over IPv6", sends("tos"), GSO, v6=True)
def _tos(env, v6=False):
    s = Sender(env, raw=True, v6=v6, tos=0xb9)
    s.send(lengths(20))
    for f in s.check():
        got = (f.data[14] & 15) << 4 | f.data[15] >> 4 if v6 else f.data[15]
        need(got == 0xb9, f"traffic class {got:#x}, not 0xb9")


@check("segment-burst", "Twenty super-packets in a row come out, in order", sends("short"), GSO)
def _burst(env):
    s = Sender(env, raw=True)
    for i in range(20):
        s.send(lengths(20, 40 + i, 900))
    s.check()


# --- sealing --------------------------------------------------------------------

def _seal(env, lens, **kw):
    if "cipher" in kw and not env.caps["tx_ciphers"] >> CIPHERS.index(kw["cipher"]) + 1 & 1:
        raise Skip(kw["cipher"])
    s = Sender(env, **kw)
    limit = env.caps["max_segs"]
    if lens is None:
        lens = [mtu(env) - header(kw.get("v6")) - i % 3 for i in range(20)]
    before = env.a.sock_stats(s.sock).get("tx-dev", 0)
    while lens:
        s.send(lens[:limit])
        lens = lens[limit:]
    s.check()
    need(env.a.sock_stats(s.sock).get("tx-dev", 0) > before, "software sealed, not the device")


for _c, _f in zip(CIPHERS, ("plain", "tag", "hp", "plain")):
    check(f"seal-{_c}", f"{_c}: every byte is what OpenSSL makes of it", sends(_f), SEAL,
          cipher=_c, lens=lengths(40))(_seal)
    check(f"seal-{_c}-phase1", f"{_c}: the same with the key phase bit set", sends("phase"),
          SEAL, cipher=_c, phase=1, lens=lengths(20))(_seal)
for _n in range(1, 5):
    check(f"seal-pn{_n}", f"Packet numbers of {_n} bytes are sealed right", sends("hp"), SEAL,
          pn_len=_n, first_pn=0, lens=lengths(30))(_seal)
check("seal-number-large", "Packet numbers above 2^32 give the right nonce", sends("number"),
      SEAL, first_pn=(1 << 40) + 5, lens=lengths(30))(_seal)
check("seal-number-max", "Packet numbers near 2^62 give the right nonce", sends("number"), SEAL,
      first_pn=(1 << 62) - 2000, lens=lengths(30))(_seal)
check("seal-nonce", "No two packets have the same nonce", sends("reuse"), SEAL,
      lens=[300] * 60)(_seal)
check("seal-v6", "Sealed over IPv6", sends("tag"), SEAL, v6=True, lens=lengths(40))(_seal)
check("seal-one", "A single packet is sealed", sends("one"), SEAL, lens=[700])(_seal)
check("seal-128", "128 packets of one super-packet are sealed", sends("segs"), SEAL,
      lens=lengths(128, 60, 500))(_seal)
check("seal-bytes", "Nearly 64 KB are sealed in one go", sends("bytes"), SEAL,
      lens=[1400, 1333] * 23)(_seal)
check("seal-mtu", "Packets that fill the MTU are sealed", sends("mtu"), SEAL, lens=None)(_seal)
check("seal-shortest", "The shortest packets that can be sealed are sealed", sends("tag"), SEAL,
      lens=[29, 30, 31, 32, 33] * 6)(_seal)
check("seal-checksum", "The UDP checksum is over the sealed bytes", sends("csum"), SEAL,
      lens=lengths(25))(_seal)
check("seal-order", "Sealed packets keep their order", sends("order"), SEAL,
      lens=lengths(50))(_seal)
check("seal-lengths", "The lengths in the headers are those of the sealed packets",
      sends("udp-len"), SEAL, lens=lengths(33))(_seal)


@check("seal-dcid", "Connection IDs of 0 to 20 bytes are sealed right", sends("hp"), SEAL)
def _dcid(env):
    last = None
    for n in range(0, 21):
        s = Sender(env, dcid_len=n, shared=last)
        s.send(lengths(8, 64, 400))
        last = s
    last.check()


@check("seal-offsets", "Packet numbers with gaps are sealed right", sends("reuse"), SEAL)
def _offs(env):
    s = Sender(env)
    s.send(lengths(20), [i * i for i in range(20)])
    s.check()


@check("seal-ecn", "Traffic class and ECN bits are on every sealed packet", sends("tos"), SEAL)
def _seal_tos(env):
    s = Sender(env, tos=0x2a)
    s.send(lengths(20))
    for f in s.check():
        need(f.data[15] == 0x2a, f"traffic class {f.data[15]:#x}")


@check("seal-update", "A key update in mid-stream: old key before, new key after", sends("key"),
       SEAL)
def _update(env):
    s = Sender(env)
    for _ in range(4):
        for _ in range(3):
            s.send(lengths(20, 64, 300))
        s.update()
        # the slot may be loaded a moment later; software may seal meanwhile
        s.place()
    s.send(lengths(20))
    s.check()
