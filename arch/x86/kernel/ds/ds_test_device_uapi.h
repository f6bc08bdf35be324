/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do /dev/ds_test and the test that drives it say to each other?
 *
 * Not an interface for anybody else: it changes with its test.
 */
#ifndef _X86_KERNEL_DS_TEST_DEVICE_UAPI_H
#define _X86_KERNEL_DS_TEST_DEVICE_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * enum ds_test_mode - what the device does when its buffer is full
 * @DS_TEST_SWAP:    goes on at once with the next buffer, if that is empty. Else
 *		     waits for it, or loses records: DS_TEST_LOSE
 * @DS_TEST_RESTART: stops; a work item starts again with the next buffer
 * @DS_TEST_DEFER:   lets the task sleep until the next buffer is empty
 * @DS_TEST_NEVER:   stops
 */
enum ds_test_mode {
	DS_TEST_SWAP,
	DS_TEST_RESTART,
	DS_TEST_DEFER,
	DS_TEST_NEVER,
};

/* The only flag; for DS_TEST_SWAP */
#define DS_TEST_LOSE	1

/**
 * struct ds_test_config - whom to trace, and how
 * @tid:     thread id of the task
 * @mode:    enum ds_test_mode
 * @flags:   DS_TEST_LOSE or 0
 * @buffers: how many buffers; 2 or more to swap
 * @records: size of each of them
 */
struct ds_test_config {
	__s32	tid;
	__u32	mode;
	__u32	flags;
	__u32	buffers;
	__u32	records;
};

/**
 * struct ds_test_stats - what happened since DS_TEST_START
 * @written:	records that came and went to a buffer
 * @lost:	records that came and found no room in one
 * @dropped:	times that records were lost before they came
 * @full:	calls of ops->full
 * @swaps_nmi:	buffers swapped there, in NMI
 * @swaps:	buffers swapped there, elsewhere
 * @resumes:	calls of ops->resume
 * @restarts:	starts out of the work item
 * @stopped:	1 where nothing is recorded any more, else 0
 *
 * Each is exact; all together are where the task is at rest or gone.
 */
struct ds_test_stats {
	__u64	written;
	__u64	lost;
	__u64	dropped;
	__u64	full;
	__u64	swaps_nmi;
	__u64	swaps;
	__u64	resumes;
	__u64	restarts;
	__u64	stopped;
};

/* Once for each open file. */
#define DS_TEST_START	_IOW('D', 0, struct ds_test_config)
#define DS_TEST_STATS	_IOR('D', 1, struct ds_test_stats)
/* What there is can still be read, then the end of the file. */
#define DS_TEST_STOP	_IO('D', 2)

#endif
