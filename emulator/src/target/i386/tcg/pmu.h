/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86 performance monitoring unit: what the rest of TCG calls.
 *
 * sysemu/pmu_helper.c says what is emulated.  Nothing here does anything on a
 * CPU without a PMU.
 */
#ifndef I386_TCG_PMU_H
#define I386_TCG_PMU_H

#ifndef CONFIG_USER_ONLY

bool x86_pmu_realize(X86CPU *cpu, Error **errp);
void x86_pmu_unrealize(X86CPU *cpu);
/* After a reset, an INIT, and when a state was loaded. */
void x86_pmu_reset(CPUX86State *env);
void x86_pmu_restart(CPUX86State *env);
/* So that the counters' values are those of now. */
void x86_pmu_update(CPUX86State *env);
/* Whether a state that was loaded is one this CPU can be in. */
bool x86_pmu_state_valid(CPUX86State *env);

void x86_pmu_cpuid(X86CPU *cpu, uint32_t *eax, uint32_t *edx);
bool x86_pmu_has_pebs(X86CPU *cpu);
/* Bits of IA32_DEBUGCTL that exist because of it. */
uint64_t x86_pmu_debugctl(X86CPU *cpu);

/* Is this a number that PMUs have MSRs at? */
bool x86_pmu_owns_msr(CPUX86State *env, uint32_t msr);
/* These return false where the processor raises #GP(0). */
bool x86_pmu_read(CPUX86State *env, uint32_t msr, uint64_t *val);
bool x86_pmu_write(CPUX86State *env, uint32_t msr, uint64_t val);
bool x86_pmu_rdpmc(CPUX86State *env, uint32_t index, uint64_t *val);

/* The hflags that ask for what is counted. */
uint32_t x86_pmu_hflags(CPUX86State *env);
/* Count what retired.  Returns true if a PMI is due. */
bool x86_pmu_retire(CPUX86State *env, target_ulong from, int cpl, int kinds);
/* A PMI is delivered: counting may be set up to stop with it. */
void x86_pmu_freeze(CPUX86State *env);

/* The CPU halts or runs again, if it does: outside of translated code. */
void x86_pmu_exec_enter(CPUState *cs);
void x86_pmu_exec_exit(CPUState *cs);

#endif /* !CONFIG_USER_ONLY */
#endif
