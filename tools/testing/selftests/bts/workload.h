/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a workload written in assembly says of itself: the branches it takes.
 *
 * Each branch is written down by hand, in the order of execution, in a section
 * that is not loaded.  The Makefile extracts it to WORKLOAD.expect, in the form
 * in which bts_record and bts_walk write what they saw.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#ifdef __i386__
#define ADDRESS(label)	.long label, 0
#else
#define ADDRESS(label)	.quad label
#endif

/* A branch from @from to @to is taken, @times times in a row. */
.macro took from:req, to:req, times=1
	.pushsection .expect, "", @progbits
	.rept \times
	ADDRESS(\from)
	ADDRESS(\to)
	.endr
	.popsection
.endm

/* The instruction branches to the label @to. */
.macro branch to:req, insn:vararg
771:	\insn
	took 771b, \to
.endm

/* The status flags become @flags. */
.macro status flags:req
#ifdef __i386__
	push	$0x202 | (\flags)
	popf
#else
	pushq	$0x202 | (\flags)
	popfq
#endif
.endm

#define CF	0x001
#define PF	0x004
#define ZF	0x040
#define SF	0x080
#define OF	0x800

#ifdef __i386__
.macro exit_program
	mov	$1, %eax
	xor	%ebx, %ebx
	int	$0x80
.endm
#else
.macro exit_program
	mov	$231, %eax
	xor	%edi, %edi
	syscall
.endm
#endif

	.section .note.GNU-stack, "", @progbits
	.text
	.globl	_start

#endif
