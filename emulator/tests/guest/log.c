// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is the emulator's log what the guest finds in memory?  Prints "log" and
 * what each line is to be; the runner compares.  Ends with a buffer that is
 * full, and prints how many records that drops.
 */
#include "guest.h"
#include "hops.h"

static void log_case(const struct bts_case *c, uint32_t bits)
{
	const struct branch *b;
	unsigned n = 0;

	if (!check_case(c, bits)) {
		ok(false, "log: %s", c->name);
		return;
	}
	for (b = c->expect; b < c->expect_end; b++) {
		struct branch r;

		if (!stored(b, bits))
			continue;
		r = ds_record(n++);
		say("log 0 %u %u %x %x %x\n", (uint64_t)CPL_BEFORE(b),
		    (uint64_t)CPL_AFTER(b), (uint64_t)read_cr3(), r.from, r.to);
	}
}

static void all_cases(void)
{
	const struct bts_case *c;
	uint32_t bits = ctl.tr | ctl.bts;

	for (c = cases_begin; c < cases_end; c++) {
		log_case(c, bits);
		log_case(c, bits | ctl.off_os);
		log_case(c, bits | ctl.off_usr);
	}
}

_Noreturn void guest_main(void)
{
	static uint8_t copy[4096] __attribute__((aligned(4096)));
	extern char isr_nmi[];
	ulong cr3 = read_cr3();
	unsigned i, dropped;

	set_gate(2, isr_nmi, 0, 0);
	all_cases();

	for (i = 0; i < 4096; i++)
		copy[i] = *(uint8_t *)(cr3 + i);
	__asm__ volatile("mov %0, %%cr3" : : "r"(copy) : "memory");
	all_cases();

	ds_setup((ulong)ds_area, (ulong)bts_buffer, 10, NEVER);
	debugctl = ctl.tr | ctl.bts | ctl.btint;
	run_case(hops);
	for (i = 0; i < ds_count(); i++) {
		struct branch r = ds_record(i);

		say("log 0 0 0 %x %x %x\n", (uint64_t)read_cr3(), r.from, r.to);
	}
	dropped = HOPS - ds_count();
	say("dropped 0 %u\n", (uint64_t)dropped);
	end();
}
