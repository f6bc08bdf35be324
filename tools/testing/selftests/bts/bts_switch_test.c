// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does every record reach the trace of the task that took the branch, once and
 * in order, while tasks are switched, moved between CPUs, forked and replaced?
 *
 * The tracees run loops in assembly whose branches are known to the last one:
 * each round jumps by way of a slot that tells the round's number, at addresses
 * that no other tracee uses.  A record lost, repeated, misplaced or of another
 * task does not fit.
 */
#include <asm/ptrace_bts.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <linux/compiler.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "bts_switch_bodies.h"

static const struct body *const computes[] = { &compute_0, &compute_1, &compute_2 };

struct traced {
	pid_t			pid;
	const struct body	*body;
	/* Shared with the tracee: it stops at this many rounds. */
	uint64_t		*limit;
};

static long bts(int request, pid_t pid, void *addr, size_t data)
{
	return syscall(SYS_ptrace, request, pid, addr, data);
}

static int configure(pid_t pid, size_t records)
{
	struct ptrace_bts_config config = {
		.size	= records * sizeof(struct bts_struct),
		.flags	= PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC,
	};

	return bts(PTRACE_BTS_CONFIG, pid, &config, sizeof(config));
}

static int pin(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(pid, sizeof(set), &set);
}

/* Up to @max CPUs this test may use; how many there are. */
static int usable_cpus(int *cpus, int max)
{
	cpu_set_t set;
	int cpu, n = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (cpu = 0; cpu < CPU_SETSIZE && n < max; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
	return n;
}

/* A child stopped at the first instruction of its body. */
static void spawn(struct __test_metadata *_metadata, struct traced *t,
		  const struct body *body, uint64_t limit, long r13, long r14)
{
	int status;

	t->body = body;
	t->limit = mmap(NULL, sizeof(*t->limit), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)t->limit);
	*t->limit = limit;

	t->pid = fork();
	ASSERT_GE(t->pid, 0);
	if (!t->pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		run_body(body->start, t->limit, r13, r14);
	}
	ASSERT_EQ(t->pid, waitpid(t->pid, &status, 0));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(SIGTRAP, WSTOPSIG(status));
	ASSERT_EQ(0, ptrace(PTRACE_SETOPTIONS, t->pid, NULL, PTRACE_O_EXITKILL));
}

static void resume(struct __test_metadata *_metadata, const struct traced *t)
{
	ASSERT_EQ(0, ptrace(PTRACE_CONT, t->pid, NULL, NULL));
}

/* Waits for the stop at the end of the body, which all others lead to. */
static void wait_for_end(struct __test_metadata *_metadata, const struct traced *t)
{
	int status, sig;

	for (;;) {
		ASSERT_EQ(t->pid, waitpid(t->pid, &status, 0));
		ASSERT_TRUE(WIFSTOPPED(status)) {
			TH_LOG("tracee ended with status %#x", status);
		}
		sig = WSTOPSIG(status);
		if (sig == SIGTRAP)
			return;
		ASSERT_EQ(SIGCHLD, sig);
		ASSERT_EQ(0, ptrace(PTRACE_CONT, t->pid, NULL, (long)sig));
	}
}

static void finish(struct __test_metadata *_metadata, const struct traced *t)
{
	int status;

	kill(t->pid, SIGKILL);
	ASSERT_EQ(t->pid, waitpid(t->pid, &status, 0));
	munmap(t->limit, sizeof(*t->limit));
}

/* Branch number @i of so many rounds; false past the last one. */
static bool expected(const struct body *b, uint64_t rounds, uint64_t i,
		     const char **from, const char **to)
{
	const char *slot = b->slots + i / 3 % NR_SLOTS * SLOT_SIZE;

	switch (i % 3) {
	case 0:
		*from = b->jump;
		*to = slot;
		break;
	case 1:
		*from = slot;
		*to = b->back;
		break;
	default:
		*from = b->again;
		*to = b->round;
	}
	return i < rounds * 3 - 1;
}

/* All records of a stopped tracee, and how many these are. */
static struct bts_struct *drain(struct __test_metadata *_metadata, pid_t pid, long *n)
{
	struct bts_struct *records;
	long ready = bts(PTRACE_BTS_SIZE, pid, NULL, 0);

	ASSERT_GE(ready, 0);
	records = calloc(ready + 1, sizeof(*records));
	ASSERT_NE(NULL, records);
	*n = bts(PTRACE_BTS_DRAIN, pid, records, (ready + 1) * sizeof(*records));
	ASSERT_EQ(ready, *n);
	return records;
}

static bool is_branch(const struct bts_struct *r, const char *from, const char *to)
{
	return (r->qualifier & BTS_QUALIFIER_MASK) == BTS_BRANCH &&
	       r->variant.lbr.from == (uintptr_t)from && r->variant.lbr.to == (uintptr_t)to;
}

/* The trace of a tracee stopped at its end is what its rounds say. */
static uint64_t check(struct __test_metadata *_metadata, const struct traced *t)
{
	struct user_regs_struct regs;
	struct bts_struct *records;
	const char *from, *to;
	long n, i;

	ASSERT_EQ(0, ptrace(PTRACE_GETREGS, t->pid, NULL, &regs));
	records = drain(_metadata, t->pid, &n);
	for (i = 0; expected(t->body, regs.rbx, i, &from, &to); i++) {
		ASSERT_LT(i, n) {
			TH_LOG("%ld records after %llu rounds", n, regs.rbx);
		}
		ASSERT_TRUE(is_branch(&records[i], from, to)) {
			TH_LOG("record %ld of %ld (round %ld/%llu): %#llx -> %#llx is not %p -> %p",
			       i, n, i / 3, regs.rbx,
			       (unsigned long long)records[i].variant.lbr.from,
			       (unsigned long long)records[i].variant.lbr.to, from, to);
		}
	}
	EXPECT_EQ(i, n) {
		TH_LOG("%ld records after %llu rounds", n, regs.rbx);
	}
	free(records);
	return regs.rbx;
}

FIXTURE(bts_switch)
{
	int cpus[2];
	int nr_cpus;
};

FIXTURE_SETUP(bts_switch)
{
	struct traced t;
	int err;

	if (geteuid())
		SKIP(return, "rings this large are for root only");

	self->nr_cpus = usable_cpus(self->cpus, 2);
	ASSERT_GT(self->nr_cpus, 0);

	spawn(_metadata, &t, &compute_0, 1, 0, 0);
	err = configure(t.pid, 1) < 0 ? errno : 0;
	finish(_metadata, &t);
	if (err == EOPNOTSUPP)
		SKIP(return, "the processor has no BTS");
	if (err == EIO)
		SKIP(return, "the kernel has no PTRACE_BTS");
	ASSERT_EQ(0, err);
}

FIXTURE_TEARDOWN(bts_switch)
{
}

/* Two tasks on one CPU that exchange a byte; one or both are traced. */
static void ping_pong(struct __test_metadata *_metadata, int cpu, bool trace_pong)
{
	const int rounds = 10000;
	struct traced ping_task, pong_task;
	int there[2], back[2];

	ASSERT_EQ(0, pipe(there));
	ASSERT_EQ(0, pipe(back));
	spawn(_metadata, &ping_task, &ping, rounds, back[0], there[1]);
	spawn(_metadata, &pong_task, &pong, rounds, there[0], back[1]);
	ASSERT_EQ(0, pin(ping_task.pid, cpu));
	ASSERT_EQ(0, pin(pong_task.pid, cpu));
	ASSERT_LE(0, configure(ping_task.pid, rounds * 3));
	if (trace_pong)
		ASSERT_LE(0, configure(pong_task.pid, rounds * 3));

	resume(_metadata, &ping_task);
	resume(_metadata, &pong_task);
	wait_for_end(_metadata, &ping_task);
	wait_for_end(_metadata, &pong_task);

	EXPECT_EQ(rounds, check(_metadata, &ping_task));
	if (trace_pong)
		EXPECT_EQ(rounds, check(_metadata, &pong_task));

	finish(_metadata, &ping_task);
	finish(_metadata, &pong_task);
}

TEST_F(bts_switch, two_traced_on_one_cpu)
{
	ping_pong(_metadata, self->cpus[0], true);
}

TEST_F(bts_switch, traced_and_untraced_on_one_cpu)
{
	ping_pong(_metadata, self->cpus[0], false);
}

/* Switched wherever the timer falls, and not where a system call is. */
TEST_F(bts_switch, preempted)
{
	const uint64_t rounds = 60000;
	struct traced t[ARRAY_SIZE(computes)], hog;
	unsigned int i;

	spawn(_metadata, &hog, &hogging, UINT64_MAX, 0, 0);
	ASSERT_EQ(0, pin(hog.pid, self->cpus[0]));
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		spawn(_metadata, &t[i], computes[i], rounds, 0, 0);
		ASSERT_EQ(0, pin(t[i].pid, self->cpus[0]));
		ASSERT_LE(0, configure(t[i].pid, rounds * 3));
	}

	resume(_metadata, &hog);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		resume(_metadata, &t[i]);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		wait_for_end(_metadata, &t[i]);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		EXPECT_EQ(rounds, check(_metadata, &t[i]));
		finish(_metadata, &t[i]);
	}
	finish(_metadata, &hog);
}

/*
 * Moves two running tasks from CPU to CPU; a round takes as long as @dawdle says:
 * many moves per record, or many records per move.
 */
static void migrate(struct __test_metadata *_metadata, const int *cpus,
		    uint64_t rounds, long dawdle)
{
	const int moves = 1000;
	struct traced t[2];
	int i;

	for (i = 0; i < 2; i++) {
		spawn(_metadata, &t[i], computes[i], rounds, dawdle, 0);
		ASSERT_LE(0, configure(t[i].pid, rounds * 3));
	}
	for (i = 0; i < 2; i++)
		resume(_metadata, &t[i]);
	for (i = 0; i < 2 * moves; i++)
		ASSERT_EQ(0, pin(t[i & 1].pid, cpus[(i & 1) ^ (i >> 1 & 1)]));
	for (i = 0; i < 2; i++)
		WRITE_ONCE(*t[i].limit, 0);
	for (i = 0; i < 2; i++)
		wait_for_end(_metadata, &t[i]);
	for (i = 0; i < 2; i++) {
		EXPECT_NE(0, check(_metadata, &t[i]));
		finish(_metadata, &t[i]);
	}
}

TEST_F(bts_switch, migrated_often)
{
	if (self->nr_cpus < 2)
		SKIP(return, "there is one CPU only");
	migrate(_metadata, self->cpus, 200000, 1000);
}

TEST_F(bts_switch, migrated_while_quick)
{
	if (self->nr_cpus < 2)
		SKIP(return, "there is one CPU only");
	migrate(_metadata, self->cpus, 300000, 0);
}

TEST_F_TIMEOUT(bts_switch, untraced_children, 120)
{
	const int rounds = 300;
	struct traced t;

	spawn(_metadata, &t, &forking, rounds, 0, 0);
	ASSERT_LE(0, configure(t.pid, rounds * 3));
	resume(_metadata, &t);
	wait_for_end(_metadata, &t);
	EXPECT_EQ(rounds, check(_metadata, &t));
	finish(_metadata, &t);
}

/* The branches of workload_next, as it says. */
static uint64_t (*next_expected(struct __test_metadata *_metadata, const char *dir,
				long *n))[2]
{
	char path[PATH_MAX + 32];
	uint64_t (*branches)[2];
	FILE *f;

	snprintf(path, sizeof(path), "%s/workload_next.expect", dir);
	f = fopen(path, "r");
	ASSERT_NE(NULL, f);
	ASSERT_EQ(0, fseek(f, 0, SEEK_END));
	*n = ftell(f) / sizeof(*branches);
	rewind(f);
	branches = calloc(*n, sizeof(*branches));
	ASSERT_NE(NULL, branches);
	ASSERT_EQ(*n, (long)fread(branches, sizeof(*branches), *n, f));
	fclose(f);
	return branches;
}

/* Traced on through exec, to the last branch before the exit. */
TEST_F(bts_switch, exec_and_exit)
{
	char self_path[PATH_MAX] = "", path[PATH_MAX + 32], *dir;
	struct bts_struct *records;
	uint64_t (*branches)[2];
	int status;
	pid_t pid;
	long n, i, nr;

	ASSERT_LT(0, readlink("/proc/self/exe", self_path, sizeof(self_path) - 1));
	dir = dirname(self_path);
	branches = next_expected(_metadata, dir, &nr);
	snprintf(path, sizeof(path), "%s/workload_next", dir);

	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		exec_body(path);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, ptrace(PTRACE_SETOPTIONS, pid, NULL,
			    PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT));
	ASSERT_LE(0, configure(pid, nr + 10));
	ASSERT_EQ(0, ptrace(PTRACE_CONT, pid, NULL, NULL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(PTRACE_EVENT_EXEC, status >> 16);
	EXPECT_EQ(1, bts(PTRACE_BTS_SIZE, pid, NULL, 0));
	ASSERT_EQ(0, ptrace(PTRACE_CONT, pid, NULL, NULL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(PTRACE_EVENT_EXIT, status >> 16);

	records = drain(_metadata, pid, &n);
	EXPECT_EQ(nr + 1, n);
	EXPECT_TRUE(is_branch(&records[0], exec_jump, exec_call));
	for (i = 0; i < nr && i + 1 < n; i++)
		ASSERT_TRUE(is_branch(&records[i + 1], (char *)branches[i][0],
				      (char *)branches[i][1])) {
			TH_LOG("branch %ld of %ld after exec", i, nr);
		}

	ASSERT_EQ(0, ptrace(PTRACE_CONT, pid, NULL, NULL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	free(records);
	free(branches);
}

TEST_HARNESS_MAIN
