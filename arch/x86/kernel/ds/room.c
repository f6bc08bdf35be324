// SPDX-License-Identifier: GPL-2.0-only
/*
 * When is the next interrupt due, and what happens when a sink is full?
 *
 * Whenever recording is about to begin or to go on, room is looked at: the
 * threshold is set so that the PMI comes while there still is some, even if it
 * is as late as DS_HEADROOM in <asm/ds.h> allows. Where there is not, the sink
 * is asked, and nothing is recorded unless it says so. It may want to answer in
 * the task's own context; that is task work, which runs before the task's next
 * user instruction.
 *
 * ds_tracer_start() may come from another CPU at any time. Nobody waits for
 * anybody: tracer->state leaves DS_FULL and DS_DEFERRED by cmpxchg() only, so
 * that a start or stop in between is what counts.
 */
#include <linux/irqflags.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/task_work.h>

#include "internal.h"

/* Have ops->resume called. False where the task does not run task work any more. */
static bool ds_defer(struct ds_tracer *tracer)
{
	/* The NMI may have interrupted user mode, or the way back to it. */
	bool nmi = in_nmi() && tracer->task == current;

	if (READ_ONCE(tracer->queued))
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

/*
 * The least distance from an empty bank to the threshold, in records. Branches
 * into and out of the kernel are stored, too, and where the processor cannot
 * filter by CPL all that a handler does on its way out: without that much, each
 * PMI would raise the next.
 */
#define DS_SLACK	4
#define DS_SLACK_NO_CPL	1024

/* A bank leaves twice the headroom above its threshold, see below. */
static_assert(BTS_BUFFER_SIZE / 24 >= 2 * DS_HEADROOM + DS_SLACK_NO_CPL);

static unsigned int ds_slack(void)
{
	return ds_control.off_os ? DS_SLACK : DS_SLACK_NO_CPL;
}

/**
 * ds_room_min - how much room a sink with a limit has to have when it is empty
 *
 * Context: Any, where ds_available().
 * Return: the number of records.
 */
unsigned int ds_room_min(void)
{
	return 2 * (DS_HEADROOM + (ds_control.off_os ? 0 : ds_slack()));
}

static unsigned int ds_room(struct ds_tracer *tracer)
{
	return tracer->ops->room ? tracer->ops->room(tracer) : UINT_MAX;
}

/* The record at the threshold and those after it fit, not sooner than the slack. */
static bool ds_has_room(unsigned int room)
{
	return room > DS_HEADROOM + ds_slack();
}

/*
 * Ask for a PMI when the bank has @records records, or sooner: above the
 * threshold it leaves twice the headroom. Where the processor cannot filter by
 * CPL, the way to the handler is recorded, too.
 */
static void ds_threshold_set(struct debug_store *ds, unsigned int records)
{
	unsigned int size = ds_record_size(ds_wide());

	records = min(records, BTS_BUFFER_SIZE / size - 2 * DS_HEADROOM);
	ds_set(ds, DS_BTS_THRESHOLD, ds_get(ds, DS_BTS_BASE) + records * size);
}

/* A sink that goes on without room is one that has no limit. */
static void ds_threshold_for(struct debug_store *ds, unsigned int room)
{
	ds_threshold_set(ds, ds_has_room(room) ? room - DS_HEADROOM - 1 : UINT_MAX);
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
	struct debug_store *ds = ds_area(smp_processor_id());
	unsigned int room;
	int state;

	for (;;) {
		/* Acquire: see ds_tracer_start() about the sink's room. */
		state = atomic_read_acquire(&tracer->state);
		if (state != DS_RUNNING && state != DS_ASKED)
			return false;

		room = ds_room(tracer);
		if (ds_has_room(room)) {
			ds_threshold_for(ds, room);
			return true;
		}

		if (state == DS_ASKED) {
			if (atomic_cmpxchg(&tracer->state, DS_ASKED, DS_RUNNING) != DS_ASKED)
				continue;
			ds_threshold_set(ds, ds_slack());
			return true;
		}

		if (atomic_cmpxchg(&tracer->state, DS_RUNNING, DS_FULL) != DS_RUNNING)
			continue;
		state = ds_full(tracer);
		if (atomic_cmpxchg(&tracer->state, DS_FULL, state) == DS_FULL &&
		    state == DS_RUNNING) {
			ds_threshold_for(ds, ds_room(tracer));
			return true;
		}
	}
}

static enum ds_state ds_after(enum ds_answer answer)
{
	switch (answer) {
	case DS_GO_ON:
		return DS_RUNNING;
	case DS_LATER:
		return DS_ASKED;
	default:
		return DS_STOPPED;
	}
}

/* Leave DS_DEFERRED, unless somebody else decided or asks to be asked again. */
static void ds_undefer(struct ds_tracer *tracer, enum ds_state state)
{
	lockdep_assert_irqs_disabled();

	if (tracer->queued)
		return;
	if (atomic_cmpxchg(&tracer->state, DS_DEFERRED, state) != DS_DEFERRED)
		return;
	/* Not to @tracer: it may have been released and followed. */
	if (state != DS_STOPPED)
		ds_hand_over(READ_ONCE(current->thread.ds_tracer));
}

/* Is the sink still to be asked? Else records, or leaves it to somebody else. */
static bool ds_still_full(struct ds_tracer *tracer)
{
	bool full = false;

	/* Who stops the tracer waits for this CPU before the sink changes. */
	local_irq_disable();
	if (atomic_read_acquire(&tracer->state) == DS_DEFERRED) {
		full = !ds_has_room(ds_room(tracer));
		if (!full)
			ds_undefer(tracer, DS_RUNNING);
	}
	local_irq_enable();

	return full;
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

	if (ds_still_full(tracer)) {
		if (!(current->flags & PF_EXITING))
			answer = tracer->ops->resume(tracer);

		local_irq_disable();
		ds_undefer(tracer, ds_after(answer));
		local_irq_enable();
	}

	ds_tracer_put(tracer);
}
