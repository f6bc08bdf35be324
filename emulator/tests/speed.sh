#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Does the feature cost anything when it is off?  What decides is the code
# generated for a loop: operations and sizes must be the same as those of the
# unpatched QEMU, which no noise can change.  Times are for information, and
# only a gross difference of the minimum of several rounds fails.
#
# usage: speed.sh QEMU QEMU_UNPATCHED OUT

set -u
OUT=$3
declare -A qemu=([patched]=$1 [unpatched]=$2) best
ROUNDS=5 WORK=40000 RATIO=150		# thousands of turns; percent

# guest WHO THOUSANDS CPU [option...]
guest() {
	local who=$1 work=$2 cpu=$3
	shift 3
	timeout 120 "${qemu[$who]}" -machine pc,smm=off -m 32 -nodefaults \
		-display none -no-reboot -global apic-common.vapic=off \
		-bios "$OUT/speed.64.rom" -cpu "$cpu" \
		-device isa-debug-exit,iobase=0xf4,iosize=4 \
		-device "loader,addr=0x7000,data=$work,data-len=4" "$@" \
		</dev/null >"$OUT/speed-$who.out" 2>&1
}

# What is generated for the guest, without the host's addresses.
code() {
	local who=$1 cpu=$2 range

	range=$(nm "$OUT/speed.64.elf" | awk '
		$3 == "even" { a = $1 } $3 == "speed_loop" { b = $1 }
		END { print "0x" a "..0x" b }')
	range=0x100000+0x20000
	guest "$who" 0 "$cpu" -singlestep -accel tcg,thread=single \
		-d op_opt,out_asm,nochain -dfilter "$range" -D "$OUT/code-$who"
	sed -E -e '/^(OBJD|OUT|0x|  --|$)/!b keep' -e '/^OUT: \[size=/!d' \
		-e ': keep' -e 's/(exit_tb|goto_tb) \$0x[0-9a-f]+/\1/' \
		"$OUT/code-$who" >"$OUT/code-$who.$3"
}

for cpu in off on; do
	case $cpu in
	off) model=Skylake-Client,check=off what="off" ;;
	on)  model=Skylake-Client,check=off,+ds,+dtes64,+ds-cpl
	     what="there and not used" ;;
	esac
	code patched "$model" "$cpu"
	code unpatched Skylake-Client,check=off "$cpu"
	n=$(grep -c '^OUT: ' "$OUT/code-patched.$cpu")
	if [ "$n" -gt 10 ] &&
	   cmp -s "$OUT/code-patched.$cpu" "$OUT/code-unpatched.$cpu"; then
		echo "ok - speed: the same code for $n blocks, with the feature $what"
	else
		echo "not ok - speed: the same code for $n blocks, with the feature $what"
	fi
done

for round in $(seq $ROUNDS); do
	for who in unpatched patched; do
		start=$(date +%s%N)
		guest "$who" $WORK Skylake-Client,check=off
		t=$((($(date +%s%N) - start) / 1000000))
		echo "# round $round, $who: $t ms"
		[ "${best[$who]:-$t}" -lt "$t" ] || best[$who]=$t
	done
done
echo "# best: unpatched ${best[unpatched]} ms, patched ${best[patched]} ms"
if [ $((100 * best[patched])) -lt $((RATIO * best[unpatched])) ]; then
	echo "ok - speed: no gross difference in time with the feature off"
else
	echo "not ok - speed: no gross difference in time with the feature off"
fi
