// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which registers does the performance monitoring unit have, what do they
 * take, and which of their bits make a counter count?  PARAM is the version
 * of it that this model is to have.
 */
#include "pmu.h"

static unsigned version;

static void leaf(void)
{
	static const struct {
		unsigned version;
		uint32_t a, b, c, d;
	} want[] = {
		{ 2, 0x07280202, 0, 0, 0x503 },
		{ 3, 0x07300403, 0, 0, 0x603 },
		{ 4, 0x07300404, 0, 0, 0x603 },
	};
	uint32_t a, b, c = 0, d;
	unsigned i;
	bool good = false;

	cpuid(10, &a, &b, &c, &d);
	for (i = 0; i < 3; i++)
		if (want[i].version == version)
			good = a == want[i].a && b == want[i].b &&
			       c == want[i].c && d == want[i].d;
	if (!good)
		say("# %x %x %x %x\n", (uint64_t)a, (uint64_t)b, (uint64_t)c,
		    (uint64_t)d);
	ok(good, "CPUID.0AH of version %u", (uint64_t)version);
	ok(pmu.pdcm, "CPUID has PDCM");
}

static void reset_values(void)
{
	uint64_t val, capabilities = 0;
	unsigned i;
	bool good = true;

	for (i = 0; i < pmu.counters; i++)
		good &= !rdmsr(MSR_SELECT(i)) && !rdmsr(MSR_PMC(i));
	for (i = 0; i < pmu.fixed; i++)
		good &= !rdmsr(MSR_FIXED(i));
	good &= !rdmsr(MSR_FIXED_CTRL) && !rdmsr(MSR_STATUS);
	if (version >= 4)
		good &= !rdmsr(MSR_INUSE);
	ok(good, "after reset: counters and their controls are 0");
	ok(rdmsr(MSR_GLOBAL_CTRL) == (1ull << pmu.counters) - 1,
	   "after reset: GLOBAL_CTRL has all general-purpose counters");
	good = !rdmsr_faults(MSR_STATUS_RESET, &val) && val == 0;
	ok(good, "STATUS_RESET reads 0");

	if (version >= 4)
		capabilities |= 0x2000;
	if (has_pebs)
		capabilities |= 0x3c0;
	val = rdmsr(MSR_CAPABILITIES);
	if (version == 3)		/* full-width writes: the model's choice */
		val &= ~0x2000ull;
	ok(val == capabilities, "PERF_CAPABILITIES");
}

/* Each bit alone is kept if @valid has it, and else #GP that changes nothing. */
static bool bits(uint32_t msr, uint64_t valid)
{
	unsigned bit;
	bool good = true;

	for (bit = 0; bit < 64; bit++) {
		uint64_t val = 1ull << bit;
		bool may = valid & val;

		wrmsr(msr, 0);
		if (wrmsr_faults(msr, val) == may ||
		    rdmsr(msr) != (may ? val : 0)) {
			say("# MSR 0x%x, bit %u\n", (uint64_t)msr, (uint64_t)bit);
			good = false;
		}
	}
	wrmsr(msr, 0);
	return good && wrmsr_faults(msr, valid | 1ull << 52) && !rdmsr(msr);
}

static void reserved_bits(void)
{
	uint64_t select = 0xffffffff, fixed = 0xfff;
	unsigned i;
	bool good = true;

	if (version < 3) {		/* AnyThread came with version 3 */
		select &= ~ANY;
		fixed &= ~0x444ull;
	}
	wrmsr(MSR_GLOBAL_CTRL, 0);
	for (i = 0; i < pmu.counters; i++)
		good &= bits(MSR_SELECT(i), select);
	ok(good, "PERFEVTSEL: all of 31:0 is kept, #GP for the others");
	ok(bits(MSR_FIXED_CTRL, fixed), "FIXED_CTR_CTRL: #GP for reserved bits");
	ok(bits(MSR_GLOBAL_CTRL, pmu.all), "GLOBAL_CTRL: #GP for reserved bits");
	if (has_pebs)
		ok(bits(MSR_PEBS_ENABLE, 0xf0000000full),
		   "PEBS_ENABLE: #GP for reserved bits");
}

static void read_only(void)
{
	ok(wrmsr_faults(MSR_CAPABILITIES, 0) &&
	   wrmsr_faults(MSR_CAPABILITIES, rdmsr(MSR_CAPABILITIES)),
	   "PERF_CAPABILITIES: #GP for a write");
	ok(wrmsr_faults(MSR_STATUS, 0) && wrmsr_faults(MSR_STATUS, 1),
	   "GLOBAL_STATUS: #GP for a write");
	if (version >= 4)
		ok(wrmsr_faults(MSR_INUSE, 0), "GLOBAL_INUSE: #GP for a write");
}

static void other_versions(void)
{
	uint64_t val;

	if (version < 4)
		ok(rdmsr_faults(MSR_STATUS_SET, &val) &&
		   wrmsr_faults(MSR_STATUS_SET, 0) &&
		   rdmsr_faults(MSR_INUSE, &val) && wrmsr_faults(MSR_INUSE, 0),
		   "STATUS_SET and INUSE: #GP before version 4");
	if (pmu.counters < 4)
		ok(rdmsr_faults(MSR_SELECT(pmu.counters), &val) &&
		   wrmsr_faults(MSR_PMC(pmu.counters), 0),
		   "counters that other models have: #GP");
	if (!pmu.full_writes)
		ok(rdmsr_faults(MSR_A_PMC(0), &val) && wrmsr_faults(MSR_A_PMC(0), 0),
		   "A_PMC: #GP without full-width writes");
	if (!has_pebs) {
		/* As one that no processor has. */
		bool known = !wrmsr_faults(MSR_PEBS_ENABLE, 1) &&
			     !rdmsr_faults(MSR_PEBS_ENABLE, &val) && val;

		ok(!known && wrmsr_faults(MSR_PEBS_ENABLE, 0) ==
			     wrmsr_faults(0xabc, 0),
		   "PEBS_ENABLE does not exist");
		if (has_ds)
			ok(rdmsr(0x1a0) & 1 << 12, "MISC_ENABLE: no PEBS");
	}
}

static void widths(void)
{
	static const uint64_t values[] = {
		0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe,
		0x1234567812345678, 0x1234567887654321, ~0ull,
	};
	uint64_t val;
	unsigned i, n;
	bool good = true, full = true, fixed = true;

	pmu_reset();
	for (n = 0; n < pmu.counters; n++) {
		for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			wrmsr(MSR_PMC(n), values[i]);
			val = (uint64_t)(int32_t)values[i] & pmu.mask;
			good &= rdmsr(MSR_PMC(n)) == val && rdpmc(n) == val;
		}
	}
	ok(good, "PMC: a write is of 32 bits, with their sign");

	for (n = 0; n < pmu.counters && pmu.full_writes; n++) {
		wrmsr(MSR_A_PMC(n), 0);
		for (i = 0; i < 64; i++) {
			bool may = i < pmu.width;

			val = 1ull << i;
			full &= wrmsr_faults(MSR_A_PMC(n), val) != may &&
				(!may || (rdmsr(MSR_A_PMC(n)) == val &&
					  rdmsr(MSR_PMC(n)) == val &&
					  rdpmc(n) == val));
		}
		wrmsr(MSR_A_PMC(n), pmu.mask);
		full &= rdpmc(n) == pmu.mask;
	}
	ok(full, pmu.full_writes ? "A_PMC: all bits, #GP above the width" :
	   "A_PMC # SKIP no full-width writes");

	for (n = 0; n < pmu.fixed; n++) {
		wrmsr(MSR_FIXED(n), 0);
		for (i = 0; i < 64; i++) {
			bool may = i < pmu.fixed_width;

			val = 1ull << i;
			fixed &= wrmsr_faults(MSR_FIXED(n), val) != may &&
				 (!may || (rdmsr(MSR_FIXED(n)) == val &&
					   rdpmc(RDPMC_FIXED(n)) == val));
		}
	}
	ok(fixed, "FIXED_CTR: all bits, #GP above the width");

	/* Each has a number of its own. */
	good = true;
	for (n = 0; n < pmu.counters; n++)
		wrmsr(MSR_PMC(n), 0x100 + n);
	for (n = 0; n < pmu.fixed; n++)
		wrmsr(MSR_FIXED(n), 0x200 + n);
	for (n = 0; n < pmu.counters; n++)
		good &= rdmsr(MSR_PMC(n)) == 0x100 + n && rdpmc(n) == 0x100 + n;
	for (n = 0; n < pmu.fixed; n++)
		good &= rdmsr(MSR_FIXED(n)) == 0x200 + n &&
			rdpmc(RDPMC_FIXED(n)) == 0x200 + n;
	ok(good, "counters do not share anything");
	pmu_reset();
}

static void rdpmc_indices(void)
{
	const uint32_t bad[] = {
		pmu.counters, pmu.counters + 1, 0xff, 0x100,
		RDPMC_FIXED(pmu.fixed), RDPMC_FIXED(0xff), 0x20000000,
		0x80000000, 0xc0000000, 0x40010000, 0x10000,
	};
	uint64_t val;
	unsigned i;
	bool good = true;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (!rdpmc_faults(bad[i], &val)) {
			say("# RDPMC 0x%x\n", (uint64_t)bad[i]);
			good = false;
		}
	}
	ok(good, "RDPMC: #GP for what is no counter");

	good = true;
	for (i = 0; i < pmu.counters; i++)
		good &= !rdpmc_faults(i, &val);
	for (i = 0; i < pmu.fixed; i++)
		good &= !rdpmc_faults(RDPMC_FIXED(i), &val);
	ok(good, "RDPMC: all counters");
}

static void user_rdpmc_cases(void)
{
	const ulong pce = 1 << 8;
	ulong cr4;

	__asm__ volatile("mov %%cr4, %0" : "=r"(cr4));
	set_counter(0, 0x87654321);
	user_index = 0;
	run_case(user_rdpmc);
	ok(user_faulted, "RDPMC at CPL 3: #GP without CR4.PCE");

	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4 | pce));
	run_case(user_rdpmc);
	/* whole registers: the 64-bit guest sees that upper halves are cleared */
	ok(!user_faulted && user_lo == 0x87654321 &&
	   user_hi == (pmu.mask >> 32), "RDPMC at CPL 3, with CR4.PCE");
	user_index = pmu.counters;
	run_case(user_rdpmc);
	ok(user_faulted, "RDPMC at CPL 3, with CR4.PCE: #GP for a bad index");
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4));
	run_case(user_rdpmc);
	user_index = 0;
	run_case(user_rdpmc);
	ok(user_faulted, "RDPMC at CPL 3: #GP when CR4.PCE is clear again");
	pmu_reset();
}

static void inuse(void)
{
	const uint64_t pmi = 1ull << 63;
	unsigned i;
	bool good = true;

	if (version < 4)
		return;
	pmu_reset();
	for (i = 0; i < pmu.counters; i++) {
		wrmsr(MSR_SELECT(i), EN | BOTH | 0xff00);
		good &= rdmsr(MSR_INUSE) == 0;
		wrmsr(MSR_SELECT(i), 0x80);
		good &= rdmsr(MSR_INUSE) == GP(i);
		wrmsr(MSR_SELECT(i), INT);
		good &= rdmsr(MSR_INUSE) == pmi;
		wrmsr(MSR_SELECT(i), 0);
	}
	for (i = 0; i < pmu.fixed; i++) {
		wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(i, FIXED_ANY));
		good &= rdmsr(MSR_INUSE) == 0;
		wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(i, FIXED_OS));
		good &= rdmsr(MSR_INUSE) == FIXED(i);
		wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(i, FIXED_USR));
		good &= rdmsr(MSR_INUSE) == FIXED(i);
		wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(i, FIXED_PMI));
		good &= rdmsr(MSR_INUSE) == pmi;
	}
	wrmsr(MSR_FIXED_CTRL, 0);
	if (has_pebs) {
		wrmsr(MSR_PEBS_ENABLE, 4);
		good &= rdmsr(MSR_INUSE) == pmi;
		wrmsr(MSR_PEBS_ENABLE, 1ull << 34);	/* load latency */
		good &= rdmsr(MSR_INUSE) == 0;
		wrmsr(MSR_PEBS_ENABLE, 0);
	}
	ok(good && rdmsr(MSR_INUSE) == 0, "GLOBAL_INUSE shows what is used");
}

static void status_set(void)
{
	/* Without those that are other features': 55, 60, 61. */
	uint64_t others = 1ull << 55 | 3ull << 60, val;
	uint64_t may = pmu.all | LBR_FRZ | CTR_FRZ | (has_ds ? OVF_BUF : 0);
	unsigned bit;
	bool good = true;

	if (version < 4)
		return;
	if (!has_ds)
		others |= OVF_BUF;
	pmu_reset();
	expect_overflows(LVT_NMI);
	for (bit = 0; bit < 64; bit++) {
		uint64_t one = 1ull << bit;

		if (others & one)
			continue;
		good &= wrmsr_faults(MSR_STATUS_SET, one) == !(may & one) &&
			rdmsr(MSR_STATUS) == (may & one);
		if (!good)
			say("# bit %u\n", (uint64_t)bit);
		wrmsr(MSR_STATUS_RESET, rdmsr(MSR_STATUS));
	}
	ok(good, "STATUS_SET sets bits of GLOBAL_STATUS, #GP for the others");
	ok(nr_overflows == 0, "STATUS_SET interrupts nothing");
	ok(!rdmsr_faults(MSR_STATUS_SET, &val) && val == 0, "STATUS_SET reads 0");

	wrmsr(MSR_STATUS_SET, 5);
	wrmsr(MSR_STATUS_SET, FIXED(1));
	ok(rdmsr(MSR_STATUS) == (FIXED(1) | 5), "STATUS_SET leaves the others");
	wrmsr(MSR_STATUS_RESET, 4 | FIXED(0));
	ok(rdmsr(MSR_STATUS) == (FIXED(1) | 1), "STATUS_RESET, too");
	pmu_reset();

	/* Frozen by hand. */
	count(0, INSTRUCTIONS | OS);
	wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(0, FIXED_OS) |
			      FIXED_FIELD(1, FIXED_OS));
	wrmsr(MSR_STATUS_SET, CTR_FRZ);
	run_window(nops, pmu.all);
	ok(!rdpmc(0) && !rdpmc(RDPMC_FIXED(0)) && !rdpmc(RDPMC_FIXED(1)),
	   "nothing counts while CTR_Frz is set");
	wrmsr(MSR_STATUS_RESET, CTR_FRZ);
	run_window(nops, pmu.all);
	ok(rdpmc(0) == ROW + window_instructions && rdpmc(RDPMC_FIXED(1)),
	   "and all counts when it is cleared");
	pmu_reset();
}

static void status_reset_bits(void)
{
	uint64_t others = 1ull << 55 | 3ull << 60 | OVF_BUF;
	uint64_t may = pmu.all | COND_CHGD;
	unsigned bit;
	bool good = true;

	if (version >= 4)
		may |= LBR_FRZ | CTR_FRZ;
	for (bit = 0; bit < 64; bit++) {
		uint64_t one = 1ull << bit;

		if (!(others & one) &&
		    wrmsr_faults(MSR_STATUS_RESET, one) == !!(may & one)) {
			say("# bit %u\n", (uint64_t)bit);
			good = false;
		}
	}
	ok(good, "STATUS_RESET: #GP for reserved bits");
	if (has_ds)
		ok(!wrmsr_faults(MSR_STATUS_RESET, OVF_BUF),
		   "STATUS_RESET has OvfBuf, with a DS area");
}

/* From -k, k + 1 overflows and k - 1 does not; the value goes on from 0. */
static bool overflows_at(uint32_t msr, uint64_t mask, uint64_t bit,
			 unsigned events)
{
	int more;
	bool good = true;

	for (more = -1; more <= 1; more++) {
		uint64_t start = -(uint64_t)(events - more);

		wrmsr(msr, msr >= MSR_FIXED(0) ? start & mask : start);
		run_window(nops, pmu.all);
		if (rdmsr(msr) != ((start + events) & mask) ||
		    rdmsr(MSR_STATUS) != (more < 0 ? 0 : bit)) {
			say("# MSR 0x%x is 0x%x, status 0x%x\n", (uint64_t)msr,
			    rdmsr(msr), rdmsr(MSR_STATUS));
			good = false;
		}
		wrmsr(MSR_STATUS_RESET, bit);
		good &= rdmsr(MSR_STATUS) == 0;
	}
	return good;
}

static void overflow_status(void)
{
	const unsigned events = ROW + window_instructions;
	unsigned i;
	bool good = true;

	expect_overflows(LVT_NMI);
	for (i = 0; i < pmu.counters; i++) {
		pmu_reset();
		count(i, INSTRUCTIONS | OS);
		good &= overflows_at(MSR_PMC(i), pmu.mask, GP(i), events);
	}
	ok(good, "PMC: an overflow sets its bit of GLOBAL_STATUS alone");
	pmu_reset();
	wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(0, FIXED_OS));
	ok(overflows_at(MSR_FIXED(0), pmu.fixed_mask, FIXED(0), events),
	   "FIXED_CTR0: the same");

	good = true;
	for (i = 1; i < pmu.fixed; i++) {
		pmu_reset();
		wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(i, FIXED_OS));
		wrmsr(MSR_FIXED(i), pmu.fixed_mask);
		run_window(nops, pmu.all);
		good &= rdmsr(MSR_STATUS) == FIXED(i) &&
			rdmsr(MSR_FIXED(i)) < 1ull << 39;
	}
	ok(good, "cycles: the same");

	/* Two at once, and one that already has its bit. */
	pmu_reset();
	count(0, INSTRUCTIONS | OS);
	count(1, INSTRUCTIONS | OS);
	set_counter(0, -5);
	set_counter(1, -50);
	run_window(nops, pmu.all);
	good = rdmsr(MSR_STATUS) == 3;
	set_counter(1, -50);
	run_window(nops, pmu.all);
	good &= rdmsr(MSR_STATUS) == 3;
	wrmsr(MSR_STATUS_RESET, 2);
	good &= rdmsr(MSR_STATUS) == 1;
	ok(good, "bits stay until they are cleared, one by one");
	ok(nr_overflows == 0, "no interrupt without the INT bit");

	/* It is the carry that sets it: not a value, nor a write. */
	pmu_reset();
	set_counter(0, -1);
	set_counter(0, 0);
	ok(rdmsr(MSR_STATUS) == 0, "a write is no overflow");
	pmu_reset();
}

static uint64_t counted(uint64_t select, uint64_t ctrl, void (*fn)(void))
{
	wrmsr(MSR_PMC(0), 0);
	wrmsr(MSR_SELECT(0), select);
	run_window(fn, ctrl);
	return rdpmc(0);
}

static uint64_t counted_fixed(unsigned field, uint64_t ctrl, void (*fn)(void))
{
	wrmsr(MSR_FIXED(0), 0);
	wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(0, field));
	run_window(fn, ctrl);
	return rdmsr(MSR_FIXED(0));
}

static void enable_bits(void)
{
	const uint64_t on = INSTRUCTIONS | EN;
	const unsigned kernel = 1 + window_instructions;	/* IRET */
	const unsigned user = ROW + 1;				/* INT n */
	uint64_t any = version >= 3 ? ANY : 0;
	unsigned i;
	bool good;

	pmu_reset();
	ok(counted(on | BOTH, GP(0), user_nops) == kernel + user,
	   "USR and OS: all");
	ok(counted(on | USR, GP(0), user_nops) == user, "USR: CPL 3");
	ok(counted(on | OS, GP(0), user_nops) == kernel, "OS: CPL 0");
	ok(counted(on, GP(0), user_nops) == 0, "neither: nothing");
	ok(counted(INSTRUCTIONS | BOTH, GP(0), user_nops) == 0,
	   "without EN: nothing");
	ok(counted(on | BOTH, pmu.all & ~GP(0), user_nops) == 0,
	   "without its bit of GLOBAL_CTRL: nothing");
	ok(counted(on | BOTH | PIN | INT | any, pmu.all, user_nops) ==
	   kernel + user, "PC and AnyThread make no difference");
	ok(counted(EN | BOTH, GP(0), user_nops) == 0 &&
	   counted(EN | BOTH | 0xffff, GP(0), user_nops) == 0 &&
	   counted(EN | BOTH | 0x02c0, GP(0), user_nops) == 0,
	   "what is no event counts nothing");
	ok(counted(on | USR, 0, user_nops) == 0, "GLOBAL_CTRL 0: nothing");

	pmu_reset();
	set_counter(0, 0x123);
	count(1, INSTRUCTIONS | OS);
	run_window(nops, pmu.all);
	ok(rdpmc(0) == 0x123 && rdpmc(1) > ROW,
	   "a counter without EN stays as it is, while others count");

	pmu_reset();
	good = counted_fixed(FIXED_OS | FIXED_USR, FIXED(0), user_nops) ==
	       kernel + user;
	good &= counted_fixed(FIXED_USR, FIXED(0), user_nops) == user;
	good &= counted_fixed(FIXED_OS, FIXED(0), user_nops) == kernel;
	good &= counted_fixed(0, FIXED(0), user_nops) == 0;
	good &= counted_fixed(3, pmu.all & ~FIXED(0), user_nops) == 0;
	if (version >= 3)
		good &= counted_fixed(3 | FIXED_ANY, FIXED(0), user_nops) ==
			kernel + user;
	ok(good, "FIXED_CTR_CTRL: OS, USR, and GLOBAL_CTRL");

	good = true;
	for (i = 1; i < pmu.fixed; i++) {
		pmu_reset();
		wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(i, 3));
		run_window(user_nops, FIXED(i));
		good &= rdmsr(MSR_FIXED(i)) && !rdmsr(MSR_FIXED(0)) &&
			!rdmsr(MSR_FIXED(3 - i));
	}
	ok(good, "FIXED_CTR_CTRL: each counter its own bits");
	pmu_reset();
}

_Noreturn void guest_main(void)
{
	version = param();
	set_gate(2, isr_overflow, 0, 0);
	set_gate(VEC_LEAVE, isr_close, 3, 0);
	pmu_cpuid();
	leaf();
	reset_values();
	pmu_find();
	ok(window_instructions == 4 && skew <= 1,
	   "of two WRMSR that start and stop, one counts");
	reserved_bits();
	read_only();
	other_versions();
	status_reset_bits();
	widths();
	rdpmc_indices();
	user_rdpmc_cases();
	inuse();
	status_set();
	overflow_status();
	enable_bits();
	end();
}
