#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Run all guests under QEMU and print TAP.  Guests report on the debug port;
# what only the host can see (log, messages, exit status, QOM) is checked
# here.
#
# usage: run.sh QEMU QEMU_UNPATCHED OUT

set -u
QEMU=$1 UNPATCHED=$2 OUT=$3
HERE=$(dirname "$0")
INTEL=Skylake-Client,check=off
DS=$INTEL,+ds,+dtes64,+ds-cpl
PMU=$DS,+monitor,pmu=on
CORE2_PMU=core2duo,check=off,+ds,+dtes64,+ds-cpl,pmu=on
HASWELL_PMU=Haswell,check=off,+ds,+dtes64,+ds-cpl,pmu=on
TIMEOUT=60

# The options all runs share: no firmware but the guest, no devices but ours.
machine=(-machine "pc,smm=off" -m 32 -nodefaults -display none -no-reboot
	 -global apic-common.vapic=off)
end_device=(-device "isa-debug-exit,iobase=0xf4,iosize=4")

# emu NAME ROM CPU [option...]: its output is in $OUT/NAME.{out,err}
emu() {
	local name=$1 rom=$2 cpu=$3
	shift 3
	rm -f "$OUT/$name.out"
	timeout "$TIMEOUT" "$QEMU" "${machine[@]}" "${end_device[@]}" \
		-bios "$OUT/$rom.rom" \
		-cpu "$cpu" -chardev "file,id=con,path=$OUT/$name.out" \
		-device isa-debugcon,iobase=0xe9,chardev=con \
		"$@" 2>"$OUT/$name.err" </dev/null
}

# result STATUS WHAT: one line
result() {
	if [ "$1" -eq 0 ]; then echo "ok - $2"; else echo "not ok - $2"; fi
}

# report NAME: what the guest said, and whether it came to its end
report() {
	grep -E '^(ok|not ok|#)' "$OUT/$1.out" |
		sed -E "s/^(ok|not ok) - /&$1: /"
	grep -qx end "$OUT/$1.out" || {
		sed 's/^/# /' "$OUT/$1.err"
		echo "not ok - $1: the guest came to its end"
	}
}

# suite NAME ROM CPU [option...]
suite() {
	emu "$@"
	report "$1"
}

# param N: the options that tell the guest a number
param() {
	printf '%s\n' -device "loader,addr=0x7000,data=$1,data-len=4"
}

# told NUMBER NAME ROM CPU [option...]: the same, and tell the guest a number
told() {
	local bits
	mapfile -t bits < <(param "$1")
	shift
	suite "$@" "${bits[@]}"
}

suites() {
	local skid accel bits

	suite core core.64 "$DS"
	suite core-32bit core.32 "$DS"
	suite core-without-ds-cpl core.64 "$INTEL,+ds,+dtes64"
	suite core-without-dtes64 core.64 "$INTEL,+ds,+ds-cpl"
	suite core-12-bytes core.32 "$INTEL,+ds,+ds-cpl"
	suite core-icount core.64 "$DS" -icount shift=0
	suite netburst core.64 kvm64,check=off,+ds,+dtes64,+ds-cpl
	suite netburst-without-ds-cpl core.64 kvm64,check=off,+ds
	suite netburst-12-bytes core.32 kvm64,check=off,+ds,+ds-cpl
	suite core-duo core.32 coreduo,check=off,+ds,+ds-cpl
	suite pentium-m core.32 coreduo,check=off,+ds,model=13
	suite core-2 core.64 core2duo,check=off,+ds,+dtes64,+ds-cpl

	suite btf btf.64 "$DS"
	suite btf-32bit btf.32 "$DS"
	suite btf-icount btf.64 "$DS" -icount shift=0
	suite btf-netburst btf.64 kvm64,check=off,+ds,+dtes64,+ds-cpl
	suite btf-core-duo btf.32 coreduo,check=off,+ds

	for skid in 0 7; do
		mapfile -t bits < <(param $skid)
		suite "nmi-skid-$skid" nmi.64 "$DS,bts-skid=$skid" "${bits[@]}"
		suite "nmi-skid-$skid-icount" nmi.64 "$DS,bts-skid=$skid" \
			"${bits[@]}" -icount shift=0
	done

	for skid in 0 1 2 7; do
		mapfile -t bits < <(param $skid)
		suite "pmi-skid-$skid" pmi.64 "$DS,bts-skid=$skid" "${bits[@]}"
		suite "pmi-skid-$skid-icount" pmi.64 "$DS,bts-skid=$skid" \
			"${bits[@]}" -icount shift=0
	done
	mapfile -t bits < <(param 3)
	suite pmi-12-bytes pmi.32 coreduo,check=off,+ds,bts-skid=3 "${bits[@]}"
	suite pmi-netburst pmi.64 kvm64,check=off,+ds,+ds-cpl,bts-skid=3 \
		"${bits[@]}"

	for accel in multi single; do
		suite "smp-$accel" smp.64 "$DS,bts-log=$OUT/smp-$accel.log" \
			-smp 2 -accel "tcg,thread=$accel"
		same_log "smp-$accel"
	done
	suite smp-icount smp.64 "$DS,bts-log=$OUT/smp-icount.log" -smp 2 \
		-icount shift=0
	same_log smp-icount

	suite init init.64 "$DS" -smp 2

	suite no-bts no-bts.64 "$DS,bts=off"
	suite no-bts-pebs no-bts.64 "$PMU,bts=off"
	suite no-bts-netburst no-bts.64 kvm64,check=off,+ds,+dtes64,+ds-cpl,bts=off
	suite no-bts-32bit no-bts.32 coreduo,check=off,+ds,bts=off

	suite off off.64 "$INTEL"
	suite off-32bit off.32 "$INTEL"
	suite off-by-default-in-max off.64 max,vendor=GenuineIntel
	suite off-pmu-of-max off.64 max,vendor=GenuineIntel,pmu=on
	suite off-with-log off.64 "$INTEL,bts-log=$OUT/off.log"
	[ "$(cat "$OUT/off.log")" = "dropped 0 0" ]
	result $? "off: the log is empty"
	[ -z "$UNPATCHED" ] ||
		QEMU=$UNPATCHED suite off-unpatched off.64 "$INTEL"
}

# The performance counters, by what a model has of them.
counters() {
	local model version bits name cpu

	for model in core2duo Nehalem Haswell Skylake-Client; do
		case $model in
		core2duo) version=2 ;;
		Skylake-Client) version=4 ;;
		*) version=3 ;;
		esac
		cpu=$model,check=off,+ds,+dtes64,+ds-cpl,+monitor,pmu=on
		for bits in 64 32; do
			name=$model-$bits
			told $version "pmu-$name" pmu.$bits "$cpu"
			suite "pmu-count-$name" pmu-count.$bits "$cpu"
			told 1 "pmu-cycles-$name-icount" pmu-cycles.$bits \
				"$cpu" -icount shift=0
			told 1 "pmu-pmi-$name-icount" pmu-pmi.$bits "$cpu" \
				-icount shift=0
			suite "pmu-bts-$name" pmu-bts.$bits "$cpu"
		done
	done

	for bits in 64 32; do
		# With a second CPU, TCG makes other code of what is atomic.
		suite "pmu-count-smp-$bits" pmu-count.$bits "$PMU" -smp 2
		suite "pmu-count-icount-$bits" pmu-count.$bits "$PMU" \
			-icount shift=0
		suite "pmu-bts-icount-$bits" pmu-bts.$bits "$PMU" -icount shift=0
		suite "pmu-cycles-$bits" pmu-cycles.$bits "$PMU"
		suite "pmu-cycles-smp-$bits" pmu-cycles.$bits "$PMU" -smp 2
		suite "pmu-pmi-$bits" pmu-pmi.$bits "$PMU"
		suite "pmu-pmi-smp-$bits" pmu-pmi.$bits "$PMU" -smp 2
		told 4 "pmu-icount-$bits" pmu.$bits "$PMU" -icount shift=0

		suite "pmu-random-$bits" pmu-random.$bits "$PMU"
		suite "pmu-random-smp-$bits" pmu-random.$bits "$PMU" -smp 2
		told 1 "pmu-random-icount-$bits" pmu-random.$bits "$PMU" \
			-icount shift=0
		suite "pebs-every-$bits" pebs-every.$bits "$PMU"
		suite "pebs-every-icount-$bits" pebs-every.$bits "$PMU" \
			-icount shift=0
		suite "pmu-smm-$bits" pmu-smm.$bits "$PMU" -machine smm=on
		told 1 "pmu-smm-icount-$bits" pmu-smm.$bits "$PMU" \
			-machine smm=on -icount shift=0
		suite "pmu-reset-$bits" pmu-reset.$bits "$PMU" \
			-action reboot=reset

		# What is the debug store's is where that is.
		told 4 "pmu-without-ds-$bits" pmu.$bits "$INTEL,pmu=on"
		suite "pmu-pmi-without-ds-$bits" pmu-pmi.$bits "$INTEL,pmu=on"
		told 4 "pmu-without-dtes64-$bits" pmu.$bits \
			"$INTEL,+ds,+ds-cpl,pmu=on"
		suite "core-pmu-$bits" core.$bits "$PMU"
		suite "btf-pmu-$bits" btf.$bits "$PMU"
	done

	for bits in multi single; do
		suite "pmu-smp-$bits" pmu-smp.64 \
			"$PMU,bts-log=$OUT/pmu-smp-$bits.log" -smp 2 \
			-accel "tcg,thread=$bits"
		[ "$(grep -cE '^pebs 1 0 [0-9a-f]+ [0-9a-f]+ 1$' \
			"$OUT/pmu-smp-$bits.log")" -eq 10 ]
		result $? "pmu-smp-$bits: the log has the second CPU's records"
	done
	suite pmu-smp-icount pmu-smp.64 "$PMU" -smp 2 -icount shift=0
	suite pmu-smp-32bit pmu-smp.32 "$PMU" -smp 2
	suite pmu-smp-core-2 pmu-smp.64 core2duo,check=off,pmu=on -smp 2
}

pebs() {
	local bits how options

	for bits in 64 32; do
		for how in '' -icount -smp; do
			case $how in
			-icount) options=(-icount "shift=0") ;;
			-smp) options=(-smp 2) ;;
			*) options=() ;;
			esac
			told "$([ "$how" != -icount ]; echo $?)" \
				"pebs-$bits$how" pebs.$bits \
				"$PMU,bts-log=$OUT/pebs-$bits$how.log" \
				"${options[@]}"
			same_log "pebs-$bits$how"
		done
	done
}

# The log, per CPU, is what the guest found in memory.
same_log() {
	sed -n 's/^log //p' "$OUT/$1.out" | by_cpu >"$OUT/$1.want"
	grep -v ^dropped "$OUT/$1.log" | by_cpu >"$OUT/$1.got"
	[ -s "$OUT/$1.want" ] && diff "$OUT/$1.want" "$OUT/$1.got" >"$OUT/$1.diff"
	result $? "$1: the log is what the guest found in memory"
}

# A record of PEBS has its CPU second.
by_cpu() {
	sed -E 's/^pebs ([0-9]+)/\1 pebs/' | sort -s -n -k1,1
}

log_suite() {
	emu "log-$1" "log.$1" "$2,bts-log=$OUT/log-$1.log"
	report "log-$1"
	same_log "log-$1"
	diff <(grep ^dropped "$OUT/log-$1.out") <(tail -n 1 "$OUT/log-$1.log") \
		>/dev/null
	result $? "log-$1: its last line is the number dropped"
}

# Later than the buffer has room for: what is dropped is counted, per CPU.
skids() {
	local skid accel bits name

	for skid in 0 1 253 254 255 300 1000; do
		mapfile -t bits < <(param $skid)
		for accel in multi single icount; do
			name=skid-$skid-$accel
			case $accel in
			icount) bits+=(-icount "shift=0") ;;
			*) bits+=(-accel "tcg,thread=$accel") ;;
			esac
			suite "$name" skid.64 \
				"$DS,bts-skid=$skid,bts-log=$OUT/$name.log" \
				-smp 2 "${bits[@]}"
			diff <(grep ^dropped "$OUT/$name.out") \
				<(grep ^dropped "$OUT/$name.log") >/dev/null
			result $? "$name: the numbers dropped"
			bits=("${bits[@]:0:2}")
		done
	done
}

# What cannot seek gets the same log as a file.
pipes() {
	rm -f "$OUT/log.fifo"
	mkfifo "$OUT/log.fifo"
	cat "$OUT/log.fifo" >"$OUT/log-fifo.log" &
	emu log-fifo log.64 "$DS,bts-log=$OUT/log.fifo"
	wait $!
	cmp "$OUT/log-64.log" "$OUT/log-fifo.log" >&2
	result $? "bts-log to a FIFO"
	emu log-fd log.64 "$DS,bts-log=/dev/fd/7" 7>&1 | cat >"$OUT/log-fd.log"
	cmp "$OUT/log-64.log" "$OUT/log-fd.log" >&2
	result $? "bts-log to /dev/fd/N, a pipe"
}

# Told to end while the guest records: by a signal, and by the monitor.
killed() {
	local how

	for how in TERM quit; do
		with_monitor end "killed-$how" killed.64 \
			"$DS,bts-log=$OUT/killed-$how.log" -monitor stdio
		if [ $how = quit ]; then echo quit >&3; else kill -TERM $qemu; fi
		wait $qemu
		[ "$(grep -cE '^0 0 0( [0-9a-f]+){3}$' "$OUT/killed-$how.log")" -eq 100 ] &&
			[ "$(tail -n +101 "$OUT/killed-$how.log")" = "dropped 0 0" ]
		result $? "the log is complete when QEMU ends, $how"
	done
}

# Start a guest with a monitor on fd 3, and wait until it says $1.
# usage: with_monitor UNTIL NAME ROM CPU option...
with_monitor() {
	local until=$1 name=$2 rom=$3 cpu=$4 line
	shift 4
	rm -f "$OUT/$name.fifo" "$OUT/$name.con"
	mkfifo "$OUT/$name.fifo" "$OUT/$name.con"
	exec 3<>"$OUT/$name.fifo" 4<>"$OUT/$name.con"
	timeout "$TIMEOUT" "$QEMU" "${machine[@]}" -bios "$OUT/$rom.rom" \
		-cpu "$cpu" -chardev "file,id=con,path=$OUT/$name.con" \
		-device isa-debugcon,iobase=0xe9,chardev=con \
		"$@" <&3 >"$OUT/$name.monitor" 2>"$OUT/$name.err" &
	qemu=$!
	while read -r -t "$TIMEOUT" line <&4 && [ "$line" != "$until" ]; do
		:
	done
}

qom_dropped() {
	with_monitor end dropped log.64 "$DS" -qmp stdio
	cat >&3 <<-END
	{"execute": "qmp_capabilities"}
	{"execute": "qom-get", "id": "dropped", "arguments":
	 {"path": "/machine/unattached/device[0]", "property": "bts-dropped"}}
	{"execute": "quit"}
	END
	wait $qemu
	grep '"dropped"' "$OUT/dropped.monitor" | grep -q '"return": 90\b'
	result $? "the number dropped is QOM property bts-dropped"
}

# Save the state of a guest that is "ready".
# usage: save_state NAME ROM CPU, and load_state NAME STATE ROM CPU
save_state() {
	with_monitor ready "$1-from" "$2" "$3" "${end_device[@]}" \
		-monitor stdio "${serial[@]}" null,id=serial
	rm -f "$OUT/$1.state"
	printf 'migrate "exec:cat >%s"\nquit\n' "$OUT/$1.state" >&3
	wait $qemu
}

load_state() {
	rm -f "$OUT"/serial.{in,out}
	mkfifo "$OUT"/serial.{in,out}
	# The first byte is lost: the UART gets it before the guest's state.
	exec 5<>"$OUT/serial.in"
	echo xx >&5
	suite "$1" "$3" "$4" "${serial[@]}" \
		"pipe,id=serial,path=$OUT/serial" \
		-incoming "exec:cat $OUT/$2.state"
}

# A CPU that does not take a state says so.
# usage: refuse_state NAME STATE ROM CPU MESSAGE WHAT
refuse_state() {
	emu "$1" "$3" "$4" "${serial[@]}" null,id=serial \
		-incoming "exec:cat $OUT/$2.state"
	[ $? -eq 1 ] && grep -q "$5" "$OUT/$1.err"
	result $? "migration: $6"
}

migration() {
	local serial=(-device "isa-serial,chardev=serial" -chardev)

	save_state migration migrate.64 "$DS"
	load_state migration migration migrate.64 "$DS"
	refuse_state no-ds migration migrate.64 "$INTEL" "CPU 0 has none" \
		"a CPU without ds refuses the state of one that records"
	refuse_state no-ds-cpl migration migrate.64 "$INTEL,+ds,+dtes64" \
		"CPU 0 cannot have" \
		"control bits that a CPU does not have are refused"

	save_state pmu-migration pmu-migrate.64 "$PMU"
	load_state pmu-migration pmu-migration pmu-migrate.64 "$PMU"
	save_state pmu-idle migrate.64 "$PMU"
	refuse_state no-pmu pmu-idle migrate.64 "$DS,+monitor" \
		"performance counters: CPU 0 has none" \
		"a CPU without counters refuses the state of one that has some"
	refuse_state other-pmu pmu-migration pmu-migrate.64 "$HASWELL_PMU" \
		"performance counters: .* another model" \
		"the state of a model that has more counters is refused"
	refuse_state core-2 pmu-idle migrate.64 "$CORE2_PMU" \
		"performance counters: .* another model" \
		"enable bits of counters that a CPU does not have are refused"
	refuse_state no-pebs pmu-migration pmu-migrate.64 \
		"$INTEL,+ds,+ds-cpl,+monitor,pmu=on" \
		"performance counters: .* another model" \
		"PEBS in use is refused by a CPU that has none"
	save_state pmu-migration-32bit pmu-migrate.32 "$PMU"
	load_state pmu-migration-32bit pmu-migration-32bit pmu-migrate.32 "$PMU"
	save_state pmu-migration-core-2 pmu-migrate.64 "$CORE2_PMU"
	load_state pmu-migration-core-2 pmu-migration-core-2 pmu-migrate.64 \
		"$CORE2_PMU"
}

# usage: faults ROM CPU
faults() {
	local bits got want rom=$1 cpu=$2

	for bits in 64 32; do
		emu "$rom-$bits" "$rom.$bits" "$cpu" -action panic=none
		report "$rom-$bits"
		want=$(sed -n 's/^fault //p' "$OUT/$rom-$bits.out")
		got=$(sed -nE 's/.*linear address 0x([0-9a-f]+) with CR3 0x([0-9a-f]+).*/\1 \2/p' \
			"$OUT/$rom-$bits.err")
		[ -n "$want" ] && [ "$got" = "$want" ]
		result $? "$rom-$bits: messages name address and CR3"
	done

	emu "$rom-stop" "$rom.64" "$cpu,bts-log=$OUT/$rom-stop.log" \
		-action panic=exit-failure
	[ $? -eq 1 ] &&
		[ "$(grep -c 'linear address' "$OUT/$rom-stop.err")" -eq 1 ] &&
		! grep -q ok "$OUT/$rom-stop.out"
	result $? "$rom: a store that faults stops the machine, with exit status 1"
	[ "$(cat "$OUT/$rom-stop.log")" = "dropped 0 0" ]
	result $? "$rom: what could not be stored is not in the log, which is complete"
}

refused() {
	local feature model

	emu amd off.64 "qemu64,+ds"
	grep -q "feature 'ds' is emulated for Intel" "$OUT/amd.err"
	result $? "ds on a model that is not Intel's is refused"
	# The extended family counts: this one has nothing of NetBurst.
	emu family-18 off.64 "$INTEL,+ds,family=18"
	grep -q "feature 'ds' is emulated for Intel" "$OUT/family-18.err"
	result $? "ds on a family that is not known is refused"
	emu nolog off.64 "$DS,bts-log=$OUT/none/log"
	grep -q "cannot write bts-log" "$OUT/nolog.err"
	result $? "a log that cannot be written is refused"
	for feature in dtes64 ds-cpl; do
		emu "only-$feature" off.64 "$INTEL,+$feature"
		grep -q "are of no use without 'ds'" "$OUT/only-$feature.err"
		result $? "$feature without ds is refused"
	done
	for model in qemu64 kvm64 coreduo EPYC; do
		emu "pmu-$model" off.32 "$model,check=off,pmu=on"
		[ $? -eq 1 ] && grep -q "'pmu'" "$OUT/pmu-$model.err"
		result $? "pmu on $model, which has no such counters, is refused"
	done
}

# The status is 0 when a log is complete: that is the other run.
full_log() {
	local log status

	for log in /dev/full "$OUT/complete.log"; do
		with_monitor end full log.64 "$DS,bts-log=$log" -monitor stdio
		echo quit >&3
		wait $qemu
		status=$?
		grep -q "cannot write bts-log '/dev/full'" "$OUT/full.err"
		case $?,$log,$status in
		0,/dev/full,1 | 1,*/complete.log,0) true ;;
		*) false ;;
		esac
		result $? "bts-log=${log##*/}: message and exit status"
	done
}

all() {
	suites
	counters
	pebs
	log_suite 64 "$DS"
	log_suite 32 "$INTEL,+ds,+ds-cpl"
	skids
	pipes
	killed
	qom_dropped
	migration
	faults fault "$DS"
	faults pebs-fault "$PMU"
	refused
	full_log
	if [ -n "$UNPATCHED" ]; then
		"$HERE/speed.sh" "$QEMU" "$UNPATCHED" "$OUT"
	else
		echo "ok - no cost when off # SKIP no unpatched QEMU to compare with"
	fi
}

all | awk '
	/^ok - /     { n++; sub(/^ok/, "ok " n) }
	/^not ok - / { n++; bad++; sub(/^not ok/, "not ok " n) }
	{ print; fflush() }
	END { print "1.." n; exit bad > 0 || n == 0 }'
