#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Table 3 of "QUIC is not Quick Enough over Fast Internet" (WWW 2024), again.

One file is downloaded over QUIC and over TCP, with the offloads on and off, and
the packets that the host touches are counted. It runs on a simulated pair, or
on two real devices (see lib/ends.py for NETIF and REMOTE).

It fails on wrong bytes, on counts that the design does not allow, and on a
switch that is ignored. It never fails on time.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))

# pylint: disable=wrong-import-position
import chart  # noqa: E402
import count  # noqa: E402
import ends  # noqa: E402
import rows_h3  # noqa: E402
import rows_http  # noqa: E402
import ksft  # noqa: E402
import rows_quic  # noqa: E402
import switches  # noqa: E402
import table4  # noqa: E402

GIB = 1 << 30
ROWS = ("quic:on", "quic:off", "quic:baseline", "http2:on", "http2:off",
        "https-ktls:on", "https-ktls:off")
H3_ROWS = ("h3:on", "h3:off", "h3:baseline")
PAPER = {
    ("quic", "on"): ("743K", "743K", 18.60),
    ("quic", "off"): ("744K", "744K", 18.82),
    ("http2", "on"): ("19K", "53K", 9.36),
    ("http2", "off"): ("744K", "744K", 10.84),
}
CIPHERS = ("aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "aes-128-ccm")

# Most packets per GiB that the host may touch with everything on, and how far
# QUIC may then be from HTTP/2 (design, "Figures to reach")
MOST_ON = 19000
NEAR_HTTP2 = 1.08
# A super-packet of HTTP/3 is cut where the poll of a busy emulated device ends: more are
# received than were sent. The target is MOST_ON still; README says what was measured
MOST_H3 = {"packets_received": 26000}
# Packets of a run that are not the file: handshakes, first flights sealed in
# software while the device takes the context, ends of windows
STRAY = 64


def parse_args():
    """Options; the environment gives their defaults."""
    env = os.environ
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--size", default=env.get("SIZE", "32M"),
                   help="bytes of the file, with K, M or G (default %(default)s)")
    p.add_argument("--mix", default=env.get("MIX", "paper"), choices=("paper", "mixed"),
                   help="lengths of the QUIC datagrams (default %(default)s)")
    p.add_argument("--cipher", default=env.get("CIPHER", CIPHERS[0]), choices=CIPHERS,
                   help="of the QUIC rows (default %(default)s)")
    p.add_argument("--traffic", default=env.get("TRAFFIC", "qoffperf"),
                   choices=("qoffperf", "h3"),
                   help="who speaks QUIC: qoffperf, or HTTP/3 by h3server (default %(default)s)")
    p.add_argument("--rows", default=env.get("ROWS"),
                   help="rows to run, in order (default: all of the traffic's)")
    p.add_argument("--results", default=env.get("RESULTS", ""),
                   help="directory for table3*.json and table3.svg")
    args = p.parse_args()
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    text = args.size.upper()
    scale = units.get(text[-1:], 1)
    if not text.rstrip("KMG").isdigit() or not int(text.rstrip("KMG")):
        p.error(f"--size {args.size}: a number with K, M or G, such as 32M")
    args.size = int(text.rstrip("KMG")) * scale
    quic = H3_ROWS if args.traffic == "h3" else ROWS[:3]
    known = quic + ROWS[3:]
    args.rows = args.rows.split(",") if args.rows else list(known)
    bad = [r for r in args.rows if r not in known]
    if bad:
        p.error(f"--rows: no row {bad[0]}; there are {', '.join(known)}")
    if args.traffic == "h3" and args.mix != "paper":
        p.error("--mix: lengths of HTTP/3 are the stack's own; only paper (1472 bytes)")
    return args


def run_row(pair, name, args, served):
    """Set the switches for a row and run it. Counts come back per GiB."""
    proto, offload = name.split(":")
    # Only QUIC's "on" uses the QUIC switches; a baseline has the stack's own
    how = switches.apply(pair, proto in ("quic", "h3") and offload == "on",
                         offload != "off")
    if proto == "quic":
        row = rows_quic.row(pair, offload, f"{served[0]}/www/file", args.size,
                            served[1], args.mix, args.cipher)
    elif proto == "h3":
        row = rows_h3.row(pair, offload, served[0], args.size, served[1], args.cipher)
    else:
        row = rows_http.row(pair, proto, offload, served[0], args.size, served[1])
    row["nic"] = pair.nic
    row["mix"] = args.mix if proto in ("quic", "h3") else None
    row["switched_by"] = how
    for key in ("packets_sent", "packets_received"):
        row[f"{key}_raw"] = row[key]
        row[key] = round(row[key] * GIB / args.size)
    return row


def judge(row, done, args):
    """Why a row is wrong, or an empty list."""
    why = []
    per = GIB / args.size
    if not row["sha256_ok"]:
        why.append("the bytes that arrived are not those that were sent")
    if row["protocol"] == "https-ktls" and not row["tls_tx_sw"]:
        why.append("TlsTxSw did not count: the kernel's TLS was not used")
    floor = row["datagrams_on_wire"] * 0.97 - STRAY
    for key in ("packets_sent", "packets_received"):
        raw = row[f"{key}_raw"]
        if row["offload"] == "off" and raw < floor:
            why.append(f"{key}: {raw} for {row['datagrams_on_wire']} datagrams on the "
                       "wire: something still segments or merges")
        if row["protocol"] in ("quic", "h3") and row["offload"] == "on":
            # HTTP/3's own: a handshake at 1,200 bytes, slow start, ACKs of window updates
            stray = STRAY if row["protocol"] == "quic" else 3 * STRAY
            most = MOST_H3.get(key, MOST_ON) if row["protocol"] == "h3" else MOST_ON
            if row[key] > most + stray * per:
                why.append(f"{key}: {row[key]} per GiB, more than {most}")
            other = done.get("http2:on")
            if other and row[key] > other[key] * NEAR_HTTP2 + stray * per:
                why.append(f"{key}: {row[key]} per GiB, HTTP/2 has {other[key]}")
    return why


def thousands(n):
    """As the paper prints counts."""
    return f"{round(n / 1000)}K"


def print_table(rows, args):
    """The table, with the paper's figures beside."""
    head = ("row", "sent/GiB", "received/GiB", "on wire", "seconds", "CPU s",
            "device s", "paper sent", "received", "s")
    lines = [head]
    for r in rows:
        paper = PAPER.get((r["protocol"].replace("h3", "quic"), r["offload"]),
                          ("-", "-", "-"))
        lines.append((f"{r['protocol']} {r['offload']}", thousands(r["packets_sent"]),
                      thousands(r["packets_received"]), str(r["datagrams_on_wire"]),
                      f"{r['seconds']:.2f}", f"{r['cpu_seconds']:.2f}",
                      f"{r['cpu_device']:.2f}", *map(str, paper)))
    width = [max(len(x[i]) for x in lines) for i in range(len(head))]
    ksft.diag(f"Table 3, {args.size / (1 << 20):g} MiB, QUIC datagrams: {args.mix}, "
              f"{args.cipher}; the paper moved 1 GiB on real NICs")
    for line in lines:
        ksft.diag("  ".join(x.ljust(w) if i == 0 else x.rjust(w)
                            for i, (x, w) in enumerate(zip(line, width))))


def versions():
    """What ran."""
    out = {"kernel": platform.release(), "python": platform.python_version()}
    path = "/etc/lab-versions"
    if os.path.exists(path):
        with open(path, encoding="ascii") as f:
            out["lab"] = f.read().split("\n")
    return out


def conditions(args, pair):
    """Under what the numbers hold."""
    crypto = []
    with open("/proc/crypto", encoding="ascii") as f:
        for block in f.read().split("\n\n"):
            fields = dict(x.split(":", 1) for x in block.splitlines() if ":" in x)
            fields = {k.strip(): v.strip() for k, v in fields.items()}
            if fields.get("name") in ("gcm(aes)", "ecb(aes)", "ccm(aes)",
                                      "rfc7539(chacha20,poly1305)"):
                crypto.append(fields["driver"])
    with open("/proc/cpuinfo", encoding="ascii") as f:
        model = next((x.split(":", 1)[1].strip() for x in f
                      if x.startswith("model name")), "")
    return {"size": args.size, "mix": args.mix, "cipher": args.cipher,
            "cpus": os.cpu_count(), "cpu": model, "crypto": sorted(crypto),
            "nic": pair.nic, "pinned": pair.pinned,
            "accel": os.environ.get("QOFF_ACCEL", "unknown"),
            "time": "includes the simulated NIC's own work" if pair.nic == "quicsim"
                    else "first byte asked to last byte received"}


def save(rows, args, pair):
    """Write the results."""
    if not args.results:
        return
    os.makedirs(args.results, exist_ok=True)
    data = {"conditions": conditions(args, pair), "versions": versions(), "rows": rows}
    name = f"table3-{pair.nic}-{args.traffic}-{args.mix}.json"
    for path in (name, "table3.json"):
        with open(os.path.join(args.results, path), "w", encoding="ascii") as f:
            json.dump(data, f, indent=1)
            f.write("\n")
    chart.write(os.path.join(args.results, "table3.svg"), rows,
                f"Packets the host touches ({pair.nic}, {args.mix})")


def main():
    """Run the rows."""
    args = parse_args()
    rows, done = [], {}
    # HTTP/2 first, so that QUIC can be held against it in the same run
    order = sorted(args.rows, key=lambda r: r != "http2:on")
    with ends.open_pair() as pair:
        if not count.tracing_available(pair.tx):
            raise ksft.SkipAll("no tracefs with histogram triggers "
                               "(CONFIG_HIST_TRIGGERS): packets cannot be counted")
        count.pin(pair)
        ksft.plan(len(order))
        top, sha256 = rows_http.make_file(args.size)
        try:
            rows_http.make_certificate(top)
            for name in order:
                ksft.diag(f"{time.strftime('%H:%M:%S')} {name} ...")
                try:
                    row = run_row(pair, name, args, (top, sha256))
                except (ends.CmdError, switches.SwitchError) as why:
                    ksft.fail(name, why)
                    continue
                rows.append(row)
                done[name] = row
                why = judge(row, done, args)
                ksft.check(name, not why, "\n".join(why))
        finally:
            shutil.rmtree(top, ignore_errors=True)
        rows.sort(key=lambda r: (H3_ROWS + ROWS).index(f"{r['protocol']}:{r['offload']}"))
        print_table(rows, args)
        table4.print_table([r for r in rows if r["protocol"] == "h3"])
        save(rows, args, pair)


if __name__ == "__main__":
    ksft.run(main)
