#!/usr/bin/env bash
# Builds libgpuready-ternary with other flags, and programs of this folder with it: no list of its sources or of its
# kernels' flags stands anywhere but in CMake's files. Only what changed is compiled again.
# Usage: library.sh BUILD_FOLDER COMPILER FLAGS "PROGRAM ..." CMAKE_OPTION...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../../.."
build=$1 cxx=$2 flags=$3 programs=$4
shift 4
{ cmake -S . -B "$build" -G Ninja -DGPUREADY_ONLY=ternary-library -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$flags" "$@" && cmake --build "$build" --target gpuready_ternary; } >"$build/log" 2>&1 ||
  { tail -50 "$build/log" >&2; exit 1; }
for program in $programs; do
  # shellcheck disable=SC2086  # FLAGS are words
  "$cxx" -std=c++23 $flags -Isrc -Isrc/products -Iinclude "tests/unit/products/ternary/$program.cc" \
    -o "$build/$program" "$build/libgpuready-ternary.a" -pthread
done
