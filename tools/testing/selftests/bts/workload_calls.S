/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Direct and indirect calls and jumps, and recursion.  Some of them fault half
 * way: on the stack page they push to, on the pointer they go by, on the page
 * they arrive at.  A branch that is tried again was still taken once.
 */
#include "workload.inc"

_start:
	.rept	50
	branch	direct, call direct
1:	took	direct_ret, 1b

	lea	direct(%rip), %rax
	branch	direct, call *%rax
1:	took	direct_ret, 1b

	branch	direct, call *direct_pointer(%rip)
1:	took	direct_ret, 1b

	branch	outer, call outer
1:	took	outer_call, direct
	took	direct_ret, outer_jump
	took	outer_jump, direct
	took	direct_ret, 1b

	pushq	$0
	pushq	$0
	branch	drops, call drops
1:	took	drops_ret, 1b

	lea	1f(%rip), %rax
	push	%rax
	branch	direct, jmp direct
	ud2
1:	took	direct_ret, 1b

	lea	1f(%rip), %rax
	push	%rax
	branch	1f, ret
	ud2
1:
	.endr

	xor	%ebx, %ebx
1:	lea	table(%rip), %rax
2:	jmp	*(%rax, %rbx, 8)
case_0:	jmp	3f
case_1:	nop
case_2:	jmp	3f
case_3:	jmp	3f
3:	inc	%ebx
	cmp	$4, %ebx
4:	jne	1b
	took	2b, case_0
	took	case_0, 3b
	took	4b, 1b
	took	2b, case_1
	took	case_2, 3b
	took	4b, 1b
	took	2b, case_2
	took	case_2, 3b
	took	4b, 1b
	took	2b, case_3
	took	case_3, 3b

	/* Each level's call is the first to touch its page of the stack. */
	mov	$100, %ecx
	branch	deeper, call deeper
1:	took	deeper_call, deeper, 99
	took	deeper_last, deeper_ret
	took	deeper_ret, deeper_back, 99
	took	deeper_ret, 1b

	/* The pointer's page and the target's are touched by the call. */
	branch	faraway, call *faraway_pointer
1:	took	faraway_ret, 1b
	exit_program

direct:
	nop
direct_ret:
	ret

outer:
outer_call:
	call	direct
outer_jump:
	jmp	direct

drops:
drops_ret:
	ret	$16

deeper:
	dec	%ecx
deeper_last:
	jz	deeper_ret
	sub	$4096 - 8, %rsp
deeper_call:
	call	deeper
deeper_back:
	add	$4096 - 8, %rsp
deeper_ret:
	ret

	.section .faraway_text, "ax", @progbits
faraway:
	nop
faraway_ret:
	ret

	.section .faraway_data, "aw", @progbits
faraway_pointer:
	.quad	faraway

	.data
direct_pointer:
	.quad	direct
table:
	.quad	case_0, case_1, case_2, case_3
