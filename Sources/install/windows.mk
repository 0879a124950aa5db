# make TARGET=windows           libchime for Windows x86-64, built on Linux: build/windows/lib/chime-0.dll, and what to link with:
#                               libchime.dll.a for MinGW, chime.lib for MSVC and clang-cl. Without libdispatch.
# make TARGET=windows archive   libchime.a, for MinGW
#
# Debian's gcc-mingw-w64-x86-64 (headers, the C library's import libraries, libgcc, libssp). The C library is msvcrt.dll, which
# is part of each Windows.
#
# The toolchain for Linux has no Embedded Swift for Windows. So the Swift code is compiled for no system, into LLVM's
# intermediate language, and only from there on for Windows. In that language a call looks the same for both, as long as
# all that is passed between Swift and C is numbers of at most 64 bits and pointers: windows_check.py sees to it. Swift sees
# none of the system's headers, but those in install/windows.

TOOLS = $(RESOURCES)/../../bin
MINGW = /usr/x86_64-w64-mingw32
LIBGCC = $(dir $(shell x86_64-w64-mingw32-gcc -print-libgcc-file-name))
LIBC_WINDOWS = -lmingw32 -lgcc -lmoldname -lmingwex -lmsvcrt -lkernel32
# mingw's gcc has thread-local variables by calls that allocate.
CC = $(TOOLS)/clang -target x86_64-w64-windows-gnu
LD = $(TOOLS)/ld.lld -m i386pep
C_TARGET = -nostdlibinc -isystem $(MINGW)/include -D__USE_MINGW_ANSI_STDIO=1 -DCHIME_WITHOUT_DISPATCH
HARDENED = -fstack-protector-strong
PIC =
# What clang is told on Swift's behalf.
SEEN_BY_SWIFT = -nostdlibinc -isystem install/windows -D_WIN32 -DCHIME_WITHOUT_DISPATCH
SWIFT_TARGET = -target x86_64-unknown-none-elf $(addprefix -Xcc ,$(SEEN_BY_SWIFT))
DLL = $(BUILD)/lib/chime-$(SONAME_VERSION).dll

library: $(DLL) $(BUILD)/lib/chime.lib

HEADERS += $(wildcard install/windows/*)

# All that Swift sees declared.
$(BUILD)/declarations.json: $(HEADERS) install/windows.mk | $(BUILD)/lib
	for header in $$(sed -n 's/^  header "\(.*\)"/\1/p' CPlatform/include/module.modulemap) chime.h chime_run_loop.h; do \
	  echo "#include \"$$header\""; done | \
	  $(TOOLS)/clang -target x86_64-unknown-none-elf $(SEEN_BY_SWIFT) -DCHIME_OWN_MEMORY -fblocks -I CPlatform/include -I ../include \
	  -fsyntax-only -Xclang -ast-dump=json -x c - >$@.new
	mv $@.new $@

$(BUILD)/chime.o: $(BUILD)/chime.ll $(BUILD)/declarations.json install/windows.sed install/windows_check.py
	python3 install/windows_check.py $(BUILD)/chime.ll $(BUILD)/declarations.json
	sed -f install/windows.sed $< >$(BUILD)/windows.ll
	$(CC) -O2 -Xclang -disable-llvm-passes -ffunction-sections -c $(BUILD)/windows.ll -o $@

$(BUILD)/chime.def: $(FUNCTIONS) install/windows.mk
	{ echo 'LIBRARY $(notdir $(DLL))'; echo EXPORTS; cat $<; } >$@

# After FreeLibrary the library stays, which it sees to itself when it is loaded (windows/loading.c).
$(DLL): $(OBJECTS) $(BUILD)/chime.def install/windows.mk
	$(LD) --shared -s -e DllMainCRTStartup -o $@ --out-implib $(BUILD)/lib/libchime.dll.a --gc-sections $(WRAPPED) \
	  --dynamicbase --nxcompat --high-entropy-va --no-insert-timestamp -L$(LIBGCC) -L$(MINGW)/lib \
	  $(MINGW)/lib/dllcrt2.o $(LIBGCC)crtbegin.o $(OBJECTS) $(BUILD)/chime.def -Bstatic -lssp -Bdynamic $(LDFLAGS) \
	  -ladvapi32 $(LIBC_WINDOWS) $(LIBGCC)crtend.o

$(BUILD)/lib/chime.lib: $(BUILD)/chime.def
	$(TOOLS)/lld-link /lib /machine:x64 /def:$< /out:$@

# Object files whose global names all begin with chime_. (ld -r does not do for Windows: constructors and unwind tables come out
# wrong.) What guards the stack is among them. A program that takes them in is linked with -ladvapi32, too.
$(BUILD)/lib/libchime.a: $(OBJECTS) install/windows.mk
	rm -rf $(BUILD)/archived $@
	mkdir $(BUILD)/archived
	cd $(BUILD)/archived && $(TOOLS)/llvm-ar x $(LIBGCC)libssp.a ssp.o
	{ $(TOOLS)/llvm-nm -g --defined-only $(OBJECTS) $(BUILD)/archived/ssp.o | sed -n 's/^[0-9a-f]* [A-Z] //p' | grep -v '^chime_\|^__wrap_' | LC_ALL=C sort -u | \
	  sed 's/.*/& chime__&/'; \
	  echo '$(WRAPPED)' | tr ' ' '\n' | sed 's/--wrap=\(.*\)/__wrap_\1 chime__\1\n\1 chime__\1/'; } >$(BUILD)/archived/names
	for object in $(OBJECTS) $(BUILD)/archived/ssp.o; do \
	  $(TOOLS)/llvm-objcopy --redefine-syms=$(BUILD)/archived/names --remove-section=.swift1_autolink_entries \
	    $$object $(BUILD)/archived/chime_$$(basename $$object) || exit 1; done
	$(TOOLS)/llvm-ar rcsD $@ $(BUILD)/archived/chime_*.o
