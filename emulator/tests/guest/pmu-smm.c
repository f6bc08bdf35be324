// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In system-management mode, is all counted as at CPL 0, and nothing recorded?
 * The CPU sends itself an SMI, whose handler is where a reset has put it.
 * PARAM is 1 under -icount shift=0.
 */
#include "pebs.h"

#define SMI_ENTRY	0x38000

struct pebs_record pebs_buffer[PEBS_RECORDS + 32];
extern uint8_t smm_code[], smm_code_end[];
void smi(void);
extern char smi_after[];
volatile uint32_t smi_register;
__asm__(".text\n"
	".code16\n"
	"smm_code:\n"
	"	mov $100, %cx\n"
	"1:	nop\n"
	"	loop 1b\n"
	"	call 2f\n"
	"	jmp 3f\n"
	"2:	ret\n"
	"3:	incw %cs:(4f - smm_code + 0x8000)\n"
	"	rsm\n"
	/* 206 instructions; of the branches, 100 are LOOP */
	"4:	.word 0\n"
	"smm_code_end:\n"
#ifdef __x86_64__
	".code64\n"
#else
	".code32\n"
#endif
	/* After STI the store is alone in its block: what it causes is next. */
	"smi:\n"
	"	mov $0x38f, %ecx\n"
	"	mov window, %eax\n"
	"	mov window + 4, %edx\n"
	"	wrmsr\n"
	"	mov smi_register, %eax\n"
	"	sti\n"
#ifdef __x86_64__
	"	movl $0x44200, (%rax)\n"
#else
	"	movl $0x44200, (%eax)\n"
#endif
	"smi_after:\n"
	"	cli\n"
	"	jmp 1f\n"
	"1:	mov $0x38f, %ecx\n"
	"	xor %eax, %eax\n"
	"	xor %edx, %edx\n"
	"	wrmsr\n"
	"	ret\n");
#define SMM_INSNS	206
#define SMM_BRANCHES	103

static volatile uint16_t *smis(void)
{
	return (uint16_t *)(SMI_ENTRY + (smm_code_end - smm_code) - 2);
}

struct seen {
	uint64_t insns, fixed, branches, cycles, user, pebs, bts;
};

static struct seen run(bool with_smi)
{
	struct seen seen;

	/* Without: a register that can be read only. */
	smi_register = LAPIC + (with_smi ? LAPIC_ICR : 0x30);
	pmu_reset();
	count(0, INSTRUCTIONS | BOTH);
	count(1, BRANCHES | BOTH);
	wrmsr(MSR_FIXED_CTRL, 0x233);
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	pebs_setup((ulong)pebs_buffer, PEBS_RECORDS, 2 * PEBS_RECORDS);
	if (pmu.pebs)
		pebs_counter(2, INSTRUCTIONS | BOTH, 1, 1);
	wrmsr(MSR_DEBUGCTL, ctl.tr | ctl.bts);
	run_window(smi, pmu.all);
	wrmsr(MSR_DEBUGCTL, 0);
	seen.insns = rdpmc(0);
	seen.fixed = rdpmc(RDPMC_FIXED(0));
	seen.branches = rdpmc(1);
	seen.user = rdpmc(RDPMC_FIXED(2));
	seen.cycles = rdpmc(RDPMC_FIXED(1));
	seen.pebs = pebs_count();
	seen.bts = ds_count();
	return seen;
}

_Noreturn void guest_main(void)
{
	uint8_t *from = smm_code, *to = (uint8_t *)SMI_ENTRY;
	struct seen without, with;
	unsigned i, smm = 0, next = 0;

	while (from < smm_code_end)
		*to++ = *from++;
	pmu_find();
	without = run(false);
	ok(*smis() == 0 && without.insns == 5 + window_instructions &&
	   without.branches == 1, "no SMI");
	with = run(true);
	ok(*smis() == 1, "an SMI");
	ok(with.insns == without.insns + SMM_INSNS &&
	   with.fixed == without.fixed + SMM_INSNS, "SMM: instructions count");
	ok(with.branches == without.branches + SMM_BRANCHES,
	   "SMM: branches count");
	ok(with.user == 0, "SMM: cycles of CPL 3 do not");
	if (param())
		ok(with.cycles == without.cycles + SMM_INSNS,
		   "SMM: a cycle for each instruction");
	ok(with.bts == without.bts, "SMM: BTS records nothing");
	/* Armed by an instruction there, or before, and recorded by one after. */
	for (i = 0; i < with.pebs; i++) {
		uint64_t ip = pebs_buffer[i].eventing_ip;

		smm += ip >= SMI_ENTRY && ip < SMI_ENTRY + 0x1000;
		next += ip == (ulong)smi_after;
	}
	if (pmu.pebs)
		ok(smm == 0 && next == 1,
		   "SMM: PEBS records nothing, and is armed after it");
	end();
}
