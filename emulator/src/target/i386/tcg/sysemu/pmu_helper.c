/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86 performance monitoring unit: what is counted, and what does it cause?
 *
 * Architectural performance monitoring of Intel's processors, versions 2 to 4,
 * with the events "instructions retired", "branches retired" and "unhalted
 * cycles", and the counters' part of PEBS.  Section names in comments are
 * those of the Intel SDM vol. 3, chapter "Performance Monitoring".
 *
 * Retirement events are counted where they are reported (retire_helper.c), so
 * that a counter overflows at the instruction that did it.  A cycle is a tick
 * of the time-stamp counter while the CPU is not halted: these are not counted
 * but measured, whenever something looks or changes, and a timer ends the
 * measurement where a counter overflows.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "exec/helper-proto.h"
#include "sysemu/runstate.h"
#include "tcg/ds.h"
#include "tcg/pmu.h"
#include "tcg/retire.h"

/* General-purpose counters come first, then the fixed-function ones. */
#define PMU_GP          4
#define PMU_FIXED       3
#define PMU_COUNTERS    (PMU_GP + PMU_FIXED)
QEMU_BUILD_BUG_ON(PMU_COUNTERS > X86_PMU_COUNTERS);

#define EVTSEL_EVENT    0xff
#define EVTSEL_UMASK(s) (((s) >> 8) & 0xff)
#define EVTSEL_USR      (1u << 16)
#define EVTSEL_OS       (1u << 17)
#define EVTSEL_EDGE     (1u << 18)
#define EVTSEL_PC       (1u << 19)
#define EVTSEL_INT      (1u << 20)
#define EVTSEL_ANY      (1u << 21)
#define EVTSEL_EN       (1u << 22)
#define EVTSEL_INV      (1u << 23)
#define EVTSEL_CMASK(s) (((s) >> 24) & 0xff)

#define FIXED_OS        1
#define FIXED_USR       2
#define FIXED_ANY       4
#define FIXED_PMI       8

#define STATUS_LBR_FRZ  (1ULL << 58)
#define STATUS_CTR_FRZ  (1ULL << 59)
#define STATUS_OVF_BUF  (1ULL << 62)
#define STATUS_COND     (1ULL << 63)

#define DEBUGCTL_LBR                    (1ULL << 0)
#define DEBUGCTL_FREEZE_LBRS_ON_PMI     (1ULL << 11)
#define DEBUGCTL_FREEZE_PERFMON_ON_PMI  (1ULL << 12)

#define CAP_FULL_WIDTH  (1ULL << 13)
#define CAP_PEBS_FMT3   (3ULL << 8 | 1 << 7 | 1 << 6) /* trap, all registers */

/* What the models of one generation have. */
struct X86PMUModel {
    uint8_t version, gp, width;
    uint64_t capabilities;      /* IA32_PERF_CAPABILITIES */
};

static const struct X86PMUModel core2 = { 2, 2, 40, 0 };
static const struct X86PMUModel nehalem = { 3, 4, 48, 0 };
static const struct X86PMUModel haswell = { 3, 4, 48, CAP_FULL_WIDTH };
static const struct X86PMUModel skylake = {
    4, 4, 48, CAP_FULL_WIDTH | CAP_PEBS_FMT3
};

static const struct X86PMUModel *pmu_model_of(CPUX86State *env)
{
    uint32_t version = env->cpuid_version;

    if (!IS_INTEL_CPU(env) || ((version >> 8) & 0xf) != 6) {
        return NULL;
    }
    switch (((version >> 4) & 0xf) | ((version >> 12) & 0xf0)) {
    case 0x0f: case 0x16: case 0x17: case 0x1d:
        return &core2;
    case 0x1a: case 0x1e: case 0x1f: case 0x2e:     /* Nehalem */
    case 0x25: case 0x2c: case 0x2f:                /* Westmere */
    case 0x2a: case 0x2d:                           /* Sandy Bridge */
    case 0x3a: case 0x3e:                           /* Ivy Bridge */
        return &nehalem;
    case 0x3c: case 0x3f: case 0x45: case 0x46:     /* Haswell */
    case 0x3d: case 0x47: case 0x4f: case 0x56:     /* Broadwell */
        return &haswell;
    case 0x4e: case 0x5e: case 0x55:                /* Skylake */
    case 0x8e: case 0x9e:                           /* Kaby Lake */
        return &skylake;
    default:
        return NULL;
    }
}

static const struct X86PMUModel *pmu_of(CPUX86State *env)
{
    return env_archcpu(env)->pmu;
}

/* A counter's bit in the global MSRs. */
static uint64_t global_bit(int c)
{
    return 1ULL << (c < PMU_GP ? c : 32 + c - PMU_GP);
}

static uint64_t counters_mask(const struct X86PMUModel *pmu)
{
    return MAKE_64BIT_MASK(0, pmu->gp) | MAKE_64BIT_MASK(32, PMU_FIXED);
}

static uint64_t value_mask(const struct X86PMUModel *pmu)
{
    return MAKE_64BIT_MASK(0, pmu->width);
}

static uint64_t *counter(CPUX86State *env, int c)
{
    return c < PMU_GP ? &env->msr_gp_counters[c]
                      : &env->msr_fixed_counters[c - PMU_GP];
}

static uint32_t fixed_control(CPUX86State *env, int c)
{
    return env->msr_fixed_ctr_ctrl >> (4 * (c - PMU_GP)) & 0xf;
}

static bool raises_pmi(CPUX86State *env, int c)
{
    return c < PMU_GP ? env->msr_gp_evtsel[c] & EVTSEL_INT
                      : fixed_control(env, c) & FIXED_PMI;
}

static bool uses_pebs(CPUX86State *env, int c)
{
    return c < PMU_GP && env->msr_pebs_enable & (1 << c);
}

static int ring_of(CPUX86State *env)
{
    return (env->hflags & HF_CPL_MASK) != 0;
}

/*
 * "Pre-defined Architectural Performance Events", and those of Skylake for
 * branches: which kinds of what retires does the event count?  0 is none: an
 * event that does not occur here, such as a cache miss, or is not known.
 */
#define KIND_CYCLES     (1 << 15)

static uint32_t event_kinds(uint32_t sel)
{
    static const uint32_t branch[8] = {
        X86_BR_COND, X86_BR_CALL,
        X86_BR_NEAR_TAKEN | X86_BR_NOT_TAKEN | X86_BR_FAR,
        X86_BR_RET, X86_BR_NOT_TAKEN, X86_BR_NEAR_TAKEN, X86_BR_FAR, 0,
    };
    uint32_t umask = EVTSEL_UMASK(sel), kinds = 0;
    int i;

    switch (sel & EVTSEL_EVENT) {
    case 0x3c:
        return umask <= 1 ? KIND_CYCLES : 0;
    case 0xc0:
        return umask <= 1 ? X86_RETIRED : 0;
    case 0xc4:
        if (umask == 0) {
            return branch[2];
        }
        for (i = 0; i < 8; i++) {
            if (umask & (1 << i)) {
                kinds |= branch[i];
            }
        }
        return kinds;
    default:
        return 0;
    }
}

/*
 * "CMASK": no more than one event occurs in a cycle.  Two or more in one never
 * do, or, inverted, in every cycle not.  Which cycles have none of an event is
 * not known.
 */
static uint32_t masked_kinds(uint32_t sel)
{
    uint32_t cmask = EVTSEL_CMASK(sel), kinds = event_kinds(sel);

    if (cmask == 0 || (cmask == 1 && !(sel & EVTSEL_INV))) {
        return kinds;
    }
    return cmask > 1 && (sel & EVTSEL_INV) && kinds ? KIND_CYCLES : 0;
}

static bool frozen(CPUX86State *env)
{
    return pmu_of(env)->version >= 4 &&
           (env->msr_global_status & STATUS_CTR_FRZ);
}

/* What follows from the MSRs: which counter counts what, and where? */
static void pmu_configure(CPUX86State *env)
{
    static const uint32_t fixed_kinds[PMU_FIXED] = {
        X86_RETIRED, KIND_CYCLES, KIND_CYCLES
    };
    X86PMUState *state = &env->pmu;
    int c, ring;

    memset(state->events, 0, sizeof(state->events));
    memset(state->cycles, 0, sizeof(state->cycles));
    state->edge = 0;
    for (c = 0; c < PMU_COUNTERS && !frozen(env); c++) {
        bool in_ring[2];
        uint32_t kinds;

        if (!(env->msr_global_ctrl & global_bit(c))) {
            continue;
        }
        if (c < PMU_GP) {
            uint32_t sel = env->msr_gp_evtsel[c];

            if (!(sel & EVTSEL_EN)) {
                continue;
            }
            in_ring[0] = sel & EVTSEL_OS;
            in_ring[1] = sel & EVTSEL_USR;
            kinds = masked_kinds(sel);
            if (sel & EVTSEL_EDGE) {
                state->edge |= 1 << c;
            }
        } else {
            in_ring[0] = fixed_control(env, c) & FIXED_OS;
            in_ring[1] = fixed_control(env, c) & FIXED_USR;
            kinds = fixed_kinds[c - PMU_GP];
        }
        state->kinds[c] = kinds;
        if (kinds == KIND_CYCLES && env->pebs_armed & (1 << c)) {
            /* The record is the next instruction's. */
            state->kinds[c] |= X86_RETIRED;
        }
        for (ring = 0; ring < 2; ring++) {
            if (!in_ring[ring]) {
                continue;
            }
            if (state->kinds[c] & KIND_CYCLES) {
                state->cycles[ring] |= 1 << c;
            }
            if (state->kinds[c] & ~KIND_CYCLES) {
                state->events[ring] |= 1 << c;
            }
        }
    }
    state->asserted &= state->edge;
    x86_update_retire_hflags(env);
}

uint32_t x86_pmu_hflags(CPUX86State *env)
{
    X86PMUState *state = &env->pmu;
    uint32_t only_taken = X86_BR_NEAR_TAKEN | X86_BR_CALL | X86_BR_RET |
                          X86_BR_FAR;
    uint32_t flags = 0;
    int m;

    if (state->events[0]) {
        flags |= HF_BR_OS_MASK;
    }
    if (state->events[1]) {
        flags |= HF_BR_USR_MASK;
    }
    for (m = state->events[0] | state->events[1]; m; m &= m - 1) {
        int c = ctz32(m);

        if (state->kinds[c] & ~only_taken || state->edge & (1 << c)) {
            flags |= HF_RETIRE_MASK;
        }
    }
    /*
     * Cycles of one side only: changes of CPL must be seen, and are if either
     * bit is set.  The side that is not counted is reported.
     */
    if (state->cycles[0] != state->cycles[1] && !flags) {
        flags = state->cycles[1] & ~state->cycles[0] ? HF_BR_OS_MASK
                                                     : HF_BR_USR_MASK;
    }
    return flags;
}

/* Add to a counter.  Returns true if a PMI is due. */
static bool pmu_add(CPUX86State *env, int c, uint64_t n)
{
    uint64_t *value = counter(env, c);
    uint64_t sum = *value + n;

    *value = sum & value_mask(pmu_of(env));
    if (*value == sum) {
        return false;
    }
    env->msr_global_status |= global_bit(c);
    if (uses_pebs(env, c)) {
        env->pebs_armed |= 1 << c;
        if (env->pmu.kinds[c] & KIND_CYCLES) {
            pmu_configure(env);
        }
    }
    return raises_pmi(env, c);
}

/*
 * Measure the cycles since the last time, which were spent in @ring.  Returns
 * true if a PMI is due.
 */
static bool pmu_measure(CPUX86State *env, int ring)
{
    X86PMUState *state = &env->pmu;
    uint64_t now, ticks;
    bool pmi = false;
    int m;

    if (state->halted || !(state->cycles[0] | state->cycles[1])) {
        return false;
    }
    now = cpu_get_tsc(env);
    ticks = now - state->since;
    state->since = now;
    for (m = state->cycles[ring] & ~state->edge; m; m &= m - 1) {
        pmi |= pmu_add(env, ctz32(m), ticks);
    }
    return pmi;
}

/* "Edge detect": cycles that are counted begin. */
static bool pmu_cycles_begin(CPUX86State *env, int counters)
{
    bool pmi = false;
    int m;

    for (m = counters & env->pmu.edge; m; m &= m - 1) {
        pmi |= pmu_add(env, ctz32(m), 1);
    }
    return pmi;
}

/* When does the next counter of cycles overflow such that it matters? */
static void pmu_set_timer(CPUX86State *env)
{
    X86PMUState *state = &env->pmu;
    QEMUTimer *timer = env_archcpu(env)->pmu_timer;
    uint64_t least = UINT64_MAX, ticks, ns;
    int m;

    for (m = state->halted ? 0 : state->cycles[ring_of(env)] & ~state->edge;
         m; m &= m - 1) {
        int c = ctz32(m);

        if (raises_pmi(env, c) ||
            (uses_pebs(env, c) && !(env->pebs_armed & (1 << c)))) {
            least = MIN(least, value_mask(pmu_of(env)) + 1 - *counter(env, c));
        }
    }
    if (least == UINT64_MAX) {
        timer_del(timer);
        return;
    }
    /*
     * Virtual time and ticks both begin with the machine: what a tick takes
     * follows.  Where it is not exactly one ns, as under icount, the timer may
     * come early, and is then set again.
     */
    ticks = cpu_get_tsc(env);
    ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    if (ticks && ticks != ns) {
        least = MIN(least * (double)ns / ticks + 1, INT64_MAX / 2);
    }
    timer_mod_ns(timer, ns + least);
}

/* Whatever happened, or is about to, to the registers below. */
static void pmu_before(CPUX86State *env)
{
    if (pmu_measure(env, ring_of(env))) {
        x86_deliver_pmi(env);
    }
}

static void pmu_after(CPUX86State *env)
{
    bool counted = env->pmu.cycles[0] | env->pmu.cycles[1];

    pmu_configure(env);
    if (!counted && (env->pmu.cycles[0] | env->pmu.cycles[1])) {
        env->pmu.since = cpu_get_tsc(env);
    }
    pmu_set_timer(env);
}

static void pmu_timer_work(CPUState *cs, run_on_cpu_data unused)
{
    CPUX86State *env = cs->env_ptr;

    pmu_before(env);
    pmu_set_timer(env);
}

/* Counters are the CPU's own: it looks at them when it is out of a block. */
static void pmu_timer_expired(void *opaque)
{
    async_run_on_cpu(opaque, pmu_timer_work, RUN_ON_CPU_NULL);
}

static bool pmu_pebs(CPUX86State *env, target_ulong from, int cpl,
                     uint32_t counters)
{
    uint64_t reset[PMU_GP];
    bool full, pmi;
    int m;

    if (!x86_pebs_store(env, from, cpl, counters, reset, &full)) {
        return false;
    }
    pmi = pmu_measure(env, ring_of(env));
    env->msr_global_status &= ~(uint64_t)counters;
    env->pebs_armed &= ~counters;
    for (m = counters; m; m &= m - 1) {
        int c = ctz32(m);

        env->msr_gp_counters[c] = reset[c] & value_mask(pmu_of(env));
        if (env->pmu.kinds[c] & KIND_CYCLES) {
            pmu_after(env);
        }
    }
    if (full) {
        env->msr_global_status |= STATUS_OVF_BUF;
    }
    return full || pmi;
}

bool x86_pmu_retire(CPUX86State *env, target_ulong from, int cpl, int kinds)
{
    X86PMUState *state = &env->pmu;
    int ring = cpl != 0, to = ring_of(env);
    uint32_t pebs = 0;
    bool pmi = false;
    int m;

    if (ring != to && state->cycles[0] != state->cycles[1]) {
        pmi |= pmu_measure(env, ring);
        pmi |= pmu_cycles_begin(env, state->cycles[to] & ~state->cycles[ring]);
        pmu_set_timer(env);
    }
    /* Interrupts and exceptions are no instructions: they end no run, either. */
    for (m = kinds & X86_RETIRED ? state->events[ring] : 0; m; m &= m - 1) {
        int c = ctz32(m);
        bool match = kinds & state->kinds[c];

        if (state->edge & (1 << c)) {
            bool was = state->asserted & (1 << c);

            state->asserted = deposit32(state->asserted, c, 1, match);
            match &= !was;
        }
        if (!match) {
            continue;
        }
        if (env->pebs_armed & (1 << c) && uses_pebs(env, c) &&
            !(kinds & X86_RETIRED_RSM)) {
            pebs |= 1 << c;
        }
        if (!(state->kinds[c] & KIND_CYCLES)) {
            pmi |= pmu_add(env, c, 1);
        }
    }
    if (pebs) {
        pmi |= pmu_pebs(env, from, cpl, pebs);
    }
    return pmi;
}

/*
 * "Freezing LBR and Performance Counters on PMI": version 4 sets a bit, and
 * what is frozen follows from it; before, the enable bits are cleared.
 */
void x86_pmu_freeze(CPUX86State *env)
{
    const struct X86PMUModel *pmu = pmu_of(env);

    if (!pmu) {
        return;
    }
    if (env->msr_debugctl & DEBUGCTL_FREEZE_LBRS_ON_PMI) {
        if (pmu->version >= 4) {
            env->msr_global_status |= STATUS_LBR_FRZ;
        } else {
            env->msr_debugctl &= ~DEBUGCTL_LBR;
        }
    }
    if (env->msr_debugctl & DEBUGCTL_FREEZE_PERFMON_ON_PMI) {
        pmu_measure(env, ring_of(env));
        if (pmu->version >= 4) {
            env->msr_global_status |= STATUS_CTR_FRZ;
        } else {
            env->msr_global_ctrl = 0;
        }
        pmu_after(env);
    }
}

void x86_pmu_exec_enter(CPUState *cs)
{
    CPUX86State *env = cs->env_ptr;
    X86PMUState *state = &env->pmu;

    if (state->halted) {
        state->halted = false;
        state->since = cpu_get_tsc(env);
        if (pmu_cycles_begin(env, state->cycles[ring_of(env)])) {
            x86_deliver_pmi(env);
        }
        pmu_set_timer(env);
    }
}

void x86_pmu_exec_exit(CPUState *cs)
{
    CPUX86State *env = cs->env_ptr;

    if (cs->halted && pmu_of(env) && !env->pmu.halted) {
        pmu_before(env);
        env->pmu.halted = true;
        pmu_set_timer(env);
    }
}

/* Stopped, the machine may be saved: with the counters' values. */
static void pmu_vm_state(void *opaque, bool running, RunState state)
{
    if (!running) {
        x86_pmu_update(opaque);
    }
}

bool x86_pmu_realize(X86CPU *cpu, Error **errp)
{
    CPUX86State *env = &cpu->env;

    /* "max" has this property set, and stays as it was. */
    if (!cpu->enable_pmu || cpu->max_features) {
        return true;
    }
    cpu->pmu = pmu_model_of(env);
    if (!cpu->pmu) {
        error_setg(errp, "CPU property 'pmu' is emulated for Intel models of "
                   "family 6 from Core 2 to Kaby Lake");
        return false;
    }
    env->features[FEAT_1_ECX] |= CPUID_EXT_PDCM;
    cpu->pmu_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, pmu_timer_expired,
                                  CPU(cpu));
    cpu->pmu_vm_state = qemu_add_vm_change_state_handler(pmu_vm_state, env);
    return true;
}

void x86_pmu_unrealize(X86CPU *cpu)
{
    if (cpu->pmu) {
        qemu_del_vm_change_state_handler(cpu->pmu_vm_state);
        timer_free(cpu->pmu_timer);
    }
}

/* Values the CPU has while it does not run; what follows is not saved. */
void x86_pmu_update(CPUX86State *env)
{
    if (pmu_of(env)) {
        pmu_before(env);
    }
}

void x86_pmu_restart(CPUX86State *env)
{
    if (pmu_of(env)) {
        env->pmu.halted = env_cpu(env)->halted;
        env->pmu.since = cpu_get_tsc(env);
        pmu_after(env);
    }
}

void x86_pmu_reset(CPUX86State *env)
{
    if (pmu_of(env)) {
        env->msr_global_ctrl = MAKE_64BIT_MASK(0, pmu_of(env)->gp);
        x86_pmu_restart(env);
    }
}

void x86_pmu_cpuid(X86CPU *cpu, uint32_t *eax, uint32_t *edx)
{
    const struct X86PMUModel *pmu = cpu->pmu;

    /* Seven architectural events, of which EBX says that none is missing. */
    *eax = 7 << 24 | pmu->width << 16 | pmu->gp << 8 | pmu->version;
    *edx = pmu->width << 5 | PMU_FIXED;
}

/* The record has one format, and 64-bit fields. */
bool x86_pmu_has_pebs(X86CPU *cpu)
{
    return cpu->pmu && cpu->pmu->capabilities & CAP_PEBS_FMT3 &&
           cpu->ds_control &&
           (cpu->env.features[FEAT_1_ECX] & CPUID_EXT_DTES64);
}

uint64_t x86_pmu_debugctl(X86CPU *cpu)
{
    return cpu->pmu ? DEBUGCTL_FREEZE_LBRS_ON_PMI |
                      DEBUGCTL_FREEZE_PERFMON_ON_PMI : 0;
}

bool x86_pmu_owns_msr(CPUX86State *env, uint32_t msr)
{
    if (!pmu_of(env)) {
        return false;
    }
    switch (msr) {
    case MSR_P6_PERFCTR0 ... MSR_P6_PERFCTR0 + PMU_GP - 1:
    case MSR_P6_EVNTSEL0 ... MSR_P6_EVNTSEL0 + PMU_GP - 1:
    case MSR_IA32_A_PMC0 ... MSR_IA32_A_PMC0 + PMU_GP - 1:
    case MSR_CORE_PERF_FIXED_CTR0 ... MSR_CORE_PERF_FIXED_CTR2:
    case MSR_IA32_PERF_CAPABILITIES:
    case MSR_CORE_PERF_FIXED_CTR_CTRL ... MSR_CORE_PERF_GLOBAL_INUSE:
        return true;
    case MSR_IA32_PEBS_ENABLE:
        return x86_pmu_has_pebs(env_archcpu(env));
    default:
        return false;
    }
}

/* Of these, does this model have it? */
static bool has_msr(CPUX86State *env, uint32_t msr)
{
    const struct X86PMUModel *pmu = pmu_of(env);

    switch (msr) {
    case MSR_P6_PERFCTR0 ... MSR_P6_PERFCTR0 + PMU_GP - 1:
        return msr - MSR_P6_PERFCTR0 < pmu->gp;
    case MSR_P6_EVNTSEL0 ... MSR_P6_EVNTSEL0 + PMU_GP - 1:
        return msr - MSR_P6_EVNTSEL0 < pmu->gp;
    case MSR_IA32_A_PMC0 ... MSR_IA32_A_PMC0 + PMU_GP - 1:
        return pmu->capabilities & CAP_FULL_WIDTH;
    case MSR_CORE_PERF_GLOBAL_STATUS_SET:
    case MSR_CORE_PERF_GLOBAL_INUSE:
        return pmu->version >= 4;
    default:
        return true;
    }
}

/* "Performance Monitoring: ... INUSE": by what the other MSRs say. */
static uint64_t in_use(CPUX86State *env)
{
    uint64_t val = 0;
    bool pmi = env->msr_pebs_enable & MAKE_64BIT_MASK(0, PMU_GP);
    int c;

    for (c = 0; c < PMU_COUNTERS; c++) {
        if (c < PMU_GP ? env->msr_gp_evtsel[c] & EVTSEL_EVENT
                       : fixed_control(env, c) & (FIXED_OS | FIXED_USR)) {
            val |= global_bit(c);
        }
        pmi |= raises_pmi(env, c);
    }
    return val | (pmi ? 1ULL << 63 : 0);
}

static uint64_t read_capabilities(X86CPU *cpu)
{
    uint64_t val = cpu->pmu->capabilities;

    return x86_pmu_has_pebs(cpu) ? val : val & ~CAP_PEBS_FMT3;
}

static uint64_t read_msr(CPUX86State *env, uint32_t msr)
{
    switch (msr) {
    case MSR_P6_PERFCTR0 ... MSR_P6_PERFCTR0 + PMU_GP - 1:
        return env->msr_gp_counters[msr - MSR_P6_PERFCTR0];
    case MSR_IA32_A_PMC0 ... MSR_IA32_A_PMC0 + PMU_GP - 1:
        return env->msr_gp_counters[msr - MSR_IA32_A_PMC0];
    case MSR_P6_EVNTSEL0 ... MSR_P6_EVNTSEL0 + PMU_GP - 1:
        return env->msr_gp_evtsel[msr - MSR_P6_EVNTSEL0];
    case MSR_CORE_PERF_FIXED_CTR0 ... MSR_CORE_PERF_FIXED_CTR2:
        return env->msr_fixed_counters[msr - MSR_CORE_PERF_FIXED_CTR0];
    case MSR_IA32_PERF_CAPABILITIES:
        return read_capabilities(env_archcpu(env));
    case MSR_CORE_PERF_FIXED_CTR_CTRL:
        return env->msr_fixed_ctr_ctrl;
    case MSR_CORE_PERF_GLOBAL_STATUS:
        return env->msr_global_status;
    case MSR_CORE_PERF_GLOBAL_CTRL:
        return env->msr_global_ctrl;
    case MSR_CORE_PERF_GLOBAL_INUSE:
        return in_use(env);
    case MSR_IA32_PEBS_ENABLE:
        return env->msr_pebs_enable;
    default:
        return 0;       /* OVF_CTRL and STATUS_SET act, and keep nothing */
    }
}

bool x86_pmu_read(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    if (!has_msr(env, msr)) {
        return false;
    }
    pmu_before(env);
    *val = read_msr(env, msr);
    return true;
}

/* A counter that is written begins anew: it has not overflowed for PEBS. */
static void set_gp_counter(CPUX86State *env, int c, uint64_t val)
{
    env->msr_gp_counters[c] = val & value_mask(pmu_of(env));
    env->pebs_armed &= ~(1 << c);
}

/* The bits of each MSR that may be set, or 0 where it is read-only. */
static uint64_t writable(CPUX86State *env, uint32_t msr)
{
    const struct X86PMUModel *pmu = pmu_of(env);
    uint64_t frz = pmu->version >= 4 ? STATUS_LBR_FRZ | STATUS_CTR_FRZ : 0;

    switch (msr) {
    case MSR_P6_PERFCTR0 ... MSR_P6_PERFCTR0 + PMU_GP - 1:
        return UINT64_MAX;      /* "bits 63:32 are ignored" */
    case MSR_IA32_A_PMC0 ... MSR_IA32_A_PMC0 + PMU_GP - 1:
    case MSR_CORE_PERF_FIXED_CTR0 ... MSR_CORE_PERF_FIXED_CTR2:
        return value_mask(pmu);
    case MSR_P6_EVNTSEL0 ... MSR_P6_EVNTSEL0 + PMU_GP - 1:
        return UINT32_MAX & ~(pmu->version < 3 ? EVTSEL_ANY : 0);
    case MSR_CORE_PERF_FIXED_CTR_CTRL:
        return pmu->version < 3 ? 0xbbb : 0xfff;
    case MSR_CORE_PERF_GLOBAL_CTRL:
        return counters_mask(pmu);
    case MSR_CORE_PERF_GLOBAL_OVF_CTRL:
        return counters_mask(pmu) | STATUS_OVF_BUF | STATUS_COND | frz;
    case MSR_CORE_PERF_GLOBAL_STATUS_SET:
        return counters_mask(pmu) | STATUS_OVF_BUF | frz;
    case MSR_IA32_PEBS_ENABLE:
        return 0xf0000000fULL;  /* the upper four: load latency, kept */
    default:
        return 0;
    }
}

bool x86_pmu_write(CPUX86State *env, uint32_t msr, uint64_t val)
{
    uint64_t may = has_msr(env, msr) ? writable(env, msr) : 0;

    if (may == 0 || val & ~may) {
        return false;
    }
    pmu_before(env);
    switch (msr) {
    case MSR_P6_PERFCTR0 ... MSR_P6_PERFCTR0 + PMU_GP - 1:
        set_gp_counter(env, msr - MSR_P6_PERFCTR0, (int32_t)val);
        break;
    case MSR_IA32_A_PMC0 ... MSR_IA32_A_PMC0 + PMU_GP - 1:
        set_gp_counter(env, msr - MSR_IA32_A_PMC0, val);
        break;
    case MSR_P6_EVNTSEL0 ... MSR_P6_EVNTSEL0 + PMU_GP - 1:
        env->msr_gp_evtsel[msr - MSR_P6_EVNTSEL0] = val;
        break;
    case MSR_CORE_PERF_FIXED_CTR0 ... MSR_CORE_PERF_FIXED_CTR2:
        env->msr_fixed_counters[msr - MSR_CORE_PERF_FIXED_CTR0] = val;
        break;
    case MSR_CORE_PERF_FIXED_CTR_CTRL:
        env->msr_fixed_ctr_ctrl = val;
        break;
    case MSR_CORE_PERF_GLOBAL_CTRL:
        env->msr_global_ctrl = val;
        break;
    case MSR_CORE_PERF_GLOBAL_OVF_CTRL:
        env->msr_global_status &= ~val;
        break;
    case MSR_CORE_PERF_GLOBAL_STATUS_SET:
        env->msr_global_status |= val;
        break;
    case MSR_IA32_PEBS_ENABLE:
        env->msr_pebs_enable = val;
        break;
    }
    pmu_after(env);
    return true;
}

bool x86_pmu_state_valid(CPUX86State *env)
{
    const struct X86PMUModel *pmu = pmu_of(env);
    uint64_t bad = 0;
    int c;

    if (!pmu) {
        error_report("performance counters: CPU %d has none, the state loaded "
                     "does", env_cpu(env)->cpu_index);
        return false;
    }
    for (c = 0; c < PMU_COUNTERS; c++) {
        bad |= *counter(env, c) & ~value_mask(pmu);
    }
    for (c = 0; c < PMU_GP; c++) {
        bad |= env->msr_gp_evtsel[c] &
               (c < pmu->gp ? ~writable(env, MSR_P6_EVNTSEL0 + c) : -1);
        bad |= c < pmu->gp ? 0 : env->msr_gp_counters[c];
    }
    bad |= env->msr_fixed_ctr_ctrl & ~writable(env, MSR_CORE_PERF_FIXED_CTR_CTRL);
    bad |= env->msr_global_ctrl & ~writable(env, MSR_CORE_PERF_GLOBAL_CTRL);
    bad |= env->msr_global_status & ~writable(env, MSR_CORE_PERF_GLOBAL_OVF_CTRL);
    bad |= env->msr_pebs_enable & ~(x86_pmu_has_pebs(env_archcpu(env)) ?
                                    writable(env, MSR_IA32_PEBS_ENABLE) : 0);
    if (bad || env->pebs_armed >= 1 << PMU_GP) {
        error_report("performance counters: the state loaded is of another "
                     "model than CPU %d", env_cpu(env)->cpu_index);
        return false;
    }
    return true;
}

/* RDPMC: bit 30 is for the fixed-function counters. */
bool x86_pmu_rdpmc(CPUX86State *env, uint32_t index, uint64_t *val)
{
    uint32_t msr = index & (1u << 30)
        ? MSR_CORE_PERF_FIXED_CTR0 + (index & ~(1u << 30))
        : MSR_P6_PERFCTR0 + index;
    uint32_t nr = index & (1u << 30) ? PMU_FIXED : pmu_of(env)->gp;

    return (index & ~(1u << 30)) < nr && x86_pmu_read(env, msr, val);
}
