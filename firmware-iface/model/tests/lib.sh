# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# For the guest tests: TAP, two namespaces with one function each, waits with a limit.

n=0
failed=0

ok() {
	n=$((n + 1))
	echo "ok $n - $*"
}

not_ok() {
	n=$((n + 1))
	failed=$((failed + 1))
	echo "not ok $n - $*"
}

# check TEXT COMMAND...: one result; the command's output is shown when it fails.
check() {
	local text=$1
	shift
	# Not in a subshell: a test may find that an interface has a new name.
	if "$@" >/tmp/check.out 2>&1; then
		ok "$text"
	else
		not_ok "$text"
		tail -n 15 /tmp/check.out | sed 's/^/# /'
	fi
}

# What costs the whole check too much: only under QOFF_FULL
full() { [ -z "$QOFF_FULL" ] || check "$@"; }

# What the other tests cannot do without
need() {
	local before=$failed
	check "$@"
	[ "$failed" = "$before" ] || { echo "1..$n"; exit 1; }
}

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# The netdevs of the functions, in order of their PCI addresses
netdev_of() {
	local dir
	for dir in "/sys/bus/pci/devices/$1"/net/*; do
		[ -e "$dir" ] && basename "$dir" && return
	done
	return 1
}

# ctl WORDS: a JSON request to the model; prints the answer
ctl_port() {
	local dir
	for dir in /sys/class/virtio-ports/*; do
		if [ "$(cat "$dir/name")" = nicmodel.ctl ]; then
			echo "/dev/${dir##*/}"
			return
		fi
	done
	return 1
}

ctl() {
	local answer
	[ -n "$ctl_open" ] || { exec 9<>"$(ctl_port)"; ctl_open=1; }
	printf '%s\n' "$1" >&9
	read -r -t 20 answer <&9 || return 1
	printf '%s\n' "$answer"
	[[ $answer == *'"ok":true'* ]]
}

# stat FN NAME: a counter of the model
stat() { ctl "{\"cmd\":\"stats\",\"fn\":$1}" | jq ".$2"; }

FN0=0000:01:00.0
FN1=0000:02:00.0

load() {
	modprobe mlx5_core || return 1
	wait_for 5 netdev_of $FN0 && wait_for 5 netdev_of $FN1 || return 1
	IF0=$(netdev_of $FN0)
	IF1=$(netdev_of $FN1)
}

# The same with the QUIC extension (kernel/lab/make-mlx5), in place of the kernel's own mlx5_core
load_quic() {
	local m modules
	modules=/src/build/modules/$(uname -r)
	[ -d /sys/module/quic_offload ] || insmod "$modules/quic_offload.ko" || return 1
	for m in $(modinfo -F depends "$modules/mlx5/mlx5_core.ko" | tr , ' '); do
		[ "$m" = quic_offload ] || modprobe "$m" || return 1
	done
	insmod "$modules/mlx5/mlx5_core.ko" || return 1
	wait_for 20 netdev_of $FN0 && wait_for 20 netdev_of $FN1 || return 1
	IF0=$(netdev_of $FN0)
	IF1=$(netdev_of $FN1)
}

carrier() { [ "$(ip netns exec "$1" cat "/sys/class/net/$2/carrier" 2>/dev/null)" = 1 ]; }

# n0 has function 0 with 10.0.0.1, n1 has function 1 with 10.0.0.2
namespaces() {
	local i dev
	for i in 0 1; do
		dev=IF$i
		ip netns add n$i
		ip link set "${!dev}" netns n$i
		ip -n n$i link set lo up
		ip -n n$i addr add 10.0.0.$((i + 1))/24 dev "${!dev}"
		ip -n n$i addr add fd00::$((i + 1))/64 dev "${!dev}" nodad
		ip -n n$i link set "${!dev}" up
	done
	wait_for 10 carrier n0 "$IF0" && wait_for 10 carrier n1 "$IF1"
}

n0() { ip netns exec n0 "$@"; }
n1() { ip netns exec n1 "$@"; }

alive() { wait_for 20 carrier n0 "$IF0" && n0 ping -c 2 -i 0.2 -W 5 10.0.0.2; }

# A function came back with a new netdev: find it and give it its place again.
readopt() {
	local i=$1 fn=FN$1 dev=IF$1
	wait_for 20 netdev_of "${!fn}" || return 1
	printf -v "$dev" %s "$(netdev_of "${!fn}")"
	ip link set "${!dev}" netns "n$i" && ip -n "n$i" addr add "10.0.0.$((i + 1))/24" dev "${!dev}" &&
		ip -n "n$i" link set "${!dev}" up
}

fault() { ctl "{\"cmd\":\"fault\",\"fn\":$1,$2}" >/dev/null; }

# Health reporters of the netdev's port, which is an auxiliary device's
port_of() {
	local dir
	for dir in "/sys/bus/pci/devices/$1"/mlx5_core.eth.*; do
		echo "auxiliary/${dir##*/}/65535"
	done
}

recoveries() { devlink -j health show "$1" reporter "$2" | jq '[.. | .recover? // empty] | first'; }
recovered() { [ "$(recoveries "$1" "$2")" -gt "$3" ]; }

done_testing() {
	echo "1..$n"
	[ "$failed" = 0 ]
}
