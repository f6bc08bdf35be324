// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of a trace while its tracee forks, gets threads, executes, stops in
 * one way or another and exits, and while processors come and go?
 *
 * No branch is lost by any of it, none is added, and none tells of the kernel.
 */
#include "ptrace_bts_call.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#define CAPACITY	2000

FIXTURE(life) { pid_t pid; uint64_t *rounds; };

FIXTURE_SETUP(life)
{
	setup_tracee(_metadata, &self->pid, &self->rounds);
}

FIXTURE_TEARDOWN(life)
{
	end_tracee(self->pid);
}

static void set_options(struct __test_metadata *_metadata, pid_t pid, long options)
{
	ASSERT_EQ(0, request(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | options));
}

/* A tracee that is nobody's but by attachment cannot know. */
static void check_untraced(struct __test_metadata *_metadata, pid_t pid)
{
	struct ptrace_bts_config config;

	EXPECT_EQ(-ESRCH, status_of(pid, &config));
	EXPECT_EQ(-ESRCH, count(pid));
	EXPECT_EQ(-ESRCH, release(pid));
	run(_metadata, pid, 0, 100);
	EXPECT_EQ(-ESRCH, count(pid));
}

TEST_F(life, fork)
{
	pid_t child;

	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	run(_metadata, self->pid, 0, 10);
	set_options(_metadata, self->pid, PTRACE_O_TRACEFORK);
	aim_call(_metadata, self->pid, SYS_fork, 0, 0, 0);
	child = new_task(_metadata, self->pid, PTRACE_EVENT_FORK);

	check_untraced(_metadata, child);
	check_drain(_metadata, self->pid, BRANCHES(0, 10), 3 * 10 - 1);

	/* From now on both, each its own */
	ASSERT_EQ(16, trace(child, CAPACITY));
	start(_metadata, self->pid, 20, 500);
	start(_metadata, child, 7, 400);
	wait_for_stop(_metadata, self->pid, SIGTRAP);
	wait_for_stop(_metadata, child, SIGTRAP);
	check_drain(_metadata, self->pid, BRANCHES(20, 500), 3 * 500 - 1);
	check_drain(_metadata, child, BRANCHES(7, 400), 3 * 400 - 1);

	/* The end of one is not that of the other. */
	kill_and_reap(_metadata, child);
	start(_metadata, self->pid, 30, 50);
	wait_for_stop(_metadata, self->pid, SIGCHLD);
	resume(_metadata, self->pid, SIGCHLD);
	wait_for_stop(_metadata, self->pid, SIGTRAP);
	check_drain(_metadata, self->pid, BRANCHES(30, 50), 3 * 50 - 1);
}

TEST_F(life, thread)
{
	pid_t thread;
	int i;

	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	thread = new_thread(_metadata, self->pid, PTRACE_O_TRACEEXEC);
	check_untraced(_metadata, thread);
	EXPECT_EQ(0, count(self->pid));

	ASSERT_EQ(16, trace(thread, CAPACITY));
	for (i = 0; i < 5; i++) {
		start(_metadata, self->pid, i, 500);
		start(_metadata, thread, 0, 600);
		wait_for_stop(_metadata, self->pid, SIGTRAP);
		wait_for_stop(_metadata, thread, SIGTRAP);
		check_drain(_metadata, self->pid, BRANCHES(i, 500), 3 * 500 - 1);
		check_drain(_metadata, thread, BRANCHES(0, 600), 3 * 600 - 1);
	}
	/* One of them is traced no longer. */
	ASSERT_EQ(0, release(self->pid));
	start(_metadata, self->pid, 0, 500);
	start(_metadata, thread, 0, 600);
	wait_for_stop(_metadata, self->pid, SIGTRAP);
	wait_for_stop(_metadata, thread, SIGTRAP);
	EXPECT_EQ(-ESRCH, count(self->pid));
	check_drain(_metadata, thread, BRANCHES(0, 600), 3 * 600 - 1);
	/* The process goes with its last thread. */
	kill(self->pid, SIGKILL);
	ASSERT_EQ(thread, waitpid(thread, NULL, __WALL));
}

TEST_F(life, exec)
{
	struct ptrace_bts_config config;

	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	run(_metadata, self->pid, 0, 10);
	set_options(_metadata, self->pid, PTRACE_O_TRACEEXEC);
	aim_call(_metadata, self->pid, SYS_execve, (unsigned long)path,
		 (unsigned long)args, (unsigned long)env);
	resume(_metadata, self->pid, 0);
	wait_for_event(_metadata, self->pid, PTRACE_EVENT_EXEC);
	ASSERT_EQ(16, status_of(self->pid, &config));
	EXPECT_EQ(CAPACITY * RECORD, config.size);
	EXPECT_EQ((uint32_t)PTRACE_BTS_O_TRACE, config.flags);
	EXPECT_EQ(BRANCHES(0, 10), count(self->pid));

	check_across_exec(_metadata, self->pid);
}

/* The thread takes the place of the process's first one, and its trace along. */
TEST_F(life, exec_by_thread)
{
	struct ptrace_bts_config config;
	pid_t thread;

	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	run(_metadata, self->pid, 0, 10);
	thread = new_thread(_metadata, self->pid, PTRACE_O_TRACEEXEC);
	ASSERT_EQ(16, trace(thread, 2 * CAPACITY));
	run(_metadata, thread, 0, 30);
	aim_call(_metadata, thread, SYS_execve, (unsigned long)path,
		 (unsigned long)args, (unsigned long)env);
	resume(_metadata, thread, 0);
	wait_for_event(_metadata, self->pid, PTRACE_EVENT_EXEC);
	EXPECT_EQ(-ESRCH, count(thread));
	ASSERT_EQ(16, status_of(self->pid, &config));
	EXPECT_EQ(2 * CAPACITY * RECORD, config.size);
	check_drain(_metadata, self->pid, BRANCHES(0, 30), 3 * 30 - 1);
	tell_on_stack(_metadata, self->pid);
	run(_metadata, self->pid, 10, 20);
	check_drain(_metadata, self->pid, BRANCHES(10, 20), 3 * 20 - 1);
}

/* What it took last can be read while it exits, however it came to that. */
TEST_F(life, exit)
{
	int status, by_signal;

	for (by_signal = 0; by_signal < 2; by_signal++) {
		pid_t pid = spawn_counting(_metadata, self->rounds);

		set_options(_metadata, pid, PTRACE_O_TRACEEXIT);
		ASSERT_EQ(16, trace(pid, CAPACITY));
		run(_metadata, pid, 0, 1000);
		resume(_metadata, pid, by_signal ? SIGTERM : 0);
		wait_for_event(_metadata, pid, PTRACE_EVENT_EXIT);
		check_drain(_metadata, pid, CAPACITY, 3 * 1000 - 1);
		EXPECT_EQ(16, trace(pid, 10));
		resume(_metadata, pid, 0);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(by_signal ? SIGTERM : 0, status);
	}
}

static sig_atomic_t handled;

static void handler(int sig)
{
	handled += sig;
}

/* All kinds of ways into the kernel and back */
static void __noreturn enter_kernel(void)
{
	int i;

	signal(SIGUSR1, handler);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	asm volatile("int3");
	for (i = 0; i < 200; i++) {
		char *page = mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		page[0] = i;
		page[getpagesize()] = i;
		munmap(page, 2 * getpagesize());
		raise(SIGUSR1);
		sched_yield();
		if (i % 50 == 0) {
			pid_t pid = fork();

			if (!pid)
				_exit(0);
			waitpid(pid, NULL, 0);
		}
		asm volatile("int3");
	}
	_exit(READ_ONCE(handled) != 200 * SIGUSR1);
}

/* Where the kernel's half begins, or below: the stack is what is next to it. */
static uint64_t user_end(void)
{
#ifdef __LP64__
	return 1ULL << 47;
#else
	return (getauxval(AT_EXECFN) | (getpagesize() - 1)) + 1ULL;
#endif
}

TEST_F(life, no_kernel_addresses)
{
	const uint64_t end = user_end();
	struct bts_struct *records;
	int status;
	long i, n;
	pid_t pid;

	pid = fork();
	if (!pid)
		enter_kernel();
	wait_for_stop(_metadata, pid, SIGTRAP);
	ASSERT_EQ(0, request(PTRACE_SETOPTIONS, pid, NULL,
			     PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT));
	ASSERT_EQ(16, trace(pid, 500000));
	resume(_metadata, pid, 0);
	for (;;) {
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFSTOPPED(status));
		if (status >> 16 == PTRACE_EVENT_EXIT)
			break;
		resume(_metadata, pid, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
	}
	records = drain(_metadata, pid, &n);
	EXPECT_LT(2000, n);
	EXPECT_GT(500000, n);
	for (i = 0; i < n; i++) {
		ASSERT_EQ(1U, records[i].qualifier);
		ASSERT_GT(end, records[i].variant.lbr.from);
		ASSERT_GT(end, records[i].variant.lbr.to);
		ASSERT_NE(0U, records[i].variant.lbr.from);
		ASSERT_NE(0U, records[i].variant.lbr.to);
	}
	free(records);
	resume(_metadata, pid, 0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Step by step, every branch is there as soon as it is taken. */
static void step(struct __test_metadata *_metadata, pid_t pid, int how)
{
	struct user_regs_struct regs;
	int steps = 0;

	ASSERT_EQ(16, trace(pid, CAPACITY));
	aim(_metadata, pid, 0, 15);
	do {
		ASSERT_EQ(0, request(how, pid, NULL, 0));
		wait_for_stop(_metadata, pid, SIGTRAP);
		regs_of(_metadata, pid, &regs);
		ASSERT_EQ((long)taken(&regs), count(pid)) {
			TH_LOG("at %#llx in round %llu", ip_of(&regs), rounds_of(&regs));
		}
		steps++;
	} while (ip_of(&regs) != (uintptr_t)bts_end);
	EXPECT_LE(how == PTRACE_SINGLESTEP ? 9 * 15 : BRANCHES(0, 15), steps);
	check_drain(_metadata, pid, BRANCHES(0, 15), 3 * 15 - 1);
	/* And at full speed again */
	run(_metadata, pid, 0, 500);
	check_drain(_metadata, pid, BRANCHES(0, 500), 3 * 500 - 1);
}

TEST_F(life, single_step)
{
	step(_metadata, self->pid, PTRACE_SINGLESTEP);
}

TEST_F(life, single_block)
{
	aim(_metadata, self->pid, 0, 1);
	if (request(PTRACE_SINGLEBLOCK, self->pid, NULL, 0) == -EIO)
		SKIP(return, "the processor cannot step from branch to branch");
	wait_for_stop(_metadata, self->pid, SIGTRAP);
	step(_metadata, self->pid, PTRACE_SINGLEBLOCK);
}

TEST_F(life, system_call_stop)
{
	int i;

	set_options(_metadata, self->pid, PTRACE_O_TRACESYSGOOD);
	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	run(_metadata, self->pid, 0, 10);
	aim_call(_metadata, self->pid, SYS_getppid, 0, 0, 0);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, request(PTRACE_SYSCALL, self->pid, NULL, 0));
		wait_for_stop(_metadata, self->pid, SIGTRAP | 0x80);
		EXPECT_EQ(BRANCHES(0, 10), count(self->pid));
		EXPECT_EQ(16, configure(self->pid, 0, 0));
		EXPECT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
	}
	resume(_metadata, self->pid, 0);
	wait_for_stop(_metadata, self->pid, SIGTRAP);
	check_drain(_metadata, self->pid, BRANCHES(0, 10), 3 * 10 - 1);
	run(_metadata, self->pid, 0, 10);
	check_drain(_metadata, self->pid, BRANCHES(0, 10), 3 * 10 - 1);
}

TEST_F(life, seccomp_stop)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(filter), filter };
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(4);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		bts_park(self->rounds);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status))
		SKIP(return, "no seccomp filters");
	set_options(_metadata, pid, PTRACE_O_TRACESECCOMP);
	ASSERT_EQ(16, trace(pid, CAPACITY));
	run(_metadata, pid, 0, 10);
	aim_call(_metadata, pid, SYS_getppid, 0, 0, 0);
	resume(_metadata, pid, 0);
	wait_for_event(_metadata, pid, PTRACE_EVENT_SECCOMP);
	check_drain(_metadata, pid, BRANCHES(0, 10), 3 * 10 - 1);
	resume(_metadata, pid, 0);
	wait_for_stop(_metadata, pid, SIGTRAP);
	EXPECT_EQ(0, count(pid));
	run(_metadata, pid, 0, 10);
	check_drain(_metadata, pid, BRANCHES(0, 10), 3 * 10 - 1);
	kill_and_reap(_metadata, pid);
}

TEST_F(life, group_stop)
{
	const long capacity = 100;

	aim(_metadata, self->pid, 0, UINT64_MAX);
	seize(_metadata, self->pid);
	ASSERT_EQ(16, trace(self->pid, capacity));
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, capacity));
	ASSERT_EQ(0, kill(self->pid, SIGSTOP));
	wait_for_stop(_metadata, self->pid, SIGSTOP);
	EXPECT_EQ(capacity, count(self->pid));
	resume(_metadata, self->pid, SIGSTOP);
	wait_for_stop(_metadata, self->pid, PTRACE_EVENT_STOP << 8 | SIGSTOP);
	check_tail(_metadata, self->pid, capacity);

	/* Stopped as a job only: to its debugger it is not. */
	ASSERT_EQ(0, request(PTRACE_LISTEN, self->pid, NULL, 0));
	EXPECT_EQ(-ESRCH, count(self->pid));
	EXPECT_EQ(16, configure(self->pid, 0, 0));
	EXPECT_EQ(16, trace(self->pid, capacity));
	ASSERT_EQ(0, kill(self->pid, SIGCONT));
	wait_for_event(_metadata, self->pid, PTRACE_EVENT_STOP);
	EXPECT_EQ(0, count(self->pid));
	resume(_metadata, self->pid, 0);
	wait_for_stop(_metadata, self->pid, SIGCONT);
	resume(_metadata, self->pid, SIGCONT);
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, capacity));
	interrupt(_metadata, self->pid);
	check_tail(_metadata, self->pid, capacity);
}

/* Asleep is neither stopped nor running. */
TEST_F(life, asleep)
{
	int ends[2], i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pipe(ends));
		kill_and_reap(_metadata, self->pid);
		self->pid = spawn_counting(_metadata, self->rounds);
		if (i)
			ASSERT_EQ(16, trace(self->pid, CAPACITY));
		aim_call(_metadata, self->pid, SYS_read, ends[0],
			 (unsigned long)self->rounds, 1);
		resume(_metadata, self->pid, 0);
		ASSERT_TRUE(AWAIT(is_asleep(self->pid)));
		/* Begun, or ended and begun again, while it sleeps */
		EXPECT_EQ(i ? 0 : -ESRCH, release(self->pid));
		EXPECT_EQ(16, trace(self->pid, CAPACITY));
		EXPECT_EQ(16, configure(self->pid, 0, 0));
		EXPECT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
		ASSERT_EQ(1, write(ends[1], "", 1));
		wait_for_stop(_metadata, self->pid, SIGTRAP);
		EXPECT_EQ(0, count(self->pid));
		run(_metadata, self->pid, 3, 10);
		check_drain(_metadata, self->pid, BRANCHES(3, 10), 3 * 10 - 1);
	}
}

/* Traces come and go, and do not know of each other. */
TEST_F(life, several)
{
	pid_t pids[8];
	unsigned int i, round;

	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = spawn(_metadata);
		ASSERT_EQ(16, trace(pids[i], 10 + 100 * i));
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < ARRAY_SIZE(pids); i++)
			start(_metadata, pids[i], 0, 400 + i);
		for (i = 0; i < ARRAY_SIZE(pids); i++)
			wait_for_stop(_metadata, pids[i], SIGTRAP);
		for (i = 0; i < ARRAY_SIZE(pids); i++) {
			if (round && i % 2) {
				ASSERT_EQ(-ESRCH, count(pids[i]));
				continue;
			}
			check_drain(_metadata, pids[i], 10 + 100 * i, 3 * (400 + i) - 1);
			if (i % 2)
				ASSERT_EQ(0, release(pids[i]));
		}
	}
	for (i = 0; i < ARRAY_SIZE(pids); i++)
		kill_and_reap(_metadata, pids[i]);
}

/* A debugger may have a debugger. */
TEST_F(life, debugger_is_traced)
{
	int status, go[2];
	long ready = 0;
	pid_t debugger;
	char byte;

	ASSERT_EQ(0, pipe(go));
	debugger = fork();
	if (!debugger) {
		pid_t pid;

		read(go[0], &byte, 1);
		pid = spawn(_metadata);
		ASSERT_EQ(16, trace(pid, CAPACITY));
		run(_metadata, pid, 0, 1000);
		check_drain(_metadata, pid, CAPACITY, 3 * 1000 - 1);
		kill_and_reap(_metadata, pid);
		_exit(0);
	}
	ASSERT_EQ(0, request(PTRACE_SEIZE, debugger, NULL,
			     PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT));
	ASSERT_EQ(16, trace(debugger, 500000));
	ASSERT_EQ(1, write(go[1], "", 1));
	for (;;) {
		ASSERT_EQ(debugger, waitpid(debugger, &status, 0));
		if (!WIFSTOPPED(status))
			break;
		if (status >> 16 == PTRACE_EVENT_EXIT)
			ready = count(debugger);
		resume(_metadata, debugger, status >> 16 ? 0 : WSTOPSIG(status));
	}
	EXPECT_EQ(0, status);
	/* It looked at its records one by one. */
	EXPECT_LT(CAPACITY, ready);
}

/* Processors come and go. */
FIXTURE(life_hotplug) { pid_t pid; uint64_t *rounds; };

#define CPU_ONLINE "/sys/devices/system/cpu/cpu1/online"

static bool set_online(bool online)
{
	int fd = open(CPU_ONLINE, O_WRONLY);
	bool ok = fd >= 0 && write(fd, online ? "1" : "0", 1) == 1;

	close(fd);
	return ok;
}

FIXTURE_SETUP(life_hotplug)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	if (!set_online(false) || !set_online(true))
		SKIP(return, "cannot take a processor offline");
	self->rounds = shared_page();
	self->pid = spawn_counting(_metadata, self->rounds);
}

FIXTURE_TEARDOWN(life_hotplug)
{
	set_online(true);
	end_tracee(self->pid);
}

TEST_F(life_hotplug, running)
{
	const long capacity = 200000;
	int i;

	aim(_metadata, self->pid, 0, UINT64_MAX);
	seize(_metadata, self->pid);
	ASSERT_EQ(16, trace(self->pid, capacity));
	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(pin(self->pid, 1));
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 1000));
		ASSERT_TRUE(set_online(false));
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 1000));
		ASSERT_TRUE(set_online(true));
	}
	ASSERT_TRUE(pin(self->pid, 1));
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, capacity));
	interrupt(_metadata, self->pid);
	check_tail(_metadata, self->pid, capacity);
}

/* Stopped or asleep on a processor that is there no longer */
TEST_F(life_hotplug, last_cpu_offline)
{
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(pin(self->pid, 1));
		run(_metadata, self->pid, 0, 100);
		if (i) {
			ASSERT_EQ(16, trace(self->pid, CAPACITY));
			run(_metadata, self->pid, 0, 100);
		}
		ASSERT_TRUE(set_online(false));
		if (i) {
			check_drain(_metadata, self->pid, BRANCHES(0, 100), 3 * 100 - 1);
			ASSERT_EQ(16, configure(self->pid, 0, 0));
			ASSERT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
			ASSERT_EQ(0, release(self->pid));
		}
		ASSERT_EQ(16, trace(self->pid, CAPACITY));
		ASSERT_EQ(16, configure(self->pid, 0, 0));
		ASSERT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
		run(_metadata, self->pid, 0, 600);
		check_drain(_metadata, self->pid, BRANCHES(0, 600), 3 * 600 - 1);
		ASSERT_TRUE(set_online(true));
		ASSERT_TRUE(pin(self->pid, 1));
		run(_metadata, self->pid, 0, 600);
		check_drain(_metadata, self->pid, BRANCHES(0, 600), 3 * 600 - 1);
		ASSERT_EQ(0, release(self->pid));
	}
}

/* A processor that was not there when the first trace began */
TEST_F(life_hotplug, comes_later)
{
	const uint64_t rounds = 5000;

	ASSERT_TRUE(set_online(false));
	ASSERT_EQ(16, trace(self->pid, 3 * rounds));
	run(_metadata, self->pid, 0, 100);
	check_drain(_metadata, self->pid, BRANCHES(0, 100), 3 * 100 - 1);
	ASSERT_TRUE(set_online(true));
	ASSERT_TRUE(pin(self->pid, 1));
	run(_metadata, self->pid, 0, rounds);
	check_drain(_metadata, self->pid, BRANCHES(0, rounds), 3 * rounds - 1);

	/* And one that was, and comes back when no trace is left */
	ASSERT_TRUE(set_online(false));
	ASSERT_EQ(0, release(self->pid));
	ASSERT_TRUE(set_online(true));
	ASSERT_EQ(16, trace(self->pid, 3 * rounds));
	ASSERT_TRUE(pin(self->pid, 1));
	run(_metadata, self->pid, 0, rounds);
	check_drain(_metadata, self->pid, BRANCHES(0, rounds), 3 * rounds - 1);
}

TEST_HARNESS_MAIN
