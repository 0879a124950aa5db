# Systems other than the one that builds, for which the Makefiles of Tests and examples-c build their programs, with the
# library that `make -C Sources NAME` has built for that system, or the one in LIB.
#
# CC_NAME: the compiler. START_NAME: what runs a program, if this machine cannot. STATIC_NAME: whether programs are static, with
# libchime.a in them. BYTES_NAME: how many bytes the shared library may have. EXE_NAME: how programs' names end.
SOURCES_OF_CHIME := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../../Sources)

# Whoever includes this means `all`, not the rule below.
.DEFAULT_GOAL := all

OTHER_SYSTEMS := arm64 riscv64 musl musl-static arm64-musl arm64-musl-shared riscv64-musl windows

# On one processor: qemu 7.2 on x86-64 lets a load (ldar) pass an earlier store (stlr), which arm64 forbids, and two threads
# can then each miss what the other has stored. On one processor they see each other's stores.
QEMU = taskset -c 0 qemu-$(1) -L /usr/$(1)-linux-gnu

CC_arm64 := aarch64-linux-gnu-gcc
START_arm64 := $(call QEMU,aarch64)
# Its segments are 64 KiB apart, so the file grows in such steps: 464,256 bytes, of which 37,000 are nothing.
BYTES_arm64 := 470000

CC_riscv64 := riscv64-linux-gnu-gcc
START_riscv64 := $(call QEMU,riscv64)
BYTES_riscv64 := 362000

CC_musl := musl-gcc
BYTES_musl := 450000

CC_musl-static := $(CC_musl)
STATIC_musl-static := yes

ZIG := $(SOURCES_OF_CHIME)/build/zig
CC_arm64-musl := $(ZIG)/aarch64-linux-musl-cc
START_arm64-musl := $(START_arm64)
STATIC_arm64-musl := yes
BYTES_arm64-musl := 430000

# With the shared library, and Debian's musl for arm64 to load it.
MUSL_ARM64 := $(SOURCES_OF_CHIME)/build/musl-arm64
CC_arm64-musl-shared := $(CC_arm64-musl) -dynamic -fPIE
START_arm64-musl-shared := taskset -c 0 qemu-aarch64 -L $(MUSL_ARM64)

CC_riscv64-musl := $(ZIG)/riscv64-linux-musl-cc
START_riscv64-musl := $(START_riscv64)
STATIC_riscv64-musl := yes
BYTES_riscv64-musl := 360000

# Under wine64, whose files are kept apart from the user's own. mingw-w64's pthreads are part of each program.
WINE := $(SOURCES_OF_CHIME)/build/wine
CC_windows := x86_64-w64-mingw32-gcc-posix -D__USE_MINGW_ANSI_STDIO=1 -static
START_windows = env WINEDEBUG=-all WINEPREFIX=$(WINE) WINEPATH=Z:$(call LIB_FOR,windows) $(abspath $(SOURCES_OF_CHIME)/../Tests/Systems/wine)
LINK_windows = $(call LIB_FOR,windows)/libchime.dll.a
EXE_windows := .exe
BYTES_windows := 505000

LIB_FOR = $(if $(filter command line,$(origin LIB)),$(LIB),$(SOURCES_OF_CHIME)/build/$(patsubst %-static,%,$(1:-shared=))/lib)
# What to tell the make that builds programs for a system.
MADE_FOR = BUILD=$(BUILD)/$(1) CC='$(CC_$(1))' LIB=$(call LIB_FOR,$(1)) \
  $(if $(STATIC_$(1)),LINK='$(call LIB_FOR,$(1))/libchime.a -static')$(if $(LINK_$(1)),LINK='$(LINK_$(1))') EXE='$(EXE_$(1))'

# What a system needs before its programs can run.
READY_windows := $(WINE)/system.reg
$(WINE)/system.reg:
	mkdir -p $(WINE)
	WINEDEBUG=-all WINEPREFIX=$(WINE) $(lastword $(START_windows)) wineboot --init
	touch $@

READY_arm64-musl-shared := $(MUSL_ARM64)/ready
$(MUSL_ARM64)/ready: $(SOURCES_OF_CHIME)/install/musl_arm64.sh
	$< $(MUSL_ARM64)
