// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does a debugger see of a program that is executed with other rights?
 *
 * As much as ptrace shows it in other ways. A set-id program has its rights only where
 * the debugger has them too, and is traced on; or where nobody debugs it, and then there
 * is no trace. Of a program that nobody may read the debugger sees where it is and steps
 * through it, and so sees its branches; it does not see its memory.
 */
#include "ptrace_bts_call.h"
#include "ptrace_bts_memory.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define CAPACITY	2000
#define NOBODY		65534

/* Where this program is once more, with another mode */
#define DIRECTORY	"/mnt"
static const char program[] = DIRECTORY "/program";
static const char *const program_args[] = { program, "--pause", NULL };

FIXTURE(setid) { pid_t pid; uint64_t *rounds; };
FIXTURE_VARIANT(setid) {
	mode_t mode;
	/* The debugger; its tracee begins with no privilege. */
	uid_t debugger;
	/* The rights that the program has then, and if nobody debugs it */
	uid_t traced, alone;
	bool readable;
};

FIXTURE_VARIANT_ADD(setid, for_root) { 04755, 0, 0, 0, true };
FIXTURE_VARIANT_ADD(setid, for_nobody) { 04755, NOBODY, NOBODY, 0, true };
FIXTURE_VARIANT_ADD(setid, unreadable) { 0711, NOBODY, NOBODY, NOBODY, false };

static bool become(uid_t id)
{
	/* Whose memory is not dumpable after that cannot be attached to. */
	return !setresgid(id, id, id) && !setresuid(id, id, id) &&
	       !prctl(PR_SET_DUMPABLE, 1);
}

/* In a file system that nobody else sees */
static bool install(mode_t mode)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", DIRECTORY, "tmpfs", 0, "mode=0755"))
		return false;
	to = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	return !fchmod(to, mode) && !close(to);
}

FIXTURE_SETUP(setid)
{
	const char *why = no_bts(_metadata);

	if (why)
		SKIP(return, "%s", why);
	if (geteuid())
		SKIP(return, "not root, who can have a set-id program");
	ASSERT_TRUE(install(variant->mode));
	self->rounds = shared_page();
	ASSERT_TRUE(!variant->debugger || become(variant->debugger));
	self->pid = fork();
	if (!self->pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		if (!become(NOBODY))
			_exit(4);
		bts_park(self->rounds);
	}
	wait_for_stop(_metadata, self->pid, SIGTRAP);
	ASSERT_EQ(0, request(PTRACE_SETOPTIONS, self->pid, NULL,
			     PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC));
}

FIXTURE_TEARDOWN(setid)
{
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
}

/* Effective, as told to everybody; -1 where it is gone */
static long uid_of(pid_t pid)
{
	char file[32], line[256];
	long uid = -1;
	FILE *status;

	sprintf(file, "/proc/%d/status", pid);
	status = fopen(file, "r");
	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "Uid: %*d %ld", &uid);
	if (status)
		fclose(status);
	return uid;
}

static void aim_exec(struct __test_metadata *_metadata, pid_t pid)
{
	aim_call(_metadata, pid, SYS_execve, (unsigned long)program,
		 (unsigned long)program_args, (unsigned long)env);
}

static void check_readable(struct __test_metadata *_metadata, pid_t pid, bool readable)
{
	uint64_t word;
	long ret = request(PTRACE_PEEKTEXT, pid, bts_round, (unsigned long)&word);

	if (readable) {
		EXPECT_EQ(0, ret);
		EXPECT_EQ(0, memcmp(&word, bts_round, sizeof(word)));
	} else {
		EXPECT_EQ(-EIO, ret);
	}
}

TEST_F(setid, traced_on)
{
	struct user_regs_struct regs;

	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	run(_metadata, self->pid, 0, 10);
	EXPECT_EQ(NOBODY, uid_of(self->pid));
	check_readable(_metadata, self->pid, true);
	aim_exec(_metadata, self->pid);
	resume(_metadata, self->pid, 0);
	wait_for_event(_metadata, self->pid, PTRACE_EVENT_EXEC);
	EXPECT_EQ(variant->traced, uid_of(self->pid));
	check_readable(_metadata, self->pid, variant->readable);

	check_across_exec(_metadata, self->pid);

	/* No more than a step would show */
	ASSERT_EQ(0, count(self->pid));
	aim(_metadata, self->pid, 0, 2);
	do {
		ASSERT_EQ(0, request(PTRACE_SINGLESTEP, self->pid, NULL, 0));
		wait_for_stop(_metadata, self->pid, SIGTRAP);
		regs_of(_metadata, self->pid, &regs);
		ASSERT_EQ((long)taken(&regs), count(self->pid));
	} while (regs.rip != (uintptr_t)bts_back);
	EXPECT_EQ(0, lost(self->pid));
}

static bool executes(pid_t pid)
{
	char file[32], name[16] = "";
	FILE *comm;

	sprintf(file, "/proc/%d/comm", pid);
	comm = fopen(file, "r");
	if (comm) {
		fgets(name, sizeof(name), comm);
		fclose(comm);
	}
	return !strcmp(name, "program\n");
}

/* Who lets go of it sees nothing of the program, unless it may attach once more. */
TEST_F(setid, left_before)
{
	struct ptrace_bts_config config;
	long seized;

	ASSERT_EQ(16, trace(self->pid, CAPACITY));
	run(_metadata, self->pid, 0, 10);
	aim_exec(_metadata, self->pid);
	ASSERT_EQ(0, request(PTRACE_DETACH, self->pid, NULL, 0));
	ASSERT_TRUE(AWAIT(executes(self->pid) && uid_of(self->pid) == variant->alone));
	EXPECT_EQ(-ESRCH, status_of(self->pid, &config));
	EXPECT_EQ(-ESRCH, count(self->pid));
	EXPECT_EQ(-ESRCH, trace(self->pid, CAPACITY));

	seized = request(PTRACE_SEIZE, self->pid, NULL, 0);
	EXPECT_EQ(variant->debugger ? -EPERM : 0, seized);
	EXPECT_EQ(seized ? -ESRCH : 16, trace(self->pid, CAPACITY));
	EXPECT_EQ(!seized, !!pinned());
}

int main(int argc, char **argv)
{
	while (argc == 2 && !strcmp(argv[1], "--pause"))
		pause();
	return test_harness_run(argc, argv);
}
