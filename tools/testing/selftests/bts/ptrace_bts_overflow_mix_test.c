// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is a trace complete whatever its tracee does where the buffer is full?
 *
 * Programs that do one kind of thing over and over - system calls, page faults, signals,
 * new tasks, other stops - are recorded in one piece in a large buffer that never stops
 * them; and then in the smallest, that does so all the time, in both ways and with their
 * branches shifted against the buffer's end from run to run. Both are to be the same to
 * the last branch, and the programs are to do the same.
 */
#include "ptrace_bts_overflow.h"
#include "ptrace_bts_shift.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <ucontext.h>

#define NR_LARGE	300000

/* Shifts of the branches against the buffer's end */
static const int shifts[] = { 0, 1, 50, 149, 254, 255 };

/* System calls without the C library, which has caches and locks of its own */
static inline long call(long nr, long a, long b, long c, long d)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = 0;
	register long r9 asm("r9") = 0;

	asm volatile("syscall" : "+a" (nr)
		     : "D" (a), "S" (b), "d" (c), "r" (r10), "r" (r8), "r" (r9)
		     : "rcx", "r11", "memory");
	return nr;
}

/* What a program must not get is found out after its run, by the bits in its status. */
static int wrong;

#define MUST(condition) do { if (!(condition)) wrong = 1; } while (0)

/* Some branches between one thing and the next, never the same number of them */
static noinline void between(unsigned int i)
{
	unsigned int n;

	for (n = 0; n < i % 11; n++)
		barrier();
}

/* ---- system calls: quick ones, and those that sleep and can be interrupted ---- */

static int echo_there[2], echo_back[2];

/* Somebody who answers every byte, so that the program sleeps for it. */
static void start_echo(void)
{
	char byte;

	if (pipe(echo_there) || pipe(echo_back))
		_exit(9);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(echo_there[1]);
		close(echo_back[0]);
		while (read(echo_there[0], &byte, 1) == 1) {
			sched_yield();
			if (write(echo_back[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(echo_there[0]);
	close(echo_back[1]);
}

static void do_calls(int rounds)
{
	static char buffer[4096];
	const struct timespec instant = { 0, 1000 };
	struct pollfd fd = { echo_back[0], POLLIN, 0 };
	struct epoll_event event = { .events = EPOLLIN };
	int i, epoll = call(SYS_epoll_create1, 0, 0, 0, 0);
	uint64_t usr2 = 1 << (SIGUSR2 - 1);
	char byte;

	MUST(!call(SYS_epoll_ctl, epoll, EPOLL_CTL_ADD, echo_back[0], (long)&event));
	call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&usr2, 0, 8);
	for (i = 0; i < rounds; i++) {
		between(i);
		MUST(call(SYS_getppid, 0, 0, 0, 0) > 0);
		MUST(call(SYS_lseek, -1, 0, 0, 0) == -EBADF);
		between(i + 1);
		MUST(!call(SYS_sched_yield, 0, 0, 0, 0));
		/* A byte on its way: each of these sleeps until it is there. */
		MUST(call(SYS_write, echo_there[1], (long)&byte, 1, 0) == 1);
		switch (i % 3) {
		case 0:
			MUST(call(SYS_poll, (long)&fd, 1, -1, 0) == 1);
			break;
		case 1:
			MUST(call(SYS_epoll_wait, epoll, (long)&event, 1, -1) == 1);
			break;
		}
		between(i + 2);
		MUST(call(SYS_read, echo_back[0], (long)&byte, 1, 0) == 1);
		MUST(call(SYS_getcwd, (long)buffer, sizeof(buffer), 0, 0) > 0);
		call(SYS_kill, call(SYS_getpid, 0, 0, 0, 0), SIGUSR2, 0, 0);
		MUST(call(SYS_rt_sigtimedwait, (long)&usr2, 0, (long)&instant, 8) == SIGUSR2);
		/* The clock's ticks are long. */
		if (i % 16)
			continue;
		MUST(!call(SYS_nanosleep, (long)&instant, 0, 0, 0));
		MUST(call(SYS_rt_sigtimedwait, (long)&usr2, 0, (long)&instant, 8) == -EAGAIN);
	}
}

/* ---- page faults ---- */

static void do_faults(int rounds)
{
	static char data[64 * 4096];
	int i, j;

	for (i = 0; i < rounds; i++) {
		char *pages = (void *)call(SYS_mmap, 0x30000000, 8 * 4096,
					   PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED);

		/* The fifth and sixth argument are zero, and ignored for these. */
		for (j = 0; j < 8; j++) {
			between(i + j);
			MUST(!READ_ONCE(pages[j * 4096 + i]));
			WRITE_ONCE(pages[j * 4096 + i], i);
		}
		/* A copy when written to: it is shared with a child. */
		if (i % 16 == 0) {
			long pid = call(SYS_fork, 0, 0, 0, 0);

			if (!pid)
				call(SYS_exit, 0, 0, 0, 0);
			for (j = 0; j < 64; j++)
				WRITE_ONCE(data[j * 4096], data[j * 4096] + 1);
			MUST(call(SYS_wait4, pid, 0, 0, 0) == pid);
		}
		call(SYS_munmap, (long)pages, 8 * 4096, 0, 0);
	}
	MUST(data[0] == (rounds + 15) / 16);
}

/* ---- signals, from the program itself and from its faults ---- */

static int handled;

static void count_signal(int sig)
{
	(void)sig;
	handled++;
	between(handled);
}

static void nested(int sig)
{
	(void)sig;
	handled++;
	call(SYS_tgkill, call(SYS_getpid, 0, 0, 0, 0), call(SYS_gettid, 0, 0, 0, 0), SIGUSR2, 0);
	between(handled);
}

static void skip(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	handled++;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void handle(int sig, void *handler, int flags, int mask)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };

	if (mask < 0)
		sigfillset(&sa.sa_mask);
	else if (mask)
		sigaddset(&sa.sa_mask, mask);
	sigaction(sig, &sa, NULL);
}

static void start_handlers(void)
{
	static char stack[65536];
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };

	sigaltstack(&alternate, NULL);
	handle(SIGUSR2, count_signal, SA_NODEFER, 0);
	handle(SIGALRM, nested, SA_ONSTACK, 0);
	/* The overflow signals are blocked there. */
	handle(SIGHUP, nested, SA_ONSTACK | SA_NODEFER, SIGUSR1);
	handle(SIGPIPE, count_signal, SA_ONSTACK, -1);
	handle(45, count_signal, SA_SIGINFO, -1);
	handle(SIGILL, skip, SA_SIGINFO, 0);
	handle(SIGFPE, skip, SA_SIGINFO | SA_ONSTACK, -1);
	handle(SIGSYS, count_signal, SA_SIGINFO, 0);
}

static void do_signals(int rounds)
{
	static const int signals[] = { SIGUSR2, SIGALRM, SIGHUP, SIGPIPE, 45 };
	const long pid = call(SYS_getpid, 0, 0, 0, 0), tid = call(SYS_gettid, 0, 0, 0, 0);
	unsigned int i, j;

	for (i = 0; i < (unsigned int)rounds; i++) {
		for (j = 0; j < ARRAY_SIZE(signals); j++) {
			between(i + j);
			MUST(!call(SYS_tgkill, pid, tid, signals[j], 0));
		}
		between(i);
		asm volatile("ud2");
		asm volatile("xor %%edx, %%edx; xor %%ecx, %%ecx; div %%ecx"
			     : : : "eax", "ecx", "edx");
	}
	/* Two of them raise another one. */
	MUST(READ_ONCE(handled) == rounds * 9);
}

/* ---- other tasks ---- */

static void do_tasks(int rounds)
{
	static int in_child;
	int i;

	for (i = 0; i < rounds; i++) {
		long pid;

		between(i);
		pid = call(SYS_fork, 0, 0, 0, 0);
		if (!pid)
			call(SYS_exit, 3, 0, 0, 0);
		between(i);
		MUST(call(SYS_wait4, pid, 0, 0, 0) == pid);
		in_child = 0;
		/* vfork(), which returns here only when the child has ended */
		asm volatile("mov	$58, %%eax\n"
			     "	syscall\n"
			     "	test	%%eax, %%eax\n"
			     "	jnz	1f\n"
			     "	incl	%1\n"
			     "	mov	$60, %%eax\n"
			     "	xor	%%edi, %%edi\n"
			     "	syscall\n"
			     "1:"
			     : "=&a" (pid), "+m" (in_child) : : "rcx", "r11", "rdi", "memory");
		MUST(in_child == 1);
		between(i + 5);
		MUST(call(SYS_wait4, pid, 0, 0, 0) == pid);
	}
}

/* ---- calls that a filter looks at ---- */

static void start_filter(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_geteuid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	start_handlers();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(4);
}

static void do_filtered(int rounds)
{
	int i;

	for (i = 0; i < rounds; i++) {
		between(i);
		MUST(call(SYS_getppid, 0, 0, 0, 0) > 0);
		between(i + 1);
		call(SYS_getuid, 0, 0, 0, 0);
		between(i + 2);
		MUST(call(SYS_geteuid, 0, 0, 0, 0) == -EXDEV);
	}
	MUST(READ_ONCE(handled) == rounds);
}

/* ---- another program: as itself, after all of its own branches ---- */

static void do_exec(int rounds)
{
	static char *const args[] = { "/proc/self/exe", "--loop", NULL };
	int i;

	for (i = 0; i < rounds; i++)
		between(i);
	call(SYS_execve, (long)args[0], (long)args, 0, 0);
	wrong = 1;
}

/* ---- nothing but branches, for stops that are the debugger's ---- */

static void do_branches(int rounds)
{
	int i;

	for (i = 0; i < rounds; i++) {
		between(i);
		/* What it answers is nothing to it: a debugger may answer instead. */
		if (i % 8 == 0)
			call(SYS_getppid, 0, 0, 0, 0);
	}
}

struct program {
	void (*prepare)(void);
	void (*run)(int rounds);
	int rounds;
};

/* The program's stops, as counts: these are to be the same as well. */
struct run {
	struct bts_struct *records;
	long nr, capacity;
	bool begun;
	long full, signals, calls, steps, jobs, traps;
	int status;
};

static void append(struct __test_metadata *_metadata, pid_t pid, struct run *run)
{
	struct bts_struct *records;
	long n, i;

	if (count(pid) <= 0)
		return;
	records = drain(_metadata, pid, &n);
	for (i = 0; i < n; i++) {
		uintptr_t from = records[i].variant.lbr.from;

		ASSERT_EQ((uint64_t)BTS_BRANCH, records[i].qualifier);
		if (from >= (uintptr_t)shift_loop && from < (uintptr_t)shift_end) {
			run->begun = true;
			continue;
		}
		if (!run->begun)
			continue;
		if (run->nr == run->capacity) {
			run->capacity = 2 * run->capacity + 1000;
			run->records = realloc(run->records, run->capacity * RECORD);
			ASSERT_NE(NULL, run->records);
		}
		run->records[run->nr++] = records[i];
	}
	free(records);
}

/* How a run is done */
struct way {
	/* -1: in a large buffer */
	int sig;
	int request;
	int shift;
	/* Drain at every other stop, too */
	bool often;
	/* Seized, not asked for by the program */
	bool seize;
	/* Meddle at full buffers: see there */
	bool meddle;
};

/* Who seizes stops it in its own time: it waits. */
static int go[2];

static pid_t start_program(struct __test_metadata *_metadata, const struct program *program,
			   const struct way *way)
{
	pid_t pid;
	char byte;

	if (way->seize)
		ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		if (program->prepare)
			program->prepare();
		if (way->seize) {
			close(go[1]);
			call(SYS_read, go[0], (long)&byte, 1, 0);
		} else {
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
			asm volatile("int3");
		}
		shift_loop(way->shift);
		program->run(program->rounds);
		call(SYS_exit_group, wrong, 0, 0, 0);
	}
	if (way->seize) {
		close(go[0]);
		ASSERT_EQ(0, request(PTRACE_SEIZE, pid, NULL, PTRACE_O_EXITKILL));
		ASSERT_EQ(0, request(PTRACE_INTERRUPT, pid, NULL, 0));
		wait_for_stop(_metadata, pid, SIGTRAP | PTRACE_EVENT_STOP << 8);
		ASSERT_EQ(1, write(go[1], "", 1));
		close(go[1]);
	} else {
		wait_for_stop(_metadata, pid, SIGTRAP);
	}
	return pid;
}

/*
 * At a full buffer: it may have to stop for that again, or for something else, or
 * both, before it comes to its next instruction.
 */
static void meddle(struct __test_metadata *_metadata, pid_t pid, long full)
{
	switch (full / 2 % 5) {
	case 0:
		ASSERT_EQ(0, request(PTRACE_INTERRUPT, pid, NULL, 0));
		break;
	case 1:
		ASSERT_EQ(0, kill(pid, SIGSTOP));
		break;
	case 2:
		ASSERT_EQ(0, kill(pid, SIGWINCH));
		break;
	case 3:
		ASSERT_EQ(0, kill(pid, SIGTSTP));
		ASSERT_EQ(0, request(PTRACE_INTERRUPT, pid, NULL, 0));
		ASSERT_EQ(0, kill(pid, SIGWINCH));
		break;
	}
}

/* At an emulated system call: is it the last one? */
static bool is_exit(struct __test_metadata *_metadata, pid_t pid)
{
	struct user_regs_struct regs;

	regs_of(_metadata, pid, &regs);
	return regs.orig_rax == SYS_exit_group;
}

static void do_run(struct __test_metadata *_metadata, const struct program *program,
		   const struct way *way, struct run *run)
{
	const long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
		PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD;
	pid_t pid = start_program(_metadata, program, way), who;
	int status, sig = 0, event, stop;

	memset(run, 0, sizeof(*run));
	ASSERT_EQ(16, way->sig < 0 ? trace(pid, NR_LARGE) :
		  trace_all(pid, MIN_CAPACITY, way->sig));
	ASSERT_EQ(0, set_options(pid, options | (way->sig ? 0 : PTRACE_O_TRACEBTS)));
	ASSERT_EQ(0, request(way->request, pid, NULL, 0));
	for (;;) {
		who = waitpid(-1, &status, __WALL);
		ASSERT_LT(0, who);
		if (who != pid) {
			/* A new task, which is not of interest */
			if (WIFSTOPPED(status))
				ASSERT_EQ(0, request(PTRACE_DETACH, who, NULL, 0));
			continue;
		}
		if (!WIFSTOPPED(status))
			break;

		event = status >> 16;
		stop = WSTOPSIG(status);
		sig = 0;
		if (way->sig >= 0 && is_full_stop(pid, status, way->sig)) {
			run->full++;
			if (way->meddle && run->full % 2)
				meddle(_metadata, pid, run->full);
			else
				append(_metadata, pid, run);
		} else if (event == PTRACE_EVENT_STOP && stop != SIGTRAP) {
			/* Stopped as a job, and not to the debugger any more */
			ASSERT_EQ(0, request(PTRACE_LISTEN, pid, NULL, 0));
			ASSERT_EQ(0, kill(pid, SIGCONT));
			run->jobs++;
			continue;
		} else if (event == PTRACE_EVENT_STOP) {
			run->traps++;
		} else if (event) {
			if (event == PTRACE_EVENT_EXIT) {
				append(_metadata, pid, run);
				if (way->sig >= 0)
					ASSERT_EQ(0, lost(pid));
			}
		} else if (stop == (SIGTRAP | 0x80)) {
			run->calls++;
			if ((way->request == PTRACE_SYSEMU ||
			     way->request == PTRACE_SYSEMU_SINGLESTEP) &&
			    is_exit(_metadata, pid)) {
				append(_metadata, pid, run);
				ASSERT_EQ(0, lost(pid));
				ASSERT_EQ(0, set_options(pid, 0));
				kill_and_reap(_metadata, pid);
				status = 0;
				break;
			}
		} else if (stop != SIGTRAP) {
			sig = stop;
			run->signals += sig == SIGCHLD || sig == SIGCONT ? 0 : 1;
		} else {
			run->steps++;
		}
		if (way->often)
			append(_metadata, pid, run);
		ASSERT_EQ(0, request(way->request, pid, NULL, sig));
	}
	run->status = status;
}

static void check_run(struct __test_metadata *_metadata, const struct way *way,
		      const struct run *run, const struct run *whole)
{
	long i;

	for (i = 0; i < run->nr && i < whole->nr; i++)
		if (memcmp(&run->records[i], &whole->records[i], RECORD))
			break;
	EXPECT_TRUE(i == run->nr && i == whole->nr) {
		TH_LOG("signal %d, request %d, shift %d: branch %ld of %ld (whole: %ld) differs",
		       way->sig, way->request, way->shift, i, run->nr, whole->nr);
		if (i < run->nr && i < whole->nr)
			TH_LOG("%#llx -> %#llx, whole: %#llx -> %#llx",
			       run->records[i].variant.lbr.from, run->records[i].variant.lbr.to,
			       whole->records[i].variant.lbr.from,
			       whole->records[i].variant.lbr.to);
	}
	EXPECT_EQ(whole->status, run->status);
}

FIXTURE(mix) { struct run whole; };
/* @few rounds are stepped; where there are none, no step is worth its time. */
FIXTURE_VARIANT(mix) { struct program program; int few; };
FIXTURE_VARIANT_ADD(mix, calls) { { start_echo, do_calls, 40 }, 4 };
FIXTURE_VARIANT_ADD(mix, faults) { { NULL, do_faults, 20 }, 3 };
FIXTURE_VARIANT_ADD(mix, signals) { { start_handlers, do_signals, 25 }, 3 };
FIXTURE_VARIANT_ADD(mix, tasks) { { NULL, do_tasks, 20 }, 6 };
FIXTURE_VARIANT_ADD(mix, filtered) { { start_filter, do_filtered, 60 }, 10 };
FIXTURE_VARIANT_ADD(mix, exec) { { NULL, do_exec, 200 }, 0 };
FIXTURE_VARIANT_ADD(mix, branches) { { NULL, do_branches, 500 }, 50 };

FIXTURE_SETUP(mix)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	/* What is executed comes to the same addresses. */
	ASSERT_LE(0, personality(ADDR_NO_RANDOMIZE));
}

FIXTURE_TEARDOWN(mix)
{
	free(self->whole.records);
}

/* In one piece and unhindered; what it did is right. */
static void record_whole(struct __test_metadata *_metadata, const struct program *program,
			 bool seize, struct run *whole)
{
	const struct way way = { .sig = -1, .request = PTRACE_CONT, .seize = seize };

	do_run(_metadata, program, &way, whole);
	EXPECT_EQ(0, whole->status);
	ASSERT_LT(0, whole->nr);
	ASSERT_GT(NR_LARGE, whole->nr);
}

/* In parts; how often it stopped for a full buffer. */
static void compare(struct __test_metadata *_metadata, const struct run *whole,
		    const struct program *program, const struct way *way, struct run *run)
{
	do_run(_metadata, program, way, run);
	check_run(_metadata, way, run, whole);
	/* One may be left when it ends. */
	EXPECT_TRUE(way->often ||
		    run->full >= (whole->nr + way->shift) / MIN_CAPACITY) {
		TH_LOG("%ld stops for %ld branches", run->full, whole->nr);
	}
	free(run->records);
}

static const int ways[] = { 0, SIGUSR1, 45, SIGCHLD };

static void compare_all(struct __test_metadata *_metadata, struct run *whole,
			const struct program *program, int request, unsigned int nr)
{
	struct way way = { .request = request };
	struct run run;
	unsigned int i;

	record_whole(_metadata, program, false, whole);
	for (i = 0; i < nr; i++) {
		way.sig = ways[i % ARRAY_SIZE(ways)];
		way.shift = shifts[i];
		way.often = i % 3 == 2;
		compare(_metadata, whole, program, &way, &run);
	}
}

TEST_F_TIMEOUT(mix, continued, 500)
{
	compare_all(_metadata, &self->whole, &variant->program, PTRACE_CONT, ARRAY_SIZE(shifts));
}

TEST_F_TIMEOUT(mix, stopped_at_calls, 250)
{
	compare_all(_metadata, &self->whole, &variant->program, PTRACE_SYSCALL, 2);
}

/* Few rounds, moved right to where the buffer is full: every step is a stop. */
static void compare_few(struct __test_metadata *_metadata, struct run *whole,
			const struct program *full_size, int few, int request, int sig)
{
	const struct program program = { full_size->prepare, full_size->run, few };
	const struct way way = { .sig = sig, .request = request, .shift = 200 };
	struct run run;

	if (!few)
		return;
	record_whole(_metadata, &program, false, whole);
	compare(_metadata, whole, &program, &way, &run);
	EXPECT_LT(0, run.steps);
	EXPECT_LT(0, run.full);
}

TEST_F_TIMEOUT(mix, stepped, 250)
{
	compare_few(_metadata, &self->whole, &variant->program, variant->few,
		    PTRACE_SINGLESTEP, 0);
}

TEST_F_TIMEOUT(mix, stepped_with_signals, 250)
{
	compare_few(_metadata, &self->whole, &variant->program, variant->few,
		    PTRACE_SINGLESTEP, SIGUSR1);
}

/* Does the processor step from branch to branch, as the kernel believes? */
static bool has_block_step(struct __test_metadata *_metadata)
{
	struct user_regs_struct regs;
	pid_t pid = spawn(_metadata);
	bool has = false;

	aim(_metadata, pid, 0, 2);
	if (!request(PTRACE_SINGLEBLOCK, pid, NULL, 0)) {
		wait_for_stop(_metadata, pid, SIGTRAP);
		regs_of(_metadata, pid, &regs);
		has = regs.rip == (uintptr_t)bts_slots;
	}
	kill_and_reap(_metadata, pid);
	return has;
}

TEST_F_TIMEOUT(mix, stepped_by_branch, 250)
{
	if (!has_block_step(_metadata))
		SKIP(return, "DEBUGCTL.BTF has no effect here");
	compare_few(_metadata, &self->whole, &variant->program, variant->few,
		    PTRACE_SINGLEBLOCK, 0);
}

/* Interrupted, stopped as a job and listened to, and signalled, while it is full */
TEST_F_TIMEOUT(mix, meddled_with, 250)
{
	struct way way = { .request = PTRACE_CONT, .seize = true, .meddle = true };
	struct run run;
	unsigned int i;

	record_whole(_metadata, &variant->program, true, &self->whole);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		way.sig = ways[i % ARRAY_SIZE(ways)];
		way.shift = shifts[i];
		way.request = i % 3 == 2 ? PTRACE_SYSCALL : PTRACE_CONT;
		compare(_metadata, &self->whole, &variant->program, &way, &run);
		if (run.full > 16) {
			EXPECT_LT(0, run.jobs);
			EXPECT_LT(0, run.traps);
			EXPECT_LT(0, run.signals);
		}
	}
}

/* Not every program gets on without its system calls: this one does. */
FIXTURE(mix_emulated) { struct run whole; };
FIXTURE_SETUP(mix_emulated)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(mix_emulated)
{
	free(self->whole.records);
}

TEST_F_TIMEOUT(mix_emulated, calls, 250)
{
	const struct program programs[] = { { NULL, do_branches, 400 }, { NULL, do_branches, 30 } };
	struct run run;
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(ways); i++) {
		/* Steps take their time. */
		const bool step = i % 2;
		struct way way = { .sig = -1, .request = PTRACE_CONT };

		do_run(_metadata, &programs[step], &way, &self->whole);
		EXPECT_EQ(0, self->whole.status);
		way.sig = ways[i / 2];
		way.shift = step ? 200 : shifts[i / 2];
		way.request = step ? PTRACE_SYSEMU_SINGLESTEP : PTRACE_SYSEMU;
		do_run(_metadata, &programs[step], &way, &run);
		check_run(_metadata, &way, &run, &self->whole);
		EXPECT_EQ(step, !!run.steps);
		EXPECT_LE(step ? 3 : 50, run.calls);
		EXPECT_LE((self->whole.nr + way.shift) / MIN_CAPACITY, run.full);
		free(run.records);
		free(self->whole.records);
		self->whole.records = NULL;
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--loop")) {
		do_branches(argc);
		call(SYS_exit_group, 0, 0, 0, 0);
	}
	return test_harness_run(argc, argv);
}
