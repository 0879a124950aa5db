"""What all parts of a release have in common: its version and date, its targets, the files of each, made the same way each
time."""

import dataclasses
import functools
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import zipfile

DIST = pathlib.Path(__file__).resolve().parent
INSTALL = DIST.parent
SOURCES = INSTALL.parent
ROOT = SOURCES.parent
OUTPUT = SOURCES / "build/dist"

SONAME_VERSION = re.search(r"^SONAME_VERSION = (\d+)", (SOURCES / "Makefile").read_text(), re.M).group(1)


def header(name):
    return re.search(rf"^#define CHIME_VERSION_{name} (\d+)", (ROOT / "include/chime.h").read_text(), re.M).group(1)


VERSION = ".".join(map(header, ("MAJOR", "MINOR", "PATCH")))
SERIES = ".".join(VERSION.split(".")[:2])
NEXT_SERIES = f"{header('MAJOR')}.{int(header('MINOR')) + 1}" if header("MAJOR") == "0" else str(int(header("MAJOR")) + 1)


def date():
    """Seconds since 1970 that every file of a release carries: SOURCE_DATE_EPOCH, or when the commit was made."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    shown = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(ROOT), "log", "-1", "--format=%ct"],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    if not shown:
        raise SystemExit("dist: this is no clone: give SOURCE_DATE_EPOCH, the date that all files are to have")
    return int(shown)


DATE = date()


def run(*command, **options):
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise SystemExit(f"dist: {' '.join(words)}\n{done.stdout}")
    return done.stdout


@dataclasses.dataclass
class Target:
    """A line of targets.txt."""

    name: str
    system: str
    machine: str
    make: str
    built: str
    link: str
    debian: str
    wheel: str

    @property
    def is_apple(self):
        return self.system in ("macos", "ios")

    @property
    def is_windows(self):
        return self.system == "windows"

    @property
    def platform(self):
        return f"{self.system}-{self.machine}"

    @property
    def has_dispatch(self):
        """libdispatch is bundled: not where the system has its own, nor where there is none."""
        return self.make == "host"

    @property
    def uses_zig(self):
        """zig compiles musl itself, with the builder's paths in it for debuggers: a release is linked without those."""
        return self.make.endswith("-musl")

    def built_library(self):
        """The shared library, and the archive's directory."""
        lib = SOURCES / self.built / "lib"
        shared = SOURCES / self.built / "oldest/lib" if self.link == "oldest" else lib
        return shared, lib

    def build(self):
        goals = ["library"] if self.is_apple else ["library", "archive"]
        for goal in goals + ["oldest"] * (self.link == "oldest"):
            if self.uses_zig:
                (SOURCES / self.built / "libchime.whole").unlink(missing_ok=True)
            run("make", "-C", SOURCES, f"TARGET={self.make}", goal, *["LDFLAGS=-Wl,--strip-debug"] * self.uses_zig)
        run("make", "-C", SOURCES, f"TARGET={self.make}", f"{self.built}/chime.cdef")

    def files(self):
        """The tree of an unpacked release, PATH: bytes, or the text of a symbolic link after an arrow."""
        shared, lib = self.built_library()
        tree = {}
        for name in ("chime.h", "chime_run_loop.h", "chime.hpp"):
            tree[f"include/{name}"] = (ROOT / "include" / name).read_bytes()
        if self.is_apple:
            tree[f"lib/libchime.{SONAME_VERSION}.dylib"] = (shared / f"libchime.{SONAME_VERSION}.dylib").read_bytes()
            tree["lib/libchime.dylib"] = f"-> libchime.{SONAME_VERSION}.dylib"
        elif self.is_windows:
            tree[f"bin/chime-{SONAME_VERSION}.dll"] = (lib / f"chime-{SONAME_VERSION}.dll").read_bytes()
            for name in ("libchime.dll.a", "chime.lib"):
                tree[f"lib/{name}"] = (lib / name).read_bytes()
        else:
            soname = f"libchime.so.{SONAME_VERSION}"
            tree[f"lib/{soname}.{VERSION}"] = (shared / soname).read_bytes()
            tree[f"lib/{soname}"] = f"-> {soname}.{VERSION}"
            tree["lib/libchime.so"] = f"-> {soname}"
            if not self.uses_zig:
                tree[f"lib/.debug/{soname}.debug"] = (shared / f"{soname}.debug").read_bytes()
            tree["share/chime/chime.gdb"] = (INSTALL / "chime.gdb").read_bytes()
        if (lib / "libchime.a").exists():
            tree["lib/libchime.a"] = (lib / "libchime.a").read_bytes()
            if not self.is_windows:
                tree["lib/libchime-static.a"] = "-> libchime.a"
            tree["lib/pkgconfig/chime-static.pc"] = self.filled("chime-static.pc")
        tree["lib/pkgconfig/chime.pc"] = self.filled("chime.pc")
        for name in ("ChimeConfig.cmake", "ChimeConfigVersion.cmake"):
            tree[f"lib/cmake/Chime/{name}"] = self.filled(name)
        tree["share/chime/chime.cdef"] = (SOURCES / self.built / "chime.cdef").read_bytes()
        tree.update(bindings())
        tree.update(documents())
        tree.update(guides())
        tree.update(html())
        if not self.is_windows:
            tree.update(manual())
        return tree

    def filled(self, template):
        """With paths that follow from where the file lies."""
        text = (INSTALL / f"{template}.in").read_text()
        if self.is_apple:
            dylib = "libchime.@SONAME_VERSION@.dylib"
            text = text.replace('IMPORTED_SONAME "libchime.so.@SONAME_VERSION@"', f'IMPORTED_SONAME "@rpath/{dylib}"')
            text = text.replace("libchime.so.@SONAME_VERSION@", dylib)
        if self.is_windows:
            # MinGW takes MSVC's import library, too.
            text = text.replace('"${_chime_libdir}/libchime.so.@SONAME_VERSION@"', '"${_chime_libdir}/../bin/chime-@SONAME_VERSION@.dll"')
            text = text.replace('IMPORTED_SONAME "libchime.so.@SONAME_VERSION@"', 'IMPORTED_IMPLIB "${_chime_libdir}/chime.lib"')
            text = text.replace("libchime.so.@SONAME_VERSION@", "../bin/chime-@SONAME_VERSION@.dll")
            text = text.replace("AND NOT TARGET Chime::chime-static)", "AND NOT TARGET Chime::chime-static AND NOT MSVC)")
            text = re.sub(r"^# By a name.*\n", "", text, flags=re.M).replace("-L${libdir} -lchime-static", "${libdir}/libchime.a")
            text = text.replace("-ldl -pthread", "-ladvapi32").replace('"dl;-pthread"', '"advapi32"')
        elif template == "chime.pc":
            # A program that is linked with the release as it lies starts as it is.
            text = text.replace("-L${libdir} -lchime", "-L${libdir} -lchime -Wl,-rpath,${libdir}")
        values = {
            "PREFIX": "${pcfiledir}/../..", "LIBDIR": "${prefix}/lib", "INCLUDEDIR": "${prefix}/include",
            "INCLUDEDIR_FROM_LIBDIR": "../include", "VERSION": VERSION, "SONAME_VERSION": SONAME_VERSION,
        }
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        return text.encode()


def documents():
    """What says which licences there are."""
    tree = {f"share/doc/chime/licences/{path.name}": path.read_bytes() for path in sorted((DIST / "licences").iterdir())}
    tree["share/doc/chime/LICENCE"] = (SOURCES / "Bindings/LICENCE").read_bytes()
    tree["share/doc/chime/Bundled.md"] = (SOURCES / "Chime/Chime.docc/Bundled.md").read_bytes()
    return tree


def bindings():
    """What programs in Go, Rust and Node compile; Python has its wheel."""
    tree = {}
    for language, kept in (("go", r"(\.go|\.[ch]|\.md|left_out\.txt|/go\.mod|/LICENCE)$"), ("rust", r"(\.rs|\.toml|\.md|/LICENCE)$"), ("node", r"(\.c|\.js|\.d\.ts|\.json|\.md|/Makefile|/LICENCE|left_out\.txt)$")):
        top = SOURCES / "Bindings" / language
        for path in sorted(top.rglob("*")):
            name = str(path.relative_to(top))
            if path.is_file() and re.search(kept, f"/{name}") and not re.search(r"^(tests|target|build)/|_test\.go$", name):
                tree[f"share/chime/{language}/{name}"] = path.read_bytes()
    return tree


# The guides of a release: what each is called there, and where it stands in a clone.
GUIDES = {"C.md": "include/README.md", "Languages.md": "Sources/Bindings/README.md"}
GUIDES |= {f"{name}.md": f"Sources/Chime/Chime.docc/{name}.md"
           for name in ("ComingFrom", "GameTime", "Limits", "Platforms", "Promises", "ReleaseNotes", "Troubleshooting")}
PLACES = {f"include/{name}": f"../../../include/{name}" for name in ("chime.h", "chime_run_loop.h", "chime.hpp")}
PLACES |= {f"Sources/Bindings/{name}": f"../../chime/{name}"
           for name in ("go", "go/README.md", "rust", "rust/README.md", "node", "node/README.md", "node/index.d.ts")}
PLACES |= {path: name for name, path in GUIDES.items()} | {"Sources/Chime/Chime.docc/Bundled.md": "Bundled.md"}
PLACES |= {"README.md": "../../../README.md", "examples-c": "examples/README.md", "examples-c/README.md": "examples/README.md"}


@functools.cache
def guides():
    """The guides and the examples, with links that lead where they lie. What a release does not have is named, not linked."""
    tree = {f"share/doc/chime/{name}": linked(path, "").encode() for name, path in GUIDES.items()}
    tree |= {f"share/doc/chime/{path.name}": path.read_bytes() for path in sorted((SOURCES / "Chime/Chime.docc").glob("*.svg"))}
    for path in sorted((ROOT / "examples-c").iterdir()):
        name = path.name
        if path.suffix in (".c", ".cpp", ".h") or name == "loopback.py":
            tree[f"share/doc/chime/examples/{name}"] = built_with_pkg_config(path.read_text()).encode()
    tree["share/doc/chime/examples/README.md"] = linked("examples-c/README.md", "../").encode()
    return tree


def first_program():
    """The front page's, and what it prints."""
    text = (ROOT / "README.md").read_text()
    program, output = re.search(r"^```c\n(.*?)^```\n\n```text\n(.*?)^```$", text, re.M | re.S).groups()
    return program, output


def built_with_pkg_config(example):
    """An example whose comment says how it is built with an installed libchime, not in a clone, and how that is run."""
    example = re.sub(r"^( \* Run:.*? )build/(?=\w)", r"\1./", example, flags=re.M)
    makefile = (ROOT / "examples-c/Makefile").read_text()

    def beside_a_library(match):
        name, package = match.groups()
        compiler = "c++ -std=c++17" if (ROOT / f"examples-c/{name}.cpp").exists() else "cc"
        link = re.search(rf"^link-{name} = (.*)$", makefile, re.M)
        flags = "$(pkg-config --cflags --libs chime%s)" % (" glib-2.0" if package == "libglib2.0-dev" else "")
        own = f" {link[1]}" if link and "glib" not in package else ""
        source = f"{name}.{'cpp' if '++' in compiler else 'c'}"
        return f"{compiler} {source} -o {name} {flags}{own} -pthread   ({package})"

    example = re.sub(r"make build/(\w+) \((\S+)\)", beside_a_library, example)
    return re.sub(r"make \(or (c\S+ (?:-std=\S+ )?\S+) -o build/(\w+) -I\.\./include -Lbuild/lib -lchime(?: -pthread)?\s+(?:\* +)?-Wl,-rpath,build/lib\)",
                  r"\1 -o \2 $(pkg-config --cflags --libs chime) -pthread", example)


def linked(page, up):
    """The text of a page of the clone, as it is in a release; `up` leads to share/doc/chime."""

    def link(match):
        shown, to = match.groups()
        if re.match(r"\w+:", to):
            return match[0]
        path, _, anchor = to.partition("#")
        if not path:
            return match[0]
        path = os.path.normpath(os.path.join(os.path.dirname(page), path))
        directory, name = os.path.split(path)
        if path in PLACES:
            place = up + PLACES[path]
            anchor = anchor if path in GUIDES.values() else ""  # other headings are the front page's
        elif directory == "examples-c" and (ROOT / path).is_file():
            place = f"{up}examples/{name}"
        else:
            return shown
        return f"[{shown}]({os.path.normpath(place)}{'#' * bool(anchor)}{anchor})"

    # What concerns a clone alone stands in a section of that name.
    text = re.sub(r"^## In a clone\n.*?(?=^## |\Z)", "", (ROOT / page).read_text(), flags=re.M | re.S)
    # Paths of a clone that are named in text, where a release has the file.
    text = text.replace("`examples-c/", f"`{up}examples/").replace("`examples-c`", f"`{up}examples`").replace("`Sources/Chime/Chime.docc/", f"`{up}")
    return re.sub(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)", link, text)


@functools.cache
def made_documents():
    """Where the pages are that `make docs` makes out of headers, guides and examples."""
    run("make", "-C", SOURCES, "docs")
    return SOURCES / "build/docs"


def manual():
    man = made_documents() / "man"
    return {f"share/man/{path.relative_to(man)}": path.read_bytes() for path in sorted(man.glob("man?/*"))}


def html():
    """For a browser, without a network: index.html is the first page."""
    top = made_documents() / "html"
    return {f"share/doc/chime/html/{path.relative_to(top)}": path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


def targets(names):
    found = []
    for line in (INSTALL / "targets.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            found.append(Target(*line.split()))
    unknown = set(names) - {target.name for target in found}
    if unknown:
        raise SystemExit(f"dist: no such target: {', '.join(sorted(unknown))}; there are "
                         + ", ".join(target.name for target in found))
    return [target for target in found if not names or target.name in names]


def oldest_glibc():
    """The glibc that libraries are linked for whose line says `oldest`."""
    return re.search(r"^OLDEST_GLIBC = ([\d.]+)", (INSTALL / "dist.mk").read_text(), re.M).group(1)


def is_executable(path):
    return path.endswith(".sh") or re.search(r"/(libchime[^/]*\.(so\.\d[\d.]*|dylib)|chime-\d+\.dll)$", f"/{path}") is not None


def link_of(content):
    """Where a symbolic link leads to; None: it is a file."""
    return content[3:] if isinstance(content, str) else None


def checksums(tree):
    """SHA256SUMS of the files of a tree, as sha256sum checks it."""
    lines = [f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in sorted(tree.items())
             if link_of(content) is None]
    return "".join(lines).encode()


def write_tar(path, top, tree):
    directories = sorted({str(parent) for name in tree for parent in pathlib.PurePosixPath(top, name).parents} - {"."})
    members = [(name, None) for name in directories] + [(f"{top}/{name}", tree[name]) for name in sorted(tree)]
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.mtime, info.uname, info.gname = DATE, "root", "root"
            if content is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(info)
            elif link_of(content) is not None:
                info.type, info.mode, info.linkname = tarfile.SYMTYPE, 0o777, link_of(content)
                archive.addfile(info)
            else:
                info.size, info.mode = len(content), 0o755 if is_executable(name) else 0o644
                archive.addfile(info, io.BytesIO(content))


def write_zip(path, tree):
    import time
    stamp = time.gmtime(max(DATE, 315532800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(tree):
            info = zipfile.ZipInfo(name, stamp)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o100755 if is_executable(name) else 0o100644) << 16
            archive.writestr(info, tree[name])


def write_tree(directory, tree):
    """To the disk, for tools that read from there; with the release's date on all of it."""
    shutil.rmtree(directory, ignore_errors=True)
    for name, content in tree.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if link_of(content) is not None:
            path.symlink_to(link_of(content))
        else:
            path.write_bytes(content)
            path.chmod(0o755 if is_executable(name) else 0o644)
    for path in sorted(directory.rglob("*"), reverse=True):
        os.utime(path, (DATE, DATE), follow_symlinks=False)
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    os.utime(directory, (DATE, DATE))
    directory.chmod(0o755)
