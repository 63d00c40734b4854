# SPDX-License-Identifier: GPL-2.0
"""Namespaces with a pair of simulated ports, one of which seals, and a way around it."""

import contextlib
import os
import socket

from txnet import Net, batch, inside, running, sh, sysctl, until

PARAM = "/sys/module/quicsim/parameters"
DEBUG = "/sys/kernel/debug/quicsim"
V4, V6 = "10.0.0.2", "fd00::2"
MAC = "02:00:00:00:00:02"
RING = 64        # the smallest there is


def knob(dev, name, value):
    """A fault of the simulated NIC."""
    with open(f"{DEBUG}/{dev}/{name}", "w", encoding="ascii") as f:
        f.write(str(value))


@contextlib.contextmanager
def sinks(*names, port=4433):
    """Somebody listens in these namespaces, so that no ICMP error comes back."""
    with contextlib.ExitStack() as stack:
        for ns in names:
            with inside(ns):
                s = stack.enter_context(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
            s.bind(("::", port))
        yield


class Bed(Net):
    """qs0 in a seals, qs1 in b receives, another pair leads from a to c.

    What goes to c has the same addresses, so that c would take it. Cases that
    leave nothing behind but settings share one; @fresh has its own.
    """

    shared = None

    def __init__(self, other="veth", fresh=False):
        super().__init__("a", "b", "c")
        self.other = other
        self.fresh = fresh
        self.net = self
        self.muted = False
        self.last = None

    def _links(self):
        with open(f"{PARAM}/mode", "w", encoding="ascii") as f:
            f.write("full")
        batch(None, "link add qs0 type quicsim", f"link set qs1 address {MAC}",
              "link set qs0-mon up", "link set qs1 netns b")
        sh(f"ethtool -G qs0 tx {RING}")
        with open(f"{PARAM}/mode", "w", encoding="ascii") as f:
            f.write("full" if self.other == "veth" else self.other)
        lines = ["link set qs0 netns a", "link set va netns a"]
        if self.other == "veth":
            lines.insert(0, "link add va type veth peer name vc netns c")
        else:
            lines[:0] = ["link add va type quicsim", "link set va-peer netns c name vc"]
        batch(None, *lines)

    def _build(self):
        super().__enter__()
        self._links()
        here = (f"addr add {V4}/24 dev {{0}}", f"addr add {V6}/64 dev {{0}} nodad",
                "link set {0} up")
        batch("b", *(x.format("qs1") for x in here))
        batch("c", f"link set vc address {MAC}", *(x.format("vc") for x in here))
        batch("a", "addr add 10.0.0.1/24 dev qs0", "addr add fd00::1/64 dev qs0 nodad",
              "link set va up", "link set qs0 up")
        until(lambda: running("a", "qs0"), "carrier")

    def __enter__(self):
        net = Bed.shared
        Bed.shared = None
        if net and (self.fresh or net.other != self.other):
            net.clear()
            net = None
        if net:
            net.reset()
        else:
            net = self
            net._build()
        self.net = net
        net.known()
        net.run("a", "ethtool -K qs0 tx on sg on tx-udp-segmentation on quic-gso on "
                "quic-tx-crypto on")
        return net

    def reset(self):
        """As it was built, but for addresses and features."""
        self.release()
        for name, value in (("busy_n", 0), ("busy_m", 0), ("registered", 1)):
            with contextlib.suppress(FileExistsError):
                knob("qs0", name, value)
        sh("tc -n a -force -batch -", check=False,
           text="qdisc del dev qs0 clsact\nqdisc del dev qs0 root\n")
        if self.muted:
            batch("b", "qdisc del dev qs1 clsact", tool="tc")
            self.muted = False
        batch("a", "link set qs0 mtu 1500 gso_max_segs 65535 gso_max_size 65536",
              "addr flush dev va")
        self.run("a", "nft flush ruleset")

    def known(self):
        """The peer's hardware address, without asking."""
        batch("a", f"neigh replace {V4} lladdr {MAC} dev qs0",
              f"neigh replace {V6} lladdr {MAC} dev qs0")

    def fill(self):
        """The device rests, and its ring fills: what follows waits in the qdisc."""
        knob("qs0", "hold_tx", 1)
        frame = bytes.fromhex(MAC.replace(":", "") + "020000000001" + "88b5") + bytes(50)
        with inside("a"), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as s:
            s.bind(("qs0", 0))
            # The first beyond the ring goes past the hook to be sent again later;
            # the next ones see to it that the rest is really queued
            for _ in range(RING + 3):
                s.send(frame)

    def mute(self):
        """b does not answer, so that packets wait for its hardware address."""
        self.muted = True
        batch("b", "qdisc add dev qs1 clsact",
              "filter add dev qs1 egress protocol all matchall action drop", tool="tc")
        patience = {"mcast_solicit": 3000, "ucast_solicit": 3000, "unres_qlen_bytes": 1 << 24}
        for v in ("ipv4", "ipv6"):
            sysctl("a", **{f"{v}__neigh__qs0__{k}": n for k, n in patience.items()})
        batch("a", f"neigh del {V4} dev qs0", f"neigh del {V6} dev qs0")

    @staticmethod
    def release():
        """The device works again, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            knob("qs0", "hold_tx", 0)

    def clear(self):
        """Nothing is left of it."""
        super().__exit__()
        until(lambda: not os.path.exists(f"{DEBUG}/qs0") and not os.path.exists(f"{DEBUG}/va"),
              "the ports are gone")

    def __exit__(self, *exc):
        if exc[0] or self.fresh:
            self.net.clear()
        else:
            Bed.shared = self.net
