// SPDX-License-Identifier: GPL-2.0-only
/*
 * How does a program crash so that its stack does not tell why?
 *
 * A job queue: each argument names a job, each job is run. The name is copied
 * into a field of fixed size without a look at its length, and the rest of a
 * long name overwrites the pointer to the job's function, next to it. Nothing
 * happens until the job is run, several calls away from the copy. The call to
 * the wild address is a tail call: its function has left the stack by then,
 * and nothing on the stack says which one it was.
 *
 * A name of up to 6 characters more than fit makes a pointer to where nothing
 * is mapped. From 7 on it is no longer a canonical address: a processor faults
 * before it branches there, and there is no branch to be recorded.
 */
#include <stdio.h>
#include <stdlib.h>

#define MAX_JOBS	32
#define NAME_SIZE	16

struct job {
	char name[NAME_SIZE];
	int (*run)(struct job *job);
	unsigned int priority;
};

struct queue {
	struct job *jobs[MAX_JOBS];
	unsigned int length;
};

static int run_report(struct job *job)
{
	printf("report %s\n", job->name);
	return 0;
}

static int run_mail(struct job *job)
{
	printf("mail %s\n", job->name);
	return 0;
}

static const struct kind {
	char letter;
	int (*run)(struct job *job);
} kinds[] = {
	{ 'm', run_mail },
	{ 'r', run_report },
};

/* The mistake: copies until the end of the text, not of the field. */
static void copy_name(char *to, const char *from)
{
	while ((*to++ = *from++))
		;
}

static const struct kind *find_kind(char letter)
{
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) - 1; i++)
		if (kinds[i].letter == letter)
			break;
	return &kinds[i];
}

static struct job *create_job(const char *name)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		exit(EXIT_FAILURE);
	job->run = find_kind(name[0])->run;
	job->priority = name[0] == 'm';
	copy_name(job->name, name);
	return job;
}

static void add_job(struct queue *queue, const char *name)
{
	if (queue->length < MAX_JOBS)
		queue->jobs[queue->length++] = create_job(name);
}

/* The way to the crash: each calls the next as the last thing it does. */
static int dispatch(struct job *job)
{
	return job->run(job);
}

static int run_job(struct job *job)
{
	if (!job->name[0])
		return 0;
	return dispatch(job);
}

static int run_priority(struct queue *queue, unsigned int priority)
{
	unsigned int i;
	int failed = 0;

	for (i = 0; i < queue->length; i++)
		if (queue->jobs[i]->priority == priority)
			failed += run_job(queue->jobs[i]);
	return failed;
}

static int run_queue(struct queue *queue)
{
	return run_priority(queue, 1) + run_priority(queue, 0);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {
		"mail-daily", "report-weekly", "report-quarter-zurich",
	};
	struct queue queue = { .length = 0 };
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 1; i < argc; i++)
		add_job(&queue, argv[i]);
	if (argc == 1)
		for (i = 0; i < 3; i++)
			add_job(&queue, names[i]);
	return run_queue(&queue) ? EXIT_FAILURE : EXIT_SUCCESS;
}
