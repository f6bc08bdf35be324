/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See pmu-cases.S. */
#ifndef PMU_CASES_H
#define PMU_CASES_H

#include "pmu.h"

struct retired {
	uint32_t insns, taken, not, jmp, call, ret, far;
};

struct counted_case {
	const char *name;
	void (*run)(void);
	struct retired at[2];			/* CPL 0, CPL 3 */
};
extern const struct counted_case counted_begin[], counted_end[];

/* MWAIT is not on every model. */
static inline bool runs_here(const struct counted_case *c)
{
	uint32_t a, b, ecx = 0, d;

	cpuid(1, &a, &b, &ecx, &d);
	return ecx & 1 << 3 || c->name[0] != 'M' || c->name[1] != 'W';
}

#define for_each_counted(c)						\
	for (c = counted_begin; c < counted_end; c++)			\
		if (!runs_here(c))					\
			;						\
		else

static inline const struct counted_case *find_counted(const char *name)
{
	const struct counted_case *c;
	unsigned i;

	for (c = counted_begin; c < counted_end; c++) {
		for (i = 0; name[i] && name[i] == c->name[i]; i++)
			;
		if (name[i] == c->name[i])
			return c;
	}
	ok(false, "no case '%s'", name);
	end();
}

/* The handlers that the cases rely on. */
static inline void counted_gates(void)
{
	set_gate(0, isr_ud, 0, 0);
	set_gate(1, isr_step_over, 0, 0);
	set_gate(2, isr_iret, 0, 0);
	set_gate(14, isr_map, 0, 0);
	set_gate(VEC_LEAVE, isr_close, 3, 0);
	set_call_gate(GATE_SEL, KCS, (ulong)isr_close);
	wrmsr(0x176, (ulong)isr_close);
}

#endif
