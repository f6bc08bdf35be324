// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is the name of an address in a running program?
 *
 * libdwfl reads the modules mapped, their symbols and, where it is installed,
 * separate debug information. Names are kept: a trace has the same addresses
 * over and over, and libdwfl searches symbols from first to last.
 */
#define _GNU_SOURCE
#include <elfutils/libdwfl.h>
#include <err.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "btrace.h"

struct name {
	uint64_t address;
	char *text;
};

struct symbols {
	Dwfl *dwfl;
	char program[PATH_MAX];		/* needs no module name */
	void *names;			/* tsearch(3) tree of struct name */
};

static char *debuginfo_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &debuginfo_path,
};

/**
 * symbols_open - take notice of what is mapped in a program
 * @tid: one of its threads, stopped
 *
 * Returns: the symbols, for symbols_close(); without any names where the
 * mappings cannot be read.
 */
struct symbols *symbols_open(pid_t tid)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	char link[32];
	int error;

	if (!symbols)
		err(EXIT_BTRACE, NULL);

	snprintf(link, sizeof(link), "/proc/%d/exe", tid);
	if (readlink(link, symbols->program, sizeof(symbols->program) - 1) < 0)
		symbols->program[0] = '\0';

	symbols->dwfl = dwfl_begin(&callbacks);
	if (!symbols->dwfl)
		errx(EXIT_BTRACE, "libdwfl: %s", dwfl_errmsg(-1));
	error = dwfl_linux_proc_report(symbols->dwfl, tid);
	if (error || dwfl_report_end(symbols->dwfl, NULL, NULL))
		warnx("no symbols: %s", error > 0 ? strerror(error) : dwfl_errmsg(-1));
	return symbols;
}

/* Nothing for the program itself, "[vdso]:" for the vDSO, else "libc.so.6:". */
static void print_module(FILE *f, const struct symbols *symbols, const char *path)
{
	const char *base = strrchr(path, '/');

	if (!strcmp(path, symbols->program))
		return;
	/* libdwfl gives it the process ID: "[vdso: 1234]". */
	if (!strncmp(path, "[vdso", strlen("[vdso")))
		path = "[vdso]";
	else if (base)
		path = base + 1;
	fprintf(f, "%s:", path);
}

static void print_name(FILE *f, const struct symbols *symbols, uint64_t address)
{
	Dwfl_Module *module = dwfl_addrmodule(symbols->dwfl, address);
	const char *path, *symbol;
	GElf_Addr start, end;
	GElf_Off offset;
	GElf_Sym sym;

	path = module ? dwfl_module_info(module, NULL, &start, &end,
					 NULL, NULL, NULL, NULL) : NULL;
	symbol = path ? dwfl_module_addrinfo(module, address, &offset, &sym,
					     NULL, NULL, NULL) : NULL;
	if (symbol) {
		print_module(f, symbols, path);
		/* Without the version: memcpy@@GLIBC_2.14 */
		fprintf(f, "%.*s+0x%" PRIx64, (int)strcspn(symbol, "@"), symbol,
			offset);
	} else if (path && address >= start && address < end) {
		path = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
		fprintf(f, "%s+0x%" PRIx64, path, address - start);
	} else {
		fprintf(f, "0x%" PRIx64, address);
	}
}

static int compare_names(const void *a, const void *b)
{
	const struct name *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

/**
 * symbols_name - the name of an address
 * @symbols: where to look
 * @address: of code or data in the program
 *
 * Returns: "function+0x1c", "library.so:function+0x1c" outside the program's
 * own file, "library.so+0x101c" where no symbol covers the address, or
 * "0x101c" where nothing is mapped. Valid until symbols_close().
 */
const char *symbols_name(struct symbols *symbols, uint64_t address)
{
	struct name key = { .address = address }, **found, *name;
	size_t length;
	FILE *f;

	found = tfind(&key, &symbols->names, compare_names);
	if (found)
		return (*found)->text;

	name = malloc(sizeof(*name));
	if (!name)
		err(EXIT_BTRACE, NULL);
	name->address = address;
	f = open_memstream(&name->text, &length);
	if (!f)
		err(EXIT_BTRACE, NULL);
	print_name(f, symbols, address);
	if (fclose(f) || !tsearch(name, &symbols->names, compare_names))
		err(EXIT_BTRACE, NULL);
	return name->text;
}

static void free_name(void *node)
{
	struct name *name = node;

	free(name->text);
	free(name);
}

void symbols_close(struct symbols *symbols)
{
	tdestroy(symbols->names, free_name);
	dwfl_end(symbols->dwfl);
	free(symbols);
}
