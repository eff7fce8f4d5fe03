#!/usr/bin/env bash
# Checks the format of our own sources; with --fix it corrects it. Usage: scripts/format.sh [--fix]
set -euo pipefail
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; }
case $#${1:-} in
  0 | 1--fix) ;;
  1-h | 1--help) usage; exit ;;
  *) usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mapfile -t sources < <(git ls-files --cached --others --exclude-standard |
                       grep -E '^(src|include|tests|benchmarks|examples)/.*\.(cc|h|c|cu|cuh)$')
if [ "${1:-}" = --fix ]; then clang-format-19 -i "${sources[@]}"; exit; fi
clang-format-19 --dry-run -Werror "${sources[@]}" ||
  { echo "format: run scripts/format.sh --fix" >&2; exit 1; }
