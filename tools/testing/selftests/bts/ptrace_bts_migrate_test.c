// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does a tracee that changes its CPU all the time do what its debugger asks for, and at
 * once?
 *
 * A request is for the CPU on which the tracee is, and it may have left that when the
 * request gets there. All the same, what is between "on" and "off" is recorded without a
 * gap, and what is outside is not.
 */
#include "ptrace_bts.h"

/* Enough for what is recorded here, even where the host runs something else meanwhile */
#define CAPACITY	400000

/* So many branches until they look the same again */
#define PERIOD		(3 * NR_SLOTS)

FIXTURE(migrating) {
	pid_t pid, mover;
	uint64_t *rounds;
	unsigned int seed;
};

FIXTURE_SETUP(migrating)
{
	const char *why = no_bts(_metadata);
	int cpu;

	if (why)
		SKIP(return, "%s", why);
	self->rounds = shared_page();
	self->pid = spawn_counting(_metadata, self->rounds);
	if (!pin(self->pid, 0) || !pin(self->pid, 1))
		SKIP(return, "not two CPUs to move between");
	self->seed = time(NULL);
	TH_LOG("seed %u", self->seed);
	aim(_metadata, self->pid, 0, UINT64_MAX);
	seize(_metadata, self->pid);
	self->mover = fork();
	for (cpu = 0; !self->mover; cpu = !cpu)
		if (!pin(self->pid, cpu))
			_exit(0);
}

FIXTURE_TEARDOWN(migrating)
{
	end_tracee(self->pid);
	if (self->mover) {
		kill(self->mover, SIGKILL);
		waitpid(self->mover, NULL, 0);
	}
}

/* Any branches, but one after the other; of two at least one tells the round. */
static void check_sequence(struct __test_metadata *_metadata,
			   const struct bts_struct *records, long n)
{
	uint64_t end = PERIOD;

	if (n < 2)
		return;
	while (end < 2 * PERIOD && !(is_branch(&records[n - 2], end - 2) &&
				     is_branch(&records[n - 1], end - 1)))
		end++;
	ASSERT_GT(2 * PERIOD, end);
	check_records(_metadata, records, n, end + n / PERIOD * PERIOD);
}

TEST_F_TIMEOUT(migrating, on_and_off, 120)
{
	uint64_t before, on, until, off;
	struct bts_struct *records;
	long i, n, some = 0;

	ASSERT_EQ(16, configure(self->pid, CAPACITY * RECORD, PTRACE_BTS_O_ALLOC));
	for (i = 0; i < 40; i++) {
		before = READ_ONCE(*self->rounds);
		ASSERT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
		on = READ_ONCE(*self->rounds);
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, rand_r(&self->seed) % 1000));
		until = READ_ONCE(*self->rounds);
		ASSERT_EQ(16, configure(self->pid, 0, 0));
		off = READ_ONCE(*self->rounds);
		/* Long enough to be seen, were it recorded */
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, off - before + 1000));
		interrupt(_metadata, self->pid);
		records = drain(_metadata, self->pid, &n);
		check_sequence(_metadata, records, n);
		free(records);
		ASSERT_GE(3 * (off - before) + 6, (uint64_t)n);
		if (n < CAPACITY) {
			ASSERT_LE(3 * (until - on), (uint64_t)n + 6);
			some += n > 6;
		}
		resume(_metadata, self->pid, 0);
	}
	EXPECT_LT(i / 4, some);
}

/* All between two stops is there, or the last of it. */
TEST_F_TIMEOUT(migrating, stopped, 120)
{
	struct user_regs_struct regs;
	struct bts_struct record;
	uint64_t next = 0, n;
	long i, some = 0;

	interrupt(_metadata, self->pid);
	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	for (i = 0; i < 40; i++) {
		regs_of(_metadata, self->pid, &regs);
		n = taken(&regs) - next;
		if (i) {
			if (n > CAPACITY)
				n = CAPACITY;
			else
				some += n > 0;
			ASSERT_EQ((long)n, count(self->pid));
			if (n) {
				ASSERT_EQ((long)RECORD, get(self->pid, 0, &record));
				ASSERT_TRUE(is_branch(&record, taken(&regs) - 1));
			}
			check_drain(_metadata, self->pid, n, taken(&regs));
		}
		next = taken(&regs);
		resume(_metadata, self->pid, 0);
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, rand_r(&self->seed) % 1000));
		interrupt(_metadata, self->pid);
	}
	EXPECT_LT(i / 4, some);
}

/* The trace begins anew, and again, and ends. */
TEST_F_TIMEOUT(migrating, replaced_and_freed, 120)
{
	const long capacity = 100;
	int i;

	for (i = 0; i < 15; i++) {
		ASSERT_EQ(16, trace(self->pid, capacity + rand_r(&self->seed) % 1000));
		if (i % 3 == 0)
			ASSERT_EQ(0, release(self->pid));
		ASSERT_EQ(16, trace(self->pid, capacity));
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, capacity));
		interrupt(_metadata, self->pid);
		check_tail(_metadata, self->pid, capacity);
		ASSERT_EQ(16, configure(self->pid, 0, 0));
		resume(_metadata, self->pid, 0);
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, capacity));
		interrupt(_metadata, self->pid);
		ASSERT_EQ(0, count(self->pid));
		resume(_metadata, self->pid, 0);
	}
}

TEST_HARNESS_MAIN
