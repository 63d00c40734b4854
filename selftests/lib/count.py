# SPDX-License-Identifier: GPL-2.0
"""What is counted while a row runs, from places the driver does not own.

Packets are tracepoint hits: net_dev_start_xmit on the sending port and
netif_receive_skb (after GRO) on the receiving port. CPU is the non-idle time of
all CPUs minus the run time of the device's own threads, which do work that a
NIC does in hardware.
"""

import os
import re

import ends

TRACEFS = "/sys/kernel/tracing"
EVENTS = {
    "sent": "net/net_dev_start_xmit",
    "received": "net/netif_receive_skb",
}


class Histogram:
    """A histogram trigger on an event."""

    def __init__(self, end, event, keys):
        self.end = end.kernel()
        self.dir = f"{TRACEFS}/events/{event}"
        self.trigger = f"hist:keys={keys}:vals=hitcount"

    def start(self):
        """Count from zero."""
        self.stop()
        self.end.write(f"{self.dir}/trigger", self.trigger)

    def read(self):
        """The histogram as the kernel prints it."""
        return self.end.read(f"{self.dir}/hist")

    def stop(self):
        """Remove the trigger, if there is one."""
        self.end.run(["sh", "-c", f"echo '!{self.trigger}' > {self.dir}/trigger"],
                     check=False)


class Tracepoint(Histogram):
    """Hits of one tracepoint by interface name."""

    def __init__(self, end, event):
        super().__init__(end, event, "name")

    def hits(self):
        """Hits for the end's interface so far."""
        name = re.escape(self.end.netif)
        found = re.search(rf"{{ name: {name}\s*}} hitcount:\s*(\d+)", self.read())
        return int(found.group(1)) if found else 0


def _cpu_busy(end):
    """Busy seconds by CPU name ("cpu" is the sum).

    What is not idle. The other fields count ticks, and a tick that an emulated CPU missed is in
    none of them, while the device's threads are measured by the clock; so is idle time (NO_HZ).
    """
    hertz = os.sysconf("SC_CLK_TCK")
    text = end.run(["cat", "/proc/uptime", "/proc/stat"])
    up = float(text.split()[0])
    busy = {}
    for line in text.splitlines():
        if re.match(r"cpu\d", line):
            name, *v = line.split()
            busy[name] = up - (int(v[3]) + int(v[4])) / hertz
    busy["cpu"] = sum(busy.values())
    return busy


_THREADS = r"""
for d in /proc/[0-9]*; do
	read -r c < $d/comm || continue
	case $c in quicsim/*) read -r a b < $d/schedstat && echo "$c $a";; esac
done 2>/dev/null; true
"""


def _device_seconds(end):
    """Run time of the simulated device's threads, by name."""
    out = {}
    for line in end.run(["sh", "-c", _THREADS]).splitlines():
        name, ns = line.rsplit(" ", 1)
        out[name] = out.get(name, 0) + int(ns) / 1e9
    return out


def _wire_frames(end):
    """Frames the sending port put on the wire."""
    for key in ("wire_tx_packets", "tx_packets_phy"):
        found = re.search(rf"^\s*{key}: (\d+)",
                          end.run(f"ethtool -S {end.netif}", check=False), re.M)
        if found:
            return int(found.group(1))
    return int(end.read(f"/sys/class/net/{end.netif}/statistics/tx_packets"))


class Syscalls(Histogram):
    """System calls by program name."""

    def __init__(self, end):
        super().__init__(end, "raw_syscalls/sys_enter", "common_pid.execname")

    def of(self, program):
        """Calls made by processes of that name so far."""
        text = self.read()
        hits = re.findall(rf"common_pid: {re.escape(program[:15])}\s*\[\s*\d+\s*\]"
                          r"\s*} hitcount:\s*(\d+)", text)
        return sum(int(h) for h in hits)


def _tcp_retransmits(end):
    """Segments TCP sent again, in the end's namespace."""
    lines = [x.split() for x in end.read("/proc/net/snmp").splitlines()
             if x.startswith("Tcp:")]
    return int(dict(zip(*lines))["RetransSegs"])


class Meter:
    """Everything counted between start() and stop().

    programs names the sending and the receiving program, for their system
    calls.
    """

    def __init__(self, pair, programs):
        self.pair = pair
        self.programs = programs
        self.trace = {"packets_sent": Tracepoint(pair.tx, EVENTS["sent"]),
                      "packets_received": Tracepoint(pair.rx, EVENTS["received"]),
                      "acks_sent": Tracepoint(pair.rx, EVENTS["sent"])}
        self.syscalls = Syscalls(pair.tx)
        self.before = None

    def _sample(self):
        return {"cpu": _cpu_busy(self.pair.tx),
                "dev": _device_seconds(self.pair.tx),
                "wire": _wire_frames(self.pair.tx),
                "retrans": _tcp_retransmits(self.pair.tx)}

    def start(self):
        """Begin counting."""
        # One trigger serves both ends of a tracepoint in one kernel: stop all
        # before starting any
        for t in self.trace.values():
            t.stop()
        for t in (self.trace["packets_sent"], self.trace["packets_received"]):
            t.start()
        if self.pair.remote:
            self.trace["acks_sent"].start()
        self.syscalls.start()
        self.before = self._sample()

    def stop(self):
        """End counting; return the fields of a row that were counted."""
        now = self._sample()
        row = {name: t.hits() for name, t in self.trace.items()}
        for name, prog in zip(("syscalls_sender", "syscalls_receiver"), self.programs):
            row[name] = self.syscalls.of(prog)
        for t in self.trace.values():
            t.stop()
        self.syscalls.stop()
        device = {n: now["dev"][n] - self.before["dev"].get(n, 0)
                  for n in now["dev"]}
        busy = {n: now["cpu"][n] - self.before["cpu"].get(n, 0) for n in now["cpu"]}
        row["cpu_device"] = round(sum(device.values()), 3)
        row["cpu_seconds"] = round(max(0.0, busy["cpu"] - sum(device.values())), 3)
        row.update(self._split(busy, device))
        row["datagrams_on_wire"] = now["wire"] - self.before["wire"]
        row["retransmits"] = now["retrans"] - self.before["retrans"]
        return row

    def _split(self, busy, device):
        """CPU of each end, where pin() gave each its own CPU."""
        if not self.pair.pinned:
            return {"cpu_sender": None, "cpu_receiver": None}
        out = {}
        for key, end, cpu in (("cpu_sender", self.pair.tx, "cpu0"),
                              ("cpu_receiver", self.pair.rx, "cpu1")):
            dev = sum(s for n, s in device.items()
                      if n.startswith(f"quicsim/{end.netif}"))
            out[key] = round(max(0.0, busy[cpu] - dev), 3)
        return out


_PIN = r"""
for d in /proc/[0-9]*; do
	read -r c < $d/comm || continue
	case $c in
	quicsim/{tx}-*|napi/{tx}-*) taskset -pc 0 ${{d#/proc/}};;
	quicsim/{rx}-*|napi/{rx}-*) taskset -pc 1 ${{d#/proc/}};;
	esac
done >/dev/null 2>&1; true
"""


def pin(pair):
    """Give each end of a pair in one kernel a CPU, with its NAPI in threads.

    NAPI counts as host work, the device's own threads do not.
    """
    pair.pinned = pair.nic == "quicsim" and (os.cpu_count() or 1) >= 2
    if not pair.pinned:
        return
    for end in (pair.tx, pair.rx):
        end.run(["sh", "-c", f"echo 1 > /sys/class/net/{end.netif}/threaded"],
                check=False)
    pair.tx.run(["sh", "-c", _PIN.format(tx=pair.tx.netif, rx=pair.rx.netif)])


def tracing_available(end):
    """Can packets be counted at this end? Mounts tracefs if it is not."""
    end = end.kernel()
    try:
        end.run(["sh", "-c", f"mountpoint -q {TRACEFS} || "
                 f"mount -t tracefs tracefs {TRACEFS}"])
        end.run(["test", "-e", f"{TRACEFS}/events/{EVENTS['sent']}/hist"])
    except ends.CmdError:
        return False
    return True
