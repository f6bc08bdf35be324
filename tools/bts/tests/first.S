/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which branches does a program take, from its first instruction to its last?
 *
 * Few enough to be written out in the test; for 64 and 32 bits.
 */
	.text
	.globl	_start
	.type	_start, @function
_start:
	jmp	start
	.size	_start, . - _start

	.type	sum, @function
sum:
	ret
	.size	sum, . - sum

	.type	start, @function
start:
	mov	$3, %ecx
1:	loop	1b
	call	sum
	jmp	2f
2:	test	%esp, %esp
	jz	1b
	mov	$5, %edi
	mov	%edi, %ebx
#ifdef __x86_64__
	mov	$231, %eax	/* exit_group */
	syscall
#else
	mov	$252, %eax
	int	$0x80
#endif
	.size	start, . - start

	.section .note.GNU-stack, "", @progbits
