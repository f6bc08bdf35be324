/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may other kernel code ask of the debug store, and in which context?
 *
 * The debug store (DS) is one save area per CPU that branch trace store (BTS)
 * and PEBS share; Intel SDM vol. 3, "BTS and DS Save Area". arch/x86/kernel/ds/
 * owns it: the area, IA32_DS_AREA, and the pages mapped for either half.
 * perf asks for its PEBS half through the first part of this file. Whoever
 * wants branches becomes a tracer through the second. How the layer works, and
 * what to look at to change it: Documentation/arch/x86/ds.rst.
 */
#ifndef _ASM_X86_DS_H
#define _ASM_X86_DS_H

#include <linux/atomic.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
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

/*
 * The interrupt for a full buffer comes late: so many records, at most, are
 * stored after the one it is raised for. Thresholds and ds_room_min() follow
 * from it; ds.rst says what to look at when it is changed.
 */
#define DS_HEADROOM	256

/**
 * enum ds_answer - what becomes of a tracer whose sink is full
 * @DS_STOP:	records no more, until ds_tracer_start()
 * @DS_GO_ON:	records on. The sink has made room, or loses records and counts
 *		them itself
 * @DS_LATER:	as the answer of ops->full: records no more until ops->resume,
 *		before the task's next user instruction, has another answer. As
 *		the answer of ops->resume: records on, into what is left of the
 *		headroom, and asks again at the next PMI or the next time that
 *		the task is switched to
 */
enum ds_answer {
	DS_STOP,
	DS_GO_ON,
	DS_LATER,
};

struct ds_tracer;

/**
 * struct ds_tracer_ops - what a consumer of branches provides: its sink
 * @room:	how many records can be written now; NULL where that has no
 *		limit, because the sink overwrites. Asked whenever recording is
 *		about to begin or to go on; while it goes on, only @write takes
 *		room away. Empty, a sink has ds_room_min() at least
 * @write:	take @nr branches, oldest first; more than @room said where an
 *		answer was to go on without room, or where the processor was
 *		later than DS_HEADROOM
 * @lost:	after the branches written last, some were lost: they found the
 *		staging bank full. How many is not known. May be NULL
 * @full:	@room is less than half of ds_room_min(), or not much more;
 *		nothing is recorded while this runs. NULL where @room is
 * @resume:	the answer of @full was DS_LATER, and there still is no room.
 *		Runs in the task itself, with interrupts on; may sleep, and then
 *		also run on after ds_tracer_stop(). Not called for a task that
 *		exits: its tracer stays stopped. DS_GO_ON must not be the answer
 *		without room. NULL where @full never answers so
 * @free:	the tracer was released and nothing refers to it any longer.
 *		Runs in a work item or in the task; may sleep
 *
 * @room, @write, @lost and @full run with interrupts off and tracing off on
 * the CPU that records, possibly in NMI and possibly with rq->lock held: they
 * must not lock, wake or fault; irq_work_queue() is allowed. For one tracer
 * they never overlap, and each sees what those before it did.
 */
struct ds_tracer_ops {
	unsigned int	(*room)(struct ds_tracer *tracer);
	void		(*write)(struct ds_tracer *tracer,
				 const struct ds_branch *branch,
				 unsigned int nr);
	void		(*lost)(struct ds_tracer *tracer);
	enum ds_answer	(*full)(struct ds_tracer *tracer);
	enum ds_answer	(*resume)(struct ds_tracer *tracer);
	void		(*free)(struct ds_tracer *tracer);
};

/**
 * struct ds_tracer - somebody who wants the user-mode branches of one task
 * @ops:	the consumer's sink
 * @task:	the traced task; holds a reference
 * @lock:	orders start, stop, sync and the end of the tracer
 * @state:	enum ds_state; changed by start and stop on any CPU, and where
 *		the sink is full, on the CPU that records
 * @ref:	until the tracer was released, and one while @work is queued
 * @work:	runs ops->resume in the task
 * @queued:	@work is; changed on the CPU of the task only
 * @released:	set once by ds_tracer_release()
 * @node:	in the list of released tracers
 *
 * Embedded in the consumer's own structure. Every field is the layer's.
 */
struct ds_tracer {
	const struct ds_tracer_ops	*ops;
	struct task_struct		*task;
	struct mutex			lock;	/* not for the context switch */
	atomic_t			state;
	refcount_t			ref;
	struct callback_head		work;
	bool				queued;
	bool				released;
	struct llist_node		node;
};

bool ds_available(void);
unsigned int ds_room_min(void);
int ds_tracer_attach(struct ds_tracer *tracer, struct task_struct *task,
		     const struct ds_tracer_ops *ops);
int ds_tracer_start(struct ds_tracer *tracer);
int ds_tracer_stop(struct ds_tracer *tracer);
bool ds_tracer_started(const struct ds_tracer *tracer);
int ds_tracer_sync(struct ds_tracer *tracer);
void ds_tracer_release(struct ds_tracer *tracer);
void ds_tracer_flush(void);

void ds_switch_to(struct task_struct *next);
void ds_dup_task(struct task_struct *child);
void ds_cpu_emergency_stop(void);
void ds_cpu_suspend(void);
void ds_cpu_resume(void);
#else
static inline void ds_switch_to(struct task_struct *next) { }
static inline void ds_dup_task(struct task_struct *child) { }
static inline void ds_cpu_emergency_stop(void) { }
static inline void ds_cpu_suspend(void) { }
static inline void ds_cpu_resume(void) { ds_area_load(); }
#endif

#endif /* _ASM_X86_DS_H */
