/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Far transfers by way of the stack that stay in user mode: far call and return,
 * IRET.
 */
#include "workload.inc"

_start:
	/* A far call with 32-bit operands; some emulators cut RSP as well. */
	lea	stack_end(%rip), %rsp
	mov	%cs, %ebx
	mov	%ebx, far_pointer + 4(%rip)
	.rept	100
	lea	1f(%rip), %rax
	push	%rbx
	push	%rax
	branch	1f, lretq
	ud2

1:	pushq	$0
	lea	1f(%rip), %rax
	push	%rbx
	push	%rax
	branch	1f, lretq $8
	ud2

1:	lea	far_callee(%rip), %rax
	mov	%eax, far_pointer(%rip)
	branch	far_callee, lcall *far_pointer(%rip)
1:	took	far_callee_ret, 1b

	lea	1f(%rip), %rax
	mov	%rsp, %rcx
	mov	%ss, %edx
	push	%rdx
	push	%rcx
	pushfq
	push	%rbx
	push	%rax
	branch	1f, iretq
	ud2
1:
	.endr
	exit_program

far_callee:
	nop
far_callee_ret:
	lretl

	.bss
	.balign	16
far_pointer:
	.quad	0
	.skip	4096
stack_end:
