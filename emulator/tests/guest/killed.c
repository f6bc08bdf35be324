// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Leaves the store on, says "end" without another branch, and halts: what is
 * in the log when the emulator is told to end now?
 */
#include "guest.h"

_Noreturn void guest_main(void)
{
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, NEVER);
	__asm__ volatile("wrmsr\n\t"
			 ".rept 100\n\t"
			 ".byte 0xeb, 0\n\t"
			 ".endr\n\t"
			 "mov $'e', %%al; out %%al, $0xe9\n\t"
			 "mov $'n', %%al; out %%al, $0xe9\n\t"
			 "mov $'d', %%al; out %%al, $0xe9\n\t"
			 "mov $10, %%al; out %%al, $0xe9\n\t"
			 "cli; hlt"
			 : : "c"(MSR_DEBUGCTL), "a"(ctl.tr | ctl.bts), "d"(0)
			 : "memory");
	unexpected(0);
}
