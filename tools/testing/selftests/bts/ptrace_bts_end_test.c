// SPDX-License-Identifier: GPL-2.0-only
/*
 * What if the tracee or its debugger goes, wherever the tracee is?
 *
 * What the tracee did last can be read; what a dead debugger leaves goes on untraced, and
 * can be traced again; and nothing stays in the kernel. Full buffers have a test of their
 * own, ptrace_bts_overflow_end_test.
 */
#include "ptrace_bts_call.h"
#include "ptrace_bts_call_and_run.h"
#include "ptrace_bts_memory.h"

#include <sys/prctl.h>

#define CAPACITY	1000

static const char *const exit_args[] = { path, "--exit", NULL };

static void set_options(struct __test_metadata *_metadata, pid_t pid, long options)
{
	ASSERT_EQ(0, request(PTRACE_SETOPTIONS, pid, NULL, options));
}

/* Who exits, killed or not, has its last branches in its trace. */
static void check_exit(struct __test_metadata *_metadata, pid_t pid)
{
	wait_for_event(_metadata, pid, PTRACE_EVENT_EXIT);
	check_tail(_metadata, pid, CAPACITY);
	resume(_metadata, pid, 0);
}

FIXTURE(tracee) { pid_t pid; uint64_t *rounds; };

FIXTURE_SETUP(tracee)
{
	setup_tracee(_metadata, &self->pid, &self->rounds);
}

FIXTURE_TEARDOWN(tracee)
{
	end_tracee(self->pid);
}

TEST_F(tracee, killed_anywhere)
{
	unsigned int seed = time(NULL);
	int i, status;

	TH_LOG("seed %u", seed);
	for (i = 0; i < 20; i++) {
		if (i)
			self->pid = spawn_counting(_metadata, self->rounds);
		set_options(_metadata, self->pid, PTRACE_O_TRACEEXIT);
		WRITE_ONCE(*self->rounds, 0);
		ASSERT_EQ(16, trace(self->pid, CAPACITY));
		start(_metadata, self->pid, 0, UINT64_MAX);
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, CAPACITY + rand_r(&seed) % 5000));
		kill(self->pid, SIGKILL);
		check_exit(_metadata, self->pid);
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
		ASSERT_EQ(SIGKILL, status);
		ASSERT_TRUE(AWAIT(!buffers()));
		ASSERT_TRUE(AWAIT(!pinned()));
	}
	self->pid = spawn_counting(_metadata, self->rounds);
}

/* Instruction by instruction: what was taken is there. */
TEST_F(tracee, exits_anywhere)
{
	struct user_regs_struct regs;
	int i, status, steps;

	for (steps = 0; steps < 20; steps++) {
		if (steps)
			self->pid = spawn_counting(_metadata, self->rounds);
		set_options(_metadata, self->pid, PTRACE_O_TRACEEXIT);
		ASSERT_EQ(16, trace(self->pid, CAPACITY));
		aim(_metadata, self->pid, 0, 10);
		for (i = 0; i < steps; i++) {
			ASSERT_EQ(0, request(PTRACE_SINGLESTEP, self->pid, NULL, 0));
			wait_for_stop(_metadata, self->pid, SIGTRAP);
		}
		regs_of(_metadata, self->pid, &regs);
		resume(_metadata, self->pid, SIGTERM);
		wait_for_event(_metadata, self->pid, PTRACE_EVENT_EXIT);
		check_drain(_metadata, self->pid, taken(&regs), taken(&regs));
		resume(_metadata, self->pid, 0);
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
		ASSERT_EQ(SIGTERM, status);
	}
	ASSERT_TRUE(AWAIT(!buffers()));
	self->pid = spawn_counting(_metadata, self->rounds);
}

TEST_F(tracee, killed_asleep)
{
	int status;

	set_options(_metadata, self->pid, PTRACE_O_TRACEEXIT);
	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	run(_metadata, self->pid, 0, 100);
	aim_call(_metadata, self->pid, SYS_pause, 0, 0, 0);
	resume(_metadata, self->pid, 0);
	ASSERT_TRUE(AWAIT(is_asleep(self->pid)));
	kill(self->pid, SIGKILL);
	wait_for_event(_metadata, self->pid, PTRACE_EVENT_EXIT);
	check_drain(_metadata, self->pid, BRANCHES(0, 100), 3 * 100 - 1);
	resume(_metadata, self->pid, 0);
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
	EXPECT_EQ(SIGKILL, status);
	EXPECT_TRUE(AWAIT(!buffers()));
	self->pid = spawn_counting(_metadata, self->rounds);
}

/* Threads that run, each traced; one ends them all. */
static void end_group(struct __test_metadata *_metadata, pid_t first, int killed_by)
{
	pid_t threads[3] = { first }, pid;
	int i, status, left = 3;

	for (i = 1; i < 3; i++)
		threads[i] = new_thread(_metadata, first, PTRACE_O_TRACEEXIT);
	for (i = 2; i >= 0; i--) {
		ASSERT_EQ(16, trace(threads[i], CAPACITY));
		start(_metadata, threads[i], 0, i ? UINT64_MAX : 20 * CAPACITY);
	}
	wait_for_stop(_metadata, first, SIGTRAP);
	if (killed_by) {
		kill(first, killed_by);
	} else {
		aim_call(_metadata, first, SYS_exit_group, 7, 0, 0);
		resume(_metadata, first, 0);
	}
	while (left) {
		struct user_regs_struct regs;
		uint64_t end = 3 * 20 * CAPACITY - 1;

		pid = waitpid(-1, &status, __WALL);
		ASSERT_LT(0, pid);
		if (!WIFSTOPPED(status)) {
			EXPECT_EQ(killed_by ?: 7 << 8, status);
			left--;
			continue;
		}
		ASSERT_EQ(PTRACE_EVENT_EXIT, status >> 16);
		regs_of(_metadata, pid, &regs);
		if (pid != first)
			end = taken(&regs);
		/* The others may have come not far. */
		check_drain(_metadata, pid, end < CAPACITY ? end : CAPACITY, end);
		resume(_metadata, pid, 0);
	}
	EXPECT_TRUE(AWAIT(!buffers()));
	EXPECT_TRUE(AWAIT(!pinned()));
}

TEST_F(tracee, exit_group)
{
	end_group(_metadata, self->pid, 0);
	self->pid = spawn_counting(_metadata, self->rounds);
}

TEST_F(tracee, group_killed)
{
	end_group(_metadata, self->pid, SIGKILL);
	self->pid = spawn_counting(_metadata, self->rounds);
}

/* The process goes on with its other threads, and so do their traces. */
TEST_F(tracee, first_thread_exits)
{
	pid_t thread = new_thread(_metadata, self->pid, PTRACE_O_TRACEEXIT);
	int status;

	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	ASSERT_EQ(16, trace(thread, CAPACITY));
	run(_metadata, self->pid, 0, 100);
	start(_metadata, thread, 0, 20 * CAPACITY);
	aim_call(_metadata, self->pid, SYS_exit, 0, 0, 0);
	resume(_metadata, self->pid, 0);
	wait_for_event(_metadata, self->pid, PTRACE_EVENT_EXIT);
	check_drain(_metadata, self->pid, BRANCHES(0, 100), 3 * 100 - 1);
	resume(_metadata, self->pid, 0);
	wait_for_stop(_metadata, thread, SIGTRAP);
	check_tail(_metadata, thread, CAPACITY);
	EXPECT_EQ(-ESRCH, count(self->pid));
	run(_metadata, thread, 0, 100);
	check_drain(_metadata, thread, BRANCHES(0, 100), 3 * 100 - 1);
	resume(_metadata, thread, 0);
	wait_for_event(_metadata, thread, PTRACE_EVENT_EXIT);
	resume(_metadata, thread, 0);
	ASSERT_EQ(thread, waitpid(thread, &status, __WALL));
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, __WALL));
	EXPECT_TRUE(AWAIT(!buffers()));
	self->pid = spawn_counting(_metadata, self->rounds);
}

/* Where the tracee is when its debugger is killed */
enum where {
	SYSTEM_CALL_STOP,
	ASLEEP,
	LISTENING,		/* stopped as a job, its debugger does not care */
	FORK_STOP,
	EXEC_STOP,
	EXIT_STOP,
	IN_CONFIG,		/* it runs, and the debugger is anywhere in CONFIG */
};

/* What the debugger and who kills it share */
struct debugged {
	uint64_t *rounds;
	/* The tracee, and its child */
	pid_t *pids;
	int told[2], ends[2];
};

FIXTURE(debugger) {
	struct debugged debugged;
	pid_t debugger;
};

FIXTURE_VARIANT(debugger) { enum where where; int times; };
FIXTURE_VARIANT_ADD(debugger, system_call_stop) { SYSTEM_CALL_STOP, 1 };
FIXTURE_VARIANT_ADD(debugger, asleep) { ASLEEP, 1 };
FIXTURE_VARIANT_ADD(debugger, listening) { LISTENING, 1 };
FIXTURE_VARIANT_ADD(debugger, fork_stop) { FORK_STOP, 1 };
FIXTURE_VARIANT_ADD(debugger, exec_stop) { EXEC_STOP, 1 };
FIXTURE_VARIANT_ADD(debugger, exit_stop) { EXIT_STOP, 1 };
FIXTURE_VARIANT_ADD(debugger, in_config) { IN_CONFIG, 10 };

FIXTURE_SETUP(debugger)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	self->debugged.rounds = shared_page();
	self->debugged.pids = shared_page();
	ASSERT_EQ(0, pipe(self->debugged.told));
	ASSERT_EQ(0, pipe(self->debugged.ends));
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
}

FIXTURE_TEARDOWN(debugger)
{
	int i;

	for (i = 0; i < 2; i++)
		if (self->debugged.pids[i])
			kill(self->debugged.pids[i], SIGKILL);
	if (self->debugger) {
		kill(self->debugger, SIGKILL);
		waitpid(self->debugger, NULL, 0);
	}
}

static void aim_call_and_run(struct __test_metadata *_metadata, pid_t pid, long nr,
			     unsigned long arg0, unsigned long arg1, unsigned long arg2)
{
	struct user_regs_struct regs;

	aim(_metadata, pid, 0, UINT64_MAX);
	aim_call(_metadata, pid, nr, arg0, arg1, arg2);
	regs_of(_metadata, pid, &regs);
	regs.rip = (uintptr_t)call_and_run;
	ASSERT_EQ(0, request(PTRACE_SETREGS, pid, NULL, (unsigned long)&regs));
}

/* The debugger's life; it does not return. */
static void debug(struct __test_metadata *_metadata, const struct debugged *debugged,
		  enum where where)
{
	pid_t pid = spawn_counting(_metadata, debugged->rounds);
	unsigned long child;
	int i;

	debugged->pids[0] = pid;
	set_options(_metadata, pid, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
		    PTRACE_O_TRACEEXEC | (where == EXIT_STOP ? PTRACE_O_TRACEEXIT : 0));
	ASSERT_EQ(16, trace(pid, CAPACITY));
	run(_metadata, pid, 0, 100);

	switch (where) {
	case SYSTEM_CALL_STOP:
		aim_call_and_run(_metadata, pid, SYS_getppid, 0, 0, 0);
		ASSERT_EQ(0, request(PTRACE_SYSCALL, pid, NULL, 0));
		wait_for_stop(_metadata, pid, SIGTRAP | 0x80);
		break;
	case ASLEEP:
		aim_call_and_run(_metadata, pid, SYS_read, debugged->ends[0],
				 (unsigned long)debugged->rounds, 1);
		resume(_metadata, pid, 0);
		ASSERT_TRUE(AWAIT(is_asleep(pid)));
		break;
	case FORK_STOP:
		aim_call_and_run(_metadata, pid, SYS_fork, 0, 0, 0);
		resume(_metadata, pid, 0);
		wait_for_event(_metadata, pid, PTRACE_EVENT_FORK);
		ASSERT_EQ(0, request(PTRACE_GETEVENTMSG, pid, NULL, (unsigned long)&child));
		debugged->pids[1] = child;
		break;
	case EXEC_STOP:
		aim_call(_metadata, pid, SYS_execve, (unsigned long)path,
			 (unsigned long)exit_args, (unsigned long)env);
		resume(_metadata, pid, 0);
		wait_for_event(_metadata, pid, PTRACE_EVENT_EXEC);
		break;
	case EXIT_STOP:
		resume(_metadata, pid, 0);
		wait_for_event(_metadata, pid, PTRACE_EVENT_EXIT);
		break;
	case LISTENING:
	case IN_CONFIG:
		aim(_metadata, pid, 0, UINT64_MAX);
		ASSERT_EQ(0, request(PTRACE_DETACH, pid, NULL, 0));
		ASSERT_EQ(0, request(PTRACE_SEIZE, pid, NULL, 0));
		ASSERT_EQ(16, trace(pid, CAPACITY));
		break;
	}
	if (where == LISTENING) {
		ASSERT_EQ(0, kill(pid, SIGSTOP));
		wait_for_stop(_metadata, pid, SIGSTOP);
		resume(_metadata, pid, SIGSTOP);
		wait_for_stop(_metadata, pid, PTRACE_EVENT_STOP << 8 | SIGSTOP);
		ASSERT_EQ(0, request(PTRACE_LISTEN, pid, NULL, 0));
	}

	ASSERT_EQ(1, write(debugged->told[1], "", 1));
	for (i = 0; where == IN_CONFIG; i++) {
		ASSERT_EQ(16, trace(pid, CAPACITY + i % 7));
		ASSERT_EQ(16, configure(pid, 0, 0));
		ASSERT_EQ(16, configure(pid, 0, PTRACE_BTS_O_TRACE));
		if (i % 2)
			ASSERT_EQ(0, release(pid));
	}
	for (;;)
		pause();
}

TEST_F_TIMEOUT(debugger, killed, 120)
{
	const struct debugged *debugged = &self->debugged;
	unsigned int seed = time(NULL);
	int i, status;
	char byte;

	TH_LOG("seed %u", seed);
	for (i = 0; i < variant->times; i++) {
		WRITE_ONCE(*debugged->rounds, 0);
		self->debugger = fork();
		if (!self->debugger)
			debug(_metadata, debugged, variant->where);
		ASSERT_EQ(1, read(debugged->told[0], &byte, 1));
		/* So that "none left" below means something. */
		EXPECT_TRUE(variant->where == IN_CONFIG || buffers() == 1);
		ASSERT_TRUE(variant->where != IN_CONFIG ||
			    AWAIT_ROUNDS(debugged->rounds, rand_r(&seed) % 20000));
		kill(self->debugger, SIGKILL);
		ASSERT_EQ(self->debugger, waitpid(self->debugger, &status, 0));
		EXPECT_EQ(SIGKILL, status);
		self->debugger = 0;
		EXPECT_TRUE(AWAIT(!buffers()));

		switch (variant->where) {
		case ASLEEP:
			ASSERT_EQ(1, write(debugged->ends[1], "", 1));
			break;
		case LISTENING:
			ASSERT_EQ(0, kill(debugged->pids[0], SIGCONT));
			break;
		case FORK_STOP:
			/* Stopped for the debugger, it is stopped as a job now. */
			ASSERT_EQ(0, kill(debugged->pids[1], SIGCONT));
			break;
		case EXEC_STOP:
		case EXIT_STOP:
			ASSERT_EQ(debugged->pids[0], waitpid(debugged->pids[0], &status, 0));
			EXPECT_EQ(0, status);
			debugged->pids[0] = 0;
			break;
		default:
			break;
		}
		if (debugged->pids[0])
			check_left_alone(_metadata, debugged->pids[0], debugged->rounds);
		if (debugged->pids[1])
			check_left_alone(_metadata, debugged->pids[1], debugged->rounds);
		debugged->pids[0] = 0;
		debugged->pids[1] = 0;
		EXPECT_TRUE(AWAIT(!buffers()));
		EXPECT_TRUE(AWAIT(!pinned()));
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--exit"))
		return 0;
	return test_harness_run(argc, argv);
}
