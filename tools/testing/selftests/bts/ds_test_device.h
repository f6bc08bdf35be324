/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How does a program use /dev/ds_test, the kernel's test device for its own
 * consumers of branches? The requests as functions.
 */
#ifndef DS_TEST_DEVICE_H
#define DS_TEST_DEVICE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "../../../../arch/x86/kernel/ds/ds_test_device_uapi.h"

#define DS_TEST_DEVICE	"/dev/ds_test"

/* Records, on a processor that filters by CPL: no buffer is smaller than that, */
#define DS_TEST_LEAST		512
/* and when there is not more room than that, it is full. */
#define DS_TEST_HEADROOM	260

struct ds_test_branch {
	uint64_t	from, to;
};

static inline int ds_test_open(void)
{
	return open(DS_TEST_DEVICE, O_RDONLY | O_CLOEXEC);
}

/* 0, or a negative error number. */
static inline int ds_test_start(int fd, const struct ds_test_config *config)
{
	return ioctl(fd, DS_TEST_START, config) ? -errno : 0;
}

static inline int ds_test_stop(int fd)
{
	return ioctl(fd, DS_TEST_STOP) ? -errno : 0;
}

static inline int ds_test_stats(int fd, struct ds_test_stats *stats)
{
	return ioctl(fd, DS_TEST_STATS, stats) ? -errno : 0;
}

#endif
