/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86: who is told that an instruction retired, and in which order?
 *
 * The one place between the translator and those that count and record, and
 * the interrupt that they share.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "exec/helper-proto.h"
#include "hw/i386/apic.h"
#include "tcg/ds.h"
#include "tcg/pmu.h"
#include "tcg/retire.h"

bool x86_is_canonical(CPUX86State *env, uint64_t addr)
{
    int64_t sext = (int64_t)addr >> (env->cr[4] & CR4_LA57_MASK ? 56 : 47);

    return sext == 0 || sext == -1;
}

void x86_update_retire_hflags(CPUX86State *env)
{
    env->hflags &= ~(HF_BR_OS_MASK | HF_BR_USR_MASK | HF_RETIRE_MASK);
    env->hflags |= x86_bts_hflags(env) | x86_pmu_hflags(env);
}

void x86_deliver_pmi(CPUX86State *env)
{
    /* Interrupt delivery comes here with the big lock, helpers without. */
    bool locked = qemu_mutex_iothread_locked();

    if (!locked) {
        qemu_mutex_lock_iothread();
    }
    apic_deliver_perf_intr(env_archcpu(env)->apic_state);
    if (!locked) {
        qemu_mutex_unlock_iothread();
    }
    x86_pmu_freeze(env);
}

void x86_retire(CPUX86State *env, target_ulong from, int cpl, int kinds)
{
    target_ulong to = x86_linear_eip(env);
    bool pmi;

    if (!(env->hflags & (HF_BR_OS_MASK | HF_BR_USR_MASK))) {
        return;
    }

    /*
     * A branch to an address that is not canonical faults where it is, and
     * has not been taken.  TCG faults at the target instead: remember for
     * that exception's record where it comes from.  CPL may be another already.
     */
    if ((env->hflags & HF_CS64_MASK) && !x86_is_canonical(env, to)) {
        env->bts_bad_branch = from;
        if (x86_pmu_retire(env, from, cpl, 0)) {
            x86_deliver_pmi(env);
        }
        return;
    }
    if (!x86_is_canonical(env, from) && env->bts_bad_branch) {
        from = env->bts_bad_branch;
    }
    env->bts_bad_branch = 0;

    /*
     * SDM vol. 3, "Processor Event Based Sampling": with both, PEBS is
     * processed before BTS, and the PMI held until both are.
     */
    pmi = x86_pmu_retire(env, from, cpl, kinds);
    if (kinds & X86_BR_TAKEN) {
        pmi |= x86_bts_retire(env, from, to, cpl);
    }
    if (pmi) {
        x86_deliver_pmi(env);
    }
    if (kinds & X86_BR_TAKEN) {
        x86_update_retire_hflags(env);
    }
}

void helper_retire(CPUX86State *env, uint32_t cpl, uint32_t kinds)
{
    x86_retire(env, env->retire_from, cpl, kinds);
}
