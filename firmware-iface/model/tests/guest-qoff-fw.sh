#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Guest: the firmware tool on mlx5_ib, with no kernel support for QUIC beyond it.

. "$(dirname "$0")/lib.sh"
FW=${1:-/src/build/tools/qoff-fw/qoff-fw}

rdma_up() {
	modprobe mlx5_ib && modprobe ib_uverbs &&
		wait_for 20 sh -c 'ls /dev/infiniband/uverbs0 && ls /dev/infiniband/uverbs1'
}

# The tool must turn red on a device that breaks its word: [KIND FN LINE].
broken() {
	ctl "{\"cmd\":\"fault\",\"fn\":$2,\"kind\":\"$1\",\"count\":1}" || return 1
	"$FW" selftest --stop mlx5_0 mlx5_1 >/tmp/broken.out 2>&1 && return 1
	grep '^not ok' /tmp/broken.out
	grep -q "^not ok .*$3" /tmp/broken.out
}

# The tool's own lines, numbered on
selftest() {
	local line plan=0 seen=0 code
	"$FW" selftest mlx5_0 mlx5_1 >/tmp/selftest.out 2>&1
	code=$?
	while IFS= read -r line; do
		case $line in
		"ok "*) seen=$((seen + 1)); ok "${line#ok * - }" ;;
		"not ok "*) seen=$((seen + 1)); not_ok "${line#not ok * - }" ;;
		1..*) plan=${line#1..} ;;
		*) echo "# $line" ;;
		esac
	done </tmp/selftest.out
	[ "$code" -eq 0 ] && [ "$seen" -gt 0 ] && [ "$seen" = "$plan" ]
}

no_group() {
	"$FW" caps mlx5_0
	[ $? -eq 3 ]
}

need "mlx5_core makes two netdevs" load
need "both links come up" namespaces
need "mlx5_ib makes two devices" rdma_up
if [ "$2" = off ]; then
	check "today's firmware: caps says that there is no group" no_group
else
	check "caps" "$FW" caps mlx5_0
	before=$(ctl '{"cmd":"state","fn":0}' | jq -c .objects.general_object)
	if selftest; then ok "selftest ended well"; else not_ok "selftest ended badly"; fi
	after=$(ctl '{"cmd":"state","fn":0}' | jq -c .objects.general_object)
	check "a wrong tag turns it red" broken quic-tag 0 "seal AES-128-GCM"
	check "a sent super-packet that is told as refused turns it red" broken quic-status 0 seal
	check "a packet that is told as opened and is not turns it red" broken quic-claim 1 open
	after=$(ctl '{"cmd":"state","fn":0}' | jq -c .objects.general_object)
	check "contexts and keys went with their owner ($before, $after)" [ "$before" = "$after" ]
fi
done_testing
