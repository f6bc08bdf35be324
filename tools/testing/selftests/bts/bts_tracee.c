// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a command under ptrace for bts_record and bts_walk, see bts_tracee.h.
 *
 * Whatever could make two runs of the same program take different branches is
 * fixed here: addresses (no randomisation), environment, file descriptors.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bts_tracee.h"

static struct tracee *threads;
static int nr_threads;

static struct tracee *find(pid_t tid)
{
	struct tracee *t;

	for (t = threads; t; t = t->next)
		if (t->tid == tid)
			return t;

	t = calloc(1, sizeof(*t));
	if (!t)
		err(1, "thread %d", tid);
	t->tid = tid;
	t->index = -1;
	t->next = threads;
	threads = t;
	return t;
}

static void forget(struct tracee *t)
{
	struct tracee **p;

	for (p = &threads; *p != t; p = &(*p)->next)
		;
	*p = t->next;
	free(t);
}

static void resume(const struct tracee *t, int request, int sig)
{
	/* A thread killed meanwhile (exit_group() of another) is no error. */
	if (ptrace(request, t->tid, NULL, (long)sig) && errno != ESRCH)
		err(1, "cannot continue thread %d", t->tid);
}

static pid_t spawn(char **argv, int options)
{
	static char *const env[] = { "PATH=/bin:/usr/bin", "LC_ALL=C", NULL };
	int go[2];
	pid_t pid;
	char c;

	if (pipe2(go, O_CLOEXEC))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		close(go[1]);
		if (personality(ADDR_NO_RANDOMIZE) < 0)
			err(127, "personality");
		if (read(go[0], &c, 1) != 1)
			_exit(127);
		execve(argv[0], argv, env);
		err(127, "%s", argv[0]);
	}
	close(go[0]);
	if (ptrace(PTRACE_SEIZE, pid, NULL,
		   options | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
		   PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD))
		err(1, "PTRACE_SEIZE");
	if (write(go[1], "", 1) != 1)
		err(1, "write");
	close(go[1]);
	return pid;
}

static void start(struct tracee *t, const struct tracee_ops *ops)
{
	t->started = true;
	ops->start(t);
}

/*
 * A new thread's stop and its creator's come in either order; it starts with
 * the later one and counts from its creator's.
 */
static void created(pid_t creator, const struct tracee_ops *ops)
{
	unsigned long tid;
	struct tracee *t;

	if (ptrace(PTRACE_GETEVENTMSG, creator, NULL, &tid))
		err(1, "PTRACE_GETEVENTMSG");
	t = find(tid);
	t->index = nr_threads++;
	if (t->waiting) {
		t->waiting = false;
		start(t, ops);
		resume(t, ops->request, 0);
	}
}

static void run(char **argv, const struct tracee_ops *ops)
{
	struct tracee *t = find(spawn(argv, ops->options));

	t->index = nr_threads++;
	t->leader = true;
}

static int finish(const struct tracee_ops *ops)
{
	int status, result = 0;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		struct tracee *t = find(tid);
		int sig = 0;

		if (!WIFSTOPPED(status)) {
			if (t->leader && status)
				result = status;
			forget(t);
			continue;
		}

		switch (status >> 16) {
		case PTRACE_EVENT_EXEC:
			if (!t->started)
				start(t, ops);
			else
				ops->event(t, PTRACE_EVENT_EXEC);
			break;
		case PTRACE_EVENT_CLONE:
			ops->event(t, PTRACE_EVENT_CLONE);
			created(tid, ops);
			break;
		case PTRACE_EVENT_STOP:
			if (t->leader || t->started)
				break;
			if (t->index < 0) {
				t->waiting = true;
				continue;
			}
			start(t, ops);
			break;
		case PTRACE_EVENT_EXIT:
			if (t->started)
				ops->exit(t);
			break;
		default:
			sig = WSTOPSIG(status);
			if (t->started)
				sig = ops->stop(t, status);
		}
		resume(t, t->started ? ops->request : PTRACE_CONT, sig);
	}
	if (errno != ECHILD)
		err(1, "waitpid");
	return result;
}

int tracee_run(char **argv, const struct tracee_ops *ops)
{
	run(argv, ops);
	return finish(ops);
}

void tracee_pin(const struct tracee *t, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(t->tid, sizeof(set), &set))
		err(1, "pin thread %d to CPU %d", t->tid, cpu);
}

int tracee_output(const struct tracee *t, const char *prefix)
{
	char *name;
	int fd;

	if (asprintf(&name, "%s.%d", prefix, t->index) < 0)
		err(1, "%s", prefix);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		err(1, "%s", name);
	free(name);
	return fd;
}

int tracee_run_all(char **argv, const struct tracee_ops *ops)
{
	while (*argv) {
		char **command = argv;

		while (*argv && strcmp(*argv, "--"))
			argv++;
		/* What is between two commands becomes the end of the first. */
		if (*argv)
			*argv++ = NULL;
		run(command, ops);
	}
	return finish(ops);
}
