// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does a CPU need before it can record, and to be left in peace after?
 *
 * The steps run on every online CPU when the first tracer of the machine comes
 * and when the last one goes, and in between on CPUs that come and go. They are
 * STARTING and DYING steps: tasks still run until the last ones of a CPU that
 * goes down, and already before the last ones of a CPU that comes up.
 */
#include <linux/cleanup.h>
#include <linux/cpuhotplug.h>
#include <linux/irqflags.h>

#include <asm/apic.h>
#include <asm/perf_event.h>

#include "internal.h"

/* Both steps: without SMP they are called with interrupts on. */
static int ds_cpu_starting(unsigned int cpu)
{
	guard(irqsave)();

	ds_area_load();
	this_cpu_write(ds_cpu.pmi_drained, false);
	/* Also where it is perf's, which may have left it masked. */
	apic_write(APIC_LVTPC, APIC_DM_NMI);
	return 0;
}

static int ds_cpu_dying(unsigned int cpu)
{
	guard(irqsave)();

	/*
	 * Also where nobody owns the CPU: an NMI between another owner's read
	 * and write of IA32_DEBUGCTL may have brought our bits back.
	 */
	ds_hand_over(NULL);
	ds_staging_reset_threshold(ds_area(cpu));
	if (!perf_uses_lvtpc())
		apic_write(APIC_LVTPC, APIC_DM_NMI | APIC_LVT_MASKED);
	return 0;
}

/* Prepare every CPU, now and later. Process context, may sleep. */
int ds_hotplug_register(void)
{
	return cpuhp_setup_state(CPUHP_AP_X86_DS_STARTING, "x86/ds:starting",
				 ds_cpu_starting, ds_cpu_dying);
}

/* See BTS off on every CPU. Process context, may sleep. */
void ds_hotplug_unregister(void)
{
	cpuhp_remove_state(CPUHP_AP_X86_DS_STARTING);
}
