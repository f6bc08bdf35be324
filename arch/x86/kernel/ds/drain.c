// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens to a batch of staged records?
 *
 * This is the one place where records are looked at. They are drained on the
 * CPU that stored them, with interrupts and BTS off: nothing traced runs there
 * meanwhile, so the copying is not traced and no record is lost. They belong
 * to the CPU's recorded owner and never to current: within __switch_to() the
 * two differ.
 *
 * The PMI is an NMI and may come while the bank is being drained already.
 * ds_cpu.busy tells it to leave the bank alone; see pmi.c for the other half.
 */
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/processor.h>
#include <linux/smp.h>
#include <linux/string.h>

#include <asm/debugreg.h>

#include "internal.h"

DEFINE_PER_CPU(struct ds_cpu, ds_cpu);

/* Branches per call of a sink: 256 bytes of NMI stack. */
#define DS_BATCH	16

/**
 * ds_branch_read - bring a record into the one form the layer works with
 * @record: as the processor stored it
 * @wide:   24-byte record, else 12
 *
 * The flags are left out: "predicted", their only bit, is not implemented on
 * any processor this layer knows (Intel SDM vol. 3, "BTS and DS Save Area").
 *
 * Context: Any.
 * Return: the branch.
 */
struct ds_branch ds_branch_read(const void *record, bool wide)
{
	const u64 *wide_field = record;
	const u32 *field = record;

	if (wide)
		return (struct ds_branch){ wide_field[0], wide_field[1] };
	return (struct ds_branch){ field[0], field[1] };
}

/*
 * Not TASK_SIZE_MAX: a wild jump to an address between the two is a user's own,
 * and the one branch its debugger looks for.
 */
static bool is_kernel_half(u64 address)
{
	if (IS_ENABLED(CONFIG_X86_64))
		return (s64)address < 0;
	return address >= PAGE_OFFSET;
}

/**
 * ds_branch_user - did a branch stay in user mode?
 * @branch: the branch
 *
 * Processors store branches into and out of the kernel even with BTS_OFF_OS
 * set. Either end would tell a user of the trace a kernel address.
 *
 * Context: Any.
 * Return: true where neither end is in the kernel's half of the addresses.
 */
bool ds_branch_user(const struct ds_branch *branch)
{
	return !is_kernel_half(branch->from) && !is_kernel_half(branch->to);
}

/* Our bits only: IA32_DEBUGCTL has other owners. Interrupts are off. */
void ds_bts_off(void)
{
	update_debugctlmsr(get_debugctlmsr() &
			   ~(ds_control.enable | ds_control.off_os |
			     ds_control.off_usr));
}

void ds_bts_on(void)
{
	u64 debugctl = get_debugctlmsr() & ~ds_control.off_usr;

	update_debugctlmsr(debugctl | ds_control.enable | ds_control.off_os);
}

/* Has this CPU stored as many records as ask for a PMI? */
bool ds_threshold_passed(void)
{
	const struct debug_store *ds = ds_area(smp_processor_id());

	return ds_get(ds, DS_BTS_INDEX) >= ds_get(ds, DS_BTS_THRESHOLD);
}

/**
 * ds_drain - empty this CPU's staging bank into a tracer's sink
 * @tracer: whose branches they are; NULL where they are nobody's
 *
 * Context: Interrupts and BTS off, NMI included.
 */
void ds_drain(struct ds_tracer *tracer)
{
	struct debug_store *ds = ds_area(smp_processor_id());
	unsigned long base = ds_get(ds, DS_BTS_BASE);
	/* Nothing is said about a store past the maximum; do not follow it. */
	unsigned long index = min(ds_get(ds, DS_BTS_INDEX),
				  ds_get(ds, DS_BTS_MAXIMUM));
	unsigned int size = ds_record_size(ds_wide());
	struct ds_branch batch[DS_BATCH];
	unsigned int nr = 0;
	unsigned long at;

	for (at = base; tracer && at < index; at += size) {
		batch[nr] = ds_branch_read((void *)at, ds_wide());
		if (!ds_branch_user(&batch[nr]))
			continue;
		if (++nr == DS_BATCH) {
			tracer->ops->write(tracer, batch, nr);
			nr = 0;
		}
	}
	if (nr)
		tracer->ops->write(tracer, batch, nr);

	/* No room for one more: one more may have come. */
	if (tracer && tracer->ops->lost && at + size > ds_get(ds, DS_BTS_MAXIMUM))
		tracer->ops->lost(tracer);

	/* Where user mode can read the bank, then no longer than until here. */
	if (boot_cpu_has_bug(X86_BUG_CPU_MELTDOWN))
		memset((void *)base, 0, index - base);

	ds_set(ds, DS_BTS_INDEX, base);
}

/**
 * ds_hand_over - drain this CPU, then record for somebody
 * @next: from now on the owner of what this CPU records, if it wants records
 *	  and has room for them; NULL for nobody
 *
 * The present owner may stay the owner: that is a sync.
 *
 * Context: Interrupts off, not in NMI. rq->lock may be held.
 */
void ds_hand_over(struct ds_tracer *next)
{
	struct ds_cpu *cpu = this_cpu_ptr(&ds_cpu);

	WRITE_ONCE(cpu->pmi_seen, false);
	WRITE_ONCE(cpu->busy, true);
	barrier();

	ds_bts_off();

	/*
	 * Its PMI may be raised already, and finds the bank empty when it comes
	 * from now on. Said before the bank is emptied, and taken back if it
	 * came before that.
	 */
	if (ds_threshold_passed()) {
		WRITE_ONCE(cpu->pmi_drained, true);
		barrier();
		if (READ_ONCE(cpu->pmi_seen))
			WRITE_ONCE(cpu->pmi_drained, false);
	}

	ds_drain(cpu->owner);
	WRITE_ONCE(cpu->owner, next && ds_arm(next) ? next : NULL);

	barrier();
	WRITE_ONCE(cpu->busy, false);
	if (cpu->owner)
		ds_bts_on();
}
