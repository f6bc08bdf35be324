/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86: which instructions does the translator report, and to whom?
 *
 * Two hflags, HF_BR_OS and HF_BR_USR, ask for taken branches at CPL 0 and at
 * CPL > 0; a third, HF_RETIRE, for all other instructions of that CPL, too.
 * Whatever is reported arrives in x86_retire(), with interrupts and
 * exceptions, and goes on to the performance counters (pmu.h) and to the
 * debug store (ds.h).
 */
#ifndef I386_TCG_RETIRE_H
#define I386_TCG_RETIRE_H

/* Kinds of what retired: one or more of these. */
#define X86_RETIRED         (1 << 0)    /* an instruction */
#define X86_BR_NEAR_TAKEN   (1 << 1)
#define X86_BR_NOT_TAKEN    (1 << 2)
#define X86_BR_COND         (1 << 3)
#define X86_BR_CALL         (1 << 4)    /* near */
#define X86_BR_RET          (1 << 5)    /* near */
#define X86_BR_FAR          (1 << 6)    /* INT n, SYSCALL, IRET, ... too */
#define X86_BR_EVENT        (1 << 7)    /* interrupt or exception */
#define X86_RETIRED_RSM     (1 << 8)    /* with X86_RETIRED: the end of SMM */

/* Those that a branch trace has. */
#define X86_BR_TAKEN        (X86_BR_NEAR_TAKEN | X86_BR_FAR | X86_BR_EVENT)

#ifndef CONFIG_USER_ONLY

/* The linear address of the instruction at CS:EIP. */
static inline target_ulong x86_linear_eip(CPUX86State *env)
{
    if (env->hflags & HF_CS64_MASK) {
        return env->eip;
    }
    return (uint32_t)(env->segs[R_CS].base + env->eip);
}

bool x86_is_canonical(CPUX86State *env, uint64_t addr);

/*
 * What was at linear address @from and ran at @cpl has retired; CS:EIP and
 * CPL are those of what comes next already.
 */
void x86_retire(CPUX86State *env, target_ulong from, int cpl, int kinds);

/* To be called where anything changed that the three hflags follow from. */
void x86_update_retire_hflags(CPUX86State *env);

/* The performance monitoring interrupt: of the counters, PEBS and BTS. */
void x86_deliver_pmi(CPUX86State *env);

#endif /* !CONFIG_USER_ONLY */
#endif
