/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How do vm-host and vm-init talk? Over one virtio-serial port, in frames: a header, then
 * `len` bytes. One ordered stream for everything, so that when the exit status arrives
 * all output written before it has arrived too.
 */
#ifndef VM_FRAME_H
#define VM_FRAME_H

#include <stdint.h>

#define VM_PORT		"/dev/vport0p1"
#define VM_ROOT_TAG	"root"		/* 9p tags: the host's root, and --out */
#define VM_OUT_TAG	"out"
#define VM_FRAME_MAX	32768		/* most data bytes in a frame */

enum vm_frame_type {
	/* host to guest, before VM_COMMAND */
	VM_CWD = 1,		/* a path */
	VM_ENV,			/* NAME=value */
	VM_OUT,			/* a path: mount the share there */
	VM_TTY,			/* struct vm_winsize: run on a terminal of this size; later: resized */
	VM_COMMAND,		/* shell text: start it */
	/* host to guest, after it */
	VM_STDIN,		/* data; none: end of file */
	VM_BYE,			/* answer to VM_EXIT: power off */
	/* guest to host */
	VM_STDOUT,
	VM_STDERR,
	VM_EXIT,		/* uint32_t exit status, 128 + n for a signal */
	VM_ERROR,		/* text: the command could not be started */
};

struct vm_frame {
	uint32_t type;
	uint32_t len;
};

struct vm_winsize {
	uint16_t rows;
	uint16_t cols;
};

#endif
