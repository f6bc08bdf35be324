// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of a CPU that records when the machine sleeps, or when another
 * kernel gets it?
 *
 * The processor stores to linear addresses of this kernel. The page tables that
 * hibernation and kexec go on with do not have them, and neither INIT nor the
 * start of another kernel turns BTS off. CPUs that go down before that are dealt
 * with in hotplug.c; here is the boot CPU's part, called from
 * arch/x86/power/cpu.c, and that of CPUs that are stopped where they are, by
 * stop_this_cpu(), machine_kexec() and the NMI of a crash.
 */
#include <linux/percpu.h>
#include <linux/sched.h>

#include "internal.h"

/**
 * ds_cpu_emergency_stop - never record again on this CPU
 *
 * What is in the staging bank is lost: nobody can be trusted to take it.
 *
 * Context: Any, NMI included; interrupts off. This CPU does not go on with what
 *	    it did.
 */
void ds_cpu_emergency_stop(void)
{
	if (!ds_available())
		return;

	/* A PMI that is still to come must not turn it on again. */
	this_cpu_write(ds_cpu.owner, NULL);
	barrier();
	ds_bts_off();
}

/**
 * ds_cpu_suspend - record nothing while the machine sleeps
 *
 * Context: On the boot CPU, interrupts off.
 */
void ds_cpu_suspend(void)
{
	/* What perf records is perf's to deal with. */
	if (!ds_in_use())
		return;

	/* The task that sends the machine to sleep may be traced. */
	if (this_cpu_read(ds_cpu.owner))
		ds_hand_over(NULL);
	/* Where nobody is, our bits may have come back; see hotplug.c. */
	ds_cpu_emergency_stop();
}

/**
 * ds_cpu_resume - undo ds_cpu_suspend(), and what sleep did to the MSRs
 *
 * Context: On the boot CPU, interrupts off.
 */
void ds_cpu_resume(void)
{
	ds_area_load();
	ds_switch_to(current);
}
