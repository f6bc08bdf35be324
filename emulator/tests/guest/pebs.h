/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of PEBS, for the suites that have them made. */
#ifndef PEBS_H
#define PEBS_H

#include "pmu.h"

struct pebs_record {
	uint64_t flags, ip, ax, bx, cx, dx, si, di, bp, sp, r[8];
	uint64_t counters, address, source, latency, eventing_ip, tsx, tsc;
};
_Static_assert(sizeof(struct pebs_record) == 200, "format 3");

#define PEBS_RECORDS 128
extern struct pebs_record pebs_buffer[PEBS_RECORDS + 32];

/* Thresholds and lengths are in records. */
static inline void pebs_setup(ulong base, unsigned records, unsigned threshold)
{
	ds_set(PEBS_BASE, base);
	ds_set(PEBS_INDEX, base);
	ds_set(PEBS_MAXIMUM, base + records * sizeof(struct pebs_record));
	ds_set(PEBS_THRESHOLD, base + threshold * sizeof(struct pebs_record));
}

static inline unsigned pebs_count(void)
{
	return (uint32_t)(ds_get(PEBS_INDEX) - ds_get(PEBS_BASE)) /
	       sizeof(struct pebs_record);
}

/* Counter @n has PEBS, and overflows first with event @first, then @again. */
static inline void pebs_counter(unsigned n, uint64_t select, unsigned first,
				unsigned again)
{
	ds_set(PEBS_RESET + n, -(uint64_t)again);
	wrmsr(MSR_PMC(n), -(uint64_t)first);
	wrmsr(MSR_SELECT(n), select | EN);
	wrmsr(MSR_PEBS_ENABLE, rdmsr(MSR_PEBS_ENABLE) | GP(n));
}

#endif
