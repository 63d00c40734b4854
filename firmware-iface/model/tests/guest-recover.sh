#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Guest: what goes wrong on purpose, and the driver's way out of it.

. "$(dirname "$0")/lib.sh"

cycles=3
[ -z "$QOFF_FULL" ] || cycles=1000

down_up() {
	local i
	for i in $(seq "$1"); do
		ip -n n0 link set "$IF0" down && ip -n n0 link set "$IF0" up || return 1
	done
	alive
}

objects() { ctl "{\"cmd\":\"state\",\"fn\":$1}" | jq -c .objects; }

# Up and down leaves nothing behind in the device.
no_leak() {
	local before after
	before=$(objects 0)
	down_up $cycles || return 1
	after=$(objects 0)
	echo "$before"
	echo "$after"
	[ "$before" = "$after" ]
}

cable() {
	ctl '{"cmd":"link","fn":0,"up":0}' >/dev/null || return 1
	wait_for 10 sh -c "! ip -n n1 link show $IF1 | grep -q LOWER_UP" || return 1
	ctl '{"cmd":"link","fn":0,"up":1}' >/dev/null && alive
}

unbind_bind() {
	echo $FN0 >/sys/bus/pci/drivers/mlx5_core/unbind &&
		echo $FN0 >/sys/bus/pci/drivers/mlx5_core/bind && readopt 0 && alive
}

remove_rescan() {
	echo 1 >/sys/bus/pci/devices/$FN0/remove && echo 1 >/sys/bus/pci/rescan && readopt 0 && alive
}

# The kernel's FLR: a write to Device Control, state saved and restored around it.
flr() {
	grep -q flr /sys/bus/pci/devices/$FN0/reset_method || return 1
	echo $FN0 >/sys/bus/pci/drivers/mlx5_core/unbind &&
		echo flr >/sys/bus/pci/devices/$FN0/reset_method &&
		echo 1 >/sys/bus/pci/devices/$FN0/reset || return 1
	[ "$(ctl '{"cmd":"state","fn":0}' | jq -r .state)" = reset ] || return 1
	echo $FN0 >/sys/bus/pci/drivers/mlx5_core/bind && readopt 0 && alive
}

reload() { devlink dev reload pci/$FN0 && readopt 0 && alive; }

module() {
	modprobe -r mlx5_core && load && readopt 0 && readopt 1 && alive
}

queue_error() {
	local port before
	port=$(port_of $FN0)
	before=$(recoveries "$port" "$1")
	fault 0 "\"kind\":\"$1-error\",\"count\":1" || return 1
	n0 ping -c 3 -i 0.2 -W 2 10.0.0.2
	wait_for 20 recovered "$port" "$1" "$before" && alive
}

# A probe step that firmware refuses: no netdev, no crash, and the next probe works.
refused() {
	echo $FN0 >/sys/bus/pci/drivers/mlx5_core/unbind || return 1
	fault 0 "\"kind\":\"status\",\"opcode\":\"$1\",\"status\":1,\"count\":1" || return 1
	echo $FN0 >/sys/bus/pci/drivers/mlx5_core/bind
	fault 0 '"kind":"none"' || return 1
	[ ! -e /sys/bus/pci/drivers/mlx5_core/$FN0 ] || echo $FN0 >/sys/bus/pci/drivers/mlx5_core/unbind
	echo $FN0 >/sys/bus/pci/drivers/mlx5_core/bind && readopt 0 && alive
}

loss() {
	ctl '{"cmd":"wire","fn":0,"loss":300000}' >/dev/null || return 1
	n0 ping -c 20 -i 0.05 -W 1 10.0.0.2 | grep -o '[0-9]* received' >/tmp/loss
	ctl '{"cmd":"wire","fn":0,"loss":0}' >/dev/null
	cat /tmp/loss
	! grep -q '^20 ' /tmp/loss && ! grep -q '^0 ' /tmp/loss && alive
}

corrupt() {
	local before
	before=$(stat 1 rx_csum_bad)
	ctl '{"cmd":"wire","fn":0,"corrupt":500000}' >/dev/null || return 1
	# shellcheck disable=SC2016 # for the inner shell
	n0 bash -c 'for i in $(seq 40); do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >/dev/udp/10.0.0.2/7777; done'
	ctl '{"cmd":"wire","fn":0,"corrupt":0}' >/dev/null
	[ "$(stat 1 rx_csum_bad)" -gt "$before" ] && alive
}

delayed() {
	ctl '{"cmd":"wire","fn":0,"delay_us":100000}' >/dev/null || return 1
	n0 ping -c 2 -i 0.3 -W 5 10.0.0.2 >/tmp/delay
	ctl '{"cmd":"wire","fn":0,"delay_us":0}' >/dev/null
	awk -F/ '/^rtt/ { exit $4 * 1 >= 0 && substr($0, index($0, "=") + 2) + 0 >= 100 ? 0 : 1 }' /tmp/delay
}

need "mlx5_core makes two netdevs" load
IF0=$(netdev_of $FN0)
IF1=$(netdev_of $FN1)
need "both links come up" namespaces
check "packets go through" alive
check "up and down $cycles times leaves nothing behind" no_leak
check "cable out and in" cable
check "a lossy cable" loss
check "a cable that corrupts" corrupt
full "a slow cable" delayed
check "send queue error: the driver recovers" queue_error tx
check "receive queue error: the driver recovers" queue_error rx
full "unbind and bind" unbind_bind
full "remove and rescan" remove_rescan
check "function level reset" flr
full "devlink reload" reload
ops=CREATE_TIR
[ -z "$QOFF_FULL" ] || ops="$ops INIT_HCA CREATE_EQ ENABLE_HCA SET_ISSI QUERY_HCA_CAP MANAGE_PAGES ALLOC_UAR ALLOC_PD CREATE_MKEY
	CREATE_CQ CREATE_RQ CREATE_RQT CREATE_TIS CREATE_FLOW_TABLE CREATE_FLOW_GROUP SET_FLOW_TABLE_ENTRY"
for op in $ops; do
	check "probe with $op refused, then again" refused "$op"
done
check "module out and in" module
done_testing
