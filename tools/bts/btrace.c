// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does btrace's command line ask for?
 *
 * btrace runs a program with the processor's branch trace store on
 * (PTRACE_BTS_*) and shows the last branches it took when it ends.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <asm/ptrace_bts.h>

#include "btrace.h"

#define DEFAULT_BRANCHES	16
#define DEFAULT_SIZE		(64 << 10)
#define RECORD_SIZE		sizeof(struct bts_struct)

static const char usage_text[] =
"Usage: btrace [-n N] [-s SIZE] [-f] [-o FILE] [--] COMMAND [ARG...]\n"
"Run COMMAND and show the last branches it took when it exits or is killed.\n"
"\n"
"  -n N       show the last N branches (default 16)\n"
"  -s SIZE    buffer of SIZE bytes for each thread, with suffix K or M for\n"
"             units of 1024 or 1024*1024 (default 64K, more where -n needs it)\n"
"  -f         trace the children of fork() and vfork(), too\n"
"  -o FILE    write to FILE, not to the standard error\n"
"  -h, --help show this text\n"
"\n"
"A line 'main+0x1c -> sum+0x0' is one branch taken, oldest first. The exit\n"
"status is COMMAND's, or 128 plus the number of the signal that killed it; 125\n"
"if btrace fails, 126 if COMMAND cannot be run, 127 if it is not found.\n";

static void __attribute__((noreturn)) usage_error(void)
{
	fputs("Try 'btrace --help' for more information.\n", stderr);
	exit(EXIT_BTRACE);
}

/* Reads a number from 1 to max, followed by one of the suffixes or nothing. */
static uint32_t number(char option, const char *text, const char *suffixes,
		       uint32_t max)
{
	unsigned long long value;
	const char *suffix;
	unsigned int power;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || text[0] < '0' || text[0] > '9')
		goto invalid;

	if (*end) {
		suffix = strchr(suffixes, *end);
		if (!suffix || end[1])
			goto invalid;
		/* The n-th suffix is for the n-th power of 1024. */
		for (power = suffix - suffixes + 1; power && value <= max; power--)
			value *= 1024;
	}
	if (value >= 1 && value <= max)
		return value;
invalid:
	warnx("invalid argument of -%c: '%s'", option, text);
	usage_error();
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct options options = {
		.branches = DEFAULT_BRANCHES,
		.out = stderr,
	};
	const char *file = NULL;
	int opt;

	while ((opt = getopt_long(argc, argv, "+n:s:fo:h", long_options, NULL)) != -1) {
		switch (opt) {
		case 'n':
			options.branches = number('n', optarg, "", UINT32_MAX / RECORD_SIZE);
			break;
		case 's':
			options.size = number('s', optarg, "KM", UINT32_MAX);
			break;
		case 'f':
			options.follow = true;
			break;
		case 'o':
			file = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		default:
			usage_error();
		}
	}
	if (optind == argc) {
		warnx("no command given");
		usage_error();
	}
	if (!options.size) {
		options.size = options.branches * RECORD_SIZE;
		if (options.size < DEFAULT_SIZE)
			options.size = DEFAULT_SIZE;
	}
	if (file) {
		options.out = fopen(file, "we");
		if (!options.out)
			err(EXIT_BTRACE, "%s", file);
	} else {
		/* Whole lines, so that they are not torn by another writer's. */
		setlinebuf(stderr);
	}

	return trace_command(argv + optind, &options);
}
