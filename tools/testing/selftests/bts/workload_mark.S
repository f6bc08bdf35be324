/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Branches at addresses where no other workload has any.  Traced between two
 * others, they show in a log of all branches where one ends and the next begins.
 */
#include "workload.inc"

_start:
	.rept	4
	branch	1f, jmp 1f
1:
	.endr
	exit_program
