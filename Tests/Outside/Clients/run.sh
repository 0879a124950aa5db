#!/bin/sh
# Runs the clients (DIRECTORY/run, for the named directories or all) and compares what those that play the scenario print with
# expected.txt; README.md says what a client is. Called by the Makefile.

limit=600 # seconds for one client, building included

export CHIME_LIBRARY="$LIB/libchime.so.0"      # what the clients load
export CHIME_LIB="$LIB"                        # what they link: -L
export CHIME_INCLUDE="$PWD/../../../include"      # -I
export CHIME_HEADER="$CHIME_INCLUDE/chime.h"
export CHIME_LAYOUT="$PWD/build/layout.txt"
export CHIME_NUMBERS="$PWD/build/numbers.txt"
export CHIME_BINDINGS="$PWD/../../../Sources/Bindings"
export PYTHONDONTWRITEBYTECODE=1

[ -e "$CHIME_LIBRARY" ] || { echo "no library: make -C examples-c library"; exit 1; }

all=$*
[ -n "$all" ] || all=$(for run in */run; do dirname "$run"; done)
passed=0 failed=0 skipped=0

for name in $all; do
  export BUILD="$PWD/build/$name" # for what the client builds
  mkdir -p "$BUILD"
  (cd "$name" && exec timeout --kill-after=10 "$limit" ./run) >"$BUILD/transcript.txt" 2>"$BUILD/errors.txt" </dev/null
  status=$?
  case $(ls "$name") in
  *[Ss]cenario.*) expected=expected.txt ;;
  *) expected=/dev/null ;;
  esac
  diff -u $expected "$BUILD/transcript.txt" >"$BUILD/diff.txt"
  same=$?
  if [ "$status" -eq 77 ] && [ $# -eq 0 ]; then
    echo "skipped $name: $(tail -n 1 "$BUILD/errors.txt")"
    skipped=$((skipped + 1))
  elif [ "$status" -eq 0 ] && [ "$same" -eq 0 ]; then
    echo "ok $name"
    passed=$((passed + 1))
  else
    echo "FAILED $name (status $status)"
    cat "$BUILD/diff.txt"
    tail -n 40 "$BUILD/errors.txt"
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
