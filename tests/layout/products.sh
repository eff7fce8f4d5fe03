#!/usr/bin/env bash
# Only the core, and the core with each product: each builds, offers what it has, and says what it lacks.
# The last also with the system's shared libraries.
# Usage: products.sh [--part] SOURCE_FOLDER BUILD_FOLDER IMAGES_FOLDER PRODUCT...
#   PRODUCT...: all of GPUREADY_PRODUCTS, which CMake passes
#   --part: the core, and one product, which the commit chooses
set -euo pipefail
part=
[ "${1:-}" != --part ] || { part=yes; shift; }
source=$1 build=$2 images=$3
shift 3
products=("$@") built=(core)
[ $# -gt 0 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
# A command of each product that ends with exit code 0.
declare -A probe=([ternary]="ternary verify --help" [pack]="pack inspect $build/src/gpuready" [bench]="bench run --help"
  [vm]="vm list --replay $source/tests/machines/vm-host-h100/machine.json"
  [fleet]="fleet merge --help"
  [slurm]="slurm health --node n --replay $source/tests/machines/base-h100x1/machine.json"
  [exporter]="exporter --once --replay $source/tests/machines/base-h100x1/machine.json"
  [kubernetes]="kubernetes features --replay $source/tests/machines/base-h100x1/machine.json")
fail() { echo "GPUREADY_ONLY=$only: $*" >&2; exit 1; }

for product in "${products[@]}"; do
  [ -n "${probe[$product]:-}" ] || { echo "no command of $product is known that shows that it is built" >&2; exit 1; }
done
if [ -n "$part" ]; then
  built+=("${products[$("$source/scripts/part.sh" products ${#products[@]})]}")
else
  built+=("${products[@]}")
fi
for only in "${built[@]}"; do
  cmake -S "$source" -B "$build" --preset release -DGPUREADY_ONLY="core;$only" -DGPUREADY_SHARED_LIBRARIES=OFF -DGPUREADY_IMAGES="$images" >"$build.log" ||
    { cat "$build.log" >&2; exit 1; }
  cmake --build "$build" --target gpuready >"$build.log" || { tail -50 "$build.log" >&2; exit 1; }
  program=$build/src/gpuready
  "$program" doctor --replay "$source/tests/machines/base-h100x1/machine.json" >"$build.out" || fail "doctor: exit $?"
  for product in "${products[@]}"; do
    has=no
    if [ "$product" = "$only" ] || [ "$only-$product" = bench-ternary ]; then has=yes; fi
    listed=no
    if "$program" --help | grep -q "^  $product "; then listed=yes; fi
    [ "$listed" = $has ] || fail "help lists $product: $listed"
    status=0
    # shellcheck disable=SC2086  # words
    "$program" ${probe[$product]} >"$build.out" 2>&1 || status=$?
    if [ $has = yes ]; then
      [ $status = 0 ] || { cat "$build.out" >&2; fail "${probe[$product]}: exit $status"; }
    else
      [ $status = 2 ] && grep -q "built without \"$product\"" "$build.out" || fail "$product: exit $status, $(cat "$build.out")"
    fi
  done
done

cmake -S "$source" -B "$build" -DGPUREADY_SHARED_LIBRARIES=ON >"$build.log" && cmake --build "$build" --target gpuready >"$build.log" ||
  { tail -50 "$build.log" >&2; exit 1; }
readelf -d "$program" >"$build.out"
for library in archive zstd stdc++; do grep -q "NEEDED.*\[lib$library\.so" "$build.out" || fail "lib$library is not shared"; done
"$program" doctor --replay "$source/tests/machines/base-h100x1/machine.json" >"$build.out" || fail "with shared libraries: exit $?"
