// SPDX-License-Identifier: GPL-2.0-only
/*
 * Can this CPU store its branches, and which IA32_DEBUGCTL bits say so?
 *
 * To add a CPU family: tell ds_control_init() where it has its bits, and
 * ds_test.c what to expect. The layout of area and records follows from DTES64
 * alone: internal.h, and ds_branch_read() in drain.c.
 */
#include <linux/bits.h>
#include <linux/cpufeature.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/processor.h>

#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>
#include <asm/msr-index.h>

#include "internal.h"

/* MSR_DEBUGCTLA of NetBurst (Intel SDM vol. 3, "MSR_DEBUGCTLA MSR") */
#define NETBURST_TR		BIT_ULL(2)
#define NETBURST_BTS		BIT_ULL(3)
#define NETBURST_BTINT		BIT_ULL(4)
#define NETBURST_BTS_OFF_OS	BIT_ULL(5)
#define NETBURST_BTS_OFF_USR	BIT_ULL(6)

struct ds_control ds_control __ro_after_init;

/* Same bits as later CPUs, but no filter by CPL whatever CPUID claims. */
static bool is_pentium_m(const struct cpuinfo_x86 *c)
{
	return c->x86 == 6 &&
	       (c->x86_model == 0x09 || c->x86_model == 0x0d ||
		c->x86_model == 0x0e);
}

/**
 * ds_control_init - find the BTS bits of a CPU
 * @control: filled in
 * @c:	     the CPU
 *
 * Context: Any.
 * Return: 0, or -EOPNOTSUPP where there is no usable branch trace store.
 */
int ds_control_init(struct ds_control *control, const struct cpuinfo_x86 *c)
{
	/* X86_FEATURE_BTS is DS without MISC_ENABLE's "BTS unavailable". */
	if (c->x86_vendor != X86_VENDOR_INTEL || !cpu_has(c, X86_FEATURE_BTS))
		return -EOPNOTSUPP;

	/* There the kernel runs at CPL 3, and on the hypervisor's MSRs. */
	if (cpu_has(c, X86_FEATURE_XENPV))
		return -EOPNOTSUPP;

	/* No interrupt, no end of the buffer. */
	if (!cpu_has(c, X86_FEATURE_APIC))
		return -EOPNOTSUPP;

	/* The cpu_entry_area is out of reach of a field of 4 bytes. */
	if (IS_ENABLED(CONFIG_X86_64) && !cpu_has(c, X86_FEATURE_DTES64))
		return -EOPNOTSUPP;

	if (c->x86 == 15) {
		control->enable = NETBURST_TR | NETBURST_BTS | NETBURST_BTINT;
		control->off_os = NETBURST_BTS_OFF_OS;
		control->off_usr = NETBURST_BTS_OFF_USR;
	} else if (c->x86 >= 6) {
		control->enable = DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS |
				  DEBUGCTLMSR_BTINT;
		control->off_os = DEBUGCTLMSR_BTS_OFF_OS;
		control->off_usr = DEBUGCTLMSR_BTS_OFF_USR;
	} else {
		return -EOPNOTSUPP;
	}

	if (!cpu_has(c, X86_FEATURE_DSCPL) || is_pentium_m(c)) {
		control->off_os = 0;
		control->off_usr = 0;
	}

	return 0;
}

/**
 * ds_available - can this machine trace branches?
 *
 * Context: Any, after early initcalls.
 * Return: true where tracers can be attached.
 */
bool ds_available(void)
{
	return ds_control.enable;
}

static int __init ds_hardware_init(void)
{
	struct ds_control control;

	if (!ds_control_init(&control, &boot_cpu_data))
		ds_control = control;
	return 0;
}
early_initcall(ds_hardware_init);
