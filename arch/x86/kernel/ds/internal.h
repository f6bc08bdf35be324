/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do the files of the DS layer share with each other, and with nobody
 * else? The interface to the rest of the kernel is <asm/ds.h>.
 */
#ifndef _X86_KERNEL_DS_H
#define _X86_KERNEL_DS_H

#include <linux/cpufeature.h>
#include <linux/percpu-defs.h>
#include <linux/types.h>

#include <asm/ds.h>
#include <asm/intel_ds.h>

/*
 * The BTS half of the DS buffer management area, in hardware's order. With
 * DTES64 a field has 8 bytes, without it 4 (Intel SDM vol. 3, "BTS and DS Save
 * Area").
 */
enum ds_field {
	DS_BTS_BASE,
	DS_BTS_INDEX,
	DS_BTS_MAXIMUM,
	DS_BTS_THRESHOLD,
};

/* perf, alone, uses the area only where fields are wide. */
static inline bool ds_wide(void)
{
	return !IS_ENABLED(CONFIG_X86_DS) || boot_cpu_has(X86_FEATURE_DTES64);
}

static inline unsigned long ds_get(const struct debug_store *ds,
				   enum ds_field field)
{
	if (ds_wide())
		return READ_ONCE(((const u64 *)ds)[field]);
	return READ_ONCE(((const u32 *)ds)[field]);
}

static inline void ds_set(struct debug_store *ds, enum ds_field field,
			  unsigned long value)
{
	if (ds_wide())
		WRITE_ONCE(((u64 *)ds)[field], value);
	else
		WRITE_ONCE(((u32 *)ds)[field], value);
}

/* A BTS record is three fields: from, to, flags. In bytes. */
static inline unsigned int ds_record_size(bool wide)
{
	return 3 * (wide ? sizeof(u64) : sizeof(u32));
}

/* A threshold for perf, which takes it as it is. A tracer that is armed has its own. */
static inline void ds_staging_reset_threshold(struct debug_store *ds)
{
	unsigned int size = ds_record_size(ds_wide());
	unsigned int nr = BTS_BUFFER_SIZE / size;

	ds_set(ds, DS_BTS_THRESHOLD, ds_get(ds, DS_BTS_BASE) + (nr - nr / 16) * size);
}

/**
 * struct ds_control - where a CPU family has its BTS bits in IA32_DEBUGCTL
 * @enable:	TR, BTS and BTINT
 * @off_os:	BTS_OFF_OS, 0 where the CPU cannot filter by CPL
 * @off_usr:	BTS_OFF_USR, likewise
 */
struct ds_control {
	u64	enable;
	u64	off_os;
	u64	off_usr;
};

extern struct ds_control ds_control;

int ds_control_init(struct ds_control *control, const struct cpuinfo_x86 *c);

/**
 * enum ds_state - what becomes of a task's branches
 * @DS_STOPPED:	 they are not recorded
 * @DS_RUNNING:	 they are, from the next time on that somebody looks: when the
 *		 task is switched to, or at once where ds_tracer_start() returned
 * @DS_FULL:	 the sink is being asked, see ops->full
 * @DS_DEFERRED: they are not recorded until ops->resume said so
 * @DS_ASKED:	 as DS_RUNNING, and the first time without asking a full sink
 */
enum ds_state {
	DS_STOPPED,
	DS_RUNNING,
	DS_FULL,
	DS_DEFERRED,
	DS_ASKED,
};

/**
 * struct ds_cpu - what this CPU records, and for whom
 * @owner:	whose branches go to the staging bank; NULL while BTS is off
 * @busy:	the bank is being drained outside of the PMI, which leaves it alone
 * @pmi_seen:	a PMI came while @busy
 * @pmi_drained: a PMI may still come whose records were drained already
 *
 * Changed on that CPU only, with interrupts off; the PMI may come anywhere.
 */
struct ds_cpu {
	struct ds_tracer	*owner;
	bool			busy;
	bool			pmi_seen;
	bool			pmi_drained;
};

DECLARE_PER_CPU(struct ds_cpu, ds_cpu);

struct ds_branch ds_branch_read(const void *record, bool wide);
bool ds_branch_user(const struct ds_branch *branch);
void ds_bts_off(void);
void ds_bts_on(void);
bool ds_threshold_passed(void);
void ds_drain(struct ds_tracer *tracer);
void ds_hand_over(struct ds_tracer *next);
bool ds_arm(struct ds_tracer *tracer);
void ds_resume(struct callback_head *work);
void ds_tracer_put(struct ds_tracer *tracer);
bool ds_in_use(void);

int ds_pmi_register(void);
void ds_pmi_unregister(void);
int ds_hotplug_register(void);
void ds_hotplug_unregister(void);

#endif /* _X86_KERNEL_DS_H */
