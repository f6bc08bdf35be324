// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which instruction leaves a record of PEBS, with what in it, and what comes
 * after it?  Prints a line "log pebs" for each record, as the emulator's log
 * is to have it.  PARAM is 1 under -icount shift=0.
 */
#include "pebs.h"

#define PATTERN 0xa5a5a5a5a5a5a5a5

struct pebs_record pebs_buffer[PEBS_RECORDS + 32] __attribute__((aligned(4096)));
static bool icount;

static struct pebs_record *record(unsigned n)
{
	return (struct pebs_record *)(ulong)ds_get(PEBS_BASE) + n;
}

static void fill(void)
{
	uint64_t *p = (uint64_t *)pebs_buffer;

	while (p < (uint64_t *)(pebs_buffer + PEBS_RECORDS + 32))
		*p++ = PATTERN;
}

/* Nothing is written from record @n on. */
static bool untouched_from(unsigned n)
{
	uint64_t *p = (uint64_t *)(pebs_buffer + n);

	while (p < (uint64_t *)(pebs_buffer + PEBS_RECORDS + 32))
		if (*p++ != PATTERN)
			return false;
	return true;
}

static void log_record(unsigned n)
{
	struct pebs_record *r = record(n);
	bool user = r->eventing_ip >= (ulong)user_begin &&
		    r->eventing_ip < (ulong)user_end;

	say("log pebs 0 %u %x %x %x\n", (uint64_t)(user ? 3 : 0),
	    (uint64_t)read_cr3(), r->eventing_ip, r->counters);
}

static void log_all(void)
{
	unsigned n;

	for (n = 0; n < pebs_count(); n++)
		log_record(n);
}

/* A row with one counter; all of its records are logged. */
static void prepare(unsigned records, unsigned threshold, uint32_t lvt)
{
	pmu_reset();
	expect_overflows(lvt);
	overflow_keeps_status = true;
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	pebs_setup((ulong)pebs_buffer, records, threshold);
	fill();
}

static void run(unsigned counter, uint64_t select, unsigned first,
		unsigned again, void (*fn)(void))
{
	prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
	pebs_counter(counter, select, first, again);
	run_window(fn, pmu.all);
	log_all();
}

static bool is_at(const char *what, unsigned n, ulong from, ulong to,
		  uint64_t counters)
{
	struct pebs_record *r = record(n);
	static unsigned shown;

	if (n < pebs_count() && r->eventing_ip == from && r->ip == to &&
	    r->counters == counters)
		return true;
	if (shown++ < 50)
		say("# %s: record %u of %u: 0x%x to 0x%x of %x, want 0x%x to 0x%x of %x\n",
		    what, (uint64_t)n, (uint64_t)pebs_count(), r->eventing_ip,
		    r->ip, r->counters, (uint64_t)from, (uint64_t)to, counters);
	return false;
}

/* Record @n is of event number @event in the row. */
static bool of_event(const char *what, unsigned n, const struct row *r,
		     unsigned event, uint64_t counters)
{
	ulong from = (ulong)r->row + r->size * (r->nth(event) - 1);

	return is_at(what, n, from, from + r->size, counters);
}

static bool sampled(unsigned counter, uint64_t select, const struct row *r,
		    unsigned first, unsigned again)
{
	unsigned n = 0, event;
	bool good = true;

	run(counter, select, first, again, r->fn);
	for (event = first + 1; r->nth(event) <= ROW; event += again + 1)
		good &= of_event("sampled", n++, r, event, GP(counter));
	/* The window's own instructions may have made one more. */
	return good && pebs_count() - n <= 4u / (again + 1) + 1 &&
	       untouched_from(pebs_count()) && nr_overflows == 0;
}

static void periods(void)
{
	unsigned first, again;
	bool good[6] = { true, true, true, true, true, true };

	for (first = 1; first < 8; first++) {
		for (again = 1; again < 8; again++) {
			good[0] &= sampled(0, INSTRUCTIONS | OS, &kernel_nops,
					   first, again);
			good[1] &= sampled(1, NEAR_TAKEN | OS, &kernel_jumps,
					   first, again);
			good[2] &= sampled(2, CONDITIONAL | OS, &conditionals,
					   first, again);
			good[3] &= sampled(3, NOT_TAKEN | OS, &not_takens,
					   first, again);
			good[4] &= sampled(0, INSTRUCTIONS | USR, &nops_at_3,
					   first, again);
			good[5] &= sampled(1, 0x04c4 | USR, &jumps_at_3,
					   first, again);
		}
	}
	ok(good[0], "the instruction after the one that overflows, and reload");
	ok(good[1], "the same of jumps");
	ok(good[2], "the same of conditional jumps, taken and not");
	ok(good[3], "the same of jumps that are not taken");
	ok(good[4], "the same of instructions at CPL 3");
	ok(good[5], "the same of branches at CPL 3");
}

/* Step by step: counting, overflown, recorded. */
static void steps(void)
{
	const unsigned jumps_in = ROW;
	bool good;

	run(0, NEAR_TAKEN | OS, jumps_in + 1, 7, jumps);
	good = pebs_count() == 0 && rdmsr(MSR_STATUS) == 0 &&
	       rdpmc(0) == pmu.mask;
	ok(good, "before it overflows: nothing");
	run(0, NEAR_TAKEN | OS, jumps_in, 7, jumps);
	good = pebs_count() == 0 && rdmsr(MSR_STATUS) == GP(0) && rdpmc(0) == 0;
	ok(good, "overflown: its bit of GLOBAL_STATUS, and no record");
	run_window(nothing, pmu.all);
	ok(pebs_count() == 0, "what is no such event makes no record");
	run_window(nops, 0);
	run_window(jumps, GP(1));
	ok(pebs_count() == 0 && rdmsr(MSR_STATUS) == GP(0),
	   "while it is not counted, neither");
	run_window(jumps, pmu.all);
	log_all();
	good = of_event("first", 0, &kernel_jumps, 1, GP(0)) &&
	       of_event("second", 1, &kernel_jumps, 9, GP(0));
	ok(good, "the next event makes the record, later, too");
	run(0, NEAR_TAKEN | OS, jumps_in - 1, 7, jumps);
	ok(pebs_count() == 1 && rdmsr(MSR_STATUS) == 0 &&
	   rdpmc(0) == ((uint64_t)-7 & pmu.mask),
	   "recorded: the bit is cleared, and the reset value loaded");
	run(0, NEAR_TAKEN | OS, 1, 0, jumps);
	ok(pebs_count() == 1 && rdpmc(0) == ROW - 2, "a reset value of 0");

	/* A value that is wider than the counter is cut to it. */
	prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
	pebs_counter(3, NEAR_TAKEN | OS, ROW - 1, 0);
	ds_set(PEBS_RESET + 3, 0x1234567812345678);
	run_window(jumps, pmu.all);
	log_all();
	ok(pebs_count() == 1 && rdpmc(3) == 0x567812345678,
	   "counter 3 has the fourth reset value");
}

/* What an addition of 1 leaves that is no carry. */
static uint32_t flags_of(uint8_t sum)
{
	uint32_t parity = sum ^ sum >> 4;

	parity ^= parity >> 2;
	parity ^= parity >> 1;
	return 2 | (parity & 1 ? 0 : 4) | (sum & 15 ? 0 : 16);
}

static void contents(void)
{
	struct pebs_record *r = pebs_buffer;
	uint64_t before, after;
	unsigned i;
	bool good = true;

	prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
	pebs_counter(0, NEAR_TAKEN | OS, 1, 1000);
	before = rdtsc();
	run_window(registers, pmu.all);
	after = rdtsc();
	log_all();
	ok(pebs_count() == 1 &&
	   is_at("registers", 0, (ulong)registers_jump, (ulong)registers_after, 1),
	   "record: IP, EventingIP and applicable counters");
	ok(r->ax == REGISTER(0) && r->bx == REGISTER(1) &&
	   r->cx == REGISTER(2) && r->dx == REGISTER(3) &&
	   r->si == REGISTER(4) && r->di == REGISTER(5) &&
	   r->bp == REGISTER(6) && r->sp == registers_sp,
	   "record: registers");
	for (i = 0; i < 8; i++) {
#ifdef __x86_64__
		good &= r->r[i] == (uint64_t)REGISTER((uint64_t)i + 8);
#else
		good &= r->r[i] == 0;
#endif
	}
	ok(good, "record: R8 to R15");
	ok(r->flags == REGISTER_FLAGS, "record: flags");
	ok(r->address == 0 && r->source == 0 && r->latency == 0 && r->tsx == 0,
	   "record: fields that are for others are 0");
	ok(before < r->tsc && r->tsc < after, "record: TSC");

	good = true;
	run(0, INSTRUCTIONS | OS, 5, 1, increments);
	for (i = 0; i < 20; i++)
		/* RAX is what the instruction leaves, not what it found. */
		good &= r[i].ax == (r[i].eventing_ip -
				    (ulong)increments_row) / 3 + 1 &&
			r[i].ip == r[i].eventing_ip + 3 &&
			r[i].flags == flags_of(r[i].ax) &&
			(!i || r[i].tsc >= r[i - 1].tsc);
	ok(good, "record: the state after the instruction");
	if (icount) {
		good = true;
		for (i = 1; i < 20; i++)
			good &= r[i].tsc - r[i - 1].tsc == 2;
		ok(good, "record: TSC at its very instruction");
	}

	run(0, INSTRUCTIONS | OS, 2 + skew, 1000, repeats);
	ok(pebs_count() == 1 &&
	   is_at("REP", 0, (ulong)repeats_after - 2, (ulong)repeats_after, 1) &&
	   r->cx == 0, "a repeated string instruction: one record, at its end");

	/* Crossings: of the level the instruction was at. */
	run(0, FAR_BRANCH | OS, 1, 1000, user_nops);
	ok(pebs_count() == 0 && rdmsr(MSR_STATUS) == GP(0),
	   "IRET overflows a counter of CPL 0; INT n is none there");
	run(0, FAR_BRANCH | BOTH, 1, 1000, user_nops);
	ok(pebs_count() == 1 &&
	   is_at("INT n", 0, (ulong)user_nops_row + ROW, (ulong)isr_close, 1),
	   "INT n, with what it leads to as IP");
	run(0, INSTRUCTIONS | USR, ROW, 1000, user_nops);
	ok(pebs_count() == 1 && is_at("INT n", 0, (ulong)user_nops_row + ROW,
				      (ulong)isr_close, 1),
	   "the same as an instruction of CPL 3");
}

static void enable_bits(void)
{
	bool good;

	prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
	pebs_counter(0, NEAR_TAKEN | OS, 5, 5);
	wrmsr(MSR_PEBS_ENABLE, 0);
	run_window(jumps, pmu.all);
	ok(pebs_count() == 0 && rdmsr(MSR_STATUS) == GP(0) &&
	   rdpmc(0) == ROW - 5, "without its bit of PEBS_ENABLE: no record");
	prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
	pebs_counter(0, NEAR_TAKEN | OS, 5, 5);
	wrmsr(MSR_PEBS_ENABLE, 0xf00000000 | 0xe);
	run_window(jumps, pmu.all);
	ok(pebs_count() == 0 && rdpmc(0) == ROW - 5,
	   "another counter's bit, or those of load latency: no record");
	prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
	pebs_counter(0, NEAR_TAKEN | OS, 5, 5);
	wrmsr(MSR_SELECT(0), NEAR_TAKEN | OS);
	run_window(jumps, pmu.all);
	good = pebs_count() == 0;
	wrmsr(MSR_SELECT(0), NEAR_TAKEN | USR | EN);
	run_window(jumps, pmu.all);
	good &= pebs_count() == 0 && rdmsr(MSR_STATUS) == 0;
	wrmsr(MSR_SELECT(0), NEAR_TAKEN | OS | EN);
	run_window(jumps, GP(1));
	ok(good && pebs_count() == 0, "a counter that is off: no record");

	/* A counter beside it, which overflows in the usual way. */
	prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
	pebs_counter(0, NEAR_TAKEN | USR, 5, 5);
	count(1, NEAR_TAKEN | USR | INT);
	set_counter(1, -20);
	run_window(user_jumps, pmu.all);
	log_all();
	ok(nr_overflows == 1 && overflows[0].status == GP(1) &&
	   overflows[0].ip == (ulong)user_jumps_row + 40 && pebs_count() == 3 &&
	   of_event("third", 2, &jumps_at_3, 18, GP(0)),
	   "another counter's interrupt between records");
}

static void threshold(uint32_t lvt, const char *as)
{
	volatile struct overflow *o = &overflows[0];
	unsigned t;
	bool good = true, level = true;

	for (t = 1; t < 8; t++) {
		prepare(PEBS_RECORDS, t, lvt);
		pebs_counter(0, NEAR_TAKEN | USR, 3, 2);
		overflow_counter = 0;
		run_window(user_jumps, pmu.all);
		log_all();
		good &= nr_overflows == 1 && pebs_count() == t &&
			o->ip == record(t - 1)->ip && o->cs == UCS_NATIVE &&
			o->status == OVF_BUF && o->lvt == (lvt | LVT_MASKED) &&
			o->counter == ((uint64_t)-2 & pmu.mask);
	}
	ok(good, "%s: right after the record that reaches the threshold", as);

	/* The handler leaves the index there: each record interrupts. */
	overflow_unmasks = true;
	prepare(PEBS_RECORDS, 3, lvt);
	window_after_pmi = pmu.all;
	pebs_counter(0, NEAR_TAKEN | USR, 3, 2);
	run_window(user_jumps, pmu.all);
	log_all();
	for (t = 3; t <= pebs_count(); t++)
		level &= overflows[t - 3].ip == record(t - 1)->ip;
	ok(level && pebs_count() == 1 + (ROW - 4) / 3 &&
	   nr_overflows == pebs_count() - 2, "%s: past the threshold, each", as);
	overflow_unmasks = false;
	window_after_pmi = 0;
}

static void drain(void)
{
	log_all();
	ds_set(PEBS_INDEX, ds_get(PEBS_BASE));
	wrmsr(MSR_STATUS_RESET, OVF_BUF);
}

/* A handler as it should be: none is lost, and none comes twice. */
static void drained(void)
{
	unsigned n;
	bool good = true;

	overflow_unmasks = true;
	prepare(4, 4, LVT_NMI);
	window_after_pmi = pmu.all;
	on_overflow = drain;
	pebs_counter(0, NEAR_TAKEN | USR, 1, 1);
	run_window(user_jumps, pmu.all);
	log_all();
	on_overflow = NULL;
	window_after_pmi = 0;
	overflow_unmasks = false;
	/* every second jump; every fourth record interrupts */
	for (n = 0; n < nr_overflows; n++)
		good &= overflows[n].ip == (ulong)user_jumps_row + 16 * (n + 1);
	ok(good && nr_overflows == ROW / 8 && pebs_count() == ROW / 2 % 4,
	   "a buffer that is drained at each interrupt");
}

static void as_vector(void)
{
	overflow_as_vector = true;
	case_flags = 0x200;
	__asm__ volatile("sti");
	threshold(VEC_PMI, "vector");
	__asm__ volatile("cli");
	case_flags = 0;
	overflow_as_vector = false;

	prepare(PEBS_RECORDS, 2, LVT_NMI | LVT_MASKED);
	pebs_counter(0, NEAR_TAKEN | OS, 3, 2);
	run_window(jumps, pmu.all);
	log_all();
	ok(nr_overflows == 0 && (rdmsr(MSR_STATUS) & OVF_BUF) &&
	   pebs_count() == 1 + (ROW - 4) / 3,
	   "masked: the status bit, and all records");
}

static void freeze(void)
{
	prepare(PEBS_RECORDS, 2, LVT_NMI);
	pebs_counter(0, NEAR_TAKEN | BOTH, 3, 2);
	count(1, NEAR_TAKEN | BOTH);
	overflow_counter = 1;
	wrmsr(MSR_DEBUGCTL, FREEZE_COUNTERS);
	run_window(user_jumps, pmu.all);
	wrmsr(MSR_DEBUGCTL, 0);
	log_all();
	ok(nr_overflows == 1 && overflows[0].counter == 7 &&
	   overflows[0].status == (OVF_BUF | CTR_FRZ) && pebs_count() == 2,
	   "PEBS's interrupt freezes as well");
}

static void bounds(void)
{
	unsigned n, odd;
	bool good = true, stays = true;

	for (n = 1; n < 6; n++) {
		for (odd = 0; odd < 3; odd++) {
			/* the SDM's "plus 1", and one byte short of another */
			static const unsigned more[] = { 0, 1, 199 };

			prepare(n, 100, LVT_NMI);
			ds_set(PEBS_MAXIMUM, ds_get(PEBS_MAXIMUM) + more[odd]);
			pebs_counter(0, NEAR_TAKEN | OS, 1, 1);
			run_window(jumps, pmu.all);
			log_all();
			good &= pebs_count() == n && untouched_from(n);
			stays &= rdmsr(MSR_STATUS) == GP(0);
		}
	}
	ok(good, "a record that does not fit is not written");
	ok(stays, "and the counter's bit of GLOBAL_STATUS stays");

	/* Room again: it is still armed. */
	ds_set(PEBS_INDEX, ds_get(PEBS_BASE));
	run_window(jumps, pmu.all);
	log_all();
	ok(of_event("room", 0, &kernel_jumps, 1, GP(0)) && pebs_count() == n - 1,
	   "the next event makes the record when there is room");

	prepare(0, 100, LVT_NMI);
	pebs_counter(0, NEAR_TAKEN | OS, 1, 1);
	run_window(jumps, pmu.all);
	ok(pebs_count() == 0 && untouched_from(0), "no room at all");
}

static void two_counters(void)
{
	unsigned n = 0, event;
	uint64_t both = 0;
	bool good = true;

	/* Instructions and jumps of the same row, never with one instruction. */
	prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
	pebs_counter(0, NEAR_TAKEN | USR, 2, 3);	/* 3, 7, 11 ... */
	pebs_counter(2, INSTRUCTIONS | USR, 4, 3);	/* 5, 9, 13 ... */
	run_window(user_jumps, pmu.all);
	log_all();
	for (event = 3; event <= ROW; event += 2, n++)
		good &= of_event("two", n, &jumps_at_3, event,
				 n % 2 ? GP(2) : GP(0));
	ok(good, "two counters: each its own records");

	/* With one: "applicable counters" tells. */
	prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
	pebs_counter(1, NEAR_TAKEN | USR, 6, 1000);
	pebs_counter(3, INSTRUCTIONS | USR, 6, 1000);
	run_window(user_jumps, pmu.all);
	log_all();
	good = pebs_count() == 1 && rdmsr(MSR_STATUS) == 0 &&
	       of_event("one", 0, &jumps_at_3, 7, GP(1) | GP(3)) &&
	       rdpmc(1) == (((uint64_t)-1000 + ROW - 7) & pmu.mask);
	for (n = 0; n < pebs_count(); n++)
		both |= record(n)->counters;
	ok(both == (GP(1) | GP(3)), "two counters with one instruction: both");
	ok(good, "two counters with one instruction: one record");
}

/* The same branch for both: PEBS first, and one interrupt. */
static void with_bts(void)
{
	unsigned i, n = 0;
	struct branch b;
	bool good;

	prepare(PEBS_RECORDS, 2, LVT_NMI);
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, 8);
	pebs_counter(0, NEAR_TAKEN | USR, 3, 3);	/* jumps 4 and 8 */
	wrmsr(MSR_DEBUGCTL, ctl.tr | ctl.bts | ctl.off_os);
	run_window(user_jumps, pmu.all);
	wrmsr(MSR_DEBUGCTL, 0);
	good = pebs_count() == 2 && nr_overflows == 1 &&
	       overflows[0].ip == (ulong)user_jumps_row + 16 &&
	       overflows[0].status == OVF_BUF;
	ok(good, "BTS and PEBS with one branch: one interrupt");
	/* Record 0 is the way to CPL 3; in and out of the interrupt are two. */
	for (i = 0; i < ds_count(); i++) {
		b = ds_record(i);
		if (n < pebs_count() && b.from == record(n)->eventing_ip)
			log_record(n++);
		say("log 0 %u %u %x %x %x\n",
		    (uint64_t)(b.from < (ulong)user_begin ? 0 : 3),
		    (uint64_t)(b.to < (ulong)user_begin ? 0 : 3),
		    (uint64_t)read_cr3(), b.from, b.to);
	}
	ok(n == 2 && ds_count() == ROW + 4, "and all their records");
}

static void straddle(void)
{
	unsigned at;
	bool good = true;

	for (at = 1; at < 200; at += at < 9 ? 1 : 7) {
		ulong base = (ulong)pebs_buffer + 4096 - 200 - at;
		unsigned n;

		prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
		pebs_setup(base, 16, 100);
		pebs_counter(0, INSTRUCTIONS | USR, 1, 1);
		run_window(user_nops, pmu.all);
		log_all();
		for (n = 0; n < 16; n++)
			good &= of_event("page end", n, &nops_at_3, 2 * n + 2, 1) &&
				record(n)->tsx == 0 && record(n)->tsc + 1 > 1 &&
				record(n)->sp == (ulong)user_stack;
		good &= pebs_count() == 16;
	}
	ok(good, "a record over a page end");

	/* The DS area itself: each of its fields. */
	static uint8_t pages[8192] __attribute__((aligned(4096)));

	good = true;
	for (at = 1; at < 0x60; at += 3) {
		pmu_reset();
		ds_setup((ulong)pages + 4096 - at, (ulong)bts_buffer, 16, NEVER);
		pebs_setup((ulong)pebs_buffer, 16, 100);
		pebs_counter(0, INSTRUCTIONS | USR, 1, 2);
		run_window(user_nops, pmu.all);
		log_all();
		good &= pebs_count() == 16;
		for (unsigned n = 0; n < 16; n++)
			good &= of_event("area", n, &nops_at_3, 3 * n + 2, 1);
	}
	ok(good, "a DS area over a page end");
}

static void high_area(void)
{
#ifdef __x86_64__
	bool good;

	prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
	ds_setup(ALIAS + (ulong)ds_area, ALIAS + (ulong)bts_buffer, RECORDS,
		 NEVER);
	pebs_setup(ALIAS + (ulong)pebs_buffer, PEBS_RECORDS, 2 * PEBS_RECORDS);
	pebs_counter(0, INSTRUCTIONS | USR, 1, 9);
	run_window(user_nops, pmu.all);
	log_all();
	good = pebs_count() == 10;
	for (unsigned n = 0; n < 10; n++)
		good &= of_event("high", n, &nops_at_3, 10 * n + 2, 1);
	ok(good, "DS area and buffer past 4 GiB");
#endif
}

/* Linux's cycles:pp: the record is the next instruction's. */
static void cycles(void)
{
	const uint64_t select = 0x01c0 | INV | CMASK(16);
	struct pebs_record *r = pebs_buffer;
	volatile uint64_t *index = (uint64_t *)(ds_area + 8 * PEBS_INDEX);
	unsigned first, n;
	long late = 0;
	bool good;

	prepare(PEBS_RECORDS, 2 * PEBS_RECORDS, LVT_NMI);
	pebs_counter(0, select | OS, 100000, 100000);
	wrmsr(MSR_GLOBAL_CTRL, pmu.all);
	while (*index < (ulong)(pebs_buffer + 3))
		;
	wrmsr(MSR_GLOBAL_CTRL, 0);
	log_all();
	good = r[0].tsc < r[1].tsc && r[1].tsc - r[0].tsc >= 100000 &&
	       r[2].tsc - r[1].tsc >= 100000 && r[0].counters == 1;
	ok(good && nr_overflows == 0, "cycles: records");

	prepare(PEBS_RECORDS, 1, LVT_NMI);
	pebs_counter(0, select | OS, 1000, 1u << 31);
	wrmsr(MSR_GLOBAL_CTRL, pmu.all);
	while (!nr_overflows)
		;
	log_all();
	ok(nr_overflows == 1 && overflows[0].status == OVF_BUF &&
	   overflows[0].ip == r[0].ip, "cycles: the interrupt right after the record");
	pmu_reset();
	if (!icount)
		return;

	good = true;
	for (first = 2; first < 60; first++) {
		run(0, select | OS, first, 9, nops);
		if (first == 2)
			late = (long)r[0].eventing_ip - (long)nops_row - 2;
		for (n = 0; n < 4; n++) {
			ulong at = (ulong)nops_row + first + 10 * n + late;

			good &= is_at("cycles", n, at, at + 1, 1);
		}
	}
	ok(good && (late == 0 || late == -1),
	   "cycles: the instruction after the tick that overflows");
	good = true;
	for (first = 1; first < 60; first++) {
		run(0, select | USR, first, 9, user_nops);
		for (n = 0; n < 4; n++) {
			ulong at = (ulong)user_nops_row + first + 10 * n;

			good &= is_at("cycles", n, at, at + 1, 1);
		}
	}
	ok(good, "cycles: the same at CPL 3");
}

_Noreturn void guest_main(void)
{
	icount = param();
	pmu_find();
	set_gate(2, isr_overflow, 0, 0);
	set_gate(VEC_PMI, isr_overflow, 0, 0);
	set_gate(VEC_LEAVE, isr_close, 3, 0);
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	periods();
	steps();
	contents();
	enable_bits();
	threshold(LVT_NMI, "NMI");
	drained();
	as_vector();
	freeze();
	bounds();
	two_counters();
	with_bts();
	straddle();
	high_area();
	cycles();
	end();
}
