# make install           libchime, its headers, chime.pc and the CMake package Chime
# make install-archive   the same, and libchime.a with chime-static.pc
# make install-debug     the same, and for gdb the library's symbols, and chime.gdb with the command chime-dump
# make uninstall         removes what these installed, whichever of them it was, and the directories that they made
#
# PREFIX=/usr/local, LIBDIR=$(PREFIX)/lib, INCLUDEDIR=$(PREFIX)/include: absolute; give uninstall the same ones.
# DESTDIR= stands before each of them, for packages: then nothing is recorded for uninstall, since a package manager does
# that, and what a package has is what is staged. LIB=build/lib is where the built libraries are: there they are
# built anew when a source is newer, so that `make install` by another user, after `make`, needs no Swift; in any other
# directory they are taken as they are.
#
# The library is a file named by its SONAME and the version of chime.h, with two links to it: libchime.so, which the
# linker looks for, and libchime.so.0, which a program that was linked to it looks for.

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DESTDIR ?=
LIB ?= $(BUILD)/lib

VERSION := $(shell awk '/^.define CHIME_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $$3; dot = "." }' \
             ../include/chime.h)

INSTALLER = PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' INCLUDEDIR='$(INCLUDEDIR)' DESTDIR='$(DESTDIR)' LIB='$(LIB)' CDEF='$(BUILD)/chime.cdef' \
            VERSION='$(VERSION)' SONAME_VERSION='$(SONAME_VERSION)' sh install/install.sh

.PHONY: install install-archive install-debug uninstall

# The declarations of both headers, as cffi and LuaJIT read them.
$(BUILD)/chime.cdef: ../include/chime.h ../include/chime_run_loop.h install/cdef.sh
	mkdir -p $(BUILD)
	CC='$(CC)' sh install/cdef.sh >$@.new
	mv $@.new $@

install: $(BUILD)/chime.cdef
install: $(LIB)/libchime.so.$(SONAME_VERSION)
	@$(INSTALLER) install library

install-archive: install $(LIB)/libchime.a
	@$(INSTALLER) install static

install-debug: install $(LIB)/libchime.so.$(SONAME_VERSION).debug
	@$(INSTALLER) install debug

uninstall:
	@$(INSTALLER) uninstall
