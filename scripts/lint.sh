#!/usr/bin/env bash
# The small clang-tidy set over our own sources, with the precompiled headers of clang's build.
# A source that passed is not checked again until it, a header or the set changes.
# Usage: scripts/lint.sh [--changed SECONDS]
#   --changed SECONDS: only sources that commits since the last tag changed, or the last 20 commits if no tag is here,
#                      the latest first. What is not checked after this time is named and does not fail
set -euo pipefail
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; }
seconds=
case $#${1:-} in
  0) ;;
  1-h | 1--help) usage; exit ;;
  2--changed) seconds=$2 ;;
  *) usage >&2; exit 2 ;;
esac
[[ "$seconds" =~ ^[0-9]*$ ]] || { usage >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/tidy  # as build/asan, but each source is compiled alone, which is how it is checked
cmake --preset asan -B $build -DGPUREADY_UNITY=OFF -DGPUREADY_TESTS=OFF -DGPUREADY_IMAGES="$PWD/build/release" >/dev/null
ninja -C $build --quiet gpuready_precompiled gpuready_precompiled_small gpuready_precompiled_tested
stamps=$build/tidy
mkdir -p "$stamps"
headers=$(git ls-files --cached --others --exclude-standard 'src/*.h' 'include/*.h' .clang-tidy |
          sort | xargs cat | sha256sum)
sources() {
  [ -n "$seconds" ] || { git ls-files --cached --others --exclude-standard 'src/*.cc'; return; }
  local since
  since=$(git describe --tags --abbrev=0 2>/dev/null) && since=$since.. || since=-20
  # The first commit of a shallow clone changes nothing that is known.
  { git diff --name-only HEAD -- 'src/*.cc'
    git -c log.showRoot=false log --name-only --format= "$since" -- 'src/*.cc'; } | awk '!seen[$0]++'
}
until=$(($(date +%s) + ${seconds:-1000000}))
: >"$build/left_out"
sources | while read -r source; do
  grep -q "\"[^\"]*/$source\"" "$build/compile_commands.json" || continue  # deleted since, or for another platform
  key=$({ echo "$headers"; cat "$source"; } | sha256sum | cut -c1-32)
  [ -e "$stamps/$key" ] || printf '%s %s\n' "$stamps/$key" "$source"
done | xargs -r -P "$(nproc)" -L 1 bash -c '
  left=$(('"$until"' - $(date +%s))) status=0
  [ "$left" -le 0 ] || timeout "$left" clang-tidy-19 --quiet -p '"$build"' "$1" >"$0.log" 2>&1 || status=$?
  if [ "$left" -le 0 ] || [ $status = 124 ]; then
    echo "$1" >>'"$build"'/left_out; rm -f "$0.log"
  elif [ $status = 0 ]; then
    mv "$0.log" "$0"
  else
    cat "$0.log"; rm -f "$0.log"; exit 255
  fi'
[ ! -s "$build/left_out" ] || { echo "lint: not checked within $seconds s:"; sed 's/^/  /' "$build/left_out"; } >&2
