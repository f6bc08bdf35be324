/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How does a user program make the requests PTRACE_BTS_*, and how does it see that
 * its tracee stopped because the buffer is full? Shared by tests and tools.
 */
#ifndef PTRACE_BTS_REQUEST_H
#define PTRACE_BTS_REQUEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <asm/ptrace_bts.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of <linux/ptrace.h>, which cannot be had together with <sys/ptrace.h>. */
#ifndef PTRACE_EVENT_BTS
#define PTRACE_EVENT_BTS	8
#define PTRACE_O_TRACEBTS	0x100
#endif

#define RECORD	sizeof(struct bts_struct)

/* What a buffer that does not wrap holds at least, in records */
#define MIN_CAPACITY	512

/*
 * A request; what it returned, or a negative error number. glibc's ptrace() would
 * take some of these for requests of its own.
 */
static inline long request(long nr, pid_t pid, const void *addr, unsigned long data)
{
	long ret = syscall(SYS_ptrace, nr, (long)pid, addr, data);

	return ret < 0 ? -errno : ret;
}

/* As waitpid() tells it: did the tracee stop for the event of a full buffer? */
static inline bool is_full_event(int status)
{
	return status >> 8 == (SIGTRAP | PTRACE_EVENT_BTS << 8);
}

/* Or for the signal that was asked for instead? The event comes where it is blocked. */
static inline bool is_full_stop(pid_t pid, int status, int sig)
{
	siginfo_t info;

	if (is_full_event(status))
		return true;
	return sig && status >> 8 == sig &&
	       !request(PTRACE_GETSIGINFO, pid, NULL, (unsigned long)&info) &&
	       info.si_signo == sig && info.si_code == SI_KERNEL;
}

#endif
