// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is anything left after a trace was begun and ended a thousand times, at any point?
 *
 * Every trace is of a task of its own, in a buffer of any size and kind, and ends in
 * one of all ways that there are. BTS_CYCLES in the environment is another number of
 * them, BTS_SEED makes the same choices again.
 */
#include "ptrace_bts_memory.h"
#include "ptrace_bts_overflow.h"

FIXTURE(cycles) { uint64_t *rounds; unsigned int seed, nr; };

static unsigned int number(const char *name, unsigned int otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

FIXTURE_SETUP(cycles)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	self->rounds = shared_page();
	self->nr = number("BTS_CYCLES", 1000);
	self->seed = number("BTS_SEED", time(NULL));
	TH_LOG("%u cycles, seed %u", self->nr, self->seed);
}

FIXTURE_TEARDOWN(cycles)
{
}

/* Goes on until it is at a full buffer; drains there as often as told. */
static void run_on(struct __test_metadata *_metadata, pid_t pid, int sig, int drains)
{
	uint64_t next = 0;
	int i;

	run_to_full(_metadata, pid, sig, &next);
	for (i = 0; i < drains; i++) {
		take(_metadata, pid, &next);
		resume(_metadata, pid, 0);
		wait_for_full(_metadata, pid, sig);
	}
}

/* It ends by itself, or is killed, and is gone. */
static void reap(struct __test_metadata *_metadata, pid_t pid, bool by_kill)
{
	int status;

	if (by_kill)
		kill(pid, SIGKILL);
	do {
		ASSERT_EQ(pid, waitpid(pid, &status, __WALL));
	} while (WIFSTOPPED(status));
}

static void cycle(struct __test_metadata *_metadata, uint64_t *rounds, unsigned int *seed)
{
	static const int signals[] = { 0, 0, SIGUSR1, 40, SIGWINCH };
	const int sig = signals[rand_r(seed) % ARRAY_SIZE(signals)];
	const unsigned int size = 1 + rand_r(seed) % (rand_r(seed) % 2 ? 600 : 5000);
	const unsigned int drains = rand_r(seed) % 4;
	/* Not as far as the smallest buffer lets it go. */
	const unsigned int further = rand_r(seed) % 80;
	pid_t pid = spawn_counting(_metadata, rounds);

	WRITE_ONCE(*rounds, 0);
	ASSERT_EQ(16, trace_all(pid, size, sig));
	switch (rand_r(seed) % 12) {
	case 0:		/* before it ran */
		break;
	case 1:		/* stopped, with something in the buffer */
		run(_metadata, pid, 0, 1 + rand_r(seed) % 80);
		break;
	case 2:		/* running */
		start(_metadata, pid, 0, UINT64_MAX);
		break;
	case 3:		/* the same, and further */
		start(_metadata, pid, 0, UINT64_MAX);
		ASSERT_TRUE(AWAIT(READ_ONCE(*rounds) >= further));
		break;
	case 4:
		run_on(_metadata, pid, sig, drains);
		break;
	case 5:		/* full, on its way to stop again */
		run_on(_metadata, pid, sig, drains);
		resume(_metadata, pid, 0);
		break;
	case 6:		/* drained, and continued */
		run_on(_metadata, pid, sig, drains);
		ASSERT_EQ(0, request(PTRACE_BTS_CLEAR, pid, NULL, 0));
		resume(_metadata, pid, 0);
		break;
	case 7:
		run_on(_metadata, pid, sig, drains);
		ASSERT_EQ(0, release(pid));
		resume(_metadata, pid, 0);
		break;
	case 8:
		run_on(_metadata, pid, sig, drains);
		ASSERT_EQ(0, request(PTRACE_DETACH, pid, NULL, 0));
		break;
	case 9:		/* other buffers, while it runs */
		start(_metadata, pid, 0, UINT64_MAX);
		ASSERT_EQ(16, configure(pid, size * RECORD, PTRACE_BTS_O_ALLOC));
		ASSERT_EQ(16, trace_on(pid, size < MIN_CAPACITY ? 0 : sig));
		ASSERT_EQ(16, configure(pid, 0, 0));
		break;
	case 10:	/* a signal that ends it there */
		run_on(_metadata, pid, sig, drains);
		resume(_metadata, pid, SIGTERM);
		break;
	default:	/* its own end */
		ASSERT_LT(0, take_run(_metadata, pid, sig, 0, 5000));
		resume(_metadata, pid, 0);
		reap(_metadata, pid, false);
		return;
	}
	reap(_metadata, pid, true);
}

TEST_F_TIMEOUT(cycles, nothing_left, 540)
{
	unsigned int i;

	ASSERT_EQ(0, pinned());
	for (i = 0; i < self->nr; i++) {
		cycle(_metadata, self->rounds, &self->seed);
		/* All that are ended by now; the next need not wait for that. */
		if (i % 100 == 0)
			ASSERT_TRUE(AWAIT(!pinned() && !buffers())) {
				TH_LOG("after cycle %u: %ld bytes pinned, %d buffers",
				       i, pinned(), buffers());
			}
	}
	EXPECT_TRUE(AWAIT(!pinned()));
	EXPECT_TRUE(AWAIT(!buffers()));
}

TEST_HARNESS_MAIN
