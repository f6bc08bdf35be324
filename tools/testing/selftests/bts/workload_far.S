/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Far jumps that stay in user mode.
 */
#include "workload.inc"

_start:
	mov	%cs, %ebx
	mov	%ebx, far_pointer + 4(%rip)
	.rept	500
	lea	1f(%rip), %rax
	mov	%eax, far_pointer(%rip)
	branch	1f, ljmp *far_pointer(%rip)
	ud2
1:
	.endr
	exit_program

	.data
	.balign	8
far_pointer:
	.quad	0
