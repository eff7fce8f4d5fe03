#!/usr/bin/env bash
# libgpuready-ternary, built from a clean folder by what finds no library of others, installed, moved, and used by other
# programs: by CMake, by pkg-config, shared and static.
# Usage: ternary_library.sh SOURCE BUILD CC CXX
set -euo pipefail
source=$1 build=$2 cc=$3 cxx=$4
fail() { echo "ternary_library: $*" >&2; exit 1; }
expect() {  # TEXT PROGRAM...
  local text=$1 said
  shift
  said=$("$@") || fail "$* failed: $said"
  grep -qF -- "$text" <<<"$said" || fail "$* printed \"$said\", without \"$text\""
}
product="product: -42 -43 85"

rm -rf "$build"
mkdir -p "$build"
cmake -S "$source" -B "$build" --preset release -DGPUREADY_ONLY=ternary-library \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >"$build/log" ||
  { cat "$build/log" >&2; exit 1; }
found=$(grep -oE '^(GPUREADY_(LIB_[a-z0-9]+|TOML|ZSTD|GLSLANG|LLD)|[A-Za-z0-9_]+_DIR):' "$build/CMakeCache.txt" | grep -vE '^(CMAKE|gpuready)_' || true)
[ -z "$found" ] || fail "configuring looked for $found"
cmake --build "$build" >"$build/log" || { tail -50 "$build/log" >&2; exit 1; }
cmake --install "$build" --prefix "$build/first" >/dev/null
rm -rf "$build/moved"
mv "$build/first" "$build/moved"
root=$build/moved
! grep -rIl -e "$build/first" -e "$source" "$root" >&2 || fail "these files name the folder of the source or of the first prefix"
[ -s "$root/share/doc/gpuready-ternary/LICENSE" ] || fail "no LICENSE"
folder=$(dirname "$(find "$root" -name libgpuready-ternary.so)")
library=$folder/libgpuready-ternary.so
[ -s "$folder/libgpuready-ternary.a" ] || fail "no static library"

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
# Also that it needs only glibc.
bash "$source/tests/package/exports.sh" "$source" "$library" libgpuready-ternary.so.0 "$cc" ternary_c.h

cat >"$build/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C CXX)
find_package(gpuready-ternary 0.1 REQUIRED)
add_executable(shared ${SOURCE}/examples/ternary.c)
target_link_libraries(shared PRIVATE gpuready-ternary::shared)
add_executable(static ${SOURCE}/examples/ternary.cc)
target_link_libraries(static PRIVATE gpuready-ternary::static)
END
cmake -S "$build" -B "$build/consumer" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_PREFIX_PATH="$root" -DSOURCE="$source" >"$build/log" 2>&1 &&
  cmake --build "$build/consumer" >>"$build/log" 2>&1 || { cat "$build/log" >&2; exit 1; }
expect "$product" "$build/consumer/shared"
expect "scalar: ${product#product: }" env GPUREADY_TERNARY_TIER=scalar "$build/consumer/static"
# A GPU that is demanded is a fallback with its reason; strictly, an error.
GPUREADY_TERNARY_DEVICE=cuda expect "2 fallbacks" "$build/consumer/shared"
said=$(GPUREADY_TERNARY_DEVICE=cuda GPUREADY_TERNARY_STRICT=1 "$build/consumer/shared") && fail "strict: $said"
[[ "$said" == *"has no code for GPUs"* ]] || fail "strict: $said"
said=$(GPUREADY_TERNARY_LOG=$build/none/log "$build/consumer/shared") && fail "a log that cannot be written: $said"
[[ "$said" == *GPUREADY_TERNARY_LOG*none/log* ]] || fail "a log that cannot be written: $said"
"$cc" -pthread -I"$root/include" -o "$build/c_api" "$source/tests/unit/products/ternary/device/c_api.c" -L"$folder" -lgpuready-ternary -lm
LD_LIBRARY_PATH=$folder "$build/c_api" >/dev/null || fail "the C interface's test"
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$folder/pkgconfig
  read -ra flags <<<"$(pkg-config --cflags --libs gpuready-ternary)"
  "$cc" -o "$build/by_pkg_config" "$source/examples/ternary.c" "${flags[@]}"
  expect "$product" env LD_LIBRARY_PATH="$(pkg-config --variable=libdir gpuready-ternary)" "$build/by_pkg_config"
fi
strip -o "$build/stripped" "$library"
echo "libgpuready-ternary.so: $(stat -c %s "$build/stripped") bytes stripped, needs $needed"
