// SPDX-License-Identifier: GPL-2.0-only
/*
 * How does a program crash so that its stack does not tell why?
 *
 * A list of jobs, one for each argument. The name of a job is copied into a
 * field of fixed size without a look at its length: the rest of a long name
 * overwrites the pointer to the job's function. Nothing happens until it is
 * called, long after. The compiler makes jumps of the calls that a function
 * ends with, so nothing on the stack says who called it, nor who called that.
 *
 * Up to 6 characters too many make a pointer to where nothing is mapped. With
 * more it is no canonical address: the processor does not even branch there.
 */
#include <stdio.h>
#include <stdlib.h>

#define NAME_SIZE	16

struct job {
	char name[NAME_SIZE];
	int (*run)(struct job *job);
	struct job *next;
};

static int next_job(struct job *job);

static int run_mail(struct job *job)
{
	printf("mail %s\n", job->name);
	return next_job(job);
}

static int run_report(struct job *job)
{
	printf("report %s\n", job->name);
	return next_job(job);
}

static int dispatch(struct job *job)
{
	return job->run(job);
}

static int start_job(struct job *job)
{
	if (!job)
		return 0;
	return dispatch(job);
}

static int next_job(struct job *job)
{
	return start_job(job->next);
}

/* The mistake: copies until the end of the text, not of the field. */
static void copy_name(char *to, const char *from)
{
	while ((*to++ = *from++))
		;
}

static struct job *create_job(const char *name)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		exit(EXIT_FAILURE);
	job->run = name[0] == 'm' ? run_mail : run_report;
	copy_name(job->name, name);
	return job;
}

static struct job *create_jobs(const char *const *names)
{
	struct job *first = NULL, **last = &first;

	for (; *names; names++) {
		*last = create_job(*names);
		last = &(*last)->next;
	}
	return first;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {
		"mail-daily", "report-weekly", "report-quarter-zurich", NULL
	};

	/* Lines already printed are not to be lost in the crash. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		return start_job(create_jobs((const char *const *)argv + 1));
	return start_job(create_jobs(names));
}
