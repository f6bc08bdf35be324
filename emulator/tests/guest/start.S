/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Start-up of a guest: paging, long mode in the 64-bit build, the second
 * CPU's way in, and the interrupt entries all suites use.
 */
#include "asm.h"

#ifdef __x86_64__
#define TABLE_FLAGS 7
#define BITS .code64
#else
#define TABLE_FLAGS 1		/* a PDPTE has no others */
#define BITS .code32
#endif

	.section .head, "ax"
	.code32
	.globl start
start:
	lgdt	gdt_ptr
	mov	$0, %ebx		/* not the second CPU */
	ljmp	$KCS32, $1f

/* The second CPU comes from real mode; this is copied to where it starts. */
	.code16
	.globl ap_real, ap_real_end
ap_real:
	cli
	lgdtl	%cs:(2f - ap_real)
	mov	%cr0, %eax
	or	$1, %al
	mov	%eax, %cr0
	ljmpl	$KCS32, $ap_protected
2:	.word	gdt_end - gdt - 1
	.long	gdt
ap_real_end:

	.code32
ap_protected:
	mov	$1, %ebx
1:	mov	$KDS, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	%cr4, %eax
	or	$0x20, %eax		/* PAE */
	mov	%eax, %cr4
#ifdef __x86_64__
	mov	$pml4, %eax
	mov	%eax, %cr3
	mov	$0xc0000080, %ecx	/* EFER: LME and SCE */
	rdmsr
	or	$0x101, %eax
	wrmsr
#else
	mov	$pdpt, %eax
	mov	%eax, %cr3
#endif
	mov	%cr0, %eax
	or	$0x80010000, %eax	/* PG, WP */
	mov	%eax, %cr0
	ljmp	$KCS, $3f
	BITS
3:	lidt	idt_ptr
	test	%ebx, %ebx
	jnz	4f
	mov	$stack_top, SP
	call	lib_setup
	call	guest_main
4:	mov	$ap_stack_top, SP
	call	ap_main

	.text
/* void run_case(void (*fn)(void)): it may end in fn's return or VEC_LEAVE */
	.globl run_case
run_case:
#ifdef __x86_64__
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rdi, AX
	mov	SP, kernel_sp
	call	*AX
run_case_end:
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
#else
	push	%ebx
	push	%ebp
	push	%esi
	push	%edi
	mov	20(%esp), AX
	mov	SP, kernel_sp
	call	*AX
run_case_end:
	pop	%edi
	pop	%esi
	pop	%ebp
	pop	%ebx
#endif
	ret

	.globl isr_leave, isr_iret, isr_ipi, isr_ipi_iret, isr_ud, isr_ud_iret
	.globl isr_db, isr_db_iret, isr_gp, isr_gp_iret, isr_pmi
isr_leave:
	off
	mov	$KDS, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	kernel_sp, SP
	xor	%eax, %eax
	mov	AX, gp_fixup
	jmp	run_case_end

isr_iret:
	IRET

isr_ipi:				/* the local APIC's EOI register */
	push	AX
	mov	$LAPIC + 0xb0, %eax
	movl	$0, (AX)
	pop	AX
isr_ipi_iret:
	IRET

isr_ud:					/* skip the UD2 */
	addl	$2, (SP)
isr_ud_iret:
	IRET

/*
 * #DB of a suite that steps: step() gets EIP, CS and EFLAGS as they were pushed,
 * and returns what IA32_DEBUGCTL is to be.
 */
	.globl isr_step, isr_step_iret, step_case, step_target
isr_step:
#ifdef __x86_64__
	push	%rax
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	mov	$MSR_DEBUGCTL, %ecx
	rdmsr
	mov	%eax, %esi
	off
	lea	9*WORD(SP), DI
	call	step
	mov	$MSR_DEBUGCTL, %ecx
	xor	%edx, %edx
	wrmsr
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	pop	%rax
#else
	pusha
	push	%ds			/* CPL 3 has none */
	push	%es
	mov	$KDS, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	$MSR_DEBUGCTL, %ecx
	rdmsr
	mov	%eax, BX
	off
	lea	10*WORD(SP), AX
	push	BX
	push	AX
	call	step
	add	$2*WORD, SP
	mov	$MSR_DEBUGCTL, %ecx
	xor	%edx, %edx
	wrmsr
	pop	%es
	pop	%ds
	popa
#endif
isr_step_iret:
	IRET

/* For run_case(): set TF, and jump to step_target. */
step_case:
	pushf
	orl	$0x100, (SP)
	popf
	jmp	*step_target

isr_db:					/* stop single-stepping */
	andl	$~0x100, 2*WORD(SP)
isr_db_iret:
	IRET

/* #GP: go on at gp_fixup, if there is one. */
isr_gp:
	add	$WORD, SP		/* error code */
	push	AX
	mov	gp_fixup, AX
	test	AX, AX
	jz	1f
	mov	AX, WORD(SP)
	pop	AX
isr_gp_iret:
	IRET
1:
#ifdef __x86_64__
	mov	$13, %edi
#else
	push	$13
#endif
	call	unexpected

/* Like a driver's: turn the store off, look, and let pmi() decide the rest. */
isr_pmi:
#ifdef __x86_64__
	push	%rax
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
#else
	pusha
#endif
	off
#ifdef __x86_64__
	mov	9*WORD(SP), DI
	call	pmi
	mov	debugctl_after_pmi, %eax
	mov	$MSR_DEBUGCTL, %ecx
	xor	%edx, %edx
	wrmsr
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	pop	%rax
#else
	push	8*WORD(SP)
	call	pmi
	pop	AX
	mov	debugctl_after_pmi, %eax
	mov	$MSR_DEBUGCTL, %ecx
	xor	%edx, %edx
	wrmsr
	popa
#endif
	IRET

/* Every other vector: report it and end. */
	.globl vector_stubs
	.balign 16
vector_stubs:
	vec = 0
	.rept 256
	.balign 16
#ifdef __x86_64__
	mov	$vec, %edi
#else
	push	$vec
	push	$0			/* as a return address */
#endif
	jmp	unexpected
	vec = vec + 1
	.endr

	.data
	.balign 8
	.globl gdt, gdt_end, tss
gdt:	.quad	0
	.quad	0x00cf9a000000ffff	/* KCS32 */
#ifdef __x86_64__
	.quad	0x00af9a000000ffff	/* KCS */
#else
	.quad	0x00cf9a000000ffff
#endif
	.quad	0x00cf92000000ffff	/* KDS */
	.quad	0x00cffa000000ffff	/* UCS32 */
	.quad	0x00cff2000000ffff	/* UDS */
	.quad	0x00affa000000ffff	/* UCS */
	.quad	0x00cff2000000ffff, 0	/* SS after SYSEXIT to 64-bit mode */
	.quad	0, 0			/* GATE_SEL, likewise */
	.quad	0x00cf9a001000ffff	/* BASED_SEL */
	.quad	0, 0			/* UGATE_SEL, filled in by C */
	.quad	0, 0			/* TSS_SEL, likewise */
gdt_end:
gdt_ptr: .word	gdt_end - gdt - 1
	PTR	gdt
	.globl idt
idt_ptr: .word	4095
	PTR	idt

/*
 * Identity map: 4 KiB pages for the first 4 MiB, which C may change, 2 MiB
 * pages to 16 MiB, and the local APIC.
 */
	.balign 4096
	.globl pml4, pdpt, page_tables
pml4:	.long	pdpt + 7, 0
	.fill	255, 8, 0
	.long	pdpt_alias + 7, 0
	.fill	255, 8, 0
pdpt:	.long	pd_low + TABLE_FLAGS, 0
	.quad	0, 0
	.long	pd_high + TABLE_FLAGS, 0
	.fill	508, 8, 0
pdpt_alias:
	.quad	0, 0
	.long	pd_low + 7, 0
	.fill	509, 8, 0
pd_low:	.long	page_tables + 7, 0
	.long	page_tables + 0x1007, 0
	.long	0x400083, 0, 0x600083, 0, 0x800083, 0
	.long	0xa00083, 0, 0xc00083, 0, 0xe00083, 0
	.fill	504, 8, 0
pd_high:
	.fill	503, 8, 0
	.long	0xfee00093, 0
	.fill	8, 8, 0
page_tables:
	addr = 0
	.rept	1024
	.long	addr + 3, 0
	addr = addr + 4096
	.endr

	.bss
	.balign 4096
idt:	.skip	4096
tss:	.skip	128
	.balign 16
	.skip	16384
	.globl	stack_top
stack_top:
	.skip	16384
ap_stack_top:
	.globl kernel_sp, gp_fixup, debugctl, debugctl_after_pmi
step_target: .skip 8
kernel_sp: .skip 8
gp_fixup: .skip 8
debugctl: .skip 8
debugctl_after_pmi: .skip 8
