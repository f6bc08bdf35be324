/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the suites use: the debug store's hardware interface, cases with the
 * branches they are expected to take, and reporting.
 *
 * A suite is one guest: guest_main() calls ok() for each thing it checks, and
 * end().
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "asm.h"

typedef unsigned long ulong;

/* A record of the debug store, and the CPLs the case expects it for. */
struct branch {
	uint64_t from, to;
	uint64_t cpls;			/* before << 4 | after */
};
#define CPL_BEFORE(b)	((unsigned)(b)->cpls >> 4)
#define CPL_AFTER(b)	((unsigned)(b)->cpls & 15)

/* cases.S: code that turns the store on, branches, and turns it off. */
struct bts_case {
	const char *name;
	void (*run)(void);
	const struct branch *expect, *expect_end;
};
extern const struct bts_case cases_begin[], cases_end[];

/* IA32_DEBUGCTL of this processor, found by family. */
struct control {
	uint32_t tr, bts, btint, off_os, off_usr;
	uint64_t valid;
};
extern struct control ctl;

/* CPUID's part of it; PEBS as this model has it with the others. */
extern bool has_ds, has_dtes64, has_ds_cpl, has_pebs;
extern unsigned pmu_version;

/* The DS area, read and written in the layout of this processor and mode. */
enum field {
	BASE, INDEX, MAXIMUM, THRESHOLD,
	PEBS_BASE, PEBS_INDEX, PEBS_MAXIMUM, PEBS_THRESHOLD,
	PEBS_RESET,			/* of counter 0; the others follow */
};
extern unsigned word, record_size;
#define RECORDS 512
extern uint8_t ds_area[4096], bts_buffer[RECORDS * 24 + 4096];

void ds_setup(ulong area, ulong base, unsigned records, unsigned threshold);
#define NEVER 0x10000			/* a threshold past the maximum */
uint64_t ds_get(enum field field);
void ds_set(enum field field, uint64_t val);
unsigned ds_count(void);		/* records from base to index */
struct branch ds_record(unsigned n);
void ds_fill(void);			/* the buffer, with a pattern */
bool ds_untouched(unsigned from_record, unsigned to_record);

void run_case(void (*fn)(void));
/* The same, and compare all its records with what is expected under @bits. */
bool check_case(const struct bts_case *c, uint32_t bits);
bool stored(const struct branch *b, uint32_t bits);
const struct bts_case *find_case(const char *name);

/* asm variables */
extern volatile ulong kernel_sp, gp_fixup;
extern volatile uint32_t debugctl, debugctl_after_pmi;
extern uint8_t tss[];
extern uint64_t gdt[], page_tables[];
extern char user_stack[];
extern char isr_leave[], isr_iret[], isr_ipi[], isr_ud[], isr_db[], isr_gp[];
extern char isr_gate[], user_gate[], isr_pmi[], ap_real[], ap_real_end[], user_begin[], user_end[];

/* EFLAGS.TF at CPL 3 in cases, and what isr_step calls: a suite's that steps. */
extern volatile uint32_t case_flags;
extern void (*volatile step_target)(void);
extern char isr_step[], isr_step_iret[], isr_nmi[], vector_stubs[];
void step_case(void);
struct step_frame {
	ulong ip, cs, flags;
};
uint32_t step(struct step_frame *frame, uint32_t debugctl_now);

/* The interrupt of the debug store, as isr_pmi saw it. */
struct pmi {
	unsigned count;
	unsigned records;
	uint32_t lvt;
	ulong ip;
};
extern volatile struct pmi pmi_seen;
extern bool pmi_as_vector, pmi_unmasks;
extern ulong ds_alias;			/* added to check_case()'s addresses */

void set_call_gate(unsigned sel, unsigned cs, ulong target);
void set_gate(unsigned vec, void *handler, unsigned dpl, ulong offset);
void map_page(ulong addr, uint64_t entry);
#define PTE_P	1
#define PTE_W	2
#define PTE_U	4

void cpuid(uint32_t leaf, uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d);
uint64_t rdmsr(uint32_t msr);
bool wrmsr_faults(uint32_t msr, uint64_t val);
void wrmsr(uint32_t msr, uint64_t val);
uint32_t lapic_read(unsigned reg);
void lapic_write(unsigned reg, uint32_t val);
#define LAPIC_SVR	0xf0
#define LAPIC_ICR	0x300
#define LAPIC_ICR_HIGH	0x310
#define LAPIC_LVTPC	0x340
#define LVT_MASKED	0x10000
#define LVT_NMI		0x400

ulong read_cr3(void);
void say(const char *fmt, ...);		/* %s %u %x, the last two 64-bit */
void ok(bool good, const char *fmt, ...);
_Noreturn void end(void);
_Noreturn void unexpected(ulong vec);
_Noreturn void guest_main(void);
_Noreturn void ap_main(void);		/* the second CPU; a suite may have one */
static inline unsigned param(void) { return *(volatile unsigned *)PARAM; }
static inline void barrier(void) { __asm__ volatile("" ::: "memory"); }

#endif
