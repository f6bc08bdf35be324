/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do the tests of full buffers share? A trace that does not wrap, the two ways
 * in which it stops its tracee, and a debugger that takes every record out.
 *
 * The way is told by the number of a signal, 0 is PTRACE_EVENT_BTS.
 */
#ifndef PTRACE_BTS_OVERFLOW_H
#define PTRACE_BTS_OVERFLOW_H

#include "ptrace_bts.h"

/* How many records a buffer has room for at most when its tracee is stopped for it */
#define HEADROOM	260

/* CONFIG with a signal */
static inline long configure_signal(pid_t pid, uint32_t size, uint32_t flags, uint32_t sig)
{
	struct ptrace_bts_config config = {
		.size	= size,
		.flags	= flags | PTRACE_BTS_O_SIGNAL,
		.signal	= sig,
	};

	return request(PTRACE_BTS_CONFIG, pid, &config, PTRACE_BTS_CONFIG_SIZE_VER0);
}

static inline long set_options(pid_t pid, long options)
{
	return request(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | options);
}

/* Trace into a new buffer of so many records that does not wrap. */
static inline long trace_all(pid_t pid, uint32_t records, int sig)
{
	const uint32_t flags = PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC;
	long ret;

	if (sig)
		return configure_signal(pid, records * RECORD, flags, sig);
	ret = set_options(pid, PTRACE_O_TRACEBTS);
	return ret ?: trace(pid, records);
}

/* Trace into the buffer that there is. */
static inline long trace_on(pid_t pid, int sig)
{
	return sig ? configure_signal(pid, 0, PTRACE_BTS_O_TRACE, sig) :
		     configure(pid, 0, PTRACE_BTS_O_TRACE);
}

/* A stop for a full buffer, in the way asked for */
static inline int full_status(int sig)
{
	return sig ?: SIGTRAP | PTRACE_EVENT_BTS << 8;
}

static inline void wait_for_full(struct __test_metadata *_metadata, pid_t pid, int sig)
{
	siginfo_t info;

	wait_for_stop(_metadata, pid, full_status(sig));
	ASSERT_EQ(0, request(PTRACE_GETSIGINFO, pid, NULL, (unsigned long)&info));
	EXPECT_EQ(sig ?: SIGTRAP, info.si_signo);
	EXPECT_EQ(sig ? SI_KERNEL : full_status(0), info.si_code);
}

/*
 * Take out the records of a tracee stopped in its loop: all branches from the one
 * with index *@next on, to where it is. How many.
 */
static inline long take(struct __test_metadata *_metadata, pid_t pid, uint64_t *next)
{
	struct user_regs_struct regs;
	struct bts_struct *records;
	long n;

	regs_of(_metadata, pid, &regs);
	records = drain(_metadata, pid, &n);
	*next += n;
	check_records(_metadata, records, n, *next);
	free(records);
	ASSERT_EQ(*next, taken(&regs)) {
		TH_LOG("at %#llx in round %llu", ip_of(&regs), rounds_of(&regs));
	}
	return n;
}

/* Is the tracee at the end of its rounds? */
static inline bool at_end(struct __test_metadata *_metadata, pid_t pid)
{
	struct user_regs_struct regs;

	regs_of(_metadata, pid, &regs);
	return ip_of(&regs) == (uintptr_t)bts_end;
}

/*
 * Wait until a tracee's rounds end at @end, and take out all from *@next on. How
 * often it stopped for a full buffer; for nothing else does it.
 */
static inline long take_to_end(struct __test_metadata *_metadata, pid_t pid, int sig,
			       uint64_t *next, uint64_t end)
{
	long stops = 0, n;
	int status;

	for (;;) {
		ASSERT_EQ(pid, waitpid(pid, &status, __WALL));
		ASSERT_TRUE(WIFSTOPPED(status)) {
			TH_LOG("tracee ended with status %#x", status);
		}
		n = take(_metadata, pid, next);
		if (status >> 8 == SIGTRAP && at_end(_metadata, pid))
			break;
		ASSERT_TRUE(is_full_stop(pid, status, sig)) {
			TH_LOG("stop with status %#x", status);
		}
		/* Drained, it does not stop again; a SIGTRAP may be the last run's end. */
		ASSERT_TRUE(n || sig == SIGTRAP);
		stops += !!n;
		resume(_metadata, pid, 0);
	}
	ASSERT_EQ(3 * end - 1, *next);
	ASSERT_EQ(0, lost(pid));
	return stops;
}

static inline long take_run(struct __test_metadata *_metadata, pid_t pid, int sig,
			    uint64_t first, uint64_t end)
{
	uint64_t next = 3 * first;

	start(_metadata, pid, first, end);
	return take_to_end(_metadata, pid, sig, &next, end);
}

/* Let it run until its buffer is full; *@next is its next branch. */
static inline void run_to_full(struct __test_metadata *_metadata, pid_t pid, int sig,
			       uint64_t *next)
{
	aim(_metadata, pid, *next / 3, UINT64_MAX);
	*next -= *next % 3;
	resume(_metadata, pid, 0);
	wait_for_full(_metadata, pid, sig);
}

/* Signals that wait for the tracee, those of the process included */
static inline long pending(pid_t pid)
{
	struct { uint64_t off; uint32_t flags; int32_t nr; } args = { 0, 0, 8 };
	siginfo_t info[8];
	long own, shared;

	own = request(PTRACE_PEEKSIGINFO, pid, &args, (unsigned long)info);
	args.flags = 1;
	shared = request(PTRACE_PEEKSIGINFO, pid, &args, (unsigned long)info);
	return own < 0 || shared < 0 ? -1 : own + shared;
}

static inline long block(pid_t pid, int sig)
{
	uint64_t mask = sig ? 1ULL << (sig - 1) : 0;

	return request(PTRACE_SETSIGMASK, pid, (void *)sizeof(mask), (unsigned long)&mask);
}

#endif
