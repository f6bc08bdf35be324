// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Are the counters after a migration what they were, and go on?  Says "ready"
 * and waits for a byte on the serial port, which comes on the other side.
 */
#include "pebs.h"

struct pebs_record pebs_buffer[PEBS_RECORDS + 32];

static uint8_t inb(uint16_t port)
{
	uint8_t val;

	__asm__ volatile("inb %1, %0" : "=a"(val) : "Nd"(port));
	return val;
}

static uint64_t saved[32];

/* All that can be read; the counter of cycles goes on meanwhile. */
static unsigned read_all(uint64_t *to)
{
	unsigned i, n = 0;

	for (i = 0; i < pmu.counters; i++) {
		to[n++] = rdmsr(MSR_SELECT(i));
		to[n++] = rdmsr(MSR_PMC(i));
	}
	to[n++] = rdmsr(MSR_FIXED(0));
	to[n++] = rdmsr(MSR_FIXED(2));
	to[n++] = rdmsr(MSR_FIXED_CTRL);
	to[n++] = rdmsr(MSR_GLOBAL_CTRL);
	to[n++] = rdmsr(MSR_STATUS);
	if (pmu.version >= 4)
		to[n++] = rdmsr(MSR_INUSE);
	to[n++] = rdmsr(MSR_DEBUGCTL);
	if (pmu.pebs)
		to[n++] = rdmsr(MSR_PEBS_ENABLE);
	return n;
}

_Noreturn void guest_main(void)
{
	unsigned last, i, n;
	uint64_t now[32], cycles, tsc[4];
	bool good = true;

	pmu_find();
	last = pmu.counters - 1;
	set_gate(2, isr_overflow, 0, 0);
	set_gate(VEC_LEAVE, isr_close, 3, 0);
	pmu_reset();
	expect_overflows(LVT_NMI);
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	pebs_setup((ulong)pebs_buffer, 16, 100);

	/* Of CPL 3, while here at CPL 0. */
	count(0, NEAR_TAKEN | USR);
	set_counter(0, -(uint64_t)ROW);		/* overflows with the last */
	if (pmu.pebs)
		pebs_counter(0, NEAR_TAKEN | USR, ROW, 10);
	run_window(user_jumps, GP(0));
	count(last, NEAR_TAKEN | USR | INT);
	set_counter(last, -(uint64_t)ROW - 10);
	wrmsr(MSR_FIXED(2), 0x123456789a & pmu.fixed_mask);
	wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(0, FIXED_USR) |
			      FIXED_FIELD(1, FIXED_OS));
	run_window(user_jumps, GP(last) | FIXED(0));
	wrmsr(MSR_DEBUGCTL, FREEZE_COUNTERS);
	wrmsr(MSR_GLOBAL_CTRL, pmu.all);
	n = read_all(saved);
	tsc[0] = rdtsc();
	cycles = rdmsr(MSR_FIXED(1));
	tsc[1] = rdtsc();

	say("ready\n");
	while (!(inb(0x3fd) & 1))
		;

	tsc[2] = rdtsc();
	cycles = rdmsr(MSR_FIXED(1)) - cycles;
	tsc[3] = rdtsc();
	ok(read_all(now) == n, "as many registers as before");
	for (i = 0; i < n; i++) {
		if (now[i] != saved[i]) {
			say("# register %u: 0x%x, was 0x%x\n", (uint64_t)i,
			    now[i], saved[i]);
			good = false;
		}
	}
	ok(good, "all registers are what they were");
	ok(cycles >= tsc[2] - tsc[1] && cycles <= tsc[3] - tsc[0],
	   "cycles go on with the time-stamp counter");
	run_window(user_jumps, GP(last));
	ok(nr_overflows == 1 &&
	   overflows[0].ip == (ulong)user_jumps_row + 20 &&
	   overflows[0].status == (pmu.version >= 4 ? GP(last) | GP(0) | CTR_FRZ :
						    GP(last) | GP(0)),
	   "a counter goes on, interrupts, and freezes");
	wrmsr(MSR_STATUS_RESET, rdmsr(MSR_STATUS) & ~GP(0));
	if (pmu.pebs) {
		/* Overflown there, recorded here. */
		run_window(user_jumps, GP(0));
		ok(pebs_count() == ROW / 11 + 1 &&
		   pebs_buffer[0].eventing_ip == (ulong)user_jumps_row,
		   "an overflow of before makes its record");
	}
	end();
}
