// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where do the DS area and its buffers live, and who maps and frees them?
 *
 * The processor stores to linear addresses, with whatever page tables are
 * loaded when a branch retires (Intel SDM vol. 3, "Setting Up the DS Save
 * Area": non-pageable, not on a page with code, the same under every CR3).
 * The cpu_entry_area is the one part of the kernel mapped that way, with
 * and without page-table isolation. It reserves slots for the area, for the
 * BTS staging bank and for PEBS; this file puts pages behind them. Whether perf
 * or a tracer may record is not decided here, but in tracer.c.
 */
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include <asm/cpu_entry_area.h>
#include <asm/ds.h>
#include <asm/intel_ds.h>
#include <asm/msr.h>
#include <asm/tlbflush.h>

#include "internal.h"

/* A full page, so that it can be mapped into the cpu_entry_area. */
DEFINE_PER_CPU_PAGE_ALIGNED(struct debug_store, cpu_debug_store);

struct ds_pages {
	void	*bts;
	void	*pebs;
};

static DEFINE_PER_CPU(struct ds_pages, ds_pages);

/*
 * Both counts, and the BTS half of every area while nobody traces. Taken in
 * hotplug callbacks by perf, so nothing under it may wait for hotplug.
 */
static DEFINE_MUTEX(ds_area_mutex);
static unsigned int ds_area_users;
static unsigned int ds_staging_users;

/**
 * ds_area - the DS area of a CPU
 * @cpu: any possible CPU
 *
 * Context: Any.
 * Return: its address in the cpu_entry_area, valid under every CR3.
 */
struct debug_store *ds_area(int cpu)
{
	return &get_cpu_entry_area(cpu)->cpu_debug_store;
}

/**
 * ds_area_msr - what IA32_DS_AREA holds on a CPU
 * @cpu: any possible CPU
 *
 * For those who have to put the host's value back, as KVM does.
 *
 * Context: Any.
 * Return: the address of the DS area, 0 while nobody uses one.
 */
unsigned long ds_area_msr(int cpu)
{
	return READ_ONCE(ds_area_users) ? (unsigned long)ds_area(cpu) : 0;
}

static void ds_area_write_msr(void)
{
	int cpu;

	/*
	 * CPUs that are not online fail here; ds_area_load() catches them when
	 * they come up.
	 */
	for_each_possible_cpu(cpu)
		wrmsrl_on_cpu(cpu, MSR_IA32_DS_AREA, ds_area_msr(cpu));
}

static void ds_area_get_locked(void)
{
	WRITE_ONCE(ds_area_users, ds_area_users + 1);
	if (ds_area_users == 1)
		ds_area_write_msr();
}

static void ds_area_put_locked(void)
{
	WRITE_ONCE(ds_area_users, ds_area_users - 1);
	if (!ds_area_users)
		ds_area_write_msr();
}

/**
 * ds_area_get - point IA32_DS_AREA of every CPU at its DS area
 *
 * Context: Process context, interrupts on. Allowed in hotplug callbacks.
 */
void ds_area_get(void)
{
	mutex_lock(&ds_area_mutex);
	ds_area_get_locked();
	mutex_unlock(&ds_area_mutex);
}

/**
 * ds_area_put - undo one ds_area_get(); the last clears IA32_DS_AREA
 *
 * Context: As ds_area_get(). Nothing may record through the caller's half.
 */
void ds_area_put(void)
{
	mutex_lock(&ds_area_mutex);
	ds_area_put_locked();
	mutex_unlock(&ds_area_mutex);
}

/**
 * ds_area_load - write IA32_DS_AREA of a CPU that comes up
 *
 * After suspend, too: the boot CPU never goes offline, so no hotplug step sees
 * it come back.
 *
 * Context: On that CPU, interrupts off.
 */
void ds_area_load(void)
{
	unsigned long area = ds_area_msr(smp_processor_id());

	if (area)
		wrmsrl(MSR_IA32_DS_AREA, area);
}

/**
 * ds_area_unload - clear IA32_DS_AREA of a CPU that goes down
 *
 * Context: On that CPU, interrupts off, BTS and PEBS off.
 */
void ds_area_unload(void)
{
	if (ds_area_msr(smp_processor_id()))
		wrmsrl(MSR_IA32_DS_AREA, 0);
}

static void *ds_map(int cpu, void *slot, size_t size)
{
	void *pages = __vmalloc_node(size, PAGE_SIZE,
				     GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN,
				     cpu_to_node(cpu),
				     __builtin_return_address(0));
	size_t at;

	if (!pages)
		return NULL;

	/* Nothing was there before, and no TLB caches that. */
	for (at = 0; at < size; at += PAGE_SIZE)
		cea_set_pte(slot + at, PFN_PHYS(vmalloc_to_pfn(pages + at)),
			    PAGE_KERNEL);

	return pages;
}

/* The caller flushes [@slot, @slot + @size) on every CPU, then frees the pages. */
static void ds_unmap(void *slot, size_t size)
{
	size_t at;

	for (at = 0; at < size; at += PAGE_SIZE)
		cea_set_pte(slot + at, 0, PAGE_NONE);
}

/**
 * ds_pebs_map - put pages behind the PEBS slot of a CPU
 * @cpu:  any possible CPU
 * @size: bytes, at most PEBS_BUFFER_SIZE
 *
 * Clears the PEBS half but for its base and index; the maximum and the threshold
 * depend on the size of a PEBS record and stay the caller's.
 *
 * Context: Process context, interrupts on. The caller serialises.
 * Return: 0 or -ENOMEM.
 */
int ds_pebs_map(int cpu, size_t size)
{
	void *slot = get_cpu_entry_area(cpu)->cpu_debug_buffers.pebs_buffer;
	struct ds_pages *pages = per_cpu_ptr(&ds_pages, cpu);
	struct debug_store *ds = ds_area(cpu);

	pages->pebs = ds_map(cpu, slot, size);
	if (!pages->pebs)
		return -ENOMEM;

	memset_startat(ds, 0, pebs_buffer_base);
	ds->pebs_buffer_base = (unsigned long)slot;
	ds->pebs_index = ds->pebs_buffer_base;
	return 0;
}

/**
 * ds_pebs_unmap - take the pages behind a PEBS slot away
 * @cpu:  any possible CPU
 * @size: bytes, as in ds_pebs_map()
 *
 * Context: Process context, interrupts on. PEBS is off on that CPU.
 */
void ds_pebs_unmap(int cpu, size_t size)
{
	void *slot = get_cpu_entry_area(cpu)->cpu_debug_buffers.pebs_buffer;
	struct ds_pages *pages = per_cpu_ptr(&ds_pages, cpu);

	if (!pages->pebs)
		return;

	ds_unmap(slot, size);
	flush_tlb_kernel_range((unsigned long)slot, (unsigned long)slot + size);
	vfree(pages->pebs);
	pages->pebs = NULL;
}

static void ds_staging_unmap(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		ds_unmap(get_cpu_entry_area(cpu)->cpu_debug_buffers.bts_buffer,
			 BTS_BUFFER_SIZE);

	flush_tlb_kernel_range(CPU_ENTRY_AREA_BASE,
			       CPU_ENTRY_AREA_BASE + CPU_ENTRY_AREA_MAP_SIZE);

	for_each_possible_cpu(cpu) {
		struct ds_pages *pages = per_cpu_ptr(&ds_pages, cpu);

		vfree(pages->bts);
		pages->bts = NULL;
	}
}

/* Describe an empty staging bank. */
static void ds_staging_init(struct debug_store *ds, unsigned long base)
{
	unsigned int size = ds_record_size(ds_wide());

	ds_set(ds, DS_BTS_BASE, base);
	ds_set(ds, DS_BTS_INDEX, base);
	ds_set(ds, DS_BTS_MAXIMUM, base + BTS_BUFFER_SIZE / size * size);
	ds_staging_reset_threshold(ds);
}

/**
 * ds_staging_get - put a BTS staging bank behind the slot of every CPU
 *
 * Every possible CPU, not every online one: a CPU must not fail to come up
 * because somebody traces, and perf gets here out of hotplug callbacks, where
 * the set of CPUs cannot be held still.
 *
 * Context: Process context, interrupts on. Allowed in hotplug callbacks.
 * Return: 0 or -ENOMEM; with 0, IA32_DS_AREA is set on every online CPU.
 */
int ds_staging_get(void)
{
	int cpu, ret = 0;

	mutex_lock(&ds_area_mutex);
	if (!ds_staging_users) {
		for_each_possible_cpu(cpu) {
			void *slot = get_cpu_entry_area(cpu)->cpu_debug_buffers.bts_buffer;
			struct ds_pages *pages = per_cpu_ptr(&ds_pages, cpu);

			pages->bts = ds_map(cpu, slot, BTS_BUFFER_SIZE);
			if (!pages->bts) {
				ds_staging_unmap();
				ret = -ENOMEM;
				goto out;
			}
			ds_staging_init(ds_area(cpu), (unsigned long)slot);
		}
	}
	ds_staging_users++;
	ds_area_get_locked();
out:
	mutex_unlock(&ds_area_mutex);
	return ret;
}

/**
 * ds_staging_put - undo one ds_staging_get(); the last frees the banks
 *
 * Context: Process context, interrupts on. Every CPU was seen with BTS off
 *	    since the caller last had it on.
 */
void ds_staging_put(void)
{
	mutex_lock(&ds_area_mutex);
	ds_area_put_locked();
	if (!--ds_staging_users)
		ds_staging_unmap();
	mutex_unlock(&ds_area_mutex);
}
