#!/bin/sh
# What is needed to build for macOS and iOS on another system: DIR/include, Apple's C headers, and DIR/libSystem.macos.tbd,
# DIR/libSystem.ios.tbd, the names in libSystem. Both come out of the package ziglang of PyPI; the rest of it is not kept.
#
#     install/darwin.sh DIR
#
# Needs python3 with pip. The linker is Debian's lld-19. (On a Mac xcrun has all of it, and nothing of this is needed.)
set -eu
dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$work" \
  --require-hashes --requirement "$(dirname "$0")/ziglang.txt"
mkdir -p "$dir"
python3 - "$work"/ziglang-*.whl "$dir" <<'PYTHON'
import os
import re
import sys
import zipfile

wheel, directory = zipfile.ZipFile(sys.argv[1]), sys.argv[2]
headers = "ziglang/lib/libc/include/any-darwin-any/"
count = 0
for name in wheel.namelist():
    if name.startswith(headers) and not name.endswith("/"):
        path = os.path.join(directory, "include", name[len(headers):])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(wheel.read(name))
        count += 1

# The stub speaks of macOS on Intel and of arm64e, in words that lld 19 does not all know. On arm64 the names are arm64e's.
# For iOS the list is the same under its name: that the system there has them all, no link can show here.
stub = wheel.read("ziglang/lib/libc/darwin/libSystem.tbd").decode()
for system in ("macos", "ios"):
    def targets(found):
        return f"targets: [ {'arm64' if 'arm64' in found[1] else 'x86_64'}-{system} ]"
    with open(os.path.join(directory, f"libSystem.{system}.tbd"), "w") as file:
        file.write(re.sub(r"targets: *\[([^\]]*)\]", targets, stub))
if count < 400:
    sys.exit(f"only {count} headers in {sys.argv[1]}")
PYTHON
touch "$dir/ready"
