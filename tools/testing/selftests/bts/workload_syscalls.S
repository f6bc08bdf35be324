/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls by both ways in: quick ones, ones that sleep and let others run,
 * one that maps memory, one that makes a child which is not traced.
 */
#include "workload.inc"

#define NR_read			0
#define NR_mmap			9
#define NR_munmap		11
#define NR_pipe			22
#define NR_sched_yield		24
#define NR_nanosleep		35
#define NR_getpid		39
#define NR_fork			57
#define NR_exit			60
#define NR_wait4		61
#define NR_write		1
#define NR_getpid_32		20

/* Something to see between them. */
.macro mark
	branch	1f, jmp 1f
	ud2
1:
.endm

_start:
	.rept	100
	mov	$NR_getpid, %eax
	syscall
	mark
	mov	$NR_getpid_32, %eax
	int	$0x80
	mark
	mov	$NR_sched_yield, %eax
	syscall
	branch	callee, call callee
1:	took	callee_ret, 1b
	.endr

	.rept	10
	mov	$NR_nanosleep, %eax
	lea	moment(%rip), %rdi
	xor	%esi, %esi
	syscall
	mark
	.endr

	/* No such call, and a bad pointer. */
	mov	$-1, %rax
	syscall
	mark
	mov	$NR_pipe, %eax
	xor	%edi, %edi
	syscall
	mark

	.rept	10
	/* A byte through a pipe. */
	mov	$NR_pipe, %eax
	lea	fds(%rip), %rdi
	syscall
	mov	$NR_write, %eax
	mov	fds + 4(%rip), %edi
	lea	byte(%rip), %rsi
	mov	$1, %edx
	syscall
	mark
	mov	$NR_read, %eax
	mov	fds(%rip), %edi
	syscall
	mark

	mov	$NR_mmap, %eax
	xor	%edi, %edi
	mov	$4096, %esi
	mov	$7, %edx		/* read, write, execute */
	mov	$0x22, %r10d		/* private, anonymous */
	mov	$-1, %r8
	xor	%r9d, %r9d
	syscall
	mov	%rax, %rdi
	mov	$NR_munmap, %eax
	mov	$4096, %esi
	syscall
	mark

	/* The child's branches are nobody's. */
	mov	$NR_fork, %eax
	syscall
	test	%eax, %eax
	branch	1f, jnz 1f
	jmp	child
1:	mov	%eax, %edi
	mov	$NR_wait4, %eax
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	syscall
	mark
	.endr
	exit_program

callee:
	nop
callee_ret:
	ret

child:
	mov	$1000, %ecx
1:	loop	1b
	mov	$NR_exit, %eax
	xor	%edi, %edi
	syscall

	.data
	.balign	8
moment:	.quad	0, 100000
byte:	.byte	0
	.bss
	.balign	8
fds:	.quad	0
