# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What do the tests of streams share? Two programs at a time are traced on one CPU of the
# virtual machine, through buffers that stop them; their streams and the emulator's log of
# every record are compared while they are made, and not kept. Sourced, not run.
#
# The kernel panics there on an NMI that nobody knows of, and on a warning. SELFTESTS is
# where the programs are (built if not set).
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/tap.sh"
set -o pipefail
SELFTESTS=${SELFTESTS:-$("$here/../build-selftests")} || exit 1
rm -f "$OUT/log"
mkfifo "$OUT/log"

# Programs that take about so many hundred thousand branches. Two at a time are to begin
# at different addresses, which the last two do not.
mix() { echo "$SELFTESTS/workload_mix $(($1 * 605))"; }
summed() {
	head -c $(($1 * 48200)) /dev/zero >"$OUT/summed.$1"
	echo "/bin/busybox sha256sum $OUT/summed.$1"
}
sorted() {
	awk -v n=$(($1 * 75)) 'BEGIN { for (i = 0; i < n; i++) print i * 7919 % 40009 }' >"$OUT/sorted.$1"
	echo "/bin/busybox sort -n $OUT/sorted.$1"
}

# in_vm CPUS PROPERTIES COMMAND
in_vm() {
	"$here/../vm" --cpus "$1" --cpu-props "$2" \
		--append "unknown_nmi_panic panic_on_warn=1" --console "$OUT/console" \
		--timeout 560 -- "$3"
}

# streams WHAT CPUS SKID OPTIONS COMMAND: what bts_stream writes in COMMAND, compared with
# the log by bts_stream_compare OPTIONS
streams() {
	local what=$1 status=0
	# shellcheck disable=SC2086 # several options
	in_vm "$2" "bts-skid=$3,bts-log=$OUT/log" "$5" 2>"$OUT/errors" |
		"$SELFTESTS/bts_stream_compare" $4 "$OUT/log" >"$OUT/compared" || status=$?
	cat "$OUT/compared"
	[ $status -eq 0 ] || { echo "# status $status"; tail -n 30 "$OUT/errors" | sed 's/^/# /'; }
	ok "$what" [ $status -eq 0 ]
}
