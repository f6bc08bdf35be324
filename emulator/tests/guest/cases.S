/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code takes which branches?  One case for each kind: code that turns
 * the store on, branches, and turns it off, then a table with a line
 *	expect FROM, TO, CPLS
 * for each branch in the order of execution.  CPLS are the privilege levels
 * before and after: kk (the default), ku, uk or uu.
 */
#include "asm.h"

	kk = 0x00
	ku = 0x03
	uk = 0x30
	uu = 0x33

.macro case name:req
	.pushsection .rodata
9001:	.asciz	"\name"
	.popsection
	.pushsection .expect, "a"
9003:
	.popsection
	.pushsection .cases, "a"
	PTR	9001b, 9002f, 9003b, 9005f
	.popsection
	.text
	.balign	16
9002:
.endm

.macro endcase
	.pushsection .expect, "a"
9005:
	.popsection
.endm

.macro quad value:vararg
#ifdef __x86_64__
	.quad	\value
#else
	.long	\value, 0
#endif
.endm

.macro expect from:req, to:req, cpls=kk
	.pushsection .expect, "a"
	quad	\from
	quad	\to
	quad	\cpls
	.popsection
.endm

	user
	.skip	1024
	.globl	user_stack
user_stack:
	enduser

case "near jumps, direct"
	on
1:	jmp	3f
2:	.byte	0xe9			/* the long form */
	.long	4f - (. + 4)
3:	jmp	2b
	.skip	200, 0xcc
4:	off
	ret
	expect	1b, 3b
	expect	3b, 2b
	expect	2b, 4b
endcase

case "jump to the very next instruction"
	on
1:	jmp	2f
2:	.byte	0xe9
	.long	0
3:	xor	%eax, %eax
4:	jz	5f
5:	jnz	6f
6:	off
	ret
	expect	1b, 2b
	expect	2b, 3b
	expect	4b, 5b
endcase

case "branch right after MOV SS"
	mov	%ss, %ebx
	on
	mov	%ebx, %ss
1:	jmp	3f
2:	ud2
3:	mov	%ebx, %ss
4:	jc	2b
	off
	ret
	expect	1b, 3b
endcase

case "near jumps, through register and memory"
	mov	$2f, BX
	push	$3f
	on
1:	jmp	*BX
	ud2
2:	jmp	*(SP)
	ud2
3:	off
	pop	AX
	ret
	expect	1b, 2b
	expect	2b, 3b
endcase

case "near calls and returns"
	mov	$5f, BX
	on
1:	call	5f
2:	call	*BX
3:	push	$5f
6:	call	*(SP)
4:	pop	AX
	off
	ret
5:	ret
	expect	1b, 5b
	expect	5b, 2b
	expect	2b, 5b
	expect	5b, 3b
	expect	6b, 5b
	expect	5b, 4b
endcase

case "return that pops arguments"
	on
	push	$0
	push	$0
1:	call	3f
2:	off
	ret
3:	ret	$2 * WORD
	expect	1b, 3b
	expect	3b, 2b
endcase

case "conditional jumps, taken and not"
	on
	mov	$1, %eax
	cmp	$2, %eax
1:	jb	2f			/* taken */
	ud2
2:	ja	9f
3:	je	9f
4:	jne	5f			/* taken */
	ud2
5:	.byte	0x0f, 0x82		/* jb, long form, taken */
	.long	7f - (. + 4)
6:	ud2
7:	.byte	0x0f, 0x83		/* jae, long form */
	.long	9f - (. + 4)
	jo	9f
	jnp	9f
8:	js	10f			/* taken */
9:	ud2
10:	off
	ret
	expect	1b, 2b
	expect	4b, 5b
	expect	5b, 7b
	expect	8b, 10b
endcase

case "a loop, backwards, in exact order"
	on
	mov	$4, %ebx
1:	test	$1, %bl
2:	jz	3f
	nop
3:	dec	%ebx
4:	jnz	1b
	off
	ret
	expect	2b, 3b			/* 4: even */
	expect	4b, 1b
	expect	4b, 1b			/* 3 */
	expect	2b, 3b			/* 2 */
	expect	4b, 1b			/* 1: falls through below */
endcase

case "loop, loope, loopne, jcxz"
	on
	mov	$3, %ecx
1:	loop	1b			/* taken twice */
2:	jecxz	3f			/* taken */
	ud2
3:	mov	$5, %ecx
4:	jecxz	3b
	cmp	%ecx, %ecx
5:	loopne	4b			/* ZF: falls through */
6:	loope	7f			/* taken */
	ud2
7:	cmp	$0, %ecx
8:	loopne	9f			/* taken */
	ud2
9:	loope	4b			/* ZF clear: falls through */
10:	mov	$1, %ecx
	cmp	%ecx, %ecx
	loope	4b			/* count ends */
	off
	ret
	expect	1b, 1b
	expect	1b, 1b
	expect	2b, 3b
	expect	6b, 7b
	expect	8b, 9b
endcase

case "repeated string instructions are no branch"
	cld
	mov	$scratch, %esi
	mov	$scratch + 6000, %edi	/* goes over a page end */
	mov	$5000, %ebx
	on
	mov	%ebx, %ecx
	rep movsb
	mov	$scratch, %edi
	mov	%ebx, %ecx
	xor	%eax, %eax
	rep stosb
	mov	$scratch, %edi
	mov	%ebx, %ecx
	repe scasb
	mov	$7, %ecx
	repne scasb
	xor	%ecx, %ecx
	rep stosb
	off
	ret
endcase

case "the end of a page is no branch"
	on
1:	jmp	2f
	.balign	4096, 0x90
	.skip	4090, 0x90
2:	.skip	12, 0x90
	off
	ret
	expect	1b, 2b
endcase

#ifdef __x86_64__
case "far jump, call and return"
	on
1:	ljmp	*3f
2:	ud2
3:	.long	4f, KCS
4:	lcall	*6f
5:	off
	ret
6:	.long	7f, KCS
7:	lretl				/* 32-bit, as the call */
	expect	1b, 4b
	expect	4b, 7b
	expect	7b, 5b
endcase
#else
case "far jump, call and return"
	on
1:	ljmp	$KCS, $4f
	ud2
4:	lcall	$KCS, $7f
5:	lcall	*6f
8:	off
	ret
6:	.long	7f, KCS
7:	lret
	expect	1b, 4b
	expect	4b, 7b
	expect	7b, 5b
	expect	5b, 7b
	expect	7b, 8b
endcase

case "far jump and return with an offset to CS"
	/* Records have linear addresses: CS base + EIP. */
	on
1:	ljmp	$BASED_SEL, $2f - 0x1000
2:	jmp	3f
3:	ljmp	$KCS, $4f
4:	off
	ret
	expect	1b, 2b
	expect	2b, 3b
	expect	3b, 4b
endcase

case "INTO"
	on
	mov	$0x7f, %al
	add	$1, %al
1:	into				/* traps */
2:	test	%al, %al
3:	into				/* does not */
	off
	ret
	expect	1b, isr_iret
	expect	isr_iret, 2b
endcase
#endif

case "INT n, INT3 and IRET"
	on
1:	int	$VEC_IRET
2:	int3
3:	off
	ret
	expect	1b, isr_iret
	expect	isr_iret, 2b
	expect	2b, isr_iret
	expect	isr_iret, 3b
endcase

case "exception"
	on
	nop
1:	ud2
2:	off
	ret
	expect	1b, isr_ud
	expect	isr_ud_iret, 2b
endcase

case "single step"
	on
	pushf
	orl	$0x100, (SP)
	popf
	nop
1:	nop				/* #DB comes after the first NOP */
	jmp	2f
2:	off
	ret
	expect	1b, isr_db
	expect	isr_db_iret, 1b
	expect	1b+1, 2b
endcase

case "single step over a branch"
	on
	pushf
	orl	$0x100, (SP)
	popf
1:	jmp	2f			/* the branch first, then #DB there */
	ud2
2:	off
	ret
	expect	1b, 2b
	expect	2b, isr_db
	expect	isr_db_iret, 2b
endcase

case "hardware interrupt"
	on
	self_ipi SELF_VECTOR + VEC_IPI
	sti
	nop
1:	nop				/* what is to be executed next */
	cli
	off
	ret
	expect	1b, isr_ipi
	expect	isr_ipi_iret, 1b
endcase

case "NMI"
	/* The store after STI is alone in its block: NMI comes right after. */
	movl	$isr_ipi_iret, nmi_handler
	on
	mov	$LAPIC + 0x300, %eax
	sti
	movl	$SELF_NMI, (AX)
1:	cli
	off
	ret
	expect	1b, isr_nmi
	expect	isr_nmi_jmp, isr_ipi_iret
	expect	isr_ipi_iret, 1b
endcase

	.globl	isr_nmi
isr_nmi:				/* a handler the case may choose */
#ifdef __x86_64__
isr_nmi_jmp:
	jmp	*nmi_handler
#else
isr_nmi_jmp:
	jmp	*nmi_handler
#endif

case "IRET to CPL 3, branches there, and INT n back"
	push_user 1f
	on
0:	IRET
	user
1:	jmp	2f
	ud2
2:	call	4f
3:	xor	%eax, %eax
6:	jz	5f
4:	ret
5:	int	$VEC_LEAVE
	enduser
	expect	0b, 1b, ku
	expect	1b, 2b, uu
	expect	2b, 4b, uu
	expect	4b, 3b, uu
	expect	6b, 5b, uu
	expect	5b, isr_leave, uk
endcase

case "INT3, INT n and exception at CPL 3, and back"
	push_user 1f
	on
0:	IRET
	user
1:	int3
2:	int	$VEC_IRET
3:	ud2
4:	int	$VEC_LEAVE
	enduser
	expect	0b, 1b, ku
	expect	1b, isr_iret, uk
	expect	isr_iret, 2b, ku
	expect	2b, isr_iret, uk
	expect	isr_iret, 3b, ku
	expect	3b, isr_ud, uk
	expect	isr_ud_iret, 4b, ku
	expect	4b, isr_leave, uk
endcase

case "hardware interrupt at CPL 3"
	push_user 1f, flags=0x202
	on
	self_ipi SELF_VECTOR + VEC_IPI
0:	IRET
	user
1:	nop
	int	$VEC_LEAVE
	enduser
	expect	0b, 1b, ku
	expect	1b, isr_ipi, uk
	expect	isr_ipi_iret, 1b, ku
	expect	1b+1, isr_leave, uk
endcase

case "page fault at CPL 3"
	push_user 1f
	on
0:	IRET
	user
1:	mov	0x2000, %al		/* a page of the kernel's */
	ud2
	enduser
	expect	0b, 1b, ku
	expect	1b, isr_leave, uk
endcase

case "far return to CPL 3"
	push	$UDS
	push	$user_stack
	push	$UCS_NATIVE
	push	$1f
	on
0:	LRET
	user
1:	int	$VEC_LEAVE
	enduser
	expect	0b, 1b, ku
	expect	1b, isr_leave, uk
endcase

case "call gate from CPL 3"
	push_user 1f
	on
0:	IRET
	user
1:	lcall	*2f
	ud2
2:	.long	0, GATE_SEL | 3
	enduser
	expect	0b, 1b, ku
	expect	1b, isr_gate, uk
	expect	isr_gate, isr_leave
endcase

	.globl	isr_gate
isr_gate:
	jmp	isr_leave

case "call gate from CPL 3 to CPL 3"
	push_user 1f
	on
0:	IRET
	user
1:	lcall	*3f
2:	int	$VEC_LEAVE
3:	.long	0, UGATE_SEL | 3
	.globl	user_gate
user_gate:
	LRET
	enduser
	expect	0b, 1b, ku
	expect	1b, user_gate, uu
	expect	user_gate, 2b, uu
	expect	2b, isr_leave, uk
endcase

case "far call and return at CPL 3"
	push_user 1f
	on
0:	IRET
	user
1:	lcall	*3f
2:	int	$VEC_LEAVE
3:	.long	4f, UCS_NATIVE
4:	lretl
	enduser
	expect	0b, 1b, ku
	expect	1b, 4b, uu
	expect	4b, 2b, uu
	expect	2b, isr_leave, uk
endcase

/* They have the rights of CPL 3: a page fault, and no branch. */
case "far call at CPL 3, to a stack of the kernel's"
	push_user 1f
	on
0:	IRET
	user
1:	mov	$scratch + 4096, %esp
2:	lcall	*3f
3:	.long	4f, UCS_NATIVE
4:	ud2
	enduser
	expect	0b, 1b, ku
	expect	2b, isr_leave, uk
endcase

case "far call through a gate at CPL 3, to a stack of the kernel's"
	push_user 1f
	on
0:	IRET
	user
1:	mov	$scratch + 4096, %esp
2:	lcall	*3f
3:	.long	0, UGATE_SEL | 3
	enduser
	expect	0b, 1b, ku
	expect	2b, isr_leave, uk
endcase

case "far return at CPL 3, from a stack of the kernel's"
	movl	$4f, scratch
	movl	$UCS_NATIVE, scratch + 4
	push_user 1f
	on
0:	IRET
	user
1:	mov	$scratch, %esp
2:	lretl
4:	ud2
	enduser
	expect	0b, 1b, ku
	expect	2b, isr_leave, uk
endcase

#ifndef __x86_64__
	vm86_eflags = 0x23002		/* VM, IOPL 3 */

/* Ends with a return of which only the offset can be read. */
case "virtual-8086 mode: far call and return"
	push	$0			/* GS, FS, DS, ES */
	push	$0
	push	$0
	push	$0
	push	$VM86 >> 4
	push	$0x800			/* SP */
	push	case_flags
	orl	$vm86_eflags, (SP)
	push	$VM86 >> 4
	push	$0
	on
0:	iretl
	.pushsection .rodata
	.globl	vm86_code, vm86_code_end
	.code16
vm86_code:
1:	.byte	0x9a			/* lcall */
	.word	4f - vm86_code, VM86 >> 4
2:	mov	$0xffe, %sp
3:	lretw
4:	lretw
vm86_code_end:
	.code32
	.popsection
	expect	0b, VM86, ku
	expect	VM86, VM86+4b-vm86_code, uu
	expect	VM86+4b-vm86_code, VM86+2b-vm86_code, uu
	expect	VM86+3b-vm86_code, isr_leave, uk
endcase
#endif

#ifdef __x86_64__
case "SYSCALL and SYSRET"
	/* into CPL 3 by SYSRET, out and in again, and out by SYSCALL */
	mov	$1f, %ebx
	mov	case_flags, %r11d
	mov	$user_stack, %esp
	on
	mov	%ebx, %ecx
0:	sysretq
	user
1:	syscall
2:	int	$VEC_LEAVE
	enduser
	expect	0b, 1b, ku
	expect	1b, isr_syscall, uk
	expect	isr_sysret, 2b, ku
	expect	2b, isr_leave, uk
endcase

	.globl	isr_syscall
isr_syscall:
	nop
isr_sysret:
	sysretq
#endif

case "SYSENTER and SYSEXIT"
	mov	$1f, %ebx
	on
	mov	%ebx, %edx
	mov	$user_stack, %ecx
#ifdef __x86_64__
0:	rex.W sysexit
#else
0:	sysexit
#endif
	user
1:	sysenter
	ud2
	enduser
	expect	0b, 1b, ku
	expect	1b, isr_sysenter, uk
	expect	isr_sysenter, isr_leave
endcase

	.globl	isr_sysenter
isr_sysenter:
	jmp	isr_leave

#ifdef __x86_64__
/* IRET to a far address, and a branch there. */
case "full 64-bit addresses"
	movabs	$ALIAS + 1f, %rbx
	on
0:	jmp	*%rbx
1:	jmp	2f
2:	movabs	$4f, %rbx
3:	jmp	*%rbx
4:	off
	ret
	expect	0b, ALIAS+1b
	expect	ALIAS+1b, ALIAS+2b
	expect	ALIAS+3b, 4b
endcase

/*
 * Kernel code at high addresses, compatibility mode at low ones: FROM is as
 * wide as the mode before the branch, TO as the mode after it.  The upper
 * half of RBX survives the change of mode, and must not show.
 */
case "compatibility mode: branches and crossings"
	push_user 1f, UCS32
	on
	movabs	$ALIAS + 12f, %rax
11:	jmp	*%rax
12:	movabs	$0xdead000000000000 + 2f, %rbx
0:	iretq
	user
	.code32
1:	jmp	*%ebx
	ud2
2:	call	4f
3:	mov	$0x7f, %al
	add	$1, %al
	into
	jmp	5f
4:	ret
5:	jecxz	6f
6:	loop	7f
	ud2
7:	ud2
8:	lcall	$UCS32, $10f
9:	int	$VEC_LEAVE
10:	lret
	.code64
	enduser
	expect	11b, ALIAS+12b
	expect	ALIAS+0b, 1b, ku
	expect	1b, 2b, uu
	expect	2b, 4b, uu
	expect	4b, 3b, uu
	expect	3b+4, isr_iret, uk
	expect	isr_iret, 3b+5, ku
	expect	3b+5, 5b, uu
	expect	6b, 7b, uu
	expect	7b, isr_ud, uk
	expect	isr_ud_iret, 8b, ku
	expect	8b, 10b, uu
	expect	10b, 9b, uu
	expect	9b, isr_leave, uk
endcase

case "compatibility mode: interrupt to a high address"
	push_user 1f, UCS32
	on
0:	iretq
	user
	.code32
1:	int	$VEC_HIGH
2:	int	$VEC_LEAVE
	.code64
	enduser
	expect	0b, 1b, ku
	expect	1b, ALIAS+isr_iret, uk
	expect	ALIAS+isr_iret, 2b, ku
	expect	2b, isr_leave, uk
endcase

case "compatibility mode: SYSEXIT and SYSENTER"
	mov	$1f, %ebx
	on
	mov	%ebx, %edx
	mov	$user_stack, %ecx
0:	sysexitl
	user
	.code32
1:	sysenter
	.code64
	enduser
	expect	0b, 1b, ku
	expect	1b, isr_sysenter, uk
	expect	isr_sysenter, isr_leave
endcase

case "compatibility mode: SYSRET"
	mov	$1f, %ebx
	mov	case_flags, %r11d
	on
	mov	%ebx, %ecx
0:	sysretl
	user
	.code32
1:	mov	$UDS, %eax
	mov	%eax, %ss
	int	$VEC_LEAVE
	.code64
	enduser
	expect	0b, 1b, ku
	expect	1b+7, isr_leave, uk
endcase

case "compatibility mode: far jump to 64-bit mode"
	push_user 1f, UCS32
	on
0:	iretq
	user
	.code32
1:	ljmp	$UCS, $2f
	.code64
2:	ljmp	*3f
	ud2
3:	.long	4f, UCS32
	.code32
4:	int	$VEC_LEAVE
	.code64
	enduser
	expect	0b, 1b, ku
	expect	1b, 2b, uu
	expect	2b, 4b, uu
	expect	4b, isr_leave, uk
endcase

/* The fault's record has each branch's address, also where CPL 3 is off. */
case "branches to an address that is not canonical, at CPL 3"
	push_user 1f
	movabs	$1 << 47, %rbx
	movq	$9f, gp_fixup
	on
0:	iretq
	user
1:	mov	$3f, %edx
2:	jmp	*%rbx
9:	jmp	*%rdx
3:	mov	$5f, %edx
4:	call	*%rbx
5:	mov	$7f, %edx
	push	%rbx
6:	ret
7:	int	$VEC_LEAVE
	enduser
	expect	0b, 1b, ku
	expect	2b, isr_gp, uk
	expect	isr_gp_iret, 9b, ku
	expect	9b, 3b, uu
	expect	4b, isr_gp, uk
	expect	isr_gp_iret, 9b, ku
	expect	9b, 5b, uu
	expect	6b, isr_gp, uk
	expect	isr_gp_iret, 9b, ku
	expect	9b, 7b, uu
	expect	7b, isr_leave, uk
endcase

/*
 * On Intel such a branch faults where it is.  TCG lets it go and faults at
 * the target; the records are those of the processor.
 */
case "branch to an address that is not canonical"
	movabs	$1 << 47, %rbx
	movq	$2f, gp_fixup
	on
1:	jmp	*%rbx
	ud2
2:	off
	movq	$0, gp_fixup
	ret
	expect	1b, isr_gp
	expect	isr_gp_iret, 2b
endcase
#endif

	.bss
	.globl	nmi_handler, case_flags
case_flags: .skip 8
scratch: .skip	16384
nmi_handler: .skip 8
