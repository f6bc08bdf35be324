// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who wants records, and how does that start, stop and end?
 *
 * A tracer is attached to its task, started and stopped any number of times,
 * and released once. The first tracer of the machine brings what the hardware
 * needs, the last one takes it away again. That begins with the right to use it:
 * tracers, and perf's users of BTS, LBR and Intel PT, exclude each other, see
 * perf_exclude_bts(). No record passes here: drain.c gives them to the sink.
 *
 * The context switch reads the tracer of the task it switches to, with
 * interrupts off; that is an RCU reader. Everything else that touches the
 * hardware for a tracer runs on the task's CPU, see ds_tracer_update().
 */
#include <linux/cleanup.h>
#include <linux/mutex.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

#include <asm/perf_event.h>

#include "internal.h"

/* Tracers on this machine, and what they need. */
static DEFINE_MUTEX(ds_users_mutex);
static unsigned int ds_users;

static int ds_users_get(void)
{
	int ret = 0;

	mutex_lock(&ds_users_mutex);
	if (ds_users)
		goto got;

	ret = perf_exclude_bts();
	if (ret)
		goto out;
	ret = ds_staging_get();
	if (ret)
		goto include;
	ret = ds_pmi_register();
	if (ret)
		goto staging;
	ret = ds_hotplug_register();
	if (ret)
		goto pmi;
got:
	ds_users++;
	goto out;
pmi:
	ds_pmi_unregister();
staging:
	ds_staging_put();
include:
	perf_include_bts();
out:
	mutex_unlock(&ds_users_mutex);
	return ret;
}

static void ds_users_put(void)
{
	mutex_lock(&ds_users_mutex);
	if (ds_users == 1) {
		ds_hotplug_unregister();
		ds_pmi_unregister();
		ds_staging_put();
		perf_include_bts();
	}
	ds_users--;
	mutex_unlock(&ds_users_mutex);
}

/*
 * Is there a tracer? Where this says no, BTS was seen off by hotplug.c, and since
 * then is not ours. For one CPU with interrupts off, the others down.
 */
bool ds_in_use(void)
{
	return ds_users;
}

struct ds_update {
	struct ds_tracer	*tracer;
	bool			done;
};

static void ds_update_local(void *info)
{
	struct ds_update *update = info;
	struct ds_tracer *tracer = update->tracer;

	/* Moved away while the IPI was under way. */
	if (task_cpu(tracer->task) != smp_processor_id())
		return;

	update->done = true;
	if (tracer->task == current)
		ds_hand_over(tracer);
}

/*
 * Drain what the task's CPU recorded for it, and let it see tracer->state.
 *
 * A task that does not run was drained when it was switched away from and sees
 * tracer->state when it is switched to. The full barrier orders the store of
 * tracer->state before the look at the task's CPU; on the other side, taking
 * rq->lock orders the task's arrival there before the look at tracer->state.
 */
static void ds_tracer_update(struct ds_tracer *tracer)
{
	struct ds_update update = { .tracer = tracer };

	lockdep_assert_held(&tracer->lock);
	smp_mb();	/* see above */

	while (!update.done) {
		int cpu = task_cpu(tracer->task);

		/* A task that stays on a CPU that is not online does not run. */
		if (smp_call_function_single(cpu, ds_update_local, &update,
					     true) &&
		    task_cpu(tracer->task) == cpu)
			break;
		cond_resched();
	}
}

void ds_tracer_put(struct ds_tracer *tracer)
{
	if (!refcount_dec_and_test(&tracer->ref))
		return;

	put_task_struct(tracer->task);
	/* The consumer has the memory back after this. */
	tracer->ops->free(tracer);
	ds_users_put();
}

static LLIST_HEAD(ds_released);

static void ds_release_work_fn(struct work_struct *work)
{
	struct llist_node *released = llist_del_all(&ds_released);
	struct ds_tracer *tracer, *next;

	llist_for_each_entry(tracer, released, node) {
		mutex_lock(&tracer->lock);
		atomic_set(&tracer->state, DS_STOPPED);
		ds_tracer_update(tracer);
		clear_tsk_thread_flag(tracer->task, TIF_DS);
		WRITE_ONCE(tracer->task->thread.ds_tracer, NULL);
		mutex_unlock(&tracer->lock);
		/* Nobody queues it any more, and it may not run for long. */
		if (task_work_cancel(tracer->task, &tracer->work))
			ds_tracer_put(tracer);
	}

	/*
	 * A switch to one of the tasks may have seen its tracer just before.
	 * Expedited: a debugger that detaches from many threads waits for each.
	 */
	synchronize_rcu_expedited();

	llist_for_each_entry_safe(tracer, next, released, node)
		ds_tracer_put(tracer);
}

static DECLARE_WORK(ds_release_work, ds_release_work_fn);

/**
 * ds_tracer_attach - become the tracer of a task's user-mode branches
 * @tracer: embedded in the consumer's structure, zeroed
 * @task:   the task; any task but a kernel thread
 * @ops:    the consumer's sink
 *
 * The tracer is stopped. After success it must be released.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EOPNOTSUPP where the processor cannot trace branches; -EBUSY
 *	   while the task has another tracer, or perf uses BTS, LBR or Intel PT;
 *	   -EINVAL for a kernel thread; -ENOMEM.
 */
int ds_tracer_attach(struct ds_tracer *tracer, struct task_struct *task,
		     const struct ds_tracer_ops *ops)
{
	int ret;

	if (!ds_available())
		return -EOPNOTSUPP;
	if (task->flags & PF_KTHREAD)
		return -EINVAL;

	ret = ds_users_get();
	if (ret)
		return ret;

	tracer->ops = ops;
	tracer->task = task;
	mutex_init(&tracer->lock);
	atomic_set(&tracer->state, DS_STOPPED);
	refcount_set(&tracer->ref, 1);
	init_task_work(&tracer->work, ds_resume);

	/* A tracer that was released may still be on its way out. */
	if (READ_ONCE(task->thread.ds_tracer))
		ds_tracer_flush();
	if (cmpxchg(&task->thread.ds_tracer, NULL, tracer)) {
		ds_users_put();
		return -EBUSY;
	}

	get_task_struct(task);
	return 0;
}

/**
 * ds_tracer_start - record from now on
 * @tracer: attached
 *
 * The task may be stopped, asleep or running, on any CPU; when this returns,
 * its next branch is recorded, if the sink has room. Starting twice is no error.
 *
 * A consumer that starts a tracer after it made room sees to it that ops->room
 * can see that: the change of the state is a release, and whoever looks at room
 * has acquired it.
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ESRCH where the tracer was released.
 */
int ds_tracer_start(struct ds_tracer *tracer)
{
	guard(mutex)(&tracer->lock);

	if (READ_ONCE(tracer->released))
		return -ESRCH;

	atomic_set_release(&tracer->state, DS_RUNNING);
	set_tsk_thread_flag(tracer->task, TIF_DS);
	ds_tracer_update(tracer);
	return 0;
}

/**
 * ds_tracer_stop - record no longer
 * @tracer: attached
 *
 * When this returns, the sink has all there was and is not called any more,
 * but for an ops->resume that runs. Stopping twice is no error.
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ESRCH where the tracer was released.
 */
int ds_tracer_stop(struct ds_tracer *tracer)
{
	guard(mutex)(&tracer->lock);

	if (READ_ONCE(tracer->released))
		return -ESRCH;

	atomic_set(&tracer->state, DS_STOPPED);
	ds_tracer_update(tracer);
	return 0;
}

/**
 * ds_tracer_started - are branches recorded, or will they be?
 * @tracer: attached
 *
 * Also where the sink is full and has not answered DS_STOP.
 *
 * Context: Any.
 * Return: false where nothing is recorded until ds_tracer_start().
 */
bool ds_tracer_started(const struct ds_tracer *tracer)
{
	return atomic_read(&tracer->state) != DS_STOPPED;
}

/**
 * ds_tracer_sync - bring all records up to now to the sink
 * @tracer: attached
 *
 * Needed for a task that runs; one that does not has been drained.
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ESRCH where the tracer was released.
 */
int ds_tracer_sync(struct ds_tracer *tracer)
{
	guard(mutex)(&tracer->lock);

	if (READ_ONCE(tracer->released))
		return -ESRCH;

	ds_tracer_update(tracer);
	return 0;
}

/**
 * ds_tracer_release - be the tracer of the task no longer
 * @tracer: attached; ends with a call of its ops->free
 *
 * Branches may still reach the sink until then.
 *
 * Context: Any but NMI; interrupts may be off, locks may be held.
 */
void ds_tracer_release(struct ds_tracer *tracer)
{
	WRITE_ONCE(tracer->released, true);
	llist_add(&tracer->node, &ds_released);
	queue_work(system_unbound_wq, &ds_release_work);
}

/**
 * ds_tracer_flush - wait until every tracer released so far is free
 *
 * All but those whose ops->resume runs: these are free when it returns.
 *
 * Context: Process context, may sleep. Not in an ops->free.
 */
void ds_tracer_flush(void)
{
	flush_work(&ds_release_work);
}
