// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the branch ring keep its promises? KUnit suite, included by
 * branch_ring.c so that it can look inside and start the counters anywhere.
 *
 * Record n of every test has n in from and ~n in to: a record that is torn,
 * old, or in the wrong place shows.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/kthread.h>
#include <linux/mman.h>

static const u64 capacities[] = { 1, 2, 3, 7, 170, 171, 341, 1024, 5000 };

KUNIT_DEFINE_ACTION_WRAPPER(free_ring_action, branch_ring_free,
			    struct branch_ring *);

static struct branch_ring *test_ring(struct kunit *test, u64 capacity)
{
	struct branch_ring *ring = branch_ring_alloc(capacity, NULL);
	int err;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring);
	err = kunit_add_action_or_reset(test, free_ring_action, ring);
	KUNIT_ASSERT_EQ(test, err, 0);
	return ring;
}

/* A ring in which n records have been written and consumed. */
static struct branch_ring *test_ring_at(struct kunit *test, u64 capacity, u64 n)
{
	struct branch_ring *ring = test_ring(test, capacity);

	ring->next = n;
	div64_u64_rem(n, capacity, &ring->place);
	ring->control->reserved = n;
	ring->control->head = n;
	ring->control->tail = n;
	return ring;
}

static void put(struct branch_ring *ring, u64 n)
{
	while (n--)
		branch_ring_put(ring, BRANCH_RECORD_BRANCH, ring->next,
				~ring->next);
}

static void write(struct branch_ring *ring, u64 n)
{
	put(ring, n);
	branch_ring_commit(ring);
}

static bool is_record(const struct branch_record *record, u64 n)
{
	return record->kind == BRANCH_RECORD_BRANCH && record->from == n &&
	       record->to == ~n;
}

/* The ring holds exactly the records first to end - 1, however it is asked. */
static void expect_records(struct kunit *test, const struct branch_ring *ring,
			   u64 first, u64 end)
{
	struct branch_record record, chunk[5];
	u64 next = 0, count = end - first;
	unsigned int i, n;

	KUNIT_ASSERT_EQ(test, branch_ring_count(ring), count);

	for (u64 index = 0; index < count; index++) {
		KUNIT_ASSERT_EQ(test, branch_ring_peek(ring, index, &record), 0);
		KUNIT_ASSERT_TRUE(test, is_record(&record, end - 1 - index));
	}
	KUNIT_EXPECT_EQ(test, branch_ring_peek(ring, count, &record), -EINVAL);
	KUNIT_EXPECT_EQ(test, branch_ring_peek(ring, U64_MAX, &record), -EINVAL);

	if (count) {
		n = branch_ring_read(ring, &next, chunk, 1);
		KUNIT_ASSERT_EQ(test, n, 1);
		KUNIT_ASSERT_EQ(test, next, first);
	}
	for (next = first; next < end; next += n) {
		u64 start = next;

		n = branch_ring_read(ring, &start, chunk, ARRAY_SIZE(chunk));
		KUNIT_ASSERT_EQ(test, n, min(end - next, ARRAY_SIZE(chunk)));
		KUNIT_ASSERT_EQ(test, start, next);
		for (i = 0; i < n; i++)
			KUNIT_ASSERT_TRUE(test, is_record(&chunk[i], next + i));
	}
	KUNIT_EXPECT_EQ(test, branch_ring_read(ring, &next, chunk, 1), 0);
}

static void capacity_bounds(struct kunit *test)
{
	static const u64 absurd[] = {
		0, BRANCH_RING_MAX_CAPACITY + 1, U32_MAX, 1ULL << 59, U64_MAX,
	};

	for (int i = 0; i < ARRAY_SIZE(absurd); i++) {
		struct branch_ring *ring = branch_ring_alloc(absurd[i], NULL);

		KUNIT_ASSERT_EQ(test, PTR_ERR(ring),
				absurd[i] ? -ENOMEM : -EINVAL);
	}
	branch_ring_free(NULL);
}

/* What a program that maps the ring will find. */
static void layout(struct kunit *test)
{
	struct branch_ring *ring = test_ring(test, 341);
	const struct branch_ring_control *control = ring->control;
	const __u64 *data;

	KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED(control));
	KUNIT_EXPECT_EQ(test, control->capacity, 341);
	KUNIT_EXPECT_EQ(test, control->record_size, 24);
	KUNIT_EXPECT_EQ(test, control->data_offset, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, branch_ring_capacity(ring), 341);
	KUNIT_EXPECT_EQ(test, control->head, 0);
	KUNIT_EXPECT_EQ(test, control->reserved, 0);
	KUNIT_EXPECT_EQ(test, control->tail, 0);
	KUNIT_EXPECT_EQ(test, control->lost, 0);

	/* Nothing of who had the pages before. */
	data = (const void *)control + control->data_offset;
	for (unsigned int i = 0; i < 341 * 3; i++)
		KUNIT_ASSERT_EQ(test, data[i], 0);

	branch_ring_put(ring, BRANCH_RECORD_DEPARTS, 0x1234, 0x5678);
	branch_ring_commit(ring);
	KUNIT_EXPECT_EQ(test, data[0], 3);
	KUNIT_EXPECT_EQ(test, data[1], 0x1234);
	KUNIT_EXPECT_EQ(test, data[2], 0x5678);
	KUNIT_EXPECT_EQ(test, data[3], 0);
	KUNIT_EXPECT_EQ(test, control->head, 1);
	KUNIT_EXPECT_EQ(test, control->reserved, 1);
}

static void fill(struct kunit *test)
{
	for (int i = 0; i < ARRAY_SIZE(capacities); i++) {
		u64 capacity = capacities[i];
		struct branch_ring *ring = test_ring(test, capacity);

		expect_records(test, ring, 0, 0);
		write(ring, 1);
		expect_records(test, ring, 0, 1);
		write(ring, capacity - 1);
		expect_records(test, ring, 0, capacity);
		write(ring, 1);
		expect_records(test, ring, 1, capacity + 1);
	}
}

static void wrap(struct kunit *test)
{
	for (int i = 0; i < ARRAY_SIZE(capacities); i++) {
		u64 capacity = capacities[i];
		struct branch_ring *ring = test_ring(test, capacity);
		u64 written = 0;

		/* Batches of every size up to more than twice the ring. */
		for (u64 batch = 1; batch < 2 * capacity + 3;
		     batch += 1 + capacity / 5) {
			write(ring, batch);
			written += batch;
			expect_records(test, ring,
				       written > capacity ? written - capacity : 0,
				       written);
		}
		KUNIT_EXPECT_EQ(test, ring->control->head, written);
		KUNIT_EXPECT_EQ(test, ring->control->tail, 0);
		KUNIT_EXPECT_EQ(test, ring->control->lost, 0);
	}
}

/* The last record ends where the memory may: nothing is written past it. */
static void stays_inside(struct kunit *test)
{
	for (int i = 0; i < ARRAY_SIZE(capacities); i++) {
		u64 capacity = capacities[i];
		struct branch_ring *ring = test_ring(test, capacity);
		const u8 *end = (const u8 *)(ring->records + capacity);
		const u8 *limit = PTR_ALIGN(end, PAGE_SIZE);

		write(ring, 3 * capacity);
		KUNIT_EXPECT_NULL(test, memchr_inv(end, 0, limit - end));
		KUNIT_EXPECT_EQ(test, ring->control->capacity, capacity);
	}
}

static void commit(struct kunit *test)
{
	struct branch_ring *ring = test_ring(test, 10);

	put(ring, 4);
	expect_records(test, ring, 0, 0);
	branch_ring_commit(ring);
	expect_records(test, ring, 0, 4);

	write(ring, 4);
	put(ring, 2);
	expect_records(test, ring, 0, 8);
	branch_ring_commit(ring);
	expect_records(test, ring, 0, 10);
}

/* A writer stopped in its tracks: what it has overwritten is gone already. */
static void uncommitted_overwrite(struct kunit *test)
{
	struct branch_ring *ring = test_ring(test, 10);

	write(ring, 25);
	for (u64 n = 0; n <= 10; n++) {
		expect_records(test, ring, 15 + n, 25);
		put(ring, 1);
	}

	/* Eleven by now, one more than the ring holds. */
	expect_records(test, ring, 25, 25);
	branch_ring_clear(ring);
	KUNIT_EXPECT_EQ(test, ring->control->tail, 25);
	branch_ring_commit(ring);
	expect_records(test, ring, 26, 36);
}

static void consume(struct kunit *test)
{
	struct branch_ring *ring = test_ring(test, 10);

	write(ring, 8);
	branch_ring_consume(ring, 3);
	expect_records(test, ring, 3, 8);
	KUNIT_EXPECT_EQ(test, ring->control->tail, 3);
	branch_ring_consume(ring, 3);
	expect_records(test, ring, 3, 8);

	write(ring, 10);
	expect_records(test, ring, 8, 18);
	branch_ring_consume(ring, 5);
	expect_records(test, ring, 8, 18);
	branch_ring_consume(ring, 17);
	expect_records(test, ring, 17, 18);

	/* Never backwards, never ahead of the writer. */
	branch_ring_consume(ring, 9);
	expect_records(test, ring, 17, 18);
	branch_ring_consume(ring, 1000);
	expect_records(test, ring, 18, 18);
	KUNIT_EXPECT_EQ(test, ring->control->tail, 18);
	write(ring, 2);
	expect_records(test, ring, 18, 20);
}

static void clear(struct kunit *test)
{
	struct branch_ring *ring = test_ring(test, 10);

	branch_ring_clear(ring);
	expect_records(test, ring, 0, 0);
	write(ring, 34);
	branch_ring_clear(ring);
	expect_records(test, ring, 34, 34);
	KUNIT_EXPECT_EQ(test, ring->control->tail, 34);
	write(ring, 9);
	expect_records(test, ring, 34, 43);

	/* What is not committed is not there to be taken out. */
	put(ring, 1);
	branch_ring_clear(ring);
	branch_ring_commit(ring);
	expect_records(test, ring, 43, 44);
}

/* A writer that asks for room first overwrites nothing. */
static void room(struct kunit *test)
{
	for (int i = 0; i < ARRAY_SIZE(capacities); i++) {
		u64 capacity = capacities[i];
		struct branch_ring *ring = test_ring_at(test, capacity, 12345);

		KUNIT_EXPECT_EQ(test, branch_ring_room(ring), capacity);
		for (u64 n = 1; n <= capacity; n++) {
			put(ring, 1);
			KUNIT_EXPECT_EQ(test, branch_ring_room(ring), capacity - n);
		}
		branch_ring_commit(ring);
		expect_records(test, ring, 12345, 12345 + capacity);

		branch_ring_consume(ring, 12346);
		KUNIT_EXPECT_EQ(test, branch_ring_room(ring), 1);
		branch_ring_clear(ring);
		KUNIT_EXPECT_EQ(test, branch_ring_room(ring), capacity);

		/* None is left in a ring that was overwritten. */
		write(ring, capacity + 5);
		KUNIT_EXPECT_EQ(test, branch_ring_room(ring), 0);
		branch_ring_clear(ring);
		KUNIT_EXPECT_EQ(test, branch_ring_room(ring), capacity);
	}
}

static void lost(struct kunit *test)
{
	struct branch_ring *ring = test_ring_at(test, 10, 1ULL << 40);
	u64 start = ring->next;

	write(ring, 10);
	KUNIT_EXPECT_EQ(test, branch_ring_lost(ring), 0);

	/* Not written */
	branch_ring_lose(ring, 3);
	KUNIT_EXPECT_EQ(test, branch_ring_lost(ring), 3);
	KUNIT_EXPECT_EQ(test, ring->control->lost, 3);
	expect_records(test, ring, start, start + 10);

	/* Overwritten: before, while and after records are consumed. */
	write(ring, 4);
	KUNIT_EXPECT_EQ(test, branch_ring_lost(ring), 7);
	branch_ring_consume(ring, start + 6);
	KUNIT_EXPECT_EQ(test, branch_ring_lost(ring), 7);
	write(ring, 2);
	KUNIT_EXPECT_EQ(test, branch_ring_lost(ring), 7);
	write(ring, 3);
	KUNIT_EXPECT_EQ(test, branch_ring_lost(ring), 10);
	branch_ring_clear(ring);
	KUNIT_EXPECT_EQ(test, branch_ring_lost(ring), 10);
	branch_ring_clear(ring);
	KUNIT_EXPECT_EQ(test, branch_ring_lost(ring), 10);
	KUNIT_EXPECT_EQ(test, ring->control->lost, 3);
	branch_ring_lose(ring, 5);
	KUNIT_EXPECT_EQ(test, branch_ring_lost(ring), 15);
}

/* The counters never wrap: nothing may look at 32 bits of them. */
static void large_counters(struct kunit *test)
{
	static const u64 starts[] = {
		(1ULL << 31) - 4, (1ULL << 32) - 4, (1ULL << 40) - 4,
		(1ULL << 63) - 4,
	};

	for (int i = 0; i < ARRAY_SIZE(starts); i++) {
		u64 start = starts[i];
		struct branch_ring *ring = test_ring_at(test, 7, start);

		expect_records(test, ring, start, start);
		for (u64 n = 1; n < 20; n++) {
			write(ring, 1);
			expect_records(test, ring,
				       n > 7 ? start + n - 7 : start, start + n);
		}
		branch_ring_consume(ring, start + 15);
		expect_records(test, ring, start + 15, start + 19);
		branch_ring_clear(ring);
		expect_records(test, ring, start + 19, start + 19);
	}
}

static unsigned long test_user_memory(struct kunit *test, size_t size)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, size, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_LT(test, addr, TASK_SIZE);
	return addr;
}

static void expect_user_records(struct kunit *test,
				const struct branch_record __user *user,
				u64 first, u64 n)
{
	struct branch_record record;

	for (u64 i = 0; i < n; i++) {
		KUNIT_ASSERT_EQ(test, 0, copy_from_user(&record, user + i,
							sizeof(record)));
		KUNIT_ASSERT_TRUE(test, is_record(&record, first + i));
	}
	KUNIT_ASSERT_EQ(test, 0, copy_from_user(&record, user + n,
						sizeof(record)));
	KUNIT_EXPECT_EQ(test, record.kind, BRANCH_RECORD_INVALID);
}

static void copy_to_user_memory(struct kunit *test)
{
	unsigned long addr = test_user_memory(test, 4 * PAGE_SIZE);
	struct branch_record __user *user = (void __user *)addr;
	struct branch_ring *ring = test_ring(test, 100);
	u64 end = 42;

	KUNIT_EXPECT_EQ(test, branch_ring_copy_to_user(ring, user, 9, &end), 0);
	KUNIT_EXPECT_EQ(test, end, 0);

	write(ring, 250);
	KUNIT_EXPECT_EQ(test, branch_ring_copy_to_user(ring, user, 0, &end), 0);
	KUNIT_EXPECT_EQ(test, end, 150);

	KUNIT_EXPECT_EQ(test, branch_ring_copy_to_user(ring, user, 33, &end), 33);
	KUNIT_EXPECT_EQ(test, end, 183);
	expect_user_records(test, user, 150, 33);
	expect_records(test, ring, 150, 250);

	branch_ring_consume(ring, end);
	KUNIT_EXPECT_EQ(test, branch_ring_copy_to_user(ring, user, U64_MAX, &end),
			67);
	KUNIT_EXPECT_EQ(test, end, 250);
	expect_user_records(test, user, 183, 67);
	branch_ring_consume(ring, end);
	expect_records(test, ring, 250, 250);
}

static void copy_faults(struct kunit *test)
{
	unsigned long addr = test_user_memory(test, 2 * PAGE_SIZE);
	struct branch_ring *ring = test_ring(test, 100);
	struct branch_record __user *user;
	u64 end = 42;

	write(ring, 250);
	KUNIT_ASSERT_EQ(test, vm_munmap(addr + PAGE_SIZE, PAGE_SIZE), 0);

	/* At the first byte, and after 50 and a half records. */
	user = (void __user *)(addr + PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, branch_ring_copy_to_user(ring, user, 100, &end),
			-EFAULT);
	user = (void __user *)(addr + PAGE_SIZE - 50 * sizeof(*user) - 12);
	KUNIT_EXPECT_EQ(test, branch_ring_copy_to_user(ring, user, 100, &end),
			-EFAULT);

	KUNIT_EXPECT_EQ(test, end, 42);
	KUNIT_EXPECT_EQ(test, ring->control->tail, 0);
	expect_records(test, ring, 150, 250);
	KUNIT_EXPECT_EQ(test, branch_ring_copy_to_user(ring, user, 50, &end), 50);
}

/*
 * A writer that overtakes the reader: in place of the nth time that somebody
 * asks for the oldest record, it writes some first.
 */
static struct {
	unsigned int	countdown;
	u64		records;
} overtake;

static u64 overtaken_oldest(const struct branch_ring *ring)
{
	const struct branch_ring_control *control = ring->control;

	if (overtake.countdown && !--overtake.countdown)
		write((struct branch_ring *)ring, overtake.records);
	if (control->reserved < control->capacity)
		return control->tail;
	return max(control->tail, control->reserved - control->capacity);
}

static void set_overtake(struct kunit *test, unsigned int nth, u64 records)
{
	overtake.countdown = nth;
	overtake.records = records;
	kunit_activate_static_stub(test, branch_ring_oldest, overtaken_oldest);
}

/* branch_ring_read() asks before it copies, and after. */
static void overtaken_read(struct kunit *test)
{
	for (u64 records = 0; records < 12; records++) {
		struct branch_ring *ring = test_ring(test, 10);
		struct branch_record chunk[6];
		u64 first = 0;
		unsigned int n;

		write(ring, 30);
		set_overtake(test, 2, records);
		n = branch_ring_read(ring, &first, chunk, ARRAY_SIZE(chunk));
		kunit_deactivate_static_stub(test, branch_ring_oldest);

		KUNIT_EXPECT_EQ(test, overtake.countdown, 0);
		KUNIT_EXPECT_EQ(test, first, 20 + records);
		KUNIT_ASSERT_EQ(test, n, records < 6 ? 6 - records : 0);
		for (unsigned int i = 0; i < n; i++)
			KUNIT_EXPECT_TRUE(test, is_record(&chunk[i], first + i));
		expect_records(test, ring, 20 + records, 30 + records);
	}
}

/* branch_ring_peek() asks once more, at first. */
static void overtaken_peek(struct kunit *test)
{
	struct branch_ring *ring = test_ring(test, 10);
	struct branch_record record;

	write(ring, 30);
	for (unsigned int nth = 2; nth <= 3; nth++) {
		u64 newest = ring->next - 1;

		/* Index 5 survives four more records, and no fifth. */
		set_overtake(test, nth, 4);
		KUNIT_EXPECT_EQ(test, branch_ring_peek(ring, 5, &record), 0);
		KUNIT_EXPECT_TRUE(test, is_record(&record, newest - 5));

		set_overtake(test, nth, 5);
		KUNIT_EXPECT_EQ(test, branch_ring_peek(ring, 5, &record), -EAGAIN);
		kunit_deactivate_static_stub(test, branch_ring_oldest);
	}
}

/*
 * branch_ring_copy_to_user() asks at first, then twice for every chunk: the
 * first chunk may lose its beginning, a later one ends the copy.
 */
static void overtaken_copy(struct kunit *test)
{
	unsigned long addr = test_user_memory(test, PAGE_SIZE);
	struct branch_record __user *user = (void __user *)addr;
	const unsigned int capacity = 4 * BRANCH_RING_CHUNK;

	for (unsigned int nth = 1; nth <= 9; nth++) {
		struct branch_ring *ring = test_ring(test, capacity);
		/* Into the middle of the chunk that is being copied. */
		u64 records = nth / 2 * BRANCH_RING_CHUNK - BRANCH_RING_CHUNK / 2;
		u64 start = 1000 - capacity, end, n;

		if (nth == 1)
			records = 5;
		write(ring, 1000);
		KUNIT_ASSERT_EQ(test, clear_user(user, PAGE_SIZE), 0);
		set_overtake(test, nth, records);
		n = branch_ring_copy_to_user(ring, user, U64_MAX, &end);
		kunit_deactivate_static_stub(test, branch_ring_oldest);

		KUNIT_EXPECT_EQ(test, overtake.countdown, 0);
		if (nth <= 3) {
			/* The first chunk: all that is left. */
			start += records;
			KUNIT_EXPECT_EQ(test, end, 1000);
		} else {
			KUNIT_EXPECT_EQ(test, end, start + (nth / 2 - 1) *
					BRANCH_RING_CHUNK);
		}
		KUNIT_ASSERT_EQ(test, n, end - start);
		expect_user_records(test, user, start, n);
	}
}

static struct mm_struct *test_mm(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc();

	KUNIT_ASSERT_NOT_NULL(test, mm);
	return mm;
}

/* Change RLIMIT_MEMLOCK of this thread, which shares it with no other. */
static void set_memlock(struct kunit *test, unsigned long bytes)
{
	KUNIT_ASSERT_TRUE(test, thread_group_empty(current));
	task_lock(current->group_leader);
	current->signal->rlim[RLIMIT_MEMLOCK].rlim_cur = bytes;
	task_unlock(current->group_leader);
}

static struct branch_ring *alloc_unprivileged(struct kunit *test, u64 capacity,
					      struct mm_struct *mm)
{
	struct cred *cred = prepare_creds();
	const struct cred *old;
	struct branch_ring *ring;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cap_clear(cred->cap_effective);
	old = override_creds(cred);
	ring = branch_ring_alloc(capacity, mm);
	revert_creds(old);
	put_cred(cred);
	return ring;
}

/* The charge is what was allocated: data and one page more. */
static void charge(struct kunit *test)
{
	struct mm_struct *mm = test_mm(test);
	s64 sum = 0;
	struct branch_ring *rings[ARRAY_SIZE(capacities)];

	for (int i = 0; i < ARRAY_SIZE(capacities); i++) {
		u64 bytes = capacities[i] * sizeof(struct branch_record);

		rings[i] = branch_ring_alloc(capacities[i], mm);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, rings[i]);
		sum += 1 + DIV_ROUND_UP_ULL(bytes, PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), sum);
		KUNIT_EXPECT_EQ(test, find_vm_area(rings[i]->control)->nr_pages,
				rings[i]->nr_pages);
	}
	for (int i = 0; i < ARRAY_SIZE(capacities); i++)
		branch_ring_free(rings[i]);

	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&mm->mm_count), 1);
	mmput(mm);
}

static void memlock_limit(struct kunit *test)
{
	/* Two pages of data in full, and the control page. */
	u64 fits = 2 * PAGE_SIZE / sizeof(struct branch_record);
	struct mm_struct *mm = test_mm(test);
	struct branch_ring *ring, *second;

	if (!IS_ENABLED(CONFIG_MULTIUSER))
		kunit_skip(test, "everybody has CAP_IPC_LOCK");

	atomic64_set(&mm->pinned_vm, 5);
	set_memlock(test, 8 * PAGE_SIZE + 1);

	ring = alloc_unprivileged(test, fits + 1, mm);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ring), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), 5);
	KUNIT_EXPECT_EQ(test, atomic_read(&mm->mm_count), 1);

	ring = alloc_unprivileged(test, fits, mm);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), 8);

	second = alloc_unprivileged(test, 1, mm);
	KUNIT_EXPECT_EQ(test, PTR_ERR(second), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), 8);

	/* Nobody's ring is not limited, nor is CAP_IPC_LOCK, which counts. */
	second = alloc_unprivileged(test, 1000, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, second);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), 8);
	branch_ring_free(second);
	second = branch_ring_alloc(1, mm);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, second);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), 10);

	/* A limit that sinks takes nothing away and is not exceeded twice. */
	set_memlock(test, 0);
	branch_ring_free(ring);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), 7);
	branch_ring_free(second);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), 5);
	KUNIT_EXPECT_EQ(test, atomic_read(&mm->mm_count), 1);

	set_memlock(test, RLIM_INFINITY);
	ring = alloc_unprivileged(test, fits + 1, mm);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring);
	branch_ring_free(ring);
	atomic64_set(&mm->pinned_vm, 0);
	mmput(mm);
}

static void outlives_debugger(struct kunit *test)
{
	struct mm_struct *mm = test_mm(test);
	struct branch_ring *ring = branch_ring_alloc(1000, mm);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring);
	mmgrab(mm);
	mmput(mm);
	write(ring, 3);
	expect_records(test, ring, 0, 3);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), ring->nr_pages);
	branch_ring_free(ring);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&mm->mm_count), 1);
	mmdrop(mm);
}

/* vmalloc refuses more than the machine has before it takes a page. */
static void out_of_memory(struct kunit *test)
{
	struct branch_ring *ring;
	struct mm_struct *mm;

	if (totalram_pages() >= U32_MAX / PAGE_SIZE - 2)
		kunit_skip(test, "the largest ring fits into memory");

	mm = test_mm(test);
	set_memlock(test, RLIM_INFINITY);
	ring = branch_ring_alloc(BRANCH_RING_MAX_CAPACITY, mm);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ring), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&mm->mm_count), 1);
	mmput(mm);
}

struct concurrent {
	struct branch_ring	*ring;
	atomic_t		passes;		/* of the reader over the ring */
};

/*
 * Write until told to stop, in batches of many sizes. Every 64 batches rest
 * until the reader has been round, else a small ring would starve it.
 */
static int writer_thread(void *data)
{
	struct concurrent *c = data;

	for (unsigned int batch = 0; !kthread_should_stop(); batch++) {
		write(c->ring, batch % 17);
		if (batch % 64 == 0) {
			int passes = atomic_read(&c->passes);

			while (atomic_read(&c->passes) - passes < 2 &&
			       !kthread_should_stop())
				cond_resched();
		}
	}
	return 0;
}

static void concurrent_writer(struct kunit *test, u64 capacity)
{
	struct branch_ring *ring = test_ring(test, capacity);
	struct concurrent c = { .ring = ring };
	struct branch_record record, *records;
	unsigned long addr = test_user_memory(test, 16 * PAGE_SIZE);
	struct branch_record __user *user = (void __user *)addr;
	unsigned int wrong = 0, useful = 0;
	u64 end = 0, seen = 0, newest = 0, peeked = 0, max;
	struct task_struct *writer;

	max = 16 * PAGE_SIZE / sizeof(record);
	records = kunit_kmalloc(test, max * sizeof(record), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, records);

	writer = kthread_run(writer_thread, &c, "branch_ring_writer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(writer));

	/* Only counts until the writer is stopped: an assertion would not. */
	while (useful < 50 || atomic_read(&c.passes) < 20000) {
		long n;

		wrong += branch_ring_count(ring) > capacity;

		/* The oldest place but one is where the writer goes next. */
		if (capacity > 1 &&
		    !branch_ring_peek(ring, capacity - 2, &record)) {
			peeked++;
			wrong += !is_record(&record, record.from);
		}
		if (!branch_ring_peek(ring, 0, &record)) {
			peeked++;
			wrong += !is_record(&record, record.from);
			wrong += record.from < newest;
			newest = record.from;
		}

		/* After all that came before, up to where it says. */
		n = branch_ring_copy_to_user(ring, user, max, &end);
		wrong += n < 0;
		if (n > 0) {
			useful++;
			wrong += end - n < seen;
			wrong += !!copy_from_user(records, user,
						  n * sizeof(record));
			for (long i = 0; i < n; i++)
				wrong += !is_record(&records[i], end - n + i);
			seen = end;
			newest = max(newest, end - 1);
			branch_ring_consume(ring, end);
		}
		atomic_inc(&c.passes);
		cond_resched();
	}

	KUNIT_EXPECT_EQ(test, kthread_stop(writer), 0);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	kunit_info(test, "capacity %llu: %llu written, %u copies, %llu peeks",
		   capacity, ring->next, useful, peeked);

	/* At rest it is exact again. */
	branch_ring_consume(ring, seen);
	seen = max(ring->control->tail,
		   ring->next > capacity ? ring->next - capacity : 0);
	expect_records(test, ring, seen, ring->next);
}

static void concurrent(struct kunit *test)
{
	concurrent_writer(test, 1);
	concurrent_writer(test, 7);
	concurrent_writer(test, 61);
	concurrent_writer(test, 5000);
}

static struct kunit_case branch_ring_cases[] = {
	KUNIT_CASE(capacity_bounds),
	KUNIT_CASE(layout),
	KUNIT_CASE(fill),
	KUNIT_CASE(wrap),
	KUNIT_CASE(stays_inside),
	KUNIT_CASE(commit),
	KUNIT_CASE(uncommitted_overwrite),
	KUNIT_CASE(consume),
	KUNIT_CASE(clear),
	KUNIT_CASE(room),
	KUNIT_CASE(lost),
	KUNIT_CASE(large_counters),
	KUNIT_CASE(copy_to_user_memory),
	KUNIT_CASE(copy_faults),
	KUNIT_CASE(overtaken_read),
	KUNIT_CASE(overtaken_peek),
	KUNIT_CASE(overtaken_copy),
	KUNIT_CASE(charge),
	KUNIT_CASE(memlock_limit),
	KUNIT_CASE(outlives_debugger),
	KUNIT_CASE(out_of_memory),
	KUNIT_CASE_SLOW(concurrent),
	{}
};

static struct kunit_suite branch_ring_suite = {
	.name = "branch_ring",
	.test_cases = branch_ring_cases,
};

kunit_test_suite(branch_ring_suite);
