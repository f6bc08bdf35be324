// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which branches does a program take, as PTRACE_BTS tells?
 *
 * Runs a command with every thread of it traced in a ring of its own and pinned
 * to a CPU of its own (as far as there are CPUs), and writes down, per thread,
 * the branches in the order they were taken.
 */
#include <asm/ptrace_bts.h>
#include <err.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bts_tracee.h"

#define EXIT_SKIP	4	/* kselftest's */

struct recording {
	FILE		*out;
	size_t		capacity;	/* records */
};

static const char *prefix;
static size_t ring_records = 65536;
static bool tail, by_index, every_stop, text;
static cpu_set_t cpus;

/* glibc's ptrace() would take some of these for requests of its own. */
static long bts(int request, const struct tracee *t, void *addr, size_t data)
{
	return syscall(SYS_ptrace, request, t->tid, addr, data);
}

static int cpu_of(const struct tracee *t)
{
	int n = t->index % CPU_COUNT(&cpus), cpu;

	for (cpu = 0; ; cpu++)
		if (CPU_ISSET(cpu, &cpus) && !n--)
			return cpu;
}

static void record_start(struct tracee *t)
{
	struct ptrace_bts_config config = {
		.size	= ring_records * sizeof(struct bts_struct),
		.flags	= PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC,
	};
	struct recording *r = calloc(1, sizeof(*r));

	if (!r)
		err(1, "thread %d", t->tid);
	tracee_pin(t, cpu_of(t));

	if (bts(PTRACE_BTS_CONFIG, t, &config, sizeof(config)) < 0) {
		if (errno == EOPNOTSUPP || errno == EIO) {
			warnx("%s", errno == EIO ? "the kernel has no PTRACE_BTS" :
						   "the processor has no BTS");
			exit(EXIT_SKIP);
		}
		err(1, "PTRACE_BTS_CONFIG");
	}
	if (bts(PTRACE_BTS_STATUS, t, &config, sizeof(config)) < 0)
		err(1, "PTRACE_BTS_STATUS");
	if (config.bts_size != sizeof(struct bts_struct))
		errx(1, "records of %u bytes", config.bts_size);
	r->capacity = config.size / sizeof(struct bts_struct);

	r->out = fdopen(tracee_output(t, prefix), "w");
	if (!r->out)
		err(1, "%s", prefix);
	t->data = r;
}

static void write_records(struct recording *r, const struct bts_struct *records, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t branch[2] = { records[i].variant.lbr.from,
				       records[i].variant.lbr.to };

		if ((records[i].qualifier & BTS_QUALIFIER_MASK) != BTS_BRANCH)
			errx(1, "record %zu of %zu is of kind %#llx", i, n,
			     (unsigned long long)records[i].qualifier);
		if (text)
			fprintf(r->out, "%llx %llx\n", (unsigned long long)branch[0],
				(unsigned long long)branch[1]);
		else
			fwrite(branch, sizeof(branch), 1, r->out);
	}
	if (ferror(r->out))
		err(1, "%s", prefix);
}

/* PTRACE_BTS_GET must tell the same as the draining that follows it. */
static struct bts_struct *get_records(const struct tracee *t, size_t n)
{
	struct bts_struct *records = calloc(n + 1, sizeof(*records));
	size_t i;

	if (!records)
		err(1, "%zu records", n);
	for (i = 0; i < n; i++)
		if (bts(PTRACE_BTS_GET, t, &records[n - 1 - i], i) != sizeof(*records))
			err(1, "PTRACE_BTS_GET %zu of %zu", i, n);
	if (bts(PTRACE_BTS_GET, t, &records[n], n) != -1 || errno != EINVAL)
		errx(1, "PTRACE_BTS_GET goes beyond %zu records", n);
	return records;
}

static void drain(const struct tracee *t)
{
	struct recording *r = t->data;
	struct bts_struct *records, *got = NULL;
	long ready, n;

	ready = bts(PTRACE_BTS_SIZE, t, NULL, 0);
	if (ready < 0)
		err(1, "PTRACE_BTS_SIZE");
	if (!tail && (size_t)ready >= r->capacity)
		errx(1, "thread %d: more branches than %zu records", t->index, r->capacity);

	records = calloc(ready + 1, sizeof(*records));
	if (!records)
		err(1, "%ld records", ready);
	if (by_index)
		got = get_records(t, ready);
	n = bts(PTRACE_BTS_DRAIN, t, records, (ready + 1) * sizeof(*records));
	if (n != ready)
		err(1, "PTRACE_BTS_DRAIN: %ld of %ld records", n, ready);
	if (got && memcmp(got, records, n * sizeof(*records)))
		errx(1, "PTRACE_BTS_GET and PTRACE_BTS_DRAIN differ");
	if (bts(PTRACE_BTS_SIZE, t, NULL, 0))
		errx(1, "PTRACE_BTS_SIZE is not 0 after draining");

	write_records(r, records, n);
	free(records);
	free(got);
}

static int record_stop(struct tracee *t, int status)
{
	if (every_stop)
		drain(t);
	return WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
}

static void record_event(struct tracee *t, int event)
{
	(void)event;
	if (every_stop)
		drain(t);
}

static void record_exit(struct tracee *t)
{
	struct recording *r = t->data;

	drain(t);
	if (fclose(r->out))
		err(1, "%s", prefix);
	free(r);
	t->data = NULL;
}

int main(int argc, char **argv)
{
	struct tracee_ops ops = {
		.request	= PTRACE_CONT,
		.start		= record_start,
		.stop		= record_stop,
		.event		= record_event,
		.exit		= record_exit,
	};
	int opt, status;

	while ((opt = getopt(argc, argv, "+ago:r:st")) != -1) {
		switch (opt) {
		case 'a':
			text = true;
			break;
		case 'g':
			by_index = true;
			break;
		case 'o':
			prefix = optarg;
			break;
		case 'r':
			ring_records = strtoul(optarg, NULL, 0);
			break;
		case 's':
			every_stop = true;
			ops.request = PTRACE_SYSCALL;
			break;
		case 't':
			tail = true;
			break;
		default:
			goto usage;
		}
	}
	if (!prefix || !ring_records || optind >= argc)
		goto usage;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		err(1, "sched_getaffinity");
	status = tracee_run(argv + optind, &ops);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

usage:
	fprintf(stderr,
		"usage: bts_record -o PREFIX [-agst] [-r RECORDS] PROGRAM [ARGUMENT...]\n"
		"Writes the branches thread N of PROGRAM takes to PREFIX.N, as pairs of\n"
		"64-bit addresses.  Exits as PROGRAM does, or with 4 where it cannot trace.\n"
		"  -r RECORDS  size of each thread's ring (65536)\n"
		"  -t          the tail: rings may wrap; otherwise a full one is an error\n"
		"  -s          drain at every stop, with a stop at every system call\n"
		"  -g          read record by record, too, and compare\n"
		"  -a          write text\n");
	return 1;
}
