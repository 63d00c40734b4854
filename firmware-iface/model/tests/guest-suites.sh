#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Guest: tests that others wrote. guest-suites.sh [SUITE...], see suites.py.

. "$(dirname "$0")/lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)

if ! load || ! namespaces || ! modprobe mlx5_ib || ! modprobe ib_uverbs ||
	! wait_for 20 sh -c 'ls /dev/infiniband/uverbs0 && ls /dev/infiniband/uverbs1'; then
	echo "not ok 1 - both links come up"
	echo "1..1"
	exit 1
fi >&2
export IF0 IF1
exec python3 "$HERE/suites.py" "$HERE/suites.list" "$@"
