"""Whether what is a system's own stands in ChimeCore/Platform and in CPlatform only, there in the file that says so.

1. Swift outside ChimeCore/Platform names no function, type or constant of libc's but those of C itself (malloc, strlen, ...):
   in Chime's Swift a name with an underscore, or all in capitals, is one of C; the names without either are in a list.
2. ChimeCore has no #if but for its checks and one for Tests/Threads/Interleavings, and no module has one that asks for a system.
3. In CPlatform, and in its include, the folders linux, darwin and windows are that system's alone; a concern has a file in each of
   them. What is in posix is for all systems except Windows, which has a file of that name then; the rest is in common. Only the
   files listed here choose between systems. A system's own headers are included in its folder only, POSIX's in posix and in the
   folders of systems that have them.

Comments may say what they like. Chime's own names begin with chime or CHIME.
"""

import glob
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

WORDS = """accept access alarm bind clock connect creat dup dup2 epoll eventfd execv exit fchmod fcntl fork fstat
getegid geteuid getpgid getpid getppid gettid gettimeofday getuid ioctl kevent kevent64 kill kqueue lseek madvise mlock mmap mprotect
munmap nanosleep pause pipe pipe2 pollfd poll ppoll prctl pselect raise readlink recv rename rlimit select send setitimer
setpriority sigaction signal sigset socket stat syscall sysconf sysctl timespec timeval timerfd times unlink usleep waitpid write close open errno""".split()
# A member, a declaration, a label and an argument's name are Chime's own.
word = re.compile(r"(?<![.\w`])(?<!func )(?<!let )(?<!var )(?<!case )(%s)\(" % "|".join(WORDS))
member = re.compile(r"\b(?:CPlatform|Glibc|Darwin|Musl)\.\w+")
underscored = re.compile(r"(?<![\w.#`])(?!chime_|library_of_chime)[a-z][a-z0-9]*_[a-z0-9_]*[a-z0-9]\b")
capitals = re.compile(r"(?<![\w.#])(?!CHIME_|DEBUG\b|UTF8\b|SIMD\d)[A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)*\b")
imported = re.compile(r"^\s*(?:\w+ )*import (?:Glibc|Darwin|Musl|CDispatch)\b", re.M)

# The same everywhere.
OF_C = {"posix_memalign", "CPlatform.free"}
# What Foundation and Dispatch are on each system is Swift's matter.
OWN_IN = {"Sources/Chime/Dispatch+Core.swift", "Sources/ChimeRunLoop/FoundationLoop.swift"}
OWN_IF = {"#if !CHIME_INTERLEAVINGS", "#if DEBUG || CHIME_CHECKS"}

CHOOSE = {"common/memory.c", "common/embedded_runtime.c", "common/text.c", "include/clocks.h", "include/thread_locals.h", "include/thread_state.h", "include/threads.h",
          "include/dispatch_functions.h", "include/callback_guard.h"}
SYSTEMS = {"linux": "defined(__linux__)", "darwin": "defined(__APPLE__)", "windows": "defined(_WIN32)"}
POSIX = "!defined(_WIN32)"
chooses = re.compile(r"^\s*#\s*(?:el)?if.*\b(__APPLE__|__MACH__|__linux__|__GLIBC__|__FreeBSD__|__musl__|_WIN32|_WIN64|__MINGW\w+)", re.M)
headers = re.compile(
    r"#include <((?:linux|mach|malloc|Availability|os)[/.].*|sys/(?:event|epoll|eventfd|timerfd|prctl|syscall|random)\.h"
    r"|(?:windows|winternl|io|process|psapi|tlhelp32)\.h)>")
# What C itself does not have, and Windows neither.
posix_headers = re.compile(r"#include <((?:pthread|sched|unistd|fcntl|poll|signal|dlfcn|time)\.h|pthread/.*|sys/.*)>")

wrong = []


def code_of(text):
    """Without comments and without the words of strings."""
    text = re.sub(r"/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//.*", "", text)


def note(path, text, found, what):
    line = text.count("\n", 0, found.start()) + 1
    wrong.append(f"{path}:{line}: {found[0].strip()}: {what}")


count = 0
for path in sorted(glob.glob("Sources/Chime*/**/*.swift", recursive=True)):
    if "/Platform/" in path:
        continue
    count += 1
    text = code_of(open(path).read())
    in_core = path.startswith("Sources/ChimeCore/")
    patterns = [word, member, imported]
    if not path.startswith("Sources/ChimeC/"):  # which has the names of the C interface
        patterns += [underscored, capitals] if in_core else [underscored]
    for pattern in patterns:
        for found in pattern.finditer(text):
            if found[0] not in OF_C:
                note(path, text, found, "belongs in ChimeCore/Platform, behind a function of CPlatform")
    for found in re.finditer(r"^\s*#(?:else)?if .*", text, re.M):
        if path in OWN_IN and found[0].strip() == "#if canImport(Darwin)":
            continue
        if in_core and found[0].strip() not in OWN_IF or re.search(r"\bos\(|canImport\((?!FoundationEssentials\b)|arch\(|targetEnvironment", found[0]):
            note(path, text, found, "no #if for a system")
for path in sorted(glob.glob("Sources/ChimeCore/Platform/*.swift")):
    text = code_of(open(path).read())
    for found in re.finditer(r"^\s*#if .*", text, re.M):
        note(path, text, found, "a difference of systems goes into CPlatform")

concerns = {system: set() for system in [*SYSTEMS, "posix"]}
for path in sorted(glob.glob("Sources/CPlatform/**/*.[ch]", recursive=True)):
    count += 1
    name = os.path.relpath(path, "Sources/CPlatform")
    text = code_of(open(path).read())
    of = re.match(r"(?:include/)?(linux|darwin|windows|posix)/(\w+\.[ch])$", name)
    if of:
        mark = SYSTEMS.get(of[1], POSIX)
        if name.endswith(".c"):
            concerns[of[1]].add(of[2])
            if not text.lstrip().startswith(f"#if {mark}"):
                wrong.append(f"{path}: does not begin with #if {mark}")
        for other in SYSTEMS.values():
            if re.search(rf"(?<!!){re.escape(other)}", text) and other != mark:
                wrong.append(f"{path}: mentions {other}")
        for found in posix_headers.finditer(text) if of[1] == "windows" else []:
            if found[1] not in ("fcntl.h", "sys/stat.h"):  # which Windows has, too
                note(path, text, found, "a header of POSIX")
        continue
    if not re.match(r"(?:common|include)/\w+\.[ch]$", name):
        wrong.append(f"{path}: no folder of a system, nor common or include")
    for found in posix_headers.finditer(text):
        if name not in CHOOSE:
            note(path, text, found, "a header of POSIX")
    for found in headers.finditer(text):
        if name not in CHOOSE:
            note(path, text, found, "a system's header")
    for found in chooses.finditer(text):
        if name not in CHOOSE:
            note(path, text, found, "chooses between systems")
shared = concerns.pop("posix")
for system, those in concerns.items():
    for other, these in concerns.items():
        missing = these - those - (set() if system == "windows" else shared)
        wrong += [f"Sources/CPlatform/{system}/{concern} is missing" for concern in sorted(missing)]
wrong += [f"Sources/CPlatform/windows/{concern} is missing" for concern in sorted(shared - concerns["windows"])]

for line in wrong:
    print(line)
if count < 100:
    sys.exit(f"only {count} files found: have the directories moved?")
print(f"{count} files, {len(wrong)} leaks")
sys.exit(len(wrong) > 0)
