// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How does a guest program the debug store, and compare and report what it
 * stored?  One copy for all suites.  Which bits a CPU family has is told in
 * find_features(), from the manual and not from the emulator.
 */
#include <stdarg.h>
#include "guest.h"

struct control ctl;
bool has_ds, has_dtes64, has_ds_cpl, has_pebs, pmi_as_vector, pmi_unmasks;
unsigned word, record_size, pmu_version;
ulong ds_alias;
uint8_t ds_area[4096] __attribute__((aligned(4096)));
uint8_t bts_buffer[RECORDS * 24 + 4096] __attribute__((aligned(4096)));
volatile struct pmi pmi_seen;
static uint8_t *area;

static void outb(uint16_t port, uint8_t val)
{
	__asm__ volatile("outb %0, %1" : : "a"(val), "Nd"(port));
}

static void put(char c)
{
	outb(0xe9, c);
}

static void print_number(uint64_t n, unsigned base)
{
	char buf[20];
	int i = 0;

	do {
		/* 32-bit divisions only: there is no libgcc here */
		if (base == 16) {
			buf[i++] = "0123456789abcdef"[n & 15];
			n >>= 4;
		} else {
			buf[i++] = '0' + (uint32_t)n % 10;
			n = (uint32_t)n / 10;
		}
	} while (n);
	while (i)
		put(buf[--i]);
}

static void vsay(const char *fmt, va_list ap)
{
	const char *s;

	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put(*fmt);
			continue;
		}
		switch (*++fmt) {
		case 's':
			for (s = va_arg(ap, const char *); *s; s++)
				put(*s);
			break;
		case 'u':
			print_number(va_arg(ap, uint64_t), 10);
			break;
		case 'x':
			print_number(va_arg(ap, uint64_t), 16);
			break;
		}
	}
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(fmt, ap);
	va_end(ap);
}

void ok(bool good, const char *fmt, ...)
{
	va_list ap;

	say(good ? "ok - " : "not ok - ");
	va_start(ap, fmt);
	vsay(fmt, ap);
	va_end(ap);
	put('\n');
}

_Noreturn void end(void)
{
	say("end\n");
	for (;;)
		outb(0xf4, 0);		/* isa-debug-exit */
}

_Noreturn void unexpected(ulong vec)
{
	ulong cr2;

	__asm__ volatile("mov %%cr2, %0" : "=r"(cr2));
	say("# cr2 0x%x\n", (uint64_t)cr2);
	ok(false, "unexpected interrupt or exception %u", (uint64_t)vec);
	end();
}

uint64_t rdmsr(uint32_t msr)
{
	uint32_t lo, hi;

	__asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
	return (uint64_t)hi << 32 | lo;
}

bool wrmsr_faults(uint32_t msr, uint64_t val)
{
	ulong fixup, faulted = 1;

	/* gp_fixup skips the line that clears faulted */
	__asm__ volatile("mov $2f, %[fixup]\n\t"
			 "mov %[fixup], gp_fixup\n\t"
			 "wrmsr\n\t"
			 "xor %[faulted], %[faulted]\n"
			 "2:"
			 : [fixup] "=&r"(fixup), [faulted] "+&r"(faulted)
			 : "a"((uint32_t)val), "d"((uint32_t)(val >> 32)),
			   "c"(msr) : "memory");
	gp_fixup = 0;
	return faulted;
}

void wrmsr(uint32_t msr, uint64_t val)
{
	if (wrmsr_faults(msr, val))
		ok(false, "unexpected #GP: MSR 0x%x = 0x%x", (uint64_t)msr, val);
}

uint32_t lapic_read(unsigned reg)
{
	return *(volatile uint32_t *)(ulong)(LAPIC + reg);
}

void lapic_write(unsigned reg, uint32_t val)
{
	*(volatile uint32_t *)(ulong)(LAPIC + reg) = val;
}

ulong read_cr3(void)
{
	ulong cr3;

	__asm__ volatile("mov %%cr3, %0" : "=r"(cr3));
	return cr3;
}

void map_page(ulong addr, uint64_t entry)
{
	page_tables[addr >> 12] = entry;
	__asm__ volatile("invlpg %0" : : "m"(*(char *)addr) : "memory");
}

void set_gate(unsigned vec, void *handler, unsigned dpl, ulong offset)
{
	extern uint32_t idt[];
	ulong ip = (ulong)handler + offset;
	uint32_t lo = KCS << 16 | (ip & 0xffff);
	uint32_t hi = (ip & 0xffff0000) | 0x8e00 | dpl << 13;

#ifdef __x86_64__
	idt[vec * 4] = lo;
	idt[vec * 4 + 1] = hi;
	idt[vec * 4 + 2] = ip >> 32;
#else
	idt[vec * 2] = lo;
	idt[vec * 2 + 1] = hi;
#endif
}

static void setup_tss(void)
{
	extern char stack_top[];
	uint64_t base = (ulong)tss;

	/* A stack of its own for entries from CPL 3, below run_case()'s. */
	*(ulong *)(tss + 4) = (ulong)stack_top - 8192;
#ifndef __x86_64__
	*(uint32_t *)(tss + 8) = KDS;
#endif
	gdt[TSS_SEL / 8] = 127 | (base & 0xffffff) << 16 | 0x89ull << 40 |
			   (base >> 24 & 0xff) << 56;
	__asm__ volatile("ltr %w0" : : "r"(TSS_SEL));
}

void set_call_gate(unsigned sel, unsigned cs, ulong target)
{
	gdt[sel / 8] = (target & 0xffff) | cs << 16 | 0xecull << 40 |
		       (uint64_t)(target >> 16 & 0xffff) << 48;
}

#ifndef __x86_64__
/*
 * A page for virtual-8086 code.  The word at its end is what a far return
 * finds whose stack goes on in the next page, which is the kernel's.
 */
static void setup_vm86(void)
{
	extern char vm86_code[], vm86_code_end[];
	char *from = vm86_code, *to = (char *)VM86;

	while (from < vm86_code_end)
		*to++ = *from++;
	*(volatile uint16_t *)(VM86 + 0xffe) = 0x5000;
	map_page(VM86, VM86 | PTE_P | PTE_W | PTE_U);
}
#endif

static void setup_entries(void)
{
	extern char isr_sysenter[], stack_top[];

	set_call_gate(GATE_SEL, KCS, (ulong)isr_gate);
	set_call_gate(UGATE_SEL, UCS_NATIVE, (ulong)user_gate);
	wrmsr(0x174, KCS);
	wrmsr(0x175, (ulong)stack_top - 8192);
	wrmsr(0x176, (ulong)isr_sysenter);
#ifdef __x86_64__
	extern char isr_syscall[];

	wrmsr(0xc0000081, (uint64_t)(UCS32) << 48 | (uint64_t)KCS << 32);
	wrmsr(0xc0000082, (ulong)isr_syscall);
	wrmsr(0xc0000084, 0x300);
#endif
}

/* *c is the subleaf before. */
void cpuid(uint32_t leaf, uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	__asm__ volatile("cpuid" : "=a"(*a), "=b"(*b), "+c"(*c), "=d"(*d)
				 : "0"(leaf));
}

static void find_features(void)
{
	uint32_t a, b, c = 0, d, family, model;
	bool core2;

	cpuid(1, &a, &b, &c, &d);
	has_ds = d & 1 << 21;
	has_dtes64 = c & 1 << 2;
	has_ds_cpl = c & 1 << 4;
	family = a >> 8 & 15;
	model = (a >> 4 & 15) | (a >> 12 & 0xf0);
	core2 = family == 6 && model > 14;
	if (family == 15) {
		ctl = (struct control){
			.tr = 1 << 2, .bts = 1 << 3, .btint = 1 << 4,
			.off_os = 1 << 5, .off_usr = 1 << 6,
		};
	} else {
		ctl = (struct control){
			.tr = 1 << 6, .bts = 1 << 7, .btint = 1 << 8,
			.off_os = 1 << 9, .off_usr = 1 << 10,
		};
	}
	ctl.valid = 3 | ctl.tr | ctl.bts | ctl.btint;
	if (family == 6 && (model == 9 || model == 13))
		ctl.valid |= 0x3c;
	if (has_ds_cpl && (core2 || family == 15))
		ctl.valid |= ctl.off_os | ctl.off_usr;
	else
		ctl.off_os = ctl.off_usr = 0;

	c = 0;
	cpuid(0, &a, &b, &c, &d);
	if (a >= 10) {
		c = 0;
		cpuid(10, &a, &b, &c, &d);
		pmu_version = a & 0xff;
	}
	has_pebs = pmu_version == 4 && has_ds && has_dtes64;
	if (pmu_version)
		ctl.valid |= 0x1800;	/* the freeze bits */

	word = has_dtes64 || sizeof(ulong) == 8 ? 8 : 4;
	record_size = 3 * word;
}

/* Called before guest_main(). */
void lib_setup(void)
{
	extern char vector_stubs[];
	ulong addr;
	unsigned vec;

	for (vec = 0; vec < 256; vec++)
		set_gate(vec, vector_stubs + 16 * vec, 0, 0);
	set_gate(1, isr_db, 0, 0);
	set_gate(2, isr_pmi, 0, 0);
	set_gate(3, isr_iret, 3, 0);
	set_gate(4, isr_iret, 3, 0);
	set_gate(6, isr_ud, 0, 0);
	set_gate(13, isr_gp, 0, 0);
	set_gate(VEC_IRET, isr_iret, 3, 0);
	set_gate(VEC_IPI, isr_ipi, 0, 0);
	set_gate(VEC_PMI, isr_pmi, 0, 0);
#ifdef __x86_64__
	set_gate(VEC_HIGH, isr_iret, 3, ALIAS);
#endif
	set_gate(14, isr_leave, 0, 0);
	set_gate(VEC_LEAVE, isr_leave, 3, 0);
	for (addr = (ulong)user_begin; addr < (ulong)user_end; addr += 4096)
		map_page(addr, addr | PTE_P | PTE_W | PTE_U);
	setup_tss();
	setup_entries();
#ifndef __x86_64__
	setup_vm86();
#endif
	/* No interrupts but those a suite asks for. */
	outb(0x21, 0xff);
	outb(0xa1, 0xff);
	lapic_write(LAPIC_SVR, 0x1ff);
	find_features();
}

uint64_t ds_get(enum field field)
{
	if (word == 8)
		return *(volatile uint64_t *)(area + 8 * field);
	return *(volatile uint32_t *)(area + 4 * field);
}

void ds_set(enum field field, uint64_t val)
{
	if (word == 8)
		*(volatile uint64_t *)(area + 8 * field) = val;
	else
		*(volatile uint32_t *)(area + 4 * field) = val;
}

void ds_setup(ulong ds, ulong base, unsigned records, unsigned threshold)
{
	area = (uint8_t *)ds;
	ds_set(BASE, base);
	ds_set(INDEX, base);
	ds_set(MAXIMUM, base + records * record_size);
	ds_set(THRESHOLD, base + threshold * record_size);
	wrmsr(0x600, ds);
}

unsigned ds_count(void)
{
	return (uint32_t)(ds_get(INDEX) - ds_get(BASE)) / record_size;
}

struct branch ds_record(unsigned n)
{
	volatile uint8_t *p = (uint8_t *)(ulong)ds_get(BASE) + n * record_size;
	struct branch b;

	if (word == 8) {
		b.from = *(volatile uint64_t *)p;
		b.to = *(volatile uint64_t *)(p + 8);
		b.cpls = *(volatile uint64_t *)(p + 16);
	} else {
		b.from = *(volatile uint32_t *)p;
		b.to = *(volatile uint32_t *)(p + 4);
		b.cpls = *(volatile uint32_t *)(p + 8);
	}
	return b;
}

#define PATTERN 0xa5

void ds_fill(void)
{
	unsigned i;

	for (i = 0; i < sizeof(bts_buffer); i++)
		bts_buffer[i] = PATTERN;
}

bool ds_untouched(unsigned from_record, unsigned to_record)
{
	uint8_t *base = (uint8_t *)(ulong)ds_get(BASE);
	unsigned i;

	for (i = from_record * record_size; i < to_record * record_size; i++)
		if (base[i] != PATTERN)
			return false;
	return true;
}

bool stored(const struct branch *b, uint32_t bits)
{
	uint32_t on = ctl.tr | ctl.bts;
	bool os = !(bits & ctl.off_os), usr = !(bits & ctl.off_usr);

	return (bits & on) == on &&
	       ((CPL_BEFORE(b) ? usr : os) || (CPL_AFTER(b) ? usr : os));
}

bool check_case(const struct bts_case *c, uint32_t bits)
{
	const struct branch *b;
	struct branch r;
	unsigned n = 0;
	bool good = true;

	ds_setup(ds_alias + (ulong)ds_area, ds_alias + (ulong)bts_buffer,
		 RECORDS, NEVER);
	ds_fill();
	debugctl = bits;
	run_case(c->run);
	for (b = c->expect; b < c->expect_end; b++) {
		if (!stored(b, bits))
			continue;
		r = ds_record(n);
		/* the flags word of a record is 0: no prediction bit */
		if (n >= ds_count() || r.from != b->from || r.to != b->to ||
		    r.cpls != 0) {
			say("# %s: record %u is %x %x %x, want %x %x\n", c->name,
			    (uint64_t)n, r.from, r.to, r.cpls, b->from, b->to);
			good = false;
		}
		n++;
	}
	if (ds_count() != n) {
		say("# %s: %u records, want %u\n", c->name,
		    (uint64_t)ds_count(), (uint64_t)n);
		good = false;
	}
	if (!ds_untouched(n, RECORDS)) {
		say("# %s: memory past the last record was written\n", c->name);
		good = false;
	}
	return good;
}

const struct bts_case *find_case(const char *name)
{
	const struct bts_case *c;
	unsigned i;

	for (c = cases_begin; c < cases_end; c++) {
		for (i = 0; name[i] && name[i] == c->name[i]; i++)
			;
		if (name[i] == c->name[i])
			return c;
	}
	ok(false, "no case '%s'", name);
	end();
}

/* Called by isr_pmi, with the store off. */
void pmi(ulong ip)
{
	pmi_seen.count++;
	pmi_seen.records = ds_count();
	pmi_seen.lvt = lapic_read(LAPIC_LVTPC);
	pmi_seen.ip = ip;
	if (pmi_as_vector)
		lapic_write(0xb0, 0);
	if (pmi_unmasks)
		lapic_write(LAPIC_LVTPC, pmi_seen.lvt & ~LVT_MASKED);
}

/* A suite that steps has its own. */
__attribute__((weak)) uint32_t step(struct step_frame *frame, uint32_t now)
{
	(void)now;
	unexpected(frame->ip);
}

/* A suite with a second CPU has its own. */
__attribute__((weak)) _Noreturn void ap_main(void)
{
	end();
}
