#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# qoffperf over loopback, every mode that needs no kernel module; right hashes.
# Usage: loopback.sh PROGRAM

Q=$1
DIR=$(mktemp -d) || exit 1
n=0
failed=0
server=

cleanup() {
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$DIR"
}
trap cleanup EXIT

# An own network namespace if we may: ports and sysctls are ours there.
if [ -z "$QOFFPERF_NETNS" ] && unshare -n true 2>/dev/null; then
	trap - EXIT
	rm -rf "$DIR"
	QOFFPERF_NETNS=1 exec unshare -n "$0" "$@"
fi
[ -z "$QOFFPERF_NETNS" ] || ip link set lo up || exit 1

result() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n $2"
	else
		failed=$((failed + 1))
		echo "not ok $n $2"
		sed 's/^/# /' "$DIR/out" "$DIR/server"
	fi
}

# run NAME WANTED-IN-JSON CLIENT-OPTIONS...: both ends must be content.
run() {
	name=$1; want=$2
	shift 2
	# The client waits for a server that is just starting.
	timeout 120 "$Q" -s -1 --json >"$DIR/server" 2>&1 &
	server=$!
	timeout 120 "$Q" --json "$@" >"$DIR/out" 2>&1
	code=$?
	wait "$server" || code=$?
	server=
	grep -q '"sha256_ok": true' "$DIR/out" || code=1
	grep -Eq "$want" "$DIR/out" || code=1
	result $code "$name"
}

# refuse NAME CODE TEXT OPTIONS...
refuse() {
	name=$1; code=$2; text=$3
	shift 3
	timeout 120 "$Q" "$@" >"$DIR/out" 2>&1
	[ $? -eq "$code" ] && grep -q -- "$text" "$DIR/out"
	result $? "$name"
}

: >"$DIR/server"
for mix in paper mixed; do
	for m in single/single mmsg/mmsg segment/gro single/gro; do
		run "$mix, $m" . -c 127.0.0.1 -n 8M -R --mix $mix \
			--mode "${m%/*}" --rx "${m#*/}"
	done
	run "$mix, super in user space" '"backend": "user"' -c 127.0.0.1 -n 8M \
		-R --mix $mix --offload user
done
for cipher in aes-256-gcm chacha20-poly1305 aes-128-ccm; do
	run "$cipher, upload over IPv6" . -c ::1 -n 4M --cipher $cipher \
		--mode segment --rx gro
done
run "key updates" '"key_updates": [1-9]' -c 127.0.0.1 -n 16M -R \
	--key-update-every 1000 --offload user
run "no connection ID, four connections" . -c 127.0.0.1 -n 8M -R -P 4 \
	--dcid-len 0 --mode mmsg --rx mmsg
run "20 bytes of it, NewReno off, ECN" '"cc": "fixed"' -c 127.0.0.1 -n 8M \
	--dcid-len 20 --cc fixed --ecn --mode segment --rx gro
run "jumbo datagrams, 32 connections" '"parallel": 32,' -c 127.0.0.1 -n 16M -R \
	--mtu 9000 -P 32 --window 256K --mix mixed --offload user
run "one byte" '"bytes": 1,' -c 127.0.0.1 -n 1 --mode single --rx single

head -c 5000003 /dev/urandom >"$DIR/in"
run "a file, stored" '"bytes": 5000003' -c 127.0.0.1 -F "$DIR/in" --hash after \
	--mode mmsg --rx gro
timeout 120 "$Q" -s -1 -i 0 -F "$DIR/in" >"$DIR/server" 2>&1 &
server=$!
timeout 120 "$Q" -c 127.0.0.1 -R -i 0 -O "$DIR/copy" --mode single --rx single \
	>"$DIR/out" 2>&1 && wait "$server" && cmp "$DIR/in" "$DIR/copy"
result $? "a file, downloaded: the copy is equal"
server=

for i in 1 2; do
	run "fixed secret, run $i" . -c 127.0.0.1 -n 100K --secret 0badcafe \
		--keylog "$DIR/keys$i" --offload user
done
[ "$(wc -l <"$DIR/keys1")" -eq 3 ] && cmp "$DIR/keys1" "$DIR/keys2"
result $? "a fixed secret gives the same keys again"

refuse "both ends" 2 'either -s or -c' -s -c 127.0.0.1
refuse "an unknown mode" 2 'not understood' -c 127.0.0.1 --mode fast
refuse "a number out of range" 2 'out of range' -c 127.0.0.1 --mtu 100
refuse "super on one side" 2 'go together' -c 127.0.0.1 --mode super --rx gro
[ -d /sys/module/quic_offload ] ||
	refuse "no module: the exit code says so" 4 'libqoff: ' bench \
		--offload kernel --count 1
refuse "bench: datagrams come back" 0 'datagrams 1280,' bench --count 1280 \
	--mix mixed --mode segment --rx gro --seal openssl

echo "1..$n"
[ "$failed" -eq 0 ]
