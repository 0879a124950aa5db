#!/bin/sh
# Go's own tests of timers, sleep_test.go and tick_test.go of the Go that is installed, with the timers of Chime in place of its own
# (time.go), and fewer rounds of one that makes a million. Called by ../run, where its package `chime` is.
set -e
version=$(go env GOVERSION)
source=$(go env GOROOT)/src/time
case $version in
go1.19*) [ -e "$source/sleep_test.go" ] || { echo "skipped: no golang-src"; exit 0; } ;;
*) echo "skipped: the shim is for the tests of Go 1.19, and this is $version"; exit 0 ;;
esac
rm -rf "$BUILD/suite"
mkdir -p "$BUILD/suite/time" "$BUILD/suite/tests"
cp time.go "$BUILD/suite/time/"
for name in sleep tick; do
  sed 's|\. "time"|. "suite/time"|; /internal\/testenv/d; s|testenv\.SkipFlaky(t, |t.Skip(|; s|i < 1000000;|i < 10000;|' "$source/${name}_test.go" >"$BUILD/suite/tests/${name}_test.go"
done
printf 'module suite\n\ngo 1.18\n\nrequire chime v0.9.0\n\nreplace chime => %s\n' "$CHIME_BINDINGS/go" >"$BUILD/suite/go.mod"
cd "$BUILD/suite"
# Not those that are about Go's runtime, about a Timer or a Ticker that was not made, or about what the shim alone would refuse.
tests=$(sed -n 's/^func \(Test[A-Za-z0-9]*\)(.*/\1/p' tests/*_test.go |
  grep -vE '^Test(OverflowPeriodRuntimeTimer|ZeroTimer(Reset|Stop)Panics|TickerStopWithDirectInitialization|Issue5745|TickerResetLtZeroDuration)$')
# Those that ask for a machine that is not too slow have three tries.
hasty='^Test(AfterTick|AfterStop|AfterQueuing|Reset|Ticker)$'
go vet ./...
go test -c -o suite.test ./tests
run() { ./suite.test -test.v -test.timeout 120s -test.run "^($(paste -sd '|' -))\$"; }
for KIND in serial concurrent precise host; do
  export KIND
  echo "$KIND: Go's own tests of timers"
  echo "$tests" | grep -vE "$hasty" | run
  for try in 1 2 3; do
    if echo "$tests" | grep -E "$hasty" | run; then break; fi
    [ "$try" -lt 3 ]
  done
done
