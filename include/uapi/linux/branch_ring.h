/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What does a branch trace look like to user space? Its records, and the
 * control page of the ring that holds them.
 */
#ifndef _UAPI_LINUX_BRANCH_RING_H
#define _UAPI_LINUX_BRANCH_RING_H

#include <linux/types.h>

/* The kind of a record: the low four bits of branch_record.kind. */
#define BRANCH_RECORD_KIND_MASK	0xf
#define BRANCH_RECORD_INVALID	0
#define BRANCH_RECORD_BRANCH	1	/* from and to are addresses */
#define BRANCH_RECORD_ARRIVES	2	/* from: clock, to: pid of the task */
#define BRANCH_RECORD_DEPARTS	3	/* from: clock, to: pid of the task */

/**
 * struct branch_record - one record of a branch trace
 * @kind: BRANCH_RECORD_* in the low four bits, the others are reserved
 * @from: address of the branch instruction
 * @to: address of the instruction it led to
 */
struct branch_record {
	__u64 kind;
	__u64 from;
	__u64 to;
};

/**
 * struct branch_ring_control - first page of a branch ring
 * @head: number of records ever written
 * @reserved: number of records the writer ever began to write, @head or more
 * @tail: number of records ever consumed
 * @lost: number of records that never entered the ring; overwritten records
 *	do not count here
 * @capacity: size of the ring, in records
 * @record_size: size of a record, in bytes
 * @data_offset: start of the first record, in bytes from the start of this
 *	structure
 *
 * Records are numbered from 0 in the order written, and the counters never
 * wrap. Record n is in place n % @capacity, @data_offset + place * @record_size
 * bytes from here. The writer takes the place of record n when @reserved passes
 * n + @capacity. One that overwrites does not look at @tail. One that does not
 * overwrite loads @tail with an acquire, which pairs with the release by which
 * it is stored (E), and keeps @reserved within @tail + @capacity. So the
 * oldest record in the ring is number max(@tail, @reserved - @capacity) - the
 * latter 0 where it would be negative - and the newest @head - 1; there is none
 * where that makes the oldest newer than the newest.
 *
 * The writer does not wait for readers, and a record may be overwritten while
 * it is read. What is read before @reserved is read again is good where its
 * number is still not below @reserved - @capacity::
 *
 *   writer                             reader
 *
 *   STORE reserved                     LOAD head
 *     smp_wmb()            (A)           acquire          (D)
 *   STORE record                       LOAD record
 *     release              (B)           smp_rmb()        (C)
 *   STORE head                         LOAD reserved
 *
 * B pairs with D: a record below @head is seen whole. A pairs with C: who saw
 * any part of record n + @capacity in the place of record n also sees @reserved
 * at n + @capacity + 1 or more, and throws away what it took for record n.
 *
 * The kernel stores each counter with a single 64-bit store. A program that
 * loads 32 bits at a time loads the upper half, the lower half and the upper
 * half again, until both upper halves are the same.
 */
struct branch_ring_control {
	__u64 head;
	__u64 reserved;
	__u64 tail;
	__u64 lost;
	__u64 capacity;
	__u64 record_size;
	__u64 data_offset;
};

#endif /* _UAPI_LINUX_BRANCH_RING_H */
