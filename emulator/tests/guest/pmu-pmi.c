// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When does the interrupt of an overflow come, how, how often, and what does
 * it freeze?  PARAM is 1 under -icount shift=0, where cycles are exact, too.
 */
#include "pmu.h"

static bool icount;

/* One that overflows, and how. */
struct source {
	const char *name;
	unsigned counter;		/* as RDPMC has it */
	uint64_t select;		/* or fixed: OS, USR */
	uint64_t bit;			/* of GLOBAL_STATUS */
};

static struct source gp(unsigned counter, uint64_t select, const char *name)
{
	return (struct source){ name, counter, select, GP(counter) };
}

static struct source fixed(unsigned counter, uint64_t select, const char *name)
{
	return (struct source){ name, RDPMC_FIXED(counter), select,
				FIXED(counter) };
}

/* It overflows with the event number @events. */
static void arm(const struct source *s, unsigned events)
{
	if (s->counter < RDPMC_FIXED(0)) {
		wrmsr(MSR_PMC(s->counter), -(uint64_t)events);
		wrmsr(MSR_SELECT(s->counter), s->select | INT | EN);
	} else {
		unsigned n = s->counter - RDPMC_FIXED(0);

		wrmsr(MSR_FIXED(n), -(uint64_t)events & pmu.fixed_mask);
		wrmsr(MSR_FIXED_CTRL, (rdmsr(MSR_FIXED_CTRL) &
				       ~FIXED_FIELD(n, 15)) |
			FIXED_FIELD(n, FIXED_PMI |
				    (s->select & OS ? FIXED_OS : 0) |
				    (s->select & USR ? FIXED_USR : 0)));
	}
}

static void run(const struct source *s, unsigned events, void (*fn)(void),
		uint32_t lvt)
{
	pmu_reset();
	expect_overflows(lvt);
	overflow_counter = s->counter;
	arm(s, events);
	run_window(fn, pmu.all);
}

/* The interrupt number @n was at @ip. */
static bool was_at(const char *what, unsigned n, ulong ip, ulong cs)
{
	volatile struct overflow *o = &overflows[n];
	static unsigned shown;

	if (n < nr_overflows && o->ip == ip && (o->cs & 0xffff) == cs)
		return true;
	if (shown++ < 50)
		say("# %s: %u interrupts; number %u at 0x%x, CS 0x%x, want 0x%x, 0x%x\n",
		    what, (uint64_t)nr_overflows, (uint64_t)n, (uint64_t)o->ip,
		    (uint64_t)(o->cs & 0xffff), (uint64_t)ip, (uint64_t)cs);
	return false;
}

static bool came_once(const struct source *s, ulong ip, ulong cs, uint32_t lvt)
{
	volatile struct overflow *o = &overflows[0];

	return was_at(s->name, 0, ip, cs) && nr_overflows == 1 &&
	       o->status == s->bit && o->lvt == (lvt | LVT_MASKED) &&
	       lapic_read(LAPIC_LVTPC) == o->lvt;
}

static bool exact(struct source s, const struct row *r, uint32_t lvt)
{
	unsigned events;
	bool good = true;

	for (events = 1; events <= 24; events++) {
		run(&s, events, r->fn, lvt);
		good &= came_once(&s, (ulong)r->row + r->size * r->nth(events),
				  r->cs, lvt);
	}
	return good;
}

static void positions(uint32_t lvt, const char *as)
{
	unsigned i;
	bool good = true;

	for (i = 0; i < pmu.counters; i++)
		good &= exact(gp(i, INSTRUCTIONS | OS, as), &kernel_nops, lvt);
	ok(good, "%s: right after the instruction that overflows", as);
	ok(exact(fixed(0, OS, as), &kernel_nops, lvt),
	   "%s: the same of FIXED_CTR0", as);
	ok(exact(gp(1, NEAR_TAKEN | OS, as), &kernel_jumps, lvt) &
	   exact(gp(0, BRANCHES | OS, as), &kernel_jumps, lvt),
	   "%s: right after the jump that overflows", as);
	ok(exact(gp(0, CONDITIONAL | OS, as), &conditionals, lvt) &
	   exact(gp(1, NOT_TAKEN | OS, as), &not_takens, lvt),
	   "%s: the same of jumps taken and not", as);
	ok(exact(gp(0, INSTRUCTIONS | USR, as), &nops_at_3, lvt) &
	   exact(fixed(0, USR, as), &nops_at_3, lvt) &
	   exact(gp(1, NEAR_TAKEN | USR, as), &jumps_at_3, lvt),
	   "%s: the same at CPL 3", as);
}

/* Of an instruction that changes level, it is in the other one. */
static void crossings(void)
{
	struct source s = gp(0, INSTRUCTIONS | USR, "INT n");
	bool good;

	run(&s, ROW + 1, user_nops, LVT_NMI);
	good = came_once(&s, (ulong)isr_close, KCS, LVT_NMI);
	s = gp(0, FAR_BRANCH | OS, "IRET");
	run(&s, 1, user_nops, LVT_NMI);
	good &= came_once(&s, (ulong)user_nops_row, UCS_NATIVE, LVT_NMI);
	ok(good, "INT n and IRET that overflow: at their target");

	s = gp(0, INSTRUCTIONS | OS, "REP");
	run(&s, 3 + skew, repeats, LVT_NMI);
	good = came_once(&s, (ulong)repeats_after, KCS, LVT_NMI);
	run(&s, 4 + skew, repeats, LVT_NMI);
	good &= came_once(&s, (ulong)repeats_after + 1, KCS, LVT_NMI);
	ok(good, "a repeated string instruction that overflows: after its end");
}

/* Not between MOV SS and what follows it, where SP is about to be loaded. */
static void shadow(uint32_t lvt, const char *as)
{
	struct source s = gp(0, INSTRUCTIONS | OS, as);
	bool good;

	run(&s, 1 + skew, protects, lvt);
	good = came_once(&s, (ulong)protects_row + 3, KCS, lvt);
	run(&s, 2 + skew, protects, lvt);
	good &= came_once(&s, (ulong)protects_row + 3, KCS, lvt);
	ok(good, "%s: not in the shadow of MOV SS", as);
}

static void mask(void)
{
	struct source s = gp(0, INSTRUCTIONS | OS, "masked");
	bool good;

	run(&s, 10, nops, LVT_NMI | LVT_MASKED);
	good = nr_overflows == 0 && rdmsr(MSR_STATUS) == GP(0) &&
	       rdpmc(0) == ROW + window_instructions - 10 &&
	       lapic_read(LAPIC_LVTPC) == (LVT_NMI | LVT_MASKED);
	ok(good, "masked: the status bit, and no interrupt");
	lapic_write(LAPIC_LVTPC, LVT_NMI);
	run_window(nops, pmu.all);
	ok(nr_overflows == 0, "nor does one come later");

	run(&s, 10, nops, LVT_NMI);
	arm(&s, 10);
	run_window(nops, pmu.all);
	ok(nr_overflows == 1 && rdmsr(MSR_STATUS) == GP(0),
	   "one interrupt until the handler clears the mask bit");
	pmu_reset();
	arm(&s, 10);
	lapic_write(LAPIC_LVTPC, LVT_NMI);
	run_window(nops, pmu.all);
	ok(nr_overflows == 2, "and then the next");

	/* A status bit that is set already makes no difference. */
	run(&s, 10, nops, LVT_NMI | LVT_MASKED);
	arm(&s, 10);
	lapic_write(LAPIC_LVTPC, LVT_NMI);
	run_window(nops, pmu.all);
	ok(nr_overflows == 1, "an overflow of one that has its status bit");

	pmu_reset();
	expect_overflows(LVT_NMI);
	count(0, INSTRUCTIONS | OS);
	set_counter(0, -10);
	wrmsr(MSR_FIXED(0), pmu.fixed_mask - 5);
	wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(0, FIXED_OS));
	run_window(nops, pmu.all);
	ok(nr_overflows == 0 && rdmsr(MSR_STATUS) == (GP(0) | FIXED(0)),
	   "no interrupt without INT, or the fixed counter's bit");
	ok(lapic_read(LAPIC_LVTPC) == LVT_NMI, "and no mask bit");
}

static void as_vector(void)
{
	struct source s = gp(0, INSTRUCTIONS | OS, "vector");
	bool good;

	overflow_as_vector = true;
	case_flags = 0x200;
	__asm__ volatile("sti");
	positions(VEC_PMI, "vector");
	__asm__ volatile("sti");	/* INT n has ended that */
	shadow(VEC_PMI, "vector");
	__asm__ volatile("cli");
	case_flags = 0;

	run(&s, 10, nops, VEC_PMI);
	good = nr_overflows == 0 && rdmsr(MSR_STATUS) == GP(0) &&
	       lapic_read(LAPIC_LVTPC) == (VEC_PMI | LVT_MASKED);
	__asm__ volatile("sti; nop; cli");
	ok(good && nr_overflows == 1, "vector: waits while interrupts are off");
	overflow_as_vector = false;
}

static void several(void)
{
	struct source a = gp(0, INSTRUCTIONS | OS, "two"),
		      b = gp(1, INSTRUCTIONS | OS, "two"),
		      c = fixed(0, OS, "three");

	pmu_reset();
	expect_overflows(LVT_NMI);
	arm(&a, 9);
	arm(&b, 9);
	arm(&c, 9);
	run_window(nops, pmu.all);
	ok(was_at("three", 0, (ulong)nops_row + 9 - skew, KCS) &&
	   nr_overflows == 1 &&
	   overflows[0].status == (GP(0) | GP(1) | FIXED(0)),
	   "counters that overflow with one instruction: one interrupt");

	/* The others' values at the interrupt: those of the instruction. */
	pmu_reset();
	expect_overflows(LVT_NMI);
	a = gp(0, INSTRUCTIONS | USR, "first");
	arm(&a, 9);
	count(1, INSTRUCTIONS | USR);
	overflow_counter = 1;
	run_window(user_nops, pmu.all);
	ok(nr_overflows == 1 && overflows[0].counter == 9,
	   "another counter is as far as the one that overflows");
}

static struct source sampled;
static unsigned period;

static void reload(void)
{
	arm(&sampled, period);
}

/*
 * All interrupts of a row, with a counter that goes on from -@period; @more
 * events follow the row.
 */
static bool samples(struct source s, const struct row *r, uint32_t lvt,
		    unsigned more)
{
	unsigned n;
	bool good = true;

	sampled = s;
	on_overflow = reload;
	overflow_unmasks = true;
	for (period = 1; period < 20; period++) {
		pmu_reset();
		expect_overflows(lvt);
		arm(&s, period);
		window_after_pmi = pmu.all;
		run_window(r->fn, pmu.all);
		good &= nr_overflows == (ROW + more) / period;
		for (n = 0; good && n < ROW / period; n++)
			good &= was_at(s.name, n, (ulong)r->row +
				       r->size * period * (n + 1), r->cs);
	}
	on_overflow = NULL;
	overflow_unmasks = false;
	window_after_pmi = 0;
	return good;
}

static void sampling(void)
{
	unsigned last = pmu.counters - 1;

	/* Jumps: the handler has none where it counts, nor INT n at the end. */
	ok(samples(gp(0, NEAR_TAKEN | OS, "CPL 0"), &kernel_jumps, LVT_NMI, 0),
	   "every Nth jump at CPL 0");
	ok(samples(gp(last, NEAR_TAKEN | USR, "CPL 3"), &jumps_at_3, LVT_NMI, 0),
	   "every Nth jump at CPL 3");
	overflow_as_vector = true;
	__asm__ volatile("sti");
	ok(samples(gp(0, NEAR_TAKEN | OS, "vector"), &kernel_jumps, VEC_PMI, 0),
	   "every Nth jump at CPL 0, as a vector");
	case_flags = 0x200;
	ok(samples(gp(0, NEAR_TAKEN | USR, "vector"), &jumps_at_3, VEC_PMI, 0),
	   "every Nth jump at CPL 3, as a vector");
	case_flags = 0;
	__asm__ volatile("cli");
	overflow_as_vector = false;
}

/*
 * With BTS of CPL 3: record 0 is the way there, so that record n is jump n; an
 * interrupt adds two.
 */
static void bts_run(unsigned events, unsigned threshold, bool again)
{
	struct source s = gp(0, NEAR_TAKEN | USR, "BTS");

	pmu_reset();
	expect_overflows(LVT_NMI);
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, threshold);
	arm(&s, events);
	overflow_unmasks = again;
	window_after_pmi = again ? pmu.all : 0;
	wrmsr(MSR_DEBUGCTL, ctl.tr | ctl.bts | ctl.off_os);
	run_window(user_jumps, pmu.all);
	wrmsr(MSR_DEBUGCTL, 0);
	overflow_unmasks = false;
}

static void with_bts(void)
{
	char *row = user_jumps_row;
	bool good;

	if (!has_ds_cpl)
		return;
	bts_run(7, 7, false);
	ok(was_at("both", 0, (ulong)row + 14, UCS_NATIVE) &&
	   nr_overflows == 1 && overflows[0].status == GP(0) &&
	   ds_get(INDEX) >= ds_get(THRESHOLD),
	   "a counter and BTS with one branch: one interrupt");
	bts_run(5, 7, false);
	good = was_at("counter", 0, (ulong)row + 10, UCS_NATIVE) &&
	       nr_overflows == 1;
	bts_run(9, 7, false);
	good &= was_at("BTS", 0, (ulong)row + 14, UCS_NATIVE) &&
		nr_overflows == 1 && overflows[0].status == 0;
	ok(good, "the first of a counter and BTS interrupts, and masks");
	bts_run(5, 9, true);
	ok(was_at("counter", 0, (ulong)row + 10, UCS_NATIVE) &&
	   was_at("BTS", 1, (ulong)row + 14, UCS_NATIVE) && nr_overflows == 2,
	   "a counter, then BTS");
	bts_run(9, 7, true);
	ok(was_at("BTS", 0, (ulong)row + 14, UCS_NATIVE) &&
	   was_at("counter", 1, (ulong)row + 18, UCS_NATIVE) &&
	   nr_overflows == 2, "BTS, then a counter");
}

static uint64_t counters_in_handler[4];

static void read_twice(void)
{
	counters_in_handler[0] = rdpmc(1);
	counters_in_handler[1] = rdpmc(RDPMC_FIXED(1));
	wrmsr(MSR_GLOBAL_CTRL, pmu.all);
	barrier();
	counters_in_handler[2] = rdpmc(1);
	counters_in_handler[3] = rdpmc(RDPMC_FIXED(1));
	wrmsr(MSR_GLOBAL_CTRL, 0);
}

/* PMC1 counts beside the one that overflows with its tenth instruction. */
static void freeze_run(uint32_t bits, uint32_t lvt)
{
	struct source s = gp(0, INSTRUCTIONS | OS, "freeze");

	pmu_reset();
	expect_overflows(lvt);
	arm(&s, 10);
	count(1, INSTRUCTIONS | OS);
	wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(1, FIXED_OS));
	overflow_counter = 1;
	overflow_keeps_status = true;
	on_overflow = read_twice;
	wrmsr(MSR_DEBUGCTL, bits);
	run_window(nops, pmu.all);
	overflow_keeps_status = false;
	on_overflow = NULL;
}

static void freeze(void)
{
	volatile struct overflow *o = &overflows[0];
	bool streamlined = pmu.version >= 4;
	struct source s;
	uint64_t *seen = counters_in_handler;

	freeze_run(0, LVT_NMI);
	ok(nr_overflows == 1 && o->ctrl == pmu.all && o->status == GP(0) &&
	   o->counter > 10 && seen[2] > seen[0],
	   "no freeze: the handler is counted, too");

	freeze_run(FREEZE_COUNTERS, LVT_NMI);
	ok(was_at("freeze", 0, (ulong)nops_row + 10 - skew, KCS) &&
	   nr_overflows == 1 && o->counter == 10 && seen[0] == 10,
	   "freeze: no other counter goes past the instruction");
	ok(icount ? seen[1] == 9 || seen[1] == 10 : seen[1] > 0,
	   "freeze: cycles are counted up to it");
	ok((rdmsr(MSR_DEBUGCTL) & FREEZE_COUNTERS), "freeze: DEBUGCTL stays");
	if (streamlined) {
		ok(o->ctrl == pmu.all && o->status == (GP(0) | CTR_FRZ),
		   "freeze: GLOBAL_STATUS has CTR_Frz, GLOBAL_CTRL stays");
		ok(seen[2] == seen[0] && seen[3] == seen[1],
		   "freeze: GLOBAL_CTRL makes nothing count");
		window_after_pmi = 0;
		run_window(nops, pmu.all);
		ok(rdpmc(1) == 10, "freeze: lasts");
		wrmsr(MSR_STATUS_RESET, GP(0));
		run_window(nops, pmu.all);
		ok(rdpmc(1) == 10, "freeze: the counter's own bit does not end it");
		wrmsr(MSR_STATUS_RESET, CTR_FRZ);
		run_window(nops, pmu.all);
		ok(rdpmc(1) == 10 + ROW + window_instructions,
		   "freeze: ends when CTR_Frz is cleared");
	} else {
		ok(o->ctrl == 0 && o->status == GP(0),
		   "freeze: GLOBAL_CTRL is cleared");
		ok(seen[2] > seen[0] && seen[3] > seen[1],
		   "freeze: ends when GLOBAL_CTRL is set");
	}

	/* Only a PMI freezes. */
	pmu_reset();
	expect_overflows(LVT_NMI);
	count(0, INSTRUCTIONS | OS);
	set_counter(0, -10);
	run_window(nops, pmu.all);
	ok(rdmsr(MSR_STATUS) == GP(0) &&
	   rdpmc(0) == ROW + window_instructions - 10,
	   "freeze: not by an overflow without INT");
	wrmsr(MSR_DEBUGCTL, 0);

	freeze_run(FREEZE_LBRS | 1, LVT_NMI);
	if (streamlined)
		ok(o->status == (GP(0) | LBR_FRZ) && o->ctrl == pmu.all &&
		   rdmsr(MSR_DEBUGCTL) == (FREEZE_LBRS | 1),
		   "freeze of LBRs: GLOBAL_STATUS has LBR_Frz");
	else
		ok(o->status == GP(0) && rdmsr(MSR_DEBUGCTL) == FREEZE_LBRS &&
		   o->ctrl == pmu.all, "freeze of LBRs: DEBUGCTL.LBR is cleared");
	ok(o->counter > 10, "freeze of LBRs: counters go on");
	freeze_run(FREEZE_LBRS | FREEZE_COUNTERS | 1, LVT_NMI);
	ok(o->counter == 10 && o->status == (!streamlined ? GP(0) :
					     GP(0) | LBR_FRZ | CTR_FRZ),
	   "freeze of both");
	wrmsr(MSR_DEBUGCTL, 0);

	/* Cycles stop with it, all at the same. */
	pmu_reset();
	expect_overflows(LVT_NMI);
	s = fixed(1, OS, "cycles");
	arm(&s, 100000);
	wrmsr(MSR_FIXED_CTRL, rdmsr(MSR_FIXED_CTRL) | FIXED_FIELD(2, FIXED_OS));
	overflow_keeps_status = true;
	window_after_pmi = streamlined ? pmu.all : 0;
	wrmsr(MSR_DEBUGCTL, FREEZE_COUNTERS);
	wrmsr(MSR_GLOBAL_CTRL, pmu.all);
	while (!nr_overflows)
		;
	seen[0] = rdpmc(RDPMC_FIXED(1));
	seen[1] = rdpmc(RDPMC_FIXED(2));
	ok(o->status == (streamlined ? FIXED(1) | CTR_FRZ : FIXED(1)) &&
	   seen[1] == seen[0] + 100000, "freeze by cycles: all stop at once");
	ok(rdpmc(RDPMC_FIXED(1)) == seen[0] && rdpmc(RDPMC_FIXED(2)) == seen[1],
	   "freeze by cycles: they do not go on");
	overflow_keeps_status = false;
	window_after_pmi = 0;
	wrmsr(MSR_DEBUGCTL, 0);

	/* "The BTS buffer is almost full" is such a PMI, too. */
	if (has_ds_cpl) {
		pmu_reset();
		expect_overflows(LVT_NMI);
		ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, 5);
		count(1, NEAR_TAKEN | BOTH);
		overflow_counter = 1;
		wrmsr(MSR_DEBUGCTL, ctl.tr | ctl.bts | ctl.off_os |
				    FREEZE_COUNTERS);
		run_window(user_jumps, pmu.all);
		wrmsr(MSR_DEBUGCTL, 0);
		ok(nr_overflows == 1 && o->counter == 5 &&
		   o->status == (streamlined ? CTR_FRZ : 0) &&
		   o->ctrl == (streamlined ? pmu.all : 0),
		   "freeze by BTS's interrupt");
	}
	pmu_reset();
}

static void edges(void)
{
	struct source s = gp(0, NEAR_TAKEN | OS | EDGE, "E");
	bool good;

	run(&s, 2, runs, LVT_NMI);
	good = came_once(&s, (ulong)runs_row + 9, KCS, LVT_NMI);
	run(&s, 3, runs, LVT_NMI);
	good &= came_once(&s, (ulong)runs_row + 12, KCS, LVT_NMI);
	ok(good, "E: after the first of a run");

	s = gp(0, NEAR_TAKEN | OS | CMASK(1), "CMASK");
	run(&s, 2, runs, LVT_NMI);
	good = came_once(&s, (ulong)runs_row + 5, KCS, LVT_NMI);
	s = gp(0, NEAR_TAKEN | OS | CMASK(2), "CMASK");
	run(&s, 1, runs, LVT_NMI);
	ok(good && nr_overflows == 0, "CMASK 1, and more");

	/* The second way to CPL 3 is IRET's from the first interrupt. */
	s = gp(0, CYCLES | USR | EDGE, "E");
	sampled = s;
	period = 1;
	run(&s, 1, user_nops, LVT_NMI);
	ok(came_once(&s, (ulong)user_nops_row, UCS_NATIVE, LVT_NMI),
	   "E of cycles: at the entry into CPL 3");
}

/* What overflows with cycles; it has to come, and with icount in time. */
static void cycles(void)
{
	const struct source sources[] = {
		fixed(1, OS, "FIXED_CTR1"), fixed(2, OS, "FIXED_CTR2"),
		gp(0, CYCLES | OS, "3C/00"), gp(1, 0x013c | OS, "3C/01"),
		gp(0, 0x01c0 | OS | INV | CMASK(16), "C0/01 INV, CMASK 16"),
	};
	const struct source users[] = {
		fixed(1, USR, "FIXED_CTR1"), fixed(2, USR, "FIXED_CTR2"),
		gp(0, CYCLES | USR, "3C/00"), gp(1, 0x013c | USR, "3C/01"),
		gp(0, 0x01c0 | USR | INV | CMASK(16), "C0/01 INV, CMASK 16"),
	};
	unsigned i, n, k;
	bool good;

	for (i = 0; i < 5; i++) {
		const struct source *s = &sources[i];
		long late = 0;

		/* A window that is open until it comes. */
		pmu_reset();
		expect_overflows(LVT_NMI);
		overflow_counter = s->counter;
		arm(s, 100000);
		wrmsr(MSR_GLOBAL_CTRL, pmu.all);
		while (!nr_overflows)
			;
		ok(nr_overflows == 1 && overflows[0].status == s->bit &&
		   overflows[0].counter < 1ull << 39, "%s interrupts", s->name);
		pmu_reset();
		expect_overflows(LVT_NMI);
		arm(s, 1);
		wrmsr(MSR_GLOBAL_CTRL, pmu.all);
		while (!nr_overflows)
			;
		ok(nr_overflows == 1, "%s interrupts at once", s->name);
		pmu_reset();
		if (!icount)
			continue;
		/* One tick is one instruction; of WRMSR's own we do not know. */
		good = true;
		for (k = 0; k < 2; k++) {
			for (n = 2; n < ROW; n++) {
				run(s, n, nops, LVT_NMI);
				if (n == 2 && !k)
					late = (long)overflows[0].ip -
					       (long)nops_row - 2;
				good &= came_once(s, (ulong)nops_row + n + late,
						  KCS, LVT_NMI);
			}
		}
		ok(good && (late == 0 || late == -1),
		   "%s: at the very tick, each time", s->name);
		good = true;
		for (n = 1; n < ROW; n++) {
			run(&users[i], n, user_nops, LVT_NMI);
			good &= came_once(&users[i], (ulong)user_nops_row + n,
					  UCS_NATIVE, LVT_NMI);
		}
		ok(good, "%s: at the very tick at CPL 3", s->name);
	}
	pmu_reset();

	if (icount) {
		/* The handler is of the other level. */
		ok(samples(users[0], &nops_at_3, LVT_NMI, 1) &&
		   samples(users[2], &nops_at_3, LVT_NMI, 1) &&
		   samples(users[4], &nops_at_3, LVT_NMI, 1),
		   "every Nth cycle at CPL 3");

		/* Halted for far longer than it takes; and just not enough. */
		pmu_reset();
		expect_overflows(LVT_NMI);
		n = 3 + 5 + window_instructions;
		arm(&sources[0], n + 1);
		timer(100000);
		run_window(halt, pmu.all);
		good = nr_overflows == 0 && rdmsr(MSR_STATUS) == 0;
		arm(&sources[0], n);
		timer(100000);
		run_window(halt, pmu.all);
		ok(good && rdmsr(MSR_STATUS) + nr_overflows > 0,
		   "no cycle of time that is halted overflows");
	}

	/* Not at the other level. */
	run(&users[0], 10, nops, LVT_NMI);
	ok(nr_overflows == 0 && rdmsr(MSR_STATUS) == 0,
	   "cycles of CPL 3: no interrupt of CPL 0");
	run(&sources[0], 1, user_nops, LVT_NMI | LVT_MASKED);
	ok(nr_overflows == 0 && rdmsr(MSR_STATUS) == FIXED(1),
	   "cycles: masked");
	/* The time it had counted to before it was stopped is not lost. */
	run(&sources[0], 1000000000, nops, LVT_NMI);
	n = rdmsr(MSR_FIXED(1));
	run_window(nops, pmu.all);
	ok(nr_overflows == 0 && (uint32_t)rdmsr(MSR_FIXED(1)) > n &&
	   rdmsr(MSR_FIXED(1)) > pmu.fixed_mask / 2,
	   "cycles go on in the next window");
	pmu_reset();
}

_Noreturn void guest_main(void)
{
	icount = param();
	pmu_find();
	set_gate(2, isr_overflow, 0, 0);
	set_gate(VEC_PMI, isr_overflow, 0, 0);
	set_gate(VEC_LEAVE, isr_close, 3, 0);
	positions(LVT_NMI, "NMI");
	shadow(LVT_NMI, "NMI");
	as_vector();
	crossings();
	mask();
	several();
	sampling();
	with_bts();
	freeze();
	edges();
	cycles();
	end();
}
