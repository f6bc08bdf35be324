# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What do the tests of the scripts share? Results as TAP. Sourced, not run. scripts/check
# runs the tests, and some need the directories that it sets. OUT is one for files; by hand
# it is one that is gone afterwards.
set -u
count=0
if [ -z "${OUT:-}" ]; then
	OUT=$(mktemp -d "${TMPDIR:-/tmp}/linux-ds-test.XXXXXX") || exit 1
	trap 'rm -rf "$OUT"' EXIT
fi

# ok WHAT COMMAND...: passes if the command does.
ok() {
	local what=$1 result=ok
	shift
	"$@" || result="not ok"
	count=$((count + 1))
	echo "$result $count - $what"
}

# is WHAT GOT WANTED
is() {
	[ "$2" = "$3" ] || printf '# wanted: %s\n# got:    %s\n' "$3" "$2"
	ok "$1" [ "$2" = "$3" ]
}

# says WHAT FILE PATTERN: a line of the file matches.
says() {
	grep -qE "$3" "$2" || sed 's/^/# /' "$2"
	ok "$1" grep -qE "$3" "$2"
}

finish() { echo "1..$count"; }
