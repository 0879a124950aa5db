#!/bin/sh
# What is needed to build for musl on other processors: DIR/aarch64-linux-musl-cc and DIR/riscv64-linux-musl-cc, C compilers
# with musl, and DIR/include/aarch64, DIR/include/riscv64, musl's headers and the kernel's. All of it is out of the package
# ziglang of PyPI. The compilers build musl the first time that they link, and keep it in DIR/cache.
#
#     install/zig.sh DIR
#
# Needs python3 with pip.
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$work" \
  --require-hashes --requirement "$(dirname "$0")/ziglang.txt"
python3 - "$work"/ziglang-*.whl "$dir" <<'PYTHON'
import os
import re
import sys
import zipfile

wheel, directory = zipfile.ZipFile(sys.argv[1]), sys.argv[2]
# Not the headers of other systems, which are a third of it.
others = re.compile(r"ziglang/lib/libc/(mingw|wasi|darwin|include/(?!generic-musl|any-linux-any|(aarch64|riscv(64)?)-linux-))")
for name in wheel.namelist():
    if name.startswith("ziglang/") and not name.endswith("/") and not others.match(name):
        path = os.path.join(directory, name[len("ziglang/"):])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(wheel.read(name))
os.chmod(os.path.join(directory, "zig"), 0o755)
PYTHON
for machine in aarch64 riscv64; do
  # One directory for the three or four that the compiler looks through; what comes later is overlaid.
  rm -rf "$dir/include/$machine"
  mkdir -p "$dir/include/$machine"
  for part in any-linux-any "$([ $machine = riscv64 ] && echo riscv || echo $machine)-linux-any" generic-musl $machine-linux-musl; do
    [ ! -d "$dir/lib/libc/include/$part" ] || cp -R "$dir/lib/libc/include/$part/." "$dir/include/$machine"
  done
  [ -e "$dir/include/$machine/asm/unistd.h" ] && [ -e "$dir/include/$machine/bits/alltypes.h" ] || {
    echo "headers for $machine are not in the ziglang of ziglang.txt" >&2
    exit 1
  }
  printf '#!/bin/sh\nZIG_GLOBAL_CACHE_DIR=%s/cache ZIG_LOCAL_CACHE_DIR=%s/cache exec %s/zig cc -target %s-linux-musl "$@"\n' \
    "$dir" "$dir" "$dir" $machine >"$dir/$machine-linux-musl-cc"
  chmod +x "$dir/$machine-linux-musl-cc"
done
touch "$dir/ready"
