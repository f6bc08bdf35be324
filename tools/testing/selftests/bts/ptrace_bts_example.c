// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which branches led a program to its crash? This is the example of
 * Documentation/userspace-api/ptrace_bts.rst.
 *
 *	ptrace_bts_example [-a] COMMAND [ARGUMENT]...
 *
 * Runs COMMAND. If a signal kills it, prints the last branches it took, oldest
 * first. With -a: every branch, however it ends; the command stops whenever the
 * buffer is full. Only the first thread is traced.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asm/ptrace_bts.h>

/* Of <linux/ptrace.h>, which cannot be had together with <sys/ptrace.h>. */
#ifndef PTRACE_EVENT_BTS
#define PTRACE_EVENT_BTS	8
#define PTRACE_O_TRACEBTS	0x100
#endif

#define CAPACITY	4096	/* of the buffer, in records */
#define LAST		16	/* so many branches are printed without -a */

static long request(long nr, pid_t pid, void *addr, unsigned long data)
{
	long ret = syscall(SYS_ptrace, nr, (long)pid, addr, data);

	/* A SIGKILL ends any stop: then waitpid() tells the rest. */
	if (ret < 0 && errno != ESRCH)
		err(EXIT_FAILURE, "ptrace(%#lx)", nr);
	return ret;
}

/* Empty the buffer, and print the newest @most of its records. */
static void print_branches(pid_t pid, long most)
{
	static struct bts_struct records[CAPACITY];
	long nr = request(PTRACE_BTS_DRAIN, pid, records, sizeof(records));
	long i;

	for (i = nr > most ? nr - most : 0; i < nr; i++)
		if ((records[i].qualifier & BTS_QUALIFIER_MASK) == BTS_BRANCH)
			printf("0x%llx -> 0x%llx\n",
			       records[i].variant.lbr.from,
			       records[i].variant.lbr.to);
}

/* The command is about to end; its memory is still there, and its buffer. */
static void print_end(pid_t pid, bool all)
{
	struct ptrace_bts_config config = {};
	unsigned long status = 0;

	request(PTRACE_GETEVENTMSG, pid, NULL, (unsigned long)&status);
	request(PTRACE_BTS_STATUS, pid, &config, sizeof(config));
	if (all && config.lost)
		warnx("%llu branches were lost", config.lost);
	if (all || WIFSIGNALED(status))
		print_branches(pid, all ? CAPACITY : LAST);
}

int main(int argc, char **argv)
{
	struct ptrace_bts_config config = {
		.size = CAPACITY * sizeof(struct bts_struct),
		.flags = PTRACE_BTS_O_ALLOC | PTRACE_BTS_O_TRACE,
	};
	bool all = argc > 1 && !strcmp(argv[1], "-a");
	char **command = argv + 1 + all;
	int status, signal = 0;
	pid_t pid;

	if (argc < 2 + all)
		errx(EXIT_FAILURE, "usage: ptrace_bts_example [-a] COMMAND...");

	pid = fork();
	if (pid < 0)
		err(EXIT_FAILURE, "fork");
	if (!pid) {
		ptrace(PTRACE_TRACEME);
		execvp(*command, command);
		err(127, "%s", *command);
	}

	/* It stops after execve(2), before the command's first instruction. */
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return 127;
	request(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL |
		PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
		(all ? PTRACE_O_TRACEBTS : 0));
	request(PTRACE_BTS_CONFIG, pid, &config, sizeof(config));

	while (WIFSTOPPED(status)) {
		request(PTRACE_CONT, pid, NULL, signal);
		if (waitpid(pid, &status, 0) != pid)
			err(EXIT_FAILURE, "waitpid");

		signal = 0;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_BTS << 8))
			print_branches(pid, CAPACITY);
		else if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
			print_end(pid, all);
		else if (WIFSTOPPED(status) && !(status >> 16))
			signal = WSTOPSIG(status);
	}

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	warnx("killed by signal %d", WTERMSIG(status));
	return 128 + WTERMSIG(status);
}
