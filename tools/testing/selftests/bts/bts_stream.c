// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which branches does a program take, all of them, as told by buffers that are
 * much smaller than what there is to tell?
 *
 * Runs commands with every thread of them traced in a buffer of its own that does
 * not wrap, drains it whenever the kernel stops the thread because it is full, and
 * writes the branches in the order they were taken.
 */
#include "ptrace_bts_request.h"

#include <err.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bts_stream.h"
#include "bts_tracee.h"

#define EXIT_SKIP	4	/* kselftest's */

/* A stop with nothing to drain is right after another drain, and not again. */
#define MAX_EMPTY	2

struct stream {
	FILE			*out;
	struct bts_struct	*records;
	size_t			capacity;	/* records */
	unsigned long long	drained, stops, stops_told, lost;
	unsigned int		empty;
};

static const char *prefix;
static uint32_t size = 1;
static int overflow_signal, cpu = -1;
static bool framed, may_lose, at_other_stops;
static FILE *frames;

static void write_frame(const struct tracee *t, enum stream_kind kind, uint64_t nr)
{
	struct stream *s = t->data;
	struct stream_frame frame = {
		.thread	= t->index,
		.kind	= kind,
		.nr	= nr,
		.stops	= s->stops - s->stops_told,
	};

	s->stops_told = s->stops;
	if (framed && fwrite(&frame, sizeof(frame), 1, s->out) != 1)
		err(1, "stdout");
}

static void update_status(const struct tracee *t, struct ptrace_bts_config *config)
{
	struct stream *s = t->data;

	if (request(PTRACE_BTS_STATUS, t->tid, config, sizeof(*config)) != sizeof(*config))
		err(1, "PTRACE_BTS_STATUS");
	if (config->lost < s->lost)
		errx(1, "thread %d: fewer records lost than before", t->index);
	s->lost = config->lost;
	if (s->lost && !may_lose)
		errx(1, "thread %d: %llu records lost after %llu drained",
		     t->index, s->lost, s->drained);
}

static void stream_start(struct tracee *t)
{
	struct ptrace_bts_config config = {
		.size	= size,
		.flags	= PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC |
			  (overflow_signal ? PTRACE_BTS_O_SIGNAL : 0),
		.signal	= overflow_signal,
	};
	struct stream *s = calloc(1, sizeof(*s));
	long ret;

	if (!s)
		err(1, "thread %d", t->tid);
	t->data = s;
	if (cpu >= 0)
		tracee_pin(t, cpu);

	ret = request(PTRACE_BTS_CONFIG, t->tid, &config, sizeof(config));
	if (ret == -EOPNOTSUPP || ret == -EIO) {
		warnx("%s", ret == -EIO ? "the kernel has no PTRACE_BTS" :
					  "the processor has no BTS");
		exit(EXIT_SKIP);
	}
	if (ret < 0)
		errx(1, "PTRACE_BTS_CONFIG: %s", strerror(-ret));
	update_status(t, &config);
	s->capacity = config.size / RECORD;
	s->records = calloc(s->capacity, RECORD);
	s->out = framed ? frames : fdopen(tracee_output(t, prefix), "w");
	if (!s->out || !s->records)
		err(1, "thread %d", t->index);
	write_frame(t, STREAM_START, 0);
}

static void drain(const struct tracee *t, bool full)
{
	struct ptrace_bts_config config;
	struct stream *s = t->data;
	long n, i;

	update_status(t, &config);
	n = request(PTRACE_BTS_DRAIN, t->tid, s->records, s->capacity * RECORD);
	if (n < 0)
		errx(1, "PTRACE_BTS_DRAIN: %s", strerror(-n));
	s->empty = full && !n ? s->empty + 1 : 0;
	if (s->empty > MAX_EMPTY)
		errx(1, "thread %d stops though its buffer is empty", t->index);

	write_frame(t, STREAM_BRANCHES, n);
	for (i = 0; i < n; i++) {
		uint64_t branch[2] = { s->records[i].variant.lbr.from,
				       s->records[i].variant.lbr.to };

		if ((s->records[i].qualifier & BTS_QUALIFIER_MASK) != BTS_BRANCH)
			errx(1, "record %ld of %ld is of kind %#llx", i, n,
			     (unsigned long long)s->records[i].qualifier);
		fwrite(branch, sizeof(branch), 1, s->out);
	}
	if (ferror(s->out))
		err(1, "writing the branches");
	s->drained += n;
}

static int stream_stop(struct tracee *t, int status)
{
	struct stream *s = t->data;

	if (is_full_stop(t->tid, status, overflow_signal)) {
		s->stops++;
		drain(t, true);
		return 0;
	}
	if (status >> 16)
		errx(1, "thread %d: stop with status %#x", t->index, status);
	if (at_other_stops)
		drain(t, false);
	return WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
}

static void stream_event(struct tracee *t, int event)
{
	(void)event;
	if (at_other_stops)
		drain(t, false);
}

static void stream_exit(struct tracee *t)
{
	struct stream *s = t->data;

	drain(t, false);
	write_frame(t, STREAM_END, s->lost);
	fprintf(stderr, "thread %d: %llu branches, %llu stops, %llu lost\n",
		t->index, s->drained, s->stops, s->lost);
	if (fflush(s->out) || (!framed && fclose(s->out)))
		err(1, "writing the branches");
	free(s->records);
	free(s);
	t->data = NULL;
}

int main(int argc, char **argv)
{
	struct tracee_ops ops = {
		.request	= PTRACE_CONT,
		.start		= stream_start,
		.stop		= stream_stop,
		.event		= stream_event,
		.exit		= stream_exit,
	};
	int opt, status;

	while ((opt = getopt(argc, argv, "+b:c:dlo:S:s")) != -1) {
		switch (opt) {
		case 'b':
			size = strtoul(optarg, NULL, 0);
			break;
		case 'c':
			cpu = atoi(optarg);
			break;
		case 'd':
			at_other_stops = true;
			break;
		case 'l':
			may_lose = true;
			break;
		case 'o':
			prefix = optarg;
			break;
		case 'S':
			overflow_signal = atoi(optarg);
			break;
		case 's':
			ops.request = PTRACE_SYSCALL;
			break;
		default:
			goto usage;
		}
	}
	if (!prefix || optind >= argc)
		goto usage;

	if (!overflow_signal)
		ops.options = PTRACE_O_TRACEBTS;
	if (!strcmp(prefix, "-")) {
		/* What the programs write goes elsewhere. */
		framed = true;
		frames = fdopen(fcntl(1, F_DUPFD_CLOEXEC, 3), "w");
		if (!frames || dup2(2, 1) < 0)
			err(1, "stdout");
		setvbuf(frames, NULL, _IOFBF, 1 << 16);
	}
	status = tracee_run_all(argv + optind, &ops);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

usage:
	fprintf(stderr,
		"usage: bts_stream -o PREFIX [-dls] [-b BYTES] [-c CPU] [-S SIGNAL]\n"
		"		   PROGRAM [ARGUMENT...] [-- PROGRAM [ARGUMENT...]]\n"
		"Writes the branches thread N takes to PREFIX.N, as pairs of 64-bit addresses;\n"
		"with -o -, those of all threads to stdout, for bts_stream_compare. Exits as\n"
		"PROGRAM does, or with 4 where it cannot trace.\n"
		"  -b BYTES   size of each thread's buffer (the least there is)\n"
		"  -S SIGNAL  stop with this signal (PTRACE_EVENT_BTS)\n"
		"  -c CPU     all threads run there\n"
		"  -s         stop at every system call\n"
		"  -d         drain at all other stops, too\n"
		"  -l         records may be lost; otherwise that is an error\n");
	return 1;
}
