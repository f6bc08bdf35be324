// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do cycles go by with the time-stamp counter, while the processor is not
 * halted and at the privilege level asked for?  PARAM is 1 under -icount
 * shift=0: one tick is one instruction then, and all is exact.
 */
#include "pmu-cases.h"

static bool icount;

/* What counts cycles: three counters of one's own and two events. */
static const struct {
	const char *name;
	uint32_t index;			/* RDPMC's */
	uint32_t select;
} cycles[] = {
	{ "fixed counter 1", RDPMC_FIXED(1), 0 },
	{ "fixed counter 2", RDPMC_FIXED(2), 0 },
	{ "event 3C/00", 0, CYCLES },
	{ "event 3C/01", 1, 0x013c },
};
#define KINDS 4

static void count_cycles(unsigned kind, uint64_t filter)
{
	uint64_t bits = (filter & OS ? FIXED_OS : 0) |
			(filter & USR ? FIXED_USR : 0);

	if (cycles[kind].select) {
		count(cycles[kind].index, cycles[kind].select | filter);
		return;
	}
	wrmsr(MSR_FIXED(kind + 1), 0);
	wrmsr(MSR_FIXED_CTRL, (rdmsr(MSR_FIXED_CTRL) &
			       ~FIXED_FIELD(kind + 1, 15)) |
			      FIXED_FIELD(kind + 1, bits));
}

static void loop(void)
{
	volatile unsigned i;

	for (i = 0; i < 1000; i++)
		barrier();
}

static void repeat(void)
{
	static uint8_t buffer[5000];
	void *to = buffer;
	ulong n = sizeof(buffer);

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

static void device(void)
{
	lapic_read(LAPIC_SVR);
	lapic_read(LAPIC_SVR);
}

static void exception(void)
{
	__asm__ volatile("nop; ud2; nop");
}

/* What there is for time to pass with. */
static const struct {
	const char *name;
	void (*fn)(void);
} works[] = {
	{ "a loop", loop },
	{ "a repeated string instruction", repeat },
	{ "a device's memory", device },
	{ "an exception", exception },
};
#define WORKS (sizeof(works) / sizeof(works[0]))

struct pair { uint64_t counter, tsc; };

/* RDTSC follows RDPMC at once, in one block: the distance is always the same. */
static struct pair counter_then_tsc(uint32_t index)
{
	uint32_t lo, hi, tsc_lo, tsc_hi;

	__asm__ volatile("rdpmc\n\t"
			 "mov %%eax, %0\n\t"
			 "mov %%edx, %1\n\t"
			 "rdtsc"
			 : "=&r"(lo), "=&r"(hi), "=&a"(tsc_lo), "=&d"(tsc_hi)
			 : "c"(index) : "memory");
	return (struct pair){ (uint64_t)hi << 32 | lo,
			      (uint64_t)tsc_hi << 32 | tsc_lo };
}

static bool exactly_tsc(uint32_t index, const char *name, unsigned work)
{
	struct pair before = counter_then_tsc(index), after;

	works[work].fn();
	after = counter_then_tsc(index);
	if (after.counter - before.counter == after.tsc - before.tsc)
		return true;
	say("# %s, %s: %u, time-stamp counter: %u\n", name, works[work].name,
	    after.counter - before.counter, after.tsc - before.tsc);
	return false;
}

static bool at_most_tsc(uint32_t index, unsigned work)
{
	uint64_t tsc = rdtsc(), counter = rdpmc(index);

	works[work].fn();
	counter = rdpmc(index) - counter;
	tsc = rdtsc() - tsc;
	return counter && counter <= tsc;
}

static void against_tsc(void)
{
	unsigned i, w;

	pmu_reset();
	for (i = 0; i < KINDS; i++)
		count_cycles(i, OS);
	wrmsr(MSR_GLOBAL_CTRL, pmu.all);
	for (i = 0; i < KINDS; i++) {
		uint32_t index = cycles[i].index;
		bool good = true;

		for (w = 0; w < WORKS; w++)
			good &= icount ? exactly_tsc(index, cycles[i].name, w)
				       : at_most_tsc(index, w);
		ok(good, "%s: %s the time-stamp counter", cycles[i].name,
		   icount ? "exactly" : "not more than");
	}
	/* Written while it counts: it goes on from there. */
	for (i = 0; i < KINDS; i++) {
		uint64_t seen[2];

		count_cycles(i, OS);
		wrmsr(MSR_GLOBAL_CTRL, pmu.all);
		loop();
		if (cycles[i].select)
			wrmsr(MSR_PMC(cycles[i].index), 0x10000000);
		else
			wrmsr(MSR_FIXED(i + 1), 0x10000000);
		seen[0] = rdpmc(cycles[i].index);
		seen[1] = rdpmc(cycles[i].index);
		wrmsr(MSR_GLOBAL_CTRL, 0);
		ok(seen[0] > 0x10000000 && seen[1] > seen[0] &&
		   (!icount || seen[0] < 0x10000000 + 100),
		   "%s: is written while it counts", cycles[i].name);
		seen[0] = rdpmc(cycles[i].index);
		loop();
		ok(seen[0] > seen[1] && rdpmc(cycles[i].index) == seen[0],
		   "%s: stops", cycles[i].name);
	}

	pmu_reset();
	if (!icount)
		return;
	count(0, INSTRUCTIONS | OS);
	wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(0, FIXED_OS));
	wrmsr(MSR_GLOBAL_CTRL, pmu.all);
	ok(exactly_tsc(0, "PMC0", 0) &&
	   exactly_tsc(RDPMC_FIXED(0), "FIXED_CTR0", 0) &&
	   exactly_tsc(0, "PMC0", 2),
	   "instructions: exactly the time-stamp counter");
	pmu_reset();
}

/* All see the same clock at the same instants, so sums are exact. */
static bool adds_up(const struct counted_case *c, unsigned kind, uint32_t event)
{
	uint64_t total;
	bool good;

	count_cycles(kind, BOTH);
	count(0, event | OS);
	count(1, event | USR);
	run_window(c->run, pmu.all);
	total = rdpmc(cycles[kind].index);
	good = total && total == rdpmc(0) + rdpmc(1) &&
	       !rdpmc(1) == !c->at[1].insns;
	if (!good)
		say("# %s: %u, kernel %u, user %u\n", c->name, total, rdpmc(0),
		    rdpmc(1));
	return good;
}

#ifdef __x86_64__
/*
 * Where #GP of a return is raised, before the change of level or after it, is
 * TCG's to get wrong; time is to go by at one of them all the same.
 */
void far_away(void);
__asm__(".text\n"
	"far_away:\n"
	"	movq $2f, gp_fixup\n"
	"	push $0x2b; push $user_stack; push $2; push $0x33\n"
	"	movabs $1 << 47, %rbx\n"
	"	push %rbx\n"
	"	mov $0x38f, %ecx; mov window, %eax; mov window + 4, %edx; wrmsr\n"
	"	iretq\n"
	"	.section .user, \"ax\"\n"
	"2:	int $0x80\n"
	"	.text\n");
static const struct counted_case far_away_case = {
	.name = "IRET to a non-canonical address", .run = far_away,
	.at = { { .insns = 1 }, { .insns = 1 } },
};
#endif

static void levels(void)
{
	const struct counted_case *c;
	bool good = true;

	pmu_reset();
	for_each_counted(c)
		good &= adds_up(c, 0, CYCLES) & adds_up(c, 1, 0x013c);
#ifdef __x86_64__
	good &= adds_up(&far_away_case, 0, CYCLES);
#endif
	ok(good, "cycles at CPL 0 and at CPL 3 are all cycles");
	pmu_reset();
}

/*
 * Those where each instruction that retires is one tick, and nothing else is.
 * With REP each turn is one, and under TCG some of what faults, or traps in the
 * middle of a block.
 */
static const char *const plain[] = {
	"nothing", "to CPL 3 and back", "ten instructions",
	"5000 in a row, on two pages", "near jumps", "calls and returns",
	"conditional jumps", "all conditions", "a loop of 10,000 turns",
	"a loop that calls, 1000 times", "loop, loope, loopne, jcxz",
	"INT n and INT3", "far jump, call and return", "hardware interrupt",
	"NMI", "PAUSE", "HLT", "MOV SS and STI, and what they protect",
	"instructions of the system", "branches at CPL 3",
	"hardware interrupt at CPL 3", "far return to CPL 3",
	"call gate from CPL 3", "far call and return at CPL 3",
	"SYSENTER and SYSEXIT",
#ifdef __x86_64__
	"SYSCALL and SYSRET", "compatibility mode: SYSRET",
	"code at full 64-bit addresses",
#endif
};

static void ticks(void)
{
	unsigned i;
	bool good = true;

	if (!icount)
		return;
	pmu_reset();
	for (i = 0; i < 2 * sizeof(plain) / sizeof(plain[0]); i++) {
		const struct counted_case *c = find_counted(plain[i / 2]);
		uint32_t kernel = c->at[0].insns + window_instructions;
		uint32_t user = c->at[1].insns;

		count(0, CYCLES | OS);
		count(1, CYCLES | USR);
		run_window(c->run, pmu.all);
		if (rdpmc(0) != kernel || rdpmc(1) != user) {
			say("# %s: %u at CPL 0, %u at CPL 3, want %u, %u\n",
			    c->name, rdpmc(0), rdpmc(1), (uint64_t)kernel,
			    (uint64_t)user);
			good = false;
		}
	}
	ok(good, "a cycle for each instruction, at its privilege level");
	pmu_reset();
}

/*
 * What was not halted of a time that was.  Without icount the processor may
 * be late to halt, or its time-stamp counter slower than the timer: so one
 * success is enough.
 */
static void halted(void)
{
	const uint32_t ns = 1000000;
	unsigned i, tries = icount ? 2 : 200, successes = 0, k;

	for (i = 0; i < tries; i++) {
		uint64_t tsc, most = 0;

		pmu_reset();
		for (k = 0; k < KINDS; k++)
			count_cycles(k, BOTH);
		timer(ns);
		tsc = rdtsc();
		run_window(halt, pmu.all);
		tsc = rdtsc() - tsc;
		for (k = 0; k < KINDS; k++)
			if (rdpmc(cycles[k].index) > most)
				most = rdpmc(cycles[k].index);
		if (icount)		/* STI, HLT, CLI and isr_ipi */
			successes += most == 3 + 5 + window_instructions &&
				     tsc > ns / 2;
		else if (most + ns / 2 < tsc)
			successes++;
		if (!icount && successes)
			break;
	}
	ok(successes == (icount ? tries : 1), "halted time is not counted");

	/* Halted at both ends of what is counted by another level. */
	pmu_reset();
	count(0, CYCLES | USR);
	timer(ns);
	run_window(halt, pmu.all);
	ok(rdpmc(0) == 0, "nor is it at another privilege level");
	pmu_reset();
}

static uint64_t wake_ups(uint64_t select, unsigned n)
{
	unsigned i;

	count(0, select);
	wrmsr(MSR_GLOBAL_CTRL, GP(0));
	for (i = 0; i < n; i++) {
		timer(10000);
		__asm__ volatile("sti; hlt; cli");
	}
	wrmsr(MSR_GLOBAL_CTRL, 0);
	return rdpmc(0);
}

/* E counts the entries into what is counted; CMASK and INV ask for the rest. */
static void modifiers(void)
{
	const struct counted_case *c =
		find_counted("INT3, INT n and exception at CPL 3");
	uint64_t base;
	unsigned i;
	bool good = true;

	pmu_reset();
	count(0, CYCLES | USR | EDGE);
	run_window(c->run, pmu.all);
	ok(rdpmc(0) == 4, "E: four times at CPL 3");
	count(0, CYCLES | USR | EDGE | CMASK(1));
	run_window(c->run, pmu.all);
	ok(rdpmc(0) == 4, "E with CMASK 1: the same");
	base = wake_ups(CYCLES | OS | EDGE, 0);
	ok(base <= 1 && wake_ups(CYCLES | OS | EDGE, 5) == base + 5,
	   "E: each wake-up");

	/* Beside one without, at the same time: Linux's cycles:pp is the last. */
	for (i = 0; i < 2; i++) {
		uint32_t event = i ? 0x01c0 : CYCLES;
		uint64_t want;

		pmu_reset();
		wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(1, 3));
		count(0, event | BOTH | INV | CMASK(16));
		count(1, event | BOTH | INV | CMASK(2));
		run_window(c->run, pmu.all);
		want = rdmsr(MSR_FIXED(1));
		good = want && rdpmc(0) == want && rdpmc(1) == want;
		wrmsr(MSR_FIXED(1), 0);
		wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(1, FIXED_USR));
		count(0, event | USR | INV | CMASK(255));
		count(1, event | USR | INV | CMASK(16));
		run_window(c->run, pmu.all);
		want = rdmsr(MSR_FIXED(1));
		good &= want && rdpmc(0) == want && rdpmc(1) == want;
		ok(good, "INV, CMASK > 1: all cycles, of event %x/%x",
		   (uint64_t)(event & 0xff), (uint64_t)(event >> 8));
	}

	pmu_reset();
	wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(1, 3));
	count(0, CYCLES | BOTH | CMASK(1));
	count(1, CYCLES | BOTH | CMASK(2));
	run_window(c->run, pmu.all);
	ok(rdpmc(0) == rdmsr(MSR_FIXED(1)) && rdpmc(1) == 0,
	   "CMASK: 1 like 0, more than one never");
	count(0, CYCLES | BOTH | INV);
	count(1, CYCLES | BOTH | INV | CMASK(1));
	wrmsr(MSR_FIXED(1), 0);
	run_window(c->run, pmu.all);
	ok(rdpmc(0) == rdmsr(MSR_FIXED(1)) && rdpmc(1) == 0,
	   "INV: nothing with CMASK 1, no difference without");

	/* No processor is halted for them. */
	pmu_reset();
	count(0, 0x01c0 | BOTH | INV | CMASK(16));
	wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(1, 3));
	timer(100000);
	run_window(halt, pmu.all);
	ok(rdpmc(0) == rdmsr(MSR_FIXED(1)), "INV, CMASK > 1: not while halted");
	pmu_reset();
}

_Noreturn void guest_main(void)
{
	icount = param();
	pmu_find();
	counted_gates();
	against_tsc();
	levels();
	ticks();
	halted();
	modifiers();
	end();
}
