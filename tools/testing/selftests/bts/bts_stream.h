/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How do the branches of several threads go through one pipe, from bts_stream to
 * bts_stream_compare? As a frame, and what it announces, after the other.
 */
#ifndef BTS_STREAM_H
#define BTS_STREAM_H

#include <stdint.h>

enum stream_kind {
	/* A thread starts that has this number; another one with it has ended. */
	STREAM_START,
	/* @nr branches follow, each the two addresses. */
	STREAM_BRANCHES,
	/* The thread ended; @nr records were lost, as the kernel told. */
	STREAM_END,
};

struct stream_frame {
	uint32_t	thread;
	uint32_t	kind;
	uint64_t	nr;
	/* Stops for a full buffer since the last frame of the thread */
	uint64_t	stops;
};

#endif
