#!/bin/bash
# Builds the documentation catalogue with the toolchain's docc; a warning is a failure. `swift build` comes first.
set -euo pipefail
cd "$(dirname "$0")/.."
out=.build-documentation
rm -rf "$out"
mkdir -p "$out/symbols"
target=$(swift -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["triple"])')
swift-symbolgraph-extract -module-name Chime -target "$target" -I .build/debug/Modules -I Sources/CPlatform/include \
  -experimental-allowed-reexported-modules=ChimeCore -minimum-access-level public -output-dir "$out/symbols"
docc convert Sources/Chime/Chime.docc --additional-symbol-graph-dir "$out/symbols" --warnings-as-errors \
  --fallback-display-name Chime --fallback-bundle-identifier chime --output-dir "$out/Chime.doccarchive"
