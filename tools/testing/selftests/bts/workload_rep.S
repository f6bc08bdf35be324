/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * REP string instructions, some of which fault in the middle: none is a branch,
 * however often it repeats.
 */
#include "workload.inc"

/* Something to see between them. */
.macro mark
	branch	1f, jmp 1f
	ud2
1:
.endm

_start:
	cld
	/* Pages not touched before: it faults at each, and goes on there. */
	lea	fresh(%rip), %rdi
	mov	$4 * 4096 / 8, %ecx
	mov	$0x0101010101010101, %rax
	rep stosq
	mark

	.rept	60
	lea	fresh(%rip), %rsi
	lea	fresh + 64(%rip), %rdi
	mov	$2, %ecx
	rep movsb
	mark
	mov	$3, %ecx
	rep movsq
	mark
	rep movsl
	mark

	/* Ends by the count, then by the flag. */
	mov	$2, %ecx
	repe cmpsb
	branch	1f, je 1f
	ud2
1:	mov	$10, %ecx
	movb	$7, 1(%rdi)
	movb	$1, 1(%rsi)
	repe cmpsb
	branch	1f, jne 1f
	ud2
1:	mov	$7, %al
	dec	%rdi
	mov	$10, %ecx
	repne scasb
	branch	1f, je 1f
	ud2
1:	mov	$2, %ecx
	rep lodsb
	mark
	.endr
	exit_program

	.bss
	.balign	4096
fresh:
	.skip	4 * 4096
