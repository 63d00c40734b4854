#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Guest: time to both links, then the pair against veth. guest-figures.sh [ROUNDS]

. "$(dirname "$0")/lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)

begin=${EPOCHREALTIME/./}
{ load && namespaces; } >/dev/null 2>&1 || exit 1
echo "both links up after $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
ip link add v0 netns n0 type veth peer name v1 netns n1
for i in 0 1; do
	ip -n n$i addr add 10.9.0.$((i + 1))/24 dev v$i
	ip -n n$i link set v$i up
done
wait_for 10 carrier n1 v1
exec python3 "$HERE/figures.py" "$@"
