# SPDX-License-Identifier: GPL-2.0-only
#
# The commands of the project; what they do is in scripts/.

.DEFAULT_GOAL := help
.PHONY: help demo check check-debug check-series vm shell series build
.SILENT:

TIMEOUT ?= 600

help:
	echo "make demo            from nothing to the branches that led a program to its crash"
	echo "make check           all tests; the last line says how many passed and failed"
	echo "make check-debug     the kernel's tests again, on kernels that watch themselves (KASAN,"
	echo "                     lockdep, kmemleak, KCSAN, ...); whatever these report fails them"
	echo "make vm CMD='...'    run a command in the kernel built here, as root, in this"
	echo "                     directory, with this machine's files; what it writes to them"
	echo "                     is discarded; its output and exit status are make's"
	echo "make shell           the same, interactive"
	echo "make series          write the kernel patches as mail to series/"
	echo "make check-series    is each of them fit to be mailed? One line a patch and check"
	echo "make help            this"
	echo
	echo "Variables: TIMEOUT=SECONDS   for vm: give up after this long (600; 0: never)"
	echo "           VMFLAGS='...'     for vm and shell: options of scripts/vm (--help lists"
	echo "                             them), e.g. VMFLAGS=\"--cpus 4 --append nopti\""
	echo "           TESTS=PATTERN     for check and check-debug: only the groups of that name,"
	echo "                             e.g. 'kselftest*' or 'kcsan *'"
	echo "           LINUX_DS_CACHE    where what is downloaded and built is kept"
	echo "                             (~/.cache/linux-ds, a few gigabytes)"

demo:
	scripts/demo

check:
	scripts/check $(if $(TESTS),'$(TESTS)')

check-debug:
	scripts/check --debug $(if $(TESTS),'$(TESTS)')

series:
	scripts/series

check-series:
	scripts/check-series

build:
	scripts/build

# These two end as the command did. A recipe could not: make turns every failure into its
# own status 2. So make becomes scripts/vm, by a function loaded into it (make-exec.c).
# Where that cannot be, they are recipes, and scripts/vm itself gives the exact status.
ifneq ($(filter vm shell,$(MAKECMDGOALS)),)
cache := $(or $(LINUX_DS_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/linux-ds)
make_exec := $(cache)/make-exec.so
ifeq ($(words $(cache)),1)
$(make_exec): scripts/make-exec.c
	scripts/packages && mkdir -p $(cache) && cc -shared -fPIC -o $@.tmp $< && mv $@.tmp $@ || :
-load $(make_exec)(make_exec_setup)
endif

dry_run := $(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
run_vm = $(if $(.LOADED),$(if $(dry_run),echo,$(exec /bin/sh,-c,exec "$$0" $1 "$$@",$(CURDIR)/scripts/vm,--,$2)))

# A command in single quotes for the shell
quote = '$(subst ','\'',$1)'
endif

vm: build
	$(if $(value CMD),,$(error CMD is empty: make vm CMD='...'))
	$(call run_vm,--timeout '$(TIMEOUT)' $(VMFLAGS),$(value CMD))
	$(if $(.LOADED),,scripts/vm --timeout '$(TIMEOUT)' $(VMFLAGS) -- $(call quote,$(value CMD)))

shell: build
	$(call run_vm,--tty --timeout 0 $(VMFLAGS),exec $${SHELL:-bash} -i)
	$(if $(.LOADED),,scripts/vm --tty --timeout 0 $(VMFLAGS) -- 'exec $${SHELL:-bash} -i')
