// SPDX-License-Identifier: GPL-2.0-only
/*
 * How does a command get into the virtual machine and its output back? Starts QEMU with a
 * socket as the far end of the guest's virtio port, tells vm-init what to run, passes
 * stdin, stdout and stderr through unchanged, and exits as the command did. A machine
 * that dies or takes too long ends in one line and the last words of its console.
 *
 * Which machine that is, the caller says (scripts/vm): everything after -- is QEMU's.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "vm-frame.h"

#define EXIT_TIMEOUT	124		/* as timeout(1) */
#define EXIT_VM_DIED	125
#define POWER_OFF_MS	20000
#define LAST_WORDS	4096		/* bytes of the console, at most */

static const char *console_log, *qemu_log;
static pid_t qemu;
static int sock, signals;
static bool terminal;
static struct termios saved_termios;

static void restore_terminal(void)
{
	if (terminal)
		tcsetattr(0, TCSAFLUSH, &saved_termios);
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Frames wait here: the socket must not block while the guest waits for us to read. */
static struct {
	char *data;
	size_t len, size;
} tx;

static void queue_frame(enum vm_frame_type type, const void *data, size_t len)
{
	struct vm_frame frame = { .type = type, .len = len };

	if (tx.len + sizeof(frame) + len > tx.size) {
		tx.size = 2 * (tx.len + sizeof(frame) + len);
		tx.data = realloc(tx.data, tx.size);
		if (!tx.data)
			err(EXIT_VM_DIED, "vm");
	}
	memcpy(tx.data + tx.len, &frame, sizeof(frame));
	if (len)
		memcpy(tx.data + tx.len + sizeof(frame), data, len);
	tx.len += sizeof(frame) + len;
}

static void send_queued(void)
{
	ssize_t n = send(sock, tx.data, tx.len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n <= 0)
		return;
	tx.len -= n;
	memmove(tx.data, tx.data + n, tx.len);
}

static void queue_string(enum vm_frame_type type, const char *s)
{
	size_t len = strlen(s);

	if (len > VM_FRAME_MAX)
		errx(EXIT_VM_DIED, "vm: command or path too long");
	queue_frame(type, s, len);
}

static void queue_environment(char **env)
{
	/* make's own would only confuse a make inside. */
	static const char *const ours[] = { "MAKEFLAGS=", "MAKELEVEL=", "MFLAGS=",
					    "MAKEOVERRIDES=", "CMD=" };
	size_t i;

	for (; *env; env++) {
		for (i = 0; i < sizeof(ours) / sizeof(*ours); i++)
			if (!strncmp(*env, ours[i], strlen(ours[i])))
				break;
		if (i == sizeof(ours) / sizeof(*ours) && strlen(*env) <= VM_FRAME_MAX)
			queue_frame(VM_ENV, *env, strlen(*env));
	}
}

static void queue_winsize(void)
{
	struct winsize ws = { .ws_row = 24, .ws_col = 80 };
	struct vm_winsize w;

	ioctl(0, TIOCGWINSZ, &ws);
	w = (struct vm_winsize){ .rows = ws.ws_row, .cols = ws.ws_col };
	queue_frame(VM_TTY, &w, sizeof(w));
}

static void start_qemu(int argc, char **argv)
{
	char **args = calloc(argc + 3, sizeof(*args));
	char chardev[64];
	int pair[2], fd;
	sigset_t none;

	if (!args || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		err(EXIT_VM_DIED, "vm");
	sock = pair[0];
	fcntl(sock, F_SETFD, FD_CLOEXEC);
	snprintf(chardev, sizeof(chardev), "socket,id=port,fd=%d", pair[1]);
	memcpy(args, argv, argc * sizeof(*args));
	args[argc] = "-chardev";
	args[argc + 1] = chardev;

	qemu = fork();
	if (qemu < 0)
		err(EXIT_VM_DIED, "vm: fork");
	if (qemu == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Out of the terminal's process group: ^C is ours to handle. */
		setpgid(0, 0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		fd = open(qemu_log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
		dup2(fd, 1);
		dup2(fd, 2);
		fd = open("/dev/null", O_RDONLY);
		dup2(fd, 0);
		execv(args[0], args);
		err(EXIT_VM_DIED, "%s", args[0]);
	}
	close(pair[1]);
	free(args);
}

/* Waits for QEMU's end, at most ms; after that it is ended. Its wait status. */
static int wait_qemu(int ms)
{
	long end = now_ms() + ms;
	int status = 0, sig = SIGTERM;

	while (waitpid(qemu, &status, WNOHANG) == 0) {
		long left = end - now_ms();
		struct pollfd p = { .fd = signals, .events = POLLIN };
		struct signalfd_siginfo info;

		if (left <= 0) {
			kill(qemu, sig);
			sig = SIGKILL;
			end = now_ms() + 2000;
			continue;
		}
		if (poll(&p, 1, left) > 0)
			read(signals, &info, sizeof(info));
	}
	return status;
}

/* The end of a log, whole lines, control characters left out. */
static void print_tail(const char *path, const char *title)
{
	char buf[LAST_WORDS];
	FILE *f = fopen(path, "r");
	size_t n, i = 0;
	long size;

	if (!f)
		return;
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	fseek(f, size > LAST_WORDS ? size - LAST_WORDS : 0, SEEK_SET);
	n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	if (!n)
		return;
	if (size > LAST_WORDS)
		while (i < n && buf[i++] != '\n')
			;
	fprintf(stderr, "%s\n", title);
	for (; i < n; i++)
		if (buf[i] == '\n' || buf[i] == '\t' || (unsigned char)buf[i] >= ' ')
			fputc(buf[i], stderr);
	if (buf[n - 1] != '\n')
		fputc('\n', stderr);
}

/* The line in which the kernel says why it stopped, if it does. */
static bool find_panic(char *line, size_t size)
{
	static const char mark[] = "Kernel panic - not syncing: ";
	FILE *f = fopen(console_log, "r");
	bool found = false;
	char *p;

	if (!f)
		return false;
	while (!found && fgets(line, size, f)) {
		p = strstr(line, mark);
		if (!p)
			continue;
		memmove(line, p + sizeof(mark) - 1, strlen(p) - sizeof(mark) + 2);
		line[strcspn(line, "\r\n")] = '\0';
		found = true;
	}
	fclose(f);
	return found;
}

static int vm_died(int status)
{
	char line[512];

	restore_terminal();
	if (find_panic(line, sizeof(line)))
		fprintf(stderr, "vm: kernel panic: %s\n", line);
	else if (WIFSIGNALED(status))
		fprintf(stderr, "vm: the emulator was killed by signal %d\n", WTERMSIG(status));
	else
		fprintf(stderr, "vm: the machine stopped before the command ended (emulator's exit status %d)\n",
			WEXITSTATUS(status));
	print_tail(qemu_log, "vm: the emulator said:");
	print_tail(console_log, "vm: the kernel's last words:");
	return EXIT_VM_DIED;
}

static int timed_out(int seconds)
{
	char line[512];
	bool panicked;

	restore_terminal();
	kill(qemu, SIGTERM);
	wait_qemu(2000);
	panicked = find_panic(line, sizeof(line));
	fprintf(stderr, "vm: not finished after %d seconds, stopped%s%s\n", seconds,
		panicked ? "; kernel panic: " : "", panicked ? line : "");
	print_tail(qemu_log, "vm: the emulator said:");
	print_tail(console_log, "vm: the kernel's last words:");
	return EXIT_TIMEOUT;
}

static void write_out(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n > 0) {
			data += n;
			len -= n;
		} else if (errno == EAGAIN) {
			struct pollfd p = { .fd = fd, .events = POLLOUT };

			poll(&p, 1, -1);
		} else if (errno != EINTR) {
			return;		/* the reader has gone: as SIGPIPE would have it */
		}
	}
}

static struct {
	char data[sizeof(struct vm_frame) + VM_FRAME_MAX];
	size_t len;
} rx;

/* Acts on every whole frame received. True once the exit status is in *status. */
static bool handle_frames(int *status)
{
	struct vm_frame frame;
	const char *data = rx.data + sizeof(frame);
	uint32_t value;

	while (rx.len >= sizeof(frame)) {
		memcpy(&frame, rx.data, sizeof(frame));
		if (frame.len > VM_FRAME_MAX)
			errx(EXIT_VM_DIED, "vm: the guest sent nonsense");
		if (rx.len < sizeof(frame) + frame.len)
			return false;
		switch (frame.type) {
		case VM_STDOUT:
			write_out(1, data, frame.len);
			break;
		case VM_STDERR:
			write_out(2, data, frame.len);
			break;
		case VM_EXIT:
			memcpy(&value, data, sizeof(value));
			*status = value;
			return true;
		case VM_ERROR:
			fprintf(stderr, "vm: %.*s\n", (int)frame.len, data);
			*status = EXIT_VM_DIED;
			return true;
		}
		rx.len -= sizeof(frame) + frame.len;
		memmove(rx.data, data + frame.len, rx.len);
	}
	return false;
}

static int run(int timeout)
{
	long end = timeout ? now_ms() + timeout * 1000L : 0;
	bool in_open = terminal || !isatty(0);
	int status;

	if (!in_open)
		queue_frame(VM_STDIN, NULL, 0);
	for (;;) {
		struct pollfd p[] = {
			{ .fd = sock, .events = POLLIN | (tx.len ? POLLOUT : 0) },
			{ .fd = signals, .events = POLLIN },
			/* read on only when the guest keeps up */
			{ .fd = in_open && tx.len < 4 * VM_FRAME_MAX ? 0 : -1, .events = POLLIN },
		};
		long left = end ? end - now_ms() : -1;
		ssize_t n;

		if (end && left <= 0)
			return timed_out(timeout);
		if (poll(p, 3, left) < 0 && errno != EINTR)
			err(EXIT_VM_DIED, "vm: poll");
		if (p[0].revents & POLLOUT)
			send_queued();
		if (p[0].revents & (POLLIN | POLLHUP | POLLERR)) {
			n = read(sock, rx.data + rx.len, sizeof(rx.data) - rx.len);
			if (n <= 0)
				return vm_died(wait_qemu(5000));
			rx.len += n;
			if (handle_frames(&status)) {
				queue_frame(VM_BYE, NULL, 0);
				send_queued();
				wait_qemu(POWER_OFF_MS);
				return status;
			}
		}
		if (p[1].revents) {
			struct signalfd_siginfo info;

			if (read(signals, &info, sizeof(info)) != sizeof(info))
				continue;
			if (info.ssi_signo == SIGWINCH) {
				if (terminal)
					queue_winsize();
			} else if (info.ssi_signo != SIGCHLD) {
				kill(qemu, SIGTERM);
				wait_qemu(2000);
				return 128 + info.ssi_signo;
			}
		}
		if (p[2].revents) {
			char buf[VM_FRAME_MAX];

			n = read(0, buf, sizeof(buf));
			if (n < 0 && (errno == EINTR || errno == EAGAIN))
				continue;
			if (n <= 0) {
				in_open = false;
				n = 0;
			}
			queue_frame(VM_STDIN, buf, n);
		}
	}
}

static void raw_terminal(void)
{
	struct termios t;

	if (!isatty(0) || tcgetattr(0, &saved_termios))
		errx(EXIT_VM_DIED, "vm: --tty needs a terminal");
	terminal = true;
	atexit(restore_terminal);
	t = saved_termios;
	cfmakeraw(&t);
	tcsetattr(0, TCSAFLUSH, &t);
	queue_winsize();
}

int main(int argc, char **argv)
{
	const char *command = NULL, *out_dir = NULL;
	bool want_tty = false;
	int opt, timeout = 0;
	sigset_t mask;
	char *cwd;

	while ((opt = getopt(argc, argv, "+c:l:e:o:s:t")) != -1) {
		switch (opt) {
		case 'c':
			command = optarg;
			break;
		case 'l':
			console_log = optarg;
			break;
		case 'e':
			qemu_log = optarg;
			break;
		case 'o':
			out_dir = optarg;
			break;
		case 's':
			timeout = atoi(optarg);
			break;
		case 't':
			want_tty = true;
			break;
		default:
			return EXIT_VM_DIED;
		}
	}
	if (!command || !console_log || !qemu_log || optind == argc) {
		fprintf(stderr, "usage: vm-host -c command -l console-log -e emulator-log [-o share] [-s seconds] [-t] -- qemu...\n");
		return EXIT_VM_DIED;
	}

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGWINCH);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &mask, SFD_CLOEXEC);
	start_qemu(argc - optind, argv + optind);

	if (want_tty)
		raw_terminal();
	cwd = getcwd(NULL, 0);
	queue_string(VM_CWD, cwd ? cwd : "/");
	queue_environment(environ);
	if (out_dir)
		queue_string(VM_OUT, out_dir);
	queue_string(VM_COMMAND, command);
	return run(timeout);
}
