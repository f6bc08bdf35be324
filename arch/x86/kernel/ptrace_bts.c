// SPDX-License-Identifier: GPL-2.0-only
/*
 * How does a debugger get the branches of its tracee? PTRACE_BTS_*.
 *
 * The debugger's buffer is a branch ring, filled by a tracer of the DS layer.
 * Both hang off the tracee. They end with the ptrace attachment, however that
 * ends, or before that when the debugger says so.
 *
 * All requests but PTRACE_BTS_CONFIG come while the tracee is frozen in a
 * ptrace stop: nothing is recorded, and nobody else can end the attachment.
 *
 * To add a request: its number in <uapi/asm/ptrace_bts.h>, a case at the end of
 * this file, and the end of the ranges in arch_ptrace() and
 * compat_arch_ptrace() (arch/x86/kernel/ptrace.c). The selftest
 * ptrace_bts_test.c expects EIO for the number after the last. The requests are
 * described in Documentation/userspace-api/ptrace_bts.rst.
 */
#include <linux/branch_ring.h>
#include <linux/ptrace.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <asm/ds.h>
#include <asm/ptrace_bts.h>

/* The ring's record is what these requests have always returned. */
static_assert(sizeof(struct bts_struct) == sizeof(struct branch_record));
static_assert(offsetof(struct bts_struct, qualifier) ==
	      offsetof(struct branch_record, kind));
static_assert(offsetof(struct bts_struct, variant.lbr.from) ==
	      offsetof(struct branch_record, from));
static_assert(offsetof(struct bts_struct, variant.lbr.to) ==
	      offsetof(struct branch_record, to));
static_assert(BTS_BRANCH == BRANCH_RECORD_BRANCH);
static_assert(offsetofend(struct ptrace_bts_config, bts_size) ==
	      PTRACE_BTS_CONFIG_SIZE_VER0);
static_assert(sizeof(struct ptrace_bts_config) == 24);

/**
 * struct ptrace_bts - a debugger's branch trace of one task
 * @tracer:	brings the branches
 * @ring:	keeps them; replaced only while @tracer is stopped
 * @signal:	for the tracee when @ring is full, 0 for none; changed only while
 *		@tracer is stopped, and under the tracee's siglock
 * @lost_before: what had been lost of @ring at the last CONFIG or CLEAR
 * @ref:	the tracer's reference until it is free, and that of a
 *		PTRACE_BTS_CONFIG under way: the one request during which the
 *		attachment may end
 */
struct ptrace_bts {
	struct ds_tracer	tracer;
	struct branch_ring	*ring;
	u32			signal;
	u64			lost_before;
	refcount_t		ref;
};

/* Does the tracee stop where the buffer is full? Else the buffer wraps. */
static bool ptrace_bts_stopping(const struct ptrace_bts *bts)
{
	if (READ_ONCE(bts->signal))
		return true;

	/* The option may have come after a buffer that is too small for it. */
	return (READ_ONCE(bts->tracer.task->ptrace) & PT_TRACE_BTS) &&
	       branch_ring_capacity(bts->ring) >= ds_room_min();
}

static void ptrace_bts_put(struct ptrace_bts *bts)
{
	if (!refcount_dec_and_test(&bts->ref))
		return;

	branch_ring_free(bts->ring);
	kfree(bts);
}

static unsigned int ptrace_bts_room(struct ds_tracer *tracer)
{
	struct ptrace_bts *bts = container_of(tracer, struct ptrace_bts, tracer);

	return ptrace_bts_stopping(bts) ? branch_ring_room(bts->ring) : UINT_MAX;
}

static void ptrace_bts_write(struct ds_tracer *tracer,
			     const struct ds_branch *branch, unsigned int nr)
{
	struct ptrace_bts *bts = container_of(tracer, struct ptrace_bts, tracer);
	unsigned int room = ptrace_bts_room(tracer);

	if (nr > room) {
		branch_ring_lose(bts->ring, nr - room);
		nr = room;
	}
	for (; nr; nr--, branch++)
		branch_ring_put(bts->ring, BRANCH_RECORD_BRANCH, branch->from,
				branch->to);
	branch_ring_commit(bts->ring);
}

static void ptrace_bts_lost(struct ds_tracer *tracer)
{
	struct ptrace_bts *bts = container_of(tracer, struct ptrace_bts, tracer);

	branch_ring_lose(bts->ring, 1);
}

static enum ds_answer ptrace_bts_full(struct ds_tracer *tracer)
{
	return DS_LATER;
}

/*
 * Have the tracee stop before its next user instruction. If it does not, because
 * the debugger made room just then, or some way to user mode leaves out signals,
 * what it does is recorded, and this is asked again.
 */
static enum ds_answer ptrace_bts_resume(struct ds_tracer *tracer)
{
	struct ptrace_bts *bts = container_of(tracer, struct ptrace_bts, tracer);
	enum ds_answer answer = DS_STOP;
	unsigned long flags;

	if (!lock_task_sighand(current, &flags))
		return answer;
	/* The end of the attachment must not leave a stop behind. */
	if (current->thread.ptrace_bts == bts) {
		if (task_set_jobctl_pending(current, JOBCTL_TRAP_BTS))
			signal_wake_up(current, false);
		answer = DS_LATER;
	}
	unlock_task_sighand(current, &flags);

	return answer;
}

/**
 * ptrace_bts_stop_signal - how shall current stop for its full buffer?
 *
 * Context: siglock held; current has taken JOBCTL_TRAP_BTS.
 * Return: the signal for a signal-delivery-stop; 0 for an event stop; below 0
 *	   where the debugger does not want a stop any more.
 */
int ptrace_bts_stop_signal(void)
{
	const struct ptrace_bts *bts = current->thread.ptrace_bts;

	if (!bts)
		return -1;
	if (bts->signal)
		return sigismember(&current->blocked, bts->signal) ? 0 : bts->signal;
	return current->ptrace & PT_TRACE_BTS ? 0 : -1;
}

static void ptrace_bts_free(struct ds_tracer *tracer)
{
	ptrace_bts_put(container_of(tracer, struct ptrace_bts, tracer));
}

static const struct ds_tracer_ops ptrace_bts_ops = {
	.room	= ptrace_bts_room,
	.write	= ptrace_bts_write,
	.lost	= ptrace_bts_lost,
	.full	= ptrace_bts_full,
	.resume	= ptrace_bts_resume,
	.free	= ptrace_bts_free,
};

/* Get the tracee's trace, if it has one and is still ours. */
static struct ptrace_bts *ptrace_bts_get(struct task_struct *child)
{
	struct ptrace_bts *bts = NULL;

	read_lock(&tasklist_lock);
	if (child->ptrace && rcu_access_pointer(child->parent) == current)
		bts = child->thread.ptrace_bts;
	if (bts)
		refcount_inc(&bts->ref);
	read_unlock(&tasklist_lock);

	return bts;
}

/* Give the tracee its trace, unless it is ours no longer. */
static bool ptrace_bts_publish(struct task_struct *child, struct ptrace_bts *bts)
{
	unsigned long flags;
	bool ours;

	/* The attachment ends under it, and ptrace_bts_unlink() is called there. */
	if (!lock_task_sighand(child, &flags))
		return false;

	ours = child->ptrace && rcu_access_pointer(child->parent) == current;
	if (ours)
		child->thread.ptrace_bts = bts;
	unlock_task_sighand(child, &flags);

	return ours;
}

/* There is room, or another way to stop: forget a stop that is under way. */
static void ptrace_bts_no_stop(struct task_struct *child, struct ptrace_bts *bts,
			       u32 signal)
{
	struct sighand_struct *sighand;
	unsigned long flags;

	sighand = lock_task_sighand(child, &flags);
	if (!sighand)
		return;

	if (child->thread.ptrace_bts == bts) {
		WRITE_ONCE(bts->signal, signal);
		task_clear_jobctl_pending(child, JOBCTL_TRAP_BTS);
	}
	unlock_task_sighand(child, &flags);
}

/**
 * ptrace_bts_unlink - a ptrace attachment ends
 * @child: the tracee
 *
 * Its debugger may be dead, and its mm with it. Memory and charge are given
 * back by a work item.
 *
 * Context: tasklist_lock and the tracee's siglock held, interrupts off.
 */
void ptrace_bts_unlink(struct task_struct *child)
{
	struct ptrace_bts *bts = child->thread.ptrace_bts;

	if (!bts)
		return;

	child->thread.ptrace_bts = NULL;
	ds_tracer_release(&bts->tracer);
}

/*
 * As ptrace_bts_unlink(), but memory and charge are back when this returns, if
 * the tracee does not happen to be in ptrace_bts_resume().
 */
static void ptrace_bts_end(struct task_struct *child, struct ptrace_bts *bts)
{
	struct sighand_struct *sighand;
	unsigned long flags;

	read_lock(&tasklist_lock);
	sighand = lock_task_sighand(child, &flags);
	if (sighand) {
		if (child->thread.ptrace_bts == bts) {
			task_clear_jobctl_pending(child, JOBCTL_TRAP_BTS);
			ptrace_bts_unlink(child);
		}
		unlock_task_sighand(child, &flags);
	}
	read_unlock(&tasklist_lock);

	ds_tracer_flush();
}

/**
 * ptrace_bts_detach - the debugger lets go of its tracee
 * @child: the tracee, frozen
 *
 * Context: Process context of the debugger, may sleep.
 */
void ptrace_bts_detach(struct task_struct *child)
{
	struct ptrace_bts *bts = child->thread.ptrace_bts;

	if (bts)
		ptrace_bts_end(child, bts);
}

static struct branch_ring *ptrace_bts_ring(u32 size, bool stopping)
{
	/*
	 * Not more than asked for, the debugger's array may have that size; but
	 * no ring is of no use.
	 */
	u64 capacity = max_t(u64, size / sizeof(struct bts_struct),
			     stopping ? ds_room_min() : 1);
	struct branch_ring *ring = branch_ring_alloc(capacity, current->mm);

	/* The charge of a tracee that is gone may be on its way back. */
	if (ring == ERR_PTR(-ENOMEM)) {
		ds_tracer_flush();
		ring = branch_ring_alloc(capacity, current->mm);
	}
	return ring;
}

/* Attach to @child with an empty @ring, which is ours from here on. */
static struct ptrace_bts *ptrace_bts_attach(struct task_struct *child,
					    struct branch_ring *ring)
{
	struct ptrace_bts *bts = kzalloc(sizeof(*bts), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!bts) {
		branch_ring_free(ring);
		return ERR_PTR(-ENOMEM);
	}

	bts->ring = ring;
	refcount_set(&bts->ref, 1);

	ret = ds_tracer_attach(&bts->tracer, child, &ptrace_bts_ops);
	if (ret) {
		ptrace_bts_put(bts);
		return ERR_PTR(ret);
	}

	refcount_inc(&bts->ref);
	if (!ptrace_bts_publish(child, bts)) {
		ds_tracer_release(&bts->tracer);
		ptrace_bts_put(bts);
		return ERR_PTR(-ESRCH);
	}
	return bts;
}

/* Exchange the ring for an empty one, which is ours from here on. */
static int ptrace_bts_replace(struct ptrace_bts *bts, struct branch_ring *ring)
{
	int ret = ds_tracer_stop(&bts->tracer);

	if (!ret)
		swap(bts->ring, ring);
	branch_ring_free(ring);
	return ret;
}

/* Not one that cannot be stopped at, nor one that stops or continues others. */
static bool ptrace_bts_signal_ok(u32 signal)
{
	return signal && valid_signal(signal) && !sig_kernel_only(signal) &&
	       !sig_kernel_stop(signal) && signal != SIGCONT;
}

static int ptrace_bts_read_config(struct ptrace_bts_config *cfg,
				  void __user *addr, unsigned long size)
{
	int ret;

	if (size < PTRACE_BTS_CONFIG_SIZE_VER0)
		return -EIO;
	if (size > PAGE_SIZE)
		return -E2BIG;

	ret = copy_struct_from_user(cfg, sizeof(*cfg), addr, size);
	if (ret)
		return ret;

	if (cfg->flags & ~(PTRACE_BTS_O_TRACE | PTRACE_BTS_O_SCHED |
			   PTRACE_BTS_O_SIGNAL | PTRACE_BTS_O_ALLOC))
		return -EINVAL;
	if (!(cfg->flags & PTRACE_BTS_O_SIGNAL))
		cfg->signal = 0;
	else if (!ptrace_bts_signal_ok(cfg->signal))
		return -EINVAL;
	if (cfg->flags & PTRACE_BTS_O_SCHED)
		return -EOPNOTSUPP;

	return 0;
}

/* The tracee need not be stopped, and may die or be reaped meanwhile. */
static long ptrace_bts_config(struct task_struct *child, void __user *addr,
			      unsigned long size)
{
	struct ptrace_bts_config cfg;
	struct branch_ring *ring;
	struct ptrace_bts *bts;
	int ret;

	ret = ptrace_bts_read_config(&cfg, addr, size);
	if (ret)
		return ret;

	if (READ_ONCE(child->exit_state))
		return -ESRCH;

	bts = ptrace_bts_get(child);
	if (!bts && !((cfg.flags & PTRACE_BTS_O_ALLOC) && cfg.size))
		return -ESRCH;

	if (cfg.flags & PTRACE_BTS_O_ALLOC) {
		if (!cfg.size) {
			ptrace_bts_end(child, bts);
			ptrace_bts_put(bts);
			return 0;
		}

		ring = ptrace_bts_ring(cfg.size, cfg.signal ||
				       (READ_ONCE(child->ptrace) & PT_TRACE_BTS));
		if (IS_ERR(ring)) {
			ret = PTR_ERR(ring);
			goto out;
		}

		if (bts) {
			ret = ptrace_bts_replace(bts, ring);
			if (ret)
				goto out;
		} else {
			bts = ptrace_bts_attach(child, ring);
			if (IS_ERR(bts))
				return PTR_ERR(bts);
		}
	} else if (cfg.signal &&
		   branch_ring_capacity(bts->ring) < ds_room_min()) {
		ret = -EINVAL;
		goto out;
	}

	if (bts->signal != cfg.signal) {
		ret = ds_tracer_stop(&bts->tracer);
		if (ret)
			goto out;
	}
	ptrace_bts_no_stop(child, bts, cfg.signal);
	bts->lost_before = branch_ring_lost(bts->ring);

	if (cfg.flags & PTRACE_BTS_O_TRACE)
		ret = ds_tracer_start(&bts->tracer);
	else
		ret = ds_tracer_stop(&bts->tracer);
out:
	if (bts)
		ptrace_bts_put(bts);
	return ret ?: min(size, sizeof(cfg));
}

static long ptrace_bts_status(struct ptrace_bts *bts, void __user *addr,
			      unsigned long size)
{
	struct ptrace_bts_config cfg = {
		.size = branch_ring_capacity(bts->ring) *
			sizeof(struct bts_struct),
		.flags = (ds_tracer_started(&bts->tracer) ? PTRACE_BTS_O_TRACE : 0) |
			 (bts->signal ? PTRACE_BTS_O_SIGNAL : 0),
		.signal = bts->signal,
		.bts_size = sizeof(struct bts_struct),
		.lost = branch_ring_lost(bts->ring) - bts->lost_before,
	};

	if (size < PTRACE_BTS_CONFIG_SIZE_VER0)
		return -EIO;
	if (size > PAGE_SIZE)
		return -E2BIG;

	size = min(size, sizeof(cfg));
	return copy_to_user(addr, &cfg, size) ? -EFAULT : size;
}

static long ptrace_bts_get_record(struct ptrace_bts *bts, void __user *addr,
				  unsigned long index)
{
	struct branch_record record;
	int ret;

	ret = branch_ring_peek(bts->ring, index, &record);
	if (ret)
		return ret;

	return copy_to_user(addr, &record, sizeof(record)) ? -EFAULT :
							     sizeof(record);
}

static long ptrace_bts_drain(struct task_struct *child, struct ptrace_bts *bts,
			     void __user *addr, unsigned long size)
{
	u64 room = size / sizeof(struct bts_struct);
	u64 end;
	long ret;

	if (room < branch_ring_count(bts->ring))
		return -EIO;

	ret = branch_ring_copy_to_user(bts->ring, addr, room, &end);
	if (ret >= 0) {
		branch_ring_consume(bts->ring, end);
		ptrace_bts_no_stop(child, bts, bts->signal);
	}
	return ret;
}

/**
 * ptrace_bts_request - carry out a PTRACE_BTS_* request
 * @child:   the tracee; frozen unless @request is PTRACE_BTS_CONFIG
 * @request: PTRACE_BTS_*
 * @addr:    user pointer, by request
 * @data:    index, or size of what @addr points to in bytes, by request
 *
 * The layouts are the same for 32-bit and 64-bit debuggers.
 *
 * Context: Process context of the debugger, may sleep.
 * Return: by request, or -EOPNOTSUPP where the processor cannot trace
 *	   branches, -ESRCH where nothing is configured, -EIO where @data is
 *	   too small, -EFAULT, -EINVAL, -E2BIG, -EBUSY, -ENOMEM; -EINTR where
 *	   the debugger is being killed.
 */
long ptrace_bts_request(struct task_struct *child, long request,
			unsigned long addr, unsigned long data)
{
	void __user *uaddr = (void __user *)addr;
	struct ptrace_bts *bts;

	if (!ds_available())
		return -EOPNOTSUPP;

	if (request == PTRACE_BTS_CONFIG)
		return ptrace_bts_config(child, uaddr, data);

	bts = child->thread.ptrace_bts;
	if (!bts)
		return -ESRCH;

	switch (request) {
	case PTRACE_BTS_STATUS:
		return ptrace_bts_status(bts, uaddr, data);
	case PTRACE_BTS_SIZE:
		return branch_ring_count(bts->ring);
	case PTRACE_BTS_GET:
		return ptrace_bts_get_record(bts, uaddr, data);
	case PTRACE_BTS_CLEAR:
		branch_ring_clear(bts->ring);
		ptrace_bts_no_stop(child, bts, bts->signal);
		bts->lost_before = branch_ring_lost(bts->ring);
		return 0;
	case PTRACE_BTS_DRAIN:
		return ptrace_bts_drain(child, bts, uaddr, data);
	}

	return -EIO;
}
