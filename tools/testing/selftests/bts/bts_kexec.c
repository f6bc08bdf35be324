// SPDX-License-Identifier: GPL-2.0-only
/*
 * How does one kernel hand the machine to another one? Loads a kernel and starts it at
 * once, without a word to anybody; or, as a crash kernel, by a panic.
 *
 * Knows of no trace: whoever wants to see what becomes of one traces this program.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

int main(int argc, char **argv)
{
	bool crash = argc > 1 && !strcmp(argv[1], "-p");
	char **args = argv + 1 + crash;

	if (argc != 4 + crash) {
		fprintf(stderr, "usage: bts_kexec [-p] KERNEL INITRAMFS COMMAND-LINE\n");
		return 1;
	}
	if (syscall(SYS_kexec_file_load, open_file(args[0], O_RDONLY),
		    open_file(args[1], O_RDONLY), strlen(args[2]) + 1, args[2],
		    crash ? KEXEC_FILE_ON_CRASH : 0))
		err(1, "kexec_file_load");

	if (crash)
		write(open_file("/proc/sysrq-trigger", O_WRONLY), "c", 1);
	else
		syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
			LINUX_REBOOT_CMD_KEXEC, NULL);
	err(1, "the other kernel does not start");
}
