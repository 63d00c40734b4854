# SPDX-License-Identifier: GPL-2.0
"""Checks of what the driver announces, of keys that come and go, and of the duties
that hold whatever happens: no plaintext, no number twice, nothing after the end."""

from checks import CIPHERS, Skip, check, sends, takes
from env import QUIC, Failed, Receiver, Sender, lengths, need

ANY = ("any",)
SEAL = ("a:quic-gso", "a:quic-tx-crypto")
OPEN = ("b:quic-rx-crypto",)
GONE = ("a", "registered", "none")


# --- announce ---------------------------------------------------------------------

@check("announce-device", "The driver is registered, under its name", GONE, ANY)
def _device(env):
    p = env.a.probe()
    need(p and p["id"] and p["driver"], "no device")
    driver = env.a.end.run(f"ethtool -i {env.a.dev}").split()[1]
    need(p["driver"] == driver, f"it calls itself {p['driver']}, ethtool says {driver}")


@check("announce-limits", "Limits are such that something can be done within them", GONE, ANY)
def _limits(env):
    p = env.a.probe()
    need(p, "no device")
    need(2 <= p["max_segs"] <= 128, f"{p['max_segs']} segments")
    need(1500 <= p["max_bytes"] <= 65527, f"{p['max_bytes']} bytes")
    need(p["max_ctx"] or not p["features_cap"] & 4, "sealing, but no contexts")
    need(p["max_flow"] or not p["features_cap"] & 10, "receiving, but no flows")


@check("announce-ciphers", "Crypto switches come with ciphers that exist", GONE, ANY)
def _ciphers(env):
    p = env.a.probe()
    need(p, "no device")
    for side, bit in (("tx", 4), ("rx", 8)):
        c = p[f"{side}_ciphers"]
        need(bool(c) == bool(p["features_cap"] & bit), f"{side}: ciphers {c:#x}")
        need(not c & ~0x1e, f"{side}: unknown ciphers {c:#x}")


@check("announce-switches", "Every switch goes on and off, and says so", GONE, ANY)
def _switches(env):
    cap = env.caps["features_cap"]
    names = [n for i, n in enumerate(QUIC) if cap >> i & 1]
    for on in (names, [], names):
        env.a.switches(*on)
        p = env.a.probe()
        need(p, "no device")
        need(p["features"] == sum(1 << QUIC.index(n) for n in on),
             f"switches {p['features']:#x} after {on}")


def patched(env):
    """The kernel has the names."""
    if not env.caps["ethtool"]:
        raise Skip("the kernel has no names for the switches")


@check("announce-needs-gso", "Sealing cannot be on without segmentation", sends("features"), SEAL)
def _needs_gso(env):
    patched(env)
    env.a.switches("quic-gso", "quic-tx-crypto")
    env.a.on = None
    env.a.end.run(f"ethtool -K {env.a.dev} quic-gso off", check=False)
    need(not env.a.probe()["features"] & 4, "quic-tx-crypto is on without quic-gso")


@check("announce-needs-checksum", "Segmentation cannot be on without checksums",
       sends("features"), SEAL, off="tx", what="transmit checksums")
@check("announce-needs-sg", "Segmentation cannot be on without scatter-gather",
       sends("features"), SEAL, off="sg", what="scatter-gather")
def _needs(env, off, what):
    patched(env)
    env.a.switches("quic-gso", "quic-tx-crypto")
    env.a.on = None
    try:
        env.a.end.run(f"ethtool -K {env.a.dev} {off} off", check=False)
        need(not env.a.probe()["features"] & 5, f"quic-gso is on without {what}")
    finally:
        env.a.end.run(f"ethtool -K {env.a.dev} tx on sg on tso on", check=False)


# --- contexts -----------------------------------------------------------------------

@check("context-placed", "A context of each announced cipher is taken", ("a", "refuse_ctx", 95),
       SEAL)
def _placed(env):
    for i, c in enumerate(CIPHERS):
        if env.caps["tx_ciphers"] >> i + 1 & 1:
            Sender(env, cipher=c).check()


@check("context-key-placed", "A key of each announced cipher is taken", ("a", "refuse_key", 95),
       SEAL)
def _key_placed(env):
    for i, c in enumerate(CIPHERS):
        if env.caps["tx_ciphers"] >> i + 1 & 1:
            Sender(env, cipher=c, phase=1).check()


@check("context-flow-placed", "A flow of each announced cipher is taken",
       ("b", "refuse_flow", 95), OPEN)
def _flow_placed(env):
    for i, c in enumerate(CIPHERS):
        if env.b_caps["rx_ciphers"] >> i + 1 & 1:
            Receiver(env, cipher=c)


@check("context-many", "Sixteen contexts at a time, each with its own key", sends("plain"), SEAL)
def _many(env):
    first = Sender(env)
    senders = [first] + [Sender(env, shared=first) for _ in range(15)]
    for _ in range(3):
        for s in senders:
            s.send(lengths(5, 64, 300))
    first.check()


@check("context-full", "A context that finds no room is served by software, the same bytes",
       ("a", "corrupt/nth", 2), SEAL + ("table",))
def _full(env):
    env.knob("a", "table_limit", 2)
    try:
        first = Sender(env, place=False)
        senders = [first] + [Sender(env, shared=first, place=False) for _ in range(5)]
        for _ in range(4):
            for s in senders:
                s.send(lengths(4, 64, 300))
        first.check()
    finally:
        env.knob("a", "table_limit", 0)


@check("context-reuse", "A place that was given back is used again, with the new key",
       sends("tag"), SEAL)
def _reuse(env):
    last = None
    for _ in range(12):
        s = Sender(env, shared=last)
        s.send(lengths(5, 64, 300))
        env.a.ctx_del(s.sock, s.ctx)
        last = s
    last.check()


@check("context-drain", "Packets on their way when their context is deleted arrive",
       sends("drain"), SEAL)
def _drain(env):
    s = Sender(env)
    for _ in range(12):
        s.send([200] * min(100, env.caps["max_segs"]))
    env.a.ctx_del(s.sock, s.ctx)
    s.check()


@check("context-flow-gone", "Once a flow is deleted nothing of it is opened", takes("flow"), OPEN)
def _flow_gone(env):
    r = Receiver(env)
    pkts = [r.sealed(n) for n in lengths(10)]
    env.b.flow_del(r.sock, r.flow)
    r.put(pkts)
    for seg, p in zip(r.take()["segs"], pkts, strict=True):
        need(seg["data"] == p.hex() and seg["status"], "opened by a flow that is gone")


@check("context-flow-again", "A flow that is added again is opened with its new key",
       takes("flow"), OPEN)
def _flow_again(env):
    r = Receiver(env)
    r.run(lengths(5))
    env.b.flow_del(r.sock, r.flow)
    import agent as oracle  # pylint: disable=import-outside-toplevel
    r.keys = oracle.keys(r.cipher, env.fresh())
    r.flow = env.b.flow_add(r.sock, env.b.v4, env.a.v4, r.sport, r.dcid, r.cipher, env.secret,
                            0, 1)
    env.wait("the flow is in the device again",
             lambda: env.b.flow_get(r.sock, r.flow)["dev"])
    r.pn = 0
    r.run(lengths(5))


# --- duties -------------------------------------------------------------------------

@check("duty-fallback", "Software makes the same bytes as the device did, on one key",
       ("a", "corrupt/nth", 3), SEAL)
def _fallback(env):
    s = Sender(env)
    s.send(lengths(30))
    env.a.switches()
    s.send(lengths(30))
    env.a.switches("quic-gso", "quic-tx-crypto")
    s.place()
    s.send(lengths(30))
    s.check()


def _during(env, act, rounds=4):
    """Send before, between and after; what arrives must be right, most must."""
    s = Sender(env)
    for i in range(rounds):
        for _ in range(3):
            s.send(lengths(20, 64, 300))
        act(i)
        for _ in range(3):
            s.send(lengths(20, 64, 300))
    s.place()
    s.send(lengths(20))
    got = s.lossy()
    need([f.payload for f in got[-20:]] == s.want[-20:], "the device does not seal again")


@check("duty-flips", "Switches are flipped under load: no plaintext, no wrong byte",
       sends("plain"), SEAL)
def _flips(env):
    def flip(i):
        env.a.switches(*([], ["quic-gso"])[i % 2])
        env.a.switches("quic-gso", "quic-tx-crypto")
    _during(env, flip)


@check("duty-stack-flips", "The port's other switches are flipped under load", sends("plain"),
       SEAL)
def _stack_flips(env):
    def flip(i):
        name = ("tx", "sg", "tso", "gso")[i % 4]
        env.a.end.run(f"ethtool -K {env.a.dev} {name} off", check=False)
        env.a.end.run(f"ethtool -K {env.a.dev} tx on sg on tso on gso on", check=False)
        env.a.on = None
        env.a.switches("quic-gso", "quic-tx-crypto")
    _during(env, flip)


@check("duty-link", "The port goes down and up under load: no plaintext, then it seals again",
       sends("plain"), SEAL)
def _link(env):
    def flap(_):
        env.a.end.run(f"ip link set {env.a.dev} down")
        env.a.end.run(f"ip link set {env.a.dev} up")
        # IPv6 addresses go with a port that goes down; IPv4 needs the carrier
        env.wait("the link is up",
                 lambda: "LOWER_UP" in env.a.end.run(f"ip link show {env.a.dev}"))
    _during(env, flap, 2)


@check("duty-reset", "The device is reset under load: no plaintext, then it seals again",
       sends("plain"), SEAL)
def _reset(env):
    _during(env, lambda _: env.reset("a"))


@check("duty-reset-number", "No packet number gets two contents through resets", sends("reuse"),
       SEAL)
def _reset_number(env):
    _during(env, lambda _: env.reset("a"))


@check("duty-reset-receive", "The receiver is reset: nothing wrong is delivered, then it opens "
       "again", takes("byte"), OPEN)
def _reset_rx(env):
    r = Receiver(env)
    for _ in range(3):
        pkts = [r.sealed(n) for n in lengths(20, 60, 400)]
        r.put(pkts[:10])
        env.reset("b")
        r.put(pkts[10:])
        known = {p.hex() for p in pkts}
        plain = {r.plain[p][0].hex() for p in pkts}
        for seg in r.take()["segs"]:
            need(seg["data"] in (known if seg["status"] else plain), "a wrong byte")
    env.wait("the flow is in the device again",
             lambda: env.b.flow_get(r.sock, r.flow)["dev"])
    r.run(lengths(20))


@check("duty-mtu", "The MTU shrinks and grows: packets that fit arrive sealed", sends("tag"),
       SEAL)
def _mtu(env):
    def change(_):
        env.a.end.run(f"ip link set {env.a.dev} mtu 1300")
        env.a.end.run(f"ip link set {env.a.dev} mtu 1500")
    _during(env, change, 2)


@check("duty-error", "A super-packet that the device fails is lost whole, nothing of it leaks",
       sends("plain"), SEAL + ("table",))
def _error(env):
    s = Sender(env)
    env.knob("a", "tx_fail/nth", 2)
    try:
        for _ in range(10):
            s.send(lengths(10))
        got = s.lossy()
    finally:
        env.knob("a", "tx_fail/nth", 0)
    need(len(got) < len(s.want), "nothing failed")


# --- counters -----------------------------------------------------------------------

def _delta(env, side, name, func):
    end = getattr(env, side)
    before = end.dev_stats()
    need(name in before, f"the driver does not count {name}")
    func()
    return end.dev_stats()[name] - before[name]


@check("count-sent", "The counter of segments sent is what is on the wire", sends("stats"), SEAL)
def _sent(env):
    s = Sender(env)
    s.check()

    def traffic():
        s.want.clear()
        for _ in range(5):
            s.send(lengths(20))
        s.check()
    n = _delta(env, "a", "tx-segs", traffic)
    need(n == 100, f"{n} counted, 100 on the wire")


@check("count-bytes", "The counter of bytes sent is what is on the wire", sends("stats"), SEAL)
def _sent_bytes(env):
    s = Sender(env)
    s.check()

    def traffic():
        s.want.clear()
        s.send(lengths(30))
        s.check()
    n = _delta(env, "a", "tx-bytes", traffic)
    need(n == sum(lengths(30)), f"{n} counted, {sum(lengths(30))} on the wire")


@check("count-opened", "The counter of packets opened is what was opened", takes("stats"), OPEN)
def _opened(env):
    r = Receiver(env)
    n = _delta(env, "b", "rx-dev-opened", lambda: r.run(lengths(30)))
    need(n == 30, f"{n} counted, 30 opened")


@check("count-failed", "Packets that do not open are counted", takes("opened"), OPEN)
def _failed(env):
    r = Receiver(env)
    pkts = [r.sealed(200)[:-1] + b"\0" for _ in range(20)]

    def traffic():
        r.put(pkts)
        r.take()
    traffic()
    n = env.b.flow_get(r.sock, r.flow)["failed"]
    # one tag in 256 ends with a zero byte
    if not 15 <= n <= 20:
        raise Failed(f"{n} failures counted of 20")


@check("count-port", "The port's own packet counter is what is on the wire",
       ("a", "registered", "none"), SEAL)
def _port(env):
    path = f"/sys/class/net/{env.a.dev}/statistics/tx_packets"
    s = Sender(env)
    s.check()
    before = int(env.a.end.run(f"cat {path}"))
    s.want.clear()
    s.send(lengths(60, 64, 300))
    s.check()
    n = int(env.a.end.run(f"cat {path}")) - before
    need(60 <= n <= 80, f"{n} counted, 60 and a few on the wire")
