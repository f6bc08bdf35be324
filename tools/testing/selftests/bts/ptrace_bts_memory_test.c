// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is the memory of a trace charged to the debugger, and does it come back however
 * the trace ends?
 *
 * Where the kernel gives it back in its own time, the test waits for it; but who
 * needs the memory for another trace need not wait.
 */
#include "ptrace_bts_faults.h"
#include "ptrace_bts_memory.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static void set_limit(struct __test_metadata *_metadata, long bytes)
{
	struct rlimit limit = { bytes, bytes };

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
}

static bool ipc_lock(bool drop)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &header, caps))
		return false;
	if (!(caps[0].effective & 1 << CAP_IPC_LOCK))
		return false;
	if (!drop)
		return true;
	caps[0].effective &= ~(1 << CAP_IPC_LOCK);
	return !syscall(SYS_capset, &header, caps);
}

FIXTURE(memory) { pid_t pid; uint64_t *rounds; };

FIXTURE_SETUP(memory)
{
	setup_tracee(_metadata, &self->pid, &self->rounds);
}

FIXTURE_TEARDOWN(memory)
{
	end_tracee(self->pid);
}

#define CAPACITY	1000

/* What a trace of so many records is charged. */
static long charge_of(struct __test_metadata *_metadata, pid_t pid, long capacity)
{
	const long page = getpagesize();
	long before = pinned(), charge;

	ASSERT_EQ(16, trace(pid, capacity));
	charge = pinned() - before;
	ASSERT_LE(capacity * (long)RECORD, charge);
	ASSERT_GE(capacity * (long)RECORD + 2 * page, charge);
	ASSERT_EQ(0, charge % page);
	return charge;
}

TEST_F(memory, charged)
{
	static const long sizes[] = { 1, 170, 171, 341, 1000, 100000 };
	pid_t other = spawn(_metadata);
	long charge, others;
	unsigned int i;

	ASSERT_EQ(0, pinned());
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		charge_of(_metadata, self->pid, sizes[i]);
		ASSERT_EQ(0, release(self->pid));
		ASSERT_EQ(0, pinned());
	}

	/* Each trace on its own */
	charge = charge_of(_metadata, self->pid, 1000);
	others = charge_of(_metadata, other, 5000);
	EXPECT_EQ(charge + others, pinned());
	EXPECT_EQ(0, release(self->pid));
	EXPECT_EQ(others, pinned());

	/* Replaced, larger and smaller; then as it was */
	EXPECT_EQ(16, trace(other, 20000));
	EXPECT_LT(others, pinned());
	EXPECT_EQ(16, trace(other, 1000));
	EXPECT_EQ(charge, pinned());
	EXPECT_EQ(16, configure(other, 0, 0));
	EXPECT_EQ(16, configure(other, 0, PTRACE_BTS_O_TRACE));
	run(_metadata, other, 0, 1000);
	check_drain(_metadata, other, 1000, 3 * 1000 - 1);
	EXPECT_EQ(charge, pinned());

	kill_and_reap(_metadata, other);
	EXPECT_TRUE(AWAIT(!pinned()));
}

/* What fails is not charged. */
TEST_F(memory, failed)
{
	struct ptrace_bts_config config = {
		24000, PTRACE_BTS_O_ALLOC | PTRACE_BTS_O_SIGNAL, SIGSTOP, 0, 0,
	};
	long charge = 0;
	int configured;

	for (configured = 0; configured < 2; configured++) {
		if (configured)
			charge = charge_of(_metadata, self->pid, 1000);
		EXPECT_GT(0, request(PTRACE_BTS_CONFIG, self->pid, NULL, 16));
		EXPECT_GT(0, request(PTRACE_BTS_CONFIG, self->pid, &config, 16));
		EXPECT_GT(0, configure(self->pid, 24000, PTRACE_BTS_O_ALLOC | 0x100));
		EXPECT_GT(0, configure(self->pid, 0xfff00000, PTRACE_BTS_O_ALLOC));
		EXPECT_GT(0, configure(self->pid, UINT32_MAX, PTRACE_BTS_O_ALLOC));
		EXPECT_GT(0, trace(getpid(), 1000));
		EXPECT_EQ(charge, pinned());
	}
	start(_metadata, self->pid, 0, UINT64_MAX);
	ASSERT_EQ(0, kill(self->pid, SIGKILL));
	ASSERT_EQ(0, waitid(P_PID, self->pid, NULL, WEXITED | WNOWAIT));
	EXPECT_EQ(-ESRCH, trace(self->pid, 5000));
	EXPECT_GE(charge, pinned());
}

TEST_F(memory, detach)
{
	charge_of(_metadata, self->pid, CAPACITY);
	aim(_metadata, self->pid, 0, UINT64_MAX);
	ASSERT_EQ(0, request(PTRACE_DETACH, self->pid, NULL, 0));
	EXPECT_EQ(0, pinned());
	EXPECT_TRUE(AWAIT_ROUNDS(self->rounds, 1000));
}

TEST_F(memory, freed_while_it_runs)
{
	charge_of(_metadata, self->pid, CAPACITY);
	start(_metadata, self->pid, 0, UINT64_MAX);
	EXPECT_EQ(16, trace(self->pid, 5 * CAPACITY));
	EXPECT_LE(5 * CAPACITY * (long)RECORD, pinned());
	EXPECT_EQ(0, release(self->pid));
	EXPECT_EQ(0, pinned());
}

TEST_F(memory, tracee_exits)
{
	pid_t pid = spawn(_metadata);
	int status;

	charge_of(_metadata, pid, CAPACITY);
	run(_metadata, pid, 0, 10);
	resume(_metadata, pid, 0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(AWAIT(!pinned()));
}

TEST_F(memory, tracee_killed)
{
	uint64_t *rounds = shared_page();
	int runs;

	for (runs = 0; runs < 2; runs++) {
		pid_t pid = spawn_counting(_metadata, rounds);

		charge_of(_metadata, pid, CAPACITY);
		if (runs) {
			start(_metadata, pid, 0, UINT64_MAX);
			ASSERT_TRUE(AWAIT_ROUNDS(rounds, 100));
		}
		kill_and_reap(_metadata, pid);
		EXPECT_TRUE(AWAIT(!pinned()));
	}
}

static void *reaper(void *pid)
{
	kill(*(pid_t *)pid, SIGKILL);
	waitpid(*(pid_t *)pid, NULL, __WALL);
	return NULL;
}

TEST_F(memory, reaped_by_another_thread)
{
	pid_t pid = spawn(_metadata);
	pthread_t thread;

	charge_of(_metadata, pid, CAPACITY);
	ASSERT_EQ(0, pthread_create(&thread, NULL, reaper, &pid));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_EQ(-1, kill(pid, 0));
	EXPECT_TRUE(AWAIT(!pinned()));
}

/* CONFIG while another thread kills and reaps the tracee: at any moment */
TEST_F(memory, reaped_during_config)
{
	int i;

	for (i = 0; i < 30; i++) {
		uint64_t *rounds = shared_page();
		pid_t pid = spawn_counting(_metadata, rounds);
		pthread_t thread;
		long ret;

		if (i % 2)
			ASSERT_EQ(16, trace(pid, CAPACITY));
		start(_metadata, pid, 0, UINT64_MAX);
		ASSERT_EQ(0, pthread_create(&thread, NULL, reaper, &pid));
		do {
			ret = trace(pid, CAPACITY);
			if (i % 3 == 0 && ret == 16)
				ret = release(pid) ? -ESRCH : 16;
		} while (ret == 16);
		EXPECT_EQ(-ESRCH, ret);
		ASSERT_EQ(0, pthread_join(thread, NULL));
		munmap(rounds, getpagesize());
	}
	EXPECT_TRUE(AWAIT(!pinned()));
}

struct tracing_thread {
	struct __test_metadata *_metadata;
	uint64_t *rounds;
	pid_t pid;
};

static void *tracing_thread(void *arg)
{
	struct tracing_thread *thread = arg;
	struct __test_metadata *_metadata = thread->_metadata;

	thread->pid = spawn_counting(_metadata, thread->rounds);
	EXPECT_EQ(0, request(PTRACE_SETOPTIONS, thread->pid, NULL, 0));
	charge_of(_metadata, thread->pid, CAPACITY);
	start(_metadata, thread->pid, 0, UINT64_MAX);
	return NULL;
}

/* The mm lives on, and with it what it is charged. */
TEST_F(memory, tracing_thread_ends)
{
	struct tracing_thread tracing = { _metadata, shared_page(), 0 };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, tracing_thread, &tracing));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_TRUE(AWAIT(!pinned()));
	check_left_alone(_metadata, tracing.pid, tracing.rounds);
	EXPECT_TRUE(AWAIT(!pinned()));
}

/* Who comes after a debugger that left need not wait until all it had is back. */
TEST_F(memory, next_debugger_at_once)
{
	struct tracing_thread tracing = { _metadata, shared_page(), 0 };
	pthread_t thread;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, pthread_create(&thread, NULL, tracing_thread, &tracing));
		ASSERT_EQ(0, pthread_join(thread, NULL));
		/* Joined before it has let go of its tracee */
		ASSERT_TRUE(AWAIT(!request(PTRACE_SEIZE, tracing.pid, NULL,
					   PTRACE_O_EXITKILL)));
		ASSERT_EQ(16, trace(tracing.pid, CAPACITY));
		kill_and_reap(_metadata, tracing.pid);
		ASSERT_TRUE(AWAIT(!pinned()));
	}
}

/* Here the mm is gone when the buffer is given back. */
FIXTURE(memory_debugger) {
	pid_t debugger, *pid;
	uint64_t *rounds;
};

FIXTURE_VARIANT(memory_debugger) { bool killed, runs, exitkill; };
FIXTURE_VARIANT_ADD(memory_debugger, exits) { };
FIXTURE_VARIANT_ADD(memory_debugger, exits_while_it_runs) { .runs = true };
FIXTURE_VARIANT_ADD(memory_debugger, killed) { .killed = true };
FIXTURE_VARIANT_ADD(memory_debugger, killed_while_it_runs) { .killed = true, .runs = true };
FIXTURE_VARIANT_ADD(memory_debugger, exits_with_it) { .exitkill = true };
FIXTURE_VARIANT_ADD(memory_debugger, killed_with_it) {
	.killed = true, .runs = true, .exitkill = true
};

FIXTURE_SETUP(memory_debugger)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	self->rounds = shared_page();
	self->pid = shared_page();
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
}

FIXTURE_TEARDOWN(memory_debugger)
{
	if (*self->pid)
		kill(*self->pid, SIGKILL);
}

TEST_F(memory_debugger, dies)
{
	int told[2], go[2], status;
	char byte;

	ASSERT_EQ(0, pipe(told));
	ASSERT_EQ(0, pipe(go));
	self->debugger = fork();
	if (!self->debugger) {
		pid_t pid = spawn_counting(_metadata, self->rounds);

		*self->pid = pid;
		if (!variant->exitkill)
			request(PTRACE_SETOPTIONS, pid, NULL, 0);
		ASSERT_EQ(16, trace(pid, CAPACITY));
		aim(_metadata, pid, 0, UINT64_MAX);
		if (variant->runs)
			resume(_metadata, pid, 0);
		ASSERT_EQ(1, write(told[1], "", 1));
		while (variant->killed)
			pause();
		_exit(read(go[0], &byte, 1) != 1);
	}
	ASSERT_EQ(1, read(told[0], &byte, 1));
	if (variant->runs)
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 100));
	/* So that "none left" below means something. */
	if (!AWAIT(buffers() == 1))
		SKIP(kill(self->debugger, SIGKILL); return,
		     "/proc/vmallocinfo does not tell the kernel's buffers");
	if (variant->killed)
		kill(self->debugger, SIGKILL);
	else
		ASSERT_EQ(1, write(go[1], "", 1));
	ASSERT_EQ(self->debugger, waitpid(self->debugger, &status, 0));

	EXPECT_TRUE(AWAIT(!buffers()));
	if (variant->exitkill) {
		ASSERT_EQ(*self->pid, waitpid(*self->pid, &status, 0));
		EXPECT_EQ(SIGKILL, status);
	} else {
		check_left_alone(_metadata, *self->pid, self->rounds);
	}
	EXPECT_TRUE(AWAIT(!buffers()));
	EXPECT_TRUE(AWAIT(!pinned()));
}

/* The charge stays with the debugger when its tracee gets another mm. */
TEST_F(memory, tracee_execs)
{
	pid_t pid = fork();
	long charge;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execl("/proc/self/exe", "exec", "--help", NULL);
		_exit(1);
	}
	wait_for_stop(_metadata, pid, SIGSTOP);
	ASSERT_EQ(0, request(PTRACE_SETOPTIONS, pid, NULL,
			     PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC));
	charge = charge_of(_metadata, pid, CAPACITY);
	resume(_metadata, pid, 0);
	wait_for_stop(_metadata, pid, PTRACE_EVENT_EXEC << 8 | SIGTRAP);
	EXPECT_EQ(charge, pinned());
	EXPECT_EQ(16, trace(pid, 2 * CAPACITY));
	EXPECT_LT(charge, pinned());
	EXPECT_EQ(16, trace(pid, CAPACITY));
	EXPECT_EQ(charge, pinned());
	EXPECT_EQ(0, release(pid));
	EXPECT_EQ(0, pinned());
	charge_of(_metadata, pid, CAPACITY);
	kill_and_reap(_metadata, pid);
	EXPECT_TRUE(AWAIT(!pinned()));
}

/*
 * A debugger that gets another mm goes on with its trace. What it was charged for
 * in the old one is not given to the new one.
 */
#define CHECK(condition)	check(condition, #condition, __LINE__)

static bool check(bool passed, const char *condition, int line)
{
	if (!passed)
		fprintf(stderr, "# %s:%d: %s\n", __FILE__, line, condition);
	return passed;
}

static bool debugger_after_exec(pid_t pid)
{
	struct ptrace_bts_config config;
	struct bts_struct record;

	return CHECK(pinned() == 0) &&
	       CHECK(status_of(pid, &config) == 16 && config.size == CAPACITY * RECORD) &&
	       CHECK(count(pid) == CAPACITY) &&
	       CHECK(get(pid, 0, &record) == 24 && is_branch(&record, 3 * CAPACITY - 2)) &&
	       CHECK(trace(pid, CAPACITY) == 16) &&
	       CHECK(pinned() >= CAPACITY * (long)RECORD) &&
	       CHECK(release(pid) == 0) &&
	       CHECK(pinned() == 0);
}

TEST_F(memory, debugger_execs)
{
	pid_t debugger = fork();
	int status;

	if (!debugger) {
		pid_t pid = spawn(_metadata);
		char number[12];

		charge_of(_metadata, pid, CAPACITY);
		run(_metadata, pid, 0, CAPACITY);
		sprintf(number, "%d", pid);
		execl("/proc/self/exe", "debugger", "--after-exec", number, NULL);
		_exit(1);
	}
	ASSERT_EQ(debugger, waitpid(debugger, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(memory, limit)
{
	long charge = charge_of(_metadata, self->pid, CAPACITY);

	EXPECT_EQ(0, release(self->pid));
	if (!ipc_lock(false))
		SKIP(return, "not permitted to lock memory over the limit");

	/* No limit for who may have more */
	set_limit(_metadata, 0);
	EXPECT_EQ(16, trace(self->pid, CAPACITY));
	EXPECT_EQ(charge, pinned());
	EXPECT_EQ(0, release(self->pid));
	ASSERT_TRUE(ipc_lock(true));
	EXPECT_EQ(-ENOMEM, trace(self->pid, 1));
	EXPECT_EQ(-ESRCH, count(self->pid));
	EXPECT_EQ(-ESRCH, release(self->pid));
	EXPECT_EQ(0, pinned());
}

TEST_F(memory, at_the_limit)
{
	const long page = getpagesize();
	pid_t other = spawn(_metadata);
	struct ptrace_bts_config config;
	long charge = charge_of(_metadata, self->pid, CAPACITY);

	EXPECT_EQ(0, release(self->pid));
	set_limit(_metadata, charge);
	ipc_lock(true);

	/* To the page */
	EXPECT_EQ(-ENOMEM, trace(self->pid, CAPACITY + page / RECORD));
	EXPECT_EQ(0, pinned());
	EXPECT_EQ(16, trace(self->pid, CAPACITY));
	EXPECT_EQ(charge, pinned());

	/* It counts for all together. What is too much changes nothing. */
	EXPECT_EQ(-ENOMEM, trace(other, 1));
	EXPECT_EQ(-ESRCH, count(other));
	run(_metadata, self->pid, 0, CAPACITY);
	EXPECT_EQ(-ENOMEM, configure(self->pid, 2 * CAPACITY * RECORD, PTRACE_BTS_O_ALLOC));
	EXPECT_EQ(charge, pinned());
	ASSERT_EQ(16, status_of(self->pid, &config));
	EXPECT_EQ(CAPACITY * RECORD, config.size);
	EXPECT_EQ((uint32_t)PTRACE_BTS_O_TRACE, config.flags);
	check_drain(_metadata, self->pid, CAPACITY, 3 * CAPACITY - 1);

	/* A limit lowered later does no harm to what there is. */
	set_limit(_metadata, charge - page);
	run(_metadata, self->pid, 0, CAPACITY);
	check_drain(_metadata, self->pid, CAPACITY, 3 * CAPACITY - 1);
	EXPECT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
	EXPECT_EQ(0, release(self->pid));
	EXPECT_EQ(-ENOMEM, trace(self->pid, CAPACITY));
	EXPECT_EQ(0, pinned());
	kill_and_reap(_metadata, other);
}

/* What a tracee's end gives back is there for the next one, at once. */
TEST_F(memory, at_the_limit_again)
{
	long charge = charge_of(_metadata, self->pid, CAPACITY);
	int i;

	EXPECT_EQ(0, release(self->pid));
	set_limit(_metadata, charge);
	ipc_lock(true);
	/* Stops and requests in turn are quicker on one CPU. */
	ASSERT_TRUE(pin(0, sched_getcpu()));
	for (i = 0; i < 20; i++) {
		pid_t pid = spawn(_metadata);

		ASSERT_EQ(16, trace(pid, CAPACITY)) {
			TH_LOG("tracee %d", i);
		}
		if (i % 3 == 0) {
			aim(_metadata, pid, 0, UINT64_MAX);
			ASSERT_EQ(0, request(PTRACE_DETACH, pid, NULL, 0));
		}
		kill_and_reap(_metadata, pid);
	}
	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	EXPECT_EQ(charge, pinned());
}

TEST_F_TIMEOUT(memory, config_1000_times, 120)
{
	int i;

	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(16, trace(self->pid, CAPACITY));
		if (i % 10 == 0)
			ASSERT_EQ(0, release(self->pid));
	}
	ASSERT_EQ(0, release(self->pid));
	EXPECT_EQ(0, pinned());
}

static int cheap_tracee(void *rounds)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	bts_park(rounds);
	return 0;
}

TEST_F_TIMEOUT(memory, trace_500_tracees, 120)
{
	static char stack[65536] __aligned(16);
	long charge;
	int i;

	/* So that the processors' own memory stays, which takes its time. */
	charge = charge_of(_metadata, self->pid, CAPACITY);

	for (i = 0; i < 500; i++) {
		pid_t pid = clone(cheap_tracee, stack + sizeof(stack), CLONE_VM | SIGCHLD,
				  self->rounds);

		ASSERT_LT(0, pid);
		wait_for_stop(_metadata, pid, SIGTRAP);
		ASSERT_EQ(16, trace(pid, 10));
		kill_and_reap(_metadata, pid);
	}
	EXPECT_TRUE(AWAIT(pinned() == charge));
	EXPECT_EQ(0, release(self->pid));
	EXPECT_EQ(0, pinned());
	EXPECT_EQ(0, buffers());
}

/*
 * The allocations of a CONFIG fail: each in turn, and each with all that follow, for
 * the kernel tries again. All settings are for this task only.
 */
FIXTURE(memory_faults) { pid_t pid; };
FIXTURE_VARIANT(memory_faults) {
	/* How much may be allocated before, and the steps to try; NULL: one fault */
	const char *space;
	int step;
};

FIXTURE_VARIANT_ADD(memory_faults, one) { NULL, 1 };
FIXTURE_VARIANT_ADD(memory_faults, objects) { FAILSLAB "space", 64 };
FIXTURE_VARIANT_ADD(memory_faults, pages) { FAIL_PAGES "space", 1 };

/* Of this task in /proc */
static int fail_nth, make_it_fail;

FIXTURE_SETUP(memory_faults)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR);
	make_it_fail = open("/proc/thread-self/make-it-fail", O_RDWR);
	if (fail_nth < 0 || make_it_fail < 0 || !faults_begin())
		SKIP(return, "no fault injection");
	if (variant->space) {
		EXPECT_TRUE(write_knob(FAILSLAB "probability",
				       strstr(variant->space, FAILSLAB) ? "100" : "0"));
		EXPECT_TRUE(write_knob(FAIL_PAGES "probability",
				       strstr(variant->space, FAIL_PAGES) ? "100" : "0"));
	}
	self->pid = spawn(_metadata);
}

FIXTURE_TEARDOWN(memory_faults)
{
	faults_end();
	if (variant->space)
		write_knob(variant->space, "0");
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
}

/* CONFIG with a fault after @n allocations, or @n of @space; whether there may be one. */
static bool config_failing(struct __test_metadata *_metadata, pid_t pid,
			   const char *space, int n, long *ret)
{
	char number[12];

	if (space) {
		sprintf(number, "%d", n);
		ASSERT_TRUE(write_knob(space, number));
		write_number(_metadata, make_it_fail, 1);
		*ret = trace(pid, CAPACITY);
		write_number(_metadata, make_it_fail, 0);
		return *ret < 0;
	}
	write_number(_metadata, fail_nth, n + 1);
	*ret = trace(pid, CAPACITY);
	return has_failed(_metadata, fail_nth);
}

TEST_F(memory_faults, config)
{
	int n, failed = 0;
	bool fault = true;
	long ret;

	for (n = 0; fault; n++) {
		ASSERT_GT(10000, n);
		fault = config_failing(_metadata, self->pid, variant->space,
				       n * variant->step, &ret);
		if (fault && ret == -ENOMEM) {
			failed++;
			ASSERT_EQ(-ESRCH, count(self->pid));
			ASSERT_EQ(-ESRCH, release(self->pid));
		} else {
			/* Something the kernel can do without */
			ASSERT_EQ(16, ret);
			ASSERT_EQ(0, release(self->pid));
		}
		ASSERT_EQ(0, pinned());
	}
	TH_LOG("%d of %d faults were fatal", failed, n - 1);
	EXPECT_LT(2, failed);
	EXPECT_EQ(16, trace(self->pid, CAPACITY));
	run(_metadata, self->pid, 0, CAPACITY);
	check_drain(_metadata, self->pid, CAPACITY, 3 * CAPACITY - 1);
	EXPECT_EQ(0, release(self->pid));
	EXPECT_TRUE(AWAIT(!buffers()));
}

TEST_F(memory_faults, config_again)
{
	struct ptrace_bts_config config;
	int n, failed = 0;
	bool fault = true;
	long charge, ret;

	charge = charge_of(_metadata, self->pid, CAPACITY);
	for (n = 0; fault; n++) {
		ASSERT_GT(10000, n);
		run(_metadata, self->pid, n, n + 10);
		ASSERT_EQ(16, configure(self->pid, 0, 0));
		fault = config_failing(_metadata, self->pid, variant->space,
				       n * variant->step, &ret);
		ASSERT_EQ(16, status_of(self->pid, &config));
		if (fault && ret == -ENOMEM) {
			failed++;
			ASSERT_EQ(0U, config.flags);
			check_drain(_metadata, self->pid, BRANCHES(0, 10), 3 * (n + 10) - 1);
			ASSERT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
		} else {
			ASSERT_EQ(16, ret);
			ASSERT_EQ((uint32_t)PTRACE_BTS_O_TRACE, config.flags);
			ASSERT_EQ(0, count(self->pid));
		}
		ASSERT_EQ(charge, pinned());
	}
	TH_LOG("%d of %d faults were fatal", failed, n - 1);
	/* One fault only is not fatal here: the kernel tries once more. */
	EXPECT_EQ(!!variant->space, !!failed);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--after-exec"))
		return !debugger_after_exec(atoi(argv[2]));
	return test_harness_run(argc, argv);
}
