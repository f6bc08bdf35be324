/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How does a program take so many branches that are none of its own? The records tell
 * by where they are. What is before them is not the program's, either.
 */
#ifndef PTRACE_BTS_SHIFT_H
#define PTRACE_BTS_SHIFT_H

asm(".pushsection .text\n"
	".globl shift_loop, shift_end\n"
	"shift_loop:\n"
	"	dec	%rdi\n"
	"	jns	shift_loop\n"
	"	ret\n"
	"shift_end:\n"
	".popsection\n");
extern const char shift_end[];
void shift_loop(long n);

#endif
