// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The work of the speed test: calls, returns, conditional and indirect
 * branches, loads and stores, and nothing else.  PARAM is how much of it,
 * in thousands of turns.
 */
#include "guest.h"

#define LOOP __attribute__((noinline, section(".text.speed")))

static volatile unsigned memory[256];

static LOOP unsigned mix(unsigned x)
{
	x ^= x << 13;
	x ^= x >> 17;
	return x ^ x << 5;
}

static LOOP unsigned odd(unsigned x)
{
	return 3 * x + 1;
}

static LOOP unsigned even(unsigned x)
{
	return x >> 1;
}

static LOOP unsigned speed_loop(unsigned n)
{
	unsigned (*const step[])(unsigned) = { even, odd };
	unsigned x = 1, i;

	for (i = 0; i < n; i++) {
		x = mix(x);
		if (x & 0x100)
			memory[x & 255] += x;
		else
			x += memory[i & 255];
		x = step[x & 1](x);
	}
	return x;
}

_Noreturn void guest_main(void)
{
	say("# %x\n", (uint64_t)speed_loop(1000 * param() + 50));
	end();
}
