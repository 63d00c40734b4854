#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Guest: TSO, UDP GSO, checksums, RSS, VLAN, MTU, channels and rings, counters.

. "$(dirname "$0")/lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)

ethstat() { ip netns exec "n$1" ethtool -S "$2" | awk -v k="$3:" '$1 == k { print $2 }'; }

# udp COUNT SIZE GSO ADDR
udp() {
	local out
	out=$(mktemp)
	n1 python3 "$HERE/udp_gso.py" recv "$4" 7000 "$1" "$2" >"$out" 2>&1 &
	local pid=$!
	wait_for 20 grep -q ready "$out" || { cat "$out"; return 1; }
	n0 python3 "$HERE/udp_gso.py" send "$4" 7000 "$1" "$2" "$3" || return 1
	wait $pid || { cat "$out"; return 1; }
}

tcp() {
	n1 iperf3 -s -1 -D -I /tmp/iperf.pid >/dev/null || return 1
	wait_for 10 sh -c 'ip netns exec n1 ss -ltn | grep -q :5201' || return 1
	n0 iperf3 -c 10.0.0.2 -n "$1" "${@:2}"
}

lso_used() {
	local before after
	before=$(stat 0 tx_lso_wqes)
	"$@" || return 1
	after=$(stat 0 tx_lso_wqes)
	echo "LSO WQEs: $before -> $after"
	[ "$after" -gt "$before" ]
}

no_lso() {
	local before
	before=$(stat 0 tx_lso_wqes)
	"$@" && [ "$(stat 0 tx_lso_wqes)" = "$before" ]
}

features() { ip netns exec n0 ethtool -K "$IF0" "$@"; }

no_bad_sums() { [ "$(stat 0 rx_csum_bad)" = 0 ] && [ "$(stat 1 rx_csum_bad)" = 0 ]; }

# More than one queue of function 1 has received.
spread() {
	local q used=0
	for q in 0 1; do
		[ "$(ethstat 1 "$IF1" "rx${q}_packets")" -gt 10 ] && used=$((used + 1))
	done
	[ $used = 2 ]
}

# The driver's, the port's and the model's numbers agree once all is quiet.
counters_agree() {
	local drv phy long model
	drv=$(ethstat 0 "$IF0" tx_packets_phy)
	phy=$(ethstat 1 "$IF1" rx_packets_phy)
	long=$(stat 1 rx_mtu_drops)
	model=$(stat 0 tx_packets)
	echo "# tx_packets_phy $drv, rx_packets_phy $phy + $long too long, model $model" >/tmp/counters
	[ "$drv" = $((phy + long)) ] && [ "$drv" = "$model" ] && [ "$drv" -gt 0 ]
}

vlan() {
	ip -n n0 link add link "$IF0" name v0 type vlan id 42 &&
		ip -n n1 link add link "$IF1" name v1 type vlan id 42 &&
		ip -n n0 addr add 10.1.0.1/24 dev v0 && ip -n n1 addr add 10.1.0.2/24 dev v1 &&
		ip -n n0 link set v0 up && ip -n n1 link set v1 up &&
		n0 ping -c 3 -i 0.2 -W 5 10.1.0.2
}

vlan_software() {
	features txvlan off rxvlan off && n0 ping -c 3 -i 0.2 -W 5 10.1.0.2 &&
		features txvlan on rxvlan on
}

mtu() {
	ip -n n0 link set "$IF0" mtu "$1" && ip -n n1 link set "$IF1" mtu "$1" &&
		wait_for 10 carrier n0 "$IF0" && wait_for 10 carrier n1 "$IF1" &&
		n0 ping -c 2 -i 0.2 -W 5 -M "do" -s $(($1 - 28)) 10.0.0.2
}

channels() {
	ip netns exec n0 ethtool -L "$IF0" combined 1 && n0 ping -c 2 -i 0.2 -W 5 10.0.0.2 &&
		ip netns exec n0 ethtool -L "$IF0" combined 2 && n0 ping -c 2 -i 0.2 -W 5 10.0.0.2
}

rings() {
	ip netns exec n0 ethtool -G "$IF0" rx 64 tx 128 && n0 ping -c 2 -i 0.2 -W 5 10.0.0.2
}

# -U: the hash key that the driver reads back is the one it has set.
rss_key() {
	ip netns exec n1 ethtool -X "$IF1" hkey \
		6d:5a:56:da:25:5b:0e:c2:41:67:25:3d:43:a3:8f:b0:d0:ca:2b:cb:ae:7b:30:b4:77:cb:2d:a3:80:30:f2:0c:6a:42:b7:3b:be:ac:01:fa \
		&& n0 ping -c 2 -i 0.2 -W 5 10.0.0.2
}

ntuple() {
	local before
	ip netns exec n1 ethtool -K "$IF1" ntuple on &&
		ip netns exec n1 ethtool -N "$IF1" flow-type udp4 dst-port 7777 action -1 || return 1
	before=$(stat 1 rx_steer_drops)
	n0 bash -c 'for i in 1 2 3 4 5; do echo x >/dev/udp/10.0.0.2/7777; done'
	# shellcheck disable=SC2317 # called by wait_for
	sees_drops() { [ "$(stat 1 rx_steer_drops)" -ge $((before + 5)) ]; }
	wait_for 10 sees_drops
}

need "mlx5_core makes two netdevs" load
IF0=$(netdev_of $FN0)
IF1=$(netdev_of $FN1)
need "both links come up" namespaces
check "TCP with TSO" lso_used tcp 8M
check "TCP, the other direction" tcp 4M -R
check "TCP over IPv6" lso_used tcp 2M -6 -c fd00::2
check "plain UDP datagrams" no_lso udp 1000 1200 1 10.0.0.2
check "UDP GSO" lso_used udp 2000 1200 16 10.0.0.2
check "UDP GSO over IPv6" lso_used udp 1000 1000 20 fd00::2
check "UDP GSO with the device's segmentation off" features tx-udp-segmentation off
check "... segments in software" no_lso udp 500 1200 16 10.0.0.2
features tx-udp-segmentation on >/dev/null
check "TCP without TSO and checksum offload" features tso off tx off
check "... still arrives" no_lso tcp 1M
features tx on tso on >/dev/null
check "VLAN, tag inserted and stripped by the device" vlan
check "VLAN, tags handled in software" vlan_software
for _ in $(seq 40); do
	echo x | n0 socat -u - UDP4-SENDTO:10.0.0.2:9999
done
check "many flows use both receive queues of function 1" spread
check "RSS key change" rss_key
check "ntuple rule drops" ntuple
mtus="68 1500 9000 9978"
if [ -n "$QOFF_FULL" ]; then
	mtus="68 69 127 128 129 255 256 511 512 575 576 577 1279 1280 1281 1499 1500 1501 2047 2048 2049 3498 3499 4095 4096
		4097 8191 8192 9000 9977 9978"
fi
for m in $mtus; do
	check "MTU $m" mtu $m
done
striding() {
	local i
	for i in 0 1; do
		local dev=IF$i
		ip netns exec n$i ethtool --set-priv-flags "${!dev}" rx_striding_rq "$1" || return 1
	done
	wait_for 10 carrier n0 "$IF0" && wait_for 10 carrier n1 "$IF1" && udp 500 1200 16 10.0.0.2
}
mtu 1500 >/dev/null
check "cyclic receive queues" striding off
check "striding receive queues" striding on
check "channels change" channels
check "ring sizes change" rings
check "no checksum was wrong on the wire" no_bad_sums
check "driver, ports and model agree on packets" wait_for 10 counters_agree
cat /tmp/counters
done_testing
