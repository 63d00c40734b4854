#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# measure.sh DIRECTORY-OF-THE-PROGRAMS
#
# How full super-packets are, and how many system calls a receiver makes for each: a large file,
# 1,000 small responses, streams of many lengths. Over loopback, libqoff in the process.

DIR=$(cd "$1" && pwd) || exit 2
if [ -z "$H3_INSIDE" ]; then
	H3_INSIDE=1 exec unshare -n -- "$0" "$DIR"
fi
top=$(mktemp -d)
cd "$top" || exit 2
trap '[ -z "$server" ] || kill "$server"; rm -rf "$top"' EXIT
ip link set lo up
mkdir www
head -c 67108864 /dev/zero >www/bulk
head -c 700 /dev/zero >www/small
names=
for n in 300 1000 2500 7000 20000 60000 200000 600000; do
	head -c $n /dev/zero >"www/f$n"
	names="$names https://127.0.0.1:4433/f$n"
done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
	-keyout key.pem -out cert.pem 2>/dev/null

# row NAME OFFLOAD CLIENT-OPTION...
row() {
	name=$1; mode=$2
	shift 2
	"$DIR/h3server" -B 127.0.0.1 --cert cert.pem --key key.pem --json --no-pmtud --offload "$mode" \
		www >server.json &
	server=$!
	until ss -Hlun "sport = :4433" | grep -q 4433; do
		kill -0 "$server" || exit 1
		sleep 0.05
	done
	"$DIR/h3client" --json --no-pmtud --window 64M --offload "$mode" "$@" >client.json || exit 1
	kill "$server"
	wait "$server"
	server=
	jq -rn --arg n "$name" --arg m "$mode" --slurpfile s server.json --slurpfile c client.json '
		def r(x): (x * 100 | round) / 100;
		$s[0] as $s | $c[0] as $c |
		[$n, $m, r($s.segments_per_send), ($s.bytes_per_send | round),
		 r($c.segments_per_receive), r(($c.rx_calls + $c.tx_calls + $c.polls) / $c.rx_batches),
		 r(($c.rx_calls + $c.tx_calls + $c.polls) / $c.rx_datagrams), $c.tx_datagrams] | @tsv'
}

printf 'traffic\toffload\tdatagrams/send\tbytes/send\tdatagrams/receive\tcalls/receive\tcalls/datagram\tACKs\n'
for mode in software baseline; do
	row bulk $mode https://127.0.0.1:4433/bulk
	row small $mode -n 1000 https://127.0.0.1:4433/small
	# shellcheck disable=SC2086 # one word each
	row mixed $mode -n 40 $names
done
