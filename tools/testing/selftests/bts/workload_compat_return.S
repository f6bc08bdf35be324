/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The far transfers of a 32-bit program by way of the stack; back from 64-bit
 * code as well.
 */
#include "workload.inc"

#define USER32_CS	0x23
#define USER64_CS	0x33

_start:
	mov	%cs, %eax
	.rept	100
	push	%eax
	push	$1f
	branch	1f, lret
	ud2
1:	push	$0
	push	%eax
	push	$1f
	branch	1f, lret $4
	ud2
1:	pushf
	push	%eax
	push	$1f
	branch	1f, iret
	ud2
1:	branch	far_callee, lcall $USER32_CS, $far_callee
1:	took	far_callee_ret, 1b

	branch	1f, ljmp $USER64_CS, $1f
	.code64
1:	lea	1f(%rip), %rcx
	pushq	$USER32_CS
	push	%rcx
	branch	1f, lretq
	ud2
	.code32
1:
	.endr
	exit_program

far_callee:
	nop
far_callee_ret:
	lret
