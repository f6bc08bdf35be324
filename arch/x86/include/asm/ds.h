/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may other kernel code ask of the debug store, and in which context?
 *
 * The debug store (DS) is one save area per CPU that branch trace store (BTS)
 * and PEBS share; Intel SDM vol. 3, "BTS and DS Save Area". arch/x86/kernel/ds/
 * owns it: the area, IA32_DS_AREA, and the pages mapped for either half.
 * perf asks for its PEBS half through the first part of this file. Whoever
 * wants branches becomes a tracer through the second.
 */
#ifndef _ASM_X86_DS_H
#define _ASM_X86_DS_H

#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/types.h>

struct debug_store;
struct task_struct;

#ifdef CONFIG_CPU_SUP_INTEL
struct debug_store *ds_area(int cpu);
unsigned long ds_area_msr(int cpu);
void ds_area_get(void);
void ds_area_put(void);
void ds_area_load(void);
void ds_area_unload(void);
int ds_staging_get(void);
void ds_staging_put(void);
int ds_pebs_map(int cpu, size_t size);
void ds_pebs_unmap(int cpu, size_t size);
#else
static inline void ds_area_load(void) { }
#endif

#ifdef CONFIG_X86_DS
/**
 * struct ds_branch - one taken branch, as drained from the staging bank
 * @from:	linear address of the branch instruction
 * @to:		linear address it went to
 */
struct ds_branch {
	u64	from;
	u64	to;
};

struct ds_tracer;

/**
 * struct ds_tracer_ops - what a consumer of branches provides: its sink
 * @write:	take @nr branches, oldest first. Runs with interrupts off and
 *		tracing off on the CPU that recorded them, possibly in NMI and
 *		possibly with rq->lock held: it must not lock, wake or fault.
 *		Calls for one tracer never overlap.
 * @free:	the tracer was released and nothing refers to it any longer.
 *		Runs in a work item; may sleep.
 */
struct ds_tracer_ops {
	void	(*write)(struct ds_tracer *tracer,
			 const struct ds_branch *branch, unsigned int nr);
	void	(*free)(struct ds_tracer *tracer);
};

/**
 * struct ds_tracer - somebody who wants the user-mode branches of one task
 * @ops:	the consumer's sink
 * @task:	the traced task; holds a reference
 * @lock:	orders start, stop, sync and the end of the tracer
 * @running:	branches are wanted; written under @lock, read by the context
 *		switch
 * @released:	set once by ds_tracer_release()
 * @node:	in the list of released tracers
 *
 * Embedded in the consumer's own structure. Every field is the layer's.
 */
struct ds_tracer {
	const struct ds_tracer_ops	*ops;
	struct task_struct		*task;
	struct mutex			lock;	/* not for the context switch */
	bool				running;
	bool				released;
	struct llist_node		node;
};

bool ds_available(void);
int ds_tracer_attach(struct ds_tracer *tracer, struct task_struct *task,
		     const struct ds_tracer_ops *ops);
int ds_tracer_start(struct ds_tracer *tracer);
int ds_tracer_stop(struct ds_tracer *tracer);
int ds_tracer_sync(struct ds_tracer *tracer);
void ds_tracer_release(struct ds_tracer *tracer);
void ds_tracer_flush(void);

void ds_switch_to(struct task_struct *next);
void ds_dup_task(struct task_struct *child);
#else
static inline void ds_switch_to(struct task_struct *next) { }
static inline void ds_dup_task(struct task_struct *child) { }
#endif

#endif /* _ASM_X86_DS_H */
