#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# loopback.sh DIRECTORY-OF-THE-PROGRAMS
#
# h3server against curl and against h3client over loopback, in this process' libqoff or without it,
# in a network namespace of its own. TAP. QOFF_H3_SIZE: bytes of the large file.

DIR=$(cd "$1" && pwd) || exit 2
if [ -z "$H3_INSIDE" ]; then
	if ! unshare -n true 2>/dev/null; then
		echo "1..0 # SKIP no right to make a network namespace"
		exit 0
	fi
	H3_INSIDE=1 exec unshare -n -- "$0" "$DIR"
fi

SIZE=${QOFF_H3_SIZE:-3000000}
tests=0
failed=0
server=
top=$(mktemp -d)
cd "$top" || exit 2
trap 'stop_server; rm -rf "$top"' EXIT
ip link set lo up

ok() { tests=$((tests + 1)); echo "ok $tests $1"; }
not_ok() { tests=$((tests + 1)); failed=$((failed + 1)); echo "not ok $tests $1"; }
result() { if [ "$1" -eq 0 ]; then ok "$2"; else not_ok "$2"; fi; }

# check NAME COMMAND...
check() {
	name=$1
	shift
	if out=$("$@" 2>&1); then
		ok "$name"
	else
		echo "$out" | sed 's/^/# /'
		not_ok "$name"
	fi
}

stop_server() {
	[ -n "$server" ] || return 0
	kill "$server" 2>/dev/null
	wait "$server"
	code=$?
	server=
	return $code
}

# start_server OPTION...: its statistics are in server.json when it has stopped
start_server() {
	stop_server
	"$DIR/h3server" --cert cert.pem --key key.pem --json "$@" www >server.json 2>server.err &
	server=$!
	n=0
	until ss -Hlun "sport = :4433" | grep -q 4433; do
		n=$((n + 1))
		if [ $n -gt 200 ] || ! kill -0 "$server" 2>/dev/null; then
			sed 's/^/# /' server.err
			echo "Bail out! h3server does not listen"
			exit 1
		fi
		sleep 0.05
	done
}

stat_of() { jq -r ".$2" "$1"; }
URL=https://127.0.0.1:4433
same() { cmp -s "$1" "$2" || { echo "$1 and $2 differ"; return 1; }; }
curl3() { curl -sS --http3-only -k --max-time 60 "$@"; }
client() { "$DIR/h3client" --json --timeout 60 "$@" >client.json; }

mkdir -p www/sub out
head -c "$SIZE" /dev/urandom >www/file
head -c 700 /dev/urandom >www/small
: >www/empty
echo secret >secret
ln -s ../secret www/link
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
	-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout key.pem -out cert.pem 2>/dev/null
sum=$(sha256sum <www/file | cut -d' ' -f1)

# --- curl, which nobody here wrote ---
curl_get() { rm -f got; curl3 "$@" -o got "$URL/file" && same got www/file; }
curl_code() { [ "$(curl3 --path-as-is -o got -w '%{http_version} %{http_code}' "$2")" = "3 $1" ]; }
curl_range() { curl3 -r "$1" -o got "$URL/file" && tail -c "+$2" www/file | head -c "$3" | cmp -s - got; }
curl_up() { [ "$(curl3 --data-binary @www/file "$URL/up")" = "$sum" ]; }
curl_many() {
	# shellcheck disable=SC2046 # a URL each
	curl3 -Z --parallel-max 20 $(for i in $(seq 50); do echo "-o out/$i $URL/file"; done) &&
	for i in $(seq 50); do same "out/$i" www/file || return 1; done
}
if curl -V | grep -q HTTP3; then
	for mode in software off baseline; do
		start_server -B 127.0.0.1 --offload $mode
		check "curl downloads, server $mode" curl_get
	done
	start_server -B 127.0.0.1
	check "curl checks the certificate" curl_get --cacert cert.pem
	check "curl: a range" curl_range 1000-1999 1001 1000
	check "curl: the last bytes" curl_range -500 $((SIZE - 499)) 500
	check "curl uploads" curl_up
	check "curl: 50 downloads at a time" curl_many
	check "curl: an empty file" curl_code 200 "$URL/empty"
	check "curl: no such file is 404" curl_code 404 "$URL/nothing"
	check "curl: a directory is 404" curl_code 404 "$URL/sub"
	check "curl: out of the directory is 403" curl_code 403 "$URL/../secret"
	check "curl: out of it, encoded, is 403" curl_code 403 "$URL/%2e%2e/secret"
	check "curl: a link out of it is 403" curl_code 403 "$URL/link"
	check "curl: a range behind the end is 416" sh -c \
		"[ \$(curl -sS --http3-only -k -r 99999999- -o /dev/null -w '%{http_code}' $URL/file) = 416 ]"
	start_server -B 127.0.0.1 --retry
	check "curl downloads after a Retry" curl_get
	stop_server
	check "a Retry was sent" test "$(stat_of server.json retries)" -ge 1
else
	echo "# this curl has no HTTP/3"
	not_ok "curl with HTTP/3"
fi

# --- gtlsclient: ngtcp2 1.11 on GnuTLS, with its own libraries ---
gtls() {
	rm -rf gtls
	mkdir gtls
	LD_LIBRARY_PATH=/opt/aside/usr/lib/x86_64-linux-gnu timeout 60 /opt/aside/usr/bin/gtlsclient \
		--exit-on-all-streams-close --session-file session --tp-file params --download gtls \
		127.0.0.1 4433 "$URL/file" >gtls.log 2>&1 && same gtls/file www/file
}
if [ -x /opt/aside/usr/bin/gtlsclient ]; then
	start_server -B 127.0.0.1 --offload software
	check "gtlsclient downloads" gtls
	check "gtlsclient downloads with a session" gtls
	stop_server
	check "its packets are opened by libqoff, whatever number it began with" \
		jq -e '.rx_opened_below > 0 and .rx_failed_below == 0' server.json
else
	echo "# there is no gtlsclient in /opt/aside"
fi

# --- our client ---
# fetch OPTION...: the file, and its hash
fetch() { client --hash "$@" "$URL/file" && [ "$(stat_of client.json sha256)" = "$sum" ]; }
for smode in software off baseline; do
	start_server -B 127.0.0.1 --offload $smode
	for cmode in software off baseline; do
		check "h3client $cmode, server $smode" fetch --offload $cmode
	done
	stop_server
	case $smode in
	software) want='.tx_sealed_below > .tx_sealed_here' ;;
	*) want='.tx_sealed_below == 0' ;;
	esac
	check "server $smode: $want" jq -e "$want" server.json
done
start_server -B 127.0.0.1 --offload software
check "most packets are sealed and opened by libqoff" sh -c "
	'$DIR/h3client' --json --offload software $URL/file >client.json &&
	jq -e '.rx_opened_below > .rx_datagrams * 0.9 and .tx_sealed_below > .tx_sealed_here' client.json"
for suite in TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256; do
	check "$suite" fetch --ciphers $suite
done
check "QUIC version 2" fetch --quic-v2
for n in 0 1 20; do check "connection IDs of $n bytes" fetch --cid-len $n; done
check "the certificate is checked" fetch --ca cert.pem
check "a wrong authority is refused" sh -c "
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x -keyout k2 -out other.pem 2>/dev/null
	! '$DIR/h3client' -q --ca other.pem $URL/file 2>/dev/null"
check "1,000 small responses" sh -c "
	'$DIR/h3client' --json -n 1000 $URL/small >client.json && jq -e '.requests_ok == 1000' client.json"
check "40 requests over 4 connections" sh -c "
	'$DIR/h3client' --json -n 40 -c 4 -m 3 $URL/small >client.json && jq -e '.handshakes == 4' client.json"
check "an upload is hashed" sh -c "'$DIR/h3client' -q -T www/file -o up $URL/up && [ \$(cat up) = $sum ]"
check "a range" sh -c "'$DIR/h3client' -q -r 5-1004 -o got $URL/file && tail -c +6 www/file | head -c 1000 | cmp - got"
for cmode in software off baseline; do
	check "keys are updated, $cmode" fetch --offload $cmode --key-update 400K
	check "another port, as by a NAT, $cmode" fetch --offload $cmode --rebind 500K
	check "migration, $cmode" fetch --offload $cmode --migrate 500K
done
check "no file gives exit 1" sh -c "'$DIR/h3client' -q $URL/nothing 2>/dev/null; [ \$? -eq 1 ]"
stop_server
check "keys were updated below" test "$(stat_of server.json key_updates)" -ge 3
result "$(stat_of server.json tx_lost)" "no send was lost"

# --- IPv6, one address or all ---
start_server -B ::1
URL='https://[::1]:4433'
check "IPv6" fetch
start_server
check "IPv6, server on all addresses" fetch
URL=https://127.0.0.1:4433
check "IPv4, server on all addresses" fetch

# --- wrong use ---
wrong() {
	p=$1
	shift
	"$DIR/$p" "$@" >/dev/null 2>err
	[ $? -eq 2 ] && [ -s err ]
}
check "no certificate: exit 2" wrong h3server
check "unknown option: exit 2" wrong h3server --nonsense
check "unknown offload: exit 2" wrong h3client --offload x "$URL/"
check "a size that is none: exit 2" wrong h3client --window 3X "$URL/"
check "no https: exit 2" wrong h3client http://localhost/
check "two servers: exit 2" wrong h3client "$URL/" https://localhost:4433/
for p in h3server h3client; do
	check "$p --help" sh -c "'$DIR/$p' --help | grep -q '^usage: $p'"
	check "$p --version" sh -c "'$DIR/$p' --version | grep -q ngtcp2"
done
stop_server
result $? "the server ends with success"

echo "1..$tests"
[ "$failed" -eq 0 ]
