/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86 debug store: what the rest of TCG calls.
 *
 * sysemu/ds_helper.c says what is emulated.  The two hflags HF_BR_OS and
 * HF_BR_USR ask the translator to report taken branches at CPL 0 and at
 * CPL > 0; x86_taken_branch() is where all of them arrive.
 */
#ifndef I386_TCG_DS_H
#define I386_TCG_DS_H

#ifndef CONFIG_USER_ONLY

bool x86_ds_realize(X86CPU *cpu, Error **errp);

uint64_t x86_read_debugctl(CPUX86State *env);
uint64_t x86_read_ds_area(CPUX86State *env);
uint64_t x86_read_misc_enable(CPUX86State *env);
/* These return false where the processor raises #GP(0). */
bool x86_write_debugctl(CPUX86State *env, uint64_t val);
bool x86_write_ds_area(CPUX86State *env, uint64_t val);

/* To be called where IA32_DEBUGCTL changed otherwise than by a write. */
void x86_update_branch_hflags(CPUX86State *env);
/* Whether a state that was loaded is one this CPU can be in. */
bool x86_ds_state_valid(CPUX86State *env);

/* The linear address of the instruction at CS:EIP. */
static inline target_ulong x86_linear_eip(CPUX86State *env)
{
    if (env->hflags & HF_CS64_MASK) {
        return env->eip;
    }
    return (uint32_t)(env->segs[R_CS].base + env->eip);
}

/*
 * A branch retired: it was at linear address @from and ran at @cpl; CS:EIP
 * and CPL are the target's already.
 */
void x86_taken_branch(CPUX86State *env, target_ulong from, int cpl);
void x86_debug_exception(CPUX86State *env);

#endif /* !CONFIG_USER_ONLY */
#endif
