#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""figures.py [ROUNDS]: the pair of functions against veth, in one guest and run; prints one JSON
object. Namespaces n0 and n1 hold the pair (10.0.0.1 and .2) and a veth pair (10.9.0.1 and .2).
Rounds alternate between the two; rates are medians. Started by guest-figures.sh."""

import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time

SECONDS = 2
SO_RCVBUFFORCE, UDP_SEGMENT, UDP_GRO = 33, 103, 104


def ns(name, *argv):
    return ["ip", "netns", "exec", name, *argv]


def output(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def iperf(address, *words):
    with subprocess.Popen(ns("n1", "iperf3", "-s", "-1"), stdout=subprocess.DEVNULL) as server:
        end = time.monotonic() + 30
        while not output(*ns("n1", "ss", "-ltnH", "sport = :5201")):
            if time.monotonic() > end:
                raise TimeoutError("iperf3")
            time.sleep(0.02)
        out = json.loads(output(*ns("n0", "iperf3", "-J", "-c", address, "-t", str(SECONDS), *words)))
        server.wait(30)
    return out["end"]


def udp_pps(address):
    """1200-byte datagrams that arrived, a second"""
    end = iperf(address, "-u", "-b", "0", "-l", "1200")
    s = end["sum"]
    return (s["packets"] - s["lost_packets"]) / s["seconds"]


def tcp_bits(address):
    return iperf(address)["sum_received"]["bits_per_second"]


def gso_recv(address, port):
    """Prints the bytes that came, and the seconds from the first to the last of them."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
    s.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
    s.bind((address, port))
    s.settimeout(30)
    print("ready", flush=True)
    total = len(s.recv(65536))
    begin = last = time.monotonic()
    s.settimeout(1)
    try:
        while True:
            total += len(s.recv(65536))
            last = time.monotonic()
    except TimeoutError:
        print(total, last - begin)


def gso_send(address, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((address, port))
    s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1200)
    data = b"x" * 60000
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        s.send(data)


def gso_bits(address):
    """Payload of UDP GSO that arrives, at a socket with UDP_GRO"""
    me = os.path.abspath(__file__)
    with subprocess.Popen(ns("n1", "python3", me, "gso-recv", address), stdout=subprocess.PIPE, text=True) as recv:
        recv.stdout.readline()      # "ready"
        subprocess.run(ns("n0", "python3", me, "gso-send", address), check=True)
        total, seconds = map(float, recv.stdout.read().split())
    return total * 8 / seconds


def ping_ms(address):
    out = output(*ns("n0", "ping", "-c", "60", "-i", "0.02", address))
    return statistics.median(float(t) for t in re.findall(r"time=([\d.]+) ms", out))


def main(argv):
    if argv[1:2] in (["gso-recv"], ["gso-send"]):
        return {"gso-recv": gso_recv, "gso-send": gso_send}[argv[1]](argv[2], 7000)
    rounds = int(argv[1]) if len(argv) > 1 else 5
    paths = {"mlx5": "10.0.0.2", "veth": "10.9.0.2"}
    figures = {"udp_1200_pps": udp_pps, "udp_gso_bits": gso_bits, "tcp_bits": tcp_bits, "ping_ms": ping_ms}
    seen = {name: {p: [] for p in paths} for name in figures}
    for _ in range(rounds):
        for name, measure in figures.items():
            for path, address in paths.items():
                seen[name][path].append(measure(address))
    result = {"rounds": rounds}
    for name, by_path in seen.items():
        median = {p: statistics.median(v) for p, v in by_path.items()}
        result[name] = {**{p: round(v, 3) for p, v in median.items()},
                        "ratio": round(median["mlx5"] / median["veth"], 2)}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main(sys.argv)
