// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does a program work that was written for Linux 2.6.29 to 2.6.33, and one of 32
 * bits?
 *
 * Nothing here comes from a header of today's: numbers and layouts are those such
 * programs have compiled in. The 32-bit requests are made by way of int 0x80, with
 * arguments below 4 GiB, as a 32-bit debugger makes them; their tracee runs 32-bit
 * code.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"

enum { CONFIG = 40, STATUS, SIZE, GET, CLEAR, DRAIN };
enum { TRACE = 1, SCHED = 2, SIGNAL = 4, ALLOC = 8 };

/* size, flags, signal, bts_size */
typedef uint32_t config_t[4];
/* qualifier, from, to */
typedef uint64_t record_t[3];

/* Everything a 32-bit debugger points to, where it can point to it. */
struct low {
	uint8_t		code[16];
	config_t	config;
	uint32_t	around[2];
	record_t	records[40];
};

/* 1: dec %ecx; jnz 1b; int3: of the same length, but each for its mode only */
#define CODE_64	"\xff\xc9\x75\xfc\xcc"
#define CODE_32	"\x49\x75\xfd\x90\xcc"

static long native(long request, long pid, unsigned long addr, unsigned long data)
{
	long ret = syscall(SYS_ptrace, request, pid, addr, data);

	return ret < 0 ? -errno : ret;
}

static long compat(long request, long pid, unsigned long addr, unsigned long data)
{
	long ret = 26; /* ptrace */

	asm volatile("int	$0x80"
		     : "+a" (ret)
		     : "b" (request), "c" (pid), "d" (addr), "S" (data)
		     : "memory", "r8", "r9", "r10", "r11", "cc");
	return (int)ret;
}

FIXTURE(old) { struct low *low; pid_t pid; };
FIXTURE_VARIANT(old) {
	long (*request)(long request, long pid, unsigned long addr, unsigned long data);
	int code_segment;
};

FIXTURE_VARIANT_ADD(old, native) { native, 0 };
FIXTURE_VARIANT_ADD(old, compat) { compat, 0x23 };

/* Let the tracee do @n rounds, which take n - 1 branches; or less, to stop with @sig. */
static void run(struct __test_metadata *_metadata, pid_t pid, const struct low *low,
		int code_segment, unsigned long n, int sig)
{
	struct user_regs_struct regs;
	int status;

	ASSERT_EQ(0, native(PTRACE_GETREGS, pid, 0, (unsigned long)&regs));
	regs.orig_rax = -1;
	regs.rip = (unsigned long)low->code;
	regs.rcx = n;
	if (code_segment)
		regs.cs = code_segment;
	ASSERT_EQ(0, native(PTRACE_SETREGS, pid, 0, (unsigned long)&regs));
	ASSERT_EQ(0, native(PTRACE_CONT, pid, 0, 0));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(sig, status >> 8);
	if (sig != SIGTRAP)
		return;
	ASSERT_EQ(0, native(PTRACE_GETREGS, pid, 0, (unsigned long)&regs));
	ASSERT_EQ((unsigned long)low->code + 5, regs.rip);
	ASSERT_EQ(0U, regs.rcx);
}

static void go(struct __test_metadata *_metadata, pid_t pid, const struct low *low,
	       int code_segment, unsigned long n)
{
	run(_metadata, pid, low, code_segment, n, SIGTRAP);
}

static pid_t spawn(struct __test_metadata *_metadata)
{
	pid_t pid = fork();
	int status;

	ASSERT_GE(pid, 0);
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(0, native(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL));
	return pid;
}

FIXTURE_SETUP(old)
{
	int status;
	pid_t pid;
	long ret;

	self->low = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->low);

	if (variant->request == compat) {
		pid = fork();
		if (!pid)
			_exit(compat(PTRACE_CONT, getpid(), 0, 0) != -ESRCH);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		if (status)
			SKIP(return, "the kernel runs no 32-bit programs");
	}
	memcpy(self->low->code, variant->code_segment ? CODE_32 : CODE_64, sizeof(CODE_64));
	self->pid = spawn(_metadata);
	self->low->config[0] = 24 * 40;
	self->low->config[1] = ALLOC;
	ret = native(CONFIG, self->pid, (unsigned long)self->low->config, 16);
	if (ret == -EOPNOTSUPP)
		SKIP(return, "the processor has no BTS");
	if (ret == -EIO)
		SKIP(return, "the kernel has no PTRACE_BTS");
	ASSERT_EQ(16, ret);
	self->low->config[0] = 0;
	ASSERT_EQ(0, native(CONFIG, self->pid, (unsigned long)self->low->config, 16));
}

FIXTURE_TEARDOWN(old)
{
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
}

TEST_F(old, session)
{
	const unsigned long config = (unsigned long)self->low->config;
	const unsigned long records = (unsigned long)self->low->records;
	long (*request)(long, long, unsigned long, unsigned long) = variant->request;
	struct low *low = self->low;
	pid_t pid = self->pid;
	unsigned long branch;
	int i;

	EXPECT_EQ(-ESRCH, request(STATUS, pid, config, 16));
	EXPECT_EQ(-ESRCH, request(SIZE, pid, 0, 0));

	/* A buffer for 30 records and something */
	memcpy(low->config, (config_t) { 24 * 30 + 5, TRACE | ALLOC, 0, 0 }, 16);
	ASSERT_EQ(16, request(CONFIG, pid, config, 16));
	memset(low->config, 0x55, sizeof(config_t));
	memset(low->around, 0x55, sizeof(low->around));
	ASSERT_EQ(16, request(STATUS, pid, config, 16));
	EXPECT_EQ(24U * 30, low->config[0]);
	EXPECT_EQ(1U, low->config[1]);
	EXPECT_EQ(0U, low->config[2]);
	EXPECT_EQ(24U, low->config[3]);
	EXPECT_EQ(0x55555555U, low->around[0]);

	/* 19 branches, then newest first, then oldest first */
	go(_metadata, pid, low, variant->code_segment, 20);
	branch = (unsigned long)low->code + (variant->code_segment ? 1 : 2);
	ASSERT_EQ(19, request(SIZE, pid, 0, 0));
	for (i = 0; i < 19; i++) {
		memset(low->records, 0x55, sizeof(record_t) * 2);
		ASSERT_EQ(24, request(GET, pid, records, i));
		EXPECT_EQ(1U, low->records[0][0]);
		EXPECT_EQ(branch, low->records[0][1]);
		EXPECT_EQ((unsigned long)low->code, low->records[0][2]);
		EXPECT_EQ(0x5555555555555555U, low->records[1][0]);
	}
	EXPECT_EQ(-EINVAL, request(GET, pid, records, 19));
	EXPECT_EQ(-EINVAL, request(GET, pid, records, -1));
	EXPECT_EQ(-EIO, request(DRAIN, pid, records, 19 * 24 - 1));
	EXPECT_EQ(-EFAULT, request(DRAIN, pid, 0, 19 * 24));
	EXPECT_EQ(-EFAULT, request(GET, pid, 0xfffff000, 0));
	EXPECT_EQ(-EFAULT, request(CONFIG, pid, 0, 16));
	EXPECT_EQ(-EFAULT, request(STATUS, pid, 0, 16));
	EXPECT_EQ(-EIO, request(CONFIG, pid, config, 15));
	EXPECT_EQ(-EIO, request(STATUS, pid, config, 15));
	EXPECT_EQ(-E2BIG, request(CONFIG, pid, config, -1));
	ASSERT_EQ(19, request(DRAIN, pid, records, sizeof(low->records)));
	for (i = 0; i < 19; i++) {
		EXPECT_EQ(1U, low->records[i][0]);
		EXPECT_EQ(branch, low->records[i][1]);
		EXPECT_EQ((unsigned long)low->code, low->records[i][2]);
	}
	EXPECT_EQ(0, request(SIZE, pid, 0, 0));

	/* Full */
	go(_metadata, pid, low, variant->code_segment, 100);
	EXPECT_EQ(30, request(SIZE, pid, 0, 0));
	EXPECT_EQ(0, request(CLEAR, pid, 0, 0));
	EXPECT_EQ(0, request(SIZE, pid, 0, 0));

	/* What was promised and never came */
	memcpy(low->config, (config_t) { 24 * 30, TRACE | SCHED, 0, 0 }, 16);
	EXPECT_EQ(-EOPNOTSUPP, request(CONFIG, pid, config, 16));

	/* And what came late: not the size asked for, but enough */
	memcpy(low->config, (config_t) { 24 * 30, TRACE | ALLOC | SIGNAL, 0, 0 }, 16);
	EXPECT_EQ(-EINVAL, request(CONFIG, pid, config, 16));
	low->config[2] = SIGUSR1;
	EXPECT_EQ(16, request(CONFIG, pid, config, 16));
	ASSERT_EQ(16, request(STATUS, pid, config, 16));
	EXPECT_EQ(24U * 512, low->config[0]);
	EXPECT_EQ((unsigned int)(TRACE | SIGNAL), low->config[1]);
	EXPECT_EQ((unsigned int)SIGUSR1, low->config[2]);
	run(_metadata, pid, low, variant->code_segment, 10000, SIGUSR1);
	EXPECT_LE(512 - 260, request(SIZE, pid, 0, 0));
	EXPECT_EQ(0, request(CLEAR, pid, 0, 0));

	/* Off, then gone */
	memcpy(low->config, (config_t) { 0, 0, 0, 0 }, 16);
	EXPECT_EQ(16, request(CONFIG, pid, config, 16));
	go(_metadata, pid, low, variant->code_segment, 20);
	EXPECT_EQ(0, request(SIZE, pid, 0, 0));
	low->config[1] = ALLOC;
	EXPECT_EQ(0, request(CONFIG, pid, config, 16));
	EXPECT_EQ(-ESRCH, request(CLEAR, pid, 0, 0));
}

/* One tracee, asked in both ways */
TEST_F(old, both)
{
	struct low *low = self->low;

	memcpy(low->config, (config_t) { 24 * 30, TRACE | ALLOC, 0, 0 }, 16);
	ASSERT_EQ(16, variant->request(CONFIG, self->pid, (unsigned long)low->config, 16));
	go(_metadata, self->pid, low, variant->code_segment, 11);
	EXPECT_EQ(10, native(SIZE, self->pid, 0, 0));
	EXPECT_EQ(10, variant->request(SIZE, self->pid, 0, 0));
	EXPECT_EQ(10, native(DRAIN, self->pid, (unsigned long)low->records,
			     sizeof(low->records)));
	EXPECT_EQ(0, variant->request(SIZE, self->pid, 0, 0));
}

TEST_HARNESS_MAIN
