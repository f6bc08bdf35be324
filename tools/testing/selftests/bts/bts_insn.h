/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does one x86 instruction do to the instruction pointer?
 */
#ifndef BTS_INSN_H
#define BTS_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

enum insn_kind {
	INSN_PLAIN,		/* goes to the next instruction */
	INSN_REPEATED,		/* ... or to itself again, which is no branch */
	INSN_JUMP,		/* always branches, as do the next three */
	INSN_CALL,
	INSN_RETURN,
	INSN_FAR,		/* ... by way of CS: jump, call, return, IRET */
	INSN_CONDITIONAL,	/* branches to @target, see insn_taken() */
	INSN_PUSHF,		/* plain, and stores the trap flag */
	INSN_NO_TRAP,		/* plain, and no single-step trap follows it */
	INSN_ENTERS_KERNEL,	/* a system call or software interrupt */
	INSN_UNKNOWN,		/* plain, but of unknown length */
};

enum insn_condition {
	/* 0 to 15: the condition codes as they are encoded in the opcode. */
	INSN_IF_LOOP = 16,
	INSN_IF_LOOPE,
	INSN_IF_LOOPNE,
	INSN_IF_CX_ZERO,
};

struct insn {
	uint64_t		addr;
	uint64_t		target;		/* 0: indirect */
	uint64_t		cx_mask;	/* the part of rcx that counts */
	enum insn_kind		kind;
	enum insn_condition	condition;
	unsigned int		len;		/* 0: unknown */
};

#define INSN_MAX_LEN	15

/* False where the bytes are no instruction known to be a branch or not. */
bool insn_decode(struct insn *insn, uint64_t addr, const uint8_t *code,
		 size_t size, bool long_mode);

/* Does a conditional jump branch, given the registers before it? */
bool insn_taken(const struct insn *insn, const struct user_regs_struct *regs);

#endif
