#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Is the trace of a program the same, taken in many small parts and in one piece?
#
# Each program is recorded in a buffer that holds everything, and streamed through the
# smallest one that stops it, in both ways of stopping and with stops at its system calls.

ksft_skip=4
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
count=0 failed=0

result() {
	count=$((count + 1))
	echo "$1 $count $2"
	[ "$1" = ok ] || failed=$((failed + 1))
}

# stream NAME THREADS LEAST OPTIONS COMMAND...: as it is in NAME.whole, with so many stops
stream() {
	name=$1 threads=$2 least=$3 options=$4
	shift 4
	# shellcheck disable=SC2086 # several options
	"$here/bts_stream" -o "$dir/$name.stream" $options "$@" \
		>"$dir/$name.stream.out" 2>"$dir/$name.stream.err" ||
		{ sed 's/^/# /' "$dir/$name.stream.err"; return 1; }
	thread=0
	while [ $thread -lt "$threads" ]; do
		"$here/bts_compare" "$dir/$name.stream.$thread" "$dir/$name.whole.$thread" ||
			return
		thread=$((thread + 1))
	done
	[ ! -e "$dir/$name.stream.$thread" ] || return
	cmp "$dir/$name.whole.out" "$dir/$name.stream.out" || return
	stopped=$(awk '{ stops += $5 } END { print stops + 0 }' "$dir/$name.stream.err")
	[ "$stopped" -ge "$least" ] || { echo "# $stopped stops"; return 1; }
}

# program NAME THREADS LEAST COMMAND...
program() {
	program=$1 number=$2 stops=$3
	shift 3
	"$here/bts_record" -r 300000 -o "$dir/$program.whole" "$@" >"$dir/$program.whole.out" ||
		{ result "not ok" "$program: recorded, exit status $?"; return; }
	# By the event, and by signals: deadly, ignored, and for real time
	for options in "" "-s -d" "-S 10 -s" "-S 17" "-S 40 -b 16384"; do
		least=$stops
		case $options in
		*-d*) least=0 ;;
		*-b*) least=$((stops / 2)) ;;
		esac
		if stream "$program" "$number" "$least" "$options" "$@"; then
			result ok "$program: streamed with options '$options'"
		else
			result "not ok" "$program: streamed with options '$options'"
		fi
	done
	rm -f "$dir"/*
}

echo "TAP version 13"
"$here/bts_stream" -o "$dir/mark" "$here/workload_mark" 2>"$dir/reason"
case $? in
0) ;;
"$ksft_skip") echo "1..0 # SKIP $(cat "$dir/reason")"; exit $ksft_skip ;;
*) cat "$dir/reason"; echo "Bail out! bts_stream does not work"; exit 1 ;;
esac

for workload in next calls far rep syscalls compat; do
	[ $workload != compat ] || "$here/workload_compat" || continue
	program $workload 1 0 "$here/workload_$workload"
done
program loops 1 10 "$here/workload_loops"
program exec 1 10 "$here/workload_exec" "$here/workload_loops"
program setjmp 1 1 "$here/workload_setjmp"
program signals 1 1 "$here/workload_signals"
program threads 4 1 "$here/workload_threads"
program mix 1 60 "$here/workload_mix" 300

if busybox=$(command -v busybox); then
	input=$(mktemp)
	trap 'rm -rf "$dir" "$input"' EXIT
	i=0
	while [ $i -lt 60 ]; do
		echo $((i * 7919 % 61))
		i=$((i + 1))
	done >"$input"
	program sort 1 10 "$busybox" sort -n "$input"
	program sha256sum 1 1 "$busybox" sha256sum "$input"
else
	result ok "sort, sha256sum # SKIP no busybox"
fi

echo "1..$count"
[ $failed -eq 0 ]
