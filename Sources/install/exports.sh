#!/bin/sh
# What libchime exports, a name a line: the functions that chime.h and chime_run_loop.h declare. Fails where ChimeC/exports.map
# does not name exactly these, each once. Runs in Sources.
set -eu
declared=$(sed -n '/^typedef\|^static/d; s/^[A-Za-z][A-Za-z0-9_ *]*[ *]\(chime_[a-z0-9_]*\)(.*/\1/p' \
  ../include/chime.h ../include/chime_run_loop.h | LC_ALL=C sort)
# Without comments, which have examples of nodes.
named=$(sed 's|/\*.*\*/||; /\/\*/,/\*\//d' ChimeC/exports.map | grep -o 'chime_[a-z0-9_*]*' | LC_ALL=C sort)
if [ "$named" != "$declared" ]; then
  {
    echo "ChimeC/exports.map (-) and the functions that the headers declare (+) differ:"
    directory=$(mktemp -d)
    trap 'rm -rf "$directory"' EXIT
    echo "$named" >"$directory/named"
    echo "$declared" >"$directory/declared"
    diff -U 0 "$directory/named" "$directory/declared" | grep '^[-+]chime_' || :
  } >&2
  exit 1
fi
echo "$declared"
