// SPDX-License-Identifier: GPL-2.0-only
/*
 * setjmp() and longjmp(), out of one call and out of many, and a table of
 * functions; an ordinary program with the C library's start and end around it.
 */
#include <setjmp.h>

static jmp_buf env;
static volatile unsigned int sum;

static void __attribute__((noinline)) out_of(int depth, int value)
{
	if (depth)
		out_of(depth - 1, value);
	else if (value)
		longjmp(env, value);
	/* Never reached; keeps the call from becoming a jump. */
	sum += depth;
}

static void __attribute__((noinline)) add(int i)
{
	sum += i;
}

static void __attribute__((noinline)) mix(int i)
{
	sum = sum * 31 ^ i;
}

static void (*const volatile functions[])(int) = { add, mix, add };

int main(void)
{
	volatile int i;

	for (i = 1; i <= 30; i++) {
		int value = setjmp(env);

		if (!value)
			out_of(i % 7, i);
		functions[value % 3](value);
	}
	return 0;
}
