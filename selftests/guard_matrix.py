#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Plaintext super-packets against everything that can happen to them on the way.

A sealing device (quicsim) takes super-packets in plaintext. Each case puts
something between sendmsg and that device, or changes something while packets
wait there. Packets may be lost where the case says so; whatever arrives must
open, and no plaintext may be seen on the wire, on another device, by a stock
socket (also one with UDP_GRO) or in an ICMP error. Arguments choose cases.

Packets wait in one of three places, each for as long as the case wants:

  in the ring    hold_tx: the device has them, the hook has run
  in the qdisc   the ring is full of other frames: the hook has not run
  at the door    the neighbour does not answer: they are built for the device,
                 and filters on the device have not seen them
"""

import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

# pylint: disable=wrong-import-position
import ksft
import txnet
from txbed import MAC, V4, V6, Bed, knob
from txnet import FULL, Hook, Receiver, Sender, batch, inside, running, sh, sysctl, until

BPFFS = "/run/qoff-bpf"     # ip and tc have a /sys of their own
PIN = BPFFS + "/guard"
COMPLETE = 20000 # ms of silence before something that must come is missing
QUIET = 400      # the same where it may be lost
turn = 0         # pylint: disable=invalid-name


def judge(rx, others=(), whole=True):
    """What is wrong with what was seen, or nothing."""
    for r in (rx, *others):
        for key in ("leak", "tapleak", "badlen", "badcsum"):
            if r[key]:
                return f"{key}: {r}"
        if r["bad"]:
            return f"does not open: {r}"
    if whole and rx["good"] != rx["expected"]:
        return f"incomplete: {rx}"
    return None


def wait_and_change(net, tx, change, where):
    """Super-packets are waiting: the change, then they go on."""
    if where == "door":
        change(tx)
        net.known()
    elif where == "qdisc":
        change(tx)
        net.release()
    else:
        # It may wait until the ring is empty, so it must not hold it up
        turn = threading.Thread(target=change, args=(tx,))
        turn.start()
        turn.join(0.5)
        net.release()
        turn.join()


def wrong(last, dev, stats):
    """Counters that are not as the case says."""
    if dev is not None and bool(last.get("tx-dev", 0)) != dev:
        return f"device form: {not dev}"
    for key in stats:
        if not last.get(key):
            return f"{key} is 0"
    return None


def run(net, dst=V4, args="", change=None, whole=True, dev=None,
        stats=(), gro=False, local=False, where="qdisc", beyond=False):
    """One transfer. @change runs while super-packets wait, see above @where.
    @dev: must (not) have used the device form. @stats: counters that must not be
    0. @local: somebody listens in the sender's namespace. @beyond: all of it must
    come to c.
    """
    args = f"--connect --seal --max-len 1452 {'' if FULL else '--count 4'} {args}"
    rx = Receiver("b", args, gro=gro, wire="qs0-mon",
                  idle=COMPLETE if whole and not beyond else QUIET)
    others = [Receiver("c", args, gro=True, taps=("vc",), idle=COMPLETE if beyond else 100)]
    if local:
        others.append(Receiver("a", args + " --recverr", gro=True, idle=100, taps=("lo",)))
    tx = None
    try:
        if change:
            {"door": net.mute, "qdisc": net.fill,
             "ring": lambda: knob("qs0", "hold_tx", 1)}[where]()
        tx = Sender("a", dst, args)
        first = tx.sent()
        if change:
            wait_and_change(net, tx, change, where)
        tx.drain()
        res = rx.stop()
        last = first if tx.proc.returncode is not None else tx.end()
        seen = [o.stop() for o in others]
    except Exception:
        for r in (rx, *others, *([tx] if tx else [])):
            r.kill()
        raise
    net.last = (last, res, seen)
    if first["errno"] not in (0, 101, 100):
        return f"errno {first['errno']}"
    why = judge(res, seen, whole and not beyond) or wrong(last, dev, stats)
    if not why and beyond and seen[0]["good"] != seen[0]["expected"]:
        why = f"incomplete at c: {seen[0]}"
    return why and f"{why}; sender {last}"


def families(fam):
    """All of them, or in turn in the bounded run."""
    global turn
    turn += 1
    return fam if FULL else (fam[turn % len(fam)],)


# ------------------------------------------------------------------------
# Kinds of cases

def simple(*cmds, args="", fam=(V4, V6), **kw):
    """Commands in a, then a transfer."""
    def case():
        with Bed() as net:
            if cmds:
                net.run("a", *cmds)
            for dst in families(fam):
                why = run(net, dst, args, **kw)
                if why:
                    return f"{dst} {args}: {why}"
            return None
    return case


def changed(*cmds, args="--nseg 40", fam=(V4, V6), other="veth", **kw):
    """Commands in a while super-packets wait."""
    def case():
        with Bed(other=other) as net:
            dst = families(fam)[0]
            why = run(net, dst, args, change=lambda tx: net.run("a", *cmds), **kw)
            return why and f"{dst} {args}: {why}"
    return case


def late(*cmds, count=2, **kw):
    """Commands in a that no send could see, because the neighbour had not answered
    yet. What they lead to gets plaintext super-packets.
    """
    return changed(*(cmds or ("true",)), args=f"--count {count} --nseg 40", where="door", **kw)


def faulty(change, fresh=False, **kw):
    """Something happens to the device while super-packets wait."""
    def case():
        with Bed(fresh=fresh) as net:
            return run(net, change=change, **kw)
    return case


def flips(on, off, fam=(V4, V6), other="veth", loops=3, alone=False):
    """Something is switched back and forth while super-packets leave."""
    def case():
        with Bed(other=other) as net:
            # The pause is where the device form is chosen
            script = f"while :; do {on}; {off}; sleep 0.1; done"
            args = f"--nseg 30 --loops {10 if FULL else loops} --count 10 --gap 10000"
            for dst in families(fam):
                with inside("a"):
                    # pylint: disable-next=consider-using-with
                    loop = subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL)
                try:
                    why = run(net, dst, args, whole=False)
                finally:
                    loop.kill()
                    loop.wait()
                net.run("a", f"{off} || true")
                if not why and not net.last[0].get("tx-dev"):
                    why = f"the device form was never used: {net.last[0]}"
                if why:
                    return f"{dst}: {why}"
            return None
    case.alone = alone
    return case


def stacked(*cmds, dev="up0", args="", fam=(V4, V6), addr_on=None):
    """A device above the sealing one: sealed before it gets there."""
    def case():
        with Bed(fresh=True) as net:
            net.run("a", "ip addr flush dev qs0", *cmds)
            net.addr("a", addr_on or dev, "10.0.0.1/24", "fd00::1/64")
            batch("a", f"link set {dev} up", "link set qs0 up")
            until(lambda: running("a", dev), f"carrier of {dev}")
            batch("a", *(f"neigh replace {a} lladdr {MAC} dev {addr_on or dev}"
                         for a in (V4, V6)))
            for dst in families(fam):
                why = run(net, dst, args, dev=False)
                if why:
                    return f"{dst}: {why}"
            return None
    return case


def nft(rules, table="ip t", when_late=False, **kw):
    """Rules, before the transfer or while packets wait at the door."""
    def load():
        with inside("a"):
            sh("nft -f -", text=f"table {table} {{\n{rules}\n}}\n")

    def case():
        with Bed(other=kw.pop("other", "veth")) as net:
            if when_late:
                return run(net, change=lambda tx: load(), where="door",
                           args="--count 2 --nseg 40", **kw)
            load()
            return run(net, **kw)
    return case


def hooked(hook, **kw):
    """A BPF program is attached while packets wait at the door."""
    def case():
        hooks = []
        with Bed(other=kw.pop("other", "veth")) as net:
            try:
                return run(net, change=lambda tx: hooks.append(Hook(hook)), where="door",
                           args="--count 2 --nseg 40", **kw)
            finally:
                for h in hooks:
                    h.stop()
    return case


# ------------------------------------------------------------------------
# Cases of their own

def busy():
    """NETDEV_TX_BUSY, again and again."""
    with Bed() as net:
        knob("qs0", "busy_n", 2)
        knob("qs0", "busy_m", 3)
        return run(net, families((V4, V6))[0], dev=True)


def neighbour():
    """Nobody answers ARP or ND: the ICMP error quotes no plaintext to whoever listens."""
    with Bed(fresh=True) as net:
        for v in ("ipv4", "ipv6"):
            sysctl("a", **{f"{v}__neigh__qs0__mcast_solicit": 1,
                           f"{v}__neigh__qs0__retrans_time_ms": 100})
        for dst in families(("10.0.0.77", "fd00::77")):
            # The listener takes the sender's port after it is gone
            rx = Receiver("a", "--seal --port 7777 --recverr", gro=True, idle=1500, taps=("lo",))
            tx = Sender("a", dst, "--connect --seal --sport 7777 --count 2 --nseg 20")
            tx.sent()
            tx.end()
            res = rx.stop()
            why = judge(res, whole=False)
            if why or res["good"] or res["bad"]:
                return f"{dst}: {why or res}"
        return None


def vlan():
    """A VLAN on both ends."""
    with Bed(fresh=True) as net:
        batch("a", "addr flush dev qs0", "link add link qs0 name up0 type vlan id 5",
              "link set up0 up")
        batch("b", "addr flush dev qs1", "link add link qs1 name up1 type vlan id 5",
              "link set up1 up")
        net.addr("a", "up0", "10.0.0.1/24", "fd00::1/64")
        net.addr("b", "up1", V4 + "/24", V6 + "/64")
        batch("a", *(f"neigh replace {x} lladdr {MAC} dev up0" for x in (V4, V6)))
        return run(net, families((V4, V6))[0], dev=False)


def tunnel():
    """A tunnel through the sealing device: sealed before it is wrapped."""
    with Bed(fresh=True) as net:
        for ns, dev, n in (("a", "qs0", 1), ("b", "qs1", 2)):
            batch(ns, f"addr flush dev {dev}", f"addr add 10.9.0.{n}/24 dev {dev}",
                  f"link add up0 type vxlan id 7 remote 10.9.0.{3 - n} dstport 4789 udpcsum",
                  f"link set up0 address {MAC[:-1]}{n} mtu 1450 up")
            net.addr(ns, "up0", f"10.0.0.{n}/24", f"fd00::{n}/64")
        batch("a", f"neigh replace 10.9.0.2 lladdr {MAC} dev qs0",
              *(f"neigh replace {x} lladdr {MAC} dev up0" for x in (V4, V6)))
        return run(net, families((V4, V6))[0], "--max-len 1400", dev=False)


def reroute():
    """The output hook marks; the packet leaves by another device: sealed there."""
    with Bed(fresh=True) as net:
        net.addr("a", "va", "10.0.5.1/24")
        batch("a", "rule add fwmark 9 lookup 99",
              "route add 10.0.0.2 dev va table 99 src 10.0.0.1",
              f"neigh replace 10.0.0.2 lladdr {MAC} dev va")
        with inside("a"):
            sh("nft -f -", text="table ip t {\nchain o { type route hook "
               "output priority 0; udp dport 4433 meta mark set 9; }\n}\n")
        return run(net, beyond=True, stats=("tx-resealed",))


def queued(gso):
    """NFQUEUE: with F_GSO it observes plaintext, what it accepts is sealed; without,
    the stack cannot cut for it and drops.
    """
    def case():
        with Bed() as net:
            with inside("a"):
                sh("nft -f -", text="table inet t {\nchain o { type filter hook output "
                   "priority 0; udp dport 4433 queue num 7; }\n}\n")
            hook = Hook(f"nfqueue a 7 {'gso' if gso else ''}")
            why = run(net, families((V4, V6))[0], whole=gso, dev=gso, local=True)
            saw = hook.stop()
            if not why and gso and not saw["plain"]:
                why = "it observed no super-packet"
            if not why and not gso and saw["plain"]:
                why = "plaintext in pieces"
            return why and f"{why}, queue {saw}"
    return case


def pin(program):
    """A BPF program of a, where ip and tc find it."""
    if not os.path.ismount(BPFFS):
        os.makedirs(BPFFS, exist_ok=True)
        sh(f"mount -t bpf none {BPFFS}")
    sh(f"{txnet.HOOK} pin a {PIN} {program}")


def bpf_filter():
    """clsact with a BPF program that redirects, while packets wait at the door."""
    with Bed() as net:
        pin("cls redirect:va")
        try:
            return run(net, beyond=True, where="door", args="--count 2 --nseg 40",
                       stats=("tx-resealed",), change=lambda tx: net.run(
                           "a", "tc qdisc add dev qs0 clsact", "tc filter add dev qs0 egress "
                           f"protocol all bpf direct-action object-pinned {PIN}"))
        finally:
            os.unlink(PIN)


def bpf_route():
    """A BPF program on the route."""
    with Bed(fresh=True) as net:
        pin("lwt pass")
        try:
            batch("a", f"route add {V4}/32 encap bpf xmit pinned {PIN} dev qs0")
            return run(net, dev=False)
        finally:
            os.unlink(PIN)


def xdp_receiver(gro):
    """Generic XDP where sealed packets arrive: they are ordinary ones."""
    def case():
        with Bed() as net:
            hook = Hook("xdp b qs1 pass")
            try:
                return run(net, families((V4, V6))[0], dev=True, gro=gro)
            finally:
                hook.stop()
    return case


def xdp_ingress():
    """Redirected to the ingress of a device with generic XDP, which linearizes: the
    table is lost, the guards are not.
    """
    with Bed(fresh=True) as net:
        batch("a", f"link set va address {MAC}", f"addr add {V4}/32 dev va")
        hook = Hook("xdp a va pass")
        try:
            return run(net, whole=False, local=True, where="door", args="--count 2 --nseg 40",
                       change=lambda tx: net.run("a", *INGRESS))
        finally:
            hook.stop()


def tapped():
    """A tap on the sealing device sees ciphertext by default."""
    with Bed() as net:
        dst = families((V4, V6))[0]
        tap = Receiver("a", "--seal", taps=("qs0",), idle=200)
        why = run(net, dst, stats=("tx-tap", "tx-sw-seal"))
        seen = tap.stop()
        if why or seen["tapleak"] or not seen["frames"]:
            return f"{dst}: {why}, tap {seen}"
        return None


def tapped_late():
    """A tap that opens while plaintext waits sees ciphertext, too."""
    with Bed() as net:
        taps = []
        why = run(net, args="--nseg 40", stats=("tx-tap", "tx-resealed"),
                  change=lambda tx: taps.append(
                      Receiver("a", "--seal", taps=("qs0",), idle=300)))
        seen = taps[0].stop()
        return why or (f"tap {seen}" if seen["tapleak"] or not seen["frames"] else None)


def own_address():
    """To an own address."""
    with Bed(fresh=True) as net:
        net.addr("a", "lo", "10.0.0.9/32")
        rx = Receiver("a", "--seal --max-len 1452 --count 4", taps=("lo",), gro=True,
                      idle=COMPLETE)
        tx = Sender("a", "10.0.0.9", "--connect --seal --max-len 1452 --count 4")
        tx.sent()
        res = rx.stop()
        tx.end()
        return judge(res)


CLSACT = "tc qdisc add dev qs0 clsact"
FILTER = "tc filter add dev qs0 egress protocol all matchall action "
MIRROR = (CLSACT, FILTER + "mirred egress mirror dev va")
REDIRECT = (CLSACT, FILTER + "mirred egress redirect dev va")
INGRESS = (CLSACT, FILTER + "mirred ingress redirect dev va")
# The redirected packet is for us: as much as any configuration can do for it
LOCAL = (f"ip link set va address {MAC}", f"ip addr add {V4}/32 dev va",
         f"ip addr add {V6}/128 dev va nodad")
ROOT = "tc qdisc replace dev qs0 root "

CASES = {
    "plain": simple(dev=True),
    "UDP_GRO receiver": simple(dev=True, gro=True),
    "one datagram": simple(args="--nseg 1", dev=True),
    "128 small ones": simple(args="--nseg 128 --mix tiny", dev=True),
    "equal lengths": simple(args="--nseg 54 --mix equal", dev=True),
    "fq": simple(ROOT + "fq", dev=True),
    "fq, paced": simple(ROOT + "fq", args="--rate 20000000", dev=True),
    "fq, SO_TXTIME": simple(ROOT + "fq", args="--txtime 50", dev=True),
    "fq_codel": simple(ROOT + "fq_codel", dev=True),
    "fq_codel with a filter": simple(
        ROOT + "handle 1: fq_codel",
        "tc filter add dev qs0 parent 1: protocol all matchall classid 1:1", dev=False),
    "prio": simple(ROOT + "prio", dev=False),
    "tbf": simple(ROOT + "tbf rate 500mbit burst 20k limit 10m", dev=False),
    "netem delay": simple(ROOT + "netem delay 10ms limit 10000", dev=False),
    "netem duplicate": simple(ROOT + "netem duplicate 50% limit 10000", dev=False),
    "busy": busy,
    "clsact": simple(*MIRROR, dev=False),
    "gso_max_segs 8": simple("ip link set qs0 gso_max_segs 8", dev=True),

    "nft dup": nft(f"chain o {{ type filter hook output priority 0; "
                   f"ip daddr {V4} udp dport 4433 dup to 10.0.0.3 device \"va\"; }}",
                   dev=True, local=True),
    "conntrack and SNAT": nft("chain p { type nat hook postrouting priority 100; "
                              "udp dport 4433 snat ip to 10.0.0.1:50000; }", dev=True),
    "reject": nft("chain o { type filter hook output priority 0; "
                  "udp dport 4433 reject; }", whole=False, local=True),
    "NFQUEUE": queued(False),
    "NFQUEUE with F_GSO": queued(True),
    "reroute to another device": reroute,
    "to an own address": own_address,
    "neighbour failure": neighbour,

    "vlan": vlan,
    "tunnel": tunnel,
    "macvlan": stacked("ip link add link qs0 name up0 type macvlan mode bridge"),
    "ipvlan": stacked("ip link add link qs0 name up0 type ipvlan mode l2"),
    "bridge": stacked("ip link add up0 type bridge", "ip link set qs0 master up0"),
    "bond": stacked("ip link set qs0 down", "ip link add up0 type bond mode active-backup",
                    "ip link set qs0 master up0"),
    "bond, balanced": stacked("ip link set qs0 down",
                              "ip link add up0 type bond mode balance-xor",
                              "ip link set qs0 master up0"),
    "vrf": stacked("ip link add up0 type vrf table 10", "ip link set qs0 master up0",
                   args="--bind up0", addr_on="qs0"),
    "BPF program on the route": bpf_route,
    "generic XDP where it arrives": xdp_receiver(False),
    "generic XDP and UDP_GRO where it arrives": xdp_receiver(True),

    "tap": tapped,
    "tap opens late": tapped_late,
    "reset while waiting": faulty(lambda tx: knob("qs0", "reset", 1), stats=("tx-resealed",)),
    "reset, in the ring": faulty(lambda tx: knob("qs0", "reset", 1), whole=False, where="ring"),
    "contexts lost while waiting": faulty(lambda tx: knob("qs0", "lose", 1), whole=False),
    "contexts lost, in the ring": faulty(lambda tx: knob("qs0", "lose", 1), whole=False,
                                         where="ring"),
    "unregistered while waiting": faulty(lambda tx: knob("qs0", "registered", 0),
                                         stats=("tx-resealed",)),
    "unregistered, in the ring": faulty(lambda tx: knob("qs0", "registered", 0), whole=False,
                                        where="ring"),
    "closed while waiting": faulty(lambda tx: tx.end()),
    "removed while waiting": faulty(lambda tx: sh("ip -n a link del qs0"), whole=False,
                                     fresh=True),
    "quic-gso off while waiting": changed("ethtool -K qs0 quic-gso off", stats=("tx-resealed",)),
    "quic-tx-crypto off while waiting": changed("ethtool -K qs0 quic-tx-crypto off",
                                                stats=("tx-resealed",)),
    "uso off while waiting": changed("ethtool -K qs0 tx-udp-segmentation off",
                                     stats=("tx-resealed",)),
    "tx off while waiting": changed("ethtool -K qs0 tx off", stats=("tx-resealed",)),
    "sg off while waiting": changed("ethtool -K qs0 sg off", whole=False),
    "gso_max_segs while waiting": changed("ip link set qs0 gso_max_segs 8",
                                          stats=("tx-resealed",)),
    "gso_max_size while waiting": changed("ip link set qs0 gso_max_size 8000",
                                          stats=("tx-resealed",)),
    "mtu while waiting": changed("ip link set qs0 mtu 1280", whole=False,
                                 stats=("tx-resealed", "tx-drop-mtu")),

    # The first shows that what waits at the door is plaintext
    "late: nothing": late(dev=True),
    "late: mirror": late(*MIRROR, dev=True),
    # mirred at egress sends a clone on, which has no socket and so nobody to seal it
    "late: redirect": late(*REDIRECT, whole=False),
    "late: redirect to ingress": late(*LOCAL, *INGRESS, whole=False, local=True),
    "late: the same, as if for us": late(
        *LOCAL, CLSACT, FILTER + "skbedit ptype host pipe action mirred ingress redirect dev va",
        whole=False, local=True),
    "late: redirect to ingress with generic XDP": xdp_ingress,
    "late: checksum action": late(CLSACT, FILTER + "csum ip4h and udp", whole=False),
    "late: BPF redirect in clsact": bpf_filter,
    "late: tcx redirect": hooked("tcx a qs0 redirect:va", beyond=True, stats=("tx-resealed",)),
    "late: tcx clone": hooked("tcx a qs0 clone:va", dev=True),
    "late: tcx redirect to ingress": hooked("tcx a qs0 ingress:va", whole=False, local=True),
    "late: nft netdev dup": nft("chain e { type filter hook egress device \"qs0\" priority 0; "
                                "dup to \"va\"; }", table="netdev t", when_late=True, dev=True),
    "late: nft netdev fwd": nft("chain e { type filter hook egress device \"qs0\" priority 0; "
                                "fwd to \"va\"; }", table="netdev t", when_late=True,
                                beyond=True, stats=("tx-resealed",)),
    "late: prio": late(ROOT + "prio", dev=True),
    "late: netem delay": late(ROOT + "netem delay 1ms", whole=False),
    "late: netem duplicate": late(ROOT + "netem duplicate 100%", whole=False),
    "late: netem corrupt": late(ROOT + "netem corrupt 100%", whole=False),
    "late: tbf with a small burst": late(ROOT + "tbf rate 500mbit burst 20k limit 10m",
                                         whole=False),

    "late: mirror to FSO+USO": late(*MIRROR, dev=True, other="dumb-fso"),
    "late: redirect to FSO+USO": late(*REDIRECT, whole=False, other="dumb-fso"),
    "late: tcx redirect to FSO+USO": hooked("tcx a qs0 redirect:va", beyond=True,
                                            stats=("tx-resealed",), other="dumb-fso"),
    "late: tcx clone to FSO+USO": hooked("tcx a qs0 clone:va", dev=True, other="dumb-fso"),
    "flip clsact redirect to FSO+USO": flips("; ".join(REDIRECT), "tc qdisc del dev qs0 clsact",
                                             other="dumb-fso"),

    "flip uso": flips("ethtool -K qs0 tx-udp-segmentation off",
                      "ethtool -K qs0 tx-udp-segmentation on quic-gso on quic-tx-crypto on"),
    "flip sg": flips("ethtool -K qs0 sg off", "ethtool -K qs0 sg on tx-udp-segmentation on "
                     "quic-gso on quic-tx-crypto on"),
    "flip clsact mirror": flips("; ".join(MIRROR), "tc qdisc del dev qs0 clsact", alone=True),
    "flip redirect to ingress": flips("; ".join(INGRESS), "tc qdisc del dev qs0 clsact",
                                      alone=True),
    "flip netem": flips(ROOT + "netem delay 1ms duplicate 50%", "tc qdisc del dev qs0 root",
                        alone=True),
    "flip down": flips("ip link set qs0 down", "ip link set qs0 up; sleep 0.3", fam=(V4,)),
}


def main():
    """Run what was asked for; the bounded run takes each kind of flip once."""
    names = [n for n in CASES if not sys.argv[1:] or any(a in n for a in sys.argv[1:])]
    if not sys.argv[1:] and not FULL:
        names = [n for n in names if not getattr(CASES[n], "alone", False)]
    ksft.plan(len(names))
    txnet.warm()
    try:
        ksft.run_cases({n: CASES[n] for n in names})
    finally:
        if Bed.shared:
            Bed.shared.clear()


main()
