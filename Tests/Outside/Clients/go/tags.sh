#!/bin/sh
# That each build links the libchime that it asks for, whatever the cache has from another build: the one that chime-static
# names is looked for in a path of its own. Called by `run`, where its package `chime` is.
set -e
. ../need.sh
package "$BUILD/chime-static.pc" "$CHIME_INCLUDE" "-L$CHIME_LIB -lchime -Wl,-rpath,/where/chime-static/is"
cd "$CHIME_BINDINGS/go"
for tags in '' chime_static '' chime_static; do
  go test -c -tags "$tags" -o "$BUILD/program" .
  linked=$(readelf -d "$BUILD/program" | sed -n 's/.*R.*PATH.*\[\(.*\)\]/\1/p')
  [ "$linked" = "${tags:+/where/chime-static/is}" ] || { echo "built with -tags '$tags', and linked with '$linked'"; exit 1; }
done
