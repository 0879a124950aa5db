#!/bin/sh
# The tests of the Go, Node and Rust wrappers under what their languages have to find faults: Go's race detector and the checks
# of cgo; the address sanitizer in Node's addon; memcheck, and the oldest compiler of Rust's that there is, for Rust. Those of
# chime.hpp: `make -C ../../C hpp-sanitized`.
# Called by the Makefile. `-count=1` and the like: none of it is answered from a cache.
set -e
. ./need.sh
need go cargo valgrind pkg-config

build=$PWD/build/detectors
mkdir -p "$build"
package "$build/chime.pc" "$PWD/../../../include" "-L$LIB -lchime"
export LD_LIBRARY_PATH="$LIB"

# detector NAME COMMAND...: what it prints, if it fails.
detector() {
  name=$1
  shift
  if "$@" >"$build/output.txt" 2>&1; then
    echo "ok $name"
  else
    echo "FAILED $name"
    grep -vE '^(chime: panic in|goroutine|	|[a-zA-Z/]+\.)' "$build/output.txt" | tail -n 60
    exit 1
  fi
}

(
  export CGO_ENABLED=1 CGO_CFLAGS=-O2 PKG_CONFIG_PATH="$build"
  export GOFLAGS= GO111MODULE=on GOPROXY=off GOTOOLCHAIN=local GOCACHE="$build/cache"
  cd ../../../Sources/Bindings/go
  detector "Go, race detector" go test -race -count=1 -timeout 300s .
  # Go 1.21 has the checks in the compiler, earlier versions at run time.
  if go doc internal/goexperiment.CgoCheck2 >/dev/null 2>&1; then
    detector "Go, cgo checks" env GOEXPERIMENT=cgocheck2 go test -count=1 -timeout 300s .
  else
    detector "Go, cgo checks" env GODEBUG=cgocheck=2 go test -count=1 -timeout 300s .
  fi
  detector "Go, a collection at each allocation" env GOGC=1 GODEBUG=gccheckmark=1,clobberfree=1 go test -count=1 -timeout 300s .
)
if command -v node >/dev/null; then
  rm -rf "$build/node"
  cp -rL ../../../Sources/Bindings/node "$build/node"
  rm -rf "$build/node/build"
  detector "Node, built" make -C "$build/node" CFLAGS="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all" \
    CHIME_FLAGS="-I$PWD/../../../include -L$LIB -lchime -Wl,-rpath,$LIB"
  # What V8 keeps until the end is no leak.
  detector "Node, address sanitizer" env LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0 node --test "$build/node/tests/"*.test.js
fi
(
  export CARGO_NET_OFFLINE=true CHIME_DIR="${LIB%/lib}" CHIME_LINK=shared
  manifest=../../../Sources/Bindings/rust/Cargo.toml
  detector "Rust, built" env CARGO_TARGET_DIR="$build/rust" cargo test --no-run --manifest-path "$manifest"
  for name in wrapper futures endings; do
    program=$(ls -t "$build/rust/debug/deps/$name"-* | grep -v '\.d$' | head -n 1)
    detector "Rust, $name, memcheck" valgrind --quiet --fair-sched=yes --error-exitcode=1 --child-silent-after-fork=yes \
      --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite "$program"
  done
  # Before 1.81 nothing of Rust's stops a panic at the border to C.
  if [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ]; then
    detector "Rust, $(/usr/bin/rustc --version)" env CARGO_TARGET_DIR="$build/rust-old" RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc \
      /usr/bin/cargo test --manifest-path "$manifest"
  fi
)
