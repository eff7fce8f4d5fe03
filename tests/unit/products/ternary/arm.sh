#!/usr/bin/env bash
# The ternary kernels' ARM tiers on another machine: cross-compiled with UndefinedBehaviorSanitizer, then
# run by qemu-user on a CPU that has them all and on one without dot products. Needs
# g++-aarch64-linux-gnu and qemu-user; exit 77 without them.
# Usage: tests/unit/products/ternary/arm.sh [build folder]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../../.."
build=${1:-build/arm}
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v "$tool" >/dev/null || { echo "not tested: no $tool here"; exit 77; }
done
mkdir -p "$build"
tests/unit/products/ternary/library.sh "$build" aarch64-linux-gnu-g++ \
  "-O1 -fsanitize=undefined -fno-sanitize=vptr -fno-sanitize-recover=all" "every_tier surroundings" \
  -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake"
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
qemu-aarch64 -cpu max "$build/every_tier" --small neon dotprod i8mm
qemu-aarch64 -cpu max "$build/surroundings" rounding  # the emulator itself fails after fork() with threads
qemu-aarch64 -cpu cortex-a72 "$build/every_tier" --small neon
if qemu-aarch64 -cpu cortex-a72 "$build/every_tier" --small dotprod; then
  echo "arm.sh: a CPU without dot products was taken for one that has them" >&2
  exit 1
fi
