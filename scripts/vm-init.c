// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does the virtual machine run? This is its init, and the only program in its
 * initramfs. It puts the host's file system (9p, read only) under a tmpfs with overlayfs,
 * makes that the root, runs the one command vm-host asks for, carries its input, output
 * and exit status over the virtio port (vm-frame.h), and powers off.
 *
 * A kernel that another one started (kexec) has the command at the end of its command
 * line, after "-- -c": vm-host asks only once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm-frame.h"

#define P9_OPTIONS "trans=virtio,version=9p2000.L,msize=262144"

static int port = -1;
static struct vm_frame rx;		/* the frame read last, and its data */
static char rx_data[VM_FRAME_MAX + 1];

static char *cwd = "/";
static char *out_dir;
static char *command;
static bool want_tty;
static struct winsize winsize;

static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void send_frame(enum vm_frame_type type, const void *data, uint32_t len)
{
	char buf[sizeof(struct vm_frame) + VM_FRAME_MAX];
	struct vm_frame frame = { .type = type, .len = len };
	size_t size = sizeof(frame) + len, done = 0;

	memcpy(buf, &frame, sizeof(frame));
	memcpy(buf + sizeof(frame), data, len);
	while (done < size) {
		ssize_t n = write(port, buf + done, size - done);

		if (n > 0)
			done += n;
		else if (errno != EINTR && errno != EAGAIN)
			power_off();
	}
}

/* Also to the console, which vm-host shows when it hears nothing else. */
static void die(const char *what)
{
	char text[512];
	int len = snprintf(text, sizeof(text), "vm-init: %s: %m\n", what);

	write(2, text, len);
	if (port >= 0)
		send_frame(VM_ERROR, text, len - 1);
	power_off();
}

static void read_fully(void *buf, size_t len)
{
	while (len) {
		ssize_t n = read(port, buf, len);

		if (n > 0) {
			buf = (char *)buf + n;
			len -= n;
		} else if (n == 0) {
			/* The port is there before the host's end is announced. */
			struct pollfd p = { .fd = port, .events = POLLIN };

			if (poll(&p, 1, 1) < 0 && errno != EINTR)
				die("poll");
		} else if (errno != EINTR && errno != EAGAIN) {
			die("reading " VM_PORT);
		}
	}
}

static void read_frame(void)
{
	read_fully(&rx, sizeof(rx));
	if (rx.len > VM_FRAME_MAX) {
		errno = EPROTO;
		die("frame length");
	}
	read_fully(rx_data, rx.len);
	rx_data[rx.len] = '\0';
}

static void open_port(void)
{
	int tries;

	/* The driver finds the port from a work item of its own: not there at once. */
	for (tries = 0; tries < 10000; tries++) {
		port = open(VM_PORT, O_RDWR | O_CLOEXEC);
		if (port >= 0)
			return;
		usleep(1000);
	}
	die("opening " VM_PORT);
}

static void set_winsize(void)
{
	struct vm_winsize w;

	if (rx.len != sizeof(w))
		return;
	memcpy(&w, rx_data, sizeof(w));
	winsize.ws_row = w.rows;
	winsize.ws_col = w.cols;
	want_tty = true;
}

static void read_request(void)
{
	while (!command) {
		read_frame();
		switch (rx.type) {
		case VM_CWD:
			cwd = strdup(rx_data);
			break;
		case VM_ENV:
			putenv(strdup(rx_data));
			break;
		case VM_OUT:
			out_dir = strdup(rx_data);
			break;
		case VM_TTY:
			set_winsize();
			break;
		case VM_COMMAND:
			command = strdup(rx_data);
			break;
		default:
			errno = EPROTO;
			die("frame type");
		}
	}
}

static void do_mount(const char *source, const char *target, const char *type,
		     unsigned long flags, const char *options)
{
	if (mount(source, target, type, flags, options))
		die(target);
}

static void make_root(void)
{
	mkdir("/lower", 0755);
	mkdir("/upper", 0755);
	mkdir("/root", 0755);
	do_mount(VM_ROOT_TAG, "/lower", "9p", MS_RDONLY, P9_OPTIONS ",cache=loose");
	do_mount("tmpfs", "/upper", "tmpfs", 0, NULL);
	mkdir("/upper/files", 0755);
	mkdir("/upper/work", 0755);
	do_mount("overlay", "/root", "overlay", 0,
		 "lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work");

	do_mount("proc", "/root/proc", "proc", 0, NULL);
	do_mount("sysfs", "/root/sys", "sysfs", 0, NULL);
	do_mount("debugfs", "/root/sys/kernel/debug", "debugfs", 0, NULL);
	do_mount("/dev", "/root/dev", NULL, MS_MOVE, NULL);

	if (chdir("/root"))
		die("/root");
	do_mount(".", "/", NULL, MS_MOVE, NULL);
	if (chroot("."))
		die("chroot");

	mkdir("/dev/pts", 0755);
	mkdir("/dev/shm", 01777);
	do_mount("devpts", "/dev/pts", "devpts", 0, "ptmxmode=0666,mode=0620,gid=5");
	do_mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
	symlink("/proc/self/fd", "/dev/fd");
	symlink("fd/0", "/dev/stdin");
	symlink("fd/1", "/dev/stdout");
	symlink("fd/2", "/dev/stderr");
	sethostname("linux-ds", 8);
}

static void mount_out_dir(void)
{
	if (!out_dir)
		return;
	if (mkdir(out_dir, 0755) && errno != EEXIST)
		die(out_dir);
	do_mount(VM_OUT_TAG, out_dir, "9p", 0, P9_OPTIONS);
}

/* What the command reads and writes: the child's ends and ours. */
struct channel {
	int child[3];
	int in, out, err;
};

static void open_pipes(struct channel *c)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		die("pipe");
	*c = (struct channel){ .child = { in[0], out[1], err[1] },
			       .in = in[1], .out = out[0], .err = err[0] };
	fcntl(c->err, F_SETFL, O_NONBLOCK);
}

static void open_terminal(struct channel *c)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int slave;

	if (master < 0 || grantpt(master) || unlockpt(master))
		die("/dev/ptmx");
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		die("pty");
	ioctl(master, TIOCSWINSZ, &winsize);
	*c = (struct channel){ .child = { slave, slave, slave },
			       .in = master, .out = master, .err = -1 };
}

/* Without a shell: the words are the program and its arguments. */
static void exec_words(char *text)
{
	char *words[64], *word;
	unsigned int n = 0;

	for (word = strtok(text, " "); word && n < 63; word = strtok(NULL, " "))
		words[n++] = word;
	words[n] = NULL;
	if (n)
		execvp(words[0], words);
	dprintf(2, "vm: %s: %m\n", text);
}

static pid_t start_command(struct channel *c)
{
	pid_t pid;
	int i;

	if (want_tty)
		open_terminal(c);
	else
		open_pipes(c);
	fcntl(c->in, F_SETFL, O_NONBLOCK);
	fcntl(c->out, F_SETFL, O_NONBLOCK);

	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		sigset_t none;

		setsid();
		if (want_tty)
			ioctl(c->child[0], TIOCSCTTY, 0);
		for (i = 0; i < 3; i++)
			dup2(c->child[i], i);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL);
		if (chdir(cwd)) {
			dprintf(2, "vm: %s: %m\n", cwd);
			_exit(126);
		}
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		/* A 32-bit kernel runs none of this machine's own programs. */
		if (errno == ENOEXEC)
			exec_words(command);
		else
			dprintf(2, "vm: /bin/sh: %m\n");
		_exit(127);
	}
	for (i = 0; i < (want_tty ? 1 : 3); i++)
		close(c->child[i]);
	return pid;
}

/* Passes on what can be read now. False when there is nothing, *fd -1 when all is over. */
static bool pass_output(int *fd, enum vm_frame_type type)
{
	char buf[VM_FRAME_MAX];
	ssize_t n;

	if (*fd < 0)
		return false;
	n = read(*fd, buf, sizeof(buf));
	if (n > 0) {
		send_frame(type, buf, n);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		/* EIO is how a terminal says it: everyone has closed the other side */
		*fd = -1;
	}
	return false;
}

static bool reap(pid_t pid, int *status)
{
	bool ended = false;
	int s;
	pid_t p;

	while ((p = waitpid(-1, &s, WNOHANG)) > 0) {
		if (p == pid) {
			*status = WIFSIGNALED(s) ? 128 + WTERMSIG(s) : WEXITSTATUS(s);
			ended = true;
		}
	}
	return ended;
}

/* Until the command ends. Input that it does not read yet waits in rx_data. */
static int carry(struct channel *c, pid_t pid, int sigchld)
{
	size_t in_done = 0, in_len = 0;
	int status = 0;

	for (;;) {
		struct pollfd p[] = {
			{ .fd = sigchld, .events = POLLIN },
			{ .fd = c->out, .events = POLLIN },
			{ .fd = c->err, .events = POLLIN },
			{ .fd = in_len ? -1 : port, .events = POLLIN },
			{ .fd = in_len ? c->in : -1, .events = POLLOUT },
		};

		if (poll(p, 5, -1) < 0 && errno != EINTR)
			die("poll");
		if (p[0].revents) {
			struct signalfd_siginfo info;

			read(sigchld, &info, sizeof(info));
			if (reap(pid, &status))
				break;
		}
		if (p[1].revents)
			pass_output(&c->out, VM_STDOUT);
		if (p[2].revents)
			pass_output(&c->err, VM_STDERR);
		if (p[3].revents) {
			read_frame();
			if (rx.type == VM_TTY) {
				set_winsize();
				ioctl(c->in, TIOCSWINSZ, &winsize);
			} else if (rx.type == VM_STDIN && c->in >= 0) {
				in_len = rx.len;
				in_done = 0;
				if (!in_len) {
					close(c->in);
					c->in = -1;
				}
			}
		}
		if (p[4].revents) {
			ssize_t n = write(c->in, rx_data + in_done, in_len - in_done);

			if (n > 0) {
				in_done += n;
			} else if (errno != EAGAIN && errno != EINTR) {
				in_done = in_len;	/* it reads no more: drop it */
				close(c->in);
				c->in = -1;
			}
			if (in_done == in_len)
				in_len = 0;
		}
	}
	while (pass_output(&c->out, VM_STDOUT))
		;
	while (pass_output(&c->err, VM_STDERR))
		;
	return status;
}

int main(int argc, char **argv)
{
	struct channel channel;
	sigset_t mask;
	uint32_t status;
	int sigchld;
	pid_t pid;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	sigchld = signalfd(-1, &mask, SFD_CLOEXEC);

	mkdir("/dev", 0755);
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) && errno != EBUSY)
		die("/dev");
	open_port();
	make_root();
	/* Before it, the kernel gives us all parameters that it does not know. */
	if (argc > 2 && !strcmp(argv[argc - 2], "-c"))
		command = argv[argc - 1];
	read_request();
	mount_out_dir();

	pid = start_command(&channel);
	status = carry(&channel, pid, sigchld);
	send_frame(VM_EXIT, &status, sizeof(status));
	do
		read_frame();
	while (rx.type != VM_BYE);
	power_off();
}
