#!/usr/bin/env bash
# Every installed header compiles alone, as the oldest language that it promises: C++20 with each
# compiler that is here, and C99. It uses nothing of the library's inside, and what it declares in C++
# is in the versioned namespace.
# Usage: headers.sh SOURCE CXX
set -euo pipefail
source=$1
compilers=("$2")
for other in g++ clang++-15 clang++-16; do
  if command -v "$other" >/dev/null; then compilers+=("$other"); fi
done
compile() {  # HEADER COMPILER...
  printf '#include "gpuready/%s"\n' "$1" |
    "${@:2}" -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -I "$source/include" - ||
    { echo "headers: $1 does not compile alone with ${*:2}" >&2; exit 1; }
}
count=0
for path in "$source"/include/gpuready/*.h*; do
  header=$(basename "$path")
  count=$((count + 1))
  for compiler in "${compilers[@]}"; do compile "$header" "$compiler" -std=c++20 -x c++; done
  if grep -q 'extern "C"' "$path"; then
    compile "$header" "${CC:-cc}" -std=c99 -x c
    continue
  fi
  if grep -E '#include "' "$path" | grep -v '"gpuready/'; then
    echo "headers: $header includes what is not installed" >&2
    exit 1
  fi
  [ "$header" = gpuready.hpp ] || grep -q 'inline namespace v0\|inline v0' "$path" ||
    { echo "headers: $header has no versioned namespace" >&2; exit 1; }
  [ "$header" = gpuready.hpp ] || grep -qx "#include \"gpuready/$header\"" "$source/include/gpuready/gpuready.hpp" ||
    { echo "headers: gpuready.hpp leaves out $header" >&2; exit 1; }
done
[ "$count" -ge 15 ] || { echo "headers: only $count headers found" >&2; exit 1; }
echo "$count headers compile alone in C++20 with: ${compilers[*]}"
