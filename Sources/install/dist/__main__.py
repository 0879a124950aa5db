"""Builds and packs a release: `make dist`; dist.mk says what for. Arguments: names of targets.txt, or none for all."""

import hashlib
import shutil
import sys
import time

import debian
import needed
import sbom
import wheel
import xcframework
from release import DIST, OUTPUT, SERIES, VERSION, checksums, first_program, targets, write_tar, write_zip

README = """\
# Chime {version} for {system} on {machine}

A thread-safe timer library for C and C++, `libchime`: start, move and cancel timers from any thread, with or without an event loop of yours.

`tick.c`, here, is a first program:

```c
{program}```

To build it here, with a C compiler alone:

```sh
cc tick.c -Iinclude {links} -o tick && ./tick
```

```text
{output}```

By pkg-config, from any directory; `chime-static` in place of `chime` makes the library part of the program:

```sh
export PKG_CONFIG_PATH="$PWD/lib/pkgconfig"
cc tick.c $(pkg-config --cflags --libs chime) -o tick && ./tick
```

By CMake: `find_package(Chime {series} REQUIRED)`, `target_link_libraries(tick PRIVATE Chime::chime)`, and

```sh
cmake -DCMAKE_PREFIX_PATH="$PWD" -S . -B build && cmake --build build && build/tick
```

`CMakeLists.txt`, here, is that. To install it:

```sh
./install.sh "$HOME/.local"               # ./install.sh --uninstall "$HOME/.local" removes it
export PKG_CONFIG_PATH="$HOME/.local/lib/pkgconfig"
```

The manual needs no installation:

```sh
man -M share/man chime                    # then chime_timer_start, and so on
```

| where | what |
| --- | --- |
| `include` | chime.h, which says what each function does; chime_run_loop.h; chime.hpp, for C++17 |
| `share/doc/chime/html` | [for a browser](share/doc/chime/html/index.html): all functions, guides, examples |
| `share/doc/chime/C.md` | [Chime from C and C++](share/doc/chime/C.md): how to link it, the kinds of queues, C++ |
| `share/doc/chime/examples` | [small programs](share/doc/chime/examples/README.md), one idea each |
| `share/doc/chime` | [Promises](share/doc/chime/Promises.md), [Limits](share/doc/chime/Limits.md), [Platforms](share/doc/chime/Platforms.md), [Troubleshooting](share/doc/chime/Troubleshooting.md), [game time](share/doc/chime/GameTime.md), [coming from another timer](share/doc/chime/ComingFrom.md), [release notes](share/doc/chime/ReleaseNotes.md) |
| `share/chime` | what Go, Node, Rust and others need, and debuggers: [Chime from other languages](share/doc/chime/Languages.md) |
| `share/doc/chime/LICENCE`, `licences` | which licences there are |
"""
WINDOWS = """\
# Chime {version} for Windows on {machine}

An embeddable timer runtime: a C library, `chime-0.dll`, which needs the system's own DLLs alone. Nothing is installed: all paths
follow from where this folder lies.

`tick.c`, here, is a first program:

```c
{program}```

With MSVC or clang-cl:

```bat
cl tick.c /Iinclude lib\\chime.lib
copy bin\\chime-0.dll .
tick
```

With MinGW; `lib/libchime.a -ladvapi32` in place of `lib/libchime.dll.a` makes the library part of the program:

```sh
gcc tick.c -Iinclude lib/libchime.dll.a -o tick.exe && cp bin/chime-0.dll . && ./tick.exe
```

A program finds the DLL beside itself or on `PATH`, however it was built. `-static` keeps MinGW's own DLLs out, `libwinpthread-1.dll`
among them.

```text
{output}```

By CMake: `find_package(Chime {series} REQUIRED)`, `target_link_libraries(tick PRIVATE Chime::chime)`, and `-DCMAKE_PREFIX_PATH` with
this folder; `CMakeLists.txt`, here, is that. By pkg-config: `lib/pkgconfig`.

| where | what |
| --- | --- |
| `bin`, `lib` | the DLL; import libraries for MSVC (`chime.lib`) and MinGW (`libchime.dll.a`), and `libchime.a` for MinGW |
| `include` | chime.h, which says what each function does; chime_run_loop.h; chime.hpp, for C++17 |
| `share/doc/chime/html` | [for a browser](share/doc/chime/html/index.html): all functions, guides, examples |
| `share/doc/chime/C.md` | [Chime from C and C++](share/doc/chime/C.md): the kinds of queues, C++ |
| `share/doc/chime/examples` | [small programs](share/doc/chime/examples/README.md), one idea each; `wait_handles.c` is Windows' own. Those on epoll, POSIX or another library's loop (at_night, clean_end, daily, fork, own_memory, poll_host, records, spawn, and all that name a library) are for other systems |
| `share/doc/chime` | [Promises](share/doc/chime/Promises.md), [Limits](share/doc/chime/Limits.md), [Platforms](share/doc/chime/Platforms.md), with what cannot hold on Windows, [Troubleshooting](share/doc/chime/Troubleshooting.md), [game time](share/doc/chime/GameTime.md), [coming from another timer](share/doc/chime/ComingFrom.md), [release notes](share/doc/chime/ReleaseNotes.md) |
| `share/chime` | what other languages need: [Chime from other languages](share/doc/chime/Languages.md) |
| `share/doc/chime/LICENCE`, `licences` | which licences there are |
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(tick C)
find_package(Chime {series} REQUIRED)
add_executable(tick tick.c)
target_link_libraries(tick PRIVATE Chime::chime)
"""


def pack(target, apple):
    tree = target.files()
    name = f"chime-{VERSION}-{target.platform}"
    document = sbom.document(target, tree)
    program, output = first_program()
    if target.is_windows:
        program = program.replace("#include <unistd.h>\n", "#include <windows.h>\n").replace("sleep(1)", "Sleep(1000)")
    tree[f"share/doc/chime/{name}.spdx.json"] = document
    readme = WINDOWS if target.is_windows else README
    tree["README.md"] = readme.format(
        version=VERSION, system=target.system, machine=target.machine, series=SERIES, program=program, output=output,
        links="-Llib -lchime -Wl,-rpath,\"$PWD/lib\"" if target.is_apple else "lib/libchime.a -ldl -pthread").encode()
    tree["tick.c"] = program.encode()
    tree["CMakeLists.txt"] = CMAKE.format(series=SERIES).encode()
    if not target.is_windows:
        tree["install.sh"] = (DIST / "install.sh").read_bytes()
    tree["SHA256SUMS"] = checksums(tree)
    (OUTPUT / f"{name}.spdx.json").write_bytes(document)
    if target.is_windows:
        write_zip(OUTPUT / f"{name}.zip", {f"{name}/{path}": content for path, content in tree.items()})
    else:
        write_tar(OUTPUT / f"{name}.tar.gz", name, tree)
    packed = ["zip" if target.is_windows else "tarball"]
    if target.debian != "-":
        debian.write(target, tree)
        packed.append("Debian packages")
    if target.wheel != "-":
        wheel.write(target, tree)
        packed.append("wheel")
    if target.is_apple:
        apple.append((target, tree))
    return ", ".join(packed)


def main():
    chosen = targets(sys.argv[1:])
    needed.check(chosen)
    begun = time.monotonic()

    def said(what):
        print(f"{time.monotonic() - begun:4.0f} s  {what}", flush=True)

    said(f"{', '.join(target.name for target in chosen)}: all tools are there")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    apple = []
    for target in chosen:
        target.build()
        said(f"{target.name}: library built")
        said(f"{target.name}: {pack(target, apple)} packed")
    if apple:
        xcframework.write(apple)
        said("XCFramework packed")
    shutil.rmtree(OUTPUT / "stage", ignore_errors=True)
    files = sorted(path for path in OUTPUT.iterdir() if path.is_file())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (OUTPUT / "SHA256SUMS").write_text("".join(lines))
    said(f"{len(files)} files and their SHA256SUMS, in Sources/build/dist:")
    for path in files:
        print(f"{path.stat().st_size:>9}  {path.name}")


main()
