#!/usr/bin/env bash
# The ternary kernels' ARM tiers on another machine: cross-compiled with UndefinedBehaviorSanitizer, then
# run by qemu-user on a CPU that has them all and on one without dot products. Needs
# g++-aarch64-linux-gnu and qemu-user; exit 77 without them. Compiled again only when a source changed.
# Usage: tests/unit/products/ternary/arm.sh [build folder]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../../.."
build=${1:-build/arm}
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v "$tool" >/dev/null || { echo "not tested: no $tool here"; exit 77; }
done
mkdir -p "$build"
flags=(-std=c++23 -O1 -Wall -Wextra -Werror -ffp-contract=off -fsanitize=undefined -fno-sanitize=vptr
  -fno-sanitize-recover=all -Isrc -Isrc/products -Iinclude)
compile() {  # compile SOURCE BUILD FLAGS...
  local name extra=()
  name=$(basename "$1" .cc)
  case $name in
    kernels_scalar|kernels_neon|kernels_weights_scalar) extra=(-O2) ;;
    kernels_dotprod) extra=(-O2 -march=armv8.2-a+dotprod) ;;
    kernels_i8mm) extra=(-O2 -march=armv8.2-a+dotprod+i8mm) ;;
    kernels_*) return ;;
  esac
  aarch64-linux-gnu-g++ "${@:3}" "${extra[@]}" -c "$1" -o "$2/$name.o"
}
export -f compile
key=$(cat "$0" $(find src include tests/unit/products/ternary \( -name '*.h' -o -path 'src/products/ternary/*.cc' -o -path 'src/base/[frtu][eot]*.cc' -o -path 'src/base/print/*.cc' \) | sort) \
      tests/unit/products/ternary/{every_tier,surroundings}.cc | sha256sum)
if [ "$(cat "$build/key" 2>/dev/null)" != "$key" ]; then
  rm -f "$build"/*.o "$build/key"
  printf '%s\n' src/base/{forks,print/printed,result,text,utf8}.cc src/products/ternary/{,cpu/,gguf/}*.cc tests/unit/products/ternary/{every_tier,surroundings}.cc |
    xargs -P "$(nproc)" -I{} bash -c 'compile "$@"' _ {} "$build" "${flags[@]}"
  for program in every_tier surroundings; do
    mapfile -t objects < <(ls "$build"/*.o | grep -v -e /every_tier.o -e /surroundings.o)
    aarch64-linux-gnu-g++ -fsanitize=undefined "${objects[@]}" "$build/$program.o" -o "$build/$program"
  done
  echo "$key" >"$build/key"
fi
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
qemu-aarch64 -cpu max "$build/every_tier" --small neon dotprod i8mm
qemu-aarch64 -cpu max "$build/surroundings" rounding  # the emulator itself fails after fork() with threads
qemu-aarch64 -cpu cortex-a72 "$build/every_tier" --small neon
if qemu-aarch64 -cpu cortex-a72 "$build/every_tier" --small dotprod; then
  echo "arm.sh: a CPU without dot products was taken for one that has them" >&2
  exit 1
fi
