"""The Debian packages libchime0 and libchime-dev of a target."""

import email.utils
import gzip
import os
import re
import shutil

from release import (DATE, NEXT_SERIES, OUTPUT, SERIES, SONAME_VERSION, SOURCES, VERSION, documents, first_program, guides,
                     html, link_of, oldest_glibc, run, write_tree)

REVISION = f"{VERSION}-1"
RUNTIME, DEVELOPMENT = f"libchime{SONAME_VERSION}", "libchime-dev"
MAINTAINER = os.environ.get("MAINTAINER", "Chime maintainers <chime@localhost.localdomain>")
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu", "riscv64": "riscv64-linux-gnu"}

SUMMARY = "thread-safe timer library"
ABOUT = """\
 Chime starts, moves and cancels timers from any thread, with or without an
 event loop of the program's. Its timers do not fire early and do not drift,
 do not fire once they have been stopped, count what they missed, and free
 what they hold exactly once."""
README = """\
# libchime-dev {version}

A thread-safe timer library: start, move and cancel timers from any thread, with or without an event loop of yours.

`tick.c`, a first program:

```c
{program}```

```sh
cp /usr/share/doc/libchime-dev/tick.c .
cc tick.c -lchime -o tick && ./tick
```

```text
{output}```

| where | what |
| --- | --- |
| `man chime` | all functions, and a page for each |
| [html/index.html](html/index.html) | the same, guides and examples, for a browser: `xdg-open /usr/share/doc/libchime-dev/html/index.html` |
| [C.md](C.md) | Chime from C and C++: how to link it, the kinds of queues, C++ |
| [examples](examples/README.md) | small programs, one idea each |
| [Promises.md](Promises.md), [Limits.md](Limits.md), [Platforms.md](Platforms.md) | what you can rely on, what Chime cannot do, what differs between systems |
| [Troubleshooting.md](Troubleshooting.md) | when a timer does not do what you expect |
| [GameTime.md](GameTime.md) | a time of your own, paused and slowed down, as games want it |
| [ComingFrom.md](ComingFrom.md) | libuv, libev, Go, tokio, asyncio, Node and others, call for call |
| [Languages.md](Languages.md) | Python, Go, Rust, Node and others; the wrappers in Go, Node and Rust are in `/usr/share/chime` |
| [ReleaseNotes.md](ReleaseNotes.md) | what is in this version |
| [copyright](copyright) | which licences there are |
"""


def files(target, tree):
    """What goes into each package, out of the tree of a release."""
    lib = f"usr/lib/{TRIPLETS[target.debian]}"
    soname = f"libchime.so.{SONAME_VERSION}"
    runtime = {f"{lib}/{name}": tree[f"lib/{name}"] for name in (f"{soname}.{VERSION}", soname)}
    development = {f"{lib}/{path[len('lib/'):]}": content for path, content in tree.items()
                   if path.startswith(("lib/pkgconfig/", "lib/cmake/")) or path in ("lib/libchime.so", "lib/libchime.a", "lib/libchime-static.a")}
    # From where the file lies, so that what `dpkg -x` unpacks is found, too; without the rpath, which an installed library needs not.
    for name in ("chime.pc", "chime-static.pc"):
        text = development[f"{lib}/pkgconfig/{name}"].decode()
        text = text.replace("prefix=${pcfiledir}/../..", "prefix=${pcfiledir}/../../..").replace("${prefix}/lib", f"${{prefix}}/lib/{TRIPLETS[target.debian]}")
        development[f"{lib}/pkgconfig/{name}"] = text.replace(" -Wl,-rpath,${libdir}", "").encode()
    name = f"{lib}/cmake/Chime/ChimeConfig.cmake"
    development[name] = development[name].replace(b"${_chime_libdir}/../include", b"${_chime_libdir}/../../include")
    for header in ("chime.h", "chime_run_loop.h", "chime.hpp"):
        development[f"usr/include/{header}"] = tree[f"include/{header}"]
    for name in ("chime.cdef", "chime.gdb"):
        development[f"usr/share/chime/{name}"] = tree[f"share/chime/{name}"]
    for path, content in tree.items():
        if path.startswith(("share/chime/go/", "share/chime/rust/", "share/chime/node/")):
            development[f"usr/{path}"] = content
        if path in guides() or path in html():
            name = path[len("share/doc/chime/"):]
            if path.endswith(".md"):
                content = packaged(content)
            development[f"usr/share/doc/{DEVELOPMENT}/{name}"] = content
        if path.startswith("share/man/"):
            development[f"usr/{path}.gz"] = gzip.compress(content, 9, mtime=0)
    program, output = first_program()
    development[f"usr/share/doc/{DEVELOPMENT}/README.md"] = README.format(version=VERSION, program=program, output=output).encode()
    development[f"usr/share/doc/{DEVELOPMENT}/tick.c"] = program.encode()
    for package, found in ((RUNTIME, runtime), (DEVELOPMENT, development)):
        found[f"usr/share/doc/{package}/copyright"] = copyright()
        found[f"usr/share/doc/{package}/changelog.Debian.gz"] = gzip.compress(changelog(), 9, mtime=0)
    return runtime, development


def packaged(page):
    """A guide's links to what a package has elsewhere."""
    text = page.decode().replace("](../../../include/", "](/usr/include/").replace("](../../chime/", "](/usr/share/chime/")
    text = text.replace("](../../../../include/", "](/usr/include/").replace("](../../../chime/", "](/usr/share/chime/")
    text = re.sub(r"\[([^\]\n]*)\]\((?:\.\./)*Bundled.md\)", rf"[\1](/usr/share/doc/{RUNTIME}/copyright)", text)
    # In place of the front page the package has a README.md of its own; and its gdb finds the script in /usr.
    text = re.sub(r"\]\((?:\.\./){3}((?:\.\./)?)README.md\)", r"](\1README.md)", text)
    return text.replace("/usr/local/share/chime/", "/usr/share/chime/").encode()


def copyright():
    licences = {path.split("/")[-1]: content.decode() for path, content in documents().items()}

    def indented(text):
        return "".join(f" {line.rstrip()}\n" if line.strip() else " .\n" for line in text.strip().splitlines())

    # The Apache License itself is on every Debian system.
    exception = licences["Swift.txt"][licences["Swift.txt"].index("## Runtime Library Exception"):]
    return f"""Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Chime
Comment: The libraries contain parts of the Swift toolchain that builds them: of the
 standard library, its Unicode tables, libdispatch and BlocksRuntime.

Files: *
Copyright: Chime's owner
License: none-yet

Files: usr/lib/*/libchime.*
Copyright: Chime's owner
 Apple Inc. and the Swift project authors
 1991-2022 Unicode, Inc.
License: none-yet and Apache-2.0-with-Swift-exception and Unicode-DFS-2016

License: none-yet
{indented(licences["LICENCE"])}
License: Apache-2.0-with-Swift-exception
 On Debian systems, the complete text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
 .
{indented(exception)}
License: Unicode-DFS-2016
{indented(licences["Unicode.txt"])}""".encode()


def changelog():
    return f"""chime ({REVISION}) unstable; urgency=medium

  * Version {VERSION}. The release notes are in the documentation.

 -- {MAINTAINER}  {email.utils.formatdate(DATE)}
""".encode()


def control(package, target, tree):
    size = sum((len(content) + 1023) // 1024 for content in tree.values() if link_of(content) is None)
    fields = {
        "Package": package, "Source": "chime", "Version": REVISION, "Architecture": target.debian, "Maintainer": MAINTAINER,
        "Installed-Size": str(max(size, 1)), "Priority": "optional", "Multi-Arch": "same",
    }
    if package == RUNTIME:
        fields.update({"Section": "libs", "Depends": f"libc6 (>= {oldest_glibc()})",
                       "Description": f"{SUMMARY}\n{ABOUT}"})
    else:
        about = ABOUT + "\n .\n This package has the headers, the archive, the files for pkg-config and CMake,\n the manual, guides and examples, also as HTML, declarations for cffi and\n LuaJIT, a script for gdb, and the sources of the wrappers in Go, Node and\n Rust."
        fields.update({"Section": "libdevel", "Depends": f"{RUNTIME} (= {REVISION}), libc6-dev",
                       "Description": f"{SUMMARY} (development files)\n{about}"})
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def symbols():
    """deb-symbols(5): from which version of the package on each function is there, by its node in exports.map. A program asks
    for the newest of those that it uses, and for no version after the series."""
    text = re.sub(r"/\*.*?\*/", "", (SOURCES / "ChimeC/exports.map").read_text(), flags=re.S)
    rows = []
    for version, names in re.findall(r"^CHIME_([\d.]+) \{\s*global:([^}]*?)(?:local:[^}]*)?\}", text, re.M):
        rows += [f" {name}@CHIME_{version} {version}" for name in (*re.findall(r"chime_\w+", names), f"CHIME_{version}")]
    head = f"libchime.so.{SONAME_VERSION} {RUNTIME} #MINVER#, {RUNTIME} (<< {NEXT_SERIES}~)\n* Build-Depends-Package: {DEVELOPMENT}\n"
    return head + "".join(f"{row}\n" for row in sorted(rows))


def write(target, tree):
    """Writes both packages, and answers their names."""
    if shutil.which("dpkg-deb") is None:
        raise SystemExit("dist: no dpkg-deb (Debian's dpkg)")
    written = []
    for package, found in zip((RUNTIME, DEVELOPMENT), files(target, tree)):
        stage = OUTPUT / "stage" / f"{package}-{target.debian}"
        sums = "".join(line.decode() for line in md5sums(found))
        found = {**found, "DEBIAN/control": control(package, target, found).encode(), "DEBIAN/md5sums": sums.encode()}
        if package == RUNTIME:
            versions = f"{RUNTIME} (>= {SERIES}), {RUNTIME} (<< {NEXT_SERIES}~)"
            found["DEBIAN/shlibs"] = f"libchime {SONAME_VERSION} {versions}\n".encode()
            found["DEBIAN/symbols"] = symbols().encode()
            found["DEBIAN/triggers"] = b"activate-noawait ldconfig\n"
        write_tree(stage, found)
        for path in stage.rglob("libchime.so*"):
            if not path.is_symlink():
                path.chmod(0o644)
        name = f"{package}_{REVISION}_{target.debian}.deb"
        run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", stage, OUTPUT / name,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(DATE)})
        written.append(name)
    return written


def md5sums(tree):
    import hashlib
    for path, content in sorted(tree.items()):
        if link_of(content) is None:
            yield f"{hashlib.md5(content).hexdigest()}  {path}\n".encode()
