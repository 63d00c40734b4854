#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# In a guest, as root: qoffperf between two network namespaces over veth, with the
# kernel's super-packets and with the plain modes, through loss, reordering and
# duplication. TAP on standard output.
# Usage: guest.sh MODULE [SIZE]

MODULE=$1
SIZE=${2:-2M}
Q=$(cd "$(dirname "$0")/../../.." && pwd)/build/tools/qoffperf/qoffperf
DIR=$(mktemp -d) || exit 1
n=0
failed=0

result() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n $2"
	else
		failed=$((failed + 1))
		echo "not ok $n $2"
		sed 's/^/# /' "$DIR/out" "$DIR/server" 2>/dev/null
	fi
}

# transfer HOST CLIENT-OPTIONS...: the server sends (-R) over veth, and the bytes are right.
transfer() {
	host=$1
	shift
	ip netns exec tx timeout 300 "$Q" -s -1 --json >"$DIR/server" 2>&1 &
	server=$!
	ip netns exec rx timeout 300 "$Q" --json -c "$host" -n "$SIZE" -R "$@" \
		>"$DIR/out" 2>&1
	code=$?
	wait $server || code=$?
	# For whoever wonders later how near a count was
	sed -n 's/^  "\(sends\|seg.*_per_send\|retransmits\|key_updates\)": /# \1 /p' "$DIR/out"
	grep -q '"sha256_ok": true' "$DIR/out" && return $code
}

# run NAME WANTED-IN-JSON HOST CLIENT-OPTIONS...
run() {
	name=$1; want=$2
	shift 2
	transfer "$@" && grep -Eq "$want" "$DIR/out"
	result $? "$name"
}

# lossy NAME HOST CLIENT-OPTIONS...: as run, and something was lost on the way. A whole
# super-packet is one skb to the queue, so a short transfer may get through without a loss:
# then it is made again, and only its bytes have to be right.
lossy() {
	name=$1
	shift
	tries=10
	while transfer "$@"; do
		if grep -Eq '"retransmits": [1-9]' "$DIR/out"; then
			result 0 "$name"
			return
		fi
		tries=$((tries - 1))
		[ $tries -gt 0 ] || break
	done
	result 1 "$name"
}

netem() {
	ip netns exec tx tc qdisc replace dev veth0 root netem "$@" &&
	ip netns exec rx tc qdisc replace dev veth0 root netem "$@"
}

bench() {
	name=$1
	shift
	timeout 300 "$Q" bench --from-netns tx --to-netns rx --from 10.9.0.1 \
		--to 10.9.0.2 --count 2560 "$@" >"$DIR/out" 2>&1 &&
	grep -q 'datagrams 2560,' "$DIR/out"
	code=$?
	sed 's/^/# /' "$DIR/out"
	result $code "bench: $name"
}

: >"$DIR/server"
[ -d /sys/module/quic_offload ] || insmod "$MODULE" || exit 1
ip netns add tx && ip netns add rx || exit 1
ip link add veth0 netns tx type veth peer name veth0 netns rx || exit 1
for e in tx/1 rx/2; do
	ip -n "${e%/*}" addr add "10.9.0.${e#*/}/24" dev veth0
	ip -n "${e%/*}" addr add "fd09::${e#*/}/64" dev veth0 nodad
	ip -n "${e%/*}" link set lo up
	ip -n "${e%/*}" link set veth0 up
	ip netns exec "${e%/*}" ethtool -K veth0 gro on tso off
done

# Counts are the point: one send for many datagrams. With a fixed window, because a growing
# one opens in steps that depend on when acknowledgements arrive.
many='"segments_per_send": [3-9][0-9]'
for mix in paper mixed; do
	run "super, $mix: sealed and opened in the kernel" "$many" 10.9.0.1 \
		--mix $mix --offload kernel --cc fixed
	run "super, $mix: RAW, sealed in user space" "$many" 10.9.0.1 \
		--mix $mix --offload kernel --cc fixed --raw
done
for cipher in aes-256-gcm chacha20-poly1305 aes-128-ccm; do
	run "super, $cipher over IPv6" '"backend": "kernel"' fd09::1 --mix mixed \
		--offload kernel --cipher $cipher
done
run "super, no connection ID, three connections" '"backend": "kernel"' 10.9.0.1 \
	--dcid-len 0 --offload kernel -P 3
run "super, 20 bytes of connection ID, ECN" '"backend": "kernel"' 10.9.0.1 \
	--dcid-len 20 --offload kernel --ecn
run "super, key updates" '"key_updates": ([2-9]|[1-9][0-9])' 10.9.0.1 --offload kernel \
	--key-update-every 200
bench "super, sealed in the kernel" --mix mixed --seal kernel
bench "super, RAW" --mix mixed --seal none --offload kernel
bench "a call per datagram, OpenSSL" --mix mixed --mode single --rx single \
	--seal openssl

netem loss 1% delay 2ms 1ms reorder 10% duplicate 1%
for m in "super super kernel" "super super user" "single single user" \
	 "segment gro user"; do
	# shellcheck disable=SC2086 # three words
	set -- $m
	lossy "loss, reordering, duplicates: $1, $3" \
		10.9.0.1 --mix mixed --mode "$1" --rx "$2" --offload "$3"
done
run "loss and key updates" '"key_updates": [1-9]' 10.9.0.1 --offload kernel \
	--key-update-every 200
netem loss 10% delay 1ms
lossy "a tenth lost" 10.9.0.1 --offload kernel --mix mixed

echo "1..$n"
rm -rf "$DIR"
[ "$failed" -eq 0 ]
