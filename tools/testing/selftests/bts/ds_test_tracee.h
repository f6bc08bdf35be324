/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which branches does the tracee of ds_consumer_test take? 5 a round, two of them by
 * way of slots that tell the lower and the upper byte of the round's number, and none
 * besides: so every branch of up to 65536 rounds has a number of its own.
 */
#ifndef DS_TEST_TRACEE_H
#define DS_TEST_TRACEE_H

#include <stdint.h>

asm(".pushsection .text\n"
	".globl ds_test_tracee, ds_round, ds_jump, ds_slots, ds_back\n"
	".globl ds_jump2, ds_slots2, ds_back2, ds_again, ds_end\n"
	"ds_test_tracee:\n"
	"	mov	%rsi, %r12\n"
	"	mov	%rdx, %r13\n"
	"	xor	%ebx, %ebx\n"
	"	lea	-16(%rsp), %rsi\n"
	"	mov	$1, %edx\n"
	"	mov	%edx, %eax\n"	/* write */
	"	syscall\n"
	"	xor	%eax, %eax\n"	/* read */
	"	syscall\n"
	"	mov	%r13, %rax\n"
	"	syscall\n"
	"ds_round:\n"
	"	movzbl	%bl, %eax\n"
	"	lea	ds_slots(%rip), %rcx\n"
	"	lea	(%rcx, %rax, 8), %rcx\n"
	"ds_jump:\n"
	"	jmp	*%rcx\n"
	"	.balign	8\n"
	"ds_slots:\n"
	"	.rept	256\n"
	"	.byte	0xe9\n"
	"	.long	ds_back - . - 4\n"
	"	.balign	8\n"
	"	.endr\n"
	"ds_back:\n"
	"	movzbl	%bh, %eax\n"
	"	lea	ds_slots2(%rip), %rcx\n"
	"	lea	(%rcx, %rax, 8), %rcx\n"
	"ds_jump2:\n"
	"	jmp	*%rcx\n"
	"	.balign	8\n"
	"ds_slots2:\n"
	"	.rept	256\n"
	"	.byte	0xe9\n"
	"	.long	ds_back2 - . - 4\n"
	"	.balign	8\n"
	"	.endr\n"
	"ds_back2:\n"
	"	inc	%rbx\n"
	"	cmp	%r12, %rbx\n"
	"ds_again:\n"
	"	jb	ds_round\n"
	"	mov	$231, %eax\n"
	"	xor	%edi, %edi\n"
	"	syscall\n"
	"	ud2\n"
	"ds_end:\n"
	".popsection\n");
extern const char ds_round[], ds_jump[], ds_slots[], ds_back[], ds_jump2[], ds_slots2[],
	ds_back2[], ds_again[], ds_end[];

/*
 * Says that it is there, waits for an answer, does one system call, its rounds, and
 * exits.
 */
void ds_test_tracee(int fd, uint64_t rounds, long call);

#endif
