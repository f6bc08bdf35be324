/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Branches to the very next instruction: taken, they are branches although
 * nothing is skipped; not taken, they are none although they end up there too.
 */
#include "workload.inc"

/* A conditional branch and its opposite, with flags that make @cc true, then false. */
.macro both cc:req, flags:req
	status	\flags
	branch	1f, j\cc 1f
1:	jn\cc	1f
1:	status	0
	j\cc	1f
1:	branch	1f, jn\cc 1f
1:
.endm

_start:
	.rept 40
	branch	1f, jmp 1f
1:	branch	1f, {disp32} jmp 1f
1:	lea	1f(%rip), %rax
	branch	1f, jmp *%rax
1:	lea	1f(%rip), %rax
	mov	%rax, pointer(%rip)
	branch	1f, jmp *pointer(%rip)
1:	branch	1f, call 1f
1:	pop	%rax
	lea	1f(%rip), %rax
	branch	1f, call *%rax
1:	lea	1f(%rip), %rax
	mov	%rax, (%rsp)
	branch	1f, ret
1:	push	%rax
	push	%rax
	lea	1f(%rip), %rax
	push	%rax
	branch	1f, ret $16
1:
	both	o, OF
	both	c, CF
	both	z, ZF
	both	be, CF
	both	be, ZF
	both	s, SF
	both	p, PF
	both	l, SF
	both	l, OF
	both	le, ZF
	both	le, SF

	mov	$2, %ecx
	branch	1f, loop 1f
1:	loop	1f
1:	status	ZF
	mov	$2, %ecx
	branch	1f, loope 1f
1:	loope	1f
1:	mov	$2, %ecx
	loopne	1f
1:	status	0
	mov	$2, %ecx
	branch	1f, loopne 1f
1:	mov	$2, %ecx
	loope	1f
1:	branch	1f, jmp 1f
1:	jrcxz	1f
1:	xor	%ecx, %ecx
	branch	1f, jrcxz 1f
1:
	.endr
	exit_program

	.bss
pointer:
	.quad	0
