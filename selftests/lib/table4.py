# SPDX-License-Identifier: GPL-2.0
"""Table 4: where the receiver's time goes, from h3client --profile.

The paper (WWW 2024, Table 4) has seconds of Chromium's network process for 1 GiB;
only the shares can be held against ours, and its lines are not all ours.
"""

import ksft

# Line, h3client's phases. "socket" has the opening of packets in it where that
# happens below: in the kernel's receive call.
LINES = (
    ("reading the socket", ("socket",)),
    ("taking the payload", ("payload",)),
    ("decryption", ("crypto",)),
    ("parsing packets and frames", ("parse",)),
    ("making ACKs", ("ack",)),
    ("other", ("other",)),
)
# The paper's seconds, of its five lines' sum
_PAPER = {"reading the socket": 0.248, "taking the payload": 0.310, "decryption": 0.660,
          "parsing packets and frames": 3.468, "making ACKs": 2.972}
PAPER = {name: s / sum(_PAPER.values()) for name, s in _PAPER.items()}


def shares(profile):
    """Share of the time that is not waiting, by line."""
    busy = sum(v for k, v in profile.items() if k != "wait") or 1.0
    return {name: sum(profile[p] for p in phases) / busy for name, phases in LINES}


def print_table(rows):
    """Print it for rows that have a profile."""
    if not rows:
        return
    head = ("receiver's time, %", *(f"h3 {r['offload']}" for r in rows), "paper, QUIC")
    lines = [head]
    for r in rows:
        r["table4"] = {k: round(v, 4) for k, v in shares(r["profile"]).items()}
    for name, _ in LINES:
        paper = f"{100 * PAPER[name]:.0f}" if name in PAPER else "-"
        lines.append((name, *(f"{100 * r['table4'][name]:.1f}" for r in rows), paper))
    lines.append(("busy seconds", *(f"{sum(v for k, v in r['profile'].items() if k != 'wait'):.2f}"
                                    for r in rows), f"{sum(_PAPER.values()):.2f}"))
    lines.append(("calls per receive", *(f"{r['syscalls_per_batch']:.2f}" for r in rows), "-"))
    lines.append(("datagrams per receive", *(f"{r['segments_per_receive']:.1f}" for r in rows), "-"))
    lines.append(("datagrams per send", *(f"{r['segments_per_send']:.1f}" for r in rows), "-"))
    width = [max(len(x[i]) for x in lines) for i in range(len(head))]
    ksft.diag("Table 4: where h3client's time goes")
    for line in lines:
        ksft.diag("  ".join(x.ljust(w) if i == 0 else x.rjust(w)
                            for i, (x, w) in enumerate(zip(line, width))))
