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

# Which C files does the series touch, in the patches so far? May be asked for new ones.
touched() { git_tree diff --name-only "$@" base HEAD -- '*.c'; }

# says_nothing COMMAND...: does well, and has nothing to say.
says_nothing() {
	local status=0
	"$@" >"$dir/said" 2>&1 || status=1
	! grep . "$dir/said" && return $status
}

# A patch.
applies() { git_tree am -q "$1"; }

# The sign-off is the submitter's.
checkpatch() { in_tree scripts/checkpatch.pl --strict --show-types --ignore MISSING_SIGN_OFF "$1"; }

kernel_doc() {
	local files
	mapfile -t files < <(git_tree diff --name-only --diff-filter=A HEAD^ HEAD -- '*.[ch]')
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

# builds DIR [TARGET...]: without a warning.
builds() { says_nothing kmake "$@"; }

# The objects of the C files on stdin, where the kernel in DIR is made of them.
objects() {
	local file
	while IFS= read -r file; do
		[ ! -e "$1/${file%.c}.o" ] || echo "${file%.c}.o"
	done
}

# w1 DIR: what gcc and kernel-doc have to say of these, without the lines' numbers.
w1() {
	local list
	mapfile -t list < <(objects "$1")
	[ ${#list[@]} -eq 0 ] || kmake "$1" W=1 "${list[@]}" 2>&1 |
		grep -E '(warning|error):' | sed -E 's/:[0-9]+(:[0-9]+)?:/:/' | sort -u
}

# Nothing that was not there before the series ($dir/w1).
builds_w1() { ! touched | w1 "$1" | comm -13 "$dir/w1" - | grep .; }

sparse() {
	local list
	mapfile -t list < <(touched --diff-filter=A | objects "$1")
	[ ${#list[@]} -eq 0 ] || says_nothing kmake "$1" C=2 CHECK=sparse "${list[@]}"
}

# boots DIR [SUITE...]: as far as a program, on the emulated processor; the KUnit tests
# that it has pass, and these are among them.
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
	timeout 120 "$qemu/qemu-system-x86_64" -M pc -accel tcg -nodefaults -no-user-config \
		-display none -no-reboot -L "$qemu" -L /usr/share/seabios -m 512M -smp 2 \
		-cpu Skylake-Client,+ds,+dtes64,+ds-cpl,check=off \
		-kernel "$out/arch/x86/boot/bzImage" -initrd "$dir/initramfs" \
		-append "console=ttyS0 panic=-1 kunit.enable=1 tsc=reliable" \
		-serial stdio </dev/null | tr -d '\r' | tee "$dir/console"
	grep -q 'The kernel came up\.$' "$dir/console" || return
	! grep -E '^ *not ok|BUG:|WARNING:|Oops|Call Trace' "$dir/console" || return
	for suite; do grep -q "^ok [0-9]* $suite" "$dir/console" || return; done
}

# The whole. bloat KERNEL BEFORE: nothing but the debug store's area was moved, and it
# got no larger.
bloat() {
	in_tree scripts/bloat-o-meter "$2" "$1" | tee "$dir/said"
	awk '$1 == "Total:" { gsub(/[A-Za-z]*=|,/, ""); ok = $3 <= $2 } END { exit !ok }' "$dir/said"
}

# Every new file has somebody to ask, where this series says so.
maintained() {
	local entry="X86 DEBUG STORE AND BRANCH TRACING" file bad=0
	while IFS= read -r file; do
		in_tree scripts/get_maintainer.pl --no-git --no-git-fallback --no-rolestats --sections -f "$file" |
			grep -qxF "$entry" || { echo "$file"; bad=1; }
	done < <(git_tree diff --name-only --diff-filter=A base HEAD)
	return $bad
}

# Newest first, without the one that the series was made for.
other_versions() {
	apt-cache madison "$kernel_package" | awk '{ print $3 }' | sort -Vru | grep -vxF "$(kernel_version)"
}

# applies_to VERSION: the mails, one after the other, to the files that they edit. These
# are kept, the package is not.
applies_to() {
	local other=$work/other-$1 files mail
	mapfile -t files < <(git_tree diff --name-only --diff-filter=a base HEAD)
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
