// SPDX-License-Identifier: GPL-2.0-only
/*
 * Can the kernel's own consumers of branches do what <asm/ds.h> says, with real
 * programs and real PMIs: swap buffers in NMI, start again out of a work item,
 * let the task sleep?
 *
 * /dev/ds_test, for a test in tools/testing/selftests/bts: who opens it traces a
 * task and reads its branches in the order they were taken. They go round a circle
 * of buffers. The sink fills one at a time and the reader empties them in the same
 * order; whose a buffer is says its @filled, and nothing needs a lock in NMI.
 */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/poll.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <asm/ds.h>

#include "ds_test_device_uapi.h"

/* Records in all buffers of a file: 64 MiB. */
#define DS_TEST_MAX_RECORDS	SZ_4M

/**
 * struct ds_test_buffer - some of the records
 * @records:	room for ds_test_config.records of them
 * @nr:		how many there are
 * @filled:	the reader's, until it has emptied the buffer; else the sink's
 */
struct ds_test_buffer {
	struct ds_branch	*records;
	unsigned int		nr;
	bool			filled;
};

/**
 * struct ds_test - an open file
 * @tracer:	brings the records
 * @ref:	the file's, and that of @tracer until it is free
 * @start_lock:	for DS_TEST_START
 * @started:	DS_TEST_START succeeded; from then on @config and @buffers stay
 * @config:	what was asked for
 * @memory:	of the records of all buffers
 * @buffers:	used in the order of their numbers, and again from the first
 * @writing:	the one that the sink fills, NULL for none. With @next handed on
 *		by tracer.state; only the work item comes without
 * @next:	number of the one it fills then
 * @read_lock:	for readers
 * @reading:	number of the buffer that is read next
 * @offset:	records of it that were read
 * @lock:	orders @ended and starts out of the work item
 * @ended:	nothing comes any more
 * @wait:	of the reader for a filled buffer, of the task for an empty one
 * @irq_work:	says that a buffer was filled
 * @restart:	starts @tracer again
 * @stats:	see there; @stopped is not used
 */
struct ds_test {
	struct ds_tracer	tracer;
	struct kref		ref;
	struct mutex		start_lock;	/* DS_TEST_START */
	bool			started;
	struct ds_test_config	config;
	struct ds_branch	*memory;
	struct ds_test_buffer	*buffers;

	struct ds_test_buffer	*writing;
	unsigned int		next;

	struct mutex		read_lock;	/* readers */
	unsigned int		reading;
	unsigned int		offset;

	struct mutex		lock;		/* restart and end */
	bool			ended;
	wait_queue_head_t	wait;
	struct irq_work		irq_work;
	struct work_struct	restart;
	struct ds_test_stats	stats;
};

/* One adds at a time, others look meanwhile. */
static void ds_test_count(u64 *counter, u64 nr)
{
	WRITE_ONCE(*counter, *counter + nr);
}

static unsigned int ds_test_after(const struct ds_test *test, unsigned int number)
{
	return number + 1 < test->config.buffers ? number + 1 : 0;
}

/* Give the sink the next buffer, if the reader has emptied it. NMI included. */
static bool ds_test_take(struct ds_test *test)
{
	struct ds_test_buffer *buffer = &test->buffers[test->next];

	/* A: the reader is done with the records */
	if (smp_load_acquire(&buffer->filled))
		return false;

	test->next = ds_test_after(test, test->next);
	WRITE_ONCE(test->writing, buffer);
	return true;
}

/* Give the reader the sink's buffer, if it has one. NMI included. */
static void ds_test_give(struct ds_test *test)
{
	struct ds_test_buffer *buffer = test->writing;

	if (!buffer)
		return;

	/* B: records and their number before that they are there */
	smp_store_release(&buffer->filled, true);
	/* C: nothing more is done by ops->full that the work item could see */
	smp_store_release(&test->writing, NULL);
	irq_work_queue(&test->irq_work);
}

static unsigned int ds_test_room(struct ds_tracer *tracer)
{
	struct ds_test *test = container_of(tracer, struct ds_test, tracer);

	return test->writing ? test->config.records - test->writing->nr : 0;
}

static void ds_test_write(struct ds_tracer *tracer,
			  const struct ds_branch *branch, unsigned int nr)
{
	struct ds_test *test = container_of(tracer, struct ds_test, tracer);
	unsigned int room = min(nr, ds_test_room(tracer));

	if (room) {
		memcpy(test->writing->records + test->writing->nr, branch,
		       room * sizeof(*branch));
		test->writing->nr += room;
		ds_test_count(&test->stats.written, room);
	}
	ds_test_count(&test->stats.lost, nr - room);
}

static void ds_test_lost(struct ds_tracer *tracer)
{
	struct ds_test *test = container_of(tracer, struct ds_test, tracer);

	ds_test_count(&test->stats.dropped, 1);
}

static enum ds_answer ds_test_full(struct ds_tracer *tracer)
{
	struct ds_test *test = container_of(tracer, struct ds_test, tracer);

	ds_test_count(&test->stats.full, 1);
	ds_test_give(test);

	switch (test->config.mode) {
	case DS_TEST_SWAP:
		if (ds_test_take(test)) {
			ds_test_count(in_nmi() ? &test->stats.swaps_nmi :
						 &test->stats.swaps, 1);
			return DS_GO_ON;
		}
		return test->config.flags & DS_TEST_LOSE ? DS_GO_ON : DS_LATER;
	case DS_TEST_DEFER:
		return DS_LATER;
	default:
		return DS_STOP;
	}
}

static enum ds_answer ds_test_resume(struct ds_tracer *tracer)
{
	struct ds_test *test = container_of(tracer, struct ds_test, tracer);

	ds_test_count(&test->stats.resumes, 1);
	if (wait_event_killable(test->wait,
				READ_ONCE(test->ended) || ds_test_take(test)))
		return DS_STOP;

	return test->writing ? DS_GO_ON : DS_STOP;
}

static void ds_test_release_kref(struct kref *ref)
{
	struct ds_test *test = container_of(ref, struct ds_test, ref);

	vfree(test->memory);
	kvfree(test->buffers);
	kfree(test);
}

static void ds_test_free(struct ds_tracer *tracer)
{
	struct ds_test *test = container_of(tracer, struct ds_test, tracer);

	/* The file is closed: nobody else queues either of them. */
	irq_work_sync(&test->irq_work);
	cancel_work_sync(&test->restart);
	kref_put(&test->ref, ds_test_release_kref);
}

static const struct ds_tracer_ops ds_test_ops = {
	.room	= ds_test_room,
	.write	= ds_test_write,
	.lost	= ds_test_lost,
	.full	= ds_test_full,
	.resume	= ds_test_resume,
	.free	= ds_test_free,
};

/* Also called when the reader has emptied a buffer, which may be too early. */
static void ds_test_restart(struct work_struct *work)
{
	struct ds_test *test = container_of(work, struct ds_test, restart);

	guard(mutex)(&test->lock);

	/* C: see ds_test_give() */
	if (test->ended || smp_load_acquire(&test->writing) || !ds_test_take(test))
		return;

	ds_test_count(&test->stats.restarts, 1);
	ds_tracer_start(&test->tracer);
}

/* A buffer has changed hands. Not in NMI. */
static void ds_test_notify(struct ds_test *test)
{
	wake_up_all(&test->wait);
	if (test->config.mode == DS_TEST_RESTART)
		queue_work(system_wq, &test->restart);
}

static void ds_test_irq_work(struct irq_work *work)
{
	ds_test_notify(container_of(work, struct ds_test, irq_work));
}

static int ds_test_alloc(struct ds_test *test)
{
	u32 records = test->config.records, i;

	test->buffers = kvcalloc(test->config.buffers, sizeof(*test->buffers),
				 GFP_KERNEL);
	if (!test->buffers)
		return -ENOMEM;

	/* The sink may be an NMI; see branch_ring_alloc() why that is fine. */
	test->memory = __vmalloc(array3_size(test->config.buffers, records,
					     sizeof(*test->memory)),
				 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!test->memory) {
		kvfree(test->buffers);
		test->buffers = NULL;
		return -ENOMEM;
	}

	for (i = 0; i < test->config.buffers; i++)
		test->buffers[i].records = test->memory + i * records;
	return 0;
}

static int ds_test_check(const struct ds_test_config *config)
{
	bool swap = config->mode == DS_TEST_SWAP;

	if (config->mode > DS_TEST_NEVER)
		return -EINVAL;
	if (config->flags & ~DS_TEST_LOSE || (config->flags && !swap))
		return -EINVAL;
	if (config->buffers < (swap ? 2 : 1))
		return -EINVAL;
	/* With less room than that, a buffer is full from the beginning. */
	if (config->records < ds_room_min())
		return -EINVAL;
	if (config->buffers > DS_TEST_MAX_RECORDS / config->records)
		return -EINVAL;
	return 0;
}

static int ds_test_attach(struct ds_test *test, struct task_struct *task)
{
	int ret;

	ret = ds_test_alloc(test);
	if (ret)
		return ret;

	kref_get(&test->ref);
	ret = ds_tracer_attach(&test->tracer, task, &ds_test_ops);
	if (ret) {
		kref_put(&test->ref, ds_test_release_kref);
		vfree(test->memory);
		kvfree(test->buffers);
		test->memory = NULL;
		test->buffers = NULL;
	}
	return ret;
}

static int ds_test_start(struct ds_test *test,
			 const struct ds_test_config __user *from)
{
	struct ds_test_config config;
	struct task_struct *task;
	int ret;

	if (copy_from_user(&config, from, sizeof(config)))
		return -EFAULT;
	ret = ds_test_check(&config);
	if (ret)
		return ret;

	guard(mutex)(&test->start_lock);

	if (test->started)
		return -EBUSY;

	task = find_get_task_by_vpid(config.tid);
	if (!task)
		return -ESRCH;
	test->config = config;
	ret = ds_test_attach(test, task);
	put_task_struct(task);
	if (ret)
		return ret;

	ds_test_take(test);
	/* D: what is in use from now on before that it is */
	smp_store_release(&test->started, true);
	return ds_tracer_start(&test->tracer);
}

/* All there was up to now can be read, and then comes the end. */
static void ds_test_end(struct ds_test *test)
{
	scoped_guard(mutex, &test->lock) {
		ds_tracer_stop(&test->tracer);
		/* E: the last records before that they are */
		smp_store_release(&test->ended, true);
	}
	wake_up_all(&test->wait);
}

static int ds_test_stats(struct ds_test *test, struct ds_test_stats __user *to)
{
	struct ds_test_stats stats = {
		.written	= READ_ONCE(test->stats.written),
		.lost		= READ_ONCE(test->stats.lost),
		.dropped	= READ_ONCE(test->stats.dropped),
		.full		= READ_ONCE(test->stats.full),
		.swaps_nmi	= READ_ONCE(test->stats.swaps_nmi),
		.swaps		= READ_ONCE(test->stats.swaps),
		.resumes	= READ_ONCE(test->stats.resumes),
		.restarts	= READ_ONCE(test->stats.restarts),
		.stopped	= !ds_tracer_started(&test->tracer),
	};

	return copy_to_user(to, &stats, sizeof(stats)) ? -EFAULT : 0;
}

static long ds_test_ioctl(struct file *file, unsigned int request,
			  unsigned long argument)
{
	struct ds_test *test = file->private_data;
	void __user *user = (void __user *)argument;

	if (request == DS_TEST_START)
		return ds_test_start(test, user);

	/* D: see ds_test_start() */
	if (!smp_load_acquire(&test->started))
		return -EINVAL;

	switch (request) {
	case DS_TEST_STATS:
		return ds_test_stats(test, user);
	case DS_TEST_STOP:
		ds_test_end(test);
		return 0;
	default:
		return -ENOTTY;
	}
}

static bool ds_test_readable(const struct ds_test *test)
{
	const struct ds_test_buffer *buffer;

	/* E: see ds_test_end() */
	if (smp_load_acquire(&test->ended))
		return true;
	buffer = &test->buffers[READ_ONCE(test->reading)];
	/* B: see ds_test_give() */
	return smp_load_acquire(&buffer->filled);
}

/*
 * The buffer is the reader's. At the end it may be the one that the sink was
 * filling, or one that is empty.
 */
static ssize_t ds_test_copy(struct ds_test *test, char __user *to, size_t size)
{
	struct ds_test_buffer *buffer = &test->buffers[test->reading];
	size_t nr = min_t(size_t, size / sizeof(*buffer->records),
			  buffer->nr - test->offset);

	size = nr * sizeof(*buffer->records);
	if (copy_to_user(to, buffer->records + test->offset, size))
		return -EFAULT;

	test->offset += nr;
	if (test->offset == buffer->nr && READ_ONCE(buffer->filled)) {
		buffer->nr = 0;
		test->offset = 0;
		WRITE_ONCE(test->reading, ds_test_after(test, test->reading));
		/* A: see ds_test_take() */
		smp_store_release(&buffer->filled, false);
		ds_test_notify(test);
	}
	return size;
}

static ssize_t ds_test_read(struct file *file, char __user *to, size_t size,
			    loff_t *pos)
{
	struct ds_test *test = file->private_data;
	ssize_t ret;

	/* D: see ds_test_start() */
	if (!smp_load_acquire(&test->started) || size < sizeof(struct ds_branch))
		return -EINVAL;

	ret = mutex_lock_interruptible(&test->read_lock);
	if (ret)
		return ret;
	ret = wait_event_interruptible(test->wait, ds_test_readable(test));
	if (!ret)
		ret = ds_test_copy(test, to, size);
	mutex_unlock(&test->read_lock);
	return ret;
}

static __poll_t ds_test_poll(struct file *file, poll_table *wait)
{
	struct ds_test *test = file->private_data;

	/* D: see ds_test_start() */
	if (!smp_load_acquire(&test->started))
		return EPOLLERR;

	poll_wait(file, &test->wait, wait);
	return ds_test_readable(test) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int ds_test_open(struct inode *inode, struct file *file)
{
	struct ds_test *test;

	/* Whatever became of the node's mode: this traces any task. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;

	test = kzalloc(sizeof(*test), GFP_KERNEL);
	if (!test)
		return -ENOMEM;

	kref_init(&test->ref);
	mutex_init(&test->start_lock);
	mutex_init(&test->read_lock);
	mutex_init(&test->lock);
	init_waitqueue_head(&test->wait);
	init_irq_work(&test->irq_work, ds_test_irq_work);
	INIT_WORK(&test->restart, ds_test_restart);
	file->private_data = test;
	return stream_open(inode, file);
}

static int ds_test_release(struct inode *inode, struct file *file)
{
	struct ds_test *test = file->private_data;

	if (test->started) {
		/* The task may sleep in ops->resume. */
		ds_test_end(test);
		ds_tracer_release(&test->tracer);
	}
	kref_put(&test->ref, ds_test_release_kref);
	return 0;
}

static const struct file_operations ds_test_fops = {
	.open		= ds_test_open,
	.release	= ds_test_release,
	.read		= ds_test_read,
	.poll		= ds_test_poll,
	.unlocked_ioctl	= ds_test_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice ds_test_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "ds_test",
	.fops	= &ds_test_fops,
	.mode	= 0600,
};

builtin_misc_device(ds_test_device);
