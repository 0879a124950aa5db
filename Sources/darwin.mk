# make TARGET=macos, make TARGET=ios   libchime for arm64, built on Linux: build/macos/lib/libchime.0.dylib; DISPATCH=no
#                                      without libdispatch: build/macos-no-dispatch/lib; MAIN_QUEUE_PORT=yes with a
#                                      chime_main_run that drains libdispatch's main queue: see darwin/dispatch.c
#
# DARWIN: Apple's C headers and the names in libSystem, as install/darwin.sh puts them there. LD64: lld 19 or later, for
# Mach-O (that of the Swift toolchain for Linux does not link for macOS).
#
# The toolchain for Linux has Embedded Swift for iOS 18, and for Mach-O without an operating system. The latter will not do:
# its code uses register x18, which is the system's own, and passes variable arguments as other systems do. So the Swift code
# is compiled for iOS, and the object file then says which system and version it is for: the code is the same.

CC = $(TOOLS)/clang
TOOLS = $(RESOURCES)/../../bin
DARWIN ?= build/darwin
LD64 ?= /usr/lib/llvm-19/bin/ld64.lld

ifeq ($(TARGET),macos)
MINIMUM = 13.0
PROCESSOR = apple-m1
else
MINIMUM = 16.0
PROCESSOR = apple-a11
endif

# The compiler's own headers come first: Apple's stddef.h is another one.
DARWIN_HEADERS = -isystem $(RESOURCES)/clang/include -isystem $(DARWIN)/include
DEFINED = $(if $(filter no,$(DISPATCH)),-DCHIME_WITHOUT_DISPATCH)
# MAIN_QUEUE_PORT=yes: chime_main_run drains libdispatch's main queue, by functions that no header declares.
DEFINED += $(if $(filter yes,$(MAIN_QUEUE_PORT)),-DCHIME_MAIN_QUEUE_PORT)
HARDENED = -fstack-protector-strong
C_TARGET = -target arm64-apple-$(TARGET)$(MINIMUM) -mcpu=$(PROCESSOR) -fblocks $(DARWIN_HEADERS) $(DEFINED)
SWIFT_TARGET = -target arm64-apple-ios18.0 -target-cpu $(PROCESSOR) $(addprefix -Xcc ,$(DARWIN_HEADERS) $(DEFINED))
RUNTIME = $(BUILD)/unicode.a
DYLIB = $(BUILD)/lib/libchime.$(SONAME_VERSION).dylib
VERSION = $(shell sed -n 's/^\#define CHIME_VERSION_[A-Z]* //p' ../include/chime.h | paste -sd.)

library: $(DYLIB)

$(DARWIN)/ready: install/darwin.sh
	install/darwin.sh $(DARWIN)
$(addprefix $(BUILD)/,chime.o $(C_FILES:%=%.o)) syntax: $(DARWIN)/ready

# The toolchain's archive has no index.
$(RUNTIME): Makefile darwin.mk | $(BUILD)/lib
	cp $(RESOURCES)/embedded/arm64-apple-ios/libswiftUnicodeDataTables.a $@
	$(TOOLS)/llvm-ranlib $@

$(BUILD)/swift.o: $(BUILD)/chime.o install/mach_o_platform.py
	cp $< $@
	python3 install/mach_o_platform.py $@ $(TARGET) $(MINIMUM)

$(BUILD)/exports: $(FUNCTIONS)
	sed 's/^/_/' $< >$@

# After dlclose the library stays, which it sees to itself when it is loaded (darwin/loading.c). What --wrap does elsewhere
# is done by names (darwin/allocator.h).
LINKED = $(BUILD)/swift.o $(filter-out %/chime.o,$(OBJECTS)) $(RUNTIME)
$(DYLIB): $(LINKED) $(BUILD)/exports
	$(LD64) -arch arm64 -platform_version $(TARGET) $(MINIMUM) $(MINIMUM) -dylib -o $@ -install_name @rpath/$(@F) \
	  -compatibility_version $(SONAME_VERSION) -current_version $(VERSION) -dead_strip -x -adhoc_codesign \
	  -exported_symbols_list $(BUILD)/exports $(LINKED) $(DARWIN)/libSystem.$(TARGET).tbd $(LDFLAGS)
	ln -sf $(@F) $(@D)/libchime.dylib
