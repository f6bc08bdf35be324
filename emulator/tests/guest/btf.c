// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * With IA32_DEBUGCTL.BTF and EFLAGS.TF: does #DB come after each taken branch
 * and at no other place?  Each case is stepped that way through CPL 0 and 3.
 * Where it is to stop follows from the branches it is expected to take; so do
 * the records when the store is on as well.
 */
#include "guest.h"

#define TF		0x100
#define BTF		2
#define DR6_NOTHING	0xffff0ff0
#define DR6_BS		0x4000
#define DR6_ANY		15ul		/* may be set for what is not enabled */
#define MAX_STOPS	100

static struct stop {
	ulong ip;
	ulong dr6;
	uint32_t debugctl;
	unsigned cpl;
} stops[MAX_STOPS];
static unsigned nr_stops;
static bool step_on_branches;

static ulong linear(const struct step_frame *frame)
{
#ifndef __x86_64__
	if (frame->flags & 1 << 17)
		return (frame->cs << 4) + frame->ip;
	if (frame->cs == BASED_SEL)
		return 0x1000 + frame->ip;
#endif
	return frame->ip;
}

static bool after_wrmsr(ulong ip)
{
	const uint8_t *p = (const uint8_t *)ip;

	return p[-2] == 0x0f && p[-1] == 0x30;
}

/* WRMSR is how a case ends: it leaves BTF off, and so is a stop as well. */
uint32_t step(struct step_frame *frame, uint32_t now)
{
	struct stop stop = { .ip = linear(frame), .debugctl = now };

	__asm__ volatile("mov %%dr6, %0" : "=r"(stop.dr6));
	__asm__ volatile("mov %0, %%dr6" : : "r"((ulong)DR6_NOTHING));
	stop.cpl = frame->cs & 3;
#ifndef __x86_64__
	if (frame->flags & 1 << 17)
		stop.cpl = 3;
#endif
	if (nr_stops == MAX_STOPS || after_wrmsr(stop.ip)) {
		frame->flags &= ~(ulong)TF;
		return 0;
	}
	stops[nr_stops++] = stop;
	return step_on_branches ? now | BTF : now;
}

static bool is_handler(uint64_t addr)
{
#ifdef __x86_64__
	if (addr >= ALIAS)
		addr -= ALIAS;
#endif
	return (addr >= (ulong)isr_leave && addr < (ulong)vector_stubs) ||
	       addr == (ulong)isr_nmi;
}

/*
 * Interruptions are no instructions, and clear TF; a return from one has TF
 * set only for what follows it.  SYSCALL clears TF before it would stop, and
 * SYSRET stops for the TF it sets.  All else leaves TF alone.
 */
static bool stops_after(const struct branch *b)
{
	extern char isr_sysenter[];
#ifdef __x86_64__
	extern char isr_syscall[];

	if (b->to == (ulong)isr_syscall)
		return false;
#endif
	if (is_handler(b->from))
		return false;
	return !is_handler(b->to) || b->from == (ulong)isr_gate ||
	       b->from == (ulong)isr_sysenter;
}

static bool check_stop(const char *what, unsigned n, uint64_t ip, unsigned cpl,
		       uint32_t bits)
{
	struct stop *s = &stops[n];

	if (n < nr_stops && s->ip == ip && s->cpl == cpl &&
	    (s->dr6 & ~DR6_ANY) == (DR6_NOTHING | DR6_BS) &&
	    s->debugctl == bits)
		return true;
	say("# %s: stop %u of %u at 0x%x, CPL %u, want 0x%x, %u; DR6 0x%x, DEBUGCTL 0x%x\n",
	    what, (uint64_t)n, (uint64_t)nr_stops, (uint64_t)s->ip,
	    (uint64_t)s->cpl, ip, (uint64_t)cpl, (uint64_t)s->dr6,
	    (uint64_t)s->debugctl);
	return false;
}

static bool check_record(const char *what, unsigned *n, uint64_t from,
			 uint64_t to, unsigned cpls, uint32_t bits)
{
	struct branch r, want = { .from = from, .to = to, .cpls = cpls };

	if (!stored(&want, bits))
		return true;
	r = ds_record(*n);
	if (*n < ds_count() && r.from == from && r.to == to) {
		++*n;
		return true;
	}
	say("# %s: record %u of %u is %x %x, want %x %x\n", what, (uint64_t)*n,
	    (uint64_t)ds_count(), r.from, r.to, from, to);
	return false;
}

static bool step_through(const struct bts_case *c, uint32_t bits)
{
	const struct branch *b;
	unsigned n = 0, records = 0;
	bool good;

	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	nr_stops = 0;
	step_on_branches = true;
	case_flags = TF;
	step_target = c->run;
	debugctl = bits | BTF;
	wrmsr(MSR_DEBUGCTL, BTF);
	run_case(step_case);
	wrmsr(MSR_DEBUGCTL, 0);
	case_flags = 0;

	/* The jump to the case, when the store is not yet on. */
	good = check_stop(c->name, n++, (ulong)c->run, 0, 0);
	for (b = c->expect; good && b < c->expect_end; b++) {
		unsigned cpl = CPL_AFTER(b);

		good = check_record(c->name, &records, b->from, b->to, b->cpls,
				    bits);
		if (!good || !stops_after(b))
			continue;
		/* The branch has its record first, then #DB and its return. */
		good = check_stop(c->name, n++, b->to, cpl, bits) &&
		       check_record(c->name, &records, b->to, (ulong)isr_step,
				    cpl << 4, bits) &&
		       check_record(c->name, &records, (ulong)isr_step_iret,
				    b->to, cpl, bits);
	}
	if (good && (n != nr_stops || records != ds_count())) {
		say("# %s: %u stops, want %u; %u records, want %u\n", c->name,
		    (uint64_t)nr_stops, (uint64_t)n, (uint64_t)ds_count(),
		    (uint64_t)records);
		good = false;
	}
	return good;
}

static bool starts_with(const char *s, const char *start)
{
	while (*start && *s == *start)
		s++, start++;
	return !*start;
}

/* Those that step by themselves, and what TCG gets wrong with TF alone. */
static bool left_out(const struct bts_case *c)
{
	return starts_with(c->name, "single step") ||
	       starts_with(c->name, "branch to an address that is not") ||
	       starts_with(c->name, "branches to an address that is not");
}

static void all_cases(void)
{
	const uint32_t bts = ctl.tr | ctl.bts;
	const struct {
		const char *what;
		uint32_t bits;
		bool exists;
	} rows[] = {
		{ "recording all", bts, true },
		{ "recording CPL > 0", bts | ctl.off_os, ctl.off_os },
		{ "recording CPL 0", bts | ctl.off_usr, ctl.off_usr },
		{ "TR alone", ctl.tr, true },
	};
	const struct bts_case *c;
	unsigned i;

	for (c = cases_begin; c < cases_end; c++)
		if (!left_out(c))
			ok(step_through(c, 0), "stops: %s", c->name);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool good = true;

		if (!rows[i].exists)
			continue;
		for (c = cases_begin; c < cases_end; c++)
			if (!left_out(c))
				good &= step_through(c, rows[i].bits);
		ok(good, "stops and records, %s", rows[i].what);
	}
}

extern char straight[], straight_rep[], straight_end[];
__asm__(".text\n"
	"straight:\n"
	"	nop\n"
	"	mov $3, %ecx\n"
	"	mov $stepped, %edi\n"
	"straight_rep:\n"
	"	rep stosb\n"
	"	stc\n"
	"	jnc straight\n"
	"straight_end:\n"
	"	mov $0x1d9, %ecx\n"
	"	xor %eax, %eax\n"
	"	xor %edx, %edx\n"
	"	wrmsr\n"
	"	ret\n");
char stepped[8];

static unsigned run_straight(uint32_t bits, void (*by)(void))
{
	nr_stops = 0;
	step_on_branches = false;
	step_target = (void (*)(void))straight;
	wrmsr(MSR_DEBUGCTL, bits);
	run_case(by);
	wrmsr(MSR_DEBUGCTL, 0);
	return nr_stops;
}

static void other(void)
{
	unsigned i, reps = 0, ends = 0;

	run_straight(0, step_case);
	for (i = 0; i < nr_stops; i++) {
		reps += stops[i].ip == (ulong)straight_rep;
		ends += stops[i].ip == (ulong)straight_end;
	}
	/* The start of REP, and two turns; under icount the last as well. */
	ok(stops[0].ip == (ulong)straight && stops[1].ip == (ulong)straight + 1 &&
	   reps >= 3 && ends == 1,
	   "TF without BTF: stops after each instruction, and turn of REP");

	run_straight(BTF, step_case);
	for (i = 0, ends = 0; i < nr_stops; i++)
		ends += stops[i].ip == (ulong)straight_end;
	ok(stops[0].ip == (ulong)straight && stops[1].ip == (ulong)straight + 1 &&
	   ends == 1, "BTF is for one #DB: then TF goes by instruction again");

	ok(run_straight(BTF, (void (*)(void))straight) == 0,
	   "BTF without TF: no stop");
}

_Noreturn void guest_main(void)
{
	set_gate(1, isr_step, 0, 0);
	set_gate(2, isr_nmi, 0, 0);
	all_cases();
	other();
	end();
}
