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

static void conditional(struct insn *insn, int condition)
{
	insn->kind = INSN_CONDITIONAL;
	insn->condition = condition;
}

static void classify(struct insn *insn, const cs_insn *i)
{
	switch (i->id) {
	case X86_INS_JO:	conditional(insn, 0x0); break;
	case X86_INS_JNO:	conditional(insn, 0x1); break;
	case X86_INS_JB:	conditional(insn, 0x2); break;
	case X86_INS_JAE:	conditional(insn, 0x3); break;
	case X86_INS_JE:	conditional(insn, 0x4); break;
	case X86_INS_JNE:	conditional(insn, 0x5); break;
	case X86_INS_JBE:	conditional(insn, 0x6); break;
	case X86_INS_JA:	conditional(insn, 0x7); break;
	case X86_INS_JS:	conditional(insn, 0x8); break;
	case X86_INS_JNS:	conditional(insn, 0x9); break;
	case X86_INS_JP:	conditional(insn, 0xa); break;
	case X86_INS_JNP:	conditional(insn, 0xb); break;
	case X86_INS_JL:	conditional(insn, 0xc); break;
	case X86_INS_JGE:	conditional(insn, 0xd); break;
	case X86_INS_JLE:	conditional(insn, 0xe); break;
	case X86_INS_JG:	conditional(insn, 0xf); break;
	case X86_INS_LOOP:	conditional(insn, INSN_IF_LOOP); break;
	case X86_INS_LOOPE:	conditional(insn, INSN_IF_LOOPE); break;
	case X86_INS_LOOPNE:	conditional(insn, INSN_IF_LOOPNE); break;
	case X86_INS_JCXZ:
	case X86_INS_JECXZ:
	case X86_INS_JRCXZ:	conditional(insn, INSN_IF_CX_ZERO); break;
	case X86_INS_JMP:
	case X86_INS_LJMP:
	case X86_INS_CALL:
	case X86_INS_LCALL:
	case X86_INS_RET:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
		insn->kind = INSN_JUMP;
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
	if ((insn->kind == INSN_JUMP || insn->kind == INSN_CONDITIONAL) &&
	    x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM &&
	    i->id != X86_INS_RET && i->id != X86_INS_RETF && i->id != X86_INS_RETFQ) {
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
	bool taken;

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
		break;
	}

	switch (insn->condition >> 1) {
	case 0:	taken = of; break;
	case 1:	taken = cf; break;
	case 2:	taken = zf; break;
	case 3:	taken = cf || zf; break;
	case 4:	taken = sf; break;
	case 5:	taken = pf; break;
	case 6:	taken = sf != of; break;
	default:
		taken = zf || sf != of;
	}
	return taken != (insn->condition & 1);
}
