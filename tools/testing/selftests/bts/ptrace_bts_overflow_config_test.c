// SPDX-License-Identifier: GPL-2.0-only
/*
 * What do the requests answer about buffers that do not wrap, and about records that
 * were lost?
 *
 * Which signals can be asked for, how large a buffer is at least, which of the two
 * ways holds for a buffer made in the other; and how many records a buffer that
 * wraps has lost.
 */
#include "ptrace_bts_overflow.h"

#define TRACE		PTRACE_BTS_O_TRACE
#define ALLOC		PTRACE_BTS_O_ALLOC
#define MIN_SIZE	(MIN_CAPACITY * RECORD)

FIXTURE(config) { pid_t pid; uint64_t *rounds; };

FIXTURE_SETUP(config)
{
	setup_tracee(_metadata, &self->pid, &self->rounds);
}

FIXTURE_TEARDOWN(config)
{
	end_tracee(self->pid);
}

static long size_of(pid_t pid)
{
	struct ptrace_bts_config config;
	long ret = status_of(pid, &config);

	return ret < 0 ? ret : (long)config.size;
}

static void check_status(struct __test_metadata *_metadata, pid_t pid, uint32_t size,
			 uint32_t flags, uint32_t sig)
{
	struct ptrace_bts_config config;

	memset(&config, 0x55, sizeof(config));
	ASSERT_EQ(24, request(PTRACE_BTS_STATUS, pid, &config, sizeof(config)));
	EXPECT_EQ(size, config.size);
	EXPECT_EQ(flags, config.flags);
	EXPECT_EQ(sig, config.signal);
	EXPECT_EQ(RECORD, config.bts_size);
	EXPECT_EQ(0U, config.lost);
}

/* Stops of job control, and what takes them back, need not be delivered. */
static bool is_good(uint32_t sig)
{
	return sig >= 1 && sig <= 64 && sig != SIGKILL && sig != SIGSTOP &&
	       sig != SIGTSTP && sig != SIGTTIN && sig != SIGTTOU && sig != SIGCONT;
}

TEST_F(config, signals)
{
	uint32_t sig, i;
	const uint32_t large[] = { 65, 128, 256 + SIGUSR1, 1U << 16, 1U << 31, UINT32_MAX };

	for (sig = 0; sig <= 64; sig++) {
		EXPECT_EQ(is_good(sig) ? 16 : -EINVAL,
			  configure_signal(self->pid, 24000, TRACE | ALLOC, sig)) {
			TH_LOG("signal %u", sig);
		}
		if (is_good(sig))
			check_status(_metadata, self->pid, 24000,
				     TRACE | PTRACE_BTS_O_SIGNAL, sig);
		else
			EXPECT_EQ(-ESRCH, size_of(self->pid));
		if (is_good(sig))
			EXPECT_EQ(0, release(self->pid));
	}
	for (i = 0; i < ARRAY_SIZE(large); i++)
		EXPECT_EQ(-EINVAL, configure_signal(self->pid, 24000, TRACE | ALLOC, large[i]));
	EXPECT_EQ(-ESRCH, size_of(self->pid));

	/* A bad one changes nothing. */
	EXPECT_EQ(16, configure_signal(self->pid, 24000, TRACE | ALLOC, SIGUSR1));
	for (sig = 0; sig <= 65; sig++) {
		if (is_good(sig))
			continue;
		EXPECT_EQ(-EINVAL, configure_signal(self->pid, 48000, TRACE | ALLOC, sig));
		EXPECT_EQ(-EINVAL, configure_signal(self->pid, 0, TRACE, sig));
		EXPECT_EQ(-EINVAL, configure_signal(self->pid, 0, 0, sig));
		check_status(_metadata, self->pid, 24000, TRACE | PTRACE_BTS_O_SIGNAL, SIGUSR1);
	}
	EXPECT_LT(0, take_run(_metadata, self->pid, SIGUSR1, 0, 2000));
}

TEST_F(config, status)
{
	EXPECT_EQ(16, configure_signal(self->pid, 24000, ALLOC, 64));
	check_status(_metadata, self->pid, 24000, PTRACE_BTS_O_SIGNAL, 64);
	EXPECT_EQ(16, configure_signal(self->pid, 0, TRACE, 64));
	check_status(_metadata, self->pid, 24000, TRACE | PTRACE_BTS_O_SIGNAL, 64);
	EXPECT_EQ(16, configure_signal(self->pid, 0, TRACE, 1));
	check_status(_metadata, self->pid, 24000, TRACE | PTRACE_BTS_O_SIGNAL, 1);
	EXPECT_EQ(16, configure(self->pid, 0, TRACE));
	check_status(_metadata, self->pid, 24000, TRACE, 0);
	/* The option is none of CONFIG's. */
	EXPECT_EQ(0, set_options(self->pid, PTRACE_O_TRACEBTS));
	check_status(_metadata, self->pid, 24000, TRACE, 0);
}

/* Less than the least is rounded up, where it does not wrap; and nothing else is. */
TEST_F(config, least_size)
{
	static const uint32_t sizes[] = {
		1, 24, 48, 1000, MIN_SIZE - 24, MIN_SIZE - 1, MIN_SIZE, MIN_SIZE + 1,
		MIN_SIZE + 23, MIN_SIZE + 24, 2 * MIN_SIZE, 100000,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		const uint32_t wraps = sizes[i] < RECORD ? RECORD : sizes[i] / RECORD * RECORD;
		const uint32_t stops = wraps < MIN_SIZE ? MIN_SIZE : wraps;

		EXPECT_EQ(0, set_options(self->pid, 0));
		EXPECT_EQ(16, configure_signal(self->pid, sizes[i], ALLOC, SIGUSR1));
		EXPECT_EQ(stops, size_of(self->pid));
		EXPECT_EQ(16, configure(self->pid, sizes[i], ALLOC));
		EXPECT_EQ(wraps, size_of(self->pid));
		EXPECT_EQ(0, set_options(self->pid, PTRACE_O_TRACEBTS));
		EXPECT_EQ(wraps, size_of(self->pid));
		EXPECT_EQ(16, configure(self->pid, sizes[i], ALLOC));
		EXPECT_EQ(stops, size_of(self->pid));
		EXPECT_EQ(16, configure_signal(self->pid, sizes[i], ALLOC, SIGUSR1));
		EXPECT_EQ(stops, size_of(self->pid));
		EXPECT_EQ(0, release(self->pid));
	}
	/* What is asked for says so, and is not rounded away. */
	EXPECT_EQ(-ESRCH, configure_signal(self->pid, 0, ALLOC, SIGUSR1));
	EXPECT_EQ(16, configure_signal(self->pid, 1, ALLOC, SIGUSR1));
	EXPECT_EQ(0, configure_signal(self->pid, 0, ALLOC, SIGUSR1));
	EXPECT_EQ(-ESRCH, size_of(self->pid));
}

TEST_F(config, signal_for_small_buffer)
{
	const long capacity = MIN_CAPACITY - 1;

	ASSERT_EQ(16, trace(self->pid, capacity));
	run(_metadata, self->pid, 0, 1000);
	EXPECT_EQ(-EINVAL, configure_signal(self->pid, 0, TRACE, SIGUSR1));
	EXPECT_EQ(-EINVAL, configure_signal(self->pid, 0, 0, SIGUSR1));
	EXPECT_EQ(-EINVAL, configure_signal(self->pid, MIN_SIZE, TRACE, SIGUSR1));
	EXPECT_EQ(BRANCHES(0, 1000) - capacity, lost(self->pid));
	check_drain(_metadata, self->pid, capacity, 3 * 1000 - 1);
	EXPECT_EQ((long)(capacity * RECORD), size_of(self->pid));
	run(_metadata, self->pid, 0, 1000);
	check_drain(_metadata, self->pid, capacity, 3 * 1000 - 1);
}

/* The option cannot make a buffer larger: one that is too small goes on wrapping. */
TEST_F(config, option_for_small_buffer)
{
	const long capacity = MIN_CAPACITY - 1;

	ASSERT_EQ(16, trace(self->pid, capacity));
	ASSERT_EQ(0, set_options(self->pid, PTRACE_O_TRACEBTS));
	run(_metadata, self->pid, 0, 1000);
	EXPECT_EQ(BRANCHES(0, 1000) - capacity, lost(self->pid));
	check_drain(_metadata, self->pid, capacity, 3 * 1000 - 1);
	EXPECT_EQ(16, configure(self->pid, 0, TRACE));
	run(_metadata, self->pid, 0, 1000);
	check_drain(_metadata, self->pid, capacity, 3 * 1000 - 1);
	EXPECT_EQ(16, trace(self->pid, capacity));
	EXPECT_LT(0, take_run(_metadata, self->pid, 0, 0, 1000));
}

/* One that is large enough stops wrapping, and begins again. */
TEST_F(config, option_for_large_buffer)
{
	const long capacity = 1000;
	int i;

	ASSERT_EQ(16, trace(self->pid, capacity));
	for (i = 0; i < 3; i++) {
		run(_metadata, self->pid, 0, 1000);
		check_drain(_metadata, self->pid, capacity, 3 * 1000 - 1);
		ASSERT_EQ(0, request(PTRACE_BTS_CLEAR, self->pid, NULL, 0));
		ASSERT_EQ(0, set_options(self->pid, PTRACE_O_TRACEBTS));
		EXPECT_LT(0, take_run(_metadata, self->pid, 0, 0, 1000));
		ASSERT_EQ(0, set_options(self->pid, 0));
	}
	for (i = 0; i < 3; i++) {
		run(_metadata, self->pid, 0, 1000);
		check_drain(_metadata, self->pid, capacity, 3 * 1000 - 1);
		ASSERT_EQ(16, configure_signal(self->pid, 0, TRACE, SIGUSR1));
		EXPECT_LT(0, take_run(_metadata, self->pid, SIGUSR1, 0, 1000));
		ASSERT_EQ(16, configure(self->pid, 0, TRACE));
	}
}

/* It wrapped, is full therefore, and is not to wrap any longer. */
TEST_F(config, wrapped_before)
{
	const long capacity = 1000;
	struct user_regs_struct regs;
	uint64_t next;
	int sig;

	for (sig = 0; sig <= SIGUSR1; sig += SIGUSR1) {
		ASSERT_EQ(0, set_options(self->pid, 0));
		ASSERT_EQ(16, trace(self->pid, capacity));
		run(_metadata, self->pid, 0, 1000);
		if (!sig)
			ASSERT_EQ(0, set_options(self->pid, PTRACE_O_TRACEBTS));
		ASSERT_EQ(16, trace_on(self->pid, sig));
		EXPECT_EQ(0, lost(self->pid));
		start(_metadata, self->pid, 1000, 3000);
		wait_for_full(_metadata, self->pid, sig);
		regs_of(_metadata, self->pid, &regs);
		EXPECT_EQ((uintptr_t)bts_round, ip_of(&regs));
		EXPECT_EQ(1000U, rounds_of(&regs));
		check_drain(_metadata, self->pid, capacity, 3 * 1000 - 1);
		next = 3 * 1000;
		resume(_metadata, self->pid, 0);
		EXPECT_LT(0, take_to_end(_metadata, self->pid, sig, &next, 3000));
	}
}

/* Cleared while it waits in a stop for a full buffer, the option's next stop is none. */
TEST_F(config, option_cleared_at_full)
{
	const uint64_t end = 3000;
	uint64_t next = 0;

	ASSERT_EQ(16, trace_all(self->pid, MIN_CAPACITY, 0));
	run_to_full(_metadata, self->pid, 0, &next);
	ASSERT_EQ(0, set_options(self->pid, 0));
	run(_metadata, self->pid, 0, end);
	ASSERT_TRUE(at_end(_metadata, self->pid));
	EXPECT_LT(0, lost(self->pid));
	check_drain(_metadata, self->pid, MIN_CAPACITY, 3 * end - 1);
}

TEST_F(config, options)
{
	EXPECT_EQ(-EINVAL, set_options(self->pid, PTRACE_O_TRACEBTS << 1));
	EXPECT_EQ(0, set_options(self->pid, PTRACE_O_TRACEBTS));
	EXPECT_EQ(0, set_options(self->pid, 0));
	/* Without a trace it means nothing. */
	EXPECT_EQ(0, set_options(self->pid, PTRACE_O_TRACEBTS));
	run(_metadata, self->pid, 0, 10000);
	ASSERT_TRUE(at_end(_metadata, self->pid));
}

/* What a buffer that wraps has lost since it was made, reconfigured or cleared */
TEST_F(config, lost)
{
	const long capacity = 50;
	long before;

	EXPECT_EQ(-ESRCH, lost(self->pid));
	ASSERT_EQ(16, trace(self->pid, capacity));
	EXPECT_EQ(0, lost(self->pid));
	run(_metadata, self->pid, 0, 17);
	EXPECT_EQ(0, lost(self->pid));
	EXPECT_EQ(50, count(self->pid));
	run(_metadata, self->pid, 0, 1);
	EXPECT_EQ(2, lost(self->pid));
	run(_metadata, self->pid, 0, 100);
	EXPECT_EQ(2 + BRANCHES(0, 100), lost(self->pid));

	/* What was drained was not lost. */
	before = lost(self->pid);
	check_drain(_metadata, self->pid, capacity, 3 * 100 - 1);
	EXPECT_EQ(before, lost(self->pid));
	run(_metadata, self->pid, 0, 17);
	EXPECT_EQ(before, lost(self->pid));
	run(_metadata, self->pid, 0, 1000);
	EXPECT_EQ(before + BRANCHES(0, 1000), lost(self->pid));

	/* Nor what was thrown away, and it counts anew. */
	EXPECT_EQ(0, request(PTRACE_BTS_CLEAR, self->pid, NULL, 0));
	EXPECT_EQ(0, lost(self->pid));
	run(_metadata, self->pid, 0, 20);
	EXPECT_EQ(BRANCHES(0, 20) - capacity, lost(self->pid));

	ASSERT_EQ(16, configure(self->pid, 0, TRACE));
	EXPECT_EQ(0, lost(self->pid));
	run(_metadata, self->pid, 0, 20);
	EXPECT_EQ(BRANCHES(0, 20), lost(self->pid));
	ASSERT_EQ(16, trace(self->pid, capacity));
	EXPECT_EQ(0, lost(self->pid));
	run(_metadata, self->pid, 0, 20);
	EXPECT_EQ(BRANCHES(0, 20) - capacity, lost(self->pid));
	ASSERT_EQ(16, configure(self->pid, 0, 0));
	EXPECT_EQ(0, lost(self->pid));
	run(_metadata, self->pid, 0, 20);
	EXPECT_EQ(0, lost(self->pid));
}

/* More than a batch of the processor's own buffer */
TEST_F(config, lost_of_many)
{
	static const long capacities[] = { 1, 7, 1000, 5000, 20000 };
	const uint64_t rounds = 20000;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(capacities); i++) {
		ASSERT_EQ(16, trace(self->pid, capacities[i]));
		run(_metadata, self->pid, 0, rounds);
		EXPECT_EQ(BRANCHES(0, rounds) - capacities[i], lost(self->pid));
		check_drain(_metadata, self->pid, capacities[i], 3 * rounds - 1);
		EXPECT_EQ(BRANCHES(0, rounds) - capacities[i], lost(self->pid));
	}
}

TEST_HARNESS_MAIN
