/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Performance counters, for the suites that count: registers, what this
 * processor has, and the interrupt of an overflow as its handler saw it.
 */
#ifndef PMU_H
#define PMU_H

/* Jumps, or no-operations, in each row of pmu-entry.S. */
#define ROW 100
/* Turns of the repeated string instruction there. */
#define REPEATS 50
/* What the registers row has in each of them. */
#ifdef __x86_64__
#define REGISTER(n) (0x1011121314151617 * (n + 1))
#else
#define REGISTER(n) (0x11121314 * (n + 1))
#endif
#define REGISTER_FLAGS 0xcd7		/* all six of arithmetic, and DF */

#ifndef __ASSEMBLER__
#include "guest.h"

#define MSR_PMC(n)	(0xc1 + (n))
#define MSR_SELECT(n)	(0x186 + (n))	/* IA32_PERFEVTSELx */
#define MSR_A_PMC(n)	(0x4c1 + (n))
#define MSR_FIXED(n)	(0x309 + (n))
#define MSR_CAPABILITIES 0x345
#define MSR_FIXED_CTRL	0x38d
#define MSR_STATUS	0x38e
#define MSR_STATUS_RESET 0x390		/* IA32_PERF_GLOBAL_OVF_CTRL before version 4 */
#define MSR_STATUS_SET	0x391
#define MSR_INUSE	0x392
#define MSR_PEBS_ENABLE	0x3f1

#define USR		(1ull << 16)
#define OS		(1ull << 17)
#define EDGE		(1ull << 18)
#define PIN		(1ull << 19)
#define INT		(1ull << 20)
#define ANY		(1ull << 21)
#define EN		(1ull << 22)
#define INV		(1ull << 23)
#define CMASK(n)	((uint64_t)(n) << 24)
#define BOTH		(USR | OS)

/* Bits of IA32_PERF_GLOBAL_CTRL and IA32_PERF_GLOBAL_STATUS. */
#define GP(n)		(1ull << (n))
#define FIXED(n)	(1ull << (32 + (n)))
#define LBR_FRZ		(1ull << 58)
#define CTR_FRZ		(1ull << 59)
#define OVF_BUF		(1ull << 62)
#define COND_CHGD	(1ull << 63)

/* Fields of IA32_FIXED_CTR_CTRL. */
#define FIXED_OS	1ull
#define FIXED_USR	2ull
#define FIXED_ANY	4ull
#define FIXED_PMI	8ull
#define FIXED_FIELD(n, bits) ((uint64_t)(bits) << 4 * (n))

#define FREEZE_LBRS	(1u << 11)	/* IA32_DEBUGCTL */
#define FREEZE_COUNTERS	(1u << 12)

#define RDPMC_FIXED(n)	(0x40000000u + (n))

/* Events: code and unit mask, as in the low half of IA32_PERFEVTSELx. */
#define INSTRUCTIONS	0x00c0
#define BRANCHES	0x00c4
#define CONDITIONAL	0x01c4
#define NEAR_CALL	0x02c4
#define NEAR_RETURN	0x08c4
#define NOT_TAKEN	0x10c4
#define NEAR_TAKEN	0x20c4
#define FAR_BRANCH	0x40c4
#define CYCLES		0x003c

extern struct pmu {
	unsigned version, counters, width, fixed, fixed_width, pdcm;
	uint64_t mask, fixed_mask, all;	/* all: every counter, for GLOBAL_CTRL */
	bool full_writes, pebs;
} pmu;

void pmu_cpuid(void);			/* fills that in */
void pmu_find(void);			/* and what is measured, below */
void pmu_reset(void);			/* nothing counts, all is zero */
void count(unsigned counter, uint64_t select);	/* from zero */
void set_counter(unsigned counter, uint64_t val); /* all its bits */
uint64_t rdpmc(uint32_t index);
static inline uint64_t rdtsc(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}
bool rdpmc_faults(uint32_t index, uint64_t *val);
bool rdmsr_faults(uint32_t msr, uint64_t *val);

/* VEC_IPI in @ns, by the local APIC's timer. */
void timer(uint32_t ns);

/* What a window counts: IA32_PERF_GLOBAL_CTRL between open and close. */
extern volatile uint64_t window, window_after_pmi;
void run_window(void (*fn)(void), uint64_t counters);
/*
 * A window has instructions of its own: MOV, XOR, XOR, and one of the two
 * WRMSR.  The SDM does not say which; skew is 1 where it is the first.
 */
extern unsigned window_instructions, skew;

/*
 * A row of pmu-entry.S under an event: each instruction has @size bytes, the
 * one that is event number @event (from 1) is the @nth in it, from 1.
 */
struct row {
	void (*fn)(void);
	char *row;
	unsigned size, cs;
	unsigned (*nth)(unsigned event);
};
extern const struct row kernel_nops, kernel_jumps, conditionals, not_takens;
extern const struct row nops_at_3, jumps_at_3;

/* Overflow interrupts, in order; more than fit are only counted. */
#define OVERFLOWS 256
struct overflow {
	ulong ip, cs;
	uint64_t status, ctrl, counter;	/* counter: the first, or the first fixed */
	uint32_t lvt;
};
extern volatile unsigned nr_overflows;
extern volatile struct overflow overflows[OVERFLOWS];
extern bool overflow_as_vector, overflow_unmasks, overflow_keeps_status;
extern unsigned overflow_counter;	/* RDPMC's number of the one to look at */
extern void (*on_overflow)(void);	/* more for the handler to do, or NULL */
void expect_overflows(uint32_t lvt);	/* from none */

/* pmu-entry.S; HALT waits with interrupts on, the others are one window each */
extern char isr_close[], isr_overflow[], isr_map[], isr_step_over[];
void nops(void), jumps(void), mixed(void), runs(void), user_nops(void), user_jumps(void);
void repeats(void), protects(void), registers(void), increments(void);
void nothing(void), user_nothing(void), halt(void);
void user_rdpmc(void);
extern volatile uint32_t user_index, user_faulted;
extern volatile ulong user_lo, user_hi;	/* RAX and RDX, whole */
extern volatile ulong fault_pte;
extern char nops_row[], jumps_row[], mixed_row[], user_nops_row[];
extern char user_jumps_row[], runs_row[], repeats_row[], repeats_after[];
extern char protects_row[], registers_jump[], registers_after[], increments_row[];
extern volatile ulong registers_sp;
#endif
#endif
