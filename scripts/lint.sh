#!/usr/bin/env bash
# The small clang-tidy set over our own sources, with the precompiled header of clang's build.
# A source that passed is not checked again until it, a header or the set changes.
# Usage: scripts/lint.sh
set -euo pipefail
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; }
case $#${1:-} in
  0) ;;
  1-h | 1--help) usage; exit ;;
  *) usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/tidy  # as build/asan, but each source is compiled alone, which is how it is checked
cmake --preset asan -B $build -DGPUREADY_UNITY=OFF -DGPUREADY_TESTS=OFF -DGPUREADY_IMAGES="$PWD/build/release" >/dev/null
ninja -C $build --quiet gpuready_precompiled
stamps=$build/tidy
mkdir -p "$stamps"
headers=$(git ls-files --cached --others --exclude-standard 'src/*.h' 'include/*.h' .clang-tidy |
          sort | xargs cat | sha256sum)
git ls-files --cached --others --exclude-standard 'src/*.cc' | while read -r source; do
  grep -q "\"[^\"]*/$source\"" "$build/compile_commands.json" || continue  # for another platform
  key=$({ echo "$headers"; cat "$source"; } | sha256sum | cut -c1-32)
  [ -e "$stamps/$key" ] || printf '%s %s\n' "$stamps/$key" "$source"
done | xargs -r -P "$(nproc)" -L 1 bash -c '
  if clang-tidy-19 --quiet -p '"$build"' "$1" >"$0.log" 2>/dev/null; then
    mv "$0.log" "$0"
  else
    cat "$0.log"; rm -f "$0.log"; exit 255
  fi'
