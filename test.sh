#!/usr/bin/env bash
# Sets up, builds and runs every test. Quick the second time.
#   ./test.sh           format, release and sanitizer builds with all tests, fuzzing for seconds;
#                       unit tests of what has no fast kernels run in the sanitizer build alone
#   ./test.sh --quick   the release build's tests alone, with all unit tests
#   ./test.sh --tidy    all of it, and clang-tidy, which takes as long again on two cores
# What needs a GPU is reported as skipped here; tests/gpu.sh runs it on a GPU machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
step() { printf '\n== %s\n' "$*" >&2; }
jobs=$(nproc)

step "set up"
scripts/setup.sh --tests
scripts/ptxas.sh

step "format"
scripts/format.sh

step "release build"
[ "${1:-}" = --quick ] && logic=ON || logic=OFF
cmake --preset release -DGPUREADY_TESTS=ON -DGPUREADY_LOGIC_TESTS=$logic >/dev/null
ninja -C build/release --quiet
scripts/check_binary.sh build/release/src/gpuready

if [ "${1:-}" != --quick ]; then
  step "sanitizer build (ASan + UBSan, clang 19), and fuzzing"
  cmake --preset asan -DGPUREADY_TESTS=ON -DGPUREADY_IMAGES="$PWD/build/release" >/dev/null
  ninja -C build/asan --quiet
  [ "${1:-}" != --tidy ] || scripts/lint.sh build/asan
  ctest --test-dir build/asan --output-on-failure -j "$jobs" --progress
fi

step "tests"
ctest --test-dir build/release --output-on-failure -j "$jobs" --progress
