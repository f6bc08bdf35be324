// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does every event count what it says, and nothing else?  Each case of
 * pmu-cases.S under each event and each filter by privilege level, in as many
 * counters as there are at once; and what the other fields of an event's
 * selection make of it.
 */
#include "pmu-cases.h"

static const struct event {
	const char *name;
	uint32_t select;
} events[] = {
	{ "instructions (C0/00)", 0x00c0 },
	{ "instructions (C0/01)", 0x01c0 },
	{ "branches (C4/00)", 0x00c4 },
	{ "branches (C4/04)", 0x04c4 },
	{ "conditional", CONDITIONAL },
	{ "near call", NEAR_CALL },
	{ "near return", NEAR_RETURN },
	{ "not taken", NOT_TAKEN },
	{ "near taken", NEAR_TAKEN },
	{ "far", FAR_BRANCH },
	/* sums, and those of which one branch can be two: it is one event */
	{ "call and return", 0x0ac4 },
	{ "not taken and far", 0x50c4 },
	{ "taken, near and far", 0x60c4 },
	{ "near, taken or not", 0x30c4 },
	{ "conditional and near taken", 0x21c4 },
	{ "conditional and not taken", 0x11c4 },
	{ "all by all", 0x7fc4 },
	{ "mispredicted", 0x00c5 },
	{ "LLC references", 0x4f2e },
	{ "LLC misses", 0x412e },
};
#define EVENTS (sizeof(events) / sizeof(events[0]))

static const struct {
	const char *name;
	uint64_t bits;
} filters[] = { { "OS", OS }, { "USR", USR }, { "OS and USR", BOTH } };

static uint32_t of_event(const struct retired *r, uint32_t select)
{
	uint32_t taken = r->taken + r->jmp + r->call + r->ret;

	switch (select) {
	case 0x00c0:
	case 0x01c0: return r->insns;
	case 0x00c4:
	case 0x7fc4:
	case 0x04c4: return taken + r->not + r->far;
	case 0x11c4:
	case CONDITIONAL: return r->taken + r->not;
	case NEAR_CALL: return r->call;
	case NEAR_RETURN: return r->ret;
	case NOT_TAKEN: return r->not;
	case NEAR_TAKEN: return taken;
	case FAR_BRANCH: return r->far;
	case 0x0ac4: return r->call + r->ret;
	case 0x50c4: return r->not + r->far;
	case 0x60c4: return taken + r->far;
	case 0x21c4:
	case 0x30c4: return taken + r->not;
	}
	return 0;
}

static uint64_t expected(const struct counted_case *c, uint32_t select,
			 uint64_t filter)
{
	uint64_t n = 0;

	if (filter & OS) {
		n += of_event(&c->at[0], select);
		if ((select & 0xff) == INSTRUCTIONS)
			n += window_instructions;
	}
	if (filter & USR)
		n += of_event(&c->at[1], select);
	return n;
}

static bool expect(const struct counted_case *c, const char *event,
		   const char *filter, uint64_t got, uint64_t want)
{
	static unsigned shown;

	if (got != want && shown++ < 50)
		say("# %s: %s, %s: %u, want %u\n", c->name, event, filter, got,
		    want);
	return got == want;
}

/* Events @first and on, one in each counter, and fixed counter 0. */
static bool check_some(const struct counted_case *c, unsigned first, unsigned f)
{
	uint64_t filter = filters[f].bits;
	unsigned i;
	bool good;

	for (i = 0; i < pmu.counters; i++)
		count(i, events[(first + i) % EVENTS].select | filter);
	wrmsr(MSR_FIXED(0), 0);
	wrmsr(MSR_FIXED_CTRL, (filter & OS ? FIXED_OS : 0) |
			      (filter & USR ? FIXED_USR : 0));
	run_window(c->run, pmu.all);
	good = expect(c, "fixed counter 0", filters[f].name, rdmsr(MSR_FIXED(0)),
		      expected(c, INSTRUCTIONS, filter));
	for (i = 0; i < pmu.counters; i++) {
		const struct event *e = &events[(first + i) % EVENTS];

		good &= expect(c, e->name, filters[f].name, rdpmc(i),
			       expected(c, e->select, filter));
	}
	return good;
}

static bool check_all(const struct counted_case *c)
{
	unsigned f, i;
	bool good = true;

	for (f = 0; f < 3; f++)
		for (i = 0; i < EVENTS; i += pmu.counters)
			good &= check_some(c, i, f);
	return good && rdmsr(MSR_STATUS) == 0;
}

static bool all_again(void)
{
	const struct counted_case *c;
	bool good = true;

	for_each_counted(c)
		good &= check_all(c);
	return good;
}

/* All counters with one event: that there are more changes nothing. */
static bool same_event(void)
{
	const struct counted_case *c;
	unsigned e, i;
	bool good = true;

	for_each_counted(c) {
		for (e = 0; e < EVENTS; e++) {
			for (i = 0; i < pmu.counters; i++)
				count(i, events[e].select | BOTH);
			run_window(c->run, pmu.all);
			for (i = 0; i < pmu.counters; i++)
				good &= expect(c, events[e].name, "same", rdpmc(i),
					       expected(c, events[e].select, BOTH));
		}
	}
	return good;
}

/* One counter alone, the only thing that is on. */
static bool alone(void)
{
	const struct counted_case *c;
	unsigned e, i;
	bool good = true;

	pmu_reset();
	for_each_counted(c) {
		for (e = 0; e < EVENTS; e++) {
			i = e % pmu.counters;
			count(i, events[e].select | BOTH);
			run_window(c->run, GP(i));
			good &= expect(c, events[e].name, "alone", rdpmc(i),
				       expected(c, events[e].select, BOTH));
			wrmsr(MSR_SELECT(i), 0);
		}
	}
	return good;
}

static bool with_bts(uint32_t bits)
{
	bool good;

	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	wrmsr(MSR_DEBUGCTL, bits);
	good = all_again();
	wrmsr(MSR_DEBUGCTL, 0);
	return good;
}

static uint64_t one(uint64_t select, void (*fn)(void))
{
	count(0, select);
	run_window(fn, GP(0));
	return rdpmc(0);
}

/* One line, with what it was where that is wrong. */
static void is(uint64_t got, uint64_t want, const char *what)
{
	if (got != want)
		say("# %u, want %u\n", got, want);
	ok(got == want, what);
}

/* E, INV and CMASK with what retires. */
static void modifiers(void)
{
	unsigned i;
	bool good = true;

	pmu_reset();
	is(one(NEAR_TAKEN | OS, runs), 7, "runs: seven jumps");
	is(one(NEAR_TAKEN | OS | EDGE, runs), 3, "E: three runs of them");
	is(one(CONDITIONAL | OS | EDGE, mixed), ROW / 4,
	   "E: two conditional jumps in a row are one");
	is(one(NOT_TAKEN | OS | EDGE, mixed), ROW / 4, "E: one in a row is one");
	ok(one(INSTRUCTIONS | OS | EDGE, nops) <= 1,
	   "E: instructions are one run");
	is(one(NEAR_TAKEN | OS | EDGE, jumps), 1, "E: a row of jumps is one");
	/* What is at a CPL that is not counted does not end a run. */
	is(one(FAR_BRANCH | USR | EDGE,
	       find_counted("INT3, INT n and exception at CPL 3")->run), 1,
	   "E: what is done at CPL 0 does not end a run at CPL 3");
	/* A fault is no instruction, and its handler is of another level. */
	is(one(INSTRUCTIONS | USR | EDGE, find_counted("page fault at CPL 3")->run),
	   1, "E: nor does a fault");
	is(one(NEAR_TAKEN | OS | EDGE, find_counted("HLT")->run), 0,
	   "E: nothing of nothing");

	good &= one(NEAR_TAKEN | OS | CMASK(1), runs) == 7;
	good &= one(NEAR_TAKEN | OS | EDGE | CMASK(1), runs) == 3;
	for (i = 2; i < 256; i = i * 3 / 2)
		good &= one(NEAR_TAKEN | OS | CMASK(i), runs) == 0 &&
			one(INSTRUCTIONS | OS | CMASK(i), runs) == 0;
	ok(good, "CMASK: 1 like 0, more than one never");
	is(one(NEAR_TAKEN | OS | INV, runs), 7, "INV without CMASK: no difference");
	is(one(NEAR_TAKEN | OS | INV | CMASK(1), runs), 0,
	   "INV with CMASK 1: nothing");
}

/* Read in mid-course, with other instructions of the same block around. */
static void read_running(void)
{
	uint32_t val[4], lo, hi, index = 0;

	pmu_reset();
	count(0, INSTRUCTIONS | OS);
	count(1, NEAR_TAKEN | OS);
	wrmsr(MSR_GLOBAL_CTRL, pmu.all);
	__asm__ volatile("rdpmc\n\t"
			 "mov %%eax, %0\n\t"
			 "nop; nop\n\t"
			 "rdpmc\n\t"
			 "mov %%eax, %1\n\t"
			 "mov $1, %%ecx\n\t"
			 "rdpmc\n\t"
			 "mov %%eax, %2\n\t"
			 ".byte 0xeb, 0, 0xeb, 0, 0xeb, 0\n\t"
			 "rdpmc\n\t"
			 "mov %%eax, %3"
			 : "=m"(val[0]), "=m"(val[1]), "=m"(val[2]), "=m"(val[3]),
			   "=a"(lo), "=d"(hi), "+c"(index));
	wrmsr(MSR_GLOBAL_CTRL, 0);
	is(val[1] - val[0], 4, "RDPMC sees all that is before it");
	is(val[3] - val[2], 3, "RDPMC sees branches as soon");

	/* The same by RDMSR, and what is written counts on. */
	wrmsr(MSR_GLOBAL_CTRL, pmu.all);
	__asm__ volatile("wrmsr\n\t"
			 "nop\n\t"
			 "rdmsr\n\t"
			 "mov %%eax, %0\n\t"
			 "nop; nop; nop\n\t"
			 "rdmsr\n\t"
			 "mov %%eax, %1"
			 : "=m"(val[0]), "=m"(val[1]), "=a"(lo), "=d"(hi)
			 : "c"(MSR_PMC(0)), "2"(1000), "3"(0));
	wrmsr(MSR_GLOBAL_CTRL, 0);
	is(val[0], 1001 + skew, "a counter that is written while it counts");
	is(val[1] - val[0], 5, "RDMSR sees all that is before it");

	pmu_reset();
	count(0, INSTRUCTIONS | OS);
	run_window(nops, GP(0));
	val[0] = rdpmc(0);
	run_window(nops, 0);
	val[1] = rdpmc(0);
	run_window(nops, GP(0));
	val[2] = rdpmc(0);
	wrmsr(MSR_SELECT(0), INSTRUCTIONS | OS);
	run_window(nops, GP(0));
	val[3] = rdpmc(0);
	ok(val[0] == val[1] && val[2] - val[1] == ROW + window_instructions &&
	   val[3] == val[2], "a counter that is off keeps its value");
	pmu_reset();
}

_Noreturn void guest_main(void)
{
	const struct counted_case *c;

	pmu_find();
	counted_gates();
	pmu_reset();
	for_each_counted(c)
		ok(check_all(c), "counts: %s", c->name);
	ok(all_again(), "all the same once more");
	ok(same_event(), "all counters with the same event");
	ok(alone(), "one counter alone");
	if (has_ds)
		ok(with_bts(ctl.tr | ctl.bts), "all the same with BTS on");
	if (has_ds_cpl) {
		ok(with_bts(ctl.tr | ctl.bts | ctl.off_os),
		   "all the same with BTS of CPL 3");
		ok(with_bts(ctl.tr | ctl.bts | ctl.off_usr),
		   "all the same with BTS of CPL 0");
	}
	modifiers();
	read_running();
	end();
}
