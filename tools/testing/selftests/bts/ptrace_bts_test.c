// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does each of the six requests do and answer, right or wrong, to a tracee in
 * whatever state?
 *
 * Memory accounting, the life of tasks and CPUs, and programs of old or of 32 bits
 * have tests of their own.
 */

#include "ptrace_bts.h"

#include <limits.h>
#include <pthread.h>

/* Where a kernel of 64 bits, or of 32 bits, has its code */
#ifdef __LP64__
#define KERNEL_ADDRESS	((void *)0xffffffff81000000)
#else
#define KERNEL_ADDRESS	((void *)0xc1000000)
#endif

/*
 * Either the requests are there, or all of them say why not. Not skipped anywhere:
 * this is the one test for machines without.
 */
TEST(there_or_not)
{
	pid_t pid = spawn(_metadata);
	struct ptrace_bts_config config = {};
	struct bts_struct record;
	long missing = trace(pid, 1);

	if (missing == -EOPNOTSUPP || missing == -EIO) {
		EXPECT_EQ(missing, status_of(pid, &config));
		EXPECT_EQ(missing, count(pid));
		EXPECT_EQ(missing, get(pid, 0, &record));
		EXPECT_EQ(missing, request(PTRACE_BTS_CLEAR, pid, NULL, 0));
		EXPECT_EQ(missing, request(PTRACE_BTS_DRAIN, pid, &record, RECORD));
		TH_LOG("%s", missing == -EIO ? "no PTRACE_BTS" : "no BTS");
	} else {
		EXPECT_EQ(16, missing);
		EXPECT_EQ(16, status_of(pid, &config));
		EXPECT_EQ(0, count(pid));
		EXPECT_EQ(-EINVAL, get(pid, 0, &record));
		EXPECT_EQ(0, request(PTRACE_BTS_CLEAR, pid, NULL, 0));
		EXPECT_EQ(0, request(PTRACE_BTS_DRAIN, pid, &record, RECORD));
	}
	/* The neighbours are not ours. */
	EXPECT_EQ(-EIO, request(39, pid, &config, sizeof(config)));
	EXPECT_EQ(-EIO, request(46, pid, &config, sizeof(config)));
	kill_and_reap(_metadata, pid);
}

FIXTURE(bts) { pid_t pid; uint64_t *rounds; };

FIXTURE_SETUP(bts)
{
	setup_tracee(_metadata, &self->pid, &self->rounds);
}

FIXTURE_TEARDOWN(bts)
{
	end_tracee(self->pid);
}

/* A ring of CAPACITY that lost some of the branches of ROUNDS. */
#define CAPACITY	50
#define ROUNDS		30
#define NR_TAKEN	BRANCHES(0, ROUNDS)

static void fill(struct __test_metadata *_metadata, pid_t pid)
{
	ASSERT_EQ(16, trace(pid, CAPACITY));
	run(_metadata, pid, 0, ROUNDS);
}

/* That ring is as it was. */
static void check_unchanged(struct __test_metadata *_metadata, pid_t pid)
{
	struct ptrace_bts_config config;
	struct bts_struct record;
	long i;

	ASSERT_EQ(16, status_of(pid, &config));
	EXPECT_EQ(CAPACITY * RECORD, config.size);
	EXPECT_EQ((uint32_t)PTRACE_BTS_O_TRACE, config.flags);
	EXPECT_EQ(0U, config.signal);
	EXPECT_EQ(RECORD, config.bts_size);
	ASSERT_EQ(CAPACITY, count(pid));
	for (i = 0; i < CAPACITY; i++) {
		ASSERT_EQ(24, get(pid, i, &record));
		ASSERT_TRUE(is_branch(&record, NR_TAKEN - 1 - i));
	}
}

/* All answer the same, where there is nothing to answer about. */
static void check_all_but_config(struct __test_metadata *_metadata, pid_t pid, long error)
{
	struct ptrace_bts_config config;
	struct bts_struct record;

	EXPECT_EQ(error, status_of(pid, &config));
	EXPECT_EQ(error, count(pid));
	EXPECT_EQ(error, get(pid, 0, &record));
	EXPECT_EQ(error, request(PTRACE_BTS_CLEAR, pid, NULL, 0));
	EXPECT_EQ(error, request(PTRACE_BTS_DRAIN, pid, &record, RECORD));
}

TEST_F(bts, config_and_free)
{
	EXPECT_EQ(16, trace(self->pid, CAPACITY));
	EXPECT_EQ(0, release(self->pid));
	check_all_but_config(_metadata, self->pid, -ESRCH);
	EXPECT_EQ(-ESRCH, release(self->pid));

	/* What else is said when freeing does not matter. */
	EXPECT_EQ(16, trace(self->pid, CAPACITY));
	EXPECT_EQ(0, configure(self->pid, 0, PTRACE_BTS_O_ALLOC | PTRACE_BTS_O_TRACE));
	check_all_but_config(_metadata, self->pid, -ESRCH);

	/* And the next trace knows nothing of the last. */
	fill(_metadata, self->pid);
	EXPECT_EQ(0, release(self->pid));
	run(_metadata, self->pid, 0, 2);
	EXPECT_EQ(16, trace(self->pid, CAPACITY));
	EXPECT_EQ(0, count(self->pid));
	run(_metadata, self->pid, 5, 10);
	check_drain(_metadata, self->pid, BRANCHES(5, 10), 3 * 10 - 1);
}

TEST_F(bts, nothing_configured)
{
	check_all_but_config(_metadata, self->pid, -ESRCH);
	EXPECT_EQ(-ESRCH, release(self->pid));
	EXPECT_EQ(-ESRCH, configure(self->pid, 0, 0));
	EXPECT_EQ(-ESRCH, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
	EXPECT_EQ(-ESRCH, configure(self->pid, CAPACITY * RECORD, 0));
	EXPECT_EQ(-ESRCH, configure(self->pid, CAPACITY * RECORD, PTRACE_BTS_O_TRACE));
	check_all_but_config(_metadata, self->pid, -ESRCH);
	/* Nor is anything traced after that. */
	run(_metadata, self->pid, 0, ROUNDS);
	check_all_but_config(_metadata, self->pid, -ESRCH);
}

TEST_F(bts, status)
{
	static const uint32_t sizes[] = {
		24, 25, 47, 48, 49, 1000, 4071, 4072, 4096, 4097, 8192, 65536, 1000000,
	};
	struct ptrace_bts_config config;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(&config, 0x55, sizeof(config));
		ASSERT_EQ(16, configure(self->pid, sizes[i], PTRACE_BTS_O_ALLOC));
		ASSERT_EQ(16, status_of(self->pid, &config));
		/* The array the program has for it is of the size requested. */
		EXPECT_EQ(sizes[i] / RECORD * RECORD, config.size);
		EXPECT_EQ(0U, config.flags);
		EXPECT_EQ(0U, config.signal);
		EXPECT_EQ(24U, config.bts_size);
	}
	ASSERT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
	ASSERT_EQ(16, status_of(self->pid, &config));
	EXPECT_EQ((uint32_t)PTRACE_BTS_O_TRACE, config.flags);
	EXPECT_EQ(1000000 / RECORD * RECORD, config.size);
	ASSERT_EQ(16, configure(self->pid, 0, 0));
	ASSERT_EQ(16, status_of(self->pid, &config));
	EXPECT_EQ(0U, config.flags);
	ASSERT_EQ(16, trace(self->pid, 1));
	ASSERT_EQ(16, status_of(self->pid, &config));
	EXPECT_EQ((uint32_t)PTRACE_BTS_O_TRACE, config.flags);
}

/* Fields that only answer, or that need a flag, may hold anything. */
TEST_F(bts, config_ignores)
{
	struct ptrace_bts_config config = {
		.size = CAPACITY * RECORD,
		.flags = PTRACE_BTS_O_ALLOC,
		.signal = 12345,
		.bts_size = 77,
		.lost = 88,
	};

	EXPECT_EQ(24, request(PTRACE_BTS_CONFIG, self->pid, &config, sizeof(config)));
	config.size = UINT32_MAX;
	config.flags = PTRACE_BTS_O_TRACE;
	EXPECT_EQ(24, request(PTRACE_BTS_CONFIG, self->pid, &config, sizeof(config)));
	run(_metadata, self->pid, 0, ROUNDS);
	check_unchanged(_metadata, self->pid);
	EXPECT_EQ(12345U, config.signal);
	EXPECT_EQ(77U, config.bts_size);
	EXPECT_EQ(88U, config.lost);
}

TEST_F(bts, get_drain_clear)
{
	struct bts_struct records[CAPACITY + 1], record;
	long i;

	fill(_metadata, self->pid);
	for (i = 0; i < CAPACITY; i++) {
		memset(&record, 0x55, sizeof(record));
		ASSERT_EQ(24, get(self->pid, i, &record));
		ASSERT_TRUE(is_branch(&record, NR_TAKEN - 1 - i));
	}
	EXPECT_EQ(CAPACITY, count(self->pid));

	/* Not a byte after the records, and room for more does not matter. */
	memset(records, 0x55, sizeof(records));
	ASSERT_EQ(CAPACITY, request(PTRACE_BTS_DRAIN, self->pid, records, sizeof(records)));
	check_records(_metadata, records, CAPACITY, NR_TAKEN);
	EXPECT_EQ(0x5555555555555555ULL, records[CAPACITY].qualifier);
	EXPECT_EQ(0, count(self->pid));
	EXPECT_EQ(-EINVAL, get(self->pid, 0, &record));
	EXPECT_EQ(0, request(PTRACE_BTS_DRAIN, self->pid, records, sizeof(records)));
	EXPECT_EQ(0, request(PTRACE_BTS_DRAIN, self->pid, NULL, 0));

	/* Goes on after being drained and after being cleared. */
	run(_metadata, self->pid, 7, 10);
	EXPECT_EQ(BRANCHES(7, 10), count(self->pid));
	EXPECT_EQ(24, get(self->pid, 0, &record));
	EXPECT_TRUE(is_branch(&record, 3 * 10 - 2));
	EXPECT_EQ(-EINVAL, get(self->pid, BRANCHES(7, 10), &record));
	EXPECT_EQ(0, request(PTRACE_BTS_CLEAR, self->pid, NULL, 0));
	EXPECT_EQ(0, count(self->pid));
	EXPECT_EQ(-EINVAL, get(self->pid, 0, &record));
	EXPECT_EQ(0, request(PTRACE_BTS_CLEAR, self->pid, NULL, 0));
	run(_metadata, self->pid, 90, 92);
	check_drain(_metadata, self->pid, BRANCHES(90, 92), 3 * 92 - 1);
}

/* Half drained before it wraps, then wrapped. */
TEST_F(bts, wrap_after_drain)
{
	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	run(_metadata, self->pid, 0, 10);
	check_drain(_metadata, self->pid, BRANCHES(0, 10), 3 * 10 - 1);
	run(_metadata, self->pid, 10, 20);
	check_drain(_metadata, self->pid, BRANCHES(10, 20), 3 * 20 - 1);
	run(_metadata, self->pid, 20, 70);
	check_drain(_metadata, self->pid, CAPACITY, 3 * 70 - 1);
	run(_metadata, self->pid, 0, 1);
	check_drain(_metadata, self->pid, BRANCHES(0, 1), 3 * 1 - 1);
}

TEST_F(bts, off_and_on)
{
	struct bts_struct *records;
	long n;

	ASSERT_EQ(16, configure(self->pid, 1000 * RECORD, PTRACE_BTS_O_ALLOC));
	run(_metadata, self->pid, 0, 10);
	EXPECT_EQ(0, count(self->pid));
	ASSERT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
	EXPECT_EQ(0, count(self->pid));
	run(_metadata, self->pid, 10, 20);
	EXPECT_EQ(BRANCHES(10, 20), count(self->pid));

	/* Off keeps what there is, and adds nothing. */
	ASSERT_EQ(16, configure(self->pid, 0, 0));
	EXPECT_EQ(BRANCHES(10, 20), count(self->pid));
	run(_metadata, self->pid, 20, 30);
	EXPECT_EQ(BRANCHES(10, 20), count(self->pid));
	ASSERT_EQ(16, configure(self->pid, 0, 0));

	/* On adds to it, also when it is on. */
	ASSERT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
	run(_metadata, self->pid, 30, 40);
	ASSERT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
	run(_metadata, self->pid, 40, 50);

	records = drain(_metadata, self->pid, &n);
	ASSERT_EQ(3 * BRANCHES(0, 10), n);
	check_records(_metadata, records, BRANCHES(0, 10), 3 * 20 - 1);
	check_records(_metadata, records + BRANCHES(0, 10), BRANCHES(0, 10), 3 * 40 - 1);
	check_records(_metadata, records + 2 * BRANCHES(0, 10), BRANCHES(0, 10), 3 * 50 - 1);
	free(records);
}

TEST_F(bts, alloc_again)
{
	struct ptrace_bts_config config;

	fill(_metadata, self->pid);
	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	EXPECT_EQ(0, count(self->pid));
	run(_metadata, self->pid, 3, 6);
	EXPECT_EQ(BRANCHES(3, 6), count(self->pid));

	/* Smaller, larger, and with tracing off. */
	ASSERT_EQ(16, trace(self->pid, 2));
	run(_metadata, self->pid, 6, 9);
	check_drain(_metadata, self->pid, 2, 3 * 9 - 1);
	ASSERT_EQ(16, trace(self->pid, 5000));
	run(_metadata, self->pid, 0, 1500);
	ASSERT_EQ(BRANCHES(0, 1500), count(self->pid));
	ASSERT_EQ(16, configure(self->pid, CAPACITY * RECORD, PTRACE_BTS_O_ALLOC));
	EXPECT_EQ(0, count(self->pid));
	run(_metadata, self->pid, 0, 9);
	EXPECT_EQ(0, count(self->pid));
	ASSERT_EQ(16, status_of(self->pid, &config));
	EXPECT_EQ(CAPACITY * RECORD, config.size);
	EXPECT_EQ(0U, config.flags);
}

/* More branches than fit: GET and DRAIN tell the last ones, and of the same. */
TEST_F(bts, wrap)
{
	/* 171 records do not fit a page; the others meet its end at other places. */
	static const long sizes[] = { 1, 2, 3, 7, 16, 17, 170, 171, 341, 512, 513, 2000 };
	const uint64_t rounds = 1700, end = 3 * rounds - 1;
	struct bts_struct *records, record;
	unsigned int s;
	long i, n;

	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		ASSERT_EQ(16, trace(self->pid, sizes[s]));
		run(_metadata, self->pid, 0, rounds);
		ASSERT_EQ(sizes[s], count(self->pid));
		records = calloc(sizes[s], RECORD);
		for (i = 0; i < sizes[s]; i++)
			ASSERT_EQ(24, get(self->pid, i, &records[sizes[s] - 1 - i]));
		EXPECT_EQ(-EINVAL, get(self->pid, sizes[s], &record));
		check_records(_metadata, records, sizes[s], end);
		free(records);
		records = drain(_metadata, self->pid, &n);
		ASSERT_EQ(sizes[s], n);
		check_records(_metadata, records, n, end);
		free(records);
	}
}

/* Exactly full, one less, and one more. */
TEST_F(bts, full)
{
	const long n = BRANCHES(0, 20);

	ASSERT_EQ(16, trace(self->pid, n));
	run(_metadata, self->pid, 0, 20);
	check_drain(_metadata, self->pid, n, 3 * 20 - 1);
	ASSERT_EQ(16, trace(self->pid, n + 1));
	run(_metadata, self->pid, 0, 20);
	check_drain(_metadata, self->pid, n, 3 * 20 - 1);
	ASSERT_EQ(16, trace(self->pid, n - 1));
	run(_metadata, self->pid, 0, 20);
	check_drain(_metadata, self->pid, n - 1, 3 * 20 - 1);
}

/* A whole trace of many times what the processor's own buffer holds. */
TEST_F(bts, long_trace)
{
	const uint64_t rounds = 20000;

	ASSERT_EQ(16, trace(self->pid, 3 * rounds));
	run(_metadata, self->pid, 0, rounds);
	check_drain(_metadata, self->pid, BRANCHES(0, rounds), 3 * rounds - 1);
}

TEST_F(bts, config_size)
{
	struct {
		struct ptrace_bts_config config;
		char tail[8192];
	} large = { .config = { CAPACITY * RECORD, 0xb, 0, 0 } };
	const long page = getpagesize();
	long i;

	large.config.flags = PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC;
	EXPECT_EQ(-EIO, request(PTRACE_BTS_CONFIG, self->pid, &large, 0));
	EXPECT_EQ(-EIO, request(PTRACE_BTS_CONFIG, self->pid, &large, 15));
	EXPECT_EQ(-E2BIG, request(PTRACE_BTS_CONFIG, self->pid, &large, page + 1));
#ifdef __LP64__
	EXPECT_EQ(-E2BIG, request(PTRACE_BTS_CONFIG, self->pid, &large, 1UL << 32));
	EXPECT_EQ(-E2BIG, request(PTRACE_BTS_CONFIG, self->pid, &large, (1UL << 32) + 16));
#endif
	EXPECT_EQ(-E2BIG, request(PTRACE_BTS_CONFIG, self->pid, &large, -1UL));
	check_all_but_config(_metadata, self->pid, -ESRCH);

	EXPECT_EQ(16, request(PTRACE_BTS_CONFIG, self->pid, &large, 16));
	/* A part of a field is as good as none of it. */
	for (i = 17; i < 24; i++)
		EXPECT_EQ(i, request(PTRACE_BTS_CONFIG, self->pid, &large, i));
	EXPECT_EQ(24, request(PTRACE_BTS_CONFIG, self->pid, &large, 24));
	EXPECT_EQ(24, request(PTRACE_BTS_CONFIG, self->pid, &large, 25));
	EXPECT_EQ(24, request(PTRACE_BTS_CONFIG, self->pid, &large, 32));
	EXPECT_EQ(24, request(PTRACE_BTS_CONFIG, self->pid, &large, page));
	run(_metadata, self->pid, 0, ROUNDS);

	/* A tail of a later kernel's structure, at its beginning and its end. */
	large.tail[0] = 1;
	EXPECT_EQ(-E2BIG, request(PTRACE_BTS_CONFIG, self->pid, &large, 25));
	EXPECT_EQ(-E2BIG, request(PTRACE_BTS_CONFIG, self->pid, &large, 32));
	large.tail[0] = 0;
	large.tail[7] = 1;
	EXPECT_EQ(-E2BIG, request(PTRACE_BTS_CONFIG, self->pid, &large, 32));
	large.tail[7] = 0;
	large.tail[page - 25] = 1;
	EXPECT_EQ(-E2BIG, request(PTRACE_BTS_CONFIG, self->pid, &large, page));
	check_unchanged(_metadata, self->pid);
	EXPECT_EQ(24, request(PTRACE_BTS_CONFIG, self->pid, &large, page - 1));
	EXPECT_EQ(0, count(self->pid));
	/* What is not in what was given is not looked at. */
	memset(large.tail, 1, sizeof(large.tail));
	large.config.lost = -1ULL;
	for (i = 16; i <= 24; i++)
		EXPECT_EQ(i, request(PTRACE_BTS_CONFIG, self->pid, &large, i));
}

TEST_F(bts, status_size)
{
	char page[8192];
	struct ptrace_bts_config *config = (void *)page;
	unsigned int i;

	fill(_metadata, self->pid);
	EXPECT_EQ(-EIO, request(PTRACE_BTS_STATUS, self->pid, page, 0));
	EXPECT_EQ(-EIO, request(PTRACE_BTS_STATUS, self->pid, page, 15));
	EXPECT_EQ(-E2BIG, request(PTRACE_BTS_STATUS, self->pid, page, getpagesize() + 1));
#ifdef __LP64__
	EXPECT_EQ(-E2BIG, request(PTRACE_BTS_STATUS, self->pid, page, (1UL << 32) + 16));
#endif
	EXPECT_EQ(-E2BIG, request(PTRACE_BTS_STATUS, self->pid, page, -1UL));

	/* What a later kernel would know more is not touched. */
	memset(page, 0x55, sizeof(page));
	EXPECT_EQ(24, request(PTRACE_BTS_STATUS, self->pid, page, getpagesize()));
	EXPECT_EQ(CAPACITY * RECORD, config->size);
	EXPECT_EQ((uint32_t)PTRACE_BTS_O_TRACE, config->flags);
	EXPECT_EQ(0U, config->signal);
	EXPECT_EQ(24U, config->bts_size);
	EXPECT_EQ(NR_TAKEN - CAPACITY, (long)config->lost);
	for (i = 24; i < sizeof(page); i++)
		ASSERT_EQ(0x55, page[i]);
	/* Nor what this program does not know. */
	for (i = 16; i <= 24; i++) {
		memset(page, 0x55, sizeof(page));
		EXPECT_EQ(i, request(PTRACE_BTS_STATUS, self->pid, page, i));
		EXPECT_EQ(24U, config->bts_size);
		EXPECT_EQ(0x55, page[i]);
	}
	EXPECT_EQ(24, request(PTRACE_BTS_STATUS, self->pid, page, 32));
	EXPECT_EQ(0x55, page[24]);
}

TEST_F(bts, flags)
{
	const uint32_t good = PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC;
	struct ptrace_bts_config config;
	int configured, bit;

	/* With nothing configured, and with something to leave as it is. */
	for (configured = 0; configured < 2; configured++) {
		if (configured)
			fill(_metadata, self->pid);

		for (bit = 4; bit < 32; bit++) {
			EXPECT_EQ(-EINVAL, configure(self->pid, 48, 1U << bit));
			EXPECT_EQ(-EINVAL, configure(self->pid, 48, good | 1U << bit));
			EXPECT_EQ(-EINVAL, configure(self->pid, 0,
						     PTRACE_BTS_O_ALLOC | 1U << bit));
		}
		EXPECT_EQ(-EINVAL, configure(self->pid, 48, -1U));

		config = (struct ptrace_bts_config) { 48, good | PTRACE_BTS_O_SIGNAL, 0, 0 };
		EXPECT_EQ(-EINVAL, request(PTRACE_BTS_CONFIG, self->pid, &config, 16));
		config.signal = 65;
		EXPECT_EQ(-EINVAL, request(PTRACE_BTS_CONFIG, self->pid, &config, 16));
		config.signal = -1U;
		EXPECT_EQ(-EINVAL, request(PTRACE_BTS_CONFIG, self->pid, &config, 16));
		config.flags |= PTRACE_BTS_O_SCHED;
		EXPECT_EQ(-EINVAL, request(PTRACE_BTS_CONFIG, self->pid, &config, 16));

		if (configured)
			check_unchanged(_metadata, self->pid);
		else
			check_all_but_config(_metadata, self->pid, -ESRCH);
	}
}

/* What is not there yet says so, and no more. */
TEST_F(bts, not_supported)
{
	const uint32_t good = PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC;
	struct ptrace_bts_config config = {
		48, good | PTRACE_BTS_O_SIGNAL | PTRACE_BTS_O_SCHED, SIGUSR1, 0, 0
	};
	int configured;

	for (configured = 0; configured < 2; configured++) {
		if (configured)
			fill(_metadata, self->pid);

		EXPECT_EQ(-EOPNOTSUPP, configure(self->pid, 48, good | PTRACE_BTS_O_SCHED));
		EXPECT_EQ(-EOPNOTSUPP, configure(self->pid, 48, PTRACE_BTS_O_SCHED));
		EXPECT_EQ(-EOPNOTSUPP, request(PTRACE_BTS_CONFIG, self->pid, &config, 16));

		if (configured)
			check_unchanged(_metadata, self->pid);
		else
			check_all_but_config(_metadata, self->pid, -ESRCH);
	}
}

TEST_F(bts, bad_pointers)
{
	const long page = getpagesize();
	char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *bad[] = { NULL, KERNEL_ADDRESS, (void *)-8UL, pages + 2 * page,
			/* the last bytes that are there */
			pages + 2 * page - 8 };
	struct ptrace_bts_config config = { 48, PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC, 0, 0 };
	unsigned int i;

	ASSERT_TRUE(pages != MAP_FAILED);
	ASSERT_EQ(0, munmap(pages + 2 * page, page));

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EFAULT, request(PTRACE_BTS_CONFIG, self->pid, bad[i], 16));
	check_all_but_config(_metadata, self->pid, -ESRCH);

	fill(_metadata, self->pid);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EFAULT, request(PTRACE_BTS_CONFIG, self->pid, bad[i], 16));
		EXPECT_EQ(-EFAULT, request(PTRACE_BTS_STATUS, self->pid, bad[i], 16));
		EXPECT_EQ(-EFAULT, get(self->pid, 0, bad[i]));
		EXPECT_EQ(-EFAULT, request(PTRACE_BTS_DRAIN, self->pid, bad[i],
					   CAPACITY * RECORD));
	}
	/* A structure that is there but for its tail. */
	memcpy(pages + 2 * page - 20, &config, 16);
	EXPECT_EQ(-EFAULT, request(PTRACE_BTS_CONFIG, self->pid, pages + 2 * page - 20, 24));
	check_unchanged(_metadata, self->pid);

	/* A size that is wrong is wrong with a bad pointer, too. */
	EXPECT_EQ(-EIO, request(PTRACE_BTS_CONFIG, self->pid, NULL, 15));
	EXPECT_EQ(-EIO, request(PTRACE_BTS_STATUS, self->pid, NULL, 15));
	EXPECT_EQ(-EIO, request(PTRACE_BTS_DRAIN, self->pid, NULL, 0));
	EXPECT_EQ(-EINVAL, get(self->pid, CAPACITY, NULL));

	/* Memory that can be read only. */
	ASSERT_EQ(0, mprotect(pages, page, PROT_READ));
	EXPECT_EQ(-EFAULT, request(PTRACE_BTS_STATUS, self->pid, pages, 16));
	EXPECT_EQ(-EFAULT, get(self->pid, 0, (void *)pages));
	EXPECT_EQ(-EFAULT, request(PTRACE_BTS_DRAIN, self->pid, pages, CAPACITY * RECORD));
	/* An array of which all but the last byte is there. */
	EXPECT_EQ(-EFAULT, request(PTRACE_BTS_DRAIN, self->pid,
				   pages + 2 * page - CAPACITY * RECORD + 1,
				   CAPACITY * RECORD));
	check_unchanged(_metadata, self->pid);
	/* And one that just fits. */
	ASSERT_EQ(CAPACITY, request(PTRACE_BTS_DRAIN, self->pid,
				    pages + 2 * page - CAPACITY * RECORD, CAPACITY * RECORD));
	check_records(_metadata, (void *)(pages + 2 * page - CAPACITY * RECORD), CAPACITY,
		      NR_TAKEN);
}

TEST_F(bts, get_index)
{
	static const unsigned long bad[] = {
		CAPACITY, CAPACITY + 1, NR_TAKEN, INT32_MAX, UINT32_MAX, LONG_MAX,
		LONG_MIN, -1UL, -(unsigned long)CAPACITY,
#ifdef __LP64__
		1UL << 32, (1UL << 32) + 1,
#endif
	};
	struct bts_struct record = { .qualifier = 0x55 };
	unsigned int i;

	fill(_metadata, self->pid);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, get(self->pid, bad[i], &record)) {
			TH_LOG("index %#lx", bad[i]);
		}
	EXPECT_EQ(0x55U, record.qualifier);
	check_unchanged(_metadata, self->pid);
}

TEST_F(bts, drain_size)
{
	static const unsigned long small[] = {
		0, 1, RECORD, (CAPACITY - 1) * RECORD, CAPACITY * RECORD - 1,
	};
	struct bts_struct records[CAPACITY];
	unsigned int i;

	fill(_metadata, self->pid);
	memset(records, 0x55, sizeof(records));
	for (i = 0; i < ARRAY_SIZE(small); i++)
		EXPECT_EQ(-EIO, request(PTRACE_BTS_DRAIN, self->pid, records, small[i]));
	EXPECT_EQ(0x5555555555555555ULL, records[0].qualifier);
	check_unchanged(_metadata, self->pid);

	/* Not a multiple of a record, and more than there can be. */
	EXPECT_EQ(CAPACITY, request(PTRACE_BTS_DRAIN, self->pid, records,
				    CAPACITY * RECORD + 23));
	check_records(_metadata, records, CAPACITY, NR_TAKEN);
	fill(_metadata, self->pid);
	EXPECT_EQ(CAPACITY, request(PTRACE_BTS_DRAIN, self->pid, records, -1UL));
	check_records(_metadata, records, CAPACITY, NR_TAKEN);
}

/* A buffer no machine has */
TEST_F(bts, too_large)
{
	fill(_metadata, self->pid);
	EXPECT_EQ(-ENOMEM, configure(self->pid, 0xfff00000,
				     PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC));
	EXPECT_EQ(-ENOMEM, configure(self->pid, UINT32_MAX,
				     PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC));
	check_unchanged(_metadata, self->pid);
}

TEST_F(bts, tracee_runs)
{
	fill(_metadata, self->pid);
	start(_metadata, self->pid, 0, UINT64_MAX);
	check_all_but_config(_metadata, self->pid, -ESRCH);
	EXPECT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
}

/* Debuggers of others, and others of the same debugger */
static void not_the_tracer(struct __test_metadata *_metadata, pid_t pid)
{
	check_all_but_config(_metadata, pid, -ESRCH);
	EXPECT_EQ(-ESRCH, trace(pid, 1));
	EXPECT_EQ(-ESRCH, release(pid));
	EXPECT_EQ(-ESRCH, configure(pid, 0, 0));
}

struct other_thread {
	struct __test_metadata *_metadata;
	pid_t pid;
};

static void *other_thread(void *arg)
{
	struct other_thread *other = arg;

	not_the_tracer(other->_metadata, other->pid);
	return NULL;
}

TEST_F(bts, not_the_tracer)
{
	struct other_thread other = { _metadata, self->pid };
	pthread_t thread;
	pid_t child;

	fill(_metadata, self->pid);
	child = fork();
	if (!child) {
		not_the_tracer(_metadata, self->pid);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, other_thread, &other));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	check_unchanged(_metadata, self->pid);

	/* A child that nobody traces, oneself, and nobody */
	child = fork();
	if (!child)
		for (;;)
			pause();
	not_the_tracer(_metadata, child);
	kill_and_reap(_metadata, child);
	not_the_tracer(_metadata, child);
	not_the_tracer(_metadata, getpid());
}

TEST_F(bts, zombie)
{
	siginfo_t info;

	fill(_metadata, self->pid);
	kill(self->pid, SIGKILL);
	ASSERT_EQ(0, waitid(P_PID, self->pid, &info, WEXITED | WNOWAIT));
	check_all_but_config(_metadata, self->pid, -ESRCH);
	EXPECT_EQ(-ESRCH, trace(self->pid, 1));
	EXPECT_EQ(-ESRCH, configure(self->pid, 0, 0));
	EXPECT_EQ(-ESRCH, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
	ASSERT_EQ(self->pid, waitpid(self->pid, NULL, 0));
	EXPECT_EQ(-ESRCH, trace(self->pid, 1));
}

TEST_F(bts, attached_again)
{
	fill(_metadata, self->pid);
	aim(_metadata, self->pid, 0, UINT64_MAX);
	ASSERT_EQ(0, request(PTRACE_DETACH, self->pid, NULL, 0));
	not_the_tracer(_metadata, self->pid);
	ASSERT_EQ(0, request(PTRACE_ATTACH, self->pid, NULL, 0));
	wait_for_stop(_metadata, self->pid, SIGSTOP);
	check_all_but_config(_metadata, self->pid, -ESRCH);
	fill(_metadata, self->pid);
	check_unchanged(_metadata, self->pid);
}

/*
 * CONFIG of a tracee that runs. It is never stopped but by PTRACE_INTERRUPT; how
 * far it is, its rounds tell.
 */
FIXTURE(bts_running) { pid_t pid; uint64_t *rounds; };
FIXTURE_VARIANT(bts_running) { bool one_cpu; };
FIXTURE_VARIANT_ADD(bts_running, anywhere) { .one_cpu = false };
FIXTURE_VARIANT_ADD(bts_running, one_cpu) { .one_cpu = true };

FIXTURE_SETUP(bts_running)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	if (variant->one_cpu)
		ASSERT_TRUE(pin(0, sched_getcpu()));
	self->rounds = shared_page();
	self->pid = spawn_counting(_metadata, self->rounds);
	aim(_metadata, self->pid, 0, UINT64_MAX);
	seize(_metadata, self->pid);
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 100));
}

FIXTURE_TEARDOWN(bts_running)
{
	end_tracee(self->pid);
}

TEST_F(bts_running, on)
{
	const long capacity = 1000;
	struct user_regs_struct regs;

	ASSERT_EQ(16, trace(self->pid, capacity));
	check_all_but_config(_metadata, self->pid, -ESRCH);
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, capacity));
	interrupt(_metadata, self->pid);
	regs_of(_metadata, self->pid, &regs);
	check_drain(_metadata, self->pid, capacity, taken(&regs));

	resume(_metadata, self->pid, 0);
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, capacity));
	interrupt(_metadata, self->pid);
	regs_of(_metadata, self->pid, &regs);
	check_drain(_metadata, self->pid, capacity, taken(&regs));
}

/* Recorded from when CONFIG returns, and not from before it was called. */
TEST_F(bts_running, on_at_once)
{
	uint64_t before, after, capacity = 400000;
	struct user_regs_struct regs;
	struct bts_struct *records;
	long n;

	/* The buffer takes its time, and is there when it is to go on. */
	ASSERT_EQ(16, configure(self->pid, capacity * RECORD, PTRACE_BTS_O_ALLOC));
	before = READ_ONCE(*self->rounds);
	ASSERT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
	after = READ_ONCE(*self->rounds);
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 10));
	interrupt(_metadata, self->pid);
	regs_of(_metadata, self->pid, &regs);
	records = drain(_metadata, self->pid, &n);
	check_records(_metadata, records, n, taken(&regs));
	free(records);
	EXPECT_GE(3 * (rounds_of(&regs) - before) + 3, (uint64_t)n);
	if ((uint64_t)n < capacity)
		EXPECT_LE(3 * (rounds_of(&regs) - after) - 3, (uint64_t)n);
}

TEST_F(bts_running, off)
{
	struct user_regs_struct regs;
	uint64_t before, after;
	long n;

	ASSERT_EQ(16, configure(self->pid, 400000 * RECORD, PTRACE_BTS_O_ALLOC));
	before = READ_ONCE(*self->rounds);
	ASSERT_EQ(16, configure(self->pid, 0, PTRACE_BTS_O_TRACE));
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 10));
	ASSERT_EQ(16, configure(self->pid, 0, 0));
	after = READ_ONCE(*self->rounds);
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 10000));
	interrupt(_metadata, self->pid);
	n = count(self->pid);
	EXPECT_LT(0, n);
	EXPECT_GE(3 * (after - before) + 6, (uint64_t)n);

	/* And it stays off. */
	resume(_metadata, self->pid, 0);
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 100));
	interrupt(_metadata, self->pid);
	EXPECT_EQ(n, count(self->pid));
	regs_of(_metadata, self->pid, &regs);
	EXPECT_LT(after, rounds_of(&regs));
}

TEST_F(bts_running, replaced)
{
	const long capacity = 100;
	struct user_regs_struct regs;
	int i;

	for (i = 0; i < 60; i++)
		ASSERT_EQ(16, trace(self->pid, capacity + i % 7 * 1000));
	ASSERT_EQ(16, trace(self->pid, capacity));
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, capacity));
	interrupt(_metadata, self->pid);
	regs_of(_metadata, self->pid, &regs);
	check_drain(_metadata, self->pid, capacity, taken(&regs));

	/* An empty one, and off */
	resume(_metadata, self->pid, 0);
	ASSERT_EQ(16, configure(self->pid, capacity * RECORD, PTRACE_BTS_O_ALLOC));
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 100));
	interrupt(_metadata, self->pid);
	EXPECT_EQ(0, count(self->pid));
}

TEST_F(bts_running, freed)
{
	const long capacity = 100;
	struct user_regs_struct regs;
	int i;

	for (i = 0; i < 6; i++) {
		ASSERT_EQ(16, trace(self->pid, capacity));
		ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, i % 2 * 100));
		ASSERT_EQ(0, release(self->pid));
		ASSERT_EQ(-ESRCH, release(self->pid));
	}
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 100));
	interrupt(_metadata, self->pid);
	check_all_but_config(_metadata, self->pid, -ESRCH);
	ASSERT_EQ(16, trace(self->pid, capacity));
	EXPECT_EQ(0, count(self->pid));
	resume(_metadata, self->pid, 0);
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, 100));
	interrupt(_metadata, self->pid);
	regs_of(_metadata, self->pid, &regs);
	check_drain(_metadata, self->pid, capacity, taken(&regs));
}

/* A request that fails does no harm to a tracee that runs, either. */
TEST_F(bts_running, failing)
{
	const long capacity = 100;
	struct user_regs_struct regs;

	ASSERT_EQ(16, trace(self->pid, capacity));
	EXPECT_EQ(-EFAULT, request(PTRACE_BTS_CONFIG, self->pid, NULL, 16));
	EXPECT_EQ(-EINVAL, configure(self->pid, 48, 0x10));
	EXPECT_EQ(-EOPNOTSUPP, configure(self->pid, 48, PTRACE_BTS_O_SCHED));
	EXPECT_EQ(-ENOMEM, configure(self->pid, 0xfff00000, PTRACE_BTS_O_ALLOC));
	ASSERT_TRUE(AWAIT_ROUNDS(self->rounds, capacity));
	interrupt(_metadata, self->pid);
	regs_of(_metadata, self->pid, &regs);
	check_drain(_metadata, self->pid, capacity, taken(&regs));
}

/* Killed in the middle of CONFIGs that come one after the other */
TEST_F(bts_running, killed)
{
	siginfo_t info;
	int i;

	ASSERT_EQ(16, trace(self->pid, 100));
	ASSERT_EQ(0, kill(self->pid, SIGKILL));
	for (i = 0; i < 1000; i++) {
		long ret = i % 2 ? trace(self->pid, 100) : configure(self->pid, 0, 1);

		if (ret != 16) {
			EXPECT_EQ(-ESRCH, ret);
			break;
		}
	}
	ASSERT_EQ(0, waitid(P_PID, self->pid, &info, WEXITED | WNOWAIT));
	EXPECT_EQ(-ESRCH, trace(self->pid, 100));
}

TEST_HARNESS_MAIN
