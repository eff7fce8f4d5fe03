#!/usr/bin/env bash
# Installs, moves the prefix elsewhere, and builds and runs programs of others against it: through
# find_package(), and through pkg-config where there is one.
# Usage: install.sh SOURCE BUILD CC CXX
set -euo pipefail
source=$1 build=$2 cc=$3 cxx=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
expect() {  # TEXT PROGRAM...: what it prints has this text
  local text=$1 said
  shift
  said=$("$@") || { echo "install: $* failed: $said" >&2; exit 1; }
  grep -qF -- "$text" <<<"$said" || { echo "install: $* printed \"$said\", without \"$text\"" >&2; exit 1; }
}
product="-42 -43 85"

cmake --install "$build" --prefix "$folder/first" >/dev/null
mv "$folder/first" "$folder/moved"
if grep -rIl -e "$folder/first" -e "$source" "$folder/moved" >&2; then
  echo "install: these files name the folder of the source or of the first prefix" >&2
  exit 1
fi
for file in share/doc/gpuready/LICENSE share/man/man1/gpuready-check.1 share/bash-completion/completions/gpuready \
            share/zsh/site-functions/_gpuready share/fish/vendor_completions.d/gpuready.fish lib/systemd/system/gpuready.timer \
            share/gpuready/libvirt/qemu-hook; do
  [ -s "$folder/moved/$file" ] || { echo "install: $file was not installed" >&2; exit 1; }
done
DESTDIR=$folder/dest cmake --install "$build" --prefix /usr --component program >/dev/null
[ -x "$folder/dest/usr/bin/gpuready" ] && [ -s "$folder/dest/usr/share/man/man1/gpuready.1" ] && [ ! -e "$folder/dest/usr/include" ] ||
  { echo "install: DESTDIR or the component is not respected: $(find "$folder/dest" | head)" >&2; exit 1; }
if command -v systemd-analyze >/dev/null; then
  said=$(PATH=$folder/moved/bin:$PATH systemd-analyze verify --man=no "$folder/dest/usr/lib/systemd/system/"*.{service,timer} 2>&1) || true
  said=$(grep -v 'Command gpuready is not executable' <<<"$said") || true  # it is not in /usr here
  [ -z "$said" ] || { echo "install: the units: $said" >&2; exit 1; }
fi
export GPUREADY_FAKE=none
expect "gpuready" "$folder/moved/bin/gpuready" --version

cmake -S "$source/tests/package/consumer" -B "$folder/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$folder/moved" \
  -DEXAMPLES="$source/examples" >"$folder/log" 2>&1 &&
  cmake --build "$folder/consumer" >>"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
for example in list_gpus_c_c list_gpus_cc; do
  expect "No GPU backends available" bash -c '"$0" || [ $? = 1 ]' "$folder/consumer/$example"
done
expect "0000:17:00.0 other nvlink warning not_tested" "$folder/consumer/values"
expect '"command": "detect"' "$folder/consumer/report_c"
expect '"findings"' "$folder/consumer/report_c" diagnose
expect "product: $product" "$folder/consumer/ternary_c"
expect "CPU, scalar: $product" env GPUREADY_TERNARY_TIER=scalar "$folder/consumer/ternary_cc"
expect "scalar: 6" env GPUREADY_TERNARY_TIER=scalar "$folder/consumer/cpu_only"

# The library finds the program of its own installation, wherever that is, and asks drivers there.
mv "$folder/moved/bin/gpuready" "$folder/program"
printf '#!/bin/sh\necho "$@" >>"%s/asked"\nexec "%s/program" "$@"\n' "$folder" "$folder" >"$folder/moved/bin/gpuready"
chmod +x "$folder/moved/bin/gpuready"
env -u GPUREADY_FAKE -u GPUREADY_HELPER "$folder/consumer/list_gpus_c_c" >"$folder/log" 2>&1 || true
[ -s "$folder/asked" ] || { echo "install: the installed program was not asked" >&2; cat "$folder/log" >&2; exit 1; }
mv "$folder/program" "$folder/moved/bin/gpuready"

command -v pkg-config >/dev/null || { echo "install: no pkg-config here, that part is skipped" >&2; exit 0; }
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$folder/moved" -name gpuready.pc)")
read -ra flags <<<"$(pkg-config --cflags --libs gpuready)"
"$cc" -o "$folder/by_pkg_config" "$source/examples/ternary.c" "${flags[@]}"
expect "product: $product" env LD_LIBRARY_PATH="$(pkg-config --variable=libdir gpuready)" "$folder/by_pkg_config"
