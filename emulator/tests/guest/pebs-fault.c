// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What does a record of PEBS that cannot be stored cause?  The same as one of
 * the branch trace store: see fault.c, and the runner, which compares the
 * emulator's messages with the lines "fault ADDRESS CR3" printed here.
 */
#include "pebs.h"

static uint8_t pages[4 * 4096] __attribute__((aligned(4096)));
static struct pebs_record pebs_records[10];
#define FIRST	((ulong)pages)
#define SECOND	(FIRST + 4096)

static void clear(void)
{
	unsigned i;

	for (i = 0; i < sizeof(pages); i++)
		pages[i] = 0;
}

static bool zero(ulong from, ulong to)
{
	for (; from < to; from++)
		if (*(volatile uint8_t *)from)
			return false;
	return true;
}

static void store(ulong area, ulong base)
{
	pmu_reset();
	ds_setup(area, (ulong)bts_buffer, RECORDS, NEVER);
	pebs_setup(base, 10, 100);
	/* One event: the last jump of the row. */
	pebs_counter(0, NEAR_TAKEN | OS, ROW - 1, 1000);
}

/* One record that is to fault at @addr, and nothing of it may be written. */
static void fault(const char *what, ulong area, ulong base, ulong addr,
		  ulong page, uint64_t entry)
{
	bool good;

	clear();
	store(area, base);
	say("fault %x %x\n", (uint64_t)addr, (uint64_t)read_cr3());
	map_page(page, entry);
	run_window(jumps, pmu.all);
	map_page(page, page | PTE_P | PTE_W);
	good = pebs_count() == 0 && (area != (ulong)ds_area ||
				     zero(FIRST, FIRST + sizeof(pages)));
	ok(good, "fault: %s, nothing is written", what);
}

static void smap(void)
{
	uint32_t a, b, c = 0, d;
	ulong cr4;

	cpuid(7, &a, &b, &c, &d);
	if (!(b & 1 << 20)) {
		ok(true, "fault: SMAP # SKIP this processor has none");
		return;
	}
	__asm__ volatile("mov %%cr4, %0" : "=r"(cr4));
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4 | 1 << 21));
	fault("a user page, with SMAP", (ulong)ds_area, FIRST, FIRST, FIRST,
	      FIRST | PTE_P | PTE_W | PTE_U);
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4));
}

/* Supervisor rights, whatever the CPL. */
static void rights(void)
{
	store((ulong)ds_area, FIRST);
	pebs_counter(0, NEAR_TAKEN | USR, ROW - 1, 1000);
	run_window(user_jumps, pmu.all);
	ok(pebs_count() == 1, "a record at CPL 3 has supervisor rights");
	map_page(FIRST, FIRST | PTE_P | PTE_W | PTE_U);
	store((ulong)ds_area, FIRST);
	run_window(jumps, pmu.all);
	ok(pebs_count() == 1, "a user page will do, without SMAP");
	map_page(FIRST, FIRST | PTE_P | PTE_W);
}

_Noreturn void guest_main(void)
{
	unsigned at;

	pmu_find();
	set_gate(VEC_LEAVE, isr_close, 3, 0);
	/* For the run that stops: the first fault is this one. */
	fault("buffer not mapped", (ulong)ds_area, FIRST, FIRST, FIRST, 0);
	fault("buffer read-only", (ulong)ds_area, FIRST, FIRST, FIRST,
	      FIRST | PTE_P);
	for (at = 1; at < 200; at += 66) {
		fault("second page of a record not mapped", (ulong)ds_area,
		      SECOND - at, SECOND, SECOND, 0);
		fault("first page of a record not mapped", (ulong)ds_area,
		      SECOND - at, SECOND - at, FIRST, 0);
	}
	smap();
	/* No record is begun before all of the area is known to be there. */
	fault("DS area not mapped", FIRST, (ulong)pebs_records, FIRST, FIRST, 0);
	fault("PEBS's half of the DS area not mapped", SECOND - 0x20,
	      (ulong)pebs_records, SECOND, SECOND, 0);
	fault("reset values not mapped", SECOND - 0x40, (ulong)pebs_records,
	      SECOND, SECOND, 0);
	ok(zero((ulong)pebs_records, (ulong)(pebs_records + 10)),
	   "fault in the DS area: no record is written");
	rights();
	end();
}
