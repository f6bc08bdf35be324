/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What suites that count use in assembly: rows of one instruction in a window,
 * the ends of windows and of their overflows, and handlers of which each
 * instruction is known.
 */
#include "asm.h"
#include "pmu.h"

	.text
	.globl	nothing, nops, nops_row, jumps, jumps_row, mixed, mixed_row
nothing:
	open
	close
	ret

nops:
	open
nops_row:
	.rept	ROW
	nop
	.endr
	close
	ret

jumps:
	open
jumps_row:
	.rept	ROW
	.byte	0xeb, 0
	.endr
	close
	ret

/* Two bytes each, by turns: not a branch, taken, conditional, not taken. */
mixed:
	xor	%ebx, %ebx
	open
mixed_row:
	.rept	ROW / 4
	test	%ebx, %ebx
	.byte	0xeb, 0			/* jmp */
	.byte	0x74, 0			/* je: taken */
	.byte	0x75, 0			/* jne: not taken */
	.endr
	close
	ret

/* Jumps in three runs, of 2, 1 and 4. */
	.globl	runs, runs_row
runs:
	open
runs_row:
	nop
	.byte	0xeb, 0, 0xeb, 0
	nop
	nop
	.byte	0xeb, 0
	nop
	.rept	4
	.byte	0xeb, 0
	.endr
	close
	ret

/* A repeated string instruction, the third of the row. */
	.globl	repeats, repeats_row, repeats_after
repeats:
	cld
	open
repeats_row:
	mov	$repeats_buffer, %edi
	mov	$REPEATS, %ecx
	rep stosb
repeats_after:
	nop
	nop
	close
	ret
	.bss
repeats_buffer: .skip REPEATS
	.text

/* MOV SS, and what it protects from interrupts. */
	.globl	protects, protects_row
protects:
	mov	%ss, %ebx
	open
protects_row:
	mov	%ebx, %ss		/* two bytes */
	nop
	nop
	close
	ret

	.globl	user_nothing, user_nops, user_nops_row, user_jumps, user_jumps_row
user_nothing:
	push_user 1f
	open
	IRET
	user
1:	int	$VEC_LEAVE
	enduser

user_nops:
	push_user user_nops_row
	open
	IRET
	user
user_nops_row:
	.rept	ROW
	nop
	.endr
	int	$VEC_LEAVE
	enduser

user_jumps:
	push_user user_jumps_row
	open
	IRET
	user
user_jumps_row:
	.rept	ROW
	.byte	0xeb, 0
	.endr
	int	$VEC_LEAVE
	enduser

/* Until an interrupt, which a suite has seen to. */
	.globl	halt
halt:
	open
	sti
	hlt
	cli
	close
	ret

/*
 * Two jumps with a known value in every register: the second is to leave a
 * record of it.  In between is no event but those.
 */
	.globl	registers, registers_jump, registers_after, registers_sp
registers:
#ifdef __x86_64__
	open
	mov	%rsp, registers_sp
	movabs	$REGISTER(0), %rax
	movabs	$REGISTER(1), %rbx
	movabs	$REGISTER(2), %rcx
	movabs	$REGISTER(3), %rdx
	movabs	$REGISTER(4), %rsi
	movabs	$REGISTER(5), %rdi
	movabs	$REGISTER(6), %rbp
	movabs	$REGISTER(8), %r8
	movabs	$REGISTER(9), %r9
	movabs	$REGISTER(10), %r10
	movabs	$REGISTER(11), %r11
	movabs	$REGISTER(12), %r12
	movabs	$REGISTER(13), %r13
	movabs	$REGISTER(14), %r14
	movabs	$REGISTER(15), %r15
#else
	open
	mov	%esp, registers_sp
	mov	$REGISTER(0), %eax
	mov	$REGISTER(1), %ebx
	mov	$REGISTER(2), %ecx
	mov	$REGISTER(3), %edx
	mov	$REGISTER(4), %esi
	mov	$REGISTER(5), %edi
	mov	$REGISTER(6), %ebp
#endif
	push	$REGISTER_FLAGS
	popf
	.byte	0xeb, 0
registers_jump:
	jmp	registers_after
	ud2
registers_after:
	close
	cld
	ret
	.bss
	.balign	8
registers_sp: .skip 8
	.text

/* A register that changes with each instruction: from 0. */
	.globl	increments, increments_row
increments:
	open
	xor	%eax, %eax
increments_row:
	.rept	ROW
	add	$1, %eax		/* three bytes */
	.endr
	close
	ret

/* RDPMC of user_index at CPL 3.  Where it faults, user_faulted stays set. */
	.globl	user_rdpmc, user_index, user_faulted, user_lo, user_hi
user_rdpmc:
	movl	$1, user_faulted
	mov	$2f, %eax
	mov	AX, gp_fixup
	push_user 1f
	mov	user_index, %ecx
	IRET
	user
1:	mov	$UDS, %ebx		/* IRET took DS away in the 32-bit guest */
	mov	%ebx, %ds
	mov	$-1, AX
	mov	AX, DX
	rdpmc
	mov	AX, user_lo
	mov	DX, user_hi
	movl	$0, user_faulted
2:	int	$VEC_LEAVE
	.balign	8
user_index:	.skip 8
user_faulted:	.skip 8
user_lo:	.skip 8
user_hi:	.skip 8
	enduser

/* VEC_LEAVE of a suite that counts: the window ends first. */
	.globl	isr_close
isr_close:
	close
	jmp	isr_leave

/* #PF: map the page, and again.  Six instructions. */
	.globl	isr_map
isr_map:
	add	$WORD, SP
	push	AX
	mov	fault_pte, AX
	orl	$1, (AX)
	pop	AX
	IRET

/* #DB: no more steps, and not the same breakpoint again.  Three instructions. */
	.globl	isr_step_over
isr_step_over:
	andl	$~0x100, 2*WORD(SP)
	orl	$0x10000, 2*WORD(SP)
	IRET

/* Like a driver's: stop all counters, look, and go on as the suite wants. */
	.globl	isr_overflow
isr_overflow:
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
	push	%ds			/* CPL 3 has none */
	push	%es
	mov	$KDS, %eax
	mov	%eax, %ds
	mov	%eax, %es
#endif
	mov	$MSR_GLOBAL_CTRL, %ecx
	rdmsr
	mov	%eax, ctrl_at_overflow
	mov	%edx, ctrl_at_overflow + 4
	close
#ifdef __x86_64__
	mov	9*WORD(SP), %rdi
	mov	10*WORD(SP), %rsi
	call	overflow
#else
	push	11*WORD(SP)
	push	11*WORD(SP)
	call	overflow
	add	$2*WORD, SP
#endif
	mov	$MSR_GLOBAL_CTRL, %ecx
	mov	window_after_pmi, %eax
	mov	window_after_pmi + 4, %edx
	wrmsr
#ifdef __x86_64__
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
	pop	%es
	pop	%ds
	popa
#endif
	IRET

	.bss
	.balign	8
	.globl	window, window_after_pmi, ctrl_at_overflow, fault_pte
window:	.skip	8
window_after_pmi: .skip 8
ctrl_at_overflow: .skip 8
fault_pte: .skip 8
