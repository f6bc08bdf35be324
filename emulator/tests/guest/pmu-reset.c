// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is all of it as after power-on when the machine is reset while it counts?
 * The first time through, everything is in use, and the machine is reset; the
 * runner lets that happen.
 */
#include "pebs.h"

#define BEEN_HERE 0x600d600d
#define FLAG ((volatile uint32_t *)0x6000)

struct pebs_record pebs_buffer[PEBS_RECORDS + 32];

static void use_all(void)
{
	unsigned i;

	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	pebs_setup((ulong)pebs_buffer, 16, 100);
	for (i = 0; i < pmu.counters; i++) {
		count(i, i ? CYCLES | BOTH | INT : NEAR_TAKEN | BOTH);
		set_counter(i, -1000);
	}
	if (pmu.pebs)
		pebs_counter(0, NEAR_TAKEN | BOTH, 1, 1);
	wrmsr(MSR_FIXED_CTRL, 0xbbb);
	wrmsr(MSR_DEBUGCTL, FREEZE_COUNTERS);
	if (pmu.version >= 4)
		wrmsr(MSR_STATUS_SET, GP(1) | LBR_FRZ);
	wrmsr(MSR_GLOBAL_CTRL, pmu.all);
	__asm__ volatile("jmp 1f; 1: jmp 2f; 2:");
	*FLAG = BEEN_HERE;
	__asm__ volatile("outb %0, %1" : : "a"((uint8_t)6), "d"((uint16_t)0xcf9));
	for (;;)
		;
}

_Noreturn void guest_main(void)
{
	unsigned i;
	bool good = true;

	pmu_cpuid();
	if (*FLAG != BEEN_HERE) {
		lapic_write(LAPIC_LVTPC, LVT_NMI | LVT_MASKED);
		use_all();
	}
	for (i = 0; i < pmu.counters; i++)
		good &= !rdmsr(MSR_SELECT(i)) && !rdmsr(MSR_PMC(i));
	for (i = 0; i < pmu.fixed; i++)
		good &= !rdmsr(MSR_FIXED(i));
	ok(good && !rdmsr(MSR_FIXED_CTRL), "reset: counters are 0");
	ok(!rdmsr(MSR_STATUS), "reset: no status");
	ok(rdmsr(MSR_GLOBAL_CTRL) == (1ull << pmu.counters) - 1,
	   "reset: GLOBAL_CTRL has all general-purpose counters");
	ok(!rdmsr(MSR_DEBUGCTL), "reset: DEBUGCTL");
	if (pmu.pebs)
		ok(!rdmsr(MSR_PEBS_ENABLE), "reset: PEBS_ENABLE");

	/* What was armed is not. */
	pmu_find();
	expect_overflows(LVT_NMI);
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	pebs_setup((ulong)pebs_buffer, 16, 100);
	if (pmu.pebs)
		wrmsr(MSR_PEBS_ENABLE, 1);
	wrmsr(MSR_SELECT(0), NEAR_TAKEN | OS | EN);
	run_window(jumps, pmu.all);
	ok(rdpmc(0) == ROW && pebs_count() == 0 && nr_overflows == 0,
	   "reset: counts from 0, and makes no record");
	end();
}
