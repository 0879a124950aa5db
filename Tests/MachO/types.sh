#!/bin/sh
# Type-checks ChimeCore and ChimeC as ordinary Swift for macOS 15 on arm64, which is what SwiftPM compiles on a Mac.
#
#     types.sh DIR HEADERS    DIR: a directory for what is made; HEADERS: Apple's C headers (Sources/install/darwin.sh)
#
# The interfaces of Swift and Synchronization are the Linux toolchain's, with another target, and without the few functions
# that are Linux's own; what they say of the systems' versions stays. Chime and ChimeRunLoop cannot be checked so: there is no
# interface of Apple's Dispatch and Foundation here.
set -eu
cd "$(dirname "$0")"
dir=$1 headers=$2
sources=../../Sources include=../../include
resources=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
target=arm64-apple-macosx15.0

for module in Swift Synchronization; do
  mkdir -p "$dir/$module.swiftmodule"
  sed -E -e "s/-target x86_64-unknown-linux-gnu/-target $target/" -e '/^import Glibc/d' -e 's/@backDeployed\([^)]*\)//' \
    -e 's/_stdlib_(remainderl|squareRootl)\(.*\)/0/' \
    -e 's/_swift_stdlib_(gettid|futex_[a-z]*)\([^)]*\)/(0 as Swift.UInt32)/' \
    "$resources/linux/$module.swiftmodule/x86_64-unknown-linux-gnu.swiftinterface" >"$dir/new"
  # What is the same keeps its time, so that the compiler keeps what it made of it.
  cmp -s "$dir/new" "$dir/$module.swiftmodule/arm64-apple-macos.swiftinterface" ||
    mv "$dir/new" "$dir/$module.swiftmodule/arm64-apple-macos.swiftinterface"
done
mkdir -p "$dir/resources"
ln -sfn "$resources/shims" "$dir/resources/shims"
ln -sfn "$resources/clang" "$dir/resources/clang"

check() {
  swiftc -frontend "$@" -O -target $target -swift-version 6 -package-name chime -strict-memory-safety -suppress-warnings \
    -disable-objc-interop -disable-implicit-concurrency-module-import -disable-implicit-string-processing-module-import \
    -parse-as-library -I "$dir" -I $sources/CPlatform/include -I $include -module-cache-path "$dir/cache" \
    -resource-dir "$dir/resources" -Xcc -isystem -Xcc "$resources/clang/include" -Xcc -isystem -Xcc "$headers"
}
core=$(find $sources/ChimeCore -name '*.swift' -not -path '*/Interleavings/*')
interface=$(find $sources/ChimeC -name '*.swift')
# shellcheck disable=SC2086 # no name has a space
check -emit-module -experimental-skip-all-function-bodies -module-name ChimeCore -o "$dir/ChimeCore.swiftmodule" $core
check -typecheck -module-name ChimeCore $core
check -typecheck -module-name ChimeC $interface
echo "ok: ChimeCore ($(echo "$core" | wc -l) files) and ChimeC ($(echo "$interface" | wc -l) files) for macOS 15, arm64"
