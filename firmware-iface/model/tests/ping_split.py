#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""ping_split.py TRACE: how long the model takes from a send doorbell to the other function's
completion event, as microseconds: the median, and how many were counted. The trace must have "db"
and "eqe" (nicmodel --trace TRACE:db,eqe) and little traffic beside the pings."""

import re
import statistics
import sys


def main(argv):
    rung = {}       # the function that receives: when the other one rang
    took = []
    with open(argv[1], encoding="utf-8", errors="replace") as trace:
        for line in trace:
            m = re.match(r"([\d.]+) fn(\d) (db|eqe) (\S+)", line)
            if not m:
                continue
            when, fn = float(m[1]), int(m[2])
            if m[3] == "db" and m[4] == "sq":
                rung.setdefault(1 - fn, when)
            elif m[3] == "eqe" and " type 0 " in line and fn in rung:
                took.append(when - rung.pop(fn))
    took = [t for t in took if t < 0.01]
    print(f"{statistics.median(took) * 1e6:.1f} us from doorbell to event, median of {len(took)}")


if __name__ == "__main__":
    main(sys.argv)
