// SPDX-License-Identifier: GPL-2.0-only
/*
 * How can `make vm` exit as the command did? GNU make turns every failure of a recipe into
 * its own status 2, and says so. Loaded into make, this adds the function
 * $(exec PROGRAM,ARGUMENT...), by which make becomes the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gnumake.h>

int plugin_is_GPL_compatible;
int make_exec_setup(void);

static char *do_exec(const char *name, unsigned int argc, char **argv)
{
	char **args = calloc(argc + 1, sizeof(*args));

	(void)name;
	if (args) {
		memcpy(args, argv, argc * sizeof(*args));
		execv(args[0], args);
	}
	perror(argv[0]);
	exit(125);
}

int make_exec_setup(void)
{
	gmk_add_function("exec", do_exec, 1, 0, GMK_FUNC_DEFAULT);
	return 1;
}
