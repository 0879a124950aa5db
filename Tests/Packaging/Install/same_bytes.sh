#!/bin/sh
# Builds the library from a copy of the tree, in a directory whose name is longer, and compares it with the one that was
# built here. LIB: where that is. LDFLAGS and the like are passed on.
set -eu

root=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
copy=$work/a-directory-with-a-name-that-is-longer-than-the-name-of-the-one-where-the-first-library-was-built/chime
mkdir -p "$copy"
tar -C "$root" --exclude=./Sources/build -cf - ./Sources ./include | tar -C "$copy" -xf -

make -C "$root/Sources" library archive >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
make -C "$copy/Sources" library archive >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

status=0
for file in libchime.so.1 libchime.a; do
  cmp "$LIB/$file" "$copy/Sources/build/lib/$file" || {
    status=1
    echo "FAILED: $file differs between two directories; it names of them:"
    strings -a "$copy/Sources/build/lib/$file" | grep -F "$work" | head -5 || :
  }
done
[ "$status" -eq 0 ] && echo "ok same bytes: libchime.so.1 and libchime.a from two directories"
exit "$status"
