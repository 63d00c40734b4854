# SPDX-License-Identifier: GPL-2.0
"""The two ends of a measurement: where a command runs, and its interface.

By default a simulated pair is made, each port in a network namespace of its
own. With NETIF set the test runs on real devices, by the variables of the
kernel's drivers/net tests: NETIF is the local interface, REMOTE_TYPE is netns
or ssh, REMOTE_ARGS names the namespace or host, LOCAL_V4 and REMOTE_V4 are the
addresses and REMOTE_NETIF the interface there. REMOTE=ssh:host or
REMOTE=netns:name is a short form of the two.
"""

import os
import shlex
import shutil
import subprocess
import time

import ksft


class CmdError(Exception):
    """A command failed; the text has its output."""


class End:
    """A place where commands run: this machine, a namespace, or a host."""

    def __init__(self, prefix, netif, addr):
        self.prefix = prefix
        self.netif = netif
        self.addr = addr

    def argv(self, cmd):
        """The command line that runs cmd (a list) here."""
        if self.prefix[:1] == ["ssh"]:
            return self.prefix + [shlex.join(cmd)]
        return self.prefix + cmd

    def run(self, cmd, check=True, timeout=60):
        """Run cmd (a string is split) and return its output."""
        argv = self.argv(shlex.split(cmd) if isinstance(cmd, str) else cmd)
        res = subprocess.run(argv, capture_output=True, text=True,
                             timeout=timeout, check=False)
        if check and res.returncode:
            raise CmdError(f"{shlex.join(argv)}: exit {res.returncode}: "
                           f"{(res.stderr or res.stdout).strip()}")
        return res.stdout

    def popen(self, cmd, **kw):
        """Start cmd (a list) here."""
        return subprocess.Popen(self.argv(cmd), text=True, **kw)

    def kernel(self):
        """The same kernel outside a namespace: "ip netns exec" has a sysfs of
        its own, without tracefs."""
        prefix = self.prefix if self.prefix[:1] == ["ssh"] else []
        return End(prefix, self.netif, self.addr)

    def wait_listening(self, proc, port, limit=20):
        """Wait until the server proc, started here, listens on a TCP port."""
        until = time.monotonic() + limit
        while time.monotonic() < until:
            if proc.poll() is not None:
                raise CmdError(f"{shlex.join(proc.args)}: exit {proc.returncode}: "
                               f"{proc.stderr.read()}")
            if f":{port}" in self.run(f"ss -Htln sport = :{port}"):
                return
            time.sleep(0.05)
        raise CmdError(f"{shlex.join(proc.args)}: does not listen on port {port}")

    def read(self, path):
        """Contents of a file here."""
        return self.run(["cat", path])

    def write(self, path, text):
        """Write a short text into a file here."""
        self.run(["sh", "-c", f"printf %s {shlex.quote(text)} > {path}"])


class Pair:
    """Sender and receiver, and what must be undone at the end."""

    def __init__(self):
        self.nic = "device"
        self.remote = False
        self.pinned = False
        self.made = []
        self.tx = None
        self.rx = None

    def on_cpu(self, cpu, cmd):
        """cmd (a list), on that CPU if each end was given its own."""
        return ["taskset", "-c", str(cpu)] + cmd if self.pinned else cmd

    def close(self):
        """Remove what was made, newest first."""
        for cmd in reversed(self.made):
            subprocess.run(cmd, capture_output=True, check=False)
        self.made = []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def _host(cmd):
    res = subprocess.run(cmd, capture_output=True, text=True, check=False)
    if res.returncode:
        raise CmdError(f"{shlex.join(cmd)}: {res.stderr.strip()}")
    return res.stdout


def _make_quicsim(pair):
    names = [f"qoff-tx-{os.getpid()}", f"qoff-rx-{os.getpid()}"]
    ends = []

    if subprocess.run(["modprobe", "-n", "quicsim"], capture_output=True,
                      check=False).returncode == 0:
        _host(["modprobe", "quicsim"])
    elif not os.path.isdir("/sys/module/quicsim"):
        raise ksft.SkipAll("no NETIF given and no quicsim module: "
                           "load quicsim.ko, or name two devices")
    for name in names:
        _host(["ip", "netns", "add", name])
        pair.made.append(["ip", "netns", "del", name])
    # Stock iproute2 cannot name the peer of this kind: it is the next number
    _host(["ip", "-n", names[0], "link", "add", "eth0", "type", "quicsim"])
    pair.made.append(["ip", "-n", names[0], "link", "del", "eth0"])
    _host(["ip", "-n", names[0], "link", "set", "eth1", "netns", names[1]])
    for i, name in enumerate(names):
        end = End(["ip", "netns", "exec", name], f"eth{i}", f"192.0.2.{i + 1}")
        end.run("ip link set lo up")
        # A link that goes down and comes back has its IPv6 addresses still
        end.run("sysctl -qw net.ipv6.conf.all.keep_addr_on_down=1 "
                "net.ipv6.conf.default.keep_addr_on_down=1")
        end.run(f"ip addr add {end.addr}/24 dev {end.netif}")
        end.run(f"ip -6 addr add 2001:db8::{i + 1}/64 dev {end.netif} nodad")
        # The datagrams of one packet take an emulated device milliseconds to open
        end.run(f"ethtool -C {end.netif} rx-usecs 10000")
        end.run(f"ip link set {end.netif} up")
        ends.append(end)
    pair.nic = "quicsim"
    pair.tx, pair.rx = ends


def _from_env(pair, netif):
    env = os.environ
    kind = env.get("REMOTE_TYPE", "")
    args = env.get("REMOTE_ARGS", "")
    if ":" in env.get("REMOTE", ""):
        kind, args = env["REMOTE"].split(":", 1)
    if kind == "netns":
        prefix = ["ip", "netns", "exec", args]
    elif kind == "ssh":
        prefix = ["ssh", args]
    else:
        raise ksft.SkipAll("NETIF is set: REMOTE=ssh:host or REMOTE=netns:name "
                           "must say where the other end is")
    local = ["ip", "netns", "exec", env["LOCAL_NETNS"]] if "LOCAL_NETNS" in env else []
    missing = [v for v in ("LOCAL_V4", "REMOTE_V4", "REMOTE_NETIF") if v not in env]
    if missing:
        raise ksft.SkipAll("NETIF is set: please set " + ", ".join(missing) + " too")
    pair.tx = End(local, netif, env["LOCAL_V4"])
    pair.rx = End(prefix, env["REMOTE_NETIF"], env["REMOTE_V4"])
    pair.remote = kind == "ssh"
    pair.nic = env.get("NIC", pair.tx.run(f"ethtool -i {netif}").split()[1])


def open_pair():
    """The pair that the environment names, or a simulated one."""
    pair = Pair()
    netif = os.environ.get("NETIF", "")
    if os.geteuid():
        raise ksft.SkipAll("must run as root")
    for tool in ("ip", "ethtool"):
        if not shutil.which(tool):
            raise ksft.SkipAll(f"{tool} is not installed")
    try:
        if netif:
            _from_env(pair, netif)
        else:
            _make_quicsim(pair)
    except BaseException:
        pair.close()
        raise
    return pair
