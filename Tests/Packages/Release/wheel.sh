#!/bin/sh
# The wheel in an environment that has nothing else: its tests, among them how programs end, and its types.
#     wheel.sh DIST
set -eu
bindings=$(cd "$(dirname "$0")/../../../Sources/Bindings/python" && pwd)
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
timer = queue.after(0.001, lambda tick: done.set()); print(done.wait(30))')
[ "$said" = True ] || { echo "FAILED: three lines print $said"; exit 1; }
library=$("$python" -c 'import chime_timers.c as c; print(c.library._name)')
case $library in
"$work"/venv/lib*/chime_timers/libchime.so.0) ;;
*) echo "FAILED: the library that is loaded is $library" && exit 1 ;;
esac
"$python" -m unittest discover --buffer -s "$bindings/tests" 2>"$work/tests.txt" || { cat "$work/tests.txt"; exit 1; }
echo "ok: wheel, $(grep '^Ran' "$work/tests.txt")"
if command -v mypy >/dev/null; then mypy --strict --cache-dir "$work/mypy" "$bindings/chime_timers"; else echo "left out: mypy"; fi
