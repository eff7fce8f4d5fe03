#!/usr/bin/env bash
# Many threads on one engine under ThreadSanitizer. Exit 77 where its runtime does not start.
# Usage: tests/unit/products/ternary/threads.sh [build folder]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../../.."
build=${1:-build/threads}
mkdir -p "$build"
cxx=${CXX:-g++}
flags=(-std=c++23 -O1 -g1 -ffp-contract=off -fsanitize=thread -Isrc -Isrc/products -Iinclude -pthread)
echo 'int main() {}' > "$build/empty.cc"
# Randomised addresses can fall outside of what the runtime maps.
run=(env TSAN_OPTIONS=halt_on_error=1 setarch "$(uname -m)" -R)
{ "$cxx" -fsanitize=thread "$build/empty.cc" -o "$build/empty" && "${run[@]}" "$build/empty"; } 2>"$build/why" ||
  { echo "not tested: ThreadSanitizer does not run here: $(tail -1 "$build/why")"; exit 77; }
avx512='-mavx512f -mavx512bw -mavx512vl -mavx512vnni -Wno-maybe-uninitialized'
objects=()
for source in src/base/{forks,print/printed,result,text,utf8}.cc src/products/ternary/{,cpu/,gguf/}*.cc tests/unit/products/ternary/surroundings.cc; do
  name=$(basename "$source" .cc) extra=()
  case $(uname -m)-$name in
    *-kernels_scalar|*-kernels_weights_scalar|aarch64-kernels_neon) extra=(-O2) ;;
    x86_64-kernels_avx2|x86_64-kernels_avx2_lookup|x86_64-kernels_weights_avx2) extra=(-mavx2 -mf16c) ;;
    x86_64-kernels_avx_vnni) extra=(-mavx2 -mavxvnni) ;;
    x86_64-kernels_avx512) read -ra extra <<<"$avx512" ;;
    x86_64-kernels_vbmi) read -ra extra <<<"$avx512 -mavx512vbmi" ;;
    x86_64-kernels_gfni) read -ra extra <<<"$avx512 -mgfni" ;;
    x86_64-kernels_amx) extra=(-mamx-tile -mamx-int8) ;;
    aarch64-kernels_dotprod) extra=(-march=armv8.2-a+dotprod) ;;
    aarch64-kernels_i8mm) extra=(-march=armv8.2-a+dotprod+i8mm) ;;
    *-kernels_*) continue ;;
  esac
  "$cxx" "${flags[@]}" "${extra[@]}" -c "$source" -o "$build/$name.o"
  objects+=("$build/$name.o")
done
"$cxx" -fsanitize=thread "${objects[@]}" -o "$build/surroundings" -pthread
"${run[@]}" "$build/surroundings" threads
