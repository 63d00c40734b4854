#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""HTTP/3 through the kernel: h3server and h3client on a simulated pair, or on two
devices (lib/ends.py), attached, with the device and with the fallback.

Bytes are judged by hash, the wire by tshark with the connection's secrets: as many
packets decrypted as there are frames, none twice, none undecryptable. Arguments:
names of the cases to run.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

# pylint: disable=wrong-import-position
import ends  # noqa: E402
import ksft  # noqa: E402
import rows_http  # noqa: E402
import switches  # noqa: E402

SIZE = int(os.environ.get("H3_KBYTES", "512")) << 10
LIMIT = int(os.environ.get("H3_LIMIT", "300"))
DEBUG = "/sys/kernel/debug/quicsim"
PORT = 4433


class Failed(Exception):
    """The case has failed; the text says why."""


def need(cond, why):
    """Fail the case unless cond."""
    if not cond:
        raise Failed(why)


def wait_for(what, cond):
    """Wait until cond() is true."""
    until = time.monotonic() + LIMIT
    while not cond():
        need(time.monotonic() < until, f"waited in vain: {what}")
        time.sleep(0.05)


class Server:
    """An h3server at the sending end."""

    def __init__(self, env, *options):
        self.env = env
        self.stats = {}
        cmd = ["h3server", "-B", env.pair.tx.addr, "-p", str(PORT), "--cert",
               f"{env.top}/cert.pem", "--key", f"{env.top}/key.pem", "--json",
               "--offload", "kernel", *options, f"{env.top}/www"]
        self.proc = env.pair.tx.popen(["env", f"SSLKEYLOGFILE={env.top}/keys", *cmd],
                                      stdout=subprocess.PIPE)

    def __enter__(self):
        wait_for("h3server listens", lambda: self.proc.poll() is not None or
                 f":{PORT}" in self.env.pair.tx.run(f"ss -Hlun sport = :{PORT}"))
        need(self.proc.poll() is None, "h3server does not start")
        return self

    def __exit__(self, *exc):
        self.proc.send_signal(signal.SIGTERM)
        try:
            self.stats = json.loads(self.proc.communicate(timeout=LIMIT)[0] or "{}")
        except subprocess.TimeoutExpired:
            self.proc.kill()
            raise

    def attached(self):
        """Number of sending contexts of the server's socket now."""
        run = self.env.pair.tx.run
        socks = json.loads(run("qoffctl --json sock list"))
        pid = self.proc.pid
        mine = [s for s in socks if s["pid"] in self.family(pid)]
        need(mine, "the server's socket is not attached")
        return len(json.loads(run(f"qoffctl --json ctx list --pid {mine[0]['pid']} "
                                  f"--fd {mine[0]['fd']}")))

    @staticmethod
    def family(pid):
        """The process and its children: a program started in a namespace may have some."""
        out = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True,
                             check=False).stdout.split()
        return {pid, *map(int, out)}


class Env:
    """The pair, the file and how to fetch it."""

    def __init__(self, pair, top, sha256):
        self.pair = pair
        self.top = top
        self.sha256 = sha256

    def url(self, name="file"):
        """Where the server has it."""
        return f"https://{self.pair.tx.addr}:{PORT}/{name}"

    def client(self, *options, url=None, ok=True):
        """Run an h3client; its statistics."""
        cmd = ["h3client", "--json", "--timeout", str(LIMIT), "--offload", "kernel",
               "--hash", *options, url or self.url()]
        res = subprocess.run(self.pair.rx.argv(cmd), capture_output=True, text=True,
                             timeout=2 * LIMIT, check=False)
        need(not ok or res.returncode == 0, f"h3client: exit {res.returncode}: {res.stderr}")
        return json.loads(res.stdout) if res.stdout else {}

    def fetch(self, *options):
        """Fetch the file, right."""
        got = self.client(*options)
        need(got["sha256"] == self.sha256, f"wrong bytes: {got}")
        return got

    def switch(self, on):
        """The QUIC switches of both ends, and the stack's."""
        switches.apply(self.pair, on, on)


@contextlib.contextmanager
def capture(env):
    """Frames of the wire, as the pair's monitor shows them, into a file."""
    path = f"{env.top}/wire.pcap"
    if env.pair.nic != "quicsim":
        raise ksft.SkipAll("the wire of a real device is not seen from here")
    env.pair.tx.run("ip link set eth0-mon up")
    proc = env.pair.tx.popen(["tcpdump", "-i", "eth0-mon", "-s", "0", "-B", "65536", "-w", path,
                              "-U", "udp"], stderr=subprocess.PIPE)
    try:
        need("listening" in proc.stderr.readline(), "tcpdump does not listen")
        yield path
    finally:
        time_last, size = time.monotonic(), -1
        # It is written to the end when it grows no more
        while time.monotonic() - time_last < 1:
            now = os.path.getsize(path) if os.path.exists(path) else 0
            if now != size:
                size, time_last = now, time.monotonic()
            time.sleep(0.05)
        proc.send_signal(signal.SIGTERM)
        proc.communicate(timeout=60)


def decrypt(env, path):
    """What tshark makes of a capture: rows of source port, packet numbers, phases."""
    res = subprocess.run(
        ["tshark", "-r", path, "-o", f"tls.keylog_file:{env.top}/keys", "-d",
         f"udp.port=={PORT},quic", "-T", "fields", "-E", "occurrence=a", "-E", "separator=;",
         "-e", "ip.src", "-e", "quic.packet_number", "-e", "quic.short", "-e", "quic.key_phase",
         "-e", "quic.decryption_failed", "-e", "quic.frame_type", "-e", "udp.length"],
        capture_output=True, text=True, timeout=4 * LIMIT, check=False)
    need(res.returncode == 0, f"tshark: {res.stderr}")
    return [line.split(";") for line in res.stdout.splitlines()]


def judge_wire(env, path):
    """Every datagram is decrypted, no number is used twice; return phases seen."""
    rows = decrypt(env, path)
    seen, phases, plain = {}, set(), 0
    for src, number, short, phase, bad, frames, _ in rows:
        need(not bad, f"undecryptable: packet number {number} of {src}")
        if not short:
            continue
        need(number and frames, f"a packet of {src} was not decrypted")
        key = (src, number.split(",")[-1])
        need(key not in seen, f"packet number {number} of {src} came twice")
        seen[key] = True
        phases.add(phase)
        plain += 1
    need(plain >= SIZE // 1500, f"{plain} short headers of {len(rows)} datagrams")
    return phases


# --- cases ----------------------------------------------------------------------

def case_device(env):
    """With the device: right bytes, sealed and opened below, decrypted from the wire"""
    env.switch(True)
    with capture(env) as path, Server(env) as server:
        got = env.fetch()
    need(server.stats["backend"] == "kernel", f"not the kernel's: {server.stats}")
    need(server.stats["tx_sealed_below"] > 0.9 * server.stats["tx_datagrams"],
         f"sealed above: {server.stats}")
    need(got["rx_opened_below"] > 0.9 * got["rx_datagrams"], f"opened above: {got}")
    judge_wire(env, path)


def case_fallback(env):
    """All switches off: the same program, the same bytes, decrypted from the wire"""
    env.switch(False)
    with capture(env) as path, Server(env) as server:
        env.fetch()
    need(server.stats["tx_sealed_below"] > 0.9 * server.stats["tx_datagrams"],
         f"sealed above: {server.stats}")
    judge_wire(env, path)


def case_mixed_ends(env):
    """One end attached, the other in user space or without libqoff"""
    env.switch(True)
    with Server(env):
        for mode in ("software", "off", "baseline"):
            env.fetch("--offload", mode)
    with Server(env, "--offload", "baseline"):
        env.fetch()


def case_curl(env):
    """curl, which nobody here wrote, from the attached server"""
    env.switch(True)
    with Server(env) as server:
        out = f"{env.top}/got"
        env.pair.rx.run(["curl", "-sS", "--http3-only", "-k", "-o", out, "--max-time",
                         str(LIMIT), env.url()], timeout=2 * LIMIT)
        need(rows_http.sha256_of(out) == env.sha256, "wrong bytes")
        os.unlink(out)
    need(server.stats["tx_sealed_below"] > 0, f"sealed above: {server.stats}")


def case_key_update(env):
    """Keys are updated in mid-download, below; both phases on the wire"""
    env.switch(True)
    with capture(env) as path, Server(env) as server:
        # An update has to wait a few round trips for the one before: many requests in a row
        env.fetch("--key-update", str(SIZE // 3), "-n", "12", "-m", "1")
    need(server.stats["key_updates"] >= 1, f"no update below: {server.stats}")
    phases = judge_wire(env, path)
    need(len(phases) == 2, f"phases {phases}")


def case_addresses(env):
    """Another port in mid-download, as by a NAT; migration; several connection IDs"""
    env.switch(True)
    with Server(env) as server:
        env.fetch("--rebind", str(SIZE // 3))
        env.fetch("--migrate", str(SIZE // 3))
        for n in (0, 4, 20):
            env.fetch("--cid-len", str(n))
    need(server.stats["refused"] == 0, f"flows were refused: {server.stats}")
    need(server.stats["flows"] > server.stats["contexts"], f"one flow each: {server.stats}")


def case_full_socket(env):
    """A socket without room: packets wait with their numbers"""
    env.switch(True)
    with capture(env) as path, Server(env, "--socket-buffer", "20K", "--no-hold") as server:
        env.fetch()
    ksft.diag(f"{server.stats['tx_again']} sends found no room")
    need(server.stats["tx_lost"] <= 8, f"lost: {server.stats}")
    judge_wire(env, path)


def case_released(env):
    """Connections closed and dropped leave no context behind"""
    n = int(os.environ.get("H3_CONNS", "16"))
    rounds = int(os.environ.get("H3_ROUNDS", "1"))
    env.switch(True)
    # Those that are dropped end by their idle time-out; it must not end busy ones
    with Server(env, "--idle", "10") as server:
        for _ in range(rounds):
            for options in ([], ["--drop"]):
                got = env.client("-n", str(n), "-c", str(n), *options, url=env.url("cert.txt"))
                need(got["requests_ok"] == n, f"requests failed: {got}")
        wait_for("all contexts are released", lambda: server.attached() == 0)
        env.fetch()
    need(server.stats["contexts"] > 2 * n * rounds, f"no contexts: {server.stats}")


def case_device_goes(env):
    """The device leaves and comes back, and loses its keys, in mid-download"""
    if env.pair.nic != "quicsim":
        raise ksft.SkipAll("only a simulated device goes on demand")
    env.switch(True)
    with Server(env):
        proc = env.pair.rx.popen(["h3client", "--json", "--timeout", str(LIMIT), "--offload",
                                  "kernel", "--hash", "-n", "4", env.url()],
                                 stdout=subprocess.PIPE)
        rounds = 0
        while proc.poll() is None and rounds < 200:
            for dev in ("eth0", "eth1"):
                for knob, value in (("registered", 0), ("registered", 1), ("reset", 1)):
                    with open(f"{DEBUG}/{dev}/{knob}", "w", encoding="ascii") as f:
                        f.write(str(value))
            rounds += 1
            time.sleep(0.1)
        text = proc.communicate(timeout=2 * LIMIT)[0]
    ksft.diag(f"{rounds} rounds")
    got = json.loads(text)
    need(rounds and got["requests_ok"] == 4 and got["sha256"] == env.sha256, f"{got}")


CASES = {name[5:]: func for name, func in list(globals().items()) if name.startswith("case_")}


def main():
    """Run the cases."""
    names = sys.argv[1:] or list(CASES)
    bad = [n for n in names if n not in CASES]
    if bad:
        sys.exit(f"no case {bad[0]}; there are {', '.join(CASES)}")
    for tool in ("h3server", "h3client", "qoffctl", "tshark", "tcpdump", "curl"):
        if not shutil.which(tool):
            raise ksft.SkipAll(f"{tool} is not in PATH")
    with ends.open_pair() as pair:
        top, sha256 = rows_http.make_file(SIZE)
        rows_http.make_certificate(top)
        shutil.copyfile(f"{top}/cert.pem", f"{top}/www/cert.txt")
        env = Env(pair, top, sha256)
        ksft.plan(len(names))
        try:
            for name in names:
                label = f"{name}: {CASES[name].__doc__.strip()}"
                began = time.monotonic()
                try:
                    CASES[name](env)
                    ksft.ok(label)
                except (Failed, ends.CmdError, switches.SwitchError,
                        subprocess.TimeoutExpired) as why:
                    ksft.fail(label, why)
                except ksft.SkipAll as why:
                    ksft.skip(label, why)
                ksft.diag(f"{time.monotonic() - began:.1f} s")
        finally:
            shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    ksft.run(main)
