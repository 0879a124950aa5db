#!/bin/sh
# Installs this release of Chime, or says where it is used as it lies.
#     ./install.sh PREFIX              copies it there: /usr/local, or "$HOME/.local"
#     ./install.sh --uninstall PREFIX  removes what that placed
# pkg-config and CMake find it where it is: PKG_CONFIG_PATH=DIR/lib/pkgconfig, CMAKE_PREFIX_PATH=DIR.
set -eu
umask 022
here=$(cd "$(dirname "$0")" && pwd)

usage() {
  sed -n '2,5s/^# *//p' "$0"
  exit 2
}

removed() { # the files that an earlier install.sh has placed in $prefix, then the directories that are empty by now
  [ -e "$prefix/$record" ] || return 0
  files=$(cat "$prefix/$record")
  echo "$files" | while IFS= read -r file; do rm -f "$prefix/$file"; done
  echo "$files" | sed 's|/[^/]*$||' | LC_ALL=C sort -ru | while IFS= read -r directory; do
    while rmdir "$prefix/$directory" 2>/dev/null && [ "$directory" != "${directory%/*}" ]; do
      directory=${directory%/*}
    done
  done
}

record=share/chime/release.installed
case ${1:-} in
--uninstall)
  [ $# -eq 2 ] || usage
  prefix=$2
  [ -e "$prefix/$record" ] || { echo "install.sh: nothing of Chime is recorded in $prefix" >&2; exit 1; }
  removed
  exit 0
  ;;
"" | -*) usage ;;
esac
[ $# -eq 1 ] || usage

sums() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }
(cd "$here" && sums --check --status SHA256SUMS) || { echo "install.sh: this release is damaged" >&2; exit 1; }
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
removed
cd "$here"
{ find include lib share ! -type d | LC_ALL=C sort; echo "$record"; } >"$prefix/.chime.new"
while IFS= read -r file; do
  [ "$file" != "$record" ] || continue
  mkdir -p "$prefix/$(dirname "$file")"
  cp -P "$file" "$prefix/$file.new"
  mv -f "$prefix/$file.new" "$prefix/$file"
done <"$prefix/.chime.new"
mv -f "$prefix/.chime.new" "$prefix/$record"
echo "Chime is in $prefix: PKG_CONFIG_PATH=$prefix/lib/pkgconfig"
