// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which user branches of each traced run are in the emulator's log?
 *
 * The log has a line per record: cpu, CPL before and after, CR3, from, to.  Runs
 * are told apart by workload_mark, which is traced before each of them.  What is
 * in between belongs to the run, and to one address space: a branch of another,
 * made while the hardware should have been off, is reported.  Written per run,
 * and per CPU for runs with one thread on each.
 */
#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the Makefile links workload_mark. */
#define MARK_START	0x425453000000ULL
#define MARK_END	0x425454000000ULL

/* Bits of CR3 that say which half of the page tables, and which PCID. */
#define CR3_MASK	(~0x1fffULL & INT64_MAX)

#define MAX_CPUS	64
#define MAX_SPACES	16

static const char *prefix;
static FILE *whole, *per_cpu[MAX_CPUS];
static uint64_t spaces[MAX_SPACES];
static unsigned int nr_spaces;
static int run = -1;

static FILE *create(const char *suffix, int number)
{
	char *name;
	FILE *f;

	if (asprintf(&name, "%s.%d.%s%d", prefix, run, suffix, number) < 0)
		err(2, "%s", prefix);
	f = fopen(name, "w");
	if (!f)
		err(2, "%s", name);
	free(name);
	return f;
}

static void close_run(void)
{
	unsigned int i;

	if (run >= 0) {
		FILE *f = create("spaces", 0);

		fprintf(f, "%u\n", nr_spaces);
		if (fclose(f) || fclose(whole))
			err(2, "%s", prefix);
	}
	for (i = 0; i < MAX_CPUS; i++) {
		if (per_cpu[i] && fclose(per_cpu[i]))
			err(2, "%s", prefix);
		per_cpu[i] = NULL;
	}
	nr_spaces = 0;
}

static void note_space(uint64_t cr3)
{
	unsigned int i;

	for (i = 0; i < nr_spaces; i++)
		if (spaces[i] == cr3)
			return;
	if (nr_spaces < MAX_SPACES)
		spaces[nr_spaces++] = cr3;
}

static void add(unsigned int cpu, uint64_t cr3, const uint64_t branch[2])
{
	if (cpu >= MAX_CPUS)
		errx(2, "CPU %u", cpu);
	if (!per_cpu[cpu])
		per_cpu[cpu] = create("cpu", cpu);
	note_space(cr3 & CR3_MASK);
	fwrite(branch, sizeof(*branch), 2, whole);
	fwrite(branch, sizeof(*branch), 2, per_cpu[cpu]);
}

int main(int argc, char **argv)
{
	bool in_mark = false, complete = false;
	char line[256];
	FILE *log;

	if (argc != 3) {
		fprintf(stderr,
			"usage: bts_split LOG PREFIX\n"
			"Writes the user branches of run N to PREFIX.N.all0, those on each CPU\n"
			"to PREFIX.N.cpuC, and the number of address spaces to PREFIX.N.spaces0.\n"
			"Exits with 1 where the hardware dropped records.\n");
		return 2;
	}
	log = fopen(argv[1], "r");
	if (!log)
		err(2, "%s", argv[1]);
	prefix = argv[2];

	while (fgets(line, sizeof(line), log)) {
		unsigned long cpu, before, after, dropped;
		uint64_t cr3, branch[2];
		char *p = line;

		if (sscanf(line, "dropped %lu %lu", &cpu, &dropped) == 2) {
			if (dropped)
				errx(1, "CPU %lu dropped %lu records", cpu, dropped);
			complete = true;
			continue;
		}
		cpu = strtoul(p, &p, 10);
		before = strtoul(p, &p, 10);
		after = strtoul(p, &p, 10);
		cr3 = strtoull(p, &p, 16);
		branch[0] = strtoull(p, &p, 16);
		branch[1] = strtoull(p, &p, 16);
		if (*p != '\n' || before > 3 || after > 3)
			errx(2, "%s: not a line of the log: %s", argv[1], line);
		if (before != 3 || after != 3)
			continue;

		if (branch[0] >= MARK_START && branch[0] < MARK_END) {
			if (!in_mark) {
				close_run();
				run++;
				whole = create("all", 0);
			}
			in_mark = true;
			continue;
		}
		in_mark = false;
		/* What is traced before the first mark is nobody's here. */
		if (run >= 0)
			add(cpu, cr3, branch);
	}
	if (ferror(log))
		err(2, "%s", argv[1]);
	close_run();
	/* What was dropped is told last. */
	if (!complete)
		errx(1, "%s: the end is missing", argv[1]);
	return 0;
}
