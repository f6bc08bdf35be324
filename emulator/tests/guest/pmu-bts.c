// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do the counters of branches and the branch trace store agree?  Each case of
 * cases.S is recorded and counted at once: the counts are to be those of its
 * records, sorted by the instruction at FROM, without interrupts and
 * exceptions, which are recorded but no instructions.
 */
#include "pmu.h"

static const struct {
	const char *name;
	uint32_t select;
} events[] = {
	{ "near taken", NEAR_TAKEN },
	{ "far", FAR_BRANCH },
	{ "near call", NEAR_CALL },
	{ "near return", NEAR_RETURN },
	{ "not taken", NOT_TAKEN },
	{ "conditional", CONDITIONAL },
	{ "all", BRANCHES },
};
#define EVENTS 7
enum { NEAR, FAR, CALL, RET, NOT, COND, ALL };

/* Counts of each event at CPL 0 and 3. */
struct counts { uint32_t n[2][EVENTS]; };

static struct counts none;		/* of a case that returns at once */
void just_return(void);
__asm__(".text\njust_return:\n\tret\n");

static bool is_handler(uint64_t addr, const char *handler)
{
#ifdef __x86_64__
	if (addr >= ALIAS)
		addr -= ALIAS;
#endif
	return addr == (ulong)handler;
}

static const uint8_t *opcode(uint64_t addr)
{
	const uint8_t *p = (const uint8_t *)(ulong)addr;

	while (*p == 0x66 || *p == 0x67 || (sizeof(ulong) == 8 && *p == 0x48))
		p++;
	return p;
}

/* Entries through a gate that are not by INT n, INT3 or INTO. */
static bool is_event(const struct branch *b)
{
	const uint8_t *p = opcode(b->from);

	return is_handler(b->to, isr_ud) || is_handler(b->to, isr_db) ||
	       is_handler(b->to, isr_gp) || is_handler(b->to, isr_ipi) ||
	       is_handler(b->to, isr_nmi) ||
	       (is_handler(b->to, isr_leave) &&
		*p != 0xcd && *p != 0xe9 && *p != 0xeb);
}

static void sort(const struct branch *b, struct counts *c)
{
	const uint8_t *p = opcode(b->from);
	uint32_t *n = c->n[CPL_BEFORE(b) != 0];

	if (is_event(b))
		return;
	n[ALL]++;
	switch (*p) {
	case 0x70 ... 0x7f:		/* Jcc */
	case 0xe0 ... 0xe3:		/* LOOP, JCXZ */
		n[COND]++;
		n[NEAR]++;
		return;
	case 0xe8:
		n[CALL]++;
		/* fall through */
	case 0xe9:
	case 0xeb:
		n[NEAR]++;
		return;
	case 0xc2:
	case 0xc3:
		n[RET]++;
		n[NEAR]++;
		return;
	case 0x0f:
		if ((p[1] & 0xf0) == 0x80) {
			n[COND]++;
			n[NEAR]++;
		} else {		/* SYSCALL and the like */
			n[FAR]++;
		}
		return;
	case 0xff:
		if ((p[1] >> 3 & 7) == 2)
			n[CALL]++;
		n[(p[1] >> 3 & 7) == 3 || (p[1] >> 3 & 7) == 5 ? FAR : NEAR]++;
		return;
	default:
		n[FAR]++;
	}
}

/* As many runs as it takes with the counters there are. */
static struct counts measure(void (*fn)(void))
{
	struct counts c;
	unsigned user, e, i;

	for (user = 0; user < 2; user++) {
		for (e = 0; e < EVENTS; e += pmu.counters) {
			for (i = 0; i < pmu.counters && e + i < EVENTS; i++)
				count(i, events[e + i].select |
					 (user ? USR : OS));
			ds_set(INDEX, ds_get(BASE));
			wrmsr(MSR_GLOBAL_CTRL, pmu.all);
			run_case(fn);
			wrmsr(MSR_GLOBAL_CTRL, 0);
			for (i = 0; i < pmu.counters && e + i < EVENTS; i++)
				c.n[user][e + i] = rdpmc(i);
		}
	}
	return c;
}

static bool same(const char *name, const struct counts *got,
		 const struct counts *want)
{
	unsigned user, e;
	bool good = true;

	for (user = 0; user < 2; user++) {
		for (e = 0; e < EVENTS; e++) {
			if (got->n[user][e] == want->n[user][e])
				continue;
			say("# %s: %s, CPL %u: %u, want %u\n", name,
			    events[e].name, (uint64_t)user * 3,
			    (uint64_t)got->n[user][e],
			    (uint64_t)want->n[user][e]);
			good = false;
		}
	}
	return good;
}

static bool check(const struct bts_case *c)
{
	struct counts got = measure(c->run), want = none;
	const struct branch *b;
	unsigned user, n = 0;
	bool good = true;

	for (b = c->expect; b < c->expect_end; b++) {
		struct branch r = ds_record(n++);

		good &= r.from == b->from && r.to == b->to;
		sort(b, &want);
	}
	good &= ds_count() == n;
	/* What is not taken is not recorded, but a part of two others. */
	for (user = 0; user < 2; user++) {
		uint32_t not = got.n[user][NOT] - none.n[user][NOT];

		want.n[user][NOT] += not;
		want.n[user][COND] += not;
		want.n[user][ALL] += not;
	}
	/* The end by VEC_LEAVE has a jump where others return. */
	if (n && is_handler(b[-1].to, isr_leave))
		want.n[0][RET]--;
	return good & same(c->name, &got, &want);
}

_Noreturn void guest_main(void)
{
	const struct bts_case *c;

	pmu_find();
	set_gate(2, isr_nmi, 0, 0);
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	debugctl = ctl.tr | ctl.bts;
	none = measure(just_return);
	ok(none.n[0][CALL] && none.n[0][RET] && !none.n[1][ALL] &&
	   none.n[0][ALL] == none.n[0][NEAR] + none.n[0][NOT],
	   "counted without any record");
	for (c = cases_begin; c < cases_end; c++)
		ok(check(c), "counts like records: %s", c->name);
	debugctl = ctl.tr;
	for (c = cases_begin; c < cases_end; c++)
		measure(c->run);
	ok(ds_count() == 0, "counting alone records nothing");
	end();
}
