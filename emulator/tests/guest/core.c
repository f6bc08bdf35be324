// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does every kind of branch get its record, in every row of the control
 * table?  Also: what the MSRs accept, and the shape of the buffer.
 */
#include "guest.h"

/* What the bits of IA32_DEBUGCTL do together ("Branch Trace Store (BTS)"). */
static void control_table(void)
{
	static const struct {
		const char *what;
		bool tr, bts, off_os, off_usr, btint;
	} rows[] = {
		{ "TR=0: nothing", 0, 0, 0, 0, 0 },
		{ "TR=0 BTS=1: nothing", 0, 1, 0, 0, 0 },
		{ "TR=0, all others 1: nothing", 0, 1, 1, 1, 1 },
		{ "TR=1 BTS=0: nothing stored", 1, 0, 0, 0, 0 },
		{ "TR=1 BTS=0 BTINT=1: nothing stored", 1, 0, 0, 0, 1 },
		{ "TR=1 BTS=1: every taken branch", 1, 1, 0, 0, 0 },
		{ "... OFF_OS=1: CPL > 0 and crossings", 1, 1, 1, 0, 0 },
		{ "... OFF_USR=1: CPL 0 and crossings", 1, 1, 0, 1, 0 },
		{ "... OFF_OS=1 OFF_USR=1: nothing stored", 1, 1, 1, 1, 0 },
		{ "... BTINT=1: every taken branch", 1, 1, 0, 0, 1 },
		{ "... BTINT=1 OFF_OS=1: CPL > 0 and crossings", 1, 1, 1, 0, 1 },
		{ "... BTINT=1 OFF_USR=1: CPL 0 and crossings", 1, 1, 0, 1, 1 },
		{ "... BTINT=1, both OFF: nothing stored", 1, 1, 1, 1, 1 },
	};
	const struct bts_case *c;
	uint32_t bits;
	unsigned i;
	bool good;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if ((rows[i].off_os || rows[i].off_usr) && !ctl.off_os)
			continue;
		bits = (rows[i].tr ? ctl.tr : 0) | (rows[i].bts ? ctl.bts : 0) |
		       (rows[i].off_os ? ctl.off_os : 0) |
		       (rows[i].off_usr ? ctl.off_usr : 0) |
		       (rows[i].btint ? ctl.btint : 0);
		good = true;
		for (c = cases_begin; c < cases_end; c++)
			good &= check_case(c, bits);
		ok(good, "control: %s", rows[i].what);
	}
}

/* One line for each case, so that a failure has a name. */
static void each_case(void)
{
	const struct bts_case *c;

	for (c = cases_begin; c < cases_end; c++)
		ok(check_case(c, ctl.tr | ctl.bts), "branches: %s", c->name);
}

static void msrs(void)
{
	uint64_t val;
	unsigned bit;
	bool good = true;

	wrmsr(MSR_DEBUGCTL, 0);
	for (bit = 0; bit < 64; bit++) {
		/* the store stays off: TR alone, or anything without TR */
		bool valid = ctl.valid >> bit & 1;
		uint64_t want = valid ? 1ull << bit : 0;

		wrmsr(MSR_DEBUGCTL, 0);
		if (wrmsr_faults(MSR_DEBUGCTL, 1ull << bit) == valid ||
		    rdmsr(MSR_DEBUGCTL) != want) {
			say("# bit %u\n", (uint64_t)bit);
			good = false;
		}
	}
	wrmsr(MSR_DEBUGCTL, 0);
	ok(good, "DEBUGCTL: reserved bits raise #GP, the others stay");

	val = ctl.valid & ~(uint64_t)ctl.tr;
	good = wrmsr_faults(MSR_DEBUGCTL, val | 1ull << 63) &&
	       rdmsr(MSR_DEBUGCTL) == 0;
	ok(good, "DEBUGCTL: nothing of a write with a reserved bit happens");

	wrmsr(0x600, 0x123450);
	ok(rdmsr(0x600) == 0x123450, "DS_AREA keeps what is written");
	ok(wrmsr_faults(0x600, 1ull << 47) && rdmsr(0x600) == 0x123450,
	   "DS_AREA: #GP if not canonical");

	val = rdmsr(0x1a0);
	ok((val & 0x1800) == (has_pebs ? 0 : 0x1000),
	   "MISC_ENABLE: BTS is there, PEBS is%s", has_pebs ? "" : " not");
	wrmsr(0x1a0, val ^ 0x1800);
	ok(rdmsr(0x1a0) == val, "MISC_ENABLE: bits 11 and 12 are read-only");
}

/*
 * Far calls and returns at CPL 3 use stacks of CPL 3 as CPL 3, which SMAP
 * does not hold back; those at CPL 0 use the kernel's.
 */
static void smap(void)
{
	uint32_t a, b, c = 0, d;
	const struct bts_case *each;
	bool good = true;
	ulong cr4;

	cpuid(7, &a, &b, &c, &d);
	if (!(b & 1 << 20)) {
		ok(true, "branches with SMAP # SKIP this processor has none");
		return;
	}
	__asm__ volatile("mov %%cr4, %0" : "=r"(cr4));
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4 | 1 << 21));
	for (each = cases_begin; each < cases_end; each++)
		good &= check_case(each, ctl.tr | ctl.bts);
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4));
	ok(good, "branches with SMAP");
}

/* What IA32_DEBUGCTL is when the handler of #DB looks. */
__asm__(".text\n"
	"isr_db_look:\n"
#ifdef __x86_64__
	"	andq $~0x100, 16(%rsp)\n"
	"	mov $0x1d9, %ecx\n"
	"	rdmsr\n"
	"	mov %eax, debugctl_in_db\n"
	"	iretq\n"
#else
	"	andl $~0x100, 8(%esp)\n"
	"	mov $0x1d9, %ecx\n"
	"	rdmsr\n"
	"	mov %eax, debugctl_in_db\n"
	"	iretl\n"
#endif
);
volatile uint32_t debugctl_in_db;

static void debug_exception(void)
{
	extern char isr_db_look[];
	uint32_t bits = ctl.tr | 3;

	set_gate(1, isr_db_look, 0, 0);
	wrmsr(MSR_DEBUGCTL, bits);
	__asm__ volatile("pushf\n\t"
#ifdef __x86_64__
			 "orq $0x100, (%%rsp)\n\t"
#else
			 "orl $0x100, (%%esp)\n\t"
#endif
			 "popf\n\tjmp 1f\n1:\tnop"
			 : : : "eax", "ecx", "edx", "memory", "cc");
	ok(debugctl_in_db == ctl.tr, "#DB clears LBR and BTF, and not TR");
	wrmsr(MSR_DEBUGCTL, 0);
	set_gate(1, isr_db, 0, 0);
}

/* What is compared of a case: its n-th stored branch. */
static const struct branch *nth(const struct bts_case *c, unsigned n)
{
	return &c->expect[n];
}

static void wrap(void)
{
	const struct bts_case *c = find_case("a loop, backwards, in exact order");
	unsigned total = c->expect_end - c->expect, n;
	struct branch r;
	bool good;

	/* A buffer of three for five records: 3 and 4 are over 0 and 1. */
	ds_setup((ulong)ds_area, (ulong)bts_buffer, 3, NEVER);
	ds_fill();
	debugctl = ctl.tr | ctl.bts;
	run_case(c->run);
	good = total == 5 && ds_count() == 2 && ds_untouched(3, RECORDS);
	for (n = 2; n < 5; n++) {
		r = ds_record(n % 3);
		good &= r.from == nth(c, n)->from && r.to == nth(c, n)->to;
	}
	ok(good, "circular: the oldest records are overwritten");

	ds_setup((ulong)ds_area, (ulong)bts_buffer, 5, NEVER);
	run_case(c->run);
	ok(ds_count() == 0, "circular: the index is back at base after the last");

	/* The SDM's "plus 1", and a maximum that is no multiple. */
	good = true;
	for (n = 0; n < record_size; n++) {
		ds_setup((ulong)ds_area, (ulong)bts_buffer, 3, NEVER);
		ds_set(MAXIMUM, ds_get(MAXIMUM) + n);
		ds_fill();
		run_case(c->run);
		good &= ds_count() == 2 && ds_untouched(3, RECORDS);
	}
	ok(good, "circular: a record that does not fit whole is not begun");

	ds_setup((ulong)ds_area, (ulong)bts_buffer, 3, NEVER);
	ds_fill();
	debugctl = ctl.tr | ctl.bts | ctl.btint;
	run_case(c->run);
	good = ds_count() == 3 && ds_untouched(3, RECORDS);
	for (n = 0; n < 3; n++) {
		r = ds_record(n);
		good &= r.from == nth(c, n)->from && r.to == nth(c, n)->to;
	}
	ok(good, "BTINT: no wrap, nothing is written past the maximum");

	/* Left full, then circular: the next record is the first. */
	debugctl = ctl.tr | ctl.bts;
	run_case(find_case("exception")->run);
	ok(ds_count() == 2, "circular again: a full buffer starts from base");
}

/* Compatibility mode does not cut the addresses of the DS area. */
static void high_area(void)
{
#ifdef __x86_64__
	const struct bts_case *c;
	bool good = true;

	ds_alias = ALIAS;
	for (c = cases_begin; c < cases_end; c++)
		good &= check_case(c, ctl.tr | ctl.bts);
	ds_alias = 0;
	ok(good, "DS area and buffer past 4 GiB, in every mode");
#endif
}

static void straddle(void)
{
	const struct bts_case *c = find_case("near calls and returns");
	unsigned n, total = c->expect_end - c->expect;
	/* where in a record the page ends: after each word, and inside one */
	unsigned at[] = { word, 2 * word, 1, word + 3, 3 * word - 1 };
	unsigned i;

	for (i = 0; i < 5; i++) {
		ulong base = (ulong)bts_buffer + 4096 - 2 * record_size - at[i];
		struct branch r;
		bool good;

		ds_setup((ulong)ds_area, base, 16, NEVER);
		ds_fill();
		debugctl = ctl.tr | ctl.bts;
		run_case(c->run);
		good = ds_count() == total;
		for (n = 0; n < total; n++) {
			r = ds_record(n);
			good &= r.from == nth(c, n)->from && r.to == nth(c, n)->to &&
				r.cpls == 0;
		}
		ok(good, "a record over a page end, split at byte %u",
		   (uint64_t)at[i]);
	}

	/* The DS area itself. */
	static uint8_t pages[8192] __attribute__((aligned(4096)));

	for (i = 1; i < 4 * word; i += word - 1) {
		ds_setup((ulong)pages + 4096 - i, (ulong)bts_buffer, 16, NEVER);
		run_case(c->run);
		if (ds_count() != total)
			break;
	}
	ok(i >= 4 * word, "a DS area over a page end");
}

_Noreturn void guest_main(void)
{
	extern char isr_nmi[];

	set_gate(2, isr_nmi, 0, 0);
	each_case();
	control_table();
	msrs();
	debug_exception();
	wrap();
	straddle();
	high_area();
	smap();
	end();
}
