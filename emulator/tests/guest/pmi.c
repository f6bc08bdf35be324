// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When does the interrupt near the end of the buffer come, how, and how
 * often?  The runner says in PARAM which skid the CPU was given.
 */
#include "guest.h"
#include "hops.h"

static unsigned skid;

static void run(void (*fn)(void), uint32_t bits, unsigned records,
		unsigned threshold, uint32_t lvt)
{
	ds_setup((ulong)ds_area, (ulong)bts_buffer, records, threshold);
	ds_fill();
	pmi_seen = (struct pmi){ 0 };
	debugctl_after_pmi = 0;
	lapic_write(LAPIC_LVTPC, lvt);
	debugctl = bits;
	run_case(fn);
}

static bool expect_pmi(const char *what, unsigned count, unsigned records,
		       ulong ip)
{
	if (pmi_seen.count == count &&
	    (!count || (pmi_seen.records == records && pmi_seen.ip == ip)))
		return true;
	say("# %s: %u interrupts, %u records, at 0x%x; want %u, %u, 0x%x\n",
	    what, (uint64_t)pmi_seen.count, (uint64_t)pmi_seen.records,
	    (uint64_t)pmi_seen.ip, (uint64_t)count, (uint64_t)records,
	    (uint64_t)ip);
	return false;
}

/* Jump number @n, from 0, is the next to be executed. */
static ulong hop(char *row, unsigned n)
{
	return (ulong)row + 2 * n;
}

static void threshold(uint32_t bits, uint32_t lvt, const char *as)
{
	unsigned t;
	bool good = true, masked = true;

	for (t = 0; t < 8; t++) {
		/* also stored: the interrupt's own way to its handler */
		run(hops, bits, RECORDS, t, lvt);
		good &= expect_pmi(as, 1, t + 1 + skid + 1,
				   hop(hops_row, t + 1 + skid));
		masked &= pmi_seen.lvt == (lvt | LVT_MASKED);
	}
	ok(good, "%s: comes %u branches after the record at the threshold", as,
	   (uint64_t)skid);
	ok(masked, "%s: delivery sets the mask bit, and changes no other", as);
}

static void mask(uint32_t bits)
{
	bool good;

	run(hops, bits, RECORDS, 3, LVT_MASKED | LVT_NMI);
	good = expect_pmi("masked", 0, 0, 0) && ds_count() == HOPS &&
	       lapic_read(LAPIC_LVTPC) == (LVT_MASKED | LVT_NMI);
	ok(good, "masked: no interrupt, all records");

	run(hops, bits, RECORDS, 3, LVT_NMI);
	good = expect_pmi("first", 1, 3 + 1 + skid + 1,
			  hop(hops_row, 4 + skid));
	run(hops, bits, RECORDS, 3, lapic_read(LAPIC_LVTPC));
	good &= expect_pmi("still masked", 0, 0, 0);
	run(hops, bits, RECORDS, 3, LVT_NMI);
	good &= expect_pmi("unmasked", 1, 3 + 1 + skid + 1,
			   hop(hops_row, 4 + skid));
	ok(good, "one interrupt until the handler clears the mask bit");
}

static void edge(uint32_t bits)
{
	bool good;

	run(hops, bits, RECORDS, NEVER, LVT_NMI);
	ok(expect_pmi("never", 0, 0, 0), "threshold past the maximum: none");

	/* On from the handler on, with the index past the threshold. */
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, 2);
	ds_set(INDEX, ds_get(BASE) + 3 * record_size);
	pmi_seen.count = 0;
	lapic_write(LAPIC_LVTPC, LVT_NMI);
	debugctl = bits;
	run_case(hops);
	ok(expect_pmi("past", 0, 0, 0), "index past the threshold: none");

	run(hops, bits, 4, 6, LVT_NMI);
	ok(expect_pmi("small", 0, 0, 0), "threshold just past the maximum: none");

	/* A handler that goes on at once, with the index where it was. */
	pmi_unmasks = true;
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, 2);
	pmi_seen.count = 0;
	lapic_write(LAPIC_LVTPC, LVT_NMI);
	debugctl = debugctl_after_pmi = bits;
	run_case(hops);
	/* All jumps, and the interrupt and the return from it. */
	ok(pmi_seen.count == 1 && ds_count() == HOPS + 2,
	   "raised once, by the record at the threshold alone");
	debugctl_after_pmi = 0;
	pmi_unmasks = false;

	/* The last record of the buffer, and the buffer is full. */
	run(hops, bits | ctl.btint, 4, 3, LVT_NMI);
	good = expect_pmi("full", 1, 4, hop(hops_row, 4 + skid));
	ok(good && ds_untouched(4, RECORDS),
	   "threshold at the last record: comes, and nothing is written after");
}

static void as_vector(uint32_t bits)
{
	bool good;

	pmi_as_vector = true;
	__asm__ volatile("sti");
	threshold(bits, VEC_PMI, "vector");

	/* Interrupts off: it waits. */
	__asm__ volatile("cli");
	run(hops, bits, RECORDS, 3, VEC_PMI);
	good = pmi_seen.count == 0 && ds_count() == HOPS &&
	       lapic_read(LAPIC_LVTPC) == (VEC_PMI | LVT_MASKED);
	__asm__ volatile("sti; nop; cli");
	ok(good && pmi_seen.count == 1 && pmi_seen.records == HOPS,
	   "vector: waits while interrupts are off");
	pmi_as_vector = false;
}

static void any_cpl(void)
{
	uint32_t bits = ctl.tr | ctl.bts | ctl.off_usr;

	if (!ctl.off_usr)
		return;
	/* Only the way to CPL 3 is stored, but all that follows counts. */
	run(user_hops, bits, RECORDS, 0, LVT_NMI);
	ok(expect_pmi("CPL 3", 1, 2, hop(user_hops_row, skid)),
	   "skid counts branches of a CPL that is not stored");

	bits = ctl.tr | ctl.bts | ctl.off_os;
	run(user_hops, bits, RECORDS, 5, LVT_NMI);
	ok(expect_pmi("CPL 3", 1, 6 + skid + 1, hop(user_hops_row, 5 + skid)),
	   "interrupt out of CPL 3");

	/* The call gate is the last that is stored; a jump follows at CPL 0. */
	if (skid > 1)
		return;
	run(find_case("call gate from CPL 3")->run, bits, RECORDS, 1, LVT_NMI);
	ok(expect_pmi("CPL 0", 1, 2, (ulong)(skid ? isr_leave : isr_gate)),
	   "skid counts branches of CPL 0 when that is not stored");
}

static void tr_cleared(uint32_t bits)
{
	run(hops_then_off, bits, RECORDS, 0, LVT_NMI);
	/* skid 0: interrupted before; else right after the WRMSR */
	ok(skid == 0 ? expect_pmi("TR", 1, 2, hop(hops_then_off_row, 1))
		     : expect_pmi("TR", 1, 1, (ulong)hops_after_off),
	   "still pending when TR is cleared: delivered then");
}

_Noreturn void guest_main(void)
{
	uint32_t bits = ctl.tr | ctl.bts;

	skid = param();
	threshold(bits, LVT_NMI, "NMI");
	threshold(bits | ctl.btint, LVT_NMI, "NMI, BTINT");
	mask(bits);
	edge(bits);
	as_vector(bits | ctl.btint);
	any_cpl();
	tr_cleared(bits);
	end();
}
