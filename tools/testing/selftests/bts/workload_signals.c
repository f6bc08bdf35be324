// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals with handlers: raised by the program, and by the processor on a fault,
 * which the handler leaves by siglongjmp() or by moving the instruction pointer.
 */
#include <linux/compiler.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define ROUNDS	6

#ifdef __x86_64__
#define REG_IP	REG_RIP
#else
#define REG_IP	REG_EIP
#endif

static sigjmp_buf env;
static int handled;
/* Bytes of the faulting instruction that the handler is to skip. */
static int skip;

static void count(int sig)
{
	WRITE_ONCE(handled, handled + sig);
}

static void nested(int sig)
{
	WRITE_ONCE(handled, handled + sig);
	raise(SIGUSR1);
}

static void jump(int sig)
{
	siglongjmp(env, sig);
}

static void advance(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)info;
	WRITE_ONCE(handled, handled + sig);
	uc->uc_mcontext.gregs[REG_IP] += READ_ONCE(skip);
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = flags;
	sigaction(sig, &sa, NULL);
}

static void handle_info(int sig)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = advance;
	/* Who steps through a handler that blocks SIGTRAP kills the program. */
	sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	sigaction(sig, &sa, NULL);
}

/* Runs @what, which faults and does not come back here by itself. */
#define CATCH(what)				\
	do {					\
		if (!sigsetjmp(env, 1)) {	\
			what;			\
			_exit(1);		\
		}				\
	} while (0)

int main(void)
{
	static char stack[65536];
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	void (*nowhere)(void) = (void (*)(void))0x10000;
	int *null = NULL;
	int i;

	OPTIMIZER_HIDE_VAR(nowhere);
	OPTIMIZER_HIDE_VAR(null);
	sigaltstack(&alternate, NULL);
	handle(SIGUSR1, count, 0);
	handle(SIGUSR2, nested, SA_ONSTACK);
	handle(SIGSEGV, jump, 0);
	handle(SIGBUS, jump, 0);
	handle(SIGWINCH, SIG_IGN, 0);
	handle_info(SIGILL);
	handle_info(SIGTRAP);
	handle_info(SIGFPE);

	for (i = 0; i < ROUNDS; i++) {
		raise(SIGUSR1);
		raise(SIGUSR2);
		raise(SIGWINCH);
		raise(SIGURG);

		CATCH(WRITE_ONCE(*null, 1));
		/* The call is taken; the fault is at its target. */
		CATCH(nowhere());
		WRITE_ONCE(skip, 2);
		asm volatile("ud2");
		asm volatile("xor %%edx, %%edx; xor %%ecx, %%ecx; div %%ecx"
			     : : : "eax", "ecx", "edx");
		WRITE_ONCE(skip, 0);
		asm volatile("int3");
	}
	return 0;
}
