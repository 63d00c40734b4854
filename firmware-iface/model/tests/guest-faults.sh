#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Guest: firmware and device misbehave, and the driver finds its way out. The model must have been
# started with --cmd-timeout 3000, so that a lost command costs seconds and not minutes.

. "$(dirname "$0")/lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)

field() { ctl "{\"cmd\":\"state\",\"fn\":$1}" | jq -r ".$2"; }
is() { [ "$(field "$1" "$2")" = "$3" ]; }
disarmed() { is "$1" faults 0; }

reporter() { devlink -j health show "pci/$1" reporter "$2" | jq "[.. | .$3? // empty] | first"; }
counted() { [ "$(reporter "$1" "$2" "$3")" -gt "$4" ]; }

# --- health ---

syndrome() {
	local before
	before=$(reporter $FN0 fw error)
	ctl '{"cmd":"health","fn":0,"synd":8,"ext_synd":17}' >/dev/null &&
		wait_for 60 counted $FN0 fw error "$before" &&
		devlink health diagnose pci/$FN0 reporter fw | grep -q 'Syndrome: 8' &&
		ctl '{"cmd":"health","fn":0,"synd":0}' >/dev/null && alive
}

frozen() {
	local before
	before=$(reporter $FN1 fw error)
	ctl '{"cmd":"freeze-health","fn":1}' >/dev/null && wait_for 60 counted $FN1 fw error "$before" &&
		ctl '{"cmd":"freeze-health","fn":1,"on":0}' >/dev/null && alive
}

# Health poll, dump, reset of the firmware, reload: all by the driver alone. The netdev is a new one.
fatal() {
	local before
	before=$(reporter $FN0 fw_fatal recover)
	ctl '{"cmd":"fatal","fn":0,"synd":1}' >/dev/null && is 0 state dead &&
		wait_for 90 counted $FN0 fw_fatal recover "$before" && wait_for 60 is 0 state ready &&
		readopt 0 && alive
}

dump() { devlink health dump show pci/$FN0 reporter fw_fatal | grep -q crdump_data; }

# --- commands: diagnosing the send queues asks with QUERY_SQ, and waits for the answer ---

diagnose() { devlink health diagnose "$(port_of "$1")" reporter tx; }

# cmd_fault FN KIND [MEMBERS]: hits one QUERY_SQ
cmd_fault() { fault "$1" "\"kind\":\"$2\",\"opcode\":\"QUERY_SQ\",\"count\":1${3:+,$3}"; }
asked() { diagnose "$1" | grep -cE 'HW state: 1( |$)'; }

# The answer of the one queue is missing or wrong; the next time all is as before.
one_answer_less() {
	local all hit
	all=$(asked $FN0)
	cmd_fault 0 "$@" || return 1
	hit=$(asked $FN0)
	disarmed 0 && [ "$hit" = $((all - 1)) ] && [ "$(asked $FN0)" = "$all" ] && alive
}

delayed() {
	local begin=${EPOCHREALTIME/./}
	cmd_fault 0 delay '"ms":1500' && diagnose $FN0 | grep -q 'HW state: 1' && disarmed 0 &&
		[ $((${EPOCHREALTIME/./} - begin)) -ge 1500000 ]
}

# The driver looks at the event queue when its time is up, and finds the answer there.
no_irq() {
	local all
	all=$(asked $FN0)
	cmd_fault 0 no-irq && [ "$(asked $FN0)" = "$all" ] && disarmed 0 && alive
}

# Both at once, each takes its time-out: one never runs, the other runs and says nothing.
timed_out() {
	cmd_fault 0 silent && cmd_fault 1 no-event || return 1
	diagnose $FN0 >/dev/null &
	diagnose $FN1 >/dev/null
	wait $!
	disarmed 0 && disarmed 1 && [ "$(dmesg | grep -c 'QUERY_SQ.*timeout. Will cause a leak')" -ge 2 ] &&
		alive
}

# What such a command has cost the driver is a slot, until firmware answers after all. (If it never does,
# Linux 6.12 waits for that slot for ever when it unloads.)
late() {
	fault 0 '"kind":"none"' && fault 1 '"kind":"none"' || return 1
	wait_for 20 sh -c 'dmesg | grep -c "Command completion arrived after timeout" | grep -qx 2' &&
		devlink dev reload pci/$FN1 && readopt 1 && alive
}

# --- queues ---

hits() { field "$1" hits; }

pings() { ip netns exec "n$1" ping -c 3 -i 0.2 -W 2 "10.0.0.$((2 - $1))"; }

# strikes FN MEMBERS: armed, hit by a few pings
strikes() {
	fault "$1" "$2" || return 1
	pings "$1"
	wait_for 10 disarmed "$1"
}

reopen() {
	local i dev
	for i in 0 1; do
		dev=IF$i
		ip -n n$i link set "${!dev}" down && ip -n n$i link set "${!dev}" up || return 1
	done
	wait_for 20 carrier n0 "$IF0" && wait_for 20 carrier n1 "$IF1" && alive
}

doubled() { strikes 1 '"kind":"dup-eqe","count":2' && alive; }
lost() { strikes 1 '"kind":"drop-eqe","count":1' && wait_for 30 alive; }
bad_owner() { strikes 1 '"kind":"cqe-bad-owner","count":1' && reopen; }
zero_strides() { strikes 1 '"kind":"zero-strides","count":2' && alive && reopen; }

slow() {
	fault 0 '"kind":"slow","us":20000' || return 1
	n0 ping -c 5 -i 0.2 -W 5 10.0.0.2 >/tmp/slow || return 1
	fault 0 '"kind":"none"' && alive
}

# Send until the queue is full, and then for as long as the watchdog needs; no ARP may get in the way.
flood() {
	local dev=IF$1 peer=$((1 - $1)) pdev=IF$((1 - $1)) mac
	mac=$(ip -n n$peer -j link show "${!pdev}" | jq -r '.[0].address')
	ip -n "n$1" neigh replace "10.0.0.$((peer + 1))" lladdr "$mac" dev "${!dev}" nud permanent || return 1
	ip netns exec "n$1" "$HERE/flood.py" "10.0.0.$((peer + 1))" &
	floods="$floods $!"
}

# A queue that hangs, and at the other end an interrupt that never came: one watchdog for both.
tx_timeouts() {
	local p0 p1 b0 b1 floods=
	p0=$(port_of $FN0)
	p1=$(port_of $FN1)
	b0=$(recoveries "$p0" tx)
	b1=$(recoveries "$p1" tx)
	fault 0 '"kind":"tx-stall"' && fault 1 '"kind":"drop-irq","count":1' || return 1
	flood 0 && flood 1 || return 1
	wait_for 90 recovered "$p0" tx "$b0"
	wait_for 90 recovered "$p1" tx "$b1"
	# shellcheck disable=SC2086 # a word a process
	kill $floods
	recovered "$p0" tx "$b0" && recovered "$p1" tx "$b1" && wait_for 60 alive
}

# --- pages and the end ---

pages() {
	local before
	before=$(field 0 pages)
	ctl '{"cmd":"pages","fn":0,"count":40}' >/dev/null &&
		wait_for 20 is 0 pages $((before + 40)) &&
		ctl '{"cmd":"pages","fn":0,"count":-40}' >/dev/null && wait_for 20 is 0 pages "$before" && alive
}

# The other function lives on, and the dead one can be taken away.
surprise() {
	ctl '{"cmd":"remove","fn":1}' >/dev/null && wait_for 10 is 1 attached false || return 1
	wait_for 60 sh -c "dmesg | grep -q '$FN1: .*Fatal error 1 detected'" || return 1
	timeout 120 sh -c "echo 1 >/sys/bus/pci/devices/$FN1/remove" && [ ! -e /sys/bus/pci/devices/$FN1 ] &&
		is 0 state ready && diagnose $FN0 | grep -q 'HW state: 1'
}

need "mlx5_core makes two netdevs" load
IF0=$(netdev_of $FN0)
IF1=$(netdev_of $FN1)
need "both links come up" namespaces
check "a health syndrome is reported" syndrome
full "a health counter that stands still is reported" frozen
need "firmware dies: reset and reload by the driver" fatal
check "... with a crash dump" dump
check "a refused command" one_answer_less status '"status":5'
full "a command that was not delivered" one_answer_less delivery '"status":2'
check "a command with garbage for an answer" one_answer_less corrupt
check "a command that takes its time" delayed
full "a command whose interrupt is lost" no_irq
check "commands without an answer, and without an event" timed_out
check "... their late answers, and a reload" late
check "completion events twice" doubled
check "a completion event lost" lost
full "a completion with the wrong owner" bad_owner
full "completions that consume no stride" zero_strides
full "a slow device" slow
full "a send queue that hangs, an interrupt that is lost" tx_timeouts
check "pages asked for and given back" pages
check "surprise removal" surprise
done_testing
