// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What does a store that cannot be done cause?  On hardware nothing that can
 * be survived; the emulator reports it as a guest panic.  The runner lets
 * the guest go on after it, so that one run sees all cases, and compares
 * the messages with the lines "fault ADDRESS CR3" printed here.
 */
#include "guest.h"
#include "hops.h"

static uint8_t pages[3 * 4096] __attribute__((aligned(4096)));
#define FIRST	((ulong)pages)
#define SECOND	(FIRST + 4096)

static bool zero(ulong from, ulong to)
{
	for (; from < to; from++)
		if (*(volatile uint8_t *)from)
			return false;
	return true;
}

/* Run one jump that is to fault at @addr, and nothing may be written. */
static void fault(const char *what, ulong area, ulong base, ulong addr,
		  ulong page, uint64_t entry, ulong written)
{
	bool good;

	ds_setup(area, base, 16, NEVER);
	say("fault %x %x\n", (uint64_t)addr, (uint64_t)read_cr3());
	debugctl = ctl.tr | ctl.bts;
	map_page(page, entry);
	run_case(hops_then_off);
	map_page(page, page | PTE_P | PTE_W);
	good = ds_count() == 0 && zero(FIRST, FIRST + sizeof(pages) - written);
	ok(good, "fault: %s, nothing is written", what);
}

static void area_faults(void)
{
	ulong i;

	fault("DS area not mapped", FIRST, (ulong)bts_buffer, FIRST, FIRST, 0,
	      sizeof(pages));
	for (i = 0; i < sizeof(pages); i++)
		pages[i] = 0;
	fault("second page of the DS area not mapped", SECOND - 16,
	      (ulong)bts_buffer, SECOND, SECOND, 0, sizeof(pages));
	for (i = 0; i < sizeof(pages); i++)
		pages[i] = 0;
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
	      FIRST | PTE_P | PTE_W | PTE_U, 0);
	/* An implicit access, which EFLAGS.AC does not help. */
	__asm__ volatile("stac");
	fault("a user page, with SMAP and EFLAGS.AC", (ulong)ds_area, FIRST,
	      FIRST, FIRST, FIRST | PTE_P | PTE_W | PTE_U, 0);
	__asm__ volatile("clac");
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4));
}

/* Supervisor rights, whatever the CPL: what CPL 3 could not write. */
static void rights(void)
{
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	debugctl = ctl.tr | ctl.bts;
	run_case(user_hops);
	ok(ds_count() == HOPS + 2, "stores at CPL 3 have supervisor rights");

	map_page(FIRST, FIRST | PTE_P | PTE_W | PTE_U);
	ds_setup((ulong)ds_area, FIRST, 100, NEVER);
	run_case(hops_then_off);
	ok(ds_count() == 1, "a user page will do, without SMAP");
	map_page(FIRST, FIRST | PTE_P | PTE_W);
	for (unsigned i = 0; i < sizeof(pages); i++)
		pages[i] = 0;
}

_Noreturn void guest_main(void)
{
	/* For the run that stops: the first fault is this one. */
	fault("buffer not mapped", (ulong)ds_area, FIRST, FIRST, FIRST, 0, 0);
	fault("buffer read-only", (ulong)ds_area, FIRST, FIRST, FIRST,
	      FIRST | PTE_P, 0);
	fault("second page of a record not mapped", (ulong)ds_area,
	      SECOND - word - 2, SECOND, SECOND, 0, 0);
	fault("first page of a record not mapped", (ulong)ds_area,
	      SECOND - word - 2, SECOND - word - 2, FIRST, 0, 0);
	smap();
	rights();
	area_faults();
	end();
}
