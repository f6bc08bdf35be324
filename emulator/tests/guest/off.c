// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Without the feature: is everything as it was in an unpatched QEMU?  This
 * suite passes there, too.
 */
#include "guest.h"
#include "hops.h"

static unsigned steps;

/* Three of them will do. */
uint32_t step(struct step_frame *frame, uint32_t now)
{
	if (++steps == 3)
		frame->flags &= ~0x100ul;
	return now;
}

static void straight(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

static void no_btf(void)
{
	set_gate(1, isr_step, 0, 0);
	step_target = straight;
	wrmsr(MSR_DEBUGCTL, 2);
	run_case(step_case);
	wrmsr(MSR_DEBUGCTL, 0);
	set_gate(1, isr_db, 0, 0);
	ok(steps == 3, "TF stops after each instruction, with BTF written");
}

_Noreturn void guest_main(void)
{
	extern char isr_nmi[];
	const struct bts_case *c;
	unsigned bit;
	bool good = true;
	uint64_t val;

	ok(!has_ds && !has_dtes64 && !has_ds_cpl, "CPUID has none of it");
	for (bit = 0; bit < 64; bit++)
		good &= !wrmsr_faults(MSR_DEBUGCTL, 1ull << bit) &&
			rdmsr(MSR_DEBUGCTL) == 0;
	ok(good, "DEBUGCTL reads 0 and ignores writes");
	ok(!wrmsr_faults(0x600, 0x1000) && !wrmsr_faults(0x600, 1ull << 47) &&
	   rdmsr(0x600) == 0, "DS_AREA reads 0 and ignores writes");
	val = rdmsr(0x1a0);
	wrmsr(0x1a0, val ^ 0x1800);
	ok(rdmsr(0x1a0) == (val ^ 0x1800),
	   "MISC_ENABLE: bits 11 and 12 are like the others");
	no_btf();

	good = true;
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, 3);
	ds_fill();
	lapic_write(LAPIC_LVTPC, LVT_NMI);
	debugctl = ctl.tr | ctl.bts | ctl.btint;
	set_gate(2, isr_nmi, 0, 0);
	for (c = cases_begin; c < cases_end; c++)
		run_case(c->run);
	set_gate(2, isr_pmi, 0, 0);
	run_case(hops);
	ok(ds_count() == 0 && ds_untouched(0, RECORDS) && !pmi_seen.count,
	   "nothing is stored, and no interrupt comes");
	end();
}
