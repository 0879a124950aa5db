#!/bin/sh
# Builds the library and its release from a copy of the tree, in a directory whose name is longer, of files with another date,
# and compares them with those that were built here. LIB: where the library is; DIST: where the release is; TARGETS: which of
# the release's targets. LDFLAGS and the like are passed on.
set -eu

root=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
copy=$work/a-directory-with-a-name-that-is-longer-than-the-name-of-the-one-where-the-first-library-was-built/chime
mkdir -p "$copy"
tar -C "$root" --exclude=./Sources/build --exclude=./examples-c/build -cf - ./Sources ./include ./examples-c ./README.md ./.ci/links.py | tar -C "$copy" -xf -
find "$copy" -type f -exec touch -d '2001-02-03' {} +

make -C "$root/Sources" library archive >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
# Outside of git: the date is given.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -c safe.directory='*' -C "$root" log -1 --format=%ct)} \
  make -C "$copy/Sources" library archive dist TARGETS="$TARGETS" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

status=0
same() {
  cmp "$1" "$2" || {
    status=1
    echo "FAILED: ${1##*/} differs between two directories; it names of them:"
    strings -a "$2" | grep -F "$work" | head -5 || :
  }
}
for file in libchime.so.0 libchime.a; do
  same "$LIB/$file" "$copy/Sources/build/lib/$file"
done
count=0
for file in "$copy"/Sources/build/dist/*; do
  [ "${file##*/}" = SHA256SUMS ] && continue
  same "$DIST/${file##*/}" "$file"
  count=$((count + 1))
done
[ "$count" -ge 5 ] || { echo "FAILED: only $count files are in the second release"; exit 1; }
[ "$status" -eq 0 ] && echo "ok same bytes: libchime.so.0, libchime.a and $count files of a release, from two directories"
exit "$status"
