/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loops by every instruction that can make one, and conditional branches that
 * skip something; the last loop runs long without any system call.
 */
#include "workload.inc"

/* @cc holds with @flags: its branch is taken, that of its opposite is not. */
.macro skips cc:req, opposite:req, flags:req
	status	\flags
	branch	1f, j\cc 1f
	ud2
1:	j\opposite 2f
	branch	3f, jmp 3f
2:	ud2
3:
.endm

_start:
	mov	$100, %ecx
1:	dec	%ecx
2:	jnz	1b
	took	2b, 1b, 99

	mov	$100, %ecx
1:	nop
2:	loop	1b
	took	2b, 1b, 99

	/* Until the flag changes, not until the count is used up. */
	mov	$100, %ecx
1:	cmp	$11, %ecx
2:	loopne	1b
	took	2b, 1b, 89
	mov	$100, %ecx
1:	cmp	$50, %ecx
	setae	%al
	cmp	$1, %al
2:	loope	1b
	took	2b, 1b, 51

	/* The counter's upper half counts by the address size. */
	mov	$0x100000003, %rcx
1:	nop
2:	addr32 loop 1b
	took	2b, 1b, 2
	mov	$0x100000000, %rcx
	jrcxz	2f
	branch	1f, jecxz 1f
2:	ud2
1:	xor	%ecx, %ecx
	branch	1f, jrcxz 1f
	ud2
1:

	/* Loops in loops. */
	mov	$30, %edx
1:	mov	$4, %ecx
2:	dec	%ecx
3:	jnz	2b
	dec	%edx
4:	jnz	1b
	.rept	29
	took	3b, 2b, 3
	took	4b, 1b
	.endr
	took	3b, 2b, 3

	/* A loop whose test is at its head. */
	xor	%ecx, %ecx
1:	cmp	$20, %ecx
2:	jae	4f
	inc	%ecx
3:	jmp	1b
4:	took	3b, 1b, 20
	took	2b, 4b

	.rept	10
	skips	o, no, OF
	skips	c, nc, CF
	skips	z, nz, ZF
	skips	be, nbe, CF | ZF
	skips	s, ns, SF
	skips	p, np, PF
	skips	l, nl, SF
	skips	le, nle, OF
	skips	no, o, CF | ZF | SF | PF
	skips	nc, c, OF | ZF | SF | PF
	skips	nz, z, OF | CF | SF | PF
	skips	nbe, be, OF | SF | PF
	skips	ns, s, OF | CF | ZF | PF
	skips	np, p, OF | CF | ZF | SF
	skips	nl, l, OF | SF
	skips	nle, le, OF | SF
	.endr

	mov	$8000, %ecx
1:	loop	1b
	took	1b, 1b, 7999
	exit_program
