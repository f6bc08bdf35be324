#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Does the example of the documentation do what it says? Its output is compared with
# the branches that programs in assembly say of themselves to take.

ksft_skip=4
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
count=0 failed=0

check() {
	what=$1
	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count $what"
	else
		echo "not ok $count $what"
		sed 's/^/# /' "$dir/errors"
		failed=$((failed + 1))
	fi
}

# run STATUS ARGUMENTS...: the example ends with the status, and writes to $dir/output
run() {
	expected=$1
	shift
	"$here/ptrace_bts_example" "$@" >"$dir/output" 2>"$dir/errors"
	status=$?
	[ $status -eq "$expected" ] || { echo "# exit status $status"; return 1; }
}

# The branches of a workload as the example prints them
branches() {
	od -An -v -w16 -tx8 "$here/workload_$1.expect" |
		sed 's/^ 0*\([0-9a-f]*\) 0*\([0-9a-f]*\)$/0x\1 -> 0x\2/'
}

output_is() { cmp "$1" "$dir/output" && [ "$(wc -l <"$dir/output")" -eq "$2" ]; }

echo "TAP version 13"
"$here/bts_record" -o "$dir/record" "$here/workload_next" 2>"$dir/errors"
case $? in
0) ;;
"$ksft_skip") echo "1..0 # SKIP $(cat "$dir/errors")"; exit $ksft_skip ;;
*) cat "$dir/errors"; echo "Bail out! bts_record does not work"; exit 1 ;;
esac

branches crash >"$dir/all"
tail -n 16 "$dir/all" >"$dir/last"

check "a crash: exit status" run 139 "$here/workload_crash"
check "a crash: the last branches" output_is "$dir/last" 16
check "a crash: they end at the wild address" \
	[ "$(sed -n '$s/.* -> //p' "$dir/output")" = 0x6863697275 ]
check "a crash: the signal is named" grep -q 'killed by signal 11$' "$dir/errors"

# Many times what the buffer holds
check "every branch up to a crash: exit status" run 139 -a "$here/workload_crash"
check "every branch up to a crash" output_is "$dir/all" "$(wc -l <"$dir/all")"
check "every branch up to a crash: none is lost" \
	[ "$(wc -l <"$dir/errors")" -eq 1 ]

check "no crash: exit status" run 0 "$here/workload_loops"
check "no crash: no output" output_is /dev/null 0
branches loops >"$dir/all"
check "every branch up to an exit: exit status" run 0 -a "$here/workload_loops"
check "every branch up to an exit" output_is "$dir/all" "$(wc -l <"$dir/all")"

check "exit status of the command" run 3 sh -c 'exit 3'
check "no such command" run 127 "$dir/none"

echo "1..$count"
[ $failed -eq 0 ]
