# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What do the tests of the kernel's own tools share? A look at the composed tree, which
# nobody composes meanwhile. Sourced, not run.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/tap.sh"

# in_tree COMMAND...: there, with nothing of the caller's settings
in_tree() {
	(
		. "$here/../lib.sh"
		lock_cache
		cd "$("$scripts/compose" linux)/tree"
		clean_env "$PWD" "$@"
	)
}

# quiet COMMAND...: what it says is of interest only where it fails.
quiet() {
	"$@" >"$OUT/quiet" 2>&1 && return
	tail -n 25 "$OUT/quiet" | sed 's/^/# /'
	return 1
}

# not_yes CONFIG OPTION...: those that are not y there
not_yes() {
	local config=$1 option
	shift
	for option; do grep -qx "CONFIG_$option=y" "$config" || echo "$option"; done
}
