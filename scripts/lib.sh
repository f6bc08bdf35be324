# SPDX-License-Identifier: GPL-2.0-only
cache=${LINUX_DS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/linux-ds}
qemu_dir() { echo "${VM_QEMU:-$cache/interim/qemu}"; }
kernel_dir() { echo "${VM_KERNEL:-$cache/interim/kernel}"; }
guest_dir() { echo "$cache/interim/guest"; }
