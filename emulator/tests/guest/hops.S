/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of HOPS jumps to the next instruction, for run_case(). */
#include "asm.h"
#include "hops.h"

	.globl	hops, hops_row, hops_then_off, hops_then_off_row, hops_after_off
	.globl	user_hops, user_hops_as_is, user_hops_row

.macro row
	.rept	HOPS
	.byte	0xeb, 0
	.endr
.endm

	.text
hops:
	on
hops_row:
	row
	nop
	off
	ret

/* One jump only, then TR is cleared. */
hops_then_off:
	on
hops_then_off_row:
	.byte	0xeb, 0
	off
hops_after_off:
	nop
	nop
	ret

/* At CPL 3; the way there is a branch as well. */
user_hops:
	push	$UDS
	push	$stack
	push	$2
	push	$UCS_NATIVE
	push	$user_hops_row
	on
	IRET

/* The same with IA32_DEBUGCTL as it is. */
user_hops_as_is:
	push	$UDS
	push	$stack
	push	$2
	push	$UCS_NATIVE
	push	$user_hops_row
	IRET
	.pushsection .user, "ax"
	.skip	256
stack:
user_hops_row:
	row
	nop
	int	$VEC_LEAVE
	.popsection
