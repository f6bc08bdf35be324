// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does a context switch change, and what does a new task inherit?
 */
#include <linux/percpu.h>
#include <linux/processor.h>
#include <linux/sched.h>

#include "internal.h"

/**
 * ds_switch_to - record for the task that is switched to, and for no other
 * @next: the task
 *
 * Called where either task has TIF_DS. The flag only asks to look: it stays set
 * until no CPU records for the task any longer, so that the switch away from
 * it is never missed.
 *
 * Context: __switch_to(): interrupts off, rq->lock held. current is @next on
 *	    64-bit already, and not yet on 32-bit.
 */
void ds_switch_to(struct task_struct *next)
{
	struct ds_tracer *tracer = NULL;

	if (test_tsk_thread_flag(next, TIF_DS))
		tracer = READ_ONCE(next->thread.ds_tracer);

	if (tracer || this_cpu_read(ds_cpu.owner))
		ds_hand_over(tracer);
}

/**
 * ds_dup_task - a new task starts untraced
 * @child: bytewise copy of its parent, not yet visible to anybody
 *
 * Context: Process context of the parent.
 */
void ds_dup_task(struct task_struct *child)
{
	child->thread.ds_tracer = NULL;
	clear_tsk_thread_flag(child, TIF_DS);
}
