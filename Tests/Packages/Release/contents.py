"""Looks into a release: that it is whole, that what it says of itself is true, and that it can be used wherever it is put.

    python3 contents.py DIST
"""

import calendar
import hashlib
import json
import os
import pathlib
import plistlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path.insert(0, str(ROOT / "Sources/install/dist"))
import release  # noqa: E402

DIST = pathlib.Path(sys.argv[1]).resolve()
# Names of the ELF header's machines, as readelf has them, and how to run a program of that machine here.
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64", "riscv64": "RISC-V"}
# What compiles for a target, and runs what was compiled: only a static program where there is no loader of its own here.
COMPILERS = {
    "linux-x86_64": ["cc"], "linux-aarch64": ["aarch64-linux-gnu-gcc"], "linux-riscv64": ["riscv64-linux-gnu-gcc"],
    "linux-musl-x86_64": ["musl-gcc"],
    "linux-musl-aarch64": [str(ROOT / "Sources/build/zig/aarch64-linux-musl-cc"), "-static"],
}
RUNNERS = {
    "linux-aarch64": ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
    "linux-riscv64": ["qemu-riscv64", "-L", "/usr/riscv64-linux-gnu"],
    "linux-musl-aarch64": ["qemu-aarch64"],
}
# Nobody's address stands in the packages until the owner gives MAINTAINER; and they are uploaded nowhere.
NOT_FOR_US = "bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs"

work = pathlib.Path(tempfile.mkdtemp())


def fail(what):
    shutil.rmtree(work, ignore_errors=True)
    sys.exit(f"FAILED: {what}")


def expect(is_true, what):
    if not is_true:
        fail(what)


def run(*command, status=0, **options):
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, **options)
    expect((done.returncode == 0) == (status == 0), f"{' '.join(words)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def asked(tree, package):
    """What pkg-config says of a package of that release."""
    return run("pkg-config", "--cflags", "--libs", package,
               env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_LIBDIR": str(tree / "lib/pkgconfig")}).split()


def sums(text, read):
    """Each line of a SHA256SUMS is true. Answers the names."""
    names = []
    for line in text.splitlines():
        digest, name = line.split("  ")
        expect(hashlib.sha256(read(name)).hexdigest() == digest, f"SHA256SUMS: {name}")
        names.append(name)
    return names


def packed(target):
    return "zip" if target.is_windows else "tar.gz"


def whole(targets):
    """All files of each target, and no other."""
    expected = set()
    for target in targets:
        name = f"chime-{release.VERSION}-{target.platform}"
        expected |= {f"{name}.{packed(target)}", f"{name}.spdx.json"}
        if target.debian != "-":
            expected |= {f"{package}_{release.VERSION}-1_{target.debian}.deb" for package in (RUNTIME, "libchime-dev")}
        if target.wheel != "-":
            expected.add(f"chime_timers-{release.VERSION}-py3-none-{target.wheel}.whl")
    if any(target.is_apple for target in targets):
        expected.add(f"chime-{release.VERSION}.xcframework.zip")
    found = {path.name for path in DIST.iterdir()} - {"SHA256SUMS"}
    expect(found == expected, f"missing: {sorted(expected - found)}; too many: {sorted(found - expected)}")
    names = sums((DIST / "SHA256SUMS").read_text(), lambda name: (DIST / name).read_bytes())
    expect(set(names) == expected, "SHA256SUMS does not name all files")
    print(f"ok: {len(expected)} files, all with their checksums")


def bill(target, tree):
    """The SBOM: what SPDX 2.3 requires of one, and what it says of the libraries beside it."""
    text = (DIST / f"{tree.name}.spdx.json").read_text()
    expect(text == (tree / "share/doc/chime" / f"{tree.name}.spdx.json").read_text(), "the SBOM beside the tarball differs")
    spdx = json.loads(text)
    for key in ("spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"):
        expect(spdx.get(key), f"SBOM: no {key}")
    elements = {spdx["SPDXID"]}
    for element in spdx["packages"] + spdx["files"]:
        expect(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", element["SPDXID"]), f"SBOM: {element['SPDXID']}")
        expect(element["SPDXID"] not in elements, f"SBOM: twice {element['SPDXID']}")
        elements.add(element["SPDXID"])
    for relation in spdx["relationships"]:
        expect({relation["spdxElementId"], relation["relatedSpdxElement"]} <= elements, f"SBOM: {relation}")
    for file in spdx["files"]:
        content = (tree / file["fileName"]).read_bytes()
        for checksum in file["checksums"]:
            made = hashlib.new(checksum["algorithm"].lower(), content).hexdigest()
            expect(made == checksum["checksumValue"], f"SBOM: {file['fileName']}")
    contained = {relation["relatedSpdxElement"] for relation in spdx["relationships"]
                 if relation["relationshipType"] == "CONTAINS"}
    expect({file["SPDXID"] for file in spdx["files"]} <= contained, "SBOM: a file is in no package")
    code = "".join(sorted(file["checksums"][0]["checksumValue"] for file in spdx["files"]))
    expect(spdx["packages"][0]["packageVerificationCode"]["packageVerificationCodeValue"]
           == hashlib.sha1(code.encode()).hexdigest(), "SBOM: the package's verification code")
    # Bundled.md names the same parts.
    bundled = (ROOT / "Sources/Chime/Chime.docc/Bundled.md").read_text()
    for package in spdx["packages"][1:]:
        word = {"unicode-data": "Unicode data", "swift-stdlib": "Swift standard library", "libdispatch": "libdispatch",
                "blocks-runtime": "BlocksRuntime"}[package["SPDXID"].removeprefix("SPDXRef-")]
        expect(word in bundled, f"SBOM: {word} is not in Bundled.md")
    archive = tree / "lib/libchime.a"
    if not target.is_apple and archive.exists():
        has = b"com.apple.root" in archive.read_bytes()  # the names of its queues
        expect(has == target.has_dispatch, f"SBOM: {target.name}: libdispatch {'is' if has else 'is not'} in the archive")


def library(target, tree):
    """The shared library: its machine, its names, what it needs, and nothing of the machine that built it."""
    soname = f"libchime.so.{release.SONAME_VERSION}"
    path = tree / "lib" / soname
    expect(MACHINES[target.machine] in run("readelf", "--file-header", path), f"{path} is for another machine")
    dynamic = run("readelf", "--dynamic", "--wide", path)
    for wanted in (f"soname: [{soname}]", "NODELETE", "BIND_NOW"):
        expect(wanted in dynamic, f"{path}: no {wanted}")
    expect(not re.search("RUNPATH|RPATH|TEXTREL|libstdc|libgcc|libm\\.", dynamic), f"{path}: {dynamic}")
    exports = re.findall(r" T (\w+)@@CHIME_[\d.]+$", run("nm", "-D", "--with-symbol-versions", path), re.M)
    declared = set(re.findall(r"\b(chime_\w+)\(", (tree / "share/chime/chime.cdef").read_text())) - {"chime_status"}
    expect(set(exports) == {name for name in declared if name in exports} and len(exports) > 80, f"{path}: its exports")
    if target.link == "oldest":
        limit = tuple(map(int, release.oldest_glibc().split(".")))
        needed = re.findall(r"GLIBC_([\d.]+)", run("readelf", "--version-info", "--wide", path))
        newest = max(tuple(map(int, version.split("."))) for version in needed)
        expect(newest <= limit, f"{path} needs glibc {newest}")


def dylib(target, tree):
    """Apple's: a library of Mach-O for arm64. What it exports and needs, Tests/Systems/MachO looks at."""
    content = (tree / f"lib/libchime.{release.SONAME_VERSION}.dylib").read_bytes()
    magic, processor, _, kind = struct.unpack_from("<IIII", content)
    expect((magic, processor, kind) == (0xFEEDFACF, 0x0100000C, 6), f"{target.name}: no dylib for arm64")
    expect(b"libchime.so" not in (tree / "lib/cmake/Chime/ChimeConfig.cmake").read_bytes(), f"{target.name}: CMake")


def dll(target, tree):
    """Windows': by MinGW with each import library, with the archive and by pkg-config, run under wine beside the DLL, from a
    directory that its builder did not know. What the DLL exports and needs, Tests/Systems/Windows looks at."""
    library_name = f"chime-{release.SONAME_VERSION}.dll"
    content = (tree / "bin" / library_name).read_bytes()
    place = struct.unpack_from("<I", content, 0x3C)[0]
    expect(struct.unpack_from("<H", content, place + 4)[0] == 0x8664, f"{target.name}: no DLL for x86-64")
    config = (tree / "lib/cmake/Chime/ChimeConfig.cmake").read_text()
    expect("libchime.so" not in config and "chime.lib" in config and "IMPORTED_IMPLIB" in config, f"{target.name}: CMake")
    compiler = "x86_64-w64-mingw32-gcc-posix"
    wine = next((path for path in ("/usr/lib/wine/wine64", "/usr/bin/wine64") if pathlib.Path(path).exists()), None)
    if shutil.which(compiler) is None or wine is None:
        print(f"left out: programs for {target.name} (no {compiler}, or no wine64)")
        return
    made = work / "windows"
    made.mkdir()
    flags = asked(tree, "chime-static")
    ways = {"mingw": [f"-I{tree}/include", f"{tree}/lib/libchime.dll.a"], "msvc": [f"-I{tree}/include", f"{tree}/lib/chime.lib"],
            "archive": ["-static", f"-I{tree}/include", f"{tree}/lib/libchime.a", "-ladvapi32"]}
    expect("-ladvapi32" in flags, f"{target.name}: chime-static.pc: {flags}")
    shutil.copy(tree / "bin" / library_name, made)
    environment = {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str(work / "wine")}
    for name, words in ways.items():
        run(compiler, HERE / "count.c", *words, "-o", made / f"{name}.exe")
        said = run(wine, made / f"{name}.exe", env=environment)
        expect("3 ticks" in said.splitlines(), f"{target.name}: {name} says {said!r}")
    print(f"ok: {tree.name}: {', '.join(ways)}, under wine, moved")


def unpacked(target):
    """A tarball or zip, unpacked in a directory that its builder did not know."""
    name = f"chime-{release.VERSION}-{target.platform}"
    place = work / "some where else"
    if target.is_windows:
        with zipfile.ZipFile(DIST / f"{name}.zip") as archive:
            for member in archive.infolist():
                expect(member.filename.startswith(f"{name}/"), f"{member.filename} is not in {name}")
                # To a zip a second is two, and all names are one without regard to capitals.
                expect(abs(calendar.timegm((*member.date_time, 0, 0, 0)) - release.DATE) < 2, f"{member.filename}: date")
            names = [member.filename.lower() for member in archive.infolist()]
            expect(len(names) == len(set(names)), f"{name}: two names that Windows takes for one")
            archive.extractall(place)
    else:
        with tarfile.open(DIST / f"{name}.tar.gz") as archive:
            for member in archive:
                expect(member.name == name or member.name.startswith(f"{name}/"), f"{member.name} is not in {name}")
                expect((member.mtime, member.uname) == (release.DATE, "root"), f"{member.name}: date or owner")
            archive.extractall(place)
    tree = place / name
    names = set(sums((tree / "SHA256SUMS").read_text(), lambda path: (tree / path).read_bytes()))
    files = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file() and not path.is_symlink()}
    expect(files == names | {"SHA256SUMS"}, f"{name}: not in SHA256SUMS: {files - names}")
    for page in ("index", "C", "Limits", "Programs", "chime_8h"):
        expect((tree / f"share/doc/chime/html/{page}.html").exists(), f"{name}: no HTML: {page}")
    run(sys.executable, ROOT / ".ci/links.py", tree)
    builders = [str(ROOT), str(pathlib.Path.home()) + "/"]
    for path in files:
        content = (tree / path).read_bytes()
        for builder in builders:
            expect(builder.encode() not in content, f"{name}/{path} names {builder}")
    return tree


def used(target, tree):
    """By pkg-config and by install.sh, with this machine's compiler or a cross compiler and qemu."""
    compiler, emulator = COMPILERS[target.platform], RUNNERS.get(target.platform, [])
    for program in (compiler[0], *emulator[:1]):
        if shutil.which(program) is None:
            print(f"left out: programs for {target.name} (no {program})")
            return
    plain = work / "plain"
    plain.mkdir()
    source = plain / "count.c"
    source.write_text((HERE / "count.c").read_text())
    moved = work / "moved"
    shutil.rmtree(moved, ignore_errors=True)
    shutil.copytree(tree, moved, symlinks=True)

    def runs(program):
        said = run(*emulator, program)
        expect(said == "3 ticks\n", f"{target.name}: {program} says {said!r}")

    flags = {package: asked(moved, package) for package in ("chime", "chime-static")}
    run(*compiler, source, *flags["chime-static"], "-o", plain / "static")
    runs(plain / "static")
    if "-static" not in compiler:
        run(*compiler, source, *flags["chime"], f"-Wl,-rpath,{moved}/lib", "-o", plain / "shared")
        runs(plain / "shared")

    prefix = work / "prefix"
    (prefix / "share").mkdir(parents=True)
    run(tree / "install.sh", prefix)
    run(tree / "install.sh", prefix)  # twice is once
    installed = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir() or path.is_symlink()}
    expect("lib/libchime.so" in installed and not any(name.endswith(".new") for name in installed), "install.sh")
    run(tree / "install.sh", "--uninstall", prefix)
    left = [str(path.relative_to(prefix)) for path in prefix.rglob("*")]
    expect(left in ([], ["share"]), f"install.sh --uninstall leaves {left}")
    with open(moved / "include/chime.h", "a") as header:
        header.write("/* changed */\n")
    expect("damaged" in run(moved / "install.sh", prefix, status=1), "install.sh takes a release that was changed")
    for path in (plain, prefix, moved):
        shutil.rmtree(path, ignore_errors=True)
    print(f"ok: {tree.name}: pkg-config, archive, install.sh, moved")


RUNTIME = f"libchime{release.SONAME_VERSION}"


def symbols(target):
    """dpkg's symbols file: what the library exports, no name more, each from its version on. What a package asks for that has
    a program of chime_version alone: the series, and the oldest version that has it."""
    stage = work / "symbols"
    unpacked = stage / "debian" / RUNTIME
    unpacked.parent.mkdir(parents=True)
    run("dpkg-deb", "--raw-extract", DIST / f"{RUNTIME}_{release.VERSION}-1_{target.debian}.deb", unpacked)
    (path,) = unpacked.rglob(f"libchime.so.{release.SONAME_VERSION}")
    exported = re.findall(r" [TA] (\S+)$", run("nm", "-D", "--defined-only", "--with-symbol-versions", path), re.M)
    exported = {name.replace("@@", "@") if "@" in name else f"{name}@{name}" for name in exported}
    rows = [line.split() for line in (unpacked / "DEBIAN/symbols").read_text().splitlines() if line.startswith(" ")]
    expect({row[0] for row in rows} == exported and len(rows) == len(exported), f"{RUNTIME}: its symbols file")
    for name, version in rows:
        expect(name.endswith(f"@CHIME_{version}"), f"{RUNTIME}: {name} {version}")
    if target.platform == "linux-x86_64":
        (stage / "debian/control").write_text("Source: program\n\nPackage: program\nArchitecture: any\n")
        source = stage / "version.c"
        source.write_text("#include <stdint.h>\nuint32_t chime_version(void);\nint main(void) { return chime_version() == 0; }\n")
        run("cc", source, path, "-o", stage / "version")
        said = run("dpkg-shlibdeps", "-O", f"-S{unpacked}", f"-l{path.parent}", "version", cwd=stage)
        oldest, after = release.SERIES, release.NEXT_SERIES
        expect(f"{RUNTIME} (>= {oldest}), {RUNTIME} (<< {after}~)" in said or f"{RUNTIME} (<< {after}~), {RUNTIME} (>= {oldest})" in said,
               f"dpkg-shlibdeps: {said}")
    shutil.rmtree(stage)


def packages(target):
    names = [f"{package}_{release.VERSION}-1_{target.debian}.deb" for package in (RUNTIME, "libchime-dev")]
    for name in names:
        fields = run("dpkg-deb", "--field", DIST / name)
        expect(f"Architecture: {target.debian}\n" in fields and f"Version: {release.VERSION}-1\n" in fields, fields)
    listed = run("dpkg-deb", "--contents", DIST / names[1])
    for path in ("man/man7/chime.7.gz", "man/man3/chime_timer_after.3.gz", "doc/libchime-dev/html/index.html", "doc/libchime-dev/C.md"):
        expect(f" ./usr/share/{path}\n" in listed, f"{names[1]}: no {path}")
    said = run("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", NOT_FOR_US,
               *(DIST / name for name in names))
    symbols(target)
    print(f"ok: {', '.join(names)}: lintian{' says ' + said.strip() if said.strip() else ''}")


def wheel(target, tree):
    """The library in the wheel is the tarball's, and its licences are with it."""
    with zipfile.ZipFile(DIST / f"chime_timers-{release.VERSION}-py3-none-{target.wheel}.whl") as archive:
        names = archive.namelist()
        inside = [name for name in names if "/libchime." in name or name.endswith(".dll")]
        expect(len(inside) == 1, f"{target.wheel}: {inside}")
        is_same = archive.read(inside[0]) == (tree / ("bin" if target.is_windows else "lib") / inside[0].split("/")[1]).resolve().read_bytes()
        expect(is_same or target.system == "linux-musl", target.wheel)  # musl's name is another one there (wheel.py)
        expect("chime_timers/py.typed" in names, f"{target.wheel}: no type hints")
        for licence in ("LICENCE", "Swift.txt", "Unicode.txt"):
            expect(any(name.endswith(f"/{licence}") for name in names), f"{target.wheel}: no {licence}")
        expect(f"Tag: py3-none-{target.wheel}\n" in archive.read(
            f"chime_timers-{release.VERSION}.dist-info/WHEEL").decode(), f"{target.wheel}: another tag")


def framework(archive):
    """The XCFramework: every path that its plist names is there."""
    with zipfile.ZipFile(archive) as packed:
        files = set(packed.namelist())
        plist = plistlib.loads(packed.read("Chime.xcframework/Info.plist"))
    expect((plist["CFBundlePackageType"], plist["XCFrameworkFormatVersion"]) == ("XFWK", "1.0"), plist)
    for entry in plist["AvailableLibraries"]:
        place = f"Chime.xcframework/{entry['LibraryIdentifier']}"
        for path in (entry["LibraryPath"], f"{entry['HeadersPath']}/module.modulemap", f"{entry['HeadersPath']}/chime.h"):
            expect(f"{place}/{path}" in files, f"xcframework: no {place}/{path}")
        expect(entry["SupportedArchitectures"] == ["arm64"] and entry["SupportedPlatform"] in ("macos", "ios"), entry)
    print(f"ok: xcframework: {len(plist['AvailableLibraries'])} libraries")


def main():
    every = release.targets([])
    made = {path.name for path in DIST.glob("chime-*")}
    targets = [target for target in every if f"chime-{release.VERSION}-{target.platform}.{packed(target)}" in made]
    absent = [target.name for target in every if target not in targets]
    expect(targets, "no tarball, no zip")
    if absent:
        print(f"not built: {', '.join(absent)}")
    whole(targets)
    for target in targets:
        tree = unpacked(target)
        bill(target, tree)
        if target.is_apple:
            dylib(target, tree)
        elif target.is_windows:
            dll(target, tree)
        else:
            library(target, tree)
            used(target, tree)
        if target.debian != "-":
            packages(target)
        if target.wheel != "-":
            wheel(target, tree)
    for archive in DIST.glob("*.xcframework.zip"):  # `whole` has said whether there has to be one
        framework(archive)
    shutil.rmtree(work, ignore_errors=True)


main()
