// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An interrupt that the handler of an NMI sends to its own CPU: is it taken
 * before CPL 3 executes anything?  A kernel that asks in the NMI of a full
 * buffer for work to be done before the return to the program relies on it.
 * The NMI comes from the debug store (PARAM is the skid) and, without one
 * that is on, from CPL 3 itself through a second mapping of the local APIC.
 */
#include "guest.h"
#include "hops.h"

#define LAPIC_USER	0x3f0000
#define SELF_IPI	(0x44000 + VEC_IPI)

static volatile ulong nmi_ip, ipi_ip;
static volatile unsigned nmis, ipis, cpls;

/* Called by the handlers below, with the address and CS to return to. */
void nmi_seen(ulong ip, ulong cs)
{
	nmis++;
	nmi_ip = ip;
	cpls = cpls << 4 | (cs & 3);
	lapic_write(LAPIC_ICR, SELF_IPI);
}

void ipi_seen(ulong ip, ulong cs)
{
	ipis++;
	ipi_ip = ip;
	cpls = cpls << 4 | (cs & 3);
	lapic_write(0xb0, 0);		/* end of interrupt */
}

/* No address is executed twice: what was executed shows in the address. */
extern char isr_nmi_ipi[], isr_ipi_seen[], to_user[];
extern char ask_nops[], ask_nops_end[], ask_jumps[], ask_jumps_end[];
extern char ask_movss[], ask_movss_end[];
volatile ulong user_target;
__asm__(".text\n"
	".macro handler name, fn\n"
	"\\name:\n"
	"	push %rax; push %rcx; push %rdx; push %rsi; push %rdi\n"
	"	push %r8; push %r9; push %r10; push %r11\n"
	"	mov 72(%rsp), %rdi\n"
	"	mov 80(%rsp), %rsi\n"
	"	call \\fn\n"
	"	pop %r11; pop %r10; pop %r9; pop %r8\n"
	"	pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax\n"
	"	iretq\n"
	".endm\n"
	"handler isr_nmi_ipi, nmi_seen\n"
	"handler isr_ipi_seen, ipi_seen\n"
	"to_user:\n"
	"	push $0x2b\n"			/* UDS */
	"	push $user_stack\n"
	"	push $0x202\n"
	"	push $0x33\n"			/* UCS */
	"	push user_target\n"
	"	mov $0x1d9, %ecx\n"
	"	mov debugctl, %eax\n"
	"	xor %edx, %edx\n"
	"	wrmsr\n"
	"	mov $0x3f0300, %eax\n"
	"	iretq\n"
	".section .user, \"ax\"\n"
	"ask_nops:\n"
	"	movl $0x44400, (%rax)\n"
	"	.byte 0xeb, 0\n"		/* TCG takes it here */
	"	.rept 64; nop; .endr\n"
	"ask_nops_end:\n"
	"	int $0x80\n"
	"ask_jumps:\n"
	"	movl $0x44400, (%rax)\n"
	"	.rept 64; .byte 0xeb, 0; .endr\n"
	"ask_jumps_end:\n"
	"	int $0x80\n"
	"ask_movss:\n"
	"	mov %ss, %ecx\n"
	"	movl $0x44400, (%rax)\n"
	"	.rept 64; mov %ecx, %ss; .endr\n"
	"ask_movss_end:\n"
	"	int $0x80\n"
	".text\n");

static bool run_once(const char *what, char *from, char *to, uint32_t bits)
{
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS,
		 from == user_hops_row ? 3 : NEVER);
	lapic_write(LAPIC_LVTPC, LVT_NMI);
	nmis = ipis = cpls = 0;
	debugctl = bits;
	user_target = (ulong)from;
	run_case((void (*)(void))to_user);
	if (nmis == 1 && ipis == 1 && cpls == 0x33 && nmi_ip == ipi_ip &&
	    nmi_ip >= (ulong)from && nmi_ip <= (ulong)to)
		return true;
	say("# %s: %u NMIs, %u IPIs, CPLs %x; at 0x%x, 0x%x; code 0x%x to 0x%x\n",
	    what, (uint64_t)nmis, (uint64_t)ipis, (uint64_t)cpls,
	    (uint64_t)nmi_ip, (uint64_t)ipi_ip, (uint64_t)(ulong)from,
	    (uint64_t)(ulong)to);
	return false;
}

/* Twice: TCG looks at interrupts anyway where it has yet to translate. */
static bool run(const char *what, char *from, char *to, uint32_t bits)
{
	return run_once(what, from, to, bits) && run_once(what, from, to, bits);
}

_Noreturn void guest_main(void)
{
	const struct {
		const char *what;
		uint32_t bits;
	} rows[] = {
		{ "the store off", 0 },
		{ "recording all", ctl.tr | ctl.bts },
		{ "recording CPL > 0", ctl.tr | ctl.bts | ctl.off_os },
		{ "recording CPL 0", ctl.tr | ctl.bts | ctl.off_usr },
	};
	unsigned i;

	set_gate(2, isr_nmi_ipi, 0, 0);
	set_gate(VEC_IPI, isr_ipi_seen, 0, 0);
	map_page(LAPIC_USER, LAPIC | 0x10 | PTE_P | PTE_W | PTE_U);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t bits = rows[i].bits;
		bool good = run("nops", ask_nops, ask_nops_end, bits) &
			    run("jumps", ask_jumps, ask_jumps_end, bits) &
			    run("MOV SS", ask_movss, ask_movss_end, bits);

		ok(good, "an IPI out of an NMI comes before CPL 3 goes on, %s",
		   rows[i].what);
	}
	ok(run("PMI", user_hops_row, user_hops_row + 2 * HOPS,
	       ctl.tr | ctl.bts | ctl.btint | ctl.off_os),
	   "the same out of the store's own NMI, after %u branches",
	   (uint64_t)param());
	end();
}
