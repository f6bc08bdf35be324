// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens when a sink is full?
 *
 * Whenever recording is about to begin or to go on, room is looked at: the
 * threshold is set so that the PMI comes while there still is some. Where there
 * is not, the sink is asked, and nothing is recorded unless it says so. It may
 * want to answer in the task's own context; that is task work, which runs before
 * the task's next user instruction.
 *
 * ds_tracer_start() may come from another CPU at any time. Nobody waits for
 * anybody: tracer->state leaves DS_FULL and DS_DEFERRED by cmpxchg() only, so
 * that a start or stop in between is what counts.
 */
#include <linux/irqflags.h>
#include <linux/limits.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/task_work.h>

#include "ds.h"

/* Have ops->resume called. False where the task does not run task work any more. */
static bool ds_defer(struct ds_tracer *tracer)
{
	/* The NMI may have interrupted user mode, or the way back to it. */
	bool nmi = in_nmi() && tracer->task == current;

	if (tracer->queued)
		return true;

	WRITE_ONCE(tracer->queued, true);
	refcount_inc(&tracer->ref);
	if (!task_work_add(tracer->task, &tracer->work,
			   nmi ? TWA_NMI_CURRENT : TWA_RESUME | TWAF_NO_ALLOC))
		return true;

	/* Not the last: who releases the tracer waits for this CPU. */
	refcount_dec(&tracer->ref);
	WRITE_ONCE(tracer->queued, false);
	return false;
}

static unsigned int ds_room(struct ds_tracer *tracer)
{
	return tracer->ops->room ? tracer->ops->room(tracer) : UINT_MAX;
}

/* What shall become of a tracer whose sink is full? */
static enum ds_state ds_full(struct ds_tracer *tracer)
{
	switch (tracer->ops->full(tracer)) {
	case DS_GO_ON:
		return DS_RUNNING;
	case DS_LATER:
		return ds_defer(tracer) ? DS_DEFERRED : DS_STOPPED;
	default:
		return DS_STOPPED;
	}
}

/**
 * ds_arm - set the threshold for a tracer's records, if it takes any now
 * @tracer: the tracer
 *
 * Context: On the CPU that is to record; interrupts and BTS off, the staging
 *	    bank empty. NMI included.
 * Return: true where BTS may be switched on.
 */
bool ds_arm(struct ds_tracer *tracer)
{
	enum ds_state state;
	unsigned int room;

	/* The sink's room is read after the state: see ds_tracer_start(). */
	while (atomic_read_acquire(&tracer->state) == DS_RUNNING) {
		room = ds_room(tracer);
		if (room <= DS_HEADROOM) {
			if (atomic_cmpxchg(&tracer->state, DS_RUNNING, DS_FULL) != DS_RUNNING)
				continue;
			state = ds_full(tracer);
			if (atomic_cmpxchg(&tracer->state, DS_FULL, state) != DS_FULL ||
			    state != DS_RUNNING)
				continue;
			room = ds_room(tracer);
		}
		ds_threshold_set(ds_area(smp_processor_id()), room);
		return true;
	}
	return false;
}

/**
 * ds_resume - ask the consumer of a deferred tracer how to go on
 * @work: the tracer's
 *
 * Context: Task work: the traced task itself, on its way to user mode or to its
 *	    end. Also within a system call that runs task work.
 */
void ds_resume(struct callback_head *work)
{
	struct ds_tracer *tracer = container_of(work, struct ds_tracer, work);
	enum ds_answer answer = DS_STOP;

	/* From here on it may be queued again, and then is asked again. */
	WRITE_ONCE(tracer->queued, false);

	if (atomic_read(&tracer->state) == DS_DEFERRED) {
		if (!(current->flags & PF_EXITING))
			answer = tracer->ops->resume(tracer);

		local_irq_disable();
		atomic_cmpxchg(&tracer->state, DS_DEFERRED,
			       answer == DS_STOP ? DS_STOPPED : DS_RUNNING);
		/* Not to @tracer: it may have been released and followed. */
		if (answer == DS_GO_ON)
			ds_hand_over(READ_ONCE(current->thread.ds_tracer));
		local_irq_enable();
	}

	ds_tracer_put(tracer);
}
