/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A 32-bit program: its addresses, counters and system calls, and its excursions
 * into 64-bit code.
 */
#include "workload.inc"

#define USER32_CS	0x23
#define USER64_CS	0x33

_start:
	.rept	100
	branch	1f, jmp 1f
1:	mov	$20, %eax		/* getpid */
	int	$0x80
	branch	callee, call callee
1:	took	callee_ret, 1b
	mov	$callee, %eax
	branch	callee, call *%eax
1:	took	callee_ret, 1b
	branch	callee, call *callee_pointer
1:	took	callee_ret, 1b

	/* The upper half counts by the address size here, too. */
	mov	$0x10003, %ecx
1:	nop
2:	loopw	1b
	took	2b, 1b, 2
	mov	$0x10000, %ecx
	jecxz	2f
	branch	1f, jcxz 1f
2:	ud2
1:	mov	$3, %ecx
1:	nop
2:	loop	1b
	took	2b, 1b, 2

	/* There and back. */
	branch	1f, ljmp $USER64_CS, $1f
	.code64
1:	branch	1f, jmp 1f
	ud2
1:	lea	(%rax, %rax), %r8	/* no such registers in 32-bit mode */
	branch	1f, call 1f
1:	pop	%rcx
	lea	1f(%rip), %rcx
	mov	%ecx, back(%rip)
	branch	1f, ljmp *back(%rip)
	ud2
	.code32
1:
	.endr
	exit_program

callee:
	nop
callee_ret:
	ret

	.data
callee_pointer:
	.long	callee
back:
	.long	0, USER32_CS
