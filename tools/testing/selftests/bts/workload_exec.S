/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes a few branches, then becomes the program named as its argument, which is
 * traced on.
 */
#include "workload.inc"

_start:
	.rept	20
	branch	1f, jmp 1f
	ud2
1:
	.endr
	mov	16(%rsp), %rdi
	lea	16(%rsp), %rsi
	xor	%edx, %edx
	mov	$59, %eax
	syscall
	ud2
