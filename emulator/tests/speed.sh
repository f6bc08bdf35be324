#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Does the feature cost anything when it is off?  What decides is the code
# generated for a loop: its operations must be the same as those of the
# unpatched QEMU, which no noise can change.  Times are for information, and
# only a gross difference of the minimum of several rounds fails.
#
# usage: speed.sh QEMU QEMU_UNPATCHED OUT

set -u
OUT=$3
declare -A qemu=([patched]=$1 [unpatched]=$2) best
ROUNDS=5 WORK=20000 RATIO=200		# thousands of turns; percent

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

# code WHO CPU FILE: the operations host code is made of, for the loop alone,
# without the host's addresses
code() {
	local who=$1 cpu=$2 range

	range=$(nm "$OUT/speed.64.elf" | awk '{ at[$3] = "0x" $1 }
		END { print at["speed_begin"] ".." at["speed_end"] }')
	guest "$who" 0 "$cpu" -d op_opt,out_asm -dfilter "$range" \
		-D "$OUT/code-$who"
	grep -E '^(OP| [a-z-])' "$OUT/code-$who" |
		sed -E 's/pref=.*//; s/(exit_tb) .*/\1/' >"$OUT/$3"
	echo "# $who: $(sed -n 's/^OUT: \[size=\(.*\)\]/\1/p' "$OUT/code-$who" |
		awk '{ n += $1 } END { print n, "bytes in", NR }') blocks"
}

for cpu in off on; do
	case $cpu in
	off) model=Skylake-Client,check=off what="off" ;;
	on)  model=Skylake-Client,check=off,+ds,+dtes64,+ds-cpl
	     what="there and not used" ;;
	esac
	code patched "$model" "code-patched.$cpu"
	code unpatched Skylake-Client,check=off "code-unpatched.$cpu"
	n=$(grep -c '^OP ' "$OUT/code-patched.$cpu")
	if [ "$n" -ge 8 ] &&
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
