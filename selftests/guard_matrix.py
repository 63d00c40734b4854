#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Plaintext super-packets against everything that can happen to them on the way.

A sealing device (quicsim) takes super-packets in plaintext. Each case puts
something between sendmsg and that device, or changes something while packets
wait there. Packets may be lost where the case says so; whatever arrives must
open, and no plaintext may be seen on the wire, on another device, by a stock
socket (also one with UDP_GRO) or in an ICMP error. Arguments choose cases.
"""

import json
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

# pylint: disable=wrong-import-position
import ksft
from txnet import TOOL, Net, Receiver, sh

PARAM = "/sys/module/quicsim/parameters"
DEBUG = "/sys/kernel/debug/quicsim"
QUIC = ("quic-gso", "quic-gro", "quic-tx-crypto", "quic-rx-crypto")
V4, V6 = "10.0.0.2", "fd00::2"
LIMIT = 30
WAIT = 4000      # ms that a super-packet waits for a change to come


def until(cond, what):
    """Poll until cond() holds."""
    end = time.monotonic() + LIMIT
    while not cond():
        if time.monotonic() > end:
            raise RuntimeError(f"timed out: {what}")
        time.sleep(0.02)


def knob(dev, name, value):
    """A fault of the simulated NIC."""
    with open(f"{DEBUG}/{dev}/{name}", "w", encoding="ascii") as f:
        f.write(str(value))


class Bed(Net):
    """qs0 in a seals, qs1 in b receives, another veth leads from a to c."""

    def __init__(self, mode="full", other="veth"):
        super().__init__("a", "b", "c")
        self.mode = mode
        self.other = other

    def __enter__(self):
        super().__enter__()
        with open(f"{PARAM}/mode", "w", encoding="ascii") as f:
            f.write(self.mode)
        sh("ip link add qs0 type quicsim; ip link set qs0-mon up; ip link set qs0 netns a; "
           "ip link set qs1 netns b; ip -n a link set qs0 up; ip -n b link set qs1 up")
        if self.other == "veth":
            self.veth("a", "va", "c", "vc")
        else:
            with open(f"{PARAM}/mode", "w", encoding="ascii") as f:
                f.write(self.other)
            sh("ip link add qx0 type quicsim; ip link set qx0 netns a name va; "
               "ip link set qx1 netns c name vc; ip -n a link set va up; ip -n c link set vc up")
        mac = json.loads(sh("ip -n b -j link show qs1"))[0]["address"]
        sh(f"ip -n c link set vc down; ip -n c link set vc address {mac}; ip -n c link set vc up")
        self.addr("a", "qs0", "10.0.0.1/24", "fd00::1/64")
        self.addr("b", "qs1", V4 + "/24", V6 + "/64")
        self.addr("c", "vc", V4 + "/24", V6 + "/64")
        until(lambda: "LOWER_UP" in sh("ip -n a link show qs0"), "carrier")
        sh("ip -n a neigh replace 10.0.0.2 lladdr {0} dev qs0; "
           "ip -n a neigh replace fd00::2 lladdr {0} dev qs0".format(mac))
        switches = " ".join(f"{q} on" for q in ("quic-gso", "quic-tx-crypto"))
        self.run("a", f"ethtool -K qs0 {switches}")
        self.mac = mac
        return self

    def __exit__(self, *exc):
        super().__exit__(*exc)
        until(lambda: not os.path.exists(f"{DEBUG}/qs0"), "the ports are gone")


class Sender:
    """tx_tool send --hold: the first line when all was sent, the last at the end."""

    def __init__(self, dst=V4, args="", ns="a"):
        cmd = (f"{TOOL} send --netns {ns} --dst {dst} --seal --connect --hold "
               f"--max-len 1452 {args}")
        self.proc = subprocess.Popen(cmd.split(), stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def sent(self):
        """Wait until sendmsg was called for everything."""
        line = self.proc.stdout.readline()
        if not line:
            raise RuntimeError(f"sender: {self.proc.stderr.read()}")
        return json.loads(line)

    def end(self):
        """Close the socket; the final counters."""
        self.proc.stdin.close()
        out = self.proc.stdout.read().strip().splitlines()
        self.proc.wait()
        return json.loads(out[-1])


def judge(rx, others=(), whole=True):
    """What is wrong with what was seen, or nothing."""
    for r in (rx, *others):
        for key in ("leak", "tapleak", "badlen", "badcsum"):
            if r[key]:
                return f"{key}: {r}"
    if rx["bad"]:
        return f"does not open: {rx}"
    if whole and rx["good"] != rx["expected"]:
        return f"incomplete: {rx}"
    return None


def run(net, dst=V4, args="", change=None, whole=True, dev=None,
        stats=(), gro=False, tap_c=True, local=False, idle=1500, ring=False):
    """One transfer. @change runs while super-packets wait: in the qdisc (fq, by
    their SO_TXTIME), or with @ring in the device. @dev: must (not) have used the
    device form. @stats: counters that must not be 0.
    """
    if change and not ring:
        net.run("a", "tc qdisc replace dev qs0 root fq")
        args += f" --txtime {WAIT}"
        idle += WAIT
    common = f"--seal --max-len 1452 {args}"
    rx = Receiver("b", common, gro=gro, idle=idle, wire="qs0-mon")
    others = []
    if tap_c:
        others.append(Receiver("c", common, gro=True, idle=100, taps=("vc",)))
    if local:
        others.append(Receiver("a", common + " --recverr", gro=True, idle=100, taps=("lo",)))
    try:
        if ring:
            knob("qs0", "hold_tx", 1)
        tx = Sender(dst, args)
        first = tx.sent()
        if change and not ring:
            change(tx)
        elif change:
            # It may wait until the ring is empty, so it must not hold it up
            turn = threading.Thread(target=change, args=(tx,))
            turn.start()
            turn.join(0.5)
            knob("qs0", "hold_tx", 0)
            turn.join()
        res = rx.stop()
        last = first if tx.proc.returncode is not None else tx.end()
        seen = [o.stop() for o in others]
    except Exception:
        for r in (rx, *others):
            r.proc.kill()
        raise
    net.last = (last, res, seen)
    if first["errno"] not in (0, 101, 100):
        return f"errno {first['errno']}"
    why = judge(res, seen, whole)
    if not why and dev is not None and bool(last.get("tx-dev", 0)) != dev:
        why = f"device form: {not dev}"
    for key in stats:
        if not why and not last.get(key):
            why = f"{key} is 0"
    return why and f"{why}; sender {last}"


def both(net, **kw):
    """Over IPv4 and IPv6."""
    return run(net, V4, **kw) or run(net, V6, **kw)


def simple(*cmds, args="", fam=(V4, V6), **kw):
    """A case: commands in a, then transfers."""
    def case():
        with Bed() as net:
            if cmds:
                net.run("a", *cmds)
            for dst in fam:
                why = run(net, dst, args, **kw)
                if why:
                    return f"{dst} {args}: {why}"
            return None
    return case


def changed(*cmds, args="--nseg 40", fam=(V4,), undo=(), **kw):
    """A case: commands in a while super-packets wait in the qdisc."""
    def case():
        with Bed() as net:
            for dst in fam:
                why = run(net, dst, args, change=lambda tx: net.run("a", *cmds), **kw)
                if why:
                    return f"{dst} {args}: {why}"
                if undo:
                    net.run("a", *undo)
            return None
    return case


def faulty(change, **kw):
    """A case: something happens to the device while super-packets wait."""
    def case():
        with Bed() as net:
            return run(net, change=change, **kw)
    return case


def busy():
    """NETDEV_TX_BUSY, again and again."""
    with Bed() as net:
        knob("qs0", "busy_n", 2)
        knob("qs0", "busy_m", 3)
        return both(net, dev=True)


def flips(*pairs, whole=False, other="veth", args="--nseg 30 --loops 8 --gap 10000", fam=(V4, V6)):
    """Something is switched back and forth while super-packets leave."""
    def case():
        with Bed(other=other) as net:
            # The pause is where the device form is chosen
            script = "; ".join(f"{on}; {off}; sleep 0.1" for on, off in pairs)
            for dst in fam:
                loop = subprocess.Popen(
                    ["nsenter", "--net=/run/netns/a", "sh", "-c",
                     f"while :; do {script}; done"],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    why = run(net, dst, args, whole=whole)
                finally:
                    loop.kill()
                    loop.wait()
                net.run("a", "; ".join(f"{off} || true" for _, off in pairs))
                if why:
                    return f"{dst}: {why}"
                if not net.last[0].get("tx-dev"):
                    return f"{dst}: the device form was never used: {net.last[0]}"
            return None
    return case


def neighbour():
    """Nobody answers ARP or ND: the ICMP error quotes no plaintext to whoever listens."""
    with Bed() as net:
        net.run("a", "ip neigh flush all nud all", "sysctl -qw net.ipv4.neigh.qs0.ucast_solicit=1 "
                "net.ipv4.neigh.qs0.mcast_solicit=1 net.ipv6.neigh.qs0.mcast_solicit=1 "
                "net.ipv4.neigh.qs0.retrans_time_ms=100 net.ipv6.neigh.qs0.retrans_time_ms=100")
        for dst in ("10.0.0.77", "fd00::77"):
            # The listener takes the sender's port after it is gone
            rx = Receiver("a", "--seal --port 7777 --recverr", gro=True, idle=1500, taps=("lo",))
            tx = Sender(dst, "--sport 7777 --count 2 --nseg 20")
            tx.sent()
            tx.end()
            res = rx.stop()
            why = judge(res, whole=False)
            if why or res["good"] or res["bad"]:
                return f"{dst}: {why or res}"
        return None


def stacked(*cmds, dev="up0"):
    """A device above the sealing one: sealed before it gets there."""
    def case():
        with Bed() as net:
            net.run("a", "ip addr flush dev qs0", *cmds, f"ip link set {dev} up")
            net.addr("a", dev, "10.0.0.1/24", "fd00::1/64")
            net.run("a", f"ip neigh replace {V4} lladdr {net.mac} dev {dev}",
                    f"ip neigh replace {V6} lladdr {net.mac} dev {dev}")
            return both(net, dev=False)
    return case


def vlan():
    """A VLAN on both ends."""
    with Bed() as net:
        net.run("a", "ip addr flush dev qs0", "ip link add link qs0 name up0 type vlan id 5",
                "ip link set up0 up")
        net.run("b", "ip addr flush dev qs1", "ip link add link qs1 name up1 type vlan id 5",
                "ip link set up1 up")
        net.addr("a", "up0", "10.0.0.1/24", "fd00::1/64")
        net.addr("b", "up1", V4 + "/24", V6 + "/64")
        net.run("a", f"ip neigh replace {V4} lladdr {net.mac} dev up0",
                f"ip neigh replace {V6} lladdr {net.mac} dev up0")
        return both(net, dev=False)


def nft(rules, whole=True, dev=None, local=False, **kw):
    """Rules at hooks that sendmsg does not look at."""
    def case():
        with Bed() as net:
            sh("nsenter --net=/run/netns/a nft -f -", text=f"table ip t {{\n{rules}\n}}\n")
            return run(net, whole=whole, dev=dev, local=local, **kw)
    return case


def reroute():
    """The output hook marks; the packet leaves by another device: sealed there."""
    with Bed() as net:
        net.addr("a", "va", "10.0.5.1/24")
        net.run("a", "ip rule add fwmark 9 lookup 99",
                "ip route add 10.0.0.2 dev va table 99 src 10.0.0.1",
                f"ip neigh replace 10.0.0.2 lladdr {net.mac} dev va")
        sh("nsenter --net=/run/netns/a nft -f -", text="table ip t {\nchain o { type route hook "
           "output priority 0; udp dport 4433 meta mark set 9; }\n}\n")
        rx = Receiver("c", "--seal --max-len 1452", taps=("vc",))
        tx = Sender()
        tx.sent()
        res = rx.stop()
        last = tx.end()
        return judge(res) or (None if last.get("tx-resealed") else f"not resealed: {last}")


def tapped():
    """A tap on the sealing device sees ciphertext by default."""
    with Bed() as net:
        for dst in (V4, V6):
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


def local(args=""):
    """To an own address."""
    with Bed() as net:
        net.addr("a", "lo", "10.0.0.9/32")
        rx = Receiver("a", "--seal --max-len 1452", taps=("lo",), gro=True)
        tx = Sender("10.0.0.9", args)
        tx.sent()
        res = rx.stop()
        tx.end()
        return judge(res)


CASES = {
    "plain": simple(dev=True),
    "UDP_GRO receiver": simple(dev=True, gro=True),
    "one datagram": simple(args="--nseg 1", dev=True),
    "128 small ones": simple(args="--nseg 128 --mix tiny", dev=True),
    "equal lengths": simple(args="--nseg 54 --mix equal", dev=True),
    "fq": simple("tc qdisc replace dev qs0 root fq", dev=True),
    "fq, paced": simple("tc qdisc replace dev qs0 root fq", args="--rate 20000000", dev=True),
    "fq, SO_TXTIME": simple("tc qdisc replace dev qs0 root fq", args="--txtime 50", dev=True),
    "fq_codel": simple("tc qdisc replace dev qs0 root fq_codel", dev=True),
    "fq_codel with a filter": simple(
        "tc qdisc replace dev qs0 root handle 1: fq_codel",
        "tc filter add dev qs0 parent 1: protocol all matchall classid 1:1", dev=False),
    "prio": simple("tc qdisc replace dev qs0 root prio", dev=False),
    "tbf": simple("tc qdisc replace dev qs0 root tbf rate 500mbit burst 20k limit 10m",
                  dev=False, fam=(V4,)),
    "netem delay": simple("tc qdisc replace dev qs0 root netem delay 10ms limit 10000",
                          dev=False, fam=(V4,)),
    "netem duplicate": simple("tc qdisc replace dev qs0 root netem duplicate 50% limit 10000",
                              dev=False, fam=(V4,)),
    "busy": busy,
    "clsact": simple("tc qdisc add dev qs0 clsact", "tc filter add dev qs0 egress protocol all "
                     "matchall action mirred egress mirror dev va", dev=False),
    "nft dup": nft(f"chain o {{ type filter hook output priority 0; "
                   f"ip daddr {V4} udp dport 4433 dup to 10.0.0.3 device \"va\"; }}",
                   dev=True, local=True),
    "conntrack and SNAT": nft("chain p { type nat hook postrouting priority 100; "
                              "udp dport 4433 snat ip to 10.0.0.1:50000; }", dev=True),
    "reject": nft("chain o { type filter hook output priority 0; "
                  "udp dport 4433 reject; }", whole=False, local=True),
    "reroute to another device": reroute,
    "to an own address": local,
    "neighbour failure": neighbour,
    "vlan": vlan,
    "macvlan": stacked("ip link add link qs0 name up0 type macvlan mode bridge"),
    "bridge": stacked("ip link add up0 type bridge", "ip link set qs0 master up0"),
    "tap": tapped,
    "tap opens late": tapped_late,
    "reset while waiting": faulty(lambda tx: knob("qs0", "reset", 1), stats=("tx-resealed",)),
    "reset, in the ring": faulty(lambda tx: knob("qs0", "reset", 1), whole=False, ring=True),
    "contexts lost while waiting": faulty(lambda tx: knob("qs0", "lose", 1), whole=False),
    "contexts lost, in the ring": faulty(lambda tx: knob("qs0", "lose", 1), whole=False,
                                         ring=True),
    "unregistered while waiting": faulty(lambda tx: knob("qs0", "registered", 0),
                                         stats=("tx-resealed",)),
    "unregistered, in the ring": faulty(lambda tx: knob("qs0", "registered", 0), whole=False,
                                        ring=True),
    "closed while waiting": faulty(lambda tx: tx.end()),
    "removed while waiting": faulty(lambda tx: sh("ip -n a link del qs0"), whole=False),
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
    "gso_max_segs 8": simple("ip link set qs0 gso_max_segs 8", dev=True, fam=(V4,)),
    "flip uso": flips(("ethtool -K qs0 tx-udp-segmentation off",
                       "ethtool -K qs0 tx-udp-segmentation on quic-gso on quic-tx-crypto on")),
    "flip sg": flips(("ethtool -K qs0 sg off",
                      "ethtool -K qs0 sg on tx-udp-segmentation on quic-gso on "
                      "quic-tx-crypto on")),
    "flip clsact mirror": flips(
        ("tc qdisc add dev qs0 clsact; tc filter add dev qs0 egress protocol all matchall "
         "action mirred egress mirror dev va", "tc qdisc del dev qs0 clsact")),
    "flip clsact redirect to FSO+USO": flips(
        ("tc qdisc add dev qs0 clsact; tc filter add dev qs0 egress protocol all matchall "
         "action mirred egress redirect dev va", "tc qdisc del dev qs0 clsact"),
        other="dumb-fso"),
    "flip redirect to ingress": flips(
        ("tc qdisc add dev qs0 clsact; tc filter add dev qs0 egress protocol all matchall "
         "action mirred ingress redirect dev va", "tc qdisc del dev qs0 clsact")),
    "flip netem": flips(("tc qdisc replace dev qs0 root netem delay 1ms duplicate 50%",
                         "tc qdisc del dev qs0 root")),
    "flip down": flips(("ip link set qs0 down", "ip link set qs0 up; sleep 0.3"), fam=(V4,)),
}


def main():
    """Run what was asked for."""
    names = [n for n in CASES if not sys.argv[1:] or any(a in n for a in sys.argv[1:])]
    ksft.plan(len(names))
    for name in names:
        start = time.monotonic()
        try:
            why = CASES[name]()
        except RuntimeError as err:
            why = str(err)
        ksft.check(name, not why, why)
        ksft.diag(f"{time.monotonic() - start:.1f} s")
    ksft.finish()


main()
