#!/bin/sh
# musl's dynamic linker for arm64, DIR/lib/ld-musl-aarch64.so.1, for programs under qemu: out of Debian's package, which is
# neither installed nor made known to this machine's dpkg.
#
#     install/musl_arm64.sh DIR
#
# Needs apt-get and dpkg-deb, with Debian's archive among apt's sources.
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
apt() {
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::Lists="$work/lists" \
    -o Dir::State::Status=/dev/null -o Dir::Cache="$work/cache" -o APT::Sandbox::User= "$@"
}
apt update >/dev/null
cd "$work"
apt download musl >/dev/null
dpkg-deb -x musl_*_arm64.deb "$dir"
[ -e "$dir/lib/ld-musl-aarch64.so.1" ]
touch "$dir/ready"
