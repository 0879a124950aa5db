#!/bin/sh
# The wheel in an environment that has nothing else: types, tests, virtual time, asyncio, and the interpreter's end.
#     wheel.sh DIST
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bindings=$here/../../../Sources/Bindings/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$PYTHON" -m venv "$work/venv"
python=$work/venv/bin/python
"$python" -m pip install --quiet --no-index --disable-pip-version-check "$1"/chime_timers-*manylinux*_x86_64.whl
cd "$work"
unset CHIME_LIBRARY PYTHONPATH LD_LIBRARY_PATH || :

# Three lines.
said=$("$python" -c 'import chime_timers as chime, threading
done, queue = threading.Event(), chime.Queue()
timer = queue.after(chime.MILLISECOND, lambda tick: done.set()); print(done.wait(30))')
[ "$said" = True ] || { echo "FAILED: three lines print $said"; exit 1; }
library=$("$python" -c 'import chime_timers.c as c; print(c.library._name)')
case $library in
"$work"/venv/lib*/chime_timers/libchime.so.1) ;;
*) echo "FAILED: the library that is loaded is $library" && exit 1 ;;
esac
"$python" -m unittest discover --buffer -s "$bindings/tests" 2>"$work/tests.txt" || { cat "$work/tests.txt"; exit 1; }
echo "ok: wheel, $(grep '^Ran' "$work/tests.txt")"
if command -v mypy >/dev/null; then mypy --strict --cache-dir "$work/mypy" "$bindings/chime_timers"; else echo "left out: mypy"; fi

cp "$here/../../Outside/Clients/python/exit.py" .
ends=0
for half in one two; do # two at a time
  (
    count=0
    while [ "$count" -lt 50 ]; do
      timeout 60 "$python" exit.py --without-atexit || { echo "FAILED: the interpreter ends with status $?"; exit 1; }
      count=$((count + 1))
    done
  ) &
  eval "$half=$!"
done
# shellcheck disable=SC2154 # set by eval
wait "$one" && ends=$((ends + 50))
# shellcheck disable=SC2154
wait "$two" && ends=$((ends + 50))
[ "$ends" -eq 100 ] || exit 1
echo "ok: wheel, the interpreter has ended $ends times while timers ticked on three kinds of queues, without shutdown"
