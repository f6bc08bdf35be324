// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which branches does a program take, as told by a consumer within the kernel?
 *
 * Runs commands with every thread of them traced by /dev/ds_test, reads while they
 * run, and writes the branches for bts_stream_compare. The programs run under
 * ptrace, but only to be traced from their first instruction to their last.
 */
#include <err.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "bts_stream.h"
#include "bts_tracee.h"
#include "ds_test_device.h"

#define EXIT_SKIP	4	/* kselftest's */

struct consumer {
	const struct tracee	*tracee;
	int			fd;
	pthread_t		thread;
	struct ds_test_branch	*branches;
};

static const char *const modes[] = { "swap", "restart", "defer", "never" };

static struct ds_test_config config = { .buffers = 2, .records = 512 };
static bool quick, too_late;
static int cpu = -1;
static FILE *frames;
static pthread_mutex_t frames_lock = PTHREAD_MUTEX_INITIALIZER;

static void write_frame(const struct consumer *c, enum stream_kind kind, uint64_t nr,
			uint64_t stops, const struct ds_test_branch *branches)
{
	struct stream_frame frame = {
		.thread	= c->tracee->index,
		.kind	= kind,
		.nr	= nr,
		.stops	= stops,
	};

	pthread_mutex_lock(&frames_lock);
	fwrite(&frame, sizeof(frame), 1, frames);
	if (branches)
		fwrite(branches, sizeof(*branches), nr, frames);
	if (ferror(frames))
		err(1, "stdout");
	pthread_mutex_unlock(&frames_lock);
}

static void get_stats(const struct consumer *c, struct ds_test_stats *stats)
{
	if (ds_test_stats(c->fd, stats))
		err(1, "DS_TEST_STATS");
}

/* Where records may be lost, some are. */
static void await_loss(const struct consumer *c)
{
	struct ds_test_stats stats;

	do {
		get_stats(c, &stats);
		if (!stats.lost)
			sched_yield();
	} while (!stats.lost && !stats.stopped);
}

static void *consume(void *argument)
{
	struct consumer *c = argument;
	ssize_t n;

	if (config.flags & DS_TEST_LOSE)
		await_loss(c);
	do {
		n = read(c->fd, c->branches, config.records * sizeof(*c->branches));
		if (n < 0)
			err(1, "%s", DS_TEST_DEVICE);
		if (n)
			write_frame(c, STREAM_BRANCHES, n / sizeof(*c->branches), 0, c->branches);
	} while (n);
	return NULL;
}

static void consumer_start(struct tracee *t)
{
	struct ds_test_config its = config;
	struct consumer *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		err(1, "thread %d", t->index);
	t->data = c;
	c->tracee = t;
	c->branches = calloc(config.records, sizeof(*c->branches));
	if (!c->branches)
		err(1, "thread %d", t->index);
	if (cpu >= 0)
		tracee_pin(t, cpu);

	c->fd = ds_test_open();
	if (c->fd < 0 && errno == ENOENT) {
		warnx("the kernel has no " DS_TEST_DEVICE);
		exit(EXIT_SKIP);
	}
	if (c->fd < 0)
		err(1, "%s", DS_TEST_DEVICE);
	its.tid = t->tid;
	ret = ds_test_start(c->fd, &its);
	if (ret == -EOPNOTSUPP) {
		warnx("the processor has no BTS");
		exit(EXIT_SKIP);
	}
	if (ret)
		errx(1, "DS_TEST_START: %s", strerror(-ret));
	write_frame(c, STREAM_START, 0, 0, NULL);
	if (pthread_create(&c->thread, NULL, consume, c))
		errx(1, "thread %d: no reader", t->index);
}

static int consumer_stop(struct tracee *t, int status)
{
	(void)t;
	if (status >> 16)
		errx(1, "thread %d: stop with status %#x", t->index, status);
	return WSTOPSIG(status);
}

static void consumer_event(struct tracee *t, int event)
{
	(void)t;
	(void)event;
}

/*
 * Did the kernel do what the mode is for, and nothing else? When a buffer is full at the
 * thread's very end, nothing comes of it any more.
 */
static void check_mode(const struct consumer *c, const struct ds_test_stats *stats, bool stopped)
{
	uint64_t swaps = stats->swaps_nmi + stats->swaps, unanswered = 0;
	bool lose = config.flags & DS_TEST_LOSE;
	bool right;

	switch (config.mode) {
	case DS_TEST_SWAP:
		right = swaps && !stats->restarts;
		if (lose || quick)
			right = right && !stats->resumes;
		else
			unanswered = stats->full - swaps - stats->resumes;
		break;
	case DS_TEST_RESTART:
		unanswered = stats->full - stats->restarts;
		/* A short program may end before. */
		right = !swaps && !stats->resumes && (c->tracee->index || stats->restarts);
		break;
	case DS_TEST_DEFER:
		unanswered = stats->full - stats->resumes;
		right = !swaps && stats->resumes && !stats->restarts;
		break;
	default:
		right = !swaps && !stats->resumes && !stats->restarts && stats->full == 1 &&
			stopped;
	}
	if (!right || unanswered > 1)
		errx(1, "thread %d: the mode was not kept, %sstopped", c->tracee->index,
		     stopped ? "" : "not ");
	if (!!stats->lost != (lose || too_late) || (stats->dropped && !too_late))
		errx(1, "thread %d: %llu records lost", c->tracee->index, stats->lost);
}

static void consumer_exit(struct tracee *t)
{
	struct consumer *c = t->data;
	struct ds_test_stats stats;
	bool stopped;

	get_stats(c, &stats);
	stopped = stats.stopped;
	if (ds_test_stop(c->fd))
		err(1, "DS_TEST_STOP");
	if (pthread_join(c->thread, NULL))
		errx(1, "thread %d: its reader", t->index);
	get_stats(c, &stats);
	write_frame(c, STREAM_END, stats.lost, stats.full, NULL);
	fflush(frames);
	fprintf(stderr, "thread %d, %s: %llu written, %llu lost, %llu dropped, %llu full, ",
		t->index, modes[config.mode], stats.written, stats.lost, stats.dropped, stats.full);
	fprintf(stderr, "%llu+%llu swaps, %llu resumes, %llu restarts\n",
		stats.swaps_nmi, stats.swaps, stats.resumes, stats.restarts);
	check_mode(c, &stats, stopped);
	close(c->fd);
	free(c->branches);
	free(c);
	t->data = NULL;
}

int main(int argc, char **argv)
{
	struct tracee_ops ops = {
		.request	= PTRACE_CONT,
		.start		= consumer_start,
		.stop		= consumer_stop,
		.event		= consumer_event,
		.exit		= consumer_exit,
	};
	unsigned int mode = sizeof(modes) / sizeof(*modes);
	int opt, status;

	while ((opt = getopt(argc, argv, "+b:c:lm:qr:t")) != -1) {
		switch (opt) {
		case 'b':
			config.buffers = strtoul(optarg, NULL, 0);
			break;
		case 'c':
			cpu = atoi(optarg);
			break;
		case 'l':
			config.flags = DS_TEST_LOSE;
			break;
		case 'm':
			for (mode = 0; mode < sizeof(modes) / sizeof(*modes); mode++)
				if (!strcmp(optarg, modes[mode]))
					break;
			break;
		case 'q':
			quick = true;
			break;
		case 'r':
			config.records = strtoul(optarg, NULL, 0);
			break;
		case 't':
			too_late = true;
			break;
		default:
			goto usage;
		}
	}
	if (mode == sizeof(modes) / sizeof(*modes) || optind >= argc)
		goto usage;
	config.mode = mode;

	/* What the programs write goes elsewhere. */
	frames = fdopen(fcntl(1, F_DUPFD_CLOEXEC, 3), "w");
	if (!frames || dup2(2, 1) < 0)
		err(1, "stdout");
	setvbuf(frames, NULL, _IOFBF, 1 << 16);
	status = tracee_run_all(argv + optind, &ops);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

usage:
	fprintf(stderr,
		"usage: ds_consumer -m MODE [-lqt] [-b BUFFERS] [-r RECORDS] [-c CPU]\n"
		"		    PROGRAM [ARGUMENT...] [-- PROGRAM [ARGUMENT...]]\n"
		"Writes the branches of all threads to stdout, for bts_stream_compare. Exits as\n"
		"PROGRAM does, with 4 where it cannot trace, or with 1 where the kernel does not\n"
		"do what MODE is for.\n"
		"  -m MODE     when a buffer is full: swap it, and wait where no other is empty;\n"
		"              stop and restart out of a work item; defer and sleep; never go on\n"
		"  -l          swap: lose records instead of waiting; that is made to happen\n"
		"  -q          swap: it never needs to wait\n"
		"  -t          interrupts come too late: records are lost, and only then\n"
		"  -b BUFFERS  how many (2)\n"
		"  -r RECORDS  in each of them (512)\n"
		"  -c CPU      all threads run there\n");
	return 1;
}
