// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do two CPUs that record at the same time get their own records only, and
 * does one that reads the other's index find the record behind it?
 */
#include "guest.h"
#include "hops.h"

#define ROUNDS 4
#define TOTAL  (ROUNDS * HOPS)

/* What one CPU owns. */
static struct cpu {
	uint64_t area[8];
	struct { uint64_t from, to, flags; } buffer[TOTAL + 1];
} cpus[2] __attribute__((aligned(4096)));
static volatile unsigned started, go, done;

static void record(struct cpu *cpu)
{
	unsigned i;

	cpu->area[BASE] = cpu->area[INDEX] = (ulong)cpu->buffer;
	cpu->area[MAXIMUM] = (ulong)&cpu->buffer[TOTAL];
	cpu->area[THRESHOLD] = (ulong)&cpu->buffer[TOTAL + 1];
	__asm__ volatile("wrmsr" : : "c"(0x600), "a"((ulong)cpu->area),
				     "d"(0) : "memory");
	for (i = 0; i < ROUNDS; i++)
		hops();
}

static bool right(struct cpu *cpu)
{
	unsigned i;

	if (cpu->area[INDEX] != (ulong)cpu->buffer &&
	    cpu->area[INDEX] != (ulong)&cpu->buffer[TOTAL])
		return false;
	for (i = 0; i < TOTAL; i++) {
		ulong from = (ulong)hops_row + 2 * (i % HOPS);

		if (cpu->buffer[i].from != from ||
		    cpu->buffer[i].to != from + 2 || cpu->buffer[i].flags)
			return false;
	}
	return true;
}

_Noreturn void ap_main(void)
{
	started = 1;
	while (!go)
		;
	record(&cpus[1]);
	barrier();
	done = 1;
	for (;;)
		__asm__ volatile("hlt");
}

static bool start_ap(void)
{
	char *from = ap_real, *to = (char *)0x8000;

	while (from < ap_real_end)
		*to++ = *from++;
	lapic_write(LAPIC_ICR_HIGH, 1 << 24);
	lapic_write(LAPIC_ICR, 0x4500);		/* INIT */
	lapic_write(LAPIC_ICR_HIGH, 1 << 24);
	lapic_write(LAPIC_ICR, 0x4608);		/* start at 0x8000 */
	while (!started)
		;
	return true;
}

static void print(unsigned nr)
{
	struct cpu *cpu = &cpus[nr];
	unsigned i;

	for (i = 0; i < TOTAL; i++)
		say("log %u 0 0 %x %x %x\n", (uint64_t)nr, (uint64_t)read_cr3(),
		    cpu->buffer[i].from, cpu->buffer[i].to);
}

_Noreturn void guest_main(void)
{
	volatile uint64_t *index = &cpus[1].area[INDEX];
	bool complete = true;

	start_ap();
	debugctl = ctl.tr | ctl.bts | ctl.btint;

	/* One records, the other follows its index. */
	go = 1;
	while (!done) {
		uint64_t at = *index;
		ulong n = (at - (ulong)cpus[1].buffer) / 24;

		barrier();
		if (at > (ulong)cpus[1].buffer) {
			volatile uint64_t *r = &cpus[1].buffer[n - 1].from;

			complete &= r[0] && r[1] == r[0] + 2;
		}
	}
	ok(complete, "the record behind another CPU's index is complete");
	ok(right(&cpus[1]), "the second CPU's records");
	print(1);

	/* Both at once, on the same code. */
	go = done = started = 0;
	start_ap();
	go = 1;
	record(&cpus[0]);
	while (!done)
		;
	ok(right(&cpus[0]) && right(&cpus[1]),
	   "two CPUs at once: each has its own records");
	print(0);
	print(1);
	end();
}
