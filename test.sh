#!/usr/bin/env bash
# Sets up, builds and runs every test. Quick the second time.
#   ./test.sh           everything: release and sanitizer builds, fuzzing for seconds, format, clang-tidy
#   ./test.sh --quick   the release build's tests alone
# What needs a GPU is reported as skipped here; tests/gpu.sh runs it on a GPU machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
step() { printf '\n== %s\n' "$*" >&2; }
jobs=$(nproc)

step "set up"
scripts/setup.sh --tests
scripts/ptxas.sh

step "release build"
cmake --preset release -DGPUREADY_TESTS=ON >/dev/null
ninja -C build/release --quiet
scripts/check_binary.sh build/release/src/gpuready

if [ "${1:-}" != --quick ]; then
  step "format and clang-tidy"
  scripts/lint.sh build/release
  step "sanitizer build (ASan + UBSan, clang 19) and fuzzing"
  cmake --preset asan -DGPUREADY_TESTS=ON >/dev/null
  ninja -C build/asan --quiet
  ctest --test-dir build/asan --output-on-failure -j "$jobs" --quiet
fi

step "tests"
ctest --test-dir build/release --output-on-failure -j "$jobs" --progress
