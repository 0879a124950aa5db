#!/bin/bash
# soak.sh LIB N JOBS LOOPS WHAT...: runs the parts of the suite N times, JOBS rounds at a time and the parts of a round side
# by side, beside LOOPS busy loops; a line for each run, and what was red. Ends with 1 when anything was. See Makefile.

set -u
lib=$1
rounds=$2
jobs=$3
loops=$4
shift 4
cd "$(dirname "$0")" || exit 2
results=$PWD/build/soak
mkdir -p "$results"
busy=()

finish() { [ "${#busy[@]}" -eq 0 ] || kill "${busy[@]}" 2>/dev/null; }
trap finish EXIT
trap 'exit 130' INT TERM

# Built before the loops begin: what is looked at is how the tests bear the load.
prepare() {
  case $1 in
    swift) swift build --build-tests --package-path .. ;;
    csuite) make -C C build/csuite LIB="$lib" ;;
    faults) make -C Faults all LIB="$lib" ;;
    storms) make -C Threads/Storms all LIB="$lib" ;;
    seeds) make -C Model build/seeds LIB="$lib" ;;
    *) echo "no such part: $1"; return 1 ;;
  esac
}

run() {
  case $1 in
    swift) ../.ci/watched.sh 3000 "$tests" --testing-library swift-testing ;; # swift test has one at a time
    csuite) make -C C run LIB="$lib" ;;
    faults) make -C Faults run LIB="$lib" ;;
    storms) make -C Threads/Storms quick LIB="$lib" ;;
    seeds) make -C Model seeds SEEDS=20 LIB="$lib" ;;
  esac
}

for part in "$@"; do
  prepare "$part" >"$results/$part.build" 2>&1 || { cat "$results/$part.build"; exit 2; }
done
for ((i = 0; i < loops; i++)); do
  (while :; do :; done) &
  busy+=($!)
done
echo "$(nproc) processors, $loops busy loops, $rounds rounds, $jobs at a time, of: $*"

# try PART ROUND
try() {
  local begun=$SECONDS log=$results/$1.$2 verdict=green
  run "$1" >"$log" 2>&1 || verdict=RED
  echo "$2 $1 $verdict $((SECONDS - begun)) s"
  [ "$verdict" = green ] || grep -E '^FAILED|✘.*recorded an issue|expected|\*\*\*' "$log" | head -20
}

round() {
  for part in "$@"; do try "$part" "$round" & done
  wait
}

tests=$(swift build --show-bin-path --package-path ..)/chimePackageTests.xctest
for ((round = 1; round <= rounds; round++)); do
  [ "$round" -le "$jobs" ] || wait -n
  round "$@" &
done | tee "$results/summary"
red=$(grep -c ' RED ' "$results/summary")
echo "$red red of $((rounds * $#)) runs"
[ "$red" -eq 0 ]
