# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What do the tests of perf's clients share? Each runs the same commands on an emulated
# machine with a PMU, in the kernel without the series, whose perf nobody here has touched,
# and in ours, with page-table isolation and without; and compares what they say with
# witnesses that share no code with it. Sourced, not run.
#
# A test has a function `inside`, which is run in the machine and leaves files, and a
# function `compare`, which is run outside; both in a directory of the run's own, where the
# emulator's log is, too. The kernel panics there on a warning, and on an NMI that nobody
# knows of. SELFTESTS is where the programs are and VM_STOCK_KERNEL the kernel without the
# series (built if not set).
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/tap.sh"
set -o pipefail
SELFTESTS=${SELFTESTS:-$("$here/../build-selftests")} || exit 1
export SELFTESTS OUT
export LC_ALL=C		# numbers and the order of lines

# in_kernel KERNEL MODE [OPTION...] -- COMMAND: in the present directory, whose files stay
in_kernel() {
	local kernel=$1 mode=$2 dir
	shift 2
	dir=${VM_KERNEL:-}
	[ "$kernel" != stock ] || dir=${VM_STOCK_KERNEL:-$("$here/../build-kernel" stock)} || return
	VM_KERNEL=$dir "$here/../vm" --cpu-props "pmu=on,bts-log=$PWD/log" --out "$PWD" \
		--append "$mode unknown_nmi_panic panic_on_warn=1" \
		--console "$PWD/console" --timeout 560 "$@"
}

# clients KERNEL MODE [OPTION...]: one run of the test's two functions. A program is walked
# in the first of them only; $walks is where it was.
clients() {
	kernel=$*
	rm -rf "${OUT:?}/$kernel"
	mkdir -p "$OUT/$kernel"
	cd "$OUT/$kernel" || exit
	export walks=${walks:-}
	if in_kernel "$@" -- "exec '$here/${0##*/}' --inside '$PWD'" >stdout 2>stderr; then
		walks=${walks:-$PWD}
		compare
	else
		sed 's/^/# /' stdout stderr
		ok "$kernel: the clients ran" false
	fi
}

# In the machine, a test does this instead of what follows: begin_inside "$@"
begin_inside() {
	[ "${1:-}" = --inside ] || return 0
	set -e
	cd "$2"
	inside
	exit
}

# In the machine: the command of a program that takes the same way each time. It has no
# environment: perf has changed it, and libc looks at all of it. It lies in memory: nothing
# has to be waited for.
fixed() {
	local name=workload_${1%% *}
	cp -u "$SELFTESTS/workload_exec" "$SELFTESTS/$name" /dev/shm
	echo "/dev/shm/workload_exec /dev/shm/$name ${1#"${1%% *}"}"
}

# In the machine: perf, and the program after it, at the same addresses each time, and with
# a priority that no other has.
exact() {
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	setarch -R chrt -f 1 perf "$@"
}

# In the machine: walk NAME PROGRAM, which writes NAME.taken.0 and NAME.walk.0
walk() {
	# shellcheck disable=SC2046 # a command and its arguments
	[ -n "$walks" ] ||
		"$SELFTESTS/bts_walk" -o "$1.taken" -i "$1.walk" $(fixed "$2") >/dev/null 2>&1
}

# In the machine: count NAME EVENTS PROGRAM, at one time and of this process only
count() {
	# shellcheck disable=SC2046 # a command and its arguments
	exact stat -x, -i -o "$1.stat" -e "{$2}" $(fixed "$3") >/dev/null
}

# What was counted, as lines "EVENT NUMBER", and whether all the time.
counted() { awk -F, 'NF > 3 { print $3, $5 == "100.00" ? $1 : "for " $5 "%" }' "$@" | sort; }

# perf record without what takes most of its time, and is not needed here: a look at all
# programs that are running.
quick() {
	local name=$1
	shift
	exact record -q -B -N --no-bpf-event -o "$name.data" "$@"
}

# In the machine: run NAME begins one whose part of the emulator's log is of interest. What
# shows there where one ends and the next begins is a program at addresses of its own.
run() {
	quick mark -e instructions:upp -c 2 "$SELFTESTS/workload_mark"
	echo "$1" >>runs
}

# In the machine: record NAME OPTION... COMMAND: all samples in one buffer, in the order they
# were made, that nobody need read in time.
record() {
	local name=$1
	shift
	echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
	run "$name"
	quick "$name" --per-thread --no-timestamp -m 4096,2048 "$@" >/dev/null
}

# What the log has of each run, to NAME.log; and is it all that was to be recorded?
split_log() {
	awk '
	BEGIN { while ((getline name <"runs") > 0) names[++wanted] = name }
	$1 == "dropped" { ended = 1; if ($3) exit 1; next }
	$5 ~ /^42545[34]......$/ { mark = 1; next }
	mark { mark = 0; run++ }
	run { print >(names[run] ".log") }
	END { exit !ended || !run || run != wanted }' log
}

# What perf has recorded, without a sample lost or a pause.
whole() {
	perf script -D -i "$1.data" 2>&1 | awk '
	/PERF_RECORD_(LOST|THROTTLE)/ || /TRUNCATED|[Bb]ad record/ { print "# " $0; bad = 1 }
	END { exit bad }'
}

# raw NAME [short]: what perf's dump of the AUX buffer has, as lines "FROM TO"; with "short",
# without the last record of each piece that perf wrote. The kernel fills the end of each
# physical piece of the buffer with zeroes.
raw() {
	perf script -D -i "$1.data" 2>/dev/null | awk -v short="${2:-}" '
	/PERF_RECORD_AUXTRACE / { last = fill }
	/^\.  [0-9a-f]+: .* -> / {
		line = $(NF - 3) " " $(NF - 1)
		if (!short) last = line
		if (last != fill) print last
		last = line
	}
	BEGIN { last = fill = "0 0" }'
}

# The branches in a file of bts_walk's or bts_record's, as lines "FROM TO".
pairs() { od -An -v -w16 -t x8 "$1" | awk '{ for (i = 1; i <= 2; i++) sub(/^0+/, "", $i); print }'; }

# alike WHAT FILE FILE: both have the same lines, and any at all.
alike() {
	[ -s "$2" ] && diff "$2" "$3" >difference
	result=$?
	[ $result -eq 0 ] || head -n 20 difference | sed 's/^/# /'
	ok "$kernel: $1" [ $result -eq 0 ]
}
