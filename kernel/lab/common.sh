# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# What every script of the lab agrees on: where things are and what names them.
# Sourced with LAB_DIR set to the directory of this file.

# One cache serves any number of checkouts: everything in it is named by a hash of its inputs.
QOFF_CACHE=${QOFF_CACHE:-/var/cache/quic-offload}
TREE=$(cd "$LAB_DIR/../.." && pwd)

SUITE=trixie
# Raise when make-root changes what a root contains for an unchanged package list.
ROOT_VERSION=1
# The same for make-kernel.
KERNEL_VERSION=1

say() { printf '%s\n' "lab: $*"; }
die() { printf '%s\n' "lab: error: $*" >&2; exit 1; }

hash12() { sha256sum | cut -c1-12; }

need_root() {
	[ "$(id -u)" = 0 ] || die "this needs root (mounts, chroot): run it as root or with sudo"
}

# Prints "name suffix" for each entry of the package list; suffix is "-" or "backports".
lab_packages() {
	sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$LAB_DIR/packages" |
		while IFS=/ read -r name suffix; do echo "$name ${suffix:--}"; done
}

lab_root_key() {
	{ echo "$SUITE $ROOT_VERSION"; lab_packages | sort; } | hash12
}

lab_root() { echo "$QOFF_CACHE/root-$(lab_root_key)"; }

# Version of an installed lab package.
lab_version() {
	awk -v p="$1" '$1 == p { print $2; exit }' "$(lab_root)/etc/lab-versions"
}

lab_have_root() { [ -e "$(lab_root)/etc/lab-versions" ]; }

# Every file of the patch series in order, as paths.
patch_files() {
	d=$TREE/kernel/patches/6.12
	[ -e "$d/series" ] || return 0
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$d/series" | while read -r p; do
		[ -e "$d/$p" ] || die "kernel/patches/6.12/series names $p, which does not exist"
		echo "$d/$p"
	done
}

patch_key() {
	files=$(patch_files) || exit 1
	if [ -z "$files" ]; then
		echo plain
	else
		# shellcheck disable=SC2086 # one word a path; the tree has no blanks in these names
		cat $files | hash12
	fi
}

# The kernel source with the series applied. It is always seen at /usr/src/linux in the lab, so
# that neither objects nor ccache depend on the hash.
linux_tree() {
	echo "$QOFF_CACHE/src/linux-$(lab_version linux-source-6.12)-$(patch_key)"
}

kernel_fragments() {
	case $1 in
	base) echo base ;;
	debug) echo base debug ;;
	*) die "no kernel flavour '$1': base or debug" ;;
	esac
}

kernel_key() {
	frags=$(kernel_fragments "$1") || exit 1
	{
		echo "$KERNEL_VERSION $(lab_version linux-source-6.12) $(lab_version gcc) $(patch_key)"
		for f in $frags; do
			sed -e '/^#/d' -e '/^$/d' "$TREE/kernel/config/$f.config"
		done
	} | hash12
}

kernel_dir() { echo "$QOFF_CACHE/kernels/$1-$(kernel_key "$1")"; }

# Release of Debian's own kernel in the lab.
stock_release() {
	sed -n 's/^linux-headers-\([0-9.]*+[^ ]*-amd64\) .*/\1/p' "$(lab_root)/etc/lab-versions" | head -n 1
}
