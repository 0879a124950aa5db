#!/bin/bash
# Builds the documentation catalogues with the toolchain's docc; a warning is a failure. `swift build` comes first.
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
  docc convert "Sources/$module/$module.docc" --additional-symbol-graph-dir "$out/$module" --warnings-as-errors \
    --fallback-display-name "$module" --fallback-bundle-identifier "${module,,}" --output-dir "$out/$module.doccarchive"
done
