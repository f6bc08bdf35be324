// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the DS layer keep its rules, as far as a kernel thread can tell?
 *
 * Records are put into the staging bank by hand, as the processor would, so
 * that what is drained, for whom and when is known exactly. What the processor
 * records of real programs is tested in tools/testing/selftests/bts/.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/sched/task.h>
#include <linux/smp.h>

#include <asm/apic.h>
#include <asm/debugreg.h>
#include <asm/intel-family.h>
#include <asm/perf_event.h>

#include "../../events/perf_event.h"
#include "ds.h"

struct control_case {
	const char	*name;
	u8		vendor;
	u8		family;
	u8		model;
	bool		bts;
	bool		apic;
	bool		dtes64;
	bool		dscpl;
	int		ret;
	u64		enable;
	u64		off_os;
	u64		off_usr;
};

#define INTEL	X86_VENDOR_INTEL
#define CORE	.enable = 0x1c0, .off_os = 0x200, .off_usr = 0x400
#define NOCPL	.enable = 0x1c0
#define WIDE_ONLY (IS_ENABLED(CONFIG_X86_64) ? -EOPNOTSUPP : 0)

static const struct control_case control_cases[] = {
	{ "Core 2",		INTEL,  6, 0x0f, 1, 1, 1, 1, 0, CORE },
	{ "Skylake",		INTEL,  6, 0x5e, 1, 1, 1, 1, 0, CORE },
	{ "Core, no DS-CPL",	INTEL,  6, 0x0f, 1, 1, 1, 0, 0, NOCPL },
	{ "later family",	INTEL, 18, 0x01, 1, 1, 1, 1, 0, CORE },
	{ "Pentium M Banias",	INTEL,  6, 0x09, 1, 1, 1, 1, 0, NOCPL },
	{ "Pentium M Dothan",	INTEL,  6, 0x0d, 1, 1, 1, 1, 0, NOCPL },
	{ "Core Duo",		INTEL,  6, 0x0e, 1, 1, 1, 1, 0, NOCPL },
	{ "NetBurst",		INTEL, 15, 0x06, 1, 1, 1, 1, 0,
	  .enable = 0x1c, .off_os = 0x20, .off_usr = 0x40 },
	{ "NetBurst, no DS-CPL", INTEL, 15, 0x02, 1, 1, 1, 0, 0,
	  .enable = 0x1c },
	{ "BTS unavailable",	INTEL,  6, 0x5e, 0, 1, 1, 1, -EOPNOTSUPP },
	{ "no local APIC",	INTEL,  6, 0x5e, 1, 0, 1, 1, -EOPNOTSUPP },
	{ "not Intel",		X86_VENDOR_AMD, 15, 0x06, 1, 1, 1, 1, -EOPNOTSUPP },
	{ "Pentium",		INTEL,  5, 0x02, 1, 1, 1, 1, -EOPNOTSUPP },
	{ "no DTES64",		INTEL,  6, 0x0e, 1, 1, 0, 0, WIDE_ONLY, NOCPL },
};

KUNIT_ARRAY_PARAM_DESC(control, control_cases, name);

static void set_cap(struct cpuinfo_x86 *c, unsigned int cap, bool on)
{
	if (on)
		set_bit(cap, (unsigned long *)c->x86_capability);
	else
		clear_bit(cap, (unsigned long *)c->x86_capability);
}

static void ds_test_control(struct kunit *test)
{
	const struct control_case *expected = test->param_value;
	struct ds_control control = {};
	struct cpuinfo_x86 *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->x86_vendor = expected->vendor;
	c->x86 = expected->family;
	c->x86_model = expected->model;
	set_cap(c, X86_FEATURE_BTS, expected->bts);
	set_cap(c, X86_FEATURE_APIC, expected->apic);
	set_cap(c, X86_FEATURE_DTES64, expected->dtes64);
	set_cap(c, X86_FEATURE_DSCPL, expected->dscpl);

	KUNIT_ASSERT_EQ(test, ds_control_init(&control, c), expected->ret);
	if (expected->ret)
		return;
	KUNIT_EXPECT_EQ(test, control.enable, expected->enable);
	KUNIT_EXPECT_EQ(test, control.off_os, expected->off_os);
	KUNIT_EXPECT_EQ(test, control.off_usr, expected->off_usr);
}

static void ds_test_record_layouts(struct kunit *test)
{
	static const u64 wide[] = { 0x1111222233334444, 0x5555666677778888, 16 };
	static const u32 narrow[] = { 0x11112222, 0x33334444, 16 };
	struct ds_branch branch;

	KUNIT_EXPECT_EQ(test, ds_record_size(true), sizeof(wide));
	branch = ds_branch_read(wide, true);
	KUNIT_EXPECT_EQ(test, branch.from, wide[0]);
	KUNIT_EXPECT_EQ(test, branch.to, wide[1]);

	KUNIT_EXPECT_EQ(test, ds_record_size(false), sizeof(narrow));
	branch = ds_branch_read(narrow, false);
	KUNIT_EXPECT_EQ(test, branch.from, (u64)narrow[0]);
	KUNIT_EXPECT_EQ(test, branch.to, (u64)narrow[1]);
}

static void ds_test_crossings(struct kunit *test)
{
	const u64 user = 0x401000, kernel = (unsigned long)ds_test_crossings;
	/* Not mapped and past TASK_SIZE_MAX: only a wild jump gets here. */
	const u64 wild = IS_ENABLED(CONFIG_X86_64) ? 0x00007ffffffff000 :
						     PAGE_OFFSET - 1;

	KUNIT_EXPECT_TRUE(test, ds_branch_user(&(struct ds_branch){ user, user }));
	KUNIT_EXPECT_TRUE(test, ds_branch_user(&(struct ds_branch){ user, wild }));
	KUNIT_EXPECT_FALSE(test, ds_branch_user(&(struct ds_branch){ user, kernel }));
	KUNIT_EXPECT_FALSE(test, ds_branch_user(&(struct ds_branch){ kernel, user }));
	KUNIT_EXPECT_FALSE(test, ds_branch_user(&(struct ds_branch){ kernel, kernel }));
}

/*
 * The tests below need the hardware: its MSRs, and staging banks that are
 * described by its area.
 */
struct sink {
	struct ds_tracer	tracer;
	struct kunit		*test;
	u64			next;	/* the address that comes next */
	unsigned int		nr;
	bool			in_order;
	struct completion	freed;
};

static void sink_write(struct ds_tracer *tracer, const struct ds_branch *branch,
		       unsigned int nr)
{
	struct sink *sink = container_of(tracer, struct sink, tracer);

	for (; nr; nr--, branch++) {
		if (branch->from != sink->next || branch->to != ~0ULL >> 17)
			sink->in_order = false;
		sink->next++;
		sink->nr++;
	}
}

static void sink_free(struct ds_tracer *tracer)
{
	complete(&container_of(tracer, struct sink, tracer)->freed);
}

static const struct ds_tracer_ops sink_ops = {
	.write	= sink_write,
	.free	= sink_free,
};

static struct sink *sink_alloc(struct kunit *test, u64 first)
{
	struct sink *sink = kunit_kzalloc(test, sizeof(*sink), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sink);
	sink->test = test;
	sink->next = first;
	sink->in_order = true;
	init_completion(&sink->freed);
	return sink;
}

/* Store a record as the processor does: 24 bytes at the index. */
static void store(u64 from, u64 to)
{
	struct debug_store *ds = ds_area(smp_processor_id());
	u64 *record = (u64 *)ds_get(ds, DS_BTS_INDEX);

	record[0] = from;
	record[1] = to;
	record[2] = 0;
	ds_set(ds, DS_BTS_INDEX, (unsigned long)(record + 3));
}

static void store_user(u64 from, unsigned int nr)
{
	for (; nr; nr--)
		store(from++, ~0ULL >> 17);
}

static void ds_test_drain(struct kunit *test)
{
	static const unsigned int batches[] = { 0, 1, 15, 16, 17, 33, 2730 };
	struct sink *sink = sink_alloc(test, 1);
	struct debug_store *ds;
	unsigned long flags;
	unsigned int i, nr = 0;

	sink->tracer.ops = &sink_ops;
	KUNIT_ASSERT_EQ(test, ds_staging_get(), 0);

	local_irq_save(flags);
	ds = ds_area(smp_processor_id());
	for (i = 0; i < ARRAY_SIZE(batches); i++) {
		store_user(sink->next, batches[i]);
		ds_drain(&sink->tracer);
		nr += batches[i];
		KUNIT_EXPECT_EQ(test, sink->nr, nr);
		KUNIT_EXPECT_EQ(test, ds_get(ds, DS_BTS_INDEX),
				ds_get(ds, DS_BTS_BASE));
	}

	if (boot_cpu_has_bug(X86_BUG_CPU_MELTDOWN))
		KUNIT_EXPECT_NULL(test, memchr_inv((void *)ds_get(ds, DS_BTS_BASE), 0,
						   BTS_BUFFER_SIZE));

	/* Crossings between branches, at both ends of a batch, and alone. */
	store(1, (unsigned long)ds_test_drain);
	ds_drain(&sink->tracer);
	KUNIT_EXPECT_EQ(test, sink->nr, nr);
	for (i = 0; i < 40; i++) {
		store(1, (unsigned long)ds_test_drain);
		store_user(sink->next + i, 1);
		store((unsigned long)ds_test_drain, 1);
	}
	ds_drain(&sink->tracer);
	KUNIT_EXPECT_EQ(test, sink->nr, nr + 40);

	/* Nobody's records. */
	store_user(1, 100);
	ds_drain(NULL);
	ds_drain(&sink->tracer);
	KUNIT_EXPECT_EQ(test, sink->nr, nr + 40);
	local_irq_restore(flags);

	KUNIT_EXPECT_TRUE(test, sink->in_order);
	ds_staging_put();
}

/* A PMI whose records somebody drained is expected, unless it came before. */
static void ds_test_pmi_mark(struct kunit *test)
{
	struct debug_store *ds;
	unsigned int nr;
	unsigned long flags;
	struct ds_cpu *cpu;

	KUNIT_ASSERT_EQ(test, ds_staging_get(), 0);

	local_irq_save(flags);
	cpu = this_cpu_ptr(&ds_cpu);
	ds = ds_area(smp_processor_id());
	nr = (ds_get(ds, DS_BTS_THRESHOLD) - ds_get(ds, DS_BTS_BASE)) /
	     ds_record_size(true);

	store_user(1, nr - 1);
	KUNIT_EXPECT_FALSE(test, ds_threshold_passed());
	ds_hand_over(NULL);
	KUNIT_EXPECT_FALSE(test, cpu->pmi_drained);

	store_user(1, nr);
	KUNIT_EXPECT_TRUE(test, ds_threshold_passed());
	ds_hand_over(NULL);
	KUNIT_EXPECT_TRUE(test, cpu->pmi_drained);
	KUNIT_EXPECT_FALSE(test, ds_threshold_passed());

	cpu->pmi_drained = false;
	local_irq_restore(flags);
	ds_staging_put();
}

/*
 * A task of user mode that never gets there: it stores records for itself on
 * command. Whoever commands it sleeps until that is done, so the task is
 * switched to and away from each time.
 */
struct tracee {
	struct task_struct	*task;
	struct completion	go;
	struct completion	done;
	u64			from;
	unsigned int		nr;
	bool			end;
};

static int tracee_fn(void *data)
{
	struct tracee *tracee = data;
	unsigned long flags;

	for (;;) {
		wait_for_completion(&tracee->go);
		if (tracee->end)
			break;
		local_irq_save(flags);
		if (this_cpu_read(ds_cpu.owner))
			store_user(tracee->from, tracee->nr);
		local_irq_restore(flags);
		complete(&tracee->done);
	}

	complete(&tracee->done);
	do_exit(0);
}

static struct tracee *tracee_create(struct kunit *test, int cpu)
{
	struct tracee *tracee = kunit_kzalloc(test, sizeof(*tracee), GFP_KERNEL);
	pid_t pid;

	KUNIT_ASSERT_NOT_NULL(test, tracee);
	init_completion(&tracee->go);
	init_completion(&tracee->done);
	pid = user_mode_thread(tracee_fn, tracee, CLONE_FS | CLONE_FILES);
	KUNIT_ASSERT_GT(test, pid, 0);
	tracee->task = find_get_task_by_vpid(pid);
	KUNIT_ASSERT_NOT_NULL(test, tracee->task);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(tracee->task, cpumask_of(cpu)), 0);
	return tracee;
}

static void tracee_store(struct tracee *tracee, u64 from, unsigned int nr)
{
	tracee->from = from;
	tracee->nr = nr;
	complete(&tracee->go);
	wait_for_completion(&tracee->done);
}

static void tracee_end(struct tracee *tracee)
{
	tracee->end = true;
	complete(&tracee->go);
	wait_for_completion(&tracee->done);
	put_task_struct(tracee->task);
}

static void sink_end(struct sink *sink)
{
	ds_tracer_release(&sink->tracer);
	ds_tracer_flush();
	KUNIT_EXPECT_TRUE(sink->test, completion_done(&sink->freed));
}

static void ds_test_tracer_states(struct kunit *test)
{
	struct tracee *tracee = tracee_create(test, 0);
	struct sink *sink = sink_alloc(test, 1), *second = sink_alloc(test, 1);

	KUNIT_EXPECT_EQ(test, ds_area_msr(0), 0UL);
	KUNIT_ASSERT_EQ(test, ds_tracer_attach(&sink->tracer, tracee->task, &sink_ops), 0);
	KUNIT_EXPECT_NE(test, ds_area_msr(0), 0UL);
	KUNIT_EXPECT_EQ(test, ds_tracer_attach(&second->tracer, tracee->task, &sink_ops),
			-EBUSY);

	/* Attached is not started. */
	tracee_store(tracee, 1, 10);
	KUNIT_EXPECT_EQ(test, sink->nr, 0);

	KUNIT_EXPECT_EQ(test, ds_tracer_start(&sink->tracer), 0);
	KUNIT_EXPECT_EQ(test, ds_tracer_start(&sink->tracer), 0);
	tracee_store(tracee, 1, 10);
	KUNIT_EXPECT_EQ(test, ds_tracer_sync(&sink->tracer), 0);
	KUNIT_EXPECT_EQ(test, sink->nr, 10);

	KUNIT_EXPECT_EQ(test, ds_tracer_stop(&sink->tracer), 0);
	KUNIT_EXPECT_EQ(test, ds_tracer_stop(&sink->tracer), 0);
	tracee_store(tracee, 11, 10);
	KUNIT_EXPECT_EQ(test, sink->nr, 10);

	KUNIT_EXPECT_EQ(test, ds_tracer_start(&sink->tracer), 0);
	tracee_store(tracee, 11, 10);

	/* Released, its place is free for another at once. */
	ds_tracer_release(&sink->tracer);
	KUNIT_EXPECT_EQ(test, ds_tracer_start(&sink->tracer), -ESRCH);
	KUNIT_EXPECT_EQ(test, ds_tracer_stop(&sink->tracer), -ESRCH);
	KUNIT_EXPECT_EQ(test, ds_tracer_sync(&sink->tracer), -ESRCH);
	KUNIT_EXPECT_EQ(test, ds_tracer_attach(&second->tracer, tracee->task, &sink_ops), 0);
	wait_for_completion(&sink->freed);
	KUNIT_EXPECT_EQ(test, sink->nr, 20);
	KUNIT_EXPECT_TRUE(test, sink->in_order);
	KUNIT_EXPECT_FALSE(test, test_tsk_thread_flag(tracee->task, TIF_DS));

	/* A tracee may be gone before its tracer. */
	tracee_end(tracee);
	sink_end(second);
	KUNIT_EXPECT_EQ(test, ds_area_msr(0), 0UL);
	KUNIT_EXPECT_EQ(test, get_debugctlmsr() & ds_control.enable, 0UL);
}

/* What is recorded belongs to the owner of the CPU, whoever is current. */
static void ds_test_attribution(struct kunit *test)
{
	struct tracee *tracee[2];
	struct sink *sink[2];
	unsigned int i, n;

	for (i = 0; i < 2; i++) {
		tracee[i] = tracee_create(test, 0);
		sink[i] = sink_alloc(test, (i + 1) << 20);
		KUNIT_ASSERT_EQ(test, ds_tracer_attach(&sink[i]->tracer,
						       tracee[i]->task, &sink_ops), 0);
		KUNIT_ASSERT_EQ(test, ds_tracer_start(&sink[i]->tracer), 0);
	}

	for (n = 0; n < 200; n++) {
		/* Both are runnable on their CPU: each is switched to the other. */
		for (i = 0; i < 2; i++) {
			tracee[i]->from = ((i + 1) << 20) + n * 3;
			tracee[i]->nr = 3;
			complete(&tracee[i]->go);
		}
		for (i = 0; i < 2; i++)
			wait_for_completion(&tracee[i]->done);
	}

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, ds_tracer_stop(&sink[i]->tracer), 0);
		KUNIT_EXPECT_EQ(test, sink[i]->nr, 600);
		KUNIT_EXPECT_TRUE(test, sink[i]->in_order);
		tracee_end(tracee[i]);
		sink_end(sink[i]);
	}
}

static void ds_test_refused(struct kunit *test)
{
	struct tracee *tracee = tracee_create(test, 0);
	struct sink *sink = sink_alloc(test, 1);

	KUNIT_EXPECT_EQ(test, ds_tracer_attach(&sink->tracer, current, &sink_ops), -EINVAL);

	/* perf has BTS, then the layer has. */
	KUNIT_ASSERT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_bts), 0);
	KUNIT_EXPECT_EQ(test, ds_tracer_attach(&sink->tracer, tracee->task, &sink_ops),
			-EBUSY);
	x86_del_exclusive(x86_lbr_exclusive_bts);
	KUNIT_EXPECT_EQ(test, ds_area_msr(0), 0UL);

	KUNIT_ASSERT_EQ(test, ds_tracer_attach(&sink->tracer, tracee->task, &sink_ops), 0);
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_bts), -EBUSY);
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_lbr), -EBUSY);
	sink_end(sink);
	KUNIT_ASSERT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_bts), 0);
	x86_del_exclusive(x86_lbr_exclusive_bts);

	tracee_end(tracee);
}

static int ds_test_needs_bts(struct kunit *test)
{
	if (!ds_available())
		kunit_skip(test, "this CPU has no usable branch trace store");
	if (!ds_wide())
		kunit_skip(test, "records of 12 bytes are not made by hand");
	return 0;
}

static struct kunit_case ds_cases[] = {
	KUNIT_CASE_PARAM(ds_test_control, control_gen_params),
	KUNIT_CASE(ds_test_record_layouts),
	KUNIT_CASE(ds_test_crossings),
	{}
};

static struct kunit_suite ds_suite = {
	.name		= "x86_ds",
	.test_cases	= ds_cases,
};

static struct kunit_case ds_tracer_cases[] = {
	KUNIT_CASE(ds_test_drain),
	KUNIT_CASE(ds_test_pmi_mark),
	KUNIT_CASE(ds_test_tracer_states),
	KUNIT_CASE(ds_test_attribution),
	KUNIT_CASE(ds_test_refused),
	{}
};

static struct kunit_suite ds_tracer_suite = {
	.name		= "x86_ds_tracer",
	.init		= ds_test_needs_bts,
	.test_cases	= ds_tracer_cases,
};

kunit_test_suites(&ds_suite, &ds_tracer_suite);
