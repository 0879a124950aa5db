# make TARGET=macos, make TARGET=ios   libchime for arm64, built on Linux: build/macos/lib/libchime.1.dylib; DISPATCH=no
#                                      without libdispatch: build/macos-no-dispatch/lib
#
# DARWIN: Apple's C headers and the names in libSystem, as install/darwin.sh puts them there. LD64: lld 19 or later, for
# Mach-O (that of the Swift toolchain for Linux does not link for macOS).
#
# The toolchain for Linux has Embedded Swift for Mach-O without an operating system. The C headers say which one it is, and
# the object file serves each.

CC = $(TOOLS)/clang
TOOLS = $(RESOURCES)/../../bin
DARWIN ?= build/darwin
LD64 ?= /usr/lib/llvm-19/bin/ld64.lld

ifeq ($(TARGET),macos)
MINIMUM = 13.0
C_MINIMUM = -D__ENVIRONMENT_MAC_OS_X_VERSION_MIN_REQUIRED__=130000 -D__ENVIRONMENT_OS_VERSION_MIN_REQUIRED__=130000
else
MINIMUM = 16.0
C_MINIMUM = -D__ENVIRONMENT_IPHONE_OS_VERSION_MIN_REQUIRED__=160000 -D__ENVIRONMENT_OS_VERSION_MIN_REQUIRED__=160000
endif

# The compiler's own headers come first: Apple's stddef.h is another one.
DARWIN_HEADERS = -isystem $(RESOURCES)/clang/include -isystem $(DARWIN)/include
DEFINED = $(if $(filter no,$(DISPATCH)),-DCHIME_WITHOUT_DISPATCH)
# MAIN_QUEUE_PORT=yes: chime_main_run drains libdispatch's main queue, by functions that no header declares.
DEFINED += $(if $(filter yes,$(MAIN_QUEUE_PORT)),-DCHIME_MAIN_QUEUE_PORT)
HARDENED = -fstack-protector-strong
C_TARGET = -target arm64-apple-$(TARGET)$(MINIMUM) -fblocks $(DARWIN_HEADERS) $(DEFINED)
SWIFT_TARGET = -target arm64-apple-none-macho $(addprefix -Xcc ,$(DARWIN_HEADERS) $(C_MINIMUM) $(DEFINED))
RUNTIME = $(BUILD)/unicode.a
DYLIB = $(BUILD)/lib/libchime.$(SONAME_VERSION).dylib
VERSION = $(shell sed -n 's/^\#define CHIME_VERSION_[A-Z]* //p' ../include/chime.h | paste -sd.)

library: $(DYLIB)

$(DARWIN)/ready: install/darwin.sh
	install/darwin.sh $(DARWIN)
$(addprefix $(BUILD)/,chime.o $(C_FILES:%=%.o)): $(DARWIN)/ready

# The toolchain's archive has no index.
$(RUNTIME): Makefile darwin.mk | $(BUILD)/lib
	cp $(RESOURCES)/embedded/arm64-apple-none-macho/libswiftUnicodeDataTables.a $@
	$(TOOLS)/llvm-ranlib $@

# What is exported stands in the headers.
$(BUILD)/exports: ../include/chime.h ../include/chime_run_loop.h darwin.mk | $(BUILD)/lib
	sed -n '/^typedef\|^static/d; s/^[A-Za-z][A-Za-z0-9_ *]*[ *]\(chime_[a-z0-9_]*\)(.*/_\1/p' $(filter %.h,$^) | LC_ALL=C sort -u >$@

# After dlclose the library stays, which it sees to itself when it is loaded (loading_darwin.c). What --wrap does elsewhere
# is done by names (allocator_darwin.h).
$(DYLIB): $(OBJECTS) $(RUNTIME) $(BUILD)/exports
	$(LD64) -arch arm64 -platform_version $(TARGET) $(MINIMUM) $(MINIMUM) -dylib -o $@ -install_name @rpath/$(@F) \
	  -compatibility_version $(SONAME_VERSION) -current_version $(VERSION) -dead_strip -x -adhoc_codesign \
	  -exported_symbols_list $(BUILD)/exports $(OBJECTS) $(RUNTIME) $(DARWIN)/libSystem.$(TARGET).tbd $(LDFLAGS)
