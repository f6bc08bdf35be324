/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How does kernel code keep a branch trace? In a ring of fixed-size records
 * with one writer, which may be an NMI, and readers in process context.
 */
#ifndef _LINUX_BRANCH_RING_H
#define _LINUX_BRANCH_RING_H

#include <linux/types.h>
#include <uapi/linux/branch_ring.h>

struct branch_ring;
struct mm_struct;

struct branch_ring *branch_ring_alloc(u64 capacity, struct mm_struct *mm);
void branch_ring_free(struct branch_ring *ring);
u64 branch_ring_capacity(const struct branch_ring *ring);

u64 branch_ring_room(const struct branch_ring *ring);
void branch_ring_lose(struct branch_ring *ring, u64 nr);
void branch_ring_put(struct branch_ring *ring, u64 kind, u64 from, u64 to);
void branch_ring_commit(struct branch_ring *ring);

u64 branch_ring_count(const struct branch_ring *ring);
u64 branch_ring_lost(const struct branch_ring *ring);
int branch_ring_peek(const struct branch_ring *ring, u64 index,
		     struct branch_record *record);
long branch_ring_copy_to_user(const struct branch_ring *ring,
			      struct branch_record __user *to, u64 max,
			      u64 *end);
void branch_ring_consume(struct branch_ring *ring, u64 end);
void branch_ring_clear(struct branch_ring *ring);

#endif /* _LINUX_BRANCH_RING_H */
