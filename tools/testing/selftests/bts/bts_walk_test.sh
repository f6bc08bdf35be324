#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Do PTRACE_BTS and a single-step walk tell the same branches of the same programs?
#
# Each program is traced into a ring that holds everything, drained at the end and at
# every system call, the latter by a 32-bit debugger, too, and into one that wraps many
# times; and walked. Programs in assembly also say by themselves which branches they take.
# With BTS_WITNESS_DIR set, the files stay there, and every traced run is listed in
# "runs" and has a mark before it, for a comparison with a log of the processor's.  Walks
# that are there already are not done again.

ksft_skip=4
here=$(cd "$(dirname "$0")" && pwd)
dir=${BTS_WITNESS_DIR:-$(mktemp -d)} || exit 1
[ -n "$BTS_WITNESS_DIR" ] || trap 'rm -rf "$dir"' EXIT
count=0 failed=0

# A ring this small has wrapped at least so many times with any of the programs.
ring=23 wraps=8

result() {
	count=$((count + 1))
	echo "$1 $count $2"
	[ "$1" = ok ] || failed=$((failed + 1))
}

check() {
	what=$1
	shift
	if "$@"; then result ok "$what"; else result "not ok" "$what"; fi
}

record() {
	kind=$1 name=$2 threads=$3 recorder=bts_record
	shift 3
	case $kind in
	whole) flags= ;;
	stops) flags=-s ;;
	stops32) flags=-s recorder=bts_record_32 ;;
	tail) flags="-t -g -r $ring" ;;
	esac
	if [ -n "$BTS_WITNESS_DIR" ]; then
		"$here/bts_record" -o "$dir/mark" "$here/workload_mark" || return
		echo "$name $kind $threads" >>"$dir/runs"
	fi
	# shellcheck disable=SC2086 # several flags
	"$here/$recorder" -o "$dir/$name.$kind" $flags "$@" >"$dir/$name.$kind.out"
}

# Every thread's file of two witnesses, the second with or without a number.
compare() {
	expected=$1 trace=$2 witness=$3
	shift 3
	thread=0
	while [ $thread -lt "$expected" ]; do
		"$here/bts_compare" "$@" "$dir/$trace.$thread" "$dir/$witness.$thread" || return
		thread=$((thread + 1))
	done
	# One thread more would be a surprise.
	[ ! -e "$dir/$trace.$thread" ] && [ ! -e "$dir/$witness.$thread" ]
}

# program NAME THREADS COMMAND...: all comparisons of one program
program() {
	name=$1 threads=$2
	shift 2
	for kind in whole stops $stops32 tail; do
		record "$kind" "$name" "$threads" "$@" ||
			{ result "not ok" "$name: traced ($kind), exit status $?"; return; }
	done
	check "$name: the same drained at the end and at every system call" \
		compare "$threads" "$name.stops" "$name.whole"
	[ -z "$stops32" ] || check "$name: the same drained by a 32-bit debugger" \
		compare "$threads" "$name.stops32" "$name.whole"
	check "$name: a ring wrapped many times holds the end" \
		compare "$threads" "$name.tail" "$name.whole" -t $wraps
	if [ -n "$expect" ]; then
		# shellcheck disable=SC2086 # several files
		(cd "$here" && cat $expect) >"$dir/$name.expect.0"
		check "$name: traced as the program says" \
			compare 1 "$name.whole" "$name.expect"
	fi

	[ "$walk" != no ] || return
	if [ -z "$walk" ]; then
		result ok "$name: traced and walked alike # SKIP no bts_walk: no capstone"
		return
	fi
	[ -e "$dir/$name.walk.0" ] ||
		"$here/bts_walk" -o "$dir/$name.walk" "$@" >"$dir/$name.walk.out" ||
		{ result "not ok" "$name: walked, exit status $?"; return; }
	check "$name: traced and walked alike" \
		compare "$threads" "$name.whole" "$name.walk"
}

workload() {
	workload=$1
	shift
	program "$workload" 1 "$here/workload_$workload" "$@"
}

echo "TAP version 13"
"$here/bts_record" -o "$dir/mark" "$here/workload_mark" 2>"$dir/reason"
case $? in
0) ;;
"$ksft_skip") echo "1..0 # SKIP $(cat "$dir/reason")"; exit $ksft_skip ;;
*) cat "$dir/reason"; echo "Bail out! bts_record does not work"; exit 1 ;;
esac
[ -z "$BTS_WITNESS_DIR" ] || : >"$dir/runs"
walk=
[ ! -x "$here/bts_walk" ] || walk=yes

compat=yes
"$here/workload_compat" || compat=
# Not built where there is no C library for it.
stops32=
[ -z "$compat" ] || [ ! -x "$here/bts_record_32" ] || stops32=stops32

for workload in next loops calls far far_return rep syscalls compat compat_return; do
	case $workload in
	compat*)
		if [ -z "$compat" ]; then
			result ok "$workload # SKIP no 32-bit programs here"
			continue
		fi ;;
	esac
	expect=workload_$workload.expect
	workload "$workload"
done
expect="workload_exec.expect workload_next.expect"
workload exec "$here/workload_next"
expect=
workload setjmp
workload signals
program threads 4 "$here/workload_threads"

if busybox=$(command -v busybox); then
	printf '%s\n' 7 3 11 1 5 2 >"$dir/input"
	program sort 1 "$busybox" sort -n "$dir/input"
	program sha256sum 1 "$busybox" sha256sum "$dir/input"
	check "sort: its output is right" \
		[ "$(tr '\n' ' ' <"$dir/sort.whole.out")" = "1 2 3 5 7 11 " ]
else
	result ok "sort, sha256sum # SKIP no busybox"
fi

if [ -n "$stops32" ]; then
	# Stepping takes its time; these steps only where their files are wanted, too.
	[ -n "$BTS_WITNESS_DIR" ] || walk=${walk:+no}
	workload signals_32
else
	result ok "signals_32, a 32-bit debugger # SKIP no 32-bit programs here"
fi

echo "1..$count"
[ $failed -eq 0 ]
