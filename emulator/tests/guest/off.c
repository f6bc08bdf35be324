// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Without the feature: is everything as it was in an unpatched QEMU?  This
 * suite passes there, too.
 */
#include "guest.h"
#include "hops.h"

static unsigned steps;
extern char isr_ud_seen[];
volatile unsigned ud_seen;
__asm__(".text\n"
	"isr_ud_seen:\n"
	"	incl ud_seen\n"
	"	jmp isr_ud\n");

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

/* In QEMU an MSR that is not known reads 0 and takes everything. */
static void no_counters(void)
{
	static const uint32_t msrs[] = {
		0xc1, 0xc2, 0x186, 0x187, 0x4c1, 0x309, 0x30a, 0x30b, 0x345,
		0x38d, 0x38e, 0x38f, 0x390, 0x391, 0x392, 0x3f1,
	};
	uint32_t a, b, c = 0, d;
	unsigned i;
	bool good;

	cpuid(1, &a, &b, &c, &d);
	good = !(c & 1 << 15);
	c = 0;
	cpuid(10, &a, &b, &c, &d);
	ok(good && !a && !b && !c && !d, "CPUID has no performance counters");

	good = true;
	for (i = 0; i < sizeof(msrs) / sizeof(msrs[0]); i++)
		good &= !wrmsr_faults(msrs[i], ~0ull) && rdmsr(msrs[i]) == 0;
	ok(good, "their MSRs read 0 and ignore writes");

	set_gate(6, isr_ud_seen, 0, 0);
	__asm__ volatile("rdpmc" : : "c"(0) : "eax", "edx", "memory");
	ok(ud_seen == 1, "RDPMC raises #UD");
	set_gate(6, isr_ud, 0, 0);
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
	no_counters();

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
