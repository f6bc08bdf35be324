/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Crashes so that its stack does not tell why: a function overwrites the return
 * address of its caller, which goes wild when it returns. Before that come more
 * branches than small buffers hold.
 */
#include "workload.inc"

	/* Nothing is mapped there. */
	.set	wild, 0x6863697275

_start:
	mov	$20000, %ecx
1:	loop	1b
	took	1b, 1b, 19999

	branch	caller, call caller
	ud2

caller:
	mov	$5, %ecx
1:	loop	1b
	took	1b, 1b, 4
	branch	overwrite, call overwrite
after:
	ret
	took	return, after
	took	after, wild

overwrite:
	movabs	$wild, %rax
	mov	%rax, 8(%rsp)
return:
	ret
