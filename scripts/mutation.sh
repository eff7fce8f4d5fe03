#!/usr/bin/env bash
# Do the tests notice plausible mistakes? Makes mutants of functions that decide, drawn by a seed, and runs the tests that
# reach it against each. Needs root and what ./test.sh has built; docs/building.md explains the results.
# Usage: scripts/mutation.sh [--count N] [--seed S] [--only REGEX | --protected] [--list]; --help shows all options
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
library=$(ls /usr/lib/llvm-*/lib/libclang-*.so.1 2>/dev/null | sort -V | tail -n 1)
[ -n "$library" ] || { echo "mutation.sh: libclang is missing; run scripts/setup.sh --full" >&2; exit 77; }
[ "$(id -u)" = 0 ] || { echo "mutation.sh: needs root, to keep mutants away from this machine's files" >&2; exit 77; }
GPUREADY_LIBCLANG=$library exec /usr/bin/python3 scripts/mutation.py "$@"
