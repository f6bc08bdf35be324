/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How do tests make allocations of the kernel fail? By fault injection, for one task
 * only; the settings are put back.
 */
#ifndef PTRACE_BTS_FAULTS_H
#define PTRACE_BTS_FAULTS_H

#include "ptrace_bts.h"

#include <sys/mount.h>

#define DEBUGFS		"/sys/kernel/debug/"
#define FAILSLAB	DEBUGFS "failslab/"
#define FAIL_PAGES	DEBUGFS "fail_page_alloc/"

static struct {
	const char *path, *value;
	char old[16];
} fault_knobs[] = {
	{ FAILSLAB "task-filter", "Y", "" },
	{ FAIL_PAGES "task-filter", "Y", "" },
	{ FAILSLAB "ignore-gfp-wait", "N", "" },
	{ FAIL_PAGES "ignore-gfp-wait", "N", "" },
	{ FAIL_PAGES "ignore-gfp-highmem", "N", "" },
	{ FAIL_PAGES "min-order", "0", "" },
	{ FAILSLAB "verbose", "0", "" },
	{ FAIL_PAGES "verbose", "0", "" },
	{ FAILSLAB "times", "-1", "" },
	{ FAIL_PAGES "times", "-1", "" },
	{ FAILSLAB "probability", "0", "" },
	{ FAIL_PAGES "probability", "0", "" },
};

static inline bool read_knob(const char *path, char *value, int size)
{
	FILE *knob = fopen(path, "r");

	return knob && fgets(value, size, knob) && !fclose(knob);
}

/* Put back what was changed. */
static inline void faults_end(void)
{
	int i;

	for (i = ARRAY_SIZE(fault_knobs) - 1; i >= 0; i--)
		if (fault_knobs[i].old[0])
			write_knob(fault_knobs[i].path, fault_knobs[i].old);
}

/* Let faults happen, to who asks for them; whether the kernel can. */
static inline bool faults_begin(void)
{
	unsigned int i;

	if (access(fault_knobs[0].path, F_OK))
		mount("none", DEBUGFS, "debugfs", 0, NULL);
	for (i = 0; i < ARRAY_SIZE(fault_knobs); i++)
		if (!read_knob(fault_knobs[i].path, fault_knobs[i].old,
			       sizeof(fault_knobs[i].old)) ||
		    !write_knob(fault_knobs[i].path, fault_knobs[i].value))
			goto undo;
	return true;
undo:
	faults_end();
	return false;
}

static inline void write_number(struct __test_metadata *_metadata, int fd, int value)
{
	char number[12];
	int len = sprintf(number, "%d", value);

	ASSERT_EQ(len, pwrite(fd, number, len, 0));
}

/* The file fail-nth of a task: did the fault happen? No other does. */
static inline bool has_failed(struct __test_metadata *_metadata, int fail_nth)
{
	char number[12] = "";

	ASSERT_LT(0, pread(fail_nth, number, sizeof(number) - 1, 0));
	write_number(_metadata, fail_nth, 0);
	return atoi(number) == 0;
}

#endif
