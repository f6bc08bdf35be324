/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do the parts of btrace know of each other?
 *
 * btrace.c reads the command line, trace.c runs the program under ptrace,
 * symbols.c gives names to addresses.
 */
#ifndef BTRACE_H
#define BTRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Exit statuses that are not the program's, as of env(1). */
#define EXIT_BTRACE	125	/* btrace itself failed */
#define EXIT_NOEXEC	126	/* the command was found, but cannot be run */
#define EXIT_NOTFOUND	127	/* the command was not found */

struct options {
	size_t branches;	/* to be shown, a number of records */
	uint32_t size;		/* of each thread's buffer, in bytes */
	bool follow;		/* trace the children of fork() and vfork(), too */
	FILE *out;
};

int trace_command(char **argv, const struct options *options);

struct symbols;

struct symbols *symbols_open(pid_t tid);
const char *symbols_name(struct symbols *symbols, uint64_t address);
void symbols_close(struct symbols *symbols);

#endif /* BTRACE_H */
