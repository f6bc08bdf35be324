// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do counters, the branch trace store and single steps agree about code that
 * nobody has thought of?  Random code, that is: instructions of the kinds that
 * TCG makes different blocks of, with branches forward among them, small loops
 * and calls.  PARAM is 1 under -icount shift=0, when time is a witness, too.
 */
#include "pmu.h"

#define ROUNDS 80
#define ITEMS  120

static uint8_t code[2 * 4096] __attribute__((aligned(4096)));
static uint8_t *at;
static uint32_t seed = 1;
static bool icount;
uint8_t random_data[4096] __attribute__((aligned(64)));
volatile uint32_t steps_taken;

static unsigned random(unsigned below)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % below;
}

static void emit(const uint8_t *bytes, unsigned n)
{
	while (n--)
		*at++ = *bytes++;
}

/* Each leaves SP, SI and DI alone, and what is at SI is random_data. */
static void item(void)
{
	static const struct {
		uint8_t n, bytes[11];
	} simple[] = {
		{ 1, { 0x90 } },			/* nop */
		{ 2, { 0xff, 0xc0 } },			/* inc %eax */
		{ 2, { 0x01, 0xc3 } },			/* add %eax, %ebx */
		{ 2, { 0x85, 0xd8 } },			/* test %ebx, %eax */
		{ 1, { 0xf9 } },			/* stc */
		{ 1, { 0xf5 } },			/* cmc */
		{ 2, { 0x50, 0x58 } },			/* push, pop */
		{ 2, { 0x9c, 0x9d } },			/* pushf, popf */
		{ 2, { 0x8b, 0x06 } },			/* mov (%esi), %eax */
		{ 2, { 0x89, 0x1e } },			/* mov %ebx, (%esi) */
		{ 3, { 0xf0, 0xff, 0x06 } },		/* lock incl (%esi) */
		{ 4, { 0xf0, 0x0f, 0xc1, 0x1e } },	/* lock xadd */
		{ 4, { 0x0f, 0x31, 0x31, 0xc0 } },	/* rdtsc, forgotten */
		{ 3, { 0x0f, 0x20, 0xd8 } },		/* mov %cr3, AX */
		{ 2, { 0xe4, 0x80 } },			/* in $0x80, %al */
		{ 2, { 0xeb, 0 } },			/* jmp to the next */
		{ 1, { 0xfa } },			/* cli */
		/* call over a jump; ret: to the jump over them */
		{ 8, { 0xe8, 2, 0, 0, 0, 0xeb, 1, 0xc3 } },
		/* mov $5, %cl; dec %cl; jnz */
		{ 6, { 0xb1, 5, 0xfe, 0xc9, 0x75, 0xfc } },
		/* mov $3, %ecx; loop to itself */
		{ 7, { 0xb9, 3, 0, 0, 0, 0xe2, 0xfe } },
	};
	unsigned i = random(sizeof(simple) / sizeof(simple[0]));

	emit(simple[i].bytes, simple[i].n);
}

/* One in three is a conditional jump over the next, whatever that is. */
static void generate(void)
{
	unsigned i;

	/* Its blocks meet the end of a page in another place each time. */
	at = code + 4096 - random(400);
	step_target = (void (*)(void))at;
	for (i = 0; i < ITEMS; i++) {
		if (random(3) == 0) {
			uint8_t *jump = at;

			at += 2;
			item();
			jump[0] = 0x70 + random(16);
			jump[1] = at - jump - 2;
		} else {
			item();
		}
	}
	*at++ = 0xc3;
}

struct seen {
	uint32_t insns, near, not, cond, call, ret, all, far, cycles, steps, bts;
};

/* The same flags and registers each time, so that the same jumps are taken. */
void random_window(void), random_steps(void);
static void counters(uint32_t a, uint32_t b)
{
	unsigned i;

	for (i = 0; i < 64; i++)
		random_data[i] = 0;
	pmu_reset();
	count(0, a | OS);
	count(1, b | OS);
	wrmsr(MSR_FIXED_CTRL, FIXED_FIELD(0, FIXED_OS) |
			      FIXED_FIELD(1, FIXED_OS));
	run_window(random_window, pmu.all);
}

static unsigned records_of_code(void)
{
	unsigned i, n = 0;

	for (i = 0; i < ds_count(); i++) {
		uint64_t from = ds_record(i).from;

		n += from >= (ulong)code && from < (ulong)code + sizeof(code);
	}
	return n;
}

static struct seen measure(void)
{
	struct seen s;
	unsigned i;

	counters(NEAR_TAKEN, NOT_TAKEN);
	s.insns = rdpmc(RDPMC_FIXED(0));
	s.cycles = rdpmc(RDPMC_FIXED(1));
	s.near = rdpmc(0);
	s.not = rdpmc(1);
	counters(CONDITIONAL, NEAR_CALL);
	s.cond = rdpmc(0);
	s.call = rdpmc(1);
	counters(NEAR_RETURN, BRANCHES);
	s.ret = rdpmc(0);
	s.all = rdpmc(1);
	/* Taken branches alone: no instruction is looked at then. */
	pmu_reset();
	count(0, NEAR_TAKEN | OS);
	count(1, FAR_BRANCH | OS);
	for (i = 0; i < 64; i++)
		random_data[i] = 0;
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	wrmsr(MSR_DEBUGCTL, ctl.tr | ctl.bts | ctl.btint);
	run_window(random_window, pmu.all);
	wrmsr(MSR_DEBUGCTL, 0);
	s.bts = records_of_code();
	s.far = rdpmc(1);
	if (rdpmc(0) != s.near)
		s.bts = ~0u;
	for (i = 0; i < 64; i++)
		random_data[i] = 0;
	steps_taken = 0;
	run_case(random_steps);
	s.steps = steps_taken;
	return s;
}

extern char isr_count_step[];
__asm__(".text\n"
#ifdef __x86_64__
	".macro enter\n"
	"	push %rbx; push %rsi\n"
	".endm\n"
	".macro leave_it\n"
	"	pop %rsi; pop %rbx\n"
	".endm\n"
#else
	".macro enter\n"
	"	push %ebx; push %esi\n"
	".endm\n"
	".macro leave_it\n"
	"	pop %esi; pop %ebx\n"
	".endm\n"
#endif
	".macro start\n"
	"	mov $random_data, %esi\n"
	"	xor %ebx, %ebx\n"
	".endm\n"
	"random_window:\n"
	"	enter\n"
	"	start\n"
	"	mov $0x38f, %ecx\n"
	"	mov window, %eax\n"
	"	mov window + 4, %edx\n"
	"	wrmsr\n"
	"	xor %eax, %eax\n"
	"	call *step_target\n"
	"	mov $0x38f, %ecx\n"
	"	xor %eax, %eax\n"
	"	xor %edx, %edx\n"
	"	wrmsr\n"
	"	leave_it\n"
	"	ret\n"
	"random_steps:\n"
	"	enter\n"
	"	start\n"
	"	pushf\n"
#ifdef __x86_64__
	"	orq $0x100, (%rsp)\n"
#else
	"	orl $0x100, (%esp)\n"
#endif
	"	popf\n"
	"	xor %eax, %eax\n"
	"	call *step_target\n"
	"	pushf\n"
#ifdef __x86_64__
	"	andq $~0x100, (%rsp)\n"
#else
	"	andl $~0x100, (%esp)\n"
#endif
	"	popf\n"
	"	leave_it\n"
	"	ret\n"
	"isr_count_step:\n"
	"	incl steps_taken\n"
#ifdef __x86_64__
	"	iretq\n"
#else
	"	iretl\n"
#endif
	);

_Noreturn void guest_main(void)
{
	struct seen empty, s;
	unsigned round;
	bool steps = true, bts = true, sums = true, time = true;

	icount = param();
	pmu_find();
	set_gate(1, isr_count_step, 0, 0);
	at = code;
	step_target = (void (*)(void))at;
	*at = 0xc3;
	empty = measure();
	for (round = 0; round < ROUNDS; round++) {
		uint32_t insns;

		generate();
		s = measure();
		insns = s.insns - empty.insns;
		if (insns != s.steps - empty.steps) {
			say("# round %u: %u instructions, %u steps\n",
			    (uint64_t)round, (uint64_t)insns,
			    (uint64_t)(s.steps - empty.steps));
			steps = false;
		}
		if (s.near - empty.near != s.bts - empty.bts) {
			say("# round %u: %u branches, %u records\n",
			    (uint64_t)round, (uint64_t)(s.near - empty.near),
			    (uint64_t)(s.bts - empty.bts));
			bts = false;
		}
		sums &= s.all == s.near + s.not && s.far == 0 &&
			s.call - empty.call == s.ret - empty.ret;
		time &= s.cycles - empty.cycles == insns;
	}
	ok(steps, "as many instructions as steps");
	ok(bts, "as many near branches as records");
	ok(sums, "branches: taken and not are all");
	if (icount)
		ok(time, "as many cycles as instructions");
	end();
}
