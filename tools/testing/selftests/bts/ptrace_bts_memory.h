/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How do tests see that a trace is gone for good? By the memory that its debugger is
 * charged for, by the kernel's buffers, and by its tracee.
 */
#ifndef PTRACE_BTS_MEMORY_H
#define PTRACE_BTS_MEMORY_H

#include "ptrace_bts.h"

/* Pinned memory of this process, in bytes */
static inline long pinned(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	long pinned = -1;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "VmPin: %ld kB", &pinned);
	if (status)
		fclose(status);
	return pinned * 1024;
}

/* Buffers in the kernel, those included that nobody is charged for any more */
static inline int buffers(void)
{
	FILE *list = fopen("/proc/vmallocinfo", "r");
	char line[1024];
	int n = 0;

	while (list && fgets(line, sizeof(line), list))
		n += !!strstr(line, "branch_ring_alloc");
	if (list)
		fclose(list);
	return n;
}

/* A tracee that was left by its debugger goes on, and can be traced again. */
static inline void check_left_alone(struct __test_metadata *_metadata, pid_t pid,
				    const uint64_t *rounds)
{
	const long capacity = 1000;
	struct user_regs_struct regs;

	ASSERT_TRUE(AWAIT_ROUNDS(rounds, 100));
	ASSERT_EQ(0, request(PTRACE_SEIZE, pid, NULL, PTRACE_O_EXITKILL));
	EXPECT_EQ(-ESRCH, release(pid));
	ASSERT_EQ(16, trace(pid, capacity));
	ASSERT_TRUE(AWAIT_ROUNDS(rounds, capacity));
	ASSERT_EQ(0, request(PTRACE_INTERRUPT, pid, NULL, 0));
	wait_for_stop(_metadata, pid, PTRACE_EVENT_STOP << 8 | SIGTRAP);
	regs_of(_metadata, pid, &regs);
	check_drain(_metadata, pid, capacity, taken(&regs));
	kill_and_reap(_metadata, pid);
}

#endif
