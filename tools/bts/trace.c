// SPDX-License-Identifier: GPL-2.0-only
/*
 * How does a program run, under ptrace, with a record of its branches?
 *
 * Every thread has a branch trace buffer of its own. It is read when the
 * thread is about to exit: then the process is still there as it was in its
 * last user instruction, mappings and all. A process is reported once, by the
 * branches of the thread that ends it.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asm/ptrace_bts.h>

#include "btrace.h"

struct task {
	struct task *next;
	pid_t tid;
	pid_t tgid;
	bool traced;		/* has a buffer of branches */
	bool exiting;		/* stopped in PTRACE_EVENT_EXIT */
	bool reported;		/* its process was */
	int signal;		/* delivered last, 0 if stopped since */
	siginfo_t info;		/* of that signal */
};

struct trace {
	const struct options *options;
	struct task *tasks;
	pid_t child;		/* the process of the command */
	bool running;		/* it is, not btrace's code before execve(2) */
	int status;		/* it ended with, as of wait(2) */
};

/* -- tasks --------------------------------------------------------------- */

static pid_t thread_group(pid_t tid)
{
	char line[256];
	pid_t tgid = tid;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/status", tid);
	f = fopen(line, "re");
	if (!f)
		return tid;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	fclose(f);
	return tgid;
}

static struct task **find_task(struct trace *trace, pid_t tid)
{
	struct task **task = &trace->tasks;

	while (*task && (*task)->tid != tid)
		task = &(*task)->next;
	return task;
}

/*
 * A thread's first stop may come after its process was reported: it was created
 * just before another thread ended them all.
 */
static struct task *add_task(struct trace *trace, pid_t tid)
{
	struct task *task = calloc(1, sizeof(*task));
	const struct task *other;

	if (!task)
		err(EXIT_BTRACE, NULL);
	task->tid = tid;
	task->tgid = thread_group(tid);
	for (other = trace->tasks; other; other = other->next)
		if (other->tgid == task->tgid)
			task->reported = other->reported;
	task->next = trace->tasks;
	trace->tasks = task;
	return task;
}

static void remove_task(struct trace *trace, pid_t tid)
{
	struct task **link = find_task(trace, tid), *task = *link;

	if (task) {
		*link = task->next;
		free(task);
	}
}

static bool last_thread(const struct trace *trace, const struct task *task)
{
	const struct task *other;

	for (other = trace->tasks; other; other = other->next)
		if (other->tgid == task->tgid && !other->exiting)
			return false;
	return true;
}

/* -- branch trace -------------------------------------------------------- */

static void warn_processor(void)
{
	char line[256], name[128] = "";
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "model name : %127[^\n]", name) == 1)
			break;
	if (f)
		fclose(f);
	warnx("the processor (%s) has no branch trace store", name[0] ? name : "unknown");
	warnx("it is a feature of Intel's; a virtual machine has it only where it is emulated");
}

static void warn_memory(uint32_t size)
{
	struct rlimit limit;

	warnx("no memory for a buffer of %" PRIu32 " bytes", size);
	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY)
		warnx("all buffers together may take %ju bytes (RLIMIT_MEMLOCK, 'ulimit -l'); see -s",
		      (uintmax_t)limit.rlim_cur);
}

static void warn_config(int error, uint32_t size)
{
	switch (error) {
	case EIO:
		warnx("this kernel has no PTRACE_BTS requests (CONFIG_X86_PTRACE_BTS)");
		break;
	case EOPNOTSUPP:
		warn_processor();
		break;
	case ENOMEM:
		warn_memory(size);
		break;
	case EBUSY:
	case EPERM:
		warnx("the branch trace store is in use, by perf or another tracer: %s",
		      strerror(error));
		break;
	case EINVAL:
		warnx("the kernel refuses a buffer of %" PRIu32 " bytes", size);
		break;
	default:
		warnx("cannot trace branches: %s", strerror(error));
	}
}

/* Empties the trace, or turns it on where it is not. */
static int start_branches(struct task *task, uint32_t size)
{
	struct ptrace_bts_config config = {
		.size = size,
		.flags = PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC,
	};

	if (task->traced && !ptrace(PTRACE_BTS_CLEAR, task->tid, NULL, NULL))
		return 0;
	if (ptrace(PTRACE_BTS_CONFIG, task->tid, &config, sizeof(config)) < 0)
		return -1;
	task->traced = true;
	return 0;
}

/* Reads all records, oldest first; returns their number, or -1. */
static long read_branches(const struct task *task, struct bts_struct **records)
{
	long count = ptrace(PTRACE_BTS_SIZE, task->tid, NULL, NULL);

	if (count < 0)
		return -1;
	*records = calloc(count + 1, sizeof(**records));
	if (!*records)
		err(EXIT_BTRACE, NULL);
	return ptrace(PTRACE_BTS_DRAIN, task->tid, *records,
		      count * sizeof(**records));
}

/* -- report -------------------------------------------------------------- */

static void print_branches(const struct options *options, const struct task *task,
			   struct symbols *symbols)
{
	struct bts_struct *records = NULL;
	long i, count;

	if (!task->traced) {
		warnx("thread %d was not traced", task->tid);
		return;
	}
	count = read_branches(task, &records);
	if (count < 0)
		warn("cannot read the branches of thread %d", task->tid);

	i = count - (long)options->branches;
	for (i = i < 0 ? 0 : i; i < count; i++) {
		if ((records[i].qualifier & BTS_QUALIFIER_MASK) != BTS_BRANCH)
			continue;
		fprintf(options->out, "%s -> %s\n",
			symbols_name(symbols, records[i].variant.lbr.from),
			symbols_name(symbols, records[i].variant.lbr.to));
	}
	free(records);
}

/* Does si_addr tell what the signal is about, and is it known? */
static bool has_address(const siginfo_t *info)
{
	switch (info->si_signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
		return info->si_code > 0 && info->si_code != SI_KERNEL;
	default:
		return false;
	}
}

static void print_status(FILE *out, int status)
{
	const char *name;

	if (WIFEXITED(status)) {
		fprintf(out, "exited with status %d", WEXITSTATUS(status));
		return;
	}
	name = sigabbrev_np(WTERMSIG(status));
	if (name)
		fprintf(out, "killed by SIG%s", name);
	else
		fprintf(out, "killed by signal %d", WTERMSIG(status));
}

static void print_end(FILE *out, const struct task *task, int status,
		      struct symbols *symbols)
{
	struct user_regs_struct regs;

	print_status(out, status);
	if (WIFSIGNALED(status)) {
		if (task->signal == WTERMSIG(status) && has_address(&task->info))
			fprintf(out, " at 0x%" PRIxPTR, (uintptr_t)task->info.si_addr);
		if (!ptrace(PTRACE_GETREGS, task->tid, NULL, &regs))
			fprintf(out, ", ip %s", symbols_name(symbols, regs.rip));
	}
	if (task->tid != task->tgid)
		fprintf(out, ", thread %d", task->tid);
	fputc('\n', out);
}

static void print_process(const struct trace *trace, pid_t tgid)
{
	if (tgid != trace->child)
		fprintf(trace->options->out, "process %d:\n", tgid);
}

static void mark_reported(struct trace *trace, pid_t tgid)
{
	struct task *task;

	for (task = trace->tasks; task; task = task->next)
		if (task->tgid == tgid)
			task->reported = true;
}

static void report(struct trace *trace, const struct task *task, int status)
{
	FILE *out = trace->options->out;
	struct symbols *symbols;

	symbols = symbols_open(task->tid);
	print_process(trace, task->tgid);
	print_branches(trace->options, task, symbols);
	print_end(out, task, status, symbols);
	symbols_close(symbols);
	mark_reported(trace, task->tgid);
}

/* -- stops --------------------------------------------------------------- */

/* Is the task in exit_group(2)? Its number depends on the program's kind. */
static bool in_exit_group(const struct task *task)
{
	enum { USER32_CS = 0x23, EXIT_GROUP_32 = 252, EXIT_GROUP_64 = 231 };
	enum { X32_SYSCALL_BIT = 0x40000000 };
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, task->tid, NULL, &regs))
		return false;
	if (regs.cs == USER32_CS)
		return regs.orig_rax == EXIT_GROUP_32;
	return (regs.orig_rax & ~X32_SYSCALL_BIT) == EXIT_GROUP_64;
}

/*
 * Is it this thread that ends its process? Where no thread is known to do so
 * (SIGKILL, say, comes without a stop), the last one to exit is taken.
 */
static bool ends_process(const struct trace *trace, const struct task *task, int status)
{
	if (WIFSIGNALED(status) && task->signal == WTERMSIG(status))
		return true;
	if (WIFEXITED(status) && in_exit_group(task))
		return true;
	return last_thread(trace, task);
}

static void stop_at_exit(struct trace *trace, struct task *task)
{
	unsigned long status;

	task->exiting = true;
	if (!trace->running || task->reported)
		return;
	if (ptrace(PTRACE_GETEVENTMSG, task->tid, NULL, &status))
		return;
	if (ends_process(trace, task, status))
		report(trace, task, status);
}

/*
 * The thread that called execve(2) is now the only one and has its process's
 * ID. What it did before is forgotten: its addresses mean nothing any more.
 */
static struct task *stop_at_exec(struct trace *trace, struct task *task)
{
	unsigned long tid;
	struct task *caller;

	if (ptrace(PTRACE_GETEVENTMSG, task->tid, NULL, &tid) || (pid_t)tid == task->tid)
		return task;
	caller = *find_task(trace, tid);
	if (!caller)
		return task;
	remove_task(trace, task->tid);
	caller->tid = caller->tgid;
	return caller;
}

static void trace_branches(struct trace *trace, struct task *task)
{
	static bool warned;

	if (!start_branches(task, trace->options->size) || errno == ESRCH)
		return;
	if (!warned)
		warn_config(errno, trace->options->size);
	/* Without its first instruction run, the command ends when we do. */
	if (!trace->running)
		exit(EXIT_BTRACE);
	if (!warned)
		warnx("thread %d goes on without a trace, others may too", task->tid);
	warned = true;
}

/* Handles a stop; resumes the task, or leaves it to a later SIGCONT. */
static void handle_stop(struct trace *trace, struct task *task, int status)
{
	int event = status >> 16, signal = 0;

	if (event != PTRACE_EVENT_EXIT)
		task->signal = 0;
	switch (event) {
	case 0:
		/* A signal, on its way to be delivered. */
		signal = task->signal = WSTOPSIG(status);
		if (ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &task->info))
			memset(&task->info, 0, sizeof(task->info));
		break;
	case PTRACE_EVENT_EXEC:
		task = stop_at_exec(trace, task);
		trace_branches(trace, task);
		trace->running = true;
		break;
	case PTRACE_EVENT_EXIT:
		stop_at_exit(trace, task);
		break;
	case PTRACE_EVENT_STOP:
		/* A new task's first stop, and those of job control. */
		if (trace->running && !task->traced)
			trace_branches(trace, task);
		if (WSTOPSIG(status) != SIGTRAP) {
			ptrace(PTRACE_LISTEN, task->tid, NULL, NULL);
			return;
		}
		break;
	}
	/* ESRCH: the task was killed meanwhile, wait(2) will tell. */
	if (ptrace(PTRACE_CONT, task->tid, NULL, signal) && errno != ESRCH)
		err(EXIT_BTRACE, "cannot resume thread %d", task->tid);
}

static void handle_end(struct trace *trace, struct task *task, int status)
{
	if (task->tid == task->tgid && trace->running && !task->reported) {
		/* Killed so that it never stopped in PTRACE_EVENT_EXIT. */
		print_process(trace, task->tgid);
		print_status(trace->options->out, status);
		fputs(", branches lost\n", trace->options->out);
	}
	if (task->tid == trace->child)
		trace->status = status;
	remove_task(trace, task->tid);
}

/* -- the command --------------------------------------------------------- */

/* Waits until btrace is its tracer, then becomes the command. */
static void __attribute__((noreturn)) run_command(char **argv, int seized)
{
	char byte;
	int error;

	/* Nothing comes where btrace could not seize it. */
	if (read(seized, &byte, 1) != 1)
		_exit(EXIT_BTRACE);
	execvp(argv[0], argv);
	error = errno;
	warn("%s", argv[0]);
	_exit(error == ENOENT ? EXIT_NOTFOUND : EXIT_NOEXEC);
}

static pid_t start_command(char **argv, const struct options *options)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	unsigned long ptrace_options;
	struct sigaction old[2];
	int seized[2];
	pid_t child;

	ptrace_options = PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC |
			 PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE;
	if (options->follow)
		ptrace_options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;

	/* The terminal's keys are for the command: btrace has to outlive it. */
	sigaction(SIGINT, &ignore, &old[0]);
	sigaction(SIGQUIT, &ignore, &old[1]);

	if (pipe2(seized, O_CLOEXEC))
		err(EXIT_BTRACE, "pipe");
	child = fork();
	if (child < 0)
		err(EXIT_BTRACE, "fork");
	if (!child) {
		sigaction(SIGINT, &old[0], NULL);
		sigaction(SIGQUIT, &old[1], NULL);
		close(seized[1]);
		run_command(argv, seized[0]);
	}
	close(seized[0]);
	if (ptrace(PTRACE_SEIZE, child, NULL, ptrace_options))
		err(EXIT_BTRACE, "cannot trace the command");
	if (write(seized[1], "", 1) != 1)
		err(EXIT_BTRACE, "pipe");
	close(seized[1]);
	return child;
}

/**
 * trace_command - run a command and report its last branches
 * @argv:	the command and its arguments, ended by NULL
 * @options:	what to trace, and where to write it
 *
 * Returns when the command and all that is traced with it have ended.
 *
 * Returns: the exit status for btrace, the command's.
 */
int trace_command(char **argv, const struct options *options)
{
	struct trace trace = { .options = options };
	struct task *task;
	int status;
	pid_t tid;

	trace.child = start_command(argv, options);
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		task = *find_task(&trace, tid);
		if (!task)
			task = add_task(&trace, tid);
		if (WIFSTOPPED(status))
			handle_stop(&trace, task, status);
		else
			handle_end(&trace, task, status);
	}
	if (fflush(options->out) || ferror(options->out))
		err(EXIT_BTRACE, "cannot write the branches");

	if (WIFSIGNALED(trace.status))
		return 128 + WTERMSIG(trace.status);
	return WEXITSTATUS(trace.status);
}
