// SPDX-License-Identifier: GPL-2.0-only
/*
 * setjmp() and longjmp(), out of one call and out of many, and a table of
 * functions; an ordinary program with the C library's start and end around it.
 */
#include <linux/compiler.h>
#include <setjmp.h>

static jmp_buf env;
static unsigned int sum;

static noinline void out_of(int depth, int value)
{
	if (depth)
		out_of(depth - 1, value);
	else if (value)
		longjmp(env, value);
	/* Never reached; keeps the call from becoming a jump. */
	barrier();
}

static noinline void add(int i)
{
	WRITE_ONCE(sum, sum + i);
}

static noinline void mix(int i)
{
	WRITE_ONCE(sum, sum * 31 ^ i);
}

static void (*const functions[])(int) = { add, mix, add };

static noinline int there_and_back(int i)
{
	int value = setjmp(env);

	if (!value)
		out_of(i % 7, i);
	return value;
}

int main(void)
{
	int i;

	for (i = 1; i <= 30; i++) {
		int value = there_and_back(i);

		functions[value % 3](value);
	}
	return 0;
}
