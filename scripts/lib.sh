# shellcheck shell=bash disable=SC2034 # what is set here is used by those who source it
# SPDX-License-Identifier: GPL-2.0-only
#
# What do the scripts share? Where things are kept and under which name, messages, the
# lock, and a long step with its progress. Sourced, not run.
#
# The cache: kernel/, qemu/, guest/ hold finished results, one directory for each content
# hash of what went into it, made by renaming a complete one. work/ holds the unpacked
# sources and their incremental builds, log/ what the builds said.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scripts=$top/scripts
cache=${LINUX_DS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/linux-ds}
work=$cache/work
kernel_package=linux-source-6.12

say() { printf '%s\n' "$*" >&2; }
die() { say "${0##*/}: $*"; exit 1; }

# clean_env DIR COMMAND...: builds see Debian's tools and nothing of the caller's settings
# (another python, CFLAGS, the jobs of an outer make).
clean_env() {
	local dir=$1
	shift
	env -i -C "$dir" HOME="$HOME" PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
}

# The name of what comes from the given words and files (directories: all files in them).
content_key() {
	local words=() paths=() path
	while [ "$1" != -- ]; do words+=("$1"); shift; done
	shift
	for path; do [ ! -e "$top/$path" ] || paths+=("$path"); done
	(
		cd "$top"
		printf '%s\n' "${words[@]}"
		[ ${#paths[@]} -eq 0 ] || new_files "${paths[@]}" |
			LC_ALL=C sort -z | xargs -0r sha256sum
	) | sha256sum | cut -c 1-16
}

# Files of the checkout below the given paths, each ended by a 0 byte.
new_files() { git -C "$top" ls-files -z --cached --others --exclude-standard --deduplicate -- "$@" | existing; }
existing() { local f; while IFS= read -r -d '' f; do [ ! -f "$top/$f" ] || printf '%s\0' "$f"; done; }

# Where the finished results are, or will be.
kernel_inputs=(patches arch block crypto drivers fs include init io_uring ipc kernel lib mm
	net security virt configs/vm.config configs/ds.config scripts/build-kernel scripts/compose)
# kernel_dir [debug|kcsan|i386|stock]
kernel_dir() {
	local inputs=("${kernel_inputs[@]}")
	[ "${1:-}" != stock ] || inputs=(configs/vm.config scripts/build-kernel)
	echo "$cache/kernel/$(content_key ${1:+"$1"} "$(kernel_version)" "$(compiler)" -- \
		"${inputs[@]}" ${1:+"configs/$1.config"})"
}
qemu_dir() {
	echo "$cache/qemu/$(content_key "$(qemu_version)" "$(compiler)" -- emulator/patches emulator/src scripts/build-qemu scripts/compose)"
}
qemu_unpatched_dir() {
	echo "$cache/qemu/$(content_key unpatched "$(qemu_version)" "$(compiler)" -- scripts/build-qemu)"
}
guest_dir() {
	echo "$cache/guest/$(content_key "$(compiler)" -- scripts/build-guest scripts/vm-host.c scripts/vm-init.c scripts/vm-frame.h)"
}
compiler() { dpkg-query -W -f '${Version}' gcc-12 2>/dev/null || :; }
kernel_version() { dpkg-query -W -f '${Version}' "$kernel_package" 2>/dev/null || :; }
qemu_version() { cat "$work/qemu.version" 2>/dev/null || :; }

# One builder at a time, whichever checkout it is of; held until the script has ended and
# all it started: what outlives a killed script is waited for.
lock_cache() {
	[ -z "${LINUX_DS_LOCKED:-}" ] || return 0
	case $cache in
	[!/]* | *[[:space:]:,]*) die "LINUX_DS_CACHE: an absolute path without spaces, colons and commas, please: $cache" ;;
	esac
	mkdir -p "$work" "$cache/log" || die "cannot write to $cache: set LINUX_DS_CACHE to a place that is writable"
	exec 9>"$cache/lock"
	if ! flock -n 9; then
		say "waiting for another build to end ..."
		flock 9
	fi
	export LINUX_DS_LOCKED=1
}

# need_space MEGABYTES
need_space() {
	local free
	free=$(df -Pm "$cache" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$1" ] ||
		die "disk full: $1 MB are needed in $cache, $free MB are free (LINUX_DS_CACHE names another place)"
}

# step TITLE LOG COMMAND...: runs a long command with its output in a log, one line of
# progress meanwhile, and the end of the log when it fails. explain=FUNCTION: is given the
# log first, and ends the script if it can say in one line what went wrong.
step() {
	local title=$1 log=$cache/log/$2 start=$SECONDS pid shown=0 status=0
	shift 2
	mkdir -p "$cache/log"
	: >"$log"
	set -m		# its own process group, so that all of it can be ended
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	set +m
	# shellcheck disable=SC2064 # this pid
	trap "kill -TERM -- -$pid 2>/dev/null || :; wait $pid || :; say ''; exit 130" INT TERM HUP
	[ -t 2 ] || say "$title ..."
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		if [ -t 2 ]; then
			printf '\r\033[K%s ... %d s  %.60s' "$title" $((SECONDS - start)) "$(tail -n 1 "$log" | tr -cd '[:print:]')" >&2
		elif [ $((SECONDS - start - shown)) -ge 60 ]; then
			shown=$((SECONDS - start))
			say "$title ... $shown s"
		fi
	done
	wait "$pid" || status=$?
	trap - INT TERM HUP
	[ ! -t 2 ] || printf '\r\033[K' >&2
	if [ $status -ne 0 ]; then
		[ -z "${explain:-}" ] || "$explain" "$log"
		tail -n 12 "$log" | sed 's/^/  | /' >&2
		! grep -q 'No space left on device' "$log" ||
			die "disk full: $title failed; free some space in $cache (log: $log)"
		die "failed: $title (log: $log)"
	fi
	say "$title: done in $((SECONDS - start)) s"
}

# What apt says, in one line.
explain_apt() {
	local package
	package=$(sed -n 's/^E: Unable to locate package //p; s/^E: Package .\(.*\). has no installation candidate$/\1/p; s/^E: Unable to find a source package for //p' "$1" | head -n 1)
	if grep -qE 'Temporary failure resolving|Could not (connect|resolve)|Network is unreachable|Unable to connect|Connection (failed|timed out|refused)' "$1"; then
		die "no network: cannot reach the package mirror that apt is set up for (log: $1)"
	elif grep -qE "No space left on device|enough free space" "$1"; then
		die "disk full: no room for the packages (log: $1)"
	elif [ -n "$package" ]; then
		die "missing package: apt knows no $package; is this Debian 12 with its security updates? (log: $1)"
	fi
}

# A build directory left by a killed build is not trusted: begin_work DIR ... end_work DIR.
begin_work() {
	[ ! -e "$1.busy" ] || rm -rf "$1"
	: >"$1.busy"
	mkdir -p "$1"
	# shellcheck disable=SC2064 # this directory; a failed or interrupted make leaves a sound one
	trap "rm -f '$1.busy'" EXIT
}
end_work() { rm -f "$1.busy"; trap - EXIT; }

# keep_newest DIR N: the results used last.
keep_newest() {
	local old
	find "$1" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' | sort -rn |
		tail -n "+$(($2 + 1))" | cut -d ' ' -f 2- |
		while IFS= read -r old; do rm -rf "$old"; done
}
