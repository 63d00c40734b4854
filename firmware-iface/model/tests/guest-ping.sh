#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Guest: both functions probe, the link comes up, packets go both ways.

. "$(dirname "$0")/lib.sh"

need "mlx5_core makes two netdevs" load
IF0=$(netdev_of $FN0)
IF1=$(netdev_of $FN1)
need "both links come up" namespaces
check "ping over IPv4" n0 ping -c 5 -i 0.2 -W 5 10.0.0.2
check "ping over IPv6" n0 ping -c 5 -i 0.2 -W 5 fd00::2
check "ping of 9000 bytes in fragments" n0 ping -c 3 -i 0.2 -W 5 -s 9000 10.0.0.2
done_testing
