# shellcheck shell=bash disable=SC2154 # set by check-series and lib.sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What is checked of a patch, and of the whole series? Sourced by scripts/check-series,
# which says when. Each succeeds or fails, and prints what is wrong.

in_tree() {
	clean_env "$tree" CCACHE_DIR="$cache/ccache" CCACHE_MAXSIZE=10G "$@"
}
# The mails name no author but the one who composes them.
git_tree() { in_tree git -c user.name=series -c user.email=series "$@"; }

# changed WHAT FROM FILE...: the files that are new (A) or not (a) between FROM and the
# patch applied last, into the array files.
changed() {
	git_tree diff --name-only --diff-filter="$1" "$2" HEAD -- "${@:3}" >"$dir/files" || return
	mapfile -t files <"$dir/files"
}

# says_nothing COMMAND...: does well, and has nothing to say.
says_nothing() {
	local status=0
	"$@" >"$dir/said" 2>&1 || status=1
	! grep . "$dir/said" && return $status
}

# A patch.
applies() { git_tree am -q "$1"; }

# The sign-off is the submitter's. linux/nmi.h, for which checkpatch takes asm/nmi.h, has
# that with some options only.
checkpatch() {
	in_tree scripts/checkpatch.pl --strict --show-types \
		--ignore MISSING_SIGN_OFF,ARCH_INCLUDE_LINUX "$1"
}

kernel_doc() {
	local files
	changed A HEAD^ '*.[ch]' || return
	[ ${#files[@]} -eq 0 ] || says_nothing in_tree scripts/kernel-doc -none "${files[@]}"
}

# Kernels, each in a directory of its own.
kmake() {
	local out=$1
	shift
	in_tree make -s "O=$out" CC="ccache gcc" LOCALVERSION= KBUILD_BUILD_USER=linux-ds \
		KBUILD_BUILD_HOST=linux-ds KBUILD_BUILD_TIMESTAMP=2000-01-01 "-j$(nproc)" "$@"
}

# configure DIR CONFIG...: what these say, over allnoconfig.
configure() {
	local out=$1
	shift
	mkdir -p "$out"
	cat "$@" >"$out/all.config"
	kmake "$out" KCONFIG_ALLCONFIG=all.config allnoconfig
}

# options_on DIR: all that the series adds.
options_on() {
	local line
	while IFS= read -r line; do
		grep -qx "$line" "$1/.config" || { echo "$line"; return 1; }
	done < <(grep ^CONFIG_ "$top/configs/ds.config")
}

# builds DIR [TARGET...]: without a warning.
builds() { says_nothing kmake "$@"; }

# objects DIR FILE...: of the C files that the kernel in DIR is made of, into the array
# list; none is a failure.
objects() {
	local file
	list=()
	for file in "${@:2}"; do
		[ ! -e "$1/${file%.c}.o" ] || list+=("${file%.c}.o")
	done
	[ ${#list[@]} -gt 0 ] || { echo "nothing of it is built"; return 1; }
}

# w1 DIR FILE...: what gcc and kernel-doc have to say of these C files, without the lines'
# numbers, into $dir/w1. Objects that are there are built again: W=1 is another command.
w1() {
	local list
	objects "$@" || return
	kmake "$1" W=1 "${list[@]}" >"$dir/said" 2>&1 || { cat "$dir/said"; return 1; }
	sed -nE '/(warning|error):/ s/:[0-9]+(:[0-9]+)?:/:/p' "$dir/said" | sort -u >"$dir/w1"
}

# builds_w1 DIR: the files that are touched so far, without a warning that was not there
# before the series ($dir/w1-before).
builds_w1() {
	local files list
	changed AM base '*.c' || return
	objects "$1" "${files[@]}" || return 0
	w1 "$1" "${files[@]}" || return
	says_nothing comm -13 "$dir/w1-before" "$dir/w1"
}

# What it says of the new files, not of headers that Linux has.
sparse() {
	local files list
	changed A base '*.c' && objects "$1" "${files[@]}" || return
	kmake "$1" C=2 CHECK=sparse "${list[@]}" >"$dir/said" 2>&1 || { cat "$dir/said"; return 1; }
	changed A base '*.[ch]' || return
	! grep -F -f <(printf '/%s:\n' "${files[@]}") "$dir/said" | grep -vF ': note: in included file'
}

# boots DIR [SUITE...]: as far as a program, on the emulated processor; the KUnit tests
# that it has pass, these suites are among them, and nothing is skipped.
boots() {
	local out=$1 suite
	shift
	cat >"$dir/init" <<-'END'
		#!/bin/busybox sh
		/bin/busybox mount -t debugfs none /debug
		/bin/busybox cat /debug/kunit/*/results
		echo "The kernel came up."
		/bin/busybox reboot -f
	END
	cat >"$dir/initramfs.list" <<-END
		dir /dev 0755 0 0
		nod /dev/console 0600 0 0 c 5 1
		dir /debug 0755 0 0
		dir /bin 0755 0 0
		file /bin/busybox /bin/busybox 0755 0 0
		file /init $dir/init 0755 0 0
	END
	"$out/usr/gen_init_cpio" "$dir/initramfs.list" >"$dir/initramfs" || return
	timeout 600 "$qemu/qemu-system-x86_64" -M pc -accel tcg -nodefaults -no-user-config \
		-display none -no-reboot -L "$qemu" -L /usr/share/seabios -m 512M -smp 2 \
		-cpu Skylake-Client,+ds,+dtes64,+ds-cpl,check=off \
		-kernel "$out/arch/x86/boot/bzImage" -initrd "$dir/initramfs" \
		-append "console=ttyS0 panic=-1 kunit.enable=1 tsc=reliable" \
		-serial stdio </dev/null | tr -d '\r' | tee "$dir/console"
	grep -q 'The kernel came up\.$' "$dir/console" || return
	! grep -E '^ *not ok|# SKIP|BUG:|WARNING:|Oops|Call Trace' "$dir/console" || return
	for suite; do grep -qx "ok [0-9]* $suite" "$dir/console" || return; done
}

# The whole. area_names DIR: the symbols of perf and of the debug store's area in the kernel
# built there, as bloat-o-meter has them.
area_names() {
	nm "$1"/arch/x86/{events,kernel/ds}/built-in.a 2>/dev/null |
		sed -E 's/^.{16} . //; s/\.[0-9]+//g'
}

# bloat KERNEL BEFORE NAMES: it got no larger, and nothing else is different but what has
# these names. The log has all that is.
bloat() {
	in_tree scripts/bloat-o-meter "$2" "$1" | tee "$dir/said"
	awk '$1 == "Total:" { gsub(/[A-Za-z]*=|,/, ""); ok = $3 <= $2 } END { exit !ok }' "$dir/said" &&
		! awk 'NF == 4 && $1 != "Function" { print $1 }' "$dir/said" | grep -vxFf "$3"
}

# Every new file has somebody to ask, where this series says so.
maintained() {
	local entry="X86 DEBUG STORE AND BRANCH TRACING" files file bad=0
	changed A base || return
	for file in "${files[@]}"; do
		in_tree scripts/get_maintainer.pl --no-git --no-git-fallback --no-rolestats --sections -f "$file" |
			grep -xF "$entry" >/dev/null || { echo "$file"; bad=1; }
	done
	[ ${#files[@]} -gt 0 ] && return $bad
}

# Newest first, without the one that the series was made for.
other_versions() {
	apt-cache madison "$kernel_package" | awk '{ print $3 }' | sort -Vru | grep -vxF "$(kernel_version)"
}

# applies_to VERSION: the mails, one after the other, to the files that they edit. These
# are kept, the package is not.
applies_to() {
	local other=$work/other-$1 files mail
	changed a base || return
	if [ "$(cat "$other.list" 2>/dev/null)" != "${files[*]}" ]; then
		rm -rf "$other" "$other.tmp"
		mkdir -p "$other.tmp/tree"
		clean_env "$other.tmp" apt-get -o APT::Sandbox::User="$(id -un)" download "$kernel_package=$1" || return
		dpkg-deb --fsys-tarfile "$other.tmp"/*.deb | tar -xO "./usr/src/$kernel_package.tar.xz" |
			tar -xJ -C "$other.tmp/tree" --strip-components=1 \
				"${files[@]/#/$kernel_package/}" || return
		mv "$other.tmp/tree" "$other"
		rm -rf "$other.tmp"
		echo "${files[*]}" >"$other.list"
	fi
	rm -rf "$dir/other"
	cp -r "$other" "$dir/other"
	clean_env "$dir/other" sh -c 'git init -q && git add -Af' || return
	for mail in "$mails"/*.patch; do
		case $mail in
		*/0000-*) ;;
		*) clean_env "$dir/other" git apply --index --whitespace=nowarn "$mail" || return ;;
		esac
	done
}
