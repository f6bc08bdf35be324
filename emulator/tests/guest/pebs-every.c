// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does every kind of instruction leave a record with the right addresses?
 * Each case of pmu-cases.S has one made by every instruction, in two runs that
 * take turns.  Where one goes to, the next comes from, if nothing interrupts.
 */
#include "pebs.h"
#include "pmu-cases.h"

#define MOST 250

static struct pebs_record records[2][MOST + 6];
static bool pure;

static bool starts_with(const char *s, const char *start)
{
	while (*start && *s == *start)
		s++, start++;
	return !*start;
}

/* Where interrupts and exceptions go. */
static bool is_handler(uint64_t addr)
{
	return addr == (ulong)isr_ud || addr == (ulong)isr_gp ||
	       addr == (ulong)isr_ipi || addr == (ulong)isr_map ||
	       addr == (ulong)isr_step_over || addr == (ulong)isr_iret;
}

static unsigned run(const struct counted_case *c, unsigned first)
{
	pmu_reset();
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	pebs_setup((ulong)records[first - 1], MOST / 2 + 2, MOST);
	pebs_counter(0, INSTRUCTIONS | BOTH, first, 1);
	run_window(c->run, pmu.all);
	return pebs_count();
}

/* The level that a case says how many instructions of are at. */
static bool at_user(const struct pebs_record *r)
{
	return r->eventing_ip >= (ulong)user_begin &&
	       r->eventing_ip < (ulong)user_end;
}

static bool check(const struct counted_case *c)
{
	unsigned n[2], total, i, user = 0, jumps = 0;
	unsigned want = c->at[0].insns + c->at[1].insns + window_instructions;
	bool good;

	/* Of the first instruction, which overflows, there is no record. */
	n[0] = run(c, 1);
	n[1] = run(c, 2);
	total = n[0] + n[1];
	good = total == want - 1;
	for (i = 0; good && i < total; i++) {
		const struct pebs_record *r = &records[i % 2][i / 2];
		const struct pebs_record *next = &records[(i + 1) % 2][(i + 1) / 2];

		user += at_user(r);
		if (r->counters != 1)
			good = false;
		if (i + 1 < total && r->ip != next->eventing_ip) {
			if (!is_handler(next->eventing_ip)) {
				say("# %s: %u: 0x%x to 0x%x, then from 0x%x\n",
				    c->name, (uint64_t)i, r->eventing_ip, r->ip,
				    next->eventing_ip);
				good = false;
			}
			jumps++;
		}
	}
	if (user != c->at[1].insns)
		good = false;
	if (!good)
		say("# %s: %u records, want %u; %u of CPL 3, want %u\n", c->name,
		    (uint64_t)total, (uint64_t)want - 1, (uint64_t)user,
		    (uint64_t)c->at[1].insns);
	pure = jumps == 0;
	return good;
}

_Noreturn void guest_main(void)
{
	static const char *const interrupted[] = {
		"an interrupt in", "page fault", "an instruction of which",
		"exceptions", "#GP", "single step", "an instruction breakpoint",
		"a data breakpoint", "hardware interrupt", "NMI", "HLT", "MWAIT",
		"INT3, INT n and exception",
	};
	const struct counted_case *c;
	unsigned i;

	pmu_find();
	counted_gates();
	for_each_counted(c) {
		bool may = false, good;

		if (c->at[0].insns + c->at[1].insns > MOST)
			continue;
		for (i = 0; i < sizeof(interrupted) / sizeof(interrupted[0]); i++)
			may |= starts_with(c->name, interrupted[i]);
		good = check(c);
		ok(good && pure == !may, "records: %s", c->name);
	}
	end();
}
