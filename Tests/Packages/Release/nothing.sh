#!/bin/sh
# From nothing to a running C program: the front page's tick.c, in the oldest Debian that libchime is for, with gcc and
# pkg-config, and nothing of Swift. (.ci/written.py does what all pages say, in a newer one.)
#     nothing.sh DIST SUITE MIRROR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dist=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mmdebstrap --quiet --variant=essential --skip=check/canmount,chroot/mount --include=gcc,libc6-dev,pkg-config \
  "$2" "$root" "$3"
home=$root/home/chime
mkdir -p "$root/release" "$home"
cp "$dist"/chime-*-linux-x86_64.tar.gz "$dist"/*_amd64.deb "$root/release"

release=$(basename "$dist"/chime-*-linux-x86_64.tar.gz .tar.gz)

# README.md's first program, and what it prints.
awk '/^```/ { if (inside) exit; inside = $0 == "```c"; next } inside' "$here/../../../README.md" >"$home/tick.c"
awk '/^```text/ { inside = 1; next } /^```/ { if (inside) exit } inside' "$here/../../../README.md" >"$home/expected.txt"

inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/chime chroot "$root" sh -ec "cd /home/chime; $1"; }
files() {
  inside 'find / -xdev ! -path "/proc/*" ! -path "/home/*" ! -path "/var/*" ! -path "/etc/ld.so.cache" | sort'
}
# prints WHAT COMMANDS: as the page says
prints() {
  inside "$2" >"$home/printed.txt" || { cat "$home/printed.txt"; echo "FAILED: $1"; exit 1; }
  diff "$home/expected.txt" "$home/printed.txt" || { echo "FAILED: $1"; exit 1; }
  echo "ok: $1"
}

inside '! command -v swift swiftc clang python3' || { echo "FAILED: this is no root with gcc alone"; exit 1; }
echo "in $(inside '. /etc/os-release; echo $PRETTY_NAME'), $(inside 'ldd --version' | head -1)"

prints "tarball, three commands" '
  tar xzf /release/'$release'.tar.gz
  cc tick.c -I'$release'/include '$release'/lib/libchime.a -ldl -pthread -o tick
  ./tick'
prints "tarball, its shared library, by pkg-config" '
  export PKG_CONFIG_PATH=$PWD/'$release'/lib/pkgconfig
  cc tick.c $(pkg-config --cflags --libs chime) -o tick
  ./tick'
before=$(files)
prints "packages, three commands" '
  dpkg -i /release/libchime0_*_amd64.deb /release/libchime-dev_*_amd64.deb >dpkg.txt
  cc tick.c -lchime -o tick
  ./tick'
inside 'dpkg --purge libchime-dev libchime0 >dpkg.txt'
after=$(files)
[ "$before" = "$after" ] || { echo "FAILED: what the packages leave behind differs"; exit 1; }
echo "ok: packages removed: nothing is left"
