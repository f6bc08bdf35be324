/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How does a tracee fork over and over, so that each branch is known?
 *
 * As in the rounds of bts_round each is told in memory at r13, and r12 says how many.
 * One takes one branch, back to the next. r14: number of the system call.
 */
#ifndef PTRACE_BTS_FORK_H
#define PTRACE_BTS_FORK_H

asm(".pushsection .text\n"
	".globl fork_round, fork_again\n"
	"fork_round:\n"
	"	mov	%r14, %rax\n"
	"	syscall\n"
	"	test	%eax, %eax\n"
	"	jz	fork_child\n"
	"	inc	%rbx\n"
	"	mov	%rbx, (%r13)\n"
	"	cmp	%r12, %rbx\n"
	"fork_again:\n"
	"	jb	fork_round\n"
	"	int3\n"
	"fork_child:\n"
	"	mov	$60, %eax\n"
	"	xor	%edi, %edi\n"
	"	syscall\n"
	"	ud2\n"
	".popsection\n");
extern const char fork_round[], fork_again[];

#endif
