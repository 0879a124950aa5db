#!/bin/sh
# Makes, of the glibc that a compiler links, one that looks older to the linker: what is linked with it runs on that glibc,
# and on newer ones.
#     older_glibc.sh CC VERSION DIRECTORY    then link with -LDIRECTORY DIRECTORY/older_glibc.o
# glibc keeps the older versions of each of its symbols. The libraries in DIRECTORY hold no code: each symbol has, as its
# default, the newest of its versions that VERSION had. What came later is not there, so the linker finds who needs it.
set -eu
cc=$1 limit=$2 to=$3
mkdir -p "$to"

# stub FILE: a library with the names, types and versions of the one that the compiler finds.
stub() {
  file=$($cc -print-file-name="$1")
  [ -f "$file" ] || { echo "no $1 for $cc" >&2; exit 1; }
  $cc -print-prog-name=nm >"$to/nm"
  "$(cat "$to/nm")" -D --defined-only "$file" | awk -v limit="$limit" -v map="$to/$1.map" '
    function number(version,  part, count) {
      count = split(version, part, ".")
      return part[1] * 1000000 + part[2] * 1000 + (count > 2 ? part[3] : 0)
    }
    match($3, /@+GLIBC_[0-9.]+$/) {
      name = substr($3, 1, RSTART - 1)
      version = substr($3, RSTART)
      sub(/^@+GLIBC_/, "", version)
      if (number(version) > number(limit) || (name in best && number(best[name]) >= number(version))) next
      best[name] = version
      type[name] = $2 ~ /[DBRVdbrv]/ ? "object" : "function"
    }
    END {
      for (name in best) {
        count++
        printf ".globl stub_%d\n.type stub_%d, %%%s\nstub_%d:\n.byte 0\n.symver stub_%d, %s@@GLIBC_%s\n", \
          count, count, type[name], count, count, name, best[name]
        used[best[name]] = 1
      }
      for (version in used) print "GLIBC_" version " { };" > map
      print "NOTHING { local: *; };" > map
    }' >"$to/$1.s"
  $cc -shared -nostdlib -Wl,-soname,"$1" -Wl,--version-script="$to/$1.map" "$to/$1.s" -o "$to/$1"
}

# empty FILE: what it had is in libc.so.6 by now, under the same versions; older systems have it there.
empty() {
  $cc -shared -nostdlib -x c /dev/null -Wl,-soname,"$1" -o "$to/$1"
}

loader=$("$($cc -print-prog-name=objdump)" -p "$($cc -print-file-name=libc.so.6)" | awk '$1 == "NEEDED" { print $2 }')
stub libc.so.6
stub "$loader"
empty libpthread.so.0
empty libdl.so.2
ln -sf libpthread.so.0 "$to/libpthread.so"
ln -sf libdl.so.2 "$to/libdl.so"
echo "INPUT(libc.so.6 AS_NEEDED($loader))" >"$to/libc.so"
$cc -O2 -fPIC -fvisibility=hidden -ffunction-sections -c "$(dirname "$0")/older_glibc.c" -o "$to/older_glibc.o"
