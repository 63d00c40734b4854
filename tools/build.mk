# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What every program below tools/ is built with. A directory's Makefile sets
# nothing but names, and includes this.

TOP	:= $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/..)
O	?= $(TOP)/build/tools
PREFIX	?= /usr/local
DESTDIR	?=

CC	?= cc
AR	?= ar
PKGCONF	?= pkgconf
CFLAGS	?= -O2 -g
WARN	:= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	   -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers -Werror
CPPFLAGS += -D_GNU_SOURCE -I$(TOP)/include/uapi -I$(TOP)/tools/libqoff/include
ALL_CFLAGS = -std=gnu11 $(WARN) $(CPPFLAGS) $(CFLAGS)

# SANITIZE=address,undefined
ifneq ($(SANITIZE),)
ALL_CFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all
ALL_LDFLAGS += -fsanitize=$(SANITIZE)
endif

LIBQOFF_A	:= $(O)/libqoff/libqoff.a
LIBQOFF_LIBS	= $(shell $(PKGCONF) --libs libmnl libcrypto) -lpthread

ifeq ($(V),)
Q	:= @
say	= @printf '  %-7s %s\n' $(1) $(patsubst $(O)/%,%,$@)
else
Q	:=
say	= @:
endif
