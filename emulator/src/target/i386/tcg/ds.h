/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86 debug store: what the rest of TCG calls.
 *
 * sysemu/ds_helper.c says what is emulated.
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

/* Whether a state that was loaded is one this CPU can be in. */
bool x86_ds_state_valid(CPUX86State *env);

/* The hflags that ask for what is recorded, or counted as skid. */
uint32_t x86_bts_hflags(CPUX86State *env);
/* A branch was taken: record it.  Returns true if a PMI is due. */
bool x86_bts_retire(CPUX86State *env, target_ulong from, target_ulong to,
                    int cpl);

/*
 * Write a PEBS record of the instruction at @from, which made an event for
 * each of @counters.  Returns false if there is no room; else @reset has the
 * reset values of the counters, and @full says if the threshold is reached.
 */
bool x86_pebs_store(CPUX86State *env, target_ulong from, int cpl,
                    uint32_t counters, uint64_t reset[4], bool *full);

void x86_debug_exception(CPUX86State *env);

#endif /* !CONFIG_USER_ONLY */
#endif
