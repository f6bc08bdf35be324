// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens when a staging bank is nearly full?
 *
 * The processor raises the interrupt of the local APIC's performance-counter
 * LVT entry, which Linux programs as an NMI, and sets the entry's mask bit
 * (Intel SDM vol. 3, "Writing the DS Interrupt Service Routine"). Counter
 * overflow shares the entry: each handler looks at its own causes only. Ours
 * comes first: where the processor cannot leave the kernel alone, perf's would
 * fill what is left of the bank.
 *
 * Where perf has programmed the entry, its handler unmasks it, on some CPUs not
 * before all counters are dealt with. Elsewhere it is ours to unmask. How late
 * the interrupt may come is DS_HEADROOM in <asm/ds.h>.
 */
#include <linux/percpu.h>

#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/perf_event.h>

#include "internal.h"

static int ds_pmi(unsigned int cmd, struct pt_regs *regs)
{
	struct ds_cpu *cpu = this_cpu_ptr(&ds_cpu);
	int ret = NMI_HANDLED;

	if (ds_threshold_passed()) {
		WRITE_ONCE(cpu->pmi_drained, false);
		if (READ_ONCE(cpu->busy)) {
			WRITE_ONCE(cpu->pmi_seen, true);
		} else {
			ds_bts_off();
			ds_drain(cpu->owner);
			/*
			 * What the owner says counts, not what the MSR said: it
			 * reads 0 in an NMI out of a KVM guest, and with an
			 * owner gone an interrupted read-modify-write may have
			 * brought our bits back.
			 */
			if (cpu->owner && ds_arm(cpu->owner))
				ds_bts_on();
			else
				WRITE_ONCE(cpu->owner, NULL);
		}
	} else if (READ_ONCE(cpu->pmi_drained) &&
		   (apic_read(APIC_LVTPC) & APIC_LVT_MASKED)) {
		/* Whoever drained was faster; nobody else knows this PMI. */
		WRITE_ONCE(cpu->pmi_drained, false);
	} else {
		ret = NMI_DONE;
	}

	/* Also after an NMI nobody claims: it may be a PMI that came too late. */
	if (!perf_uses_lvtpc())
		apic_write(APIC_LVTPC, APIC_DM_NMI);
	return ret;
}

/*
 * Handle PMIs. Process context; every staging bank is described, so that an
 * index is below its threshold where nothing was recorded.
 */
int ds_pmi_register(void)
{
	return register_nmi_handler(NMI_LOCAL, ds_pmi, NMI_FLAG_FIRST, "ds");
}

/* Process context; BTS was seen off on every CPU. Waits for running NMIs. */
void ds_pmi_unregister(void)
{
	unregister_nmi_handler(NMI_LOCAL, "ds");
}
