// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do two CPUs that count at the same time count their own only, with
 * interrupts and records of their own?  And does one that gets INIT keep its
 * counters?
 */
#include "pebs.h"

#define ROUNDS	200

struct pebs_record pebs_buffer[PEBS_RECORDS + 32];
static uint64_t ap_area[16] __attribute__((aligned(128)));
static struct pebs_record ap_records[PEBS_RECORDS];
static volatile unsigned ap_starts, ap_said, ap_told;

/* What the second CPU found. */
static volatile uint64_t ap_value[8];

/* Where CPUs take turns, it is the other's. */
static void pause(void)
{
	__asm__ volatile("pause");
}

/* By numbers, so that none is lost: what is told is said when it is done. */
static void tell(unsigned what)
{
	ap_told = what;
	while (ap_said != what)
		pause();
}

static void wrmsr_only(uint32_t msr, uint64_t val)
{
	__asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)val),
			 "d"((uint32_t)(val >> 32)) : "memory");
}

/* One jump less than turns is taken. */
static void ap_loop(uint64_t select, unsigned turns)
{
	uint32_t bits = 1;

	wrmsr_only(MSR_SELECT(0), select | EN);
	__asm__ volatile("wrmsr\n"
			 "1:	dec %0\n"
			 "	jnz 1b\n"
			 "	xor %%eax, %%eax\n"
			 "	wrmsr"
			 : "+r"(turns), "+a"(bits)
			 : "c"(MSR_GLOBAL_CTRL), "d"(0) : "memory", "cc");
}

static uint64_t ap_count(uint64_t select, unsigned turns)
{
	wrmsr_only(MSR_PMC(0), 0);
	ap_loop(select, turns);
	return rdmsr(MSR_PMC(0));
}

static void ap_pebs(void)
{
	ap_area[PEBS_BASE] = ap_area[PEBS_INDEX] = (ulong)ap_records;
	ap_area[PEBS_MAXIMUM] = ap_area[PEBS_THRESHOLD] =
		(ulong)(ap_records + PEBS_RECORDS);
	ap_area[PEBS_RESET] = -99ull;
	wrmsr_only(0x600, (ulong)ap_area);
	wrmsr_only(MSR_PEBS_ENABLE, 1);
	wrmsr_only(MSR_PMC(0), -99ull);
	ap_loop(NEAR_TAKEN | OS, 1001);
	wrmsr_only(MSR_PEBS_ENABLE, 0);
}

_Noreturn void ap_main(void)
{
	unsigned done = ap_said;

	if (ap_starts++) {
		ap_value[0] = rdmsr(MSR_PMC(1));
		ap_value[1] = rdmsr(MSR_SELECT(1));
		ap_value[2] = rdmsr(MSR_FIXED(0));
		ap_value[3] = rdmsr(MSR_FIXED_CTRL);
		ap_value[4] = rdmsr(MSR_GLOBAL_CTRL);
		ap_value[5] = rdmsr(MSR_STATUS);
		ap_value[6] = pmu.pebs ? rdmsr(MSR_PEBS_ENABLE) : 0;
		ap_value[7] = rdmsr(MSR_FIXED(2));
		ap_said = ap_told;
	}
	for (;;) {
		while (ap_told == done)
			pause();
		done = ap_told;
		switch (done) {
		case 1:
			ap_value[0] = rdmsr(MSR_GLOBAL_CTRL);
			ap_value[1] = rdmsr(MSR_SELECT(0)) | rdmsr(MSR_PMC(0)) |
				      rdmsr(MSR_FIXED_CTRL) | rdmsr(MSR_STATUS);
			break;
		case 2:
		case 3:
			ap_value[0] = ap_count(NEAR_TAKEN | OS, 100001);
			ap_value[1] = ap_count(INSTRUCTIONS | OS, 100001);
			break;
		case 4:
			ap_pebs();
			ap_value[0] = rdmsr(MSR_STATUS);
			break;
		case 5:		/* for INIT to keep: one that is off, one on */
			wrmsr_only(MSR_GLOBAL_CTRL, 0);
			wrmsr_only(MSR_SELECT(0), 0);
			wrmsr_only(MSR_PMC(1), 0x12345);
			wrmsr_only(MSR_SELECT(1), NEAR_CALL | USR | INT);
			wrmsr_only(MSR_FIXED(0), pmu.fixed_mask);
			wrmsr_only(MSR_FIXED(2), 0);
			wrmsr_only(MSR_FIXED_CTRL, FIXED_FIELD(0, FIXED_OS) |
						   FIXED_FIELD(2, FIXED_USR));
			if (pmu.pebs)
				wrmsr_only(MSR_PEBS_ENABLE, 4);
			wrmsr_only(MSR_GLOBAL_CTRL, FIXED(0) | FIXED(2) | GP(0));
			break;
		}
		ap_said = done;
		if (done == 5)
			for (;;)
				__asm__ volatile("cli; hlt");
	}
}

static void start_ap(void)
{
	lapic_write(LAPIC_ICR_HIGH, 1 << 24);
	lapic_write(LAPIC_ICR, 0x4500);		/* INIT */
	lapic_write(LAPIC_ICR_HIGH, 1 << 24);
	lapic_write(LAPIC_ICR, 0x4608);		/* start at 0x8000 */
}

/* The first CPU counts while the second does what it is told. */
static bool count_meanwhile(unsigned what)
{
	bool good = true;
	unsigned i;

	ap_told = what;
	for (i = 0; i < ROUNDS || ap_said != what; i++, pause()) {
		count(0, NEAR_TAKEN | OS);
		count(1, INSTRUCTIONS | OS);
		run_window(jumps, pmu.all);
		good &= rdpmc(0) == ROW &&
			rdpmc(1) == ROW + window_instructions;
	}
	return good;
}

static bool interrupts_meanwhile(unsigned what)
{
	bool good = true;
	unsigned i;

	ap_told = what;
	for (i = 0; i < ROUNDS || ap_said != what; i++, pause()) {
		pmu_reset();
		expect_overflows(LVT_NMI);
		count(0, NEAR_TAKEN | OS | INT);
		set_counter(0, -50);
		run_window(jumps, pmu.all);
		good &= nr_overflows == 1 &&
			overflows[0].ip == (ulong)jumps_row + 100;
	}
	return good;
}

static bool records_meanwhile(unsigned what)
{
	bool good = true;
	unsigned i, n;

	ap_told = what;
	for (i = 0; i < ROUNDS || ap_said != what; i++, pause()) {
		pmu_reset();
		ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
		pebs_setup((ulong)pebs_buffer, PEBS_RECORDS, 2 * PEBS_RECORDS);
		pebs_counter(0, NEAR_TAKEN | OS, 4, 4);
		run_window(jumps, pmu.all);
		good &= pebs_count() == ROW / 5;
		for (n = 0; n < ROW / 5; n++)
			good &= pebs_buffer[n].eventing_ip ==
				(ulong)jumps_row + 2 * (5 * n + 4);
	}
	return good;
}

static bool ap_recorded(void)
{
	unsigned n;
	bool good = ap_area[PEBS_INDEX] == (ulong)(ap_records + 10);
	for (n = 0; n < 10; n++)
		good &= ap_records[n].counters == 1 &&
			ap_records[n].eventing_ip == ap_records[0].eventing_ip;
	return good;
}

_Noreturn void guest_main(void)
{
	char *from = ap_real, *to = (char *)0x8000;
	bool good;

	while (from < ap_real_end)
		*to++ = *from++;
	pmu_find();
	set_gate(2, isr_overflow, 0, 0);
	set_gate(VEC_LEAVE, isr_close, 3, 0);
	start_ap();

	pmu_reset();
	count(0, INSTRUCTIONS | OS);
	wrmsr(MSR_FIXED_CTRL, 0x333);
	tell(1);
	ok(ap_value[0] == (1ull << pmu.counters) - 1 && ap_value[1] == 0,
	   "the second CPU has registers of its own");
	pmu_reset();
	ok(count_meanwhile(2), "the first counts, while the second does");
	/* DEC, JNZ; XOR; and one WRMSR */
	ok(ap_value[0] == 100000 && ap_value[1] == 2 * 100001 + 2,
	   "the second counts, while the first does");
	ok(interrupts_meanwhile(3), "interrupts are of the CPU that overflows");
	if (pmu.pebs) {
		good = records_meanwhile(4);
		ok(good && ap_recorded(), "each its own records");
	}

	tell(5);
	ap_told = 6;
	start_ap();
	while (ap_said != 6)
		pause();
	ok(ap_value[0] == 0x12345 && ap_value[1] == (NEAR_CALL | USR | INT),
	   "INIT keeps a counter that is off");
	ok(ap_value[3] == (FIXED_FIELD(0, FIXED_OS) | FIXED_FIELD(2, FIXED_USR)) &&
	   ap_value[4] == (FIXED(0) | FIXED(2) | GP(0)), "INIT keeps controls");
	ok(ap_value[6] == (pmu.pebs ? 4 : 0), "INIT keeps PEBS_ENABLE");
	ok(ap_value[5] == FIXED(0) && ap_value[2] > 10 && ap_value[2] < 1000,
	   "instructions are counted up to INIT, and after it");
	ok(ap_value[7] == 0, "and of another level are not");
	end();
}
