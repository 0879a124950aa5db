# Systems other than the one that builds, for which C/Makefile, Faults/Makefile and ../examples-c/Makefile build their programs,
# with the library that `make -C Sources NAME` has built for that system, or the one in LIB.
#
# CC_NAME: the compiler. START_NAME: what runs a program, if this machine cannot. STATIC_NAME: whether programs are static, with
# libchime.a in them. BYTES_NAME: how many bytes the shared library may have.
SOURCES_OF_CHIME := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../Sources)

OTHER_SYSTEMS := arm64 riscv64 musl musl-static arm64-musl riscv64-musl

# On one processor: qemu 7.2 on x86-64 lets a load (ldar) pass an earlier store (stlr), which arm64 forbids, and two threads
# can then each miss what the other has stored. On one processor they see each other's stores.
QEMU = taskset -c 0 qemu-$(1) -L /usr/$(1)-linux-gnu

CC_arm64 := aarch64-linux-gnu-gcc
START_arm64 := $(call QEMU,aarch64)
BYTES_arm64 := 410000

CC_riscv64 := riscv64-linux-gnu-gcc
START_riscv64 := $(call QEMU,riscv64)
BYTES_riscv64 := 320000

CC_musl := musl-gcc
BYTES_musl := 380000

CC_musl-static := $(CC_musl)
STATIC_musl-static := yes

ZIG := $(SOURCES_OF_CHIME)/build/zig
CC_arm64-musl := $(ZIG)/aarch64-linux-musl-cc
START_arm64-musl := $(START_arm64)
STATIC_arm64-musl := yes
BYTES_arm64-musl := 380000

CC_riscv64-musl := $(ZIG)/riscv64-linux-musl-cc
START_riscv64-musl := $(START_riscv64)
STATIC_riscv64-musl := yes
BYTES_riscv64-musl := 320000

LIB_FOR = $(if $(filter command line,$(origin LIB)),$(LIB),$(SOURCES_OF_CHIME)/build/$(1:-static=)/lib)
# What to tell the make that builds programs for a system.
MADE_FOR = BUILD=$(BUILD)/$(1) CC=$(CC_$(1)) LIB=$(call LIB_FOR,$(1)) \
  $(if $(STATIC_$(1)),LINK='$(call LIB_FOR,$(1))/libchime.a -static')
