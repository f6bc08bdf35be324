/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How does a tracee make a system call and do its rounds after that, by itself?
 */
#ifndef PTRACE_BTS_CALL_AND_RUN_H
#define PTRACE_BTS_CALL_AND_RUN_H

asm(".pushsection .text\n"
	".globl call_and_run\n"
	"call_and_run:\n"
	"	syscall\n"
	"	jmp	bts_round\n"
	".popsection\n");
extern const char call_and_run[];

#endif
