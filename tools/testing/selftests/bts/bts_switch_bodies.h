/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do the tracees of bts_switch_test do? Each runs rounds whose branches are known
 * to the last one, at addresses that no other tracee uses.
 */
#ifndef BTS_SWITCH_BODIES_H
#define BTS_SWITCH_BODIES_H

#include <stdint.h>

#define NR_SLOTS	256
#define SLOT_SIZE	8

/*
 * BODY(name, work): stop; then rounds of a jump to a slot, a jump back and @work,
 * while the number of rounds done (rbx) is below the limit (at r12); stop; exit.
 * @work may use r13 to r15, as set by body_arguments, and clobber the others.
 */
#define BODY(name, work)				\
	asm(".pushsection .text\n"			\
	    ".globl " #name "_start\n"			\
	    #name "_start:\n"				\
	    "	int3\n"					\
	    #name "_round:\n"				\
	    "	movzbl	%bl, %eax\n"			\
	    "	lea	" #name "_slots(%rip), %rcx\n"	\
	    "	lea	(%rcx, %rax, 8), %rcx\n"	\
	    #name "_jump:\n"				\
	    "	jmp	*%rcx\n"			\
	    "	.balign	8\n"				\
	    #name "_slots:\n"				\
	    "	.rept	256\n"				\
	    "	.byte	0xe9\n"				\
	    "	.long	" #name "_back - . - 4\n"	\
	    "	.balign	8\n"				\
	    "	.endr\n"				\
	    #name "_back:\n"				\
	    work					\
	    "	inc	%rbx\n"				\
	    "	cmp	(%r12), %rbx\n"			\
	    #name "_again:\n"				\
	    "	jb	" #name "_round\n"		\
	    "	int3\n"					\
	    "	mov	$60, %eax\n" /* exit */		\
	    "	xor	%edi, %edi\n"			\
	    "	syscall\n"				\
	    ".popsection\n");				\
	extern const char name##_start[], name##_round[], name##_jump[]; \
	extern const char name##_slots[], name##_back[], name##_again[]; \
	static const struct body name = {		\
		name##_start, name##_round, name##_jump,	\
		name##_slots, name##_back, name##_again,	\
	}

struct body {
	const char *start, *round, *jump, *slots, *back, *again;
};

/* A byte to the pipe r14, a byte from the pipe r13; anything else is fatal. */
#define WRITE_BYTE				\
	"	mov	$1, %eax\n"		\
	"	mov	%r14d, %edi\n"		\
	"	mov	%rsp, %rsi\n"		\
	"	mov	$1, %edx\n"		\
	"	syscall\n"			\
	"	cmp	$1, %rax\n"		\
	"	jne	bad_work\n"
#define READ_BYTE				\
	"	xor	%eax, %eax\n"		\
	"	mov	%r13d, %edi\n"		\
	"	mov	%rsp, %rsi\n"		\
	"	mov	$1, %edx\n"		\
	"	syscall\n"			\
	"	cmp	$1, %rax\n"		\
	"	jne	bad_work\n"
/* Takes time, r13 times a little, and no branch. */
#define DAWDLE					\
	"	mov	%r13, %rcx\n"		\
	"	lea	bad_work(%rip), %rsi\n"	\
	"	rep lodsb\n"
/* A child with branches of its own, and its end. */
#define FORK					\
	"	mov	$57, %eax\n"		\
	"	syscall\n"			\
	"	test	%eax, %eax\n"		\
	"	js	bad_work\n"		\
	"	jz	forked_child\n"		\
	"	mov	%eax, %edi\n"		\
	"	mov	$61, %eax\n" /* wait4 */	\
	"	xor	%esi, %esi\n"		\
	"	xor	%edx, %edx\n"		\
	"	xor	%r10d, %r10d\n"		\
	"	syscall\n"

BODY(ping, WRITE_BYTE READ_BYTE);
BODY(pong, READ_BYTE WRITE_BYTE);
BODY(compute_0, DAWDLE);
BODY(compute_1, DAWDLE);
BODY(compute_2, DAWDLE);
BODY(hogging, "");
BODY(forking, FORK);

asm(".pushsection .text\n"
	"bad_work:\n"
	"	ud2\n"
	/* Where rep lodsb reads. */
	"	.skip	4096\n"
	"forked_child:\n"
	"	mov	$300, %ecx\n"
	"1:	dec	%ecx\n"
	"	jnz	1b\n"
	"	mov	$60, %eax\n"
	"	xor	%edi, %edi\n"
	"	syscall\n"
	/* void run_body(start, limit, r13, r14): does not return */
	".globl run_body\n"
	"run_body:\n"
	"	mov	%rsi, %r12\n"
	"	mov	%rdx, %r13\n"
	"	mov	%rcx, %r14\n"
	"	xor	%ebx, %ebx\n"
	"	jmp	*%rdi\n"
	/* void exec_body(path): stops, branches once, and becomes @path */
	".globl exec_body\n"
	"exec_body:\n"
	"	push	$0\n"
	"	push	%rdi\n"
	"	int3\n"
	"	mov	%rsp, %rsi\n"
	"	xor	%edx, %edx\n"
	"	mov	$59, %eax\n"
	"exec_jump:\n"
	"	jmp	exec_call\n"
	"	ud2\n"
	"exec_call:\n"
	"	syscall\n"
	"	ud2\n"
	".popsection\n");
extern const char exec_jump[], exec_call[];
void run_body(const char *start, const uint64_t *limit, long r13, long r14);
void exec_body(const char *path);

#endif
