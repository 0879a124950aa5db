#!/bin/sh
# Type-checks the Swift modules as ordinary Swift for macOS 15 on arm64, which is what SwiftPM compiles on a Mac.
#
#     types.sh DIR HEADERS    DIR: a directory for what is made; HEADERS: Apple's C headers (Sources/install/darwin.sh)
#
# The interfaces of Swift, its concurrency and Synchronization are the Linux toolchain's, with another target, and without the
# few functions that are Linux's own. What they say of systems above macOS 15 stays; all older ones become 15, because some
# types in the interface of concurrency are older than types that they name. Dispatch, Foundation and CoreFoundation have no
# interface here: types/ declares by hand what Chime uses of them, so this shows how Chime fits those declarations and the
# standard library, not how it fits Apple's modules.
set -eu
cd "$(dirname "$0")"
dir=$1 headers=$2
sources=../../../Sources include=../../../include
resources=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
target=arm64-apple-macosx15.0

# place MODULE: takes the module's interface from standard input. A file that is the same keeps its time, so that the compiler
# keeps what it made of it.
place() {
  mkdir -p "$dir/$1.swiftmodule"
  cat >"$dir/new"
  cmp -s "$dir/new" "$dir/$1.swiftmodule/arm64-apple-macos.swiftinterface" ||
    mv "$dir/new" "$dir/$1.swiftmodule/arm64-apple-macos.swiftinterface"
}
mkdir -p "$dir"
for module in Swift SwiftOnoneSupport _Concurrency Synchronization; do
  sed -E -e "s/-target x86_64-unknown-linux-gnu/-target $target/" -e 's/macOS (10|1[1-4])(\.[0-9]+)*/macOS 15.0/g' \
    -e '/^import Glibc/d' -e 's/@backDeployed\([^)]*\)//' -e 's/_stdlib_(remainderl|squareRootl)\(.*\)/0/' \
    -e 's/_swift_stdlib_(gettid|futex_[a-z]*)\([^)]*\)/(0 as Swift.UInt32)/' \
    "$resources/linux/$module.swiftmodule/x86_64-unknown-linux-gnu.swiftinterface" | place $module
done
for module in Darwin Dispatch CoreFoundation Foundation; do place $module <types/$module.swiftinterface; done
mkdir -p "$dir/resources"
ln -sfn "$resources/shims" "$dir/resources/shims"
ln -sfn "$resources/clang" "$dir/resources/clang"

# check MODULE: checks it, and makes what modules that import it need. Up to SIL, because what is sent from one isolation to
# another is checked there.
checked=
check() {
  name=$1
  # shellcheck disable=SC2046 # no name has a space
  set -- $(find "$sources/$name" -name '*.swift')
  swiftc -frontend -emit-sil -o /dev/null -emit-module-path "$dir/$name.swiftmodule" -module-name "$name" "$@" \
    -Onone -target $target -swift-version 6 -package-name chime -strict-memory-safety -suppress-warnings \
    -plugin-path "$resources/host/plugins" -disable-objc-interop -disable-implicit-string-processing-module-import -parse-as-library \
    -I "$dir" -I $sources/CPlatform/include -I $sources/CSwiftTasks/include -I $include -module-cache-path "$dir/cache" \
    -resource-dir "$dir/resources" -Xcc -isystem -Xcc "$resources/clang/include" -Xcc -isystem -Xcc "$headers"
  checked="$checked${checked:+, }$name ($# files)"
}
for name in ChimeCore ChimeC Chime ChimeCompat ChimeDiagnostics ChimeRunLoop; do check $name; done
echo "ok: $checked for macOS 15, arm64"
