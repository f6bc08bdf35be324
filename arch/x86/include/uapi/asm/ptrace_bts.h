/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What does a debugger say to the kernel to get a branch trace of a task?
 *
 * Six ptrace requests and two structs, with the numbers and layouts they had
 * in Linux 2.6.29 to 2.6.33. The layouts are the same for 32-bit and 64-bit
 * programs. The rules of each request are in
 * Documentation/userspace-api/ptrace_bts.rst; this header stands alone but for
 * <linux/types.h>.
 */
#ifndef _UAPI_ASM_X86_PTRACE_BTS_H
#define _UAPI_ASM_X86_PTRACE_BTS_H

#include <linux/types.h>

/*
 * Requests. ADDR and DATA are ptrace(2)'s third and fourth argument.
 *
 * CONFIG: ADDR a struct ptrace_bts_config, DATA its size in bytes; returns
 *	the bytes read, 0 when the buffer was freed (size 0 with O_ALLOC)
 * STATUS: ADDR a struct ptrace_bts_config, DATA its size in bytes; returns
 *	the bytes written
 * SIZE: returns the number of records ready to be drained
 * GET: DATA an index, 0 for the newest record; ADDR one struct bts_struct;
 *	returns the bytes written
 * CLEAR: empties the buffer; returns 0
 * DRAIN: ADDR an array of struct bts_struct, DATA its size in bytes; the
 *	records are written oldest first and the buffer is emptied; returns
 *	the number of records
 */
#define PTRACE_BTS_CONFIG	40
#define PTRACE_BTS_STATUS	41
#define PTRACE_BTS_SIZE		42
#define PTRACE_BTS_GET		43
#define PTRACE_BTS_CLEAR	44
#define PTRACE_BTS_DRAIN	45

/* ptrace_bts_config.flags */
#define PTRACE_BTS_O_TRACE	0x1	/* record branches in user mode */
#define PTRACE_BTS_O_SCHED	0x2	/* record the task's arrival and departure */
#define PTRACE_BTS_O_SIGNAL	0x4	/* send .signal when full, do not wrap */
#define PTRACE_BTS_O_ALLOC	0x8	/* (re)allocate the buffer */

/**
 * struct ptrace_bts_config - configuration of a task's branch trace
 * @size:	of the buffer, in bytes: as requested in CONFIG (used with
 *		PTRACE_BTS_O_ALLOC), as it is in STATUS
 * @flags:	PTRACE_BTS_O_*
 * @signal:	number of the signal to send with PTRACE_BTS_O_SIGNAL
 * @bts_size:	sizeof(struct bts_struct), in bytes; written by STATUS only
 * @lost:	number of records lost since CONFIG or CLEAR; written by STATUS
 *		only. This member was added later: DATA tells who knows it
 */
struct ptrace_bts_config {
	__u32 size;
	__u32 flags;
	__u32 signal;
	__u32 bts_size;
	__u64 lost;
};

/* The size of the first version */
#define PTRACE_BTS_CONFIG_SIZE_VER0	16

/*
 * bts_struct.qualifier: the low four bits hold the kind of record; mask the
 * others off before comparing.
 */
#define BTS_INVALID		0	/* no record */
#define BTS_BRANCH		1	/* .variant.lbr */
#define BTS_TASK_ARRIVES	2	/* .variant.event: begins to run on a CPU */
#define BTS_TASK_DEPARTS	3	/* .variant.event: stops running there */
#define BTS_QUALIFIER_MASK	0xf

/**
 * struct bts_struct - one record of a branch trace
 * @qualifier:		kind of record: BTS_* under BTS_QUALIFIER_MASK
 * @variant:		by kind
 * @variant.lbr:	of a branch
 * @variant.lbr.from:	address of the branch instruction
 * @variant.lbr.to:	address of its target
 * @variant.event:	of a task that arrives or departs
 * @variant.event.clock: time of the event, in nanoseconds
 * @variant.event.pid:	the task, as a thread id
 */
struct bts_struct {
	__u64 qualifier;
	union {
		struct {
			__u64 from;
			__u64 to;
		} lbr;
		struct {
			__u64 clock;
			__s32 pid;	/* pid_t */
			__u32 __reserved;
		} event;
	} variant;
};

#endif /* _UAPI_ASM_X86_PTRACE_BTS_H */
