# The steps of .ci/run, what each needs, and which of them each run takes. make is the scheduler: a step begins when what it
# needs is done and one of the places is free, in the order of the lists below: long chains first, and what depends on a step a
# few places behind it, since make looks at a target again only when it has been through the list. Why a step is in which run:
# Tests/README.md. Steps that would build in one directory depend on a third that builds there.

SHELL := /bin/bash
STEP := @.ci/step
lib := $(CURDIR)/examples-c/build/lib
built := $(CURDIR)/Sources/build
# The library with the core's own checks of what it relies on.
checked := $(built)/checked/lib

WHOLE := $(filter everything,$(MAKECMDGOALS))
ROUNDS := CSUITE_SCALE=$(if $(WHOLE),1,10)

# Targets of Sources that a landing checks by their C files only: Swift's code and the rest are those of another target.
OTHERS := riscv64 musl ios

LANDING := \
  lib-checked swift-thread swift interleavings lib swift-counts faults lib-windows lib-arm64 csuite-checked clients readme \
  lib-macos-no-dispatch model windows-csuite hosts fuzz examples csuite macos-types arm64-csuite lib-address macos-look \
  macos-csuite headers lib-without-dispatch memcheck mutations csuite-address refused arm64-faults storms stopped \
  csuite-without-dispatch windows-look misuse counts docs installed hardened abi abi-notices documentation documented \
  formatted protocols promises orders floors seam beliefs workflows links figures litmus $(OTHERS:%=syntax-%)

MORE := \
  mutations-whole release release-in-use release-pages release-abi release-bytes \
  swift-long fuzz-new swift-address virtual-time swift-package service soak spin leaks \
  lib-riscv64 riscv64-csuite riscv64-faults riscv64-examples arm64-examples \
  lib-musl musl-csuite musl-static-csuite musl-faults musl-examples \
  lib-arm64-musl arm64-musl-csuite arm64-musl-shared-csuite arm64-musl-faults \
  lib-macos lib-ios lib-ios-no-dispatch apple-look ios-csuite macos-faults \
  windows-examples windows-storms windows-faults windows-clients \
  folder-linux folder-windows folder-macos \
  lib-thread hpp-thread detectors nginx comparison benchmarks

.PHONY: landing everything list $(LANDING) $(MORE)
landing: $(LANDING)
everything: $(LANDING) $(MORE)
list:
	@echo landing: $(LANDING); echo; echo everything, besides: $(MORE)

# ---- What is read, not run -----------------------------------------------------------------------------------------------

formatted: ; $(STEP) "formatted: Swift and C" .ci/formatted.sh
protocols: ; $(STEP) "protocols: the functions that they name are there" python3 .ci/protocols.py
orders: ; $(STEP) "orders: memory orders are those of rows and litmus tests" python3 .ci/orders.py
floors: ; $(STEP) "rooms of the core are floors; the inner ones need no other" sh -c 'python3 .ci/floors.py && make -s -C Sources inner'
seam: ; $(STEP) "what is a system's own stands in Platform and CPlatform" python3 .ci/seam.py
beliefs: ; $(STEP) "beliefs of systems: tests that decide them" make -C Tests/Systems check
promises: ; $(STEP) "promises: each has tests and mutations" python3 Tests/promises.py check
mutations: ; $(STEP) "mutations: their lines are there; mistakes that do not compile; orders" make -C Tests/Benchmarks/Mutations check refused orders
workflows: ; $(STEP) "workflows" python3 .ci/workflows.py
links: ; $(STEP) "links between pages" python3 .ci/links.py
figures: ; $(STEP) "figures: each is of a row" python3 -B .ci/figures.py
$(OTHERS:%=syntax-%): syntax-%: ; $(STEP) "$*: its C files" make -C Sources TARGET=$* syntax
syntax-ios: lib-macos-no-dispatch # fetches Apple's headers

# ---- libchime, for whatever it is built for here -------------------------------------------------------------------------

lib: ; $(STEP) "libchime and its archive" sh -c 'make -C examples-c library && make -C Sources archive'
BUILD_LIBRARY = $(STEP) "libchime: $*" make -s -C Sources TARGET=$(*:-no-dispatch=) $(if $(findstring no-dispatch,$*),DISPATCH=no) library
WITH_ARCHIVE := arm64 riscv64 musl arm64-musl windows
ALONE := checked address thread macos macos-no-dispatch ios ios-no-dispatch
$(WITH_ARCHIVE:%=lib-%): lib-%: ; $(BUILD_LIBRARY) archive
$(ALONE:%=lib-%): lib-%: ; $(BUILD_LIBRARY)
lib-macos lib-ios lib-ios-no-dispatch: lib-macos-no-dispatch
lib-without-dispatch: ; $(STEP) "libchime without libdispatch" make -s -C Sources DISPATCH=no library archive

# ---- The C interface, through the library that users get -----------------------------------------------------------------

examples: lib ; $(STEP) "examples" make -C examples-c run ALL=1
leaks: examples ; $(STEP) "leaks of the examples: LeakSanitizer, memcheck" make -C examples-c leaks ALL=1
csuite: lib ; $(STEP) "C suite, release library" env $(ROUNDS) make -C Tests/C run LIB=$(lib)
csuite-checked: lib-checked ; $(STEP) "C suite, checked library" make -C Tests/C run BUILD=build/checked LIB=$(checked)
csuite-without-dispatch: lib-without-dispatch
	$(STEP) "C suite, without libdispatch" env $(ROUNDS) make -C Tests/C run BUILD=build/without-dispatch LIB=$(built)/without-dispatch/lib
csuite-address: lib-address ; $(STEP) "C suite, libchime under the address sanitizer" make -C Tests/C run-address LIB=$(built)/address/lib
memcheck: csuite ; $(STEP) "C suite, release library, memcheck" make -C Tests/C valgrind LIB=$(lib)
headers: csuite ; $(STEP) "headers, C++, trace files, chime.gdb" make -C Tests/C headers
hpp-thread: lib-thread ; $(STEP) "chime.hpp under the thread sanitizer" make -C Tests/C hpp-thread BUILD=build/thread LIB=$(built)/thread/lib
misuse: lib ; $(STEP) "what is said of mistakes" make -C Tests/C/Misuse run LIB=$(lib)
model: lib-checked ; $(STEP) "model, random inputs, checked library" make -C Tests/Model seeds SEEDS=$(if $(WHOLE),100,20) LIB=$(checked)
faults: lib-checked ; $(STEP) "faults, checked library" make -C Tests/Faults run LIB=$(checked)
# Builds what refuses allocations, beside the programs of `faults`.
hosts: csuite-checked ; $(STEP) "hosts, checked library" make -C Tests/Faults hosts CSUITE=build/checked LIB=$(checked)
refused: hosts csuite ; $(STEP) "allocations refused at random: the C suite's storm, the load" make -C Tests refused
storms: lib-checked
	$(STEP) "storms, a second each, and load, checked library" make -C Tests/Threads/Storms quick QUICK=1 BUILD=build/checked LIB=$(checked)
stopped: lib ; $(STEP) "a thread that stands still behind each instruction" \
  make -j4 --output-sync -C Tests/Threads/Stopped run $(if $(WHOLE),EVERY=1 KINDS="serial concurrent precise host run-loop virtual dispatch",EVERY=50) LIB=$(lib)
soak: refused ; $(STEP) "soak: six kinds of queue at once" \
  make -C Tests/Threads/Storms soak LIB=$(lib)
fuzz: ; $(STEP) "sequences of calls, inputs that were kept, address sanitizer" make -C Tests/Model/Fuzz corpus
fuzz-new: fuzz ; $(STEP) "sequences of calls, five minutes of new ones" make -C Tests/Model/Fuzz run SECONDS=300
litmus: ; $(STEP) "protocols: memory orders" make -C Tests/Threads/Spin litmus
spin: ; $(STEP) "protocols: models explored completely" make -C Tests/Threads/Spin run
interleavings: ; $(STEP) "protocols: interleavings of the real code" make -C Tests/Threads/Interleavings run
counts: lib ; $(STEP) "instructions, no more than recorded" make -C Tests/Benchmarks check-counts
benchmarks: counts ; $(STEP) "benchmarks, that they work" make -C Tests/Benchmarks quick
mutations-whole: mutations ; $(STEP) "mutations: each is red" make -C Tests/Benchmarks/Mutations
nginx: lib ; $(STEP) "nginx with Chime's timers" make -C Tests/Outside/Ports run LIB=$(lib) ALL=1
comparison: lib ; $(STEP) "lines that concern timers, beside libuv" make -C Tests/Outside/Comparison run

# ---- What is installed, and what was promised ----------------------------------------------------------------------------

hardened: lib ; $(STEP) "protected as Debian's libuv is" make -C Tests/Packages/Install hardened LIB=$(lib)
installed: lib docs ; $(STEP) "installed: pkg-config, CMake, archive, staged, gone" make -C Tests/Packages/Install run LIB=$(lib)
abi: lib ; $(STEP) "ABI: as recorded" make -C Tests/Packages/ABI check LIB=$(lib)
abi-notices: ; $(STEP) "ABI: what notices a change" make -C Tests/Packages/ABI test
docs: ; $(STEP) "manual pages and HTML: no warning, nothing too wide, each link leads somewhere" make -C Sources docs

# ---- Swift, and other languages ------------------------------------------------------------------------------------------

swift: ; $(STEP) "tests" env CHIME_STEPS=5000 CHIME_ROUNDS=300 COUNT=300 .ci/watched.sh 1500 swift test
# Tests of virtual time by themselves: beside those that keep all threads of tasks busy for minutes each advance waits three
# seconds for its own.
swift-long: swift
	$(STEP) "tests of random programs, more of them" sh -c 'CHIME_STEPS=20000 CHIME_ROUNDS=10000 .ci/watched.sh 1500 \
	  swift test --filter "ModelTests|TimeoutTests|TaskCallTests" && COUNT=10000 .ci/watched.sh 1500 swift test --filter VirtualTimeTests'
# Sanitizers make everything 5 to 20 times slower: fewer rounds of the C suite, fewer steps of the random models, and no
# tests of virtual time, whose advance waits three seconds at most for an actor that other tests keep busy.
swift-thread: ; $(STEP) "tests, thread sanitizer" env CSUITE_SCALE=200 CHIME_STEPS=$(if $(WHOLE),5000,1000) CHIME_ROUNDS=50 \
  .ci/watched.sh 1500 swift test --scratch-path .build-tsan --sanitize=thread --skip ChimeVirtualTimeTests
# At most four tests at once: with all of them a task waits so long for its turn beside others that tests of virtual time see one that
# has held its thread for 10 s.
# Without LeakSanitizer, which is no judge here: it does not look for pointers in memory from mmap, where Chime keeps
# its timers and the table of its queues, so all that lives there only is a leak to it; and it reports what XCTest
# itself leaves behind, 368 bytes, before the first test runs. memcheck does look there, and judges leaks.
swift-address: ; $(STEP) "tests, address sanitizer" env ASAN_OPTIONS=detect_leaks=0 CSUITE_SCALE=200 CHIME_STEPS=5000 CHIME_ROUNDS=50 \
  .ci/watched.sh 1500 swift test --scratch-path .build-asan --sanitize=address --skip ChimeVirtualTimeTests \
  --experimental-maximum-parallelization-width 4
documentation: swift ; $(STEP) "documentation" .ci/documentation.sh
documented: swift ; $(STEP) "doc comments of the Swift interface" python3 .ci/documented.py
readme: lib ; $(STEP) "programs of the pages that are for a clone" python3 .ci/readme.py
swift-counts: ; $(STEP) "instructions and allocations of Swift's calls" make -C Tests/Benchmarks check-swift-counts
virtual-time: ; $(STEP) "virtual time: tests of code that sleeps come out the same each time" make -C Tests/Unit/VirtualTime
swift-package: ; $(STEP) "a package that imports Chime, debug and release" make -C Tests/Outside/Clients/swift
service: ; $(STEP) "a service with ServiceLifecycle, from its start to SIGTERM" make -C Tests/Outside/Service
clients: lib ; $(STEP) "clients in other languages" make -C Tests/Outside/Clients run LIB=$(lib)
detectors: clients ; $(STEP) "wrappers in Go, Node and Rust under their detectors" make -C Tests/Outside/Clients detectors LIB=$(lib)

# ---- Other processors, C libraries and systems ---------------------------------------------------------------------------

CSUITES := arm64 riscv64 musl musl-static arm64-musl arm64-musl-shared windows
$(CSUITES:%=%-csuite): %-csuite: ; $(STEP) "$*: C suite" make -C Tests/C run-$*
$(CSUITES:%=%-csuite): csuite
arm64-csuite: lib-arm64
riscv64-csuite: lib-riscv64
musl-csuite musl-static-csuite: lib-musl
arm64-musl-csuite arm64-musl-shared-csuite: lib-arm64-musl
windows-csuite: lib-windows
arm64-faults riscv64-faults musl-faults: %-faults: %-csuite faults ; $(STEP) "$*: faults" make -C Tests/Faults run-$*
arm64-musl-faults: arm64-musl-shared-csuite faults ; $(STEP) "arm64 and musl: dlopen" make -C Tests/Faults run-arm64-musl-shared
arm64-examples riscv64-examples musl-examples windows-examples: %-examples: %-csuite examples ; $(STEP) "$*: examples" make -C examples-c run FOR=$*
macos-look: lib-macos-no-dispatch ; $(STEP) "macOS: what the library says" make -C Tests/Systems/MachO look LOOKED_AT=macos-no-dispatch
macos-types: lib-macos-no-dispatch ; $(STEP) "macOS: ordinary Swift" make -C Tests/Systems/MachO types
macos-csuite: macos-look csuite ; $(STEP) "macOS: C suite" make -C Tests/Systems/MachO run-macos-no-dispatch
macos-faults: macos-csuite faults ; $(STEP) "macOS: ends of threads" make -C Tests/Systems/MachO faults
apple-look: lib-macos lib-ios macos-look ; $(STEP) "macOS, iOS: what the libraries say" make -C Tests/Systems/MachO look
ios-csuite: lib-ios-no-dispatch apple-look csuite ; $(STEP) "iOS: C suite" make -C Tests/Systems/MachO run-ios-no-dispatch
windows-look: windows-csuite ; $(STEP) "Windows: what the library says, headers by MSVC's rules, archive" make -C Tests/Systems/Windows look
windows-storms: windows-csuite storms ; $(STEP) "Windows: storms, a second each, and the model" make -C Tests windows
windows-faults: windows-csuite windows-look
	$(STEP) "Windows: ends of threads and of the process, DLLs, exceptions" make -C Tests/Systems/Windows faults
windows-clients: windows-csuite clients ; $(STEP) "Windows: wrappers in Go and Rust" make -C Tests/Outside/Clients windows
# A part of each is run, where it can be run here.
PART := ARGS='--quick --scaling 0.02'
folder-linux: lib storms faults soak ; $(STEP) "folder for Linux with many processors" make -C Tests/Systems linux try-linux $(PART)
folder-windows: folder-linux windows-storms windows-faults
	$(STEP) "folder for Windows" make -C Tests/Systems windows try-windows $(PART)
folder-macos: folder-windows macos-faults lib-macos ; $(STEP) "folder for macOS" make -C Tests/Systems macos

# ---- A release -----------------------------------------------------------------------------------------------------------

release: lib lib-arm64 lib-riscv64 lib-musl lib-arm64-musl lib-windows lib-macos lib-ios docs
	$(STEP) "release: packed for every target" make -C Sources dist
release-in-use: release ; $(STEP) "release: whole, true, in use without Swift" make -C Tests/Packages/Release run
release-pages: release readme ; $(STEP) "release: pages as written, in an empty Debian" python3 .ci/written.py Sources/build/dist
release-abi: release ; $(STEP) "release: ABI as recorded, and beside the version before" make -C Tests/Packages/ABI before
release-bytes: release
	$(STEP) "release: the same bytes from another directory" make -C Tests/Packages/Install same-bytes LIB=$(lib)
