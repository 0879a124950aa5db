#!/bin/bash
# Whether all files are as .swift-format and .clang-format say; `swift format -i` and `clang-format -i` mend what is wrong.
set -euo pipefail
cd "$(dirname "$0")/.."
# The tree is owned by whoever cloned it, which need not be who runs this.
repository() { git -c safe.directory='*' "$@"; }
repository ls-files -z '*.swift' | xargs -0 swift format lint --strict --parallel
repository ls-files -z '*.c' '*.h' '*.cpp' '*.hpp' | xargs -0 clang-format --dry-run --Werror
echo "all files are"
