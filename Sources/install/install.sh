#!/bin/sh
# What `make install` and `make uninstall` run; install.mk says what for, and sets the variables used here.
#     install.sh install library|static|debug|docs
#     install.sh uninstall
# With DESTDIR nothing is recorded: the stage is a package's, which has its own list.
# What an installation placed, and which directories it had to make, stands in $LIBDIR/chime/COMPONENT.installed:
# `file PATH` or `directory PATH` a line, without DESTDIR. So uninstall removes exactly that, an earlier version's files
# too, and a new version's installation removes what the earlier one had and it has no more.
set -eu
umask 022

for path in "$PREFIX" "$LIBDIR" "$INCLUDEDIR" "${DESTDIR:-/}"; do
  case $path in
  /*) ;;
  *)
    echo "install: '$path' is not an absolute path" >&2
    exit 2
    ;;
  esac
done
templates=$(dirname "$0")
records=$LIBDIR/chime

# directory PATH: makes it and what it lies in, and records each one that was not there.
directory() {
  [ -d "$DESTDIR$1" ] && return
  [ "$1" = / ] || directory "$(dirname "$1")"
  mkdir -p "$DESTDIR$1"
  [ "$1" = / ] || echo "directory $1" >>"$record"
}

# put MODE PATH: standard input becomes the file. It takes its name when it is whole: a program that starts meanwhile, or
# has the library mapped, sees the old file or the new one.
put() {
  directory "$(dirname "$2")"
  cat >"$DESTDIR$2.new"
  chmod "$1" "$DESTDIR$2.new"
  mv -f "$DESTDIR$2.new" "$DESTDIR$2"
  echo "file $2" >>"$record"
  echo "$DESTDIR$2"
}

# link NAME FILE: a symbolic link to FILE in the same directory, replaced in one step, too.
link() {
  ln -sfn "$2" "$DESTDIR$1.new"
  mv -fT "$DESTDIR$1.new" "$DESTDIR$1"
  echo "file $1" >>"$record"
  echo "$DESTDIR$1 -> $2"
}

shared_library() {
  put 755 "$LIBDIR/lib$1.so.$SONAME_VERSION.$VERSION" <"$LIB/lib$1.so.$SONAME_VERSION"
  link "$LIBDIR/lib$1.so.$SONAME_VERSION" "lib$1.so.$SONAME_VERSION.$VERSION"
  link "$LIBDIR/lib$1.so" "lib$1.so.$SONAME_VERSION"
}

# below_prefix PATH: as a .pc file has it, so that pkg-config can move it with its prefix.
below_prefix() {
  case $1 in
  "$PREFIX"/*) echo "\${prefix}${1#"$PREFIX"}" ;;
  *) echo "$1" ;;
  esac
}

# filled TEMPLATE: with the values of this installation.
filled() {
  sed -e "s|@PREFIX@|$PREFIX|g" -e "s|@LIBDIR@|$(below_prefix "$LIBDIR")|g" \
    -e "s|@INCLUDEDIR@|$(below_prefix "$INCLUDEDIR")|g" \
    -e "s|@INCLUDEDIR_FROM_LIBDIR@|$(realpath -ms --relative-to="$LIBDIR" "$INCLUDEDIR")|g" \
    -e "s|@VERSION@|$VERSION|g" -e "s|@SONAME_VERSION@|$SONAME_VERSION|g" "$templates/$1.in"
}

install_library() {
  put 644 "$INCLUDEDIR/chime.h" <../include/chime.h
  put 644 "$INCLUDEDIR/chime_run_loop.h" <../include/chime_run_loop.h
  put 644 "$INCLUDEDIR/chime.hpp" <../include/chime.hpp
  put 644 "$PREFIX/share/chime/chime.cdef" <"$CDEF"
  shared_library chime
  filled chime.pc | put 644 "$LIBDIR/pkgconfig/chime.pc"
  filled ChimeConfig.cmake | put 644 "$LIBDIR/cmake/Chime/ChimeConfig.cmake"
  filled ChimeConfigVersion.cmake | put 644 "$LIBDIR/cmake/Chime/ChimeConfigVersion.cmake"
}

install_static() {
  put 644 "$LIBDIR/libchime.a" <"$LIB/libchime.a"
  link "$LIBDIR/libchime-static.a" libchime.a
  filled chime-static.pc | put 644 "$LIBDIR/pkgconfig/chime-static.pc"
}

install_debug() {
  put 644 "$LIBDIR/.debug/libchime.so.$SONAME_VERSION.debug" <"$LIB/libchime.so.$SONAME_VERSION.debug"
  put 644 "$PREFIX/share/chime/chime.gdb" <"$templates/chime.gdb"
}

install_docs() {
  for page in "$DOCS"/man/man?/*; do
    put 644 "$MANDIR${page#"$DOCS"/man}" <"$page"
  done
  (cd "$DOCS/html" && find . -type f) | LC_ALL=C sort | while IFS= read -r file; do
    put 644 "$DOCDIR/html/${file#./}" <"$DOCS/html/$file"
  done
}

# forget RECORD...: removes what they list: files, then directories, the deepest first, that nothing else is in.
forget() {
  sed -n 's/^file //p' "$@" | while IFS= read -r path; do
    rm -f "$DESTDIR$path"
  done
  sed -n 's/^directory //p' "$@" | LC_ALL=C sort -ru | while IFS= read -r path; do
    rmdir "$DESTDIR$path" 2>/dev/null || :
  done
}

case $1 in
install)
  record=$(mktemp)
  gone=$(mktemp)
  trap 'rm -f "$record" "$gone"' EXIT
  final=$records/$2.installed
  [ -n "$DESTDIR" ] || directory "$records"
  if [ -e "$DESTDIR$final" ]; then sed -n '/^directory /p' "$DESTDIR$final" >>"$record"; fi
  case $2 in
  library) install_library ;;
  static) install_static ;;
  debug) install_debug ;;
  docs) install_docs ;;
  esac
  [ -z "$DESTDIR" ] || exit 0
  echo "file $final" >>"$record"
  if [ -e "$DESTDIR$final" ]; then
    grep -vxF -f "$record" "$DESTDIR$final" >"$gone" || :
    forget "$gone"
  fi
  chmod 644 "$record"
  cp "$record" "$DESTDIR$final"
  ;;
uninstall)
  all=$(mktemp)
  trap 'rm -f "$all"' EXIT
  cat "$DESTDIR$records"/*.installed >"$all" 2>/dev/null || {
    echo "uninstall: nothing of Chime is recorded in $DESTDIR$records" >&2
    exit 1
  }
  forget "$all"
  ;;
esac
