#!/usr/bin/env bash
# Every header compiles alone: what it uses it includes. Device code's headers (.cuh) are for clang's
# device compilation and are included by the images alone.
# Usage: headers.sh [--part] COMPILER SOURCE_FOLDER BUILD_FOLDER
#   --part: an eighth of them, which the commit chooses
set -euo pipefail
part=
[ "${1:-}" != --part ] || { part=yes; shift; }
compiler=$1 source=$2 build=$3
cd "$source"
check() {
  printf '#include "%s"\n' "${2#*/}" |
    "$1" -std=c++23 -fsyntax-only -Wall -Wextra -Werror -Isrc -Isrc/products -Iinclude -I"$3"/generated -x c++ - ||
    { echo "$2 does not compile alone" >&2; return 1; }
}
export -f check
mapfile -t headers < <(find src include -name '*.h' ! -name 'kernels_*common.h' ! -name kernels_triples.h | sort)
[ "${#headers[@]}" -gt 150 ] || { echo "only ${#headers[@]} headers found" >&2; exit 1; }
if [ -n "$part" ]; then
  first=$(scripts/part.sh headers 8)
  mapfile -t headers < <(printf '%s\n' "${headers[@]}" | sed -n "$((first + 1))~8p")
fi
printf '%s\n' "${headers[@]}" | xargs -P "$(nproc)" -I{} bash -c 'check "$1" "$2" "$3"' _ "$compiler" {} "$build"
echo "${#headers[@]} headers compile alone"
