// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that take the same branches in every run, whatever their timing: they
 * wait for each other in read() only, never in a loop that tests something.
 *
 * Without the C library, whose thread functions do.
 */
#include <linux/compiler.h>
#include <linux/sched.h>
#include <sys/syscall.h>

#define THREADS		3
#define ROUNDS		20

struct thread {
	/* Bytes go in at [1] and come out at [0]. */
	int	to[2], from[2];
	int	number;
	char	stack[16384] __aligned(16);
};

static struct thread threads[THREADS];
static unsigned int sum[THREADS + 1];

static inline long call(long nr, long a, long b, long c, long d, long e)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;

	asm volatile("syscall" : "+a" (nr)
		     : "D" (a), "S" (b), "d" (c), "r" (r10), "r" (r8)
		     : "rcx", "r11", "memory");
	return nr;
}

static noinline void work(int number, int rounds)
{
	unsigned int *own = &sum[number];
	int i;

	for (i = 0; i < rounds; i++) {
		WRITE_ONCE(*own, *own * 33 + i);
		if (READ_ONCE(*own) & 4)
			WRITE_ONCE(*own, *own ^ number);
	}
	if (rounds > 1)
		work(number, rounds / 2);
	WRITE_ONCE(*own, *own + 1);
}

static void get(int fd)
{
	char byte;

	call(SYS_read, fd, (long)&byte, 1, 0, 0);
}

static void put(int fd)
{
	char byte = 0;

	call(SYS_write, fd, (long)&byte, 1, 0, 0);
}

void thread_main(struct thread *t)
{
	int i;

	work(t->number, 8 * t->number);
	for (i = 0; i < ROUNDS; i++) {
		get(t->to[0]);
		work(t->number, t->number + i % 5);
		put(t->from[1]);
	}
	call(SYS_exit, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

/* The new thread starts in thread_main(), with @t as its argument. */
static void start(struct thread *t)
{
	const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			   CLONE_THREAD | CLONE_SYSVSEM;
	register void *argument asm("r12") = t;
	register long none asm("r10") = 0;
	long nr = SYS_clone;

	asm volatile("syscall\n\t"
		     "test %%eax, %%eax\n\t"
		     "jnz 1f\n\t"
		     "mov %%r12, %%rdi\n\t"
		     "call thread_main\n"
		     "1:"
		     : "+a" (nr)
		     : "D" (flags), "S" (t->stack + sizeof(t->stack)), "d" (0),
		       "r" (none), "r" (argument)
		     : "rcx", "r11", "memory");
}

void __noreturn __attribute__((force_align_arg_pointer)) _start(void)
{
	int i, j;

	for (i = 0; i < THREADS; i++) {
		threads[i].number = i + 1;
		call(SYS_pipe, (long)threads[i].to, 0, 0, 0, 0);
		call(SYS_pipe, (long)threads[i].from, 0, 0, 0, 0);
		start(&threads[i]);
	}

	/* All of them at a time, then each in turn. */
	for (j = 0; j < ROUNDS / 2; j++) {
		for (i = 0; i < THREADS; i++)
			put(threads[i].to[1]);
		work(0, 5);
		for (i = 0; i < THREADS; i++)
			get(threads[i].from[0]);
	}
	for (j = 0; j < ROUNDS / 2; j++) {
		for (i = 0; i < THREADS; i++) {
			put(threads[i].to[1]);
			get(threads[i].from[0]);
		}
	}
	/* Not exit_group(), which would end the others before they end themselves. */
	call(SYS_exit, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}
