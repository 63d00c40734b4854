#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a datagram costs in software: qoffperf bench over veth, as ratios.

No device takes part. Under "-icount shift=0" the guest's clock counts its
instructions, so "ns" below are instructions and a run repeats exactly; without
it they are nanoseconds, and only ratios within one run mean anything.

This is a benchmark: it reports, and judges nothing.
"""

import argparse
import json
import os
import subprocess
import sys

# name: (mix, options). A "send" half ends in a receiver that opens nothing
VARIANTS = {
    "mixed single": ("mixed", "--mode single --rx single"),
    "mixed mmsg": ("mixed", "--mode mmsg --rx mmsg"),
    "mixed super": ("mixed", "--mode super --rx super"),
    "paper single": ("paper", "--mode single --rx single"),
    "paper segment+gro": ("paper", "--mode segment --rx gro"),
    "paper super": ("paper", "--mode super --rx super"),
    "mixed single openssl": ("mixed", "--mode single --rx single --seal openssl --open openssl"),
    "mixed super kernel": ("mixed", "--mode super --rx super --seal kernel --open kernel"),
    "mixed super, openssl seals": ("mixed", "--mode super --rx super --seal openssl --open none"),
    "mixed super, kernel seals": ("mixed", "--mode super --rx super --seal kernel --open none"),
}

# what, numerator, denominator, to subtract from both, target
RATIOS = (
    ("RAW, unequal lengths: super-packets against a call per datagram",
     "mixed super", "mixed single", None, 0.65),
    ("RAW, equal lengths: super-packets against UDP_SEGMENT + UDP_GRO",
     "paper super", "paper segment+gro", None, 1.05),
    ("AES-128-GCM both ways, unequal: kernel against a call and OpenSSL per datagram",
     "mixed super kernel", "mixed single openssl", None, None),
    ("sealing alone: kernel against OpenSSL, the same packets",
     "mixed super, kernel seals", "mixed super, openssl seals", "mixed super", 1.2),
)


def run(cmd):
    """Run a command, return its output; exit with its error."""
    res = subprocess.run(cmd, capture_output=True, text=True, check=False)
    if res.returncode:
        sys.exit(f"{' '.join(cmd)}: {res.stderr.strip() or res.stdout.strip()}")
    return res.stdout


def setup():
    """A veth pair on which GRO runs: receiver GRO on, sender TSO off."""
    for ns in ("tx", "rx"):
        run(["ip", "netns", "add", ns])
    run(["ip", "-n", "tx", "link", "add", "va", "type", "veth",
         "peer", "name", "vb", "netns", "rx"])
    for ns, dev, last in (("tx", "va", 1), ("rx", "vb", 2)):
        run(["ip", "-n", ns, "addr", "add", f"192.0.2.{last}/24", "dev", dev])
        run(["ip", "-n", ns, "link", "set", dev, "up"])
    run(["ip", "netns", "exec", "rx", "ethtool", "-K", "vb", "gro", "on"])
    run(["ip", "netns", "exec", "tx", "ethtool", "-K", "va", "tso", "off"])


def measure(count, batch):
    """Cost of each variant, per datagram."""
    out = {}
    for name, (mix, options) in VARIANTS.items():
        text = run(["qoffperf", "bench", "--from-netns", "tx", "--to-netns", "rx",
                    "--from", "192.0.2.1", "--to", "192.0.2.2", "--json",
                    "--count", str(count), "--batch", str(batch), "--mix", mix] +
                   options.split())
        got = json.loads(text)
        out[name] = {"ns_per_datagram": got["elapsed_ns"] / got["datagrams"],
                     "send_calls": got["send_calls"], "recv_calls": got["recv_calls"]}
        print(f"# {name:30} {out[name]['ns_per_datagram']:9.0f} a datagram, "
              f"{got['send_calls']} + {got['recv_calls']} calls", flush=True)
    return out


def ratios(costs):
    """The comparisons, with their targets."""
    out = []
    for what, num, den, base, target in RATIOS:
        less = costs[base]["ns_per_datagram"] if base else 0
        value = ((costs[num]["ns_per_datagram"] - less) /
                 (costs[den]["ns_per_datagram"] - less))
        out.append({"what": what, "ratio": round(value, 3), "target": target})
        aim = "" if target is None else f"   (target {target})"
        print(f"{value:6.3f}  {what}{aim}", flush=True)
    return out


def main():
    """Set up, measure, report."""
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--count", type=int, default=40960, help="datagrams of a variant")
    p.add_argument("--batch", type=int, default=64, help="datagrams of a round")
    p.add_argument("--results", help="directory for bench-veth.json")
    args = p.parse_args()
    setup()
    costs = measure(args.count, args.batch)
    data = {"unit": os.environ.get("QOFF_UNIT", "nanoseconds"), "batch": args.batch,
            "count": args.count, "costs": costs, "ratios": ratios(costs)}
    if args.results:
        with open(os.path.join(args.results, "bench-veth.json"), "w", encoding="ascii") as f:
            json.dump(data, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
