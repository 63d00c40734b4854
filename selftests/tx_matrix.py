#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Super-packets on every path of the stack that a module has no say in.

A stock UDP socket and packet taps receive; each datagram's bytes, lengths and
checksums are checked, raw and sealed, over IPv4 and IPv6. Arguments choose
cases by name.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

# pylint: disable=wrong-import-position
import ksft
import txnet
from txnet import FULL, Net, Receiver, batch, send, transfer

RAW4 = ("10.0.0.2", "--mix mixed")
RAW6 = ("fd00::2", "--mix mixed --max-len 1452")
SEAL4 = ("10.0.0.2", "--seal --mix mixed")
SEAL6 = ("fd00::2", "--seal --mix mixed --max-len 1452")
EQUAL4 = ("10.0.0.2", "--mix equal --nseg 54")
EQUAL6 = ("fd00::2", "--seal --mix equal --nseg 54")
SHORT = [RAW4, SEAL6]
# The bounded run takes every second one of these, in turn
ALL = [RAW4, SEAL6, EQUAL4, RAW6, SEAL4, EQUAL6]
COUNT = "" if FULL else " --count 4"
MAC = "02:00:00:00:00:02"
turn = 0         # pylint: disable=invalid-name


def broken(r, whole=True):
    """What is wrong with a result, or nothing."""
    for key in ("bad", "leak", "badcsum", "badlen", "tapleak"):
        if r[key]:
            return f"{key}: {r}"
    if whole and (r["good"] != r["expected"] or r["dup"]):
        return f"incomplete: {r}"
    return None


def some(modes):
    """All, or half of a long list in the bounded run."""
    global turn
    if FULL or len(modes) < len(ALL):
        return modes
    turn += 1
    return modes[turn % 2 * 3:][:3]


def pair(net):
    """a and b, directly connected."""
    net.veth("a", "va", "b", "vb", MAC)
    net.addr("b", "vb", "10.0.0.2/24", "fd00::2/64")
    # A resolving neighbour queues two super-packets and drops the others
    batch("a", "addr add 10.0.0.1/24 dev va", "addr add fd00::1/64 dev va nodad",
          *(f"neigh replace {addr} lladdr {MAC} dev va" for addr in ("10.0.0.2", "fd00::2")))


def over(modes, src="a", dst="b", taps=("vb",), whole=True, shift=0, **recv):
    """Transfers in several modes; the first failure, or nothing."""
    for addr, common in some(modes):
        common += COUNT
        if shift:
            common += f" --max-len {1472 - shift - 20 * (':' in addr)}"
        tx, rx = transfer(src, dst, addr, common, taps=taps, **recv)
        if tx["errno"]:
            return f"{addr} {common}: errno {tx['errno']}"
        why = broken(rx, whole)
        if why:
            return f"{addr} {common}: {why}, sender {tx}"
    return None


def setup(*cmds, modes=None, **kw):
    """A case on the plain pair after some commands in a."""
    def case():
        with Net("a", "b") as net:
            pair(net)
            if cmds:
                net.run("a", *cmds)
            return over(modes or SHORT, **kw)
    return case


def extra(args, modes=None, **kw):
    """A case on the plain pair with sender options."""
    def case():
        with Net("a", "b") as net:
            pair(net)
            for addr, common in some(modes or SHORT):
                common += COUNT
                tx, rx = transfer("a", "b", addr, common, args, taps=("vb",), **kw)
                why = tx["errno"] and f"errno {tx['errno']}" or broken(rx)
                if why:
                    return f"{addr} {common} {args}: {why}, sender {tx}"
            return None
    return case


def vlan(*cmds):
    """VLAN devices on both ends."""
    def case():
        with Net("a", "b") as net:
            net.veth("a", "va", "b", "vb")
            for ns, dev, n in (("a", "va", 1), ("b", "vb", 2)):
                net.run(ns, f"ip link add link {dev} name v9 type vlan id 9",
                        "ip link set v9 up")
                net.addr(ns, "v9", f"10.0.0.{n}/24", f"fd00::{n}/64")
            if cmds:
                net.run("a", *cmds)
            return over(SHORT, taps=("v9",))
    return case


def macvlan():
    """A macvlan above the sending device."""
    with Net("a", "b") as net:
        net.veth("a", "va", "b", "vb")
        net.run("a", "ip link add link va name m0 type macvlan mode bridge",
                "ip link set m0 up")
        net.addr("a", "m0", "10.0.0.1/24", "fd00::1/64")
        net.addr("b", "vb", "10.0.0.2/24", "fd00::2/64")
        return over(SHORT)


def netem_dup():
    """Duplicates are whole datagrams, and no other content."""
    with Net("a", "b") as net:
        pair(net)
        net.run("a", "tc qdisc add dev va root netem duplicate 50% limit 10000")
        for addr, common in some(ALL):
            _, rx = transfer("a", "b", addr, common, taps=("vb",))
            why = broken(rx, whole=False)
            if why or rx["good"] != rx["expected"]:
                return f"{addr} {common}: {why or rx}"
        return None


def netem_some(args, damaged=0):
    """Some datagrams are lost or damaged; what arrives is right, but for a share @damaged: a list
    that may lose its socket has finished checksums, which veth hands on as verified, so that a
    flip in the UDP length that netem makes after that reaches the receiver as a shorter datagram."""
    def case():
        with Net("a", "b") as net:
            pair(net)
            net.run("a", f"tc qdisc add dev va root netem {args} limit 10000")
            for addr, common in SHORT:
                _, rx = transfer("a", "b", addr, common, idle=700)
                if rx["bad"] > damaged * rx["expected"] or rx["leak"] or not rx["good"]:
                    return f"{addr} {common}: {rx}"
            return None
    return case


def bridge(*cmds):
    """A bridge behind the veth; the receiver is beyond it."""
    def case():
        with Net("a", "b", "c") as net:
            net.veth("a", "va", "b", "vb")
            net.veth("b", "vb2", "c", "vc")
            net.run("b", "ip link add br0 type bridge", "ip link set br0 up",
                    "ip link set vb master br0", "ip link set vb2 master br0")
            net.addr("a", "va", "10.0.0.1/24", "fd00::1/64")
            net.addr("c", "vc", "10.0.0.2/24", "fd00::2/64")
            if cmds:
                net.run("b", *cmds)
            return over(ALL, dst="c", taps=("vc",))
    return case


def routed_net(net):
    """a - b - c, b routes."""
    net.veth("a", "va", "b", "vb")
    net.veth("b", "vb2", "c", "vc")
    net.addr("a", "va", "10.1.0.1/24", "fd01::1/64")
    net.addr("b", "vb", "10.1.0.9/24", "fd01::9/64")
    net.addr("b", "vb2", "10.0.0.9/24", "fd00::9/64")
    net.addr("c", "vc", "10.0.0.2/24", "fd00::2/64")
    net.run("b", "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
    net.run("a", "ip route add default via 10.1.0.9", "ip -6 route add default via fd01::9")
    net.run("c", "ip route add default via 10.0.0.9", "ip -6 route add default via fd00::9")


def routed(*cmds):
    """The peer forwards."""
    def case():
        with Net("a", "b", "c") as net:
            routed_net(net)
            if cmds:
                net.run("b", *cmds)
            return over(ALL, dst="c", taps=("vc",))
    return case


def routed_mtu():
    """A smaller MTU behind the router: no oversized frame, and the sender learns it."""
    with Net("a", "b", "c") as net:
        routed_net(net)
        net.run("b", "ip link set vb2 mtu 1280")
        for addr, common in (RAW4, ("fd00::2", "--mix mixed --max-len 1452")):
            rx = Receiver("c", common, taps=("vc",), idle=700)
            errs = [send("a", addr, common, "--count 1 --gap 1000")["errno"] for _ in range(4)]
            res = rx.stop()
            if res["bad"] or res["badlen"] or res["badcsum"] or res["maxframe"] > 1280:
                return f"{addr}: {res}"
            if errs[-1] != 90:
                return f"{addr}: no EMSGSIZE after the ICMP error: {errs}"
        return None


def late_mtu():
    """The device's MTU shrinks while super-packets wait in its qdisc."""
    with Net("a", "b") as net:
        pair(net)
        net.run("a", "tc qdisc add dev va root netem delay 3s limit 10000")
        rx = Receiver("b", "--mix mixed", taps=("vb",), idle=5000)
        send("a", "10.0.0.2", "--mix mixed")
        net.run("a", "ip link set va mtu 1280")
        res = rx.stop()
        small = 10 * 60 * 9 // 12
        if broken(res, whole=False) or res["maxframe"] > 1280 or res["good"] != small:
            return f"{res}, {small} fit"
        return None


def third(net, *more):
    """A second veth of a, to c, that only filters lead to."""
    pair(net)
    net.veth("a", "va2", "c", "vc", MAC)
    net.addr("c", "vc", "10.0.0.2/24", "fd00::2/64")
    net.run("c", "sysctl -qw net.ipv4.conf.all.accept_local=1")
    net.run("a", "tc qdisc add dev va clsact", *more)


def mirred(action, *more, dst="c"):
    """tc egress sends a copy, or the packet itself, elsewhere."""
    def case():
        with Net("a", "b", "c") as net:
            third(net, *more)
            net.run("a", f"tc filter add dev va egress protocol all matchall action mirred "
                    f"egress {action} dev va2")
            taps = ("vc",) if dst == "c" else ("vb",)
            return over(ALL, dst=dst, taps=taps)
    return case


def to_ingress(gro):
    """tc egress redirects to the ingress of a local device; a socket listens."""
    def case():
        with Net("a", "b", "c") as net:
            third(net)
            net.run("a", "ip addr add 10.0.0.2/32 dev va2", "ip addr add fd00::2/128 dev va2 nodad",
                    "ip rule add pref 0 iif va2 lookup local",
                    "ip rule del pref 0 lookup local", "ip rule add pref 10 lookup main",
                    "ip -6 rule add pref 0 iif va2 lookup local",
                    "ip -6 rule del pref 0 lookup local", "ip -6 rule add pref 10 lookup main",
                    "sysctl -qw net.ipv4.conf.all.accept_local=1")
            net.run("a", f"ip link set va2 address {MAC}",
                    "tc filter add dev va egress protocol ip matchall action mirred "
                    "ingress redirect dev va2")
            return over([RAW4, SEAL4, EQUAL4], dst="a", taps=(), gro=gro)
    return case


def vxlan(*cmds):
    """A tunnel: the hook runs on the tunnel device and then on the lower one."""
    def case():
        with Net("a", "b") as net:
            net.veth("a", "va", "b", "vb")
            net.addr("a", "va", "10.9.0.1/24")
            net.addr("b", "vb", "10.9.0.2/24")
            for ns, n, peer in (("a", 1, 2), ("b", 2, 1)):
                net.run(ns, f"ip link add vx0 type vxlan id 7 remote 10.9.0.{peer} "
                        "dstport 4789 udpcsum", "ip link set vx0 up")
                net.addr(ns, "vx0", f"10.0.0.{n}/24", f"fd00::{n}/64")
            if cmds:
                net.run("a", *cmds)
            return over(SHORT, taps=("vx0", "vb"), shift=50)
    return case


def loopback():
    """To an own address."""
    with Net("a") as net:
        net.addr("a", "lo", "10.0.0.2/32", "fd00::2/128")
        why = over(ALL, dst="a", taps=("lo",))
        return why or over([("10.0.0.2", "--mix max --max-len 30000 --nseg 2")],
                           dst="a", taps=("lo",))


def after_close():
    """The sender is gone before the queue is empty."""
    with Net("a", "b") as net:
        pair(net)
        net.run("a", "tc qdisc add dev va root netem delay 300ms limit 10000")
        return over(ALL)


CASES = {
    "veth": setup(modes=ALL),
    "uniform lengths": setup(modes=[("10.0.0.2", "--seal --mix uniform"),
                                            ("fd00::2", "--mix uniform --max-len 1452")]),
    "128 tiny datagrams": setup(modes=[("10.0.0.2", "--mix tiny --nseg 128"),
                                               ("fd00::2", "--seal --mix tiny --nseg 128")]),
    "one datagram": setup(modes=[("10.0.0.2", "--nseg 1"),
                                         ("fd00::2", "--seal --nseg 1 --max-len 1452")]),
    "full datagrams": setup(modes=[("10.0.0.2", "--seal --mix max --nseg 44")]),
    "connected": extra("--connect", modes=ALL),
    "v4-mapped": setup(modes=[("::ffff:10.0.0.2", "--mix mixed"),
                                      ("::ffff:10.0.0.2", "--seal --mix mixed")]),
    "v4-mapped, connected": extra("--connect", modes=[("::ffff:10.0.0.2", "--mix mixed")]),
    "UDP_GRO receiver": setup(modes=ALL, gro=True),
    "tos": extra("--tos 8", modes=[("10.0.0.2", "--mix mixed")]),
    "tx off": setup("ethtool -K va tx off", modes=ALL),
    "sg off": setup("ethtool -K va sg off", modes=ALL),
    "gso off": setup("ethtool -K va gso off"),
    "tx-gso-list off": setup("ethtool -K va tx-gso-list off"),
    "tx-udp-segmentation off": setup("ethtool -K va tx-udp-segmentation off", modes=ALL),
    "vlan": vlan(),
    "vlan, txvlan off": vlan("ethtool -K va txvlan off"),
    "vlan, vlan device tx off": vlan("ethtool -K v9 tx off"),
    "vlan, real device tx off": vlan("ethtool -K va tx off"),
    "macvlan": macvlan,
    "netem delay": setup("tc qdisc add dev va root netem delay 20ms limit 10000", modes=ALL),
    "netem reorder": setup("tc qdisc add dev va root netem delay 10ms reorder 25% limit 10000"),
    "netem rate": setup("tc qdisc add dev va root netem rate 200mbit limit 10000"),
    "netem duplicate": netem_dup,
    "netem loss": netem_some("loss 30%"),
    "netem corrupt": netem_some("corrupt 30%", damaged=0.02),
    "fq": setup("tc qdisc add dev va root fq", modes=ALL),
    "fq, paced": extra("--rate 20000000", modes=SHORT),
    "fq_codel": setup("tc qdisc add dev va root fq_codel"),
    "tbf": setup("tc qdisc add dev va root tbf rate 200mbit burst 20k limit 10m"),
    "bridge": bridge(),
    "bridge, second port tx off": bridge("ethtool -K vb2 tx off"),
    "bridge, second port gso list off": bridge("ethtool -K vb2 tx-gso-list off"),
    "routed": routed(),
    "routed, out device tx off": routed("ethtool -K vb2 tx off"),
    "routed, smaller MTU behind": routed_mtu,
    "MTU shrinks in the queue": late_mtu,
    "egress mirror, copy": mirred("mirror"),
    "egress mirror, original": mirred("mirror", dst="b"),
    "egress redirect": mirred("redirect"),
    "egress redirect, target tx off": mirred("redirect", "ethtool -K va2 tx off"),
    "egress mirror, target tx off": mirred("mirror", "ethtool -K va2 tx off"),
    "to ingress, local socket": to_ingress(False),
    "to ingress, local UDP_GRO socket": to_ingress(True),
    "vxlan": vxlan(),
    "vxlan, lower device tx off": vxlan("ethtool -K va tx off"),
    "loopback": loopback,
    "closed before sent": after_close,
}


def main():
    """Run what was asked for."""
    names = [n for n in CASES if not sys.argv[1:] or any(a in n for a in sys.argv[1:])]
    ksft.plan(len(names))
    txnet.warm()
    ksft.run_cases({n: CASES[n] for n in names})


main()
