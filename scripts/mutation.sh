#!/usr/bin/env bash
# Do the tests notice plausible mistakes? Makes mutants of functions that decide, drawn by a seed, and runs the tests of
# their area against each. Needs ./test.sh to have built; docs/building.md explains the results.
# Usage: scripts/mutation.sh [--count N] [--seed S] [--only REGEX] [--least PERCENT] [--list]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
library=$(ls /usr/lib/llvm-*/lib/libclang-*.so.1 2>/dev/null | sort -V | tail -n 1)
[ -n "$library" ] || { echo "mutation.sh: libclang is missing; run scripts/setup.sh --full" >&2; exit 77; }
GPUREADY_LIBCLANG=$library exec /usr/bin/python3 scripts/mutation.py "$@"
