// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decodes one instruction with capstone, see bts_insn.h.
 */
#include <capstone/capstone.h>
#include <err.h>
#include <stdlib.h>

#include "bts_insn.h"

#define FLAG_CF		0x001
#define FLAG_PF		0x004
#define FLAG_ZF		0x040
#define FLAG_SF		0x080
#define FLAG_OF		0x800

static csh handle(bool long_mode)
{
	static csh handles[2];
	csh *h = &handles[long_mode];

	if (!*h) {
		if (cs_open(CS_ARCH_X86, long_mode ? CS_MODE_64 : CS_MODE_32, h) ||
		    cs_option(*h, CS_OPT_DETAIL, CS_OPT_ON))
			errx(1, "capstone does not know x86");
	}
	return *h;
}

static bool is_string_insn(const cs_insn *i)
{
	const cs_x86 *x86 = &i->detail->x86;

	if (x86->prefix[0] != X86_PREFIX_REP && x86->prefix[0] != X86_PREFIX_REPNE)
		return false;

	switch (x86->opcode[0]) {
	case 0x6c ... 0x6f:	/* ins, outs */
	case 0xa4 ... 0xa7:	/* movs, cmps */
	case 0xaa ... 0xaf:	/* stos, lods, scas */
		return true;
	}
	return false;
}

static bool writes_ss(const cs_insn *i)
{
	const cs_x86 *x86 = &i->detail->x86;

	return (i->id == X86_INS_MOV || i->id == X86_INS_POP) && x86->op_count &&
	       x86->operands[0].type == X86_OP_REG &&
	       x86->operands[0].reg == X86_REG_SS;
}

#define NR_IDS		(INSN_IF_LOOPNE + 1)

/* By condition code, as in the opcode; then the others of enum insn_condition. */
static const unsigned int conditional_ids[NR_IDS] = {
	X86_INS_JO, X86_INS_JNO, X86_INS_JB, X86_INS_JAE,
	X86_INS_JE, X86_INS_JNE, X86_INS_JBE, X86_INS_JA,
	X86_INS_JS, X86_INS_JNS, X86_INS_JP, X86_INS_JNP,
	X86_INS_JL, X86_INS_JGE, X86_INS_JLE, X86_INS_JG,
	[INSN_IF_LOOP] = X86_INS_LOOP,
	[INSN_IF_LOOPE] = X86_INS_LOOPE,
	[INSN_IF_LOOPNE] = X86_INS_LOOPNE,
};

static bool is_conditional(struct insn *insn, unsigned int id)
{
	unsigned int i;

	if (id == X86_INS_JCXZ || id == X86_INS_JECXZ || id == X86_INS_JRCXZ) {
		insn->condition = INSN_IF_CX_ZERO;
		return true;
	}
	for (i = 0; i < NR_IDS; i++) {
		if (conditional_ids[i] == id) {
			insn->condition = i;
			return true;
		}
	}
	return false;
}

static void classify(struct insn *insn, const cs_insn *i)
{
	if (is_conditional(insn, i->id)) {
		insn->kind = INSN_CONDITIONAL;
		return;
	}
	switch (i->id) {
	case X86_INS_JMP:
		insn->kind = INSN_JUMP;
		break;
	case X86_INS_CALL:
		insn->kind = INSN_CALL;
		break;
	case X86_INS_RET:
		insn->kind = INSN_RETURN;
		break;
	case X86_INS_LJMP:
	case X86_INS_LCALL:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
		insn->kind = INSN_FAR;
		break;
	case X86_INS_PUSHF:
	case X86_INS_PUSHFD:
	case X86_INS_PUSHFQ:
		insn->kind = INSN_PUSHF;
		break;
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_INT:
	case X86_INS_INT3:
	case X86_INS_INT1:
	case X86_INS_INTO:
		insn->kind = INSN_ENTERS_KERNEL;
		break;
	default:
		insn->kind = INSN_PLAIN;
		if (is_string_insn(i))
			insn->kind = INSN_REPEATED;
		else if (writes_ss(i))
			insn->kind = INSN_NO_TRAP;
	}
}

/*
 * Processors have instructions that the library does not know: AVX-512, shadow
 * stacks.  None in the VEX and EVEX maps and in these two groups is a branch.
 */
static bool is_unknown_but_plain(const uint8_t *code, size_t size, bool long_mode)
{
	size_t i = 0;

	while (i < size && (code[i] == 0x66 || code[i] == 0xf2 || code[i] == 0xf3))
		i++;
	if (long_mode && i < size && (code[i] & 0xf0) == 0x40)
		i++;
	if (i + 1 >= size)
		return false;

	switch (code[i]) {
	case 0x62:
	case 0xc4:
	case 0xc5:
		return long_mode;
	case 0x0f:
		return code[i + 1] == 0x1e || code[i + 1] == 0xae;
	}
	return false;
}

bool insn_decode(struct insn *insn, uint64_t addr, const uint8_t *code,
		 size_t size, bool long_mode)
{
	const cs_x86 *x86;
	cs_insn *i;

	if (cs_disasm(handle(long_mode), code, size, addr, 1, &i) != 1) {
		*insn = (struct insn) { .addr = addr, .kind = INSN_UNKNOWN };
		return is_unknown_but_plain(code, size, long_mode);
	}

	x86 = &i->detail->x86;
	*insn = (struct insn) {
		.addr		= addr,
		.len		= i->size,
		.cx_mask	= x86->addr_size == 8 ? UINT64_MAX :
				  (1ULL << 8 * x86->addr_size) - 1,
	};
	classify(insn, i);
	if ((insn->kind == INSN_JUMP || insn->kind == INSN_CALL ||
	     insn->kind == INSN_CONDITIONAL) &&
	    x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM) {
		insn->target = x86->operands[0].imm;
		if (!long_mode)
			insn->target &= UINT32_MAX;
	}
	cs_free(i, 1);
	return true;
}

bool insn_taken(const struct insn *insn, const struct user_regs_struct *regs)
{
	bool cf = regs->eflags & FLAG_CF, pf = regs->eflags & FLAG_PF;
	bool zf = regs->eflags & FLAG_ZF, sf = regs->eflags & FLAG_SF;
	bool of = regs->eflags & FLAG_OF;
	uint64_t left = (regs->rcx - 1) & insn->cx_mask;
	const bool holds[] = { of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of };

	switch (insn->condition) {
	case INSN_IF_LOOP:
		return left;
	case INSN_IF_LOOPE:
		return left && zf;
	case INSN_IF_LOOPNE:
		return left && !zf;
	case INSN_IF_CX_ZERO:
		return !(regs->rcx & insn->cx_mask);
	default:
		/* The lowest bit of the code negates it. */
		return holds[insn->condition >> 1] != (insn->condition & 1);
	}
}
