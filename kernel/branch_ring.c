// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where do the records of a branch trace wait for their reader? In a ring that
 * one writer fills from any context and readers copy from.
 *
 * The ring overwrites: when it is full, the oldest record makes room. A writer
 * that must not overwrite asks for the room there is before it writes. Layout,
 * numbering of records and memory ordering are those of
 * include/uapi/linux/branch_ring.h; the kernel's readers follow the same rules
 * as a program that maps the ring would.
 *
 * This file knows nothing about where records come from or who reads them.
 */

#include <kunit/static_stub.h>
#include <linux/atomic.h>
#include <linux/branch_ring.h>
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

/* Control page and data together stay below 4 GiB: sizes fit 32 bits. */
#define BRANCH_RING_MAX_CAPACITY \
	((U32_MAX - 2 * PAGE_SIZE) / sizeof(struct branch_record))

/* Records copied to user space at a time, by way of the stack. */
#define BRANCH_RING_CHUNK	16

struct branch_ring {
	struct branch_ring_control	*control;	/* start of the memory */
	struct branch_record		*records;	/* and its second page */
	u64				capacity;	/* in records */

	/* The writer's own. */
	u64				next;		/* number of next record */
	u64				place;		/* next % capacity */

	/* The readers' own. */
	u64				missed;		/* overwritten before tail */

	/* To give the charge back. */
	struct mm_struct		*mm;		/* NULL: not charged */
	unsigned long			nr_pages;
};

static_assert(sizeof(struct branch_record) == 24);
static_assert(sizeof(struct branch_ring_control) % sizeof(u64) == 0);

/*
 * The counters are 64 bits wide on 32-bit machines too, where only atomic64_t
 * promises a single load or store. The control page is aligned as it asks.
 */
static u64 counter_read(const __u64 *counter)
{
	return atomic64_read((const atomic64_t *)counter);
}

static u64 counter_read_acquire(const __u64 *counter)
{
	return atomic64_read_acquire((const atomic64_t *)counter);
}

static void counter_set(__u64 *counter, u64 value)
{
	atomic64_set((atomic64_t *)counter, value);
}

static void counter_set_release(__u64 *counter, u64 value)
{
	atomic64_set_release((atomic64_t *)counter, value);
}

static int branch_ring_charge(struct branch_ring *ring, struct mm_struct *mm)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	u64 pinned;

	if (!mm)
		return 0;

	pinned = atomic64_add_return(ring->nr_pages, &mm->pinned_vm);
	if (pinned > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(ring->nr_pages, &mm->pinned_vm);
		return -ENOMEM;
	}

	/* The ring may outlive the last user of mm, but not its pinned_vm. */
	mmgrab(mm);
	ring->mm = mm;
	return 0;
}

static void branch_ring_uncharge(struct branch_ring *ring)
{
	if (!ring->mm)
		return;

	atomic64_sub(ring->nr_pages, &ring->mm->pinned_vm);
	mmdrop(ring->mm);
}

/**
 * branch_ring_alloc - allocate an overwriting ring
 * @capacity: size in records
 * @mm: the mm of current, whose pinned_vm is charged with all pages of the
 *	ring; NULL for a ring that is nobody's
 *
 * The charge is checked against RLIMIT_MEMLOCK of current; CAP_IPC_LOCK exempts
 * from the limit. It is given back by branch_ring_free(), and may outlive both
 * current and the last user of @mm.
 *
 * Context: Process context, may sleep.
 * Return: the ring, or ERR_PTR: -EINVAL where @capacity is 0, -ENOMEM where it
 * is more than 4 GiB hold, over the limit, or without memory.
 */
struct branch_ring *branch_ring_alloc(u64 capacity, struct mm_struct *mm)
{
	struct branch_ring *ring;
	unsigned long size;
	int err;

	if (!capacity)
		return ERR_PTR(-EINVAL);
	if (capacity > BRANCH_RING_MAX_CAPACITY)
		return ERR_PTR(-ENOMEM);

	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);

	size = PAGE_SIZE + PAGE_ALIGN(capacity * sizeof(*ring->records));
	ring->nr_pages = size >> PAGE_SHIFT;
	ring->capacity = capacity;

	err = branch_ring_charge(ring, mm);
	if (err)
		goto free_ring;

	/*
	 * Single pages, however many. The writer may be an NMI under any page
	 * table, which is fine: on x86-64 all top-level entries of the vmalloc
	 * area exist from boot on, in every page table
	 * (preallocate_vmalloc_pages()). On x86-32 the lower levels are shared,
	 * or __vmalloc() copies new entries to every page table
	 * (arch_sync_kernel_mappings()); two mappings made at once may leave a
	 * copy out, which vmalloc_fault() then makes, from NMI too. With page
	 * table isolation, NMI entry has switched to the kernel's tables.
	 */
	err = -ENOMEM;
	ring->control = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO |
				  __GFP_NOWARN);
	if (!ring->control)
		goto uncharge;

	ring->records = (void *)ring->control + PAGE_SIZE;
	ring->control->capacity = capacity;
	ring->control->record_size = sizeof(*ring->records);
	ring->control->data_offset = PAGE_SIZE;

	return ring;

uncharge:
	branch_ring_uncharge(ring);
free_ring:
	kfree(ring);
	return ERR_PTR(err);
}

/**
 * branch_ring_free - free a ring and give back what it was charged
 * @ring: the ring, or NULL. Neither writer nor readers use it any more.
 *
 * Context: Process context, may sleep.
 */
void branch_ring_free(struct branch_ring *ring)
{
	if (!ring)
		return;

	vfree(ring->control);
	branch_ring_uncharge(ring);
	kfree(ring);
}

/**
 * branch_ring_capacity - size of a ring
 * @ring: the ring
 *
 * Context: Any.
 * Return: the size in records.
 */
u64 branch_ring_capacity(const struct branch_ring *ring)
{
	return ring->capacity;
}

/**
 * branch_ring_room - number of records that can be written without overwriting
 * @ring: the ring
 *
 * For the writer. Readers may make more room meanwhile.
 *
 * Context: As branch_ring_put().
 * Return: the number of records.
 */
u64 branch_ring_room(const struct branch_ring *ring)
{
	/* E: whoever consumed a record is done with it */
	u64 tail = counter_read_acquire(&ring->control->tail);

	return ring->capacity - min(ring->next - tail, ring->capacity);
}

/**
 * branch_ring_lose - count records that were not written
 * @ring: the ring
 * @nr: how many
 *
 * Context: As branch_ring_put().
 */
void branch_ring_lose(struct branch_ring *ring, u64 nr)
{
	counter_set(&ring->control->lost, ring->control->lost + nr);
}

/**
 * branch_ring_put - write one record
 * @ring: the ring
 * @kind: BRANCH_RECORD_*
 * @from: see struct branch_record
 * @to: see struct branch_record
 *
 * Readers see the record after branch_ring_commit(); the record it overwrites
 * is gone at once.
 *
 * Context: Any, including NMI and under any lock; takes none. The caller sees
 * to it that a ring has one writer at a time, and that one writer sees what
 * the one before it did.
 */
void branch_ring_put(struct branch_ring *ring, u64 kind, u64 from, u64 to)
{
	struct branch_record *record = &ring->records[ring->place];

	ring->next++;
	if (++ring->place == ring->capacity)
		ring->place = 0;

	counter_set(&ring->control->reserved, ring->next);
	smp_wmb(); /* A: readers learn first that the old record goes */
	WRITE_ONCE(record->kind, kind);
	WRITE_ONCE(record->from, from);
	WRITE_ONCE(record->to, to);
}

/**
 * branch_ring_commit - show readers all records written so far
 * @ring: the ring
 *
 * Called once after a batch of branch_ring_put(), which must not go without.
 *
 * Context: As branch_ring_put().
 */
void branch_ring_commit(struct branch_ring *ring)
{
	/* B: records before head */
	counter_set_release(&ring->control->head, ring->next);
}

/* The number of the oldest record that is neither consumed nor overwritten. */
static u64 branch_ring_oldest(const struct branch_ring *ring)
{
	u64 reserved, tail;

	/* Where the test lets its writer overtake a reader. */
	KUNIT_STATIC_STUB_REDIRECT(branch_ring_oldest, ring);

	reserved = counter_read(&ring->control->reserved);
	tail = counter_read(&ring->control->tail);
	if (reserved <= ring->capacity)
		return tail;
	return max(tail, reserved - ring->capacity);
}

/**
 * branch_ring_count - number of records ready to be read
 * @ring: the ring
 *
 * Context: Any.
 * Return: the number; exact where the writer is known to be at rest, else as
 * it was at some moment during the call.
 */
u64 branch_ring_count(const struct branch_ring *ring)
{
	u64 head = counter_read_acquire(&ring->control->head);
	u64 oldest = branch_ring_oldest(ring);

	return oldest < head ? head - oldest : 0;
}

/**
 * branch_ring_lost - number of records that no reader got, or will get
 * @ring: the ring
 *
 * Those that were not written, and those that were overwritten before they were
 * consumed.
 *
 * Context: Any. Readers are serialised by the caller.
 * Return: the number; exact where the writer is known to be at rest.
 */
u64 branch_ring_lost(const struct branch_ring *ring)
{
	return counter_read(&ring->control->lost) + ring->missed +
	       branch_ring_oldest(ring) - counter_read(&ring->control->tail);
}

/*
 * Copy up to @n records, consecutive and whole. *@first is the number of the
 * record to start at; where that has been overwritten, *@first moves to the
 * oldest record that has not. Returns the number of records copied, which is 0
 * where there are none or the writer overtook the copy.
 */
static unsigned int branch_ring_read(const struct branch_ring *ring, u64 *first,
				     struct branch_record *to, unsigned int n)
{
	u64 head = counter_read_acquire(&ring->control->head); /* D */
	u64 start = max(*first, branch_ring_oldest(ring));
	unsigned int i, gone;
	u64 place;

	*first = start;
	if (start >= head)
		return 0;

	n = min_t(u64, n, head - start);
	div64_u64_rem(start, ring->capacity, &place);
	for (i = 0; i < n; i++) {
		const struct branch_record *record = &ring->records[place];

		to[i].kind = READ_ONCE(record->kind);
		to[i].from = READ_ONCE(record->from);
		to[i].to = READ_ONCE(record->to);
		if (++place == ring->capacity)
			place = 0;
	}

	smp_rmb(); /* C: which of these went meanwhile? */
	*first = max(start, branch_ring_oldest(ring));
	gone = min_t(u64, n, *first - start);
	if (gone)
		memmove(to, to + gone, (n - gone) * sizeof(*to));

	return n - gone;
}

/**
 * branch_ring_peek - copy one record, counted from the newest
 * @ring: the ring
 * @index: 0 for the newest record
 * @record: where to copy it
 *
 * Context: Any. Readers are serialised by the caller.
 * Return: 0; -EINVAL where @index is not below branch_ring_count(); -EAGAIN
 * where the record was overwritten during the call, which takes a running
 * writer.
 */
int branch_ring_peek(const struct branch_ring *ring, u64 index,
		     struct branch_record *record)
{
	u64 head = counter_read_acquire(&ring->control->head);
	u64 oldest = branch_ring_oldest(ring);
	u64 number, first;

	if (oldest >= head || index >= head - oldest)
		return -EINVAL;

	number = head - 1 - index;
	first = number;
	if (!branch_ring_read(ring, &first, record, 1) || first != number)
		return -EAGAIN;

	return 0;
}

/**
 * branch_ring_copy_to_user - copy records, oldest first
 * @ring: the ring
 * @to: where to copy them
 * @max: how many at most
 * @end: set to the number of the record after the last one copied
 *
 * The ring is left as it is; branch_ring_consume() with *@end takes out what
 * has been copied. Where a running writer overwrites what is being copied, the
 * copy starts later or ends early: what was copied is whole and without gaps.
 * With the writer at rest, it is all there is, up to @max.
 *
 * Context: Process context, may sleep. Readers are serialised by the caller.
 * Return: the number of records copied, -EFAULT, or -EINTR where current is
 * being killed.
 */
long branch_ring_copy_to_user(const struct branch_ring *ring,
			      struct branch_record __user *to, u64 max,
			      u64 *end)
{
	u64 head = counter_read_acquire(&ring->control->head);
	struct branch_record chunk[BRANCH_RING_CHUNK];
	u64 next = branch_ring_oldest(ring);
	long copied = 0;

	while (copied < max && next < head) {
		u64 first = next;
		unsigned int n;

		if (fatal_signal_pending(current))
			return -EINTR;

		n = min3((u64)BRANCH_RING_CHUNK, max - copied, head - next);
		n = branch_ring_read(ring, &first, chunk, n);
		if (copied && first != next)
			break;
		if (copy_to_user(to + copied, chunk, n * sizeof(*chunk)))
			return -EFAULT;

		copied += n;
		next = first + n;
		cond_resched();
	}

	*end = next;
	return copied;
}

/**
 * branch_ring_consume - take out the oldest records
 * @ring: the ring
 * @end: number of the first record to stay, as branch_ring_copy_to_user()
 *	gave it
 *
 * Context: Any. Readers are serialised by the caller.
 */
void branch_ring_consume(struct branch_ring *ring, u64 end)
{
	u64 head = counter_read(&ring->control->head);
	u64 tail = counter_read(&ring->control->tail);

	/* A reader that was overtaken may be ahead of the last commit. */
	end = clamp(end, tail, head);
	ring->missed += clamp(branch_ring_oldest(ring), tail, end) - tail;
	/* E: the writer may overwrite these */
	counter_set_release(&ring->control->tail, end);
}

/**
 * branch_ring_clear - take out all records
 * @ring: the ring
 *
 * Context: Any. Readers are serialised by the caller.
 */
void branch_ring_clear(struct branch_ring *ring)
{
	branch_ring_consume(ring, U64_MAX);
}

#ifdef CONFIG_BRANCH_RING_KUNIT_TEST
#include "branch_ring_test.c"
#endif
