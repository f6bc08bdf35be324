// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do two witnesses tell the same branches, and if not, where do they part?
 *
 * Both files hold pairs of 64-bit addresses, from and to, oldest first.
 */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTEXT	4

struct branch {
	uint64_t from, to;
};

struct trace {
	const char	*name;
	struct branch	*branches;
	size_t		nr;
};

static struct trace load(const char *name)
{
	struct trace t = { .name = name };
	FILE *f = fopen(name, "r");
	struct stat st;

	if (!f || fstat(fileno(f), &st))
		err(2, "%s", name);
	if (st.st_size % sizeof(*t.branches))
		errx(2, "%s: not a whole number of branches", name);
	t.nr = st.st_size / sizeof(*t.branches);
	t.branches = malloc(st.st_size + 1);
	if (!t.branches || fread(t.branches, sizeof(*t.branches), t.nr, f) != t.nr)
		err(2, "%s", name);
	fclose(f);
	return t;
}

static bool same(const struct branch *a, const struct branch *b)
{
	return a->from == b->from && a->to == b->to;
}

/* Both around the place where they part; @skip is how far @b is ahead. */
static void report(const struct trace *a, const struct trace *b, size_t at, size_t skip)
{
	size_t i = at > CONTEXT ? at - CONTEXT : 0;

	printf("# branch %zu differs: %s has %zu, %s has %zu\n", at,
	       a->name, a->nr, b->name, b->nr);
	for (; i <= at + CONTEXT; i++) {
		const struct branch *x = i < a->nr ? &a->branches[i] : NULL;
		const struct branch *y = i + skip < b->nr ? &b->branches[i + skip] : NULL;

		if (!x && !y)
			break;
		printf("# %c%8zu", i == at ? '>' : ' ', i);
		if (x)
			printf(" %16lx -> %-16lx", x->from, x->to);
		else
			printf(" %16s    %-16s", "-", "-");
		if (y)
			printf(" | %16lx -> %-16lx", y->from, y->to);
		else
			printf(" | %16s    %-16s", "-", "-");
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	size_t i, skip = 0, least = 1, wraps = 0;
	struct trace a, b;
	int opt;

	while ((opt = getopt(argc, argv, "t:n:")) != -1) {
		switch (opt) {
		case 't':
			wraps = strtoul(optarg, NULL, 0);
			break;
		case 'n':
			least = strtoul(optarg, NULL, 0);
			break;
		default:
			goto usage;
		}
	}
	if (argc - optind != 2)
		goto usage;

	a = load(argv[optind]);
	b = load(argv[optind + 1]);
	if (a.nr < least) {
		printf("# %s has %zu branches\n", a.name, a.nr);
		return 1;
	}
	if (wraps) {
		if (b.nr / a.nr < wraps) {
			printf("# %s holds %zu of %zu branches: wrapped less than %zu times\n",
			       a.name, a.nr, b.nr, wraps);
			return 1;
		}
		skip = b.nr - a.nr;
	}
	for (i = 0; i < a.nr && i + skip < b.nr; i++)
		if (!same(&a.branches[i], &b.branches[i + skip]))
			break;
	if (i == a.nr && i + skip == b.nr)
		return 0;
	report(&a, &b, i, skip);
	return 1;

usage:
	fprintf(stderr,
		"usage: bts_compare [-n N] [-t WRAPS] TRACE WITNESS\n"
		"Exits with 0 where both tell the same, 1 where not, 2 on errors.\n"
		"  -n N      TRACE must have at least N branches (1)\n"
		"  -t WRAPS  TRACE is the tail of WITNESS: what is left in a ring that\n"
		"            was filled at least WRAPS times\n");
	return 2;
}
