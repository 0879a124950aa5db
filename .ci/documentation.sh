#!/bin/bash
# Builds the documentation catalogues with the toolchain's docc; a warning is a failure. `swift build` comes first. A browser shows
# what it made by the commands that it prints.
set -euo pipefail
cd "$(dirname "$0")/.."
out=.build-documentation
rm -rf "$out"
target=$(swift -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["triple"])')
for module in Chime ChimeRunLoop; do
  mkdir -p "$out/$module"
  swift-symbolgraph-extract -module-name "$module" -target "$target" -I .build/debug/Modules \
    -I Sources/CPlatform/include -I Sources/CSwiftTasks/include -experimental-allowed-reexported-modules=ChimeCore \
    -minimum-access-level public -output-dir "$out/$module"
  python3 -B .ci/catalogue.py "Sources/$module/$module.docc" "$out/$module.docc"
  docc convert "$out/$module.docc" --additional-symbol-graph-dir "$out/$module" --warnings-as-errors \
    --fallback-display-name "$module" --fallback-bundle-identifier "${module,,}" --output-dir "$out/$module.doccarchive" \
    --transform-for-static-hosting
  [ -f "$out/$module.doccarchive/documentation/${module,,}/index.html" ]
done
echo "python3 -m http.server --bind localhost --directory $out/Chime.doccarchive 8000   # http://localhost:8000/documentation/chime"
