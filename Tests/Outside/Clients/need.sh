# . ../need.sh: need PROGRAM...   ends a client's `run` as skipped when one is missing.
need() {
  for program in "$@"; do
    command -v "$program" >/dev/null || { echo "no $program" >&2; exit 77; }
  done
}

# package FILE INCLUDE LIBS: what pkg-config is to say of the library that is tested.
package() {
  printf 'Name: %s\nDescription: the library that is tested\nVersion: 0\nCflags: -I%s\nLibs: %s\n' \
    "$(basename "$1" .pc)" "$2" "$3" >"$1"
}
