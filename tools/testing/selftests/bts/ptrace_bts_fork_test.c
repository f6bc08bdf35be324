// SPDX-License-Identifier: GPL-2.0-only
/*
 * What if a traced task cannot fork, and the kernel notices when the new one is a copy
 * of it already?
 *
 * The copy goes without a trace of its own, and takes nothing along: the trace of the
 * parent goes on to the last branch, and its memory comes back.
 */
#include "ptrace_bts_call.h"
#include "ptrace_bts_faults.h"
#include "ptrace_bts_fork.h"
#include "ptrace_bts_memory.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/resource.h>

#define CAPACITY	2000
#define ROUNDS		100
#define NOBODY		65534

/* Where nobody may write */
#define BAD_POINTER	8UL

static const pid_t set_tid[] = { 1 };
static const struct clone_args taken_id = {
	.exit_signal	= SIGCHLD,
	.set_tid	= (uintptr_t)set_tid,
	.set_tid_size	= 1,
};

FIXTURE(fork_fails) { pid_t pid; uint64_t *rounds; };

FIXTURE_SETUP(fork_fails)
{
	setup_tracee(_metadata, &self->pid, &self->rounds);
}

FIXTURE_TEARDOWN(fork_fails)
{
	faults_end();
	end_tracee(self->pid);
}

static void aim_fork(struct __test_metadata *_metadata, pid_t pid, long nr,
		     unsigned long arg0, unsigned long arg1, unsigned long arg2,
		     uint64_t end)
{
	struct user_regs_struct regs;

	aim_call(_metadata, pid, nr, arg0, arg1, arg2);
	regs_of(_metadata, pid, &regs);
	regs.rip = (uintptr_t)fork_round;
	regs.rbx = 0;
	regs.r12 = end;
	regs.r14 = nr;
	ASSERT_EQ(0, request(PTRACE_SETREGS, pid, NULL, (unsigned long)&regs));
}

/* The task's file fail-nth, which allocation is to fail, and whether one did */
struct fault { int fd, nth; bool happened; };

/* A call, between branches that are to be in the trace as if it was not; its answer */
static long fork_once(struct __test_metadata *_metadata, pid_t pid, struct fault *fault,
		      long nr, unsigned long arg0, unsigned long arg1, unsigned long arg2)
{
	const long n = BRANCHES(0, ROUNDS);
	struct user_regs_struct regs;
	struct bts_struct *records;
	int status;
	long ready;

	run(_metadata, pid, 0, ROUNDS);
	aim_fork(_metadata, pid, nr, arg0, arg1, arg2, 1);
	if (fault)
		write_number(_metadata, fault->fd, fault->nth);
	resume(_metadata, pid, 0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (fault && status >> 8 == SIGSEGV) {
		/* rseq's, whose page could not be copied */
		resume(_metadata, pid, 0);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
	}
	ASSERT_EQ(SIGTRAP, status >> 8);
	if (fault)
		fault->happened = has_failed(_metadata, fault->fd);
	regs_of(_metadata, pid, &regs);
	run(_metadata, pid, ROUNDS, 2 * ROUNDS);

	records = drain(_metadata, pid, &ready);
	ASSERT_EQ(2 * n, ready);
	check_records(_metadata, records, n, 3 * ROUNDS - 1);
	check_records(_metadata, records + n, n, 6 * ROUNDS - 1);
	free(records);
	ASSERT_EQ(0, lost(pid));
	return regs.rax;
}

static void check_error(struct __test_metadata *_metadata, pid_t pid, long error, long nr,
			unsigned long arg0, unsigned long arg1, unsigned long arg2)
{
	int i;

	ASSERT_EQ(16, trace(pid, CAPACITY));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(-error, fork_once(_metadata, pid, NULL, nr,
					    arg0, arg1, arg2));
	EXPECT_EQ(1, buffers());
	EXPECT_EQ(0, release(pid));
	EXPECT_TRUE(AWAIT(!buffers()));
	EXPECT_EQ(0, pinned());
}

static void limit(struct __test_metadata *_metadata, pid_t pid, int resource)
{
	struct rlimit none = { 0, 0 };

	ASSERT_EQ(0, prlimit(pid, resource, &none, NULL));
}

/* Soon after the copy was made */
TEST_F(fork_fails, too_many_tasks)
{
	pid_t pid = fork();

	if (!pid) {
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(4);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		bts_park(self->rounds);
	}
	if (geteuid()) {
		kill(pid, SIGKILL);
		SKIP(return, "not root, who is not limited");
	}
	wait_for_stop(_metadata, pid, SIGTRAP);
	limit(_metadata, pid, RLIMIT_NPROC);
	check_error(_metadata, pid, EAGAIN, SYS_fork, 0, 0, 0);
	kill_and_reap(_metadata, pid);
}

/* When all is copied: no number for it, no file, and nowhere to tell it */
TEST_F(fork_fails, id_is_taken)
{
	if (geteuid())
		SKIP(return, "not root, who may choose the number");
	check_error(_metadata, self->pid, EEXIST, SYS_clone3, (unsigned long)&taken_id,
		    sizeof(taken_id), 0);
}

TEST_F(fork_fails, no_file)
{
	limit(_metadata, self->pid, RLIMIT_NOFILE);
	check_error(_metadata, self->pid, EMFILE, SYS_clone, CLONE_PIDFD | SIGCHLD, 0,
		    (unsigned long)self->rounds);
}

TEST_F(fork_fails, bad_pointer)
{
	check_error(_metadata, self->pid, EFAULT, SYS_clone, CLONE_PIDFD | SIGCHLD, 0,
		    BAD_POINTER);
}

TEST_F(fork_fails, bad_pointer_of_thread)
{
	check_error(_metadata, self->pid, EFAULT, SYS_clone, CLONE_PIDFD | CLONE_VM |
		    CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_SYSVSEM, 0,
		    BAD_POINTER);
}

/* Each allocation in turn; whoever is made all the same ends in silence. */
TEST_F_TIMEOUT(fork_fails, no_memory, 120)
{
	struct fault fault = { .happened = true };
	int failed = 0;
	char file[64];

	sprintf(file, "/proc/%d/fail-nth", self->pid);
	fault.fd = open(file, O_RDWR | O_CLOEXEC);
	if (fault.fd < 0 || !faults_begin())
		SKIP(return, "no fault injection");
	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	while (fault.happened) {
		long ret;

		ASSERT_GT(10000, ++fault.nth);
		ret = fork_once(_metadata, self->pid, &fault, SYS_clone, 0, 0, 0);
		if (ret < 0) {
			ASSERT_TRUE(fault.happened);
			ASSERT_TRUE(ret == -ENOMEM || ret == -EAGAIN);
			failed++;
		}
	}
	TH_LOG("%d of %d faults were fatal", failed, fault.nth - 1);
	EXPECT_LT(10, failed);
	EXPECT_EQ(1, buffers());
	EXPECT_EQ(0, release(self->pid));
	EXPECT_TRUE(AWAIT(!buffers()));
}

/* Signals come while it forks: it begins again, or does not. */
TEST_F_TIMEOUT(fork_fails, signals, 120)
{
	const long rounds = 50;
	pid_t sender, parent = self->pid;
	long i, n, signals = 0;
	struct bts_struct *records;
	int status;

	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	aim_fork(_metadata, self->pid, SYS_clone, 0, 0, 0, rounds);
	sender = fork();
	while (!sender)
		kill(parent, SIGWINCH);
	resume(_metadata, self->pid, 0);
	for (;;) {
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
		ASSERT_TRUE(WIFSTOPPED(status));
		if (WSTOPSIG(status) == SIGTRAP)
			break;
		ASSERT_EQ(SIGWINCH, WSTOPSIG(status));
		signals++;
		resume(_metadata, self->pid, 0);
	}
	records = drain(_metadata, self->pid, &n);
	ASSERT_EQ(rounds - 1, n);
	for (i = 0; i < n; i++) {
		ASSERT_EQ((uintptr_t)fork_again, records[i].variant.lbr.from);
		ASSERT_EQ((uintptr_t)fork_round, records[i].variant.lbr.to);
	}
	free(records);
	EXPECT_LT(0, signals);
	kill_and_reap(_metadata, sender);
}

/* And it is killed. */
TEST_F_TIMEOUT(fork_fails, killed, 120)
{
	int i;

	for (i = 0; i < 20; i++) {
		if (i)
			self->pid = spawn_counting(_metadata, self->rounds);
		WRITE_ONCE(*self->rounds, 0);
		ASSERT_EQ(16, trace(self->pid, CAPACITY));
		aim_fork(_metadata, self->pid, SYS_clone, 0, 0, 0, UINT64_MAX);
		resume(_metadata, self->pid, 0);
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, i));
		kill_and_reap(_metadata, self->pid);
		ASSERT_TRUE(AWAIT(!buffers()));
		ASSERT_TRUE(AWAIT(!pinned()));
	}
	self->pid = spawn_counting(_metadata, self->rounds);
}

TEST_HARNESS_MAIN
