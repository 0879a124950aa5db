#!/bin/sh
# Installs Chime as a user would, and builds program.c against it in every way that there is. LIB: where the library is.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
sources=$here/../../../Sources
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
mkdir "$work/tools" "$work/project" "$prefix"
cp "$here/program.c" "$here/CMakeLists.txt" "$here/../../../examples-c/check.h" "$work/project"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# The system's own programs, without Swift if that lies among them; nothing is inherited but these two variables.
for tool in /usr/bin/*; do
  case ${tool##*/} in
  swift* | sil-* | sourcekit*) ;;
  *) ln -s "$tool" "$work/tools" ;;
  esac
done
plain() { env -i PATH="$work/tools" HOME="$work" "$@"; }
plain sh -c 'command -v swift || command -v swiftc' && fail "swift is on the PATH"

# make_in_sources TARGET... VARIABLE=VALUE...
make_in_sources() { plain make -s -C "$sources" LIB="$LIB" "$@" >"$work/log" || fail "make $*"; }

# same WHAT EXPECTED FOUND: two texts.
same() {
  [ "$2" = "$3" ] && return
  printf '%s\n' "$2" >"$work/expected"
  printf '%s\n' "$3" >"$work/found"
  diff "$work/expected" "$work/found" >&2 || :
  fail "$1"
}

tree() { (cd "$1" && find . -mindepth 1 | LC_ALL=C sort); }

# runs PROGRAM [VARIABLE=VALUE...]: it does what it should, and needs nothing of Swift.
runs() {
  program=$1
  shift
  expected="virtual 3
real 1
run loop 1"
  same "the output of $program" "$expected" "$(plain "$@" timeout 60 "$program" 2>&1 || echo "status $?")"
  needs=$(plain "$@" ldd "$program" 2>&1 || :)
  case $needs in
  *libswift* | *Foundation* | *"not found"*) fail "$program needs $needs" ;;
  esac
}

# compiles PROGRAM PACKAGE [OPTION...]: by pkg-config, from the directories in $pkg_config
compiles() {
  program=$1
  package=$2
  shift 2
  # shellcheck disable=SC2046
  (cd "$work/project" && plain cc -std=c99 -Wall -Wextra -Wpedantic -Werror program.c "$@" \
    $(plain env $pkg_config pkg-config --cflags --libs "$package") -o "$program") || fail "$program does not compile"
}

cmake_builds() {
  kind=$1
  shift
  rm -rf "$work/build"
  plain cmake -S "$work/project" -B "$work/build" -DKIND="$kind" "$@" >"$work/log" 2>&1 &&
    plain cmake --build "$work/build" >>"$work/log" 2>&1
}

refused_by_cmake() {
  if cmake_builds "$@"; then fail "CMake accepts $*"; fi
  grep -q "$refusal" "$work/log" || fail "CMake refuses $* for another reason: $(cat "$work/log")"
}

# --- what is installed ----------------------------------------------------------------------------------------------

mkdir "$prefix/include" # there before, and so there afterwards
echo "somebody else's" >"$prefix/include/other.h"
before=$(tree "$prefix")

make_in_sources install PREFIX="$prefix"
version=$(plain env PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --modversion chime)
same "what install places" "./include
./include/chime.h
./include/chime.hpp
./include/chime_run_loop.h
./include/other.h
./lib
./lib/chime
./lib/chime/library.installed
./lib/cmake
./lib/cmake/Chime
./lib/cmake/Chime/ChimeConfig.cmake
./lib/cmake/Chime/ChimeConfigVersion.cmake
./lib/libchime.so
./lib/libchime.so.0
./lib/libchime.so.0.$version
./lib/pkgconfig
./lib/pkgconfig/chime.pc
./share
./share/chime
./share/chime/chime.cdef" "$(tree "$prefix")"
refusal='its component static is not installed' refused_by_cmake chime-static -DCMAKE_PREFIX_PATH="$prefix"

make_in_sources install-archive PREFIX="$prefix"
file=$prefix/lib/libchime.so.0.$version
dynamic=$(readelf --dynamic --wide "$file")
for wanted in "soname: \[libchime.so.0\]" NODELETE BIND_NOW; do
  echo "$dynamic" | grep -q "$wanted" || fail "$file: no $wanted"
done
for unwanted in RUNPATH RPATH TEXTREL libswift; do
  echo "$dynamic" | grep -q "$unwanted" && fail "$file: $unwanted"
done
segments=$(readelf --segments --wide "$file")
echo "$segments" | grep -q GNU_RELRO || fail "$file: no RELRO"
echo "$segments" | grep -q 'GNU_STACK.* RW  *0x' || fail "$file: an executable stack, or none declared"
echo "$segments" | grep 'LOAD' | grep -q 'RWE' && fail "$file: memory that is writable and executable"
# Where C is compiled, it is with _FORTIFY_SOURCE: the checked functions are asked for.
nm --dynamic --undefined-only "$file" | grep -q '__snprintf_chk' || fail "$file: no fortified function"
nm --dynamic --undefined-only "$file" | grep -q '__stack_chk_fail' || fail "$file: no guarded stack"
same "exports of $file that are no chime_* with a version" "" \
  "$(nm --dynamic --defined-only --extern-only --with-symbol-versions "$file" |
    grep -v -e ' T chime_[a-z_]*@@CHIME_[0-9.]*$' -e ' A CHIME_[0-9.]*$')"
functions=$(cd "$sources" && sh install/exports.sh)
same "exports of $file" "$functions" \
  "$(nm --dynamic --defined-only --extern-only "$file" | sed -n 's/.* T \([^@]*\).*/\1/p' | LC_ALL=C sort)"
same "global names of libchime.a" "$functions" \
  "$(nm --defined-only --extern-only "$prefix/lib/libchime.a" | sed -n 's/^[0-9a-f]* . //p' | LC_ALL=C sort)"
echo "ok: files, exports and protections"

# The names of functions are in a file of their own, which gdb finds.
make_in_sources install-debug PREFIX="$prefix"
[ -e "$prefix/lib/.debug/libchime.so.0.debug" ] || fail "no debug symbols"
[ -e "$prefix/share/chime/chime.gdb" ] || fail "no commands for gdb"
readelf --string-dump=.gnu_debuglink "$file" | grep -q libchime.so.0.debug || fail "$file: no link to its debug symbols"
same "symbols in the library itself" "" "$(nm "$file" 2>/dev/null)"
if plain sh -c 'command -v gdb' >/dev/null; then
  plain gdb -q -batch -ex "info functions -q ThreadState" "$file" 2>&1 | grep -q ThreadState || fail "gdb shows no names"
fi
echo "ok: debug symbols"

# Other languages read the declarations as they are, and find the constants.
cdef=$(plain env PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --variable=cdef chime)
if plain python3 -c 'import cffi' 2>/dev/null; then
  plain python3 - "$cdef" "$file" <<'END' || fail "cffi and chime.cdef"
import sys, cffi
text = open(sys.argv[1]).read()
cffi.FFI().cdef(text)
ffi = cffi.FFI()
ffi.cdef(text.replace("/*@ ", "").replace(" @*" + "/", ""))
chime = ffi.dlopen(sys.argv[2])
assert chime.CHIME_FOREVER == 2**63 - 1 and chime.CHIME_HOUR == 3600 * chime.CHIME_SECOND
assert chime.CHIME_QUEUE_VIRTUAL == 4 and chime.chime_timer_release(0) == chime.CHIME_OK
END
fi
echo "ok: chime.cdef"

# --- how it is found ------------------------------------------------------------------------------------------------

pkg_config="PKG_CONFIG_PATH=$prefix/lib/pkgconfig"
compiles "$work/by-pkg-config-chime" chime -Wl,-rpath,"$prefix/lib"
runs "$work/by-pkg-config-chime"
readelf --version-info --wide "$work/by-pkg-config-chime" | grep -q 'Name: CHIME_' || fail "no symbol version asked for"

compiles "$work/static-chime" chime-static
runs "$work/static-chime"
same "libchime in a program linked to the archive" "" "$(ldd "$work/static-chime" | grep chime)"
compiles "$work/static-all" chime -static "$prefix/lib/libchime.a" -ldl -pthread 2>"$work/log" || cat "$work/log"
runs "$work/static-all"
echo "ok: pkg-config"

for kind in chime chime-static; do
  cmake_builds $kind -DCMAKE_PREFIX_PATH="$prefix" || fail "CMake, $kind: $(cat "$work/log")"
  mv "$work/build/program" "$work/by-cmake-$kind"
  runs "$work/by-cmake-$kind"
done
for kind in chime chime-static; do
  cmake_builds $kind -DCMAKE_PREFIX_PATH="$prefix" -DBY_PKG_CONFIG=1 || fail "pkg_check_modules, $kind: $(cat "$work/log")"
  runs "$work/build/program"
done
refusal='not accepted' refused_by_cmake chime -DCMAKE_PREFIX_PATH="$prefix" -DASKED=99.0
refusal='not accepted' refused_by_cmake chime -DCMAKE_PREFIX_PATH="$prefix" -DASKED=0.0.1
cmake_builds chime -DCMAKE_PREFIX_PATH="$prefix" -DASKED="$version" || fail "CMake, version $version: $(cat "$work/log")"
echo "ok: CMake"

# --- versions of header and library ---------------------------------------------------------------------------------

plain cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" "$here/matches.c" -o "$work/matches"
plain "$work/matches" || fail "CHIME_VERSION_MATCHES()"
echo "ok: versions"

# --- installed again, and gone --------------------------------------------------------------------------------------

# A later version takes the place of the one before, under the name that programs look for.
later=$version.later
make_in_sources install PREFIX="$prefix" VERSION="$later"
same "the link libchime.so.0" "libchime.so.0.$later" "$(readlink "$prefix/lib/libchime.so.0")"
[ -e "$prefix/lib/libchime.so.0.$version" ] && fail "the version before is still there"
runs "$work/by-pkg-config-chime"
runs "$work/by-cmake-chime"

# A library that lacks the functions' version is refused when the program starts.
mkdir "$work/other"
names=$(nm --dynamic --defined-only --extern-only "$prefix/lib/libchime.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }')
for name in $names; do echo "int $name(void) { return 0; }"; done >"$work/other/other.c"
echo 'CHIME_0.0 { global: chime_*; local: *; };' >"$work/other/exports.map"
plain cc -shared -fPIC "$work/other/other.c" -o "$work/other/libchime.so.0" -Wl,-soname,libchime.so.0 \
  -Wl,--version-script="$work/other/exports.map"
said=$(plain LD_PRELOAD="$work/other/libchime.so.0" "$work/by-pkg-config-chime" 2>&1) && fail "it starts with any library"
case $said in
*"version \`CHIME_"*"' not found"*) ;;
*) fail "another library: $said" ;;
esac

# 1.0 will be libchime.so.1 with the node CHIME_1.0. A stub of it lies beside this one: programs of both start, and so does one
# that has this one, and a part that was linked with that one. Without it a program of 1.0 starts with no other.
mkdir "$work/later"
cat >"$work/later/library.c" <<'END'
#include <stdint.h>
uint32_t chime_version(void) { return 1 << 16; }
END
echo 'CHIME_1.0 { global: chime_version; local: *; };' >"$work/later/exports.map"
plain cc -shared -fPIC "$work/later/library.c" -o "$prefix/lib/libchime.so.1" -Wl,-soname,libchime.so.1 \
  -Wl,--version-script="$work/later/exports.map"
cat >"$work/later/program.c" <<'END'
#include <stdint.h>
uint32_t chime_version(void);
uint32_t of_part(void);
#ifdef PART
uint32_t of_part(void) { return chime_version(); }
#else
int main(void) {
#ifdef HAS_PART
  if (of_part() != 1 << 16) return 2;
#endif
  return chime_version() >> 8 != SERIES;
}
#endif
END
ours=$(($(echo "$version" | sed 's/\([0-9]*\)\.\([0-9]*\).*/\1 * 256 + \2/')))
plain cc -DSERIES=256 "$work/later/program.c" "$prefix/lib/libchime.so.1" -Wl,-rpath,"$prefix/lib" -o "$work/later/later"
plain cc -DSERIES=$ours "$work/later/program.c" -L"$prefix/lib" -lchime -Wl,-rpath,"$prefix/lib" -o "$work/later/ours"
plain cc -DPART -shared -fPIC "$work/later/program.c" "$prefix/lib/libchime.so.1" -Wl,-rpath,"$prefix/lib" -o "$work/later/part.so"
# (The linker warns of that.)
plain cc -DHAS_PART -DSERIES=$ours "$work/later/program.c" -L"$prefix/lib" -lchime "$work/later/part.so" -Wl,-rpath,"$prefix/lib" \
  -o "$work/later/both" 2>"$work/log" || fail "both: $(cat "$work/log")"
for program in later ours both; do
  plain "$work/later/$program" || fail "beside libchime.so.1: $program returns $?"
done
runs "$work/by-pkg-config-chime"
rm "$prefix/lib/libchime.so.1"
plain "$work/later/later" 2>"$work/log" && fail "a program of 1.0 starts without libchime.so.1"
grep -q 'libchime\.so\.1' "$work/log" || fail "without libchime.so.1: $(cat "$work/log")"
echo "ok: beside a libchime.so.1"

make_in_sources uninstall PREFIX="$prefix"
same "what uninstall leaves" "$before" "$(tree "$prefix")"
said=$(plain "$work/by-pkg-config-chime" 2>&1) && fail "the program starts without its library"
runs "$work/static-chime"
echo "ok: installed again, and uninstalled"

# --- staged for a package -------------------------------------------------------------------------------------------

stage=$work/stage
libdir=/usr/lib/x86_64-linux-gnu
set -- PREFIX=/usr LIBDIR="$libdir" INCLUDEDIR=/usr/include/chime-timers DESTDIR="$stage"
make_in_sources install install-archive "$@"
same "the prefix in chime.pc" "/usr" \
  "$(plain env PKG_CONFIG_LIBDIR="$stage$libdir/pkgconfig" pkg-config --variable=prefix chime)"
same "the build machine's paths in what is staged" "" "$(grep -rIlF -e "$work" -e "$sources" "$stage" || :)"
pkg_config="PKG_CONFIG_LIBDIR=$stage$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage"
compiles "$work/staged-chime" chime
runs "$work/staged-chime" LD_LIBRARY_PATH="$stage$libdir"

# The CMake package follows its files wherever they are put.
mv "$stage" "$work/moved"
cmake_builds chime -DChime_DIR="$work/moved$libdir/cmake/Chime" || fail "CMake, moved: $(cat "$work/log")"
runs "$work/build/program"
mv "$work/moved" "$stage"

# What is staged is what a package holds, and nothing else.
same "records in the stage" "" "$(tree "$stage" | grep 'installed' || :)"
if plain make -s -C "$sources" install LIB="$LIB" PREFIX=relative >"$work/log" 2>&1; then fail "a relative PREFIX"; fi
echo "ok: staged, moved"
