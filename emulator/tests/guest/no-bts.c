// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A debug store without BTS: does the processor say so, and has it the rest?
 */
#include "guest.h"

_Noreturn void guest_main(void)
{
	const uint64_t bts = ctl.tr | ctl.bts | ctl.btint | ctl.off_os | ctl.off_usr;
	const struct bts_case *c;
	unsigned bit;
	bool good = true;
	uint64_t val;

	ok(has_ds, "CPUID has a debug store");
	val = rdmsr(0x1a0);
	ok((val & 0x1800) == (has_pebs ? 0x800 : 0x1800),
	   "MISC_ENABLE: BTS is not there, PEBS is%s", has_pebs ? "" : " not");
	wrmsr(0x1a0, val ^ 0x1800);
	ok(rdmsr(0x1a0) == val, "MISC_ENABLE: bits 11 and 12 are read-only");

	wrmsr(0x600, 0x123450);
	ok(rdmsr(0x600) == 0x123450, "DS_AREA keeps what is written");

	for (bit = 0; bit < 64; bit++) {
		bool valid = (ctl.valid & ~bts) >> bit & 1;

		wrmsr(MSR_DEBUGCTL, 0);
		if (wrmsr_faults(MSR_DEBUGCTL, 1ull << bit) == valid ||
		    rdmsr(MSR_DEBUGCTL) != (valid ? 1ull << bit : 0)) {
			say("# bit %u\n", (uint64_t)bit);
			good = false;
		}
	}
	wrmsr(MSR_DEBUGCTL, 0);
	ok(good, "DEBUGCTL: what BTS has is reserved, the others stay");

	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, 3);
	ds_fill();
	good = wrmsr_faults(MSR_DEBUGCTL, ctl.tr | ctl.bts);
	for (c = cases_begin; c < cases_end; c++)
		run_case(c->run);
	ok(good && ds_count() == 0 && ds_untouched(0, RECORDS),
	   "nothing is stored");
	end();
}
