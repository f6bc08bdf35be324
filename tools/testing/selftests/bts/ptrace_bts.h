/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do the tests of PTRACE_BTS_* share? A tracee whose branches are known to
 * the last one, and the requests as functions.
 *
 * The tracee goes round a loop in assembly. Each round takes three branches: to a
 * slot that tells the round's number modulo 256, back, and to the next round. So
 * every branch has an index, and the registers of a stopped tracee tell how many it
 * has taken.
 */
#ifndef PTRACE_BTS_H
#define PTRACE_BTS_H

#include "ptrace_bts_request.h"

#include <linux/compiler.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "../kselftest_harness.h"

#define NR_SLOTS	256
#define SLOT_SIZE	8

/*
 * What the loop has in which register, how it gets its argument, and how it ends
 * with exit(0): of a program of 64 or of 32 bits.
 */
#ifdef __x86_64__
#define BTS_IP		rip
#define BTS_SP		rsp
#define BTS_CALL	orig_rax
#define BTS_INDEX	rax
#define BTS_SLOT	rcx
#define BTS_ROUNDS	rbx		/* done */
#define BTS_END		r12		/* how many there are to be */
#define BTS_TOLD	r13		/* where in memory BTS_ROUNDS is told, too */
#define BTS_ARGUMENT	"%rdi"
#define BTS_SLOTS	"bts_slots(%rip)"
#define BTS_EXIT	"mov $60, %eax; xor %edi, %edi; syscall"
#else
#define BTS_IP		eip
#define BTS_SP		esp
#define BTS_CALL	orig_eax
#define BTS_INDEX	eax
#define BTS_SLOT	ecx
#define BTS_ROUNDS	ebx
#define BTS_END		esi
#define BTS_TOLD	ebp		/* no argument of a system call of ours */
#define BTS_ARGUMENT	"4(%esp)"
#define BTS_SLOTS	"bts_slots"
#define BTS_EXIT	"mov $1, %eax; xor %ebx, %ebx; int $0x80"
#endif

#define BTS_STRING(name)	#name
#define BTS_REG(name)		"%" BTS_STRING(name)

asm(".pushsection .text\n"
	".globl bts_park, bts_round, bts_jump, bts_slots, bts_back, bts_again, bts_end\n"
	"bts_park:\n"		/* void bts_park(uint64_t *rounds) */
	"	mov	" BTS_ARGUMENT ", " BTS_REG(BTS_TOLD) "\n"
	"	int3\n"
	"bts_round:\n"
	"	movzbl	%bl, %eax\n"
	"	lea	" BTS_SLOTS ", " BTS_REG(BTS_SLOT) "\n"
	"	lea	(" BTS_REG(BTS_SLOT) ", " BTS_REG(BTS_INDEX) ", 8), "
		BTS_REG(BTS_SLOT) "\n"
	"bts_jump:\n"
	"	jmp	*" BTS_REG(BTS_SLOT) "\n"
	"	.balign	8\n"
	"bts_slots:\n"
	"	.rept	256\n"
	"	.byte	0xe9\n"
	"	.long	bts_back - . - 4\n"
	"	.balign	8\n"
	"	.endr\n"
	"bts_back:\n"
	"	inc	" BTS_REG(BTS_ROUNDS) "\n"
	"	mov	" BTS_REG(BTS_ROUNDS) ", (" BTS_REG(BTS_TOLD) ")\n"
	"	cmp	" BTS_REG(BTS_END) ", " BTS_REG(BTS_ROUNDS) "\n"
	"bts_again:\n"
	"	jb	bts_round\n"
	"	int3\n"
	"bts_end:\n"
	/* Who goes on from there ends with exit(0). */
	"	" BTS_EXIT "\n"
	"	ud2\n"
	".popsection\n");
extern const char bts_round[], bts_jump[], bts_slots[], bts_back[], bts_again[], bts_end[];
void bts_park(uint64_t *rounds);

/* CONFIG: a ring of so many bytes */
static inline long configure(pid_t pid, uint32_t size, uint32_t flags)
{
	struct ptrace_bts_config config = { .size = size, .flags = flags };

	return request(PTRACE_BTS_CONFIG, pid, &config, PTRACE_BTS_CONFIG_SIZE_VER0);
}

/* CONFIG: trace into a new ring of so many records */
static inline long trace(pid_t pid, uint32_t records)
{
	return configure(pid, records * RECORD, PTRACE_BTS_O_TRACE | PTRACE_BTS_O_ALLOC);
}

static inline long release(pid_t pid)
{
	return configure(pid, 0, PTRACE_BTS_O_ALLOC);
}

static inline long status_of(pid_t pid, struct ptrace_bts_config *config)
{
	return request(PTRACE_BTS_STATUS, pid, config, PTRACE_BTS_CONFIG_SIZE_VER0);
}

/* How many records were lost; or a negative error number. */
static inline long lost(pid_t pid)
{
	struct ptrace_bts_config config = {};
	long ret = request(PTRACE_BTS_STATUS, pid, &config, sizeof(config));

	return ret < 0 ? ret : (long)config.lost;
}

static inline long count(pid_t pid)
{
	return request(PTRACE_BTS_SIZE, pid, NULL, 0);
}

static inline long get(pid_t pid, unsigned long index, struct bts_struct *record)
{
	return request(PTRACE_BTS_GET, pid, record, index);
}

/* Is a record the branch with that index? */
static inline bool is_branch(const struct bts_struct *record, uint64_t index)
{
	const char *slot = bts_slots + index / 3 % NR_SLOTS * SLOT_SIZE;
	const char *from = index % 3 == 0 ? bts_jump : index % 3 == 1 ? slot : bts_again;
	const char *to = index % 3 == 0 ? slot : index % 3 == 1 ? bts_back : bts_round;

	return record->qualifier == BTS_BRANCH &&
	       record->variant.lbr.from == (uintptr_t)from &&
	       record->variant.lbr.to == (uintptr_t)to;
}

/* Where a tracee is */
static inline unsigned long long ip_of(const struct user_regs_struct *regs)
{
	return (unsigned long)regs->BTS_IP;
}

/* How many rounds has it done? */
static inline unsigned long long rounds_of(const struct user_regs_struct *regs)
{
	return (unsigned long)regs->BTS_ROUNDS;
}

/* And how many branches has it taken since its first round? */
static inline uint64_t taken(const struct user_regs_struct *regs)
{
	const uintptr_t ip = ip_of(regs);

	if (ip <= (uintptr_t)bts_jump)
		return 3 * rounds_of(regs);
	if (ip < (uintptr_t)bts_back)
		return 3 * rounds_of(regs) + 1;
	if (ip == (uintptr_t)bts_back)
		return 3 * rounds_of(regs) + 2;
	return 3 * rounds_of(regs) - 1;
}

/* So many branches are taken in rounds @first to @end - 1. */
#define BRANCHES(first, end)	(3 * ((end) - (first)) - 1)

/* A page to be shared with tracees */
static inline void *shared_page(void)
{
	void *page = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		abort();
	return page;
}

static inline pid_t wait_for_stop(struct __test_metadata *_metadata, pid_t pid, int sig)
{
	int status;

	ASSERT_EQ(pid, waitpid(pid, &status, __WALL));
	ASSERT_TRUE(WIFSTOPPED(status)) {
		TH_LOG("tracee ended with status %#x", status);
	}
	ASSERT_EQ(sig, status >> 8) {
		TH_LOG("stop with status %#x", status);
	}
	return pid;
}

static inline void wait_for_event(struct __test_metadata *_metadata, pid_t pid, int event)
{
	wait_for_stop(_metadata, pid, event << 8 | SIGTRAP);
}

/* A child stopped in bts_park(), that dies with its debugger. */
static inline pid_t spawn_counting(struct __test_metadata *_metadata, uint64_t *rounds)
{
	pid_t pid = fork();

	ASSERT_GE(pid, 0);
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		bts_park(rounds);
	}
	wait_for_stop(_metadata, pid, SIGTRAP);
	ASSERT_EQ(0, request(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL));
	return pid;
}

static inline pid_t spawn(struct __test_metadata *_metadata)
{
	uint64_t *rounds = shared_page();
	pid_t pid = spawn_counting(_metadata, rounds);

	munmap(rounds, getpagesize());
	return pid;
}

static inline void regs_of(struct __test_metadata *_metadata, pid_t pid,
			   struct user_regs_struct *regs)
{
	ASSERT_EQ(0, request(PTRACE_GETREGS, pid, NULL, (unsigned long)regs));
}

/* Let a stopped tracee begin with round @first and stop after @end - 1. */
static inline void aim(struct __test_metadata *_metadata, pid_t pid,
		       uint64_t first, uint64_t end)
{
	struct user_regs_struct regs;

	regs_of(_metadata, pid, &regs);
	regs.BTS_CALL = -1;
	regs.BTS_IP = (uintptr_t)bts_round;
	regs.BTS_ROUNDS = first;
	regs.BTS_END = end;
	ASSERT_EQ(0, request(PTRACE_SETREGS, pid, NULL, (unsigned long)&regs));
}

/* Or go on where it is. */
static inline void aim_on(struct __test_metadata *_metadata, pid_t pid, uint64_t end)
{
	struct user_regs_struct regs;

	regs_of(_metadata, pid, &regs);
	regs.BTS_CALL = -1;
	regs.BTS_END = end;
	ASSERT_EQ(0, request(PTRACE_SETREGS, pid, NULL, (unsigned long)&regs));
}

/* After exec: the loop is at its place in the new program, the page it tells is not. */
static inline void tell_on_stack(struct __test_metadata *_metadata, pid_t pid)
{
	struct user_regs_struct regs;

	regs_of(_metadata, pid, &regs);
	regs.BTS_TOLD = regs.BTS_SP - 1024;
	ASSERT_EQ(0, request(PTRACE_SETREGS, pid, NULL, (unsigned long)&regs));
}

static inline void resume(struct __test_metadata *_metadata, pid_t pid, int sig)
{
	ASSERT_EQ(0, request(PTRACE_CONT, pid, NULL, sig));
}

static inline void start(struct __test_metadata *_metadata, pid_t pid,
			 uint64_t first, uint64_t end)
{
	aim(_metadata, pid, first, end);
	resume(_metadata, pid, 0);
}

static inline void run(struct __test_metadata *_metadata, pid_t pid,
		       uint64_t first, uint64_t end)
{
	start(_metadata, pid, first, end);
	wait_for_stop(_metadata, pid, SIGTRAP);
}

static inline void kill_and_reap(struct __test_metadata *_metadata, pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, __WALL));
	ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		TH_LOG("tracee ended with status %#x", status);
	}
}

/* All records of a stopped tracee, which are taken out; to be freed. */
static inline struct bts_struct *drain(struct __test_metadata *_metadata, pid_t pid,
				       long *n)
{
	struct bts_struct *records;
	long ready = count(pid);

	ASSERT_LE(0, ready);
	records = calloc(ready + 1, RECORD);
	ASSERT_NE(NULL, records);
	*n = request(PTRACE_BTS_DRAIN, pid, records, ready * RECORD);
	ASSERT_EQ(ready, *n);
	ASSERT_EQ(0, count(pid));
	return records;
}

/* Are @n records the branches before the one with index @end? */
static noinline __maybe_unused
void check_records(struct __test_metadata *_metadata, const struct bts_struct *records,
		   long n, uint64_t end)
{
	long i;

	for (i = 0; i < n; i++) {
		ASSERT_TRUE(is_branch(&records[i], end - n + i)) {
			TH_LOG("record %ld of %ld: %#llx -> %#llx (kind %#llx) is not branch %ld",
			       i, n, (unsigned long long)records[i].variant.lbr.from,
			       (unsigned long long)records[i].variant.lbr.to,
			       (unsigned long long)records[i].qualifier,
			       (long)(end - n) + i);
		}
	}
}

/* The ring holds the @n branches before the one with index @end; now it is empty. */
static inline void check_drain(struct __test_metadata *_metadata, pid_t pid,
			       long n, uint64_t end)
{
	struct bts_struct *records;
	long ready;

	records = drain(_metadata, pid, &ready);
	ASSERT_EQ(n, ready);
	check_records(_metadata, records, n, end);
	free(records);
}

/* The last records of a tracee stopped in its loop, which took many more branches */
static inline void check_tail(struct __test_metadata *_metadata, pid_t pid, long capacity)
{
	struct user_regs_struct regs;

	regs_of(_metadata, pid, &regs);
	ASSERT_LT(capacity, (long)taken(&regs));
	check_drain(_metadata, pid, capacity, taken(&regs));
}

/* Go on, by way of another attachment: only a debugger that seized may interrupt. */
static inline void seize(struct __test_metadata *_metadata, pid_t pid)
{
	ASSERT_EQ(0, request(PTRACE_DETACH, pid, NULL, 0));
	ASSERT_EQ(0, request(PTRACE_SEIZE, pid, NULL, PTRACE_O_EXITKILL));
}

static inline void interrupt(struct __test_metadata *_metadata, pid_t pid)
{
	ASSERT_EQ(0, request(PTRACE_INTERRUPT, pid, NULL, 0));
	wait_for_event(_metadata, pid, PTRACE_EVENT_STOP);
}

static inline double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Waits, not for ever, until a condition is true; whether it became true. */
#define AWAIT(condition) ({				\
	double give_up = seconds() + 20;		\
	bool is_true;					\
	while (!(is_true = (condition)) && seconds() < give_up) \
		sched_yield();				\
	is_true;					\
})

/* Waits until a running tracee has done @more rounds. */
#define AWAIT_ROUNDS(rounds, more) ({			\
	const uint64_t *done = (rounds);		\
	uint64_t until = READ_ONCE(*done) + (more);	\
	AWAIT(READ_ONCE(*done) >= until);		\
})

/* In a system call that waits */
static inline bool is_asleep(pid_t pid)
{
	char path[32], state = 0;
	FILE *stat;

	sprintf(path, "/proc/%d/stat", pid);
	stat = fopen(path, "r");
	if (stat) {
		fscanf(stat, "%*d (%*[^)]) %c", &state);
		fclose(stat);
	}
	return state == 'S';
}

static inline bool pin(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(pid, sizeof(set), &set);
}

/* A setting of the kernel; whether it took it */
static inline bool write_knob(const char *path, const char *value)
{
	FILE *knob = fopen(path, "w");

	return knob && fputs(value, knob) >= 0 && !fclose(knob);
}

/* Why can nothing be tested here? NULL where it can. */
static inline const char *no_bts(struct __test_metadata *_metadata)
{
	pid_t pid = spawn(_metadata);
	long ret = trace(pid, 1);

	if (ret > 0)
		release(pid);
	kill_and_reap(_metadata, pid);
	if (ret == -EOPNOTSUPP)
		return "the processor has no BTS";
	if (ret == -EIO)
		return "the kernel has no PTRACE_BTS";
	return NULL;
}

/* Every test begins so: a tracee stopped before its first round; or it is skipped. */
static inline void setup_tracee(struct __test_metadata *_metadata, pid_t *pid,
				uint64_t **rounds)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	*rounds = shared_page();
	*pid = spawn_counting(_metadata, *rounds);
}

static inline void end_tracee(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
}

#endif
