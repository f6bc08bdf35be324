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
#include <linux/pgtable.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/task_work.h>

#include <asm/apic.h>
#include <asm/cpu_entry_area.h>
#include <asm/debugreg.h>
#include <asm/intel-family.h>
#include <asm/irq_vectors.h>
#include <asm/perf_event.h>

#include "../../events/perf_event.h"
#include "internal.h"

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
	bool		xenpv;
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
	{ "Xen PV",		INTEL,  6, 0x5e, 1, 1, 1, 1, -EOPNOTSUPP, .xenpv = true },
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
	set_cap(c, X86_FEATURE_XENPV, expected->xenpv);

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

	/* For the sinks that can be full */
	unsigned int		room;
	enum ds_answer		answer;		/* of full */
	unsigned int		more;		/* room that comes with it */
	enum ds_answer		later;		/* answer of resume, with more */
	int			meanwhile;	/* state set while full runs, or -1 */
	unsigned int		fulls;
	unsigned int		fulls_in_nmi;
	unsigned int		resumes;
	unsigned int		losses;
};

/* Where every branch made by hand leads to: the end of user mode's half */
#define USER_TARGET (IS_ENABLED(CONFIG_X86_64) ? ~0ULL >> 17 : PAGE_OFFSET - 1)

static void sink_write(struct ds_tracer *tracer, const struct ds_branch *branch,
		       unsigned int nr)
{
	struct sink *sink = container_of(tracer, struct sink, tracer);

	for (; nr; nr--, branch++) {
		if (branch->from != sink->next || branch->to != USER_TARGET)
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

static unsigned int sink_room(struct ds_tracer *tracer)
{
	return container_of(tracer, struct sink, tracer)->room;
}

static void sink_write_room(struct ds_tracer *tracer,
			    const struct ds_branch *branch, unsigned int nr)
{
	struct sink *sink = container_of(tracer, struct sink, tracer);

	if (nr > sink->room)
		sink->in_order = false;
	sink->room -= nr;
	sink_write(tracer, branch, nr);
}

static void sink_lost(struct ds_tracer *tracer)
{
	container_of(tracer, struct sink, tracer)->losses++;
}

static enum ds_answer sink_full(struct ds_tracer *tracer)
{
	struct sink *sink = container_of(tracer, struct sink, tracer);

	sink->fulls++;
	sink->fulls_in_nmi += !!in_nmi();
	if (this_cpu_read(ds_cpu.owner) && get_debugctlmsr() & ds_control.enable)
		sink->in_order = false;
	if (sink->meanwhile >= 0)
		atomic_set(&tracer->state, sink->meanwhile);
	if (sink->answer != DS_LATER)
		sink->room += sink->more;
	return sink->answer;
}

static enum ds_answer sink_resume(struct ds_tracer *tracer)
{
	struct sink *sink = container_of(tracer, struct sink, tracer);

	/* Safe to sleep in, and in the right task. */
	cond_resched();
	might_sleep();
	if (current != tracer->task)
		sink->in_order = false;
	sink->resumes++;
	sink->room += sink->more;
	return sink->later;
}

static const struct ds_tracer_ops sink_room_ops = {
	.room	= sink_room,
	.write	= sink_write_room,
	.lost	= sink_lost,
	.full	= sink_full,
	.resume	= sink_resume,
	.free	= sink_free,
};

static struct sink *sink_alloc(struct kunit *test, u64 first)
{
	struct sink *sink = kunit_kzalloc(test, sizeof(*sink), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sink);
	sink->test = test;
	sink->next = first;
	sink->in_order = true;
	sink->meanwhile = -1;
	init_completion(&sink->freed);
	return sink;
}

static unsigned int record_size(void)
{
	return ds_record_size(ds_wide());
}

/* Store a record as the processor does: three fields at the index. */
static void store(u64 from, u64 to)
{
	struct debug_store *ds = ds_area(smp_processor_id());
	unsigned long index = ds_get(ds, DS_BTS_INDEX);
	const u64 wide[] = { from, to, 0 };
	const u32 narrow[] = { from, to, 0 };

	memcpy((void *)index, ds_wide() ? (void *)wide : (void *)narrow,
	       record_size());
	ds_set(ds, DS_BTS_INDEX, index + record_size());
}

static void store_user(u64 from, unsigned int nr)
{
	for (; nr; nr--)
		store(from++, USER_TARGET);
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
	     record_size();

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
	unsigned int		skid;
	bool			user;	/* goes through user mode at times */
	bool			end;
	unsigned int		untraced;
};

/* Branches until the PMI of the CPU of all tracees is taken, and one more; or 0. */
static unsigned int late;

/* Raise the PMI, masked as the hardware leaves it, and see it handled. */
static void raise_pmi(void)
{
	unsigned int patience = 1000 * 1000;

	apic_write(APIC_LVTPC, APIC_DM_NMI | APIC_LVT_MASKED);
	__apic_send_IPI(smp_processor_id(), NMI_VECTOR);
	while (apic_read(APIC_LVTPC) & APIC_LVT_MASKED && --patience)
		cpu_relax();
}

/* Interrupts off, as on the way back to user mode: no switch comes after the work. */
static void to_user_mode(struct tracee *tracee)
{
	while (tracee->user && test_and_clear_thread_flag(TIF_NOTIFY_RESUME)) {
		local_irq_enable();
		task_work_run();
		local_irq_disable();
	}
}

/* Take branches one by one as a task would in user mode, PMI and all. */
static void tracee_branches(struct tracee *tracee)
{
	struct debug_store *ds;
	unsigned int i;

	for (i = 0; i < tracee->nr; i++, tracee->from++) {
		local_irq_disable();
		to_user_mode(tracee);
		ds = ds_area(smp_processor_id());
		if (this_cpu_read(ds_cpu.owner)) {
			/* Raised for the record at the threshold. */
			if (!late && ds_get(ds, DS_BTS_INDEX) == ds_get(ds, DS_BTS_THRESHOLD))
				late = tracee->skid + 1;
			store_user(tracee->from, 1);
		} else {
			tracee->untraced++;
		}
		if (late && !--late)
			raise_pmi();
		to_user_mode(tracee);
		local_irq_enable();
	}
}

static int tracee_fn(void *data)
{
	struct tracee *tracee = data;
	unsigned long flags;

	for (;;) {
		wait_for_completion(&tracee->go);
		if (tracee->end)
			break;
		if (tracee->skid || tracee->user) {
			tracee_branches(tracee);
		} else {
			local_irq_save(flags);
			if (this_cpu_read(ds_cpu.owner))
				store_user(tracee->from, tracee->nr);
			local_irq_restore(flags);
		}
		complete(&tracee->done);
	}

	complete(&tracee->done);
	do_exit(0);
}

static struct tracee *tracee_create(struct kunit *test, int cpu)
{
	struct tracee *tracee = kunit_kzalloc(test, sizeof(*tracee), GFP_KERNEL);
	pid_t pid;

	late = 0;
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

static unsigned int threshold(void)
{
	struct debug_store *ds = ds_area(smp_processor_id());

	return (ds_get(ds, DS_BTS_THRESHOLD) - ds_get(ds, DS_BTS_BASE)) /
	       record_size();
}

/* The threshold leaves the headroom, in the sink and twice in the bank. */
static void ds_test_threshold(struct kunit *test)
{
	const unsigned int most = BTS_BUFFER_SIZE / record_size() - 2 * DS_HEADROOM;
	const unsigned int least = ds_control.off_os ? DS_HEADROOM + 5 :
						       DS_HEADROOM + 1025;
	const unsigned int rooms[] = {
		least, least + 1, ds_room_min(), least + 1000,
	};
	struct sink *sink = sink_alloc(test, 1);
	unsigned int i;

	sink->tracer.ops = &sink_room_ops;
	atomic_set(&sink->tracer.state, DS_RUNNING);
	KUNIT_ASSERT_EQ(test, ds_staging_get(), 0);
	local_irq_disable();

	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		sink->room = rooms[i];
		KUNIT_EXPECT_TRUE(test, ds_arm(&sink->tracer));
		KUNIT_EXPECT_EQ(test, threshold(), rooms[i] - DS_HEADROOM - 1);
	}
	sink->room = most + DS_HEADROOM + 2;
	KUNIT_EXPECT_TRUE(test, ds_arm(&sink->tracer));
	KUNIT_EXPECT_EQ(test, threshold(), most);
	sink->room = UINT_MAX;
	KUNIT_EXPECT_TRUE(test, ds_arm(&sink->tracer));
	KUNIT_EXPECT_EQ(test, threshold(), most);
	KUNIT_EXPECT_EQ(test, sink->fulls, 0);

	/* Who goes on without room gets what a sink without limit gets. */
	sink->room = least - 1;
	sink->answer = DS_GO_ON;
	KUNIT_EXPECT_TRUE(test, ds_arm(&sink->tracer));
	KUNIT_EXPECT_EQ(test, threshold(), most);
	KUNIT_EXPECT_EQ(test, sink->fulls, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&sink->tracer.state), DS_RUNNING);

	sink->answer = DS_STOP;
	KUNIT_EXPECT_FALSE(test, ds_arm(&sink->tracer));
	KUNIT_EXPECT_FALSE(test, ds_tracer_started(&sink->tracer));
	KUNIT_EXPECT_EQ(test, sink->fulls, 2);
	KUNIT_EXPECT_FALSE(test, ds_arm(&sink->tracer));
	KUNIT_EXPECT_EQ(test, sink->fulls, 2);

	/* A start while the sink is asked is not lost, nor is a stop. */
	sink->meanwhile = DS_RUNNING;
	sink->more = 1000;
	sink->room = least - 1;
	atomic_set(&sink->tracer.state, DS_RUNNING);
	KUNIT_EXPECT_TRUE(test, ds_arm(&sink->tracer));
	KUNIT_EXPECT_EQ(test, threshold(), least + 1000 - 1 - DS_HEADROOM - 1);
	KUNIT_EXPECT_TRUE(test, ds_tracer_started(&sink->tracer));

	sink->room = 0;
	sink->meanwhile = DS_STOPPED;
	sink->answer = DS_GO_ON;
	KUNIT_EXPECT_FALSE(test, ds_arm(&sink->tracer));
	KUNIT_EXPECT_FALSE(test, ds_tracer_started(&sink->tracer));

	/* Asked already: records the least there can be, once. */
	sink->answer = DS_STOP;
	sink->meanwhile = -1;
	sink->fulls = 0;
	sink->room = 0;
	atomic_set(&sink->tracer.state, DS_ASKED);
	KUNIT_EXPECT_TRUE(test, ds_arm(&sink->tracer));
	KUNIT_EXPECT_EQ(test, threshold(), least - DS_HEADROOM - 1);
	KUNIT_EXPECT_EQ(test, sink->fulls, 0);
	KUNIT_EXPECT_FALSE(test, ds_arm(&sink->tracer));
	KUNIT_EXPECT_EQ(test, sink->fulls, 1);

	/* A bank without room for one more record may have lost some. */
	sink->room = UINT_MAX;
	store_user(1, BTS_BUFFER_SIZE / record_size() - 1);
	ds_drain(&sink->tracer);
	KUNIT_EXPECT_EQ(test, sink->losses, 0);
	sink->room = UINT_MAX;
	store_user(sink->next, BTS_BUFFER_SIZE / record_size());
	ds_drain(&sink->tracer);
	KUNIT_EXPECT_EQ(test, sink->losses, 1);
	KUNIT_EXPECT_TRUE(test, sink->in_order);

	local_irq_enable();
	ds_staging_put();
}

static struct sink *sink_start(struct kunit *test, struct tracee *tracee,
			       u64 first, unsigned int room)
{
	struct sink *sink = sink_alloc(test, first);

	sink->room = room;
	KUNIT_ASSERT_EQ(test, ds_tracer_attach(&sink->tracer, tracee->task,
					       &sink_room_ops), 0);
	KUNIT_ASSERT_EQ(test, ds_tracer_start(&sink->tracer), 0);
	return sink;
}

/* Another buffer in the NMI: every record arrives, and tracing never stops. */
static void ds_test_full_go_on(struct kunit *test)
{
	static const unsigned int skids[] = { 1, 100, DS_HEADROOM };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(skids); i++) {
		struct tracee *tracee = tracee_create(test, 0);
		struct sink *sink = sink_start(test, tracee, 1, ds_room_min());

		tracee->skid = skids[i];
		sink->answer = DS_GO_ON;
		sink->more = ds_room_min();
		tracee_store(tracee, 1, 50000);
		KUNIT_EXPECT_EQ(test, ds_tracer_stop(&sink->tracer), 0);
		KUNIT_EXPECT_EQ(test, sink->nr, 50000);
		KUNIT_EXPECT_TRUE(test, sink->in_order);
		KUNIT_EXPECT_EQ(test, tracee->untraced, 0);
		KUNIT_EXPECT_GT(test, sink->fulls_in_nmi, 0);
		tracee_end(tracee);
		sink_end(sink);
	}
}

/* The task waits for room in its own context: every record arrives. */
static void ds_test_full_later(struct kunit *test)
{
	struct tracee *tracee = tracee_create(test, 0);
	struct sink *sink = sink_start(test, tracee, 1, ds_room_min());

	tracee->user = true;
	tracee->skid = 10;
	sink->answer = DS_LATER;
	sink->later = DS_GO_ON;
	sink->more = ds_room_min();
	tracee_store(tracee, 1, 50000);
	KUNIT_EXPECT_GT(test, sink->fulls_in_nmi, 0);
	KUNIT_EXPECT_EQ(test, sink->resumes, sink->fulls);
	KUNIT_EXPECT_EQ(test, tracee->untraced, 0);
	KUNIT_EXPECT_EQ(test, ds_tracer_sync(&sink->tracer), 0);
	KUNIT_EXPECT_EQ(test, sink->nr, 50000);
	KUNIT_EXPECT_TRUE(test, sink->in_order);

	/* "Later" again: goes on, and asks again with the next PMI. */
	sink->room = 200;
	sink->more = 0;
	sink->later = DS_LATER;
	sink->resumes = 0;
	tracee_store(tracee, tracee->from, 100);
	KUNIT_EXPECT_TRUE(test, ds_tracer_started(&sink->tracer));
	KUNIT_EXPECT_EQ(test, tracee->untraced, 0);
	KUNIT_EXPECT_EQ(test, sink->nr, 50100);
	if (ds_control.off_os)
		KUNIT_EXPECT_GT(test, sink->resumes, 2);

	/* Room that came meanwhile: nobody is asked. */
	tracee->user = false;
	sink->room = 0;
	sink->resumes = 0;
	tracee_store(tracee, tracee->from, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&sink->tracer.state), DS_DEFERRED);
	sink->room = 10000;
	tracee->user = true;
	tracee_store(tracee, tracee->from, 100);
	KUNIT_EXPECT_EQ(test, sink->resumes, 0);
	KUNIT_EXPECT_EQ(test, ds_tracer_sync(&sink->tracer), 0);
	KUNIT_EXPECT_EQ(test, sink->nr, 50200);
	KUNIT_EXPECT_EQ(test, tracee->untraced, 0);

	/* "Stop" is until the next start. */
	sink->room = 0;
	sink->later = DS_STOP;
	tracee_store(tracee, tracee->from, 1);
	KUNIT_EXPECT_FALSE(test, ds_tracer_started(&sink->tracer));
	sink->room = 10000;
	tracee_store(tracee, tracee->from, 1);
	KUNIT_EXPECT_EQ(test, sink->nr, 50200);
	sink->next = tracee->from;
	KUNIT_EXPECT_EQ(test, ds_tracer_start(&sink->tracer), 0);
	tracee_store(tracee, tracee->from, 100);
	KUNIT_EXPECT_EQ(test, ds_tracer_stop(&sink->tracer), 0);
	KUNIT_EXPECT_EQ(test, sink->nr, 50300);
	KUNIT_EXPECT_TRUE(test, sink->in_order);

	tracee_end(tracee);
	sink_end(sink);
}

/* Deferred, but the task never gets to user mode again, or the tracer goes. */
static void ds_test_full_end(struct kunit *test)
{
	struct tracee *tracee = tracee_create(test, 0);
	struct sink *sink = sink_start(test, tracee, 1, 0);

	/* The task exits: nobody is asked. */
	sink->answer = DS_LATER;
	tracee_store(tracee, 1, 1);
	KUNIT_EXPECT_EQ(test, sink->fulls, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&sink->tracer.state), DS_DEFERRED);
	get_task_struct(tracee->task);
	tracee_end(tracee);
	while (!READ_ONCE(tracee->task->exit_state))
		schedule_timeout_uninterruptible(1);
	put_task_struct(tracee->task);
	KUNIT_EXPECT_EQ(test, sink->resumes, 0);
	KUNIT_EXPECT_FALSE(test, ds_tracer_started(&sink->tracer));
	sink_end(sink);

	/* The tracer is released: what was queued is taken back. */
	tracee = tracee_create(test, 0);
	sink = sink_start(test, tracee, 1, 0);
	sink->answer = DS_LATER;
	tracee_store(tracee, 1, 1);
	KUNIT_EXPECT_TRUE(test, task_work_pending(tracee->task));
	sink_end(sink);
	KUNIT_EXPECT_FALSE(test, task_work_pending(tracee->task));

	/* Stopped and started while deferred: asked once, and not twice queued. */
	sink = sink_start(test, tracee, 2, 0);
	sink->answer = DS_LATER;
	sink->later = DS_GO_ON;
	tracee_store(tracee, 1, 1);
	KUNIT_EXPECT_EQ(test, ds_tracer_stop(&sink->tracer), 0);
	KUNIT_EXPECT_EQ(test, ds_tracer_start(&sink->tracer), 0);
	tracee_store(tracee, 2, 1);
	KUNIT_EXPECT_EQ(test, sink->fulls, 2);
	sink->more = 10000;
	tracee->user = true;
	tracee_store(tracee, 2, 2);
	KUNIT_EXPECT_EQ(test, sink->resumes, 1);
	KUNIT_EXPECT_EQ(test, ds_tracer_stop(&sink->tracer), 0);
	KUNIT_EXPECT_EQ(test, sink->nr, 2);
	KUNIT_EXPECT_TRUE(test, sink->in_order);
	tracee_end(tracee);
	sink_end(sink);
}

/* The threshold is that of the task that runs, whoever ran before. */
static void ds_test_full_switch(struct kunit *test)
{
	const unsigned int rooms[] = { ds_room_min(), 20000 };
	struct tracee *tracee[2];
	struct sink *sink[2];
	unsigned int i, n;

	for (i = 0; i < 2; i++) {
		tracee[i] = tracee_create(test, 0);
		tracee[i]->skid = DS_HEADROOM;
		sink[i] = sink_start(test, tracee[i], 1, rooms[i]);
		sink[i]->answer = DS_GO_ON;
		sink[i]->more = rooms[i];
	}

	for (n = 0; n < 50; n++) {
		for (i = 0; i < 2; i++) {
			tracee[i]->from = n * 1000 + 1;
			tracee[i]->nr = 1000;
			complete(&tracee[i]->go);
		}
		for (i = 0; i < 2; i++)
			wait_for_completion(&tracee[i]->done);
	}

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, ds_tracer_stop(&sink[i]->tracer), 0);
		KUNIT_EXPECT_EQ(test, sink[i]->nr, 50000);
		KUNIT_EXPECT_TRUE(test, sink[i]->in_order);
		tracee_end(tracee[i]);
		sink_end(sink[i]);
	}
}

/* A machine that sleeps records nothing, and afterwards for whom it did before. */
static void ds_test_sleep(struct kunit *test)
{
	struct tracee *tracee = tracee_create(test, 0);
	struct sink *sink = sink_alloc(test, 1);
	struct ds_tracer *mine;
	unsigned long flags;

	KUNIT_ASSERT_EQ(test, ds_tracer_attach(&sink->tracer, tracee->task, &sink_ops), 0);
	KUNIT_ASSERT_EQ(test, ds_tracer_start(&sink->tracer), 0);

	/* As if this were the task, and the one that sends the machine to sleep. */
	local_irq_save(flags);
	mine = xchg(&current->thread.ds_tracer, &sink->tracer);
	set_thread_flag(TIF_DS);
	ds_hand_over(&sink->tracer);
	store_user(1, 100);

	ds_cpu_suspend();
	KUNIT_EXPECT_EQ(test, sink->nr, 100);
	KUNIT_EXPECT_NULL(test, this_cpu_read(ds_cpu.owner));
	KUNIT_EXPECT_EQ(test, get_debugctlmsr() & ds_control.enable, 0UL);
	wrmsrl(MSR_IA32_DS_AREA, 0);

	ds_cpu_resume();
	KUNIT_EXPECT_PTR_EQ(test, this_cpu_read(ds_cpu.owner), &sink->tracer);
	KUNIT_EXPECT_EQ(test, get_debugctlmsr() & ds_control.enable, ds_control.enable);
	store_user(101, 10);

	/* Our bits with nobody to own them, as an NMI may bring them back. */
	ds_hand_over(NULL);
	KUNIT_EXPECT_EQ(test, sink->nr, 110);
	ds_bts_on();
	ds_cpu_suspend();
	KUNIT_EXPECT_EQ(test, get_debugctlmsr() & ds_control.enable, 0UL);

	/* Whoever stops for good drains no more. */
	ds_cpu_resume();
	store_user(111, 10);
	ds_cpu_emergency_stop();
	KUNIT_EXPECT_NULL(test, this_cpu_read(ds_cpu.owner));
	KUNIT_EXPECT_EQ(test, get_debugctlmsr() & ds_control.enable, 0UL);
	KUNIT_EXPECT_EQ(test, sink->nr, 110);

	clear_thread_flag(TIF_DS);
	WRITE_ONCE(current->thread.ds_tracer, mine);
	ds_drain(NULL);
	local_irq_restore(flags);

	KUNIT_EXPECT_TRUE(test, sink->in_order);
	tracee_end(tracee);
	sink_end(sink);
}

/* Without a tracer there is nothing of ours to turn off. */
static void ds_test_sleep_of_others(struct kunit *test)
{
	/* TR is left out: nothing is recorded. */
	u64 bits = ds_control.enable & (ds_control.enable - 1);
	u64 debugctl = get_debugctlmsr();
	unsigned long flags;

	ds_tracer_flush();
	local_irq_save(flags);
	update_debugctlmsr(debugctl | bits);
	ds_cpu_suspend();
	KUNIT_EXPECT_EQ(test, get_debugctlmsr(), debugctl | bits);
	update_debugctlmsr(debugctl);
	local_irq_restore(flags);
}

/* perf has a bank of its own before a tracer comes, and the same after it. */
static void ds_test_perf_threshold(struct kunit *test)
{
	struct debug_store *ds = ds_area(0);
	struct tracee *tracee;
	struct sink *sink;
	unsigned long before;

	KUNIT_ASSERT_EQ(test, ds_staging_get(), 0);
	before = ds_get(ds, DS_BTS_THRESHOLD);
	tracee = tracee_create(test, 0);
	sink = sink_start(test, tracee, 1, ds_room_min());
	tracee_store(tracee, 1, 1);
	KUNIT_EXPECT_NE(test, ds_get(ds, DS_BTS_THRESHOLD), before);
	tracee_end(tracee);
	sink_end(sink);
	KUNIT_EXPECT_EQ(test, ds_get(ds, DS_BTS_THRESHOLD), before);
	ds_staging_put();
}

/* What a tracer changes on CPU 0. */
struct touched {
	u64	area;
	u64	debugctl;
	u64	lvtpc;
	u64	bank;
};

static void touched_local(void *info)
{
	struct touched *touched = info;
	unsigned int level;
	pte_t *pte;

	rdmsrl(MSR_IA32_DS_AREA, touched->area);
	rdmsrl(MSR_IA32_DEBUGCTLMSR, touched->debugctl);
	touched->lvtpc = apic_read(APIC_LVTPC);
	pte = lookup_address((unsigned long)&get_cpu_entry_area(0)->cpu_debug_buffers.bts_buffer,
			     &level);
	touched->bank = pte && pte_present(*pte);
}

static struct touched touched(void)
{
	struct touched touched = {};

	smp_call_function_single(0, touched_local, &touched, true);
	return touched;
}

/* perf has BTS, LBR or PT, or the layer has BTS: who comes second is refused. */
/* May perf use it? Does not, in the end. */
static int perf_may(unsigned int what)
{
	int ret = x86_add_exclusive(what);

	if (!ret)
		x86_del_exclusive(what);
	return ret;
}

static void ds_test_refused(struct kunit *test)
{
	static const unsigned int users[] = {
		x86_lbr_exclusive_bts, x86_lbr_exclusive_lbr, x86_lbr_exclusive_pt,
	};
	const bool pt_coexists = x86_pmu.lbr_pt_coexist;
	struct tracee *tracee = tracee_create(test, 0);
	struct sink *sink = sink_alloc(test, 1), *second = sink_alloc(test, 1);
	struct touched before = touched(), after;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, ds_tracer_attach(&sink->tracer, current, &sink_ops), -EINVAL);

	x86_pmu.lbr_pt_coexist = false;
	for (i = 0; i < ARRAY_SIZE(users); i++) {
		if (x86_add_exclusive(users[i])) {
			KUNIT_FAIL(test, "perf may not use %u", users[i]);
			continue;
		}
		KUNIT_EXPECT_EQ(test, ds_tracer_attach(&sink->tracer, tracee->task,
						       &sink_ops), -EBUSY);
		x86_del_exclusive(users[i]);
		KUNIT_EXPECT_EQ(test, ds_area_msr(0), 0UL);
	}
	after = touched();
	KUNIT_EXPECT_MEMEQ(test, &after, &before, sizeof(before));

	KUNIT_EXPECT_EQ(test, ds_tracer_attach(&sink->tracer, tracee->task, &sink_ops), 0);
	after = touched();
	KUNIT_EXPECT_NE(test, after.area, 0ULL);
	KUNIT_EXPECT_EQ(test, after.lvtpc, (u64)APIC_DM_NMI);
	KUNIT_EXPECT_TRUE(test, after.bank);
	for (i = 0; i < ARRAY_SIZE(users); i++)
		KUNIT_EXPECT_EQ(test, perf_may(users[i]), -EBUSY);
	sink_end(sink);
	for (i = 0; i < ARRAY_SIZE(users); i++)
		KUNIT_EXPECT_EQ(test, perf_may(users[i]), 0);
	after = touched();
	KUNIT_EXPECT_EQ(test, after.area, before.area);
	KUNIT_EXPECT_EQ(test, after.debugctl, before.debugctl);
	KUNIT_EXPECT_EQ(test, after.bank, before.bank);

	/* Where the processor lets them be together, so does the layer. */
	x86_pmu.lbr_pt_coexist = true;
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_pt), 0);
	KUNIT_EXPECT_EQ(test, ds_tracer_attach(&second->tracer, tracee->task, &sink_ops), 0);
	KUNIT_EXPECT_EQ(test, perf_may(x86_lbr_exclusive_pt), 0);
	x86_del_exclusive(x86_lbr_exclusive_pt);
	sink_end(second);
	x86_pmu.lbr_pt_coexist = pt_coexists;

	tracee_end(tracee);
}

static int ds_test_needs_bts(struct kunit *test)
{
	if (!ds_available())
		kunit_skip(test, "this CPU has no usable branch trace store");
	if (!ds_control.off_os)
		kunit_skip(test, "this CPU stores the test's own branches, too");
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
	KUNIT_CASE(ds_test_threshold),
	KUNIT_CASE(ds_test_full_go_on),
	KUNIT_CASE(ds_test_full_later),
	KUNIT_CASE(ds_test_full_end),
	KUNIT_CASE(ds_test_full_switch),
	KUNIT_CASE(ds_test_sleep),
	KUNIT_CASE(ds_test_sleep_of_others),
	KUNIT_CASE(ds_test_perf_threshold),
	KUNIT_CASE(ds_test_refused),
	{}
};

static struct kunit_suite ds_tracer_suite = {
	.name		= "x86_ds_tracer",
	.init		= ds_test_needs_bts,
	.test_cases	= ds_tracer_cases,
};

kunit_test_suites(&ds_suite, &ds_tracer_suite);
