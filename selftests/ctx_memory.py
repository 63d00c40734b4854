#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Kernel memory of a context: what a memory cgroup is charged for each, with a key in both slots.

The module charges all that it allocates for its user to the user's cgroup. The transforms of the
crypto API are not charged: what is measured is what stands beside them.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import ctl  # noqa: E402
import ksft  # noqa: E402

LIMIT = 2048
COUNT = 1024
WARMUP = 64
ROOT = "/sys/fs/cgroup"
GROUP = ROOT + "/qoff-ctx-memory"


def write(path, text):
    """Write a control file."""
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def slab():
    """Bytes of kernel objects charged to the cgroup."""
    with open(GROUP + "/memory.stat", encoding="ascii") as f:
        return int(next(line.split()[1] for line in f if line.startswith("slab ")))


def enter():
    """Into a cgroup of our own."""
    try:
        write(ROOT + "/cgroup.subtree_control", "+memory")
        os.makedirs(GROUP, exist_ok=True)
        write(GROUP + "/cgroup.procs", str(os.getpid()))
        slab()
    except (OSError, StopIteration) as e:
        raise ksft.SkipAll(f"no memory cgroup: {e}") from e


def add(s, count):
    """Contexts, a key in both slots of each."""
    for _ in range(count):
        c = ctl.NL("ctx-add", **ctl.ctx_attrs(s))
        ctl.NL("ctx-update", fd=s.fileno(), id=c["id"], gen=c["gen"], phase=1,
               key=ctl.secret(16), iv=ctl.secret(12))


@ctl.case
def memory():
    """What a context costs"""
    enter()
    s = ctl.attached()
    add(s, WARMUP)
    before = slab()
    add(s, COUNT)
    cost = (slab() - before) / COUNT
    ksft.diag(f"{cost:.0f} bytes a context, two keys each, beside the transforms")
    ksft.check(f"a context costs at most {LIMIT} bytes beside the transforms",
               512 < cost <= LIMIT, f"{cost:.0f} bytes")
    s.close()


ctl.main()
