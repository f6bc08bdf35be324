// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does the debug store go on where it was after a migration?  Says "ready"
 * and waits for a byte on the serial port, which comes on the other side.
 */
#include "guest.h"
#include "hops.h"

static uint8_t inb(uint16_t port)
{
	uint8_t val;

	__asm__ volatile("inb %1, %0" : "=a"(val) : "Nd"(port));
	return val;
}

_Noreturn void guest_main(void)
{
	uint32_t bits = ctl.tr | ctl.bts | ctl.btint | ctl.off_os;
	unsigned before;

	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	debugctl = bits;
	run_case(user_hops);
	before = ds_count();

	/* Recording CPL 3, while here at CPL 0. */
	wrmsr(MSR_DEBUGCTL, bits);
	say("ready\n");
	while (!(inb(0x3fd) & 1))
		;
	ok(rdmsr(MSR_DEBUGCTL) == bits, "DEBUGCTL");
	ok(rdmsr(0x600) == (ulong)ds_area, "DS_AREA");
	ok(before == HOPS + 2 && ds_count() == before,
	   "nothing was recorded at CPL 0 meanwhile");
	run_case(user_hops_as_is);
	ok(ds_count() == 2 * before, "records go on");
	end();
}
