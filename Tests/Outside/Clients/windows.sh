#!/bin/sh
# The tests of the Go and Rust wrappers, built for Windows and run by $START. Called by the Makefile.
# Go's gcc is the one without winpthreads, which would be one more DLL. Rust's library for Windows is Debian's, so its compiler
# is, too. Without backtraces and without dbghelp: wine's crashes at a library without symbols, and a panic while another one unwinds
# is printed with a backtrace, whatever RUST_BACKTRACE says.
set -e
. ./need.sh
need go pkg-config x86_64-w64-mingw32-gcc-win32 /usr/bin/rustc /usr/bin/cargo
export RUST_BACKTRACE=0 WINEDLLOVERRIDES=dbghelp=

build=$PWD/build/windows
mkdir -p "$build"
package "$build/chime.pc" "$PWD/../../../include" "-L$LIB -lchime"

# passes NAME PROGRAM ARGUMENT...   A program that wine's debugger has ended has status 0 and no verdict.
passes() {
  name=$1
  shift
  status=0
  timeout --kill-after=10 300 $START "$@" >"$build/output.txt" 2>&1 || status=$?
  if [ "$status" -eq 0 ] && grep -qE '^PASS|^test result: ok\. [1-9]' "$build/output.txt"; then
    echo "ok $name"
  else
    echo "FAILED $name: status $status; $(wc -l <"$build/output.txt") lines, of which the last that no storm prints:"
    grep -vE '^(chime: panic in|goroutine|	|[a-zA-Z/]+\.)' "$build/output.txt" | tail -n 60
    echo "and the last of all:"
    tail -n 20 "$build/output.txt"
    exit 1
  fi
}

(
  export CGO_ENABLED=1 GOOS=windows GOARCH=amd64 CC=x86_64-w64-mingw32-gcc-win32 PKG_CONFIG_PATH="$build"
  export GOFLAGS= GO111MODULE=on GOPROXY=off GOTOOLCHAIN=local GOCACHE="$build/cache"
  cd ../../../Sources/Bindings/go
  go test -c -o "$build/go.exe" .
)
passes "Go" "$build/go.exe" -test.timeout 240s
passes "Go, twenty storms" "$build/go.exe" -test.run TestAStorm -test.count 20 -test.timeout 240s

export CARGO_NET_OFFLINE=true CARGO_TARGET_DIR="$build/rust" RUSTC=/usr/bin/rustc CHIME_DIR="${LIB%/lib}"
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc-win32
for link in shared static; do
  rm -f "$build"/rust/x86_64-pc-windows-gnu/debug/deps/*.exe
  CHIME_LINK=$link /usr/bin/cargo test --quiet --no-run --target x86_64-pc-windows-gnu \
    --manifest-path ../../../Sources/Bindings/rust/Cargo.toml
  for program in wrapper endings; do
    passes "Rust, $link, $program" "$build"/rust/x86_64-pc-windows-gnu/debug/deps/$program-*.exe
  done
done
