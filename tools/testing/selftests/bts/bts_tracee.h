/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How does one run a command so that a debugger sees every thread of it before
 * that thread's first user instruction, at the same addresses in every run?
 * Shared by the tools that record and that walk a program; knows of no trace.
 */
#ifndef BTS_TRACEE_H
#define BTS_TRACEE_H

#include <stdbool.h>
#include <sys/types.h>

struct tracee {
	pid_t		tid;
	/* 0 is the first thread, then counted in the order of creation. */
	int		index;
	/* Stopped by clone(), waits for its creator's word of it. */
	bool		waiting;
	bool		started;
	/* The first of its command. */
	bool		leader;
	/* The tool's own. */
	void		*data;
	struct tracee	*next;
};

/*
 * All are called with the thread stopped.  A thread starts at the first exec,
 * or where clone() made it; it is resumed with @request after every call.
 */
struct tracee_ops {
	int	request;
	/* PTRACE_O_*, more than those that this needs. */
	int	options;
	void	(*start)(struct tracee *t);
	/* A signal, a step or a system call; returns the signal to deliver. */
	int	(*stop)(struct tracee *t, int status);
	/* PTRACE_EVENT_EXEC (but the first) or PTRACE_EVENT_CLONE, of this thread. */
	void	(*event)(struct tracee *t, int event);
	/* PTRACE_EVENT_EXIT: the last time anything can be read from it. */
	void	(*exit)(struct tracee *t);
};

/*
 * Runs @argv to its end with address space randomisation off and a fixed
 * environment.  Returns the wait status of the process.  Does not return on
 * errors: these say what failed and exit with status 1.
 */
int tracee_run(char **argv, const struct tracee_ops *ops);

/*
 * The same for several commands at a time, with "--" between them in @argv, whose
 * first threads have the first indices.  Returns the wait status of one that
 * failed, if any did.
 */
int tracee_run_all(char **argv, const struct tracee_ops *ops);

/* Moves a stopped thread to one CPU. */
void tracee_pin(const struct tracee *t, int cpu);

/* Opens the file a thread's branches go to: @prefix.@index. */
int tracee_output(const struct tracee *t, const char *prefix);

#endif
