"""Chime.xcframework: libchime for Apple's systems, with its headers and their module map, as Xcode and SwiftPM's
`.binaryTarget` take it."""

import plistlib

from release import OUTPUT, ROOT, SONAME_VERSION, VERSION, write_zip

HEADERS = ("chime.h", "chime_run_loop.h", "chime.hpp")


def library(target):
    """A dictionary of AvailableLibraries."""
    return {
        "LibraryIdentifier": f"{target.system}-{target.machine}",
        "LibraryPath": f"libchime.{SONAME_VERSION}.dylib",
        "BinaryPath": f"libchime.{SONAME_VERSION}.dylib",
        "HeadersPath": "Headers",
        "SupportedArchitectures": [target.machine],
        "SupportedPlatform": target.system,
    }


def files(trees):
    """trees: (target, the tree of its release), for each of Apple's systems."""
    found = {"Info.plist": plistlib.dumps({
        "AvailableLibraries": [library(target) for target, _ in trees],
        "CFBundlePackageType": "XFWK",
        "XCFrameworkFormatVersion": "1.0",
    }, sort_keys=True)}
    for target, tree in trees:
        place = f"{target.system}-{target.machine}"
        dylib = f"libchime.{SONAME_VERSION}.dylib"
        found[f"{place}/{dylib}"] = tree[f"lib/{dylib}"]
        for name in HEADERS:
            found[f"{place}/Headers/{name}"] = tree[f"include/{name}"]
        found[f"{place}/Headers/module.modulemap"] = (ROOT / "include/module.modulemap").read_bytes()
    return {f"Chime.xcframework/{path}": content for path, content in found.items()}


def write(trees):
    name = f"chime-{VERSION}.xcframework.zip"
    write_zip(OUTPUT / name, files(trees))
    return name
