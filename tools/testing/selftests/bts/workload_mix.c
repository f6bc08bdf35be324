// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some hundred branches of every kind per round, and what else a program does: now
 * and then a system call, a page touched for the first time, a signal and its
 * handler. As many rounds as the argument says; prints a checksum of its way.
 */
#include <linux/compiler.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned long sum = 1;
static sig_atomic_t handled;

static unsigned int next(void)
{
	static unsigned int state = 12345;

	state = state * 1103515245 + 12345;
	return state >> 16;
}

static noinline void add(unsigned int n)
{
	sum = sum * 31 + n;
}

static noinline void turn(unsigned int n)
{
	sum ^= sum << (n % 7 + 1);
}

static noinline void recurse(unsigned int n)
{
	if (n % 5)
		recurse(n - 1);
	sum += n;
}

static noinline void loop(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n % 14; i++) {
		OPTIMIZER_HIDE_VAR(i);
		if (i & 1) {
			barrier();
			sum++;
		}
	}
}

static void (*const calls[])(unsigned int n) = { add, turn, recurse, loop };

static void handler(int sig)
{
	handled += sig;
	recurse(9);
}

/* The processor's branches depend on what the kernel answers, and where memory is. */
static void enter_kernel(unsigned int n)
{
	char *page;

	switch (n % 4) {
	case 0:
		sum += getppid() > 0;
		break;
	case 1:
		raise(SIGUSR2);
		break;
	case 2:
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		sum += page[n % 4096]++;
		munmap(page, 4096);
		break;
	default:
		sum += lseek(0, 0, SEEK_CUR) < 2;
	}
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 100, i;
	unsigned int n;

	signal(SIGUSR2, handler);
	for (i = 0; i < rounds; i++) {
		for (n = 0; n < 16; n++) {
			unsigned int value = next();

			calls[value % 4](value);
			switch (value % 6) {
			case 0:
				sum += 3;
				break;
			case 1:
				sum ^= value;
				break;
			case 2:
				sum -= i;
				break;
			case 3:
				add(value);
				break;
			case 4:
				loop(n);
			}
		}
		if (i % 64 == 0)
			enter_kernel(i / 64);
	}
	printf("%lx %d\n", sum, handled);
	return 0;
}
