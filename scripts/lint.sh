#!/usr/bin/env bash
# Format and the small clang-tidy set, for our own sources. Usage: scripts/lint.sh BUILD_DIR [--fix]
# A source that passed clang-tidy is not checked again until it, a header or the set changes.
set -euo pipefail
build=$1
mapfile -t sources < <(git ls-files --cached --others --exclude-standard 'src/*.cc' 'src/*.h' 'include/*.h' 'tests/*.cc' 'tests/*.h' 'benchmarks/*.cc' 'examples/*' 'src/*.cu' | grep -E '\.(cc|h|c|cu)$')
if [ "${2:-}" = --fix ]; then clang-format-19 -i "${sources[@]}"; else
  clang-format-19 --dry-run -Werror "${sources[@]}" || { echo "lint: run scripts/lint.sh $build --fix" >&2; exit 1; }
fi

stamps=$build/tidy
mkdir -p "$stamps"
headers=$(git ls-files --cached --others --exclude-standard 'src/*.h' 'include/*.h' .clang-tidy | sort | xargs cat | sha256sum)
printf '%s\n' "${sources[@]}" | grep -E '^src/.*\.cc$' | grep -vE '_(darwin|macos|neon|windows)\.cc$' |
while read -r source; do
  key=$({ echo "$headers"; cat "$source"; } | sha256sum | cut -c1-32)
  [ -e "$stamps/$key" ] || printf '%s %s\n' "$stamps/$key" "$source"
done | xargs -r -P "$(nproc)" -L 1 bash -c '
  clang-tidy-19 --quiet -p '"$build"' "$1" 2>/dev/null && touch "$0" || { clang-tidy-19 --quiet -p '"$build"' "$1" 2>&1 | grep -vE "^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -" ; exit 255; }'
