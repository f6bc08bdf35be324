// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does a CPU that gets INIT go on recording?  It keeps IA32_DEBUGCTL and
 * IA32_DS_AREA: only a reset clears them.
 */
#include "guest.h"

#define SIZE 64

static uint64_t area[4] __attribute__((aligned(64)));
static struct { uint64_t from, to, flags; } buffer[SIZE];
static volatile unsigned starts, done;
static volatile uint64_t kept_debugctl, kept_area;

_Noreturn void ap_main(void)
{
	uint32_t bits = ctl.tr | ctl.bts;

	if (starts++ == 0) {
		__asm__ volatile("wrmsr" : : "c"(0x600), "a"((ulong)area),
				 "d"(0) : "memory");
	} else {
		kept_debugctl = rdmsr(MSR_DEBUGCTL);
		kept_area = rdmsr(0x600);
		bits = 0;
	}
	__asm__ volatile("wrmsr" : : "c"(MSR_DEBUGCTL), "a"(bits), "d"(0)
			 : "memory");
	done = starts;
	for (;;)
		__asm__ volatile("hlt");
}

static void start_ap(unsigned times)
{
	lapic_write(LAPIC_ICR_HIGH, 1 << 24);
	lapic_write(LAPIC_ICR, 0x4500);		/* INIT */
	lapic_write(LAPIC_ICR_HIGH, 1 << 24);
	lapic_write(LAPIC_ICR, 0x4608);		/* start at 0x8000 */
	while (done != times)
		;
}

_Noreturn void guest_main(void)
{
	char *from = ap_real, *to = (char *)0x8000;
	bool found = false;
	unsigned i;

	while (from < ap_real_end)
		*to++ = *from++;
	area[BASE] = area[INDEX] = (ulong)buffer;
	area[MAXIMUM] = (ulong)&buffer[SIZE];
	area[THRESHOLD] = (ulong)&buffer[SIZE + 1];

	start_ap(1);
	start_ap(2);
	ok(kept_debugctl == (ctl.tr | ctl.bts), "INIT keeps DEBUGCTL");
	ok(kept_area == (ulong)area, "INIT keeps DS_AREA");
	/* The far jump out of real mode, before anything is written. */
	for (i = 0; i < SIZE; i++)
		found |= buffer[i].from >> 12 == 8;
	ok(found, "branches right after INIT are recorded");
	end();
}
