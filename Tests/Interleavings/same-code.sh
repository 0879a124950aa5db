#!/bin/sh
# The seam is nothing in every other build: the core's object code with its files is that without them, and without the
# lines of other files that it has. Needs swiftc and objdump.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/with" "$work/without"
cp -R "$root/Sources" "$work/with/Sources"
cp -R "$root/Sources" "$work/without/Sources"

compile() {
  cd "$work/$1"
  find Sources/ChimeCore -name '*.swift' | LC_ALL=C sort >files
  ${SWIFTC:-swiftc} -O -wmo -parse-as-library -module-name ChimeCore -package-name chime -swift-version 6 \
    -strict-memory-safety -suppress-warnings -I Sources/CPlatform/include -emit-object -o core.o @files
  # Without the addresses' width, and with what each reference is to.
  objdump -dr --no-show-raw-insn core.o >code
}

cd "$work/without"
rm -r Sources/ChimeCore/Interleavings
# Blank lines in their place: messages hold line numbers.
for file in $(grep -rl CHIME_INTERLEAVINGS Sources); do
  awk '/^ *#if !CHIME_INTERLEAVINGS$/ { inside = 1; print ""; next }
    inside && /^ *#endif$/ { inside = 0; print ""; next }
    { print }' "$file" >changed && mv changed "$file"
done
if grep -r CHIME_INTERLEAVINGS Sources; then
  echo "a condition that this script does not know" >&2
  exit 1
fi
# The compiler itself does not place every block of a function alike each time.
for try in 1 2 3; do
  compile with
  compile without
  cd "$work"
  if cmp with/code without/code; then
    echo "same code: $(grep -c '^ ' with/code) lines of instructions and references"
    echo "1 passed, 0 failed"
    exit 0
  fi
done
diff with/code without/code | head -20
echo "0 passed, 1 failed"
exit 1
