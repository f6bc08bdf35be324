// SPDX-License-Identifier: GPL-2.0-only
/*
 * In which ways can a program run and end, for a debugger to follow?
 *
 * The first argument names the way.
 */
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef WITH_LIBRARY
int library_call(int (*callback)(int), int value);
#endif

static char **arguments;

/* Where no program has its code or data, and a canonical address. */
static int (*volatile wild)(int) = (int (*)(int))0xdeadbeef00;

static __attribute__((noinline)) int crash(int value)
{
	return wild(value) + 1;
}

static int compare(const void *a, const void *b)
{
	(void)b;
	return crash(*(const int *)a);
}

static int in_qsort(void)
{
	int numbers[] = { 3, 1, 2 };

	qsort(numbers, 3, sizeof(numbers[0]), compare);
	return 0;
}

static int in_library(void)
{
#ifdef WITH_LIBRARY
	return library_call(crash, 1);
#else
	return 77;
#endif
}

static int plain(void)
{
	return crash(1);
}

/* -- threads ------------------------------------------------------------- */

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *crash_in_thread(void *unused)
{
	crash(1);
	return unused;
}

static void *exit_in_thread(void *unused)
{
	_exit(9);
	return unused;
}

static void *exec_in_thread(void *unused)
{
	execvp(arguments[0], arguments);
	return unused;
}

/* Threads on both sides of the one that counts. */
static int in_thread(void *(*function)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_for_ever, NULL) ||
	    pthread_create(&thread, NULL, function, NULL) ||
	    pthread_create(&thread, NULL, wait_for_ever, NULL))
		errx(1, "pthread_create");
	wait_for_ever(NULL);
	return 0;
}

static int thread_crash(void)
{
	return in_thread(crash_in_thread);
}

static int thread_exit(void)
{
	return in_thread(exit_in_thread);
}

/* Threads are still being created when one of them ends the process. */
static int thread_race(void)
{
	pthread_t thread;
	int i;

	if (pthread_create(&thread, NULL, exit_in_thread, NULL))
		errx(1, "pthread_create");
	for (i = 0; i < 100; i++)
		if (pthread_create(&thread, NULL, wait_for_ever, NULL))
			errx(1, "pthread_create");
	wait_for_ever(NULL);
	return 0;
}

static int thread_exec(void)
{
	return in_thread(exec_in_thread);
}

/* -- signals ------------------------------------------------------------- */

static volatile sig_atomic_t handled;
static sigjmp_buf back;

static void count(int signal)
{
	(void)signal;
	handled++;
}

static void jump_back(int signal)
{
	(void)signal;
	handled++;
	siglongjmp(back, 1);
}

/* Signals handled, ignored, blocked, and a fault that is survived. */
static int signals(void)
{
	const union sigval value = { .sival_int = 42 };
	siginfo_t info;
	sigset_t set;

	signal(SIGUSR1, count);
	signal(SIGTRAP, count);
	signal(SIGSEGV, jump_back);
	signal(SIGUSR2, SIG_IGN);

	raise(SIGUSR1);
	raise(SIGTRAP);
	raise(SIGUSR2);
	if (!sigsetjmp(back, 1))
		crash(1);

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigqueue(getpid(), SIGTERM, value);
	if (sigwaitinfo(&set, &info) != SIGTERM || info.si_value.sival_int != 42)
		return 1;
	return handled == 3 ? 7 : 1;
}

/*
 * A child that stops itself has to stay stopped until it is continued, and its
 * parent has to see both.
 */
static int stop(void)
{
	volatile struct { int continued, seen; } *parent;
	int status, i;
	pid_t child;

	parent = mmap(NULL, sizeof(*parent), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (parent == MAP_FAILED)
		err(1, "mmap");

	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child) {
		raise(SIGSTOP);
		if (!parent->continued)
			_exit(1);
		/* Who has ended is not seen to continue any more. */
		while (!parent->seen)
			sched_yield();
		_exit(6);
	}
	if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
		return 1;
	/* One that does not stay stopped gets the time to show it. */
	for (i = 0; i < 1000; i++)
		sched_yield();
	parent->continued = 1;
	kill(child, SIGCONT);
	if (waitpid(child, &status, WCONTINUED) != child || !WIFCONTINUED(status))
		return 1;
	parent->seen = 1;
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status);
}

/* -- children ------------------------------------------------------------ */

/* posix_spawn(3) has a child as vfork(2) has. */
static int spawn(void)
{
	extern char **environ;
	int status;
	pid_t child;

	if (posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ) ||
	    waitpid(child, &status, 0) != child)
		return 1;
	return WIFSIGNALED(status) ? 8 : 1;
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{ "plain", plain },
	{ "qsort", in_qsort },
	{ "library", in_library },
	{ "thread-crash", thread_crash },
	{ "thread-exit", thread_exit },
	{ "thread-race", thread_race },
	{ "thread-exec", thread_exec },
	{ "signals", signals },
	{ "stop", stop },
	{ "spawn", spawn },
};

int main(int argc, char **argv)
{
	size_t i;

	arguments = argv + 2;
	for (i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, argv[1]))
			return cases[i].run();
	errx(1, "no such case");
}
