# SPDX-License-Identifier: GPL-2.0
#
# Everything is compiled and run in the lab root that 'make lab' makes; this machine gives make,
# debootstrap and apt. 'make modules KDIR=...' alone uses this machine's compiler.

LAB	:= kernel/lab
ENTER	= $(LAB)/enter --

.DEFAULT_GOAL := help

help: ## this list
	@echo "Targets:"
	@sed -n 's/^\([a-z-]*\):.* ## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | \
		while IFS="$$(printf '\t')" read -r t d; do printf '  %-14s %s\n' "$$t" "$$d"; done
	@echo "Variables: ACCEL=auto|tcg|kvm  J=<jobs>  W=1 C=2 (modules)  QOFF_CACHE=<dir>  DEBIAN_MIRROR=<url>"

lab: ## the lab root (Debian 13) and the base kernel
	@$(LAB)/make-root
	@$(LAB)/make-kernel base

lab-clean: ## remove roots, kernels and downloads from the cache
	@$(LAB)/clean

modules: ## the modules for the lab kernel, or KDIR=<kernel build directory>
	@$(LAB)/make-modules $(if $(KDIR),"$(KDIR)",base) $(if $(W),W=$(W)) $(if $(C),C=$(C)) $(if $(V),V=$(V))

intree: ## the tree inside a copy of linux-source, built =y and =m with W=1
	@$(LAB)/make-intree

tools: | need-root ## libraries and programs, in build/tools
	@$(ENTER) make -C tools --no-print-directory -j$${J:-$$(nproc)} O=/src/build/tools $(if $(V),V=$(V))

selftests: tools ## programs of the tests, in build/selftests
	@$(ENTER) make -C selftests --no-print-directory -j$${J:-$$(nproc)} O=/src/build/selftests $(if $(V),V=$(V))

demo: | need-root ## Table 3: NIC= TRAFFIC= MIX= SIZE= CIPHER= ROWS= (see README)
	@selftests/demo

conform: ## conformance of a NIC: DEV=eth0,eth1, or REMOTE=ssh:host, or none for NIC=quicsim (see README)
	@selftests/conform/run

bench: | need-root ## what a datagram costs in software, in guest instructions
	@selftests/bench

nic: | need-root ## a guest with two ConnectX-7 models, wired, and a shell; KERNEL=stock MODEL='--trace ...'
	@firmware-iface/model/nic

check: ## all tests, bounded; STAGES='10-lab 20-*' narrows
	@$(LAB)/check $(STAGES)

check-full: ## all tests with their full counts
	@QOFF_FULL=1 $(LAB)/check $(STAGES)

clean: ## remove build/
	rm -rf build

need-root:
	@$(LAB)/make-root --quiet

export ACCEL J QOFF_CACHE DEBIAN_MIRROR NIC TRAFFIC MIX SIZE CIPHER ROWS DEV

export COUNT

.PHONY: help lab lab-clean modules intree tools selftests demo conform bench check check-full clean need-root
