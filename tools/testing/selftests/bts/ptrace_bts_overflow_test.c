// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does a buffer do that is full and does not wrap?
 *
 * The tracee stops in the way asked for, before its next user instruction, as often
 * as it is continued without being drained; and no branch is lost. What the requests
 * answer, what happens when somebody dies there, and what beside other stops, has
 * tests of its own.
 */
#include "ptrace_bts_overflow.h"

FIXTURE(overflow) { pid_t pid; uint64_t *rounds; };
FIXTURE_VARIANT(overflow) { int sig; };
FIXTURE_VARIANT_ADD(overflow, event) { 0 };
FIXTURE_VARIANT_ADD(overflow, signal) { SIGUSR1 };
FIXTURE_VARIANT_ADD(overflow, ignored_signal) { SIGCHLD };
FIXTURE_VARIANT_ADD(overflow, realtime_signal) { 40 };
FIXTURE_VARIANT_ADD(overflow, sigtrap) { SIGTRAP };

/* What only signals do; SIGTRAP, by which a run ends, is no help there. */
FIXTURE(by_signal) { pid_t pid; uint64_t *rounds; };
FIXTURE_VARIANT(by_signal) { int sig; };
FIXTURE_VARIANT_ADD(by_signal, usr1) { SIGUSR1 };
FIXTURE_VARIANT_ADD(by_signal, chld) { SIGCHLD };
FIXTURE_VARIANT_ADD(by_signal, realtime) { 40 };

FIXTURE_SETUP(overflow)
{
	setup_tracee(_metadata, &self->pid, &self->rounds);
}

FIXTURE_TEARDOWN(overflow)
{
	end_tracee(self->pid);
}

FIXTURE_SETUP(by_signal)
{
	setup_tracee(_metadata, &self->pid, &self->rounds);
}

FIXTURE_TEARDOWN(by_signal)
{
	end_tracee(self->pid);
}

TEST_F(overflow, everything)
{
	static const long sizes[] = {
		MIN_CAPACITY, MIN_CAPACITY + 1, 600, 1000, 2731, 10000,
	};
	const long rounds = 10000;
	unsigned int i;
	long stops;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_EQ(16, trace_all(self->pid, sizes[i], variant->sig));
		stops = take_run(_metadata, self->pid, variant->sig, 0, rounds);
		/* Not full is not a reason to stop. */
		EXPECT_LE(BRANCHES(0, rounds) / sizes[i], stops);
		EXPECT_GE(BRANCHES(0, rounds) / (sizes[i] - HEADROOM), stops);
	}
}

/* Runs of all lengths, so that the buffer is full wherever a run can be. */
TEST_F(overflow, runs)
{
	long end, stops = 0;

	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
	for (end = 1; end < 400; end += 1 + end / 100)
		stops += take_run(_metadata, self->pid, variant->sig, 0, end);
	EXPECT_LT(0, stops);
}

/* Short runs fill it up bit by bit. */
TEST_F(overflow, filled_in_parts)
{
	struct user_regs_struct regs;
	struct bts_struct *records;
	long length, runs, n, i;
	int status;

	for (length = 1; length < 80; length += 7) {
		const long each = BRANCHES(0, length);

		ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
		for (runs = 0; ; runs++) {
			ASSERT_GE(MIN_CAPACITY, runs * each);
			start(_metadata, self->pid, 0, length);
			ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
			if (!at_end(_metadata, self->pid))
				break;
			ASSERT_EQ(SIGTRAP, status >> 8);
			/* Again right at the end */
			if (variant->sig != SIGTRAP)
				ASSERT_FALSE(is_full_stop(self->pid, status, variant->sig));
		}
		ASSERT_TRUE(is_full_stop(self->pid, status, variant->sig));
		regs_of(_metadata, self->pid, &regs);
		records = drain(_metadata, self->pid, &n);
		EXPECT_LE(MIN_CAPACITY - HEADROOM, n);
		EXPECT_GE(MIN_CAPACITY, n);
		ASSERT_EQ(runs * each + (long)taken(&regs), n);
		for (i = 0; i < runs; i++)
			check_records(_metadata, records + i * each, each, each);
		check_records(_metadata, records + runs * each, taken(&regs), taken(&regs));
		free(records);
		resume(_metadata, self->pid, 0);
		wait_for_stop(_metadata, self->pid, SIGTRAP);
		ASSERT_TRUE(at_end(_metadata, self->pid));
	}
}

/* However it is continued, it does not come to its next instruction. */
TEST_F(overflow, not_drained)
{
	static const int how[] = {
		PTRACE_CONT, PTRACE_SINGLESTEP, PTRACE_CONT, PTRACE_SYSCALL, PTRACE_SYSEMU,
		PTRACE_SINGLESTEP, PTRACE_SINGLESTEP, PTRACE_SINGLEBLOCK,
	};
	struct user_regs_struct before, after;
	struct bts_struct record;
	uint64_t next = 0;
	unsigned int i;
	long n;

	ASSERT_EQ(16, trace_all(self->pid, 1000, variant->sig));
	run_to_full(_metadata, self->pid, variant->sig, &next);
	regs_of(_metadata, self->pid, &before);
	n = count(self->pid);
	EXPECT_LE(1000 - HEADROOM, n);
	for (i = 0; i < 5 * ARRAY_SIZE(how); i++) {
		long ret = request(how[i % ARRAY_SIZE(how)], self->pid, NULL, 0);

		if (ret == -EIO && how[i % ARRAY_SIZE(how)] == PTRACE_SINGLEBLOCK)
			continue;
		ASSERT_EQ(0, ret);
		wait_for_full(_metadata, self->pid, variant->sig);
		EXPECT_EQ(0, pending(self->pid));
		regs_of(_metadata, self->pid, &after);
		ASSERT_EQ(0, memcmp(&before, &after, sizeof(before))) {
			TH_LOG("continued by request %d: at %#llx, was at %#llx",
			       how[i % ARRAY_SIZE(how)], ip_of(&after), ip_of(&before));
		}
		/* To look is not to drain. */
		ASSERT_EQ(n, count(self->pid));
		ASSERT_EQ(24, get(self->pid, 0, &record));
		ASSERT_EQ(0, lost(self->pid));
	}

	/* Nor is anything else but a drain. */
	EXPECT_EQ(-EIO, request(PTRACE_BTS_DRAIN, self->pid, &record, RECORD));
	EXPECT_EQ(-EFAULT, request(PTRACE_BTS_DRAIN, self->pid, NULL, 1000 * RECORD));
	EXPECT_EQ(16, configure(self->pid, 0, 0));
	EXPECT_EQ(16, trace_on(self->pid, variant->sig));
	resume(_metadata, self->pid, 0);
	wait_for_full(_metadata, self->pid, variant->sig);
	regs_of(_metadata, self->pid, &after);
	ASSERT_EQ(0, memcmp(&before, &after, sizeof(before)));

	take(_metadata, self->pid, &next);
	aim_on(_metadata, self->pid, 10000);
	resume(_metadata, self->pid, 0);
	EXPECT_LT(0, take_to_end(_metadata, self->pid, variant->sig, &next, 10000));
}

/* Drained only after some more stops, and everything is there. */
TEST_F(overflow, drained_later)
{
	uint64_t next = 0;
	int i;

	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
	run_to_full(_metadata, self->pid, variant->sig, &next);
	for (i = 0; i < 300; i++) {
		if (i % 3 == 0)
			take(_metadata, self->pid, &next);
		resume(_metadata, self->pid, 0);
		wait_for_full(_metadata, self->pid, variant->sig);
	}
	take(_metadata, self->pid, &next);
	EXPECT_LT(100UL * (MIN_CAPACITY - HEADROOM), next);
	EXPECT_EQ(0, lost(self->pid));
}

/* What the debugger does not want to see, it may throw away. */
TEST_F(overflow, cleared)
{
	struct user_regs_struct regs;
	uint64_t next = 0;
	int i;

	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
	run_to_full(_metadata, self->pid, variant->sig, &next);
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(0, request(PTRACE_BTS_CLEAR, self->pid, NULL, 0));
		EXPECT_EQ(0, count(self->pid));
		regs_of(_metadata, self->pid, &regs);
		next = taken(&regs);
		resume(_metadata, self->pid, 0);
		wait_for_full(_metadata, self->pid, variant->sig);
		EXPECT_EQ(0, lost(self->pid));
	}
	EXPECT_LE(MIN_CAPACITY - HEADROOM, take(_metadata, self->pid, &next));
}

/* Another buffer instead, of any size, or one that wraps */
TEST_F(overflow, replaced)
{
	static const long sizes[] = { 1000, 1000, MIN_CAPACITY, 50000, 700 };
	struct user_regs_struct regs;
	uint64_t next = 0;
	unsigned int i;

	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
	run_to_full(_metadata, self->pid, variant->sig, &next);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_EQ(16, trace_all(self->pid, sizes[i], variant->sig));
		EXPECT_EQ(0, count(self->pid));
		EXPECT_EQ(0, lost(self->pid));
		regs_of(_metadata, self->pid, &regs);
		next = taken(&regs);
		resume(_metadata, self->pid, 0);
		wait_for_full(_metadata, self->pid, variant->sig);
		EXPECT_LE(sizes[i] - HEADROOM, count(self->pid));
		EXPECT_GE(sizes[i], count(self->pid));
	}
	EXPECT_LE(sizes[i - 1] - HEADROOM, take(_metadata, self->pid, &next));

	ASSERT_EQ(0, set_options(self->pid, 0));
	ASSERT_EQ(16, trace(self->pid, 50));
	run(_metadata, self->pid, 0, 10000);
	ASSERT_TRUE(at_end(_metadata, self->pid));
	check_drain(_metadata, self->pid, 50, 3 * 10000 - 1);
}

/* Full, and not traced: nothing happens. Traced again, it is full at once. */
TEST_F(overflow, off_and_on)
{
	struct user_regs_struct regs;
	uint64_t next = 0;
	long n;

	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
	run_to_full(_metadata, self->pid, variant->sig, &next);
	n = count(self->pid);
	ASSERT_EQ(16, configure(self->pid, 0, 0));
	run(_metadata, self->pid, 5, 5000);
	ASSERT_TRUE(at_end(_metadata, self->pid));
	EXPECT_EQ(n, count(self->pid));
	EXPECT_EQ(0, lost(self->pid));

	ASSERT_EQ(16, trace_on(self->pid, variant->sig));
	start(_metadata, self->pid, 5, 1000);
	wait_for_full(_metadata, self->pid, variant->sig);
	regs_of(_metadata, self->pid, &regs);
	EXPECT_EQ((uintptr_t)bts_round, ip_of(&regs));
	EXPECT_EQ(5U, rounds_of(&regs));
	check_drain(_metadata, self->pid, n, n);
	next = 5 * 3;
	resume(_metadata, self->pid, 0);
	EXPECT_LT(0, take_to_end(_metadata, self->pid, variant->sig, &next, 1000));

	/* Freed, it is a task like any other. */
	next = 0;
	run_to_full(_metadata, self->pid, variant->sig, &next);
	ASSERT_EQ(0, release(self->pid));
	run(_metadata, self->pid, 0, 5000);
	ASSERT_TRUE(at_end(_metadata, self->pid));
}

/* Each has its own buffer, and is stopped for that only. */
TEST_F(overflow, several_tracees)
{
	struct { pid_t pid; long capacity; uint64_t next; long stops; } t[5];
	unsigned int i, left = ARRAY_SIZE(t);
	const uint64_t end = 5000;
	int status;
	pid_t pid;
	long n;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		memset(&t[i], 0, sizeof(t[i]));
		t[i].pid = spawn(_metadata);
		t[i].capacity = MIN_CAPACITY + 100 * i;
		ASSERT_EQ(16, trace_all(t[i].pid, t[i].capacity, i % 2 ? variant->sig : 0));
		start(_metadata, t[i].pid, 0, end);
	}
	while (left) {
		pid = waitpid(-1, &status, __WALL);
		for (i = 0; i < ARRAY_SIZE(t) && t[i].pid != pid; i++)
			;
		ASSERT_LT(i, ARRAY_SIZE(t));
		ASSERT_TRUE(WIFSTOPPED(status));
		n = take(_metadata, pid, &t[i].next);
		if (status >> 8 == SIGTRAP && at_end(_metadata, pid)) {
			left--;
			continue;
		}
		ASSERT_TRUE(is_full_stop(pid, status, i % 2 ? variant->sig : 0));
		/* Not one that was on its way already before the last drain */
		t[i].stops += !!n;
		resume(_metadata, pid, 0);
	}
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		EXPECT_EQ(3 * end - 1, t[i].next);
		EXPECT_EQ(0, lost(t[i].pid));
		EXPECT_LE(BRANCHES(0, end) / t[i].capacity, t[i].stops);
		EXPECT_GE(BRANCHES(0, end) / (t[i].capacity - HEADROOM), t[i].stops);
		kill_and_reap(_metadata, t[i].pid);
	}
}

/* Attached in other ways than as a child that asked for it */
TEST_F(overflow, attached)
{
	struct user_regs_struct regs;
	uint64_t next;
	int status;

	aim(_metadata, self->pid, 0, UINT64_MAX);
	ASSERT_EQ(0, request(PTRACE_DETACH, self->pid, NULL, 0));
	ASSERT_EQ(0, request(PTRACE_ATTACH, self->pid, NULL, 0));
	wait_for_stop(_metadata, self->pid, SIGSTOP);
	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
	EXPECT_LT(0, take_run(_metadata, self->pid, variant->sig, 0, 2000));

	ASSERT_EQ(0, request(PTRACE_DETACH, self->pid, NULL, 0));
	self->pid = spawn_counting(_metadata, self->rounds);
	aim(_metadata, self->pid, 0, UINT64_MAX);
	ASSERT_EQ(0, request(PTRACE_DETACH, self->pid, NULL, 0));
	ASSERT_EQ(0, request(PTRACE_SEIZE, self->pid, NULL, PTRACE_O_EXITKILL |
			     (variant->sig ? 0 : PTRACE_O_TRACEBTS)));
	/* While it runs */
	ASSERT_EQ(16, configure(self->pid, MIN_CAPACITY * RECORD, PTRACE_BTS_O_ALLOC));
	ASSERT_EQ(16, trace_on(self->pid, variant->sig));
	wait_for_full(_metadata, self->pid, variant->sig);
	regs_of(_metadata, self->pid, &regs);
	next = taken(&regs) - count(self->pid);
	take(_metadata, self->pid, &next);
	EXPECT_LT(0, take_run(_metadata, self->pid, variant->sig, 0, 2000));
	/* A stop of another kind comes as well. */
	next = 0;
	start(_metadata, self->pid, 0, UINT64_MAX);
	ASSERT_EQ(0, request(PTRACE_INTERRUPT, self->pid, NULL, 0));
	for (;;) {
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_STOP << 8))
			break;
		ASSERT_TRUE(is_full_stop(self->pid, status, variant->sig));
		take(_metadata, self->pid, &next);
		resume(_metadata, self->pid, 0);
	}
	take(_metadata, self->pid, &next);
	EXPECT_EQ(0, lost(self->pid));
}

/* What is asked for last is what happens. */
TEST_F(by_signal, signal_before_event)
{
	ASSERT_EQ(0, set_options(self->pid, PTRACE_O_TRACEBTS));
	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
	EXPECT_LT(0, take_run(_metadata, self->pid, variant->sig, 0, 1000));
	ASSERT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
	EXPECT_LT(0, take_run(_metadata, self->pid, 0, 0, 1000));
	ASSERT_EQ(16, configure_signal(self->pid, 0, PTRACE_BTS_O_TRACE, variant->sig));
	EXPECT_LT(0, take_run(_metadata, self->pid, variant->sig, 0, 1000));
	ASSERT_EQ(16, configure_signal(self->pid, 0, PTRACE_BTS_O_TRACE, SIGUSR2));
	EXPECT_LT(0, take_run(_metadata, self->pid, SIGUSR2, 0, 1000));
}

/* A signal that the tracee blocks would not stop it. */
TEST_F(by_signal, blocked)
{
	const int sig = variant->sig;
	uint64_t next = 0;

	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, sig));
	ASSERT_EQ(0, block(self->pid, sig));
	EXPECT_LT(0, take_run(_metadata, self->pid, 0, 0, 1000));
	EXPECT_EQ(0, pending(self->pid));

	/* Blocked where it is full, and no longer */
	next = 0;
	run_to_full(_metadata, self->pid, 0, &next);
	ASSERT_EQ(0, block(self->pid, 0));
	resume(_metadata, self->pid, 0);
	wait_for_full(_metadata, self->pid, sig);
	EXPECT_EQ(0, pending(self->pid));
	ASSERT_EQ(0, block(self->pid, sig));
	resume(_metadata, self->pid, 0);
	wait_for_full(_metadata, self->pid, 0);
	EXPECT_EQ(0, pending(self->pid));
	take(_metadata, self->pid, &next);
	resume(_metadata, self->pid, 0);
	wait_for_full(_metadata, self->pid, 0);
	take(_metadata, self->pid, &next);
	ASSERT_EQ(0, block(self->pid, 0));
	EXPECT_LT(0, take_run(_metadata, self->pid, sig, 0, 1000));
}

/* Somebody else's signal of the same number is the tracee's. */
TEST_F(by_signal, sent_by_others)
{
	const int sig = variant->sig;
	const uint64_t end = 2000;
	int status, sent = 0, seen = 0;
	siginfo_t info;
	uint64_t next = 0;

	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
	start(_metadata, self->pid, 0, end);
	for (;;) {
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
		ASSERT_TRUE(WIFSTOPPED(status));
		take(_metadata, self->pid, &next);
		if (status >> 8 == SIGTRAP)
			break;
		ASSERT_EQ(0, request(PTRACE_GETSIGINFO, self->pid, NULL,
				     (unsigned long)&info));
		if (info.si_code == SI_USER) {
			ASSERT_EQ(sig, status >> 8);
			seen++;
		} else {
			ASSERT_TRUE(is_full_stop(self->pid, status, variant->sig));
			if (sent < 10) {
				ASSERT_EQ(0, kill(self->pid, sig));
				sent++;
			}
		}
		resume(_metadata, self->pid, 0);
	}
	EXPECT_EQ(10, sent);
	EXPECT_EQ(sent, seen);
	ASSERT_EQ(3 * end - 1, next);
	EXPECT_EQ(0, lost(self->pid));
}

/* One of the tracee's pending while it is full, and it is not drained */
TEST_F(overflow, pending_elsewhere)
{
	int status, usr2 = 0, realtime = 0, full = 0;
	struct user_regs_struct regs;
	uint64_t next = 0;

	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
	run_to_full(_metadata, self->pid, variant->sig, &next);
	ASSERT_EQ(0, kill(self->pid, SIGUSR2));
	ASSERT_EQ(0, kill(self->pid, 50));
	resume(_metadata, self->pid, 0);
	/* They come in some order, and so does the full buffer. */
	while (!usr2 || !realtime || full < 3) {
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
		ASSERT_TRUE(WIFSTOPPED(status));
		if (is_full_stop(self->pid, status, variant->sig)) {
			ASSERT_GT(10, ++full);
		} else if (status >> 8 == SIGUSR2) {
			usr2++;
		} else {
			ASSERT_EQ(50, status >> 8);
			realtime++;
		}
		regs_of(_metadata, self->pid, &regs);
		ASSERT_EQ((long)taken(&regs), count(self->pid));
		resume(_metadata, self->pid, 0);
	}
	EXPECT_EQ(1, usr2);
	EXPECT_EQ(1, realtime);
	wait_for_full(_metadata, self->pid, variant->sig);
	take(_metadata, self->pid, &next);
	EXPECT_EQ(0, lost(self->pid));
}

/* Handlers and dispositions, which only matter once the debugger delivers. */
static uint64_t *handled;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	*handled += 1;
	if (info->si_code != SI_KERNEL || info->si_signo != sig)
		_exit(1);
}

static pid_t spawn_with(struct __test_metadata *_metadata, int sig, int flags,
			void (*action)(int, siginfo_t *, void *))
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO | flags };
	pid_t pid = fork();

	if (!pid) {
		sa.sa_sigaction = action;
		if (!action) {
			sa.sa_flags = 0;
			sa.sa_handler = SIG_IGN;
		}
		sigaction(sig, &sa, NULL);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		bts_park(handled + 8);
	}
	wait_for_stop(_metadata, pid, SIGTRAP);
	ASSERT_EQ(0, set_options(pid, 0));
	return pid;
}

static bool in_loop(const struct bts_struct *record)
{
	return record->variant.lbr.from >= (uintptr_t)bts_round &&
	       record->variant.lbr.from < (uintptr_t)bts_end;
}

/* Take out what there is: the loop's branches are consecutive, the others a handler's. */
static long take_loop(struct __test_metadata *_metadata, pid_t pid, uint64_t *next)
{
	struct bts_struct *records;
	long n, i, others = 0;

	records = drain(_metadata, pid, &n);
	for (i = 0; i < n; i++) {
		if (!in_loop(&records[i]))
			others++;
		else
			ASSERT_TRUE(is_branch(&records[i], (*next)++));
	}
	free(records);
	return others;
}

static void deliver(struct __test_metadata *_metadata, int sig, int flags)
{
	const uint64_t end = 3000;
	uint64_t next = 0, delivered = 0;
	long others = 0;
	int status;
	pid_t pid;

	handled = shared_page();
	pid = spawn_with(_metadata, sig, flags, handler);
	ASSERT_EQ(16, trace_all(pid, MIN_CAPACITY, sig));
	start(_metadata, pid, 0, end);
	for (;;) {
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFSTOPPED(status)) {
			TH_LOG("tracee ended with status %#x", status);
		}
		others += take_loop(_metadata, pid, &next);
		if (status >> 8 == SIGTRAP && at_end(_metadata, pid))
			break;
		ASSERT_TRUE(is_full_stop(pid, status, sig));
		/* In the handler it is blocked. */
		if (is_full_event(status)) {
			resume(_metadata, pid, 0);
		} else {
			delivered += delivered < 20;
			resume(_metadata, pid, delivered < 20 ? sig : 0);
		}
	}
	EXPECT_LT(10U, delivered);
	EXPECT_EQ(19U, *handled);
	/* Its return, at least */
	EXPECT_LE(19, others);
	ASSERT_EQ(3 * end - 1, next);
	EXPECT_EQ(0, lost(pid));
	kill_and_reap(_metadata, pid);
}

TEST_F(by_signal, handled)
{
	deliver(_metadata, variant->sig, 0);
	deliver(_metadata, variant->sig, SA_NODEFER);
	deliver(_metadata, variant->sig, SA_RESTART | SA_NODEFER);
}

/* Delivered without a drain: the handler does not begin before that. */
TEST_F(by_signal, delivered_undrained)
{
	const int sig = variant->sig;
	uint64_t next = 0;
	pid_t pid;

	handled = shared_page();
	pid = spawn_with(_metadata, sig, 0, handler);
	ASSERT_EQ(16, trace_all(pid, MIN_CAPACITY, sig));
	run_to_full(_metadata, pid, sig, &next);
	resume(_metadata, pid, sig);
	/* Its frame is built, and there it is blocked. */
	wait_for_full(_metadata, pid, 0);
	EXPECT_EQ(0U, *handled);
	resume(_metadata, pid, 0);
	wait_for_full(_metadata, pid, 0);
	EXPECT_EQ(0U, *handled);
	take_loop(_metadata, pid, &next);
	resume(_metadata, pid, 0);
	wait_for_full(_metadata, pid, sig);
	EXPECT_EQ(1U, *handled);
	EXPECT_LT(0, take_loop(_metadata, pid, &next));
	EXPECT_EQ(0, lost(pid));
	kill_and_reap(_metadata, pid);
}

TEST_F(by_signal, ignored)
{
	uint64_t next = 0;
	pid_t pid;

	handled = shared_page();
	pid = spawn_with(_metadata, variant->sig, 0, NULL);
	ASSERT_EQ(16, trace_all(pid, MIN_CAPACITY, variant->sig));
	EXPECT_LT(0, take_run(_metadata, pid, variant->sig, 0, 1000));
	/* Delivered it does nothing. */
	run_to_full(_metadata, pid, variant->sig, &next);
	take(_metadata, pid, &next);
	resume(_metadata, pid, variant->sig);
	wait_for_full(_metadata, pid, variant->sig);
	take(_metadata, pid, &next);
	EXPECT_EQ(0, lost(pid));
	kill_and_reap(_metadata, pid);
}

/* Nobody handles it, and it is delivered. */
TEST_F(by_signal, default_action)
{
	uint64_t next = 0;
	int status;
	pid_t pid;

	pid = spawn(_metadata);
	ASSERT_EQ(16, trace_all(pid, MIN_CAPACITY, variant->sig));
	run_to_full(_metadata, pid, variant->sig, &next);
	resume(_metadata, pid, variant->sig);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (variant->sig != SIGCHLD) {
		EXPECT_EQ(variant->sig, status);
		return;
	}
	ASSERT_TRUE(is_full_stop(pid, status, variant->sig));
	take(_metadata, pid, &next);
	EXPECT_EQ(0, lost(pid));
	kill_and_reap(_metadata, pid);
}

TEST_HARNESS_MAIN
