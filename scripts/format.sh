#!/usr/bin/env bash
# Checks the format of our own sources; with --fix it mends it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mapfile -t sources < <(git ls-files --cached --others --exclude-standard |
                       grep -E '^(src|include|tests|benchmarks|examples)/.*\.(cc|h|c|cu|cuh)$')
if [ "${1:-}" = --fix ]; then clang-format-19 -i "${sources[@]}"; exit; fi
clang-format-19 --dry-run -Werror "${sources[@]}" ||
  { echo "format: run scripts/format.sh --fix" >&2; exit 1; }
