// SPDX-License-Identifier: GPL-2.0-only
/*
 * What if something else gets between a full buffer and the stop for it?
 *
 * Another thread ignores the signal, which takes back what was sent; or the tracee
 * stops for another reason first, and its debugger lets go of it there.
 */
#include "ptrace_bts_overflow.h"

#include <pthread.h>

FIXTURE(beside) { uint64_t *rounds; pid_t pid; unsigned int seed; };
FIXTURE_VARIANT(beside) { int sig; };
FIXTURE_VARIANT_ADD(beside, event) { 0 };
FIXTURE_VARIANT_ADD(beside, usr1) { SIGUSR1 };
FIXTURE_VARIANT_ADD(beside, chld) { SIGCHLD };
FIXTURE_VARIANT_ADD(beside, realtime) { 40 };

FIXTURE_SETUP(beside)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	self->rounds = shared_page();
	self->seed = time(NULL);
}

FIXTURE_TEARDOWN(beside)
{
	if (!self->pid)
		return;
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, __WALL);
}

static void *ignore(void *sig)
{
	for (;;)
		signal((long)sig, SIG_IGN);
	return NULL;
}

TEST_F_TIMEOUT(beside, ignored_by_another_thread, 120)
{
	const long rounds = 30000;
	pthread_t thread;

	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid) {
		pthread_create(&thread, NULL, ignore, (void *)(long)(variant->sig ?: SIGUSR2));
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		bts_park(self->rounds);
	}
	wait_for_stop(_metadata, self->pid, SIGTRAP);
	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, variant->sig));
	EXPECT_LE(BRANCHES(0, rounds) / MIN_CAPACITY,
		  take_run(_metadata, self->pid, variant->sig, 0, rounds));
}

TEST_F_TIMEOUT(beside, detached_at_another_stop, 120)
{
	const long options = PTRACE_O_EXITKILL | (variant->sig ? 0 : PTRACE_O_TRACEBTS);
	int status, others = 0, i;
	unsigned int spin;

	TH_LOG("seed %u", self->seed);
	self->pid = spawn_counting(_metadata, self->rounds);
	aim(_metadata, self->pid, 0, UINT64_MAX);
	ASSERT_EQ(0, request(PTRACE_DETACH, self->pid, NULL, 0));

	for (i = 0; i < 300; i++) {
		ASSERT_EQ(0, request(PTRACE_SEIZE, self->pid, NULL, options));
		ASSERT_EQ(16, variant->sig ?
			  configure_signal(self->pid, MIN_CAPACITY * RECORD,
					   PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC,
					   variant->sig) : trace(self->pid, MIN_CAPACITY));
		for (spin = rand_r(&self->seed) % 2000; spin; spin--)
			asm volatile("pause");
		ASSERT_EQ(0, request(PTRACE_INTERRUPT, self->pid, NULL, 0));
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, __WALL));
		ASSERT_TRUE(WIFSTOPPED(status));
		others += !is_full_stop(self->pid, status, variant->sig);
		ASSERT_EQ(0, request(PTRACE_DETACH, self->pid, NULL, 0));
		/* Neither killed nor stopped */
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 10));
	}
	EXPECT_LT(0, others);
}

TEST_HARNESS_MAIN
