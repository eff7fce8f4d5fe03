#!/usr/bin/env bash
# Sets up, builds and runs the tests. Quick the second time. docs/building.md says where the time goes.
#   ./test.sh            format, and the release build with its tests; long walks over tests/machines take a part,
#                        which the commit chooses
#   ./test.sh --sanitize besides, the sanitizer build with its tests, and fuzzing for seconds; unit tests of
#                        what has no fast kernels run there alone then
#   ./test.sh --full     besides both, other systems (tests labelled "full"), the program for aarch64 with
#                        its quick tests, in an emulator, and clang-tidy on sources that the latest commits
#                        changed, for a minute. Continuous integration runs this. Of the slowest a part, too
#   ./test.sh --all      as --full, with all tests of label "full", all of the command line's with sanitizers, and whole
#                        walks in the release build
#   ./test.sh --aarch64  besides, all tests for aarch64, and a release of both
#   ./test.sh --tidy     besides, clang-tidy on the sanitizer build
# What needs a GPU is reported as skipped here; tests/gpu.sh runs it on a GPU machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
sanitize='' full='' all='' tidy='' aarch64=''
for option in "$@"; do
  case $option in
    --sanitize) sanitize=1 ;;
    --full) full=1 sanitize=1 ;;
    --all) all=1 full=1 sanitize=1 ;;
    --aarch64) aarch64=1 ;;
    --tidy) tidy=1 sanitize=1 ;;
    *) usage ;;
  esac
done
step() { printf '\n== %s (%d s)\n' "$*" "$SECONDS" >&2; }
# Continuous integration has 90 minutes, and its machines differ: what comes last is left out on a slow one.
in_time() { [ "$SECONDS" -le "$1" ] || { echo "SKIPPED: ${*:2}, which start within $1 s; $SECONDS s have passed" >&2; false; }; }
# Three for two processors: many of the command line's tests wait.
tests() { ctest --test-dir "$1" --output-on-failure -j $(($(nproc) * 3 / 2)) --progress "${@:2}"; }
quick=(-LE "full|aarch64")
# Of the tests that are chosen each Nth, from one on that the commit chooses.
each() { [ -z "$full" ] || [ -n "$all" ] || echo "-I $(($(scripts/part.sh "$1" "$2") + 1)),,$2"; }
# Long walks over tests/machines take a part.
[ -n "$all" ] || export GPUREADY_PART=${GPUREADY_PART:-$(scripts/part.sh machines 48)}

step "set up"
if [ -n "$full" ]; then scripts/setup.sh --full; else scripts/setup.sh --tests; fi
scripts/ptxas.sh

step "format"
scripts/format.sh

step "release build"
[ -n "$sanitize" ] && logic=OFF || logic=ON
scripts/build.sh release -- -DGPUREADY_TESTS=ON -DGPUREADY_LOGIC_TESTS=$logic
scripts/check_binary.sh build/release/src/gpuready

if [ -n "$sanitize" ]; then
  step "sanitizer build (ASan + UBSan, clang 19), and fuzzing"
  scripts/build.sh asan -- -DGPUREADY_TESTS=ON -DGPUREADY_IMAGES="$PWD/build/release"
  if [ -n "$tidy" ]; then scripts/lint.sh; elif [ -n "$full" ]; then scripts/lint.sh --changed 60; fi
  tests build/asan "${quick[@]}" -E "^cli\."
  # The release build runs all of the command line's.
  # shellcheck disable=SC2046  # words
  tests build/asan "${quick[@]}" -R "^cli\." $(each commands 8)
fi

step "tests of the release build"
[ -z "$full" ] || scripts/build.sh release benchmarks
tests build/release "${quick[@]}"
if [ -n "$full" ]; then
  step "slow tests of the release build"
  # shellcheck disable=SC2046  # words
  in_time 4000 slow tests && tests build/release -L full -LE aarch64 $(each slow 3)
fi

# In every second run, which the commit chooses.
emulated() { [ -n "$all" ] || [ "$(scripts/part.sh aarch64 2)" = 0 ]; }
if [ -n "$aarch64" ] || { [ -n "$full" ] && emulated && in_time 4400 tests for aarch64; }; then
  step "aarch64, cross-compiled, in an emulator"
  targets=(gpuready test_base test_host)  # kernels: the test ternary_arm
  # qemu's -L shows its own folder as "/", so paths that are walked from the root lead elsewhere.
  walks='AtomicFile|SharedHost|StorageContract|LiveStorage|RecordingFile'
  [ -z "$aarch64" ] || targets=()
  if scripts/aarch64.sh "${targets[@]}"; then
    STRIP=aarch64-linux-gnu-strip scripts/check_binary.sh build/aarch64/src/gpuready
    if [ -n "$aarch64" ]; then
      tests build/aarch64 -E "$walks"
      tests build/release -L aarch64  # a release holds both
    else
      tests build/aarch64 -E "NOT_BUILT|$walks"  # what this leaves out
    fi
  else
    [ $? = 77 ] && echo "SKIPPED: the tests for aarch64" >&2 || exit 1
  fi
fi

if [ -n "$full" ] && in_time 4800 mutants; then
  step "25 mutants of one area, which the commit chooses"
  # A report for now: survivors are known, and each draw differs.
  timeout 300 scripts/mutation.sh --count 25 --per-file 5 --areas 1 --seconds 30 --seed "$(git rev-parse HEAD)" --least 20 \
    --tolerate || echo "mutants: not as wanted; see above" >&2
fi
