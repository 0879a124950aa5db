#!/bin/sh
# What is declared in a header and in those that it includes:
#     probe.sh functions HEADER         the name of every function, one a line
#     probe.sh uncalled HEADER FILE...  the functions that no FILE calls or names as an argument; fails if there is one
# HEADER is given to the preprocessor $CC -E -P -DCHIME_CDEF.
set -eu
what=$1
header=$2
shift 2

functions() {
  # A name followed by a parenthesis; (*chime_handler)(...) is a type.
  "${CC:-cc}" -E -P -DCHIME_CDEF "$header" | grep -oE '\bchime_[a-z_]+\(' | tr -d '(' | sort -u
}

[ "$what" = functions ] && functions && exit
missing=$(for name in $(functions); do grep -q "\b$name[(,]" "$@" || echo "$name"; done)
[ -z "$missing" ] || { echo "not called by the suite:" $missing && exit 1; }
