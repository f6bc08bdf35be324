// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is a trace complete where the machine sleeps meanwhile, as deep as it can?
 *
 * On each CPU a task is traced, and so is the one that sends the machine to sleep. None
 * of their branches may be missing, added or out of order. Each test goes one step
 * further (/sys/power/pm_test); the last one is suspend to RAM, where the processors lose
 * their MSRs, until an alarm.
 *
 * Not run with the other tests, for it takes the machine away from them. And not all of a
 * virtual machine wakes up: virtio-9p does not from the second step on. So this program
 * runs from memory, and opens no file but those of the kernel.
 */
#include "ptrace_bts_call.h"
#include "ptrace_bts_overflow.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/timerfd.h>

#define POWER		"/sys/power/"
#define DELAY		"/sys/module/suspend/parameters/pm_test_delay"
#define MAX_CPUS	8
#define CAPACITY	20000
/* Before and after the sleep, at least */
#define ROUNDS		CAPACITY
/* Until the alarm; in less the machine may not be asleep by then. */
#define ASLEEP_SECONDS	4

static const char mem[] = "mem";

struct traced {
	pid_t pid;
	uint64_t *rounds;
	/* Its branches up to this one have been taken out. */
	uint64_t next;
};

struct machine {
	struct traced running[MAX_CPUS], sleeper;
	/* CPUs, and /sys/power/state */
	int nr, state;
};

FIXTURE(suspend) { struct machine machine; };
FIXTURE_VARIANT(suspend) { const char *pm_test; };
FIXTURE_VARIANT_ADD(suspend, freezer) { "freezer" };
FIXTURE_VARIANT_ADD(suspend, devices) { "devices" };
FIXTURE_VARIANT_ADD(suspend, platform) { "platform" };
FIXTURE_VARIANT_ADD(suspend, processors) { "processors" };
FIXTURE_VARIANT_ADD(suspend, core) { "core" };
FIXTURE_VARIANT_ADD(suspend, to_ram) { "none" };

static void spawn_traced(struct __test_metadata *_metadata, struct traced *t)
{
	t->rounds = shared_page();
	t->next = 0;
	t->pid = spawn_counting(_metadata, t->rounds);
	ASSERT_EQ(16, trace_all(t->pid, CAPACITY, 0));
}

FIXTURE_SETUP(suspend)
{
	const char *why = no_bts(_metadata);

	self->machine.nr = sysconf(_SC_NPROCESSORS_ONLN);
	self->machine.state = open(POWER "state", O_WRONLY | O_CLOEXEC);
	if (why)
		SKIP(return, "%s", why);
	if (self->machine.state < 0 || !write_knob(POWER "mem_sleep", "deep"))
		SKIP(return, "the machine cannot be suspended to RAM");
	ASSERT_GE(MAX_CPUS, self->machine.nr);
	if (!write_knob(DELAY, "0") || !write_knob(POWER "pm_test", variant->pm_test))
		SKIP(return, "the kernel cannot test how it is suspended");
}

FIXTURE_TEARDOWN(suspend)
{
	write_knob(POWER "pm_test", "none");
	write_knob(DELAY, "5");
}

/* The time that the machine was asleep, in seconds */
static double asleep(void)
{
	struct timespec boot;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	return boot.tv_sec + boot.tv_nsec / 1e9 - seconds();
}

/* Wait for a stop of any tracee; if it is for its full buffer, empty that. */
static struct traced *wait_for_any(struct __test_metadata *_metadata,
				   struct machine *machine, bool *full)
{
	struct traced *t = &machine->sleeper;
	int status, i;
	pid_t pid;

	pid = waitpid(-1, &status, __WALL);
	for (i = 0; i < machine->nr; i++)
		if (machine->running[i].pid == pid)
			t = &machine->running[i];
	ASSERT_EQ(t->pid, pid);
	*full = is_full_event(status);
	if (*full) {
		take(_metadata, pid, &t->next);
		ASSERT_EQ(0, lost(pid));
	} else {
		ASSERT_EQ(t, &machine->sleeper);
		ASSERT_EQ(SIGTRAP, status >> 8);
	}
	return t;
}

/* All of them run, until each has done @more rounds and is stopped at a full buffer. */
static void run_all(struct __test_metadata *_metadata, struct machine *machine,
		    uint64_t more)
{
	uint64_t until[MAX_CPUS];
	int i, left = machine->nr;
	bool full;

	for (i = 0; i < machine->nr; i++) {
		until[i] = READ_ONCE(*machine->running[i].rounds) + more;
		resume(_metadata, machine->running[i].pid, 0);
	}
	while (left) {
		struct traced *t = wait_for_any(_metadata, machine, &full);

		i = t - machine->running;
		if (READ_ONCE(*t->rounds) >= until[i])
			left--;
		else
			resume(_metadata, t->pid, 0);
	}
}

/* The sleeper asks for it, while the others run; what it is told. */
static long sleep_once(struct __test_metadata *_metadata, struct machine *machine)
{
	struct user_regs_struct regs;
	int i, left = machine->nr;
	bool full, awake = false;
	struct traced *t;

	for (i = 0; i < machine->nr; i++)
		resume(_metadata, machine->running[i].pid, 0);
	aim_call(_metadata, machine->sleeper.pid, SYS_write, machine->state,
		 (unsigned long)mem, strlen(mem));
	resume(_metadata, machine->sleeper.pid, 0);

	/* Each is stopped once it had a full buffer after that. */
	while (!awake || left) {
		t = wait_for_any(_metadata, machine, &full);
		if (t == &machine->sleeper)
			awake = true;
		else if (awake)
			left--;
		else
			resume(_metadata, t->pid, 0);
	}
	regs_of(_metadata, machine->sleeper.pid, &regs);
	return regs.rax;
}

TEST_F_TIMEOUT(suspend, goes_on, 120)
{
	const bool to_ram = !strcmp(variant->pm_test, "none");
	struct itimerspec alarm = { .it_value.tv_sec = ASLEEP_SECONDS };
	struct traced *sleeper = &self->machine.sleeper, later;
	double before = asleep();
	int i, timer, tries = 0;
	long ret;

	timer = timerfd_create(CLOCK_BOOTTIME_ALARM, TFD_CLOEXEC);
	if (to_ram && timer < 0)
		SKIP(return, "the machine has no alarm");
	for (i = 0; i < self->machine.nr; i++) {
		spawn_traced(_metadata, &self->machine.running[i]);
		ASSERT_TRUE(pin(self->machine.running[i].pid, i));
		aim(_metadata, self->machine.running[i].pid, 0, UINT64_MAX);
	}
	spawn_traced(_metadata, sleeper);
	run_all(_metadata, &self->machine, ROUNDS);
	take_run(_metadata, sleeper->pid, 0, 0, ROUNDS);

	/* Whatever wakes it up may come before it sleeps. */
	do {
		if (to_ram)
			ASSERT_EQ(0, timerfd_settime(timer, 0, &alarm, NULL));
		ret = sleep_once(_metadata, &self->machine);
	} while (ret == -EBUSY && tries++ < 10);
	ASSERT_EQ((long)strlen(mem), ret);
	if (to_ram)
		EXPECT_LT(1, asleep() - before);

	/* All go on, and those who come later are traced, too. */
	EXPECT_EQ(0, count(sleeper->pid));
	take_run(_metadata, sleeper->pid, 0, 0, ROUNDS);
	run_all(_metadata, &self->machine, ROUNDS);
	for (i = 0; i < self->machine.nr; i++) {
		spawn_traced(_metadata, &later);
		ASSERT_TRUE(pin(later.pid, i));
		take_run(_metadata, later.pid, 0, 0, ROUNDS);
		kill_and_reap(_metadata, later.pid);
		kill_and_reap(_metadata, self->machine.running[i].pid);
	}
	kill_and_reap(_metadata, sleeper->pid);
}

/* Become the same program, in memory. */
static void leave_file(char **argv)
{
	int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int copy = memfd_create("bts_suspend_test", MFD_CLOEXEC);

	while (sendfile(copy, program, NULL, 1 << 20) > 0)
		;
	setenv("BTS_SUSPEND_IN_MEMORY", "1", 1);
	fexecve(copy, argv, environ);
	perror("bts_suspend_test");
	exit(1);
}

int main(int argc, char **argv)
{
	if (!getenv("BTS_SUSPEND_IN_MEMORY"))
		leave_file(argv);
	return test_harness_run(argc, argv);
}
