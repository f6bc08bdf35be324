// SPDX-License-Identifier: GPL-2.0-only
/*
 * What if somebody goes while the tracee stands at a full buffer: the debugger, which
 * dies or lets go, or the tracee?
 *
 * Nothing hangs; who is left goes on, untraced, or dies as it would have at any other
 * stop; and the memory comes back. The debugger is another process than the test, for
 * the test is to see what becomes of its tracee.
 */
#include "ptrace_bts_call.h"
#include "ptrace_bts_memory.h"
#include "ptrace_bts_overflow.h"

#include <pthread.h>
#include <sys/prctl.h>

/* A debugger comes to the end of its tracee's buffer and does this. */
enum fate {
	KILLED,			/* SIGKILL while it waits */
	EXITS,
	EXECS,			/* and exits after that */
	DETACHES,
	CONTINUES,		/* and is killed before the tracee runs */
	DRAINS,			/* over and over, until it is killed */
};

/* One debugger after the other, and who is traced by it */
struct session {
	pid_t *pid;
	uint64_t *rounds;
	int told[2];
	int sig;
	bool exitkill;
};

FIXTURE(debugger) { struct session session; unsigned int seed; };
FIXTURE_VARIANT(debugger) { int sig; bool exitkill; };
FIXTURE_VARIANT_ADD(debugger, event) { 0, false };
FIXTURE_VARIANT_ADD(debugger, event_exitkill) { 0, true };
/* Whether its debugger had waited for the stop decides what becomes of the signal. */
FIXTURE_VARIANT_ADD(debugger, ignored_signal) { SIGWINCH, false };
FIXTURE_VARIANT_ADD(debugger, deadly_signal) { SIGUSR1, false };
FIXTURE_VARIANT_ADD(debugger, realtime_signal) { 64, false };
FIXTURE_VARIANT_ADD(debugger, signal_exitkill) { SIGWINCH, true };

FIXTURE_SETUP(debugger)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	self->session.rounds = shared_page();
	self->session.pid = shared_page();
	self->session.sig = variant->sig;
	self->session.exitkill = variant->exitkill;
	self->seed = time(NULL);
	ASSERT_EQ(0, pipe(self->session.told));
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
}

FIXTURE_TEARDOWN(debugger)
{
	if (*self->session.pid)
		kill(*self->session.pid, SIGKILL);
}

/* The debugger's life; it does not return. */
static void debug(struct __test_metadata *_metadata, const struct session *session,
		  enum fate fate)
{
	uint64_t next = 0;
	pid_t pid;

	/* So that the tracee does not run while the debugger does. */
	if (fate == CONTINUES)
		ASSERT_TRUE(pin(0, sched_getcpu()));
	*session->pid = pid = spawn_counting(_metadata, session->rounds);
	ASSERT_EQ(0, request(PTRACE_SETOPTIONS, pid, NULL,
			     (session->exitkill ? PTRACE_O_EXITKILL : 0) |
			     (session->sig ? 0 : PTRACE_O_TRACEBTS)));
	ASSERT_EQ(16, configure(pid, MIN_CAPACITY * RECORD, PTRACE_BTS_O_ALLOC));
	ASSERT_EQ(16, trace_on(pid, session->sig));
	run_to_full(_metadata, pid, session->sig, &next);

	ASSERT_EQ(1, write(session->told[1], "", 1));
	switch (fate) {
	case KILLED:
		for (;;)
			pause();
	case EXITS:
		_exit(0);
	case EXECS:
		execl("/proc/self/exe", "debugger", "--exit", NULL);
		_exit(1);
	case DETACHES:
		ASSERT_EQ(0, request(PTRACE_DETACH, pid, NULL, 0));
		_exit(!!pinned());
	case CONTINUES:
		resume(_metadata, pid, 0);
		kill(getpid(), SIGKILL);
		_exit(1);
	case DRAINS:
		for (;;) {
			take(_metadata, pid, &next);
			resume(_metadata, pid, 0);
			wait_for_full(_metadata, pid, session->sig);
		}
	}
}

/* It died of the signal that it stood there for, or was past it and runs. */
static bool ended(pid_t pid, const uint64_t *rounds, int *status)
{
	const uint64_t until = READ_ONCE(*rounds) + 1000;
	pid_t ended = 0;

	AWAIT((ended = waitpid(pid, status, WNOHANG)) || READ_ONCE(*rounds) >= until);
	return ended;
}

static void check_fate(struct __test_metadata *_metadata, const struct session *session,
		       enum fate fate, long rounds)
{
	const bool killed = fate == KILLED || fate == CONTINUES || fate == DRAINS;
	/* Delivered if the debugger was killed before it had waited for the stop */
	int status, deadly = session->sig == SIGWINCH ? 0 : session->sig;
	pid_t debugger;
	char byte;

	if (fate != CONTINUES && fate != DRAINS)
		deadly = 0;
	if (session->exitkill && fate != DETACHES)
		deadly = SIGKILL;

	WRITE_ONCE(*session->rounds, 0);
	debugger = fork();
	if (!debugger)
		debug(_metadata, session, fate);
	ASSERT_EQ(1, read(session->told[0], &byte, 1));
	if (fate == DRAINS)
		ASSERT_TRUE(AWAIT_ROUNDS(session->rounds, rounds));
	/* So that "none left" below means something. */
	if (fate == KILLED)
		EXPECT_EQ(1, buffers());
	if (fate == KILLED || fate == DRAINS)
		kill(debugger, SIGKILL);
	ASSERT_EQ(debugger, waitpid(debugger, &status, 0));
	EXPECT_EQ(killed ? SIGKILL : 0, status);

	if (deadly == SIGKILL) {
		ASSERT_EQ(*session->pid, waitpid(*session->pid, &status, 0));
		EXPECT_EQ(deadly, status);
	} else if (deadly && ended(*session->pid, session->rounds, &status)) {
		EXPECT_EQ(deadly, status);
	} else {
		EXPECT_TRUE(AWAIT(!buffers()));
		check_left_alone(_metadata, *session->pid, session->rounds);
	}
	*session->pid = 0;
	EXPECT_TRUE(AWAIT(!buffers()));
	EXPECT_TRUE(AWAIT(!pinned()));
}

TEST_F(debugger, killed)
{
	check_fate(_metadata, &self->session, KILLED, 0);
}

TEST_F(debugger, exits)
{
	check_fate(_metadata, &self->session, EXITS, 0);
}

TEST_F(debugger, execs)
{
	check_fate(_metadata, &self->session, EXECS, 0);
}

TEST_F(debugger, detaches)
{
	check_fate(_metadata, &self->session, DETACHES, 0);
}

/* Full, and not yet stopped for that again */
TEST_F(debugger, killed_after_continuing)
{
	int i;

	for (i = 0; i < 5; i++)
		check_fate(_metadata, &self->session, CONTINUES, 0);
}

/* At any moment */
TEST_F_TIMEOUT(debugger, killed_while_draining, 400)
{
	int i;

	TH_LOG("seed %u", self->seed);
	for (i = 0; i < 10; i++)
		check_fate(_metadata, &self->session, DRAINS, rand_r(&self->seed) % 1000);
}

/* The debugger stays, and its tracee goes. */
FIXTURE(tracee) { pid_t pid; uint64_t *rounds; };
FIXTURE_VARIANT(tracee) { int sig; };
FIXTURE_VARIANT_ADD(tracee, event) { 0 };
FIXTURE_VARIANT_ADD(tracee, signal) { SIGUSR1 };

FIXTURE_SETUP(tracee)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	self->rounds = shared_page();
	self->pid = spawn_counting(_metadata, self->rounds);
	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
}

FIXTURE_TEARDOWN(tracee)
{
	end_tracee(self->pid);
}

/* Nothing but its debugger, and SIGKILL, makes it go on. */
TEST_F(tracee, stays)
{
	struct user_regs_struct before, after;
	uint64_t next = 0;
	long i;

	run_to_full(_metadata, self->pid, variant->sig, &next);
	regs_of(_metadata, self->pid, &before);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, kill(self->pid, i % 2 ? SIGCONT : SIGUSR2));
		ASSERT_TRUE(pin(self->pid, i % sysconf(_SC_NPROCESSORS_ONLN)));
	}
	regs_of(_metadata, self->pid, &after);
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_EQ(0, waitpid(self->pid, NULL, WNOHANG | __WALL));
	take(_metadata, self->pid, &next);
	EXPECT_EQ(0, lost(self->pid));
}

TEST_F(tracee, killed)
{
	uint64_t next = 0;
	int i;

	for (i = 0; i < 4; i++) {
		run_to_full(_metadata, self->pid, variant->sig, &next);
		EXPECT_LT(0, pinned());
		/* On its way to the next stop, or in the stop itself */
		if (i % 2)
			resume(_metadata, self->pid, 0);
		if (i < 2) {
			kill_and_reap(_metadata, self->pid);
		} else {
			siginfo_t info;

			kill(self->pid, SIGKILL);
			ASSERT_EQ(0, waitid(P_PID, self->pid, &info, WEXITED | WNOWAIT));
			EXPECT_EQ(-ESRCH, count(self->pid));
			ASSERT_EQ(self->pid, waitpid(self->pid, NULL, 0));
		}
		EXPECT_TRUE(AWAIT(!pinned()));
		EXPECT_TRUE(AWAIT(!buffers()));
		self->pid = spawn_counting(_metadata, self->rounds);
		ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
		next = 0;
	}
}

/* What there is can be read while it exits, killed or by another signal. */
TEST_F(tracee, killed_and_drained)
{
	int status, by_signal;
	uint64_t next;

	for (by_signal = 0; by_signal < 2; by_signal++) {
		ASSERT_EQ(0, set_options(self->pid, PTRACE_O_TRACEEXIT | PTRACE_O_TRACEBTS));
		next = 0;
		run_to_full(_metadata, self->pid, variant->sig, &next);
		ASSERT_EQ(0, kill(self->pid, by_signal ? SIGTERM : SIGKILL));
		if (by_signal)
			resume(_metadata, self->pid, 0);
		for (;;) {
			ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
			ASSERT_TRUE(WIFSTOPPED(status));
			if (status >> 16 == PTRACE_EVENT_EXIT)
				break;
			resume(_metadata, self->pid, status >> 8 == SIGTERM ? SIGTERM : 0);
		}
		EXPECT_LE(MIN_CAPACITY - HEADROOM, take(_metadata, self->pid, &next));
		EXPECT_EQ(0, lost(self->pid));
		resume(_metadata, self->pid, 0);
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
		EXPECT_EQ(by_signal ? SIGTERM : SIGKILL, status);
		self->pid = spawn_counting(_metadata, self->rounds);
		ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
	}
}

TEST_F(tracee, detached_with_signal)
{
	uint64_t next = 0;
	int status;

	run_to_full(_metadata, self->pid, variant->sig, &next);
	ASSERT_EQ(0, request(PTRACE_DETACH, self->pid, NULL, variant->sig));
	EXPECT_EQ(0, pinned());
	if (variant->sig) {
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
		EXPECT_EQ(variant->sig, status);
	} else {
		check_left_alone(_metadata, self->pid, self->rounds);
	}
	EXPECT_TRUE(AWAIT(!buffers()));
}

/* Detached and attached again and again, it meets no stop of the trace before. */
TEST_F(tracee, attached_again)
{
	uint64_t next = 0;
	int i;

	for (i = 0; i < 10; i++) {
		run_to_full(_metadata, self->pid, variant->sig, &next);
		if (i % 2) {
			resume(_metadata, self->pid, 0);
			wait_for_full(_metadata, self->pid, variant->sig);
		}
		ASSERT_EQ(0, request(PTRACE_DETACH, self->pid, NULL, 0));
		EXPECT_EQ(0, pinned());
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 10));
		ASSERT_EQ(0, request(PTRACE_ATTACH, self->pid, NULL, 0));
		wait_for_stop(_metadata, self->pid, SIGSTOP);
		EXPECT_EQ(-ESRCH, count(self->pid));
		run(_metadata, self->pid, 0, 1000);
		ASSERT_TRUE(at_end(_metadata, self->pid));
		ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
		EXPECT_LT(0, take_run(_metadata, self->pid, variant->sig, 0, 1000));
		next = 0;
	}
}

/*
 * Threads: one of them stands at its full buffer, and another ends them all. Not only
 * the full one may be continued, both may.
 */
static void exec_beside(struct __test_metadata *_metadata, pid_t pid, int sig, bool by_thread,
			bool continued)
{
	struct ptrace_bts_config config;
	pid_t thread = new_thread(_metadata, pid, PTRACE_O_TRACEEXEC | PTRACE_O_TRACEBTS);
	pid_t full = by_thread ? pid : thread, caller = by_thread ? thread : pid;
	uint64_t next = 0;

	ASSERT_EQ(16, trace_all(pid, MIN_CAPACITY, sig));
	ASSERT_EQ(16, trace_all(thread, MIN_CAPACITY, sig));
	ASSERT_EQ(0, set_options(pid, PTRACE_O_TRACEEXEC | PTRACE_O_TRACEBTS));
	ASSERT_EQ(0, set_options(thread, PTRACE_O_TRACEEXEC | PTRACE_O_TRACEBTS));
	ASSERT_EQ(16, configure(caller, 2 * MIN_CAPACITY * RECORD, PTRACE_BTS_O_ALLOC));
	ASSERT_EQ(16, trace_on(caller, sig));
	run_to_full(_metadata, full, sig, &next);
	aim_call(_metadata, caller, SYS_execve, (unsigned long)path,
		 (unsigned long)args, (unsigned long)env);
	if (continued)
		resume(_metadata, full, 0);
	resume(_metadata, caller, 0);
	for (;;) {
		int status;
		pid_t who = waitpid(-1, &status, __WALL);

		/* The full one's next stop, or its end */
		if (who == pid && status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			break;
		ASSERT_EQ(full, who);
		if (WIFSTOPPED(status))
			ASSERT_TRUE(is_full_stop(who, status, sig));
	}
	/* The trace is the caller's, wherever it comes from. */
	ASSERT_EQ(16, status_of(pid, &config));
	EXPECT_EQ(2 * MIN_CAPACITY * RECORD, config.size);
	EXPECT_EQ(0, count(pid));
	tell_on_stack(_metadata, pid);
	EXPECT_LT(0, take_run(_metadata, pid, sig, 0, 1000));
	EXPECT_TRUE(AWAIT(buffers() == 1));
}

TEST_F(tracee, exec_by_thread)
{
	exec_beside(_metadata, self->pid, variant->sig, true, false);
}

TEST_F(tracee, exec_by_thread_continued)
{
	exec_beside(_metadata, self->pid, variant->sig, true, true);
}

TEST_F(tracee, exec_beside_thread)
{
	exec_beside(_metadata, self->pid, variant->sig, false, false);
}

TEST_F(tracee, exit_group_beside)
{
	pid_t thread = new_thread(_metadata, self->pid, PTRACE_O_TRACEBTS), pid;
	uint64_t next = 0;
	int status, ended = 0;

	ASSERT_EQ(16, trace_all(thread, MIN_CAPACITY, variant->sig));
	run_to_full(_metadata, thread, variant->sig, &next);
	aim_call(_metadata, self->pid, SYS_exit_group, 7, 0, 0);
	resume(_metadata, self->pid, 0);
	while (ended < 2) {
		pid = waitpid(-1, &status, __WALL);
		ASSERT_LT(0, pid);
		ASSERT_TRUE(WIFEXITED(status));
		EXPECT_EQ(7, WEXITSTATUS(status));
		ended++;
	}
	EXPECT_TRUE(AWAIT(!pinned()));
	EXPECT_TRUE(AWAIT(!buffers()));
}

/* The debugger is a thread, and its process lives on, and pays until it is gone. */
struct tracing_thread {
	struct __test_metadata *_metadata;
	uint64_t *rounds;
	pid_t pid;
	int sig;
};

static void *tracing_thread(void *arg)
{
	struct tracing_thread *thread = arg;
	struct __test_metadata *_metadata = thread->_metadata;
	uint64_t next = 0;

	thread->pid = spawn_counting(_metadata, thread->rounds);
	EXPECT_EQ(16, trace_all(thread->pid, MIN_CAPACITY, thread->sig));
	EXPECT_EQ(0, request(PTRACE_SETOPTIONS, thread->pid, NULL, PTRACE_O_TRACEBTS));
	run_to_full(_metadata, thread->pid, thread->sig, &next);
	return NULL;
}

TEST_F(tracee, tracing_thread_ends)
{
	struct tracing_thread tracing = {
		_metadata, shared_page(), 0, variant->sig ? SIGWINCH : 0
	};
	pthread_t thread;

	ASSERT_EQ(0, release(self->pid));
	ASSERT_EQ(0, pthread_create(&thread, NULL, tracing_thread, &tracing));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_TRUE(AWAIT(!pinned()));
	check_left_alone(_metadata, tracing.pid, tracing.rounds);
	EXPECT_TRUE(AWAIT(!pinned()));
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--exit"))
		return 0;
	return test_harness_run(argc, argv);
}
