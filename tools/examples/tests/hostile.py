#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""hostile.py DIRECTORY-OF-THE-PROGRAMS: what a server on the Internet meets.

Garbage, half-open peers, amplification, forged packets, refused and dropped
connections, in a network namespace of its own. Peers are raw sockets and
aioquic. After each a download must be right. TAP.
"""

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from aioquic.asyncio.client import connect
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

PORT = 4433
ADDR = ("127.0.0.1", PORT)
SCALE = 10 if os.environ.get("QOFF_FULL") else 1
count, failed = 0, 0


def result(name, good, why=""):
    """One line of TAP."""
    global count, failed
    count += 1
    if not good:
        failed += 1
        print(f"# {why}")
    print(f"{'ok' if good else 'not ok'} {count} {name}", flush=True)


class Server:
    """An h3server; its statistics are in .stats when it has stopped."""

    def __init__(self, *options):
        self.proc = subprocess.Popen(
            [f"{BIN}/h3server", "-B", ADDR[0], "--cert", "cert.pem", "--key", "key.pem",
             "--json", *options, "www"], stdout=subprocess.PIPE, text=True)
        self.stats = {}
        until = time.monotonic() + 30
        while f":{PORT}" not in subprocess.run(
                ["ss", "-Hlun", f"sport = :{PORT}"], capture_output=True, text=True,
                check=False).stdout:
            if self.proc.poll() is not None or time.monotonic() > until:
                raise RuntimeError("h3server does not listen")
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.proc.send_signal(signal.SIGTERM)
        try:
            out = self.proc.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            self.proc.kill()
            raise
        self.stats = json.loads(out or "{}")
        result("the server ended well", self.proc.returncode == 0,
               f"exit {self.proc.returncode}")


def client(*options):
    """An h3client run: its statistics, or None."""
    res = subprocess.run([f"{BIN}/h3client", "--json", "--timeout", "60", *options],
                         capture_output=True, text=True, check=False)
    return json.loads(res.stdout) if res.returncode == 0 else None


def serves(what):
    """A download is right still."""
    got = client("--hash", f"https://127.0.0.1:{PORT}/file")
    result(f"{what}: downloads are right", got and got["sha256"] == SUM, str(got))


def udp():
    """A socket that talks to the server."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(ADDR)
    s.settimeout(0)
    return s


def drain(s):
    """Bytes and datagrams that wait."""
    total = n = 0
    with contextlib.suppress(BlockingIOError, ConnectionError):
        while True:
            total += len(s.recv(65536))
            n += 1
    return total, n


def first_flight():
    """A client's first datagram, as aioquic makes it, and its connection."""
    conf = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN,
                             verify_mode=ssl.CERT_NONE, server_name="localhost")
    conn = QuicConnection(configuration=conf)
    conn.connect(ADDR, now=0)
    return conn, [d for d, _ in conn.datagrams_to_send(now=0)]


def case_garbage():
    """Datagrams that are nothing."""
    rnd = random.Random(1)
    with Server() as server:
        s = udp()
        for i in range(5000 * SCALE):
            data = bytearray(rnd.randbytes(rnd.choice((1, 5, 20, 21, 47, 200, 1200, 1472))))
            # Long headers of known and unknown versions among them
            if i % 3 == 0:
                data[0] |= 0xC0
                data[1:5] = rnd.choice((b"\0\0\0\1", b"\x6b\x33\x43\xcf", b"\0\0\0\0",
                                        b"\x1a\x2a\x3a\x4a"))[:max(0, len(data) - 1)]
            with contextlib.suppress(OSError):
                s.send(data)
        serves("garbage")
    result("garbage is counted", server.stats["garbage"] > 0, str(server.stats))
    result("resets are few", server.stats["stateless_resets"] <= 100 * 60, str(server.stats))


def case_altered():
    """A true first flight with a byte altered, or cut."""
    rnd = random.Random(2)
    with Server():
        s = udp()
        for _ in range(300 * SCALE):
            data = bytearray(first_flight()[1][0])
            data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
            if rnd.random() < 0.3:
                del data[rnd.randrange(1, len(data)):]
            s.send(data)
        drain(s)
        serves("altered first flights")


def case_half_open():
    """Peers that say hello and no more: three times what they sent, and a Retry for all
    when they are many."""
    with Server("--max-half", "50") as server:
        peers = []
        for _ in range(100):
            s = udp()
            sent = sum(s.send(d) for d in first_flight()[1])
            peers.append([s, sent, 0, 0])
        # Until the server's time-outs make it repeat itself
        until = time.monotonic() + 60
        while max(p[3] for p in peers) < 3 and time.monotonic() < until:
            for peer in peers:
                got, n = drain(peer[0])
                peer[2] += got
                peer[3] += n
            time.sleep(0.05)
        worst = max(p[2] / p[1] for p in peers)
        result("the server repeats itself", max(p[3] for p in peers) >= 3, str(peers[0]))
        result("no peer got more than three times what it sent", worst <= 3, f"{worst:.2f}")
        serves("half-open peers")
        for peer in peers:
            peer[0].close()
    result("many half-open peers bring a Retry", server.stats["retries"] >= 50,
           str(server.stats))


def case_bad_token():
    """A token that is not the server's."""
    with Server("--retry") as server:
        for _ in range(20):
            conn, _ = first_flight()
            conf = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN,
                                     verify_mode=ssl.CERT_NONE, server_name="localhost",
                                     token=b"\xb6" + os.urandom(60))
            conn = QuicConnection(configuration=conf)
            conn.connect(ADDR, now=0)
            with udp() as s:
                for data, _ in conn.datagrams_to_send(now=0):
                    s.send(data)
        serves("forged tokens")
    result("forged tokens are counted", server.stats["bad_tokens"] >= 20, str(server.stats))


async def forge(n):
    """Packets with a connection's true IDs and false contents; is it alive after them?"""
    conf = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE)
    async with connect(*ADDR, configuration=conf) as proto:
        await proto.wait_connected()
        await proto.ping()
        dcid = proto._quic._peer_cid.cid  # pylint: disable=protected-access
        for i in range(n):
            proto._transport.sendto(  # pylint: disable=protected-access
                bytes([0x40 | random.randrange(64)]) + dcid +
                os.urandom(random.choice((20, 60, 1200))), (f"::ffff:{ADDR[0]}", PORT, 0, 0))
            if i % 64 == 0:
                await asyncio.sleep(0)
        await asyncio.wait_for(proto.ping(), 30)


def case_forged():
    """Forged packets at rate, on a living connection."""
    n = 3000 * SCALE
    with Server("--offload", "software") as server:
        try:
            asyncio.run(forge(n))
            alive = True
        except (asyncio.TimeoutError, ConnectionError) as why:
            alive = False
            print(f"# {why!r}")
        result("a connection survives forged packets", alive)
        serves("forged packets")
    # What the socket's buffer could not hold was dropped before
    result("forged packets failed below, and were counted",
           server.stats["rx_failed_below"] > n / 10, str(server.stats))


def case_many():
    """Connections beyond the limit, and connections opened and dropped."""
    with Server("--max-conns", "20", "--idle", "3") as server:
        for _ in range(8 * SCALE):
            client("-c", "50", "-n", "50", "--drop", "--timeout", "4",
                   f"https://127.0.0.1:{PORT}/small")
        # The dropped ones end by their idle time-out: only then is there room
        until = time.monotonic() + 60
        while not client("--timeout", "5", f"https://127.0.0.1:{PORT}/small"):
            if time.monotonic() > until:
                break
        serves("dropped connections")
    result("connections over the limit are refused", server.stats["refused_connections"] > 0,
           str(server.stats))
    result("each context was of a connection", server.stats["contexts"] <=
           server.stats["connections"], str(server.stats))


def main():
    """All cases."""
    global BIN, SUM
    BIN = os.path.abspath(sys.argv[1])
    # aioquic complains of its own stream writers when they are collected
    sys.unraisablehook = lambda _: None
    if "H3_INSIDE" not in os.environ:
        if subprocess.run(["unshare", "-n", "true"], check=False).returncode:
            print("1..0 # SKIP no right to make a network namespace")
            return 0
        os.environ["H3_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "-n", sys.executable, "-B", *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    top = tempfile.mkdtemp()
    os.chdir(top)
    os.mkdir("www")
    try:
        with open("www/file", "wb") as f:
            f.write(random.Random(3).randbytes(1 << 20))
        with open("www/small", "wb") as f:
            f.write(b"small\n" * 100)
        SUM = subprocess.run(["sha256sum", "www/file"], capture_output=True, text=True,
                             check=True).stdout.split()[0]
        subprocess.run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                       "-days 2 -subj /CN=localhost -keyout key.pem -out cert.pem".split(),
                       check=True, capture_output=True)
        for case in (case_garbage, case_altered, case_half_open, case_bad_token, case_forged,
                     case_many):
            case()
    finally:
        os.chdir("/")
        shutil.rmtree(top, ignore_errors=True)
    print(f"1..{count}")
    return 1 if failed else 0


BIN, SUM = "", ""
if __name__ == "__main__":
    sys.exit(main())
