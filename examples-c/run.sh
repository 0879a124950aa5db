#!/bin/sh
# Runs the examples that are named as arguments, side by side, and compares their output with what they promise; `make run`
# calls it.
# An example's promise stands in its first comment, from the line " * Output:" on, four columns in. One that needs a server
# runs beside loopback.py. At last the shared libraries themselves are looked at.

passed=0
failed=0
CC=${CC:-cc}
PYTHON=${PYTHON:-python3}
BUILD=${BUILD:-build}
out=$BUILD/out
mkdir -p "$out"

# verdict NAME EXPECTED-FILE ACTUAL-FILE
verdict() {
  if diff -au "$2" "$3" >"$out/diff"; then
    passed=$((passed + 1))
    echo "ok $1"
  else
    failed=$((failed + 1))
    echo "FAILED $1"
    cat "$out/diff"
  fi
}

# Runs a command for at most a minute; an exit status other than 0 becomes a line of the output.
bounded() {
  timeout 60 "$@" || echo "exit status $?"
}

# What a program of another system prints (EXE: how its name ends), as it would print it here.
lines() {
  if [ -n "$EXE" ]; then tr -d '\r'; else cat; fi
}

# START: an emulator, if this machine cannot run the programs; all that it runs share a processor, so only four at a time.
begun=0
for example in "$@"; do
  case $example in
  curl_multi) server=http ;;
  hiredis_deadlines) server=redis ;;
  cares_queries) server=dns ;;
  *) server= ;;
  esac
  bounded ${server:+"$PYTHON" loopback.py $server} $START "$BUILD/$example$EXE" 2>&1 | lines >"$out/$example" &
  begun=$((begun + 1))
  [ -z "$START" ] || [ $((begun % 4)) -ne 0 ] || wait
done
wait
for example in "$@"; do
  awk '/^ \*\//{exit} shown{print substr($0, 6)} /^ \* Output:$/{shown=1}' "$example".c* >"$out/expected"
  [ -s "$out/expected" ] || echo "(an expected output in the first comment)" >"$out/expected"
  verdict "$example" "$out/expected" "$out/$example"
done

# A DLL has no SONAME and no versions: Tests/Systems/Windows looks at it.
if [ -n "$EXE" ]; then
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
  exit
fi

# check_library NAME BYTES HEADER...
# Its size; the SONAME that programs record; every function of the headers exported, and nothing else.
# (Type A is the version script's own name; lower case is local, except u, v, w and i.)
check_library() {
  library=$BUILD/lib/$1.so.0
  {
    echo "at most $2 bytes: yes"
    echo "needs: libc.so"
    echo "SONAME: $1.so.0"
  } >"$out/expected"
  {
    size=$(($(wc -c <"$library")))
    [ "$size" -le "$2" ] && echo "at most $2 bytes: yes" || echo "at most $2 bytes: no, $size"
    # The dynamic linker is a part of libc.
    readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\.so\)[.0-9]*\]/needs: \1/p' | grep -v 'ld-'
    readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/SONAME: \1/p'
  } >"$out/actual"
  verdict "$1, size and SONAME" "$out/expected" "$out/actual"

  name=$1
  shift 2
  for header in "$@"; do
    $CC -E -P -DCHIME_CDEF "../include/$header"
  done | grep -o 'chime_[a-z0-9_]*(' | tr -d '(' | LC_ALL=C sort -u >"$out/expected"
  nm -D --defined-only "$library" | LC_ALL=C awk '$2 ~ /^[B-Zuvwi]$/ {sub(/@.*/, "", $3); print $3}' |
    LC_ALL=C sort -u >"$out/actual"
  verdict "$name, exports" "$out/expected" "$out/actual"
}

check_library libchime "${BYTES:-735000}" chime.h chime_run_loop.h

# Every function stands in an example, except those whose work a program does as well without them: the manual's examples
# have them. And chime_queue_create_on_dispatch: for programs with a libdispatch of their own that is libchime's, too: the Swift package's
# product `chime`. Tests/C calls it there.
elsewhere="chime_queue_create_on_dispatch chime_sleep_until chime_timer_add_handler chime_timer_remove_handler"
for function in $(nm -D --defined-only "$BUILD/lib/libchime.so.0" | sed -n 's/.* T \(chime_[a-z_]*\).*/\1/p'); do
  cat ./*.c* ./*.h | grep -q "\b$function(" || echo "$function"
done >"$out/actual"
printf '%s\n' $elsewhere >"$out/expected"
verdict "every function is in an example" "$out/expected" "$out/actual"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
