// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which branches does a program take, as seen by stepping through it?
 *
 * Walks every thread of a command with PTRACE_SINGLESTEP and writes down, per
 * thread, each branch taken in user mode; and, if asked, each instruction that was
 * executed to its end, as a processor counts them.  An instruction that does not
 * do what its decoding says ends the walk: a witness that guesses is none.  The
 * way into the kernel and back (system calls, faults, signals and their return) is
 * not a user branch.  Knows nothing of any hardware trace.
 *
 * A program that blocks SIGTRAP does not survive being stepped through.
 */
#include <err.h>
#include <errno.h>
#include <linux/compiler.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bts_insn.h"
#include "bts_tracee.h"

#define LONG_MODE_CS	0x33
#define FLAG_TF		0x100
#define CACHE_SIZE	8192

/* What the kernel puts in si_code of the SIGTRAP that ends a step. */
#define STEP_DONE	TRAP_TRACE	/* one instruction was executed */
#define STEP_SYSCALL	TRAP_BRKPT	/* a system call returned */
#define STEP_HANDLER	SIGTRAP		/* a signal's handler is about to start */
/* ... and of one that an instruction made itself: INT3. */
#define STEP_INT3	SI_KERNEL

struct walk {
	struct user_regs_struct	regs;	/* at the last stop */
	FILE			*out;
	FILE			*insns;
	/* A system call is about to return that is written already, or not ours. */
	bool			in_syscall;
};

static const char *prefix, *insns_prefix;
static unsigned long long steps;

/* Instructions seen, by address. */
static struct cached {
	struct insn	insn;
	bool		long_mode;
	/* Of the code it was decoded from; 0: none. */
	unsigned int	generation;
} cache[CACHE_SIZE];

/* The kernel may have changed the code. */
static unsigned int generation = 1;

static const struct insn *fetch(const struct tracee *t,
				const struct user_regs_struct *regs)
{
	bool long_mode = regs->cs == LONG_MODE_CS;
	struct cached *c = &cache[(regs->rip ^ regs->rip >> 13) % CACHE_SIZE];
	uint8_t code[INSN_MAX_LEN];
	struct iovec local = { code, sizeof(code) };
	/* Two parts: the second page may not be there. */
	size_t first = 4096 - regs->rip % 4096;
	struct iovec remote[2];
	ssize_t size;

	if (c->generation == generation && c->insn.addr == regs->rip &&
	    c->long_mode == long_mode)
		return &c->insn;

	if (first > sizeof(code))
		first = sizeof(code);
	remote[0] = (struct iovec) { (void *)regs->rip, first };
	remote[1] = (struct iovec) { (void *)(regs->rip + first), sizeof(code) - first };
	size = process_vm_readv(t->tid, &local, 1, remote, 2, 0);
	c->generation = 0;
	if (size <= 0 || !insn_decode(&c->insn, regs->rip, code, size, long_mode))
		return NULL;
	c->long_mode = long_mode;
	c->generation = generation;
	return &c->insn;
}

static void __noreturn
unexplained(const struct tracee *t, const struct insn *insn, uint64_t to,
	    const char *what)
{
	errx(1, "thread %d after %llu steps: %#lx (%u bytes) -> %#lx: %s",
	     t->index, steps, insn->addr, insn->len, to, what);
}

static void record(struct walk *w, uint64_t from, uint64_t to)
{
	uint64_t branch[2] = { from, to };

	if (fwrite(branch, sizeof(branch), 1, w->out) != 1)
		err(1, "%s", prefix);
}

/* What is written of an instruction, see the usage. */
static char insn_letter(const struct walk *w, const struct insn *insn)
{
	switch (insn->kind) {
	case INSN_CONDITIONAL:
		return insn_taken(insn, &w->regs) ? 'c' : 'n';
	case INSN_JUMP:
		return 'j';
	case INSN_CALL:
		return 'l';
	case INSN_RETURN:
		return 'r';
	case INSN_FAR:
	case INSN_ENTERS_KERNEL:
		return 'f';
	default:
		return '-';
	}
}

/* The instruction at w->regs was executed to its end. */
static void executed(struct walk *w, char letter)
{
	if (w->insns && fprintf(w->insns, "%llx %c\n", w->regs.rip, letter) < 0)
		err(1, "%s", insns_prefix);
}

/* One instruction led from w->regs to @now. */
static void step(const struct tracee *t, struct walk *w,
		 const struct user_regs_struct *now)
{
	const struct insn *insn = fetch(t, &w->regs);
	uint64_t next, to = now->rip;

	if (!insn)
		errx(1, "thread %d: no instruction at %#llx, which led to %#llx",
		     t->index, w->regs.rip, now->rip);

	next = insn->addr + insn->len;
	switch (insn->kind) {
	case INSN_JUMP:
	case INSN_CALL:
	case INSN_RETURN:
	case INSN_FAR:
		if (insn->target && to != insn->target)
			unexplained(t, insn, to, "a jump elsewhere");
		record(w, insn->addr, to);
		break;
	case INSN_CONDITIONAL:
		if (insn_taken(insn, &w->regs)) {
			if (to != insn->target)
				unexplained(t, insn, to, "the condition holds");
			record(w, insn->addr, to);
		} else if (to != next) {
			unexplained(t, insn, to, "the condition does not hold");
		}
		break;
	case INSN_REPEATED:
		if (to != insn->addr && to != next)
			unexplained(t, insn, to, "not the next instruction, nor itself");
		if (to == insn->addr)
			return;
		break;
	case INSN_PUSHF:
		/* The trap flag is ours, and the program may look at what it pushed. */
		if (!(w->regs.eflags & FLAG_TF)) {
			long word;

			errno = 0;
			word = ptrace(PTRACE_PEEKDATA, t->tid, now->rsp, NULL);
			if (errno || ptrace(PTRACE_POKEDATA, t->tid, now->rsp,
					    word & ~FLAG_TF))
				err(1, "flags on the stack");
		}
		fallthrough;
	case INSN_PLAIN:
		if (to != next)
			unexplained(t, insn, to, "not the next instruction");
		break;
	case INSN_NO_TRAP:
		unexplained(t, insn, to, "the instruction after it was not seen");
	case INSN_UNKNOWN:
		if (to <= insn->addr || to > insn->addr + INSN_MAX_LEN)
			unexplained(t, insn, to, "not the next instruction");
		break;
	case INSN_ENTERS_KERNEL:
		break;
	}
	executed(w, insn_letter(w, insn));
}

static FILE *open_output(const struct tracee *t, const char *name)
{
	FILE *f = fdopen(tracee_output(t, name), "w");

	if (!f)
		err(1, "%s", name);
	return f;
}

static void get_regs(const struct tracee *t, struct user_regs_struct *regs)
{
	if (ptrace(PTRACE_GETREGS, t->tid, NULL, regs))
		err(1, "PTRACE_GETREGS");
}

static void walk_start(struct tracee *t)
{
	struct walk *w = calloc(1, sizeof(*w));
	int cpu = sched_getcpu();

	if (!w)
		err(1, "thread %d", t->tid);
	/* Stepping is quicker by far where nobody has to be woken elsewhere. */
	tracee_pin(&(struct tracee) { .tid = getpid() }, cpu);
	tracee_pin(t, cpu);

	w->out = open_output(t, prefix);
	if (insns_prefix)
		w->insns = open_output(t, insns_prefix);
	w->in_syscall = true;
	get_regs(t, &w->regs);
	t->data = w;
}

static int walk_stop(struct tracee *t, int status)
{
	struct walk *w = t->data;
	bool in_syscall = w->in_syscall;
	struct user_regs_struct now;
	siginfo_t info;

	w->in_syscall = false;
	get_regs(t, &now);
	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info))
		err(1, "PTRACE_GETSIGINFO");

	if (WSTOPSIG(status) == SIGTRAP && info.si_code == STEP_DONE) {
		steps++;
		step(t, w, &now);
		w->regs = now;
		return 0;
	}

	if (WSTOPSIG(status) == SIGTRAP && info.si_code == STEP_SYSCALL) {
		generation++;
		if (!in_syscall)
			executed(w, 'f');
		w->regs = now;
		return 0;
	}

	/* INT3 was executed; else none was, and the signal stands before it. */
	if (WSTOPSIG(status) == SIGTRAP && info.si_code == STEP_INT3)
		executed(w, 'f');
	w->regs = now;
	if (WSTOPSIG(status) == SIGTRAP && info.si_code == STEP_HANDLER)
		return 0;
	return WSTOPSIG(status);
}

static void walk_event(struct tracee *t, int event)
{
	struct walk *w = t->data;

	(void)event;
	generation++;
	executed(w, 'f');
	w->in_syscall = true;
	get_regs(t, &w->regs);
}

static void walk_exit(struct tracee *t)
{
	struct walk *w = t->data;

	executed(w, 'f');
	if (fclose(w->out) || (w->insns && fclose(w->insns)))
		err(1, "%s", prefix);
	free(w);
	t->data = NULL;
}

int main(int argc, char **argv)
{
	static const struct tracee_ops ops = {
		.request	= PTRACE_SINGLESTEP,
		.start		= walk_start,
		.stop		= walk_stop,
		.event		= walk_event,
		.exit		= walk_exit,
	};
	int opt, status;

	while ((opt = getopt(argc, argv, "+i:o:")) != -1) {
		switch (opt) {
		case 'i':
			insns_prefix = optarg;
			break;
		case 'o':
			prefix = optarg;
			break;
		default:
			goto usage;
		}
	}
	if (!prefix || optind >= argc)
		goto usage;

	status = tracee_run(argv + optind, &ops);
	fprintf(stderr, "bts_walk: %llu steps\n", steps);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

usage:
	fprintf(stderr,
		"usage: bts_walk -o PREFIX [-i PREFIX] PROGRAM [ARGUMENT...]\n"
		"Writes the branches thread N of PROGRAM takes to PREFIX.N, as pairs of\n"
		"64-bit addresses.  Exits as PROGRAM does.\n"
		"  -i PREFIX  writes to PREFIX.N each instruction that is executed to its end,\n"
		"             of a program that has one thread and ends by itself: its address\n"
		"             and c (conditional branch, taken), n (not taken), j (near jump),\n"
		"             l (near call), r (near return), f (far, or into the kernel), -\n");
	return 1;
}
