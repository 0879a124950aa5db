#!/bin/sh
# tags.sh DIRECTORY: that each build links the libchime that it asks for, whatever the cache has from another build. pkg-config
# finds two libraries that differ in the path where they are looked for.
set -e
. ../need.sh
mkdir -p "$1/pkgconfig"
for name in chime chime-static; do
  package "$1/pkgconfig/$name.pc" "$CHIME_INCLUDE" "-L$CHIME_LIB -lchime -Wl,-rpath,/where/$name/is"
done
for round in 1 2; do
  for name in chime chime-static; do
    tags=
    [ $name = chime ] || tags=chime_static
    PKG_CONFIG_PATH="$1/pkgconfig" go build -tags "$tags" -o "$1/program" .
    readelf -d "$1/program" | grep -q "/where/$name/is\]" || {
      echo "built with -tags '$tags', round $round: linked with another library than $name"
      exit 1
    }
  done
done
