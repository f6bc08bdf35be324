// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How does a guest program the performance counters, and see their overflows?
 * One copy for all suites that count.
 */
#include "pmu.h"

#define LAPIC_LVT_TIMER	0x320
#define LAPIC_COUNT	0x380
#define LAPIC_DIVIDE	0x3e0

struct pmu pmu;
volatile unsigned nr_overflows;
volatile struct overflow overflows[OVERFLOWS];
bool overflow_as_vector, overflow_unmasks, overflow_keeps_status;
unsigned overflow_counter, window_instructions, skew;
void (*on_overflow)(void);

void pmu_cpuid(void)
{
	uint32_t a, b, c = 0, d;

	cpuid(1, &a, &b, &c, &d);
	pmu.pdcm = c >> 15 & 1;
	c = 0;
	cpuid(10, &a, &b, &c, &d);
	pmu.version = a & 0xff;
	pmu.counters = a >> 8 & 0xff;
	pmu.width = a >> 16 & 0xff;
	pmu.fixed = d & 0x1f;
	pmu.fixed_width = d >> 5 & 0xff;
	pmu.mask = (1ull << pmu.width) - 1;
	pmu.fixed_mask = (1ull << pmu.fixed_width) - 1;
	pmu.all = ((1ull << pmu.counters) - 1) |
		  ((1ull << pmu.fixed) - 1) << 32;
	if (pmu.pdcm) {
		uint64_t capabilities = rdmsr(MSR_CAPABILITIES);

		pmu.full_writes = capabilities >> 13 & 1;
		pmu.pebs = (capabilities >> 8 & 15) && has_ds;
	}
}

void pmu_reset(void)
{
	unsigned i;

	wrmsr(MSR_GLOBAL_CTRL, 0);
	if (pmu.pebs)
		wrmsr(MSR_PEBS_ENABLE, 0);
	for (i = 0; i < pmu.counters; i++) {
		wrmsr(MSR_SELECT(i), 0);
		wrmsr(MSR_PMC(i), 0);
	}
	wrmsr(MSR_FIXED_CTRL, 0);
	for (i = 0; i < pmu.fixed; i++)
		wrmsr(MSR_FIXED(i), 0);
	wrmsr(MSR_STATUS_RESET, rdmsr(MSR_STATUS));
}

void count(unsigned counter, uint64_t select)
{
	wrmsr(MSR_PMC(counter), 0);
	wrmsr(MSR_SELECT(counter), select | EN);
}

/* From -2^31 on every processor can do it in the same way. */
void set_counter(unsigned counter, uint64_t val)
{
	wrmsr(MSR_PMC(counter), val);
}

uint64_t rdpmc(uint32_t index)
{
	uint32_t lo, hi;

	__asm__ volatile("rdpmc" : "=a"(lo), "=d"(hi) : "c"(index) : "memory");
	return (uint64_t)hi << 32 | lo;
}

/* gp_fixup skips the line that clears faulted. */
#define FAULTS(insn, index, val) ({					\
	ulong fixup, faulted = 1;					\
	uint32_t lo = 0, hi = 0;					\
									\
	__asm__ volatile("mov $2f, %[fixup]\n\t"			\
			 "mov %[fixup], gp_fixup\n\t"			\
			 insn "\n\t"					\
			 "xor %[faulted], %[faulted]\n"			\
			 "2:"						\
			 : [fixup] "=&r"(fixup),			\
			   [faulted] "+&r"(faulted), "+&a"(lo), "+&d"(hi) \
			 : "c"(index) : "memory");			\
	gp_fixup = 0;							\
	*(val) = (uint64_t)hi << 32 | lo;				\
	faulted;							\
})

bool rdpmc_faults(uint32_t index, uint64_t *val)
{
	return FAULTS("rdpmc", index, val);
}

bool rdmsr_faults(uint32_t msr, uint64_t *val)
{
	return FAULTS("rdmsr", msr, val);
}

void run_window(void (*fn)(void), uint64_t counters)
{
	window = counters;
	run_case(fn);
}

static void measure_window(void)
{
	uint32_t val, hi;

	pmu_reset();
	count(0, INSTRUCTIONS | OS);
	__asm__ volatile("wrmsr\n\t"
			 "xor %%ecx, %%ecx\n\t"
			 "rdpmc"
			 : "=a"(val), "=d"(hi)
			 : "c"(MSR_GLOBAL_CTRL), "0"(1), "1"(0) : "memory");
	skew = val - 1;			/* the XOR */
	pmu_reset();
	count(0, INSTRUCTIONS | OS);
	run_window(nothing, 1);
	window_instructions = rdpmc(0);
	pmu_reset();
}

void pmu_find(void)
{
	pmu_cpuid();
	measure_window();
}

void timer(uint32_t ns)
{
	lapic_write(LAPIC_DIVIDE, 0xb);
	lapic_write(LAPIC_LVT_TIMER, VEC_IPI);
	lapic_write(LAPIC_COUNT, ns);
}

static unsigned each(unsigned event)
{
	return event;
}

static unsigned from_wrmsr(unsigned event)
{
	return event - skew;
}

static unsigned conditional(unsigned event)
{
	return (event - 1) / 2 * 4 + 3 + (event - 1) % 2;
}

static unsigned not_taken(unsigned event)
{
	return event * 4;
}

const struct row kernel_nops = { nops, nops_row, 1, KCS, from_wrmsr };
const struct row kernel_jumps = { jumps, jumps_row, 2, KCS, each };
const struct row conditionals = { mixed, mixed_row, 2, KCS, conditional };
const struct row not_takens = { mixed, mixed_row, 2, KCS, not_taken };
const struct row nops_at_3 = { user_nops, user_nops_row, 1, UCS_NATIVE, each };
const struct row jumps_at_3 = { user_jumps, user_jumps_row, 2, UCS_NATIVE, each };

void expect_overflows(uint32_t lvt)
{
	nr_overflows = 0;
	window_after_pmi = 0;
	lapic_write(LAPIC_LVTPC, lvt);
}

/* Called by isr_overflow, with all counters stopped. */
void overflow(ulong ip, ulong cs)
{
	extern volatile uint64_t ctrl_at_overflow;
	struct overflow seen = {
		.ip = ip, .cs = cs, .status = rdmsr(MSR_STATUS),
		.ctrl = ctrl_at_overflow, .counter = rdpmc(overflow_counter),
		.lvt = lapic_read(LAPIC_LVTPC),
	};

	if (nr_overflows < OVERFLOWS)
		overflows[nr_overflows] = seen;
	nr_overflows++;
	if (!overflow_keeps_status)
		wrmsr(MSR_STATUS_RESET, seen.status);
	if (on_overflow)
		on_overflow();
	if (overflow_as_vector)
		lapic_write(0xb0, 0);
	if (overflow_unmasks)
		lapic_write(LAPIC_LVTPC, seen.lvt & ~LVT_MASKED);
}
