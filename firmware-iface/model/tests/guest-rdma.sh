#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Guest: mlx5_ib, ibv_devinfo, DEVX objects and a data path in user space.

. "$(dirname "$0")/lib.sh"
DEVX=${1:-/src/build/nicmodel/devx}

rdma_up() {
	modprobe mlx5_ib && modprobe ib_uverbs &&
		wait_for 20 sh -c 'ls /dev/infiniband/uverbs0 && ls /dev/infiniband/uverbs1'
}

devinfo() { ibv_devinfo -d mlx5_0 | grep -cE 'vendor_part_id:.*4129|PORT_ACTIVE' | grep -qx 2; }

# What the kernel keeps per context goes with the process.
devx() {
	local before after rx
	before=$(ctl '{"cmd":"state","fn":0}' | jq -c .objects)
	rx=$(stat 1 rx_packets)
	"$DEVX" mlx5_0 || return 1
	after=$(ctl '{"cmd":"state","fn":0}' | jq -c .objects)
	[ "$(stat 1 rx_packets)" -ge $((rx + 200)) ] || return 1
	echo "$before"
	echo "$after"
	[ "$before" = "$after" ]
}

need "mlx5_core makes two netdevs" load
IF0=$(netdev_of $FN0)
IF1=$(netdev_of $FN1)
need "both links come up" namespaces
check "mlx5_ib makes two devices" rdma_up
check "ibv_devinfo knows the device and an active port" devinfo
devx >/dev/null 2>&1 # the first context makes objects that stay with the device
check "DEVX sends from user space and leaves nothing behind" devx
check "the netdev still works" n0 ping -c 2 -i 0.2 -W 5 10.0.0.2
check "mlx5_ib goes" modprobe -r mlx5_ib
done_testing
