#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""ksft_run.py PROGRAM: a Python test of drivers/net, in its directory.

Linux 6.12's hw/csum.py reads the name of the remote interface from an attribute that the environment
of that version does not have; it is given one here, from REMOTE_IFNAME."""

import os
import runpy
import sys

sys.argv = sys.argv[1:]
sys.path.insert(0, os.getcwd())

import lib.py  # noqa: E402 the test's own, found by the line above

lib.py.NetDrvEpEnv.remote_ifname = os.environ["REMOTE_IFNAME"]
runpy.run_path(sys.argv[0], run_name="__main__")
