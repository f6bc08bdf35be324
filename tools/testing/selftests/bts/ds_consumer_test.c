// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do consumers of branches within the kernel get what they were promised when they
 * are full: with spare buffers, with a start out of a work item, with a task that
 * waits; and when somebody dies or leaves meanwhile?
 *
 * /dev/ds_test is the consumer; ds_test_tracee.h is its tracee, whose branches have a
 * number each.
 */
#include "ds_test_device.h"
#include "ds_test_tracee.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "../kselftest_harness.h"

#define PER_ROUND	5
#define ROUNDS		10000
/* For buffers that are full after every few branches */
#define FEW_ROUNDS	300
/* All that have numbers of their own */
#define MANY_ROUNDS	65536
#define FOREVER		UINT64_MAX
/* What so many rounds take; the last does not go back. */
#define BRANCHES(rounds)	(PER_ROUND * (rounds) - 1)

#define TIMEOUT		150

static bool is_branch(const struct ds_test_branch *branch, uint64_t number)
{
	uint64_t round = number / PER_ROUND;
	const char *slot = ds_slots + (round & 0xff) * 8;
	const char *slot2 = ds_slots2 + (round >> 8 & 0xff) * 8;
	const char *const ends[PER_ROUND][2] = {
		{ ds_jump, slot }, { slot, ds_back }, { ds_jump2, slot2 }, { slot2, ds_back2 },
		{ ds_again, ds_round },
	};
	const char *const *end = ends[number % PER_ROUND];

	return branch->from == (uintptr_t)end[0] && branch->to == (uintptr_t)end[1];
}

/* Did the branch stay in the rounds? */
static bool is_inside(const struct ds_test_branch *branch)
{
	return branch->from >= (uintptr_t)ds_round && branch->from < (uintptr_t)ds_end &&
	       branch->to >= (uintptr_t)ds_round && branch->to < (uintptr_t)ds_end;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Waits, not for ever, until a condition is true; whether it became true. */
#define AWAIT(condition) ({				\
	double give_up = seconds() + 60;		\
	bool is_true;					\
	while (!(is_true = (condition)) && seconds() < give_up) \
		sched_yield();				\
	is_true;					\
})

static bool pin(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(pid, sizeof(set), &set);
}

/* A task and who traces it */
struct consumer {
	struct ds_test_config	config;
	int			fd, pidfd, go;
	bool			stopped;	/* at the task's end, without our doing */
	struct ds_test_stats	stats;
	struct ds_test_branch	*branches;
	size_t			nr, size;
	bool			complete;	/* all are there */
};

static void reset(struct consumer *c)
{
	free(c->branches);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
	c->pidfd = -1;
	c->go = -1;
}

/* A child that waits before its first round. */
static void spawn(struct __test_metadata *_metadata, struct consumer *c, uint64_t rounds,
		  long call)
{
	int go[2];
	pid_t pid;
	char byte;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		ds_test_tracee(go[0], rounds, call);
	close(go[0]);
	ASSERT_EQ(1, read(go[1], &byte, 1));
	c->go = go[1];
	c->config.tid = pid;
	c->pidfd = syscall(SYS_pidfd_open, pid, 0);
	ASSERT_LE(0, c->pidfd);
	c->fd = ds_test_open();
	ASSERT_LE(0, c->fd);
}

/* Let it go its rounds. */
static void go(struct __test_metadata *_metadata, const struct consumer *c)
{
	ASSERT_EQ(1, write(c->go, "", 1));
}

static void start(struct __test_metadata *_metadata, const struct consumer *c)
{
	ASSERT_EQ(0, ds_test_start(c->fd, &c->config));
	go(_metadata, c);
}

static struct ds_test_stats stats_of(const struct consumer *c)
{
	struct ds_test_stats stats;

	if (ds_test_stats(c->fd, &stats))
		abort();
	return stats;
}

/* The letter that ps shows */
static char state_of(pid_t pid)
{
	char name[32], line[256] = "", *end;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	fd = open(name, O_RDONLY);
	if (fd < 0 || read(fd, line, sizeof(line) - 1) < 0)
		abort();
	close(fd);
	end = strrchr(line, ')');
	return end ? end[2] : 0;
}

static void read_some(struct __test_metadata *_metadata, struct consumer *c)
{
	ssize_t n;

	if (c->size - c->nr < 4096) {
		c->size = 2 * c->size + 8192;
		c->branches = realloc(c->branches, c->size * sizeof(*c->branches));
		ASSERT_NE(NULL, c->branches);
	}
	/* An odd number, to end anywhere in a buffer. */
	n = read(c->fd, c->branches + c->nr, 1001 * sizeof(*c->branches));
	ASSERT_LE(0, n) {
		TH_LOG("read: %s", strerror(errno));
	}
	ASSERT_EQ(0, n % sizeof(*c->branches));
	c->nr += n / sizeof(*c->branches);
	c->complete = !n;
}

static void read_rest(struct __test_metadata *_metadata, struct consumer *c)
{
	struct ds_test_stats stats = stats_of(c);

	c->stopped = stats.stopped;
	ASSERT_EQ(0, ds_test_stop(c->fd));
	while (!c->complete)
		read_some(_metadata, c);
	c->stats = stats_of(c);
	ASSERT_EQ(c->nr, c->stats.written);
}

/* Read what there is of several, until all tasks are gone and nothing is left. */
static void read_all(struct __test_metadata *_metadata, struct consumer *c, int nr)
{
	int left = nr, i;

	while (left) {
		struct pollfd in[4];

		ASSERT_GE(4, 2 * nr);
		for (i = 0; i < nr; i++) {
			in[2 * i] = (struct pollfd) {
				.fd = c[i].complete ? -1 : c[i].fd, .events = POLLIN };
			in[2 * i + 1] = (struct pollfd) {
				.fd = c[i].complete ? -1 : c[i].pidfd, .events = POLLIN };
		}
		ASSERT_LE(1, poll(in, 2 * nr, -1));
		for (i = 0; i < nr; i++) {
			if (in[2 * i].revents) {
				read_some(_metadata, &c[i]);
				ASSERT_FALSE(c[i].complete);
			} else if (in[2 * i + 1].revents) {
				read_rest(_metadata, &c[i]);
				left--;
			}
		}
	}
}

/* It took its rounds to the end. */
static void reap(struct __test_metadata *_metadata, const struct consumer *c)
{
	int status;

	ASSERT_EQ(c->config.tid, waitpid(c->config.tid, &status, 0));
	ASSERT_EQ(0, status);
}

static void kill_and_reap(struct __test_metadata *_metadata, const struct consumer *c)
{
	int status;

	kill(c->config.tid, SIGKILL);
	ASSERT_EQ(c->config.tid, waitpid(c->config.tid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		TH_LOG("tracee ended with status %#x", status);
	}
}

static void close_all(struct consumer *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->pidfd >= 0)
		close(c->pidfd);
	if (c->go >= 0)
		close(c->go);
	reset(c);
}

/* It has the branches from the first on, so many. */
static void check_prefix(struct __test_metadata *_metadata, const struct consumer *c, size_t nr)
{
	size_t i;

	ASSERT_EQ(nr, c->nr);
	for (i = 0; i < nr; i++)
		ASSERT_TRUE(is_branch(&c->branches[i], i)) {
			TH_LOG("record %zu of %zu: %#lx -> %#lx", i, nr,
			       c->branches[i].from, c->branches[i].to);
		}
}

/* So many records tell the round in any case. */
#define PIECE	(2 * PER_ROUND)

static bool fits(const struct ds_test_branch *branches, size_t nr, uint64_t number)
{
	size_t i;

	for (i = 0; i < nr && i < PIECE; i++)
		if (!is_branch(&branches[i], number + i))
			return false;
	return true;
}

/*
 * It has pieces of all the branches, each whole, in their order and none twice; from
 * the first branch on. How many are missing between them.
 */
static unsigned long check_pieces(struct __test_metadata *_metadata, const struct consumer *c,
				  uint64_t all)
{
	unsigned long gaps = 0;
	uint64_t number = 0;
	size_t i;

	ASSERT_LT(0, c->nr);
	ASSERT_TRUE(is_branch(&c->branches[0], 0));
	for (i = 0; i < c->nr; i++, number++) {
		if (is_branch(&c->branches[i], number))
			continue;
		gaps++;
		do {
			ASSERT_LT(++number, all) {
				TH_LOG("record %zu of %zu: %#lx -> %#lx comes too late", i, c->nr,
				       c->branches[i].from, c->branches[i].to);
			}
		} while (!fits(&c->branches[i], c->nr - i, number));
	}
	ASSERT_LE(number, all);
	return gaps;
}

/* Why can nothing be tested here? NULL where it can. */
static const char *no_device(void)
{
	/* Enough records for any processor, known or not. */
	struct ds_test_config config = {
		.tid = getpid(), .mode = DS_TEST_NEVER, .buffers = 1, .records = 4096,
	};
	int fd = ds_test_open(), ret;

	if (fd < 0)
		return errno == ENOENT ? "the kernel has no " DS_TEST_DEVICE : NULL;
	ret = ds_test_start(fd, &config);
	close(fd);
	return ret == -EOPNOTSUPP ? "the processor has no BTS" : NULL;
}

FIXTURE(device) {
	struct consumer c, other;
};

FIXTURE_SETUP(device)
{
	const char *why = no_device();

	reset(&self->c);
	reset(&self->other);
	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(device)
{
	close_all(&self->c);
	close_all(&self->other);
}

static const struct ds_test_config good = {
	.mode = DS_TEST_SWAP, .buffers = 2, .records = 512,
};

TEST_F(device, refuses)
{
	struct ds_test_config config;
	struct ds_test_stats stats;
	struct ds_test_branch branch;
	struct consumer *c = &self->c;

	c->config = good;
	spawn(_metadata, c, 1, SYS_getpid);

#define REFUSES(error, field, value) do {		\
	config = c->config;				\
	config.field = value;				\
	EXPECT_EQ(-(error), ds_test_start(c->fd, &config)); \
} while (0)
	REFUSES(EINVAL, mode, 4);
	REFUSES(EINVAL, flags, 2);
	REFUSES(EINVAL, records, 0);
	REFUSES(EINVAL, records, DS_TEST_LEAST - 1);
	REFUSES(EINVAL, records, 1 << 22);
	REFUSES(EINVAL, records, UINT32_MAX);
	REFUSES(EINVAL, buffers, 0);
	REFUSES(EINVAL, buffers, 1);
	REFUSES(EINVAL, buffers, UINT32_MAX);
	REFUSES(ESRCH, tid, 0);
	REFUSES(ESRCH, tid, -1);
	REFUSES(EINVAL, tid, 2);
	config.mode = DS_TEST_DEFER;
	REFUSES(EINVAL, flags, (config.mode = DS_TEST_DEFER, DS_TEST_LOSE));

	EXPECT_EQ(-1, ioctl(c->fd, DS_TEST_START, NULL));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-EINVAL, ds_test_stop(c->fd));
	EXPECT_EQ(-EINVAL, ds_test_stats(c->fd, &stats));
	EXPECT_EQ(-1, read(c->fd, &branch, sizeof(branch)));
	EXPECT_EQ(EINVAL, errno);

	ASSERT_EQ(0, ds_test_start(c->fd, &c->config));
	EXPECT_EQ(-EBUSY, ds_test_start(c->fd, &c->config));
	EXPECT_EQ(-1, read(c->fd, &branch, sizeof(branch) - 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, ioctl(c->fd, _IO('D', 3)));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(0, ds_test_stats(c->fd, &stats));
	EXPECT_EQ(0, stats.written + stats.stopped);

	/* One tracer for a task */
	self->other.fd = ds_test_open();
	ASSERT_LE(0, self->other.fd);
	EXPECT_EQ(-EBUSY, ds_test_start(self->other.fd, &c->config));
	close(c->fd);
	c->fd = self->other.fd;
	self->other.fd = -1;
	ASSERT_EQ(0, ds_test_start(c->fd, &c->config));
	ASSERT_EQ(0, ds_test_stop(c->fd));
	ASSERT_EQ(0, ds_test_stop(c->fd));
	EXPECT_EQ(0, read(c->fd, &branch, sizeof(branch)));
	EXPECT_EQ(0, ds_test_stats(c->fd, &stats));
	EXPECT_EQ(1, stats.stopped);
	kill_and_reap(_metadata, c);
}

TEST_F(device, root_only)
{
	pid_t pid = fork();
	int status;

	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(setuid(65534) || ds_test_open() >= 0 || errno != EACCES);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* Not by its mode alone */
	ASSERT_EQ(0, chmod(DS_TEST_DEVICE, 0666));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(setuid(65534) || ds_test_open() >= 0 || errno != EPERM);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, chmod(DS_TEST_DEVICE, 0600));
}

/* One run of a tracee to its end, in all the ways there are */
FIXTURE(run) {
	struct consumer c;
};

struct run {
	struct ds_test_config	config;
	uint64_t		rounds;
	/* The reader waits: until the task does, until something is lost, until the end */
	bool			late, loses, unread;
};

FIXTURE_VARIANT(run) {
	struct run run;
};

#define RUN(way, nr, size, turns, ...) {		\
	.config = { .mode = way, .buffers = nr, .records = size }, \
	.rounds = turns,				\
	##__VA_ARGS__					\
}

/* A buffer changes hands with as much as the headroom unused. */
FIXTURE_VARIANT_ADD(run, swap_many) {
	RUN(DS_TEST_SWAP, 1 + BRANCHES(ROUNDS) / 768, 1024, ROUNDS)
};

FIXTURE_VARIANT_ADD(run, swap_many_unread) {
	RUN(DS_TEST_SWAP, 1 + BRANCHES(ROUNDS) / 768, 1024, ROUNDS, .unread = true)
};

FIXTURE_VARIANT_ADD(run, swap_two) { RUN(DS_TEST_SWAP, 2, 512, ROUNDS) };
FIXTURE_VARIANT_ADD(run, swap_two_late) { RUN(DS_TEST_SWAP, 2, 512, ROUNDS, .late = true) };
FIXTURE_VARIANT_ADD(run, swap_three_late) { RUN(DS_TEST_SWAP, 3, 4096, ROUNDS, .late = true) };
FIXTURE_VARIANT_ADD(run, swap_least) { RUN(DS_TEST_SWAP, 4, DS_TEST_LEAST, FEW_ROUNDS) };

FIXTURE_VARIANT_ADD(run, swap_lose) {
	RUN(DS_TEST_SWAP, 2, 512, MANY_ROUNDS, .config.flags = DS_TEST_LOSE, .loses = true)
};

FIXTURE_VARIANT_ADD(run, swap_lose_unread) {
	RUN(DS_TEST_SWAP, 3, 1000, ROUNDS, .config.flags = DS_TEST_LOSE, .unread = true)
};

FIXTURE_VARIANT_ADD(run, restart_one) { RUN(DS_TEST_RESTART, 1, 1024, MANY_ROUNDS) };
FIXTURE_VARIANT_ADD(run, restart_spares) { RUN(DS_TEST_RESTART, 8, 512, MANY_ROUNDS) };
FIXTURE_VARIANT_ADD(run, defer_one) { RUN(DS_TEST_DEFER, 1, 512, ROUNDS) };
FIXTURE_VARIANT_ADD(run, defer_late) { RUN(DS_TEST_DEFER, 1, 4096, ROUNDS, .late = true) };
FIXTURE_VARIANT_ADD(run, defer_least) { RUN(DS_TEST_DEFER, 2, DS_TEST_LEAST, FEW_ROUNDS) };
FIXTURE_VARIANT_ADD(run, defer_spares) { RUN(DS_TEST_DEFER, 5, 1024, ROUNDS) };
FIXTURE_VARIANT_ADD(run, never) { RUN(DS_TEST_NEVER, 1, 512, ROUNDS) };
FIXTURE_VARIANT_ADD(run, never_unread) { RUN(DS_TEST_NEVER, 3, 4096, ROUNDS, .unread = true) };
FIXTURE_VARIANT_ADD(run, never_large) { RUN(DS_TEST_NEVER, 1, 16384, ROUNDS) };

FIXTURE_SETUP(run)
{
	const char *why = no_device();

	reset(&self->c);
	if (why)
		SKIP(return, "%s", why);
	self->c.config = variant->run.config;
	spawn(_metadata, &self->c, variant->run.rounds, SYS_getpid);
}

FIXTURE_TEARDOWN(run)
{
	close_all(&self->c);
}

static void await_reader(struct __test_metadata *_metadata, const struct consumer *c,
			 const struct run *run)
{
	struct pollfd end = { .fd = c->pidfd, .events = POLLIN };

	if (run->late)
		ASSERT_TRUE(AWAIT(stats_of(c).resumes && state_of(c->config.tid) == 'D'));
	if (run->loses)
		ASSERT_TRUE(AWAIT(stats_of(c).lost));
	if (run->unread)
		ASSERT_EQ(1, poll(&end, 1, -1));
}

/* What came, and how, is what the mode is for. */
static void check_mode(struct __test_metadata *_metadata, const struct consumer *c,
		       const struct run *run)
{
	const struct ds_test_stats *stats = &c->stats;
	const uint64_t all = BRANCHES(run->rounds);
	const uint32_t size = c->config.records;
	/* Nothing is asked when a buffer is full at the task's very end. */
	uint64_t unanswered = 0;

	switch (c->config.mode) {
	case DS_TEST_SWAP:
		EXPECT_LT(0, stats->swaps_nmi);
		if (c->config.flags & DS_TEST_LOSE) {
			EXPECT_EQ(0, stats->resumes);
			EXPECT_LT(0, stats->lost);
			EXPECT_EQ(all, stats->written + stats->lost);
			EXPECT_GE(stats->full, check_pieces(_metadata, c, all));
			if (run->unread)
				EXPECT_LE(c->config.buffers * (size - DS_TEST_HEADROOM), c->nr);
			break;
		}
		unanswered = stats->full - stats->swaps_nmi - stats->swaps - stats->resumes;
		if ((uint64_t)c->config.buffers * (size - DS_TEST_HEADROOM) >= all)
			EXPECT_EQ(0, stats->resumes);
		check_prefix(_metadata, c, all);
		break;
	case DS_TEST_RESTART:
		/* The task may be at its end before the work item runs. */
		EXPECT_LT(0, stats->full);
		unanswered = stats->full - stats->restarts;
		EXPECT_LE(check_pieces(_metadata, c, all), stats->restarts);
		break;
	case DS_TEST_DEFER:
		EXPECT_LT(0, stats->resumes);
		unanswered = stats->full - stats->resumes;
		check_prefix(_metadata, c, all);
		break;
	case DS_TEST_NEVER:
		EXPECT_EQ(1, stats->full);
		EXPECT_TRUE(c->stopped);
		EXPECT_LE(size - DS_TEST_HEADROOM, c->nr);
		EXPECT_GE(size, c->nr);
		check_prefix(_metadata, c, c->nr);
		break;
	}
	if (run->late)
		EXPECT_LT(0, stats->resumes);
	if (c->config.mode != DS_TEST_SWAP)
		EXPECT_EQ(0, stats->swaps_nmi + stats->swaps);
	if (!(c->config.flags & DS_TEST_LOSE))
		EXPECT_EQ(0, stats->lost);
	EXPECT_GE(1, unanswered);
	if (c->config.mode == DS_TEST_SWAP || c->config.mode == DS_TEST_DEFER)
		EXPECT_GE(unanswered, c->stopped);
	EXPECT_EQ(0, stats->dropped);
}

TEST_F_TIMEOUT(run, to_the_end, TIMEOUT)
{
	struct consumer *c = &self->c;

	start(_metadata, c);
	await_reader(_metadata, c, &variant->run);
	read_all(_metadata, c, 1);
	reap(_metadata, c);
	check_mode(_metadata, c, &variant->run);
}

/* The same beside another traced task, on one CPU with it and the reader */
TEST_F_TIMEOUT(run, beside_another, TIMEOUT)
{
	struct consumer c[2];

	ASSERT_TRUE(pin(0, 0));
	c[0] = self->c;
	reset(&self->c);
	reset(&c[1]);
	c[1].config = (struct ds_test_config) {
		.mode = DS_TEST_DEFER, .buffers = 1, .records = 700,
	};
	spawn(_metadata, &c[1], variant->run.rounds / 2, SYS_getpid);
	ASSERT_TRUE(pin(c[0].config.tid, 0));
	start(_metadata, &c[1]);
	start(_metadata, &c[0]);
	await_reader(_metadata, &c[0], &variant->run);
	read_all(_metadata, c, 2);
	reap(_metadata, &c[0]);
	reap(_metadata, &c[1]);
	check_mode(_metadata, &c[0], &variant->run);
	check_prefix(_metadata, &c[1], BRANCHES(variant->run.rounds / 2));
	EXPECT_EQ(0, c[1].stats.lost);
	close_all(&c[0]);
	close_all(&c[1]);
}

/* Let a task sleep in ops->resume: nobody reads. */
static void start_and_sleep(struct __test_metadata *_metadata, struct consumer *c)
{
	start(_metadata, c);
	ASSERT_TRUE(AWAIT(stats_of(c).resumes == 1 && state_of(c->config.tid) == 'D'));
}

FIXTURE(life) {
	struct consumer c;
};

FIXTURE_VARIANT(life) {
	struct ds_test_config config;
};

FIXTURE_VARIANT_ADD(life, defer) {
	.config = { .mode = DS_TEST_DEFER, .buffers = 1, .records = 512 },
};

FIXTURE_VARIANT_ADD(life, swap) {
	.config = { .mode = DS_TEST_SWAP, .buffers = 2, .records = 512 },
};

FIXTURE_SETUP(life)
{
	const char *why = no_device();

	reset(&self->c);
	if (why)
		SKIP(return, "%s", why);
	self->c.config = variant->config;
}

FIXTURE_TEARDOWN(life)
{
	close_all(&self->c);
}

TEST_F_TIMEOUT(life, work_item_starts_again, TIMEOUT)
{
	struct consumer *c = &self->c;

	c->config = (struct ds_test_config) {
		.mode = DS_TEST_RESTART, .buffers = 2, .records = 512,
	};
	spawn(_metadata, c, FOREVER, SYS_getpid);
	start(_metadata, c);
	while (stats_of(c).restarts < 3)
		read_some(_metadata, c);
	kill_and_reap(_metadata, c);
	read_rest(_metadata, c);
	EXPECT_EQ(0, c->stats.lost + c->stats.dropped);
}

TEST_F_TIMEOUT(life, task_is_killed_while_it_waits, TIMEOUT)
{
	struct consumer *c = &self->c;

	spawn(_metadata, c, FOREVER, SYS_getpid);
	start_and_sleep(_metadata, c);
	kill_and_reap(_metadata, c);
	/* What came before can be read. */
	read_rest(_metadata, c);
	EXPECT_TRUE(c->stopped);
	EXPECT_EQ(1, c->stats.resumes);
	EXPECT_LE(c->config.buffers * (c->config.records - DS_TEST_HEADROOM), c->nr);
	EXPECT_EQ(0, c->stats.lost + c->stats.dropped);
	check_prefix(_metadata, c, c->nr);
}

TEST_F_TIMEOUT(life, reader_leaves_while_the_task_waits, TIMEOUT)
{
	struct consumer *c = &self->c;

	spawn(_metadata, c, ROUNDS, SYS_getpid);
	start_and_sleep(_metadata, c);
	ASSERT_EQ(0, close(c->fd));
	c->fd = -1;
	reap(_metadata, c);
}

TEST_F_TIMEOUT(life, stop_while_the_task_waits, TIMEOUT)
{
	struct consumer *c = &self->c;

	spawn(_metadata, c, ROUNDS, SYS_getpid);
	start_and_sleep(_metadata, c);
	ASSERT_EQ(0, ds_test_stop(c->fd));
	reap(_metadata, c);
	read_rest(_metadata, c);
	EXPECT_GE(c->config.buffers * c->config.records, c->nr);
	EXPECT_EQ(0, c->stats.lost + c->stats.dropped);
	check_prefix(_metadata, c, c->nr);
}

TEST_F_TIMEOUT(life, others_trace_after_the_reader_left, TIMEOUT)
{
	struct consumer *c = &self->c;

	spawn(_metadata, c, FOREVER, SYS_getpid);
	start_and_sleep(_metadata, c);
	ASSERT_EQ(0, close(c->fd));
	c->fd = ds_test_open();
	ASSERT_LE(0, c->fd);
	ASSERT_EQ(0, ds_test_start(c->fd, &c->config));
	/* Somewhere in its rounds */
	ASSERT_TRUE(AWAIT(stats_of(c).resumes == 1));
	read_some(_metadata, c);
	EXPECT_LT(0, c->nr);
	kill_and_reap(_metadata, c);
}

/* The child of a tracee is nobody's tracee. */
TEST_F_TIMEOUT(life, task_forks, TIMEOUT)
{
	struct consumer *c = &self->c;

	spawn(_metadata, c, ROUNDS, SYS_fork);
	start(_metadata, c);
	read_all(_metadata, c, 1);
	reap(_metadata, c);
	check_prefix(_metadata, c, BRANCHES(ROUNDS));
	EXPECT_EQ(0, c->stats.lost + c->stats.dropped);
}

/* Leaves only branches between one of the rounds and another. */
static void drop_outside(struct consumer *c)
{
	size_t i, inside = 0;

	for (i = 0; i < c->nr; i++)
		if (is_inside(&c->branches[i]))
			c->branches[inside++] = c->branches[i];
	c->nr = inside;
}

#define EXECUTED	"--rounds"

static void __attribute__((constructor)) executed(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], EXECUTED))
		ds_test_tracee(-1, ROUNDS, SYS_getpid);
}

TEST_F_TIMEOUT(life, task_becomes_another_program, TIMEOUT)
{
	struct consumer *c = &self->c;
	int go[2];
	char byte;

	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	c->config.tid = fork();
	ASSERT_GE(c->config.tid, 0);
	if (!c->config.tid) {
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		execl("/proc/self/exe", "ds_consumer_test", EXECUTED, NULL);
		_exit(2);
	}
	c->go = go[1];
	close(go[0]);
	c->pidfd = syscall(SYS_pidfd_open, c->config.tid, 0);
	c->fd = ds_test_open();
	ASSERT_LE(0, c->fd);
	start(_metadata, c);
	read_all(_metadata, c, 1);
	reap(_metadata, c);
	drop_outside(c);
	check_prefix(_metadata, c, BRANCHES(ROUNDS));
	EXPECT_EQ(0, c->stats.lost + c->stats.dropped);
}

/* The task itself starts its trace; somebody else reads. */
TEST_F_TIMEOUT(life, task_traces_itself, TIMEOUT)
{
	struct consumer *c = &self->c;

	c->fd = ds_test_open();
	ASSERT_LE(0, c->fd);
	c->config.tid = fork();
	ASSERT_GE(c->config.tid, 0);
	if (!c->config.tid) {
		c->config.tid = getpid();
		if (ds_test_start(c->fd, &c->config))
			_exit(1);
		ds_test_tracee(-1, ROUNDS, SYS_getpid);
	}
	c->pidfd = syscall(SYS_pidfd_open, c->config.tid, 0);
	ASSERT_LE(0, c->pidfd);
	ASSERT_TRUE(AWAIT(poll(&(struct pollfd) { .fd = c->fd, .events = POLLIN }, 1, 0) == 1 &&
			  !ds_test_stats(c->fd, &c->stats)));
	read_all(_metadata, c, 1);
	reap(_metadata, c);
	drop_outside(c);
	check_prefix(_metadata, c, BRANCHES(ROUNDS));
	EXPECT_EQ(0, c->stats.lost + c->stats.dropped);
}

/* One thread that is tracee and reader. It must not wait for itself. */
TEST_F_TIMEOUT(device, own_reader, TIMEOUT)
{
	struct consumer *c = &self->c;
	struct ds_test_stats stats;

	c->config = good;
	c->config.tid = syscall(SYS_gettid);
	c->config.flags = DS_TEST_LOSE;
	c->fd = ds_test_open();
	ASSERT_LE(0, c->fd);
	ASSERT_EQ(0, ds_test_start(c->fd, &c->config));
	do {
		stats = stats_of(c);
	} while (stats.full < 2);
	/* So many are there; for more it would have to take branches. */
	read_some(_metadata, c);
	read_some(_metadata, c);
	read_rest(_metadata, c);
	EXPECT_LE(2 * (c->config.records - DS_TEST_HEADROOM), c->nr);
	EXPECT_FALSE(c->stopped);
}

/* Does any memory of the device's for records exist? */
static bool memory_is_left(struct __test_metadata *_metadata)
{
	FILE *f = fopen("/proc/vmallocinfo", "r");
	bool left = false;
	char line[512];

	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, " ds_test_"))
			left = true;
	fclose(f);
	return left;
}

TEST_F_TIMEOUT(device, nothing_is_left, TIMEOUT)
{
	struct consumer *c = &self->c;
	int i;

	for (i = 0; i < 200; i++) {
		c->config = good;
		c->config.mode = i % 5 % 4;
		c->config.flags = i % 5 == 4 ? DS_TEST_LOSE : 0;
		spawn(_metadata, c, FOREVER, SYS_getpid);
		start(_metadata, c);
		if (!i)
			ASSERT_TRUE(memory_is_left(_metadata));
		if (i / 5 % 4) {
			ASSERT_TRUE(AWAIT(stats_of(c).full));
			if (i / 5 % 4 > 1)
				read_some(_metadata, c);
		}
		if (i / 20 % 2)
			kill_and_reap(_metadata, c);
		close(c->fd);
		c->fd = -1;
		if (!(i / 20 % 2))
			kill_and_reap(_metadata, c);
		close_all(c);
	}
	ASSERT_TRUE(AWAIT(!memory_is_left(_metadata)));
}

static bool write_to(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, value, strlen(value)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/* Faults for the task that asks for them: any allocation, silently */
static bool inject_faults(void)
{
	static const char *const knobs[][2] = {
		{ "failslab/ignore-gfp-wait", "N" },
		{ "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" },
		{ "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "fail_page_alloc/min-order", "0" },
		{ "fail_page_alloc/verbose", "0" },
	};
	char path[64];
	size_t i;

	if (access("/sys/kernel/debug/failslab", F_OK))
		mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	for (i = 0; i < sizeof(knobs) / sizeof(*knobs); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", knobs[i][0]);
		if (!write_to(path, knobs[i][1]))
			return false;
	}
	return true;
}

/* The @n-th allocation fails; whether there were so many */
static bool start_failing(struct __test_metadata *_metadata, struct consumer *c, int n, int *ret)
{
	int nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	char number[16];

	ASSERT_LE(0, nth);
	snprintf(number, sizeof(number), "%d", n);
	ASSERT_LT(0, pwrite(nth, number, strlen(number), 0));
	c->fd = ds_test_open();
	*ret = c->fd < 0 ? -errno : ds_test_start(c->fd, &c->config);
	memset(number, 0, sizeof(number));
	ASSERT_LT(0, pread(nth, number, sizeof(number) - 1, 0));
	ASSERT_LT(0, pwrite(nth, "0", 1, 0));
	close(nth);
	return !atoi(number);
}

TEST_F_TIMEOUT(device, no_memory, TIMEOUT)
{
	struct consumer *c = &self->c;
	int n, ret, failed = 0;
	bool fault = true;

	if (!inject_faults())
		SKIP(return, "no fault injection");
	c->config = good;
	spawn(_metadata, c, ROUNDS, SYS_getpid);
	for (n = 1; fault; n++) {
		close(c->fd);
		fault = start_failing(_metadata, c, n, &ret);
		/* Some the kernel can do without. */
		ASSERT_TRUE(!ret || (fault && ret == -ENOMEM)) {
			TH_LOG("fault %d: %s", n, strerror(-ret));
		}
		failed += !!ret;
	}
	/* The file, the buffers, their memory */
	EXPECT_LE(3, failed);
	go(_metadata, c);
	read_all(_metadata, c, 1);
	reap(_metadata, c);
	check_prefix(_metadata, c, BRANCHES(ROUNDS));
	close(c->fd);
	c->fd = -1;
	ASSERT_TRUE(AWAIT(!memory_is_left(_metadata)));
}

TEST_HARNESS_MAIN
