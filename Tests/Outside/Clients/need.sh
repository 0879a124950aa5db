# . ../need.sh: need PROGRAM...   ends a client's `run` as skipped when one is missing.
need() {
  for program in "$@"; do
    command -v "$program" >/dev/null || { echo "no $program" >&2; exit 77; }
  done
}
