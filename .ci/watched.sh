#!/bin/bash
# Runs tests under a watch: what still runs SECONDS after the first began is looked at, then ended. What is built before has no
# limit here: on a busy machine it takes many times as long.
#
#     .ci/watched.sh SECONDS COMMAND...
#
# Prints, for each test process, where its threads are (gdb). Lines come out as they are written, so that the last ones
# name the tests that were under way. What failed is said again at the end.

set -u
# A test process that crashes says where.
export SWIFT_BACKTRACE=${SWIFT_BACKTRACE:-enable=yes,color=no,interactive=no}
limit=$1
shift
output=$(mktemp)
trap 'rm -f "$output"' EXIT
stdbuf -oL "$@" >"$output" 2>&1 &
command=$!
tail -n +1 -f --pid="$command" "$output" &
shown=$!

look() {
  local process
  for process in $(pgrep -s 0 -f 'PackageTests\.xctest'); do
    [ "$(cat "/proc/$process/comm" 2>/dev/null)" = gdb ] && continue
    echo "--- threads of process $process ($(tr '\0' ' ' <"/proc/$process/cmdline" | cut -c1-200))"
    timeout 120 gdb -q -batch -p "$process" -ex 'thread apply all -s backtrace 30' 2>/dev/null |
      grep -E '^(Thread|#)' | cut -c1-160
  done
}

until pgrep -s 0 -f 'PackageTests\.xctest' >/dev/null || ! kill -0 "$command" 2>/dev/null; do sleep 1; done
SECONDS=0
while kill -0 "$command" 2>/dev/null; do
  if [ "$SECONDS" -ge "$limit" ]; then
    echo "*** after $limit s these tests still run:"
    look
    pkill -s 0 -KILL -f 'PackageTests\.xctest'
    kill "$command" 2>/dev/null
    wait "$command"
    exit 1
  fi
  sleep 1
done
wait "$command"
status=$?
# Behind the last line, which a pipe to tee would let it overtake.
wait "$shown"
if [ "$status" -ne 0 ]; then
  echo "*** what failed:"
  grep -aE '✘|(^|: )error: |ThreadSanitizer:|AddressSanitizer:' "$output" | grep -av '^◇' | head -n 40
fi
exit "$status"
