#!/bin/sh
# Writes chime.cdef: the declarations of both headers without what only a C preprocessor understands, and the constants
# that macros hold. cffi and LuaJIT read it as it is. LuaJIT's declarations have no constants of more than 32 bits: those
# are in comments, of a form that is easily found.
set -eu
headers=$(dirname "$0")/../../include

cat <<'END'
/*
 * The declarations of chime.h and chime_run_loop.h, for cffi, LuaJIT and whatever else reads C declarations.
 *     Python:  ffi.cdef(text.replace("/*@ ", "").replace(" @*" + "/", ""))  with the constants of 64 bits
 *     Lua:     ffi.cdef(text); for name, value in text:gmatch("/%*@.-int64_t ([%u_]+) = (%d+)") do ... end
 */
END
${CC:-cc} -E -P -DCHIME_CDEF "$headers/chime_run_loop.h"
# The names are found in the header, their values by the compiler.
names=$(sed -n 's/^#define \(CHIME_[A-Z]*\) INT64_.*/\1/p' "$headers/chime.h")
for name in $names; do
  value=$(printf '#include "chime.h"\nvalue %s' "$name" | ${CC:-cc} -E -P -I"$headers" -x c - |
    sed -n 's/^value .*[^0-9]\([0-9][0-9]*\)L*)*$/\1/p;s/^value \([0-9][0-9]*\)L*$/\1/p')
  if [ "${#value}" -lt 10 ] || { [ "${#value}" -eq 10 ] && [ "$value" -le 2147483647 ]; }; then
    echo "static const int $name = $value;"
  else
    echo "/*@ static const int64_t $name = $value; @*/"
  fi
done
