/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86 debug store: what is written where, and what does that cause?
 *
 * Branch Trace Store of Intel's processors: MSRs, the records in guest
 * memory, the interrupt near the end of the buffer; the records of PEBS, the
 * other half of the DS area, whose counters are in pmu_helper.c; a log of all
 * records for the host; and BTF, which is in the same MSR.  Section names in
 * comments are those of the Intel SDM vol. 3, chapter "Debug, Branch Profile,
 * TSC, ...".  Not here: LBR, branch trace messages on the bus.
 *
 * To add a CPU family: a table and a case in ds_control_of(), the message in
 * x86_ds_realize(), the same bits in find_features() of tests/guest/lib.c, a
 * line in suites() of tests/run.sh.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "cpu.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"
#include "hw/i386/apic.h"
#include "sysemu/runstate.h"
#include "sysemu/sysemu.h"
#include "tcg/ds.h"
#include "tcg/pmu.h"
#include "tcg/retire.h"

#define DEBUGCTL_LBR    (1u << 0)
#define DEBUGCTL_BTF    (1u << 1)

/* Where a processor family keeps its bits in IA32_DEBUGCTL. */
struct X86DSControl {
    uint32_t tr, bts, btint;
    uint32_t off_os, off_usr;   /* these two exist with DS-CPL only */
    uint32_t other;             /* writable, and not ours */
};

/* "Last Branch, Interrupt, and Exception Recording (Intel Core 2 ...)" */
static const struct X86DSControl core2_control = {
    .tr = 1 << 6, .bts = 1 << 7, .btint = 1 << 8,
    .off_os = 1 << 9, .off_usr = 1 << 10,
    .other = DEBUGCTL_LBR | DEBUGCTL_BTF,
};

/* "Last Branch, Interrupt, and Exception Recording (... Core Duo ...)" */
static const struct X86DSControl core_duo_control = {
    .tr = 1 << 6, .bts = 1 << 7, .btint = 1 << 8,
    .other = DEBUGCTL_LBR | DEBUGCTL_BTF,
};

/* "... (Pentium M Processors)": bits 2 to 5 are PB0 to PB3 */
static const struct X86DSControl pentium_m_control = {
    .tr = 1 << 6, .bts = 1 << 7, .btint = 1 << 8,
    .other = DEBUGCTL_LBR | DEBUGCTL_BTF | 0x3c,
};

/* "MSR_DEBUGCTLA MSR", of processors based on Intel NetBurst */
static const struct X86DSControl netburst_control = {
    .tr = 1 << 2, .bts = 1 << 3, .btint = 1 << 4,
    .off_os = 1 << 5, .off_usr = 1 << 6,
    .other = DEBUGCTL_LBR | DEBUGCTL_BTF,
};

/*
 * A debug store without BTS, or none, but a PMU, whose bits IA32_DEBUGCTL has,
 * too.
 */
static const struct X86DSControl no_bts_control = {
    .other = DEBUGCTL_LBR | DEBUGCTL_BTF,
};

static const struct X86DSControl *ds_control_of(CPUX86State *env)
{
    uint32_t version = env->cpuid_version;
    int family = (version >> 8) & 0xf;
    int model = ((version >> 4) & 0xf) | ((version >> 12) & 0xf0);

    if (!IS_INTEL_CPU(env)) {
        return NULL;
    }
    if (family == 15) {
        family += (version >> 20) & 0xff;
    }
    if (family == 15) {
        return &netburst_control;
    }
    if (family != 6) {
        return NULL;
    }
    switch (model) {
    case 0x09:
    case 0x0d:
        return &pentium_m_control;
    case 0x0e:
        return &core_duo_control;
    default:
        return model >= 0x0f ? &core2_control : NULL;
    }
}

/*
 * The record log: one for all CPUs, as each is asked for the same file.  It is
 * only ever appended to, so that a pipe will do.
 */
#define DS_LOG_BUFFER   (1 << 20)

static struct {
    QemuMutex lock;
    FILE *file;
    char *name;
    bool failed;
    Notifier exit;
} ds_log;

/* A log that is not complete is reported at once, and by the exit status. */
static void ds_log_check(bool good)
{
    if (!good && !ds_log.failed) {
        ds_log.failed = true;
        error_report("cannot write bts-log '%s': %s: records are lost",
                     ds_log.name, strerror(errno));
    }
}

static void ds_log_flush(void)
{
    if (ds_log.file) {
        qemu_mutex_lock(&ds_log.lock);
        if (ds_log.file) {
            ds_log_check(fflush(ds_log.file) == 0);
        }
        qemu_mutex_unlock(&ds_log.lock);
    }
}

static void ds_log_vm_state(void *opaque, bool running, RunState state)
{
    if (!running) {
        ds_log_flush();
    }
}

static void ds_log_close(Notifier *n, void *unused)
{
    CPUState *cs;

    /* vCPUs may still run: what they record after this is not logged. */
    qemu_mutex_lock(&ds_log.lock);
    CPU_FOREACH(cs) {
        fprintf(ds_log.file, "dropped %d %" PRIu64 "\n", cs->cpu_index,
                X86_CPU(cs)->bts_dropped);
    }
    ds_log_check(!ferror(ds_log.file));
    ds_log_check(fclose(ds_log.file) == 0);
    ds_log.file = NULL;
    qemu_mutex_unlock(&ds_log.lock);
    if (ds_log.failed) {
        /* QEMU is in exit() already, with a status of its own. */
        fflush(NULL);
        _exit(EXIT_FAILURE);
    }
}

static bool ds_log_open(const char *name, Error **errp)
{
    if (ds_log.name) {
        if (strcmp(ds_log.name, name)) {
            error_setg(errp, "bts-log must be the same file for all CPUs");
            return false;
        }
        return true;
    }
    ds_log.file = fopen(name, "w");
    if (!ds_log.file) {
        error_setg_errno(errp, errno, "cannot write bts-log '%s'", name);
        return false;
    }
    setvbuf(ds_log.file, NULL, _IOFBF, DS_LOG_BUFFER);
    ds_log.name = g_strdup(name);
    qemu_mutex_init(&ds_log.lock);
    ds_log.exit.notify = ds_log_close;
    qemu_add_exit_notifier(&ds_log.exit);
    qemu_add_vm_change_state_handler(ds_log_vm_state, NULL);
    return true;
}

/* Append a number and a separator.  There are millions: printf() is slow. */
static inline char *ds_log_number(char *p, uint64_t val, unsigned base, char end)
{
    char digits[20];
    int n = 0;

    do {
        digits[n++] = "0123456789abcdef"[val % base];
        val /= base;
    } while (val);
    while (n) {
        *p++ = digits[--n];
    }
    *p++ = end;
    return p;
}

static void ds_log_line(const char *line, size_t len)
{
    qemu_mutex_lock(&ds_log.lock);
    if (ds_log.file) {
        ds_log_check(fwrite(line, len, 1, ds_log.file) == 1);
    }
    qemu_mutex_unlock(&ds_log.lock);
}

static void ds_log_branch(CPUX86State *env, target_ulong from,
                          target_ulong to, int cpl)
{
    char line[6 * 21];
    char *p = line;

    p = ds_log_number(p, env_cpu(env)->cpu_index, 10, ' ');
    p = ds_log_number(p, cpl, 10, ' ');
    p = ds_log_number(p, env->hflags & HF_CPL_MASK, 10, ' ');
    p = ds_log_number(p, env->cr[3], 16, ' ');
    p = ds_log_number(p, from, 16, ' ');
    p = ds_log_number(p, to, 16, '\n');
    ds_log_line(line, p - line);
}

static void ds_log_pebs(CPUX86State *env, target_ulong from, int cpl,
                        uint32_t counters)
{
    char line[6 * 21] = "pebs ";
    char *p = line + strlen(line);

    p = ds_log_number(p, env_cpu(env)->cpu_index, 10, ' ');
    p = ds_log_number(p, cpl, 10, ' ');
    p = ds_log_number(p, env->cr[3], 16, ' ');
    p = ds_log_number(p, from, 16, ' ');
    p = ds_log_number(p, counters, 16, '\n');
    ds_log_line(line, p - line);
}

bool x86_ds_realize(X86CPU *cpu, Error **errp)
{
    CPUX86State *env = &cpu->env;

    object_property_add_uint64_ptr(OBJECT(cpu), "bts-dropped",
                                   &cpu->bts_dropped, OBJ_PROP_FLAG_READ);
    if (cpu->bts_log && !ds_log_open(cpu->bts_log, errp)) {
        return false;
    }
    if (!(env->features[FEAT_1_EDX] & CPUID_DTS)) {
        if (env->features[FEAT_1_ECX] &
            (CPUID_EXT_DTES64 | CPUID_EXT_DSCPL)) {
            error_setg(errp, "CPU features 'dtes64' and 'ds-cpl' are of no "
                       "use without 'ds'");
            return false;
        }
        return true;
    }
    cpu->ds_control = ds_control_of(env);
    if (!cpu->ds_control) {
        error_setg(errp, "CPU feature 'ds' is emulated for Intel models of "
                   "family 15 and of family 6 from Pentium M on");
        return false;
    }
    if (!cpu->bts) {
        cpu->ds_control = &no_bts_control;
    }
    return true;
}

static bool bts_enabled(CPUX86State *env, int cpl)
{
    const struct X86DSControl *ctl = env_archcpu(env)->ds_control;
    uint32_t on = ctl->tr | ctl->bts;

    return on && (env->msr_debugctl & on) == on &&
           !(env->msr_debugctl & (cpl == 0 ? ctl->off_os : ctl->off_usr));
}

uint32_t x86_bts_hflags(CPUX86State *env)
{
    uint32_t flags = 0;

    if (!env_archcpu(env)->ds_control) {
        return 0;
    }
    if (env->bts_pmi_countdown || bts_enabled(env, 0)) {
        flags |= HF_BR_OS_MASK;
    }
    if (env->bts_pmi_countdown || bts_enabled(env, 3)) {
        flags |= HF_BR_USR_MASK;
    }
    return flags;
}

uint64_t x86_read_debugctl(CPUX86State *env)
{
    return env->msr_debugctl;
}

uint64_t x86_read_ds_area(CPUX86State *env)
{
    return env->msr_ds_area;
}

/* NULL where there is no IA32_DEBUGCTL. */
static const struct X86DSControl *debugctl_of(CPUX86State *env)
{
    X86CPU *cpu = env_archcpu(env);

    return cpu->ds_control || !cpu->pmu ? cpu->ds_control : &no_bts_control;
}

static uint64_t debugctl_valid(CPUX86State *env,
                               const struct X86DSControl *ctl)
{
    uint64_t valid = ctl->tr | ctl->bts | ctl->btint | ctl->other |
                     x86_pmu_debugctl(env_archcpu(env));

    if (env->features[FEAT_1_ECX] & CPUID_EXT_DSCPL) {
        valid |= ctl->off_os | ctl->off_usr;
    }
    return valid;
}

bool x86_ds_state_valid(CPUX86State *env)
{
    const struct X86DSControl *ctl = debugctl_of(env);

    if (!ctl || (env->msr_ds_area && !env_archcpu(env)->ds_control)) {
        error_report("debug store: CPU %d has none, the state loaded does",
                     env_cpu(env)->cpu_index);
        return false;
    }
    if (env->msr_debugctl & ~debugctl_valid(env, ctl)) {
        error_report("debug store: the state loaded has IA32_DEBUGCTL 0x%"
                     PRIx64 ", which CPU %d cannot have", env->msr_debugctl,
                     env_cpu(env)->cpu_index);
        return false;
    }
    return true;
}

bool x86_write_debugctl(CPUX86State *env, uint64_t val)
{
    const struct X86DSControl *ctl = debugctl_of(env);

    if (!ctl) {
        return true;
    }
    if (val & ~debugctl_valid(env, ctl)) {
        return false;
    }
    env->msr_debugctl = val;
    if (!(val & ctl->tr) && env->bts_pmi_countdown) {
        /* The interrupt was raised already, it is only late. */
        env->bts_pmi_countdown = 0;
        x86_deliver_pmi(env);
    }
    x86_update_retire_hflags(env);
    if (!x86_bts_hflags(env)) {
        /* Whoever turned it off may want to look, through 9p for one. */
        ds_log_flush();
    }
    return true;
}

bool x86_write_ds_area(CPUX86State *env, uint64_t val)
{
    if (!env_archcpu(env)->ds_control) {
        return true;
    }
    if (!x86_is_canonical(env, val)) {
        return false;
    }
    env->msr_ds_area = val;
    return true;
}

/* Read-only bits: is there a PMU, no BTS, no PEBS? */
uint64_t x86_read_misc_enable(CPUX86State *env)
{
    X86CPU *cpu = env_archcpu(env);
    uint64_t val = env->msr_ia32_misc_enable;

    if (cpu->pmu) {
        val |= MSR_IA32_MISC_ENABLE_PERFMON;
    }
    if (cpu->ds_control) {
        if (cpu->bts) {
            val &= ~MSR_IA32_MISC_ENABLE_BTS_UNAVAIL;
        } else {
            val |= MSR_IA32_MISC_ENABLE_BTS_UNAVAIL;
        }
        if (x86_pmu_has_pebs(cpu)) {
            val &= ~MSR_IA32_MISC_ENABLE_PEBS_UNAVAIL;
        } else {
            val |= MSR_IA32_MISC_ENABLE_PEBS_UNAVAIL;
        }
    }
    return val;
}

/* "LBR, BTF ... on a debug exception": #DB clears these two, and not TR. */
void x86_debug_exception(CPUX86State *env)
{
    env->msr_debugctl &= ~(uint64_t)(DEBUGCTL_LBR | DEBUGCTL_BTF);
}

/*
 * "Single-Stepping on Branches": with BTF, TF traps "only after instructions
 * that cause a branch".  The one that ends here, with TF, is not of these.
 */
void helper_single_step_no_branch(CPUX86State *env)
{
    if (!(env->msr_debugctl & DEBUGCTL_BTF)) {
        helper_single_step(env);
    }
}

/* Guest linear memory as the host sees it: one page, or parts of two. */
typedef struct DSRange {
    uint8_t *host[2];
    uint32_t split;             /* bytes in the first part */
} DSRange;

/*
 * Stores to the DS area are not survivable on hardware when they fault (SDM,
 * "DS Save Area": it is to be in memory that is not paged out, mapped under
 * every CR3).  So that a test sees it, the machine stops.
 */
static void ds_fault(CPUX86State *env, target_ulong addr)
{
    /* Interrupt delivery comes here with the big lock, helpers without. */
    bool locked = qemu_mutex_iothread_locked();

    if (!locked) {
        qemu_mutex_lock_iothread();
    }
    error_report("debug store: CPU %d cannot write to linear address 0x%"
                 PRIx64 " with CR3 0x%" PRIx64 ": machine stopped",
                 env_cpu(env)->cpu_index, (uint64_t)addr,
                 (uint64_t)env->cr[3]);
    qemu_system_guest_panicked(NULL);
    if (!locked) {
        qemu_mutex_unlock_iothread();
    }
}

/*
 * Make sure that all of the range can be written before any of it is.  Data
 * breakpoints do not see these stores, as they go to the host's memory.
 */
static bool ds_map(CPUX86State *env, target_ulong addr, uint32_t len,
                   DSRange *range)
{
    /*
     * An implicit supervisor access: SMAP holds whatever EFLAGS.AC says, and
     * compatibility mode does not cut the address.
     */
    int mmu_idx = (env->hflags & HF_SMAP_MASK ? MMU_KSMAP64_IDX
                                              : MMU_KNOSMAP64_IDX) +
                  (env->hflags & HF_LMA_MASK ? 0 : 1);
    int i;

    range->split = MIN(len, -(addr | TARGET_PAGE_MASK));
    for (i = 0; i < 2; i++) {
        if (i == 1) {
            if (range->split == len) {
                break;
            }
            addr += range->split;
        }
        if (!(env->hflags & HF_LMA_MASK)) {
            addr = (uint32_t)addr;
        }
        probe_access_flags(env, addr, MMU_DATA_STORE, mmu_idx, true,
                           (void **)&range->host[i], 0);
        if (!range->host[i]) {
            ds_fault(env, addr);
            return false;
        }
    }
    return true;
}

static uint8_t *ds_byte(const DSRange *range, uint32_t ofs)
{
    return ofs < range->split ? range->host[0] + ofs
                              : range->host[1] + (ofs - range->split);
}

static uint64_t ds_load(const DSRange *range, uint32_t ofs, uint32_t size)
{
    uint64_t val = 0;
    int i;

    if (ofs >= range->split || ofs + size <= range->split) {
        return ldn_le_p(ds_byte(range, ofs), size);
    }
    for (i = 0; i < size; i++) {
        val |= (uint64_t)*ds_byte(range, ofs + i) << (8 * i);
    }
    return val;
}

static void ds_store(const DSRange *range, uint32_t ofs, uint32_t size,
                     uint64_t val)
{
    int i;

    if (ofs >= range->split || ofs + size <= range->split) {
        stn_le_p(ds_byte(range, ofs), size, val);
        return;
    }
    for (i = 0; i < size; i++) {
        *ds_byte(range, ofs + i) = val >> (8 * i);
    }
}

/* Fields of the DS buffer management area, in units of the field size. */
enum {
    BTS_BASE, BTS_INDEX, BTS_MAXIMUM, BTS_THRESHOLD, BTS_NR_FIELDS,
    PEBS_BASE = BTS_NR_FIELDS, PEBS_INDEX, PEBS_MAXIMUM, PEBS_THRESHOLD,
    PEBS_RESET, PEBS_NR_FIELDS = PEBS_RESET + 4,
};

/*
 * Write one record.  Returns true if it is the one that the interrupt
 * threshold points at.
 */
static bool bts_store(CPUX86State *env, target_ulong from, target_ulong to,
                      int cpl)
{
    X86CPU *cpu = env_archcpu(env);
    /*
     * "64 Bit Format of the DS Save Area": 64-bit fields if DTES64 says so,
     * and without DTES64 while IA-32e mode is active.
     */
    bool wide = (env->features[FEAT_1_ECX] & CPUID_EXT_DTES64) ||
                (env->hflags & HF_LMA_MASK);
    uint32_t size = wide ? 8 : 4;
    uint32_t record_size = 3 * size;
    bool circular = !(env->msr_debugctl & cpu->ds_control->btint);
    uint64_t base, index, maximum, threshold, next;
    DSRange area, record;

    if (!ds_map(env, env->msr_ds_area, BTS_NR_FIELDS * size, &area)) {
        return false;
    }
    base = ds_load(&area, BTS_BASE * size, size);
    index = ds_load(&area, BTS_INDEX * size, size);
    maximum = ds_load(&area, BTS_MAXIMUM * size, size);
    threshold = ds_load(&area, BTS_THRESHOLD * size, size);

    if (circular && index + record_size > maximum) {
        index = base;
    }
    if (index + record_size > maximum) {
        cpu->bts_dropped++;
        return false;
    }
    if (!ds_map(env, index, record_size, &record)) {
        return false;
    }
    ds_store(&record, 0 * size, size, from);
    ds_store(&record, 1 * size, size, to);
    ds_store(&record, 2 * size, size, 0);
    next = index + record_size;
    if (circular && next + record_size > maximum) {
        next = base;
    }
    /* Another CPU that reads the index finds the record. */
    smp_wmb();
    ds_store(&area, BTS_INDEX * size, size, next);

    if (ds_log.file) {
        ds_log_branch(env, from, to, cpl);
    }
    return index == threshold;
}

bool x86_bts_retire(CPUX86State *env, target_ulong from, target_ulong to,
                    int cpl)
{
    bool pmi = false;

    /* In SMM the DS area's addresses mean other memory. */
    if (!env_archcpu(env)->ds_control || (env->hflags & HF_SMM_MASK)) {
        return false;
    }
    if (env->bts_pmi_countdown && --env->bts_pmi_countdown == 0) {
        pmi = true;
    }
    /* A branch across rings is stored if either side is ("crossings"). */
    if ((bts_enabled(env, cpl) || bts_enabled(env, env->hflags & HF_CPL_MASK))
        && bts_store(env, from, to, cpl)) {
        uint32_t skid = env_archcpu(env)->bts_skid;

        if (skid == 0) {
            pmi = true;
        } else if (!env->bts_pmi_countdown) {
            env->bts_pmi_countdown = skid;
        }
    }
    if (pmi) {
        env->bts_pmi_countdown = 0;
    }
    return pmi;
}

/* "PEBS Record Format for 6th Generation Intel Core Processor Family" */
#define PEBS_RECORD_SIZE    200

bool x86_pebs_store(CPUX86State *env, target_ulong from, int cpl,
                    uint32_t counters, uint64_t reset[4], bool *full)
{
    /* RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP; the others follow in order. */
    static const uint8_t order[8] = {
        R_EAX, R_EBX, R_ECX, R_EDX, R_ESI, R_EDI, R_EBP, R_ESP
    };
    uint64_t index, next;
    DSRange area, record;
    int i;

    /* DTES64 is required: fields have 64 bits in every mode.  And as above. */
    if ((env->hflags & HF_SMM_MASK) ||
        !ds_map(env, env->msr_ds_area, PEBS_NR_FIELDS * 8, &area)) {
        return false;
    }
    index = ds_load(&area, PEBS_INDEX * 8, 8);
    next = index + PEBS_RECORD_SIZE;
    if (next > ds_load(&area, PEBS_MAXIMUM * 8, 8) ||
        !ds_map(env, index, PEBS_RECORD_SIZE, &record)) {
        return false;
    }
    for (i = 0; i < PEBS_RECORD_SIZE; i += 8) {
        ds_store(&record, i, 8, 0);
    }
    ds_store(&record, 0x00, 8, cpu_compute_eflags(env));
    ds_store(&record, 0x08, 8, x86_linear_eip(env));
    for (i = 0; i < CPU_NB_REGS; i++) {
        target_ulong val = env->regs[i < 8 ? order[i] : i];

        /* "If not in IA-32e mode": bits 63:32 and R8 to R15 are zero. */
        if (!(env->hflags & HF_LMA_MASK)) {
            val = i < 8 ? (uint32_t)val : 0;
        }
        ds_store(&record, 0x10 + 8 * i, 8, val);
    }
    ds_store(&record, 0x90, 8, counters);
    ds_store(&record, 0xb0, 8, from);
    ds_store(&record, 0xc0, 8, cpu_get_tsc(env) + env->tsc_offset);
    smp_wmb();
    ds_store(&area, PEBS_INDEX * 8, 8, next);
    if (ds_log.file) {
        ds_log_pebs(env, from, cpl, counters);
    }

    for (i = 0; i < 4; i++) {
        reset[i] = ds_load(&area, (PEBS_RESET + i) * 8, 8);
    }
    *full = next >= ds_load(&area, PEBS_THRESHOLD * 8, 8);
    return true;
}
