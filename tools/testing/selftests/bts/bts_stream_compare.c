// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do the streams that bts_stream drained and the emulator's log tell the same
 * branches, record by record?
 *
 * Reads both while they are made; neither is kept. The log has a line per record
 * (see bts_split): those of one address space, in their order, are to be the
 * streams of the threads that ran there one after the other. Which space is whose,
 * the first record tells, so programs that run at the same time begin at different
 * addresses.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bts_stream.h"

/* Bits of CR3 that say which half of the page tables, and which PCID. */
#define CR3_MASK	(~0x1fffULL & INT64_MAX)

#define CONTEXT		4

struct branch {
	uint64_t	from, to;
};

/* Branches that the other side has not told yet: those from @first to @end */
struct queue {
	struct branch	*branches;
	size_t		first, end, size;
};

struct space {
	uint64_t	cr3;
	struct queue	log;
	/* When its next branch was logged, in records of the log */
	uint64_t	head;
	struct thread	*owner;
	struct space	*next;
};

struct thread {
	uint32_t	number;
	struct queue	stream;
	struct space	*space;
	bool		ended, done;
	/* Records: equal ones, those in the log only, those lost as the kernel said */
	uint64_t	same, missing, lost;
	uint64_t	stops;
	struct thread	*next;
};

static struct space *spaces;
static struct thread *threads, **last_thread = &threads;
static uint64_t logged, dropped;
static bool lossy, may_drop, failed, log_complete;

static void put(struct queue *q, const struct branch *b)
{
	if (q->end == q->size) {
		if (q->first > q->size / 2) {
			memmove(q->branches, q->branches + q->first,
				(q->end - q->first) * sizeof(*b));
			q->end -= q->first;
			q->first = 0;
		} else {
			q->size = q->size ? 2 * q->size : 4096;
			q->branches = realloc(q->branches, q->size * sizeof(*b));
			if (!q->branches)
				err(2, "%zu branches", q->size);
		}
	}
	q->branches[q->end++] = *b;
}

static bool same(const struct branch *a, const struct branch *b)
{
	return a->from == b->from && a->to == b->to;
}

static bool empty(const struct queue *q)
{
	return q->first == q->end;
}

/* Both around the place where they part */
static void report(const struct thread *t)
{
	const struct queue *a = &t->stream, *b = &t->space->log;
	size_t i;

	failed = true;
	printf("# thread %u: branch %lu differs\n", t->number, t->same);
	for (i = 0; i < 2 * CONTEXT; i++) {
		const struct branch *x = a->first + i < a->end ? &a->branches[a->first + i] : NULL;
		const struct branch *y = b->first + i < b->end ? &b->branches[b->first + i] : NULL;

		if (x)
			printf("# drained %16lx -> %-16lx", x->from, x->to);
		else
			printf("# drained %16s    %-16s", "-", "-");
		if (y)
			printf(" | logged %16lx -> %-16lx", y->from, y->to);
		printf("\n");
	}
}

/* The space whose log begins as the stream does, the earliest of several */
static void find_space(struct thread *t)
{
	struct space *space;

	for (space = spaces; space; space = space->next) {
		if ((space->owner && !space->owner->done) || empty(&space->log) ||
		    !same(&t->stream.branches[t->stream.first],
			  &space->log.branches[space->log.first]))
			continue;
		if (!t->space || space->head < t->space->head)
			t->space = space;
	}
	if (t->space)
		t->space->owner = t;
}

static void advance(struct thread *t)
{
	struct queue *a = &t->stream, *b;

	if (!t->space && !empty(a))
		find_space(t);
	if (t->space) {
		b = &t->space->log;
		while (!empty(a) && !empty(b)) {
			if (same(&a->branches[a->first], &b->branches[b->first])) {
				a->first++;
				t->same++;
			} else if (lossy) {
				t->missing++;
			} else {
				report(t);
				return;
			}
			b->first++;
			/* Only for find_space() of a later one */
			t->space->head = logged;
		}
	}
	if (t->ended && empty(a)) {
		t->done = true;
		free(a->branches);
		memset(a, 0, sizeof(*a));
	}
}

static void advance_all(void)
{
	struct thread *t;

	for (t = threads; t && !failed; t = t->next)
		if (!t->done)
			advance(t);
}

/* Everything that can be read now; false at the end of the file. */
static bool fill(int fd, char *buffer, size_t *len, size_t size)
{
	ssize_t n = read(fd, buffer + *len, size - *len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n < 0)
		err(2, "read");
	*len += n;
	return n > 0;
}

static const char *number(const char *p, int base, uint64_t *value)
{
	*value = 0;
	for (; *p == ' '; p++)
		;
	for (;; p++) {
		int digit = *p >= '0' && *p <= '9' ? *p - '0' :
			    *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : base;

		if (digit >= base)
			return p;
		*value = *value * base + digit;
	}
}

static void log_line(const char *line)
{
	uint64_t cpu, before, after, cr3, nr;
	struct branch branch;
	struct space *space;
	const char *p;

	if (sscanf(line, "dropped %lu %lu", &cpu, &nr) == 2) {
		dropped += nr;
		log_complete = true;
		return;
	}
	p = number(line, 10, &cpu);
	p = number(p, 10, &before);
	p = number(p, 10, &after);
	p = number(p, 16, &cr3);
	p = number(p, 16, &branch.from);
	p = number(p, 16, &branch.to);
	if (*p)
		errx(2, "not a line of the log: %s", line);
	logged++;
	if (before != 3 || after != 3)
		return;

	cr3 &= CR3_MASK;
	for (space = spaces; space && space->cr3 != cr3; space = space->next)
		;
	if (!space) {
		space = calloc(1, sizeof(*space));
		if (!space)
			err(2, "address space");
		space->cr3 = cr3;
		space->next = spaces;
		spaces = space;
	}
	if (empty(&space->log))
		space->head = logged;
	put(&space->log, &branch);
}

static bool read_log(int fd)
{
	static char buffer[1 << 18];
	static size_t len;
	char *line = buffer, *end;
	bool more = fill(fd, buffer, &len, sizeof(buffer));

	while ((end = memchr(line, '\n', buffer + len - line))) {
		*end = 0;
		if (!failed)
			log_line(line);
		line = end + 1;
	}
	len -= line - buffer;
	memmove(buffer, line, len);
	return more;
}

static struct thread *running(uint32_t number)
{
	struct thread *t;

	for (t = threads; t; t = t->next)
		if (t->number == number && !t->ended)
			return t;
	errx(2, "thread %u has not started", number);
}

static void start(uint32_t number)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (!t)
		err(2, "thread");
	t->number = number;
	*last_thread = t;
	last_thread = &t->next;
}

static bool read_stream(int fd)
{
	static struct stream_frame frame;
	static char buffer[1 << 18];
	static size_t len;
	static struct thread *t;
	char *p = buffer;
	bool more = fill(fd, buffer, &len, sizeof(buffer));

	for (;;) {
		size_t left = buffer + len - p;

		if (frame.nr) {
			struct branch branch;

			if (left < sizeof(branch))
				break;
			memcpy(&branch, p, sizeof(branch));
			p += sizeof(branch);
			frame.nr--;
			if (!failed)
				put(&t->stream, &branch);
			continue;
		}
		if (left < sizeof(frame))
			break;
		memcpy(&frame, p, sizeof(frame));
		p += sizeof(frame);
		if (frame.kind == STREAM_START)
			start(frame.thread);
		t = running(frame.thread);
		t->stops += frame.stops;
		if (frame.kind == STREAM_END) {
			t->lost = frame.nr;
			t->ended = true;
			frame.nr = 0;
		}
	}
	len -= p - buffer;
	memmove(buffer, p, len);
	return more;
}

static void complain(const char *what)
{
	printf("# %s\n", what);
	failed = true;
}

static void check_end(unsigned long least)
{
	uint64_t lost = 0, missing = 0;
	struct space *space;
	struct thread *t;

	for (space = spaces; space; space = space->next) {
		size_t left = space->log.end - space->log.first;

		if (!left)
			continue;
		if (lossy && space->owner) {
			space->owner->missing += left;
			continue;
		}
		printf("# %zu branches are in the log only, the first %lx -> %lx\n",
		       left, space->log.branches[space->log.first].from,
		       space->log.branches[space->log.first].to);
		failed = true;
	}
	for (t = threads; t; t = t->next) {
		printf("# thread %u: %lu branches, %lu stops, %lu lost, %lu more in the log\n",
		       t->number, t->same, t->stops, t->lost, t->missing);
		if (!t->done)
			complain("its end is missing, or is not in the log");
		if (!t->stops)
			complain("it never stopped for a full buffer");
		if (!t->number && t->same < least)
			complain("it took too few branches");
		if (dropped ? t->lost < t->missing : t->lost != t->missing)
			complain("that is not what was lost");
		lost += t->lost;
		missing += t->missing;
	}
	printf("# the hardware dropped %lu records\n", dropped);
	if (!threads)
		complain("nothing was traced");
	if (lossy != !!lost)
		complain(lossy ? "nothing was lost" : "records were lost");
	if (may_drop != !!dropped)
		complain(dropped ? "the hardware dropped records" : "the hardware dropped none");
	if (dropped && lost <= missing)
		complain("what the hardware dropped was not told");
}

int main(int argc, char **argv)
{
	bool log_open = false, more = true;
	unsigned long least = 1;
	struct pollfd in[2];
	int opt;

	while ((opt = getopt(argc, argv, "dln:")) != -1) {
		switch (opt) {
		case 'd':
			may_drop = true;
			break;
		case 'l':
			lossy = true;
			break;
		case 'n':
			least = strtoul(optarg, NULL, 0);
			break;
		default:
			goto usage;
		}
	}
	if (argc - optind != 1)
		goto usage;

	/* The emulator may never come to open it. */
	in[0] = (struct pollfd) {
		.fd = open(argv[optind], O_RDONLY | O_NONBLOCK), .events = POLLIN };
	in[1] = (struct pollfd) { .fd = 0, .events = POLLIN };
	if (in[0].fd < 0)
		err(2, "%s", argv[optind]);
	while (in[1].fd >= 0 || (log_open && more)) {
		if (poll(in, 2, -1) < 0)
			err(2, "poll");
		if (in[0].revents) {
			more = read_log(in[0].fd);
			log_open |= more;
			if (log_open && !more)
				in[0].fd = -1;
		}
		if (in[1].revents && !read_stream(0))
			in[1].fd = -1;
		advance_all();
	}
	if (!failed && !log_complete)
		complain("the end of the log is missing");
	if (!failed)
		check_end(least);
	return failed;

usage:
	fprintf(stderr,
		"usage: bts_stream_compare [-l [-d]] [-n BRANCHES] LOG <STREAMS\n"
		"Exits with 0 where all is the same and nothing was dropped, 1 where not, 2 on\n"
		"errors. LOG can be a pipe.\n"
		"  -n BRANCHES  the first thread of every run took at least so many\n"
		"  -l           some were lost, and just as many as the kernel says; for one\n"
		"               run of bts_stream\n"
		"  -d           the hardware dropped some, and the kernel says that there are more\n");
	return 2;
}
