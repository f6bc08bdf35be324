/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How does a tracee make a system call of the test's choice? Without a branch of its
 * own, and it stops after it.
 */
#ifndef PTRACE_BTS_CALL_H
#define PTRACE_BTS_CALL_H

#include "ptrace_bts.h"

#include <linux/sched.h>

#ifdef __x86_64__
#define CALL_ENTER	"syscall"
#define CALL_NR		rax
#define CALL_ARG0	rdi
#define CALL_ARG1	rsi
#define CALL_ARG2	rdx
#define CALL_ARG3	r10
#define CALL_ARG4	r8
#else
#define CALL_ENTER	"int $0x80"
#define CALL_NR		eax
#define CALL_ARG0	ebx
#define CALL_ARG1	ecx
#define CALL_ARG2	edx
#define CALL_ARG3	esi
#define CALL_ARG4	edi
#endif

asm(".pushsection .text\n"
	".globl system_call\n"
	"system_call:\n"
	"	" CALL_ENTER "\n"
	"	int3\n"
	".popsection\n");
extern const char system_call[];

/* Of an execve(2) that succeeds */
static const char path[] = "/proc/self/exe";
static const char *const args[] = { path, "--help", NULL };
static const char *const env[] = { NULL };

static inline void aim_call(struct __test_metadata *_metadata, pid_t pid, long nr,
			    unsigned long arg0, unsigned long arg1, unsigned long arg2)
{
	struct user_regs_struct regs;

	regs_of(_metadata, pid, &regs);
	regs.BTS_CALL = -1;
	regs.BTS_IP = (uintptr_t)system_call;
	regs.CALL_NR = nr;
	regs.CALL_ARG0 = arg0;
	regs.CALL_ARG1 = arg1;
	regs.CALL_ARG2 = arg2;
	regs.CALL_ARG3 = 0;
	regs.CALL_ARG4 = 0;
	ASSERT_EQ(0, request(PTRACE_SETREGS, pid, NULL, (unsigned long)&regs));
}

/* The task that a stopped tracee makes now, stopped itself */
static inline pid_t new_task(struct __test_metadata *_metadata, pid_t pid, int event)
{
	unsigned long child;

	resume(_metadata, pid, 0);
	wait_for_event(_metadata, pid, event);
	ASSERT_EQ(0, request(PTRACE_GETEVENTMSG, pid, NULL, (unsigned long)&child));
	wait_for_stop(_metadata, child, SIGSTOP);
	resume(_metadata, pid, 0);
	wait_for_stop(_metadata, pid, SIGTRAP);
	return child;
}

/* A thread, with such options for both */
static inline pid_t new_thread(struct __test_metadata *_metadata, pid_t pid, long options)
{
	ASSERT_EQ(0, request(PTRACE_SETOPTIONS, pid, NULL,
			     PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | options));
	aim_call(_metadata, pid, SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES |
		 CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, 0, 0);
	return new_task(_metadata, pid, PTRACE_EVENT_CLONE);
}

/* After an exec that followed rounds 0 to 9: they are there, and so are those after it. */
static inline void check_across_exec(struct __test_metadata *_metadata, pid_t pid)
{
	struct bts_struct *records;
	long n;

	tell_on_stack(_metadata, pid);
	run(_metadata, pid, 10, 20);
	records = drain(_metadata, pid, &n);
	ASSERT_EQ(2 * BRANCHES(0, 10), n);
	check_records(_metadata, records, BRANCHES(0, 10), 3 * 10 - 1);
	check_records(_metadata, records + BRANCHES(0, 10), BRANCHES(10, 20), 3 * 20 - 1);
	free(records);
}

#endif
